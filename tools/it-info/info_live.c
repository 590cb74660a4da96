/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "info_live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tool_error.h"
#include "tool_json.h"
#include "tool_live.h"
#include "tool_options.h"
#include "tool_print.h"
#include "tool_signal.h"

#define CLEAR "\033[H\033[J" /* of a terminal */

/* What was read of a process, last and now. */
struct seen {
	itx_live_t *list;
	size_t count;
	unsigned round;
};

static void
seen_free(void *arg)
{
	struct seen *seen = (struct seen *)arg;

	g_free(seen->list);
	g_free(seen);
}

/* A look at everything, once. */
struct look {
	GHashTable *seen; /* by pid */
	JsonBuilder *json;
	double seconds; /* since the last look; 0: there was none */
	unsigned round;
	unsigned shown;
};

static void
process_show(struct look *look, int pid, itx_live_t *list, size_t count)
{
	struct seen *before = g_hash_table_lookup(look->seen, GINT_TO_POINTER(pid));
	struct seen *now = g_new0(struct seen, 1);
	char command[64], user[64];

	tool_live_process(pid, command, user);
	look->shown++;
	if (look->json != NULL) {
		json_builder_begin_object(look->json);
		tool_json_count(look->json, "pid", (uint64_t)pid);
		tool_json_text(look->json, "command", command);
		tool_json_text(look->json, "user", user);
		tool_live_json(look->json, list, count);
		json_builder_end_object(look->json);
	} else {
		g_autofree char *safe = tool_escape(command);

		printf("process %d, %s, of user %s\n", pid, safe, user);
		tool_live_print(list, count, before != NULL ? before->list : NULL,
				before != NULL ? before->count : 0, look->seconds);
	}
	*now = (struct seen){.list = list, .count = count, .round = look->round};
	g_hash_table_replace(look->seen, GINT_TO_POINTER(pid), now);
}

/* A process that was named: that there is nothing to see is an error. */
static bool
one_show(struct look *look, int pid, GError **error)
{
	size_t count = 0;
	itx_live_t *list = tool_live_read(pid, &count, error);

	if (list == NULL)
		return false;
	if (count == 0) {
		g_free(list);
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "process %d has no adapter open, or ITAPI_LIVE=off", pid);
	}
	process_show(look, pid, list, count);
	return true;
}

static bool
all_show(struct look *look, GError **error)
{
	g_autoptr(GDir) folder = g_dir_open("/proc", 0, NULL);
	const char *name;

	if (folder == NULL)
		return tool_fail(error, TOOL_ERROR_FAILED, "/proc cannot be read");
	while ((name = g_dir_read_name(folder)) != NULL) {
		int pid = atoi(name);
		size_t count = 0;
		itx_live_t *list;

		if (pid <= 0 || pid == getpid())
			continue;
		/* Those of other users, and those that have ended meanwhile, are left out. */
		list = tool_live_read(pid, &count, NULL);
		if (list != NULL && count > 0)
			process_show(look, pid, list, count);
		else
			g_free(list);
	}
	return true;
}

static gboolean
is_old(gpointer key, gpointer value, gpointer round)
{
	(void)key;
	return ((const struct seen *)value)->round != GPOINTER_TO_UINT(round);
}

static bool
look_once(struct look *look, const char *program, int pid, bool as_json, GError **error)
{
	bool good;

	if (as_json) {
		look->json = tool_json_begin(program);
		json_builder_set_member_name(look->json, "processes");
		json_builder_begin_array(look->json);
	}
	good = pid != 0 ? one_show(look, pid, error) : all_show(look, error);
	if (as_json && good) {
		json_builder_end_array(look->json);
		tool_json_boolean(look->json, "ok", true);
		tool_json_print(look->json);
	} else if (as_json) {
		g_object_unref(look->json);
	} else if (good && look->shown == 0) {
		printf("no process that you may see has an adapter open\n");
	}
	g_hash_table_foreach_remove(look->seen, is_old, GUINT_TO_POINTER(look->round));
	return good;
}

static bool
pid_read(const char *which, int *pid, GError **error)
{
	char *end;
	long value;

	*pid = 0;
	if (g_strcmp0(which, "all") == 0)
		return true;
	errno = 0;
	value = strtol(which, &end, 10);
	if (errno != 0 || *end != '\0' || value <= 0 || value > G_MAXINT)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "'%s' is not a process: it is a number, or all", which);
	*pid = (int)value;
	return true;
}

bool
info_live(const char *program, const char *which, uint64_t interval_us, bool as_json,
	  GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(NULL, NULL, NULL, seen_free);
	struct look look = {.seen = seen};
	gint64 last = 0;
	bool good = true;
	int pid;

	if (!pid_read(which, &pid, error))
		return false;
	while (good) {
		gint64 now = g_get_monotonic_time();

		if (!as_json && interval_us != 0 && isatty(STDOUT_FILENO) != 0)
			printf(CLEAR);
		look.seconds = (double)(now - last) / 1e6;
		look.round++;
		look.shown = 0;
		good = look_once(&look, program, pid, as_json, error);
		last = now;
		if (interval_us == 0 || !good || !tool_output_good(error))
			break;
		for (uint64_t slept = 0; slept < interval_us && !tool_stopped(); slept += 10000)
			g_usleep((gulong)MIN(interval_us - slept, 10000));
		if (tool_stopped())
			break;
		if (!as_json)
			printf("\n");
	}
	return good && (error == NULL || *error == NULL);
}
