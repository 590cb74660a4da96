/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Every call that can be refused is refused a thousand times, and every operation that can fail fails a thousand times.
 * Memory, descriptors, threads and resources lent by the host must then be as before, and ordinary work must succeed,
 * also where leaks would have used up a small limit.
 *
 * Memory is counted in bytes that are allocated. So a leak of the smallest block shows, and memory that a provider
 * keeps permanently after the first turns does not.
 */

#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cert_extent.h"
#include "cert_host.h"
#include "verbs_shared.h"
#include "verbs_ud.h"

#define TURNS      1000u
#define WARM       60u  /* turns before */
#define LONGER     120u /* turns of what takes longer, such as a connection */
#define PER_TURN   3u /* bytes: the least block of the C library, lost in each eighth turn, is more */
#define SERIES     8u
#define LOOKS      100u
#define LAST_LOOKS 100000u /* some ten seconds: time-wait ends */

struct leaks {
	struct cert *cert;
	struct cert_node *near, *far;
	const struct ri_provider *p;
	struct cert_region *region, *into;
	struct cert_end *end;      /* of near, never connected */
	struct shared *shared;     /* of near, or NULL */
	struct cert_end *letters;  /* of near, for datagrams, or NULL */
	uint8_t *nowhere;          /* a page that nobody may touch */
	uint64_t ctx;              /* of listeners of far */
	uint64_t query;            /* of queries of near */
	struct ri_service service; /* of `listen`, or where nobody listens any more */
	struct ri_listen *listen;
	unsigned turn;
};

struct leak {
	const char *name;
	bool (*can)(const struct ri_rnic_attr *attr); /* NULL: always */
	void (*turn)(struct leaks *leaks);
	unsigned turns; /* 0: TURNS */
};

/* Bytes of all blocks that are in use. Blocks that a thread keeps for reuse count, too, so this is for differences over many turns. */
static uint64_t
in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* The memory in use beyond @p used. While that is @p most or more, look again, @p looks times at most: other threads free. */
static uint64_t
grown_since(struct leaks *leaks, uint64_t used, uint64_t most, unsigned looks)
{
	uint64_t now = in_use();

	for (unsigned i = 0; i < looks && now >= used + most; i++) {
		cert_progress(leaks->cert);
		now = in_use();
	}
	return now > used ? now - used : 0;
}

/*
 * A table may grow and stay large, so memory may grow in one series of turns; but a later series
 * must then not grow. A leak grows in every series.
 */
static void
repeat(struct leaks *leaks, const struct leak *leak)
{
	unsigned turns = leak->turns > 0 ? leak->turns : TURNS;
	uint64_t most = (uint64_t)turns * PER_TURN, grown = most;
	struct cert *cert = leaks->cert;
	struct cert_extent before;

	cert_note(cert, "%s", leak->name);
	for (leaks->turn = 0; leaks->turn < WARM; leaks->turn++)
		leak->turn(leaks);
	before = cert_extent_now(cert);
	for (unsigned series = 1; series <= SERIES && grown >= most; series++) {
		unsigned looks = series < SERIES ? LOOKS : LAST_LOOKS;
		uint64_t used = in_use();

		for (leaks->turn = 0; leaks->turn < turns; leaks->turn++)
			leak->turn(leaks);
		grown = cert_host_can_starve() ? grown_since(leaks, used, most, looks) : 0;
	}
	CERT_UINT(cert, grown, <, most);
	cert_extent_expect(cert, &before);
}

static void
leaks_open(struct leaks *leaks, struct cert *cert)
{
	*leaks = (struct leaks){.cert = cert, .p = cert_provider(cert)};
	leaks->near = cert_node_open(cert);
	leaks->far = cert_node_open(cert);
	leaks->region = cert_region_new(leaks->near, 256, CERT_ALL);
	leaks->into = cert_region_new(leaks->far, 256, CERT_ALL);
	leaks->end = cert_end_new(leaks->near, NULL);
	leaks->ctx = cert_ctx_new(leaks->far, RI_OBJECT_LISTEN);
	leaks->query = cert_ctx_new(leaks->near, RI_OBJECT_REQUEST);
	leaks->nowhere =
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CERT_TRUE(cert, leaks->nowhere != MAP_FAILED);
}

static void
run_all(struct leaks *leaks, const struct leak *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].can == NULL || rows[i].can(&leaks->near->attr))
			repeat(leaks, &rows[i]);
	}
}

/* A connection and a message, as a case begins with. */
static void
ordinary(struct leaks *leaks)
{
	struct cert_end *a = cert_end_new(leaks->near, NULL), *b = cert_end_new(leaks->far, NULL);
	struct ri_sge source = cert_sge(leaks->region, 0, 64);
	struct ri_sge sink = cert_sge(leaks->into, 0, 64);

	cert_events_forget(leaks->near);
	cert_events_forget(leaks->far);
	cert_note(leaks->cert, "the ordinary still works");
	cert_connect(a, b);
	cert_post_recv(b, 1, &sink, 1);
	cert_post_send(a, 2, &source, 1, 0);
	cert_wc_is(b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(a, false, 2, RI_WC_SUCCESS);
	cert_disconnect(a, b);
	cert_end_free(a);
	cert_end_free(b);
}

static void
refused(struct leaks *leaks, enum ri_status status)
{
	CERT_UINT(leaks->cert, status, !=, RI_SUCCESS);
	CERT_UINT(leaks->cert, status, <, RI_STATUS_COUNT);
}

/* --- objects ------------------------------------------------------------------------------------- */

static void
pd_busy(struct leaks *leaks)
{
	CERT_VERB(leaks->cert, RI_ERR_BUSY, leaks->p->pd->destroy(leaks->near->pd));
}

static void
cq_refused(struct leaks *leaks)
{
	uint32_t entries = leaks->near->attr.max_cqe + 1;
	struct ri_cq *cq = NULL;
	struct ri_map map;

	if (entries != 0)
		CERT_VERB(leaks->cert, RI_ERR_LIMIT,
			  leaks->p->cq->create(leaks->near->context, 1, &entries, &cq, &map));
	CERT_VERB(leaks->cert, RI_ERR_BUSY, leaks->p->cq->destroy(leaks->end->scq));
}

static bool
can_resize(const struct ri_rnic_attr *attr)
{
	return attr->cq_resizable && attr->max_cqe < UINT32_MAX;
}

static void
resize_refused(struct leaks *leaks)
{
	uint32_t entries = leaks->near->attr.max_cqe + 1;
	struct ri_map map;

	CERT_VERB(leaks->cert, RI_ERR_LIMIT, leaks->p->cq->resize(leaks->end->scq, &entries, &map));
}

/* A queue pair with one value too large, another one each time; in a domain that is free afterwards. */
static void
qp_refused(struct leaks *leaks)
{
	const struct ri_rnic_attr *attr = &leaks->near->attr;
	struct ri_qp_init init = cert_end_defaults(leaks->near);
	struct ri_qp *qp = NULL;
	struct ri_pd *pd = NULL;
	struct ri_map map;
	const struct {
		uint32_t *value, most;
	} rows[] = {
		{&init.max_sq_wr, attr->max_sq_wr},
		{&init.max_rq_wr, attr->max_rq_wr},
		{&init.max_send_sge, attr->max_send_sge},
		{&init.max_recv_sge, attr->max_recv_sge},
		{&init.max_write_sge, attr->max_write_sge},
		{&init.max_read_sge, attr->max_read_sge},
		{&init.ird, attr->max_ird},
		{&init.ord, attr->max_ord},
	};
	size_t row = leaks->turn % G_N_ELEMENTS(rows);

	if (rows[row].most == UINT32_MAX)
		return;
	*rows[row].value = rows[row].most + 1;
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->pd->create(leaks->near->context, &pd));
	CERT_VERB(
		leaks->cert, RI_ERR_LIMIT,
		leaks->p->qp->create(pd, &init, leaks->end->scq, leaks->end->rcq, NULL, &qp, &map));
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->pd->destroy(pd));
}

static void
modify_refused(struct leaks *leaks)
{
	struct ri_qp_attr attr = {.state = RI_QPS_RTS, .ird = leaks->near->attr.max_ird};

	refused(leaks, leaks->p->qp->modify(leaks->end->qp, &attr, RI_QP_ATTR_STATE));
	refused(leaks, leaks->p->qp->modify(leaks->end->qp, &attr, RI_QP_ATTR_HARD));
	refused(leaks, leaks->p->qp->modify(leaks->end->qp, &attr, 1u << 30));
}

/* A registration that cannot be; in a domain that is free afterwards. */
static void
mr_refused(struct leaks *leaks)
{
	const struct ri_mr_init rows[] = {
		{.addr = (uintptr_t)leaks->region->at, .length = 0, .access = CERT_LOCAL},
		{.addr = (uintptr_t)leaks->region->at, .length = 64, .access = 1u << 20},
		{.addr = (uintptr_t)leaks->region->at,
		 .length = 64,
		 .access = RI_ACCESS_LOCAL_READ | RI_ACCESS_REMOTE_WRITE},
		{.addr = (uintptr_t)leaks->nowhere, .length = 64, .access = CERT_LOCAL},
		{.addr = UINT64_MAX - 8, .length = 64, .access = CERT_LOCAL},
	};
	struct ri_mr *mr = NULL;
	struct ri_pd *pd = NULL;
	uint32_t stag;

	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->pd->create(leaks->near->context, &pd));
	refused(leaks,
		leaks->p->mem->mr_reg(pd, &rows[leaks->turn % G_N_ELEMENTS(rows)], &mr, &stag));
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->pd->destroy(pd));
}

/* The host has no more memory to lend. A device does not ask it. */
static void
attach_refused(struct leaks *leaks)
{
	struct cert_host *host = cert_host(leaks->cert);
	struct ri_mr_init init = {
		.addr = (uintptr_t)leaks->region->at, .length = 64, .access = CERT_LOCAL};
	struct ri_mr *mr = NULL;
	struct ri_pd *pd = NULL;
	uint32_t stag;

	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->pd->create(leaks->near->context, &pd));
	cert_host_refuse_attach(host, 1, RI_ERR_RESOURCES);
	if (leaks->p->mem->mr_reg(pd, &init, &mr, &stag) == RI_SUCCESS)
		CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->mem->mr_dereg(mr));
	cert_host_refuse_attach(host, 0, RI_SUCCESS);
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->pd->destroy(pd));
}

static bool
can_reregister(const struct ri_rnic_attr *attr)
{
	return attr->reregister;
}

static void
rereg_refused(struct leaks *leaks)
{
	struct ri_mr_init init = {
		.addr = (uintptr_t)leaks->nowhere, .length = 64, .access = CERT_LOCAL};
	uint32_t stag;

	if (leaks->turn % 2 == 0)
		init.access = 1u << 20;
	refused(leaks, leaks->p->mem->mr_rereg(leaks->region->mr, leaks->near->pd, &init, &stag));
}

static bool
has_srq(const struct ri_rnic_attr *attr)
{
	return attr->srq;
}

static void
srq_refused(struct leaks *leaks)
{
	const struct ri_srq_attr rows[] = {
		{.max_wr = 0, .max_sge = 1},
		{.max_wr = 4, .max_sge = 1, .limit = 5000000},
		{.max_wr = 4, .max_sge = leaks->near->attr.max_recv_sge + 1},
		{.max_wr = leaks->near->attr.max_srq_wr + 1, .max_sge = 1},
	};
	struct ri_srq_attr attr = rows[leaks->turn % G_N_ELEMENTS(rows)];
	struct ri_srq *srq = NULL;
	struct ri_pd *pd = NULL;
	struct ri_map map;

	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->pd->create(leaks->near->context, &pd));
	refused(leaks, leaks->p->srq->create(pd, &attr, &srq, &map));
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->pd->destroy(pd));
	attr = (struct ri_srq_attr){.limit = leaks->shared->attr.max_wr + 1};
	refused(leaks, leaks->p->srq->modify(leaks->shared->srq, &attr, false, &map));
	CERT_VERB(leaks->cert, RI_ERR_BUSY, leaks->p->srq->destroy(leaks->shared->srq));
}

static bool
has_ud(const struct ri_rnic_attr *attr)
{
	return attr->ud;
}

/* Not of this adapter, from an address of another host, or to one. The last may be found out later, and then it is created. */
static void
ah_refused(struct leaks *leaks)
{
	struct ri_ah_init init = {.port = leaks->near->attr.num_ports};
	struct ri_addr foreign = {.octets = {203, 0, 113, 7, 9, 9, 9, 9}};
	struct ri_ah *ah = NULL;
	struct ri_pd *pd = NULL;
	enum ri_status status;
	uint32_t id;

	init.dest = cert_address(leaks->near);
	foreign.family = init.dest.family;
	if (leaks->turn % 3 > 0)
		init.port = 0;
	if (leaks->turn % 3 == 1)
		init.source = foreign;
	if (leaks->turn % 3 == 2)
		init.dest = foreign;
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->pd->create(leaks->near->context, &pd));
	status = leaks->p->ah->create(pd, &init, &ah, &id);
	if (leaks->turn % 3 == 2 && status == RI_SUCCESS)
		CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->ah->destroy(ah));
	else
		refused(leaks, status);
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->pd->destroy(pd));
}

static bool
has_groups(const struct ri_rnic_attr *attr)
{
	return attr->multicast;
}

/* What is no group, and a group that the queue pair is not attached to; and one that it is attached to twice. */
static void
groups_refused(struct leaks *leaks)
{
	const struct ri_qp_ops *qp = leaks->p->qp;
	struct ri_addr group = cert_address(leaks->near), none = group;
	struct ri_qp *of = leaks->letters->qp;

	group.octets[0] = group.family == RI_ADDR_GID ? 0xff : 239;
	group.octets[1] = group.family == RI_ADDR_GID ? 0x1e : 1;
	CERT_VERB(leaks->cert, RI_ERR_INVALID_ARG, qp->mcast_attach(of, &none));
	CERT_VERB(leaks->cert, RI_ERR_INVALID_ARG, qp->mcast_detach(of, &group));
	CERT_VERB(leaks->cert, RI_SUCCESS, qp->mcast_attach(of, &group));
	CERT_VERB(leaks->cert, RI_SUCCESS, qp->mcast_attach(of, &group));
	CERT_VERB(leaks->cert, RI_SUCCESS, qp->mcast_detach(of, &group));
	CERT_VERB(leaks->cert, RI_ERR_INVALID_ARG, qp->mcast_detach(of, &group));
}

/* Refused when they are posted. */
static void
posts_refused(struct leaks *leaks)
{
	struct ri_sge sgl[64];
	struct ri_wr wr = {.opcode = RI_OP_RECV, .sgl = sgl, .num_sge = 1};
	struct ri_recv_wr recv = {.sgl = sgl, .num_sge = 64};

	for (size_t i = 0; i < G_N_ELEMENTS(sgl); i++)
		sgl[i] = cert_sge(leaks->region, 0, 1);
	refused(leaks, leaks->p->fast->post_sq(leaks->end->uqp, &wr));
	wr.opcode = RI_OP_SEND;
	wr.num_sge = 64;
	if (leaks->end->init.max_send_sge < 64)
		refused(leaks, leaks->p->fast->post_sq(leaks->end->uqp, &wr));
	if (leaks->end->init.max_recv_sge < 64)
		refused(leaks, leaks->p->fast->post_rq(leaks->end->uqp, &recv));
}

static const struct leak object_rows[] = {
	{.name = "a domain that is busy", .turn = pd_busy},
	{.name = "completion queues that are too large or busy", .turn = cq_refused},
	{.name = "a resize above the limit", .turn = resize_refused, .can = can_resize},
	{.name = "queue pairs above a limit", .turn = qp_refused},
	{.name = "changes of a queue pair that cannot be", .turn = modify_refused},
	{.name = "registrations that cannot be", .turn = mr_refused},
	{.name = "registrations without memory of the host", .turn = attach_refused},
	{.name = "registrations anew that cannot be", .turn = rereg_refused, .can = can_reregister},
	{.name = "shared queues that cannot be", .turn = srq_refused, .can = has_srq},
	{.name = "address handles that cannot be", .turn = ah_refused, .can = has_ud},
	{.name = "groups that cannot be", .turn = groups_refused, .can = has_groups},
	{.name = "posts that cannot be", .turn = posts_refused},
};

static void
objects(struct cert *cert)
{
	struct leaks leaks;
	struct shared shared;
	bool has_shared;

	leaks_open(&leaks, cert);
	has_shared = leaks.near->attr.srq;
	if (has_shared) {
		struct ri_qp_init init = cert_end_defaults(leaks.near);

		shared_new(&shared, leaks.near, &init, 4);
		leaks.shared = &shared;
	}
	if (leaks.near->attr.ud) {
		struct ri_qp_init init = ud_init(leaks.near);

		leaks.letters = cert_end_new(leaks.near, &init);
	}
	run_all(&leaks, object_rows, G_N_ELEMENTS(object_rows));
	if (has_shared)
		shared_free(&shared);
	ordinary(&leaks);
	munmap(leaks.nowhere, 4096);
}

/* --- attempts by address ------------------------------------------------------------------------------ */

/* Create a queue pair of the near side that shares the completion queues of leaks::end, which is never connected. */
static struct ri_qp *
plain_pair(struct leaks *leaks)
{
	struct ri_qp_init init = cert_end_defaults(leaks->near);
	struct ri_qp *qp = NULL;
	struct ri_map map;

	init.ctx = leaks->end->ctx; /* the events of either are the other's, which none looks at */
	CERT_VERB(leaks->cert, RI_SUCCESS,
		  leaks->p->qp->create(leaks->near->pd, &init, leaks->end->scq, leaks->end->rcq,
				       NULL, &qp, &map));
	return qp;
}

static struct ri_cm_params
attempt_params(struct leaks *leaks, const struct ri_service *service)
{
	return cert_params(leaks->end, leaks->far, service);
}

static void
connect_refused(struct leaks *leaks)
{
	static const uint8_t data[RI_PDATA_MAX + 2];
	struct ri_service service = cert_service(leaks->far);
	struct ri_cm_params params = attempt_params(leaks, &service);
	struct ri_qp *qp = plain_pair(leaks);

	switch (leaks->turn % 3) {
	case 0:
		params.pdata = data;
		params.pdata_len = (uint16_t)(leaks->near->attr.connect_pdata + 1);
		break;
	case 1:
		params.ird = leaks->near->attr.max_ird + 1;
		break;
	default:
		params.service.kind = RI_SERVICE_NONE;
		break;
	}
	refused(leaks, leaks->p->cm->connect(qp, &params));
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->qp->destroy(qp));
}

static struct ri_listen *
listen_with(struct leaks *leaks, struct ri_service *service, uint32_t backlog)
{
	struct ri_listen *listen = NULL;

	*service = cert_service(leaks->far);
	CERT_VERB(leaks->cert, RI_SUCCESS,
		  leaks->p->cm->listen(leaks->far->context, leaks->ctx, 0, service, backlog,
				       &listen));
	return listen;
}

static void
listen_refused(struct leaks *leaks)
{
	struct ri_service service, other;
	struct ri_listen *listen = listen_with(leaks, &service, 2), *second = NULL;

	other = service;
	CERT_VERB(leaks->cert, RI_ERR_IN_USE,
		  leaks->p->cm->listen(leaks->far->context, leaks->ctx, 0, &other, 2, &second));
	other.kind = RI_SERVICE_NONE;
	refused(leaks,
		leaks->p->cm->listen(leaks->far->context, leaks->ctx, 0, &other, 2, &second));
	other = service;
	refused(leaks, leaks->p->cm->listen(leaks->far->context, leaks->ctx,
					    leaks->far->attr.num_ports, &other, 2, &second));
	CERT_VERB_VOID(leaks->cert, leaks->p->cm->listen_destroy(listen));
}

/* Attempts at one listener with room for one request end in all ways: each next one must still reach it. */
static void
attempts(struct leaks *leaks)
{
	struct ri_cm_params params, answer;
	struct ri_cm_event event;
	struct ri_qp *qp = plain_pair(leaks);

	if (leaks->listen == NULL)
		leaks->listen = listen_with(leaks, &leaks->service, 1);
	params = attempt_params(leaks, &leaks->service);
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->cm->connect(qp, &params));
	event = cert_cm(leaks->far, RI_CM_REQUEST, leaks->ctx);
	answer = attempt_params(leaks, &leaks->service);
	answer.ord = leaks->near->attr.max_ord + 1;
	switch (leaks->turn % 4) {
	case 0:
		CERT_VERB(leaks->cert, RI_SUCCESS,
			  leaks->p->cm->reject(event.request, RI_CM_REASON_CONSUMER, NULL, 0));
		cert_cm(leaks->near, RI_CM_REJECTED, leaks->end->ctx);
		break;
	case 1: /* an answer that cannot be, and then a refusal */
		CERT_VERB(leaks->cert, RI_ERR_LIMIT,
			  leaks->p->cm->accept(event.request, leaks->end->qp, &answer));
		CERT_VERB(leaks->cert, RI_SUCCESS,
			  leaks->p->cm->reject(event.request, RI_CM_REASON_RESOURCES, NULL, 0));
		cert_cm(leaks->near, RI_CM_FAILED, leaks->end->ctx);
		break;
	case 2: /* the side that connects gives up */
		CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->cm->disconnect(qp, NULL, 0));
		cert_cm(leaks->far, RI_CM_REQUEST_GONE, leaks->ctx);
		answer.ord = 0;
		CERT_VERB(leaks->cert, RI_ERR_INVALID_HANDLE,
			  leaks->p->cm->accept(event.request, leaks->end->qp, &answer));
		break;
	default: /* its queue pair goes */
		CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->qp->destroy(qp));
		cert_cm(leaks->far, RI_CM_REQUEST_GONE, leaks->ctx);
		CERT_VERB(leaks->cert, RI_ERR_INVALID_HANDLE,
			  leaks->p->cm->reject(event.request, RI_CM_REASON_CONSUMER, NULL, 0));
		qp = NULL;
		break;
	}
	CERT_UINT(leaks->cert, cert_end_attr(leaks->end).state, ==, RI_QPS_IDLE);
	if (qp != NULL)
		CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->qp->destroy(qp));
	cert_events_forget(leaks->near);
	cert_events_forget(leaks->far);
}

static void
no_listener(struct leaks *leaks)
{
	struct ri_cm_params params;
	struct ri_qp *qp = plain_pair(leaks);

	if (leaks->service.kind == RI_SERVICE_NONE)
		CERT_VERB_VOID(leaks->cert, leaks->p->cm->listen_destroy(
						    listen_with(leaks, &leaks->service, 1)));
	params = attempt_params(leaks, &leaks->service);
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->cm->connect(qp, &params));
	cert_cm(leaks->near, RI_CM_FAILED, leaks->end->ctx);
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->qp->destroy(qp));
}

/* Queries of one context that are answered, refused, or withdrawn before or after an answer. */
static void
queries(struct leaks *leaks)
{
	const struct ri_cm_ops *cm = leaks->p->cm;
	struct ri_service_answer answer = {.status = leaks->turn % 4 == 1 ? RI_SERVICE_REJECTED
									  : RI_SERVICE_FOUND,
					   .qpn = 5,
					   .qkey = UD_KEY};
	struct ri_cm_params params;
	struct ri_cm_event event;

	if (leaks->listen == NULL)
		leaks->listen = listen_with(leaks, &leaks->service, 1);
	params = attempt_params(leaks, &leaks->service);
	CERT_VERB(leaks->cert, RI_SUCCESS,
		  cm->resolve(leaks->near->context, leaks->query, &params));
	CERT_VERB(leaks->cert, RI_ERR_BUSY,
		  cm->resolve(leaks->near->context, leaks->query, &params));
	event = cert_cm_request(leaks->far, RI_CM_SERVICE_REQUEST, leaks->ctx);
	if (leaks->turn % 4 == 2)
		CERT_VERB_VOID(leaks->cert, cm->resolve_cancel(leaks->near->context, leaks->query));
	cert_verb_begin(leaks->cert);
	(void)!cm->resolve_answer(event.request, &answer);
	cert_verb_end(leaks->cert, CERT_WHERE, "resolve_answer");
	if (leaks->turn % 4 < 2) {
		event = cert_cm(leaks->near, RI_CM_SERVICE_REPLY, leaks->query);
		CERT_UINT(leaks->cert, event.service_status, ==, answer.status);
	}
	CERT_VERB_VOID(leaks->cert, cm->resolve_cancel(leaks->near->context, leaks->query));
	cert_events_forget(leaks->near);
	cert_events_forget(leaks->far);
}

static const struct leak attempt_rows[] = {
	{.name = "connects that cannot be", .turn = connect_refused},
	{.name = "listeners that cannot be", .turn = listen_refused},
	{.name = "attempts without a listener", .turn = no_listener},
	{.name = "attempts that are not accepted", .turn = attempts},
	{.name = "queries of a service", .turn = queries, .can = has_ud},
};

static void
by_address(struct cert *cert)
{
	struct leaks leaks;

	leaks_open(&leaks, cert);
	run_all(&leaks, attempt_rows, G_N_ELEMENTS(attempt_rows));
	ordinary(&leaks);
	munmap(leaks.nowhere, 4096);
}

/* --- streams -------------------------------------------------------------------------------------------- */

/* What is no stream is refused, and stays with the caller. */
static void
stream_refused(struct leaks *leaks)
{
	struct ri_stream stream = {.fd = -1, .initiator = true, .peer_local = true, .crc = true};
	struct ri_qp *qp = plain_pair(leaks);
	int fds[2];

	CERT_TRUE(leaks->cert,
		  socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
	stream.fd = fds[0];
	refused(leaks, leaks->p->llp->attach_stream(qp, &stream)); /* in IDLE */
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->llp->reserve(qp));
	CERT_VERB(leaks->cert, RI_ERR_INVALID_STATE, leaks->p->llp->reserve(qp));
	refused(leaks, leaks->p->llp->attach_stream(qp, &stream));
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->qp->destroy(qp));
	CERT_TRUE(leaks->cert, close(fds[0]) == 0 && close(fds[1]) == 0);
}

/* The host watches no more descriptors. */
static void
watch_refused(struct leaks *leaks)
{
	struct ri_stream stream = {.initiator = true, .peer_local = true, .crc = true};
	struct ri_qp *qp = plain_pair(leaks);
	enum ri_status status;
	int fds[2];

	cert_tcp_pair(leaks->cert, fds);
	stream.fd = fds[0];
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->llp->reserve(qp));
	cert_host_refuse_watch(cert_host(leaks->cert), 1);
	status = leaks->p->llp->attach_stream(qp, &stream);
	cert_host_refuse_watch(cert_host(leaks->cert), 0);
	CERT_VERB(leaks->cert, RI_SUCCESS, leaks->p->qp->destroy(qp));
	if (status != RI_SUCCESS)
		close(fds[0]);
	close(fds[1]);
	cert_events_forget(leaks->near);
}

static const struct leak stream_rows[] = {
	{.name = "streams that are none", .turn = stream_refused, .turns = 300},
	{.name = "streams that the host does not watch", .turn = watch_refused, .turns = LONGER},
};

static void
over_streams(struct cert *cert)
{
	struct leaks leaks;

	leaks_open(&leaks, cert);
	run_all(&leaks, stream_rows, G_N_ELEMENTS(stream_rows));
	ordinary(&leaks);
	munmap(leaks.nowhere, 4096);
}

/* --- connections that fail -------------------------------------------------------------------------------- */

/* With work posted on both sides, one of several faults ends the connection. Nobody polls the completions. */
static void
failure(struct leaks *leaks)
{
	struct cert_end *a = cert_end_new(leaks->near, NULL), *b = cert_end_new(leaks->far, NULL);
	struct ri_sge source = cert_sge(leaks->region, 0, 64);
	struct ri_sge sink = cert_sge(leaks->into, 0, 64), bad = sink;

	cert_connect(a, b);
	for (unsigned i = 0; i < 3; i++)
		cert_post_recv(b, i, &sink, 1);
	cert_post_recv(a, 0, &source, 1);
	cert_post_send(a, 1, &source, 1, 0);
	bad.stag ^= 0x100;
	switch (leaks->turn % 5) {
	case 0:
		cert_post_rdma(a, RI_OP_RDMA_WRITE, 2, &source, &bad);
		break;
	case 1:
		cert_post_send(a, 2, &bad, 1, 0);
		break;
	case 2:
		cert_post_rdma(a, RI_OP_RDMA_READ, 2, &source, &bad);
		break;
	case 3:
		bad = cert_sge(leaks->region, 0, 128); /* too long for the receive */
		cert_post_send(a, 2, &bad, 1, 0);
		break;
	default:
		CERT_UINT(leaks->cert, cert_end_move(b, RI_QPS_ERROR), ==, RI_SUCCESS);
		break;
	}
	cert_wait_end(a);
	cert_wait_end(b);
	cert_end_free(leaks->turn % 2 == 0 ? a : b);
	cert_end_free(leaks->turn % 2 == 0 ? b : a);
	cert_events_forget(leaks->near);
	cert_events_forget(leaks->far);
}

static const struct leak failure_rows[] = {
	{.name = "connections that fail", .turn = failure, .turns = 300},
};

static void
failures(struct cert *cert)
{
	struct leaks leaks;

	leaks_open(&leaks, cert);
	run_all(&leaks, failure_rows, G_N_ELEMENTS(failure_rows));
	ordinary(&leaks);
	munmap(leaks.nowhere, 4096);
}

static const struct cert_case cases[] = {
	{.id = "verbs.leak.object.0001",
	 .title =
		 "Objects that are refused a thousand times leave nothing, and keep no domain busy",
	 .rule = "[RI 2.1.1] [RI 2.2.3]",
	 .run = objects},
	{.id = "verbs.leak.attempt.0001",
	 .title =
		 "Attempts that fail a thousand times leave nothing, nor a place at their listener",
	 .rule = "[RI 2.1.1] [RI 11.6.1]",
	 .needs = "cm_forms:RI_CM_ADDRESS",
	 .run = by_address},
	{.id = "verbs.leak.stream.0001",
	 .title = "Streams that are refused again and again leave nothing and stay with the caller",
	 .rule = "[RI 2.1.1] [RI 11.6.3]",
	 .needs = "cm_forms:RI_CM_STREAM",
	 .run = over_streams},
	{.id = "verbs.leak.failure.0001",
	 .title = "Connections that fail again and again leave nothing",
	 .rule = "[RI 2.1.4] [RI 3.3.3]",
	 .run = failures},
};

CERT_SET(verbs_leaks, cases);
