/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A trace of the events of connections and adapters, for people: one line for each event. It is off until
 * itx_init_tracing or ITAPI_TRACE turns it on; while it is off it costs one load.
 */
#ifndef UAL_TRACE_H
#define UAL_TRACE_H

#include <stdatomic.h>
#include <stdint.h>

#include "it_api.h"

extern atomic_int ual_trace_file; /* descriptor, or -1 */

/* Begin: a new file NAME.RANK.PID.trace in the folder ITAPI_TRACE, or in the current one. */
it_status_t ual_trace_begin(const char *name, int rank);
/*
 * Begin with the program's name and rank 0, if ITAPI_TRACE names a folder and no trace has begun. Returns 0 also if there is
 * nothing to begin, or the errno with which the file could not be made.
 */
int ual_trace_from_environment(void);
/* One line. */
void ual_trace_write(const void *object, const char *what, const char *detail);

static inline void
ual_trace(const void *object, const char *what, const char *detail)
{
	/* Relaxed: a line at the moment of the change may be missing. */
	if (__builtin_expect(atomic_load_explicit(&ual_trace_file, memory_order_relaxed) >= 0, 0))
		ual_trace_write(object, what, detail);
}

#endif /* UAL_TRACE_H */
