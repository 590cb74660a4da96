/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two threads act at the same time, in an order that the test chooses: the test does the other
 * thread's work inside of a host service that the provider calls, or owns a role in its place. The
 * peer is a plain socket, time is virtual, and the test is the service thread.
 */
#include "viw_peer.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "viw_qp.h"

/* --- host services in which the test does something ------------------------------------------ */

static struct {
	struct ri_host table;
	const struct ri_host *real;
	struct end *end;
	struct viw_qp *qp;
	bool close_at_start; /* of its timer */
	bool close_at_stop;
	bool fire_at_stop;
	unsigned task_runs; /* of its task, while a destroyed queue pair keeps its roles */
} host;

static bool
roles_are_taken(const struct viw_qp *qp)
{
	return vsw_role_is_taken(&qp->rx.role) && vsw_role_is_taken(&qp->tx.role);
}

static void
host_timer_start(void *self, struct ri_timer *timer, uint64_t deadline)
{
	if (timer == &host.qp->timer && host.close_at_start) {
		host.close_at_start = false;
		g_assert_cmpint(end_modify(host.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	}
	host.real->timer_start(self, timer, deadline);
}

static void
host_timer_stop(void *self, struct ri_timer *timer)
{
	if (timer == &host.qp->timer && host.close_at_stop) {
		host.close_at_stop = false;
		g_assert_cmpint(end_modify(host.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	}
	/* Its function is running: this call waits for it. */
	if (timer == &host.qp->timer && host.fire_at_stop && roles_are_taken(host.qp))
		viw_timer(host.qp);
	host.real->timer_stop(self, timer);
}

static void
host_task_run(void *self, struct ri_task *task)
{
	host.task_runs += task == &host.qp->task && roles_are_taken(host.qp);
	host.real->task_run(self, task);
}

/* From now on the adapter of `end` calls the functions above. */
static void
host_enter(struct end *end)
{
	struct viw_qp *qp = (struct viw_qp *)end->qp;

	memset(&host, 0, sizeof(host));
	host.end = end;
	host.qp = qp;
	host.real = qp->rnic->host;
	host.table = *host.real;
	host.table.timer_start = host_timer_start;
	host.table.timer_stop = host_timer_stop;
	host.table.task_run = host_task_run;
	qp->rnic->host = &host.table;
}

static void
host_leave(void)
{
	host.qp->rnic->host = host.real;
}

/* --- the scene ------------------------------------------------------------------------------- */

/* A queue pair without receives. */
static void
open_bare(struct peer *f, uint8_t rtr_expect)
{
	struct ri_stream how = end_stream(-1, false);

	how.rtr_expect = rtr_expect;
	*f = (struct peer){.node = node_new_by_hand(), .fd = -1};
	f->end = end_new(f->node, NULL);
	f->mem = chunk_new(f->node, 4096, ALL_RW);
	peer_attach(f, &how, 0);
}

static bool
is_over(struct viw_qp *qp)
{
	return viw_qp_state(qp) == RI_QPS_ERROR && !atomic_load(&qp->stream.attached);
}

static bool
is_closing(struct viw_qp *qp)
{
	return viw_qp_state(qp) == RI_QPS_CLOSING;
}

static void
play_send(struct peer *f)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, 1, 0, true);
	uint8_t fpdu[64];

	seg.payload = (const uint8_t *)"12345678";
	seg.payload_len = 8;
	uint32_t size = rdmap_fpdu_put(fpdu, &seg, true);
	g_assert_cmpint(send(f->fd, fpdu, size, MSG_NOSIGNAL), ==, size);
}

/* The peer answers the FIN with nothing: the end comes after VIW_LINGER all the same. */
static void
expect_end_in_time(struct peer *f)
{
	host_leave();
	g_assert_cmpint(end_state(f->end), ==, RI_QPS_CLOSING);
	vth_advance(f->node->vth, VIW_LINGER);
	g_assert_cmpuint(node_ends(f->end), ==, 1);
	g_assert_cmpint(end_state(f->end), ==, RI_QPS_ERROR);
}

/* --- cases ------------------------------------------------------------------------------------ */

/* A Send gets its receive while the application closes: the timer of the wait, which stops, is that of the end. */
static void
test_close_in_wait_end(void)
{
	struct peer f RI_AT_END(peer_close);

	open_bare(&f, 0);
	play_send(&f);
	peer_drive(&f, peer_waits);
	host_enter(f.end);
	host.close_at_stop = true;
	g_assert_cmpint(end_recv(f.end, 1, &f.mem, 0, 64), ==, RI_SUCCESS);
	g_assert_false(host.close_at_stop);
	expect_end_in_time(&f);
}

/* A Send begins to wait while the application closes; it could wait for much longer than the end may take. */
static void
test_close_in_wait_begin(void)
{
	struct peer f RI_AT_END(peer_close);

	open_bare(&f, 0);
	host_enter(f.end);
	host.close_at_start = true;
	play_send(&f);
	peer_drive(&f, is_closing);
	g_assert_false(host.close_at_start);
	expect_end_in_time(&f);
}

/*
 * A receive is posted for the first message, which is the ready-to-receive message, while a control verb owns the
 * role. The verb then has the service thread do the round.
 */
static void
test_post_before_up(void)
{
	struct peer f RI_AT_END(peer_close);

	open_bare(&f, RI_RTR_SEND);
	play_send(&f);
	peer_drive(&f, peer_waits);
	struct viw_qp *qp = peer_qp(&f);
	g_assert_true(vsw_role_take(&qp->rx.role));
	g_assert_cmpint(end_recv(f.end, 1, &f.mem, 0, 64), ==, RI_SUCCESS);
	atomic_store(&qp->rx.role.taken, 0);
	viw_serve_soon(qp);
	vth_run(f.node->vth);
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_STREAM_UP), ==, 1);
	(void)end_wait_ok(f.end, true, 1, NULL);
}

enum {
	LARGE = 16 << 20 /* octets; more than the buffers of TCP take */
};

/* Post a Write of LARGE octets from a thread that polls, until the socket takes no more. */
static struct chunk
write_until_blocked(struct peer *f)
{
	gint64 until = node_deadline();
	struct chunk big = chunk_new(f->node, LARGE, ALL_RW);
	const struct viw_tx *tx = &peer_qp(f)->tx;
	struct ri_wc wc;

	g_assert_false(end_poll(f->end, false, &wc));
	g_assert_cmpint(end_write(f->end, 1, &big, &big, LARGE), ==, RI_SUCCESS);
	while (tx->at == tx->len) {
		g_assert_false(end_poll(f->end, false, &wc));
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
	g_assert_true(atomic_load(&tx->blocked));
	return big;
}

/* Polls try the socket, so EPOLLOUT is not requested; then the polling ends: the service thread sends the rest when the peer reads. */
static void
test_blocked_when_polling_ends(void)
{
	gint64 until = node_deadline();
	g_autofree uint8_t *octets = g_malloc(LARGE);
	struct peer f RI_AT_END(peer_close);

	open_bare(&f, 0);
	struct chunk big RI_AT_END(chunk_free) = write_until_blocked(&f);
	vth_advance(f.node->vth, UINT64_C(10000000));
	while (f.node->p->fast->cq_depth(f.end->uscq) == 0) {
		(void)!recv(f.fd, octets, LARGE, MSG_DONTWAIT);
		vth_run(f.node->vth);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
	(void)end_wait_ok(f.end, false, 1, NULL);
}

/*
 * Requests wait for the socket, and polls try it, so EPOLLOUT is not requested. Then the adapter gets more streams
 * than a poll reads itself, and the application goes on polling: the requests leave when the peer reads.
 */
static void
test_crowd_while_blocked(void)
{
	gint64 until = node_deadline();
	g_autofree uint8_t *octets = g_malloc(LARGE);
	struct end *others[VIW_HOT];
	int fds[VIW_HOT];
	struct ri_wc wc;
	struct peer f RI_AT_END(peer_close);

	open_bare(&f, 0);
	struct chunk big RI_AT_END(chunk_free) = write_until_blocked(&f);
	for (unsigned i = 0; i < VIW_HOT; i++) {
		int fd[2];

		tcp_pair(fd);
		struct ri_stream how = end_stream(fd[0], false);
		fds[i] = fd[1];
		others[i] = end_new(f.node, NULL);
		g_assert_cmpint(end_attach(others[i], &how), ==, RI_SUCCESS);
		vth_run(f.node->vth);
		g_assert_cmpuint(node_count(others[i], RI_EVENT_QP_STREAM_UP), ==, 1);
	}
	while (!end_poll(f.end, false, &wc)) {
		(void)!recv(f.fd, octets, LARGE, MSG_DONTWAIT);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
	g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
	for (unsigned i = 0; i < VIW_HOT; i++) {
		end_free(&others[i]);
		close(fds[i]);
	}
}

static void
role_give_up(void *arg)
{
	struct vsw_role *role = arg;

	atomic_store(&role->taken, 0);
}

/* The peer has sent something and reset the connection; nothing of it has been read. */
static void
reset_behind(struct peer *f, const void *octets, uint32_t size)
{
	struct linger reset = {.l_onoff = 1};
	struct pollfd set = {.fd = peer_qp(f)->stream.fd, .events = 0};
	struct ri_wc wc;

	/* A thread polls, so the service thread does not watch the sockets. */
	g_assert_false(end_poll(f->end, false, &wc));
	g_assert_cmpint(send(f->fd, octets, size, MSG_NOSIGNAL), ==, size);
	g_assert_cmpint(setsockopt(f->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), ==, 0);
	peer_hang_up(f);
	g_assert_cmpint(poll(&set, 1, (int)(node_patience() / 1000)), ==, 1);
}

/* A Send of this end fails while another thread owns the receiving role, which it gives up soon. */
static void
break_while_received(struct peer *f)
{
	struct viw_qp *qp = peer_qp(f);
	struct ri_task task = {.fire = role_give_up, .arg = &qp->rx.role};
	const struct ri_host *services = vth_host(f->node->vth);

	g_assert_true(vsw_role_take(&qp->rx.role));
	g_assert_cmpint(end_send(f->end, 1, &f->mem, 0, 8), ==, RI_SUCCESS);
	g_assert_true(atomic_load(&qp->tx.broken));
	services->task_run(services->self, &task); /* behind that of the queue pair */
	vth_advance(f->node->vth, VIW_RETRY);
}

/* The peer's Terminate has not been read yet: the end is that of the Terminate. */
static void
test_terminate_behind_break(void)
{
	uint8_t fpdu[RDMAP_TERMINATE_FPDU_MAX];
	uint32_t size = rdmap_terminate_code_fpdu(fpdu, 0x0207, true);
	struct peer f RI_AT_END(peer_close);

	open_bare(&f, 0);
	reset_behind(&f, fpdu, size);
	break_while_received(&f);
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_TERMINATE_RECEIVED), ==, 1);
	g_assert_cmpuint(node_ends(f.end), ==, 1);
	g_assert_cmpuint(end_wait(f.end, false, NULL).status, ==, RI_WC_FLUSHED);
}

/* A message of the peer waits for a receive, and the peer resets the connection: that ends it at once. */
static void
test_reset_in_wait(void)
{
	uint8_t octet = 0;
	struct peer f RI_AT_END(peer_close);

	open_bare(&f, 0);
	play_send(&f);
	peer_drive(&f, peer_waits);
	reset_behind(&f, &octet, 1);
	peer_drive(&f, is_over);
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_LLP_RESET), ==, 1);
	g_assert_cmpuint(node_ends(f.end), ==, 1);
}

/* A message of the peer waits for a receive: that its time is over is not the reason of the end. */
static void
test_break_in_wait(void)
{
	uint8_t octet = 0;
	struct peer f RI_AT_END(peer_close);

	open_bare(&f, 0);
	play_send(&f);
	peer_drive(&f, peer_waits);
	reset_behind(&f, &octet, 1);
	break_while_received(&f);
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_LLP_RESET), ==, 1);
	g_assert_cmpuint(node_ends(f.end), ==, 1);
}

/*
 * Two messages wait for receives of one SRQ. The queue pair that is first in the line closes, and its peer does not
 * answer. The next receive must go to the other queue pair at once. `before`: the receive is posted before the close,
 * but another thread owns the role of the first queue pair.
 */
static void
test_line_left(gconstpointer before)
{
	struct ri_stream how = end_stream(-1, false);
	struct peer f[2];

	memset(f, 0, sizeof(f));
	f[0].node = f[1].node = node_new_by_hand();
	node_share(f[0].node, 8);
	struct chunk mem = chunk_new(f[0].node, 64, ALL_RW);
	for (unsigned i = 0; i < 2; i++) {
		f[i].end = end_new(f[i].node, NULL);
		peer_attach(&f[i], &how, 0);
		play_send(&f[i]);
		peer_drive(&f[i], peer_waits);
	}
	struct vsw_role *role = &peer_qp(&f[0])->rx.role;
	if (before != NULL) {
		g_assert_true(vsw_role_take(role));
		node_post(f[0].node, 5, &mem, 0, 64);
	}
	g_assert_cmpint(end_modify(f[0].end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	if (before != NULL)
		role_give_up(role);
	vth_run(f[0].node->vth);
	if (before == NULL)
		node_post(f[0].node, 5, &mem, 0, 64);
	/* Before any poll, which would look for itself. */
	g_assert_cmpuint(f[1].node->p->fast->cq_depth(f[1].end->urcq), ==, 1);
	(void)end_wait_ok(f[1].end, true, 5, NULL);
	g_assert_cmpint(end_state(f[0].end), ==, RI_QPS_CLOSING);
	for (unsigned i = 0; i < 2; i++) {
		peer_hang_up(&f[i]);
		end_free(&f[i].end);
	}
	chunk_free(&mem);
	node_unshare(f[0].node);
	node_free(&f[0].node);
}

/*
 * The function of the timer runs while the queue pair is destroyed. It finds sending broken, or more receives in
 * progress than a new limit allows; it queues no task that would be left behind.
 */
static void
test_destroy_in_timer(gconstpointer limit)
{
	struct ri_stream how = end_stream(-1, false);
	struct peer f = {.node = node_new_by_hand(), .fd = -1};

	node_share(f.node, 8);
	f.end = end_new(f.node, NULL);
	peer_attach(&f, &how, 0);
	host_enter(f.end);
	if (GPOINTER_TO_UINT(limit) != 0) {
		atomic_store(&host.qp->rx.member.taken, 2);
		atomic_store(&host.qp->rx.member.hard, 1);
		atomic_store(&host.qp->rx.limits_new, true);
	} else {
		atomic_store(&host.qp->tx.broken, true);
	}
	host.fire_at_stop = true;
	end_free(&f.end);
	host_leave();
	g_assert_cmpuint(host.task_runs, ==, 0);
	g_assert_cmpuint(node_ends(f.end), ==, 0);
	peer_hang_up(&f);
	node_unshare(f.node);
	node_free(&f.node);
}

int
main(int argc, char **argv)
{
	g_assert_true(g_setenv("ITAPI_IWARP_RNR_MS", "600000", TRUE));
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/races/close-in-wait-end", test_close_in_wait_end);
	g_test_add_func("/iwarp/races/close-in-wait-begin", test_close_in_wait_begin);
	g_test_add_func("/iwarp/races/post-before-up", test_post_before_up);
	g_test_add_func("/iwarp/races/blocked-when-polling-ends", test_blocked_when_polling_ends);
	g_test_add_data_func("/iwarp/races/line-left", NULL, test_line_left);
	g_test_add_data_func("/iwarp/races/line-left-behind-post", GUINT_TO_POINTER(1),
			     test_line_left);
	g_test_add_func("/iwarp/races/crowd-while-blocked", test_crowd_while_blocked);
	g_test_add_func("/iwarp/races/terminate-behind-break", test_terminate_behind_break);
	g_test_add_func("/iwarp/races/break-in-wait", test_break_in_wait);
	g_test_add_func("/iwarp/races/reset-in-wait", test_reset_in_wait);
	g_test_add_data_func("/iwarp/races/destroy-in-timer/broken", GUINT_TO_POINTER(0),
			     test_destroy_in_timer);
	g_test_add_data_func("/iwarp/races/destroy-in-timer/limit", GUINT_TO_POINTER(1),
			     test_destroy_in_timer);
	return g_test_run();
}
