/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The memory that payload may change: a plain socket sends one frame of every opcode with every
 * length, divided at different places, after a Send that was delivered. Only memory that the frame
 * may write may change; delivered buffers, of this connection or an earlier one, and all other
 * octets must not.
 */

#include "viw_peer.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rdmap_check.h"
#include "viw_qp.h"

#define ROOM    512u /* octets of each receive */
#define GREET   8u   /* octets of the Send before the frame */
#define GUARD   0xa5
#define LENGTHS 301u
#define FRAME   (MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE + LENGTHS + 8)

/* The beginning of each area of the region; octets outside of the areas are never written. */
enum area {
	AREA_FIRST = 0,        /* delivered on the first connection */
	AREA_GREET = 1 * 1024, /* delivered on this connection */
	AREA_NEXT = 2 * 1024,  /* the receive that is posted for the frame */
	AREA_WRITE = 3 * 1024, /* named by tagged frames */
	AREA_END = 4 * 1024
};

struct fixture {
	struct node *node;
	struct end *end;
	struct chunk mem;
	int fd;
};

static void
drive(struct fixture *f)
{
	(void)f->node->p->fast->progress(f->node->urnic, 64);
}

/* Another connection of the same queue pair. */
static void
reconnect(struct fixture *f)
{
	int fd[2];

	tcp_pair(fd);
	struct ri_stream s = end_stream(fd[0], false);
	g_assert_cmpint(end_attach(f->end, &s), ==, RI_SUCCESS);
	f->fd = fd[1];
	g_assert_cmpint(end_recv(f->end, 1, &f->mem, AREA_GREET, ROOM), ==, RI_SUCCESS);
}

static void
say(struct fixture *f, const uint8_t *octets, size_t len)
{
	g_assert_cmpint(send(f->fd, octets, len, MSG_NOSIGNAL), ==, (ssize_t)len);
	drive(f);
}

/* Deliver a Send of `len` octets. */
static void
greet(struct fixture *f, uint32_t len)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, 1, 0, true);
	uint8_t text[ROOM], frame[ROOM + 64];
	size_t size;

	memset(text, 'g', sizeof(text));
	seg.payload = text;
	seg.payload_len = len;
	size = rdmap_fpdu_put(frame, &seg, true);
	say(f, frame, size);
	struct ri_wc wc = end_wait_ok(f->end, true, 1, NULL);
	g_assert_cmpuint(wc.byte_len, ==, len);
}

/* End this connection and begin the next. */
static void
hang_up(struct fixture *f)
{
	gint64 until = node_deadline();
	struct ri_wc wc;

	close(f->fd);
	while (node_ends(f->end) == 0) {
		drive(f);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_thread_yield();
	}
	while (end_poll(f->end, true, &wc))
		continue;
	end_to_idle(f->end);
	node_forget(f->node);
}

static void
fixture_open(struct fixture *f)
{
	g_setenv("ITAPI_IWARP_RNR_MS", "0", TRUE);
	f->node = node_new();
	f->end = end_new(f->node, NULL);
	f->mem = chunk_new(f->node, AREA_END, ALL_RW);
	memset(f->mem.at, GUARD, AREA_END);
	reconnect(f);
	greet(f, GREET);
	hang_up(f);
	memcpy(f->mem.at + AREA_FIRST, f->mem.at + AREA_GREET, ROOM);
}

static void
fixture_close(struct fixture *f)
{
	end_free(&f->end);
	chunk_free(&f->mem);
	node_free(&f->node);
}

/* A frame of this opcode with `len` octets, as valid as possible. */
static uint32_t
frame_make(struct fixture *f, uint8_t *frame, unsigned opcode, uint32_t len)
{
	const struct rdmap_rule *rule = &rdmap_rules[opcode];
	struct ddp_segment seg = rdmap_untagged((enum rdmap_opcode)opcode, 1, 0, true);
	uint8_t text[LENGTHS];

	memset(text, 'x', sizeof(text));
	if (rule->tagged)
		seg = rdmap_tagged((enum rdmap_opcode)opcode, f->mem.stag,
				   (uintptr_t)f->mem.at + AREA_WRITE, true);
	else if (rdmap_is_send((enum rdmap_opcode)opcode) || rule->qn == DDP_QN_SEND)
		seg.msn = 2;
	seg.qn = rule->qn;
	seg.payload = text;
	seg.payload_len = len;
	return rdmap_fpdu_put(frame, &seg, true);
}

/* Send the frame in up to three pieces and check which octets changed. */
static void
play(struct fixture *f, unsigned opcode, uint32_t len, uint32_t cut, uint32_t cut2)
{
	bool sends = rdmap_is_send((enum rdmap_opcode)opcode);
	uint8_t frame[FRAME];
	uint32_t size = frame_make(f, frame, opcode, len);
	uint32_t at = MIN(cut, size);
	uint32_t at2 = MIN(MAX(cut, cut2), size);
	static uint8_t expected[AREA_END];

	memset(f->mem.at + AREA_GREET, GUARD, AREA_END - AREA_GREET);
	memset(expected, GUARD, sizeof(expected));
	memset(expected + AREA_FIRST, 'g', GREET);
	reconnect(f);
	greet(f, GREET);
	memset(expected + AREA_GREET, 'g', GREET);
	if (sends) {
		g_assert_cmpint(end_recv(f->end, 2, &f->mem, AREA_NEXT, ROOM), ==, RI_SUCCESS);
		memset(expected + AREA_NEXT, 'x', len);
	}
	if (opcode == RDMAP_WRITE)
		memset(expected + AREA_WRITE, 'x', len);
	say(f, frame, at);
	if (at2 > at)
		say(f, frame + at, at2 - at);
	if (size > at2)
		say(f, frame + at2, size - at2);
	shutdown(f->fd, SHUT_WR);
	if (sends) { /* there is no key to invalidate */
		bool invalidate = rdmap_is_invalidate((enum rdmap_opcode)opcode);

		g_assert_cmpuint(end_wait(f->end, true, NULL).status, ==,
				 invalidate ? RI_WC_LOCAL_INVALIDATE : RI_WC_SUCCESS);
	}
	hang_up(f);
	if (memcmp(f->mem.at, expected, AREA_END) != 0) {
		unsigned wrong = 0;

		while (f->mem.at[wrong] == expected[wrong])
			wrong++;
		g_error("opcode %u, %u octets, cut at %u and %u: octet %u is %02x", opcode, len, at,
			at2, wrong, f->mem.at[wrong]);
	}
}

/* Each length up to the longest header, and some beyond; the cuts are at changing places. */
static void
test_lengths(gconstpointer opcode)
{
	struct fixture f RI_AT_END(fixture_close);

	fixture_open(&f);
	for (uint32_t len = 0; len < LENGTHS; len += len < 60 ? 1 : 9) {
		uint32_t size = mpa_fpdu_size(DDP_UNTAGGED_SIZE + len);
		uint32_t cut = 1 + len * 37 % size;

		play(&f, GPOINTER_TO_UINT(opcode), len, cut, cut + len % 11);
	}
}

/*
 * A Terminate of the greatest length that is kept, and one of the greatest length that one octet
 * can express, divided at each place.
 */
static void
test_terminate_cuts(gconstpointer len)
{
	uint32_t octets = GPOINTER_TO_UINT(len);
	uint32_t size = mpa_fpdu_size(DDP_UNTAGGED_SIZE + octets);
	struct fixture f RI_AT_END(fixture_close);

	fixture_open(&f);
	for (uint32_t cut = 1; cut < size; cut += cut < 64 ? 9 : cut < 80 ? 1 : 23) {
		play(&f, RDMAP_TERMINATE, octets, cut, size);
		play(&f, RDMAP_TERMINATE, octets, MPA_LENGTH_SIZE, cut);
	}
}

/* The octets of a Terminate are kept up to the greatest valid length, also if it is longer. */
static void
test_terminate_kept(void)
{
	for (uint32_t len = RDMAP_TERMINATE_MAX - 1; len <= RDMAP_TERMINATE_MAX + 1; len++) {
		uint8_t frame[FRAME];
		struct fixture f RI_AT_END(fixture_close);

		fixture_open(&f);
		reconnect(&f);
		greet(&f, GREET);
		uint32_t size = frame_make(&f, frame, RDMAP_TERMINATE, len);
		say(&f, frame, 30);
		say(&f, frame + 30, size - 30);
		close(f.fd);
		end_wait_event(f.end, RI_EVENT_QP_TERMINATE_RECEIVED, NULL);
		struct ri_qp_attr attr = end_attr(f.end);
		g_assert_false(attr.terminate_sent);
		g_assert_cmpuint(attr.terminate_len, ==, MIN(len, RDMAP_TERMINATE_MAX));
		for (unsigned i = 0; i < attr.terminate_len; i++)
			g_assert_cmpuint(attr.terminate[i], ==, 'x');
	}
}

/* --- by itself, at its borders --------------------------------------------------------------- */

/* How many of `want` octets may be placed from octet `placed` on, and at which address? */
static uint32_t
room_at(struct fixture *f, uint32_t placed, uint32_t want, const uint8_t *where)
{
	struct viw_qp *qp = (struct viw_qp *)f->end->qp;
	struct vsw_mem_use use;
	uint32_t len = want;

	qp->rx.placed = placed;
	qp->rx.fault = RDMAP_FAULT_NONE;
	uint8_t *at = viw_rx_place_target(qp, &len, &use);
	if (at == NULL)
		return 0;
	g_assert_true(at == where);
	vsw_mem_end(&use);
	return len;
}

/* A queue pair without a stream, which no engine serves. */
static void
test_target(void)
{
	struct fixture f = {.node = node_new()};
	f.end = end_new(f.node, NULL);
	f.mem = chunk_new(f.node, 64, ALL_RW);
	struct viw_rx *rx = &((struct viw_qp *)f.end->qp)->rx;
	uint8_t *mem = f.mem.at;

	rx->target = (struct viw_rx_target){.stag = f.mem.stag, .at = (uintptr_t)mem, .len = 10};
	g_assert_cmpuint(room_at(&f, 0, 10, NULL), ==, 0);
	g_assert_cmpint(rx->fault, ==, RDMAP_FAULT_NONE);
	rx->target.kind = VIW_RX_TAGGED;
	g_assert_cmpuint(room_at(&f, 0, 10, mem), ==, 10);
	g_assert_cmpuint(room_at(&f, 0, 11, mem), ==, 10);
	g_assert_cmpuint(room_at(&f, 9, 5, mem + 9), ==, 1);
	g_assert_cmpuint(room_at(&f, 10, 1, NULL), ==, 0);
	g_assert_cmpuint(room_at(&f, UINT32_MAX, 1, NULL), ==, 0);
	g_assert_cmpint(rx->fault, ==, RDMAP_FAULT_NONE);
	rx->target.len = 65;
	g_assert_cmpuint(room_at(&f, 63, 1, mem + 63), ==, 1);
	g_assert_cmpuint(room_at(&f, 63, 2, NULL), ==, 0);
	g_assert_cmpint(rx->fault, ==, RDMAP_FAULT_TAGGED_BOUNDS);

	/* A receive of 4 and 6 octets, and a frame that begins at its second octet. */
	rx->wqe->num_sge = 2;
	rx->wqe->sge[0] = chunk_sge(&f.mem, 20, 4);
	rx->wqe->sge[1] = chunk_sge(&f.mem, 40, 6);
	rx->target = (struct viw_rx_target){.kind = VIW_RX_RECEIVE, .at = 1, .len = 9};
	g_assert_cmpuint(room_at(&f, 0, 9, mem + 21), ==, 3);
	g_assert_cmpuint(room_at(&f, 3, 6, mem + 40), ==, 6);
	g_assert_cmpuint(room_at(&f, 8, 9, mem + 45), ==, 1);
	g_assert_cmpuint(room_at(&f, 9, 1, NULL), ==, 0);
	g_assert_cmpint(rx->fault, ==, RDMAP_FAULT_NONE);
	rx->target.len = 10; /* longer than the receive: the end of the second segment stops it */
	g_assert_cmpuint(room_at(&f, 9, 1, NULL), ==, 0);
	g_assert_cmpint(rx->fault, ==, RDMAP_FAULT_LOCAL);
	viw_rx_target_close(&rx->target);
	g_assert_cmpuint(room_at(&f, 0, 1, NULL), ==, 0);
	end_free(&f.end);
	chunk_free(&f.mem);
	node_free(&f.node);
}

/* Places for the peer's Reads, also after the application has set IRD below the number in use. */
static void
test_read_places(void)
{
	struct node *node RI_AT_END(node_free) = node_new();
	struct end *end RI_AT_END(end_free) = end_new(node, NULL);
	struct viw_qp *qp = (struct viw_qp *)end->qp;

	g_assert_cmpuint(viw_read_places(&qp->reads), ==, 4);
	for (unsigned base = 0; base < 2; base++) { /* indices run over 2^32 */
		uint32_t got = base == 0 ? 0 : UINT32_MAX - 1;

		atomic_store(&qp->reads.irrq_got, got);
		for (uint32_t taken = 0; taken <= 5; taken++) {
			atomic_store(&qp->reads.irrq_put, got + taken);
			g_assert_cmpuint(viw_read_places(&qp->reads), ==,
					 taken < 4 ? 4 - taken : 0);
		}
	}
	viw_reads_reset(&qp->reads);
}

/* An event of an earlier connection reports that the socket was closed: a Send that waits now is not disturbed. */
static void
test_old_event(void)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, 1, 0, true);
	uint8_t text[100], frame[200];
	struct fixture f = {.fd = -1};
	size_t size;
	int fd[2];

	g_setenv("ITAPI_IWARP_RNR_MS", "3000000", TRUE);
	f.node = node_new();
	f.end = end_new(f.node, NULL);
	f.mem = chunk_new(f.node, 128, ALL_RW);
	struct viw_qp *qp = (struct viw_qp *)f.end->qp;
	tcp_pair(fd);
	struct ri_stream s = end_stream(fd[0], false);
	g_assert_cmpint(end_attach(f.end, &s), ==, RI_SUCCESS);
	f.fd = fd[1];
	memset(text, 't', sizeof(text));
	seg.payload = text;
	seg.payload_len = sizeof(text);
	size = rdmap_fpdu_put(frame, &seg, true);
	say(&f, frame, size);
	gint64 until = node_deadline();
	while (!atomic_load(&qp->rx.waiting)) {
		drive(&f);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
	atomic_store(&qp->rx.hung_up, true);
	while (atomic_load(&qp->rx.hung_up)) {
		(void)viw_rx_run(qp);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
	g_assert_cmpint(end_state(f.end), ==, RI_QPS_RTS);
	g_assert_cmpint(end_recv(f.end, 1, &f.mem, 0, 128), ==, RI_SUCCESS);
	(void)end_wait_ok(f.end, true, 1, NULL);
	g_assert_cmpmem(f.mem.at, sizeof(text), text, sizeof(text));
	end_free(&f.end);
	chunk_free(&f.mem);
	node_free(&f.node);
	close(f.fd);
}

int
main(int argc, char **argv)
{
	static const unsigned lens[] = {52, 53, 255};

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/place/target", test_target);
	g_test_add_func("/iwarp/place/read-places", test_read_places);
	g_test_add_func("/iwarp/place/old-event", test_old_event);
	for (unsigned opcode = 0; opcode <= RDMAP_ATOMIC_RESPONSE + 1; opcode++) {
		g_autofree char *path = g_strdup_printf("/iwarp/place/opcode/%u", opcode);

		g_test_add_data_func(path, GUINT_TO_POINTER(opcode), test_lengths);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(lens); i++) {
		g_autofree char *path = g_strdup_printf("/iwarp/place/terminate/%u", lens[i]);

		g_test_add_data_func(path, GUINT_TO_POINTER(lens[i]), test_terminate_cuts);
	}
	g_test_add_func("/iwarp/place/terminate-kept", test_terminate_kept);
	return g_test_run();
}
