/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A plain socket as the peer: it sends octets to a queue pair in RTS and reads what comes back.
 */
#ifndef VIW_PEER_H
#define VIW_PEER_H

#include "mpa_marker.h"
#include "rdmap_message.h"
#include "viw_node.h"

#define PEER_RECVS     3
#define PEER_FRAME_MAX MPA_FPDU_MAX

struct peer {
	struct node *node;
	struct end *end; /* the queue pair that the peer faces */
	struct chunk mem;
	int fd;                    /* the plain socket; -1: closed */
	bool crc;                  /* of the stream */
	struct mpa_unmark *unmark; /* not NULL: what comes back has markers, taken out so far */
};

/* With PEER_RECVS receives of 64 octets, numbered from 0; CRC on. `init` NULL: the defaults. */
struct peer peer_open(const struct ri_qp_init *init);
/* The same with a stream as `like` says, and segments of at most `mss` octets (tcp_pair_mss). */
struct peer peer_open_like(const struct ri_stream *like, int mss);
/* The two halves of that: everything but the stream, on that node; and the stream. */
struct peer peer_prepare(struct node *node, const struct ri_qp_init *init);
void peer_attach(struct peer *f, const struct ri_stream *like, int mss);
/* Both, over a host by hand, with segments as the path allows. `like` NULL: the queue pair is the responder. */
struct peer peer_open_by_hand(const struct ri_stream *like);
void peer_close(struct peer *f);
/* The peer closes its socket. */
void peer_hang_up(struct peer *f);

/* The provider's queue pair; viw_qp.h has it. */
struct viw_qp *peer_qp(const struct peer *f);
/* By hand: make progress until that is so. */
void peer_drive(struct peer *f, bool (*done)(struct viw_qp *qp));
/* For it: does the head of a message wait for a receive? */
bool peer_waits(struct viw_qp *qp);

void peer_play(struct peer *f, const void *octets, size_t len);
/* The same in pieces: 0 not at all cut, 1 octet by octet, 2 at random places. */
void peer_play_cut(struct peer *f, const uint8_t *octets, size_t len, unsigned how);
/* Read until FIN or until `want` octets are here. Returns octets; *fin: the stream has ended. */
size_t peer_listen(struct peer *f, uint8_t *buf, size_t want, bool *fin);
/* Read one frame, whose CRC must be right; its payload lies in `buf`, of PEER_FRAME_MAX octets. */
struct ddp_segment peer_read_frame(struct peer *f, uint8_t *buf);
/* What comes back must be one Terminate with this code (-1: any), then FIN. */
void peer_expect_terminate(struct peer *f, int code);
/* The stream has ended with one event; all receives came back. */
void peer_expect_over(struct peer *f);

#endif /* VIW_PEER_H */
