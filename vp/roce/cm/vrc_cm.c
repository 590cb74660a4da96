/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The manager: it finds the exchange to which a datagram belongs, handles time-outs, and returns
 * events.
 *
 * A message belongs to an exchange if the id, the transaction and both addresses match. An attacker
 * that forges the address of a peer would have to guess 32 and 64 random bits. Messages that belong
 * to no exchange are answered where the standard demands it, at a bounded rate.
 */
#include <stdlib.h>
#include <string.h>

#include "vrc_conn.h"
#include "vrc_ip.h"
#include "vrc_reason.h"

#define SECOND        UINT64_C(1000000000)
#define STRAY_ANSWERS 1000 /* a second */

struct vrc_cm *
vrc_cm_new(const struct vrc_config *config)
{
	struct vrc_cm *cm = calloc(1, sizeof(*cm));

	if (cm == NULL)
		return NULL;
	cm->config = *config;
	vrc_link_init(&cm->all);
	vrc_link_init(&cm->ready);
	vrc_link_init(&cm->listens);
	if (cm->config.guid == 0)
		vrc_random(cm, &cm->config.guid, sizeof(cm->config.guid));
	if (vrc_table_create(cm))
		return cm;
	vrc_table_free(cm);
	free(cm);
	return NULL;
}

/* Tell the peer once, if the owner still had an interest. The exchange may be freed. */
static void
conn_close(struct vrc_conn *conn)
{
	const struct ri_service_answer unknown = {.status = RI_SERVICE_UNKNOWN};

	if (conn->silent)
		return;
	if (conn->state == VRC_STATE_REQ_RCVD)
		(void)vrc_reject(conn->cm, conn->number, RI_CM_REASON_REFUSED, NULL, 0);
	else if (conn->state == VRC_STATE_SIDR_RCVD)
		(void)vrc_answer(conn->cm, conn->number, &unknown);
	else
		vrc_abandon(conn->cm, conn->number);
}

void
vrc_cm_free(struct vrc_cm *cm)
{
	struct vrc_link *next;

	while (!vrc_link_is_empty(&cm->listens))
		vrc_listen_free(cm, VRC_OF(cm->listens.next, struct vrc_listen, link));
	vrc_held_expire(cm, RI_NEVER);
	for (struct vrc_link *l = cm->all.next; l != &cm->all; l = next) {
		next = l->next;
		conn_close(VRC_OF(l, struct vrc_conn, all));
	}
	while (!vrc_link_is_empty(&cm->all))
		vrc_conn_free(VRC_OF(cm->all.next, struct vrc_conn, all));
	vrc_table_free(cm);
	free(cm);
}

/* --- datagrams ------------------------------------------------------------------------------- */

/* May a message for nobody be answered? */
static bool
stray_is_answered(struct vrc_cm *cm)
{
	uint64_t second = vrc_now(cm) / SECOND;

	cm->counts.strays++;
	if (second != cm->answers_second) {
		cm->answers_second = second;
		cm->answers_sent = 0;
	}
	if (cm->answers_sent < STRAY_ANSWERS) {
		cm->answers_sent++;
		return true;
	}
	cm->counts.unanswered++;
	return false;
}

/* No exchange has these ids. */
static void
stray_answer(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad)
{
	const struct vrc_mad_rej rej = {.about = VRC_ABOUT_REP, .reason = VRC_REJ_BAD_ID};
	struct vrc_mad answer = {
		.tid = mad->tid, .local_id = mad->remote_id, .remote_id = mad->local_id};

	if (mad->attribute != VRC_REP && mad->attribute != VRC_DREQ && mad->attribute != VRC_LAP) {
		cm->counts.strays++;
		return;
	}
	if (!stray_is_answered(cm))
		return;
	if (mad->attribute == VRC_REP) {
		vrc_send_rej(cm, path, mad, &rej);
		return;
	}
	answer.attribute = mad->attribute == VRC_DREQ ? VRC_DREP : VRC_APR;
	if (mad->attribute == VRC_LAP)
		answer.apr.status = VRC_APR_BAD_ID;
	vrc_send_mad(cm, path, &answer);
}

/* Is it the peer of this exchange that speaks? A side that has not heard the other's id sends 0 for it. */
static bool
ids_fit(const struct vrc_conn *conn, const struct vrc_mad *mad)
{
	switch (mad->attribute) {
	case VRC_REP:
		if (!conn->active || mad->tid != conn->tid)
			return false;
		return conn->state == VRC_STATE_REQ_SENT || conn->state == VRC_STATE_REQ_HELD ||
		       mad->local_id == conn->remote_id;
	case VRC_MRA:
	case VRC_REJ:
		if (mad->tid != conn->tid)
			return false;
		return mad->local_id == 0 || conn->remote_id == 0 ||
		       mad->local_id == conn->remote_id;
	case VRC_RTU:
		return !conn->active && mad->tid == conn->tid && mad->local_id == conn->remote_id;
	case VRC_DREQ:
		return mad->local_id == conn->remote_id && mad->dreq_qpn == conn->qpn;
	case VRC_DREP:
		return mad->local_id == conn->remote_id && mad->tid == conn->dreq_tid;
	default:
		return mad->local_id == conn->remote_id;
	}
}

static enum vrc_step
step_of(uint16_t attribute)
{
	switch (attribute) {
	case VRC_MRA:
		return VRC_STEP_MRA;
	case VRC_REJ:
		return VRC_STEP_REJ;
	case VRC_REP:
		return VRC_STEP_REP;
	case VRC_RTU:
		return VRC_STEP_RTU;
	case VRC_DREQ:
		return VRC_STEP_DREQ;
	case VRC_DREP:
		return VRC_STEP_DREP;
	default:
		return VRC_STEP_COUNT;
	}
}

/* A message that names an exchange of this side by its id. */
static void
message_receive(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad)
{
	const struct vrc_input in = {.mad = mad};
	struct vrc_conn *conn = vrc_find_id(cm, mad->remote_id, path);

	/* The peer of a request that was not answered has no id for it. */
	if (mad->attribute == VRC_REJ && mad->remote_id == 0) {
		conn = vrc_find_peer(cm, mad->local_id, false, path);
		if (vrc_held_withdraw(cm, path, mad))
			return;
	}
	if (conn == NULL || conn->datagram) {
		stray_answer(cm, path, mad);
		return;
	}
	if (!ids_fit(conn, mad)) {
		cm->counts.strays++;
		return;
	}
	if (mad->attribute == VRC_LAP) {
		struct vrc_mad apr = {.attribute = VRC_APR,
				      .tid = mad->tid,
				      .local_id = conn->local_id,
				      .remote_id = conn->remote_id,
				      .apr = {.status = VRC_APR_UNSUPPORTED}};
		if (conn->state == VRC_STATE_ESTABLISHED)
			vrc_send_mad(cm, path, &apr);
	} else if (mad->attribute != VRC_APR) {
		(void)vrc_step(conn, step_of(mad->attribute), &in);
	}
}

/* The answer to a query names it by the request id alone. */
static void
service_receive(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad)
{
	const struct vrc_input in = {.mad = mad};
	struct vrc_conn *conn = vrc_find_id(cm, mad->local_id, path);

	if (conn == NULL || !conn->datagram || !conn->active || mad->tid != conn->tid ||
	    mad->sidr_rep.service_id != conn->service_id) {
		cm->counts.strays++;
		return;
	}
	(void)vrc_step(conn, VRC_STEP_SIDR_REP, &in);
}

void
vrc_cm_receive(struct vrc_cm *cm, const struct vrc_path *path, const void *octets, size_t len)
{
	struct vrc_mad mad;
	enum vrc_found found = vrc_mad_read(octets, len, &mad);
	uint8_t answer[VRC_MAD_SIZE];

	cm->counts.received++;
	if (found != VRC_FOUND_CM) {
		cm->counts.refused[found]++;
		if (vrc_mad_refuse(octets, len, found, answer) && stray_is_answered(cm))
			cm->config.send(cm->config.self, path, answer);
		return;
	}
	switch (mad.attribute) {
	case VRC_REQ:
		vrc_request_receive(cm, path, &mad);
		break;
	case VRC_SIDR_REQ:
		vrc_query_receive(cm, path, &mad);
		break;
	case VRC_SIDR_REP:
		service_receive(cm, path, &mad);
		break;
	default:
		message_receive(cm, path, &mad);
		break;
	}
}

/* --- time ------------------------------------------------------------------------------------ */

void
vrc_cm_expire(struct vrc_cm *cm)
{
	const struct vrc_input none = {0};
	uint64_t now = vrc_now(cm);

	vrc_held_expire(cm, now);
	while (cm->heap_count > 0) {
		struct vrc_conn *conn = cm->heap[0];
		enum vrc_step step = VRC_STEP_DEADLINE;

		if (conn->due > now && conn->deadline > now)
			break;
		if (conn->deadline > now)
			step = conn->copies_left > 0 ? VRC_STEP_AGAIN : VRC_STEP_SILENCE;
		if (vrc_step(conn, step, &none))
			continue;
		/* The state has no such end: the timer was of an earlier one. */
		conn->due = conn->deadline = RI_NEVER;
		vrc_timer_update(conn);
	}
}

/* --- events ---------------------------------------------------------------------------------- */

static void
private_set(struct ri_cm_event *event, const uint8_t *from, uint16_t len, uint16_t skip)
{
	event->pdata_present = len > skip;
	event->pdata_len = len > skip ? (uint16_t)(len - skip) : 0;
	memcpy(event->pdata, from + skip, event->pdata_len);
}

static void
depths_set(const struct vrc_conn *conn, struct ri_cm_event *event)
{
	event->ird_ord_valid = true;
	event->ird = conn->peer_ird;
	event->ord = conn->peer_ord;
	event->reach = conn->reach;
}

static void
request_make(struct vrc_conn *conn, struct ri_cm_event *event)
{
	bool port = vrc_service_is_port(conn->service_id, conn->datagram);

	conn->told = true;
	event->request = (struct ri_request *)(uintptr_t)conn->number;
	private_set(event, conn->heard, conn->heard_len, port ? VRC_IP_HEADER_SIZE : 0);
	if (!conn->datagram)
		depths_set(conn, event);
}

static void
event_make(struct vrc_conn *conn, enum ri_cm_event_kind kind, struct vrc_event *event)
{
	struct ri_cm_event *cm = &event->cm;

	*event = (struct vrc_event){.number = conn->number, .owner = conn->owner};
	*cm = (struct ri_cm_event){.kind = kind,
				   .ctx = conn->ctx,
				   .peer = conn->path.peer,
				   .local = conn->path.local,
				   .service = conn->service,
				   .port = conn->path.port};
	switch (kind) {
	case RI_CM_REQUEST:
	case RI_CM_SERVICE_REQUEST:
		request_make(conn, cm);
		break;
	case RI_CM_REQUEST_GONE:
		cm->request = (struct ri_request *)(uintptr_t)conn->number;
		break;
	case RI_CM_REPLY:
	case RI_CM_ESTABLISHED:
		depths_set(conn, cm);
		private_set(cm, conn->heard, conn->heard_len, 0);
		conn->heard_len = 0; /* not once more with RI_CM_ESTABLISHED */
		break;
	case RI_CM_REJECTED:
	case RI_CM_FAILED:
	case RI_CM_DISCONNECTED:
	case RI_CM_BROKEN:
		cm->reason = conn->reason;
		event->status = conn->status;
		event->time_wait = conn->state != VRC_STATE_OVER || conn->pending_count > 0;
		private_set(cm, conn->parting, conn->parting_len, 0);
		break;
	case RI_CM_SERVICE_REPLY:
		event->status = conn->status;
		cm->service_status = vrc_service_status_of_sidr((uint8_t)conn->status);
		cm->qpn = conn->service_qpn;
		cm->qkey = conn->service_qkey;
		private_set(cm, conn->heard, conn->heard_len, 0);
		break;
	case RI_CM_TIME_WAIT_OVER:
	case RI_CM_NONE:
	case RI_CM_KIND_COUNT:
	default:
		break;
	}
}

bool
vrc_cm_has_next(const struct vrc_cm *cm)
{
	return !vrc_link_is_empty(&cm->ready);
}

bool
vrc_cm_next(struct vrc_cm *cm, struct vrc_event *event)
{
	if (vrc_link_is_empty(&cm->ready))
		return false;
	struct vrc_conn *conn = VRC_OF(cm->ready.next, struct vrc_conn, ready);
	enum ri_cm_event_kind kind = (enum ri_cm_event_kind)conn->pending[0];

	conn->pending_count--;
	memmove(conn->pending, conn->pending + 1, conn->pending_count);
	vrc_link_remove(&conn->ready);
	event_make(conn, kind, event);
	if (conn->pending_count > 0)
		vrc_link_append(&cm->ready, &conn->ready);
	vrc_conn_settle(conn);
	return true;
}

void
vrc_cm_counts(const struct vrc_cm *cm, struct vrc_counts *counts)
{
	*counts = cm->counts;
}
