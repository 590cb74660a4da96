/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A station: the sockets of an interface's addresses, and the engine behind them. All openings of an adapter in a process share
 * one, since an address has one socket. The sockets are opened when the first queue pair, listener or query of the station is created.
 *
 * The engine runs in a role, which a thread tries and never waits for: a thread first puts its queue pair on the list
 * `kicks`, and if the role is taken, its owner runs these queue pairs before it releases the role. Control verbs wait
 * for the role (vro_station_enter); a task makes the upcalls that follow from them, since a verb makes no upcall.
 */
#ifndef VRO_STATION_H
#define VRO_STATION_H

#include <pthread.h>

#include "vrc_service.h"
#include "vro_spin.h"
#include "vro_udp.h"
#include "vsw_leader.h"

#define VRO_ADDRS_MAX RI_PORT_ADDR_MAX
#define VRO_ROWS      256u /* of the table of queue pair numbers */

struct vro_port {
	char name[32]; /* of the interface */
	uint32_t index;
	uint32_t mtu;
	bool online;
	bool loopback;
	uint32_t num_addrs;
	struct ri_addr addrs[VRO_ADDRS_MAX];
};

struct vro_ports {
	struct vro_port *list;
	uint32_t count;
	uint32_t room;
	int error;
};

/* All interfaces that are up and have an address; RI_ERR_RESOURCES. vro_ports_free frees the list. */
enum ri_status vro_ports_read(struct vro_ports *all) RI_MUST_CHECK;
void vro_ports_free(struct vro_ports *all);

/* Is it an address of this host? */
bool vro_route_here(const uint8_t gid[16], uint32_t scope);
/*
 * Find the source address that the kernel chooses for a destination; `scope` is the interface of a
 * link-local destination. False: there is no route. *here: the destination is this host. Nothing is
 * sent.
 */
bool vro_route_find(const uint8_t gid[16], uint32_t scope, uint8_t source[16], bool *here);

struct vro_verbs_qp;
struct vro_group;

struct vro_station {
	struct vro_engine engine; /* first */
	struct vro_link mux;      /* to the socket of a packet's source address */
	struct vsw_role role;
	struct vsw_leader leader;
	struct vro_spin spin;
	atomic_uint posts; /* requests since a thread has polled last ... */
	atomic_uint batch; /* ... and before that, when there were some */
	struct ri_task task;
	struct ri_task more;  /* a queue pair has had its turn, and more to send */
	struct ri_timer full; /* a socket took no more */
	int epfd;
	struct vro_port port;
	atomic_bool lost[VRO_ADDRS_MAX]; /* addresses of `port` that could not be claimed */
	struct vro_udp udps[VRO_ADDRS_MAX];
	atomic_uint num_udps; /* 0 until the addresses are claimed; then it does not change */
	uint32_t opened; /* of `udps`, while they are claimed, too; under the lock of the list */
	pthread_mutex_t claiming; /* one thread claims; owned while kald is asked */
	bool alone;               /* kald did not answer, and is not asked for further addresses */
	_Atomic(struct vro_verbs_qp *) kicks;
	struct vro_verbs_qp *rows[VRO_ROWS];   /* by number; in the role */
	struct vro_verbs_qp *peers[VRO_ROWS];  /* by the number of the peer; in the role */
	struct vro_group *groups;              /* of multicast; in the role */
	struct vrc_service *service;           /* connection management: queue pair 1 */
	atomic_uint gsi_psn;                   /* of the next packet from there */
	uint32_t slot;                         /* bits 23 to 18 of all its queue pair numbers */
	struct ri_share shares[VRO_ADDRS_MAX]; /* of `udps`; fd -1: it is not shared */
	bool shared;                           /* some is: `slot` is this process's */
	uint8_t tag;                           /* of this station in numbers of requests */
	atomic_bool forked; /* this is the child of a fork: its parent has the sockets */
	uint32_t users;     /* openings; under the lock of the list of stations */
	struct vro_station *next;
	char name[64];
	atomic_int denied;          /* errno of a refusal to send that was reported last */
	bool captured;              /* its packets go to a capture (vro_tap.h) */
	_Atomic(const char *) note; /* a sentence for the next one, or NULL */
};

/* The station of an adapter, "roce:" and an interface. RI_ERR_NO_DEVICE, RI_ERR_RESOURCES: a line in the log says why. */
enum ri_status vro_station_get(const struct ri_host *host, const char *name,
			       struct vro_station **out) RI_MUST_CHECK;
void vro_station_put(struct vro_station *station);

/*
 * Called before an address is given to a peer: open the sockets of all addresses, which binds UDP
 * port 4791 at each, unless that was done already. RI_ERR_IN_USE: another socket has an address,
 * and a line in the log names its process. RI_ERR_RESOURCES; RI_ERR_FATAL: this is the child of a
 * fork.
 */
enum ri_status vro_station_claim(struct vro_station *station) RI_MUST_CHECK;
/* The addresses of the interface but those that are lost; returns how many. */
uint32_t vro_station_addrs(const struct vro_station *station, struct ri_addr addrs[VRO_ADDRS_MAX]);

/*
 * Register the service for this process, at all shared addresses: requests for it then come here.
 * RI_ERR_IN_USE: another process of the user has it; RI_ERR_RESOURCES. The caller owns
 * vro_station::claiming, also for the next function.
 */
enum ri_status vro_service_begin(struct vro_station *station, const struct vrc_listen *listen,
				 const struct ri_service *service);
/* That listener goes. */
void vro_service_over(struct vro_station *station, const struct vrc_listen *listen,
		      const struct ri_service *service);

/* vro_claim.c; with the lock of the list of stations, which is given up while kald is asked. */
/* Choose the addresses of `port`. The loopback's are claimed at once. */
enum ri_status vro_claim_begin(struct vro_station *station) RI_MUST_CHECK;
/* As vro_station_claim. */
enum ri_status vro_claim(struct vro_station *station) RI_MUST_CHECK;
void vro_claim_drop(struct vro_station *station);
/* As vro_udp::absent, of a station's sockets. In the role. */
void vro_station_absent(struct vro_udp *udp, const uint8_t gid[16], const uint8_t *head,
			size_t len);
/* As vro_udp::denied. Any thread. */
void vro_station_denied(struct vro_udp *udp, bool receiving, int error);

/*
 * The manager to which a number belongs. No other thread closes it until vro_station_let_go. NULL:
 * no manager has the number, and vro_station_let_go must not be called.
 */
struct vrc_service *vro_station_of_number(uint64_t number);
void vro_station_let_go(void);
/* Own the lock of the list again. */
void vro_station_hold(void);
/* Octets of a packet that the interface carries. */
uint32_t vro_station_mtu(const struct vro_station *station);
/* Own the role, until vro_station_leave; what was asked for meanwhile is done by the task. */
void vro_station_enter(struct vro_station *station);
void vro_station_leave(struct vro_station *station);
/* Run the queue pairs that were kicked, if no other thread does. */
void vro_station_run(struct vro_station *station);
/* A queue pair was kicked for a request: run it, or leave it to the thread that polls, which sends several in one run of packets. */
void vro_station_posted(struct vro_station *station);
/* As vsw_doorbell's; `engine` is the station. */
uint32_t vro_station_poll(void *engine);
uint32_t vro_station_progress(void *engine, uint32_t budget);
bool vro_station_leader_enter(void *engine, int *fd);
void vro_station_leader_leave(void *engine);
bool vro_station_spin_futile(void *engine);

#endif /* VRO_STATION_H */
