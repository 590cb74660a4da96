/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The responder, fed with messages that are cut into pieces in any way: it must place, complete and
 * refuse the same as for the whole message. The test acts as the peer and as the provider.
 */
#include <glib.h>
#include <string.h>

#include "vsw_respond.h"
#include "vsw_test_host.h"
#include "vsw_user.h"

#define ROOM   4096
#define DEPTH  8
#define RIGHTS (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)
#define ALL    (RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE | RIGHTS)

static int pd;

/* A queue pair that only responds; `data` is its memory, `sent` that of its peer. Both have keys. */
struct side {
	struct vsw_responder in; /* first */
	struct vth *vth;
	struct vsw_mem_entry *mr, *sent_mr;
	uint32_t stag, sent_stag;
	uint8_t data[ROOM];
	uint8_t sent[ROOM];
	struct vsw_wq sq;
	struct vsw_cq cq;
	struct vsw_doorbell bell;
	struct vsw_cq_upcall upcall;
	struct ri_urnic *rnic;
	struct ri_ucq *ucq;
	struct ri_uqp *uqp;
	guint overflows, failures, lines;
};

static void
on_overflow(struct vsw_responder *in)
{
	((struct side *)(void *)in)->overflows++;
}

static void
on_failed(struct vsw_responder *in)
{
	((struct side *)(void *)in)->failures++;
}

static void
on_limits(struct vsw_responder *in)
{
	(void)in;
}

static void
on_say(struct vsw_responder *in, const char *text)
{
	g_test_message("%s", text);
	((struct side *)(void *)in)->lines++;
}

static const struct vsw_responder_ops ops = {
	.overflow = on_overflow, .limits = on_limits, .failed = on_failed, .say = on_say};

static void
on_bell(void *engine)
{
	(void)engine;
}

static uint32_t
on_poll(void *engine)
{
	(void)engine;
	return 0;
}

static void
on_event(void *self, uint64_t ctx)
{
	(void)self;
	(void)ctx;
}

static struct vsw_mem_entry *
reg(struct side *s, uint8_t *memory, uint32_t *stag)
{
	const struct ri_mr_init init = {
		.addr = (uint64_t)(uintptr_t)memory, .length = ROOM, .access = ALL, .key = 0x5a};
	struct vsw_mem_entry *mr = NULL;

	g_assert_cmpint(vsw_mr_reg(s->in.mem, &pd, 1, &init, &mr, stag), ==, RI_SUCCESS);
	return mr;
}

static void
side_open(struct side *s, bool unreliable)
{
	struct ri_qp_init init = {.max_send_sge = 1, .max_recv_sge = 4};
	uint32_t sq = 1, rq = DEPTH, entries = 2 * DEPTH;
	struct ri_map map;

	memset(s, 0, sizeof(*s));
	s->vth = vth_new(false);
	g_assert_cmpint(vsw_mem_table_create(vth_host(s->vth), 64, RI_KEY_CONSUMER, &s->in.mem), ==,
			RI_SUCCESS);
	s->upcall = (struct vsw_cq_upcall){.cq_event = on_event, .self = s};
	s->bell = (struct vsw_doorbell){.engine = s, .sq = on_bell, .rq = on_bell, .poll = on_poll};
	g_assert_cmpint(vsw_cq_create(&s->cq, 1, &entries, &s->upcall), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_wq_create(&s->sq, &sq, 1, 0), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_rq_create(&s->in.rq, &rq, 4), ==, RI_SUCCESS);
	vsw_map_rnic(&map, &s->bell);
	g_assert_cmpint(vsw_user_ops.rnic_open(NULL, &map, &s->rnic), ==, RI_SUCCESS);
	vsw_map_cq(&map, &s->cq);
	g_assert_cmpint(vsw_user_ops.cq_open(s->rnic, &map, &s->ucq), ==, RI_SUCCESS);
	vsw_map_qp(&map, &s->sq, &s->in.rq, s, &init);
	g_assert_cmpint(vsw_user_ops.qp_open(s->rnic, &map, s->ucq, s->ucq, NULL, &s->uqp), ==,
			RI_SUCCESS);
	s->in.ops = &ops;
	s->in.who = s->in.receiver = (struct vsw_mem_who){.pd = &pd, .qpn = 7};
	s->in.ctx = 4711;
	s->in.cq = &s->cq;
	s->in.unreliable = unreliable;
	s->in.wqe = g_malloc0(sizeof(struct vsw_wqe) + 16 * sizeof(struct ri_sge));
	atomic_store(&s->in.access, RIGHTS);
	atomic_store(&s->in.ird, 4);
	g_assert_true(vsw_role_take(&s->in.role));
	s->mr = reg(s, s->data, &s->stag);
	s->sent_mr = reg(s, s->sent, &s->sent_stag);
	for (guint i = 0; i < ROOM; i++)
		s->sent[i] = (uint8_t)g_test_rand_int();
}

static void
side_close(struct side *s)
{
	g_assert_cmpuint(s->overflows, ==, 0);
	g_assert_cmpint(vsw_mr_dereg(s->sent_mr), ==, RI_SUCCESS);
	if (s->mr != NULL)
		g_assert_cmpint(vsw_mr_dereg(s->mr), ==, RI_SUCCESS);
	vsw_user_ops.qp_close(s->uqp);
	vsw_user_ops.cq_close(s->ucq);
	vsw_user_ops.rnic_close(s->rnic);
	vsw_wq_destroy(&s->sq);
	vsw_wq_destroy(&s->in.rq);
	vsw_cq_destroy(&s->cq);
	vsw_mem_table_destroy(s->in.mem);
	g_free(s->in.wqe);
	vth_free(&s->vth);
}

/* Post a receive for `length` octets from the beginning of `data`, in `parts` segments with a gap of one octet between two. */
static void
post(struct side *s, uint64_t id, uint32_t length, uint32_t parts)
{
	struct ri_sge sge[4];
	uint32_t each = length / parts;

	for (uint32_t i = 0; i < parts; i++)
		sge[i] = (struct ri_sge){.addr = (uint64_t)(uintptr_t)(s->data + i * (each + 1)),
					 .length =
						 i + 1 < parts ? each : length - each * (parts - 1),
					 .stag = s->stag};

	const struct ri_recv_wr wr = {.wr_id = id, .sgl = sge, .num_sge = parts};

	g_assert_cmpint(vsw_post_rq(s->uqp, &wr), ==, RI_SUCCESS);
}

/* Octet `i` of what such a receive got. */
static uint8_t
received(const struct side *s, uint32_t length, uint32_t parts, uint32_t i)
{
	uint32_t each = length / parts;
	uint32_t part = each == 0 ? parts - 1 : MIN(i / each, parts - 1);

	return s->data[part * (each + 1) + (i - part * each)];
}

static bool
poll_one(struct side *s, struct ri_wc *wc)
{
	return vsw_poll_cq(s->ucq, wc, 1) == 1;
}

typedef const struct vsw_refusal *(*respond_fn)(struct vsw_responder *in,
						const struct vsw_message *message,
						const struct vsw_piece *piece);

static const struct vsw_refusal *
send_piece(struct vsw_responder *in, const struct vsw_message *message,
	   const struct vsw_piece *piece)
{
	return vsw_respond_send(in, message, piece);
}

static const struct vsw_refusal *
write_piece(struct vsw_responder *in, const struct vsw_message *message,
	    const struct vsw_piece *piece)
{
	return vsw_respond_write(in, message, piece);
}

/* Octets [at, at + length) of the peer's memory, as they come from a wire. */
static const struct vsw_refusal *
feed(struct side *s, respond_fn respond, const struct vsw_message *message, uint32_t at,
     uint32_t length)
{
	struct vsw_spans octets = {.count = length != 0, .len = {length}};

	octets.use[0] = (struct vsw_mem_use){.ptr = s->sent + at};

	const struct vsw_piece piece = {.octets = &octets,
					.at = at,
					.length = length,
					.last = at + length == message->length};
	const struct vsw_refusal *refusal = respond(&s->in, message, &piece);

	vsw_spans_end(&octets);
	return refusal;
}

/* All of a message in pieces of random lengths, some of them empty, until one is refused. */
static const struct vsw_refusal *
feed_all(struct side *s, respond_fn respond, const struct vsw_message *message)
{
	const struct vsw_refusal *refusal;
	uint32_t at = 0;

	do {
		uint32_t most = message->length - at;
		uint32_t length = (uint32_t)g_test_rand_int_range(0, (gint32)most + 1);

		if (length == 0 && message->length != 0)
			length = 1; /* a wire has empty pieces of empty messages only */
		refusal = feed(s, respond, message, at, length);
		at += length;
	} while (refusal == NULL && at < message->length);
	return refusal;
}

/* --- Sends -------------------------------------------------------------------------------- */

static void
test_send(void)
{
	struct side s RI_AT_END(side_close);
	struct ri_wc wc;

	side_open(&s, false);
	for (uint64_t round = 0; round < 500; round++) {
		uint32_t room = (uint32_t)g_test_rand_int_range(4, 2000);
		uint32_t parts = (uint32_t)g_test_rand_int_range(1, 5);
		const struct vsw_message message = {
			.length = (uint32_t)g_test_rand_int_range(0, (gint32)room + 1)};

		memset(s.data, 0xee, sizeof(s.data));
		post(&s, round, room, parts);
		g_assert_null(feed_all(&s, send_piece, &message));
		g_assert_true(poll_one(&s, &wc));
		g_assert_cmpuint(wc.wr_id, ==, round);
		g_assert_cmpuint(wc.qp_ctx, ==, 4711);
		g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
		g_assert_cmpuint(wc.opcode, ==, RI_OP_RECV);
		g_assert_cmpuint(wc.byte_len, ==, message.length);
		g_assert_false(poll_one(&s, &wc));
		for (uint32_t i = 0; i < room; i++)
			g_assert_cmpuint(received(&s, room, parts, i), ==,
					 i < message.length ? s.sent[i] : 0xee);
	}
}

/* Nothing is completed before the last piece, and no second receive is taken. */
static void
test_send_last(void)
{
	struct side s RI_AT_END(side_close);
	const struct vsw_message message = {.length = 300, .flags = RI_WR_SOLICITED};
	struct ri_wc wc;

	side_open(&s, false);
	post(&s, 1, 300, 1);
	post(&s, 2, 300, 1);
	g_assert_null(feed(&s, send_piece, &message, 0, 100));
	g_assert_true(atomic_load(&s.in.have));
	g_assert_null(feed(&s, send_piece, &message, 100, 150));
	g_assert_false(poll_one(&s, &wc));
	g_assert_null(feed(&s, send_piece, &message, 250, 50));
	g_assert_false(atomic_load(&s.in.have));
	g_assert_true(poll_one(&s, &wc));
	g_assert_cmpuint(wc.wr_id, ==, 1);
	g_assert_null(feed(&s, send_piece, &message, 0, 300));
	g_assert_true(poll_one(&s, &wc));
	g_assert_cmpuint(wc.wr_id, ==, 2);
}

/* A later piece does not fit: the receive fails, and the next message gets the next one. */
static void
test_send_short(void)
{
	struct side s RI_AT_END(side_close);
	const struct vsw_message message = {.length = 300};
	const struct vsw_message small = {.length = 10};
	struct ri_wc wc;

	side_open(&s, false);
	post(&s, 1, 200, 2);
	post(&s, 2, 200, 2);
	g_assert_null(feed(&s, send_piece, &message, 0, 200));

	const struct vsw_refusal *refusal = feed(&s, send_piece, &message, 200, 100);

	g_assert_nonnull(refusal);
	g_assert_cmpint(refusal->status, ==, RI_WC_REMOTE_INVALID_REQ);
	g_assert_true(poll_one(&s, &wc));
	g_assert_cmpuint(wc.wr_id, ==, 1);
	g_assert_cmpuint(wc.status, ==, RI_WC_LOCAL_LENGTH);
	g_assert_null(feed(&s, send_piece, &small, 0, 10));
	g_assert_true(poll_one(&s, &wc));
	g_assert_cmpuint(wc.wr_id, ==, 2);
}

/* Without a receive the piece may come again; the thread that posts one must notify the sender. */
static void
test_send_waits(void)
{
	struct side s RI_AT_END(side_close);
	const struct vsw_message message = {.length = 64};
	struct ri_wc wc;

	side_open(&s, false);
	g_assert_true(feed(&s, send_piece, &message, 0, 64) == &vsw_no_receive);
	g_assert_cmpuint(atomic_exchange(&s.in.awaited, 0), ==, 1);
	g_assert_true(feed(&s, send_piece, &message, 0, 32) == &vsw_no_receive);
	g_assert_cmpuint(atomic_load(&s.in.awaited), ==, 1);
	post(&s, 5, 64, 1);
	g_assert_null(feed(&s, send_piece, &message, 0, 32));
	g_assert_null(feed(&s, send_piece, &message, 32, 32));
	g_assert_true(poll_one(&s, &wc));
	g_assert_cmpuint(wc.wr_id, ==, 5);
	g_assert_cmpmem(s.data, 64, s.sent, 64);
}

/* A region of the receive that is gone between two pieces. */
static void
test_send_revoked(void)
{
	struct side s RI_AT_END(side_close);
	const struct vsw_message message = {.length = 100};
	struct ri_wc wc;

	side_open(&s, false);
	post(&s, 1, 100, 1);
	g_assert_null(feed(&s, send_piece, &message, 0, 40));
	g_assert_cmpint(vsw_mr_dereg(s.mr), ==, RI_SUCCESS);
	s.mr = NULL;
	memset(s.data, 0xee, sizeof(s.data));

	const struct vsw_refusal *refusal = feed(&s, send_piece, &message, 40, 60);

	g_assert_nonnull(refusal);
	g_assert_true(refusal->why == vsw_why_sink);
	g_assert_cmpuint(s.data[40], ==, 0xee);
	g_assert_true(poll_one(&s, &wc));
	g_assert_cmpuint(wc.status, ==, RI_WC_LOCAL_PROTECTION);
}

/* The octets of a Send lie in the region whose key it invalidates: the use of them ends before the wait for all uses. */
static void
test_send_invalidates(void)
{
	struct side s RI_AT_END(side_close);
	struct vsw_message message = {.length = 64, .flags = RI_WR_INVALIDATE};
	union {
		struct vsw_wqe wqe;
		uint8_t room[sizeof(struct vsw_wqe) + sizeof(struct ri_sge)];
	} request = {.wqe = {.num_sge = 1, .length = 64}};
	struct vsw_spans octets;
	struct ri_wc wc;

	side_open(&s, false);
	message.extra = s.stag;
	request.wqe.sge[0] =
		(struct ri_sge){.addr = (uint64_t)(uintptr_t)s.data, .length = 64, .stag = s.stag};
	g_assert_cmpint(vsw_spans_begin(s.in.mem, &s.in.who, &request.wqe, 64, RI_ACCESS_LOCAL_READ,
					&octets),
			==, VSW_MEM_OK);
	struct ri_sge sge = {
		.addr = (uint64_t)(uintptr_t)s.sent, .length = 64, .stag = s.sent_stag};
	const struct ri_recv_wr wr = {.wr_id = 3, .sgl = &sge, .num_sge = 1};
	g_assert_cmpint(vsw_post_rq(s.uqp, &wr), ==, RI_SUCCESS);

	const struct vsw_piece piece = {.octets = &octets, .length = 64, .last = true};

	g_assert_null(vsw_respond_send(&s.in, &message, &piece));
	vsw_spans_end(&octets);
	g_assert_true(poll_one(&s, &wc));
	g_assert_cmpuint(wc.flags & RI_WC_INVALIDATED, !=, 0);
	g_assert_cmpuint(wc.inv_stag, ==, s.stag);
	g_assert_cmpint(vsw_spans_begin(s.in.mem, &s.in.who, &request.wqe, 64, RI_ACCESS_LOCAL_READ,
					&octets),
			!=, VSW_MEM_OK);
	message.extra = 0xabcdef00; /* nobody's key */
	g_assert_cmpint(vsw_post_rq(s.uqp, &wr), ==, RI_SUCCESS);
	g_assert_nonnull(feed(&s, send_piece, &message, 0, 64));
	g_assert_true(poll_one(&s, &wc));
	g_assert_cmpuint(wc.status, ==, RI_WC_LOCAL_INVALIDATE);
	g_assert_cmpuint(s.lines, ==, 1);
}

/* --- unreliable Sends --------------------------------------------------------------------- */

/* A receive that is too short stays for the next message, as does that of a message whose end is lost. */
static void
test_unreliable(void)
{
	struct side s RI_AT_END(side_close);
	const struct vsw_message large = {.length = 100};
	const struct vsw_message small = {.length = 20};
	struct ri_wc wc;

	side_open(&s, true);
	g_assert_true(feed(&s, send_piece, &small, 0, 20) == &vsw_no_receive);
	post(&s, 1, 50, 1);
	g_assert_true(feed(&s, send_piece, &large, 0, 100) == &vsw_no_receive);
	g_assert_true(atomic_load(&s.in.have));
	g_assert_true(feed(&s, send_piece, &large, 0, 50) == &vsw_no_receive); /* as a whole */
	g_assert_null(feed(&s, send_piece, &small, 0, 10));
	g_assert_false(poll_one(&s, &wc));
	g_assert_null(feed(&s, send_piece, &small, 0, 20));
	g_assert_true(poll_one(&s, &wc));
	g_assert_cmpuint(wc.wr_id, ==, 1);
	g_assert_cmpuint(wc.byte_len, ==, 20);
	g_assert_cmpuint(s.failures, ==, 0);
	g_assert_false(atomic_load(&s.in.have));
}

/* Its own memory is wrong: that ends the responder, whose receive fails. */
static void
test_unreliable_fails(void)
{
	struct side s RI_AT_END(side_close);
	const struct vsw_message small = {.length = 20};
	struct ri_wc wc;

	side_open(&s, true);
	post(&s, 1, 50, 1);
	g_assert_cmpint(vsw_mr_dereg(s.mr), ==, RI_SUCCESS);
	s.mr = NULL;
	g_assert_nonnull(feed(&s, send_piece, &small, 0, 20));
	g_assert_cmpuint(s.failures, ==, 1);
	g_assert_true(poll_one(&s, &wc));
	g_assert_cmpuint(wc.status, ==, RI_WC_LOCAL_PROTECTION);
}

/* --- one-sided ---------------------------------------------------------------------------- */

static void
test_write(void)
{
	struct side s RI_AT_END(side_close);

	side_open(&s, false);
	for (guint round = 0; round < 500; round++) {
		uint32_t at = (uint32_t)g_test_rand_int_range(0, 1000);
		const struct ri_wr_remote remote = {.addr = (uint64_t)(uintptr_t)s.data + at,
						    .stag = s.stag};
		const struct vsw_message message = {
			.length = (uint32_t)g_test_rand_int_range(0, 3000), .remote = &remote};

		memset(s.data, 0xee, sizeof(s.data));
		g_assert_null(feed_all(&s, write_piece, &message));
		g_assert_cmpmem(s.data + at, message.length, s.sent, message.length);
		for (uint32_t i = 0; i < ROOM; i++)
			if (i < at || i >= at + message.length)
				g_assert_cmpuint(s.data[i], ==, 0xee);
	}
}

/* The right, the key and the bounds are looked at for each piece. */
static void
test_write_checked(void)
{
	struct side s RI_AT_END(side_close);
	struct ri_wr_remote remote;
	const struct vsw_message message = {.length = 200, .remote = &remote};

	side_open(&s, false);
	remote = (struct ri_wr_remote){.addr = (uint64_t)(uintptr_t)s.data + ROOM - 100,
				       .stag = s.stag};
	g_assert_null(feed(&s, write_piece, &message, 0, 100));
	g_assert_cmpuint(feed(&s, write_piece, &message, 100, 1)->event, ==, RI_EVENT_QP_BOUNDS);
	atomic_store(&s.in.access, RI_ACCESS_REMOTE_READ);
	g_assert_cmpuint(feed(&s, write_piece, &message, 0, 100)->event, ==,
			 RI_EVENT_QP_WRITE_DISABLED);
	g_assert_null(feed(&s, write_piece, &message, 0, 0));
	atomic_store(&s.in.access, RIGHTS);
	remote.stag = 0;
	g_assert_cmpuint(feed(&s, write_piece, &message, 0, 1)->event, ==, RI_EVENT_QP_STAG);
	remote.stag = s.stag;
	g_assert_cmpint(vsw_mr_dereg(s.mr), ==, RI_SUCCESS);
	s.mr = NULL;
	s.data[ROOM - 50] = 0xee;
	g_assert_cmpuint(feed(&s, write_piece, &message, 50, 50)->code, ==, 0x1100);
	g_assert_cmpuint(s.data[ROOM - 50], ==, 0xee);
}

static void
test_write_immediate(void)
{
	struct side s;
	struct ri_wr_remote good = {.addr = (uint64_t)(uintptr_t)s.data};
	const struct vsw_message message = {
		.length = 80, .flags = RI_WR_IMMEDIATE, .extra = 0x12345678, .remote = &good};
	struct ri_wc wc;

	side_open(&s, false);
	g_assert_cmpuint(feed(&s, vsw_respond_write_immediate, &message, 30, 50)->event, ==,
			 RI_EVENT_QP_STAG);
	good.stag = s.stag;
	memset(s.data, 0xee, sizeof(s.data));
	g_assert_null(feed(&s, write_piece, &message, 0, 30));
	g_assert_true(feed(&s, vsw_respond_write_immediate, &message, 30, 50) == &vsw_no_receive);
	g_assert_cmpuint(s.data[30], ==, 0xee);
	post(&s, 9, 1, 1);
	s.data[0] = s.sent[0]; /* the receive is not written */
	g_assert_null(feed(&s, vsw_respond_write_immediate, &message, 30, 50));
	g_assert_true(poll_one(&s, &wc));
	g_assert_cmpuint(wc.opcode, ==, RI_OP_RECV_WRITE);
	g_assert_cmpuint(wc.byte_len, ==, 80);
	g_assert_cmpuint(wc.inv_stag, ==, 0x12345678);
	g_assert_cmpuint(wc.flags & RI_WC_IMMEDIATE, !=, 0);
	g_assert_cmpmem(s.data, 80, s.sent, 80);
	side_close(&s);
}

static void
test_read(void)
{
	struct side s RI_AT_END(side_close);
	struct ri_wr_remote remote;
	const struct vsw_message message = {.length = 200, .remote = &remote};
	struct vsw_spans source;

	side_open(&s, false);
	remote = (struct ri_wr_remote){.addr = (uint64_t)(uintptr_t)s.data + ROOM - 150,
				       .stag = s.stag};
	g_assert_null(vsw_respond_read(&s.in, &message, 100, 50, &source));
	g_assert_true(source.use[0].ptr == s.data + ROOM - 50);
	vsw_spans_end(&source);
	g_assert_cmpuint(vsw_respond_read(&s.in, &message, 100, 51, &source)->event, ==,
			 RI_EVENT_QP_IRRQ_BOUNDS);
	remote.stag = 0;
	g_assert_null(vsw_respond_read(&s.in, &message, 0, 0, &source));
	atomic_store(&s.in.ird, 0);
	g_assert_true(vsw_respond_read(&s.in, &message, 0, 0, &source) == &vsw_too_many_reads);
}

static void
test_atomic(void)
{
	struct side s RI_AT_END(side_close);
	struct ri_wr_remote remote;
	const struct vsw_message message = {.length = 8, .remote = &remote};
	uint64_t *word;
	struct vsw_mem_use use;
	uint64_t old = 0;

	side_open(&s, false);
	word = (uint64_t *)(void *)(s.data + (8 - (uintptr_t)s.data % 8) % 8);
	remote = (struct ri_wr_remote){
		.addr = (uint64_t)(uintptr_t)word, .stag = s.stag, .operand = 5, .swap = 9};
	*word = 5;
	g_assert_null(vsw_respond_word(&s.in, &message, &use));
	g_assert_null(vsw_respond_atomic(&message, true, &use, &old));
	vsw_mem_end(&use);
	g_assert_cmpuint(old, ==, 5);
	g_assert_cmpuint(*word, ==, 9);
	remote.addr++;
	g_assert_cmpuint(vsw_respond_word(&s.in, &message, &use)->event, ==, RI_EVENT_QP_OPCODE);
	remote.stag = 0;
	g_assert_cmpuint(vsw_respond_word(&s.in, &message, &use)->event, ==, RI_EVENT_QP_IRRQ_STAG);
	atomic_store(&s.in.access, RI_ACCESS_REMOTE_READ);
	g_assert_cmpuint(vsw_respond_word(&s.in, &message, &use)->event, ==,
			 RI_EVENT_QP_READ_DISABLED);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/respond/send", test_send);
	g_test_add_func("/vsw/respond/send-last", test_send_last);
	g_test_add_func("/vsw/respond/send-short", test_send_short);
	g_test_add_func("/vsw/respond/send-waits", test_send_waits);
	g_test_add_func("/vsw/respond/send-revoked", test_send_revoked);
	g_test_add_func("/vsw/respond/send-invalidates", test_send_invalidates);
	g_test_add_func("/vsw/respond/unreliable", test_unreliable);
	g_test_add_func("/vsw/respond/unreliable-fails", test_unreliable_fails);
	g_test_add_func("/vsw/respond/write", test_write);
	g_test_add_func("/vsw/respond/write-checked", test_write_checked);
	g_test_add_func("/vsw/respond/write-immediate", test_write_immediate);
	g_test_add_func("/vsw/respond/read", test_read);
	g_test_add_func("/vsw/respond/atomic", test_atomic);
	return g_test_run();
}
