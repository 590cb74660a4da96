/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Bad peers in processes of their own, which attack a listener on this machine with plain sockets:
 * they connect and send nothing, a part of a Request, nonsense, or single octets with pauses; they
 * connect and reset; they establish a connection and guess STags, stop inside of an FPDU, or
 * receive nothing.
 *
 * There are many of them, but they wait for each other: the connections that are not accepted yet
 * are always less than half of the kernel's queue, so that the kernel drops no client. So only the
 * listener can delay a client.
 */
#ifndef IT_SIEGE_H
#define IT_SIEGE_H

#include <stdbool.h>
#include <stdint.h>

#define SIEGE_PROCESSES 4

struct siege_count {
	uint32_t peers;    /* at once */
	uint32_t connects; /* in all */
	uint32_t replies;  /* to Requests */
	uint32_t ended;    /* connections that the other side has ended */
};

/* Fork the processes; before there are threads. */
void siege_recruit(void);
/* Attack that TCP port (network order) of the loopback address. */
void siege_begin(uint16_t port);
/* Stop, and close everything. The service must go on meanwhile: it has connections in its queue. */
void siege_stop(void);
/* Have they stopped? Then *count is what they have done. */
bool siege_is_over(struct siege_count *count);
/* The processes end. */
void siege_dismiss(void);

#endif /* IT_SIEGE_H */
