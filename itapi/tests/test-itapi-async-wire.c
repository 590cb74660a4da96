/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Asynchronous events [IT 14] of an iWARP adapter whose peer breaks the protocol. The peer is a plain socket: it
 * opens the connection as MPA requires, then makes one mistake. Frames are built here, octet by octet, from RFC 5040,
 * 5041 and 5044.
 */

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm_scene.h"
#include "it_stream.h"

#define TAGGED 14u
#define LAST   0x40u
#define TAG    0x80u

/* Opcodes of RDMAP, and queue numbers of untagged messages. */
enum {
	OP_WRITE = 0,
	OP_READ = 1,
	OP_SEND = 3,
	OP_TERMINATE = 7,
	OP_NONE = 15
};
enum {
	Q_SEND = 0,
	Q_READ = 1,
	Q_TERMINATE = 2,
	Q_NONE = 7
};

/* A frame under construction: the length, then the ULPDU. */
struct frame {
	unsigned char octets[256];
	size_t length;
};

static void
put(struct frame *f, uint64_t number, unsigned octets)
{
	while (octets-- > 0)
		f->octets[f->length++] = (unsigned char)(number >> 8 * octets);
}

static void
untagged(struct frame *f, unsigned flags, unsigned opcode, unsigned queue, unsigned msn,
	 unsigned offset)
{
	f->length = 2;
	put(f, flags | 1, 1); /* version of DDP */
	put(f, 0x40 | opcode, 1);
	put(f, 0, 4);
	put(f, queue, 4);
	put(f, msn, 4);
	put(f, offset, 4);
}

static void
tagged(struct frame *f, unsigned opcode, uint32_t stag, uint64_t to)
{
	f->length = 2;
	put(f, TAG | LAST | 1, 1);
	put(f, 0x40 | opcode, 1);
	put(f, stag, 4);
	put(f, to, 8);
}

/* CRC32C, bit by bit. */
static uint32_t
crc32c(const unsigned char *octets, size_t length)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < length; i++) {
		crc ^= octets[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0x82f63b78u & -(crc & 1));
	}
	return ~crc;
}

/* Fill in the length, add padding and CRC; `damage` is added to the CRC. */
static void
finish(struct frame *f, uint32_t damage)
{
	size_t ulpdu = f->length - 2;
	uint32_t crc;

	f->octets[0] = (unsigned char)(ulpdu >> 8);
	f->octets[1] = (unsigned char)ulpdu;
	while (f->length % 4 != 0)
		f->octets[f->length++] = 0;
	crc = crc32c(f->octets, f->length) + damage;
	for (unsigned i = 0; i < 4; i++)
		f->octets[f->length++] = (unsigned char)(crc >> 8 * i);
}

struct peer {
	int fd;
	const struct end *end; /* the endpoint that the peer talks to */
};

static void
say(const struct peer *peer, struct frame *f)
{
	finish(f, 0);
	stream_say(peer->fd, f->octets, f->length);
}

static void
do_crc(const struct peer *peer)
{
	struct frame f;

	untagged(&f, LAST, OP_SEND, Q_SEND, 1, 0);
	finish(&f, 1);
	stream_say(peer->fd, f.octets, f.length);
}

/* A frame that is too short for the header that its opcode requires. */
static void
do_short(const struct peer *peer)
{
	struct frame f;

	untagged(&f, LAST, OP_SEND, Q_SEND, 1, 0);
	f.length = 6;
	say(peer, &f);
}

static void
do_opcode(const struct peer *peer)
{
	struct frame f;

	untagged(&f, LAST, OP_NONE, Q_SEND, 1, 0);
	say(peer, &f);
}

static void
do_ddp_version(const struct peer *peer)
{
	struct frame f;

	untagged(&f, LAST, OP_SEND, Q_SEND, 1, 0);
	f.octets[2] ^= 3;
	say(peer, &f);
}

static void
do_rdmap_version(const struct peer *peer)
{
	struct frame f;

	untagged(&f, LAST, OP_SEND, Q_SEND, 1, 0);
	f.octets[3] ^= 0xc0;
	say(peer, &f);
}

static void
do_queue(const struct peer *peer)
{
	struct frame f;

	untagged(&f, LAST, OP_SEND, Q_NONE, 1, 0);
	say(peer, &f);
}

static void
do_gap(const struct peer *peer)
{
	struct frame f;

	untagged(&f, LAST, OP_SEND, Q_SEND, 5, 0);
	say(peer, &f);
}

static void
do_offset(const struct peer *peer)
{
	struct frame f;

	untagged(&f, LAST, OP_SEND, Q_SEND, 1, 32);
	say(peer, &f);
}

static void
do_write_key(const struct peer *peer)
{
	struct frame f;

	tagged(&f, OP_WRITE, (uint32_t)peer->end->context ^ 0x5500, (uintptr_t)peer->end->buffer);
	put(&f, 0, 8);
	say(peer, &f);
}

static void
do_write_wrap(const struct peer *peer)
{
	struct frame f;

	tagged(&f, OP_WRITE, (uint32_t)peer->end->context, UINT64_MAX - 3);
	put(&f, 0, 8);
	say(peer, &f);
}

static void
read_request(const struct peer *peer, struct frame *f, unsigned flags, unsigned msn, uint32_t stag)
{
	untagged(f, flags, OP_READ, Q_READ, msn, 0);
	put(f, 0x100, 4);
	put(f, 0, 8);
	put(f, 8, 4);
	put(f, stag, 4);
	put(f, (uintptr_t)peer->end->buffer, 8);
}

static void
do_read_key(const struct peer *peer)
{
	struct frame f;

	read_request(peer, &f, LAST, 1, (uint32_t)peer->end->context ^ 0x5500);
	say(peer, &f);
}

static void
do_read_gap(const struct peer *peer)
{
	struct frame f;

	read_request(peer, &f, LAST, 3, (uint32_t)peer->end->context);
	say(peer, &f);
}

static void
do_read_in_pieces(const struct peer *peer)
{
	struct frame f;

	read_request(peer, &f, 0, 1, (uint32_t)peer->end->context);
	say(peer, &f);
}

static void
terminate(const struct peer *peer, unsigned code)
{
	struct frame f;

	untagged(&f, LAST, OP_TERMINATE, Q_TERMINATE, 1, 0);
	put(&f, code, 2); /* layer and type, code */
	put(&f, 0, 2);
	say(peer, &f);
}

static void
do_terminate_tagged(const struct peer *peer)
{
	terminate(peer, 0x1100);
}

static void
do_terminate_protection(const struct peer *peer)
{
	terminate(peer, 0x0101);
}

static void
do_terminate_no_buffer(const struct peer *peer)
{
	terminate(peer, 0x1202);
}

static void
do_terminate_too_long(const struct peer *peer)
{
	terminate(peer, 0x1205);
}

static void
do_terminate_other(const struct peer *peer)
{
	terminate(peer, 0x0207);
}

static void
do_reset(const struct peer *peer)
{
	static const struct linger now = {.l_onoff = 1};

	g_assert_cmpint(setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), ==, 0);
	/* No other process has this descriptor. A duplicate takes its number, for the code that closes it later. */
	g_assert_cmpint(dup2(STDERR_FILENO, peer->fd), ==, peer->fd);
}

/* The stream ends in the middle of a frame. */
static void
do_end_in_frame(const struct peer *peer)
{
	struct frame f;

	untagged(&f, LAST, OP_SEND, Q_SEND, 1, 0);
	finish(&f, 0);
	stream_say(peer->fd, f.octets, f.length - 5);
	g_assert_cmpint(shutdown(peer->fd, SHUT_WR), ==, 0);
}

static const struct {
	const char *what;
	void (*act)(const struct peer *peer);
	it_event_type_t event;
} wrongs[] = {
	{"crc", do_crc, IT_ASYNC_AFF_EP_L_LLP_ERROR},
	{"short", do_short, IT_ASYNC_AFF_EP_L_LLP_ERROR},
	{"reset", do_reset, IT_ASYNC_AFF_EP_L_LLP_ERROR},
	{"end-in-frame", do_end_in_frame, IT_ASYNC_AFF_EP_L_LLP_ERROR},
	{"opcode", do_opcode, IT_ASYNC_AFF_EP_BAD_TRANSPORT_OPCODE},
	{"ddp-version", do_ddp_version, IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR},
	{"rdmap-version", do_rdmap_version, IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR},
	{"queue", do_queue, IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR},
	{"read-in-pieces", do_read_in_pieces, IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR},
	{"gap", do_gap, IT_ASYNC_AFF_EP_L_RECV_ACCESS_VIOLATION},
	{"offset", do_offset, IT_ASYNC_AFF_EP_L_RECV_ACCESS_VIOLATION},
	{"write-key", do_write_key, IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION},
	{"write-wrap", do_write_wrap, IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION},
	{"read-key", do_read_key, IT_ASYNC_AFF_EP_L_IRRQ_ACCESS_VIOLATION},
	{"read-gap", do_read_gap, IT_ASYNC_AFF_EP_L_IRRQ_ACCESS_VIOLATION},
	{"terminate-tagged", do_terminate_tagged, IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION},
	{"terminate-protection", do_terminate_protection, IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION},
	{"terminate-no-buffer", do_terminate_no_buffer, IT_ASYNC_AFF_EP_R_RECV_ACCESS_VIOLATION},
	{"terminate-too-long", do_terminate_too_long, IT_ASYNC_AFF_EP_R_RECV_LENGTH_ERROR},
	{"terminate-other", do_terminate_other, IT_ASYNC_AFF_EP_R_ERROR},
};

/* One event that names the endpoint, unless the configuration suppresses it, and the end of the connection. */
static void
go_wrong(struct pair *pair, size_t which, it_evd_handle_t aff, bool raised)
{
	struct peer peer = {.fd = cm_raw_connect(pair), .end = &pair->passive};
	it_lmr_triplet_t in = end_segment(&pair->passive, 0, 64);
	char reply[STREAM_FRAME];
	it_event_t event;

	g_test_message("%s", wrongs[which].what);
	g_assert_cmpint(peer.fd, >=, 0);
	pair_ok(it_post_recv((it_handle_t)pair->passive.ep, &in, 1, 1, 0));
	stream_say(peer.fd, stream_request, STREAM_FRAME);
	pair_ok(it_ep_accept(pair->passive.ep, cm_request(pair).cn_est_id, NULL, 0));
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	g_assert_cmpint(recv(peer.fd, reply, sizeof(reply), MSG_WAITALL), ==, sizeof(reply));
	wrongs[which].act(&peer);
	if (wrongs[which].act != do_reset)
		(void)shutdown(peer.fd, SHUT_WR); /* otherwise the other side waits for it */
	if (raised) {
		event = end_expect(aff, wrongs[which].event);
		g_assert_true(event.aff_async.cause.ep == pair->passive.ep);
	}
	close(peer.fd);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect_none(aff);
	end_reset(&pair->passive);
	cm_drain(pair->passive.recv);
}

/* Each mistake of a peer on the wire raises the event that names it. */
static void
test_wrongs(struct pair *pair)
{
	it_evd_handle_t aff = NULL;

	if (!pair->passive.info->socket_conversion_support) {
		pair_inapplicable("cm_forms has no RI_CM_STREAM");
		return;
	}
	pair_ok(it_evd_create(pair->passive.ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 16, 1, NULL, &aff,
			      NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++)
		go_wrong(pair, i, aff, true);
	pair_ok(it_evd_free(aff));
}

/* The administrator's switch for applications that treat each asynchronous event as fatal. */
static void
test_dropped(void)
{
	g_autofree char *path = g_strdup("/tmp/itapi-async-XXXXXX");
	it_evd_handle_t aff = NULL;
	struct pair pair;

	close(g_mkstemp(path));
	g_assert_true(
		g_file_set_contents(path, "[compat]\nbroken-connection-events = drop\n", -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
	g_assert_true(pair_open(&pair));
	g_unsetenv("ITAPI_CONFIG");
	g_assert_cmpint(unlink(path), ==, 0);
	if (pair.passive.info->socket_conversion_support) {
		pair_ok(it_evd_create(pair.passive.ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 16, 1, NULL,
				      &aff, NULL));
		for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++)
			go_wrong(&pair, i, aff, false);
		pair_ok(it_evd_free(aff));
	} else {
		pair_inapplicable("cm_forms has no RI_CM_STREAM");
	}
	pair_close(&pair);
}

static void
add(void)
{
	pair_add("async/wire", test_wrongs);
	pair_add_bare("async/wire-dropped", test_dropped);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
