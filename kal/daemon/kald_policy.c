/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kald_policy.h"

#include <arpa/inet.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/socket.h>

#include "kal_config_file.h"
#include "kald_net.h"
#include "ri_setting.h"

#define PROCESSES_DEFAULT 1024

/* To whom the rules of a group of the file apply. */
enum scope {
	FOR_ALL = 0,
	FOR_USER,
	FOR_GROUP
};

/* One key = value of the file. */
struct rule {
	bool is_limit;
	enum kald_level level; /* of a limit */
	unsigned key;          /* enum kald_key, or enum kal_resource of a limit */
	enum scope scope;
	uint32_t id; /* of the user or group */
	unsigned line;
	uint64_t number; /* of a limit, or of processes */
	char *group;
	char *value;
};

struct kald_policy {
	char *path;
	GPtrArray *
		rules; /* struct rule, in the order of the file; of two for the same the last holds */
	char text[256]; /* what is wrong with a line, while the file is read */
};

static const char *const resource_names[KAL_RESOURCE_COUNT] = {
	[KAL_RESOURCE_RNIC] = "rnic",     [KAL_RESOURCE_PD] = "pd",
	[KAL_RESOURCE_CQ] = "cq",         [KAL_RESOURCE_SRQ] = "srq",
	[KAL_RESOURCE_QP] = "qp",         [KAL_RESOURCE_MR] = "mr",
	[KAL_RESOURCE_MW] = "mw",         [KAL_RESOURCE_AH] = "ah",
	[KAL_RESOURCE_LISTEN] = "listen", [KAL_RESOURCE_MEMORY] = "memory",
};

/* --- values -------------------------------------------------------------------------------------------- */

/* The next part of a list that semicolons separate, without blanks around it; NULL: no more. */
static char *
list_next(const char **at)
{
	const char *end;
	char *part;

	if (**at == '\0')
		return NULL;
	end = *at + strcspn(*at, ";");
	part = g_strstrip(g_strndup(*at, (size_t)(end - *at)));
	*at = *end == ';' ? end + 1 : end;
	return part;
}

static bool
range_read(const char *text, uint64_t *low, uint64_t *high)
{
	g_auto(GStrv) ends = g_strsplit(text, "-", 2);

	if (ends[0] == NULL || !ri_setting_digits(ends[0], 1, UINT16_MAX, low))
		return false;
	*high = *low;
	return ends[1] == NULL || ri_setting_digits(ends[1], *low, UINT16_MAX, high);
}

/* Is the port in the list? False, too, if the list cannot be read: *valid. */
static bool
ports_have(const char *list, uint16_t port, bool *valid)
{
	bool found = false;
	char *part;

	*valid = true;
	while ((part = list_next(&list)) != NULL) {
		uint64_t low = 0, high = 0;

		if (!range_read(part, &low, &high))
			*valid = false;
		else
			found = found || (port >= low && port <= high);
		g_free(part);
	}
	return found && *valid;
}

/* The number of networks, or -1: one cannot be read, or there are too many. */
static int
nets_read(const char *list, struct kald_net *nets)
{
	int count = 0;
	char *part;

	while ((part = list_next(&list)) != NULL) {
		bool good = count < KALD_NETS_MAX && kald_net_read(part, &nets[count]);

		g_free(part);
		if (!good)
			return -1;
		count++;
	}
	return count;
}

/* NULL, or what the key may have. */
static const char *
value_trouble(enum kald_key key, const char *value, uint64_t *number)
{
	struct kald_net nets[KALD_NETS_MAX];
	bool valid = true;

	switch (key) {
	case KALD_KEY_ADAPTERS:
		return NULL;
	case KALD_KEY_PORTS:
	case KALD_KEY_GRANT_PORTS:
		(void)ports_have(value, 1, &valid);
		return valid ? NULL : "ports and ranges from 1 to 65535, separated by semicolons";
	case KALD_KEY_PEERS:
		return nets_read(value, nets) >= 0
			       ? NULL
			       : "at most 48 networks such as 10.0.0.0/8, separated by semicolons";
	case KALD_KEY_DIAL:
	case KALD_KEY_PRIVILEGED:
	case KALD_KEY_CRC:
		return ri_setting_is_word("true|false", value) ? NULL : "true or false";
	case KALD_KEY_PROCESSES:
		return ri_setting_digits(value, 0, UINT32_MAX, number) ? NULL : "a number";
	case KALD_KEY_COUNT:
	default:
		return "nothing";
	}
}

static const struct {
	const char *name;
	const char *preset;
} keys[KALD_KEY_COUNT] = {
	[KALD_KEY_ADAPTERS] = {"adapters", "*"},
	[KALD_KEY_PORTS] = {"ports", "1-65535"},
	[KALD_KEY_GRANT_PORTS] = {"grant-ports", ""},
	[KALD_KEY_PEERS] = {"peers", "0.0.0.0/0;::/0"},
	[KALD_KEY_DIAL] = {"dial", "false"},
	[KALD_KEY_PRIVILEGED] = {"privileged", "false"},
	[KALD_KEY_CRC] = {"crc", "false"},
	[KALD_KEY_PROCESSES] = {"processes", G_STRINGIFY(PROCESSES_DEFAULT)},
};

/* --- reading ------------------------------------------------------------------------------------------- */

/* A user or a group, by name or by number. NULL, or what is wrong. */
static const char *
id_read(const char *name, enum scope scope, uint32_t *id)
{
	uint64_t number;

	if (ri_setting_digits(name, 0, UINT32_MAX - 1, &number)) {
		*id = (uint32_t)number;
		return NULL;
	}
	if (scope == FOR_USER) {
		const struct passwd *user = getpwnam(name);

		*id = user != NULL ? user->pw_uid : 0;
		return user != NULL ? NULL : "this host has no user of that name";
	}
	const struct group *group = getgrnam(name);

	*id = group != NULL ? group->gr_gid : 0;
	return group != NULL ? NULL : "this host has no group of users of that name";
}

/* Take the head of a group of rules apart: "policy user 1000". NULL, or what is wrong. */
static const char *
group_read(const char *text, struct rule *rule)
{
	static const char *const levels[KALD_LEVEL_COUNT] = {"limits.process", "limits.user",
							     "limits.group"};
	static const char none[] = "there is no such group of rules; kald(8) has all";
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	unsigned count = g_strv_length(words);

	if (count == 0)
		return none;
	for (unsigned level = 0; level < KALD_LEVEL_COUNT; level++) {
		if (strcmp(words[0], levels[level]) != 0)
			continue;
		rule->is_limit = true;
		rule->level = (enum kald_level)level;
		if (count == 1)
			return NULL;
		rule->scope = level == KALD_LEVEL_USER ? FOR_USER : FOR_GROUP;
		return count == 2 && level != KALD_LEVEL_PROCESS
			       ? id_read(words[1], rule->scope, &rule->id)
			       : none;
	}
	if (strcmp(words[0], "policy") != 0)
		return none;
	if (count == 1)
		return NULL;
	rule->scope = strcmp(words[1], "user") == 0 ? FOR_USER : FOR_GROUP;
	return count == 3 && (rule->scope == FOR_USER || strcmp(words[1], "group") == 0)
		       ? id_read(words[2], rule->scope, &rule->id)
		       : none;
}

/* NULL, or what is wrong. */
static const char *
limit_read(struct kald_policy *policy, const struct kal_config_line *line, struct rule *rule)
{
	rule->key = 0;
	while (rule->key < KAL_RESOURCE_COUNT && strcmp(resource_names[rule->key], line->key) != 0)
		rule->key++;
	if (rule->key == KAL_RESOURCE_COUNT)
		return "there is no such key";
	rule->number = KAL_UNLIMITED;
	if (strcmp(line->value, "unlimited") == 0 ||
	    ri_setting_digits(line->value, 0, UINT64_MAX, &rule->number))
		return NULL;
	(void)snprintf(policy->text, sizeof(policy->text),
		       "'%.64s' is not allowed; allowed is a number, or unlimited", line->value);
	return policy->text;
}

static const char *
key_read(struct kald_policy *policy, const struct kal_config_line *line, struct rule *rule)
{
	const char *allowed;

	rule->key = 0;
	while (rule->key < KALD_KEY_COUNT && strcmp(keys[rule->key].name, line->key) != 0)
		rule->key++;
	if (rule->key == KALD_KEY_COUNT)
		return "there is no such key";
	allowed = value_trouble((enum kald_key)rule->key, line->value, &rule->number);
	if (allowed == NULL)
		return NULL;
	(void)snprintf(policy->text, sizeof(policy->text), "'%.64s' is not allowed; allowed is %s",
		       line->value, allowed);
	return policy->text;
}

static const char *
set_line(void *arg, const struct kal_config_line *line)
{
	struct kald_policy *policy = arg;
	struct rule found = {.line = line->number};
	const char *trouble = group_read(line->group, &found);

	if (trouble != NULL)
		return trouble;
	if (line->key == NULL)
		return NULL;
	trouble =
		found.is_limit ? limit_read(policy, line, &found) : key_read(policy, line, &found);
	if (trouble != NULL)
		return trouble;
	found.group = g_strdup(line->group);
	found.value = g_strdup(line->value);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): `trouble` may be text of the policy, so that one is taken for NULL, too */
	g_ptr_array_add(policy->rules, g_memdup2(&found, sizeof(found)));
	return NULL;
}

static void
rule_free(void *arg)
{
	struct rule *rule = arg;

	g_free(rule->group);
	g_free(rule->value);
	g_free(rule);
}

struct kald_policy *
kald_policy_load(const char *path, struct kal_why *why)
{
	struct kald_policy *policy = g_new0(struct kald_policy, 1);

	policy->path = g_strdup(path != NULL ? path : "");
	policy->rules = g_ptr_array_new_with_free_func(rule_free);
	if (path == NULL || kal_config_read(path, set_line, policy, why) == RI_SUCCESS)
		return policy;
	kald_policy_free(policy);
	return NULL;
}

void
kald_policy_free(struct kald_policy *policy)
{
	if (policy == NULL)
		return;
	g_ptr_array_free(policy->rules, TRUE);
	g_free(policy->path);
	g_free(policy);
}

/* --- what holds ---------------------------------------------------------------------------------------- */

/* The last rule for the user, else for the group, else for all; NULL: none. */
static const struct rule *
rule_find(const struct kald_policy *policy, const struct rule *like, struct kald_who who)
{
	const struct rule *best = NULL;
	int best_rank = 0;

	for (unsigned i = 0; i < policy->rules->len; i++) {
		const struct rule *rule = g_ptr_array_index(policy->rules, i);
		int rank = rule->scope == FOR_USER ? 3 : rule->scope == FOR_GROUP ? 2 : 1;
		bool mine = rule->scope == FOR_ALL ||
			    (rule->scope == FOR_USER ? rule->id == who.uid : rule->id == who.gid);

		if (rule->is_limit != like->is_limit || rule->key != like->key ||
		    (rule->is_limit && rule->level != like->level) || !mine || rank < best_rank)
			continue;
		best = rule;
		best_rank = rank;
	}
	return best;
}

static const struct rule *
limit_find(const struct kald_policy *policy, const struct kald_account *account, unsigned resource)
{
	const struct rule like = {.is_limit = true, .level = account->level, .key = resource};
	const struct kald_who who = {.uid = account->id, .gid = account->id};

	return rule_find(policy, &like, who);
}

void
kald_policy_limits(const struct kald_policy *policy, struct kald_account *account)
{
	for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++) {
		const struct rule *rule = limit_find(policy, account, resource);

		account->limits[resource] = rule != NULL ? rule->number : KAL_UNLIMITED;
	}
}

static void
rule_text(const struct kald_policy *policy, const struct rule *rule, const char *name, char *text,
	  size_t room)
{
	(void)snprintf(text, room, "[%.40s] %s = %.64s (%.80s:%u)", rule->group, name, rule->value,
		       policy->path, rule->line);
}

void
kald_policy_limit_rule(const struct kald_policy *policy, const struct kald_account *account,
		       enum kal_resource resource, char *text, size_t room)
{
	const struct rule *rule = limit_find(policy, account, resource);

	if (rule != NULL)
		rule_text(policy, rule, resource_names[resource], text, room);
	else
		(void)snprintf(text, room, "%s: no number is larger", resource_names[resource]);
}

static const struct rule *
key_find(const struct kald_policy *policy, enum kald_key key, struct kald_who who)
{
	const struct rule like = {.key = key};

	return rule_find(policy, &like, who);
}

static const char *
value_find(const struct kald_policy *policy, enum kald_key key, struct kald_who who)
{
	const struct rule *rule = key_find(policy, key, who);

	return rule != NULL ? rule->value : keys[key].preset;
}

void
kald_policy_rule(const struct kald_policy *policy, enum kald_key key, struct kald_who who,
		 char *text, size_t room)
{
	const struct rule *rule = key_find(policy, key, who);

	if (rule != NULL)
		rule_text(policy, rule, keys[key].name, text, room);
	else
		(void)snprintf(text, room, "%s = %s, the default", keys[key].name,
			       keys[key].preset);
}

bool
kald_policy_adapter(const struct kald_policy *policy, struct kald_who who, const char *name)
{
	const char *list = value_find(policy, KALD_KEY_ADAPTERS, who);
	bool found = false;
	char *part;

	while ((part = list_next(&list)) != NULL) {
		found = found || g_pattern_match_simple(part, name);
		g_free(part);
	}
	return found;
}

bool
kald_policy_port(const struct kald_policy *policy, enum kald_key key, struct kald_who who,
		 uint16_t port)
{
	bool valid;

	return ports_have(value_find(policy, key, who), port, &valid);
}

bool
kald_policy_nets(const struct kald_policy *policy, struct kald_who who,
		 struct kald_net nets[KALD_NETS_MAX], uint32_t *count)
{
	const struct rule *rule = key_find(policy, KALD_KEY_PEERS, who);

	*count = 0;
	if (rule == NULL)
		return false;
	*count = (uint32_t)MAX(nets_read(rule->value, nets), 0);
	return true;
}

bool
kald_policy_peer(const struct kald_policy *policy, struct kald_who who,
		 const struct kald_addr *peer)
{
	struct kald_net nets[KALD_NETS_MAX];
	uint32_t count;

	return !kald_policy_nets(policy, who, nets, &count) ||
	       kald_nets_have(nets, count, (uint8_t)peer->family, peer->octets);
}

bool
kald_policy_flag(const struct kald_policy *policy, enum kald_key key, struct kald_who who)
{
	return strcmp(value_find(policy, key, who), "true") == 0;
}

uint64_t
kald_policy_processes(const struct kald_policy *policy, struct kald_who who)
{
	const struct rule *rule = key_find(policy, KALD_KEY_PROCESSES, who);

	return rule != NULL ? rule->number : PROCESSES_DEFAULT;
}
