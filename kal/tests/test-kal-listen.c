/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The responder: listeners, requests of raw peers right and wrong, accept, reject, hand-off. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kal_fixture.h"
#include "kal_request.h"

#define LISTEN_CTX 0x2222
#define CTX        0x3333

static struct kal_mpa_frame
good_request(void)
{
	return (struct kal_mpa_frame){.kind = KAL_MPA_REQUEST,
				      .revision = 2,
				      .words = true,
				      .peer_to_peer = true,
				      .rtr = RI_RTR_WRITE | RI_RTR_READ,
				      .ird = 2,
				      .ord = 9,
				      .private_len = 4,
				      .private_data = (const uint8_t *)"ping"};
}

static uint32_t
next_request(struct fixture *f)
{
	return fixture_cm(f, KAL_CM_REQUEST, LISTEN_CTX).request;
}

static enum ri_status
accept_with(struct fixture *f, uint32_t request, uint32_t qp, struct kal_accept_rep *rep)
{
	struct kal_cm_req req = {.qp = qp, .request = request, .ird = 4, .ord = 3, .pdata_len = 4};

	memcpy(req.pdata, "pong", 4);
	return fixture_call(f, KAL_ACCEPT, &req, sizeof(req), rep, sizeof(*rep));
}

static enum ri_status
reject(struct fixture *f, uint32_t request)
{
	struct kal_cm_req req = {.request = request, .reason = KAL_REASON_CONSUMER, .pdata_len = 2};

	memcpy(req.pdata, "no", 2);
	return fixture_call(f, KAL_REJECT, &req, sizeof(req), NULL, 0);
}

static void
accept_over(bool ipv6)
{
	struct kal_mpa_frame request = good_request(), reply;
	struct kal_accept_rep rep;
	struct kal_cm_event event;
	struct ri_stream stream;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	uint16_t port = 0;
	uint32_t qp;
	int peer;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	qp = fixture_qp(&f, CTX, 4, 3);
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	peer = raw_connect(ipv6, port);
	raw_send_frame(peer, &request);
	event = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX);
	g_assert_cmpint(event.peer.family, ==, ipv6 ? RI_ADDR_IPV6 : RI_ADDR_IPV4);
	g_assert_cmpmem(&event.peer, sizeof(event.peer), &event.local, sizeof(event.local));
	g_assert_cmpuint(event.service.port, ==, port);
	g_assert_cmpuint(event.service.local_port, !=, 0);
	g_assert_true(event.ird_ord_valid);
	g_assert_cmpuint(event.ird, ==, 2);
	g_assert_cmpuint(event.ord, ==, 9);
	g_assert_cmpmem(event.pdata, event.pdata_len, "ping", 4);

	g_assert_cmpint(accept_with(&f, event.request, f.pd, &rep), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(accept_with(&f, event.request, qp, &rep), ==, RI_SUCCESS);
	g_assert_cmpuint(rep.ird, ==, 4);
	g_assert_cmpuint(rep.ord, ==, 2); /* lowered to what the peer serves */
	g_assert_cmpint(accept_with(&f, event.request, qp, &rep), ==, RI_ERR_INVALID_HANDLE);
	reply = raw_frame(peer, KAL_MPA_REPLY, buf);
	g_assert_true(reply.crc && reply.words && reply.peer_to_peer && !reply.reject);
	g_assert_cmpuint(reply.rtr, ==, RI_RTR_WRITE);
	g_assert_cmpuint(reply.ird, ==, 4);
	g_assert_cmpuint(reply.ord, ==, 2);
	g_assert_cmpmem(reply.private_data, reply.private_len, "pong", 4);

	/* It does not stand before the peer's RTR. */
	g_assert_true(fixture_silent(&f));
	stream = fake_last_stream();
	g_assert_false(stream.initiator || stream.await_fpdu);
	g_assert_true(stream.crc && stream.peer_local);
	g_assert_cmpuint(stream.rtr_expect, ==, RI_RTR_WRITE);
	g_assert_cmpuint(stream.rtr_send, ==, 0);
	raw_send(peer, "R", 1);
	event = fixture_cm(&f, KAL_CM_ESTABLISHED, CTX);
	g_assert_cmpuint(event.own_ird, ==, 4);
	g_assert_cmpuint(event.own_ord, ==, 2);
	g_assert_false(event.pdata_present);
	close(peer);
	fixture_cm(&f, KAL_CM_DISCONNECTED, CTX);
}

static void
test_accept(void)
{
	accept_over(false);
	accept_over(true);
}

/* A peer of revision 1: no depths, no RTR, and our send queue waits for its first message. */
static void
test_plain_peer(void)
{
	struct kal_mpa_frame request = {.kind = KAL_MPA_REQUEST, .revision = 1}, reply;
	struct kal_accept_rep rep;
	struct kal_cm_event event;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	uint16_t port = 0;
	uint32_t qp;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	qp = fixture_qp(&f, CTX, 4, 3);
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int peer RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send_frame(peer, &request);
	event = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX);
	g_assert_false(event.ird_ord_valid || event.pdata_present);
	g_assert_cmpint(accept_with(&f, event.request, qp, &rep), ==, RI_SUCCESS);
	g_assert_cmpuint(rep.ord, ==, 3);
	reply = raw_frame(peer, KAL_MPA_REPLY, buf);
	g_assert_cmpuint(reply.revision, ==, 1);
	g_assert_false(reply.words);
	fixture_cm(&f, KAL_CM_ESTABLISHED, CTX);
	g_assert_true(fake_last_stream().await_fpdu);
	g_assert_cmpuint(fake_last_stream().rtr_expect, ==, 0);
}

static void
test_reject(void)
{
	struct kal_mpa_frame request = good_request(), reply;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	uint16_t port = 0;
	uint32_t id;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int peer RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send_frame(peer, &request);
	id = next_request(&f);
	g_assert_cmpint(reject(&f, id + 1), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(reject(&f, 0), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(reject(&f, id), ==, RI_SUCCESS);
	g_assert_cmpint(reject(&f, id), ==, RI_ERR_INVALID_HANDLE);
	reply = raw_frame(peer, KAL_MPA_REPLY, buf);
	g_assert_true(reply.reject);
	g_assert_cmpmem(reply.private_data, reply.private_len, "no", 2);
	shutdown(peer, SHUT_WR);
	g_assert_cmpint(raw_recv(peer, buf, 1), ==, 0); /* an orderly end, not a reset */
	g_assert_true(fixture_silent(&f));
}

/* What is no Request is dropped without an answer and without an event. */
static void
drop(const void *octets, size_t len, bool end)
{
	uint16_t port = 0;
	uint8_t octet;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int peer RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send(peer, octets, len);
	if (end)
		shutdown(peer, SHUT_WR);
	g_assert_cmpint(raw_recv(peer, &octet, 1), <=, 0);
	g_assert_true(fixture_silent(&f));
}

static void
test_wrong_requests(void)
{
	static const char http[] = "GET / HTTP/1.0\r\n\r\n";
	static const char reply[] = "MPA ID Rep Frame\x40\x02\0\0";
	static const char revision[] = "MPA ID Req Frame\x40\0\0\0";
	static const char length[] = "MPA ID Req Frame\x40\x01\xff\xff";
	static const char words[] = "MPA ID Req Frame\x50\x02\0\x02"
				    "ab";
	static const char behind[] = "MPA ID Req Frame\x40\x01\0\x01"
				     "ab";
	static const char brief[] = "MPA ID Req Frame\x40\x01\0\x10"
				    "half";

	drop(http, sizeof(http) - 1, false);
	drop(reply, sizeof(reply) - 1, false);
	drop(revision, sizeof(revision) - 1, false);
	drop(length, sizeof(length) - 1, false);
	drop(words, sizeof(words) - 1, false);
	drop(behind, sizeof(behind) - 1, false);
	drop(brief, sizeof(brief) - 1, true);
}

/* The administrator does not allow markers: refused by a Reply [WIRE 2.2]. */
static void
test_refuses_markers(void)
{
	struct kal_mpa_frame request = good_request();
	uint8_t buf[KAL_MPA_FRAME_MAX];
	uint16_t port = 0;

	fixture_config("[mpa]\nmarkers = refuse\n");
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	fixture_config(NULL);
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int peer RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	request.markers = true;
	raw_send_frame(peer, &request);
	g_assert_true(raw_frame(peer, KAL_MPA_REPLY, buf).reject);
	g_assert_true(fixture_silent(&f));
}

/* Longer private data than the interface has room for is cut, not refused. */
static void
test_long_private_data(void)
{
	static const uint8_t data[508] = {[0] = 1, [255] = 2, [256] = 3};
	struct kal_mpa_frame request = good_request();
	struct kal_cm_event event;
	uint16_t port = 0;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int peer RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	request.private_data = data;
	request.private_len = sizeof(data);
	raw_send_frame(peer, &request);
	event = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX);
	g_assert_cmpmem(event.pdata, event.pdata_len, data, RI_PDATA_MAX);
}

/* What an application has done with a request that it has not answered yet; the request is at this listener then. */
struct before {
	const char *name;
	uint32_t (*act)(struct fixture *f, uint32_t id, uint32_t busy, uint16_t target);
	uint64_t listener;
};

static uint32_t
does_nothing(struct fixture *f, uint32_t id, uint32_t busy, uint16_t target)
{
	(void)f;
	(void)busy;
	(void)target;
	return id;
}

static uint32_t
accepts_in_vain(struct fixture *f, uint32_t id, uint32_t busy, uint16_t target)
{
	struct kal_accept_rep rep;

	(void)target;
	g_assert_cmpint(accept_with(f, id, busy, &rep), ==, RI_ERR_INVALID_STATE);
	return id;
}

static enum ri_status
hand(struct fixture *f, uint32_t id, uint16_t port)
{
	const struct kal_handoff_req req = {.request = id,
					    .service = {.kind = RI_SERVICE_PORT, .port = port}};

	return fixture_call(f, KAL_HANDOFF, &req, sizeof(req), NULL, 0);
}

static uint32_t
hands_in_vain(struct fixture *f, uint32_t id, uint32_t busy, uint16_t target)
{
	(void)busy;
	(void)target;
	g_assert_cmpint(hand(f, id, htons(1)), ==, RI_ERR_INVALID_ARG);
	return id;
}

static uint32_t
hands_off(struct fixture *f, uint32_t id, uint32_t busy, uint16_t target)
{
	(void)busy;
	g_assert_cmpint(hand(f, id, target), ==, RI_SUCCESS);
	return fixture_cm(f, KAL_CM_REQUEST, LISTEN_CTX + 1).request;
}

static const struct before befores[] = {
	{"nothing", does_nothing, LISTEN_CTX},
	{"an accept that is refused", accepts_in_vain, LISTEN_CTX},
	{"a hand-off that is refused", hands_in_vain, LISTEN_CTX},
	{"a hand-off", hands_off, LISTEN_CTX + 1},
};

/* How a request ends that is not answered. Returns the peer's socket, or -1. */
enum going {
	CLOSES,
	RESETS,
	SPEAKS, /* it may not yet */
	WAITS,  /* for longer than an application may take */
	GOINGS
};

static int
go(int peer, enum going how)
{
	switch (how) {
	case CLOSES:
		close(peer);
		return -1;
	case RESETS:
		raw_abort(peer);
		return -1;
	case SPEAKS:
		raw_send(peer, "x", 1);
		return peer;
	case WAITS:
	case GOINGS:
	default:
		fixture_time_passes();
		return peer;
	}
}

/* The request ends, in several ways, before it was answered, and whatever was tried with it. */
static void
test_gone(void)
{
	static const char *const names[] = {"closes", "resets", "speaks early", "waits"};
	struct kal_mpa_frame request = good_request();
	struct kal_accept_rep rep;
	uint16_t port = 0, target = 0;
	uint32_t qp, busy;
	struct fixture f RI_AT_END(fixture_close) = fixture_open_on(fixture_frozen_host());

	qp = fixture_qp(&f, CTX, 4, 3);
	busy = fixture_qp(&f, CTX + 1, 4, 3);
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	fixture_listen(&f, LISTEN_CTX + 1, &target, 5);
	int occupant RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send_frame(occupant, &request);
	g_assert_cmpint(accept_with(&f, next_request(&f), busy, &rep), ==, RI_SUCCESS);
	raw_send(occupant, "R", 1);
	fixture_cm(&f, KAL_CM_ESTABLISHED, CTX + 1);
	for (size_t i = 0; i < G_N_ELEMENTS(befores); i++)
		for (int how = 0; how < GOINGS; how++) {
			int peer = raw_connect(false, port);
			uint32_t id;

			g_test_message("after %s the peer %s", befores[i].name, names[how]);
			raw_send_frame(peer, &request);
			id = befores[i].act(&f, next_request(&f), busy, target);
			peer = go(peer, (enum going)how);
			g_assert_cmpuint(
				fixture_cm(&f, KAL_CM_REQUEST_GONE, befores[i].listener).request,
				==, id);
			g_assert_cmpint(accept_with(&f, id, qp, &rep), ==, RI_ERR_INVALID_HANDLE);
			g_assert_cmpint(fixture_state(&f, qp), ==, RI_QPS_IDLE);
			if (peer >= 0)
				close(peer);
		}
}

/* Close, and return when the other side has closed too. */
static void
raw_leave(int peer)
{
	char octet;

	g_assert_cmpint(shutdown(peer, SHUT_WR), ==, 0);
	while (read(peer, &octet, 1) > 0)
		continue;
	close(peer);
}

/* A request that came and went before the client looked never was. */
static void
test_gone_unseen(void)
{
	struct kal_mpa_frame request = good_request();
	uint16_t port = 0;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	for (int i = 0; i < 20; i++) {
		int peer = raw_connect(false, port);

		raw_send_frame(peer, &request);
		g_usleep(2000);
		raw_leave(peer);
	}
	int last RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send_frame(last, &request);
	next_request(&f);
	g_assert_true(fixture_silent(&f));
}

/* The backlog bounds unanswered requests; the rest wait and get their turn. */
static void
test_backlog(void)
{
	enum {
		PEERS = 6,
		BACKLOG = 2
	};
	struct kal_mpa_frame request = good_request();
	uint8_t buf[KAL_MPA_FRAME_MAX];
	uint16_t port = 0;
	uint32_t ids[PEERS];
	int peers[PEERS];
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	fixture_listen(&f, LISTEN_CTX, &port, BACKLOG);
	for (int i = 0; i < BACKLOG; i++) {
		peers[i] = raw_connect(false, port);
		raw_send_frame(peers[i], &request);
		ids[i] = next_request(&f);
	}
	for (int i = BACKLOG; i < PEERS; i++) {
		if (i < 2 * BACKLOG) {
			peers[i] = raw_connect(false, port);
			raw_send_frame(peers[i], &request);
			g_assert_true(fixture_silent(&f));
		}
	}
	for (int i = 0; i < BACKLOG; i++) {
		g_assert_cmpint(reject(&f, ids[i]), ==, RI_SUCCESS);
		g_assert_true(raw_frame(peers[i], KAL_MPA_REPLY, buf).reject);
		close(peers[i]);
	}
	/* The peers stay until both requests are there: the end of one would be an event in between. */
	for (int i = BACKLOG; i < 2 * BACKLOG; i++)
		next_request(&f);
	for (int i = BACKLOG; i < 2 * BACKLOG; i++)
		close(peers[i]);
}

static enum ri_status
listen_on(struct fixture *f, uint32_t spigot, uint16_t port)
{
	struct kal_listen_req req = {.rnic = f->rnic, .port = spigot, .backlog = 1};
	struct kal_listen_rep rep;

	req.service.kind = RI_SERVICE_PORT;
	req.service.port = port;
	return fixture_call(f, KAL_LISTEN, &req, sizeof(req), &rep, sizeof(rep));
}

static void
test_ports(void)
{
	uint16_t port = 0, other = 0;
	uint32_t id;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	id = fixture_listen(&f, LISTEN_CTX, &port, 5);
	g_assert_cmpint(listen_on(&f, 0, port), ==, RI_ERR_IN_USE);
	int taken RI_AT_END(ri_at_end_close) = raw_listen(&other);
	g_assert_cmpint(listen_on(&f, 0, other), ==, RI_ERR_IN_USE);
	g_assert_cmpint(listen_on(&f, 7, 0), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(fixture_id(&f, KAL_LISTEN_DESTROY, id), ==, RI_SUCCESS);
	g_assert_cmpint(fixture_id(&f, KAL_LISTEN_DESTROY, id), ==, RI_ERR_INVALID_HANDLE);
	/* Free at once, and also for a spigot without addresses of its own. */
	g_assert_cmpint(listen_on(&f, 1, port), ==, RI_SUCCESS);
	close(raw_connect(false, port));
	close(raw_connect(true, port));
}

/* A listener at all addresses that is refused, since a program has its port at one of them, leaves the one before it as it was. */
static void
test_refused_beside(void)
{
	struct sockaddr_in other = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002)};
	int taken RI_AT_END(ri_at_end_close) = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct kal_mpa_frame request = good_request();
	uint16_t port = 0;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	fake_beside = "beside";
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	other.sin_port = port;
	g_assert_cmpint(bind(taken, (struct sockaddr *)&other, sizeof(other)), ==, 0);
	g_assert_cmpint(listen(taken, 1), ==, 0);
	for (int i = 0; i < 2; i++) {
		int peer RI_AT_END(ri_at_end_close) = -1;

		g_assert_cmpint(listen_on(&f, 1, port), ==, RI_ERR_IN_USE);
		peer = raw_connect(false, port);
		raw_send_frame(peer, &request);
		g_assert_cmpint(reject(&f, next_request(&f)), ==, RI_SUCCESS);
	}
	fake_beside = "";
}

/* A delivered request outlives its listener. */
static void
test_listener_goes(void)
{
	struct kal_mpa_frame request = good_request();
	uint8_t buf[KAL_MPA_FRAME_MAX];
	uint16_t port = 0;
	uint32_t id, listener;
	int peer;
	struct fixture f = fixture_open();

	listener = fixture_listen(&f, LISTEN_CTX, &port, 5);
	int half RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send(half, "MPA ID Req", 10);
	peer = raw_connect(false, port);
	raw_send_frame(peer, &request);
	id = next_request(&f);
	g_assert_cmpint(fixture_id(&f, KAL_LISTEN_DESTROY, listener), ==, RI_SUCCESS);
	g_assert_cmpint(reject(&f, id), ==, RI_SUCCESS);
	g_assert_true(raw_frame(peer, KAL_MPA_REPLY, buf).reject);
	/* Half-open and unanswered ones end with the client. */
	close(peer);
	fixture_close(&f);
	g_assert_cmpint(raw_recv(half, buf, 1), <=, 0);
}

static void
test_handoff(void)
{
	struct kal_mpa_frame request = good_request();
	uint8_t buf[KAL_MPA_FRAME_MAX];
	struct kal_cm_event event;
	uint16_t port = 0, target = 0;
	uint32_t id;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	fixture_listen(&f, LISTEN_CTX + 1, &target, 5);
	int peer RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send_frame(peer, &request);
	id = next_request(&f);
	g_assert_cmpint(hand(&f, id, target), ==, RI_SUCCESS);
	event = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX + 1);
	g_assert_cmpuint(event.request, !=, id);
	g_assert_cmpmem(event.pdata, event.pdata_len, "ping", 4);
	g_assert_cmpint(hand(&f, id, target), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(reject(&f, event.request), ==, RI_SUCCESS);
	g_assert_true(raw_frame(peer, KAL_MPA_REPLY, buf).reject);
}

/* No descriptor for the next connection: it waits, nothing spins, and later it is served. */
static void
test_no_descriptors(void)
{
	struct kal_mpa_frame request = good_request();
	struct rlimit old, none;
	uint16_t port = 0;
	int peer;

	if (fixture_no_descriptor_limit())
		return;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	g_assert_cmpint(connect(peer,
				(struct sockaddr *)&(struct sockaddr_in){
					.sin_family = AF_INET,
					.sin_port = port,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
				sizeof(struct sockaddr_in)),
			==, 0);
	raw_send_frame(peer, &request);
	g_assert_true(fixture_silent(&f));
	setrlimit(RLIMIT_NOFILE, &old);
	next_request(&f);
	close(peer);
}

/* A host whose clock a test sets forward, and the lines that it gets. */
static _Atomic(uint64_t) forward; /* ns */
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;
static GString *said;

static uint64_t
now_forward(void *self)
{
	return kal_host_default()->now(self) + forward;
}

static void
timer_start_forward(void *self, struct ri_timer *timer, uint64_t deadline)
{
	kal_host_default()->timer_start(self, timer,
					deadline == RI_NEVER ? deadline : deadline - forward);
}

static void
note_line(void *self, enum ri_log_level level, const char *where, const char *text)
{
	(void)self;
	(void)level;
	pthread_mutex_lock(&said_lock);
	g_string_append_printf(said, "%s: %s\n", where, text);
	pthread_mutex_unlock(&said_lock);
}

/* Wait for the line of its kind with that number; it is the last one so far. */
static void
await_lines(const char *what, unsigned number)
{
	unsigned count = 0;

	for (gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC; count < number;) {
		count = 0;
		pthread_mutex_lock(&said_lock);
		for (const char *at = said->str; (at = strstr(at, what)) != NULL; at++)
			count++;
		pthread_mutex_unlock(&said_lock);
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		g_usleep(1000);
	}
	g_assert_cmpuint(count, ==, number);
}

static void
connect_now(int peer, uint16_t port)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	g_assert_cmpint(connect(peer, (const struct sockaddr *)&to, sizeof(to)), ==, 0);
}

/* A host of that kind, and no line so far. */
static const struct ri_host *
forward_host(void)
{
	static struct ri_host host;

	host = *kal_host_default();
	host.now = now_forward;
	host.timer_start = timer_start_forward;
	host.log = note_line;
	host.log_level = RI_LOG_WARNING;
	forward = 0;
	said = g_string_new(NULL);
	return &host;
}

static void
forward_end(void)
{
	forward = 0;
	g_string_free(said, TRUE);
}

/* There is no descriptor for long: the log says so once, and peers are not left waiting, but not sent away at once either. */
static void
shortage(struct fixture *f, uint16_t port, unsigned life)
{
	struct kal_mpa_frame request = good_request();
	const struct timeval minute = {.tv_sec = 60};
	struct rlimit old, none;
	int peers[3], used[64], count = 0;
	char octet;

	for (int i = 0; i < 3; i++) {
		peers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(peers[i], SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
	}
	/* Use all that are left below a limit: one that is closed can be had again. */
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = (rlim_t)peers[2] + 16;
	setrlimit(RLIMIT_NOFILE, &none);
	while (count < (int)G_N_ELEMENTS(used) && (used[count] = dup(peers[2])) >= 0)
		count++;
	connect_now(peers[0], port);
	await_lines("cannot accept connections to port", life);
	g_usleep(5 * KAL_RETRY_AFTER / 1000);
	g_assert_cmpint(recv(peers[0], &octet, 1, MSG_DONTWAIT), ==, -1);
	g_assert_cmpint(errno, ==, EAGAIN);
	forward += 10 * UINT64_C(1000000000);
	/* Not the first one only: every one that comes, each soon. */
	g_assert_cmpint(recv(peers[0], &octet, 1, 0), ==, -1);
	g_assert_cmpint(errno, ==, ECONNRESET);
	connect_now(peers[1], port);
	g_assert_cmpint(recv(peers[1], &octet, 1, 0), ==, -1);
	await_lines("cannot accept connections to port", life);
	setrlimit(RLIMIT_NOFILE, &old);
	connect_now(peers[2], port);
	raw_send_frame(peers[2], &request);
	next_request(f);
	await_lines("are accepted again", life);
	for (int i = 0; i < 3; i++)
		close(peers[i]);
	while (count > 0)
		close(used[--count]);
	g_assert_cmpint(fixture_event(f).u.cm.kind, ==, KAL_CM_REQUEST_GONE);
}

/* The second shortage is like the first. */
static void
test_never_descriptors(void)
{
	g_autofree char *kald = g_strdup(g_getenv("ITAPI_KALD"));
	struct fixture f;
	uint16_t port = 0;

	if (fixture_no_descriptor_limit())
		return;
	/* A daemon that ends would give this process a descriptor back. */
	g_setenv("ITAPI_KALD", "off", TRUE);
	f = fixture_open_on(forward_host());
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	for (unsigned life = 1; life <= 2; life++)
		shortage(&f, port, life);
	fixture_close(&f);
	forward_end();
	if (kald != NULL)
		g_setenv("ITAPI_KALD", kald, TRUE);
	else
		g_unsetenv("ITAPI_KALD");
}

/* A Request that finds the backlog full is tried again, but for a limited time. */
static void
test_no_room(void)
{
	const struct timeval patience = {.tv_sec = 20};
	struct kal_mpa_frame request = good_request();
	struct fixture f;
	unsigned before;
	uint16_t port = 0;
	int peers[2];
	char octet;

	f = fixture_open_on(forward_host());
	fixture_listen(&f, LISTEN_CTX, &port, 1);
	before = raw_count_fds();
	for (int i = 0; i < 2; i++)
		peers[i] = raw_connect(false, port);
	/* Both were accepted before one of them takes the place. */
	while (raw_count_fds() < before + 4)
		g_usleep(1000);
	raw_send_frame(peers[0], &request);
	next_request(&f);
	setsockopt(peers[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	raw_send_frame(peers[1], &request);
	g_assert_true(fixture_silent(&f));
	forward = KAL_REQUEST_ANSWER_MAX;
	g_assert_true(recv(peers[1], &octet, 1, 0) == 0 || errno == ECONNRESET);
	g_assert_true(fixture_silent(&f));
	for (int i = 0; i < 2; i++)
		close(peers[i]);
	fixture_close(&f);
	forward_end();
}

/* A queue pair that was accepted with connects: its ports are shown as those of one that always connects. */
static void
test_shown_again(void)
{
	struct kal_qp_modify_req idle = {.mask = RI_QP_ATTR_STATE, .attr.state = RI_QPS_IDLE};
	struct kal_mpa_frame request = good_request();
	struct sockaddr_in sa = {0};
	socklen_t len = sizeof(sa);
	struct kal_accept_rep rep;
	struct kal_cm_event event;
	struct kal_cm_req req;
	struct fixture f;
	enum ri_status status;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	uint16_t port = 0, other = 0;
	int peer, listener = raw_listen(&other);

	f = fixture_open();
	idle.id = fixture_qp(&f, CTX, 4, 3);
	fixture_listen(&f, LISTEN_CTX, &port, 5);
	peer = raw_connect(false, port);
	raw_send_frame(peer, &request);
	event = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX);
	g_assert_cmpint(accept_with(&f, event.request, idle.id, &rep), ==, RI_SUCCESS);
	(void)raw_frame(peer, KAL_MPA_REPLY, buf);
	raw_send(peer, "R", 1);
	fixture_cm(&f, KAL_CM_ESTABLISHED, CTX);
	fixture_shown(port, event.service.local_port);
	close(peer);
	fixture_cm(&f, KAL_CM_DISCONNECTED, CTX);
	do
		status = fixture_call(&f, KAL_QP_MODIFY, &idle, sizeof(idle), NULL, 0);
	while (status == RI_ERR_STILL_FLUSHING);
	g_assert_cmpint(status, ==, RI_SUCCESS);
	fixture_shown(0, 0);
	fixture_connect_req(&req, idle.id, false, other);
	g_assert_cmpint(fixture_call(&f, KAL_CONNECT, &req, sizeof(req), NULL, 0), ==, RI_SUCCESS);
	peer = raw_accept(listener);
	(void)raw_frame(peer, KAL_MPA_REQUEST, buf);
	g_assert_cmpint(getpeername(peer, (struct sockaddr *)&sa, &len), ==, 0);
	fixture_shown(sa.sin_port, other);
	fixture_close(&f);
	close(peer);
	close(listener);
}

/* A forked child that lives on keeps neither listeners nor start-ups. */
static void
test_fork(void)
{
	struct kal_mpa_frame request = good_request();
	uint16_t port = 0;
	uint8_t octet;
	struct sockaddr_in there = {.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int gate[2], ready[2], late;
	pid_t child;
	struct fixture f = fixture_open();

	fixture_listen(&f, LISTEN_CTX, &port, 5);
	int peer RI_AT_END(ri_at_end_close) = raw_connect(false, port);
	raw_send_frame(peer, &request);
	next_request(&f);
	g_assert_cmpint(pipe2(gate, O_CLOEXEC), ==, 0);
	g_assert_cmpint(pipe2(ready, O_CLOEXEC), ==, 0);
	child = fork();
	if (child == 0) {
		close(gate[1]);
		close(ready[1]); /* the parent goes on when this is gone everywhere */
		_exit(read(gate[0], &octet, 1) == 0 ? 0 : 1);
	}
	close(gate[0]);
	close(ready[1]);
	g_assert_cmpint(read(ready[0], &octet, 1), ==, 0);
	close(ready[0]);
	fixture_close(&f);
	g_assert_cmpint(raw_recv(peer, &octet, 1), >=, -1); /* a reject, an end: but no silence */
	there.sin_port = port;
	late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_assert_cmpint(connect(late, (struct sockaddr *)&there, sizeof(there)), ==, -1);
	close(late);
	close(gate[1]);
	g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/listen/accept", test_accept);
	g_test_add_func("/kal/listen/plain-peer", test_plain_peer);
	g_test_add_func("/kal/listen/reject", test_reject);
	g_test_add_func("/kal/listen/wrong-requests", test_wrong_requests);
	g_test_add_func("/kal/listen/refuses-markers", test_refuses_markers);
	g_test_add_func("/kal/listen/long-private-data", test_long_private_data);
	g_test_add_func("/kal/listen/gone", test_gone);
	g_test_add_func("/kal/listen/gone-unseen", test_gone_unseen);
	g_test_add_func("/kal/listen/backlog", test_backlog);
	g_test_add_func("/kal/listen/ports", test_ports);
	g_test_add_func("/kal/listen/refused-beside", test_refused_beside);
	g_test_add_func("/kal/listen/listener-goes", test_listener_goes);
	g_test_add_func("/kal/listen/handoff", test_handoff);
	g_test_add_func("/kal/listen/no-descriptors", test_no_descriptors);
	g_test_add_func("/kal/listen/never-descriptors", test_never_descriptors);
	g_test_add_func("/kal/listen/no-room", test_no_room);
	g_test_add_func("/kal/listen/shown-again", test_shown_again);
	g_test_add_func("/kal/listen/fork", test_fork);
	return g_test_run();
}
