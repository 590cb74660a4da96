/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The table of states, cell by cell and bit by bit, and queue pairs that make every move of it or are refused. */
#include "door_states.h"
#include "verbs_bench.h"

static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};

/* --- the table ------------------------------------------------------------------------------------------- */

/*
 * The moves of IBTA volume 1, 11.2.5.2. Each bit has three letters, for RC, UC and UD: 'R'
 * required, 'o' optional, '-' not accepted. A move that no line names is allowed only to RESET or,
 * from all states but RESET, to ERR; it takes no attribute but the state.
 */
struct line {
	enum ibv_qp_state from, to;
	const char *bits; /* the name of each bit and its three marks */
};

static const struct {
	const char *name;
	int bit;
} bits[] = {
	{"cur", IBV_QP_CUR_STATE},
	{"sqd", IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{"acc", IBV_QP_ACCESS_FLAGS},
	{"pkx", IBV_QP_PKEY_INDEX},
	{"prt", IBV_QP_PORT},
	{"qky", IBV_QP_QKEY},
	{"av_", IBV_QP_AV},
	{"mtu", IBV_QP_PATH_MTU},
	{"tmo", IBV_QP_TIMEOUT},
	{"try", IBV_QP_RETRY_CNT},
	{"rnr", IBV_QP_RNR_RETRY},
	{"rpn", IBV_QP_RQ_PSN},
	{"ord", IBV_QP_MAX_QP_RD_ATOMIC},
	{"alt", IBV_QP_ALT_PATH},
	{"mrt", IBV_QP_MIN_RNR_TIMER},
	{"spn", IBV_QP_SQ_PSN},
	{"ird", IBV_QP_MAX_DEST_RD_ATOMIC},
	{"mig", IBV_QP_PATH_MIG_STATE},
	{"cap", IBV_QP_CAP},
	{"dst", IBV_QP_DEST_QPN},
	{"rat", IBV_QP_RATE_LIMIT},
};

/* clang-format off */
static const struct line lines[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, "pkxRRR prtRRR accRR- qky--R"},
	{IBV_QPS_INIT, IBV_QPS_INIT, "pkxooo prtooo accoo- qky--o"},
	{IBV_QPS_INIT, IBV_QPS_RTR, "av_RR- mtuRR- dstRR- rpnRR- irdR-- mrtR-- altoo- accoo- pkxooo qky--o"},
	{IBV_QPS_RTR, IBV_QPS_RTS, "spnRRR tmoR-- tryR-- rnrR-- ordR-- curooo accoo- altoo- migoo- mrto-- qky--o"},
	{IBV_QPS_RTS, IBV_QPS_RTS, "curooo accoo- altoo- migoo- mrto-- qky--o"},
	{IBV_QPS_RTS, IBV_QPS_SQD, "sqdooo"},
	{IBV_QPS_SQD, IBV_QPS_RTS, "curooo accoo- altoo- migoo- mrto-- qky--o"},
	{IBV_QPS_SQD, IBV_QPS_SQD, "prto-- av_oo- tmoo-- tryo-- rnro-- ordo-- irdo-- mrto-- altoo- accoo- pkxooo migoo- qky--o"},
	{IBV_QPS_SQE, IBV_QPS_RTS, "cur-oo acc-o- qky--o"},
};
/* clang-format on */

/* The mark of a bit in a move; '-' too if nothing names it. */
static char
mark_of(const struct line *line, const char *bit, unsigned type)
{
	const char *at = line != NULL ? strstr(line->bits, bit) : NULL;

	return at != NULL ? at[3 + type] : '-';
}

static const struct line *
line_of(enum ibv_qp_state from, enum ibv_qp_state to)
{
	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++)
		if (lines[i].from == from && lines[i].to == to)
			return &lines[i];
	return NULL;
}

static bool
is_move(enum ibv_qp_state from, enum ibv_qp_state to)
{
	return line_of(from, to) != NULL || to == IBV_QPS_RESET ||
	       (to == IBV_QPS_ERR && from != IBV_QPS_RESET);
}

static int
required_of(const struct line *line, unsigned type)
{
	int mask = IBV_QP_STATE;

	for (size_t i = 0; i < G_N_ELEMENTS(bits); i++)
		if (mark_of(line, bits[i].name, type) == 'R')
			mask |= bits[i].bit;
	return mask;
}

static void
check_cell(enum ibv_qp_state from, enum ibv_qp_state to, unsigned type)
{
	const struct line *line = line_of(from, to);
	int required = required_of(line, type);

	g_assert_cmpint(door_states_allow(types[type], from, to, required), ==, is_move(from, to));
	/* A modify that leaves the state need not name it. */
	g_assert_cmpint(door_states_allow(types[type], from, to, required & ~IBV_QP_STATE), ==,
			is_move(from, to));
	for (size_t i = 0; i < G_N_ELEMENTS(bits); i++) {
		char mark = mark_of(line, bits[i].name, type);

		g_assert_cmpint(door_states_allow(types[type], from, to, required ^ bits[i].bit),
				==, is_move(from, to) && mark == 'o');
	}
	/* A bit that nobody knows. */
	g_assert_false(door_states_allow(types[type], from, to, required | 1 << 26));
}

static void
test_table(void)
{
	for (unsigned type = 0; type < G_N_ELEMENTS(types); type++)
		for (int from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++)
			for (int to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++)
				check_cell((enum ibv_qp_state)from, (enum ibv_qp_state)to, type);
	g_assert_false(door_states_allow(IBV_QPT_RC, IBV_QPS_UNKNOWN, IBV_QPS_RESET, 1));
	g_assert_false(door_states_allow(IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_UNKNOWN, 1));
}

/* --- queue pairs -------------------------------------------------------------------------------------------- */

static struct ibv_qp *
qp_in(struct bench *bench, enum ibv_qp_type type, enum ibv_qp_state state, struct ibv_qp *peer)
{
	struct ibv_qp *qp = bench_qp(bench, type);

	if (state == IBV_QPS_ERR) {
		bench_raise(qp, peer, IBV_QPS_INIT);
		OK(bench_move(qp, IBV_QPS_ERR));
	} else if (state != IBV_QPS_RESET) {
		bench_raise(qp, peer, state);
	}
	g_assert_cmpint(bench_state(qp), ==, state);
	return qp;
}

/* Sends cannot be held back by the providers of these tests. */
static int
expected(enum ibv_qp_state from, enum ibv_qp_state to)
{
	if (!is_move(from, to))
		return EINVAL;
	return to == IBV_QPS_SQD ? EOPNOTSUPP : 0;
}

static void
test_moves(void)
{
	static const enum ibv_qp_state reached[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						    IBV_QPS_RTS, IBV_QPS_ERR};
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	for (unsigned type = 0; type < G_N_ELEMENTS(types); type++)
		for (size_t i = 0; i < G_N_ELEMENTS(reached); i++)
			for (int to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++) {
				enum ibv_qp_state next = (enum ibv_qp_state)to;
				struct ibv_qp *peer RI_AT_END(bench_qp_end) =
					bench_qp(&bench, types[type]);
				struct ibv_qp *qp RI_AT_END(bench_qp_end) =
					qp_in(&bench, types[type], reached[i], peer);
				struct ibv_qp_attr attr = bench_attr(qp, peer);
				int error = expected(reached[i], next);

				attr.qp_state = next;
				g_assert_cmpint(
					ibv_modify_qp(qp, &attr,
						      required_of(line_of(reached[i], next), type)),
					==, error);
				g_assert_cmpint(bench_state(qp), ==,
						error == 0 ? next : reached[i]);
				g_assert_cmpint(qp->state, ==, error == 0 ? next : reached[i]);
			}
}

/* Values out of their ranges leave everything as it was. */
static void
test_values(void)
{
	struct bench bench RI_AT_END(bench_close);
	struct ibv_qp_attr good, attr;

	bench_open(&bench);
	struct ibv_qp *peer RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	good = bench_attr(qp, peer);
#define REFUSES(to, error, change)                                                          \
	do {                                                                                \
		attr = good;                                                                \
		attr.qp_state = (to);                                                       \
		change;                                                                     \
		g_assert_cmpint(ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, (to))), ==, \
				(error));                                                   \
		g_assert_cmpint(bench_state(qp), ==, (to)-1);                               \
	} while (0)
	REFUSES(IBV_QPS_INIT, EINVAL, attr.port_num = 0);
	REFUSES(IBV_QPS_INIT, EINVAL, attr.port_num = 2);
	REFUSES(IBV_QPS_INIT, EINVAL, attr.pkey_index = 1);
	REFUSES(IBV_QPS_INIT, EINVAL, attr.qp_access_flags |= IBV_ACCESS_ON_DEMAND);
	bench_raise(qp, peer, IBV_QPS_INIT);
	REFUSES(IBV_QPS_RTR, EINVAL, attr.path_mtu = (enum ibv_mtu)0);
	REFUSES(IBV_QPS_RTR, EINVAL, attr.path_mtu = (enum ibv_mtu)6);
	REFUSES(IBV_QPS_RTR, EINVAL, attr.max_dest_rd_atomic = 129);
	REFUSES(IBV_QPS_RTR, EINVAL, attr.min_rnr_timer = 32);
	REFUSES(IBV_QPS_RTR, EINVAL, attr.ah_attr.port_num = 3);
	REFUSES(IBV_QPS_RTR, EINVAL, attr.ah_attr.grh.sgid_index = 9);
	REFUSES(IBV_QPS_RTR, ENETUNREACH, attr.ah_attr.grh.dgid.raw[15] ^= 0x80);
	REFUSES(IBV_QPS_RTR, EINVAL, attr.ah_attr.is_global = 0);
	attr = good;
	attr.qp_state = IBV_QPS_RTR;
	attr.ah_attr.is_global = 0;
	attr.ah_attr.dlid = 1; /* that of the port */
	OK(ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_RTR)));
	REFUSES(IBV_QPS_RTS, EINVAL, attr.timeout = 32);
	REFUSES(IBV_QPS_RTS, EINVAL, attr.retry_cnt = 8);
	REFUSES(IBV_QPS_RTS, EINVAL, attr.rnr_retry = 8);
	REFUSES(IBV_QPS_RTS, EINVAL, attr.max_rd_atomic = 129);
#undef REFUSES
	attr = good;
	attr.qp_state = IBV_QPS_RTS;
	attr.cur_qp_state = IBV_QPS_INIT; /* it is not */
	g_assert_cmpint(
		ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_RTS) | IBV_QP_CUR_STATE),
		==, EINVAL);
	attr.cur_qp_state = IBV_QPS_RTR;
	OK(ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_RTS) | IBV_QP_CUR_STATE));
	g_assert_cmpint(ibv_modify_qp(qp, &attr, IBV_QP_ALT_PATH), ==, EOPNOTSUPP);
	attr.path_mig_state = IBV_MIG_REARM;
	g_assert_cmpint(ibv_modify_qp(qp, &attr, IBV_QP_PATH_MIG_STATE), ==, EOPNOTSUPP);
	attr.path_mig_state = IBV_MIG_MIGRATED;
	OK(ibv_modify_qp(qp, &attr, IBV_QP_PATH_MIG_STATE));
}

/* A query returns what was set. */
static void
test_query(void)
{
	struct ibv_qp_init_attr init, told;
	struct ibv_qp_attr set, attr;
	struct bench bench RI_AT_END(bench_close);
	int context;

	bench_open(&bench);
	init = bench_init(&bench, IBV_QPT_RC);
	init.qp_context = &context;
	init.sq_sig_all = 1;
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = ibv_create_qp(bench.pd, &init);
	g_assert_nonnull(qp);
	struct ibv_qp *peer RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	bench_connect(qp, peer);
	set = bench_attr(qp, peer);
	OK(ibv_query_qp(qp, &attr, 0, &told));
	g_assert_cmpint(attr.qp_state, ==, IBV_QPS_RTS);
	g_assert_cmpint(attr.cur_qp_state, ==, IBV_QPS_RTS);
	g_assert_cmpint(attr.path_mtu, ==, IBV_MTU_1024);
	g_assert_cmpuint(attr.dest_qp_num, ==, peer->qp_num);
	g_assert_cmpuint(attr.rq_psn, ==, set.rq_psn & 0xffffff);
	g_assert_cmpuint(attr.sq_psn, ==, set.sq_psn & 0xffffff);
	g_assert_cmpuint(attr.qp_access_flags, ==, set.qp_access_flags);
	g_assert_cmpuint(attr.max_rd_atomic, ==, 4);
	g_assert_cmpuint(attr.max_dest_rd_atomic, ==, 4);
	g_assert_cmpuint(attr.min_rnr_timer, ==, 12);
	g_assert_cmpuint(attr.timeout, ==, 14);
	g_assert_cmpuint(attr.retry_cnt, ==, 7);
	g_assert_cmpuint(attr.rnr_retry, ==, 7);
	g_assert_cmpuint(attr.port_num, ==, 1);
	g_assert_cmpmem(&attr.ah_attr.grh.dgid, 16, &set.ah_attr.grh.dgid, 16);
	g_assert_cmpuint(attr.cap.max_send_wr, >=, BENCH_DEPTH);
	g_assert_true(told.qp_context == &context && told.send_cq == bench.cq &&
		      told.recv_cq == bench.cq && told.srq == NULL);
	g_assert_cmpint(told.qp_type, ==, IBV_QPT_RC);
	g_assert_cmpint(told.sq_sig_all, ==, 1);
	g_assert_cmpmem(&told.cap, sizeof(told.cap), &init.cap, sizeof(init.cap));
	attr.min_rnr_timer = 3;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	OK(ibv_modify_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS));
	OK(ibv_query_qp(qp, &attr, 0, &told));
	g_assert_cmpuint(attr.min_rnr_timer, ==, 3);
	g_assert_cmpuint(attr.qp_access_flags, ==, IBV_ACCESS_REMOTE_READ);
}

/* What was posted in a life before, and what was completed and not polled, is not seen after a reset. */
static void
test_reset(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct bench bench RI_AT_END(bench_close);
	uint64_t sum;

	bench_open(&bench);
	struct ibv_qp *a RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	struct ibv_qp *other RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	sge = bench_sge(&bench, 0, 64);
	bench_raise(other, a, IBV_QPS_INIT);
	for (unsigned life = 0; life < 20; life++) {
		bench_connect(a, b);
		for (uint64_t i = 0; i < BENCH_DEPTH; i++) {
			bench_recv(a, 1000, &sge);
			bench_recv(b, 2000, &sge);
		}
		wr = bench_wr(life, IBV_WR_SEND, &sge);
		bench_send(a, &wr);
		sum = bench_poll(bench.cq).wr_id;
		sum += bench_poll(bench.cq).wr_id;
		g_assert_cmpuint(sum, ==, life + 2000);
		/* These stay in the queue, and that of a third queue pair stays. */
		bench_send(a, &wr);
		if (life % 2 == 0) {
			bench_recv(other, 3000 + life, &sge);
			OK(bench_move(other, IBV_QPS_ERR));
			UNTIL(bench_state(other) == IBV_QPS_ERR);
			g_usleep(2000);
		}
		OK(bench_move(a, IBV_QPS_RESET));
		OK(bench_move(b, IBV_QPS_RESET));
		g_assert_cmpint(bench_state(a), ==, IBV_QPS_RESET);
		if (life % 2 == 0) {
			(void)bench_expect(bench.cq, 3000 + life, IBV_WC_WR_FLUSH_ERR);
			OK(bench_move(other, IBV_QPS_RESET));
			bench_raise(other, a, IBV_QPS_INIT);
		}
	}
	bench_expect_none(bench.cq);
}

/* What librdmacm brings: the state and the rights, and nothing to RTS. */
static void
test_moves_of_librdmacm(void)
{
	const int by_cm = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
	struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	attr.qp_state = IBV_QPS_INIT;
	OK(ibv_modify_qp(qp, &attr, by_cm));
	g_assert_cmpint(bench_state(qp), ==, IBV_QPS_INIT);
	OK(ibv_modify_qp(qp, &attr, by_cm));
	attr.qp_state = IBV_QPS_RTR;
	OK(ibv_modify_qp(qp, &attr, by_cm));
	g_assert_cmpint(bench_state(qp), ==, IBV_QPS_RTR);
	attr.qp_state = IBV_QPS_RTS;
	OK(ibv_modify_qp(qp, &attr, 0));
	g_assert_cmpint(bench_state(qp), ==, IBV_QPS_RTS);
	OK(bench_move(qp, IBV_QPS_ERR));
	OK(bench_move(qp, IBV_QPS_RESET));
	/* In its next life it may be brought up in the other way. */
	attr = bench_attr(qp, qp);
	attr.qp_state = IBV_QPS_INIT;
	OK(ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_INIT)));
	attr.qp_state = IBV_QPS_RTR;
	g_assert_cmpint(ibv_modify_qp(qp, &attr, by_cm), ==, EINVAL);
}

/* A move of that kind that is refused leaves nothing behind: the program may bring the queue pair up by itself. */
static void
test_refused_of_librdmacm(void)
{
	const int by_cm = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *a RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .qp_access_flags = IBV_ACCESS_ON_DEMAND};
	g_assert_cmpint(ibv_modify_qp(a, &attr, by_cm), ==, EINVAL);
	g_assert_cmpint(bench_state(a), ==, IBV_QPS_RESET);
	g_free(bench_account());
	bench_connect(a, b);
	sge = bench_sge(&bench, 0, 64);
	bench_recv(b, 1, &sge);
	wr = bench_wr(2, IBV_WR_SEND, &sge);
	bench_send(a, &wr);
	g_assert_cmpuint(bench_poll(bench.cq).wr_id + bench_poll(bench.cq).wr_id, ==, 3);
}

/* A GID that the process does not have: the status cannot say so, and a line does. */
static void
test_sentence(void)
{
	const char *sentence = "*itapi: it_emul_ib has no GID 9 in this process:*";

	if (bench_is_here()) {
		struct bench bench RI_AT_END(bench_close);

		bench_open(&bench);
		struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
		struct ibv_qp_attr attr = bench_attr(qp, qp);

		bench_raise(qp, qp, IBV_QPS_INIT);
		attr.qp_state = IBV_QPS_RTR;
		attr.ah_attr.grh.sgid_index = 9;
		for (unsigned i = 0; i < 2; i++)
			g_assert_cmpint(
				ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_RTR)), ==,
				EINVAL);
		return;
	}
	g_test_trap_assert_passed();
	g_test_trap_assert_stderr(sentence);
	g_test_trap_assert_stderr_unmatched("*has no GID*has no GID*");
}

int
main(int argc, char **argv)
{
	bench_adapter("emul:ib");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/states/table", test_table);
	g_test_add_func("/door/states/moves", test_moves);
	g_test_add_func("/door/states/values", test_values);
	g_test_add_func("/door/states/sentence", test_sentence);
	g_test_add_func("/door/states/query", test_query);
	g_test_add_func("/door/states/reset", test_reset);
	g_test_add_func("/door/states/librdmacm", test_moves_of_librdmacm);
	g_test_add_func("/door/states/librdmacm-refused", test_refused_of_librdmacm);
	return g_test_run();
}
