/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The requester of a connection to another process: from the send queue to the ring, and from the answers to completions.
 *
 * A request goes from the queue into the window, is sent from there, a long one in pieces, and is completed when it and all
 * requests before it are answered. A request that needs no peer (a bind, an invalidation) waits until the window is empty, so
 * that completions are in order.
 */
#include <string.h>

#include "vem_fault.h"
#include "vem_peer.h"
#include "vem_remote.h"
#include "vem_tap.h"
#include "vem_why.h"
#include "vsw_relax.h"

#define ACK_FIRST_MAX \
	UINT64_C(20000000) /* ns; a thread that has no processor for so long is not waited for */

static struct vem_sent *
sent_at(const struct vem_remote *remote, uint32_t number)
{
	return &remote->sent[number & (remote->slots - 1)];
}

static bool
is_answered_by_data(const struct vsw_wqe *wqe)
{
	return wqe->opcode == RI_OP_RDMA_READ || wqe->opcode == RI_OP_FETCH_ADD ||
	       wqe->opcode == RI_OP_CMP_SWAP;
}

/* --- entries ------------------------------------------------------------------------------ */

/* Copy octets [at, at + length) of a message into the ring. False: a page is lost, or its owner has ended. */
static bool
octets_copy(struct vem_ring_out *out, const struct vsw_spans *from, uint32_t at, uint8_t *to,
	    uint32_t length, bool *streamed)
{
	for (uint32_t i = 0; i < from->count && length != 0; i++) {
		if (at >= from->len[i]) {
			at -= from->len[i];
			continue;
		}
		uint32_t part = from->len[i] - at < length ? from->len[i] - at : length;
		const struct vsw_mem_use *use = &from->use[i];

		if (use->ptr != NULL ? !vem_ring_copy(out, to, use->ptr + at, part, streamed)
				     : vsw_mem_copy(use, at, to, part, false) != RI_SUCCESS)
			return false;
		to += part;
		length -= part;
		at = 0;
	}
	return true;
}

bool
vem_link_write(struct vem_link *link, const struct vem_wire *wire, const struct vem_octets *octets,
	       bool *lost)
{
	uint32_t length = octets->front_length + octets->length;
	bool streamed = false, wake = false;

	if (!atomic_load_explicit(&link->up, memory_order_acquire) ||
	    atomic_load_explicit(&link->broken, memory_order_relaxed) ||
	    atomic_load_explicit(&link->shm->forked, memory_order_relaxed))
		return false;
	vsw_lock(&link->out_lock);
	uint8_t *to = vem_ring_begin(&link->out, length);
	if (to == NULL && vem_ring_want_room(&link->out, length))
		to = vem_ring_begin(&link->out, length);
	if (to == NULL) {
		bool broken = link->out.broken;

		atomic_store(&link->starved, true);
		vsw_unlock(&link->out_lock);
		if (broken)
			vem_link_break(link, "the index of its ring cannot be");
		return false;
	}
	if (octets->front_length != 0)
		memcpy(to, octets->front, octets->front_length);
	if (octets->length != 0 &&
	    !octets_copy(&link->out, octets->spans, octets->at, to + octets->front_length,
			 octets->length, &streamed)) {
		vsw_unlock(&link->out_lock);
		*lost = true;
		return false;
	}
	wake = vem_ring_end(&link->out, (const uint8_t *)wire, length, streamed);
	vsw_unlock(&link->out_lock);
	if (wake)
		vem_link_wake(link);
	return true;
}

bool
vem_remote_write(struct vem_remote *remote, const struct vem_wire *wire,
		 const struct vsw_spans *octets, uint32_t at, uint32_t length, bool *lost)
{
	const struct vem_octets those = {.spans = octets, .at = at, .length = length};

	return vem_link_write(remote->link, wire, &those, lost);
}

/* --- sending ------------------------------------------------------------------------------ */

static struct vem_wire
wire_of(const struct vem_qp *qp, const struct vem_remote *remote, const struct vsw_wqe *wqe)
{
	return (struct vem_wire){
		.last_try =
			atomic_load_explicit(&qp->rnr_until, memory_order_relaxed) == VEM_RNR_LATE,
		.to = remote->far_slot,
		.to_life = remote->far_life,
		.number = remote->cursor,
		.flags = wqe->flags & (RI_WR_SOLICITED | RI_WR_INVALIDATE | RI_WR_IMMEDIATE),
		.extra = wqe->inv_stag,
		.length = wqe->length,
		.addr = wqe->u.remote.addr,
		.stag = wqe->u.remote.stag,
		.status = atomic_load_explicit(&qp->by_peer, memory_order_relaxed) ? qp->far.sq_psn
										   : 0,
	};
}

enum sending {
	SENT,
	WAITING, /* for room, or for answers */
	FAILED   /* with remote->failed */
};

static enum sending
fails(struct vem_remote *remote, enum ri_wc_status status)
{
	remote->failed = status;
	return FAILED;
}

/*
 * Wait until the service thread has counted the message that it is executing. Its receive may
 * already be complete, and then the request that this thread sends is the program's answer. An
 * answer should carry the acknowledgement of its message, so that the peer's program sees its Send
 * complete before the answer arrives. Adapters behave so, although no standard orders the two. The
 * service thread never waits for this thread.
 */
static __attribute__((cold, noinline)) void
ack_first(const struct vem_qp *qp, struct vem_remote *remote)
{
	const struct ri_host *host = qp->rnic->host;
	uint64_t begin = host->now(host->self);

	for (unsigned round = 0;; round++) {
		pthread_t by = atomic_load_explicit(&remote->executing, memory_order_acquire);

		if (by == 0 || pthread_equal(by, pthread_self()) ||
		    host->now(host->self) - begin > ACK_FIRST_MAX)
			return;
		vsw_relax(host, round);
	}
}

/* Acknowledge what is executed with a request for the other end, if that does not know it. */
static inline void
ack_add(const struct vem_remote *remote, struct vem_wire *wire)
{
	uint32_t executed = atomic_load_explicit(&remote->executed, memory_order_acquire);

	wire->acks = executed != atomic_load_explicit(&remote->told_executed, memory_order_relaxed);
	if (wire->acks != 0)
		wire->acked = executed;
}

/* The request was written. If another thread has acknowledged more meanwhile, the peer hears of it twice. */
static inline void
ack_is_told(struct vem_remote *remote, struct vem_wire *wire)
{
	if (wire->acks != 0) {
		atomic_store_explicit(&remote->told_executed, (uint32_t)wire->acked,
				      memory_order_relaxed);
		wire->acks = 0;
		vem_remote_answered(remote, true);
	} else if (atomic_load_explicit(&remote->told_alone, memory_order_relaxed)) {
		uint32_t polls = vem_shm_polls(remote->link->shm) -
				 atomic_load_explicit(&remote->told_poll, memory_order_relaxed);

		atomic_store_explicit(&remote->told_alone, false, memory_order_relaxed);
		vem_remote_answered(remote, polls <= VEM_ACK_POLLS);
	}
}

/* A Send or a Write, from where its last piece ended. */
static enum sending
message_send(struct vem_qp *qp, struct vem_remote *remote, struct vsw_wqe *wqe)
{
	struct vem_wire wire = wire_of(qp, remote, wqe);
	enum sending result = SENT;
	struct vsw_spans octets;
	bool lost = false;

	if (__builtin_expect(atomic_load_explicit(&remote->executing, memory_order_acquire) != 0,
			     0))
		ack_first(qp, remote);
	ack_add(remote, &wire);
	wire.kind = wqe->opcode == RI_OP_SEND ? VEM_WIRE_SEND : VEM_WIRE_WRITE;
	if (vsw_spans_gather(qp->rnic->mem, &qp->in.who, wqe, &octets) != VSW_MEM_OK)
		return fails(remote, RI_WC_LOCAL_PROTECTION);
	do {
		uint32_t left = wqe->length - remote->at;
		uint32_t piece = left < VEM_RING_MAX ? left : VEM_RING_MAX;

		wire.at = remote->at;
		if (!vem_remote_write(remote, &wire, &octets, remote->at, piece, &lost)) {
			result = WAITING;
			break;
		}
		ack_is_told(remote, &wire);
		remote->at += piece;
		if (remote->at >= wqe->length)
			break;
		if (remote->in_turn && vem_link_turn_is_over(remote->link, piece))
			result = WAITING;
	} while (result == SENT);
	if (lost)
		result = fails(remote, vsw_respond_lost(&octets) == &vsw_octets_lost
					       ? RI_WC_LOCAL_PROTECTION
					       : RI_WC_LOCAL_QP);
	vsw_spans_end(&octets);
	return result;
}

/* Where the answer goes. It is checked when the request leaves, and again when the answer comes. */
static uint32_t
sink_access(const struct vem_qp *qp, const struct vsw_wqe *wqe)
{
	return qp->rnic->fabric->personality == VEM_IWARP && wqe->opcode == RI_OP_RDMA_READ
		       ? RI_ACCESS_REMOTE_WRITE
		       : RI_ACCESS_LOCAL_WRITE;
}

static bool
sink_is_good(struct vem_qp *qp, const struct vsw_wqe *wqe)
{
	uint32_t access = sink_access(qp, wqe);
	struct vsw_spans sink;

	if (access == RI_ACCESS_REMOTE_WRITE && wqe->length != 0 &&
	    (atomic_load(&qp->in.access) & RI_ACCESS_REMOTE_WRITE) == 0)
		return false;
	if (vsw_spans_begin(qp->rnic->mem, &qp->in.who, wqe, wqe->length, access, &sink) !=
	    VSW_MEM_OK)
		return false;
	vsw_spans_end(&sink);
	return true;
}

/* The old value of an atomic goes to one segment of 8 octets. */
static bool
result_is_good(struct vem_qp *qp, const struct vsw_wqe *wqe)
{
	return wqe->num_sge == 1 && wqe->length == sizeof(uint64_t) && sink_is_good(qp, wqe);
}

static enum sending
read_send(struct vem_qp *qp, struct vem_remote *remote, struct vsw_wqe *wqe)
{
	struct vem_wire wire = wire_of(qp, remote, wqe);
	struct vsw_spans operand;
	bool lost = false, read = wqe->opcode == RI_OP_RDMA_READ;
	uint32_t ord = atomic_load(&qp->ord);

	if (ord == 0)
		return fails(remote, RI_WC_LOCAL_QP);
	if (remote->reads >= ord)
		return WAITING;
	if (read ? !sink_is_good(qp, wqe) : !result_is_good(qp, wqe))
		return fails(remote, RI_WC_LOCAL_PROTECTION);
	wire.kind = read ? VEM_WIRE_READ : VEM_WIRE_ATOMIC;
	wire.swap = wqe->opcode == RI_OP_CMP_SWAP;
	if (read)
		ack_add(remote, &wire);
	else
		wire.operand = wqe->u.remote.operand;
	vsw_spans_of(&operand, (const uint8_t *)&wqe->u.remote.swap,
		     read ? 0 : sizeof(wqe->u.remote.swap));
	if (!vem_remote_write(remote, &wire, &operand, 0, operand.len[0], &lost))
		return WAITING;
	ack_is_told(remote, &wire);
	remote->reads++;
	return SENT;
}

/* Answers to the request at the cursor may come from now on. */
static void
answers_expect(struct vem_remote *remote)
{
	struct vem_sent *sent = sent_at(remote, remote->cursor);

	vsw_lock(&remote->answer);
	sent->got = 0;
	sent->status = RI_WC_SUCCESS;
	atomic_store_explicit(&sent->answered, false, memory_order_relaxed);
	atomic_store_explicit(&remote->out, remote->cursor + 1, memory_order_release);
	vsw_unlock(&remote->answer);
}

/* Nobody hears what is sent. Of an unreliable connection it counts as sent, if it can be read. Returns whether it does. */
static bool
send_into_the_void(struct vem_qp *qp, struct vem_remote *remote)
{
	struct vsw_spans octets;

	if (qp->init.type != RI_QP_UC)
		return false;
	if (vsw_spans_gather(qp->rnic->mem, &qp->in.who, sent_at(remote, remote->cursor)->wqe,
			     &octets) != VSW_MEM_OK) {
		remote->failed = RI_WC_LOCAL_PROTECTION;
		return true;
	}
	vsw_spans_end(&octets);
	remote->at = 0;
	atomic_store(&remote->out, ++remote->cursor);
	atomic_store(&remote->acked, remote->cursor);
	return true;
}

/* Send the next request of the window. False: none can be sent now. */
static bool
window_send(struct vem_qp *qp, struct vem_remote *remote)
{
	enum sending result;

	if (remote->cursor == remote->begun || remote->stalled || remote->failed != 0)
		return false;
	if (vem_fault_offline(qp->rnic) ||
	    atomic_load_explicit(&remote->gone, memory_order_relaxed))
		return send_into_the_void(qp, remote);

	struct vsw_wqe *wqe = sent_at(remote, remote->cursor)->wqe;

	if ((wqe->flags & RI_WR_READ_FENCE) != 0 && remote->reads != 0)
		return false;
	if (atomic_load_explicit(&remote->out, memory_order_relaxed) == remote->cursor)
		answers_expect(remote);
	result = is_answered_by_data(wqe) ? read_send(qp, remote, wqe)
					  : message_send(qp, remote, wqe);
	if (result != SENT)
		return result == FAILED;
	remote->at = 0;
	remote->cursor++;
	if (qp->init.type == RI_QP_UC)
		atomic_store(&remote->acked, remote->cursor); /* it has left */
	return true;
}

/* --- completing --------------------------------------------------------------------------- */

/* The request at the head of the window is in the place of the one taken, until head_hide. */
struct head {
	struct vsw_wqe *wqe;
	uint32_t index;
	bool have;
};

static struct head
head_show(struct vem_qp *qp, struct vem_remote *remote)
{
	const struct head mine = {qp->tx_wqe, qp->tx_index, qp->tx_have};
	const struct vem_sent *sent = sent_at(remote, atomic_load(&remote->done));

	qp->tx_wqe = sent->wqe;
	qp->tx_index = sent->index;
	qp->tx_have = true;
	return mine;
}

static void
head_restore(struct vem_qp *qp, const struct head *mine)
{
	qp->tx_wqe = mine->wqe;
	qp->tx_index = mine->index;
	qp->tx_have = mine->have;
}

/* It is completed. */
static void
head_hide(struct vem_qp *qp, struct vem_remote *remote, const struct head *mine)
{
	head_restore(qp, mine);
	atomic_fetch_add(&remote->done, 1);
}

static void
answers_close(struct vem_remote *remote)
{
	vsw_lock(&remote->answer);
	remote->closed = true;
	vsw_unlock(&remote->answer);
}

/* The head fails, and the connection with it. */
static void
head_fail(struct vem_qp *qp, struct vem_remote *remote, enum ri_wc_status status)
{
	struct head mine = head_show(qp, remote);

	answers_close(remote);
	remote->ended = true;
	(void)vem_fail_here(qp, status);
	head_hide(qp, remote, &mine);
}

/* The peer refuses the head, on InfiniBand; it knows. */
static void
head_refused(struct vem_qp *qp, struct vem_remote *remote, enum ri_wc_status status)
{
	struct head mine = head_show(qp, remote);
	struct vem_cause cause = {.kind = RI_CM_BROKEN,
				  .async = atomic_load(&qp->by_peer) ? RI_EVENT_QP_WR_ERROR
								     : RI_EVENT_NONE};
	char operation[128];

	answers_close(remote);
	remote->ended = true;
	vem_tap_turned_down(qp, status);
	vsw_why_operation(qp->tx_wqe, operation, sizeof(operation));
	vem_say(qp,
		"the peer, in another process, refuses a request of this end, %s; its own line "
		"says why",
		operation);
	vem_qp_fail(qp, &cause, status);
	head_hide(qp, remote, &mine);
}

/* A Read may revoke the key of its sink when it is done. False: that key cannot be revoked. */
static bool
sink_is_revoked(struct vem_qp *qp, const struct vsw_wqe *wqe)
{
	return wqe->opcode != RI_OP_RDMA_READ || (wqe->flags & RI_WR_INVALIDATE) == 0 ||
	       vsw_mem_invalidate(qp->rnic->mem, &qp->in.who, wqe->sge[0].stag, false) ==
		       VSW_MEM_OK;
}

/* The head is done, as far as the peer is concerned. */
static void
head_complete(struct vem_qp *qp, struct vem_remote *remote)
{
	const struct vem_sent *sent = sent_at(remote, atomic_load(&remote->done));
	struct vsw_wqe *wqe = sent->wqe;
	bool data = is_answered_by_data(wqe);

	if (data && sent->status != RI_WC_SUCCESS) {
		head_fail(qp, remote, (enum ri_wc_status)sent->status);
		return;
	}
	if (data)
		remote->reads--;
	if (!sink_is_revoked(qp, wqe)) {
		head_fail(qp, remote, RI_WC_LOCAL_MM);
		return;
	}

	struct head mine = head_show(qp, remote);

	vem_sq_complete(qp, RI_WC_SUCCESS);
	head_hide(qp, remote, &mine);
}

static bool
head_is_answered(const struct vem_remote *remote, uint32_t done)
{
	const struct vem_sent *sent = sent_at(remote, done);

	if (is_answered_by_data(sent->wqe))
		return atomic_load_explicit(&sent->answered, memory_order_acquire);
	return (int32_t)(atomic_load_explicit(&remote->acked, memory_order_acquire) - done) > 0;
}

/* Go back to a request that cannot be executed now. */
static void
go_back(struct vem_qp *qp, struct vem_remote *remote, uint32_t number, bool rnr)
{
	const struct ri_host *host = qp->rnic->host;
	uint32_t done = atomic_load(&remote->done);

	if (number - done >= remote->cursor - done + (remote->at != 0))
		return; /* it is not one that was sent */
	while (remote->cursor != number) {
		remote->cursor--;
		if (is_answered_by_data(sent_at(remote, remote->cursor)->wqe))
			remote->reads--;
	}
	vsw_lock(&remote->answer);
	atomic_store(&remote->out, remote->cursor);
	vsw_unlock(&remote->answer);
	remote->at = 0;
	remote->failed = 0;
	remote->stalled = true;
	if (!rnr || atomic_load(&qp->rnr_until) != 0)
		return;

	uint64_t wait = atomic_load(&qp->by_peer)
				? vem_peer_rnr_wait(qp->far.rnr_retry, remote->far_rnr)
				: qp->rnr_wait;
	uint64_t until = wait == RI_NEVER ? RI_NEVER : host->now(host->self) + wait;

	ri_count(&qp->count->retries, 1);
	if (wait == 0)
		until = VEM_RNR_LATE;
	atomic_store(&qp->rnr_until, until);
	if (until > VEM_RNR_LATE && until != RI_NEVER)
		host->timer_start(host->self, &qp->rnr_timer, until);
}

/* Handle what the other end has reported. True: the connection ends. */
static bool
told_handle(struct vem_qp *qp, struct vem_remote *remote)
{
	uint64_t told = atomic_exchange(&remote->told, 0);
	uint32_t number = (uint32_t)told;
	uint32_t detail = (uint32_t)(told >> 32) & 0xffff;

	if (told >> 48 == VEM_WIRE_WAIT)
		go_back(qp, remote, number, detail != 0);
	else if (told != 0 && atomic_load(&remote->done) == number && number != remote->begun) {
		head_refused(qp, remote, (enum ri_wc_status)detail);
		return true;
	} else if (told != 0) {
		/* The requests before it are not completed yet: look again with the next answer. */
		uint64_t none = 0;

		(void)atomic_compare_exchange_strong(&remote->told, &none, told);
	}
	return false;
}

/* A capture gets the head, which is answered, before it is completed. */
static __attribute__((cold, noinline)) void
head_capture(struct vem_qp *qp, struct vem_remote *remote)
{
	struct head mine = head_show(qp, remote);

	vem_tap_answered(qp);
	head_restore(qp, &mine);
}

/* Complete what is answered. True: something was, or the state has changed. */
static inline __attribute__((always_inline)) bool
window_collect(struct vem_qp *qp, struct vem_remote *remote, bool captured)
{
	uint32_t done = atomic_load_explicit(&remote->done, memory_order_relaxed);

	if (done != remote->cursor && head_is_answered(remote, done)) {
		if (atomic_load_explicit(&qp->rnr_until, memory_order_relaxed) != 0)
			atomic_store(&qp->rnr_until, 0);
		if (captured)
			head_capture(qp, remote);
		head_complete(qp, remote);
		return true;
	}
	if (atomic_load_explicit(&remote->told, memory_order_acquire) != 0 &&
	    told_handle(qp, remote))
		return true;
	if (atomic_load_explicit(&remote->ready, memory_order_acquire) &&
	    atomic_exchange(&remote->ready, false))
		remote->stalled = remote->probing = false; /* a probe was about the try before */
	if (remote->stalled && atomic_load(&qp->rnr_until) == VEM_RNR_LATE) {
		/* On a connection by attributes only this end fails; the peer is not notified, and goes on. */
		if (atomic_load(&qp->by_peer))
			remote->failed = RI_WC_RNR;
		else
			remote->stalled = false; /* the last try */
	}
	if (remote->failed != 0 && done == remote->cursor) {
		head_fail(qp, remote, (enum ri_wc_status)remote->failed);
		return true;
	}
	return false;
}

/* --- all ---------------------------------------------------------------------------------- */

/* The window's entries take the place of the one that the queue pair has. */
static void
window_begin(struct vem_qp *qp, struct vem_remote *remote)
{
	struct vsw_wqe *own = qp->tx_wqe;

	if (remote->own_wqe != NULL)
		return;
	assert(!qp->tx_have || atomic_load(&qp->by_peer));
	if (qp->tx_have) /* a request that has waited for the partner */
		memcpy(remote->sent[0].wqe, own, remote->wqe_size);
	remote->own_wqe = own;
	qp->tx_wqe = remote->sent[0].wqe;
	atomic_store(&qp->lost_until, 0);
}

/* Take a request from the queue, into the window if it needs the peer. False: there is none, or it must wait. */
static bool
queue_take(struct vem_qp *qp, struct vem_remote *remote)
{
	uint32_t done = atomic_load_explicit(&remote->done, memory_order_relaxed);

	if (!qp->tx_have)
		qp->tx_have = vsw_wq_take(&qp->sq, qp->tx_wqe, &qp->tx_index);
	if (!qp->tx_have)
		return false;

	const struct vsw_wqe *wqe = qp->tx_wqe;
	bool peer = wqe->opcode == RI_OP_SEND || wqe->opcode == RI_OP_RDMA_WRITE ||
		    is_answered_by_data(wqe);

	if (!peer || wqe->num_sge > VEM_MAX_SGE || wqe->length > VEM_MAX_MESSAGE)
		return remote->begun == done && vem_execute(qp);
	if (remote->begun - done >= remote->slots - 1)
		return false;
	sent_at(remote, remote->begun)->index = qp->tx_index;
	remote->begun++;
	qp->tx_have = false;
	qp->tx_wqe = sent_at(remote, remote->begun)->wqe;
	return true;
}

/* The time for answers begins. */
static void
watch_begin(struct vem_qp *qp, struct vem_remote *remote, uint32_t done)
{
	remote->watched = done;
	remote->probing = false;
	vem_peer_watch(qp);
}

/*
 * The time is over: ask the process of the peer whether it has read the oldest request and has sent every answer
 * that it owes. A process that has no processor, or whose reading thread has none, answers when it gets one; if the
 * process ends, another event reports that. A request that has not been sent waits for room, so it is not lost.
 */
static void
probe_send(struct vem_qp *qp, struct vem_remote *remote, uint32_t done)
{
	const struct vem_wire wire = {.kind = VEM_WIRE_PROBE,
				      .to = remote->far_slot,
				      .to_life = remote->far_life,
				      .number = remote->probe + 1,
				      .flags = remote->slot,
				      .extra = remote->life};
	bool lost = false;

	if ((remote->cursor != done || remote->stalled) &&
	    vem_remote_write(remote, &wire, NULL, 0, 0, &lost)) {
		remote->probe++;
		remote->probing = true;
	}
	vem_peer_watch(qp);
}

/* Is there something in what the peer has reported that window_collect has not handled? It precedes the answer to a probe. */
static bool
is_answered_meanwhile(const struct vem_remote *remote, uint32_t done)
{
	uint64_t told = atomic_load(&remote->told);

	return atomic_load(&remote->ready) || told >> 48 == VEM_WIRE_WAIT ||
	       (told != 0 && (uint32_t)told == done) ||
	       (remote->cursor != done && head_is_answered(remote, done));
}

/*
 * By attributes: requests are not tried without end. True: one has failed, or there is more to do. A peer whose process
 * has ended is treated as silent, as over a network: so the program can poll the completions of acknowledged requests
 * long before the first failure. But requests that are retried without limit fail at once, since no retry can be
 * answered any more.
 */
static bool
window_watch(struct vem_qp *qp, struct vem_remote *remote)
{
	uint32_t done = atomic_load_explicit(&remote->done, memory_order_relaxed);
	uint64_t until = atomic_load(&qp->tries_until);
	bool gone = atomic_load(&remote->gone), none = done == remote->begun;
	bool idle = none || (!gone && atomic_load(&qp->rnr_until) != 0);
	bool probed = remote->probing && atomic_load(&remote->probed) == remote->probe;
	bool same = remote->watched == done && qp->init.type == RI_QP_RC;
	bool late = same && until == VEM_RNR_LATE;

	if (idle)
		remote->probing = false;
	else if (gone ? late || qp->far.timeout == 0 : same && probed) {
		if (!gone && is_answered_meanwhile(remote, done))
			return true;
		head_fail(qp, remote, RI_WC_TRANSPORT);
		return true;
	}
	if (until > VEM_RNR_LATE || (until == 0 && idle))
		return false;
	if (idle)
		atomic_store(&qp->tries_until, 0);
	else if (late)
		probe_send(qp, remote, done);
	else
		watch_begin(qp, remote, done);
	return false;
}

static inline __attribute__((always_inline)) bool
step(struct vem_qp *qp, struct vem_remote *remote, bool captured)
{
	if (window_collect(qp, remote, captured) || window_send(qp, remote) ||
	    queue_take(qp, remote))
		return true;
	return __builtin_expect(atomic_load_explicit(&qp->by_peer, memory_order_relaxed), 0) &&
	       window_watch(qp, remote);
}

/* The other end does not hear, or a capture gets what is answered. */
static __attribute__((cold, noinline)) bool
step_apart(struct vem_qp *qp, struct vem_remote *remote)
{
	return (atomic_load(&remote->apart) & VEM_REMOTE_MUTE) == 0 && step(qp, remote, true);
}

bool
vem_remote_step(struct vem_qp *qp, struct vem_remote *remote)
{
	window_begin(qp, remote);
	if (__builtin_expect(atomic_load_explicit(&remote->apart, memory_order_relaxed), 0))
		return step_apart(qp, remote);
	return step(qp, remote, false);
}

void
vem_remote_flush(struct vem_qp *qp, struct vem_remote *remote)
{
	window_begin(qp, remote);
	answers_close(remote);
	/* What the peer has done is done, even if that comes to light with the end. */
	while (!remote->ended && atomic_load(&remote->done) != remote->cursor &&
	       head_is_answered(remote, atomic_load(&remote->done)) &&
	       sent_at(remote, atomic_load(&remote->done))->status == RI_WC_SUCCESS &&
	       sink_is_revoked(qp, sent_at(remote, atomic_load(&remote->done))->wqe)) {
		struct head mine = head_show(qp, remote);

		vem_tap_answered(qp);
		vem_sq_complete(qp, RI_WC_SUCCESS);
		head_hide(qp, remote, &mine);
	}
	remote->ended = true;
	while (atomic_load(&remote->done) != remote->begun) {
		struct head mine = head_show(qp, remote);

		vem_sq_complete(qp, RI_WC_FLUSHED);
		head_hide(qp, remote, &mine);
	}
	remote->cursor = remote->begun;
	atomic_store(&remote->out, remote->cursor);
}
