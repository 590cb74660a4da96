/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The rules of kald, from one file, in the form of itapi.conf. All groups and keys are optional:
 *
 *     [limits.process]              of each process; also [limits.user], [limits.group], and for one of them
 *     qp = 1000                     [limits.user NAME], [limits.group NAME]; keys as in itapi.conf
 *     [policy]                      for all; [policy user NAME], then [policy group NAME], come before it, key by key
 *     adapters = iwarp*;emul:ib     that may be opened, as patterns with * and ?
 *     ports = 1024-65535;18515      TCP ports to listen on
 *     grant-ports = 600-700         TCP ports whose sockets kald opens itself, for clients that may not; also within `ports`
 *     peers = 10.0.0.0/8;::1/128    networks to connect to
 *     dial = true                   kald opens the sockets of connections, for clients that have no network
 *     privileged = true             privileged operations are allowed
 *     crc = true                    connections ask for CRC
 *     processes = 100               of one user
 *
 * NAME is a name or a number. A file with an unknown group, an unknown key or an invalid value is refused.
 */
#ifndef KALD_POLICY_H
#define KALD_POLICY_H

#include "kald_ledger.h"

enum kald_key {
	KALD_KEY_ADAPTERS = 0,
	KALD_KEY_PORTS,
	KALD_KEY_GRANT_PORTS,
	KALD_KEY_PEERS,
	KALD_KEY_DIAL,
	KALD_KEY_PRIVILEGED,
	KALD_KEY_CRC,
	KALD_KEY_PROCESSES,
	KALD_KEY_COUNT
};

/* For whom. */
struct kald_who {
	uint32_t uid, gid;
};

struct kald_policy;

/* NULL: the file cannot be used, and `why` says why. path NULL: the defaults. */
struct kald_policy *kald_policy_load(const char *path, struct kal_why *why);
void kald_policy_free(struct kald_policy *policy);
/* The limits of an account. */
void kald_policy_limits(const struct kald_policy *policy, struct kald_account *account);
/* The rule that gives a limit, in words, such as "[limits.user] qp = 3 (FILE:2)". */
void kald_policy_limit_rule(const struct kald_policy *policy, const struct kald_account *account,
			    enum kal_resource resource, char *text, size_t room);
/* The rule that holds for a key, in words. */
void kald_policy_rule(const struct kald_policy *policy, enum kald_key key, struct kald_who who,
		      char *text, size_t room);
bool kald_policy_adapter(const struct kald_policy *policy, struct kald_who who, const char *name);
/* KALD_KEY_PORTS or KALD_KEY_GRANT_PORTS. */
bool kald_policy_port(const struct kald_policy *policy, enum kald_key key, struct kald_who who,
		      uint16_t port);
/* The networks; false: every peer is allowed. */
bool kald_policy_nets(const struct kald_policy *policy, struct kald_who who,
		      struct kald_net nets[KALD_NETS_MAX], uint32_t *count);
bool kald_policy_peer(const struct kald_policy *policy, struct kald_who who,
		      const struct kald_addr *peer);
/* A key that is true or false. */
bool kald_policy_flag(const struct kald_policy *policy, enum kald_key key, struct kald_who who);
uint64_t kald_policy_processes(const struct kald_policy *policy, struct kald_who who);

#endif /* KALD_POLICY_H */
