/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Several programs at the same time, each in a thread, on the same two IAs. Each has its own zones, dispatchers,
 * listens and objects, so none can see what another does, and each must give the results that it gives alone.
 */
#ifndef DF_THREADS_H
#define DF_THREADS_H

#include "df_run.h"

struct df_thread {
	const struct df_program *program;
	const struct df_expected *expected;
	struct df_record *record; /* an output; the caller owns it */
};

/* False: no such adapter. */
bool df_threads_run(const char *adapter, struct df_thread *threads, unsigned count,
		    unsigned patience_s);

#endif /* DF_THREADS_H */
