/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two copies of the library in one process, as two plug-ins of a program may bring. The first copy is in the global
 * scope, so the functions of the second copy would call those of the first if their names were looked up. Each copy
 * must serve its own handles only. test-itapi-copies LIBRARY
 */
#include <dlfcn.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "it_api.h"

#define FUNCTION(name) \
	__typeof__(name) *name /* NOLINT(bugprone-macro-parentheses): a declaration */

/* The functions of one copy, and an adapter that it has opened. */
struct copy {
	FUNCTION(it_ia_create);
	FUNCTION(it_ia_free);
	FUNCTION(it_pz_create);
	FUNCTION(it_lmr_create10);
	FUNCTION(it_lmr_free);
	it_ia_handle_t ia;
	it_pz_handle_t pz;
};

static unsigned char memory[4096];

static void
find(void *library, const char *name, void *out)
{
	void *symbol = dlsym(library, name);

	g_assert_nonnull(symbol);
	memcpy(out, &symbol, sizeof(symbol));
}

static void
open_copy(struct copy *copy, const char *path, int scope, const char *adapter)
{
	void *library = dlopen(path, RTLD_NOW | scope);

	if (library == NULL)
		g_error("%s", dlerror());
	find(library, "it_ia_create", &copy->it_ia_create);
	find(library, "it_ia_free", &copy->it_ia_free);
	find(library, "it_pz_create", &copy->it_pz_create);
	find(library, "it_lmr_create10", &copy->it_lmr_create10);
	find(library, "it_lmr_free", &copy->it_lmr_free);
	g_assert_cmpint(copy->it_ia_create(adapter, 2, 0, &copy->ia), ==, IT_SUCCESS);
	g_assert_cmpint(copy->it_pz_create(copy->ia, &copy->pz), ==, IT_SUCCESS);
}

static void
use_copy(const struct copy *copy, const struct copy *other)
{
	it_lmr_handle_t lmr = NULL;
	it_rmr_context_t context;

	g_assert_cmpint(copy->it_lmr_create10(copy->pz, memory, sizeof(memory), IT_PRIV_ALL, 0, 0,
					      &lmr, &context),
			==, IT_SUCCESS);
	g_assert_cmpint(other->it_lmr_free(lmr), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(copy->it_lmr_free(lmr), ==, IT_SUCCESS);
	g_assert_cmpint(other->it_ia_free(copy->ia), ==, IT_ERR_INVALID_IA);
}

static void
test_copies(gconstpointer arg)
{
	g_autofree char *folder = g_dir_make_tmp("itapi-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "libitapi-copy.so", NULL);
	struct copy first, second;
	char *octets;
	gsize length;

	g_assert_true(g_file_get_contents((const char *)arg, &octets, &length, NULL));
	g_assert_true(g_file_set_contents(path, octets, (gssize)length, NULL));
	open_copy(&first, (const char *)arg, RTLD_GLOBAL, "emul:ib");
	open_copy(&second, path, RTLD_LOCAL, "emul:iwarp");
	g_assert_true(first.it_lmr_create10 != second.it_lmr_create10);
	use_copy(&first, &second);
	use_copy(&second, &first);
	g_assert_cmpint(second.it_ia_free(second.ia), ==, IT_SUCCESS);
	use_copy(&first, &second);
	g_assert_cmpint(first.it_ia_free(first.ia), ==, IT_SUCCESS);
	g_unlink(path);
	g_rmdir(folder);
	g_free(octets);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	g_test_add_data_func("/itapi/copies", argv[1], test_copies);
	return g_test_run();
}
