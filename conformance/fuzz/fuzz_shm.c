/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A malicious process of the same user, at the other end of a link between processes (vp/emul/shm). It connects to a
 * listener and sends valid packets and entries, packets and entries with members from the input, and words at any
 * place of the ring that the server reads. The server meanwhile acts as an application. Whatever is sent, memory that
 * no key opens must stay unchanged, no descriptor may leak, and another connection must work.
 *
 * Input: an octet of options, then commands of one octet, each with its arguments. Time is virtual, and advances each
 * time it is read.
 */
#include "fuzz.h"

#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vem_node.h"
#include "vem_remote.h"

#define INFINIBAND 0x01u
#define CONNECTED  0x02u /* it has a connection before the commands */
#define GREETED    0x04u /* it has said HELLO before the commands */

#define COMMANDS 64
#define PORT     4713u
#define OCTETS   8192u
#define SECOND   UINT64_C(1000000000)
#define LISTENER ((void *)(uintptr_t)42)

static struct {
	struct vth *vth;
	struct node *node;
	struct end *end;
	struct chunk open, closed; /* for the peer, and not */
	struct ri_listen *listen;
	struct ri_service service;
	struct ri_cm_params params;
	struct vem_place place;
	bool infiniband;
	/* The hostile side. */
	int sock; /* -1: none */
	int fds[VEM_PACKET_FDS];
	struct vem_ring_page *out_page, *in_page;
	struct vem_ring_out out;
	struct vem_ring_in in;
	struct vem_packet hello;
	uint32_t to, life, number;
} w;

static uint64_t ticks;

static uint64_t
ticking_now(void *self)
{
	(void)self;
	return ticks += 1000;
}

static void
folder_make(void)
{
	static char folder[] = "/tmp/itapi-fuzz-shm-XXXXXX";

	FUZZ_REQUIRE(mkdtemp(folder) != NULL);
	g_setenv("XDG_RUNTIME_DIR", folder, TRUE);
	g_setenv("ITAPI_LOG", "none", FALSE);
}

static unsigned
descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

/* --- the server ----------------------------------------------------------------------------- */

static void
server_open(bool infiniband)
{
	char why[VEM_PLACE_WHY];

	w.infiniband = infiniband;
	w.vth = vth_new(false);
	((struct ri_host *)(uintptr_t)vth_host(w.vth))->now = ticking_now;
	w.node = node_new(w.vth, false, infiniband ? "shm:ib" : "shm:iwarp");
	w.end = end_new(w.node, NULL);
	w.open = chunk_new(w.node, OCTETS, ALL_RW);
	w.closed = chunk_new(w.node, OCTETS, LOCAL_RW);
	memset(w.closed.at, 0x5a, OCTETS);
	w.service = (struct ri_service){.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	w.params = node_params(&w.service);
	FUZZ_REQUIRE(w.node->p->cm->listen(w.node->context, 42, 0, &w.service, 4, &w.listen) ==
		     RI_SUCCESS);
	FUZZ_REQUIRE(vem_place_open(&w.place, "default", g_getenv("XDG_RUNTIME_DIR"), why));
}

/* What an application does: look for completions, post, take requests. */
static void
server_work(void)
{
	struct ri_wc wc[8];

	vth_run(w.vth);
	while (w.node->p->fast->poll_cq(w.end->uscq, wc, 8) != 0)
		continue;
	while (w.node->p->fast->poll_cq(w.end->urcq, wc, 8) != 0)
		continue;
	vth_run(w.vth);
}

/* Accept what has come, if the endpoint is free. */
static void
server_accept(void)
{
	for (guint i = 0; i < w.node->cm->len; i++) {
		const struct ri_cm_event *event = &g_array_index(w.node->cm, struct ri_cm_event, i);

		if (event->kind == RI_CM_REQUEST)
			(void)!w.node->p->cm->accept(event->request, w.end->qp, &w.params);
	}
	node_forget(w.node);
	vth_run(w.vth);
}

/* --- the hostile side ----------------------------------------------------------------------- */

static void
peer_close(void)
{
	if (w.sock < 0)
		return;
	close(w.sock);
	close(w.fds[0]);
	close(w.fds[1]);
	vem_ring_unmap(w.out_page);
	vem_ring_unmap(w.in_page);
	w.out_page = w.in_page = NULL;
	w.sock = -1;
	server_work();
}

static void
peer_dial(void)
{
	const char *why = NULL;
	unsigned count = 0;
	char name[VEM_PLACE_NAME];

	peer_close();
	(void)snprintf(name, sizeof(name), "%s.port-%u", w.infiniband ? "ib" : "iwarp", PORT);
	w.sock = vem_place_connect(&w.place, name, &(const char *){NULL});
	if (w.sock < 0)
		return;
	server_work();
	if (vem_packet_receive(w.sock, &w.hello, w.fds, &count, &why) != VEM_PACKET_GOT) {
		close(w.sock);
		w.sock = -1;
		return;
	}
	w.out_page = vem_ring_attach(w.fds[0], &why);
	FUZZ_REQUIRE(w.out_page != NULL);
	vem_ring_out_init(&w.out, w.out_page);
	w.to = w.life = w.number = 0;
}

static void
peer_greet(void)
{
	struct vem_packet hello = w.hello;
	int pair[2], ring = -1;

	if (w.sock < 0 || w.in_page != NULL ||
	    (ring = vem_ring_create(&w.in_page, &(const char *){NULL})) < 0)
		return;
	FUZZ_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	vem_ring_in_init(&w.in, w.in_page);
	hello.from = 77;
	(void)vem_packet_send(w.sock, &hello, (const int[]){ring, pair[0]}, VEM_PACKET_FDS);
	close(ring);
	close(pair[0]);
	close(pair[1]);
	server_work();
}

static void
peer_wake(void)
{
	(void)!send(w.fds[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	server_work();
}

static struct vem_packet
packet_right(uint32_t kind)
{
	return (struct vem_packet){.magic = VEM_PACKET_MAGIC,
				   .kind = kind,
				   .to = w.to,
				   .to_life = w.life,
				   .from = 3,
				   .from_life = 1,
				   .service = w.service,
				   .peer = w.params.peer,
				   .local = w.params.peer,
				   .type = RI_QP_RC,
				   .ird = 4,
				   .ord = 4,
				   .ird_ord = 1,
				   .message = VEM_MSG_CONFIRM};
}

/* Read what the server has sent; an acceptance says the number of the connection. */
static void
packets_read(void)
{
	struct vem_packet packet;
	int fds[VEM_PACKET_FDS];
	const char *why = NULL;
	unsigned count;

	while (w.sock >= 0 &&
	       vem_packet_receive(w.sock, &packet, fds, &count, &why) == VEM_PACKET_GOT) {
		FUZZ_REQUIRE(count == 0);
		if (packet.kind == VEM_PACKET_ACCEPT) {
			w.to = packet.from;
			w.life = packet.from_life;
			w.number = 0;
		}
	}
}

static void
peer_connect(void)
{
	struct vem_packet packet = packet_right(VEM_PACKET_REQUEST);

	if (w.sock < 0)
		return;
	(void)vem_packet_send(w.sock, &packet, NULL, 0);
	server_work();
	server_accept();
	packets_read();
	packet = packet_right(VEM_PACKET_MESSAGE);
	if (w.infiniband)
		(void)vem_packet_send(w.sock, &packet, NULL, 0);
	server_work();
}

/* Change octets of a struct: how many, then for each where, and its value. */
static void
change(struct fuzz_input *in, uint8_t *octets, size_t len)
{
	for (unsigned n = fuzz_u8(in) % 8; n != 0; n--) {
		size_t at = fuzz_number(in, 2) % len;

		octets[at] = fuzz_u8(in);
	}
}

static void
send_packet(struct fuzz_input *in)
{
	struct vem_packet packet = packet_right(fuzz_u8(in) % (VEM_PACKET_KINDS + 1));
	uint8_t size = fuzz_u8(in);
	unsigned count = size % 8 == 7 ? 2 : 0;

	packet.message = 1u << fuzz_u8(in) % 16;
	change(in, (uint8_t *)&packet, sizeof(packet));
	if (w.sock < 0)
		return;
	if (size % 8 == 6)
		(void)!send(w.sock, &packet, size, MSG_NOSIGNAL | MSG_DONTWAIT);
	else
		(void)vem_packet_send(w.sock, &packet, w.fds, count);
	fuzz_messages(1);
	server_work();
}

static void
send_entry(struct fuzz_input *in)
{
	uint8_t kind = fuzz_u8(in);
	uint32_t length = (uint32_t)fuzz_number(in, 2) % (VEM_RING_MAX + 1);
	bool closed = (kind & 0x40) != 0;
	struct vem_wire wire = {.kind = kind % 11,
				.to = w.to,
				.to_life = w.life,
				.number = w.number,
				.length = length,
				.addr = (uintptr_t)(closed ? w.closed.at : w.open.at),
				.stag = closed ? w.closed.stag : w.open.stag};

	if (kind & 0x80)
		change(in, (uint8_t *)&wire, sizeof(wire));
	if (w.sock < 0)
		return;
	uint8_t *at = vem_ring_begin(&w.out, length);
	if (at == NULL)
		return;
	memset(at, kind, length);
	(void)vem_ring_end(&w.out, (const uint8_t *)&wire, length, false);
	fuzz_messages(1);
	w.number += wire.kind >= VEM_WIRE_SEND && wire.kind <= VEM_WIRE_ATOMIC;
	peer_wake();
}

/* A word anywhere in the ring, near where the server reads, or in its indices. */
static void
send_word(struct fuzz_input *in)
{
	uint8_t where = fuzz_u8(in);
	uint64_t value = fuzz_number(in, 8);
	size_t line = (w.out.written + where % 16) % VEM_RING_LINES;
	size_t at = VEM_RING_PAGE + line * VEM_RING_LINE + (where >> 4) % 8 * 8;

	if (w.sock < 0)
		return;
	if (where >= 0xf0)
		at = fuzz_number(in, 2) % (sizeof(struct vem_ring_page) / 8) * 8;
	atomic_store((_Atomic uint64_t *)(void *)((uint8_t *)w.out_page + at), value);
	peer_wake();
}

static void
read_ring(struct fuzz_input *in)
{
	struct vem_ring_entry entry;

	if (w.in_page == NULL)
		return;
	while (vem_ring_look(&w.in, &entry))
		vem_ring_take(&w.in, &entry);
	if (fuzz_u8(in) % 4 == 0) /* it says what it has not read */
		w.in.read += fuzz_number(in, 2);
	(void)vem_ring_release(&w.in);
	packets_read();
	peer_wake();
}

static void
server_post(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in);
	size_t len = fuzz_number(in, 2) % OCTETS;

	if (what % 4 == 0)
		(void)!end_send(w.end, 1, &w.open, 0, len);
	else if (what % 4 == 1)
		(void)!end_write(w.end, 2, &w.open, &w.open, len);
	else if (what % 4 == 2)
		(void)!end_read(w.end, 3, &w.open, &w.open, len);
	else
		(void)!end_recv(w.end, 4, &w.open, 0, len);
	server_work();
}

static void
command(struct fuzz_input *in)
{
	switch (fuzz_u8(in) % 12) {
	case 0:
		peer_dial();
		break;
	case 1:
		peer_greet();
		break;
	case 2:
		peer_connect();
		break;
	case 3:
		send_packet(in);
		break;
	case 4:
	case 5:
	case 6:
		send_entry(in);
		break;
	case 7:
		send_word(in);
		break;
	case 8:
		read_ring(in);
		break;
	case 9:
		server_post(in);
		break;
	case 10:
		(void)!end_modify(w.end, fuzz_u8(in) % 2 == 0 ? RI_QPS_ERROR : RI_QPS_IDLE);
		server_work();
		server_accept();
		break;
	default:
		vth_advance(w.vth, fuzz_number(in, 1) * SECOND / 16);
		peer_close();
		break;
	}
}

/* A connection beside works: two ends of the server. */
static void
others_work(void)
{
	struct end *a = end_new(w.node, NULL), *b = end_new(w.node, NULL);
	struct ri_wc wc = {0};

	node_forget(w.node);
	w.node->p->cm->listen_destroy(w.listen);
	ends_connect(a, b);
	FUZZ_REQUIRE(end_write(a, 9, &w.open, &w.open, 64) == RI_SUCCESS);
	for (unsigned i = 0; i < 1000 && w.node->p->fast->poll_cq(a->uscq, &wc, 1) == 0; i++)
		vth_run(w.vth);
	FUZZ_REQUIRE(wc.wr_id == 9 && wc.status == RI_WC_SUCCESS);
	end_free(&a);
	end_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	struct fuzz_input in = {octets, len};
	static bool begun;
	uint8_t options = fuzz_u8(&in);
	unsigned before;

	if (!begun)
		folder_make();
	begun = true;
	before = descriptors();
	w.sock = -1;
	server_open((options & INFINIBAND) != 0);
	peer_dial();
	if (options & (GREETED | CONNECTED))
		peer_greet();
	if (options & CONNECTED)
		peer_connect();
	for (unsigned i = 0; i < COMMANDS && in.left > 0; i++)
		command(&in);
	for (unsigned i = 0; i < OCTETS; i++)
		FUZZ_REQUIRE(w.closed.at[i] == 0x5a);
	peer_close();
	vth_advance(w.vth, SECOND);
	others_work();
	vth_advance(w.vth, SECOND);
	end_free(&w.end);
	chunk_free(&w.open);
	chunk_free(&w.closed);
	vth_advance(w.vth, SECOND);
	node_forget(w.node);
	FUZZ_REQUIRE(w.node->p->pd->destroy(w.node->pd) == RI_SUCCESS);
	node_close(&w.node);
	vth_free(&w.vth);
	FUZZ_REQUIRE(descriptors() == before);
	return 0;
}
