/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A queue pair that was used before is connected again: it must equal one that is connected for the
 * first time, by address and by attributes.
 *
 * Any value of any member may be left of the earlier connection. So after its end the test
 * overwrites all octets of the queue pair, except members in the table below, which gives the
 * reasons. Then the queue pair returns to IDLE, is connected, and is compared, octet by octet, with
 * a new one that was connected in the same way. A member that is added later is overwritten and
 * compared, too. The same is tested for a queue pair whose attempts to connect failed before, for
 * want of memory. The test is the service thread, and time is virtual.
 */
#include <string.h>

#include "vem.h"
#include "vem_pairs.h"
#include "vem_scarce.h"
#include "vsw_octets.h"

#define TIME_WAIT_US "1000"

#define STAYS 1u /* the return to IDLE needs it, or does not change it */
#define OWN \
	2u /* is another one in each queue pair, or means nothing before it is set: not compared */
#define BY_PEER    4u /* only one that is connected by attributes has it */
#define BY_ADDRESS 8u /* only one that is connected by address has it */

#define MEMBER(name, how) VSW_MEMBER(vem_qp, name, how)

static const struct vsw_member members[] = {
	/* Whose it is. */
	MEMBER(rnic, STAYS | OWN),
	MEMBER(send_cq, STAYS | OWN),
	MEMBER(recv_cq, STAYS | OWN),
	MEMBER(srq, STAYS | OWN),
	MEMBER(pd, STAYS | OWN),
	MEMBER(init.ctx, STAYS | OWN),
	MEMBER(init, STAYS),
	MEMBER(qkey, STAYS), /* the application's, as the next */
	MEMBER(in.access, STAYS),
	MEMBER(ud, STAYS),
	MEMBER(item, STAYS | OWN),
	MEMBER(number_item, STAYS | OWN),
	MEMBER(ud_item, STAYS | OWN),
	MEMBER(groups, STAYS | OWN),
	MEMBER(count, STAYS | OWN),
	MEMBER(unread, STAYS | OWN),
	MEMBER(tap, STAYS | OWN),
	MEMBER(wire, STAYS | OWN),
	MEMBER(task, STAYS | OWN),
	MEMBER(rnr_timer, STAYS | OWN),
	MEMBER(cm_timer, STAYS | OWN),
	MEMBER(wait_timer, STAYS | OWN),
	MEMBER(lost_timer, STAYS | OWN),
	MEMBER(lock, STAYS | OWN),
	MEMBER(inside, STAYS | OWN),
	/* The end of a connection: it is over, flushed, and raised. */
	MEMBER(state, STAYS),
	MEMBER(ended, STAYS),
	MEMBER(told, STAYS),
	MEMBER(telling, STAYS),
	MEMBER(tx_flushed, STAYS),
	MEMBER(rx_flushed, STAYS),
	MEMBER(failing, STAYS),
	MEMBER(pair, STAYS | OWN),
	MEMBER(remote, STAYS | OWN),
	MEMBER(join, STAYS | OWN),
	MEMBER(conn, STAYS),
	MEMBER(limits_new, STAYS),
	MEMBER(recheck, STAYS),
	/* The send queue, and the request that is taken. */
	MEMBER(tx, STAYS | OWN),
	MEMBER(sq, STAYS | OWN),
	MEMBER(tx_wqe, STAYS | OWN),
	MEMBER(tx_have, STAYS),
	MEMBER(tx_index, OWN),
	MEMBER(tx_target, OWN),
	MEMBER(tx_around.all, OWN), /* as the next three: of a datagram that has begun */
	MEMBER(tx_around.missed, OWN),
	MEMBER(tx_around.group, OWN),
	MEMBER(tx_around.looked, OWN),
	/* The responder. */
	MEMBER(in.ops, STAYS | OWN),
	MEMBER(in.mem, STAYS | OWN),
	MEMBER(in.who, STAYS | OWN),
	MEMBER(in.receiver, STAYS | OWN),
	MEMBER(in.ctx, STAYS | OWN),
	MEMBER(in.cq, STAYS | OWN),
	MEMBER(in.unreliable, STAYS),
	MEMBER(in.role, STAYS | OWN),
	MEMBER(in.rq, STAYS | OWN),
	MEMBER(in.member, STAYS | OWN),
	MEMBER(in.wqe, STAYS | OWN),
	MEMBER(in.have, STAYS),
	MEMBER(in.index, OWN), /* as the next two: of a receive that is taken */
	MEMBER(in.number, OWN),
	MEMBER(in.shared, OWN),
	/* Of an end, an attempt or a partner; not read before it is set. */
	MEMBER(cause, OWN),
	MEMBER(terminate_in, OWN),
	MEMBER(terminate, OWN),
	MEMBER(heard, OWN),
	MEMBER(said, OWN),
	MEMBER(to, OWN),
	MEMBER(reach, OWN),
	MEMBER(far, OWN),
	MEMBER(comm_est, BY_PEER),
	MEMBER(rnr_wait, BY_ADDRESS),
};

static const struct vsw_members table = {"vem_qp", sizeof(struct vem_qp), members,
					 G_N_ELEMENTS(members)};

static void
copy_take(struct vem_qp *copy, struct end *end)
{
	*copy = *end_qp(end);
	VSW_CLEAR_PADDING(copy);
}

/* Change each attribute that may be changed; a connection may lower the depths, and the return to IDLE restores them. */
static void
change(struct end *end)
{
	const struct ri_rnic_attr *can = &end->node->attr;
	const struct ri_qp_attr attr = {
		.ird = 3, .ord = 2, .access = end->init.access ^ RI_ACCESS_BIND};
	uint32_t mask = RI_QP_ATTR_ORD;

	mask |= can->ird_modifiable ? RI_QP_ATTR_IRD : 0;
	mask |= can->enables_modifiable ? RI_QP_ATTR_ACCESS : 0;
	g_assert_cmpint(end->node->p->qp->modify(end->qp, &attr, mask), ==, RI_SUCCESS);
}

static void
reset_one(struct ends *e, struct end *end)
{
	const struct ri_qp_attr idle = {.state = RI_QPS_IDLE, .skip_time_wait = true};

	while (e->na->p->qp->modify(end->qp, &idle, RI_QP_ATTR_STATE) == RI_ERR_STILL_FLUSHING)
		vth_run(e->vth);
	g_assert_cmpint(end_state(end), ==, RI_QPS_IDLE);
}

static void
reset_pair(struct ends *e)
{
	reset_one(e, e->a);
	reset_one(e, e->b);
}

static void
expect_same_attributes(struct end *end, const struct ri_qp_attr *before)
{
	struct ri_qp_attr attr = end_attr(end);

	g_assert_cmpuint(attr.state, ==, before->state);
	g_assert_cmpuint(attr.ird, ==, before->ird);
	g_assert_cmpuint(attr.ord, ==, before->ord);
	g_assert_cmpuint(attr.access, ==, before->access);
	g_assert_cmpuint(attr.quiescent, ==, before->quiescent);
	g_assert_cmpuint(attr.terminate_sent, ==, before->terminate_sent);
	g_assert_cmpuint(attr.terminate_len, ==, before->terminate_len);
	g_assert_cmpmem(&attr, sizeof(attr), before, sizeof(*before));
}

/* --- two ways to connect ---------------------------------------------------------------------- */

struct way {
	const char *adapter;
	void (*connect)(struct ends *e);
	unsigned own; /* what is not compared */
};

static void
connect_by_cm(struct ends *e)
{
	ends_connect(e->a, e->b);
	vth_run(e->vth);
}

/* A message of a comes before b may send, which b reports in each life. */
static void
connect_by_peer(struct ends *e)
{
	const struct ri_peer to_a = peer_params(e->a, PSN_A, PSN_B);
	const struct ri_peer to_b = peer_params(e->b, PSN_B, PSN_A);

	g_assert_cmpint(peer_receive(e->a, &to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_receive(e->b, &to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(e->a, &to_b), ==, RI_SUCCESS);
	end_write_quiet(e->a, &e->ma, &e->mb);
	vth_run(e->vth);
	node_async(e->nb, RI_EVENT_QP_COMM_EST, e->b);
	g_assert_cmpint(peer_send(e->b, &to_a), ==, RI_SUCCESS);
	vth_run(e->vth);
}

/* --- ends of the earlier connection ----------------------------------------------------------- */

static void
ends_in_order(struct ends *e)
{
	for (unsigned i = 0; i < 3; i++)
		end_write_quiet(e->a, &e->ma, &e->mb);
	vth_run(e->vth);
	/* Without a connection manager both applications end it. */
	if (e->na->p->cm->disconnect(e->a->qp, NULL, 0) != RI_SUCCESS) {
		g_assert_cmpint(end_modify(e->a, RI_QPS_ERROR), ==, RI_SUCCESS);
		g_assert_cmpint(end_modify(e->b, RI_QPS_ERROR), ==, RI_SUCCESS);
	}
	vth_run(e->vth);
}

/* While a Send of each side waits for a receive. Requests without completions have come before it. */
static void
ends_waiting(struct ends *e)
{
	for (unsigned i = 0; i < 3; i++)
		end_write_quiet(e->a, &e->ma, &e->mb);
	g_assert_cmpint(end_send(e->a, 1, &e->ma, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(e->b, 1, &e->mb, 0, 64), ==, RI_SUCCESS);
	vth_run(e->vth);
	g_assert_cmpint(end_modify(e->a, RI_QPS_ERROR), ==, RI_SUCCESS);
	vth_run(e->vth);
	if (end_state(e->b) == RI_QPS_RTS) /* which has heard nothing */
		g_assert_cmpint(end_modify(e->b, RI_QPS_ERROR), ==, RI_SUCCESS);
	vth_run(e->vth);
	/* Whatever the request has waited for, it is flushed. */
	g_assert_true(end_attr(e->a).quiescent);
}

static void
ends_broken(struct ends *e)
{
	g_assert_cmpint(end_modify(e->b, RI_QPS_ERROR), ==, RI_SUCCESS);
	vth_run(e->vth);
	if (end_state(e->a) == RI_QPS_RTS)
		g_assert_cmpint(end_modify(e->a, RI_QPS_ERROR), ==, RI_SUCCESS);
	vth_run(e->vth);
}

static void (*const endings[])(struct ends *e) = {ends_in_order, ends_waiting, ends_broken};

/* --- tests ------------------------------------------------------------------------------------ */

static void
drain(struct end *end)
{
	struct ri_wc wc;

	while (end->node->p->fast->poll_cq(end->uscq, &wc, 1) != 0 ||
	       end->node->p->fast->poll_cq(end->urcq, &wc, 1) != 0)
		continue;
}

static void
forget(struct ends *e)
{
	vth_run(e->vth);
	drain(e->a);
	drain(e->b);
	node_forget(e->na);
	node_forget(e->nb);
}

/* Connected, and nothing was sent yet; after as long as anything of an earlier connection could take, nothing has happened. */
static void
live(struct ends *e, const struct way *way, struct vem_qp copies[2])
{
	way->connect(e);
	copy_take(&copies[0], e->a);
	copy_take(&copies[1], e->b);
	vth_advance(e->vth, UINT64_C(3600000000000));
	node_silent(e->na);
	node_silent(e->nb);
	g_assert_cmpint(end_state(e->a), ==, RI_QPS_RTS);
	g_assert_cmpint(end_state(e->b), ==, RI_QPS_RTS);
	/* A message that finds no receive at first waits as in a first connection. */
	g_assert_cmpint(end_send(e->a, 7, &e->ma, 0, 64), ==, RI_SUCCESS);
	vth_run(e->vth);
	g_assert_cmpint(end_recv(e->b, 8, &e->mb, 0, 64), ==, RI_SUCCESS);
	vth_run(e->vth);
	(void)poll_one(e->a->uscq, 7, RI_WC_SUCCESS);
	(void)poll_one(e->b->urcq, 8, RI_WC_SUCCESS);
	/* The whole send queue is there, and is so in the next life, too. */
	end_fill(e->a, &e->ma, &e->mb);
	vth_run(e->vth);
	for (uint32_t i = 0; i < e->a->init.max_sq_wr; i++)
		(void)poll_one(e->a->uscq, i, RI_WC_SUCCESS);
}

static void
open_changed(struct ends *e, const char *adapter)
{
	ends_open(e, adapter);
	host_spare((struct ri_host *)(uintptr_t)vth_host(e->vth));
	ends_fill(e, NULL, NULL, 4096, ALL_RW);
	change(e->a);
	change(e->b);
}

static const struct way ib = {"emul:ib", connect_by_cm, OWN | BY_PEER},
			iwarp = {"emul:iwarp", connect_by_cm, OWN | BY_PEER},
			numbers = {"emul:ib", connect_by_peer, OWN | BY_ADDRESS};

static void
test_anew(gconstpointer arg)
{
	const struct way *way = arg;
	struct vem_qp fresh[2], used[2];
	struct ri_qp_attr before[2];
	struct ends e;

	if (!VSW_KNOWS_PADDING) {
		g_test_skip("this compiler does not say where the padding of a struct is");
		return;
	}
	g_setenv("ITAPI_EMUL_TIME_WAIT_US", TIME_WAIT_US, TRUE);
	open_changed(&e, way->adapter);
	live(&e, way, fresh);
	ends_drop(&e);
	for (unsigned how = 0; how < G_N_ELEMENTS(endings); how++)
		/* Zero is what memory has that was never used; a flag that is true must not stay so either. */
		for (int with = -1; with <= 1; with++) {
			open_changed(&e, way->adapter);
			before[0] = end_attr(e.a);
			before[1] = end_attr(e.b);
			way->connect(&e);
			endings[how](&e);
			if (with >= 0) { /* -1: only what the connection itself has left */
				vsw_octets_fill(&table, end_qp(e.a), STAYS, (uint8_t)with);
				vsw_octets_fill(&table, end_qp(e.b), STAYS, (uint8_t)with);
			}
			forget(&e);
			reset_pair(&e);
			expect_same_attributes(e.a, &before[0]);
			expect_same_attributes(e.b, &before[1]);
			g_test_message("end %u, overwritten with %d", how, with);
			live(&e, way, used);
			vsw_octets_same(&table, &fresh[0], &used[0], way->own);
			vsw_octets_same(&table, &fresh[1], &used[1], way->own);
			ends_drop(&e);
		}
	g_unsetenv("ITAPI_EMUL_TIME_WAIT_US");
}

/* --- refused calls ---------------------------------------------------------------------------- */

#ifdef WITH_SCARCE
/* b finds a, by attributes. */
static enum ri_status
joins(struct ends *e)
{
	struct ri_peer to_a = peer_params(e->a, PSN_A, PSN_B);

	to_a.ird = 5; /* another one than it has */
	return peer_receive(e->b, &to_a);
}

static void
joins_begin(struct ends *e)
{
	const struct ri_peer to_b = peer_params(e->b, PSN_B, PSN_A);

	g_assert_cmpint(peer_receive(e->a, &to_b), ==, RI_SUCCESS);
}

static void
joins_end(struct ends *e)
{
	vth_run(e->vth);
}

/* b takes the request of a. */
static const struct ri_service door = {.kind = RI_SERVICE_PORT, .port = 0x3412};
static struct ri_listen *listening;
static struct ri_request *request;

static enum ri_status
accepts(struct ends *e)
{
	struct ri_cm_params params = node_params(&door);

	params.ird = params.ord = 5;
	return emul()->cm->accept(request, e->b->qp, &params);
}

static void
accepts_begin(struct ends *e)
{
	struct ri_service service = door;
	const struct ri_cm_params params = node_params(&door);

	g_assert_cmpint(emul()->cm->listen(e->nb->context, 42, 0, &service, 4, &listening), ==,
			RI_SUCCESS);
	g_assert_cmpint(emul()->cm->connect(e->a->qp, &params), ==, RI_SUCCESS);
	request = node_cm(e->nb, RI_CM_REQUEST, (const void *)(uintptr_t)42).request;
}

static void
accepts_end(struct ends *e)
{
	emul()->cm->listen_destroy(listening); /* and a, which was not answered, is refused */
	vth_run(e->vth);
}

static const struct refusal {
	void (*begin)(struct ends *e);
	enum ri_status (*call)(struct ends *e);
	void (*end)(struct ends *e);
} refusals[] = {{joins_begin, joins, joins_end}, {accepts_begin, accepts, accepts_end}};

/* Whether the allocation of this number was one that the call needs. If so it was refused. */
static bool
refuse(struct ends *e, const struct refusal *how, unsigned long number)
{
	enum ri_status status;
	bool refused;

	scarce_arm_here(number, false);
	status = how->call(e);
	refused = scarce_disarm() != 0;
	g_assert_cmpint(status, ==, refused ? RI_ERR_RESOURCES : RI_SUCCESS);
	return refused;
}

/* How many allocations it needs; it succeeds with them. */
static unsigned long
need_of(const struct refusal *how)
{
	unsigned long need = 0;
	struct ends e;

	open_changed(&e, "emul:ib");
	how->begin(&e);
	while (refuse(&e, how, need + 1))
		need++;
	how->end(&e);
	ends_drop(&e);
	g_assert_cmpuint(need, >, 0);
	return need;
}

/* A queue pair is as before each refused call: to a query, and to the connection that follows. */
static void
test_refused(void)
{
	struct vem_qp fresh[2], used[2];
	struct ends e;

	if (!VSW_KNOWS_PADDING || g_getenv("ITAPI_TEST_NO_SCARCE") != NULL) {
		g_test_skip("no octets to compare, or no allocations to refuse");
		return;
	}
	open_changed(&e, "emul:ib");
	live(&e, &ib, fresh);
	ends_drop(&e);
	for (unsigned i = 0; i < G_N_ELEMENTS(refusals); i++) {
		unsigned long need = need_of(&refusals[i]);
		struct ri_qp_attr before[2];

		open_changed(&e, "emul:ib");
		before[0] = end_attr(e.a);
		before[1] = end_attr(e.b);
		refusals[i].begin(&e);
		for (unsigned long n = 1; n <= need; n++) {
			g_assert_true(refuse(&e, &refusals[i], n));
			expect_same_attributes(e.b, &before[1]);
		}
		refusals[i].end(&e);
		if (end_state(e.a) == RI_QPS_CONNECTING)
			g_assert_cmpint(end_modify(e.a, RI_QPS_ERROR), ==, RI_SUCCESS);
		forget(&e);
		reset_one(&e, e.a);
		expect_same_attributes(e.a, &before[0]);
		live(&e, &ib, used);
		vsw_octets_same(&table, &fresh[0], &used[0], ib.own);
		vsw_octets_same(&table, &fresh[1], &used[1], ib.own);
		ends_drop(&e);
	}
}
#else
static void
test_refused(void)
{
	g_test_skip("the allocator of this build cannot be made scarce");
}
#endif

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/emul/ib/anew", &ib, test_anew);
	g_test_add_data_func("/emul/iwarp/anew", &iwarp, test_anew);
	g_test_add_data_func("/emul/ib/anew/numbers", &numbers, test_anew);
	g_test_add_func("/emul/ib/anew/refused", test_refused);
	return g_test_run();
}
