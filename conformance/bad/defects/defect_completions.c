/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completions that are lost, reported twice, reported in another order, or that say what is not so. */
#include "defect.h"

/* --- how often they are reported ------------------------------------------------------------------ */

static enum defect_act
lost(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return defect_sent(wc) && defect_each(&ucq->count[0], 2) ? DEFECT_LOSE : DEFECT_PASS;
}

static enum defect_act
lost_error(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	return wc->status != RI_WC_SUCCESS && wc->status != RI_WC_FLUSHED ? DEFECT_LOSE
									  : DEFECT_PASS;
}

static enum defect_act
doubled(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return defect_sent(wc) && defect_each(&ucq->count[0], 2) ? DEFECT_TWICE : DEFECT_PASS;
}

static enum defect_act
reordered(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return defect_sent(wc) && defect_each(&ucq->count[0], 2) ? DEFECT_LATE : DEFECT_PASS;
}

static enum defect_act
reordered_receive(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return defect_received(wc) && defect_each(&ucq->count[0], 2) ? DEFECT_LATE : DEFECT_PASS;
}

static bool
signals_all(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	wr->wr.flags |= RI_WR_SIGNALED;
	return true;
}

static bool
signals_none(struct wrap_obj *uqp, struct defect_wr *wr)
{
	if (defect_each(&uqp->count[0], 3))
		wr->wr.flags &= ~(uint32_t)RI_WR_SIGNALED;
	return true;
}

/* --- flushes ---------------------------------------------------------------------------------- */

static enum defect_act
flush_lost_receive(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	return wc->status == RI_WC_FLUSHED && wc->opcode == RI_OP_RECV ? DEFECT_LOSE : DEFECT_PASS;
}

static enum defect_act
flush_lost_request(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	return wc->status == RI_WC_FLUSHED && wc->opcode != RI_OP_RECV ? DEFECT_LOSE : DEFECT_PASS;
}

static enum defect_act
flush_reordered(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return wc->status == RI_WC_FLUSHED && !defect_each(&ucq->count[0], 2) ? DEFECT_LATE
									      : DEFECT_PASS;
}

static enum defect_act
flush_success(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status == RI_WC_FLUSHED)
		wc->status = RI_WC_SUCCESS;
	return DEFECT_PASS;
}

/* --- status ----------------------------------------------------------------------------------- */

static enum defect_act
error_success(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status != RI_WC_FLUSHED)
		wc->status = RI_WC_SUCCESS;
	return DEFECT_PASS;
}

static enum defect_act
success_flushed(struct wrap_obj *ucq, struct ri_wc *wc)
{
	if (defect_sent(wc) && defect_each(&ucq->count[0], 3))
		wc->status = RI_WC_FLUSHED;
	return DEFECT_PASS;
}

static enum defect_act
error_general(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status != RI_WC_SUCCESS && wc->status != RI_WC_FLUSHED)
		wc->status = RI_WC_LOCAL_QP;
	return DEFECT_PASS;
}

static enum defect_act
error_other_side(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status == RI_WC_LOCAL_PROTECTION)
		wc->status = RI_WC_REMOTE_ACCESS;
	else if (wc->status == RI_WC_REMOTE_ACCESS)
		wc->status = RI_WC_LOCAL_PROTECTION;
	return DEFECT_PASS;
}

static enum defect_act
error_unnamed(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status != RI_WC_SUCCESS && wc->status != RI_WC_FLUSHED)
		wc->wr_id = 0;
	return DEFECT_PASS;
}

static enum defect_act
status_unknown(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status != RI_WC_SUCCESS)
		wc->status = RI_WC_STATUS_COUNT + 9;
	return DEFECT_PASS;
}

/* --- what they say ---------------------------------------------------------------------------- */

static enum defect_act
opcode_wrong(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (defect_sent(wc))
		wc->opcode = wc->opcode == RI_OP_SEND ? RI_OP_RDMA_WRITE : RI_OP_SEND;
	return DEFECT_PASS;
}

static enum defect_act
length_short(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->byte_len -= defect_received(wc) && wc->byte_len > 0 ? 1 : 0;
	return DEFECT_PASS;
}

static enum defect_act
length_long(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->byte_len += defect_received(wc) ? 4 : 0;
	return DEFECT_PASS;
}

static enum defect_act
length_16_bits(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->byte_len &= 0xffffu;
	return DEFECT_PASS;
}

static enum defect_act
context_stale(struct wrap_obj *ucq, struct ri_wc *wc)
{
	uint64_t own = wc->wr_id;

	if (defect_each(&ucq->count[0], 2))
		wc->wr_id = ucq->last[0];
	ucq->last[0] = own;
	return DEFECT_PASS;
}

static enum defect_act
qp_wrong(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);
	struct wrap_obj *other = qp != NULL ? wrap_find_other(qp) : NULL;

	if (other != NULL)
		wc->qp_ctx = other->ctx;
	return DEFECT_PASS;
}

static enum defect_act
solicited_lost(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->flags &= (uint8_t)~RI_WC_SOLICITED;
	return DEFECT_PASS;
}

static enum defect_act
solicited_always(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->flags |= RI_WC_SOLICITED;
	return DEFECT_PASS;
}

static enum defect_act
invalidated_lost(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->flags &= (uint8_t)~RI_WC_INVALIDATED;
	return DEFECT_PASS;
}

static enum defect_act
invalidated_wrong(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if ((wc->flags & RI_WC_INVALIDATED) != 0)
		wc->inv_stag ^= 0x100;
	return DEFECT_PASS;
}

/* --- datagrams -------------------------------------------------------------------------------- */

static bool
is_datagram(const struct ri_wc *wc)
{
	return wc->status == RI_WC_SUCCESS && wc->opcode == RI_OP_RECV_UD;
}

static enum defect_act
datagram_source(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->src_qpn += is_datagram(wc) ? 1 : 0;
	return DEFECT_PASS;
}

static enum defect_act
datagram_header(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->flags ^= is_datagram(wc) ? RI_WC_GRH : 0;
	return DEFECT_PASS;
}

static enum defect_act
datagram_length(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->byte_len += is_datagram(wc) ? 40 : 0;
	return DEFECT_PASS;
}

static enum defect_act
datagram_doubled(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	return is_datagram(wc) ? DEFECT_TWICE : DEFECT_PASS;
}

const struct defect defects_completions[] = {
	DEFECT("completion-lost", "requests without a completion",
	       "Every second successful request of a queue gets no completion.", 0, .wc = lost),
	DEFECT("completion-lost-error", "failures without a completion",
	       "A request that fails gets no completion.", 0, .wc = lost_error),
	DEFECT("completion-doubled", "requests with two completions",
	       "Every second successful request completes twice.", 0, .wc = doubled),
	DEFECT("completion-reordered", "completions of requests out of order",
	       "Every second completion of requests comes after the later ones.", NEED_ORDER,
	       .wc = reordered),
	DEFECT("completion-reordered-receive", "completions of receives out of order",
	       "Every second completion of receives comes after the later ones.", NEED_ORDER,
	       .wc = reordered_receive),
	DEFECT("completion-unasked", "completions that nobody asked for",
	       "Requests without RI_WR_SIGNALED complete, too.", 0, .wr = signals_all),
	DEFECT("completion-unsignaled", "a request for a completion is forgotten",
	       "Every third request is done as if RI_WR_SIGNALED were not set.", 0,
	       .wr = signals_none),
	DEFECT("flush-lost-receive", "receives that are not flushed",
	       "At the end of a connection the receives get no completions.", 0,
	       .wc = flush_lost_receive),
	DEFECT("flush-lost-request", "requests that are not flushed",
	       "At the end of a connection the requests get no completions.", 0,
	       .wc = flush_lost_request),
	DEFECT("flush-reordered", "flushes out of order",
	       "Every second flushed completion comes after the later ones.", NEED_ORDER,
	       .wc = flush_reordered),
	DEFECT("flush-success", "flushed work succeeds",
	       "A flushed completion says that the work was done.", 0, .wc = flush_success),
	DEFECT("error-success", "failures are reported as successes",
	       "A completion of a request that failed says that it succeeded.", 0,
	       .wc = error_success),
	DEFECT("success-flushed", "successes are reported as flushed",
	       "Every third successful request says that it was flushed.", 0,
	       .wc = success_flushed),
	DEFECT("error-general", "one status for all failures",
	       "Each failure has the status RI_WC_LOCAL_QP.", 0, .wc = error_general),
	DEFECT("error-other-side", "failures are blamed on the other side",
	       "Local protection errors are reported as remote ones, and the other way round.", 0,
	       .wc = error_other_side),
	DEFECT("error-unnamed", "failures without a context",
	       "The completion of a request that failed has the context 0.", 0,
	       .wc = error_unnamed),
	DEFECT("status-unknown", "a status that does not exist",
	       "Each completion that is no success has a status outside of the list.", 0,
	       .wc = status_unknown),
	DEFECT("opcode-wrong", "wrong opcode of a request",
	       "Sends complete as Writes, and other requests as Sends.", 0, .wc = opcode_wrong),
	DEFECT("length-short", "one octet less is reported",
	       "The length of a message that arrived is one too small.", 0, .wc = length_short),
	DEFECT("length-long", "the CRC is counted",
	       "The length of a message that arrived is four too large.", 0, .wc = length_long),
	DEFECT("length-16-bits", "lengths have 16 bits",
	       "The length in a completion is cut to its low 16 bits.", 0, .wc = length_16_bits),
	DEFECT("context-stale", "the context of the completion before",
	       "Every second completion has the context of the one before it.", 0,
	       .wc = context_stale),
	DEFECT("qp-wrong", "the wrong queue pair",
	       "A completion names another queue pair of the adapter.", 0, .wc = qp_wrong),
	DEFECT("solicited-lost", "no completion is solicited", "RI_WC_SOLICITED is never set.", 0,
	       .wc = solicited_lost),
	DEFECT("solicited-always", "each completion is solicited", "RI_WC_SOLICITED is always set.",
	       0, .wc = solicited_always),
	DEFECT("invalidated-lost", "an invalidation is not reported",
	       "RI_WC_INVALIDATED is never set.", NEED_INVALIDATE, .wc = invalidated_lost),
	DEFECT("invalidated-wrong", "the wrong STag is reported as invalidated",
	       "A completion names another STag than the one that was invalidated.",
	       NEED_INVALIDATE, .wc = invalidated_wrong),
	DEFECT("datagram-source", "the wrong sender",
	       "The number of the sender of a datagram is one too large.", NEED_UD,
	       .wc = datagram_source),
	DEFECT("datagram-header", "the routing header is reported wrongly",
	       "RI_WC_GRH is set if there is no header, and not set if there is one.", NEED_UD,
	       .wc = datagram_header),
	DEFECT("datagram-length", "the routing header counts twice",
	       "The length of a datagram is 40 too large.", NEED_UD, .wc = datagram_length),
	DEFECT("datagram-doubled", "datagrams arrive twice",
	       "The receive of a datagram completes twice.", NEED_UD, .wc = datagram_doubled),
};

const size_t defects_completions_count =
	sizeof(defects_completions) / sizeof(defects_completions[0]);
