/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Times from the environment: valid values, and programs that must not read it. */

#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "vsw_setting.h"

#define VARIABLE "ITAPI_TEST_SETTING"
#define SECOND   UINT64_C(1000000000)
#define DEFAULT  (77 * SECOND)
#define NOBODY   65534

static const struct ri_setting row = {.name = VARIABLE,
				      .meaning = "of this test",
				      .kind = RI_SETTING_NUMBER,
				      .max = 3600,
				      .unit = "s",
				      .preset = "77"};

static void
test_values(void)
{
	static const struct {
		const char *text;
		uint64_t value;
	} all[] = {
		{"0", 0},
		{"1", SECOND},
		{"3600", 3600 * SECOND},
		{"3601", DEFAULT},
		{"007", 7 * SECOND},
		{"", DEFAULT},
		{" 1", DEFAULT},
		{"1 ", DEFAULT},
		{"+1", DEFAULT},
		{"-1", DEFAULT},
		{"1.5", DEFAULT},
		{"0x10", DEFAULT},
		{"18446744074", DEFAULT},
		{"18446744073709551616", DEFAULT},
		{"99999999999999999999999999", DEFAULT},
	};

	g_unsetenv(VARIABLE);
	g_assert_cmpuint(vsw_setting_time(&row, SECOND), ==, DEFAULT);
	for (gsize i = 0; i < G_N_ELEMENTS(all); i++) {
		g_setenv(VARIABLE, all[i].text, TRUE);
		g_test_message("\"%s\"", all[i].text);
		g_assert_cmpuint(vsw_setting_time(&row, SECOND), ==, all[i].value);
	}
}

/* The copy of this program that another user owns: which value does it read? */
static int
child(void)
{
	struct ri_setting open = row;

	open.set_uid = 1;
	printf("%lu %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n", getauxval(AT_SECURE),
	       vsw_setting_time(&row, SECOND), vsw_setting_time(&open, SECOND));
	return 0;
}

/* A set-user-ID program reads only settings whose row permits it. */
static void
test_set_uid(void)
{
	g_autofree char *folder = g_dir_make_tmp("vsw-setting-XXXXXX", NULL);
	g_autofree char *copy = g_build_filename(folder, "copy", NULL);
	g_autofree char *octets = NULL, *said = NULL;
	char *argv[] = {copy, (char[]){"--child"}, NULL};
	char *envp[] = {(char[]){VARIABLE "=5"}, NULL};
	unsigned long secure = 0;
	guint64 value = 0, opened = 0;
	gsize len = 0;

	g_assert_true(g_file_get_contents("/proc/self/exe", &octets, &len, NULL));
	g_assert_true(g_file_set_contents(copy, octets, (gssize)len, NULL));
	bool ready = geteuid() == 0 && g_chmod(folder, 0755) == 0 &&
		     chown(copy, NOBODY, NOBODY) == 0 && g_chmod(copy, 04755) == 0 &&
		     g_spawn_sync(NULL, argv, envp, 0, NULL, NULL, &said, NULL, NULL, NULL) &&
		     sscanf(said, "%lu %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, &secure, &value,
			    &opened) == 3;
	g_unlink(copy);
	g_rmdir(folder);
	if (ready && secure != 0) {
		g_assert_cmpuint(value, ==, DEFAULT);
		g_assert_cmpuint(opened, ==, 5 * SECOND);
	} else {
		g_test_skip("no set-uid program can be made here");
	}
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--child") == 0)
		return child();
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/setting/values", test_values);
	g_test_add_func("/vsw/setting/set-uid", test_set_uid);
	return g_test_run();
}
