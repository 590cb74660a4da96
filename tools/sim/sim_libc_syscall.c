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
	bool woken;
};

static struct sleeper *sleepers;

static bool
is_woken(void *arg)
{
	return ((struct sleeper *)arg)->woken;
}

static long
futex_wait(const uint32_t *word, uint32_t value, const struct timespec *span)
{
	struct sleeper self = {.next = sleepers, .word = word};
	struct sleeper **at = &sleepers;
	bool woken;

	if (*word != value) {
		errno = EAGAIN;
		return -1;
	}
	sleepers = &self;
	woken = sim_block("a lock (futex)", is_woken, &self, sim_deadline_after(span));
	while (*at != &self)
		at = &(*at)->next;
	*at = self.next;
	if (woken)
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

static long
futex_wake(const uint32_t *word, uint32_t most)
{
	long count = 0;

	for (struct sleeper *one = sleepers; one != NULL && count < (long)most; one = one->next) {
		if (one->word == word && !one->woken) {
			one->woken = true;
			count++;
		}
	}
	return count;
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
	if (sim_applies() && number == SYS_futex) {
		switch (args[1] & FUTEX_CMD_MASK) {
		case FUTEX_WAIT:
			return futex_wait((const uint32_t *)args[0], (uint32_t)args[2],
					  (const struct timespec *)args[3]);
		case FUTEX_WAKE:
			return futex_wake((const uint32_t *)args[0], (uint32_t)args[2]);
		default:
			sim_refuse("futex");
		}
	}
	return SIM_REAL(syscall)(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
