/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A run of recordings on an adapter: one actor for each recording, all on one thread. */
#ifndef REPLAY_RUN_H
#define REPLAY_RUN_H

#include "replay_file.h"
#include "tool_adapter.h"

#define REPLAY_SEGMENTS 16

/* A region or a window. */
struct replay_object {
	uint32_t number;
	uint32_t key; /* of the recording */
	uint64_t at;  /* of the recording: its first octet */
	uint64_t length;
	it_lmr_handle_t lmr;
	it_rmr_handle_t rmr;
	it_rmr_context_t context;
	uint8_t *memory;
	const struct replay_object *region; /* window: what it opens, or NULL */
	uint64_t offset;                    /* window: in the region */
	bool relative;                      /* window: the recording addresses it from 0 */
	bool from_zero;                     /* so does the replay, which not every adapter can */
};

/* A shared receive queue. */
struct replay_shared {
	struct tool_adapter *adapter;
	it_srq_handle_t srq;
	uint64_t most;    /* its largest size */
	uint64_t refused; /* number of a post that the library refused */
	unsigned limits;  /* events of its limit that have come, and that no line has met */
	bool unlimited;   /* the adapter has no limits */
};

/* A queue pair. */
struct replay_end {
	const struct replay_qp *qp; /* NULL: it does not exist */
	struct replay_actor *actor;
	struct replay_end *partner; /* once it exists */
	struct tool_adapter *adapter;
	struct tool_listener *listener;
	it_ep_handle_t ep;
	it_evd_handle_t request, recv, conn;
	bool ready; /* its recording says that it is connected */
	bool connected, ended;
	it_ud_ep_id_t id;   /* of datagrams: its number here; it stays when the endpoint is gone */
	uint64_t receives;  /* of datagrams: posted, and not complete */
	uint64_t under_way; /* of datagrams: sent to it, and not complete, or lost */
	GQueue skipped;     /* numbers of requests that the adapter does not claim */
	uint64_t refused;   /* number of a post that the library refused */
};

struct replay_actor {
	struct replay_run *run;
	unsigned file;
	struct replay_reader reader;
	struct replay_line line;
	bool pending; /* `line` waits */
	bool finished;
	struct replay_object *regions[REPLAY_OBJECTS + 1];
	struct replay_object *windows[REPLAY_OBJECTS + 1];
	struct replay_shared *shared[REPLAY_OBJECTS + 1];
	it_addr_handle_t handles[REPLAY_OBJECTS + 1];
	it_pz_handle_t domains[REPLAY_OBJECTS + 1];
	struct tool_adapter *of_domain[REPLAY_OBJECTS + 1];
	unsigned adapters; /* adapters of this recording that were met */
};

struct replay_run {
	struct replay_set *set;
	struct tool_adapter adapters[REPLAY_ADAPTERS];
	struct tool_listener listeners[REPLAY_ADAPTERS];
	bool listens[REPLAY_ADAPTERS];
	it_evd_handle_t affiliated[REPLAY_ADAPTERS]; /* NULL: no shared receive queue is there */
	unsigned opened;
	bool atomics; /* the adapter has them */
	bool insists; /* all actors wait: a datagram goes though nobody has posted a receive for it */
	unsigned seconds;
	struct replay_actor *actors;
	struct replay_end ends[REPLAY_QPS]; /* as the queue pairs of the set */
};

/* A request or receive as its line describes it. */
struct replay_request {
	const char *name;
	uint64_t number, length;
	it_dto_flags_t flags;
	bool relative; /* a window that is addressed from 0 */
	it_dto_cookie_t cookie;
	it_lmr_triplet_t segments[REPLAY_SEGMENTS];
	size_t count;
};

enum replay_step {
	REPLAY_DONE,
	REPLAY_WAITS,
	REPLAY_FAILED
};

/* The end of this recording with that number, if it exists. */
struct replay_end *replay_end_of(struct replay_actor *actor, uint32_t number);
/* What an object is of: its domain, the third word of the line. */
bool replay_domain(struct replay_actor *actor, uint32_t *domain, GError **error);
/* Set the error with the place in the recording. */
enum replay_step replay_failed(struct replay_actor *actor, GError **error, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Lines of requests, receives and completions (replay_work.c). */
enum replay_step replay_post(struct replay_actor *actor, GError **error);
enum replay_step replay_done(struct replay_actor *actor, GError **error);
enum replay_step replay_bound(struct replay_actor *actor, GError **error);

/* Lines of shared receive queues and datagrams (replay_queues.c). */
enum replay_step replay_shared_make(struct replay_actor *actor, GError **error);
enum replay_step replay_shared_post(struct replay_actor *actor, uint32_t number,
				    const struct replay_request *request, GError **error);
enum replay_step replay_modify(struct replay_actor *actor, GError **error);
enum replay_step replay_event(struct replay_actor *actor, GError **error);
enum replay_step replay_handle_make(struct replay_actor *actor, GError **error);
enum replay_step replay_join(struct replay_actor *actor, GError **error);
enum replay_step replay_datagram_post(struct replay_actor *actor, struct replay_end *end,
				      const struct replay_request *request, GError **error);
it_status_t replay_datagram_end(struct replay_end *end, it_pz_handle_t pz,
				const it_ep_attributes_t *attr);
/* Was the receive that this completion is of refused here? */
bool replay_shared_refused(const struct replay_actor *actor);
void replay_shared_free(struct replay_shared **place);

#endif /* REPLAY_RUN_H */
