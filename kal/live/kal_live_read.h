/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Reads the tables that other processes publish (kal_live_page.h). */
#ifndef KAL_LIVE_READ_H
#define KAL_LIVE_READ_H

#include <sys/types.h>

#include "kal_live_page.h"

/* What one slot says, checked: kind, state and type are values that exist, and the texts end. */
struct kal_live_item {
	char adapter[64];
	const char *state;         /* of a QP; never NULL */
	struct kal_live_slot slot; /* a copy; the places of CQs are 0 or below the table's room */
};

/*
 * Call `each` for every object of a process, adapters first; 0: this process. The process does not
 * take part: it may hang, be stopped, or end meanwhile. *missed: the number of objects for which
 * its table has no room. Returns 0 or an errno: ESRCH: there is no such process; EACCES: it is
 * another user's, or more privileged; ENOENT: it has no adapter open, or does not publish its
 * table; EPROTO: this version cannot read its table; or an errno of the system.
 */
int kal_live_read(pid_t pid, void (*each)(void *arg, const struct kal_live_item *item), void *arg,
		  unsigned *missed);

/* The same of a file that is open; for tests. */
int kal_live_read_file(int fd, void (*each)(void *arg, const struct kal_live_item *item), void *arg,
		       unsigned *missed);

#endif /* KAL_LIVE_READ_H */
