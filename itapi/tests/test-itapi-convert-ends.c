/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Conversions of a socket that fail or end early [IT 11.3]: the peer goes away at each step, orderly or by a reset,
 * sends half of its frame, or nothing. The test keeps one end of the TCP connection and plays the peer; where a
 * process must be killed there are two.
 */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "it_stream.h"

#define RECEIVES 2
#define MESSAGE  "over to you\n"

static char
	*self; /* the file of this program; /proc/self/exe would lead valgrind to its own program */

/* Post receives and convert the socket `sd`: as the initiator if `asks`, else as the responder. */
static void
begin(struct end *end, int sd, bool asks, it_sc_flags_t flags)
{
	it_lmr_triplet_t in = end_segment(end, 4096, 100);

	for (int i = 0; i < RECEIVES; i++)
		g_assert_cmpint(it_post_recv((it_handle_t)end->ep, &in, 1, 1, 0), ==, IT_SUCCESS);
	g_assert_cmpint(stream_convert(end, sd, flags, asks ? NULL : MESSAGE), ==, IT_SUCCESS);
}

/*
 * The connection has ended with that event. All completions came before it, and the endpoint can be used
 * again.
 */
static it_event_t
over(struct end *end, it_event_type_t number)
{
	it_event_t last = end_expect(end->cm_msg, number), event;

	g_assert_true(last.conn.ep == end->ep);
	g_assert_cmpint(end_state(end), ==, IT_EP_STATE_NONOPERATIONAL);
	for (int i = 0; i < RECEIVES; i++) {
		g_assert_cmpint(it_evd_dequeue(end->recv, &event), ==, IT_SUCCESS);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
	}
	end_expect_none(end->recv);
	end_reset(end);
	end_expect_none(end->cm_msg);
	return last;
}

static void
established(struct end *end)
{
	end_expect(end->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}

static void
failed(struct end *end, it_conn_reject_code_t code)
{
	it_event_t event = over(end, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);

	g_assert_cmpint(event.conn.reject_reason_code, ==, code);
}

/* Without MPA frames an endpoint is connected before its peer sends anything; then the connection ends. */
static void
test_no_frames(struct pair *pair)
{
	/* The first octets announce a frame of 32 octets; nothing else in it is valid. */
	static const char nonsense[40] = "\0 so much for segments and checksums";
	struct end *end = &pair->active;
	int sd[2];

	for (int i = 0; i < 8; i++) {
		bool asks = i % 2 == 0;

		stream_open(sd, AF_INET);
		if (i / 2 == 0) /* the peer has closed its direction before */
			shutdown(sd[1], SHUT_WR);
		begin(end, sd[0], asks, IT_SC_NO_REQ_REP);
		if (i / 2 > 0)
			g_assert_cmpint(end_state(end), ==, IT_EP_STATE_CONNECTED);
		established(end);
		if (i / 2 == 1)
			shutdown(sd[1], SHUT_WR);
		if (i / 2 == 2)
			stream_say(sd[1], nonsense, sizeof(nonsense));
		if (i / 2 == 3)
			stream_reset(sd[1]);
		(void)over(end, i / 2 < 2 ? IT_CM_MSG_CONN_DISCONNECT_EVENT
					  : IT_CM_MSG_CONN_BROKEN_EVENT);
		if (i / 2 < 3) {
			(void)stream_drain(sd[1]);
			close(sd[1]);
		}
		close(sd[0]);
	}
	/* A socket that was reset before is not connected. */
	stream_open(sd, AF_INET);
	stream_reset(sd[1]);
	stream_await_reset(sd[0]);
	g_assert_cmpint(stream_convert(end, sd[0], IT_SC_NO_REQ_REP, NULL), ==,
			IT_ERR_INVALID_CONVERSION);
	close(sd[0]);
}

/* Receive what the endpoint sends in the start-up, before the peer answers. */
static void
listen_to(int sd, bool asks)
{
	if (asks)
		stream_hear(sd, stream_request, STREAM_FRAME);
	else
		stream_hear(sd, MESSAGE, strlen(MESSAGE));
}

/* The peer closes in the middle of its frame. */
static void
test_half_frame(struct pair *pair)
{
	struct end *end = &pair->active;
	static const size_t cuts[] = {1, 15, 16, 19};
	int sd[2];

	for (unsigned i = 0; i < 4 * G_N_ELEMENTS(cuts); i++) {
		bool asks = i % 2 == 0, orderly = i / 2 % 2 == 0;

		stream_open(sd, AF_INET);
		begin(end, sd[0], asks, IT_SC_DEFAULT);
		listen_to(sd[1], asks);
		stream_say(sd[1], asks ? stream_reply : stream_request, cuts[i / 4]);
		if (orderly)
			shutdown(sd[1], SHUT_WR);
		else
			stream_reset(sd[1]);
		failed(end, IT_CN_REJ_OTHER);
		if (orderly) {
			g_assert_false(stream_drain(
				sd[1])); /* the endpoint resets; the stream cannot be used */
			close(sd[1]);
		}
		close(sd[0]);
	}
}

/* A frame that arrives octet by octet is valid; then the peer closes without an RDMA message. */
static void
test_after_frames(struct pair *pair)
{
	struct end *end = &pair->active;
	int sd[2];

	for (int i = 0; i < 4; i++) {
		bool asks = i % 2 == 0, orderly = i / 2 == 0;

		stream_open(sd, AF_INET);
		begin(end, sd[0], asks, IT_SC_DEFAULT);
		listen_to(sd[1], asks);
		for (int at = 0; at < STREAM_FRAME; at++)
			stream_say(sd[1], (asks ? stream_reply : stream_request) + at, 1);
		if (!asks)
			stream_hear(sd[1], stream_reply, STREAM_FRAME);
		if (orderly)
			shutdown(sd[1], SHUT_WR);
		established(end);
		if (!orderly)
			stream_reset(sd[1]);
		(void)over(end,
			   orderly ? IT_CM_MSG_CONN_DISCONNECT_EVENT : IT_CM_MSG_CONN_BROKEN_EVENT);
		if (orderly) {
			(void)stream_drain(sd[1]);
			close(sd[1]);
		}
		close(sd[0]);
	}
}

/* A frame of the wrong kind, or of an unknown revision. */
static void
test_wrong_frame(struct pair *pair)
{
	struct end *end = &pair->active;
	char frame[STREAM_FRAME];
	int sd[2];

	for (int i = 0; i < 4; i++) {
		bool asks = i % 2 == 0;

		memcpy(frame, (asks == (i < 2)) ? stream_request : stream_reply, STREAM_FRAME);
		if (i >= 2)
			frame[17] = 9; /* the revision */
		stream_open(sd, AF_INET);
		begin(end, sd[0], asks, IT_SC_DEFAULT);
		listen_to(sd[1], asks);
		stream_say(sd[1], frame, STREAM_FRAME);
		failed(end, IT_CN_REJ_BAD_CONN_PARMS);
		g_assert_false(stream_drain(sd[1]));
		close(sd[1]);
		close(sd[0]);
	}
}

/* The application disconnects, or frees the endpoint, while the peer is silent: the peer sees a reset. */
static void
test_abort(struct pair *pair)
{
	struct end *end = &pair->active;
	int sd[2];

	for (int i = 0; i < 4; i++) {
		bool asks = i % 2 == 0;

		stream_open(sd, AF_INET);
		begin(end, sd[0], asks, IT_SC_DEFAULT);
		listen_to(sd[1], asks);
		g_assert_cmpint(end_state(end), ==,
				asks ? IT_EP_STATE_ACTIVE1_CONNECTION_PENDING
				     : IT_EP_STATE_PASSIVE_WAIT_RDMA_TRANS_REQ);
		if (i / 2 == 0) {
			g_assert_cmpint(it_ep_disconnect(end->ep, NULL, 0), ==, IT_SUCCESS);
			(void)over(end, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		} else {
			end_new_ep(end);
		}
		g_assert_false(stream_drain(sd[1]));
		close(sd[0]);
		close(sd[1]);
	}
}

/* The peer is silent: TIMEOUT after the time that the administrator configured. */
static void
test_silence(struct pair *pair)
{
	g_autofree char *path = g_strdup("/tmp/itapi-convert-XXXXXX");
	int sd[2];

	(void)pair;
	close(g_mkstemp(path));
	g_assert_true(g_file_set_contents(path, "[mpa]\nconvert-timeout = 1\n", -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
	struct end end RI_AT_END(end_close);
	g_assert_true(end_open(&end));
	g_unsetenv("ITAPI_CONFIG");
	g_assert_cmpint(g_unlink(path), ==, 0);
	end_new_ep(&end);
	for (int i = 0; i < 2; i++) {
		stream_open(sd, AF_INET);
		begin(&end, sd[0], i == 0, IT_SC_DEFAULT);
		listen_to(sd[1], i == 0);
		failed(&end, IT_CN_REJ_TIMEOUT);
		g_assert_false(stream_drain(sd[1]));
		close(sd[0]);
		close(sd[1]);
	}
}

/* The lowest number that no descriptor has. */
static int
lowest_number(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	close(fd);
	return fd;
}

/* Too few descriptors, from none at all on: the call says so and nothing has changed. */
static void
test_resources(struct pair *pair)
{
	struct end *end = &pair->active;
	it_status_t status = IT_ERR_RESOURCES;
	struct rlimit before, tight;
	int sd[2], number, spare = 0;

	stream_open(sd, AF_INET);
	number = lowest_number();
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
	for (; status == IT_ERR_RESOURCES && spare < 20; spare++) {
		g_assert_cmpint(end_state(end), ==, IT_EP_STATE_UNCONNECTED);
		stream_say(sd[0], "still mine", 10);
		stream_hear(sd[1], "still mine", 10);
		tight = before;
		/* None at all first: the service thread may have had a lower number open for a moment. */
		tight.rlim_cur = spare == 0 ? 0 : (rlim_t)number + (rlim_t)spare - 1;
		g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &tight), ==, 0);
		status = stream_convert(end, sd[0], IT_SC_DEFAULT, NULL);
		g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
	}
	g_assert_cmpint(status, ==, IT_SUCCESS);
	g_assert_cmpint(spare, >, 1);
	stream_hear(sd[1], stream_request, STREAM_FRAME);
	stream_say(sd[1], stream_reply, STREAM_FRAME);
	established(end);
	shutdown(sd[1], SHUT_WR);
	end_expect(end->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_reset(end);
	close(sd[0]);
	close(sd[1]);
}

/* --- another process, which dies ------------------------------------------------------------------ */

/* `victim ADAPTER ROLE FLAGS SD`: converts, prints a line, and runs until it is killed. */
static int
victim(char **argv)
{
	it_sc_flags_t flags = (it_sc_flags_t)atoi(argv[4]);
	bool asks = strcmp(argv[3], "asks") == 0;
	struct end end;

	pair_use(argv[2]);
	g_assert_true(end_open(&end));
	end_new_ep(&end);
	if (asks) /* the last message of the other end */
		stream_hear(atoi(argv[5]), MESSAGE, strlen(MESSAGE));
	begin(&end, atoi(argv[5]), asks, flags);
	close(atoi(argv[5]));
	established(&end);
	puts("up");
	fflush(stdout);
	sleep(600);
	return 1;
}

/* Start it with that socket; returns when it has printed its line. */
static pid_t
victim_start(bool asks, it_sc_flags_t flags, int sd, FILE **out)
{
	g_autofree char *number = g_strdup_printf("%d", sd);
	g_autofree char *mode = g_strdup_printf("%d", (int)flags);
	int ends[2];
	pid_t pid;

	g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
	pid = fork();
	g_assert_cmpint(pid, >=, 0);
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		(void)fcntl(sd, F_SETFD, 0);
		execl(self, "victim", "victim", pair_adapter(), asks ? "asks" : "waits", mode,
		      number, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	*out = fdopen(ends[0], "r");
	g_assert_nonnull(*out);
	return pid;
}

/* A process that converted its end is killed: the other end sees BROKEN, in every role. */
static void
test_killed(struct pair *pair)
{
	struct end *end = &pair->active;
	char line[16];
	int sd[2], status;

	for (int i = 0; i < 4; i++) {
		it_sc_flags_t flags = i / 2 == 0 ? IT_SC_DEFAULT : IT_SC_NO_REQ_REP;
		bool asks = i % 2 == 0;
		FILE *out;
		pid_t pid;

		stream_open(sd, AF_INET);
		pid = victim_start(!asks, flags, sd[1], &out);
		close(sd[1]);
		if (asks)
			stream_hear(sd[0], MESSAGE, strlen(MESSAGE));
		begin(end, sd[0], asks, flags);
		close(sd[0]);
		established(end);
		g_assert_nonnull(fgets(line, sizeof(line), out));
		g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
		g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
		(void)over(end, IT_CM_MSG_CONN_BROKEN_EVENT);
		fclose(out);
	}
}

static void
add_tests(void)
{
	pair_add_for(NEEDS_CONVERSION, "convert/no-frames", test_no_frames);
	pair_add_for(NEEDS_CONVERSION, "convert/half-frame", test_half_frame);
	pair_add_for(NEEDS_CONVERSION, "convert/after-frames", test_after_frames);
	pair_add_for(NEEDS_CONVERSION, "convert/wrong-frame", test_wrong_frame);
	pair_add_for(NEEDS_CONVERSION, "convert/abort", test_abort);
	pair_add_for(NEEDS_CONVERSION, "convert/silence", test_silence);
	pair_add_for(NEEDS_CONVERSION, "convert/resources", test_resources);
	pair_add_for(NEEDS_CONVERSION, "convert/killed", test_killed);
}

int
main(int argc, char **argv)
{
	int result;

	if (argc == 6 && strcmp(argv[1], "victim") == 0)
		return victim(argv);
	self = g_file_read_link("/proc/self/exe", NULL);
	g_assert_nonnull(self);
	result = pair_main(argc, argv, add_tests);
	g_free(self);
	return result;
}
