/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The life of channels and ids: migration, threads that wait, ends in any order, forks. On the adapter that the argument names. */
#include "child_of_fork.h"
#include "cm_bench.h"
#include "open_descriptors.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 16

static void
resolve(struct rdma_cm_id *id)
{
	struct sockaddr_storage dest = cm_addr("127.0.0.1", 9);

	OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&dest, 1000));
}

static bool
is_readable(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};

	return poll(&pollfd, 1, 0) == 1;
}

/* --- descriptors ---------------------------------------------------------------------------------------- */

static void
test_descriptor(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *id = cm_id(channel, RDMA_PS_TCP);
	struct epoll_event want = {.events = EPOLLIN | EPOLLET}, got;
	int copy = dup(channel->fd), epoll = epoll_create1(0);
	struct rdma_cm_event *event;

	OK(fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK));
	FAILS(rdma_get_cm_event(channel, &event), EAGAIN);
	OK(epoll_ctl(epoll, EPOLL_CTL_ADD, channel->fd, &want));
	g_assert_false(is_readable(copy));
	resolve(id);
	g_assert_true(is_readable(channel->fd) && is_readable(copy));
	g_assert_cmpint(epoll_wait(epoll, &got, 1, 0), ==, 1);
	g_assert_cmpint(epoll_wait(epoll, &got, 1, 0), ==, 0);
	cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, id);
	g_assert_false(is_readable(channel->fd) || is_readable(copy));
	/* Each event makes an edge, also behind one that nobody has taken. */
	OK(rdma_resolve_route(id, 1000));
	g_assert_cmpint(epoll_wait(epoll, &got, 1, 0), ==, 1);
	close(copy);
	close(epoll);
	/* Events that nobody takes go with their id. */
	OK(rdma_destroy_id(id));
	g_assert_false(is_readable(channel->fd));
}

/* The program closes a channel by a call that nobody sees, and opens another file: its writes go there. */
static void
test_stale(void)
{
	struct rdma_event_channel *channel = cm_channel(), *again;
	int fd = channel->fd, pipe_fds[2];
	char octet = 0;

	OK(pipe(pipe_fds));
	g_assert_cmpint(dup2(pipe_fds[1], fd), ==, fd);
	g_assert_cmpint(write(fd, "x", 1), ==, 1);
	g_assert_cmpint(read(pipe_fds[0], &octet, 1), ==, 1);
	g_assert_cmpint(octet, ==, 'x');
	close(fd);
	again = cm_channel();
	OK(rdma_destroy_id(cm_id(again, RDMA_PS_TCP)));
	rdma_destroy_event_channel(again);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	free(channel);
}

/* --- migration -------------------------------------------------------------------------------------------- */

static void
test_migrate(void)
{
	struct rdma_event_channel *from RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_event_channel *to RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *id RI_AT_END(cm_id_end) = cm_id(from, RDMA_PS_TCP);
	struct rdma_cm_id *other RI_AT_END(cm_id_end) = cm_id(from, RDMA_PS_TCP);

	resolve(id);
	resolve(other);
	OK(rdma_migrate_id(id, to));
	g_assert_true(id->channel == to);
	cm_expect(to, RDMA_CM_EVENT_ADDR_RESOLVED, id);
	cm_expect_none(to);
	cm_expect(from, RDMA_CM_EVENT_ADDR_RESOLVED, other);
	cm_expect_none(from);
	OK(rdma_resolve_route(id, 1000));
	cm_expect(to, RDMA_CM_EVENT_ROUTE_RESOLVED, id);
	OK(rdma_migrate_id(id, to)); /* where it is */
	OK(rdma_migrate_id(id, from));
	OK(rdma_migrate_id(id, NULL)); /* a channel of its own: synchronous calls */
}

/* A listener moves with its requests; a connection moves with its events. */
static void
test_migrate_connection(void)
{
	struct rdma_event_channel *other = cm_channel();
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct cm_pair pair = {.channel = cm_channel()};

	pair.listener = cm_listener(pair.channel, RDMA_PS_TCP, "127.0.0.1");
	pair.active = cm_active(pair.channel, pair.listener);
	OK(rdma_connect(pair.active, &param));
	UNTIL(is_readable(pair.channel->fd));
	OK(rdma_migrate_id(pair.listener, other));
	pair.passive = cm_expect(other, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
	g_assert_true(pair.passive->channel == other);
	cm_qp(pair.passive);
	OK(rdma_accept(pair.passive, &param));
	cm_expect(pair.channel, RDMA_CM_EVENT_ESTABLISHED, pair.active);
	cm_expect(other, RDMA_CM_EVENT_ESTABLISHED, pair.passive);
	OK(rdma_migrate_id(pair.active, other));
	cm_gone(&pair.passive);
	cm_expect(other, RDMA_CM_EVENT_DISCONNECTED, pair.active);
	cm_gone(&pair.active);
	OK(rdma_destroy_id(pair.listener));
	rdma_destroy_event_channel(other);
	rdma_destroy_event_channel(pair.channel);
}

/* --- threads ------------------------------------------------------------------------------------------------ */

struct waiter {
	struct rdma_event_channel *channel;
	struct rdma_cm_event *event;
	int result;
	int error;
	atomic_bool done;
};

static void *
wait_for_event(void *arg)
{
	struct waiter *waiter = (struct waiter *)arg;

	waiter->result = rdma_get_cm_event(waiter->channel, &waiter->event);
	waiter->error = errno;
	atomic_store(&waiter->done, true);
	return NULL;
}

static pthread_t
waiter_start(struct waiter *waiter, struct rdma_event_channel *channel, void *(*wait)(void *arg))
{
	pthread_t thread;

	*waiter = (struct waiter){.channel = channel};
	OK(pthread_create(&thread, NULL, wait, waiter));
	g_usleep(20 * 1000); /* most likely it sleeps by then */
	g_assert_false(atomic_load(&waiter->done));
	return thread;
}

/* Two threads wait: each event wakes one. */
static void
test_two_waiters(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *id RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);
	struct rdma_cm_id *other RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);
	struct waiter waiters[2];
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		threads[i] = waiter_start(&waiters[i], channel, wait_for_event);
	resolve(id);
	UNTIL(atomic_load(&waiters[0].done) || atomic_load(&waiters[1].done));
	g_usleep(20 * 1000);
	g_assert_false(atomic_load(&waiters[0].done) && atomic_load(&waiters[1].done));
	resolve(other);
	for (int i = 0; i < 2; i++) {
		OK(pthread_join(threads[i], NULL));
		OK(waiters[i].result);
		OK(rdma_ack_cm_event(waiters[i].event));
	}
	g_assert_true(waiters[0].event != waiters[1].event);
}

/* The command that rdma_get_cm_event writes, which leaks memory when its thread is cancelled. */
static void *
wait_by_command(void *arg)
{
	static char event[512];
	const struct {
		uint32_t number;
		uint16_t in, out;
		uint64_t response;
	} get_event = {12, sizeof(uint64_t), sizeof(event), (uintptr_t)event};
	struct waiter *waiter = (struct waiter *)arg;

	waiter->result = (int)write(waiter->channel->fd, &get_event, sizeof(get_event));
	atomic_store(&waiter->done, true);
	return NULL;
}

/* A thread that waits can be cancelled: nothing of it is left, and the channel goes on. */
static void
test_cancel(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *id RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);
	struct waiter waiter;
	unsigned before = open_descriptors();
	void *result;

	for (int i = 0; i < 3; i++) {
		pthread_t thread = waiter_start(&waiter, channel, wait_by_command);

		OK(pthread_cancel(thread));
		OK(pthread_join(thread, &result));
		g_assert_true(result == PTHREAD_CANCELED);
	}
	g_assert_cmpuint(open_descriptors(), ==, before);
	resolve(id);
	cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, id);
}

static void
handler(int number)
{
	(void)number;
}

/* A signal ends the wait, unless its handler wants calls to go on. */
static void
test_signal(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *id RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);
	struct sigaction action = {.sa_handler = handler};
	struct waiter waiter;
	pthread_t thread;

	OK(sigaction(SIGUSR1, &action, NULL));
	action.sa_flags = SA_RESTART;
	OK(sigaction(SIGUSR2, &action, NULL));
	thread = waiter_start(&waiter, channel, wait_for_event);
	OK(pthread_kill(thread, SIGUSR2));
	g_usleep(20 * 1000);
	g_assert_false(atomic_load(&waiter.done));
	OK(pthread_kill(thread, SIGUSR1));
	OK(pthread_join(thread, NULL));
	g_assert_cmpint(waiter.result, ==, -1);
	g_assert_cmpint(waiter.error, ==, EINTR);
}

/* The thread of an id that is destroyed at once waits for nothing of it. */
static void *
destroy_all(void *arg)
{
	struct rdma_cm_id **ids = (struct rdma_cm_id **)arg;

	for (int i = 0; i < MANY; i++)
		ALL_RIGHT(rdma_destroy_id(ids[i]));
	return NULL;
}

/* Events are fetched while other threads raise them and destroy ids: each is acknowledged or dropped. */
static void
test_churn(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *ids[4][MANY];
	struct rdma_cm_event *event;
	pthread_t threads[4];

	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 4; i++)
			for (int k = 0; k < MANY; k++) {
				ids[i][k] = cm_id(channel, RDMA_PS_TCP);
				resolve(ids[i][k]);
			}
		for (int i = 0; i < 4; i++)
			ALL_RIGHT(pthread_create(&threads[i], NULL, destroy_all, ids[i]));
		ALL_RIGHT(fcntl(channel->fd, F_SETFL, O_NONBLOCK));
		/* An event whose id the other thread has just destroyed would hang that thread if it were not acknowledged. */
		while (rdma_get_cm_event(channel, &event) == 0)
			ALL_RIGHT(rdma_ack_cm_event(event));
		for (int i = 0; i < 4; i++)
			ALL_RIGHT(pthread_join(threads[i], NULL));
		g_assert_false(is_readable(channel->fd));
	}
}

/* --- channels that go ------------------------------------------------------------------------------------------ */

/* librdmacm cannot destroy an id whose channel is closed. It begins with what programs have. */
static void
abandon(struct rdma_cm_id *id)
{
	free(id->route.path_rec);
	free(id);
}

/* A channel is closed with everything in it: ids that are bound, that listen, that have requests and connections. */
static void
test_close(void)
{
	struct rdma_event_channel *channel = cm_channel();
	struct sockaddr_storage addr;
	struct rdma_cm_id *other;
	struct cm_pair up, asked;

	cm_connect(&up);
	OK(rdma_migrate_id(up.active, channel));
	cm_ask(&asked, NULL, 0);
	OK(rdma_migrate_id(asked.active, channel));
	addr = cm_addr("127.0.0.1", ntohs(rdma_get_src_port(up.listener)));
	close(up.channel->fd);
	cm_expect(channel, RDMA_CM_EVENT_DISCONNECTED, up.active);
	close(asked.channel->fd);
	cm_expect(channel, RDMA_CM_EVENT_REJECTED, asked.active);
	/* Their ids are the program's: librdmacm still has them, and no command finds them. */
	FAILS(rdma_destroy_id(up.passive), EBADF);
	/* The port is free. */
	other = cm_id(channel, RDMA_PS_TCP);
	OK(rdma_bind_addr(other, (struct sockaddr *)&addr));
	OK(rdma_destroy_id(other));
	OK(ibv_destroy_qp(up.passive->qp));
	cm_gone(&up.active);
	cm_gone(&asked.active);
	rdma_destroy_event_channel(channel);
	abandon(up.passive);
	abandon(up.listener);
	abandon(asked.passive);
	abandon(asked.listener);
	free(up.channel);
	free(asked.channel);
}

/* A thread waits while the channel is closed: it sleeps on, as in the kernel, and can be cancelled. */
static void
test_close_under_waiter(void)
{
	struct rdma_event_channel *channel = cm_channel();
	struct rdma_cm_id *id = cm_id(channel, RDMA_PS_TCP);
	struct waiter waiter;
	pthread_t thread = waiter_start(&waiter, channel, wait_by_command);
	struct rdma_event_channel *next;
	void *result;

	close(channel->fd);
	next = cm_channel(); /* most likely it has the same descriptor */
	g_usleep(20 * 1000);
	g_assert_false(atomic_load(&waiter.done));
	OK(pthread_cancel(thread));
	OK(pthread_join(thread, &result));
	g_assert_true(result == PTHREAD_CANCELED);
	rdma_destroy_event_channel(next);
	abandon(id);
	free(channel);
}

/* --- forks ------------------------------------------------------------------------------------------------------- */

static bool
in_child(void (*work)(void *arg), void *arg)
{
	if (!CHILD_WORKS_ON)
		g_test_skip(CHILD_NONE);
	return CHILD_WORKS_ON && child_does(work, arg, 20);
}

static void
connect_and_talk(void *arg)
{
	struct cm_pair own RI_AT_END(cm_finish);

	(void)arg;
	cm_connect(&own);
	cm_talk(own.active, own.passive);
}

/* The parent has an open device, and librdmacm begins in the child. */
static void
test_fork_first(void)
{
	int num;
	struct ibv_device **list = ibv_get_device_list(&num);
	struct ibv_context *context;

	g_assert_cmpint(num, ==, 1);
	context = ibv_open_device(list[0]);
	g_assert_nonnull(context);
	ibv_free_device_list(list);
	/* An address of RoCE is of one process. */
	if (!cm_is_roce() && in_child(connect_and_talk, NULL))
		(void)in_child(connect_and_talk, NULL);
	connect_and_talk(NULL);
	OK(ibv_close_device(context));
}

/* Inherited channels are dead, and their events are the parent's. */
static void
child_of_pair(void *arg)
{
	const struct cm_pair *parents = (const struct cm_pair *)arg;
	struct rdma_cm_event *event;
	struct cm_pair pair = *parents;

	FAILS(rdma_get_cm_event(parents->channel, &event), EIO);
	FAILS(rdma_destroy_id(parents->listener), EIO);
	pair.active->qp = NULL; /* so that librdmacm does not move it */
	FAILS(rdma_disconnect(pair.active), EIO);
	close(parents->channel->fd);
}

static void
test_fork(void)
{
	struct cm_pair pair RI_AT_END(cm_finish);

	cm_connect(&pair);
	(void)in_child(child_of_pair, &pair);
	cm_expect_none(pair.channel);
	cm_talk(pair.active, pair.passive);
	OK(rdma_disconnect(pair.active));
	cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	cm_expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
}

static sigjmp_buf out_of_wait;

static void
jumps(int number)
{
	(void)number;
	siglongjmp(out_of_wait, 1);
}

static void *
resolve_soon(void *arg)
{
	g_usleep(20 * 1000);
	resolve((struct rdma_cm_id *)arg);
	return NULL;
}

/* In a child, since what librdmacm has allocated for the call is lost. */
static void
jump_out_of_wait(void *unused)
{
	struct rdma_event_channel *channel = cm_channel();
	struct rdma_cm_id *id = cm_id(channel, RDMA_PS_TCP);
	struct sigaction action = {.sa_handler = jumps};
	struct rdma_cm_event *event;
	pthread_t thread = 0; /* none before the jump */

	(void)unused;
	OK(sigaction(SIGALRM, &action, NULL));
	/* The second wait is on the same part of the stack. */
	if (sigsetjmp(out_of_wait, 1) == 0) {
		(void)ualarm(20 * 1000, 0);
	} else {
		action.sa_handler = SIG_DFL;
		OK(sigaction(SIGALRM, &action, NULL));
		alarm(20);
		OK(pthread_create(&thread, NULL, resolve_soon, id));
	}
	OK(rdma_get_cm_event(channel, &event));
	g_assert_cmpint(event->event, ==, RDMA_CM_EVENT_ADDR_RESOLVED);
	OK(rdma_ack_cm_event(event));
	OK(pthread_join(thread, NULL));
}

static void
test_jump(void)
{
	(void)in_child(jump_out_of_wait, NULL);
}

/* A child that lives on does not keep the ports of its parent. */
static void
test_fork_ports(void)
{
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *id = cm_id(channel, RDMA_PS_TCP);
	struct sockaddr_storage addr = cm_addr("127.0.0.1", 0);
	int status, ready[2];
	char octet = 0;
	pid_t child;

	OK(pipe(ready));
	OK(rdma_bind_addr(id, (struct sockaddr *)&addr));
	addr = cm_addr("127.0.0.1", ntohs(rdma_get_src_port(id)));
	child = fork();
	if (child == 0) {
		alarm(20);
		if (write(ready[1], &octet, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	g_assert_cmpint(read(ready[0], &octet, 1), ==, 1);
	OK(rdma_destroy_id(id));
	id = cm_id(channel, RDMA_PS_TCP);
	OK(rdma_bind_addr(id, (struct sockaddr *)&addr));
	OK(rdma_destroy_id(id));
	OK(kill(child, SIGKILL));
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	close(ready[0]);
	close(ready[1]);
}

/* Forks while other threads use channels: no lock stays owned in a child. */
static atomic_bool stop;

static void *
use_channels(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
		struct rdma_cm_id *id RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);

		resolve(id);
		cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, id);
	}
	return NULL;
}

/* librdmacm's own locks may be owned in the child: so it uses the device file itself. */
static void
child_alone(void *arg)
{
	int fd RI_AT_END(ri_at_end_close) = open("/dev/infiniband/rdma_cm", O_RDWR);

	(void)arg;
	g_assert_cmpint(fd, >=, 0);
}

static void
test_fork_busy(void)
{
	pthread_t threads[2];

	atomic_store(&stop, false);
	for (int i = 0; i < 2; i++)
		OK(pthread_create(&threads[i], NULL, use_channels, NULL));
	for (int i = 0; i < 20 && in_child(child_alone, NULL); i++)
		continue;
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		OK(pthread_join(threads[i], NULL));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	cm_adapters(argv[1]);
	g_test_add_func("/door/cm-life/fork-first", test_fork_first);
	g_test_add_func("/door/cm-life/descriptor", test_descriptor);
	g_test_add_func("/door/cm-life/stale", test_stale);
	g_test_add_func("/door/cm-life/migrate", test_migrate);
	g_test_add_func("/door/cm-life/migrate-connection", test_migrate_connection);
	g_test_add_func("/door/cm-life/two-waiters", test_two_waiters);
	g_test_add_func("/door/cm-life/cancel", test_cancel);
	g_test_add_func("/door/cm-life/signal", test_signal);
	g_test_add_func("/door/cm-life/churn", test_churn);
	g_test_add_func("/door/cm-life/close", test_close);
	g_test_add_func("/door/cm-life/close-under-waiter", test_close_under_waiter);
	g_test_add_func("/door/cm-life/fork-ports", test_fork_ports);
	g_test_add_func("/door/cm-life/jump", test_jump);
	g_test_add_func("/door/cm-life/fork", test_fork);
	g_test_add_func("/door/cm-life/fork-busy", test_fork_busy);
	return g_test_run();
}
