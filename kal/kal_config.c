/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The file of kal_config.h: what its groups and keys mean. Lines are taken apart in kal_config_file.c.
 */
#include "kal_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kal_config_file.h"

#define CONVERT_DEFAULT 120   /* seconds */
#define CONVERT_MAX     86400 /* a day */

static const char *const resource_names[KAL_RESOURCE_COUNT] = {
	[KAL_RESOURCE_RNIC] = "rnic",     [KAL_RESOURCE_PD] = "pd",
	[KAL_RESOURCE_CQ] = "cq",         [KAL_RESOURCE_SRQ] = "srq",
	[KAL_RESOURCE_QP] = "qp",         [KAL_RESOURCE_MR] = "mr",
	[KAL_RESOURCE_MW] = "mw",         [KAL_RESOURCE_AH] = "ah",
	[KAL_RESOURCE_LISTEN] = "listen", [KAL_RESOURCE_MEMORY] = "memory",
};

/* Of one client. They keep a program that runs away from taking the machine with it. */
static const uint64_t client_defaults[KAL_RESOURCE_COUNT] = {
	[KAL_RESOURCE_RNIC] = 256,     [KAL_RESOURCE_PD] = 16384,
	[KAL_RESOURCE_CQ] = 65536,     [KAL_RESOURCE_SRQ] = 16384,
	[KAL_RESOURCE_QP] = 65536,     [KAL_RESOURCE_MR] = 262144,
	[KAL_RESOURCE_MW] = 262144,    [KAL_RESOURCE_AH] = 65536,
	[KAL_RESOURCE_LISTEN] = 16384, [KAL_RESOURCE_MEMORY] = KAL_UNLIMITED,
};

/* A key may be set so, or what is wrong with it. */
typedef const char *(*key_fn)(struct kal_config *config, const struct kal_config_line *line);

static const char no_such_key[] = "there is no such key";

/* Decimal digits and nothing else, up to `max`. */
static bool
number(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		uint64_t digit = (uint64_t)(unsigned char)*text - '0';

		if (digit > 9 || value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return true;
}

static const char *
set_limit(uint64_t *limits, const struct kal_config_line *line)
{
	int resource = 0;
	uint64_t value = KAL_UNLIMITED;

	while (resource < KAL_RESOURCE_COUNT && strcmp(resource_names[resource], line->key) != 0)
		resource++;
	if (resource == KAL_RESOURCE_COUNT)
		return "there is no such limit";
	if (strcmp(line->value, "unlimited") != 0 && !number(line->value, UINT64_MAX, &value))
		return "is neither a number nor \"unlimited\"";
	limits[resource] = value;
	return NULL;
}

static const char *
set_client_limit(struct kal_config *config, const struct kal_config_line *line)
{
	return set_limit(config->limits[KAL_LEVEL_CLIENT], line);
}

static const char *
set_process_limit(struct kal_config *config, const struct kal_config_line *line)
{
	return set_limit(config->limits[KAL_LEVEL_PROCESS], line);
}

static const char *
set_user_limit(struct kal_config *config, const struct kal_config_line *line)
{
	return set_limit(config->limits[KAL_LEVEL_USER], line);
}

static const char *
set_alias(struct kal_config *config, const struct kal_config_line *line)
{
	struct kal_alias **link = &config->aliases;

	if (line->value[0] == '\0' || strlen(line->value) >= sizeof((*link)->adapter) ||
	    strlen(line->key) >= sizeof((*link)->alias))
		return "a name has 1 to 63 characters";
	while (*link != NULL && strcmp((*link)->alias, line->key) != 0)
		link = &(*link)->next;
	if (*link == NULL)
		*link = calloc(1, sizeof(**link));
	if (*link == NULL)
		return kal_config_no_memory;
	(void)snprintf((*link)->alias, sizeof((*link)->alias), "%s", line->key);
	(void)snprintf((*link)->adapter, sizeof((*link)->adapter), "%s", line->value);
	return NULL;
}

static const char *
set_bool(bool *out, const char *value)
{
	bool yes = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;

	if (!yes && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
		return "is neither \"true\" nor \"false\"";
	*out = yes;
	return NULL;
}

static const char *
set_mpa(struct kal_config *config, const struct kal_config_line *line)
{
	uint64_t seconds;

	if (strcmp(line->key, "crc") == 0)
		return set_bool(&config->crc, line->value);
	if (strcmp(line->key, "fall-back") == 0)
		return set_bool(&config->fall_back, line->value);
	if (strcmp(line->key, "convert-timeout") != 0)
		return no_such_key;
	if (!number(line->value, CONVERT_MAX, &seconds) || seconds == 0)
		return "is no number of seconds from 1 to 86400";
	config->convert_s = seconds;
	return NULL;
}

/* For programs that were written against a stack which did it that way. */
static const char *
set_compat(struct kal_config *config, const struct kal_config_line *line)
{
	bool drop = strcmp(line->value, "drop") == 0;

	if (strcmp(line->key, "disconnect-data") == 0) {
		if (!drop && strcmp(line->value, "refuse") != 0)
			return "is neither \"drop\" nor \"refuse\"";
		config->drop_disconnect_data = drop;
	} else if (strcmp(line->key, "broken-connection-events") == 0) {
		if (!drop && strcmp(line->value, "raise") != 0)
			return "is neither \"drop\" nor \"raise\"";
		config->drop_broken_events = drop;
	} else {
		return no_such_key;
	}
	return NULL;
}

/* The value is read in place: one user after the other. */
static const char *
set_policy(struct kal_config *config, const struct kal_config_line *line)
{
	char *at = line->value;

	if (strcmp(line->key, "privileged-uids") != 0)
		return no_such_key;
	while (*at != '\0') {
		char *end = at + strcspn(at, ";");
		bool last = *end == '\0';
		uint64_t uid;

		*end = '\0';
		at += strspn(at, " ");
		/* The highest number means "no user". */
		if (!number(at, UINT32_MAX - 1, &uid))
			return "is no list of user numbers";
		config->privileged |= uid == getuid();
		at = last ? end : end + 1;
	}
	return NULL;
}

static key_fn
group_of(const char *name)
{
	static const struct {
		const char *name;
		key_fn set;
	} groups[] = {
		{"aliases", set_alias},
		{"mpa", set_mpa},
		{"compat", set_compat},
		{"policy", set_policy},
		{"limits.client", set_client_limit},
		{"limits.process", set_process_limit},
		{"limits.user", set_user_limit},
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (strcmp(groups[i].name, name) == 0)
			return groups[i].set;
	}
	return NULL;
}

static const char *
set_line(void *arg, const struct kal_config_line *line)
{
	key_fn set = group_of(line->group);

	if (set == NULL)
		return "there is no such group";
	return line->key != NULL ? set(arg, line) : NULL;
}

enum ri_status
kal_config_load(const char *path, struct kal_config **out, struct kal_why *why)
{
	struct kal_config *config = calloc(1, sizeof(*config));
	const char *drop = secure_getenv(KAL_CONFIG_DISCONNECT_DATA);
	enum ri_status status = RI_SUCCESS;

	if (config == NULL)
		return RI_ERR_RESOURCES;
	config->crc = true;
	config->fall_back = true;
	config->convert_s = CONVERT_DEFAULT;
	memset(config->limits, 0xff, sizeof(config->limits));
	memcpy(config->limits[KAL_LEVEL_CLIENT], client_defaults, sizeof(client_defaults));
	if (path != NULL)
		status = kal_config_read(path, set_line, config, why);
	if (status != RI_SUCCESS) {
		kal_config_free(config);
		return status;
	}
	if (drop != NULL && strcmp(drop, "drop") == 0)
		config->drop_disconnect_data = true;
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
