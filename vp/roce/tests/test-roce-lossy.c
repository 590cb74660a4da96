/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Runs of each opcode, in both directions at once, over a wire that loses exactly packet k, then
 * each pair (k, l), and over one that loses, duplicates, delays and damages packets at random.
 * Completions and memory must be the same as without loss [WIRE 16.3], [WIRE 16.5].
 */
#include <string.h>

#include "vro_sim.h"

#define MTU     256
#define SOURCE  0u     /* octets that are sent */
#define TARGET  16384u /* that are written, received, read into */
#define WORDS   49152u /* of atomics */
#define QUIET   UINT64_C(20000000000)
#define LENGTHS 3

enum run {
	RUN_SEND,
	RUN_SEND_IMMEDIATE,
	RUN_SEND_INLINE,
	RUN_SEND_INVALIDATE,
	RUN_WRITE,
	RUN_WRITE_IMMEDIATE,
	RUN_READ,
	RUN_FETCH_ADD,
	RUN_CMP_SWAP,
	RUN_LOCAL, /* between Sends, what sends nothing: a window is bound, and a region invalidated */
	RUN_MIX,
	RUN_COUNT
};

static const char *const names[RUN_COUNT] = {
	"send", "send-immediate", "send-inline", "send-invalidate", "write", "write-immediate",
	"read", "fetch-add",      "cmp-swap",    "local",           "mix"};
static const uint32_t lengths[LENGTHS] = {700, 0, MTU};

/* Regions of each side whose keys are taken away, the last one by itself, and a window. */
static struct keys {
	struct vsw_mem_entry *mr[LENGTHS + 1], *mw;
	uint32_t stag[LENGTHS + 1], window;
} keys[2];

static void
keys_make(struct sim *sim)
{
	for (int i = 0; i < 2; i++) {
		struct sim_side *side = &sim->sides[i];
		struct keys *k = &keys[i];
		const struct ri_mr_init init = {.addr = (uint64_t)(uintptr_t)side->memory,
						.length = SIM_ROOM,
						.access = SIM_ALL,
						.key = 0x11};

		for (uint32_t n = 0; n <= LENGTHS; n++)
			g_assert_cmpint(
				vsw_mr_reg(side->mem, &sim->pd, 1, &init, &k->mr[n], &k->stag[n]),
				==, RI_SUCCESS);
		g_assert_cmpint(vsw_mw_alloc(side->mem, &sim->pd, RI_MW_NARROW, &k->mw, &k->window),
				==, RI_SUCCESS);
	}
}

static void
keys_free(void)
{
	for (int i = 0; i < 2; i++) {
		vsw_mw_free(keys[i].mw);
		for (uint32_t n = 0; n <= LENGTHS; n++)
			g_assert_cmpint(vsw_mr_dereg(keys[i].mr[n]), ==, RI_SUCCESS);
	}
}

/* Request `n` of RUN_LOCAL: a Send, a bind, an invalidation. */
static void
local_post(struct sim_qp *q, uint32_t n)
{
	const struct keys *own = &keys[q->side != &q->side->sim->sides[0]];
	struct ri_wr wr = {.wr_id = 100 * (uint64_t)RUN_LOCAL + n, .flags = RI_WR_SIGNALED};

	if (n % 3 == 1) {
		wr.opcode = RI_OP_BIND_MW;
		wr.u.bind = (struct ri_wr_bind){
			.mw_stag = own->window | 0x33,
			.mr_stag = q->side->stag,
			.addr = (uint64_t)(uintptr_t)q->side->memory + TARGET,
			.length = 512,
			.access = RI_ACCESS_REMOTE_WRITE,
		};
	} else {
		wr.opcode = RI_OP_LOCAL_INV;
		wr.inv_stag = own->stag[LENGTHS];
	}
	sim_post(q, &wr);
}

/* Request `n` of a run, at this side. */
static void
request_post(struct sim_qp *q, enum run run, uint32_t n)
{
	uint32_t length = run == RUN_SEND_INLINE ? 40 + n : lengths[n % LENGTHS];
	uint32_t at = n * 1024;
	struct ri_sge sge = sim_sge(q, SOURCE + at, length);
	uint8_t opcode = RI_OP_SEND;

	if (run == RUN_LOCAL && n % 3 != 0) {
		local_post(q, n);
		return;
	}
	if (run == RUN_WRITE || run == RUN_WRITE_IMMEDIATE)
		opcode = RI_OP_RDMA_WRITE;
	else if (run == RUN_READ)
		opcode = RI_OP_RDMA_READ;
	else if (run == RUN_FETCH_ADD)
		opcode = RI_OP_FETCH_ADD;
	else if (run == RUN_CMP_SWAP)
		opcode = RI_OP_CMP_SWAP;
	if (run == RUN_READ)
		sge = sim_sge(q, TARGET + 8192 + at, length);
	if (run == RUN_FETCH_ADD || run == RUN_CMP_SWAP)
		sge = sim_sge(q, TARGET + 8192 + at, 8);

	struct ri_wr wr =
		sim_request(q, 100 * (uint64_t)run + n, opcode, &sge, TARGET + 20480 + at);

	if (run == RUN_READ)
		wr.u.remote.addr += (uint64_t)SOURCE - TARGET - 20480;
	if (run == RUN_FETCH_ADD || run == RUN_CMP_SWAP)
		wr.u.remote.addr += (uint64_t)WORDS - TARGET - 20480 - at;
	wr.u.remote.operand = run == RUN_CMP_SWAP ? n : 1;
	wr.u.remote.swap = n + 1;
	wr.imm = 0x01020304 + n;
	if (run == RUN_SEND_IMMEDIATE || run == RUN_WRITE_IMMEDIATE)
		wr.flags |= RI_WR_IMMEDIATE | RI_WR_SOLICITED;
	if (run == RUN_SEND_INVALIDATE) {
		wr.flags |= RI_WR_INVALIDATE;
		wr.inv_stag = keys[q->side == &q->side->sim->sides[0]].stag[n % LENGTHS];
	}
	if (run == RUN_SEND_INLINE)
		wr.flags |= RI_WR_INLINE;
	sim_post(q, &wr);
}

/* Both sides post the requests of a run, and receives for those of the other. */
static void
run_post(struct sim_qp *pair[2], enum run run)
{
	for (int i = 0; i < 2; i++) {
		memset(pair[i]->side->memory + WORDS, 0, 64);
		for (uint32_t n = 0; n < 16; n++)
			sim_receive(pair[i], 1000 + n, TARGET + n * 512, n % 4 == 3 ? 700 : 1024);
	}
	for (uint32_t n = 0; n < (run == RUN_MIX ? RUN_MIX : LENGTHS); n++)
		for (int i = 0; i < 2; i++)
			request_post(pair[i], run == RUN_MIX ? (enum run)n : run, n);
}

struct setting {
	enum run run;
	enum roce_transport transport;
	bool v6;
	uint32_t psn[2];
	uint32_t msn; /* of both responders */
	struct sim_wire wire;
	uint32_t seed;
	gint drop[2];
};

/* Run it. Returns what programs have seen; *packets: how many were sent. */
static char *
play(const struct setting *s, guint *packets, uint64_t counts[VRO_COUNTS])
{
	struct sim *sim RI_AT_END(sim_free) = sim_new(s->seed, s->v6);
	struct sim_qp *pair[2];
	char *state;

	sim->wire = s->wire;
	memcpy(sim->drop, s->drop, sizeof(sim->drop));
	sim_pair(sim, s->transport, MTU, s->psn[0], s->psn[1], pair);
	for (int i = 0; i < 2; i++)
		pair[i]->qp.rx.msn = s->msn;
	keys_make(sim);
	run_post(pair, s->run);
	sim_run(sim, QUIET);
	state = sim_state(sim);
	if (packets != NULL)
		*packets = sim->sent;
	for (int i = 0; i < VRO_COUNTS && counts != NULL; i++)
		counts[i] = sim->sides[0].engine.counts[i] + sim->sides[1].engine.counts[i];
	keys_free();
	return state;
}

static struct setting
setting_of(enum run run)
{
	return (struct setting){.run = run,
				.transport = ROCE_RC,
				.psn = {0x100, 0xa000},
				.seed = 1,
				.drop = {-1, -1}};
}

static void
same_as(const struct setting *s, const char *expected)
{
	g_autofree char *state = play(s, NULL, NULL);

	if (!g_str_equal(state, expected))
		g_error("%s, seed %u, without packets %d and %d:\n%s\ninstead of\n%s",
			names[s->run], s->seed, s->drop[0], s->drop[1], state, expected);
}

static guint
count_of(const char *state, const char *text)
{
	guint count = 0;

	for (; (state = strstr(state, text)) != NULL; state++)
		count++;
	return count;
}

/* All requests succeed, and nothing is repeated. */
static void
plain(gconstpointer arg)
{
	struct setting s = setting_of((enum run)GPOINTER_TO_UINT(arg));
	g_autofree char *state = NULL;
	uint64_t counts[VRO_COUNTS];
	guint packets;

	state = play(&s, &packets, counts);
	g_test_message("%u packets\n%s", packets, state);
	g_assert_cmpuint(count_of(state, "RI_WC_SUCCESS"), ==, count_of(state, "RI_WC_"));
	g_assert_cmpuint(count_of(state, "RI_WC_SUCCESS") - count_of(state, "RI_OP_RECV"), ==,
			 2 * (s.run == RUN_MIX ? RUN_MIX : LENGTHS));
	g_assert_cmpuint(counts[VRO_REPEATED], ==, 0);
	g_assert_cmpuint(counts[VRO_GAPS] + counts[VRO_TIMEOUTS] + counts[VRO_DUPLICATES], ==, 0);
	g_assert_cmpuint(counts[VRO_PACKETS_IN], ==, counts[VRO_PACKETS_OUT]);
}

static void
one_lost(gconstpointer arg)
{
	struct setting s = setting_of((enum run)GPOINTER_TO_UINT(arg));
	guint packets;
	g_autofree char *expected = play(&s, &packets, NULL);

	for (guint k = 0; k < packets; k++) {
		s.drop[0] = (gint)k;
		same_as(&s, expected);
	}
}

/* The second one may be a packet that is only there because the first one was lost. */
static void
two_lost(gconstpointer arg)
{
	struct setting s = setting_of((enum run)GPOINTER_TO_UINT(arg));
	guint packets;
	g_autofree char *expected = play(&s, &packets, NULL);

	for (guint k = 0; k < packets; k++)
		for (guint l = k + 1; l < packets + 6; l++) {
			s.drop[0] = (gint)k;
			s.drop[1] = (gint)l;
			same_as(&s, expected);
		}
}

/* The numbers of packets and of messages pass their end at each place of a run, with each packet lost. */
static void
wrap(void)
{
	struct setting s = setting_of(RUN_MIX);
	guint packets;
	g_autofree char *expected = play(&s, &packets, NULL);

	for (uint32_t before = 0; before < 20; before++) {
		s.psn[0] = 0xffffff - before;
		s.psn[1] = 0xffffff - (before + 7) % 20;
		s.msn = 0xffffff - before % 8;
		for (gint k = -1; k < (gint)packets; k++) {
			s.drop[0] = k;
			same_as(&s, expected);
		}
	}
}

/* Over IPv6, and over a link that takes few packets at a time. */
static void
links(void)
{
	struct setting s = setting_of(RUN_MIX);
	g_autofree char *expected = play(&s, NULL, NULL);

	s.v6 = true;
	same_as(&s, expected);
	for (guint limit = 1; limit < 6; limit++) {
		s.wire.limit = limit;
		same_as(&s, expected);
	}
}

/* Everything at once, at random. */
static void
random_wire(void)
{
	struct setting s = setting_of(RUN_MIX);
	g_autofree char *expected = play(&s, NULL, NULL);
	guint seeds = g_test_slow() ? 20000 : 400;
	uint64_t sum[VRO_COUNTS] = {0};

	for (s.seed = 1; s.seed <= seeds; s.seed++) {
		uint64_t counts[VRO_COUNTS];
		g_autofree char *state = NULL;

		s.wire = (struct sim_wire){.lose = 20 * (s.seed % 8),
					   .duplicate = 30 * (s.seed % 5),
					   .damage = 10 * (s.seed % 3),
					   .delay = 40 * (s.seed % 6),
					   .limit = s.seed % 7,
					   .far = UINT64_C(30000) << s.seed % 9};
		state = play(&s, NULL, counts);
		if (!g_str_equal(state, expected))
			g_error("seed %u:\n%s\ninstead of\n%s", s.seed, state, expected);
		for (int i = 0; i < VRO_COUNTS; i++)
			sum[i] += counts[i];
	}
	/* What the wire did has reached the engine. */
	g_assert_cmpuint(sum[VRO_REPEATED], >, seeds);
	g_assert_cmpuint(sum[VRO_DUPLICATES], >, seeds);
	g_assert_cmpuint(sum[VRO_GAPS], >, seeds);
	g_assert_cmpuint(sum[VRO_PROBES], >, 0);
}

/* Each packet comes twice, the second time late: atomics are executed once, and receives are taken once. */
static void
duplicates(void)
{
	static const enum run runs[] = {RUN_SEND, RUN_FETCH_ADD, RUN_CMP_SWAP, RUN_MIX};

	for (guint i = 0; i < G_N_ELEMENTS(runs); i++) {
		struct setting s = setting_of(runs[i]);
		g_autofree char *expected = play(&s, NULL, NULL);

		s.wire.duplicate = 1000;
		for (s.seed = 1; s.seed <= 40; s.seed++) {
			s.wire.far = UINT64_C(1000) << s.seed % 20;
			same_as(&s, expected);
		}
	}
}

/* [WIRE 16.3.3] Unreliable connections: what arrives is whole and in order, and what does not is gone, whichever two packets are lost. */
static void
unreliable(void)
{
	struct setting s = setting_of(RUN_SEND);
	guint packets;

	s.transport = ROCE_UC;

	g_free(play(&s, &packets, NULL));
	g_assert_cmpuint(packets, ==, 10); /* nothing is acknowledged */
	for (guint k = 0; k < packets; k++)
		for (gint l = -1; l < (gint)k; l++) {
			s.drop[0] = (gint)k;
			s.drop[1] = l;

			g_autofree char *state = play(&s, NULL, NULL);
			guint arrived = count_of(state, "RI_OP_RECV RI_WC_SUCCESS");

			/* Of 6 messages one is gone, or two. */
			g_assert_cmpuint(arrived, >=, l < 0 ? 5 : 4);
			g_assert_cmpuint(arrived, <=, 5);
			g_assert_null(strstr(state, "FLUSHED"));
			g_assert_cmpuint(count_of(state, "RI_OP_SEND RI_WC_SUCCESS"), ==, 6);
		}
}

static void
datagram_ready(struct sim_qp *q)
{
	q->qp.path.mtu = MTU;
	vro_qp_to_rtr(&q->qp, 0);
	vro_qp_to_rts(&q->qp, 0xfffffe);
	for (uint32_t n = 0; n < 6; n++)
		sim_receive(q, 1000 + n, TARGET + n * 512, 512);
}

static void
datagram_post(struct sim_qp *q, const struct sim_qp *to, uint32_t n)
{
	const struct ri_sge sge = sim_sge(q, SOURCE + n * 1024, 60 + n);
	const struct ri_wr wr = {.wr_id = n,
				 .opcode = RI_OP_SEND_UD,
				 .sgl = &sge,
				 .num_sge = 1,
				 .flags = RI_WR_SIGNALED,
				 .u.ud = {.ah = 1, .qpn = to->qp.qpn, .qkey = 0x11111111}};

	sim_post(q, &wr);
}

/* Datagrams: all arrive but the two that are lost, and neither side reports that. */
static void
datagrams(void)
{
	for (gint k = -1; k < 6; k++)
		for (gint l = -1; l < MAX(k, 0); l++) {
			struct sim *sim RI_AT_END(sim_free) = sim_new(1, false);
			struct sim_qp *pair[2];
			guint lost = (k >= 0) + (l >= 0);

			sim->drop[0] = k;
			sim->drop[1] = l;
			for (int i = 0; i < 2; i++) {
				pair[i] = sim_qp_new(sim, i, ROCE_UD);
				datagram_ready(pair[i]);
			}
			for (guint n = 0; n < 3; n++)
				for (int i = 0; i < 2; i++)
					datagram_post(pair[i], pair[!i], n);
			sim_run(sim, QUIET);

			g_autofree char *state = sim_state(sim);
			g_test_message("%s", state);

			g_assert_cmpuint(count_of(state, "RI_OP_RECV_UD RI_WC_SUCCESS"), ==,
					 6 - lost);
			g_assert_cmpuint(count_of(state, "RI_OP_SEND_UD RI_WC_SUCCESS"), ==, 6);
			g_assert_null(strstr(state, "FLUSHED"));
		}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint run = 0; run < RUN_COUNT; run++) {
		g_autofree char *a = g_strdup_printf("/roce/lossy/plain/%s", names[run]);
		g_autofree char *b = g_strdup_printf("/roce/lossy/one/%s", names[run]);
		g_autofree char *c = g_strdup_printf("/roce/lossy/two/%s", names[run]);

		g_test_add_data_func(a, GUINT_TO_POINTER(run), plain);
		g_test_add_data_func(b, GUINT_TO_POINTER(run), one_lost);
		g_test_add_data_func(c, GUINT_TO_POINTER(run), two_lost);
	}
	g_test_add_func("/roce/lossy/wrap", wrap);
	g_test_add_func("/roce/lossy/links", links);
	g_test_add_func("/roce/lossy/random", random_wire);
	g_test_add_func("/roce/lossy/duplicates", duplicates);
	g_test_add_func("/roce/lossy/unreliable", unreliable);
	g_test_add_func("/roce/lossy/datagrams", datagrams);
	return g_test_run();
}
