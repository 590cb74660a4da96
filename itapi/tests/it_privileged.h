/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Who is privileged, for tests: the capability of this thread and the policy of the administrator.
 */
#ifndef IT_PRIVILEGED_H
#define IT_PRIVILEGED_H

#include "it_pair.h"

/* Adapters opened from now on obey this key file; NULL: none. */
void policy_set(const char *text);
/* The policy that lets the user of this process do privileged operations. */
void policy_for_all(void);
/* Take CAP_NET_ADMIN out of the effective set, or put it in. False: this process does not have it. */
bool capability_set(bool on);
/* Whether the adapter has privileged operations at all. */
bool privileged_adapter(const struct end *end);
/* Fresh endpoints with privileged operations enabled, connected. */
void privileged_establish(struct pair *pair);

#define PIECES 8

/* Memory in pieces that lie apart: every other page of a range. */
struct pieces {
	unsigned char *range;
	size_t size; /* of a page */
	it_io_addr_t start[PIECES];
	it_iobl_ve_elt_t each[PIECES];
	it_iobl_t iobl; /* a list of pages */
};

void pieces_make(struct pieces *pieces);
void pieces_free(struct pieces *pieces);
/* Octet `at` of what the list describes, from its first offset on. */
unsigned char *pieces_at(const struct pieces *pieces, size_t at);
void pieces_fill(struct pieces *pieces, size_t at, size_t length, unsigned seed);
/* That is what is there, octet for octet. */
void pieces_check(const struct pieces *pieces, size_t at, size_t length, unsigned seed);
/* A range filled or compared with the same pattern. */
void pattern_fill(unsigned char *to, size_t length, unsigned seed);
void pattern_check(const unsigned char *from, size_t length, unsigned seed);

#endif /* IT_PRIVILEGED_H */
