/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Host services for tests; see vsw_test_host.h. Timers, tasks and watches are in arrays of pointers under one lock,
 * which is released while one of their functions runs. `running` and the condition let a stop function on another
 * thread wait for that.
 */
#include "vsw_test_host.h"
#include "ri_relax.h"
#include "vsw_guard.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct vth {
	struct ri_host host;
	bool threaded;
	pthread_mutex_t lock;
	pthread_cond_t idle;
	pthread_t thread;
	int wake_fd;
	bool stop;
	const void *running; /* the object whose function runs now */
	uint64_t clock;      /* without a service thread */
	GPtrArray *timers;
	GPtrArray *tasks;
	GPtrArray *watches;
	atomic_uint attached;
	atomic_bool copy_only;
	atomic_uint attach_answer;
	_Atomic guint64 copied;
	atomic_uint relaxed;
	atomic_uint napped;
	GPtrArray *lines; /* of the log */
};

static uint64_t
host_now(void *self)
{
	struct vth *vth = self;
	struct timespec ts;

	if (!vth->threaded) {
		pthread_mutex_lock(&vth->lock);
		uint64_t now = vth->clock;
		pthread_mutex_unlock(&vth->lock);
		return now;
	}
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void
host_random(void *self, void *buf, size_t len)
{
	uint8_t *octets = buf;

	(void)self;
	for (size_t i = 0; i < len; i++)
		octets[i] = (uint8_t)g_random_int_range(0, 256);
}

static void
nudge(struct vth *vth)
{
	uint64_t one = 1;

	if (vth->threaded && write(vth->wake_fd, &one, sizeof(one)) < 0)
		g_error("eventfd");
}

static bool
on_service_thread(struct vth *vth)
{
	return !vth->threaded || pthread_equal(pthread_self(), vth->thread);
}

static void
add(struct vth *vth, GPtrArray *list, void *item)
{
	if (!g_ptr_array_find(list, item, NULL))
		g_ptr_array_add(list, item);
	nudge(vth);
}

static void
take_back(struct vth *vth, GPtrArray *list, void *item)
{
	pthread_mutex_lock(&vth->lock);
	g_ptr_array_remove(list, item);
	while (vth->running == item && !on_service_thread(vth)) {
		pthread_cond_wait(&vth->idle, &vth->lock);
		g_ptr_array_remove(list, item); /* its function may have started it again */
	}
	pthread_mutex_unlock(&vth->lock);
}

static void
host_timer_start(void *self, struct ri_timer *timer, uint64_t deadline)
{
	struct vth *vth = self;

	pthread_mutex_lock(&vth->lock);
	timer->link.n[0] = deadline;
	add(vth, vth->timers, timer);
	pthread_mutex_unlock(&vth->lock);
}

static void
host_timer_stop(void *self, struct ri_timer *timer)
{
	struct vth *vth = self;

	take_back(vth, vth->timers, timer);
}

static void
host_task_run(void *self, struct ri_task *task)
{
	struct vth *vth = self;

	pthread_mutex_lock(&vth->lock);
	add(vth, vth->tasks, task);
	pthread_mutex_unlock(&vth->lock);
}

static void
host_task_stop(void *self, struct ri_task *task)
{
	struct vth *vth = self;

	take_back(vth, vth->tasks, task);
}

static enum ri_status
host_watch_start(void *self, struct ri_watch *watch)
{
	struct vth *vth = self;

	pthread_mutex_lock(&vth->lock);
	add(vth, vth->watches, watch);
	pthread_mutex_unlock(&vth->lock);
	return RI_SUCCESS;
}

static void
host_watch_change(void *self, struct ri_watch *watch, uint32_t events)
{
	struct vth *vth = self;

	pthread_mutex_lock(&vth->lock);
	watch->events = events;
	nudge(vth);
	pthread_mutex_unlock(&vth->lock);
}

static void
host_watch_stop(void *self, struct ri_watch *watch)
{
	struct vth *vth = self;

	take_back(vth, vth->watches, watch);
}

/* --- sleeping ---------------------------------------------------------------------------- */

static int
parker_fd(struct vth *vth, struct ri_parker *parker)
{
	pthread_mutex_lock(&vth->lock);
	if (parker->link.n[0] == 0) {
		parker->link.n[0] = 1;
		parker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
	int fd = parker->fd;
	pthread_mutex_unlock(&vth->lock);
	return fd;
}

static enum ri_status
host_park(void *self, struct ri_parker *parker, const int *fds, uint32_t nfds, uint64_t deadline)
{
	struct vth *vth = self;
	struct pollfd set[8] = {{.fd = parker_fd(vth, parker), .events = POLLIN}};
	uint64_t now = host_now(self);
	uint64_t left = deadline > now ? (deadline - now) / 1000000 + 1 : 0;
	uint64_t word = 0;

	g_assert_cmpuint(nfds, <, G_N_ELEMENTS(set));
	for (uint32_t i = 0; i < nfds; i++)
		set[i + 1] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	int ready = poll(set, nfds + 1, deadline == RI_NEVER ? -1 : (int)MIN(left, 60000));
	if (ready <= 0)
		return ready == 0 ? RI_ERR_TIMEOUT : RI_ERR_INTERRUPTED;
	if (read(set[0].fd, &word, sizeof(word)) < 0)
		return RI_SUCCESS; /* a descriptor has woken this thread */
	return RI_SUCCESS;
}

static void
host_wake(void *self, struct ri_parker *parker)
{
	uint64_t one = 1;

	if (write(parker_fd(self, parker), &one, sizeof(one)) < 0)
		g_error("eventfd");
}

static void
host_parker_close(void *self, struct ri_parker *parker)
{
	(void)self;
	if (parker->link.n[0] != 0)
		close(parker->fd);
	memset(parker, 0, sizeof(*parker));
}

static void
host_log(void *self, enum ri_log_level level, const char *where, const char *text)
{
	struct vth *vth = self;

	g_test_message("%d %s: %s", (int)level, where, text);
	pthread_mutex_lock(&vth->lock);
	g_ptr_array_add(vth->lines, g_strdup_printf("%s: %s", where, text));
	pthread_mutex_unlock(&vth->lock);
}

guint
vth_logged(struct vth *vth, const char *text)
{
	guint found = 0;

	pthread_mutex_lock(&vth->lock);
	for (guint i = 0; i < vth->lines->len; i++)
		found += strstr(vth->lines->pdata[i], text) != NULL;
	pthread_mutex_unlock(&vth->lock);
	return found;
}

/* --- memory ------------------------------------------------------------------------------ */

static enum ri_status
host_mem_attach(void *self, uint64_t owner, struct ri_mem *mem, uint32_t access)
{
	struct vth *vth = self;
	enum ri_status answer = (enum ri_status)atomic_load(&vth->attach_answer);

	(void)owner;
	(void)access;
	if (answer != RI_SUCCESS)
		return answer;
	mem->base = atomic_load(&vth->copy_only) ? NULL : (uint8_t *)(uintptr_t)mem->addr;
	mem->link.p[0] = mem; /* its address must not change */
	atomic_fetch_add(&vth->attached, 1);
	return RI_SUCCESS;
}

static void
host_mem_detach(void *self, struct ri_mem *mem)
{
	struct vth *vth = self;

	g_assert_true(mem->link.p[0] == mem);
	mem->link.p[0] = NULL;
	atomic_fetch_sub(&vth->attached, 1);
}

static enum ri_status
host_mem_copy(void *self, struct ri_mem *mem, uint64_t offset, void *buf, size_t len, bool write)
{
	struct vth *vth = self;
	uint8_t *there = (uint8_t *)(uintptr_t)mem->addr + offset;

	g_assert_cmpuint(offset + len, <=, mem->length);
	if (write)
		memcpy(there, buf, len);
	else
		memcpy(buf, there, len);
	atomic_fetch_add(&vth->copied, len);
	return RI_SUCCESS;
}

static void
host_relax(void *self, uint32_t round)
{
	struct vth *vth = self;

	atomic_fetch_add(&vth->relaxed, 1);
	atomic_fetch_add(&vth->napped, round >= RI_RELAX_YIELDS);
	ri_relax(round);
}

/* --- the service thread ------------------------------------------------------------------ */

/* Called with the lock held; runs fire(arg) without it. */
static void
run(struct vth *vth, const void *item, void (*fire)(void *arg), void *arg)
{
	vth->running = item;
	pthread_mutex_unlock(&vth->lock);
	fire(arg);
	pthread_mutex_lock(&vth->lock);
	vth->running = NULL;
	pthread_cond_broadcast(&vth->idle);
}

/* The timer that is due first, or NULL. Called with the lock held. */
static struct ri_timer *
first_timer(struct vth *vth)
{
	struct ri_timer *first = NULL;

	for (guint i = 0; i < vth->timers->len; i++) {
		struct ri_timer *timer = vth->timers->pdata[i];
		if (first == NULL || timer->link.n[0] < first->link.n[0])
			first = timer;
	}
	return first;
}

static bool
run_watch(struct vth *vth)
{
	for (guint i = 0; i < vth->watches->len; i++) {
		struct ri_watch *watch = vth->watches->pdata[i];
		short want = (short)((watch->events & RI_WATCH_IN ? POLLIN : 0) |
				     (watch->events & RI_WATCH_OUT ? POLLOUT : 0));
		struct pollfd one = {.fd = want != 0 ? watch->fd : -1, .events = want};
		if (poll(&one, 1, 0) <= 0)
			continue;
		uint32_t events = (one.revents & ~POLLOUT ? RI_WATCH_IN : 0) |
				  (one.revents & POLLOUT ? RI_WATCH_OUT : 0);
		/* Behind the others, which have their turn before it has another. */
		g_ptr_array_add(vth->watches, g_ptr_array_remove_index(vth->watches, i));
		vth->running = watch;
		pthread_mutex_unlock(&vth->lock);
		watch->fire(watch->arg, events);
		pthread_mutex_lock(&vth->lock);
		vth->running = NULL;
		pthread_cond_broadcast(&vth->idle);
		return true;
	}
	return false;
}

/* Run one function that is due. Called with the lock held. */
static bool
run_one(struct vth *vth, uint64_t now)
{
	if (vth->tasks->len > 0) {
		struct ri_task *task = g_ptr_array_remove_index(vth->tasks, 0);
		run(vth, task, task->fire, task->arg);
		return true;
	}
	struct ri_timer *timer = first_timer(vth);
	if (timer != NULL && timer->link.n[0] <= now) {
		g_ptr_array_remove(vth->timers, timer);
		run(vth, timer, timer->fire, timer->arg);
		return true;
	}
	return run_watch(vth);
}

static void
sleep_until_due(struct vth *vth)
{
	struct pollfd set[64] = {{.fd = vth->wake_fd, .events = POLLIN}};
	nfds_t count = 1;
	struct ri_timer *timer = first_timer(vth);
	uint64_t deadline = timer != NULL ? timer->link.n[0] : RI_NEVER;

	for (guint i = 0; i < vth->watches->len && count < G_N_ELEMENTS(set); i++) {
		struct ri_watch *watch = vth->watches->pdata[i];
		if (watch->events != 0)
			set[count++] = (struct pollfd){
				.fd = watch->fd,
				.events = (short)((watch->events & RI_WATCH_IN ? POLLIN : 0) |
						  (watch->events & RI_WATCH_OUT ? POLLOUT : 0))};
	}
	pthread_mutex_unlock(&vth->lock);

	uint64_t now = host_now(vth);
	uint64_t ns = deadline == RI_NEVER ? 100000000 : (deadline > now ? deadline - now : 0);
	struct timespec left = {.tv_sec = 0, .tv_nsec = (long)MIN(ns, 100000000)};
	uint64_t word = 0;

	if (ppoll(set, count, &left, NULL) > 0 && (set[0].revents & POLLIN) != 0 &&
	    read(vth->wake_fd, &word, sizeof(word)) < 0)
		g_error("eventfd");
	pthread_mutex_lock(&vth->lock);
}

static void *
service_main(void *arg)
{
	struct vth *vth = arg;

	pthread_mutex_lock(&vth->lock);
	while (!vth->stop) {
		pthread_mutex_unlock(&vth->lock);
		uint64_t now = host_now(vth);
		pthread_mutex_lock(&vth->lock);
		if (!run_one(vth, now))
			sleep_until_due(vth);
	}
	pthread_mutex_unlock(&vth->lock);
	return NULL;
}

void
vth_run(struct vth *vth)
{
	g_assert_false(vth->threaded);
	pthread_mutex_lock(&vth->lock);
	while (run_one(vth, vth->clock))
		continue;
	pthread_mutex_unlock(&vth->lock);
}

void
vth_advance(struct vth *vth, uint64_t ns)
{
	uint64_t end = vth->clock + ns;

	vth_run(vth);
	for (;;) {
		pthread_mutex_lock(&vth->lock);
		struct ri_timer *timer = first_timer(vth);
		bool due = timer != NULL && timer->link.n[0] <= end;
		vth->clock = due ? MAX(vth->clock, timer->link.n[0]) : end;
		pthread_mutex_unlock(&vth->lock);
		if (!due)
			return;
		vth_run(vth);
	}
}

/* --- making ------------------------------------------------------------------------------ */

struct vth *
vth_new(bool threaded)
{
	struct vth *vth = g_new0(struct vth, 1);

	vth->host = (struct ri_host){
		.size = sizeof(struct ri_host),
		.log_level = RI_LOG_DEBUG,
		.self = vth,
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
	vth->threaded = threaded;
	vth->clock = 1000000;
	vth->timers = g_ptr_array_new();
	vth->tasks = g_ptr_array_new();
	vth->watches = g_ptr_array_new();
	vth->lines = g_ptr_array_new_with_free_func(g_free);
	pthread_mutex_init(&vth->lock, NULL);
	pthread_cond_init(&vth->idle, NULL);
	if (threaded) {
		vth->wake_fd = eventfd(0, EFD_CLOEXEC);
		pthread_mutex_lock(&vth->lock);
		if (pthread_create(&vth->thread, NULL, service_main, vth) != 0)
			g_error("thread");
		pthread_mutex_unlock(&vth->lock);
	}
	return vth;
}

void
vth_free(struct vth **freed)
{
	struct vth *vth = *freed;

	if (vth->threaded) {
		pthread_mutex_lock(&vth->lock);
		vth->stop = true;
		nudge(vth);
		pthread_mutex_unlock(&vth->lock);
		pthread_join(vth->thread, NULL);
		close(vth->wake_fd);
	}
	g_assert_cmpuint(vth->timers->len, ==, 0);
	g_assert_cmpuint(vth->tasks->len, ==, 0);
	g_assert_cmpuint(vth->watches->len, ==, 0);
	g_ptr_array_unref(vth->timers);
	g_ptr_array_unref(vth->tasks);
	g_ptr_array_unref(vth->watches);
	g_ptr_array_unref(vth->lines);
	pthread_cond_destroy(&vth->idle);
	pthread_mutex_destroy(&vth->lock);
	g_free(vth);
}

const struct ri_host *
vth_host(struct vth *vth)
{
	return &vth->host;
}

guint
vth_attached(struct vth *vth)
{
	return atomic_load(&vth->attached);
}

void
vth_copy_only(struct vth *vth, bool on)
{
	atomic_store(&vth->copy_only, on);
}

void
vth_attach_answer(struct vth *vth, enum ri_status status)
{
	atomic_store(&vth->attach_answer, (unsigned)status);
}

guint64
vth_copied(struct vth *vth)
{
	return atomic_load(&vth->copied);
}

guint
vth_relaxed(struct vth *vth)
{
	return atomic_load(&vth->relaxed);
}

guint
vth_napped(struct vth *vth)
{
	return atomic_load(&vth->napped);
}

void
vth_make_old(struct vth *vth)
{
	vth->host.size = offsetof(struct ri_host, relax);
	vth->host.relax = NULL;
}

bool
vth_no_guards(void)
{
	const char *preload = g_getenv("LD_PRELOAD");

#ifdef VSW_GUARDS
	if (preload == NULL || strstr(preload, "vgpreload") == NULL)
		return false;
#endif
	(void)preload;
	g_test_skip("a lost page ends the process here");
	return true;
}

void
vth_child_exit(bool good)
{
	const char *program = good ? "/bin/true" : "/bin/false";

	(void)execl(program, program, (char *)NULL);
	_exit(127);
}
