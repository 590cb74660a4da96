/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The trace. A line is: seconds of the host's clock, process and thread, the handle concerned, what
 * happened, and a detail, separated by blanks. Each line is one write, so lines of several threads, and of processes
 * that share a file, do not mix. Writers own locks of endpoints, so a line goes through an outlet, which never blocks
 * (ri_outlet.h): if the file is on a server that does not answer, lines wait in a ring, and then are lost and counted.
 *
 * The trace has each move of an endpoint, with the call or event that caused it, and each event of an adapter. Other
 * calls are not traced, so the fast path has no branch for the trace, and a trace is as short as the lifetimes of its
 * connections.
 *
 * Other users may be able to write to the folder, and the program may have more rights than the user who started it. So a
 * trace is always a new file, readable by its owner only: its name has the process id and a number, symbolic links are
 * not followed, and existing files are not opened.
 */

#include "ual_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kal_call.h"
#include "kal_settings.h"
#include "ri_fd.h"
#include "ri_outlet.h"

#define LINE 256

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
		fd = ri_fd_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND, 0600);
		if (fd < 0)
			fd = -errno;
		else
			atomic_fetch_add(&files, tried + 1);
	}
	return fd;
}

static size_t
trace_line(char *line, size_t room, const void *object, const char *what, const char *detail)
{
	uint64_t now = kal_host_time();
	int n = snprintf(line, room, "%" PRIu64 ".%09" PRIu64 " %d/%d %p %s %s\n",
			 now / 1000000000u, now % 1000000000u, (int)getpid(), (int)gettid(), object,
			 what, detail);

	if (n < (int)room)
		return n > 0 ? (size_t)n : 0;
	line[room - 1] = '\n';
	return room;
}

static size_t
tell_lost(uint64_t lost, char *text, size_t room)
{
	char count[24];

	(void)snprintf(count, sizeof(count), "%" PRIu64, lost);
	return trace_line(text, room, NULL, "lost", count);
}

static struct ri_outlet outlet = RI_OUTLET(tell_lost);

/* Write to this file from now on; takes the descriptor over. */
static it_status_t
direct_to(int fd)
{
	it_status_t status = IT_SUCCESS;
	int old;

	pthread_mutex_lock(&naming);
	old = atomic_load(&ual_trace_file);
	if (ri_outlet_direct(&outlet, fd)) {
		atomic_store(&ual_trace_file, fd);
	} else {
		atomic_store(&ual_trace_file, -1);
		close(fd);
		status = IT_ERR_RESOURCES;
	}
	/* No line goes there any more. */
	if (old >= 0)
		close(old);
	pthread_mutex_unlock(&naming);
	return status;
}

/* Returns 0 or an errno. */
static int
trace_begin(const char *folder, const char *name, int rank)
{
	int fd = file_make(folder != NULL ? folder : ".", name, rank);

	if (fd < 0)
		return -fd;
	if (direct_to(fd) != IT_SUCCESS)
		return ENOMEM;
	ual_trace_write(NULL, "begin", name);
	return 0;
}

it_status_t
ual_trace_begin(const char *name, int rank)
{
	if (name[0] == '\0' || strchr(name, '/') != NULL)
		return IT_ERR_INVALID_NAME;
	switch (trace_begin(kal_setting_text(KAL_SETTING_TRACE), name, rank)) {
	case 0:
		return IT_SUCCESS;
	case ENAMETOOLONG:
		return IT_ERR_INVALID_NAME;
	case EACCES:
	case EPERM:
	case EROFS:
	case EEXIST:
		return IT_ERR_NO_PERMISSION;
	default:
		return IT_ERR_RESOURCES;
	}
}

int
ual_trace_from_environment(void)
{
	const char *folder = kal_setting_text(KAL_SETTING_TRACE);

	if (folder == NULL || atomic_load(&ual_trace_file) >= 0)
		return 0;
	return trace_begin(folder, program_invocation_short_name, 0);
}

void
ual_trace_write(const void *object, const char *what, const char *detail)
{
	char line[LINE];

	ri_outlet_write(&outlet, line, trace_line(line, sizeof(line), object, what, detail), false);
}

/* Lines that wait for a slow server are written at exit, if it answers. */
__attribute__((destructor)) static void
finish_trace(void)
{
	(void)ri_outlet_flush(&outlet, 500);
}
