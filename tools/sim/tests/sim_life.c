/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A node that begins and ends as processes do: sim-life CASE. What the test expects of each case is in test_life.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SHARED "life.txt" /* in the folder of TMPDIR */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t monotonic;
static pthread_barrier_t barrier;
static pthread_key_t key;
static unsigned drawn;
static struct timespec began;

static const char *
path(const char *name)
{
	static char text[4096];

	snprintf(text, sizeof(text), "%s/%s", getenv("TMPDIR"), name);
	return text;
}

static void *
nothing(void *arg)
{
	return arg;
}

/* A constructor may do all that main() does. */
__attribute__((constructor)) static void
begin(void)
{
	pthread_condattr_t attr;
	pthread_t thread;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&monotonic, &attr);
	pthread_barrier_init(&barrier, NULL, 1);
	clock_gettime(CLOCK_REALTIME, &began);
	(void)!getrandom(&drawn, sizeof(drawn), 0);
	pthread_create(&thread, NULL, nothing, NULL);
	pthread_join(thread, NULL);
	usleep(10);
}

__attribute__((destructor)) static void
end(void)
{
	printf("destructor\n");
}

/* --- cases -------------------------------------------------------------------------------------- */

static void
constructed(void)
{
	struct timespec when;

	printf("began at %lld\ndrew %u\n", (long long)began.tv_sec, drawn);
	if (pthread_barrier_wait(&barrier) != 0) /* PTHREAD_BARRIER_SERIAL_THREAD */
		printf("one passes the barrier\n");
	clock_gettime(CLOCK_MONOTONIC, &when);
	when.tv_sec++;
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&monotonic, &mutex, &when);
	clock_gettime(CLOCK_REALTIME, &when);
	printf("waited %lld s\n", (long long)(when.tv_sec - began.tv_sec));
}

static void
bye(void)
{
	printf("handler\n");
}

static void
value_gone(void *value)
{
	printf("value %s is gone\n", (const char *)value);
}

static void *
holder(void *arg)
{
	pthread_setspecific(key, arg);
	if (strcmp(arg, "two") == 0)
		pthread_exit(NULL);
	return NULL;
}

static void
threads_end(void)
{
	static char values[][8] = {"one", "two"};
	pthread_t thread;

	pthread_key_create(&key, value_gone);
	for (int i = 0; i < 2; i++) {
		pthread_create(&thread, NULL, holder, values[i]);
		pthread_join(thread, NULL);
	}
	atexit(bye);
}

/* The last thread ends the process, as a return from main() does. */
static void
leaves(void)
{
	atexit(bye);
	pthread_exit(NULL);
}

/* What a process has not written out leaves it at its end, and is lost with one that is killed. */
static void
file_left(void)
{
	FILE *file = fopen(path(SHARED), "w");

	if (file != NULL)
		fputs("left\n", file);
}

static void
file_lost(void)
{
	file_left();
	sleep(10);
}

static void
file_read(void)
{
	char text[16] = "nothing\n";
	FILE *file = fopen(path(SHARED), "r");

	if (file != NULL && fgets(text, sizeof(text), file) == NULL)
		strcpy(text, "nothing\n");
	printf("%s", text);
}

static void
half_a_line(void)
{
	printf("half ");
	fprintf(stderr, "half ");
	usleep(1000);
	printf("a line\n");
}

static void
closed(void)
{
	printf("closed\n");
	fclose(stdout);
	fclose(stderr);
}

/* --- what a program polls, and what it leaves ---------------------------------------------------- */

static atomic_bool flag;

static void *
set_flag(void *arg)
{
	usleep(500);
	atomic_store(&flag, true);
	return arg;
}

/* Looks at memory and at a clock, and makes no other call. */
static void
clock_spin(void)
{
	struct timespec first, now;
	pthread_t thread;

	pthread_create(&thread, NULL, set_flag, NULL);
	clock_gettime(CLOCK_MONOTONIC, &first);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (!atomic_load(&flag) && now.tv_sec < first.tv_sec + 1);
	printf("%s\n", now.tv_sec == first.tv_sec ? "in time" : "too late");
	pthread_join(thread, NULL);
}

/* The number of a timer that is closed becomes that of a file. */
static void
timer_closed(void)
{
	const struct itimerspec often = {{.tv_nsec = 1000000}, {.tv_nsec = 1000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0), file;

	timerfd_settime(fd, 0, &often, NULL);
	close(fd);
	file = open(path(SHARED), O_RDWR | O_CREAT | O_TRUNC, 0600);
	usleep(5000);
	printf("%s, %ld octets\n", file == fd ? "the same number" : "another number",
	       (long)lseek(file, 0, SEEK_END));
}

/* Its timer is nobody's when it was killed: what waits then, waits without end. */
static void
timer_left(void)
{
	const struct itimerspec often = {{.tv_nsec = 1000000}, {.tv_nsec = 1000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	timerfd_settime(fd, 0, &often, NULL);
	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&mutex);
}

static void
for_ever(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&mutex);
}

static void
own_lock(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t own;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&own, &attr);
	pthread_mutex_lock(&own);
	if (pthread_mutex_lock(&own) == EDEADLK)
		printf("its own\n");
}

/* A condition becomes another one, of the other clock, with no call for it. */
static void
reused_cond(void)
{
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	pthread_condattr_t attr;
	struct timespec when;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&cond, &attr);
	pthread_cond_destroy(&cond);
	cond = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	clock_gettime(CLOCK_REALTIME, &when);
	when.tv_sec++;
	pthread_mutex_lock(&mutex);
	if (pthread_cond_timedwait(&cond, &mutex, &when) == ETIMEDOUT)
		printf("after a second\n");
}

/* A value that the counter has no room for, until another thread takes what is in it. */
static int counter;

static void *
take(void *arg)
{
	uint64_t value;

	usleep(1000);
	(void)!read(counter, &value, sizeof(value));
	return arg;
}

static void
full_counter(void)
{
	uint64_t value = UINT64_MAX - 10;
	pthread_t thread;

	counter = eventfd(0, 0);
	(void)!write(counter, &value, sizeof(value));
	pthread_create(&thread, NULL, take, NULL);
	value = 100;
	(void)!write(counter, &value, sizeof(value));
	(void)!read(counter, &value, sizeof(value));
	printf("counted %llu\n", (unsigned long long)value);
	pthread_join(thread, NULL);
}

/* As libstdc++ waits with a deadline: the time is none of a span, and a waker names bits. */
static uint32_t word;

static void *
wake(void *arg)
{
	usleep(1000);
	word = 1;
	syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 2u);
	printf("wakes %ld\n",
	       syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 1u));
	return arg;
}

static void
futex_bits(void)
{
	struct timespec when;
	pthread_t thread;

	clock_gettime(CLOCK_MONOTONIC, &when);
	when.tv_nsec += 5000;
	if (syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &when, NULL, 1u) < 0 &&
	    errno == ETIMEDOUT)
		printf("nobody wakes\n");
	pthread_create(&thread, NULL, wake, NULL);
	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 1u);
	pthread_join(thread, NULL);
}

/* --- which thread is woken, and when ----------------------------------------------------------------------- */

static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static unsigned waiting, woken;

static void *
wait_turn(void *name)
{
	pthread_mutex_lock(&mutex);
	waiting++;
	pthread_cond_wait(&turn, &mutex);
	if (woken++ == 0)
		printf("%s is first\n", (const char *)name);
	pthread_mutex_unlock(&mutex);
	return name;
}

/* Of two that wait, one is woken: either. And a thread is joined once. */
static void
one_of_two(void)
{
	static char names[][8] = {"one", "two"};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, wait_turn, names[i]);
	for (int i = 0; i < 2; i++) {
		while (waiting < 2)
			usleep(100);
		pthread_mutex_lock(&mutex);
		pthread_cond_signal(&turn);
		pthread_mutex_unlock(&mutex);
		usleep(1000);
		printf("%u woken\n", woken);
	}
	pthread_join(threads[0], NULL);
	if (pthread_join(threads[0], NULL) != 0)
		printf("joined once\n");
}

static void *
sleep_on_word(void *arg)
{
	waiting++;
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return arg;
}

static void
futex_one(void)
{
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, sleep_on_word, NULL);
	while (waiting < 2)
		usleep(100);
	usleep(100);
	printf("wakes %ld", syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
	printf(" and %ld\n", syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
}

/* A time of the clock, and what a new setting leaves of an old one. */
static void
timer_set(void)
{
	struct itimerspec at = {.it_value = {0}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	uint64_t times = 0;

	clock_gettime(CLOCK_MONOTONIC, &at.it_value);
	at.it_value.tv_sec += 2;
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
	sleep(1);
	printf("early %s, ", read(fd, &times, sizeof(times)) < 0 ? "nothing" : "something");
	usleep(1100000);
	printf("late %s, ", read(fd, &times, sizeof(times)) < 0 ? "nothing" : "something");
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL); /* which is past */
	usleep(1000);
	at.it_value.tv_sec += 100;
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
	printf("again %s\n", read(fd, &times, sizeof(times)) < 0 ? "nothing" : "something");
}

/* Gets on, each second. */
static void
beats(void)
{
	for (int i = 0; i < 8; i++) {
		sleep(1);
		printf("beat\n");
	}
}

static void
rests(void)
{
	sleep(1);
	for (int i = 0; i < 20; i++)
		sched_yield();
}

/* --- what nodes do not share ------------------------------------------------------------------------ */

static int words;
static char **arguments;

static void
options(void)
{
	int option;

	while ((option = getopt(words, arguments, "a:b")) != -1) {
		printf("-%c %s\n", option, optarg != NULL ? optarg : "alone");
		usleep(100);
	}
	printf("then %s\n", arguments[optind]);
}

static void
folder(void)
{
	char before[4096], now[4096];

	usleep(1000);
	if (getcwd(before, sizeof(before)) != NULL && chdir("/") == 0 &&
	    getcwd(now, sizeof(now)) != NULL)
		printf("from %s to %s\n", strcmp(before, "/") != 0 ? "there" : "/", now);
	usleep(1000);
}

static void
noisy(void)
{
	usleep(100);
	fprintf(stderr, "%s\n", arguments[1]);
	fflush(NULL);
	_exit(1);
}

static void
crash(void)
{
	raise(SIGSEGV);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {{"constructed", constructed},
	     {"threads-end", threads_end},
	     {"leaves", leaves},
	     {"file-left", file_left},
	     {"file-lost", file_lost},
	     {"file-read", file_read},
	     {"half", half_a_line},
	     {"closed", closed},
	     {"clock-spin", clock_spin},
	     {"timer-closed", timer_closed},
	     {"timer-left", timer_left},
	     {"for-ever", for_ever},
	     {"own-lock", own_lock},
	     {"reused-cond", reused_cond},
	     {"full-counter", full_counter},
	     {"futex-bits", futex_bits},
	     {"one-of-two", one_of_two},
	     {"futex-one", futex_one},
	     {"timer-set", timer_set},
	     {"beats", beats},
	     {"rests", rests},
	     {"options", options},
	     {"folder", folder},
	     {"noisy", noisy},
	     {"crash", crash}};

int
main(int argc, char **argv)
{
	words = argc - 1;
	arguments = argv + 1;
	for (size_t i = 0; argc >= 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		cases[i].run();
		return 0;
	}
	fprintf(stderr, "no such case\n");
	return 2;
}
