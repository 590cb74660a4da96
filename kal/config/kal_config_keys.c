/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_config_keys.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kal_near.h"
#include "ri_setting.h"

static enum kal_key_result
set_limit(struct kal_config *config, const struct kal_config_key *key,
	  const struct kal_config_line *line)
{
	uint64_t value = KAL_UNLIMITED;

	if (strcmp(line->value, "unlimited") != 0 &&
	    !ri_setting_digits(line->value, 0, UINT64_MAX, &value))
		return KAL_KEY_BAD;
	config->limits[key->level][key->resource] = value;
	return KAL_KEY_SET;
}

static enum kal_key_result
set_alias(struct kal_config *config, const struct kal_config_key *key,
	  const struct kal_config_line *line)
{
	struct kal_alias **link = &config->aliases;

	(void)key;
	if (line->value[0] == '\0' || strlen(line->value) >= sizeof((*link)->adapter) ||
	    strlen(line->key) >= sizeof((*link)->alias))
		return KAL_KEY_BAD;
	while (*link != NULL && strcmp((*link)->alias, line->key) != 0)
		link = &(*link)->next;
	if (*link == NULL)
		*link = calloc(1, sizeof(**link));
	if (*link == NULL)
		return KAL_KEY_NO_MEMORY;
	(void)snprintf((*link)->alias, sizeof((*link)->alias), "%s", line->key);
	(void)snprintf((*link)->adapter, sizeof((*link)->adapter), "%s", line->value);
	return KAL_KEY_SET;
}

static bool
is_true(const struct kal_config_line *line)
{
	return strcmp(line->value, "true") == 0 || strcmp(line->value, "1") == 0;
}

static enum kal_key_result
set_flag(struct kal_config *config, const struct kal_config_key *key,
	 const struct kal_config_line *line)
{
	*((bool *)((char *)config + key->flag)) = is_true(line);
	return KAL_KEY_SET;
}

static enum kal_key_result
set_markers(struct kal_config *config, const struct kal_config_key *key,
	    const struct kal_config_line *line)
{
	(void)key;
	config->markers_tx = strcmp(line->value, "refuse") != 0;
	config->markers_rx = strcmp(line->value, "ask") == 0;
	return KAL_KEY_SET;
}

static enum kal_key_result
set_suppressed_depths(struct kal_config *config, const struct kal_config_key *key,
		      const struct kal_config_line *line)
{
	(void)key;
	config->echo_depths = strcmp(line->value, "echo") == 0;
	return KAL_KEY_SET;
}

static enum kal_key_result
set_number(struct kal_config *config, const struct kal_config_key *key,
	   const struct kal_config_line *line)
{
	uint64_t *number = (uint64_t *)(void *)((char *)config + key->number);

	return ri_setting_digits(line->value, key->row.min, key->row.max, number) ? KAL_KEY_SET
										  : KAL_KEY_BAD;
}

static enum kal_key_result
set_disconnect_data(struct kal_config *config, const struct kal_config_key *key,
		    const struct kal_config_line *line)
{
	(void)key;
	config->drop_disconnect_data = strcmp(line->value, "drop") == 0;
	return KAL_KEY_SET;
}

static enum kal_key_result
set_broken_events(struct kal_config *config, const struct kal_config_key *key,
		  const struct kal_config_line *line)
{
	(void)key;
	config->drop_broken_events = strcmp(line->value, "drop") == 0;
	return KAL_KEY_SET;
}

/* User numbers, separated by semicolons; blanks before a number do not count. The highest means "no user". */
static enum kal_key_result
set_privileged(struct kal_config *config, const struct kal_config_key *key,
	       const struct kal_config_line *line)
{
	const char *at = line->value;
	bool listed = false;

	(void)key;
	while (*at != '\0') {
		char digits[16];
		uint64_t uid;
		size_t length;

		at += strspn(at, " ");
		length = strcspn(at, ";");
		if (length >= sizeof(digits))
			return KAL_KEY_BAD;
		memcpy(digits, at, length);
		digits[length] = '\0';
		if (!ri_setting_digits(digits, 0, UINT32_MAX - 1, &uid))
			return KAL_KEY_BAD;
		listed = listed || uid == getuid();
		at += length;
		at += *at == ';';
	}
	config->privileged = config->privileged || listed;
	return KAL_KEY_SET;
}

static enum kal_key_result
set_kald(struct kal_config *config, const struct kal_config_key *key,
	 const struct kal_config_line *line)
{
	(void)key;
	config->kald = strcmp(line->value, "require") == 0 ? KAL_KALD_REQUIRE
		       : strcmp(line->value, "auto") == 0  ? KAL_KALD_AUTO
							   : KAL_KALD_OFF;
	return KAL_KEY_SET;
}

/* Of one client there are defaults: they keep a program that runs away from taking the machine with it. */
#define LIMIT(level_, group_, resource_, key_, what_, preset_)                                   \
	{                                                                                        \
		.group = (group_), .set = set_limit, .level = (level_), .resource = (resource_), \
		.row = {.name = (key_),                                                          \
			.meaning = (what_),                                                      \
			.form = "a number, or unlimited",                                        \
			.preset = (preset_)},                                                    \
	}
#define LIMITS(resource_, key_, what_, preset_)                                             \
	LIMIT(KAL_LEVEL_CLIENT, "limits.client", resource_, key_,                           \
	      what_ " of one client, which is one open adapter", preset_),                  \
		LIMIT(KAL_LEVEL_PROCESS, "limits.process", resource_, key_,                 \
		      what_ " of one process", "unlimited"),                                \
		LIMIT(KAL_LEVEL_USER, "limits.user", resource_, key_, what_ " of one user", \
		      "unlimited")

static const struct kal_config_key keys[] = {
	{.group = "aliases",
	 .set = set_alias,
	 .row = {.meaning = "A further name, the key, under which an adapter can be opened",
		 .form = "the name of an adapter; both names have 1 to 63 characters"}},
	{.group = "mpa",
	 .set = set_flag,
	 .flag = offsetof(struct kal_config, crc),
	 .variable = KAL_SETTING_MPA_CRC,
	 .when = "off",
	 .then = "false",
	 .row = {.name = "crc",
		 .meaning = "Ask peers for a CRC in each FPDU",
		 .kind = RI_SETTING_WORD,
		 .form = "true|false|1|0",
		 .preset = "true"}},
	{.group = "mpa",
	 .set = set_markers,
	 .row = {.name = "markers",
		 .meaning = "What becomes of a peer that wants markers in the stream; ask: this "
			    "end wants them, too",
		 .kind = RI_SETTING_WORD,
		 .form = "refuse|allow|ask",
		 .preset = "allow"}},
	{.group = "mpa",
	 .set = set_flag,
	 .flag = offsetof(struct kal_config, fall_back),
	 .variable = KAL_SETTING_MPA_FALLBACK,
	 .when = "off",
	 .then = "false",
	 .row = {.name = "fall-back",
		 .meaning = "Connect again with MPA revision 1 if a peer hangs up on revision 2",
		 .kind = RI_SETTING_WORD,
		 .form = "true|false|1|0",
		 .preset = "true"}},
	{.group = "mpa",
	 .set = set_flag,
	 .flag = offsetof(struct kal_config, peer_to_peer),
	 .variable = KAL_SETTING_MPA_PEER_TO_PEER,
	 .when = "on",
	 .then = "true",
	 .row = {.name = "peer-to-peer",
		 .meaning = "Ask peers for peer-to-peer mode. With it, a process that is killed in "
			    "its first 30 ms can stop the RDMA connection manager of a peer with "
			    "Linux and siw, until that host is booted again [WIRE 14.2]",
		 .kind = RI_SETTING_WORD,
		 .form = "true|false|1|0",
		 .preset = "false"}},
	{.group = "mpa",
	 .set = set_suppressed_depths,
	 .row = {.name = "suppressed-depths",
		 .meaning = "What a Reply states where the application suppresses IRD and ORD: "
			    "the numbers of the peer, or that none are negotiated, which siw "
			    "refuses",
		 .kind = RI_SETTING_WORD,
		 .form = "echo|none",
		 .preset = "echo"}},
	{.group = "mpa",
	 .set = set_number,
	 .number = offsetof(struct kal_config, wake_ms),
	 .row = {.name = "wake-up",
		 .meaning = "How long after the start-up an initiator wakes a peer that may have "
			    "missed what came behind its Reply, or that waits for the first FPDU, "
			    "and in peer-to-peer mode how long it then waits before it ends a "
			    "stream on which nothing has come; 0: never",
		 .kind = RI_SETTING_NUMBER,
		 .max = 60000,
		 .unit = "ms",
		 .preset = "50"}},
	{.group = "mpa",
	 .set = set_number,
	 .number = offsetof(struct kal_config, convert_s),
	 .row = {.name = "convert-timeout",
		 .meaning = "How long the start-up on a converted socket may take",
		 .kind = RI_SETTING_NUMBER,
		 .min = 1,
		 .max = 86400,
		 .unit = "s",
		 .preset = "120"}},
	{.group = "tcp",
	 .set = set_number,
	 .number = offsetof(struct kal_config, keep_alive.idle_s),
	 .row = {.name = "keep-alive-idle",
		 .meaning = "How long a connection may be silent before its peer is probed; 0: "
			    "peers are not probed",
		 .kind = RI_SETTING_NUMBER,
		 .max = 32767,
		 .unit = "s",
		 .preset = "30"}},
	{.group = "tcp",
	 .set = set_number,
	 .number = offsetof(struct kal_config, keep_alive.interval_s),
	 .row = {.name = "keep-alive-interval",
		 .meaning = "The time between two probes",
		 .kind = RI_SETTING_NUMBER,
		 .min = 1,
		 .max = 32767,
		 .unit = "s",
		 .preset = "10"}},
	{.group = "tcp",
	 .set = set_number,
	 .number = offsetof(struct kal_config, keep_alive.count),
	 .row = {.name = "keep-alive-count",
		 .meaning = "After so many probes without an answer the connection is broken; "
			    "user-timeout decides instead, unless it is 0",
		 .kind = RI_SETTING_NUMBER,
		 .min = 1,
		 .max = 127,
		 .unit = "probes",
		 .preset = "3"}},
	{.group = "tcp",
	 .set = set_number,
	 .number = offsetof(struct kal_config, keep_alive.user_s),
	 .row = {.name = "user-timeout",
		 .meaning = "How long a peer may leave data unacknowledged, or take none, or not "
			    "answer probes; 0: as long as the kernel tries",
		 .kind = RI_SETTING_NUMBER,
		 .max = 86400,
		 .unit = "s",
		 .preset = "60"}},
	{.group = "compat",
	 .set = set_disconnect_data,
	 .variable = KAL_SETTING_DISCONNECT_DATA,
	 .when = "drop",
	 .then = "drop",
	 .row = {.name = "disconnect-data",
		 .meaning = "What becomes of private data that no disconnect can carry",
		 .kind = RI_SETTING_WORD,
		 .form = "refuse|drop",
		 .preset = "refuse"}},
	{.group = "compat",
	 .set = set_broken_events,
	 .row = {.name = "broken-connection-events",
		 .meaning = "drop: no asynchronous event tells why a connection broke, only its "
			    "end does",
		 .kind = RI_SETTING_WORD,
		 .form = "raise|drop",
		 .preset = "raise"}},
	{.group = "policy",
	 .set = set_privileged,
	 .administrator = true,
	 .row = {.name = "privileged-uids",
		 .meaning = "Users that may do privileged operations without CAP_NET_ADMIN",
		 .form = "user numbers, separated by semicolons"}},
	{.group = "policy",
	 .set = set_kald,
	 .administrator = true,
	 .row = {.name = "kald",
		 .meaning = "Whether processes of this host ask the daemon of the system, and "
			    "whether they open no adapter without it; ITAPI_KALD can only make "
			    "auto stricter then",
		 .kind = RI_SETTING_WORD,
		 .form = "off|auto|require"}},
	LIMITS(KAL_RESOURCE_RNIC, "rnic", "Adapters", "256"),
	LIMITS(KAL_RESOURCE_PD, "pd", "Protection zones", "16384"),
	LIMITS(KAL_RESOURCE_CQ, "cq", "Completion queues", "65536"),
	LIMITS(KAL_RESOURCE_SRQ, "srq", "Shared receive queues", "16384"),
	LIMITS(KAL_RESOURCE_QP, "qp", "Queue pairs", "65536"),
	LIMITS(KAL_RESOURCE_MR, "mr", "Memory regions", "262144"),
	LIMITS(KAL_RESOURCE_MW, "mw", "Memory windows", "262144"),
	LIMITS(KAL_RESOURCE_AH, "ah", "Address handles", "65536"),
	LIMITS(KAL_RESOURCE_LISTEN, "listen", "Listeners", "16384"),
	LIMITS(KAL_RESOURCE_MEMORY, "memory", "Bytes of registered memory", "unlimited"),
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

_Static_assert(KEYS <= KAL_CONFIG_KEYS_MAX, "a struct loading has room for all");

unsigned
kal_config_key_index(const struct kal_config_key *key)
{
	return (unsigned)(key - keys);
}

const struct kal_config_key *
kal_config_key(unsigned index)
{
	return index < KEYS ? &keys[index] : NULL;
}

static void
no_such(const char *kind, const struct kal_near *near, char *text, size_t room)
{
	(void)snprintf(text, room, "there is no such %s%s%s%s", kind,
		       near->best != NULL ? "; did you mean '" : "",
		       near->best != NULL ? near->best : "", near->best != NULL ? "'?" : "");
}

bool
kal_config_group_exists(const char *group, char *text, size_t room)
{
	struct kal_near near = {.word = group};

	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].group, group) == 0)
			return true;
		kal_near_try(&near, keys[i].group);
	}
	no_such("group", &near, text, room);
	return false;
}

const struct kal_config_key *
kal_config_key_of(const struct kal_config_line *line, char *text, size_t room)
{
	struct kal_near near = {.word = line->key};

	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].group, line->group) != 0)
			continue;
		if (keys[i].row.name == NULL || strcmp(keys[i].row.name, line->key) == 0)
			return &keys[i];
		kal_near_try(&near, keys[i].row.name);
	}
	no_such("key", &near, text, room);
	return NULL;
}

enum kal_key_result
kal_config_key_set(struct kal_config *config, const struct kal_config_key *key,
		   const struct kal_config_line *line)
{
	return ri_setting_allows(&key->row, line->value) ? key->set(config, key, line)
							 : KAL_KEY_BAD;
}

bool
kal_config_key_overridden(const struct kal_config_key *key)
{
	return key->when != NULL && strcmp(kal_setting_text(key->variable), key->when) == 0;
}
