/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The choices of the generator: what a step is made of, mostly so that it makes sense. */
#ifndef DF_PICK_H
#define DF_PICK_H

#include "df_model.h"

struct maker {
	GRand *rand;
	struct df_model *model;
	struct df_program *program;
	bool wild; /* the present step is made without regard */
};

/* 0 up to limit - 1. */
int pick_below(struct maker *maker, int limit);
/* True once in so many times. */
bool pick_once_in(struct maker *maker, int times);
/* The step belongs to the program; the model takes it. */
void pick_add(struct maker *maker, const struct df_step *step);
/* An endpoint in such a state (-1: none there), any if there is none or the step is wild. */
int pick_ep(struct maker *maker, int state);
/* A live LMR of a node, if possible one that the endpoint may use so. */
int pick_lmr(struct maker *maker, int ep, int right);
/* Octets of a request. */
int pick_len(struct maker *maker);
/* Where `len` octets begin within `size`; now and then they do not fit. */
int pick_off(struct maker *maker, int size, int len);
/* Flags of a request, for the most part of those allowed. */
int pick_flags(struct maker *maker, int allowed);
/* One more segment, of about that length. */
void pick_segment(struct maker *maker, struct df_step *step, int len, int right);
/* Segments that hold `len` octets together. */
void pick_segments(struct maker *maker, struct df_step *step, int len, int most, int right);
/* A region or window of the peer that grants the right, if there is one. */
void pick_target(struct maker *maker, struct df_step *step, int right);
/* What a Send may unlink at the peer, if there is something. */
void pick_unlinkable(struct maker *maker, struct df_step *step);

#endif /* DF_PICK_H */
