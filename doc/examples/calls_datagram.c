/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Examples of reference pages: a datagram service, and a datagram to it; see calls.c. */
#include <stdio.h>
#include <string.h>

#include "calls.h"

#define KEY    0x1234u /* each sender must know it */
#define HEADER 40      /* bytes in front of each datagram */

/* [it_ep_ud_create] */
static it_ep_handle_t
endpoint_create(struct side *side, it_remote_ep_info_t *info)
{
	it_ep_attributes_t attributes = {
		.max_request_dtos = 4,
		.max_recv_dtos = 4,
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.ud.ep_info.ud_ep_key = KEY,
	};
	it_ep_param_t param;
	it_ep_handle_t ep;

	MUST(it_ep_ud_create(side->pz, side->request_evd, side->recv_evd, &attributes, 0, &ep));
	/* The library chooses the number by which others reach the endpoint. */
	MUST(it_ep_query(ep, IT_EP_PARAM_EP_ID | IT_EP_PARAM_EP_KEY, &param));
	*info = param.attr.srv.ud.ep_info;
	return ep;
}
/* [it_ep_ud_create] */

/* [it_ud_service_request] */
static it_ud_svc_req_handle_t
service_query(struct side *client, const it_conn_qual_t *service, const it_path_t *path)
{
	it_ud_svc_req_handle_t query;

	MUST(it_ud_service_request_handle_create(service, client->cm_evd, path, NULL, 0, &query));
	MUST(it_ud_service_request(query));
	/* An event of cm_evd brings the answer, in any case. */
	return query;
}
/* [it_ud_service_request] */

/* [it_ud_service_reply] */
static void
service_answer(it_evd_handle_t requests, it_remote_ep_info_t info)
{
	it_event_t event = event_expect(requests, IT_CM_REQ_UD_SERVICE_REQUEST_EVENT);

	MUST(it_ud_service_reply(event.ud_svc_request.ud_svc_req_id, IT_UD_SVC_EP_INFO_VALID, info,
				 NULL, 0));
}
/* [it_ud_service_reply] */

/* [it_address_handle_create] */
static it_dg_remote_ep_addr_t
target_of(struct side *client, const it_ud_svc_reply_event_t *reply)
{
	it_dg_remote_ep_addr_t target = {.type = IT_DG_TYPE_IB_UD,
					 .addr.ud.ep_info = reply->ep_info};

	MUST(it_address_handle_create(client->pz, &reply->dst_path, 0, &target.addr.ud.addr));
	return target;
}
/* [it_address_handle_create] */

/* [it_post_recvfrom] */
static void
datagram_await(struct side *server, it_ep_handle_t ep)
{
	it_lmr_triplet_t segment = segment_of(server, server->memory.receives[0], SLOT);

	/* The first 40 bytes are for a header. */
	MUST(it_post_recvfrom(ep, &segment, 1, 8, IT_NOTIFY_FLAG));
}
/* [it_post_recvfrom] */

/* [it_post_sendto] */
static void
datagram_send(struct side *client, it_ep_handle_t ep, const it_dg_remote_ep_addr_t *target)
{
	it_lmr_triplet_t segment = segment_of(client, client->memory.text, 6);

	memcpy(client->memory.text, "hello", 6);
	MUST(it_post_sendto(ep, &segment, 1, 9, IT_COMPLETION_FLAG | IT_NOTIFY_FLAG, target));
	/* It says that the buffer is free, not that the datagram has arrived. */
	completion_expect(client->request_evd, IT_DTO_SEND_CMPL_EVENT);
}
/* [it_post_sendto] */

void
datagrams_exchange(struct side *client, struct side *server, it_evd_handle_t requests,
		   const it_conn_qual_t *service, const it_path_t *path)
{
	it_remote_ep_info_t client_info, server_info;
	it_ep_handle_t sender = endpoint_create(client, &client_info);
	it_ep_handle_t receiver = endpoint_create(server, &server_info);
	it_ud_svc_req_handle_t query = service_query(client, service, path);

	service_answer(requests, server_info);
	it_event_t event = event_expect(client->cm_evd, IT_CM_MSG_UD_SERVICE_REPLY_EVENT);
	HOLDS(event.ud_svc_reply.status == IT_UD_SVC_EP_INFO_VALID);
	it_dg_remote_ep_addr_t target = target_of(client, &event.ud_svc_reply);

	datagram_await(server, receiver);
	datagram_send(client, sender, &target);
	event = completion_expect(server->recv_evd, IT_DTO_UD_RECV_CMPL_EVENT);
	HOLDS(event.all_dto_cmpl.transferred_length == HEADER + 6);
	HOLDS(strcmp(server->memory.receives[0] + HEADER, "hello") == 0);
	MUST(it_address_handle_free(target.addr.ud.addr));
	MUST(it_ud_service_request_handle_free(query));
	MUST(it_ep_free(sender));
	MUST(it_ep_free(receiver));
}
