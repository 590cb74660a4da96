/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A shared receive queue as its engine holds it: many queue pairs take from one ring, and those that
 * find it empty stand in a row until something is posted. vsw_srq.c tells the rest.
 */
#ifndef VSW_SRQ_H
#define VSW_SRQ_H

#include "rnicpi.h"
#include "vsw_mem.h"
#include "vsw_queue.h"
#include "vsw_user.h"

struct vsw_srq;

/* One queue pair of an SRQ; part of that. */
struct vsw_srq_member {
	struct vsw_srq *srq;         /* NULL: the queue pair has receives of its own */
	const struct vsw_wq *own;    /* queue without slots: tells what has been polled */
	struct vsw_srq_member *next; /* in the row; under the SRQ's lock, as the two below */
	struct vsw_srq_member *prev;
	bool waits;
	bool pass_on;      /* others wait and there is something for them; of the taker */
	atomic_uint woken; /* threads that let it run just now */
	atomic_uint taken; /* receives ever taken */
	atomic_uint soft;  /* more in progress: to be told, once; 0: off */
	atomic_uint hard;  /* more in progress: the end; UINT32_MAX: off */
};

/* What an SRQ needs to know of its provider. */
struct vsw_srq_params {
	const struct ri_host *host;
	const struct ri_upcalls *upcalls;
	const void *pd; /* that buffers must be of; compared, never followed */
	void (*wake)(struct vsw_srq_member *member); /* let it look again; any thread */
};

struct vsw_srq {
	struct vsw_wq wq;
	struct vsw_srq_params params;
	uint64_t ctx;
	atomic_uint users;    /* queue pairs */
	struct vsw_lock lock; /* takers and all that follows */
	uint32_t limit;       /* fewer receives left: to be told, once; 0: off */
	bool limit_due;
	bool failed;
	bool failed_due;
	struct vsw_srq_member *first; /* in the row */
	struct vsw_srq_member *last;
	struct vsw_role waking; /* who wakes members; nobody waits for it */
	struct ri_task task;    /* tells of the limit, on the service thread */
};

enum vsw_srq_result {
	VSW_SRQ_TAKEN = 0,
	VSW_SRQ_EMPTY,      /* the member stands in the row and is woken when it is its turn */
	VSW_SRQ_HARD_LIMIT, /* it has too many in progress; nothing was taken */
	VSW_SRQ_FAILED      /* the SRQ has failed */
};

/* --- control path ------------------------------------------------------------------------ */

/* `attr`: real sizes. RI_ERR_INVALID_ARG (no receives, or the limit is above them), RI_ERR_RESOURCES. */
enum ri_status vsw_srq_create(struct vsw_srq *srq, const struct vsw_srq_params *params,
			      struct ri_srq_attr *attr) RI_MUST_CHECK;
/* As ri_srq_ops::modify; the map is filled by vsw_map_srq. */
enum ri_status vsw_srq_modify(struct vsw_srq *srq, struct ri_srq_attr *attr,
			      bool resize) RI_MUST_CHECK;
void vsw_srq_query(struct vsw_srq *srq, struct ri_srq_attr *attr);
void vsw_srq_destroy(struct vsw_srq *srq);
/* It is broken: every member that wants a receive ends; tells RI_EVENT_SRQ_CATASTROPHIC. */
void vsw_srq_fail(struct vsw_srq *srq);

/* A queue pair is tied to it for life; `own` has no slots. */
void vsw_srq_join(struct vsw_srq *srq, struct vsw_srq_member *member, const struct vsw_wq *own,
		  const struct ri_qp_init *init);
/* The queue pair goes: it stands in no row, and nobody is waking it any more. */
void vsw_srq_part(struct vsw_srq_member *member);
/* As ri_qp_ops::modify: those of RI_QP_ATTR_SOFT and _HARD that are in `mask`. */
void vsw_srq_limits(struct vsw_srq_member *member, const struct ri_qp_attr *attr, uint32_t mask);

/* --- fast path --------------------------------------------------------------------------- */

/*
 * Take the next receive, one thread per member at a time. After success look at vsw_srq_soft_due, and
 * call vsw_srq_pass_on when convenient.
 */
enum vsw_srq_result vsw_srq_take(struct vsw_srq_member *member, struct vsw_wqe *out);
/* Would taking be more than waiting on? */
bool vsw_srq_ready(struct vsw_srq_member *member);
/* It waits no more. */
void vsw_srq_leave(struct vsw_srq_member *member);
/* Let others take what is left for them. */
void vsw_srq_pass_on(struct vsw_srq_member *member);
/* Something was posted; entry of vsw_doorbell. */
void vsw_srq_bell(void *srq);

/* Receives taken by this queue pair and not polled. */
uint32_t vsw_srq_in_progress(const struct vsw_srq_member *member);
/* Are they more than the soft limit? True once; then the limit is off. */
bool vsw_srq_soft_due(struct vsw_srq_member *member);
/* Are they more than the hard limit? */
bool vsw_srq_hard_due(const struct vsw_srq_member *member);

#endif /* VSW_SRQ_H */
