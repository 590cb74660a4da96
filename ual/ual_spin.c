/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "ual_spin.h"

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
ual_spin_init(struct ual_spin *spin)
{
	store_u8(&spin->way, UAL_SPIN_POLL);
	store_u8(&spin->points, UAL_SPIN_POINTS);
	store_u16(&spin->gap, UAL_SPIN_GAP);
	store_u16(&spin->left, 0);
}

enum ual_spin_way
ual_spin_way(const struct ual_spin *spin)
{
	return (enum ual_spin_way)load_u8(&spin->way);
}

/* One more event came soon in a wait that did not poll; after enough of them, one wait polls. */
static void
count_down(struct ual_spin *spin)
{
	unsigned left = load_u16(&spin->left);

	if (left > 1) {
		store_u16(&spin->left, left - 1);
		return;
	}
	store_u8(&spin->points, 1);
	store_u8(&spin->way, UAL_SPIN_POLL);
}

void
ual_spin_paid(struct ual_spin *spin, enum ual_spin_way way)
{
	unsigned points = load_u8(&spin->points) + 2;

	if (way != UAL_SPIN_POLL) {
		count_down(spin);
		return;
	}
	store_u8(&spin->points, points < UAL_SPIN_POINTS ? points : UAL_SPIN_POINTS);
	store_u16(&spin->gap, UAL_SPIN_GAP);
}

/* Polling found nothing. */
static void
lose_point(struct ual_spin *spin, bool soon)
{
	unsigned points = load_u8(&spin->points);
	unsigned gap = load_u16(&spin->gap);

	if (points > 1) {
		store_u8(&spin->points, points - 1);
		return;
	}
	store_u16(&spin->left, soon ? gap : 1);
	if (soon)
		store_u16(&spin->gap, gap * 4 < UAL_SPIN_GAP_MAX ? gap * 4 : UAL_SPIN_GAP_MAX);
	store_u8(&spin->way, soon ? UAL_SPIN_YIELD : UAL_SPIN_NOT);
}

void
ual_spin_in_vain(struct ual_spin *spin, enum ual_spin_way way, bool soon)
{
	if (way == UAL_SPIN_POLL) {
		lose_point(spin, soon);
		return;
	}
	store_u8(&spin->way, UAL_SPIN_NOT);
	if (soon)
		count_down(spin);
}
