/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * TCP connections over the loopback interface, which tests convert [IT 11], and I/O on the end that a test keeps.
 * Every failure fails the test.
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
/* As stream_open over IPv4, with such small buffers that 64 KiB do not fit while the peer does not read. */
void stream_open_narrow(int ends[2]);
/*
 * it_socket_convert; `msg` NULL: the end becomes the initiator, else the text is the last message before RDMA mode.
 */
it_status_t stream_convert(struct end *end, int sd, it_sc_flags_t flags, const char *msg);
void stream_say(int sd, const void *octets, size_t length);
void stream_hear(int sd, const void *octets, size_t length);
/* Read until the stream ends. False: a reset ended it. */
bool stream_drain(int sd);
/* Close the socket with a reset. */
void stream_reset(int sd);
/* Wait until the reset of the peer has come. The kernel may be late with it, on a busy machine. */
void stream_await_reset(int sd);

#endif /* IT_STREAM_H */
