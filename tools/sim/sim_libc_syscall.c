/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* System calls that programs make by syscall(): the futex of GLib's locks, clocks and random numbers. Others are passed through. */
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_libc.h"
#include "sim/sim_real.h"

struct sleeper {
	struct sleeper *next;
	const uint32_t *word;
	uint32_t bits; /* that a waker names one of */
	bool woken;
};

static struct sleeper *sleepers;

static bool
is_woken(void *arg)
{
	return ((struct sleeper *)arg)->woken;
}

static long
futex_wait(const uint32_t *word, uint32_t value, uint32_t bits, uint64_t deadline)
{
	struct sleeper self = {.next = sleepers, .word = word, .bits = bits};
	struct sleeper **at = &sleepers;
	bool woken;

	if (*word != value) {
		errno = EAGAIN;
		return -1;
	}
	sleepers = &self;
	woken = sim_block("a lock (futex)", is_woken, &self, deadline);
	while (*at != &self)
		at = &(*at)->next;
	*at = self.next;
	if (woken)
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

static long
futex_wake(const uint32_t *word, uint32_t most, uint32_t bits)
{
	long count = 0;

	for (struct sleeper *one = sleepers; one != NULL && count < (long)most; one = one->next) {
		if (one->word == word && !one->woken && (one->bits & bits) != 0) {
			one->woken = true;
			count++;
		}
	}
	return count;
}

static long
futex(const long *args)
{
	const uint32_t *word = (const uint32_t *)args[0];
	const struct timespec *when = (const struct timespec *)args[3];
	const clockid_t clock =
		(args[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;

	switch (args[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		return futex_wait(word, (uint32_t)args[2], FUTEX_BITSET_MATCH_ANY,
				  sim_deadline_after(when));
	case FUTEX_WAIT_BITSET: /* its time is none of a span */
		return futex_wait(word, (uint32_t)args[2], (uint32_t)args[5],
				  when != NULL ? sim_deadline_of(clock, when) : RI_NEVER);
	case FUTEX_WAKE:
		return futex_wake(word, (uint32_t)args[2], FUTEX_BITSET_MATCH_ANY);
	case FUTEX_WAKE_BITSET:
		return futex_wake(word, (uint32_t)args[2], (uint32_t)args[5]);
	default:
		sim_refuse("futex");
	}
}

/* What has a function of the C library here, too; *known: it is such a call. */
static long
call_by_name(long number, const long *args, bool *known)
{
	*known = true;
	switch (number) {
	case SYS_clock_gettime:
		return clock_gettime((clockid_t)args[0], (struct timespec *)args[1]);
	case SYS_gettimeofday:
		return gettimeofday((struct timeval *)args[0], (void *)args[1]);
#ifdef SYS_time
	case SYS_time:
		return time((time_t *)args[0]);
#endif
	case SYS_getrandom:
		return getrandom((void *)args[0], (size_t)args[1], (unsigned)args[2]);
	case SYS_nanosleep:
		return nanosleep((const struct timespec *)args[0], (struct timespec *)args[1]);
	case SYS_read:
		return read((int)args[0], (void *)args[1], (size_t)args[2]);
	case SYS_write:
		return write((int)args[0], (const void *)args[1], (size_t)args[2]);
	case SYS_close:
		return close((int)args[0]);
	default:
		*known = false;
		return 0;
	}
}

long
syscall(long number, ...)
{
	bool known = false;
	long answer;

	long args[6];
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < G_N_ELEMENTS(args); i++)
		args[i] = va_arg(list, long);
	va_end(list);
	answer = sim_applies() ? call_by_name(number, args, &known) : 0;
	if (known)
		return answer;
	if (sim_applies() && number == SYS_futex)
		return futex(args);
	return SIM_REAL(syscall)(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
