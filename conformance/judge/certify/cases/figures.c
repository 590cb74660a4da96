/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* How fast: one thread drives both ends, so a figure is that of the provider and not of the scheduler. */

#include <stdlib.h>

#include "cert_node.h"

#define ROUNDS      200
#define WARM_UP     20
#define DEPTH       8
#define LARGEST     65536
#define PATIENCE_US (100 * G_USEC_PER_SEC)

static const size_t sizes[] = {1, 8, 64, 512, 4096, 16384, LARGEST};

/* Two ends with memory. */
struct track {
	struct cert *cert;
	struct cert_end *a, *b;
	struct cert_region *near, *far;
};

static struct track
track_open(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct track track = {
		.cert = cert, .a = cert_end_new(near, NULL), .b = cert_end_new(far, NULL)};

	track.near = cert_region_new(near, LARGEST, CERT_ALL);
	track.far = cert_region_new(far, LARGEST, CERT_ALL);
	cert_connect(track.a, track.b);
	return track;
}

/* Polls both sides until @p cq has so many completions. */
static void
await(const struct track *track, struct ri_ucq *cq, unsigned count)
{
	const struct ri_fast_ops *fast = track->a->node->p->fast;
	gint64 until = g_get_monotonic_time() + PATIENCE_US;
	struct ri_wc wc;

	while (count > 0) {
		uint32_t got = fast->poll_cq(cq, &wc, 1);

		if (got == 1 && wc.status != RI_WC_SUCCESS)
			cert_failed(track->cert, CERT_WHERE, "the status of a completion",
				    "RI_WC_SUCCESS",
				    ri_wc_status_name((enum ri_wc_status)wc.status));
		if (got == 0 && g_get_monotonic_time() > until)
			cert_failed(track->cert, CERT_WHERE, "a completion", "it comes",
				    "it did not come");
		if (got == 0) {
			(void)fast->progress(track->a->node->urnic, 64);
			(void)fast->progress(track->b->node->urnic, 64);
		}
		count -= got;
	}
}

static void
half_trip(const struct track *track, struct cert_end *from, struct cert_end *to, size_t size)
{
	struct ri_sge source = cert_sge(from == track->a ? track->near : track->far, 0, size);
	struct ri_sge sink = cert_sge(to == track->a ? track->near : track->far, 0, size);

	cert_post_recv(to, 1, &sink, 1);
	cert_post_send(from, 2, &source, 1, 0);
	await(track, to->urcq, 1);
	await(track, from->uscq, 1);
}

static int
ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of half the time of a round trip of Sends. */
static void
latency(struct cert *cert)
{
	struct track track = track_open(cert);
	double took[ROUNDS] = {0};

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		for (unsigned k = 0; k < WARM_UP + ROUNDS; k++) {
			gint64 began = g_get_monotonic_time();

			half_trip(&track, track.a, track.b, sizes[i]);
			half_trip(&track, track.b, track.a, sizes[i]);
			if (k >= WARM_UP)
				took[k - WARM_UP] = (double)(g_get_monotonic_time() - began) / 2;
		}
		qsort(took, ROUNDS, sizeof(took[0]), ascending);
		cert_figure(cert, "latency of a Send, median", "us", (double)sizes[i],
			    MAX(took[ROUNDS / 2], 0.5));
	}
}

/* Writes, so many at a time, the last of which is signalled; gives those of a second. */
static double
write_rate(const struct track *track, size_t size)
{
	struct ri_sge source = cert_sge(track->near, 0, size);
	struct ri_wr wr = {
		.wr_id = 1,
		.sgl = &source,
		.num_sge = 1,
		.opcode = RI_OP_RDMA_WRITE,
		.u.remote = {.addr = (uintptr_t)track->far->at, .stag = track->far->stag}};
	unsigned depth = MIN(DEPTH, track->a->init.max_sq_wr);
	gint64 began = g_get_monotonic_time(), took;

	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned k = 1; k <= depth; k++) {
			wr.flags = k == depth ? RI_WR_SIGNALED : 0;
			cert_post(track->a, &wr);
		}
		await(track, track->a->uscq, 1);
	}
	took = MAX(g_get_monotonic_time() - began, 1);
	return (double)ROUNDS * depth * G_USEC_PER_SEC / (double)took;
}

static void
writes(struct cert *cert)
{
	struct track track = track_open(cert);

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		double rate = write_rate(&track, sizes[i]);

		cert_figure(cert, "rate of RDMA Writes", "1/s", (double)sizes[i], rate);
		cert_figure(cert, "bandwidth of RDMA Writes", "MB/s", (double)sizes[i],
			    rate * (double)sizes[i] / 1e6);
	}
}

static const struct cert_case cases[] = {
	{.id = "figures.latency.0001",
	 .title = "The latency of Sends by their size is measured",
	 .rule = "[RI 2.3.2]",
	 .run = latency,
	 .flags = CERT_FIGURE},
	{.id = "figures.write.0001",
	 .title = "The rate and the bandwidth of RDMA Writes by their size are measured",
	 .rule = "[RI 2.3.2]",
	 .run = writes,
	 .flags = CERT_FIGURE},
};

CERT_SET(figures, cases);
