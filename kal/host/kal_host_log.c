/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The log: lines from everywhere below the application, each with the object it is about; ri_log.h has their form.
 * ITAPI_LOG says how much is written (none, error, warning, info, debug). The application may set a writer of its own
 * (kal_log_set_writer); otherwise a line goes to stderr, through an outlet that never blocks (ri_outlet.h): the
 * thread that moves the data also writes lines that peers cause. No line needs memory: a line may say that
 * memory ran out, and it must not end the process.
 *
 * "stderr" is the file behind descriptor 2 when the host is created, or when the application
 * removes its writer. If the process closes descriptor 2 later and opens another file that gets
 * this number, no line is written to that file.
 *
 * Without ITAPI_LOG, errors and warnings are written, each of them once. A table of fixed size
 * holds a hash of each line that was written; when the table is full, no more lines are written.
 * With ITAPI_LOG each line is written, up to LINES_A_SECOND.
 */

#include <inttypes.h>
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
#include "ri_errno.h"
#include "ri_log.h"
#include "ri_outlet.h"

static const char *const levels[] = {
	[RI_LOG_ERROR] = "error",
	[RI_LOG_WARNING] = "warning",
	[RI_LOG_INFO] = "info",
	[RI_LOG_DEBUG] = "debug",
};

#define LEVELS (sizeof(levels) / sizeof(levels[0]))

#define PROGRAM  "itapi" /* in each line, beside the process */
#define PATIENCE 500     /* ms at exit, for lines that wait for a slow reader */

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

static size_t
tell_lost(uint64_t lost, char *text, size_t room)
{
	char line[RI_LOG_LINE];
	char sentence[96];
	size_t length;

	(void)snprintf(sentence, sizeof(sentence),
		       "%" PRIu64 " lines were lost: stderr did not take them in time", lost);
	length = ri_log_line(line, PROGRAM, RI_LOG_WARNING, "log", sentence);
	if (length > room)
		length = room;
	memcpy(text, line, length);
	return length;
}

static struct ri_outlet outlet = RI_OUTLET(tell_lost);

static void
write_to_stderr(void *unused, int level, const char *where, const char *text)
{
	char line[RI_LOG_LINE];
	size_t length = ri_log_line(line, PROGRAM, (enum ri_log_level)level, where, text);

	(void)unused;
	/* Peers cause lines of the level info; they do not displace errors. */
	ri_outlet_write(&outlet, line, length, level >= RI_LOG_INFO);
}

void
kal_host_log_begin(void)
{
	(void)ri_outlet_direct(&outlet, STDERR_FILENO);
}

void
kal_log_tell(const char *text)
{
	char line[RI_LOG_LINE];
	int length = snprintf(line, sizeof(line), PROGRAM ": %.*s\n",
			      (int)(sizeof(line) - sizeof(PROGRAM ": \n")), text);

	ri_outlet_write(&outlet, line, (size_t)length, false);
}

static kal_log_writer *writer = write_to_stderr;
static void *writer_context;

void
kal_log_set_writer(kal_log_writer *function, void *context)
{
	if (function == NULL)
		kal_host_log_begin();
	pthread_mutex_lock(&speaking);
	writer = function != NULL ? function : write_to_stderr;
	writer_context = context;
	pthread_mutex_unlock(&speaking);
}

/*
 * Peers can cause lines of the level info, and warnings, as many as they like. So that no peer fills a disk, at most
 * LINES_A_SECOND of them are written within a second; the first line after it reports how many were left out. Errors
 * and warnings have a number of their own: a peer that causes information leaves room for them. Lines of
 * the level debug are caused by the application, and are all written. Guarded by `speaking`.
 */
#define LINES_A_SECOND 1000u

static struct pace {
	uint64_t second;
	unsigned lines, left_out;
} paces[2]; /* errors and warnings; information */

/* The caller owns `speaking`. Tell what was left out, if something was. */
static void
pace_tell(struct pace *pace)
{
	char line[120];

	if (pace->left_out == 0)
		return;
	(void)snprintf(line, sizeof(line),
		       "%u lines were left out: more than %u %s within a second", pace->left_out,
		       LINES_A_SECOND,
		       pace == &paces[0] ? "errors and warnings" : "of the level info");
	pace->left_out = 0;
	writer(writer_context, RI_LOG_WARNING, "log", line);
}

/* The caller owns `speaking`. May this line be written? */
static bool
pace_allows(const struct kal_host *host, enum ri_log_level level)
{
	uint64_t second = host->table.now((void *)(uintptr_t)host) / 1000000000u;
	struct pace *pace = &paces[level == RI_LOG_INFO];

	if (level == RI_LOG_DEBUG)
		return true;
	if (second != pace->second) {
		pace_tell(pace);
		pace->second = second;
		pace->lines = 0;
	}
	if (pace->lines < LINES_A_SECOND) {
		pace->lines++;
		return true;
	}
	pace->left_out++;
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
	int cancel = 0;

	if ((unsigned)level >= LEVELS || level > host->table.log_level || !host->log_wanted ||
	    atomic_load(&host->dead) || writing || is_repeated(where, text))
		return;
	/* A thread that is cancelled inside the writer would leave the lock behind. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&speaking);
	writing = true;
	if (pace_allows(host, level))
		writer(writer_context, (int)level, where, text);
	writing = false;
	pthread_mutex_unlock(&speaking);
	pthread_setcancelstate(cancel, NULL);
}

/* At exit: a reader that is slow gets the last lines; one that does not read at all delays the exit by PATIENCE. */
__attribute__((destructor)) static void
finish_lines(void)
{
	if (pthread_mutex_trylock(&speaking) == 0) {
		if (writer == write_to_stderr) {
			pace_tell(&paces[0]);
			pace_tell(&paces[1]);
		}
		pthread_mutex_unlock(&speaking);
	}
	(void)ri_outlet_flush(&outlet, PATIENCE);
}

bool
kal_host_lacks(const struct kal_host *host, const char *what, int error)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "no adapter can be opened: %s: %s", what,
		       ri_errno_text(error));
	kal_host_log((void *)(uintptr_t)host, RI_LOG_ERROR, "kal", text);
	return false;
}

void
kal_host_refused(struct kal_host *host, enum kal_refused which, int error)
{
	static const char *const calls[] = {
		[KAL_REFUSED_EPOLL_WAIT] = "epoll_wait",
		[KAL_REFUSED_CLOSED] = "epoll_wait",
		[KAL_REFUSED_EPOLL_CTL] = "epoll_ctl",
		[KAL_REFUSED_TIMER] = "timerfd_settime",
		[KAL_REFUSED_POLL] = "ppoll",
		[KAL_REFUSED_FUTEX] = "futex",
	};
	static const char *const means[] = {
		[KAL_REFUSED_EPOLL_WAIT] = "sockets are not served",
		[KAL_REFUSED_CLOSED] = "the program has closed descriptors, so its adapters failed",
		[KAL_REFUSED_EPOLL_CTL] = "a descriptor cannot be watched",
		[KAL_REFUSED_TIMER] = "the service thread computes its own timeouts",
		[KAL_REFUSED_POLL] = "waiting threads poll every millisecond",
		[KAL_REFUSED_FUTEX] = "waiting threads poll every millisecond",
	};
	char text[128];
	bool known;

	pthread_mutex_lock(&host->lock);
	known = host->refused[which];
	host->refused[which] = true;
	pthread_mutex_unlock(&host->lock);
	if (known)
		return;
	(void)snprintf(text, sizeof(text), "%s: %s; %s", calls[which], ri_errno_text(error),
		       means[which]);
	kal_host_log(host, RI_LOG_ERROR, "kal", text);
}
