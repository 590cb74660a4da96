/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Lines for the log. A line has the call, the kind and handle of the object, the name of the status or event and its
 * meaning. The log of the host (ri_host::log) decides whether a line is written. Any thread. These functions are
 * called only if the level wants the line, or if events are lost.
 */
#include "ual_log.h"

#include <stdio.h>

#include "kal_call.h"
#include "ual_names.h"
#include "ual_object.h"

#define LINE 320

atomic_bool ual_log_refusals;
static _Atomic(const struct ri_host *) log_host;

void
ual_log_setup(void)
{
	const struct ri_host *host = kal_client_host(NULL);

	if (host == NULL)
		return;
	atomic_store(&log_host, host);
	atomic_store(&ual_log_refusals, host->log_level >= RI_LOG_DEBUG);
}

_Static_assert(RI_LOG_ERROR == 0 && RI_LOG_DEBUG == 3, "the levels of ual_log_set_writer");

void
ual_log_set_writer(void (*writer)(void *, int, const char *, const char *), void *context)
{
	kal_log_set_writer(writer, context);
}

/* The host, if it wants lines of this level. */
static const struct ri_host *
listener_log(enum ri_log_level level)
{
	const struct ri_host *host = atomic_load(&log_host);

	return host != NULL && host->log_level >= (uint32_t)level ? host : NULL;
}

static void
object_text(const void *handle, char *text, size_t room)
{
	static const char *const kinds[UAL_TYPE_COUNT] = {
		[UAL_IA] = "IA",   [UAL_PZ] = "PZ",
		[UAL_EVD] = "EVD", [UAL_EP] = "EP",
		[UAL_LMR] = "LMR", [UAL_RMR] = "RMR",
		[UAL_SRQ] = "SRQ", [UAL_LISTEN] = "listen",
		[UAL_AH] = "AH",   [UAL_UD_SVC] = "service request",
	};
	enum ual_type type = UAL_FREE;

	if (handle == NULL)
		(void)snprintf(text, room, "no object");
	else if (ual_object_any(handle, &type) != NULL)
		(void)snprintf(text, room, "%s %p", kinds[type], handle);
	else
		(void)snprintf(text, room, "no object %p", handle);
}

void
ual_log_refused(const char *call, const void *handle, it_status_t status)
{
	const struct ri_host *host = listener_log(RI_LOG_DEBUG);
	char object[64], line[LINE];

	/* An empty queue or the end of a timeout is no refusal. */
	if (host == NULL || status == IT_SUCCESS || status == IT_ERR_QUEUE_EMPTY ||
	    status == IT_ERR_TIMEOUT_EXPIRED || status == IT_ERR_NO_CONTEXT)
		return;
	object_text(handle, object, sizeof(object));
	(void)snprintf(line, sizeof(line), "%s: %s: %s", object, ual_name_status(status),
		       ual_reason(status));
	host->log(host->self, RI_LOG_DEBUG, call, line);
}

void
ual_log_connection(const it_connection_event_t *event)
{
	const struct ri_host *host = listener_log(RI_LOG_INFO);
	bool failed = event->event_number == IT_CM_MSG_CONN_NONPEER_REJECT_EVENT;
	char line[LINE];

	if (host == NULL)
		return;
	(void)snprintf(line, sizeof(line), "EP %p: %s%s%s", (const void *)event->ep,
		       ual_name_event(event->event_number), failed ? ": " : "",
		       failed ? ual_name_reject(event->reject_reason_code) : "");
	host->log(host->self, RI_LOG_INFO, "connection", line);
}

void
ual_log_async(it_event_type_t number, const void *cause)
{
	const struct ri_host *host = listener_log(RI_LOG_INFO);
	char object[64], line[LINE];

	if (host == NULL)
		return;
	object_text(cause, object, sizeof(object));
	(void)snprintf(line, sizeof(line), "%s: %s", object, ual_name_event(number));
	host->log(host->self, RI_LOG_INFO, "asynchronous event", line);
}

void
ual_log_lost(const void *evd, it_event_type_t stream, size_t size)
{
	const struct ri_host *host = listener_log(RI_LOG_WARNING);
	char line[LINE];

	if (host == NULL)
		return;
	(void)snprintf(
		line, sizeof(line),
		"EVD %p of the stream %s is full (%zu events): events are lost; make it larger",
		evd, ual_name_event(stream), size);
	host->log(host->self, RI_LOG_WARNING, "event dispatcher", line);
}

void
ual_log_untraced(int error)
{
	static atomic_int last;
	const struct ri_host *host = listener_log(RI_LOG_WARNING);
	const char *reason = strerrordesc_np(error);
	char line[LINE];

	if (atomic_exchange(&last, error) == error || error == 0 || host == NULL)
		return;
	(void)snprintf(line, sizeof(line),
		       "no trace: ITAPI_TRACE must be a folder for new files: %s",
		       reason != NULL ? reason : "an error without a name");
	host->log(host->self, RI_LOG_WARNING, "trace", line);
}
