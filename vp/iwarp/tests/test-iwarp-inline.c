/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Requests that carry their payload inline [RI 10.49]: the frames must contain what the memory held
 * when the request was posted, whatever the stream's properties are and however the payload is
 * divided.
 */
#include "viw_peer.h"

#include <string.h>

#define MOST 512u
#define BIG  (1u << 20)

/* What the streams are like; as in test-iwarp-transfer.c. */
struct kind {
	const char *name;
	bool crc;
	bool markers;
	int mss; /* not 0: aligned to segments of this size */
};

static const struct kind kinds[] = {
	{"plain", false, false, 0},           {"crc", true, false, 0},
	{"markers", true, true, 0},           {"aligned", true, false, 1251},
	{"aligned-plain", false, false, 536}, {"aligned-markers", true, true, 316},
};

static struct end *
end_inline(struct node *node, uint32_t max_inline)
{
	struct ri_qp_init init = end_defaults(node);

	init.max_inline = max_inline;
	return end_new(node, &init);
}

/* `len` octets in two segments, with keys that do not exist; the memory is overwritten after the post. */
static enum ri_status
post_octets(struct end *end, const struct ri_wr *what, uint64_t id, uint32_t len, uint8_t seed)
{
	uint8_t octets[MOST + 1];
	struct ri_sge sgl[2] = {{(uintptr_t)octets, len / 3, 0xbad},
				{(uintptr_t)octets + len / 3, len - len / 3, 0}};
	struct ri_wr wr = *what;

	for (uint32_t i = 0; i < len; i++)
		octets[i] = (uint8_t)(seed + i);
	wr.wr_id = id;
	wr.sgl = sgl;
	wr.num_sge = 2;
	wr.flags |= RI_WR_SIGNALED | RI_WR_INLINE;
	enum ri_status status = end->node->p->fast->post_sq(end->uqp, &wr);
	memset(octets, 0xee, sizeof(octets));
	return status;
}

static void
assert_octets(const uint8_t *at, uint32_t len, uint8_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		g_assert_cmphex(at[i], ==, (uint8_t)(seed + i));
}

/* Every size as a Write and as a Send; each eighth pair has a large Write before it, which takes another path. */
static void
test_sizes(gconstpointer arg)
{
	const struct kind *kind = arg;
	struct ri_stream like = end_stream(-1, true);
	struct node *na RI_AT_END(node_free) = node_new();
	struct node *nb RI_AT_END(node_free) = node_new();
	struct chunk ma RI_AT_END(chunk_free) = chunk_new(na, BIG, ALL_RW);
	struct chunk mb RI_AT_END(chunk_free) = chunk_new(nb, BIG, ALL_RW);
	struct end *a RI_AT_END(end_free) = end_inline(na, MOST);
	struct end *b RI_AT_END(end_free) = end_new(nb, NULL);
	struct ri_wr send = {.opcode = RI_OP_SEND};
	struct ri_wr write = {.opcode = RI_OP_RDMA_WRITE,
			      .u.remote = {.addr = (uintptr_t)mb.at + 1000, .stag = mb.stag}};

	g_assert_true(na->attr.inline_data);
	g_assert_cmpuint(na->attr.max_inline, ==, MOST);
	g_assert_cmpuint(a->init.max_inline, ==, MOST);
	like.crc = kind->crc;
	like.markers_tx = like.markers_rx = kind->markers;
	like.peer_local = kind->mss == 0;
	ends_connect_like(a, b, &like, kind->mss);
	for (uint32_t len = 0; len <= MOST; len++) {
		memset(mb.at, 0, 2000);
		g_assert_cmpint(end_recv(b, len, &mb, 0, MOST), ==, RI_SUCCESS);
		if (len % 8 == 0)
			g_assert_cmpint(end_write(a, 1, &ma, &mb, BIG), ==, RI_SUCCESS);
		g_assert_cmpint(post_octets(a, &write, 2, len, 30), ==, RI_SUCCESS);
		g_assert_cmpint(post_octets(a, &send, 3, len, 60), ==, RI_SUCCESS);
		g_assert_cmpuint(end_wait_ok(b, true, len, a).byte_len, ==, len);
		assert_octets(mb.at, len, 60);
		assert_octets(mb.at + 1000, len, 30);
		g_assert_cmpuint(mb.at[1000 + len], ==, 0);
		if (len % 8 == 0)
			(void)end_wait_ok(a, false, 1, b);
		g_assert_cmpuint(end_wait_ok(a, false, 2, b).byte_len, ==, len);
		g_assert_cmpuint(end_wait_ok(a, false, 3, b).byte_len, ==, len);
	}
}

/* The octets of the frames, also of one that invalidates. */
static void
test_wire(gconstpointer crc)
{
	struct ri_stream like = end_stream(-1, true);
	struct ri_qp_init init;
	struct node *node = node_new();
	uint8_t payload[MOST], want[PEER_FRAME_MAX], got[PEER_FRAME_MAX];
	bool fin;

	like.crc = crc != NULL;
	init = end_defaults(node);
	init.max_inline = MOST;
	struct peer f RI_AT_END(peer_close) = peer_prepare(node, &init);
	peer_attach(&f, &like, 0);
	for (uint32_t i = 0; i < MOST; i++)
		payload[i] = (uint8_t)(9 + i);
	struct ri_wr write = {.opcode = RI_OP_RDMA_WRITE,
			      .u.remote = {.addr = 0x1122334455667788, .stag = 0xa1b2c3d4}};
	struct ri_wr send = {.opcode = RI_OP_SEND,
			     .flags = RI_WR_INVALIDATE | RI_WR_SOLICITED,
			     .inv_stag = 0x99887766};
	g_assert_cmpint(post_octets(f.end, &write, 1, 333, 9), ==, RI_SUCCESS);
	g_assert_cmpint(post_octets(f.end, &send, 2, MOST, 9), ==, RI_SUCCESS);
	struct ddp_segment seg = rdmap_tagged(RDMAP_WRITE, 0xa1b2c3d4, 0x1122334455667788, true);
	seg.payload = payload;
	seg.payload_len = 333;
	uint32_t len = rdmap_fpdu_put(want, &seg, like.crc);
	seg = rdmap_untagged(RDMAP_SEND_SE_INVALIDATE, 1, 0, true);
	seg.rsvd_ulp = 0x99887766;
	seg.payload = payload;
	seg.payload_len = MOST;
	len += rdmap_fpdu_put(want + len, &seg, like.crc);
	g_assert_cmpuint(peer_listen(&f, got, len, &fin), ==, len);
	g_assert_cmpmem(got, len, want, len);
	for (uint64_t id = 1; id <= 2; id++)
		(void)end_wait_ok(f.end, false, id, NULL);
	peer_hang_up(&f);
	peer_expect_over(&f);
}

/* A queue that grows keeps room for the octets, in its entries and in the engine's copy. */
static void
test_resized(void)
{
	struct node *na RI_AT_END(node_free) = node_new();
	struct node *nb RI_AT_END(node_free) = node_new();
	struct chunk mb RI_AT_END(chunk_free) = chunk_new(nb, MOST, ALL_RW);
	struct end *a RI_AT_END(end_free) = end_inline(na, MOST);
	struct end *b RI_AT_END(end_free) = end_new(nb, NULL);
	const struct ri_wr send = {.opcode = RI_OP_SEND};
	struct ri_qp_attr attr = end_attr(a);
	struct ri_map map = {0};

	attr.max_sq_wr = 256;
	attr.max_send_sge = 7;
	g_assert_cmpint(na->p->qp->resize(a->qp, &attr, &map), ==, RI_SUCCESS);
	g_assert_cmpint(na->p->user->qp_remap(a->uqp, &attr, &map), ==, RI_SUCCESS);
	ends_connect(a, b, true);
	for (uint64_t i = 0; i < 100; i++) {
		g_assert_cmpint(end_recv(b, i, &mb, 0, MOST), ==, RI_SUCCESS);
		g_assert_cmpint(post_octets(a, &send, i, MOST, (uint8_t)i), ==, RI_SUCCESS);
		(void)end_wait_ok(b, true, i, a);
		assert_octets(mb.at, MOST, (uint8_t)i);
		(void)end_wait_ok(a, false, i, b);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autofree char *path = g_strdup_printf("/iwarp/inline/sizes/%s", kinds[i].name);

		g_test_add_data_func(path, &kinds[i], test_sizes);
	}
	g_test_add_data_func("/iwarp/inline/wire/crc", "crc", test_wire);
	g_test_add_data_func("/iwarp/inline/wire/plain", NULL, test_wire);
	g_test_add_func("/iwarp/inline/resized", test_resized);
	return g_test_run();
}
