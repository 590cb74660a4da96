/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections to other processes: how they begin and end. The messages are those of vem_cm.c, in packets.
 *
 *     active                          passive
 *     REQUEST                   ->    a request for the listener
 *                               <-    ACCEPT, then MESSAGE (REPLY); or FAIL, or MESSAGE (REFUSED)
 *     MESSAGE (CONFIRM)         ->    InfiniBand
 *     WITHDRAW                  ->    at any time before ACCEPT
 *     MESSAGE (CLOSE, TERMINATE, LOST) in both directions, at the end
 */
#include <stdlib.h>
#include <string.h>

#include "ri_log.h"
#include "vem_cm.h"
#include "vem_fault.h"
#include "vem_remote.h"
#include "vem_tap.h"
#include "vem_ud.h"
#include "vsw_relax.h"

/* The messages that one side may send to the other. */
#define MESSAGES                                                                                 \
	(VEM_MSG_REPLY | VEM_MSG_CONFIRM | VEM_MSG_REFUSED | VEM_MSG_CLOSE | VEM_MSG_TERMINATE | \
	 VEM_MSG_LOST)

/* --- slots -------------------------------------------------------------------------------- */

static struct vem_slot *
slot_of(const struct vem_link *link, uint32_t number)
{
	struct vem_slot *page =
		number / VEM_SLOTS < VEM_SLOT_PAGES ? link->pages[number / VEM_SLOTS] : NULL;

	return page != NULL ? &page[number % VEM_SLOTS] : NULL;
}

/* The first free slot: those who look at all look at no more pages than are needed. False: no slot is free, or no memory. */
static bool
slot_take(struct vem_link *link, struct vem_remote *remote)
{
	for (uint32_t i = 0; i < VEM_SLOT_PAGES * VEM_SLOTS; i++) {
		uint32_t number = (link->hint + i) % (VEM_SLOT_PAGES * VEM_SLOTS);
		struct vem_slot **page = &link->pages[number / VEM_SLOTS];

		if (*page == NULL) {
			struct vem_slot *made = calloc(VEM_SLOTS, sizeof(**page));

			if (made == NULL)
				return false;
			/* A reader that finds the page finds it empty. */
			vem_shm_rx_take(link->shm);
			*page = made;
			vem_shm_rx_drop(link->shm);
		}
		struct vem_slot *slot = &(*page)[number % VEM_SLOTS];

		if (atomic_load(&slot->remote) != NULL)
			continue;
		remote->slot = number;
		remote->life = ++slot->life;
		link->hint = number + 1;
		atomic_store_explicit(&slot->remote, remote, memory_order_release);
		return true;
	}
	return false;
}

static struct vem_remote *
remote_find(const struct vem_link *link, uint32_t number, uint32_t life)
{
	const struct vem_slot *slot = slot_of(link, number);
	struct vem_remote *remote = slot != NULL ? atomic_load(&slot->remote) : NULL;

	return remote != NULL && remote->life == life ? remote : NULL;
}

/* The connection that has this number at the other side. */
static struct vem_remote *
remote_of_far(const struct vem_link *link, uint32_t number, uint32_t life)
{
	for (uint32_t i = 0; i < VEM_SLOT_PAGES * VEM_SLOTS; i++) {
		const struct vem_slot *slot = slot_of(link, i);

		if (slot == NULL) {
			i |= VEM_SLOTS - 1;
			continue;
		}
		struct vem_remote *remote = atomic_load(&slot->remote);

		if (remote != NULL && remote->far_known && remote->far_slot == number &&
		    remote->far_life == life)
			return remote;
	}
	return NULL;
}

/* Whoever dialed hangs up when the last use ends; the other side sees it. Datagrams keep the link. */
void
vem_link_unuse(struct vem_link *link)
{
	struct vem_shm *shm = link->shm;

	if (link->users != 0 && --link->users != 0)
		return;
	if (atomic_load(&link->broken))
		shm->host->task_run(shm->host->self, &shm->reap);
	else if (link->dialed && link->key == VEM_KEY_NONE)
		vem_link_break(link, "nobody uses it any more");
}

bool
vem_remote_attach(struct vem_remote *remote, struct vem_link *link)
{
	remote->link = link;
	link->users++;
	if (slot_take(link, remote))
		return true;
	remote->link = NULL;
	vem_link_unuse(link);
	return false;
}

static struct vem_remote *
remote_new(struct vem_link *link)
{
	struct vem_remote *remote = calloc(1, sizeof(*remote));

	if (remote == NULL) {
		/* One that was dialed for it has no other use. */
		link->users++;
		vem_link_unuse(link);
		return NULL;
	}
	if (vem_remote_attach(remote, link))
		return remote;
	free(remote);
	return NULL;
}

static void
owing_remove(struct vem_link *link, const struct vem_remote *remote)
{
	for (struct vem_remote **at = &link->owing; *at != NULL; at = &(*at)->next_owing) {
		if (*at == remote) {
			*at = remote->next_owing;
			return;
		}
	}
}

/* Free what remote_fill has allocated. */
static void
remote_empty(struct vem_remote *remote)
{
	free(remote->sent);
	free(remote->wqes);
	free(remote->asks);
	remote->sent = NULL;
	remote->wqes = NULL;
	remote->asks = NULL;
}

void
vem_remote_detach(struct vem_remote *remote)
{
	struct vem_link *link = remote->link;

	if (link == NULL)
		return;
	vem_shm_rx_take(link->shm);
	atomic_store(&slot_of(link, remote->slot)->remote, NULL);
	if (remote->slot < link->hint)
		link->hint = remote->slot;
	(void)vem_remote_acknowledge(remote);
	owing_remove(link, remote);
	vem_shm_rx_drop(link->shm);
	remote->link = NULL;
	atomic_store(&remote->far_known, false);
	atomic_store(&remote->qp, NULL);
	vem_link_unuse(link);
}

void
vem_remote_free(struct vem_remote *remote)
{
	vem_remote_detach(remote);
	remote_empty(remote);
	free(remote);
}

/* Windows and queues of a connection, for its queue pair: all, or none. */
static enum ri_status
remote_fill(struct vem_remote *remote, const struct vem_qp *qp)
{
	const struct ri_qp_init *init = &qp->init;
	size_t entry = sizeof(struct vsw_wqe) +
		       vsw_wqe_tail(vsw_larger(VEM_MAX_SGE, init->privileged ? VEM_MAX_PBL : 0),
				    init->max_inline);
	uint32_t slots = 2;

	while (slots < VEM_WINDOW && slots <= init->max_sq_wr)
		slots *= 2;
	remote->wqe_size = entry;
	entry = (entry + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	remote->sent = calloc(slots, sizeof(*remote->sent));
	remote->wqes = calloc(slots, entry);
	remote->ask_room = 256; /* attr.max_ird */
	remote->asks = calloc(remote->ask_room, sizeof(*remote->asks));
	if (remote->sent == NULL || remote->wqes == NULL || remote->asks == NULL) {
		remote_empty(remote);
		return RI_ERR_RESOURCES;
	}
	remote->slots = slots;
	for (uint32_t i = 0; i < slots; i++)
		remote->sent[i].wqe =
			(struct vsw_wqe *)(void *)((uint8_t *)remote->wqes + i * entry);
	return RI_SUCCESS;
}

struct vem_remote *
vem_remote_prepare(const struct vem_qp *qp)
{
	struct vem_remote *remote = calloc(1, sizeof(*remote));

	if (remote == NULL || remote_fill(remote, qp) == RI_SUCCESS)
		return remote;
	free(remote);
	return NULL;
}

/* A capture gets its requests. */
static void
tapped(struct vem_remote *remote, const struct vem_qp *qp)
{
	if (qp->tap != NULL)
		atomic_fetch_or(&remote->apart, VEM_REMOTE_TAPPED);
}

/* --- packets ------------------------------------------------------------------------------ */

static struct vem_packet
packet_for(const struct vem_remote *remote, enum vem_packet_kind kind)
{
	return (struct vem_packet){.magic = VEM_PACKET_MAGIC,
				   .kind = kind,
				   .to = remote->far_slot,
				   .to_life = remote->far_life,
				   .from = remote->slot,
				   .from_life = remote->life};
}

static void
packet_hello(struct vem_packet *packet, const struct vem_hello *hello)
{
	packet->ird = hello->ird;
	packet->ord = hello->ord;
	packet->ird_ord = hello->ird_ord;
	packet->retries = hello->retries;
	packet->retry_count = hello->retry_count;
	packet->rnr_retry = hello->rnr_retry;
	packet->field = hello->field;
	packet->pdata_len = hello->pdata_len;
	memcpy(packet->pdata, hello->pdata, hello->pdata_len);
}

static struct vem_hello
hello_in(const struct vem_packet *packet)
{
	struct vem_hello hello = {.ird = packet->ird,
				  .ord = packet->ord,
				  .ird_ord = packet->ird_ord,
				  .retries = packet->retries,
				  .retry_count = packet->retry_count,
				  .rnr_retry = packet->rnr_retry,
				  .field = packet->field,
				  .pdata_len = packet->pdata_len};

	memcpy(hello.pdata, packet->pdata, packet->pdata_len);
	return hello;
}

void
vem_remote_message(struct vem_remote *remote, enum vem_msg message, uint32_t code,
		   const struct vem_hello *hello)
{
	struct vem_packet packet = packet_for(remote, VEM_PACKET_MESSAGE);

	if (!remote->far_known)
		return; /* it was never accepted; vem_remote_withdraw tells the other end */
	packet.message = message;
	packet.code = code;
	if (hello != NULL)
		packet_hello(&packet, hello);
	(void)vem_remote_acknowledge(remote);
	vem_link_send(remote->link, &packet);
}

void
vem_remote_fail(struct vem_remote *remote, enum ri_cm_reason reason)
{
	struct vem_packet packet = packet_for(remote, VEM_PACKET_FAIL);

	packet.code = reason;
	vem_link_send(remote->link, &packet);
}

void
vem_remote_withdraw(struct vem_remote *remote)
{
	struct vem_packet packet = packet_for(remote, VEM_PACKET_WITHDRAW);

	if (remote->far_known || remote->withdrawn)
		return;
	remote->withdrawn = true;
	if (remote->asked)
		vem_link_send(remote->link, &packet);
}

/* --- the active side ---------------------------------------------------------------------- */

static void
request_send(struct vem_remote *remote)
{
	struct vem_qp *qp = atomic_load(&remote->qp);
	struct vem_packet packet = packet_for(remote, VEM_PACKET_REQUEST);
	const struct ri_host *host = qp->rnic->host;

	packet.service = qp->to.service;
	packet.peer = qp->to.peer;
	packet.local = qp->to.local;
	packet.qpn = vem_qp_number(qp);
	packet.type = qp->init.type;
	if (qp->rnic->fabric->personality == VEM_IB) {
		host->random(host->self, packet.psn, sizeof(packet.psn));
		packet.psn[0] &= 0xffffff;
		packet.psn[1] &= 0xffffff;
	}
	packet_hello(&packet, &qp->said);
	remote->asked = true;
	vem_link_send(remote->link, &packet);
}

static enum ri_cm_reason
offer(struct vem_qp *qp, bool fresh)
{
	enum ri_cm_reason reason = RI_CM_REASON_RESOURCES;
	struct vem_shm *shm = qp->rnic->fabric->shm;
	struct vem_link *link = vem_link_to(shm, &qp->to.service, fresh, &reason);
	struct vem_remote *remote = link != NULL ? remote_new(link) : NULL;

	if (remote == NULL)
		return reason;
	if (remote_fill(remote, qp) != RI_SUCCESS) {
		vem_remote_free(remote);
		return RI_CM_REASON_RESOURCES;
	}
	remote->fresh = fresh || !atomic_load(&link->up);
	tapped(remote, qp);
	atomic_store(&remote->qp, qp);
	atomic_store(&qp->remote, remote);
	if (atomic_load(&link->up))
		request_send(remote);
	return RI_CM_REASON_OTHER;
}

enum ri_cm_reason
vem_remote_offer(struct vem_qp *qp)
{
	if (qp->to.service.kind == RI_SERVICE_PORT && qp->to.service.local_port == 0)
		qp->to.service.local_port = vem_cm_local_port(qp);
	return offer(qp, false);
}

void
vem_remote_link_up(struct vem_link *link)
{
	for (uint32_t i = 0; i < VEM_SLOT_PAGES * VEM_SLOTS; i++) {
		struct vem_slot *slot = slot_of(link, i);

		if (slot == NULL) {
			i |= VEM_SLOTS - 1;
			continue;
		}
		struct vem_remote *remote = atomic_load(&slot->remote);

		struct vem_qp *qp = remote != NULL ? atomic_load(&remote->qp) : NULL;

		if (qp != NULL && !atomic_load(&qp->by_peer) && !remote->asked &&
		    !remote->withdrawn)
			request_send(remote);
	}
	vem_remote_join_all(link);
	vem_remote_query_up(link);
	vem_ud_go_on(link->shm->fabric);
}

/* The listener has accepted. */
static void
accepted(struct vem_remote *remote, const struct vem_packet *packet)
{
	struct vem_qp *qp = atomic_load(&remote->qp);
	const struct vem_hello hello = hello_in(packet);

	vem_shm_rx_take(remote->link->shm);
	remote->far_slot = packet->from;
	remote->far_life = packet->from_life;
	remote->far_known = true;
	vem_remote_known(remote);
	vem_shm_rx_drop(remote->link->shm);
	qp->reach = vem_cm_reach(qp->rnic->fabric, packet->qpn & 0xffffff, &qp->to.peer,
				 &qp->to.local, &hello);
	qp->rnr_wait = vem_cm_rnr_wait(qp->rnic, &hello);
	qp->reach.rq_psn = packet->psn[1] & 0xffffff;
	qp->reach.sq_psn = packet->psn[0] & 0xffffff;
}

/* The attempt has failed there. A name that has passed to another process since its link was dialed is dialed once more. */
static void
failed(struct vem_remote *remote, enum ri_cm_reason reason)
{
	struct vem_qp *qp = atomic_load(&remote->qp);
	bool again = reason == RI_CM_REASON_REFUSED && !remote->fresh && !remote->withdrawn &&
		     atomic_load(&qp->state) == RI_QPS_CONNECTING;

	if (!again) {
		remote->withdrawn = true; /* nothing is there any more */
		vem_attempt_failed(qp, reason);
		return;
	}
	vsw_role_enter(&qp->tx, qp->rnic->host);
	atomic_store(&qp->remote, NULL);
	while (vsw_role_drop(&qp->tx))
		vsw_role_begin(&qp->tx);
	vem_remote_free(remote);
	reason = offer(qp, true);
	if (atomic_load(&qp->remote) == NULL)
		vem_attempt_failed(qp, reason);
	/* A thread that found the role taken relies on its owner. */
	qp->rnic->host->task_run(qp->rnic->host->self, &qp->task);
}

/* --- the passive side --------------------------------------------------------------------- */

static void
refuse(struct vem_link *link, const struct vem_packet *request, enum ri_cm_reason reason)
{
	const struct vem_packet answer = {.magic = VEM_PACKET_MAGIC,
					  .kind = VEM_PACKET_FAIL,
					  .to = request->from,
					  .to_life = request->from_life,
					  .code = reason};

	vem_link_send(link, &answer);
}

/* What a process of this user asks for is checked as what an application asks for. */
static bool
request_is_good(const struct vem_shm *shm, const struct vem_packet *request)
{
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	vem_profile(shm->fabric, &attr);
	return vem_service_is_known(shm->fabric, &request->service) &&
	       request->pdata_len <= attr.connect_pdata && request->ird <= attr.max_ird &&
	       request->ord <= attr.max_ord && request->qpn <= 0xffffff &&
	       request->peer.family <= RI_ADDR_GID && request->local.family <= RI_ADDR_GID;
}

static void
requested(struct vem_link *link, const struct vem_packet *request)
{
	struct vem_fabric *fabric = link->shm->fabric;
	struct ri_cm_event event = {
		.kind = RI_CM_REQUEST, .peer = request->local, .local = request->peer};
	const struct vem_hello hello = hello_in(request);
	struct ri_listen *listen = request_is_good(link->shm, request)
					   ? vem_listen_find(fabric, &request->service)
					   : NULL;
	struct vem_remote *remote;

	if (listen == NULL) {
		refuse(link, request, RI_CM_REASON_REFUSED);
		return;
	}
	if (vem_fault_offline(listen->context->rnic) || vem_fault_dead(listen->context->rnic)) {
		refuse(link, request, RI_CM_REASON_BAD_PATH);
		return;
	}
	vem_cm_event_hello(&event, &hello);
	remote = remote_new(link);
	if (remote == NULL || (remote->conn = vem_conn_new(listen, &event)) == NULL) {
		if (remote != NULL)
			vem_remote_free(remote);
		refuse(link, request, RI_CM_REASON_RESOURCES);
		return;
	}
	remote->far_slot = request->from;
	remote->far_life = request->from_life;
	remote->far_known = true;
	remote->type = request->type;
	remote->conn->remote = remote;
	remote->conn->rnr_wait = vem_cm_rnr_wait(remote->conn->rnic, &hello);
	memcpy(remote->conn->psn, request->psn, sizeof(request->psn));
	if (fabric->personality == VEM_IB) {
		remote->conn->event.reach =
			vem_cm_reach(fabric, request->qpn, &request->local, &request->peer, &hello);
		remote->conn->event.reach.rq_psn = request->psn[0] & 0xffffff;
		remote->conn->event.reach.sq_psn = request->psn[1] & 0xffffff;
	}
	if (listen->service.kind == RI_SERVICE_PORT)
		remote->conn->event.service.local_port = request->service.local_port;
}

enum ri_status
vem_remote_accept(struct vem_remote *remote, struct vem_qp *qp)
{
	struct vem_packet packet = packet_for(remote, VEM_PACKET_ACCEPT);
	enum ri_status status;

	if (remote->type != qp->init.type)
		return RI_ERR_UNSUPPORTED;
	if (remote->sent == NULL && (status = remote_fill(remote, qp)) != RI_SUCCESS)
		return status;
	packet.qpn = vem_qp_number(qp);
	packet.psn[0] = qp->reach.rq_psn;
	packet.psn[1] = qp->reach.sq_psn;
	packet_hello(&packet, &qp->said);
	vem_tap_accept(qp, &remote->conn->event);
	tapped(remote, qp);
	remote->conn = NULL;
	atomic_store(&remote->qp, qp);
	atomic_store(&qp->remote, remote);
	vem_link_send(remote->link, &packet);
	return RI_SUCCESS;
}

/* --- both --------------------------------------------------------------------------------- */

static void
message_arrived(struct vem_remote *remote, const struct vem_packet *packet)
{
	struct vem_qp *qp = atomic_load(&remote->qp);
	const struct vem_hello hello = hello_in(packet);
	bool with_hello =
		(packet->message & (VEM_MSG_REPLY | VEM_MSG_CONFIRM | VEM_MSG_REFUSED)) != 0;

	vem_shm_catch_up(remote->link);
	if (qp != NULL && packet->message == VEM_MSG_TERMINATE)
		vem_tap_terminated(qp, packet->code);
	if (qp != NULL)
		vem_qp_message(qp, (enum vem_msg)packet->message, packet->code & 0xffff,
			       with_hello ? &hello : NULL);
	else if (remote->conn != NULL)
		vem_conn_withdraw(remote->conn); /* it ends instead of waiting for the answer */
}

/* The connection that the packet names has ended here; the other end, which does not know it yet, learns it. */
static void
nobody_there(struct vem_link *link, const struct vem_packet *packet)
{
	const struct vem_packet answer = {.magic = VEM_PACKET_MAGIC,
					  .kind = VEM_PACKET_MESSAGE,
					  .to = packet->from,
					  .to_life = packet->from_life,
					  .message = VEM_MSG_LOST};

	if (packet->kind == VEM_PACKET_ACCEPT)
		vem_link_send(link, &answer);
}

static bool
is_by_peer(const struct vem_remote *remote)
{
	const struct vem_qp *qp = atomic_load(&remote->qp);

	return qp != NULL && atomic_load(&qp->by_peer);
}

const char *
vem_remote_packet(struct vem_link *link, const struct vem_packet *packet)
{
	struct vem_remote *remote = NULL;

	if (packet->kind >= VEM_PACKET_QUERY && packet->kind <= VEM_PACKET_QUERY_END)
		return vem_remote_query_packet(link, packet);
	if (packet->kind != VEM_PACKET_REQUEST) {
		/* The side that gives up does not know the number at this one. */
		remote = packet->kind == VEM_PACKET_WITHDRAW
				 ? remote_of_far(link, packet->from, packet->from_life)
				 : remote_find(link, packet->to, packet->to_life);
		if (packet->kind >= VEM_PACKET_KNOCK && packet->kind <= VEM_PACKET_ASKED) {
			vem_remote_peer_packet(link, packet, remote);
			return NULL;
		}
		if (remote != NULL && is_by_peer(remote))
			return "it speaks of a connection by attributes as of a managed one";
		if (remote == NULL) {
			nobody_there(link, packet);
			return NULL;
		}
	}
	switch ((enum vem_packet_kind)packet->kind) {
	case VEM_PACKET_REQUEST:
		requested(link, packet);
		return NULL;
	case VEM_PACKET_ACCEPT:
		if (atomic_load(&remote->qp) == NULL || remote->far_known || !remote->asked)
			return "it accepts what was not requested";
		accepted(remote, packet);
		return NULL;
	case VEM_PACKET_FAIL:
		if (atomic_load(&remote->qp) == NULL || remote->far_known || !remote->asked)
			return "it refuses what was not requested";
		failed(remote,
		       packet->code <= RI_CM_REASON_REFUSED && packet->code != RI_CM_REASON_CONSUMER
			       ? (enum ri_cm_reason)packet->code
			       : RI_CM_REASON_OTHER);
		return NULL;
	case VEM_PACKET_WITHDRAW:
		vem_shm_catch_up(link);
		if (remote->conn != NULL)
			vem_conn_withdraw(remote->conn);
		else if (atomic_load(&remote->qp) != NULL) /* it was accepted meanwhile */
			vem_qp_message(atomic_load(&remote->qp), VEM_MSG_LOST, 0, NULL);
		return NULL;
	case VEM_PACKET_MESSAGE:
		if ((packet->message & ~(uint32_t)MESSAGES) != 0 ||
		    __builtin_popcount(packet->message) != 1)
			return "it sends a message that cannot be";
		message_arrived(remote, packet);
		return NULL;
	case VEM_PACKET_HELLO:
	case VEM_PACKET_KNOCK:
	case VEM_PACKET_JOIN:
	case VEM_PACKET_JOINED:
	case VEM_PACKET_OPEN:
	case VEM_PACKET_ASK:
	case VEM_PACKET_ASKED:
	case VEM_PACKET_QUERY:
	case VEM_PACKET_ANSWER:
	case VEM_PACKET_QUERY_END:
	case VEM_PACKET_KINDS:
		break;
	}
	return "a packet is of an unknown kind";
}

void
vem_remote_link_down(struct vem_link *link)
{
	bool up = atomic_load(&link->up);

	vem_remote_query_down(link);
	vem_ud_go_on(link->shm->fabric);
	for (uint32_t i = 0; i < VEM_SLOT_PAGES * VEM_SLOTS; i++) {
		struct vem_slot *slot = slot_of(link, i);

		if (slot == NULL) {
			i |= VEM_SLOTS - 1;
			continue;
		}
		struct vem_remote *remote = atomic_load(&slot->remote);

		if (remote == NULL)
			continue;
		struct vem_qp *qp = atomic_load(&remote->qp);

		if (qp != NULL && atomic_load(&qp->by_peer))
			vem_remote_peer_down(qp, remote);
		else if (qp != NULL && remote->asked && !remote->far_known && !remote->fresh)
			failed(remote, RI_CM_REASON_REFUSED); /* its process had ended before */
		else if (qp != NULL && up)
			vem_qp_message(qp, VEM_MSG_LOST, 0, NULL);
		else if (qp != NULL)
			vem_attempt_failed(qp, RI_CM_REASON_REFUSED);
		else if (remote->conn != NULL)
			vem_conn_withdraw(remote->conn);
	}
	vem_remote_wait_down(link);
}

void
vem_remote_leave(struct vem_qp *qp)
{
	struct vem_fabric *fabric = qp->rnic->fabric;

	if (fabric->shm == NULL)
		return;
	pthread_mutex_lock(&fabric->lock);
	struct vem_remote *remote = atomic_load(&qp->remote);
	if (remote != NULL) {
		if (remote->own_wqe != NULL)
			qp->tx_wqe = remote->own_wqe;
		atomic_store(&qp->remote, NULL);
		vem_remote_free(remote);
	}
	if (qp->join != NULL)
		vem_remote_free(qp->join);
	qp->join = NULL;
	pthread_mutex_unlock(&fabric->lock);
}
