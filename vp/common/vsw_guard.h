/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Accesses to memory of an application that may have no pages any more: another process has truncated its file, or the
 * application has unmapped or protected it. Such an access fails, and the process lives [RI 5.9].
 *
 * A *guard* is a run of instructions between two labels of an asm statement, with a label of C where the thread
 * continues if one of them, or a function that they call, faults. The guards are in a table in a section of its own, so
 * they cost nothing while no access faults. The handler of SIGBUS and SIGSEGV (vsw_guard.c) finds the guard of the
 * faulting instruction, changes the interrupted context and returns. It passes every other fault to the handler that
 * was there.
 *
 * Only on x86-64; elsewhere such a fault ends the process, as it would without this.
 */
#ifndef VSW_GUARD_H
#define VSW_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define VSW_GUARD_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VSW_GUARD_ASAN 1
#endif
#endif

#if defined(__x86_64__) && defined(__LP64__)
#define VSW_GUARDS 1

/* In an asm goto: from its label 1 to its label 2 is a guard, which continues at the C label `lost`. */
#define VSW_GUARD                            \
	".pushsection vsw_guards, \"a\"\n\t" \
	".balign 4\n\t"                      \
	".long 1b - .\n\t"                   \
	".long 2b - .\n\t"                   \
	".long %l[lost] - .\n\t"             \
	".popsection\n\t"

/* What a call may change, besides registers that are operands. */
#define VSW_GUARD_CALL_CLOBBERS                                                                   \
	"r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
		"xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",             \
		VSW_GUARD_MORE_CLOBBERS "cc", "memory"
#ifdef __AVX512F__
#define VSW_GUARD_MORE_CLOBBERS                                                                   \
	"xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", \
		"xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4",     \
		"k5", "k6", "k7",
#else
#define VSW_GUARD_MORE_CLOBBERS
#endif
#endif

/*
 * A function that a guard calls is in the section vsw_guarded if it accesses memory of an application. The handler
 * unwinds the stack only for faults in that section, so such a function must not call a function of another section to
 * make the access. It must have unwind tables, which is the default on x86-64.
 */

/* The first adapter of the process opens, or the last one closes: the handlers are installed, or removed. */
void vsw_guard_open(void);
void vsw_guard_close(void);

/*
 * After an access failed: the address at which this thread faulted, or NULL if it did not. Each
 * fault is returned once. So an access to two places can distinguish which one is lost.
 */
const void *vsw_guard_take(void);
/* Is that address inside of [at, at + len)? */
static inline bool
vsw_guard_is_in(const void *fault, const void *at, size_t len)
{
	return fault != NULL && (uintptr_t)fault - (uintptr_t)at < len;
}

/* --- one word, for atomics --------------------------------------------------------------------- */

/* Each returns false if the word is lost. `word` is aligned. */
#ifdef VSW_GUARDS

static inline bool
vsw_guarded_load(const uint64_t *word, uint64_t *value)
{
	uint64_t v;

	__asm__ volatile goto("1: movq %[word], %[v]\n2:\n\t" VSW_GUARD
			      : [v] "=r"(v)
			      : [word] "m"(*word)
			      : "memory"
			      : lost);
	*value = v;
	return true;
lost:
	return false;
}

/* *old: the value before. */
static inline bool
vsw_guarded_add(uint64_t *word, uint64_t add, uint64_t *old)
{
	__asm__ volatile goto("1: lock xaddq %[add], %[word]\n2:\n\t" VSW_GUARD
			      : [add] "+r"(add), [word] "+m"(*word)
			      :
			      : "cc", "memory"
			      : lost);
	*old = add;
	return true;
lost:
	return false;
}

/* Store `wanted` if the word is *expected, else set *expected to the word. *swapped: it was stored. */
static inline bool
vsw_guarded_swap(uint64_t *word, uint64_t *expected, uint64_t wanted, bool *swapped)
{
	uint64_t before = *expected;

	__asm__ volatile goto("1: lock cmpxchgq %[wanted], %[word]\n2:\n\t" VSW_GUARD
			      : [before] "+a"(before), [word] "+m"(*word)
			      : [wanted] "r"(wanted)
			      : "cc", "memory"
			      : lost);
	*swapped = before == *expected;
	*expected = before;
	return true;
lost:
	return false;
}

#else

static inline bool
vsw_guarded_load(const uint64_t *word, uint64_t *value)
{
	*value = __atomic_load_n(word, __ATOMIC_SEQ_CST);
	return true;
}

static inline bool
vsw_guarded_add(uint64_t *word, uint64_t add, uint64_t *old)
{
	*old = __atomic_fetch_add(word, add, __ATOMIC_SEQ_CST);
	return true;
}

static inline bool
vsw_guarded_swap(uint64_t *word, uint64_t *expected, uint64_t wanted, bool *swapped)
{
	*swapped = __atomic_compare_exchange_n(word, expected, wanted, false, __ATOMIC_SEQ_CST,
					       __ATOMIC_SEQ_CST);
	return true;
}

#endif

#endif /* VSW_GUARD_H */
