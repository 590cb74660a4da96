/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Tests which descriptors forks close, compared with a model: descriptors are added and removed at random, and children
 * are forked at random times. A child must have lost the descriptors that were added, and no others. The child's own
 * child must lose nothing, since the numbers may belong to other files by then; but when the child has added
 * descriptors itself, its next child must lose those.
 */
#include <fcntl.h>
#include <glib.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "viw_fork.h"

#define FILES  150 /* more than the table has room for at first, also after it has grown once */
#define STEPS  1500
#define GUARD  16384
#define FILLED 0x5a

static struct {
	int fd;
	bool added;
	atomic_bool forked;
} files[FILES];

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Is each one open and not forked, but those that were added? */
static bool
is_as_modelled(void)
{
	for (unsigned i = 0; i < FILES; i++)
		if (is_open(files[i].fd) == files[i].added ||
		    atomic_load(&files[i].forked) != files[i].added)
			return false;
	return true;
}

/* The status of a child that ends with what this returns. */
static int
child_says(int (*function)(void))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(function());
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int
compare(void)
{
	return is_as_modelled() ? 0 : 1;
}

/* Their numbers are other files' from here on, and a child of this child has no reason to close any. */
static int
child(void)
{
	int status;

	if (!is_as_modelled())
		return 1;
	for (unsigned i = 0; i < FILES; i++) {
		if (!is_open(files[i].fd) && dup2(STDERR_FILENO, files[i].fd) != files[i].fd)
			return 2;
		files[i].added = false;
		atomic_store(&files[i].forked, false);
	}
	status = child_says(compare);
	if (status != 0)
		return 10 + status;
	for (unsigned i = 0; i < FILES; i += 7)
		files[i].added = viw_fork_add(files[i].fd, &files[i].forked);
	status = child_says(compare);
	return status == 0 ? 0 : 20 + status;
}

static int
walk(void)
{
	g_autoptr(GRand) chance = g_rand_new_with_seed(11);
	g_autofree uint8_t *guard = NULL;

	for (unsigned i = 0; i < FILES; i++) {
		files[i].fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
		g_assert_cmpint(files[i].fd, >=, 100);
	}
	files[0].added = viw_fork_add(files[0].fd, &files[0].forked);
	g_assert_true(files[0].added);
	/* Behind the table, as far as the allocator has it so. */
	guard = g_malloc(GUARD);
	memset(guard, FILLED, GUARD);
	for (unsigned i = 1; i < FILES; i++)
		files[i].added = viw_fork_add(files[i].fd, &files[i].forked);
	for (unsigned i = 0; i < GUARD; i++)
		g_assert_cmphex(guard[i], ==, FILLED);
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned which = (unsigned)g_rand_int_range(chance, 0, FILES);

		if (files[which].added)
			viw_fork_remove(files[which].fd);
		else
			g_assert_true(viw_fork_add(files[which].fd, &files[which].forked));
		files[which].added = !files[which].added;
		if (i % 100 == 0)
			g_assert_cmpint(child_says(child), ==, 0);
	}
	for (unsigned i = 0; i < FILES; i++) {
		if (files[i].added)
			viw_fork_remove(files[i].fd);
		files[i].added = false;
		g_assert_false(atomic_load(&files[i].forked));
	}
	g_assert_cmpint(child_says(child), ==, 0);
	for (unsigned i = 0; i < FILES; i++)
		close(files[i].fd);
	return 0;
}

/* In a process of its own: a table that overruns may end it in any way. */
static void
test_walk(void)
{
	g_assert_cmpint(child_says(walk), ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/fork/walk", test_walk);
	return g_test_run();
}
