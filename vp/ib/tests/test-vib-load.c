/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The shared object of the provider, as the registry loads it: it has its entry and all tables,
 * lists the devices of this machine, usually none, and refuses a name that does not exist. The
 * argument is the object.
 */
#include <dlfcn.h>
#include <glib.h>
#include <string.h>

#include "rnicpi.h"
#include "vsw_test_host.h"

static const struct ri_provider *provider;

static void
test_tables(void)
{
	g_assert_cmpuint(provider->abi_major, ==, RI_ABI_MAJOR);
	g_assert_cmpstr(provider->name, ==, "ib");
	g_assert_nonnull(provider->device);
	g_assert_nonnull(provider->pd);
	g_assert_nonnull(provider->cq);
	g_assert_nonnull(provider->qp);
	g_assert_nonnull(provider->mem);
	g_assert_nonnull(provider->srq);
	g_assert_nonnull(provider->cm);
	g_assert_nonnull(provider->user);
	g_assert_nonnull(provider->fast);
}

static void
test_devices(void)
{
	struct vth *vth = vth_new(false);
	struct ri_device_desc descs[4];
	uint32_t count = G_N_ELEMENTS(descs);

	g_assert_cmpint(provider->device->probe(vth_host(vth), descs, &count), ==, RI_SUCCESS);
	if (!g_file_test("/sys/class/infiniband", G_FILE_TEST_IS_DIR))
		g_assert_cmpuint(count, ==, 0);
	for (uint32_t i = 0; i < count && i < G_N_ELEMENTS(descs); i++) {
		g_assert_true(g_str_has_prefix(descs[i].name, "ib:"));
		g_assert_cmpuint(descs[i].num_ports, >, 0);
	}
	vth_free(&vth);
}

static void
test_absent(void)
{
	static const char *const names[] = {"ib:there is none", "ib:", "iwarp:lo", ""};
	struct vth *vth = vth_new(false);
	const struct ri_upcalls upcalls = {.size = sizeof(upcalls)};

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		struct ri_open open = {.host = vth_host(vth), .upcalls = &upcalls};
		struct ri_rnic *rnic = NULL;

		g_strlcpy(open.name, names[i], sizeof(open.name));
		g_assert_cmpint(provider->device->open(&open, &rnic), ==, RI_ERR_NO_DEVICE);
		g_assert_null(rnic);
	}
	vth_free(&vth);
}

int
main(int argc, char **argv)
{
	ri_provider_entry_fn entry;
	void *object, *symbol;

	g_test_init(&argc, &argv, NULL);
	object = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (object == NULL)
		g_error("%s", dlerror());
	symbol = dlsym(object, RI_PROVIDER_ENTRY_NAME);
	g_assert_nonnull(symbol);
	memcpy(&entry, &symbol, sizeof(entry));
	provider = entry();
	g_assert_nonnull(provider);
	g_test_add_func("/ib/load/tables", test_tables);
	g_test_add_func("/ib/load/devices", test_devices);
	g_test_add_func("/ib/load/absent", test_absent);
	return g_test_run();
}
