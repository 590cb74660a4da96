/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-run loads the door (doors/verbs) itself and lists its devices, so it prints the devices that
 * the program would see. Everything else about an adapter comes from IT-API.
 */
#include "it-run/run_door.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "door_list.h"
#include "tool_adapter.h"
#include "tool_error.h"
#include "tool_json.h"
#include "tool_print.h"

/* --- files ------------------------------------------------------------------------------------------- */

/* A file by its way from the folder of it-run; NULL: it is not there. */
static char *
file_from_bin(const char *way)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *bin = g_path_get_dirname(self != NULL ? self : "");
	g_autofree char *path = g_build_filename(bin, way, NULL);
	char *real = realpath(path, NULL);
	char *copy = g_strdup(real);

	free(real);
	return copy;
}

char *
run_door_find(GError **error)
{
	char *door = file_from_bin(RUN_DOOR_NAME);

	if (door == NULL)
		door = file_from_bin(RUN_DOOR_FROM_BIN);
	if (door == NULL)
		tool_fail(error, TOOL_ERROR_FAILED,
			  "%s is neither beside it-run nor where it would be installed, in %s from "
			  "there",
			  RUN_DOOR_NAME, RUN_DOOR_FROM_BIN);
	else if (strpbrk(door, " :") != NULL) {
		tool_fail(error, TOOL_ERROR_FAILED,
			  "LD_PRELOAD cannot name '%s', which has a space or a colon", door);
		g_clear_pointer(&door, g_free);
	}
	return door;
}

char *
run_door_wrappers(void)
{
	return file_from_bin(RUN_WRAPPERS_FROM_BIN);
}

/* --- devices ----------------------------------------------------------------------------------------- */

struct device {
	char *name;
	char *adapter;
	uint64_t guid;
};

static void
device_free(gpointer device)
{
	struct device *own = device;

	g_free(own->name);
	g_free(own->adapter);
	g_free(own);
}

static void
device_add(void *arg, const struct itapi_verbs_device *device)
{
	GPtrArray *devices = arg;
	struct device *own = g_new0(struct device, 1);

	own->name = g_strdup(device->name);
	own->adapter = g_strdup(device->adapter);
	own->guid = device->guid;
	g_ptr_array_add(devices, own);
}

/* What the door offers; NULL: the error is set. The door stays loaded, as objects of that size do. */
static GPtrArray *
devices_of(const char *door, GError **error)
{
	g_autoptr(GPtrArray) devices = g_ptr_array_new_with_free_func(device_free);
	static void *object;
	itapi_verbs_list_fn *list;
	void *symbol;
	int number;

	object = dlopen(door, RTLD_NOW | RTLD_LOCAL);
	symbol = object != NULL ? dlsym(object, ITAPI_VERBS_LIST) : NULL;
	if (symbol == NULL) {
		tool_fail(error, TOOL_ERROR_FAILED, "the door cannot be loaded: %s", dlerror());
		return NULL;
	}
	memcpy(&list, &symbol, sizeof(list));
	number = list(device_add, devices);
	if (number == 0)
		return g_steal_pointer(&devices);
	tool_fail(error, TOOL_ERROR_FAILED, "the adapters cannot be listed: %s",
		  g_strerror(number));
	return NULL;
}

/* Is there a device for the name, which is that of an adapter, or of a provider for each of its interfaces? */
static bool
is_offered(const GPtrArray *devices, const char *name)
{
	size_t length = strlen(name);

	for (guint i = 0; i < devices->len; i++) {
		const struct device *device = g_ptr_array_index(devices, i);

		if (strncmp(device->adapter, name, length) == 0 &&
		    (device->adapter[length] == '\0' || device->adapter[length] == ':'))
			return true;
	}
	return false;
}

/* Why a name stands for no device. */
static bool
not_offered(const char *name, GError **error)
{
	struct tool_adapter adapter;

	if (!tool_adapter_open(&adapter, name, error))
		return false;
	tool_adapter_close(&adapter);
	return tool_fail(error, TOOL_ERROR_FAILED,
			 "the adapter '%s' is not one of those that it-info lists, so programs "
			 "cannot find it",
			 name);
}

bool
run_door_check(const char *door, char **adapters, GError **error)
{
	g_autoptr(GPtrArray) devices = devices_of(door, error);

	if (devices == NULL)
		return false;
	for (char **name = adapters; name != NULL && *name != NULL; name++)
		if (!is_offered(devices, *name))
			return not_offered(*name, error);
	return devices->len > 0 || tool_fail(error, TOOL_ERROR_FAILED,
					     "there is no adapter that a program could use; "
					     "it-info lists the adapters of this machine");
}

/* --- the list ------------------------------------------------------------------------------------------- */

/* What is said of a device. */
struct row {
	const struct device *device;
	const char *transport; /* NULL: it cannot be opened */
	const char *state;
	char **addresses;
	char *trouble; /* why it cannot */
};

#define COLUMNS 5
static const char *const titles[COLUMNS] = {"DEVICE", "ADAPTER", "TRANSPORT", "PORT", "ADDRESSES"};

static char *
address_text(const it_net_addr_t *addr)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (addr->addr_type == IT_IPV4)
		inet_ntop(AF_INET, &addr->addr.ipv4, text, sizeof(text));
	else if (addr->addr_type == IT_IPV6)
		inet_ntop(AF_INET6, &addr->addr.ipv6, text, sizeof(text));
	else if (addr->addr_type == IT_IB_GID)
		inet_ntop(AF_INET6, &addr->addr.gid, text, sizeof(text));
	return g_strdup(text);
}

static char **
addresses_of(const it_ia_info_t *info)
{
	GPtrArray *texts = g_ptr_array_new();

	for (size_t i = 0; i < info->num_spigots; i++)
		for (size_t j = 0; j < info->spigot_info[i].num_net_addr; j++)
			g_ptr_array_add(texts, address_text(&info->spigot_info[i].net_addr[j]));
	g_ptr_array_add(texts, NULL);
	return (char **)g_ptr_array_free(texts, FALSE);
}

static void
row_fill(struct row *row, const struct device *device)
{
	g_autoptr(GError) trouble = NULL;
	struct tool_adapter adapter;

	row->device = device;
	if (!tool_adapter_open(&adapter, device->adapter, &trouble)) {
		row->trouble = g_strdup(trouble->message);
		return;
	}
	row->transport = adapter.info->transport_type == IT_IB_TRANSPORT ? "InfiniBand" : "iWARP";
	row->state = "down";
	for (size_t i = 0; i < adapter.info->num_spigots; i++)
		if (adapter.info->spigot_info[i].spigot_online)
			row->state = "active";
	row->addresses = addresses_of(adapter.info);
	tool_adapter_close(&adapter);
}

static void
print_table(const struct row *rows, guint count)
{
	g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);
	size_t widths[COLUMNS] = {0};

	for (int i = 0; i < COLUMNS; i++)
		g_ptr_array_add(cells, g_strdup(titles[i]));
	for (guint i = 0; i < count; i++) {
		const struct row *row = &rows[i];
		bool open = row->transport != NULL;
		g_autofree char *addresses = open ? g_strjoinv(" ", row->addresses) : NULL;

		g_ptr_array_add(cells, tool_escape(row->device->name));
		g_ptr_array_add(cells, tool_escape(row->device->adapter));
		g_ptr_array_add(cells, g_strdup(open ? row->transport : "-"));
		g_ptr_array_add(cells, g_strdup(open ? row->state : "-"));
		g_ptr_array_add(cells, tool_escape(open ? addresses : row->trouble));
	}
	for (guint i = 0; i < cells->len; i++)
		widths[i % COLUMNS] = MAX(widths[i % COLUMNS], strlen(g_ptr_array_index(cells, i)));
	for (guint i = 0; i < cells->len; i++) {
		bool last = i % COLUMNS == COLUMNS - 1;

		printf("%-*s%s", last ? 0 : (int)widths[i % COLUMNS],
		       (const char *)g_ptr_array_index(cells, i), last ? "\n" : "  ");
	}
}

static void
print_json(const char *program, const struct row *rows, guint count, bool good)
{
	JsonBuilder *json = tool_json_begin(program);

	json_builder_set_member_name(json, "devices");
	json_builder_begin_array(json);
	for (guint i = 0; i < count; i++) {
		const struct row *row = &rows[i];
		g_autofree char *guid =
			g_strdup_printf("%016" G_GINT64_MODIFIER "x", row->device->guid);

		json_builder_begin_object(json);
		tool_json_text(json, "name", row->device->name);
		tool_json_text(json, "adapter", row->device->adapter);
		tool_json_text(json, "guid", guid);
		if (row->transport == NULL) {
			tool_json_text(json, "error", row->trouble);
			json_builder_end_object(json);
			continue;
		}
		tool_json_text(json, "transport", row->transport);
		tool_json_text(json, "port", row->state);
		json_builder_set_member_name(json, "addresses");
		json_builder_begin_array(json);
		for (char **address = row->addresses; *address != NULL; address++)
			tool_json_element(json, *address);
		json_builder_end_array(json);
		json_builder_end_object(json);
	}
	json_builder_end_array(json);
	tool_json_boolean(json, "ok", good);
	tool_json_print(json);
}

bool
run_door_list(const char *program, const char *door, bool json, bool *good, GError **error)
{
	g_autoptr(GPtrArray) devices = devices_of(door, error);

	if (devices == NULL)
		return false;
	*good = true;
	g_autofree struct row *rows = g_new0(struct row, devices->len + 1);
	for (guint i = 0; i < devices->len; i++) {
		row_fill(&rows[i], g_ptr_array_index(devices, i));
		*good = *good && rows[i].transport != NULL;
	}
	if (json)
		print_json(program, rows, devices->len, *good);
	else
		print_table(rows, devices->len);
	for (guint i = 0; i < devices->len; i++) {
		g_strfreev(rows[i].addresses);
		g_free(rows[i].trouble);
	}
	return true;
}
