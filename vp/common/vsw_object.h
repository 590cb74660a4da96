/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The objects of a software RNIC that do not depend on its transport, and their verbs: protection domains, completion
 * queues, shared receive queues, regions and windows. Queue pairs and address handles are the provider's.
 *
 * A provider has a struct vsw_objects for each open adapter, begins its struct of a process with a struct vsw_context, and names the
 * tables below, or its own that call them, in its struct ri_provider. Each object is in a list of its process, so the end of a
 * process destroys all of them.
 *
 * Control path. The kAL serialises the calls for each object; the lists and counts may be used by any thread.
 */
#ifndef VSW_OBJECT_H
#define VSW_OBJECT_H

#include <pthread.h>

#include "rnicpi.h"
#include "vsw_item.h"
#include "vsw_mem.h"
#include "vsw_queue.h"
#include "vsw_srq.h"

/* What differs between adapters. */
struct vsw_object_rules {
	uint32_t max_pds, max_cqs, max_srqs; /* of an adapter */
	uint32_t max_cqe;                    /* of a completion queue */
	uint32_t max_wr, max_sge;            /* of a shared receive queue, and of a receive in it */
	uint32_t
		max_pages; /* of a region by a list; 0: the adapter has no such regions, and none that are registered later */
	uint32_t access; /* rights that every region has */
	bool mw_wide;
	void (*wake)(struct vsw_srq_member *member); /* as vsw_srq_params::wake */
};

/* An open adapter, as its objects see it. */
struct vsw_objects {
	const struct vsw_object_rules *rules;
	const struct ri_host *host;
	const struct ri_upcalls *upcalls;
	const struct vsw_cq_upcall *cq_upcall;
	struct vsw_mem_table *mem;
	atomic_uint pds, cqs, srqs; /* how many there are */
};

/* A process; first in the provider's own struct. */
struct vsw_context {
	struct vsw_objects *objects;
	struct ri_owner owner;
	pthread_mutex_t lock; /* of the lists */
	struct vsw_item pds, cqs, srqs, mrs, mws;
};

struct vsw_pd {
	struct vsw_item item;
	struct vsw_context *context;
	atomic_uint users;
};

struct vsw_cq_object {
	struct vsw_item item;
	struct vsw_context *context;
	struct vsw_cq cq;
};

struct vsw_srq_object {
	struct vsw_item item;
	struct vsw_pd *pd;
	struct vsw_srq srq;
};

/* Pages that the provider has mapped; `bytes` is 0 if it has mapped no page. */
struct vsw_mapping {
	void *pages;
	size_t bytes;
};

/* A region or a window. */
struct vsw_key {
	struct vsw_item item;
	struct vsw_pd *pd;
	struct vsw_mem_entry *entry;
	struct vsw_mapping mapping; /* of a region by vsw_region_mapped */
};

extern const struct ri_pd_ops vsw_pd_ops;
extern const struct ri_cq_ops vsw_cq_ops;
extern const struct ri_srq_ops vsw_srq_ops;
extern const struct ri_mem_ops vsw_mem_ops;

/*
 * Register a range over memory that the provider has mapped; *first is its first byte, whose name
 * for requests is ri_mr_init::addr. On success the region owns the mapping, which ends with it. The
 * region cannot be re-registered.
 */
enum ri_status vsw_region_mapped(struct vsw_pd *pd, const struct ri_mr_init *init,
				 const struct vsw_mapping *mapping, uint8_t *first,
				 struct ri_mr **out, uint32_t *stag) RI_MUST_CHECK;

void vsw_context_begin(struct vsw_context *context, struct vsw_objects *objects,
		       const struct ri_owner *owner);
/* Free its windows, before its queue pairs are destroyed: those are busy while a window is bound to them. */
void vsw_context_part(struct vsw_context *context);
/* Destroy all other objects that are left; its queue pairs are gone. */
void vsw_context_end(struct vsw_context *context);

/* Put it at the end of a list of the process, or take it out of its list. */
void vsw_context_add(struct vsw_context *context, struct vsw_item *list, struct vsw_item *item);
void vsw_context_remove(struct vsw_context *context, struct vsw_item *item);
/* Count one object more; false: there are as many as there may be, and it is not counted. */
bool vsw_count_up(atomic_uint *count, uint32_t most);

#endif /* VSW_OBJECT_H */
