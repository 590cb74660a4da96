/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_wire_state.h"

#include <stdlib.h>
#include <string.h>

#include "ri_log.h"
#include "vem_fault.h"
#include "vem_path.h"
#include "vem_setting.h"
#include "vem_tap.h"
#include "vem_why.h"
#include "vsw_setting.h"

const struct vem_freedom_row vem_freedoms[VEM_FREEDOMS] = {
	[VEM_FREE_PIECES] = {"pieces", "[IT 7.5.3]",
			     "a Write is placed in pieces, with time between them",
			     "the program looks at a part of the memory and believes the rest"},
	[VEM_FREE_ORDER] = {"order", "[IT 7.5.1]", "the pieces of a Write are placed in any order",
			    "the program polls the last octet of the memory"},
	[VEM_FREE_EARLY] = {"early", "[IT 7.5.4]",
			    "over iWARP a Write completes before it is placed",
			    "the program takes the completion of a Write for its arrival"},
	[VEM_FREE_LATE] = {"late", "[IT 7.4.8]",
			   "the octets of a request are read at any time until it completes",
			   "the program uses a buffer again before the completion"},
	[VEM_FREE_LOST] =
		{"lost", "[IT 7.5.4]",
		 "what is under way when a connection breaks is placed wholly, in part, or not at "
		 "all",
		 "the program believes that a Write without an answer had no effect, or all of it"},
	[VEM_FREE_ANSWER] = {"answer", "[IT 6.8.2]",
			     "over InfiniBand a Send completes after the answer to it has come",
			     "the program takes the answer to a message for the completion of its "
			     "Send"},
	[VEM_FREE_GONE] = {"gone", "[IT 15.6.5]",
			   "a region that is freed is gone at once, also for what is under way",
			   "the program frees memory that a request or the peer still uses"},
	[VEM_FREE_KEYS] = {"keys", "[IT 8.1.3]", "keys have no pattern",
			   "the program computes a context from another one"},
	[VEM_FREE_TORN] = {"torn", "[IT 7.5.2]",
			   "the octets of a Read are taken in pieces and in any order, with time "
			   "between them",
			   "the program believes that what it reads was there at one moment, or "
			   "looks at a part of the sink"},
	[VEM_FREE_OVERTAKE] =
		{"overtake", "[IT 7.5.1]",
		 "a Write or Send without a fence is carried out before a Read that was posted "
		 "before it",
		 "the program sends what it has not read yet, or tells the peer that it has read"},
	[VEM_FREE_UNREADY] = {"unready", "[IT 12.6]",
			      "a message that finds no receive ends the connection at once",
			      "the program sends more than the peer has posted receives for"},
};

/* --- chance -------------------------------------------------------------------------------- */

uint64_t
vem_wire_draw(const struct vem_qp *qp, uint64_t bound)
{
	const struct ri_host *host = qp->rnic->host;
	uint64_t number = 0;

	host->random(host->self, &number, sizeof(number));
	return number % bound;
}

bool
vem_wire_is_free(const struct vem_qp *qp, enum vem_freedom freedom)
{
	return (qp->rnic->wire_freedoms & (1u << freedom)) != 0;
}

/* What a path adds to a delay. */
static uint64_t
path_delay(const struct vem_qp *qp, const struct vem_path *path)
{
	return path->delay_max == 0
		       ? 0
		       : path->delay_min + vem_wire_draw(qp, path->delay_max - path->delay_min + 1);
}

/* Run the queue again after a while. */
void
vem_wire_wait(struct vem_wire *wire, enum stage stage)
{
	const struct ri_host *host = wire->qp->rnic->host;
	const struct vem_path path = vem_path_to(wire->qp->rnic, wire->far);
	uint64_t delay = 1 + vem_wire_draw(wire->qp, wire->qp->rnic->wire_delay);

	wire->stage = stage;
	host->timer_start(host->self, &wire->timer,
			  host->now(host->self) + delay + path_delay(wire->qp, &path));
}

static bool
path_is_open(struct vem_wire *wire)
{
	return vem_path_to(wire->qp->rnic, wire->far).state == VEM_PATH_OPEN;
}

/* Can what is under way pass? If not, it is looked at when the path changes, and when it was repeated often enough. */
static bool
passes(struct vem_wire *wire)
{
	struct ri_rnic *rnic = wire->qp->rnic;
	const struct ri_host *host = rnic->host;
	const enum vem_path_state state = vem_path_to(rnic, wire->far).state;

	if (state == VEM_PATH_OPEN) {
		wire->cut = 0;
		atomic_store(&wire->blocked, false);
		return true;
	}
	if (!atomic_exchange(&wire->blocked, true))
		ri_log(rnic->host, RI_LOG_DEBUG,
		       &(struct ri_log_about){.layer = "emul", .qpn = vem_qp_number(wire->qp)},
		       "a message waits for the path to %s", wire->far);
	if (state == VEM_PATH_HELD)
		wire->cut = 0;
	if (state == VEM_PATH_CUT && wire->cut == 0) {
		wire->cut = host->now(host->self);
		host->timer_start(host->self, &wire->timer,
				  wire->cut + vem_path_patience(rnic->fabric));
	}
	return false;
}

/* Was it repeated often enough? */
static bool
gave_up(const struct vem_wire *wire)
{
	struct ri_rnic *rnic = wire->qp->rnic;
	const struct ri_host *host = rnic->host;

	return wire->cut != 0 &&
	       host->now(host->self) >= wire->cut + vem_path_patience(rnic->fabric) &&
	       vem_path_to(rnic, wire->far).state == VEM_PATH_CUT;
}

/* The connection breaks, since nobody answers. Returns whether the request that is taken is done. */
static bool
give_up(struct vem_qp *qp)
{
	const struct vem_cause lost = {
		.kind = RI_CM_BROKEN, .async = RI_EVENT_QP_LLP_LOST, .message = VEM_MSG_LOST};

	if (qp->rnic->fabric->personality == VEM_IB && qp->tx_have)
		return vem_fail_here(qp, RI_WC_TRANSPORT);
	(void)vem_qp_move(qp, VEM_MOVE_LOST, &lost);
	return false;
}

static void
shuffle(struct vem_wire *wire)
{
	for (unsigned i = wire->parts; i > 1; i--) {
		unsigned other = (unsigned)vem_wire_draw(wire->qp, i);
		struct part part = wire->part[i - 1];

		wire->part[i - 1] = wire->part[other];
		wire->part[other] = part;
	}
}

/* Cut a Write, or a Read. */
static void
cut(struct vem_wire *wire, uint32_t length, bool pieces, bool any_order)
{
	uint32_t at = 0;

	wire->parts = wire->next = 0;
	while (at < length && wire->parts < PIECES_MAX - 1 && pieces) {
		uint32_t len = 1 + (uint32_t)vem_wire_draw(wire->qp, length - at);

		wire->part[wire->parts++] = (struct part){at, len};
		at += len;
	}
	if (at < length || wire->parts == 0)
		wire->part[wire->parts++] = (struct part){at, length - at};
	if (wire->parts == 1 && length > 1 && vem_path_tells(wire->qp->rnic)) {
		/* The tester may want to do something inside. */
		at = 1 + (uint32_t)vem_wire_draw(wire->qp, length - 1);
		wire->part[0].len = at;
		wire->part[wire->parts++] = (struct part){at, length - at};
	}
	if (any_order)
		shuffle(wire);
}

/* --- Writes ---------------------------------------------------------------------------------- */

void
vem_wire_narrow(struct vsw_spans *spans, const struct part *part, struct vsw_spans *out)
{
	uint32_t at = part->at, len = part->len;

	out->count = 0;
	for (uint32_t i = 0; i < spans->count && len > 0; i++) {
		uint32_t have = spans->len[i];

		if (at >= have) {
			at -= have;
			continue;
		}
		out->use[out->count] = spans->use[i];
		if (out->use[out->count].ptr != NULL)
			out->use[out->count].ptr += at;
		out->use[out->count].offset += at;
		out->len[out->count] = have - at < len ? have - at : len;
		len -= out->len[out->count++];
		at = 0;
	}
}

/* A Write that goes beyond its bounds places nothing, in whatever order its parts come. */
static const struct vsw_refusal *
whole_refused(const struct vem_qp *peer, const struct vsw_message *message)
{
	struct vsw_spans target;
	const struct vsw_refusal *refusal = vsw_respond_begin(
		&peer->in, message, 0, message->length, RI_ACCESS_REMOTE_WRITE, &target);

	vsw_spans_end(&target);
	return refusal;
}

static const struct vsw_refusal *
place(struct vem_qp *peer, const struct vsw_message *message, const struct part *part, bool first,
      struct vsw_spans *octets)
{
	struct vsw_spans some;
	const struct vsw_piece piece = {
		.octets = &some, .at = part->at, .length = part->len, .last = true};
	const struct vsw_refusal *refusal = first ? whole_refused(peer, message) : NULL;

	if (refusal != NULL)
		return refusal;
	vem_wire_narrow(octets, part, &some);
	ri_log(peer->rnic->host, RI_LOG_DEBUG,
	       &(struct ri_log_about){.layer = "emul", .qpn = vem_qp_number(peer)},
	       "octets %u to %u of a Write of %u arrive", part->at, part->at + part->len,
	       message->length);
	return vsw_respond_write(&peer->in, message, &piece);
}

/* A part was placed. */
static void
tell_placed(const struct vem_wire *wire, uint32_t length)
{
	uint32_t placed = 0;

	for (unsigned i = 0; i < wire->next; i++)
		placed += wire->part[i].len;
	vem_path_tell(wire->qp->rnic, wire->number, true, placed, length);
}

/* The next part of the Write that is taken, out of the poster's memory. */
static const struct vsw_refusal *
place_taken(struct vem_wire *wire, struct vem_qp *peer, bool *gathered)
{
	struct vem_qp *qp = wire->qp;
	const struct vsw_message message = {.length = qp->tx_wqe->length,
					    .flags = qp->tx_wqe->flags,
					    .remote = &qp->tx_wqe->u.remote};
	const struct vsw_refusal *refusal;
	struct vsw_spans local;

	*gathered = vsw_spans_gather(qp->rnic->mem, &qp->in.who, qp->tx_wqe, &local) == VSW_MEM_OK;
	if (!*gathered)
		return NULL;
	refusal = place(peer, &message, &wire->part[wire->next], wire->next == 0, &local);
	wire->next++;
	vsw_spans_end(&local);
	tell_placed(wire, message.length);
	return refusal;
}

/* The next part of a Write that has completed. */
static const struct vsw_refusal *
place_copied(struct vem_wire *wire, struct vem_qp *peer)
{
	const struct vsw_message message = {.length = wire->length, .remote = &wire->remote};
	struct vsw_spans local;
	const struct vsw_refusal *refusal;

	vsw_spans_of(&local, wire->octets, wire->length);
	refusal = place(peer, &message, &wire->part[wire->next], wire->next == 0, &local);
	wire->next++;
	tell_placed(wire, message.length);
	return refusal;
}

static void
copied_drop(struct vem_wire *wire)
{
	free(wire->octets);
	wire->octets = NULL;
	wire->stage = STAGE_IDLE;
}

/* Copy the octets, and complete the request at this side. False: it goes the other way. */
static bool
complete_early(struct vem_wire *wire)
{
	struct vem_qp *qp = wire->qp;
	struct vsw_wqe *wqe = qp->tx_wqe;
	struct vsw_spans local, copy = {.count = 1};

	wire->octets = malloc(wqe->length > 0 ? wqe->length : 1);
	if (wire->octets == NULL)
		return false;
	if (vsw_spans_gather(qp->rnic->mem, &qp->in.who, wqe, &local) != VSW_MEM_OK) {
		copied_drop(wire);
		return false;
	}
	copy.use[0] = (struct vsw_mem_use){.ptr = wire->octets};
	copy.len[0] = wqe->length;
	bool good = wqe->length == 0 || vsw_spans_copy(&copy, 0, &local);
	vsw_spans_end(&local);
	if (!good) {
		copied_drop(wire);
		return false;
	}
	wire->length = wqe->length;
	wire->remote = wqe->u.remote;
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}

/* What has completed is placed, part by part; then the queue goes on. Owner of the role tx. */
static void
copied_advance(struct vem_wire *wire)
{
	struct vem_qp *qp = wire->qp;

	if (!passes(wire)) {
		if (gave_up(wire))
			(void)give_up(qp);
		return;
	}

	struct vem_qp *peer = vem_peer_enter(qp);
	const struct vsw_refusal *refusal = NULL;
	bool takes = peer != NULL && vem_qp_takes(peer);

	if (takes && !vem_fault_offline(qp->rnic) && !vem_fault_offline(peer->rnic))
		refusal = place_copied(wire, peer);
	if (refusal != NULL)
		vem_fail_late(qp, peer, refusal);
	if (peer != NULL)
		vem_peer_exit(qp);
	if (!takes || refusal != NULL || wire->next == wire->parts)
		copied_drop(wire);
	else
		vem_wire_wait(wire, STAGE_UNDER_WAY);
}

/* A Write whose time has come: its next part, or its end. */
static bool
write_advance(struct vem_wire *wire, struct vem_qp *peer)
{
	struct vem_qp *qp = wire->qp;
	const struct vsw_refusal *refusal;
	bool gathered = true;

	if (wire->stage == STAGE_ANSWER) {
		wire->stage = STAGE_IDLE;
		vem_tap_answer(qp);
		vem_sq_complete(qp, RI_WC_SUCCESS);
		return true;
	}
	refusal = place_taken(wire, peer, &gathered);
	if (!gathered || refusal != NULL)
		wire->stage = STAGE_IDLE;
	if (!gathered || refusal == &vsw_octets_lost)
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);
	if (refusal != NULL)
		return vem_fail_there(qp, peer, refusal);
	vem_wire_wait(wire, wire->next == wire->parts ? STAGE_ANSWER : STAGE_UNDER_WAY);
	return false;
}

/* --- all messages ------------------------------------------------------------------------------ */

/* The request that is taken begins its way. Returns whether it is done. */
static bool
depart(struct vem_wire *wire)
{
	struct vem_qp *qp = wire->qp;
	bool early = qp->rnic->fabric->personality == VEM_IWARP &&
		     vem_wire_is_free(qp, VEM_FREE_EARLY) && vem_wire_draw(qp, 2) == 0;
	bool done = false;

	wire->number = vem_path_count(qp->rnic);
	vem_path_tell(qp->rnic, wire->number, vem_wire_is_write(qp->tx_wqe), 0, qp->tx_wqe->length);
	if (vem_wire_is_write(qp->tx_wqe)) {
		cut(wire, qp->tx_wqe->length, vem_wire_is_free(qp, VEM_FREE_PIECES),
		    vem_wire_is_free(qp, VEM_FREE_ORDER));
		vem_tap_depart(qp);
		/* Over InfiniBand, and without the freedom, the buffer is read as late as it may be. */
		done = (early || !vem_wire_is_free(qp, VEM_FREE_LATE)) &&
		       qp->rnic->fabric->personality == VEM_IWARP && complete_early(wire);
	}
	wire->overtaken = qp->tx_wqe->opcode != RI_OP_RDMA_READ ||
			  !vem_wire_is_free(qp, VEM_FREE_OVERTAKE) || vem_wire_draw(qp, 2) == 0;
	if (vem_wire_read_is_cut(wire))
		cut(wire, qp->tx_wqe->length, true, true);
	vem_wire_wait(wire, STAGE_UNDER_WAY);
	return done;
}

/*
 * Deliver a message that is not a Write. A Send that was delivered may stay at the head of the
 * queue until its response comes; then it completes, and the queue goes on.
 */
static bool
deliver_whole(struct vem_wire *wire, struct vem_qp *peer,
	      bool (*deliver)(struct vem_qp *qp, struct vem_qp *peer))
{
	struct vem_qp *qp = wire->qp;
	struct vsw_wqe *wqe = qp->tx_wqe;
	const uint32_t signaled = wqe->flags & RI_WR_SIGNALED;
	bool later = wqe->opcode == RI_OP_SEND && signaled != 0 && qp->init.type == RI_QP_RC &&
		     qp->rnic->fabric->personality == VEM_IB &&
		     vem_wire_is_free(qp, VEM_FREE_ANSWER) && vem_wire_draw(qp, 2) == 0;
	bool done;

	if (later)
		wqe->flags &= ~(uint32_t)RI_WR_SIGNALED;
	done = deliver(qp, peer);
	if (later)
		wqe->flags |= signaled;
	/* A failure has completed with its status, whatever the flags. */
	if (!later || !done || qp->sq.pushed == qp->tx_index)
		return done;
	qp->tx_have = true;
	wire->answered = false;
	vem_wire_wait(wire, STAGE_ANSWER);
	return false;
}

/* The answer to a Send has come. */
static bool
send_answered(struct vem_wire *wire)
{
	wire->stage = STAGE_IDLE;
	wire->answered = false;
	vem_sq_complete(wire->qp, RI_WC_SUCCESS);
	return true;
}

/* The request that is taken does not pass. Returns whether it is done. */
static bool
wait_or_give_up(struct vem_wire *wire)
{
	struct vem_qp *qp = wire->qp;

	if (qp->init.type == RI_QP_UC) {
		wire->stage = STAGE_IDLE;
		vem_sq_complete(qp, RI_WC_SUCCESS); /* it has left, and is lost */
		return true;
	}
	return gave_up(wire) && give_up(qp);
}

bool
vem_wire_execute(struct vem_qp *qp, struct vem_qp *peer,
		 bool (*deliver)(struct vem_qp *qp, struct vem_qp *peer))
{
	struct vem_wire *wire = qp->wire;
	bool done;

	if (wire == NULL)
		return deliver(qp, peer);
	if (wire->octets != NULL)
		return false; /* the queue goes on behind it */
	if (wire->stage == STAGE_IDLE && wire->ahead_next < wire->ahead)
		return vem_wire_ahead(wire, peer);
	if (wire->stage == STAGE_IDLE)
		return depart(wire);
	if (wire->stage == STAGE_UNDER_WAY || (wire->stage == STAGE_ANSWER && !wire->answered))
		return false;
	if (!passes(wire))
		return wait_or_give_up(wire);
	if (vem_wire_is_write(qp->tx_wqe)) {
		wire->answered = false;
		return write_advance(wire, peer);
	}
	if (wire->stage == STAGE_ANSWER)
		return send_answered(wire);
	if (!wire->overtaken) {
		wire->overtaken = true;
		vem_wire_overtake(wire, peer);
		vem_wire_wait(wire, STAGE_UNDER_WAY);
		return false;
	}
	if (vem_wire_read_is_cut(wire) && vem_wire_read(wire, peer, &done))
		return done;
	if (wire->stage != STAGE_ARRIVED)
		vem_path_tell(qp->rnic, wire->number, false, qp->tx_wqe->length,
			      qp->tx_wqe->length);
	wire->stage = STAGE_IDLE;
	done = deliver_whole(wire, peer, deliver);
	if (!done && wire->stage == STAGE_IDLE)
		wire->stage = STAGE_ARRIVED;
	return done;
}

bool
vem_wire_alone(struct vem_qp *qp)
{
	return qp->wire != NULL && !passes(qp->wire) && wait_or_give_up(qp->wire);
}

/* On the service thread. */
static void
wire_fire(void *arg)
{
	struct vem_wire *wire = (struct vem_wire *)arg;
	struct vem_qp *qp = wire->qp;
	const struct ri_host *host = qp->rnic->host;

	if (!vsw_role_take(&qp->tx)) {
		host->timer_start(host->self, &wire->timer, host->now(host->self) + 1000);
		return;
	}
	if (wire->octets != NULL)
		copied_advance(wire);
	else if (wire->stage == STAGE_UNDER_WAY)
		wire->stage = STAGE_DUE;
	else if (wire->stage == STAGE_ANSWER)
		wire->answered = true;
	while (vsw_role_drop(&qp->tx))
		vsw_role_begin(&qp->tx);
	vem_sq_run(qp);
}

/* --- connections --------------------------------------------------------------------------------- */

/* A request for a connection that waits: it arrives, or it was repeated often enough. */
static void
offer_advance(struct vem_wire *wire)
{
	struct vem_qp *qp = wire->qp;
	const struct ri_host *host = qp->rnic->host;
	const enum vem_path_state state = vem_path_to(qp->rnic, wire->far).state;
	uint64_t now = host->now(host->self), until = 0;
	bool arrives = false, late = false;

	pthread_mutex_lock(&qp->rnic->fabric->lock);
	if (wire->offer == OFFER_WAITS) {
		arrives = state == VEM_PATH_OPEN;
		if (state == VEM_PATH_CUT && wire->offer_until == 0)
			wire->offer_until = now + vem_path_patience(qp->rnic->fabric);
		until = state == VEM_PATH_CUT ? wire->offer_until : 0;
		late = until != 0 && now >= until;
		if (arrives || late)
			wire->offer = arrives ? OFFER_ARRIVES : OFFER_NONE;
	}
	pthread_mutex_unlock(&qp->rnic->fabric->lock);
	if (arrives)
		vem_qp_message(qp, VEM_MSG_CONNECT, 0, NULL);
	else if (late)
		vem_cm_timeout(qp);
	else if (until != 0)
		host->timer_start(host->self, &wire->later, until);
}

/* On the service thread: messages of the connection arrive, or the request for it does. */
static void
later_fire(void *arg)
{
	struct vem_wire *wire = (struct vem_wire *)arg;
	struct vem_qp *qp = wire->qp;
	const struct ri_host *host = qp->rnic->host;

	offer_advance(wire);
	if (!path_is_open(wire))
		return;
	vsw_lock(&qp->lock);
	qp->messages |= wire->kept;
	if ((wire->kept & VEM_MSG_TERMINATE) != 0)
		qp->terminate_in = wire->kept_code;
	if ((wire->kept & (VEM_MSG_REPLY | VEM_MSG_CONFIRM | VEM_MSG_REFUSED)) != 0)
		qp->heard = wire->kept_hello;
	wire->kept = 0;
	vsw_unlock(&qp->lock);
	host->task_run(host->self, &qp->task);
}

void
vem_wire_message(struct ri_rnic *from, struct vem_qp *to, enum vem_msg message, uint32_t code,
		 const struct vem_hello *hello)
{
	const struct ri_host *host = to->rnic->host;
	struct vem_wire *wire = to->wire;
	struct vem_path path = {.state = VEM_PATH_OPEN};
	char name[VEM_NAME];

	if (wire != NULL) {
		vem_path_name(from, name);
		path = vem_path_to(to->rnic, name);
	}
	if (wire == NULL ||
	    (path.state == VEM_PATH_OPEN && path.delay_max == 0 && wire->kept == 0)) {
		vem_qp_message(to, message, code, hello);
		return;
	}
	vsw_lock(&to->lock);
	wire->kept |= message;
	if (message == VEM_MSG_TERMINATE)
		wire->kept_code = code;
	if (hello != NULL)
		wire->kept_hello = *hello;
	vsw_unlock(&to->lock);
	if (path.state == VEM_PATH_OPEN)
		host->timer_start(host->self, &wire->later,
				  host->now(host->self) + 1 + path_delay(to, &path));
}

bool
vem_wire_holds_offer(struct vem_qp *qp, struct ri_rnic *there)
{
	const struct ri_host *host = qp->rnic->host;
	struct vem_wire *wire = qp->wire;
	struct vem_path path;

	if (wire == NULL)
		return false;
	vem_path_name(there, wire->far);
	path = vem_path_to(qp->rnic, wire->far);
	if (path.state == VEM_PATH_OPEN && (path.delay_max == 0 || wire->offer == OFFER_ARRIVES)) {
		wire->offer = OFFER_NONE;
		return false;
	}
	wire->offer = OFFER_WAITS;
	wire->offer_until = 0;
	host->timer_start(host->self, &wire->later,
			  host->now(host->self) + 1 + path_delay(qp, &path));
	return true;
}

void
vem_wire_withdraw(struct vem_qp *qp)
{
	if (qp->wire != NULL)
		qp->wire->offer = OFFER_NONE;
}

void
vem_wire_wake(struct vem_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;
	struct vem_wire *wire = qp->wire;

	if (wire == NULL)
		return;
	if (atomic_exchange(&wire->blocked, false))
		host->timer_start(host->self, &wire->timer, host->now(host->self) + 1);
	host->timer_start(host->self, &wire->later, host->now(host->self) + 1);
}

void
vem_wire_pair(struct vem_qp *active, struct vem_qp *passive)
{
	if (active->wire == NULL || passive->wire == NULL)
		return;
	vem_path_name(passive->rnic, active->wire->far);
	vem_path_name(active->rnic, passive->wire->far);
}

void
vem_wire_reset(struct vem_qp *qp)
{
	if (qp->wire != NULL)
		qp->wire->kept = 0;
}

/* --- begin and end -------------------------------------------------------------------------------- */

void
vem_wire_flush(struct vem_qp *qp)
{
	struct vem_wire *wire = qp->wire;
	bool orderly =
		atomic_load(&qp->state) == RI_QPS_CLOSING || !vem_wire_is_free(qp, VEM_FREE_LOST);

	if (wire == NULL)
		return;
	wire->cut = 0;
	wire->ahead = wire->ahead_next = 0;
	atomic_store(&wire->blocked, false);
	if (atomic_load(&qp->state) != RI_QPS_CLOSING && !path_is_open(wire))
		orderly = false;
	/* TCP delivers what was sent before the end of the stream. */
	while (wire->octets != NULL && orderly) {
		struct vem_qp *peer = vem_peer_enter(qp);
		bool takes = peer != NULL && vem_qp_takes(peer) && place_copied(wire, peer) == NULL;

		if (peer != NULL)
			vem_peer_exit(qp);
		if (!takes || wire->next == wire->parts)
			break;
	}
	/* A Send that was delivered is no part of what the end cuts off. */
	if (wire->stage == STAGE_ANSWER && qp->tx_have && qp->tx_wqe->opcode == RI_OP_SEND &&
	    path_is_open(wire))
		(void)send_answered(wire);
	copied_drop(wire);
}

bool
vem_wire_create(struct vem_qp *qp)
{
	if (qp->rnic->wire_delay == 0)
		return true;
	qp->wire = calloc(1, sizeof(*qp->wire));
	if (qp->wire == NULL)
		return false;
	qp->wire->qp = qp;
	qp->wire->timer = (struct ri_timer){.fire = wire_fire, .arg = qp->wire};
	qp->wire->later = (struct ri_timer){.fire = later_fire, .arg = qp->wire};
	return true;
}

void
vem_wire_stop(struct vem_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;

	if (qp->wire == NULL)
		return;
	host->timer_stop(host->self, &qp->wire->timer);
	host->timer_stop(host->self, &qp->wire->later);
}

void
vem_wire_free(struct vem_qp *qp)
{
	if (qp->wire == NULL)
		return;
	free(qp->wire->octets);
	free(qp->wire->looked_at);
	free(qp->wire);
	qp->wire = NULL;
}

bool
vem_wire_is_impatient(const struct vem_qp *qp)
{
	return qp->wire != NULL && vem_wire_is_free(qp, VEM_FREE_UNREADY) &&
	       vem_wire_draw(qp, 2) == 0;
}

/* Set the freedom that this word of ITAPI_EMUL_FREEDOMS names. False: the word is unknown. */
static bool
add_freedom(struct ri_rnic *rnic, const char *word, size_t len)
{
	if (len == 3 && memcmp(word, "all", 3) == 0) {
		rnic->wire_freedoms = (1u << VEM_FREEDOMS) - 1;
		return true;
	}
	for (unsigned i = 0; i < VEM_FREEDOMS; i++) {
		if (strlen(vem_freedoms[i].name) != len ||
		    memcmp(vem_freedoms[i].name, word, len) != 0)
			continue;
		rnic->wire_freedoms |= 1u << i;
		return true;
	}
	return false;
}

bool
vem_wire_begin(struct ri_rnic *rnic)
{
	const char *word = vsw_setting_text(&vem_settings[VEM_SETTING_FREEDOMS]);
	bool good = true;

	rnic->wire_delay = vsw_setting_time(&vem_settings[VEM_SETTING_WIRE], 1000);
	if (rnic->wire_delay != 0)
		atomic_store(&rnic->faults.apart, true);
	while (rnic->wire_delay != 0 && word != NULL && *word != '\0') {
		size_t len = strcspn(word, " ,");

		good = (len == 0 || add_freedom(rnic, word, len)) && good;
		word += len + (word[len] != '\0');
	}
	return good;
}
