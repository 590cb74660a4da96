/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Finds providers and hands them to the registry. */
#ifndef RI_LOAD_H
#define RI_LOAD_H

#include "ri_registry.h"

/* Compiled in; ends with NULL. Made by Meson (ri_builtin.c.in). */
extern const ri_provider_entry_fn ri_builtin_entries[];

/*
 * The folder of installed providers, written into `out`: RI_PROVIDER_SUBFOLDER in the folder of the shared object that this
 * code is part of. So an installation works wherever it was moved to, and a library in a build folder does not load
 * what is installed elsewhere.
 *
 * The result is RI_PROVIDER_FOLDER, which was fixed at build time, if this code is part of a program, if the dynamic
 * linker names no absolute path, or if the program has more rights than the user who started it (AT_SECURE).
 */
const char *ri_load_folder(char *out, size_t size);

/*
 * Register every *.so of the folders in `path` (colon-separated, may be NULL), then the built-in
 * providers, then every *.so of `folder` (may be NULL), by name. What is refused is logged through `host`, remembered
 * by the registry, and does not stop the others. An object of `folder` is passed over if a file of its name with .needs in
 * place of .so names a path that does not exist, and is loaded by ri_load_again(). False: memory or descriptors ran out on the
 * way; the same call again goes on.
 */
bool ri_load_all(const struct ri_host *host, const ri_provider_entry_fn *builtin, const char *path,
		 const char *folder);
/*
 * Register the skipped objects whose path has appeared meanwhile, because of a new device. Each is
 * tried once; `loaded` is the number of objects that this call registered. Any thread. It costs one
 * access() for each object that is still skipped. False: memory or descriptors ran out; the same
 * call repeated continues.
 */
bool ri_load_again(const struct ri_host *host, unsigned *loaded);
/*
 * Was PROVIDER.so of `folder` skipped, and is it still not loaded? Then `needs` gets the path for
 * which it waits. Any thread.
 */
bool ri_load_passed_over(const char *provider, char *needs, size_t size);
/* One file. */
bool ri_load_file(const char *path, struct ri_error *error);

#endif /* RI_LOAD_H */
