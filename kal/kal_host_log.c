/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The log: lines from everywhere below the application, each with the object it is about. ITAPI_LOG
 * says how much is written (none, error, warning, info, debug). The application may set a writer of its
 * own (kal_log_set_writer); otherwise each line goes to stderr with one write(2). No line needs memory:
 * a line may tell that memory ran out, and it must not end the process.
 *
 * Without ITAPI_LOG there are errors and warnings, each once, since they tell of lasting harm. A table
 * of fixed size holds a hash of each line that was written; when the table is full, no more lines
 * are written. With ITAPI_LOG each line is written, up to a number in a second.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kal_call.h"
#include "kal_host.h"
#include "kal_settings.h"

static const char *const levels[] = {
	[RI_LOG_ERROR] = "error",
	[RI_LOG_WARNING] = "warning",
	[RI_LOG_INFO] = "info",
	[RI_LOG_DEBUG] = "debug",
};

#define LEVELS    (sizeof(levels) / sizeof(levels[0]))
#define LINE_SIZE 1024 /* bytes of a line on stderr; the rest is cut */

#define SAID 64 /* different lines that are said without being asked for */

static atomic_uint said[SAID];
static atomic_bool asked; /* ITAPI_LOG is set */

/* One line at a time. Recursive, since a writer may be replaced from inside itself. */
static pthread_mutex_t speaking = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int
kal_host_log_level(void)
{
	const char *wanted = kal_setting_text(KAL_SETTING_LOG);

	atomic_store(&asked, kal_setting_is_set(KAL_SETTING_LOG));
	for (unsigned i = 0; i < LEVELS; i++) {
		if (strcmp(wanted, levels[i]) == 0)
			return (int)i;
	}
	return -1;
}

static unsigned
hash_of(unsigned hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash;
}

/* ITAPI_LOG is not set, and the line was written before or the table is full. */
static bool
is_repeated(const char *where, const char *text)
{
	unsigned hash = hash_of(hash_of(2166136261u, where), text) | 1;

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

/* Text from peers and providers must not control a terminal: neither C0 nor C1 in UTF-8. */
static void
make_harmless(char *line)
{
	for (; *line != '\0'; line++) {
		unsigned char c = (unsigned char)line[0];
		unsigned char next = (unsigned char)line[1];

		if (c < 0x20 || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0))
			*line = '?';
		/* Alone, the second byte of C1 is C1 in an 8-bit character set. */
		if (c == 0xc2 && *line == '?')
			*++line = '?';
	}
}

static void
write_to_stderr(void *unused, int level, const char *where, const char *text)
{
	char line[LINE_SIZE];
	size_t length;

	(void)unused;
	(void)snprintf(line, sizeof(line) - 1, "itapi: %s: %s: %s", levels[level], where, text);
	make_harmless(line);
	length = strlen(line);
	line[length++] = '\n';
	/* Nothing can be done for a line that stderr does not take. */
	(void)!write(STDERR_FILENO, line, length);
}

static kal_log_writer *writer = write_to_stderr;
static void *writer_context;

void
kal_log_set_writer(kal_log_writer *function, void *context)
{
	pthread_mutex_lock(&speaking);
	writer = function != NULL ? function : write_to_stderr;
	writer_context = context;
	pthread_mutex_unlock(&speaking);
}

/*
 * Peers can cause lines of the level info, and warnings, as many as they like. So that no peer fills a disk, at most
 * LINES_A_SECOND of them are written within a second; the first line after it tells how many were left out. Lines of
 * the level debug are caused by the application, and are all written. Guarded by `speaking`.
 */
#define LINES_A_SECOND 1000u

static struct {
	uint64_t second;
	unsigned lines, left_out;
} pace;

/* The caller owns `speaking`. May this line be written? */
static bool
pace_allows(const struct kal_host *host, enum ri_log_level level)
{
	uint64_t second = host->table.now((void *)(uintptr_t)host) / 1000000000u;
	char line[80];

	if (level == RI_LOG_DEBUG)
		return true;
	if (second != pace.second) {
		(void)snprintf(line, sizeof(line), "%u lines were left out: too many in a second",
			       pace.left_out);
		if (pace.left_out > 0)
			writer(writer_context, RI_LOG_WARNING, "log", line);
		pace.second = second;
		pace.lines = 0;
		pace.left_out = 0;
	}
	if (pace.lines < LINES_A_SECOND) {
		pace.lines++;
		return true;
	}
	pace.left_out++;
	return false;
}

/* This thread is inside the writer: lines about calls that a writer makes would have no end. */
static _Thread_local bool writing;

/* The thread that was inside the writer, and owned the lock, may not exist any more. */
void
kal_host_log_forked(void)
{
	const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	speaking = fresh;
	writing = false;
}

void
kal_host_log(void *self, enum ri_log_level level, const char *where, const char *text)
{
	const struct kal_host *host = self;

	if ((unsigned)level >= LEVELS || level > host->table.log_level || !host->log_wanted ||
	    atomic_load(&host->dead) || writing || is_repeated(where, text))
		return;
	pthread_mutex_lock(&speaking);
	writing = true;
	if (pace_allows(host, level))
		writer(writer_context, (int)level, where, text);
	writing = false;
	pthread_mutex_unlock(&speaking);
}
