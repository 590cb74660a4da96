/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The daemon as its clients see it: leases that are called back, rules, deaths, and clients that break every rule there is. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kald_play.h"

#define ME ((uint32_t)getuid())

static const char limits_10[] = "[limits.user]\nqp = 10\nmr = 1000\n";

static uint64_t
lent(int tool, enum kal_resource resource)
{
	return play_lent(tool, KALD_LEVEL_USER, ME, resource, NULL);
}

/* Wait until a user has that much, since the end of a client is seen by the daemon when it gets to it. */
static void
await_lent(int tool, enum kal_resource resource, uint64_t amount)
{
	for (unsigned i = 0; i < 5000 && lent(tool, resource) != amount; i++)
		g_usleep(1000);
	g_assert_cmpuint(lent(tool, resource), ==, amount);
}

/* --- leases ---------------------------------------------------------------------------------------------- */

/* What lies idle in one process is called back for another one; what is in use is not. */
static void
test_recall(void)
{
	struct kald_message message, request;
	int a, b;
	struct play play RI_AT_END(play_free) = play_begin(limits_10);

	a = play_join(&play, KALD_CLIENT, NULL);
	b = play_join(&play, KALD_CLIENT, NULL);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);
	g_assert_cmpuint(play_borrow(a, KAL_RESOURCE_QP, 4, NULL), ==, 10);
	kald_message_begin(&request, KALD_BORROW, 33, KALD_OK);
	request.body.amount.resource = KAL_RESOURCE_QP;
	request.body.amount.amount = 5;
	play_send(b, &request);
	g_assert_true(play_receive(a, &message));
	g_assert_cmpint(message.head.number, ==, KALD_RECALL);
	g_assert_cmpint(message.body.amount.resource, ==, KAL_RESOURCE_QP);
	play_return(a, KAL_RESOURCE_QP, 6);
	g_assert_true(play_receive(b, &message));
	g_assert_cmpuint(message.head.id, ==, 33);
	g_assert_cmpint(message.head.status, ==, KALD_OK);
	g_assert_cmpuint(message.body.amount.amount, ==, 6);
	g_assert_cmpuint(lent(tool, KAL_RESOURCE_QP), ==, 10);
	/* Nothing is idle: the answer of the other one is a return of nothing, and the refusal names the rule. */
	play_send(b, &request);
	g_assert_true(play_receive(a, &message));
	g_assert_cmpint(message.head.number, ==, KALD_RECALL);
	play_return(a, KAL_RESOURCE_QP, 0);
	g_assert_true(play_receive(b, &message));
	g_assert_cmpint(message.head.status, ==, KALD_NO_ROOM);
	g_assert_nonnull(strstr(message.body.refusal.text, "[limits.user] qp = 10 ("));
	g_assert_nonnull(strstr(message.body.refusal.text, "has 10 of them"));
	/* More than the limit is refused without asking anybody. */
	g_assert_cmpuint(play_borrow(b, KAL_RESOURCE_QP, 11, NULL), ==, 0);
	/* The end of a process makes room for one that waits. */
	request.body.amount.amount = 4;
	play_send(b, &request);
	g_assert_true(play_receive(a, &message));
	close(a);
	g_assert_true(play_receive(b, &message));
	g_assert_cmpint(message.head.status, ==, KALD_OK);
	close(b);
	await_lent(tool, KAL_RESOURCE_QP, 0);
}

/* Two are asked, and the second one has what is needed: the answer of the first one is not the end. */
static void
test_two(void)
{
	struct kald_message message, request;
	struct play play RI_AT_END(play_free) = play_begin(limits_10);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);
	int a RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);
	int b RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);
	int c RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);

	g_assert_cmpuint(play_borrow(a, KAL_RESOURCE_QP, 1, NULL), ==, 10);
	play_return(a, KAL_RESOURCE_QP, 5);
	await_lent(tool, KAL_RESOURCE_QP, 5);
	g_assert_cmpuint(play_borrow(b, KAL_RESOURCE_QP, 1, NULL), ==, 5);
	kald_message_begin(&request, KALD_BORROW, 34, KALD_OK);
	request.body.amount.resource = KAL_RESOURCE_QP;
	request.body.amount.amount = 3;
	play_send(c, &request);
	g_assert_true(play_receive(a, &message));
	g_assert_cmpint(message.head.number, ==, KALD_RECALL);
	g_assert_true(play_receive(b, &message));
	g_assert_cmpint(message.head.number, ==, KALD_RECALL);
	play_return(a, KAL_RESOURCE_QP, 0);
	g_assert_cmpuint(lent(tool, KAL_RESOURCE_QP), ==, 10);
	play_return(b, KAL_RESOURCE_QP, 3);
	g_assert_true(play_receive(c, &message));
	g_assert_cmpint(message.head.status, ==, KALD_OK);
	g_assert_cmpuint(message.body.amount.amount, ==, 3);
}

/* One that does not answer is not waited for longer than 50 ms, and not asked again; the others are served meanwhile. */
static void
test_late(void)
{
	struct kald_message message;
	gint64 begin;
	struct play play RI_AT_END(play_free) = play_begin(limits_10);
	int a RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);
	int b RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);

	g_assert_cmpuint(play_borrow(a, KAL_RESOURCE_QP, 1, NULL), ==, 10);
	begin = g_get_monotonic_time();
	g_assert_cmpuint(play_borrow(b, KAL_RESOURCE_QP, 1, &message), ==, 0);
	g_assert_cmpint(message.head.status, ==, KALD_NO_ROOM);
	g_assert_cmpint(g_get_monotonic_time() - begin, >=, 45000);
	g_assert_cmpuint(play_borrow(b, KAL_RESOURCE_MR, 1, NULL), ==, 65);
	g_assert_cmpuint(play_borrow(b, KAL_RESOURCE_QP, 1, NULL), ==, 0);
	g_assert_true(play_receive(a, &message));
	g_assert_cmpint(message.head.number, ==, KALD_RECALL);
	/* Its answer comes at last, and then it can be asked again. */
	play_return(a, KAL_RESOURCE_QP, 9);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);
	await_lent(tool, KAL_RESOURCE_QP, 1);
	g_assert_cmpuint(play_borrow(b, KAL_RESOURCE_QP, 1, NULL), ==, 9);
}

/* What an earlier daemon has lent is believed, up to the limit. */
static void
test_claims(void)
{
	struct kald_message hello, reply;
	int a;
	struct play play RI_AT_END(play_free) = play_begin(limits_10);

	a = play_connect(&play);
	kald_message_begin(&hello, KALD_HELLO, 7, KALD_OK);
	hello.body.hello.version_min = 1;
	hello.body.hello.version_max = 9;
	hello.body.hello.kind = KALD_CLIENT;
	hello.body.hello.lent[KAL_RESOURCE_QP] = 1000;
	hello.body.hello.lent[KAL_RESOURCE_MR] = 1000;
	hello.body.hello.lent[KAL_RESOURCE_CQ] = UINT64_MAX;
	hello.body.hello.lent[KALD_RESOURCES - 1] = 9; /* of a later version */
	play_ask(a, &hello, &reply);
	g_assert_cmpuint(reply.body.welcome.lent[KAL_RESOURCE_QP], ==, 10);
	g_assert_cmpuint(reply.body.welcome.lent[KAL_RESOURCE_MR], ==, 1000);
	g_assert_cmpuint(reply.body.welcome.lent[KALD_RESOURCES - 1], ==, 0);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);
	g_assert_cmpuint(lent(tool, KAL_RESOURCE_CQ), ==, UINT64_MAX);
	/* The other accounts do not overflow. */
	g_assert_cmpuint(play_borrow(a, KAL_RESOURCE_CQ, 1, NULL), ==, 0);
	close(a);
	await_lent(tool, KAL_RESOURCE_CQ, 0);
}

/* Two processes of a pair of connections share the account of the process; two of a user that of the user. */
static void
test_processes(void)
{
	struct kald_message hello, reply;
	uint32_t processes;
	struct play play RI_AT_END(play_free) =
		play_begin("[limits.process]\nqp = 5\n[policy]\nprocesses = 2\n");

	int a RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);
	int b RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);
	g_assert_cmpuint(play_borrow(a, KAL_RESOURCE_QP, 5, NULL), ==, 5);
	g_assert_cmpuint(play_borrow(b, KAL_RESOURCE_QP, 1, &reply), ==, 0);
	g_assert_nonnull(strstr(reply.body.refusal.text, "[limits.process] qp = 5"));
	int c RI_AT_END(ri_at_end_close) = play_connect(&play);
	kald_message_begin(&hello, KALD_HELLO, 7, KALD_OK);
	hello.body.hello.version_min = hello.body.hello.version_max = 1;
	hello.body.hello.kind = KALD_CLIENT;
	play_ask(c, &hello, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_NO_ROOM);
	g_assert_nonnull(strstr(reply.body.refusal.text, "[policy] processes = 2"));
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);
	(void)play_lent(tool, KALD_LEVEL_USER, ME, KAL_RESOURCE_QP, &processes);
	g_assert_cmpuint(processes, ==, 2);
	hello.body.hello.version_min = hello.body.hello.version_max = 2;
	play_ask(c, &hello, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_VERSION_NO);
}

/* --- rules ------------------------------------------------------------------------------------------------ */

static enum kald_status
ask_name(int fd, enum kald_number number, const char *name, char *text)
{
	struct kald_message request, reply;

	kald_message_begin(&request, (uint16_t)number, 8, KALD_OK);
	g_strlcpy(request.body.name.name, name, KALD_NAME);
	play_ask(fd, &request, &reply);
	g_strlcpy(text, reply.head.status != KALD_OK ? reply.body.refusal.text : "", KALD_TEXT);
	return reply.head.status;
}

static void
listen_request(struct kald_message *request, uint16_t port)
{
	kald_message_begin(request, KALD_LISTEN, 9, KALD_OK);
	request->body.listen.at.family = AF_INET;
	request->body.listen.at.port = port;
	request->body.listen.at.octets[0] = 127;
	request->body.listen.at.octets[3] = 1;
}

/* The descriptor that comes with the next packet, or -1. */
static int
receive_fd(int fd, struct kald_message *message)
{
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = message, .iov_len = sizeof(*message)};
	struct msghdr packet = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = &control,
				.msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	int got = -1;

	g_assert_cmpint(recvmsg(fd, &packet, 0), >, 0);
	c = CMSG_FIRSTHDR(&packet);
	if (c != NULL)
		memcpy(&got, CMSG_DATA(c), sizeof(int));
	return got;
}

static uint16_t
free_port(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(in);
	int fd RI_AT_END(ri_at_end_close) = socket(AF_INET, SOCK_STREAM, 0);

	g_assert_cmpint(bind(fd, (struct sockaddr *)&in, len), ==, 0);
	g_assert_cmpint(getsockname(fd, (struct sockaddr *)&in, &len), ==, 0);
	return ntohs(in.sin_port);
}

/* Adapters, ports with and without a socket of the daemon, and the list that shows them. */
static void
test_rules(void)
{
	uint16_t port = free_port();
	g_autofree char *policy = g_strdup_printf(
		"[policy]\nadapters = emul:*\nports = %u;7\ngrant-ports = %u\n", port, port);
	struct kald_message request, reply;
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	char text[KALD_TEXT];
	int fd, peer;
	struct play play RI_AT_END(play_free) = play_begin(policy);
	int a RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);

	g_assert_cmpint(ask_name(a, KALD_OPEN, "emul:ib", text), ==, KALD_OK);
	g_assert_cmpint(ask_name(a, KALD_OPEN, "iwarp", text), ==, KALD_FORBIDDEN);
	g_assert_nonnull(strstr(text, "[policy] adapters = emul:* ("));
	g_assert_nonnull(strstr(text, "adapter iwarp"));
	listen_request(&request, 8);
	play_ask(a, &request, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_FORBIDDEN);
	listen_request(&request, 7);
	play_send(a, &request);
	g_assert_cmpint(receive_fd(a, &reply), ==, -1);
	g_assert_cmpint(reply.head.status, ==, KALD_OK);
	listen_request(&request, port);
	play_send(a, &request);
	fd = receive_fd(a, &reply);
	g_assert_cmpint(fd, >=, 0);
	peer = socket(AF_INET, SOCK_STREAM, 0);
	g_assert_cmpint(connect(peer, (struct sockaddr *)&in, sizeof(in)), ==, 0);
	/* The daemon keeps no copy: with the client's the port is free. */
	close(peer);
	close(fd);
	play_send(a, &request);
	fd = receive_fd(a, &reply);
	g_assert_cmpint(fd, >=, 0);
	play_send(a, &request); /* taken now */
	g_assert_cmpint(receive_fd(a, &reply), ==, -1);
	g_assert_cmpint(reply.head.status, ==, KALD_SYSTEM);
	g_assert_cmpint((int)reply.body.refusal.error, ==, EADDRINUSE);
	close(fd);
	g_autoptr(GArray) entries = play_list(tool);
	g_assert_cmpuint(entries->len, ==, 1);
	g_assert_cmpstr(g_array_index(entries, struct kald_entry, 0).adapters, ==, "emul:ib");
	g_assert_cmpuint(g_array_index(entries, struct kald_entry, 0).num_ports, ==, 2);
	g_assert_cmpuint(g_array_index(entries, struct kald_entry, 0).pid, ==, getpid());
	g_assert_cmpuint(g_array_index(entries, struct kald_entry, 0).described, ==, 0);
}

/* kald connects for a client; the rules are asked again when they change, and a mistake in them changes nothing. */
static void
test_dial(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(in);
	struct kald_message request, reply;
	int listener RI_AT_END(ri_at_end_close) = socket(AF_INET, SOCK_STREAM, 0);
	int a, fd;

	g_assert_cmpint(bind(listener, (struct sockaddr *)&in, len), ==, 0);
	g_assert_cmpint(listen(listener, 1), ==, 0);
	g_assert_cmpint(getsockname(listener, (struct sockaddr *)&in, &len), ==, 0);
	struct play play RI_AT_END(play_free) =
		play_begin("[policy]\ndial = true\npeers = 127.0.0.0/8\n");
	a = play_join(&play, KALD_CLIENT, &reply);
	g_assert_cmpuint(reply.body.welcome.dials, ==, 1);
	g_assert_cmpuint(reply.body.welcome.num_nets, ==, 1);
	kald_message_begin(&request, KALD_DIAL, 9, KALD_OK);
	request.body.dial.peer.family = AF_INET;
	request.body.dial.peer.port = ntohs(in.sin_port);
	memcpy(request.body.dial.peer.octets, &in.sin_addr, 4);
	play_send(a, &request);
	fd = receive_fd(a, &reply);
	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(accept(listener, NULL, NULL), >=, 0);
	close(fd);
	request.body.dial.peer.octets[0] = 10;
	play_ask(a, &request, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_FORBIDDEN);
	g_assert_nonnull(strstr(reply.body.refusal.text, "peers = 127.0.0.0/8"));
	play_policy(&play, "[policy]\ndial = perhaps\n");
	g_usleep(50000);
	play_ask(a, &request, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_FORBIDDEN);
	play_policy(&play, "[policy]\nprivileged = true\n");
	g_assert_true(play_receive(a, &reply)); /* the welcome again */
	g_assert_cmpint(reply.head.number, ==, KALD_HELLO | KALD_REPLY);
	g_assert_cmpuint(reply.head.id, ==, 0);
	g_assert_cmpuint(reply.body.welcome.privileged, ==, 1);
	g_assert_cmpuint(reply.body.welcome.any_peer, ==, 1);
	close(a);
}

/* A process that was stopped is refused everything new; a tool that watches is notified when the process leaves. */
static void
test_stop(void)
{
	struct kald_message request, reply;
	char text[KALD_TEXT];
	int a;
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);

	kald_message_begin(&request, KALD_WATCH, 3, KALD_OK);
	play_ask(tool, &request, &reply);
	a = play_join(&play, KALD_CLIENT, NULL);
	g_assert_true(play_receive(tool, &reply));
	g_assert_cmpint(reply.body.change.what, ==, KALD_JOINED);
	kald_message_begin(&request, KALD_STOP, 4, KALD_OK);
	request.body.stop.pid = 1;
	play_ask(tool, &request, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_ABSENT);
	request.body.stop.pid = (uint32_t)getpid();
	play_ask(tool, &request, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_OK);
	g_assert_cmpuint(reply.body.stop_reply.count, ==, 1);
	g_assert_true(play_receive(a, &reply));
	g_assert_cmpint(reply.head.number, ==, KALD_STOPPED);
	/* The client gets one message, however often its session is stopped. */
	play_ask(tool, &request, &reply);
	g_assert_cmpuint(reply.body.stop_reply.count, ==, 1);
	kald_message_begin(&request, KALD_BORROW, 5, KALD_OK);
	request.body.amount = (struct kald_amount){.resource = KAL_RESOURCE_QP, .amount = 1};
	play_send(a, &request);
	g_assert_true(play_receive(a, &reply));
	g_assert_cmpint(reply.head.number, ==, KALD_BORROW | KALD_REPLY);
	g_assert_cmpuint(play_borrow(a, KAL_RESOURCE_QP, 1, &reply), ==, 0);
	g_assert_cmpint(reply.head.status, ==, KALD_FORBIDDEN);
	g_assert_cmpint(ask_name(a, KALD_OPEN, "emul:ib", text), ==, KALD_FORBIDDEN);
	g_assert_nonnull(strstr(text, "stopped by kalctl"));
	close(a);
	do
		g_assert_true(play_receive(tool, &reply));
	while (reply.body.change.what != KALD_LEFT);
}

/* --- deaths ------------------------------------------------------------------------------------------------ */

/* The process has ended, and a child that it has forked holds the socket open. */
static void
test_holder(void)
{
	int report[2], hold[2], status;
	pid_t process;
	char octet;
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);

	g_assert_cmpint(pipe(report), ==, 0);
	g_assert_cmpint(pipe(hold), ==, 0);
	process = fork();
	if (process == 0) {
		int a = play_join(&play, KALD_CLIENT, NULL);

		g_assert_cmpuint(play_borrow(a, KAL_RESOURCE_QP, 5, NULL), ==, 69);
		if (fork() == 0) {
			close(hold[1]);
			(void)!read(hold[0], &octet, 1);
			_exit(0);
		}
		(void)!write(report[1], "x", 1);
		for (;;)
			pause();
	}
	g_assert_cmpint(read(report[0], &octet, 1), ==, 1);
	g_assert_cmpuint(lent(tool, KAL_RESOURCE_QP), ==, 69);
	kill(process, SIGKILL);
	await_lent(tool, KAL_RESOURCE_QP, 0);
	g_assert_cmpint(waitpid(process, &status, 0), ==, process);
	close(hold[1]);
	close(hold[0]);
	close(report[0]);
	close(report[1]);
}

/* --- hostile clients ------------------------------------------------------------------------------------------ */

static unsigned
fds_of(const struct play *play)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/fd", play->pid);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	unsigned count = 0;

	while (g_dir_read_name(dir) != NULL)
		count++;
	return count;
}

/* The argument of the program, if it has one. */
static unsigned wrong_messages = 400;

/* Octets that nobody could mean, and requests that are not the sender's to make: each ends its own connection only. */
static void
test_wrong(void)
{
	struct kald_message m;
	int good, fd;
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);
	uint8_t octets[KALD_MESSAGE_MAX + 100];
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	good = play_join(&play, KALD_CLIENT, NULL);
	for (unsigned i = 0; i < wrong_messages; i++) {
		size_t len = (size_t)g_rand_int_range(rand, 1, sizeof(octets));

		fd = i % 2 == 0 ? play_connect(&play) : play_join(&play, KALD_CLIENT, NULL);
		for (size_t j = 0; j < sizeof(octets); j++)
			octets[j] = (uint8_t)g_rand_int(rand);
		((struct kald_head *)(void *)octets)->length = (uint32_t)len;
		((struct kald_head *)(void *)octets)->number = (uint16_t)(i % KALD_EVENTS_END);
		((struct kald_head *)(void *)octets)->version = 1;
		if (i % 3 == 0)
			((struct kald_head *)(void *)octets)->status = 0;
		g_assert_cmpint(send(fd, octets, len, MSG_NOSIGNAL), ==, (ssize_t)len);
		if (len < sizeof(struct kald_head) || i % 2 == 0)
			g_assert_true(play_is_ended(fd));
		close(fd);
	}
	/* An empty packet, a request before the first message, a second first one, a request of a tool, a return of what is not lent. */
	fd = play_connect(&play);
	g_assert_cmpint(send(fd, "", 0, MSG_NOSIGNAL), ==, 0);
	g_assert_true(play_is_ended(fd));
	close(fd);
	for (unsigned number = KALD_BORROW; number < KALD_REQUESTS_END; number++) {
		fd = play_connect(&play);
		kald_message_begin(&m, (uint16_t)number, 1, KALD_OK);
		m.body.octets[0] = 2;
		play_send(fd, &m);
		g_assert_true(play_is_ended(fd));
		close(fd);
	}
	fd = play_join(&play, KALD_CLIENT, NULL);
	kald_message_begin(&m, KALD_HELLO, 1, KALD_OK);
	m.body.hello.kind = KALD_CLIENT;
	play_send(fd, &m);
	g_assert_true(play_is_ended(fd));
	close(fd);
	fd = play_join(&play, KALD_CLIENT, NULL);
	kald_message_begin(&m, KALD_LIST, 1, KALD_OK);
	play_send(fd, &m);
	g_assert_true(play_is_ended(fd));
	close(fd);
	fd = play_join(&play, KALD_CLIENT, NULL);
	g_assert_cmpuint(play_borrow(fd, KAL_RESOURCE_QP, 1, NULL), ==, 65);
	play_return(fd, KAL_RESOURCE_QP, 66);
	g_assert_true(play_is_ended(fd));
	close(fd);
	/* A number that a later version may have is refused in words. */
	kald_message_begin(&m, KALD_REQUESTS_END, 5, KALD_OK);
	m.head.length = sizeof(m.head);
	play_send(good, &m);
	g_assert_true(play_receive(good, &m));
	g_assert_cmpint(m.head.status, ==, KALD_NOT_KNOWN);
	g_assert_cmpuint(play_borrow(good, KAL_RESOURCE_QP, 1, NULL), ==, 65);
	close(good);
}

/*
 * Many connections end at once, each because of an invalid packet. None may be refused because the
 * daemon has not closed the others yet. Some of them send an empty packet before the invalid one,
 * and more behind it.
 */
static void
test_ended(void)
{
	int fds[500];
	struct kald_message m;
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	g_assert_cmpint(kill(play.pid, SIGSTOP), ==, 0);
	for (unsigned i = 0; i < G_N_ELEMENTS(fds); i++) {
		fds[i] = play_connect(&play);
		if (i % 3 == 0)
			g_assert_cmpint(send(fds[i], "", 0, MSG_NOSIGNAL), ==, 0);
		for (unsigned more = 0; more <= i % 7; more++)
			g_assert_cmpint(send(fds[i], "wrong", 5, MSG_NOSIGNAL), ==, 5);
	}
	g_assert_cmpint(kill(play.pid, SIGCONT), ==, 0);
	for (unsigned i = 0; i < G_N_ELEMENTS(fds); i++) {
		g_assert_false(play_receive(fds[i], &m));
		close(fds[i]);
	}
}

/* Descriptors of every kind: none of them ever reaches the daemon. */
static void
test_descriptors(void)
{
	struct kald_message m;
	unsigned before;
	int fds[16], pair[2], keeper;
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	/* Welcome: so the daemon has begun, and has all descriptors that it has always. */
	keeper = play_join(&play, KALD_CLIENT, NULL);
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), ==, 0);
	for (unsigned i = 0; i < G_N_ELEMENTS(fds); i++)
		fds[i] = i % 4 == 0 ? pair[0] : i % 4 == 1 ? pair[1] : i % 4 == 2 ? 0 : 2;
	before = fds_of(&play);
	for (unsigned i = 1; i <= G_N_ELEMENTS(fds); i++) {
		int fd RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);

		kald_message_begin(&m, KALD_OPEN, 1, KALD_OK);
		m.body.name.name[0] = 'x';
		play_send_with(fd, &m, fds, i);
		g_assert_true(play_is_ended(fd));
	}
	/* The connection itself, within itself: what refers to itself is freed, too. */
	for (unsigned i = 0; i < 20; i++) {
		int fd RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);

		play_send_with(fd, &m, &fd, 1);
	}
	for (unsigned i = 0; i < 5000 && fds_of(&play) > before; i++)
		g_usleep(1000);
	g_assert_cmpuint(fds_of(&play), <=, before);
	close(keeper);
	close(pair[0]);
	close(pair[1]);
}

/* Some that flood, some that never read: the daemon reads a window of them, and serves the others. */
static void
test_floods(void)
{
	struct kald_message m;
	GArray *entries;
	int deaf[8];
	unsigned sent = 0;
	struct play play RI_AT_END(play_free) = play_begin(NULL);

	kald_message_begin(&m, KALD_OPEN, 1, KALD_OK);
	m.body.name.name[0] = 'x';
	for (unsigned i = 0; i < G_N_ELEMENTS(deaf); i++) {
		deaf[i] = play_join(&play, KALD_CLIENT, NULL);
		while (send(deaf[i], &m, m.head.length, MSG_NOSIGNAL | MSG_DONTWAIT) > 0 &&
		       sent < 100000)
			sent++;
	}
	int good RI_AT_END(ri_at_end_close) = play_join(&play, KALD_CLIENT, NULL);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);
	for (unsigned i = 0; i < 200; i++)
		g_assert_cmpuint(play_borrow(good, KAL_RESOURCE_AH, 1, NULL), >, 0);
	/* They do not describe themselves either; the list waits for 100 ms only. */
	entries = play_list(tool);
	g_assert_cmpuint(entries->len, ==, G_N_ELEMENTS(deaf) + 1);
	g_array_free(entries, TRUE);
	for (unsigned i = 0; i < G_N_ELEMENTS(deaf); i++)
		close(deaf[i]);
	for (unsigned i = 0; i < 5000; i++) {
		entries = play_list(tool);
		if (entries->len == 1)
			break;
		g_array_free(entries, TRUE);
	}
	g_assert_cmpuint(entries->len, ==, 1);
	g_array_free(entries, TRUE);
}

/* Nobody reads what the daemon says: it serves on, and the lines are there when somebody does. */
static void
test_unread(void)
{
	g_autoptr(GString) said = g_string_new(NULL);
	const char fill[4096] = "";
	struct play play;
	char text[KALD_TEXT];
	int ends[2], a;
	ssize_t n;

	g_assert_cmpint(pipe2(ends, O_CLOEXEC | O_NONBLOCK), ==, 0);
	while (write(ends[1], fill, sizeof(fill)) > 0)
		continue;
	g_assert_cmpint(fcntl(ends[1], F_SETFL, 0), ==, 0);
	play_stderr(ends[1]);
	play = play_begin("[policy]\nadapters = emul:*\n");
	play_stderr(-1);
	close(ends[1]);
	a = play_join(&play, KALD_CLIENT, NULL);
	for (unsigned i = 0; i < 10; i++)
		g_assert_cmpint(ask_name(a, KALD_OPEN, "iwarp", text), ==, KALD_FORBIDDEN);
	g_assert_cmpint(fcntl(ends[0], F_SETFL, 0), ==, 0);
	while (strstr(said->str, "\nkald: refused pid ") == NULL) {
		n = read(ends[0], text, sizeof(text));
		g_assert_cmpint((int)n, >, 0);
		for (ssize_t i = 0; i < n; i++)
			g_string_append_c(said, text[i] != '\0' ? text[i] : '.');
	}
	close(a);
	play_free(&play);
	close(ends[0]);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (argc > 1)
		wrong_messages = (unsigned)strtoul(argv[1], NULL, 10);
	g_test_add_func("/kald/server/recall", test_recall);
	g_test_add_func("/kald/server/two", test_two);
	g_test_add_func("/kald/server/late", test_late);
	g_test_add_func("/kald/server/claims", test_claims);
	g_test_add_func("/kald/server/processes", test_processes);
	g_test_add_func("/kald/server/rules", test_rules);
	g_test_add_func("/kald/server/dial", test_dial);
	g_test_add_func("/kald/server/stop", test_stop);
	g_test_add_func("/kald/server/holder", test_holder);
	g_test_add_func("/kald/server/wrong", test_wrong);
	g_test_add_func("/kald/server/ended", test_ended);
	g_test_add_func("/kald/server/descriptors", test_descriptors);
	g_test_add_func("/kald/server/floods", test_floods);
	g_test_add_func("/kald/server/unread", test_unread);
	return g_test_run();
}
