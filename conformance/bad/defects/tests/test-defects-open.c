/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The tables of defects, and their adapters as the library sees them: each of them can be opened,
 * or is refused because its profile is contradictory or because the wrapped adapter lacks an
 * ability that the defect needs. Arguments: adapters to wrap.
 */
#include <glib.h>
#include <string.h>

#include "defect.h"
#include "it_api.h"

static char **adapters;

/* Each row has a unique id, short enough for an adapter's name, a title, and a description that ends with a full stop. */
static void
test_table(void)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	const struct defect *defect;
	unsigned count = 0;

	for (; (defect = defect_get(count)) != NULL; count++) {
		size_t length = strlen(defect->does);

		g_assert_true(g_hash_table_add(seen, (gpointer)(uintptr_t)defect->id));
		g_assert_cmpuint(strspn(defect->id, "abcdefghijklmnopqrstuvwxyz0123456789-"), ==,
				 strlen(defect->id));
		g_assert_cmpuint(strlen("defect::emul:iwarp") + strlen(defect->id), <, 64);
		g_assert_cmpuint(strlen(defect->title), >, 0);
		g_assert_true(defect->does[length - 1] == '.');
		g_assert_true(defect_find(defect->id, strlen(defect->id)) == defect);
	}
	g_assert_cmpuint(count, >, 100);
	g_assert_null(defect_find("none-of-them", 12));
}

/* Profiles that the registry must refuse. */
static bool
is_refused(const char *id)
{
	return strcmp(id, "profile-nameless") == 0 || strcmp(id, "profile-no-domains") == 0 ||
	       strcmp(id, "profile-no-forms") == 0;
}

static it_status_t
open_and_close(const char *name)
{
	it_ia_handle_t ia;
	it_status_t status = it_ia_create(name, 2, 0, &ia);

	if (status == IT_SUCCESS)
		g_assert_cmpint(it_ia_free(ia), ==, IT_SUCCESS);
	return status;
}

static void
test_open(const void *data)
{
	const char *adapter = data;
	const struct defect *defect;
	unsigned opened = 0, unfit = 0;

	for (size_t i = 0; (defect = defect_get(i)) != NULL; i++) {
		g_autofree char *name = g_strdup_printf("defect:%s:%s", defect->id, adapter);
		it_status_t status = open_and_close(name);

		if (status != IT_SUCCESS)
			g_test_message("%s: %d", name, status);
		if (is_refused(defect->id))
			g_assert_cmpint(status, !=, IT_SUCCESS);
		else if (defect->needs == 0)
			g_assert_cmpint(status, ==, IT_SUCCESS);
		opened += status == IT_SUCCESS;
		unfit += status != IT_SUCCESS;
	}
	g_assert_cmpuint(opened, >, 100);
	g_test_message("%u opened, %u not", opened, unfit);
}

/* Names that are nearly right. */
static void
test_names(void)
{
	static const char *const names[] = {
		"defect:none",     "defect:none:", "defect:no:emul:ib",
		"defect::emul:ib", "faulty:",      "defect:none:nothing"};

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		g_assert_cmpint(open_and_close(names[i]), !=, IT_SUCCESS);
	g_assert_cmpint(open_and_close("faulty:emul:ib"), ==, IT_SUCCESS);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	adapters = argv + 1;
	g_test_add_func("/defects/table", test_table);
	g_test_add_func("/defects/names", test_names);
	for (char **a = adapters; *a != NULL; a++) {
		g_autofree char *path = g_strdup_printf("/defects/open/%s", *a);

		g_test_add_data_func(path, *a, test_open);
	}
	return g_test_run();
}
