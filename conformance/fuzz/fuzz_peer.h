/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The peer of a queue pair under test: one end of a socket, the protocol state of a peer that sends
 * valid frames, and a checker for every octet that the queue pair sends.
 */
#ifndef FUZZ_PEER_H
#define FUZZ_PEER_H

#include "fuzz.h"
#include "mpa_marker.h"
#include "rdmap_check.h"

#define FUZZ_PEER_ROOM \
	262144u /* octets from the queue pair that can wait for the rest of their frame */

struct fuzz_peer {
	int fd;                              /* -1: closed */
	bool crc;                            /* CRC was negotiated */
	bool marks;                          /* what the peer sends has markers */
	bool unmarks;                        /* what the queue pair sends has them */
	bool over;                           /* a Terminate has come */
	uint64_t plain;                      /* octets of the frames that were made */
	uint32_t next_msn[DDP_QN_COUNT];     /* of the messages that the peer sends */
	uint32_t next_mo[DDP_QN_COUNT];      /* of their next segment */
	struct rdmap_read_request asked;     /* the last Read that the queue pair requested */
	struct rdmap_atomic_request ordered; /* the last Atomic */
	uint32_t heard_msn[DDP_QN_COUNT];    /* of the messages that came from the queue pair */
	uint32_t heard_mo[DDP_QN_COUNT];     /* of their next segment */
	bool heard_write;                    /* the last one was the end of a Write */
	struct mpa_unmark unmark;            /* of what came */
	uint32_t have;                       /* octets in `heard` */
	uint8_t *heard;                      /* FUZZ_PEER_ROOM octets */
};

/* `heard` and `fd` are the caller's. */
void fuzz_peer_begin(struct fuzz_peer *peer, int fd, bool crc);

/*
 * Make a frame as the input says: of any opcode, valid at this moment except for the faults that
 * the input names. `stags` are the keys of the regions that exist, `bases` their addresses. Returns
 * the frame's number of octets.
 */
struct fuzz_regions {
	const uint32_t *stags;
	const uint64_t *bases;
	unsigned count;
};
uint32_t fuzz_peer_frame(struct fuzz_peer *peer, struct fuzz_input *in,
			 const struct fuzz_regions *regions, uint8_t *frame);
#define FUZZ_PEER_FRAME_MAX 2048u

/* Frame the next octets of the input, with the right length and CRC. Returns the octets of the frame. */
uint32_t fuzz_peer_seal(struct fuzz_peer *peer, struct fuzz_input *in, uint8_t *frame);

/* Read what has come from the queue pair, and judge it: right frames only, in order, and nothing behind a Terminate. */
void fuzz_peer_hear(struct fuzz_peer *peer);

#endif /* FUZZ_PEER_H */
