/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Multicast [RI 10.52]: which queue pairs get a copy and which do not, and members that leave. */

#include "vem.h"
#include "vem_dgram.h"
#include "vem_ud.h"

static const struct ri_addr group = {.family = RI_ADDR_GID, .octets = {0xff, 0x12, [15] = 0x42}};
static const struct ri_addr group6 = {.family = RI_ADDR_IPV6, .octets = {0xff, 0x12, [15] = 0x42}};
static const struct ri_addr other = {.family = RI_ADDR_GID, .octets = {0xff, 0x12, [14] = 0x42}};
static const struct ri_addr group4 = {.family = RI_ADDR_IPV4, .octets = {239, 1, 2, 3}};
static const struct ri_addr alone = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}};

#define ENDS 3

/* Ends 0 and 1 of one adapter, 2 of another; 0 sends. */
struct scene {
	struct vth *vth;
	struct node *na, *nb;
	struct end *end[ENDS];
	struct chunk ma, mb;
	struct ri_ah *ah;
	uint32_t way;
};

static void
scene_open(struct scene *s, const struct ri_addr *dest)
{
	const struct ri_ah_init init = {.dest = *dest};

	s->vth = vth_new(false);
	s->na = node_new(s->vth, false, "emul:ib");
	s->nb = node_new(s->vth, false, "emul:ib");
	for (guint i = 0; i < ENDS; i++)
		s->end[i] = ud_new(i < 2 ? s->na : s->nb, 16);
	s->ma = chunk_new(s->na, 4096, ALL_RW);
	s->mb = chunk_new(s->nb, 4096, ALL_RW);
	chunk_fill(&s->ma, 5);
	s->ah = ah_new(s->na, &init, &s->way);
}

static void
scene_close(struct scene *s)
{
	g_assert_cmpint(emul()->ah->destroy(s->ah), ==, RI_SUCCESS);
	for (guint i = 0; i < ENDS; i++)
		if (s->end[i] != NULL)
			end_free(&s->end[i]);
	chunk_free(&s->ma);
	chunk_free(&s->mb);
	node_free(&s->na);
	node_free(&s->nb);
	vth_free(&s->vth);
}

static enum ri_status
attach(struct end *end, const struct ri_addr *to)
{
	return emul()->qp->mcast_attach(end->qp, to);
}

static enum ri_status
detach(struct end *end, const struct ri_addr *from)
{
	return emul()->qp->mcast_detach(end->qp, from);
}

static void
offer(struct scene *s, guint i, uint64_t id)
{
	g_assert_cmpint(end_recv(s->end[i], id, i < 2 ? &s->ma : &s->mb, 1024 + 512 * i, 512), ==,
			RI_SUCCESS);
}

static void
send_group(struct scene *s, uint64_t id, uint32_t qpn, uint32_t key)
{
	const struct ri_wr_ud ud = {.ah = s->way, .qpn = qpn, .qkey = key};
	struct ri_sge sge = chunk_sge(&s->ma, 0, 100);

	g_assert_cmpint(send_to(s->end[0], id, &sge, &ud), ==, RI_SUCCESS);
	vth_run(s->vth);
	poll_one(s->end[0]->uscq, id, RI_WC_SUCCESS);
}

/* The receive `id` of end i has the datagram; 0: it has none. */
static void
expect(struct scene *s, guint i, uint64_t id)
{
	struct ri_wc wc;

	if (id == 0) {
		poll_none(s->end[i]->urcq);
		return;
	}
	wc = poll_one(s->end[i]->urcq, id, RI_WC_SUCCESS);
	g_assert_cmpuint(wc.byte_len, ==, VEM_GRH + 100);
	g_assert_cmpuint(wc.src_qpn, ==, qpn_of(s->end[0]));
	g_assert_cmpmem((i < 2 ? s->ma.at : s->mb.at) + 1024 + 512 * i + VEM_GRH, 100, s->ma.at,
			100);
}

/* The only member of the group. */
static void
expect_member(const struct end *end)
{
	struct vem_fabric *fabric = end_qp(end)->rnic->fabric;
	uint64_t last = vem_mcast_last(fabric);
	uint64_t after = 0;
	struct vem_qp *first = vem_mcast_next(fabric, group.octets, &after, last);
	struct vem_qp *second = vem_mcast_next(fabric, group.octets, &after, last);

	g_assert_true(first == end_qp(end));
	g_assert_null(second);
	atomic_fetch_sub(&first->inside, 1);
}

/* One copy each, also the sender; a GID and an IPv6 address are the same; who leaves gets none. */
static void
test_members(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s, &group);
	g_assert_true(s.na->attr.multicast);
	for (guint i = 0; i < ENDS; i++)
		g_assert_cmpint(attach(s.end[i], i == 1 ? &group6 : &group), ==, RI_SUCCESS);
	g_assert_cmpint(attach(s.end[2], &group6), ==, RI_SUCCESS); /* twice is once */
	for (guint i = 0; i < ENDS; i++) {
		offer(&s, i, 10 + i);
		offer(&s, i, 20 + i);
	}
	send_group(&s, 1, VEM_QPN_GROUP, KEY);
	for (guint i = 0; i < ENDS; i++) {
		expect(&s, i, 10 + i);
		expect(&s, i, 0);
	}
	g_assert_cmpmem(s.mb.at + 1024 + 1024 + 24, 16, group.octets, 16);
	g_assert_cmpint(detach(s.end[2], &group), ==, RI_SUCCESS);
	g_assert_cmpint(detach(s.end[2], &group), ==, RI_ERR_INVALID_ARG);
	end_free(&s.end[1]); /* leaves the group by itself */
	s.end[1] = NULL;
	expect_member(s.end[0]);
	send_group(&s, 2, VEM_QPN_GROUP, KEY);
	expect(&s, 0, 20);
	expect(&s, 2, 0);
	g_assert_cmpint(attach(s.end[2], &group), ==, RI_SUCCESS);
	send_group(&s, 3, VEM_QPN_GROUP, KEY);
	expect(&s, 2, 22);
}

/* None of these gets the datagram: a member without a receive, a member of another group, a member with another key. */
static void
test_others_get_none(void)
{
	const struct ri_qp_attr key = {.qkey = KEY + 1};
	struct scene s RI_AT_END(scene_close);

	scene_open(&s, &group);
	g_assert_cmpint(attach(s.end[0], &group), ==, RI_SUCCESS); /* without a receive */
	g_assert_cmpint(attach(s.end[1], &other), ==, RI_SUCCESS);
	g_assert_cmpint(attach(s.end[2], &group), ==, RI_SUCCESS);
	offer(&s, 1, 11);
	offer(&s, 2, 12);
	g_assert_cmpint(emul()->qp->modify(s.end[2]->qp, &key, RI_QP_ATTR_QKEY), ==, RI_SUCCESS);
	send_group(&s, 1, VEM_QPN_GROUP, KEY);
	send_group(&s, 2, qpn_of(s.end[2]), KEY + 1); /* to a group, but for one */
	for (guint i = 0; i < ENDS; i++)
		expect(&s, i, 0);
	send_group(&s, 3, VEM_QPN_GROUP, KEY + 1);
	expect(&s, 1, 0);
	expect(&s, 2, 12);
}

/* Addresses of version 4 are groups, too; the number of a group alone reaches nobody. */
static void
test_version_4(void)
{
	struct scene s;

	scene_open(&s, &group4);
	g_assert_cmpint(attach(s.end[2], &group4), ==, RI_SUCCESS);
	offer(&s, 2, 12);
	send_group(&s, 1, VEM_QPN_GROUP, KEY);
	expect(&s, 2, 12);
	scene_close(&s);
	scene_open(&s, &alone);
	g_assert_cmpint(attach(s.end[2], &group4), ==, RI_SUCCESS);
	offer(&s, 2, 12);
	send_group(&s, 1, VEM_QPN_GROUP, KEY);
	expect(&s, 2, 0);
	scene_close(&s);
}

/* The thread that delivers to one of them goes on later: the others have their copy, and none has two. */
static void
test_busy(void)
{
	struct scene s RI_AT_END(scene_close);
	struct ri_sge sge;

	scene_open(&s, &group);
	const struct ri_wr_ud ud = {.ah = s.way, .qpn = VEM_QPN_GROUP, .qkey = KEY};
	for (guint i = 0; i < ENDS; i++) {
		g_assert_cmpint(attach(s.end[i], &group), ==, RI_SUCCESS);
		offer(&s, i, 10 + i);
		offer(&s, i, 20 + i);
	}
	g_assert_true(vsw_role_take(&end_qp(s.end[1])->in.role));
	sge = chunk_sge(&s.ma, 0, 100);
	g_assert_cmpint(send_to(s.end[0], 1, &sge, &ud), ==, RI_SUCCESS);
	poll_none(s.end[0]->uscq);
	expect(&s, 0, 10);
	expect(&s, 1, 0);
	expect(&s, 2, 0);
	/* A queue pair that is attached now gets none of it. */
	g_assert_cmpint(detach(s.end[2], &group), ==, RI_SUCCESS);
	g_assert_cmpint(attach(s.end[2], &group), ==, RI_SUCCESS);
	while (vsw_role_drop(&end_qp(s.end[1])->in.role))
		vsw_role_begin(&end_qp(s.end[1])->in.role);
	vth_run(s.vth);
	poll_one(s.end[0]->uscq, 1, RI_WC_SUCCESS);
	expect(&s, 0, 0);
	expect(&s, 1, 11);
	expect(&s, 2, 0);
	send_group(&s, 2, VEM_QPN_GROUP, KEY);
	expect(&s, 0, 20);
	expect(&s, 1, 21);
	expect(&s, 2, 12);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/mcast/members", test_members);
	g_test_add_func("/emul/mcast/others-get-none", test_others_get_none);
	g_test_add_func("/emul/mcast/version-4", test_version_4);
	g_test_add_func("/emul/mcast/busy", test_busy);
	return g_test_run();
}
