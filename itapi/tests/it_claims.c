/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_claims.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define VARIABLE "ITAPI_TEST_CLAIMS"

/* Where it-certify-cases is, from the folder of the test program: installed, and in the folder of a build. */
static const char *const places[] = {"it-certify-cases",
				     "../../conformance/judge/certify/it-certify-cases"};

static char *
program_near(const char *program)
{
	g_autofree char *folder = g_path_get_dirname(program);
	char *found = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(places) && found == NULL; i++) {
		found = g_build_filename(folder, places[i], NULL);
		if (!g_file_test(found, G_FILE_TEST_IS_EXECUTABLE))
			g_clear_pointer(&found, g_free);
	}
	return found;
}

/* Beside the file of this program; or beside its name, where /proc is that of a root which is another one. */
static char *
program_find(void)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	char *found = program_near(self != NULL ? self : "");

	return found != NULL ? found : program_near(program_invocation_name);
}

/* "claim", name, value, "claim" with tabs between: to "name=value ". */
static char *
claims_read(const char *records)
{
	GString *claims = g_string_new(NULL);
	char **lines = g_strsplit(records, "\n", -1);

	for (char **line = lines; *line != NULL; line++) {
		char **words = g_strsplit(*line, "\t", -1);

		if (g_strv_length(words) == 4 && g_str_equal(words[0], "claim") &&
		    g_str_equal(words[3], "claim"))
			g_string_append_printf(claims, "%s=%s ", words[1], words[2]);
		g_strfreev(words);
	}
	g_strfreev(lines);
	return g_string_free(claims, FALSE);
}

/* What a library in front of this program does to calls is not for the other program. */
static char *
claims_ask(const char *adapter)
{
	char *program = program_find(), *records = NULL, *complaint = NULL, *claims;
	const char *argv[] = {program, "--adapter", adapter, "--profile", NULL};
	char **environment = g_environ_unsetenv(g_get_environ(), "LD_PRELOAD");
	int status = -1;

	g_assert_nonnull(program);
	g_assert_true(g_spawn_sync(NULL, (char **)argv, environment, 0, NULL, NULL, &records,
				   &complaint, &status, NULL));
	if (status != 0)
		g_test_message("%s: %s", program, complaint);
	g_assert_cmpint(status, ==, 0);
	claims = claims_read(records);
	g_strfreev(environment);
	g_free(complaint);
	g_free(records);
	g_free(program);
	return claims;
}

/* Asked for once for each adapter that follows another one. */
static const char *
claims_of(const char *adapter)
{
	static char *asked, *claims;

	if (claims_given())
		return g_getenv(VARIABLE);
	if (asked == NULL || !g_str_equal(asked, adapter)) {
		g_free(asked);
		g_free(claims);
		asked = g_strdup(adapter);
		claims = claims_ask(adapter);
	}
	return claims;
}

uint64_t
claim_value(const char *adapter, const char *attribute)
{
	char **words = g_strsplit(claims_of(adapter), " ", -1);
	char *begin = g_strconcat(attribute, "=", NULL), *value = NULL;
	uint64_t number;

	for (char **word = words; *word != NULL && value == NULL; word++) {
		if (g_str_has_prefix(*word, begin))
			value = *word + strlen(begin);
	}
	if (value == NULL)
		g_test_message("the profile has no attribute %s", attribute);
	g_assert_nonnull(value);
	number = g_str_equal(value, "yes") ? 1 : g_ascii_strtoull(value, NULL, 10);
	g_free(begin);
	g_strfreev(words);
	return number;
}

bool
claims_given(void)
{
	return g_getenv(VARIABLE) != NULL;
}
