/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The model: a world that answers as the book of IT-API in doc/spec says, and nothing else. df_model.c has endpoints,
 * connections and settlements, df_model_work.c work requests, df_model_objects.c regions and windows,
 * df_model_memory.c octets.
 */
#ifndef DF_MODEL_H
#define DF_MODEL_H

#include "df_expect.h"

/* How an endpoint's connection stands within the present group of steps. */
enum model_end {
	MODEL_STANDS,
	MODEL_ENDING, /* something ends it: what was posted may run or be flushed */
	MODEL_SHUT,   /* and nothing more that is posted here can run */
};

struct model_ep {
	bool alive;
	int life;
	int pz;
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
	bool failed;     /* a request did, so none behind it succeeds, whatever it does */
	bool left;       /* disconnected by itself before anything else ended it */
	unsigned events; /* of the end: bits as in struct df_cm */
	bool unproven;   /* something was posted of which nothing shows yet that it is done */
	GArray *sq;      /* of unsigned: requests that hold a slot */
	GArray *rq;
};

struct model_lmr {
	bool alive;
	bool linked; /* no longer, once the peer or a Read unlinked it */
	bool doubt;  /* or it may have: the connection ended around that */
	int pz;
	int off;
	int len;
	int privs;
	int mode;
	bool shareable;
	int changed; /* settlement up to which it changes */
	int made;    /* how many have stood in this place */
	int rights;  /* how often the rights were changed */
};

enum model_link {
	MODEL_UNLINKED,
	MODEL_LINKED,
	MODEL_UNKNOWN, /* the connection ended around it */
};

struct model_rmr {
	bool alive;
	enum model_link linked;
	int type;
	int pz;
	int ep;  /* linked through; -1: who knows */
	int lmr; /* likewise */
	int off; /* in the arena */
	int len;
	int privs;
	int mode;
	int changed;
};

/* What a request was posted by, and which regions stood in its places then. */
struct model_posted {
	struct df_step step;
	int made[DF_SEGS];
	int rights[DF_SEGS];
};

/* Octets that a request of the present group reads or writes. */
struct model_touch {
	unsigned wr;
	enum df_kind kind;
	int ep;
	bool remote; /* by way of the peer's keys */
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
	struct model_lmr lmr[DF_LMRS];
	struct model_rmr rmr[DF_RMRS];
	uint8_t memory[DF_NODES][DF_ARENA];
	uint8_t vague[DF_NODES][DF_ARENA];
	GArray *touches; /* of struct model_touch */
	GArray *work;    /* of struct model_posted, one for each of expected->wrs */
	bool poisoned;   /* two requests of the group met in memory without an order between them */
	bool dirty;      /* something was posted since the last settlement */
	int settle;      /* number of the next settlement */
	int step;        /* being modelled */
};

/* The world before the first step. */
struct df_model *df_model_new(const struct df_profile *profile);
void df_model_free(struct df_model *model);
/* The next step of a program. */
void df_model_step(struct df_model *model, const struct df_step *step);
/* After the last step; what was expected, which the caller owns. */
struct df_expected *df_model_end(struct df_model *model);
/* All of it at once. */
struct df_expected *df_model_run(const struct df_program *program,
				 const struct df_profile *profile);

/* --- among the files of the model ------------------------------------------------------------ */

#define MODEL_BIT(number) (1u << (number))

static inline struct df_step_expect *
model_now(struct df_model *model)
{
	return DF_STEP(model->expected, model->step);
}

/* One more answer that is right; the first one is for the rest, if there is none. */
void model_answer(struct df_model *model, it_status_t status);
/* Settle before the step, if there is something to settle. */
void model_settle_before(struct df_model *model);
/* The step's consequences are not determined: it is left out. */
void model_skip(struct df_model *model);

/* Two ends of a connection end; `self` is the one whose step it is. */
void model_end(struct df_model *model, int self, enum model_end how, unsigned cause);
void model_work(struct df_model *model, const struct df_step *step);
/* A request of the runner's own, a Read of no octets. */
void model_probe(struct df_model *model, int ep);
unsigned model_wr_new(struct df_model *model, int ep, bool request, it_event_type_t event);

void model_objects(struct df_model *model, const struct df_step *step);
/* What links through an endpoint: unlinked by its reset, uncertain after an end in the midst. */
void model_rmr_reset(struct df_model *model, int ep);
void model_rmr_ended(struct df_model *model, int ep);
/* An end in the midst of remote unlinks leaves open which of them were done. */
void model_lmr_ended(struct df_model *model);
bool model_rmr_through(const struct df_model *model, int ep, enum model_link linked);
bool model_rmr_onto(const struct df_model *model, int lmr, enum model_link linked);
/* May the rights of an LMR, or of an RMR over such an LMR, be given? */
bool model_lmr_privs_good(int privs);
bool model_rmr_privs_good(int privs, int lmr_privs);
/* The rights that an adapter takes from those that are asked for: it ignores what it has no use for [IT 8.2]. */
int model_privs(const struct df_model *model, int privs);

/* What a remote access meets. */
struct model_target {
	bool good;
	int node;
	int off; /* in the arena */
	int len; /* of it that lies within the region, good or not */
};

struct model_target model_target(const struct df_model *model, const struct df_step *step,
				 int right, int len);
/* Why a request of the endpoint cannot use the segment: the bit of a dto_status, 0: it can. */
unsigned model_seg_fault(const struct df_model *model, int ep, const struct df_seg *seg, int right);
int model_seg_sum(const struct df_step *step);
int model_seg_off(const struct df_model *model, const struct df_seg *seg);

/* What is wrong with a request that runs: bits of it_dto_status_t. */
struct model_verdict {
	unsigned near;  /* here */
	unsigned far;   /* at the peer, as this end learns of it */
	unsigned taker; /* with the receive that takes the message */
	int receive;    /* that receive's index, -1: there is none */
	struct model_target target;
};

/* Every reason to refuse the post goes into the answer; is there one, or is it to be left out? */
bool model_refused(struct df_model *model, const struct df_step *step);
/* The endpoint has a peer. */
struct model_verdict model_judge(struct df_model *model, const struct df_step *step);
/* The oldest receive that nothing has taken, or -1. */
int model_first_receive(const struct df_model *model, int ep);

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

/* A run of octets somewhere, for one request. */
void model_touch(struct df_model *model, const struct model_touch *touch);
void model_read(struct df_model *model, const struct model_touch *touch, uint8_t *octets,
		uint8_t *vague);
void model_write(struct df_model *model, const struct model_touch *touch, const uint8_t *octets,
		 const uint8_t *vague);
void model_blur(struct df_model *model, int node, int off, int len);
/* All that the endpoint's requests wrote in this group, for they may not have run. */
void model_blur_ep(struct df_model *model, int ep);
void model_fill(struct df_model *model, int node, int off, int len, int seed);
/* The octet of a pattern; the runner uses it too. */
uint8_t df_pattern(int seed, int i);

#endif /* DF_MODEL_H */
