/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Claims of the profile that are about the adapter as a whole, or that no request can show. */

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cert_host.h"
#include "cert_node.h"

/* --- depths of all queue pairs together ------------------------------------------------------ */

#define DEEP_ENDS 8

/* Queue pairs of the greatest depth, as many as the common limit allows; 0: it allows any number. */
static void
depths_expect(struct cert *cert, struct ri_qp_init init, uint32_t each, uint32_t limit)
{
	struct cert_node *node = cert_node_open(cert);
	unsigned fit = limit == 0 || each == 0 ? DEEP_ENDS : MIN(limit / each, DEEP_ENDS);

	for (unsigned i = 0; i < fit; i++)
		cert_end_new(node, &init);
	if (fit == DEEP_ENDS)
		cert_note(cert, "%u queue pairs do not reach a common limit of %u", fit, limit);
}

static void
common_ird(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	struct ri_qp_init init = {.max_sq_wr = 1, .max_rq_wr = 1, .hard_limit = UINT32_MAX};

	init.ird = attr->max_ird;
	depths_expect(cert, init, attr->max_ird, attr->max_rnic_ird);
}

static void
common_ord(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	struct ri_qp_init init = {.max_sq_wr = 1, .max_rq_wr = 1, .hard_limit = UINT32_MAX};

	init.ord = attr->max_ord;
	depths_expect(cert, init, attr->max_ord, attr->max_rnic_ord);
}

/* --- messages -------------------------------------------------------------------------------- */

#define PARTS 4

/* False, and the case is skipped: so much memory cannot be registered here. */
static bool
is_registered(struct cert_node *node, const struct ri_mr_init *init, struct ri_mr **mr,
	      uint32_t *stag)
{
	enum ri_status status;

	cert_verb_begin(node->cert);
	status = node->p->mem->mr_reg(node->pd, init, mr, stag);
	cert_verb_end(node->cert, CERT_WHERE, "mr_reg");
	if (status == RI_ERR_RESOURCES)
		cert_skip(node->cert, "the system does not lock so much memory");
	else
		cert_expect_status(node->cert, CERT_WHERE, "mr_reg", status, RI_SUCCESS);
	return status == RI_SUCCESS;
}

/* Segments that name the same memory, whose sum is one more than a message can have. */
static void
message_too_long(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);
	unsigned parts = CLAMP(a->init.max_send_sge, 1, PARTS);
	uint64_t length = near->attr.max_message_size / parts + 1;
	struct ri_mr_init init = {.length = length, .access = CERT_LOCAL};
	struct ri_sge sgl[PARTS];
	struct ri_mr *mr = NULL;
	uint32_t stag = 0;
	void *memory;

	memory = length > near->attr.max_mr_length || length > UINT32_MAX
			 ? MAP_FAILED
			 : mmap(NULL, length, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		cert_skip(cert, "there is no memory for segments that long");
		return;
	}
	init.addr = (uintptr_t)memory;
	if (!is_registered(near, &init, &mr, &stag)) {
		munmap(memory, length);
		return;
	}
	for (unsigned i = 0; i < parts; i++)
		sgl[i] = (struct ri_sge){init.addr, (uint32_t)length, stag};
	cert_connect(a, b);
	cert_post_send(a, 1, sgl, parts, 0);
	cert_wc_is(a, false, 1, RI_WC_LOCAL_LENGTH);
	cert_node_close(near);
	munmap(memory, length);
}

/* The longest message is accepted by the post. The peer has no receive for it, so its data need not move. */
static void
message_of_the_limit(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);
	const uint64_t whole = near->attr.max_message_size;
	unsigned parts = CLAMP(a->init.max_send_sge, 1, PARTS);
	struct ri_mr_init init = {.length = whole / parts + parts, .access = RI_ACCESS_LOCAL_READ};
	struct ri_sge sgl[PARTS];
	struct ri_mr *mr = NULL;
	struct ri_wc wc = {.status = RI_WC_SUCCESS};
	uint32_t stag = 0;
	void *memory;

	memory = init.length > near->attr.max_mr_length || init.length > UINT32_MAX
			 ? MAP_FAILED
			 : mmap(NULL, init.length, PROT_READ,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		cert_skip(cert, "there is no memory for segments that long");
		return;
	}
	init.addr = (uintptr_t)memory;
	if (!is_registered(near, &init, &mr, &stag)) {
		munmap(memory, init.length);
		return;
	}
	for (unsigned i = 0; i < parts; i++)
		sgl[i] = (struct ri_sge){init.addr, (uint32_t)(whole / parts), stag};
	sgl[parts - 1].length += (uint32_t)(whole % parts);
	cert_connect(a, b);
	cert_post_send(a, 1, sgl, parts, 0);
	for (unsigned i = 0; i < 200 && near->p->fast->poll_cq(a->uscq, &wc, 1) == 0; i++)
		cert_progress(cert);
	if (wc.status == RI_WC_LOCAL_LENGTH)
		cert_failed(cert, CERT_WHERE, "a message as long as the profile claims",
			    "its length is no error", "RI_WC_LOCAL_LENGTH");
	cert_node_close(near);
	munmap(memory, init.length);
}

/* A Send that no receive has taken is not at the peer. */
static void
acked(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);

	cert_connect(a, b);
	cert_post_send(a, 1, NULL, 0, 0);
	cert_wc_none(a, false);
	cert_post_recv(b, 2, NULL, 0);
	cert_wc_is(b, true, 2, RI_WC_SUCCESS);
	cert_wc_is(a, false, 1, RI_WC_SUCCESS);
}

/* A Send into a stream whose other end is a plain socket: no peer can have acknowledged it. */
static void
never_acknowledged(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_end *end = cert_end_new(node, NULL);
	struct ri_stream stream = {
		.initiator = true, .crc = true, .ird = end->init.ird, .ord = end->init.ord};
	int fds[2];

	cert_tcp_pair(cert, fds);
	stream.fd = fds[0];
	CERT_VERB(cert, RI_SUCCESS, node->p->llp->reserve(end->qp));
	CERT_VERB(cert, RI_SUCCESS, node->p->llp->attach_stream(end->qp, &stream));
	cert_async(node, RI_EVENT_QP_STREAM_UP, end->ctx);
	cert_post_send(end, 1, NULL, 0, 0);
	cert_wc_none(end, false);
	close(fds[1]);
}

/* --- shared receive queues ------------------------------------------------------------------- */

/* An end whose queue pair is replaced by one with an SRQ. */
static void
qp_share(struct cert_end *end, struct ri_srq *srq, struct ri_usrq *usrq)
{
	struct cert_node *node = end->node;
	struct ri_map map;

	CERT_VERB_VOID(node->cert, node->p->user->qp_close(end->uqp));
	CERT_VERB(node->cert, RI_SUCCESS, node->p->qp->destroy(end->qp));
	end->init = cert_end_defaults(node);
	end->init.ctx = end->ctx;
	CERT_VERB(
		node->cert, RI_SUCCESS,
		node->p->qp->create(node->pd, &end->init, end->scq, end->rcq, srq, &end->qp, &map));
	CERT_VERB(node->cert, RI_SUCCESS,
		  node->p->user->qp_open(node->urnic, &map, end->uscq, end->urcq, usrq, &end->uqp));
}

/* The event comes if it is claimed, and only then. */
static void
last_receive(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);
	struct ri_srq_attr attr = {
		.ctx = cert_ctx_new(near, RI_OBJECT_SRQ), .max_wr = 4, .max_sge = 1};
	struct ri_srq *srq = NULL;
	struct ri_usrq *usrq = NULL;
	struct ri_map map;

	CERT_VERB(cert, RI_SUCCESS, near->p->srq->create(near->pd, &attr, &srq, &map));
	CERT_VERB(cert, RI_SUCCESS, near->p->user->srq_open(near->urnic, &map, &usrq));
	qp_share(a, srq, usrq);
	cert_connect(a, b);
	CERT_UINT(cert, cert_end_move(a, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wait_end(a);
	if (near->attr.last_wqe_event)
		cert_async(near, RI_EVENT_QP_LAST_WQE, a->ctx);
	cert_wc_none(a, true);
	CERT_UINT(cert, cert_async_count(near, RI_EVENT_QP_LAST_WQE, a->ctx), ==, 0);
	cert_end_free(a);
	CERT_VERB_VOID(cert, near->p->user->srq_close(usrq));
	CERT_VERB(cert, RI_SUCCESS, near->p->srq->destroy(srq));
}

/* --- where the adapter is -------------------------------------------------------------------- */

/* The spigot with an address over which a connection stands is online. */
static void
online_expect(struct cert_node *node, const struct ri_addr *addr)
{
	for (uint32_t i = 0; i < node->attr.num_ports; i++) {
		struct ri_port_attr port = {.size = sizeof(port)};

		CERT_VERB(node->cert, RI_SUCCESS,
			  node->p->device->query_port(node->rnic, i, &port));
		for (uint32_t k = 0; k < port.num_addrs; k++)
			if (memcmp(port.addrs[k].octets, addr->octets, sizeof(addr->octets)) == 0)
				CERT_TRUE(node->cert, port.online);
	}
}

/* Peers of this process are reached by address; streams of a case are those of the loopback interface. */
static void
reached_here(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);
	struct ri_addr addr = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}};

	cert_connect(a, b);
	if ((near->attr.cm_forms & RI_CM_ADDRESS) != 0)
		addr = cert_address(near);
	online_expect(near, &addr);
	cert_disconnect(a, b);
}

/* The host does what a kernel driver would: it is asked for the memory of each region. */
static void
host_attaches(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	unsigned before = cert_host_counts(cert_host(cert)).attaches;

	cert_region_free(cert_region_new(node, 4096, CERT_ALL));
	CERT_UINT(cert, cert_host_counts(cert_host(cert)).attaches, >, before);
}

/* What the other thread was told. */
struct rival {
	struct cert_node *node;
	bool leads;
};

static void *
rival_enter(void *arg)
{
	struct rival *rival = arg;
	int fd = -1;

	rival->leads = rival->node->p->fast->leader_enter(rival->node->urnic, &fd);
	if (rival->leads)
		rival->node->p->fast->leader_leave(rival->node->urnic);
	return NULL;
}

static bool
rival_leads(struct cert *cert, struct cert_node *node)
{
	struct rival rival = {.node = node};
	pthread_t thread;

	CERT_UINT(cert, pthread_create(&thread, NULL, rival_enter, &rival), ==, 0);
	pthread_join(thread, NULL);
	return rival.leads;
}

/* An engine that wants a sleeper has one leader; one that wants none says so by its descriptor. */
static void
leads(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	int fd = -2;

	(void)node->p->fast->progress(node->urnic, 64);
	CERT_TRUE(cert, node->p->fast->leader_enter(node->urnic, &fd));
	CERT_TRUE(cert, fd >= -1);
	if (fd >= 0)
		CERT_TRUE(cert, !rival_leads(cert, node));
	node->p->fast->leader_leave(node->urnic);
	CERT_TRUE(cert, rival_leads(cert, node));
}

/* --- what this version of the interface has no request for ----------------------------------- */

static void
without_requests(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);

	if (attr->masked_atomics || attr->shared_mr)
		cert_skip(cert, "no request and no verb of this version uses what is claimed");
}

/* --- what the tests of IT-API need of each adapter ------------------------------------------- */

static void
application_limits(struct cert *cert)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	const struct {
		const char *name;
		uint64_t claimed, least;
	} rows[] = {
		{"max_pd", attr->max_pd, 16},
		{"max_qp", attr->max_qp, 64},
		{"max_cq", attr->max_cq, 64},
		{"max_mr", attr->max_mr, 64},
		{"max_cqe", attr->max_cqe, 1024},
		{"max_sq_wr", attr->max_sq_wr, 16},
		{"max_rq_wr", attr->max_rq_wr, 16},
		{"max_mr_length", attr->max_mr_length, 1u << 20},
		{"max_message_size", attr->max_message_size, 1u << 18},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		cert_expect_uint(cert, CERT_WHERE, rows[i].name, rows[i].claimed,
				 ">=", rows[i].least);
	CERT_UINT(cert, attr->cm_forms & (RI_CM_ADDRESS | RI_CM_STREAM), !=, 0);
}

static const struct cert_case cases[] = {
	{.id = "border.application.0001",
	 .title = "The limits are those that the tests of IT-API need of each adapter",
	 .rule = "[RI 11.1.3]",
	 .run = application_limits},
	{.id = "border.depth.0001",
	 .title = "Queue pairs have the IRD that the adapter claims for all together",
	 .rule = "[RI 2.2.2]",
	 .settles = "max_rnic_ird",
	 .run = common_ird},
	{.id = "border.depth.0002",
	 .title = "Queue pairs have the ORD that the adapter claims for all together",
	 .rule = "[RI 2.2.2]",
	 .settles = "max_rnic_ord",
	 .run = common_ord},
	{.id = "border.message.0001",
	 .title = "A message that is longer than the greatest fails with its length",
	 .rule = "[RI 10.36] [RI 3.3]",
	 .settles = "max_message_size",
	 .run = message_too_long},
	{.id = "border.message.0003",
	 .title = "A message of the greatest length is no error",
	 .rule = "[RI 10.36]",
	 .settles = "max_message_size",
	 .run = message_of_the_limit},
	{.id = "border.message.0002",
	 .title = "A Send does not complete before the peer has taken it",
	 .rule = "[RI 10.20]",
	 .needs = "completion_acked rnr_mode:RI_RNR_RETRY",
	 .settles = "completion_acked",
	 .run = acked},
	{.id = "border.message.0004",
	 .title = "A Send does not complete where there is no peer that could take it",
	 .rule = "[RI 10.20]",
	 .needs = "completion_acked cm_forms:RI_CM_STREAM",
	 .settles = "completion_acked",
	 .run = never_acknowledged},
	{.id = "border.share.0001",
	 .title =
		 "The last receive of a shared queue is told where that is claimed, and only there",
	 .rule = "[RI 10.27]",
	 .needs = "srq",
	 .settles = "last_wqe_event",
	 .run = last_receive},
	{.id = "border.place.0001",
	 .title = "Peers in the address space are reached",
	 .rule = "[RI 11.6.1]",
	 .needs = "one_address_space",
	 .settles = "one_address_space",
	 .run = reached_here},
	{.id = "border.place.0002",
	 .title = "Peers at the other end of a stream are reached",
	 .rule = "[RI 11.6.3]",
	 .needs = "!one_address_space cm_forms:RI_CM_STREAM",
	 .settles = "one_address_space",
	 .run = reached_here},
	{.id = "border.place.0003",
	 .title = "Without a kernel driver of its own the provider asks the host for memory",
	 .rule = "[RI 11.3.1]",
	 .needs = "!kvp_in_process",
	 .settles = "kvp_in_process",
	 .run = host_attaches},
	{.id = "border.engine.0001",
	 .title = "One thread leads the engine at a time",
	 .rule = "[RI 2.3.2]",
	 .needs = "software",
	 .settles = "software",
	 .run = leads},
	{.id = "border.unused.0001",
	 .title = "What no request can use is not claimed",
	 .rule = "[RI 10.5] [RI 10.41]",
	 .settles = "masked_atomics shared_mr",
	 .run = without_requests},
};

CERT_SET(border_profile, cases);
