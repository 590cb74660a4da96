/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Windows and keys: relative windows, rights of a queue pair, STag 0, entries that lie, and what is not claimed. */

#include "vem.h"
#include "vem_node.h"
#include "vsw_user_objects.h"

static void
set_up(struct ends *p, const char *adapter)
{
	ends_open(p, adapter);
	ends_fill(p, NULL, NULL, 1000, LOCAL_RW | RI_ACCESS_BIND);
	if (!p->nb->attr.mw_wide)
		g_assert_cmpint(p->nb->p->mem->mw_alloc(p->nb->pd, RI_MW_WIDE, &p->mw, &p->mw_stag),
				==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(p->nb->p->mem->mw_alloc(p->nb->pd, RI_MW_NARROW, &p->mw, &p->mw_stag), ==,
			RI_SUCCESS);
	ends_connect(p->a, p->b);
}

static void
bind(struct ends *p, uint64_t length, uint32_t flags)
{
	struct ri_wr wr = {.wr_id = 1,
			   .opcode = RI_OP_BIND_MW,
			   .flags = RI_WR_SIGNALED | flags,
			   .u.bind = {.mw_stag = (p->mw_stag & ~0xffu) | 0x31,
				      .mr_stag = p->mb.stag,
				      .addr = chunk_sge(&p->mb, 100, 0).addr,
				      .length = length,
				      .access = RI_ACCESS_REMOTE_WRITE}};

	p->mw_stag = wr.u.bind.mw_stag;
	g_assert_cmpint(p->nb->p->fast->post_sq(p->b->uqp, &wr), ==, RI_SUCCESS);
}

static void
write_to(struct ends *p, uint64_t addr, uint32_t len)
{
	struct ri_sge local = chunk_sge(&p->ma, 0, len);
	struct ri_sge there = {.addr = addr, .stag = p->mw_stag};

	post_rdma(p->a, RI_OP_RDMA_WRITE, 2, &local, &there);
}

static void
test_window_relative(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_drop);

	set_up(&p, adapter);
	chunk_fill(&p.ma, 9);
	bind(&p, 50, RI_WR_BIND_RELATIVE);
	poll_one(p.b->uscq, 1, RI_WC_SUCCESS);
	write_to(&p, 10, 40);
	poll_one(p.a->uscq, 2, RI_WC_SUCCESS);
	g_assert_cmpmem(p.ma.at, 40, p.mb.at + 110, 40);
}

/* A queue pair without remote rights does not let its peer invalidate keys. */
static void
test_invalidate_rights(gconstpointer adapter)
{
	const struct ri_qp_attr attr = {.access = 0};
	struct ri_wr wr = {
		.wr_id = 4, .opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE};
	struct ends p RI_AT_END(ends_drop);

	set_up(&p, adapter);
	/* iWARP fixes the rights of a queue pair when it is created (test_not_claimed). */
	if (p.ib) {
		bind(&p, 50, 0);
		poll_one(p.b->uscq, 1, RI_WC_SUCCESS);
		g_assert_cmpint(p.nb->p->qp->modify(p.b->qp, &attr, RI_QP_ATTR_ACCESS), ==,
				RI_SUCCESS);
		post_recv(p.b, 5, NULL);
		wr.inv_stag = p.mw_stag;
		g_assert_cmpint(p.na->p->fast->post_sq(p.a->uqp, &wr), ==, RI_SUCCESS);
		poll_one(p.b->urcq, 5, RI_WC_LOCAL_INVALIDATE);
		poll_one(p.a->uscq, 4, RI_WC_REMOTE_INVALID_REQ);
	}
}

/* New ends; those of one node are privileged, as those of a privileged process are. */
static void
privilege(struct ends *p, struct node *node)
{
	struct ri_qp_init init = end_defaults(node);

	end_free(&p->a);
	end_free(&p->b);
	vth_run(p->vth);
	node_forget(p->na);
	node_forget(p->nb);
	node->context->base.owner.privileged = true;
	init.privileged = true;
	p->a = end_new(p->na, node == p->na ? &init : NULL);
	p->b = end_new(p->nb, node == p->nb ? &init : NULL);
	ends_connect(p->a, p->b);
}

/* STag 0 of a privileged queue pair is no key for its peer, which gets the answer of any wrong key. */
static void
test_stag_zero(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_drop);

	set_up(&p, adapter);
	privilege(&p, p.nb);
	struct ri_sge local = chunk_sge(&p.ma, 0, 8), there = chunk_sge(&p.mb, 0, 8);
	there.stag = 0;
	post_rdma(p.a, RI_OP_RDMA_WRITE, 2, &local, &there);
	poll_one(p.a->uscq, 2, p.ib ? RI_WC_REMOTE_ACCESS : RI_WC_SUCCESS);
	node_fault(p.nb, RI_EVENT_QP_STAG, p.b);
	if (!p.ib)
		g_assert_cmpuint(node_async(p.na, RI_EVENT_QP_TERMINATE_RECEIVED, p.a).detail, ==,
				 0x1100);
}

/*
 * An entry of a privileged queue has room for more segments than a message may have; an entry that claims more is
 * invalid.
 */
static void
test_entry_lies(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_drop);

	set_up(&p, adapter);
	privilege(&p, p.na);
	post_send(p.a, 1, NULL, 0); /* waits for a receive, and the next one behind it */
	post_send(p.a, 2, NULL, 0);
	const struct vsw_wq *sq = &end_qp(p.a)->sq;
	struct vsw_wqe *second = (void *)(sq->ring + sq->stride);
	g_assert_cmpuint(second->wr_id, ==, 2);
	g_assert_cmpuint(sq->max_sge, >, VEM_MAX_SGE);
	second->num_sge = VEM_MAX_SGE + 1;
	post_recv(p.b, 3, NULL);
	post_recv(p.b, 4, NULL);
	vth_run(p.vth);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	poll_one(p.a->uscq, 2, RI_WC_LOCAL_QP);
	poll_one(p.b->urcq, 3, RI_WC_SUCCESS);
}

/* Abilities that are not claimed fail with their status; an entry that was written past the check fails when it runs. */
static void
test_not_claimed(gconstpointer adapter)
{
	static const enum ri_opcode opcodes[] = {RI_OP_SEND_UD};
	struct ends p;

	for (guint i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		struct ri_wr wr = {
			.wr_id = 3, .opcode = (uint8_t)opcodes[i], .flags = RI_WR_SIGNALED};
		set_up(&p, adapter);
		g_assert_cmpint(p.na->p->fast->post_sq(p.a->uqp, &wr), ==, RI_ERR_UNSUPPORTED);
		p.a->uqp->known_op[opcodes[i]] = true;
		g_assert_cmpint(p.na->p->fast->post_sq(p.a->uqp, &wr), ==, RI_SUCCESS);
		poll_one(p.a->uscq, 3, RI_WC_LOCAL_QP);
		ends_drop(&p);
	}
	set_up(&p, adapter);
	struct ri_mr *mr = NULL;
	uint32_t stag = 0;
	struct ri_mr_init init = {.unlinked = true, .length = 10, .max_pages = 1};
	g_assert_cmpint(p.na->p->mem->mr_reg(p.na->pd, &init, &mr, &stag), ==, RI_ERR_PERMISSION);
	/* The local read right cannot be removed on InfiniBand (row 11). */
	init = (struct ri_mr_init){
		.addr = chunk_sge(&p.ma, 0, 0).addr, .length = 10, .access = RI_ACCESS_LOCAL_WRITE};
	g_assert_cmpint(p.na->p->mem->mr_reg(p.na->pd, &init, &mr, &stag), ==, RI_SUCCESS);
	struct ri_sge sge = {.addr = init.addr, .length = 10, .stag = stag};
	post_recv(p.b, 1,
		  &(struct ri_sge){
			  .addr = chunk_sge(&p.mb, 0, 0).addr, .length = 10, .stag = p.mb.stag});
	post_send(p.a, 2, &sge, 0);
	poll_one(p.a->uscq, 2,
		 p.na->attr.local_read_revocable ? RI_WC_LOCAL_PROTECTION : RI_WC_SUCCESS);
	g_assert_cmpint(p.na->p->mem->mr_dereg(mr), ==, RI_SUCCESS);
	/* Rights of a queue pair after its creation (row 14). */
	struct ri_qp_attr attr = {.access = RI_ACCESS_REMOTE_READ};
	g_assert_cmpint(p.nb->p->qp->modify(p.b->qp, &attr, RI_QP_ATTR_ACCESS), ==,
			p.ib ? RI_SUCCESS : RI_ERR_UNSUPPORTED);
	ends_drop(&p);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		GTestDataFunc run;
	} tests[] = {
		{"window-relative", test_window_relative},
		{"invalidate-rights", test_invalidate_rights},
		{"stag-zero", test_stag_zero},
		{"entry-lies", test_entry_lies},
		{"not-claimed", test_not_claimed},
	};
	static const char *const adapters[] = {"emul:ib", "emul:iwarp"};

	g_test_init(&argc, &argv, NULL);
	for (guint a = 0; a < G_N_ELEMENTS(adapters); a++) {
		for (guint i = 0; i < G_N_ELEMENTS(tests); i++) {
			g_autofree char *path =
				g_strdup_printf("/emul/%s/keys/%s", adapters[a] + 5, tests[i].name);
			g_test_add_data_func(path, adapters[a], tests[i].run);
		}
	}
	return g_test_run();
}
