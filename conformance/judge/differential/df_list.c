/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "df_list.h"

#define UNITS (DF_SCATTER / DF_UNIT)
#define PART  200 /* octets of the first part of a unit; a multiple of 8 */

int
df_place(int off)
{
	int unit = (off - DF_ARENA) / DF_UNIT;

	if (off < DF_ARENA)
		return off;
	/* 7 and the number of units have no common divisor, so each unit has a place of its own. */
	return DF_ARENA + (unit * 7 + 3) % UNITS * DF_UNIT + (off - DF_ARENA) % DF_UNIT;
}

static int
size_of(enum df_list list)
{
	static const int sizes[DF_LISTS] = {
		[DF_LONG_PAGES] = DF_UNIT, [DF_PAGES] = 128, [DF_BLOCKS] = 256};

	return sizes[list];
}

struct df_pieces
df_pieces_of(enum df_list list, int off, int len)
{
	struct df_pieces pieces = {.size = size_of(list)};
	int step = pieces.size != 0 ? pieces.size : DF_UNIT;
	int at = off / step * step;

	if (pieces.size == 0 && off - at >= PART)
		at += PART;
	pieces.first = off - at;
	do {
		int size = pieces.size;

		if (size == 0)
			size = at % DF_UNIT == 0 ? PART : DF_UNIT - PART;
		pieces.at[pieces.count] = df_place(DF_ARENA + at);
		pieces.len[pieces.count++] = size;
		at += size;
	} while (at < off + len);
	return pieces;
}
