/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "session_wait.h"

#include "ri_relax.h"

static void
cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* The deadline of a wait that begins now, on the host's clock. */
static uint64_t
deadline_after(const struct session *session, uint64_t timeout_us)
{
	uint64_t now;

	if (timeout_us == UINT64_MAX)
		return RI_NEVER;
	now = session_now(session);
	if (timeout_us > (RI_NEVER - 1 - now) / 1000)
		return RI_NEVER;
	return now + timeout_us * 1000;
}

void
session_wait_begin(struct session_wait *wait, struct session *session, struct session_spin *spin,
		   uint64_t timeout_us)
{
	wait->session = session;
	wait->spin = timeout_us > 0 && session->spin_ns > 0 ? spin : NULL;
	wait->deadline = deadline_after(session, timeout_us);
	wait->awake_until = 0;
	wait->way = wait->spin != NULL ? session_spin_way(wait->spin) : SESSION_SPIN_NOT;
}

/* Poll for a short while, because a sleep and a wake take longer than most answers. */
static bool
poll_awake(const struct session_wait *wait, bool (*look)(void *arg), void *arg)
{
	struct session *session = wait->session;
	const struct ri_fast_ops *fast = session->fast;
	uint64_t now = session_now(session);
	uint64_t end =
		now + session->spin_ns < wait->deadline ? now + session->spin_ns : wait->deadline;

	while (now < end && !atomic_load(&session->dead) && !atomic_load(&session->closing)) {
		if (fast->spin_futile(session->urnic))
			return false;
		if (look(arg))
			return true;
		cpu_relax();
		now = session_now(session);
	}
	return false;
}

/* Give the processor away once. *slow: for longer than polling would have taken. */
static bool
yield_awake(const struct session_wait *wait, bool (*look)(void *arg), void *arg, bool *slow)
{
	uint64_t begin = session_now(wait->session);

	session_relax(wait->session, RI_RELAX_SPINS); /* the first round that yields */
	*slow = session_now(wait->session) - begin > wait->session->spin_ns;
	return look(arg);
}

bool
session_wait_awake(struct session_wait *wait, bool (*look)(void *arg), void *arg)
{
	bool found = false, slow = false;

	if (wait->spin == NULL)
		return false;
	if (wait->way == SESSION_SPIN_POLL)
		found = poll_awake(wait, look, arg);
	else if (wait->way == SESSION_SPIN_YIELD)
		found = yield_awake(wait, look, arg, &slow);
	if (found && !slow)
		session_spin_paid(wait->spin, wait->way);
	else if (found)
		session_spin_in_vain(wait->spin, wait->way, true);
	else
		wait->awake_until = session_now(wait->session);
	return found;
}

void
session_wait_slept(const struct session_wait *wait)
{
	if (wait->spin != NULL)
		session_spin_in_vain(wait->spin, wait->way,
				     session_now(wait->session) - wait->awake_until <=
					     wait->session->spin_ns);
}
