/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Clocks, sleeps and random numbers, in place of the C library's. All clocks show virtual time; CLOCK_REALTIME begins at
 * DAY_BEGINS. Calls of threads outside of a run go to the C library.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_libc.h"
#include "sim/sim_real.h"

#define DAY_BEGINS UINT64_C(946684800) /* s: the year 2000 */
#define SECOND     UINT64_C(1000000000)

uint64_t
sim_clock_base(clockid_t clock)
{
	bool day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;

	return day ? DAY_BEGINS * SECOND : SECOND;
}

uint64_t
sim_deadline_of(clockid_t clock, const struct timespec *when)
{
	uint64_t base = sim_clock_base(clock);
	uint64_t ns;

	if (when->tv_sec < 0)
		return 0;
	if ((uint64_t)when->tv_sec > UINT64_C(9000000000))
		return RI_NEVER;
	ns = (uint64_t)when->tv_sec * SECOND + (uint64_t)when->tv_nsec;
	return ns > base ? ns - base : 0;
}

uint64_t
sim_deadline_after(const struct timespec *span)
{
	if (span == NULL || (uint64_t)span->tv_sec > UINT64_C(9000000000))
		return RI_NEVER;
	return sim_now() + (uint64_t)span->tv_sec * SECOND + (uint64_t)span->tv_nsec;
}

bool
sim_span_is_good(const struct timespec *span)
{
	return span->tv_sec >= 0 && span->tv_nsec >= 0 && span->tv_nsec < (long)SECOND;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	uint64_t ns;

	if (sim_me == NULL)
		return SIM_REAL(clock_gettime)(clock, now);
	sim_looked("clock_gettime");
	/* Clocks of processor time, too: a program computes all the time that passes. */
	ns = sim_clock_base(clock) + sim_now_read();
	now->tv_sec = (time_t)(ns / SECOND);
	now->tv_nsec = (long)(ns % SECOND);
	return 0;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	uint64_t ns;

	if (sim_me == NULL)
		return SIM_REAL(gettimeofday)(now, zone);
	sim_looked("gettimeofday");
	ns = sim_clock_base(CLOCK_REALTIME) + sim_now_read();
	now->tv_sec = (time_t)(ns / SECOND);
	now->tv_usec = (suseconds_t)(ns % SECOND / 1000);
	return 0;
}

time_t
time(time_t *out)
{
	time_t now;

	if (sim_me == NULL)
		return SIM_REAL(time)(out);
	sim_looked("time");
	now = (time_t)((sim_clock_base(CLOCK_REALTIME) + sim_now_read()) / SECOND);
	if (out != NULL)
		*out = now;
	return now;
}

int
timespec_get(struct timespec *now, int base)
{
	if (sim_me == NULL || base != TIME_UTC)
		return SIM_REAL(timespec_get)(now, base);
	(void)clock_gettime(CLOCK_REALTIME, now);
	return base;
}

/* --- processor time: all that has passed --------------------------------------------------------- */

clock_t
clock(void)
{
	if (sim_me == NULL)
		return SIM_REAL(clock)();
	sim_looked("clock");
	return (clock_t)(sim_now_read() / (SECOND / CLOCKS_PER_SEC));
}

clock_t
times(struct tms *used)
{
	clock_t ticks;

	if (sim_me == NULL)
		return SIM_REAL(times)(used);
	ticks = (clock_t)(sim_now_read() / (SECOND / (uint64_t)sysconf(_SC_CLK_TCK)));
	if (used != NULL)
		*used = (struct tms){.tms_utime = ticks};
	return ticks;
}

int
getrusage(__rusage_who_t who, struct rusage *used)
{
	uint64_t ns;

	if (!sim_applies())
		return SIM_REAL(getrusage)(who, used);
	ns = sim_now_read();
	*used = (struct rusage){.ru_utime = {.tv_sec = (time_t)(ns / SECOND),
					     .tv_usec = (suseconds_t)(ns % SECOND / 1000)}};
	return 0;
}

/* --- sleeps ------------------------------------------------------------------------------------- */

static bool
never(void *unused)
{
	(void)unused;
	return false;
}

static void
sleep_until(const char *call, uint64_t deadline)
{
	sim_me->call = call;
	(void)sim_block(call, never, NULL, deadline);
	sim_me->call = NULL;
}

int
clock_nanosleep(clockid_t clock, int flags, const struct timespec *span, struct timespec *left)
{
	if (!sim_applies())
		return SIM_REAL(clock_nanosleep)(clock, flags, span, left);
	if (!sim_span_is_good(span))
		return EINVAL;
	sleep_until("clock_nanosleep", (flags & TIMER_ABSTIME) != 0 ? sim_deadline_of(clock, span)
								    : sim_deadline_after(span));
	return 0;
}

int
nanosleep(const struct timespec *span, struct timespec *left)
{
	if (!sim_applies())
		return SIM_REAL(nanosleep)(span, left);
	if (!sim_span_is_good(span)) {
		errno = EINVAL;
		return -1;
	}
	sleep_until("nanosleep", sim_deadline_after(span));
	return 0;
}

int
usleep(useconds_t us)
{
	if (!sim_applies())
		return SIM_REAL(usleep)(us);
	sleep_until("usleep", sim_now() + (uint64_t)us * 1000);
	return 0;
}

unsigned
sleep(unsigned seconds)
{
	if (!sim_applies())
		return SIM_REAL(sleep)(seconds);
	sleep_until("sleep", sim_now() + seconds * SECOND);
	return 0;
}

int
sched_yield(void)
{
	if (sim_me == NULL)
		return SIM_REAL(sched_yield)();
	if (sim_applies())
		sim_me->call = "sched_yield";
	sim_idle(sim_me->call != NULL ? sim_me->call : "sched_yield");
	return 0;
}

/* --- random numbers --------------------------------------------------------------------------------- */

static void
draw(void *buf, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = (uint8_t)(sim_random_draw(&sim_me->node->random) >> 32);
}

ssize_t
getrandom(void *buf, size_t len, unsigned flags)
{
	if (!sim_applies())
		return SIM_REAL(getrandom)(buf, len, flags);
	draw(buf, len);
	return (ssize_t)len;
}

int
getentropy(void *buf, size_t len)
{
	if (!sim_applies())
		return SIM_REAL(getentropy)(buf, len);
	draw(buf, len);
	return 0;
}

uint32_t
arc4random(void)
{
	uint32_t value;

	if (!sim_applies())
		return SIM_REAL(arc4random)();
	draw(&value, sizeof(value));
	return value;
}

void
arc4random_buf(void *buf, size_t len)
{
	if (!sim_applies())
		SIM_REAL(arc4random_buf)(buf, len);
	else
		draw(buf, len);
}

uint32_t
arc4random_uniform(uint32_t bound)
{
	if (!sim_applies())
		return SIM_REAL(arc4random_uniform)(bound);
	return bound < 2 ? 0 : (uint32_t)sim_random_below(&sim_me->node->random, bound);
}

/* std::random_device of libstdc++ may ask the processor, whose instruction cannot be met: so its function is. */
unsigned _ZNSt13random_device9_M_getvalEv(void *self);

unsigned
_ZNSt13random_device9_M_getvalEv(void *self)
{
	unsigned value = 0;

	(void)self;
	(void)getentropy(&value, sizeof(value));
	return value;
}
