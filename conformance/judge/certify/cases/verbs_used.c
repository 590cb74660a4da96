/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Accesses to memory after other accesses were granted over the same connection. An adapter may
 * cache what it has looked up for a key (bounds, rights, domain, location of the memory); the cache
 * must not outlive a change.
 */

#include "verbs_reach.h"

#define ROOM   1536u
#define START  256u
#define LENGTH 512u
#define OTHER  (START + LENGTH + 256u) /* another region: [OTHER, OTHER + LENGTH) */
#define PIECE  64u

/* What happens to a region that has been used. */
enum change {
	GONE,     /* deregistered */
	REPLACED, /* deregistered, and the same memory registered: the old key */
	SHORTER,  /* the same, with half of the length: the new key, beyond that half */
	LESS,     /* the same, without the right: the new key */
	FOREIGN,  /* another region of the same memory, in another domain */
	MOVED, /* registered anew with other memory: the old key, or with the old key the old memory */
	WITHDRAWN, /* the right of the queue pair */
	LAST_CHANGE = WITHDRAWN
};

static const char *const change_names[] = {
	"deregistered",
	"registered again: the old key",
	"registered again with half of its length",
	"registered again without the right",
	"registered in another domain",
	"registered anew with other memory",
	"not open any more to the peers of the queue pair",
};

struct used {
	struct reach reach;
	struct cert *cert;
	const struct ri_mem_ops *mem;
	struct ri_pd *pd;
	struct ri_mr_init init;
	struct ri_mr *mr;
	struct ri_sge good; /* in the region as it was first */
};

static bool
can_change(const struct cert *cert, enum reach_subject subject, enum change change)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	bool reads = subject == REACH_SEND || subject == REACH_WRITE_FROM;

	switch (change) {
	case MOVED:
		return attr->reregister;
	case WITHDRAWN:
		return attr->enables_modifiable && reach_remote(subject);
	case LESS: /* what may be read here without the right is [RI 10.11] */
		return !reads || attr->local_read_revocable;
	case GONE:
	case REPLACED:
	case SHORTER:
	case FOREIGN:
	default:
		return true;
	}
}

static void
reg(struct used *used, struct ri_pd *pd, uint32_t *stag)
{
	CERT_VERB(used->cert, RI_SUCCESS, used->mem->mr_reg(pd, &used->init, &used->mr, stag));
}

static void
dereg(struct used *used)
{
	CERT_VERB(used->cert, RI_SUCCESS, used->mem->mr_dereg(used->mr));
}

/* Without what the operation needs [RI 5.3.2]. */
static uint32_t
less_of(enum reach_subject subject)
{
	switch (subject) {
	case REACH_WRITE:
		return RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE | RI_ACCESS_REMOTE_READ;
	case REACH_READ:
	case REACH_ADD:
		return RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE | RI_ACCESS_REMOTE_WRITE;
	case REACH_RECEIVE:
	case REACH_READ_INTO:
		return RI_ACCESS_LOCAL_READ;
	case REACH_SEND:
	case REACH_WRITE_FROM:
	default:
		return RI_ACCESS_LOCAL_WRITE;
	}
}

static void
withdraw(struct used *used)
{
	struct ri_qp_attr attr = {.access = RI_ACCESS_BIND};

	CERT_VERB(used->cert, RI_SUCCESS,
		  used->reach.far->p->qp->modify(used->reach.b->qp, &attr, RI_QP_ATTR_ACCESS));
}

/* Registration anew with the memory at OTHER, which is reached by its own addresses then. */
static struct ri_sge
move(struct used *used)
{
	struct ri_mr_init init = used->init;
	struct ri_sge old = used->good, moved = old;

	init.addr += OTHER - START;
	CERT_VERB(used->cert, RI_SUCCESS,
		  used->mem->mr_rereg(used->mr, used->pd, &init, &moved.stag));
	moved.addr += OTHER - START;
	reach_granted(&used->reach, &moved, OTHER + 32);
	old.stag = used->reach.turn % 2 == 0 ? moved.stag : old.stag; /* neither reaches there */
	return old;
}

/* Changes the region, or one beside it. Returns what must be refused now. */
static struct ri_sge
change_it(struct used *used, enum change change, struct ri_mr **kept)
{
	struct ri_sge bad = used->good, again = used->good;

	switch (change) {
	case GONE:
		dereg(used);
		used->mr = NULL;
		break;
	case REPLACED:
		dereg(used);
		reg(used, used->pd, &again.stag);
		reach_granted(&used->reach, &again, START + 32);
		break;
	case SHORTER:
		dereg(used);
		used->init.length = LENGTH / 2;
		reg(used, used->pd, &bad.stag);
		reach_granted(&used->reach, &bad, START + 32);
		bad.addr += LENGTH / 2;
		break;
	case LESS:
		dereg(used);
		used->init.access = less_of(used->reach.subject);
		reg(used, used->pd, &bad.stag);
		break;
	case FOREIGN:
		CERT_VERB(used->cert, RI_SUCCESS,
			  used->reach.owner->p->pd->create(used->reach.owner->context, &used->pd));
		*kept = used->mr;
		reg(used, used->pd, &bad.stag);
		break;
	case MOVED:
		return move(used);
	case WITHDRAWN:
	default:
		withdraw(used);
		break;
	}
	return bad;
}

static void
try_change(struct cert *cert, enum reach_subject subject, enum change change)
{
	static uint8_t memory[ROOM] __attribute__((aligned(16)));
	uint8_t expected[ROOM];
	struct used used = {.cert = cert};
	struct ri_mr *kept = NULL;
	struct ri_sge bad;

	cert_note(cert, "%s, when it is %s", reach_name(subject), change_names[change]);
	reach_open(&used.reach, cert, subject);
	used.mem = used.reach.owner->p->mem;
	used.pd = used.reach.owner->pd;
	used.init = (struct ri_mr_init){
		.addr = (uintptr_t)memory + START, .length = LENGTH, .access = reach_rights(cert)};
	used.good = (struct ri_sge){.addr = used.init.addr + 32,
				    .length = subject == REACH_ADD ? 8 : PIECE};
	reg(&used, used.pd, &used.good.stag);
	reach_over(&used.reach, memory, expected, ROOM);
	reach_connect(&used.reach);
	for (unsigned i = 0; i < 3; i++)
		reach_granted(&used.reach, &used.good, START + 32);
	bad = change_it(&used, change, &kept);
	reach_refused(&used.reach, &bad);
	reach_disconnected(&used.reach);
	if (used.mr != NULL)
		dereg(&used);
	if (kept != NULL) {
		CERT_VERB(cert, RI_SUCCESS, used.mem->mr_dereg(kept));
		CERT_VERB(cert, RI_SUCCESS, used.reach.owner->p->pd->destroy(used.pd));
	}
	reach_close(&used.reach);
}

static void
changes(struct cert *cert, enum change first, enum change last)
{
	for (int subject = 0; subject <= REACH_LAST; subject++) {
		for (int change = (int)first; change <= (int)last; change++) {
			if (reach_can(cert, (enum reach_subject)subject) &&
			    can_change(cert, (enum reach_subject)subject, (enum change)change))
				try_change(cert, (enum reach_subject)subject, (enum change)change);
		}
	}
}

static void
regions(struct cert *cert)
{
	changes(cert, GONE, FOREIGN);
}

static void
moves(struct cert *cert)
{
	changes(cert, MOVED, MOVED);
}

static void
rights(struct cert *cert)
{
	changes(cert, WITHDRAWN, WITHDRAWN);
}

/* --- many regions ------------------------------------------------------------------------------ */

#define REGIONS 600u
#define EACH    37u /* octets of a region */

struct many {
	struct pair pair;
	uint8_t memory[REGIONS * EACH], expected[REGIONS * EACH];
	struct ri_mr *mrs[REGIONS];
	uint32_t stags[REGIONS];
};

static void
register_one(struct many *many, uint32_t i)
{
	struct ri_mr_init init = {.addr = (uintptr_t)(many->memory + (size_t)i * EACH),
				  .length = EACH,
				  .access = CERT_ALL};

	CERT_VERB(many->pair.cert, RI_SUCCESS,
		  many->pair.far->p->mem->mr_reg(many->pair.far->pd, &init, &many->mrs[i],
						 &many->stags[i]));
}

static void
write_one(struct many *many, uint32_t i, uint32_t seed)
{
	struct pair *pair = &many->pair;
	size_t at = (size_t)(i % 97) * EACH;
	struct ri_sge source = cert_sge(pair->from, at, EACH);
	struct ri_sge target = {.addr = (uintptr_t)(many->memory + (size_t)i * EACH),
				.stag = many->stags[i]};

	cert_fill(pair->from->at + at, EACH, seed);
	cert_fill(many->expected + (size_t)i * EACH, EACH, seed);
	cert_post_rdma(pair->a, RI_OP_RDMA_WRITE, i, &source, &target);
	cert_wc_is(pair->a, false, i, RI_WC_SUCCESS);
}

static void
all_placed(struct many *many)
{
	struct pair *pair = &many->pair;

	cert_post_recv(pair->b, 1, NULL, 0);
	cert_post_send(pair->a, 2, NULL, 0, 0);
	cert_wc_is(pair->a, false, 2, RI_WC_SUCCESS);
	cert_wc_is(pair->b, true, 1, RI_WC_SUCCESS);
	CERT_BYTES(pair->cert, many->memory, many->expected, sizeof(many->memory));
}

/* Each key leads to its own region, also when half of the regions have been replaced. */
static void
many_regions(struct cert *cert)
{
	struct many *many = g_new0(struct many, 1);
	uint32_t count = MIN(REGIONS, cert_attr(cert)->max_mr - 4);

	pair_connected(&many->pair, cert);
	for (uint32_t i = 0; i < count; i++)
		register_one(many, i);
	for (unsigned round = 0; round < 3; round++) {
		cert_note(cert, "round %u with %u regions", round, count);
		for (uint32_t i = 0; i < count; i++)
			write_one(many, (i * 7) % count, round * 1000 + i);
		all_placed(many);
		for (uint32_t i = round; i < count; i += 2) {
			CERT_VERB(cert, RI_SUCCESS, many->pair.far->p->mem->mr_dereg(many->mrs[i]));
			register_one(many, i);
		}
	}
	for (uint32_t i = 0; i < count; i++)
		CERT_VERB(cert, RI_SUCCESS, many->pair.far->p->mem->mr_dereg(many->mrs[i]));
	cert_node_close(many->pair.near);
	cert_node_close(many->pair.far);
	g_free(many);
}

static const struct cert_case cases[] = {
	{.id = "verbs.used.region.0001",
	 .title = "A region that was used over a connection is reached no further than it now may "
		  "be",
	 .rule = "[RI 5.1.1] [RI 5.3.2] [RI 5.7.1]",
	 .run = regions},
	{.id = "verbs.used.region.0002",
	 .title = "A region that was used is reached at its new place when it is registered anew",
	 .rule = "[RI 5.2.3] [RI 5.7.1]",
	 .needs = "reregister",
	 .settles = "reregister",
	 .run = moves},
	{.id = "verbs.used.pair.0001",
	 .title = "A right of a queue pair that is withdrawn after use is gone",
	 .rule = "[RI 10.14] [RI 5.3.2]",
	 .needs = "enables_modifiable",
	 .settles = "enables_modifiable",
	 .run = rights},
	{.id = "verbs.used.many.0001",
	 .title = "Each of many keys leads to its own region, whatever regions came and went",
	 .rule = "[RI 5.1.1]",
	 .run = many_regions},
};

CERT_SET(verbs_used, cases);
