/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <isa-l.h>
#include <string.h>

#include "cp_sum.h"

#define PIECE_MAX (1 << 30) /* both libraries count in int or long */

bool
cp_sum_known(uint64_t kind)
{
	return kind == CP_SHA256 || kind == CP_CRC32C;
}

const char *
cp_sum_name(enum cp_sum_kind kind)
{
	return kind == CP_SHA256 ? "sha256" : "crc32c";
}

void
cp_sum_begin(struct cp_sum *sum, enum cp_sum_kind kind)
{
	memset(sum, 0, sizeof(*sum));
	sum->kind = kind;
	sum->crc = UINT32_MAX;
	if (kind == CP_SHA256)
		sum->sha256 = g_checksum_new(G_CHECKSUM_SHA256);
}

void
cp_sum_add(struct cp_sum *sum, const void *octets, size_t len)
{
	const uint8_t *at = octets;

	while (len > 0) {
		size_t piece = MIN(len, PIECE_MAX);

		if (sum->kind == CP_SHA256)
			g_checksum_update(sum->sha256, at, (gssize)piece);
		else
			sum->crc = crc32_iscsi((unsigned char *)at, (int)piece, sum->crc);
		at += piece;
		len -= piece;
	}
}

char *
cp_sum_end(struct cp_sum *sum)
{
	char *text;

	if (sum->kind == CP_CRC32C)
		return g_strdup_printf("%08x", ~sum->crc);
	text = g_strdup(g_checksum_get_string(sum->sha256));
	g_clear_pointer(&sum->sha256, g_checksum_free);
	return text;
}
