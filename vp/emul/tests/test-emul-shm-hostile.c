/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Processes that die, and a malicious process of the same user: whatever it sends may harm only its
 * own link, and no descriptor may be left open.
 */
#include <dirent.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vem_dgram.h"
#include "vem_hostile.h"
#include "vem_remote.h"
#include "vem_runtime.h"

#define SILENT (VEM_LINKS_MAX / 2) /* links over which nobody has said anything, at most */

static const char *self;

static unsigned
descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

static unsigned
names(void)
{
	g_autofree char *path =
		g_build_filename(hostile_runtime, "itapi", "fabric", "default", NULL);
	DIR *folder = opendir(path);
	unsigned count = 0;
	struct dirent *entry;

	while (folder != NULL && (entry = readdir(folder)) != NULL)
		count += entry->d_name[0] != '.';
	if (folder != NULL)
		closedir(folder);
	return count;
}

static void
wait_until(bool (*is)(unsigned), unsigned wanted)
{
	gint64 deadline = node_deadline();

	while (!is(wanted)) {
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		g_usleep(500);
	}
}

static bool
descriptors_are(unsigned count)
{
	return descriptors() <= count;
}

static bool
names_are(unsigned count)
{
	return names() == count;
}

/* --- a process that dies ------------------------------------------------------------------ */

/* The child: connects, tells that it is there, and posts until it is killed. */
static int
child_main(void)
{
	struct vth *vth = vth_new(true);
	struct node *node = node_new_patient(vth, hostile_adapter, "60000");
	struct end *end = end_new(node, NULL);
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(HOSTILE_PORT)};
	struct ri_cm_params params = node_params(&service);
	struct chunk c = chunk_new(node, 65536, ALL_RW);
	struct ri_wc wc;

	g_assert_cmpint(node->p->cm->connect(end->qp, &params), ==, RI_SUCCESS);
	for (uint64_t i = 0;; i++) {
		(void)!end_send(end, i, &c, 0, i * 977 % 65536);
		while (node->p->fast->poll_cq(end->uscq, &wc, 1) != 0)
			continue;
	}
	return 0;
}

static pid_t
child_start(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl(self, self, hostile_adapter, "child", (char *)NULL);
		_exit(127);
	}
	g_assert_cmpint(pid, >, 0);
	return pid;
}

static void
child_kill(pid_t pid)
{
	int status;

	g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_true(WIFSIGNALED(status));
}

/* At any moment after it has connected; each time the end breaks, and nothing is left. */
static void
test_killed(void)
{
	struct server s = server_new();
	unsigned before = descriptors(), left = names();
	gint64 longest = 0;

	for (unsigned round = 0; round < 25; round++) {
		struct end *end = end_new(s.node, NULL);
		struct chunk c = chunk_new(s.node, 65536, ALL_RW);
		pid_t pid = child_start();
		struct ri_cm_event request =
			node_cm(s.node, RI_CM_REQUEST, (const void *)(uintptr_t)42);

		if (round % 5 == 4) {
			child_kill(pid);
			node_cm(s.node, RI_CM_REQUEST_GONE, (const void *)(uintptr_t)42);
		} else {
			g_assert_cmpint(s.node->p->cm->accept(request.request, end->qp, &s.params),
					==, RI_SUCCESS);
			node_cm(s.node, RI_CM_ESTABLISHED, end);
			for (unsigned i = 0; i < round % 16; i++)
				g_assert_cmpint(end_recv(end, i, &c, 0, 65536), ==, RI_SUCCESS);
			g_usleep(round * 379 % 3000);
			gint64 start = g_get_monotonic_time();
			child_kill(pid);
			node_lost(s.node, end);
			gint64 took = g_get_monotonic_time() - start;
			longest = took > longest ? took : longest;
		}
		end_free(&end);
		chunk_free(&c);
		wait_until(names_are, left);
	}
	g_test_message("the longest from the kill to the event: %.1f ms", (double)longest / 1000);
	wait_until(descriptors_are, before);
	server_free(&s);
	g_assert_cmpuint(names(), ==, 0);
}

/* Those that a dead process has left are replaced. */
static void
test_left(void)
{
	struct server s;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl(self, self, hostile_adapter, "listen", (char *)NULL);
		_exit(127);
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpuint(names(), ==, 2);
	s = server_new();
	g_assert_cmpuint(names(), ==, 2);
	server_free(&s);
	g_assert_cmpuint(names(), ==, 0);
}

/* A forked child has none of its parent's descriptors and rings; the parent's connections live on. */
static void
test_fork(void)
{
	struct server s RI_AT_END(server_free) = server_new();
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	struct node *node RI_AT_END(node_free) = node_new_patient(vth, hostile_adapter, "60000");
	struct end *a = end_new(node, NULL), *b = end_new(s.node, NULL);
	struct chunk ca = chunk_new(node, 4096, ALL_RW), cb = chunk_new(s.node, 4096, ALL_RW);
	struct ri_wc wc = {0};
	int status;

	ends_connect(a, b);
	pid_t pid = fork();
	if (pid == 0) {
		char path[64], target[128];

		for (int fd = 3; fd < 200; fd++) {
			(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
			ssize_t len = readlink(path, target, sizeof(target) - 1);
			if (len > 0 && memmem(target, (size_t)len, "itapi-ring", 10) != NULL)
				_exit(2);
		}
		/* What it calls does nothing, and harms nobody. */
		(void)!end_write(a, 1, &ca, &cb, 64);
		(void)node->p->fast->poll_cq(a->uscq, &wc, 1);
		vth_child_exit(true);
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	g_assert_cmpint(end_write(a, 2, &ca, &cb, 64), ==, RI_SUCCESS);
	gint64 deadline = node_deadline();
	while (node->p->fast->poll_cq(a->uscq, &wc, 1) == 0)
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
	end_free(&a);
	end_free(&b);
	chunk_free(&ca);
	chunk_free(&cb);
	node_forget(node);
}

/* --- a process that means harm ------------------------------------------------------------ */

/* 0: it could be truncated later; 1: it is too small, 2: too large. */
static void
seal_wrongly(int fd, unsigned how)
{
	int seals = F_SEAL_GROW | F_SEAL_SEAL | (how != 0 ? F_SEAL_SHRINK : 0);
	off_t size = (off_t)VEM_RING_SIZE + (how == 1 ? -4096 : how == 2 ? 4096 : 0);

	g_assert_cmpint(ftruncate(fd, size), ==, 0);
	g_assert_cmpint(fcntl(fd, F_ADD_SEALS, seals), ==, 0);
}

/* First packets that are wrong; each ends the link. */
static void
test_hello(void)
{
	struct server s RI_AT_END(server_free) = server_new();
	unsigned before = descriptors();

	for (unsigned kind = 0; kind < 17; kind++) {
		struct hostile h RI_AT_END(hostile_free) = hostile_new();
		struct vem_packet hello = good_hello(&h);
		struct vem_ring_page *page = NULL;
		int ring = vem_ring_create(&page, &(const char *){NULL}), pipes[2], wake[2];
		int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		size_t len = sizeof(hello);
		unsigned count = 2;

		g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
		g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, wake), ==, 0);
		g_assert_cmpint(ftruncate(unsealed, VEM_RING_SIZE), ==, 0);
		int fds[16] = {ring, wake[0]};
		for (unsigned i = 2; i < 16; i++)
			fds[i] = ring;
		if (kind == 0 || (kind >= 12 && kind <= 14))
			fds[0] = unsealed;
		if (kind >= 12 && kind <= 14)
			seal_wrongly(unsealed, kind - 12);
		switch (kind) {
		case 1:
			fds[0] = pipes[0];
			break;
		case 2:
			fds[1] = pipes[1];
			break;
		case 3:
			fds[1] = ring; /* the same twice */
			break;
		case 4:
		case 5:
			count = kind - 4;
			break;
		case 6:
			count = 3;
			break;
		case 7:
			count = 16;
			break;
		case 8:
			hello.magic++;
			break;
		case 9:
			hello.kind = VEM_PACKET_REQUEST;
			count = 0;
			break;
		case 10:
			hello.to ^= 1; /* the other personality */
			break;
		case 11:
			hello.from = UINT32_MAX;
			break;
		case 15:
			len = 17;
			break;
		default:
			break;
		}
		for (unsigned i = 0; i < (kind == 16 ? 2u : 1u); i++) /* a good one comes twice */
			send_fds(h.sock, &hello, len, fds, count);
		hostile_expect_end(&h);
		vem_ring_unmap(page);
		close(ring);
		close(unsealed);
		close(pipes[0]);
		close(pipes[1]);
		close(wake[0]);
		close(wake[1]);
	}
	server_works(&s);
	wait_until(descriptors_are, before);
}

/* Links over which nobody has said anything yet. */
static unsigned
silent_links(const struct server *s)
{
	struct vem_fabric *fabric = s->node->rnic->fabric;
	unsigned count = 0;

	pthread_mutex_lock(&fabric->lock);
	for (unsigned i = 0; i < VEM_LINKS_MAX; i++) {
		const struct vem_link *link = atomic_load(&fabric->shm->links[i]);

		count += link != NULL && !link->greeted && !atomic_load(&link->broken);
	}
	pthread_mutex_unlock(&fabric->lock);
	return count;
}

static void
silent_become(const struct server *s, unsigned count)
{
	for (gint64 end = node_deadline(); silent_links(s) != count; g_usleep(500))
		g_assert_cmpint(g_get_monotonic_time(), <, end);
}

/* Connections that say nothing do not keep others out: 16 of them are waited for. */
static void
test_silent(void)
{
	struct server s RI_AT_END(server_free) = server_new();
	unsigned before = descriptors();
	struct hostile silent[SILENT + 24];

	for (unsigned i = 0; i < G_N_ELEMENTS(silent); i++)
		silent[i] = hostile_new();
	g_assert_cmpuint(silent_links(&s), ==, SILENT);
	server_works(&s);
	for (unsigned i = 0; i < G_N_ELEMENTS(silent); i++)
		hostile_free(&silent[i]);
	silent_become(&s, 0);
	/* The process that has been silent longest is closed first, whatever its place: the first place has the newest one. */
	for (unsigned i = 0; i < SILENT; i++)
		silent[i] = hostile_new();
	hostile_free(&silent[0]);
	silent_become(&s, SILENT - 1);
	silent[0] = hostile_new();
	silent[SILENT] = hostile_new();
	hostile_expect_end(&silent[1]);
	struct pollfd end = {.fd = silent[0].sock, .events = POLLIN};
	g_assert_cmpint(poll(&end, 1, 0), ==, 0);
	for (unsigned i = 0; i < SILENT + 1; i++)
		hostile_free(&silent[i]);
	wait_until(descriptors_are, before);
}

/* Random packets after a good beginning: members of all values, among them those that name a connection. */
static void
test_packets(void)
{
	struct server s RI_AT_END(server_free) = server_new();
	unsigned before = descriptors(), cut = 0;

	for (unsigned round = 0; round < 200; round++) {
		struct hostile h RI_AT_END(hostile_free) = hostile_new();
		struct vem_packet hello = good_hello(&h), packet;
		struct vem_ring_page *page = NULL;
		int ring = vem_ring_create(&page, &(const char *){NULL}), wake[2];

		g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, wake), ==, 0);
		send_fds(h.sock, &hello, sizeof(hello), (const int[]){ring, wake[0]}, 2);
		for (unsigned i = 0; i < 30; i++) {
			uint8_t *octets = (uint8_t *)&packet;

			memset(&packet, 0, sizeof(packet));
			for (unsigned k = 0; k < g_random_int() % 60; k++)
				octets[g_random_int() % 200] = (uint8_t)g_random_int();
			packet.magic = VEM_PACKET_MAGIC;
			packet.kind = 1 + g_random_int() % VEM_PACKET_KINDS;
			if (g_random_int() % 2 == 0) {
				packet.to = 0;
				packet.to_life = g_random_int() % 8;
				packet.service = s.service;
				packet.pdata_len = g_random_int() % 300;
				packet.message = 1u << g_random_int() % 9;
			}
			if (packet.kind == VEM_PACKET_REQUEST && g_random_int() % 2 == 0) {
				packet.service = s.service;
				packet.ird = packet.ord = 4;
				packet.peer = packet.local = s.params.peer;
				packet.pdata_len = 3;
				packet.ird_ord = packet.field = 1;
				packet.qpn &= 0xffffff;
				packet.type = RI_QP_RC;
			}
			send_fds(h.sock, &packet, sizeof(packet), NULL, 0);
		}
		struct pollfd ready = {.fd = h.sock, .events = 0};
		cut += poll(&ready, 1, 5) == 1;
		vem_ring_unmap(page);
		close(ring);
		close(wake[0]);
		close(wake[1]);
	}
	g_test_message("%u of 200 were cut off", cut);
	g_assert_cmpuint(cut, >, 0);
	g_usleep(20000);
	node_forget(s.node);
	server_works(&s);
	wait_until(descriptors_are, before);
}

/* A request that the server has accepted: the hostile side of a connection. */
static void
hostile_connect(struct server *s, struct hostile *h, struct end *end, uint32_t *to, uint32_t *life)
{
	struct vem_packet packet = {.magic = VEM_PACKET_MAGIC,
				    .kind = VEM_PACKET_REQUEST,
				    .from = 3,
				    .from_life = 1,
				    .service = s->service,
				    .peer = s->params.peer,
				    .local = s->params.peer,
				    .type = RI_QP_RC,
				    .ird = 4,
				    .ord = 4,
				    .ird_ord = 1};
	int fds[VEM_PACKET_FDS];
	const char *why = NULL;
	unsigned count;

	send_fds(h->sock, &packet, sizeof(packet), NULL, 0);
	struct ri_cm_event request = node_cm(s->node, RI_CM_REQUEST, (const void *)(uintptr_t)42);
	g_assert_cmpint(s->node->p->cm->accept(request.request, end->qp, &s->params), ==,
			RI_SUCCESS);
	struct pollfd ready = {.fd = h->sock, .events = POLLIN};
	g_assert_cmpint(poll(&ready, 1, 10000), ==, 1);
	g_assert_cmpint(vem_packet_receive(h->sock, &packet, fds, &count, &why), ==,
			VEM_PACKET_GOT);
	g_assert_cmpuint(packet.kind, ==, VEM_PACKET_ACCEPT);
	*to = packet.from;
	*life = packet.from_life;
	packet = (struct vem_packet){.magic = VEM_PACKET_MAGIC,
				     .kind = VEM_PACKET_MESSAGE,
				     .to = *to,
				     .to_life = *life,
				     .message = VEM_MSG_CONFIRM};
	if (strcmp(hostile_adapter, "shm:ib") == 0)
		send_fds(h->sock, &packet, sizeof(packet), NULL, 0);
	node_cm(s->node, RI_CM_ESTABLISHED, end);
}

/* Entries with random headers for a connection that is up; and then random words in the ring. */
static void
test_entries(void)
{
	struct server s RI_AT_END(server_free) = server_new();
	unsigned before = descriptors();

	for (unsigned round = 0; round < 60; round++) {
		struct hostile h = hostile_new();
		struct vem_packet hello = good_hello(&h);
		struct vem_ring_page *page = NULL;
		int ring = vem_ring_create(&page, &(const char *){NULL}), wake[2];
		struct end *end = end_new(s.node, NULL);
		struct chunk c = chunk_new(s.node, 65536, ALL_RW);
		struct vem_ring_out out;
		uint32_t to, life;

		g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, wake), ==, 0);
		send_fds(h.sock, &hello, sizeof(hello), (const int[]){ring, wake[0]}, 2);
		for (unsigned i = 0; i < 8; i++) {
			g_assert_cmpint(end_recv(end, i, &c, i * 4096, 4096), ==, RI_SUCCESS);
			g_assert_cmpint(end_send(end, i, &c, 0, i * 300), ==, RI_SUCCESS);
		}
		hostile_connect(&s, &h, end, &to, &life);
		vem_ring_out_init(&out, h.ring);
		uint32_t number = 0;
		for (unsigned i = 0; i < 400; i++) {
			struct vem_wire wire;
			uint8_t *octets = (uint8_t *)&wire;
			uint32_t length =
				g_random_int() % (g_random_int() % 2 == 0 ? 64 : VEM_RING_MAX);
			uint8_t *at = vem_ring_begin(&out, length);

			if (at == NULL) {
				g_usleep(50);
				continue;
			}
			memset(at, (int)i, length);
			memset(&wire, 0, sizeof(wire));
			for (unsigned k = 0; k < g_random_int() % 12; k++)
				octets[g_random_int() % sizeof(wire)] = (uint8_t)g_random_int();
			wire.kind = 1 + g_random_int() % 10;
			wire.to = to;
			wire.to_life = life;
			if (g_random_int() % 4 != 0) {
				wire.number = wire.kind <= VEM_WIRE_ATOMIC && round % 2 == 0
						      ? number++
						      : g_random_int() % 9;
				wire.at = 0;
				wire.length = length;
				wire.addr = (uintptr_t)c.at;
				wire.stag = c.stag;
			}
			if (vem_ring_end(&out, (const uint8_t *)&wire, length, false))
				(void)!send(h.fds[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		}
		_Atomic uint64_t *words = (_Atomic uint64_t *)(void *)h.ring;
		for (unsigned i = 0; i < 3000; i++)
			atomic_store(&words[VEM_RING_LINE / 8 +
					    g_random_int() % (VEM_RING_SIZE / 8 - 8)],
				     ((uint64_t)g_random_int() << 32 | g_random_int()) &
					     0x7ffffffffull);
		(void)!send(h.fds[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		vem_ring_unmap(page);
		close(ring);
		close(wake[0]);
		close(wake[1]);
		hostile_free(&h);
		end_free(&end);
		chunk_free(&c);
		node_forget(s.node);
	}
	g_usleep(20000);
	node_forget(s.node);
	server_works(&s);
	wait_until(descriptors_are, before);
}

/* Write a datagram into the ring. False: the server has not made room yet. */
static bool
hostile_datagram_try(struct hostile *h, struct vem_ring_out *out, const struct vem_wire *wire,
		     uint32_t length)
{
	uint8_t *at = vem_ring_begin(out, length);

	if (at == NULL)
		return false;
	memset(at, 0x33, length);
	if (vem_ring_end(out, (const uint8_t *)wire, length, false))
		(void)!send(h->fds[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	return true;
}

/* Write one that must arrive. */
static void
hostile_datagram(struct hostile *h, struct vem_ring_out *out, const struct vem_wire *wire,
		 uint32_t length)
{
	const gint64 until = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;

	while (!hostile_datagram_try(h, out, wire, length)) {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_usleep(50);
	}
}

/* How many receives of the end have a datagram until nothing comes any more. */
static unsigned
datagrams(struct server *s, struct end *end)
{
	struct ri_wc wc;
	unsigned count = 0;

	for (gint64 until = g_get_monotonic_time() + 30000; g_get_monotonic_time() < until;)
		count += s->node->p->fast->poll_cq(end->urcq, &wc, 1);
	return count;
}

/* A link with the server, over which only datagrams come. */
static struct hostile
hostile_sender(struct vem_ring_out *out, struct vem_ring_page **page, int fds[4])
{
	struct hostile h = hostile_new();
	struct vem_packet hello = good_hello(&h);

	fds[0] = vem_ring_create(page, &(const char *){NULL});
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds + 1), ==, 0);
	send_fds(h.sock, &hello, sizeof(hello), fds, 2);
	vem_ring_out_init(out, h.ring);
	return h;
}

/* Floods with wrong keys and numbers, senders that it is not, lies about lengths. It gets through what anybody may send. */
static void
test_datagrams(void)
{
	struct server s RI_AT_END(server_free) = server_new();
	struct chunk c RI_AT_END(chunk_free) = chunk_new(s.node, 65536, ALL_RW);
	struct end *end RI_AT_END(end_free) = ud_new(s.node, 64);
	unsigned before = descriptors();
	const struct vem_wire good = {.kind = VEM_WIRE_DATAGRAM,
				      .to = qpn_of(end),
				      .number = 77u << VEM_BLOCK_BITS | 5,
				      .length = 100,
				      .stag = KEY};

	for (unsigned i = 0; i < 16; i++)
		g_assert_cmpint(end_recv(end, i, &c, 4096 * i, 4096), ==, RI_SUCCESS);
	for (unsigned lie = 0; lie < 4; lie++) {
		struct vem_ring_page *page = NULL;
		struct vem_ring_out out;
		int fds[4];
		struct hostile h RI_AT_END(hostile_free) = hostile_sender(&out, &page, fds);
		struct vem_wire wire = good;

		for (unsigned i = 0; i < 3000; i++) {
			wire = good;
			wire.to = i % 3 == 0 ? g_random_int() : wire.to;
			wire.stag = i % 3 == 1 ? KEY + 1 + g_random_int() % 99 : KEY;
			wire.number = i % 3 == 2 ? g_random_int() | 1u << 31 : wire.number;
			if (!hostile_datagram_try(&h, &out, &wire, VEM_GRH + 100))
				g_usleep(50);
		}
		wire = good;
		wire.number = 78u << VEM_BLOCK_BITS | 5;
		hostile_datagram(&h, &out, &wire, VEM_GRH + 100);
		g_assert_cmpuint(datagrams(&s, end), ==, 0);
		hostile_datagram(&h, &out, &good, VEM_GRH + 100);
		g_assert_cmpuint(datagrams(&s, end), ==, 1);
		wire = good;
		wire.length = lie == 0 ? UINT32_MAX : lie == 1 ? 101 : lie == 2 ? 0 : 5000;
		hostile_datagram(&h, &out, &wire,
				 lie == 2   ? VEM_GRH - 1
				 : lie == 3 ? VEM_GRH + 5000
					    : VEM_GRH + 100);
		hostile_expect_end(&h);
		g_assert_cmpuint(datagrams(&s, end), ==, 0);
		vem_ring_unmap(page);
		for (unsigned i = 0; i < 3; i++)
			close(fds[i]);
	}
	server_works(&s);
	wait_until(descriptors_are, before);
	g_assert_cmpint(end_state(end), ==, RI_QPS_RTS);
}

/* --- payload that changes while it is copied ---------------------------------------------- */

struct changer {
	uint8_t *at;
	size_t len;
	atomic_bool stop;
};

static void *
change(void *arg)
{
	struct changer *changer = arg;

	for (uint8_t i = 0; !atomic_load(&changer->stop); i++)
		memset(changer->at, i, changer->len);
	return NULL;
}

/* What is placed is what the peer has written at some time, within the bounds that the key gives; nothing else is touched. */
static void
test_changing(void)
{
	struct server s RI_AT_END(server_free) = server_new();
	unsigned before = descriptors();
	struct hostile h = hostile_new();
	struct vem_packet hello = good_hello(&h);
	struct vem_ring_page *page = NULL;
	int ring = vem_ring_create(&page, &(const char *){NULL}), wake[2];
	struct end *end = end_new(s.node, NULL);
	struct chunk c = chunk_new(s.node, 65536, ALL_RW);
	struct vem_ring_out out;
	struct changer changer = {0};
	uint32_t to, life;
	gint64 deadline = node_deadline();

	memset(c.at, 0x5a, 65536);
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, wake), ==, 0);
	send_fds(h.sock, &hello, sizeof(hello), (const int[]){ring, wake[0]}, 2);
	hostile_connect(&s, &h, end, &to, &life);
	vem_ring_out_init(&out, h.ring);
	/* All but the first line, whose word would end the link. */
	changer.at = (uint8_t *)h.ring + VEM_RING_PAGE + VEM_RING_LINE;
	changer.len = VEM_RING_MAX;
	for (uint32_t i = 0; i < 2; i++) {
		struct vem_wire wire = {.kind = VEM_WIRE_WRITE,
					.to = to,
					.to_life = life,
					.number = i,
					.length = i == 0 ? VEM_RING_MAX : 8,
					.addr = (uintptr_t)c.at + (i == 0 ? 4096 : 0),
					.stag = c.stag};
		uint8_t *at = vem_ring_begin(&out, wire.length);
		GThread *thread = NULL;

		g_assert_nonnull(at);
		memset(at, 1, wire.length);
		if (i == 0)
			thread = g_thread_new("changer", change, &changer);
		(void)vem_ring_end(&out, (const uint8_t *)&wire, wire.length, false);
		(void)!send(h.fds[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		while (((volatile uint8_t *)c.at)[i == 0 ? 4096 + VEM_RING_MAX - 1 : 7] == 0x5a)
			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		if (i == 0) {
			atomic_store(&changer.stop, true);
			g_thread_join(thread);
		}
	}
	for (unsigned i = 8; i < 65536; i++)
		if (i < 4096 || i >= 4096 + VEM_RING_MAX)
			g_assert_cmpuint(c.at[i], ==, 0x5a);
	vem_ring_unmap(page);
	close(ring);
	close(wake[0]);
	close(wake[1]);
	hostile_free(&h);
	node_lost(s.node, end);
	end_free(&end);
	chunk_free(&c);
	node_forget(s.node);
	server_works(&s);
	wait_until(descriptors_are, before);
}

static int
listen_and_die(void)
{
	struct server s = server_new();

	(void)s;
	_exit(0);
}

static void
add(const char *name, GTestFunc run)
{
	g_autofree char *path =
		g_strdup_printf("/emul/shm-hostile/%s/%s", strchr(hostile_adapter, ':') + 1, name);

	g_test_add_func(path, run);
}

int
main(int argc, char **argv)
{
	self = argv[0];
	hostile_adapter = argc > 1 ? argv[1] : "shm:ib";
	if (argc > 2 && strcmp(argv[2], "child") == 0)
		return child_main();
	if (argc > 2 && strcmp(argv[2], "listen") == 0)
		return listen_and_die();
	hostile_runtime = vem_runtime_begin();
	g_test_init(&argc, &argv, NULL);
	add("killed", test_killed);
	add("left", test_left);
	add("fork", test_fork);
	add("hello", test_hello);
	add("silent", test_silent);
	add("packets", test_packets);
	add("entries", test_entries);
	if (strcmp(hostile_adapter, "shm:ib") == 0)
		add("datagrams", test_datagrams);
	add("changing", test_changing);
	int failed = g_test_run();
	(void)vem_runtime_end(hostile_runtime); /* those of the killed are left */
	return failed;
}
