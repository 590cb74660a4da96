/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The codecs at their limits: one octet too short, one octet too long, one value beyond the last. */
#include <glib.h>
#include <string.h>

#include "mpa_frame.h"
#include "rdmap_check.h"

/* --- headers behind the DDP header ---------------------------------------------------------- */

/* A header that is one octet too short is refused, and no field of it is used. */
static void
test_short_headers(void)
{
	uint8_t octets[RDMAP_ATOMIC_REQUEST_SIZE];
	struct rdmap_read_request read;
	struct rdmap_atomic_request atomic;
	struct rdmap_atomic_response response;

	memset(octets, 0xff, sizeof(octets));
	g_assert_true(rdmap_read_request_read(octets, RDMAP_READ_REQUEST_SIZE, &read));
	g_assert_cmpuint(read.size, ==, UINT32_MAX);
	g_assert_cmpuint(read.source_to, ==, UINT64_MAX);
	g_assert_false(rdmap_read_request_read(octets, RDMAP_READ_REQUEST_SIZE - 1, &read));
	g_assert_cmpuint(read.sink_stag | read.size | read.source_stag, ==, 0);
	g_assert_true(rdmap_atomic_request_read(octets, RDMAP_ATOMIC_REQUEST_SIZE, &atomic));
	g_assert_cmpuint(atomic.operation, ==, 0xf); /* the bits above are reserved */
	g_assert_false(rdmap_atomic_request_read(octets, RDMAP_ATOMIC_REQUEST_SIZE - 1, &atomic));
	g_assert_cmpuint(atomic.operation | atomic.stag, ==, 0);
	g_assert_true(rdmap_atomic_response_read(octets, RDMAP_ATOMIC_RESPONSE_SIZE, &response));
	g_assert_false(
		rdmap_atomic_response_read(octets, RDMAP_ATOMIC_RESPONSE_SIZE - 1, &response));
	g_assert_cmpuint(response.request_id, ==, 0);
}

static void
test_names(void)
{
	g_assert_cmpstr(rdmap_opcode_name(RDMAP_SEND), ==, "Send");
	g_assert_cmpstr(rdmap_opcode_name((enum rdmap_opcode)(RDMAP_OPCODE_COUNT - 1)), ==,
			"reserved");
	g_assert_cmpstr(rdmap_fault_text(RDMAP_FAULT_COUNT), ==,
			rdmap_fault_text(RDMAP_FAULT_LOCAL));
	g_assert_cmpstr(rdmap_fault_text(RDMAP_FAULT_COUNT), !=,
			rdmap_fault_text(RDMAP_FAULT_NONE));
}

/* --- frames --------------------------------------------------------------------------------- */

/* Without its last octet a frame is incomplete, also if the CRC is not checked. */
static void
test_last_octet(void)
{
	const struct mpa_rules rules = {.crc = false};
	uint8_t frame[64] = {0, 20};
	struct mpa_fpdu fpdu;

	for (uint8_t length = 14; length < 40; length++) {
		uint32_t size = mpa_fpdu_size(length);
		frame[1] = length;
		g_assert_cmpint(mpa_fpdu_read(&rules, frame, size, &fpdu), ==, MPA_OK);
		g_assert_cmpint(mpa_fpdu_read(&rules, frame, size - 1, &fpdu), ==, MPA_MORE);
	}
}

/* A response longer than its request is refused before its last segment. */
static void
test_long_answer(void)
{
	struct rdmap_inbound in;
	struct ddp_segment seg = {.tagged = true,
				  .version = 1,
				  .rdmap_control = 0x40 | RDMAP_READ_RESPONSE,
				  .stag = 7,
				  .to = 100,
				  .payload_len = 10};

	rdmap_inbound_init(&in);
	in.awaited = RDMAP_AWAITS_READ;
	in.read_stag = 7;
	in.read_to = 100;
	in.read_left = 10;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_NONE);
	seg.payload_len = 11;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_TAGGED_BOUNDS);
	seg.payload_len = 9;
	seg.last = true;
	g_assert_cmpint(rdmap_check_header(&in, &seg), ==, RDMAP_FAULT_TAGGED_BOUNDS);
}

/* --- Terminate ------------------------------------------------------------------------------ */

static uint8_t offender_octets[64];

/* The flags of the Terminate for a Read Request of which that many octets arrived. */
static uint8_t
flags_of(uint32_t have, uint32_t ulpdu_len, enum rdmap_opcode opcode)
{
	const struct rdmap_offender offender = {
		.ulpdu = offender_octets, .have = have, .ulpdu_len = ulpdu_len};
	uint8_t out[RDMAP_TERMINATE_MAX];

	memset(offender_octets, 0, sizeof(offender_octets));
	offender_octets[0] = 0x41; /* untagged, last */
	offender_octets[1] = (uint8_t)(0x40 | opcode);
	g_assert_cmpuint(rdmap_terminate_write(out, RDMAP_FAULT_READ_STAG, &offender), >=, 4);
	return out[2];
}

/* A Terminate copies only complete headers, and the RDMAP header only of a Read Request. */
static void
test_copied_headers(void)
{
	g_assert_cmpuint(flags_of(46, 46, RDMAP_READ_REQUEST), ==, 0xe0);
	g_assert_cmpuint(flags_of(45, 46, RDMAP_READ_REQUEST), ==, 0xc0);
	g_assert_cmpuint(flags_of(46, 45, RDMAP_READ_REQUEST), ==, 0xc0);
	g_assert_cmpuint(flags_of(46, 46, RDMAP_SEND), ==, 0xc0);
	g_assert_cmpuint(flags_of(18, 46, RDMAP_READ_REQUEST), ==, 0xc0);
	g_assert_cmpuint(flags_of(17, 46, RDMAP_READ_REQUEST), ==, 0);
	g_assert_cmpuint(flags_of(46, 17, RDMAP_READ_REQUEST), ==, 0);
	g_assert_cmpuint(flags_of(0, 46, RDMAP_READ_REQUEST), ==, 0);
}

/* A peer's Terminate that announces more than it carries: incomplete parts count as absent. */
static void
test_cut_terminate(void)
{
	uint8_t octets[4 + 2 + 18 + 28] = {0x11, 0x00, 0xe0, 0x00, 0x00, 0x2e, 0x41};
	struct rdmap_terminate t;

	g_assert_true(rdmap_terminate_read(octets, sizeof(octets), &t));
	g_assert_cmpuint(t.ddp_len, ==, 18);
	g_assert_cmpuint(t.rdmap_len, ==, 28);
	g_assert_true(rdmap_terminate_read(octets, sizeof(octets) - 1, &t));
	g_assert_cmpuint(t.ddp_len, ==, 18);
	g_assert_null(t.rdmap);
	g_assert_cmpuint(t.rdmap_len, ==, 0);
	g_assert_true(rdmap_terminate_read(octets, 4 + 2 + 17, &t));
	g_assert_null(t.ddp);
	g_assert_cmpuint(t.ddp_len, ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/borders/short-headers", test_short_headers);
	g_test_add_func("/iwarp/borders/names", test_names);
	g_test_add_func("/iwarp/borders/last-octet", test_last_octet);
	g_test_add_func("/iwarp/borders/long-answer", test_long_answer);
	g_test_add_func("/iwarp/borders/copied-headers", test_copied_headers);
	g_test_add_func("/iwarp/borders/cut-terminate", test_cut_terminate);
	return g_test_run();
}
