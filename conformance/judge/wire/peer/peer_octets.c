/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Octets of the memory that the stack under test uses at the same time. */

#include "peer_octets.h"

guint8
peer_pattern(guint64 seed, gsize i)
{
	return (guint8)(seed * 31 + i * 7 + (i >> 8) * 13 + 1);
}

/*
 * Fills the memory of a message. An earlier message from the same memory may not have completed
 * here, although the judge has received it. ThreadSanitizer cannot see an order that passes through
 * another process, so it is switched off.
 */
__attribute__((no_sanitize("thread"), noinline)) void
peer_octets_fill(guint8 *octets, gsize len, guint64 seed)
{
	for (gsize i = 0; i < len; i++)
		((volatile guint8 *)octets)[i] = peer_pattern(seed, i);
}

/*
 * Read an octet or a word of a region while the stack under test may be writing there. Direct
 * placement is such a race by design, so ThreadSanitizer is switched off.
 */
__attribute__((no_sanitize("thread"), noinline)) guint8
peer_octet_get(const guint8 *at)
{
	return *(const volatile guint8 *)at;
}

__attribute__((no_sanitize("thread"), noinline)) guint64
peer_word_get(const guint8 *at)
{
	guint64 value = 0;

	for (unsigned i = 0; i < sizeof(value); i++)
		((guint8 *)&value)[i] = ((const volatile guint8 *)at)[i];
	return value;
}

__attribute__((no_sanitize("thread"), noinline)) void
peer_word_set(guint8 *at, guint64 value)
{
	for (unsigned i = 0; i < sizeof(value); i++)
		((volatile guint8 *)at)[i] = ((const guint8 *)&value)[i];
}
