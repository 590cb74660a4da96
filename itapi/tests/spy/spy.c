/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The notes: one line "function status test" for each new combination, written at once, so that a test that kills its
 * process loses none. A table of fixed size holds hashes of the lines already written. Two lines with the same hash
 * (a chance of one in 2^60) hide each other; with a full table a line may be written twice.
 */
#include "spy.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEEN 16384

static atomic_ullong seen[SEEN];
static atomic_int log_fd = -1;
static struct stat log_file; /* what log_fd is open on; set before log_fd */

void (*spy_find(const char *name))(void)
{
	void (*found)(void) = NULL;
	void *symbol = dlsym(RTLD_NEXT, name);

	memcpy(&found, &symbol, sizeof(found));
	if (found == NULL) {
		fprintf(stderr, "spy: %s is not in the library\n", name);
		abort();
	}
	return found;
}

static unsigned long long
hash_of(const char *name, int status, const char *test)
{
	unsigned long long hash = 14695981039346656037ull + (unsigned)status;

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char)*name) * 1099511628211ull;
	for (; *test != '\0'; test++)
		hash = (hash ^ (unsigned char)*test) * 1099511628211ull;
	return hash | 1;
}

static bool
is_new(unsigned long long hash)
{
	for (unsigned i = 0; i < 64; i++) {
		unsigned long long none = 0;
		atomic_ullong *slot = &seen[(hash / 2 + i) % SEEN];

		if (atomic_compare_exchange_strong(slot, &none, hash))
			return true;
		if (none == hash)
			return false;
	}
	return true;
}

static int
open_log(void)
{
	const char *folder = getenv("IT_STATUS_LOG");
	int none = -1;
	int fd = -2; /* nothing is noted */

	if (folder != NULL) {
		char *path = g_strdup_printf("%s/%s.log", folder, program_invocation_short_name);

		(void)g_mkdir_with_parents(folder, 0777);
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		g_free(path);
		/* Not a number of the standard streams, which a test may have closed. */
		if (fd >= 0 && fd <= STDERR_FILENO) {
			int low = fd;

			fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
			close(low);
		}
		if (fd < 0 || fstat(fd, &log_file) != 0)
			fd = -2;
	}
	if (atomic_compare_exchange_strong(&log_fd, &none, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return none;
}

/* A test may close every descriptor; then the number may be one of the library's, which a note would disturb. */
static bool
is_log(int fd)
{
	struct stat now;

	return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == log_file.st_dev &&
	       now.st_ino == log_file.st_ino;
}

void
spy_note(const char *name, int status)
{
	const char *test = g_test_get_path();
	char line[512];
	int fd = atomic_load(&log_fd);
	int cancel;

	/* The call is over: a thread that is cancelled in here would lose its result. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (fd == -1)
		fd = open_log();
	if (fd >= 0 && is_new(hash_of(name, status, test)) && is_log(fd)) {
		int n = snprintf(line, sizeof(line), "%s %d %s\n", name, status,
				 *test ? test : "-");

		if (n > 0 && (size_t)n < sizeof(line) && write(fd, line, (size_t)n) < 0)
			perror("spy");
	}
	pthread_setcancelstate(cancel, NULL);
}
