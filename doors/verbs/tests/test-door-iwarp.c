/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What is different on iWARP: states, completion events while the engine waits on sockets, and what is refused there. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "verbs_bench.h"

#define SLEEP_US 30000

/* A queue pair takes receives from its creation on, and nobody but rdma_cm connects it. */
static void
test_states(void)
{
	struct ibv_qp_attr attr;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	g_assert_cmpint(bench_state(qp), ==, IBV_QPS_INIT);
	bench_recv(qp, 1, NULL);
	attr = bench_attr(qp, qp);
	attr.qp_state = IBV_QPS_RTR;
	g_assert_cmpint(ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_RTR)), ==,
			EOPNOTSUPP);
	g_assert_cmpint(bench_state(qp), ==, IBV_QPS_INIT);
	OK(bench_move(qp, IBV_QPS_ERR));
	(void)bench_expect(bench.cq, 1, IBV_WC_WR_FLUSH_ERR);
}

struct waiter {
	struct bench *bench;
	atomic_int result; /* 99: it has not returned */
};

static void *
wait_for_event(void *arg)
{
	struct waiter *waiter = (struct waiter *)arg;
	struct ibv_cq *cq;
	void *context;

	atomic_store(&waiter->result, ibv_get_cq_event(waiter->bench->channel, &cq, &context));
	return NULL;
}

static void
handler(int number)
{
	(void)number;
}

/* A handler that was installed to let calls go on does not interrupt the call, wherever it sleeps. */
static void
test_restart(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct bench bench;
	struct waiter waiter = {.bench = &bench, .result = 99};
	pthread_t thread;
	struct ibv_qp *qp;

	bench_open(&bench);
	qp = bench_qp(&bench, IBV_QPT_RC);
	OK(sigaction(SIGUSR1, &action, NULL));
	OK(pthread_create(&thread, NULL, wait_for_event, &waiter));
	for (unsigned i = 0; i < 3; i++) {
		g_usleep(SLEEP_US);
		OK(pthread_kill(thread, SIGUSR1));
	}
	g_usleep(SLEEP_US);
	g_assert_cmpint(atomic_load(&waiter.result), ==, 99);
	OK(ibv_req_notify_cq(bench.cq, 0));
	bench_recv(qp, 1, NULL);
	OK(bench_move(qp, IBV_QPS_ERR));
	OK(pthread_join(thread, NULL));
	OK(atomic_load(&waiter.result));
	ibv_ack_cq_events(bench.cq, 1);
	OK(ibv_destroy_qp(qp));
	bench_close(&bench);
}

static void
test_refused(void)
{
	struct ibv_ah_attr way = {.port_num = 1, .is_global = 1};
	struct ibv_qp_init_attr init;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	init = bench_init(&bench, IBV_QPT_UD);
	NO_OBJECT(ibv_create_qp(bench.pd, &init), EOPNOTSUPP);
	init.qp_type = IBV_QPT_UC;
	NO_OBJECT(ibv_create_qp(bench.pd, &init), EOPNOTSUPP);
	OK(ibv_query_gid(bench.context, 1, 0, &way.grh.dgid));
	NO_OBJECT(ibv_create_ah(bench.pd, &way), EOPNOTSUPP);
}

/* --- the sentence for the user, which a process writes once -------------------------------------------------- */

#define SENTENCE "queue pairs by rdma_cm only, not by ibv_modify_qp()"

/* A connection by ibv_modify_qp is refused, `times` times. */
static void
be_refused(struct bench *bench, unsigned times)
{
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(bench, IBV_QPT_RC);
	struct ibv_qp_attr attr = bench_attr(qp, qp);

	attr.qp_state = IBV_QPS_RTR;
	for (unsigned i = 0; i < times; i++)
		g_assert_cmpint(ibv_modify_qp(qp, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_RTR)), ==,
				EOPNOTSUPP);
}

static void
test_sentence(void)
{
	struct bench bench;

	if (bench_is_here()) {
		bench_open(&bench);
		be_refused(&bench, 3);
		bench_close(&bench);
		return;
	}
	g_test_trap_assert_passed();
	g_test_trap_assert_stderr("*itapi: it_iwarp_lo connects " SENTENCE ";*");
	g_test_trap_assert_stderr_unmatched("*" SENTENCE "*" SENTENCE "*");
}

/* Nobody reads stderr: the call returns, and the sentence is there when somebody does. */
static void
test_unread(void)
{
	g_autoptr(GString) said = g_string_new(NULL);
	char octets[4096] = "";
	int ends[2];
	ssize_t n;

	if (!bench_is_here()) {
		g_test_trap_assert_passed();
		return;
	}
	OK(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
	while (write(ends[1], octets, sizeof(octets)) > 0)
		continue;
	OK(fcntl(ends[1], F_SETFL, 0));
	g_assert_cmpint(dup2(ends[1], STDERR_FILENO), ==, STDERR_FILENO);
	alarm(10); /* ends a process that waits for a reader */
	struct bench bench RI_AT_END(bench_close);
	bench_open(&bench);
	be_refused(&bench, 1);
	OK(fcntl(ends[0], F_SETFL, 0));
	while (strstr(said->str, SENTENCE) == NULL) {
		n = read(ends[0], octets, sizeof(octets));
		g_assert_cmpint((int)n, >, 0);
		for (ssize_t i = 0; i < n; i++)
			g_string_append_c(said, octets[i] != '\0' ? octets[i] : '.');
	}
}

/* The program has closed descriptor 2, and another file of its own has the number: nothing is written into it. */
static void
test_other_file(void)
{
	char octet;
	int fd;

	if (!bench_is_here()) {
		g_test_trap_assert_passed();
		return;
	}
	struct bench bench RI_AT_END(bench_close);
	bench_open(&bench);
	OK(close(STDERR_FILENO));
	fd = fileno(tmpfile());
	g_assert_cmpint(fd, ==, STDERR_FILENO);
	be_refused(&bench, 1);
	g_assert_cmpint((int)pread(fd, &octet, 1, 0), ==, 0);
}

int
main(int argc, char **argv)
{
	bench_adapter("iwarp:lo");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/iwarp/states", test_states);
	g_test_add_func("/door/iwarp/restart", test_restart);
	g_test_add_func("/door/iwarp/refused", test_refused);
	g_test_add_func("/door/iwarp/sentence", test_sentence);
	g_test_add_func("/door/iwarp/unread", test_unread);
	g_test_add_func("/door/iwarp/other-file", test_other_file);
	return g_test_run();
}
