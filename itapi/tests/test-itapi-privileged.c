/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Privileged consumers: how a consumer becomes one, I/O addresses, lists in registrations, the direct LMR [IT 8.9].
 * The description of an adapter says which of these it lacks, and the calls then return the status for that.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "it_privileged.h"

#define ABSOLUTE IT_ADDR_MODE_ABSOLUTE
#define RELATIVE IT_ADDR_MODE_RELATIVE

/* --- which endpoints are privileged ------------------------------------------------------------------- */

static it_status_t
try_list(struct end *end)
{
	it_io_addr_t start[1] = {(it_io_addr_t)(void *)end->buffer};
	it_iobl_t iobl = {.iobl_type = IT_IOBL_BLOCK_LIST, .num_elts = 1};
	it_lmr_handle_t lmr;

	iobl.list.ce_list.list_elt = start;
	iobl.list.ce_list.elt_len = 64;
	it_status_t status = it_lmr_create21(end->pz, NULL, &iobl, 64, RELATIVE, IT_PRIV_LOCAL,
					     IT_LMR_FLAG_NONE, 0, &lmr, NULL);
	if (status == IT_SUCCESS)
		g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	return status;
}

/* An adapter that is opened now: is its consumer privileged? */
static void
expect_privilege(bool privileged)
{
	it_status_t possible = privileged ? IT_SUCCESS : IT_ERR_PRIV_OPS_UNAVAILABLE;
	struct end end RI_AT_END(end_close);
	it_lmr_handle_t lmr;
	it_io_addr_t io;
	size_t mapped;

	g_assert_true(end_open(&end));
	bool able = privileged_has(PRIVILEGED_OPS);
	it_status_t status = it_mem_map(end.ia, end.buffer, 0, 8, &io, &mapped);
	g_assert_cmpint(status, ==,
			!able        ? IT_ERR_OP_NOT_SUPPORTED
			: privileged ? IT_SUCCESS
				     : IT_ERR_NO_PERMISSION);
	if (status == IT_SUCCESS)
		g_assert_cmpint(it_mem_unmap(end.ia, io, mapped), ==, IT_SUCCESS);
	else
		g_assert_cmpint(it_mem_unmap(end.ia, (it_io_addr_t)(void *)end.buffer, 8), ==,
				IT_ERR_INVALID_ADDRESS);
	if (!able || !privileged || privileged_has(PRIVILEGED_BLOCKS))
		g_assert_cmpint(try_list(&end), ==, able ? possible : IT_ERR_PRIV_OPS_UNAVAILABLE);
	status = it_lmr_create_unlinked(end.pz, 1, IT_LMR_FLAG_NONE, 0, &lmr);
	g_assert_cmpint(status, ==,
			privileged_has(PRIVILEGED_LINKS) ? possible : IT_ERR_OP_NOT_SUPPORTED);
	if (status == IT_SUCCESS)
		g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	end.attr.priv_ops_enable = IT_TRUE;
	status = it_ep_rc_create(end.pz, end.request, end.recv, end.cm_msg, IT_EP_NO_FLAG,
				 &end.attr, &end.ep);
	g_assert_cmpint(status, ==, able ? possible : IT_ERR_PRIV_OPS_UNAVAILABLE);
	g_assert_true((end.info->direct_lmr_handle != NULL) ==
		      (privileged_has(PRIVILEGED_DIRECT) && privileged));
}

/* the capability, or an entry in the policy, as it was when the adapter was opened. */
static void
test_ruling_27(struct pair *pair)
{
	(void)pair;
	g_assert_true(capability_set(false));
	policy_set(NULL);
	expect_privilege(false);
	char *other = g_strdup_printf("[policy]\nprivileged-uids = %u\n", (unsigned)getuid() + 1);
	policy_set(other);
	g_free(other);
	expect_privilege(false);
	policy_for_all();
	expect_privilege(true);
	policy_set(NULL);
	if (capability_set(true))
		expect_privilege(true);
	policy_for_all();
}

/* The description of an adapter says which privileged operations it has. */
static void
test_told(struct pair *pair)
{
	const it_ia_info_t *info = pair->active.info;
	it_ep_param_t params;

	g_assert_cmpint(info->lmr_link_support, ==, privileged_has(PRIVILEGED_LINKS));
	g_assert_cmpint(info->direct_lmr_handle_support, ==, privileged_has(PRIVILEGED_DIRECT));
	g_assert_true((info->direct_lmr_handle != NULL) == privileged_has(PRIVILEGED_DIRECT));
	g_assert_cmphex(info->iobl_types_supported, ==,
			(privileged_has(PRIVILEGED_PAGES) ? IT_IOBL_PAGE_LIST : 0) |
				(privileged_has(PRIVILEGED_BLOCKS) ? IT_IOBL_BLOCK_LIST : 0) |
				(privileged_has(PRIVILEGED_VE) ? IT_IOBL_VE_PAGE_LIST : 0));
	if (!privileged_has(PRIVILEGED_OPS))
		return;
	pair->active.attr.priv_ops_enable = IT_TRUE;
	end_new_ep(&pair->active);
	g_assert_cmpint(it_ep_query(pair->active.ep, IT_EP_PARAM_PRIV_OPS_ENABLE, &params), ==,
			IT_SUCCESS);
	g_assert_true(params.attr.priv_ops_enable);
	g_assert_cmpint(
		it_ep_modify(pair->active.ep, IT_EP_PARAM_PRIV_OPS_ENABLE, &pair->active.attr), ==,
		IT_ERR_INVALID_MASK);
}

/* --- I/O addresses ----------------------------------------------------------------------- */

/* Memory is mapped for I/O addresses and unmapped. */
static void
test_map(struct pair *pair)
{
	struct end *end = &pair->active;
	it_io_addr_t io[3];
	size_t mapped[3], done = 0;

	g_assert_cmpint(it_mem_map(NULL, end->buffer, 0, 8, io, mapped), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(it_mem_map(end->ia, end->buffer, 0, 8, NULL, mapped), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_mem_map(end->ia, end->buffer, 0, 8, io, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_mem_unmap(NULL, NULL, 8), ==, IT_ERR_INVALID_IA);
	if (!privileged_has(PRIVILEGED_OPS)) {
		g_assert_cmpint(it_mem_map(end->ia, end->buffer, 0, 8, io, mapped), ==,
				IT_ERR_OP_NOT_SUPPORTED);
		return;
	}
	g_assert_cmpint(it_mem_map(end->ia, end->buffer, 0, 0, io, mapped), ==,
			IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(it_mem_map(end->ia, end->buffer, 1, 8, io, mapped), ==, IT_ERR_ADDRESS);
	g_assert_cmpint(it_mem_map(end->ia, end->buffer, 0, SIZE_MAX, io, mapped), ==,
			IT_ERR_ADDRESS);
	void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(hole != MAP_FAILED);
	g_assert_cmpint(it_mem_map(end->ia, hole, 0, 8, io, mapped), ==, IT_ERR_ADDRESS);
	g_assert_cmpint(munmap(hole, 4096), ==, 0);
	g_assert_cmpint(it_mem_map(end->ia, (void *)(uintptr_t)64, 0, 8, io, mapped), ==,
			IT_ERR_ADDRESS); /* the first page is never mapped */
	/* The loop that an application writes. */
	for (unsigned i = 0; i < 3 && done < END_BUFFER; i++, done += mapped[i - 1])
		g_assert_cmpint(it_mem_map(end->ia, end->buffer + done, 0, END_BUFFER - done,
					   &io[i], &mapped[i]),
				==, IT_SUCCESS);
	g_assert_cmpuint(done, ==, END_BUFFER);
	/* Exactly as it was returned, and once. */
	g_assert_cmpint(it_mem_map(end->ia, end->buffer, 0, 100, &io[1], &mapped[1]), ==,
			IT_SUCCESS);
	g_assert_cmpint(it_mem_unmap(end->ia, io[1], mapped[1] + 1), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(it_mem_unmap(end->ia, (it_io_addr_t)(void *)(end->buffer + 1), 99), ==,
			IT_ERR_INVALID_ADDRESS);
	g_assert_cmpint(it_mem_unmap(end->ia, io[1], mapped[1]), ==, IT_SUCCESS);
	g_assert_cmpint(it_mem_unmap(end->ia, io[1], mapped[1]), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(it_mem_unmap(end->ia, io[0], mapped[0]), ==, IT_SUCCESS);
	g_assert_cmpint(it_mem_unmap(end->ia, io[0], mapped[0]), ==, IT_ERR_INVALID_ADDRESS);
	/* A mapping that was not freed is freed with the adapter. */
	g_assert_cmpint(it_mem_map(end->ia, end->buffer, 0, 7, &io[1], &mapped[1]), ==, IT_SUCCESS);
}

/* It counts as registered memory. */
static void
test_map_resources(struct pair *pair)
{
	it_io_addr_t io;
	size_t mapped;
	char *text;

	(void)pair;
	if (!privileged_needs(PRIVILEGED_OPS))
		return;
	text = g_strdup_printf("[policy]\nprivileged-uids = %u\n[limits.client]\nmemory = %u\n",
			       (unsigned)getuid(), (unsigned)END_BUFFER + 100);
	policy_set(text);
	g_free(text);
	struct end end RI_AT_END(end_close);
	g_assert_true(end_open(&end)); /* this registers END_BUFFER */
	policy_for_all();
	g_assert_cmpint(it_mem_map(end.ia, end.buffer, 0, 101, &io, &mapped), ==, IT_ERR_RESOURCES);
	g_assert_cmpint(it_mem_map(end.ia, end.buffer, 0, 100, &io, &mapped), ==, IT_SUCCESS);
	g_assert_cmpint(it_mem_unmap(end.ia, io, mapped), ==, IT_SUCCESS);
	g_assert_cmpint(it_mem_map(end.ia, end.buffer, 0, 100, &io, &mapped), ==, IT_SUCCESS);
}

/* --- lists in registrations -------------------------------------------------------------- */

static it_status_t
create(struct end *end, const struct pieces *p, void *addr, it_length_t length, it_addr_mode_t mode)
{
	it_iobl_t iobl = p->iobl;
	it_lmr_handle_t lmr = NULL;
	it_status_t status = it_lmr_create21(end->pz, addr, &iobl, length, mode, IT_PRIV_ALL,
					     IT_LMR_FLAG_NONE, 0, &lmr, NULL);

	if (status == IT_SUCCESS)
		g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	return status;
}

/* Buffer lists with wrong shapes or lengths are refused. */
static void
test_list_refused(struct pair *pair)
{
	struct end *end = &pair->active;
	it_lmr_handle_t lmr;

	if (!privileged_needs(PRIVILEGED_OPS | PRIVILEGED_PAGES | PRIVILEGED_BLOCKS))
		return;
	struct pieces p RI_AT_END(pieces_free);
	pieces_make(&p);
	g_assert_cmpint(create(end, &p, NULL, 100, RELATIVE), ==, IT_SUCCESS);
	g_assert_cmpint(create(end, &p, NULL, 100, ABSOLUTE), ==, IT_SUCCESS);
	g_assert_cmpint(create(end, &p, p.range, PIECES * p.size, ABSOLUTE), ==, IT_SUCCESS);
	g_assert_cmpint(create(end, &p, p.range + 1, 100, ABSOLUTE), ==, IT_ERR_INVALID_IOBL);
	g_assert_cmpint(create(end, &p, NULL, 0, RELATIVE), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(create(end, &p, NULL, PIECES * p.size + 1, RELATIVE), ==,
			IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(create(end, &p, NULL, 100, (it_addr_mode_t)2), ==,
			IT_ERR_INVALID_ADDR_MODE);
	p.iobl.num_elts = 0;
	g_assert_cmpint(create(end, &p, NULL, 100, RELATIVE), ==, IT_ERR_INVALID_IOBL);
	p.iobl.num_elts = 1000000;
	g_assert_cmpint(create(end, &p, NULL, 100, RELATIVE), ==, IT_ERR_INVALID_IOBL);
	p.iobl.num_elts = PIECES;
	p.iobl.fbo = p.size;
	g_assert_cmpint(create(end, &p, NULL, 100, RELATIVE), ==, IT_ERR_INVALID_IOBL);
	p.iobl.fbo = 0;
	p.iobl.iobl_type = (it_iobl_type_t)(IT_IOBL_PAGE_LIST | IT_IOBL_BLOCK_LIST);
	g_assert_cmpint(create(end, &p, NULL, 100, RELATIVE), ==, IT_ERR_INVALID_IOBL);
	p.iobl.iobl_type = (it_iobl_type_t)0x10;
	g_assert_cmpint(create(end, &p, NULL, 100, RELATIVE), ==, IT_ERR_INVALID_IOBL);
	p.iobl.iobl_type = IT_IOBL_PAGE_LIST;
	p.iobl.list.ce_list.elt_len = p.size - 1;
	g_assert_cmpint(create(end, &p, NULL, 100, RELATIVE), ==, IT_ERR_INVALID_IOBL);
	p.iobl.list.ce_list.elt_len = p.size;
	p.start[3] = (it_io_addr_t)(void *)((unsigned char *)p.start[3] + 8);
	g_assert_cmpint(create(end, &p, NULL, 100, RELATIVE), ==, IT_ERR_INVALID_IOBL);
	p.iobl.iobl_type = IT_IOBL_BLOCK_LIST; /* two entries may be equal */
	g_assert_cmpint(create(end, &p, NULL, 100, RELATIVE), ==, IT_SUCCESS);
	p.iobl.list.ce_list.list_elt = NULL;
	g_assert_cmpint(create(end, &p, NULL, 100, RELATIVE), ==, IT_ERR_INVALID_IOBL);
	p.iobl.list.ce_list.list_elt = p.start;
	g_assert_cmpint(it_lmr_create21(end->pz, NULL, &p.iobl, 100, RELATIVE, IT_PRIV_LOCAL,
					IT_LMR_FLAG_SHARED, 7, &lmr, NULL),
			==, IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(it_lmr_create21(end->pz, NULL, &p.iobl, 100, RELATIVE, IT_PRIV_NONE,
					IT_LMR_FLAG_NONE, 0, &lmr, NULL),
			==, IT_ERR_INVALID_PRIVS);
}

/* Every octet of a list can be accessed by the peer and locally, in the order of the list. */
static void
move_through(struct pair *pair, const struct pieces *p, it_addr_mode_t mode, size_t length)
{
	struct end *a = &pair->active;
	struct end *b = &pair->passive;
	unsigned char *base = (unsigned char *)0x10000 + p->iobl.fbo; /* does not concern memory */
	it_iobl_t iobl = p->iobl;
	it_lmr_triplet_t here = end_segment(a, 0, length);
	it_lmr_triplet_t there = {.length = length};
	it_rmr_context_t context;
	it_lmr_param_t params;

	g_assert_cmpint(it_lmr_create21(b->pz, base, &iobl, length, mode, IT_PRIV_ALL,
					IT_LMR_FLAG_NONE, 0, &there.lmr, &context),
			==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_query(there.lmr, IT_LMR_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_cmpint(params.iobl_type, ==, p->iobl.iobl_type);
	g_assert_true(params.linked);
	it_rdma_addr_t start = mode == ABSOLUTE ? it_make_rdma_addr_absolute(base) : 0;
	pattern_fill(a->buffer, length, 1);
	g_assert_cmpint(it_post_rdma_write(a->ep, &here, 1, 1, IT_COMPLETION_FLAG, start, context),
			==, IT_SUCCESS);
	end_expect(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT);
	pieces_check(p, 0, length, 1);
	/* A Read of a part that crosses pieces. */
	here = end_segment(a, 0, length - 2);
	g_assert_cmpint(
		it_post_rdma_read(a->ep, &here, 1, 2, IT_COMPLETION_FLAG, start + 1, context), ==,
		IT_SUCCESS);
	end_expect(a->request, IT_DTO_RDMA_READ_CMPL_EVENT);
	g_assert_cmpmem(a->buffer, 1, pieces_at(p, 1), 1);
	g_assert_cmpmem(a->buffer + length - 3, 1, pieces_at(p, length - 2), 1);
	/* As the buffer of a receive, and as the source of a Send. */
	there.addr.abs = mode == ABSOLUTE ? (void *)base : NULL;
	g_assert_cmpint(it_post_recv((it_handle_t)b->ep, &there, 1, 3, 0), ==, IT_SUCCESS);
	pattern_fill(a->buffer, length, 9);
	here = end_segment(a, 0, length);
	g_assert_cmpint(it_post_send(a->ep, &here, 1, 4, 0), ==, IT_SUCCESS);
	end_expect(b->recv, IT_DTO_RC_RECV_CMPL_EVENT);
	pieces_check(p, 0, length, 9);
	memset(a->buffer, 0, length);
	g_assert_cmpint(it_post_recv((it_handle_t)a->ep, &here, 1, 5, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_post_send(b->ep, &there, 1, 6, 0), ==, IT_SUCCESS);
	end_expect(a->recv, IT_DTO_RC_RECV_CMPL_EVENT);
	pattern_check(a->buffer, length, 9);
	g_assert_cmpint(it_lmr_free(there.lmr), ==, IT_SUCCESS);
}

/* Regions of buffer lists of each shape are transferred. */
static void
test_list_shapes(struct pair *pair)
{
	if (!privileged_needs(PRIVILEGED_OPS | PRIVILEGED_PAGES | PRIVILEGED_BLOCKS |
			      PRIVILEGED_VE))
		return;
	struct pieces p RI_AT_END(pieces_free);
	pieces_make(&p);
	privileged_establish(pair);
	move_through(pair, &p, RELATIVE, PIECES * p.size);
	move_through(pair, &p, ABSOLUTE, PIECES * p.size - 5);
	p.iobl.fbo = 123;
	move_through(pair, &p, ABSOLUTE, 3 * p.size);
	p.iobl.iobl_type = IT_IOBL_BLOCK_LIST;
	p.iobl.list.ce_list.elt_len = 1000;
	p.iobl.fbo = 999; /* one octet in the first */
	move_through(pair, &p, RELATIVE, 7001);
	p.iobl.iobl_type = IT_IOBL_VE_PAGE_LIST;
	p.iobl.list.ve_list.list_elt = p.each;
	for (size_t i = 0; i < PIECES; i++)
		p.each[i].elt_len = i % 2 == 0 ? 1 : 700 + i;
	p.iobl.fbo = 0;
	move_through(pair, &p, RELATIVE, 2000);
	p.each[5].elt_len = 0;
	g_assert_cmpint(create(&pair->active, &p, NULL, 100, RELATIVE), ==, IT_ERR_INVALID_IOBL);
	p.iobl.list.ve_list.list_elt = NULL;
	g_assert_cmpint(create(&pair->active, &p, NULL, 100, RELATIVE), ==, IT_ERR_INVALID_IOBL);
	pair_disconnect(pair);
}

/* --- the direct LMR ---------------------------------------------------------------------- */

/* I/O addresses name memory by the direct LMR of a privileged endpoint. */
static void
test_direct(struct pair *pair)
{
	struct end *a = &pair->active;
	struct end *b = &pair->passive;
	it_lmr_triplet_t here = {.lmr = a->info->direct_lmr_handle, .length = 100};
	it_lmr_triplet_t there = {.lmr = b->info->direct_lmr_handle, .length = 100};
	it_lmr_param_t params = {0};
	it_handle_type_enum_t type;

	if (!privileged_needs(PRIVILEGED_OPS | PRIVILEGED_DIRECT))
		return;
	privileged_establish(pair);
	g_assert_cmpint(it_get_handle_type((it_handle_t)here.lmr, &type), ==, IT_SUCCESS);
	g_assert_cmpint(type, ==, IT_HANDLE_TYPE_LMR);
	g_assert_cmpint(it_lmr_query(here.lmr, IT_LMR_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_true(params.ia == a->ia);
	g_assert_null(params.pz);
	g_assert_cmpint(it_lmr_free(here.lmr), ==, IT_ERR_INVALID_LMR);
	/* Both sides name memory that was never registered. */
	unsigned char *from = g_malloc(100), *to = g_malloc0(100);
	pattern_fill(from, 100, 3);
	here.addr.io = (it_io_addr_t)(void *)from;
	there.addr.io = (it_io_addr_t)(void *)to;
	g_assert_cmpint(it_lmr_flush_to_mem(&here, 1), ==, IT_SUCCESS);
	g_assert_cmpint(it_post_recv((it_handle_t)b->ep, &there, 1, 1, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_post_send(a->ep, &here, 1, 2, 0), ==, IT_SUCCESS);
	end_expect(b->recv, IT_DTO_RC_RECV_CMPL_EVENT);
	pattern_check(to, 100, 3);
	g_assert_cmpint(it_post_rdma_write(a->ep, &here, 1, 3, IT_COMPLETION_FLAG,
					   it_make_rdma_addr_absolute(b->buffer), b->context),
			==, IT_SUCCESS);
	end_expect(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT);
	pattern_check(b->buffer, 100, 3);
	/* It is never remote: a peer cannot use its key. */
	here = end_segment(a, 0, 8);
	g_assert_cmpint(it_post_rdma_write(a->ep, &here, 1, 4, IT_COMPLETION_FLAG,
					   it_make_rdma_addr_absolute(to), 0),
			==, IT_SUCCESS);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	pattern_check(to, 100, 3);
	end_next(a->request);
	g_free(from);
	g_free(to);
}

/* Only privileged endpoints may name it. */
static void
test_direct_refused(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t here = {.lmr = a->info->direct_lmr_handle, .length = 8};

	if (!privileged_needs(PRIVILEGED_OPS | PRIVILEGED_DIRECT))
		return;
	pair_establish(pair);
	here.addr.io = (it_io_addr_t)(void *)a->buffer;
	g_assert_cmpint(it_post_send(a->ep, &here, 1, 1, 0), ==, IT_ERR_PRIV_OPS_UNAVAILABLE);
	g_assert_cmpint(it_post_recv((it_handle_t)a->ep, &here, 1, 1, 0), ==,
			IT_ERR_PRIV_OPS_UNAVAILABLE);
	g_assert_cmpint(it_post_rdma_write(a->ep, &here, 1, 1, 0, 0, 1), ==,
			IT_ERR_PRIV_OPS_UNAVAILABLE);
	g_assert_cmpint(it_post_rdma_read(a->ep, &here, 1, 1, 0, 0, 1), ==,
			IT_ERR_PRIV_OPS_UNAVAILABLE);
	if (a->info->post_send_unlink_remote_support)
		g_assert_cmpint(it_post_send_and_unlink(a->ep, &here, 1, 1, 0, 1), ==,
				IT_ERR_PRIV_OPS_UNAVAILABLE);
	if (a->info->atomic_support)
		g_assert_cmpint(it_post_atomic(a->ep, IT_FETCH_AND_ADD, 1, 0, &here, 1, 0, 0, 1),
				==, IT_ERR_PRIV_OPS_UNAVAILABLE);
	pair_disconnect(pair);
}

/* Receives of a shared queue may not name it. */
static void
test_direct_shared(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t here = {.lmr = a->info->direct_lmr_handle, .length = 8};
	it_srq_handle_t srq;

	if (!privileged_needs(PRIVILEGED_OPS | PRIVILEGED_DIRECT))
		return;
	here.addr.io = (it_io_addr_t)(void *)a->buffer;
	g_assert_cmpint(it_srq_create(a->pz, 1, 1, &srq), ==, IT_SUCCESS);
	g_assert_cmpint(it_post_recv((it_handle_t)srq, &here, 1, 1, 0), ==,
			IT_ERR_PRIV_OPS_UNAVAILABLE);
	here.length = 0; /* is not looked at */
	g_assert_cmpint(it_post_recv((it_handle_t)srq, &here, 1, 1, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_srq_free(srq), ==, IT_SUCCESS);
}

static void
add(void)
{
	policy_for_all();
	pair_add_for(NEEDS_RELATIVE, "rulings/r-27-privilege-by-capability-or-policy",
		     test_ruling_27);
	pair_add("privileged/told", test_told);
	pair_add("privileged/map", test_map);
	pair_add("privileged/map-resources", test_map_resources);
	pair_add_for(NEEDS_RELATIVE, "privileged/list-refused", test_list_refused);
	pair_add_for(NEEDS_RELATIVE, "privileged/list-shapes", test_list_shapes);
	pair_add("privileged/direct", test_direct);
	pair_add("privileged/direct-refused", test_direct_refused);
	pair_add_for(NEEDS_SRQ, "privileged/direct-shared", test_direct_shared);
}

int
main(int argc, char **argv)
{
	int status = pair_main(argc, argv, add);

	policy_set(NULL);
	return status;
}
