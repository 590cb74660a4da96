/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Work requests: lists of requests and receives, and binds of windows. */
#ifndef DOOR_POST_H
#define DOOR_POST_H

#include "door_qp.h"

/* What of a request of verbs goes with its opcode. */
enum door_part {
	DOOR_PART_REMOTE = 0, /* an address and a key of the peer, or nothing */
	DOOR_PART_REFUSED,    /* this type of queue pair has no such request */
	DOOR_PART_ATOMIC,
	DOOR_PART_DATAGRAM,
	DOOR_PART_KEY, /* LOCAL_INV */
	DOOR_PART_BIND
};

struct door_op {
	uint8_t opcode; /* enum ri_opcode */
	uint8_t part;   /* enum door_part */
	uint32_t flags; /* RI_WR_* */
};

#define DOOR_OPS        (IBV_WR_ATOMIC_WRITE + 1)
#define DOOR_SEND_FLAGS (IBV_SEND_INLINE * 2) /* values of ibv_send_wr::send_flags */

/* What queue pairs of a type can do. Both tables in one struct, so a post needs one pointer. */
struct door_ops {
	struct door_op ops[DOOR_OPS];    /* by enum ibv_wr_opcode */
	uint32_t flags[DOOR_SEND_FLAGS]; /* RI_WR_* by IBV_SEND_* */
};

const struct door_ops *door_post_ops(enum ibv_qp_type type);

/* May the queue pair post sends in its state? 0 or an errno. */
int door_post_send_state(struct door_qp *qp);

/* Translate the destination of a datagram into `to`; 0 or an errno. */
int door_post_datagram(const struct door_qp *qp, const struct ibv_ah *ah, uint32_t qpn,
		       uint32_t qkey, struct ri_wr_ud *to);

/* Translate a bind: fills wr->u, adds RI_WR_BIND_RELATIVE for a zero-based window, returns no key. 0 or an errno. */
int door_post_bind_of(const struct door_qp *qp, const struct ibv_mw *mw, uint32_t rkey,
		      const struct ibv_mw_bind_info *info, struct ri_wr *wr);

/* Operations of contexts. The `locked` ones are for providers whose queues take one post at a time. */
int door_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int door_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int door_post_srq(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int door_post_send_locked(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int door_post_recv_locked(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int door_post_srq_locked(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int door_post_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

#endif /* DOOR_POST_H */
