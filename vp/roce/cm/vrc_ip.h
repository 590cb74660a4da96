/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The layout of ports and IP addresses in CM messages: InfiniBand Architecture 1.2, volume 1, annex A11 (RDMA IP CM
 * Service), and the port spaces of librdmacm. Pure functions, any thread.
 */
#ifndef VRC_IP_H
#define VRC_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rnicpi_attr.h"
#include "rnicpi_types.h"
#include "vrc_mad.h"

#define VRC_IP_HEADER_SIZE 36u

/* What precedes the consumer's private data in a REQ and a SIDR_REQ of an IP port space. */
struct vrc_ip_header {
	uint16_t port; /* of the sender, host order */
	struct ri_addr source;
	struct ri_addr dest;
};

/* Read it: `len` octets are there. False: too few, another version, or neither IPv4 nor IPv6. */
bool vrc_ip_header_read(const void *octets, size_t len, struct vrc_ip_header *header);
/* Write it; both addresses are of one family. */
void vrc_ip_header_write(const struct vrc_ip_header *header, uint8_t octets[VRC_IP_HEADER_SIZE]);

/* The GID of an address: IPv4 as ::ffff:a.b.c.d, others as they are. */
void vrc_gid_of_addr(const struct ri_addr *addr, uint8_t gid[VRC_GID_SIZE]);
/* Do two addresses have one GID? */
bool vrc_addr_same(const struct ri_addr *a, const struct ri_addr *b);

/*
 * The service id on the wire, host order, of a service for connections or, if `datagram`, for datagrams. Both members
 * of ri_service are in network order; RI_SERVICE_PORT means the port space of TCP or of UDP.
 */
uint64_t vrc_service_id(const struct ri_service *service, bool datagram);
/* Does a service id mean that port of TCP, or (`datagram`) of UDP? Then a header precedes the private data. */
bool vrc_service_is_port(uint64_t service_id, bool datagram);

/* The flow label that librdmacm gives to the path of a connection between two ports, host order. */
uint32_t vrc_flow_label(uint16_t source_port, uint16_t dest_port);

#endif /* VRC_IP_H */
