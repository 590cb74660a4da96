/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What this layer writes to the log of the host: at level "debug" every refused call, at "info" events of connections,
 * and always events that an application loses.
 */
#ifndef UAL_LOG_H
#define UAL_LOG_H

#include <stdatomic.h>
#include <stdbool.h>

#include "it_api.h"

/* The log wants refused calls. Relaxed: it is set before the first adapter is opened. */
extern atomic_bool ual_log_refusals;

/* Read the level of the log; before the first call can be refused. */
void ual_log_setup(void);
/* Set the writer of lines; NULL: stderr. It gets a level from 0, error, to 3, debug. */
void ual_log_set_writer(void (*writer)(void *, int, const char *, const char *), void *context);
/* One line about a call that was refused. */
void ual_log_refused(const char *call, const void *handle, it_status_t status);
struct ual_ep;
struct ual_ia;

/* One line: a reset that can never succeed. */
void ual_log_no_reset(struct ual_ep *ep);
/* One line about an event of a connection. Without locks. */
void ual_log_connection(struct ual_ep *ep, const it_connection_event_t *event);
/* One line about an asynchronous event; cause is a handle. Without locks. */
void ual_log_async(const struct ual_ia *ia, it_event_type_t number, const void *cause);
/* One line: a dispatcher of that stream and size was full, and events are lost; evd is a handle. */
void ual_log_lost(const struct ual_ia *ia, const void *evd, it_event_type_t stream, size_t size);
/* ITAPI_TRACE names a folder in which no file can be made, for that errno; 0: nothing. Said once for each cause. */
void ual_log_untraced(int error);

/* Return the status of a call; a refusal is logged if the log wants refusals. */
static inline it_status_t
ual_answer(const char *call, const void *handle, it_status_t status)
{
	/* Relaxed: a refusal at the moment of the change may be missing in the log. */
	if (__builtin_expect(atomic_load_explicit(&ual_log_refusals, memory_order_relaxed), 0))
		ual_log_refused(call, handle, status);
	return status;
}

#endif /* UAL_LOG_H */
