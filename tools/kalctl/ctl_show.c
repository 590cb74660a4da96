/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "ctl_show.h"

#include <arpa/inet.h>
#include <pwd.h>
#include <stdio.h>

#include "kal_config.h"
#include "tool_json.h"
#include "tool_live.h"
#include "tool_print.h"

#define PROGRAM "kalctl"

static const char *const resources[KAL_RESOURCE_COUNT] = {
	[KAL_RESOURCE_RNIC] = "rnic",     [KAL_RESOURCE_PD] = "pd",
	[KAL_RESOURCE_CQ] = "cq",         [KAL_RESOURCE_SRQ] = "srq",
	[KAL_RESOURCE_QP] = "qp",         [KAL_RESOURCE_MR] = "mr",
	[KAL_RESOURCE_MW] = "mw",         [KAL_RESOURCE_AH] = "ah",
	[KAL_RESOURCE_LISTEN] = "listen", [KAL_RESOURCE_MEMORY] = "memory",
};

static const char *const levels[KALD_LEVEL_COUNT] = {"process", "user", "group"};

/* A number, or "unlimited"; octets as people write them. */
static const char *
number_text(unsigned resource, uint64_t value, char text[32])
{
	if (value == UINT64_MAX)
		return "unlimited";
	if (resource == KAL_RESOURCE_MEMORY)
		tool_size(text, 32, value);
	else
		(void)snprintf(text, 32, "%" G_GUINT64_FORMAT, value);
	return text;
}

static char *
user_text(uint32_t uid)
{
	const struct passwd *user = getpwuid(uid);

	return user != NULL ? tool_escape(user->pw_name) : g_strdup_printf("%u", uid);
}

static char *
ports_text(const struct kald_entry *entry)
{
	GString *text = g_string_new(NULL);

	for (unsigned i = 0; i < MIN(entry->num_ports, KALD_PORTS_SHOWN); i++)
		g_string_append_printf(text, "%s%u", i > 0 ? "," : "", entry->ports[i]);
	if (entry->num_ports > KALD_PORTS_SHOWN)
		g_string_append(text, ",...");
	return g_string_free(text, FALSE);
}

static void
json_amounts(JsonBuilder *json, const char *name, const uint64_t *amounts)
{
	json_builder_set_member_name(json, name);
	json_builder_begin_object(json);
	for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++) {
		if (amounts[resource] == UINT64_MAX)
			tool_json_text(json, resources[resource], "unlimited");
		else
			tool_json_count(json, resources[resource], amounts[resource]);
	}
	json_builder_end_object(json);
}

/* What the process itself shows of its connections; NULL: nothing that the caller may see. g_free() it. */
static itx_live_t *
objects_of(const struct kald_entry *entry, size_t *count)
{
	itx_live_t *list = tool_live_read((int)entry->pid, count, NULL);

	if (list != NULL && *count > 0)
		return list;
	g_free(list);
	*count = 0;
	return NULL;
}

/* How many of them are endpoints with a peer. */
static size_t
peers_count(const itx_live_t *list, size_t count)
{
	size_t peers = 0;

	for (size_t i = 0; i < count; i++)
		peers += list[i].kind == ITX_LIVE_EP && list[i].peer[0] != '\0';
	return peers;
}

static void
json_entry(JsonBuilder *json, const struct kald_entry *entry)
{
	g_auto(GStrv) adapters = g_strsplit(entry->adapters, " ", -1);
	size_t count;
	g_autofree itx_live_t *list = objects_of(entry, &count);

	json_builder_begin_object(json);
	tool_json_count(json, "serial", entry->serial);
	tool_json_count(json, "pid", entry->pid);
	tool_json_count(json, "uid", entry->uid);
	tool_json_count(json, "gid", entry->gid);
	tool_json_text(json, "command", entry->command);
	tool_json_boolean(json, "stopped", entry->stopped != 0);
	tool_json_boolean(json, "answers", entry->described != 0);
	json_builder_set_member_name(json, "adapters");
	json_builder_begin_array(json);
	for (char **one = adapters; *one != NULL; one++)
		if (**one != '\0')
			tool_json_element(json, *one);
	json_builder_end_array(json);
	json_builder_set_member_name(json, "ports");
	json_builder_begin_array(json);
	for (unsigned i = 0; i < MIN(entry->num_ports, KALD_PORTS_SHOWN); i++)
		json_builder_add_int_value(json, entry->ports[i]);
	json_builder_end_array(json);
	tool_json_count(json, "num_ports", entry->num_ports);
	json_amounts(json, "lent", entry->lent);
	json_amounts(json, "used", entry->used);
	tool_json_boolean(json, "shown", list != NULL);
	tool_live_json(json, list, count);
	json_builder_end_object(json);
}

static void
json_entries(const GArray *entries)
{
	JsonBuilder *json = tool_json_begin(PROGRAM);

	json_builder_set_member_name(json, "processes");
	json_builder_begin_array(json);
	for (unsigned i = 0; i < entries->len; i++)
		json_entry(json, &g_array_index(entries, struct kald_entry, i));
	json_builder_end_array(json);
	tool_json_boolean(json, "ok", true);
	tool_json_print(json);
}

void
ctl_show_list(const GArray *entries, bool json)
{
	if (json) {
		json_entries(entries);
		return;
	}
	printf("%7s %-10s %-15s %7s %7s %7s %7s %9s %-12s %s\n", "PID", "USER", "COMMAND", "QP",
	       "PEERS", "CQ", "MR", "MEMORY", "PORTS", "ADAPTERS");
	for (unsigned i = 0; i < entries->len; i++) {
		const struct kald_entry *entry = &g_array_index(entries, struct kald_entry, i);
		g_autofree char *user = user_text(entry->uid);
		g_autofree char *command = tool_escape(entry->command);
		g_autofree char *adapters = tool_escape(entry->adapters);
		g_autofree char *ports = ports_text(entry);
		const uint64_t *used = entry->used;
		char memory[32], peers[24] = "-";
		size_t count;
		g_autofree itx_live_t *list = objects_of(entry, &count);

		if (list != NULL)
			(void)snprintf(peers, sizeof(peers), "%zu", peers_count(list, count));
		printf("%7u %-10s %-15s %7" G_GUINT64_FORMAT " %7s %7" G_GUINT64_FORMAT
		       " %7" G_GUINT64_FORMAT " %9s %-12s %s%s%s\n",
		       entry->pid, user, command, used[KAL_RESOURCE_QP], peers,
		       used[KAL_RESOURCE_CQ], used[KAL_RESOURCE_MR],
		       number_text(KAL_RESOURCE_MEMORY, used[KAL_RESOURCE_MEMORY], memory), ports,
		       adapters, entry->stopped ? " (stopped)" : "",
		       entry->described ? "" : " (does not answer)");
	}
}

void
ctl_show_shares(const GArray *entries, bool json)
{
	JsonBuilder *builder = json ? tool_json_begin(PROGRAM) : NULL;

	if (json) {
		json_builder_set_member_name(builder, "shares");
		json_builder_begin_array(builder);
	} else {
		printf("%-39s %4s %7s %-10s %8s\n", "ADDRESS", "SLOT", "PID", "USER", "SERVICES");
	}
	for (unsigned i = 0; i < entries->len; i++) {
		const struct kald_sharing *one = &g_array_index(entries, struct kald_sharing, i);
		g_autofree char *user = user_text(one->uid);
		char address[INET6_ADDRSTRLEN] = "";

		(void)inet_ntop(one->at.family, one->at.octets, address, sizeof(address));
		if (!json) {
			printf("%-39s %4u %7u %-10s %8u\n", address, one->slot, one->pid, user,
			       one->services);
			continue;
		}
		json_builder_begin_object(builder);
		tool_json_text(builder, "address", address);
		tool_json_number(builder, "slot", one->slot);
		tool_json_number(builder, "pid", one->pid);
		tool_json_number(builder, "uid", one->uid);
		tool_json_number(builder, "services", one->services);
		json_builder_end_object(builder);
	}
	if (!json)
		return;
	json_builder_end_array(builder);
	tool_json_boolean(builder, "ok", true);
	tool_json_print(builder);
}

void
ctl_show_processes(const GArray *entries, bool json)
{
	if (json) {
		json_entries(entries);
		return;
	}
	for (unsigned i = 0; i < entries->len; i++) {
		const struct kald_entry *entry = &g_array_index(entries, struct kald_entry, i);
		g_autofree char *user = user_text(entry->uid);
		g_autofree char *command = tool_escape(entry->command);
		g_autofree char *adapters = tool_escape(entry->adapters);
		g_autofree char *ports = ports_text(entry);
		g_autofree itx_live_t *list = NULL;
		size_t count;

		printf("process %u, %s, of user %s%s\n", entry->pid, command, user,
		       entry->stopped ? ", stopped" : "");
		printf("  adapters  %s\n  ports     %s\n", adapters, ports);
		printf("  %-8s %12s %12s%s\n", "", "in use", "lent",
		       entry->described ? "" : "   (in use: it does not answer; as it said last)");
		for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++) {
			char used[32], lent[32];

			printf("  %-8s %12s %12s\n", resources[resource],
			       number_text(resource, entry->used[resource], used),
			       number_text(resource, entry->lent[resource], lent));
		}
		list = objects_of(entry, &count);
		if (list == NULL)
			printf("  its connections cannot be shown (another user, or "
			       "ITAPI_LIVE=off)\n");
		else
			tool_live_print(list, count, NULL, 0, 0);
	}
}

void
ctl_show_limits(const struct kald_limits *asked, const struct kald_limited *limited, bool json)
{
	if (json) {
		JsonBuilder *builder = tool_json_begin(PROGRAM);

		tool_json_text(builder, "account", levels[asked->level]);
		tool_json_count(builder, "id", asked->id);
		tool_json_count(builder, "processes", limited->processes);
		json_amounts(builder, "limits", limited->limits);
		json_amounts(builder, "lent", limited->lent);
		tool_json_boolean(builder, "ok", true);
		tool_json_print(builder);
		return;
	}
	printf("%s %u, %u process%s\n  %-8s %12s %12s\n", levels[asked->level], asked->id,
	       limited->processes, limited->processes == 1 ? "" : "es", "", "lent", "limit");
	for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++) {
		char lent[32], limit[32];

		printf("  %-8s %12s %12s\n", resources[resource],
		       number_text(resource, limited->lent[resource], lent),
		       number_text(resource, limited->limits[resource], limit));
	}
}

static const char *
what_text(uint32_t what)
{
	switch (what) {
	case KALD_JOINED:
		return "joined";
	case KALD_LEFT:
		return "left";
	case KALD_REFUSED:
		return "refused";
	case KALD_WAS_STOPPED:
		return "stopped";
	case KALD_WAS_CALLED_BACK:
		return "recalled";
	default:
		return "changed";
	}
}

void
ctl_show_change(const struct kald_change *change, bool json)
{
	g_autofree char *text = tool_escape(change->text);
	g_autofree char *user = NULL;

	if (json) {
		JsonBuilder *builder = tool_json_begin(PROGRAM);

		tool_json_text(builder, "change", what_text(change->what));
		tool_json_count(builder, "serial", change->serial);
		tool_json_count(builder, "pid", change->pid);
		tool_json_count(builder, "uid", change->uid);
		tool_json_count(builder, "lost", change->lost);
		tool_json_text(builder, "text", change->text);
		tool_json_print(builder);
		return;
	}
	user = user_text(change->uid);
	if (change->lost > 0)
		printf("%u changes were lost\n", change->lost);
	printf("%-8s pid %u, user %s%s%s\n", what_text(change->what), change->pid, user,
	       text[0] != '\0' ? ": " : "", text);
}
