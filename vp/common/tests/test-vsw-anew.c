/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A region, a window and the user half of a queue pair that are used a second time: in the slot of
 * another object, registered again, or resized. They must equal, octet by octet, a new object with
 * the same parameters. Tables list the members that are not compared, with the reasons.
 */
#include "mem_bench.h"
#include "vsw_mem_table.h"
#include "vsw_octets.h"
#include "vsw_user_objects.h"

#define PIECES 4

/* How a member differs though nothing is wrong. */
enum {
	DRAWN = 1,    /* by chance, or it names the place itself */
	COMPARED = 2, /* by name, in expect_same */
	OF_WINDOW = 4,
	OF_REGION = 8 /* of the other kind nobody reads it */
};
static const struct vsw_member entry_members[] = {
	VSW_MEMBER(vsw_mem_entry, live, DRAWN | COMPARED),
	VSW_MEMBER(vsw_mem_entry, stag, DRAWN),
	VSW_MEMBER(vsw_mem_entry, posted, DRAWN),
	VSW_MEMBER(vsw_mem_entry, next_free, DRAWN),
	VSW_MEMBER(vsw_mem_entry, region, COMPARED),
	VSW_MEMBER(vsw_mem_entry, current, COMPARED),
	VSW_MEMBER(vsw_mem_entry, mems, COMPARED),
	VSW_MEMBER(vsw_mem_entry, pieces, COMPARED),
	VSW_MEMBER(vsw_mem_entry, pieces_room, COMPARED), /* a region registered anew keeps the room */
	VSW_MEMBER(vsw_mem_entry, qpn, OF_WINDOW),
	VSW_MEMBER(vsw_mem_entry, owner, OF_REGION),
};
static const struct vsw_members entry_table = {
	.type = "vsw_mem_entry",
	.size = sizeof(struct vsw_mem_entry),
	.members = entry_members,
	.count = G_N_ELEMENTS(entry_members),
};

/* The kinds of a life. Each begins in a new place or in that of another; some may be registered anew as another. */
enum kind {
	PLAIN,
	LISTED,
	FAST,
	FAST_SHORT, /* no memory yet */
	NARROW,
	NARROW_UNBOUND,
	WIDE,
	WIDE_RELATIVE,
	KINDS
};

struct life {
	enum kind kind;
	struct vsw_mem_entry *entry, *under; /* the region that a window is bound to */
};

static bool
is_window(enum kind kind)
{
	return kind >= NARROW;
}

static void
pages_make(struct bench *b, uint64_t *pages)
{
	for (unsigned i = 0; i < PIECES; i++)
		pages[i] = at(b, (size_t)3000 - (size_t)700 * i);
}

static struct ri_mr_init
init_of(struct bench *b, enum kind kind, uint64_t *pages)
{
	struct ri_mr_init init = {
		.addr = at(b, 64), .length = 1500, .access = ALL, .key = 0x33, .shareable = true};

	pages_make(b, pages);
	if (kind == PLAIN)
		return init;
	init = (struct ri_mr_init){.length = 1500,
				   .access = ALL,
				   .zero_based = true,
				   .key = 0x44,
				   .max_pages = PIECES,
				   .pages = pages,
				   .page_size = 500,
				   .fbo = 100};
	if (kind != LISTED)
		init = (struct ri_mr_init){.unlinked = true, .max_pages = PIECES, .key = 0x55};
	return init;
}

static void
fast_register(struct bench *b, const struct vsw_mem_entry *entry)
{
	const struct ri_sge list[] = {{.addr = at(b, 2000), .length = 400},
				      {.addr = at(b, 100), .length = 300}};
	const struct vsw_mem_fast fast = {.stag = (entry->stag & ~0xffu) | 0x66,
					  .access = LR | RR,
					  .addr = 0x5000,
					  .length = 600,
					  .count = 2,
					  .list = list};

	g_assert_cmpint(vsw_mr_fast(b->table, &alice, &fast), ==, VSW_MEM_OK);
}

static void
window_begin(struct bench *b, struct life *life, struct vsw_mem_entry *under)
{
	bool narrow = life->kind == NARROW || life->kind == NARROW_UNBOUND;
	struct ri_wr_bind bind;
	uint32_t stag = 0;

	g_assert_cmpint(vsw_mw_alloc(b->table, &pd_a, narrow ? RI_MW_NARROW : RI_MW_WIDE,
				     &life->entry, &stag),
			==, RI_SUCCESS);
	/* Whatever the place was before, the next key follows from the one that was drawn; it is then the place's own. */
	g_assert_cmphex(life->entry->posted, ==, stag & 0xff);
	for (unsigned i = 1; !narrow && i <= 3; i++) {
		uint32_t next = 0;

		bind = (struct ri_wr_bind){.mw_stag = stag};
		vsw_mw_key(b->table, &bind, &next);
		g_assert_cmphex(next, ==, (stag & ~0xffu) | ((stag + i) & 0xff));
	}
	if (life->kind == NARROW_UNBOUND)
		return;
	bind = (struct ri_wr_bind){.mw_stag = (stag & ~0xffu) | 0x77,
				   .mr_stag = under->stag,
				   .addr = at(b, 100),
				   .length = 300,
				   .access = RR | RW};
	g_assert_cmpint(vsw_mw_bind(b->table, &alice, &bind, life->kind == WIDE_RELATIVE), ==,
			VSW_MEM_OK);
	life->under = under;
}

static struct life
life_begin(struct bench *b, enum kind kind, struct vsw_mem_entry *under)
{
	struct life life = {.kind = kind};
	uint64_t pages[PIECES];
	struct ri_mr_init init = init_of(b, kind, pages);
	uint32_t stag = 0;

	if (is_window(kind))
		window_begin(b, &life, under);
	else
		life.entry = reg(b, &init, &stag);
	if (kind == FAST)
		fast_register(b, life.entry);
	return life;
}

static void
life_end(struct life *life)
{
	if (is_window(life->kind))
		vsw_mw_free(life->entry);
	else
		g_assert_cmpint(vsw_mr_dereg(life->entry), ==, RI_SUCCESS);
}

/* What an access of each right finds at the borders of what the life opens, as text. */
static char *
accesses(struct bench *b, const struct vsw_mem_entry *entry)
{
	static const uint32_t rights[] = {LR, LW, RR, RW};
	const uint64_t begins[] = {0,    1,      599,       600,       1499,
				   1500, 0x5000, at(b, 63), at(b, 64), at(b, 100)};
	GString *text = g_string_new(NULL);
	uint64_t left = 0;

	for (unsigned i = 0; i < G_N_ELEMENTS(begins); i++)
		for (unsigned k = 0; k < G_N_ELEMENTS(rights); k++) {
			struct vsw_mem_use use;
			enum vsw_mem_result result = begin(
				b, &alice, ACCESS(entry->stag, begins[i], 1, rights[k]), &use);
			const uint8_t *here =
				result == VSW_MEM_OK ? vsw_mem_piece(&use, 0, &left) : NULL;

			g_string_append_printf(text, "%u.%u: %d %td, ", i, k, result,
					       here != NULL ? here - b->data : (ptrdiff_t)-1);
			vsw_mem_end(&use);
		}
	return g_string_free(text, FALSE);
}

static void
expect_same(struct bench *b, const struct life *fresh, const struct life *used)
{
	const struct vsw_mem_entry *a = fresh->entry, *c = used->entry;
	struct vsw_mem_entry copy_a = *a, copy_c = *c;
	g_autofree char *of_fresh = accesses(b, a), *of_used = accesses(b, c);
	unsigned but = COMPARED | DRAWN | (is_window(fresh->kind) ? OF_REGION : OF_WINDOW);
	struct ri_mr_attr attr_a, attr_c;

	g_assert_cmpstr(of_fresh, ==, of_used);
	g_assert_cmpint(atomic_load(&a->live) != 0, ==, atomic_load(&c->live) != 0);
	g_assert_true((a->region == a) == (c->region == c));
	g_assert_true(a->region == a || a->region == c->region);
	g_assert_true((a->num_pieces > 0) == (c->num_pieces > 0));
	if (!is_window(fresh->kind)) {
		g_assert_true(a->mems[a->current].addr == c->mems[c->current].addr);
		g_assert_true(a->mems[a->current].length == c->mems[c->current].length);
		vsw_mr_query(fresh->entry, &attr_a);
		vsw_mr_query(used->entry, &attr_c);
	} else {
		vsw_mw_query(fresh->entry, &attr_a);
		vsw_mw_query(used->entry, &attr_c);
	}
	attr_a.stag = attr_c.stag = 0;
	g_assert_cmpmem(&attr_a, sizeof(attr_a), &attr_c, sizeof(attr_c));
	/* Until a window is bound, nobody reads what it opens. */
	if (fresh->kind == NARROW_UNBOUND)
		return;
	VSW_CLEAR_PADDING(&copy_a);
	VSW_CLEAR_PADDING(&copy_c);
#if VSW_KNOWS_PADDING
	vsw_octets_same(&entry_table, &copy_a, &copy_c, but);
#else
	(void)entry_table;
	(void)but;
#endif
}

/* Each kind in the place of each other one, whose queue pair may have ended meanwhile. */
static void
test_places(void)
{
	struct bench b RI_AT_END(tear_down) = set_up();
	uint32_t stag = 0;
	struct vsw_mem_entry *under RI_AT_END(mr_end) = reg_all(&b, &stag);

	for (unsigned first = 0; first < KINDS; first++)
		for (unsigned second = 0; second < KINDS; second++)
			for (unsigned ended = 0; ended < 2; ended++) {
				struct life life = life_begin(&b, (enum kind)first, under), fresh;
				const struct vsw_mem_entry *place = life.entry;

				g_test_message("%u in the place of %u, %u", second, first, ended);
				if (ended != 0)
					(void)vsw_mem_qp_windows(b.table, alice.qpn, true);
				life_end(&life);
				life = life_begin(&b, (enum kind)second, under);
				g_assert_true(life.entry == place);
				fresh = life_begin(&b, (enum kind)second, under);
				expect_same(&b, &fresh, &life);
				life_end(&fresh);
				life_end(&life);
				g_assert_cmpuint(atomic_load(&under->bound), ==, 0);
				g_assert_cmpuint(atomic_load(&b.table->narrow), ==, 0);
				/* The place that was new is used from now on: the next one begins behind it. */
				b.table->free = NULL;
			}
}

/* A region of each kind that is registered anew, once and twice, is what a new one is. */
static void
test_registered_anew(void)
{
	uint64_t pages[PIECES];
	struct bench b RI_AT_END(tear_down) = set_up();
	uint32_t stag = 0;

	for (unsigned first = 0; first < NARROW; first++)
		for (unsigned times = 1; times < 3; times++) {
			struct life life = life_begin(&b, (enum kind)first, NULL), fresh;
			struct ri_mr_init init = init_of(&b, PLAIN, pages);

			for (unsigned i = 0; i < times; i++)
				g_assert_cmpint(vsw_mr_rereg(life.entry, &pd_a, &init, &stag), ==,
						RI_SUCCESS);
			life.kind = PLAIN;
			fresh = life_begin(&b, PLAIN, NULL);
			/* A place that has room for a list counts its accesses for good. */
			atomic_store(&fresh.entry->counted, atomic_load(&life.entry->counted));
			expect_same(&b, &fresh, &life);
			atomic_store(&fresh.entry->counted, false);
			life_end(&fresh);
			life_end(&life);
		}
}

/* --- the user half ------------------------------------------------------------------------------------------ */

/* A queue pair with these limits. */
struct half {
	struct vsw_wq sq, rq;
	struct ri_qp_init limits;
	struct ri_uqp *user;
};

static void
half_open(struct half *half, struct ri_urnic *rnic, struct ri_ucq *cq,
	  const struct ri_qp_init *init)
{
	struct ri_map map;

	*half = (struct half){.limits = *init};
	g_assert_cmpint(vsw_wq_create(&half->sq, &half->limits.max_sq_wr, init->max_send_sge, 0),
			==, RI_SUCCESS);
	g_assert_cmpint(vsw_rq_create(&half->rq, &half->limits.max_rq_wr, init->max_recv_sge), ==,
			RI_SUCCESS);
	vsw_map_qp(&map, &half->sq, &half->rq, half, &half->limits);
	g_assert_cmpint(vsw_user_ops.qp_open(rnic, &map, cq, cq, NULL, &half->user), ==,
			RI_SUCCESS);
}

static void
half_close(struct half *half)
{
	vsw_user_ops.qp_close(half->user);
	vsw_wq_destroy(&half->sq);
	vsw_wq_destroy(&half->rq);
}

/* How many queues the user half of the adapter knows: a completion of any other one frees no entry. */
static unsigned
known(struct ri_urnic *rnic)
{
	unsigned count = 0;

	for (unsigned i = 0; i < VSW_CHUNKS; i++) {
		const struct vsw_known_chunk *chunk = atomic_load(&rnic->chunks[i]);

		for (unsigned k = 0; chunk != NULL && k < VSW_CHUNK_SIZE; k++)
			count += atomic_load(&chunk->wq[k].number) != 0;
	}
	return count;
}

static void
expect_same_queue(const struct vsw_user_wq *fresh, const struct vsw_user_wq *used)
{
	g_assert_cmpuint(fresh->size, ==, used->size);
	g_assert_cmpuint(fresh->mask, ==, used->mask);
	g_assert_cmpuint(fresh->stride, ==, used->stride);
	g_assert_cmpuint(fresh->head, ==, used->head);
}

/* All limits of a queue pair that got more room are those of one that had it from the start. */
static void
test_more_room(void)
{
	const struct vsw_doorbell bell = {.engine = NULL};
	const struct ri_qp_init less = {.type = RI_QP_RC,
					.max_sq_wr = 4,
					.max_rq_wr = 4,
					.max_send_sge = 1,
					.max_recv_sge = 1,
					.max_write_sge = 1,
					.max_read_sge = 1};
	const struct ri_qp_init more = {.type = RI_QP_RC,
					.max_sq_wr = 32,
					.max_rq_wr = 16,
					.max_send_sge = 5,
					.max_recv_sge = 4,
					.max_write_sge = 3,
					.max_read_sge = 2};
	struct ri_qp_attr attr = {.max_sq_wr = more.max_sq_wr,
				  .max_rq_wr = more.max_rq_wr,
				  .max_send_sge = more.max_send_sge,
				  .max_recv_sge = more.max_recv_sge,
				  .max_write_sge = more.max_write_sge,
				  .max_read_sge = more.max_read_sge};
	struct half used, fresh;
	struct ri_urnic *rnic;
	uint32_t entries = 8;
	struct vsw_cq cq;
	struct ri_ucq *ucq;
	struct ri_map map;

	vsw_map_rnic(&map, &bell);
	g_assert_cmpint(vsw_user_ops.rnic_open(NULL, &map, &rnic), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_cq_create(&cq, 1, &entries, NULL), ==, RI_SUCCESS);
	vsw_map_cq(&map, &cq);
	g_assert_cmpint(vsw_user_ops.cq_open(rnic, &map, &ucq), ==, RI_SUCCESS);
	half_open(&used, rnic, ucq, &less);
	g_assert_cmpint(vsw_wq_reshape_both(&used.sq, &used.rq, &used.limits, &attr), ==,
			RI_SUCCESS);
	vsw_map_qp_again(&map, &used.sq, &used.rq);
	g_assert_cmpint(vsw_user_ops.qp_remap(used.user, &attr, &map), ==, RI_SUCCESS);
	half_open(&fresh, rnic, ucq, &more);
	g_assert_cmpuint(known(rnic), ==, 4);
	g_assert_cmpmem(&used.limits, sizeof(used.limits), &fresh.limits, sizeof(fresh.limits));
	g_assert_cmpmem(used.user->ordinary, sizeof(used.user->ordinary), fresh.user->ordinary,
			sizeof(fresh.user->ordinary));
	g_assert_cmpmem(used.user->max_sge, sizeof(used.user->max_sge), fresh.user->max_sge,
			sizeof(fresh.user->max_sge));
	g_assert_cmpuint(used.user->max_recv_sge, ==, fresh.user->max_recv_sge);
	g_assert_cmpuint(used.user->max_list, ==, fresh.user->max_list);
	g_assert_cmpuint(used.user->rare, ==, fresh.user->rare);
	expect_same_queue(&fresh.user->sq, &used.user->sq);
	expect_same_queue(&fresh.user->rq, &used.user->rq);
	half_close(&used);
	g_assert_cmpuint(known(rnic), ==, 2);
	half_close(&fresh);
	g_assert_cmpuint(known(rnic), ==, 0);
	vsw_user_ops.cq_close(ucq);
	vsw_cq_destroy(&cq);
	vsw_user_ops.rnic_close(rnic);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/anew/places", test_places);
	g_test_add_func("/vsw/anew/registered", test_registered_anew);
	g_test_add_func("/vsw/anew/room", test_more_room);
	return g_test_run();
}
