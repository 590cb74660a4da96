/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completions that are lost, told twice, told in another order, or that say what is not so. */
#include "mutant.h"

/* --- how often they are told ------------------------------------------------------------------ */

static enum mutant_act
lost(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return mutant_sent(wc) && mutant_each(&ucq->count[0], 2) ? MUTANT_LOSE : MUTANT_PASS;
}

static enum mutant_act
lost_receive(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return mutant_received(wc) && mutant_each(&ucq->count[0], 2) ? MUTANT_LOSE : MUTANT_PASS;
}

static enum mutant_act
lost_error(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	return wc->status != RI_WC_SUCCESS && wc->status != RI_WC_FLUSHED ? MUTANT_LOSE
									  : MUTANT_PASS;
}

static enum mutant_act
doubled(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return mutant_sent(wc) && mutant_each(&ucq->count[0], 2) ? MUTANT_TWICE : MUTANT_PASS;
}

static enum mutant_act
doubled_receive(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return mutant_received(wc) && mutant_each(&ucq->count[0], 2) ? MUTANT_TWICE : MUTANT_PASS;
}

static enum mutant_act
doubled_error(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	return wc->status != RI_WC_SUCCESS ? MUTANT_TWICE : MUTANT_PASS;
}

static enum mutant_act
reordered(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return mutant_sent(wc) && mutant_each(&ucq->count[0], 2) ? MUTANT_LATE : MUTANT_PASS;
}

static enum mutant_act
reordered_receive(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return mutant_received(wc) && mutant_each(&ucq->count[0], 2) ? MUTANT_LATE : MUTANT_PASS;
}

static bool
signals_all(struct wrap_obj *uqp, struct mutant_wr *wr)
{
	(void)uqp;
	wr->wr.flags |= RI_WR_SIGNALED;
	return true;
}

static bool
signals_none(struct wrap_obj *uqp, struct mutant_wr *wr)
{
	if (mutant_each(&uqp->count[0], 3))
		wr->wr.flags &= ~(uint32_t)RI_WR_SIGNALED;
	return true;
}

/* --- flushes ---------------------------------------------------------------------------------- */

static enum mutant_act
flush_lost_receive(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	return wc->status == RI_WC_FLUSHED && wc->opcode == RI_OP_RECV ? MUTANT_LOSE : MUTANT_PASS;
}

static enum mutant_act
flush_lost_request(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	return wc->status == RI_WC_FLUSHED && wc->opcode != RI_OP_RECV ? MUTANT_LOSE : MUTANT_PASS;
}

static enum mutant_act
flush_lost_last(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return wc->status == RI_WC_FLUSHED && mutant_later(&ucq->count[0]) ? MUTANT_LOSE
									   : MUTANT_PASS;
}

static enum mutant_act
flush_reordered(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return wc->status == RI_WC_FLUSHED && !mutant_each(&ucq->count[0], 2) ? MUTANT_LATE
									      : MUTANT_PASS;
}

static enum mutant_act
flush_success(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status == RI_WC_FLUSHED)
		wc->status = RI_WC_SUCCESS;
	return MUTANT_PASS;
}

static enum mutant_act
flush_transport(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status == RI_WC_FLUSHED)
		wc->status = RI_WC_TRANSPORT;
	return MUTANT_PASS;
}

/* --- status ----------------------------------------------------------------------------------- */

static enum mutant_act
error_success(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status != RI_WC_FLUSHED)
		wc->status = RI_WC_SUCCESS;
	return MUTANT_PASS;
}

static enum mutant_act
success_flushed(struct wrap_obj *ucq, struct ri_wc *wc)
{
	if (mutant_sent(wc) && mutant_each(&ucq->count[0], 3))
		wc->status = RI_WC_FLUSHED;
	return MUTANT_PASS;
}

static enum mutant_act
error_general(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status != RI_WC_SUCCESS && wc->status != RI_WC_FLUSHED)
		wc->status = RI_WC_LOCAL_QP;
	return MUTANT_PASS;
}

static enum mutant_act
error_flushed(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status != RI_WC_SUCCESS)
		wc->status = RI_WC_FLUSHED;
	return MUTANT_PASS;
}

static enum mutant_act
error_other_side(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status == RI_WC_LOCAL_PROTECTION)
		wc->status = RI_WC_REMOTE_ACCESS;
	else if (wc->status == RI_WC_REMOTE_ACCESS)
		wc->status = RI_WC_LOCAL_PROTECTION;
	return MUTANT_PASS;
}

static enum mutant_act
error_unnamed(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status != RI_WC_SUCCESS && wc->status != RI_WC_FLUSHED)
		wc->wr_id = 0;
	return MUTANT_PASS;
}

static enum mutant_act
status_unknown(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status != RI_WC_SUCCESS)
		wc->status = RI_WC_STATUS_COUNT + 9;
	return MUTANT_PASS;
}

/* --- what they say ---------------------------------------------------------------------------- */

static enum mutant_act
opcode_wrong(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (mutant_sent(wc))
		wc->opcode = wc->opcode == RI_OP_SEND ? RI_OP_RDMA_WRITE : RI_OP_SEND;
	return MUTANT_PASS;
}

static enum mutant_act
opcode_receive(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (mutant_received(wc)) {
		wc->opcode = RI_OP_SEND;
		wc->flags &= (uint8_t)~RI_WC_RECEIVE;
	}
	return MUTANT_PASS;
}

static enum mutant_act
length_short(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->byte_len -= mutant_received(wc) && wc->byte_len > 0 ? 1 : 0;
	return MUTANT_PASS;
}

static enum mutant_act
length_long(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->byte_len += mutant_received(wc) ? 4 : 0;
	return MUTANT_PASS;
}

static enum mutant_act
length_zero(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->byte_len = mutant_received(wc) ? 0 : wc->byte_len;
	return MUTANT_PASS;
}

static enum mutant_act
length_16_bits(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->byte_len &= 0xffffu;
	return MUTANT_PASS;
}

static enum mutant_act
length_of_request(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->byte_len = mutant_sent(wc) ? wc->byte_len + 4 : wc->byte_len;
	return MUTANT_PASS;
}

static enum mutant_act
context_stale(struct wrap_obj *ucq, struct ri_wc *wc)
{
	uint64_t own = wc->wr_id;

	if (mutant_each(&ucq->count[0], 2))
		wc->wr_id = ucq->last[0];
	ucq->last[0] = own;
	return MUTANT_PASS;
}

static enum mutant_act
context_zero(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->wr_id = mutant_received(wc) ? 0 : wc->wr_id;
	return MUTANT_PASS;
}

static enum mutant_act
qp_wrong(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = mutant_qp(ucq, wc);
	struct wrap_obj *other = qp != NULL ? wrap_find_other(qp) : NULL;

	if (other != NULL)
		wc->qp_ctx = other->ctx;
	return MUTANT_PASS;
}

static enum mutant_act
solicited_lost(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->flags &= (uint8_t)~RI_WC_SOLICITED;
	return MUTANT_PASS;
}

static enum mutant_act
solicited_always(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->flags |= RI_WC_SOLICITED;
	return MUTANT_PASS;
}

static enum mutant_act
invalidated_lost(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->flags &= (uint8_t)~RI_WC_INVALIDATED;
	return MUTANT_PASS;
}

static enum mutant_act
invalidated_wrong(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if ((wc->flags & RI_WC_INVALIDATED) != 0)
		wc->inv_stag ^= 0x100;
	return MUTANT_PASS;
}

/* --- datagrams -------------------------------------------------------------------------------- */

static bool
is_datagram(const struct ri_wc *wc)
{
	return wc->status == RI_WC_SUCCESS && wc->opcode == RI_OP_RECV_UD;
}

static enum mutant_act
datagram_source(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->src_qpn += is_datagram(wc) ? 1 : 0;
	return MUTANT_PASS;
}

static enum mutant_act
datagram_header(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->flags ^= is_datagram(wc) ? RI_WC_GRH : 0;
	return MUTANT_PASS;
}

static enum mutant_act
datagram_length(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->byte_len += is_datagram(wc) ? 40 : 0;
	return MUTANT_PASS;
}

static enum mutant_act
datagram_doubled(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	return is_datagram(wc) ? MUTANT_TWICE : MUTANT_PASS;
}

const struct mutant mutants_completions[] = {
	MUTANT("completion-lost", "requests without a completion",
	       "Every second successful request of a queue gets no completion.", 0, .wc = lost),
	MUTANT("completion-lost-receive", "receives without a completion",
	       "Every second message that arrives gets no completion.", 0, .wc = lost_receive),
	MUTANT("completion-lost-error", "failures without a completion",
	       "A request that fails gets no completion.", 0, .wc = lost_error),
	MUTANT("completion-doubled", "requests with two completions",
	       "Every second successful request completes twice.", 0, .wc = doubled),
	MUTANT("completion-doubled-receive", "receives with two completions",
	       "Every second message that arrives completes twice.", 0, .wc = doubled_receive),
	MUTANT("completion-doubled-error", "failures with two completions",
	       "Each request that fails or is flushed completes twice.", 0, .wc = doubled_error),
	MUTANT("completion-reordered", "completions of requests out of order",
	       "Every second completion of requests comes after the later ones.", NEED_ORDER,
	       .wc = reordered),
	MUTANT("completion-reordered-receive", "completions of receives out of order",
	       "Every second completion of receives comes after the later ones.", NEED_ORDER,
	       .wc = reordered_receive),
	MUTANT("completion-unasked", "completions that nobody asked for",
	       "Requests without RI_WR_SIGNALED complete, too.", 0, .wr = signals_all),
	MUTANT("completion-unsignaled", "a request for a completion is forgotten",
	       "Every third request is done as if RI_WR_SIGNALED were not set.", 0,
	       .wr = signals_none),
	MUTANT("flush-lost-receive", "receives that are not flushed",
	       "At the end of a connection the receives get no completions.", 0,
	       .wc = flush_lost_receive),
	MUTANT("flush-lost-request", "requests that are not flushed",
	       "At the end of a connection the requests get no completions.", 0,
	       .wc = flush_lost_request),
	MUTANT("flush-lost-last", "only the first is flushed",
	       "Of all that is flushed only the first gets a completion.", 0,
	       .wc = flush_lost_last),
	MUTANT("flush-reordered", "flushes out of order",
	       "Every second flushed completion comes after the later ones.", NEED_ORDER,
	       .wc = flush_reordered),
	MUTANT("flush-success", "flushed work succeeds",
	       "A flushed completion says that the work was done.", 0, .wc = flush_success),
	MUTANT("flush-transport", "flushed work fails as if the transport had",
	       "A flushed completion has the status RI_WC_TRANSPORT.", 0, .wc = flush_transport),
	MUTANT("error-success", "failures are told as successes",
	       "A completion of a request that failed says that it succeeded.", 0,
	       .wc = error_success),
	MUTANT("success-flushed", "successes are told as flushed",
	       "Every third successful request says that it was flushed.", 0,
	       .wc = success_flushed),
	MUTANT("error-general", "one status for all failures",
	       "Each failure has the status RI_WC_LOCAL_QP.", 0, .wc = error_general),
	MUTANT("error-flushed", "failures are told as flushed",
	       "The request that ends a connection is flushed like those behind it.", 0,
	       .wc = error_flushed),
	MUTANT("error-other-side", "failures are blamed on the other side",
	       "Local protection errors are told as remote ones, and the other way round.", 0,
	       .wc = error_other_side),
	MUTANT("error-unnamed", "failures without a context",
	       "The completion of a request that failed has the context 0.", 0,
	       .wc = error_unnamed),
	MUTANT("status-unknown", "a status that does not exist",
	       "Each completion that is no success has a status outside of the list.", 0,
	       .wc = status_unknown),
	MUTANT("opcode-wrong", "wrong opcode of a request",
	       "Sends complete as Writes, and other requests as Sends.", 0, .wc = opcode_wrong),
	MUTANT("opcode-receive", "receives complete as Sends",
	       "The completion of a receive has the opcode RI_OP_SEND.", 0, .wc = opcode_receive),
	MUTANT("length-short", "one octet less is told",
	       "The length of a message that arrived is one too small.", 0, .wc = length_short),
	MUTANT("length-long", "the CRC is counted",
	       "The length of a message that arrived is four too large.", 0, .wc = length_long),
	MUTANT("length-zero", "no length", "The length of each message that arrived is told as 0.",
	       0, .wc = length_zero),
	MUTANT("length-16-bits", "lengths have 16 bits",
	       "The length in a completion is cut to its low 16 bits.", 0, .wc = length_16_bits),
	MUTANT("length-of-request", "wrong length of a request",
	       "The length in the completion of a request is four too large.", 0,
	       .wc = length_of_request),
	MUTANT("context-stale", "the context of the completion before",
	       "Every second completion has the context of the one before it.", 0,
	       .wc = context_stale),
	MUTANT("context-zero", "receives without a context",
	       "The completion of a receive has the context 0.", 0, .wc = context_zero),
	MUTANT("qp-wrong", "the wrong queue pair",
	       "A completion names another queue pair of the adapter.", 0, .wc = qp_wrong),
	MUTANT("solicited-lost", "no completion is solicited", "RI_WC_SOLICITED is never set.", 0,
	       .wc = solicited_lost),
	MUTANT("solicited-always", "each completion is solicited", "RI_WC_SOLICITED is always set.",
	       0, .wc = solicited_always),
	MUTANT("invalidated-lost", "an invalidation is not told", "RI_WC_INVALIDATED is never set.",
	       NEED_INVALIDATE, .wc = invalidated_lost),
	MUTANT("invalidated-wrong", "the wrong STag is told as invalidated",
	       "A completion names another STag than the one that was invalidated.",
	       NEED_INVALIDATE, .wc = invalidated_wrong),
	MUTANT("datagram-source", "the wrong sender",
	       "The number of the sender of a datagram is one too large.", NEED_UD,
	       .wc = datagram_source),
	MUTANT("datagram-header", "the routing header is told wrongly",
	       "RI_WC_GRH is set if there is no header, and not set if there is one.", NEED_UD,
	       .wc = datagram_header),
	MUTANT("datagram-length", "the routing header counts twice",
	       "The length of a datagram is 40 too large.", NEED_UD, .wc = datagram_length),
	MUTANT("datagram-doubled", "datagrams arrive twice",
	       "The receive of a datagram completes twice.", NEED_UD, .wc = datagram_doubled),
};

const size_t mutants_completions_count =
	sizeof(mutants_completions) / sizeof(mutants_completions[0]);
