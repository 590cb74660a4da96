/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Checksum of what was copied: SHA-256, or CRC32C where speed counts more. */
#ifndef CP_SUM_H
#define CP_SUM_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cp_sum_kind {
	CP_SHA256 = 1,
	CP_CRC32C = 2,
};

struct cp_sum {
	enum cp_sum_kind kind;
	GChecksum *sha256;
	uint32_t crc;
};

bool cp_sum_known(uint64_t kind);
const char *cp_sum_name(enum cp_sum_kind kind);

void cp_sum_begin(struct cp_sum *sum, enum cp_sum_kind kind);
void cp_sum_add(struct cp_sum *sum, const void *octets, size_t len);
char *cp_sum_end(struct cp_sum *sum); /* as hexadecimal text; g_free() it */

#endif /* CP_SUM_H */
