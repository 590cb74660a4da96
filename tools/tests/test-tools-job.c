/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* How it-cp parses its two arguments: which side is remote, the host, and both paths. */

#include "cp_sides.h"
#include "tool_error.h"

static void
test_good(void)
{
	static const struct {
		const char *source;
		const char *target;
		bool put;
		const char *host;
		const char *remote;
		const char *local;
	} cases[] = {
		{"file", "host:copy", true, "host", "copy", "file"},
		{"file", "host:", true, "host", "file", "file"},
		{"a/file", "host:", true, "host", "file", "a/file"},
		{"a/file", "host:b/", true, "host", "b/file", "a/file"},
		{"file", "[::1]:copy", true, "[::1]", "copy", "file"},
		{"file", "[fe80::1%eth0]:a:b", true, "[fe80::1%eth0]", "a:b", "file"},
		{"file", ":copy", true, "", "copy", "file"},
		{"./a:b", "host:copy", true, "host", "copy", "./a:b"},
		{"/a:b", "host:copy", true, "host", "copy", "/a:b"},
		{"file", "host:a:b", true, "host", "a:b", "file"},
		{"file", "host:/abs", true, "host", "/abs", "file"},
		{"host:file", "copy", false, "host", "file", "copy"},
		{"[::1]:file", "copy", false, "[::1]", "file", "copy"},
		{"[fe80::1%v2]:7471:a/b", "/", false, "[fe80::1%v2]:7471", "a/b", "/b"},
		{"[::1]:7471", "copy", false, "[::1]", "7471", "copy"},
		{"host:a/file", "/", false, "host", "a/file", "/file"},
		{"host:file", "./c:d", false, "host", "file", "./c:d"},
		{"host:", "copy", false, "host", "", "copy"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct cp_job job = {.source = (char *)cases[i].source,
				     .target = (char *)cases[i].target};
		g_autoptr(GError) error = NULL;

		g_assert_true(cp_job_sort(&job, &error));
		g_assert_no_error(error);
		g_assert_cmpint(job.put, ==, cases[i].put);
		g_assert_cmpstr(job.host, ==, cases[i].host);
		g_assert_cmpstr(job.remote, ==, cases[i].remote);
		g_assert_cmpstr(job.local, ==, cases[i].local);
		cp_job_clear(&job);
	}
}

static void
test_bad(void)
{
	static const char *const cases[][2] = {
		{"a", "b"},    {"a:b", "c:d"},     {"[::1]:a", "b:c"}, {"[::1]", "b"},
		{"[::1", "b"}, {"./a:b", "./c:d"}, {":", ":"},         {"", ""},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct cp_job job = {.source = (char *)cases[i][0], .target = (char *)cases[i][1]};
		g_autoptr(GError) error = NULL;

		g_assert_false(cp_job_sort(&job, &error));
		g_assert_error(error, TOOL_ERROR, TOOL_ERROR_USAGE);
		cp_job_clear(&job);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tools/job/good", test_good);
	g_test_add_func("/tools/job/bad", test_bad);
	return g_test_run();
}
