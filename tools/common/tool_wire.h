/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Messages between the tools of both sides, as octets: integers in network byte order, strings
 * with their length in front. A cursor checks every bound; after the first overrun it reads zeros,
 * writes nothing and stays bad.
 */
#ifndef TOOL_WIRE_H
#define TOOL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_wire {
	uint8_t *at;
	size_t left;
	bool ok;
};

struct tool_wire tool_wire_of(void *octets, size_t len);

void tool_put(struct tool_wire *wire, uint64_t value, size_t octets);
void tool_put_text(struct tool_wire *wire, const char *text);
void tool_put_octets(struct tool_wire *wire, const void *octets, size_t len);

uint64_t tool_get(struct tool_wire *wire, size_t octets);
char *tool_get_text(struct tool_wire *wire, size_t limit); /* g_free() it; "" after an overrun */

/* The first words on every connection, in the private data of request, accept and reject. */
enum tool_id {
	TOOL_PING = 1,
	TOOL_TEST = 2,
	TOOL_CP = 3,
};

enum tool_refusal {
	TOOL_WELCOME = 0,
	TOOL_OTHER_VERSION = 1, /* the same tool of another version */
	TOOL_OTHER_TOOL = 2,    /* not this tool at all */
	TOOL_BUSY = 3,          /* the server serves somebody else */
};

#define TOOL_VERSION    2
#define TOOL_HELLO_SIZE 32 /* octets; every adapter carries that much */

struct tool_hello {
	uint16_t version;
	uint8_t tool;       /* enum tool_id */
	uint8_t refusal;    /* enum tool_refusal; in answers */
	uint64_t session;   /* random; the connections of one run have it in common */
	uint32_t index;     /* of this connection in the run; 0 is the first */
	uint32_t abilities; /* in answers: bits of the tool; 0 of versions that had none */
};

void tool_hello_write(const struct tool_hello *hello, uint8_t octets[TOOL_HELLO_SIZE]);

/* False if these octets are no greeting of ours. */
bool tool_hello_read(struct tool_hello *hello, const void *octets, size_t len);

#endif /* TOOL_WIRE_H */
