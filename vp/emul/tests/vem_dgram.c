/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* See vem_dgram.h. */
#include "vem_dgram.h"

const struct ri_provider *
emul(void)
{
	return vem_provider_entry();
}

struct end *
ud_new(struct node *node, uint32_t entries)
{
	struct ri_qp_init init = end_defaults(node);

	init.type = RI_QP_UD;
	init.qkey = KEY;
	init.ird = init.ord = 0;
	return end_new_cq(node, &init, entries);
}

struct ri_ah *
ah_new(struct node *node, const struct ri_ah_init *init, uint32_t *id)
{
	const struct ri_ah_init local = {
		.dest = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}}};
	struct ri_ah *ah = NULL;

	g_assert_cmpint(emul()->ah->create(node->pd, init != NULL ? init : &local, &ah, id), ==,
			RI_SUCCESS);
	return ah;
}

enum ri_status
send_to(struct end *end, uint64_t id, const struct ri_sge *sge, const struct ri_wr_ud *ud)
{
	struct ri_wr wr = {.wr_id = id,
			   .sgl = sge,
			   .num_sge = sge != NULL,
			   .opcode = RI_OP_SEND_UD,
			   .flags = RI_WR_SIGNALED,
			   .u.ud = *ud};

	return emul()->fast->post_sq(end->uqp, &wr);
}

uint32_t
qpn_of(struct end *end)
{
	return end_attr(end).qpn;
}
