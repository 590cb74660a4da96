/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The engine's side of a shared receive queue: many queue pairs take receives from one ring, and those that
 * find it empty wait in a line until a receive is posted. vsw_srq.c has the details.
 */
#ifndef VSW_SRQ_H
#define VSW_SRQ_H

#include "rnicpi.h"
#include "vsw_mem.h"
#include "vsw_queue.h"
#include "vsw_user.h"

struct vsw_srq;

/* A queue pair as a member of its SRQ; part of the queue pair. */
struct vsw_srq_member {
	struct vsw_srq *srq;         /* NULL: the queue pair has receives of its own */
	const struct vsw_wq *own;    /* its queue without slots, which counts the receives polled */
	struct vsw_srq_member *next; /* in the line; under the SRQ's lock, as the two below */
	struct vsw_srq_member *prev;
	bool waits;
	bool pass_on; /* other members wait and there are receives for them; of the taking thread */
	atomic_uint woken; /* threads that are waking it just now */
	atomic_uint taken; /* receives taken so far */
	atomic_uint soft;  /* with more in progress an event is raised, once; 0: off */
	atomic_uint hard;  /* with more in progress the connection ends; UINT32_MAX: off */
};

/* What an SRQ needs from its provider. */
struct vsw_srq_params {
	const struct ri_host *host;
	const struct ri_upcalls *upcalls;
	const void *pd; /* protection domain of its buffers; compared, never dereferenced */
	void (*wake)(
		struct vsw_srq_member *member); /* have it look for a receive again; any thread */
};

struct vsw_srq {
	struct vsw_wq wq;
	struct vsw_srq_params params;
	uint64_t ctx;
	atomic_uint users;    /* queue pairs */
	struct vsw_lock lock; /* taking receives, and all that follows */
	uint32_t limit;       /* with fewer receives left an event is raised, once; 0: off */
	bool limit_due;       /* that event is to be raised */
	bool failed;
	bool failed_due;              /* the event of that is to be raised */
	struct vsw_srq_member *first; /* of the members that wait */
	struct vsw_srq_member *last;
	struct vsw_role waking; /* the right to wake members */
	struct ri_task task;    /* raises the events, on the service thread */
};

enum vsw_srq_result {
	VSW_SRQ_TAKEN = 0,
	VSW_SRQ_EMPTY,      /* the member waits in the line and is woken when it is its turn */
	VSW_SRQ_HARD_LIMIT, /* it has too many in progress; nothing was taken */
	VSW_SRQ_FAILED      /* the SRQ has failed */
};

/* --- control path ------------------------------------------------------------------------ */

/* `attr`: wanted, then granted. RI_ERR_INVALID_ARG (no receives, or a limit above them), RI_ERR_RESOURCES. */
enum ri_status vsw_srq_create(struct vsw_srq *srq, const struct vsw_srq_params *params,
			      struct ri_srq_attr *attr) RI_MUST_CHECK;
/* As ri_srq_ops::modify; the map is filled by vsw_map_srq. */
enum ri_status vsw_srq_modify(struct vsw_srq *srq, struct ri_srq_attr *attr,
			      bool resize) RI_MUST_CHECK;
void vsw_srq_query(struct vsw_srq *srq, struct ri_srq_attr *attr);
void vsw_srq_destroy(struct vsw_srq *srq);
/* The SRQ fails: every member that wants a receive ends, and RI_EVENT_SRQ_CATASTROPHIC is raised. */
void vsw_srq_fail(struct vsw_srq *srq);

/* A queue pair becomes a member, until it is destroyed; `own` has no slots. */
void vsw_srq_join(struct vsw_srq *srq, struct vsw_srq_member *member, const struct vsw_wq *own,
		  const struct ri_qp_init *init);
/* The queue pair is destroyed: on return it is in no line, and no thread is waking it. */
void vsw_srq_part(struct vsw_srq_member *member);
/* As ri_qp_ops::modify: those of RI_QP_ATTR_SOFT and _HARD that are in `mask`. */
void vsw_srq_limits(struct vsw_srq_member *member, const struct ri_qp_attr *attr, uint32_t mask);

/* --- fast path --------------------------------------------------------------------------- */

/*
 * Take the next receive; one thread per member at a time. After success check vsw_srq_soft_due, and call
 * vsw_srq_pass_on when convenient.
 */
enum vsw_srq_result vsw_srq_take(struct vsw_srq_member *member, struct vsw_wqe *out);
/* Would vsw_srq_take give an answer other than VSW_SRQ_EMPTY? */
bool vsw_srq_ready(struct vsw_srq_member *member);
/* Leave the line: the member waits no longer. */
void vsw_srq_leave(struct vsw_srq_member *member);
/* Wake other members, if vsw_srq_take or vsw_srq_leave has found receives for them. */
void vsw_srq_pass_on(struct vsw_srq_member *member);
/* A receive was posted; entry of vsw_doorbell. */
void vsw_srq_bell(void *srq);

/* Receives that this queue pair has taken and whose completions have not been polled. */
uint32_t vsw_srq_in_progress(const struct vsw_srq_member *member);
/* Are they more than the soft limit? True once; after that the limit is off. */
bool vsw_srq_soft_due(struct vsw_srq_member *member);
/* Are they more than the hard limit? */
bool vsw_srq_hard_due(const struct vsw_srq_member *member);

#endif /* VSW_SRQ_H */
