/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The user half of every software provider: rings, slot accounting, polling, arming.
 *
 * A provider fills a vsw_doorbell and puts its address into the words of the RNIC's ri_map (in one
 * process); its ri_user_ops and most of its ri_fast_ops are those below. Across processes (later) the
 * doorbell becomes a futex word and an eventfd; the rings stay as they are.
 */
#ifndef VSW_USER_H
#define VSW_USER_H

#include "vsw_queue.h"

/* How the user half reaches its engine in the same process. All on the fast path. */
struct vsw_doorbell {
	void *engine;
	void (*sq)(void *engine_qp);       /* something was posted to the send queue */
	void (*sq_flush)(void *engine_qp); /* let held-back requests go */
	void (*rq)(void *engine_qp);       /* a receive was posted; may be NULL */
	void (*srq)(void *engine_srq);     /* a shared receive was posted; may be NULL */
	uint32_t (*poll)(
		void *engine); /* a poll found nothing: make progress, return what was done */
	uint32_t (*progress)(void *engine, uint32_t budget);
	bool (*lead_enter)(void *engine, int *fd);
	void (*lead_leave)(void *engine);
	bool (*spin_futile)(void *engine);
};

/* Fill the maps that go with the objects; numbers as in vsw_wq::number. */
void vsw_map_rnic(struct ri_map *map, const struct vsw_doorbell *doorbell);
void vsw_map_cq(struct ri_map *map, const struct vsw_cq *cq);
void vsw_map_srq(struct ri_map *map, const struct vsw_wq *srq, void *engine_srq);
/* `limits`: segments by opcode class: send, write, read sink. The ring holds the largest. */
/* For vsw_user_ops::qp_remap, after vsw_wq_reshape of either. */
void vsw_map_qp_again(struct ri_map *map, const struct vsw_wq *sq, const struct vsw_wq *rq);
void vsw_map_qp(struct ri_map *map, const struct vsw_wq *sq, const struct vsw_wq *rq,
		void *engine_qp, const struct ri_qp_init *limits);

extern const struct ri_user_ops vsw_user_ops;

enum ri_status vsw_post_sq(struct ri_uqp *qp, const struct ri_wr *wr);
enum ri_status vsw_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr);
enum ri_status vsw_post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr);
void vsw_flush_sq(struct ri_uqp *qp);
uint32_t vsw_poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n);
uint32_t vsw_cq_depth(struct ri_ucq *cq);
enum ri_status vsw_arm_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count);
uint32_t vsw_progress(struct ri_urnic *rnic, uint32_t budget);
bool vsw_user_leader_enter(struct ri_urnic *rnic, int *fd);
void vsw_user_leader_leave(struct ri_urnic *rnic);
bool vsw_spin_futile(struct ri_urnic *rnic);

/* The whole table, for providers that add nothing. */
extern const struct ri_fast_ops vsw_fast_ops;

#endif /* VSW_USER_H */
