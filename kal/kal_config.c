/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The key file of kal_config.h. A group or key that nobody knows is an error, since a limit with a
 * typing mistake in its name would be no limit.
 */

#include "kal_config.h"

#include <string.h>
#include <unistd.h>

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

static gboolean
bad_value(GError **error, const char *group, const char *key, const char *what)
{
	g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_INVALID_VALUE, "[%s] %s: %s", group,
		    key, what);
	return FALSE;
}

static gboolean
read_limit(GKeyFile *file, const char *group, const char *key, uint64_t *limits, GError **error)
{
	g_autofree char *text = g_key_file_get_string(file, group, key, error);
	int resource = 0;
	guint64 value;

	if (text == NULL)
		return FALSE;
	while (resource < KAL_RESOURCE_COUNT && strcmp(resource_names[resource], key) != 0)
		resource++;
	if (resource == KAL_RESOURCE_COUNT)
		return bad_value(error, group, key, "there is no such limit");
	if (strcmp(text, "unlimited") == 0)
		value = KAL_UNLIMITED;
	else if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, &value, NULL))
		return bad_value(error, group, key, "is neither a number nor \"unlimited\"");
	limits[resource] = value;
	return TRUE;
}

static gboolean
read_alias(GKeyFile *file, const char *group, const char *key, struct kal_config *config,
	   GError **error)
{
	char *adapter = g_key_file_get_string(file, group, key, error);

	if (adapter == NULL)
		return FALSE;
	g_hash_table_replace(config->aliases, g_strdup(key), adapter);
	return TRUE;
}

static gboolean
read_convert_timeout(GKeyFile *file, const char *group, const char *key, struct kal_config *config,
		     GError **error)
{
	g_autofree char *text = g_key_file_get_string(file, group, key, error);
	guint64 value;

	if (text == NULL)
		return FALSE;
	if (!g_ascii_string_to_unsigned(text, 10, 1, CONVERT_MAX, &value, NULL))
		return bad_value(error, group, key, "is no number of seconds");
	config->convert_s = value;
	return TRUE;
}

static gboolean
read_mpa(GKeyFile *file, const char *group, const char *key, struct kal_config *config,
	 GError **error)
{
	GError *problem = NULL;

	if (strcmp(key, "convert-timeout") == 0)
		return read_convert_timeout(file, group, key, config, error);
	if (strcmp(key, "crc") == 0)
		config->crc = g_key_file_get_boolean(file, group, key, &problem);
	else if (strcmp(key, "fall-back") == 0)
		config->fall_back = g_key_file_get_boolean(file, group, key, &problem);
	else
		return bad_value(error, group, key, "there is no such key");
	if (problem == NULL)
		return TRUE;
	g_propagate_error(error, problem);
	return FALSE;
}

/* For programs that were written against a stack which dropped it silently. */
static gboolean
read_compat(GKeyFile *file, const char *group, const char *key, struct kal_config *config,
	    GError **error)
{
	g_autofree char *text = NULL;

	if (strcmp(key, "disconnect-data") != 0)
		return bad_value(error, group, key, "there is no such key");
	text = g_key_file_get_string(file, group, key, error);
	if (text == NULL)
		return FALSE;
	if (strcmp(text, "drop") != 0 && strcmp(text, "refuse") != 0)
		return bad_value(error, group, key, "is neither \"drop\" nor \"refuse\"");
	config->drop_disconnect_data = strcmp(text, "drop") == 0;
	return TRUE;
}

static gboolean
read_policy(GKeyFile *file, const char *group, const char *key, struct kal_config *config,
	    GError **error)
{
	g_autofree gint *uids = NULL;
	GError *problem = NULL;
	gsize count = 0;

	if (strcmp(key, "privileged-uids") != 0)
		return bad_value(error, group, key, "there is no such key");
	uids = g_key_file_get_integer_list(file, group, key, &count, &problem);
	for (gsize i = 0; uids != NULL && i < count; i++)
		config->privileged |= uids[i] >= 0 && (uid_t)uids[i] == getuid();
	if (problem == NULL)
		return TRUE;
	g_propagate_error(error, problem);
	return FALSE;
}

static gboolean
read_key(GKeyFile *file, const char *group, const char *key, struct kal_config *config,
	 GError **error)
{
	static const char *const limit_groups[KAL_LEVEL_COUNT] = {"limits.client", "limits.process",
								  "limits.user"};

	for (int level = 0; level < KAL_LEVEL_COUNT; level++) {
		if (strcmp(group, limit_groups[level]) == 0)
			return read_limit(file, group, key, config->limits[level], error);
	}
	if (strcmp(group, "aliases") == 0)
		return read_alias(file, group, key, config, error);
	if (strcmp(group, "mpa") == 0)
		return read_mpa(file, group, key, config, error);
	if (strcmp(group, "compat") == 0)
		return read_compat(file, group, key, config, error);
	if (strcmp(group, "policy") == 0)
		return read_policy(file, group, key, config, error);
	return bad_value(error, group, key, "there is no such group");
}

static gboolean
read_group(GKeyFile *file, const char *group, struct kal_config *config, GError **error)
{
	g_auto(GStrv) keys = g_key_file_get_keys(file, group, NULL, error);
	gboolean good = keys != NULL;

	for (int i = 0; good && keys[i] != NULL; i++)
		good = read_key(file, group, keys[i], config, error);
	return good;
}

static gboolean
read_file(const char *path, struct kal_config *config, GError **error)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_auto(GStrv) groups = NULL;
	gboolean good = g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, error);

	groups = g_key_file_get_groups(file, NULL);
	for (int i = 0; good && groups[i] != NULL; i++)
		good = read_group(file, groups[i], config, error);
	if (!good)
		g_prefix_error(error, "%s: ", path);
	return good;
}

struct kal_config *
kal_config_load(const char *path, GError **error)
{
	struct kal_config *config = g_new0(struct kal_config, 1);

	config->crc = true;
	config->fall_back = true;
	config->convert_s = CONVERT_DEFAULT;
	config->aliases = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	memset(config->limits, 0xff, sizeof(config->limits));
	memcpy(config->limits[KAL_LEVEL_CLIENT], client_defaults, sizeof(client_defaults));
	if (path != NULL && !read_file(path, config, error)) {
		kal_config_free(config);
		return NULL;
	}
	if (g_strcmp0(g_getenv(KAL_CONFIG_DISCONNECT_DATA), "drop") == 0)
		config->drop_disconnect_data = true;
	return config;
}

void
kal_config_free(struct kal_config *config)
{
	g_hash_table_destroy(config->aliases);
	g_free(config);
}

const char *
kal_config_adapter(const struct kal_config *config, const char *name)
{
	const char *adapter = g_hash_table_lookup(config->aliases, name);

	return adapter != NULL ? adapter : name;
}
