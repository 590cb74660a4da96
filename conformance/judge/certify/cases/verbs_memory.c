/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Registration, keys, and what deregistration promises. verbs_access.c tries the accesses. */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cert_node.h"

#define KEYS 200u /* registrations, of which each has another key than those before */

static struct ri_mr_init
range_of(void *at, size_t length, uint32_t access)
{
	return (struct ri_mr_init){.addr = (uintptr_t)at, .length = length, .access = access};
}

/* Registers, expects a status, and takes back what a wrong success left. */
static void
expect_reg(struct cert_node *node, const struct ri_mr_init *init, enum ri_status expected)
{
	struct ri_mr *mr = NULL;
	uint32_t stag = 0;

	CERT_VERB(node->cert, expected, node->p->mem->mr_reg(node->pd, init, &mr, &stag));
	if (expected != RI_SUCCESS)
		return;
	CERT_TRUE(node->cert, mr != NULL);
	CERT_UINT(node->cert, stag, !=, 0);
	CERT_VERB(node->cert, RI_SUCCESS, node->p->mem->mr_dereg(mr));
}

/* --- registration ------------------------------------------------------------------------ */

static void
sets_of_rights(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	static uint8_t memory[64];

	for (uint32_t access = 0; access < 64; access++) {
		struct ri_mr_init init = range_of(memory, sizeof(memory), access);
		const uint32_t writes = RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC;
		bool reads_here = (access & RI_ACCESS_LOCAL_READ) != 0;
		bool writes_here = (access & RI_ACCESS_LOCAL_WRITE) != 0;
		bool needs_read = (access & RI_ACCESS_REMOTE_READ) != 0;

		/* Whether a missing local read is implied or an error differs; nothing else does. */
		if (!node->attr.local_read_revocable && !reads_here)
			continue;
		bool good = (reads_here || writes_here) && (reads_here || !needs_read) &&
			    (writes_here || (access & writes) == 0);
		cert_note(cert, "rights 0x%02x", access);
		expect_reg(node, &init, good ? RI_SUCCESS : RI_ERR_INVALID_ARG);
	}
}

static void
unknown_rights(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	static uint8_t memory[64];
	struct ri_mr_init init = range_of(memory, sizeof(memory), CERT_LOCAL | 1u << 6);

	expect_reg(node, &init, RI_ERR_INVALID_ARG);
	init.access = CERT_LOCAL | 1u << 31;
	expect_reg(node, &init, RI_ERR_INVALID_ARG);
}

/* More than a region may have is too long, or the process has no memory behind its own, or memory without the rights. */
static bool
refuses_length(enum ri_status status)
{
	return status == RI_ERR_LIMIT || status == RI_ERR_ADDRESS || status == RI_ERR_ACCESS;
}

static void
lengths(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	static uint8_t memory[64];
	struct ri_mr_init init = range_of(memory, 0, CERT_LOCAL);
	struct ri_mr *mr = NULL;
	uint32_t stag;
	enum ri_status status;

	expect_reg(node, &init, RI_ERR_INVALID_ARG);
	init.length = 1;
	expect_reg(node, &init, RI_SUCCESS);
	init.addr = UINT64_MAX - 7;
	init.length = 16;
	expect_reg(node, &init, RI_ERR_ADDRESS);
	init.addr = (uintptr_t)memory;
	init.length = node->attr.max_mr_length;
	if (init.length == UINT64_MAX)
		return;
	init.length++;
	cert_note(cert, "one byte more than max_mr_length");
	status = node->p->mem->mr_reg(node->pd, &init, &mr, &stag);
	CERT_TRUE(cert, refuses_length(status));
}

/* The process itself cannot write there, so no peer and no receive may. */
static void
rights_of_the_process(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ri_mr_init init;

	CERT_TRUE(cert, at != MAP_FAILED);
	init = range_of(at, page, RI_ACCESS_LOCAL_READ);
	expect_reg(node, &init, RI_SUCCESS);
	init.access = CERT_LOCAL;
	expect_reg(node, &init, RI_ERR_ACCESS);
	init.access = CERT_LOCAL | RI_ACCESS_REMOTE_WRITE;
	expect_reg(node, &init, RI_ERR_ACCESS);
	munmap(at, page);
}

static void
query(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_region *region = cert_region_new(node, 300, CERT_ALL);
	struct ri_mr_attr attr;

	memset(&attr, 0xa5, sizeof(attr));
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_query(region->mr, &attr));
	CERT_UINT(cert, attr.stag, ==, region->stag);
	CERT_UINT(cert, attr.access, ==, CERT_ALL);
	CERT_UINT(cert, attr.addr, ==, (uintptr_t)region->at);
	CERT_UINT(cert, attr.length, ==, 300);
	CERT_TRUE(cert, attr.valid);
	CERT_TRUE(cert, !attr.shared);
	CERT_TRUE(cert, !attr.zero_based);
	CERT_UINT(cert, attr.bound, ==, 0);
}

static void
reserved_is_refused(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_mr_init init = {.access = CERT_LOCAL, .unlinked = true, .max_pages = 1};

	expect_reg(node, &init, RI_ERR_UNSUPPORTED);
}

static void
list_is_refused(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	static uint8_t memory[64];
	const uint64_t page = (uintptr_t)memory;
	struct ri_mr_init init = range_of(memory, sizeof(memory), CERT_LOCAL);

	init.pages = &page;
	init.max_pages = 1;
	init.page_size = 4096;
	expect_reg(node, &init, RI_ERR_UNSUPPORTED);
}

/* --- keys -------------------------------------------------------------------------------- */

/* What the provider chooses of a key. */
static uint32_t
chosen(const struct cert_node *node, uint32_t stag)
{
	return node->attr.mr_key_owner == RI_KEY_CONSUMER ? stag >> 8 : stag;
}

static void
keys_draw(struct cert_node *node, uint32_t *keys)
{
	static uint8_t memory[64];
	struct ri_mr_init init = range_of(memory, sizeof(memory), CERT_ALL);

	for (unsigned i = 0; i < KEYS; i++) {
		struct ri_mr *mr = NULL;
		uint32_t stag = 0;

		CERT_VERB(node->cert, RI_SUCCESS,
			  node->p->mem->mr_reg(node->pd, &init, &mr, &stag));
		keys[i] = chosen(node, stag);
		CERT_VERB(node->cert, RI_SUCCESS, node->p->mem->mr_dereg(mr));
	}
}

static void
keys_are_new(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	uint32_t keys[KEYS];

	keys_draw(node, keys);
	for (unsigned i = 0; i < KEYS; i++) {
		for (unsigned j = 0; j < i; j++) {
			cert_note(cert, "registrations %u and %u", j, i);
			CERT_UINT(cert, keys[i], !=, keys[j]);
		}
	}
}

/* Each bit is set in about half of the keys; the bounds allow for the small number of keys. */
static bool
is_half(unsigned count)
{
	return count > KEYS / 8 && count < KEYS - KEYS / 8;
}

/* Earlier keys predict neither the distance to the next key nor any of its bits. */
static void
keys_are_random(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	uint32_t keys[KEYS];
	unsigned width = node->attr.mr_key_owner == RI_KEY_CONSUMER ? 24 : 32;
	unsigned same = 0, random = 0;

	keys_draw(node, keys);
	for (unsigned i = 2; i < KEYS; i++)
		same += keys[i] - keys[i - 1] == keys[i - 1] - keys[i - 2];
	cert_note(cert, "%u of %u keys follow the ones before by the same step", same, KEYS);
	CERT_UINT(cert, same, <, KEYS / 10);
	for (unsigned bit = 0; bit < width; bit++) {
		unsigned ones = 0, changes = 0;

		for (unsigned i = 0; i < KEYS; i++) {
			ones += keys[i] >> bit & 1;
			changes += i > 0 && ((keys[i] ^ keys[i - 1]) >> bit & 1) != 0;
		}
		random += is_half(ones) && is_half(changes);
	}
	cert_note(cert, "%u of %u bits change as if by chance", random, width);
	CERT_UINT(cert, random, >=, 16);
}

/* The keys of one opening of the adapter say nothing about those of the next one. */
static void
keys_of_openings(struct cert *cert)
{
	uint32_t keys[2][KEYS];
	unsigned same = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct cert_node *node = cert_node_open(cert);

		keys_draw(node, keys[i]);
		cert_node_close(node);
	}
	for (unsigned i = 0; i < KEYS; i++)
		same += keys[0][i] == keys[1][i];
	cert_note(cert, "%u of %u keys are those of the opening before", same, KEYS);
	CERT_UINT(cert, same, <, KEYS / 10);
}

/* The key octet is the one that the access layer chose. */
static void
keys_of_consumer(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	static uint8_t memory[64];
	struct ri_mr_init init = range_of(memory, sizeof(memory), CERT_ALL);

	for (unsigned key = 0; key < 256; key += 51) {
		struct ri_mr *mr = NULL;
		uint32_t stag = 0;

		init.key = (uint8_t)key;
		CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_reg(node->pd, &init, &mr, &stag));
		CERT_UINT(cert, stag & 0xff, ==, key);
		CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_dereg(mr));
	}
}

static void
many_regions(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	uint32_t count = MIN(500, node->attr.max_mr);

	for (uint32_t i = 0; i < count; i++) {
		const struct cert_region *region = cert_region_new(node, 16, CERT_LOCAL);

		CERT_TRUE(cert, g_hash_table_add(seen, GUINT_TO_POINTER(region->stag)));
	}
}

/* --- registration anew ------------------------------------------------------------------- */

static void
reregister(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_region *from = cert_region_new(near, 128, CERT_ALL);
	struct cert_region *into = cert_region_new(far, 128, CERT_ALL);
	static uint8_t memory[256];
	struct ri_mr_init init = range_of(memory, sizeof(memory), CERT_ALL);
	struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);
	struct ri_sge near_sge = cert_sge(from, 0, 128), far_sge;
	struct ri_mr_attr attr;
	uint32_t old = into->stag;

	cert_connect(a, b);
	init.key = (uint8_t)(old + 1);
	CERT_VERB(cert, RI_SUCCESS, far->p->mem->mr_rereg(into->mr, far->pd, &init, &into->stag));
	CERT_UINT(cert, into->stag, !=, old);
	CERT_VERB(cert, RI_SUCCESS, far->p->mem->mr_query(into->mr, &attr));
	CERT_UINT(cert, attr.stag, ==, into->stag);
	CERT_UINT(cert, attr.addr, ==, (uintptr_t)memory);
	CERT_UINT(cert, attr.length, ==, sizeof(memory));
	cert_fill(from->at, 128, 5);
	far_sge =
		(struct ri_sge){.addr = (uintptr_t)memory + 128, .length = 128, .stag = into->stag};
	cert_post_rdma(a, RI_OP_RDMA_WRITE, 1, &near_sge, &far_sge);
	cert_wc_is(a, false, 1, RI_WC_SUCCESS);
	cert_note(cert, "the old key, and the memory that it had named");
	far_sge = (struct ri_sge){.addr = (uintptr_t)into->at, .length = 128, .stag = old};
	cert_fill(into->at, 128, 6);
	cert_post_rdma(a, RI_OP_RDMA_WRITE, 2, &near_sge, &far_sge);
	cert_wait_end(a);
	cert_wait_end(b);
	cert_expect_fill(cert, "the new memory", memory + 128, 128, 5);
	cert_expect_fill(cert, "the old memory", into->at, 128, 6);
}

/* Whether or not the STag stays, it names the new memory, and nothing names the old one. */
static void
reregister_keeping(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_region *from = cert_region_new(near, 128, CERT_ALL);
	struct cert_region *into = cert_region_new(far, 128, CERT_ALL);
	static uint8_t memory[256];
	struct ri_mr_init init = range_of(memory, sizeof(memory), CERT_ALL);
	struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);
	struct ri_sge near_sge = cert_sge(from, 0, 128), far_sge;
	struct ri_mr_attr attr;

	cert_connect(a, b);
	init.key = (uint8_t)(into->stag + 1);
	init.keep_stag = true;
	CERT_VERB(cert, RI_SUCCESS, far->p->mem->mr_rereg(into->mr, far->pd, &init, &into->stag));
	CERT_VERB(cert, RI_SUCCESS, far->p->mem->mr_query(into->mr, &attr));
	CERT_UINT(cert, attr.stag, ==, into->stag);
	CERT_UINT(cert, attr.addr, ==, (uintptr_t)memory);
	cert_fill(from->at, 128, 5);
	cert_fill(into->at, 128, 6);
	far_sge = (struct ri_sge){.addr = (uintptr_t)memory, .length = 128, .stag = into->stag};
	cert_post_rdma(a, RI_OP_RDMA_WRITE, 1, &near_sge, &far_sge);
	cert_wc_is(a, false, 1, RI_WC_SUCCESS);
	cert_note(cert, "the memory that the region had before");
	far_sge.addr = (uintptr_t)into->at;
	cert_post_rdma(a, RI_OP_RDMA_WRITE, 2, &near_sge, &far_sge);
	cert_wait_end(a);
	cert_wait_end(b);
	cert_expect_fill(cert, "the new memory", memory, 128, 5);
	cert_expect_fill(cert, "the old memory", into->at, 128, 6);
}

static void
reregister_fails_whole(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_region *region = cert_region_new(node, 128, CERT_ALL);
	struct ri_mr_init init = range_of(region->at, 0, CERT_ALL);
	struct ri_mr_attr attr;
	uint32_t stag = 0;

	CERT_VERB(cert, RI_ERR_INVALID_ARG,
		  node->p->mem->mr_rereg(region->mr, node->pd, &init, &stag));
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_query(region->mr, &attr));
	CERT_UINT(cert, attr.stag, ==, region->stag);
	CERT_UINT(cert, attr.length, ==, 128);
	CERT_TRUE(cert, attr.valid);
}

/* The region, its key and its memory are as they were. */
static void
expect_as_before(const struct cert_region *region)
{
	struct cert *cert = region->node->cert;
	struct ri_mr_attr attr;

	CERT_VERB(cert, RI_SUCCESS, region->node->p->mem->mr_query(region->mr, &attr));
	CERT_UINT(cert, attr.stag, ==, region->stag);
	CERT_UINT(cert, attr.addr, ==, (uintptr_t)region->at);
	CERT_UINT(cert, attr.length, ==, region->length);
	CERT_TRUE(cert, attr.valid);
}

/* One byte more than a region may have, where that wraps or not. */
static void
reregister_too_long(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_region *region = cert_region_new(node, 128, CERT_ALL);
	struct ri_mr_init init = range_of(region->at, node->attr.max_mr_length, CERT_LOCAL);
	enum ri_status status;
	uint32_t stag = 0;

	if (init.length == UINT64_MAX) {
		cert_skip(cert, "no range is longer than max_mr_length");
		return;
	}
	init.length++;
	cert_verb_begin(cert);
	status = node->p->mem->mr_rereg(region->mr, node->pd, &init, &stag);
	cert_verb_end(cert, CERT_WHERE, "mr_rereg");
	CERT_TRUE(cert, refuses_length(status));
	expect_as_before(region);
}

/* A list is for a first registration alone, also where lists are claimed. */
static void
reregister_list(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_region *region = cert_region_new(node, 128, CERT_ALL);
	const uint64_t pages[] = {(uintptr_t)region->at};
	struct ri_mr_init init = range_of(region->at, 64, CERT_LOCAL);
	uint32_t stag = 0;

	init.pages = pages;
	init.max_pages = 1;
	init.page_size = 4096;
	CERT_VERB(cert, RI_ERR_UNSUPPORTED,
		  node->p->mem->mr_rereg(region->mr, node->pd, &init, &stag));
	expect_as_before(region);
}

/* Memory that the process itself may not write is not opened for that, and memory that is not there not at all. */
static void
reregister_without_rights(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_region *region = cert_region_new(node, 128, CERT_ALL);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ri_mr_init init;
	uint32_t stag = 0;

	CERT_TRUE(cert, at != MAP_FAILED);
	init = range_of(at, page, CERT_LOCAL);
	CERT_VERB(cert, RI_ERR_ACCESS, node->p->mem->mr_rereg(region->mr, node->pd, &init, &stag));
	expect_as_before(region);
	init = range_of(at, 16, CERT_LOCAL);
	init.addr = UINT64_MAX - 7;
	CERT_VERB(cert, RI_ERR_ADDRESS, node->p->mem->mr_rereg(region->mr, node->pd, &init, &stag));
	expect_as_before(region);
	munmap(at, page);
}

/* --- revocation -------------------------------------------------------------------------- */

#define BIG    (256u * 1024u)
#define WRITES 12u

/* The peer writes while its key is taken away: after the return not one byte changes [RI 5.7.1]. */
static void
revoked_under_fire(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_region *from = cert_region_new(near, BIG, CERT_ALL);
	g_autofree uint8_t *memory = g_malloc0(BIG);
	struct ri_mr_init init = range_of(memory, BIG, CERT_ALL);
	struct ri_sge source = cert_sge(from, 0, BIG), sink;

	cert_fill(from->at, BIG, 1);
	for (unsigned round = 0; round < 6; round++) {
		struct cert_end *a = cert_end_new(near, NULL), *b = cert_end_new(far, NULL);
		struct ri_mr *mr = NULL;

		sink = (struct ri_sge){.addr = init.addr, .length = BIG};
		CERT_VERB(cert, RI_SUCCESS, far->p->mem->mr_reg(far->pd, &init, &mr, &sink.stag));
		cert_connect(a, b);
		for (unsigned i = 0; i < WRITES; i++)
			cert_post_rdma(a, RI_OP_RDMA_WRITE, i, &source, &sink);
		for (unsigned i = 0; i < round; i++)
			cert_progress(cert);
		CERT_VERB(cert, RI_SUCCESS, far->p->mem->mr_dereg(mr));
		cert_fill(memory, BIG, 2 + round);
		cert_post_rdma(a, RI_OP_RDMA_WRITE, WRITES, &source, &sink);
		cert_wait_end(a);
		cert_wait_end(b);
		cert_note(cert, "round %u", round);
		cert_expect_fill(cert, "memory whose key is revoked", memory, BIG, 2 + round);
		cert_end_free(a);
		cert_end_free(b);
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.memory.register.0001",
	 .title = "Exactly the sound sets of rights can be registered",
	 .rule = "[RI 5.3.1] [RI 10.11]",
	 .settles = "local_read_revocable",
	 .run = sets_of_rights},
	{.id = "verbs.memory.register.0002",
	 .title = "An unknown right is refused",
	 .rule = "[RI 5.3.1]",
	 .run = unknown_rights},
	{.id = "verbs.memory.register.0003",
	 .title = "A region has at least one byte, does not wrap, and is not longer than claimed",
	 .rule = "[RI 5.1.1] [RI 10]",
	 .settles = "max_mr_length",
	 .run = lengths},
	{.id = "verbs.memory.register.0004",
	 .title = "A region has no right that the process itself has not",
	 .rule = "[RI 11.3.1]",
	 .run = rights_of_the_process},
	{.id = "verbs.memory.register.0005",
	 .title = "A query tells what was registered",
	 .rule = "[RI 2.2.1]",
	 .run = query},
	{.id = "verbs.memory.register.0006",
	 .title = "An STag cannot be reserved without fast registration",
	 .rule = "[RI 10.12]",
	 .needs = "!fast_register",
	 .settles = "fast_register",
	 .run = reserved_is_refused},
	{.id = "verbs.memory.register.0007",
	 .title = "A list of pages is refused where none is claimed",
	 .rule = "[RI 10.40]",
	 .needs = "!reg_page_list !reg_block_list !reg_ve_list",
	 .settles = "reg_page_list reg_block_list reg_ve_list max_pbl",
	 .run = list_is_refused},
	{.id = "verbs.memory.key.0001",
	 .title = "A key is not given again soon",
	 .rule = "[RI 5.1.1] [RI 5.7.1]",
	 .run = keys_are_new},
	{.id = "verbs.memory.key.0002",
	 .title = "At least 16 bits of a key do not follow from the keys before it",
	 .rule = "[RI 5.1.1] [RI 11.3.1]",
	 .run = keys_are_random},
	{.id = "verbs.memory.key.0003",
	 .title = "The consumer's octet is the key of a region",
	 .rule = "[RI 10.9]",
	 .needs = "mr_key_owner:RI_KEY_CONSUMER",
	 .settles = "mr_key_owner",
	 .run = keys_of_consumer},
	{.id = "verbs.memory.key.0004",
	 .title = "Regions that exist together have different keys",
	 .rule = "[RI 5.1.1] [RI 5.1.2]",
	 .run = many_regions},
	{.id = "verbs.memory.key.0005",
	 .title = "The keys of an opening do not follow from those of the one before",
	 .rule = "[RI 5.1.1] [RI 11.3.1]",
	 .run = keys_of_openings},
	{.id = "verbs.memory.again.0001",
	 .title = "Registration anew gives new memory a new key and revokes the old one",
	 .rule = "[RI 5.2.1] [RI 5.7.1]",
	 .needs = "reregister",
	 .settles = "reregister",
	 .run = reregister},
	{.id = "verbs.memory.again.0002",
	 .title = "Registration anew that is refused changes nothing",
	 .rule = "[RI 2.1.1]",
	 .needs = "reregister",
	 .run = reregister_fails_whole},
	{.id = "verbs.memory.again.0003",
	 .title = "Registration anew takes no list, and changes nothing then",
	 .rule = "[RI 2.1.1] [RI 5.2.1]",
	 .needs = "reregister",
	 .run = reregister_list},
	{.id = "verbs.memory.again.0004",
	 .title = "Registration anew gives no right that the process itself has not",
	 .rule = "[RI 2.1.1] [RI 11.3.1]",
	 .needs = "reregister",
	 .run = reregister_without_rights},
	{.id = "verbs.memory.again.0005",
	 .title = "Registration anew of more bytes than claimed is refused and changes nothing",
	 .rule = "[RI 2.1.1] [RI 5.2.1]",
	 .needs = "reregister",
	 .settles = "max_mr_length",
	 .run = reregister_too_long},
	{.id = "verbs.memory.again.0006",
	 .title = "Registration anew that asks for the old key names the new memory alone",
	 .rule = "[RI 5.2.3]",
	 .needs = "reregister",
	 .run = reregister_keeping},
	{.id = "verbs.memory.revoke.0001",
	 .title = "A region that is deregistered while a peer writes is not written any more",
	 .rule = "[RI 5.7.1]",
	 .run = revoked_under_fire},
};

CERT_SET(verbs_memory, cases);
