/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Spigots that change and adapters that fail: border cases that model and adapters must agree on, and records that must
 * not pass. */
#include "df_case.h"

#define DOWN "spigot obj=1 how=0\n"
#define UP   "spigot obj=1 how=1\n"
/* Endpoints 0 and 1 are connected; a receive is posted at the second one. */
#define CONNECTED                                              \
	"lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n"      \
	"lmr-create obj=1 pz=1 off=0 len=8192 privs=31\n"      \
	"ep-create ep=0 pz=0 sq=8 rq=4 ird=4 ord=4 enable=8\n" \
	"ep-create ep=1 pz=1 sq=8 rq=4 ird=4 ord=4 enable=8\n" \
	"connect ep=0 peer=1\n"                                \
	"recv ep=1 flags=1 seg=1+0:100\n"
#define SEND "send ep=0 flags=1 seg=0+0:50\n"

static struct df_seen_settle *
last_of(const struct df_case *one)
{
	return DF_SEEN(one->record, one->record->settles->len - 1);
}

static struct df_seen_unaff *
event_at(const struct df_seen_settle *seen, unsigned i)
{
	return &g_array_index(seen->unaff, struct df_seen_unaff, i);
}

/* --- spigots --------------------------------------------------------------------------------- */

/* Two events, of the second node. Other ones, or in another order, must not pass. */
static void
expect_both(struct df_case *one)
{
	struct df_seen_settle *last = last_of(one);
	struct df_seen_unaff copy;

	g_assert_cmpuint(last->unaff->len, ==, 2);
	g_assert_cmphex(event_at(last, 0)->event, ==, IT_ASYNC_UNAFF_SPIGOT_OFFLINE);
	g_assert_cmphex(event_at(last, 1)->event, ==, IT_ASYNC_UNAFF_SPIGOT_ONLINE);
	copy = *event_at(last, 1);
	event_at(last, 1)->right = false;
	df_case_object(one, "names another spigot");
	event_at(last, 1)->right = true;
	event_at(last, 1)->node = 0;
	df_case_object(one, "IT_ASYNC_UNAFF_SPIGOT_ONLINE of node 0, which is not due");
	event_at(last, 1)->node = 1;
	g_array_append_val(last->unaff, copy);
	df_case_object(one, "which is not due");
	g_array_set_size(last->unaff, 1);
	df_case_object(one, "IT_ASYNC_UNAFF_SPIGOT_ONLINE of node 1 is missing");
	*event_at(last, 0) = copy;
	df_case_object(one, "IT_ASYNC_UNAFF_SPIGOT_ONLINE of node 1 instead of");
}

static void
expect_offline(struct df_case *one)
{
	struct df_seen_settle *last = last_of(one);

	g_assert_cmpint(last->online[0], ==, 1);
	g_assert_cmpint(last->online[1], ==, 0);
	last->online[1] = 1;
	df_case_object(one, "the spigot of node 1 is online instead of offline");
}

static void
test_spigot(void)
{
	df_case_agree("unaff-create obj=1 rq=4\n" DOWN DOWN UP UP, DF_HAS(faults), expect_both);
	df_case_agree("unaff-create obj=1 rq=4\n" DOWN, DF_HAS(faults), expect_offline);
}

static void
expect_room(struct df_case *one)
{
	g_assert_cmpint(one->profile.unaff[1], <, 16);
	g_assert_cmpuint(DF_SEEN(one->record, 0)->unaff->len, ==, one->profile.unaff[1]);
	g_assert_cmpuint(last_of(one)->unaff->len, ==, 1);
}

/* What finds the dispatcher full is lost; later there is room again. */
static void
test_full(void)
{
	df_case_agree("unaff-create obj=1 rq=1\n" DOWN UP DOWN UP DOWN UP DOWN UP DOWN UP DOWN UP
			      DOWN UP DOWN UP "settle\n" DOWN,
		      DF_HAS(faults), expect_room);
}

static void
expect_none(struct df_case *one)
{
	const struct df_seen_unaff due = {
		.event = IT_ASYNC_UNAFF_SPIGOT_OFFLINE, .node = 1, .right = true};
	struct df_seen_settle *last = last_of(one);

	g_assert_cmpuint(last->unaff->len, ==, 0);
	g_array_append_val(last->unaff, due);
	df_case_object(one, "which is not due");
}

/* Without a dispatcher events are lost, and with one that is freed, too. There is only one for each IA. */
static void
test_absent(void)
{
	df_case_agree(DOWN "unaff-create obj=1 rq=2\n"
			   "unaff-create obj=0 rq=2\n"
			   "unaff-create obj=1 rq=2\n",
		      DF_HAS(faults), expect_none);
	df_case_agree("unaff-create obj=1 rq=2\n" DOWN UP "unaff-free obj=1\n"
		      "unaff-free obj=1\n"
		      "unaff-create obj=1 rq=2\n",
		      DF_HAS(faults), expect_none);
}

static void
expect_message(struct df_case *one)
{
	g_assert_cmpuint(last_of(one)->unaff->len, ==, 1);
	g_assert_cmphex(event_at(last_of(one), 0)->event, ==, IT_ASYNC_UNAFF_SPIGOT_ONLINE);
	g_assert_cmpint(df_case_seen(one, false, 0)->status, ==, IT_DTO_SUCCESS);
	g_assert_cmpint(last_of(one)->ep[0].state, ==, IT_EP_STATE_CONNECTED);
}

/* A connection stands while a spigot is down, and continues when it is up; the settlement brings it up. */
static void
test_pause(void)
{
	df_case_agree(CONNECTED "unaff-create obj=1 rq=2\n" DOWN "settle\n" SEND, DF_HAS(faults),
		      expect_message);
	df_case_agree(CONNECTED "unaff-create obj=1 rq=2\n" DOWN "settle\n" SEND UP, DF_HAS(faults),
		      expect_message);
}

static void
expect_refused(struct df_case *one)
{
	struct df_seen_settle *last = last_of(one);

	g_assert_cmpint(last->ep[2].state, ==, IT_EP_STATE_NONOPERATIONAL);
	g_assert_cmpint(last->ep[3].state, ==, IT_EP_STATE_UNCONNECTED);
}

#define SPARE                                                  \
	"ep-create ep=2 pz=0 sq=8 rq=4 ird=4 ord=4 enable=8\n" \
	"ep-create ep=3 pz=1 sq=8 rq=4 ird=4 ord=4 enable=8\n"

/* An attempt finds no path, whichever end's spigot is down. */
static void
test_no_path(void)
{
	df_case_agree(SPARE DOWN "connect ep=2 peer=3\n", DF_HAS(faults), expect_refused);
	df_case_agree(SPARE "spigot obj=0 how=0\nconnect ep=2 peer=3\n", DF_HAS(faults),
		      expect_refused);
}

/* --- adapters that fail ---------------------------------------------------------------------- */

static void
expect_failed(struct df_case *one)
{
	struct df_seen_settle *last = last_of(one);

	for (int i = 0; i < 2; i++)
		g_assert_cmpint(last->ep[i].state, ==, IT_EP_STATE_NONOPERATIONAL);
	g_assert_cmpint(df_case_seen(one, false, 0)->status, ==, IT_DTO_ERR_FLUSHED);
	last->dead[1] = false;
	df_case_object(one, "the dispatchers of node 1 do not say that its adapter has failed");
	last->dead[1] = true;
	last->dead[0] = true;
	df_case_object(one, "the dispatchers of node 0 say that its adapter has failed");
	last->dead[0] = false;
	last->online[1] = 1;
	df_case_object(one, "the spigot of node 1 is online instead of failed");
}

/* Both ends are told by the connection alone; what was queued before can be taken. */
static void
test_fail(void)
{
	df_case_agree(CONNECTED "unaff-create obj=1 rq=4\n" DOWN UP "fail obj=1\n", DF_HAS(faults),
		      expect_failed);
}

static void
expect_calls(struct df_case *one)
{
	struct df_seen_step *reset = DF_SEEN_STEP(one->record, one->record->steps->len - 1);

	g_assert_cmpint(reset->answer, ==, IT_ERR_IA_CATASTROPHE);
	reset->answer = IT_SUCCESS;
	df_case_object(one, "the call answered IT_SUCCESS instead of IT_ERR_IA_CATASTROPHE");
}

/* Objects can be freed, but not used or made; the other adapter works, and has no peer here. */
static void
test_calls(void)
{
	df_case_agree(CONNECTED "ep-create ep=3 pz=1 sq=8 rq=4 ird=4 ord=4 enable=8\n"
				"srq-create obj=1 pz=1 rq=8\n"
				"rmr-create obj=1 pz=1 how=1\n"
				"fail obj=1\n"
				"reset ep=0\n"
				"connect ep=0 peer=3\n"
				"connect ep=3 peer=0\n"
				"recv ep=1 flags=1 seg=1+0:100\n"
				"send ep=1 flags=1 seg=1+0:50\n"
				"srq-recv obj=1 flags=1 seg=1+0:50\n"
				"threshold obj=1 how=0 a=0\n"
				"unaff-create obj=1 rq=4\n"
				"lmr-create obj=3 pz=1 off=0 len=100 privs=31\n"
				"srq-free obj=1\n"
				"rmr-free obj=1\n"
				"lmr-free obj=1\n"
				"lmr-modify obj=1 privs=31\n"
				"ep-free ep=1\n"
				"reset ep=1\n"
				"reset ep=0\n"
				"reset ep=3\n",
		      DF_HAS(faults), expect_calls);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	world_faults();
	g_test_add_func("/differential/faults/spigot", test_spigot);
	g_test_add_func("/differential/faults/full", test_full);
	g_test_add_func("/differential/faults/absent", test_absent);
	g_test_add_func("/differential/faults/pause", test_pause);
	g_test_add_func("/differential/faults/no-path", test_no_path);
	g_test_add_func("/differential/faults/fail", test_fail);
	g_test_add_func("/differential/faults/calls", test_calls);
	return g_test_run();
}
