/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A random sequence of operations on a shared receive queue, compared with a model: receives are
 * posted and consumed by two queue pairs, the low watermark is set to any value, above or below the
 * present number of receives, and the queue is resized, in any order.
 */

#include "verbs_line.h"

#define STEPS 500u
#define MOST  24u /* receives */

struct walk {
	struct line line;
	struct cert *cert;
	struct cert_end *from[2];
	struct cert_end to[2]; /* the first is that of the line */
	uint64_t first,
		next;    /* identities of the oldest receive that is there, and of the next one */
	uint32_t max_wr; /* slots */
	uint32_t limit;  /* 0: off */
};

static uint32_t
available(const struct walk *walk)
{
	return (uint32_t)(walk->next - walk->first);
}

static void
step_supply(struct walk *walk, uint32_t count)
{
	for (; count > 0 && available(walk) < MIN(MOST, walk->max_wr); count--) {
		struct ri_sge sink = cert_sge(walk->line.into, 0, 64);

		CERT_FAST(walk->cert, RI_SUCCESS,
			  walk->line.far->p->fast->post_srq(
				  walk->line.shared.usrq,
				  &(struct ri_recv_wr){
					  .wr_id = walk->next++, .sgl = &sink, .num_sge = 1}));
	}
}

/* The event of the watermark, which is then off. */
static void
told(struct walk *walk)
{
	(void)cert_async(walk->line.far, RI_EVENT_SRQ_LIMIT, walk->line.shared.ctx);
	walk->limit = 0;
}

static void
step_take(struct walk *walk)
{
	uint32_t who = cert_random_below(walk->cert, 2);
	struct ri_sge source = cert_sge(walk->line.from, 0, 32);

	if (available(walk) == 0)
		return;
	cert_post_send(walk->from[who], walk->first, &source, 1, 0);
	cert_wc_is(walk->from[who], false, walk->first, RI_WC_SUCCESS);
	cert_wc_is(&walk->to[who], true, walk->first, RI_WC_SUCCESS);
	walk->first++;
	if (available(walk) < walk->limit)
		told(walk);
}

/* Another limit, and often another size. */
static void
step_modify(struct walk *walk)
{
	const struct ri_provider *p = walk->line.far->p;
	bool resize = walk->line.far->attr.srq_resizable && cert_random_below(walk->cert, 3) == 0;
	bool keep = resize && cert_random_below(walk->cert, 2) == 0;
	uint32_t size = available(walk) + 1 + cert_random_below(walk->cert, MOST);
	struct ri_srq_attr attr = {.max_wr = MIN(size, walk->line.far->attr.max_srq_wr)};
	struct ri_map map;

	attr.limit = cert_random_below(walk->cert, (resize ? attr.max_wr : walk->max_wr) + 1);
	if (keep)
		attr.limit = walk->limit > attr.max_wr ? 0 : RI_SRQ_LIMIT_KEEP;
	walk->limit = attr.limit != RI_SRQ_LIMIT_KEEP ? attr.limit : walk->limit;
	CERT_VERB(walk->cert, RI_SUCCESS,
		  p->srq->modify(walk->line.shared.srq, &attr, resize, &map));
	if (resize) {
		CERT_UINT(walk->cert, attr.max_wr, >=, MIN(size, walk->line.far->attr.max_srq_wr));
		CERT_VERB(walk->cert, RI_SUCCESS, p->user->srq_remap(walk->line.shared.usrq, &map));
		walk->max_wr = attr.max_wr;
	}
	/* With fewer receives the event comes at once, or when the next one is taken. */
	if (available(walk) < walk->limit) {
		if (available(walk) == 0)
			step_supply(walk, 1);
		step_take(walk);
	}
}

static void
step_query(struct walk *walk)
{
	struct ri_srq_attr seen = {0};

	CERT_VERB(walk->cert, RI_SUCCESS,
		  walk->line.far->p->srq->query(walk->line.shared.srq, &seen));
	CERT_UINT(walk->cert, seen.available, ==, available(walk));
	CERT_UINT(walk->cert, seen.max_wr, ==, walk->max_wr);
	CERT_UINT(walk->cert, seen.limit, ==, walk->limit);
}

static void
walk_open(struct walk *walk, struct cert *cert)
{
	struct ri_qp_init init;

	walk->cert = cert;
	line_open(&walk->line, cert);
	walk->max_wr = walk->line.shared.attr.max_wr;
	walk->from[0] = walk->line.a;
	walk->to[0] = walk->line.shared.end;
	walk->from[1] = cert_end_new(walk->line.near, NULL);
	init = cert_end_defaults(walk->line.far);
	shared_end_new(&walk->to[1], walk->line.far, &init, 8, walk->line.shared.srq,
		       walk->line.shared.usrq);
	cert_connect(walk->from[1], &walk->to[1]);
}

static void
srq_walk(struct cert *cert)
{
	struct walk walk = {0};

	walk_open(&walk, cert);
	for (unsigned step = 0; step < STEPS; step++) {
		switch (cert_random_below(cert, 8)) {
		case 0:
		case 1:
			step_supply(&walk, 1 + cert_random_below(cert, 6));
			break;
		case 2:
			step_modify(&walk);
			break;
		case 3:
			step_query(&walk);
			break;
		default:
			step_take(&walk);
			break;
		}
		CERT_UINT(cert,
			  cert_async_count(walk.line.far, RI_EVENT_NONE, walk.line.shared.ctx), ==,
			  0);
	}
	shared_end_free(&walk.to[1]);
	shared_free(&walk.line.shared);
}

static const struct cert_case cases[] = {
	{.id = "verbs.walk.shared.0001",
	 .title = "A shared queue holds and reports what it must, however receives, messages, "
		  "limits "
		  "and sizes follow each other",
	 .rule = "[RI 6.2] [RI 6.3] [RI 6.4] [RI 10.16]",
	 .needs = "srq srq_limit",
	 .settles = "srq_limit",
	 .run = srq_walk},
};

CERT_SET(verbs_walks_srq, cases);
