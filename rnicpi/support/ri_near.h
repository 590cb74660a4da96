/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Does a misspelt word probably mean a known one? The distance of two words is the number of characters to insert, delete,
 * replace or swap with their neighbour (optimal string alignment). One is near up to four characters, two are near in a
 * longer word.
 */
#ifndef RI_NEAR_H
#define RI_NEAR_H

#include <stdbool.h>
#include <string.h>

#define RI_NEAR_LENGTH_MAX 64

static inline unsigned
ri_near_least(unsigned a, unsigned b, unsigned c)
{
	unsigned two = a < b ? a : b;

	return two < c ? two : c;
}

static inline unsigned
ri_near_edits(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned rows[3][RI_NEAR_LENGTH_MAX + 1];

	for (unsigned j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= a_len; i++) {
		unsigned *now = rows[i % 3], *before = rows[(i - 1) % 3];

		now[0] = i;
		for (unsigned j = 1; j <= b_len; j++) {
			bool swapped =
				i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

			now[j] = ri_near_least(now[j - 1] + 1, before[j] + 1,
					       before[j - 1] + (a[i - 1] != b[j - 1]));
			if (swapped && rows[(i - 2) % 3][j - 2] + 1 < now[j])
				now[j] = rows[(i - 2) % 3][j - 2] + 1;
		}
	}
	return rows[a_len % 3][b_len];
}

/* Is the word near the name? *distance is how near; words longer than RI_NEAR_LENGTH_MAX never are. */
static inline bool
ri_near(const char *word, const char *name, unsigned *distance)
{
	size_t word_len = strlen(word), name_len = strlen(name);

	if (word_len > RI_NEAR_LENGTH_MAX || name_len > RI_NEAR_LENGTH_MAX)
		return false;
	*distance = ri_near_edits(word, word_len, name, name_len);
	return *distance <= (name_len > 4 ? 2u : 1u);
}

#endif /* RI_NEAR_H */
