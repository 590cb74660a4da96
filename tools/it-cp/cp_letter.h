/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Messages between the two sides of a copy.
 *
 *   client                                       server
 *   REQUEST  put or get, path, size, mode   ->
 *                                           <-   ANSWER  yes or why not; size and mode of a get
 *   then, from the side that has the file (sender) to the other (receiver):
 *   RDMA WRITE into slot n, CHUNK n, length ->
 *                                           <-   FREE n
 *   FINISH  octets, checksum (or ABORT why) ->
 *                                           <-   RESULT  verified or why not
 *
 * Every CHUNK is full but the last, and FREE returns slots in the order in which they were filled.
 * So the number of messages depends on the size of the file alone, and each message is progress. A
 * FREE may wait until CP_BEHIND more CHUNKs have come, but not longer, and after the last CHUNK for
 * none.
 *
 * REQUEST of a get and ANSWER of a put carry the receiver's ring: where its slots are. A RESULT
 * with an error may come at any time instead of a FREE.
 */
#ifndef CP_LETTER_H
#define CP_LETTER_H

#include "cp_sum.h"
#include "tool_mail.h"

#define CP_CHUNK    ((size_t)1 << 20)
#define CP_SLOTS    8
#define CP_BEHIND   4
#define CP_PATH_MAX 4096

/* Octets of a reason, which quotes a path, perhaps twice. A longer one is cut. */
#define CP_REASON_MAX 6000

enum cp_word {
	CP_REQUEST = 1,
	CP_ANSWER,
	CP_CHUNK_READY,
	CP_FREE,
	CP_FINISH,
	CP_ABORT,
	CP_RESULT,
};

struct cp_letter {
	enum cp_word word;
	bool good;        /* ANSWER, RESULT; REQUEST: it is a put */
	uint8_t sum;      /* REQUEST: enum cp_sum_kind */
	uint32_t mode;    /* REQUEST of a put, ANSWER of a get */
	uint64_t size;    /* of the file; CHUNK: of the chunk */
	uint64_t number;  /* CHUNK, FREE */
	uint64_t context; /* of the ring */
	uint64_t address;
	char *text; /* path, reason or checksum; never NULL once read */
};

/* Encode it; returns the octets, 0 if the path is too long. A reason that is too long is cut. */
size_t cp_letter_write(const struct cp_letter *letter, uint8_t octets[TOOL_MAIL_SIZE]);

/* False if it is no letter: too short, or its text is too long or contains a zero. */
bool cp_letter_read(struct cp_letter *letter, void *octets, size_t len);

bool cp_letter_send(struct tool_mail *mail, const struct cp_letter *letter, GError **error);

/* Receive the next one; cp_letter_clear() it, also after a failure. */
bool cp_letter_receive(struct tool_mail *mail, struct cp_letter *letter, GError **error);
void cp_letter_clear(struct cp_letter *letter);

#endif /* CP_LETTER_H */
