/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The world of a program on a real adapter, over it_api.h alone. */
#ifndef DF_WORLD_H
#define DF_WORLD_H

#include "df_expect.h"
#include "df_hub.h"
#include "df_ways.h"

#define WORLD_SEGS  4    /* the most that is asked for */
#define WORLD_READS 16   /* likewise: DF_DEPTH */
#define WORLD_QUEUE 1024 /* events that a dispatcher can hold: more than a group makes */

enum world_evd {
	WORLD_REQUEST,
	WORLD_RECV,
	WORLD_CM,
	WORLD_CM_REQUEST,
	WORLD_EVDS
};

struct world_node {
	it_ia_handle_t ia;
	struct df_hub *hub;    /* of the IA */
	int door;              /* at which its adapter takes commands; -1: none */
	bool failed;           /* the adapter, on demand */
	it_evd_handle_t unaff; /* of the spigot's events, NULL: none */
	it_ia_info_t *info;
	it_evd_handle_t evd[WORLD_EVDS];
	struct ways ways;          /* in which the runner hears of their events */
	it_listen_handle_t listen; /* NULL: none now */
	it_conn_qual_t qual;
	size_t spigot;
	it_path_t path;   /* to this node */
	int threshold[2]; /* of the dispatchers of requests and receives */
	uint8_t *arena;
	it_io_addr_t io; /* the arena as the adapter sees it; NULL: the process is not privileged */
};

struct world_ep {
	it_ep_handle_t handle; /* NULL: none */
	it_ep_handle_t last;   /* the one that is in this place, or was there last */
	int life;
	bool ended; /* the event of its end was seen since the last settlement */
};

/* A datagram endpoint; the one before stays known, so that datagrams can be sent to it. */
struct world_ud {
	it_ep_handle_t handle; /* NULL: none */
	it_ep_handle_t last;
	int life;
	it_remote_ep_info_t info;
};

/* A region or a window, its present context and the one before, as the calls gave them: nothing is known of them. Freedoms: keys. */
struct world_key {
	it_handle_t handle; /* NULL: none */
	it_rmr_context_t context[2];
	uint64_t base[2]; /* what the peer adds its offset to */
};

/* Octets of a zone for the runner's own Reads, which no program sees: it reads into the first and from the second. */
struct world_probe {
	it_lmr_handle_t lmr; /* NULL: none yet */
	it_rmr_context_t context;
	uint8_t *octets;
};

/* The IAs of several worlds. */
struct world_ias {
	it_ia_handle_t ia[DF_NODES];
	struct df_hub *hub[DF_NODES];
	int door[DF_NODES];
};

struct world {
	unsigned number; /* no other world of the process has it */
	struct world_node node[DF_NODES];
	it_pz_handle_t pz[DF_PZS];
	struct world_ep ep[DF_EPS];
	struct world_key lmr[DF_REGIONS];
	struct world_key rmr[DF_RMRS];
	it_srq_handle_t srq[DF_SRQS];
	it_addr_handle_t ah[DF_AHS];
	struct world_ud ud[DF_UDS];
	struct world_probe probe[DF_PZS];
};

/* Adapters that are opened from now on come to the fault door, if they know it. */
void world_faults(void);
/* NULL: no such adapter. Any other failure ends the program: it is not what this tests. `several`: threads use them. */
struct world_ias *world_ias_open(const char *adapter, bool several);
/* Returns an event of no world, or NULL. */
char *world_ias_close(struct world_ias *ias);
struct world *world_open(const struct world_ias *ias);
/*
 * Free everything but the IAs, children first; returns the name of the object that could not be
 * freed, or NULL. `by_force` frees as many objects as possible. The remaining objects end with the
 * IAs and may use the memory until then, so the memory is kept.
 */
char *world_close(struct world *world, bool by_force);
/* Those of the zone of an endpoint; they are made when they are needed first, since an adapter may have few regions. */
const struct world_probe *world_probe_of(struct world *world, int ep);
/* A datagram endpoint of the node, as a step requests it, and how it is addressed. */
it_status_t world_datagram(const struct world_node *node, it_pz_handle_t pz,
			   const struct df_step *step, it_ud_ep_key_t key, it_ep_handle_t *ep,
			   it_remote_ep_info_t *info);
/* The dispatcher of the node for unaffiliated events. */
it_status_t world_unaff(struct world_node *node, int room);
/* How many segments are asked for, of those that the attribute of the profile limits. */
size_t world_segs(const char *attribute);
/* Attributes of an endpoint of the node as a step requests them. */
it_ep_attributes_t world_attributes(const struct world_node *node, const struct df_step *step);
/* What the adapter says of itself; false: no such adapter. */
bool df_profile_ask(const char *adapter, struct df_profile *profile);

#endif /* DF_WORLD_H */
