/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Finds providers and hands them to the registry. */
#ifndef RI_LOAD_H
#define RI_LOAD_H

#include "ri_registry.h"

/* Colon-separated folders whose providers come before all others; ignored in set-uid programs. */
#define RI_PROVIDER_PATH_VARIABLE "ITAPI_PROVIDER_PATH"

/* Compiled in; ends with NULL. Made by Meson (ri_builtin.c.in). */
extern const ri_provider_entry_fn ri_builtin_entries[];

/*
 * Register every *.so of the folders in `path` (colon-separated, may be NULL), then the built-in
 * providers, then every *.so of `folder` (may be NULL), by name. What is refused is logged through `host`, remembered
 * by the registry, and does not stop the others. False: memory ran out on the way; the same call again goes on.
 */
bool ri_load_all(const struct ri_host *host, const ri_provider_entry_fn *builtin, const char *path,
		 const char *folder);
/* One file. */
bool ri_load_file(const char *path, struct ri_error *error);

#endif /* RI_LOAD_H */
