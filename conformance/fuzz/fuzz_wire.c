/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The codecs of vp/iwarp: a stream of FPDUs, the headers of DDP and RDMAP with the state of one
 * direction, the messages in them, and the Terminate that answers a fault. The first octet of the
 * input has the options; with SEALED the harness fills in length and CRC of each frame, so that
 * mutated frames get past these checks to the code behind them.
 */
#include "fuzz.h"
#include "rdmap_check.h"

#define SEALED  0x01u
#define CRC     0x02u
#define RFC7306 0x04u
#define READS   0x08u
#define READ    0x10u /* a Read is outstanding */
#define ATOMIC  0x20u /* an Atomic is */

#define FRAME_MAX 300u /* octets of a sealed ULPDU, about */

static void
terminate_judge(const uint8_t *payload, size_t len)
{
	struct rdmap_terminate t;

	if (!rdmap_terminate_read(payload, len, &t)) {
		FUZZ_REQUIRE(len < RDMAP_TERMINATE_MIN);
		return;
	}
	FUZZ_REQUIRE(rdmap_terminate_text(t.code) != NULL);
	if (t.ddp != NULL)
		FUZZ_REQUIRE(t.ddp >= payload && t.ddp + t.ddp_len <= payload + len);
	if (t.rdmap != NULL)
		FUZZ_REQUIRE(t.rdmap >= payload && t.rdmap + t.rdmap_len <= payload + len);
}

/* The Terminate for a fault must be a frame that its receiver reads as what was meant. */
static void
fault_answer(enum rdmap_fault fault, const struct mpa_fpdu *fpdu, uint32_t have, bool crc)
{
	uint8_t frame[RDMAP_TERMINATE_FPDU_MAX];
	uint8_t *seen = fuzz_copy(fpdu->ulpdu, have);
	struct rdmap_offender offender = {
		.ulpdu = seen, .have = have, .ulpdu_len = fpdu->ulpdu_len};
	uint32_t len = rdmap_terminate_fpdu(frame, fault, &offender, crc);
	struct mpa_rules rules = {.crc = crc};
	struct mpa_fpdu answer;
	struct ddp_segment seg;
	struct rdmap_terminate t;

	FUZZ_REQUIRE(rdmap_fault_text(fault) != NULL);
	FUZZ_REQUIRE(mpa_fpdu_read(&rules, frame, len, &answer) == MPA_OK && answer.size == len);
	FUZZ_REQUIRE(ddp_segment_read(answer.ulpdu, answer.ulpdu_len, answer.ulpdu_len, &seg) ==
		     DDP_OK);
	FUZZ_REQUIRE(rdmap_terminate_read(seg.payload, seg.payload_len, &t));
	FUZZ_REQUIRE(t.code == rdmap_fault_code(fault));
	free(seen);
}

/* What is behind the headers of a segment that may arrive; `at` has exactly these octets. */
static void
message_read(enum rdmap_opcode opcode, const uint8_t *at, uint32_t len)
{
	uint8_t again[RDMAP_TERMINATE_MAX];
	struct rdmap_read_request read;
	struct rdmap_atomic_request request;
	struct rdmap_atomic_response response;

	switch ((int)opcode) {
	case RDMAP_READ_REQUEST:
		FUZZ_REQUIRE(rdmap_read_request_read(at, len, &read));
		rdmap_read_request_write(again, &read);
		FUZZ_REQUIRE(memcmp(again, at, RDMAP_READ_REQUEST_SIZE) == 0);
		rdmap_read_request_advance(again, read.size / 2);
		break;
	case RDMAP_ATOMIC_REQUEST:
		FUZZ_REQUIRE(rdmap_atomic_request_read(at, len, &request));
		rdmap_atomic_request_write(again, &request);
		break;
	case RDMAP_ATOMIC_RESPONSE:
		FUZZ_REQUIRE(rdmap_atomic_response_read(at, len, &response));
		rdmap_atomic_response_write(again, &response);
		FUZZ_REQUIRE(memcmp(again, at, RDMAP_ATOMIC_RESPONSE_SIZE) == 0);
		break;
	case RDMAP_TERMINATE:
		terminate_judge(at, len);
		break;
	default:
		break;
	}
}

/* One ULPDU. False: a fault ends the stream. */
static bool
segment_run(struct rdmap_inbound *in, const struct mpa_fpdu *fpdu, uint32_t part, bool crc)
{
	uint8_t *early = fuzz_copy(fpdu->ulpdu, part);
	struct ddp_segment seg;
	enum rdmap_fault fault;
	enum ddp_result first = ddp_segment_read(early, part, fpdu->ulpdu_len, &seg);
	enum ddp_result result =
		ddp_segment_read(fpdu->ulpdu, fpdu->ulpdu_len, fpdu->ulpdu_len, &seg);

	free(early);
	FUZZ_REQUIRE(first == result || first == DDP_MORE);
	if (result == DDP_OK)
		FUZZ_REQUIRE(seg.payload + seg.payload_len == fpdu->ulpdu + fpdu->ulpdu_len);
	fault = result == DDP_OK ? rdmap_check_header(in, &seg) : RDMAP_FAULT_HEADER_SIZE;
	if (fault != RDMAP_FAULT_NONE) {
		fault_answer(fault, fpdu, part, crc);
		return false;
	}
	early = fuzz_copy(seg.payload, seg.payload_len);
	message_read(rdmap_opcode_of(seg.rdmap_control), early, seg.payload_len);
	free(early);
	(void)rdmap_check_receive(&seg, part > 0, part * 2);
	if (rdmap_inbound_advance(in, &seg) && in->read_room > 0 &&
	    rdmap_opcode_of(seg.rdmap_control) == RDMAP_READ_REQUEST)
		in->read_room--;
	return true;
}

/* The next frame: of the input as it is, or sealed. False: there is none. */
static bool
frame_next(struct fuzz_input *in, uint8_t options, uint8_t *room, struct mpa_fpdu *fpdu)
{
	struct mpa_rules rules = {.crc = (options & CRC) != 0};
	enum mpa_result result;
	const uint8_t *octets;
	size_t want;
	size_t len;

	if (in->left == 0)
		return false;
	if ((options & SEALED) == 0) {
		result = mpa_fpdu_read(&rules, in->at, in->left, fpdu);
		if (result != MPA_OK)
			return false;
		FUZZ_REQUIRE(fpdu->size <= in->left);
		(void)fuzz_take(in, fpdu->size, &len);
		return true;
	}
	want = fuzz_u8(in);
	octets = fuzz_take(in, want, &len);
	if (len > 0)
		memcpy(room + MPA_LENGTH_SIZE, octets, len);
	len = mpa_fpdu_seal(room, (uint32_t)len, rules.crc);
	FUZZ_REQUIRE(mpa_fpdu_read(&rules, room, len, fpdu) == MPA_OK && fpdu->size == len);
	FUZZ_REQUIRE(mpa_fpdu_read(&rules, room, len - 1, fpdu) == MPA_MORE);
	return mpa_fpdu_read(&rules, room, len, fpdu) == MPA_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	struct fuzz_input in = {.at = octets, .left = len};
	uint8_t options = fuzz_u8(&in);
	uint8_t cut = fuzz_u8(&in);
	struct rdmap_inbound inbound;
	struct mpa_fpdu fpdu;
	uint8_t room[FRAME_MAX];
	bool good = true;

	rdmap_inbound_init(&inbound);
	inbound.rfc7306 = (options & RFC7306) != 0;
	inbound.reads_enabled = (options & READS) != 0;
	inbound.read_room = cut % 8;
	if (options & READ) {
		inbound.awaited = RDMAP_AWAITS_READ;
		inbound.read_stag = 0x1234;
		inbound.read_to = 0x5678;
		inbound.read_left = cut * 4u;
	} else if (options & ATOMIC) {
		inbound.awaited = RDMAP_AWAITS_ATOMIC;
	}
	while (good && frame_next(&in, options, room, &fpdu))
		good = segment_run(&inbound, &fpdu, cut < fpdu.ulpdu_len ? cut : fpdu.ulpdu_len,
				   (options & CRC) != 0);
	return 0;
}
