/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Memory: where octets go and when, and atomics. Registrations are in defect_keys.c. */
#include <string.h>

#include "defect.h"

#define PAGE 4096u

static bool
is_write(const struct defect_wr *wr)
{
	return wr->wr.opcode == RI_OP_RDMA_WRITE;
}

static bool
is_read(const struct defect_wr *wr)
{
	return wr->wr.opcode == RI_OP_RDMA_READ;
}

static bool
is_atomic(const struct defect_wr *wr)
{
	return wr->wr.opcode == RI_OP_FETCH_ADD || wr->wr.opcode == RI_OP_CMP_SWAP;
}

static uint64_t
length_of(const struct defect_wr *wr)
{
	uint64_t length = 0;

	for (unsigned i = 0; i < wr->wr.num_sge; i++)
		length += wr->sgl[i].length;
	return length;
}

/* Take away the last octet, if there is one. */
static void
shorten(struct defect_wr *wr)
{
	for (unsigned i = wr->wr.num_sge; i-- > 0;) {
		if (wr->sgl[i].length > 0) {
			wr->sgl[i].length--;
			return;
		}
	}
}

/* Keep only the first `length` octets. */
static void
cut(struct defect_wr *wr, uint64_t length)
{
	for (unsigned i = 0; i < wr->wr.num_sge; i++) {
		if (wr->sgl[i].length > length)
			wr->sgl[i].length = (uint32_t)length;
		length -= wr->sgl[i].length;
	}
}

/* --- where octets go -------------------------------------------------------------------------- */

static bool
write_short(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (is_write(wr))
		shorten(wr);
	return true;
}

static bool
read_short(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (is_read(wr))
		shorten(wr);
	return true;
}

static bool
write_shifted(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (is_write(wr) && length_of(wr) > 0) {
		shorten(wr);
		wr->wr.u.remote.addr++;
	}
	return true;
}

static bool
write_one_page(struct wrap_obj *uqp, struct defect_wr *wr)
{
	uint64_t left = PAGE - wr->wr.u.remote.addr % PAGE;

	(void)uqp;
	if (is_write(wr) && length_of(wr) > left)
		cut(wr, left);
	return true;
}

static bool
send_small_cut(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (wr->wr.opcode == RI_OP_SEND && length_of(wr) > 8 && length_of(wr) <= 64)
		cut(wr, 8);
	return true;
}

static bool
read_as_nothing(struct wrap_obj *uqp, struct defect_wr *wr)
{
	if (is_read(wr))
		(void)defect_defer(uqp, wr, DEFECT_NEVER);
	return true;
}

/* --- when ------------------------------------------------------------------------------------- */

static bool
write_late(struct wrap_obj *uqp, struct defect_wr *wr)
{
	if (is_write(wr))
		(void)defect_defer(uqp, wr, DEFECT_WHEN_POLLED);
	return true;
}

static bool
read_early(struct wrap_obj *uqp, struct defect_wr *wr)
{
	defect_defer_due(uqp);
	if (is_read(wr))
		(void)defect_defer(uqp, wr, DEFECT_BEFORE_THE_NEXT);
	return true;
}

/* --- octets that are not those of the peer ------------------------------------------------------- */

/* Where the last Read or atomic of the queue pair puts its octets; one at a time is watched. */
static bool
sink_watch(struct wrap_obj *uqp, struct defect_wr *wr, bool wanted)
{
	struct wrap_obj *qp = uqp->half;

	if (!wanted || wr->wr.num_sge == 0 || wr->sgl[0].length == 0)
		return true;
	qp->last[0] = wr->sgl[0].addr;
	qp->last[1] = wr->wr.wr_id;
	atomic_store(&qp->count[0], wr->sgl[0].length);
	return true;
}

static bool
read_watch(struct wrap_obj *uqp, struct defect_wr *wr)
{
	return sink_watch(uqp, wr, is_read(wr));
}

static bool
atomic_watch(struct wrap_obj *uqp, struct defect_wr *wr)
{
	return sink_watch(uqp, wr, is_atomic(wr));
}

/* The bytes that a completed request has placed, `length` of them; NULL: it is not watched. */
static uint8_t *
sink_of(const struct wrap_obj *ucq, const struct ri_wc *wc, uint32_t *length)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);

	if (qp == NULL || wc->status != RI_WC_SUCCESS || qp->last[1] != wc->wr_id ||
	    qp->last[0] < PAGE) /* an offset in a zero-based region */
		return NULL;
	*length = atomic_exchange(&qp->count[0], 0);
	return *length > 0 ? (uint8_t *)(uintptr_t)qp->last[0] : NULL;
}

static enum defect_act
read_flip(struct wrap_obj *ucq, struct ri_wc *wc)
{
	uint32_t length = 0;
	uint8_t *sink = wc->opcode == RI_OP_RDMA_READ ? sink_of(ucq, wc, &length) : NULL;

	if (sink != NULL)
		sink[length / 2] ^= 0x10;
	return DEFECT_PASS;
}

static enum defect_act
atomic_swapped(struct wrap_obj *ucq, struct ri_wc *wc)
{
	uint32_t length = 0;
	uint8_t *sink = wc->opcode == RI_OP_FETCH_ADD || wc->opcode == RI_OP_CMP_SWAP
				? sink_of(ucq, wc, &length)
				: NULL;
	uint64_t value;

	if (sink == NULL || length != sizeof(value))
		return DEFECT_PASS;
	memcpy(&value, sink, sizeof(value));
	value = __builtin_bswap64(value);
	memcpy(sink, &value, sizeof(value));
	return DEFECT_PASS;
}

/* --- atomics ---------------------------------------------------------------------------------- */

static bool
atomic_32_bits(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (wr->wr.opcode == RI_OP_FETCH_ADD)
		wr->wr.u.remote.operand &= UINT32_MAX;
	return true;
}

static bool
atomic_lost(struct wrap_obj *uqp, struct defect_wr *wr)
{
	if (wr->wr.opcode == RI_OP_FETCH_ADD && defect_each(&uqp->count[0], 2))
		wr->wr.u.remote.operand = 0;
	return true;
}

static bool
atomic_twice(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr copy = wr->wr;

	copy.flags &= ~(uint32_t)(RI_WR_SIGNALED | RI_WR_NOTIFY);
	if (wr->wr.opcode == RI_OP_FETCH_ADD)
		(void)!wrap_plain_fast_ops.post_sq((struct ri_uqp *)uqp, &copy);
	return true;
}

static bool
swap_never(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (wr->wr.opcode == RI_OP_CMP_SWAP)
		wr->wr.u.remote.operand ^= 1;
	return true;
}

static bool
swap_operands(struct wrap_obj *uqp, struct defect_wr *wr)
{
	uint64_t swap = wr->wr.u.remote.swap;

	(void)uqp;
	if (wr->wr.opcode == RI_OP_CMP_SWAP) {
		wr->wr.u.remote.swap = wr->wr.u.remote.operand;
		wr->wr.u.remote.operand = swap;
	}
	return true;
}

static bool
atomic_aligned(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (is_atomic(wr))
		wr->wr.u.remote.addr &= ~UINT64_C(7);
	return true;
}

static bool
atomic_early(struct wrap_obj *uqp, struct defect_wr *wr)
{
	defect_defer_due(uqp);
	if (is_atomic(wr))
		(void)defect_defer(uqp, wr, DEFECT_BEFORE_THE_NEXT);
	return true;
}

const struct defect defects_memory[] = {
	DEFECT("write-short", "Writes end one octet early",
	       "The last octet of an RDMA Write is not placed.", 0, .wr = write_short),
	DEFECT("read-short", "Reads end one octet early", "The last octet of a Read is not placed.",
	       0, .wr = read_short),
	DEFECT("write-shifted", "Writes begin one octet late",
	       "An RDMA Write is placed one octet behind its address.", 0, .wr = write_shifted),
	DEFECT("write-one-page", "Writes stop at the end of a page",
	       "What lies behind the first page boundary is not written.", 0, .wr = write_one_page),
	DEFECT("write-late", "Writes are placed after their completion",
	       "A Write begins when its completion is polled.", 0, .wr = write_late,
	       .wc = defect_deferred),
	DEFECT("read-nothing", "Reads place nothing", "A Read completes and places nothing.", 0,
	       .wr = read_as_nothing, .wc = defect_deferred),
	DEFECT("read-early", "Reads complete before their data are there",
	       "A Read begins when its completion has been polled and another request is posted.",
	       0, .wr = read_early, .wc = defect_deferred),
	DEFECT("read-flip", "a bit of what was read is wrong",
	       "One bit in the middle of the first segment of a Read is inverted.", 0,
	       .wr = read_watch, .wc = read_flip),
	DEFECT("send-small-cut", "small messages are cut",
	       "Of a Send of 9 to 64 octets only eight are sent.", 0, .wr = send_small_cut),
	DEFECT("atomic-32-bits", "atomics add 32 bits",
	       "The high half of what is to be added is ignored.", NEED_ATOMICS,
	       .wr = atomic_32_bits),
	DEFECT("atomic-lost", "an update of an atomic is lost",
	       "Every second Fetch-and-add adds nothing.", NEED_ATOMICS, .wr = atomic_lost),
	DEFECT("atomic-twice", "atomics are done twice",
	       "A Fetch-and-add is done twice, as by a retransmission that is not recognized.",
	       NEED_ATOMICS, .wr = atomic_twice),
	DEFECT("atomic-early", "atomics complete before they are done",
	       "An atomic begins when its completion has been polled and another request is "
	       "posted.",
	       NEED_ATOMICS, .wr = atomic_early, .wc = defect_deferred),
	DEFECT("atomic-swapped", "the result of an atomic in the wrong order of bytes",
	       "The bytes of the value that an atomic returns are reversed.", NEED_ATOMICS,
	       .wr = atomic_watch, .wc = atomic_swapped),
	DEFECT("atomic-unaligned", "atomics at any address",
	       "The low three bits of the address of an atomic are ignored.", NEED_ATOMICS,
	       .wr = atomic_aligned),
	DEFECT("swap-never", "Compare-and-swap never swaps",
	       "Compare-and-swap compares with another value.", NEED_ATOMICS, .wr = swap_never),
	DEFECT("swap-operands", "the operands of Compare-and-swap change places",
	       "Compare-and-swap compares with the new value and stores the old one.", NEED_ATOMICS,
	       .wr = swap_operands),
};

const size_t defects_memory_count = sizeof(defects_memory) / sizeof(defects_memory[0]);
