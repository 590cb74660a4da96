/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Runs a program on an adapter and records what it shows. */
#ifndef DF_RUN_H
#define DF_RUN_H

#include "df_world.h"

struct df_run {
	struct world *world;
	const struct df_program *program;
	const struct df_expected *expected;
	struct df_record *record;
	int64_t patience; /* microseconds to wait for an event that may never come */
	int settle;       /* the number of settlements made */
	int peer[DF_EPS]; /* connected to most recently; set only where it was */
	int lmr_off[DF_LMRS];
	const struct df_step_expect *now; /* of the present step */
	bool hold[DF_NODES];              /* as in struct df_settle, until what it says has come */
};

/* The expectation says only what to wait for. The caller owns the record. NULL: no such adapter. */
struct df_record *df_run_program(const char *adapter, const struct df_program *program,
				 const struct df_expected *expected, unsigned patience_s);

/* The same on IAs that other threads may use. */
struct df_record *df_run_program_on(const struct world_ias *ias, const struct df_program *program,
				    const struct df_expected *expected, unsigned patience_s);

/* --- between the files of the runner --------------------------------------------------------- */

/*
 * Wait for the events that the next settlement expects, take all events, and read states and
 * memory. False: an event did not come.
 */
bool run_settle(struct df_run *run);
/* Reset; a "not yet" is no final status, since the transport may need time to finish. */
it_status_t run_reset(const struct df_run *run, it_ep_handle_t ep);
/* A step of datagrams, with its segments. */
it_status_t run_datagram(struct df_run *run, const struct df_step *step,
			 const it_lmr_triplet_t *segs, it_dto_cookie_t cookie);
/* The place of the endpoint of that handle, datagram endpoints behind the others; -1: it was freed. */
int run_ep_of(const struct df_run *run, it_ep_handle_t handle);
/* Watermarks, and the affiliated events: what a settlement begins with, waits for and looks at. */
void run_begin_limits(struct df_run *run);
bool run_wait_async(struct df_run *run, int node, int64_t deadline);
void run_look_at_limits(struct df_run *run);
it_status_t run_srq_limit(const struct df_run *run, const struct df_step *step);
it_status_t run_ep_limit(const struct df_run *run, const struct df_step *step);
/* Faults: a step, and what a settlement begins with, waits for and looks at. */
it_status_t run_fault(struct df_run *run, const struct df_step *step);
void run_begin_faults(struct df_run *run);
bool run_wait_unaff(struct df_run *run, int node, int64_t deadline);
void run_look_at_faults(struct df_run *run);
/* A change of what lives on. */
it_status_t run_change(struct df_run *run, const struct df_step *step);
/* Privileged operations [IT 8.9]. */
it_status_t run_lmr_reserve(struct df_run *run, const struct df_step *step);
it_status_t run_lmr_create(struct df_run *run, const struct df_step *step);
it_status_t run_lmr_link(struct df_run *run, const struct df_step *step, it_dto_cookie_t cookie);
/* A new context; the former one is kept. */
void run_key_takes(struct world_key *key, it_rmr_context_t context, uint64_t base);
/* What the peer adds its offset to, for a region or window of that addressing mode. */
uint64_t run_base_of(const struct df_run *run, const struct df_step *step, int off);
/* The next event of a dispatcher of a node, in its way, within the time the run has. */
bool run_wait_for(struct df_run *run, struct world_node *node, enum world_evd kind,
		  int64_t deadline, it_event_t *event);
/* The same of a dispatcher that has no ways. */
bool run_wait(struct df_run *run, it_evd_handle_t evd, int64_t deadline, it_event_t *event);

#endif /* DF_RUN_H */
