/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The fixture of tests of verbs: a context of an adapter, memory in a region, a completion queue with a channel, and
 * queue pairs that the test connects by ibv_modify_qp.
 */
#ifndef VERBS_BENCH_H
#define VERBS_BENCH_H

#include <errno.h>
#include <string.h>

#include <glib.h>
#include <infiniband/verbs.h>
#include <stdbool.h>

#include "ri_at_end.h"

#define BENCH_MEMORY  65536
#define BENCH_ENTRIES 256
#define BENCH_DEPTH   16 /* requests of a queue */
#define BENCH_SGE     4
#define BENCH_INLINE  64
#define BENCH_QKEY    0x11223344
#define BENCH_ALL                                                                    \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

struct bench {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	uint8_t *memory;
	struct ibv_mr *mr;
};

/* The name of the adapter that tests use; set by bench_adapter. */
void bench_adapter(const char *name);
void bench_open(struct bench *bench);
/* Other threads create and destroy objects, so nothing can be counted. */
void bench_many_threads(void);
/* What the program has of the adapter of the bench that was opened last; NULL: none is open. The sums are right (door_sums.h). */
char *bench_account(void);
/* Everything that the test made is destroyed already. */
void bench_close(struct bench *bench);

/* What a queue pair is created with; a test changes it. */
struct ibv_qp_init_attr bench_init(const struct bench *bench, enum ibv_qp_type type);
struct ibv_qp *bench_qp(struct bench *bench, enum ibv_qp_type type);
/* Destroys it, for RI_AT_END. */
void bench_qp_end(struct ibv_qp **qp);
/* Attributes with which `qp` makes its moves towards `peer`, and the mask of a move. */
struct ibv_qp_attr bench_attr(struct ibv_qp *qp, const struct ibv_qp *peer);
int bench_mask(enum ibv_qp_type type, enum ibv_qp_state to);
/* Move it from RESET to that state; NULL: datagrams have no peer. */
void bench_raise(struct ibv_qp *qp, const struct ibv_qp *peer, enum ibv_qp_state to);
/* Both to RTS. */
void bench_connect(struct ibv_qp *a, struct ibv_qp *b);
int bench_move(struct ibv_qp *qp, enum ibv_qp_state to);
enum ibv_qp_state bench_state(struct ibv_qp *qp);

/* Octets of the memory that differ from place to place, and from seed to seed. */
void bench_fill(struct bench *bench, size_t at, size_t length, uint8_t seed);
struct ibv_sge bench_sge(const struct bench *bench, size_t at, uint32_t length);
void bench_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge *sge);
/* A request with these segments, signalled. */
struct ibv_send_wr bench_wr(uint64_t wr_id, enum ibv_wr_opcode opcode, struct ibv_sge *sge);
void bench_send(struct ibv_qp *qp, struct ibv_send_wr *wr);

/* The next completion, which comes soon. */
struct ibv_wc bench_poll(struct ibv_cq *cq);
/* ... of a request or receive, with that status. */
struct ibv_wc bench_expect(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status);
/* An event of a completion queue is there already. */
bool bench_event_waits(struct ibv_comp_channel *channel);
/* None comes for a while. */
void bench_expect_none(struct ibv_cq *cq);
/* A case about a line that a process writes once runs in a process of its own: true there. False: that process has ended. */
bool bench_is_here(void);

#define UNTIL(condition)                                             \
	do {                                                         \
		for (unsigned ms_ = 0; !(condition); g_usleep(1000)) \
			g_assert_cmpuint(ms_++, <, 20000);           \
	} while (0)

/* A call that returns 0. */
#define OK(call) g_assert_cmpint((call), ==, 0)
/* A call that returns NULL, with errno set to `error`, and costs nothing. */
#define NO_OBJECT(call, error)                              \
	do {                                                \
		g_autofree char *before_ = bench_account(); \
		errno = 0;                                  \
		g_assert_null(call);                        \
		g_assert_cmpint(errno, ==, (error));        \
		g_autofree char *after_ = bench_account();  \
		g_assert_cmpstr(before_, ==, after_);       \
	} while (0)

#endif /* VERBS_BENCH_H */
