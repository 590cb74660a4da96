/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Messages of many packets: the octets of all packets are checked, not only those of the first, and
 * some lengths need all bits of the length field.
 */

#include "verbs_reach.h"

/* --- the ends of a region --------------------------------------------------------------------- */

#define ROOM   (88u * 1024u)
#define START  4096u /* the region: [START, START + LENGTH) of the memory */
#define LENGTH 80000u

/* Octets of an operation: a packet and one more, for packets of several sizes, and many packets. */
static const uint32_t lengths[] = {1025, 4097, 9001, 65537, 79999};

/* The last octet is in the region, and then it is the first one behind it, while all others are in it. */
static void
up_to_the_end(struct reach *reach, uint64_t first, uint32_t length, uint32_t stag)
{
	struct ri_sge range = {.addr = first + LENGTH - length, .length = length, .stag = stag};

	cert_note(reach->cert, "%s: the last %u octets of %u", reach_name(reach->subject), length,
		  LENGTH);
	reach_connect(reach);
	reach_granted(reach, &range, START + LENGTH - length);
	cert_note(reach->cert, "%s: %u octets, the last of them behind the region",
		  reach_name(reach->subject), length);
	range.addr++;
	reach_refused(reach, &range);
	reach_disconnected(reach);
}

static void
long_ranges(struct cert *cert)
{
	static uint8_t memory[ROOM], expected[ROOM];
	const struct ri_mr_init init = {
		.addr = (uintptr_t)memory + START, .length = LENGTH, .access = reach_rights(cert)};

	for (int subject = 0; subject <= REACH_LAST; subject++) {
		struct reach reach;
		struct ri_mr *mr = NULL;
		uint32_t stag;

		if (subject == REACH_ADD || !reach_can(cert, (enum reach_subject)subject))
			continue;
		reach_open_for(&reach, cert, (enum reach_subject)subject, LENGTH);
		reach.pieces = true;
		reach.start = START;
		reach.length = LENGTH;
		reach_over(&reach, memory, expected, ROOM);
		CERT_VERB(cert, RI_SUCCESS,
			  reach.owner->p->mem->mr_reg(reach.owner->pd, &init, &mr, &stag));
		for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
			if (lengths[i] <= cert_attr(cert)->max_message_size)
				up_to_the_end(&reach, init.addr, lengths[i], stag);
		}
		CERT_VERB(cert, RI_SUCCESS, reach.owner->p->mem->mr_dereg(mr));
		reach_close(&reach);
	}
}

/* --- lengths of more than 24 bits --------------------------------------------------------------- */

#define LONG ((UINT32_C(1) << 24) + 4099)

static void
long_messages(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	struct cert_region *from, *into;
	struct ri_sge source, sink;
	struct pair pair;

	if (attr->max_message_size < LONG || attr->max_mr_length < LONG) {
		cert_not_claimed(cert, "max_message_size or max_mr_length is less");
		return;
	}
	pair_connected(&pair, cert);
	from = cert_region_new(pair.near, LONG, CERT_ALL);
	into = cert_region_new(pair.far, LONG, CERT_ALL);
	source = cert_sge(from, 0, LONG);
	sink = cert_sge(into, 0, LONG);
	cert_fill(from->at, LONG, 1);
	cert_note(cert, "a Send of %u octets", LONG);
	cert_post_recv(pair.b, 1, &sink, 1);
	cert_post_send(pair.a, 2, &source, 1, 0);
	CERT_UINT(cert, cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS).byte_len, ==, LONG);
	CERT_UINT(cert, cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS).byte_len, ==, LONG);
	cert_expect_fill(cert, "what was sent", into->at, LONG, 1);
	cert_note(cert, "a Write of %u octets", LONG);
	cert_fill(from->at, LONG, 2);
	cert_post_rdma(pair.a, RI_OP_RDMA_WRITE, 3, &source, &sink);
	cert_post_recv(pair.b, 4, NULL, 0);
	cert_post_send(pair.a, 5, NULL, 0, 0);
	CERT_UINT(cert, cert_wc_is(pair.a, false, 3, RI_WC_SUCCESS).byte_len, ==, LONG);
	cert_wc_is(pair.a, false, 5, RI_WC_SUCCESS);
	cert_wc_is(pair.b, true, 4, RI_WC_SUCCESS);
	cert_expect_fill(cert, "what was written", into->at, LONG, 2);
	if (pair.a->init.ord == 0 || pair.b->init.ird == 0)
		return;
	cert_note(cert, "a Read of %u octets", LONG);
	memset(from->at, 0, LONG);
	cert_post_rdma(pair.a, RI_OP_RDMA_READ, 6, &source, &sink);
	CERT_UINT(cert, cert_wc_is(pair.a, false, 6, RI_WC_SUCCESS).byte_len, ==, LONG);
	cert_expect_fill(cert, "what was read", from->at, LONG, 2);
}

static const struct cert_case cases[] = {
	{.id = "verbs.long.range.0001",
	 .title =
		 "A message of many packets reaches the last octet of a region, and none behind it",
	 .rule = "[RI 3.3.1] [RI 3.3.3]",
	 .run = long_ranges},
	{.id = "verbs.long.length.0001",
	 .title = "A completion gives the whole length of a message of more than 2^24 octets",
	 .rule = "[RI 3.1] [RI 10.36]",
	 .run = long_messages},
};

CERT_SET(verbs_long, cases);
