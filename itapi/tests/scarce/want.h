/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A case of want: one resource that the test application (life.c) needs is refused. Each case is a
 * process of its own: it must end by itself, each call must succeed or return IT_ERR_RESOURCES, all
 * objects must be freed, and afterwards a second life must succeed. "Warm" cases begin after a
 * first life; in them every block that was allocated since must be freed again, every descriptor
 * closed and every shared mapping gone. "Cold" cases are the first use of the library in their
 * process.
 */
#ifndef WANT_H
#define WANT_H

#include <stdbool.h>

#include "it_api.h"

struct want {
	const char *adapter;
	unsigned long n; /* what is refused: the n-th from the begin of the life, from 1 */
	bool warm;
	bool for_good; /* and all later ones */
	unsigned call; /* of calls.h, with that error, if system calls are what is wanted */
	int error;
	bool (*prepare)(
		const struct want
			*want); /* in the new process; false: it cannot be tested. NULL: nothing */
	void (*arm)(const struct want *want);
	unsigned long (*disarm)(void); /* returns how many were refused */
	bool (*accepts)(const struct want *want,
			it_status_t status); /* besides IT_ERR_RESOURCES; NULL: none */
	void (*print)(const struct want *want);
};

enum outcome {
	WANT_FINE = 0,
	WANT_WRONG = 1,
	WANT_NEVER = 3, /* a life needs fewer than that */
	WANT_UNTESTED = 4
};

/* Run it. What is wrong is printed as a comment of TAP. */
enum outcome want_run(const struct want *want);

#endif /* WANT_H */
