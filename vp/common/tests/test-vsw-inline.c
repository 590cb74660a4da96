/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Requests that carry their payload, and immediate data: what a post accepts and what the engine's copy has. */
#include "queue_bench.h"

#define ALL (RI_IMMEDIATE_SEND | RI_IMMEDIATE_WRITE | RI_IMMEDIATE_UD)

/* Two pieces of memory, `a` and `b` octets long. */
struct payload {
	uint8_t octets[2 * VSW_MAX_INLINE];
	struct ri_sge sgl[2];
};

static void
payload_fill(struct payload *p, uint32_t a, uint32_t b)
{
	for (guint i = 0; i < sizeof(p->octets); i++)
		p->octets[i] = (uint8_t)(i * 7 + 1);
	p->sgl[0] = (struct ri_sge){.addr = (uintptr_t)p->octets, .length = a, .stag = 0xdead};
	p->sgl[1] = (struct ri_sge){.addr = (uintptr_t)p->octets + a, .length = b, .stag = 0xbeef};
}

static enum ri_status
post_inline(struct bench *b, enum ri_opcode opcode, struct payload *p, uint32_t flags)
{
	struct ri_wr wr = {.wr_id = 9,
			   .sgl = p->sgl,
			   .num_sge = 2,
			   .opcode = (uint8_t)opcode,
			   .flags = flags,
			   .inv_stag = 0x55,
			   .imm = 0x04030201};

	return vsw_post_sq(b->uqp, &wr);
}

/* The engine gets the octets as they were when the post returned, and no segments. */
static void
test_carried(void)
{
	static const struct bench what = {.bell = {.max_inline = VSW_MAX_INLINE},
					  .max_inline = 236};
	static const enum ri_opcode opcodes[] = {RI_OP_SEND, RI_OP_RDMA_WRITE};
	struct vsw_wqe *wqe = wqe_room();
	struct payload p, before;
	struct bench b RI_AT_END(tear_down);
	uint32_t index;

	set_up_as(&b, 4, 8, &what);
	g_assert_cmpuint(b.sq.stride, ==, sizeof(struct vsw_wqe) + 240);
	for (guint i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		payload_fill(&p, 100, 136);
		before = p;
		g_assert_cmpint(post_inline(&b, opcodes[i], &p, RI_WR_INLINE), ==, RI_SUCCESS);
		memset(p.octets, 0, sizeof(p.octets));
		g_assert_true(vsw_wq_take(&b.sq, wqe, &index));
		g_assert_cmpuint(wqe->opcode, ==, opcodes[i]);
		g_assert_cmpuint(wqe->flags, ==, RI_WR_INLINE);
		g_assert_cmpuint(wqe->num_sge, ==, 0);
		g_assert_cmpuint(wqe->inv_stag, ==, 0x55);
		g_assert_cmpmem(vsw_wqe_octets(wqe), wqe->length, before.octets, 236);
	}
	payload_fill(&p, 0, 0); /* nothing, from nowhere */
	p.sgl[0].addr = p.sgl[1].addr = 0;
	g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INLINE), ==, RI_SUCCESS);
	g_assert_true(vsw_wq_take(&b.sq, wqe, &index));
	g_assert_cmpuint(wqe->length, ==, 0);
	g_assert_cmpuint(b.sq_rings, ==, 3);
}

static void
test_limits(void)
{
	static const struct bench what = {.bell = {.max_inline = VSW_MAX_INLINE},
					  .max_inline = VSW_MAX_INLINE};
	static const enum ri_opcode never[] = {RI_OP_RDMA_READ, RI_OP_FETCH_ADD, RI_OP_CMP_SWAP,
					       RI_OP_BIND_MW, RI_OP_LOCAL_INV};
	struct vsw_wqe *wqe = wqe_room();
	struct payload p;
	struct bench b RI_AT_END(tear_down);
	uint32_t index;

	set_up_as(&b, 4, 8, &what);
	payload_fill(&p, 1, VSW_MAX_INLINE - 1);
	g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INLINE), ==, RI_SUCCESS);
	g_assert_true(vsw_wq_take(&b.sq, wqe, &index));
	g_assert_cmpmem(vsw_wqe_octets(wqe), wqe->length, p.octets, VSW_MAX_INLINE);
	payload_fill(&p, 1, VSW_MAX_INLINE);
	g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INLINE), ==, RI_ERR_LIMIT);
	payload_fill(&p, UINT32_MAX, 2); /* the sum does not wrap around */
	g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INLINE), ==, RI_ERR_LIMIT);
	for (guint i = 0; i < G_N_ELEMENTS(never); i++) {
		struct ri_wr wr = {.opcode = (uint8_t)never[i], .flags = RI_WR_INLINE};

		g_assert_cmpint(vsw_post_sq(b.uqp, &wr), ==, RI_ERR_UNSUPPORTED);
		wr.flags = RI_WR_IMMEDIATE;
		g_assert_cmpint(vsw_post_sq(b.uqp, &wr), ==, RI_ERR_UNSUPPORTED);
	}
	g_assert_cmpuint(vsw_wq_pending(&b.sq), ==, 0);
	payload_fill(&p, 1, 1); /* the slot of the one that was taken is in use */
	for (guint i = 0; i < 3; i++)
		g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INLINE), ==, RI_SUCCESS);
	g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INLINE), ==, RI_ERR_QUEUE_FULL);
}

/* Without the claim the flag is refused; a queue pair that asked for no octets has none, and is not larger. */
static void
test_unclaimed(void)
{
	static const struct bench plain = {0};
	static const struct bench asked_none = {.bell = {.max_inline = VSW_MAX_INLINE}};
	const struct bench *all[] = {&plain, &asked_none};
	struct payload p;
	struct bench b;

	for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
		bool claimed = all[i]->bell.max_inline != 0;

		set_up_as(&b, 4, 8, all[i]);
		g_assert_cmpuint(b.sq.stride, ==,
				 sizeof(struct vsw_wqe) + 4 * sizeof(struct ri_sge));
		payload_fill(&p, 0, 1);
		g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INLINE), ==,
				claimed ? RI_ERR_LIMIT : RI_ERR_UNSUPPORTED);
		payload_fill(&p, 0, 0);
		g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INLINE), ==,
				claimed ? RI_SUCCESS : RI_ERR_UNSUPPORTED);
		g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_IMMEDIATE), ==,
				RI_ERR_UNSUPPORTED);
		tear_down(&b);
	}
}

/* Each claim of immediate data, alone: what it covers carries the four octets, the rest is refused. */
static void
test_immediate(void)
{
	static const struct {
		enum ri_qp_type type;
		enum ri_opcode opcode;
		uint32_t claim;
	} kinds[] = {{RI_QP_RC, RI_OP_SEND, RI_IMMEDIATE_SEND},
		     {RI_QP_UC, RI_OP_SEND, RI_IMMEDIATE_SEND},
		     {RI_QP_RC, RI_OP_RDMA_WRITE, RI_IMMEDIATE_WRITE},
		     {RI_QP_UC, RI_OP_RDMA_WRITE, RI_IMMEDIATE_WRITE},
		     {RI_QP_UD, RI_OP_SEND_UD, RI_IMMEDIATE_UD}};
	struct vsw_wqe *wqe = wqe_room();
	struct payload p;
	uint32_t index;

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		for (uint32_t with = 0; with <= ALL; with++) {
			const struct bench what = {.bell = {.immediate_with = with},
						   .type = kinds[i].type};
			bool claimed = (with & kinds[i].claim) != 0;
			struct bench b RI_AT_END(tear_down);

			set_up_as(&b, 4, 8, &what);
			payload_fill(&p, 3, 4);
			g_assert_cmpint(post_inline(&b, kinds[i].opcode, &p, RI_WR_IMMEDIATE), ==,
					claimed ? RI_SUCCESS : RI_ERR_UNSUPPORTED);
			if (claimed) {
				g_assert_true(vsw_wq_take(&b.sq, wqe, &index));
				g_assert_cmphex(wqe->inv_stag, ==, 0x04030201);
				g_assert_cmpuint(wqe->num_sge, ==, 2);
				g_assert_cmpuint(wqe->length, ==, 7);
			}
			g_assert_cmpint(post_inline(&b, kinds[i].opcode, &p,
						    RI_WR_IMMEDIATE | RI_WR_INVALIDATE),
					==, RI_ERR_UNSUPPORTED);
		}
}

/* An unreliable connection has Sends and Writes, which invalidate nothing. */
static void
test_unreliable(void)
{
	static const struct bench what = {.type = RI_QP_UC};
	struct payload p;
	struct bench b RI_AT_END(tear_down);

	set_up_as(&b, 64, 8, &what);
	payload_fill(&p, 1, 1);
	for (guint opcode = 0; opcode < RI_OP_COUNT; opcode++) {
		struct ri_wr wr = {.opcode = (uint8_t)opcode};
		bool has = opcode == RI_OP_SEND || opcode == RI_OP_RDMA_WRITE;

		g_assert_cmpint(vsw_post_sq(b.uqp, &wr), ==, has ? RI_SUCCESS : RI_ERR_UNSUPPORTED);
	}
	g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INVALIDATE), ==, RI_ERR_UNSUPPORTED);
}

/* Entries that lie: of a length beyond the room, of an opcode that carries nothing, of segments besides; and a receive. */
static void
test_lies(void)
{
	static const struct bench what = {.bell = {.max_inline = VSW_MAX_INLINE}, .max_inline = 96};
	struct ri_sge sge = {.addr = 5, .length = 6, .stag = 7};
	struct ri_recv_wr rwr = {.sgl = &sge, .num_sge = 1, .flags = RI_WR_INLINE};
	struct vsw_wqe *wqe = wqe_room();
	struct vsw_wqe *slot;
	struct payload p;
	struct bench b RI_AT_END(tear_down);
	uint32_t index;

	set_up_as(&b, 4, 8, &what);
	payload_fill(&p, 48, 48);
	for (guint i = 0; i < 2; i++)
		g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INLINE), ==, RI_SUCCESS);
	slot = vsw_wq_entry(b.sq.page, 0);
	slot->length = UINT32_MAX;
	slot->num_sge = UINT8_MAX;
	slot = vsw_wq_entry(b.sq.page, 1);
	slot->opcode = RI_OP_RDMA_READ;
	slot->num_sge = UINT8_MAX;
	g_assert_true(vsw_wq_take(&b.sq, wqe, &index));
	g_assert_cmpuint(wqe->num_sge, ==, 0);
	g_assert_cmpmem(vsw_wqe_octets(wqe), wqe->length, p.octets, 96);
	g_assert_true(vsw_wq_take(&b.sq, wqe, &index));
	g_assert_cmpuint(wqe->flags, ==, 0);
	g_assert_cmpuint(wqe->num_sge, ==, 4);
	g_assert_cmpint(vsw_post_rq(b.uqp, &rwr), ==, RI_SUCCESS);
	g_assert_true(vsw_rq_take(&b.rq, wqe, &index));
	g_assert_cmpuint(wqe->num_sge, ==, 1);
	g_assert_cmpmem(wqe->sge, sizeof(sge), &sge, sizeof(sge));
}

/* More slots and segments: the room for octets stays, and what was posted moves with it. */
static void
test_resize(void)
{
	static const struct bench what = {.bell = {.max_inline = VSW_MAX_INLINE},
					  .max_inline = 500};
	struct ri_qp_attr attr = {.max_sq_wr = 8, .max_rq_wr = 4, .max_send_sge = 5};
	struct ri_qp_init limits = {.max_send_sge = 4, .max_recv_sge = 2};
	struct vsw_wqe *wqe = wqe_room();
	struct payload p;
	struct ri_map map;
	struct bench b;
	uint32_t index, huge = 1;

	set_up_as(&b, 4, 8, &what);
	payload_fill(&p, 0, 500);
	g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INLINE), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_wq_reshape_both(&b.sq, &b.rq, &limits, &attr), ==, RI_SUCCESS);
	vsw_map_qp_again(&map, &b.sq, &b.rq);
	g_assert_cmpint(vsw_user_ops.qp_remap(b.uqp, &attr, &map), ==, RI_SUCCESS);
	g_assert_cmpint(post_inline(&b, RI_OP_SEND, &p, RI_WR_INLINE), ==, RI_SUCCESS);
	for (guint i = 0; i < 2; i++) {
		g_assert_cmpuint(vsw_wq_available(&b.sq), ==, 2 - i);
		g_assert_true(vsw_wq_take(&b.sq, wqe, &index));
		g_assert_cmpmem(vsw_wqe_octets(wqe), wqe->length, p.octets, 500);
	}
	g_assert_cmpuint(b.sq.stride, ==, sizeof(struct vsw_wqe) + 504);
	tear_down(&b);
	g_assert_cmpint(vsw_wq_create(&b.sq, &huge, 1, VSW_MAX_INLINE + 1), ==, RI_ERR_LIMIT);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/inline/carried", test_carried);
	g_test_add_func("/vsw/inline/limits", test_limits);
	g_test_add_func("/vsw/inline/unclaimed", test_unclaimed);
	g_test_add_func("/vsw/inline/immediate", test_immediate);
	g_test_add_func("/vsw/inline/unreliable", test_unreliable);
	g_test_add_func("/vsw/inline/lies", test_lies);
	g_test_add_func("/vsw/inline/resize", test_resize);
	return g_test_run();
}
