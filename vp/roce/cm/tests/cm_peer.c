/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A connection manager with a socket and nothing else, to set up and end connections with Linux's rxe, or with itself: each event
 * is printed. Nothing moves data, so what the peer sends on a connection is lost.
 *
 *     roce-cm-peer ADDRESS listen PORT            accept connections and queries; end with the first connection
 *     roce-cm-peer ADDRESS connect PEER PORT      connect, disconnect after half a second
 *     roce-cm-peer ADDRESS resolve PEER PORT      ask for a datagram service
 *
 * The exit status is 0 if the last event was the end of a connection that was established, or a queue pair that was found.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "roce_icrc.h"
#include "vrc_cm.h"
#include "vrc_ip.h"

#define MS       UINT64_C(1000000)
#define TIME_MAX (60000 * MS)

struct peer {
	struct vrc_cm *cm;
	struct ri_host host;
	struct ri_addr addr;
	int fd;
	uint32_t psn;
	bool established;
	bool done;
	uint64_t leave_at; /* disconnect then; RI_NEVER: not */
	uint64_t number;
	int status;
};

static uint64_t
peer_now(void *self)
{
	struct timespec t;

	(void)self;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void
peer_random(void *self, void *buf, size_t len)
{
	(void)self;
	if (getrandom(buf, len, 0) != (ssize_t)len)
		g_error("no random numbers");
}

static struct roce_flow
flow_of(const struct ri_addr *source, const struct ri_addr *dest, uint16_t port)
{
	struct roce_flow flow = {
		.source_port = port, .destination_port = ROCE_UDP_PORT, .hop_limit = 64};

	vrc_gid_of_addr(source, flow.source);
	vrc_gid_of_addr(dest, flow.destination);
	return flow;
}

static struct sockaddr_in
sockaddr_of(const struct ri_addr *addr)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};

	memcpy(&to.sin_addr, addr->octets, 4);
	return to;
}

static void
peer_send(void *self, const struct vrc_path *path, const uint8_t *octets)
{
	struct peer *peer = self;
	struct roce_packet packet = {.opcode = ROCE_UD | ROCE_SEND_ONLY,
				     .pkey = ROCE_PKEY,
				     .qpn = ROCE_QPN_GSI,
				     .psn = peer->psn++,
				     .qkey = ROCE_QKEY_GSI,
				     .source_qpn = ROCE_QPN_GSI,
				     .payload_length = VRC_MAD_SIZE};
	struct roce_flow flow = flow_of(&path->local, &path->peer, ROCE_UDP_PORT);
	struct sockaddr_in to = sockaddr_of(&path->peer);
	uint8_t frame[ROCE_HEAD_MAX + VRC_MAD_SIZE + ROCE_ICRC];
	uint32_t head = roce_packet_write(frame, &packet);

	memcpy(frame + head, octets, VRC_MAD_SIZE);
	size_t len = roce_icrc_seal(&flow, frame, head + VRC_MAD_SIZE);
	g_print("  -> %s\n", vrc_attribute_name(octets[17]));
	if (sendto(peer->fd, frame, len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		g_print("  not sent: %s\n", g_strerror(errno));
}

static void
peer_receive(struct peer *peer)
{
	uint8_t frame[ROCE_PACKET_MAX];
	struct sockaddr_in from = {.sin_family = AF_UNSPEC};
	socklen_t size = sizeof(from);
	struct roce_packet packet;
	ssize_t len = recvfrom(peer->fd, frame, sizeof(frame), MSG_DONTWAIT,
			       (struct sockaddr *)&from, &size);

	if (len < 0)
		return;
	struct vrc_path path = {.local = peer->addr, .peer = {.family = RI_ADDR_IPV4}};
	memcpy(path.peer.octets, &from.sin_addr, 4);
	struct roce_flow flow = flow_of(&path.peer, &path.local, ntohs(from.sin_port));
	if (roce_packet_read(frame, (size_t)len, &packet) != ROCE_OK ||
	    !roce_icrc_check(&flow, true, frame, (size_t)len)) {
		g_print("  a packet that is not right\n");
		return;
	}
	if (packet.qpn != ROCE_QPN_GSI || packet.opcode != (ROCE_UD | ROCE_SEND_ONLY) ||
	    packet.qkey != ROCE_QKEY_GSI || packet.source_qpn != ROCE_QPN_GSI)
		return; /* data, which nobody takes */
	if (packet.payload_length == VRC_MAD_SIZE)
		g_print("  <- %s\n", vrc_attribute_name(packet.payload[17]));
	vrc_cm_receive(peer->cm, &path, packet.payload, packet.payload_length);
}

static struct vrc_params
params_of(struct peer *peer)
{
	return (struct vrc_params){.path = {.local = peer->addr},
				   .qpn = 0x1234,
				   .mtu = 1024,
				   .ird = 1,
				   .ord = 1,
				   .retry_count = 7,
				   .rnr_retry = 7,
				   .deadline = peer_now(NULL) + TIME_MAX / 2};
}

static void
event_print(const struct vrc_event *event)
{
	static const char *const kinds[RI_CM_KIND_COUNT] = {
		"",
		"request",
		"reply",
		"established",
		"rejected",
		"failed",
		"gone",
		"disconnected",
		"broken",
		"time-wait over",
		"service request",
		"service reply",
	};

	g_print("%s: status %u reason %u, queue pair %#x, PSNs %#x %#x, MTU %u, depths %u %u, "
		"timeout %u\n",
		kinds[event->cm.kind], event->status, event->cm.reason,
		event->cm.kind == RI_CM_SERVICE_REPLY ? event->cm.qpn : event->cm.reach.qpn,
		event->cm.reach.sq_psn, event->cm.reach.rq_psn, event->cm.reach.path_mtu,
		event->cm.reach.ird, event->cm.reach.ord, event->cm.reach.timeout);
}

static void
event_handle(struct peer *peer, const struct vrc_event *event, bool active)
{
	struct vrc_params params = params_of(peer);
	struct ri_service_answer found = {
		.status = RI_SERVICE_FOUND, .qpn = 0x1234, .qkey = 0x01234567};

	event_print(event);
	switch ((int)event->cm.kind) {
	case RI_CM_REQUEST:
		if (vrc_accept(peer->cm, event->number, &params) != RI_SUCCESS)
			g_print("not accepted\n");
		break;
	case RI_CM_SERVICE_REQUEST:
		if (vrc_answer(peer->cm, event->number, &found) != RI_SUCCESS)
			g_print("not answered\n");
		break;
	case RI_CM_ESTABLISHED:
		peer->established = true;
		if (active)
			peer->leave_at = peer_now(NULL) + 500 * MS;
		break;
	case RI_CM_SERVICE_REPLY:
		peer->status = event->cm.service_status != RI_SERVICE_FOUND;
		peer->done = true;
		break;
	case RI_CM_DISCONNECTED:
		peer->status = !peer->established;
		peer->done = true;
		break;
	case RI_CM_TIME_WAIT_OVER:
		break;
	default:
		peer->done = true;
		break;
	}
}

static void
run(struct peer *peer, bool active)
{
	uint64_t end = peer_now(NULL) + TIME_MAX;
	struct vrc_event event;

	while (!peer->done && peer_now(NULL) < end) {
		struct pollfd fd = {.fd = peer->fd, .events = POLLIN};
		uint64_t now = peer_now(NULL);
		uint64_t due = MIN(MIN(vrc_cm_due(peer->cm), peer->leave_at), end);

		if (poll(&fd, 1, due > now ? (int)((due - now) / MS) + 1 : 0) > 0)
			peer_receive(peer);
		vrc_cm_expire(peer->cm);
		if (peer->leave_at <= peer_now(NULL)) {
			peer->leave_at = RI_NEVER;
			(void)vrc_disconnect(peer->cm, peer->number, NULL, 0);
		}
		while (vrc_cm_next(peer->cm, &event))
			event_handle(peer, &event, active);
	}
}

static bool
addr_read(const char *text, struct ri_addr *addr)
{
	*addr = (struct ri_addr){.family = RI_ADDR_IPV4};
	return inet_pton(AF_INET, text, addr->octets) == 1;
}

/* An unconnected socket that does not fragment: the identification is 0, as the ICRC says. */
static void
peer_open(struct peer *peer)
{
	struct vrc_config config = {.host = &peer->host,
				    .send = peer_send,
				    .self = peer,
				    .path_mtu = 1024,
				    .ack_delay = 15,
				    .max_requests = 16,
				    .max_conns = 64};
	struct sockaddr_in here = sockaddr_of(&peer->addr);
	int discover = IP_PMTUDISC_DO;

	peer->host = (struct ri_host){
		.size = sizeof(peer->host), .now = peer_now, .random = peer_random};
	peer->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setsockopt(peer->fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover));
	if (bind(peer->fd, (struct sockaddr *)&here, sizeof(here)) != 0)
		g_error("bind: %s", g_strerror(errno));
	peer->cm = vrc_cm_new(&config);
}

int
main(int argc, char **argv)
{
	struct peer peer = {.status = 1, .leave_at = RI_NEVER};
	struct vrc_listen *listen;

	if (argc < 4 || !addr_read(argv[1], &peer.addr))
		return 2;
	peer_open(&peer);
	bool active = !g_str_equal(argv[2], "listen");
	struct vrc_params params = params_of(&peer);
	enum ri_status status = RI_ERR_INVALID_ARG;
	params.service = (struct ri_service){
		.kind = RI_SERVICE_PORT,
		.port = GUINT16_TO_BE((guint16)g_ascii_strtoull(argv[argc - 1], NULL, 10))};
	if (!active)
		status = vrc_listen(peer.cm, 0, &params.service, 4, &listen);
	else if (argc == 5 && addr_read(argv[3], &params.path.peer))
		status = g_str_equal(argv[2], "connect")
				 ? vrc_connect(peer.cm, &params, &peer.number)
				 : vrc_resolve(peer.cm, &params, &peer.number);
	if (status != RI_SUCCESS)
		return 2;
	run(&peer, active);
	vrc_cm_free(peer.cm);
	close(peer.fd);
	return peer.status;
}
