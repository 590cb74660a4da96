/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* All settings listed, as it-info does, and what must hold for each of them. */
#ifndef FUZZ_LIST_H
#define FUZZ_LIST_H

#include "fuzz.h"
#include "kal_settings_list.h"
#include "viw_provider.h"

#include "ri_load.h"
#include "vem_provider.h"

/* The providers whose settings are listed. */
const ri_provider_entry_fn ri_builtin_entries[] = {viw_provider_entry, vem_provider_entry, NULL};

static inline void
fuzz_setting_check(void *arg, const struct kal_setting_now *now)
{
	unsigned *count = arg;

	FUZZ_REQUIRE(now->owner != NULL && now->meaning != NULL);
	FUZZ_REQUIRE(strnlen(now->name, sizeof(now->name)) < sizeof(now->name));
	FUZZ_REQUIRE(now->name[0] != '\0');
	FUZZ_REQUIRE(strnlen(now->range, sizeof(now->range)) < sizeof(now->range));
	FUZZ_REQUIRE(strnlen(now->value, sizeof(now->value)) < sizeof(now->value));
	FUZZ_REQUIRE(strnlen(now->origin, sizeof(now->origin)) < sizeof(now->origin));
	FUZZ_REQUIRE(strnlen(now->trouble, sizeof(now->trouble)) < sizeof(now->trouble));
	++*count;
}

/* List all; there are always some. */
static inline void
fuzz_settings_list(void)
{
	unsigned count = 0;

	FUZZ_REQUIRE(kal_settings_list(fuzz_setting_check, &count) == RI_SUCCESS);
	FUZZ_REQUIRE(count > 0);
}

#endif /* FUZZ_LIST_H */
