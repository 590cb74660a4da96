/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queries for datagram services (vem_resolve.c) to other processes.
 *
 *     side that asks                 service
 *     QUERY                     ->    a request for the listener
 *                               <-    ANSWER
 *     QUERY_END                 ->    it does not wait any more
 *
 * The number in `from` of a QUERY identifies it: an ANSWER has it in `to`, a QUERY_END in `from`.
 * If the process of the service ends, the query is answered as if that process had no such service.
 * A query keeps its link until it is answered. All functions are called with the fabric's lock.
 */
#include <string.h>

#include "vem_cm.h"
#include "vem_fault.h"
#include "vem_remote.h"

/* --- the side that asks ------------------------------------------------------------------- */

static void
query_say(struct vem_query *query)
{
	const struct ri_cm_event *event = &query->event;
	struct vem_packet packet = {.magic = VEM_PACKET_MAGIC,
				    .kind = VEM_PACKET_QUERY,
				    .from = query->number,
				    .service = event->service,
				    .peer = event->peer,
				    .local = event->local,
				    .pdata_len = query->said_len};

	memcpy(packet.pdata, query->said, query->said_len);
	query->asked = true;
	vem_link_send(query->link, &packet);
}

static void
query_send(struct vem_query *query)
{
	const struct ri_service_answer unknown = {.status = RI_SERVICE_UNKNOWN};
	const struct ri_service_answer none = {.status = RI_SERVICE_REJECTED};
	struct vem_shm *shm = query->rnic->fabric->shm;
	enum ri_cm_reason reason = RI_CM_REASON_RESOURCES;
	struct vem_link *link = vem_link_to(shm, &query->event.service, query->fresh, &reason);

	if (link == NULL) {
		vem_query_answer(query, reason == RI_CM_REASON_REFUSED ? &unknown : &none);
		return;
	}
	query->fresh = query->fresh || !atomic_load(&link->up);
	query->link = link;
	link->users++;
	if (atomic_load(&link->up))
		query_say(query);
}

void
vem_remote_query_send_all(struct vem_fabric *fabric)
{
	for (struct vsw_item *i = fabric->queries.next; i != &fabric->queries; i = i->next) {
		struct vem_query *query = vsw_of(i, struct vem_query, item);

		if (!query->leaves)
			continue;
		query->leaves = false;
		query_send(query);
	}
}

void
vem_remote_query_close(struct vem_query *query)
{
	struct vem_link *link = query->link;
	const struct vem_packet end = {
		.magic = VEM_PACKET_MAGIC, .kind = VEM_PACKET_QUERY_END, .from = query->number};

	query->leaves = false;
	if (link == NULL)
		return;
	query->link = NULL;
	if (query->asked)
		vem_link_send(link, &end);
	vem_link_unuse(link);
}

/* The query that waits for an answer over this link. */
static struct vem_query *
query_numbered(const struct vem_link *link, uint32_t number)
{
	struct vem_fabric *fabric = link->shm->fabric;

	for (struct vsw_item *i = fabric->queries.next; i != &fabric->queries; i = i->next) {
		struct vem_query *query = vsw_of(i, struct vem_query, item);

		if (query->link == link && query->asked && query->number == number)
			return query;
	}
	return NULL;
}

static const char *
answered(const struct vem_link *link, const struct vem_packet *packet)
{
	struct vem_query *query = query_numbered(link, packet->to);
	const struct ri_service_answer answer = {.status = packet->code,
						 .qpn = packet->qpn,
						 .qkey = packet->qkey,
						 .pdata = packet->pdata,
						 .pdata_len = packet->pdata_len};
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	vem_profile(link->shm->fabric, &attr);
	if (packet->code >= RI_SERVICE_STATUS_COUNT || packet->qpn > 0xffffff ||
	    packet->pdata_len > attr.ud_reply_pdata)
		return "the answer of a service cannot be";
	if (query == NULL)
		return NULL; /* it was too late */
	query->asked = false;
	if (packet->code == RI_SERVICE_UNKNOWN && !query->fresh) {
		/* The name has passed to another process since its link was dialed. */
		vem_remote_query_close(query);
		query->fresh = true;
		query_send(query);
	} else {
		vem_query_answer(query, &answer);
	}
	return NULL;
}

/* --- the service -------------------------------------------------------------------------- */

static void
answer_send(struct vem_link *link, uint32_t number, const struct ri_service_answer *answer)
{
	struct vem_packet packet = {.magic = VEM_PACKET_MAGIC,
				    .kind = VEM_PACKET_ANSWER,
				    .to = number,
				    .code = answer->status,
				    .pdata_len = answer->pdata_len};

	if (answer->status == RI_SERVICE_FOUND) {
		packet.qpn = answer->qpn & 0xffffff;
		packet.qkey = answer->qkey;
	}
	if (answer->pdata_len != 0)
		memcpy(packet.pdata, answer->pdata, answer->pdata_len);
	vem_link_send(link, &packet);
}

void
vem_remote_query_answer(struct vem_conn *conn, const struct ri_service_answer *answer)
{
	answer_send(conn->asker, conn->asker_number, answer);
	conn->asker = NULL;
}

static const char *
queried(struct vem_link *link, const struct vem_packet *packet)
{
	const struct ri_service_answer unknown = {.status = RI_SERVICE_UNKNOWN};
	const struct ri_service_answer full = {.status = RI_SERVICE_REJECTED};
	struct vem_fabric *fabric = link->shm->fabric;
	struct ri_rnic_attr attr = {.size = sizeof(attr)};
	struct ri_cm_event event = {.kind = RI_CM_SERVICE_REQUEST,
				    .peer = packet->local,
				    .local = packet->peer,
				    .pdata_present = packet->pdata_len != 0,
				    .pdata_len = packet->pdata_len};
	struct ri_listen *listen;

	vem_profile(fabric, &attr);
	if (!attr.ud || packet->pdata_len > attr.ud_request_pdata ||
	    !vem_service_is_known(fabric, &packet->service) || packet->peer.family > RI_ADDR_GID ||
	    packet->local.family > RI_ADDR_GID)
		return "a query for a service cannot be";
	memcpy(event.pdata, packet->pdata, packet->pdata_len);
	listen = vem_listen_find(fabric, &packet->service);
	if (listen == NULL) {
		answer_send(link, packet->from, &unknown);
		return NULL;
	}
	if (vem_fault_offline(listen->context->rnic))
		return NULL;

	struct vem_conn *conn = vem_conn_new(listen, &event);

	if (conn == NULL) {
		answer_send(link, packet->from, &full);
		return NULL;
	}
	conn->service = true;
	conn->asker = link;
	conn->asker_number = packet->from;
	return NULL;
}

/* Withdraw the queries that came over a link: the one with that number, or `all`. */
static void
queries_withdraw(const struct vem_link *link, uint32_t number, bool all)
{
	struct vem_fabric *fabric = link->shm->fabric;
	struct vsw_item *next;

	for (struct vsw_item *i = fabric->conns.next; i != &fabric->conns; i = next) {
		struct vem_conn *conn = vsw_of(i, struct vem_conn, item);

		next = i->next;
		if (conn->asker != link || (!all && conn->asker_number != number))
			continue;
		conn->asker = NULL;
		vem_conn_withdraw(conn);
	}
}

/* --- both --------------------------------------------------------------------------------- */

const char *
vem_remote_query_packet(struct vem_link *link, const struct vem_packet *packet)
{
	if (packet->kind == VEM_PACKET_ANSWER)
		return answered(link, packet);
	if (packet->kind == VEM_PACKET_QUERY)
		return queried(link, packet);
	queries_withdraw(link, packet->from, false);
	return NULL;
}

void
vem_remote_query_up(struct vem_link *link)
{
	struct vem_fabric *fabric = link->shm->fabric;

	for (struct vsw_item *i = fabric->queries.next; i != &fabric->queries; i = i->next) {
		struct vem_query *query = vsw_of(i, struct vem_query, item);

		if (query->link == link && !query->asked)
			query_say(query);
	}
}

void
vem_remote_query_down(struct vem_link *link)
{
	const struct ri_service_answer none = {.status = RI_SERVICE_UNKNOWN};
	struct vem_fabric *fabric = link->shm->fabric;

	for (struct vsw_item *i = fabric->queries.next; i != &fabric->queries; i = i->next) {
		struct vem_query *query = vsw_of(i, struct vem_query, item);

		if (query->link != link)
			continue;
		query->asked = false;
		vem_query_answer(query, &none);
	}
	queries_withdraw(link, 0, true);
}
