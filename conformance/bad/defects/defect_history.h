/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Records of queue pairs, for defects that appear only after a certain history. Each queue pair has one, found by its
 * context number, with the requests of one work queue whose completions were not polled. One lock guards all records;
 * it is taken after the lock of wrap_obj::held, and before wrap_rnic::lock.
 */
#ifndef DEFECT_HISTORY_H
#define DEFECT_HISTORY_H

#include "defect.h"

/* A request or a receive that was posted. */
struct history_wr {
	uint64_t wr_id;
	uint64_t label; /* reported in place of wr_id */
	uint32_t flags;
	uint8_t opcode;
	const void *sink;  /* atomic: where its result goes; NULL: not known */
	uint8_t before[8]; /* what was there when it was posted */
};

struct history_qp {
	struct history_qp *next;
	struct wrap_rnic *rnic;
	uint64_t ctx;
	struct wrap_obj *srq; /* or NULL */
	bool dead;            /* the queue pair is destroyed */
	uint32_t ord;
	uint32_t slots;
	uint64_t posted, polled; /* a defect's own */
	struct history_wr *ring; /* the oldest at `first` */
	uint32_t first, count, room;
	struct ri_qp_counters *counters;
	/* Memory in which a request is sent as it was when it was posted. */
	uint8_t *scratch;
	void *scratch_mr; /* of the wrapped provider */
	uint32_t scratch_stag;
	uint32_t scratch_next;
};

void history_lock(void);
void history_unlock(void);

/* With the lock. The newest of that context number, or NULL. */
struct history_qp *history_find(const struct wrap_rnic *rnic, uint64_t ctx);
/* With the lock. Without memory the request is not remembered. */
void history_push(struct history_qp *qp, const struct history_wr *wr);
/* With the lock. The n-th of the ring; n < count. */
struct history_wr *history_at(const struct history_qp *qp, uint32_t n);
/* Without the lock: post, and note what was accepted. */
enum ri_status history_post_sq(struct ri_uqp *qp, const struct ri_wr *wr,
			       const struct history_wr *note);
enum ri_status history_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr,
			       const struct history_wr *note);
/* With the lock. A request of the send queue is completed: forget it and those before it. False: it is not known. */
bool history_done(struct history_qp *qp, const struct ri_wc *wc, struct history_wr *out);
/* With the lock. Forget the records of an S-RQ. */
void history_drop_srq(const struct wrap_obj *srq);

/* Entries of a defect with records. `modify` follows ORD, and forgets the requests on the way back to IDLE. */
enum ri_status history_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
				 struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
				 struct ri_map *map);
enum ri_status history_qp_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask);
enum ri_status history_qp_destroy(struct ri_qp *qp);
/* Forget the records of a queue pair that is destroyed. */
void history_qp_forget(const struct wrap_obj *qp);
/* defect::end: forget what the adapter still has. */
void history_end(struct wrap_rnic *rnic);
/* defect::wc of a defect that only follows its send queues. */
enum defect_act history_follow(struct wrap_obj *ucq, struct ri_wc *wc);

/* Is it a completion of a receive? Of a failed one only the opcode counts. */
static inline bool
history_is_receive(const struct ri_wc *wc)
{
	return wc->opcode == RI_OP_RECV || wc->opcode == RI_OP_RECV_UD ||
	       wc->opcode == RI_OP_RECV_WRITE;
}

/* The region or window with that index of an STag, or NULL; with wrap_rnic::lock. */
struct wrap_obj *history_by_index(struct wrap_rnic *rnic, enum wrap_kind kind, uint32_t stag);

#endif /* DEFECT_HISTORY_H */
