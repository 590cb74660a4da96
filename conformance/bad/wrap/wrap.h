/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A provider that wraps another one. Its adapters are opened as
 *
 *     defect:ID:NAME    the adapter NAME with one defect (defect.h); the defect "none" changes nothing
 *     faulty:NAME       the adapter NAME, whose calls fail as ITAPI_FAULTY says (faulty.h)
 *     record:NAME       the adapter NAME, and ITAPI_RECORD names the file of the recording (record.h)
 *
 * Every handle of the access layer is a wrap_obj, which names the object of the wrapped provider. The
 * registered entries (wrap_entries.c) call those of the adapter's own tables, wrap_rnic::ops. They are
 * initially those of wrap_plain*.c, which pass every call on; a defect replaces some of them.
 *
 * Only for one process: the maps name objects by their address.
 */
#ifndef WRAP_H
#define WRAP_H

#include <pthread.h>
#include <stdatomic.h>

#include "wrap_tables.h"

struct defect;
struct faulty;
struct wrap_rnic;

enum wrap_kind {
	WRAP_RNIC = 0,
	WRAP_CONTEXT,
	WRAP_PD,
	WRAP_CQ,
	WRAP_SRQ,
	WRAP_QP,
	WRAP_MR,
	WRAP_MW,
	WRAP_AH,
	WRAP_LISTEN,
	WRAP_REQUEST,
	WRAP_URNIC, /* from here on: user halves */
	WRAP_UCQ,
	WRAP_USRQ,
	WRAP_UQP
};

#define WRAP_HELD 256

/* Completions that a defect keeps back, oldest first. */
struct wrap_held {
	pthread_mutex_t lock;
	struct ri_wc wc[WRAP_HELD];
	uint32_t count;
};

/* An object; the access layer's handle of whatever kind is a pointer to it. */
struct wrap_obj {
	struct wrap_rnic *rnic;
	struct wrap_obj *next, *prev; /* in the list of the adapter */
	enum wrap_kind kind;
	void *inner;              /* handle of the wrapped provider */
	struct wrap_obj *context; /* NULL: of the adapter itself */
	struct wrap_obj *pd;      /* SRQ, QP, region, window, address handle */
	struct wrap_obj *cqs[2];  /* QP: send, receive; uqp: the user halves of these */
	struct wrap_obj *srq;     /* QP, or NULL */
	struct wrap_obj *half;    /* user half: the privileged one; privileged: the user half */
	struct ri_map map;        /* the wrapped provider's */
	uint64_t ctx;             /* CQ, SRQ, QP, listener */
	uint32_t entries;         /* CQ: as granted */
	uint32_t stag;            /* region, window */
	uint32_t number;          /* of a recording */
	bool wide;                /* window, of a recording: its type */
	struct ri_addr local;     /* request: as its event said, as the next two */
	struct ri_addr peer;
	struct ri_service service;
	struct ri_mr_init init; /* region: as asked for */
	struct ri_qp_init qp;   /* QP: as granted */
	uint64_t last[2];       /* a defect's own, with the lock of `held` */
	void *own;              /* the same, freed with the object */
	atomic_uint count[4];   /* a defect's own */
	struct wrap_held *held; /* ucq: what a defect keeps back */
};

/* The tables that stand for one adapter. */
struct wrap_ops {
	struct ri_device_ops device;
	struct ri_pd_ops pd;
	struct ri_cq_ops cq;
	struct ri_srq_ops srq;
	struct ri_qp_ops qp;
	struct ri_mem_ops mem;
	struct ri_ah_ops ah;
	struct ri_cm_ops cm;
	struct ri_llp_ops llp;
	struct ri_peer_ops peer;
	struct ri_user_ops user;
	struct ri_fast_ops fast;
	struct ri_upcalls up; /* what the wrapped provider calls; self is the wrap_rnic */
};

#define WRAP_CONSUMED 64

/* An open adapter. */
struct wrap_rnic {
	struct wrap_obj obj;              /* its handle; first */
	char name[64];                    /* as it was opened */
	const struct wrap_tables *in;     /* the wrapped provider */
	const struct ri_upcalls *upcalls; /* the access layer's */
	const struct ri_host *host;       /* the access layer's */
	const struct ri_host *
		inner_host; /* what the wrapped provider gets; adapters of one host must share it */
	struct wrap_ops ops;
	struct ri_rnic_attr attr; /* of the wrapped adapter */
	const struct defect *defect;
	struct faulty *faulty;
	pthread_mutex_t lock;    /* owns the list; taken last */
	struct wrap_obj objects; /* head of the list */
	/* Requests that were answered, see wrap_consume. */
	struct wrap_obj *consumed[WRAP_CONSUMED];
	unsigned consumed_next;
	atomic_uint count[8];   /* a defect's own */
	bool recorded;          /* it is record:NAME */
	bool forgotten;         /* closing it leaves the wrapped adapter open */
	struct wrap_rnic *next; /* of those that are forgotten */
	struct ri_timer timer;  /* the same */
	void *own;              /* the same */
};

/* --- handles -------------------------------------------------------------------------------- */

static inline struct wrap_obj *
wrap_of(const void *handle)
{
	return (struct wrap_obj *)(uintptr_t)handle;
}

static inline struct wrap_rnic *
wrap_rnic_of(const void *handle)
{
	return wrap_of(handle)->rnic;
}

/* The tables of the wrapped provider. */
static inline const struct wrap_tables *
wrap_in(const void *handle)
{
	return wrap_of(handle)->rnic->in;
}

/* The wrapped provider's handle; NULL for NULL. The result is assigned to whatever kind of handle it is. */
static inline void *
wrap_inner(const void *handle)
{
	return handle != NULL ? wrap_of(handle)->inner : NULL;
}

/* --- objects (wrap_object.c) ------------------------------------------------------------------ */

/* A new object of the same adapter and context as `parent`, not in the list yet. NULL: no memory. */
struct wrap_obj *wrap_new(const void *parent, enum wrap_kind kind);
/* It has an inner handle now: put it into the list. Returns the handle for the access layer. */
void *wrap_ready(struct wrap_obj *obj, void *inner);
/* Take it out of the list, if it is there, and free it. NULL: nothing. */
void wrap_free(struct wrap_obj *obj);
/*
 * A connection request was answered. It is not found any more, but the last WRAP_CONSUMED requests
 * stay in memory. So if the program answers one twice, the second answer still reaches the wrapped
 * provider, which refuses it.
 */
void wrap_consume(struct wrap_obj *request);
/* Free what a context still has, and then the context. */
void wrap_free_context(struct wrap_obj *context);
/* The live region of that key, or NULL. */
struct wrap_obj *wrap_region_of(struct wrap_rnic *rnic, uint32_t stag);
/* The object of that kind with that context number, or NULL; newest first. */
struct wrap_obj *wrap_find(struct wrap_rnic *rnic, enum wrap_kind kind, uint64_t ctx);
/* Which number an object has among those of its kind, from 1. */
uint32_t wrap_number(const struct wrap_obj *obj);
/* The object of that inner handle, or NULL. */
struct wrap_obj *wrap_find_inner(struct wrap_rnic *rnic, enum wrap_kind kind, const void *inner);
/* Any other object of that kind of the same adapter, or NULL. */
struct wrap_obj *wrap_find_other(const struct wrap_obj *than);
/* Make the ri_map by which the access layer passes `obj` to the user half; wrap_mapped() finds the object of such a map. */
void wrap_map(struct ri_map *map, struct wrap_obj *obj);
struct wrap_obj *wrap_mapped(const struct ri_map *map);

/* --- verbs that do nothing but pass a call on -------------------------------------------------------- */

/* The verb NAME of a table of the wrapped provider, called with the wrapped provider's handles. */
#define WRAP_PASS(type, table, name, handle, params, args) \
	static type table##_##name params                  \
	{                                                  \
		return wrap_in(handle)->table.name args;   \
	}
#define WRAP_PASS_VOID(table, name, handle, params, args) \
	static void table##_##name params                 \
	{                                                 \
		wrap_in(handle)->table.name args;         \
	}
/* The same, of a verb that destroys its object. */
#define WRAP_PASS_END(table, name, type)                                                 \
	static enum ri_status table##_##name(struct type *handle)                        \
	{                                                                                \
		enum ri_status status = wrap_in(handle)->table.name(wrap_inner(handle)); \
                                                                                         \
		if (status == RI_SUCCESS)                                                \
			wrap_free(wrap_of(handle));                                      \
		return status;                                                           \
	}

/* --- the tables that pass every call on ---------------------------------------------------------- */

extern const struct ri_device_ops wrap_plain_device_ops;
extern const struct ri_pd_ops wrap_plain_pd_ops;
extern const struct ri_cq_ops wrap_plain_cq_ops;
extern const struct ri_srq_ops wrap_plain_srq_ops;
extern const struct ri_qp_ops wrap_plain_qp_ops;
extern const struct ri_cm_ops wrap_plain_cm_ops;
extern const struct ri_llp_ops wrap_plain_llp_ops;
extern const struct ri_peer_ops wrap_plain_peer_ops;
extern const struct ri_upcalls wrap_plain_upcalls;
extern const struct ri_mem_ops wrap_plain_mem_ops;
extern const struct ri_ah_ops wrap_plain_ah_ops;
extern const struct ri_user_ops wrap_plain_user_ops;
extern const struct ri_fast_ops wrap_plain_fast_ops;

/* The event as an access layer of today sees it; that of an older provider ends before the last members. */
struct ri_cm_event wrap_cm_event(const struct wrap_rnic *rnic, const struct ri_cm_event *event);
/* All of them in one. */
void wrap_plain(struct wrap_ops *ops);

/* The entries as they are registered, all but device.probe and device.open (wrap_entries.c). */
void wrap_entries(struct wrap_tables *out);

#endif /* WRAP_H */
