/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The log: lines from everywhere below the application become structured messages of GLib, with the
 * object they are about as a field of their own. Nothing is said unless ITAPI_LOG asks for it (error,
 * warning, info, debug), and asking is enough: whatever passes has GLib's level "message", because
 * GLib would drop the lower ones once more, and would end a program under test for the higher ones.
 * How bad it is stands in PRIORITY and in front of the text. The writer is the application's.
 */

#include <glib.h>
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

int
kal_host_log_level(void)
{
	const char *wanted = secure_getenv("ITAPI_LOG");

	for (unsigned i = 0; wanted != NULL && i < G_N_ELEMENTS(levels); i++) {
		if (strcmp(wanted, levels[i].name) == 0)
			return (int)i;
	}
	return -1;
}

void
kal_host_log(void *self, enum ri_log_level level, const char *where, const char *text)
{
	const struct kal_host *host = self;
	g_autofree char *message = NULL;

	if ((unsigned)level >= G_N_ELEMENTS(levels) || level > host->table.log_level ||
	    !host->log_wanted || atomic_load(&host->dead))
		return;
	message = g_strdup_printf("%s: %s: %s", levels[level].name, where, text);
	g_log_structured_array(G_LOG_LEVEL_MESSAGE,
			       (const GLogField[]){
				       {"MESSAGE", message, -1},
				       {"PRIORITY", levels[level].priority, -1},
				       {"GLIB_DOMAIN", "itapi", -1},
				       {"ITAPI_OBJECT", where, -1},
			       },
			       4);
}
