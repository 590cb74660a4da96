/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Providers are compiled in, or are shared objects that export ri_provider_entry. A shared object is opened with local
 * visibility, since two providers may have symbols of the same name. Once its provider is registered, the object is never
 * closed; an object whose provider is refused is closed at once.
 *
 * Of two providers with the same name the first one is used. The folders that the user names come first, so that another build
 * of a provider replaces the one compiled in; then the providers compiled in; then the installed folder.
 *
 * The entry function may return NULL: "I cannot run on this machine". That is no fault.
 *
 * An object of the installed folder whose device is not there yet waits in a list (ri_load_again).
 */

#include "ri_load.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ri_errno.h"
#include "ri_fd.h"
#include "ri_log.h"
#include "ri_object.h"

#define SUFFIX ".so"
#define NEEDS  ".needs"

/* An object of the installed folder that was passed over, and the path that did not exist. */
struct passed {
	struct passed *next;
	const char *needs; /* behind the path, in the same memory */
	char path[];
};

static pthread_mutex_t passed_lock =
	PTHREAD_MUTEX_INITIALIZER; /* also owned while one of them is loaded */
static struct passed *passed_over;

static void
log_line(const struct ri_host *host, enum ri_log_level level, const char *text)
{
	ri_log(host, level, &(struct ri_log_about){.layer = "registry"}, "%s", text);
}

/* A provider was not taken over: keep the reason for a later query. False: memory or descriptors ran out. */
static bool
note_refusal(const struct ri_host *host, const struct ri_error *error)
{
	log_line(host, RI_LOG_WARNING, error->text);
	if (error->code == RI_REGISTRY_ERROR_MEMORY)
		return false;
	ri_registry_note_refusal(error->text);
	return true;
}

/* A provider that is compiled in or installed was not taken over. If its name is taken, the user prefers another one: no refusal. */
static bool
note_installed(const struct ri_host *host, const struct ri_error *error)
{
	if (error->code != RI_REGISTRY_ERROR_NAME)
		return note_refusal(host, error);
	log_line(host, RI_LOG_INFO, error->text);
	return true;
}

static bool
load_error(struct ri_error *error, const char *path, const char *what)
{
	return ri_error_set(error, RI_REGISTRY_ERROR_LOAD, "%s: %s", path, what);
}

/*
 * Did memory or descriptors run out when this object was opened? The dynamic linker leaves no errno. For descriptors the
 * object is opened here; memory is known by the end of the linker's words, unless they are in another language.
 */
static bool
is_open_short(const char *path, const char *what)
{
	const char *memory = ri_errno_text(ENOMEM);
	size_t length = strlen(memory);
	int fd = ri_fd_open(path, O_RDONLY, 0);

	if (fd < 0)
		return ri_errno_is_short(errno);
	close(fd);
	if (what == NULL || strlen(what) < length)
		return false;
	return strcmp(what + strlen(what) - length, memory) == 0;
}

bool
ri_load_file(const char *path, struct ri_error *error)
{
	const struct ri_provider *provider;
	ri_provider_entry_fn entry;
	void *object, *symbol;
	struct stat info;
	char text[128];

	/* The dynamic linker would wait until another process writes to a FIFO. */
	if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
		return load_error(error, path, "is not a regular file");
	if (!ri_object_check(path, text, sizeof(text)))
		return load_error(error, path, text);
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (object == NULL) {
		const char *what = dlerror();
		size_t length = strlen(path);
		bool shortage = is_open_short(path, what);

		/* Its text usually begins with the path, which the message below has already. */
		if (what != NULL && strncmp(what, path, length) == 0 &&
		    strncmp(what + length, ": ", 2) == 0)
			what += length + 2;
		return ri_error_set(error,
				    shortage ? RI_REGISTRY_ERROR_MEMORY : RI_REGISTRY_ERROR_LOAD,
				    "%s: %s", path, what != NULL ? what : "cannot be loaded");
	}
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
		return true;
	dlclose(object);
	return false;
}

static int
is_object(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > strlen(SUFFIX) &&
	       strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) == 0;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* A folder cannot be looked through, or what is in it cannot be named, for that reason. */
static bool
open_folder_error(struct ri_error *error, const char *folder, int cause)
{
	return ri_error_set(
		error, ri_errno_is_short(cause) ? RI_REGISTRY_ERROR_MEMORY : RI_REGISTRY_ERROR_LOAD,
		"%s: %s", folder,
		cause == ENOTDIR
			? "is not a folder; ITAPI_PROVIDER_PATH names the folders of providers"
			: ri_errno_text(cause));
}

/* Keep an object for ri_load_again(), once. False: no memory. */
static bool
passed_keep(const char *path, const char *needs)
{
	size_t length = strlen(path) + 1;
	size_t rest = strlen(needs) + 1;
	struct passed **link = &passed_over;
	struct passed *passed = malloc(sizeof(*passed) + length + rest);

	if (passed == NULL)
		return false;
	passed->next = NULL;
	memcpy(passed->path, path, length);
	passed->needs = memcpy(passed->path + length, needs, rest);
	pthread_mutex_lock(&passed_lock);
	while (*link != NULL && strcmp((*link)->path, path) != 0)
		link = &(*link)->next;
	if (*link == NULL) {
		*link = passed;
		passed = NULL;
	}
	pthread_mutex_unlock(&passed_lock);
	free(passed);
	return true;
}

/*
 * May a provider of the installed folder be useful? If a file with its name and .needs in place of
 * .so lies beside it, only if the path in that file exists (its first line that is not a comment).
 * So the provider of devices, and the libraries that it uses, are not loaded on a machine without
 * devices. A provider that is skipped is remembered for a later check; if there is no memory for
 * that, it counts as useful.
 */
static bool
is_of_use(const struct ri_host *host, const char *path)
{
	/* On the heap, since a thread's stack may be small [IT 1.20]. */
	struct {
		char name[PATH_MAX + sizeof(NEEDS)], line[PATH_MAX], text[2 * PATH_MAX + 64];
	} *texts = calloc(1, sizeof(*texts));
	bool of_use = true;
	FILE *file = NULL;

	if (texts != NULL) {
		(void)snprintf(texts->name, sizeof(texts->name), "%.*s" NEEDS,
			       (int)(strlen(path) - strlen(SUFFIX)), path);
		file = ri_fd_open_file(texts->name);
	}
	if (file != NULL) {
		while (fgets(texts->line, sizeof(texts->line), file) != NULL &&
		       texts->line[0] == '#')
			texts->line[0] = '\0';
		texts->line[strcspn(texts->line, "\n")] = '\0';
		fclose(file);
		of_use = texts->line[0] == '\0' || access(texts->line, F_OK) == 0 ||
			 !passed_keep(path, texts->line);
	}
	if (!of_use) {
		(void)snprintf(texts->text, sizeof(texts->text),
			       "%s: not loaded, because there is no %s", path, texts->line);
		log_line(host, RI_LOG_INFO, texts->text);
	}
	free(texts);
	return of_use;
}

/* False: no memory or descriptors. `named`: that it cannot be looked through is a mistake, and each object is wanted. */
static bool
load_folder(const struct ri_host *host, const char *folder, bool named)
{
	struct dirent **entries = NULL;
	bool complete = true;
	int count;

	errno = 0;
	count = scandir(folder, &entries, is_object, by_name);
	if (count < 0) {
		struct ri_error error = {0};

		if (!named && !ri_errno_is_short(errno))
			return true;
		(void)open_folder_error(&error, folder, errno);
		return note_refusal(host, &error);
	}
	for (int i = 0; i < count; i++) {
		struct ri_error error = {0};
		char *path = NULL;

		if (strlen(folder) + strlen(entries[i]->d_name) + 2 > PATH_MAX)
			(void)load_error(&error, entries[i]->d_name, "its path is too long");
		else if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
			(void)open_folder_error(&error, folder, ENOMEM);
		else if (named || is_of_use(host, path))
			(void)ri_load_file(path, &error);
		if (error.code != RI_REGISTRY_ERROR_NONE)
			complete &=
				named ? note_refusal(host, &error) : note_installed(host, &error);
		free(path);
		free(entries[i]);
	}
	free(entries);
	return complete;
}

static bool
load_built_in(const struct ri_host *host, const ri_provider_entry_fn *builtin)
{
	bool complete = true;

	for (; builtin != NULL && *builtin != NULL; builtin++) {
		const struct ri_provider *provider = (*builtin)();
		struct ri_error error = {0};

		if (provider == NULL || ri_registry_add(provider, "built-in", &error))
			continue;
		complete &= note_installed(host, &error);
	}
	return complete;
}

/* Colon-separated; what is too long to be a folder is passed over. */
static bool
load_path(const struct ri_host *host, const char *path)
{
	bool complete = true;

	while (*path != '\0') {
		size_t length = strcspn(path, ":");
		bool wanted = length > 0 && length < PATH_MAX;
		char *folder = wanted ? strndup(path, length) : NULL;
		struct ri_error error = {0};

		if (folder != NULL) {
			complete &= load_folder(host, folder, true);
		} else if (wanted) {
			(void)open_folder_error(&error, path, ENOMEM);
			complete &= note_refusal(host, &error);
		}
		free(folder);
		path += length;
		path += *path == ':';
	}
	return complete;
}

/* The path under which the dynamic linker loaded the shared object of this code; empty for a program. */
static const char *
own_path(void)
{
	static const char anchor;
	struct link_map *map;
	Dl_info info;

	if (dladdr1(&anchor, &info, (void **)&map, RTLD_DL_LINKMAP) == 0)
		return "";
	return map->l_name;
}

const char *
ri_load_folder(char *out, size_t size)
{
	const char *path = getauxval(AT_SECURE) != 0 ? "" : own_path();
	const char *end = strrchr(path, '/');
	int length;

	if (path[0] != '/')
		return RI_PROVIDER_FOLDER;
	length = snprintf(out, size, "%.*s/%s", (int)(end - path), path, RI_PROVIDER_SUBFOLDER);
	return length < 0 || (size_t)length >= size ? RI_PROVIDER_FOLDER : out;
}

bool
ri_load_all(const struct ri_host *host, const ri_provider_entry_fn *builtin, const char *path,
	    const char *folder)
{
	bool complete = path == NULL || load_path(host, path);

	/* Whoever names a folder wants its providers before those of the same name that are compiled in. */
	if (!complete)
		return false;
	complete = load_built_in(host, builtin);
	if (folder != NULL)
		complete &= load_folder(host, folder, false);
	return complete;
}

bool
ri_load_passed_over(const char *provider, char *needs, size_t size)
{
	const struct passed *passed;
	char name[PATH_MAX];
	bool found = false;

	(void)snprintf(name, sizeof(name), "/%s" SUFFIX, provider);
	pthread_mutex_lock(&passed_lock);
	for (passed = passed_over; passed != NULL && !found; passed = passed->next) {
		const char *end = strrchr(passed->path, '/');

		found = end != NULL && strcmp(end, name) == 0;
		if (found)
			(void)snprintf(needs, size, "%s", passed->needs);
	}
	pthread_mutex_unlock(&passed_lock);
	return found;
}

bool
ri_load_again(const struct ri_host *host, unsigned *loaded)
{
	struct passed **link = &passed_over, *passed;
	bool complete = true;

	*loaded = 0;
	pthread_mutex_lock(&passed_lock);
	while ((passed = *link) != NULL) {
		struct ri_error error = {0};

		if (access(passed->needs, F_OK) != 0) {
			link = &passed->next;
			continue;
		}
		if (ri_load_file(passed->path, &error)) {
			++*loaded;
		} else if (!note_installed(host, &error)) {
			complete = false;
			link = &passed->next;
			continue;
		}
		*link = passed->next;
		free(passed);
	}
	pthread_mutex_unlock(&passed_lock);
	return complete;
}
