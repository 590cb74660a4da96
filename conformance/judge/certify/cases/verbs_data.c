/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Data: every operation at many sizes and alignments, in one and in several segments; each byte of the memory of both
 * sides is compared, also those that no request named.
 */

#include <string.h>

#include "verbs_pair.h"

#define ROOM (320u * 1024u) /* bytes of each side's memory */
#define EDGE 64u            /* bytes before the data, at least */

/* Two connected ends with ROOM bytes each. */
struct scene {
	struct pair pair;
	struct cert_region *near, *far;
	size_t looked; /* bytes of each that are compared */
};

static void
scene_open(struct scene *scene, struct cert *cert)
{
	pair_connected(&scene->pair, cert);
	scene->looked = ROOM;
	scene->near = cert_region_new(scene->pair.near, ROOM, CERT_ALL);
	scene->far = cert_region_new(scene->pair.far, ROOM, CERT_ALL);
}

/* One transfer: from byte `from` of the source to byte `to` of the sink. */
struct transfer {
	enum ri_opcode opcode;
	size_t from, to, length;
	unsigned segments; /* on this side, and for a Send on both */
};

/* Divides a range into segments of about the same size. */
static unsigned
divide(const struct cert_region *region, size_t at, size_t length, unsigned segments,
       struct ri_sge *sgl)
{
	size_t step = length / segments;

	for (unsigned i = 0; i < segments; i++) {
		size_t piece = i == segments - 1 ? length - step * i : step;

		sgl[i] = cert_sge(region, at + step * i, piece);
	}
	return segments;
}

static void
post(struct scene *scene, const struct transfer *move)
{
	struct cert_end *a = scene->pair.a;
	bool read = move->opcode == RI_OP_RDMA_READ;
	struct ri_sge near[8], far[8];
	struct ri_wr wr = {
		.wr_id = 1, .opcode = (uint8_t)move->opcode, .sgl = near, .flags = RI_WR_SIGNALED};

	wr.num_sge = (uint16_t)divide(scene->near, read ? move->to : move->from, move->length,
				      move->segments, near);
	divide(scene->far, read ? move->from : move->to, move->length, move->segments, far);
	if (move->opcode == RI_OP_SEND) {
		cert_post_recv(scene->pair.b, 2, far, move->segments);
	} else {
		wr.u.remote.addr = far[0].addr;
		wr.u.remote.stag = far[0].stag;
	}
	cert_post(a, &wr);
}

/* The sink has the bytes of the source where they belong, and its own ones elsewhere. */
static void
expect_moved(struct scene *scene, const struct transfer *move)
{
	bool read = move->opcode == RI_OP_RDMA_READ;
	const struct cert_region *source = read ? scene->far : scene->near;
	const struct cert_region *sink = read ? scene->near : scene->far;
	g_autofree uint8_t *expected = g_malloc(scene->looked);

	cert_fill(expected, scene->looked, 2);
	memcpy(expected + move->to, source->at + move->from, move->length);
	CERT_BYTES(scene->pair.cert, sink->at, expected, scene->looked);
	cert_expect_fill(scene->pair.cert, "the source", source->at, scene->looked, 1);
}

static void
transfer(struct scene *scene, const struct transfer *move)
{
	struct cert *cert = scene->pair.cert;
	struct cert_end *a = scene->pair.a, *b = scene->pair.b;
	bool read = move->opcode == RI_OP_RDMA_READ;
	struct ri_wc wc;

	cert_note(cert, "%s of %zu bytes in %u segments, from offset %zu to offset %zu",
		  ri_opcode_name(move->opcode), move->length, move->segments, move->from, move->to);
	cert_fill((read ? scene->far : scene->near)->at, scene->looked, 1);
	cert_fill((read ? scene->near : scene->far)->at, scene->looked, 2);
	post(scene, move);
	wc = cert_wc_is(a, false, 1, RI_WC_SUCCESS);
	CERT_UINT(cert, wc.opcode, ==, move->opcode);
	if (move->opcode == RI_OP_SEND) {
		wc = cert_wc_is(b, true, 2, RI_WC_SUCCESS);
		CERT_UINT(cert, wc.byte_len, ==, move->length);
		CERT_UINT(cert, wc.flags & RI_WC_RECEIVE, ==, RI_WC_RECEIVE);
		CERT_UINT(cert, wc.flags & RI_WC_INVALIDATED, ==, 0);
	} else {
		CERT_UINT(cert, wc.byte_len, ==, move->length);
	}
	if (move->opcode ==
	    RI_OP_RDMA_WRITE) { /* a Read behind it, so that it is placed; Freedoms: pieces, order, early */
		struct ri_sge into = cert_sge(scene->pair.from, 0, 1);
		struct ri_sge from = cert_sge(scene->pair.into, 0, 1);

		cert_post_rdma(a, RI_OP_RDMA_READ, 3, &into, &from);
		cert_wc_is(a, false, 3, RI_WC_SUCCESS);
	}
	expect_moved(scene, move);
}

/* --- sizes and alignments ----------------------------------------------------------------- */

static void
sizes(struct cert *cert, enum ri_opcode opcode)
{
	static const size_t lengths[] = {0,     1,     2,     3,     4,     7,      8,      9,
					 15,    16,    31,    63,    64,    65,     127,    128,
					 255,   256,   1000,  1023,  1024,  1025,   1400,   1448,
					 1500,  2047,  4095,  4096,  4097,  8191,   9000,   16383,
					 16384, 32769, 65535, 65536, 65537, 100003, 262144, 300001};
	struct scene scene;

	scene_open(&scene, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
		struct transfer move = {.opcode = opcode,
					.from = EDGE + i % 16,
					.to = EDGE + (i * 5) % 16,
					.length = lengths[i],
					.segments = 1};

		if (lengths[i] <= cert_attr(cert)->max_message_size)
			transfer(&scene, &move);
	}
}

static void
alignments(struct cert *cert, enum ri_opcode opcode)
{
	struct scene scene;

	scene_open(&scene, cert);
	scene.looked = 8192;
	for (size_t from = 0; from < 8; from++) {
		for (size_t to = 0; to < 8; to++) {
			struct transfer move = {.opcode = opcode,
						.from = EDGE + from,
						.to = 4096 - 13 + to, /* across two pages */
						.length = 1 + 37 * from + to,
						.segments = 1};

			transfer(&scene, &move);
		}
	}
}

/* All numbers of segments that the adapter takes, up to 8. */
static void
segments(struct cert *cert, enum ri_opcode opcode)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	uint32_t most = opcode == RI_OP_SEND         ? MIN(attr->max_send_sge, attr->max_recv_sge)
			: opcode == RI_OP_RDMA_WRITE ? attr->max_write_sge
						     : attr->max_read_sge;
	struct scene scene;
	struct ri_qp_init init;

	scene_open(&scene, cert);
	init = cert_end_defaults(scene.pair.near);
	most = MIN(most, 8);
	init.max_send_sge = MIN(8, attr->max_send_sge);
	init.max_recv_sge = MIN(8, attr->max_recv_sge);
	init.max_write_sge = MIN(8, attr->max_write_sge);
	init.max_read_sge = MIN(8, attr->max_read_sge);
	scene.pair.a = cert_end_new(scene.pair.near, &init);
	scene.pair.b = cert_end_new(scene.pair.far, &init);
	cert_connect(scene.pair.a, scene.pair.b);
	for (unsigned count = 1; count <= most; count++) {
		const size_t lengths[] = {count, count * 3u + 1, 1000 + count, 70000 + count};

		for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++)
			transfer(&scene, &(struct transfer){.opcode = opcode,
							    .from = EDGE + count,
							    .to = EDGE,
							    .length = lengths[i],
							    .segments = count});
	}
}

static void
send_sizes(struct cert *cert)
{
	sizes(cert, RI_OP_SEND);
}

static void
write_sizes(struct cert *cert)
{
	sizes(cert, RI_OP_RDMA_WRITE);
}

static void
read_sizes(struct cert *cert)
{
	sizes(cert, RI_OP_RDMA_READ);
}

static void
send_alignments(struct cert *cert)
{
	alignments(cert, RI_OP_SEND);
}

static void
write_alignments(struct cert *cert)
{
	alignments(cert, RI_OP_RDMA_WRITE);
}

static void
read_alignments(struct cert *cert)
{
	alignments(cert, RI_OP_RDMA_READ);
}

static void
send_segments(struct cert *cert)
{
	segments(cert, RI_OP_SEND);
}

static void
write_segments(struct cert *cert)
{
	segments(cert, RI_OP_RDMA_WRITE);
}

static void
read_segments(struct cert *cert)
{
	segments(cert, RI_OP_RDMA_READ);
}

/* --- receives ------------------------------------------------------------------------------ */

/* A message fills the segments of its receive in their order, and the rest stays as it was. */
static void
receive_is_larger(struct cert *cert)
{
	struct scene scene;
	struct ri_sge source, sink[2];
	uint8_t expected[400];
	uint32_t most;
	struct ri_wc wc;

	scene_open(&scene, cert);
	most = MIN(2, scene.pair.b->init.max_recv_sge);
	for (size_t length = 0; length <= 300; length += 50) {
		cert_note(cert, "%zu bytes into a receive of 400", length);
		cert_fill(scene.near->at, 400, 1);
		cert_fill(scene.far->at, 400, 2);
		source = cert_sge(scene.near, 0, length);
		divide(scene.far, 0, 400, most, sink);
		cert_post_recv(scene.pair.b, 2, sink, most);
		cert_post_send(scene.pair.a, 1, &source, 1, 0);
		wc = cert_wc_is(scene.pair.b, true, 2, RI_WC_SUCCESS);
		CERT_UINT(cert, wc.byte_len, ==, length);
		cert_wc_is(scene.pair.a, false, 1, RI_WC_SUCCESS);
		cert_fill(expected, 400, 2);
		memcpy(expected, scene.near->at, length);
		CERT_BYTES(cert, scene.far->at, expected, 400);
	}
}

/* One byte too many: both sides learn of it, and the memory behind the receive is not touched. */
static void
receive_is_smaller(struct cert *cert)
{
	struct scene scene;
	struct ri_sge source, sink;
	struct ri_wc wc;

	scene_open(&scene, cert);
	source = cert_sge(scene.near, 0, 257);
	sink = cert_sge(scene.far, 0, 256);
	cert_fill(scene.near->at, ROOM, 1);
	cert_fill(scene.far->at + 256, 256, 2);
	cert_post_recv(scene.pair.b, 2, &sink, 1);
	cert_post_send(scene.pair.a, 1, &source, 1, 0);
	cert_wc_is(scene.pair.b, true, 2, RI_WC_LOCAL_LENGTH);
	wc = cert_wc(scene.pair.a, false);
	CERT_UINT(cert, wc.wr_id, ==, 1);
	if (scene.pair.near->attr.remote_status)
		CERT_UINT(cert, wc.status, ==, RI_WC_REMOTE_INVALID_REQ);
	cert_wait_end(scene.pair.a);
	cert_wait_end(scene.pair.b);
	cert_expect_fill(cert, "the memory behind the receive", scene.far->at + 256, 256, 2);
}

/* --- order --------------------------------------------------------------------------------- */

/* Messages arrive in the order of their posts, each whole, whatever their sizes. */
static void
sends_in_order(struct cert *cert)
{
	struct scene scene;
	size_t at[8];

	scene_open(&scene, cert);
	cert_fill(scene.near->at, ROOM, 1);
	for (unsigned round = 0; round < 40; round++) {
		size_t end = 0;

		for (unsigned i = 0; i < 8; i++) {
			size_t length = cert_random_below(cert, i % 2 == 0 ? 100 : 20000);
			struct ri_sge source = cert_sge(scene.near, end, length);
			struct ri_sge sink = cert_sge(scene.far, end, length);

			at[i] = length;
			end += length;
			cert_post_recv(scene.pair.b, i, &sink, 1);
			cert_post_send(scene.pair.a, i, &source, 1, 0);
		}
		for (unsigned i = 0; i < 8; i++) {
			struct ri_wc wc = cert_wc_is(scene.pair.b, true, i, RI_WC_SUCCESS);

			CERT_UINT(cert, wc.byte_len, ==, at[i]);
			cert_wc_is(scene.pair.a, false, i, RI_WC_SUCCESS);
		}
		cert_expect_fill(cert, "what arrived", scene.far->at, end, 1);
		memset(scene.far->at, 0, end);
	}
}

/* When a receive completes, the Writes that were posted before its Send are in memory. */
static void
writes_before_send(struct cert *cert)
{
	struct scene scene;

	scene_open(&scene, cert);
	for (uint32_t round = 0; round < 100; round++) {
		size_t length = 1 + cert_random_below(cert, 50000);
		struct ri_sge source = cert_sge(scene.near, 0, length);
		struct ri_sge target = cert_sge(scene.far, 64, length);
		struct ri_sge bell = cert_sge(scene.near, 0, 0);

		cert_fill(scene.near->at, length, round);
		cert_post_recv(scene.pair.b, 2, NULL, 0);
		cert_post_rdma(scene.pair.a, RI_OP_RDMA_WRITE, 1, &source, &target);
		cert_post_send(scene.pair.a, 3, &bell, 0, 0);
		cert_wc_is(scene.pair.b, true, 2, RI_WC_SUCCESS);
		cert_expect_fill(cert, "what was written before", scene.far->at + 64, length,
				 round);
		cert_wc_is(scene.pair.a, false, 1, RI_WC_SUCCESS);
		cert_wc_is(scene.pair.a, false, 3, RI_WC_SUCCESS);
	}
}

/* A Read behind a Write sees what it wrote. */
static void
read_behind_write(struct cert *cert)
{
	struct scene scene;

	scene_open(&scene, cert);
	for (uint32_t round = 0; round < 60; round++) {
		size_t length = 1 + cert_random_below(cert, 30000);
		struct ri_sge source = cert_sge(scene.near, 0, length);
		struct ri_sge back = cert_sge(scene.near, ROOM / 2, length);
		struct ri_sge there = cert_sge(scene.far, 3, length);

		cert_fill(scene.near->at, length, round);
		cert_post_rdma(scene.pair.a, RI_OP_RDMA_WRITE, 1, &source, &there);
		cert_post_rdma(scene.pair.a, RI_OP_RDMA_READ, 2, &back, &there);
		cert_wc_is(scene.pair.a, false, 1, RI_WC_SUCCESS);
		cert_wc_is(scene.pair.a, false, 2, RI_WC_SUCCESS);
		cert_expect_fill(cert, "what was read back", scene.near->at + ROOM / 2, length,
				 round);
	}
}

/* A fenced Send takes what an earlier Read brought; others need not (Freedoms: overtake). */
static void
fence_behind_read(struct cert *cert)
{
	struct scene scene;

	scene_open(&scene, cert);
	for (uint32_t round = 0; round < 40; round++) {
		size_t length = 1 + cert_random_below(cert, 60000);
		struct ri_sge there = cert_sge(scene.far, 0, length);
		struct ri_sge here = cert_sge(scene.near, 0, length);
		struct ri_sge sink = cert_sge(scene.far, ROOM / 2, length);

		cert_fill(scene.far->at, length, round);
		memset(scene.near->at, 0, length);
		cert_post_recv(scene.pair.b, 2, &sink, 1);
		cert_post_rdma(scene.pair.a, RI_OP_RDMA_READ, 1, &here, &there);
		cert_post_send(scene.pair.a, 3, &here, 1, RI_WR_READ_FENCE);
		cert_wc_is(scene.pair.b, true, 2, RI_WC_SUCCESS);
		cert_expect_fill(cert, "what was sent on", scene.far->at + ROOM / 2, length, round);
		cert_wc_is(scene.pair.a, false, 1, RI_WC_SUCCESS);
		cert_wc_is(scene.pair.a, false, 3, RI_WC_SUCCESS);
	}
}

/* Both sides send at once. */
static void
both_ways(struct cert *cert)
{
	struct scene scene;
	struct ri_sge sge[4];

	scene_open(&scene, cert);
	cert_fill(scene.near->at, 65536, 1);
	cert_fill(scene.far->at, 65536, 2);
	for (unsigned round = 0; round < 20; round++) {
		sge[0] = cert_sge(scene.near, 0, 65536);
		sge[1] = cert_sge(scene.near, 65536, 65536);
		sge[2] = cert_sge(scene.far, 0, 65536);
		sge[3] = cert_sge(scene.far, 65536, 65536);
		cert_post_recv(scene.pair.a, 1, &sge[1], 1);
		cert_post_recv(scene.pair.b, 1, &sge[3], 1);
		cert_post_send(scene.pair.a, 2, &sge[0], 1, 0);
		cert_post_send(scene.pair.b, 2, &sge[2], 1, 0);
		cert_wc_is(scene.pair.a, true, 1, RI_WC_SUCCESS);
		cert_wc_is(scene.pair.b, true, 1, RI_WC_SUCCESS);
		cert_wc_is(scene.pair.a, false, 2, RI_WC_SUCCESS);
		cert_wc_is(scene.pair.b, false, 2, RI_WC_SUCCESS);
		cert_expect_fill(cert, "what a got", scene.near->at + 65536, 65536, 2);
		cert_expect_fill(cert, "what b got", scene.far->at + 65536, 65536, 1);
		memset(scene.near->at + 65536, 0, 65536);
		memset(scene.far->at + 65536, 0, 65536);
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.data.size.0001",
	 .title = "A Send of each size arrives whole and touches nothing else",
	 .rule = "[RI 3.1] [RI 3.2.1]",
	 .run = send_sizes},
	{.id = "verbs.data.size.0002",
	 .title = "An RDMA Write of each size is placed whole and touches nothing else",
	 .rule = "[RI 3.1]",
	 .needs = "max_ord max_ird",
	 .run = write_sizes},
	{.id = "verbs.data.size.0003",
	 .title = "An RDMA Read of each size brings all bytes and touches nothing else",
	 .rule = "[RI 3.1]",
	 .needs = "max_ord max_ird",
	 .run = read_sizes},
	{.id = "verbs.data.align.0001",
	 .title = "A Send arrives whole from each alignment to each other one",
	 .rule = "[RI 3.1]",
	 .run = send_alignments},
	{.id = "verbs.data.align.0002",
	 .title = "An RDMA Write is placed whole from each alignment to each other one",
	 .rule = "[RI 3.1]",
	 .needs = "max_ord max_ird",
	 .run = write_alignments},
	{.id = "verbs.data.align.0003",
	 .title = "An RDMA Read brings all bytes from each alignment to each other one",
	 .rule = "[RI 3.1]",
	 .needs = "max_ord max_ird",
	 .run = read_alignments},
	{.id = "verbs.data.segment.0001",
	 .title = "A Send and its receive take as many segments as are claimed",
	 .rule = "[RI 10] [RI 3.1]",
	 .settles = "max_send_sge max_recv_sge",
	 .run = send_segments},
	{.id = "verbs.data.segment.0002",
	 .title = "An RDMA Write takes as many segments as are claimed",
	 .rule = "[RI 10] [RI 3.1]",
	 .needs = "max_ord max_ird",
	 .settles = "max_write_sge",
	 .run = write_segments},
	{.id = "verbs.data.segment.0003",
	 .title = "The sink of an RDMA Read has as many segments as are claimed",
	 .rule = "[RI 10.2]",
	 .needs = "max_ord max_ird",
	 .settles = "max_read_sge",
	 .run = read_segments},
	{.id = "verbs.data.receive.0001",
	 .title = "A message fills its receive from the beginning and leaves the rest",
	 .rule = "[RI 3.1]",
	 .run = receive_is_larger},
	{.id = "verbs.data.receive.0002",
	 .title = "A message that is one byte too long is an error of both sides",
	 .rule = "[RI 3.3.1] [RI 3.3.3] [RI 10.23]",
	 .settles = "remote_status",
	 .run = receive_is_smaller},
	{.id = "verbs.data.order.0001",
	 .title = "Messages arrive and complete in the order of their posts",
	 .rule = "[RI 3.2.1]",
	 .settles = "in_order_completion",
	 .run = sends_in_order},
	{.id = "verbs.data.order.0002",
	 .title = "An RDMA Write is in memory when the receive of a later Send completes",
	 .rule = "[RI 3.2.1] [RI 10.22]",
	 .run = writes_before_send},
	{.id = "verbs.data.order.0003",
	 .title = "An RDMA Read behind an RDMA Write sees what it wrote",
	 .rule = "[RI 3.2.1]",
	 .needs = "max_ord max_ird",
	 .run = read_behind_write},
	{.id = "verbs.data.order.0004",
	 .title = "A fenced request begins when all earlier RDMA Reads have ended",
	 .rule = "[RI 3.2.2]",
	 .needs = "max_ord max_ird",
	 .run = fence_behind_read},
	{.id = "verbs.data.order.0005",
	 .title = "Both sides can send at once",
	 .rule = "[RI 3.2.1]",
	 .run = both_ways},
};

CERT_SET(verbs_data, cases);
