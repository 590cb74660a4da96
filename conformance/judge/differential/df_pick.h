/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The choices of the generator: the parts of a step, mostly such that the step is useful. */
#ifndef DF_PICK_H
#define DF_PICK_H

#include "df_model.h"

struct maker {
	GRand *rand;
	struct df_model *model;
	struct df_program *program;
	/* More kinds of steps. */
	bool wide;
	bool privileged;
	bool watermarks;
	bool faults;
	bool changes;
	bool ways;
	bool wild; /* the present step is unguided */
};

/* A random number from 0 to limit - 1. */
int pick_below(struct maker *maker, int limit);
/* True once in so many times. */
bool pick_once_in(struct maker *maker, int times);
/* Append the step to the program and run it in the model. */
void pick_add(struct maker *maker, const struct df_step *step);
/* An endpoint in that state (-1: none in that place); any endpoint, if there is none or the step is unguided. */
int pick_ep(struct maker *maker, int state);
/* An existing LMR of a node; if possible one of the zone that may be used in this way. */
int pick_lmr(struct maker *maker, int node, int pz, int right);
/* A length for a request. */
int pick_len(struct maker *maker);
/* A position of `len` octets in `size`; sometimes they do not fit. */
int pick_off(struct maker *maker, int size, int len);
/* Flags of a request, mostly permitted ones. */
int pick_flags(struct maker *maker, int allowed);
/* One more segment, of about that length. */
void pick_segment(struct maker *maker, struct df_step *step, int len, int right);
/* Segments of `len` octets in total. */
void pick_segments(struct maker *maker, struct df_step *step, int len, int most, int right);
/* The place of an S-RQ; any place, if no S-RQ exists or the step is unguided. */
int pick_live_srq(struct maker *maker);
/* The S-RQ of a new endpoint: its place + 1, or 0. */
int pick_srq(struct maker *maker, int ep);
/* Flags and segments of a receive, with regions that its endpoint or S-RQ can use. */
void pick_receive(struct maker *maker, struct df_step *step);
/* The room for a message to the endpoint; receives are posted before, if it needs them. */
int pick_room(struct maker *maker, int ep);
/* A step of datagrams. */
void pick_datagram(struct maker *maker, struct df_step *step);
/* The list of a region. */
void pick_listed(struct maker *maker, struct df_step *step);
/* A region without memory; a link or unlink of one, through an endpoint that can. */
void pick_reserved(struct maker *maker, struct df_step *step);
void pick_lmr_link(struct maker *maker, struct df_step *step);
/* A segment of the node that is an I/O address, now and then; otherwise false. */
bool pick_direct(struct maker *maker, struct df_step *step, int node, int len);
/* Watermarks: of an S-RQ, of an endpoint that is created or exists; messages that may pass them. */
void pick_srq_limit(struct maker *maker, struct df_step *step);
void pick_limits(struct maker *maker, struct df_step *step);
void pick_ep_limit(struct maker *maker, struct df_step *step);
void pick_burst(struct maker *maker, struct df_step *step);
/* A spigot that changes, mostly in a row of changes; a dispatcher of its events; an adapter that fails. */
void pick_spigot(struct maker *maker, struct df_step *step);
void pick_unaff(struct maker *maker, struct df_step *step);
void pick_fail(struct maker *maker, struct df_step *step);
/* A change of something that lives on. */
void pick_ep_change(struct maker *maker, struct df_step *step);
void pick_listen(struct maker *maker, struct df_step *step);
void pick_evd_size(struct maker *maker, struct df_step *step);
void pick_evd_way(struct maker *maker, struct df_step *step);
void pick_srq_size(struct maker *maker, struct df_step *step);
/* Spigots that are down go up now and then. */
void pick_repair(struct maker *maker);
/* A region or window of the peer that grants the right, if there is one. */
void pick_target(struct maker *maker, struct df_step *step, int right);
/* A key of the peer that a Send may invalidate, if there is one. */
void pick_unlinkable(struct maker *maker, struct df_step *step);

#endif /* DF_PICK_H */
