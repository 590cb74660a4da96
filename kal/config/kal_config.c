/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The settings of kal_config.h: first the default of each row of the table, then the file, then the variables
 * of the environment that decide instead of a key. The rows are in kal_config_keys.c, lines are taken apart in
 * kal_config_file.c.
 */
#include "kal_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kal_config_file.h"
#include "kal_config_keys.h"
#include "kal_settings.h"
#include "ri_calls.h"
#include "ri_fd.h"

/* A file that is being read. */
struct loading {
	struct kal_config *config;
	bool by_user; /* the file is one that the user of the process has chosen */
	bool decided[KAL_CONFIG_KEYS_MAX]; /* the administrator's file has the key */
	char text[256];                    /* what is wrong with the line */
};

/* Has the administrator given this name to an adapter? */
static bool
alias_exists(const struct kal_config *config, const char *name)
{
	const struct kal_alias *alias = config->aliases;

	while (alias != NULL && strcmp(alias->alias, name) != 0)
		alias = alias->next;
	return alias != NULL;
}

/* What the user's file says about a key that the administrator's file has: it may lower a limit, and nothing else. */
static enum kal_key_result
narrow(struct kal_config *config, const struct kal_config_key *key,
       const struct kal_config_line *line)
{
	struct kal_config wanted = *config;
	enum kal_key_result result;

	if (key->row.name == NULL)
		return KAL_KEY_SET;
	result = kal_config_key_set(&wanted, key, line);
	for (unsigned l = 0; l < KAL_LEVEL_COUNT; l++) {
		for (unsigned r = 0; r < KAL_RESOURCE_COUNT; r++) {
			if (wanted.limits[l][r] < config->limits[l][r])
				config->limits[l][r] = wanted.limits[l][r];
		}
	}
	return result;
}

static enum kal_key_result
set_key(struct loading *loading, const struct kal_config_key *key,
	const struct kal_config_line *line)
{
	bool *decided = &loading->decided[kal_config_key_index(key)];
	bool others = key->row.name == NULL && !alias_exists(loading->config, line->key);

	if (loading->by_user && *decided && !others)
		return narrow(loading->config, key, line);
	*decided = *decided || !loading->by_user;
	return kal_config_key_set(loading->config, key, line);
}

const char kal_config_system_file[] = KAL_SYSTEM_CONFIG;

const char *
kal_config_system_path(void)
{
	int fd;

	if (access(kal_config_system_file, F_OK) == 0)
		return kal_config_system_file;
	/* A sandbox may refuse one of the two calls. A file that is there and cannot be read is an error of its reader. */
	if (errno != ENOENT && errno != ENOTDIR) {
		fd = ri_fd_open(kal_config_system_file, O_PATH, 0);
		if (fd >= 0)
			ri_close(fd);
		if (fd >= 0 || (errno != ENOENT && errno != ENOTDIR))
			return kal_config_system_file;
	}
	return NULL;
}

/* NULL, or what is wrong. */
static const char *
set_line(void *arg, const struct kal_config_line *line)
{
	struct loading *loading = arg;
	const struct kal_config_key *key;
	char range[128];

	if (!kal_config_group_exists(line->group, loading->text, sizeof(loading->text)))
		return loading->text;
	if (line->key == NULL)
		return NULL;
	key = kal_config_key_of(line, loading->text, sizeof(loading->text));
	if (key == NULL)
		return loading->text;
	if (loading->by_user && key->administrator) {
		(void)snprintf(loading->text, sizeof(loading->text),
			       "only the administrator's file, %s, may have this key",
			       kal_config_system_file);
		return loading->text;
	}
	switch (set_key(loading, key, line)) {
	case KAL_KEY_SET:
		return NULL;
	case KAL_KEY_NO_MEMORY:
		return kal_config_no_memory;
	case KAL_KEY_BAD:
		break;
	}
	kal_setting_range(&key->row, range, sizeof(range));
	(void)snprintf(loading->text, sizeof(loading->text),
		       "'%.64s' is not allowed; allowed is %s", line->value, range);
	return loading->text;
}

/* A value that comes from the table: it is one that the row allows. */
static void
set_own(struct kal_config *config, const struct kal_config_key *key, const char *value)
{
	struct kal_config_line line = {.group = key->group, .key = key->row.name, .value = value};

	(void)!kal_config_key_set(config, key, &line);
}

enum ri_status
kal_config_load(const char *path, const char *user_path, struct kal_config **out,
		struct kal_why *why)
{
	struct loading loading = {.config = calloc(1, sizeof(*loading.config))};
	struct kal_config *config = loading.config;
	const struct kal_config_key *key;
	enum ri_status status = RI_SUCCESS;

	if (config == NULL)
		return RI_ERR_RESOURCES;
	for (unsigned i = 0; (key = kal_config_key(i)) != NULL; i++) {
		if (key->row.preset != NULL)
			set_own(config, key, key->row.preset);
	}
	if (path != NULL)
		status = kal_config_read(path, set_line, &loading, why);
	loading.by_user = true;
	if (status == RI_SUCCESS && user_path != NULL)
		status = kal_config_read(user_path, set_line, &loading, why);
	if (status != RI_SUCCESS) {
		kal_config_free(config);
		return status;
	}
	for (unsigned i = 0; (key = kal_config_key(i)) != NULL; i++) {
		if (kal_config_key_overridden(key) && !loading.decided[i])
			set_own(config, key, key->then);
	}
	*out = config;
	return RI_SUCCESS;
}

void
kal_config_free(struct kal_config *config)
{
	while (config->aliases != NULL) {
		struct kal_alias *next = config->aliases->next;

		free(config->aliases);
		config->aliases = next;
	}
	free(config);
}

const char *
kal_config_adapter(const struct kal_config *config, const char *name)
{
	const struct kal_alias *alias = config->aliases;

	while (alias != NULL && strcmp(alias->alias, name) != 0)
		alias = alias->next;
	return alias != NULL ? alias->adapter : name;
}
