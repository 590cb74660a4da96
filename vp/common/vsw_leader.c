/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Which thread runs a software engine: a polling thread, a sleeping leader, or the host's service thread.
 *
 * There is one word of state, one table, and one function that writes the word. A change of state is one
 * compare-and-swap and never waits. The host's watch and timer must follow the state, and the calls that change
 * them can be slow. So a thread that has changed the state tries to take a role. If another thread owns the role,
 * it sets the role's retry flag and returns, and the owner reads the state again before it releases the role. So
 * a polling thread never waits for the service thread, nor the service thread for it.
 *
 * Two rules keep work from being forgotten:
 * - a thread that holds work back queues it first and then calls vsw_leader_hold, which reads the state; the tick
 *   changes the state first and then runs the engine; so one of the two sees what the other did;
 * - each change after which no thread polls any more (the idle tick, a leader that goes to sleep) runs the
 *   engine once.
 *
 * vsw_leader.pml is a Promela model of this file, with the same names.
 *
 * Threads: any; leader_tick, leader_run and leader_fd_readable run on the service thread.
 */
#include "vsw_leader.h"

#include <string.h>
#include <sys/param.h>

#include "vsw_relax.h"

#define FUTILE_RUNS 16 /* after which a thread that is woken for nothing naps */

struct leader_rule {
	uint8_t next; /* enum vsw_leader_state */
	bool run;     /* run the engine then */
};

/* clang-format off */
static const struct leader_rule leader_rules[VSW_LEADER_STATE_COUNT][VSW_LEADER_EV_COUNT] = {
	[VSW_LEADER_WATCHING] = {
		[VSW_LEADER_EV_POLLED]        = { VSW_LEADER_TICKING,  false },
		[VSW_LEADER_EV_ENTERED]       = { VSW_LEADER_PARKED,   true },
		[VSW_LEADER_EV_TICK_BUSY]     = { VSW_LEADER_WATCHING, false }, /* started in TICKING */
		[VSW_LEADER_EV_TICK_IDLE]     = { VSW_LEADER_WATCHING, false },
		[VSW_LEADER_EV_RUN_REQUESTED] = { VSW_LEADER_WATCHING, true },
	},
	[VSW_LEADER_TICKING] = {
		[VSW_LEADER_EV_POLLED]        = { VSW_LEADER_TICKING,  false },
		[VSW_LEADER_EV_ENTERED]       = { VSW_LEADER_PARKED,   true },
		[VSW_LEADER_EV_TICK_BUSY]     = { VSW_LEADER_TICKING,  false },
		[VSW_LEADER_EV_TICK_IDLE]     = { VSW_LEADER_WATCHING, true },
		[VSW_LEADER_EV_RUN_REQUESTED] = { VSW_LEADER_WATCHING, true },
	},
	[VSW_LEADER_PARKED] = {
		[VSW_LEADER_EV_POLLED]        = { VSW_LEADER_PARKED,   false },
		[VSW_LEADER_EV_LEFT]          = { VSW_LEADER_TICKING,  false },
		[VSW_LEADER_EV_TICK_BUSY]     = { VSW_LEADER_PARKED,   false },
		[VSW_LEADER_EV_TICK_IDLE]     = { VSW_LEADER_PARKED,   false },
		[VSW_LEADER_EV_RUN_REQUESTED] = { VSW_LEADER_PARKED,   true },
	},
};
/* clang-format on */

enum vsw_leader_state
vsw_leader_rule(enum vsw_leader_state state, enum vsw_leader_event event, bool *run)
{
	const struct leader_rule *rule = &leader_rules[state][event];

	*run = rule->run;
	return (enum vsw_leader_state)rule->next;
}

static void
tick_start(struct vsw_leader *leader, uint64_t now, uint64_t length)
{
	atomic_store(&leader->tick, length);
	leader->host->timer_start(leader->host->self, &leader->timer, now + length);
}

/* Does the state let the service thread watch? */
static bool
watch_wanted(struct vsw_leader *leader, unsigned state)
{
	return state == VSW_LEADER_WATCHING ||
	       (state == VSW_LEADER_TICKING && vsw_leader_beside(leader));
}

/* Change the watch and the timer to what the state and a trial say. Never waits. */
static void
watch_and_timer_follow(struct vsw_leader *leader)
{
	if (!vsw_role_take(&leader->role))
		return;
	do {
		vsw_role_begin(&leader->role);
		unsigned state = atomic_load(&leader->state);
		bool watch = leader->fd >= 0 && watch_wanted(leader, state);
		if (watch != leader->watch_on) {
			leader->watch_on = watch;
			leader->host->watch_change(leader->host->self, &leader->watch,
						   watch ? RI_WATCH_IN : 0);
		}
		if (state == VSW_LEADER_TICKING && atomic_exchange(&leader->timer_on, 1) == 0)
			tick_start(leader, leader->host->now(leader->host->self), VSW_LEADER_TICK);
	} while (vsw_role_drop(&leader->role));
}

/* The only function that writes the state. Returns whether the table allows the event. *done, or NULL: what a run found. */
static bool
leader_step(struct vsw_leader *leader, enum vsw_leader_event event, uint32_t *done)
{
	unsigned state = atomic_load(&leader->state);
	const struct leader_rule *rule = NULL;

	do {
		rule = &leader_rules[state][event];
		if (rule->next == VSW_LEADER_NONE)
			return false;
		/* Before the state, so that no thread takes the time of an earlier polling for that of this one. */
		if (rule->next == VSW_LEADER_TICKING && state != VSW_LEADER_TICKING)
			atomic_store(&leader->since, leader->host->now(leader->host->self));
	} while (!atomic_compare_exchange_strong(&leader->state, &state, rule->next));
	watch_and_timer_follow(leader);
	uint32_t found = rule->run ? leader->progress(leader->arg, VSW_LEADER_BUDGET) : 0;
	if (done != NULL)
		*done = found;
	return true;
}

/* --- on the service thread --------------------------------------------------------------- */

/* A message waited for the tick. Begin a trial if that happens often, or soon after the last one. */
static void
message_late(struct vsw_leader *leader, uint64_t now)
{
	bool again = leader->trial != 0 && now - atomic_load(&leader->trial_end) < VSW_LEADER_AGAIN;

	leader->late = now - leader->late_at < VSW_LEADER_LATE_WITHIN ? leader->late + 1 : 1;
	leader->late_at = now;
	if (!again && leader->late < leader->late_needed)
		return;
	if (again) {
		leader->late_needed = VSW_LEADER_LATE;
		leader->trial = MIN(2 * leader->trial, VSW_LEADER_TRIAL_MAX);
	} else {
		leader->late_needed = MIN(2 * leader->late_needed, VSW_LEADER_LATE_MAX);
		leader->trial = VSW_LEADER_TRIAL;
	}
	atomic_store(&leader->trial_end, now + leader->trial);
	atomic_store(&leader->beside, true);
	watch_and_timer_follow(leader);
}

static void
leader_tick(void *arg)
{
	struct vsw_leader *leader = arg;
	unsigned long polls = atomic_load_explicit(&leader->polls, memory_order_relaxed);
	bool busy = polls != leader->seen;
	uint32_t done = 0;

	leader->seen = polls;
	atomic_store(&leader->timer_on, 0);
	leader_step(leader, busy ? VSW_LEADER_EV_TICK_BUSY : VSW_LEADER_EV_TICK_IDLE, &done);
	if (done != 0)
		message_late(leader, leader->host->now(leader->host->self));
}

static void
leader_run(void *arg)
{
	struct vsw_leader *leader = arg;

	atomic_store(&leader->run_requested, 0);
	leader_step(leader, VSW_LEADER_EV_RUN_REQUESTED, NULL);
}

static void
leader_fd_readable(void *arg, uint32_t events)
{
	struct vsw_leader *leader = arg;

	(void)events;
	if (watch_wanted(leader, atomic_load(&leader->state)))
		leader->progress(leader->arg, VSW_LEADER_BUDGET);
}

/* --- for the engine and its callers ------------------------------------------------------ */

enum ri_status
vsw_leader_start(struct vsw_leader *leader, const struct ri_host *host, int fd,
		 uint32_t (*progress)(void *arg, uint32_t budget), void *arg)
{
	memset(leader, 0, sizeof(*leader));
	leader->host = host;
	leader->fd = fd;
	leader->progress = progress;
	leader->arg = arg;
	leader->late_needed = VSW_LEADER_LATE;
	leader->timer = (struct ri_timer){.fire = leader_tick, .arg = leader};
	leader->task = (struct ri_task){.fire = leader_run, .arg = leader};
	leader->watch = (struct ri_watch){
		.fire = leader_fd_readable, .arg = leader, .fd = fd, .events = RI_WATCH_IN};
	atomic_store(&leader->state, VSW_LEADER_WATCHING);
	leader->watch_on = fd >= 0;
	return fd >= 0 ? host->watch_start(host->self, &leader->watch) : RI_SUCCESS;
}

void
vsw_leader_stop(struct vsw_leader *leader)
{
	const struct ri_host *host = leader->host;

	host->task_stop(host->self, &leader->task);
	host->timer_stop(host->self, &leader->timer);
	if (leader->fd >= 0)
		host->watch_stop(host->self, &leader->watch);
}

/*
 * The length of a tick. A thread that has polled for long will probably go on polling, so the ticks
 * become longer. But if requests are held back, a short tick is needed, which sends them.
 */
static uint64_t
tick_length(struct vsw_leader *leader, uint64_t now)
{
	uint64_t since = atomic_load(&leader->since);
	/* Another thread may have begun to poll anew after this one read the clock. */
	uint64_t length = now > since ? (now - since) / VSW_LEADER_TICK_SHARE : 0;

	if (atomic_exchange(&leader->holds, false) || length < VSW_LEADER_TICK)
		return VSW_LEADER_TICK;
	return length < VSW_LEADER_TICK_MAX ? length : VSW_LEADER_TICK_MAX;
}

/*
 * A tick that finds a thread polling changes nothing, and it takes the processor from that thread: more than 20 us each
 * time on a virtual machine. So polling threads postpone the tick themselves. That has a cost, too: if the deadline
 * comes before the kernel's own tick, a clock interrupt must be set, which takes 9 us on a virtual machine. A tick that
 * was postponed too late, or by a thread that missed a change of state, fires in a state other than the one it was
 * started in; the table allows that.
 */
static __attribute__((noinline)) void
tick_postpone(struct vsw_leader *leader)
{
	uint64_t now = leader->host->now(leader->host->self);
	uint64_t before = atomic_load_explicit(&leader->postponed, memory_order_relaxed);
	uint64_t looked = atomic_load_explicit(&leader->looked, memory_order_relaxed);

	atomic_store_explicit(&leader->looked, now, memory_order_relaxed);
	atomic_store_explicit(&leader->polls_slow, now - looked > VSW_LEADER_SLOW,
			      memory_order_relaxed);
	if (vsw_leader_beside(leader) && now >= atomic_load(&leader->trial_end)) {
		atomic_store(&leader->beside, false);
		watch_and_timer_follow(leader);
	}
	if (now - before < atomic_load_explicit(&leader->tick, memory_order_relaxed) / 5 * 3 ||
	    atomic_load(&leader->state) != VSW_LEADER_TICKING)
		return;
	/* One thread at a time. If it is interrupted here, the tick fires, and finds that others poll. */
	if (atomic_exchange(&leader->postponing, true))
		return;
	uint64_t length = tick_length(leader, now);
	atomic_store_explicit(&leader->postponed, now, memory_order_relaxed);
	tick_start(leader, now, length);
	/* vsw_leader_hold sets the flag and then reads the length: one of the two sees what the other did. */
	if (length > VSW_LEADER_TICK && atomic_load(&leader->holds))
		tick_start(leader, now, VSW_LEADER_TICK);
	atomic_store(&leader->postponing, false);
}

void
vsw_leader_polled(struct vsw_leader *leader)
{
	/* The tick only compares for change, so an increment lost between two threads is harmless. */
	unsigned long polls = atomic_load_explicit(&leader->polls, memory_order_relaxed) + 1;

	atomic_store_explicit(&leader->polls, polls, memory_order_relaxed);
	/* Relaxed: a poll that reads an old state counts as one before the change. */
	if (atomic_load_explicit(&leader->state, memory_order_relaxed) == VSW_LEADER_WATCHING)
		leader_step(leader, VSW_LEADER_EV_POLLED, NULL);
	else if (polls % VSW_LEADER_CLOCK_POLLS == 0 ||
		 atomic_load_explicit(&leader->polls_slow, memory_order_relaxed))
		tick_postpone(leader);
}

bool
vsw_leader_enter(struct vsw_leader *leader, int *fd)
{
	*fd = leader->fd;
	if (atomic_exchange(&leader->leader_inside, 1) != 0)
		return false;
	return leader_step(leader, VSW_LEADER_EV_ENTERED, NULL);
}

void
vsw_leader_leave(struct vsw_leader *leader)
{
	if (leader_step(leader, VSW_LEADER_EV_LEFT, NULL))
		atomic_store(&leader->leader_inside, 0);
}

void
vsw_leader_request_run(struct vsw_leader *leader)
{
	if (atomic_exchange(&leader->run_requested, 1) == 0)
		leader->host->task_run(leader->host->self, &leader->task);
}

bool
vsw_leader_hold(struct vsw_leader *leader)
{
	if (!vsw_leader_attended(leader))
		return false;
	/* Relaxed: whoever clears the flag after this makes the tick short. */
	if (atomic_load_explicit(&leader->holds, memory_order_relaxed))
		return true;
	atomic_store(&leader->holds, true);
	if (atomic_load(&leader->tick) > VSW_LEADER_TICK)
		tick_start(leader, leader->host->now(leader->host->self), VSW_LEADER_TICK);
	return true;
}

bool
vsw_leader_take(struct vsw_leader *leader, struct vsw_role *role)
{
	if (vsw_role_take(role)) {
		atomic_store_explicit(&leader->futile, 0, memory_order_relaxed);
		return true;
	}
	/* A thread that looks at its memory uses a processor that it is given for its whole time slice; after a nap this one gets it back. */
	bool yields =
		atomic_fetch_add(&leader->futile, 1) < FUTILE_RUNS && !vsw_leader_beside(leader);

	vsw_relax(leader->host, yields ? RI_RELAX_SPINS : RI_RELAX_YIELDS);
	return false;
}

bool
vsw_leader_attended(struct vsw_leader *leader)
{
	return atomic_load(&leader->state) == VSW_LEADER_TICKING;
}
