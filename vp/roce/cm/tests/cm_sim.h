/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two managers on a link, in virtual time and one thread. All random numbers come from one seed, so a run repeats
 * exactly. The link loses, duplicates, delays and so reorders datagrams, and a test may drop those that it names.
 */
#ifndef CM_SIM_H
#define CM_SIM_H

#include <glib.h>

#include "ri_at_end.h"
#include "vrc_cm.h"

#define MS  UINT64_C(1000000)
#define SEC (1000 * MS)

struct sim;

struct sim_node {
	struct sim *sim;
	struct vrc_cm *cm;
	struct sim_node *other;
	struct ri_addr addr;
	GArray *events; /* struct vrc_event, all that were taken */
	/* What the application does about an event; may be NULL. */
	void (*on_event)(struct sim_node *node, const struct vrc_event *event);
	void *app;
};

struct sim {
	GRand *rand;
	uint64_t now;
	struct ri_host host;
	struct sim_node a;
	struct sim_node b;
	GPtrArray *flying;
	guint sent;     /* datagrams so far: the number of the next one */
	guint received; /* datagrams that managers were given */
	GPtrArray *log; /* GBytes of each that was sent */
	double loss;
	double twice;
	uint64_t delay_min;
	uint64_t delay_max;
	guint drops[4];        /* numbers of datagrams that are lost; G_MAXUINT: none */
	guint16 drop_kind;     /* all of this attribute are lost; 0: none */
	struct sim_node *mute; /* nothing that it sends arrives */
};

void sim_start(struct sim *sim, guint32 seed);
/* Everything is freed; a leak is the sanitizer's to find. */
void sim_stop(struct sim *sim);
/* Let time pass until nothing is due and nothing flies, or that moment. */
void sim_run(struct sim *sim, uint64_t until);
/* Deliver and take events without letting time pass. */
void sim_settle(struct sim *sim);

/* A datagram of a stranger, or of the peer, arrives at once. */
void sim_inject(struct sim_node *to, const struct ri_addr *from, const void *octets, gsize len);
void sim_inject_mad(struct sim_node *to, const struct vrc_mad *mad);

/* The newest datagram of that kind that was sent. */
void sim_last_mad(struct sim *sim, guint16 attribute, struct vrc_mad *mad);
guint sim_count_mads(struct sim *sim, guint16 attribute);

struct vrc_params sim_params(struct sim_node *node, guint port);
struct vrc_listen *sim_listen(struct sim_node *node, guint port, guint backlog);
guint64 sim_connect(struct sim_node *node, guint port);
/* The n-th event of a kind that the node has taken, from 0; NULL: none. */
const struct vrc_event *sim_event(struct sim_node *node, enum ri_cm_event_kind kind, guint n);
guint sim_count_events(struct sim_node *node, enum ri_cm_event_kind kind);
struct vrc_counts sim_counts(struct sim_node *node);

#endif /* CM_SIM_H */
