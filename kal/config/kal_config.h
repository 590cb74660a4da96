/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What an administrator may decide, read from a key file at a fixed place (kal_config_system_file) when a client is
 * opened, and what the user of the process adds in the file that ITAPI_CONFIG names; without them the defaults hold. All groups and keys are optional; kal_config_keys.c has the table of
 * them, doc/configuration.md shows it:
 *
 *     [aliases]                     names under which adapters can be opened too
 *     OpenIB-cma = iwarp
 *     [mpa]
 *     crc = true                    ask for CRC in FPDUs
 *     markers = allow               refuse, allow or ask: markers between the octets of FPDUs
 *     fall-back = true              to revision 1, for peers that hang up on revision 2
 *     peer-to-peer = false          ask peers for peer-to-peer mode, with a ready-to-receive message
 *     suppressed-depths = echo      or none: what a Reply states where IRD and ORD are suppressed
 *     wake-up = 50                  ms until an initiator wakes a peer that missed the first FPDUs; 0: never
 *     convert-timeout = 120         seconds for the start-up on a converted socket, at least 1
 *     [tcp]
 *     keep-alive-idle = 30          seconds of silence before a peer is probed; 0: never
 *     keep-alive-interval = 10      seconds between probes
 *     keep-alive-count = 3          probes without an answer that end the connection
 *     user-timeout = 60             seconds that data may stay unacknowledged; 0: as the kernel decides
 *     [compat]
 *     disconnect-data = refuse      or drop: private data that no disconnect can carry
 *     broken-connection-events = raise  or drop: no asynchronous event reports why a connection broke, only its end is reported
 *     [policy]
 *     privileged-uids = 1000;1001   may do privileged operations without CAP_NET_ADMIN
 *     kald = off                    or auto, require: whether processes ask the daemon, and need it
 *     [limits.client]               also [limits.process], [limits.user]
 *     qp = 100                      rnic, pd, cq, srq, qp, mr, mw, ah, listen; or "unlimited"
 *     memory = 1073741824           bytes registered
 *
 * A line is a [group], "key = value", a comment that begins with '#', or empty. Blanks around keys and values are
 * ignored; in a value \s, \n, \t, \r and \\ mean a space, a new line, a tab, a return and a backslash. Any other line,
 * escape, group or key is an error, reported with its line, since a limit whose name is misspelt would not limit
 * anything. If two lines have the same key, the last one is used. The variables ITAPI_MPA_CRC, ITAPI_MPA_FALLBACK,
 * ITAPI_MPA_PEER_TO_PEER and ITAPI_DISCONNECT_DATA decide instead of the user's file.
 */
#ifndef KAL_CONFIG_H
#define KAL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "rnicpi_types.h"

#define KAL_UNLIMITED UINT64_MAX

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
	KAL_RESOURCE_MEMORY, /* bytes */
	KAL_RESOURCE_COUNT
};

/* For whom. In this release a kAL sees one process, and of a user what this process has. */
enum kal_level {
	KAL_LEVEL_CLIENT = 0,
	KAL_LEVEL_PROCESS,
	KAL_LEVEL_USER,
	KAL_LEVEL_COUNT
};

/* Whether processes of this host ask the daemon. */
enum kal_kald {
	KAL_KALD_OPEN = 0, /* not decided: ITAPI_KALD says it */
	KAL_KALD_OFF,
	KAL_KALD_AUTO,
	KAL_KALD_REQUIRE
};

/* Another name of an adapter. */
struct kal_alias {
	struct kal_alias *next;
	char alias[64];
	char adapter[64];
};

/* How the host's TCP notices a peer that has vanished. */
struct kal_keep_alive {
	uint64_t idle_s; /* silence before the first probe; 0: no probes */
	uint64_t interval_s;
	uint64_t count;
	uint64_t
		user_s; /* for data that the peer does not acknowledge; 0: as long as the kernel tries */
};

/* Why a file cannot be used. */
struct kal_why {
	char text[512]; /* cut if it is longer */
};

struct kal_config {
	uint64_t limits[KAL_LEVEL_COUNT][KAL_RESOURCE_COUNT];
	bool crc;
	bool markers_tx; /* send markers to peers that want them */
	bool markers_rx; /* ask for markers */
	bool fall_back;
	bool peer_to_peer;
	bool echo_depths;
	uint64_t wake_ms;
	uint64_t convert_s;
	struct kal_keep_alive keep_alive;
	bool drop_disconnect_data; /* also ITAPI_DISCONNECT_DATA=drop */
	bool drop_broken_events;
	bool privileged;           /* the user of this process is on the list */
	enum kal_kald kald;        /* what the administrator says of the daemon */
	struct kal_alias *aliases; /* as in the file, no alias twice */
};

/* Where the administrator's file is, SYSCONFDIR/itapi/itapi.conf, which no variable changes. */
extern const char kal_config_system_file[];
/* The path of the administrator's file, or NULL if no such file exists. */
const char *kal_config_system_path(void);
/*
 * The administrator's file, then the user's; NULL: no file. What the administrator's file says is decided: neither the
 * user's file nor the environment changes it, except that the user's file may lower a limit. RI_ERR_INVALID_ARG: a file cannot be
 * used, and `why` (may be NULL) says why; RI_ERR_RESOURCES: no memory or descriptor.
 */
enum ri_status kal_config_load(const char *path, const char *user_path, struct kal_config **out,
			       struct kal_why *why) RI_MUST_CHECK;
void kal_config_free(struct kal_config *config);
/* The adapter that a name means: the name itself unless it is an alias. */
const char *kal_config_adapter(const struct kal_config *config, const char *name);

#endif /* KAL_CONFIG_H */
