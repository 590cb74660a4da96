/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The FPDU vectors: each is built from its fields, octet by octet, and read whole, in single
 * octets, at every truncation and with random cuts, before a guard page. Each negative vector must
 * cause its expected reaction.
 */

#include "rdmap_check.h"
#include "ri_at_end.h"
#include "vectors.h"

#include <string.h>

static struct vectors *positive;
static struct vectors *negative;

static bool
is_plain_fpdu(const struct vector *v)
{
	return g_str_equal(v->kind, "fpdu") && !v->markers;
}

static const struct {
	uint16_t code;
	enum rdmap_fault fault;
} terminate_faults[] = {
	{0x0000, RDMAP_FAULT_LOCAL},       {0x0102, RDMAP_FAULT_READ_ACCESS},
	{0x0206, RDMAP_FAULT_OPCODE},      {0x1101, RDMAP_FAULT_TAGGED_BOUNDS},
	{0x1202, RDMAP_FAULT_NO_BUFFER},   {0x2002, RDMAP_FAULT_CRC},
	{0x2006, RDMAP_FAULT_STARTUP_IRD}, {0x2007, RDMAP_FAULT_STARTUP_RTR},
};

/* The payload according to the fields; the vectors omit payloads longer than 24 octets. */
static void
payload_build(const struct vector *v, GByteArray *out)
{
	gsize len;
	g_autofree guint8 *octets =
		vector_octets(v, vector_has(v, "immediate") ? "immediate" : "payload", &len);
	gsize want = vector_has(v, "payload_len") ? vector_number(v, "payload_len") : 0;

	if (len < want) { /* not given: the payload is not part of the test */
		gsize pad = vector_number(v, "pad");

		g_byte_array_append(out, v->octets + v->len - 4 - pad - want, (guint)want);
		return;
	}
	g_byte_array_append(out, octets, (guint)len);
}

static void
read_request_build(const struct vector *v, GByteArray *out)
{
	struct rdmap_read_request m = {
		.sink_stag = (uint32_t)vector_number(v, "sink_stag"),
		.sink_to = vector_number(v, "sink_to"),
		.size = (uint32_t)vector_number(v, "read_size"),
		.source_stag = (uint32_t)vector_number(v, "src_stag"),
		.source_to = vector_number(v, "src_to"),
	};

	g_byte_array_set_size(out, RDMAP_READ_REQUEST_SIZE);
	rdmap_read_request_write(out->data, &m);
}

static void
atomic_request_build(const struct vector *v, GByteArray *out)
{
	struct rdmap_atomic_request m = {
		.operation = (uint8_t)vector_number(v, "aopcode"),
		.request_id = (uint32_t)vector_number(v, "request_id"),
		.stag = (uint32_t)vector_number(v, "remote_stag"),
		.to = vector_number(v, "remote_to"),
		.data = vector_number(v, "add_or_swap_data"),
		.mask = vector_number(v, "add_or_swap_mask"),
		.compare = vector_number(v, "compare_data"),
		.compare_mask = vector_number(v, "compare_mask"),
	};

	g_byte_array_set_size(out, RDMAP_ATOMIC_REQUEST_SIZE);
	rdmap_atomic_request_write(out->data, &m);
}

static void
atomic_response_build(const struct vector *v, GByteArray *out)
{
	struct rdmap_atomic_response m = {
		.request_id = (uint32_t)vector_number(v, "request_id"),
		.original = vector_number(v, "original"),
	};

	g_byte_array_set_size(out, RDMAP_ATOMIC_RESPONSE_SIZE);
	rdmap_atomic_response_write(out->data, &m);
}

/* A Terminate built as the engine builds it: from a fault and the segment in error. */
static void
terminate_build(const struct vector *v, GByteArray *out)
{
	gsize ddp_len;
	gsize rdma_len;
	g_autofree guint8 *ddp = vector_octets(v, "terminated_ddp_header", &ddp_len);
	g_autofree guint8 *rdma = vector_octets(v, "terminated_rdma_header", &rdma_len);
	g_autoptr(GByteArray) segment = g_byte_array_new();
	uint16_t code = (uint16_t)(vector_number(v, "layer") << 12 |
				   vector_number(v, "etype") << 8 | vector_number(v, "ecode"));
	struct rdmap_offender offender = {NULL, 0, 0};
	enum rdmap_fault fault = RDMAP_FAULT_NONE;

	for (gsize i = 0; i < G_N_ELEMENTS(terminate_faults); i++) {
		if (terminate_faults[i].code == code)
			fault = terminate_faults[i].fault;
	}
	g_assert_cmpint(fault, !=, RDMAP_FAULT_NONE);
	if (ddp_len > 0) {
		g_byte_array_append(segment, ddp, (guint)ddp_len);
		g_byte_array_append(segment, rdma, (guint)rdma_len);
		offender.ulpdu = segment->data;
		offender.have = segment->len;
		offender.ulpdu_len = (uint32_t)vector_number(v, "ddp_segment_length");
	}
	g_byte_array_set_size(out, RDMAP_TERMINATE_MAX);
	g_byte_array_set_size(out, rdmap_terminate_write(out->data, fault, &offender));
}

static void
body_build(const struct vector *v, enum rdmap_opcode opcode, GByteArray *out)
{
	if (opcode == RDMAP_READ_REQUEST)
		read_request_build(v, out);
	else if (opcode == RDMAP_TERMINATE)
		terminate_build(v, out);
	else if (opcode == RDMAP_ATOMIC_REQUEST)
		atomic_request_build(v, out);
	else if (opcode == RDMAP_ATOMIC_RESPONSE)
		atomic_response_build(v, out);
	else
		payload_build(v, out);
}

static struct ddp_segment
segment_build(const struct vector *v, enum rdmap_opcode opcode)
{
	bool last = vector_number(v, "L") != 0;
	struct ddp_segment seg;

	if (vector_number(v, "T") != 0)
		return rdmap_tagged(opcode, (uint32_t)vector_number(v, "stag"),
				    vector_number(v, "to"), last);
	seg = rdmap_untagged(opcode, (uint32_t)vector_number(v, "msn"),
			     (uint32_t)vector_number(v, "mo"), last);
	g_assert_cmpuint(seg.qn, ==, vector_number(v, "qn"));
	if (vector_has(v, "inval_stag"))
		seg.rsvd_ulp = (uint32_t)vector_number(v, "inval_stag");
	return seg;
}

static void
test_build(void)
{
	unsigned built = 0;

	for (guint i = 0; i < vectors_count(positive); i++) {
		const struct vector *v = vectors_at(positive, i);
		g_autoptr(GByteArray) body = g_byte_array_new();
		struct ddp_segment seg;
		struct guarded out;

		if (!is_plain_fpdu(v) || g_str_equal(v->name, "send-crc-off-dirty-pad") ||
		    vector_has(v, "rest"))
			continue; /* what peers may send and this provider does not */
		g_test_message("%s/%s", v->connection, v->name);
		seg = segment_build(v, (enum rdmap_opcode)vector_number(v, "opcode"));
		body_build(v, (enum rdmap_opcode)vector_number(v, "opcode"), body);
		seg.payload = body->data;
		seg.payload_len = body->len;
		out = guarded_copy(NULL, v->len);
		memset(out.at, 0xee, out.len);
		g_assert_cmpuint(rdmap_fpdu_put(out.at, &seg, v->crc), ==, v->len);
		g_assert_cmpmem(out.at, out.len, v->octets, v->len);
		guarded_free(&out);
		built++;
	}
	g_assert_cmpuint(built, ==, 42);
}

/* Frames that have a builder of their own. */
static void
test_build_whole(void)
{
	static const struct rdmap_read_request request = {0xabcdef10, 0x1000, 100, 0x00765402,
							  0x7fff00000040};
	const struct vector *read =
		vectors_find(positive, "rev1-crc-basic", "rdma-read-request-100B");
	const struct vector *ird = vectors_find(positive, NULL, "terminate-llp-insufficient-ird");
	const struct vector *nobuf = vectors_find(positive, NULL, "terminate-ddp-untagged-nobuf");
	const struct vector *send =
		vectors_find(positive, "terminate-no-buffer", "send-unexpected");
	struct rdmap_offender offender = {send->octets + 2, (uint32_t)send->len - 2, 32};
	uint8_t fpdu[RDMAP_TERMINATE_FPDU_MAX];
	uint32_t len;

	len = rdmap_read_request_fpdu(fpdu, 1, &request, true);
	g_assert_cmpmem(fpdu, len, read->octets, read->len);
	len = rdmap_terminate_code_fpdu(fpdu, 0x2006, true);
	g_assert_cmpmem(fpdu, len, ird->octets, ird->len);
	len = rdmap_terminate_fpdu(fpdu, RDMAP_FAULT_STARTUP_IRD, NULL, true);
	g_assert_cmpmem(fpdu, len, ird->octets, ird->len);
	len = rdmap_terminate_fpdu(fpdu, RDMAP_FAULT_NO_BUFFER, &offender, true);
	g_assert_cmpmem(fpdu, len, nobuf->octets, nobuf->len);
}

/* Compare a decoded segment with the fields. */
static void
segment_compare(const struct vector *v, const struct ddp_segment *seg)
{
	g_assert_cmpint(seg->tagged, ==, vector_number(v, "T"));
	g_assert_cmpint(seg->last, ==, vector_number(v, "L"));
	g_assert_cmpuint(seg->version, ==, vector_number(v, "dv"));
	g_assert_cmpuint(rdmap_version_of(seg->rdmap_control), ==, vector_number(v, "rv"));
	g_assert_cmpuint(rdmap_opcode_of(seg->rdmap_control), ==, vector_number(v, "opcode"));
	g_assert_cmpstr(rdmap_opcode_name(rdmap_opcode_of(seg->rdmap_control)), ==,
			json_object_get_string_member(v->fields, "opname"));
	if (seg->tagged) {
		g_assert_cmphex(seg->stag, ==, vector_number(v, "stag"));
		g_assert_cmphex(seg->to, ==, vector_number(v, "to"));
	} else {
		g_assert_cmpuint(seg->qn, ==, vector_number(v, "qn"));
		g_assert_cmpuint(seg->msn, ==, vector_number(v, "msn"));
		g_assert_cmpuint(seg->mo, ==, vector_number(v, "mo"));
		g_assert_cmphex(
			seg->rsvd_ulp, ==,
			vector_number(v, vector_has(v, "inval_stag") ? "inval_stag" : "rsvdulp"));
	}
	if (vector_has(v, "payload_len"))
		g_assert_cmpuint(seg->payload_len, ==, vector_number(v, "payload_len"));
}

static void
body_compare(const struct vector *v, const struct ddp_segment *seg)
{
	struct rdmap_read_request read;
	struct rdmap_atomic_request request;
	struct rdmap_atomic_response response;

	if (vector_has(v, "read_size")) {
		g_assert_true(rdmap_read_request_read(seg->payload, seg->payload_len, &read));
		g_assert_cmphex(read.sink_stag, ==, vector_number(v, "sink_stag"));
		g_assert_cmphex(read.sink_to, ==, vector_number(v, "sink_to"));
		g_assert_cmpuint(read.size, ==, vector_number(v, "read_size"));
		g_assert_cmphex(read.source_stag, ==, vector_number(v, "src_stag"));
		g_assert_cmphex(read.source_to, ==, vector_number(v, "src_to"));
	} else if (vector_has(v, "aopcode")) {
		g_assert_true(rdmap_atomic_request_read(seg->payload, seg->payload_len, &request));
		g_assert_cmpuint(request.operation, ==, vector_number(v, "aopcode"));
		g_assert_cmpuint(request.request_id, ==, vector_number(v, "request_id"));
		g_assert_cmphex(request.stag, ==, vector_number(v, "remote_stag"));
		g_assert_cmphex(request.to, ==, vector_number(v, "remote_to"));
		g_assert_cmpuint(request.data, ==, vector_number(v, "add_or_swap_data"));
		g_assert_cmphex(request.mask, ==, vector_number(v, "add_or_swap_mask"));
		g_assert_cmpuint(request.compare, ==, vector_number(v, "compare_data"));
		g_assert_cmphex(request.compare_mask, ==, vector_number(v, "compare_mask"));
	} else if (vector_has(v, "original")) {
		g_assert_true(
			rdmap_atomic_response_read(seg->payload, seg->payload_len, &response));
		g_assert_cmpuint(response.request_id, ==, vector_number(v, "request_id"));
		g_assert_cmpuint(response.original, ==, vector_number(v, "original"));
	}
}

static void
test_parse(void)
{
	for (guint i = 0; i < vectors_count(positive); i++) {
		const struct vector *v = vectors_at(positive, i);
		struct guarded in RI_AT_END(guarded_free) = guarded_copy(v->octets, v->len);
		struct mpa_rules rules = {.crc = v->crc};
		struct mpa_fpdu fpdu;
		struct ddp_segment seg;

		if (is_plain_fpdu(v)) {
			g_assert_cmpint(mpa_fpdu_read(&rules, in.at, in.len, &fpdu), ==, MPA_OK);
			g_assert_cmpuint(fpdu.size, ==, v->len);
			g_assert_cmpuint(fpdu.ulpdu_len, ==, vector_number(v, "ulpdu_length"));
			g_assert_cmpuint(mpa_pad(fpdu.ulpdu_len), ==, vector_number(v, "pad"));
			g_assert_cmpint(
				ddp_segment_read(fpdu.ulpdu, fpdu.ulpdu_len, fpdu.ulpdu_len, &seg),
				==, DDP_OK);
			segment_compare(v, &seg);
			body_compare(v, &seg);
		}
	}
}

/* A CRC with any single bit changed is noticed; PAD is covered. */
static void
test_every_bit(void)
{
	const struct vector *v = vectors_find(positive, "rev1-crc-basic", "send-5B-pad3");
	struct mpa_rules rules = {.crc = true};
	struct mpa_fpdu fpdu;

	for (gsize bit = 16; bit < v->len * 8;
	     bit++) { /* another length would only need more octets */
		struct guarded in = guarded_copy(v->octets, v->len);

		in.at[bit / 8] ^= (guint8)(1 << bit % 8);
		g_assert_cmpint(mpa_fpdu_read(&rules, in.at, in.len, &fpdu), ==, MPA_CRC_WRONG);
		guarded_free(&in);
	}
}

static void
test_every_truncation(void)
{
	for (guint i = 0; i < vectors_count(positive); i++) {
		const struct vector *v = vectors_at(positive, i);
		struct mpa_rules rules = {.crc = v->crc};

		for (gsize len = 0; is_plain_fpdu(v) && len < v->len; len++) {
			struct guarded in RI_AT_END(guarded_free) = guarded_copy(v->octets, len);
			gsize have = len > 2 ? len - 2 : 0;
			uint32_t ulpdu_len = (uint32_t)vector_number(v, "ulpdu_length");
			bool whole_header = have >= ddp_header_size(vector_number(v, "T") != 0);
			struct mpa_fpdu fpdu;
			struct ddp_segment seg;

			g_assert_cmpint(mpa_fpdu_read(&rules, in.at, len, &fpdu), ==, MPA_MORE);
			g_assert_cmpuint(fpdu.size, ==, len < 2 ? 0 : v->len);
			g_assert_null(fpdu.ulpdu);
			/* the header may be read before the rest has come */
			g_assert_cmpint(ddp_segment_read(in.at + len - have, have, ulpdu_len, &seg),
					==, whole_header ? DDP_OK : DDP_MORE);
			if (whole_header)
				segment_compare(v, &seg);
		}
	}
}

/* Parse a stream that comes in pieces; returns the number of frames. */
static unsigned
walk(const uint8_t *stream, gsize len, bool crc, GRand *rand)
{
	struct mpa_rules rules = {.crc = crc};
	gsize taken = 0;
	gsize there = 0;
	unsigned frames = 0;

	while (there < len) {
		gsize step = rand != NULL ? (gsize)g_rand_int_range(rand, 1, 40) : 1;

		there = MIN(len, there + step);
		for (;;) {
			struct guarded in = guarded_copy(stream + taken, there - taken);
			struct mpa_fpdu fpdu;
			enum mpa_result result = mpa_fpdu_read(&rules, in.at, in.len, &fpdu);

			guarded_free(&in);
			if (result == MPA_MORE)
				break;
			g_assert_cmpint(result, ==, MPA_OK);
			taken += fpdu.size;
			frames++;
		}
	}
	g_assert_cmpuint(taken, ==, len);
	return frames;
}

/* All FPDUs with the same CRC choice in one stream, in single octets and with random cuts. */
static void
test_cuts(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(0xc075);

	for (int crc = 0; crc < 2; crc++) {
		g_autoptr(GByteArray) stream = g_byte_array_new();
		unsigned frames = 0;

		for (guint i = 0; i < vectors_count(positive); i++) {
			const struct vector *v = vectors_at(positive, i);

			if (v->crc != crc || v->markers || g_str_has_prefix(v->kind, "mpa"))
				continue;
			g_byte_array_append(stream, v->octets, (guint)v->len);
			frames += vector_has(v, "fpdus") ? (unsigned)vector_number(v, "fpdus") : 1;
		}
		g_assert_cmpuint(walk(stream->data, stream->len, crc, NULL), ==, frames);
		for (int round = 0; round < 10; round++)
			g_assert_cmpuint(walk(stream->data, stream->len, crc, rand), ==, frames);
	}
}

/* The fault of a frame that comes first on a stream, without a memory table. */
static enum rdmap_fault
first_frame(const struct vector *v, struct ddp_segment *seg)
{
	struct guarded in RI_AT_END(guarded_free) = guarded_copy(v->octets, v->len);
	struct mpa_rules rules = {.crc = true};
	struct rdmap_inbound inbound;
	struct mpa_fpdu fpdu;
	enum mpa_result framing = mpa_fpdu_read(&rules, in.at, in.len, &fpdu);
	enum rdmap_fault fault;

	memset(seg, 0, sizeof(*seg));
	rdmap_inbound_init(&inbound);
	inbound.read_room = 1;
	if (framing == MPA_CRC_WRONG) {
		fault = RDMAP_FAULT_CRC;
	} else if (ddp_segment_read(fpdu.ulpdu, fpdu.ulpdu_len, fpdu.ulpdu_len, seg) == DDP_SHORT) {
		fault = RDMAP_FAULT_HEADER_SIZE;
	} else {
		fault = rdmap_check_header(&inbound, seg);
		if (fault == RDMAP_FAULT_NONE && rdmap_is_send(rdmap_opcode_of(seg->rdmap_control)))
			fault = rdmap_check_receive(seg, true, 64);
	}
	return fault;
}

static void
test_negative(void)
{
	unsigned judged = 0;

	for (guint i = 0; i < vectors_count(negative); i++) {
		const struct vector *v = vectors_at(negative, i);
		int code = vector_expected_code(v);
		struct ddp_segment seg;
		enum rdmap_fault fault,
			by_memory = RDMAP_FAULT_NONE; /* that the memory table finds */

		if (g_str_has_prefix(v->name, "mpa-"))
			continue;
		if (g_str_equal(v->name, "write-stag-zero"))
			by_memory = RDMAP_FAULT_TAGGED_STAG;
		else if (g_str_equal(v->name, "write-to-wrap"))
			by_memory = RDMAP_FAULT_TAGGED_WRAP;
		fault = first_frame(v, &seg);
		g_test_message("%s: %s", v->name, rdmap_fault_text(fault));
		if (vector_expects_accept(v)) {
			g_assert_cmpint(fault, ==, RDMAP_FAULT_NONE);
		} else if (by_memory != RDMAP_FAULT_NONE) {
			g_assert_cmpint(fault, ==, RDMAP_FAULT_NONE);
			g_assert_cmphex(rdmap_fault_code(by_memory), ==, code);
		} else {
			g_assert_cmpint(fault, !=, RDMAP_FAULT_NONE);
			if (code >= 0)
				g_assert_cmphex(rdmap_fault_code(fault), ==, code);
		}
		judged++;
	}
	g_assert_cmpuint(judged, ==, 18);
}

/* Vectors without a code in the file. */
static void
test_negative_ours(void)
{
	static const struct {
		const char *name;
		enum rdmap_fault fault;
	} ours[] = {
		{"read-request-with-trailing-data", RDMAP_FAULT_HEADER_SIZE},
		{"short-ulpdu-send-17", RDMAP_FAULT_HEADER_SIZE},
		{"short-ulpdu-zero", RDMAP_FAULT_HEADER_SIZE},
		{"terminate-on-wrong-qn", RDMAP_FAULT_QN},
	};
	struct ddp_segment seg;

	for (gsize i = 0; i < G_N_ELEMENTS(ours); i++)
		g_assert_cmpint(first_frame(vectors_find(negative, NULL, ours[i].name), &seg), ==,
				ours[i].fault);
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	positive = vectors_load("vectors.json");
	negative = vectors_load("negative.json");
	g_test_add_func("/iwarp/vectors/build", test_build);
	g_test_add_func("/iwarp/vectors/build-whole", test_build_whole);
	g_test_add_func("/iwarp/vectors/parse", test_parse);
	g_test_add_func("/iwarp/vectors/every-bit", test_every_bit);
	g_test_add_func("/iwarp/vectors/every-truncation", test_every_truncation);
	g_test_add_func("/iwarp/vectors/cuts", test_cuts);
	g_test_add_func("/iwarp/vectors/negative", test_negative);
	g_test_add_func("/iwarp/vectors/negative-ours", test_negative_ours);
	result = g_test_run();
	vectors_free(&positive);
	vectors_free(&negative);
	return result;
}
