/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A queue pair and a completion queue without an engine: the test takes requests and completes them. */
#ifndef QUEUE_BENCH_H
#define QUEUE_BENCH_H

#include <glib.h>
#include <string.h>

#include "ri_at_end.h"
#include "vsw_user.h"

struct bench {
	struct vsw_doorbell bell;
	struct vsw_cq_upcall upcalls;
	struct vsw_wq sq;
	struct vsw_wq rq;
	struct vsw_cq cq;
	struct ri_urnic *rnic;
	struct ri_ucq *ucq;
	struct ri_uqp *uqp;
	guint sq_rings;
	guint rq_rings;
	guint polls;
	guint events;
	guint64 last_ctx;
	struct vsw_cqe *on_poll; /* called when a poll finds no completion */
	enum ri_qp_type type;
	uint32_t max_inline;
};

static inline void
ring_sq(void *engine_qp)
{
	struct bench *b = engine_qp;

	b->sq_rings++;
}

static inline void
ring_rq(void *engine_qp)
{
	struct bench *b = engine_qp;

	b->rq_rings++;
}

static inline uint32_t
ring_poll(void *engine)
{
	struct bench *b = engine;

	b->polls++;
	if (b->on_poll == NULL)
		return 0;
	g_assert_true(vsw_cq_push(&b->cq, b->on_poll));
	b->on_poll = NULL;
	return 1;
}

static inline void
cq_event(void *self, uint64_t ctx)
{
	struct bench *b = self;

	b->events++;
	b->last_ctx = ctx;
}

static inline void
qp_open(struct bench *b, uint32_t slots)
{
	struct ri_qp_init limits = {.type = b->type,
				    .max_send_sge = 4,
				    .max_write_sge = 3,
				    .max_read_sge = 1,
				    .max_recv_sge = 2};
	uint32_t sq = slots;
	uint32_t rq = slots;
	struct ri_map map;

	g_assert_cmpint(vsw_wq_create(&b->sq, &sq, 4, b->max_inline), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_rq_create(&b->rq, &rq, 2), ==, RI_SUCCESS);
	vsw_map_qp(&map, &b->sq, &b->rq, b, &limits);
	g_assert_cmpint(vsw_user_ops.qp_open(b->rnic, &map, b->ucq, b->ucq, NULL, &b->uqp), ==,
			RI_SUCCESS);
}

static inline void
qp_shut(struct bench *b)
{
	vsw_user_ops.qp_close(b->uqp);
	vsw_wq_destroy(&b->sq);
	vsw_wq_destroy(&b->rq);
}

/* What the adapter claims and the queue pair is: type and octets of an inline request. */
static inline void
set_up_as(struct bench *b, uint32_t slots, uint32_t entries, const struct bench *what)
{
	struct ri_map map;

	*b = *what;
	b->bell.engine = b;
	b->bell.sq = ring_sq;
	b->bell.rq = ring_rq;
	b->bell.poll = ring_poll;
	b->upcalls = (struct vsw_cq_upcall){.cq_event = cq_event, .self = b};
	g_assert_cmpint(vsw_cq_create(&b->cq, 77, &entries, &b->upcalls), ==, RI_SUCCESS);
	vsw_map_rnic(&map, &b->bell);
	g_assert_cmpint(vsw_user_ops.rnic_open(NULL, &map, &b->rnic), ==, RI_SUCCESS);
	vsw_map_cq(&map, &b->cq);
	g_assert_cmpint(vsw_user_ops.cq_open(b->rnic, &map, &b->ucq), ==, RI_SUCCESS);
	qp_open(b, slots);
}

static inline void
set_up(struct bench *b, uint32_t slots, uint32_t entries)
{
	static const struct bench plain;

	set_up_as(b, slots, entries, &plain);
}

static inline void
tear_down(struct bench *b)
{
	qp_shut(b);
	vsw_user_ops.cq_close(b->ucq);
	vsw_user_ops.rnic_close(b->rnic);
	vsw_cq_destroy(&b->cq);
}

static inline bool
complete(struct bench *b, uint64_t id, uint32_t number, uint32_t index, uint8_t flags)
{
	struct vsw_cqe cqe = {.wr_id = id,
			      .qp_ctx = 5,
			      .wq = number,
			      .wq_index = index,
			      .flags = flags,
			      .shared = (flags & RI_WC_RECEIVE) != 0,
			      .opcode = RI_OP_SEND};

	return vsw_cq_push(&b->cq, &cqe);
}

static inline enum ri_status
post(struct bench *b, uint64_t id)
{
	struct ri_wr wr = {.wr_id = id, .opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED};

	return vsw_post_sq(b->uqp, &wr);
}

static inline struct vsw_wqe *
wqe_room(void)
{
	static union {
		struct vsw_wqe wqe;
		uint8_t room[sizeof(struct vsw_wqe) + VSW_MAX_INLINE];
	} room;

	return &room.wqe;
}

#endif /* QUEUE_BENCH_H */
