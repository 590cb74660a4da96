/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-register   `size` octets are registered and deregistered, `iters` times; ns for both
 * it-many   memory of an idle, connected endpoint, in octets: `iters` endpoints in one process, two and
 *           two connected; what the process has more of its own, by their number
 *
 * Queues of 16 requests and 16 receives; both sides' user-space memory is counted, shared dispatchers and
 * the kernel's socket buffers are not.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench_node.h"

#define IDLE_DTOS 16

/* Memory of this process alone, in octets. */
static double
resident_bytes(void)
{
	unsigned long all, pages, shared;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file == NULL || fscanf(file, "%lu %lu %lu", &all, &pages, &shared) != 3)
		bench_die("/proc/self/statm cannot be read");
	fclose(file);
	return (double)(pages - shared) * (double)sysconf(_SC_PAGESIZE);
}

static void
allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static double
measure_many(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_node a, b;
	double before;

	(void)ctl;
	(void)active;
	allow_descriptors();
	bench_node_open(&a, opts->adapter, 4096);
	bench_node_open(&b, opts->adapter, 4096);
	bench_node_listen(&b);
	before = resident_bytes();
	for (uint64_t i = 0; i < opts->iters; i += 2) {
		bench_node_new_ep(&a, IDLE_DTOS);
		bench_node_new_ep(&b, IDLE_DTOS);
		bench_node_connect(&a, b.port);
		bench_node_accept(&b);
		bench_node_established(&a);
		bench_node_established(&b);
	}
	before = (resident_bytes() - before) / (double)opts->iters;
	bench_node_close(&a);
	bench_node_close(&b);
	return before;
}

static double
measure_register(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_node node;
	uint64_t start;

	(void)ctl;
	(void)active;
	bench_node_open(&node, opts->adapter, opts->size);
	start = bench_now();
	for (uint64_t i = 0; i < opts->iters; i++) {
		it_lmr_handle_t lmr;
		it_rmr_context_t context;

		bench_check(it_lmr_create(node.pz, node.buf, NULL, opts->size,
					  IT_ADDR_MODE_ABSOLUTE, IT_PRIV_LOCAL | IT_PRIV_REMOTE,
					  IT_LMR_FLAG_NONE, 0, &lmr, &context),
			    "it_lmr_create");
		bench_check(it_lmr_free(lmr), "it_lmr_free");
	}
	double value = (double)(bench_now() - start) / (double)opts->iters;
	bench_node_close(&node);
	return value;
}

const struct bench_case bench_many_cases[] = {
	{"it-register", "ns", false, measure_register},
	{"it-many", "B", false, measure_many},
	{NULL, NULL, false, NULL},
};
