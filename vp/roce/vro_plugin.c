/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The entry of the provider when it is a shared object: the only symbol that it exports. */
#include "vro_verbs.h"

__attribute__((visibility("default"))) const struct ri_provider *ri_provider_entry(void);

const struct ri_provider *
ri_provider_entry(void)
{
	return vro_provider_entry();
}
