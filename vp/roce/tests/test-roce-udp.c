/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The engine over sockets of the loopback interface: the headers that the kernel writes are those
 * that the CRC expects, packets arrive, an address has one owner, and a dead peer is noticed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ri_calls.h"
#include "roce_address.h"
#include "vro_sim.h"
#include "vro_udp.h"

#define MTU    4096
#define LENGTH 60000u

/* Two sides of a simulation whose packets go through sockets instead. */
struct wire {
	struct sim *sim;
	struct sim_qp *pair[2];
	struct vro_udp udp[2];
};

static void
on_absent(struct vro_udp *udp, const uint8_t gid[16], const uint8_t *head, size_t len)
{
	struct wire *w = udp->owner;
	int side = udp == &w->udp[1];

	g_assert_cmpmem(gid, 16, w->udp[!side].gid, 16);
	/* The kernel quotes the packet; that of an answer says nothing. */
	if (vro_requester_quoted(&w->pair[side]->qp, head, len))
		vro_requester_absent(&w->pair[side]->qp);
}

static void
wire_open(struct wire *w, bool v6)
{
	memset(w, 0, sizeof(*w));
	w->sim = sim_new(1, v6);
	for (int i = 0; i < 2; i++) {
		struct sim_side *side = &w->sim->sides[i];
		const struct ri_addr v4 = roce_address((unsigned)i);
		enum vro_ident ident;

		memset(side->gid, 0, 16);
		side->gid[15] = 1; /* ::1 is the only address of IPv6 there */
		if (!v6)
			roce_gid_of_v4(side->gid, v4.octets);
		if (v6 && i == 1)
			continue;
		/* Other tests have adapters at ::1 for a moment. */
		gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
		enum ri_status status;
		while ((status = vro_udp_open(&w->udp[i], side->gid, 0, -1, &ident)) ==
			       RI_ERR_IN_USE &&
		       g_get_monotonic_time() < end)
			g_usleep(10000);
		g_assert_cmpint(status, ==, RI_SUCCESS);
		g_assert_cmpint(ident, ==, VRO_IDENT_GOOD);
		g_assert_cmpuint(w->udp[i].room, >, 100000);
		w->udp[i].absent = on_absent;
		w->udp[i].owner = w;
		side->engine.link = &w->udp[i].link;
	}
	if (v6)
		w->sim->sides[1].engine.link = &w->udp[0].link;
}

static void
wire_close(struct wire *w)
{
	for (int i = 0; i < 2; i++)
		if (w->udp[i].batch != NULL)
			vro_udp_close(&w->udp[i]);
	sim_free(&w->sim);
}

/* Let packets come until nothing comes any more; over IPv6 one socket serves both sides, by the number of the queue pair. */
static void
exchange(struct wire *w)
{
	for (int idle = 0; idle < 20;) {
		uint32_t n = 0;

		for (int i = 0; i < 2; i++) {
			struct vro_engine *engine = &w->sim->sides[i].engine;

			if (w->udp[i].batch != NULL)
				n += vro_udp_receive(&w->udp[i], engine);
			vro_engine_flush(engine);
			vro_engine_ready(engine);
		}
		idle = n == 0 ? idle + 1 : 0;
	}
}

static void
talk(struct wire *w)
{
	struct sim_qp *a = w->pair[0], *b = w->pair[1];
	struct ri_sge sge = sim_sge(a, 0, LENGTH), word = sim_sge(a, LENGTH, 8);
	struct ri_wr write = sim_request(a, 1, RI_OP_RDMA_WRITE, &sge, 0);
	struct ri_wr read = sim_request(a, 2, RI_OP_RDMA_READ, &sge, 0);
	struct ri_wr send = sim_request(a, 3, RI_OP_SEND, &word, 0);
	struct ri_wr add = sim_request(a, 4, RI_OP_FETCH_ADD, &word, LENGTH);

	add.u.remote.operand = 5;
	memset(b->side->memory + LENGTH, 0, 8);
	sim_receive(b, 9, LENGTH + 8, 8);
	sim_post(a, &write);
	exchange(w);
	g_assert_cmpmem(a->side->memory, LENGTH, b->side->memory, LENGTH);
	memset(a->side->memory, 0, LENGTH);
	sim_post(a, &read);
	sim_post(a, &send);
	sim_post(a, &add);
	exchange(w);
	g_assert_cmpmem(a->side->memory, LENGTH, b->side->memory, LENGTH);
	g_assert_cmpuint(b->side->memory[LENGTH], ==, 5);
	sim_poll(a);
	sim_poll(b);
	g_assert_cmpstr(a->sent->str, ==,
			"1 RI_OP_RDMA_WRITE RI_WC_SUCCESS\n2 RI_OP_RDMA_READ RI_WC_SUCCESS\n"
			"3 RI_OP_SEND RI_WC_SUCCESS\n4 RI_OP_FETCH_ADD RI_WC_SUCCESS\n");
	g_assert_cmpstr(b->received->str, ==, "9 RI_OP_RECV RI_WC_SUCCESS 8 4\n");
	for (int i = 0; i < 2; i++) {
		const struct vro_engine *engine = &w->sim->sides[i].engine;

		g_assert_cmpuint(engine->counts[VRO_REPEATED], ==, 0);
		for (int f = 1; f < ROCE_FAULT_COUNT; f++)
			g_assert_cmpuint(engine->faults[f], ==, 0);
	}
}

static void
ipv4(void)
{
	struct wire w RI_AT_END(wire_close);

	wire_open(&w, false);
	sim_pair(w.sim, ROCE_RC, MTU, 0xfffffa, 3, w.pair);
	talk(&w);
}

/* The queue pair of that number, of both sides. */
static struct vro_qp *
find_both(struct vro_engine *engine, uint32_t qpn)
{
	struct sim *sim = ((struct sim_side *)(void *)engine)->sim;

	for (int i = 0; i < 2; i++)
		if (sim->sides[i].qps[0] != NULL && sim->sides[i].qps[0]->qp.qpn == qpn)
			return &sim->sides[i].qps[0]->qp;
	return NULL;
}

static void
ipv6(void)
{
	struct wire w RI_AT_END(wire_close);

	wire_open(&w, true);
	w.sim->sides[0].engine.find = find_both;
	sim_pair(w.sim, ROCE_RC, MTU, 0xfffffa, 3, w.pair);
	talk(&w);
}

/* One socket for an address; an address of another host has none. */
static void
addresses(void)
{
	struct vro_udp udp;
	struct wire w RI_AT_END(wire_close);
	enum vro_ident ident;
	const uint8_t far[4] = {192, 0, 2, 1};
	uint8_t gid[16];

	wire_open(&w, false);
	g_assert_cmpint(vro_udp_open(&udp, w.udp[0].gid, 0, -1, &ident), ==, RI_ERR_IN_USE);
	roce_gid_of_v4(gid, far);
	g_assert_cmpint(vro_udp_open(&udp, gid, 0, -1, &ident), ==, RI_ERR_NO_ROUTE);
}

/* The peer's socket is closed: the kernel says so, and in 100 ms the request fails, long before its tries are over. */
static void
dead(const void *noise)
{
	const int marks = SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_SOFTWARE;
	struct wire w RI_AT_END(wire_close);
	struct ri_sge sge;
	struct ri_wr wr;

	wire_open(&w, false);
	sim_pair(w.sim, ROCE_RC, MTU, 1, 3, w.pair);
	for (int i = 0; i < 2; i++)
		w.pair[i]->qp.path.timeout = 20; /* 4.3 s, eight times */
	/* The kernel reports when a packet leaves where it reports that it came back: that says nothing of the peer. */
	if (noise != NULL)
		g_assert_cmpint(
			setsockopt(w.udp[0].fd, SOL_SOCKET, SO_TIMESTAMPING, &marks, sizeof(marks)),
			==, 0);
	vro_udp_close(&w.udp[1]);
	w.udp[1].batch = NULL;
	sge = sim_sge(w.pair[0], 0, 8);
	wr = sim_request(w.pair[0], 1, RI_OP_RDMA_WRITE, &sge, 0);
	sim_post(w.pair[0], &wr);
	for (int ms = 0; ms < 300; ms++) {
		exchange(&w);
		sim_run(w.sim, 1000000);
		g_assert_true(ms > 95 || w.pair[0]->qp.state == VRO_RTS);
	}
	sim_poll(w.pair[0]);
	g_assert_cmpstr(w.pair[0]->sent->str, ==, "1 RI_OP_RDMA_WRITE RI_WC_TRANSPORT\n");
	g_assert_cmpuint(w.sim->sides[0].engine.counts[VRO_TIMEOUTS], ==, 0);
}

/*
 * The kernel reports the error of a datagram when the next one is sent, on whichever thread sends.
 * The engine must then empty the socket's error queue; otherwise the socket would be reported as
 * ready again and again, with nothing to receive.
 */
static void
told_elsewhere(void)
{
	struct wire w RI_AT_END(wire_close);
	struct roce_flow flow = {.destination_port = ROCE_UDP_PORT, .hop_limit = 64};
	const uint8_t octets[64] = {0};

	wire_open(&w, false);
	sim_pair(w.sim, ROCE_RC, MTU, 1, 3, w.pair);
	vro_udp_close(&w.udp[1]);
	w.udp[1].batch = NULL;
	memcpy(flow.source, w.udp[0].gid, 16);
	memcpy(flow.destination, w.udp[1].gid, 16);
	vro_udp_datagram(&w.udp[0], &flow, octets, sizeof(octets));
	memcpy(flow.destination, w.udp[0].gid, 16);
	vro_udp_datagram(&w.udp[0], &flow, octets, sizeof(octets));
	exchange(&w);
	struct pollfd ready = {.fd = w.udp[0].fd, .events = POLLIN};
	g_assert_cmpint(poll(&ready, 1, 0), ==, 0);
	/* The second one was sent nevertheless: it is for no queue pair. */
	g_assert_cmpuint(w.sim->sides[0].engine.faults[ROCE_QPN_FAULT], ==, 1);
}

static void
packet_to(struct wire *w, const uint8_t gid[16])
{
	struct roce_flow flow = {.destination_port = ROCE_UDP_PORT, .hop_limit = 64};
	struct vro_link *link = &w->udp[0].link;
	uint8_t *at = link->room(link);

	g_assert_nonnull(at);
	memset(at, 0, ROCE_BTH);
	memcpy(flow.source, w->udp[0].gid, 16);
	memcpy(flow.destination, gid, 16);
	link->send(link, &flow, ROCE_BTH);
}

/* The same of a packet: the one behind it is sent nevertheless. */
static void
told_instead(void)
{
	struct wire w RI_AT_END(wire_close);

	wire_open(&w, false);
	sim_pair(w.sim, ROCE_RC, MTU, 1, 3, w.pair);
	vro_udp_close(&w.udp[1]);
	w.udp[1].batch = NULL;
	packet_to(&w, w.udp[1].gid);
	packet_to(&w, w.udp[0].gid);
	g_assert_true(vro_udp_flush(w.udp[0].out));
	exchange(&w);
	g_assert_cmpuint(w.sim->sides[0].engine.faults[ROCE_QPN_FAULT], ==, 1);
	g_assert_cmpuint(w.udp[0].refused, ==, 0);
}

#ifndef RI_CALLS_PLAIN
/* What the kernel answers to messages for that address; 0: it takes them. */
static int refusal;
static struct in_addr refused;

/* The C library's, which the engine makes its system calls by. */
long
syscall(long number, ...)
{
	static long (*real)(long number, ...);
	unsigned long a[6];
	va_list args;

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(args, unsigned long);
	va_end(args);
	if (number == SYS_sendmsg && refusal != 0) {
		const struct msghdr *message = (const void *)a[1];
		const struct sockaddr_in *to = message->msg_name;

		if (to->sin_addr.s_addr == refused.s_addr) {
			errno = refusal;
			return -1;
		}
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/*
 * The kernel refuses packets for one destination. If its buffers are full, they must wait, and keep
 * their order. If it reports for long that it has no buffers, they are lost, and packets for other
 * destinations must be sent.
 */
static void
full(gconstpointer data)
{
	int error = GPOINTER_TO_INT(data);
	bool lost = error == ENOBUFS;
	struct wire w RI_AT_END(wire_close);

	wire_open(&w, false);
	memcpy(&refused, w.udp[1].gid + 12, 4);
	refusal = error;
	packet_to(&w, w.udp[1].gid);
	packet_to(&w, w.udp[0].gid);
	g_assert_false(vro_udp_flush(w.udp[0].out));
	gint64 end = g_get_monotonic_time() + G_USEC_PER_SEC / (lost ? 1 : 50);
	bool gone = false;
	while (!gone && g_get_monotonic_time() < end) {
		gone = vro_udp_flush(w.udp[0].out);
		g_usleep(100);
	}
	g_assert_true(gone == lost);
	refusal = 0;
	g_assert_true(vro_udp_flush(w.udp[0].out));
	g_assert_cmpuint(w.udp[0].refused, ==, lost);
	g_assert_cmpuint(vro_udp_receive(&w.udp[0], &w.sim->sides[0].engine), ==, 1);
	g_assert_cmpuint(vro_udp_receive(&w.udp[1], &w.sim->sides[1].engine), ==, !lost);
	/* The next time has its own patience. */
	refusal = error;
	packet_to(&w, w.udp[1].gid);
	g_assert_false(vro_udp_flush(w.udp[0].out));
	refusal = 0;
}
#endif

#ifndef RI_CALLS_PLAIN
static int denied_error;

static void
on_denied(struct vro_udp *udp, bool receiving, int error)
{
	(void)udp;
	g_assert_false(receiving);
	denied_error = error;
}

/* Packets that the kernel does not send are lost, one by one; the owner hears of it if the reason is one of this host. */
static void
unsendable(void)
{
	static const struct {
		int error;
		bool told;
	} rows[] = {{EMSGSIZE, true}, {ENETUNREACH, true}, {EPERM, true}, {EHOSTUNREACH, false}};
	struct wire w RI_AT_END(wire_close);

	wire_open(&w, false);
	w.udp[0].denied = on_denied;
	memcpy(&refused, w.udp[1].gid + 12, 4);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		denied_error = 0;
		refusal = rows[i].error;
		packet_to(&w, w.udp[1].gid);
		packet_to(&w, w.udp[0].gid);
		g_assert_true(vro_udp_flush(w.udp[0].out));
		refusal = 0;
		g_assert_cmpint(denied_error, ==, rows[i].told ? rows[i].error : 0);
		g_assert_cmpuint(w.udp[0].refused, ==, i + 1);
	}
	exchange(&w);
	g_assert_cmpuint(w.sim->sides[0].engine.faults[ROCE_QPN_FAULT], ==, G_N_ELEMENTS(rows));
}
#endif

/* The kernel keeps what goes to a host that has died for seconds; it grants more room than for one such host. */
static void
room_to_send(void)
{
	struct wire w RI_AT_END(wire_close);
	int ask = 1 << 30;
	int most = 0;
	int has = 0;
	int plain RI_AT_END(ri_at_end_close) = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t size = sizeof(int);

	wire_open(&w, false);
	g_assert_cmpint(setsockopt(plain, SOL_SOCKET, SO_SNDBUF, &ask, sizeof(ask)), ==, 0);
	g_assert_cmpint(getsockopt(plain, SOL_SOCKET, SO_SNDBUF, &most, &size), ==, 0);
	g_assert_cmpint(getsockopt(w.udp[0].fd, SOL_SOCKET, SO_SNDBUF, &has, &size), ==, 0);
	g_assert_cmpint(has, ==, MIN(most, 8 << 20));
}

/* A datagram of a socket that may fragment has an identification other than 0: the receiver finds it by the CRC, and accepts. */
static void
other_senders(void)
{
	struct wire w RI_AT_END(wire_close);
	struct roce_packet p = {
		.opcode = ROCE_SEND_ONLY, .pkey = ROCE_PKEY, .psn = 1, .ack_request = true};
	struct sockaddr_in from = {.sin_family = AF_INET},
			   to = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	struct roce_flow flow = {
		.destination_port = ROCE_UDP_PORT, .ident = 0x1234, .fragments = true};
	uint8_t octets[64];
	socklen_t size = sizeof(from);
	int fd RI_AT_END(ri_at_end_close) = socket(AF_INET, SOCK_DGRAM, 0);

	wire_open(&w, false);
	sim_pair(w.sim, ROCE_RC, MTU, 1, 3, w.pair);
	vro_udp_close(&w.udp[0]);
	w.udp[0].batch = NULL;
	w.sim->sides[0].engine.link = &w.udp[1].link; /* it sends nothing */
	memcpy(&from.sin_addr, w.udp[0].gid + 12, 4);
	memcpy(&to.sin_addr, w.udp[1].gid + 12, 4);
	g_assert_cmpint(bind(fd, (struct sockaddr *)&from, sizeof(from)), ==, 0);
	g_assert_cmpint(getsockname(fd, (struct sockaddr *)&from, &size), ==, 0);
	memcpy(flow.source, w.udp[0].gid, 16);
	memcpy(flow.destination, w.udp[1].gid, 16);
	flow.source_port = ntohs(from.sin_port);
	p.qpn = w.pair[1]->qp.qpn;
	sim_receive(w.pair[1], 5, 0, 64);
	for (int damaged = 1; damaged >= 0; damaged--) {
		size_t len = roce_icrc_seal(&flow, octets, roce_packet_write(octets, &p));

		octets[len - 1] ^= (uint8_t)damaged;
		g_assert_cmpint(sendto(fd, octets, len, 0, (struct sockaddr *)&to, sizeof(to)), ==,
				(ssize_t)len);
		exchange(&w);
		sim_poll(w.pair[1]);
		g_assert_cmpuint(w.sim->sides[1].engine.faults[ROCE_CRC], ==, 1);
		g_assert_cmpuint(w.pair[1]->qp.count->crc_errors, ==, 1);
		g_assert_cmpuint(w.pair[1]->qp.count->frames_received, ==, !damaged);
		g_assert_cmpstr(w.pair[1]->received->str, ==,
				damaged ? "" : "5 RI_OP_RECV RI_WC_SUCCESS 0 4\n");
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/udp/ipv4", ipv4);
	g_test_add_func("/roce/udp/ipv6", ipv6);
	g_test_add_func("/roce/udp/addresses", addresses);
	g_test_add_data_func("/roce/udp/dead", NULL, dead);
	g_test_add_data_func("/roce/udp/dead-beside-others", "", dead);
	g_test_add_func("/roce/udp/told-elsewhere", told_elsewhere);
	g_test_add_func("/roce/udp/told-instead", told_instead);
#ifndef RI_CALLS_PLAIN
	g_test_add_data_func("/roce/udp/full/waits", GINT_TO_POINTER(EAGAIN), full);
	g_test_add_data_func("/roce/udp/full/lost", GINT_TO_POINTER(ENOBUFS), full);
	g_test_add_func("/roce/udp/unsendable", unsendable);
#endif
	g_test_add_func("/roce/udp/room-to-send", room_to_send);
	g_test_add_func("/roce/udp/other-senders", other_senders);
	return g_test_run();
}
