/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Checksum of what was copied. XXH3 with 128 bits is as fast as memory, and finds every accident;
 * SHA-256 can be compared with the output of other programs; CRC32C was the fast checksum of
 * versions without XXH3.
 */
#ifndef CP_SUM_H
#define CP_SUM_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cp_sum_kind {
	CP_SUM_BEST = 0, /* what both sides have; not on the wire */
	CP_SHA256 = 1,   /* every version has the first two */
	CP_CRC32C = 2,
	CP_XXH3 = 3,
	CP_SUM_KINDS
};

struct cp_sum {
	enum cp_sum_kind kind;
	void *state; /* the library's, of SHA-256 and XXH3 */
	uint32_t crc;
};

bool cp_sum_known(uint64_t kind);
const char *cp_sum_name(enum cp_sum_kind kind);

/* The kind of that name, or of NULL the best; false if there is none. */
bool cp_sum_pick(enum cp_sum_kind *kind, const char *name);

/* A set of kinds as bits, for the greeting: all that this version has. */
uint32_t cp_sum_all(void);

/* The kind to use with a server that has these, in place of CP_SUM_BEST. False: it has not the one that was wanted. */
bool cp_sum_agree(enum cp_sum_kind *kind, uint32_t theirs);

bool cp_sum_begin(struct cp_sum *sum, enum cp_sum_kind kind, GError **error);
void cp_sum_add(struct cp_sum *sum, const void *octets, size_t len);
char *cp_sum_end(struct cp_sum *sum); /* as hexadecimal text; g_free() it */

#endif /* CP_SUM_H */
