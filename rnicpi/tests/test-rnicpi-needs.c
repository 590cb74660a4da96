/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Providers that say what they need: loaded from the installed folder only where that exists. */

#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

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

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rnicpi/needs", test_needs);
	return g_test_run();
}
