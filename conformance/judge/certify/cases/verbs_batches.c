/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Completions that one poll returns together must equal those that are polled one at a time.
 * Messages of all kinds from several senders come to one completion queue, and are polled one, two
 * and more at a time.
 */

#include <string.h>

#include "verbs_shared.h"
#include "verbs_ud.h"

#define SENDERS 3u
#define ROUNDS  60u
#define MOST    9u /* messages of a round */
#define ROOM    64u

/* What a completion must be. */
struct told {
	struct ri_wc wc;
	bool solicited;
};

struct batch {
	struct cert *cert;
	struct cert_end *queue; /* has the completion queue */
	struct told told[MOST];
	uint32_t count;
};

/* One message of any kind that the adapter claims; `with` is what it may carry immediate data by. */
static struct ri_wr
some_message(struct cert *cert, uint8_t with, uint32_t *length)
{
	struct ri_wr wr = {.flags = RI_WR_SIGNALED};

	*length = cert_random_below(cert, ROOM);
	if ((cert_attr(cert)->immediate_with & with) != 0 && cert_random_below(cert, 2) == 0) {
		wr.flags |= RI_WR_IMMEDIATE;
		wr.imm = (uint32_t)cert_random(cert);
	}
	if (cert_random_below(cert, 2) == 0)
		wr.flags |= RI_WR_SOLICITED;
	return wr;
}

/* The message has been posted: it arrives before the next one is sent, and nobody polls. */
static void
note(struct batch *batch, const struct cert_end *to, const struct ri_wr *wr, uint32_t length)
{
	struct told *told = &batch->told[batch->count++];
	struct cert *cert = batch->cert;
	gint64 until = 0;

	*told = (struct told){.wc = {.wr_id = batch->count,
				     .qp_ctx = to->ctx,
				     .byte_len = length,
				     .flags = RI_WC_RECEIVE}};
	if ((wr->flags & RI_WR_IMMEDIATE) != 0) {
		told->wc.flags |= RI_WC_IMMEDIATE;
		told->wc.imm = wr->imm;
	}
	told->solicited = (wr->flags & RI_WR_SOLICITED) != 0;
	while (to->node->p->fast->cq_depth(batch->queue->urcq) < batch->count)
		CERT_TRUE(cert, cert_patience(cert, &until));
}

static void
compare(struct batch *batch, const struct ri_wc *wc, const struct told *told)
{
	struct cert *cert = batch->cert;

	CERT_UINT(cert, wc->wr_id, ==, told->wc.wr_id);
	CERT_UINT(cert, wc->qp_ctx, ==, told->wc.qp_ctx);
	CERT_UINT(cert, wc->status, ==, RI_WC_SUCCESS);
	CERT_UINT(cert, wc->opcode, ==, told->wc.opcode);
	CERT_UINT(cert, wc->byte_len, ==, told->wc.byte_len);
	CERT_UINT(cert, wc->flags & (RI_WC_RECEIVE | RI_WC_IMMEDIATE | RI_WC_INVALIDATED), ==,
		  told->wc.flags);
	if ((told->wc.flags & RI_WC_IMMEDIATE) != 0)
		CERT_UINT(cert, wc->imm, ==, told->wc.imm);
	if (cert_attr(cert)->solicited_works)
		CERT_UINT(cert, (wc->flags & RI_WC_SOLICITED) != 0, ==, told->solicited);
	if (told->wc.opcode == RI_OP_RECV_UD)
		CERT_UINT(cert, wc->src_qpn, ==, told->wc.src_qpn);
}

/* All that are present, in pieces of random size. */
static void
take(struct batch *batch)
{
	const struct ri_fast_ops *fast = batch->queue->node->p->fast;
	uint32_t taken = 0;

	while (taken < batch->count) {
		struct ri_wc wc[MOST];
		uint32_t most = 1 + cert_random_below(batch->cert, MOST);
		uint32_t count = fast->poll_cq(batch->queue->urcq, wc, most);

		CERT_UINT(batch->cert, count, ==, MIN(most, batch->count - taken));
		for (uint32_t i = 0; i < count; i++)
			compare(batch, &wc[i], &batch->told[taken++]);
	}
	batch->count = 0;
}

/* --- connections ------------------------------------------------------------------------------- */

/* Sends, and Writes with immediate data where they are claimed. */
static void
send_one(struct batch *batch, struct cert_end *from, struct cert_end *to, const struct pair *pair)
{
	struct cert *cert = batch->cert;
	bool writes = cert_random_below(cert, 4) == 0 &&
		      (cert_attr(cert)->immediate_with & RI_IMMEDIATE_WRITE) != 0;
	struct ri_sge source, sink = cert_sge(pair->into, 0, ROOM);
	uint32_t length;
	struct ri_wr wr = some_message(
		cert, writes ? (uint8_t)RI_IMMEDIATE_WRITE : (uint8_t)RI_IMMEDIATE_SEND, &length);

	wr.opcode = RI_OP_SEND;
	if (writes) {
		wr.opcode = RI_OP_RDMA_WRITE;
		wr.flags = (wr.flags & ~(uint32_t)RI_WR_SOLICITED) | RI_WR_IMMEDIATE;
		wr.u.remote = (struct ri_wr_remote){.addr = (uintptr_t)pair->into->at + ROOM,
						    .stag = pair->into->stag};
	}
	source = cert_sge(pair->from, 0, length);
	wr.sgl = &source;
	wr.num_sge = 1;
	cert_post_recv(to, batch->count + 1, &sink, 1);
	cert_post(from, &wr);
	note(batch, to, &wr, length);
	batch->told[batch->count - 1].wc.opcode = writes ? RI_OP_RECV_WRITE : RI_OP_RECV;
	cert_wc_is(from, false, 0, RI_WC_SUCCESS);
}

static void
connected(struct cert *cert)
{
	struct pair pair;
	struct cert_end *from[SENDERS];
	struct cert_end to[SENDERS];
	struct batch batch = {.cert = cert};
	uint32_t most;

	pair_open(&pair, cert, NULL);
	batch.queue = pair.b;
	most = MIN(MOST, MIN(pair.b->init.max_rq_wr, cert_attr(cert)->max_cqe));
	for (unsigned i = 0; i < SENDERS; i++) {
		from[i] = cert_end_new(pair.near, NULL);
		shared_guest(&to[i], pair.b);
		cert_connect(from[i], &to[i]);
	}
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t count = 1 + cert_random_below(cert, most);

		while (batch.count < count) {
			uint32_t i = cert_random_below(cert, SENDERS);

			send_one(&batch, from[i], &to[i], &pair);
		}
		take(&batch);
	}
	for (unsigned i = 0; i < SENDERS; i++)
		cert_end_drop(&to[i]);
}

/* --- datagrams --------------------------------------------------------------------------------- */

static void
mail_one(struct batch *batch, struct mail *mail, struct cert_end *from)
{
	uint32_t length;
	struct ri_wr wr = some_message(batch->cert, RI_IMMEDIATE_UD, &length);
	struct ri_sge source = cert_sge(mail->from, 0, length);

	wr.opcode = RI_OP_SEND_UD;
	wr.sgl = &source;
	wr.num_sge = 1;
	wr.u.ud = mail->to;
	mail_offer(mail, batch->count + 1, ROOM);
	cert_post(from, &wr);
	cert_wc_is(from, false, 0, RI_WC_SUCCESS);
	note(batch, mail->b, &wr, UD_GRH + length);
	batch->told[batch->count - 1].wc.opcode = RI_OP_RECV_UD;
	batch->told[batch->count - 1].wc.src_qpn = cert_end_attr(from).qpn;
}

/* Compared without the flag of a routing header. */
static void
datagrams(struct cert *cert)
{
	struct cert_end *from[SENDERS];
	struct batch batch = {.cert = cert};
	struct ri_qp_init init;
	struct mail mail;
	uint32_t most;

	mail_open(&mail, cert);
	batch.queue = mail.b;
	most = MIN(MOST, MIN(mail.b->init.max_rq_wr, cert_attr(cert)->max_cqe));
	init = ud_init(mail.near);
	from[0] = mail.a;
	for (unsigned i = 1; i < SENDERS; i++)
		from[i] = cert_end_new(mail.near, &init);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t count = 1 + cert_random_below(cert, most);

		while (batch.count < count)
			mail_one(&batch, &mail, from[cert_random_below(cert, SENDERS)]);
		take(&batch);
	}
	mail_undisturbed(&mail);
}

static const struct cert_case cases[] = {
	{.id = "verbs.batch.message.0001",
	 .title = "Completions of several connections that are polled together are each what it "
		  "would be alone",
	 .rule = "[RI 2.3.1] [RI 3.3.2] [RI 10.50]",
	 .run = connected},
	{.id = "verbs.batch.datagram.0001",
	 .title = "Completions of datagrams that are polled together each name their own sender",
	 .rule = "[RI 2.3.1] [RI 10.34]",
	 .needs = "ud",
	 .settles = "ud",
	 .run = datagrams},
};

CERT_SET(verbs_batches, cases);
