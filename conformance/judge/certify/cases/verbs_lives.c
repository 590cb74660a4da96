/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Second lives: queue pairs that are reset with work under way and connected again, regions that
 * get other memory by fast registration, windows whose binds fail, and datagrams in slots that
 * other requests used before.
 */

#include <string.h>

#include "verbs_reset.h"
#include "verbs_ud.h"
#include "verbs_window.h"

/* --- queue pairs ------------------------------------------------------------------------------- */

#define LIVES 9u
#define READS 6u /* of one life, more than run at once */
#define WORD  24u

/* Reads that are all answered; with `rest` they are left under way. */
static void
life_reads(struct pair *pair, unsigned life, bool rest)
{
	struct ri_sge sink, source;

	if (pair->a->init.ord == 0)
		return;
	cert_fill(pair->into->at, VERBS_MEMORY, life);
	for (unsigned i = 0; i < READS; i++) {
		sink = cert_sge(pair->from, 1024 + (size_t)i * WORD, WORD);
		source = cert_sge(pair->into, 512 + (size_t)i * WORD, WORD);
		cert_post_rdma(pair->a, RI_OP_RDMA_READ, 300 + i, &sink, &source);
	}
	if (rest)
		return;
	for (unsigned i = 0; i < READS; i++)
		cert_wc_is(pair->a, false, 300 + i, RI_WC_SUCCESS);
	CERT_BYTES(pair->cert, pair->from->at + 1024, pair->into->at + 512, READS * WORD);
}

/* What was left completes once, in order, and nothing else does. */
static void
life_ends(struct pair *pair, unsigned requests, unsigned receives)
{
	struct cert *cert = pair->cert;

	for (unsigned i = 0; i < requests; i++)
		CERT_UINT(cert, cert_wc(pair->a, false).wr_id, ==, 300 + i);
	for (unsigned i = 0; i < receives; i++)
		cert_wc_is(pair->b, true, 200 + i, RI_WC_FLUSHED);
	cert_wait_quiescent(pair->a);
	cert_wait_quiescent(pair->b);
	CERT_UINT(cert, pair->near->p->fast->cq_depth(pair->a->uscq), ==, 0);
	CERT_UINT(cert, pair->near->p->fast->cq_depth(pair->a->urcq), ==, 0);
	CERT_UINT(cert, pair->far->p->fast->cq_depth(pair->b->uscq), ==, 0);
	CERT_UINT(cert, pair->far->p->fast->cq_depth(pair->b->urcq), ==, 0);
}

/* In each life Reads and messages work as in the first one, and the state that a query tells is that of a new queue pair. */
static void
queue_pairs(struct cert *cert)
{
	struct ri_qp_attr fresh, seen;
	struct pair pair;

	pair_open(&pair, cert, NULL);
	fresh = cert_end_attr(pair.a);
	for (unsigned life = 0; life < LIVES; life++) {
		unsigned receives = life % 4, requests = life % 2 == 0 ? READS : 0;

		cert_note(cert, "life %u", life);
		seen = cert_end_attr(pair.a);
		CERT_UINT(cert, seen.state, ==, RI_QPS_IDLE);
		CERT_UINT(cert, seen.qpn, ==, fresh.qpn);
		CERT_UINT(cert, seen.access, ==, fresh.access);
		cert_connect(pair.a, pair.b);
		for (unsigned i = 0; i < 3; i++) {
			cert_post_recv(pair.b, i, &pair.sink, 1);
			cert_post_send(pair.a, i, &pair.source, 1, 0);
			cert_wc_is(pair.b, true, i, RI_WC_SUCCESS);
			cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
		}
		life_reads(&pair, life, false);
		for (unsigned i = 0; i < receives; i++)
			cert_post_recv(pair.b, 200 + i, &pair.sink, 1);
		life_reads(&pair, life, requests > 0);
		if (life % 3 == 0)
			CERT_UINT(cert, cert_end_move(pair.b, RI_QPS_ERROR), ==, RI_SUCCESS);
		else
			CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
		cert_wait_end(pair.a);
		cert_wait_end(pair.b);
		life_ends(&pair, pair.a->init.ord > 0 ? requests : 0, receives);
		reset_events(pair.a);
		reset_events(pair.b);
		reset_end(pair.a);
		reset_end(pair.b);
	}
}

/* Reads behind a Send that finds no receive: they are left, or answered, or the connection ends by itself. */
static void
left_behind(struct cert *cert)
{
	struct pair pair;

	pair_open(&pair, cert, NULL);
	for (unsigned life = 0; life < LIVES; life++) {
		struct cert_end *mover = life % 2 == 0 ? pair.a : pair.b;

		cert_note(cert, "life %u", life);
		cert_connect(pair.a, pair.b);
		life_reads(&pair, life, false);
		cert_post_send(pair.a, 299, &pair.source, 1, 0);
		life_reads(&pair, life, true);
		CERT_UINT(cert, cert_end_move(mover, RI_QPS_ERROR), ==, RI_SUCCESS);
		cert_wait_end(pair.a);
		cert_wait_end(pair.b);
		CERT_UINT(cert, cert_wc(pair.a, false).wr_id, ==, 299);
		life_ends(&pair, READS, 0);
		reset_events(pair.a);
		reset_events(pair.b);
		reset_end(pair.a);
		reset_end(pair.b);
	}
}

/* --- fast registration ---------------------------------------------------------------------------- */

#define PAGE  4096u
#define PAGES 4u

struct linked {
	struct pair pair;
	struct ri_mr *mr;
	uint32_t stag;
	uint64_t list[PAGES];
	uint64_t base; /* of the region */
	uint32_t count;
};

static _Alignas(PAGE) uint8_t pages[PAGES * PAGE];

static bool
linked_open(struct linked *linked, struct cert *cert)
{
	struct ri_mr_init reserve = {.access = CERT_ALL, .unlinked = true};
	struct ri_qp_init init;

	reserve.max_pages = MIN(PAGES, cert_attr(cert)->max_pbl);
	memset(linked, 0, sizeof(*linked));
	pair_open(&linked->pair, cert, NULL);
	init = cert_end_defaults(linked->pair.far);
	init.privileged = true;
	linked->pair.b = cert_end_new(linked->pair.far, &init);
	cert_connect(linked->pair.a, linked->pair.b);
	CERT_VERB(cert, RI_SUCCESS,
		  linked->pair.far->p->mem->mr_reg(linked->pair.far->pd, &reserve, &linked->mr,
						   &linked->stag));
	return reserve.max_pages == PAGES;
}

/* Gives the region `count` pages, from the last of them to the first. */
static void
give(struct linked *linked, uint32_t count)
{
	linked->stag = (linked->stag & ~0xffu) | ((linked->stag + 1) & 0xff);
	linked->count = count;
	linked->base = UINT64_C(0x7000000000) + count * (uint64_t)PAGE;
	for (uint32_t i = 0; i < count; i++)
		linked->list[i] = (uintptr_t)(pages + (size_t)(count - 1 - i) * PAGE);
	cert_post(linked->pair.b, &(struct ri_wr){.wr_id = 60,
						  .opcode = RI_OP_FAST_REG,
						  .flags = RI_WR_SIGNALED,
						  .u.fast_reg = {.stag = linked->stag,
								 .access = CERT_ALL,
								 .addr = linked->base,
								 .length = count * (uint64_t)PAGE,
								 .pages = linked->list,
								 .num_pages = count,
								 .page_size = PAGE}});
	memset(linked->list, 0xa5, sizeof(linked->list)); /* it is borrowed for the call */
	cert_wc_is(linked->pair.b, false, 60, RI_WC_SUCCESS);
}

static void
take_back(struct linked *linked, uint32_t stag, enum ri_wc_status status)
{
	cert_post(linked->pair.b, &(struct ri_wr){.wr_id = 61,
						  .opcode = RI_OP_INV_MR,
						  .flags = RI_WR_SIGNALED,
						  .inv_stag = stag});
	cert_wc_is(linked->pair.b, false, 61, status);
}

/* 64 octets across the end of each page go where the list says. */
static void
write_across(struct linked *linked)
{
	struct pair *pair = &linked->pair;
	uint8_t expected[PAGES * PAGE];

	cert_fill(pages, sizeof(pages), 5);
	cert_fill(expected, sizeof(expected), 5);
	for (uint32_t i = 0; i < linked->count; i++) {
		bool last = i == linked->count - 1;
		struct ri_sge source = cert_sge(pair->from, (size_t)i * 64, 64);
		struct ri_sge target = {.addr = linked->base + (i + 1) * (uint64_t)PAGE -
						(last ? 64 : 24),
					.stag = linked->stag};
		size_t page = (size_t)(linked->count - 1 - i) * PAGE;

		cert_fill(pair->from->at + (size_t)i * 64, 64, 90 + i);
		cert_post_rdma(pair->a, RI_OP_RDMA_WRITE, i, &source, &target);
		cert_wc_is(pair->a, false, i, RI_WC_SUCCESS);
		memcpy(expected + page + PAGE - (last ? 64 : 24), pair->from->at + (size_t)i * 64,
		       last ? 64 : 24);
		if (!last)
			memcpy(expected + page - PAGE, pair->from->at + (size_t)i * 64 + 24, 40);
	}
	cert_post_recv(pair->b, 1, NULL, 0);
	cert_post_send(pair->a, 2, NULL, 0, 0);
	cert_wc_is(pair->a, false, 2, RI_WC_SUCCESS);
	cert_wc_is(pair->b, true, 1, RI_WC_SUCCESS);
	CERT_BYTES(pair->cert, pages, expected, sizeof(expected));
}

/* More and fewer pages by turns; at the end the pages of an earlier list are out of reach. */
static void
fast_again(struct cert *cert)
{
	static const uint32_t counts[] = {4, 1, 3, 2, 4, 2, 1};
	struct linked linked;
	struct ri_sge target;

	if (!linked_open(&linked, cert)) {
		cert_not_claimed(cert, "max_pbl is less than %u", PAGES);
		return;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
		cert_note(cert, "%u pages", counts[i]);
		give(&linked, counts[i]);
		write_across(&linked);
		if (i + 1 < G_N_ELEMENTS(counts))
			take_back(&linked, linked.stag, RI_WC_SUCCESS);
	}
	cert_note(cert, "the second page of a region of one");
	target = (struct ri_sge){.addr = linked.base + PAGE, .stag = linked.stag};
	cert_fill(pages, sizeof(pages), 6);
	cert_post_rdma(linked.pair.a, RI_OP_RDMA_WRITE, 1, &linked.pair.source, &target);
	cert_wait_end(linked.pair.a);
	cert_wait_end(linked.pair.b);
	cert_expect_fill(cert, "pages that are not the region's", pages, sizeof(pages), 6);
}

/* An invalidation with the key that the region had before fails, and leaves the region. */
static void
old_region_key(struct cert *cert)
{
	struct ri_mr_attr attr = {0};
	struct linked linked;
	uint32_t old;

	(void)linked_open(&linked, cert);
	give(&linked, 1);
	old = linked.stag;
	take_back(&linked, old, RI_WC_SUCCESS);
	give(&linked, 1);
	take_back(&linked, old, RI_WC_LOCAL_MM);
	cert_wait_end(linked.pair.b);
	CERT_VERB(cert, RI_SUCCESS, linked.pair.far->p->mem->mr_query(linked.mr, &attr));
	CERT_TRUE(cert, attr.valid);
	CERT_UINT(cert, attr.stag, ==, linked.stag);
}

/* --- what a region counts ---------------------------------------------------------------------------- */

/* Binds that succeed, fail and are undone: the region counts those that are bound, and can go when the count is 0. */
static void
bound_counts(struct cert *cert)
{
	for (unsigned way = 0; way < 4; way++) {
		struct mw_scene scene;
		struct ri_mr_attr attr = {0};
		const struct ri_mem_ops *mem;
		struct cert_region *into;
		struct ri_wr wr;

		mw_scene_open(&scene, cert, RI_MW_NARROW);
		mem = scene.pair.far->p->mem;
		into = scene.pair.into;
		mw_bind(&scene, 0, 64, MW_RIGHTS);
		CERT_VERB(cert, RI_SUCCESS, mem->mr_query(into->mr, &attr));
		CERT_UINT(cert, attr.bound, ==, 1);
		CERT_VERB(cert, RI_ERR_BUSY, mem->mr_dereg(into->mr));
		if (way < 2) { /* a bind that is out of bounds, or of a window that is bound */
			cert_note(cert, "a bind that fails");
			wr = mw_bind_of(&scene, way == 0 ? VERBS_MEMORY : 0, 64, MW_RIGHTS);
			mw_post(&scene, &wr);
			cert_wc_is(scene.pair.b, false, 50, RI_WC_MW_BIND);
			cert_wait_end(scene.pair.b);
		} else if (way == 2) {
			cert_note(cert, "a connection that ends");
			CERT_UINT(cert, cert_end_move(scene.pair.b, RI_QPS_ERROR), ==, RI_SUCCESS);
			cert_wait_end(scene.pair.b);
		}
		CERT_VERB(cert, RI_SUCCESS, mem->mr_query(into->mr, &attr));
		CERT_UINT(cert, attr.bound, ==, 1);
		mw_scene_end(&scene);
		CERT_VERB(cert, RI_SUCCESS, mem->mr_query(into->mr, &attr));
		CERT_UINT(cert, attr.bound, ==, 0);
		CERT_VERB(cert, RI_SUCCESS, mem->mr_dereg(into->mr));
		into->mr = NULL;
		cert_node_close(scene.pair.near);
		cert_node_close(scene.pair.far);
	}
}

/* --- datagrams ------------------------------------------------------------------------------------------ */

#define LETTERS 400u
#define ROOM    (UD_GRH + 97u)

/* What a datagram has beside its octets. */
struct letter {
	uint32_t length, flags, imm;
	unsigned pieces;
};

static struct letter
random_letter(struct mail *mail)
{
	const struct ri_rnic_attr *attr = &mail->near->attr;
	struct letter letter = {.length = cert_random_below(mail->cert, 60)};
	bool rich = cert_random_below(mail->cert, 2) == 0;

	letter.pieces = rich && mail->a->init.max_send_sge > 1 ? 2 : letter.length > 0;
	if (rich && attr->inline_data && letter.length <= mail->a->init.max_inline)
		letter.flags |= RI_WR_INLINE;
	if (rich && (attr->immediate_with & RI_IMMEDIATE_UD) != 0) {
		letter.flags |= RI_WR_IMMEDIATE;
		letter.imm = (uint32_t)cert_random(mail->cert);
	}
	if (rich)
		letter.flags |= RI_WR_SOLICITED;
	return letter;
}

static void
send_letter(struct mail *mail, uint64_t id, const struct letter *letter)
{
	uint32_t first = letter->pieces > 1 ? letter->length / 3 : letter->length;
	struct ri_sge sgl[2] = {cert_sge(mail->from, 3, first),
				cert_sge(mail->from, 3 + first, letter->length - first)};
	struct ri_wr wr = mail_wr(id, sgl, &mail->to);

	wr.num_sge = (uint16_t)letter->pieces;
	wr.imm = letter->imm;
	wr.flags = letter->flags | (id % 3 == 2 ? (uint32_t)RI_WR_SIGNALED : 0u);
	cert_post(mail->a, &wr);
}

/* Slots of queues of three are used by all kinds of datagrams; octets behind a short one stay. */
static void
letters(struct cert *cert)
{
	struct mail mail;
	struct ri_qp_init init;
	uint8_t before[ROOM];

	mail_open(&mail, cert);
	init = ud_init(mail.near);
	init.max_sq_wr = init.max_rq_wr = MIN(3, mail.near->attr.max_sq_wr);
	init.max_inline = mail.near->attr.inline_data ? MIN(60, mail.near->attr.max_inline) : 0;
	mail.a = cert_end_new(mail.near, &init);
	init.max_inline = 0;
	mail.b = cert_end_new(mail.far, &init);
	mail.to.qpn = cert_end_attr(mail.b).qpn;
	for (unsigned i = 0; i < LETTERS; i++) {
		struct letter letter = random_letter(&mail);
		bool immediate = (letter.flags & RI_WR_IMMEDIATE) != 0;
		struct ri_wc wc;

		cert_fill(mail.from->at, 128, i);
		cert_fill(mail.into->at, ROOM, i + 1);
		memcpy(before, mail.into->at, ROOM);
		mail_offer(&mail, i, ROOM - UD_GRH);
		send_letter(&mail, i, &letter);
		wc = mail_arrives(&mail, i, letter.length);
		CERT_UINT(cert, (wc.flags & RI_WC_IMMEDIATE) != 0, ==, immediate);
		if (immediate)
			CERT_UINT(cert, wc.imm, ==, letter.imm);
		if (mail.far->attr.solicited_works)
			CERT_UINT(cert, (wc.flags & RI_WC_SOLICITED) != 0, ==,
				  (letter.flags & RI_WR_SOLICITED) != 0);
		CERT_BYTES(cert, mail.into->at + UD_GRH, mail.from->at + 3, letter.length);
		CERT_BYTES(cert, mail.into->at + UD_GRH + letter.length,
			   before + UD_GRH + letter.length, ROOM - UD_GRH - letter.length);
		if (i % 3 == 2)
			cert_wc_is(mail.a, false, i, RI_WC_SUCCESS);
	}
	CERT_UINT(cert, mail.near->p->fast->cq_depth(mail.a->uscq), ==, 0);
	mail_undisturbed(&mail);
}

static const struct cert_case cases[] = {
	{.id = "verbs.second.pair.0001",
	 .title = "A queue pair that is reset with work under way is as a new one, life after life",
	 .rule = "[RI 10.26] [RI 4.1.1] [RI 3.2.4]",
	 .needs = "qp_reusable",
	 .settles = "qp_reusable",
	 .run = queue_pairs},
	{.id = "verbs.second.pair.0002",
	 .title = "RDMA Reads that an end has cut off leave the whole depth to the next connection",
	 .rule = "[RI 10.26] [RI 3.2.4] [RI 4.1.1]",
	 .needs = "qp_reusable max_ird max_ord",
	 .settles = "qp_reusable",
	 .run = left_behind},
	{.id = "verbs.second.fast.0001",
	 .title = "A region that gets fewer pages by a fast registration has those alone",
	 .rule = "[RI 5.5.1] [RI 5.2.1]",
	 .needs = "fast_register reg_page_list max_pbl",
	 .settles = "fast_register",
	 .run = fast_again},
	{.id = "verbs.second.fast.0002",
	 .title = "An invalidation with an earlier key of a region fails and leaves the region",
	 .rule = "[RI 5.4.1] [RI 5.1.1]",
	 .needs = "fast_register reg_page_list max_pbl",
	 .run = old_region_key},
	{.id = "verbs.second.bound.0001",
	 .title = "A region counts the windows that are bound to it, whatever became of binds",
	 .rule = "[RI 2.2.3] [RI 5.6.4]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER",
	 .run = bound_counts},
	{.id = "verbs.second.datagram.0001",
	 .title = "Datagrams in slots of a small queue are what they say, whatever used the slots "
		  "before",
	 .rule = "[RI 10.34] [RI 3.2.7]",
	 .needs = "ud",
	 .run = letters},
};

CERT_SET(verbs_lives, cases);
