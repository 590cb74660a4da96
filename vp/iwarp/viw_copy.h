/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Copies to and from memory of the application, with and without CRC. They fail where pages are lost (vsw_guard.h). */
#ifndef VIW_COPY_H
#define VIW_COPY_H

#include "rdmap_message.h"
#include "vsw_copy.h"

/* As mpa_crc_copy(), from *crc to *crc. False: a page is lost; *crc is as before, and some octets are copied. Fast path. */
static inline __attribute__((always_inline, warn_unused_result)) bool
viw_crc_copy(void *to, const void *from, size_t len, uint32_t *crc)
{
#ifdef VSW_GUARDS
	uint32_t before = *crc;
	uintptr_t rax = (uintptr_t)mpa_crc_kernel; /* then the result */

	__asm__ volatile goto("1: call *%c[copy](%%rax)\n2:\n\t" VSW_GUARD
			      : "+a"(rax), "+D"(to), "+S"(from), "+d"(len), "+c"(before)
			      : [copy] "i"(offsetof(struct mpa_crc_kernel, copy))
			      : VSW_GUARD_CALL_CLOBBERS
			      : lost);
	*crc = (uint32_t)rax;
	return true;
lost:
	return false;
#else
	*crc = mpa_crc_copy(to, from, len, *crc);
	return true;
#endif
}

/* As rdmap_fpdu_put(), of payload of the application; *size: octets of the frame. False: a page of the payload is lost. */
static inline __attribute__((always_inline, warn_unused_result)) bool
viw_fpdu_put(uint8_t *fpdu, const struct ddp_segment *seg, bool crc, uint32_t *size)
{
	uint32_t at = rdmap_fpdu_begin(fpdu, seg);
	uint32_t covered = 0;

	if (crc) {
		covered = mpa_crc(fpdu, at, 0);
		if (!viw_crc_copy(fpdu + at, seg->payload, seg->payload_len, &covered))
			return false;
	} else if (!vsw_copy(fpdu + at, seg->payload, seg->payload_len)) {
		return false;
	}
	*size = mpa_fpdu_close(fpdu, at - MPA_LENGTH_SIZE + seg->payload_len, covered, crc);
	return true;
}

#endif /* VIW_COPY_H */
