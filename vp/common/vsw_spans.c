/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The memory of a request: its segments, and the copy from one request's segments to another's. */
#include "vsw_spans.h"

#include <string.h>

#include "vsw_copy.h"

void
vsw_spans_end_all(struct vsw_spans *spans)
{
	for (uint32_t i = 0; i < spans->count; i++)
		vsw_mem_end(&spans->use[i]);
	spans->count = 0;
}

enum vsw_mem_result
vsw_spans_begin_all(struct vsw_mem_table *mem, const struct vsw_mem_who *who,
		    const struct vsw_wqe *wqe, uint32_t length, uint32_t access,
		    struct vsw_spans *spans)
{
	spans->count = 0;
	for (uint32_t i = 0; i < wqe->num_sge && length > 0; i++) {
		const struct ri_sge *sge = &wqe->sge[i];
		uint32_t len = sge->length < length ? sge->length : length;
		struct vsw_mem_access wanted = {
			.addr = sge->addr, .length = len, .stag = sge->stag, .access = access};
		if (len == 0)
			continue;
		enum vsw_mem_result result =
			vsw_mem_begin(mem, who, &wanted, &spans->use[spans->count]);
		if (result != VSW_MEM_OK) {
			vsw_spans_end_all(spans);
			return result;
		}
		spans->len[spans->count++] = len;
		length -= len;
	}
	return VSW_MEM_OK;
}

bool
vsw_spans_have(const struct vsw_spans *spans, const void *fault)
{
	for (uint32_t i = 0; i < spans->count; i++) {
		uint64_t left = 0;

		for (uint64_t at = 0; at < spans->len[i]; at += left) {
			const uint8_t *piece = vsw_mem_piece(&spans->use[i], at, &left);

			if (piece == NULL)
				break;
			if (left > spans->len[i] - at)
				left = spans->len[i] - at;
			if (vsw_guard_is_in(fault, piece, left))
				return true;
		}
	}
	return false;
}

/* Copy a run through the host. False: the process that owns the memory has ended, or a page is lost. */
static bool
run_bounce(const struct vsw_mem_use *to, uint64_t to_at, const struct vsw_mem_use *from,
	   uint64_t from_at, uint32_t len)
{
	uint8_t bounce[4096];

	for (uint32_t done = 0; done < len;) {
		uint32_t n = len - done < sizeof(bounce) ? len - done : (uint32_t)sizeof(bounce);
		if (vsw_mem_copy(from, from_at + done, bounce, n, false) != RI_SUCCESS ||
		    vsw_mem_copy(to, to_at + done, bounce, n, true) != RI_SUCCESS)
			return false;
		done += n;
	}
	return true;
}

/* Copy a run that lies within one segment on either side; a segment may consist of several pieces. */
static bool
run_copy(const struct vsw_mem_use *to, uint64_t to_at, const struct vsw_mem_use *from,
	 uint64_t from_at, uint32_t len)
{
	while (len > 0) {
		uint64_t to_left = 0;
		uint64_t from_left = 0;
		uint8_t *there = vsw_mem_piece(to, to_at, &to_left);
		const uint8_t *here = vsw_mem_piece(from, from_at, &from_left);
		uint32_t n = len;
		if (there == NULL || here == NULL)
			return run_bounce(to, to_at, from, from_at, len);
		n = to_left < n ? (uint32_t)to_left : n;
		n = from_left < n ? (uint32_t)from_left : n;
		if (!vsw_copy(there, here, n))
			return false;
		to_at += n;
		from_at += n;
		len -= n;
	}
	return true;
}

/* The segment that byte *at is in; *at becomes the offset in that segment. */
static uint32_t
piece_of(const struct vsw_spans *spans, uint32_t *at)
{
	uint32_t i = 0;

	while (i < spans->count && *at >= spans->len[i])
		*at -= spans->len[i++];
	return i;
}

bool
vsw_spans_copy_all(const struct vsw_spans *to, uint32_t at, const struct vsw_spans *from)
{
	uint32_t t = piece_of(to, &at);

	for (uint32_t f = 0; f < from->count; f++) {
		for (uint32_t from_at = 0; from_at < from->len[f];) {
			if (t >= to->count)
				return false;
			uint32_t room = to->len[t] - at;
			uint32_t left = from->len[f] - from_at;
			uint32_t n = room < left ? room : left;
			if (!run_copy(&to->use[t], at, &from->use[f], from_at, n))
				return false;
			from_at += n;
			at += n;
			if (at == to->len[t]) {
				t++;
				at = 0;
			}
		}
	}
	return true;
}

bool
vsw_spans_fill(const struct vsw_spans *to, const uint8_t *octets, uint32_t len)
{
	uint8_t copy[VSW_SPANS_FILL];

	if (len > sizeof(copy))
		return false;
	memcpy(copy, octets, len);
	for (uint32_t i = 0, done = 0; done < len; i++) {
		if (i >= to->count)
			return false;
		uint32_t n = to->len[i] < len - done ? to->len[i] : len - done;
		if (vsw_mem_copy(&to->use[i], 0, copy + done, n, true) != RI_SUCCESS)
			return false;
		done += n;
	}
	return true;
}
