/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What an administrator may decide, read from the key file that ITAPI_CONFIG names when a client is
 * opened; without it the defaults hold. All groups and keys are optional:
 *
 *     [aliases]                     names under which adapters can be opened too
 *     OpenIB-cma = iwarp
 *     [mpa]
 *     crc = true                    ask for CRC in FPDUs
 *     fall-back = true              to revision 1, for peers that hang up on revision 2
 *     convert-timeout = 120         seconds for the start-up on a converted socket, at least 1
 *     [compat]
 *     disconnect-data = refuse      or drop: private data that no disconnect can carry
 *     [policy]
 *     privileged-uids = 1000;1001   may do privileged operations without CAP_NET_ADMIN
 *     [limits.client]               also [limits.process], [limits.user]
 *     qp = 100                      rnic, pd, cq, srq, qp, mr, mw, ah, listen; or "unlimited"
 *     memory = 1073741824           octets registered
 */
#ifndef KAL_CONFIG_H
#define KAL_CONFIG_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define KAL_CONFIG_VARIABLE        "ITAPI_CONFIG"
#define KAL_CONFIG_DISCONNECT_DATA "ITAPI_DISCONNECT_DATA" /* "drop": as the key */
#define KAL_UNLIMITED              UINT64_MAX

/* What is counted. */
enum kal_resource {
	KAL_RESOURCE_RNIC = 0,
	KAL_RESOURCE_PD,
	KAL_RESOURCE_CQ,
	KAL_RESOURCE_SRQ,
	KAL_RESOURCE_QP,
	KAL_RESOURCE_MR,
	KAL_RESOURCE_MW,
	KAL_RESOURCE_AH,
	KAL_RESOURCE_LISTEN,
	KAL_RESOURCE_MEMORY, /* octets */
	KAL_RESOURCE_COUNT
};

/* For whom. In this release a kAL sees one process, and of a user what this process has. */
enum kal_level {
	KAL_LEVEL_CLIENT = 0,
	KAL_LEVEL_PROCESS,
	KAL_LEVEL_USER,
	KAL_LEVEL_COUNT
};

struct kal_config {
	uint64_t limits[KAL_LEVEL_COUNT][KAL_RESOURCE_COUNT];
	bool crc;
	bool fall_back;
	uint64_t convert_s;
	bool drop_disconnect_data; /* also ITAPI_DISCONNECT_DATA=drop */
	bool privileged;           /* the user of this process is on the list */
	GHashTable *aliases;       /* alias -> adapter */
};

/* The file, or the defaults if `path` is NULL. NULL and an error in words: it cannot be used. */
struct kal_config *kal_config_load(const char *path, GError **error);
void kal_config_free(struct kal_config *config);
/* The adapter that a name means: the name itself unless it is an alias. */
const char *kal_config_adapter(const struct kal_config *config, const char *name);

#endif /* KAL_CONFIG_H */
