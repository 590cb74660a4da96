/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagram services: queries, answers, and every way in which a query can end [IT 13]. */
#include <string.h>

#include "it_dgram.h"

#define SHORT_US 20000   /* timeout of queries that are not answered */
#define SEEN_US  3000000 /* timeout of queries that are seen and not answered */

/* A query of the active end for the service of the passive end. */
static it_ud_svc_req_handle_t
query_service(struct pair *pair, uint64_t timeout)
{
	it_ud_svc_req_handle_t svc = NULL;
	it_path_t path = pair->path;

	path.timeout = timeout;
	pair_ok(it_ud_service_request_handle_create(&pair->qual, pair->active.cm_msg, &path,
						    (const unsigned char *)"who?", 4, &svc));
	return svc;
}

static it_ud_svc_req_identifier_t
asked(struct pair *pair)
{
	return end_expect(pair->passive.cm_req, IT_CM_REQ_UD_SERVICE_REQUEST_EVENT)
		.ud_svc_request.ud_svc_req_id;
}

static it_event_t
answered(struct pair *pair, it_ud_svc_req_handle_t svc, it_ud_svc_req_status_t status)
{
	it_event_t event = end_expect(pair->active.cm_msg, IT_CM_MSG_UD_SERVICE_REPLY_EVENT);

	g_assert_true(event.ud_svc_reply.ud_svc == svc);
	g_assert_true(event.ud_svc_reply.evd == pair->active.cm_msg);
	g_assert_cmpint(event.ud_svc_reply.status, ==, status);
	return event;
}

/* The kind of a listener other than that of the pair; a device finds services by their ports only. */
static it_conn_qual_type_t
service_type(void)
{
	return pair_is_device() ? IT_IANA_PORT : IT_IB_SERVICEID;
}

static it_status_t
reply(it_ud_svc_req_identifier_t id, it_ud_svc_req_status_t status)
{
	const it_remote_ep_info_t info = {.ud_ep_id = 77, .ud_ep_key = KEY};

	return it_ud_service_reply(id, status, info, NULL, 0);
}

/* On an adapter without datagrams, services can be neither queried nor served. */
static void
test_not_offered(struct pair *pair)
{
	const it_ia_info_t *info = pair->active.info;
	it_ud_svc_req_handle_t svc = (it_ud_svc_req_handle_t)pair;

	if (dgram_offered(&pair->active)) {
		g_assert_cmpuint(info->ud_req_private_data_len, >, 0);
		g_assert_cmpuint(info->ud_rep_private_data_len, >, 0);
		return;
	}
	g_assert_cmpuint(info->ud_req_private_data_len, ==, 0);
	g_assert_cmpuint(info->ud_rep_private_data_len, ==, 0);
	g_assert_cmpint(
		it_ud_service_request_handle_create(&pair->qual, NULL, &pair->path, NULL, 0, &svc),
		==, IT_ERR_INVALID_EVD);
	g_assert_cmpint(it_ud_service_request_handle_create(&pair->qual, pair->active.cm_msg,
							    &pair->path, NULL, 0, &svc),
			==, IT_ERR_OP_NOT_SUPPORTED);
	g_assert_null(svc);
	g_assert_cmpint(reply(1, IT_UD_SVC_EP_INFO_VALID), ==, IT_ERR_INVALID_UD_SVC_REQ_ID);
}

/* From the query to the first datagram, with nothing but the contents of the events. */
static void
test_story(struct pair *pair)
{
	it_ud_svc_req_handle_t svc;
	it_event_t event;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	struct dgram b RI_AT_END(dgram_close) = dgram_open(pair, &pair->passive);
	svc = query_service(pair, 0);
	pair_ok(it_ud_service_request(svc));
	event = end_expect(b.end->cm_req, IT_CM_REQ_UD_SERVICE_REQUEST_EVENT);
	g_assert_true(event.ud_svc_request.evd == b.end->cm_req);
	g_assert_true(event.ud_svc_request.private_data_present);
	g_assert_cmpmem(event.ud_svc_request.private_data, 5, "who?", 5);
	g_assert_cmpuint(event.ud_svc_request.ud_svc_req_id, !=, 0);
	g_assert_cmpint(event.ud_svc_request.conn_qual.type, ==, pair->qual.type);
	g_assert_cmpmem(&event.ud_svc_request.conn_qual, sizeof(pair->qual), &pair->qual,
			sizeof(pair->qual));
	g_assert_cmpuint(event.ud_svc_request.spigot_id, ==, pair->spigot);
	g_assert_cmpint(event.ud_svc_request.source_addr.addr_type, ==, IT_IPV4);
	pair_ok(it_ud_service_reply(event.ud_svc_request.ud_svc_req_id, IT_UD_SVC_EP_INFO_VALID,
				    b.info, (const unsigned char *)"me", 2));
	g_assert_cmpint(it_ud_service_reply(event.ud_svc_request.ud_svc_req_id,
					    IT_UD_SVC_EP_INFO_VALID, b.info, NULL, 0),
			==, IT_ERR_INVALID_UD_SVC_REQ_ID);
	event = answered(pair, svc, IT_UD_SVC_EP_INFO_VALID);
	g_assert_true(event.ud_svc_reply.private_data_present);
	g_assert_cmpmem(event.ud_svc_reply.private_data, 3, "me", 3);
	g_assert_cmpuint(event.ud_svc_reply.ep_info.ud_ep_id, ==, b.info.ud_ep_id);
	g_assert_cmphex(event.ud_svc_reply.ep_info.ud_ep_key, ==, KEY);
	pair_ok(it_address_handle_free(a.way));
	pair_ok(it_address_handle_create(a.end->pz, &event.ud_svc_reply.dst_path, 0, &a.way));
	dgram_fill(&a, 12);
	dgram_offer(&b, 4096, HEADER + 12, 1);
	dgram_send(&a, &event.ud_svc_reply.ep_info, 12, 2);
	end_done(b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_cmpmem(b.end->buffer + 4096 + HEADER, 12, a.end->buffer, 12);
	pair_ok(it_ud_service_request_handle_free(svc));
}

/* Every answer there is, to the same query again and again; endpoint numbers come only with the first. */
static void
test_answers(struct pair *pair)
{
	it_ud_svc_req_handle_t svc;

	svc = query_service(pair, 0);
	for (int status = IT_UD_SVC_EP_INFO_VALID; status <= IT_UD_REQ_REDIRECTED; status++) {
		it_ud_svc_req_identifier_t id;
		it_event_t event;
		bool valid = status == IT_UD_SVC_EP_INFO_VALID;

		pair_ok(it_ud_service_request(svc));
		g_assert_cmpint(it_ud_service_request(svc), ==, IT_ERR_INVALID_UD_SVC);
		id = asked(pair);
		g_assert_cmpint(reply(id, (it_ud_svc_req_status_t)(IT_UD_REQ_REDIRECTED + 1)), ==,
				IT_ERR_INVALID_UD_STATUS);
		pair_ok(reply(id, (it_ud_svc_req_status_t)status));
		event = answered(pair, svc, (it_ud_svc_req_status_t)status);
		g_assert_cmpuint(event.ud_svc_reply.ep_info.ud_ep_id, ==, valid ? 77 : 0);
		g_assert_cmpuint(event.ud_svc_reply.ep_info.ud_ep_key, ==, valid ? KEY : 0);
		/* As of every message of InfiniBand its length is that of its field; emulated ones know better. */
		g_assert_cmpint(event.ud_svc_reply.private_data_present, ==, pair_is_roce());
	}
	end_expect_none(pair->active.cm_msg);
	pair_ok(it_ud_service_request_handle_free(svc));
}

/* The query is not answered: REQ_REJECTED without data; a late answer has no effect. */
static void
test_timeout(struct pair *pair)
{
	it_status_t status = IT_SUCCESS;
	it_ud_svc_req_handle_t svc;
	it_ud_svc_req_identifier_t id;
	it_event_t event;

	svc = query_service(pair, SEEN_US);
	pair_ok(it_ud_service_request(svc));
	id = asked(pair);
	event = answered(pair, svc, IT_UD_SVC_REQ_REJECTED);
	g_assert_false(event.ud_svc_reply.private_data_present);
	g_assert_cmpuint(event.ud_svc_reply.ep_info.ud_ep_id, ==, 0);
	status = reply(id, IT_UD_SVC_EP_INFO_VALID);
	/* A service at the other side of a network does not know that nobody waits any more; over shm the news comes a moment later. */
	if ((!pair_is_roce() && !g_str_has_prefix(pair_adapter(), "shm")) || status != IT_SUCCESS)
		g_assert_cmpint(status, ==, IT_ERR_INVALID_UD_SVC_REQ_ID);
	end_expect_none(pair->active.cm_msg);
	pair_ok(it_ud_service_request_handle_free(svc));
}

/* The same where no adapter has the address. */
static void
test_nowhere(struct pair *pair)
{
	it_ud_svc_req_handle_t svc = NULL;
	it_path_t path = pair->path;
	it_conn_qual_t qual = pair->qual;

	path.timeout = SHORT_US;
	memset(&path.u.ib.local_port_gid, 0, 16);
	memcpy(&path.u.ib.remote_port_gid.s6_addr[12], "\xc0\x00\x02\x01", 4);
	pair_ok(it_ud_service_request_handle_create(&qual, pair->active.cm_msg, &path, NULL, 0,
						    &svc));
	pair_ok(it_ud_service_request(svc));
	answered(pair, svc, IT_UD_SVC_REQ_REJECTED);
	pair_ok(it_ud_service_request_handle_free(svc));
	/* The adapter exists, but has no listener. */
	svc = query_service(pair, 0);
	pair_ok(it_listen_free(pair->listen));
	pair->listen = NULL;
	pair_ok(it_ud_service_request(svc));
	answered(pair, svc, IT_UD_SVC_ID_NOT_SUPPORTED);
	pair_ok(it_ud_service_request_handle_free(svc));
	end_expect_none(pair->passive.cm_req);
}

/* A handle is freed while its answer is outstanding, at each moment: no event comes any more. */
static void
test_free_pending(struct pair *pair)
{
	it_ud_svc_req_handle_t svc;
	it_ud_svc_req_identifier_t id;
	it_event_t event;

	svc = query_service(pair, 0);
	pair_ok(it_ud_service_request(svc));
	g_assert_cmpint(it_evd_free(pair->active.cm_msg), ==, IT_ERR_EVD_BUSY);
	pair_ok(it_ud_service_request_handle_free(svc));
	g_assert_cmpint(it_ud_service_request(svc), ==, IT_ERR_INVALID_UD_SVC);
	svc = query_service(pair, 0);
	pair_ok(it_ud_service_request(svc));
	id = asked(pair);
	pair_ok(it_ud_service_request_handle_free(svc));
	while (reply(id, IT_UD_SVC_EP_INFO_VALID) != IT_ERR_INVALID_UD_SVC_REQ_ID)
		g_thread_yield();
	svc = query_service(pair, 0);
	pair_ok(it_ud_service_request(svc));
	/* The queries before it may have been delivered too, but they are invalid. */
	while (reply(asked(pair), IT_UD_SVC_EP_INFO_VALID) != IT_SUCCESS)
		;
	pair_ok(it_ud_service_request_handle_free(svc));
	/* The answer of the last query may have come before the handle was freed. */
	while (it_evd_dequeue(pair->active.cm_msg, &event) == IT_SUCCESS)
		g_assert_true(event.ud_svc_reply.ud_svc == svc);
}

/* What the listener received stays valid after its end; a query for a full EVD is refused. */
static void
test_listener(struct pair *pair)
{
	it_evd_handle_t small = NULL;
	it_conn_qual_t qual = {.type = service_type()};
	it_listen_handle_t listen = NULL;
	it_ud_svc_req_handle_t svc[3];
	guint rejected = 0, told = 0;

	svc[0] = query_service(pair, 0);
	pair_ok(it_ud_service_request(svc[0]));
	it_ud_svc_req_identifier_t id = asked(pair);
	pair_ok(it_listen_free(pair->listen));
	pair->listen = NULL;
	pair_ok(reply(id, IT_UD_SVC_REQ_REJECTED));
	answered(pair, svc[0], IT_UD_SVC_REQ_REJECTED);
	pair_ok(it_ud_service_request_handle_free(svc[0]));

	pair_ok(it_evd_create(pair->passive.ia, IT_CM_REQ_EVENT_STREAM, 0, 1, 1, NULL, &small,
			      NULL));
	pair_resize(small, 1);
	pair_ok(it_listen_create(pair->passive.ia, pair->spigot, small, IT_LISTEN_NO_FLAG, &qual,
				 &listen));
	pair->qual = qual;
	for (guint i = 0; i < G_N_ELEMENTS(svc); i++) {
		svc[i] = query_service(pair, 0);
		pair_ok(it_ud_service_request(svc[i]));
	}
	/* One query waits in the EVD, whatever its real size; the others are answered by the library. */
	while (rejected + told < G_N_ELEMENTS(svc)) {
		it_event_t event;

		if (it_evd_dequeue(pair->active.cm_msg, &event) == IT_SUCCESS) {
			g_assert_cmpint(event.ud_svc_reply.status, ==, IT_UD_SVC_REQ_REJECTED);
			rejected++;
		}
		if (rejected + 1 < G_N_ELEMENTS(svc))
			continue;
		event = end_expect(small, IT_CM_REQ_UD_SERVICE_REQUEST_EVENT);
		g_assert_cmpint(event.ud_svc_request.conn_qual.type, ==, qual.type);
		if (qual.type == IT_IB_SERVICEID)
			g_assert_true(event.ud_svc_request.conn_qual.conn_qual.serviceid ==
				      qual.conn_qual.serviceid);
		pair_ok(reply(event.ud_svc_request.ud_svc_req_id, IT_UD_SVC_EP_INFO_VALID));
		told++;
	}
	end_expect(pair->active.cm_msg, IT_CM_MSG_UD_SERVICE_REPLY_EVENT);
	for (guint i = 0; i < G_N_ELEMENTS(svc); i++)
		pair_ok(it_ud_service_request_handle_free(svc[i]));
	pair_ok(it_listen_free(listen));
	pair_ok(it_evd_free(small));
}

/* The two kinds of identifiers cannot be confused; one listener serves both. */
static void
test_identifiers(struct pair *pair)
{
	it_ud_svc_req_handle_t svc;
	it_ud_svc_req_identifier_t id;
	it_event_t event;

	svc = query_service(pair, 0);
	pair_ok(it_ud_service_request(svc));
	id = asked(pair);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_reject(id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_handoff(&pair->qual, pair->spigot, id), ==, IT_ERR_INVALID_CN_EST_ID);
	pair_connect(pair);
	event = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpuint(event.conn_req.cn_est_id, !=, id);
	g_assert_cmpint(reply(event.conn_req.cn_est_id, IT_UD_SVC_EP_INFO_VALID), ==,
			IT_ERR_INVALID_UD_SVC_REQ_ID);
	pair_ok(it_reject(event.conn_req.cn_est_id, NULL, 0));
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
	pair_ok(reply(id, IT_UD_SVC_EP_INFO_VALID));
	answered(pair, svc, IT_UD_SVC_EP_INFO_VALID);
	pair_ok(it_ud_service_request_handle_free(svc));
}

static it_status_t
create(struct pair *pair, const it_conn_qual_t *qual, const it_path_t *path, size_t pdata)
{
	static const unsigned char octets[256];
	it_ud_svc_req_handle_t svc = NULL;
	it_status_t status = it_ud_service_request_handle_create(qual, pair->active.cm_msg, path,
								 octets, pdata, &svc);

	if (status == IT_SUCCESS)
		pair_ok(it_ud_service_request_handle_free(svc));
	else
		g_assert_null(svc);
	return status;
}

/* A query of a service checks its arguments. */
static void
test_create(struct pair *pair)
{
	struct end *a = &pair->active;
	it_evd_handle_t aggregate = NULL;
	it_ud_svc_req_handle_t svc = NULL;
	it_conn_qual_t qual = pair->qual;
	it_path_t path = pair->path;

	pair_ok(it_evd_create(a->ia, IT_AEVD_NOTIFICATION_EVENT_STREAM, 0, 0, 0, NULL, &aggregate,
			      NULL));
	const struct {
		it_evd_handle_t evd;
		it_status_t status;
	} evds[] = {
		{NULL, IT_ERR_INVALID_EVD},
		{aggregate, IT_ERR_INVALID_EVD},
		{a->cm_req, IT_ERR_INVALID_EVD_TYPE},
		{a->recv, IT_ERR_INVALID_EVD_TYPE},
	};
	for (guint i = 0; i < G_N_ELEMENTS(evds); i++)
		g_assert_cmpint(it_ud_service_request_handle_create(&qual, evds[i].evd, &path, NULL,
								    0, &svc),
				==, evds[i].status);
	pair_ok(it_evd_free(aggregate));
	g_assert_cmpint(it_ud_service_request_handle_create(NULL, a->cm_msg, &path, NULL, 0, &svc),
			==, IT_ERR_FAULT);
	g_assert_cmpint(it_ud_service_request_handle_create(&qual, a->cm_msg, NULL, NULL, 0, &svc),
			==, IT_ERR_FAULT);
	g_assert_cmpint(it_ud_service_request_handle_create(&qual, a->cm_msg, &path, NULL, 1, &svc),
			==, IT_ERR_FAULT);
	g_assert_cmpint(it_ud_service_request_handle_create(&qual, a->cm_msg, &path, NULL, 0, NULL),
			==, IT_ERR_FAULT);
	pair_ok(create(pair, &qual, &path, a->info->ud_req_private_data_len));
	g_assert_cmpint(create(pair, &qual, &path, a->info->ud_req_private_data_len + 1), ==,
			IT_ERR_INVALID_PDATA_LENGTH);
	qual.type = (it_conn_qual_type_t)0x4000;
	g_assert_cmpint(create(pair, &qual, &path, 0), ==, IT_ERR_INVALID_CONN_QUAL);
	qual = (it_conn_qual_t){.type = IT_IANA_PORT};
	g_assert_cmpint(create(pair, &qual, &path, 0), ==, IT_ERR_INVALID_CONN_QUAL);
	path.spigot_id = 9;
	g_assert_cmpint(create(pair, &pair->qual, &path, 0), ==, IT_ERR_INVALID_SPIGOT);
	path = pair->path;
	memset(&path.u.ib.remote_port_gid, 0, 16);
	g_assert_cmpint(create(pair, &pair->qual, &path, 0), ==, IT_ERR_INVALID_SOURCE_PATH);
	path = pair->path;
	memset(&path.u.ib.local_port_gid, 0, 16);
	memset(&path.u.ib.local_port_gid.s6_addr[10], 0xff, 2);
	memcpy(&path.u.ib.local_port_gid.s6_addr[12], "\xc0\x00\x02\x01", 4);
	g_assert_cmpint(create(pair, &pair->qual, &path, 0), ==, IT_ERR_INVALID_SOURCE_PATH);
}

/* A query of a service is queried by a mask. */
static void
test_query(struct pair *pair)
{
	it_ud_svc_req_param_t params, untouched;
	it_ud_svc_req_handle_t svc, other;
	it_handle_type_enum_t type;
	uint32_t number;

	svc = query_service(pair, 5);
	other = query_service(pair, 0);
	pair_ok(it_get_handle_type((it_handle_t)svc, &type));
	g_assert_cmpint(type, ==, IT_HANDLE_TYPE_UD_SVC_REQ);
	pair_ok(it_ud_service_request_handle_query(svc, IT_UD_PARAM_ALL, &params));
	g_assert_true(params.ia == pair->active.ia);
	g_assert_true(params.reply_evd == pair->active.cm_msg);
	g_assert_cmpmem(&params.conn_qual, sizeof(pair->qual), &pair->qual, sizeof(pair->qual));
	g_assert_cmpuint(params.destination_path.timeout, ==, 5);
	g_assert_cmpmem(&params.destination_path.u.ib, sizeof(pair->path.u.ib), &pair->path.u.ib,
			sizeof(pair->path.u.ib));
	g_assert_cmpmem(params.private_data, 5, "who?", 5);
	g_assert_cmpuint(params.private_data_length, ==, 4);
	number = params.request_id;
	memset(&params, 0xa5, sizeof(params));
	untouched = params;
	pair_ok(it_ud_service_request_handle_query(other, IT_UD_PARAM_REQ_ID, &params));
	g_assert_cmpuint(params.request_id, !=, number);
	params.request_id = untouched.request_id;
	g_assert_cmpmem(&params, sizeof(params), &untouched, sizeof(untouched));
	g_assert_cmpint(it_ud_service_request_handle_query(NULL, IT_UD_PARAM_ALL, &params), ==,
			IT_ERR_INVALID_UD_SVC);
	g_assert_cmpint(it_ud_service_request_handle_query(svc, IT_UD_PARAM_ALL, NULL), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(
		it_ud_service_request_handle_query(svc, (it_ud_svc_req_param_mask_t)0x100, NULL),
		==, IT_ERR_INVALID_MASK);
	pair_ok(it_ud_service_request_handle_free(svc));
	g_assert_cmpint(it_ud_service_request_handle_free(svc), ==, IT_ERR_INVALID_UD_SVC);
	g_assert_cmpint(it_ud_service_request(NULL), ==, IT_ERR_INVALID_UD_SVC);
	pair_ok(it_ud_service_request_handle_free(other));
}

/* A reply to a query of a service checks its arguments. */
static void
test_reply(struct pair *pair)
{
	static const unsigned char octets[256];
	const it_remote_ep_info_t info = {.ud_ep_id = 77, .ud_ep_key = KEY};
	size_t most = pair->passive.info->ud_rep_private_data_len;
	it_ud_svc_req_handle_t svc;
	it_ud_svc_req_identifier_t id;

	svc = query_service(pair, 0);
	pair_ok(it_ud_service_request(svc));
	id = asked(pair);
	g_assert_cmpint(it_ud_service_reply(id, IT_UD_SVC_EP_INFO_VALID, info, NULL, 1), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(it_ud_service_reply(0, IT_UD_SVC_EP_INFO_VALID, info, NULL, 0), ==,
			IT_ERR_INVALID_UD_SVC_REQ_ID);
	g_assert_cmpint(it_ud_service_reply(id, IT_UD_SVC_EP_INFO_VALID, info, octets, most + 1),
			==, IT_ERR_INVALID_PDATA_LENGTH);
	pair_ok(it_ud_service_reply(id, IT_UD_SVC_EP_INFO_VALID, info, octets, most));
	g_assert_true(
		answered(pair, svc, IT_UD_SVC_EP_INFO_VALID).ud_svc_reply.private_data_present);
	pair_ok(it_ud_service_request_handle_free(svc));
}

/* Either adapter is freed while queries are outstanding. */
static void
test_ia_free(struct pair *pair)
{
	it_ud_svc_req_handle_t svc, own = NULL;
	it_ud_svc_req_identifier_t id;
	struct end end;

	g_assert_true(end_open(&end));
	pair_ok(it_ud_service_request_handle_create(&pair->qual, end.cm_msg, &pair->path, NULL, 0,
						    &own));
	pair_ok(it_ud_service_request(own));
	id = asked(pair);
	pair_ok(it_ia_free(end.ia));
	g_assert_cmpint(it_ud_service_request(own), ==, IT_ERR_INVALID_UD_SVC);
	while (reply(id, IT_UD_SVC_EP_INFO_VALID) != IT_ERR_INVALID_UD_SVC_REQ_ID)
		g_thread_yield();
	it_ia_info_free(end.info);
	g_free(end.buffer);

	/* And the serving adapter, with one query delivered and one not. */
	it_conn_qual_t qual = {.type = service_type()};
	it_listen_handle_t listen = NULL;
	g_assert_true(end_open(&end));
	pair_ok(it_listen_create(end.ia, 0, end.cm_req, IT_LISTEN_NO_FLAG, &qual, &listen));
	pair->qual = qual;
	svc = query_service(pair, 0);
	pair_ok(it_ud_service_request(svc));
	id = end_expect(end.cm_req, IT_CM_REQ_UD_SERVICE_REQUEST_EVENT)
		     .ud_svc_request.ud_svc_req_id;
	pair_ok(it_ia_free(end.ia));
	g_assert_cmpint(reply(id, IT_UD_SVC_EP_INFO_VALID), ==, IT_ERR_INVALID_UD_SVC_REQ_ID);
	answered(pair, svc, IT_UD_SVC_REQ_REJECTED);
	pair_ok(it_ud_service_request_handle_free(svc));
	it_ia_info_free(end.info);
	g_free(end.buffer);
}

#define MANY  100
#define FIRST 16 /* no endpoint has a smaller number */

/* Many queries at once, each answered with its own number. */
static void
test_many(struct pair *pair)
{
	it_ud_svc_req_handle_t svc[MANY];
	bool seen[MANY] = {false};

	for (guint i = 0; i < MANY; i++) {
		uint16_t number = (uint16_t)i;

		pair_ok(it_ud_service_request_handle_create(
			&pair->qual, pair->active.cm_msg, &pair->path,
			(const unsigned char *)&number, sizeof(number), &svc[i]));
		pair_ok(it_ud_service_request(svc[i]));
	}
	for (guint i = 0; i < MANY; i++) {
		it_event_t event =
			end_expect(pair->passive.cm_req, IT_CM_REQ_UD_SERVICE_REQUEST_EVENT);
		it_remote_ep_info_t info = {.ud_ep_key = KEY};
		uint16_t number;

		memcpy(&number, event.ud_svc_request.private_data, sizeof(number));
		info.ud_ep_id = FIRST + number;
		pair_ok(it_ud_service_reply(event.ud_svc_request.ud_svc_req_id,
					    IT_UD_SVC_EP_INFO_VALID, info, NULL, 0));
	}
	for (guint i = 0; i < MANY; i++) {
		it_event_t event =
			end_expect(pair->active.cm_msg, IT_CM_MSG_UD_SERVICE_REPLY_EVENT);
		uint32_t number = event.ud_svc_reply.ep_info.ud_ep_id - FIRST;

		g_assert_cmpuint(number, <, MANY);
		g_assert_false(seen[number]);
		seen[number] = true;
		g_assert_true(event.ud_svc_reply.ud_svc == svc[number]);
	}
	for (guint i = 0; i < MANY; i++)
		pair_ok(it_ud_service_request_handle_free(svc[i]));
}

static void
add(void)
{
	pair_add("ud-service/not-offered", test_not_offered);
	pair_add_for(NEEDS_UD, "ud-service/story", test_story);
	pair_add_for(NEEDS_UD, "ud-service/answers", test_answers);
	pair_add_for(NEEDS_UD, "ud-service/r-35-timeout", test_timeout);
	pair_add_for(NEEDS_UD, "ud-service/r-35-nowhere", test_nowhere);
	pair_add_for(NEEDS_UD, "ud-service/free-pending", test_free_pending);
	pair_add_for(NEEDS_UD, "ud-service/listener", test_listener);
	pair_add_for(NEEDS_UD, "ud-service/identifiers", test_identifiers);
	pair_add_for(NEEDS_UD, "ud-service/create", test_create);
	pair_add_for(NEEDS_UD, "ud-service/query", test_query);
	pair_add_for(NEEDS_UD, "ud-service/reply", test_reply);
	pair_add_for(NEEDS_UD, "ud-service/ia-free", test_ia_free);
	pair_add_for(NEEDS_UD, "ud-service/many", test_many);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
