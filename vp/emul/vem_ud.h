/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams and their address handles, for the files of vp/emul. */
#ifndef VEM_UD_H
#define VEM_UD_H

#include "vem.h"

#define VEM_KEY_CONTROLLED 0x80000000u /* keys with this bit are for privileged processes */

struct ri_ah {
	struct vsw_item item;
	struct vsw_pd *pd;
	uint32_t id;
	struct vem_target target; /* under the lock of the adapter's table */
};

/* A datagram on its way. */
struct vem_datagram {
	const uint8_t *grh; /* VEM_GRH octets, without its length */
	const struct vsw_spans *octets;
	uint32_t length;
	uint32_t from;  /* the number of the sender */
	uint32_t key;   /* Q_Key */
	uint32_t flags; /* RI_WR_* */
	uint32_t extra; /* immediate data */
};

/* --- vem_ah.c --------------------------------------------------------------------------------- */

extern const struct ri_ah_ops vem_ah_ops;
/* Free the address handles that were destroyed, if no datagram could still name them. */
void vem_ah_sweep(struct ri_context *context);
/* The destination of a datagram, by address handle. False: the domain has no such handle. Fast path. */
bool vem_ah_find(struct ri_rnic *rnic, uint32_t id, const struct vsw_pd *pd,
		 struct vem_target *target);

/* An address as a GID: an IPv4 address is mapped, the others are GIDs already. False: it is no address. */
bool vem_gid_of(uint8_t gid[16], const struct ri_addr *addr);
/* The way to an address. RI_ERR_INVALID_ARG: no such spigot; RI_ERR_NO_ROUTE. */
enum ri_status vem_target_make(const struct ri_rnic *rnic, const struct ri_ah_init *init,
			       struct vem_target *target);

/* Has this queue pair sent all datagrams that are posted? */
bool vem_ud_is_idle(struct vem_qp *qp);

/* --- vem_ud.c --------------------------------------------------------------------------------- */

/* Make the queue pair visible to senders, or invisible again. */
void vem_ud_enter(struct vem_qp *qp);
void vem_ud_leave(struct vem_qp *qp);
/* From IDLE to running: a queue pair for datagrams needs no connection. */
void vem_ud_begin(struct vem_qp *qp);
/* Execute the datagram taken from the send queue. False: the task will run the queue again. */
bool vem_ud_execute(struct vem_qp *qp);

/* One from another process, for the queue pair of that number or a group. The owner of vem_shm::rx. */
void vem_ud_arrived(struct vem_fabric *fabric, uint32_t qpn, const struct vem_datagram *datagram);
/* Send queues that wait for a link go on, on the service thread. Any thread. */
void vem_ud_go_on(struct vem_fabric *fabric);

/* --- vem_mcast.c ------------------------------------------------------------------------------ */

bool vem_gid_is_group(const uint8_t gid[16]);
/* Entries of ri_qp_ops. */
enum ri_status vem_mcast_attach(struct ri_qp *qp, const struct ri_addr *group);
enum ri_status vem_mcast_detach(struct ri_qp *qp, const struct ri_addr *group);
/* It is a member of no group any more. */
void vem_mcast_leave(struct vem_qp *qp);
/* The number of the member that came last, of all groups. */
uint64_t vem_mcast_last(struct vem_fabric *fabric);
/* Begin a use (`inside`) of the next member with a number above *after and up to `last`. NULL: there is none. */
struct vem_qp *vem_mcast_next(struct vem_fabric *fabric, const uint8_t gid[16], uint64_t *after,
			      uint64_t last);

#endif /* VEM_UD_H */
