/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What a device can do: its profile, and what its attributes do not say; vib_profile.c, vib_port.c. */
#ifndef VIB_PROFILE_H
#define VIB_PROFILE_H

#include "vib.h"

/* What drivers do without saying so. A device without a row has none of it. */
struct vib_quirk {
	uint32_t vendor_id;
	const char *driver;
	bool out_of_order; /* a Send may complete before an earlier Read */
	bool no_reuse;     /* the device's queue pair cannot be used again */
	bool down_breaks; /* an interface that goes down breaks queue pairs that are not connected */
	bool kernel_flags; /* a completion says by IBV_WC_IP_CSUM_OK that a Send has invalidated */
	bool silent_failures; /* ibv_req_notify_cq for solicited completions does not report failed ones */
	/* A segment of no octets before another one in a request crashes the kernel; requests and receives need a segment. */
	bool empty_harms;
	bool no_read_fence; /* a Read that waits for earlier ones is refused */
	bool void_harms; /* the local invalidation of a window that is not bound crashes the kernel */
	bool srq_of_domain; /* it checks the buffers of an SRQ against the domain of the queue pair */
	bool vague_statuses; /* its statuses of bad segments are others than libibverbs defines */
	/* The event of an established connection names IRD and ORD of this side where others name those of the peer. */
	bool own_depths;
	bool raises_sigpipe; /* a post over a connection that has ended may signal its thread SIGPIPE */
	bool endless_retries; /* seven tries after a timeout are without end */
	bool no_iova;         /* it takes no I/O address for a region, and does not say so */
	bool no_invalidate; /* its library has no Send with invalidate, though the device claims it */
};

/* Tries of a request after a timeout: as many as InfiniBand has, or as many as end. */
static inline uint8_t
vib_retries_most(const struct vib_quirk *quirk)
{
	return quirk->endless_retries ? 6 : 7;
}

/* Fill in rnic->attr but for what vib_cm_profile knows, and rnic->quirk. */
enum ri_status vib_profile_make(struct ri_rnic *rnic) RI_MUST_CHECK;
/* ri_device_ops::query_port */
enum ri_status vib_query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr);
/* The index of the network interface behind a spigot; 0: it has none, or its interface is not known. */
uint32_t vib_port_interface(const struct ri_rnic *rnic, uint32_t port);

#endif /* VIB_PROFILE_H */
