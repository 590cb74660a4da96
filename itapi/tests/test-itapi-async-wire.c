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

/* What a peer does wrong: a frame of that opcode, with one mistake. */
struct wrong {
	const char *what;
	it_event_type_t event;
	bool resets; /* instead of a frame */
	uint8_t opcode, queue;
	bool whole; /* the last frame of its message */
	uint32_t msn, offset;
	uint32_t key;      /* bits of the STag that are not those of the endpoint's region */
	bool wraps;        /* a Write whose target passes the highest address */
	unsigned code;     /* of a Terminate: layer, type and code */
	size_t cut;        /* the frame has no more octets; 0: all */
	size_t spoilt;     /* in this octet */
	uint8_t flipped;   /* these bits are wrong */
	uint32_t damage;   /* added to the CRC */
	unsigned withheld; /* octets that are not sent, before the stream ends */
};

#define SEND_FRAME .opcode = OP_SEND, .queue = Q_SEND, .whole = true, .msn = 1
#define READ_FRAME .opcode = OP_READ, .queue = Q_READ
#define TERMINATE_FRAME(why) \
	.opcode = OP_TERMINATE, .queue = Q_TERMINATE, .whole = true, .msn = 1, .code = (why)

static const struct wrong wrongs[] = {
	{"crc", IT_ASYNC_AFF_EP_L_LLP_ERROR, SEND_FRAME, .damage = 1},
	/* Too short for the header that its opcode requires. */
	{"short", IT_ASYNC_AFF_EP_L_LLP_ERROR, SEND_FRAME, .cut = 6},
	{"reset", IT_ASYNC_AFF_EP_L_LLP_ERROR, .resets = true},
	{"end-in-frame", IT_ASYNC_AFF_EP_L_LLP_ERROR, SEND_FRAME, .withheld = 5},
	{"opcode", IT_ASYNC_AFF_EP_BAD_TRANSPORT_OPCODE, .opcode = OP_NONE, .queue = Q_SEND,
	 .whole = true, .msn = 1},
	{"ddp-version", IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR, SEND_FRAME, .spoilt = 2, .flipped = 3},
	{"rdmap-version", IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR, SEND_FRAME, .spoilt = 3,
	 .flipped = 0xc0},
	{"queue", IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR, .opcode = OP_SEND, .queue = Q_NONE,
	 .whole = true, .msn = 1},
	{"read-in-pieces", IT_ASYNC_AFF_EP_L_TRANSPORT_ERROR, READ_FRAME, .msn = 1},
	{"gap", IT_ASYNC_AFF_EP_L_RECV_ACCESS_VIOLATION, .opcode = OP_SEND, .queue = Q_SEND,
	 .whole = true, .msn = 5},
	{"offset", IT_ASYNC_AFF_EP_L_RECV_ACCESS_VIOLATION, SEND_FRAME, .offset = 32},
	{"write-key", IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION, .opcode = OP_WRITE, .key = 0x5500},
	{"write-wrap", IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION, .opcode = OP_WRITE, .wraps = true},
	{"read-key", IT_ASYNC_AFF_EP_L_IRRQ_ACCESS_VIOLATION, READ_FRAME, .whole = true, .msn = 1,
	 .key = 0x5500},
	{"read-gap", IT_ASYNC_AFF_EP_L_IRRQ_ACCESS_VIOLATION, READ_FRAME, .whole = true, .msn = 3},
	{"terminate-tagged", IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION, TERMINATE_FRAME(0x1100)},
	{"terminate-protection", IT_ASYNC_AFF_EP_R_ACCESS_VIOLATION, TERMINATE_FRAME(0x0101)},
	{"terminate-no-buffer", IT_ASYNC_AFF_EP_R_RECV_ACCESS_VIOLATION, TERMINATE_FRAME(0x1202)},
	{"terminate-too-long", IT_ASYNC_AFF_EP_R_RECV_LENGTH_ERROR, TERMINATE_FRAME(0x1205)},
	{"terminate-other", IT_ASYNC_AFF_EP_R_ERROR, TERMINATE_FRAME(0x0207)},
};

/* The frame of a mistake, towards the memory of that end, without its CRC. */
static void
build(struct frame *f, const struct wrong *w, const struct end *end)
{
	uint32_t stag = (uint32_t)end->context ^ w->key;

	if (w->opcode == OP_WRITE) {
		tagged(f, OP_WRITE, stag, w->wraps ? UINT64_MAX - 3 : (uintptr_t)end->buffer);
		put(f, 0, 8);
		return;
	}
	untagged(f, w->whole ? LAST : 0, w->opcode, w->queue, w->msn, w->offset);
	if (w->opcode == OP_READ) {
		put(f, 0x100, 4);
		put(f, 0, 8);
		put(f, 8, 4);
		put(f, stag, 4);
		put(f, (uintptr_t)end->buffer, 8);
	} else if (w->opcode == OP_TERMINATE) {
		put(f, w->code, 2);
		put(f, 0, 2);
	}
}

static void
reset(int fd)
{
	static const struct linger now = {.l_onoff = 1};

	g_assert_cmpint(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), ==, 0);
	/* No other process has this descriptor. A duplicate takes its number, for the code that closes it later. */
	g_assert_cmpint(dup2(STDERR_FILENO, fd), ==, fd);
}

static void
do_wrong(const struct wrong *w, int fd, const struct end *end)
{
	struct frame f;

	if (w->resets) {
		reset(fd);
		return;
	}
	build(&f, w, end);
	if (w->cut != 0)
		f.length = w->cut;
	f.octets[w->spoilt] ^= w->flipped;
	finish(&f, w->damage);
	stream_say(fd, f.octets, f.length - w->withheld);
	(void)shutdown(fd, SHUT_WR); /* otherwise the other side waits for it */
}

/* One event that names the endpoint, unless the configuration suppresses it, and the end of the connection. */
static void
go_wrong(struct pair *pair, size_t which, it_evd_handle_t aff, bool raised)
{
	int fd = cm_raw_connect(pair);
	it_lmr_triplet_t in = end_segment(&pair->passive, 0, 64);
	char reply[STREAM_FRAME];
	it_event_t event;

	g_test_message("%s", wrongs[which].what);
	g_assert_cmpint(fd, >=, 0);
	pair_ok(it_post_recv((it_handle_t)pair->passive.ep, &in, 1, 1, 0));
	stream_say(fd, stream_request, STREAM_FRAME);
	pair_ok(it_ep_accept(pair->passive.ep, cm_request(pair).cn_est_id, NULL, 0));
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	g_assert_cmpint(recv(fd, reply, sizeof(reply), MSG_WAITALL), ==, sizeof(reply));
	do_wrong(&wrongs[which], fd, &pair->passive);
	if (raised) {
		event = end_expect(aff, wrongs[which].event);
		g_assert_true(event.aff_async.cause.ep == pair->passive.ep);
	}
	close(fd);
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
