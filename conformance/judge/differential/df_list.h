/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Memory that buffer lists combine [IT 8.9]. Behind the arena of a node lie units of memory in a shuffled
 * order: programs and the model number the octets differently from their addresses. Only a list reaches them
 * as one range, so an adapter that takes the pieces in another order, or cuts them wrongly, writes elsewhere.
 */
#ifndef DF_LIST_H
#define DF_LIST_H

#include "df_program.h"

#define DF_UNIT   512 /* octets */
#define DF_PIECES (DF_SCATTER / 128)

enum df_list {
	DF_RANGE,      /* no list */
	DF_LONG_PAGES, /* of a unit each */
	DF_PAGES,      /* of 128 octets */
	DF_BLOCKS,     /* of 256 octets */
	DF_PARTS,      /* of different sizes: two parts of each unit */
	DF_LISTS
};

struct df_pieces {
	int count;
	int first;         /* the offset of the region in the first piece */
	int size;          /* of each piece; 0: they differ */
	int at[DF_PIECES]; /* places in the memory of the node */
	int len[DF_PIECES];
};

/* Where the octet of a program is in the memory of a node. */
int df_place(int off);
/* The list of a region with `len` octets from `off` on, counted from the end of the arena. */
struct df_pieces df_pieces_of(enum df_list list, int off, int len);

#endif /* DF_LIST_H */
