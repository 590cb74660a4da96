/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vro_udp.h"
#include "vro_address.h"

#include <assert.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ri_calls.h"
#include "ri_fd.h"

#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#define UDP_NO_CHECK6_RX 102
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define RECEIVE_ROOM \
	(4 * 1024 * 1024) /* octets asked for; the kernel grants what its limit allows */
#define SEND_ROOM    RECEIVE_ROOM
#define PATIENCE     2000000u /* ns without buffers until packets count as lost */
#define HOP_LIMIT    64
#define CONTROL_ROOM 256
#define ONE_CONTROL  CMSG_SPACE(sizeof(int))
#define SENT_CONTROL (3 * ONE_CONTROL) /* traffic class, hop limit, segments */
#define RUN_MAX      65000u /* octets of a run: what a UDP datagram has at most, and less */
#define RUN_ROOM     65536u /* of a run that comes */
#define OUT_ROOM     ((size_t)2 * RUN_ROOM)
#define LONG_RUN     16384u /* octets that are worth an answer before more is received */

/* What a receive call is given. The kernel changes entries that it fills, and they are made anew. */
struct vro_inbox {
	struct mmsghdr messages[VRO_UDP_BATCH];
	struct iovec octets[VRO_UDP_BATCH];
	union vro_address from[VRO_UDP_BATCH];
	alignas(struct cmsghdr) char control[VRO_UDP_BATCH][128];
};

static bool
option_set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* All that the packets of a socket need of the kernel. */
static bool
options_set(int fd, bool v4, bool shared)
{
	(void)option_set(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_ROOM);
	/* Packets for a host that has died wait for seconds, and those for the others need room beside them. */
	(void)option_set(fd, SOL_SOCKET, SO_SNDBUF, SEND_ROOM);
	/* Else runs come as packets. A run that the kernel joins has packets for several processes, if they share the address. */
	(void)option_set(fd, IPPROTO_UDP, UDP_GRO, !shared);
	/* No fragments, whatever reports of the network say: anybody can make up one that packets are too long. */
	if (v4)
		return option_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE) &&
		       option_set(fd, IPPROTO_IP, IP_RECVERR, 1);
	/* Peers send checksum 0, which the kernel drops otherwise. */
	return option_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) &&
	       option_set(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, 1) &&
	       option_set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1) &&
	       option_set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
}

/* What is sent to a group goes out by that interface, as far as other datagrams, and comes to the groups of this host, too. */
static void
group_options_set(int fd, bool v4, uint32_t index)
{
	const struct ip_mreqn from = {.imr_ifindex = (int)index};

	if (v4) {
		(void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof(from));
		(void)option_set(fd, IPPROTO_IP, IP_MULTICAST_TTL, HOP_LIMIT);
	} else {
		(void)option_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)index);
		(void)option_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, HOP_LIMIT);
	}
}

static bool
group_join(int fd, const uint8_t gid[16], uint32_t index)
{
	struct ip_mreqn v4 = {.imr_ifindex = (int)index};
	struct ipv6_mreq v6 = {.ipv6mr_interface = index};

	if (!option_set(fd, SOL_SOCKET, SO_REUSEADDR, 1))
		return false;
	if (!roce_gid_is_v4(gid)) {
		memcpy(&v6.ipv6mr_multiaddr, gid, 16);
		return setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &v6, sizeof(v6)) == 0;
	}
	memcpy(&v4.imr_multiaddr, gid + 12, 4);
	return option_set(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0) &&
	       setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &v4, sizeof(v4)) == 0;
}

/* A socket with these options at this port of the address, or of a group; -1, and errno is set. */
static int
socket_open(const uint8_t gid[16], uint16_t port, uint32_t scope)
{
	bool v4 = roce_gid_is_v4(gid);
	bool group = vro_gid_is_group(gid);
	union vro_address own;
	socklen_t len = vro_address_of(&own, gid, port, scope);
	int fd = ri_fd_socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	int error;

	if (fd >= 0 && (v4 || option_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) &&
	    options_set(fd, v4, false) && (!group || group_join(fd, gid, scope)) &&
	    bind(fd, &own.sa, len) == 0) {
		group_options_set(fd, v4, scope);
		return fd;
	}
	error = errno;
	if (fd >= 0)
		ri_close(fd);
	errno = error;
	return -1;
}

/* --- which identification the kernel sends ------------------------------------------------- */

/* The identification in the copy of a packet that was sent: behind its link header, the IPv4 header. */
static enum vro_ident
ident_in(const uint8_t *at, size_t len, const uint8_t address[4])
{
	for (size_t skip = 0; skip + ROCE_IPV4 <= len && skip <= 32; skip++) {
		const uint8_t *ip = at + skip;

		if (ip[0] != 0x45 || ip[9] != IPPROTO_UDP || memcmp(ip + 12, address, 4) != 0)
			continue;
		return ip[4] == 0 && ip[5] == 0 && (ip[6] & 0x40) != 0 ? VRO_IDENT_GOOD
								       : VRO_IDENT_OTHER;
	}
	return VRO_IDENT_NOT_SEEN;
}

/*
 * Find out which IPv4 identifications the kernel uses: send two datagrams from the address to
 * itself, to a port where they do no harm. With time-stamping, the kernel returns a copy of each
 * with its headers; if identifications count up, the second differs.
 */
static enum vro_ident
ident_try(const uint8_t gid[16])
{
	enum vro_ident found = VRO_IDENT_NOT_SEEN;
	int fd = roce_gid_is_v4(gid) ? socket_open(gid, 0, 0) : -1;
	union vro_address own;
	socklen_t size = sizeof(own);
	char text[] = "itapi";

	if (fd < 0)
		return roce_gid_is_v4(gid) ? VRO_IDENT_NOT_SEEN : VRO_IDENT_GOOD;
	if (!option_set(fd, SOL_SOCKET, SO_TIMESTAMPING,
			SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_SCHED |
				SOF_TIMESTAMPING_SOFTWARE) ||
	    getsockname(fd, &own.sa, &size) != 0) {
		ri_close(fd);
		return found;
	}
	for (int i = 0; i < 2 && found != VRO_IDENT_OTHER; i++) {
		struct iovec octets = {.iov_base = text, .iov_len = sizeof(text)};
		const struct msghdr message = {
			.msg_name = &own, .msg_namelen = size, .msg_iov = &octets, .msg_iovlen = 1};
		uint8_t copy[256];
		ssize_t n = ri_sendmsg(fd, &message, MSG_DONTWAIT);

		/* What is for this host has left when the call returns. */
		if (n > 0)
			n = ri_recv(fd, copy, sizeof(copy), MSG_ERRQUEUE | MSG_DONTWAIT);
		if (n > 0)
			found = ident_in(copy, (size_t)n, gid + 12);
	}
	ri_close(fd);
	return found;
}

/* --- packets out -------------------------------------------------------------------------- */

/* Returns the octets used, ONE_CONTROL, of which the value has `len`. */
static size_t
control_add(char *to, int level, int type, const void *value, size_t len)
{
	struct cmsghdr *at = (struct cmsghdr *)(void *)to;

	memset(to, 0, ONE_CONTROL);
	at->cmsg_level = level;
	at->cmsg_type = type;
	at->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(at), value, len);
	return ONE_CONTROL;
}

/* Header fields that the kernel fills in only on request. */
static size_t
control_write(struct msghdr *message, const struct roce_flow *flow)
{
	bool v4 = roce_gid_is_v4(flow->source);
	const int values[2] = {flow->traffic_class, flow->hop_limit};
	const int usual[2] = {0, HOP_LIMIT};
	const int types[2] = {v4 ? IP_TOS : IPV6_TCLASS, v4 ? IP_TTL : IPV6_HOPLIMIT};
	size_t len = 0;

	for (int i = 0; i < 2; i++)
		if (values[i] != usual[i])
			len += control_add((char *)message->msg_control + len,
					   v4 ? IPPROTO_IP : IPPROTO_IPV6, types[i], &values[i],
					   sizeof(values[i]));
	return len;
}

static bool errors_read(struct vro_udp *udp);

static bool
is_denial(int error)
{
	return error == EPERM || error == ENOSYS;
}

static __attribute__((noinline)) void
denial_tell(struct vro_udp *udp, bool receiving, int error)
{
	/* What a network reports says nothing of this host, and anybody can make it up. */
	bool reported = error == ECONNREFUSED || error == EHOSTUNREACH;

	if (udp->denied != NULL && (is_denial(error) || (!receiving && !reported)))
		udp->denied(udp, receiving, error);
}

/* One message to the kernel, which cuts it into segments, 0 being none; false: errno says why it was not taken. */
static bool
octets_send(const struct vro_udp *udp, const struct roce_flow *flow, const uint8_t *octets,
	    size_t len, uint16_t segment)
{
	alignas(struct cmsghdr) char control[SENT_CONTROL];
	union vro_address to;
	struct iovec span = {.iov_base = (uint8_t *)(uintptr_t)octets, .iov_len = len};
	struct msghdr message = {.msg_name = &to,
				 .msg_iov = &span,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};

	message.msg_namelen =
		vro_address_of(&to, flow->destination, flow->destination_port, udp->scope);
	size_t used = control_write(&message, flow);
	if (segment != 0)
		used += control_add(control + used, IPPROTO_UDP, UDP_SEGMENT, &segment,
				    sizeof(segment));
	message.msg_controllen = used;
	return ri_sendmsg(udp->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* The kernel does not cut messages of this socket: its packets go one by one, and all have the identification 0. */
static void
run_single(struct vro_run *run)
{
	run->udp->alone = true;
	for (uint32_t i = 1; i < run->count; i++) {
		uint32_t offset = i * run->segment;
		uint32_t len = run->len - offset < run->segment ? run->len - offset : run->segment;

		(void)roce_icrc_seal(&run->flow, run->at + offset, len - ROCE_ICRC);
	}
}

/* The first `len` octets of a run are gone. */
static void
run_shorten(struct vro_run *run, uint32_t len)
{
	run->at += len;
	run->len -= len;
	run->count = run->len == 0 ? 0 : run->count - 1;
	if (run->len == 0)
		run->udp = NULL;
}

/*
 * The kernel has no buffers for a packet. Usually that ends soon, when a busy interface has sent
 * some. But if a rule of this host drops packets for one destination, it does not end, and packets
 * for all others would wait. Is the packet to be given up as lost?
 */
static __attribute__((noinline)) bool
is_lost(struct vro_out *out)
{
	struct timespec clock;

	(void)clock_gettime(CLOCK_MONOTONIC, &clock);

	uint64_t now = (uint64_t)clock.tv_sec * 1000000000 + (uint64_t)clock.tv_nsec;

	if (out->since == 0)
		out->since = now;
	return now - out->since >= PATIENCE;
}

/* Hand a run to the kernel. False: it does not take it now. */
static bool
run_push(struct vro_run *run)
{
	struct vro_udp *udp = run->udp;
	unsigned tries = 0;

	while (run->udp != NULL) {
		bool cut = run->count > 1 && !udp->alone;
		uint32_t len = cut ? run->len : run->count > 1 ? run->segment : run->len;

		udp->calls_out++;
		if (octets_send(udp, &run->flow, run->at, len, cut ? (uint16_t)run->segment : 0)) {
			run_shorten(run, len);
			tries = 0;
			udp->out->since = 0;
			continue;
		}
		if (errno == EAGAIN)
			return false;
		if (errno == ENOBUFS || errno == ENOMEM) {
			if (!is_lost(udp->out))
				return false;
			udp->refused++;
			run_shorten(run, len);
			continue;
		}
		bool uncut = cut && (errno == EINVAL || errno == EIO || errno == EMSGSIZE);
		int error = errno;

		/* An error of an earlier packet is reported in place of sending this one. Anybody can make one up. */
		if (!errors_read(udp) && uncut)
			run_single(run);
		if (++tries == 3) {
			denial_tell(udp, false, error);
			udp->refused++;
			run_shorten(run, len);
			tries = 0;
		}
	}
	return true;
}

bool
vro_udp_flush(struct vro_out *out)
{
	return (out->full.udp == NULL || run_push(&out->full)) &&
	       (out->open.udp == NULL || run_push(&out->open));
}

/* The queue of errors is left to the engine. */
void
vro_udp_datagram(struct vro_udp *udp, const struct roce_flow *flow, const uint8_t *octets,
		 size_t len)
{
	uint8_t sealed[VRO_DATAGRAM + ROCE_ICRC];
	struct roce_flow own = *flow;

	assert(len <= VRO_DATAGRAM);
	memcpy(sealed, octets, len);
	own.source_port = ROCE_UDP_PORT;
	own.ident = 0;
	own.fragments = false;
	len = roce_icrc_seal(&own, sealed, len);
	if (udp->tap != NULL)
		udp->tap(udp, &own, sealed, len, false);
	for (int tries = 0; tries < 3; tries++) {
		if (octets_send(udp, &own, sealed, len, 0) || errno == EAGAIN)
			return;
		/* No other report reaches the engine now, and the socket would be found ready all the time. */
		atomic_store(&udp->reported, true);
	}
	denial_tell(udp, false, errno);
}

/* Class, hop limit and slot lie side by side. The kernel gives a run to the process of its first packet. */
#define CLASS_TO_SLOT \
	(offsetof(struct roce_flow, ident) - offsetof(struct roce_flow, traffic_class))
_Static_assert(CLASS_TO_SLOT == 4, "they are compared as one word");

/* Source ports are all alike. */
static bool
is_same_flow(const struct roce_flow *a, const struct roce_flow *b)
{
	return memcmp(a->destination, b->destination, sizeof(a->destination)) == 0 &&
	       memcmp(a->source, b->source, sizeof(a->source)) == 0 &&
	       a->destination_port == b->destination_port &&
	       memcmp(&a->traffic_class, &b->traffic_class, CLASS_TO_SLOT) == 0;
}

/* Does a run grow by a packet of that flow and, with its CRC, that length? */
static bool
run_takes(const struct vro_run *run, const struct vro_udp *udp, const struct roce_flow *flow,
	  size_t len)
{
	return run->udp == udp && !udp->alone && run->count < VRO_UDP_RUN &&
	       run->len == run->count * run->segment && len <= run->segment &&
	       run->len + len <= RUN_MAX && is_same_flow(&run->flow, flow);
}

/* The open run ends. Nothing else is in its way: there was room for a packet. */
static void
run_close(struct vro_out *out)
{
	if (!run_push(&out->open))
		out->full = out->open;
	out->open.udp = NULL;
}

static uint8_t *
link_room(struct vro_link *link)
{
	struct vro_out *out = ((struct vro_udp *)(void *)link)->out;

	if (out->full.udp != NULL && !run_push(&out->full))
		return NULL;
	return out->open.udp != NULL ? out->open.at + out->open.len : out->octets;
}

/* The packet is behind the open run, or at the start of the room if no run is open. */
static inline __attribute__((always_inline)) void
packet_send(struct vro_udp *udp, const struct roce_flow *flow, size_t len, bool captured)
{
	struct vro_out *out = udp->out;
	struct vro_run *run = &out->open;
	struct roce_flow own = *flow;
	uint8_t *at = run->udp != NULL ? run->at + run->len : out->octets;

	/* The port is that of the socket; the network still distinguishes connections by the peer's. */
	own.source_port = ROCE_UDP_PORT;
	own.ident = 0;
	own.fragments = false;
	if (run->udp != NULL && !run_takes(run, udp, flow, len + ROCE_ICRC))
		run_close(out);
	if (run->udp == NULL)
		*run = (struct vro_run){.udp = udp, .flow = own, .at = at};
	own.ident = (uint16_t)run->count; /* as the kernel counts segments */
	len = roce_icrc_seal(&own, at, len);
	if (captured)
		udp->tap(udp, &own, at, len, false);
	if (run->count++ == 0)
		run->segment = (uint32_t)len;
	run->len += (uint32_t)len;
	if (run->at + run->len + ROCE_PACKET_MAX > out->octets + OUT_ROOM)
		run_close(out);
}

static void
link_send(struct vro_link *link, const struct roce_flow *flow, size_t len)
{
	packet_send((struct vro_udp *)(void *)link, flow, len, false);
}

static void
link_send_captured(struct vro_link *link, const struct roce_flow *flow, size_t len)
{
	packet_send((struct vro_udp *)(void *)link, flow, len, true);
}

static void
link_flush(struct vro_link *link)
{
	(void)vro_udp_flush(((struct vro_udp *)(void *)link)->out);
}

/* --- packets in --------------------------------------------------------------------------- */

/* Read the errors that the network reports for packets that were sent: does no socket listen there? False: no error is left. */
static bool
errors_read(struct vro_udp *udp)
{
	for (unsigned i = 0; i < VRO_UDP_BATCH; i++) {
		alignas(struct cmsghdr) char control[CONTROL_ROOM];
		union vro_address to = {0};
		uint8_t head[ROCE_BTH];
		struct iovec octets = {.iov_base = head, .iov_len = sizeof(head)};
		struct msghdr message = {.msg_name = &to,
					 .msg_namelen = sizeof(to),
					 .msg_iov = &octets,
					 .msg_iovlen = 1,
					 .msg_control = control,
					 .msg_controllen = sizeof(control)};

		ssize_t len = ri_recvmsg(udp->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);

		if (len < 0)
			return i > 0;
		if (message.msg_namelen < sizeof(to.v4)) /* it says not to whom */
			continue;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL;
		     c = CMSG_NXTHDR(&message, c)) {
			struct sock_extended_err error;
			uint8_t gid[16];

			if ((c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_RECVERR) &&
			    (c->cmsg_level != IPPROTO_IPV6 || c->cmsg_type != IPV6_RECVERR))
				continue;
			memcpy(&error, CMSG_DATA(c), sizeof(error));
			(void)vro_address_gid(gid, &to);
			if (error.ee_errno == ECONNREFUSED && udp->absent != NULL)
				udp->absent(udp, gid, head, (size_t)len);
		}
	}
	return true;
}

/* What the kernel says of a datagram besides its octets. Returns the octets of its segments. */
static size_t
control_read(struct msghdr *message, struct roce_flow *flow)
{
	size_t segment = RUN_ROOM;

	flow->hop_limit = HOP_LIMIT;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		bool v4 = c->cmsg_level == IPPROTO_IP;
		int value = *(const uint8_t *)CMSG_DATA(c); /* IP_TOS has one octet */

		if (c->cmsg_len >= CMSG_LEN(sizeof(int)))
			memcpy(&value, CMSG_DATA(c), sizeof(value));
		if (c->cmsg_level == IPPROTO_UDP) {
			if (c->cmsg_type == UDP_GRO && value > 0)
				segment = (size_t)value;
			continue;
		}
		if (c->cmsg_type == (v4 ? IP_TOS : IPV6_TCLASS))
			flow->traffic_class = (uint8_t)value;
		if (c->cmsg_type == (v4 ? IP_TTL : IPV6_HOPLIMIT))
			flow->hop_limit = (uint8_t)value;
	}
	return segment;
}

/* Deliver a datagram, or the packets of a run. Returns how many. */
static inline __attribute__((always_inline)) uint32_t
message_deliver(struct vro_udp *udp, struct vro_engine *engine, struct msghdr *message, size_t len,
		bool captured)
{
	struct roce_flow flow = {.destination_port = ROCE_UDP_PORT};
	const uint8_t *octets = message->msg_iov->iov_base;
	size_t segment = control_read(message, &flow);
	uint16_t step = 1; /* from one identification to the next, in runs that a kernel has cut */
	uint16_t ident = 0;
	uint32_t count = 0;

	if ((message->msg_flags & MSG_TRUNC) != 0)
		return 1; /* no packet is that long */
	flow.source_port = vro_address_gid(flow.source, message->msg_name);
	memcpy(flow.destination, udp->gid, sizeof(flow.destination));
	do {
		size_t one = len < segment ? len : segment;
		struct roce_flow own = flow;

		/* The right guess saves to find the identification by the CRC. */
		own.ident = ident;
		if (captured)
			udp->tap(udp, &own, octets, one, true);
		if (one <= ROCE_PACKET_MAX)
			vro_engine_packet(engine, &own, true, octets, one);
		if (own.ident != ident)
			step = 0;
		ident = (uint16_t)(own.ident + step);
		octets += one;
		len -= one;
		count++;
	} while (len > 0);
	return count;
}

static void
inbox_prepare(struct vro_udp *udp, uint32_t count)
{
	struct vro_inbox *in = udp->in;

	for (uint32_t i = 0; i < count; i++) {
		in->octets[i] = (struct iovec){.iov_base = udp->batch + (size_t)i * RUN_ROOM,
					       .iov_len = RUN_ROOM};
		in->messages[i].msg_hdr = (struct msghdr){.msg_name = &in->from[i],
							  .msg_namelen = sizeof(in->from[i]),
							  .msg_iov = &in->octets[i],
							  .msg_iovlen = 1,
							  .msg_control = in->control[i],
							  .msg_controllen = sizeof(in->control[i])};
	}
}

/* Receive a batch, or one message: a call for several looks for the next one before it returns. Returns how many came, or -1. */
static int
messages_receive(struct vro_udp *udp)
{
	struct vro_inbox *in = udp->in;
	int count;

	if (udp->taken != 0)
		inbox_prepare(udp, udp->taken);
	udp->taken = 0;
	if (udp->many && !udp->bulk && !udp->singly) {
		count = ri_recvmmsg(udp->fd, in->messages, VRO_UDP_BATCH, MSG_DONTWAIT);
		if (count < 0 && is_denial(errno)) {
			udp->singly = true; /* the other call may be allowed */
			errno = EAGAIN;
		}
	} else {
		ssize_t len = ri_recvmsg(udp->fd, &in->messages[0].msg_hdr, MSG_DONTWAIT);

		count = len >= 0 ? 1 : -1;
		in->messages[0].msg_len = len >= 0 ? (unsigned)len : 0;
	}
	udp->many = count > 1 || (count == 1 && udp->found && !udp->many);
	udp->found = count > 0;
	return count;
}

/* Nothing was received, for that reason. */
static __attribute__((noinline)) void
receive_failed(struct vro_udp *udp, int error)
{
	udp->bulk = false;
	bool reported = atomic_load_explicit(&udp->reported, memory_order_relaxed) &&
			atomic_exchange(&udp->reported, false);

	if ((error == EAGAIN || error == EINTR) && !reported)
		return;
	if (!is_denial(error)) {
		(void)errors_read(udp);
	} else if (!udp->deaf) {
		udp->deaf = true;
		denial_tell(udp, true, error);
	}
}

static inline __attribute__((always_inline)) uint32_t
receive(struct vro_udp *udp, struct vro_engine *engine, bool captured)
{
	struct vro_inbox *in = udp->in;
	uint32_t packets = 0;
	int count = messages_receive(udp);

	if (count < 0) {
		receive_failed(udp, errno);
		return 0;
	}
	udp->calls_in++;
	udp->taken = (uint32_t)count;
	for (int i = 0; i < count; i++) {
		packets += message_deliver(udp, engine, &in->messages[i].msg_hdr,
					   in->messages[i].msg_len, captured);
		udp->bulk = in->messages[i].msg_len >= LONG_RUN;
		/* The sender builds the next run while this one is answered. */
		if (udp->bulk && i + 1 < count)
			vro_engine_flush(engine);
	}
	return packets;
}

uint32_t
vro_udp_receive(struct vro_udp *udp, struct vro_engine *engine)
{
	return receive(udp, engine, false);
}

static uint32_t
receive_captured(struct vro_udp *udp, struct vro_engine *engine)
{
	return receive(udp, engine, true);
}

/* --- life --------------------------------------------------------------------------------- */

/* A socket that is bound already, and shares its address; -1, and errno is set. */
static int
socket_adopt(int fd, const uint8_t gid[16], uint32_t scope)
{
	bool v4 = roce_gid_is_v4(gid);

	if (!options_set(fd, v4, true))
		return -1;
	group_options_set(fd, v4, scope);
	return fd;
}

/* `shared`: as of vro_udp_open. RI_ERR_IN_USE, RI_ERR_NO_ROUTE, RI_ERR_RESOURCES. */
static enum ri_status
udp_open(struct vro_udp *udp, const uint8_t gid[16], uint32_t scope, int shared)
{
	socklen_t size = sizeof(int);
	int room = 0;

	memset(udp, 0, sizeof(*udp));
	memcpy(udp->gid, gid, sizeof(udp->gid));
	udp->scope = scope;
	udp->link = (struct vro_link){.room = link_room, .send = link_send, .flush = link_flush};
	udp->receive = vro_udp_receive;
	udp->batch = malloc(VRO_UDP_BATCH * (size_t)RUN_ROOM + OUT_ROOM);
	udp->in = calloc(1, sizeof(*udp->in));
	udp->fd = udp->batch == NULL || udp->in == NULL ? -1
		  : shared >= 0                         ? socket_adopt(shared, gid, scope)
							: socket_open(gid, ROCE_UDP_PORT, scope);
	if (udp->fd < 0) {
		int error = udp->batch != NULL && udp->in != NULL ? errno : ENOMEM;

		free(udp->batch);
		free(udp->in);
		return error == EADDRINUSE      ? RI_ERR_IN_USE
		       : error == EADDRNOTAVAIL ? RI_ERR_NO_ROUTE
						: RI_ERR_RESOURCES;
	}
	udp->taken = VRO_UDP_BATCH;
	udp->own.octets = udp->batch + VRO_UDP_BATCH * (size_t)RUN_ROOM;
	udp->out = &udp->own;
	/* Without a checksum the kernel cuts nothing. */
	udp->alone = !roce_gid_is_v4(gid);
	(void)getsockopt(udp->fd, SOL_SOCKET, SO_RCVBUF, &room, &size);
	udp->room = room > 0 ? (uint32_t)room : 0;
	return RI_SUCCESS;
}

enum ri_status
vro_udp_open(struct vro_udp *udp, const uint8_t gid[16], uint32_t scope, int shared,
	     enum vro_ident *ident)
{
	enum ri_status status = udp_open(udp, gid, scope, shared);

	if (status == RI_SUCCESS)
		*ident = ident_try(gid);
	return status;
}

void
vro_udp_headers(struct vro_udp *udp)
{
	if (roce_gid_is_v4(udp->gid)) {
		(void)option_set(udp->fd, IPPROTO_IP, IP_RECVTOS, 1);
		(void)option_set(udp->fd, IPPROTO_IP, IP_RECVTTL, 1);
	} else {
		(void)option_set(udp->fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
		(void)option_set(udp->fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
	}
}

enum ri_status
vro_udp_open_group(struct vro_udp *udp, const uint8_t gid[16], uint32_t index)
{
	if (udp_open(udp, gid, index, -1) != RI_SUCCESS)
		return RI_ERR_RESOURCES;
	vro_udp_headers(udp);
	return RI_SUCCESS;
}

void
vro_udp_capture(struct vro_udp *udp, void (*tap)(struct vro_udp *udp, const struct roce_flow *flow,
						 const uint8_t *octets, size_t len, bool received))
{
	vro_udp_headers(udp);
	udp->tap = tap;
	udp->link.send = link_send_captured;
	udp->receive = receive_captured;
}

void
vro_udp_close(struct vro_udp *udp)
{
	ri_close(udp->fd);
	free(udp->batch);
	free(udp->in);
}
