/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two engines and a wire between them, in virtual time, on one thread, repeatable from a seed. The wire loses, duplicates,
 * reorders, delays and damages packets at random, or drops exactly those packets that a test names.
 */
#ifndef VRO_SIM_H
#define VRO_SIM_H

#include <glib.h>
#include <stdio.h>

#include "vro_qp.h"
#include "vsw_test_host.h"
#include "vsw_user.h"

#define SIM_ROOM    65536u /* octets of memory of each side */
#define SIM_QPS     4
#define SIM_DEPTH   64
#define SIM_RIGHTS  (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)
#define SIM_ALL     (RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE | SIM_RIGHTS | RI_ACCESS_BIND)
#define SIM_TIMEOUT 14 /* code: 67 ms */

struct sim;
struct sim_side;

/* A queue pair, and what programs see of it. */
struct sim_qp {
	struct vro_qp qp; /* first */
	struct sim_side *side;
	struct vsw_cq scq, rcq;
	struct ri_ucq *uscq, *urcq;
	struct ri_uqp *uqp;
	GString *sent;     /* completions of requests, one a line */
	GString *received; /* of receives */
	guint failures;
	uint32_t event; /* of the last failure */
};

struct sim_side {
	struct vro_engine engine; /* first */
	struct vro_link link;
	struct sim *sim;
	struct vsw_doorbell bell;
	struct ri_urnic *rnic;
	uint8_t gid[16];
	struct vsw_mem_table *mem;
	struct vsw_mem_entry *mr;
	uint32_t stag;
	alignas(8) uint8_t memory[SIM_ROOM];
	uint8_t octets[ROCE_PACKET_MAX]; /* the packet that is being built */
	struct sim_qp *qps[SIM_QPS];
	guint in_flight;
};

/* How the wire treats packets; parts of 1000. */
struct sim_wire {
	uint32_t lose, duplicate, damage, delay; /* a packet that is delayed is overtaken */
	guint limit;                             /* packets of a side under way; 0: any number */
	uint64_t distance;                       /* ns that each packet takes in addition */
	uint64_t far; /* ns that a delayed packet, or a duplicate, may take */
};

struct sim {
	struct vth *vth;
	const struct ri_host *host;
	struct sim_side sides[2];
	struct sim_wire wire;
	uint32_t seed;
	struct ri_timer timer;
	GPtrArray *packets; /* under way */
	guint64 order;
	guint sent;     /* packets so far */
	guint received; /* packets that the engines were given */
	gint drop[2];   /* numbers of packets that are dropped; -1: none */
	uint8_t pd;
	FILE *capture; /* pcap of all packets, or NULL */
	/* Each packet before it is sent; false: it is lost. May be NULL. */
	bool (*filter)(struct sim *sim, int from, const struct roce_packet *p);
	void *arg; /* of the test */
};

struct sim *sim_new(uint32_t seed, bool v6);
void sim_free(struct sim **sim);
/* Let time pass until nothing happens any more, or for this many ns. */
void sim_run(struct sim *sim, uint64_t ns);

/* `transport`: enum roce_transport. In VRO_INIT. */
struct sim_qp *sim_qp_new(struct sim *sim, int side, enum roce_transport transport);
/* Two queue pairs that are connected; first numbers as given. */
void sim_pair(struct sim *sim, enum roce_transport transport, uint32_t mtu, uint32_t psn0,
	      uint32_t psn1, struct sim_qp *pair[2]);
/* To be called before vro_qp_to_rtr: the path to `peer`. */
void sim_path(struct sim_qp *q, const struct sim_qp *peer, uint32_t mtu);

struct ri_sge sim_sge(const struct sim_qp *q, uint32_t at, uint32_t len);
void sim_post(struct sim_qp *q, const struct ri_wr *wr);
void sim_receive(struct sim_qp *q, uint64_t id, uint32_t at, uint32_t len);
/* A request of `opcode`: octets [from, from + len) here, and at `to` in the peer's memory. */
struct ri_wr sim_request(const struct sim_qp *q, uint64_t id, uint8_t opcode,
			 const struct ri_sge *sge, uint32_t to);
/* Take the completions that are there. */
void sim_poll(struct sim_qp *q);
/* What all programs have seen, and all memory. Free with g_free. */
char *sim_state(struct sim *sim);

#endif /* VRO_SIM_H */
