/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A random walk over objects that keep each other in use, compared with a model of reference counts: domains,
 * completion queues, shared queues, queue pairs, regions, windows and address handles are created, refused, changed and
 * destroyed in any order. An object that is in use must be busy, and one that nothing uses must be destroyed at the
 * first attempt, whatever used it before.
 */

#include <string.h>

#include "verbs_pair.h"

#define STEPS 4000u
#define FEW   3u /* of each kind */

enum kind {
	DOMAIN,
	QUEUE,
	SHARED,
	QUEUE_PAIR,
	REGION,
	WINDOW,
	HANDLE,
	KINDS
};

#define HOLDS 4u /* objects that one holds, at most */

struct object {
	void *it; /* NULL: there is none */
	uint64_t ctx;
	unsigned held;
	struct object *holds[HOLDS];
};

struct walk {
	struct cert *cert;
	struct cert_node *node;
	const struct ri_provider *p;
	struct object objects[KINDS][FEW];
	uint8_t *memory;
};

static struct object *
some(struct walk *walk, enum kind kind)
{
	struct object *object = &walk->objects[kind][cert_random_below(walk->cert, FEW)];

	return object->it != NULL ? object : NULL;
}

static void
hold(struct object *object, struct object *other)
{
	unsigned i = 0;

	if (other == NULL)
		return;
	while (object->holds[i] != NULL)
		i++;
	object->holds[i] = other;
	other->held++;
}

static void
let_go(struct object *object)
{
	for (unsigned i = 0; i < HOLDS; i++) {
		if (object->holds[i] != NULL)
			object->holds[i]->held--;
		object->holds[i] = NULL;
	}
}

/* --- creations -------------------------------------------------------------------------------- */

static void
make_queue(struct walk *walk, struct object *object)
{
	struct ri_cq *cq = NULL;
	uint32_t entries = 8;
	struct ri_map map;

	object->ctx = cert_ctx_new(walk->node, RI_OBJECT_CQ);
	CERT_VERB(walk->cert, RI_SUCCESS,
		  walk->p->cq->create(walk->node->context, object->ctx, &entries, &cq, &map));
	object->it = cq;
}

static void
make_shared(struct walk *walk, struct object *object, struct object *domain)
{
	struct ri_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct ri_srq *srq = NULL;
	struct ri_map map;

	object->ctx = attr.ctx = cert_ctx_new(walk->node, RI_OBJECT_SRQ);
	CERT_VERB(walk->cert, RI_SUCCESS, walk->p->srq->create(domain->it, &attr, &srq, &map));
	object->it = srq;
	hold(object, domain);
}

/* One value above its limit; false: there is no such value. */
static bool
spoil(struct walk *walk, struct ri_qp_init *init)
{
	const struct ri_rnic_attr *attr = &walk->node->attr;
	const struct {
		uint32_t *value, most;
	} rows[] = {
		{&init->max_sq_wr, attr->max_sq_wr},
		{&init->max_send_sge, attr->max_send_sge},
		{&init->max_write_sge, attr->max_write_sge},
		{&init->ird, attr->max_ird},
		{&init->ord, attr->max_ord},
	};
	size_t row = cert_random_below(walk->cert, G_N_ELEMENTS(rows));

	if (rows[row].most == UINT32_MAX)
		return false;
	*rows[row].value = rows[row].most + 1;
	return true;
}

/* Half of them are refused, and hold nothing then. */
static void
make_pair(struct walk *walk, struct object *object, struct object *domain)
{
	struct object *send = some(walk, QUEUE), *recv = some(walk, QUEUE);
	struct object *shared = cert_random_below(walk->cert, 2) == 0 ? some(walk, SHARED) : NULL;
	struct ri_qp_init init = cert_end_defaults(walk->node);
	bool refused = cert_random_below(walk->cert, 2) == 0 && spoil(walk, &init);
	enum ri_status expected = refused ? RI_ERR_LIMIT : RI_SUCCESS;
	struct ri_qp *qp = NULL;
	struct ri_map map;

	if (send == NULL || recv == NULL)
		return;
	init.ctx = cert_ctx_new(walk->node, RI_OBJECT_QP);
	CERT_VERB(walk->cert, expected,
		  walk->p->qp->create(domain->it, &init, send->it, recv->it,
				      shared != NULL ? shared->it : NULL, &qp, &map));
	if (refused) {
		cert_ctx_gone(walk->node, init.ctx);
		return;
	}
	object->ctx = init.ctx;
	object->it = qp;
	hold(object, domain);
	hold(object, send);
	hold(object, recv);
	hold(object, shared);
}

static struct ri_mr_init
some_memory(struct walk *walk)
{
	return (struct ri_mr_init){.addr = (uintptr_t)walk->memory +
					   8ull * cert_random_below(walk->cert, 32),
				   .length = 64,
				   .access = CERT_ALL};
}

/* Memory that wraps is refused. */
static void
make_region(struct walk *walk, struct object *object, struct object *domain)
{
	struct ri_mr_init init = some_memory(walk);
	bool refused = cert_random_below(walk->cert, 4) == 0;
	struct ri_mr *mr = NULL;
	uint32_t stag;

	if (refused)
		init.addr = UINT64_MAX - 8;
	CERT_VERB(walk->cert, refused ? RI_ERR_ADDRESS : RI_SUCCESS,
		  walk->p->mem->mr_reg(domain->it, &init, &mr, &stag));
	if (refused)
		return;
	object->it = mr;
	hold(object, domain);
}

static void
make_window(struct walk *walk, struct object *object, struct object *domain)
{
	bool wide = walk->node->attr.mw_wide &&
		    (!walk->node->attr.mw_narrow || cert_random_below(walk->cert, 2) == 0);
	struct ri_mw *mw = NULL;
	uint32_t stag;

	CERT_VERB(walk->cert, RI_SUCCESS,
		  walk->p->mem->mw_alloc(domain->it, wide ? RI_MW_WIDE : RI_MW_NARROW, &mw, &stag));
	object->it = mw;
	hold(object, domain);
}

static void
make_handle(struct walk *walk, struct object *object, struct object *domain)
{
	struct ri_ah_init init = {.dest = cert_address(walk->node)};
	bool refused = cert_random_below(walk->cert, 3) == 0;
	struct ri_ah *ah = NULL;
	uint32_t id;

	init.port = refused ? walk->node->attr.num_ports : 0;
	CERT_VERB(walk->cert, refused ? RI_ERR_INVALID_ARG : RI_SUCCESS,
		  walk->p->ah->create(domain->it, &init, &ah, &id));
	if (refused)
		return;
	object->it = ah;
	hold(object, domain);
}

static void
make(struct walk *walk, enum kind kind, struct object *object)
{
	struct object *domain = some(walk, DOMAIN);
	struct ri_pd *pd = NULL;

	if (kind == DOMAIN) {
		CERT_VERB(walk->cert, RI_SUCCESS, walk->p->pd->create(walk->node->context, &pd));
		object->it = pd;
	} else if (kind == QUEUE) {
		make_queue(walk, object);
	} else if (domain == NULL) {
		return;
	} else if (kind == SHARED) {
		make_shared(walk, object, domain);
	} else if (kind == QUEUE_PAIR) {
		make_pair(walk, object, domain);
	} else if (kind == REGION) {
		make_region(walk, object, domain);
	} else if (kind == WINDOW) {
		make_window(walk, object, domain);
	} else {
		make_handle(walk, object, domain);
	}
}

/* --- changes ---------------------------------------------------------------------------------- */

/* A region goes to any domain, or stays where it is, or is refused and stays as it is. */
static void
change_region(struct walk *walk, struct object *object)
{
	struct object *domain = some(walk, DOMAIN);
	struct ri_mr_init init = some_memory(walk);
	bool refused = cert_random_below(walk->cert, 4) == 0;
	uint32_t stag = 0;

	if (domain == NULL || !walk->node->attr.reregister)
		return;
	if (refused)
		init.addr = UINT64_MAX - 8;
	init.keep_stag = cert_random_below(walk->cert, 2) == 0;
	CERT_VERB(walk->cert, refused ? RI_ERR_ADDRESS : RI_SUCCESS,
		  walk->p->mem->mr_rereg(object->it, domain->it, &init, &stag));
	if (refused)
		return;
	let_go(object);
	hold(object, domain);
}

static void
change_handle(struct walk *walk, struct object *object)
{
	struct ri_ah_init init = {.dest = cert_address(walk->node)};
	bool refused = cert_random_below(walk->cert, 3) == 0;

	init.port = refused ? walk->node->attr.num_ports : 0;
	CERT_VERB(walk->cert, refused ? RI_ERR_INVALID_ARG : RI_SUCCESS,
		  walk->p->ah->modify(object->it, &init));
}

static void
change(struct walk *walk, enum kind kind, struct object *object)
{
	if (kind == REGION)
		change_region(walk, object);
	else if (kind == HANDLE)
		change_handle(walk, object);
}

/* --- ends ------------------------------------------------------------------------------------------ */

static enum ri_status
destroy(struct walk *walk, enum kind kind, void *it)
{
	const struct ri_provider *p = walk->p;

	switch (kind) {
	case DOMAIN:
		return p->pd->destroy(it);
	case QUEUE:
		return p->cq->destroy(it);
	case SHARED:
		return p->srq->destroy(it);
	case QUEUE_PAIR:
		return p->qp->destroy(it);
	case REGION:
		return p->mem->mr_dereg(it);
	case WINDOW:
		return p->mem->mw_free(it);
	case HANDLE:
	case KINDS:
	default:
		return p->ah->destroy(it);
	}
}

static void
end(struct walk *walk, enum kind kind, struct object *object)
{
	enum ri_status expected = object->held > 0 ? RI_ERR_BUSY : RI_SUCCESS;

	CERT_VERB(walk->cert, expected, destroy(walk, kind, object->it));
	if (expected != RI_SUCCESS)
		return;
	let_go(object);
	if (object->ctx != 0)
		cert_ctx_gone(walk->node, object->ctx);
	*object = (struct object){0};
}

static bool
claimed(const struct walk *walk, enum kind kind)
{
	const struct ri_rnic_attr *attr = &walk->node->attr;

	return kind == SHARED   ? attr->srq
	       : kind == WINDOW ? attr->mw_narrow || attr->mw_wide
	       : kind == HANDLE ? attr->ud
				: true;
}

static void
step(struct walk *walk)
{
	enum kind kind = (enum kind)cert_random_below(walk->cert, KINDS);
	struct object *object = &walk->objects[kind][cert_random_below(walk->cert, FEW)];

	if (!claimed(walk, kind))
		return;
	if (object->it == NULL)
		make(walk, kind, object);
	else if (cert_random_below(walk->cert, 2) == 0)
		change(walk, kind, object);
	else
		end(walk, kind, object);
}

static void
holds_walk(struct cert *cert)
{
	static uint8_t memory[1024];
	struct walk walk = {.cert = cert, .p = cert_provider(cert), .memory = memory};

	walk.node = cert_node_open(cert);
	for (unsigned i = 0; i < STEPS; i++)
		step(&walk);
	/* Those that hold come first. */
	for (int kind = KINDS - 1; kind >= 0; kind--) {
		int of = kind == SHARED ? QUEUE_PAIR : kind == QUEUE_PAIR ? SHARED : kind;

		for (unsigned i = 0; i < FEW; i++)
			if (walk.objects[of][i].it != NULL)
				end(&walk, (enum kind)of, &walk.objects[of][i]);
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.walk.holds.0001",
	 .title = "An object is busy exactly while another one uses it, whatever was created, "
		  "refused "
		  "and changed before",
	 .rule = "[RI 2.1.1] [RI 2.2.3]",
	 .run = holds_walk},
};

CERT_SET(verbs_walks_holds, cases);
