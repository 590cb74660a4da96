/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The trace while its file is replaced and threads write. */

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ual_trace.h"

#define WRITERS 2
#define CHANGES 300
#define UNTIL   500 /* descriptor numbers that the tests can reach */

static atomic_bool over;
static atomic_uint lines;

static void *
write_lines(void *arg)
{
	while (!atomic_load(&over)) {
		ual_trace(arg, "MOVE", "STATE");
		atomic_fetch_add(&lines, 1);
		sched_yield();
	}
	return NULL;
}

/* A line is complete: it has its end, and six words. */
static unsigned
count_lines(const char *path)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) found = NULL;
	unsigned count;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_true(g_str_has_suffix(text, "\n"));
	found = g_strsplit(text, "\n", -1);
	count = g_strv_length(found) - 1;
	for (unsigned i = 0; i < count; i++) {
		if (!g_str_has_suffix(found[i], " MOVE STATE"))
			g_assert_nonnull(strstr(found[i], " begin "));
	}
	return count;
}

/* The number of lines of all traces in the folder, which is emptied. */
static unsigned
count_and_remove(const char *folder)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	unsigned found = 0;
	const char *name;

	g_assert_nonnull(dir);
	while ((name = g_dir_read_name(dir)) != NULL) {
		g_autofree char *path = g_build_filename(folder, name, NULL);

		if (g_str_has_suffix(name, ".trace"))
			found += count_lines(path);
		g_assert_cmpint(g_remove(path), ==, 0);
	}
	return found;
}

/* A file that another thread opens meanwhile contains nothing of the trace. */
static void
test_change(void)
{
	g_autofree char *folder = g_dir_make_tmp("itapi-trace-XXXXXX", NULL);
	g_autofree char *bystander = g_build_filename(folder, "bystander", NULL);
	const char *const names[] = {"one", "other"};
	pthread_t writers[WRITERS];
	unsigned found = 0;

	g_setenv("ITAPI_TRACE", folder, TRUE);
	g_assert_cmpint(ual_trace_begin(names[0], 1), ==, IT_SUCCESS);
	for (int i = 0; i < WRITERS; i++)
		g_assert_cmpint(pthread_create(&writers[i], NULL, write_lines, NULL), ==, 0);
	for (int i = 0; i < CHANGES; i++) {
		struct stat st;
		int fd;

		g_assert_cmpint(ual_trace_begin(names[i % 2], 1), ==, IT_SUCCESS);
		fd = open(bystander, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		g_assert_cmpint(fd, >=, 0);
		sched_yield();
		g_assert_cmpint(fstat(fd, &st), ==, 0);
		g_assert_cmpint(st.st_size, ==, 0);
		close(fd);
	}
	while (atomic_load(&lines) < 100)
		sched_yield();
	atomic_store(&over, true);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	found = count_and_remove(folder);
	g_assert_cmpuint(found, ==, atomic_load(&lines) + CHANGES + 1);
	g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* The names that a trace would get exist already, as something else: nothing of that is changed. */
static void
test_planted(void)
{
	g_autofree char *folder = g_dir_make_tmp("itapi-trace-XXXXXX", NULL);
	g_autofree char *victim = g_build_filename(folder, "victim", NULL);
	char *planted[UNTIL + 1];
	g_autofree char *text = NULL;

	g_setenv("ITAPI_TRACE", folder, TRUE);
	g_assert_true(g_file_set_contents(victim, "precious", -1, NULL));
	for (unsigned i = 0; i <= UNTIL; i++) {
		planted[i] = i == 0 ? g_strdup_printf("%s/prey.0.%d.trace", folder, (int)getpid())
				    : g_strdup_printf("%s/prey.0.%d.%u.trace", folder,
						      (int)getpid(), i + 1);
		/* Links to a file and to nowhere, and a file of that name. */
		if (i % 3 == 2)
			g_assert_true(g_file_set_contents(planted[i], "old", -1, NULL));
		else
			g_assert_cmpint(symlink(i % 3 == 0 ? victim : "/absent/absent", planted[i]),
					==, 0);
	}
	g_assert_cmpint(ual_trace_begin("prey", 0), ==, IT_ERR_NO_PERMISSION);
	for (unsigned i = 0; i <= UNTIL; i++) {
		if (i % 3 == 2) {
			g_autofree char *old = NULL;

			g_assert_true(g_file_get_contents(planted[i], &old, NULL, NULL));
			g_assert_cmpstr(old, ==, "old");
		}
		g_assert_cmpint(g_remove(planted[i]), ==, 0);
		g_free(planted[i]);
	}
	g_assert_true(g_file_get_contents(victim, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, "precious");
	/* When the names are free it works again. */
	g_assert_cmpint(ual_trace_begin("prey", 0), ==, IT_SUCCESS);
	g_assert_cmpint(g_remove(victim), ==, 0);
	g_assert_cmpuint(count_and_remove(folder), ==, 1);
	g_assert_cmpint(g_rmdir(folder), ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/trace/change", test_change);
	g_test_add_func("/ual/trace/planted", test_planted);
	return g_test_run();
}
