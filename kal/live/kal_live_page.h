/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The layout of the table in memory: a head, then slots of one size. A process publishes it as a sealed memory file (memfd) named
 * KAL_LIVE_NAME, which no other process can write, truncate or map for writing. A reader opens it through /proc/PID/fd. So the kernel
 * decides who may read it: users who may look at the process's memory map.
 *
 * A reader copies a slot and then checks the copy, since the process may be any program. A slot is written under a lock of the
 * process, between two increments of `sequence`. If `sequence` is odd, or has changed during the copy, the slot was being written.
 * Counters change at any time; each is one word.
 */
#ifndef KAL_LIVE_PAGE_H
#define KAL_LIVE_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "kal_call.h"
#include "rnicpi_attr.h"
#include "rnicpi_fast.h"

#define KAL_LIVE_NAME    "itapi-live"
#define KAL_LIVE_MAGIC   "itaplive"
#define KAL_LIVE_VERSION 1
#define KAL_LIVE_SLOTS \
	16384u /* objects that are shown, the head included; 5 MiB of addresses, memory for those in use */

enum kal_live_kind {
	KAL_LIVE_FREE = 0,
	KAL_LIVE_ADAPTER,
	KAL_LIVE_QP,
	KAL_LIVE_CQ,
	KAL_LIVE_LISTENER,
	KAL_LIVE_SRQ, /* counts as a QP does */
	KAL_LIVE_KINDS
};

struct kal_live_path {
	struct ri_addr local, peer;     /* family RI_ADDR_NONE: not known */
	uint16_t local_port, peer_port; /* network order */
	uint32_t peer_qpn;              /* 0: not known */
	uint64_t service;               /* of InfiniBand, or 0 */
};

struct kal_live_slot {
	uint32_t sequence;
	uint8_t kind;     /* enum kal_live_kind */
	uint8_t state;    /* of a QP: enum kal_conn_state */
	uint8_t type;     /* of a QP: enum ri_qp_type */
	uint8_t reserved; /* 0 */
	uint32_t serial;  /* of the process: no two objects have the same, for a long time */
	uint32_t adapter; /* slot of its adapter */
	uint32_t number;  /* of a QP: its number */
	uint32_t cqs[2];  /* of a QP: slots of its completion queues, 0: not shown */
	uint32_t reserved2;
	union {
		char name[64];             /* of an adapter */
		struct kal_live_path path; /* of a QP or a listener */
	} is;
	_Alignas(64) union {
		struct ri_qp_counters qp;
		struct {
			struct ri_cq_counters of;
			uint64_t
				events; /* that woke threads or descriptors, added to as kal_waits */
		} cq;
		struct kal_waits adapter;
		uint64_t words[24];
	} count;
};

struct kal_live_head {
	char magic[8];
	uint32_t version;
	uint32_t slot_size;
	uint32_t slots;  /* room, this head included */
	uint32_t high;   /* slots from here on were never used */
	uint32_t pid;    /* as the process sees it */
	uint32_t missed; /* objects for which there was no slot, in all */
	uint64_t reserved[2];
};

_Static_assert(sizeof(struct kal_live_slot) == 320, "five lines");
_Static_assert(sizeof(struct kal_live_head) <= sizeof(struct kal_live_slot), "slot 0 is the head");

#endif /* KAL_LIVE_PAGE_H */
