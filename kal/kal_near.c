/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The distance of two words is the number of characters to insert, delete, replace or swap with their
 * neighbour (optimal string alignment). One is near up to four characters, two are near in a longer word.
 */
#include "kal_near.h"

#include <stdbool.h>
#include <string.h>

#define LENGTH_MAX 64

static unsigned
least_of_three(unsigned a, unsigned b, unsigned c)
{
	unsigned two = a < b ? a : b;

	return two < c ? two : c;
}

static unsigned
edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned rows[3][LENGTH_MAX + 1];

	for (unsigned j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= a_len; i++) {
		unsigned *now = rows[i % 3], *before = rows[(i - 1) % 3];

		now[0] = i;
		for (unsigned j = 1; j <= b_len; j++) {
			bool swapped =
				i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

			now[j] = least_of_three(now[j - 1] + 1, before[j] + 1,
						before[j - 1] + (a[i - 1] != b[j - 1]));
			if (swapped && rows[(i - 2) % 3][j - 2] + 1 < now[j])
				now[j] = rows[(i - 2) % 3][j - 2] + 1;
		}
	}
	return rows[a_len % 3][b_len];
}

void
kal_near_try(struct kal_near *near, const char *name)
{
	size_t word_len = strlen(near->word), name_len = strlen(name);
	unsigned found;

	if (word_len > LENGTH_MAX || name_len > LENGTH_MAX)
		return;
	found = edit_distance(near->word, word_len, name, name_len);
	if (found > (name_len > 4 ? 2u : 1u) || (near->best != NULL && found >= near->distance))
		return;
	near->best = name;
	near->distance = found;
}
