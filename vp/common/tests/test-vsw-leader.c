/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The leadership of an engine: every cell of the table, then the whole in virtual time and with threads. */
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "vsw_leader.h"
#include "vsw_test_host.h"

#define W VSW_LEADER_WATCHING
#define T VSW_LEADER_TICKING
#define P VSW_LEADER_PARKED

/* The test's own list: state, event, what must follow. Other pairs must be refused. */
static const struct {
	enum vsw_leader_state from;
	enum vsw_leader_event event;
	enum vsw_leader_state to;
	bool run;
} cells[] = {
	{W, VSW_LEADER_EV_POLLED, T, false},       {W, VSW_LEADER_EV_ENTERED, P, true},
	{W, VSW_LEADER_EV_TICK_BUSY, W, false},    {W, VSW_LEADER_EV_TICK_IDLE, W, false},
	{W, VSW_LEADER_EV_RUN_REQUESTED, W, true}, {T, VSW_LEADER_EV_POLLED, T, false},
	{T, VSW_LEADER_EV_ENTERED, P, true},       {T, VSW_LEADER_EV_TICK_BUSY, T, false},
	{T, VSW_LEADER_EV_TICK_IDLE, W, true},     {T, VSW_LEADER_EV_RUN_REQUESTED, W, true},
	{P, VSW_LEADER_EV_POLLED, P, false},       {P, VSW_LEADER_EV_LEFT, T, false},
	{P, VSW_LEADER_EV_TICK_BUSY, P, false},    {P, VSW_LEADER_EV_TICK_IDLE, P, false},
	{P, VSW_LEADER_EV_RUN_REQUESTED, P, true},
};

static void
test_table(void)
{
	for (unsigned state = 0; state < VSW_LEADER_STATE_COUNT; state++) {
		for (unsigned event = 0; event < VSW_LEADER_EV_COUNT; event++) {
			enum vsw_leader_state want = VSW_LEADER_NONE;
			bool want_run = false;
			bool run = true;
			for (guint i = 0; i < G_N_ELEMENTS(cells); i++) {
				if (cells[i].from != state || cells[i].event != event)
					continue;
				want = cells[i].to;
				want_run = cells[i].run;
			}
			g_assert_cmpint(vsw_leader_rule((enum vsw_leader_state)state,
							(enum vsw_leader_event)event, &run),
					==, want);
			g_assert_true(run == want_run);
		}
	}
}

struct engine {
	struct vth *vth;
	struct vsw_leader leader;
	int fd;
	atomic_uint runs;
	atomic_uint held; /* work held back */
};

static uint32_t
progress(void *arg, uint32_t budget)
{
	struct engine *engine = arg;
	uint64_t word = 0;

	g_assert_cmpuint(budget, >, 0);
	atomic_fetch_add(&engine->runs, 1);
	atomic_store(&engine->held, 0);
	return engine->fd >= 0 && read(engine->fd, &word, sizeof(word)) > 0;
}

static void
engine_start(struct engine *engine, bool threaded, bool has_fd)
{
	memset(engine, 0, sizeof(*engine));
	engine->vth = vth_new(threaded);
	engine->fd = has_fd ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
	g_assert_cmpint(vsw_leader_start(&engine->leader, vth_host(engine->vth), engine->fd,
					 progress, engine),
			==, RI_SUCCESS);
}

static void
engine_stop(struct engine *engine)
{
	vsw_leader_stop(&engine->leader);
	vth_free(&engine->vth);
	if (engine->fd >= 0)
		close(engine->fd);
}

static void
make_readable(struct engine *engine)
{
	uint64_t one = 1;

	g_assert_cmpint(write(engine->fd, &one, sizeof(one)), ==, sizeof(one));
}

static unsigned
state_of(struct engine *engine)
{
	return atomic_load(&engine->leader.state);
}

static unsigned
runs_of(struct engine *engine)
{
	return atomic_exchange(&engine->runs, 0);
}

static void
test_service_thread_watches(void)
{
	struct engine e RI_AT_END(engine_stop);

	engine_start(&e, false, true);
	g_assert_cmpuint(state_of(&e), ==, W);
	vth_run(e.vth);
	g_assert_cmpuint(runs_of(&e), ==, 0);
	make_readable(&e);
	vth_run(e.vth);
	g_assert_cmpuint(runs_of(&e), ==, 1);
}

static void
test_poller_takes_over(void)
{
	struct engine e RI_AT_END(engine_stop);

	engine_start(&e, false, true);
	g_assert_false(vsw_leader_attended(&e.leader));
	vsw_leader_polled(&e.leader);
	g_assert_cmpuint(state_of(&e), ==, T);
	g_assert_true(vsw_leader_attended(&e.leader));
	make_readable(&e);
	for (guint i = 0; i < 10; i++) {
		vth_advance(e.vth, VSW_LEADER_TICK);
		vsw_leader_polled(&e.leader);
	}
	g_assert_cmpuint(runs_of(&e), ==, 0); /* the service thread kept out */
	vth_advance(e.vth, VSW_LEADER_TICK_MAX + VSW_LEADER_TICK);
	g_assert_cmpuint(state_of(&e), ==, W);
	g_assert_cmpuint(runs_of(&e), >=, 1);
}

/* A thread polls for so long, once in `pause` ns. */
static void
poll_for(struct engine *engine, uint64_t ns, uint64_t pause)
{
	for (uint64_t at = 0; at < ns; at += pause) {
		vsw_leader_polled(&engine->leader);
		vth_advance(engine->vth, pause);
	}
}

/* Advance until the service thread watches again; ns, of which `step` are counted at a time. */
static uint64_t
time_to_watch(struct engine *engine, uint64_t step)
{
	uint64_t ns = 0;

	for (; state_of(engine) != W; ns += step)
		vth_advance(engine->vth, step);
	return ns;
}

/* How long it takes until the service thread watches depends on how long threads had polled. */
static void
test_taken_over(void)
{
	static const struct {
		uint64_t polled;
		uint64_t most;
	} cases[] = {{10000, 1000000},    {1000000, 1000000},   {3900000, 1000000},
		     {16000000, 2500000}, {100000000, 5500000}, {1000000000, 5500000}};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct engine engine RI_AT_END(engine_stop);

		engine_start(&engine, false, true);
		poll_for(&engine, cases[i].polled, 10000);
		g_assert_cmpuint(state_of(&engine), ==, T);
		g_assert_cmpuint(runs_of(&engine), ==, 0);
		g_assert_cmpuint(time_to_watch(&engine, 10000), <=, cases[i].most);
		g_assert_cmpuint(runs_of(&engine), ==, 1);
		/* What was before is no reason for a long tick now. */
		poll_for(&engine, 100000, 10000);
		g_assert_cmpuint(time_to_watch(&engine, 10000), <=, 1000000);
	}
}

/* Work that is held back is done within 1 ms, whatever the tick was. */
static void
test_hold(void)
{
	struct engine engine RI_AT_END(engine_stop);

	engine_start(&engine, false, true);
	g_assert_false(vsw_leader_hold(&engine.leader));
	for (unsigned i = 0; i < 3; i++) {
		poll_for(&engine, 100000000, 10000);
		vth_advance(engine.vth, 1100000);
		g_assert_cmpuint(state_of(&engine), ==, T); /* a long one */
		atomic_store(&engine.held, 1);
		g_assert_true(vsw_leader_hold(&engine.leader));
		vth_advance(engine.vth, 1000000);
		g_assert_cmpuint(atomic_load(&engine.held), ==, 0);
		g_assert_cmpuint(state_of(&engine), ==, W);
	}
}

/* The same, if a thread goes on polling for a while and so postpones the tick. */
static void
test_hold_and_poll(void)
{
	struct engine engine RI_AT_END(engine_stop);

	engine_start(&engine, false, true);
	poll_for(&engine, 100000000, 10000);
	for (unsigned i = 0; i < 100; i++) {
		g_assert_true(vsw_leader_hold(&engine.leader));
		poll_for(&engine, 70000, 10000);
		g_assert_cmpuint(atomic_load(&engine.leader.tick), ==, VSW_LEADER_TICK);
	}
	poll_for(&engine, 10000000, 10000);
	g_assert_cmpuint(atomic_load(&engine.leader.tick), ==, VSW_LEADER_TICK_MAX);
	g_assert_true(vsw_leader_hold(&engine.leader));
	g_assert_cmpuint(time_to_watch(&engine, 10000), <=, 1000000);
}

/* A thread that polls seldom, since each of its polls takes long, postpones the tick itself; a tick would write `seen`. */
static void
test_slow_polls(void)
{
	struct engine engine RI_AT_END(engine_stop);

	engine_start(&engine, false, true);
	poll_for(&engine, 4000000, 190000);
	unsigned long seen = engine.leader.seen;
	for (unsigned i = 0; i < 200; i++) {
		poll_for(&engine, 190000, 190000);
		g_assert_cmpuint(engine.leader.seen, ==, seen);
	}
	g_assert_cmpuint(state_of(&engine), ==, T);
	g_assert_cmpuint(runs_of(&engine), ==, 0);
}

static uint64_t
now_of(struct engine *engine)
{
	const struct ri_host *host = vth_host(engine->vth);

	return host->now(host->self);
}

/*
 * A program polls until it has its completion, then polls only its memory until a message arrives.
 * Returns how long the message waits for a run of the engine, in ns.
 */
static uint64_t
message_wait(struct engine *engine)
{
	uint64_t since;

	for (unsigned i = 0; i < VSW_LEADER_CLOCK_POLLS; i++)
		vsw_leader_polled(&engine->leader);
	vth_advance(engine->vth, 20000);
	since = now_of(engine);
	make_readable(engine);
	vth_run(engine->vth);
	while (atomic_load(&engine->runs) == 0) {
		vth_advance(engine->vth, 10000);
		g_assert_cmpuint(now_of(engine), <, since + 2 * VSW_LEADER_TICK_MAX);
	}
	(void)runs_of(engine);
	return now_of(engine) - since;
}

/* Messages come until one of them waits: how long none did, ns. */
static uint64_t
trial_length(struct engine *engine)
{
	uint64_t since = now_of(engine), end;

	do {
		g_assert_true(vsw_leader_beside(&engine->leader) || now_of(engine) > since);
		end = now_of(engine);
		g_assert_cmpuint(end - since, <=, VSW_LEADER_TRIAL_MAX);
	} while (message_wait(engine) == 0);
	return end - since;
}

/* Messages wait until one does not: how many did. */
static unsigned
late_count(struct engine *engine)
{
	unsigned count = 0;

	for (; message_wait(engine) != 0; count++)
		g_assert_cmpuint(count, <=, VSW_LEADER_LATE_MAX);
	return count;
}

/* Who looks at memory waits for a few ticks, and then for one after each trial. A trial ends while the state is TICKING. */
static void
test_memory(void)
{
	struct engine e RI_AT_END(engine_stop);
	uint64_t wanted = VSW_LEADER_TRIAL;

	engine_start(&e, false, true);
	g_assert_cmpuint(late_count(&e), ==, VSW_LEADER_LATE);
	g_assert_cmpuint(state_of(&e), ==, T);
	g_assert_true(vsw_leader_attended(&e.leader));
	for (unsigned i = 0; i < 9; i++) {
		uint64_t length = trial_length(&e);
		g_assert_cmpuint(length, <=, wanted);
		g_assert_cmpuint(length, >, wanted - 1000000);
		wanted = MIN(2 * wanted, VSW_LEADER_TRIAL_MAX);
	}
}

/* Threads poll on when a trial has ended, so it was a mistake: the next one takes more. After one that was right it takes few again. */
static void
test_memory_mistaken(void)
{
	struct engine e RI_AT_END(engine_stop);
	unsigned wanted = VSW_LEADER_LATE;

	engine_start(&e, false, true);
	for (unsigned i = 0; i < 10; i++) {
		g_assert_cmpuint(late_count(&e), ==, wanted);
		wanted = MIN(2 * wanted, VSW_LEADER_LATE_MAX);
		poll_for(&e, VSW_LEADER_TRIAL, 10000);
		g_assert_false(vsw_leader_beside(&e.leader));
		g_assert_false(e.leader.watch_on);
		(void)runs_of(&e);
		make_readable(&e);
		poll_for(&e, VSW_LEADER_AGAIN, 10000);
		g_assert_cmpuint(runs_of(&e), ==,
				 0); /* the service thread is out of the way again */
		(void)progress(&e, 1);
		(void)runs_of(&e);
		/* What came before does not count. */
		poll_for(&e, VSW_LEADER_LATE_WITHIN, 10000);
	}
	g_assert_cmpuint(late_count(&e), ==, VSW_LEADER_LATE_MAX);
	(void)trial_length(&e);
	g_assert_true(vsw_leader_beside(&e.leader));
	poll_for(&e, 2 * VSW_LEADER_TRIAL + 2 * VSW_LEADER_LATE_WITHIN, 10000);
	g_assert_cmpuint(late_count(&e), ==, VSW_LEADER_LATE);
}

/* Messages that find nobody polling, more than VSW_LEADER_LATE_WITHIN apart, are no reason to disturb those who poll. */
static void
test_memory_seldom(void)
{
	struct engine e RI_AT_END(engine_stop);

	engine_start(&e, false, true);
	for (unsigned i = 0; i < 5 * VSW_LEADER_LATE; i++) {
		g_assert_cmpuint(message_wait(&e), >=, VSW_LEADER_TICK);
		poll_for(&e, VSW_LEADER_LATE_WITHIN, 10000);
		g_assert_false(vsw_leader_beside(&e.leader));
	}
}

static void
test_leader(void)
{
	struct engine e RI_AT_END(engine_stop);
	int fd = -2;

	engine_start(&e, false, true);
	vsw_leader_leave(&e.leader); /* a thread that did not enter: no effect */
	g_assert_cmpuint(state_of(&e), ==, W);
	g_assert_true(vsw_leader_enter(&e.leader, &fd));
	g_assert_cmpint(fd, ==, e.fd);
	g_assert_cmpuint(runs_of(&e), ==, 1); /* held-back work is done before the thread sleeps */
	g_assert_false(vsw_leader_enter(&e.leader, &fd));
	g_assert_false(vsw_leader_attended(&e.leader));
	make_readable(&e);
	vth_advance(e.vth, 10 * VSW_LEADER_TICK);
	g_assert_cmpuint(runs_of(&e), ==, 0); /* only the leader */
	vsw_leader_polled(&e.leader);
	g_assert_cmpuint(state_of(&e), ==, P);
	vsw_leader_leave(&e.leader);
	g_assert_cmpuint(state_of(&e), ==, T);
	vth_advance(e.vth, 2 * VSW_LEADER_TICK);
	g_assert_cmpuint(state_of(&e), ==, W);
	g_assert_cmpuint(runs_of(&e), >=, 1);
	g_assert_true(vsw_leader_enter(&e.leader, &fd));
	vsw_leader_leave(&e.leader);
}

static void
test_request_run(void)
{
	struct engine e RI_AT_END(engine_stop);
	int fd = -1;

	engine_start(&e, false, false);
	vsw_leader_request_run(&e.leader);
	vsw_leader_request_run(&e.leader);
	vth_run(e.vth);
	g_assert_cmpuint(runs_of(&e), ==, 1);
	vsw_leader_polled(&e.leader);
	vsw_leader_request_run(&e.leader);
	vth_run(e.vth);
	g_assert_cmpuint(runs_of(&e), ==, 1);
	g_assert_cmpuint(state_of(&e), ==, W);
	g_assert_true(vsw_leader_enter(&e.leader, &fd));
	g_assert_cmpint(fd, ==, -1);
	runs_of(&e);
	vsw_leader_request_run(&e.leader);
	vth_run(e.vth);
	g_assert_cmpuint(runs_of(&e), ==, 1);
	g_assert_cmpuint(state_of(&e), ==, P);
	vsw_leader_leave(&e.leader);
	vth_advance(e.vth, 4 * VSW_LEADER_TICK);
}

/* A thread that is woken while another one runs the engine gives its processor away each time, and has that one look once more. */
static void
test_taken(void)
{
	struct vsw_role role = {0};
	struct engine e;

	engine_start(&e, false, true);
	g_assert_true(vsw_leader_take(&e.leader, &role));
	g_assert_cmpuint(vth_relaxed(e.vth), ==, 0);
	for (unsigned i = 1; i <= 40; i++) {
		g_assert_false(vsw_leader_take(&e.leader, &role));
		g_assert_cmpuint(vth_relaxed(e.vth), ==, i);
		g_assert_cmpuint(atomic_load(&e.leader.futile), ==, i);
	}
	g_assert_true(vsw_role_drop(&role)); /* the owner does one more round */
	vsw_role_begin(&role);
	g_assert_false(vsw_role_drop(&role));
	g_assert_true(vsw_leader_take(&e.leader, &role));
	g_assert_cmpuint(atomic_load(&e.leader.futile), ==, 0);
	g_assert_cmpuint(vth_relaxed(e.vth), ==, 40);
	engine_stop(&e);
}

/* Beside a thread that looks at its memory the one that finds the engine taken sleeps at once: what it yields, that one would use up. */
static void
test_taken_from_memory(void)
{
	struct vsw_role role = {.taken = 1};
	struct engine e RI_AT_END(engine_stop);

	engine_start(&e, false, true);
	g_assert_false(vsw_leader_take(&e.leader, &role));
	g_assert_cmpuint(vth_napped(e.vth), ==, 0);
	for (unsigned i = 0; i < VSW_LEADER_LATE; i++)
		(void)message_wait(&e);
	g_assert_false(vsw_leader_take(&e.leader, &role));
	g_assert_cmpuint(vth_napped(e.vth), ==, 1);
}

/* --- threads ----------------------------------------------------------------------------- */

static void *
application(void *arg)
{
	struct engine *e = arg;
	g_autoptr(GRand) dice = g_rand_new_with_seed(GPOINTER_TO_UINT(&arg) & 0xff);

	for (guint i = 0; i < 3000; i++) {
		int fd = -1;
		switch (g_rand_int_range(dice, 0, 4)) {
		case 0:
			atomic_store(&e->held, 1);
			if (!vsw_leader_hold(&e->leader))
				vsw_leader_request_run(&e->leader);
			break;
		case 1:
			if (vsw_leader_enter(&e->leader, &fd))
				vsw_leader_leave(&e->leader);
			break;
		case 2:
			make_readable(e);
			break;
		default:
			vsw_leader_polled(&e->leader);
			progress(e, 1);
			break;
		}
	}
	return NULL;
}

/* Threads do all of it at once; when they stop, no work is left undone. */
static void
test_nothing_is_left(void)
{
	struct engine e RI_AT_END(engine_stop);
	pthread_t thread[3];
	uint64_t word = 0;

	engine_start(&e, true, true);
	for (guint round = 0; round < 5; round++) {
		for (guint i = 0; i < G_N_ELEMENTS(thread); i++)
			g_assert_cmpint(pthread_create(&thread[i], NULL, application, &e), ==, 0);
		for (guint i = 0; i < G_N_ELEMENTS(thread); i++)
			pthread_join(thread[i], NULL);
		make_readable(&e);
		gint64 deadline = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
		while ((atomic_load(&e.held) != 0 || state_of(&e) != W) &&
		       g_get_monotonic_time() < deadline)
			g_usleep(200);
		g_assert_cmpuint(atomic_load(&e.held), ==, 0);
		g_assert_cmpuint(state_of(&e), ==, W);
	}
	unsigned runs = atomic_load(&e.runs);
	make_readable(&e);
	gint64 deadline = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
	while (atomic_load(&e.runs) == runs && g_get_monotonic_time() < deadline)
		g_usleep(200);
	g_assert_cmpuint(atomic_load(&e.runs), !=, runs);
	g_usleep(1000);
	g_assert_cmpint(read(e.fd, &word, sizeof(word)), <, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/leader/table", test_table);
	g_test_add_func("/vsw/leader/service-thread-watches", test_service_thread_watches);
	g_test_add_func("/vsw/leader/poller-takes-over", test_poller_takes_over);
	g_test_add_func("/vsw/leader/taken-over", test_taken_over);
	g_test_add_func("/vsw/leader/hold", test_hold);
	g_test_add_func("/vsw/leader/hold-and-poll", test_hold_and_poll);
	g_test_add_func("/vsw/leader/slow-polls", test_slow_polls);
	g_test_add_func("/vsw/leader/memory", test_memory);
	g_test_add_func("/vsw/leader/memory-mistaken", test_memory_mistaken);
	g_test_add_func("/vsw/leader/memory-seldom", test_memory_seldom);
	g_test_add_func("/vsw/leader/leader", test_leader);
	g_test_add_func("/vsw/leader/taken", test_taken);
	g_test_add_func("/vsw/leader/taken-from-memory", test_taken_from_memory);
	g_test_add_func("/vsw/leader/request-run", test_request_run);
	g_test_add_func("/vsw/leader/nothing-is-left", test_nothing_is_left);
	return g_test_run();
}
