/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams and their address handles, for the files of vp/emul. */
#ifndef VEM_UD_H
#define VEM_UD_H

#include "vem.h"

#define VEM_KEY_CONTROLLED 0x80000000u /* keys with this bit are for privileged processes */

struct ri_ah {
	struct vem_item item;
	struct ri_pd *pd;
	uint32_t id;
	struct vem_target target; /* under the lock of the adapter's table */
};

/* --- vem_ah.c --------------------------------------------------------------------------------- */

extern const struct ri_ah_ops vem_ah_ops;
/* Free the address handles that were destroyed, if no datagram could still name them. */
void vem_ah_sweep(struct ri_context *context);
/* The destination of a datagram, by address handle. False: the domain has no such handle. Fast path. */
bool vem_ah_find(struct ri_rnic *rnic, uint32_t id, const struct ri_pd *pd,
		 struct vem_target *target);

/* The way to an address. RI_ERR_INVALID_ARG: no such spigot; RI_ERR_NO_ROUTE. */
enum ri_status vem_target_make(const struct ri_rnic *rnic, const struct ri_ah_init *init,
			       struct vem_target *target);

/* --- vem_ud.c --------------------------------------------------------------------------------- */

/* Make the queue pair visible to senders, or invisible again. */
void vem_ud_enter(struct ri_qp *qp);
void vem_ud_leave(struct ri_qp *qp);
/* From IDLE to running: a queue pair for datagrams needs no connection. */
void vem_ud_begin(struct ri_qp *qp);
/* Execute the datagram taken from the send queue. False: the task will run the queue again. */
bool vem_ud_execute(struct ri_qp *qp);

#endif /* VEM_UD_H */
