/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>

#include "ri_near.h"
#include "tool_adapter.h"
#include "tool_error.h"
#include "tool_log.h"

#define REQUEST_ROOM  256
#define NAMES_MAX     12 /* adapters that a message names */
#define PORT_ATTEMPTS 16 /* a port that is free at one spigot may be busy at another */

it_interface_t *
tool_adapter_list(size_t *count)
{
	it_interface_t *list;
	size_t total = 0;

	*count = 0;
	it_interface_list(NULL, count, &total);
	list = g_new0(it_interface_t, total + 1);
	*count = total;
	it_interface_list(list, count, &total);
	return list;
}

/* An adapter that stands before another one, for tests. With their provider there are some hundred. */
static bool
wraps(const char *name)
{
	return g_str_has_prefix(name, "faulty:") || g_str_has_prefix(name, "defect:") ||
	       g_str_has_prefix(name, "record:");
}

/* The adapter that a misspelt name probably means, or the first few that there are; those that wrap others come last. */
static void
name_others(GString *text, const char *name, const it_interface_t *list, size_t count)
{
	const char *best = NULL;
	unsigned least = 0, named = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned found;

		if (!ri_near(name, list[i].name, &found) || (best != NULL && found >= least))
			continue;
		best = list[i].name;
		least = found;
	}
	if (best != NULL)
		g_string_append_printf(text, "did you mean '%s'?", best);
	else
		g_string_append(text, count > 0 ? "there are " : "there is none");
	for (size_t i = 0; best == NULL && i < 2 * count && named < NAMES_MAX; i++) {
		if (wraps(list[i % count].name) == (i >= count))
			g_string_append_printf(text, "%s%s", named++ > 0 ? ", " : "",
					       list[i % count].name);
	}
	if (best == NULL && count > NAMES_MAX)
		g_string_append_printf(text, " and %zu others, which it-info lists",
				       count - NAMES_MAX);
}

/* No provider has an adapter of that name: why, which adapters there are, and which providers were refused. */
static void
no_such_name(const char *name, const it_interface_t *list, size_t count, GError **error)
{
	g_auto(GStrv) refused = tool_log_said_by(TOOL_LOG_REGISTRY);
	g_auto(GStrv) absent = tool_log_said_by(TOOL_LOG_ADAPTERS);
	g_autofree char *reasons = tool_log_reasons(0);
	g_autoptr(GString) text = g_string_new(NULL);
	guint said = g_strv_length(absent);

	/* The log may be off. The library names the nearest name of an adapter, too. */
	if (said > 0)
		g_string_append(text, absent[said - 1]);
	else
		g_string_append_printf(text, "there is no adapter named '%s'", name);
	if (strstr(text->str, "; did you mean ") == NULL) {
		g_string_append(text, "; ");
		name_others(text, name, list, count);
	}
	for (char **one = refused; *one != NULL; one++) {
		if (strstr(text->str, *one) == NULL)
			g_string_append_printf(text, "; a provider was refused: %s", *one);
	}
	if (reasons != NULL)
		g_string_append_printf(text, "; %s", reasons);
	if (g_str_has_prefix(name, "iwarp:"))
		g_string_append_printf(
			text, "; %s is %s", name + strlen("iwarp:"),
			if_nametoindex(name + strlen("iwarp:")) == 0
				? "not a network interface"
				: "a network interface that is down or has no address");
	tool_fail(error, TOOL_ERROR_FAILED, "%s", text->str);
}

static bool
is_listed(const char *name, const it_interface_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].name, name) == 0)
			return true;
	}
	return false;
}

/* What the status means, and what to do about it. */
static const char *
status_advice(it_status_t status)
{
	if (status == IT_ERR_NO_PERMISSION)
		return "this user may not use the device; try as a user who may, or ask for the "
		       "right";
	if (status == IT_ERR_RESOURCES)
		return "memory or descriptors ran out, a limit of the administrator is reached, or "
		       "the provider could not open its device";
	if (status == IT_ERR_IA_CATASTROPHE)
		return "the adapter failed beyond repair";
	return "the log says more with ITAPI_LOG=debug";
}

/* Why an adapter could not be opened: what the log says since line `first`, else what the status means. */
static void
not_opened(const char *name, it_status_t status, unsigned first, GError **error)
{
	g_autofree char *reasons = tool_log_reasons(first);
	g_autofree it_interface_t *list = NULL;
	size_t count = 0;

	if (status == IT_ERR_INVALID_NAME)
		list = tool_adapter_list(&count);
	/* A file of the administrator that cannot be used hides all adapters. */
	if (status == IT_ERR_INVALID_NAME && (count > 0 || reasons == NULL) &&
	    !is_listed(name, list, count))
		no_such_name(name, list, count, error);
	else if (reasons != NULL)
		tool_fail(error, TOOL_ERROR_FAILED, "cannot open the adapter '%s': %s", name,
			  reasons);
	else
		tool_fail(error, TOOL_ERROR_FAILED, "cannot open the adapter '%s': %s: %s", name,
			  it_status_name(status), status_advice(status));
}

bool
tool_adapter_open(struct tool_adapter *adapter, const char *name, GError **error)
{
	unsigned lines = tool_log_count();
	it_status_t status;

	memset(adapter, 0, sizeof(*adapter));
	adapter->name = g_strdup(name);
	status = it_ia_create(name, 2, 1, &adapter->ia);
	if (status != IT_SUCCESS)
		not_opened(name, status, lines, error);
	else if (tool_check(it_ia_query(adapter->ia, &adapter->info), "it_ia_query", error) &&
		 tool_check(it_pz_create(adapter->ia, &adapter->pz), "it_pz_create", error))
		return true;
	tool_adapter_close(adapter);
	return false;
}

void
tool_adapter_close(struct tool_adapter *adapter)
{
	it_ia_info_free(adapter->info);
	if (adapter->ia != NULL)
		it_ia_free(adapter->ia);
	g_free(adapter->name);
	memset(adapter, 0, sizeof(*adapter));
}

it_conn_qual_t
tool_port(uint16_t port)
{
	it_conn_qual_t qual = {.type = IT_IANA_PORT};

	qual.conn_qual.port = htons(port);
	return qual;
}

static it_status_t
listen_on(struct tool_listener *listener, size_t spigot)
{
	it_conn_qual_t qual = tool_port(listener->port);
	it_listen_flags_t flags =
		listener->flags |
		(listener->port == 0 ? IT_LISTEN_NO_FLAG : IT_LISTEN_CONN_QUAL_INPUT);
	it_status_t status;

	status = it_listen_create(listener->adapter->ia, spigot, listener->requests, flags, &qual,
				  &listener->listens[listener->count]);
	if (status != IT_SUCCESS)
		return status;
	listener->port = ntohs(qual.conn_qual.port);
	listener->count++;
	return IT_SUCCESS;
}

static void
listens_close(struct tool_listener *listener)
{
	for (size_t i = 0; i < listener->count; i++)
		it_listen_free(listener->listens[i]);
	listener->count = 0;
}

/*
 * Listen on the port at each spigot; port 0 lets the library choose one at the first spigot. A spigot may be unable
 * to listen, for example without an address, but a port that is busy at any of them is busy.
 */
static it_status_t
listen_everywhere(struct tool_listener *listener, uint16_t port)
{
	const it_ia_info_t *info = listener->adapter->info;
	it_status_t status = IT_ERR_INVALID_SPIGOT;

	listener->port = port;
	for (size_t i = 0; i < info->num_spigots; i++) {
		it_status_t one = listen_on(listener, info->spigot_info[i].spigot_id);

		if (one == IT_ERR_CONN_QUAL_BUSY) {
			listens_close(listener);
			return one;
		}
		if (status != IT_SUCCESS)
			status = one;
	}
	return status;
}

bool
tool_listener_open(struct tool_listener *listener, struct tool_adapter *adapter, uint16_t port,
		   GError **error)
{
	return tool_listener_open_as(listener, adapter, port, IT_LISTEN_NO_FLAG, error);
}

bool
tool_listener_open_as(struct tool_listener *listener, struct tool_adapter *adapter, uint16_t port,
		      it_listen_flags_t flags, GError **error)
{
	it_status_t status = IT_ERR_CONN_QUAL_BUSY;

	memset(listener, 0, sizeof(*listener));
	listener->adapter = adapter;
	listener->flags = flags;
	if (!tool_check(it_evd_create(adapter->ia, IT_CM_REQ_EVENT_STREAM, IT_EVD_CREATE_FD,
				      REQUEST_ROOM, 1, NULL, &listener->requests, &listener->fd),
			"it_evd_create for requests", error))
		return false;
	listener->listens = g_new0(it_listen_handle_t, adapter->info->num_spigots);
	for (int i = 0; status == IT_ERR_CONN_QUAL_BUSY && i < (port == 0 ? PORT_ATTEMPTS : 1); i++)
		status = listen_everywhere(listener, port);
	if (status == IT_SUCCESS)
		return true;
	if (status == IT_ERR_CONN_QUAL_BUSY && port != 0)
		tool_fail(error, TOOL_ERROR_FAILED, "port %u is in use", port);
	else
		tool_fail(error, TOOL_ERROR_FAILED, "cannot listen on port %u: %s", port,
			  it_status_name(status));
	tool_listener_close(listener);
	return false;
}

void
tool_listener_close(struct tool_listener *listener)
{
	listens_close(listener);
	if (listener->requests != NULL)
		it_evd_free(listener->requests);
	g_free(listener->listens);
	memset(listener, 0, sizeof(*listener));
}

bool
tool_listener_take(struct tool_listener *listener, it_conn_request_event_t *request, GError **error)
{
	it_event_t event;

	do {
		it_status_t status = it_evd_dequeue(listener->requests, &event);

		if (status == IT_ERR_QUEUE_EMPTY)
			return false;
		if (!tool_check(status, "waiting for requests", error))
			return false;
	} while (event.event_number != IT_CM_REQ_CONN_REQUEST_EVENT);
	*request = event.conn_req;
	return true;
}
