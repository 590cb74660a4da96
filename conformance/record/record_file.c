/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The file of this process: ITAPI_RECORD, with mode 0600. The child of a fork writes none until it opens an adapter. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"
#include "ri_file.h"

static struct {
	pthread_mutex_t lock; /* owns all of it */
	FILE *out;
	pid_t pid; /* whose file it is */
	uint64_t lines;
	uint32_t numbers[WRAP_UQP + 1];
	char buffer[8192]; /* of `out`: a line */
} file = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- open and close ----------------------------------------------------------------------------- */

/* With the lock. */
static bool
open_new(char *why, size_t room)
{
	const char *name = secure_getenv("ITAPI_RECORD");
	char path[4096];
	int fd;

	if (name == NULL || *name == '\0') {
		(void)snprintf(why, room, "ITAPI_RECORD names no file: nothing is recorded");
		return false;
	}
	fd = ri_file_new(name, path, sizeof(path));
	file.out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (file.out == NULL) {
		(void)snprintf(why, room, "ITAPI_RECORD=%s: %s: nothing is recorded", name,
			       strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	/* Each line leaves at once, so that a process that is killed leaves whole lines. */
	(void)setvbuf(file.out, file.buffer, _IOLBF, sizeof(file.buffer));
	file.pid = getpid();
	file.lines = 0;
	memset(file.numbers, 0, sizeof(file.numbers));
	(void)fputs("itapi-record 1\n", file.out);
	return true;
}

/*
 * Before a fork, take the lock, so that no other thread is writing a line. Otherwise the child
 * could not end, since its end takes the lock, or it would write the buffered part of a line again.
 */
static void
before_fork(void)
{
	pthread_mutex_lock(&file.lock);
}

static void
after_fork(void)
{
	pthread_mutex_unlock(&file.lock);
}

static void
watch_forks(void)
{
	(void)pthread_atfork(before_fork, after_fork, after_fork);
}

bool
record_file_open(char *why, size_t room)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	bool good;

	(void)pthread_once(&once, watch_forks);
	pthread_mutex_lock(&file.lock);
	if (file.out != NULL && file.pid != getpid())
		file.out = NULL; /* the parent's: what it buffers is the parent's, too */
	good = file.out != NULL || open_new(why, room);
	pthread_mutex_unlock(&file.lock);
	return good;
}

/* The last line says that nothing is missing. */
__attribute__((destructor)) static void
close_at_exit(void)
{
	record_line("end");
	pthread_mutex_lock(&file.lock);
	if (file.out != NULL && file.pid == getpid())
		(void)fclose(file.out);
	file.out = NULL;
	pthread_mutex_unlock(&file.lock);
}

/* --- lines ---------------------------------------------------------------------------------------- */

void
record_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pthread_mutex_lock(&file.lock);
	if (file.out != NULL && file.pid == getpid()) {
		(void)fprintf(file.out, "%llu ", (unsigned long long)++file.lines);
		(void)vfprintf(file.out, format, args);
		(void)fputc('\n', file.out);
	}
	pthread_mutex_unlock(&file.lock);
	va_end(args);
}

uint32_t
record_number(enum wrap_kind kind)
{
	uint32_t number;

	pthread_mutex_lock(&file.lock);
	number = ++file.numbers[kind];
	pthread_mutex_unlock(&file.lock);
	return number;
}

const char *
record_status(enum ri_status status)
{
	static _Thread_local char text[32];
	const char *name = ri_status_name(status);
	size_t at = 0;

	if (status == RI_SUCCESS)
		return "ok";
	if (strncmp(name, "RI_ERR_", 7) == 0)
		name += 7;
	for (; name[at] != '\0' && at + 1 < sizeof(text); at++)
		text[at] = (char)tolower((unsigned char)name[at]);
	text[at] = '\0';
	return text;
}
