/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions made of pieces: page and block lists, and fast registration (RDMAC verbs 7.3; [RI 5.5]). All of it
 * is privileged: the addresses are used as they are.
 *
 * The room for pieces is allocated when the region is created, since a fast registration runs in an engine.
 * Pieces are written while the region is invalid and has no uses, so accesses read them without a lock. An
 * access to a region of several pieces has no single address: the caller gets each piece by vsw_mem_piece.
 */
#include "vsw_mem_table.h"

#include <stdlib.h>

/* One piece of memory; `start` is the offset of its first byte in the region. */
struct vsw_mem_piece {
	uint64_t start;
	uint8_t *ptr;
	uint32_t length;
};

enum ri_status
vsw_mem_pieces_alloc(struct vsw_mem_entry *mr, uint32_t room)
{
	if (room > VSW_MEM_PIECES)
		return RI_ERR_LIMIT;
	mr->pieces = calloc(room, sizeof(*mr->pieces));
	mr->pieces_room = mr->pieces != NULL ? room : 0;
	return mr->pieces != NULL ? RI_SUCCESS : RI_ERR_RESOURCES;
}

void
vsw_mem_pieces_free(struct vsw_mem_entry *mr)
{
	free(mr->pieces);
	mr->pieces = NULL;
	mr->pieces_room = 0;
	mr->num_pieces = 0;
}

/* Add a piece whose first `skip` bytes do not belong to the region. False: it cannot be one. */
static bool
piece_add(struct vsw_mem_entry *mr, uint64_t addr, uint32_t length, uint32_t skip)
{
	if (mr->num_pieces == mr->pieces_room || skip >= length || addr + length < addr)
		return false;

	struct vsw_mem_piece *piece = &mr->pieces[mr->num_pieces];

	*piece = (struct vsw_mem_piece){.ptr = (uint8_t *)(uintptr_t)addr + skip,
					.length = length - skip};
	if (mr->num_pieces++ > 0)
		piece->start = piece[-1].start + piece[-1].length;
	return true;
}

/* Are the pieces together that long? */
static bool
pieces_cover(const struct vsw_mem_entry *mr, uint64_t length)
{
	if (mr->num_pieces == 0 || length == 0)
		return false;

	const struct vsw_mem_piece *last = &mr->pieces[mr->num_pieces - 1];

	return last->start + last->length >= length;
}

enum ri_status
vsw_mem_pieces_fill(struct vsw_mem_entry *mr, const struct ri_mr_init *init)
{
	bool good = true;

	mr->num_pieces = 0;
	for (uint32_t i = 0; i < init->max_pages && good; i++)
		good = piece_add(mr, init->pages[i],
				 init->lengths != NULL ? init->lengths[i] : init->page_size,
				 i == 0 ? init->fbo : 0);
	if (good && pieces_cover(mr, init->length))
		return RI_SUCCESS;
	mr->num_pieces = 0;
	return RI_ERR_INVALID_ARG;
}

/* --- fast registration -------------------------------------------------------------------- */

/* May this region be given memory by this queue pair? Called with its lock. */
static enum vsw_mem_result
fast_check(const struct vsw_mem_entry *mr, const struct vsw_mem_who *who,
	   const struct vsw_mem_fast *fast)
{
	uint32_t writes = RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC;

	if (mr->kind != VSW_MEM_REGION || mr->stag >> 8 != fast->stag >> 8)
		return VSW_MEM_STAG;
	if (mr->pd != who->pd)
		return VSW_MEM_PD;
	if (atomic_load(&mr->live) != 0 || mr->shareable)
		return VSW_MEM_BOUND;
	if ((fast->access & (RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE)) == 0 ||
	    ((fast->access & RI_ACCESS_REMOTE_READ) != 0 &&
	     (fast->access & RI_ACCESS_LOCAL_READ) == 0) ||
	    ((fast->access & writes) != 0 && (fast->access & RI_ACCESS_LOCAL_WRITE) == 0))
		return VSW_MEM_ACCESS;
	if (fast->addr + fast->length - 1 < fast->addr)
		return VSW_MEM_WRAP;
	/* So a region without room for pieces, whose uses are not counted, is never filled. */
	return fast->count > 0 && fast->count <= mr->pieces_room ? VSW_MEM_OK : VSW_MEM_BOUNDS;
}

/* Called with the lock; the region is invalid. */
static enum vsw_mem_result
fast_fill(struct vsw_mem_entry *mr, const struct vsw_mem_fast *fast)
{
	bool good = true;

	vsw_mem_revoke(mr); /* waits for accesses that look up an old key */
	mr->num_pieces = 0;
	for (uint32_t i = 0; i < fast->count && good; i++)
		good = piece_add(mr, fast->list[i].addr, fast->list[i].length,
				 i == 0 ? fast->fbo : 0);
	if (!good || !pieces_cover(mr, fast->length))
		return VSW_MEM_BOUNDS;
	mr->access = fast->access;
	mr->addr = fast->addr;
	mr->length = fast->length;
	mr->base = fast->relative ? 0 : fast->addr;
	mr->zero_based = fast->relative;
	mr->offset = 0;
	mr->region = mr;
	mr->ptr = mr->num_pieces == 1 ? mr->pieces[0].ptr : NULL;
	mr->stag = fast->stag;
	atomic_store_explicit(&mr->live, mr->stag, memory_order_release);
	return VSW_MEM_OK;
}

enum vsw_mem_result
vsw_mr_fast(struct vsw_mem_table *table, const struct vsw_mem_who *who,
	    const struct vsw_mem_fast *fast)
{
	struct vsw_mem_entry *mr = fast->stag != 0 ? vsw_mem_at(table, fast->stag) : NULL;

	if (mr == NULL)
		return VSW_MEM_STAG;
	vsw_lock(&mr->lock);
	enum vsw_mem_result result = fast_check(mr, who, fast);
	if (result == VSW_MEM_OK)
		result = fast_fill(mr, fast);
	vsw_unlock(&mr->lock);
	return result;
}

/* --- accesses ----------------------------------------------------------------------------- */

uint8_t *
vsw_mem_piece(const struct vsw_mem_use *use, uint64_t at, uint64_t *left)
{
	const struct vsw_mem_entry *mr = use->region;

	*left = UINT64_MAX;
	if (use->ptr != NULL)
		return use->ptr + at;
	if (mr == NULL || mr->num_pieces == 0)
		return NULL;

	uint32_t low = 0; /* the piece lies in [low, high) */
	uint32_t high = mr->num_pieces;
	uint64_t offset = use->offset + at;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (mr->pieces[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}

	const struct vsw_mem_piece *piece = &mr->pieces[low];
	*left = piece->length - (offset - piece->start);
	return piece->ptr + (offset - piece->start);
}
