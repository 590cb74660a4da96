/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The memory that a request names: one use for each segment, for the time of one copy (vsw_mem.h). */
#ifndef VEM_SPANS_H
#define VEM_SPANS_H

#include "vem.h"

struct vem_spans {
	uint32_t count;
	uint32_t len[VEM_MAX_SGE];
	struct vsw_mem_use use[VEM_MAX_SGE];
};

/* Begin accesses of `who` to the first `length` bytes of a request's segments; all or none. */
enum vsw_mem_result vem_spans_begin(struct vsw_mem_table *mem, const struct vsw_mem_who *who,
				    const struct vsw_wqe *wqe, uint32_t length, uint32_t access,
				    struct vem_spans *spans);
void vem_spans_end(struct vem_spans *spans);
/*
 * Copy all of `from` to `to`, from byte `at` on, in order. False: `to` has no room, or the process that owns
 * the memory has ended.
 */
bool vem_spans_copy(const struct vem_spans *to, uint32_t at, const struct vem_spans *from);
/* Copy `len` bytes, at most VEM_GRH, to the front of `to`. False: as above. */
bool vem_spans_fill(const struct vem_spans *to, const uint8_t *octets, uint32_t len);

#endif /* VEM_SPANS_H */
