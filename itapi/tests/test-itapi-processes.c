/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two processes, one of which is killed with signal 9 at some moment. The survivor, which is this program, must
 * see its connection BROKEN, every request it posted completed exactly once, and be able to free all its objects.
 *
 * The victim is this program again, started with `victim ROLE MODE PORT ADAPTER`. It prints one line when it
 * is where the test wants it, and goes on until it is killed.
 *
 *   ROLE  client: connects to the survivor; server: prints the port it listens on
 *   MODE  idle, write, send, read: what it does once connected, until it is killed
 *         fork: leaves a child alive that inherited everything
 *         exec: becomes another program, which has no part in the connection
 *         mute: server that never answers
 *         leave: client with LEAVERS connections, which ends them in order and exits while the survivor is stopped
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "it_pair.h"

#define STREAM_SIZE  50000
#define RECEIVE_SIZE STREAM_SIZE
#define LEAVERS      3

/* The passive side's private data: where its memory is. Network order. */
struct place {
	uint64_t context;
	uint64_t addr;
};

static struct place
place_of(const struct end *end)
{
	struct place place = {it_hton64(end->context),
			      it_hton64(it_make_rdma_addr_absolute(end->buffer))};

	return place;
}

static bool
is_stream(const char *mode)
{
	return strcmp(mode, "write") == 0 || strcmp(mode, "send") == 0 || strcmp(mode, "read") == 0;
}

static it_status_t
post_stream(struct end *end, const char *mode, const struct place *far, uint64_t cookie)
{
	it_lmr_triplet_t segment = end_segment(end, 0, STREAM_SIZE);
	it_rdma_addr_t addr = it_ntoh64(far->addr);
	it_rmr_context_t context = it_ntoh64(far->context);

	if (strcmp(mode, "write") == 0)
		return it_post_rdma_write(end->ep, &segment, 1, cookie, IT_COMPLETION_FLAG, addr,
					  context);
	if (strcmp(mode, "read") == 0)
		return it_post_rdma_read(end->ep, &segment, 1, cookie, IT_COMPLETION_FLAG, addr,
					 context);
	return it_post_send(end->ep, &segment, 1, cookie, IT_COMPLETION_FLAG);
}

static void
post_receives(struct end *end, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		it_lmr_triplet_t segment = end_segment(end, STREAM_SIZE, RECEIVE_SIZE);

		g_assert_cmpint(it_post_recv((it_handle_t)end->ep, &segment, 1, 1000 + i, 0), ==,
				IT_SUCCESS);
	}
}

/* --- the victim ----------------------------------------------------------------------------- */

static void
say(const char *text)
{
	puts(text);
	fflush(stdout);
}

/* What a victim waits for before it executes another program. */
static sigset_t
go_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return set;
}

/* Post and receive as fast as possible. Never returns: the process is killed. */
static void
live(struct end *end, const char *mode, const struct place *far)
{
	bool streams = is_stream(mode);
	it_event_t event;

	if (strcmp(mode, "fork") == 0 && fork() == 0) {
		close(STDERR_FILENO); /* so that the victim does not wait for this child */
		sleep(60);
		_exit(0);
	}
	say("up");
	if (strcmp(mode, "exec") == 0) {
		sigset_t wanted = go_signal();
		int number;

		(void)sigwait(&wanted, &number); /* the survivor knows of the connection */
		execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(127);
	}
	for (uint64_t i = 0;; i++) {
		if (!streams) {
			(void)!it_evd_wait(end->recv, 1000 * 1000, &event, NULL);
			continue;
		}
		if (post_stream(end, mode, far, i) == IT_ERR_TOO_MANY_POSTS)
			(void)!it_evd_wait(end->request, 1000 * 1000, &event, NULL);
		if (it_evd_dequeue(end->recv, &event) == IT_SUCCESS)
			post_receives(end, 1);
	}
}

static void
victim_client(struct pair *pair, const char *mode, uint16_t port)
{
	it_event_t event;
	struct place far;

	g_assert_true(end_open(&pair->active));
	g_assert_true(end_open(&pair->passive)); /* for the path that reaches only this machine */
	end_new_ep(&pair->active);
	pair_listen(pair);
	pair->qual.conn_qual.port = port;
	post_receives(&pair->active, RECV_SLOTS);
	pair_connect(pair);
	if (strcmp(mode, "mute") == 0) {
		say("up");
		sleep(600);
	}
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	memcpy(&far, event.conn.private_data, sizeof(far));
	live(&pair->active, mode, &far);
}

/* A process that lets `survivor` go on when this one has ended. */
static void
call_back(pid_t survivor)
{
	pid_t here = getpid();

	if (fork() != 0)
		return;
	fclose(stdout);
	while (getppid() == here)
		g_usleep(1000);
	(void)kill(survivor, SIGCONT);
	_exit(0);
}

static void
victim_leaver(struct pair *pair, uint16_t port)
{
	struct end *end = &pair->active;
	it_ep_handle_t left[LEAVERS];
	sigset_t wanted = go_signal();
	int number;

	call_back(getppid()); /* before there are adapters */
	g_assert_true(end_open(end));
	g_assert_true(end_open(&pair->passive));
	pair_listen(pair);
	pair->qual.conn_qual.port = port;
	for (int i = 0; i < LEAVERS; i++) {
		end->ep = NULL;
		end_new_ep(end);
		left[i] = end->ep;
		pair_connect(pair);
		end_expect(end->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	}
	say("up");
	(void)sigwait(&wanted, &number);
	g_assert_cmpint(kill(getppid(), SIGSTOP), ==, 0);
	for (int i = 0; i < LEAVERS; i++)
		g_assert_cmpint(it_ep_disconnect(left[i], NULL, 0), ==, IT_SUCCESS);
	for (int i = 0; i < LEAVERS; i++)
		end_expect(end->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	_exit(0);
}

static void
victim_server(struct pair *pair, const char *mode)
{
	struct end *end = &pair->passive;
	struct place far = {0};
	struct place near;
	it_event_t event;

	g_assert_true(end_open(&pair->active));
	g_assert_true(end_open(end));
	end_new_ep(end);
	pair_listen(pair);
	printf("%u\n", pair->qual.conn_qual.port);
	fflush(stdout);
	event = end_expect(end->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	if (strcmp(mode, "mute") == 0) {
		say("up");
		sleep(600);
	}
	near = place_of(end);
	memcpy(&far, event.conn_req.private_data, sizeof(far));
	post_receives(end, RECV_SLOTS);
	g_assert_cmpint(
		it_ep_accept(end->ep, event.conn_req.cn_est_id, (void *)&near, sizeof(near)), ==,
		IT_SUCCESS);
	end_expect(end->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	live(end, mode, &far);
}

static int
victim(char **argv)
{
	sigset_t wanted = go_signal();
	struct pair pair;

	sigprocmask(SIG_BLOCK, &wanted, NULL); /* before there are threads */
	memset(&pair, 0, sizeof(pair));
	pair_use(argv[5]);
	if (strcmp(argv[3], "leave") == 0)
		victim_leaver(&pair, (uint16_t)atoi(argv[4]));
	else if (strcmp(argv[2], "client") == 0)
		victim_client(&pair, argv[3], (uint16_t)atoi(argv[4]));
	else
		victim_server(&pair, argv[3]);
	return 1;
}

/* --- the survivor ----------------------------------------------------------------------------- */

static char
	*self; /* the file of this program; /proc/self/exe would lead valgrind to its own program */

struct killed {
	pid_t pid;
	FILE *out;
};

static struct killed
victim_start(const char *role, const char *mode, uint16_t port)
{
	char number[16];
	struct killed killed;
	int ends[2];

	g_snprintf(number, sizeof(number), "%u", port);
	g_assert_cmpint(pipe(ends), ==, 0);
	killed.pid = fork();
	g_assert_cmpint(killed.pid, >=, 0);
	if (killed.pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(self, "victim", "victim", role, mode, number, pair_adapter(), (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	killed.out = fdopen(ends[0], "r");
	g_assert_nonnull(killed.out);
	return killed;
}

static void
victim_says(struct killed *killed, char *line, size_t size)
{
	g_assert_nonnull(fgets(line, (int)size, killed->out));
}

static void
victim_kill(struct killed *killed)
{
	int status;

	g_assert_cmpint(kill(killed->pid, SIGKILL), ==, 0);
	g_assert_cmpint(waitpid(killed->pid, &status, 0), ==, killed->pid);
	g_assert_true(WIFSIGNALED(status));
	fclose(killed->out);
}

struct survivor {
	struct pair pair;
	struct end *end; /* the end that has the connection */
	bool seen[1000]; /* cookies of requests that completed */
	unsigned posted;
	unsigned completed;
	unsigned received;
	unsigned receives;
};

static void
count_request(struct survivor *me, const it_event_t *event)
{
	uint64_t cookie = event->dto_cmpl.cookie;

	g_assert_cmpuint(cookie, <, me->posted);
	g_assert_false(me->seen[cookie]);
	me->seen[cookie] = true;
	me->completed++;
}

/* Use the connection for a while, as the mode says. */
static void
work(struct survivor *me, const char *mode, const struct place *far, gulong us)
{
	gint64 until = g_get_monotonic_time() + (gint64)us;
	it_event_t event;

	while (g_get_monotonic_time() < until) {
		if (is_stream(mode) && me->posted < G_N_ELEMENTS(me->seen) &&
		    post_stream(me->end, mode, far, me->posted) == IT_SUCCESS)
			me->posted++;
		if (it_evd_dequeue(me->end->request, &event) == IT_SUCCESS)
			count_request(me, &event);
		if (it_evd_dequeue(me->end->recv, &event) == IT_SUCCESS) {
			me->received++;
			post_receives(me->end, 1);
			me->receives++;
		}
	}
}

/* The end: BROKEN, each request completed once, in order, and no further event. */
static void
expect_broken(struct survivor *me)
{
	it_event_t event;
	bool flushed = false;

	event = end_expect(me->end->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	g_assert_true(event.conn.ep == me->end->ep);
	g_assert_cmpint(end_state(me->end), ==, IT_EP_STATE_NONOPERATIONAL);
	/* all completions come before the event of the end. */
	while (it_evd_dequeue(me->end->request, &event) == IT_SUCCESS) {
		count_request(me, &event);
		g_assert_false(flushed && event.dto_cmpl.dto_status == IT_DTO_SUCCESS);
		flushed = event.dto_cmpl.dto_status != IT_DTO_SUCCESS;
	}
	g_assert_cmpuint(me->completed, ==, me->posted);
	while (it_evd_dequeue(me->end->recv, &event) == IT_SUCCESS)
		me->received++;
	g_assert_cmpuint(me->received, ==, me->receives);
	/* a post after the end is flushed. */
	post_receives(me->end, 1);
	event = end_next(me->end->recv);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
}

static void
survivor_open(struct survivor *me)
{
	memset(me, 0, sizeof(*me));
	g_assert_true(end_open(&me->pair.active));
	g_assert_true(end_open(&me->pair.passive));
	end_new_ep(&me->pair.active);
	end_new_ep(&me->pair.passive);
	pair_listen(&me->pair);
}

static void
survivor_close(struct survivor *me)
{
	g_assert_cmpint(it_listen_free(me->pair.listen), ==, IT_SUCCESS);
	end_close(&me->pair.active);
	end_close(&me->pair.passive);
}

/* The victim connected to this process. */
static void
survive_client(const char *mode, gulong us)
{
	g_autofree struct survivor *me = g_new0(struct survivor, 1);
	struct place far = {0};
	struct killed killed;
	struct place near;
	it_event_t event;
	char line[64];

	survivor_open(me);
	me->end = &me->pair.passive;
	killed = victim_start("client", mode, me->pair.qual.conn_qual.port);
	event = end_expect(me->end->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	near = place_of(me->end);
	post_receives(me->end, RECV_SLOTS);
	me->receives = RECV_SLOTS;
	g_assert_cmpint(
		it_ep_accept(me->end->ep, event.conn_req.cn_est_id, (void *)&near, sizeof(near)),
		==, IT_SUCCESS);
	end_expect(me->end->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	victim_says(&killed, line, sizeof(line));
	if (strcmp(mode, "exec") == 0) {
		g_assert_cmpint(kill(killed.pid, SIGUSR1), ==, 0);
	} else {
		work(me, "idle", &far, us);
		victim_kill(&killed);
	}
	expect_broken(me);
	if (strcmp(mode, "exec") == 0)
		victim_kill(&killed);
	survivor_close(me);
}

/* This process connected to the victim, and is in the middle of its own work. */
static void
survive_server(const char *mode, gulong us)
{
	g_autofree struct survivor *me = g_new0(struct survivor, 1);
	struct killed killed;
	struct place far;
	it_event_t event;
	char line[64];

	survivor_open(me);
	me->end = &me->pair.active;
	killed = victim_start("server", is_stream(mode) ? "idle" : mode, 0);
	victim_says(&killed, line, sizeof(line));
	me->pair.qual.conn_qual.port = (uint16_t)atoi(line);
	post_receives(me->end, RECV_SLOTS);
	me->receives = RECV_SLOTS;
	pair_connect(&me->pair);
	event = end_expect(me->end->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	memcpy(&far, event.conn.private_data, sizeof(far));
	victim_says(&killed, line, sizeof(line));
	if (strcmp(mode, "exec") == 0) {
		g_assert_cmpint(kill(killed.pid, SIGUSR1), ==, 0);
	} else {
		work(me, mode, &far, us);
		victim_kill(&killed);
	}
	expect_broken(me);
	if (strcmp(mode, "exec") == 0)
		victim_kill(&killed);
	survivor_close(me);
}

/* Descriptors that are open when no adapter is, after the library was used. */
static unsigned
descriptors_at_rest(void)
{
	struct end end;

	g_assert_true(end_open(&end));
	end_close(&end);
	return pair_descriptors();
}

static void
test_client_killed(gconstpointer mode)
{
	unsigned before = descriptors_at_rest();

	for (gulong us = 0; us < 5; us++)
		survive_client(mode, us * us * 2000);
	PAIR_UNTIL(pair_descriptors() <= before);
}

static void
test_server_killed(gconstpointer mode)
{
	unsigned before = descriptors_at_rest();

	for (gulong us = 0; us < 5; us++)
		survive_server(mode, us * us * 2000);
	PAIR_UNTIL(pair_descriptors() <= before);
}

/* The server dies before it has answered: a failed attempt, not a broken connection. */
static void
test_mute_server_killed(void)
{
	g_autofree struct survivor *me = g_new0(struct survivor, 1);
	struct killed killed;
	it_event_t event;
	char line[64];

	survivor_open(me);
	killed = victim_start("server", "mute", 0);
	victim_says(&killed, line, sizeof(line));
	me->pair.qual.conn_qual.port = (uint16_t)atoi(line);
	post_receives(&me->pair.active, 3);
	pair_connect(&me->pair);
	victim_says(&killed, line, sizeof(line));
	victim_kill(&killed);
	event = end_expect(me->pair.active.cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	g_assert_cmpint(event.conn.reject_reason_code, ==, IT_CN_REJ_OTHER);
	for (int i = 0; i < 3; i++) {
		event = end_next(me->pair.active.recv);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
	}
	survivor_close(me);
}

/*
 * The client dies while its request waits for an answer: the identifier becomes invalid, or the accept fails. An iWARP responder is
 * established when it has sent its reply; in shared memory the reply may be written before the end of the other process is known.
 */
static void
test_mute_client_killed(void)
{
	const bool may_come_up = strcmp(pair_adapter(), "shm:iwarp") == 0;
	g_autofree struct survivor *me = g_new0(struct survivor, 1);
	struct killed killed;
	it_status_t status;
	it_event_t event;
	char line[64];

	survivor_open(me);
	killed = victim_start("client", "mute", me->pair.qual.conn_qual.port);
	event = end_expect(me->pair.passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	victim_says(&killed, line, sizeof(line));
	victim_kill(&killed);
	status = it_ep_accept(me->pair.passive.ep, event.conn_req.cn_est_id, NULL, 0);
	if (status == IT_SUCCESS) {
		event = end_next(me->pair.passive.cm_msg);
		if (may_come_up && event.event_number == IT_CM_MSG_CONN_ESTABLISHED_EVENT)
			end_expect(me->pair.passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
		else
			g_assert_cmpint(event.event_number, ==,
					IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	} else {
		g_assert_cmpint(status, ==, IT_ERR_INVALID_CN_EST_ID);
	}
	survivor_close(me);
}

/*
 * A client ends its connections in order and exits at once. The answer to the first end finds no process, but the ends
 * of the other connections, which the client sent before it exited, must still count.
 */
static void
test_client_left(void)
{
	g_autofree struct survivor *me = g_new0(struct survivor, 1);
	it_ep_handle_t eps[LEAVERS];
	struct killed killed;
	it_event_t event;
	char line[64];
	int status;

	survivor_open(me);
	killed = victim_start("client", "leave", me->pair.qual.conn_qual.port);
	for (int i = 0; i < LEAVERS; i++) {
		if (i > 0) {
			me->pair.passive.ep = NULL;
			end_new_ep(&me->pair.passive);
		}
		eps[i] = me->pair.passive.ep;
		event = end_expect(me->pair.passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
		g_assert_cmpint(it_ep_accept(eps[i], event.conn_req.cn_est_id, NULL, 0), ==,
				IT_SUCCESS);
		end_expect(me->pair.passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	}
	victim_says(&killed, line, sizeof(line));
	g_assert_cmpint(kill(killed.pid, SIGUSR1), ==, 0);
	g_assert_cmpint(waitpid(killed.pid, &status, 0), ==, killed.pid);
	g_assert_cmpint(status, ==, 0);
	fclose(killed.out);
	for (int i = 0; i < LEAVERS; i++)
		end_expect(me->pair.passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	for (int i = 1; i < LEAVERS; i++)
		g_assert_cmpint(it_ep_free(eps[i]), ==, IT_SUCCESS);
	me->pair.passive.ep = eps[0];
	survivor_close(me);
}

int
main(int argc, char **argv)
{
	static const char *const modes[] = {"idle", "write", "send", "read", "fork", "exec"};
	int status;

	if (argc == 6 && strcmp(argv[1], "victim") == 0)
		return victim(argv);
	g_test_init(&argc, &argv, NULL);
	signal(SIGPIPE, SIG_IGN);
	self = g_file_read_link("/proc/self/exe", NULL);
	g_assert_nonnull(self);
	pair_use(argc > 1 ? argv[1] : "iwarp");
	for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
		g_autofree char *client = g_strdup_printf("/itapi/%s/processes/client-killed/%s",
							  pair_adapter(), modes[i]);
		g_autofree char *server = g_strdup_printf("/itapi/%s/processes/server-killed/%s",
							  pair_adapter(), modes[i]);

		g_test_add_data_func(client, modes[i], test_client_killed);
		g_test_add_data_func(server, modes[i], test_server_killed);
	}
	pair_add_bare("processes/server-killed/mute", test_mute_server_killed);
	pair_add_bare("processes/client-killed/mute", test_mute_client_killed);
	/* A process that stops does not hold up the end of another one's connections, unless that end is a protocol. */
	if (g_str_has_prefix(pair_adapter(), "shm"))
		pair_add_bare("processes/client-left", test_client_left);
	status = g_test_run();
	g_free(self);
	return status;
}
