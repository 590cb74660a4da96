/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Terminate: the code of every fault compared with the test's own list ([WIRE 5.9], "we send"), the headers that go
 * with it, and lenient reading, including siw's bit order.
 */

#include "rdmap_terminate.h"
#include "ri_at_end.h"
#include "vectors.h"

#include <string.h>

static const struct {
	enum rdmap_fault fault;
	uint16_t code;
	uint32_t with_tagged;   /* octets of the Terminate for a Write */
	uint32_t with_untagged; /* for a Send */
	uint32_t with_read;     /* for a Read Request */
} expected[] = {
	{RDMAP_FAULT_LOCAL, 0x0000, 4, 4, 4},
	{RDMAP_FAULT_READ_STAG, 0x0100, 20, 24, 52},
	{RDMAP_FAULT_READ_BOUNDS, 0x0101, 20, 24, 52},
	{RDMAP_FAULT_READ_ACCESS, 0x0102, 20, 24, 52},
	{RDMAP_FAULT_READ_STREAM, 0x0100, 20, 24, 52},
	{RDMAP_FAULT_READ_CLOSED, 0x0100, 20, 24, 52},
	{RDMAP_FAULT_READ_WRAP, 0x0104, 20, 24, 52},
	{RDMAP_FAULT_INVALIDATE, 0x0109, 20, 24, 24},
	{RDMAP_FAULT_RDMAP_VERSION, 0x0205, 20, 24, 24},
	{RDMAP_FAULT_OPCODE, 0x0206, 20, 24, 24},
	{RDMAP_FAULT_INTERLEAVED, 0x0206, 20, 24, 24},
	{RDMAP_FAULT_RESPONSE_UNEXPECTED, 0x0206, 20, 24, 24},
	{RDMAP_FAULT_NOT_LAST, 0x0207, 20, 24, 24},
	{RDMAP_FAULT_MESSAGE_SIZE, 0x0207, 20, 24, 24},
	{RDMAP_FAULT_ATOMIC, 0x0207, 20, 24, 24},
	{RDMAP_FAULT_PEER_CLOSED, 0x0207, 4, 4, 4},
	{RDMAP_FAULT_STREAM_CATASTROPHIC, 0x0207, 4, 4, 4},
	{RDMAP_FAULT_MEMORY, 0x0207, 20, 24, 24},
	{RDMAP_FAULT_GLOBAL_CATASTROPHIC, 0x0208, 4, 4, 4},
	{RDMAP_FAULT_HEADER_SIZE, 0x1000, 20, 24, 24},
	{RDMAP_FAULT_TAGGED_STAG, 0x1100, 20, 24, 24},
	{RDMAP_FAULT_TAGGED_BOUNDS, 0x1101, 20, 24, 24},
	{RDMAP_FAULT_TAGGED_ACCESS, 0x1102, 20, 24, 24},
	{RDMAP_FAULT_TAGGED_STREAM, 0x1100, 20, 24, 24},
	{RDMAP_FAULT_TAGGED_CLOSED, 0x1100, 20, 24, 24},
	{RDMAP_FAULT_TAGGED_WRAP, 0x1103, 20, 24, 24},
	{RDMAP_FAULT_DDP_VERSION_TAGGED, 0x1104, 20, 24, 24},
	{RDMAP_FAULT_QN, 0x1201, 20, 24, 24},
	{RDMAP_FAULT_READS_DISABLED, 0x1201, 20, 24, 24},
	{RDMAP_FAULT_NO_BUFFER, 0x1202, 20, 24, 24},
	{RDMAP_FAULT_MSN, 0x1203, 20, 24, 24},
	{RDMAP_FAULT_IRD, 0x1203, 20, 24, 24},
	{RDMAP_FAULT_MO, 0x1204, 20, 24, 24},
	{RDMAP_FAULT_TOO_LONG, 0x1205, 20, 24, 24},
	{RDMAP_FAULT_DDP_VERSION_UNTAGGED, 0x1206, 20, 24, 24},
	{RDMAP_FAULT_CRC, 0x2002, 4, 4, 4},
	{RDMAP_FAULT_MARKER, 0x2003, 4, 4, 4},
	{RDMAP_FAULT_STARTUP_IRD, 0x2006, 4, 4, 4},
	{RDMAP_FAULT_STARTUP_RTR, 0x2007, 4, 4, 4},
};

/* Build a Terminate for the ULPDU at @at, of which @have octets may be read; read it and compare. */
static uint32_t
build_and_read(enum rdmap_fault fault, const uint8_t *at, uint32_t have, uint32_t ulpdu_len)
{
	struct guarded copy RI_AT_END(guarded_free) = guarded_copy(at, have);
	struct rdmap_offender offender = {copy.at, have, ulpdu_len};
	uint8_t message[RDMAP_TERMINATE_MAX];
	uint32_t len = rdmap_terminate_write(message, fault, &offender);
	struct guarded out RI_AT_END(guarded_free) = guarded_copy(message, len);
	struct rdmap_terminate t;

	g_assert_true(rdmap_terminate_read(out.at, out.len, &t));
	g_assert_cmphex(t.code, ==, rdmap_fault_code(fault));
	g_assert_false(t.siw_order);
	g_assert_cmpuint(t.segment_len, ==, len > 4 ? ulpdu_len : 0);
	if (t.ddp_len > 0)
		g_assert_cmpmem(t.ddp, t.ddp_len, at, t.ddp_len);
	if (t.rdmap_len > 0)
		g_assert_cmpmem(t.rdmap, t.rdmap_len, at + 18, 28);
	g_assert_cmpuint(len, ==, 4 + (t.ddp_len > 0 ? 2 + t.ddp_len : 0) + t.rdmap_len);
	return len;
}

static void
test_faults(void)
{
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("vectors.json");
	const struct vector *write = vectors_find(all, "rev1-crc-basic", "rdma-write-16B");
	const struct vector *send = vectors_find(all, "rev1-crc-basic", "send-5B-pad3");
	const struct vector *read = vectors_find(all, "rev1-crc-basic", "rdma-read-request-100B");

	g_assert_cmpuint(G_N_ELEMENTS(expected), ==, RDMAP_FAULT_COUNT - 1);
	for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
		enum rdmap_fault fault = expected[i].fault;

		g_assert_cmpint(fault, ==, (int)i + 1);
		g_assert_cmphex(rdmap_fault_code(fault), ==, expected[i].code);
		g_assert_cmpstr(rdmap_fault_text(fault), !=, NULL);
		g_assert_cmpstr(rdmap_terminate_text(expected[i].code), !=, "unknown error");
		g_assert_cmpuint(build_and_read(fault, write->octets + 2, 30, 30), ==,
				 expected[i].with_tagged);
		g_assert_cmpuint(build_and_read(fault, send->octets + 2, 23, 23), ==,
				 expected[i].with_untagged);
		g_assert_cmpuint(build_and_read(fault, read->octets + 2, 46, 46), ==,
				 expected[i].with_read);
	}
}

/* An incomplete header is left out. */
static void
test_truncated_offender(void)
{
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("vectors.json");
	const struct vector *read = vectors_find(all, "rev1-crc-basic", "rdma-read-request-100B");

	for (uint32_t have = 0; have <= 46; have++) {
		uint32_t want = have < 18 ? 4 : have < 46 ? 24 : 52;

		g_assert_cmpuint(build_and_read(RDMAP_FAULT_READ_STAG, read->octets + 2, have, 46),
				 ==, want);
		if (have >=
		    1) /* the segment itself is too short; the octets after it are not its own */
			g_assert_cmpuint(
				build_and_read(RDMAP_FAULT_READ_STAG, read->octets + 2, 46, have),
				==, want);
	}
}

static void
test_siw(void)
{
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("vectors.json");
	const struct vector *v = vectors_find(all, NULL, "terminate-siw-le-untagged-nobuf");
	const struct vector *bare = vectors_find(all, NULL, "terminate-siw-le-opcode");
	struct guarded in = guarded_copy(v->octets + 20, v->len - 24);
	struct rdmap_terminate t;

	g_assert_true(rdmap_terminate_read(in.at, in.len, &t));
	g_assert_true(t.siw_order);
	g_assert_cmphex(t.code, ==, 0x1202);
	g_assert_cmpmem(t.raw, 4, v->octets + 20, 4);
	g_assert_true(t.has_length && t.has_ddp && !t.has_rdmap);
	g_assert_cmpuint(t.segment_len, ==, 14);
	g_assert_cmpuint(t.ddp_len, ==, 18);
	guarded_free(&in);

	g_assert_true(rdmap_terminate_read(bare->octets + 20, 4, &t));
	g_assert_false(t.siw_order); /* looks like a conforming one */
	g_assert_cmphex(t.code, ==, 0x2006);
}

/* All eight values of the flags in either bit order; bits of the other order do not count. */
static void
test_flag_orders(void)
{
	uint8_t message[RDMAP_TERMINATE_MAX] = {0x21, 0x02};
	struct rdmap_terminate t;

	for (unsigned flags = 0; flags < 8; flags++) {
		message[2] = (uint8_t)flags; /* siw: M, D, R from bit 0 up */
		g_assert_true(rdmap_terminate_read(message, sizeof(message), &t));
		g_assert_cmpint(t.siw_order, ==, flags != 0);
		g_assert_cmphex(t.code, ==, flags != 0 ? 0x1202 : 0x2102);
		g_assert_cmpint(t.has_length, ==, (flags & 1) != 0);
		g_assert_cmpint(t.has_ddp, ==, (flags & 2) != 0);
		g_assert_cmpint(t.has_rdmap, ==, (flags & 4) != 0);
		if (flags == 0)
			continue;
		message[2] =
			(uint8_t)(flags << 5 |
				  0x1f); /* RFC 5040: M, D, R from bit 7 down, the rest reserved */
		g_assert_true(rdmap_terminate_read(message, sizeof(message), &t));
		g_assert_false(t.siw_order);
		g_assert_cmphex(t.code, ==, 0x2102);
		g_assert_cmpint(t.has_length, ==, (flags & 4) != 0);
		g_assert_cmpint(t.has_ddp, ==, (flags & 2) != 0);
		g_assert_cmpint(t.has_rdmap, ==, (flags & 1) != 0);
	}
}

/* Every vector at every truncation, and random octets: no access outside, and no header beyond the end. */
static void
test_lenient(void)
{
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("vectors.json");
	g_autoptr(GRand) rand = g_rand_new_with_seed(0x7e57);
	struct rdmap_terminate t;

	for (guint i = 0; i < vectors_count(all); i++) {
		const struct vector *v = vectors_at(all, i);

		for (gsize len = 0; vector_has(v, "control") && len <= v->len - 24; len++) {
			struct guarded in RI_AT_END(guarded_free) =
				guarded_copy(v->octets + 20, len);

			g_assert_cmpint(rdmap_terminate_read(in.at, in.len, &t), ==, len >= 4);
			g_assert_true(t.ddp_len == 0 || t.ddp + t.ddp_len <= in.at + in.len);
			g_assert_true(t.rdmap_len == 0 || t.rdmap + t.rdmap_len <= in.at + in.len);
		}
	}
	for (int round = 0; round < 3000; round++) {
		struct guarded in RI_AT_END(guarded_free) =
			guarded_copy(NULL, (gsize)g_rand_int_range(rand, 0, 60));

		for (gsize i = 0; i < in.len; i++)
			in.at[i] = (guint8)g_rand_int(rand);
		if (rdmap_terminate_read(in.at, in.len, &t))
			g_assert_nonnull(rdmap_terminate_text(t.code));
	}
}

static void
test_texts(void)
{
	g_assert_cmpstr(rdmap_terminate_text(0x0042), ==, rdmap_terminate_text(0));
	g_assert_cmpstr(rdmap_terminate_text(0xf123), ==, "unknown error");
	g_assert_nonnull(strstr(rdmap_terminate_text(0x2002), "CRC"));
	g_assert_cmpstr(rdmap_fault_text(RDMAP_FAULT_NONE), ==, "no fault");
	g_assert_cmpstr(rdmap_terminate_layer(0x0101), ==, "RDMAP");
	g_assert_cmpstr(rdmap_terminate_type(0x0101), ==, "remote protection error");
	g_assert_cmpstr(rdmap_terminate_layer(0x1203), ==, "DDP");
	g_assert_cmpstr(rdmap_terminate_type(0x1203), ==, "untagged buffer error");
	g_assert_cmpstr(rdmap_terminate_layer(0x2002), ==, "MPA");
	g_assert_cmpstr(rdmap_terminate_type(0x2002), ==, "MPA error");
	for (unsigned code = 0x2100; code <= 0xff00; code += 0x100)
		g_assert_cmpstr(rdmap_terminate_type((uint16_t)code), ==, "unknown type");
	g_assert_cmpstr(rdmap_terminate_type(0x0300), ==, "unknown type");
	g_assert_cmpstr(rdmap_terminate_layer(0x3000), ==, "unknown layer");
}

static void
test_advance(void)
{
	struct rdmap_read_request m = {1, 1000, 500, 2, 2000};
	uint8_t header[RDMAP_READ_REQUEST_SIZE];

	rdmap_read_request_write(header, &m);
	rdmap_read_request_advance(header, 200);
	g_assert_true(rdmap_read_request_read(header, sizeof(header), &m));
	g_assert_cmpuint(m.sink_to, ==, 1200);
	g_assert_cmpuint(m.source_to, ==, 2200);
	g_assert_cmpuint(m.size, ==, 300);
	g_assert_cmpuint(m.sink_stag, ==, 1);
	g_assert_cmpuint(m.source_stag, ==, 2);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/terminate/faults", test_faults);
	g_test_add_func("/iwarp/terminate/truncated-offender", test_truncated_offender);
	g_test_add_func("/iwarp/terminate/siw", test_siw);
	g_test_add_func("/iwarp/terminate/flag-orders", test_flag_orders);
	g_test_add_func("/iwarp/terminate/lenient", test_lenient);
	g_test_add_func("/iwarp/terminate/texts", test_texts);
	g_test_add_func("/iwarp/terminate/advance", test_advance);
	return g_test_run();
}
