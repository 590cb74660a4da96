/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Sections: how a call that frees an object knows that no fast call is inside the object any more.
 *
 * A fast call (a post, a poll) marks its thread as inside before it looks its object up, and as
 * outside when it is done. A call that frees the object first makes it impossible to find, and then
 * waits until every thread that was inside has left once: afterwards no fast call can have it. A
 * section never waits for a call that frees, and no function of the application runs in it. Calls
 * that may block do not use sections: the layer above counts them at the object.
 *
 * A signal handler may make a call inside a call. The handler leaves an odd phase as it found it.
 * If it comes between the load and the store that begin a section, the store sets the phase back; a
 * thread that waits then takes the new section for the handler's and waits for both, which is
 * longer and still right.
 *
 * The mark costs two plain stores where the kernel has membarrier(2): the call that frees pays for
 * the order. Elsewhere, and under ThreadSanitizer, which does not know membarrier, the first store
 * is sequentially consistent.
 */
#ifndef SESSION_SECTION_H
#define SESSION_SECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "ri_order.h"
#include "ri_slot.h"

struct session;

/* One thread's mark, in a cache line of its own. */
struct session_section {
	_Alignas(64) atomic_uint phase; /* odd: inside; written by the owner only */
	struct ri_slot slot;
};

/*
 * The mark of this thread; NULL until its first section. It is one pointer of static thread-local
 * storage, which is also available to a library that is opened later, so finding it is one load,
 * not a call.
 */
extern _Thread_local struct session_section *session_section_mine
	__attribute__((tls_model("initial-exec")));
/* membarrier(2) orders for us. Changes to false at most once. */
extern atomic_bool session_section_light;

/* Wait until every other thread's section that was under way has ended. Not from inside one. */
void session_section_wait(const struct session *session);

/* What the end of a section needs to know of its begin. */
struct session_section_guard {
	struct session_section *mine; /* NULL: the thread has no mark */
	unsigned
		before; /* its phase before; odd: a signal handler's call inside a call; no mark: the half */
};

/* This thread's first section, or one of a thread that found no place for a mark. */
struct session_section_guard session_section_begin_slow(void);
/* The end of a section of a thread without a mark. */
void session_section_end_slow(unsigned half);

static inline struct session_section_guard
session_section_begin(void)
{
	struct session_section *mine = session_section_mine;
	unsigned before;

	if (__builtin_expect(mine == NULL, 0))
		return session_section_begin_slow();
	before = atomic_load_explicit(&mine->phase, memory_order_relaxed);
	if (ri_order_is_light(&session_section_light)) {
		/*
		 * Relaxed is enough: membarrier in session_section_wait orders this store before the look-up that
		 * follows.
		 */
		atomic_store_explicit(&mine->phase, before | 1, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
	} else {
		atomic_store(&mine->phase, before | 1);
	}
	return (struct session_section_guard){mine, before};
}

static inline void
session_section_end(const struct session_section_guard *guard)
{
	if (__builtin_expect(guard->mine == NULL, 0))
		session_section_end_slow(guard->before);
	else
		/* An inner section leaves the phase as it is. Release: a thread that sees the new
		 * phase sees that all uses are over. */
		atomic_store_explicit(&guard->mine->phase, guard->before + (~guard->before & 1) * 2,
				      memory_order_release);
}

/* Begin a section that ends with the block. */
#define SESSION_SECTION                                       \
	__attribute__((cleanup(session_section_end), unused)) \
	const struct session_section_guard session_section_guard = session_section_begin()

#endif /* SESSION_SECTION_H */
