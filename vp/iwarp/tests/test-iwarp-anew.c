/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A queue pair that was used before gets a stream again: it must equal one whose memory was never
 * used.
 *
 * Any value of any member may be left of the earlier stream. So after its end the test overwrites
 * all octets of the queue pair, except members in the table below, which gives the reasons. Then
 * the queue pair gets a stream, and is compared, octet by octet, with a new one that got the same.
 * A member that is added later is overwritten and compared, too. The test is the service thread,
 * and time is virtual.
 */
#include "viw_peer.h"

#include <string.h>
#include <sys/socket.h>

#include "viw_qp.h"
#include "vsw_octets.h"

#define LEFT_IDLE   1u /* stays over the return to IDLE */
#define LEFT_MEMORY 2u /* stays in the memory of a queue pair that was destroyed */
#define LEFT        (LEFT_IDLE | LEFT_MEMORY)
#define OWN \
	4u /* is another one in each queue pair, or means nothing before it is set: not compared */
#define MEMBERS 8u /* of an SRQ: only those that share one have it */

#define MEMBER(name, how) VSW_MEMBER(viw_qp, name, how)

static const struct vsw_member members[] = {
	/* Whose it is. */
	MEMBER(node, LEFT_IDLE | OWN),
	MEMBER(rnic, LEFT | OWN),
	MEMBER(context, LEFT_IDLE | OWN),
	MEMBER(pd, LEFT_IDLE | OWN),
	MEMBER(send_cq, LEFT_IDLE | OWN),
	MEMBER(recv_cq, LEFT_IDLE | OWN),
	MEMBER(srq, LEFT_IDLE | OWN),
	MEMBER(who.pd, LEFT_IDLE | OWN),
	MEMBER(who.qpn, LEFT_IDLE | OWN),
	MEMBER(who.privileged, LEFT), /* nothing sets it */
	MEMBER(receiver.pd, LEFT_IDLE | OWN),
	MEMBER(receiver.qpn, LEFT_IDLE | OWN),
	MEMBER(receiver.privileged, LEFT_IDLE),
	MEMBER(init.ctx, LEFT_IDLE | OWN),
	MEMBER(init, LEFT_IDLE),
	MEMBER(state, LEFT_IDLE),
	MEMBER(lock, LEFT | OWN),
	MEMBER(count, LEFT_IDLE | OWN),
	MEMBER(unread, LEFT | OWN),
	MEMBER(task, LEFT_IDLE | OWN),
	MEMBER(timer, LEFT_IDLE | OWN),
	MEMBER(next_free, LEFT | OWN),
	MEMBER(next_numbered, LEFT | OWN),
	MEMBER(tap.what, OWN),
	/* The engine's lists; a queue pair may be held back when it is destroyed. */
	MEMBER(engine.next, LEFT | OWN),
	MEMBER(engine.at, LEFT | OWN),
	MEMBER(engine.next_held_back, LEFT | OWN),
	MEMBER(tx.held_back, LEFT | OWN),
	MEMBER(tx.holder, LEFT | OWN),
	MEMBER(tx.posts_apart, LEFT | OWN),
	MEMBER(tx.unattended, LEFT | OWN),
	/* A stream. */
	MEMBER(stream.attached, LEFT), /* the end of a stream clears it */
	MEMBER(stream.fd, OWN),
	MEMBER(stream.deadline, OWN),
	MEMBER(stream.wake_timer, LEFT_IDLE | OWN),
	MEMBER(stream.peer, OWN),
	/* The sending role. What it is taken from is the queue's, and the end of a stream has flushed that. */
	MEMBER(tx.role, LEFT | OWN),
	MEMBER(tx.sq, LEFT_IDLE | OWN),
	MEMBER(tx.starved, LEFT_IDLE),
	MEMBER(tx.error, OWN),
	MEMBER(tx.buf, LEFT | OWN),
	MEMBER(tx.at, LEFT),
	MEMBER(tx.len, LEFT),
	MEMBER(tx.have_request, LEFT_IDLE),
	MEMBER(tx.checked, LEFT_IDLE),
	MEMBER(tx.direct, OWN), /* as the next six: of a request */
	MEMBER(tx.index, OWN),
	MEMBER(tx.total, OWN),
	MEMBER(tx.done, OWN),
	MEMBER(tx.sge, OWN),
	MEMBER(tx.sge_done, OWN),
	MEMBER(tx.sent, LEFT | OWN),
	MEMBER(tx.sent_mask, LEFT_IDLE),
	MEMBER(tx.sent_head, LEFT_IDLE | OWN),
	MEMBER(tx.sent_tail, LEFT_IDLE | OWN),
	MEMBER(tx.wqe, LEFT | OWN),
	/* The receiving role. */
	MEMBER(rx.role, LEFT | OWN),
	MEMBER(rx.rq, LEFT_IDLE | OWN),
	MEMBER(rx.member.srq, LEFT | OWN),
	MEMBER(rx.member.own, LEFT_IDLE | OWN),
	MEMBER(rx.member.next, LEFT_IDLE | OWN),
	MEMBER(rx.member.prev, LEFT_IDLE | OWN),
	MEMBER(rx.member, LEFT_IDLE | MEMBERS),
	MEMBER(rx.limits_new, LEFT_IDLE),
	MEMBER(rx.spare, LEFT | OWN),
	MEMBER(rx.keep, LEFT | OWN),
	MEMBER(rx.keep_at, OWN), /* of what is kept */
	MEMBER(rx.keep_len, LEFT),
	MEMBER(rx.served, LEFT),
	MEMBER(rx.have_receive, LEFT_IDLE),
	MEMBER(rx.tail_len, OWN), /* as the next six: of a frame */
	MEMBER(rx.frame_ulpdu, OWN),
	MEMBER(rx.placed, OWN),
	MEMBER(rx.crc, OWN),
	MEMBER(rx.seg, OWN),
	MEMBER(rx.control_len, OWN),
	MEMBER(rx.head, OWN),
	MEMBER(rx.tail, OWN),
	MEMBER(rx.target.stag, OWN), /* of a target that is open */
	MEMBER(rx.target.at, OWN),
	MEMBER(rx.target.len, OWN),
	MEMBER(rx.wq, OWN), /* as the next four: of a receive */
	MEMBER(rx.index, OWN),
	MEMBER(rx.inv_stag, OWN),
	MEMBER(rx.refused, OWN),
	MEMBER(rx.capacity, OWN),
	MEMBER(rx.wqe, LEFT | OWN),
	/* The rings of Reads; that of the same depths is as large. */
	MEMBER(reads.irrq, LEFT | OWN),
	MEMBER(reads.irrq_room, LEFT_IDLE),
	MEMBER(reads.orrq, LEFT | OWN),
	MEMBER(reads.orrq_room, LEFT_IDLE),
};

static const struct {
	const char *name;
	size_t at, size;
} parts[] = {
	{"viw_end", offsetof(struct viw_qp, end), sizeof(struct viw_end)},
	{"viw_engine_member", offsetof(struct viw_qp, engine), sizeof(struct viw_engine_member)},
	{"viw_stream", offsetof(struct viw_qp, stream), sizeof(struct viw_stream)},
	{"viw_tx", offsetof(struct viw_qp, tx), sizeof(struct viw_tx)},
	{"viw_rx", offsetof(struct viw_qp, rx), sizeof(struct viw_rx)},
	{"viw_reads", offsetof(struct viw_qp, reads), sizeof(struct viw_reads)},
	{"viw_qp", 0, sizeof(struct viw_qp)},
};

/* A life that is compared. */
struct life {
	const char *name;
	struct ri_stream stream;
	bool shared; /* its receives are those of an SRQ */
	bool early;  /* a Send came with the start-up */
	bool bare; /* no receive is posted, which a queue pair without traffic does not wait for */
};

static const struct vsw_members table = {"viw_qp", sizeof(struct viw_qp), members,
					 G_N_ELEMENTS(members)};

static void
overwrite(struct viw_qp *qp, unsigned left, uint8_t with)
{
	vsw_octets_fill(&table, qp, left, with);
	qp->rx.keep_at =
		with; /* an offset: with a large one the test would die instead of failing */
}

static void
expect_same(const struct life *life, const struct viw_qp *fresh, const struct viw_qp *used)
{
	const uint8_t *a = (const uint8_t *)fresh, *b = (const uint8_t *)used;
	unsigned other = OWN | (life->shared ? 0 : MEMBERS);
	g_autoptr(GString) text = g_string_new(NULL);

	for (size_t i = 0; i < sizeof(*fresh); i++) {
		size_t part = 0;

		if (!vsw_octet_differs(&table, fresh, used, other, i))
			continue;
		while (i < parts[part].at || i >= parts[part].at + parts[part].size)
			part++;
		g_string_append_printf(text, "octet %zu of struct %s is %02x and not %02x; ",
				       i - parts[part].at, parts[part].name, b[i], a[i]);
	}
	if (text->len > 0)
		g_test_message("%s: for the names of members: gdb, ptype /o", life->name);
	g_assert_cmpstr(text->str, ==, "");
}

static void
begin(struct peer *f)
{
	f->end = end_new(f->node, NULL);
	f->fd = -1;
}

/* Receives and the stream; a copy of the queue pair as it is then. */
static void
live(struct peer *f, const struct life *life, struct viw_qp *copy)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, 1, 0, true);
	struct ri_stream stream = life->stream;
	uint8_t early[64];

	for (unsigned i = 0; i < PEER_RECVS && !life->bare; i++) {
		if (life->shared)
			node_post(f->node, i, &f->mem, 64 * i, 64);
		else
			g_assert_cmpint(end_recv(f->end, i, &f->mem, 64 * i, 64), ==, RI_SUCCESS);
	}
	if (life->early) {
		seg.payload = (const uint8_t *)"12345678";
		seg.payload_len = 8;
		stream.early = early;
		stream.early_len = (uint32_t)rdmap_fpdu_put(early, &seg, stream.crc);
	}
	peer_attach(f, &stream, 0);
	if (life->early) {
		(void)end_wait_ok(f->end, true, 0, NULL);
		g_assert_cmpmem(f->mem.at, 8, "12345678", 8);
	}
	vth_run(f->node->vth);
	*copy = *peer_qp(f);
	VSW_CLEAR_PADDING(copy);
}

static bool
is_over(struct viw_qp *qp)
{
	return viw_qp_state(qp) == RI_QPS_ERROR && !atomic_load(&qp->stream.attached);
}

/* What no reset of a member may have to mend: the end of a stream has dropped it. */
static void
expect_dropped(const struct viw_qp *qp)
{
	g_assert_null(qp->tx.buf);
	g_assert_cmpuint(qp->tx.at, ==, 0);
	g_assert_cmpuint(qp->tx.len, ==, 0);
	g_assert_null(qp->rx.keep);
	g_assert_cmpuint(qp->rx.keep_len, ==, 0);
	g_assert_null(qp->rx.spare);
	g_assert_cmpint(qp->stream.fd, ==, -1);
	g_assert_cmpuint(qp->tx.sent_head, ==, qp->tx.sent_tail);
	g_assert_false(qp->tx.have_request || qp->rx.have_receive);
}

/* An earlier stream, of other depths, that ends while the socket is full. */
static void
live_before(struct peer *f)
{
	struct ri_stream stream = end_stream(-1, true);
	struct ri_wc wc;

	stream.crc = false;
	stream.ird = stream.ord = 2;
	peer_attach(f, &stream, 0);
	for (unsigned i = 0; i < f->node->requests; i++)
		g_assert_cmpint(end_write(f->end, i, &f->mem, &f->mem, f->mem.len), ==, RI_SUCCESS);
	g_assert_cmpint(end_state(f->end), ==, RI_QPS_RTS);
	g_assert_cmpuint(peer_qp(f)->tx.at, <, peer_qp(f)->tx.len);
	peer_hang_up(f);
	peer_drive(f, is_over);
	while (end_poll(f->end, false, &wc) || end_poll(f->end, true, &wc))
		;
	vth_run(f->node->vth);
	expect_dropped(peer_qp(f));
}

/* The attributes that a query returns, except those of the last stream's Terminate. */
static struct ri_qp_attr
attributes(struct peer *f)
{
	struct ri_qp_attr attr = end_attr(f->end);

	attr.terminate_sent = false;
	attr.terminate_len = 0;
	memset(attr.terminate, 0, sizeof(attr.terminate));
	return attr;
}

static void
expect_same_attributes(const struct ri_qp_attr *a, const struct ri_qp_attr *b)
{
	g_assert_cmpuint(a->state, ==, b->state);
	g_assert_cmpuint(a->ird, ==, b->ird);
	g_assert_cmpuint(a->ord, ==, b->ord);
	g_assert_cmpmem(a, sizeof(*a), b, sizeof(*b));
}

/* The stream in a queue pair that was used, and left `left` of it. */
static void
run_used(const struct life *life, unsigned left, uint8_t with, const struct viw_qp *fresh)
{
	struct peer f = {.node = node_new_by_hand()};
	struct viw_qp used, *memory;
	struct ri_qp_attr attr;

	if (life->shared)
		node_share(f.node, 64);
	f.mem = chunk_new(f.node, 1 << 17, ALL_RW);
	begin(&f);
	memory = peer_qp(&f);
	attr = attributes(&f);
	live_before(&f);
	if (left == LEFT_MEMORY) {
		end_free(&f.end);
		g_assert_null(memory->rx.member.srq); /* which the next one may not have */
		overwrite(memory, left, with);
		begin(&f);
		g_assert_true(peer_qp(&f) == memory);
		/* Even before it has a stream, its attributes show nothing of the one before. */
		struct ri_qp_attr new = end_attr(f.end);

		g_assert_cmpuint(new.terminate_len, ==, 0);
		new.qpn = attr.qpn; /* another number */
		expect_same_attributes(&new, &attr);
	} else {
		while (end_modify(f.end, RI_QPS_IDLE) == RI_ERR_STILL_FLUSHING)
			vth_run(f.node->vth);
		struct ri_qp_attr again = attributes(&f);

		expect_same_attributes(&again, &attr);
		overwrite(memory, left, with);
	}
	node_forget(f.node); /* the events of the earlier stream */
	live(&f, life, &used);
	expect_same(life, fresh, &used);
	peer_hang_up(&f);
	end_free(&f.end);
	chunk_free(&f.mem);
	if (life->shared)
		node_unshare(f.node);
	node_free(&f.node);
}

static void
test_anew(gconstpointer arg)
{
	const struct life *life = arg;
	struct peer f = {.node = node_new_by_hand()};
	struct viw_qp fresh;

	if (!VSW_KNOWS_PADDING) {
		node_free(&f.node);
		g_test_skip("this compiler does not say where the padding of a struct is");
		return;
	}
	if (life->shared)
		node_share(f.node, 64);
	f.mem = chunk_new(f.node, 1 << 17, ALL_RW);
	begin(&f);
	live(&f, life, &fresh);
	peer_hang_up(&f);
	end_free(&f.end);
	chunk_free(&f.mem);
	if (life->shared)
		node_unshare(f.node);
	node_free(&f.node);
	/* Zero is what memory has that was never used; a flag that is true must not stay so either. */
	for (uint8_t with = 0; with <= 1; with++) {
		run_used(life, LEFT_IDLE, with, &fresh);
		run_used(life, LEFT_MEMORY, with, &fresh);
	}
}

static bool
is_idle(struct viw_qp *qp)
{
	return qp->tx.sent_head == qp->tx.sent_tail && vsw_wq_pending(&qp->tx.sq) == 0;
}

/* Each stream of a queue pair has the whole send queue, also if the requests that ended the one before make no completions. */
static void
test_room(void)
{
	const struct ri_stream stream = end_stream(-1, true);
	struct peer f = {.node = node_new_by_hand()};
	struct ri_wc wc;

	f.mem = chunk_new(f.node, 1 << 17, ALL_RW);
	begin(&f);
	for (unsigned life = 0; life < 3; life++) {
		peer_attach(&f, &stream, 0);
		end_fill(f.end, &f.mem, &f.mem);
		peer_drive(&f, is_idle);
		for (uint32_t i = 0; i < f.end->init.max_sq_wr; i++) {
			g_assert_true(end_poll(f.end, false, &wc));
			g_assert_cmpuint(wc.wr_id, ==, i);
			g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
		}
		for (unsigned i = 0; i < 3; i++)
			end_write_quiet(f.end, &f.mem, &f.mem);
		peer_drive(&f, is_idle);
		g_assert_false(end_poll(f.end, false, &wc));
		peer_hang_up(&f);
		peer_drive(&f, is_over);
		g_assert_false(end_poll(f.end, false, &wc));
		while (end_modify(f.end, RI_QPS_IDLE) == RI_ERR_STILL_FLUSHING)
			vth_run(f.node->vth);
		node_forget(f.node);
	}
	end_free(&f.end);
	chunk_free(&f.mem);
	node_free(&f.node);
}

/* What counts against the limit of queue pairs is those that exist: none is counted after its end, and none that could not be created. */
static void
test_counted(void)
{
	struct node *node = node_new_by_hand();
	const struct viw_rnic *rnic = (const struct viw_rnic *)node->rnic;

	for (unsigned life = 0; life < 3; life++) {
		struct ri_qp_init init = end_defaults(node);
		struct end *ends[4];
		struct ri_qp *none = NULL;
		struct ri_map map;

		for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++) {
			ends[i] = end_new(node, NULL);
			g_assert_cmpuint(rnic->num_qps, ==, i + 1);
		}
		init.ird = node->attr.max_ird + 1;
		g_assert_cmpint(node->p->qp->create(node->pd, &init, ends[0]->scq, ends[0]->rcq,
						    NULL, &none, &map),
				==, RI_ERR_LIMIT);
		g_assert_cmpuint(rnic->num_qps, ==, G_N_ELEMENTS(ends));
		for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++)
			end_free(&ends[i]);
		g_assert_cmpuint(rnic->num_qps, ==, 0);
	}
	node_free(&node);
}

int
main(int argc, char **argv)
{
	struct life lives[] = {
		{.name = "responder", .stream = end_stream(-1, false)},
		{.name = "initiator", .stream = end_stream(-1, true)},
		{.name = "shared", .stream = end_stream(-1, false), .shared = true},
		{.name = "early", .stream = end_stream(-1, false), .early = true},
		{.name = "marked", .stream = end_stream(-1, false)},
		{.name = "peer-to-peer", .stream = end_stream(-1, true)},
		{.name = "awaiting",
		 .stream = end_stream(-1, false)}, /* it is up when the peer has sent */
		{.name = "bare", .stream = end_stream(-1, false), .bare = true},
	};

	g_test_init(&argc, &argv, NULL);
	lives[1].stream.wake_ms = 50;
	lives[4].stream.markers_tx = lives[4].stream.markers_rx = true;
	lives[5].stream.wake_ms = 50;
	lives[5].stream.rtr_send = RI_RTR_WRITE;
	lives[6].stream.rtr_expect = RI_RTR_WRITE;
	for (size_t i = 0; i < G_N_ELEMENTS(lives); i++) {
		g_autofree char *path = g_strdup_printf("/iwarp/anew/%s", lives[i].name);

		g_test_add_data_func(path, &lives[i], test_anew);
	}
	g_test_add_func("/iwarp/anew/room", test_room);
	g_test_add_func("/iwarp/anew/counted", test_counted);
	return g_test_run();
}
