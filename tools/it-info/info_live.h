/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* it-info --live: what running processes do. */
#ifndef INFO_LIVE_H
#define INFO_LIVE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Print the objects of the process `which` (a number), or of "all" processes that the caller may
 * see; again every `interval_us` microseconds if that is not 0, until the user stops it. False:
 * `error` is set.
 */
bool info_live(const char *program, const char *which, uint64_t interval_us, bool as_json,
	       GError **error);

#endif /* INFO_LIVE_H */
