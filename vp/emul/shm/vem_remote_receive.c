/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Handles entries from another process: requests, which the responder of the queue pair executes,
 * and responses to the queue pair's own requests.
 *
 * No value in an entry is trusted. The connection is looked up by its number and the count of its uses. A request that is not the
 * next one is dropped. Lengths are compared with the length of the entry; the responder checks keys and bounds. An answer is
 * taken only for a request that waits for it. The owner of the role rx never waits for another role: if another thread works on
 * the queue pair of a request, the requester gets a WAIT.
 */
#include <stdio.h>
#include <string.h>

#include "ri_log.h"
#include "vem_cm.h"
#include "vem_fault.h"
#include "vem_peer.h"
#include "vem_remote.h"
#include "vem_tap.h"
#include "vem_ud.h"
#include "vem_why.h"
#include "vsw_relax.h"

#define UNRELIABLE \
	1000 /* rounds that an unreliable message waits for the right to take a receive */

_Static_assert(sizeof(struct vem_wire) == VEM_RING_HEAD, "the header of an entry");

/* A line for the log: what the peer asked for, and why it does not get it. */
static void
refused_say(const struct vem_qp *qp, enum vem_wire_kind kind, const struct vem_wire *wire,
	    const struct vsw_refusal *refusal)
{
	bool write = kind == VEM_WIRE_WRITE, read = kind == VEM_WIRE_READ;
	char text[VSW_WHY_ROOM + 80];
	const struct vsw_why_peer asked = {
		.operation = write  ? "RDMA Write"
			     : read ? "RDMA Read"
				    : "atomic operation",
		.wanted = {.addr = wire->addr,
			   .length = write || read ? wire->length : sizeof(uint64_t),
			   .stag = wire->stag,
			   .access = write  ? RI_ACCESS_REMOTE_WRITE
				     : read ? RI_ACCESS_REMOTE_READ
					    : RI_ACCESS_REMOTE_ATOMIC},
		.granted = atomic_load(&qp->in.access)};

	if (qp->rnic->host->log_level < RI_LOG_INFO)
		return;
	if (refusal->why == NULL)
		vsw_why_peer(qp->rnic->mem, &qp->in.who, &asked, text, sizeof(text));
	else if (refusal->why == vsw_why_sink)
		vsw_why_receive(qp->rnic->mem, &qp->in.receiver, qp->in.wqe, text, sizeof(text));
	else
		(void)snprintf(text, sizeof(text), "%s", refusal->why);
	vem_say(qp, "%s", text);
}

/* --- answers out -------------------------------------------------------------------------- */

static void
owe(struct vem_remote *remote)
{
	struct vem_link *link = remote->link;

	if (remote->owing)
		return;
	remote->owing = true;
	remote->next_owing = link->owing;
	link->owing = remote;
}

static bool
answer_write(struct vem_remote *remote, enum vem_wire_kind kind, uint32_t number, uint8_t detail,
	     uint32_t status)
{
	const struct vem_wire wire = {.kind = kind,
				      .last_try = detail,
				      .to = remote->far_slot,
				      .to_life = remote->far_life,
				      .number = number,
				      .status = status};
	bool lost = false;

	return vem_remote_write(remote, &wire, NULL, 0, 0, &lost);
}

bool
vem_remote_acknowledge(struct vem_remote *remote)
{
	uint32_t executed = atomic_load(&remote->executed);

	if (executed == atomic_load(&remote->told_executed))
		return true;
	if (!answer_write(remote, VEM_WIRE_ACK, executed, 0, 0))
		return false;
	atomic_store(&remote->told_executed, executed);
	if (atomic_exchange_explicit(&remote->told_alone, true, memory_order_relaxed))
		vem_remote_answered(remote, false);
	atomic_store_explicit(&remote->told_poll, vem_shm_polls(remote->link->shm),
			      memory_order_relaxed);
	return true;
}

/*
 * Refuse request `number`, and all after it. The queue pair ends because of that, but only when the
 * Reads before it are answered (answers_write).
 */
static void
refuse(struct vem_remote *remote, const struct vem_qp *qp, uint32_t number,
       const struct vsw_refusal *refusal)
{
	remote->refused = true;
	remote->refusal = refusal;
	remote->refused_number = number;
	if (qp->rnic->fabric->personality == VEM_IB)
		remote->owe_status = refusal->status;
	owe(remote);
}

/* Answer a Read with the octets that fit, or an atomic. False: no room now, or it was refused. */
static bool
ask_answer(struct vem_remote *remote, struct vem_qp *qp, struct vem_asked *ask)
{
	const struct ri_wr_remote where = {.addr = ask->addr, .stag = ask->stag};
	const struct vsw_message message = {.length = ask->length, .remote = &where};
	struct vem_wire wire = {.kind = VEM_WIRE_DATA,
				.to = remote->far_slot,
				.to_life = remote->far_life,
				.number = ask->number,
				.length = ask->length};
	uint32_t left = ask->length - ask->at;
	uint32_t piece = left < VEM_RING_MAX ? left : VEM_RING_MAX;
	const struct vsw_refusal *refusal = NULL;
	struct vsw_spans source;
	bool lost = false, done;

	wire.at = ask->at;
	vsw_spans_of(&source, (const uint8_t *)&ask->result, sizeof(ask->result));
	if (!ask->atomic)
		refusal = vsw_respond_read(&qp->in, &message, ask->at, piece, &source);
	if (refusal != NULL) {
		wire.addr = ask->addr;
		wire.stag = ask->stag;
		refused_say(qp, VEM_WIRE_READ, &wire, refusal);
		remote->ask_count = 0; /* those after it are flushed there */
		refuse(remote, qp, ask->number, refusal);
		return false;
	}
	done = vem_remote_write(remote, &wire, &source, 0, piece, &lost);
	if (!ask->atomic)
		vsw_spans_end(&source);
	if (lost) {
		const struct vsw_spans none = {.count = 0};

		remote->ask_count = 0;
		refuse(remote, qp, ask->number, vsw_respond_lost(&none));
		return false;
	}
	if (done)
		ask->at += piece;
	return done;
}

/* Answer the Reads and atomics that wait, oldest first. False: no room now, or not in this turn. */
static bool
asks_answer(struct vem_remote *remote, struct vem_qp *qp)
{
	while (remote->ask_count != 0) {
		struct vem_asked *ask = &remote->asks[remote->ask_first];

		if (!ask_answer(remote, qp, ask))
			return remote->ask_count == 0;
		if (ask->at < ask->length) {
			if (vem_link_turn_is_over(remote->link, VEM_RING_MAX))
				return false;
			continue;
		}
		remote->ask_first = (remote->ask_first + 1) % remote->ask_room;
		remote->ask_count--;
	}
	return true;
}

/* Write all that a connection owes. False: as asks_answer. Their order matters: READY follows the WAIT that it ends. */
static bool
answers_write(struct vem_remote *remote)
{
	struct vem_qp *qp = atomic_load(&remote->qp);

	if (qp == NULL)
		return true;
	if (!vem_remote_acknowledge(remote))
		return false;
	if (vem_qp_takes(qp) && !asks_answer(remote, qp))
		return false;
	if (remote->owe_wait != 0) {
		if (!answer_write(remote, VEM_WIRE_WAIT, remote->expected, remote->owe_wait == 2,
				  0))
			return false;
		remote->owe_wait = 0;
	}
	if (remote->owe_status != 0) {
		if (!answer_write(remote, VEM_WIRE_REFUSED, remote->refused_number, 0,
				  remote->owe_status))
			return false;
		remote->owe_status = 0;
	}
	if (remote->refusal != NULL) {
		vem_refuse(qp, remote->refusal);
		remote->refusal = NULL;
	}
	if (atomic_exchange(&remote->owe_ready, false) &&
	    !answer_write(remote, VEM_WIRE_READY, 0, 0, 0)) {
		atomic_store(&remote->owe_ready, true);
		return false;
	}
	return true;
}

bool
vem_remote_owes_one_ack(const struct vem_link *link)
{
	const struct vem_remote *remote = link->owing;

	return remote->next_owing == NULL &&
	       atomic_load_explicit(&remote->answering, memory_order_relaxed) >= VSW_ANSWERING &&
	       remote->owe_wait == 0 && remote->owe_status == 0 && remote->refusal == NULL &&
	       remote->ask_count == 0 &&
	       !atomic_load_explicit(&remote->owe_ready, memory_order_relaxed) &&
	       atomic_load_explicit(&remote->executed, memory_order_relaxed) -
			       atomic_load_explicit(&remote->told_executed, memory_order_relaxed) ==
		       1;
}

void
vem_remote_answers(struct vem_link *link)
{
	struct vem_remote *remote = link->owing;

	link->owing = NULL;
	while (remote != NULL) {
		struct vem_remote *next = remote->next_owing;

		remote->owing = false;
		if (!answers_write(remote))
			owe(remote);
		remote = next;
	}
}

/*
 * Write READY, unless a WAIT may be about to be written. WAITs are written by the owner of rx; so
 * in that case READY is left to it, too. The owner compares `readies` before and after.
 */
void
vem_remote_ready(struct vem_remote *remote)
{
	struct vem_link *link = remote->link;

	atomic_fetch_add(&remote->readies, 1);
	atomic_store(&remote->owe_ready, true);
	atomic_store(&link->readies, true);
	if (!vsw_role_take(&link->shm->rx))
		return; /* its owner does one more round */
	vem_remote_readies(link);
	vem_link_turn_pass(link);
	vem_shm_rx_drop(link->shm);
}

/* Call `act` for each connection of a link that has a queue pair. */
static void
each_remote(struct vem_link *link, void (*act)(struct vem_remote *remote, struct vem_qp *qp))
{
	for (uint32_t i = 0; i < VEM_SLOT_PAGES; i++) {
		struct vem_slot *page = link->pages[i];

		for (uint32_t k = 0; page != NULL && k < VEM_SLOTS; k++) {
			struct vem_remote *remote = atomic_load(&page[k].remote);
			struct vem_qp *qp = remote != NULL ? atomic_load(&remote->qp) : NULL;

			if (qp != NULL)
				act(remote, qp);
		}
	}
}

static void
ready_owe(struct vem_remote *remote, struct vem_qp *qp)
{
	(void)qp;
	if (atomic_load(&remote->owe_ready))
		owe(remote);
}

void
vem_remote_readies(struct vem_link *link)
{
	atomic_store(&link->readies, false);
	each_remote(link, ready_owe);
	if (link->owing != NULL)
		vem_remote_answers(link);
}

/* The room is not for all: another connection is the first one each time. */
static void
queues_run_in_turn(struct vem_link *link)
{
	uint32_t first = link->turn, all = VEM_SLOT_PAGES * VEM_SLOTS;

	for (uint32_t i = 0; i < all; i++) {
		uint32_t number = (first + i) % all;
		struct vem_slot *page = link->pages[number / VEM_SLOTS];

		if (page == NULL) {
			i += VEM_SLOTS - 1 - number % VEM_SLOTS;
			continue;
		}
		struct vem_remote *remote = atomic_load(&page[number % VEM_SLOTS].remote);
		struct vem_qp *qp = remote != NULL ? atomic_load(&remote->qp) : NULL;

		if (qp == NULL)
			continue;
		if (link->turn == first)
			link->turn = (number + 1) % all;
		vem_sq_run_in_turn(qp);
	}
}

void
vem_remote_room(struct vem_link *link)
{
	atomic_store(&link->starved, false);
	link->turned = 0;
	vem_ud_go_on(link->shm->fabric);
	if (link->owing != NULL)
		vem_remote_answers(link);
	queues_run_in_turn(link);
}

/* --- requests in -------------------------------------------------------------------------- */

/* It cannot be executed now. `before`: how often the queue pair had become ready before that was found. */
static void
hold(struct vem_remote *remote, bool rnr, uint32_t before)
{
	remote->owe_wait = rnr ? 2 : 1;
	remote->got = 0;
	if (atomic_load(&remote->readies) != before)
		atomic_store(&remote->owe_ready, true);
	owe(remote);
}

/* The request is executed. */
static void
executed(struct vem_remote *remote)
{
	remote->expected++;
	remote->got = 0;
	atomic_store_explicit(&remote->executed, remote->expected, memory_order_release);
	owe(remote);
}

static void
no_receive(struct vem_qp *qp)
{
	if (!atomic_load(&qp->by_peer)) /* there the other end decides how long */
		vem_say_waits(qp, &qp->waited, vem_cm_rnr_wait(qp->rnic, &qp->said));
}

static void
message_arrived(struct vem_remote *remote, struct vem_qp *qp, const struct vem_wire *wire,
		const struct vem_ring_entry *entry)
{
	const struct ri_wr_remote where = {.addr = wire->addr, .stag = wire->stag};
	const struct vsw_message message = {.length = wire->length,
					    .flags = wire->flags,
					    .extra = wire->extra,
					    .remote = &where};
	bool write = wire->kind == VEM_WIRE_WRITE;
	struct vsw_spans octets;
	struct vsw_piece piece = {.octets = &octets,
				  .at = wire->at,
				  .length = entry->length,
				  .last = wire->at + entry->length == wire->length};
	bool takes = !write || (piece.last && (wire->flags & RI_WR_IMMEDIATE) != 0);
	uint32_t before = atomic_load(&remote->readies);
	const struct vsw_refusal *refusal;

	vsw_spans_of(&octets, entry->octets, entry->length);
	if (takes && !vsw_role_take(&qp->in.role)) {
		hold(remote, false, before); /* its owner says READY when it gives the role up */
		return;
	}
	if (takes && piece.last)
		atomic_store_explicit(&remote->executing, pthread_self(), memory_order_relaxed);
	if (!takes)
		refusal = vsw_respond_write(&qp->in, &message, &piece);
	else if (!vem_qp_takes(qp))
		refusal = &vsw_no_receive; /* it has ended; its last message comes */
	else if (write)
		refusal = vsw_respond_write_immediate(&qp->in, &message, &piece);
	else if (atomic_load(&qp->in.have))
		refusal = vsw_respond_parts(&qp->in, &message, &piece);
	else
		refusal = vsw_respond_send(&qp->in, &message, &piece);
	if (takes)
		vem_rx_leave(qp);
	if (refusal == &vsw_no_receive && wire->last_try == 0) {
		no_receive(qp);
		hold(remote, true, before);
	} else if (refusal != NULL) {
		refused_say(qp, (enum vem_wire_kind)wire->kind, wire, refusal);
		/* On iWARP a Send or Write counts as sent, whatever comes of it. */
		if (qp->rnic->fabric->personality == VEM_IWARP)
			executed(remote);
		refuse(remote, qp, wire->number, refusal);
	} else if (piece.last) {
		executed(remote);
		remote->link->received += takes;
	} else {
		remote->got += entry->length;
	}
	if (takes && piece.last)
		atomic_store_explicit(&remote->executing, 0, memory_order_release);
}

/* A Read or an atomic: it is executed when there is room for its answer; an atomic at once. */
static void
ask_arrived(struct vem_remote *remote, struct vem_qp *qp, const struct vem_wire *wire,
	    const struct vem_ring_entry *entry)
{
	struct ri_wr_remote where = {
		.addr = wire->addr, .stag = wire->stag, .operand = wire->operand};
	const struct vsw_message message = {.length = wire->length, .remote = &where};
	struct vem_asked ask = {.number = wire->number,
				.length = wire->length,
				.stag = wire->stag,
				.addr = wire->addr,
				.atomic = wire->kind == VEM_WIRE_ATOMIC};
	const struct vsw_refusal *refusal = NULL;
	struct vsw_mem_use word;

	if (remote->ask_count == remote->ask_room ||
	    (remote->ask_count != 0 && remote->ask_count >= atomic_load(&qp->in.ird)))
		refusal = &vsw_too_many_reads;
	if (refusal == NULL && ask.atomic) {
		ask.length = sizeof(ask.result);
		if (entry->length == sizeof(where.swap))
			memcpy(&where.swap, entry->octets, sizeof(where.swap));
		refusal = vsw_respond_word(&qp->in, &message, &word);
		if (refusal == NULL) {
			refusal = vsw_respond_atomic(&message, wire->swap != 0, &word, &ask.result);
			vsw_mem_end(&word);
		}
	}
	if (refusal != NULL) {
		refused_say(qp, (enum vem_wire_kind)wire->kind, wire, refusal);
		refuse(remote, qp, wire->number, refusal);
		return;
	}
	remote->asks[(remote->ask_first + remote->ask_count) % remote->ask_room] = ask;
	remote->ask_count++;
	executed(remote);
	(void)asks_answer(remote, qp);
}

bool
vem_remote_receives_take(struct vem_qp *qp)
{
	for (unsigned round = 0; round < UNRELIABLE; round++) {
		if (vsw_role_take(&qp->in.role))
			return true;
		vsw_relax(qp->rnic->host, round);
	}
	return false;
}

/* A capture gets it, whatever becomes of it. Returns whether the port is down. */
static __attribute__((cold, noinline)) bool
unreliable_apart(struct vem_qp *qp, const struct vem_wire *wire, const struct vem_ring_entry *entry)
{
	if (vem_fault_offline(qp->rnic))
		return true;
	vem_tap_piece(qp, wire, entry->octets, entry->length);
	if (wire->at + entry->length == wire->length)
		vem_tap_executed(qp, NULL, 0);
	return false;
}

/* A piece of a message that nobody repeats: it is done, or dropped with the rest of its message. */
static void
unreliable_arrived(struct vem_remote *remote, struct vem_qp *qp, const struct vem_wire *wire,
		   const struct vem_ring_entry *entry)
{
	const struct ri_wr_remote where = {.addr = wire->addr, .stag = wire->stag};
	const struct vsw_message message = {.length = wire->length,
					    .flags = wire->flags,
					    .extra = wire->extra,
					    .remote = &where};
	bool write = wire->kind == VEM_WIRE_WRITE;
	struct vsw_spans octets;
	const struct vsw_piece piece = {.octets = &octets,
					.at = wire->at,
					.length = entry->length,
					.last = wire->at + entry->length == wire->length};
	bool takes = !write || (piece.last && (wire->flags & RI_WR_IMMEDIATE) != 0);
	const struct vsw_refusal *refusal = &vsw_no_receive;

	vsw_spans_of(&octets, entry->octets, entry->length);
	if (wire->at == 0) {
		remote->expected = wire->number;
		remote->got = 0;
	}
	if (wire->number != remote->expected || wire->at != remote->got ||
	    (!write && wire->kind != VEM_WIRE_SEND) || !vem_qp_takes(qp) ||
	    wire->length > VEM_MAX_MESSAGE || wire->at > wire->length ||
	    entry->length > wire->length - wire->at ||
	    (vem_fault_apart(qp->rnic) && unreliable_apart(qp, wire, entry)))
		return;
	remote->got += entry->length;
	if (!takes) {
		refusal = vsw_respond_write(&qp->in, &message, &piece);
	} else if (vem_remote_receives_take(qp)) {
		if (vem_qp_takes(qp))
			refusal = write ? vsw_respond_write_immediate(&qp->in, &message, &piece)
					: vsw_respond_parts(&qp->in, &message, &piece);
		vem_rx_leave(qp);
	}
	if (refusal != NULL || piece.last)
		remote->got = UINT32_MAX; /* until the next one begins */
}

/* A request whose turn it is, if what its header says is possible. */
static inline __attribute__((always_inline)) void
request_take(struct vem_remote *remote, struct vem_qp *qp, const struct vem_wire *wire,
	     const struct vem_ring_entry *entry)
{
	bool message = wire->kind == VEM_WIRE_SEND || wire->kind == VEM_WIRE_WRITE;

	if (wire->length > VEM_MAX_MESSAGE ||
	    (message && (wire->at != remote->got || wire->at > wire->length ||
			 entry->length > wire->length - wire->at ||
			 (entry->length == 0 && wire->length != 0)))) {
		if (wire->at != 0 && remote->got == 0)
			return; /* the rest of a message that is sent again */
		vem_link_break(remote->link, "the length of an entry cannot be");
		return;
	}
	if (message)
		message_arrived(remote, qp, wire, entry);
	else
		ask_arrived(remote, qp, wire, entry);
}

/* The result of the atomic that was executed last. */
static uint64_t
last_result(const struct vem_remote *remote)
{
	uint32_t next = remote->ask_first + remote->ask_count;

	return remote->asks[(next + remote->ask_room - 1) % remote->ask_room].result;
}

/* It cannot be executed now, or a capture gets it when it is executed. */
static __attribute__((cold, noinline)) void
request_apart(struct vem_remote *remote, struct vem_qp *qp, const struct vem_wire *wire,
	      const struct vem_ring_entry *entry)
{
	uint32_t before = atomic_load(&remote->readies);
	uint32_t expected = remote->expected;
	bool refused = remote->refused;

	if (!vem_qp_takes(qp) || vem_fault_offline(qp->rnic)) {
		hold(remote, false, before);
		return;
	}
	vem_tap_piece(qp, wire, entry->octets, entry->length);
	request_take(remote, qp, wire, entry);
	if (remote->refused != refused)
		vem_tap_executed(qp, remote->refusal, 0);
	else if (remote->expected != expected)
		vem_tap_executed(qp, NULL, last_result(remote));
}

static void
request_arrived(struct vem_remote *remote, struct vem_qp *qp, const struct vem_wire *wire,
		const struct vem_ring_entry *entry)
{
	if (atomic_load_explicit(&qp->by_peer, memory_order_relaxed)) {
		/* Other packet numbers: it is not the partner that is meant, and hears nothing. */
		if (wire->status != qp->far.rq_psn)
			return;
		vem_peer_heard(qp);
	}
	if (qp->init.type == RI_QP_UC) {
		unreliable_arrived(remote, qp, wire, entry);
		return;
	}
	/* What follows a request that must wait is sent again. */
	if (remote->refused || wire->number != remote->expected || remote->owe_wait != 0)
		return;
	if (!vem_qp_takes(qp) || vem_fault_apart(qp->rnic)) {
		request_apart(remote, qp, wire, entry);
		return;
	}
	request_take(remote, qp, wire, entry);
}

/*
 * Packets and entries travel on different ways: requests of a peer that has just accepted may
 * arrive before its ACCEPT. Such requests were dropped, so this asks for them again.
 */
void
vem_remote_known(struct vem_remote *remote)
{
	if (!remote->early)
		return;
	remote->early = false;
	hold(remote, false, atomic_load(&remote->readies));
	vem_remote_ready(remote);
}

/* --- answers in --------------------------------------------------------------------------- */

/* Place octets of a Read, or the result of an atomic. With the lock. */
static void
data_place(struct vem_qp *qp, struct vem_sent *sent, const struct vem_wire *wire,
	   const struct vem_ring_entry *entry)
{
	struct vsw_wqe *wqe = sent->wqe;
	bool iwarp = qp->rnic->fabric->personality == VEM_IWARP;
	uint32_t access = iwarp && wqe->opcode == RI_OP_RDMA_READ ? RI_ACCESS_REMOTE_WRITE
								  : RI_ACCESS_LOCAL_WRITE;
	struct vsw_spans from, sink;

	if (atomic_load_explicit(&sent->answered, memory_order_relaxed) || wire->at != sent->got ||
	    entry->length > wqe->length - sent->got || (entry->length == 0 && wqe->length != 0))
		return;
	vsw_spans_of(&from, entry->octets, entry->length);
	if (entry->length != 0 && sent->status == RI_WC_SUCCESS) {
		if (vsw_spans_begin(qp->rnic->mem, &qp->in.who, wqe, wire->at + entry->length,
				    access, &sink) != VSW_MEM_OK) {
			sent->status = RI_WC_LOCAL_PROTECTION;
		} else {
			if (!vsw_spans_copy(&sink, wire->at, &from))
				sent->status = vsw_respond_lost(&sink) == &vsw_octets_lost
						       ? RI_WC_LOCAL_PROTECTION
						       : RI_WC_LOCAL_QP;
			vsw_spans_end(&sink);
		}
	}
	sent->got += entry->length;
	if (sent->got == wqe->length || sent->status != RI_WC_SUCCESS)
		atomic_store_explicit(&sent->answered, true, memory_order_release);
}

static void
data_arrived(struct vem_remote *remote, struct vem_qp *qp, const struct vem_wire *wire,
	     const struct vem_ring_entry *entry)
{
	struct vem_sent *sent = &remote->sent[wire->number & (remote->slots - 1)];

	vsw_lock(&remote->answer);
	uint32_t done = atomic_load(&remote->done);
	bool waits = !remote->closed && wire->number - done < atomic_load(&remote->out) - done;

	if (waits && (sent->wqe->opcode == RI_OP_RDMA_READ ||
		      sent->wqe->opcode == RI_OP_FETCH_ADD || sent->wqe->opcode == RI_OP_CMP_SWAP))
		data_place(qp, sent, wire, entry);
	bool answered = waits && atomic_load(&sent->answered);
	vsw_unlock(&remote->answer);
	if (answered)
		vem_sq_run_in_turn(qp);
}

static void
ack_arrived(struct vem_remote *remote, struct vem_qp *qp, uint32_t number)
{
	if (qp->init.type == RI_QP_UC)
		return; /* nobody was asked */

	uint32_t acked = atomic_load(&remote->acked);
	uint32_t out = atomic_load(&remote->out);

	if (number - acked > out - acked || number == acked)
		return; /* of what was not sent, or long ago */
	atomic_store_explicit(&remote->acked, number, memory_order_release);
	vem_sq_run_in_turn(qp);
}

static uint32_t
status_in(uint32_t status)
{
	return status == RI_WC_REMOTE_ACCESS || status == RI_WC_REMOTE_INVALID_REQ ||
			       status == RI_WC_RNR
		       ? status
		       : RI_WC_REMOTE_OPERATION;
}

static void
told_arrived(struct vem_remote *remote, struct vem_qp *qp, const struct vem_wire *wire)
{
	bool refused = wire->kind == VEM_WIRE_REFUSED;

	if (qp->init.type == RI_QP_UC)
		return;
	uint64_t detail = refused ? status_in(wire->status) : wire->last_try != 0;

	if (refused && qp->rnic->fabric->personality != VEM_IB)
		return; /* there a Terminate comes */
	atomic_store(&remote->told, (uint64_t)wire->kind << 48 | detail << 32 | wire->number);
	vem_sq_run_in_turn(qp);
}

/*
 * The other end asks whether a request was read and its answer written. If this does not answer, it asks again. A
 * connection that has ended owes no answer.
 */
static void
probe_arrived(struct vem_link *link, const struct vem_remote *remote, const struct vem_wire *probe)
{
	const struct vem_wire answer = {.kind = VEM_WIRE_PROBED,
					.to = probe->flags,
					.to_life = probe->extra,
					.number = probe->number};
	const struct vem_octets none = {.length = 0};
	const struct vem_qp *qp = remote != NULL ? atomic_load(&remote->qp) : NULL;
	bool lost = false;

	if (qp != NULL && (!remote->far_known || remote->owing || atomic_load(&remote->owe_ready) ||
			   vsw_role_is_taken(&qp->in.role)))
		return;
	(void)vem_link_write(link, &answer, &none, &lost);
}

/* The connection that an entry names; NULL: it has ended here. */
static struct vem_remote *
remote_of(const struct vem_link *link, const struct vem_wire *wire)
{
	const struct vem_slot *page =
		wire->to / VEM_SLOTS < VEM_SLOT_PAGES ? link->pages[wire->to / VEM_SLOTS] : NULL;
	struct vem_remote *remote =
		page != NULL ? atomic_load_explicit(&page[wire->to % VEM_SLOTS].remote,
						    memory_order_acquire)
			     : NULL;

	return remote != NULL && remote->life == wire->to_life ? remote : NULL;
}

void
vem_remote_entry(struct vem_link *link, const struct vem_ring_entry *entry)
{
	struct vem_remote *remote;
	struct vem_wire wire;

	memcpy(&wire, entry->head, sizeof(wire));
	if (wire.kind == VEM_WIRE_DATAGRAM) {
		vem_remote_ud_entry(link, &wire, entry);
		return;
	}
	remote = remote_of(link, &wire);
	if (wire.kind == VEM_WIRE_PROBE) {
		probe_arrived(link, remote, &wire);
		return;
	}
	if (remote == NULL)
		return;

	struct vem_qp *qp = atomic_load_explicit(&remote->qp, memory_order_acquire);

	if (qp == NULL)
		return; /* nobody has accepted it */
	if (!remote->far_known) {
		remote->early = true; /* its acceptance is on the way; see vem_remote_known */
		return;
	}
	switch ((enum vem_wire_kind)wire.kind) {
	case VEM_WIRE_SEND:
	case VEM_WIRE_WRITE:
	case VEM_WIRE_READ:
		if (wire.acks != 0)
			ack_arrived(remote, qp, (uint32_t)wire.acked);
		request_arrived(remote, qp, &wire, entry);
		break;
	case VEM_WIRE_ATOMIC:
		request_arrived(remote, qp, &wire, entry);
		break;
	case VEM_WIRE_ACK:
		ack_arrived(remote, qp, wire.number);
		break;
	case VEM_WIRE_WAIT:
	case VEM_WIRE_REFUSED:
		told_arrived(remote, qp, &wire);
		break;
	case VEM_WIRE_READY:
		atomic_store_explicit(&remote->ready, true, memory_order_release);
		vem_sq_run_in_turn(qp);
		break;
	case VEM_WIRE_DATA:
		data_arrived(remote, qp, &wire, entry);
		break;
	case VEM_WIRE_PROBED:
		atomic_store(&remote->probed, wire.number);
		vem_sq_run_in_turn(qp);
		break;
	case VEM_WIRE_DATAGRAM:
	case VEM_WIRE_PROBE:
	default:
		vem_link_break(link, "an entry is of an unknown kind");
		break;
	}
}
