/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Extends vsw_node.h for this provider's tests: an adapter over a host with a thread; streams, which are
 * connected sockets that queue pairs take over; and waiting. A test whose wait does not end aborts.
 */
#ifndef VIW_NODE_H
#define VIW_NODE_H

#include "viw_provider.h"
#include "vsw_node.h"

/* Ends have 64 requests each and completion queues of 512. */
struct node *node_new(void);
/* The same over a host by hand: the test is the service thread, and time is virtual. */
struct node *node_new_by_hand(void);
/* Every object on it must have been freed. */
void node_free(struct node **node);
/* Two adapters, and nothing else yet; ends_fill adds it. */
void ends_open(struct ends *ends);
/* Free all of it. */
void ends_close(struct ends *ends);
/* How often `event` was raised for the queue pair of `end`. */
unsigned node_count(struct end *end, enum ri_event event);
/* How many events that end a connection were raised for it. */
unsigned node_ends(struct end *end);

/* A connected pair of TCP sockets. */
void tcp_pair(int fd[2]);
/* The same with segments of at most `mss` octets, options of TCP included; 0: as the path allows. */
void tcp_pair_mss(int fd[2], int mss);
/* Octets that a segment of this socket carries. */
int tcp_emss(int fd);
/* Give a socket to an idle queue pair, which is reserved first. */
enum ri_status end_attach(struct end *end, const struct ri_stream *stream);
/* CRC on, local peer. */
struct ri_stream end_stream(int fd, bool initiator);
/* Connect two ends as initiator and responder and wait until both are up. */
void ends_connect(struct end *a, struct end *b, bool crc);
/* The same with CRC, markers and path as `like` says for `a`; `b` gets its mirror image. */
void ends_connect_like(struct end *a, struct end *b, const struct ri_stream *like, int mss);

/* Wait for the next completion of the send or the receive queue. `other` is driven meanwhile. */
struct ri_wc end_wait(struct end *end, bool recv, struct end *other);
/* As end_wait; it must be a success of this request. */
struct ri_wc end_wait_ok(struct end *end, bool recv, uint64_t id, struct end *other);
/* Wait for an event of this end. */
void end_wait_event(struct end *end, enum ri_event event, struct end *other);
/* Make progress for both nodes for about `ms`. */
void ends_run(struct end *a, struct end *b, unsigned ms);
/* Move an end whose connection is over back to IDLE, as soon as the service thread has left it. */
void end_to_idle(struct end *end);
/* Is a completion queued? Polls once. */
bool end_poll(struct end *end, bool recv, struct ri_wc *wc);

#endif /* VIW_NODE_H */
