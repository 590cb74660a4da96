/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Sections: how a free call knows that no fast call is inside an object any more.
 *
 * A fast call (post, dequeue, link, unlink) marks its thread as inside before it looks a handle up,
 * and as outside when it is done. A free call hides its object first and then waits until every
 * thread that was inside has left once: afterwards no fast call can hold the object. A section never
 * waits for another thread's free call, and no function of the application runs in it. Control calls
 * and waits count themselves at the object instead (ual_object_enter), since they may block.
 *
 * A signal handler may make a call inside a call. The handler leaves an odd phase as it found it. If it
 * comes between the load and the store that begin a section, the store sets the phase back; a waiter
 * then takes the new section for the handler's and waits for both, which is longer and still right.
 *
 * The mark costs two plain stores where the kernel has membarrier(2): the free call pays for the
 * order. Elsewhere, and under ThreadSanitizer, which does not know membarrier, the first store is
 * sequentially consistent.
 */
#ifndef UAL_SECTION_H
#define UAL_SECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "ri_order.h"
#include "ri_slot.h"

/* One thread's mark, in a cache line of its own. */
struct ual_section {
	_Alignas(64) atomic_uint phase; /* odd: inside; written by the owner only */
	struct ri_slot slot;
};

/*
 * Of this thread; NULL until its first section. One pointer of static thread storage, which also a
 * library that is opened later gets: so finding it is one load, not a call.
 */
extern _Thread_local struct ual_section *ual_section_mine
	__attribute__((tls_model("initial-exec")));
/* membarrier(2) orders for us. Changes to false at most once. */
extern atomic_bool ual_section_light;

/* Wait until every other thread's section that was under way has ended. Not from inside one. */
void ual_section_wait(void);
/* In a forked child: no thread but this one exists. */
void ual_section_forked(void);

/* What the end of a section needs to know of its begin. */
struct ual_section_guard {
	struct ual_section *mine; /* NULL: the thread has no mark */
	unsigned
		before; /* its phase before; odd: a signal handler's call inside a call; no mark: the half */
};

/* This thread's first section, or one of a thread that found no place for a mark. */
struct ual_section_guard ual_section_begin_slow(void);
/* The end of a section of a thread without a mark. */
void ual_section_end_slow(unsigned half);

static inline struct ual_section_guard
ual_section_begin(void)
{
	struct ual_section *mine = ual_section_mine;
	unsigned before;

	if (__builtin_expect(mine == NULL, 0))
		return ual_section_begin_slow();
	before = atomic_load_explicit(&mine->phase, memory_order_relaxed);
	if (ri_order_is_light(&ual_section_light)) {
		/* Relaxed: ual_section_wait's membarrier orders it before the look-up that follows. */
		atomic_store_explicit(&mine->phase, before | 1, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
	} else {
		atomic_store(&mine->phase, before | 1);
	}
	return (struct ual_section_guard){mine, before};
}

static inline void
ual_section_end(const struct ual_section_guard *guard)
{
	if (__builtin_expect(guard->mine == NULL, 0))
		ual_section_end_slow(guard->before);
	else
		/* An inner section leaves the phase as it is. Release: a thread that sees the new
		 * phase sees that all uses are over. */
		atomic_store_explicit(&guard->mine->phase, guard->before + (~guard->before & 1) * 2,
				      memory_order_release);
}

/* Begin a section that ends with the block. */
#define UAL_SECTION                                       \
	__attribute__((cleanup(ual_section_end), unused)) \
	const struct ual_section_guard ual_section_guard = ual_section_begin()

#endif /* UAL_SECTION_H */
