/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * One thread, one connection at a time. Octets go through `flow_octet` one by one: it knows the FPDU of an octet
 * and its place there, and does the damage at the chosen place. The size of an FPDU is known only after its length
 * field, so that field is held back until both of its octets have arrived.
 */
#include "it_relay.h"

#include <errno.h>
#include <glib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STARTUP   20u /* octets of a start-up frame before its private data */
#define HEAD      22u /* octets of an FPDU up to the code of a Terminate */
#define CHUNK     16384
#define MEMORY    64u /* octets to repeat, at most */
#define IMPATIENT 20  /* ms of silence after a harm that may leave both sides waiting */

struct flow {
	unsigned way;
	int from, to;
	bool over;        /* `from` has ended */
	bool cut;         /* forward nothing more */
	unsigned startup; /* octets of the start-up that are to come; STARTUP: its header, too */
	uint8_t head[HEAD];
	uint32_t at, size; /* in the present frame; its size, 0: not known yet */
	unsigned index;
	uint8_t out[CHUNK + 2 * MEMORY];
	size_t out_len;
	uint8_t past[MEMORY];
	unsigned passed;
	unsigned dropping;
};

struct relay {
	int listener;
	uint16_t port, target;
	GThread *thread;
	struct relay_plan plan;
	struct relay_report report;
	atomic_bool done;
	bool reset;
	struct flow flows[RELAY_WAYS];
};

/* --- octets -------------------------------------------------------------------------------- */

static void
flow_put(struct flow *flow, uint8_t octet)
{
	if (flow->cut)
		return;
	flow->out[flow->out_len++] = octet;
	flow->past[flow->passed++ % MEMORY] = octet;
}

/* The octets that were passed last, again. */
static void
flow_repeat(struct flow *flow, unsigned octets)
{
	unsigned count = MIN(MIN(octets, MEMORY), flow->passed);
	uint8_t again[MEMORY];

	for (unsigned i = 0; i < count; i++)
		again[i] = flow->past[(flow->passed - count + i) % MEMORY];
	for (unsigned i = 0; i < count; i++)
		flow_put(flow, again[i]);
}

/* The harm is done at this octet. Answers the octet to pass on; `passes` false: none. */
static uint8_t
strike(struct relay *relay, struct flow *flow, uint8_t octet, bool *passes)
{
	const struct relay_plan *plan = &relay->plan;

	relay->report.struck = true;
	relay->report.at = flow->at;
	relay->report.size = flow->size;
	relay->report.tagged = (flow->head[2] & 0x80) != 0;
	switch (plan->harm) {
	case RELAY_FLIP:
	case RELAY_FLIP_LENGTH:
		return octet ^ (uint8_t)(1u << (plan->pick >> 24) % 8);
	case RELAY_DROP:
		flow->dropping = plan->octets;
		break;
	case RELAY_DUPLICATE:
		flow_repeat(flow, plan->octets);
		break;
	case RELAY_RESET:
		relay->reset = true;
		flow->cut = true;
		break;
	case RELAY_FIN:
		flow->cut = true;
		break;
	case RELAY_SLICE:
	case RELAY_HARMS:
		break;
	}
	*passes = !flow->cut;
	return octet;
}

/* Where in an FPDU of that size the harm is done. */
static uint32_t
place_of(const struct relay_plan *plan, uint32_t size)
{
	if (plan->harm == RELAY_FLIP_LENGTH)
		return plan->pick % 2;
	return 2 + plan->pick % (size - 2);
}

static void
flow_pass(struct relay *relay, struct flow *flow, uint8_t octet)
{
	const struct relay_plan *plan = &relay->plan;
	bool passes = true;

	if (!relay->report.struck && plan->harm != RELAY_SLICE && plan->way == flow->way &&
	    plan->fpdu == flow->index && place_of(plan, flow->size) == flow->at)
		octet = strike(relay, flow, octet, &passes);
	flow->at++;
	if (flow->dropping > 0)
		flow->dropping--;
	else if (passes)
		flow_put(flow, octet);
}

/* The frame is whole. */
static void
fpdu_done(struct relay *relay, struct flow *flow)
{
	if ((flow->head[3] & 0x0f) == 7)
		relay->report.terminate[flow->way] = flow->head[20] << 8 | flow->head[21];
	flow->index++;
	flow->at = 0;
	flow->size = 0;
	memset(flow->head, 0, sizeof(flow->head));
}

/* A start-up frame: its header says how much private data follows. */
static void
flow_startup(struct flow *flow, uint8_t octet)
{
	flow_put(flow, octet);
	if (flow->at < STARTUP) {
		flow->head[flow->at++] = octet;
		if (flow->at < STARTUP)
			return;
		flow->startup = (unsigned)flow->head[18] << 8 | flow->head[19];
	} else {
		flow->startup--;
	}
	if (flow->startup > 0)
		return;
	flow->at = 0;
	memset(flow->head, 0, sizeof(flow->head));
}

static void
flow_octet(struct relay *relay, struct flow *flow, uint8_t octet)
{
	if (flow->startup > 0) {
		flow_startup(flow, octet);
		return;
	}
	if (flow->size == 0) {
		uint32_t length;

		flow->head[flow->at++] = octet;
		if (flow->at < 2)
			return;
		length = 2u + ((uint32_t)flow->head[0] << 8 | flow->head[1]);
		flow->size = (length + 3) / 4 * 4 + 4;
		flow->at = 0;
		flow_pass(relay, flow, flow->head[0]);
		flow_pass(relay, flow, flow->head[1]);
		return;
	}
	if (flow->at < HEAD)
		flow->head[flow->at] = octet;
	flow_pass(relay, flow, octet);
	if (flow->at == flow->size)
		fpdu_done(relay, flow);
}

/* --- sockets ------------------------------------------------------------------------------- */

static void
reset(int fd)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	g_assert_cmpint(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), ==, 0);
}

/* Send what is there, whole or in small pieces. If a send fails, the receiving side has ended. */
static void
flow_send(struct relay *relay, struct flow *flow)
{
	uint32_t random = relay->plan.pick;
	size_t at = 0;

	while (at < flow->out_len) {
		size_t n = flow->out_len - at;

		random = random * 1664525 + 1013904223;
		if (relay->plan.harm == RELAY_SLICE)
			n = MIN(n, 1 + (random >> 20) % 300);
		if (send(flow->to, flow->out + at, n, MSG_NOSIGNAL) < 0)
			break;
		at += n;
		if (relay->plan.harm == RELAY_SLICE && (random >> 16) % 16 == 0)
			g_usleep(200);
	}
	flow->out_len = 0;
}

static void
flow_run(struct relay *relay, struct flow *flow)
{
	static uint8_t in[CHUNK];
	ssize_t n = recv(flow->from, in, sizeof(in), MSG_DONTWAIT);
	bool cut = flow->cut;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	for (ssize_t i = 0; i < n; i++)
		flow_octet(relay, flow, in[i]);
	flow_send(relay, flow);
	if (flow->cut && !cut)
		(void)shutdown(flow->to, SHUT_WR);
	if (n > 0)
		return;
	flow->over = true;
	if (n < 0)
		relay->reset = true; /* what one side does the other one sees */
	else
		(void)shutdown(flow->to, SHUT_WR);
}

static void
connection_run(struct relay *relay)
{
	struct flow *flows = relay->flows;
	bool may_stall = relay->plan.harm == RELAY_FLIP_LENGTH || relay->plan.harm == RELAY_DROP ||
			 relay->plan.harm == RELAY_DUPLICATE;

	while (!relay->reset && !(flows[0].over && flows[1].over)) {
		struct pollfd set[RELAY_WAYS];
		bool impatient = may_stall && relay->report.struck;
		int ready;

		for (int i = 0; i < RELAY_WAYS; i++)
			set[i] = (struct pollfd){.fd = flows[i].over ? -1 : flows[i].from,
						 .events = POLLIN};
		ready = poll(set, RELAY_WAYS, impatient ? IMPATIENT : 60000);
		g_assert_cmpint(ready, >=, impatient ? 0 : 1);
		for (int i = 0; i < RELAY_WAYS; i++) {
			if (ready == 0)
				(void)shutdown(flows[i].to, SHUT_WR);
			else if (set[i].revents != 0 && !relay->reset)
				flow_run(relay, &flows[i]);
		}
	}
}

static int
dial(uint16_t port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	g_assert_cmpint(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), ==, 0);
	g_assert_cmpint(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), ==, 0);
	return fd;
}

static void *
serve(void *arg)
{
	struct relay *relay = arg;
	int near;

	while ((near = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		int far = dial(relay->target), one = 1;

		g_assert_cmpint(setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), ==,
				0);
		relay->reset = false;
		for (unsigned way = 0; way < RELAY_WAYS; way++) {
			relay->flows[way] = (struct flow){.way = way, .startup = STARTUP};
			relay->flows[way].from = way == RELAY_FORTH ? near : far;
			relay->flows[way].to = way == RELAY_FORTH ? far : near;
		}
		connection_run(relay);
		relay->report.reset = relay->reset;
		if (relay->reset) {
			reset(near);
			reset(far);
		}
		close(near);
		close(far);
		atomic_store(&relay->done, true);
	}
	return NULL;
}

/* --- for tests ------------------------------------------------------------------------------ */

struct relay *
relay_new(uint16_t target)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sin);
	struct relay *relay = g_new0(struct relay, 1);

	relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_assert_cmpint(bind(relay->listener, (struct sockaddr *)&sin, sizeof(sin)), ==, 0);
	g_assert_cmpint(listen(relay->listener, 1), ==, 0);
	g_assert_cmpint(getsockname(relay->listener, (struct sockaddr *)&sin, &len), ==, 0);
	relay->port = sin.sin_port;
	relay->target = target;
	relay->thread = g_thread_new("relay", serve, relay);
	return relay;
}

uint16_t
relay_port(const struct relay *relay)
{
	return relay->port;
}

void
relay_prepare(struct relay *relay, const struct relay_plan *plan)
{
	relay->plan = *plan;
	relay->report = (struct relay_report){.terminate = {-1, -1}};
	atomic_store(&relay->done, false);
}

struct relay_report
relay_finish(struct relay *relay)
{
	gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

	while (!atomic_load(&relay->done)) {
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		g_usleep(50);
	}
	return relay->report;
}

void
relay_free(struct relay *relay)
{
	(void)shutdown(relay->listener, SHUT_RDWR); /* the accept returns */
	g_thread_join(relay->thread);
	close(relay->listener);
	g_free(relay);
}
