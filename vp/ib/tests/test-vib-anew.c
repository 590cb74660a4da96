/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A queue pair that was used before is used again: it must equal one that is used for the first time, and
 * end as that does.
 *
 * Any value of any member may be left of the earlier life. So after its end the test overwrites all octets
 * of the queue pair, except members in the table below, which gives the reasons. Then the queue pair returns
 * to IDLE, is connected, and is compared, octet by octet, with a new one that was connected in the same way.
 * A member that is added later is overwritten and compared, too. The first life may be of another way to
 * connect than the second. The device is one that the test plays (vib_device.h).
 */
#include <string.h>

#include "vib_cq.h"
#include "vib_data.h"
#include "vib_peer.h"
#include "vib_post.h"
#include "vib_qp_end.h"
#include "vsw_octets.h"

#define STAYS 1u /* the return to IDLE needs it, or does not change it */
#define OWN \
	2u /* is another one in each queue pair, or means nothing before it is set: not compared */
#define NAMED   4u /* only one that is connected has it */
#define NOBODY  0xffffu
#define SECONDS UINT64_C(1000000000)

#define MEMBER(name, how) VSW_MEMBER(vib_qp, name, how)
/* Between two members. gcc 12 does not clear the padding behind a large array of structs, such as that of user.quick. */
#define PADDING(after, before)                                                      \
	{                                                                           \
		END_OF(after), offsetof(struct vib_qp, before) - END_OF(after), OWN \
	}
#define END_OF(name) (offsetof(struct vib_qp, name) + sizeof(((struct vib_qp *)0)->name))

static const struct vsw_member members[] = {
	/* What the device and its driver are, and the queues. */
	MEMBER(user.qp, STAYS | OWN), MEMBER(user.ctx, STAYS), MEMBER(user.qpn, STAYS | OWN),
	MEMBER(user.shared, STAYS), MEMBER(user.ud, STAYS), MEMBER(user.uc, STAYS),
	MEMBER(user.windows, STAYS), MEMBER(user.invalidates, STAYS), MEMBER(user.vague, STAYS),
	MEMBER(user.void_harms, STAYS), MEMBER(user.empty_harms, STAYS),
	MEMBER(user.no_read_fence, STAYS), MEMBER(user.invalidated, STAYS), MEMBER(user.odd, STAYS),
	MEMBER(user.max_inline, STAYS), MEMBER(user.inline_room, STAYS),
	MEMBER(user.immediate, STAYS), MEMBER(user.max_send_sge, STAYS),
	MEMBER(user.read_bound, STAYS), MEMBER(user.max_recv_sge, STAYS),
	MEMBER(user.sq, STAYS | OWN), MEMBER(user.rq, STAYS | OWN), MEMBER(user.quick, STAYS | OWN),
	MEMBER(user.count, STAYS | OWN), MEMBER(user.unread, STAYS | OWN),
	MEMBER(user.send_cq, STAYS | OWN), MEMBER(user.recv_cq, STAYS | OWN),
	MEMBER(user.next_member, STAYS | OWN), MEMBER(user.chain, STAYS | OWN),
	MEMBER(user.next_sender, STAYS | OWN), MEMBER(user.dying, STAYS),
	MEMBER(user.inside, STAYS), MEMBER(user.next_fault, STAYS | OWN),
	MEMBER(user.keys, STAYS | OWN), MEMBER(user.pd, STAYS | OWN),
	MEMBER(user.host, STAYS | OWN), MEMBER(user.headers, STAYS | OWN),
	MEMBER(user.voids, STAYS), /* of requests, which are all completed */
	/* Whose it is. */
	MEMBER(item, STAYS | OWN), MEMBER(pd, STAYS | OWN), MEMBER(send_cq, STAYS | OWN),
	MEMBER(recv_cq, STAYS | OWN), MEMBER(srq, STAYS | OWN), MEMBER(ctx, STAYS),
	MEMBER(init, STAYS), MEMBER(lock, STAYS | OWN), MEMBER(number, STAYS),
	MEMBER(groups, STAYS | OWN), MEMBER(drain, STAYS | OWN), MEMBER(fail, STAYS | OWN),
	MEMBER(flushed, STAYS | OWN),
	/* The end of a life: it is over, flushed, and raised. */
	MEMBER(user.gate, STAYS), MEMBER(state, STAYS), MEMBER(conn, STAYS | OWN),
	MEMBER(dying, STAYS), MEMBER(ended, STAYS), MEMBER(told, STAYS), MEMBER(lame, STAYS),
	MEMBER(port_event, STAYS), PADDING(user.dying, user.inside),
	PADDING(user.inside, user.next_fault), PADDING(state, conn), PADDING(told, end),
	PADDING(drain_rq, drain_until), PADDING(lame, port_event), PADDING(peer, flushed),
	/* Not read before it is set. */
	MEMBER(end, OWN), MEMBER(end_async, OWN), MEMBER(drain_sq, OWN), MEMBER(drain_rq, OWN),
	MEMBER(drain_until, OWN),
	MEMBER(peer, OWN | NAMED), /* a text, which the test compares as one */
};

static const struct vsw_members table = {"vib_qp", sizeof(struct vib_qp), members,
					 G_N_ELEMENTS(members)};

/* --- ways to connect, and ends --------------------------------------------------------------------- */

static const struct ri_peer peer = {
	.path = {.dest = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 9}}},
	.qpn = 0xabcdef,
	.path_mtu = 1024,
	.ird = 3,
	.min_rnr_timer = 12,
	.ord = 5,
	.timeout = 14,
	.retry_count = 6,
	.rnr_retry = 7,
};

static void
by_address(struct vib_qp *qp)
{
	struct ri_cm_event up = {.kind = RI_CM_ESTABLISHED};

	pthread_mutex_lock(&qp->lock);
	g_assert_cmpint(vib_qp_begin(qp), ==, RI_SUCCESS);
	vib_peer_name(qp, &peer.path.dest, 0);
	pthread_mutex_unlock(&qp->lock);
	g_assert_true(vib_qp_established(qp, &up));
}

static void
by_numbers(struct vib_qp *qp)
{
	g_assert_cmpint(vib_peer_ops.receive((struct ri_qp *)qp, &peer), ==, RI_SUCCESS);
	g_assert_cmpint(vib_peer_ops.send((struct ri_qp *)qp, &peer), ==, RI_SUCCESS);
}

static void
datagrams(struct vib_qp *qp)
{
	(void)qp; /* it runs from its creation on, and from its reset */
}

static enum ri_status
move(struct vib_qp *qp, enum ri_qp_state state)
{
	const struct ri_qp_attr attr = {.state = state, .skip_time_wait = true};

	return vib_qp_ops.modify((struct ri_qp *)qp, &attr, RI_QP_ATTR_STATE);
}

static void
is_ended(struct device *d, struct vib_qp *qp)
{
	(void)d;
	g_assert_cmpint(move(qp, RI_QPS_ERROR), ==, RI_SUCCESS);
}

/* The device may not write to the memory of a receive. */
static void
is_denied(struct device *d, struct vib_qp *qp)
{
	const struct ri_recv_wr wr = {.wr_id = 1};
	struct ri_wc wc;

	g_assert_cmpint(vib_post_rq(&qp->user, &wr), ==, RI_SUCCESS);
	device_receive(d, d->recvs - 1, &(struct ibv_wc){.status = IBV_WC_LOC_PROT_ERR});
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
	g_assert_cmpint(wc.status, ==, RI_WC_LOCAL_PROTECTION);
}

/* A request names an object that does not exist: the device never hears of it. */
static void
is_wrong(struct device *d, struct vib_qp *qp)
{
	const struct ri_wr of_ud = {.wr_id = 2, .opcode = RI_OP_SEND_UD, .u.ud.ah = NOBODY};
	const struct ri_wr of_rc = {.wr_id = 2, .opcode = RI_OP_LOCAL_INV, .inv_stag = NOBODY};

	(void)d;
	g_assert_cmpint(vib_post_sq(&qp->user, qp->user.ud ? &of_ud : &of_rc), ==, RI_SUCCESS);
}

static const struct way {
	const char *name;
	bool ud;
	void (*connect)(struct vib_qp *qp);
} ways[] = {{"address", false, by_address},
	    {"numbers", false, by_numbers},
	    {"datagrams", true, datagrams}};

static const struct ending {
	const char *name;
	void (*end)(struct device *d, struct vib_qp *qp);
} endings[] = {{"ended", is_ended}, {"denied", is_denied}, {"wrong", is_wrong}};

/* --- a life ---------------------------------------------------------------------------------------- */

static struct vib_qp *
qp_new(struct device *d, const struct way *way)
{
	struct ri_qp_init init = device_qp_init(way->ud, 8);
	struct vib_qp *qp;

	init.ird = init.ord = 4;
	g_assert_cmpint(
		vib_qp_ops.create(d->pd, &init, d->cq, d->cq, NULL, (struct ri_qp **)&qp, &d->map),
		==, RI_SUCCESS);
	return qp;
}

static struct ri_qp_attr
query(struct vib_qp *qp)
{
	struct ri_qp_attr attr;

	g_assert_cmpint(vib_qp_ops.query((struct ri_qp *)qp, &attr), ==, RI_SUCCESS);
	return attr;
}

static void
begin(struct device *d, struct vib_qp *qp, const struct way *way, struct vib_qp *copy)
{
	way->connect(qp);
	vth_run(d->vth);
	g_assert_cmpint(query(qp).state, ==, RI_QPS_RTS);
	g_array_set_size(d->cm_events, 0);
	g_array_set_size(d->async_events, 0);
	*copy = *qp;
	VSW_CLEAR_PADDING(copy);
}

/* What the end raised. */
static char *
finish(struct device *d, struct vib_qp *qp, const struct ending *ending)
{
	GString *told = g_string_new(NULL);
	struct ri_wc wc;

	ending->end(d, qp);
	vth_run(d->vth);
	vth_advance(d->vth, 10 * SECONDS); /* nothing that it has is completed any more */
	while (vib_poll_cq(&d->cq->user, &wc, 1) != 0)
		continue;
	vth_run(d->vth);
	g_assert_cmpint(query(qp).state, ==, RI_QPS_ERROR);
	for (guint i = 0; i < d->cm_events->len; i++)
		g_string_append_printf(
			told, "connection %d; ",
			(int)g_array_index(d->cm_events, struct ri_cm_event, i).kind);
	for (guint i = 0; i < d->async_events->len; i++)
		g_string_append_printf(
			told, "event %d; ",
			(int)g_array_index(d->async_events, struct ri_async_event, i).event);
	g_array_set_size(d->cm_events, 0);
	g_array_set_size(d->async_events, 0);
	d->aborts = 0;
	return g_string_free(told, FALSE);
}

/* The reset of one that was used, and what a query says then. */
static void
renew(struct vib_qp *qp, const struct ri_qp_attr *before)
{
	struct ri_qp_attr attr;

	g_assert_cmpint(move(qp, RI_QPS_IDLE), ==, RI_SUCCESS);
	attr = query(qp);
	g_assert_cmpuint(attr.ird, ==, before->ird);
	g_assert_cmpuint(attr.ord, ==, before->ord);
	attr.qpn = before->qpn;
	g_assert_cmpmem(&attr, sizeof(attr), before, sizeof(*before));
}

/* The second life, after a first one. With -1: only what that has left. */
static void
live_again(const struct way *first, const struct ending *ending, const struct way *second, int with)
{
	for (unsigned how = 0; how < G_N_ELEMENTS(endings); how++) {
		struct device *d = device_new();
		struct vib_qp *fresh = qp_new(d, second), *used = qp_new(d, second);
		const struct ri_qp_attr before = query(used);
		struct vib_qp copies[2];
		g_autofree char *once = NULL, *unheard = NULL, *again = NULL;

		g_test_message("%s, %s, overwritten with %d, then %s, %s", first->name,
			       ending->name, with, second->name, endings[how].name);
		begin(d, fresh, second, &copies[0]);
		once = finish(d, fresh, &endings[how]);
		begin(d, used, first, &copies[1]);
		unheard = finish(d, used, ending);
		if (with >= 0)
			vsw_octets_fill(&table, used, STAYS | (second->ud ? NAMED : 0),
					(uint8_t)with);
		renew(used, &before);
		begin(d, used, second, &copies[1]);
		vsw_octets_same(&table, &copies[0], &copies[1], OWN);
		g_assert_cmpstr(copies[1].peer, ==, copies[0].peer);
		again = finish(d, used, &endings[how]);
		g_assert_cmpstr(again, ==, once);
		data_qp_end(&fresh);
		data_qp_end(&used);
		device_free(&d);
	}
}

static void
test_anew(gconstpointer arg)
{
	const struct way *second = arg;

	if (!VSW_KNOWS_PADDING) {
		g_test_skip("this compiler does not say where the padding of a struct is");
		return;
	}
	/* Zero is what memory has that was never used; a flag that is true must not stay so either. */
	for (unsigned i = 0; i < G_N_ELEMENTS(ways); i++)
		for (unsigned k = 0; k < G_N_ELEMENTS(endings); k++)
			for (int with = -1; ways[i].ud == second->ud && with <= 1; with++)
				live_again(&ways[i], &endings[k], second, with);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/vib/anew/address", &ways[0], test_anew);
	g_test_add_data_func("/vib/anew/numbers", &ways[1], test_anew);
	g_test_add_data_func("/vib/anew/datagrams", &ways[2], test_anew);
	return g_test_run();
}
