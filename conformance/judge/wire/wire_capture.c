/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * pcapng: a section header with the comment, one interface (Ethernet, microseconds), then enhanced packet blocks.
 * Packets of all connections are sorted by time. Sequence numbers count from 1 in each direction; octets of one
 * record that exceed a packet are split.
 */

#include "wire_capture.h"

#include <string.h>

#include "wire_conn.h"
#include "wire_report.h"

#define BLOCK_SECTION   0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET    6u
#define BYTE_ORDER_MARK 0x1a2b3c4du
#define LINK_ETHERNET   1u
#define OPTION_COMMENT  1u
#define PACKET_MAX      32768u /* octets of TCP in one packet */

#define TCP_FIN 0x01u
#define TCP_SYN 0x02u
#define TCP_RST 0x04u
#define TCP_PSH 0x08u
#define TCP_ACK 0x10u

/* One connection while it is written: next sequence number of the judge and of the peer. */
struct flow {
	const struct wire_conn *conn;
	guint32 seq[2]; /* [out] */
};

struct packet {
	gint64 us;
	guint order;
	GByteArray *octets;
};

static void
put_native32(GByteArray *out, guint32 value)
{
	g_byte_array_append(out, (const guint8 *)&value, sizeof(value));
}

static void
put_native16(GByteArray *out, guint16 value)
{
	g_byte_array_append(out, (const guint8 *)&value, sizeof(value));
}

static void
align_block(GByteArray *out)
{
	while (out->len % 4 != 0)
		g_byte_array_append(out, (const guint8 *)"", 1);
}

/* Append a block: type, length, body, length again. */
static void
append_block(GByteArray *out, guint32 type, const GByteArray *body)
{
	put_native32(out, type);
	put_native32(out, body->len + 12);
	g_byte_array_append(out, body->data, body->len);
	put_native32(out, body->len + 12);
}

static guint32
sum_add(guint32 sum, const guint8 *octets, gsize len)
{
	for (gsize i = 0; i + 1 < len; i += 2)
		sum += wire_get16(octets + i);
	if (len % 2 != 0)
		sum += (guint32)octets[len - 1] << 8;
	return sum;
}

static guint16
sum_fold(guint32 sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (guint16)~sum;
}

/* The address and the port of one end: 4 or 16 octets. */
static gsize
address_of(const struct sockaddr_storage *end, const guint8 **at, guint16 *port)
{
	if (end->ss_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)end;

		*at = (const guint8 *)&six->sin6_addr;
		*port = ntohs(six->sin6_port);
		return 16;
	}
	const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)end;

	*at = (const guint8 *)&four->sin_addr;
	*port = ntohs(four->sin_port);
	return 4;
}

static void
ip_put(GByteArray *out, const guint8 *from, const guint8 *to, gsize size, guint16 len)
{
	if (size == 16) {
		wire_put32(out, 0x60000000u);
		wire_put16(out, len);
		wire_put16(out, 6 << 8 | 64);
	} else {
		guint start = out->len;
		guint16 sum;

		wire_put16(out, 0x4500);
		wire_put16(out, (guint16)(len + 20));
		wire_put32(out, 0x00004000u);
		wire_put16(out, 64 << 8 | 6);
		wire_put16(out, 0);
		g_byte_array_append(out, from, 4);
		g_byte_array_append(out, to, 4);
		sum = GUINT16_TO_BE(sum_fold(sum_add(0, out->data + start, 20)));
		memcpy(out->data + start + 10, &sum, sizeof(sum));
		return;
	}
	g_byte_array_append(out, from, 16);
	g_byte_array_append(out, to, 16);
}

/* One packet with made-up headers. */
static GByteArray *
packet_of(struct flow *flow, gboolean out_way, guint8 flags, const guint8 *octets, gsize len)
{
	static const guint8 macs[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
	const struct sockaddr_storage *ends[2] = {&flow->conn->remote, &flow->conn->local};
	GByteArray *out = g_byte_array_new();
	const guint8 *from;
	const guint8 *to;
	guint16 ports[2];
	gsize size = address_of(ends[out_way ? 1 : 0], &from, &ports[0]);
	guint16 sum;
	guint tcp;

	(void)address_of(ends[out_way ? 0 : 1], &to, &ports[1]);
	g_byte_array_append(out, macs[out_way ? 1 : 0], 6);
	g_byte_array_append(out, macs[out_way ? 0 : 1], 6);
	wire_put16(out, size == 16 ? 0x86dd : 0x0800);
	ip_put(out, from, to, size, (guint16)(20 + len));
	tcp = out->len;
	wire_put16(out, ports[0]);
	wire_put16(out, ports[1]);
	wire_put32(out, flow->seq[out_way ? 1 : 0]);
	wire_put32(out, (flags & TCP_ACK) != 0 ? flow->seq[out_way ? 0 : 1] : 0);
	wire_put16(out, (guint16)(0x5000 | flags));
	wire_put16(out, 0xffff);
	wire_put32(out, 0);
	if (len > 0)
		g_byte_array_append(out, octets, (guint)len);
	sum = GUINT16_TO_BE(
		sum_fold(sum_add(sum_add(sum_add(6 + 20 + (guint32)len, from, size), to, size),
				 out->data + tcp, out->len - tcp)));
	memcpy(out->data + tcp + 16, &sum, sizeof(sum));
	flow->seq[out_way ? 1 : 0] += (guint32)len + ((flags & (TCP_SYN | TCP_FIN)) != 0 ? 1 : 0);
	return out;
}

static void
packet_free(gpointer data)
{
	struct packet *packet = data;

	g_byte_array_unref(packet->octets);
	g_free(packet);
}

static void
packet_add(GPtrArray *packets, gint64 us, GByteArray *octets)
{
	struct packet *packet = g_new0(struct packet, 1);

	packet->us = us;
	packet->order = packets->len;
	packet->octets = octets;
	g_ptr_array_add(packets, packet);
}

static int
packet_compare(gconstpointer a, gconstpointer b)
{
	const struct packet *one = *(struct packet *const *)a;
	const struct packet *other = *(struct packet *const *)b;

	if (one->us != other->us)
		return one->us < other->us ? -1 : 1;
	return one->order < other->order ? -1 : one->order > other->order;
}

static void
record_packets(GPtrArray *packets, struct flow *flow, const struct wire_record *record)
{
	gsize len;
	const guint8 *octets = g_bytes_get_data(record->octets, &len);

	if (len == 0) {
		guint8 flags = record->is_fin ? TCP_FIN | TCP_ACK : TCP_RST | TCP_ACK;

		packet_add(packets, record->us, packet_of(flow, record->out, flags, NULL, 0));
		return;
	}
	while (len > 0) {
		gsize n = len < PACKET_MAX ? len : PACKET_MAX;

		packet_add(packets, record->us,
			   packet_of(flow, record->out, TCP_PSH | TCP_ACK, octets, n));
		octets += n;
		len -= n;
	}
}

static void
conn_packets(GPtrArray *packets, const struct wire_conn *conn)
{
	struct flow flow = {.conn = conn};
	const struct wire_record *first;

	if (conn->records->len == 0)
		return;
	first = g_ptr_array_index(conn->records, 0);
	packet_add(packets, first->us, packet_of(&flow, conn->initiator, TCP_SYN, NULL, 0));
	packet_add(packets, first->us,
		   packet_of(&flow, !conn->initiator, TCP_SYN | TCP_ACK, NULL, 0));
	packet_add(packets, first->us, packet_of(&flow, conn->initiator, TCP_ACK, NULL, 0));
	for (guint i = 0; i < conn->records->len; i++)
		record_packets(packets, &flow, g_ptr_array_index(conn->records, i));
}

static void
section_put(GByteArray *out, const char *comment)
{
	g_autoptr(GByteArray) body = g_byte_array_new();
	guint16 len = (guint16)MIN(strlen(comment), 1000);

	put_native32(body, BYTE_ORDER_MARK);
	put_native32(body, 1); /* version 1.0 */
	put_native32(body, G_MAXUINT32);
	put_native32(body, G_MAXUINT32);
	put_native16(body, OPTION_COMMENT);
	put_native16(body, len);
	g_byte_array_append(body, (const guint8 *)comment, len);
	align_block(body);
	put_native32(body, 0);
	append_block(out, BLOCK_SECTION, body);
	g_byte_array_set_size(body, 0);
	put_native32(body, LINK_ETHERNET);
	put_native32(body, 0); /* no limit */
	append_block(out, BLOCK_INTERFACE, body);
}

static void
packet_put(GByteArray *out, const struct packet *packet)
{
	g_autoptr(GByteArray) body = g_byte_array_new();

	put_native32(body, 0);
	put_native32(body, (guint32)((guint64)packet->us >> 32));
	put_native32(body, (guint32)packet->us);
	put_native32(body, packet->octets->len);
	put_native32(body, packet->octets->len);
	g_byte_array_append(body, packet->octets->data, packet->octets->len);
	align_block(body);
	append_block(out, BLOCK_PACKET, body);
}

gboolean
wire_capture_write(const char *path, const GPtrArray *conns, const char *comment, GError **error)
{
	g_autoptr(GPtrArray) packets = g_ptr_array_new_with_free_func(packet_free);
	g_autoptr(GByteArray) out = g_byte_array_new();

	for (guint i = 0; i < conns->len; i++)
		conn_packets(packets, g_ptr_array_index(conns, i));
	g_ptr_array_sort(packets, packet_compare);
	section_put(out, comment);
	for (guint i = 0; i < packets->len; i++)
		packet_put(out, g_ptr_array_index(packets, i));
	return wire_report_save(path, out->data, out->len, error);
}
