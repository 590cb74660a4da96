/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Frames of a capture: Ethernet, IP and TCP headers around the octets of a connection. The kernel
 * may have divided the octets into other segments. Addresses, ports, octets and their order are
 * true. The three-way handshake, sequence numbers, acknowledgements and hardware addresses are
 * invented.
 *
 * If both ends of a connection are in this process, each of them reports what it sends and
 * receives. So a flow counts the octets that each end has reported in each direction, and octets
 * that the other end has reported already are left out.
 *
 * The caller owns the lock of the capture. Source: RFC 791, RFC 8200, RFC 9293.
 */
#include <stdlib.h>
#include <string.h>

#include "kal_capture.h"
#include "ri_wire.h"

#define ETHER     14u
#define IPV4      20u
#define IPV6      40u
#define TCP       20u
#define HEAD_MAX  (ETHER + IPV6 + TCP)
#define SEGMENT   8948u /* octets of one segment, as in a frame of 9,000 */
#define TCP_FIN   0x01u
#define TCP_SYN   0x02u
#define TCP_RST   0x04u
#define TCP_PSH   0x08u
#define TCP_ACK   0x10u
#define WINDOW    0xffffu
#define STEP      0x9e3779b1u /* between the first sequence numbers of connections */
#define HOPS      64u
#define PROTO_TCP 6u

/* One end: in the form of an IPv6 address. */
struct end {
	uint8_t address[16];
	uint16_t port; /* network order */
};

struct kal_flow {
	struct kal_flow *next;
	struct end end[2]; /* the smaller one first */
	bool begun;
	uint32_t
		first; /* sequence number of both SYNs; another one for each connection of these ends */
	bool used[2], closed[2]; /* by end[0] and by end[1] */
	uint64_t done[2];        /* octets of a direction, by its sender, that are in the capture */
	uint64_t said[2][2];     /* the same that each end has said */
	bool fin[2];
	bool reset;
};

/* --- headers -------------------------------------------------------------------------------- */

static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

static struct end
end_of(const struct ri_addr *addr, uint16_t port)
{
	struct end end = {.port = port};

	if (addr->family == RI_ADDR_IPV4) {
		memcpy(end.address, v4_prefix, sizeof(v4_prefix));
		memcpy(end.address + sizeof(v4_prefix), addr->octets, 4);
	} else {
		memcpy(end.address, addr->octets, sizeof(end.address));
	}
	return end;
}

static bool
is_v4(const struct end *end)
{
	return memcmp(end->address, v4_prefix, sizeof(v4_prefix)) == 0;
}

static uint32_t
sum_of(uint32_t sum, const uint8_t *octets, size_t len)
{
	for (; len > 1; len -= 2, octets += 2)
		sum += wire_load_be16(octets);
	sum += len > 0 ? (uint32_t)*octets << 8 : 0;
	return (sum & 0xffff) + (sum >> 16);
}

static uint16_t
checksum(uint32_t sum)
{
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Hardware addresses say whose IP addresses they stand for. */
static void
ether_write(uint8_t *at, const uint8_t *to, const uint8_t *from, bool v4)
{
	static const uint8_t local[2] = {0x02, 0x00};

	memcpy(at, local, 2);
	memcpy(at + 2, to, 4);
	memcpy(at + 6, local, 2);
	memcpy(at + 8, from, 4);
	wire_store_be16(at + 12, v4 ? 0x0800 : 0x86dd);
}

/* The IP header of a segment of `len` octets, TCP header included. Returns its octets. */
static uint32_t
ip_write(uint8_t *at, const struct end *from, const struct end *to, uint32_t len)
{
	if (is_v4(from)) {
		memset(at, 0, IPV4);
		at[0] = 0x45;
		wire_store_be16(at + 2, (uint16_t)(IPV4 + len));
		wire_store_be16(at + 6,
				0x4000); /* not to be fragmented, so the identification is 0 */
		at[8] = HOPS;
		at[9] = PROTO_TCP;
		memcpy(at + 12, from->address + 12, 4);
		memcpy(at + 16, to->address + 12, 4);
		wire_store_be16(at + 10, checksum(sum_of(0, at, IPV4)));
		return IPV4;
	}
	memset(at, 0, IPV6);
	at[0] = 0x60;
	wire_store_be16(at + 4, (uint16_t)len);
	at[6] = PROTO_TCP;
	at[7] = HOPS;
	memcpy(at + 8, from->address, 16);
	memcpy(at + 24, to->address, 16);
	return IPV6;
}

/* The next octet of a direction. */
static uint32_t
sequence(const struct kal_flow *flow, unsigned side)
{
	return flow->first + (uint32_t)flow->done[side] + flow->begun + flow->fin[side];
}

struct segment {
	uint32_t interface;
	unsigned side; /* of its sender */
	unsigned flags;
	bool received;
	const uint8_t *octets;
	uint32_t len;
	const char *text;
};

static void
segment_add(struct kal_capture *capture, const struct kal_flow *flow, const struct segment *segment)
{
	const struct end *from = &flow->end[segment->side], *to = &flow->end[!segment->side];
	uint32_t len = TCP + segment->len;
	uint8_t head[HEAD_MAX];
	uint8_t *tcp = head + ETHER;

	ether_write(head, to->address + 12, from->address + 12, is_v4(from));
	tcp += ip_write(tcp, from, to, len);
	memset(tcp, 0, TCP);
	memcpy(tcp, &from->port, 2);
	memcpy(tcp + 2, &to->port, 2);
	wire_store_be32(tcp + 4, sequence(flow, segment->side));
	if ((segment->flags & TCP_ACK) != 0)
		wire_store_be32(tcp + 8, sequence(flow, !segment->side));
	tcp[12] = (TCP / 4) << 4;
	tcp[13] = (uint8_t)segment->flags;
	wire_store_be16(tcp + 14, WINDOW);
	/* The pseudo header, in the form of IPv6: the zeros in front of an IPv4 address add nothing, but 0xffff would. */
	uint32_t skip = is_v4(from) ? 12 : 0;
	uint32_t sum = sum_of(len + PROTO_TCP, from->address + skip, 16 - skip);

	sum = sum_of(sum, to->address + skip, 16 - skip);
	sum = sum_of(sum, tcp, TCP);
	wire_store_be16(tcp + 16, checksum(sum_of(sum, segment->octets, segment->len)));
	kal_capture_frame(capture, &(struct kal_frame){.interface = segment->interface,
						       .received = segment->received,
						       .head = head,
						       .head_len = (size_t)(tcp - head) + TCP,
						       .octets = segment->octets,
						       .len = segment->len,
						       .text = segment->text});
}

/* --- flows ---------------------------------------------------------------------------------- */

static unsigned
row_of(const struct end end[2])
{
	unsigned sum = (unsigned)end[0].port * 31u + end[1].port;

	return (sum ^ sum >> 8) % KAL_CAPTURE_ROWS;
}

/*
 * The flow of this connection; the first octets of a connection make it. *side: the index of the
 * local end in kal_flow::end. NULL: the octets belong to no flow, there is no memory, or there are
 * too many flows.
 */
static struct kal_flow *
flow_of(struct kal_capture *capture, const struct ri_captured *what, unsigned *side)
{
	struct end end[2] = {end_of(&what->local, what->local_port),
			     end_of(&what->remote, what->remote_port)};
	struct kal_flow *flow;

	*side = memcmp(&end[0], &end[1], sizeof(end[0])) > 0;
	if (*side != 0) {
		struct end first = end[1];

		end[1] = end[0];
		end[0] = first;
	}
	struct kal_flow **row = &capture->row[row_of(end)];

	for (flow = *row; flow != NULL; flow = flow->next)
		if (memcmp(flow->end, end, sizeof(end)) == 0)
			return flow;
	if (what->kind != RI_CAPTURED_OCTETS)
		return NULL;
	flow = capture->flows < KAL_CAPTURE_FLOWS ? calloc(1, sizeof(*flow)) : NULL;
	if (flow == NULL)
		return NULL;
	memcpy(flow->end, end, sizeof(end));
	flow->first = ++capture->connections * STEP;
	flow->next = *row;
	*row = flow;
	capture->flows++;
	return flow;
}

static void
flow_free(struct kal_capture *capture, struct kal_flow *flow)
{
	struct kal_flow **at = &capture->row[row_of(flow->end)];

	while (*at != flow)
		at = &(*at)->next;
	*at = flow->next;
	capture->flows--;
	free(flow);
}

void
kal_capture_flows_free(struct kal_capture *capture)
{
	for (unsigned i = 0; i < KAL_CAPTURE_ROWS; i++)
		while (capture->row[i] != NULL)
			flow_free(capture, capture->row[i]);
}

/* Made-up messages: the end that sends first has connected. */
static void
flow_begin(struct kal_capture *capture, struct kal_flow *flow, const struct segment *first)
{
	struct segment s = {.interface = first->interface,
			    .side = first->side,
			    .received = first->received,
			    .flags = TCP_SYN};

	if (flow->begun)
		return;
	segment_add(capture, flow, &s);
	/* Its SYN counts as an octet, and the answer acknowledges that; its own counts from the next segment on. */
	flow->begun = true;
	flow->done[!s.side]--;
	s = (struct segment){.interface = s.interface,
			     .side = !s.side,
			     .received = !s.received,
			     .flags = TCP_SYN | TCP_ACK};
	segment_add(capture, flow, &s);
	flow->done[s.side]++;
	s = (struct segment){.interface = s.interface,
			     .side = !s.side,
			     .received = !s.received,
			     .flags = TCP_ACK};
	segment_add(capture, flow, &s);
}

static void
octets_add(struct kal_capture *capture, struct kal_flow *flow, unsigned me, struct segment *s,
	   const struct ri_captured *what)
{
	uint64_t *said = &flow->said[s->side][me];
	uint64_t known = flow->done[s->side] - *said;
	const uint8_t *octets = what->octets;

	*said += what->length;
	/* A wrapped difference is a fault of the caller: octets that were not said before. */
	for (uint64_t at = known; at < what->length; at += s->len) {
		uint64_t rest = what->length - at;

		s->octets = octets + at;
		s->len = rest < SEGMENT ? (uint32_t)rest : SEGMENT;
		s->flags = TCP_ACK | TCP_PSH;
		segment_add(capture, flow, s);
		flow->done[s->side] += s->len;
		s->text = NULL;
	}
}

static void
end_add(struct kal_capture *capture, struct kal_flow *flow, struct segment *s, bool fin)
{
	if (flow->reset || (fin && flow->fin[s->side]))
		return;
	s->flags = fin ? TCP_FIN | TCP_ACK : TCP_RST | TCP_ACK;
	segment_add(capture, flow, s);
	flow->reset = !fin;
	flow->fin[s->side] = fin || flow->fin[s->side];
	if (!fin || !flow->fin[!s->side])
		return;
	s->side = !s->side;
	s->received = !s->received;
	s->flags = TCP_ACK;
	s->text = NULL;
	segment_add(capture, flow, s);
}

/* A packet of another protocol. */
static void
packet_add(struct kal_capture *capture, const struct ri_captured *what, uint32_t interface)
{
	const uint8_t *octets = what->octets;
	bool v4 = what->length >= IPV4 && octets[0] >> 4 == 4;
	uint8_t head[ETHER];

	if (what->twin || what->length < (v4 ? IPV4 : IPV6))
		return;
	ether_write(head, v4 ? octets + 16 : octets + 36, v4 ? octets + 12 : octets + 20, v4);
	kal_capture_frame(capture, &(struct kal_frame){.interface = interface,
						       .received = what->received,
						       .head = head,
						       .head_len = sizeof(head),
						       .octets = octets,
						       .len = (size_t)what->length,
						       .text = what->text});
}

void
kal_capture_make(struct kal_capture *capture, const struct ri_captured *what)
{
	uint32_t interface = kal_capture_interface(capture, what->adapter);
	struct segment s = {.interface = interface, .received = what->received, .text = what->text};
	struct kal_flow *flow;
	unsigned me;

	if (what->kind == RI_CAPTURED_ADAPTER)
		return; /* its interface is there now */
	if (what->kind == RI_CAPTURED_PACKET) {
		packet_add(capture, what, interface);
		return;
	}
	flow = flow_of(capture, what, &me);
	if (flow == NULL) {
		capture->dropped += what->kind == RI_CAPTURED_OCTETS;
		capture->untold += what->kind == RI_CAPTURED_OCTETS;
		return;
	}
	s.side = what->received ? !me : me;
	flow->used[me] = true;
	flow_begin(capture, flow, &s);
	if (what->kind == RI_CAPTURED_OCTETS) {
		octets_add(capture, flow, me, &s, what);
	} else if (what->kind == RI_CAPTURED_NOTE) {
		s.flags = TCP_ACK;
		segment_add(capture, flow, &s);
	} else {
		end_add(capture, flow, &s, what->kind == RI_CAPTURED_FIN);
		flow->closed[me] = flow->closed[me] || !what->received;
	}
	if (flow->closed[me] && (flow->closed[!me] || !flow->used[!me]))
		flow_free(capture, flow);
}
