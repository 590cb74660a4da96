/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Settings: the tables are consistent, values and their origins are right, mistakes get a warning. */

#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "kal_config_keys.h"
#include "kal_fixture.h"
#include "kal_near.h"
#include "kal_settings.h"
#include "kal_settings_list.h"
#include "ri_setting.h"

static char *path;

/* The environment has no variable of ours but those that a case sets. */
static void
clean(void)
{
	g_auto(GStrv) names = g_listenv();

	for (char **name = names; *name != NULL; name++) {
		if (g_str_has_prefix(*name, "ITAPI_"))
			g_unsetenv(*name);
	}
}

/* --- the tables ---------------------------------------------------------------------------- */

static void
judge_row(const struct ri_setting *row, GHashTable *names, const char *name)
{
	char range[128];

	g_assert_nonnull(row->meaning);
	g_assert_true(g_hash_table_add(names, g_strdup(name)));
	if (row->preset != NULL && !ri_setting_allows(row, row->preset))
		g_error("%s does not allow its default %s", name, row->preset);
	kal_setting_range(row, range, sizeof(range));
	g_assert_cmpuint(strlen(range), >, 0);
	g_assert_cmpuint(strlen(range), <, sizeof(range) - 1);
}

/* Every row has a name of its own and a default that the row permits. */
static void
test_tables(void)
{
	g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const struct kal_config_key *key;

	for (unsigned i = 0; i < KAL_SETTING_COUNT; i++) {
		const struct ri_setting *row = kal_setting((enum kal_setting_id)i);

		g_assert_true(g_str_has_prefix(row->name, "ITAPI_"));
		judge_row(row, names, row->name);
	}
	for (unsigned i = 0; (key = kal_config_key(i)) != NULL; i++) {
		g_autofree char *name = g_strdup_printf("[%s] %s", key->group,
							key->row.name != NULL ? key->row.name : "");

		judge_row(&key->row, names, name);
		g_assert_true(key->when == NULL ||
			      (ri_setting_allows(&key->row, key->then) &&
			       ri_setting_allows(kal_setting(key->variable), key->when)));
	}
	g_assert_null(kal_config_key(100000));
}

static void
test_ranges(void)
{
	const struct ri_setting number = {.kind = RI_SETTING_NUMBER, .min = 3, .max = 50};
	const struct ri_setting time = {
		.kind = RI_SETTING_NUMBER, .min = 0, .max = UINT64_MAX, .unit = "s"};
	const struct ri_setting word = {.kind = RI_SETTING_WORD, .form = "a|bc|d"};
	const struct ri_setting text = {.kind = RI_SETTING_TEXT};
	const struct {
		const struct ri_setting *row;
		const char *range, *good, *bad;
	} cases[] = {
		{&number, "a number from 3 to 50", "50", "51"},
		{&number, "a number from 3 to 50", "3", "2"},
		{&number, "a number from 3 to 50", "007", "7 "},
		{&time, "a number from 0 to 18446744073709551615 (s)", "18446744073709551615",
		 "18446744073709551616"},
		{&word, "one of a, bc, d", "bc", "b"},
		{&word, "one of a, bc, d", "d", "bc|d"},
		{&word, "one of a, bc, d", "a", "A"},
		{&text, "any text", " ", NULL},
	};
	char range[64], small[16];

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		kal_setting_range(cases[i].row, range, sizeof(range));
		g_assert_cmpstr(range, ==, cases[i].range);
		g_assert_true(ri_setting_allows(cases[i].row, cases[i].good));
		if (cases[i].bad != NULL && ri_setting_allows(cases[i].row, cases[i].bad))
			g_error("%s allows '%s'", cases[i].range, cases[i].bad);
	}
	kal_setting_range(&word, small, sizeof(small));
	g_assert_true(g_str_has_prefix("one of a, bc, d", small));
	g_assert_false(ri_setting_allows(&word, ""));
}

static void
test_near(void)
{
	static const struct {
		const char *word, *name;
		bool near;
	} cases[] = {
		{"qps", "qp", true},
		{"pq", "qp", true},
		{"qxyz", "qp", false},
		{"mode", "code", true},
		{"lode", "cost", false},
		{"ITAPI_LGO", "ITAPI_LOG", true},
		{"crcs", "crc", true},
		{"crcss", "crc", false},
		{"ITAPI_LO", "ITAPI_LOG", true},
		{"faal-bak", "fall-back", true},
		{"fa-bk", "fall-back", false},
		{"same", "same", true},
	};
	g_autofree char *large = g_strnfill(65, 'a');
	struct kal_near near;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		near = (struct kal_near){.word = cases[i].word};
		kal_near_try(&near, cases[i].name);
		if ((near.best != NULL) != cases[i].near)
			g_error("'%s' and '%s'", cases[i].word, cases[i].name);
	}
	/* The nearest name is found, and a name that is longer than all others is near to none. */
	near = (struct kal_near){.word = "limits.users"};
	kal_near_try(&near, "limits.usexyz");
	kal_near_try(&near, "limits.user");
	kal_near_try(&near, "limits.userss");
	g_assert_cmpstr(near.best, ==, "limits.user");
	near = (struct kal_near){.word = large};
	kal_near_try(&near, large);
	g_assert_null(near.best);
}

/* --- the list ------------------------------------------------------------------------------ */

struct row {
	char *owner, *value, *origin, *trouble;
};

static void
row_free(gpointer data)
{
	struct row *row = data;

	g_free(row->owner);
	g_free(row->value);
	g_free(row->origin);
	g_free(row->trouble);
	g_free(row);
}

static void
collect(void *arg, const struct kal_setting_now *now)
{
	struct row *row = g_new0(struct row, 1);

	row->owner = g_strdup(now->owner);
	row->value = g_strdup(now->value);
	row->origin = g_strdup(now->origin);
	row->trouble = g_strdup(now->trouble);
	g_assert_true(g_hash_table_insert(arg, g_strdup(now->name), row));
}

/* All settings, by name. */
static GHashTable *
list(void)
{
	GHashTable *rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, row_free);

	g_assert_cmpint(kal_settings_list(collect, rows), ==, RI_SUCCESS);
	return rows;
}

static void
expect(GHashTable *rows, const char *name, const char *value, const char *origin,
       const char *trouble)
{
	const struct row *row = g_hash_table_lookup(rows, name);

	g_test_message("%s", name);
	g_assert_nonnull(row);
	g_assert_cmpstr(row->value, ==, value);
	g_assert_cmpstr(row->origin, ==, origin);
	g_assert_cmpstr(row->trouble, ==, trouble);
}

static void
test_list(void)
{
	g_autofree char *second = g_strdup_printf("%s:5", path);
	g_autofree char *seventh = g_strdup_printf("%s:7", path);
	g_autoptr(GHashTable) rows = NULL;

	clean();
	g_assert_true(g_file_set_contents(path,
					  "# one\n[mpa]\ncrc = true\nconvert-timeout = 9\n"
					  "convert-timeout = 8\n[aliases]\nother = fake\n",
					  -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
	g_setenv("ITAPI_SPIN_US", "", TRUE);
	g_setenv("ITAPI_TRACE", "", TRUE);
	g_setenv("ITAPI_MPA_CRC", "off", TRUE);
	g_setenv("ITAPI_FAKE_COLOUR", "blue", TRUE);
	rows = list();
	expect(rows, "ITAPI_CONFIG", path, "environment", "");
	expect(rows, "ITAPI_SPIN_US", "50", "default", "");
	expect(rows, "ITAPI_TRACE", "", "default", "");
	expect(rows, "ITAPI_MPA_CRC", "off", "environment", "");
	expect(rows, "[mpa] crc", "false", "environment: ITAPI_MPA_CRC=off", "");
	expect(rows, "[mpa] convert-timeout", "8", second, "");
	expect(rows, "[aliases] other", "fake", seventh, "");
	expect(rows, "[limits.client] qp", "65536", "default", "");
	expect(rows, "ITAPI_FAKE_COLOUR", "blue", "environment", "");
	g_assert_cmpstr(((struct row *)g_hash_table_lookup(rows, "ITAPI_FAKE_COLOUR"))->owner, ==,
			"fake");
	g_assert_cmpstr(((struct row *)g_hash_table_lookup(rows, "[mpa] crc"))->owner, ==, "itapi");
	clean();
}

/* An invalid value is reported, and the default is used. */
static void
test_list_troubles(void)
{
	g_autofree char *refused =
		g_strdup_printf("no adapter can be opened: %s:2: [mpa] crcc: there is no such key; "
				"did you mean 'crc'?",
				path);
	g_autoptr(GHashTable) rows = NULL;

	clean();
	g_assert_true(g_file_set_contents(path, "[mpa]\ncrcc = true\n", -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
	g_setenv("ITAPI_SPIN_US", "1000001", TRUE);
	g_setenv("ITAPI_FAKE_COLOUR", "green", TRUE);
	g_setenv("ITAPI_FAKE_COLOR", "blue", TRUE);
	g_setenv("ITAPI_TEST_ELSEWHERE", "1", TRUE);
	rows = list();
	expect(rows, "ITAPI_CONFIG", path, "environment", refused);
	expect(rows, "ITAPI_SPIN_US", "50", "default",
	       "'1000001' is not allowed; allowed is a number from 0 to 1000000 (us)");
	expect(rows, "ITAPI_FAKE_COLOUR", "red", "default",
	       "'green' is not allowed; allowed is one of red, blue");
	expect(rows, "ITAPI_FAKE_COLOR", "", "environment",
	       "nobody reads this variable; did you mean ITAPI_FAKE_COLOUR?");
	expect(rows, "ITAPI_TEST_ELSEWHERE", "", "environment", "nobody reads this variable");
	expect(rows, "[mpa] crc", "true", "default", "");
	clean();
}

/* --- warnings ------------------------------------------------------------------------------ */

static void
gather(void *self, enum ri_log_level level, const char *where, const char *text)
{
	g_assert_cmpint(level, ==, RI_LOG_WARNING);
	g_assert_cmpstr(where, ==, "settings");
	g_string_append_printf(self, "%s\n", text);
}

static void
test_warnings(void)
{
	g_autoptr(GString) said = g_string_new(NULL);
	struct ri_host host = {
		.size = sizeof(host), .self = said, .log = gather, .log_level = RI_LOG_WARNING};

	clean();
	kal_settings_check(&host);
	kal_settings_check_all(&host);
	g_assert_cmpstr(said->str, ==, "");
	g_setenv("ITAPI_LOG", "loud", TRUE);
	g_setenv("ITAPI_TRACE", "anything", TRUE);
	g_setenv("ITAPI_FAKE_COLOUR", "green", TRUE);
	g_setenv("ITAPI_SPIN_MS", "1", TRUE);
	g_setenv("ITAPI_TEST_ELSEWHERE", "1", TRUE);
	kal_settings_check(&host);
	g_assert_cmpstr(said->str, ==,
			"ITAPI_LOG: 'loud' is not allowed; allowed is one of none, error, warning, "
			"info, debug; the default warning is used\n");
	g_string_truncate(said, 0);
	kal_settings_check_all(&host);
	g_assert_cmpstr(
		said->str, ==,
		"ITAPI_FAKE_COLOUR: 'green' is not allowed; allowed is one of red, blue; the "
		"default red is used\n"
		"ITAPI_SPIN_MS: nobody reads this variable; did you mean ITAPI_SPIN_US?\n");
	g_string_truncate(said, 0);
	host.log_level = RI_LOG_ERROR;
	kal_settings_check(&host);
	kal_settings_check_all(&host);
	g_assert_cmpstr(said->str, ==, "");
	clean();
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	fake_register();
	path = g_strdup("/tmp/itapi-settings-XXXXXX");
	close(g_mkstemp(path));
	g_test_add_func("/kal/settings/tables", test_tables);
	g_test_add_func("/kal/settings/ranges", test_ranges);
	g_test_add_func("/kal/settings/near", test_near);
	g_test_add_func("/kal/settings/list", test_list);
	g_test_add_func("/kal/settings/list-troubles", test_list_troubles);
	g_test_add_func("/kal/settings/warnings", test_warnings);
	result = g_test_run();
	unlink(path);
	g_free(path);
	return result;
}
