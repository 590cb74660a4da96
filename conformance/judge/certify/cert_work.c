/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Posts, completions, and the waiting for them. */

#include <string.h>

#include "cert_frame.h"

#define PAUSE_US   50    /* between two looks */
#define ROUNDS     200   /* looks without a pause, before the first one */
#define UNTOUCHED  0xa5  /* what no poll has written */
#define SETTLED_US 20000 /* after which nothing is expected to come any more */

/* Every engine, once. */
static void
engines_run(struct cert *cert)
{
	for (guint i = 0; i < cert->nodes->len; i++) {
		struct cert_node *node = g_ptr_array_index(cert->nodes, i);

		if (node->urnic != NULL)
			(void)node->p->fast->progress(node->urnic, 64);
	}
}

void
cert_progress(struct cert *cert)
{
	engines_run(cert);
	g_usleep(PAUSE_US);
}

/* Is there patience left? */
static bool
patience_left(struct cert *cert, gint64 *until)
{
	gint64 now = g_get_monotonic_time();

	cert_violation_check(cert);
	if (*until == 0)
		*until = now + cert->setup->patience_us;
	return now <= *until;
}

bool
cert_patience(struct cert *cert, gint64 *until)
{
	if (!patience_left(cert, until))
		return false;
	cert_progress(cert);
	return true;
}

bool
cert_patience_asleep(struct cert *cert, gint64 *until)
{
	if (!patience_left(cert, until))
		return false;
	g_usleep(PAUSE_US);
	return true;
}

/* --- posts ----------------------------------------------------------------------------------- */

void
cert_post(struct cert_end *end, const struct ri_wr *wr)
{
	CERT_FAST(end->node->cert, RI_SUCCESS, end->node->p->fast->post_sq(end->uqp, wr));
}

void
cert_post_send(struct cert_end *end, uint64_t id, const struct ri_sge *sgl, unsigned segments,
	       uint32_t flags)
{
	cert_post(end, &(struct ri_wr){.wr_id = id,
				       .opcode = RI_OP_SEND,
				       .sgl = sgl,
				       .num_sge = (uint16_t)segments,
				       .flags = flags | RI_WR_SIGNALED});
}

void
cert_post_recv(struct cert_end *end, uint64_t id, const struct ri_sge *sgl, unsigned segments)
{
	struct ri_recv_wr wr = {.wr_id = id, .sgl = sgl, .num_sge = (uint16_t)segments};

	CERT_FAST(end->node->cert, RI_SUCCESS, end->node->p->fast->post_rq(end->uqp, &wr));
}

void
cert_post_rdma(struct cert_end *end, enum ri_opcode opcode, uint64_t id, const struct ri_sge *local,
	       const struct ri_sge *remote)
{
	cert_post(end, &(struct ri_wr){.wr_id = id,
				       .opcode = (uint8_t)opcode,
				       .sgl = local,
				       .num_sge = local != NULL,
				       .flags = RI_WR_SIGNALED,
				       .u.remote = {.addr = remote->addr, .stag = remote->stag}});
}

/* --- completions ----------------------------------------------------------------------------- */

static bool
poll_one(struct cert_end *end, bool recv, struct ri_wc *wc)
{
	struct ri_wc room[3]; /* for the completion; behind it; what the second one must still be */
	uint32_t taken;

	memset(room, UNTOUCHED, sizeof(room));
	taken = end->node->p->fast->poll_cq(recv ? end->urcq : end->uscq, room, 1);
	CERT_UINT(end->node->cert, taken, <=, 1);
	CERT_BYTES(end->node->cert, &room[1], &room[2], sizeof(room[1]));
	*wc = room[0];
	return taken == 1;
}

struct ri_wc
cert_wc(struct cert_end *end, bool recv)
{
	struct cert *cert = end->node->cert;
	unsigned rounds = 0;
	struct ri_wc wc;
	gint64 until = 0;

	memset(&wc, UNTOUCHED, sizeof(wc));
	while (!poll_one(end, recv, &wc)) {
		if (rounds++ < ROUNDS)
			engines_run(cert);
		else if (!cert_patience(cert, &until))
			cert_failed(cert, CERT_WHERE,
				    recv ? "the next completion of a receive"
					 : "the next completion of a request",
				    "one comes", "none came");
	}
	CERT_UINT(cert, wc.qp_ctx, ==, end->ctx);
	CERT_UINT(cert, wc.status, <, RI_WC_STATUS_COUNT);
	return wc;
}

struct ri_wc
cert_wc_is(struct cert_end *end, bool recv, uint64_t id, enum ri_wc_status status)
{
	struct cert *cert = end->node->cert;
	struct ri_wc wc = cert_wc(end, recv);

	CERT_UINT(cert, wc.wr_id, ==, id);
	if (wc.status != status)
		cert_failed(cert, CERT_WHERE, "the status of a completion",
			    ri_wc_status_name(status),
			    ri_wc_status_name((enum ri_wc_status)wc.status));
	return wc;
}

void
cert_wc_none(struct cert_end *end, bool recv)
{
	struct cert *cert = end->node->cert;
	gint64 until = g_get_monotonic_time() + SETTLED_US;
	struct ri_wc wc;

	while (g_get_monotonic_time() < until) {
		if (poll_one(end, recv, &wc))
			cert_failed(cert, CERT_WHERE, "the completions of a queue", "none",
				    ri_wc_status_name((enum ri_wc_status)wc.status));
		cert_progress(cert);
	}
}
