/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Places where a device passes to another line, page, block or counter: segments that begin and end close to such an
 * edge of memory, on either side, and lists of segments whose lengths are close to 2^16 and 2^17. In other cases the
 * allocator decides where memory lies; here each place is tried.
 */

#include <string.h>

#include "verbs_shared.h"

/* --- edges of memory ----------------------------------------------------------------------------- */

#define AROUND 2u /* a segment begins up to that many octets before an edge, or one behind it */
#define PLACES 4u
#define BLOCK  65536u
#define ROOM   (3u * BLOCK + 64u)

/* Lines, pages of two sizes. */
static const uint32_t edges[] = {64, 4096, BLOCK};

struct move {
	enum ri_opcode opcode;
	size_t from, into;    /* where it begins in either region */
	uint32_t length, cut; /* octets of the first of two segments of each list; 0: one segment */
};

struct scene {
	struct pair pair;
	struct cert_region *near, *far;
	uint8_t *near_is, *far_is;
};

static void
scene_open(struct scene *scene, struct cert *cert)
{
	pair_connected(&scene->pair, cert);
	scene->near = cert_region_new(scene->pair.near, ROOM, CERT_ALL);
	scene->far = cert_region_new(scene->pair.far, ROOM, CERT_ALL);
	scene->near_is = g_malloc(ROOM);
	scene->far_is = g_malloc(ROOM);
	cert_fill(scene->near_is, ROOM, 1);
	cert_fill(scene->far_is, ROOM, 2);
	memcpy(scene->near->at, scene->near_is, ROOM);
	memcpy(scene->far->at, scene->far_is, ROOM);
}

static void
scene_close(struct scene *scene)
{
	g_free(scene->near_is);
	g_free(scene->far_is);
}

/* The first edge behind the first octets of a region: its place in the region. */
static size_t
edge_of(const struct cert_region *region, uint32_t edge)
{
	uintptr_t at = (uintptr_t)region->at + 2 * AROUND;

	return (at + edge - 1) / edge * edge - (uintptr_t)region->at;
}

static uint16_t
list_of(const struct cert_region *region, size_t at, const struct move *move, struct ri_sge *sgl)
{
	sgl[0] = cert_sge(region, at, move->cut > 0 ? move->cut : move->length);
	if (move->cut == 0)
		return 1;
	sgl[1] = cert_sge(region, at + move->cut, move->length - move->cut);
	return 2;
}

/* The octets around it; those of the whole are compared when all moves are done. */
static void
compare(struct scene *scene, const struct move *move)
{
	size_t length = move->length + 2 * AROUND;

	CERT_BYTES(scene->pair.cert, scene->near->at + move->from - AROUND,
		   scene->near_is + move->from - AROUND, length);
	CERT_BYTES(scene->pair.cert, scene->far->at + move->into - AROUND,
		   scene->far_is + move->into - AROUND, length);
}

/* A Send behind a Write: when it has arrived the Write is placed. */
static void
behind(const struct pair *pair)
{
	cert_post_recv(pair->b, 3, NULL, 0);
	cert_post_send(pair->a, 4, NULL, 0, 0);
	cert_wc_is(pair->a, false, 4, RI_WC_SUCCESS);
	cert_wc_is(pair->b, true, 3, RI_WC_SUCCESS);
}

static void
move_once(struct scene *scene, const struct move *move)
{
	const struct pair *pair = &scene->pair;
	struct ri_sge near[2], far[2];
	struct ri_wr wr = {.wr_id = 1,
			   .opcode = (uint8_t)move->opcode,
			   .flags = RI_WR_SIGNALED,
			   .sgl = near,
			   .u.remote = {.addr = (uintptr_t)scene->far->at + move->into,
					.stag = scene->far->stag}};
	uint16_t count = list_of(scene->far, move->into, move, far);
	uint8_t *here = scene->near_is + move->from, *there = scene->far_is + move->into;

	wr.num_sge = list_of(scene->near, move->from, move, near);
	if (move->opcode == RI_OP_SEND)
		cert_post_recv(pair->b, 2, far, count);
	cert_post(pair->a, &wr);
	cert_wc_is(pair->a, false, 1, RI_WC_SUCCESS);
	if (move->opcode == RI_OP_SEND)
		CERT_UINT(pair->cert, cert_wc_is(pair->b, true, 2, RI_WC_SUCCESS).byte_len, ==,
			  move->length);
	if (move->opcode == RI_OP_RDMA_WRITE)
		behind(pair);
	if (move->opcode == RI_OP_RDMA_READ)
		memcpy(here, there, move->length);
	else
		memcpy(there, here, move->length);
	compare(scene, move);
}

static bool
two_segments(const struct scene *scene, enum ri_opcode opcode)
{
	const struct ri_qp_init *init = &scene->pair.a->init;

	if (opcode == RI_OP_SEND)
		return init->max_send_sge > 1 && scene->pair.b->init.max_recv_sge > 1;
	return (opcode == RI_OP_RDMA_READ ? init->max_read_sge : init->max_write_sge) > 1;
}

/* Other octets on the side that they come from, so that the next move shows. */
static void
renew(struct scene *scene, const struct move *move)
{
	bool read = move->opcode == RI_OP_RDMA_READ;
	uint8_t *is = read ? scene->far_is + move->into : scene->near_is + move->from;
	uint8_t *at = read ? scene->far->at + move->into : scene->near->at + move->from;

	for (uint32_t i = 0; i < MIN(move->length, 80); i++)
		at[i] = is[i] = (uint8_t)cert_random(scene->pair.cert);
}

/* Each place around an edge of the near side to each one of the far side, with and without a cut close to the beginning. */
static void
around(struct scene *scene, enum ri_opcode opcode, uint32_t edge)
{
	const uint32_t lengths[] = {1, 2, 3, edge, edge + 3};

	for (unsigned i = 0; i < PLACES * PLACES * G_N_ELEMENTS(lengths); i++) {
		struct move move = {.opcode = opcode,
				    .from = edge_of(scene->near, edge) - AROUND + i % PLACES,
				    .into = edge_of(scene->far, edge) - AROUND +
					    i / PLACES % PLACES,
				    .length = lengths[i / (PLACES * PLACES)]};

		if (move.length > cert_attr(scene->pair.cert)->max_message_size)
			continue;
		if (move.length > 2 && two_segments(scene, opcode))
			move.cut = i % 3;
		renew(scene, &move);
		move_once(scene, &move);
	}
}

static void
memory_edges(struct cert *cert)
{
	struct scene scene RI_AT_END(scene_close);

	scene_open(&scene, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(edges); i++) {
		cert_note(cert, "around multiples of %u", edges[i]);
		around(&scene, RI_OP_SEND, edges[i]);
		around(&scene, RI_OP_RDMA_WRITE, edges[i]);
		if (scene.pair.a->init.ord > 0 && scene.pair.b->init.ird > 0)
			around(&scene, RI_OP_RDMA_READ, edges[i]);
	}
	CERT_BYTES(cert, scene.near->at, scene.near_is, ROOM);
	CERT_BYTES(cert, scene.far->at, scene.far_is, ROOM);
}

/* --- lengths of lists -------------------------------------------------------------------------------- */

#define MOST  4u /* segments */
#define LISTS (2u * 65536u + 8u)

static const uint32_t lengths[] = {65535, 65536, 65537, 2 * 65536 - 1, 2 * 65536, 2 * 65536 + 5};

/* A short segment, and then equal ones. */
static uint16_t
pieces(const struct cert_region *region, uint32_t length, uint32_t most, struct ri_sge *sgl)
{
	uint32_t count = MIN(most, MOST), at = 0;

	for (uint32_t i = 0; i + 1 < count; i++) {
		uint32_t piece = i == 0 ? 7 : length / MOST;

		sgl[i] = cert_sge(region, at, piece);
		at += piece;
	}
	sgl[count - 1] = cert_sge(region, at, length - at);
	return (uint16_t)count;
}

static void
list_lengths(struct cert *cert, struct shared *shared)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_region *from = cert_region_new(near, LISTS, CERT_ALL);
	struct cert_region *into = cert_region_new(far, LISTS, CERT_ALL);
	struct ri_qp_init init = cert_end_defaults(far);
	struct cert_end *a = cert_end_new(near, NULL), *b;

	if (shared != NULL)
		shared_new(shared, far, &init, 4);
	b = shared != NULL ? &shared->end : cert_end_new(far, NULL);
	cert_connect(a, b);
	for (uint32_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
		struct ri_sge source[MOST], sink[MOST];
		struct ri_recv_wr recv = {.wr_id = i, .sgl = sink};

		if (lengths[i] > cert_attr(cert)->max_message_size)
			continue;
		cert_note(cert, "%u octets", lengths[i]);
		cert_fill(from->at, LISTS, i);
		recv.num_sge = pieces(into, lengths[i], init.max_recv_sge, sink);
		shared_post(shared, b, &recv);
		cert_post_send(a, i, source, pieces(from, lengths[i], a->init.max_send_sge, source),
			       0);
		CERT_UINT(cert, cert_wc_is(a, false, i, RI_WC_SUCCESS).byte_len, ==, lengths[i]);
		CERT_UINT(cert, cert_wc_is(b, true, i, RI_WC_SUCCESS).byte_len, ==, lengths[i]);
		cert_expect_fill(cert, "what was sent", into->at, lengths[i], i);
	}
	if (shared != NULL)
		shared_free(shared);
}

static void
own_lists(struct cert *cert)
{
	list_lengths(cert, NULL);
}

static void
shared_lists(struct cert *cert)
{
	struct shared shared;

	list_lengths(cert, &shared);
}

static const struct cert_case cases[] = {
	{.id = "verbs.edge.memory.0001",
	 .title = "Segments around the edges of lines, pages and blocks have their own octets",
	 .rule = "[RI 3.1]",
	 .run = memory_edges},
	{.id = "verbs.edge.length.0001",
	 .title = "Messages of about 2^16 octets in lists of segments are completed with their "
		  "whole length",
	 .rule = "[RI 3.1] [RI 10.36]",
	 .run = own_lists},
	{.id = "verbs.edge.length.0002",
	 .title = "Shared receives of several segments tell messages of about 2^16 octets with "
		  "their whole length",
	 .rule = "[RI 3.1] [RI 6.1]",
	 .needs = "srq",
	 .run = shared_lists},
};

CERT_SET(verbs_edges, cases);
