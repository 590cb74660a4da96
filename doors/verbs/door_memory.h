/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Protection domains, parent and thread domains, regions and windows. */
#ifndef DOOR_MEMORY_H
#define DOOR_MEMORY_H

#include "door_context.h"

struct door_mw;

struct door_td {
	struct ibv_td td; /* first */
	struct door_context *context;
	atomic_uint users; /* parent domains */
};

/* A protection domain, or a parent domain, which stands for one with more attributes. */
struct door_pd {
	struct ibv_pd pd; /* first: what programs have */
	struct door_context *context;
	struct door_pd *base; /* itself, or the protection domain of a parent domain */
	struct door_td *td;   /* or NULL */
	uint32_t id;          /* of the kAL */
	atomic_uint users;    /* objects in it, and parent domains of it */
	/* Windows of type 2 in it; of a base only. */
	pthread_mutex_t lock; /* a control lock */
	struct door_mw *windows;
};

struct door_mr {
	struct ibv_mr mr; /* first */
	struct door_pd *pd;
	uint32_t id;
	uint64_t iova;
	unsigned access; /* IBV_ACCESS_* */
	bool dmabuf;
};

struct door_mw {
	struct ibv_mw mw; /* first */
	struct door_pd *pd;
	uint32_t id;
	struct door_mw *next; /* door_pd::windows */
	atomic_uint bound_by; /* type 2: number of the queue pair that was last asked to bind it */
};

static inline struct door_pd *
door_pd_of(struct ibv_pd *pd)
{
	return (struct door_pd *)pd;
}

static inline struct door_mr *
door_mr_of(struct ibv_mr *mr)
{
	return (struct door_mr *)mr;
}

static inline struct door_mw *
door_mw_of(struct ibv_mw *mw)
{
	return (struct door_mw *)mw;
}

/* One user more or less. */
void door_pd_hold(struct door_pd *pd);
void door_pd_drop(struct door_pd *pd);

/* Rights in words of RNIC-PI. */
uint32_t door_access(unsigned access);

/*
 * Replace the windows that a queue pair has bound. A provider refuses to destroy a queue pair that
 * has bound windows. In verbs the windows survive it, unbound: so they become new windows, with new
 * keys in ibv_mw::rkey.
 */
void door_windows_renew(struct door_pd *pd, uint32_t qpn);

/* Operations of contexts. */
struct ibv_mw *door_mw_alloc(struct ibv_pd *pd, enum ibv_mw_type type);
int door_mw_free(struct ibv_mw *mw);
struct ibv_td *door_td_alloc(struct ibv_context *context, struct ibv_td_init_attr *attr);
int door_td_free(struct ibv_td *td);
struct ibv_pd *door_parent_alloc(struct ibv_context *context,
				 struct ibv_parent_domain_init_attr *attr);

#endif /* DOOR_MEMORY_H */
