/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The model: results as the book of IT-API in doc/spec states them. df_model.c has endpoints, connections and
 * settlements, df_model_work.c work requests, df_model_objects.c regions and windows, df_model_srq.c shared receive
 * queues, df_model_limits.c their watermarks, df_model_privileged.c links of regions, df_model_datagram.c datagrams,
 * df_model_connect.c attempts to connect, df_model_changes.c changes of existing objects, df_model_faults.c spigots and
 * adapters that fail, df_model_memory.c octets.
 */
#ifndef DF_MODEL_H
#define DF_MODEL_H

#include "df_expect.h"

/* The state of an endpoint's connection within the present group of steps. */
enum model_end {
	MODEL_STANDS,
	MODEL_ENDING, /* an event ends it: posted requests may run or be flushed */
	MODEL_SHUT,   /* and no request posted later can run */
};

struct model_ep {
	bool alive;
	int life;
	int pz;
	int srq;   /* the place of its S-RQ, or -1 */
	int state; /* it_ep_state_rc_t */
	int sq_size;
	int rq_size;
	int ord_asked;
	int ird;
	int ord;
	int enable;
	int payload;
	int peer; /* place, -1: none */
	enum model_end end;
	bool failed;     /* a request broke the connection, so no request behind it succeeds */
	bool left;       /* disconnected by its own step, before another event ended it */
	unsigned events; /* of the end: bits as in struct df_cm */
	bool unproven;   /* a posted request has not been shown to be done */
	bool ends;       /* a connection of it has ended */
	bool priv;       /* privileged operations */
	int soft;        /* the watermark that is armed, 0: none */
	int soft_set;    /* as it was set last */
	int hard;        /* 0: off */
	int taken;       /* receives of its S-RQ by messages of the present group */
	bool soft_doubt; /* an event of the soft watermark may have come, or may come yet */
	GArray *sq;      /* of unsigned: requests that hold a slot */
	GArray *rq;
};

struct model_lmr {
	bool alive;
	bool linked; /* no longer, after the peer or a Read unlinked it */
	bool doubt;  /* or perhaps not: the connection ended at that time */
	int pz;
	int off;
	int len;
	int privs;
	int mode;
	bool shareable;
	int changed; /* the settlement up to which its memory changes */
	int made;    /* the number of objects that this place has had */
	int rights;  /* how often the rights were changed */
	int room;    /* pieces of memory that a link may give to it; 0: it cannot be linked */
	bool roomy;  /* or some more: it was registered as a range */
	bool listed; /* of a buffer list */
	bool stale;  /* a link that may not have run has changed what the handle stands for */
	bool direct; /* all memory, by I/O addresses, of any zone */
};

enum model_link {
	MODEL_UNLINKED,
	MODEL_LINKED,
	MODEL_UNKNOWN, /* the connection ended at that time */
};

struct model_rmr {
	bool alive;
	enum model_link linked;
	int type;
	int pz;
	int ep;  /* linked through this endpoint; -1: not known */
	int lmr; /* as above */
	int off; /* in the arena */
	int len;
	int privs;
	int mode;
	int changed;
};

/* A shared receive queue. */
struct model_srq {
	bool alive;
	int pz;
	int size;
	GArray *receives; /* of unsigned: those that may be there */
	int left;         /* how many of them are */
	int taken;        /* by messages of the present group */
	int low;          /* the watermark that is armed, 0: none */
};

struct model_ah {
	bool alive;
	int pz;
};

/* A datagram endpoint. */
struct model_ud {
	bool alive;
	bool failed;
	bool stray; /* a datagram that found no receive may come later */
	int life;
	int pz;
	int sq_size;
	int rq_size;
	int receiving; /* the settlement before which a datagram is under way to it, or DF_NEVER */
	GArray *sq;    /* of unsigned: requests that hold a slot */
	GArray *rq;
};

/* An adapter, its spigot, and the dispatcher of its unaffiliated events. */
struct model_adapter {
	bool dead; /* it failed beyond repair */
	bool down; /* the spigot */
	int room;  /* of the dispatcher; 0: there is none */
};

/* The step that posted a request, and the regions in its places at that time. */
struct model_posted {
	struct df_step step;
	int made[DF_SEGS];
	int rights[DF_SEGS];
	int touched; /* a receive of an S-RQ: the settlement up to which a message may go there, or DF_NEVER */
};

/* Octets that a request of the present group reads or writes. */
struct model_touch {
	unsigned wr;
	enum df_kind kind;
	int ep;
	bool remote; /* through the peer's keys */
	bool write;
	bool fenced;
	int node;
	int off;
	int len;
};

struct df_model {
	const struct df_profile *profile;
	struct df_expected *expected;
	struct model_ep ep[DF_EPS];
	struct model_lmr lmr[DF_REGIONS];
	struct model_rmr rmr[DF_RMRS];
	struct model_srq srq[DF_SRQS];
	struct model_ah ah[DF_AHS];
	struct model_ud ud[DF_UDS];
	struct model_adapter adapter[DF_NODES];
	bool deaf[DF_NODES]; /* nobody listens on the node */
	bool paused;         /* something of the present group waits for a spigot that is down */
	uint8_t memory[DF_NODES][DF_MEMORY];
	uint8_t vague[DF_NODES][DF_MEMORY];
	int threshold[DF_NODES][2];   /* of the dispatchers of requests and of receives */
	enum df_way way[DF_NODES][4]; /* of all dispatchers, those first */
	GArray *touches;              /* of struct model_touch */
	GArray *work;                 /* of struct model_posted, one for each of expected->wrs */
	bool poisoned; /* two requests of the group access the same memory without an order between them */
	bool dirty; /* something was posted since the last settlement */
	int settle; /* number of the next settlement */
	int step;   /* being modelled */
};

/* The world before the first step. */
struct df_model *df_model_new(const struct df_profile *profile);
void df_model_free(struct df_model *model);
/* The next step of a program. */
void df_model_step(struct df_model *model, const struct df_step *step);
/* After the last step; returns the expectation, which the caller owns. */
struct df_expected *df_model_end(struct df_model *model);
/* All steps at once. */
struct df_expected *df_model_run(const struct df_program *program,
				 const struct df_profile *profile);

/* --- among the files of the model ------------------------------------------------------------ */

#define MODEL_BIT(number) (1u << (number))

static inline struct df_step_expect *
model_now(struct df_model *model)
{
	return DF_STEP(model->expected, model->step);
}

/* Add a status that is right. The first one is for the rest, if there is none. */
void model_answer(struct df_model *model, it_status_t status);
/* Make a settlement before the step, if anything was posted. */
void model_settle_before(struct df_model *model);
/* Make a settlement after the step. */
void model_settle_after(struct df_model *model);
/* A request whose event is taken frees its slot, and the slots of requests before it in the queue [IT 7.3]. */
void model_slots_return(struct df_model *model, GArray *queue);
/* The consequences of the step are not determined: leave it out. */
void model_skip(struct df_model *model);

/* Expect an event of the endpoint in the next settlement: one of these bits, as in struct df_cm. */
void model_cm_expect(struct df_model *model, int ep, unsigned events);
/* Receives that were not used are flushed when the endpoint leaves CONNECTED, or while it connects. */
void model_flush_receives(struct df_model *model, int ep, bool silent);
void model_connect(struct df_model *model, const struct df_step *step);
/* Both ends of a connection end; `self` is the one whose step it is. */
void model_end(struct df_model *model, int self, enum model_end how, unsigned cause);
void model_work(struct df_model *model, const struct df_step *step);
/* A request of the runner: a Read of length 0. */
void model_probe(struct df_model *model, int ep);
unsigned model_wr_new(struct df_model *model, int ep, bool request, it_event_type_t event);

void model_objects(struct df_model *model, const struct df_step *step);
/* Windows linked through an endpoint: its reset unlinks them, an early end leaves their state open. */
void model_rmr_reset(struct df_model *model, int ep);
void model_rmr_ended(struct df_model *model, int ep);
/* An early end during remote unlinks leaves open which of them were done. */
void model_lmr_ended(struct df_model *model);
bool model_rmr_through(const struct df_model *model, int ep, enum model_link linked);
bool model_rmr_onto(const struct df_model *model, int lmr, enum model_link linked);
/* May an LMR, or an RMR over such an LMR, have these rights? */
bool model_lmr_privs_good(int privs);
bool model_rmr_privs_good(int privs, int lmr_privs);
/* The rights that an adapter grants for a request: it ignores those that it does not use [IT 8.2]. */
int model_privs(const struct df_model *model, int privs);

/* The target of a remote access. */
struct model_target {
	bool good;
	int node;
	int off; /* in the arena */
	int len; /* octets of it that lie in the region, valid or not */
};

struct model_target model_target(const struct df_model *model, const struct df_step *step,
				 int right, int len);
/* Why a request cannot use the segment with objects of the zone, as a bit of a dto_status; 0: it can. */
unsigned model_seg_fault(const struct df_model *model, int pz, const struct df_seg *seg, int right);
/* The octets of a request. */
int model_seg_sum(const struct df_step *step);
int model_seg_off(const struct df_model *model, const struct df_seg *seg);
/* Is it a Read, into regions or a window? */
static inline bool
model_reads(enum df_kind kind)
{
	return kind == DF_READ || kind == DF_READ_RMR;
}

/* The sink of a Read into a window. */
struct df_range model_window(const struct df_model *model, const struct df_step *step);
/* Why the window cannot be the sink of the Read, as above. */
unsigned model_window_fault(const struct df_model *model, const struct df_step *step);

/* The receives one of which takes the next message to an endpoint: one of its own, or those of its S-RQ. */
struct model_takers {
	int count;
	int wr[DF_DEPTH];
};

/* The errors of a request that runs: bits of it_dto_status_t. */
struct model_verdict {
	unsigned near;  /* at this end */
	unsigned far;   /* at the peer, as this end learns it */
	unsigned taker; /* with the receive that takes the message */
	struct model_takers takers;
	struct model_target target;
};

/* Add every status with which the post is refused. Is there one, or is the step to be left out? */
bool model_refused(struct df_model *model, const struct df_step *step);
/* Does the endpoint have a peer? */
struct model_verdict model_judge(struct df_model *model, const struct df_step *step);
struct model_takers model_takers(const struct df_model *model, int ep);
/* Add the reasons to refuse a post for its segments, on a node. priv: of an endpoint with privileged operations. */
void model_refuse_segments(struct df_model *model, const struct df_step *step, int node, int most,
			   bool priv);
/* Keep the step of the request with that index. */
void model_keep(struct df_model *model, unsigned index, const struct df_step *step);

void model_srq_create(struct df_model *model, const struct df_step *step);
void model_srq_free(struct df_model *model, const struct df_step *step);
void model_srq_receive(struct df_model *model, const struct df_step *step);
struct model_takers model_srq_takers(const struct model_srq *srq);
/* The message of the step takes one of the receives of an S-RQ, and is good or fails there. */
struct df_wr *model_srq_take(struct df_model *model, const struct df_step *step,
			     const struct model_takers *takers, bool good);
/* Did a message to the endpoint take a receive of an S-RQ in the present group? */
bool model_srq_arrives(const struct df_model *model, int ep);
/* One to or from the endpoint? */
bool model_srq_busy(const struct df_model *model, int ep);
void model_srq_settle(struct df_model *model);

/* Links of regions [IT 8.9]: reasons to refuse one, errors when it runs, and what it does. */
void model_refuse_lmr(struct df_model *model, const struct df_step *step);
unsigned model_lmr_fault(const struct df_model *model, const struct df_step *step);
void model_run_lmr(struct df_model *model, const struct df_step *step);
void model_lmr_reserve(struct df_model *model, const struct df_step *step);
/* The privileged side of a registration: add the reasons to refuse its list; the memory that it names, and its room. */
void model_refuse_list(struct df_model *model, const struct df_step *step);
void model_lmr_listed(const struct df_model *model, struct model_lmr *lmr,
		      const struct df_step *step);
/* The direct region of each node, if there is one. */
void model_direct(struct df_model *model);

/* Changes of what lives on. */
void model_change(struct df_model *model, const struct df_step *step);

void model_srq_limit(struct df_model *model, const struct df_step *step);
void model_ep_limit(struct df_model *model, const struct df_step *step);
/* Add the reasons to refuse the watermarks of an endpoint; in `which` 1 is the soft and 2 the hard one. */
void model_refuse_limits(struct df_model *model, const struct df_step *step, int srq, int which);
/* Would the message to the endpoint be one more than its hard watermark allows? */
bool model_beyond_hard(const struct df_model *model, int ep);
/* May it end the connection within this group? Not if another end on that node empties the dispatcher of receives. */
bool model_hard_settled(const struct df_model *model, int ep);
/* Store in `now` the watermarks and which endpoints must end; expect the events of those that are crossed. */
void model_limits_settle(struct df_model *model, struct df_settle *now);

/* The step is a fault, or shows the consequences of one alone; then nothing else is to be modelled. */
bool model_fault(struct df_model *model, const struct df_step *step);
/* Does an attempt to connect find no path, or no listener? */
bool model_out_of_reach(const struct df_model *model, const struct df_step *step);
/* Store in `now` which adapters are dead and which spigots are online. Spigots come back at a settlement that follows a pause. */
void model_faults_settle(struct df_model *model, struct df_settle *now);

void model_datagram(struct df_model *model, const struct df_step *step);
/* A datagram endpoint fails with its adapter. */
void model_datagram_lost(struct df_model *model, int place);
/* Store the states of the datagram endpoints; -1: there is no such endpoint. */
void model_datagram_settle(struct df_model *model, int *states);

struct model_octets {
	uint8_t value[DF_SEGS * DF_ARENA];
	uint8_t vague[DF_SEGS * DF_ARENA];
};

/* Copy from or to the segments of `where`; at most len octets. */
void model_through_segments(struct df_model *model, const struct df_step *where,
			    struct model_touch touch, struct model_octets *octets, int len);

static inline const struct model_posted *
model_posted_of(const struct df_model *model, int wr)
{
	return &g_array_index(model->work, struct model_posted, wr);
}

static inline const struct df_step *
model_work_of(const struct df_model *model, int wr)
{
	return &model_posted_of(model, wr)->step;
}

/* A range of octets, for one request. */
void model_touch(struct df_model *model, const struct model_touch *touch);
void model_read(struct df_model *model, const struct model_touch *touch, uint8_t *octets,
		uint8_t *vague);
void model_write(struct df_model *model, const struct model_touch *touch, const uint8_t *octets,
		 const uint8_t *vague);
void model_blur(struct df_model *model, int node, int off, int len);
/* Octets that may be written or not; they overlap every other access of the group. */
void model_blur_at(struct df_model *model, struct model_touch touch, const struct df_range *range);
/* All octets that the endpoint's requests wrote in this group become undefined: they may not have run. */
void model_blur_ep(struct df_model *model, int ep);
void model_fill(struct df_model *model, int node, int off, int len, int seed);
/* An octet of a pattern; the runner uses it, too. */
uint8_t df_pattern(int seed, int i);

#endif /* DF_MODEL_H */
