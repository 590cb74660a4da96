/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The library logs why it refused something. The first lines are kept, so that the message about a failure can give
 * the reason. All are printed in the form of the library's log, with the tool's name.
 */
#include "tool_log.h"

#include <glib.h>
#include <it_ext.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "tool_print.h"

#define KEPT_MAX 256

struct line {
	char *who;
	char *what;
	int level;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct line kept[KEPT_MAX];
static unsigned count;

static void
keep_line(int level, const char *who, const char *what)
{
	pthread_mutex_lock(&lock);
	if (count < KEPT_MAX)
		kept[count++] =
			(struct line){.who = g_strdup(who), .what = g_strdup(what), .level = level};
	pthread_mutex_unlock(&lock);
}

static void
write_log(void *unused, int level, const char *who, const char *what)
{
	(void)unused;
	keep_line(level, who, what);
	if (strcmp(who, TOOL_LOG_ADAPTERS) != 0)
		tool_log_say(level, who, what);
}

void
tool_log_begin(void)
{
	itx_log_set_writer(write_log, NULL);
}

unsigned
tool_log_count(void)
{
	unsigned now;

	pthread_mutex_lock(&lock);
	now = count;
	pthread_mutex_unlock(&lock);
	return now;
}

char *
tool_log_reasons(unsigned first)
{
	g_autoptr(GString) reasons = g_string_new(NULL);

	pthread_mutex_lock(&lock);
	for (unsigned i = first; i < count; i++) {
		bool apart = strcmp(kept[i].who, TOOL_LOG_REGISTRY) == 0 ||
			     strcmp(kept[i].who, TOOL_LOG_ADAPTERS) == 0 ||
			     strcmp(kept[i].who, TOOL_LOG_SETTINGS) == 0;

		if (!apart && kept[i].level <= ITX_LOG_WARNING)
			g_string_append_printf(reasons, "%s%s", reasons->len > 0 ? "; " : "",
					       kept[i].what);
	}
	pthread_mutex_unlock(&lock);
	return reasons->len > 0 ? g_strdup(reasons->str) : NULL;
}

char **
tool_log_said_by(const char *who)
{
	GPtrArray *texts = g_ptr_array_new();

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < count; i++) {
		if (strcmp(kept[i].who, who) == 0)
			g_ptr_array_add(texts, g_strdup(kept[i].what));
	}
	pthread_mutex_unlock(&lock);
	g_ptr_array_add(texts, NULL);
	return (char **)g_ptr_array_free(texts, FALSE);
}
