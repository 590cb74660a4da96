/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Immediate data with an RDMA Write, as an Immediate Data message that follows it (RFC 7306 section
 * 6). Each end is tested with a plain socket as its peer, octet by octet, and gets invalid
 * messages.
 */
#include "viw_peer.h"

#include <string.h>

#include "rdmap_terminate.h"
#include "vectors.h"

#define BIG    (3u * 1024 * 1024 + 17)
#define IMM    0xddccbbaau
#define SECOND UINT64_C(1000000000)

/* --- both ends ----------------------------------------------------------------------------- */

/* What the streams are like; as in test-iwarp-transfer.c. */
struct kind {
	const char *name;
	bool crc;
	bool markers;
	int mss;       /* not 0: aligned to segments of this size */
	size_t shared; /* receives of an SRQ; 0: of the queue pair */
};

static const struct kind kinds[] = {
	{"plain", false, false, 0, 0},           {"crc", true, false, 0, 0},
	{"shared", true, false, 0, 64},          {"markers", true, true, 0, 0},
	{"markers-plain", false, true, 0, 0},    {"aligned", true, false, 1251, 0},
	{"aligned-plain", false, false, 536, 0}, {"aligned-markers", true, true, 316, 0},
};

static const uint32_t sizes[] = {0,    1,    4,     64,    511,    512,     1025,
				 1400, 8193, 32768, 65536, 100001, 1 << 20, BIG};

static void
set_up(struct ends *f, const struct kind *kind)
{
	struct ri_stream like = end_stream(-1, true);

	like.crc = kind->crc;
	like.markers_tx = like.markers_rx = kind->markers;
	like.peer_local = kind->mss == 0;
	ends_open(f);
	if (kind->shared > 0)
		node_share(f->nb, (uint32_t)kind->shared);
	struct ri_qp_init init = end_defaults(f->na);
	init.max_inline = f->na->attr.max_inline;
	ends_fill(f, &init, NULL, BIG + 1, ALL_RW);
	ends_connect_like(f->a, f->b, &like, kind->mss);
}

/* A Write with immediate data; `from` NULL: of no octets, and without a key. */
static enum ri_status
post_told(struct end *end, uint64_t id, const struct ri_sge *from, const struct ri_wr_remote *to,
	  uint32_t imm, uint32_t flags)
{
	struct ri_wr wr = {.wr_id = id,
			   .sgl = from,
			   .num_sge = from != NULL,
			   .opcode = RI_OP_RDMA_WRITE,
			   .flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE | flags,
			   .imm = imm};

	if (to != NULL)
		wr.u.remote = *to;
	return end->node->p->fast->post_sq(end->uqp, &wr);
}

/* A receive whose segment names no memory. */
static void
recv_unusable(struct ends *f, uint64_t id)
{
	struct ri_sge bad = {.addr = 64, .length = 1000, .stag = f->mb.stag ^ 0xff00};
	struct ri_recv_wr wr = {.wr_id = id, .sgl = &bad, .num_sge = 1};
	const struct ri_fast_ops *fast = f->nb->p->fast;

	g_assert_cmpint(f->nb->usrq != NULL ? fast->post_srq(f->nb->usrq, &wr)
					    : fast->post_rq(f->b->uqp, &wr),
			==, RI_SUCCESS);
}

static void
expect_told(const struct ri_wc *wc, uint32_t imm, uint32_t len, uint32_t flags)
{
	g_assert_cmpuint(wc->opcode, ==, RI_OP_RECV_WRITE);
	g_assert_cmpuint(wc->flags, ==, RI_WC_RECEIVE | RI_WC_IMMEDIATE | flags);
	g_assert_cmphex(wc->imm, ==, imm);
	g_assert_cmpuint(wc->byte_len, ==, len);
}

/* Each size, also inline: the data is there before the completion, the receive's segments are left alone. */
static void
test_sizes(gconstpointer kind)
{
	struct ends f RI_AT_END(ends_close);

	set_up(&f, kind);
	for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
		uint32_t len = sizes[i], imm = IMM + i;
		uint32_t inlined = len <= f.na->attr.max_inline ? RI_WR_INLINE : 0;
		uint32_t solicited = i % 2 ? RI_WR_SOLICITED : 0;
		struct ri_sge sge = chunk_sge(&f.ma, 0, len);
		struct ri_wr_remote to = {.addr = (uintptr_t)f.mb.at, .stag = f.mb.stag};

		chunk_fill(&f.ma, i);
		memset(f.mb.at, 0xee, len + 1);
		recv_unusable(&f, i);
		g_assert_cmpint(post_told(f.a, 2 * i, &sge, &to, imm, solicited | inlined), ==,
				RI_SUCCESS);
		struct ri_wc wc = end_wait_ok(f.b, true, i, f.a);
		expect_told(&wc, imm, len, solicited ? RI_WC_SOLICITED : 0);
		g_assert_cmpmem(f.mb.at, len, f.ma.at, len);
		g_assert_cmphex(f.mb.at[len], ==, 0xee);
		wc = end_wait_ok(f.a, false, 2 * i, f.b);
		g_assert_cmpuint(wc.opcode, ==, RI_OP_RDMA_WRITE);
		g_assert_cmpuint(wc.byte_len, ==, len);
		g_assert_cmpuint(wc.flags, ==, 0);
	}
	ends_run(f.a, f.b, 1);
	struct ri_wc none;
	g_assert_false(end_poll(f.a, false, &none) || end_poll(f.b, true, &none));
}

/* Many in a row, with Sends, Writes and Reads among them in both directions; requests complete once each, in order. */
static void
test_stream(gconstpointer kind)
{
	const unsigned wanted = 600;
	unsigned posted = 0, done = 0, receives = 0, received = 0;
	struct ends f RI_AT_END(ends_close);
	struct ri_wc wc;

	set_up(&f, kind);
	chunk_fill(&f.ma, 1);
	while (received < wanted || done < wanted) {
		struct ri_sge sge = chunk_sge(&f.ma, 0, posted % 3000);
		struct ri_wr_remote to = {.addr = (uintptr_t)f.mb.at, .stag = f.mb.stag};

		for (; receives < wanted && receives - received < 32; receives++) {
			if (f.nb->usrq != NULL)
				node_post(f.nb, receives, &f.mb, 8192, 4);
			else
				g_assert_cmpint(end_recv(f.b, receives, &f.mb, 8192, 4), ==,
						RI_SUCCESS);
			(void)end_read(f.b, 9, &f.mb, &f.ma, 5000);
		}
		if (posted < wanted &&
		    (posted % 4 != 3 ? post_told(f.a, posted, &sge, &to, posted, 0)
				     : end_send(f.a, posted, &f.ma, 0, 4)) == RI_SUCCESS)
			posted++;
		if (end_poll(f.a, false, &wc)) {
			g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
			g_assert_cmpuint(wc.wr_id, ==, done);
			g_assert_cmpuint(wc.opcode, ==,
					 done % 4 != 3 ? RI_OP_RDMA_WRITE : RI_OP_SEND);
			done++;
		}
		if (end_poll(f.b, true, &wc)) {
			g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
			g_assert_cmpuint(wc.wr_id, ==, received);
			if (received % 4 != 3)
				expect_told(&wc, received, received % 3000, 0);
			else
				g_assert_cmpuint(wc.flags, ==, RI_WC_RECEIVE);
			received++;
		}
		while (end_poll(f.b, false, &wc))
			g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
	}
}

/* The sender's memory is wrong: not even the immediate data goes out. The peer's: its receive is flushed. */
static void
test_bad_keys(gconstpointer here)
{
	struct ends f RI_AT_END(ends_close);
	struct ri_wr_remote to;

	set_up(&f, &kinds[1]);
	struct ri_sge sge = chunk_sge(&f.ma, 0, 4);
	to = (struct ri_wr_remote){.addr = (uintptr_t)f.mb.at, .stag = f.mb.stag};
	if (here != NULL)
		sge.stag ^= 0xff00;
	else
		to.stag ^= 0xff00;
	recv_unusable(&f, 7);
	g_assert_cmpint(post_told(f.a, 1, &sge, &to, IMM, 0), ==, RI_SUCCESS);
	struct ri_wc wc = end_wait(f.a, false, f.b);
	g_assert_cmpuint(wc.wr_id, ==, 1);
	if (here != NULL)
		g_assert_cmpuint(wc.status, ==, RI_WC_LOCAL_PROTECTION);
	wc = end_wait(f.b, true, f.a);
	g_assert_cmpuint(wc.wr_id, ==, 7);
	g_assert_cmpuint(wc.status, ==, RI_WC_FLUSHED);
	g_assert_cmpuint(wc.flags & RI_WC_IMMEDIATE, ==, 0);
}

/* --- what is sent -------------------------------------------------------------------------- */

static uint32_t
write_put(uint8_t *at, uint64_t to, const void *payload, uint32_t len, bool last)
{
	struct ddp_segment seg = rdmap_tagged(RDMAP_WRITE, 0xa1b2c3d4, to, last);

	seg.payload = payload;
	seg.payload_len = len;
	return rdmap_fpdu_put(at, &seg, true);
}

/* The octets: of what a program sees in RFC 7306, four are its own, and the others are 0. */
static void
test_wire(void)
{
	static const uint8_t told[32] = {0x00, 0x1a, 0x41, 0x48, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
					 0,    1,    0,    0,    0, 0, 1, 2, 3, 4, 0, 0, 0, 0};
	uint8_t want[256], got[256];
	uint32_t imm;
	bool fin;
	struct peer f RI_AT_END(peer_close) = peer_open(NULL);

	memset(f.mem.at, 0x5a, 33);
	memcpy(&imm, "\1\2\3\4", sizeof(imm));
	struct ri_sge sge = chunk_sge(&f.mem, 0, 33);
	struct ri_wr_remote to = {.addr = 0x1122334455667788, .stag = 0xa1b2c3d4};
	g_assert_cmpint(post_told(f.end, 1, &sge, &to, imm, 0), ==, RI_SUCCESS);
	g_assert_cmpint(post_told(f.end, 2, NULL, &to, imm, RI_WR_SOLICITED), ==, RI_SUCCESS);
	uint32_t len = write_put(want, to.addr, f.mem.at, 33, true);
	memcpy(want + len, told, sizeof(told));
	mpa_crc_store(want + len + 28, mpa_crc(want + len, 28, 0));
	len += 32;
	len += write_put(want + len, to.addr, NULL, 0, true);
	memcpy(want + len, told, sizeof(told));
	want[len + 3] = 0x49;
	want[len + 15] = 2; /* MSN, shared with Sends */
	mpa_crc_store(want + len + 28, mpa_crc(want + len, 28, 0));
	len += 32;
	g_assert_cmpuint(peer_listen(&f, got, len, &fin), ==, len);
	g_assert_cmpmem(got, len, want, len);
	(void)end_wait_ok(f.end, false, 1, NULL);
	(void)end_wait_ok(f.end, false, 2, NULL);
	peer_hang_up(&f);
	peer_expect_over(&f);
}

/* Answers to Reads of the peer go between two requests, but not between a Write and its immediate data. */
static void
test_nothing_between(gconstpointer segments)
{
	static const enum rdmap_opcode order[] = {
		RDMAP_READ_RESPONSE, RDMAP_WRITE,     RDMAP_IMMEDIATE,     RDMAP_READ_RESPONSE,
		RDMAP_WRITE,         RDMAP_IMMEDIATE, RDMAP_READ_RESPONSE, RDMAP_SEND,
	};
	struct ri_stream like = end_stream(-1, false);
	uint8_t ask[512], frame[PEER_FRAME_MAX];
	uint32_t len = 0, size = segments != NULL ? 5000 : 50, msn = 1;
	struct peer f RI_AT_END(peer_close) = peer_prepare(node_new_by_hand(), NULL);

	like.await_fpdu = true; /* nothing is sent before the first frame */
	like.peer_local = segments == NULL;
	peer_attach(&f, &like, segments != NULL ? 1251 : 0);
	struct ri_sge sge = chunk_sge(&f.mem, 0, size);
	struct ri_wr_remote to = {.addr = 4096, .stag = 0xa1b2c3d4};
	g_assert_cmpint(post_told(f.end, 0, &sge, &to, IMM, 0), ==, RI_SUCCESS);
	g_assert_cmpint(post_told(f.end, 1, &sge, &to, IMM, 0), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(f.end, 2, &f.mem, 0, 4), ==, RI_SUCCESS);
	for (uint32_t i = 1; i <= 3; i++) {
		struct rdmap_read_request m = {.sink_stag = 7,
					       .size = 16,
					       .source_stag = f.mem.stag,
					       .source_to = (uintptr_t)f.mem.at};

		len += rdmap_read_request_fpdu(ask + len, i, &m, true);
	}
	peer_play(&f, ask, len);
	for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
		struct ddp_segment seg;
		uint32_t total = 0;

		do {
			seg = peer_read_frame(&f, frame);
			total += seg.payload_len;
			g_assert_cmpuint(rdmap_opcode_of(seg.rdmap_control), ==, order[i]);
		} while (!seg.last);
		if (order[i] == RDMAP_WRITE)
			g_assert_cmpuint(total, ==, size);
		if (!seg.tagged)
			g_assert_cmpuint(seg.msn, ==, msn++);
	}
	for (uint64_t id = 0; id < 3; id++)
		(void)end_wait_ok(f.end, false, id, NULL);
	peer_hang_up(&f);
	peer_expect_over(&f);
}

/* An orderly end finishes the request that is under way, both messages of it; the Write blocks the socket. */
static void
test_closing(void)
{
	const uint32_t size = 16u << 20;
	struct ri_stream like = end_stream(-1, false);
	struct peer f RI_AT_END(peer_close);
	struct ri_wr_remote to = {.addr = 0, .stag = 0xa1b2c3d4};
	g_autofree uint8_t *got = NULL;
	bool fin;

	f = peer_open_by_hand(&like); /* the time for the end does not pass */
	struct chunk big RI_AT_END(chunk_free) = chunk_new(f.node, size, ALL_RW);
	struct ri_sge sge = chunk_sge(&big, 0, size);
	g_assert_cmpint(post_told(f.end, 1, &sge, &to, IMM, 0), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(f.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	got = g_malloc(2 * size);
	size_t len = peer_listen(&f, got, 2 * size, &fin);
	g_assert_true(fin);
	g_assert_cmpuint(len, >, size);
	const uint8_t *last = got + len - 32;
	g_assert_cmphex(wire_load_be16(last), ==, 26);
	g_assert_cmphex(last[3], ==, rdmap_control(RDMAP_IMMEDIATE));
	peer_hang_up(&f);
	(void)end_wait_ok(f.end, false, 1, NULL);
	peer_expect_over(&f);
}

/* --- what arrives -------------------------------------------------------------------------- */

static uint32_t
told_put(uint8_t *at, enum rdmap_opcode opcode, uint32_t msn, uint32_t imm)
{
	uint8_t octets[8] = {0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}; /* the other four do not count */
	struct ddp_segment seg = rdmap_untagged(opcode, msn, 0, true);

	memcpy(octets, &imm, 4);
	seg.payload = octets;
	seg.payload_len = 8;
	return rdmap_fpdu_put(at, &seg, true);
}

/* A Write of `len` octets into the peer's memory, in segments of at most `most`. */
static uint32_t
into_put(uint8_t *at, const struct peer *f, uint32_t len, uint32_t most)
{
	static const uint8_t payload[4096] = {1, 2, 3};
	uint32_t size = 0, done = 0;

	do {
		uint32_t n = len - done < most ? len - done : most;
		struct ddp_segment seg =
			rdmap_tagged(RDMAP_WRITE, f->mem.stag, (uintptr_t)f->mem.at + 4096 + done,
				     done + n == len);

		seg.payload = payload;
		seg.payload_len = n;
		size += rdmap_fpdu_put(at + size, &seg, true);
		done += n;
	} while (done < len);
	return size;
}

/* The length is that of the Write right before, however it was cut; of nothing else. */
static void
test_lengths(gconstpointer how)
{
	g_autofree uint8_t *octets = g_malloc(1 << 16);
	struct ri_stream like = end_stream(-1, false);
	uint32_t len = 0;
	const uint32_t lengths[] = {0, 3000, 0, 4000, 0, 0};
	struct peer f RI_AT_END(peer_close) = peer_prepare(node_new_by_hand(), NULL);

	for (uint64_t id = PEER_RECVS; id < 7; id++)
		g_assert_cmpint(end_recv(f.end, id, &f.mem, 0, 64), ==, RI_SUCCESS);
	peer_attach(&f, &like, 0);
	len += told_put(octets, RDMAP_IMMEDIATE, 1, 10); /* no message before it */
	len += into_put(octets + len, &f, 500, 1000);
	len += into_put(octets + len, &f, 3000, 1000);
	len += told_put(octets + len, RDMAP_IMMEDIATE_SE, 2, 11);
	len += told_put(octets + len, RDMAP_IMMEDIATE, 3, 12); /* that was no Write */
	len += into_put(octets + len, &f, 4000, 4000);
	len += told_put(octets + len, RDMAP_IMMEDIATE, 4, 13);
	len += into_put(octets + len, &f, 0, 1);
	len += told_put(octets + len, RDMAP_IMMEDIATE, 5, 14);
	len += into_put(octets + len, &f, 700, 100);
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, 6, 0, true);
	len += rdmap_fpdu_put(octets + len, &seg, true);
	len += told_put(octets + len, RDMAP_IMMEDIATE, 7, 15);
	peer_play_cut(&f, octets, len, GPOINTER_TO_UINT(how));
	for (uint64_t id = 0; id < 7; id++) {
		struct ri_wc wc = end_wait_ok(f.end, true, id, NULL);

		if (id == 5)
			g_assert_cmpuint(wc.opcode, ==, RI_OP_RECV);
		else
			expect_told(&wc, 10 + (uint32_t)(id < 5 ? id : 5), lengths[id < 5 ? id : 5],
				    id == 1 ? RI_WC_SOLICITED : 0);
	}
	peer_hang_up(&f);
	end_wait_event(f.end, RI_EVENT_QP_LLP_CLOSE_COMPLETE, NULL);
}

/* Each is refused as a Send of that kind is, or as its size says, and takes no receive. */
static void
test_malformed(void)
{
	static const struct {
		int code, length, qn, msn, mo;
		bool not_last, tagged, in_send, in_write, version;
	} faults[] = {
		{.code = 0x1000, .length = 0, .msn = 1},
		{.code = 0x1000, .length = 4, .msn = 1},
		{.code = 0x1000, .length = 7, .msn = 1},
		{.code = 0x1000, .length = 9, .msn = 1},
		{.code = 0x1000, .length = 900, .msn = 1},
		{.code = 0x1000, .length = 3000, .msn = 1},
		{.code = 0x1201, .length = 8, .qn = 1, .msn = 1},
		{.code = 0x1201, .length = 8, .qn = 2, .msn = 1},
		{.code = 0x1201, .length = 8, .qn = 3, .msn = 1},
		{.code = 0x1201, .length = 8, .qn = -1, .msn = 1},
		{.code = 0x1203, .length = 8, .msn = 0},
		{.code = 0x1203, .length = 8, .msn = 2},
		{.code = 0x1204, .length = 8, .msn = 1, .mo = 8},
		{.code = 0x0207, .length = 8, .msn = 1, .not_last = true},
		{.code = 0x0206, .length = 8, .tagged = true},
		{.code = 0x0206, .length = 8, .msn = 1, .in_send = true},
		{.code = 0x0206, .length = 8, .msn = 1, .in_write = true},
		{.code = 0x0205, .length = 8, .msn = 1, .version = true},
	};
	static const uint8_t payload[3000] = {9};
	uint8_t octets[8192];

	for (unsigned i = 0; i < 4 * G_N_ELEMENTS(faults); i++) {
		unsigned k = i / 4;
		enum rdmap_opcode opcode = i % 2 ? RDMAP_IMMEDIATE : RDMAP_IMMEDIATE_SE;
		struct ddp_segment seg = rdmap_untagged(opcode, (uint32_t)faults[k].msn,
							(uint32_t)faults[k].mo, true);
		struct ddp_segment first = rdmap_untagged(RDMAP_SEND, 1, 0, false);
		struct ri_stream like = end_stream(-1, false);
		uint32_t len = 0;
		struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&like);

		if (faults[k].tagged)
			seg = rdmap_tagged(opcode, f.mem.stag, (uintptr_t)f.mem.at, true);
		else
			seg.qn = (uint32_t)faults[k].qn;
		seg.last = !faults[k].not_last;
		seg.payload = payload;
		seg.payload_len = (uint32_t)faults[k].length;
		if (faults[k].version)
			seg.rdmap_control = (uint8_t)opcode;
		if (faults[k].in_write) {
			first = rdmap_tagged(RDMAP_WRITE, f.mem.stag, (uintptr_t)f.mem.at, false);
			first.payload = payload;
			first.payload_len = 4;
		}
		if (faults[k].in_send || faults[k].in_write)
			len = rdmap_fpdu_put(octets, &first, true);
		len += rdmap_fpdu_put(octets + len, &seg, true);
		peer_play_cut(&f, octets, len, i / 2 % 2);
		peer_expect_terminate(&f, faults[k].code);
		peer_hang_up(&f);
		while (node_ends(f.end) == 0)
			ends_run(f.end, NULL, 1);
		for (uint64_t id = 0; id < PEER_RECVS; id++) {
			struct ri_wc wc = end_wait(f.end, true, NULL);

			g_assert_cmpuint(wc.wr_id, ==, id);
			g_assert_cmpuint(wc.status, ==, RI_WC_FLUSHED);
			g_assert_cmpuint(wc.flags & RI_WC_IMMEDIATE, ==, 0);
			g_assert_cmpuint(wc.opcode, ==, RI_OP_RECV);
		}
	}
}

/* A CRC that is wrong: nothing is delivered, in one piece or in many. */
static void
test_bad_crc(gconstpointer how)
{
	uint8_t octets[64];
	struct peer f RI_AT_END(peer_close) = peer_open(NULL);

	uint32_t len = told_put(octets, RDMAP_IMMEDIATE, 1, IMM);
	octets[20] ^= 1;
	peer_play_cut(&f, octets, len, GPOINTER_TO_UINT(how));
	peer_expect_terminate(&f, 0x2002);
	peer_hang_up(&f);
	while (node_ends(f.end) == 0)
		ends_run(f.end, NULL, 1);
	for (uint64_t id = 0; id < PEER_RECVS; id++)
		g_assert_cmpuint(end_wait(f.end, true, NULL).status, ==, RI_WC_FLUSHED);
}

/* The frames of the vectors. */
static void
test_vectors(gconstpointer how)
{
	static const char *const names[] = {"immediate-data", "immediate-data-se"};
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("vectors.json");
	struct peer f RI_AT_END(peer_close) = peer_open(NULL);

	for (unsigned i = 0; i < 2; i++) {
		const struct vector *v = vectors_find(all, NULL, names[i]);
		uint32_t imm;

		peer_play_cut(&f, v->octets, v->len, GPOINTER_TO_UINT(how));
		memcpy(&imm, i == 0 ? "\1\2\3\4" : "\xa1\xa2\xa3\xa4", 4);
		struct ri_wc wc = end_wait_ok(f.end, true, i, NULL);
		expect_told(&wc, imm, 0, i == 0 ? 0 : RI_WC_SOLICITED);
	}
	peer_hang_up(&f);
	end_wait_event(f.end, RI_EVENT_QP_LLP_CLOSE_COMPLETE, NULL);
}

/* --- without a receive --------------------------------------------------------------------- */

/* It waits as a Send does, and what is behind it waits with it. */
static void
test_waits(gconstpointer kind)
{
	struct ends f RI_AT_END(ends_close);

	set_up(&f, kind);
	for (unsigned i = 0; i < 3; i++) {
		struct ri_sge sge = chunk_sge(&f.ma, 0, 100), mark = chunk_sge(&f.ma, 0, 1);
		struct ri_wr_remote to = {.addr = (uintptr_t)f.mb.at, .stag = f.mb.stag};
		struct ri_wr_remote behind = {.addr = (uintptr_t)f.mb.at + 4096, .stag = f.mb.stag};

		f.mb.at[4096] = 0;
		memset(f.ma.at, 0x77, 100);
		g_assert_cmpint(post_told(f.a, 1, &sge, &to, IMM, 0), ==, RI_SUCCESS);
		struct ri_wr wr = {.wr_id = 2,
				   .sgl = &mark,
				   .num_sge = 1,
				   .opcode = RI_OP_RDMA_WRITE,
				   .flags = RI_WR_SIGNALED,
				   .u.remote = behind};
		g_assert_cmpint(f.na->p->fast->post_sq(f.a->uqp, &wr), ==, RI_SUCCESS);
		(void)end_wait_ok(f.a, false, 1, f.b);
		(void)end_wait_ok(f.a, false, 2, f.b);
		ends_run(f.a, f.b, 5);
		g_assert_cmphex(f.mb.at[99], ==, 0x77); /* the Write has no need of a receive */
		g_assert_cmphex(f.mb.at[4096], ==, 0);
		recv_unusable(&f, 40 + i);
		struct ri_wc wc = end_wait_ok(f.b, true, 40 + i, f.a);
		expect_told(&wc, IMM, 100, 0);
		for (gint64 until = node_deadline();
		     __atomic_load_n(&f.mb.at[4096], __ATOMIC_ACQUIRE) != 0x77;) {
			ends_run(f.a, f.b, 1);
			g_assert_cmpint(g_get_monotonic_time(), <, until);
		}
	}
}

/* A message that came in pieces before the wait is delivered whole, and so is the Send behind it. */
static void
test_resumes(gconstpointer how)
{
	struct ri_stream like = end_stream(-1, false);
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, PEER_RECVS + 2, 0, true);
	uint8_t octets[2048];
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&like);

	for (uint32_t i = 0; i < PEER_RECVS; i++) {
		peer_play(&f, octets, told_put(octets, RDMAP_IMMEDIATE, i + 1, i));
		(void)end_wait_ok(f.end, true, i, NULL);
	}
	uint32_t len = into_put(octets, &f, 1000, 600);
	len += told_put(octets + len, RDMAP_IMMEDIATE_SE, PEER_RECVS + 1, IMM);
	len += rdmap_fpdu_put(octets + len, &seg, true);
	peer_play_cut(&f, octets, len, GPOINTER_TO_UINT(how));
	node_run(f.node);
	struct ri_wc none;
	g_assert_false(end_poll(f.end, true, &none));
	g_assert_cmpint(end_recv(f.end, 50, &f.mem, 0, 64), ==, RI_SUCCESS);
	struct ri_wc wc = end_wait_ok(f.end, true, 50, NULL);
	expect_told(&wc, IMM, 1000, RI_WC_SOLICITED);
	g_assert_cmpint(end_recv(f.end, 51, &f.mem, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpuint(end_wait_ok(f.end, true, 51, NULL).opcode, ==, RI_OP_RECV);
	peer_hang_up(&f);
	end_wait_event(f.end, RI_EVENT_QP_LLP_CLOSE_COMPLETE, NULL);
}

/* Nobody posts one: the stream ends as for a Send, and the log says of what. */
static void
test_gives_up(gconstpointer how)
{
	struct ri_stream like = end_stream(-1, false);
	uint8_t octets[64];
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&like);

	for (uint32_t i = 0; i < PEER_RECVS; i++) {
		peer_play(&f, octets, told_put(octets, RDMAP_IMMEDIATE, i + 1, i));
		(void)end_wait_ok(f.end, true, i, NULL);
	}
	peer_play_cut(&f, octets, told_put(octets, RDMAP_IMMEDIATE, PEER_RECVS + 1, IMM),
		      GPOINTER_TO_UINT(how));
	node_run(f.node);
	g_assert_true(
		vth_logged(f.node->vth, "immediate data of the peer waits, since no receive"));
	vth_advance(f.node->vth, 2 * SECOND);
	peer_expect_terminate(&f, 0x1202);
	g_assert_true(vth_logged(f.node->vth, "immediate data of the peer found no receive"));
	peer_hang_up(&f);
	end_wait_event(f.end, RI_EVENT_QP_RQ_MSN_RANGE, NULL);
}

/* --- a peer that does not know it ---------------------------------------------------------- */

/* It answers with a Terminate, as siw does, without a copy of the header; or with one. The request was done long before. */
static void
refuse(bool told, bool copies, uint16_t code, const char *said)
{
	uint8_t fpdu[RDMAP_TERMINATE_FPDU_MAX], frame[256], ulpdu[DDP_UNTAGGED_SIZE];
	struct ddp_segment seg = rdmap_untagged(RDMAP_IMMEDIATE, 1, 0, true);
	struct rdmap_offender offender = {.ulpdu = ulpdu, .have = 18, .ulpdu_len = 26};
	struct ri_stream like = end_stream(-1, false);
	struct ri_wr_remote to = {.addr = 4096, .stag = 0xa1b2c3d4};
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&like);

	struct ri_sge sge = chunk_sge(&f.mem, 0, 10);
	if (told)
		g_assert_cmpint(post_told(f.end, 1, &sge, &to, IMM, 0), ==, RI_SUCCESS);
	else
		g_assert_cmpint(end_send(f.end, 1, &f.mem, 0, 10), ==, RI_SUCCESS);
	struct ri_wc wc = end_wait_ok(f.end, false, 1, NULL);
	g_assert_cmpuint(wc.opcode, ==, told ? RI_OP_RDMA_WRITE : RI_OP_SEND);
	for (unsigned i = 0; i < (told ? 2 : 1); i++)
		(void)peer_read_frame(&f, frame);
	(void)ddp_header_put(ulpdu, &seg);
	peer_play(&f, fpdu,
		  copies ? rdmap_terminate_fpdu(fpdu, RDMAP_FAULT_OPCODE, &offender, true)
			 : rdmap_terminate_code_fpdu(fpdu, code, true));
	peer_hang_up(&f);
	peer_expect_over(&f);
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_TERMINATE_RECEIVED), ==, 1);
	g_assert_cmpint(vth_logged(f.node->vth, "does not take immediate data"), ==, said != NULL);
	if (said != NULL)
		g_assert_true(vth_logged(f.node->vth, said));
	g_assert_cmpint(vth_logged(f.node->vth, "it seems"), ==, said != NULL && !copies);
}

static void
test_unknown_there(void)
{
	refuse(true, false, 0x0206, "the peer does not take immediate data, it seems");
	refuse(true, false, 0x2006, "the peer does not take immediate data, it seems"); /* siw */
	refuse(true, true, 0x0206, "the peer does not take immediate data");
	refuse(true, false, 0x0205, NULL);
	refuse(false, false, 0x0206, NULL);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(gconstpointer);
	} both[] = {{"sizes", test_sizes}, {"stream", test_stream}, {"waits", test_waits}};
	static const char *const cuts[] = {"whole", "octets", "random"};

	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(both); i++)
		for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
			g_autofree char *path = g_strdup_printf("/iwarp/immediate/%s/%s",
								both[i].name, kinds[k].name);

			g_test_add_data_func(path, &kinds[k], both[i].run);
		}
	for (guint i = 0; i < G_N_ELEMENTS(cuts); i++) {
		g_autofree char *lengths = g_strdup_printf("/iwarp/immediate/lengths/%s", cuts[i]);
		g_autofree char *crc = g_strdup_printf("/iwarp/immediate/bad-crc/%s", cuts[i]);
		g_autofree char *vector = g_strdup_printf("/iwarp/immediate/vectors/%s", cuts[i]);
		g_autofree char *gives = g_strdup_printf("/iwarp/immediate/gives-up/%s", cuts[i]);

		g_test_add_data_func(lengths, GUINT_TO_POINTER(i), test_lengths);
		g_test_add_data_func(crc, GUINT_TO_POINTER(i), test_bad_crc);
		g_test_add_data_func(vector, GUINT_TO_POINTER(i), test_vectors);
		g_autofree char *resumes = g_strdup_printf("/iwarp/immediate/resumes/%s", cuts[i]);

		g_test_add_data_func(gives, GUINT_TO_POINTER(i), test_gives_up);
		g_test_add_data_func(resumes, GUINT_TO_POINTER(i), test_resumes);
	}
	g_test_add_data_func("/iwarp/immediate/bad-key/here", "here", test_bad_keys);
	g_test_add_data_func("/iwarp/immediate/bad-key/there", NULL, test_bad_keys);
	g_test_add_func("/iwarp/immediate/wire", test_wire);
	g_test_add_data_func("/iwarp/immediate/nothing-between/small", NULL, test_nothing_between);
	g_test_add_data_func("/iwarp/immediate/nothing-between/segments", "segments",
			     test_nothing_between);
	g_test_add_func("/iwarp/immediate/closing", test_closing);
	g_test_add_func("/iwarp/immediate/malformed", test_malformed);
	g_test_add_func("/iwarp/immediate/unknown-there", test_unknown_there);
	return g_test_run();
}
