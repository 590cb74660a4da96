/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What a wait does before it sleeps, and when its time is up.
 *
 * A wait of the layer above, for something that `look` takes if it is there:
 *
 *     session_wait_begin(&wait, session, spin, timeout);
 *     if (look(arg) || session_wait_awake(&wait, look, arg))
 *             return;                                     found it without a sleep
 *     ... sleep (session_sleep.h) until look(arg) or wait.deadline ...
 *     session_wait_slept(&wait);                          if it was found then
 */
#ifndef SESSION_WAIT_H
#define SESSION_WAIT_H

#include "session.h"
#include "session_spin.h"

/* One wait, on the stack of its thread. */
struct session_wait {
	struct session *session;
	struct session_spin *spin; /* what such waits have learnt; NULL: sleep at once */
	uint64_t deadline;         /* ns of session_now, or RI_NEVER */
	uint64_t awake_until;      /* ns of session_now: when it began to sleep */
	enum session_spin_way way; /* what it did before */
};

/*
 * Begin a wait of at most timeout_us microseconds; UINT64_MAX: without end. spin NULL: the wait
 * neither polls before it sleeps nor teaches the waits after it, because polling cannot find its
 * event, or another thread waits for it already.
 */
void session_wait_begin(struct session_wait *wait, struct session *session,
			struct session_spin *spin, uint64_t timeout_us);
/*
 * Call `look` repeatedly, for as long as earlier waits have shown to be useful, at most until the
 * deadline. True: look returned true.
 */
bool session_wait_awake(struct session_wait *wait, bool (*look)(void *arg), void *arg);
/* What session_wait_awake did not find came while the thread slept. */
void session_wait_slept(const struct session_wait *wait);

#endif /* SESSION_WAIT_H */
