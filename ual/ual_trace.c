/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The trace. A line is: seconds of the monotonic clock, process and thread, the handle concerned, what
 * happened, and a detail, separated by blanks. Each line is one write, so lines of several threads, and of processes
 * that share a file, do not mix. A line that cannot be written is lost.
 *
 * The trace has each move of an endpoint, with the call or event that caused it, and each event of an adapter. Other
 * calls are not traced, so the fast path has no branch for the trace, and a trace is as short as the lifetimes of its
 * connections.
 *
 * Writers take no lock. A writer may use the number of the descriptor while another thread chooses a new file. So that
 * number is never closed: dup3 replaces the file behind it.
 *
 * Other users may be able to write to the folder, and the program may have more rights than the user who started it. So a
 * trace is always a new file, readable by its owner only: its name has the process id and a number, symbolic links are
 * not followed, and existing files are not opened.
 */

#include "ual_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kal_settings.h"

atomic_int ual_trace_file = -1;
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER; /* one thread at a time chooses a file */

#define NAMES_TRIED 100

static atomic_uint files; /* begun by this process */

/* The child of a fork begins a file of its own, since the name of a file has the number of its process. */
static void
trace_forked(void)
{
	int fd = atomic_exchange(&ual_trace_file, -1);

	pthread_mutex_init(&naming, NULL);
	atomic_store(&files, 0);
	if (fd >= 0)
		close(fd);
}

__attribute__((constructor)) static void
trace_watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, trace_forked);
}

/* Open NAME.RANK.PID.trace, or NAME.RANK.PID.2.trace and so on; -errno. */
static int
file_make(const char *folder, const char *name, int rank)
{
	char path[4096];
	int fd = -EEXIST;

	for (unsigned tried = 0; fd == -EEXIST && tried < NAMES_TRIED; tried++) {
		unsigned number = atomic_load(&files) + tried + 1;
		char suffix[16] = "";
		int n;

		if (number > 1)
			(void)snprintf(suffix, sizeof(suffix), ".%u", number);
		n = snprintf(path, sizeof(path), "%s/%s.%d.%d%s.trace", folder, name, rank,
			     (int)getpid(), suffix);
		if (n < 0 || (size_t)n >= sizeof(path))
			return -ENAMETOOLONG;
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC,
			  0600);
		if (fd < 0)
			fd = -errno;
		else
			atomic_fetch_add(&files, tried + 1);
	}
	return fd;
}

/* Write to this file from now on; takes the descriptor over. */
static it_status_t
direct_to(int fd)
{
	it_status_t status = IT_SUCCESS;
	int lasting;

	pthread_mutex_lock(&naming);
	lasting = atomic_load(&ual_trace_file);
	if (lasting < 0) {
		atomic_store(&ual_trace_file, fd);
	} else {
		if (dup3(fd, lasting, O_CLOEXEC) < 0)
			status = IT_ERR_RESOURCES;
		close(fd);
	}
	pthread_mutex_unlock(&naming);
	return status;
}

it_status_t
ual_trace_begin(const char *name, int rank)
{
	const char *folder = kal_setting_text(KAL_SETTING_TRACE);
	it_status_t status;
	int fd;

	if (name[0] == '\0' || strchr(name, '/') != NULL)
		return IT_ERR_INVALID_NAME;
	fd = file_make(folder != NULL ? folder : ".", name, rank);
	if (fd == -ENAMETOOLONG)
		return IT_ERR_INVALID_NAME;
	if (fd == -EACCES || fd == -EPERM || fd == -EROFS || fd == -EEXIST)
		return IT_ERR_NO_PERMISSION;
	if (fd < 0)
		return IT_ERR_RESOURCES;
	status = direct_to(fd);
	if (status == IT_SUCCESS)
		ual_trace_write(NULL, "begin", name);
	return status;
}

void
ual_trace_from_environment(void)
{
	const char *folder = kal_setting_text(KAL_SETTING_TRACE);

	if (folder != NULL && atomic_load(&ual_trace_file) < 0)
		(void)ual_trace_begin(program_invocation_short_name, 0);
}

void
ual_trace_write(const void *object, const char *what, const char *detail)
{
	struct timespec now = {0};
	char line[256];
	int n;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	n = snprintf(line, sizeof(line), "%lld.%09ld %d/%d %p %s %s\n", (long long)now.tv_sec,
		     now.tv_nsec, (int)getpid(), (int)gettid(), object, what, detail);
	if (n >= (int)sizeof(line)) {
		n = (int)sizeof(line);
		line[sizeof(line) - 1] = '\n';
	}
	if (n > 0 && write(atomic_load(&ual_trace_file), line, (size_t)n) < 0)
		return; /* no caller can be told */
}
