/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Providers that say what they need: loaded from the installed folder only where that exists. And a process that has too
 * few descriptors to load any: it loads them later.
 */

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "ri_load.h"

static const char *const files[][2] = {
	{"absent.so", "no object"},  {"absent.needs", "# a device\n/nowhere/itapi/device\n"},
	{"present.so", "no object"}, {"present.needs", "/\n"},
	{"silent.so", "no object"},  {"silent.needs", "# nothing\n"},
};

/* Was a file of that name tried? None of them is an object, so each that was tried is refused. */
static bool
was_tried(const char *name)
{
	char *refusals = ri_registry_refusals();
	bool found = refusals != NULL && strstr(refusals, name) != NULL;

	free(refusals);
	return found;
}

static void
test_needs(void)
{
	g_autofree char *dir = g_dir_make_tmp("needs-XXXXXX", NULL);

	g_assert_nonnull(dir);
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(dir, files[i][0], NULL);

		g_assert_true(g_file_set_contents(path, files[i][1], -1, NULL));
	}
	g_assert_true(ri_load_all(NULL, NULL, NULL, dir));
	g_assert_true(was_tried("present.so"));
	g_assert_true(was_tried("silent.so"));
	g_assert_false(was_tried("absent.so"));

	/* A folder that somebody names is wanted as it is. */
	g_assert_true(ri_load_all(NULL, NULL, dir, NULL));
	g_assert_true(was_tried("absent.so"));

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(dir, files[i][0], NULL);

		g_assert_cmpint(g_unlink(path), ==, 0);
	}
	g_assert_cmpint(g_rmdir(dir), ==, 0);
}

/* Leave a process so many descriptors, by a limit; returns the limit that was. */
static struct rlimit
leave_descriptors(unsigned room)
{
	struct rlimit limit, few;
	int fd = 0;

	while (fcntl(fd, F_GETFD) >= 0 || room-- > 0)
		fd++;
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	few = limit;
	few.rlim_cur = (rlim_t)fd;
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
	return limit;
}

/* The folder cannot be read, or the object in it cannot be opened: neither is refused for that. */
static void
test_descriptors(void)
{
	g_autofree char *dir = g_dir_make_tmp("few-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "later.so", NULL);

	g_assert_true(g_file_set_contents(path, "no object", -1, NULL));
	for (unsigned room = 0; room <= 1; room++) {
		struct rlimit limit = leave_descriptors(room);
		bool complete = ri_load_all(NULL, NULL, dir, NULL);

		g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
		/* scandir() gives its descriptor back before the object is opened. */
		g_assert_cmpint(complete, ==, room > 0);
		g_assert_cmpint(was_tried("later.so"), ==, room > 0);
	}
	g_assert_cmpint(g_unlink(path), ==, 0);
	g_assert_cmpint(g_rmdir(dir), ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rnicpi/needs", test_needs);
	g_test_add_func("/rnicpi/descriptors", test_descriptors);
	return g_test_run();
}
