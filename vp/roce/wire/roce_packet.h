/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The InfiniBand transport headers as RoCEv2 carries them: BTH and the extension headers of each opcode, read and written
 * together. A packet is the payload of one UDP datagram: BTH, extension headers, payload, pad, ICRC (roce_icrc.h).
 *
 * Fields are in host order, immediate data excepted. Nothing here allocates, blocks or keeps state; any thread.
 *
 * Source: InfiniBand Architecture, volume 1, chapter 9 (formats), annex A17 (RoCEv2).
 */
#ifndef ROCE_PACKET_H
#define ROCE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_UDP_PORT   4791u
#define ROCE_BTH        12u
#define ROCE_ICRC       4u
#define ROCE_GRH        40u              /* route header in front of a datagram's payload */
#define ROCE_MTU_MAX    4096u            /* octets of payload in one packet */
#define ROCE_HEAD_MAX   (ROCE_BTH + 28u) /* an atomic has the longest headers */
#define ROCE_PACKET_MAX (ROCE_HEAD_MAX + ROCE_MTU_MAX + ROCE_ICRC)
#define ROCE_QPN_GSI    1u        /* queue pair of the connection manager */
#define ROCE_QPN_GROUP  0xffffffu /* destination of a multicast */
#define ROCE_QKEY_GSI   0x80010000u
#define ROCE_PKEY       0xffffu /* the default partition, full member */

/* Bits 7..5 of an opcode. */
enum roce_transport {
	ROCE_RC = 0x00,
	ROCE_UC = 0x20,
	ROCE_UD = 0x60,
	ROCE_CNP = 0x80
};

/* The only opcode of ROCE_CNP: a notification of congestion. Its 16 reserved octets count as payload. */
#define ROCE_CNP_OPCODE 0x81u

/* Bits 4..0. */
enum roce_op {
	ROCE_SEND_FIRST = 0x00,
	ROCE_SEND_MIDDLE = 0x01,
	ROCE_SEND_LAST = 0x02,
	ROCE_SEND_LAST_IMM = 0x03,
	ROCE_SEND_ONLY = 0x04,
	ROCE_SEND_ONLY_IMM = 0x05,
	ROCE_WRITE_FIRST = 0x06,
	ROCE_WRITE_MIDDLE = 0x07,
	ROCE_WRITE_LAST = 0x08,
	ROCE_WRITE_LAST_IMM = 0x09,
	ROCE_WRITE_ONLY = 0x0a,
	ROCE_WRITE_ONLY_IMM = 0x0b,
	ROCE_READ_REQUEST = 0x0c,
	ROCE_READ_FIRST = 0x0d, /* responses, to ROCE_READ_ONLY */
	ROCE_READ_MIDDLE = 0x0e,
	ROCE_READ_LAST = 0x0f,
	ROCE_READ_ONLY = 0x10,
	ROCE_ACK = 0x11,
	ROCE_ATOMIC_ACK = 0x12,
	ROCE_CMP_SWAP = 0x13,
	ROCE_FETCH_ADD = 0x14,
	ROCE_SEND_LAST_INV = 0x16,
	ROCE_SEND_ONLY_INV = 0x17,
	ROCE_OP_COUNT
};

/* What an opcode is: the extension headers that follow the BTH, in this order, and its place in a message. */
enum roce_part {
	ROCE_HAS_DETH = 1u << 0,       /* 8 octets */
	ROCE_HAS_RETH = 1u << 1,       /* 16 */
	ROCE_HAS_ATOMIC = 1u << 2,     /* 28 */
	ROCE_HAS_AETH = 1u << 3,       /* 4 */
	ROCE_HAS_ATOMIC_ACK = 1u << 4, /* 8 */
	ROCE_HAS_IMM = 1u << 5,        /* 4 */
	ROCE_HAS_IETH = 1u << 6,       /* 4 */
	ROCE_IS_SEND = 1u << 7,
	ROCE_IS_WRITE = 1u << 8,
	ROCE_IS_READ = 1u << 9, /* a response */
	ROCE_IS_FIRST =
		1u << 10, /* begins a message; a packet that begins and ends it is an "Only" */
	ROCE_IS_LAST = 1u << 11, /* ends a message */
	ROCE_IS_REQUEST = 1u << 12,
	ROCE_IS_ANSWER = 1u << 13, /* acknowledges: has an AETH, or is in the middle of a Read */
	ROCE_IS_BARE = 1u << 14    /* without payload */
};

/* The parts of an opcode of the wire, or 0 if this is none that RoCEv2 has. */
uint32_t roce_parts(uint8_t opcode);
/* Octets of BTH and extension headers of these parts. */
uint32_t roce_head_size(uint32_t parts);

/* AETH syndromes: bits 7..5. */
enum roce_syndrome {
	ROCE_SYN_ACK = 0x00, /* low five bits: credits; ROCE_SYN_UNLIMITED */
	ROCE_SYN_RNR = 0x20, /* low five bits: timer code */
	ROCE_SYN_NAK = 0x60, /* low five bits: below */
	ROCE_SYN_KIND = 0xe0,
	ROCE_SYN_VALUE = 0x1f,
	ROCE_SYN_UNLIMITED = 0x1f,
	ROCE_NAK_SEQUENCE = 0x60,
	ROCE_NAK_INVALID = 0x61,
	ROCE_NAK_ACCESS = 0x62,
	ROCE_NAK_OPERATION = 0x63
};

/* The time of an RNR NAK's code (0..31) in ns: 0 is the longest, 655.36 ms. */
uint64_t roce_rnr_time(uint32_t code);

/* One packet. Which members an opcode has say its parts; the others are not touched. */
struct roce_packet {
	uint8_t opcode; /* transport and operation */
	uint8_t pad; /* octets behind the payload, 0..3; set by the reader, derived by the writer */
	bool solicited;
	bool migrated;
	bool fecn;
	bool becn;
	bool ack_request;
	uint16_t pkey;
	uint32_t qpn; /* destination, 24 bits */
	uint32_t psn; /* 24 bits */

	uint32_t qkey; /* DETH */
	uint32_t source_qpn;
	uint64_t va; /* RETH, AtomicETH */
	uint32_t rkey;
	uint32_t length;   /* RETH: of the whole message */
	uint64_t swap_add; /* AtomicETH */
	uint64_t compare;
	uint8_t syndrome;    /* AETH */
	uint32_t msn;        /* 24 bits */
	uint64_t original;   /* AtomicAckETH */
	uint32_t immediate;  /* the four octets as they are in memory */
	uint32_t invalidate; /* IETH */

	const uint8_t *payload; /* in the caller's octets; the writer does not copy it */
	uint32_t payload_length;
};

/* Why a packet is dropped. Nothing of it is trusted, so nothing is answered. */
enum roce_fault {
	ROCE_OK = 0,
	ROCE_SHORT, /* shorter than the headers, pad and ICRC of its opcode, or no multiple of 4 octets */
	ROCE_VERSION, /* transport version other than 0 */
	ROCE_OPCODE,  /* reserved, or of a transport that RoCEv2 does not have */
	ROCE_EXTRA,   /* payload where the opcode has none */
	ROCE_CRC,     /* wrong ICRC */
	ROCE_IP,      /* not one whole UDP datagram to port 4791 in a plain IP header */
	ROCE_PKEY_FAULT,
	ROCE_QPN_FAULT,  /* no such queue pair, or not of this transport */
	ROCE_PEER_FAULT, /* from or to an address that is not the queue pair's */
	ROCE_QKEY_FAULT,
	ROCE_STATE_FAULT, /* the queue pair takes no packets in its state */
	ROCE_FAULT_COUNT
};

/*
 * Read the packet in the `len` octets of a UDP datagram; the ICRC is counted but not checked. p->payload points into `octets`.
 * ROCE_OK, ROCE_SHORT, ROCE_VERSION, ROCE_OPCODE or ROCE_EXTRA.
 */
enum roce_fault roce_packet_read(const void *octets, size_t len, struct roce_packet *p);
/*
 * Write BTH and extension headers to `to`, which has room for ROCE_HEAD_MAX octets. The pad count is that of payload_length.
 * The caller puts payload, pad (roce_pad) and ICRC behind. Returns the octets written; 0: no such opcode.
 */
uint32_t roce_packet_write(uint8_t *to, const struct roce_packet *p);

/* Pad octets behind so much payload. */
static inline uint32_t
roce_pad(uint32_t payload_length)
{
	return -payload_length & 3u;
}

/* Do these P_Keys meet: the same partition, and one of the two a full member? Ours is full. */
static inline bool
roce_pkey_fits(uint16_t ours, uint16_t theirs)
{
	return ((ours ^ theirs) & 0x7fff) == 0 && ((ours | theirs) & 0x8000) != 0;
}

/* --- numbers of 24 bits ------------------------------------------------------------------- */

#define ROCE_24 0xffffffu

static inline uint32_t
roce_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & ROCE_24;
}

/* a - b, from -2^23 to 2^23 - 1. */
static inline int32_t
roce_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) / 256;
}

#endif /* ROCE_PACKET_H */
