/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The user half of every software provider: rings, slot accounting, polling, arming.
 *
 * A provider fills a vsw_doorbell and passes its address in the RNIC's ri_map, which works within one
 * process. Its ri_user_ops and most of its ri_fast_ops are those below.
 */
#ifndef VSW_USER_H
#define VSW_USER_H

#include "vsw_queue.h"

/* How the user half reaches its engine in the same process. All on the fast path. */
struct vsw_doorbell {
	void *engine;
	void (*sq)(void *engine_qp);       /* something was posted to the send queue */
	void (*sq_flush)(void *engine_qp); /* send requests that are held back */
	void (*rq)(void *engine_qp);       /* a receive was posted; may be NULL */
	void (*srq)(void *engine_srq);     /* a shared receive was posted; may be NULL */
	/* A poll found nothing: make progress; returns how much was done. */
	uint32_t (*poll)(void *engine);
	uint32_t (*progress)(void *engine, uint32_t budget);
	bool (*leader_enter)(void *engine, int *fd);
	void (*leader_leave)(void *engine);
	bool (*spin_futile)(void *engine);
	/* A bind is posted: choose the STag of a wide window, and store it there, too; NULL: the poster chooses. */
	void (*bind)(void *engine_qp, struct ri_wr_bind *bind, uint32_t *stag);
	/* What the engine knows of a queue pair is counted there; returns RI_COUNTED_* bits. NULL: it counts nothing. */
	uint32_t (*count)(void *engine_qp, struct ri_qp_counters *counters);
	uint32_t max_inline;     /* as the adapter claims; 0: no request can be inline */
	uint32_t immediate_with; /* RI_IMMEDIATE_* bits, as the adapter claims */
};

/* Fill the maps that describe the objects to the user half; numbers as in vsw_wq::number. */
void vsw_map_rnic(struct ri_map *map, const struct vsw_doorbell *doorbell);
void vsw_map_cq(struct ri_map *map, const struct vsw_cq *cq);
void vsw_map_srq(struct ri_map *map, const struct vsw_wq *srq, void *engine_srq);
/* `limits`: segments of each class of requests: Send, Write, Read sink. The ring has room for the most. */
void vsw_map_qp(struct ri_map *map, const struct vsw_wq *sq, const struct vsw_wq *rq,
		void *engine_qp, const struct ri_qp_init *limits);
/* For vsw_user_ops::qp_remap, after vsw_wq_reshape of either queue. */
void vsw_map_qp_again(struct ri_map *map, const struct vsw_wq *sq, const struct vsw_wq *rq);

extern const struct ri_user_ops vsw_user_ops;

enum ri_status vsw_post_sq(struct ri_uqp *qp, const struct ri_wr *wr);
enum ri_status vsw_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr);
enum ri_status vsw_post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr);
uint32_t vsw_poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n);
uint32_t vsw_cq_depth(struct ri_ucq *cq);
enum ri_status vsw_arm_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count);
uint32_t vsw_progress(struct ri_urnic *rnic, uint32_t budget);

/* The complete table, for providers that add nothing to it. */
extern const struct ri_fast_ops vsw_fast_ops;

#endif /* VSW_USER_H */
