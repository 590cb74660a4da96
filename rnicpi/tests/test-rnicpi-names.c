/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A shared object that is linked like a third-party provider, loaded as the registry loads one: the
 * functions for names that rnicpi_types.h declares must be resolved.
 */

#include <dlfcn.h>
#include <glib.h>
#include <string.h>

#include "rnicpi.h"

static const char *object;

static void
test_names(void)
{
	void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
	const struct ri_provider *provider;
	ri_provider_entry_fn entry;
	void *symbol;

	if (handle == NULL)
		g_error("%s", dlerror());
	symbol = dlsym(handle, RI_PROVIDER_ENTRY_NAME);
	g_assert_nonnull(symbol);
	memcpy(&entry, &symbol, sizeof(entry));
	provider = entry();
	g_assert_cmpstr(provider->name, ==, "RI_ERR_BUSY");
	g_assert_cmpstr(provider->description, ==, "RI_WC_FLUSHED");
	dlclose(handle);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	object = argv[1];
	g_test_add_func("/rnicpi/names/exported", test_names);
	return g_test_run();
}
