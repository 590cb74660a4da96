/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Work requests: lists of requests and receives, and binds of windows. */
#ifndef DOOR_POST_H
#define DOOR_POST_H

#include "door_qp.h"

/* What of a request of verbs goes with its opcode. */
enum door_part {
	DOOR_PART_REFUSED = 0, /* this type of queue pair has no such request */
	DOOR_PART_NONE,
	DOOR_PART_REMOTE,
	DOOR_PART_ATOMIC,
	DOOR_PART_DATAGRAM,
	DOOR_PART_KEY, /* LOCAL_INV */
	DOOR_PART_BIND
};

struct door_op {
	uint8_t opcode; /* enum ri_opcode */
	uint8_t part;   /* enum door_part */
	bool no_data;   /* it takes no segments */
	uint32_t flags; /* RI_WR_* */
};

#define DOOR_OPS (IBV_WR_ATOMIC_WRITE + 1)

/* What queue pairs of that type can do; DOOR_OPS entries. */
const struct door_op *door_post_ops(enum ibv_qp_type type);

/* RI_WR_* for IBV_SEND_*; UINT32_MAX: a bit that no request can have here. */
uint32_t door_post_flags(unsigned send_flags);

/* 0, or the errno for a request in the state of the queue pair. */
int door_post_send_state(struct door_qp *qp);

/* The destination of a datagram; 0 or an errno. */
int door_post_datagram(const struct door_qp *qp, const struct ibv_ah *ah, uint32_t qpn,
		       uint32_t qkey, struct ri_wr_ud *to);

/* A bind in words of RNIC-PI; 0 or an errno. */
int door_post_bind_of(const struct door_qp *qp, const struct ibv_mw *mw, uint32_t rkey,
		      const struct ibv_mw_bind_info *info, struct ri_wr_bind *bind);

/* Operations of contexts. The `locked` ones are for providers whose queues take one post at a time. */
int door_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int door_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int door_post_srq(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int door_post_send_locked(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int door_post_recv_locked(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int door_post_srq_locked(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int door_post_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

#endif /* DOOR_POST_H */
