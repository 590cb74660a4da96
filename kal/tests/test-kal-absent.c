/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The message about an adapter whose provider is missing. No provider is registered in this
 * program. It is compiled once for each way in which the provider of devices (`ib`) can be missing,
 * with the expected text in KAL_IB.
 */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "kal_absent.h"
#include "ri_registry.h"

#define BUILT \
	"is not installed (on Debian it is the package itapi-ib); the library looks for it in /"
#define DISABLED "is not part of this build, which was configured with -Dib=disabled"
#define WITHOUT \
	"is not part of this build: libibverbs or librdmacm was missing when it was configured"

static const char *
explain(const char *name)
{
	static char text[KAL_ABSENT_ROOM];
	struct kal_near near = {.word = name};

	kal_absent_explain(NULL, &near, text, sizeof(text));
	return text;
}

static void
test_not_there(void)
{
	g_assert_true(
		g_str_has_prefix(explain("ib:mlx5_0"),
				 "there is no adapter named 'ib:mlx5_0'; the provider ib " KAL_IB));
	g_assert_nonnull(strstr(explain("ib"), "'ib'; the provider ib " KAL_IB));
	g_assert_nonnull(
		strstr(explain("faulty:ib:mlx5_0"), "; faulty: belongs to the provider defects; "));
	g_assert_cmpstr(explain("nosuch"), ==, "there is no adapter named 'nosuch'");
	g_assert_cmpstr(explain("ibb:a"), ==,
			"there is no adapter named 'ibb:a'; did you mean the provider 'ib'?");
}

/* The cause is that of this provider, whatever else was refused. */
static void
test_refused(void)
{
	ri_registry_note_refusal("/folder/fib.so: another one");
	ri_registry_note_refusal("/folder/a.so: tiny: has no table");
	g_assert_nonnull(strstr(explain("ib:mlx5_0"), KAL_IB));
	ri_registry_note_refusal("/folder/ib.so: file too short");
	g_assert_cmpstr(explain("ib:mlx5_0"), ==,
			"there is no adapter named 'ib:mlx5_0'; the provider ib was refused: "
			"/folder/ib.so: file too short");
	g_assert_nonnull(
		strstr(explain("tiny"),
		       "; the provider tiny was refused: /folder/a.so: tiny: has no table"));
}

/* Names without an end, and texts without room. */
static void
test_borders(void)
{
	g_autofree char *longest = g_strnfill(5000, 'i');
	char text[64];
	struct kal_near near = {.word = longest};

	/* Around the 64 octets that the name of a provider has room in. */
	for (size_t length = 62; length < 67; length++) {
		g_autofree char *name = g_strnfill(length, 'i');
		g_autofree char *said = g_strdup_printf("there is no adapter named '%s'", name);

		g_assert_cmpstr(explain(name), ==, said);
	}
	g_assert_cmpuint(strlen(explain(longest)), <, 200);
	memset(text, 'x', sizeof(text));
	kal_absent_explain(NULL, &near, text, 16);
	g_assert_cmpstr(text, ==, "there is no ada");
	g_assert_cmpint(text[16], ==, 'x');
	g_assert_cmpstr(explain(""), ==, "there is no adapter named ''");
	g_assert_cmpstr(explain(":"), ==, "there is no adapter named ':'");
	g_assert_nonnull(strstr(explain("./ib:x"), "; a provider is not opened by its path"));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/absent/not-there", test_not_there);
	g_test_add_func("/kal/absent/refused", test_refused);
	g_test_add_func("/kal/absent/borders", test_borders);
	return g_test_run();
}
