/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A program for the tests of it-sim: its first argument chooses what it does with the C library and
 * its threads. Its exit status is 0 if everything was as expected.
 */
#define ITAPI_ENABLE_V21_BINDINGS
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "it_api.h"
#include "it_ext.h"

#define THREADS 3
#define ROUNDS  5

static unsigned lives; /* of the program: a second copy begins at 0 */

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int
wants(const char *what, uint64_t got, uint64_t wanted)
{
	if (got == wanted)
		return 0;
	fprintf(stderr, "%s: %llu instead of %llu\n", what, (unsigned long long)got,
		(unsigned long long)wanted);
	return 1;
}

/* --- time ----------------------------------------------------------------------------------- */

static int
do_sleep(void)
{
	struct timespec long_one = {.tv_sec = 20}, until;
	struct timeval day;
	time_t second = time(NULL);
	uint64_t begin = now_ms();
	int bad = 0;

	nanosleep(&long_one, NULL);
	bad += wants("nanosleep", now_ms() - begin, 20000);
	usleep(5000);
	bad += wants("usleep", now_ms() - begin, 20005);
	sleep(2);
	bad += wants("sleep", now_ms() - begin, 22005);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 3;
	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
	bad += wants("clock_nanosleep", now_ms() - begin, 25005);
	bad += wants("time", (uint64_t)(time(NULL) - second), 25);
	gettimeofday(&day, NULL);
	bad += wants("gettimeofday", (uint64_t)(day.tv_sec - second), 25);
	long_one.tv_nsec = -1;
	bad += wants("a bad span", (uint64_t)nanosleep(&long_one, NULL), (uint64_t)-1);
	return bad;
}

static int
do_random(void)
{
	uint64_t drawn[2];

	if (getrandom(&drawn[0], sizeof(drawn[0]), 0) != (ssize_t)sizeof(drawn[0]) ||
	    getentropy(&drawn[1], sizeof(drawn[1])) != 0)
		return 1;
	printf("%016llx %016llx\n", (unsigned long long)drawn[0], (unsigned long long)drawn[1]);
	return drawn[0] == drawn[1];
}

/* --- descriptors -------------------------------------------------------------------------------- */

static int
do_timer(void)
{
	struct itimerspec often = {.it_value = {.tv_nsec = 10000000},
				   .it_interval = {.tv_nsec = 5000000}},
			  left;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), bad = 0;
	uint64_t begin = now_ms(), count = 0;

	bad += wants("timerfd_settime", (uint64_t)timerfd_settime(fd, 0, &often, NULL), 0);
	bad += wants("timerfd_gettime", (uint64_t)timerfd_gettime(fd, &left), 0);
	bad += wants("left", left.it_value.tv_nsec > 9000000 && left.it_value.tv_nsec <= 10000000,
		     1);
	bad += wants("read", (uint64_t)read(fd, &count, sizeof(count)), sizeof(count));
	bad += wants("first", now_ms() - begin, 10);
	bad += wants("count", count, 1);
	usleep(21000);
	bad += wants("read", (uint64_t)read(fd, &count, sizeof(count)), sizeof(count));
	bad += wants("periods", count, 4);
	often = (struct itimerspec){0};
	timerfd_settime(fd, 0, &often, NULL);
	struct pollfd waited = {.fd = fd, .events = POLLIN};
	begin = now_ms();
	bad += wants("a timer that is off", (uint64_t)poll(&waited, 1, 100), 0);
	bad += wants("time of a poll", now_ms() - begin, 100);
	return bad;
}

static void *
add_later(void *arg)
{
	uint64_t one = 1;

	usleep(3000);
	return write(*(int *)arg, &one, sizeof(one)) == (ssize_t)sizeof(one) ? NULL : arg;
}

/* Wait for an eventfd to which another thread adds, in each way there is. */
static int
do_wait(void)
{
	int fd = eventfd(0, EFD_CLOEXEC), set = epoll_create1(EPOLL_CLOEXEC), bad = 0;
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = 7};
	struct timeval second = {.tv_sec = 1};
	struct timespec second_too = {.tv_sec = 1};

	epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
	for (int way = 0; way < 5; way++) {
		struct pollfd waited = {.fd = fd, .events = POLLIN};
		uint64_t begin = now_ms(), value = 0;
		pthread_t thread;
		fd_set in;
		int ready = 1;

		FD_ZERO(&in);
		FD_SET(fd, &in);
		pthread_create(&thread, NULL, add_later, &fd);
		if (way == 0)
			ready = poll(&waited, 1, -1);
		else if (way == 1)
			ready = ppoll(&waited, 1, &second_too, NULL);
		else if (way == 2)
			ready = select(fd + 1, &in, NULL, NULL, &second);
		else if (way == 3)
			ready = epoll_wait(set, &event, 1, 1000);
		bad += wants("ready", (uint64_t)ready, 1);
		bad += wants("read", (uint64_t)read(fd, &value, sizeof(value)), sizeof(value));
		bad += wants("value", value, 1);
		bad += wants("time", now_ms() - begin, 3);
		pthread_join(thread, NULL);
	}
	bad += wants("data", event.data.u32, 7);
	return bad;
}

/* --- threads --------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static sem_t permits;
static unsigned total, turn, onces, serial;
static atomic_uint inside; /* sched_yield() is no barrier to the compiler */

static void
begin_once(void)
{
	usleep(1000);
	onces++;
}

static void *
work(void *arg)
{
	unsigned self = (unsigned)(uintptr_t)arg, count;
	int passed;

	pthread_once(&once, begin_once);
	assert(onces == 1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&lock);
		while (turn % THREADS != self)
			pthread_cond_wait(&changed, &lock);
		turn++;
		total++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		passed = pthread_barrier_wait(&barrier);
		serial += passed == PTHREAD_BARRIER_SERIAL_THREAD;
		sem_wait(&permits);
		count = ++inside;
		assert(count <= 2);
		sched_yield();
		inside--;
		sem_post(&permits);
		pthread_rwlock_rdlock(&shared);
		assert(total >= (round + 1) * THREADS);
		pthread_rwlock_unlock(&shared);
	}
	if (self == 0)
		pthread_exit((void *)(uintptr_t)1);
	return (void *)(uintptr_t)(self + 1);
}

static int
do_threads(void)
{
	pthread_t threads[THREADS];
	struct timespec until;
	int bad = 0;

	pthread_barrier_init(&barrier, NULL, THREADS);
	sem_init(&permits, 0, 2);
	for (unsigned i = 0; i < THREADS; i++)
		bad += wants(
			"pthread_create",
			(uint64_t)pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *value = NULL;

		bad += wants("pthread_join", (uint64_t)pthread_join(threads[i], &value), 0);
		bad += wants("value", (uintptr_t)value, i + 1);
	}
	bad += wants("total", total, THREADS * ROUNDS);
	bad += wants("serial", serial, ROUNDS);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&lock);
	bad += wants("timed wait", (uint64_t)pthread_cond_timedwait(&changed, &lock, &until),
		     ETIMEDOUT);
	pthread_mutex_unlock(&lock);
	return bad;
}

/* Add without a lock, and with one. */
static void *
add(void *arg)
{
	unsigned seen;

	if (arg != NULL)
		pthread_mutex_lock(&lock);
	seen = total;
	getrandom(&(char){0}, 1, 0);
	usleep(1);
	total = seen + 1;
	if (arg != NULL)
		pthread_mutex_unlock(&lock);
	return NULL;
}

static int
do_add(bool locked)
{
	pthread_t threads[2];

	for (unsigned i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, add, locked ? &lock : NULL);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return wants("total", total, 2);
}

static void *
take_both(void *arg)
{
	pthread_mutex_t *first = arg != NULL ? &lock : &other_lock,
			*second = arg != NULL ? &other_lock : &lock;

	pthread_mutex_lock(first);
	pthread_mutex_lock(second);
	pthread_mutex_unlock(second);
	pthread_mutex_unlock(first);
	return NULL;
}

static int
do_both(bool ordered)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, take_both, &lock);
	pthread_create(&threads[1], NULL, take_both, ordered ? &lock : NULL);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* --- ends ---------------------------------------------------------------------------------------------- */

static int
do_poll_in_vain(const char *adapter)
{
	it_ia_handle_t ia;
	it_evd_handle_t evd;
	it_event_t event;

	if (it_ia_create(adapter, 2, 1, &ia) != IT_SUCCESS ||
	    it_evd_create(ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 4, 1, IT_NULL_HANDLE,
			  &evd, NULL) != IT_SUCCESS)
		return 1;
	while (it_evd_dequeue(evd, &event) == IT_ERR_QUEUE_EMPTY)
		;
	return 1;
}

static int
do_open(const char *adapter)
{
	it_ia_handle_t ia;
	it_status_t status = it_ia_create(adapter, 2, 1, &ia);

	printf("%s\n", it_status_name(status));
	return status == IT_SUCCESS ? 0 : 4;
}

static int
do_end(const char *what)
{
	volatile unsigned never = 0;
	volatile int *forbidden;

	if (strcmp(what, "abort") == 0) {
		fprintf(stderr, "that is too much\n");
		abort();
	}
	if (strcmp(what, "assert") == 0)
		assert(never == 1);
	if (strcmp(what, "crash") == 0) {
		forbidden = mmap(NULL, sizeof(*forbidden), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
		*forbidden = 1;
	}
	if (strcmp(what, "datagrams") == 0)
		return socket(AF_INET, SOCK_DGRAM, 0);
	if (strcmp(what, "fork") == 0)
		return fork();
	if (strcmp(what, "pid") == 0) /* the same in no two runs */
		return usleep((unsigned)getpid() % 7 + 1);
	if (strcmp(what, "exit") == 0)
		exit(3);
	if (strcmp(what, "write") == 0)
		return write(STDOUT_FILENO, "past stdio\n", 11) != 11;
	return 2;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "lives") == 0) {
		printf("life %u\n", ++lives);
		fflush(stdout);
		return argc > 2 ? (int)sleep(10) : 0;
	}
	if (strcmp(what, "sleep") == 0)
		return do_sleep();
	if (strcmp(what, "random") == 0)
		return do_random();
	if (strcmp(what, "timer") == 0)
		return do_timer();
	if (strcmp(what, "wait") == 0)
		return do_wait();
	if (strcmp(what, "threads") == 0)
		return do_threads();
	if (strcmp(what, "add") == 0)
		return do_add(argc > 2);
	if (strcmp(what, "both") == 0)
		return do_both(argc > 2);
	if (strcmp(what, "vain") == 0)
		return do_poll_in_vain(argv[2]);
	if (strcmp(what, "open") == 0)
		return do_open(argv[2]);
	return do_end(what);
}
