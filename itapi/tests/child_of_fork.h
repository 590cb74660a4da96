/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Children of fork() that continue to use the library, also under AddressSanitizer. ThreadSanitizer
 * reports threads that a child creates if its parent had several, so there no child continues. In
 * AddressSanitizer of gcc 12 a lock of the allocator that another thread owned at the fork stays
 * owned in the child. Such a child hangs inside of the runtime; the parent detects that, and the
 * test tries again.
 */
#ifndef CHILD_OF_FORK_H
#define CHILD_OF_FORK_H

#include <dirent.h>
#include <dlfcn.h>
#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define CHILD_WORKS_ON 0
#else
#define CHILD_WORKS_ON 1
#endif
#define CHILD_NONE  "ThreadSanitizer does not take threads that a child makes"
#define CHILD_STUCK "children hang in the runtime of the sanitizer"

#define CHILD_TRIES       5  /* until the case is skipped */
#define CHILD_IS_STUCK    99 /* exit status: the child's own child hangs */
#define CHILD_PATIENCE_US 4000000

/* Where a thread of the process sleeps inside of the runtime of AddressSanitizer; 0: nowhere. The child has the parent's addresses. */
static inline unsigned long
child_sleeps_at(pid_t pid, const char *thread)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task/%s/syscall", (int)pid, thread);
	g_autofree char *text = NULL;
	const char *last;
	unsigned long pc;
	Dl_info in;

	if (!g_file_get_contents(path, &text, NULL, NULL) || (last = strrchr(text, ' ')) == NULL)
		return 0;
	pc = strtoul(last + 1, NULL, 16);
	if (dladdr((void *)pc, &in) == 0 || in.dli_fname == NULL || /* NOLINT: an address of code */
	    strstr(in.dli_fname, "libasan") == NULL)
		return 0;
	return pc;
}

/* The sum of all such places, so that a sum that stays is a thread that stays. */
static inline unsigned long
child_places(pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)pid);
	DIR *threads = opendir(path);
	unsigned long sum = 0;
	struct dirent *one;

	while (threads != NULL && (one = readdir(threads)) != NULL)
		sum += child_sleeps_at(pid, one->d_name);
	if (threads != NULL)
		closedir(threads);
	return sum;
}

/* Is a thread of it in one place of the runtime for seconds? To be asked again and again. */
static inline bool
child_hangs(pid_t pid)
{
	static unsigned long place;
	static gint64 since;
	unsigned long now = child_places(pid);

	if (now == 0 || now != place)
		since = g_get_monotonic_time();
	place = now;
	return now != 0 && g_get_monotonic_time() - since > CHILD_PATIENCE_US;
}

/* Wait for its end. False: it hung in the runtime of the sanitizer, or its own child did. */
static inline bool
child_await(pid_t pid, int *status)
{
#if defined(__SANITIZE_ADDRESS__)
	while (waitpid(pid, status, WNOHANG) == 0) {
		if (child_hangs(pid)) {
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, status, 0);
			return false;
		}
		g_usleep(5000);
	}
#else
	(void)waitpid(pid, status, 0);
#endif
	return !(WIFEXITED(*status) && WEXITSTATUS(*status) == CHILD_IS_STUCK);
}

/*
 * Let a child do `work` and end successfully. False: each of CHILD_TRIES children hung in the
 * runtime of the sanitizer, and the case is skipped.
 */
static inline bool
child_does(void (*work)(void *arg), void *arg, unsigned seconds)
{
	for (unsigned i = 0; i < CHILD_TRIES; i++) {
		pid_t child = fork();
		int status = -1;

		g_assert_cmpint(child, >=, 0);
		if (child == 0) {
			alarm(seconds);
			work(arg);
			/* By another program, since valgrind would count what only the parent's threads know as lost. */
			(void)execl("/bin/true", "/bin/true", (char *)NULL);
			_exit(127);
		}
		if (child_await(child, &status)) {
			g_assert_cmpint(status, ==, 0);
			return true;
		}
	}
	g_test_skip(CHILD_STUCK);
	return false;
}

#endif /* CHILD_OF_FORK_H */
