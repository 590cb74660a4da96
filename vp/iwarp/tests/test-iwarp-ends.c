/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The beginning and the end of connections: events, flushes, Terminates, reuse, fork. Every connection ends with exactly
 * one event, after all completions.
 */

#include "viw_node.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A test, as all its functions get it. */
struct row {
	const char *name;
	void (*run)(struct ends *f, gconstpointer row);
	bool unconnected;
	uint8_t rtr;
};

static void test_rnr_expires(struct ends *f, gconstpointer unused);

static void
set_up_unconnected(struct ends *f, gconstpointer row)
{
	bool expires = ((const struct row *)row)->run == test_rnr_expires;

	/* How long messages wait for a receive, ms. */
	g_setenv("ITAPI_IWARP_RNR_MS", expires ? "300" : "60000", TRUE);
	ends_open(f);
	ends_fill(f, NULL, NULL, 1 << 20, ALL_RW);
	chunk_fill(&f->ma, 1);
}

static void
set_up(struct ends *f, gconstpointer row)
{
	set_up_unconnected(f, row);
	ends_connect(f->a, f->b, true);
}

static void
tear_down(struct ends *f, gconstpointer unused)
{
	(void)unused;
	ends_close(f);
}

/* `n` flushed completions from `first` on, then none. */
static void
expect_flushed(struct end *end, bool recv, uint64_t first, unsigned n)
{
	struct ri_wc wc;

	for (unsigned i = 0; i < n; i++) {
		wc = end_wait(end, recv, NULL);
		g_assert_cmpuint(wc.status, ==, RI_WC_FLUSHED);
		g_assert_cmpuint(wc.wr_id, ==, first + i);
	}
	g_assert_false(end_poll(end, recv, &wc));
}

static void
expect_one_end(struct end *end, enum ri_event event, struct end *other)
{
	end_wait_event(end, event, other);
	g_assert_cmpuint(node_count(end, event), ==, 1);
	g_assert_cmpuint(node_ends(end), ==, 1);
	g_assert_cmpint(end_state(end), ==, RI_QPS_ERROR);
}

/* An orderly end by one side: flushed receives, one event each, and a second connection. */
static void
test_close(struct ends *f, gconstpointer unused)
{
	struct ri_wc wc;

	(void)unused;
	for (unsigned i = 0; i < 3; i++) {
		g_assert_cmpint(end_recv(f->a, i, &f->ma, 0, 64), ==, RI_SUCCESS);
		g_assert_cmpint(end_recv(f->b, i, &f->mb, 0, 64), ==, RI_SUCCESS);
	}
	g_assert_cmpint(end_modify(f->a, RI_QPS_CLOSING), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(f->a, RI_QPS_CLOSING), ==, RI_ERR_INVALID_STATE);
	expect_one_end(f->a, RI_EVENT_QP_LLP_CLOSE_COMPLETE, f->b);
	expect_one_end(f->b, RI_EVENT_QP_LLP_CLOSE_COMPLETE, f->a);
	expect_flushed(f->a, true, 0, 3);
	expect_flushed(f->b, true, 0, 3);
	g_assert_false(end_poll(f->a, false, &wc));

	/* Posts after the end are flushed; the completion of a marked request says that the queue is empty. */
	g_assert_cmpint(end_send(f->a, 7, &f->ma, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_recv(f->a, 8, &f->ma, 0, 64), ==, RI_SUCCESS);
	expect_flushed(f->a, false, 7, 1);
	expect_flushed(f->a, true, 8, 1);

	/* And the queue pairs can be used again. */
	end_to_idle(f->a);
	end_to_idle(f->b);
	ends_connect(f->a, f->b, false);
	g_assert_cmpint(end_recv(f->b, 9, &f->mb, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(f->a, 10, &f->ma, 0, 64), ==, RI_SUCCESS);
	(void)end_wait_ok(f->b, true, 9, f->a);
	(void)end_wait_ok(f->a, false, 10, f->b);
}

/* Each kind of message that is numbered begins with 1 again on a queue pair that is used again. */
static void
test_numbers_again(struct ends *f, gconstpointer unused)
{
	struct ri_qp_init init = end_defaults(f->na);
	struct chunk words RI_AT_END(chunk_free) =
		chunk_new(f->nb, 64, ALL_RW | RI_ACCESS_REMOTE_ATOMIC);
	struct ri_sge sum = chunk_sge(&words, 0, 8), old = chunk_sge(&f->ma, 0, 8);

	(void)unused;
	init.access |= RI_ACCESS_REMOTE_ATOMIC;
	end_free(&f->a);
	end_free(&f->b);
	f->a = end_new(f->na, &init);
	f->b = end_new(f->nb, &init);
	for (unsigned life = 0; life < 3; life++) {
		ends_connect(f->a, f->b, false);
		for (unsigned i = 0; i <= life; i++) {
			g_assert_cmpint(end_recv(f->b, i, &f->mb, 0, 64), ==, RI_SUCCESS);
			g_assert_cmpint(end_send(f->a, i, &f->ma, 0, 64), ==, RI_SUCCESS);
			(void)end_wait_ok(f->a, false, i, f->b);
			(void)end_wait_ok(f->b, true, i, f->a);
			g_assert_cmpint(end_read(f->a, i, &f->ma, &f->mb, 64), ==, RI_SUCCESS);
			(void)end_wait_ok(f->a, false, i, f->b);
			post_rdma(f->a, RI_OP_FETCH_ADD, i, &old, &sum);
			(void)end_wait_ok(f->a, false, i, f->b);
		}
		g_assert_cmpint(end_modify(f->a, RI_QPS_CLOSING), ==, RI_SUCCESS);
		expect_one_end(f->a, RI_EVENT_QP_LLP_CLOSE_COMPLETE, f->b);
		expect_one_end(f->b, RI_EVENT_QP_LLP_CLOSE_COMPLETE, f->a);
		end_to_idle(f->a);
		end_to_idle(f->b);
		node_forget(f->na);
		node_forget(f->nb);
	}
}

/* Requests that were posted before the close are still sent, even if they were held back. */
static void
test_close_sends_first(struct ends *f, gconstpointer unused)
{
	(void)unused;
	for (unsigned i = 0; i < 20; i++)
		g_assert_cmpint(end_recv(f->b, i, &f->mb, i * 64, 64), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 20; i++)
		g_assert_cmpint(end_send(f->a, i, &f->ma, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(f->a, RI_QPS_CLOSING), ==, RI_SUCCESS);
	expect_one_end(f->b, RI_EVENT_QP_LLP_CLOSE_COMPLETE, f->a);
	expect_one_end(f->a, RI_EVENT_QP_LLP_CLOSE_COMPLETE, f->b);
	for (unsigned i = 0; i < 20; i++) {
		(void)end_wait_ok(f->b, true, i, f->a);
		(void)end_wait_ok(f->a, false, i, f->b);
	}
}

static bool
is_other_terminate(const struct ri_async_event *event, const void *code)
{
	return event->event == RI_EVENT_QP_TERMINATE_RECEIVED &&
	       event->detail != *(const uint16_t *)code;
}

/* The right at the peer is checked; `code` is that of the Terminate. */
static void
expect_refused(struct ends *f, uint16_t code, enum ri_event event)
{
	expect_one_end(f->b, event, f->a);
	expect_one_end(f->a, RI_EVENT_QP_TERMINATE_RECEIVED, f->b);
	g_assert_cmpuint(node_count_if(f->na, is_other_terminate, &code), ==, 0);
}

static void
test_read_stag(struct ends *f, gconstpointer unused)
{
	struct chunk bad = f->mb;
	struct ri_qp_attr attr;

	(void)unused;
	bad.stag ^= 0x01;
	g_assert_cmpint(end_read(f->a, 1, &f->ma, &bad, 8), ==, RI_SUCCESS);
	expect_refused(f, 0x0100, RI_EVENT_QP_IRRQ_STAG);
	struct ri_wc wc = end_wait(f->a, false, NULL);
	g_assert_cmpuint(wc.wr_id, ==, 1);
	g_assert_cmpuint(wc.status, ==, RI_WC_REMOTE_ACCESS);
	g_assert_cmpint(f->na->p->qp->query(f->a->qp, &attr), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.terminate_len, ==, 52);
}

/* Completions are not polled: the queue pair that overflows the queue ends, long before messages stop waiting. */
static void
test_cq_overflow(struct ends *f, gconstpointer unused)
{
	const struct ri_provider *p = f->nb->p;
	uint32_t entries = 16;
	struct ri_map map;

	(void)unused;
	g_assert_cmpint(p->cq->resize(f->b->rcq, &entries, &map), ==, RI_SUCCESS);
	g_assert_cmpint(p->user->cq_remap(f->b->urcq, &map), ==, RI_SUCCESS);
	g_assert_cmpuint(entries, ==, 16);
	for (unsigned i = 0; i < 20; i++)
		g_assert_cmpint(end_recv(f->b, i, &f->mb, 0, 64), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 17; i++)
		g_assert_cmpint(end_send(f->a, i, &f->ma, 0, 64), ==, RI_SUCCESS);
	expect_refused(f, 0x0207, RI_EVENT_QP_CQ_RQ_ERROR);
	for (unsigned i = 0; i < 16; i++)
		(void)end_wait_ok(f->b, true, i, NULL);
}

/* A Send without a receive waits, and everything behind it, until a receive is posted. */
static void
test_rnr_hold(struct ends *f, gconstpointer unused)
{
	struct ri_wc wc;

	(void)unused;
	for (unsigned i = 0; i < 30; i++)
		g_assert_cmpint(end_send(f->a, i, &f->ma, i, 500), ==, RI_SUCCESS);
	g_assert_cmpint(end_write(f->a, 30, &f->ma, &f->mb, 100000), ==, RI_SUCCESS);
	ends_run(f->a, f->b, 50);
	g_assert_false(end_poll(f->b, true, &wc));
	struct chunk r RI_AT_END(chunk_free) = chunk_new(f->nb, 30 * 500, ALL_RW);
	for (unsigned i = 0; i < 30; i++) {
		g_assert_cmpint(end_recv(f->b, i, &r, i * 500, 500), ==, RI_SUCCESS);
		(void)end_wait_ok(f->b, true, i, f->a);
		g_assert_cmpmem(r.at + i * 500, 500, f->ma.at + i, 500);
	}
	for (unsigned i = 0; i < 31; i++)
		(void)end_wait_ok(f->a, false, i, f->b);
}

static void
test_rnr_expires(struct ends *f, gconstpointer unused)
{
	(void)unused;
	g_assert_cmpint(end_send(f->a, 1, &f->ma, 0, 500), ==, RI_SUCCESS);
	expect_refused(f, 0x1202, RI_EVENT_QP_RQ_MSN_RANGE);
}

/* --- begin --------------------------------------------------------------------------------- */

/* RTR messages: the stream is up only after they were sent and received; only a Send causes a completion, at its sink. */
static void
test_rtr(struct ends *f, gconstpointer row)
{
	uint8_t type = ((const struct row *)row)->rtr;
	int fd[2];
	struct ri_wc wc;

	tcp_pair(fd);
	struct ri_stream sa = end_stream(fd[0], true), sb = end_stream(fd[1], false);
	sa.rtr_send = type;
	sb.rtr_expect = type;
	g_assert_cmpint(end_recv(f->a, 1, &f->ma, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(f->b, 2, &f->mb, 0, 64), ==, RI_SUCCESS);
	if (type == RI_RTR_SEND)
		g_assert_cmpint(end_recv(f->b, 3, &f->mb, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_attach(f->b, &sb), ==, RI_SUCCESS);
	ends_run(f->a, f->b, 20);
	g_assert_cmpuint(node_count(f->b, RI_EVENT_QP_STREAM_UP), ==, 0);
	g_assert_false(end_poll(f->b, false, &wc));
	g_assert_cmpint(end_attach(f->a, &sa), ==, RI_SUCCESS);
	end_wait_event(f->b, RI_EVENT_QP_STREAM_UP, f->a);
	(void)end_wait_ok(f->b, false, 2, f->a);
	(void)end_wait_ok(f->a, true, 1, f->b);
	g_assert_cmpuint(node_count(f->a, RI_EVENT_QP_STREAM_UP), ==, 1);
	if (type == RI_RTR_SEND) { /* the next Send has the next MSN */
		g_assert_cmpuint(end_wait_ok(f->b, true, 3, f->a).byte_len, ==, 0);
		g_assert_cmpint(end_recv(f->b, 4, &f->mb, 0, 64), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(f->a, 5, &f->ma, 0, 64), ==, RI_SUCCESS);
		(void)end_wait_ok(f->b, true, 4, f->a);
		(void)end_wait_ok(f->a, false, 5, f->b);
	}
	for (unsigned i = 0; i < 8; i++) { /* the RTR message takes no slot */
		g_assert_cmpint(end_read(f->a, i, &f->ma, &f->mb, 64), ==, RI_SUCCESS);
		(void)end_wait_ok(f->a, false, i, f->b);
	}
	g_assert_false(end_poll(f->a, false, &wc));
	g_assert_false(end_poll(f->b, true, &wc));
}

/* The responder of plain MPA sends nothing before the initiator has. */
static void
test_hold_sq(struct ends *f, gconstpointer unused)
{
	int fd[2];
	struct ri_wc wc;

	(void)unused;
	tcp_pair(fd);
	struct ri_stream sa = end_stream(fd[0], true), sb = end_stream(fd[1], false);
	sb.await_fpdu = true;
	g_assert_cmpint(end_attach(f->b, &sb), ==, RI_SUCCESS);
	g_assert_cmpint(end_attach(f->a, &sa), ==, RI_SUCCESS);
	end_wait_event(f->b, RI_EVENT_QP_STREAM_UP, f->a);
	g_assert_cmpint(end_recv(f->a, 1, &f->ma, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(f->b, 2, &f->mb, 0, 64), ==, RI_SUCCESS);
	ends_run(f->a, f->b, 20);
	g_assert_false(end_poll(f->b, false, &wc));
	g_assert_cmpint(end_write(f->a, 3, &f->ma, &f->mb, 0), ==, RI_SUCCESS);
	(void)end_wait_ok(f->a, false, 3, f->b);
	(void)end_wait_ok(f->b, false, 2, f->a);
	(void)end_wait_ok(f->a, true, 1, f->b);
}

/* Terminate instead of a stream: no RTR message in common, and the like. */
static void
test_abort_code(struct ends *f, gconstpointer unused)
{
	int fd[2];

	(void)unused;
	tcp_pair(fd);
	struct ri_stream sa = end_stream(fd[0], true), sb = end_stream(fd[1], false);
	sa.abort_code = 0x2007;
	g_assert_cmpint(end_attach(f->b, &sb), ==, RI_SUCCESS);
	g_assert_cmpint(end_attach(f->a, &sa), ==, RI_SUCCESS);
	expect_one_end(f->b, RI_EVENT_QP_TERMINATE_RECEIVED, f->a);
	expect_one_end(f->a, RI_EVENT_QP_CATASTROPHIC, f->b);
	g_assert_cmpuint(node_count(f->a, RI_EVENT_QP_STREAM_UP), ==, 0);
}

/* --- fork ---------------------------------------------------------------------------------- */

/*
 * In a child of a fork, whose descriptors of the adapter are closed: sockets that get the same
 * numbers must not be used by a queue pair of the parent. True: nothing was written to them.
 */
static bool
inherited_is_dead(struct ends *f)
{
	int pairs[16][2];
	struct ri_wc wc;
	bool silent = true;
	char octet;

	for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pairs[i]) != 0)
			return false;
	(void)f->na->p->fast->poll_cq(f->a->uscq, &wc, 1);
	(void)end_send(f->a, 9, &f->ma, 0, 64);
	(void)f->na->p->fast->poll_cq(f->a->uscq, &wc, 1);
	for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
		silent = silent && recv(pairs[i][0], &octet, 1, 0) < 0 &&
			 recv(pairs[i][1], &octet, 1, 0) < 0;
	return silent;
}

/* A forked child does not keep the connection alive, and its handles have no effect. */
static void
test_fork(struct ends *f, gconstpointer unused)
{
	int gate[2];

	(void)unused;
	g_assert_cmpint(pipe(gate), ==, 0);
	pid_t child = fork();
	if (child == 0) {
		bool dead = inherited_is_dead(f);
		char c;

		close(gate[1]);
		/* By another program: valgrind would count what only the parent's threads know as lost. */
		if (dead && read(gate[0], &c, 1) == 0)
			(void)execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	close(gate[0]);
	g_assert_cmpint(end_recv(f->b, 1, &f->mb, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(f->a, 2, &f->ma, 0, 64), ==, RI_SUCCESS);
	(void)end_wait_ok(f->b, true, 1, f->a);
	g_assert_cmpint(end_modify(f->a, RI_QPS_ERROR), ==, RI_SUCCESS);
	expect_one_end(f->b, RI_EVENT_QP_LLP_RESET, f->a);
	close(gate[1]);
	int status = -1;
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
}

int
main(int argc, char **argv)
{
	static const struct row tests[] = {
		{"/iwarp/ends/close", test_close, false, 0},
		{"/iwarp/ends/numbers-again", test_numbers_again, true, 0},
		{"/iwarp/ends/close-sends-first", test_close_sends_first, false, 0},
		{"/iwarp/ends/read-stag", test_read_stag, false, 0},
		{"/iwarp/ends/cq-overflow", test_cq_overflow, false, 0},
		{"/iwarp/ends/rnr-hold", test_rnr_hold, false, 0},
		{"/iwarp/ends/rnr-expires", test_rnr_expires, false, 0},
		{"/iwarp/begin/rtr-write", test_rtr, true, RI_RTR_WRITE},
		{"/iwarp/begin/rtr-read", test_rtr, true, RI_RTR_READ},
		{"/iwarp/begin/rtr-send", test_rtr, true, RI_RTR_SEND},
		{"/iwarp/begin/hold-sq", test_hold_sq, true, 0},
		{"/iwarp/begin/abort-code", test_abort_code, true, 0},
		{"/iwarp/ends/fork", test_fork, false, 0},
	};

	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].name, struct ends, &tests[i],
			   tests[i].unconnected ? set_up_unconnected : set_up, tests[i].run,
			   tear_down);
	return g_test_run();
}
