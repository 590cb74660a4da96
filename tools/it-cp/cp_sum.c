/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "cp_sum.h"

#include <gcrypt.h>
#include <isa-l.h>
#include <pthread.h>
#include <string.h>
#ifdef CP_XXH3_DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include "tool_error.h"

#define PIECE_MAX    (1 << 30) /* ISA-L counts in int */
#define OCTETS_MAX   32        /* of a checksum */
#define EVERY_SERVER (1u << CP_SHA256 | 1u << CP_CRC32C)

static const char *const names[CP_SUM_KINDS] = {
	[CP_SHA256] = "sha256", [CP_CRC32C] = "crc32c", [CP_XXH3] = "xxh3"};

bool
cp_sum_known(uint64_t kind)
{
	return kind > CP_SUM_BEST && kind < CP_SUM_KINDS;
}

const char *
cp_sum_name(enum cp_sum_kind kind)
{
	return names[kind];
}

bool
cp_sum_pick(enum cp_sum_kind *kind, const char *name)
{
	*kind = CP_SUM_BEST;
	if (name == NULL)
		return true;
	for (unsigned i = 1; i < CP_SUM_KINDS; i++) {
		if (g_str_equal(name, names[i]))
			*kind = (enum cp_sum_kind)i;
	}
	return *kind != CP_SUM_BEST;
}

uint32_t
cp_sum_all(void)
{
	return EVERY_SERVER | 1u << CP_XXH3;
}

bool
cp_sum_agree(enum cp_sum_kind *kind, uint32_t theirs)
{
	theirs |= EVERY_SERVER;
	if (*kind == CP_SUM_BEST)
		*kind = (theirs & 1u << CP_XXH3) != 0 ? CP_XXH3 : CP_SHA256;
	return (theirs & 1u << *kind) != 0;
}

/* --- SHA-256, by a library that has it for the instructions of this processor -------------- */

static void
library_begin(void)
{
	(void)gcry_check_version(NULL);
	gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
	gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
}

static bool
sha256_begin(struct cp_sum *sum, GError **error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	gcry_md_hd_t digest;
	gcry_error_t failure;

	pthread_once(&once, library_begin);
	failure = gcry_md_open(&digest, GCRY_MD_SHA256, 0);
	if (failure != 0)
		return tool_fail(error, TOOL_ERROR_FAILED, "no SHA-256: %s",
				 gcry_strerror(failure));
	sum->state = digest;
	return true;
}

/* --- all kinds ---------------------------------------------------------------------------- */

bool
cp_sum_begin(struct cp_sum *sum, enum cp_sum_kind kind, GError **error)
{
	memset(sum, 0, sizeof(*sum));
	sum->kind = kind;
	sum->crc = UINT32_MAX;
	if (kind == CP_SHA256)
		return sha256_begin(sum, error);
	if (kind != CP_XXH3)
		return true;
	sum->state = XXH3_createState();
	return (sum->state != NULL && XXH3_128bits_reset(sum->state) == XXH_OK) ||
	       tool_fail(error, TOOL_ERROR_FAILED, "no memory for a checksum");
}

static void
crc_add(struct cp_sum *sum, const uint8_t *at, size_t len)
{
	while (len > 0) {
		size_t piece = MIN(len, PIECE_MAX);

		sum->crc = crc32_iscsi((unsigned char *)at, (int)piece, sum->crc);
		at += piece;
		len -= piece;
	}
}

void
cp_sum_add(struct cp_sum *sum, const void *octets, size_t len)
{
	if (sum->kind == CP_SHA256)
		gcry_md_write(sum->state, octets, len);
	else if (sum->kind == CP_XXH3)
		(void)XXH3_128bits_update(sum->state, octets, len);
	else
		crc_add(sum, octets, len);
}

/* The octets of the checksum; returns how many. */
static size_t
sum_finish(struct cp_sum *sum, uint8_t octets[OCTETS_MAX])
{
	XXH128_canonical_t canonical;

	if (sum->kind == CP_SHA256) {
		size_t len = gcry_md_get_algo_dlen(GCRY_MD_SHA256);

		memcpy(octets, gcry_md_read(sum->state, GCRY_MD_SHA256), len);
		gcry_md_close(sum->state);
		return len;
	}
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(sum->state));
	memcpy(octets, canonical.digest, sizeof(canonical.digest));
	XXH3_freeState(sum->state);
	return sizeof(canonical.digest);
}

char *
cp_sum_end(struct cp_sum *sum)
{
	uint8_t octets[OCTETS_MAX];
	GString *text = g_string_new(NULL);
	size_t len;

	if (sum->kind == CP_CRC32C) {
		g_string_printf(text, "%08x", ~sum->crc);
		return g_string_free(text, FALSE);
	}
	len = sum_finish(sum, octets);
	sum->state = NULL;
	for (size_t i = 0; i < len; i++)
		g_string_append_printf(text, "%02x", octets[i]);
	return g_string_free(text, FALSE);
}
