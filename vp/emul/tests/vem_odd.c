/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A provider in a shared object whose adapters cannot be opened, each for another reason. "odd:denied" refuses the
 * user; "odd:claims" is the emulated InfiniBand adapter with a claim that no entry backs. The provider has a setting
 * of its own, ITAPI_ODD_DELAY_MS. Compiled with SILENT it is the provider "silent", which cannot list its adapters.
 */
#include <stdio.h>
#include <string.h>

#include "vem_provider.h"

#define ADAPTERS 2

#ifdef SILENT
#define NAME "silent"
#else
#define NAME "odd"
#endif

static const char *const names[ADAPTERS] = {"odd:denied", "odd:claims"};

__attribute__((visibility("default"))) const struct ri_provider *ri_provider_entry(void);

static const struct ri_device_ops *device; /* of vp/emul */

static const struct ri_setting settings[] = {
	{.name = "ITAPI_ODD_DELAY_MS",
	 .meaning = "Nothing: a setting that a provider outside of the tree states",
	 .kind = RI_SETTING_NUMBER,
	 .min = 1,
	 .max = 9,
	 .unit = "ms",
	 .preset = "3"},
};

static enum ri_status
odd_probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count)
{
	(void)host;
#ifdef SILENT
	*count = 0;
	return RI_ERR_ACCESS;
#endif
	for (uint32_t i = 0; i < ADAPTERS && i < *count; i++) {
		memset(&descs[i], 0, sizeof(descs[i]));
		snprintf(descs[i].name, sizeof(descs[i].name), "%s", names[i]);
		descs[i].transport = RI_TRANSPORT_IB;
		descs[i].num_ports = 1;
	}
	*count = ADAPTERS;
	return RI_SUCCESS;
}

static enum ri_status
odd_open(const struct ri_open *open, struct ri_rnic **out)
{
	struct ri_open real = *open;

	if (strcmp(open->name, names[0]) == 0)
		return RI_ERR_ACCESS;
	snprintf(real.name, sizeof(real.name), "emul:ib");
	return device->open(&real, out);
}

const struct ri_provider *
ri_provider_entry(void)
{
	static struct ri_provider provider;
	static struct ri_device_ops ops;

	provider = *vem_provider_entry();
	device = provider.device;
	ops = *device;
	ops.probe = odd_probe;
	ops.open = odd_open;
	provider.name = NAME;
	provider.description = "adapters that cannot be opened, for tests";
	provider.device = &ops;
	provider.srq = NULL; /* claimed by the profile */
	provider.settings = settings;
	provider.num_settings = sizeof(settings) / sizeof(settings[0]);
	provider.setting_size = sizeof(settings[0]);
	return &provider;
}
