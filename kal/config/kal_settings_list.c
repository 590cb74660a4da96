/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The warnings that are logged when an adapter is opened need no memory. kal_settings_list()
 * allocates memory for the values of the file, and fails if there is none.
 */
#include "kal_settings_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "kal_config_keys.h"
#include "kal_near.h"
#include "kal_objects.h"
#include "kal_settings.h"
#include "ri_log.h"
#include "ri_registry.h"
#include "ri_setting.h"

#define OWN    "itapi"
#define PREFIX "ITAPI_"

#define NAME_ROOM  128
#define KEY_ROOM   64 /* no key and no group is longer */
#define VALUE_ROOM 256

/* Every variable that is read, one after the other: the library's, then those of each provider. */
struct cursor {
	unsigned index;
	unsigned provider; /* 0: the library, else the number of a provider and 1 */
	struct ri_setting setting;
	const char *owner;
};

static bool
next_variable(struct cursor *cursor)
{
	while (cursor->provider == 0 || ri_registry_get(cursor->provider - 1) != NULL) {
		const struct ri_loaded *loaded =
			cursor->provider > 0 ? ri_registry_get(cursor->provider - 1) : NULL;

		if (loaded == NULL && cursor->index < KAL_SETTING_COUNT) {
			cursor->setting = *kal_setting((enum kal_setting_id)cursor->index++);
			cursor->owner = OWN;
			return true;
		}
		if (loaded != NULL && cursor->index < loaded->provider.num_settings) {
			ri_loaded_setting(loaded, cursor->index++, &cursor->setting);
			cursor->owner = loaded->name;
			return true;
		}
		cursor->provider++;
		cursor->index = 0;
	}
	return false;
}

/* The text of a variable that this process may not believe, or NULL. */
static const char *
hidden_text(const struct ri_setting *setting)
{
	size_t length = strlen(setting->name);

	if (getauxval(AT_SECURE) == 0 || setting->set_uid != 0)
		return NULL;
	for (char **at = environ; at != NULL && *at != NULL; at++) {
		if (strncmp(*at, setting->name, length) == 0 && (*at)[length] == '=')
			return *at + length + 1;
	}
	return NULL;
}

/* What is wrong with a variable's value, or "". */
static void
variable_trouble(const struct ri_setting *setting, char *text, size_t room)
{
	const char *said = ri_setting_text(setting);
	char range[128];

	text[0] = '\0';
	if (said != NULL && !ri_setting_allows(setting, said)) {
		kal_setting_range(setting, range, sizeof(range));
		(void)snprintf(text, room, "'%.64s' is not allowed; allowed is %s", said, range);
	} else if (said == NULL && hidden_text(setting) != NULL) {
		(void)snprintf(
			text, room,
			"it is set, but a program with more rights than its caller ignores it");
	}
}

/* The known variable that a name without a row is near to, or NULL. *known: the name has a row. */
static const char *
nearest_variable(const char *name, bool *known)
{
	struct kal_near near = {.word = name};
	struct cursor cursor = {0};

	*known = false;
	while (!*known && next_variable(&cursor)) {
		*known = strcmp(cursor.setting.name, name) == 0;
		kal_near_try(&near, cursor.setting.name);
	}
	return *known ? NULL : near.best;
}

/* The name of a variable of the process if it begins with our prefix. What is longer than any name is passed over. */
static bool
our_name(const char *variable, char *name, size_t room)
{
	size_t length = strcspn(variable, "=");

	if (strncmp(variable, PREFIX, strlen(PREFIX)) != 0 || length >= room)
		return false;
	memcpy(name, variable, length);
	name[length] = '\0';
	return true;
}

/* --- warnings ------------------------------------------------------------------------------ */

static void
warn_of_setting(const struct ri_host *host, const char *text)
{
	ri_log(host, RI_LOG_WARNING, &(struct ri_log_about){.layer = "settings"}, "%s", text);
}

static void
check_variable(const struct ri_host *host, const struct ri_setting *setting)
{
	const char *said = ri_setting_text(setting);
	char what[256], text[512];

	if (said == NULL || ri_setting_allows(setting, said))
		return;
	variable_trouble(setting, what, sizeof(what));
	(void)snprintf(text, sizeof(text), "%s: %s; the default%s%s is used", setting->name, what,
		       setting->preset != NULL ? " " : "",
		       setting->preset != NULL ? setting->preset : "");
	warn_of_setting(host, text);
}

void
kal_settings_check(const struct ri_host *host)
{
	for (unsigned i = 0; i < KAL_SETTING_COUNT; i++)
		check_variable(host, kal_setting((enum kal_setting_id)i));
}

void
kal_settings_check_all(const struct ri_host *host)
{
	struct cursor cursor = {.provider = 1};

	while (next_variable(&cursor))
		check_variable(host, &cursor.setting);
	for (char **at = environ; at != NULL && *at != NULL; at++) {
		char name[NAME_ROOM], text[256];
		const char *near = NULL;
		bool known;

		if (our_name(*at, name, sizeof(name)))
			near = nearest_variable(name, &known);
		if (near == NULL)
			continue;
		(void)snprintf(text, sizeof(text),
			       "%s: nobody reads this variable; did you mean %s?", name, near);
		warn_of_setting(host, text);
	}
}

/* --- the list ------------------------------------------------------------------------------ */

/* A line of the administrator's file. */
struct said_line {
	struct said_line *next;
	unsigned number;
	const char *path;
	char key[KEY_ROOM];
	char group[KEY_ROOM];
	char value[VALUE_ROOM];
};

/* All lines of the file, in their order. */
struct said {
	const char *path;
	struct said_line *first, **end;
};

static void
copy_text(char *out, size_t room, const char *text)
{
	(void)g_strlcpy(out, text, room);
}

static const char *
say_line(void *arg, const struct kal_config_line *line)
{
	struct said *said = arg;
	struct said_line *said_line;

	if (line->key == NULL)
		return NULL;
	said_line = calloc(1, sizeof(*said_line));
	if (said_line == NULL)
		return kal_config_no_memory;
	said_line->number = line->number;
	said_line->path = said->path;
	copy_text(said_line->group, sizeof(said_line->group), line->group);
	copy_text(said_line->key, sizeof(said_line->key), line->key);
	copy_text(said_line->value, sizeof(said_line->value), line->value);
	*said->end = said_line;
	said->end = &said_line->next;
	return NULL;
}

static void
forget_lines(struct said *said)
{
	while (said->first != NULL) {
		struct said_line *next = said->first->next;

		free(said->first);
		said->first = next;
	}
}

static uint64_t
limit_of(const struct said_line *line)
{
	return strcmp(line->value, "unlimited") != 0 ? strtoull(line->value, NULL, 10) : UINT64_MAX;
}

/* Is it a lower limit than the other line? */
static bool
lowers(const struct said_line *line, const struct said_line *than)
{
	return strncmp(line->group, "limits.", 7) == 0 && limit_of(line) < limit_of(than);
}

/* The last line with that key; NULL: none. */
static const struct said_line *
last_line(const struct said *said, const char *group, const char *key)
{
	const struct said_line *last = NULL;

	for (const struct said_line *line = said->first; line != NULL; line = line->next) {
		/* What the administrator's file says is decided; of a limit the user's file may be the smaller one. */
		if (strcmp(line->group, group) == 0 && strcmp(line->key, key) == 0 &&
		    (last == NULL || last->path == line->path || lowers(line, last)))
			last = line;
	}
	return last;
}

/* Where the rows go. */
struct listing {
	void (*each)(void *arg, const struct kal_setting_now *now);
	void *arg;
	struct said said;
	char config_trouble[32 + sizeof(struct kal_why)]; /* why the file cannot be used, or "" */
};

static void
setting_begin(struct kal_setting_now *now, const char *owner, const struct ri_setting *setting)
{
	memset(now, 0, sizeof(*now));
	now->owner = owner;
	now->meaning = setting->meaning;
	now->preset = setting->preset;
	now->set_uid = setting->set_uid != 0;
	kal_setting_range(setting, now->range, sizeof(now->range));
	copy_text(now->value, sizeof(now->value), setting->preset != NULL ? setting->preset : "");
	copy_text(now->origin, sizeof(now->origin), "default");
}

static void
list_variable(const struct listing *listing, const char *owner, const struct ri_setting *setting)
{
	const char *said = ri_setting_text(setting);
	struct kal_setting_now now;

	setting_begin(&now, owner, setting);
	copy_text(now.name, sizeof(now.name), setting->name);
	variable_trouble(setting, now.trouble, sizeof(now.trouble));
	if (said != NULL && ri_setting_allows(setting, said)) {
		copy_text(now.value, sizeof(now.value), said);
		copy_text(now.origin, sizeof(now.origin), "environment");
	}
	if (setting->name == kal_setting(KAL_SETTING_CONFIG)->name &&
	    listing->config_trouble[0] != '\0')
		copy_text(now.trouble, sizeof(now.trouble), listing->config_trouble);
	listing->each(listing->arg, &now);
}

static void
list_line(struct kal_setting_now *now, const struct said_line *line)
{
	copy_text(now->value, sizeof(now->value), line->value);
	(void)snprintf(now->origin, sizeof(now->origin), "%s:%u", line->path, line->number);
}

static void
list_key(const struct listing *listing, const struct kal_config_key *key)
{
	const struct said_line *line = last_line(&listing->said, key->group, key->row.name);
	struct kal_setting_now now;

	setting_begin(&now, OWN, &key->row);
	(void)snprintf(now.name, sizeof(now.name), "[%s] %s", key->group, key->row.name);
	if (line != NULL)
		list_line(&now, line);
	if (kal_config_key_overridden(key) &&
	    (line == NULL || line->path != kal_config_system_file)) {
		copy_text(now.value, sizeof(now.value), key->then);
		(void)snprintf(now.origin, sizeof(now.origin), "environment: %s=%s",
			       kal_setting(key->variable)->name, key->when);
	}
	listing->each(listing->arg, &now);
}

/* A key that the administrator named: one row for each, and one that says that there may be some. */
static void
list_named(const struct listing *listing, const struct kal_config_key *key)
{
	const struct said *said = &listing->said;
	struct kal_setting_now now;

	setting_begin(&now, OWN, &key->row);
	(void)snprintf(now.name, sizeof(now.name), "[%s] NAME", key->group);
	listing->each(listing->arg, &now);
	for (const struct said_line *line = said->first; line != NULL; line = line->next) {
		if (strcmp(line->group, key->group) != 0 ||
		    last_line(said, line->group, line->key) != line)
			continue;
		setting_begin(&now, OWN, &key->row);
		(void)snprintf(now.name, sizeof(now.name), "[%s] %s", key->group, line->key);
		list_line(&now, line);
		listing->each(listing->arg, &now);
	}
}

/* Variables with our prefix that neither the library nor a provider reads. */
static void
list_unknown(const struct listing *listing)
{
	for (char **at = environ; at != NULL && *at != NULL; at++) {
		struct kal_setting_now now = {.owner = "", .meaning = ""};
		char name[NAME_ROOM];
		const char *near;
		bool known = true;

		if (!our_name(*at, name, sizeof(name)))
			continue;
		near = nearest_variable(name, &known);
		if (known)
			continue;
		copy_text(now.name, sizeof(now.name), name);
		copy_text(now.origin, sizeof(now.origin), "environment");
		(void)snprintf(now.trouble, sizeof(now.trouble), "nobody reads this variable%s%s%s",
			       near != NULL ? "; did you mean " : "", near != NULL ? near : "",
			       near != NULL ? "?" : "");
		listing->each(listing->arg, &now);
	}
}

/* What the file says, and whether it can be used: the same reader decides that for a client. */
static enum ri_status
read_file(struct listing *listing)
{
	struct kal_config *config = NULL;
	const char *system = kal_config_system_path();
	const char *user = kal_setting_text(KAL_SETTING_CONFIG);
	struct kal_why why = {""};
	enum ri_status status;

	listing->said.end = &listing->said.first;
	status = kal_config_load(system, user, &config, &why);
	if (status == RI_SUCCESS)
		kal_config_free(config);
	else
		(void)snprintf(listing->config_trouble, sizeof(listing->config_trouble),
			       "no adapter can be opened: %s", why.text);
	if (status == RI_ERR_RESOURCES)
		return status;
	/* The lines before a mistake are shown all the same. */
	listing->said.path = system;
	status = system != NULL ? kal_config_read(system, say_line, &listing->said, NULL)
				: RI_SUCCESS;
	listing->said.path = user;
	if (status != RI_ERR_RESOURCES && user != NULL)
		status = kal_config_read(user, say_line, &listing->said, NULL);
	return status == RI_ERR_RESOURCES ? status : RI_SUCCESS;
}

enum ri_status
kal_settings_list(void (*each)(void *arg, const struct kal_setting_now *now), void *arg)
{
	struct listing listing = {.each = each, .arg = arg};
	enum ri_status status = kal_providers_load(kal_host_here());
	struct cursor cursor = {.provider = 1};
	const struct kal_config_key *key;

	if (status == RI_SUCCESS)
		status = read_file(&listing);
	for (unsigned i = 0; status == RI_SUCCESS && i < KAL_SETTING_COUNT; i++)
		list_variable(&listing, OWN, kal_setting((enum kal_setting_id)i));
	for (unsigned i = 0; status == RI_SUCCESS && (key = kal_config_key(i)) != NULL; i++) {
		if (key->row.name != NULL)
			list_key(&listing, key);
		else
			list_named(&listing, key);
	}
	while (status == RI_SUCCESS && next_variable(&cursor))
		list_variable(&listing, cursor.owner, &cursor.setting);
	if (status == RI_SUCCESS)
		list_unknown(&listing);
	forget_lines(&listing.said);
	return status;
}
