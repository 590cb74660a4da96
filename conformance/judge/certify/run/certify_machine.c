/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Where and of what a report was made. */

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "certify_run.h"

/* "model name : ..." of the first processor; the machine's name where there is none. */
static char *
processor_of(const char *machine)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents("/proc/cpuinfo", &text, NULL, NULL))
		return g_strdup(machine);
	lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line != NULL; line++) {
		const char *colon = strchr(*line, ':');

		if (colon != NULL && g_str_has_prefix(*line, "model name"))
			return g_strstrip(g_strdup(colon + 1));
	}
	return g_strdup(machine);
}

/* SHA-256 of a file in hexadecimal digits; NULL: it cannot be read. */
static char *
digest_of(const char *path)
{
	g_autofree char *text = NULL;
	gsize length;

	if (!g_file_get_contents(path, &text, &length, NULL))
		return NULL;
	return g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text, length);
}

/* A provider that is compiled in is part of the program that ran the cases. */
static void
object_tell(const struct certify_run *run)
{
	const char *told = certify_fact(run->report, "object");
	bool file = *told != '\0';
	g_autofree char *digest = digest_of(file ? told : run->cases);
	g_autofree char *name = g_path_get_basename(file ? told : run->cases);

	certify_fact_add(run->report, "file", name);
	certify_fact_add(run->report, "sha256", digest != NULL ? digest : "not known");
}

void
certify_machine_tell(const struct certify_run *run)
{
	struct utsname name;
	g_autofree char *kernel = NULL, *processor = NULL, *count = NULL;

	object_tell(run);
	if (uname(&name) != 0)
		return;
	kernel = g_strdup_printf("%s %s %s", name.sysname, name.release, name.machine);
	processor = processor_of(name.machine);
	count = g_strdup_printf("%ld", sysconf(_SC_NPROCESSORS_ONLN));
	certify_fact_add(run->report, "kernel", kernel);
	certify_fact_add(run->report, "processor", processor);
	certify_fact_add(run->report, "processors", count);
	certify_fact_add(run->report, "certifier", "it-certify " CERTIFY_VERSION);
}
