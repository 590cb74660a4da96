/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The table of this process, for the kAL. It is made with the first adapter and stays until the process ends, so counters may be
 * added to at any time. Every function may be called on any thread. No other lock is taken under the lock of the table, and nothing
 * blocks under it. Every function accepts NULL for a slot, which means that there was no room or no memory for one; then nothing
 * is shown or counted.
 */
#ifndef KAL_LIVE_H
#define KAL_LIVE_H

#include <stdbool.h>

#include "kal_live_page.h"

/* A slot for an object under that adapter, NULL for an adapter itself. */
struct kal_live_slot *kal_live_take(enum kal_live_kind kind, const struct kal_live_slot *adapter);
/* The object is gone; its counters are added to those of its adapter. */
void kal_live_give(struct kal_live_slot *slot);
/* Slot's place in the table, 0 for NULL. */
uint32_t kal_live_index(const struct kal_live_slot *slot);

void kal_live_name(struct kal_live_slot *slot, const char *name);
void kal_live_qp(struct kal_live_slot *slot, uint32_t number, uint32_t type,
		 const struct kal_live_slot *send_cq, const struct kal_live_slot *recv_cq);
void kal_live_path(struct kal_live_slot *slot, uint32_t state, const struct kal_live_path *path);
/* Another completion event of a CQ. */
void kal_live_event(struct kal_live_slot *slot);

/* Of the objects of one adapter that are gone, or of all adapters of that name. */
struct kal_live_sum {
	struct kal_live_sum *next;
	char name[64];
	uint64_t adapters, qps, cqs, srqs;
	struct ri_qp_counters qp;
	struct ri_cq_counters cq;
	uint64_t events;
	struct kal_waits waits;
};

/* Sums by name of all that there was, also of what is still there; NULL: nothing, or no memory. kal_live_sums_free() it. */
struct kal_live_sum *kal_live_sums(void);
void kal_live_sums_free(struct kal_live_sum *sums);

/* For the reader: the table of this process, or NULL. The caller holds the lock until it calls kal_live_unlock(). */
const struct kal_live_head *kal_live_lock(void);
void kal_live_unlock(void);

#endif /* KAL_LIVE_H */
