/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The host table of the library in a run: virtual time, random numbers of the node, one service thread for all adapters. All nodes
 * have the same table, so all adapters are on one fabric. The seed decides which of several tasks and due timers runs first.
 */
#include "sim/sim.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "sim/sim_real.h"

static struct {
	struct sim_thread *service;
	GPtrArray *timers; /* of struct ri_timer, by their deadline (link.n[0]), then by age */
	GPtrArray *tasks;
	GPtrArray *watches;
	const void *running;
	struct sim_random order, random;
} host;

static uint64_t
host_now(void *self)
{
	(void)self;
	return sim_now_read();
}

static void
host_random(void *self, void *buf, size_t len)
{
	struct sim_random *random = &host.random;
	uint8_t *octets = (uint8_t *)buf;

	(void)self;
	if (sim_me != NULL && sim_me->node != NULL)
		random = &sim_me->node->random;
	for (size_t i = 0; i < len; i++)
		octets[i] = (uint8_t)(sim_random_draw(random) >> 32);
}

/* --- timers, tasks, watches ------------------------------------------------------------------- */

static bool
is_still(void *item)
{
	return host.running != item;
}

/* Wait until the function of an item does not run, unless this is the thread that runs it. */
static void
wait_for(GPtrArray *list, void *item)
{
	g_ptr_array_remove(list, item);
	while (host.running == item && sim_me != NULL && sim_me != host.service) {
		(void)sim_block("stop of a timer", is_still, item, RI_NEVER);
		g_ptr_array_remove(list, item);
	}
}

static void
host_timer_start(void *self, struct ri_timer *timer, uint64_t deadline)
{
	guint at = 0;

	(void)self;
	g_ptr_array_remove(host.timers, timer);
	if (deadline == RI_NEVER)
		return;
	timer->link.n[0] = deadline;
	while (at < host.timers->len &&
	       ((struct ri_timer *)host.timers->pdata[at])->link.n[0] <= deadline)
		at++;
	g_ptr_array_insert(host.timers, (gint)at, timer);
}

static void
host_timer_stop(void *self, struct ri_timer *timer)
{
	(void)self;
	wait_for(host.timers, timer);
}

static void
host_task_run(void *self, struct ri_task *task)
{
	(void)self;
	if (!g_ptr_array_find(host.tasks, task, NULL))
		g_ptr_array_add(host.tasks, task);
}

static void
host_task_stop(void *self, struct ri_task *task)
{
	(void)self;
	wait_for(host.tasks, task);
}

static enum ri_status
host_watch_start(void *self, struct ri_watch *watch)
{
	(void)self;
	g_ptr_array_add(host.watches, watch);
	return RI_SUCCESS;
}

static void
host_watch_change(void *self, struct ri_watch *watch, uint32_t events)
{
	(void)self;
	watch->events = events;
}

static void
host_watch_stop(void *self, struct ri_watch *watch)
{
	(void)self;
	wait_for(host.watches, watch);
}

uint64_t
sim_host_next_timer(void)
{
	return host.timers->len > 0 ? ((struct ri_timer *)host.timers->pdata[0])->link.n[0]
				    : RI_NEVER;
}

/* --- the service thread --------------------------------------------------------------------------- */

/* What is ready at a watched descriptor. */
static uint32_t
watch_ready(const struct ri_watch *watch)
{
	short events = (short)(((watch->events & RI_WATCH_IN) != 0 ? POLLIN : 0) |
			       ((watch->events & RI_WATCH_OUT) != 0 ? POLLOUT : 0));
	struct pollfd fd = {.fd = watch->fd, .events = events};

	if (watch->events == 0 || SIM_REAL(poll)(&fd, 1, 0) <= 0)
		return 0;
	return ((fd.revents & POLLIN) != 0 ? (uint32_t)RI_WATCH_IN : 0) |
	       ((fd.revents & POLLOUT) != 0 ? (uint32_t)RI_WATCH_OUT : 0) |
	       ((fd.revents & (POLLERR | POLLHUP)) != 0 ? (uint32_t)RI_WATCH_ERR | RI_WATCH_IN : 0);
}

static struct ri_watch *
watch_find(uint32_t *events)
{
	for (guint i = 0; i < host.watches->len; i++) {
		*events = watch_ready(host.watches->pdata[i]);
		if (*events != 0)
			return host.watches->pdata[i];
	}
	return NULL;
}

static bool
has_work(void *unused)
{
	uint32_t events;

	(void)unused;
	return host.tasks->len > 0 || sim_host_next_timer() <= sim_now() ||
	       watch_find(&events) != NULL;
}

static void
run_one(void)
{
	bool due = sim_host_next_timer() <= sim_now();
	uint32_t events = 0;
	uint64_t drawn;

	if (host.tasks->len + due == 0) {
		struct ri_watch *watch = watch_find(&events);

		if (watch == NULL)
			return;
		host.running = watch;
		watch->fire(watch->arg, events);
		return;
	}
	drawn = sim_random_below(&host.order, host.tasks->len + due);
	if (drawn < host.tasks->len) {
		struct ri_task *task = g_ptr_array_remove_index(host.tasks, (guint)drawn);

		host.running = task;
		task->fire(task->arg);
	} else {
		struct ri_timer *timer = g_ptr_array_remove_index(host.timers, 0);

		host.running = timer;
		timer->fire(timer->arg);
	}
}

static void *
service_main(void *unused)
{
	sim_me->depth = 1; /* all of it is the library */
	for (;;) {
		(void)sim_block("the adapters", has_work, unused, RI_NEVER);
		run_one();
		host.running = NULL;
	}
	return NULL;
}

/* --- sleep --------------------------------------------------------------------------------------------- */

struct parked {
	struct ri_parker *parker;
	struct pollfd fds[16];
	nfds_t count;
};

static bool
is_woken(void *arg)
{
	struct parked *parked = (struct parked *)arg;

	return parked->parker->word != 0 ||
	       (parked->count > 0 && SIM_REAL(poll)(parked->fds, parked->count, 0) > 0);
}

static enum ri_status
host_park(void *self, struct ri_parker *parker, const int *fds, uint32_t nfds, uint64_t deadline)
{
	struct parked parked = {.parker = parker, .count = nfds};
	bool woken;

	(void)self;
	if (nfds > G_N_ELEMENTS(parked.fds))
		return RI_ERR_INVALID_ARG;
	for (uint32_t i = 0; i < nfds; i++)
		parked.fds[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	woken = is_woken(&parked) || sim_block(sim_me->call != NULL ? sim_me->call : "the library",
					       is_woken, &parked, deadline);
	parker->word = 0;
	return woken ? RI_SUCCESS : RI_ERR_TIMEOUT;
}

static void
host_wake(void *self, struct ri_parker *parker)
{
	(void)self;
	parker->word = 1;
}

static void
host_parker_close(void *self, struct ri_parker *parker)
{
	(void)self;
	parker->word = 0;
}

/* A thread of the library waits for another one. */
static void
host_relax(void *self, uint32_t round)
{
	(void)self;
	(void)round;
	if (sim_me != NULL)
		sim_idle(sim_me->call != NULL ? sim_me->call : "the library");
}

static void
host_log(void *self, enum ri_log_level level, const char *where, const char *text)
{
	static const char *const levels[] = {"error", "warning", "info", "debug"};
	const struct sim_options *options = sim_options();

	(void)self;
	if (options == NULL)
		return;
	/* What is placed is news of a trace; other lines of that level have addresses. */
	if (level <= RI_LOG_WARNING && options->output) {
		(void)fprintf(stderr, "itapi: %s: %s: %s\n", levels[level], where, text);
	} else if (options->trace && strncmp(where, "emul", 4) == 0) {
		g_autofree char *line = g_strconcat("    ", text, NULL);

		sim_trace_line(line);
	}
}

/* --- memory ------------------------------------------------------------------------------------------------ */

/* The memory of all nodes is this process's. What is not mapped ends the run as a crash, with the access that found it. */
static enum ri_status
host_mem_attach(void *self, uint64_t owner, struct ri_mem *mem, uint32_t access)
{
	(void)self;
	(void)owner;
	(void)access;
	if (mem->addr + mem->length < mem->addr)
		return RI_ERR_ADDRESS;
	mem->base = (uint8_t *)(uintptr_t)mem->addr;
	return RI_SUCCESS;
}

static void
host_mem_detach(void *self, struct ri_mem *mem)
{
	(void)self;
	mem->base = NULL;
}

static enum ri_status
host_mem_copy(void *self, struct ri_mem *mem, uint64_t offset, void *buf, size_t len, bool write)
{
	(void)self;
	if (mem->base == NULL || offset > mem->length || len > mem->length - offset)
		return RI_ERR_ADDRESS;
	if (write)
		memcpy(mem->base + offset, buf, len);
	else
		memcpy(buf, mem->base + offset, len);
	return RI_SUCCESS;
}

struct ri_host sim_host = {
	.size = sizeof(sim_host),
	.log_level = RI_LOG_WARNING,
	.now = host_now,
	.random = host_random,
	.timer_start = host_timer_start,
	.timer_stop = host_timer_stop,
	.task_run = host_task_run,
	.task_stop = host_task_stop,
	.watch_start = host_watch_start,
	.watch_change = host_watch_change,
	.watch_stop = host_watch_stop,
	.park = host_park,
	.wake = host_wake,
	.parker_close = host_parker_close,
	.log = host_log,
	.mem_attach = host_mem_attach,
	.mem_detach = host_mem_detach,
	.mem_copy = host_mem_copy,
	.relax = host_relax,
};

void
sim_host_prepare(void)
{
	host.timers = g_ptr_array_new();
	host.tasks = g_ptr_array_new();
	host.watches = g_ptr_array_new();
}

void
sim_host_begin(void)
{
	const uint64_t seed = sim_options()->seed;

	if (sim_options()->trace)
		sim_host.log_level = RI_LOG_DEBUG;
	if (sim_options()->pcap != NULL)
		sim_host.capture = sim_pcap_put;
	sim_random_seed(&host.order, seed, "service");
	sim_random_seed(&host.random, seed, "host");
	host.service = sim_thread_new(NULL, service_main, NULL, 0);
	if (host.service == NULL)
		sim_fail("no thread", "the system refuses another thread");
}
