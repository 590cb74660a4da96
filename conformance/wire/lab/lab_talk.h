/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A small protocol for two programs that test each other's RDMA: lab-itapi over IT-API, lab-verbs
 * over rdma_cm and verbs. One side leads: it has a list of operations, announces each to the other
 * side, the follower, by a Send of LAB_LETTER octets (a "letter"), and waits for the follower's
 * verdict. Both verify every octet. A side is a server (no host) or a client, and leads or follows,
 * in any combination.
 *
 * The follower posts its next receive before it answers, so each Send finds a receive.
 */
#ifndef LAB_TALK_H
#define LAB_TALK_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAB_LETTER        32
#define LAB_DATA          ((size_t)16 << 20)     /* octets of the region that operations use */
#define LAB_OUT           LAB_DATA               /* the place of the letter that goes, */
#define LAB_IN            (LAB_OUT + LAB_LETTER) /* and of those that come, in turn */
#define LAB_REGION        (LAB_IN + 2 * LAB_LETTER)
#define LAB_SLOTS         160 /* most requests, and most receives, at a time */
#define LAB_DEPTH_USUAL   (-1)
#define LAB_PRIVATE_SEED  7
#define LAB_PRIVATE_LIMIT 512

struct lab_options {
	char *host;    /* NULL: this side is the server */
	char *adapter; /* over IT-API; NULL: iwarp */
	int port;
	int count;        /* connections, one after the other */
	char *operations; /* NULL: this side follows */
	gboolean first;   /* the server sends the first letter, not the client */
	gboolean stop;    /* the follower ends the connection, not the leader */
	gboolean
		forever; /* the operations are repeated until the connection breaks, which is well */
	gboolean survive;   /* the first connection may end badly */
	gboolean endure;    /* each may, and there is no last one */
	int pause;          /* ms before the first letter, of every second connection */
	int private_data;   /* octets to send in request, reply or reject */
	int expect_private; /* octets that must come; -1: any */
	gboolean reject;    /* refuse the request; a client expects to be refused */
	int ird, ord;       /* or LAB_DEPTH_USUAL */
	gboolean suppress;  /* over IT-API: IRD and ORD are not exchanged */
	int seconds;        /* patience */
};

struct lab_end;

/* False, with the message in *error. */
bool lab_fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* What carries the talk. All return false with an error. */
struct lab_carrier {
	const char *program;
	bool (*open)(struct lab_end *end, GError **error); /* the device, and end->region */
	bool (*make)(struct lab_end *end, GError **error); /* what one connection needs */
	bool (*listen)(struct lab_end *end, GError **error);
	/* Takes one request and answers it; sets established, unless it was to be rejected. */
	bool (*serve)(struct lab_end *end, GError **error);
	bool (*connect)(struct lab_end *end, GError **error);
	bool (*receive)(struct lab_end *end, size_t place, size_t len, GError **error);
	bool (*send)(struct lab_end *end, size_t place, size_t len, GError **error);
	bool (*write)(struct lab_end *end, size_t len, uint64_t address, uint32_t key,
		      GError **error);
	bool (*read)(struct lab_end *end, size_t place, size_t len, uint64_t address, uint32_t key,
		     GError **error);
	/* The next completion of a request, or of a receive with its length. */
	bool (*done)(struct lab_end *end, GError **error);
	bool (*arrived)(struct lab_end *end, size_t *len, GError **error);
	void (*disconnect)(struct lab_end *end);
	bool (*ended)(struct lab_end *end,
		      GError **error);     /* waits until the connection has ended */
	void (*drop)(struct lab_end *end); /* frees what make() made */
	void (*close)(struct lab_end *end);
};

struct lab_end {
	const struct lab_carrier *carrier;
	struct lab_options options;
	uint8_t *region; /* LAB_REGION octets, which the peer may read and write */
	uint32_t key;    /* of the region, for the peer */
	bool established;
	int number; /* of the connection; the first is 0 */
	uint64_t peer_address;
	uint32_t peer_key;
	uint64_t seed;
	unsigned posted, heard; /* letters */
	void *own;              /* the carrier's */
};

/* Runs one side of a connection that stands; the receives of lab_talk_ready() were posted before. */
bool lab_talk_ready(struct lab_end *end, GError **error);
bool lab_talk(struct lab_end *end, GError **error);

/* Fills octets with the private data to send; checks what came (len < 0: unknown, padded to room). */
void lab_private_fill(const struct lab_end *end, uint8_t octets[LAB_PRIVATE_LIMIT]);
bool lab_private_check(const struct lab_end *end, const uint8_t *octets, int len, size_t room,
		       GError **error);

/* The main function of both programs. */
int lab_main(const struct lab_carrier *carrier, int argc, char **argv);

#endif /* LAB_TALK_H */
