/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Children of fork() [IT 1.13]. In each state of its adapters a process forks. The child finds every inherited handle
 * invalid, opens adapters of its own, listens, connects, moves data and closes them; meanwhile the parent's connection works on.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_of_fork.h"
#include "it_pair.h"

#define LENGTH 3000

/* A child that hangs is killed by SIGALRM, and the test fails. Devices wait for seconds after each connection. */
#define CHILD_SECONDS (pair_is_device() ? 300u : 60u)

/* Two messages and a Write, each way of progress: polled and waited for. */
static void
pair_exchange(struct pair *pair, int value)
{
	unsigned char *sent = pair->active.buffer, *received = pair->passive.buffer;
	it_event_t event;

	memset(sent, value, LENGTH);
	memset(received, 0, END_BUFFER);
	pair_ok(end_recv(&pair->passive, LENGTH, 1));
	pair_ok(end_recv(&pair->active, LENGTH, 2));
	pair_ok(pair_write(pair, LENGTH, 3, IT_COMPLETION_FLAG));
	pair_ok(end_send(&pair->active, LENGTH, 4, IT_COMPLETION_FLAG));
	end_done(pair->active.request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	end_done(pair->active.request, IT_DTO_SEND_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	end_done(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_cmpint(memcmp(sent, received + END_BUFFER / 2, LENGTH), ==, 0);
	g_assert_cmpint(memcmp(sent, received + END_BUFFER / 4, LENGTH), ==, 0);
	pair_ok(end_send(&pair->passive, LENGTH, 5, IT_COMPLETION_FLAG));
	PAIR_UNTIL(it_evd_dequeue(pair->active.recv, &event) == IT_SUCCESS);
	g_assert_cmpuint(event.dto_cmpl.cookie, ==, 2);
	end_done(pair->passive.request, IT_DTO_SEND_CMPL_EVENT, 5, IT_DTO_SUCCESS);
}

/* What the child inherited is invalid there. */
static void
inherited_is_dead(const struct pair *parent)
{
	it_event_t event;
	it_ia_info_t *info;

	g_assert_cmpint(it_ia_query(parent->active.ia, &info), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(it_ia_free(parent->active.ia), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(it_evd_dequeue(parent->passive.recv, &event), ==, IT_ERR_INVALID_EVD);
	g_assert_cmpint(it_evd_wait(parent->passive.recv, 0, &event, NULL), ==, IT_ERR_INVALID_EVD);
	g_assert_cmpint(it_ep_disconnect(parent->active.ep, NULL, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_lmr_free(parent->active.lmr), ==, IT_ERR_INVALID_LMR);
	if (parent->listen != NULL)
		g_assert_cmpint(it_listen_free(parent->listen), ==, IT_ERR_INVALID_LISTEN);
}

static void
own_adapters_work(int value)
{
	struct pair own;

	g_assert_true(pair_open(&own));
	pair_establish(&own);
	pair_exchange(&own, value);
	pair_disconnect(&own);
	pair_close(&own);
}

/* The end of a child: by another program, since valgrind would count what only the parent's threads know as lost. */
static void
child_exit(bool good)
{
	const char *program = good ? "/bin/true" : "/bin/false";

	(void)execl(program, program, (char *)NULL);
	_exit(127);
}

typedef void child_work(const struct pair *parent);

static pid_t
child_begin(const struct pair *parent, child_work *work)
{
	pid_t pid = fork();

	g_assert_cmpint(pid, >=, 0);
	if (pid > 0)
		return pid;
	alarm(CHILD_SECONDS);
	work(parent);
	child_exit(true);
	return -1;
}

/* A child that hangs in the runtime of a sanitizer is followed by another one. False: they all do, and the case is skipped. */
static bool
child_finish(pid_t pid, const struct pair *parent, child_work *work)
{
	for (unsigned i = 1; i <= CHILD_TRIES; i++) {
		int status = -1;

		if (child_await(pid, &status)) {
			g_assert_cmpint(status, ==, 0);
			return true;
		}
		if (i < CHILD_TRIES)
			pid = child_begin(parent, work);
	}
	g_test_skip(CHILD_STUCK);
	return false;
}

static void
works_on(const struct pair *parent)
{
	inherited_is_dead(parent);
	own_adapters_work(1);
	own_adapters_work(2);
}

static pid_t
child_start(const struct pair *parent)
{
	return child_begin(parent, works_on);
}

static bool
child_end(pid_t pid, const struct pair *parent)
{
	return child_finish(pid, parent, works_on);
}

/* The case is skipped, since no child can work on. */
static bool
no_child(void)
{
	if (!CHILD_WORKS_ON)
		g_test_skip(CHILD_NONE);
	return !CHILD_WORKS_ON;
}

/* --- the states ---------------------------------------------------------------------------- */

/* A child of a process that listens opens adapters of its own. */
static void
test_listening(struct pair *pair)
{
	if (no_child())
		return;

	pid_t child = child_start(pair);

	pair_establish(pair);
	pair_exchange(pair, 3);
	(void)child_end(child, pair);
	pair_exchange(pair, 4);
	pair_disconnect(pair);
}

static it_event_t arrived; /* a request to connect */

static void
cannot_answer(const struct pair *parent)
{
	g_assert_cmpint(it_reject(arrived.conn_req.cn_est_id, NULL, 0), ==,
			IT_ERR_INVALID_CN_EST_ID);
	inherited_is_dead(parent);
	own_adapters_work(1);
}

/* The request has come, and is answered after the fork. */
static void
test_connecting(struct pair *pair)
{
	if (no_child())
		return;

	pair_connect(pair);
	arrived = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	(void)child_finish(child_begin(pair, cannot_answer), pair, cannot_answer);
	pair_ok(it_ep_accept(pair->passive.ep, arrived.conn_req.cn_est_id, NULL, 0));
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	pair_exchange(pair, 3);
	pair_disconnect(pair);
}

/* A child of a process with a connection opens adapters of its own, and the connection stays. */
static void
test_connected(struct pair *pair)
{
	if (no_child())
		return;

	pid_t child;

	pair_establish(pair);
	pair_exchange(pair, 3);
	child = child_start(pair);
	pair_exchange(pair, 4);
	(void)child_end(child, pair);
	pair_exchange(pair, 5);
	pair_disconnect(pair);
}

/* The child exits without a word, and the parent's connection does not notice. */
static void
test_exit(struct pair *pair)
{
	int status = -1;
	pid_t child;

	pair_establish(pair);
	child = fork();
	if (child == 0)
		child_exit(true);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	pair_exchange(pair, 3);
	pair_disconnect(pair);
}

/* A limit of one process counts what the process itself has opened. */
static void
test_limits(void)
{
	if (no_child())
		return;

	g_autofree char *path = g_strdup_printf("%s/fork.%d.conf", g_get_tmp_dir(), (int)getpid());
	struct pair pair;

	g_assert_true(g_file_set_contents(path, "[limits.process]\nqp = 2\n", -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
	g_assert_true(pair_open(&pair));
	(void)child_end(child_start(&pair), &pair);
	pair_close(&pair);
	g_unsetenv("ITAPI_CONFIG");
	g_assert_cmpint(unlink(path), ==, 0);
}

/* A client of the parent's listener, in a child; false: nobody listens there. */
static bool
reach_parent(const struct pair *parent)
{
	const it_spigot_info_t *spigot = &parent->passive.info->spigot_info[parent->spigot];
	struct pair own = {.qual = parent->qual};
	size_t paths = 1, total = 0;
	it_event_t event;

	g_assert_true(end_open(&own.active));
	/* It may have other addresses than its parent. */
	pair_ok(it_get_pathinfo(own.active.ia, parent->spigot, spigot->net_addr, &paths, &total,
				&own.path));
	end_new_ep(&own.active);
	pair_ok(end_recv(&own.active, LENGTH, 1));
	pair_ok(end_recv(&own.active, LENGTH, 3));
	pair_connect(&own);
	event = end_next(own.active.cm_msg);
	if (event.event_number == IT_CM_MSG_CONN_NONPEER_REJECT_EVENT)
		return false;
	g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	pair_ok(end_send(&own.active, LENGTH, 2, IT_COMPLETION_FLAG));
	end_done(own.active.request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	end_done(own.active.recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	end_done(own.active.recv, IT_DTO_RC_RECV_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	return true;
}

/* The parent's side of the exchange with reach_parent(). False: an unexpected event came. */
static bool
is_reached(struct pair *pair, it_event_t *request)
{
	it_event_t event;

	pair_ok(end_recv(&pair->passive, LENGTH, 1));
	pair_ok(it_ep_accept(pair->passive.ep, request->conn_req.cn_est_id, NULL, 0));
	if (end_next(pair->passive.cm_msg).event_number != IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		return false;
	event = end_next(pair->passive.recv);
	if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS)
		return false;
	g_assert_cmpuint(event.dto_cmpl.cookie, ==, 1);
	pair_ok(end_send(&pair->passive, LENGTH, 2, IT_COMPLETION_FLAG));
	event = end_next(pair->passive.request);
	g_assert_cmpuint(event.dto_cmpl.cookie, ==, 2);
	/* Only now may the child end: whether this second one succeeds is left open. */
	pair_ok(end_send(&pair->passive, LENGTH, 3, IT_COMPLETION_FLAG));
	return event.dto_cmpl.dto_status == IT_DTO_SUCCESS;
}

/* Of a child that has ended or hangs: the wait status, or -1 and the case is skipped. */
static int
child_left(pid_t child)
{
	int status = -1;

	if (child_await(child, &status))
		return status;
	g_test_skip(CHILD_STUCK);
	return -1;
}

/*
 * The child connects to a listener of its parent. Over a network that is a connection like any other. On an adapter
 * that reaches only its own process, the child finds no listener.
 */
static void
test_reach(struct pair *pair)
{
	if (no_child())
		return;

	it_status_t status = IT_ERR_QUEUE_EMPTY;
	siginfo_t ended = {0};
	it_event_t event;
	bool reached;
	int left;
	pid_t child = fork();

	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		alarm(CHILD_SECONDS);
		child_exit(reach_parent(pair));
	}
	PAIR_UNTIL((status = it_evd_dequeue(pair->passive.cm_req, &event)) == IT_SUCCESS ||
		   (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    ended.si_pid == child) ||
		   child_hangs(child));
	reached = status == IT_SUCCESS && is_reached(pair, &event);
	left = child_left(child);
	if (left == -1)
		return;
	if (status != IT_SUCCESS) {
		g_assert_true(WIFEXITED(left) && WEXITSTATUS(left) == 1);
		return;
	}
	g_assert_cmpint(left, ==, 0);
	g_assert_true(reached);
	/* Datagrams have no end; the first one that nobody answers tells. */
	if (pair_is_roce())
		pair_ok(end_send(&pair->passive, LENGTH, 4, IT_COMPLETION_FLAG));
	/* The kernel closes the connections of a process that has ended in order, of siw as well. */
	event = end_next(pair->passive.cm_msg);
	if (!(pair_is_device() || pair_is_roce()) ||
	    event.event_number != IT_CM_MSG_CONN_DISCONNECT_EVENT)
		g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_BROKEN_EVENT);
}

static void
forks_in_turn(const struct pair *parent)
{
	struct pair own;
	pid_t child;

	(void)parent;
	g_assert_true(pair_open(&own));
	pair_establish(&own);
	child = child_start(&own);
	pair_exchange(&own, 2);
	if (!child_end(child, &own))
		_exit(CHILD_IS_STUCK);
	pair_disconnect(&own);
	pair_close(&own);
}

/* A child forks in its turn, with its own adapters connected. */
static void
test_grandchild(struct pair *pair)
{
	if (no_child())
		return;

	pid_t child;

	pair_establish(pair);
	child = child_begin(pair, forks_in_turn);
	pair_exchange(pair, 3);
	(void)child_finish(child, pair, forks_in_turn);
	pair_disconnect(pair);
}

/* --- other threads of the parent ------------------------------------------------------------ */

struct worker {
	pthread_t thread;
	struct pair *pair;
	atomic_bool stop;
	atomic_uint rounds;
};

static void
worker_start(struct worker *worker, struct pair *pair, void *(*run)(void *))
{
	memset(worker, 0, sizeof(*worker));
	worker->pair = pair;
	g_assert_cmpint(pthread_create(&worker->thread, NULL, run, worker), ==, 0);
}

static void
worker_end(struct worker *worker)
{
	atomic_store(&worker->stop, true);
	g_assert_cmpint(pthread_join(worker->thread, NULL), ==, 0);
}

/* Fork while another thread works, after a different part of its work each time. */
static void
fork_beside(struct worker *worker, const struct pair *parent)
{
	gint64 begin = 0;

	for (guint i = 0; pair_round(i, 8, &begin); i++) {
		unsigned seen = atomic_load(&worker->rounds);

		PAIR_UNTIL(atomic_load(&worker->rounds) != seen);
		g_usleep(97 * i);
		if (!child_end(child_start(parent), parent))
			return;
	}
}

static void *
exchange_forever(void *arg)
{
	struct worker *worker = arg;

	while (!atomic_load(&worker->stop)) {
		pair_exchange(worker->pair, (int)(atomic_load(&worker->rounds) & 127) + 1);
		atomic_fetch_add(&worker->rounds, 1);
	}
	return NULL;
}

/* A process forks while another thread transfers data. */
static void
test_traffic(struct pair *pair)
{
	if (no_child())
		return;

	struct worker worker;

	pair_establish(pair);
	worker_start(&worker, pair, exchange_forever);
	fork_beside(&worker, pair);
	worker_end(&worker);
	pair_exchange(pair, 3);
	pair_disconnect(pair);
}

static void *
open_forever(void *arg)
{
	struct worker *worker = arg;

	while (!atomic_load(&worker->stop)) {
		own_adapters_work(7);
		atomic_fetch_add(&worker->rounds, 1);
	}
	return NULL;
}

/* No lock of the library is owned in the child, whatever another thread did at the fork. */
static void
test_opening(struct pair *pair)
{
	if (no_child())
		return;

	struct worker worker;

	if (pair_is_device()) {
		g_test_skip("libibverbs has a lock that no handler of a fork looks after");
		return;
	}
	worker_start(&worker, pair, open_forever);
	fork_beside(&worker, pair);
	worker_end(&worker);
}

static void *
wait_once(void *arg)
{
	struct worker *worker = arg;
	it_event_t event;
	it_status_t status;

	/* The callback of pair_await_waiter() may be in the way for a moment. */
	do
		status = it_evd_wait(worker->pair->passive.recv, IT_TIMEOUT_INFINITE, &event, NULL);
	while (status == IT_ERR_CALLBACK_EXISTS);
	pair_ok(status);
	g_assert_cmpuint(event.event_number, ==, IT_DTO_RC_RECV_CMPL_EVENT);
	g_assert_cmpuint(event.dto_cmpl.cookie, ==, 1);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
	return NULL;
}

/* A process forks while another thread waits for an event. */
static void
test_waiting(struct pair *pair)
{
	if (no_child())
		return;

	struct worker worker;

	pair_establish(pair);
	pair_ok(end_recv(&pair->passive, LENGTH, 1));
	worker_start(&worker, pair, wait_once);
	pair_await_waiter(pair->passive.recv);
	(void)child_end(child_start(pair), pair);
	pair_ok(end_send(&pair->active, LENGTH, 2, IT_COMPLETION_FLAG));
	worker_end(&worker);
	end_done(pair->active.request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	pair_disconnect(pair);
}

static struct pair *called;
static atomic_int child_of_callback;

static void
fork_in_callback(it_evd_handle_t evd, void *arg)
{
	(void)evd;
	(void)arg;
	if (atomic_load(&child_of_callback) == 0)
		atomic_store(&child_of_callback, child_start(called));
}

/* The service thread forks: in the child it is the only thread. */
static void
test_callback(struct pair *pair)
{
	if (no_child())
		return;

	called = pair;
	atomic_store(&child_of_callback, 0);
	pair_establish(pair);
	pair_ok(it_evd_callback_attach(pair->passive.recv, fork_in_callback, NULL));
	pair_ok(end_recv(&pair->passive, LENGTH, 1));
	pair_ok(end_send(&pair->active, LENGTH, 2, IT_COMPLETION_FLAG));
	PAIR_UNTIL(atomic_load(&child_of_callback) != 0);
	(void)child_end(atomic_load(&child_of_callback), pair);
	pair_ok(it_evd_callback_detach(pair->passive.recv));
	end_done(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	end_done(pair->active.request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	pair_exchange(pair, 3);
	pair_disconnect(pair);
}

static void
add(void)
{
	pair_add("fork/exit", test_exit);
	pair_add("fork/listening", test_listening);
	pair_add("fork/connecting", test_connecting);
	pair_add("fork/connected", test_connected);
	pair_add_bare("fork/limits", test_limits);
	pair_add("fork/reach", test_reach);
	pair_add("fork/grandchild", test_grandchild);
	pair_add("fork/traffic", test_traffic);
	pair_add("fork/opening", test_opening);
	pair_add("fork/waiting", test_waiting);
	pair_add("fork/callback", test_callback);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
