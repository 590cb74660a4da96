/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What no client gets from the daemon: lines of its log, low ports, accounts of other users. And which client is served first. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kald_play.h"

#define NOBODY   65534
#define LOW_PORT 711 /* needs a right */
#define TRIES    50  /* of what has to happen within the 50 ms of a recall, on a busy machine */

/* The log escapes the name that a client gives: it begins no line of its own, and no control code reaches a terminal. */
static void
test_log(void)
{
	static const char name[] = "x\nkald: user 0 stopped pid 1\r\033[2J\x9b\x7f%s";
	struct kald_message request, reply;
	g_autoptr(GString) said = g_string_new(NULL);
	struct play play;
	char octets[512];
	int ends[2], a;
	ssize_t n;

	g_assert_cmpint(pipe(ends), ==, 0);
	play_stderr(ends[1]);
	play = play_begin("[policy]\nadapters = emul:*\n");
	play_stderr(-1);
	close(ends[1]);
	a = play_join(&play, KALD_CLIENT, NULL);
	kald_message_begin(&request, KALD_OPEN, 8, KALD_OK);
	g_strlcpy(request.body.name.name, name, KALD_NAME);
	play_ask(a, &request, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_FORBIDDEN);
	/* The client gets its own octets. */
	g_assert_nonnull(strstr(reply.body.refusal.text, name));
	close(a);
	play_free(&play);
	while ((n = read(ends[0], octets, sizeof(octets))) > 0)
		g_string_append_len(said, octets, n);
	close(ends[0]);
	g_assert_nonnull(strstr(
		said->str, "adapter x\\x0akald: user 0 stopped pid 1\\x0d\\x1b[2J\\x9b\\x7f%s\n"));
	for (gsize i = 0; i < said->len; i++)
		g_assert_true(g_ascii_isprint(said->str[i]) || said->str[i] == '\n');
	g_assert_null(strstr(said->str, "\nkald: user 0"));
}

/* No low port for a socket that connects, either: it could listen at that port later. */
static void
test_low_ports(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(in);
	struct kald_message request, reply;
	int listener RI_AT_END(ri_at_end_close) = socket(AF_INET, SOCK_STREAM, 0);
	int fds[KALD_SHARE_FDS], a;

	g_assert_cmpint(bind(listener, (struct sockaddr *)&in, len), ==, 0);
	g_assert_cmpint(listen(listener, 4), ==, 0);
	g_assert_cmpint(getsockname(listener, (struct sockaddr *)&in, &len), ==, 0);
	struct play play RI_AT_END(play_free) =
		play_begin("[policy]\ndial = true\ngrant-ports = 712\n");
	a = play_join(&play, KALD_CLIENT, NULL);
	kald_message_begin(&request, KALD_DIAL, 9, KALD_OK);
	request.body.dial.peer.family = request.body.dial.local.family = AF_INET;
	request.body.dial.peer.port = ntohs(in.sin_port);
	memcpy(request.body.dial.peer.octets, &in.sin_addr, 4);
	memcpy(request.body.dial.local.octets, &in.sin_addr, 4);
	for (unsigned i = 0; i < 2; i++) {
		request.body.dial.local.port = i == 0 ? LOW_PORT : IPPORT_RESERVED - 1;
		play_ask(a, &request, &reply);
		g_assert_cmpint(reply.head.status, ==, KALD_FORBIDDEN);
		g_assert_nonnull(strstr(reply.body.refusal.text, "[policy] grant-ports = 712 ("));
		g_assert_nonnull(
			strstr(reply.body.refusal.text, i == 0 ? "port 711" : "port 1023"));
	}
	/* Any port of the kernel's choice, one that everybody may have, and one that was granted. */
	for (unsigned i = 0; i < 3; i++) {
		request.body.dial.local.port = i == 0 ? 0 : i == 1 ? 31712 : LOW_PORT + 1;
		play_send(a, &request);
		if (play_receive_with(a, &reply, fds) == 1)
			close(fds[0]);
		else
			g_assert_cmpint(reply.head.status, ==,
					KALD_SYSTEM); /* in use, or no root */
		g_assert_true(i > 0 || reply.head.status == KALD_OK);
	}
	close(a);
}

/* A host that reserves other ports than those below 1024, in a network namespace of its own, whose loopback is down. */
static int
reserved_elsewhere(void)
{
	static const struct {
		const char *first;
		uint16_t port;
		bool given;
	} cases[] = {{"2048", 2047, false},
		     {"2048", 2048, true},
		     {"700", 699, false},
		     {"700", LOW_PORT, true},
		     {"0", 1, true}};
	struct kald_message request, reply;
	int fds[KALD_SHARE_FDS], a;

	if (unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWNET | CLONE_NEWUSER) != 0)
		return 77;
	struct play play RI_AT_END(play_free) = play_begin("[policy]\ndial = true\n");
	a = play_join(&play, KALD_CLIENT, NULL);
	kald_message_begin(&request, KALD_DIAL, 9, KALD_OK);
	request.body.dial.peer.family = request.body.dial.local.family = AF_INET;
	request.body.dial.peer.port = 9;
	request.body.dial.peer.octets[0] = 127;
	request.body.dial.peer.octets[3] = 1;
	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		int file = open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY);

		if (file < 0 || write(file, cases[i].first, strlen(cases[i].first)) < 0)
			return 77;
		close(file);
		request.body.dial.local.port = cases[i].port;
		play_send(a, &request);
		if (play_receive_with(a, &reply, fds) == 1)
			close(fds[0]);
		/* Where the right is there, the daemon may still fail. */
		g_assert_cmpint(reply.head.status == KALD_FORBIDDEN, ==, !cases[i].given);
	}
	close(a);
	return 0;
}

static void
test_reserved_ports(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(reserved_elsewhere());
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		g_test_skip("needs a network namespace");
	else
		g_assert_cmpint(status, ==, 0);
}

/* --- precedence ------------------------------------------------------------------------------------------ */

static void
amount(struct kald_message *message, enum kald_number number, uint64_t objects)
{
	kald_message_begin(message, (uint16_t)number, 21, KALD_OK);
	message->body.amount.resource = KAL_RESOURCE_QP;
	message->body.amount.amount = objects;
}

/* Receive the answer to a KALD_BORROW; events before it are dropped. */
static enum kald_status
answer(int fd)
{
	struct kald_message message;

	do
		g_assert_true(play_receive(fd, &message));
	while (message.head.number != (KALD_BORROW | KALD_REPLY));
	return message.head.status;
}

/* `a` has all 10, and `b` waits for 6 of them: `a` was asked. */
static void
queue_up(const struct play *play, int *a, int *b)
{
	struct kald_message message;

	*a = play_join(play, KALD_CLIENT, NULL);
	*b = play_join(play, KALD_CLIENT, NULL);
	g_assert_cmpuint(play_borrow(*a, KAL_RESOURCE_QP, 4, NULL), ==, 10);
	amount(&message, KALD_BORROW, 6);
	play_send(*b, &message);
	g_assert_true(play_receive(*a, &message));
	g_assert_cmpint(message.head.number, ==, KALD_RECALL);
}

/* Has the user that much in the end? */
static bool
comes_to(int tool, uint64_t objects)
{
	for (unsigned i = 0; i < 5000; i++) {
		if (play_lent(tool, KALD_LEVEL_USER, (uint32_t)getuid(), KAL_RESOURCE_QP, NULL) ==
		    objects)
			return true;
		g_usleep(1000);
	}
	return false;
}

static void
hang_up(const struct play *play, int a, int b)
{
	int tool RI_AT_END(ri_at_end_close) = play_join(play, KALD_TOOL, NULL);

	close(a);
	close(b);
	g_assert_true(comes_to(tool, 0));
}

/* What is returned goes to the one that waits, not to the one that asks next. */
static void
test_returned(void)
{
	struct kald_message back, again;
	enum kald_status got = KALD_NO_ROOM;
	int a, b;
	struct play play RI_AT_END(play_free) = play_begin("[limits.user]\nqp = 10\n");

	amount(&back, KALD_RETURN, 6);
	amount(&again, KALD_BORROW, 6);
	for (unsigned i = 0; i < TRIES && got != KALD_OK; i++) {
		queue_up(&play, &a, &b);
		play_send(a, &back);
		play_send(a, &again);
		got = answer(b);
		hang_up(&play, a, b);
	}
	g_assert_cmpint(got, ==, KALD_OK);
}

/* Nor does what a process had that has ended. */
static void
test_left_over(void)
{
	struct kald_message wrong, all;
	enum kald_status got = KALD_NO_ROOM;
	int a, b, c;
	struct play play RI_AT_END(play_free) = play_begin("[limits.user]\nqp = 10\n");

	kald_message_begin(&wrong, KALD_LIST, 0, KALD_OK); /* of tools */
	amount(&all, KALD_BORROW, 10);
	for (unsigned i = 0; i < TRIES && got != KALD_OK; i++) {
		c = play_join(&play, KALD_CLIENT, NULL);
		queue_up(&play, &a, &b);
		play_send(a, &wrong);
		g_assert_true(play_is_ended(a));
		play_send(c, &all);
		got = answer(b);
		close(c);
		hang_up(&play, a, b);
	}
	g_assert_cmpint(got, ==, KALD_OK);
}

/* A process that is stopped while it waits gets nothing of what is returned then. */
static void
test_stopped(void)
{
	struct kald_message back, stop, reply;
	int a, b;
	struct play play RI_AT_END(play_free) = play_begin("[limits.user]\nqp = 10\n");
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);

	queue_up(&play, &a, &b);
	kald_message_begin(&stop, KALD_STOP, 5, KALD_OK);
	stop.body.stop.pid = (uint32_t)getpid();
	play_ask(tool, &stop, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_OK);
	amount(&back, KALD_RETURN, 6);
	play_send(a, &back);
	g_assert_cmpint(answer(b), !=, KALD_OK);
	g_assert_true(comes_to(tool, 4));
	close(a);
	close(b);
}

/* --- another user ---------------------------------------------------------------------------------------- */

/* As `nobody` whose group is root's: 0, or what was wrong. */
static int
stranger_looks(const struct play *play, uint32_t pid)
{
	struct kald_message request, reply;
	int tool = play_join(play, KALD_TOOL, NULL), own = play_join(play, KALD_CLIENT, NULL);
	GArray *entries = play_list(tool);

	if (entries->len != 1 || g_array_index(entries, struct kald_entry, 0).uid != NOBODY)
		return 1;
	kald_message_begin(&request, KALD_STOP, 6, KALD_OK);
	request.body.stop.pid = pid;
	play_ask(tool, &request, &reply);
	if (reply.head.status != KALD_ABSENT)
		return 2;
	/* A group or a process with the number of the user is not the user. */
	kald_message_begin(&request, KALD_LIMITS, 7, KALD_OK);
	request.body.limits.id = NOBODY;
	for (unsigned level = 0; level < KALD_LEVEL_COUNT; level++) {
		request.body.limits.level = level;
		play_ask(tool, &request, &reply);
		if ((reply.head.status == KALD_OK) != (level == KALD_LEVEL_USER))
			return 3;
	}
	close(own);
	return 0;
}

static void
test_stranger(void)
{
	int own, status;
	pid_t pid;

	if (getuid() != 0) {
		g_test_skip("needs another user");
		return;
	}
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	g_assert_cmpint(chmod(play.folder, 0755), ==, 0);
	own = play_join(&play, KALD_CLIENT, NULL);
	pid = fork();
	if (pid == 0) {
		if (setgid(getgid()) != 0 || setuid(NOBODY) != 0)
			_exit(99);
		_exit(stranger_looks(&play, (uint32_t)getppid()));
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_true(WIFEXITED(status));
	g_assert_cmpint(WEXITSTATUS(status), ==, 0);
	close(own);
}

/* --- descriptors that nobody reads ----------------------------------------------------------------------- */

#define MAY_OPEN \
	2080u /* descriptors of this kald. A user may leave a fourth of them unread: those of 8 answers */
#define ANSWERS 12u

/* An address for this process alone, since the test may run twice at once. */
static struct kald_addr shared = {.family = AF_INET, .port = 4791, .octets = {127, 83}};

/* Ask for a slot at an address, and give it back without a look at the answer. */
static void
share(int fd, const struct kald_addr *at, bool over)
{
	int proof = socket(AF_INET, SOCK_DGRAM, 0);
	struct kald_message m;

	kald_message_begin(&m, KALD_SHARE, 9, KALD_OK);
	m.body.share.at = *at;
	play_send_with(fd, &m, &proof, 1);
	close(proof);
	m.head.number = KALD_SHARE_OVER;
	if (over)
		play_send(fd, &m);
}

/* Reads the next answer to share(). True: it has descriptors; false: a refusal, since too many are unread. */
static bool
shared_reply(int fd)
{
	int fds[KALD_SHARE_FDS];
	struct kald_message m;
	size_t count;

	do
		count = play_receive_with(fd, &m, fds);
	while (m.head.number != (KALD_SHARE | KALD_REPLY));
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	if (m.head.status == KALD_OK) {
		g_assert_cmpuint(count, ==, KALD_SHARE_FDS);
		return true;
	}
	g_assert_cmpuint(count, ==, 0);
	g_assert_cmpint((int)m.body.refusal.error, ==, ETOOMANYREFS);
	return false;
}

/* Until the list has `clients` clients, and one listens at the port if it is not 0. */
static void
await_clients(int tool, unsigned clients, uint16_t port)
{
	for (unsigned i = 0; i < 1000; i++) {
		g_autoptr(GArray) entries = play_list(tool);
		bool seen = port == 0;

		for (guint j = 0; j < entries->len; j++)
			seen = seen ||
			       g_array_index(entries, struct kald_entry, j).ports[0] == port;
		if (seen && entries->len == clients)
			return;
		g_usleep(10000);
	}
	g_assert_not_reached();
}

/* Ask for many without reading; all are answered when this returns. */
static void
leave_unread(int fd, int tool, unsigned clients)
{
	struct kald_message m;

	for (unsigned i = 0; i < ANSWERS; i++)
		share(fd, &shared, true);
	kald_message_begin(&m, KALD_LISTEN, 10, KALD_OK);
	m.body.listen.at = (struct kald_addr){.family = AF_INET, .port = 9};
	m.body.listen.have = 1;
	play_send(fd, &m);
	await_clients(tool, clients, 9);
}

/* Another user is served meanwhile. */
static void
stranger_shares(const struct play *play)
{
	struct kald_addr own = shared;
	int status, fd;
	pid_t pid = getuid() == 0 ? fork() : -1;

	if (pid == 0) {
		if (setuid(NOBODY) != 0)
			_exit(99);
		own.octets[1]++;
		fd = play_sharer(play);
		share(fd, &own, false);
		_exit(shared_reply(fd) ? 0 : 1);
	}
	if (pid < 0)
		return;
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
}

/* A user that leaves descriptors unread gets no more, whether its connections live or have ended; it does when it has read them. */
static void
test_unread(void)
{
	const struct rlimit few = {.rlim_cur = MAY_OPEN, .rlim_max = MAY_OPEN};
	int a;
	struct kald_message m;
	unsigned had = 0;
	bool again = false;

	shared.octets[2] = (uint8_t)(getpid() >> 8);
	shared.octets[3] = (uint8_t)getpid();
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
	struct play play RI_AT_END(play_free) = play_begin(NULL);
	g_assert_cmpint(chmod(play.folder, 0755), ==, 0);
	int tool RI_AT_END(ri_at_end_close) = play_join(&play, KALD_TOOL, NULL);
	int holder RI_AT_END(ri_at_end_close) = play_sharer(&play);
	share(holder, &shared, false);
	g_assert_true(shared_reply(holder));
	int b RI_AT_END(ri_at_end_close) = play_sharer(&play);
	a = play_sharer(&play);
	leave_unread(a, tool, 3);
	share(b, &shared, true);
	g_assert_false(shared_reply(b));
	stranger_shares(&play);
	for (unsigned i = 0; i < ANSWERS; i++)
		had += shared_reply(a);
	/* The holder reads no events, so that its answer may count, too. */
	g_assert_cmpuint(had, <=, MAY_OPEN / 4 / KALD_SHARE_FDS);
	g_assert_cmpuint(had, >=, MAY_OPEN / 4 / KALD_SHARE_FDS - 1);
	/* The rest is an event and the answer about its port. */
	while (recv(a, &m, sizeof(m), MSG_DONTWAIT) > 0)
		continue;
	share(b, &shared, true);
	g_assert_true(shared_reply(b));
	close(a);
	await_clients(tool, 2, 0);
	share(b, &shared, true);
	g_assert_true(shared_reply(b));
	/* Ended by kald, for a wrong message; this end stays, and with it what is unread. */
	a = play_sharer(&play);
	leave_unread(a, tool, 3);
	kald_message_begin(&m, KALD_LIST, 0, KALD_OK);
	play_send(a, &m);
	await_clients(tool, 2, 0);
	share(b, &shared, true);
	g_assert_false(shared_reply(b));
	stranger_shares(&play);
	close(a);
	for (unsigned i = 0; i < 500 && !again; i++) {
		g_usleep(20000);
		share(b, &shared, true);
		again = shared_reply(b);
	}
	g_assert_true(again);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kald/rights/log", test_log);
	g_test_add_func("/kald/rights/low-ports", test_low_ports);
	g_test_add_func("/kald/rights/reserved-ports", test_reserved_ports);
	g_test_add_func("/kald/rights/returned", test_returned);
	g_test_add_func("/kald/rights/left-over", test_left_over);
	g_test_add_func("/kald/rights/stopped", test_stopped);
	g_test_add_func("/kald/rights/stranger", test_stranger);
	g_test_add_func("/kald/rights/unread", test_unread); /* lowers a limit of this process */
	return g_test_run();
}
