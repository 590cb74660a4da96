/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The daemon, in this process, and clients that an input plays: connections, packets with any
 * octets, and requests that begin as valid ones. A bystander client must be served all the time,
 * the sums of the accounts must match the sessions, and an invalid packet must end only its own
 * connection. Each packet is also given to the client's parser.
 *
 * Input: commands of one octet, which has a client (two bits) and its action; the arguments of the action follow.
 */
#include "fuzz.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "kald_net.h"
#include "kald_server.h"
#include "ri_fd.h"

#define CLIENTS  4 /* the first one takes no part */
#define COMMANDS 64

static struct {
	struct kald_server *server;
	struct sockaddr_un addr;
	socklen_t len;
	int clients[CLIENTS]; /* -1: not connected */
} w;

static void
be_quiet(const gchar *text)
{
	(void)text;
}

/* Have the daemon do all that it can do now. */
static void
run_daemon(void)
{
	while (g_main_context_iteration(NULL, FALSE))
		;
}

static int
client_connect(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	FUZZ_REQUIRE(fd >= 0);
	FUZZ_REQUIRE(connect(fd, (struct sockaddr *)&w.addr, w.len) == 0);
	run_daemon();
	return fd;
}

static void
client_hello(int fd, enum kald_kind kind)
{
	struct kald_message hello;

	kald_message_begin(&hello, KALD_HELLO, 1, KALD_OK);
	hello.body.hello.version_min = hello.body.hello.version_max = 1;
	hello.body.hello.kind = kind;
	(void)!send(fd, &hello, hello.head.length, MSG_NOSIGNAL);
	fuzz_messages(1);
	run_daemon();
}

/* Read what the daemon says: always a message. */
static void
client_read(int fd)
{
	struct kald_message message;
	uint8_t octets[KALD_MESSAGE_MAX + 1];
	ssize_t n;

	while ((n = recv(fd, octets, sizeof(octets), 0)) > 0)
		FUZZ_REQUIRE(kald_message_read(octets, (size_t)n, &message) == KALD_READ);
	run_daemon();
}

/* Each account has lent what its sessions have. */
static void
check_sums(void)
{
	for (unsigned level = 0; level < KALD_LEVEL_COUNT; level++) {
		uint64_t sums[KAL_RESOURCE_COUNT] = {0};
		const struct kald_account *account = NULL;
		unsigned members = 0;

		/* All sessions are of this process, so of one account on each level. */
		for (GList *at = w.server->sessions.head; at != NULL; at = at->next) {
			const struct kald_session *session = at->data;

			if (session->kind != KALD_CLIENT)
				continue;
			account = session->borrower.accounts[level];
			members++;
			for (unsigned r = 0; r < KAL_RESOURCE_COUNT; r++)
				sums[r] += session->borrower.leases[r].amount;
		}
		FUZZ_REQUIRE(account != NULL && account->members == members);
		FUZZ_REQUIRE(memcmp(sums, account->lent, sizeof(sums)) == 0);
	}
}

/* The one that takes no part gets its answers. */
static void
check_served(void)
{
	struct kald_message request, reply;
	ssize_t n = -1;

	kald_message_begin(&request, KALD_REQUESTS_END, 77, KALD_OK);
	request.head.length = sizeof(request.head);
	client_read(w.clients[0]);
	FUZZ_REQUIRE(send(w.clients[0], &request, request.head.length, MSG_NOSIGNAL) > 0);
	/* Clients whose requests took long have to pause first. */
	do {
		n = recv(w.clients[0], &reply, sizeof(reply), 0);
		if (n < 0 && errno == EAGAIN)
			g_main_context_iteration(NULL, TRUE);
	} while (n < 0 ? errno == EAGAIN : n > 0 && reply.head.id != 77);
	FUZZ_REQUIRE(n > 0 && reply.head.status == KALD_NOT_KNOWN);
}

/* A packet of the input, with a right head or with any. */
static void
send_packet(struct fuzz_input *in, int fd, bool right)
{
	struct kald_message message;
	struct kald_message parsed;
	size_t len = fuzz_number(in, 1), here;
	const uint8_t *octets = fuzz_take(in, len, &here);
	uint8_t *packet;

	if (right) {
		kald_message_begin(&message, (uint16_t)(1 + fuzz_u8(in) % KALD_REQUESTS_END), 9,
				   KALD_OK);
		memcpy(&message.body, octets, here);
		if (fuzz_u8(in) % 8 == 0)
			message.head.length += fuzz_u8(in);
		octets = (const uint8_t *)&message;
		here = message.head.length < sizeof(message) ? message.head.length
							     : sizeof(message);
	}
	packet = fuzz_copy(octets, here);
	(void)kald_message_read(packet, here, &parsed);
	if (fd >= 0)
		(void)!send(fd, packet, here, MSG_NOSIGNAL);
	fuzz_messages(1);
	free(packet);
	run_daemon();
}

static void
command(struct fuzz_input *in)
{
	uint8_t octet = fuzz_u8(in);
	int *fd = &w.clients[1 + (octet & 3) % (CLIENTS - 1)];
	struct kald_net net;
	char text[48] = "";
	const uint8_t *octets;
	size_t len;

	switch (octet >> 2 & 7) {
	case 0:
	case 1:
		if (*fd >= 0)
			close(*fd);
		*fd = client_connect();
		if ((octet >> 2 & 7) == 1)
			client_hello(*fd, 1 + (octet >> 5) % 2);
		break;
	case 2:
		if (*fd >= 0)
			client_read(*fd);
		break;
	case 3:
		octets = fuzz_take(in, octet >> 5 << 2, &len);
		memcpy(text, octets, len);
		if (kald_net_read(text, &net))
			FUZZ_REQUIRE(kald_nets_have(&net, 1, net.family, net.octets) ||
				     net.family == AF_INET6);
		break;
	case 4:
		send_packet(in, *fd, false);
		break;
	default:
		send_packet(in, *fd, true);
		break;
	}
}

static void
daemon_begin(void)
{
	int fd = ri_fd_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	g_set_printerr_handler(be_quiet);
	w.addr.sun_family = AF_UNIX;
	w.len = sizeof(w.addr);
	/* The kernel chooses a name without a file. */
	FUZZ_REQUIRE(bind(fd, (struct sockaddr *)&w.addr, offsetof(struct sockaddr_un, sun_path)) ==
		     0);
	FUZZ_REQUIRE(getsockname(fd, (struct sockaddr *)&w.addr, &w.len) == 0);
	FUZZ_REQUIRE(listen(fd, SOMAXCONN) == 0);
	w.server = kald_server_new(fd, NULL, NULL);
	FUZZ_REQUIRE(w.server != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	struct fuzz_input in = {octets, len};

	if (w.server == NULL)
		daemon_begin();
	for (unsigned i = 0; i < CLIENTS; i++)
		w.clients[i] = -1;
	w.clients[0] = client_connect();
	client_hello(w.clients[0], KALD_CLIENT);
	for (unsigned i = 0; i < COMMANDS && in.left > 0; i++) {
		command(&in);
		check_sums();
	}
	check_served();
	for (unsigned i = 0; i < CLIENTS; i++)
		if (w.clients[i] >= 0)
			close(w.clients[i]);
	/* Some pause, and threads close them; a user may have a number of sessions that are not closed yet. */
	while (w.server->sessions.length + g_hash_table_size(w.server->by_user) != 0)
		g_main_context_iteration(NULL, TRUE);
	return 0;
}
