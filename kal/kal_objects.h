/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A client of the kAL and what it owns. For the dispatcher's files only.
 *
 * An id is a slot and a generation, per client. An id of another client or of a destroyed object is refused
 * with RI_ERR_INVALID_HANDLE. A parent counts its children and cannot be destroyed before them.
 */
#ifndef KAL_OBJECTS_H
#define KAL_OBJECTS_H

#include <glib.h>
#include <pthread.h>

#include "kal_call.h"
#include "kal_cm.h"
#include "kal_events.h"
#include "kal_live.h"
#include "kal_loss.h"
#include "kal_resources.h"
#include "ri_call.h"
#include "rnicpi.h"

struct kal_client;

/* Head of every object in a client's table, aligned as all of them are. */
struct kal_object {
	_Alignas(max_align_t) enum ri_object type;
	uint32_t id;
	uint32_t children;       /* objects that name this one as a parent */
	struct kal_object *next; /* of those abandoned, until their adapter is closed */
};

struct kal_rnic {
	struct kal_object object;
	struct kal_client *client;
	const struct ri_provider *provider;
	struct ri_caller caller; /* how its verbs are called */
	struct ri_rnic *rnic;
	struct ri_context *context;
	struct ri_rnic_attr attr;
	struct ri_map map;
	struct ri_upcalls upcalls;
	struct kal_cm *cm;
	pthread_mutex_t
		own_lock; /* held while an event of it or of a spigot is queued; guards `open` */
	bool open;        /* the client takes such events */
	struct kal_loss loss;       /* meanwhile */
	char asked[64];             /* the name for which the daemon was asked */
	GQueue maps;                /* struct kal_map; kal_mem_map.c */
	struct kal_live_slot *live; /* or NULL, as those below; kal_live.h */
};

struct kal_pd {
	struct kal_object object;
	struct kal_rnic *rnic;
	struct ri_pd *pd;
};

struct kal_cq {
	struct kal_object object;
	struct kal_rnic *rnic;
	struct ri_cq *cq;
	uint64_t ctx;
	struct kal_live_slot *live;
	struct kal_event_node fired; /* KAL_NODE_OWN; queued at most once, so never lost */
};

struct kal_srq {
	struct kal_object object;
	struct kal_pd *pd;
	struct ri_srq *srq;
	uint64_t ctx;
	struct kal_live_slot *live;
};

struct kal_qp {
	struct kal_object object;
	struct kal_pd *pd;
	struct kal_cq *send_cq; /* NULL, as the next: an RI_QP_NUMBER */
	struct kal_cq *recv_cq;
	struct kal_srq *srq;
	struct ri_qp *qp;
	uint64_t ctx;
	enum ri_qp_type type;
	struct kal_conn *conn;
	struct kal_live_slot *live;
};

struct kal_mr {
	struct kal_object object;
	struct kal_pd *pd;
	struct ri_mr *mr;
	uint64_t length; /* bytes, as counted */
	bool changing;   /* a call apart registers it anew */
};

struct kal_mw {
	struct kal_object object;
	struct kal_pd *pd;
	struct ri_mw *mw;
};

struct kal_ah {
	struct kal_object object;
	struct kal_pd *pd;
	struct ri_ah *ah;
};

struct kal_listen {
	struct kal_object object;
	struct kal_rnic *rnic;
	struct kal_listener *listener;
	struct kal_live_slot *live;
};

/* A place for an object. */
struct kal_slot {
	struct kal_object *object; /* NULL: free */
	uint16_t generation;
	uint32_t next_free; /* 0: the last one */
};

#define KAL_SPARES 64 /* spare nodes for asynchronous events */

struct kal_client {
	const struct ri_host *host;
	void (*kick)(void *arg);
	void *arg;
	bool privileged;
	struct kal_config *config;
	struct kal_account account;

	pthread_mutex_t calls;     /* one call at a time, but for those apart */
	unsigned apart;            /* calls that are inside kal_apart_begin() */
	pthread_cond_t apart_over; /* one of them has ended */
	struct kal_slot *slots;    /* by index; the first is not used, since id 0 is no object */
	uint32_t slot_count;       /* in use, or free again */
	uint32_t slot_room;
	uint32_t first_free, last_free; /* freed longest ago, and last; 0: none */
	uint32_t free_count;

	pthread_mutex_t event_lock; /* held for a few instructions; upcalls take it */
	struct kal_event_node *first;
	struct kal_event_node *last;
	struct kal_event_node *spare;
	struct kal_async_node spares[KAL_SPARES];
	unsigned async_queued;
	int fd; /* eventfd if there is no kick */
};

/* kal_objects.c; under `calls` */
/* Enter an object; its id, or 0: the table is full, or the client may have no more of that type. */
uint32_t kal_object_add(struct kal_client *client, enum ri_object type, struct kal_object *object);
/* kal_object_add with a status; on failure the caller destroys the object. */
static inline enum ri_status
kal_object_enter(struct kal_client *client, enum ri_object type, struct kal_object *object)
{
	return kal_object_add(client, type, object) != 0 ? RI_SUCCESS : RI_ERR_RESOURCES;
}
void kal_object_remove(struct kal_client *client, struct kal_object *object);
/* NULL: no such object of that type. */
void *kal_object_get(struct kal_client *client, uint32_t id, enum ri_object type);
/* Any object of that type under that RNIC, NULL when there is none left. */
void *kal_object_any(struct kal_client *client, enum ri_object type, const struct kal_rnic *rnic);

/* kal_dispatch.c */
/*
 * Release and take again kal_client::calls around the part of a call that takes time in proportion
 * to the size of the memory, so that other calls can run. The caller makes sure that no call can
 * destroy or change what it uses, by counting itself as a child of it. No adapter is closed
 * meanwhile.
 */
void kal_apart_begin(struct kal_client *client);
void kal_apart_end(struct kal_client *client);
/* Wait until some call apart has ended; `calls` is given up meanwhile. */
void kal_apart_wait(struct kal_client *client);

/* The next open adapter of a client after that one (NULL: the first), NULL: no more. */
struct kal_rnic *kal_rnic_next(struct kal_client *client, const struct kal_rnic *rnic);

/* kal_upcalls.c */
void kal_upcalls_init(struct kal_rnic *rnic);
/* Does the client get events of the adapter itself and of its spigots? */
void kal_upcalls_pass_own(struct kal_rnic *rnic, bool open);

/* kal_providers.c */
/* All once, and those later that wait for their devices. RI_ERR_RESOURCES: memory ran out on the way, the next call goes on. */
enum ri_status kal_providers_load(const struct ri_host *host) RI_MUST_CHECK;

/* kal_adapters.c */
enum ri_status kal_adapters_list(struct kal_client *client, struct kal_msg *msg) RI_MUST_CHECK;
enum ri_status kal_rnic_open(struct kal_client *client, const char *name,
			     struct kal_rnic **out) RI_MUST_CHECK;
/* Destroys everything under it first, without events. */
void kal_rnic_close(struct kal_rnic *rnic);
enum ri_status kal_path_query(struct kal_rnic *rnic, const struct kal_path_query_req *req,
			      struct kal_path_query_rep *rep) RI_MUST_CHECK;

/* kal_mem_map.c: I/O addresses for privileged clients [IT 8.9] */
enum ri_status kal_mem_map(struct kal_rnic *rnic, const struct kal_mem_map_req *req,
			   struct kal_mem_map_rep *rep) RI_MUST_CHECK;
enum ri_status kal_mem_unmap(struct kal_rnic *rnic,
			     const struct kal_mem_map_req *req) RI_MUST_CHECK;
void kal_mem_unmap_all(struct kal_rnic *rnic);

/* kal_destroy.c: destroy one object; RI_ERR_BUSY while it has children */
enum ri_status kal_object_destroy(struct kal_client *client,
				  struct kal_object *object) RI_MUST_CHECK;
/*
 * Its adapter is closed and the provider refused to destroy it: remove it from the client's table, without an
 * event. The struct stays, since upcalls may name it until the device is closed; then kal_object_free() frees it.
 */
void kal_object_abandon(struct kal_client *client, struct kal_object *object);
void kal_object_free(struct kal_client *client, struct kal_object *object);

/* One call: sizes were checked, `req` and `rep` have room for the fixed parts. */
typedef enum ri_status (*kal_handler_fn)(struct kal_client *client, const void *req, void *rep,
					 struct kal_msg *msg);
struct kal_handler {
	kal_handler_fn run;
	size_t req_size;
	size_t rep_size;
	bool more; /* a variable part may follow the request */
};
/* kal_verbs.c, kal_verbs_qp.c, kal_verbs_mem.c, kal_verbs_cm.c, kal_destroy.c: entries by call number */
extern const struct kal_handler kal_verbs_handlers[KAL_CALL_COUNT];
extern const struct kal_handler kal_qp_handlers[KAL_CALL_COUNT];
extern const struct kal_handler kal_mem_handlers[KAL_CALL_COUNT];
extern const struct kal_handler kal_cm_handlers[KAL_CALL_COUNT];
extern const struct kal_handler kal_destroy_handlers[KAL_CALL_COUNT];

#endif /* KAL_OBJECTS_H */
