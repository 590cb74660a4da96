/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Adapters, queue pairs and memory of a case. cert_connect.c connects them, cert_work.c moves data. */

#include "cert_node.h"

#include <string.h>
#include <unistd.h>

#include "cert_frame.h"
#include "cert_profile.h"

/* --- adapters -------------------------------------------------------------------------------- */

struct cert_node *
cert_node_open(struct cert *cert)
{
	struct cert_node *node = g_new0(struct cert_node, 1);
	const struct ri_host *host = cert_host_table(cert->host);
	struct ri_owner owner = {
		.mem_owner = cert_host_owner(),
		.pid = (uint32_t)getpid(),
		.uid = (uint32_t)getuid(),
		.privileged = true,
	};
	struct ri_open open = {.host = host};
	struct ri_map map;

	node->cert = cert;
	node->p = cert_provider(cert);
	node->upcalls = cert_upcalls_new(cert);
	node->ends = g_ptr_array_new();
	node->regions = g_ptr_array_new();
	open.upcalls = cert_upcalls_table(node->upcalls);
	g_strlcpy(open.name, cert_adapter(cert), sizeof(open.name));
	CERT_VERB(cert, RI_SUCCESS, node->p->device->open(&open, &node->rnic));
	g_ptr_array_add(cert->nodes, node);
	node->attr.size = sizeof(node->attr);
	CERT_VERB(cert, RI_SUCCESS, node->p->device->query(node->rnic, &node->attr));
	cert_profile_cut(&node->attr, node->p->abi_minor);
	CERT_VERB(cert, RI_SUCCESS,
		  node->p->device->context_create(node->rnic, &owner, &node->context, &map));
	CERT_VERB(cert, RI_SUCCESS, node->p->user->rnic_open(host, &map, &node->urnic));
	CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(node->context, &node->pd));
	return node;
}

/* The user half of an end; its privileged half is left to the caller. */
static void
end_close(struct cert_end *end)
{
	const struct ri_user_ops *user = end->node->p->user;

	if (end->uqp != NULL)
		CERT_VERB_VOID(end->node->cert, user->qp_close(end->uqp));
	CERT_VERB_VOID(end->node->cert, user->cq_close(end->uscq));
	CERT_VERB_VOID(end->node->cert, user->cq_close(end->urcq));
}

/* The context is destroyed with everything in it, in whatever state [RI 2.2.4]. */
void
cert_node_close(struct cert_node *node)
{
	struct cert *cert = node->cert;

	for (guint i = 0; i < node->ends->len; i++)
		end_close(g_ptr_array_index(node->ends, i));
	CERT_VERB_VOID(cert, node->p->user->rnic_close(node->urnic));
	CERT_VERB_VOID(cert, node->p->device->context_destroy(node->context));
	CERT_VERB_VOID(cert, node->p->device->close(node->rnic));
	cert_upcalls_close(node->upcalls);
	g_ptr_array_remove(cert->nodes, node);
	for (guint i = 0; i < node->regions->len; i++) {
		struct cert_region *region = g_ptr_array_index(node->regions, i);

		cert_region_guards(region);
		g_free(region->block);
		g_free(region);
	}
	for (guint i = 0; i < node->ends->len; i++)
		g_free(g_ptr_array_index(node->ends, i));
	g_ptr_array_unref(node->ends);
	g_ptr_array_unref(node->regions);
	g_free(node);
}

/* --- queue pairs ----------------------------------------------------------------------------- */

struct ri_qp_init
cert_end_defaults(const struct cert_node *node)
{
	const struct ri_rnic_attr *attr = &node->attr;

	return (struct ri_qp_init){
		.type = RI_QP_RC,
		.max_sq_wr = MIN(16, attr->max_sq_wr),
		.max_rq_wr = MIN(16, attr->max_rq_wr),
		.max_send_sge = MIN(4, attr->max_send_sge),
		.max_recv_sge = MIN(4, attr->max_recv_sge),
		.max_write_sge = MIN(4, attr->max_write_sge),
		.max_read_sge = MIN(4, attr->max_read_sge),
		.ird = MIN(4, attr->max_ird),
		.ord = MIN(4, attr->max_ord),
		.access = RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_BIND |
			  (attr->atomics ? RI_ACCESS_REMOTE_ATOMIC : 0u),
		.hard_limit = UINT32_MAX,
	};
}

/* Room for twice as many completions as a work queue has slots; tells how many there is room for. */
static uint32_t
cq_new(struct cert_node *node, uint64_t ctx, uint32_t slots, struct ri_cq **cq, struct ri_ucq **ucq)
{
	uint64_t wanted = MAX(slots * UINT64_C(2), 1);
	uint32_t least = (uint32_t)MIN(wanted, node->attr.max_cqe), entries = least;
	struct ri_map map;

	CERT_VERB(node->cert, RI_SUCCESS,
		  node->p->cq->create(node->context, ctx, &entries, cq, &map));
	CERT_UINT(node->cert, entries, >=, least);
	CERT_VERB(node->cert, RI_SUCCESS, node->p->user->cq_open(node->urnic, &map, ucq));
	return entries;
}

static void
cqs_free(struct cert_end *end)
{
	struct cert_node *node = end->node;

	CERT_VERB_VOID(node->cert, node->p->user->cq_close(end->uscq));
	CERT_VERB(node->cert, RI_SUCCESS, node->p->cq->destroy(end->scq));
	CERT_VERB_VOID(node->cert, node->p->user->cq_close(end->urcq));
	CERT_VERB(node->cert, RI_SUCCESS, node->p->cq->destroy(end->rcq));
}

/*
 * Creates the queues and the privileged half of the queue pair. False: the provider granted more
 * slots than its queues have.
 */
static bool
end_create(struct cert_end *end, const struct ri_qp_init *asked, const struct ri_qp_init *slots,
	   struct ri_map *map)
{
	struct cert_node *node = end->node;
	uint32_t requests, receives;

	requests = cq_new(node, end->scq_ctx, slots->max_sq_wr, &end->scq, &end->uscq);
	receives = cq_new(node, end->rcq_ctx, slots->max_rq_wr, &end->rcq, &end->urcq);
	end->init = *asked;
	CERT_VERB(
		node->cert, RI_SUCCESS,
		node->p->qp->create(node->pd, &end->init, end->scq, end->rcq, NULL, &end->qp, map));
	return end->init.max_sq_wr <= requests && end->init.max_rq_wr <= receives;
}

/* A queue pair reports at least what was asked for [RI 2.2.2]. */
static void
sizes_check(struct cert *cert, const struct ri_qp_init *seen, const struct ri_qp_init *asked)
{
	CERT_UINT(cert, seen->max_sq_wr, >=, asked->max_sq_wr);
	CERT_UINT(cert, seen->max_rq_wr, >=, asked->max_rq_wr);
	CERT_UINT(cert, seen->max_send_sge, >=, asked->max_send_sge);
	CERT_UINT(cert, seen->max_recv_sge, >=, asked->max_recv_sge);
	CERT_UINT(cert, seen->max_write_sge, >=, asked->max_write_sge);
	CERT_UINT(cert, seen->max_read_sge, >=, asked->max_read_sge);
	CERT_UINT(cert, seen->max_inline, >=, asked->max_inline);
	CERT_UINT(cert, seen->ird, ==, asked->ird);
	CERT_UINT(cert, seen->ord, ==, asked->ord);
}

struct cert_end *
cert_end_new(struct cert_node *node, const struct ri_qp_init *init)
{
	struct cert_end *end = g_new0(struct cert_end, 1);
	struct ri_qp_init asked = init != NULL ? *init : cert_end_defaults(node);
	struct ri_map map;

	end->node = node;
	end->scq_ctx = cert_ctx_new(node, RI_OBJECT_CQ);
	end->rcq_ctx = cert_ctx_new(node, RI_OBJECT_CQ);
	end->ctx = asked.ctx = cert_ctx_new(node, RI_OBJECT_QP);
	if (!end_create(end, &asked, &asked, &map)) {
		struct ri_qp_init granted = end->init;

		CERT_VERB(node->cert, RI_SUCCESS, node->p->qp->destroy(end->qp));
		cqs_free(end);
		(void)end_create(end, &asked, &granted, &map);
	}
	sizes_check(node->cert, &end->init, &asked);
	CERT_VERB(node->cert, RI_SUCCESS,
		  node->p->user->qp_open(node->urnic, &map, end->uscq, end->urcq, NULL, &end->uqp));
	g_ptr_array_add(node->ends, end);
	return end;
}

void
cert_end_drop(struct cert_end *end)
{
	struct cert_node *node = end->node;

	CERT_VERB_VOID(node->cert, node->p->user->qp_close(end->uqp));
	CERT_VERB(node->cert, RI_SUCCESS, node->p->qp->destroy(end->qp));
	cert_ctx_gone(node, end->ctx);
	end->uqp = NULL;
}

void
cert_end_free(struct cert_end *end)
{
	struct cert_node *node = end->node;

	if (end->uqp != NULL)
		cert_end_drop(end);
	cqs_free(end);
	cert_ctx_gone(node, end->scq_ctx);
	cert_ctx_gone(node, end->rcq_ctx);
	g_ptr_array_remove(node->ends, end);
	g_free(end);
}

struct ri_qp_attr
cert_end_attr(struct cert_end *end)
{
	struct ri_qp_attr attr = {0};

	CERT_VERB(end->node->cert, RI_SUCCESS, end->node->p->qp->query(end->qp, &attr));
	return attr;
}

enum ri_status
cert_end_move(struct cert_end *end, enum ri_qp_state state)
{
	struct ri_qp_attr attr = {.state = state};
	enum ri_status status;

	cert_verb_begin(end->node->cert);
	status = end->node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_STATE);
	cert_verb_end(end->node->cert, CERT_WHERE, "modify");
	return status;
}

/* --- memory ---------------------------------------------------------------------------------- */

/*
 * Guard octets in front of a region and behind it, which no operation may change. Neither is a
 * round number, and no region begins at a page; but memory is aligned as malloc aligns it.
 */
#define GUARD_FRONT  208u
#define GUARD_BEHIND 231u

static uint8_t
guard_byte(size_t i)
{
	return (uint8_t)(0x5d ^ (i * 37));
}

static void
guards_fill(const struct cert_region *region)
{
	for (size_t i = 0; i < GUARD_FRONT; i++)
		region->block[i] = guard_byte(i);
	for (size_t i = 0; i < GUARD_BEHIND; i++)
		region->at[region->length + i] = guard_byte(i);
}

static void
guard_check(const struct cert_region *region, bool front)
{
	const uint8_t *guard = front ? region->block : region->at + region->length;
	size_t size = front ? GUARD_FRONT : GUARD_BEHIND;

	for (size_t i = 0; i < size; i++) {
		g_autofree char *what = NULL, *wanted = NULL, *seen = NULL;

		if (guard[i] == guard_byte(i))
			continue;
		what = g_strdup_printf("the octet %zu %s a region of %zu bytes",
				       front ? size - i : i, front ? "in front of" : "behind",
				       region->length);
		wanted = g_strdup_printf("nothing changes it: 0x%02x", guard_byte(i));
		seen = g_strdup_printf("0x%02x", guard[i]);
		cert_failed(region->node->cert, CERT_WHERE, what, wanted, seen);
	}
}

void
cert_region_guards(const struct cert_region *region)
{
	guard_check(region, true);
	guard_check(region, false);
}

struct cert_region *
cert_region_new_in(struct cert_node *node, struct ri_pd *pd, size_t length, uint32_t access)
{
	struct cert_region *region = g_new0(struct cert_region, 1);
	struct ri_mr_init init = {.length = length, .access = access};

	region->node = node;
	region->length = length;
	region->block = g_malloc0(GUARD_FRONT + length + GUARD_BEHIND);
	region->at = region->block + GUARD_FRONT;
	guards_fill(region);
	init.addr = (uintptr_t)region->at;
	init.key = (uint8_t)cert_random_below(node->cert, 256);
	CERT_VERB(node->cert, RI_SUCCESS,
		  node->p->mem->mr_reg(pd, &init, &region->mr, &region->stag));
	CERT_UINT(node->cert, region->stag, !=, 0);
	g_ptr_array_add(node->regions, region);
	return region;
}

struct cert_region *
cert_region_new(struct cert_node *node, size_t length, uint32_t access)
{
	return cert_region_new_in(node, node->pd, length, access);
}

void
cert_region_free(struct cert_region *region)
{
	if (region->mr != NULL)
		CERT_VERB(region->node->cert, RI_SUCCESS,
			  region->node->p->mem->mr_dereg(region->mr));
	cert_region_guards(region);
	g_ptr_array_remove(region->node->regions, region);
	g_free(region->block);
	g_free(region);
}

static uint8_t
pattern_byte(size_t i, uint32_t seed)
{
	return (uint8_t)(i * 31 + (i >> 8) * 13 + seed * 101 + 7);
}

void
cert_fill(void *at, size_t length, uint32_t seed)
{
	uint8_t *bytes = at;

	for (size_t i = 0; i < length; i++)
		bytes[i] = pattern_byte(i, seed);
}

void
cert_expect_fill(struct cert *cert, const char *what, const void *at, size_t length, uint32_t seed)
{
	g_autofree uint8_t *expected = g_malloc(length + 1);

	cert_fill(expected, length, seed);
	cert_expect_bytes(cert, CERT_WHERE, what, at, expected, length);
}

struct ri_sge
cert_sge(const struct cert_region *region, size_t at, size_t length)
{
	return (struct ri_sge){.addr = (uintptr_t)region->at + at,
			       .length = (uint32_t)length,
			       .stag = region->stag};
}
