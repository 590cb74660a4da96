/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "session_spin.h"

static unsigned
load_u8(const _Atomic uint8_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static unsigned
load_u16(const _Atomic uint16_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static void
store_u8(_Atomic uint8_t *value, unsigned now)
{
	atomic_store_explicit(value, (uint8_t)now, memory_order_relaxed);
}

static void
store_u16(_Atomic uint16_t *value, unsigned now)
{
	atomic_store_explicit(value, (uint16_t)now, memory_order_relaxed);
}

void
session_spin_init(struct session_spin *spin)
{
	store_u8(&spin->way, SESSION_SPIN_POLL);
	store_u8(&spin->points, SESSION_SPIN_POINTS);
	store_u16(&spin->gap, SESSION_SPIN_GAP);
	store_u16(&spin->left, 0);
}

enum session_spin_way
session_spin_way(const struct session_spin *spin)
{
	return (enum session_spin_way)load_u8(&spin->way);
}

/* One more event came soon in a wait that did not poll; after enough of them, one wait polls. */
static void
count_down(struct session_spin *spin)
{
	unsigned left = load_u16(&spin->left);

	if (left > 1) {
		store_u16(&spin->left, left - 1);
		return;
	}
	store_u8(&spin->points, 1);
	store_u8(&spin->way, SESSION_SPIN_POLL);
}

void
session_spin_paid(struct session_spin *spin, enum session_spin_way way)
{
	unsigned points = load_u8(&spin->points) + 2;

	if (way != SESSION_SPIN_POLL) {
		count_down(spin);
		return;
	}
	store_u8(&spin->points, points < SESSION_SPIN_POINTS ? points : SESSION_SPIN_POINTS);
	store_u16(&spin->gap, SESSION_SPIN_GAP);
}

/* Polling found nothing. */
static void
lose_point(struct session_spin *spin, bool soon)
{
	unsigned points = load_u8(&spin->points);
	unsigned gap = load_u16(&spin->gap);

	if (points > 1) {
		store_u8(&spin->points, points - 1);
		return;
	}
	store_u16(&spin->left, soon ? gap : 1);
	if (soon)
		store_u16(&spin->gap,
			  gap * 4 < SESSION_SPIN_GAP_MAX ? gap * 4 : SESSION_SPIN_GAP_MAX);
	store_u8(&spin->way, soon ? SESSION_SPIN_YIELD : SESSION_SPIN_NOT);
}

void
session_spin_in_vain(struct session_spin *spin, enum session_spin_way way, bool soon)
{
	if (way == SESSION_SPIN_POLL) {
		lose_point(spin, soon);
		return;
	}
	store_u8(&spin->way, SESSION_SPIN_NOT);
	if (soon)
		count_down(spin);
}
