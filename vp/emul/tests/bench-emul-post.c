/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The time of a Write from its post until its completion is polled, through RNIC-PI alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vem_node.h"

static gint64
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (gint64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int
by_value(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

/* Nanoseconds of one Write of `len` bytes; the median of 15 runs. */
static double
write_ns(struct end *a, const struct chunk *from, const struct chunk *to, uint32_t len, guint n)
{
	const struct ri_fast_ops *fast = a->node->p->fast;
	struct ri_sge sge = chunk_sge(from, 0, len);
	struct ri_wr wr = {.sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_RDMA_WRITE,
			   .flags = RI_WR_SIGNALED,
			   .u.remote = {.addr = chunk_sge(to, 0, 0).addr, .stag = to->stag}};
	double runs[15];
	struct ri_wc wc;

	for (guint r = 0; r < G_N_ELEMENTS(runs); r++) {
		gint64 start = now_ns();
		for (guint i = 0; i < n; i++) {
			if (fast->post_sq(a->uqp, &wr) != RI_SUCCESS)
				abort();
			while (fast->poll_cq(a->uscq, &wc, 1) == 0)
				continue;
		}
		runs[r] = (double)(now_ns() - start) / n;
	}
	qsort(runs, G_N_ELEMENTS(runs), sizeof(runs[0]), by_value);
	return runs[G_N_ELEMENTS(runs) / 2];
}

static double
memcpy_ns(const struct chunk *from, const struct chunk *to, uint32_t len, guint n)
{
	double runs[15];

	for (guint r = 0; r < G_N_ELEMENTS(runs); r++) {
		gint64 start = now_ns();
		for (guint i = 0; i < n; i++) {
			memcpy(to->at, from->at, len);
			__asm__ volatile("" ::: "memory");
		}
		runs[r] = (double)(now_ns() - start) / n;
	}
	qsort(runs, G_N_ELEMENTS(runs), sizeof(runs[0]), by_value);
	return runs[G_N_ELEMENTS(runs) / 2];
}

int
main(void)
{
	static const char *const adapters[] = {"emul:ib", "emul:iwarp"};
	static const uint32_t sizes[] = {8, 64, 1024, 4096, 65536, 1 << 20};

	for (guint i = 0; i < G_N_ELEMENTS(adapters); i++) {
		struct vth *vth = vth_new(false);
		struct node *node = node_new(vth, false, adapters[i]);
		struct end *a = end_new(node, NULL);
		struct end *b = end_new(node, NULL);
		struct chunk from = chunk_new(node, 1 << 20, ALL_RW);
		struct chunk to = chunk_new(node, 1 << 20, ALL_RW);
		ends_connect(a, b);
		for (guint s = 0; s < G_N_ELEMENTS(sizes); s++) {
			guint n = sizes[s] > 65536 ? 200 : 20000;
			double ours = write_ns(a, &from, &to, sizes[s], n);
			double copy = memcpy_ns(&from, &to, sizes[s], n);
			printf("%s Write %7u octets: %9.1f ns, memcpy %9.1f ns, %.2f of memcpy's "
			       "speed\n",
			       adapters[i], sizes[s], ours, copy, copy / ours);
		}
		end_free(&a);
		vth_run(vth);
		node_forget(node);
		end_free(&b);
		chunk_free(&from);
		chunk_free(&to);
		node_free(&node);
		vth_free(&vth);
	}
	return 0;
}
