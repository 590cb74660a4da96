/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Providers with a file .needs: they are loaded from the installed folder only if the path in that
 * file exists, or when it appears. And a process that has too few descriptors to load any provider:
 * it loads them later.
 *
 * Usage: test-rnicpi-needs PROVIDER.so
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
	char needs[64];

	g_assert_nonnull(dir);
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(dir, files[i][0], NULL);

		g_assert_true(g_file_set_contents(path, files[i][1], -1, NULL));
	}
	g_assert_true(ri_load_all(NULL, NULL, NULL, dir));
	g_assert_true(was_tried("present.so"));
	g_assert_true(was_tried("silent.so"));
	g_assert_false(was_tried("absent.so"));
	g_assert_true(ri_load_passed_over("absent", needs, sizeof(needs)));
	g_assert_cmpstr(needs, ==, "/nowhere/itapi/device");
	g_assert_false(ri_load_passed_over("present", needs, sizeof(needs)));
	g_assert_false(ri_load_passed_over("bsent", needs, sizeof(needs)));

	/* A folder that somebody names is wanted as it is. */
	g_assert_true(ri_load_all(NULL, NULL, dir, NULL));
	g_assert_true(was_tried("absent.so"));

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(dir, files[i][0], NULL);

		g_assert_cmpint(g_unlink(path), ==, 0);
	}
	g_assert_cmpint(g_rmdir(dir), ==, 0);
}

/* --- what appears later ----------------------------------------------------------------------------- */

#define THREADS 8
#define LOOKS   50

static const char *object; /* a provider */

/* A folder with a provider and another file, both of which need the same path. */
struct waiting {
	char *dir;
	char *device; /* that path */
};

static const char *const parts[] = {"plugged.so", "plugged.needs", "bad.so", "bad.needs"};

static void
waiting_new(struct waiting *w)
{
	g_autofree char *needs = NULL;

	w->dir = g_dir_make_tmp("plugged-XXXXXX", NULL);
	g_assert_nonnull(w->dir);
	w->device = g_build_filename(w->dir, "device", NULL);
	needs = g_strdup_printf("# appears later\n%s\n", w->device);
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
		g_autofree char *path = g_build_filename(w->dir, parts[i], NULL);
		g_autofree char *text = NULL;
		gsize length = strlen(needs);

		if (i == 0)
			g_assert_true(g_file_get_contents(object, &text, &length, NULL));
		g_assert_true(g_file_set_contents(path, text != NULL ? text : needs, (gssize)length,
						  NULL));
	}
}

static void
waiting_free(struct waiting *w)
{
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
		g_autofree char *path = g_build_filename(w->dir, parts[i], NULL);

		g_assert_cmpint(g_unlink(path), ==, 0);
	}
	(void)g_unlink(w->device);
	g_assert_cmpint(g_rmdir(w->dir), ==, 0);
	g_free(w->dir);
	g_free(w->device);
}

static unsigned
load_again(void)
{
	unsigned loaded = 99;

	g_assert_true(ri_load_again(NULL, &loaded));
	return loaded;
}

/* A thread that lists adapters: how many providers it has loaded. */
static gpointer
look_often(gpointer arg)
{
	unsigned loaded = 0;

	(void)arg;
	for (unsigned i = 0; i < LOOKS; i++)
		loaded += load_again();
	return GUINT_TO_POINTER(loaded);
}

/* The path appears while threads look: one of them loads the provider, and nobody loads it again. */
static void
test_later(void)
{
	unsigned before = ri_registry_count(), loaded = 0;
	GThread *threads[THREADS];
	struct waiting w;

	waiting_new(&w);
	/* A first load that ran out of memory is called again: each object waits once. */
	g_assert_true(ri_load_all(NULL, NULL, NULL, w.dir));
	g_assert_true(ri_load_all(NULL, NULL, NULL, w.dir));
	g_assert_cmpuint(load_again(), ==, 0);
	g_assert_cmpuint(ri_registry_count(), ==, before);
	g_assert_false(was_tried("bad.so"));

	for (unsigned i = 0; i < THREADS; i++)
		threads[i] = g_thread_new("look", look_often, NULL);
	g_assert_true(g_file_set_contents(w.device, "", -1, NULL));
	for (unsigned i = 0; i < THREADS; i++)
		loaded += GPOINTER_TO_UINT(g_thread_join(threads[i]));
	loaded += load_again();
	g_assert_cmpuint(loaded, ==, 1);
	g_assert_cmpuint(ri_registry_count(), ==, before + 1);
	g_assert_cmpstr(ri_registry_get(before)->name, ==, "tiny");
	g_assert_true(was_tried("bad.so"));
	waiting_free(&w);
}

/* --- few descriptors --------------------------------------------------------------------------------- */

/* Limit the descriptors of this process, so that the given number is left; returns the limit that was. */
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

/* The path is there, but no descriptor for the object: it is not refused, and loaded by a later look. */
static void
test_later_descriptors(void)
{
	bool known = ri_registry_count() != 0, complete;
	struct rlimit limit;
	struct waiting w;
	unsigned loaded;

	waiting_new(&w);
	g_assert_true(ri_load_all(NULL, NULL, NULL, w.dir));
	g_assert_true(g_file_set_contents(w.device, "", -1, NULL));
	limit = leave_descriptors(0);
	complete = ri_load_again(NULL, &loaded);
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	g_assert_false(complete);
	g_assert_cmpuint(loaded, ==, 0);
	g_assert_false(was_tried(w.dir));
	/* Another copy of the provider may have its name already; what is no provider is refused. */
	g_assert_cmpuint(load_again(), ==, known ? 0 : 1);
	g_assert_true(was_tried(w.dir));
	g_assert_cmpuint(load_again(), ==, 0);
	waiting_free(&w);
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
	g_assert_cmpint(argc, ==, 2);
	object = argv[1];
	g_test_add_func("/rnicpi/needs", test_needs);
	g_test_add_func("/rnicpi/later", test_later);
	g_test_add_func("/rnicpi/later-descriptors", test_later_descriptors);
	g_test_add_func("/rnicpi/descriptors", test_descriptors);
	return g_test_run();
}
