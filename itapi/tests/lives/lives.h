/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Lives of objects. A *life* uses an object in each way that it has and writes what it observes as lines of text: statuses, events,
 * attributes, what is refused at the limits. Which calls it makes depends on parameters and on a seed, never on what it observes. So two
 * objects with the same parameters have the same life, line for line, whatever one of them did before.
 *
 * A *kind* of object (struct kind) is a table of functions: they choose random parameters, create
 * the object, run a life, and prepare the object for the next life. lives_run.c compares the second
 * life of an object with the life of a new one.
 */
#ifndef LIVES_H
#define LIVES_H

#include "it_ext.h"
#include "it_pair.h"

/* --- what a life observes (lives_trace.c, lives_query.c) --- */

struct trace;

struct trace *trace_new(void);
void trace_free(struct trace *trace);
const char *trace_text(const struct trace *trace);
/* Drop the lines; the names stay. */
void trace_clear(struct trace *trace);
void trace_line(struct trace *trace, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Lines of the trace show the handle as this name, a literal. A later name replaces it; NULL removes it. */
void trace_name(struct trace *trace, const void *handle, const char *name);
const char *trace_handle(const struct trace *trace, const void *handle);
/* The buffers of both sides; an address is written as its distance from the start. -1: NULL, -2: somewhere else. */
void trace_bases(struct trace *trace, const unsigned char *near, const unsigned char *far);
gssize trace_offset(const struct trace *trace, const void *addr);
/* One line: the call and the name of its status. Returns the status. */
it_status_t trace_call(struct trace *trace, const char *call, it_status_t status);
void trace_event(struct trace *trace, const it_event_t *event);
void trace_octets(struct trace *trace, const char *what, const unsigned char *octets,
		  size_t length);
/* All attributes that a query of the object returns. */
void trace_ep(struct trace *trace, it_ep_handle_t ep);
void trace_evd(struct trace *trace, it_evd_handle_t evd);
void trace_srq(struct trace *trace, it_srq_handle_t srq);
void trace_lmr(struct trace *trace, it_lmr_handle_t lmr);
void trace_rmr(struct trace *trace, it_rmr_handle_t rmr);
void trace_listen(struct trace *trace, it_listen_handle_t listen);
/* The lines in which two texts differ first, and the seed, as the message of a failed assertion. */
void trace_compare(const char *what, guint32 seed, const char *first, const char *second);

/* --- where it lives (lives_world.c) --- */

#define SIGNALED  IT_COMPLETION_FLAG
#define ALWAYS    64  /* slots of a helper, more than a life takes */
#define LIVES_OUT 512 /* octets of a message at most */

/* One of the two adapters of a world. */
struct side {
	struct end end;
	struct pair
		dial; /* to the other side: a listener there, and a path to it; its ends are not open */
	it_pz_handle_t zone; /* another protection zone */
	it_evd_handle_t aff;
};

struct world {
	struct side near, far; /* the object's side, and the side of its helpers */
	GRand *rand;
	struct trace *trace;
	const char *what; /* for messages, as the seed */
	guint32 seed;
	bool disturbed; /* by refused calls */
	bool last;      /* the life that is compared; the object has no other after it */
};

/* False: no such adapter. */
bool world_open(struct world *world, guint32 seed, const char *what);
/* Frees everything; each free must succeed. */
void world_close(struct world *world);
/* From here on the life depends on this seed only. */
void world_seed(struct world *world, guint32 seed);
/* A number below n. */
guint32 draw(struct world *world, guint32 n);
bool draw_bool(struct world *world);
/* How long a life waits for an event (us): a minute, or the seconds in ITAPI_TEST_PATIENCE. */
uint64_t patience(void);
/* The test fails: the last lines are its message. */
void world_fail(const struct world *world, const char *wanted, const char *given);
void world_ok(const struct world *world, it_status_t status);
/* Take the next event and write its lines; the test fails if it does not come. */
it_event_type_t world_next(struct world *world, it_evd_handle_t evd, it_event_t *event);
it_event_type_t world_take(struct world *world, it_evd_handle_t evd);
/* Two that have no order: the trace has the one with the lower number first. */
void world_take_two(struct world *world, it_evd_handle_t evd);
/* Take whatever is queued on the dispatchers of both sides, and write its lines. */
void world_drain(struct world *world);
/* Take whatever is queued, without a line. */
void world_forget(struct world *world);
/* Attributes of a helper: everything is allowed, and there are ALWAYS slots. */
it_ep_attributes_t world_helper(const struct side *side);
it_ep_handle_t world_ep(const struct side *side, const it_ep_attributes_t *attr, const char *name,
			struct trace *trace);
/* Reset the endpoint, as soon as that is possible. */
void world_reset(struct world *world, it_ep_handle_t ep);
it_lmr_triplet_t segment(const struct side *side, size_t offset, size_t length);
it_ep_state_rc_t ep_state(it_ep_handle_t ep);

/* --- what is left (lives_accounts.c) --- */

/* Adapters that are opened from now on have few resources. The second removes the file that says so. */
void accounts_limit(void);
void accounts_forget(void);
/* A line for each resource of both sides; the caller frees it. */
char *accounts(const struct world *world);

/* --- refused calls (lives_disturb.c) --- */

/* What a life has at hand between two steps; NULL: no such object. */
struct at_hand {
	it_ep_handle_t ep; /* for connections */
	it_evd_handle_t evd;
	it_srq_handle_t srq;
};

/* If the world is disturbed, make calls that are refused. */
void world_disturb(struct world *world, const struct at_hand *at_hand);

/* --- kinds of objects --- */

struct kind {
	const char *name;
	unsigned needs; /* enum pair_need */
	size_t param_size;
	void (*draw)(struct world *world, void *param);
	/* Creates the object; returns what the other functions take. */
	void *(*make)(struct world *world, const void *param);
	/* One life; it ends with the object as it can be freed or used again. */
	void (*live)(struct world *world, void *object, const void *param);
	void (*end)(struct world *world, void *object);
	/* How an object comes to its next life, with other parameters. NULL: the end of the list. */
	const struct again {
		const char *name;
		unsigned needs;
		/* First lives of other sorts than `live`; NULL: `live` with the parameters of the first life. */
		void (*first)(struct world *world, void *object, const void *param);
		void (*to)(struct world *world, void *object, const void *param);
	} * ways;
};

extern const struct kind kind_ep, kind_evd_dto, kind_evd_soft, kind_listen, kind_lmr, kind_narrow,
	kind_srq, kind_ud, kind_wide;

/* Add a test for each way of a kind. */
void lives_add(const struct kind *kind);

#endif /* LIVES_H */
