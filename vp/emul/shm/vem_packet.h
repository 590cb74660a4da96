/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Packets on the socket of a link: connection management, and the descriptors of the rings. A packet is one flat struct, whose
 * members are checked by the side that receives it.
 */
#ifndef VEM_PACKET_H
#define VEM_PACKET_H

#include "rnicpi_attr.h"
#include "rnicpi_event.h"

#define VEM_PACKET_MAGIC \
	0x346d6873u /* "shm4": both sides have the same packets, rings and entries */
#define VEM_PACKET_FDS 2

enum vem_packet_kind {
	VEM_PACKET_HELLO = 1, /* the first of each side, with its ring and its wake-up socket */
	VEM_PACKET_REQUEST,   /* connect */
	VEM_PACKET_ACCEPT,    /* the answer: who the partner is; messages follow */
	VEM_PACKET_FAIL,      /* the attempt has failed; `code` is an enum ri_cm_reason */
	VEM_PACKET_WITHDRAW,  /* the side that connects gives up */
	VEM_PACKET_MESSAGE,   /* one VEM_MSG_* for a queue pair */
	VEM_PACKET_KNOCK, /* connections by attributes: a queue pair is there; see vem_remote_peer.c */
	VEM_PACKET_JOIN,
	VEM_PACKET_JOINED,
	VEM_PACKET_OPEN,
	VEM_PACKET_ASK,
	VEM_PACKET_ASKED,
	VEM_PACKET_QUERY, /* datagram services, InfiniBand's SIDR; see vem_remote_query.c */
	VEM_PACKET_ANSWER,
	VEM_PACKET_QUERY_END,
	VEM_PACKET_KINDS
};

struct vem_packet {
	uint32_t magic;
	uint32_t kind;
	uint32_t
		to; /* HELLO: personality; else the connection, in the numbers of whoever receives this */
	uint32_t to_life;
	uint32_t
		from; /* HELLO: block of queue pair numbers; else as above, of whoever sends this */
	uint32_t from_life;
	uint32_t message; /* VEM_MSG_*; by attributes: the code of its wait for receives */
	uint32_t code;    /* by attributes: the number of the queue pair that is meant */
	uint32_t qpn;
	uint32_t qkey; /* ANSWER */
	uint32_t type; /* enum ri_qp_type */
	struct ri_service service;
	struct ri_addr peer;  /* where the request goes, as the active side says */
	struct ri_addr local; /* where it comes from */
	uint32_t ird;
	uint32_t ord;
	uint32_t psn[2]; /* of the active side, of the passive one */
	uint8_t ird_ord;
	uint8_t field;
	uint8_t retries; /* 1: the next two count */
	uint8_t retry_count;
	uint8_t rnr_retry;
	uint8_t reserved;
	uint16_t pdata_len;
	uint8_t pdata[RI_PDATA_MAX];
};

/* Send a packet with `count` descriptors, without waiting. Returns 0 or an errno; EAGAIN: the other side reads too slowly. */
int vem_packet_send(int fd, const struct vem_packet *packet, const int *fds, unsigned count);

enum vem_packet_result {
	VEM_PACKET_GOT = 0,
	VEM_PACKET_NONE, /* nothing is there now */
	VEM_PACKET_END, /* the other side has closed, or died; or errno is not 0, and says why nothing can be received */
	VEM_PACKET_BAD /* it is no packet, or its descriptors are too many; *why says it */
};

/* Receive one. Descriptors that came are the caller's, *count of them; after each other result there are none. */
enum vem_packet_result vem_packet_receive(int fd, struct vem_packet *packet,
					  int fds[VEM_PACKET_FDS], unsigned *count,
					  const char **why);

#endif /* VEM_PACKET_H */
