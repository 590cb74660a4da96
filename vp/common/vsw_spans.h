/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The memory that a request names: one use for each segment, for the time of one copy (vsw_mem.h). */
#ifndef VSW_SPANS_H
#define VSW_SPANS_H

#include "vsw_copy.h"
#include "vsw_mem.h"
#include "vsw_queue.h"

#define VSW_SPANS_MAX  16  /* segments of a request that accesses memory */
#define VSW_SPANS_FILL 40u /* bytes that vsw_spans_fill takes at most: a route header */

struct vsw_spans {
	uint32_t count;
	uint32_t len[VSW_SPANS_MAX];
	struct vsw_mem_use use[VSW_SPANS_MAX];
};

/* Octets of this process that no key names. Only the first place is written: an initializer would clear all of them, 700 octets. */
static inline void
vsw_spans_of(struct vsw_spans *spans, const uint8_t *octets, uint32_t length)
{
	spans->use[0] = (struct vsw_mem_use){.ptr = (uint8_t *)(uintptr_t)octets};
	spans->len[0] = length;
	spans->count = length != 0;
}

/*
 * Begin accesses of `who` to the first `length` bytes of a request's segments; all or none. Inlined for one segment, which most
 * requests have.
 */
enum vsw_mem_result vsw_spans_begin_all(struct vsw_mem_table *mem, const struct vsw_mem_who *who,
					const struct vsw_wqe *wqe, uint32_t length, uint32_t access,
					struct vsw_spans *spans);
static inline enum vsw_mem_result
vsw_spans_begin(struct vsw_mem_table *mem, const struct vsw_mem_who *who, const struct vsw_wqe *wqe,
		uint32_t length, uint32_t access, struct vsw_spans *spans)
{
	const struct vsw_mem_access wanted = {.addr = wqe->sge[0].addr,
					      .length = length,
					      .stag = wqe->sge[0].stag,
					      .access = access};
	enum vsw_mem_result result;

	if (wqe->num_sge != 1 || length == 0 || wqe->sge[0].length < length)
		return vsw_spans_begin_all(mem, who, wqe, length, access, spans);
	result = vsw_mem_begin(mem, who, &wanted, &spans->use[0]);
	spans->len[0] = length;
	spans->count = result == VSW_MEM_OK ? 1 : 0;
	return result;
}

/*
 * Begin accesses to the payload of a Send, a Write or a datagram: to its segments, or to its inline
 * octets in the engine's copy of the request.
 */
static inline enum vsw_mem_result
vsw_spans_gather(struct vsw_mem_table *mem, const struct vsw_mem_who *who, struct vsw_wqe *wqe,
		 struct vsw_spans *spans)
{
	if (__builtin_expect((wqe->flags & RI_WR_INLINE) == 0, 1))
		return vsw_spans_begin(mem, who, wqe, wqe->length, RI_ACCESS_LOCAL_READ, spans);
	vsw_spans_of(spans, vsw_wqe_octets(wqe), wqe->length);
	return VSW_MEM_OK;
}

void vsw_spans_end_all(struct vsw_spans *spans);
static inline void
vsw_spans_end(struct vsw_spans *spans)
{
	if (spans->count != 1) {
		vsw_spans_end_all(spans);
		return;
	}
	vsw_mem_end(&spans->use[0]);
	spans->count = 0;
}

/*
 * Copy all of `from` to `to`, from byte `at` on, in order. False: `to` has no room, the process that owns
 * the memory has ended, or a page is lost (vsw_spans_have). Inlined for one segment at each side, in one piece, where it fits.
 */
bool vsw_spans_copy_all(const struct vsw_spans *to, uint32_t at, const struct vsw_spans *from);
static inline bool
vsw_spans_copy(const struct vsw_spans *to, uint32_t at, const struct vsw_spans *from)
{
	if (from->count != 1 || to->count != 1 || at > to->len[0] ||
	    from->len[0] > to->len[0] - at || from->use[0].ptr == NULL || to->use[0].ptr == NULL)
		return vsw_spans_copy_all(to, at, from);
	return vsw_copy(to->use[0].ptr + at, from->use[0].ptr, from->len[0]);
}

/* Is that address, of vsw_guard_take, in the memory of these? */
bool vsw_spans_have(const struct vsw_spans *spans, const void *fault);

/* Copy `len` bytes, at most VSW_SPANS_FILL, to the front of `to`. False: as above. */
bool vsw_spans_fill(const struct vsw_spans *to, const uint8_t *octets, uint32_t len);

#endif /* VSW_SPANS_H */
