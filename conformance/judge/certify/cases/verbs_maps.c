/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The two halves of an object, which a map connects; contexts that come back; owners of contexts and their privilege. */

#include <string.h>
#include <unistd.h>

#include "cert_host.h"
#include "verbs_pair.h"

#define SCRAPPED 0xa5 /* what a map is filled with once the provider may no longer read it */
#define ENTRIES  32u

/* --- maps ---------------------------------------------------------------------------------- */

/* A map as the user half gets it: at another place, and the original is gone. */
static struct ri_map
moved(struct ri_map *map)
{
	struct ri_map copy = *map;

	memset(map, SCRAPPED, sizeof(*map));
	return copy;
}

static void
queue_open(struct cert_node *node, struct ri_urnic *urnic, uint64_t ctx, struct ri_cq **cq,
	   struct ri_ucq **ucq)
{
	uint32_t entries = ENTRIES;
	struct ri_map map, copy;

	CERT_VERB(node->cert, RI_SUCCESS,
		  node->p->cq->create(node->context, ctx, &entries, cq, &map));
	copy = moved(&map);
	CERT_VERB(node->cert, RI_SUCCESS, node->p->user->cq_open(urnic, &copy, ucq));
	(void)moved(&copy);
}

/* The user halves of a node with a queue pair, opened from copies of the maps, which are overwritten at once. */
static void
maps_are_flat(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	const struct ri_provider *p = node->p;
	const struct ri_owner owner = {.mem_owner = cert_host_owner(),
				       .pid = (uint32_t)getpid(),
				       .uid = (uint32_t)getuid(),
				       .privileged = true};
	struct cert_node other = *node; /* with a context and a user half of its own */
	struct cert_end end = {.node = node, .init = cert_end_defaults(node)};
	struct ri_map map, copy;

	CERT_VERB(cert, RI_SUCCESS,
		  p->device->context_create(node->rnic, &owner, &other.context, &map));
	copy = moved(&map);
	CERT_VERB(cert, RI_SUCCESS,
		  p->user->rnic_open(cert_host_table(cert_host(cert)), &copy, &other.urnic));
	(void)moved(&copy);
	CERT_VERB(cert, RI_SUCCESS, p->pd->create(other.context, &other.pd));
	queue_open(&other, other.urnic, cert_ctx_new(node, RI_OBJECT_CQ), &end.scq, &end.uscq);
	queue_open(&other, other.urnic, cert_ctx_new(node, RI_OBJECT_CQ), &end.rcq, &end.urcq);
	end.ctx = end.init.ctx = cert_ctx_new(node, RI_OBJECT_QP);
	CERT_VERB(cert, RI_SUCCESS,
		  p->qp->create(other.pd, &end.init, end.scq, end.rcq, NULL, &end.qp, &map));
	copy = moved(&map);
	CERT_VERB(cert, RI_SUCCESS,
		  p->user->qp_open(other.urnic, &copy, end.uscq, end.urcq, NULL, &end.uqp));
	(void)moved(&copy);
	cert_note(cert, "the halves belong together");
	for (uint64_t id = 0; id < 4; id++)
		cert_post_recv(&end, id, NULL, 0);
	CERT_UINT(cert, cert_end_move(&end, RI_QPS_ERROR), ==, RI_SUCCESS);
	for (uint64_t id = 0; id < 4; id++)
		cert_wc_is(&end, true, id, RI_WC_FLUSHED);
	CERT_VERB_VOID(cert, p->user->qp_close(end.uqp));
	CERT_VERB_VOID(cert, p->user->cq_close(end.uscq));
	CERT_VERB_VOID(cert, p->user->cq_close(end.urcq));
	CERT_VERB_VOID(cert, p->user->rnic_close(other.urnic));
	CERT_VERB_VOID(cert, p->device->context_destroy(other.context));
	cert_ctx_gone(node, end.ctx);
}

static void
map_of_a_shared_queue(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct ri_recv_wr wr = {.wr_id = 1};
	struct ri_srq *srq = NULL;
	struct ri_usrq *usrq = NULL;
	struct ri_map map, copy;

	attr.ctx = cert_ctx_new(node, RI_OBJECT_SRQ);
	CERT_VERB(cert, RI_SUCCESS, node->p->srq->create(node->pd, &attr, &srq, &map));
	copy = moved(&map);
	CERT_VERB(cert, RI_SUCCESS, node->p->user->srq_open(node->urnic, &copy, &usrq));
	(void)moved(&copy);
	CERT_FAST(cert, RI_SUCCESS, node->p->fast->post_srq(usrq, &wr));
	CERT_VERB(cert, RI_SUCCESS, node->p->srq->query(srq, &attr));
	CERT_UINT(cert, attr.available, ==, 1);
	CERT_VERB_VOID(cert, node->p->user->srq_close(usrq));
	CERT_VERB(cert, RI_SUCCESS, node->p->srq->destroy(srq));
}

/* --- contexts ------------------------------------------------------------------------------ */

#define PAIRS 3u

/* Several queue pairs of one adapter: each completion and each event names the one that it is of, in all 64 bits. */
static void
contexts(struct cert *cert)
{
	struct pair pair;
	struct cert_end *a[PAIRS], *b[PAIRS];
	gint64 until = 0;

	pair_open(&pair, cert, NULL);
	for (unsigned i = 0; i < PAIRS; i++) {
		a[i] = cert_end_new(pair.near, NULL);
		b[i] = cert_end_new(pair.far, NULL);
		cert_connect(a[i], b[i]);
		CERT_UINT(cert, b[i]->ctx, >, UINT32_MAX);
		CERT_UINT(cert, b[i]->rcq_ctx, >, UINT32_MAX);
	}
	CERT_FAST(cert, RI_SUCCESS, pair.far->p->fast->arm_cq(b[1]->urcq, RI_ARM_NEXT, 1));
	for (unsigned i = 0; i < PAIRS; i++) {
		cert_post_recv(b[i], i, &pair.sink, 1);
		cert_post_send(a[i], i, &pair.source, 1, 0);
		CERT_UINT(cert, cert_wc_is(a[i], false, i, RI_WC_SUCCESS).qp_ctx, ==, a[i]->ctx);
	}
	while (cert_cq_events(pair.far, b[1]->rcq_ctx) == 0)
		CERT_TRUE(cert, cert_patience(cert, &until));
	CERT_UINT(cert, cert_cq_events(pair.far, b[0]->rcq_ctx), ==, 0);
	CERT_UINT(cert, cert_cq_events(pair.far, b[2]->rcq_ctx), ==, 0);
	for (unsigned i = 0; i < PAIRS; i++)
		CERT_UINT(cert, cert_wc_is(b[i], true, i, RI_WC_SUCCESS).qp_ctx, ==, b[i]->ctx);
	CERT_UINT(cert, cert_end_move(a[1], RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wait_end(a[1]);
	cert_wait_end(b[1]);
	cert_note(cert, "the others stand");
	CERT_UINT(cert, cert_end_attr(b[0]).state, ==, RI_QPS_RTS);
	CERT_UINT(cert, cert_end_attr(b[2]).state, ==, RI_QPS_RTS);
	CERT_UINT(cert, cert_cm_count(pair.far, RI_CM_BROKEN, b[0]->ctx), ==, 0);
	CERT_UINT(cert, cert_async_ends(pair.far, b[2]->ctx), ==, 0);
}

/* --- owners -------------------------------------------------------------------------------- */

/* Another process is not served, or gets a map that it can open. */
static void
another_process(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	const struct ri_owner owner = {.mem_owner = cert_host_owner(),
				       .pid = (uint32_t)getpid(),
				       .uid = (uint32_t)getuid(),
				       .shared = true};
	struct ri_map map = {.fd = -1};
	struct ri_context *context = NULL;
	enum ri_status status;

	cert_verb_begin(cert);
	status = node->p->device->context_create(node->rnic, &owner, &context, &map);
	cert_verb_end(cert, CERT_WHERE, "context_create");
	if (status == RI_SUCCESS) {
		CERT_UINT(cert, map.shared, ==, 1);
		CERT_TRUE(cert, map.fd >= 0);
		CERT_VERB_VOID(cert, node->p->device->context_destroy(context));
	} else {
		CERT_UINT(cert, status, ==, RI_ERR_UNSUPPORTED);
	}
	cert_note(cert, "this process is served as before");
	cert_end_free(cert_end_new(node, NULL));
}

static _Alignas(4096) uint8_t page[4096];

/* Lists of memory and regions without any are for privileged owners. */
static void
without_privilege(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	const struct ri_mem_ops *mem = node->p->mem;
	const struct ri_owner owner = {.mem_owner = cert_host_owner(),
				       .pid = (uint32_t)getpid(),
				       .uid = (uint32_t)getuid()};
	const uint64_t pages[] = {(uintptr_t)page};
	struct ri_mr_init reserve = {.access = CERT_LOCAL, .unlinked = true, .max_pages = 1};
	struct ri_mr_init list = {.addr = pages[0],
				  .length = sizeof(page),
				  .access = CERT_LOCAL,
				  .pages = pages,
				  .max_pages = 1,
				  .page_size = sizeof(page)};
	struct ri_mr_init range = {.addr = pages[0], .length = sizeof(page), .access = CERT_LOCAL};
	unsigned attached = cert_host_attached(cert_host(cert));
	struct ri_context *context = NULL;
	struct ri_pd *pd = NULL;
	struct ri_mr *mr = NULL;
	struct ri_map map;
	uint32_t stag = 0;

	CERT_VERB(cert, RI_SUCCESS,
		  node->p->device->context_create(node->rnic, &owner, &context, &map));
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(context, &pd));
	CERT_VERB(cert, RI_ERR_PERMISSION, mem->mr_reg(pd, &reserve, &mr, &stag));
	if (node->attr.reg_page_list)
		CERT_VERB(cert, RI_ERR_PERMISSION, mem->mr_reg(pd, &list, &mr, &stag));
	CERT_UINT(cert, cert_host_attached(cert_host(cert)), ==, attached);
	cert_note(cert, "a range is for everybody, and a privileged owner may do all of it");
	CERT_VERB(cert, RI_SUCCESS, mem->mr_reg(pd, &range, &mr, &stag));
	CERT_VERB(cert, RI_SUCCESS, mem->mr_dereg(mr));
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(pd));
	CERT_VERB_VOID(cert, node->p->device->context_destroy(context));
	CERT_VERB(cert, RI_SUCCESS, mem->mr_reg(node->pd, &reserve, &mr, &stag));
	CERT_VERB(cert, RI_SUCCESS, mem->mr_dereg(mr));
}

static const struct cert_case cases[] = {
	{.id = "verbs.maps.flat.0001",
	 .title = "The user halves of an adapter, its queues and queue pairs open from moved maps",
	 .rule = "[RI 11.2.1]",
	 .run = maps_are_flat},
	{.id = "verbs.maps.flat.0002",
	 .title = "The user half of a shared receive queue opens from a moved map",
	 .rule = "[RI 11.2.1]",
	 .needs = "srq",
	 .run = map_of_a_shared_queue},
	{.id = "verbs.maps.context.0001",
	 .title = "Completions and events name their object by all 64 bits of its context",
	 .rule = "[RI 11.4.1]",
	 .run = contexts},
	{.id = "verbs.maps.owner.0001",
	 .title = "Another process is refused, or gets maps with descriptors",
	 .rule = "[RI 2.2.1] [RI 11.2.1]",
	 .run = another_process},
	{.id = "verbs.maps.owner.0002",
	 .title = "Lists of memory and reserved STags need a privileged owner",
	 .rule = "[RI 10.12] [RI 10.40]",
	 .needs = "fast_register",
	 .settles = "fast_register",
	 .run = without_privilege},
};

CERT_SET(verbs_maps, cases);
