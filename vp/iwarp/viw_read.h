/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * RDMA Read in both directions (viw_read.c): a ring of the peer's requests, and a ring of this side's. Each
 * has one writer and one reader, the two roles, and so needs no lock.
 */
#ifndef VIW_READ_H
#define VIW_READ_H

#include "rdmap_check.h"

struct viw_qp;

/* Where QN and MSN are in an untagged header. */
#define VIW_READ_QN_AT  6
#define VIW_READ_MSN_AT 10

/*
 * An inbound Read or atomic in its received form, because a Terminate copies it. It is decoded when
 * it is answered, so that an idle connection does not keep room for decoded ones. QN and MO are
 * those of every request that passed the check.
 */
struct viw_inbound_read {
	uint8_t begin[VIW_READ_QN_AT]; /* of the DDP header, up to the QN */
	uint8_t msn[4];
	uint8_t message[RDMAP_ATOMIC_REQUEST_SIZE];
};

/* An outbound Read or atomic: where the answer goes. */
struct viw_outbound_read {
	bool atomic; /* its request id is its number */
	uint32_t stag;
	uint32_t length;
	uint64_t to;
};

/* Index `*_put` is written by the role that adds, `*_got` by the role that removes. */
struct viw_reads {
	struct viw_inbound_read *irrq;
	uint32_t irrq_room; /* entries of the ring, a power of two */
	uint32_t ird;
	atomic_uint irrq_put; /* rx */
	atomic_uint irrq_got; /* tx */
	/* A ring of one entry at least. An RTR is the first entry, and counts as one of `ord` until it is answered. */
	struct viw_outbound_read *orrq;
	uint32_t orrq_room;
	uint32_t ord;
	atomic_uint orrq_put; /* tx */
	atomic_uint orrq_got; /* rx */
	uint32_t answered;    /* tx: octets of the oldest inbound Read that are built */
};

/* Allocate the rings; what is in them is lost. */
enum ri_status viw_reads_alloc(struct viw_reads *reads, uint32_t ird, uint32_t ord) RI_MUST_CHECK;
/* Room for at least `ird` and `ord` Reads; what is outstanding stays. The caller owns both roles. */
enum ri_status viw_reads_grow(struct viw_reads *reads, uint32_t ird, uint32_t ord) RI_MUST_CHECK;
void viw_reads_reset(struct viw_reads *reads);
void viw_reads_free(struct viw_reads *reads);

/* rx: how many more Reads the peer may request; 0 if the application has lowered IRD below what is outstanding. */
uint32_t viw_read_places(struct viw_reads *reads);
/* rx: queue a Read Request, or an Atomic Request, whose header passed the check. */
void viw_read_queue(struct viw_reads *reads, const uint8_t *ulpdu);
/* tx: is there an inbound Read to answer? */
static inline bool
viw_response_pending(struct viw_reads *reads)
{
	return atomic_load(&reads->irrq_put) !=
	       atomic_load_explicit(&reads->irrq_got, memory_order_relaxed);
}
/* tx: build or send the next part of the answer; false: no room, or the source failed. */
bool viw_response_build(struct viw_qp *qp);

/* tx: may another Read leave? */
bool viw_read_room(struct viw_reads *reads);
/* tx: record a Read or atomic that leaves; returns its number. */
uint32_t viw_read_note(struct viw_reads *reads, const struct viw_outbound_read *read);
/* tx: the number of the next one. */
uint32_t viw_read_next(struct viw_reads *reads);
/* tx: is the Read of this number answered? */
bool viw_read_done(const struct viw_reads *reads, uint32_t number);
/* tx: are all of them? */
bool viw_reads_done(struct viw_reads *reads);
/* rx: the Read or atomic whose answer comes next; NULL: none. */
const struct viw_outbound_read *viw_read_oldest(struct viw_reads *reads, uint32_t *number);
/* rx: tell `in` which answer comes next. */
void viw_read_await(struct viw_reads *reads, struct rdmap_inbound *in);
/* rx: the answer is complete. */
void viw_read_finish(struct viw_qp *qp);

#endif /* VIW_READ_H */
