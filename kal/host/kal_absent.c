/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The cause for which an adapter is absent. Its name begins with the name of its provider, up to
 * the first colon: "ib:rxe0" belongs to "ib". So the name tells which provider was meant, and the
 * cause is what happened to that provider.
 */
#include "kal_absent.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ri_call.h"
#include "ri_load.h"
#include "ri_registry.h"

#define WORD_ROOM  64  /* of the name of a provider */
#define NAMES_ROOM 300 /* of the names of adapters that a sentence lists */
#define DESCS_MAX  4096

#define BUILT \
	"is not installed (on Debian it is the package itapi-ib); the library looks for it in "
#define DISABLED "is not part of this build, which was configured with -Dib=disabled"
#define WITHOUT \
	"is not part of this build: libibverbs or librdmacm was missing when it was configured"

#define PASSED_MEANS "no driver for RDMA devices is loaded"
#define DEFECTS      "defects"
#define DEFECTS_FOLDER                                              \
	"; ITAPI_PROVIDER_PATH makes the library load it from the " \
	"folder that pkg-config --variable=defectsdir rnicpi prints"

/* Providers of this release that are not compiled in. */
static const struct plugin {
	const char *name;   /* as adapters begin */
	const char *absent; /* why it is not there, if nothing is known of its object */
	bool wraps;         /* what follows is the name of another adapter */
} plugins[] = {
	{.name = "ib", .absent = "the provider ib " KAL_IB},
	{.name = "faulty",
	 .absent = "faulty: belongs to the provider " DEFECTS DEFECTS_FOLDER,
	 .wraps = true},
	{.name = "defect",
	 .absent = "defect: belongs to the provider " DEFECTS DEFECTS_FOLDER,
	 .wraps = true},
	{.name = "record",
	 .absent = "record: belongs to the provider " DEFECTS DEFECTS_FOLDER,
	 .wraps = true},
};

#define PLUGINS (sizeof(plugins) / sizeof(plugins[0]))

/* A text that grows, and is cut at its end. */
struct sentence {
	char *text;
	size_t room;
};

static void add(const struct sentence *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void
add(const struct sentence *out, const char *format, ...)
{
	size_t length = strlen(out->text);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(out->text + length, out->room - length, format, args);
	va_end(args);
}

/* The part of a name before its first colon; empty if that is no name of a provider. */
static void
word_take(char word[WORD_ROOM], const char *name)
{
	size_t length = strcspn(name, ":");

	if (length >= WORD_ROOM)
		length = 0;
	memcpy(word, name, length);
	word[length] = '\0';
}

static const struct ri_loaded *
loaded_find(const char *name)
{
	const struct ri_loaded *loaded;

	for (unsigned i = 0; (loaded = ri_registry_get(i)) != NULL; i++) {
		if (strcmp(loaded->name, name) == 0)
			return loaded;
	}
	return NULL;
}

static const struct plugin *
plugin_find(const char *name)
{
	for (size_t i = 0; i < PLUGINS; i++) {
		if (strcmp(plugins[i].name, name) == 0)
			return &plugins[i];
	}
	return NULL;
}

/* The adapters of one provider, to be freed; NULL: it lists none. */
static struct ri_device_desc *
adapters_of(const struct ri_host *host, const struct ri_loaded *loaded, uint32_t *count)
{
	const struct ri_caller caller = {
		.provider = &loaded->provider, .host = host, .name = loaded->name};
	uint32_t room = WORD_ROOM;

	for (;;) {
		struct ri_device_desc *descs = calloc(room, sizeof(*descs));

		*count = room;
		if (descs != NULL && ri_call_probe(&caller, descs, count) == RI_SUCCESS &&
		    *count <= room)
			return descs;
		free(descs);
		if (descs == NULL || *count <= room || *count > DESCS_MAX)
			break;
		room = *count;
	}
	*count = 0;
	return NULL;
}

/* The provider is there: which adapters it has instead, as many as fit. */
static void
add_others(const struct ri_host *host, const struct ri_loaded *loaded, const struct sentence *out)
{
	uint32_t count, i;
	struct ri_device_desc *descs = adapters_of(host, loaded, &count);
	char names[NAMES_ROOM] = "";
	const struct sentence list = {.text = names, .room = sizeof(names)};

	for (i = 0; i < count && strlen(names) + sizeof(descs[i].name) + 2 < sizeof(names); i++)
		add(&list, "%s%s", i > 0 ? ", " : "", descs[i].name);
	if (count == 0)
		add(out, "; the provider %s has no adapter now", loaded->name);
	else if (i < count)
		add(out, "; the provider %s has %s and %u more", loaded->name, names, count - i);
	else
		add(out, "; the provider %s has %s", loaded->name, names);
	free(descs);
}

/*
 * Adds to the sentence why the provider was refused. Each line of the registry begins with the path
 * of the shared object, which is NAME.so unless it was renamed, and names the provider in it, if
 * that is known.
 */
static bool
add_refusal(const char *provider, const struct sentence *out)
{
	char *lines = ri_registry_refusals(), *rest = lines, *line;
	char file[WORD_ROOM + 8], named[WORD_ROOM + 8];
	bool found = false;

	(void)snprintf(file, sizeof(file), "/%s.so: ", provider);
	(void)snprintf(named, sizeof(named), ": %s: ", provider);
	while (!found && lines != NULL && (line = strsep(&rest, "\n")) != NULL) {
		found = strstr(line, file) != NULL || strstr(line, named) != NULL;
		if (found)
			add(out, "; the provider %s was refused: %s", provider, line);
	}
	free(lines);
	return found;
}

/* What became of a provider that is not registered; false: nothing is known of a provider of this name. */
static bool
add_absence(const char *provider, const struct sentence *out)
{
	const struct plugin *plugin = plugin_find(provider);
	char path[PATH_MAX];

	if (add_refusal(provider, out))
		return true;
	if (ri_load_passed_over(provider, path, sizeof(path))) {
		add(out, "; the provider %s is not loaded, because there is no %s", provider, path);
		if (plugin != NULL)
			add(out, ": " PASSED_MEANS);
		return true;
	}
	if (plugin == NULL)
		return false;
	add(out, "; %s", plugin->absent);
	/* The text ends where the name of the folder belongs. */
	if (plugin->absent[strlen(plugin->absent) - 1] == ' ')
		add(out, "%s", ri_load_folder(path, sizeof(path)));
	return true;
}

/* The provider for tests is loaded, and has no such adapter: the cause is the adapter that it should wrap. */
static void
add_wrapped(const char *name, const struct sentence *out)
{
	const char *inner = strchr(name, ':');
	const struct ri_loaded *loaded;
	char word[WORD_ROOM];

	/* defect:ID:NAME and faulty:NAME */
	if (inner != NULL && strncmp(name, "defect:", strlen("defect:")) == 0)
		inner = strchr(inner + 1, ':');
	inner = inner != NULL ? inner + 1 : "";
	word_take(word, inner);
	loaded = loaded_find(word);
	add(out, "; the provider " DEFECTS " wraps adapters of emul, of iwarp, and of the objects "
		 "that ITAPI_WRAPPED names");
	if (strncmp(name, "defect:", strlen("defect:")) == 0)
		add(out, ", and defects-list in its folder prints the defects");
	if (loaded != NULL && loaded->origin[0] == '/')
		add(out, ", which %s is for '%s'", loaded->origin, inner);
	else if (loaded == NULL)
		(void)add_absence(word, out);
}

/* Add a name that may be meant: of an adapter, or of a provider that is there or could be. */
static void
add_near(const struct ri_host *host, struct kal_near *near, const char *provider,
	 const struct sentence *out)
{
	struct kal_near other = {.word = provider};
	char best[sizeof(((struct ri_device_desc *)NULL)->name)];
	const struct ri_loaded *loaded;

	for (unsigned i = 0; (loaded = ri_registry_get(i)) != NULL; i++) {
		uint32_t count;
		struct ri_device_desc *descs = adapters_of(host, loaded, &count);
		const char *before = near->best;

		for (uint32_t j = 0; j < count; j++)
			kal_near_try(near, descs[j].name);
		if (near->best != before) {
			/* It must outlive the list. */
			memcpy(best, near->best, sizeof(best));
			near->best = best;
		}
		free(descs);
		kal_near_try(&other, loaded->name);
	}
	for (size_t i = 0; i < PLUGINS; i++)
		kal_near_try(&other, plugins[i].name);
	if (near->best != NULL)
		add(out, "; did you mean '%s'?", near->best);
	else if (other.best != NULL && other.distance != 0)
		add(out, "; did you mean the provider '%s'?", other.best);
}

void
kal_absent_explain(const struct ri_host *host, struct kal_near *near, char *text, size_t room)
{
	const struct sentence out = {.text = text, .room = room};
	const struct plugin *plugin;
	const struct ri_loaded *loaded;
	char provider[WORD_ROOM];

	word_take(provider, near->word);
	plugin = plugin_find(provider);
	loaded = loaded_find(provider);
	text[0] = '\0';
	add(&out, "there is no adapter named '%.128s'", near->word);
	if (strchr(near->word, '/') != NULL)
		add(&out, "; a provider is not opened by its path: name its folder in "
			  "ITAPI_PROVIDER_PATH, then open an adapter that it has");
	else if (plugin != NULL && plugin->wraps && loaded_find(DEFECTS) != NULL)
		add_wrapped(near->word, &out);
	else if (loaded != NULL || !add_absence(provider, &out))
		add_near(host, near, provider, &out);
	if (loaded != NULL)
		add_others(host, loaded, &out);
}
