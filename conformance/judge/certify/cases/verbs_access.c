/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Access to memory: each operation with each set of rights, domain, range and state of the key. A
 * case tries one operation with all values of one of these, over a new connection each time, since
 * a refusal ends the connection. An access that is refused must touch no memory; one that is
 * granted must touch exactly the octets that it names.
 */

#include <string.h>

#include "cert_node.h"

#define ROOM    768u /* bytes of a side's memory */
#define START   256u /* the region that is tried: [START, START + LENGTH) */
#define LENGTH  256u
#define PIECE   64u /* bytes of an operation, where nothing else is said */
#define UNTRIED 0xffffffffu

/* Which memory an operation tries. */
enum subject {
	SEND_SOURCE,
	WRITE_SOURCE,
	RECEIVE_SINK,
	READ_SINK,
	WRITE_TARGET,
	READ_SOURCE
};

/* One side: the memory that is tried and memory that is always good, in one node. */
struct side {
	struct cert_node *node;
	struct cert_end *end;
	struct cert_region *good;
	uint8_t tried[ROOM];
	struct ri_mr *mr; /* a part of `tried` */
	uint32_t stag;
};

/* Both sides of a case; `a` posts requests, `b` receives. */
struct scene {
	struct cert *cert;
	enum subject subject;
	struct side a, b;
};

static bool
is_remote(enum subject subject)
{
	return subject == WRITE_TARGET || subject == READ_SOURCE;
}

/* The side whose memory is tried. */
static struct side *
owner(struct scene *scene)
{
	return is_remote(scene->subject) || scene->subject == RECEIVE_SINK ? &scene->b : &scene->a;
}

static void
side_open(struct cert *cert, struct side *side)
{
	side->node = cert_node_open(cert);
	side->good = cert_region_new(side->node, ROOM, CERT_ALL);
}

static void
scene_open(struct scene *scene, struct cert *cert, enum subject subject)
{
	memset(scene, 0, sizeof(*scene));
	scene->cert = cert;
	scene->subject = subject;
	side_open(cert, &scene->a);
	side_open(cert, &scene->b);
}

/* Registers the middle of the memory that is tried. */
static void
register_in(struct scene *scene, struct ri_pd *pd, uint32_t access)
{
	struct side *side = owner(scene);
	struct ri_mr_init init = {.addr = (uintptr_t)(side->tried + START),
				  .length = LENGTH,
				  .access = access,
				  .key = (uint8_t)cert_random_below(scene->cert, 256)};

	CERT_VERB(scene->cert, RI_SUCCESS,
		  side->node->p->mem->mr_reg(pd, &init, &side->mr, &side->stag));
}

static void
deregister(struct scene *scene)
{
	struct side *side = owner(scene);

	CERT_VERB(scene->cert, RI_SUCCESS, side->node->p->mem->mr_dereg(side->mr));
	side->mr = NULL;
}

static struct ri_sge
middle(struct scene *scene)
{
	struct side *side = owner(scene);

	return (struct ri_sge){
		.addr = (uintptr_t)(side->tried + START), .length = PIECE, .stag = side->stag};
}

/* --- one try ----------------------------------------------------------------------------- */

/* Posts the operation of the scene with this range. */
static void
post(struct scene *scene, const struct ri_sge *range)
{
	struct ri_sge near = cert_sge(scene->a.good, 0, range->length);
	struct ri_sge far = cert_sge(scene->b.good, 0, range->length);
	struct cert_end *a = scene->a.end, *b = scene->b.end;

	switch (scene->subject) {
	case SEND_SOURCE:
		cert_post_recv(b, 2, &far, 1);
		cert_post_send(a, 1, range, 1, 0);
		break;
	case RECEIVE_SINK:
		cert_post_recv(b, 2, range, 1);
		cert_post_send(a, 1, &near, 1, 0);
		break;
	case WRITE_SOURCE:
		cert_post_rdma(a, RI_OP_RDMA_WRITE, 1, range, &far);
		break;
	case WRITE_TARGET:
		cert_post_rdma(a, RI_OP_RDMA_WRITE, 1, &near, range);
		break;
	case READ_SINK:
		cert_post_rdma(a, RI_OP_RDMA_READ, 1, range, &far);
		break;
	case READ_SOURCE:
	default:
		cert_post_rdma(a, RI_OP_RDMA_READ, 1, &near, range);
		break;
	}
}

/* The memory that an operation changes, beside the memory of the side's good region. */
static void
fill(struct scene *scene)
{
	cert_fill(scene->a.tried, ROOM, 1);
	cert_fill(scene->b.tried, ROOM, 2);
	cert_fill(scene->a.good->at, ROOM, 3);
	cert_fill(scene->b.good->at, ROOM, 4);
}

static void
expect_same(struct scene *scene, const struct side *side, uint32_t tried, uint32_t good)
{
	if (tried != UNTRIED)
		cert_expect_fill(scene->cert, "memory that is not written", side->tried, ROOM,
				 tried);
	if (good != UNTRIED)
		cert_expect_fill(scene->cert, "memory that is not written", side->good->at, ROOM,
				 good);
}

/* A piece of one pattern that was copied into memory with another one. */
struct copied {
	const uint8_t *memory;
	uint32_t into, from; /* the patterns */
	size_t at, at_from;
	size_t length;
};

static void
expect_copied(struct scene *scene, const struct copied *copied)
{
	uint8_t expected[ROOM], source[ROOM];

	cert_fill(expected, ROOM, copied->into);
	cert_fill(source, ROOM, copied->from);
	memcpy(expected + copied->at, source + copied->at_from, copied->length);
	CERT_BYTES(scene->cert, copied->memory, expected, ROOM);
}

/* All bytes of both sides, after an operation that was granted. */
static void
expect_done(struct scene *scene, const struct ri_sge *range)
{
	const struct side *side = owner(scene);
	size_t at = range->length > 0 ? (size_t)(range->addr - (uintptr_t)side->tried) : 0;
	const struct side *a = &scene->a, *b = &scene->b;
	size_t length = range->length;

	switch (scene->subject) {
	case SEND_SOURCE:
	case WRITE_SOURCE:
		expect_copied(scene, &(struct copied){b->good->at, 4, 1, 0, at, length});
		expect_same(scene, a, 1, 3);
		expect_same(scene, b, 2, UNTRIED);
		break;
	case RECEIVE_SINK:
	case WRITE_TARGET:
		expect_copied(scene, &(struct copied){b->tried, 2, 3, at, 0, length});
		expect_same(scene, a, 1, 3);
		expect_same(scene, b, UNTRIED, 4);
		break;
	case READ_SINK:
		expect_copied(scene, &(struct copied){a->tried, 1, 4, at, 0, length});
		expect_same(scene, a, UNTRIED, 3);
		expect_same(scene, b, 2, 4);
		break;
	case READ_SOURCE:
	default:
		expect_copied(scene, &(struct copied){a->good->at, 3, 2, 0, at, length});
		expect_same(scene, a, 1, UNTRIED);
		expect_same(scene, b, 2, 4);
		break;
	}
}

/* The completion of a request whose peer refused it [RI 10.23]. */
static void
expect_refused_there(struct scene *scene, enum ri_wc_status told)
{
	struct ri_wc wc = cert_wc(scene->a.end, false);
	bool early = scene->subject != READ_SOURCE && !scene->a.node->attr.completion_acked;

	CERT_UINT(scene->cert, wc.wr_id, ==, 1);
	if (scene->a.node->attr.remote_status)
		CERT_UINT(scene->cert, wc.status, ==, told);
	else
		CERT_TRUE(scene->cert, wc.status != RI_WC_SUCCESS || early);
}

static void
expect_refused(struct scene *scene)
{
	if (scene->subject == RECEIVE_SINK) {
		cert_wc_is(scene->b.end, true, 2, RI_WC_LOCAL_PROTECTION);
		expect_refused_there(scene, RI_WC_REMOTE_OPERATION);
	} else if (is_remote(scene->subject)) {
		expect_refused_there(scene, RI_WC_REMOTE_ACCESS);
	} else {
		cert_wc_is(scene->a.end, false, 1, RI_WC_LOCAL_PROTECTION);
	}
	if (scene->subject == SEND_SOURCE)
		cert_wc_is(scene->b.end, true, 2, RI_WC_FLUSHED);
	cert_wait_end(scene->a.end);
	cert_wait_end(scene->b.end);
	expect_same(scene, &scene->a, 1, 3);
	expect_same(scene, &scene->b, 2, 4);
}

/* One connection with one operation, which is granted or refused. */
static void
try_with(struct scene *scene, const struct ri_qp_init *init_b, const struct ri_sge *range,
	 bool granted)
{
	fill(scene);
	scene->a.end = cert_end_new(scene->a.node, NULL);
	scene->b.end = cert_end_new(scene->b.node, init_b);
	cert_connect(scene->a.end, scene->b.end);
	post(scene, range);
	if (granted) {
		cert_wc_is(scene->a.end, false, 1, RI_WC_SUCCESS);
		if (scene->subject == SEND_SOURCE || scene->subject == RECEIVE_SINK)
			cert_wc_is(scene->b.end, true, 2, RI_WC_SUCCESS);
		else if (!is_remote(scene->subject) || scene->subject == WRITE_TARGET)
			cert_disconnect(scene->a.end,
					scene->b.end); /* now it is placed, too; Freedoms: early */
		expect_done(scene, range);
	} else {
		expect_refused(scene);
	}
	cert_end_free(scene->a.end);
	cert_end_free(scene->b.end);
}

static void
try(struct scene *scene, const struct ri_sge *range, bool granted)
{
	try_with(scene, NULL, range, granted);
}

/* --- rights ------------------------------------------------------------------------------ */

/* [RI 5.3.1] */
static bool
is_sound(uint32_t access)
{
	bool reads = (access & RI_ACCESS_LOCAL_READ) != 0;
	bool writes = (access & RI_ACCESS_LOCAL_WRITE) != 0;

	return (reads || writes) && (reads || (access & RI_ACCESS_REMOTE_READ) == 0) &&
	       (writes || (access & RI_ACCESS_REMOTE_WRITE) == 0);
}

/* [RI 5.3.2] */
static uint32_t
needed(const struct ri_rnic_attr *attr, enum subject subject)
{
	switch (subject) {
	case SEND_SOURCE:
	case WRITE_SOURCE:
		return RI_ACCESS_LOCAL_READ;
	case RECEIVE_SINK:
		return RI_ACCESS_LOCAL_WRITE;
	case READ_SINK:
		return attr->read_sink_needs_remote_write ? RI_ACCESS_REMOTE_WRITE
							  : RI_ACCESS_LOCAL_WRITE;
	case WRITE_TARGET:
		return RI_ACCESS_REMOTE_WRITE;
	case READ_SOURCE:
	default:
		return RI_ACCESS_REMOTE_READ;
	}
}

static void
rights(struct cert *cert, enum subject subject)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);
	uint32_t wanted = needed(attr, subject);
	struct scene scene;

	scene_open(&scene, cert, subject);
	for (uint32_t bits = 0; bits < 16; bits++) {
		uint32_t implied = attr->local_read_revocable ? 0u : (uint32_t)RI_ACCESS_LOCAL_READ;

		if (!is_sound(bits))
			continue;
		cert_note(cert, "a region with the rights 0x%02x; needed are 0x%02x", bits, wanted);
		register_in(&scene, owner(&scene)->node->pd, bits);
		struct ri_sge range = middle(&scene);
		try(&scene, &range, ((bits | implied) & wanted) == wanted);
		deregister(&scene);
	}
}

/* The rights of the peer's queue pair, beside those of its region. */
static void
rights_of_pair(struct cert *cert, enum subject subject)
{
	uint32_t wanted = needed(cert_attr(cert), subject);
	struct scene scene;

	scene_open(&scene, cert, subject);
	register_in(&scene, owner(&scene)->node->pd, CERT_ALL);
	for (uint32_t i = 0; i < 4; i++) {
		struct ri_qp_init init = cert_end_defaults(scene.b.node);
		struct ri_sge range = middle(&scene);

		init.access = ((i & 1) != 0 ? RI_ACCESS_REMOTE_READ : 0u) |
			      ((i & 2) != 0 ? RI_ACCESS_REMOTE_WRITE : 0u);
		cert_note(cert, "a queue pair with the rights 0x%02x; needed are 0x%02x",
			  init.access, wanted);
		try_with(&scene, &init, &range, (init.access & wanted) == wanted);
	}
	deregister(&scene);
}

/* --- domains ----------------------------------------------------------------------------- */

static void
domains(struct cert *cert, enum subject subject)
{
	struct scene scene;
	struct side *side;
	struct ri_pd *other = NULL;
	struct ri_sge range;

	scene_open(&scene, cert, subject);
	side = owner(&scene);
	CERT_VERB(cert, RI_SUCCESS, side->node->p->pd->create(side->node->context, &other));
	cert_note(cert, "a region of another protection domain");
	register_in(&scene, other, CERT_ALL);
	range = middle(&scene);
	try(&scene, &range, false);
	deregister(&scene);
	CERT_VERB(cert, RI_SUCCESS, side->node->p->pd->destroy(other));
	cert_note(cert, "a region of the domain of the queue pair");
	register_in(&scene, side->node->pd, CERT_ALL);
	range = middle(&scene);
	try(&scene, &range, true);
	deregister(&scene);
}

/* --- ranges ------------------------------------------------------------------------------ */

static void
ranges(struct cert *cert, enum subject subject)
{
	static const struct {
		int64_t from; /* relative to the first byte of the region */
		uint32_t length;
		bool granted;
	} rows[] = {
		{0, LENGTH, true},       {0, 1, true},
		{LENGTH - 1, 1, true},   {1, LENGTH - 1, true},
		{-1, PIECE, false},      {-1, 1, false},
		{0, LENGTH + 1, false},  {LENGTH - 1, 2, false},
		{LENGTH, 1, false},      {-(int64_t)PIECE, PIECE, false},
		{-1, LENGTH + 2, false},
	};
	struct scene scene;
	struct ri_sge range;

	scene_open(&scene, cert, subject);
	register_in(&scene, owner(&scene)->node->pd, CERT_ALL);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		range = middle(&scene);
		range.addr += (uint64_t)rows[i].from;
		range.length = rows[i].length;
		cert_note(cert, "%u bytes from byte %d of %u", range.length, (int)rows[i].from,
			  LENGTH);
		try(&scene, &range, rows[i].granted);
	}
	range = middle(&scene);
	range.addr = UINT64_MAX - PIECE / 2;
	cert_note(cert, "a range that wraps");
	try(&scene, &range, false);
	deregister(&scene);
}

/* --- keys -------------------------------------------------------------------------------- */

static void
keys(struct cert *cert, enum subject subject)
{
	struct scene scene;
	struct ri_sge range;

	scene_open(&scene, cert, subject);
	register_in(&scene, owner(&scene)->node->pd, CERT_ALL);
	for (unsigned bit = 0; bit < 32; bit += 5) {
		range = middle(&scene);
		range.stag ^= 1u << bit;
		cert_note(cert, "bit %u of the key is wrong", bit);
		try(&scene, &range, false);
	}
	range = middle(&scene);
	cert_note(cert, "the key of the region");
	try(&scene, &range, true);
	deregister(&scene);
	cert_note(cert, "the key of a region that is deregistered");
	try(&scene, &range, false);
	register_in(&scene, owner(&scene)->node->pd, CERT_ALL);
	cert_note(cert, "the key of an earlier registration of the same memory");
	try(&scene, &range, false);
	deregister(&scene);
}

/* Nothing is checked: neither key, nor range, nor rights [RI 3.2.5]. */
static void
nothing(struct cert *cert, enum subject subject)
{
	struct scene scene;
	struct ri_sge range = {.addr = UINT64_MAX - 3, .stag = 0x12345678};

	scene_open(&scene, cert, subject);
	try(&scene, &range, true);
	range = (struct ri_sge){0};
	try(&scene, &range, true);
}

/* --- the matrix -------------------------------------------------------------------------- */

#define OPERATION(name, subject)                      \
	static void rights_##name(struct cert *cert)  \
	{                                             \
		rights(cert, subject);                \
	}                                             \
	static void domains_##name(struct cert *cert) \
	{                                             \
		domains(cert, subject);               \
	}                                             \
	static void ranges_##name(struct cert *cert)  \
	{                                             \
		ranges(cert, subject);                \
	}                                             \
	static void keys_##name(struct cert *cert)    \
	{                                             \
		keys(cert, subject);                  \
	}                                             \
	static void nothing_##name(struct cert *cert) \
	{                                             \
		nothing(cert, subject);               \
	}

OPERATION(send, SEND_SOURCE)
OPERATION(write_from, WRITE_SOURCE)
OPERATION(receive, RECEIVE_SINK)
OPERATION(read_into, READ_SINK)
OPERATION(write_to, WRITE_TARGET)
OPERATION(read_from, READ_SOURCE)

static void
pair_write(struct cert *cert)
{
	rights_of_pair(cert, WRITE_TARGET);
}

static void
pair_read(struct cert *cert)
{
	rights_of_pair(cert, READ_SOURCE);
}

/* The five cases of an operation; Reads need a depth above 0. */
#define ROWS(number, name, what, wants)                                                           \
	{.id = "verbs.access.rights.000" number,                                                  \
	 .title = what " needs exactly the rights that are specified, of all sets of rights",     \
	 .rule = "[RI 5.3.1] [RI 5.3.2] [RI 5.3.3] [RI 10.1] [RI 10.11]",                         \
	 .settles = "read_sink_needs_remote_write local_read_revocable remote_status",            \
	 .needs = (wants),                                                                        \
	 .run = rights_##name},                                                                   \
		{.id = "verbs.access.domain.000" number,                                          \
		 .title = what " is refused in another protection domain",                        \
		 .rule = "[RI 5.1.1] [RI 3.3.1]",                                                 \
		 .needs = (wants),                                                                \
		 .run = domains_##name},                                                          \
		{.id = "verbs.access.range.000" number,                                           \
		 .title = what " is granted up to the last byte, and refused one byte beyond",    \
		 .rule = "[RI 3.3.1] [RI 3.3.3]",                                                 \
		 .needs = (wants),                                                                \
		 .run = ranges_##name},                                                           \
		{.id = "verbs.access.key.000" number,                                             \
		 .title = what " needs all bits of the key of a region that exists",              \
		 .rule = "[RI 5.1.1] [RI 5.7.1]",                                                 \
		 .needs = (wants),                                                                \
		 .run = keys_##name},                                                             \
	{                                                                                         \
		.id = "verbs.access.nothing.000" number,                                          \
		.title = what " of no bytes is not checked against memory", .rule = "[RI 3.2.5]", \
		.needs = (wants), .run = nothing_##name                                           \
	}

static const struct cert_case cases[] = {
	ROWS("1", send, "The source of a Send", NULL),
	ROWS("2", write_from, "The source of an RDMA Write", NULL),
	ROWS("3", receive, "A receive", NULL),
	ROWS("4", read_into, "The sink of an RDMA Read", "max_ord max_ird"),
	ROWS("5", write_to, "The target of an RDMA Write", NULL),
	ROWS("6", read_from, "The source of an RDMA Read", "max_ord max_ird"),
	{.id = "verbs.access.pair.0001",
	 .title = "An RDMA Write needs the right of the peer's queue pair, too",
	 .rule = "[RI 5.3.2]",
	 .run = pair_write},
	{.id = "verbs.access.pair.0002",
	 .title = "An RDMA Read needs the right of the peer's queue pair, too",
	 .rule = "[RI 5.3.2]",
	 .needs = "max_ord max_ird",
	 .run = pair_read},
};

CERT_SET(verbs_access, cases);
