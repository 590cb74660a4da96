/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef VERBS_REACH_H
#define VERBS_REACH_H

/**
 * @file verbs_reach.h @brief All operations on memory that a case has registered itself: first
 * accesses that must be granted, then one that must be refused, over one connection.
 *
 * A case sets up the memory (`memory`, `expected`, both of `room` octets) and the key; each
 * operation has one of its ranges as source or target. All of the memory is compared, so an access
 * to a wrong place in it is found, too.
 */

#include <string.h>

#include "verbs_pair.h"

#define REACH_MOST 512u /* octets of an operation, unless reach_open_for() says otherwise */

/* What an operation uses the memory for. */
enum reach_subject {
	REACH_SEND,       /* source of a Send */
	REACH_WRITE_FROM, /* source of a Write */
	REACH_RECEIVE,    /* a receive */
	REACH_READ_INTO,  /* sink of a Read */
	REACH_WRITE,      /* target of a Write */
	REACH_READ,       /* source of a Read */
	REACH_ADD,        /* target of an atomic */
	REACH_LAST = REACH_ADD
};

struct reach {
	struct cert *cert;
	enum reach_subject subject;
	struct cert_node *near, *far;
	struct cert_end *a, *b;           /* a posts requests, b receives */
	struct cert_region *here, *there; /* good memory of both sides */
	struct cert_node *owner;          /* whose memory is tried */
	uint8_t *memory, *expected;
	size_t room;
	uint32_t turn;
	uint32_t most; /* octets of `here` and `there` */
	bool pieces; /* operations are longer than a packet: one that is refused may have moved the pieces before */
	size_t start, length; /* with `pieces`: the region, in `memory` */
};

static inline const char *
reach_name(enum reach_subject subject)
{
	static const char *const names[REACH_LAST + 1] = {
		"the source of a Send",    "the source of a Write", "a receive",
		"the sink of a Read",      "the target of a Write", "the source of a Read",
		"the target of an atomic",
	};

	return names[subject];
}

/* Can the adapter do it? */
static inline bool
reach_can(const struct cert *cert, enum reach_subject subject)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	bool reads = attr->max_ord > 0 && attr->max_ird > 0;

	if (subject == REACH_ADD)
		return reads && attr->atomics;
	return reads || (subject != REACH_READ && subject != REACH_READ_INTO);
}

static inline bool
reach_remote(enum reach_subject subject)
{
	return subject == REACH_WRITE || subject == REACH_READ || subject == REACH_ADD;
}

/* All rights that a region of this adapter can have. */
static inline uint32_t
reach_rights(const struct cert *cert)
{
	return CERT_ALL | (cert_attr(cert)->atomics ? (uint32_t)RI_ACCESS_REMOTE_ATOMIC : 0u);
}

static inline void
reach_open_for(struct reach *reach, struct cert *cert, enum reach_subject subject, uint32_t most)
{
	*reach = (struct reach){.cert = cert, .subject = subject, .most = most};
	reach->near = cert_node_open(cert);
	reach->far = cert_node_open(cert);
	reach->here = cert_region_new(reach->near, most, CERT_ALL);
	reach->there = cert_region_new(reach->far, most, CERT_ALL);
	reach->owner = reach_remote(subject) || subject == REACH_RECEIVE ? reach->far : reach->near;
}

static inline void
reach_open(struct reach *reach, struct cert *cert, enum reach_subject subject)
{
	reach_open_for(reach, cert, subject, REACH_MOST);
}

static inline void
reach_close(struct reach *reach)
{
	cert_node_close(reach->near);
	cert_node_close(reach->far);
}

/* The memory that is tried, with a pattern in it. */
static inline void
reach_over(struct reach *reach, uint8_t *memory, uint8_t *expected, size_t room)
{
	reach->memory = memory;
	reach->expected = expected;
	reach->room = room;
	cert_fill(memory, room, ++reach->turn);
	memcpy(expected, memory, room);
}

static inline void
reach_connect(struct reach *reach)
{
	reach->a = cert_end_new(reach->near, NULL);
	reach->b = cert_end_new(reach->far, NULL);
	cert_connect(reach->a, reach->b);
}

static inline void
reach_disconnected(struct reach *reach)
{
	cert_end_free(reach->a);
	cert_end_free(reach->b);
	cert_events_forget(reach->near);
	cert_events_forget(reach->far);
}

/* --- one operation ------------------------------------------------------------------------------ */

static inline void
reach_post(struct reach *reach, const struct ri_sge *range)
{
	struct ri_sge here = cert_sge(reach->here, 0, range->length);
	struct ri_sge there = cert_sge(reach->there, 0, range->length);

	switch (reach->subject) {
	case REACH_SEND:
		cert_post_recv(reach->b, 2, &there, 1);
		cert_post_send(reach->a, 1, range, 1, 0);
		break;
	case REACH_RECEIVE:
		cert_post_recv(reach->b, 2, range, 1);
		cert_post_send(reach->a, 1, &here, 1, 0);
		break;
	case REACH_WRITE_FROM:
		cert_post_rdma(reach->a, RI_OP_RDMA_WRITE, 1, range, &there);
		break;
	case REACH_WRITE:
		cert_post_rdma(reach->a, RI_OP_RDMA_WRITE, 1, &here, range);
		break;
	case REACH_READ_INTO:
		cert_post_rdma(reach->a, RI_OP_RDMA_READ, 1, range, &there);
		break;
	case REACH_ADD:
		here.length = 8;
		cert_post(reach->a, &(struct ri_wr){.wr_id = 1,
						    .opcode = RI_OP_FETCH_ADD,
						    .sgl = &here,
						    .num_sge = 1,
						    .flags = RI_WR_SIGNALED,
						    .u.remote = {.addr = range->addr,
								 .stag = range->stag,
								 .operand = 3}});
		break;
	case REACH_READ:
	default:
		cert_post_rdma(reach->a, RI_OP_RDMA_READ, 1, &here, range);
		break;
	}
}

/* A Send behind a Write: when it has arrived the Write is placed. */
static inline void
reach_behind(struct reach *reach)
{
	cert_post_recv(reach->b, 4, NULL, 0);
	cert_post_send(reach->a, 3, NULL, 0, 0);
	cert_wc_is(reach->a, false, 3, RI_WC_SUCCESS);
	cert_wc_is(reach->b, true, 4, RI_WC_SUCCESS);
}

static inline void
reach_compare(struct reach *reach)
{
	if (memcmp(reach->memory, reach->expected, reach->room) != 0)
		CERT_BYTES(reach->cert, reach->memory, reach->expected, reach->room);
}

/* What a granted operation has moved; its range is `at` octets into the memory. */
static inline void
reach_moved(struct reach *reach, size_t at, uint32_t length)
{
	uint64_t word;

	switch (reach->subject) {
	case REACH_SEND:
	case REACH_WRITE_FROM:
		CERT_BYTES(reach->cert, reach->there->at, reach->expected + at, length);
		break;
	case REACH_READ:
		CERT_BYTES(reach->cert, reach->here->at, reach->expected + at, length);
		break;
	case REACH_RECEIVE:
	case REACH_WRITE:
		memcpy(reach->expected + at, reach->here->at, length);
		break;
	case REACH_READ_INTO:
		memcpy(reach->expected + at, reach->there->at, length);
		break;
	case REACH_ADD:
	default:
		memcpy(&word, reach->expected + at, sizeof(word));
		CERT_BYTES(reach->cert, reach->here->at, &word, sizeof(word));
		word += 3;
		memcpy(reach->expected + at, &word, sizeof(word));
		break;
	}
	reach_compare(reach);
}

/* An operation that is granted. The range is `at` octets into the memory, whatever its address is. */
static inline void
reach_granted(struct reach *reach, const struct ri_sge *range, size_t at)
{
	cert_fill(reach->here->at, reach->most, ++reach->turn);
	cert_fill(reach->there->at, reach->most, ++reach->turn);
	reach_post(reach, range);
	cert_wc_is(reach->a, false, 1, RI_WC_SUCCESS);
	if (reach->subject == REACH_SEND || reach->subject == REACH_RECEIVE)
		cert_wc_is(reach->b, true, 2, RI_WC_SUCCESS);
	if (reach->subject == REACH_WRITE || reach->subject == REACH_WRITE_FROM)
		reach_behind(reach);
	reach_moved(reach, at, range->length);
}

/* Both sides end; what failed has no success, and no memory has changed. */
static inline void
reach_refused(struct reach *reach, const struct ri_sge *range)
{
	bool early = reach->subject == REACH_WRITE || reach->subject == REACH_RECEIVE;
	struct ri_wc wc;

	cert_fill(reach->here->at, reach->most, reach->turn + 1);
	cert_fill(reach->there->at, reach->most, reach->turn + 2);
	reach_post(reach, range);
	if (reach->subject == REACH_RECEIVE)
		cert_wc_is(reach->b, true, 2, RI_WC_LOCAL_PROTECTION);
	wc = cert_wc(reach->a, false);
	/* A Write or a Send may be completed before the peer has looked at it [RI 10.20]. */
	if (!early || cert_attr(reach->cert)->completion_acked)
		CERT_UINT(reach->cert, wc.status, !=, RI_WC_SUCCESS);
	if (reach->subject == REACH_SEND)
		cert_wc_is(reach->b, true, 2, RI_WC_FLUSHED);
	cert_wait_end(reach->a);
	cert_wait_end(reach->b);
	if (reach->pieces) {
		memcpy(reach->expected + reach->start, reach->memory + reach->start, reach->length);
		reach_compare(reach);
		return;
	}
	cert_expect_fill(reach->cert, "memory of this side", reach->here->at, reach->most,
			 reach->turn + 1);
	cert_expect_fill(reach->cert, "memory of the peer", reach->there->at, reach->most,
			 reach->turn + 2);
	reach_compare(reach);
	reach->turn += 2;
}

#endif /* VERBS_REACH_H */
