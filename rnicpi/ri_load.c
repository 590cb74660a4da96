/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Providers come compiled in, or as shared objects that export ri_provider_entry. A shared object is
 * opened with local visibility: two providers may have symbols of the same name. Once it has handed
 * over a provider it stays open for good; one that is refused is closed again.
 *
 * Of two with one name the first stays: first come the folders that the user names, so that another
 * build of a provider takes the place of the one compiled in; then that; then the installed folder.
 *
 * The entry function may return NULL: "I cannot run on this machine". That is no fault.
 */

#include "ri_load.h"

#include <dlfcn.h>
#include <string.h>

static void
say(const struct ri_host *host, enum ri_log_level level, const char *text)
{
	if (host != NULL && host->log_level >= (uint32_t)level)
		host->log(host->self, level, "registry", text);
}

/* A provider was not taken: keep the reason for whoever asks. */
static void
refused(const struct ri_host *host, GError *error)
{
	say(host, RI_LOG_WARNING, error->message);
	ri_registry_note_refusal(error->message);
	g_error_free(error);
}

static gboolean
load_error(GError **error, const char *path, const char *what)
{
	g_set_error(error, RI_REGISTRY_ERROR, RI_REGISTRY_ERROR_LOAD, "%s: %s", path, what);
	return FALSE;
}

gboolean
ri_load_file(const char *path, GError **error)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct ri_provider *provider;
	ri_provider_entry_fn entry;
	void *symbol;

	if (object == NULL)
		return load_error(error, path, dlerror());
	symbol = dlsym(object, RI_PROVIDER_ENTRY_NAME);
	if (symbol == NULL) {
		dlclose(object);
		return load_error(error, path, "does not export " RI_PROVIDER_ENTRY_NAME);
	}
	memcpy(&entry, &symbol, sizeof(entry));
	provider = entry();
	if (provider == NULL) {
		dlclose(object);
		return load_error(error, path, "says that it cannot run on this machine");
	}
	if (ri_registry_add(provider, path, error))
		/* cppcheck-suppress resourceLeak; a provider stays loaded as long as the process */
		return TRUE;
	dlclose(object);
	return FALSE;
}

static gint
by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
load_folder(const struct ri_host *host, const char *folder)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	const char *name;

	while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
		if (g_str_has_suffix(name, ".so"))
			g_ptr_array_add(names, g_build_filename(folder, name, NULL));
	}
	g_ptr_array_sort(names, by_name);
	for (unsigned i = 0; i < names->len; i++) {
		GError *error = NULL;

		if (!ri_load_file(g_ptr_array_index(names, i), &error))
			refused(host, error);
	}
}

static void
load_built_in(const struct ri_host *host, const ri_provider_entry_fn *builtin)
{
	for (; builtin != NULL && *builtin != NULL; builtin++) {
		const struct ri_provider *provider = (*builtin)();
		GError *error = NULL;

		if (provider == NULL || ri_registry_add(provider, "built-in", &error))
			continue;
		if (g_error_matches(error, RI_REGISTRY_ERROR, RI_REGISTRY_ERROR_NAME)) {
			say(host, RI_LOG_INFO, error->message); /* as somebody wanted */
			g_error_free(error);
		} else {
			refused(host, error);
		}
	}
}

void
ri_load_all(const struct ri_host *host, const ri_provider_entry_fn *builtin, const char *path,
	    const char *folder)
{
	g_auto(GStrv) folders = path != NULL ? g_strsplit(path, ":", -1) : NULL;

	for (unsigned i = 0; folders != NULL && folders[i] != NULL; i++) {
		if (folders[i][0] != '\0')
			load_folder(host, folders[i]);
	}
	load_built_in(host, builtin);
	if (folder != NULL)
		load_folder(host, folder);
}
