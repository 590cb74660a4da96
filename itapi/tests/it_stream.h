/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * TCP connections over the loopback interface that tests convert [IT 11], and what a test
 * says and hears on an end that it keeps for itself. Everything here fails the test if it does not work.
 */
#ifndef IT_STREAM_H
#define IT_STREAM_H

#include "it_pair.h"

/* A start-up frame of MPA without private data: revision 1, CRC, no markers (RFC 5044, 7.1). */
#define STREAM_FRAME 20
extern const char stream_request[STREAM_FRAME];
extern const char stream_reply[STREAM_FRAME];

/* Two ends of a connection: [0] connected, [1] accepted. */
void stream_open(int ends[2], int family);
/* The same at an IPv4 address of this machine, given as text. */
void stream_open_at(int ends[2], const char *address);
/* The same over IPv4 with so little room in both that 64 KiB do not go through unread. */
void stream_open_narrow(int ends[2]);
/* Does the adapter convert no sockets? Then the test is skipped. */
bool stream_skipped(const struct pair *pair);
/* it_socket_convert; `msg` NULL: the initiator, else the text is the last message. */
it_status_t stream_convert(struct end *end, int sd, it_sc_flags_t flags, const char *msg);
void stream_say(int sd, const void *octets, size_t length);
void stream_hear(int sd, const void *octets, size_t length);
/* Read until the stream ends; false: by a reset. */
bool stream_drain(int sd);
/* Close it so that the peer sees a reset. */
void stream_reset(int sd);

#endif /* IT_STREAM_H */
