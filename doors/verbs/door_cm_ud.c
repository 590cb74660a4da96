/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Ids of the port space UDP: services for datagrams, and multicast groups. */
#include <errno.h>
#include <string.h>

#include <glib.h>

#include "door_ah.h"
#include "door_cm_internal.h"
#include "door_status.h"

#define MULTICAST_QPN 0xffffff
#define MULTICAST_LID 0xc000
#define HOP_LIMIT     64
#define PKEY_HIGH     0xff
#define PKEY_LOW      0xff

bool
door_cm_has_lids(const struct door_adapter *adapter)
{
	return adapter->lids;
}

void
door_cm_ah_attr(const struct door_cm_id *id, const union ibv_gid *to,
		struct ib_uverbs_ah_attr *attr)
{
	int own = door_gid_index(id->adapter, id->spigot + 1, &id->sgid);

	memcpy(attr->grh.dgid, to, sizeof(attr->grh.dgid));
	attr->grh.sgid_index = own > 0 ? (uint8_t)own : 0;
	attr->grh.hop_limit = HOP_LIMIT;
	attr->is_global = 1;
	attr->port_num = (uint8_t)(id->spigot + 1);
	if (door_cm_has_lids(id->adapter))
		attr->dlid = (uint16_t)(id->spigot + 1);
}

int
door_cm_service_status(uint32_t status)
{
	/* As the answer of InfiniBand's service resolution has them. */
	static const int statuses[] = {
		[RI_SERVICE_FOUND] = 0, [RI_SERVICE_UNKNOWN] = 1,    [RI_SERVICE_REJECTED] = 2,
		[RI_SERVICE_NO_QP] = 3, [RI_SERVICE_REDIRECTED] = 4,
	};

	return status < G_N_ELEMENTS(statuses) ? statuses[status] : -EPROTO;
}

/* --- services ---------------------------------------------------------------------------------------------- */

int
door_cm_ud_ask(struct door_cm_id *id)
{
	struct session *session = &id->adapter->session;
	enum ri_status status;

	door_cm_lock();
	id->query_open = true;
	door_cm_unlock();
	status = session_call(session, KAL_RESOLVE, &id->resolve, sizeof(id->resolve), NULL, 0);
	if (status == RI_SUCCESS)
		return 0;
	door_cm_lock();
	id->query_open = false;
	door_cm_unlock();
	return door_errno(status);
}

int
door_cm_ud_connect(struct door_cm_id *id, const struct rdma_ucm_conn_param *param)
{
	struct kal_resolve_req *req = &id->resolve;
	int error;

	if (param->private_data_len > id->adapter->session.attr.ud_request_pdata)
		return EINVAL;
	if (id->query == 0)
		id->query = door_slot_enter(&id->adapter->slots, DOOR_QUERY, id);
	if (id->query == 0)
		return ENOMEM;
	*req = (struct kal_resolve_req){.rnic = id->adapter->session.rnic,
					.port = id->spigot,
					.ctx = id->query,
					.local = id->local,
					.peer = id->peer,
					.service = door_cm_service(id, *door_cm_port(&id->dest)),
					.pdata_len = param->private_data_len};
	memcpy(req->pdata, param->private_data, req->pdata_len);
	door_cm_connect_begin(id);
	error = door_cm_ud_ask(id);
	if (error != 0)
		door_cm_id_set(id, DOOR_CM_ROUTE_RESOLVED);
	return error;
}

int
door_cm_ud_answer(struct door_cm_id *id, uint32_t service_status,
		  const struct door_cm_ud_answer *answer)
{
	struct kal_resolve_answer_req req = {.status = service_status,
					     .qpn = answer->qpn,
					     .qkey = DOOR_CM_QKEY,
					     .pdata_len = answer->length};
	enum ri_status status;

	if (answer->length > id->adapter->session.attr.ud_reply_pdata)
		return EINVAL;
	door_cm_lock();
	req.request = id->request;
	door_cm_unlock();
	if (req.request == 0)
		return ENOTCONN;
	memcpy(req.pdata, answer->data, answer->length);
	status =
		session_call(&id->adapter->session, KAL_RESOLVE_ANSWER, &req, sizeof(req), NULL, 0);
	if (status != RI_SUCCESS && status != RI_ERR_INVALID_HANDLE)
		return door_errno(status);
	door_cm_lock();
	door_cm_request_done(id);
	id->state = service_status == RI_SERVICE_FOUND ? DOOR_CM_UP : DOOR_CM_ENDED;
	door_cm_unlock();
	return status == RI_SUCCESS ? 0 : ENOTCONN;
}

void
door_cm_ud_end(struct door_cm_id *id)
{
	struct session *session = &id->adapter->session;
	const struct kal_resolve_end_req end = {.rnic = session->rnic, .ctx = id->query};
	bool open;

	if (id->query == 0)
		return;
	door_cm_lock();
	open = id->query_open;
	id->query_open = false;
	door_cm_unlock();
	if (open)
		(void)!session_call(session, KAL_RESOLVE_END, &end, sizeof(end), NULL, 0);
}

/* --- multicast groups ---------------------------------------------------------------------------------------- */

/*
 * The GID of a multicast group. On InfiniBand an IP address is embedded in it in the way of the
 * kernel's rdma_cm (RFC 4391, with another signature). An address that a subnet manager assigned is
 * a GID already.
 */
static union ibv_gid
group_gid(const struct door_adapter *adapter, const struct ri_addr *addr)
{
	union ibv_gid gid = {.raw = {0xff, 0x12, 0x40, 0x01, PKEY_HIGH, PKEY_LOW}};

	if (!door_cm_has_lids(adapter))
		return door_gid(addr);
	if (addr->family == RI_ADDR_IPV4) {
		memcpy(gid.raw + 12, addr->octets, 4);
		gid.raw[12] &= 0x0f;
		return gid;
	}
	if ((addr->octets[1] & 0xf0) == 0x10 && addr->octets[2] == 0xa0 && addr->octets[3] == 0x1b)
		return door_gid(addr);
	gid.raw[1] = 0x10 | (addr->octets[1] & 0x0f);
	gid.raw[2] = 0x60;
	memcpy(gid.raw + 6, addr->octets + 6, 10);
	return gid;
}

int
door_cm_join(struct door_cm_id *id, const struct sockaddr_storage *addr, uint64_t uid,
	     uint32_t *number)
{
	const struct ri_addr group_addr = door_cm_addr(addr);
	union ibv_gid gid;
	struct rdma_ucm_ud_param *param;
	struct door_cm_group *group;
	struct door_cm_event *raised;
	bool can;

	if (!door_cm_is_ud(id) || id->adapter == NULL)
		return EINVAL;
	/* The group of address 0 is one that a subnet manager would choose; there is none. */
	can = id->adapter->session.attr.multicast && group_addr.family != RI_ADDR_NONE;
	gid = group_gid(id->adapter, &group_addr);
	door_cm_lock();
	group = id->state == DOOR_CM_BOUND || id->state == DOOR_CM_ADDR_RESOLVED
			? door_cm_group_enter(id, uid)
			: NULL;
	raised = group == NULL ? NULL
		 : can         ? door_cm_raise(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0)
			       : door_cm_raise(id, RDMA_CM_EVENT_MULTICAST_ERROR, -EOPNOTSUPP);
	if (raised != NULL) {
		*number = group->number;
		raised->group = group;
		raised->answer.uid = uid;
		raised->answer.id = group->number;
	}
	/* librdmacm attaches the queue pair to the group by ibv_attach_mcast(). */
	if (raised != NULL && can) {
		param = &raised->answer.param.ud;
		param->qp_num = MULTICAST_QPN;
		param->qkey = DOOR_CM_QKEY;
		door_cm_ah_attr(id, &gid, &param->ah_attr);
		if (param->ah_attr.dlid != 0)
			param->ah_attr.dlid = MULTICAST_LID;
	}
	door_cm_unlock();
	return raised != NULL ? 0 : EINVAL;
}
