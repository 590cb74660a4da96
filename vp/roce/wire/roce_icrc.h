/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The invariant CRC of a RoCEv2 packet [WIRE 16.2], and the IP and UDP headers that it covers.
 *
 * The CRC covers what routers do not change: of IPv4 also the identification and the flags, which a
 * UDP socket neither chooses nor sees. A sender knows them, since Linux puts 0 into all datagrams
 * of an unconnected socket that does not fragment, and 0, 1, 2 ... into the segments of one call
 * with UDP_SEGMENT. A receiver computes them: the CRC is linear, so the difference between the CRC
 * with identification 0 and the one received, shifted back to the place of the identification, is
 * that identification. 16 bits of the CRC then still check the packet.
 *
 * Nothing here allocates or blocks; any thread. Source: InfiniBand Architecture, volume 1, 7.8.1 and annex A17.
 */
#ifndef ROCE_ICRC_H
#define ROCE_ICRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roce_packet.h"

#define ROCE_IPV4      20u
#define ROCE_IPV6      40u
#define ROCE_UDP       8u
#define ROCE_IP_MAX    (ROCE_IPV6 + ROCE_UDP)
#define ROCE_FRAME_MAX (ROCE_IP_MAX + ROCE_PACKET_MAX)

/* What the headers below the BTH say. Addresses are GIDs: an IPv4 address is ::ffff:a.b.c.d. */
struct roce_flow {
	uint8_t source[16];
	uint8_t destination[16];
	uint16_t source_port;
	uint16_t destination_port;
	uint8_t traffic_class; /* not covered, as the two below, and flow_label */
	uint8_t hop_limit;
	uint8_t slot;     /* of the process at the destination, if processes share that address */
	uint8_t reserved; /* 0 */
	uint16_t ident;   /* IPv4 */
	bool fragments;   /* IPv4: DF is not set */
	uint32_t flow_label; /* IPv6, 20 bits */
};

/* Is this GID an IPv4 address? */
bool roce_gid_is_v4(const uint8_t gid[16]);
/* The GID of an IPv4 address, which is in network order. */
void roce_gid_of_v4(uint8_t gid[16], const void *address);

/* CRC-32 of Ethernet over `len` octets, from register to register: ~0 at the start, inverted at the end. */
uint32_t roce_crc(uint32_t crc, const void *octets, size_t len);

/*
 * The ICRC of a packet, whose `len` octets do not include it; they are at least ROCE_BTH. The first octet of the wire is the
 * least significant one.
 */
uint32_t roce_icrc(const struct roce_flow *flow, const uint8_t *octets, size_t len);
/* Write it behind the `len` octets; returns len + ROCE_ICRC. */
size_t roce_icrc_seal(const struct roce_flow *flow, uint8_t *octets, size_t len);
/*
 * Is the ICRC at the end of these `len` octets right? With `find`, an identification or DF of IPv4 that is not the one of
 * *flow is accepted, and set in *flow. False, too: shorter than BTH and ICRC.
 */
bool roce_icrc_check(struct roce_flow *flow, bool find, const uint8_t *octets, size_t len);

/*
 * Read the IP and UDP headers of a whole IP packet. *octets, *len: the payload of its UDP datagram. ROCE_IP: options or
 * extension headers, a fragment, another protocol or port, or lengths that contradict each other.
 */
enum roce_fault roce_ip_read(const uint8_t *frame, size_t size, struct roce_flow *flow,
			     const uint8_t **octets, size_t *len);
/* Write the headers for `len` octets of UDP payload, with UDP checksum 0. Returns their octets: 28, or 48. */
uint32_t roce_ip_write(uint8_t *to, const struct roce_flow *flow, size_t len);
/* The 40 octets that a datagram's receive begins with. */
void roce_grh_write(uint8_t to[ROCE_GRH], const struct roce_flow *flow, size_t len);

/* --- source ports: they only spread load -------------------------------------------------- */

/* 0xC000 to 0xFFFF, of a flow label of 20 bits. */
uint16_t roce_port_of_label(uint32_t label);
/* The label of a connection whose address vector has none; the same at both ends. */
uint32_t roce_label_of_qpns(uint32_t a, uint32_t b);

#endif /* ROCE_ICRC_H */
