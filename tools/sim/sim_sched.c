/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The scheduler. The thread that passes the baton on chooses the next one: it executes the steps of the script that are due,
 * collects the threads that can run, and draws one. If none can run, time advances to the next event that is due; if there is no
 * such event, the run ends, with success or as a deadlock.
 *
 * A thread whose poll found nothing runs again only when another thread has done something since. When all threads that can run
 * find nothing, time advances; after SPINS_MAX such rounds without another step the run ends, since no thread makes progress.
 *
 * A step takes almost no virtual time, so a thread that can run would always go on before the next message arrives. With "chaos legal"
 * a thread sometimes gets no processor for a while, as on a machine with other work.
 */
#include "sim/sim.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kal_host_use.h"
#include "sim/sim_real.h"

#define STEP_NS        100 /* what a step and a look at a clock take */
#define SPINS_MAX      20000
#define SPIN_NS        1000 /* time moves by this, at first, when all polls find nothing */
#define SPIN_LATE      10   /* doublings of it */
#define CHANCE         8    /* one in CHANCE calls of the application is a switch */
#define CHANCE_THREADS 3    /* the same where threads share memory */
#define HESITATE       3    /* one in HESITATE calls that follow an empty poll */
#define LOOKS          100 /* at a clock, one after another, until a thread counts as one that polls */
#define LATE           4 /* one in LATE threads that could run gets no processor for a while */
#define LATE_MAX       3 /* the while at most, in times of a message ... */
#define LATE_NS \
	UINT64_C(300000) /* ... and at most this: a server has to begin before its clients */

_Thread_local struct sim_thread *sim_me;

static struct {
	uint64_t now;
	uint64_t happened; /* steps that were no empty polls */
	uint64_t progress; /* when something last happened that a program waits for */
	unsigned spins;
	struct sim_thread *threads;
	struct sim_random random, faults;
} sched;

struct sim_thread *
sim_threads(void)
{
	return sched.threads;
}

struct sim_random *
sim_faults(void)
{
	return &sched.faults;
}

uint64_t
sim_now(void)
{
	return sched.now;
}

uint64_t
sim_now_read(void)
{
	sched.now += STEP_NS;
	return sched.now;
}

void
sim_looked(const char *call)
{
	if (!sim_applies() || ++sim_me->looks < LOOKS)
		return;
	sim_me->call = call;
	sim_idle(call);
	sim_me->call = NULL;
	sim_me->looks = LOOKS;
}

bool
sim_applies(void)
{
	return sim_me != NULL && sim_me->node != NULL && sim_me->depth == 0;
}

/* --- the baton -------------------------------------------------------------------------------- */

static void
futex_op(uint32_t *word, int op, uint32_t value)
{
	(void)SIM_REAL(syscall)(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void
turn_give(struct sim_thread *thread)
{
	__atomic_store_n(&thread->turn, 1, __ATOMIC_SEQ_CST);
	futex_op(&thread->turn, FUTEX_WAKE_PRIVATE, 1);
}

static void
turn_wait(struct sim_thread *me)
{
	while (__atomic_exchange_n(&me->turn, 0, __ATOMIC_SEQ_CST) == 0)
		futex_op(&me->turn, FUTEX_WAIT_PRIVATE, 0);
	sim_options()->result->tid = me->tid;
}

/* --- which threads can run ---------------------------------------------------------------------- */

/* A thread of a node that has ended, or of an earlier life, runs only to leave the library. */
static bool
is_gone(const struct sim_thread *thread)
{
	const struct sim_node *node = thread->node;

	return node != NULL && !thread->reaper && thread->depth == 0 &&
	       (node->state == SIM_NODE_DIES || node->state == SIM_NODE_ENDED ||
		thread->life != node->lives);
}

static bool
is_held(const struct sim_thread *thread)
{
	return thread->not_before > sched.now ||
	       (thread->node != NULL && !thread->reaper && thread->node->paused > sched.now);
}

static bool
can_run(struct sim_thread *thread)
{
	if (thread->state == SIM_OVER || thread->state == SIM_FROZEN)
		return false;
	if (is_gone(thread)) {
		thread->state = SIM_FROZEN;
		return false;
	}
	if (is_held(thread))
		return false;
	if (thread->state == SIM_READY)
		return !thread->idle || thread->idle_seen != sched.happened;
	return thread->deadline <= sched.now || thread->ready(thread->arg);
}

/* When a thread that cannot run now will, if nothing happens. */
static uint64_t
runs_at(const struct sim_thread *thread)
{
	uint64_t held = thread->not_before;

	if (thread->state == SIM_OVER || thread->state == SIM_FROZEN)
		return RI_NEVER;
	if (thread->node != NULL && !thread->reaper && thread->node->paused > held)
		held = thread->node->paused;
	if (held > sched.now)
		return held; /* looked at again then */
	return thread->state == SIM_BLOCKED ? thread->deadline : RI_NEVER;
}

static bool
any_idle(void)
{
	for (struct sim_thread *thread = sched.threads; thread != NULL; thread = thread->next)
		if (thread->state == SIM_READY && thread->idle)
			return true;
	return false;
}

static uint64_t
next_time(void)
{
	uint64_t next = MIN(sim_script_next(), sim_host_next_timer());

	for (struct sim_thread *thread = sched.threads; thread != NULL; thread = thread->next)
		next = MIN(next, runs_at(thread));
	return next;
}

/* Has each node ended that the run waits for? */
static bool
all_ended(void)
{
	if (sim_script_will_start())
		return false;
	for (unsigned i = 0; i < sim_node_count(); i++) {
		const struct sim_node *node = sim_node_of(i);

		if (node->state == SIM_NODE_DIES ||
		    (node->state != SIM_NODE_ENDED && !node->plan->daemon))
			return false;
	}
	return true;
}

void
sim_progress(void)
{
	sched.progress = sched.now;
}

/* When all is healed, programs have to get on. */
static void
check_progress(uint64_t next)
{
	const uint64_t wanted = sim_scenario()->progress;
	g_autofree char *who = NULL, *text = NULL;
	uint64_t since;

	if (wanted == 0 || !sim_script_settled(&since) ||
	    next <= MAX(since, sched.progress) + wanted)
		return;
	sched.now = MAX(sched.now, MAX(since, sched.progress) + wanted);
	who = sim_who_waits();
	text = g_strdup_printf("nothing has happened since %" G_GUINT64_FORMAT " ms:\n%s",
			       MAX(since, sched.progress) / 1000000, who);
	sim_stuck("no progress", text);
}

static void
check_limits(uint64_t next)
{
	const uint64_t until = sim_scenario()->until;
	g_autofree char *text = NULL;
	char *who;

	check_progress(next);

	if (next <= until && sim_options()->result->steps < sim_options()->steps_max)
		return;
	who = sim_who_waits();
	if (next <= until)
		sim_fail("too many steps",
			 "the run has not ended after %" G_GUINT64_FORMAT " steps:\n%s",
			 sim_options()->steps_max, who);
	sched.now = until;
	text = g_strdup_printf("time is up, at %" G_GUINT64_FORMAT " ms:\n%s", until / 1000000,
			       who);
	sim_stuck("time is up", text);
}

static void
move_time(uint64_t next)
{
	check_limits(next);
	if (next > sched.now)
		sched.now = next;
	sched.happened++;
}

/* No thread can run. */
static void
wait_for_something(void)
{
	uint64_t next = next_time();
	bool idle = any_idle();

	if (next != RI_NEVER && (!idle || next > sched.now)) {
		/* Threads that poll see the time in small steps, since they may look at a clock. */
		uint64_t step = (uint64_t)SPIN_NS << MIN(sched.spins, SPIN_LATE);

		if (idle && next > sched.now + step)
			next = sched.now + step;
		if (idle)
			sched.spins++;
		move_time(next);
		return;
	}
	if (!idle) {
		g_autofree char *who = sim_who_waits();
		g_autofree char *text = g_strdup_printf(
			"deadlock: no thread can run, and nothing will happen:\n%s", who);

		sim_stuck("deadlock", text);
	}
	if (++sched.spins > SPINS_MAX) {
		g_autofree char *who = sim_who_waits();
		g_autofree char *text = g_strdup_printf(
			"no progress: threads poll and find nothing, and nothing else happens:\n%s",
			who);

		sim_stuck("no progress", text);
	}
	move_time(sched.now + ((uint64_t)SPIN_NS << MIN(sched.spins, SPIN_LATE)));
}

/* It gets no processor for a while, and then one for as long at least: a program that needs little time to begin is late by one while. */
static void
be_late(struct sim_thread *thread)
{
	const uint64_t most = MIN(LATE_MAX * sim_scenario()->wire, LATE_NS);
	const uint64_t time = 1 + sim_random_below(&sched.random, most);

	thread->not_before = sched.now + time;
	thread->on_time = thread->not_before + time;
	sim_note(thread, "waits for a processor", "");
}

/* Does it happen to a thread that was drawn? A thread whose polls find nothing loses nothing by waiting. */
static bool
is_late(struct sim_thread *thread)
{
	if (!sim_scenario()->legal || thread->node == NULL || thread->reaper || thread->idle ||
	    sched.now < thread->on_time || sim_random_below(&sched.random, LATE) != 0)
		return false;
	be_late(thread);
	return true;
}

static struct sim_thread *
pick(void)
{
	for (;;) {
		struct sim_thread *chosen = NULL;
		uint64_t count = 0;

		sim_doors_look();
		while (sim_script_do())
			sched.happened++;
		if (all_ended())
			sim_finish();
		for (struct sim_thread *thread = sched.threads; thread != NULL;
		     thread = thread->next)
			count += can_run(thread);
		if (count == 0) {
			wait_for_something();
			continue;
		}
		count = sim_random_below(&sched.random, count);
		for (struct sim_thread *thread = sched.threads; chosen == NULL;
		     thread = thread->next)
			if (can_run(thread) && count-- == 0)
				chosen = thread;
		if (!is_late(chosen))
			return chosen;
	}
}

/* Give the baton away; returns when this thread has it again, if it ever does. */
static void
sim_switch(void)
{
	struct sim_thread *me = sim_me, *next;

	sim_test_check();
	next = pick();
	sched.now += STEP_NS;
	check_limits(sched.now);
	if (!next->idle) {
		sched.happened++;
		sched.spins = 0;
	}
	if (next->node != NULL && next->node->slow > 1)
		next->not_before = sched.now + STEP_NS * next->node->slow;
	sim_note(next, next->state == SIM_BLOCKED ? next->wait : "runs", "");
	sim_node_streams(next->node);
	if (next == me)
		return;
	/* Until the next one has it: this one sleeps, and another has not begun yet, which says nothing about the program. */
	sim_options()->result->tid = 0;
	turn_give(next);
	if (me == NULL)
		return;
	if (me->state == SIM_OVER)
		return;
	turn_wait(me);
}

/* --- what threads call ----------------------------------------------------------------------------- */

bool
sim_block(const char *wait, bool (*ready)(void *arg), void *arg, uint64_t deadline)
{
	struct sim_thread *me = sim_me;
	bool met;

	me->state = SIM_BLOCKED;
	me->looks = 0;
	me->wait = wait;
	me->since = sched.now;
	me->deadline = deadline;
	me->ready = ready;
	me->arg = arg;
	me->idle = false;
	sim_switch();
	me->state = SIM_READY;
	met = ready(arg);
	me->detail[0] = '\0';
	return met;
}

void
sim_yield(const char *why)
{
	sim_me->wait = why;
	sim_me->since = sched.now;
	sim_me->state = SIM_READY;
	sim_me->idle = false;
	sim_switch();
}

void
sim_idle(const char *why)
{
	sim_me->wait = why;
	if (!sim_me->idle)
		sim_me->since = sched.now;
	sim_me->state = SIM_READY;
	sim_me->looks = 0;
	sim_me->idle = true;
	sim_me->idle_seen = sched.happened;
	sim_switch();
	/* The flag stays until the thread does something other than an empty poll. */
}

void
sim_chance(const char *call)
{
	const bool shared = sim_me->node != NULL && sim_me->node->threads > 1;

	sim_me->call = call;
	sim_me->idle = false;
	sim_me->looks = 0;
	if (sim_random_below(&sched.random, shared ? CHANCE_THREADS : CHANCE) == 0 ||
	    is_gone(sim_me))
		sim_yield(call);
}

void
sim_hesitate(const char *call)
{
	if (!sim_applies() || !sim_scenario()->legal || sched.now < sim_me->on_time ||
	    sim_random_below(&sched.random, HESITATE) != 0)
		return;
	be_late(sim_me);
	sim_me->call = call;
	sim_yield(call);
}

void
sim_enter(const char *call)
{
	if (sim_me == NULL)
		return;
	/* A further empty poll of the same thread is not a step. */
	if (sim_me->depth == 0 && sim_me->node != NULL && (!sim_me->idle || sim_me->wait != call))
		sim_chance(call);
	sim_me->call = call;
	sim_me->depth++;
}

void
sim_leave(void)
{
	if (sim_me == NULL || --sim_me->depth > 0)
		return;
	if (is_gone(sim_me))
		sim_yield(sim_me->call);
	sim_me->call = NULL;
}

static void *
thread_main(void *arg)
{
	struct sim_thread *me = (struct sim_thread *)arg;

	sim_me = me;
	me->tid = (pid_t)SIM_REAL(syscall)(SYS_gettid);
	if (me->node != NULL && me->number == 1)
		sim_node_enter();
	itapi_host_use(&sim_host);
	sim_verbs_thread(me->node, true);
	turn_wait(me);
	me->value = me->body(me->body_arg);
	sim_thread_over();
}

/* Has this thread's program another one, which can still go on? */
static bool
has_others(const struct sim_thread *me)
{
	for (const struct sim_thread *thread = sched.threads; thread != NULL; thread = thread->next)
		if (thread != me && thread->node == me->node && thread->life == me->life &&
		    !thread->reaper && thread->state != SIM_OVER)
			return true;
	return false;
}

/* Is it a thread of a program that runs? */
static bool
is_alive(const struct sim_thread *me)
{
	return me->node != NULL && !me->reaper && me->node->state == SIM_NODE_RUNS &&
	       me->life == me->node->lives;
}

void
sim_thread_over(void)
{
	if (is_alive(sim_me))
		sim_locals_over();
	if (is_alive(sim_me) && !has_others(sim_me)) {
		/* The last thread of a process ends it. */
		sim_process_over();
		sim_node_end(sim_me->node, 0, false);
	}
	sim_me->returned = true;
	sim_me->state = SIM_OVER;
	itapi_host_use(NULL);
	sim_verbs_thread(sim_me->node, false);
	sim_note(sim_me, "ends", "");
	sim_switch();
	for (;;)
		futex_op(&sim_me->turn, FUTEX_WAIT_PRIVATE, 0);
}

struct sim_thread *
sim_thread_new(struct sim_node *node, void *(*body)(void *), void *arg, size_t stack)
{
	struct sim_thread *thread = g_new0(struct sim_thread, 1);
	pthread_attr_t attr;
	int error;

	thread->node = node;
	thread->number = node != NULL ? ++node->threads : 0;
	thread->life = node != NULL ? node->lives : 0;
	thread->body = body;
	thread->body_arg = arg;
	thread->deadline = RI_NEVER;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (stack > 0)
		(void)pthread_attr_setstacksize(&attr, stack);
	error = SIM_REAL(pthread_create)(&thread->real, &attr, thread_main, thread);
	pthread_attr_destroy(&attr);
	if (error != 0) {
		g_free(thread);
		return NULL;
	}
	thread->next = sched.threads;
	sched.threads = thread;
	return thread;
}

void
sim_run(struct sim_scenario *scenario, const struct sim_options *options)
{
	static uint32_t forever;

	sim_end_begin(scenario, options);
	sim_random_seed(&sched.random, options->seed, "schedule");
	sim_random_seed(&sched.faults, options->seed, "faults");
	sched.now = 1;
	sim_nodes_make(scenario, options->seed);
	sim_script_begin();
	sim_doors_begin();
	sim_host_begin();
	sim_switch();
	for (;;)
		futex_op(&forever, FUTEX_WAIT_PRIVATE, 0);
}
