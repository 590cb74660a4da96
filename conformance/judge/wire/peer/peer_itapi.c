/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The helper's stack over IT-API. */

#define ITAPI_ENABLE_V21_BINDINGS

#include <arpa/inet.h>
#include <string.h>

#include "it_api.h"
#include "it_ext.h"
#include "peer_stack.h"

#define WORK_ROOM     128
#define CONN_ROOM     8
#define REQUEST_ROOM  256
#define CONNECT_US    UINT64_C(60000000)
#define PORT_ATTEMPTS 16

struct peer_ep {
	it_evd_handle_t work;
	it_evd_handle_t conn;
	it_ep_handle_t ep;
};

static struct {
	char *name;
	it_ia_handle_t ia;
	it_ia_info_t *info;
	it_pz_handle_t pz;
	it_pz_handle_t other; /* a second protection zone */
	it_evd_handle_t requests;
	guint16 port; /* network order */
} stack;

static gboolean
check_status(it_status_t status, const char *call, GError **error)
{
	return status == IT_SUCCESS || peer_fail(error, "%s: %s", call, it_status_name(status));
}

/* Listen on the port at each spigot, if it has an address; port 0 lets the library choose one at the first. */
static it_status_t
listen_once(it_listen_handle_t *listens, size_t *count)
{
	it_status_t last = IT_ERR_INVALID_SPIGOT;

	for (size_t i = 0; i < stack.info->num_spigots; i++) {
		const it_spigot_info_t *spigot = &stack.info->spigot_info[i];
		it_conn_qual_t qual = {.type = IT_IANA_PORT, .conn_qual.port = stack.port};
		it_listen_flags_t flags =
			stack.port == 0 ? IT_LISTEN_NO_FLAG : IT_LISTEN_CONN_QUAL_INPUT;
		it_status_t status = it_listen_create(stack.ia, spigot->spigot_id, stack.requests,
						      flags, &qual, &listens[*count]);

		if (status == IT_ERR_CONN_QUAL_BUSY)
			return status;
		if (status != IT_SUCCESS)
			continue;
		last = IT_SUCCESS;
		stack.port = qual.conn_qual.port;
		(*count)++;
	}
	return last;
}

/* A port that is free at one spigot may be busy at another; then a new one is chosen. */
static gboolean
listen_everywhere(GError **error)
{
	g_autofree it_listen_handle_t *listens =
		g_new0(it_listen_handle_t, stack.info->num_spigots);
	it_status_t status = IT_ERR_CONN_QUAL_BUSY;

	for (int i = 0; status == IT_ERR_CONN_QUAL_BUSY && i < PORT_ATTEMPTS; i++) {
		size_t count = 0;

		stack.port = 0;
		status = listen_once(listens, &count);
		while (status != IT_SUCCESS && count > 0)
			it_listen_free(listens[--count]);
	}
	return status == IT_SUCCESS ||
	       peer_fail(error, "cannot listen on %s: %s", stack.name, it_status_name(status));
}

gboolean
peer_listen_again(GError **error)
{
	return listen_everywhere(error);
}

gboolean
peer_open(const char *adapter, GError **error)
{
	stack.name = g_strdup(adapter != NULL ? adapter : "iwarp");
	return check_status(it_ia_create(stack.name, 2, 1, &stack.ia), "it_ia_create", error) &&
	       check_status(it_ia_query(stack.ia, &stack.info), "it_ia_query", error) &&
	       check_status(it_pz_create(stack.ia, &stack.pz), "it_pz_create", error) &&
	       check_status(it_pz_create(stack.ia, &stack.other), "it_pz_create", error) &&
	       check_status(it_evd_create(stack.ia, IT_CM_REQ_EVENT_STREAM, 0, REQUEST_ROOM, 1,
					  NULL, &stack.requests, NULL),
			    "it_evd_create", error) &&
	       listen_everywhere(error);
}

void
peer_close(void)
{
	it_ia_info_free(stack.info);
	if (stack.ia != NULL)
		(void)it_ia_free(stack.ia);
	g_free(stack.name);
	memset(&stack, 0, sizeof(stack));
}

char *
peer_about(void)
{
	const char *rnr = g_getenv("ITAPI_IWARP_RNR_MS");

	return g_strdup_printf("kind=it-api adapter=%s port=%u "
			       "able=rights,fallback,rtr-send,timeout,immediate%s%s",
			       stack.name, ntohs(stack.port),
			       stack.info->atomic_support ? ",atomic" : "",
			       g_strcmp0(rnr, "0") == 0 ? ",no-wait" : ",waits");
}

gboolean
peer_region_make(struct peer_region *region, const char *rights, GError **error)
{
	it_mem_priv_t privs = IT_PRIV_LOCAL;
	it_lmr_handle_t lmr;
	it_rmr_context_t context;

	if (strchr(rights, 'r') != NULL)
		privs |= IT_PRIV_REMOTE_READ;
	if (strchr(rights, 'w') != NULL)
		privs |= IT_PRIV_REMOTE_WRITE;
	if (strchr(rights, 'a') != NULL)
		privs |= IT_PRIV_ATOMIC;
	if (!check_status(it_lmr_create(strchr(rights, 'o') != NULL ? stack.other : stack.pz,
					region->octets, NULL, region->size, IT_ADDR_MODE_ABSOLUTE,
					privs, IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr, &context),
			  "it_lmr_create", error))
		return FALSE;
	region->self = lmr;
	region->stag = (guint32)it_ntoh64(it_hton64(context));
	region->to = (guint64)it_make_rdma_addr_absolute(region->octets);
	return TRUE;
}

void
peer_region_unmake(struct peer_region *region)
{
	if (region->self != NULL)
		(void)it_lmr_free(region->self);
	region->self = NULL;
}

static gboolean
ep_make(struct peer_ep *ep, const struct peer_ep_spec *spec, GError **error)
{
	it_ep_attributes_t attr = {
		.max_request_dtos = WORK_ROOM / 2,
		.max_recv_dtos = WORK_ROOM / 2,
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.rc = {.rdma_read_enable = spec->reads_off ? IT_FALSE : IT_TRUE,
			   .rdma_write_enable = spec->writes_off ? IT_FALSE : IT_TRUE,
			   .max_rdma_read_segments = 1,
			   .max_rdma_write_segments = 1,
			   .rdma_read_ird = spec->ird,
			   .rdma_read_ord = spec->ord,
			   .atomics_enable = stack.info->atomic_support && !spec->reads_off,
			   .hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE},
	};

	return check_status(it_evd_create(stack.ia, IT_DTO_EVENT_STREAM, 0, WORK_ROOM, 1, NULL,
					  &ep->work, NULL),
			    "it_evd_create", error) &&
	       check_status(it_evd_create(stack.ia, IT_CM_MSG_EVENT_STREAM, 0, CONN_ROOM, 1, NULL,
					  &ep->conn, NULL),
			    "it_evd_create", error) &&
	       check_status(it_ep_rc_create(stack.pz, ep->work, ep->work, ep->conn, IT_EP_NO_FLAG,
					    &attr, &ep->ep),
			    "it_ep_rc_create", error);
}

struct peer_ep *
peer_ep_new(const struct peer_ep_spec *spec, GError **error)
{
	struct peer_ep *ep = g_new0(struct peer_ep, 1);
	gboolean good = ep_make(ep, spec, error);

	for (guint i = 0; good && i < spec->receives; i++) {
		struct peer_work work = {.op = "receive",
					 .at = spec->in,
					 .offset = (gsize)i * spec->size,
					 .len = spec->size};

		good = peer_ep_post(ep, &work, error);
	}
	if (good)
		return ep;
	peer_ep_free(ep);
	return NULL;
}

void
peer_ep_free(struct peer_ep *ep)
{
	if (ep->ep != NULL)
		(void)it_ep_free(ep->ep);
	if (ep->work != NULL)
		(void)it_evd_free(ep->work);
	if (ep->conn != NULL)
		(void)it_evd_free(ep->conn);
	g_free(ep);
}

/* Private data is padded with zeros, and its length is not known. */
static void
private_take(struct peer_event *event, const unsigned char *data, size_t len)
{
	while (len > 0 && data[len - 1] == 0)
		len--;
	memcpy(event->data, data, len);
	event->len = len;
}

static gboolean
request_take(guint within_ms, it_cn_est_identifier_t *id, struct peer_event *request,
	     GError **error)
{
	it_event_t event;

	if (!check_status(it_evd_wait(stack.requests, (uint64_t)within_ms * 1000, &event, NULL),
			  "no request to connect", error))
		return FALSE;
	*id = event.conn_req.cn_est_id;
	memset(request, 0, sizeof(*request));
	private_take(request, event.conn_req.private_data, sizeof(event.conn_req.private_data));
	return TRUE;
}

gboolean
peer_ep_accept(struct peer_ep *ep, guint within_ms, const GByteArray *private_data,
	       struct peer_event *request, GError **error)
{
	it_cn_est_identifier_t id;

	return request_take(within_ms, &id, request, error) &&
	       check_status(it_ep_accept(ep->ep, id, private_data->data, private_data->len),
			    "it_ep_accept", error);
}

gboolean
peer_reject(guint within_ms, const GByteArray *private_data, struct peer_event *request,
	    GError **error)
{
	it_cn_est_identifier_t id;

	return request_take(within_ms, &id, request, error) &&
	       check_status(it_reject(id, private_data->data, private_data->len), "it_reject",
			    error);
}

void
peer_reject_all(void)
{
	it_event_t event;

	while (it_evd_dequeue(stack.requests, &event) == IT_SUCCESS)
		(void)it_reject(event.conn_req.cn_est_id, NULL, 0);
}

static gboolean
path_find(const char *host, it_path_t *path, GError **error)
{
	it_net_addr_t address = {.addr_type = IT_IPV4};

	if (inet_pton(AF_INET, host, &address.addr.ipv4) != 1) {
		address.addr_type = IT_IPV6;
		if (inet_pton(AF_INET6, host, &address.addr.ipv6) != 1)
			return peer_fail(error, "%s is not an address", host);
	}
	for (size_t i = 0; i < stack.info->num_spigots; i++) {
		size_t count = 1;
		size_t total = 0;

		if (it_get_pathinfo(stack.ia, stack.info->spigot_info[i].spigot_id, &address,
				    &count, &total, path) == IT_SUCCESS &&
		    count == 1)
			return TRUE;
	}
	return peer_fail(error, "no path to %s", host);
}

gboolean
peer_ep_connect(struct peer_ep *ep, const struct peer_target *target,
		const GByteArray *private_data, GError **error)
{
	it_conn_qual_t qual = {.type = IT_IANA_PORT, .conn_qual.port = htons(target->port)};
	it_path_t path;

	if (!path_find(target->host, &path, error))
		return FALSE;
	path.timeout = target->within_ms > 0 ? (uint64_t)target->within_ms * 1000 : CONNECT_US;
	return check_status(it_ep_connect(ep->ep, &path, NULL, &qual, IT_CONNECT_FLAG_TWO_WAY,
					  private_data->data, private_data->len),
			    "it_ep_connect", error);
}

gboolean
peer_ep_disconnect(struct peer_ep *ep, GError **error)
{
	return check_status(it_ep_disconnect(ep->ep, NULL, 0), "it_ep_disconnect", error);
}

gboolean
peer_ep_post(struct peer_ep *ep, const struct peer_work *work, GError **error)
{
	it_lmr_triplet_t part = {.length = work->len};
	it_status_t status = IT_ERR_OP_NOT_SUPPORTED;
	size_t count = work->len > 0 ? 1 : 0;

	if (work->at != NULL) {
		part.lmr = work->at->self;
		part.addr.abs = work->at->octets + work->offset;
	}
	if (strcmp(work->op, "receive") == 0)
		status = it_post_recv(ep->ep, &part, count, 0, IT_COMPLETION_FLAG);
	else if (strcmp(work->op, "send") == 0)
		status = it_post_send(ep->ep, &part, count, 0, IT_COMPLETION_FLAG);
	else if (strcmp(work->op, "write") == 0)
		status = it_post_rdma_write(ep->ep, &part, count, 0, IT_COMPLETION_FLAG, work->to,
					    work->stag);
	else if (strcmp(work->op, "read") == 0)
		status = it_post_rdma_read(ep->ep, &part, count, 0, IT_COMPLETION_FLAG, work->to,
					   work->stag);
	else if (strcmp(work->op, "fetch-add") == 0)
		status = it_post_atomic(ep->ep, IT_FETCH_AND_ADD, work->value, 0, &part, 0,
					IT_COMPLETION_FLAG, work->to, work->stag);
	else if (strcmp(work->op, "compare-swap") == 0)
		status = it_post_atomic(ep->ep, IT_COMPARE_AND_SWAP, work->value, work->compare,
					&part, 0, IT_COMPLETION_FLAG, work->to, work->stag);
	return check_status(status, work->op, error);
}

gboolean
peer_ep_event(struct peer_ep *ep, guint within_ms, struct peer_event *event, GError **error)
{
	it_event_t any;

	if (!check_status(it_evd_wait(ep->conn, (uint64_t)within_ms * 1000, &any, NULL),
			  "no event of the connection", error))
		return FALSE;
	memset(event, 0, sizeof(*event));
	if (any.event_number == IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		event->kind = "established";
	else if (any.event_number == IT_CM_MSG_CONN_PEER_REJECT_EVENT)
		event->kind = "rejected";
	else if (any.event_number == IT_CM_MSG_CONN_DISCONNECT_EVENT)
		event->kind = "disconnected";
	else if (any.event_number == IT_CM_MSG_CONN_BROKEN_EVENT)
		event->kind = "broken";
	else
		event->kind = "failed";
	g_strlcpy(event->why,
		  any.event_number == IT_CM_MSG_CONN_NONPEER_REJECT_EVENT
			  ? it_reject_name(any.conn.reject_reason_code)
			  : it_event_name(any.event_number),
		  sizeof(event->why));
	if (any.conn.private_data_present)
		private_take(event, any.conn.private_data, sizeof(any.conn.private_data));
	return TRUE;
}

static const char *
operation_of(it_event_type_t number)
{
	if (number == IT_DTO_SEND_CMPL_EVENT)
		return "send";
	if (number == IT_DTO_RC_RECV_CMPL_EVENT)
		return "receive";
	if (number == IT_DTO_RDMA_WRITE_CMPL_EVENT)
		return "write";
	return number == IT_DTO_RDMA_READ_CMPL_EVENT ? "read" : "atomic";
}

gboolean
peer_ep_done(struct peer_ep *ep, guint within_ms, struct peer_done *done, GError **error)
{
	it_event_t any;
	it_dto_status_t status;

	if (!check_status(it_evd_wait(ep->work, (uint64_t)within_ms * 1000, &any, NULL),
			  "no completion", error))
		return FALSE;
	memset(done, 0, sizeof(*done));
	status = any.dto_cmpl.dto_status;
	done->op = operation_of(any.event_number);
	done->status = "error";
	if (status == IT_DTO_SUCCESS)
		done->status = "success";
	else if (status == IT_DTO_ERR_FLUSHED)
		done->status = "flushed";
	else if (status == IT_DTO_ERR_REMOTE_ACCESS)
		done->status = "access";
	else if (status == IT_DTO_ERR_LOCAL_LENGTH)
		done->status = "length";
	done->len = status == IT_DTO_SUCCESS ? any.dto_cmpl.transferred_length : 0;
	g_strlcpy(done->why, it_dto_status_name(status), sizeof(done->why));
	return TRUE;
}
