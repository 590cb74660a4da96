/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What a life observes: events and statuses as lines of text that do not depend on the run. */
#include <string.h>

#include "lives.h"

struct trace {
	GString *text;
	GHashTable *names;
	const unsigned char *bases[2]; /* of the buffers, END_BUFFER octets each */
};

struct trace *
trace_new(void)
{
	struct trace *trace = g_new0(struct trace, 1);

	trace->text = g_string_new(NULL);
	trace->names = g_hash_table_new(NULL, NULL);
	return trace;
}

void
trace_free(struct trace *trace)
{
	g_string_free(trace->text, TRUE);
	g_hash_table_destroy(trace->names);
	g_free(trace);
}

const char *
trace_text(const struct trace *trace)
{
	return trace->text->str;
}

void
trace_clear(struct trace *trace)
{
	g_string_truncate(trace->text, 0);
}

void
trace_line(struct trace *trace, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_string_append_vprintf(trace->text, format, args);
	va_end(args);
	g_string_append_c(trace->text, '\n');
}

void
trace_name(struct trace *trace, const void *handle, const char *name)
{
	if (name == NULL)
		g_hash_table_remove(trace->names, handle);
	else
		g_hash_table_insert(trace->names, (gpointer)(uintptr_t)handle,
				    (gpointer)(uintptr_t)name);
}

const char *
trace_handle(const struct trace *trace, const void *handle)
{
	const char *name = g_hash_table_lookup(trace->names, handle);

	if (handle == NULL)
		return "none";
	return name != NULL ? name : "unknown";
}

void
trace_bases(struct trace *trace, const unsigned char *near, const unsigned char *far)
{
	trace->bases[0] = near;
	trace->bases[1] = far;
}

gssize
trace_offset(const struct trace *trace, const void *addr)
{
	const unsigned char *at = addr;

	for (size_t i = 0; i < G_N_ELEMENTS(trace->bases); i++) {
		if (at >= trace->bases[i] && at < trace->bases[i] + END_BUFFER)
			return at - trace->bases[i];
	}
	return addr == NULL ? -1 : -2;
}

it_status_t
trace_call(struct trace *trace, const char *call, it_status_t status)
{
	trace_line(trace, "%s: %s", call, it_status_name(status));
	return status;
}

void
trace_octets(struct trace *trace, const char *what, const unsigned char *octets, size_t length)
{
	guint32 sum = 2166136261u;

	for (size_t i = 0; i < length; i++)
		sum = (sum ^ octets[i]) * 16777619u;
	trace_line(trace, "%s: %zu octets, sum %08x", what, length, sum);
}

static void
trace_pdata(struct trace *trace, const it_event_cm_any_t *event)
{
	size_t length = IT_MAX_PRIV_DATA;

	while (length > 0 && event->private_data[length - 1] == 0)
		length--;
	trace_octets(trace, event->private_data_present ? "  data" : "  no data",
		     event->private_data, length);
}

static void
trace_connection(struct trace *trace, const it_connection_event_t *event)
{
	trace_line(trace, "  ep %s, ird %u, ord %u", trace_handle(trace, event->ep),
		   event->rdma_read_ird, event->rdma_read_ord);
	if (event->event_number == IT_CM_MSG_CONN_NONPEER_REJECT_EVENT)
		trace_line(trace, "  reason %s", it_reject_name(event->reject_reason_code));
	if (event->event_number == IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT)
		trace_line(trace, "  id %d", event->cn_est_id != 0);
	trace_pdata(trace, (const it_event_cm_any_t *)event);
}

static void
trace_request(struct trace *trace, const it_conn_request_event_t *event)
{
	trace_line(trace, "  id %d, spigot %zu, qualifier %d, from %d, message %u, ird %u, ord %u",
		   event->cn_est_id != 0, event->spigot_id, (int)event->conn_qual.type,
		   (int)event->source_addr.addr_type, event->max_message_size, event->rdma_read_ird,
		   event->rdma_read_ord);
	trace_pdata(trace, (const it_event_cm_any_t *)event);
}

static void
trace_completion(struct trace *trace, const it_dto_cmpl_event_t *event)
{
	trace_line(trace, "  ep %s, cookie %" G_GUINT64_FORMAT ", %s, unlinked %s",
		   trace_handle(trace, event->ep), (guint64)event->cookie,
		   it_dto_status_name(event->dto_status),
		   trace_handle(trace, event->unlinked_mr_handle));
	if (event->dto_status == IT_DTO_SUCCESS)
		trace_line(trace, "  length %u", event->transferred_length);
}

void
trace_event(struct trace *trace, const it_event_t *event)
{
	trace_line(trace, "%s on %s", it_event_name(event->event_number),
		   trace_handle(trace, event->any.evd));
	switch ((unsigned)event->event_number & IT_EVENT_STREAM_MASK) {
	case IT_DTO_EVENT_STREAM:
		trace_completion(trace, &event->dto_cmpl);
		break;
	case IT_CM_REQ_EVENT_STREAM:
		trace_request(trace, &event->conn_req);
		break;
	case IT_CM_MSG_EVENT_STREAM:
		trace_connection(trace, &event->conn);
		break;
	case IT_ASYNC_AFF_EVENT_STREAM:
		trace_line(trace, "  cause %s", trace_handle(trace, event->aff_async.cause.ep));
		break;
	case IT_ASYNC_UNAFF_EVENT_STREAM:
		trace_line(trace, "  spigot %zu", event->unaff_async.spigot_id);
		break;
	case IT_SOFTWARE_EVENT_STREAM:
		trace_line(trace, "  data %p", event->sw.data);
		break;
	case IT_AEVD_NOTIFICATION_EVENT_STREAM:
		trace_line(trace, "  member %s", trace_handle(trace, event->aevd_notify.sevd));
		break;
	default:
		trace_line(trace, "  of no stream");
		break;
	}
}

void
trace_compare(const char *what, guint32 seed, const char *first, const char *second)
{
	gchar **a = g_strsplit(first, "\n", -1), **b = g_strsplit(second, "\n", -1);
	guint at = 0;

	while (a[at] != NULL && b[at] != NULL && strcmp(a[at], b[at]) == 0)
		at++;
	if (a[at] != NULL || b[at] != NULL) {
		for (guint i = at > 6 ? at - 6 : 0; i < at; i++)
			g_test_message("both:   %s", a[i]);
		for (guint i = at; i < at + 3; i++) {
			g_test_message("used:   %s", i < g_strv_length(a) ? a[i] : "(end)");
			g_test_message("new:    %s", i < g_strv_length(b) ? b[i] : "(end)");
		}
		g_test_message("%s, ITAPI_TEST_SEED=%u", what, seed);
		g_assert_cmpstr(a[at], ==, b[at]);
	}
	g_strfreev(a);
	g_strfreev(b);
}
