/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Atomics of RFC 7306, with a plain socket as the peer: Atomic Requests from the vectors; Atomic Requests of the provider,
 * compared with the vectors octet by octet; valid and invalid responses. it-wire judges operations and refusals.
 */

#include "viw_peer.h"

#include <string.h>
#include <sys/socket.h>

#include "rdmap_check.h"
#include "vectors.h"

#define STAG_AT 28u /* in the frame of an Atomic Request */
#define ID_AT   24u /* of the request identifier */
#define BACK_AT 20u /* offset in the response */
#define REQUEST (20u + RDMAP_ATOMIC_REQUEST_SIZE + 4u)
#define ANSWER  (20u + RDMAP_ATOMIC_RESPONSE_SIZE + 4u)

static struct vectors *positive;

/* A peer that may send atomics to words with addresses from 0, as the vectors do. */
struct fixture {
	struct peer peer;
	struct ri_mr *mr;
	uint32_t stag;
	uint64_t word[64];
};

static struct ri_qp_init
atomic_init(uint32_t access)
{
	struct ri_qp_init init = {.max_sq_wr = 16,
				  .max_rq_wr = 16,
				  .max_send_sge = 1,
				  .max_recv_sge = 1,
				  .max_write_sge = 1,
				  .max_read_sge = 1,
				  .ird = 4,
				  .ord = 4,
				  .access = access,
				  .hard_limit = UINT32_MAX};

	return init;
}

static void
open_with(struct fixture *f, uint32_t qp_access, uint32_t mr_access)
{
	struct ri_qp_init init = atomic_init(qp_access);
	struct ri_mr_init mr = {.addr = (uintptr_t)f->word,
				.length = sizeof(f->word),
				.zero_based = true,
				.access = LOCAL_RW | mr_access};

	memset(f->word, 0, sizeof(f->word));
	f->peer = peer_open(&init);
	g_assert_cmpint(f->peer.node->p->mem->mr_reg(f->peer.node->pd, &mr, &f->mr, &f->stag), ==,
			RI_SUCCESS);
}

static void
set_up(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	open_with(f, ALL_RW | RI_ACCESS_REMOTE_ATOMIC, ALL_RW | RI_ACCESS_REMOTE_ATOMIC);
}

static void
tear_down(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	g_assert_cmpint(f->peer.node->p->mem->mr_dereg(f->mr), ==, RI_SUCCESS);
	peer_close(&f->peer);
}

/* A frame of the vectors with 32 bits changed and a valid CRC. */
static void
frame_patched(uint8_t *to, const struct vector *v, uint32_t at, uint32_t value)
{
	memcpy(to, v->octets, v->len);
	wire_store_be32(to + at, value);
	(void)mpa_fpdu_seal(to, (uint32_t)v->len - 6, true);
}

static const struct vector *
frame_of(const char *name)
{
	return vectors_find(positive, "rfc7306", name);
}

/* --- the peer asks ------------------------------------------------------------------------- */

/* The vectors' two requests get the vectors' two answers. */
static void
test_vectors(gconstpointer how)
{
	const struct vector *one = frame_of("atomic-response-1"),
			    *two = frame_of("atomic-response-2");
	struct fixture f;
	uint8_t frames[2 * REQUEST], back[2 * ANSWER];
	bool fin;

	set_up(&f, NULL);
	f.word[0x100 / 8] = 41;
	frame_patched(frames, frame_of("atomic-fetchadd"), STAG_AT, f.stag);
	frame_patched(frames + REQUEST, frame_of("atomic-cmpswap"), STAG_AT, f.stag);
	peer_play_cut(&f.peer, frames, sizeof(frames), GPOINTER_TO_UINT(how));
	g_assert_cmpuint(peer_listen(&f.peer, back, sizeof(back), &fin), ==, sizeof(back));
	g_assert_cmpmem(back, ANSWER, one->octets, one->len);
	g_assert_cmpmem(back + ANSWER, ANSWER, two->octets, two->len);
	g_assert_cmpuint(f.word[0x100 / 8], ==, 7);
	g_assert_cmpint(end_state(f.peer.end), ==, RI_QPS_RTS);
	tear_down(&f, NULL);
}

/* FIN behind every octet but the last: no response is sent and no word has changed. */
static void
test_cut_off(void)
{
	for (uint32_t len = 0; len < REQUEST; len++) {
		struct fixture f;
		uint8_t frame[REQUEST];

		set_up(&f, NULL);
		frame_patched(frame, frame_of("atomic-fetchadd"), STAG_AT, f.stag);
		peer_play(&f.peer, frame, len);
		shutdown(f.peer.fd, SHUT_WR);
		end_wait_event(f.peer.end,
			       len == 0 ? RI_EVENT_QP_LLP_CLOSE_COMPLETE
					: RI_EVENT_QP_BAD_LLP_CLOSE,
			       NULL);
		peer_expect_over(&f.peer);
		g_assert_cmpuint(f.word[0x100 / 8], ==, 0);
		tear_down(&f, NULL);
	}
}

/* Send a request with the given fields. */
static void
ask(struct fixture *f, uint32_t msn, const struct rdmap_atomic_request *m, uint32_t size)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_ATOMIC_REQUEST, msn, 0, true);
	uint8_t body[RDMAP_ATOMIC_REQUEST_SIZE + 8] = {0}, frame[128];

	rdmap_atomic_request_write(body, m);
	seg.payload = body;
	seg.payload_len = size;
	peer_play(&f->peer, frame, rdmap_fpdu_put(frame, &seg, true));
}

/* Responses to Reads and atomics come in the order of the requests. */
static void
test_order(struct fixture *f, gconstpointer unused)
{
	struct rdmap_atomic_request add = {.stag = f->stag, .to = 8, .data = 1, .request_id = 50};
	struct rdmap_read_request read = {
		.sink_stag = 1, .size = 8, .source_stag = f->stag, .source_to = 8};
	uint8_t back[2 * (28 + ANSWER)], frame[64];
	bool fin;

	(void)unused;
	for (uint32_t i = 0; i < 4; i += 2) {
		ask(f, i + 1, &add, RDMAP_ATOMIC_REQUEST_SIZE);
		peer_play(&f->peer, frame, rdmap_read_request_fpdu(frame, i + 2, &read, true));
	}
	g_assert_cmpuint(peer_listen(&f->peer, back, sizeof(back), &fin), ==, sizeof(back));
	for (uint64_t i = 0; i < 2; i++) {
		const uint8_t *at = back + i * (28 + ANSWER);
		uint64_t seen = i + 1;

		g_assert_cmphex(at[3], ==, 0x4b);
		g_assert_cmphex(wire_load_be64(at + 24), ==, i);
		g_assert_cmphex(at[ANSWER + 3], ==, 0x42);
		g_assert_cmpmem(at + ANSWER + 16, 8, &seen, 8); /* native, as in memory */
	}
}

/* --- requester ----------------------------------------------------------------------------- */

/* Post an atomic whose result is written to the first word. */
static void
post_atomic(struct fixture *f, enum ri_opcode opcode, uint64_t operand, uint64_t swap)
{
	struct ri_sge sge = {.addr = 0, .length = 8, .stag = f->stag};
	struct ri_wr wr = {
		.wr_id = 7,
		.sgl = &sge,
		.num_sge = 1,
		.opcode = (uint8_t)opcode,
		.flags = RI_WR_SIGNALED,
		.u.remote = {.addr = 0x100, .stag = 0xaa01, .operand = operand, .swap = swap}};

	g_assert_cmpint(f->peer.node->p->fast->post_sq(f->peer.end->uqp, &wr), ==, RI_SUCCESS);
}

/* Receive the request, which is that of the vectors except for its identifier; returns the identifier. */
static uint32_t
hear_request(struct fixture *f, const char *name)
{
	uint8_t frame[REQUEST], expected[REQUEST];
	bool fin;

	g_assert_cmpuint(peer_listen(&f->peer, frame, sizeof(frame), &fin), ==, sizeof(frame));
	frame_patched(expected, frame_of(name), ID_AT, wire_load_be32(frame + ID_AT));
	g_assert_cmpmem(frame, sizeof(frame), expected, sizeof(expected));
	return wire_load_be32(frame + ID_AT);
}

static void
answer(struct fixture *f, const char *name, uint32_t id)
{
	uint8_t frame[ANSWER];

	frame_patched(frame, frame_of(name), BACK_AT, id);
	peer_play(&f->peer, frame, sizeof(frame));
}

static void
test_ask(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	post_atomic(f, RI_OP_FETCH_ADD, 5, 0);
	answer(f, "atomic-response-1", hear_request(f, "atomic-fetchadd"));
	(void)end_wait_ok(f->peer.end, false, 7, NULL);
	g_assert_cmpuint(f->word[0], ==, 41);
	post_atomic(f, RI_OP_CMP_SWAP, 46, 7);
	answer(f, "atomic-response-2", hear_request(f, "atomic-cmpswap"));
	(void)end_wait_ok(f->peer.end, false, 7, NULL);
	g_assert_cmpuint(f->word[0], ==, 46);
}

/* Responses that no request expects, or with other contents. */
static void
test_wrong_answers(void)
{
	for (unsigned way = 0; way < 5; way++) {
		struct ddp_segment seg = rdmap_untagged(RDMAP_ATOMIC_RESPONSE, 1, 0, true);
		struct rdmap_atomic_response m = {.original = 5};
		struct fixture f;
		uint8_t body[16] = {0}, frame[64];
		int code = 0x0206;

		set_up(&f, NULL);
		if (way > 0) { /* 0: no request is outstanding */
			post_atomic(&f, RI_OP_FETCH_ADD, 5, 0);
			m.request_id = hear_request(&f, "atomic-fetchadd");
		}
		m.request_id += way == 1; /* another identifier */
		rdmap_atomic_response_write(body, &m);
		seg.payload = body;
		seg.payload_len = RDMAP_ATOMIC_RESPONSE_SIZE;
		if (way == 2 || way == 3) { /* too short, too long */
			seg.payload_len += way == 2 ? -1 : 1;
			code = 0x1000;
		}
		if (way == 4) { /* the answer to a Read */
			seg = rdmap_tagged(RDMAP_READ_RESPONSE, f.stag, 0, true);
			seg.payload = body;
			seg.payload_len = 8;
		}
		peer_play(&f.peer, frame, rdmap_fpdu_put(frame, &seg, true));
		peer_expect_terminate(&f.peer, code);
		peer_hang_up(&f.peer);
		peer_expect_over(&f.peer);
		if (way > 0)
			g_assert_cmpuint(end_wait(f.peer.end, false, NULL).status, ==,
					 RI_WC_FLUSHED);
		g_assert_cmpuint(f.word[0], ==, 0);
		tear_down(&f, NULL);
	}
}

/* The response to an atomic when a Read is outstanding. */
static void
test_answer_to_read(struct fixture *f, gconstpointer unused)
{
	struct ri_sge local = {.length = 8, .stag = f->stag}, remote = {.stag = 1};
	uint8_t buf[52];
	bool fin;

	(void)unused;
	post_rdma(f->peer.end, RI_OP_RDMA_READ, 3, &local, &remote);
	g_assert_cmpuint(peer_listen(&f->peer, buf, sizeof(buf), &fin), ==, sizeof(buf));
	answer(f, "atomic-response-1", 0);
	peer_expect_terminate(&f->peer, 0x0206);
	peer_hang_up(&f->peer);
	peer_expect_over(&f->peer);
	g_assert_cmpuint(end_wait(f->peer.end, false, NULL).status, ==, RI_WC_FLUSHED);
}

/* The key of the result is invalidated while the response is under way. */
static void
test_result_gone(struct fixture *f, gconstpointer unused)
{
	const struct ri_mem_ops *mem = f->peer.node->p->mem;
	struct ri_mr_init again = {
		.addr = (uintptr_t)f->word, .length = sizeof(f->word), .access = LOCAL_RW};

	(void)unused;
	post_atomic(f, RI_OP_FETCH_ADD, 5, 0);
	uint32_t id = hear_request(f, "atomic-fetchadd");
	g_assert_cmpint(mem->mr_dereg(f->mr), ==, RI_SUCCESS);
	answer(f, "atomic-response-1", id);
	peer_expect_terminate(&f->peer, 0x0000);
	peer_hang_up(&f->peer);
	peer_expect_over(&f->peer);
	g_assert_cmpuint(end_wait(f->peer.end, false, NULL).status, ==, RI_WC_FLUSHED);
	g_assert_cmpuint(f->word[0], ==, 0);
	g_assert_cmpint(mem->mr_reg(f->peer.node->pd, &again, &f->mr, &f->stag), ==, RI_SUCCESS);
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	positive = vectors_load("vectors.json");
	g_test_add_data_func("/iwarp/atomic/vectors/whole", GUINT_TO_POINTER(0), test_vectors);
	g_test_add_data_func("/iwarp/atomic/vectors/octets", GUINT_TO_POINTER(1), test_vectors);
	g_test_add_data_func("/iwarp/atomic/vectors/random", GUINT_TO_POINTER(2), test_vectors);
	g_test_add_func("/iwarp/atomic/cut-off", test_cut_off);
	g_test_add("/iwarp/atomic/order", struct fixture, NULL, set_up, test_order, tear_down);
	g_test_add("/iwarp/atomic/ask", struct fixture, NULL, set_up, test_ask, tear_down);
	g_test_add_func("/iwarp/atomic/wrong-answers", test_wrong_answers);
	g_test_add("/iwarp/atomic/answer-to-read", struct fixture, NULL, set_up,
		   test_answer_to_read, tear_down);
	g_test_add("/iwarp/atomic/result-gone", struct fixture, NULL, set_up, test_result_gone,
		   tear_down);
	result = g_test_run();
	vectors_free(&positive);
	return result;
}
