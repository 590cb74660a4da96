/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The daemon runs in this process, and clients do anything in any order. After each step the
 * daemon's counts are compared with a new count (kald_sums.h), and its descriptors with its
 * sessions and groups. Clients may stop reading, and share addresses across restarts of the daemon.
 */
#include <errno.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "kald_play.h"
#include "kald_sums.h"
#include "ri_fd.h"

#define CLIENTS   10
#define STEPS     900
#define ADDRESSES 3
#define RESOURCE  KAL_RESOURCE_QP

/* Under the first rules all goes; under the second some limit is in the way. */
static const char *const policies[] = {
	"[policy]\ndial = true\ngrant-ports = 1-65535\n[limits.user]\nqp = 400\n",
	"[policy]\ndial = true\nports = 1-60000\nprocesses = 8\npeers = "
	"127.0.0.0/8\n[limits.user]\nqp = 90\n",
};

/* What a client has of an address: descriptors, which it shows to the next daemon, and its slot. */
struct held {
	int fds[KALD_SHARE_FDS];
	size_t count;
	uint32_t slot;
};

struct client {
	int fd; /* -1: not connected */
	uint64_t serial;
	bool mute; /* it reads nothing */
	struct held held[ADDRESSES];
	int asked; /* the address of its last KALD_SHARE */
};

static struct {
	struct kald_server *server;
	struct sockaddr_un addr;
	socklen_t len;
	int listener, busy; /* busy: a port that is taken */
	uint16_t busy_port;
	char *folder, *policy;
	GRand *chance;
	unsigned fds; /* of the process, without those of the server and of clients */
	struct client clients[CLIENTS];
} w;

/* --- calls that fail -------------------------------------------------------------------------------------- */

/* In the daemon's main loop, not in its threads and clients: how many more calls succeed, and whether one may fail at all. */
static _Thread_local unsigned until_failure;
static _Thread_local bool in_daemon;
/* The kernel refuses a third of the programs that steer packets. */
static bool refuses_programs;

static bool
fails(void)
{
	if (!in_daemon || until_failure == 0 || --until_failure != 0)
		return false;
	errno = ENOMEM;
	return true;
}

/* Instead of those of the C library. */
int
setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (in_daemon && refuses_programs && name == SO_ATTACH_REUSEPORT_CBPF &&
	    g_rand_int_range(w.chance, 0, 3) == 0) {
		errno = ENOMEM;
		return -1;
	}
	return fails() ? -1 : (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}

int
getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return fails() ? -1 : (int)syscall(SYS_getsockopt, fd, level, name, value, len);
}

int
socket(int domain, int type, int protocol)
{
	return fails() ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

int
memfd_create(const char *name, unsigned flags)
{
	return fails() ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

static unsigned
count_fds(void)
{
	g_autoptr(GDir) folder = g_dir_open("/proc/self/fd", 0, NULL);
	unsigned count = 0;

	while (g_dir_read_name(folder) != NULL)
		count++;
	return count;
}

static uint32_t
chance(uint32_t of)
{
	return (uint32_t)g_rand_int_range(w.chance, 0, (gint32)of);
}

/* --- the daemon ------------------------------------------------------------------------------------------- */

static void
run_daemon(void)
{
	in_daemon = true;
	while (g_main_context_iteration(NULL, FALSE))
		;
	in_daemon = false;
}

static unsigned
fds_of_clients(void)
{
	unsigned fds = 0;

	for (unsigned i = 0; i < CLIENTS; i++) {
		fds += w.clients[i].fd >= 0;
		for (unsigned k = 0; k < ADDRESSES; k++)
			fds += (unsigned)w.clients[i].held[k].count;
	}
	return fds;
}

static bool
is_taking(void)
{
	for (GList *at = w.server->sessions.head; at != NULL; at = at->next)
		if (((const struct kald_session *)at->data)->taking != NULL)
			return true;
	return false;
}

/* What threads examine and close apart is done after a while. */
static void
check(bool exactly)
{
	unsigned expected = 0, now = 0;

	run_daemon();
	for (unsigned i = 0; is_taking() && i < 5000; i++) {
		g_usleep(1000);
		run_daemon();
	}
	kald_sums_check(w.server);
	for (unsigned i = 0; exactly && i < 2000; i++) {
		expected = w.fds + kald_sums_fds(w.server) + fds_of_clients();
		now = count_fds();
		if (now == expected)
			break;
		g_usleep(1000);
		run_daemon();
	}
	g_assert_cmpuint(now, ==, expected);
}

static void
daemon_begin(void)
{
	struct kal_why why;

	w.server = kald_server_new(w.listener, w.policy, &why);
	g_assert_nonnull(w.server);
}

static void
policy_write(unsigned which)
{
	g_assert_true(g_file_set_contents(w.policy, policies[which], -1, NULL));
}

/* --- clients ---------------------------------------------------------------------------------------------- */

static struct kald_session *
session_of(const struct client *client)
{
	for (GList *at = w.server->sessions.head; client->fd >= 0 && at != NULL; at = at->next)
		if (((const struct kald_session *)at->data)->serial == client->serial)
			return at->data;
	return NULL;
}

static struct kald_addr
address(unsigned which)
{
	return play_address((uint8_t)(40 + which));
}

static void
held_drop(struct held *held)
{
	for (size_t i = 0; i < held->count; i++)
		close(held->fds[i]);
	held->count = 0;
}

static void
say(struct client *client, const struct kald_message *message, const int *fds, size_t count)
{
	if (count > 0)
		play_send_with(client->fd, message, fds, count);
	else
		(void)!send(client->fd, message, message->head.length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Answer what the daemon asks, and keep what it gives. */
static void
heed(struct client *client, const struct kald_message *message, int *fds, size_t count)
{
	const struct kald_session *session = session_of(client);
	struct kald_message reply;

	if (message->head.number == KALD_DESCRIBE) {
		kald_message_begin(&reply, KALD_DESCRIPTION, 0, KALD_OK);
		say(client, &reply, NULL, 0);
	} else if (message->head.number == KALD_RECALL && session != NULL) {
		kald_message_begin(&reply, KALD_RETURN, 0, KALD_OK);
		reply.body.amount.resource = message->body.amount.resource;
		reply.body.amount.amount = chance(2) * session->borrower.leases[RESOURCE].amount;
		say(client, &reply, NULL, 0);
	} else if (message->head.number == (KALD_SHARE | KALD_REPLY) &&
		   message->head.status == KALD_OK && count == KALD_SHARE_FDS) {
		struct held *held = &client->held[client->asked];

		held_drop(held);
		memcpy(held->fds, fds, sizeof(held->fds));
		held->count = count;
		held->slot = message->body.shared.slot;
		return;
	}
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

/* False: the connection has ended. */
static bool
read_all(struct client *client)
{
	for (;;) {
		struct kald_message message;
		int fds[KALD_SHARE_FDS];
		uint8_t control[CMSG_SPACE(sizeof(fds))];
		struct iovec part = {.iov_base = &message, .iov_len = sizeof(message)};
		struct msghdr packet = {.msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = control,
					.msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(client->fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&packet) : NULL;
		size_t count = c != NULL ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		if (c != NULL)
			memcpy(fds, CMSG_DATA(c), count * sizeof(int));
		heed(client, &message, fds, count);
		run_daemon();
	}
}

static void
leave(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	run_daemon();
}

static void
join_as(struct client *client, enum kald_kind kind, uint64_t lent)
{
	uint64_t before;
	struct kald_message hello;

	leave(client);
	before = w.server->next_serial;
	client->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	g_assert_cmpint(connect(client->fd, (struct sockaddr *)&w.addr, w.len), ==, 0);
	run_daemon();
	client->serial =
		w.server->next_serial != before ? w.server->next_serial : 0; /* 0: turned away */
	kald_message_begin(&hello, KALD_HELLO, 1, KALD_OK);
	hello.body.hello.version_min = hello.body.hello.version_max = 1;
	hello.body.hello.kind = kind;
	hello.body.hello.lent[RESOURCE] = lent;
	say(client, &hello, NULL, 0);
	run_daemon();
}

static void
join(struct client *client)
{
	struct kald_message open;

	join_as(client, chance(4) == 0 ? KALD_TOOL : KALD_CLIENT, chance(3) == 0 ? chance(20) : 0);
	client->mute = chance(4) == 0;
	kald_message_begin(&open, KALD_OPEN, 2, KALD_OK);
	strcpy(open.body.name.name, "roce:lo");
	if (chance(2) == 0)
		say(client, &open, NULL, 0);
}

/* A share, or a claim of what an earlier daemon gave, right or wrong. */
static void
share(struct client *client, struct kald_message *message)
{
	unsigned which = chance(ADDRESSES);
	struct held *held = &client->held[which];
	int proof;

	kald_message_begin(message, KALD_SHARE, 9, KALD_OK);
	message->body.share.at = address(which);
	client->asked = (int)which;
	if (held->count == KALD_SHARE_FDS && chance(3) != 0) {
		message->body.share.claim = held->slot + 1 + (chance(8) == 0);
		if (message->body.share.claim <= KALD_SLOTS)
			say(client, message, held->fds, chance(8) == 0 ? 3 : held->count);
		return;
	}
	proof = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	say(client, message, &proof, 1);
	close(proof);
}

/* A request that may be right, of any kind. */
static void
request_fill(struct client *client, struct kald_message *message, uint16_t number)
{
	const struct kald_session *session = session_of(client);
	struct kald_addr here = {.family = AF_INET, .octets = {127, 0, 0, 1}};

	kald_message_begin(message, number, 11, KALD_OK);
	here.port = chance(2) == 0 ? w.busy_port : (uint16_t)(61000 + chance(4));
	message->body.listen.at = here;
	if (number == KALD_BORROW || number == KALD_RETURN) {
		message->body.amount = (struct kald_amount){.resource = RESOURCE};
		message->body.amount.amount = 1 + chance(30);
	}
	if (number == KALD_RETURN)
		message->body.amount.amount =
			session != NULL
				? session->borrower.leases[RESOURCE].amount / (1 + chance(2))
				: 0;
	if (number == KALD_OPEN || number == KALD_CLOSE)
		g_strlcpy(message->body.name.name, chance(2) == 0 ? "roce:lo" : "emul:ib",
			  sizeof(message->body.name.name));
	if (number == KALD_DIAL) {
		message->body.dial.peer = here;
		message->body.dial.local = here;
		message->body.dial.local.port = w.busy_port;
	}
	if (number == KALD_LIST || number == KALD_SHARES)
		message->body.list.after = 0;
	if (number == KALD_LIMITS)
		message->body.limits = (struct kald_limits){KALD_LEVEL_USER, (uint32_t)getuid()};
	if (number == KALD_STOP)
		message->body.stop = (struct kald_stop){.pid = 1};
	if (number == KALD_SHARE_OVER)
		message->body.share = (struct kald_share){.at = address(chance(ADDRESSES))};
	if (number == KALD_SERVICE || number == KALD_SERVICE_OVER)
		message->body.service = (struct kald_service){.at = address(chance(ADDRESSES)),
							      .service = chance(4)};
}

static void
ask(struct client *client)
{
	static const uint16_t of_clients[] = {
		KALD_BORROW, KALD_BORROW,     KALD_BORROW,  KALD_RETURN,       KALD_OPEN,
		KALD_CLOSE,  KALD_LISTEN,     KALD_LISTEN,  KALD_LISTEN_OVER,  KALD_DIAL,
		KALD_SHARE,  KALD_SHARE,      KALD_SERVICE, KALD_SERVICE_OVER, KALD_SHARE,
		KALD_SHARE,  KALD_SHARE_OVER, KALD_SERVICE,
	};
	static const uint16_t of_tools[] = {KALD_LIST, KALD_LIST,   KALD_LIMITS,
					    KALD_STOP, KALD_SHARES, KALD_WATCH};
	const struct kald_session *session = session_of(client);
	struct kald_message message;
	uint16_t number;

	if (session == NULL || session->kind == 0)
		return;
	number = session->kind == KALD_TOOL ? of_tools[chance(G_N_ELEMENTS(of_tools))]
					    : of_clients[chance(G_N_ELEMENTS(of_clients))];
	if (number == KALD_SHARE) {
		share(client, &message);
		return;
	}
	request_fill(client, &message, number);
	say(client, &message, NULL, 0);
}

/* The daemon ends, and another one begins; clients have what they had. */
static void
restart(void)
{
	kald_server_free(w.server);
	for (unsigned i = 0; i < CLIENTS; i++)
		leave(&w.clients[i]);
	/* What was unread is left to the end of a daemon's process. */
	daemon_begin();
	g_usleep(60000); /* threads of the daemon before close what they have */
	w.fds = count_fds() - fds_of_clients();
	check(true);
}

/* More at once than a user may have: the last ones are turned away. */
static void
crowd(void)
{
	int fds[50];

	for (unsigned i = 0; i < G_N_ELEMENTS(fds); i++) {
		fds[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		g_assert_cmpint(connect(fds[i], (struct sockaddr *)&w.addr, w.len), ==, 0);
	}
	run_daemon();
	kald_sums_check(w.server);
	for (unsigned i = 0; i < G_N_ELEMENTS(fds); i++)
		close(fds[i]);
}

static void
step(void)
{
	struct client *client = &w.clients[chance(CLIENTS)];
	struct kal_why why;

	switch (chance(24)) {
	case 0:
		leave(client);
		break;
	case 1:
		policy_write(chance(2));
		g_assert_true(kald_server_reload(w.server, &why));
		break;
	case 2:
		client->mute = !client->mute;
		break;
	case 3:
		g_usleep(chance(60000) / 8);
		break;
	case 4:
		if (chance(8) == 0)
			crowd();
		break;
	default:
		if (client->fd < 0)
			join(client);
		ask(client);
		break;
	}
	run_daemon();
	if (client->fd >= 0 && !client->mute && !read_all(client))
		leave(client);
}

static void
world_begin(uint32_t seed)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(any);

	memset(&w, 0, sizeof(w));
	w.chance = g_rand_new_with_seed(seed);
	w.folder = g_dir_make_tmp("kald-XXXXXX", NULL);
	w.policy = g_build_filename(w.folder, "kald.conf", NULL);
	policy_write(0);
	w.busy = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_assert_cmpint(bind(w.busy, (struct sockaddr *)&any, sizeof(any)), ==, 0);
	g_assert_cmpint(listen(w.busy, 1), ==, 0);
	g_assert_cmpint(getsockname(w.busy, (struct sockaddr *)&any, &len), ==, 0);
	w.busy_port = ntohs(any.sin_port);
	w.listener = ri_fd_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	w.addr.sun_family = AF_UNIX;
	w.len = sizeof(w.addr);
	/* The kernel chooses a name without a file. */
	g_assert_cmpint(bind(w.listener, (struct sockaddr *)&w.addr,
			     offsetof(struct sockaddr_un, sun_path)),
			==, 0);
	g_assert_cmpint(getsockname(w.listener, (struct sockaddr *)&w.addr, &w.len), ==, 0);
	g_assert_cmpint(listen(w.listener, SOMAXCONN), ==, 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		w.clients[i].fd = -1;
	daemon_begin();
	run_daemon();
	kald_log("seed %u", seed); /* what the first line opens is there */
	w.fds = count_fds();
}

static void
world_end(void)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		leave(&w.clients[i]);
		for (unsigned k = 0; k < ADDRESSES; k++)
			held_drop(&w.clients[i].held[k]);
	}
	/* Pauses and threads end, and nobody of any user is counted any more. */
	for (unsigned i = 0; i < 5000 && g_hash_table_size(w.server->by_user) != 0; i++) {
		g_usleep(1000);
		run_daemon();
	}
	g_assert_cmpuint(g_hash_table_size(w.server->by_user), ==, 0);
	g_assert_cmpuint(w.server->sessions.length + w.server->watchers + w.server->describing, ==,
			 0);
	kald_server_free(w.server);
	close(w.listener);
	close(w.busy);
	(void)g_unlink(w.policy);
	g_assert_cmpint(g_rmdir(w.folder), ==, 0);
	g_free(w.policy);
	g_free(w.folder);
	g_rand_free(w.chance);
}

static void
run_any(unsigned failures)
{
	const char *given = g_getenv("ITAPI_TEST_SEED");
	uint32_t first = given != NULL ? (uint32_t)g_ascii_strtoull(given, NULL, 10) : 1;

	for (uint32_t seed = first; seed < first + (given != NULL ? 1 : 3); seed++) {
		world_begin(seed);
		for (unsigned i = 0; i < STEPS; i++) {
			/* One of the calls that the daemon makes from here on. */
			until_failure = failures != 0 ? 1 + chance(failures) : 0;
			step();
			if (g_test_verbose())
				g_test_message("seed %u, step %u", seed, i);
			check(g_getenv("EX") != NULL || i % 16 == 0);
			if (i % 300 == 299)
				restart();
		}
		world_end();
	}
}

static void
test_any(void)
{
	run_any(0);
}

/* The same while calls of the system fail. */
static void
test_failures(void)
{
	run_any(12);
}

/* The same while the kernel refuses programs that steer: what is given up is given up all the same. */
static void
test_refused_programs(void)
{
	refuses_programs = true;
	run_any(0);
	refuses_programs = false;
}

/* More requests than a window has wait for what another process must return. All of them get an answer. */
static void
test_window(void)
{
	struct client *holder = &w.clients[0], *asker = &w.clients[1];
	struct kald_message borrow;
	unsigned sent = KALD_WINDOW + 8;

	world_begin(1);
	join_as(holder, KALD_CLIENT, 400);
	join_as(asker, KALD_CLIENT, 0);
	kald_message_begin(&borrow, KALD_BORROW, 7, KALD_OK);
	borrow.body.amount = (struct kald_amount){.resource = RESOURCE, .amount = 1};
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < sent; i++) {
			say(asker, &borrow, NULL, 0);
			check(false);
		}
		for (unsigned i = 0; i < 5000 && session_of(asker)->waiting != 0; i++) {
			g_usleep(1000);
			check(false);
			g_assert_true(read_all(asker));
		}
		g_assert_cmpuint(session_of(asker)->waiting, ==, 0);
	}
	world_end();
}

/* --- what a process has open ------------------------------------------------------------------------------ */

#define NAMES 3

static const char *const adapters[NAMES] = {"roce:lo", "emul:ib", "iwarp:lo"};

/* How often it has each adapter open, and listens at each port. */
struct names {
	unsigned adapters[NAMES], ports[NAMES];
};

static uint16_t
port_of(unsigned which)
{
	return (uint16_t)(4000 + which);
}

static struct names
names_of(const struct kald_session *session)
{
	struct names names = {0};

	for (unsigned which = 0; which < NAMES; which++) {
		for (guint i = 0; i < session->adapters->len; i++)
			names.adapters[which] += g_str_equal(
				g_ptr_array_index(session->adapters, i), adapters[which]);
		for (guint i = 0; i < session->ports->len; i++)
			names.ports[which] +=
				g_array_index(session->ports, uint16_t, i) == port_of(which);
	}
	return names;
}

/* One request about a name, also to close what is not open. */
static void
name_any(struct client *client, struct names *names)
{
	static const uint16_t numbers[] = {KALD_OPEN, KALD_CLOSE, KALD_LISTEN, KALD_LISTEN_OVER};
	unsigned kind = chance(G_N_ELEMENTS(numbers)), which = chance(NAMES);
	unsigned *count = kind < 2 ? &names->adapters[which] : &names->ports[which];
	struct kald_message message;

	kald_message_begin(&message, numbers[kind], 11, KALD_OK);
	if (kind < 2) {
		g_strlcpy(message.body.name.name, adapters[which], sizeof(message.body.name.name));
	} else {
		message.body.listen.at.family = AF_INET;
		message.body.listen.at.port = port_of(which);
		message.body.listen.have = 1;
	}
	say(client, &message, NULL, 0);
	if (kind % 2 == 0)
		++*count;
	else if (*count > 0)
		--*count;
}

/* A process opens and listens several times at one name, and ends each alone: kald shows what is left. */
static void
test_names(void)
{
	struct client *client = &w.clients[0];
	struct names names = {0}, shown;

	world_begin(1);
	join_as(client, KALD_CLIENT, 0);
	for (unsigned i = 0; i < 200; i++) {
		name_any(client, &names);
		check(false);
		/* It may have asked too much at once. */
		for (unsigned ms = 0; session_of(client)->pause != 0 && ms < 5000; ms++) {
			g_usleep(1000);
			check(false);
		}
		g_assert_true(read_all(client));
		shown = names_of(session_of(client));
		g_assert_cmpmem(&shown, sizeof(shown), &names, sizeof(names));
	}
	world_end();
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kald/sums/any", test_any);
	g_test_add_func("/kald/sums/failures", test_failures);
	g_test_add_func("/kald/sums/refused-programs", test_refused_programs);
	g_test_add_func("/kald/sums/window", test_window);
	g_test_add_func("/kald/sums/names", test_names);
	return g_test_run();
}
