/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <glib.h>
#include <string.h>

#include "tool_pattern.h"

#define WORD 8

/* The eight octets of a pattern that begin at 8 * number. */
static uint64_t
word_of(uint64_t seed, uint64_t number)
{
	uint64_t mixed = (seed + number) * UINT64_C(0x9e3779b97f4a7c15);

	mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return mixed ^ mixed >> 29 ^ seed;
}

static uint8_t
octet_of(uint64_t seed, size_t place)
{
	return (uint8_t)(word_of(seed, place / WORD) >> (8 * (place % WORD)));
}

void
tool_pattern_fill(uint8_t *octets, size_t len, uint64_t seed, size_t place)
{
	for (size_t i = 0; i < len;) {
		uint64_t word = GUINT64_TO_LE(word_of(seed, (place + i) / WORD));

		if ((place + i) % WORD == 0 && len - i >= WORD) {
			memcpy(octets + i, &word, WORD);
			i += WORD;
		} else {
			octets[i] = octet_of(seed, place + i);
			i++;
		}
	}
}

size_t
tool_pattern_check(const uint8_t *octets, size_t len, uint64_t seed, size_t place)
{
	for (size_t i = 0; i < len;) {
		uint64_t word = GUINT64_TO_LE(word_of(seed, (place + i) / WORD));

		if ((place + i) % WORD == 0 && len - i >= WORD &&
		    memcmp(octets + i, &word, WORD) == 0) {
			i += WORD;
		} else if (octets[i] == octet_of(seed, place + i)) {
			i++;
		} else {
			return i;
		}
	}
	return len;
}
