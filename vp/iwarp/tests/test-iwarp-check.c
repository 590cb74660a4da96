/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The checks of incoming segments: each opcode with each property wrong, the order in which errors are found,
 * messages of several segments, and responses.
 */

#include "rdmap_check.h"

#include <glib.h>
#include <string.h>

/* What the RFCs say of an opcode, as a list of the test's own. */
static const struct {
	enum rdmap_opcode opcode;
	bool extended;
	bool tagged;
	uint32_t qn;
	bool single;
	uint32_t len;
	uint32_t most;
} opcodes[] = {
	{RDMAP_WRITE, false, true, 0, false, 10, 65503},
	{RDMAP_READ_REQUEST, false, false, 1, true, 28, 28},
	{RDMAP_READ_RESPONSE, false, true, 0, false, 10, 65503},
	{RDMAP_SEND, false, false, 0, false, 10, 65503},
	{RDMAP_SEND_INVALIDATE, false, false, 0, false, 10, 65503},
	{RDMAP_SEND_SE, false, false, 0, false, 10, 65503},
	{RDMAP_SEND_SE_INVALIDATE, false, false, 0, false, 10, 65503},
	{RDMAP_TERMINATE, false, false, 2, true, 4, 52},
	{RDMAP_IMMEDIATE, true, false, 0, true, 8, 8},
	{RDMAP_IMMEDIATE_SE, true, false, 0, true, 8, 8},
	{RDMAP_ATOMIC_REQUEST, true, false, 1, true, 52, 52},
	{RDMAP_ATOMIC_RESPONSE, true, false, 3, true, 12, 12},
};

static struct rdmap_inbound
ready(void)
{
	struct rdmap_inbound in;

	rdmap_inbound_init(&in);
	in.rfc7306 = true;
	in.read_room = 2;
	in.awaited = RDMAP_AWAITS_READ;
	in.read_stag = 0x100;
	in.read_to = 0x2000;
	in.read_left = 10;
	return in;
}

/* A valid segment of opcodes[i], the only one of its message. */
static struct ddp_segment
right(gsize i)
{
	struct ddp_segment seg = {.tagged = opcodes[i].tagged,
				  .last = true,
				  .version = 1,
				  .rdmap_control = (uint8_t)(0x40 | opcodes[i].opcode),
				  .payload_len = opcodes[i].len};

	if (seg.tagged) {
		seg.stag = 0x100;
		seg.to = 0x2000;
	} else {
		seg.qn = opcodes[i].qn;
		seg.msn = 1;
	}
	return seg;
}

static void
test_right(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		struct rdmap_inbound in = ready();
		struct ddp_segment seg = right(i);

		if (opcodes[i].opcode == RDMAP_ATOMIC_RESPONSE)
			in.awaited = RDMAP_AWAITS_ATOMIC;
		g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
		g_assert_true(rdmap_inbound_advance(&in, &seg));
		g_assert_false(in.in_message);
		for (uint32_t qn = 0; qn < DDP_QN_COUNT; qn++)
			g_assert_cmpuint(in.next_msn[qn], ==,
					 !seg.tagged && qn == opcodes[i].qn ? 2 : 1);
	}
}

static void
test_opcode_known(void)
{
	for (unsigned opcode = 0; opcode < RDMAP_OPCODE_COUNT; opcode++) {
		bool known = opcode < G_N_ELEMENTS(opcodes);
		struct ddp_segment seg = right(known ? opcode : 3);
		struct rdmap_inbound in = ready();

		g_assert_true(!known || opcodes[opcode].opcode == (enum rdmap_opcode)opcode);
		seg.rdmap_control = (uint8_t)(0x40 | opcode);
		if (!known)
			g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_OPCODE);
		in.rfc7306 = false;
		if (!known || opcodes[opcode].extended)
			g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_OPCODE);
		else
			g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	}
}

static void
test_each_property(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		struct rdmap_inbound in = ready();
		struct ddp_segment seg = right(i);

		for (uint8_t version = 0; version < 4; version++) {
			seg.version = version;
			if (version != 1)
				g_assert_cmpint(rdmap_check_header(&in, &seg), ==,
						seg.tagged ? RDMAP_FAULT_DDP_VERSION_TAGGED
							   : RDMAP_FAULT_DDP_VERSION_UNTAGGED);
		}
		for (unsigned version = 0; version < 4; version++) {
			seg = right(i);
			seg.rdmap_control = (uint8_t)(version << 6 | opcodes[i].opcode);
			if (version != 1)
				g_assert_cmpint(rdmap_check_header(&in, &seg), ==,
						RDMAP_FAULT_RDMAP_VERSION);
		}
		seg = right(i);
		seg.rdmap_control |= 0x30; /* reserved bits are ignored */
		if (opcodes[i].opcode != RDMAP_ATOMIC_RESPONSE)
			g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
		seg = right(i);
		seg.tagged = !seg.tagged;
		g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_OPCODE);
	}
}

static void
test_untagged_properties(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(opcodes); i++) {
		struct rdmap_inbound in = ready();
		struct ddp_segment seg = right(i);

		if (opcodes[i].tagged)
			continue;
		for (uint32_t qn = 0; qn < 6; qn++) {
			seg.qn = qn;
			if (qn != opcodes[i].qn)
				g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_QN);
		}
		seg = right(i);
		seg.msn = 2;
		g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_MSN);
		seg.msn = 0;
		g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_MSN);
		seg = right(i);
		seg.mo = 4;
		g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_MO);
		seg = right(i);
		seg.last = false;
		g_assert_cmpint(rdmap_check_header(&in, &seg), ==,
				opcodes[i].single ? RDMAP_FAULT_NOT_LAST : RDMAP_FAULT_NONE);
		seg = right(i);
		seg.payload_len--;
		g_assert_cmpint(rdmap_check_header(&in, &seg), ==,
				opcodes[i].single ? RDMAP_FAULT_HEADER_SIZE : RDMAP_FAULT_NONE);
		seg.payload_len = opcodes[i].most;
		g_assert_cmpint(rdmap_check_header(&in, &seg), ==,
				opcodes[i].opcode == RDMAP_ATOMIC_RESPONSE
					? RDMAP_FAULT_RESPONSE_UNEXPECTED
					: RDMAP_FAULT_NONE);
		seg.payload_len++;
		if (opcodes[i].single)
			g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_HEADER_SIZE);
	}
}

/* A segment with every property wrong, corrected one by one in the order of the checks. */
static void
test_order(void)
{
	struct rdmap_inbound in = ready();
	struct ddp_segment seg = {
		.version = 2, .rdmap_control = 0x0f, .qn = 9, .msn = 9, .mo = 9, .payload_len = 3};

	in.read_room = 0;
	in.reads_enabled = false;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_DDP_VERSION_UNTAGGED);
	seg.version = 1;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_RDMAP_VERSION);
	seg.rdmap_control = 0x4f;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_OPCODE);
	seg.rdmap_control = 0x41;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_QN);
	seg.qn = 1;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_HEADER_SIZE);
	seg.payload_len = 28;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NOT_LAST);
	seg.last = true;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_READS_DISABLED);
	in.reads_enabled = true;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_MSN);
	seg.msn = 1;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_MO);
	seg.mo = 0;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_IRD);
	in.read_room = 1;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
}

static struct ddp_segment
send_part(uint32_t msn, uint32_t mo, uint32_t len, bool last)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, msn, mo, last);

	seg.payload_len = len;
	return seg;
}

static void
test_send_of_several(void)
{
	struct rdmap_inbound in = ready();
	struct ddp_segment seg = send_part(1, 0, 100, false);
	struct ddp_segment write = rdmap_tagged(RDMAP_WRITE, 1, 0, true);
	struct ddp_segment end = rdmap_untagged(RDMAP_TERMINATE, 1, 0, true);

	g_assert_false(rdmap_inbound_advance(&in, &seg));
	g_assert_cmpint(rdmap_check_header(&in, &write), ==, RDMAP_FAULT_INTERLEAVED);
	seg = send_part(1, 100, 100, false);
	seg.rdmap_control = rdmap_control(RDMAP_SEND_SE);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_INTERLEAVED);
	end.payload_len = 4;
	g_assert_cmpint(rdmap_check_header(&in, &end), ==, RDMAP_FAULT_NONE);
	seg = send_part(2, 0, 100, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_MSN);
	seg = send_part(1, 99, 100, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_MO);
	seg = send_part(1, 0, 100, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_MO);
	seg = send_part(1, 100, 0, false);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	g_assert_false(rdmap_inbound_advance(&in, &seg));
	seg = send_part(1, 100, 7, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	g_assert_true(rdmap_inbound_advance(&in, &seg));
	seg = send_part(2, 0, 0, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	in.in_message = true;
	in.opcode = RDMAP_SEND;
	in.received = UINT32_MAX - 5;
	seg = send_part(2, UINT32_MAX - 5, 5, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	seg = send_part(2, UINT32_MAX - 5, 6, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_MESSAGE_SIZE);
}

static void
test_msn_wraps(void)
{
	struct rdmap_inbound in = ready();
	struct ddp_segment seg = send_part(UINT32_MAX, 0, 1, true);

	in.next_msn[DDP_QN_SEND] = UINT32_MAX;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	g_assert_true(rdmap_inbound_advance(&in, &seg));
	seg = send_part(0, 0, 1, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
}

static struct ddp_segment
tagged_part(enum rdmap_opcode opcode, uint32_t stag, uint64_t to, uint32_t len, bool last)
{
	struct ddp_segment seg = rdmap_tagged(opcode, stag, to, last);

	seg.payload_len = len;
	return seg;
}

static void
test_write_of_several(void)
{
	struct rdmap_inbound in = ready();
	struct ddp_segment seg = tagged_part(RDMAP_WRITE, 5, 1000, 100, false);

	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	g_assert_false(rdmap_inbound_advance(&in, &seg));
	seg = tagged_part(RDMAP_WRITE, 6, 1100, 100, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_TAGGED_STAG);
	seg = tagged_part(RDMAP_WRITE, 5, 1101, 100, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_TAGGED_BOUNDS);
	seg = tagged_part(RDMAP_WRITE, 99, 7, 0, false); /* of length 0: not checked */
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	g_assert_false(rdmap_inbound_advance(&in, &seg));
	seg = tagged_part(RDMAP_READ_RESPONSE, 0x100, 0x2000, 10, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_INTERLEAVED);
	seg = tagged_part(RDMAP_WRITE, 5, 1100, 100, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	g_assert_true(rdmap_inbound_advance(&in, &seg));
	seg = tagged_part(RDMAP_WRITE, 0xdead, 3, 0, true); /* for example the RTR message */
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
}

static void
test_read_response(void)
{
	struct rdmap_inbound in = ready();
	struct ddp_segment seg = tagged_part(RDMAP_READ_RESPONSE, 0x101, 0x2000, 10, true);

	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_TAGGED_STAG);
	seg = tagged_part(RDMAP_READ_RESPONSE, 0x100, 0x2001, 10, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_TAGGED_BOUNDS);
	seg = tagged_part(RDMAP_READ_RESPONSE, 0x100, 0x2000, 11,
			  true); /* more than was requested */
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_TAGGED_BOUNDS);
	seg = tagged_part(RDMAP_READ_RESPONSE, 0x100, 0x2000, 9, true); /* ends too soon */
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_TAGGED_BOUNDS);
	seg = tagged_part(RDMAP_READ_RESPONSE, 0x100, 0x2000, 4, false);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	g_assert_false(rdmap_inbound_advance(&in, &seg));
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==,
			RDMAP_FAULT_TAGGED_BOUNDS); /* a second time */
	seg = tagged_part(RDMAP_READ_RESPONSE, 0x100, 0x2004, 6, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	g_assert_true(rdmap_inbound_advance(&in, &seg));
	g_assert_cmpuint(in.read_left, ==, 0);

	in.awaited = RDMAP_AWAITS_NOTHING;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_RESPONSE_UNEXPECTED);
	in.awaited = RDMAP_AWAITS_ATOMIC;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_RESPONSE_UNEXPECTED);
	in.awaited = RDMAP_AWAITS_READ; /* a Read of length 0: STag and TO are not checked */
	seg = tagged_part(RDMAP_READ_RESPONSE, 0, 0, 0, true);
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	seg = rdmap_untagged(RDMAP_ATOMIC_RESPONSE, 1, 0, true);
	seg.payload_len = 12;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_RESPONSE_UNEXPECTED);
}

static void
test_receive(void)
{
	struct ddp_segment seg = send_part(1, 0, 64, true);

	g_assert_cmpint(rdmap_check_receive(&seg, false, 0), ==, RDMAP_FAULT_NO_BUFFER);
	g_assert_cmpint(rdmap_check_receive(&seg, true, 63), ==, RDMAP_FAULT_TOO_LONG);
	g_assert_cmpint(rdmap_check_receive(&seg, true, 64), ==, RDMAP_FAULT_NONE);
	seg = send_part(1, UINT32_MAX, 2, true);
	g_assert_cmpint(rdmap_check_receive(&seg, true, UINT32_MAX), ==, RDMAP_FAULT_TOO_LONG);
	seg = send_part(1, 0, 0, true);
	g_assert_cmpint(rdmap_check_receive(&seg, false, 0), ==, RDMAP_FAULT_NO_BUFFER);
	g_assert_cmpint(rdmap_check_receive(&seg, true, 0), ==, RDMAP_FAULT_NONE);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/check/right", test_right);
	g_test_add_func("/iwarp/check/opcode-known", test_opcode_known);
	g_test_add_func("/iwarp/check/each-property", test_each_property);
	g_test_add_func("/iwarp/check/untagged-properties", test_untagged_properties);
	g_test_add_func("/iwarp/check/order", test_order);
	g_test_add_func("/iwarp/check/send-of-several", test_send_of_several);
	g_test_add_func("/iwarp/check/msn-wraps", test_msn_wraps);
	g_test_add_func("/iwarp/check/write-of-several", test_write_of_several);
	g_test_add_func("/iwarp/check/read-response", test_read_response);
	g_test_add_func("/iwarp/check/receive", test_receive);
	return g_test_run();
}
