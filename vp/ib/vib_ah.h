/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Address handles; vib_ah.c, and vib_ah_call.c for the calls that wait. */
#ifndef VIB_AH_H
#define VIB_AH_H

#include "vib.h"

#define VIB_QPN_NOWHERE 0xffffffu /* no queue pair has this number */

struct vib_ah_call;

/* A way to a destination. */
struct vib_path {
	struct vib_item item; /* in ri_context::ahs_gone, when no object has it */
	struct ibv_ah *ah;
	bool nowhere; /* only a place holder: the neighbour is not known */
};

struct ri_ah {
	struct vib_item item; /* of its context */
	struct ri_pd *pd;
	_Atomic(struct vib_path *)
		path; /* a modification puts another one there, or the end of `call` */
	struct vib_key *key;
	struct vib_ah_call *call; /* that is to make the path; under ri_rnic::ah_lock */
};

extern const struct ri_ah_ops vib_ah_ops;

/*
 * [fast path] The device's address handle of a row of which the caller has a use. While the neighbour is not known, the
 * datagram is lost, as on a network: it is sent to this port itself, to a queue pair number that does not exist, stored
 * in *@p qpn.
 */
static inline struct ibv_ah *
vib_ah_of(const struct vib_key *key, uint32_t *qpn)
{
	const struct vib_path *path = atomic_load(&((struct ri_ah *)key->object)->path);

	if (__builtin_expect(path->nowhere, 0))
		*qpn = VIB_QPN_NOWHERE;
	return path->ah;
}

/* An address as GID: an IPv4 address is mapped into IPv6, the others are GIDs already. */
void vib_gid_of(union ibv_gid *gid, const struct ri_addr *addr);
/*
 * Describe the route to a destination for libibverbs; whether its neighbour is known is not
 * checked. RI_ERR_INVALID_ARG: the spigot does not exist; RI_ERR_NO_ROUTE: none of its addresses
 * fits the destination, or the source address is not one of them.
 */
enum ri_status vib_way_fill(const struct ri_rnic *rnic, const struct ri_ah_init *init,
			    struct ibv_ah_attr *attr) RI_MUST_CHECK;

/* Destroy those that no posted datagram names any more, and all of this domain, whose queue pairs are gone; NULL: of none. */
void vib_ah_sweep(struct ri_context *context, const struct ibv_pd *pd);

/* Another path; the old one goes when no posted datagram names it. Not on the fast path. */
void vib_ah_replace(struct ri_ah *ah, struct vib_path *fresh);

/* --- vib_ah_call.c ------------------------------------------------------------------------------ */

/*
 * Create an ibv_ah without waiting, although its creation may wait for a peer. *@p out: the handle;
 * or NULL, and then *@p call is still in progress and must be passed to vib_ah_call_tie or
 * vib_ah_call_drop.
 */
enum ri_status vib_ah_call(struct ri_pd *pd, const struct ibv_ah_attr *attr, struct ibv_ah **out,
			   struct vib_ah_call **call) RI_MUST_CHECK;
/* This object gets what it makes. */
void vib_ah_call_tie(struct vib_ah_call *call, struct ri_ah *ah);
/* Discard what it makes. NULL is allowed. */
void vib_ah_call_drop(struct vib_ah_call *call);
/* The object goes, or gets another destination: drop the call that it waits for, if there is one. */
void vib_ah_call_untie(struct ri_ah *ah);
/* What the errno of a creation means. */
enum ri_status vib_ah_failure(const struct ri_rnic *rnic, int error) RI_MUST_CHECK;

#endif /* VIB_AH_H */
