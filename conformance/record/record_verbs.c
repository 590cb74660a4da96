/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Lines of control verbs, connections and events. Each line is written when the call has returned. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "record.h"
#include "ri_log.h"

/* --- adapters ----------------------------------------------------------------------------------- */

/* The claims that decide what a replay can do and what a comparison excuses. */
static void
claims_text(const struct ri_rnic_attr *attr, char *text, size_t room)
{
	const struct {
		const char *name;
		bool claimed;
	} claims[] = {
		{"atomics", attr->atomics},
		{"send_invalidate", attr->send_invalidate},
		{"mw_narrow", attr->mw_narrow},
		{"mw_wide", attr->mw_wide},
		{"completion_acked", attr->completion_acked},
		{"remote_status", attr->remote_status},
		{"zero_based", attr->zero_based},
		{"srq", attr->srq},
		{"srq_limit", attr->srq_limit},
		{"srq_resizable", attr->srq_resizable},
		{"ud", attr->ud},
	};
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++)
		if (claims[i].claimed)
			at += (size_t)snprintf(text + at, room - at, "%s%s", at > 0 ? "," : "",
					       claims[i].name);
	if (at == 0)
		(void)snprintf(text, room, "none");
}

void
record_opened(struct wrap_rnic *rnic)
{
	const struct ri_log_about about = {.layer = "record", .adapter = rnic->name};
	char claims[240];
	char why[4400];

	if (!record_file_open(why, sizeof(why))) {
		ri_log(rnic->host, RI_LOG_WARNING, &about, "%s", why);
		return;
	}
	claims_text(&rnic->attr, claims, sizeof(claims));
	rnic->obj.number = record_number(WRAP_RNIC);
	record_line("adapter a%u %s transport=%s claims=%s", rnic->obj.number,
		    rnic->name + strlen("record:"),
		    rnic->attr.transport == RI_TRANSPORT_IWARP ? "iwarp" : "ib", claims);
}

static void
device_close(struct ri_rnic *rnic)
{
	record_line("close a%u", wrap_of(rnic)->number);
	wrap_plain_device_ops.close(rnic);
}

/* --- domains and queues ---------------------------------------------------------------------------- */

static enum ri_status
pd_create(struct ri_context *context, struct ri_pd **out)
{
	enum ri_status status = wrap_plain_pd_ops.create(context, out);
	uint32_t adapter = wrap_rnic_of(context)->obj.number;

	if (status == RI_SUCCESS) {
		wrap_of(*out)->number = record_number(WRAP_PD);
		record_line("pd p%u a%u = ok", wrap_of(*out)->number, adapter);
	} else {
		record_line("pd - a%u = %s", adapter, record_status(status));
	}
	return status;
}

/* An object is destroyed, or is not: the verb VERB of a table, with objects of that kind and letter. */
#define GONE(letter, kind, table, verb)                                                  \
	static enum ri_status kind##_gone(struct ri_##kind *obj)                         \
	{                                                                                \
		uint32_t number = wrap_of(obj)->number;                                  \
		enum ri_status status = wrap_plain_##table##_ops.verb(obj);              \
                                                                                         \
		record_line("destroy %c%u = %s", letter, number, record_status(status)); \
		return status;                                                           \
	}

GONE('p', pd, pd, destroy)

static enum ri_status
cq_create(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	  struct ri_map *map)
{
	uint32_t adapter = wrap_rnic_of(context)->obj.number;
	uint32_t wanted = *entries;
	enum ri_status status = wrap_plain_cq_ops.create(context, ctx, entries, out, map);

	if (status == RI_SUCCESS) {
		wrap_of(*out)->number = record_number(WRAP_CQ);
		record_line("cq c%u a%u entries=%u = ok", wrap_of(*out)->number, adapter, wanted);
	} else {
		record_line("cq - a%u entries=%u = %s", adapter, wanted, record_status(status));
	}
	return status;
}

static enum ri_status
cq_resize(struct ri_cq *cq, uint32_t *entries, struct ri_map *map)
{
	uint32_t wanted = *entries;
	enum ri_status status = wrap_plain_cq_ops.resize(cq, entries, map);

	record_line("resize c%u entries=%u = %s", wrap_of(cq)->number, wanted,
		    record_status(status));
	return status;
}

GONE('c', cq, cq, destroy)

static enum ri_status
srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	const struct ri_srq_attr wanted = *attr;
	enum ri_status status = wrap_plain_srq_ops.create(pd, attr, out, map);

	if (status == RI_SUCCESS && !record_srq_room(wrap_of(*out), attr->max_wr)) {
		(void)!wrap_plain_srq_ops.destroy(*out);
		status = RI_ERR_RESOURCES;
	}
	if (status == RI_SUCCESS)
		wrap_of(*out)->number = record_number(WRAP_SRQ);
	record_line("srq s%u p%u wr=%u sge=%u = %s",
		    status == RI_SUCCESS ? wrap_of(*out)->number : 0, wrap_of(pd)->number,
		    wanted.max_wr, wanted.max_sge, record_status(status));
	return status;
}

/* The event of a limit that is reached at once may come before the call has returned, so the line is written before it. */
static enum ri_status
srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	uint32_t number = wrap_of(srq)->number;
	char size[24] = "", limit[24] = "";
	enum ri_status status;

	if (resize)
		(void)snprintf(size, sizeof(size), " wr=%u", attr->max_wr);
	if (attr->limit != RI_SRQ_LIMIT_KEEP)
		(void)snprintf(limit, sizeof(limit), " limit=%u", attr->limit);
	record_line("modify s%u%s%s", number, size, limit);
	status = wrap_plain_srq_ops.modify(srq, attr, resize, map);
	/* Without memory for a wider ring the oldest receives are forgotten, and their completions name none. */
	if (status == RI_SUCCESS && resize)
		(void)record_srq_room(wrap_of(srq), attr->max_wr);
	if (status != RI_SUCCESS)
		record_line("failed s%u modify = %s", number, record_status(status));
	return status;
}

GONE('s', srq, srq, destroy)

/* --- queue pairs ---------------------------------------------------------------------------------- */

static enum ri_status
qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
	  struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	static const char *const types[] = {"rc", "ud", "uc", "number"};
	const struct ri_qp_init w = *init;
	enum ri_status status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	struct ri_qp_attr now = {.qpn = 0};
	char more[64] = "";
	uint32_t number = 0;

	if (status == RI_SUCCESS) {
		struct record_qp *own = record_qp_new(init);

		if (own == NULL) {
			(void)!wrap_plain_qp_ops.destroy(*out);
			return RI_ERR_RESOURCES;
		}
		wrap_of(*out)->own = own;
		number = wrap_of(*out)->number = record_number(WRAP_QP);
	}
	if (status == RI_SUCCESS && w.type == RI_QP_UD &&
	    wrap_plain_qp_ops.query(*out, &now) == RI_SUCCESS)
		(void)snprintf(more, sizeof(more), " qpn=%u qkey=%#x", now.qpn, w.qkey);
	else if (srq != NULL)
		(void)snprintf(more, sizeof(more), " soft=%u hard=%u", w.soft_limit, w.hard_limit);
	record_line("qp q%u p%u c%u c%u s%u type=%s sq=%u rq=%u sge=%u,%u,%u,%u ird=%u ord=%u "
		    "access=%#x%s = %s",
		    number, wrap_of(pd)->number, send_cq != NULL ? wrap_of(send_cq)->number : 0,
		    recv_cq != NULL ? wrap_of(recv_cq)->number : 0,
		    srq != NULL ? wrap_of(srq)->number : 0, types[w.type & 3], w.max_sq_wr,
		    w.max_rq_wr, w.max_send_sge, w.max_recv_sge, w.max_write_sge, w.max_read_sge,
		    w.ird, w.ord, w.access, more, record_status(status));
	return status;
}

static enum ri_status
qp_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	uint32_t number = wrap_of(qp)->number;
	const char *verb = "modify";
	char more[64] = "";
	enum ri_status status;

	if ((mask & RI_QP_ATTR_STATE) != 0)
		verb = attr->state == RI_QPS_CLOSING ? "disconnect"
		       : attr->state == RI_QPS_ERROR ? "abort"
		       : attr->state == RI_QPS_IDLE  ? "reset"
						     : "modify";
	/* The end that it causes comes behind it. */
	if ((mask & RI_QP_ATTR_QKEY) != 0)
		(void)snprintf(more, sizeof(more), " qkey=%#x", attr->qkey);
	record_line("%s q%u mask=%#x%s", verb, number, mask, more);
	status = wrap_plain_qp_ops.modify(qp, attr, mask);
	if (status != RI_SUCCESS)
		record_line("failed q%u %s = %s", number, verb, record_status(status));
	return status;
}

GONE('q', qp, qp, destroy)

/* A group is no queue pair, so a recording with one is for its reader alone. */
static enum ri_status
qp_mcast_attach(struct ri_qp *qp, const struct ri_addr *group)
{
	uint32_t number = wrap_of(qp)->number;
	enum ri_status status = wrap_plain_qp_ops.mcast_attach(qp, group);

	record_line("join q%u = %s", number, record_status(status));
	return status;
}

/* --- memory ----------------------------------------------------------------------------------------- */

static void
mr_line(const char *verb, uint32_t number, const struct wrap_obj *pd, const struct ri_mr_init *init,
	uint32_t stag, enum ri_status status)
{
	uint64_t at = init->iova_given ? init->iova : init->zero_based ? 0 : init->addr;

	record_line("%s m%u p%u at=%#llx len=%llu access=%#x key=%#x = %s", verb, number,
		    pd->number, (unsigned long long)at, (unsigned long long)init->length,
		    init->access, status == RI_SUCCESS ? stag : 0, record_status(status));
}

static enum ri_status
mr_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	enum ri_status status = wrap_plain_mem_ops.mr_reg(pd, init, out, stag);
	uint32_t number = 0;

	if (status == RI_SUCCESS)
		number = wrap_of(*out)->number = record_number(WRAP_MR);
	mr_line("mr", number, wrap_of(pd), init, *stag, status);
	return status;
}

/* Its memory may not be mapped here, so its payload has no CRC. */
static enum ri_status
mr_reg_dmabuf(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	      struct ri_mr **out, uint32_t *stag)
{
	enum ri_status status = wrap_plain_mem_ops.mr_reg_dmabuf(pd, init, from, out, stag);
	uint32_t number = 0;

	if (status == RI_SUCCESS) {
		wrap_of(*out)->init.unlinked = true;
		number = wrap_of(*out)->number = record_number(WRAP_MR);
	}
	mr_line("mr", number, wrap_of(pd), init, *stag, status);
	return status;
}

static enum ri_status
mr_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	enum ri_status status = wrap_plain_mem_ops.mr_rereg(mr, pd, init, stag);

	mr_line("rereg", wrap_of(mr)->number, wrap_of(pd), init, *stag, status);
	return status;
}

GONE('m', mr, mem, mr_dereg)

static enum ri_status
mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	enum ri_status status = wrap_plain_mem_ops.mw_alloc(pd, type, out, stag);
	uint32_t number = 0;

	if (status == RI_SUCCESS) {
		wrap_of(*out)->wide = type == RI_MW_WIDE;
		number = wrap_of(*out)->number = record_number(WRAP_MW);
	}
	record_line("mw w%u p%u type=%s key=%#x = %s", number, wrap_of(pd)->number,
		    type == RI_MW_WIDE ? "wide" : "narrow", status == RI_SUCCESS ? *stag : 0,
		    record_status(status));
	return status;
}

GONE('w', mw, mem, mw_free)

/* --- connections ------------------------------------------------------------------------------------ */

/* "4:7f000001:7471"; a port of 0 is unknown. */
static void
address_text(const struct ri_addr *addr, uint16_t port, char *text, size_t room)
{
	size_t octets = addr->family == RI_ADDR_IPV4 ? 4 : addr->family == RI_ADDR_NONE ? 0 : 16;
	size_t at = (size_t)snprintf(text, room, "%u:", addr->family);

	for (size_t i = 0; i < octets; i++)
		at += (size_t)snprintf(text + at, room - at, "%02x", addr->octets[i]);
	(void)snprintf(text + at, room - at, ":%u", port);
}

/* The connection is up. */
static void
link_line(struct wrap_rnic *rnic, uint64_t ctx)
{
	struct wrap_obj *qp = wrap_find(rnic, WRAP_QP, ctx);
	struct record_qp *own = qp != NULL ? record_qp_of(qp) : NULL;
	char local[64], peer[64];

	if (own == NULL || own->linked)
		return;
	own->linked = true;
	address_text(&own->local, own->local_port, local, sizeof(local));
	address_text(&own->peer, own->peer_port, peer, sizeof(peer));
	record_line("link q%u %s local=%s peer=%s", qp->number, own->active ? "active" : "passive",
		    local, peer);
}

static enum ri_status
ah_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	enum ri_status status = wrap_plain_ah_ops.create(pd, init, out, id);
	uint32_t number = 0;
	char dest[64];

	if (status == RI_SUCCESS) {
		number = wrap_of(*out)->number = record_number(WRAP_AH);
		wrap_of(*out)->stag = *id;
	}
	address_text(&init->dest, 0, dest, sizeof(dest));
	record_line("ah h%u p%u dest=%s = %s", number, wrap_of(pd)->number, dest,
		    record_status(status));
	return status;
}

GONE('h', ah, ah, destroy)

static enum ri_status
cm_connect(struct ri_qp *qp, const struct ri_cm_params *params)
{
	struct record_qp *own = record_qp_of(wrap_of(qp));
	enum ri_status status;

	own->active = true;
	own->linked = false;
	own->local = params->local;
	own->peer = params->peer;
	own->local_port = ntohs(params->service.local_port);
	own->peer_port = ntohs(params->service.port);
	status = wrap_plain_cm_ops.connect(qp, params);
	if (status != RI_SUCCESS)
		record_line("connect q%u = %s", wrap_of(qp)->number, record_status(status));
	return status;
}

static enum ri_status
cm_accept(struct ri_request *request, struct ri_qp *qp, const struct ri_cm_params *params)
{
	const struct wrap_obj *from = wrap_of(request);
	struct record_qp *own = record_qp_of(wrap_of(qp));
	enum ri_status status;

	own->active = own->linked = false;
	own->local = from->local;
	own->peer = from->peer;
	own->local_port = ntohs(from->service.port);
	own->peer_port = ntohs(from->service.local_port);
	status = wrap_plain_cm_ops.accept(request, qp, params);
	if (status != RI_SUCCESS)
		record_line("accept q%u = %s", wrap_of(qp)->number, record_status(status));
	return status;
}

static enum ri_status
cm_disconnect(struct ri_qp *qp, const void *pdata, uint16_t len)
{
	uint32_t number = wrap_of(qp)->number;
	enum ri_status status;

	record_line("disconnect q%u", number);
	status = wrap_plain_cm_ops.disconnect(qp, pdata, len);
	if (status != RI_SUCCESS)
		record_line("failed q%u disconnect = %s", number, record_status(status));
	return status;
}

static void
socket_name(int fd, bool peer, struct ri_addr *addr, uint16_t *port)
{
	struct sockaddr_storage name = {0};
	socklen_t len = sizeof(name);
	int result = peer ? getpeername(fd, (struct sockaddr *)&name, &len)
			  : getsockname(fd, (struct sockaddr *)&name, &len);

	*addr = (struct ri_addr){0};
	*port = 0;
	if (result != 0)
		return;
	if (name.ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&name;

		addr->family = RI_ADDR_IPV4;
		memcpy(addr->octets, &in->sin_addr, 4);
		*port = ntohs(in->sin_port);
	} else if (name.ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&name;

		addr->family = RI_ADDR_IPV6;
		memcpy(addr->octets, &in6->sin6_addr, 16);
		*port = ntohs(in6->sin6_port);
	}
}

static enum ri_status
llp_attach_stream(struct ri_qp *qp, const struct ri_stream *stream)
{
	struct record_qp *own = record_qp_of(wrap_of(qp));
	enum ri_status status;

	own->active = stream->initiator;
	own->linked = false;
	socket_name(stream->fd, false, &own->local, &own->local_port);
	socket_name(stream->fd, true, &own->peer, &own->peer_port);
	status = wrap_plain_llp_ops.attach_stream(qp, stream);
	if (status != RI_SUCCESS)
		record_line("attach q%u = %s", wrap_of(qp)->number, record_status(status));
	return status;
}

/* --- events ------------------------------------------------------------------------------------------- */

/* "q3", "c1": what an event is of. */
static void
object_text(struct wrap_rnic *rnic, const struct ri_async_event *event, char *text, size_t room)
{
	enum wrap_kind kind = event->object == RI_OBJECT_QP    ? WRAP_QP
			      : event->object == RI_OBJECT_CQ  ? WRAP_CQ
			      : event->object == RI_OBJECT_SRQ ? WRAP_SRQ
							       : WRAP_RNIC;
	const struct wrap_obj *obj = kind != WRAP_RNIC ? wrap_find(rnic, kind, event->ctx) : NULL;
	char letter = kind == WRAP_QP ? 'q' : kind == WRAP_CQ ? 'c' : kind == WRAP_SRQ ? 's' : 'a';

	(void)snprintf(text, room, "%c%u", letter,
		       kind == WRAP_RNIC ? rnic->obj.number
		       : obj != NULL     ? obj->number
					 : 0);
}

static void
up_async_event(void *self, const struct ri_async_event *event)
{
	struct wrap_rnic *rnic = self;
	char object[16];

	object_text(rnic, event, object, sizeof(object));
	if (event->event == RI_EVENT_QP_STREAM_UP)
		link_line(rnic, event->ctx);
	else if (ri_event_is_end(event->event))
		record_line("end %s %s %s", object,
			    ri_event_is_close(event->event) ? "closed" : "broken",
			    ri_event_name(event->event));
	else
		record_line("event %s %s", object, ri_event_name(event->event));
	wrap_plain_upcalls.async_event(self, event);
}

static void
up_cm_event(void *self, const struct ri_cm_event *event)
{
	struct wrap_rnic *rnic = self;
	const struct wrap_obj *qp = wrap_find(rnic, WRAP_QP, event->ctx);

	switch (event->kind) {
	case RI_CM_ESTABLISHED:
		link_line(rnic, event->ctx);
		break;
	case RI_CM_DISCONNECTED:
	case RI_CM_BROKEN:
		if (qp != NULL)
			record_line("end q%u %s", qp->number,
				    event->kind == RI_CM_BROKEN ? "broken" : "closed");
		break;
	case RI_CM_REJECTED:
	case RI_CM_FAILED:
		if (qp != NULL)
			record_line("refused q%u reason=%u", qp->number, event->reason);
		break;
	default:
		break;
	}
	wrap_plain_upcalls.cm_event(self, event);
}

/* --- the table --------------------------------------------------------------------------------------- */

void
record_gates(struct wrap_ops *ops)
{
	ops->device.close = device_close;
	ops->pd.create = pd_create;
	ops->pd.destroy = pd_gone;
	ops->cq.create = cq_create;
	ops->cq.resize = cq_resize;
	ops->cq.destroy = cq_gone;
	ops->srq.create = srq_create;
	ops->srq.modify = srq_modify;
	ops->srq.destroy = srq_gone;
	ops->qp.create = qp_create;
	ops->qp.modify = qp_modify;
	ops->qp.destroy = qp_gone;
	ops->qp.mcast_attach = qp_mcast_attach;
	ops->ah.create = ah_create;
	ops->ah.destroy = ah_gone;
	ops->mem.mr_reg = mr_reg;
	ops->mem.mr_reg_dmabuf = mr_reg_dmabuf;
	ops->mem.mr_rereg = mr_rereg;
	ops->mem.mr_dereg = mr_gone;
	ops->mem.mw_alloc = mw_alloc;
	ops->mem.mw_free = mw_gone;
	ops->cm.connect = cm_connect;
	ops->cm.accept = cm_accept;
	ops->cm.disconnect = cm_disconnect;
	ops->llp.attach_stream = llp_attach_stream;
	ops->fast.post_sq = record_post_sq;
	ops->fast.post_rq = record_post_rq;
	ops->fast.post_srq = record_post_srq;
	ops->fast.poll_cq = record_poll_cq;
	ops->up.async_event = up_async_event;
	ops->up.cm_event = up_cm_event;
}
