/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Who drives a software engine: pollers, a sleeping leader, or the host's service thread.
 *
 * One word of state, one table, one function that writes the word. A change of state never waits
 * for anybody: it is one compare-and-swap. The host's watch and timer must follow the state, and the
 * calls that do it can be slow, so whoever changed the state tries for a role and, if somebody else
 * has it, leaves: the holder looks again before it lets go. So a poller never waits for the service
 * thread, nor the other way round.
 *
 * Two rules keep work from being forgotten:
 * - who holds work back queues it first and looks at vsw_lead_attended after; the tick changes the
 *   state first and runs the engine after; so one of the two sees the other;
 * - every change that takes the attention away (the idle tick, a leader that goes to sleep) runs the
 *   engine once after it.
 *
 * vsw_lead.pml is this file as a Promela model; its comments use the same names.
 *
 * Threads: everything from any thread; tick, kicked and readable run on the service thread.
 */
#include "vsw_lead.h"

#include <string.h>

struct rule {
	uint8_t next; /* enum vsw_lead_state */
	bool run;     /* run the engine then */
};

/* clang-format off */
static const struct rule rules[VSW_LEAD_STATE_COUNT][VSW_LEAD_EV_COUNT] = {
	[VSW_LEAD_WATCHING] = {
		[VSW_LEAD_EV_POLLED]    = { VSW_LEAD_TICKING,  false },
		[VSW_LEAD_EV_ENTERED]   = { VSW_LEAD_PARKED,   true },
		[VSW_LEAD_EV_TICK_BUSY] = { VSW_LEAD_WATCHING, false }, /* a timer from before */
		[VSW_LEAD_EV_TICK_IDLE] = { VSW_LEAD_WATCHING, false },
		[VSW_LEAD_EV_KICKED]    = { VSW_LEAD_WATCHING, true },
	},
	[VSW_LEAD_TICKING] = {
		[VSW_LEAD_EV_POLLED]    = { VSW_LEAD_TICKING,  false },
		[VSW_LEAD_EV_ENTERED]   = { VSW_LEAD_PARKED,   true },
		[VSW_LEAD_EV_TICK_BUSY] = { VSW_LEAD_TICKING,  false },
		[VSW_LEAD_EV_TICK_IDLE] = { VSW_LEAD_WATCHING, true },
		[VSW_LEAD_EV_KICKED]    = { VSW_LEAD_WATCHING, true },
	},
	[VSW_LEAD_PARKED] = {
		[VSW_LEAD_EV_POLLED]    = { VSW_LEAD_PARKED,   false },
		[VSW_LEAD_EV_LEFT]      = { VSW_LEAD_TICKING,  false },
		[VSW_LEAD_EV_TICK_BUSY] = { VSW_LEAD_PARKED,   false },
		[VSW_LEAD_EV_TICK_IDLE] = { VSW_LEAD_PARKED,   false },
		[VSW_LEAD_EV_KICKED]    = { VSW_LEAD_PARKED,   true },
	},
};
/* clang-format on */

enum vsw_lead_state
vsw_lead_rule(enum vsw_lead_state state, enum vsw_lead_event event, bool *run)
{
	const struct rule *rule = &rules[state][event];

	*run = rule->run;
	return (enum vsw_lead_state)rule->next;
}

/* Make watch and timer follow the state. Never waits. */
static void
settle(struct vsw_lead *lead)
{
	if (!vsw_role_take(&lead->role))
		return;
	do {
		vsw_role_begin(&lead->role);
		unsigned state = atomic_load(&lead->state);
		bool watch = state == VSW_LEAD_WATCHING && lead->fd >= 0;
		if (watch != lead->watch_on) {
			lead->watch_on = watch;
			lead->host->watch_change(lead->host->self, &lead->watch,
						 watch ? RI_WATCH_IN : 0);
		}
		if (state == VSW_LEAD_TICKING && atomic_exchange(&lead->timer_on, 1) == 0)
			lead->host->timer_start(lead->host->self, &lead->timer,
						lead->host->now(lead->host->self) + VSW_LEAD_TICK);
	} while (vsw_role_drop(&lead->role));
}

/* The only writer of the state. Returns whether the event was possible. */
static bool
step(struct vsw_lead *lead, enum vsw_lead_event event)
{
	unsigned state = atomic_load(&lead->state);
	const struct rule *rule = NULL;

	do {
		rule = &rules[state][event];
		if (rule->next == VSW_LEAD_NONE)
			return false;
	} while (!atomic_compare_exchange_strong(&lead->state, &state, rule->next));
	settle(lead);
	if (rule->run)
		lead->progress(lead->arg, VSW_LEAD_BUDGET);
	return true;
}

/* --- on the service thread --------------------------------------------------------------- */

static void
tick(void *arg)
{
	struct vsw_lead *lead = arg;
	unsigned long polls = atomic_load_explicit(&lead->polls, memory_order_relaxed);
	bool busy = polls != lead->seen;

	lead->seen = polls;
	atomic_store(&lead->timer_on, 0);
	step(lead, busy ? VSW_LEAD_EV_TICK_BUSY : VSW_LEAD_EV_TICK_IDLE);
}

static void
kicked(void *arg)
{
	struct vsw_lead *lead = arg;

	atomic_store(&lead->kicked, 0);
	step(lead, VSW_LEAD_EV_KICKED);
}

static void
readable(void *arg, uint32_t events)
{
	struct vsw_lead *lead = arg;

	(void)events;
	if (atomic_load(&lead->state) == VSW_LEAD_WATCHING)
		lead->progress(lead->arg, VSW_LEAD_BUDGET);
}

/* --- for the engine and its callers ------------------------------------------------------ */

enum ri_status
vsw_lead_start(struct vsw_lead *lead, const struct ri_host *host, int fd,
	       uint32_t (*progress)(void *arg, uint32_t budget), void *arg)
{
	memset(lead, 0, sizeof(*lead));
	lead->host = host;
	lead->fd = fd;
	lead->progress = progress;
	lead->arg = arg;
	lead->timer = (struct ri_timer){.fire = tick, .arg = lead};
	lead->task = (struct ri_task){.fire = kicked, .arg = lead};
	lead->watch =
		(struct ri_watch){.fire = readable, .arg = lead, .fd = fd, .events = RI_WATCH_IN};
	atomic_store(&lead->state, VSW_LEAD_WATCHING);
	lead->watch_on = fd >= 0;
	return fd >= 0 ? host->watch_start(host->self, &lead->watch) : RI_SUCCESS;
}

void
vsw_lead_stop(struct vsw_lead *lead)
{
	const struct ri_host *host = lead->host;

	host->task_stop(host->self, &lead->task);
	host->timer_stop(host->self, &lead->timer);
	if (lead->fd >= 0)
		host->watch_stop(host->self, &lead->watch);
}

/*
 * A tick that finds somebody polling was for nothing, and it took the processor from whoever polled: more
 * than 20 us each time on a virtual machine. So pollers put the tick off themselves. One put off too
 * late, or by a poller that overslept a change of state, is a tick "from before" in the table.
 */
static void
tick_put_off(struct vsw_lead *lead)
{
	uint64_t now = lead->host->now(lead->host->self);
	uint64_t before = atomic_load_explicit(&lead->put_off, memory_order_relaxed);

	if (now - before < VSW_LEAD_PUT_OFF ||
	    !atomic_compare_exchange_strong(&lead->put_off, &before, now))
		return;
	if (atomic_load(&lead->state) == VSW_LEAD_TICKING)
		lead->host->timer_start(lead->host->self, &lead->timer, now + VSW_LEAD_TICK);
}

void
vsw_lead_polled(struct vsw_lead *lead)
{
	/* Only whether it moved counts, so an increment lost between two pollers does not matter. */
	unsigned long polls = atomic_load_explicit(&lead->polls, memory_order_relaxed) + 1;

	atomic_store_explicit(&lead->polls, polls, memory_order_relaxed);
	/* Relaxed: a poll that sees the state of just before is one that came just before. */
	if (atomic_load_explicit(&lead->state, memory_order_relaxed) == VSW_LEAD_WATCHING)
		step(lead, VSW_LEAD_EV_POLLED);
	else if (polls % VSW_LEAD_LOOK == 0)
		tick_put_off(lead);
}

bool
vsw_lead_enter(struct vsw_lead *lead, int *fd)
{
	*fd = lead->fd;
	if (atomic_exchange(&lead->leading, 1) != 0)
		return false;
	return step(lead, VSW_LEAD_EV_ENTERED);
}

void
vsw_lead_leave(struct vsw_lead *lead)
{
	if (step(lead, VSW_LEAD_EV_LEFT))
		atomic_store(&lead->leading, 0);
}

void
vsw_lead_kick(struct vsw_lead *lead)
{
	if (atomic_exchange(&lead->kicked, 1) == 0)
		lead->host->task_run(lead->host->self, &lead->task);
}

bool
vsw_lead_attended(struct vsw_lead *lead)
{
	return atomic_load(&lead->state) == VSW_LEAD_TICKING;
}
