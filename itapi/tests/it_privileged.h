/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Privileged consumers for tests: the capability of this thread and the administrator's policy.
 */
#ifndef IT_PRIVILEGED_H
#define IT_PRIVILEGED_H

#include "it_pair.h"

/* The configuration file of adapters that are opened from now on; NULL: none. */
void policy_set(const char *text);
/* The text of a policy that makes this process privileged. */
void policy_for_all(void);
/*
 * Remove CAP_NET_ADMIN from the effective set, or add it. False: the process does not have it in its permitted set.
 */
bool capability_set(bool on);
/* What privileged operations consist of: claims of the profile, as bits. */
enum privileged_part {
	PRIVILEGED_OPS = 1u << 0, /* endpoints that are privileged, I/O addresses: privileged_ops */
	PRIVILEGED_LINKS = 1u << 1,
	PRIVILEGED_DIRECT = 1u << 2,
	PRIVILEGED_PAGES = 1u << 3, /* lists of that shape */
	PRIVILEGED_BLOCKS = 1u << 4,
	PRIVILEGED_VE = 1u << 5,
};

/* Does the adapter claim each of the parts? */
bool privileged_has(unsigned parts);
/* Likewise; if it does not, the test does not apply, and the reason names the claim. */
bool privileged_needs(unsigned parts);
/* Fresh endpoints with privileged operations enabled, connected. */
void privileged_establish(struct pair *pair);

#define PIECES 8

/* Memory in separate pieces: every other page of a range. */
struct pieces {
	unsigned char *range;
	size_t size; /* of a page */
	it_io_addr_t start[PIECES];
	it_iobl_ve_elt_t each[PIECES];
	it_iobl_t iobl; /* a list of pages */
};

void pieces_make(struct pieces *pieces);
void pieces_free(struct pieces *pieces);
/* Octet number `at` of the memory that the list describes, counted from its first offset. */
unsigned char *pieces_at(const struct pieces *pieces, size_t at);
void pieces_fill(struct pieces *pieces, size_t at, size_t length, unsigned seed);
/* The memory of the list holds exactly these octets. */
void pieces_check(const struct pieces *pieces, size_t at, size_t length, unsigned seed);
/* Fill a range with a pattern, or compare it with that pattern. */
void pattern_fill(unsigned char *to, size_t length, unsigned seed);
void pattern_check(const unsigned char *from, size_t length, unsigned seed);

#endif /* IT_PRIVILEGED_H */
