/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The results of a program as the model predicts them, and as they were observed on an adapter.
 * Both are divided by settlements, numbered from 0. A settlement is a point at which every posted
 * request has ended, the dispatchers are empty and the memory does not change. Observations are
 * compared only there.
 */
#ifndef DF_EXPECT_H
#define DF_EXPECT_H

#include <stdint.h>

#include "df_program.h"
#include "it_api.h"

#define DF_NEVER   (-1)
#define DF_DEAD    (-2) /* an adapter that has failed */
#define DF_ANSWERS 8
#define DF_PROBE   0x100000 /* cookies from here on belong to requests that the runner posts itself */

/* What an adapter says of itself, and what the caller says of its device; the model uses nothing else about it. */
struct df_profile {
	bool no_errors;     /* leave out requests that fail when they run, here or at the peer */
	bool no_lmr_unlink; /* leave out Sends that unlink a region */
	bool raises_ird;    /* the side that accepts raises its IRD to the ORD of the request */
	bool all_solicited; /* each message notifies its receiver */
	bool srq_of_zone;   /* an endpoint's S-RQ must be of its own zone */
	bool late_flush; /* a request without a completion that has succeeded may be flushed later */
	bool no_empty_read; /* leave out Reads of no octets */
	bool early_slots; /* a request without a completion may give its slot back as soon as it is done */
	bool orderly_end; /* the peer of an end that failed may see an orderly one, since no message says more */
	bool imagined; /* of no adapter: the generator's, whose programs stay as they are */
	bool ib; /* transport: a connection ends in order even while requests are outstanding */
	bool remote_status; /* an error at the peer completes the request that caused it */
	bool local_read;    /* the right of local reading is checked */
	bool atomics;
	bool relative;
	bool sink_remote_write; /* the sink of a Read needs the right of remote writing */
	bool local_extensions;
	bool send_unlink;
	bool narrow;
	bool wide;
	bool narrow_unlink;
	bool wide_unlink;
	bool unlink_fence;
	bool lmr_modify;
	bool ird_ord; /* exchanged at connection */
	bool once;    /* an endpoint makes one attempt: it cannot be reset after it */
	int most_ird; /* limits of the two */
	int most_ord;
	bool has_srq;
	bool three_way;
	bool datagrams;
	bool privileged; /* the process has the privilege */
	bool lmr_link;
	bool direct; /* memory can be named by I/O addresses */
	bool low_watermark;
	bool soft_watermark;
	bool hard_watermark;
	bool wq_resizable;
	bool srq_resizable;
	bool enables_modifiable;
	bool ird_modifiable;
	bool ord_increasable;
	bool faults; /* it has the fault door, at which spigots and the adapter itself fail on demand */
	unsigned lists; /* bits of it_iobl_type_t */
	/* The attributes granted for a request of 4, 4, 4 and 1 segments, or as many as are claimed, and that many slots. */
	int send_segs;
	int recv_segs;
	int write_segs;
	int read_segs;
	int sq[DF_DEPTH + 1];
	int rq[DF_DEPTH + 1];
	int unaff[DF_DEPTH + 1]; /* room of a dispatcher for unaffiliated events */
	int srq_segs;
	int srq[DF_DEPTH + 1];
	int ud_send_segs;
	int ud_recv_segs;
	int ud_payload;
	int ud_sq[DF_DEPTH + 1];
	int ud_rq[DF_DEPTH + 1];
};

/* Each of these is right. */
struct df_answer {
	int count; /* 0: the call is not made */
	it_status_t any[DF_ANSWERS];
};

struct df_step_expect {
	bool skip;          /* what would follow is not determined; the step is left out */
	bool settle_before; /* the step needs a settlement before it */
	bool settle_after;
	bool unreached; /* connect: no request comes to the peer */
	struct df_answer answer;
	struct df_answer second; /* connect: of the accept */
	struct df_answer third;  /* connect in three ways: of the last call */
};

/* Octets of a node. */
struct df_range {
	int node;
	int off;
	int len;
};

/* One work request. */
struct df_wr {
	uint64_t cookie;
	int step; /* the step that posted it, -1: the runner */
	int ep;
	int life; /* which endpoint of that place */
	bool request;
	it_event_type_t event;
	unsigned statuses; /* bits of it_dto_status_t */
	bool silent;       /* a success, or an end of the endpoint, may have no event */
	bool late_flush; /* and if it is one, a flush may still tell it later, at the end of the connection */
	bool notify;    /* a notification event: asked for here, */
	bool solicited; /* or by the sender of the message */
	bool strict;    /* queued before the event of the connection's end */
	uint32_t length;
	int unlinked; /* 0, or LMR place + 1, or -(RMR place + 1): the object that its event must name */
	int settle; /* the settlement that takes its event; DF_NEVER: not known yet */
	int srq; /* 0, or the place of the S-RQ of this receive + 1: its event is that of a message */
	struct df_range range[DF_SEGS]; /* of such a receive: where its message goes */
};

/*
 * A message that takes any of the receives of an S-RQ. The cookie of its completion shows which
 * one; the rest of the completion is predicted.
 */
struct df_take {
	struct df_wr wr;
	uint8_t *
		octets; /* the message; NULL: it is known where it went, so the memory of the settlement has it */
	uint8_t *vague;
};

/* An affiliated event of a watermark [IT 12.7], [IT 12.8]. Other ones belong to the end of a connection. */
struct df_async {
	it_event_type_t event;
	int place; /* of the S-RQ or endpoint */
	bool may;  /* and need not come */
};

/* An unaffiliated event, of the spigot of a node. Those of a node come in this order [IT 6.2.2], [IT 14.3]. */
struct df_unaff {
	it_event_type_t event;
	int node;
};

/* One event of a connection. */
struct df_cm {
	int ep;
	unsigned events; /* bits, by the low digit of the event's number */
};

struct df_ep_expect {
	int state; /* it_ep_state_rc_t, or -1: no such endpoint */
	int ord;
};

struct df_settle {
	int step;       /* before this step, or after it */
	GArray *cm;     /* of struct df_cm */
	GArray *probes; /* of int: endpoints that post a Read, to learn that all requests have ended */
	int source[DF_EPS]; /* of that Read: the endpoint at the other side */
	/* By node, of requests and of receives: the completions are known, so it is known whether they notify. */
	bool watch[DF_NODES][2];
	struct df_ep_expect ep[DF_EPS];
	int ud[DF_UDS]; /* it_ep_state_ud_t, or -1: no such endpoint */
	GArray *async;  /* of struct df_async */
	/* The completions of receives of a node stay in the dispatcher until its other events are there: they count. */
	bool hold[DF_NODES];
	bool ends[DF_EPS];    /* the endpoint had an end since it was created, or is gone */
	int low[DF_SRQS];     /* the low watermark that is armed, or -1: no such S-RQ */
	GArray *unaff;        /* of struct df_unaff */
	bool raise[DF_NODES]; /* the settlement begins with this spigot going up */
	bool dead[DF_NODES];  /* the adapter has failed */
	int online[DF_NODES]; /* its spigot: 1 or 0, DF_DEAD, or DF_NEVER: not looked at */
	uint8_t *memory[DF_NODES];
	uint8_t *vague[DF_NODES]; /* not 0: any octet is right */
};

struct df_expected {
	GArray *steps;   /* of struct df_step_expect */
	GArray *wrs;     /* of struct df_wr, in posting order */
	GArray *takes;   /* of struct df_take, those of one endpoint in the order of its messages */
	GArray *settles; /* of struct df_settle */
	uint32_t probe;  /* octets of the runner's own Reads: 0 or 1 */
};

/* One completion as it came. */
struct df_seen_wr {
	uint64_t cookie;
	int ep; /* place of the endpoint that it names, -1: none */
	int life;
	it_event_type_t event;
	it_dto_status_t status;
	uint32_t length;
	int unlinked; /* as above; G_MAXINT: another object */
	int settle;
	bool request; /* on the dispatcher of requests */
	bool late;    /* came after the event of the end of its connection */
};

struct df_seen_cm {
	int ep;
	it_event_type_t event;
};

struct df_seen_async {
	it_event_type_t event;
	int place; /* as above; -1: it was freed */
};

struct df_seen_unaff {
	it_event_type_t event;
	int node;
	bool right; /* it names the IA and the spigot of that node */
};

struct df_seen_settle {
	GArray *cm;          /* of struct df_seen_cm */
	GArray *async;       /* of struct df_seen_async */
	GArray *unaff;       /* of struct df_seen_unaff */
	bool dead[DF_NODES]; /* its dispatchers say so, once they are empty */
	int online[DF_NODES];
	int low[DF_SRQS];
	int notified[DF_NODES][2]; /* as above: 1 or 0, DF_NEVER: not looked at */
	struct df_ep_expect ep[DF_EPS];
	int ud[DF_UDS];
	uint8_t *memory[DF_NODES];
};

struct df_seen_step {
	bool made;
	it_status_t answer;
	bool second_made;
	it_status_t second;
	bool third_made;
	it_status_t third;
};

struct df_record {
	GArray *steps;   /* of struct df_seen_step, as many as were carried out */
	GArray *wrs;     /* of struct df_seen_wr, in the order of their arrival */
	GArray *settles; /* of struct df_seen_settle */
	bool stuck;      /* an expected event of the last settlement did not come in time */
	char *strange;   /* an affiliated event of no object of any program, or NULL */
	char *teardown;  /* which object could not be freed, or NULL */
};

struct df_expected *df_expected_new(void);
void df_expected_free(struct df_expected *expected);
struct df_record *df_record_new(void);
void df_record_free(struct df_record *record);

#define DF_WR(x, i)         (&g_array_index((x)->wrs, struct df_wr, (i)))
#define DF_TAKE(x, i)       (&g_array_index((x)->takes, struct df_take, (i)))
#define DF_STEP(x, i)       (&g_array_index((x)->steps, struct df_step_expect, (i)))
#define DF_SETTLEMENT(x, i) (&g_array_index((x)->settles, struct df_settle, (i)))
#define DF_SEEN_WR(r, i)    (&g_array_index((r)->wrs, struct df_seen_wr, (i)))
#define DF_SEEN_STEP(r, i)  (&g_array_index((r)->steps, struct df_seen_step, (i)))
#define DF_SEEN(r, i)       (&g_array_index((r)->settles, struct df_seen_settle, (i)))

#endif /* DF_EXPECT_H */
