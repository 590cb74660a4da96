/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The calls of the kAL as a table: the sizes, the members that are ids and their kinds, and a valid
 * request. A harness overwrites parts of that request with the input.
 */
#ifndef FUZZ_CALLS_H
#define FUZZ_CALLS_H

#include "fuzz.h"
#include "kal_call.h"

/* What an id names. */
enum fuzz_kind {
	FUZZ_NOTHING = 0,
	FUZZ_RNIC,
	FUZZ_PD,
	FUZZ_CQ,
	FUZZ_SRQ,
	FUZZ_QP,
	FUZZ_MR,
	FUZZ_MW,
	FUZZ_AH,
	FUZZ_LISTEN,
	FUZZ_REQUEST, /* of a connection, or of a service */
	FUZZ_KINDS
};

#define FUZZ_IDS_MAX     4
#define FUZZ_REQUEST_MAX 1024u /* octets of the largest request without its variable part */

struct fuzz_call {
	size_t request; /* octets; 0: there is no such call */
	size_t reply;
	struct {
		uint8_t kind; /* enum fuzz_kind */
		uint16_t at;  /* offset of the id */
	} ids[FUZZ_IDS_MAX];
	enum fuzz_kind makes;    /* the reply begins with the id of a new one */
	enum fuzz_kind destroys; /* the first id */
};

/* The row of a call, below KAL_CALL_COUNT. */
const struct fuzz_call *fuzz_call_row(uint32_t call);
/* Fill in a request that would be right if its ids were. `arena`: memory that may be registered. */
void fuzz_call_fill(uint32_t call, bool infiniband, const uint8_t *arena, void *request);

#endif /* FUZZ_CALLS_H */
