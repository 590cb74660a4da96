/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs for datagrams and address handles: their lives, limits, domains, and what each refuses. */

#include <unistd.h>

#include "cert_host.h"
#include "verbs_ud.h"

#define COUNTED  70000u /* a limit up to which a case creates as many handles as there may be */
#define RESERVED 0x80000000u /* keys with this bit need a privileged owner */

/* --- queue pairs --------------------------------------------------------------------------- */

static void
runs_at_once(struct cert *cert)
{
	struct mail mail;
	struct ri_qp_attr attr;

	mail_open(&mail, cert);
	attr = cert_end_attr(mail.b);
	CERT_UINT(cert, attr.state, ==, RI_QPS_RTS);
	CERT_UINT(cert, attr.qkey, ==, UD_KEY);
	cert_wait_quiescent(mail.b);
	CERT_UINT(cert, cert_end_move(mail.b, RI_QPS_CONNECTING), ==, RI_ERR_INVALID_STATE);
	CERT_UINT(cert, cert_end_attr(mail.b).state, ==, RI_QPS_RTS);
}

/* All that is posted is flushed before the end is told; the other end is not disturbed. */
static void
ends_by_error(struct cert *cert)
{
	struct mail mail;
	uint32_t count;

	mail_open(&mail, cert);
	count = mail.b->init.max_rq_wr;
	for (uint32_t i = 0; i < count; i++)
		mail_offer(&mail, i, 64);
	mail_send(&mail, 100, 8);
	mail_arrives(&mail, 0, 8);
	CERT_UINT(cert, cert_end_move(mail.b, RI_QPS_ERROR), ==, RI_SUCCESS);
	mail_ended(mail.b);
	CERT_UINT(cert, mail.far->p->fast->cq_depth(mail.b->urcq), ==, count - 1);
	for (uint32_t i = 1; i < count; i++) {
		struct ri_wc wc = cert_wc_is(mail.b, true, i, RI_WC_FLUSHED);

		CERT_UINT(cert, wc.opcode, ==, RI_OP_RECV_UD);
	}
	mail_offer(&mail, 200, 64);
	cert_wc_is(mail.b, true, 200, RI_WC_FLUSHED);
	mail_send(&mail, 101, 8);
	cert_wc_none(mail.b, true);
	CERT_UINT(cert, cert_async_ends(mail.far, mail.b->ctx), ==, 1);
	CERT_UINT(cert, cert_end_attr(mail.a).state, ==, RI_QPS_RTS);
}

static void
runs_again(struct cert *cert)
{
	struct ri_qp_attr idle = {.state = RI_QPS_IDLE};
	enum ri_status status = RI_ERR_STILL_FLUSHING;
	struct mail mail;

	mail_open(&mail, cert);
	for (unsigned round = 0; round < 3; round++) {
		gint64 until = 0;

		mail_offer(&mail, round, 64);
		CERT_UINT(cert, cert_end_move(mail.b, RI_QPS_ERROR), ==, RI_SUCCESS);
		mail_ended(mail.b);
		cert_wc_is(mail.b, true, round, RI_WC_FLUSHED);
		cert_events_forget(mail.far);
		do {
			cert_verb_begin(cert);
			status = mail.far->p->qp->modify(mail.b->qp, &idle, RI_QP_ATTR_STATE);
			cert_verb_end(cert, CERT_WHERE, "modify");
		} while (status == RI_ERR_STILL_FLUSHING && cert_patience(cert, &until));
		CERT_UINT(cert, status, ==, RI_SUCCESS);
		CERT_UINT(cert, cert_end_attr(mail.b).state, ==, RI_QPS_RTS);
		mail_offer(&mail, 10, 64);
		mail_send(&mail, 20, 8);
		mail_arrives(&mail, 10, 8);
	}
	mail_undisturbed(&mail);
}

/* It goes with receives posted and datagrams under way; the sender goes on. */
static void
destroyed_at_work(struct cert *cert)
{
	struct mail mail;
	struct ri_sge sge;
	struct ri_wr wr;

	mail_open(&mail, cert);
	for (uint64_t id = 0; id < 8; id++)
		mail_offer(&mail, id, 64);
	sge = cert_sge(mail.from, 0, 8);
	for (uint64_t id = 0; id < 8; id++) {
		wr = mail_wr(id, &sge, &mail.to);
		cert_post(mail.a, &wr);
	}
	cert_end_free(mail.b);
	memset(mail.into->at, 0x5a, mail.into->length);
	for (uint64_t id = 0; id < 8; id++)
		cert_wc_is(mail.a, false, id, RI_WC_SUCCESS);
	for (unsigned i = 0; i < 100; i++)
		cert_progress(cert);
	cert_note(cert, "the memory of its receives is not touched any more");
	for (size_t i = 0; i < mail.into->length; i++)
		CERT_UINT(cert, mail.into->at[i], ==, 0x5a);
	CERT_UINT(cert, cert_end_attr(mail.a).state, ==, RI_QPS_RTS);
}

static void
never_connects(struct cert *cert)
{
	struct mail mail;
	struct ri_service service;
	struct ri_cm_params params;

	mail_open(&mail, cert);
	service = cert_service(mail.far);
	service.port = 0x1234;
	service.id = 0x1234;
	params = cert_params(mail.a, mail.far, &service);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, mail.near->p->cm->connect(mail.a->qp, &params));
	CERT_VERB(cert, RI_ERR_INVALID_STATE, mail.near->p->cm->disconnect(mail.a->qp, NULL, 0));
	mail_offer(&mail, 1, 64);
	mail_send(&mail, 2, 8);
	mail_arrives(&mail, 1, 8);
	mail_undisturbed(&mail);
}

static void
expect_no_pair(struct mail *mail, struct ri_qp_init init, enum ri_status expected)
{
	struct ri_qp *qp = NULL;
	struct ri_map map;

	init.ctx = cert_ctx_new(mail->near, RI_OBJECT_QP);
	CERT_VERB(mail->cert, expected,
		  mail->near->p->qp->create(mail->near->pd, &init, mail->a->scq, mail->a->rcq, NULL,
					    &qp, &map));
}

static void
refused_pairs(struct cert *cert)
{
	struct mail mail;
	struct ri_qp_init init;

	mail_open(&mail, cert);
	init = ud_init(mail.near);
	init.port = mail.near->attr.num_ports;
	expect_no_pair(&mail, init, RI_ERR_INVALID_ARG);
	init = ud_init(mail.near);
	init.type = RI_QP_NUMBER + 1;
	expect_no_pair(&mail, init, RI_ERR_UNSUPPORTED);
	if (mail.near->attr.max_sq_wr < UINT32_MAX) {
		init = ud_init(mail.near);
		init.max_sq_wr = mail.near->attr.max_sq_wr + 1;
		expect_no_pair(&mail, init, RI_ERR_LIMIT);
	}
}

/* A key with bit 31, in the context of an owner without the privilege. */
static void
reserved_keys(struct cert *cert)
{
	const struct ri_owner owner = {.mem_owner = cert_host_owner(),
				       .pid = (uint32_t)getpid(),
				       .uid = (uint32_t)getuid()};
	struct ri_qp_attr fresh = {.qkey = RESERVED | 5};
	struct cert_node *node = cert_node_open(cert);
	const struct ri_provider *p = node->p;
	struct ri_context *context = NULL;
	struct ri_pd *pd = NULL;
	struct ri_cq *cq = NULL;
	struct ri_qp *qp = NULL;
	struct ri_qp_init init;
	uint32_t entries = 64;
	struct ri_map map;

	CERT_VERB(cert, RI_SUCCESS, p->device->context_create(node->rnic, &owner, &context, &map));
	CERT_VERB(cert, RI_SUCCESS, p->pd->create(context, &pd));
	CERT_VERB(cert, RI_SUCCESS,
		  p->cq->create(context, cert_ctx_new(node, RI_OBJECT_CQ), &entries, &cq, &map));
	for (unsigned reserved = 0; reserved < 2; reserved++) {
		init = ud_init(node);
		init.ctx = cert_ctx_new(node, RI_OBJECT_QP);
		init.qkey = reserved == 0 ? RESERVED | UD_KEY : UD_KEY;
		CERT_VERB(cert, reserved == 0 ? RI_ERR_PERMISSION : RI_SUCCESS,
			  p->qp->create(pd, &init, cq, cq, NULL, &qp, &map));
	}
	CERT_VERB(cert, RI_ERR_PERMISSION, p->qp->modify(qp, &fresh, RI_QP_ATTR_QKEY));
	CERT_VERB(cert, RI_SUCCESS, p->qp->query(qp, &fresh));
	CERT_UINT(cert, fresh.qkey, ==, UD_KEY);
	CERT_VERB_VOID(cert, p->device->context_destroy(context));
	cert_note(cert, "a privileged owner may");
	init = ud_init(node);
	init.qkey = RESERVED | UD_KEY;
	CERT_UINT(cert, cert_end_attr(cert_end_new(node, &init)).qkey, ==, RESERVED | UD_KEY);
}

/* The other operations are refused on it, and datagrams on a connected queue pair. */
static void
operations(struct cert *cert)
{
	static const enum ri_opcode others[] = {RI_OP_SEND,      RI_OP_RDMA_WRITE, RI_OP_RDMA_READ,
						RI_OP_FETCH_ADD, RI_OP_CMP_SWAP,   RI_OP_BIND_MW,
						RI_OP_LOCAL_INV, RI_OP_FAST_REG,   RI_OP_INV_MR};
	struct mail mail;
	struct ri_wr wr = {.wr_id = 1, .flags = RI_WR_SIGNALED};

	mail_open(&mail, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
		cert_note(cert, "%s", ri_opcode_name(others[i]));
		wr.opcode = (uint8_t)others[i];
		CERT_FAST(cert, RI_ERR_UNSUPPORTED, mail.near->p->fast->post_sq(mail.a->uqp, &wr));
	}
	cert_note(cert, "nothing was posted");
	mail_offer(&mail, 2, 64);
	mail_send(&mail, 3, 8);
	mail_arrives(&mail, 2, 8);
	mail_undisturbed(&mail);
}

static void
no_datagrams_when_connected(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct ri_wr wr = {.wr_id = 1, .opcode = RI_OP_SEND_UD, .flags = RI_WR_SIGNALED};

	/* Where requests are refused in IDLE, this one may be, for that reason. */
	if ((cert_attr(cert)->refuses & RI_REFUSES_UNCONNECTED_REQUESTS) == 0)
		CERT_FAST(cert, RI_ERR_UNSUPPORTED, node->p->fast->post_sq(end->uqp, &wr));
	CERT_UINT(cert, cert_end_move(end, RI_QPS_ERROR), ==, RI_SUCCESS);
	CERT_FAST(cert, RI_ERR_UNSUPPORTED, node->p->fast->post_sq(end->uqp, &wr));
	cert_wc_none(end, false);
}

/* A queue pair for datagrams with a shared receive queue is refused, or takes from it. */
static void
shared_queue(struct cert *cert)
{
	struct ri_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct mail mail;
	struct ri_qp_init init;
	struct ri_srq *srq = NULL;
	struct ri_qp *qp = NULL;
	enum ri_status status;
	struct ri_map map;

	mail_open(&mail, cert);
	attr.ctx = cert_ctx_new(mail.far, RI_OBJECT_SRQ);
	CERT_VERB(cert, RI_SUCCESS, mail.far->p->srq->create(mail.far->pd, &attr, &srq, &map));
	init = ud_init(mail.far);
	init.ctx = cert_ctx_new(mail.far, RI_OBJECT_QP);
	cert_verb_begin(cert);
	status = mail.far->p->qp->create(mail.far->pd, &init, mail.b->scq, mail.b->rcq, srq, &qp,
					 &map);
	cert_verb_end(cert, CERT_WHERE, "create");
	if (status == RI_SUCCESS) {
		CERT_UINT(cert, init.max_rq_wr, ==, 0);
		CERT_VERB(cert, RI_ERR_BUSY, mail.far->p->srq->destroy(srq));
		CERT_VERB(cert, RI_SUCCESS, mail.far->p->qp->destroy(qp));
	} else {
		CERT_UINT(cert, status, ==, RI_ERR_UNSUPPORTED);
	}
	CERT_VERB(cert, RI_SUCCESS, mail.far->p->srq->destroy(srq));
}

/* --- address handles ------------------------------------------------------------------------ */

/* A request through that handle fails at its own side. */
static void
handle_fails(struct mail *mail, uint32_t id)
{
	struct ri_sge sge = cert_sge(mail->from, 0, 8);
	struct ri_wr_ud to = mail->to;
	struct ri_wr wr;
	struct ri_wc wc;

	to.ah = id;
	wr = mail_wr(9, &sge, &to);
	mail_offer(mail, 1, 64);
	cert_post(mail->a, &wr);
	wc = cert_wc(mail->a, false);
	CERT_UINT(mail->cert, wc.wr_id, ==, 9);
	CERT_TRUE(mail->cert, wc.status == RI_WC_LOCAL_QP || wc.status == RI_WC_LOCAL_PROTECTION);
	mail_ended(mail->a);
	cert_wc_none(mail->b, true);
}

static void
foreign_handle(struct cert *cert)
{
	struct ri_ah_init way = {0};
	struct ri_ah *ah = NULL;
	struct ri_pd *pd = NULL;
	struct mail mail;
	uint32_t id;

	mail_open(&mail, cert);
	way.dest = cert_address(mail.far);
	CERT_VERB(cert, RI_SUCCESS, mail.near->p->pd->create(mail.near->context, &pd));
	CERT_VERB(cert, RI_SUCCESS, mail.near->p->ah->create(pd, &way, &ah, &id));
	handle_fails(&mail, id);
	CERT_VERB(cert, RI_SUCCESS, mail.near->p->ah->destroy(ah));
	CERT_VERB(cert, RI_SUCCESS, mail.near->p->pd->destroy(pd));
}

static void
destroyed_handle(struct cert *cert)
{
	struct mail mail;

	mail_open(&mail, cert);
	mail_offer(&mail, 2, 64);
	mail_send(&mail, 3, 8);
	mail_arrives(&mail, 2, 8);
	CERT_VERB(cert, RI_SUCCESS, mail.near->p->ah->destroy(mail.ah));
	handle_fails(&mail, mail.to.ah);
}

/* What was posted before the end of the handle still goes out. */
static void
handle_of_posted(struct cert *cert)
{
	struct mail mail;
	struct ri_sge sge;
	struct ri_wr wr;

	mail_open(&mail, cert);
	sge = cert_sge(mail.from, 0, 8);
	for (uint64_t id = 0; id < 8; id++)
		mail_offer(&mail, id, 64);
	for (uint64_t id = 0; id < 8; id++) {
		wr = mail_wr(id, &sge, &mail.to);
		cert_post(mail.a, &wr);
	}
	CERT_VERB(cert, RI_SUCCESS, mail.near->p->ah->destroy(mail.ah));
	for (uint64_t id = 0; id < 8; id++) {
		cert_wc_is(mail.a, false, id, RI_WC_SUCCESS);
		cert_wc_is(mail.b, true, id, RI_WC_SUCCESS);
	}
	mail_undisturbed(&mail);
}

static void
handle_arguments(struct cert *cert)
{
	struct ri_ah_init way = {0};
	struct mail mail;
	struct ri_ah *ah = NULL;
	uint32_t id;

	mail_open(&mail, cert);
	way.dest = cert_address(mail.far);
	for (unsigned i = 0; i < 2; i++) {
		struct ri_ah_init bad = way;

		if (i == 0)
			bad.port = mail.near->attr.num_ports;
		else
			bad.source =
				(struct ri_addr){.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 77}};
		enum ri_status expected = i == 0 ? RI_ERR_INVALID_ARG : RI_ERR_NO_ROUTE;

		CERT_VERB(cert, expected, mail.near->p->ah->create(mail.near->pd, &bad, &ah, &id));
		CERT_VERB(cert, expected, mail.near->p->ah->modify(mail.ah, &bad));
	}
	cert_note(cert, "the handle leads where it did");
	mail_offer(&mail, 1, 64);
	mail_send(&mail, 2, 8);
	mail_arrives(&mail, 1, 8);
	CERT_VERB(cert, RI_SUCCESS, mail.near->p->ah->modify(mail.ah, &way));
	mail_offer(&mail, 3, 64);
	mail_send(&mail, 4, 8);
	mail_arrives(&mail, 3, 8);
	mail_undisturbed(&mail);
}

static void
handles_at_the_limit(struct cert *cert)
{
	g_autoptr(GHashTable) ids = g_hash_table_new(NULL, NULL);
	g_autoptr(GPtrArray) made = g_ptr_array_new();
	struct cert_node *node = cert_node_open(cert);
	struct ri_ah_init way = {.dest = cert_address(node)};
	uint32_t most = node->attr.max_ah, id;
	struct ri_ah *ah = NULL;

	if (most > COUNTED) {
		cert_skip(cert, "the limit of %u is out of reach", most);
		return;
	}
	for (uint32_t i = 0; i < most; i++) {
		CERT_VERB(cert, RI_SUCCESS, node->p->ah->create(node->pd, &way, &ah, &id));
		CERT_TRUE(cert, g_hash_table_add(ids, GSIZE_TO_POINTER((gsize)id + 1)));
		g_ptr_array_add(made, ah);
	}
	CERT_VERB(cert, RI_ERR_RESOURCES, node->p->ah->create(node->pd, &way, &ah, &id));
	for (guint i = 0; i < made->len; i++)
		CERT_VERB(cert, RI_SUCCESS, node->p->ah->destroy(g_ptr_array_index(made, i)));
	CERT_VERB(cert, RI_SUCCESS, node->p->ah->create(node->pd, &way, &ah, &id));
	CERT_VERB(cert, RI_SUCCESS, node->p->ah->destroy(ah));
}

static const struct cert_case cases[] = {
	{.id = "verbs.ud.life.0001",
	 .title = "A queue pair for datagrams is in RTS from its creation",
	 .rule = "[RI 4.3.3] [RI 4.3.2]",
	 .needs = "ud",
	 .settles = "ud",
	 .run = runs_at_once},
	{.id = "verbs.ud.life.0002",
	 .title = "A move to ERROR flushes all receives before one event tells the end",
	 .rule = "[RI 4.3.2] [RI 4.3.3] [RI 8.2]",
	 .needs = "ud",
	 .run = ends_by_error},
	{.id = "verbs.ud.life.0003",
	 .title = "A move from ERROR to IDLE brings it back to RTS at once",
	 .rule = "[RI 4.3.3]",
	 .needs = "ud qp_reusable",
	 .run = runs_again},
	{.id = "verbs.ud.life.0004",
	 .title = "A queue pair for datagrams that is destroyed at work leaves its memory and its "
		  "senders alone",
	 .rule = "[RI 2.1.4] [IT 5.4]",
	 .needs = "ud",
	 .run = destroyed_at_work},
	{.id = "verbs.ud.life.0005",
	 .title = "A queue pair for datagrams does not connect or disconnect",
	 .rule = "[RI 4.3.3] [RI 11.6.1]",
	 .needs = "ud cm_forms:RI_CM_ADDRESS",
	 .run = never_connects},
	{.id = "verbs.ud.life.0006",
	 .title = "A queue pair for datagrams of a spigot, kind or size that is none is refused",
	 .rule = "[RI 2.1.1] [RI 2.2.2]",
	 .needs = "ud",
	 .run = refused_pairs},
	{.id = "verbs.ud.key.0004",
	 .title = "A key with bit 31 needs a privileged owner",
	 .rule = "[IT 5.5] [RI 2.1.1]",
	 .needs = "ud",
	 .run = reserved_keys},
	{.id = "verbs.ud.post.0001",
	 .title = "A queue pair for datagrams refuses every other operation",
	 .rule = "[RI 3.1.1] [RI 2.1.5]",
	 .needs = "ud",
	 .run = operations},
	{.id = "verbs.ud.post.0002",
	 .title = "A connected queue pair refuses datagrams",
	 .rule = "[RI 3.1.1] [RI 2.1.5]",
	 .run = no_datagrams_when_connected},
	{.id = "verbs.ud.srq.0001",
	 .title = "A queue pair for datagrams with a shared receive queue is refused whole, or "
		  "uses it",
	 .rule = "[RI 2.1.1] [RI 2.2.3]",
	 .needs = "ud srq",
	 .run = shared_queue},
	{.id = "verbs.ud.handle.0001",
	 .title = "A datagram through an address handle of another domain fails",
	 .rule = "[RI 10.34] [RI 3.3.1]",
	 .needs = "ud",
	 .run = foreign_handle},
	{.id = "verbs.ud.handle.0002",
	 .title = "A datagram through an address handle that is destroyed fails",
	 .rule = "[RI 10.34] [RI 3.3.1]",
	 .needs = "ud",
	 .run = destroyed_handle},
	{.id = "verbs.ud.handle.0003",
	 .title = "Datagrams that are posted are sent, though their address handle is destroyed",
	 .rule = "[IT 2.2] [RI 10.34]",
	 .needs = "ud",
	 .run = handle_of_posted},
	{.id = "verbs.ud.handle.0004",
	 .title = "An address handle for no spigot or from no source is refused, and a refused "
		  "change "
		  "changes nothing",
	 .rule = "[RI 2.1.1] [RI 2.2.1]",
	 .needs = "ud",
	 .run = handle_arguments},
	{.id = "verbs.ud.handle.0005",
	 .title = "Exactly max_ah address handles can exist, each with an id of its own",
	 .rule = "[RI 2.2.1] [RI 10]",
	 .needs = "ud",
	 .settles = "max_ah",
	 .run = handles_at_the_limit},
};

CERT_SET(verbs_ud_lives, cases);
