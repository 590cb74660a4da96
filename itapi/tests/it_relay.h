/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A relay between an initiator and a responder on this machine, which damages one connection at one place. It is
 * above TCP, so no checksum of TCP sees the damage. The MPA start-up passes unharmed; behind it the relay follows
 * the FPDUs of both directions as their senders sent them, without markers (RFC 5044 section 4).
 */
#ifndef IT_RELAY_H
#define IT_RELAY_H

#include <stdbool.h>
#include <stdint.h>

enum relay_harm {
	RELAY_FLIP = 0, /* one bit behind the length field */
	RELAY_FLIP_LENGTH,
	RELAY_DROP,      /* some octets */
	RELAY_DUPLICATE, /* some octets */
	RELAY_FIN,       /* inside of an FPDU; the other direction goes on */
	RELAY_RESET,     /* inside of an FPDU, both ways */
	RELAY_SLICE,     /* no harm: all of it in small pieces, with pauses */
	RELAY_HARMS
};

enum {
	RELAY_FORTH = 0,
	RELAY_BACK,
	RELAY_WAYS
}; /* from the initiator, and to it */

struct relay_plan {
	enum relay_harm harm;
	unsigned way;
	unsigned fpdu; /* of that direction, from 0; the ready-to-receive message is one */
	uint32_t pick; /* chooses the octet and the bit, or the pieces */
	unsigned
		octets; /* to drop, 1 to 64; to duplicate: as many as the direction has had, at most */
};

struct relay_report {
	bool struck;
	bool reset;                /* the connection ended so, by the harm or by one side */
	bool tagged;               /* the FPDU that was struck */
	uint32_t at, size;         /* where in it, and its size, in octets */
	int terminate[RELAY_WAYS]; /* code of the Terminate that went that way; -1: none */
};

struct relay;

/* Starts its thread. `target` and the answer of relay_port are TCP ports of the loopback address, network order. */
struct relay *relay_new(uint16_t target);
uint16_t relay_port(const struct relay *relay);
/* The next connection is treated so. */
void relay_prepare(struct relay *relay, const struct relay_plan *plan);
/* Wait until that connection has ended on both sides. */
struct relay_report relay_finish(struct relay *relay);
/* No connection is under way. */
void relay_free(struct relay *relay);

#endif /* IT_RELAY_H */
