/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "tool_live.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tool_error.h"
#include "tool_json.h"
#include "tool_print.h"

static const char *const kinds[] = {
	[ITX_LIVE_IA] = "adapter",
	[ITX_LIVE_EP] = "endpoint",
	[ITX_LIVE_EVD] = "completion queue",
	[ITX_LIVE_LISTEN] = "listener",
	[ITX_LIVE_SRQ] = "shared receive queue",
};

static const char *
kind_name(const itx_live_t *live)
{
	return (unsigned)live->kind < G_N_ELEMENTS(kinds) && kinds[live->kind] != NULL
		       ? kinds[live->kind]
		       : "object";
}

/* What a status means for a process. */
static bool
status_check(it_status_t status, int pid, GError **error)
{
	if (status == IT_SUCCESS)
		return true;
	if (status == IT_ERR_INVALID_NAME)
		return tool_fail(error, TOOL_ERROR_FAILED, "there is no process %d", pid);
	if (status == IT_ERR_NO_PERMISSION)
		return tool_fail(
			error, TOOL_ERROR_FAILED,
			"process %d is another user's, or has more rights; root can see it", pid);
	if (status == IT_ERR_OP_NOT_SUPPORTED)
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "process %d has a library of another version", pid);
	return tool_check(status, "itx_live_list", error);
}

itx_live_t *
tool_live_read(int pid, size_t *count, GError **error)
{
	size_t room = 64, total = 0;

	/* Until all fit: there may be more each time. */
	for (;;) {
		g_autofree itx_live_t *list = g_new0(itx_live_t, room);

		*count = room;
		if (!status_check(itx_live_list(pid, list, count, &total), pid, error))
			return NULL;
		if (total <= room)
			return g_steal_pointer(&list);
		room = total + total / 8;
	}
}

void
tool_live_process(int pid, char command[64], char user[64])
{
	g_autofree char *folder = g_strdup_printf("/proc/%d", pid);
	g_autofree char *path = g_strdup_printf("/proc/%d/comm", pid);
	g_autofree char *text = NULL;
	const struct passwd *entry;
	struct stat st;

	command[0] = user[0] = '\0';
	if (g_file_get_contents(path, &text, NULL, NULL))
		g_strlcpy(command, g_strchomp(text), 64);
	if (stat(folder, &st) != 0)
		return;
	entry = getpwuid(st.st_uid);
	if (entry != NULL)
		g_strlcpy(user, entry->pw_name, 64);
	else
		(void)snprintf(user, 64, "%u", st.st_uid);
}

/* --- text ------------------------------------------------------------------------------------------------------ */

static bool
is_octets(unsigned counter)
{
	return counter == ITX_COUNTER_OCTETS_POSTED || counter == ITX_COUNTER_OCTETS_COMPLETED;
}

static void
value_text(unsigned counter, uint64_t value, char text[32])
{
	if (is_octets(counter))
		tool_size(text, 32, value);
	else
		(void)snprintf(text, 32, "%" G_GUINT64_FORMAT, value);
}

/* The counters that are not 0, a few in a line. */
static void
print_counters(const itx_live_t *live, const itx_live_t *before, double seconds)
{
	size_t column = 0;

	for (unsigned i = 0; i < ITX_COUNTER_COUNT; i++) {
		uint64_t value = live->counters[i], grown = 0;
		char text[32], rate[32];
		g_autofree char *piece = NULL;

		if ((live->known >> i & 1) == 0 || value == 0)
			continue;
		if (before != NULL && value > before->counters[i])
			grown = (uint64_t)((double)(value - before->counters[i]) / seconds + 0.5);
		value_text(i, value, text);
		value_text(i, grown, rate);
		piece = grown != 0 ? g_strdup_printf("%s %s (%s/s)",
						     itx_counter_name((itx_counter_t)i), text, rate)
				   : g_strdup_printf("%s %s", itx_counter_name((itx_counter_t)i),
						     text);
		if (column > 0 && column + 2 + strlen(piece) > 76) {
			printf("\n");
			column = 0;
		}
		printf("%s%s", column == 0 ? "      " : "  ", piece);
		column += strlen(piece) + (column == 0 ? 6 : 2);
	}
	if (column > 0)
		printf("\n");
}

static void
print_object(const itx_live_t *live)
{
	g_autofree char *adapter = tool_escape(live->adapter);
	g_autofree char *local = tool_escape(live->local);
	g_autofree char *peer = tool_escape(live->peer);
	g_autofree char *state = tool_escape(live->state);
	g_autofree char *type = tool_escape(live->type);

	switch (live->kind) {
	case ITX_LIVE_IA:
		printf("  adapter %s\n", adapter);
		break;
	case ITX_LIVE_EP:
		printf("    endpoint, queue pair %u, %s, %s", live->number, type, state);
		if (local[0] != '\0' || peer[0] != '\0')
			printf(", %s to %s", local[0] != '\0' ? local : "?",
			       peer[0] != '\0' ? peer : "?");
		printf("\n");
		break;
	case ITX_LIVE_EVD:
		printf("    completion queue %u\n", live->serial);
		break;
	case ITX_LIVE_SRQ:
		printf("    shared receive queue %u\n", live->serial);
		break;
	case ITX_LIVE_LISTEN:
		if (live->service != 0)
			printf("    listener, service %#" G_GINT64_MODIFIER "x\n", live->service);
		else
			printf("    listener, port %u\n", live->number);
		break;
	default:
		break;
	}
}

/* Objects by their serial number; `list` outlives it. */
static GHashTable *
by_serial(const itx_live_t *list, size_t count)
{
	GHashTable *table = g_hash_table_new(NULL, NULL);

	for (size_t i = 0; i < count; i++)
		g_hash_table_insert(table, GUINT_TO_POINTER(list[i].serial), (void *)&list[i]);
	return table;
}

/* The rows that belong to an adapter, by its name. A process may show very many adapters and rows, so each is looked at once. */
static GHashTable *
by_adapter(const itx_live_t *list, size_t count)
{
	GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
						  (GDestroyNotify)g_ptr_array_unref);

	for (size_t i = 0; i < count; i++) {
		GPtrArray *some = g_hash_table_lookup(table, list[i].adapter);

		if (list[i].kind == ITX_LIVE_IA)
			continue;
		if (some == NULL) {
			some = g_ptr_array_new();
			g_hash_table_insert(table, (void *)list[i].adapter, some);
		}
		g_ptr_array_add(some, (void *)&list[i]);
	}
	return table;
}

static void
print_all(const itx_live_t *live, GHashTable *before, double seconds)
{
	print_object(live);
	print_counters(live, g_hash_table_lookup(before, GUINT_TO_POINTER(live->serial)), seconds);
}

void
tool_live_print(const itx_live_t *list, size_t count, const itx_live_t *before, size_t num_before,
		double seconds)
{
	g_autoptr(GHashTable) last = by_serial(before, num_before);
	g_autoptr(GHashTable) objects = by_adapter(list, count);

	/* Each adapter with what belongs to it. */
	for (size_t i = 0; i < count; i++) {
		const GPtrArray *its;

		if (list[i].kind != ITX_LIVE_IA)
			continue;
		print_all(&list[i], last, seconds);
		its = g_hash_table_lookup(objects, list[i].adapter);
		for (unsigned j = 0; its != NULL && j < its->len; j++)
			print_all(g_ptr_array_index(its, j), last, seconds);
		/* Two sessions on one adapter are two adapters of one name, whose objects follow the first. */
		(void)g_hash_table_remove(objects, list[i].adapter);
	}
}

/* --- JSON ------------------------------------------------------------------------------------------------------ */

void
tool_live_json(JsonBuilder *json, const itx_live_t *list, size_t count)
{
	json_builder_set_member_name(json, "objects");
	json_builder_begin_array(json);
	for (size_t i = 0; i < count; i++) {
		const itx_live_t *live = &list[i];

		json_builder_begin_object(json);
		tool_json_text(json, "kind", kind_name(live));
		tool_json_count(json, "serial", live->serial);
		tool_json_text(json, "adapter", live->adapter);
		if (live->kind == ITX_LIVE_EP) {
			tool_json_count(json, "queue_pair", live->number);
			tool_json_text(json, "type", live->type);
			tool_json_text(json, "state", live->state);
			tool_json_text(json, "local", live->local);
			tool_json_text(json, "peer", live->peer);
		} else if (live->kind == ITX_LIVE_LISTEN) {
			tool_json_count(json, "port", live->number);
			tool_json_count(json, "service", live->service);
		}
		json_builder_set_member_name(json, "counters");
		json_builder_begin_object(json);
		for (unsigned j = 0; j < ITX_COUNTER_COUNT; j++)
			if ((live->known >> j & 1) != 0)
				tool_json_count(json, itx_counter_name((itx_counter_t)j),
						live->counters[j]);
		json_builder_end_object(json);
		json_builder_end_object(json);
	}
	json_builder_end_array(json);
}
