/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The copy that places data in the memory of an application whose peer has sent it, and that reads such memory.
 *
 * Applications poll the last byte of a Write although verbs do not promise that this works, and software providers
 * place bytes in order. memcpy does not: it stores the end of a short block first. So the stores here are
 * ascending, 16 bytes at a time; processors with total store order (x86) keep that order for an observer. On other
 * processors memcpy copies all but the last 8 bytes, which are stored one by one with release.
 *
 * The copy is a guard (vsw_guard.h). It is not instrumented by ThreadSanitizer: the peer's application may read this memory at
 * any time. With RDMA that is legal, and no data race of this program.
 */
#ifndef VSW_COPY_H
#define VSW_COPY_H

#include "vsw_guard.h"

#ifdef VSW_GUARDS

#ifdef VSW_GUARD_ASAN
void __asan_loadN(void *at, long len);
void __asan_storeN(void *at, long len);
#endif

/* Copy in order: no later byte is written before an earlier one. False: a page is lost; some bytes are copied. Fast path. */
static inline __attribute__((always_inline, warn_unused_result)) bool
vsw_copy(uint8_t *to, const uint8_t *from, size_t len)
{
	uint64_t word;

#ifdef VSW_GUARD_ASAN
	__asan_loadN((void *)(uintptr_t)from, (long)len);
	__asan_storeN(to, (long)len);
#endif
	__asm__ volatile goto(
		"1: subq $64, %[len]\n\t"
		"jb 4f\n"
		"3: movdqu (%[from]), %%xmm0\n\t"
		"movdqu 16(%[from]), %%xmm1\n\t"
		"movdqu 32(%[from]), %%xmm2\n\t"
		"movdqu 48(%[from]), %%xmm3\n\t"
		"movups %%xmm0, (%[to])\n\t"
		"movups %%xmm1, 16(%[to])\n\t"
		"movups %%xmm2, 32(%[to])\n\t"
		"movups %%xmm3, 48(%[to])\n\t"
		"addq $64, %[from]\n\t"
		"addq $64, %[to]\n\t"
		"subq $64, %[len]\n\t"
		"jae 3b\n"
		"4: addq $56, %[len]\n\t"
		"jnc 6f\n"
		"5: movq (%[from]), %[word]\n\t"
		"movq %[word], (%[to])\n\t"
		"addq $8, %[from]\n\t"
		"addq $8, %[to]\n\t"
		"subq $8, %[len]\n\t"
		"jae 5b\n"
		"6: addq $8, %[len]\n\t"
		"je 2f\n"
		"7: movb (%[from]), %b[word]\n\t"
		"movb %b[word], (%[to])\n\t"
		"incq %[from]\n\t"
		"incq %[to]\n\t"
		"decq %[len]\n\t"
		"jne 7b\n"
		"2:\n\t" VSW_GUARD
		: [to] "+r"(to), [from] "+r"(from), [len] "+r"(len), [word] "=&r"(word)
		:
		: "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory"
		: lost);
	return true;
lost:
	return false;
}

#else

bool vsw_copy(uint8_t *to, const uint8_t *from, size_t len) __attribute__((warn_unused_result));

#endif

#endif /* VSW_COPY_H */
