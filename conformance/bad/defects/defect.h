/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A defect, as a row of a table. An adapter with a defect wraps a correct adapter and changes its
 * behaviour. The files defect_SUBJECT.c have the tables; defect_list.c joins them.
 *
 * Most defects are a hook, a function that sees each request or completion that passes and may
 * change it; defect_hooks.c calls the hooks. The others replace entries of the adapter's tables in
 * `apply`. A hook's counters are wrap_obj::count and wrap_rnic::count.
 */
#ifndef DEFECT_H
#define DEFECT_H

#include "wrap.h"

/* What a defect needs of the wrapped adapter; bits. Without it there is no such adapter. */
enum defect_need {
	NEED_ADDRESS = 1u << 0, /* connections by address */
	NEED_STREAM = 1u << 1,  /* connections over a stream */
	NEED_SRQ = 1u << 2,
	NEED_UD = 1u << 3,
	NEED_ATOMICS = 1u << 4,
	NEED_NARROW = 1u << 5,     /* narrow windows */
	NEED_WIDE = 1u << 6,       /* wide windows */
	NEED_INVALIDATE = 1u << 7, /* Send with invalidate */
	NEED_REREGISTER = 1u << 8,
	NEED_RESIZE = 1u << 9, /* completion and work queues */
	NEED_ORDER = 1u << 10, /* completions in order */
	NEED_THREE_WAY = 1u << 11,
	NEED_RELATIVE = 1u << 12, /* zero-based regions */
	NEED_PRIVILEGED = 1u << 13,
	NEED_REUSE = 1u << 14, /* queue pairs go back to IDLE */
	NEED_TERMINATE = 1u << 15,
	NEED_TIME_WAIT = 1u << 16,
	NEED_SOFT_LIMIT = 1u << 17, /* an event for the soft high watermark */
	NEED_DMABUF = 1u << 18,
	NEED_RETURNED = 1u << 19, /* the post of a bind of a wide window returns its STag */
	NEED_INLINE = 1u << 20,
	NEED_IMMEDIATE = 1u << 21,       /* with Sends */
	NEED_IMMEDIATE_WRITE = 1u << 22, /* with Writes */
	NEED_PEER = 1u << 23,            /* connections by attributes */
	NEED_UC = 1u << 24,
	NEED_MULTICAST = 1u << 25,
	NEED_IOVA = 1u << 26,
	NEED_NUMBER = 1u << 27,
	NEED_ENABLES = 1u << 28 /* rights of queue pairs can be changed */
};

/* What becomes of a completion. */
enum defect_act {
	DEFECT_PASS = 0, /* it is reported, as the hook has changed it */
	DEFECT_LOSE,     /* it is not reported */
	DEFECT_TWICE,    /* it is reported again by the next poll */
	DEFECT_LATE      /* reported by the third poll that finds nothing else */
};

#define DEFECT_SGE   64
#define DEFECT_PAGES 256

/* A request of a send queue as a copy that a hook may change; `sgl` has the segments, up to DEFECT_SGE. */
struct defect_wr {
	struct ri_wr wr;
	struct ri_sge sgl[DEFECT_SGE];
	uint64_t pages[DEFECT_PAGES]; /* for a hook that changes the list of a fast registration */
};

struct defect {
	const char *id;    /* a word with hyphens */
	const char *title; /* what is wrong, in a few words */
	const char *does;  /* one sentence */
	unsigned needs;
	/* Hooks; each may be NULL. */
	void (*attr)(struct ri_rnic_attr *attr);
	size_t flips; /* offset of a bool of the profile that is reported as its opposite; 0: none */
	enum defect_act (*wc)(struct wrap_obj *ucq, struct ri_wc *wc);
	/* False: the request is not posted, but the caller hears that it was. */
	bool (*wr)(struct wrap_obj *uqp, struct defect_wr *wr);
	/* False: the event is not reported. */
	bool (*cm)(struct wrap_rnic *rnic, struct ri_cm_event *event);
	bool (*async)(struct wrap_rnic *rnic, struct ri_async_event *event);
	/* How often it is reported, 1 by default. */
	unsigned (*cq_event)(struct wrap_rnic *rnic, uint64_t ctx);
	const struct wrap_ops
		*entries; /* those that are not NULL stand in place of the wrapped ones */
	void (*apply)(struct wrap_rnic *rnic);
	/* Before the wrapped adapter is closed. */
	void (*end)(struct wrap_rnic *rnic);
};

/* A row; hooks and entries follow as designated members. */
#define DEFECT(id_, title_, does_, needs_, ...)                                                 \
	{                                                                                       \
		.id = (id_), .title = (title_), .does = (does_), .needs = (needs_), __VA_ARGS__ \
	}

/* In a row: these entries of struct wrap_ops are replaced. */
#define ENTRIES(...)                        \
	.entries = &(const struct wrap_ops) \
	{                                   \
		__VA_ARGS__                 \
	}

/* A file's rows, and how many there are. */
#define DEFECT_TABLE(name)                 \
	extern const struct defect name[]; \
	extern const size_t name##_count

DEFECT_TABLE(defects_completions);
DEFECT_TABLE(defects_queues);
DEFECT_TABLE(defects_memory);
DEFECT_TABLE(defects_keys);
DEFECT_TABLE(defects_connections);
DEFECT_TABLE(defects_lives);
DEFECT_TABLE(defects_upcalls);
DEFECT_TABLE(defects_claims);
DEFECT_TABLE(defects_rules);
DEFECT_TABLE(defects_promises);
DEFECT_TABLE(defects_privileged);
DEFECT_TABLE(defects_events);
DEFECT_TABLE(defects_dmabuf);
DEFECT_TABLE(defects_verbs);
DEFECT_TABLE(defects_firmware);
DEFECT_TABLE(defects_history_queues);
DEFECT_TABLE(defects_history_objects);
DEFECT_TABLE(defects_errata);
DEFECT_TABLE(defects_errata_queues);
DEFECT_TABLE(defects_driver);
DEFECT_TABLE(defects_driver_objects);
DEFECT_TABLE(defects_device);
DEFECT_TABLE(defects_device_objects);

/* --- all of them (defect_list.c) ---------------------------------------------------------------- */

/* The n-th, from 0; NULL beyond. The first is "none", which changes nothing. */
const struct defect *defect_get(size_t n);
/* The defect with that id, which has the given length; NULL: unknown id. */
const struct defect *defect_find(const char *id, size_t length);
/* Has the adapter all that the defect needs? */
bool defect_fits(const struct defect *defect, const struct ri_rnic_attr *attr);
/* Put the hooks and the entries into the tables, and call `apply`. */
void defect_start(struct wrap_rnic *rnic);

/* --- requests that are not done as they were posted (defect_defer.c) ------------------------------- */

/* When the request itself is posted. */
enum defect_begin {
	DEFECT_NEVER,
	DEFECT_WHEN_POLLED, /* with the poll that takes its completion; a judge may look too late */
	DEFECT_BEFORE_THE_NEXT /* its completion has been polled, and another request is posted */
};

/*
 * Post a Write of no octets in place of a request, and report its completion as that of the
 * request. False: this request cannot be replaced now.
 */
bool defect_defer(struct wrap_obj *uqp, struct defect_wr *wr, enum defect_begin begin);
/* Before each request of a defect that defers until the next one: post what is due. */
void defect_defer_due(struct wrap_obj *uqp);
/* defect::wc. The completion of a stand-in becomes that of the request; others stay as they are. */
enum defect_act defect_deferred(struct wrap_obj *ucq, struct ri_wc *wc);

/* --- for the rows --------------------------------------------------------------------------------- */

/* Is it time again? True for each n-th call of a counter, first for the n-th. */
static inline bool
defect_each(atomic_uint *count, unsigned n)
{
	return (atomic_fetch_add(count, 1) + 1) % n == 0;
}

/* A call of a counter that is not the first. */
static inline bool
defect_later(atomic_uint *count)
{
	return atomic_fetch_add(count, 1) > 0;
}

/* The queue pair of a completion; NULL: it is gone. */
static inline struct wrap_obj *
defect_qp(const struct wrap_obj *ucq, const struct ri_wc *wc)
{
	return wrap_find(ucq->rnic, WRAP_QP, wc->qp_ctx);
}

/* Has it to do with requests (not receives) that succeeded? */
static inline bool
defect_sent(const struct ri_wc *wc)
{
	return wc->status == RI_WC_SUCCESS && (wc->flags & RI_WC_RECEIVE) == 0 &&
	       wc->opcode != RI_OP_RECV && wc->opcode != RI_OP_RECV_UD;
}

static inline bool
defect_received(const struct ri_wc *wc)
{
	return wc->status == RI_WC_SUCCESS && wc->opcode == RI_OP_RECV;
}

#endif /* DEFECT_H */
