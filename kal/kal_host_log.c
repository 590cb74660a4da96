/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The log: lines from everywhere below the application become structured messages of GLib, with the
 * object they are about as a field of their own. ITAPI_LOG says how much (none, error, warning, info,
 * debug), and asking is enough: whatever passes has GLib's level "message", because GLib would drop the
 * lower ones once more, and would end a program under test for the higher ones. How bad it is stands in
 * PRIORITY and in front of the text. The writer is the application's; GLib's own writes to stderr.
 *
 * Without ITAPI_LOG there are errors and warnings, each once, since they tell of lasting harm: what was
 * said is remembered by a hash in a table of fixed size, and a full table ends the talk.
 */

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kal_host.h"

static const struct {
	const char *name;
	const char *priority; /* of syslog */
} levels[] = {
	[RI_LOG_ERROR] = {"error", "3"},
	[RI_LOG_WARNING] = {"warning", "4"},
	[RI_LOG_INFO] = {"info", "6"},
	[RI_LOG_DEBUG] = {"debug", "7"},
};

#define SAID 64 /* different lines that are said without being asked for */

static atomic_uint said[SAID];
static atomic_bool asked; /* ITAPI_LOG is set */

/* One line at a time. A writer of the application may make calls that are logged. */
static pthread_mutex_t speaking = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int
kal_host_log_level(void)
{
	const char *wanted = secure_getenv("ITAPI_LOG");

	atomic_store(&asked, wanted != NULL);
	if (wanted != NULL && strcmp(wanted, "none") == 0)
		return -1;
	for (unsigned i = 0; wanted != NULL && i < G_N_ELEMENTS(levels); i++) {
		if (strcmp(wanted, levels[i].name) == 0)
			return (int)i;
	}
	return RI_LOG_WARNING;
}

/* Nobody asked for this line, and it was said before, or too much was. */
static bool
is_repeated(const char *where, const char *text)
{
	unsigned hash = (g_str_hash(where) * 31 + g_str_hash(text)) | 1;

	if (atomic_load(&asked))
		return false;
	for (unsigned i = 0; i < SAID; i++) {
		unsigned none = 0;

		if (atomic_compare_exchange_strong(&said[i], &none, hash))
			return false;
		if (none == hash)
			return true;
	}
	return true;
}

void
kal_host_log(void *self, enum ri_log_level level, const char *where, const char *text)
{
	const struct kal_host *host = self;
	g_autofree char *message = NULL;

	if ((unsigned)level >= G_N_ELEMENTS(levels) || level > host->table.log_level ||
	    !host->log_wanted || atomic_load(&host->dead) || is_repeated(where, text))
		return;
	message = g_strdup_printf("%s: %s: %s", levels[level].name, where, text);
	pthread_mutex_lock(&speaking);
	g_log_structured_array(G_LOG_LEVEL_MESSAGE,
			       (const GLogField[]){
				       {"MESSAGE", message, -1},
				       {"PRIORITY", levels[level].priority, -1},
				       {"GLIB_DOMAIN", "itapi", -1},
				       {"ITAPI_OBJECT", where, -1},
			       },
			       4);
	pthread_mutex_unlock(&speaking);
}
