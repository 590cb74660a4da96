/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The service thread: timers, tasks, watches, and stopping each of them at the worst moment. */

#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kal_host.h"
#include "kal_loss.h"
#include "ri_at_end.h"

#define MS 1000000u

static const struct ri_host *
host(void)
{
	const struct ri_host *table = kal_host_default();

	g_assert_nonnull(table);
	return table;
}

/* Wait until a condition that another thread sets is true; a minute at most. */
#define WAIT_UNTIL(condition)                                                        \
	do {                                                                         \
		uint64_t limit_ = host()->now(host()->self) + 60000u * (uint64_t)MS; \
		while (!(condition)) {                                               \
			g_assert_cmpuint(host()->now(host()->self), <, limit_);      \
			g_usleep(200);                                               \
		}                                                                    \
	} while (0)

struct order {
	struct ri_timer timer;
	uint64_t deadline, ran;
	int place;
};

static atomic_int order_count;

static void
order_fire(void *arg)
{
	struct order *order = arg;

	order->ran = host()->now(host()->self);
	order->place = atomic_fetch_add(&order_count, 1);
}

/* The service thread, held up by a task until the test lets it go on. */
struct pause {
	struct ri_task task;
	atomic_int held, go;
};

static void
pause_fire(void *arg)
{
	struct pause *pause = arg;

	atomic_store(&pause->held, 1);
	while (atomic_load(&pause->go) == 0)
		g_usleep(200);
}

/* All timers are set before the first of them can fire, however long that takes. */
static void
test_timer_order(void)
{
	enum {
		COUNT = 50
	};
	static struct order all[COUNT];
	struct pause pause = {.task = {.fire = pause_fire, .arg = &pause}};
	uint64_t now = host()->now(host()->self);

	host()->task_run(host()->self, &pause.task);
	WAIT_UNTIL(atomic_load(&pause.held) == 1);
	for (int i = 0; i < COUNT; i++) {
		int turn = (i * 37) % COUNT; /* every number once */

		all[i].timer.fire = order_fire;
		all[i].timer.arg = &all[i];
		all[i].deadline = now + 20u * MS + (uint64_t)turn * 200000u;
		host()->timer_start(host()->self, &all[i].timer, all[i].deadline);
	}
	g_assert_cmpint(atomic_load(&order_count), ==, 0);
	atomic_store(&pause.go, 1);
	WAIT_UNTIL(atomic_load(&order_count) == COUNT);
	host()->task_stop(host()->self, &pause.task);
	for (int i = 0; i < COUNT; i++) {
		g_assert_cmpint(all[i].place, ==, (i * 37) % COUNT);
		g_assert_cmpuint(all[i].ran, >=, all[i].deadline);
		host()->timer_stop(host()->self, &all[i].timer);
	}
}

static atomic_int fired;

static void
count_fire(void *arg)
{
	(void)arg;
	atomic_fetch_add(&fired, 1);
}

static void
test_timer_restart(void)
{
	struct ri_timer timer = {.fire = count_fire};
	uint64_t now = host()->now(host()->self);

	atomic_store(&fired, 0);
	host()->timer_start(host()->self, &timer, now + 60000u * (uint64_t)MS);
	host()->timer_start(host()->self, &timer, now); /* replaces the deadline, adds no second */
	WAIT_UNTIL(atomic_load(&fired) == 1);
	host()->timer_start(host()->self, &timer, RI_NEVER);
	host()->timer_start(host()->self, &timer, 0); /* in the past */
	WAIT_UNTIL(atomic_load(&fired) == 2);
	host()->timer_stop(host()->self, &timer);
	host()->timer_stop(host()->self, &timer);
}

/* A timer that starts itself again each time stays stopped once it was stopped. */
struct restless {
	struct ri_timer timer;
	atomic_int running, runs;
};

static void
restless_fire(void *arg)
{
	struct restless *restless = arg;

	atomic_store(&restless->running, 1);
	atomic_fetch_add(&restless->runs, 1);
	sched_yield();
	host()->timer_start(host()->self, &restless->timer, host()->now(host()->self));
	atomic_store(&restless->running, 0);
}

static void
test_timer_stop_race(void)
{
	for (int round = 0; round < 200; round++) {
		struct restless *restless = g_new0(struct restless, 1);
		int runs;

		restless->timer.fire = restless_fire;
		restless->timer.arg = restless;
		host()->timer_start(host()->self, &restless->timer, 0);
		WAIT_UNTIL(atomic_load(&restless->runs) > round % 3);
		host()->timer_stop(host()->self, &restless->timer);
		g_assert_cmpint(atomic_load(&restless->running), ==, 0);
		runs = atomic_load(&restless->runs);
		sched_yield();
		g_assert_cmpint(atomic_load(&restless->runs), ==, runs);
		memset(restless, 0xee, sizeof(*restless));
		g_free(restless);
	}
}

static void
test_task_once(void)
{
	struct ri_task task = {.fire = count_fire};

	for (int round = 0; round < 500; round++) {
		int before = atomic_load(&fired), after;

		for (int i = 0; i < 3; i++)
			host()->task_run(host()->self, &task);
		WAIT_UNTIL(atomic_load(&fired) > before);
		host()->task_stop(host()->self, &task);
		after = atomic_load(&fired);
		g_assert_cmpint(after, <=, before + 3);
	}
}

/* A task frees its own memory: the service thread must not use it afterwards. */
static void
free_fire(void *arg)
{
	memset(arg, 0xee, sizeof(struct ri_task));
	g_free(arg);
	atomic_fetch_add(&fired, 1);
}

static void
test_task_frees_itself(void)
{
	atomic_store(&fired, 0);
	for (int i = 0; i < 1000; i++) {
		struct ri_task *task = g_new0(struct ri_task, 1);

		task->fire = free_fire;
		task->arg = task;
		host()->task_run(host()->self, task);
	}
	WAIT_UNTIL(atomic_load(&fired) == 1000);
}

struct ready {
	struct ri_watch watch;
	atomic_int calls, inside;
	atomic_uint events;
};

static void
ready_fire(void *arg, uint32_t events)
{
	struct ready *ready = arg;

	atomic_store(&ready->inside, 1);
	atomic_fetch_or(&ready->events, events);
	atomic_fetch_add(&ready->calls, 1);
	atomic_store(&ready->inside, 0);
}

static void
ready_init(struct ready *ready, int fd, uint32_t events)
{
	memset(ready, 0, sizeof(*ready));
	ready->watch.fire = ready_fire;
	ready->watch.arg = ready;
	ready->watch.fd = fd;
	ready->watch.events = events;
}

/* A task that ran after it shows that the call on the service thread has ended. */
static void
service_turns(void)
{
	struct ri_task task = {.fire = count_fire};

	for (int round = 0; round < 2; round++) {
		int before = atomic_load(&fired);

		host()->task_run(host()->self, &task);
		WAIT_UNTIL(atomic_load(&fired) > before);
	}
	host()->task_stop(host()->self, &task);
}

static void
test_watch_level(void)
{
	struct ready ready;
	int pair[2], calls;

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), ==, 0);
	ready_init(&ready, pair[0], RI_WATCH_IN);
	g_assert_cmpint(host()->watch_start(host()->self, &ready.watch), ==, RI_SUCCESS);
	g_assert_cmpint(write(pair[1], "x", 1), ==, 1);
	WAIT_UNTIL(atomic_load(&ready.calls) >
		   3); /* nobody reads: the function is called again and again */
	host()->watch_change(host()->self, &ready.watch, 0);
	service_turns();
	calls = atomic_load(&ready.calls);
	g_usleep(5000);
	g_assert_cmpint(atomic_load(&ready.calls), ==, calls);
	atomic_store(&ready.events, 0);
	host()->watch_change(host()->self, &ready.watch, RI_WATCH_OUT);
	WAIT_UNTIL(atomic_load(&ready.calls) > calls);
	g_assert_cmpuint(atomic_load(&ready.events), ==, RI_WATCH_OUT);

	/* A paused watch whose peer closes uses no processor time, and reports when it is resumed. */
	host()->watch_change(host()->self, &ready.watch, 0);
	close(pair[1]);
	service_turns();
	calls = atomic_load(&ready.calls);
	g_usleep(5000);
	g_assert_cmpint(atomic_load(&ready.calls), ==, calls);
	host()->watch_change(host()->self, &ready.watch, RI_WATCH_IN);
	WAIT_UNTIL((atomic_load(&ready.events) & RI_WATCH_ERR) != 0);
	host()->watch_stop(host()->self, &ready.watch);
	close(pair[0]);
}

static void
test_watch_refused(void)
{
	struct ready ready;
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ready_init(&ready, file, RI_WATCH_IN); /* epoll refuses regular files */
	g_assert_cmpint(host()->watch_start(host()->self, &ready.watch), ==, RI_ERR_RESOURCES);
	host()->watch_stop(host()->self, &ready.watch);
	close(file);
}

/* Many watches that are always ready are stopped one after the other, and their memory is overwritten. */
static void
test_watch_stop_race(void)
{
	enum {
		COUNT = 40
	};

	for (int round = 0; round < 40; round++) {
		struct ready *all[COUNT];

		for (int i = 0; i < COUNT; i++) {
			int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

			all[i] = g_new0(struct ready, 1);
			ready_init(all[i], fd, RI_WATCH_IN);
			g_assert_cmpint(host()->watch_start(host()->self, &all[i]->watch), ==,
					RI_SUCCESS);
		}
		WAIT_UNTIL(atomic_load(&all[round % COUNT]->calls) > 0);
		for (int i = 0; i < COUNT; i++) {
			int fd = all[i]->watch.fd;

			host()->watch_stop(host()->self, &all[i]->watch);
			g_assert_cmpint(atomic_load(&all[i]->inside), ==, 0);
			close(fd);
			memset(all[i], 0xee, sizeof(*all[i]));
			g_free(all[i]);
		}
	}
}

/* On the service thread itself a stop takes effect at once and does not wait for itself. */
struct suicide {
	struct ready ready;
	struct ri_timer timer;
	struct ri_task task;
	atomic_int done;
};

static void
suicide_fire(void *arg)
{
	struct suicide *suicide = arg;

	host()->watch_stop(host()->self, &suicide->ready.watch);
	host()->task_stop(host()->self, &suicide->task);
	host()->timer_stop(host()->self, &suicide->timer);
	atomic_store(&suicide->done, 1);
}

static void
test_stop_inside(void)
{
	static struct suicide suicide;
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

	ready_init(&suicide.ready, fd, RI_WATCH_IN);
	suicide.timer.fire = suicide_fire;
	suicide.timer.arg = &suicide;
	suicide.task.fire = count_fire;
	g_assert_cmpint(host()->watch_start(host()->self, &suicide.ready.watch), ==, RI_SUCCESS);
	host()->timer_start(host()->self, &suicide.timer, 0);
	WAIT_UNTIL(atomic_load(&suicide.done) == 1);
	close(fd);
}

/* All but the two that a thread causes itself, and that engines handle. */
static atomic_int blocked_everything;

static void
mask_fire(void *arg)
{
	sigset_t mask;

	(void)arg;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	atomic_store(&blocked_everything, sigismember(&mask, SIGINT) == 1 &&
							  sigismember(&mask, SIGTERM) == 1 &&
							  sigismember(&mask, SIGUSR1) == 1 &&
							  sigismember(&mask, SIGALRM) == 1 &&
							  sigismember(&mask, SIGBUS) == 0 &&
							  sigismember(&mask, SIGSEGV) == 0
						  ? 1
						  : 2);
}

static void
test_signals_blocked(void)
{
	struct ri_task task = {.fire = mask_fire};

	host()->task_run(host()->self, &task);
	WAIT_UNTIL(atomic_load(&blocked_everything) != 0);
	g_assert_cmpint(atomic_load(&blocked_everything), ==, 1);
	host()->task_stop(host()->self, &task);
}

static void
test_random(void)
{
	uint8_t a[1000] = {0}, b[1000] = {0};

	host()->random(host()->self, a, sizeof(a));
	host()->random(host()->self, b, sizeof(b));
	g_assert_cmpint(memcmp(a, b, sizeof(a)), !=, 0);
	g_assert_cmpint(memcmp(a + 900, (uint8_t[100]){0}, 100), !=, 0);
}

static enum ri_status
attach(const void *at, size_t len, uint32_t access)
{
	struct ri_mem mem = {.addr = (uint64_t)(uintptr_t)at, .length = len};
	enum ri_status status = host()->mem_attach(host()->self, KAL_MEM_OWNER_SELF, &mem, access);

	if (status == RI_SUCCESS) {
		g_assert_true(mem.base == at);
		host()->mem_detach(host()->self, &mem);
	}
	return status;
}

static void
test_memory(void)
{
	const uint32_t rd = RI_ACCESS_LOCAL_READ, wr = RI_ACCESS_LOCAL_WRITE;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at =
		mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t out[4] = {0};
	struct ri_mem mem = {.addr = (uint64_t)(uintptr_t)at, .length = page};
	static const uint8_t constant[64] = {1};

	g_assert_true(at != MAP_FAILED);
	g_assert_cmpint(mprotect(at + 2 * page, page, PROT_READ), ==, 0);
	g_assert_cmpint(mprotect(at + 4 * page, page, PROT_NONE), ==, 0);
	g_assert_cmpint(munmap(at + 6 * page, page), ==, 0);

	g_assert_cmpint(attach(at + 7, 2 * page - 7, rd | wr), ==, RI_SUCCESS);
	g_assert_cmpint(attach(at, 3 * page, rd), ==, RI_SUCCESS); /* across the border of a page */
	g_assert_cmpint(attach(at, 2 * page + 1, wr), ==, RI_ERR_ACCESS);
	g_assert_cmpint(attach(at + 3 * page, page + 1, rd), ==, RI_ERR_ACCESS);
	g_assert_cmpint(attach(at + 5 * page, page, rd | wr), ==, RI_SUCCESS);
	g_assert_cmpint(attach(at + 5 * page, page + 1, rd | wr), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach(at + 6 * page, 1, rd), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach(NULL, 1, rd), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach((void *)(UINTPTR_MAX - 4), 16, rd), ==, RI_ERR_ADDRESS);
	g_assert_cmpint(attach(constant, sizeof(constant), rd), ==, RI_SUCCESS);
	g_assert_cmpint(attach(constant, sizeof(constant), RI_ACCESS_REMOTE_WRITE), ==,
			RI_ERR_ACCESS);
	g_assert_cmpint(attach(&mem, sizeof(mem), rd | wr), ==,
			RI_SUCCESS); /* memory of the stack */
	g_assert_cmpint(host()->mem_attach(host()->self, 4711, &mem, rd), ==, RI_ERR_ADDRESS);

	g_assert_cmpint(host()->mem_copy(host()->self, &mem, 0, out, 4, false), ==,
			RI_ERR_ADDRESS); /* not attached */
	g_assert_cmpint(host()->mem_attach(host()->self, KAL_MEM_OWNER_SELF, &mem, rd | wr), ==,
			RI_SUCCESS);
	g_assert_cmpint(host()->mem_copy(host()->self, &mem, 10, (uint8_t[4]){1, 2, 3, 4}, 4, true),
			==, RI_SUCCESS);
	g_assert_cmpint(host()->mem_copy(host()->self, &mem, 11, out, 3, false), ==, RI_SUCCESS);
	g_assert_cmpmem(out, 3, at + 11, 3);
	g_assert_cmpint(host()->mem_copy(host()->self, &mem, page - 3, out, 4, false), ==,
			RI_ERR_ADDRESS);
	host()->mem_detach(host()->self, &mem);
	munmap(at, 8 * page);
}

/* The child has none of the host's descriptors; its calls return, and it can start the host again. */
static int
child_of_fork(const struct ri_host *old, int probe)
{
	struct ri_timer timer = {.fire = count_fire};
	struct ri_task task = {.fire = count_fire};
	struct ri_watch watch = {.fire = ready_fire, .fd = 0};
	const struct ri_host *fresh;
	int before = atomic_load(&fired);

	if (fcntl(probe, F_GETFD) != -1)
		return 1;
	old->timer_start(old->self, &timer, 0);
	old->timer_stop(old->self, &timer);
	old->task_run(old->self, &task);
	old->task_stop(old->self, &task);
	if (old->watch_start(old->self, &watch) == RI_SUCCESS)
		return 2;
	fresh = kal_host_default();
	if (fresh == NULL || fresh == old)
		return 3;
	fresh->task_run(fresh->self, &task);
	for (int i = 0; i < 60000 && atomic_load(&fired) == before; i++)
		g_usleep(1000);
	fresh->task_stop(fresh->self, &task);
	return atomic_load(&fired) == before + 1 ? 0 : 4;
}

static void
test_fork(void)
{
	const struct ri_host *table = host();
	struct kal_fd fd = {0};
	int status;
	pid_t child;

#if defined(__SANITIZE_THREAD__)
	g_test_skip("ThreadSanitizer does not take threads made after a fork");
	return;
#endif
	g_assert_true(kal_fd_eventfd(&fd));
	child = fork();
	if (child == 0)
		_exit(child_of_fork(table, kal_fd_get(&fd)));
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_true(WIFEXITED(status));
	g_assert_cmpint(WEXITSTATUS(status), ==, 0);
	g_assert_cmpint(fcntl(kal_fd_get(&fd), F_GETFD), !=, -1);
	kal_fd_close(&fd);
}

static void
test_own_host(void)
{
	for (int i = 0; i < 20; i++) {
		struct kal_host *own = kal_host_create();
		struct ri_task task = {.fire = count_fire};
		int before = atomic_load(&fired);

		g_assert_nonnull(own);
		own->table.task_run(own, &task);
		if (i % 2 == 0)
			WAIT_UNTIL(atomic_load(&fired) > before);
		own->table.task_stop(own, &task);
		kal_host_destroy(own);
	}
}

static void
loss_fire(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

static bool
is_asleep(struct kal_host *own)
{
	bool asleep;

	pthread_mutex_lock(&own->lock);
	asleep = own->asleep;
	pthread_mutex_unlock(&own->lock);
	return asleep;
}

/* The program has closed the set of descriptors, and its number is another file now. All learn it once, but those that do not care any more. */
static void
test_closed(gconstpointer how)
{
	bool later =
		how !=
		NULL; /* the thread has slept for so long that it is woken only by the other end of the guard */
	struct kal_host *own = kal_host_create();
	atomic_int told = 0, others = 0;
	struct kal_loss first, second, late, other;
	int file = eventfd(0, EFD_CLOEXEC);

	g_assert_nonnull(own);
	kal_loss_begin(&first, loss_fire, &told);
	kal_loss_begin(&other, loss_fire, &others);
	kal_loss_begin(&second, loss_fire, &told);
	kal_loss_end(&other);
	WAIT_UNTIL(is_asleep(own));
	g_usleep(later ? KAL_HOST_QUIET / 1000 * 3 / 2 : 50000); /* until it does sleep */
	g_assert_cmpint(dup3(file, kal_fd_get(&own->epoll), O_CLOEXEC), >=, 0);
	if (later)
		g_assert_cmpint(dup3(file, kal_fd_get(&own->guard_end), O_CLOEXEC), >=, 0);
	WAIT_UNTIL(atomic_load(&told) == 2);
	kal_loss_begin(&late, loss_fire, &told);
	WAIT_UNTIL(atomic_load(&told) == 3);
	kal_loss_end(&first);
	kal_loss_end(&second);
	kal_loss_end(&late);
	kal_host_destroy(own);
	g_assert_cmpint(atomic_load(&told), ==, 3);
	g_assert_cmpint(atomic_load(&others), ==, 0);
	close(file);
}

static uint64_t
counter_of(int fd)
{
	uint64_t count = 0;

	return read(fd, &count, sizeof(count)) > 0 ? count : 0;
}

/* The number of the closed set is another set now, which the program watches descriptors with. Its events are none of the host's. */
static void
test_closed_other_set(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data = {.fd = 5}};
	struct kal_host *own = kal_host_create();
	int file RI_AT_END(ri_at_end_close) = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	int set RI_AT_END(ri_at_end_close) = epoll_create1(EPOLL_CLOEXEC);
	struct kal_loss loss;
	atomic_int told = 0;
	int kept;

	g_assert_nonnull(own);
	g_assert_cmpint(epoll_ctl(set, EPOLL_CTL_ADD, file, &event), ==, 0);
	kal_loss_begin(&loss, loss_fire, &told);
	WAIT_UNTIL(is_asleep(own));
	g_usleep(50000); /* until it does sleep */
	kept = fcntl(kal_fd_get(&own->poke), F_DUPFD_CLOEXEC, 3);
	g_assert_cmpint(dup3(set, kal_fd_get(&own->epoll), O_CLOEXEC), >=, 0);
	g_assert_cmpint(dup3(file, kal_fd_get(&own->poke), O_CLOEXEC), >=, 0);
	WAIT_UNTIL(atomic_load(&told) == 1);
	kal_loss_end(&loss);
	/* It is not touched any more, and nor is what has the number of another descriptor. */
	event = (struct epoll_event){.events = EPOLLIN | EPOLLONESHOT, .data = {.fd = 6}};
	g_assert_cmpint(epoll_ctl(set, EPOLL_CTL_MOD, file, &event), ==, 0);
	kal_host_destroy(own);
	g_assert_cmpint(epoll_wait(set, &event, 1, 0), ==, 1);
	g_assert_cmpint(event.data.fd, ==, 6);
	g_assert_cmpuint(counter_of(file), ==, 1);
	close(kept);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/host/timer-order", test_timer_order);
	g_test_add_func("/kal/host/timer-restart", test_timer_restart);
	g_test_add_func("/kal/host/timer-stop-race", test_timer_stop_race);
	g_test_add_func("/kal/host/task-once", test_task_once);
	g_test_add_func("/kal/host/task-frees-itself", test_task_frees_itself);
	g_test_add_func("/kal/host/watch-level", test_watch_level);
	g_test_add_func("/kal/host/watch-refused", test_watch_refused);
	g_test_add_func("/kal/host/watch-stop-race", test_watch_stop_race);
	g_test_add_func("/kal/host/stop-inside", test_stop_inside);
	g_test_add_func("/kal/host/signals-blocked", test_signals_blocked);
	g_test_add_func("/kal/host/random", test_random);
	g_test_add_func("/kal/host/memory", test_memory);
	g_test_add_func("/kal/host/fork", test_fork);
	g_test_add_func("/kal/host/own-host", test_own_host);
	g_test_add_data_func("/kal/host/closed", NULL, test_closed);
	g_test_add_data_func("/kal/host/closed-later", "", test_closed);
	g_test_add_func("/kal/host/closed-other-set", test_closed_other_set);
	return g_test_run();
}
