/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kald_play.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 60

static void
die_with_parent(void *arg)
{
	(void)arg;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static int
try_connect(const struct play *play)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = PATIENCE_S};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	g_assert_cmpint(fd, >=, 0);
	g_strlcpy(addr.sun_path, play->socket, sizeof(addr.sun_path));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int errors = -1;

void
play_stderr(int fd)
{
	errors = fd;
}

void
play_again(struct play *play)
{
	const char *program = g_getenv("KALD");
	char *argv[] = {(char *)program, "--socket", play->socket, "--policy", play->policy, NULL};
	g_autoptr(GError) error = NULL;
	int fd = -1;

	g_assert_nonnull(program);
	g_assert_true(g_spawn_async_with_fds(
		NULL, argv, NULL,
		(GSpawnFlags)(G_SPAWN_DO_NOT_REAP_CHILD |
			      (errors < 0 ? G_SPAWN_STDERR_TO_DEV_NULL : G_SPAWN_DEFAULT)),
		die_with_parent, NULL, &play->pid, -1, -1, errors, &error));
	for (unsigned i = 0; i < PATIENCE_S * 1000 && fd < 0; i++) {
		g_usleep(1000);
		fd = try_connect(play);
	}
	g_assert_cmpint(fd, >=, 0);
	close(fd);
}

struct play
play_begin(const char *policy)
{
	struct play play = {.folder = g_dir_make_tmp("kald-XXXXXX", NULL)};

	play.socket = g_build_filename(play.folder, "socket", NULL);
	play.policy = g_build_filename(play.folder, "kald.conf", NULL);
	g_assert_true(g_file_set_contents(play.policy, policy != NULL ? policy : "", -1, NULL));
	play_again(&play);
	return play;
}

void
play_end(struct play *play, bool kill_it)
{
	int status;

	if (play->pid == 0)
		return;
	g_assert_cmpint(kill(play->pid, kill_it ? SIGKILL : SIGTERM), ==, 0);
	g_assert_cmpint(waitpid(play->pid, &status, 0), ==, play->pid);
	if (!kill_it)
		g_assert_cmpint(status, ==, 0);
	play->pid = 0;
}

void
play_policy(struct play *play, const char *policy)
{
	g_assert_true(g_file_set_contents(play->policy, policy, -1, NULL));
	g_assert_cmpint(kill(play->pid, SIGHUP), ==, 0);
}

void
play_free(struct play *play)
{
	g_autofree char *lock = g_strdup_printf("%s.lock", play->socket);

	play_end(play, false);
	(void)g_unlink(lock);
	(void)g_unlink(play->socket);
	(void)g_unlink(play->policy);
	(void)g_rmdir(play->folder);
	g_free(play->socket);
	g_free(play->policy);
	g_free(play->folder);
}

int
play_connect(const struct play *play)
{
	int fd = try_connect(play);

	g_assert_cmpint(fd, >=, 0);
	return fd;
}

int
play_sharer(const struct play *play)
{
	struct kald_message m, reply;
	int fd = play_join(play, KALD_CLIENT, NULL);

	kald_message_begin(&m, KALD_OPEN, 1, KALD_OK);
	strcpy(m.body.name.name, "roce:lo");
	play_ask(fd, &m, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_OK);
	return fd;
}

struct kald_addr
play_address(uint8_t last)
{
	uint32_t pid = (uint32_t)getpid();

	return (struct kald_addr){
		.family = AF_INET,
		.port = 4791,
		.octets = {127, (uint8_t)(100 + pid % 100), (uint8_t)(pid / 100 % 250), last}};
}

void
play_send(int fd, const struct kald_message *message)
{
	ssize_t n;

	do
		n = send(fd, message, message->head.length, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	g_assert_cmpint(n, ==, message->head.length);
}

bool
play_receive(int fd, struct kald_message *message)
{
	_Alignas(8) uint8_t octets[KALD_MESSAGE_MAX + 1];
	ssize_t n;

	do
		n = recv(fd, octets, sizeof(octets), 0);
	while (n < 0 && errno == EINTR); /* after SIGSTOP, with a time-out */
	g_assert_false(n < 0 && errno == EAGAIN);
	if (n <= 0)
		return false;
	g_assert_cmpint(kald_message_read(octets, (size_t)n, message), ==, KALD_READ);
	return true;
}

bool
play_is_ended(int fd)
{
	struct kald_message message;

	while (play_receive(fd, &message))
		;
	return true;
}

void
play_ask(int fd, const struct kald_message *request, struct kald_message *reply)
{
	play_send(fd, request);
	do
		g_assert_true(play_receive(fd, reply));
	while (reply->head.number != (request->head.number | KALD_REPLY) ||
	       reply->head.id != request->head.id);
}

void
play_send_with(int to, const struct kald_message *message, const int *fds, size_t count)
{
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(200 * sizeof(int))];
	} control = {{0}};
	struct iovec part = {.iov_base = (void *)(uintptr_t)message,
			     .iov_len = message->head.length};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};

	if (count > 0) {
		packet.msg_control = &control;
		packet.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
	}
	g_assert_cmpint(sendmsg(to, &packet, MSG_NOSIGNAL), >, 0);
}

size_t
play_receive_with(int from, struct kald_message *message, int fds[KALD_SHARE_FDS])
{
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(KALD_SHARE_FDS * sizeof(int))];
	} control;
	struct iovec part = {.iov_base = message, .iov_len = sizeof(*message)};
	struct msghdr packet = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = &control,
				.msg_controllen = CMSG_LEN(KALD_SHARE_FDS * sizeof(int))};
	struct cmsghdr *c;
	size_t count = 0;
	ssize_t got;

	/* A process that is stopped and goes on finds its receive interrupted, since that has a time limit. */
	do
		got = recvmsg(from, &packet, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	g_assert_cmpint(got, >, 0);
	c = CMSG_FIRSTHDR(&packet);
	if (c != NULL) {
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
	}
	return count;
}

int
play_join(const struct play *play, enum kald_kind kind, struct kald_message *welcome)
{
	struct kald_message hello, reply;
	int fd = play_connect(play);

	kald_message_begin(&hello, KALD_HELLO, 7, KALD_OK);
	hello.body.hello.version_min = 1;
	hello.body.hello.version_max = KALD_VERSION;
	hello.body.hello.kind = kind;
	play_ask(fd, &hello, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_OK);
	g_assert_cmpint(reply.body.welcome.version, ==, KALD_VERSION);
	if (welcome != NULL)
		*welcome = reply;
	return fd;
}

uint64_t
play_borrow(int fd, enum kal_resource resource, uint64_t amount, struct kald_message *reply)
{
	struct kald_message request, own;

	reply = reply != NULL ? reply : &own;
	kald_message_begin(&request, KALD_BORROW, 21, KALD_OK);
	request.body.amount.resource = resource;
	request.body.amount.amount = amount;
	play_ask(fd, &request, reply);
	return reply->head.status == KALD_OK ? reply->body.amount.amount : 0;
}

void
play_return(int fd, enum kal_resource resource, uint64_t amount)
{
	struct kald_message request;

	kald_message_begin(&request, KALD_RETURN, 0, KALD_OK);
	request.body.amount.resource = resource;
	request.body.amount.amount = amount;
	play_send(fd, &request);
}

uint64_t
play_lent(int tool, enum kald_level level, uint32_t id, enum kal_resource resource,
	  uint32_t *processes)
{
	struct kald_message request, reply;

	kald_message_begin(&request, KALD_LIMITS, 5, KALD_OK);
	request.body.limits.level = level;
	request.body.limits.id = id;
	play_ask(tool, &request, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_OK);
	if (processes != NULL)
		*processes = reply.body.limited.processes;
	return reply.body.limited.lent[resource];
}

GArray *
play_list(int tool)
{
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(struct kald_entry));
	struct kald_message request, reply;

	kald_message_begin(&request, KALD_LIST, 6, KALD_OK);
	do {
		play_ask(tool, &request, &reply);
		g_assert_cmpint(reply.head.status, ==, KALD_OK);
		g_array_append_vals(entries, reply.body.listed.entries, reply.body.listed.count);
		request.body.list.after = reply.body.listed.next;
	} while (reply.body.listed.next != 0);
	return entries;
}
