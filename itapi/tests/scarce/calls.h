/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * System calls that fail on request, each with the errors that it returns when a resource is
 * exhausted or unavailable for the moment. Calls that neither a sandbox nor a shortage makes fail,
 * such as read and close of valid descriptors, are left out.
 */
#ifndef CALLS_H
#define CALLS_H

#include <linux/seccomp.h>
#include <stdbool.h>

#define CALL_NUMBERS 3
#define CALL_ERRORS  3

struct call {
	const char *name;
	int numbers[CALL_NUMBERS]; /* each and 1; all of them count as one call */
	int errors[CALL_ERRORS];   /* the rest is 0 */
	bool (*counts)(const struct seccomp_data *data); /* NULL: each counts */
};

extern const struct call calls[];
extern const unsigned calls_number;

/* Before anything else that uses threads. Watch one of them, or all for -1. False: the kernel does not allow it. */
bool calls_watch(int which);
/* Let the n-th of the calls that are watched, from now on, fail with that error; the first is 1. 0: none. */
void calls_arm(unsigned long n, int error);
/* The same of the calling thread only, each with its own first error. */
void calls_arm_here(unsigned long n);
/* Let all succeed again. Returns how many were refused since. */
unsigned long calls_disarm(void);
/* How often that one was made since it was armed. */
unsigned long calls_count(unsigned which);

#endif /* CALLS_H */
