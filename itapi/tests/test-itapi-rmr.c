/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Windows on a real adapter: making, linking, using, unlinking here and from afar (itapi-semantics 8.5,
 * 8.6, 15.6). The passive end has the memory, the active end uses it.
 */

#include <string.h>

#include "it_pair.h"

#define SIGNALED IT_COMPLETION_FLAG
#define WINDOW   4096 /* where it begins in the buffer, and its length */

static bool
has(const struct pair *pair, it_rmr_type_t type)
{
	return ((unsigned int)pair->active.info->rmr_types_supported & (unsigned int)type) != 0;
}

static it_rmr_handle_t
make(const struct end *end, it_rmr_type_t type)
{
	it_rmr_handle_t rmr = NULL;

	g_assert_cmpint(it_rmr_create20(end->pz, type, &rmr), ==, IT_SUCCESS);
	g_assert_nonnull(rmr);
	return rmr;
}

static it_event_t
done(it_evd_handle_t evd, it_event_type_t number, it_dto_cookie_t cookie, it_dto_status_t status)
{
	it_event_t event = end_expect(evd, number);

	g_assert_cmpuint(event.dto_cmpl.cookie, ==, cookie);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, status);
	return event;
}

/* Link it through the end's endpoint, wait for it. */
static it_rmr_context_t
link_window(const struct end *end, it_rmr_handle_t rmr, it_mem_priv_t privs, it_addr_mode_t mode)
{
	it_rmr_context_t context = 0;

	g_assert_cmpint(it_rmr_link(rmr, end->lmr, end->buffer + WINDOW, WINDOW, mode, privs,
				    end->ep, 77, SIGNALED, &context),
			==, IT_SUCCESS);
	g_assert_cmpuint(context, !=, 0);
	done(end->request, IT_RMR_LINK_CMPL_EVENT, 77, IT_DTO_SUCCESS);
	return context;
}

static void
unlink_window(const struct end *end, it_rmr_handle_t rmr, it_dto_flags_t flags)
{
	g_assert_cmpint(it_rmr_unlink(rmr, end->ep, 78, SIGNALED | flags), ==, IT_SUCCESS);
	done(end->request, IT_RMR_LINK_CMPL_EVENT, 78, IT_DTO_SUCCESS);
}

static bool
is_linked(it_rmr_handle_t rmr)
{
	it_rmr_param_t params = {0};

	g_assert_cmpint(it_rmr_query(rmr, IT_RMR_PARAM_LINKED, &params), ==, IT_SUCCESS);
	return params.bound == IT_TRUE;
}

static void
write_to(const struct pair *pair, it_rdma_addr_t addr, it_rmr_context_t context)
{
	it_lmr_triplet_t out = end_segment(&pair->active, 0, 100);

	g_assert_cmpint(it_post_rdma_write(pair->active.ep, &out, 1, 5, SIGNALED, addr, context),
			==, IT_SUCCESS);
}

/* An access that must not work: both ends break, and the window's octets stay. */
static void
expect_refused(struct pair *pair, it_rdma_addr_t addr, it_rmr_context_t context)
{
	struct end *a = &pair->active, *b = &pair->passive;

	memset(a->buffer, 0x11, 200);
	memset(b->buffer + WINDOW, 0xee, WINDOW);
	write_to(pair, addr, context);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_next(a->request); /* success where the transport cannot tell, else why not */
	for (size_t i = 0; i < WINDOW; i++)
		g_assert_cmpuint(b->buffer[WINDOW + i], ==, 0xee);
}

static void
reset_both(struct pair *pair)
{
	end_reset(&pair->active);
	end_reset(&pair->passive);
}

/* --- making -------------------------------------------------------------------------------- */

static void
test_create(struct pair *pair)
{
	struct end *a = &pair->active;
	it_rmr_handle_t rmr = NULL;
	it_rmr_param_t params;

	g_assert_true(has(pair, IT_RMR_TYPE_NARROW));
	g_assert_cmpint(it_rmr_create10(NULL, &rmr), ==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_rmr_create20(NULL, IT_RMR_TYPE_NARROW, &rmr), ==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_rmr_create20(a->pz, IT_RMR_TYPE_NARROW, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_rmr_create20(a->pz, (it_rmr_type_t)9, &rmr), ==,
			IT_ERR_INVALID_RMR_TYPE);
	g_assert_null(rmr);
	g_assert_cmpint(it_rmr_create20(a->pz, IT_RMR_TYPE_WIDE, &rmr), ==,
			has(pair, IT_RMR_TYPE_WIDE) ? IT_SUCCESS : IT_ERR_INVALID_RMR_TYPE);
	if (rmr != NULL)
		g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);

	g_assert_cmpint(it_rmr_create10(a->pz, &rmr), ==, IT_SUCCESS);
	memset(&params, 0xff, sizeof(params));
	g_assert_cmpint(it_rmr_query(rmr, IT_RMR_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_true(params.ia == a->ia && params.pz == a->pz);
	g_assert_cmpint(params.bound, ==, IT_FALSE);
	g_assert_cmpint(params.type, ==, IT_RMR_TYPE_NARROW);
	g_assert_cmpint(it_rmr_query(rmr, 0x8000, &params), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_rmr_query(rmr, IT_RMR_PARAM_ALL, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_rmr_query((it_rmr_handle_t)a->ep, IT_RMR_PARAM_ALL, &params), ==,
			IT_ERR_INVALID_RMR);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_ERR_INVALID_RMR);
	g_assert_cmpint(it_rmr_query(rmr, IT_RMR_PARAM_ALL, &params), ==, IT_ERR_INVALID_RMR);
}

/* A zone is in use while it has an RMR. */
static void
test_pz_busy(struct pair *pair)
{
	it_rmr_handle_t rmr = NULL;
	it_pz_handle_t pz;

	g_assert_cmpint(it_pz_create(pair->active.ia, &pz), ==, IT_SUCCESS);
	g_assert_cmpint(it_rmr_create10(pz, &rmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(pz), ==, IT_ERR_PZ_BUSY);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(pz), ==, IT_SUCCESS);
}

/* --- what a link can get wrong ------------------------------------------------------------- */

struct link_args {
	it_lmr_handle_t lmr;
	size_t offset;
	it_length_t length;
	it_addr_mode_t mode;
	it_mem_priv_t privs;
	it_ep_handle_t ep;
	it_dto_flags_t flags;
};

static it_status_t
try_link(const struct end *end, it_rmr_handle_t rmr, const struct link_args *args)
{
	it_rmr_context_t context;

	return it_rmr_link(rmr, args->lmr, end->buffer + args->offset, args->length, args->mode,
			   args->privs, args->ep, 1, args->flags, &context);
}

static void
test_link_checks(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = make(b, IT_RMR_TYPE_DEFAULT);
	it_lmr_handle_t other = NULL, relative = NULL, read_only = NULL;
	it_pz_handle_t pz = NULL;
	const struct link_args good = {.lmr = b->lmr,
				       .length = 64,
				       .mode = IT_ADDR_MODE_ABSOLUTE,
				       .privs = IT_PRIV_REMOTE_WRITE,
				       .ep = b->ep};
	struct link_args args = good;

	g_assert_cmpint(try_link(b, rmr, &good), ==, IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_rmr_unlink(rmr, b->ep, 0, 0), ==, IT_ERR_INVALID_EP_STATE);
	pair_establish(pair);
	g_assert_cmpint(try_link(b, (it_rmr_handle_t)b->lmr, &args), ==, IT_ERR_INVALID_RMR);
	args.lmr = (it_lmr_handle_t)rmr;
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_INVALID_LMR);
	args = good;
	args.ep = (it_ep_handle_t)b->lmr;
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_INVALID_EP);
	args = good;
	args.lmr = pair->active.lmr; /* of another adapter */
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_INVALID_LMR);
	args = good;
	args.length = 0;
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_INVALID_LENGTH);
	args = good;
	args.offset = END_BUFFER - 63;
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_RANGE);
	args = good;
	args.mode = (it_addr_mode_t)9;
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_INVALID_ADDR_MODE);
	args = good;
	args.privs = IT_PRIV_NONE;
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_INVALID_PRIVS);
	args.privs = IT_PRIV_LOCAL_READ | IT_PRIV_REMOTE_READ;
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_INVALID_PRIVS);
	args = good;
	args.flags = IT_SOLICITED_WAIT_FLAG;
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(it_rmr_link(rmr, b->lmr, b->buffer, 64, IT_ADDR_MODE_ABSOLUTE,
				    IT_PRIV_REMOTE_READ, b->ep, 1, 0, NULL),
			==, IT_ERR_FAULT);

	/* A region that the peer counts from 0, one that cannot be written, one of another zone. */
	g_assert_cmpint(it_lmr_create21(b->pz, b->buffer, NULL, 4096, IT_ADDR_MODE_RELATIVE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &relative, NULL),
			==, IT_SUCCESS);
	args = good;
	args.lmr = relative;
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_INVALID_ADDR_MODE);
	g_assert_cmpint(it_lmr_create21(b->pz, b->buffer, NULL, 4096, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_LOCAL_READ, IT_LMR_FLAG_NONE, 0, &read_only, NULL),
			==, IT_SUCCESS);
	args.lmr = read_only;
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(it_pz_create(b->ia, &pz), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_create21(pz, b->buffer, NULL, 4096, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &other, NULL),
			==, IT_SUCCESS);
	args.lmr = other;
	g_assert_cmpint(try_link(b, rmr, &args), ==, IT_ERR_INVALID_PZ);

	g_assert_cmpint(it_rmr_unlink((it_rmr_handle_t)b->lmr, b->ep, 0, 0), ==,
			IT_ERR_INVALID_RMR);
	g_assert_cmpint(it_rmr_unlink(rmr, (it_ep_handle_t)b->lmr, 0, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_rmr_unlink(rmr, pair->active.ep, 0, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_rmr_unlink(rmr, b->ep, 0, IT_SOLICITED_WAIT_FLAG), ==,
			IT_ERR_INVALID_DTO_FLAGS);
	unlink_window(b, rmr, 0); /* an unlinked one: no harm */
	pair_disconnect(pair);
	g_assert_cmpint(it_lmr_free(relative), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(read_only), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(other), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(pz), ==, IT_SUCCESS);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* The same through the name of Issue 1.0. */
static void
test_bind10_checks(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = make(b, IT_RMR_TYPE_DEFAULT);
	it_lmr_handle_t relative = NULL, other = NULL;
	it_rmr_context_t context;
	it_pz_handle_t pz = NULL;

#define BIND(r, l, at, length, privs, e, flags) \
	it_rmr_bind10(r, l, b->buffer + (at), length, privs, e, 1, flags, &context)
	g_assert_cmpint(BIND(rmr, b->lmr, 0, 64, IT_PRIV_REMOTE, b->ep, 0), ==,
			IT_ERR_INVALID_EP_STATE);
	pair_establish(pair);
	g_assert_cmpint(BIND((it_rmr_handle_t)b->ep, b->lmr, 0, 64, IT_PRIV_REMOTE, b->ep, 0), ==,
			IT_ERR_INVALID_RMR);
	g_assert_cmpint(BIND(rmr, NULL, 0, 64, IT_PRIV_REMOTE, b->ep, 0), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(BIND(rmr, b->lmr, 0, 64, IT_PRIV_REMOTE, NULL, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(BIND(rmr, b->lmr, 0, 0, IT_PRIV_REMOTE, b->ep, 0), ==,
			IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(BIND(rmr, b->lmr, 0, 64, IT_PRIV_LOCAL, b->ep, 0), ==,
			IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(BIND(rmr, b->lmr, END_BUFFER, 1, IT_PRIV_REMOTE, b->ep, 0), ==,
			IT_ERR_RANGE);
	g_assert_cmpint(BIND(rmr, b->lmr, 0, 64, IT_PRIV_REMOTE, b->ep, IT_UNLINK_LOCAL_SINK), ==,
			IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(it_lmr_create21(b->pz, b->buffer, NULL, 4096, IT_ADDR_MODE_RELATIVE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &relative, NULL),
			==, IT_SUCCESS);
	g_assert_cmpint(BIND(rmr, relative, 0, 64, IT_PRIV_REMOTE, b->ep, 0), ==,
			IT_ERR_INVALID_ADDR_MODE);
	g_assert_cmpint(it_pz_create(b->ia, &pz), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_create21(pz, b->buffer, NULL, 4096, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &other, NULL),
			==, IT_SUCCESS);
	g_assert_cmpint(BIND(rmr, other, 0, 64, IT_PRIV_REMOTE, b->ep, 0), ==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(BIND(rmr, b->lmr, 0, 64, IT_PRIV_REMOTE, b->ep, SIGNALED), ==, IT_SUCCESS);
	done(b->request, IT_RMR_LINK_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_true(is_linked(rmr));
#undef BIND
	pair_disconnect(pair);
	g_assert_cmpint(it_lmr_free(relative), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(other), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(pz), ==, IT_SUCCESS);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* More requests than the queue takes. */
static void
test_too_many(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = make(b, IT_RMR_TYPE_DEFAULT);
	it_status_t status = IT_SUCCESS;
	it_rmr_context_t context;
	unsigned posted = 0;

	pair_establish(pair);
	for (; posted < 100000 && status == IT_SUCCESS; posted++)
		status = it_rmr_unlink(rmr, b->ep, posted, SIGNALED);
	g_assert_cmpint(status, ==, IT_ERR_TOO_MANY_POSTS);
	g_assert_cmpint(it_rmr_link(rmr, b->lmr, b->buffer, 64, IT_ADDR_MODE_ABSOLUTE,
				    IT_PRIV_REMOTE, b->ep, 1, SIGNALED, &context),
			==, IT_ERR_TOO_MANY_POSTS);
	g_assert_cmpint(it_rmr_bind10(rmr, b->lmr, b->buffer, 64, IT_PRIV_REMOTE, b->ep, 1,
				      SIGNALED, &context),
			==, IT_ERR_TOO_MANY_POSTS);
	g_assert_false(is_linked(rmr));
	for (unsigned i = 0; i + 1 < posted; i++)
		done(b->request, IT_RMR_LINK_CMPL_EVENT, i, IT_DTO_SUCCESS);
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* --- use ----------------------------------------------------------------------------------- */

/* Rights and range of the window count, not those of the region below. Absolute and relative. */
static void
test_access(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rmr_handle_t rmr = make(b, IT_RMR_TYPE_DEFAULT);
	it_lmr_triplet_t in = end_segment(a, 1000, 50);
	it_rmr_param_t params;

	pair_establish(pair);
	for (int relative = 0; relative < 2; relative++) {
		it_rmr_context_t context =
			link_window(b, rmr, IT_PRIV_REMOTE,
				    relative ? IT_ADDR_MODE_RELATIVE : IT_ADDR_MODE_ABSOLUTE);
		it_rdma_addr_t base = relative ? it_make_rdma_addr_relative(0)
					       : it_make_rdma_addr_absolute(b->buffer + WINDOW);

		g_assert_cmpint(it_rmr_query(rmr, IT_RMR_PARAM_ALL, &params), ==, IT_SUCCESS);
		g_assert_cmpint(params.bound, ==, IT_TRUE);
		g_assert_true(params.lmr == b->lmr && params.addr == b->buffer + WINDOW);
		g_assert_cmpuint(params.length, ==, WINDOW);
		g_assert_cmpuint(params.rmr_context, ==, context);
		memset(a->buffer, 0x40 + relative, 100);
		write_to(pair, base + WINDOW - 100, context);
		done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 5, IT_DTO_SUCCESS);
		g_assert_cmpint(
			it_post_rdma_read(a->ep, &in, 1, 6, SIGNALED, base + WINDOW - 50, context),
			==, IT_SUCCESS);
		done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 6, IT_DTO_SUCCESS);
		g_assert_cmpuint(a->buffer[1000], ==, 0x40 + relative);
		g_assert_cmpuint(b->buffer[2 * WINDOW - 1], ==, 0x40 + relative);
		unlink_window(b, rmr, 0);
		g_assert_false(is_linked(rmr));
	}
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* Beyond the range, without the right, after the unlink, with the key of the link before. */
static void
test_refused(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = make(b, IT_RMR_TYPE_DEFAULT);
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WINDOW);

	for (int i = 0; i < 4; i++) {
		it_rmr_context_t context, old;

		pair_establish(pair);
		old = link_window(b, rmr, i == 1 ? IT_PRIV_REMOTE_READ : IT_PRIV_REMOTE_WRITE,
				  IT_ADDR_MODE_ABSOLUTE);
		context = old;
		if (i >= 2)
			unlink_window(b, rmr, 0);
		if (i == 3) {
			context = link_window(b, rmr, IT_PRIV_REMOTE_WRITE, IT_ADDR_MODE_ABSOLUTE);
			g_assert_cmpuint(context, !=, old);
		}
		expect_refused(pair, i == 0 ? addr + WINDOW - 99 : addr, old);
		reset_both(pair);
	}
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* To free an RMR revokes its link; the region and the endpoint below are in use until then. */
static void
test_busy(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = make(b, IT_RMR_TYPE_NARROW);
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WINDOW);
	it_lmr_param_t params = {.privs = IT_PRIV_LOCAL};
	it_rmr_context_t context;

	pair_establish(pair);
	context = link_window(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	g_assert_cmpint(it_lmr_free(b->lmr), ==, IT_ERR_LMR_BUSY);
	g_assert_cmpint(it_lmr_modify(b->lmr, IT_LMR_PARAM_MEM_PRIV, &params), ==, IT_ERR_LMR_BUSY);
	g_assert_cmpint(it_ep_free(b->ep), ==, IT_ERR_EP_BUSY);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
	expect_refused(pair, addr, context);
	reset_both(pair);
}

/* after a reset the next peer finds nothing open, under the same handle. */
static void
test_reset(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = make(b, IT_RMR_TYPE_NARROW);
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WINDOW);
	it_rmr_context_t context;

	pair_establish(pair);
	context = link_window(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	pair_disconnect(pair);
	reset_both(pair);
	g_assert_false(is_linked(rmr));
	pair_establish(pair);
	expect_refused(pair, addr, context);
	reset_both(pair);
	pair_establish(pair);
	context = link_window(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	write_to(pair, addr, context);
	done(pair->active.request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 5, IT_DTO_SUCCESS);
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* Unlinking waits for the Reads before it if it is told to (7.2). */
static void
test_unlink_fence(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rmr_handle_t rmr = make(a, IT_RMR_TYPE_DEFAULT);
	it_lmr_triplet_t in = end_segment(a, 0, 100000);

	pair_establish(pair);
	link_window(a, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	memset(b->buffer, 0x5c, 100000);
	g_assert_cmpint(it_post_rdma_read(a->ep, &in, 1, 6, SIGNALED,
					  it_make_rdma_addr_absolute(b->buffer), b->context),
			==, IT_SUCCESS);
	g_assert_cmpint(it_rmr_unlink(rmr, a->ep, 7, SIGNALED | IT_UNLINK_FENCE_FLAG), ==,
			a->info->unlink_fence_support ? IT_SUCCESS : IT_ERR_INVALID_DTO_FLAGS);
	done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 6, IT_DTO_SUCCESS);
	if (a->info->unlink_fence_support)
		done(a->request, IT_RMR_LINK_CMPL_EVENT, 7, IT_DTO_SUCCESS);
	g_assert_cmpuint(a->buffer[99999], ==, 0x5c);
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* Linking what is linked: an error, and the end of the connection, for a narrow one. */
static void
test_link_twice(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = make(b, IT_RMR_TYPE_NARROW);
	it_rmr_context_t context;

	pair_establish(pair);
	link_window(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	g_assert_cmpint(it_rmr_link(rmr, b->lmr, b->buffer, 64, IT_ADDR_MODE_ABSOLUTE,
				    IT_PRIV_REMOTE, b->ep, 9, 0, &context),
			==, IT_SUCCESS);
	done(b->request, IT_RMR_LINK_CMPL_EVENT, 9, IT_RMR_OPERATION_FAILED);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_next(pair->active.cm_msg);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
	reset_both(pair);
}

/* A wide one may be linked anew, from then on by the new key alone, and opens for all of its zone. */
static void
test_wide(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WINDOW);
	it_rmr_context_t first, second;
	it_rmr_handle_t rmr;

	if (!has(pair, IT_RMR_TYPE_WIDE)) {
		g_test_skip("this adapter has no wide windows");
		return;
	}
	rmr = make(b, IT_RMR_TYPE_WIDE);
	pair_establish(pair);
	first = link_window(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	second = link_window(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
	g_assert_cmpuint(first, !=, second);
	write_to(pair, addr, second);
	done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 5, IT_DTO_SUCCESS);
	if (b->info->wide_rmr_unlink_support)
		unlink_window(b, rmr, 0);
	expect_refused(pair, addr, b->info->wide_rmr_unlink_support ? second : first);
	reset_both(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* --- from afar ----------------------------------------------------------------------------- */

static void
post_receive(const struct end *end, it_dto_cookie_t cookie)
{
	it_lmr_triplet_t in = end_segment(end, 0, 1000);

	g_assert_cmpint(it_post_recv((it_handle_t)end->ep, &in, 1, cookie, 0), ==, IT_SUCCESS);
}

/* an unlink completes as a link does; the receive names what the peer unlinked. */
static void
test_send_and_unlink(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rmr_handle_t rmr = make(b, IT_RMR_TYPE_NARROW);
	it_rdma_addr_t addr = it_make_rdma_addr_absolute(b->buffer + WINDOW);
	it_lmr_triplet_t out = end_segment(a, 0, 10);
	it_event_t event;

	g_assert_true(a->info->post_send_unlink_remote_support);
	g_assert_cmpint(it_post_send_and_unlink(a->ep, &out, 1, 3, SIGNALED, 1), ==,
			IT_ERR_INVALID_EP_STATE);
	pair_establish(pair);
	for (int i = 0; i < 300; i++) { /* more often than there are keys */
		it_rmr_context_t context =
			link_window(b, rmr, IT_PRIV_REMOTE_WRITE, IT_ADDR_MODE_ABSOLUTE);

		write_to(pair, addr, context);
		done(a->request, IT_DTO_RDMA_WRITE_CMPL_EVENT, 5, IT_DTO_SUCCESS);
		post_receive(b, 4);
		g_assert_cmpint(it_post_send_and_unlink(a->ep, &out, 1, 3, SIGNALED, context), ==,
				IT_SUCCESS);
		event = done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 4, IT_DTO_SUCCESS);
		g_assert_true(event.dto_cmpl.unlinked_mr_handle == (it_handle_t)rmr);
		g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, 10);
		done(a->request, IT_DTO_SEND_CMPL_EVENT, 3, IT_DTO_SUCCESS);
		g_assert_false(is_linked(rmr));
	}
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* A region that cannot be shared may be revoked from afar too, once. */
static void
test_send_and_unlink_lmr(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, 10);
	it_rmr_context_t context = 0;
	it_lmr_param_t params = {0};
	it_lmr_handle_t lmr;
	it_event_t event;

	g_assert_cmpint(it_lmr_create21(b->pz, b->buffer + WINDOW, NULL, WINDOW,
					IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL,
					IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr, &context),
			==, IT_SUCCESS);
	pair_establish(pair);
	post_receive(b, 4);
	g_assert_cmpint(it_post_send_and_unlink(a->ep, &out, 1, 3, SIGNALED, context), ==,
			IT_SUCCESS);
	event = done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	g_assert_true(event.dto_cmpl.unlinked_mr_handle == (it_handle_t)lmr);
	done(a->request, IT_DTO_SEND_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	g_assert_cmpint(it_lmr_query(lmr, IT_LMR_PARAM_LINKED, &params), ==, IT_SUCCESS);
	g_assert_cmpint(params.linked, ==, IT_FALSE);
	expect_refused(pair, it_make_rdma_addr_absolute(b->buffer + WINDOW), context);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	reset_both(pair);
}

enum bad_key {
	BAD_UNKNOWN,
	BAD_NOT_LINKED,
	BAD_SHAREABLE,
	BAD_OTHER_ZONE,
	BAD_COUNT
};

/* A Send that names what cannot be revoked breaks the connection at the receiver. */
static void
test_bad_keys(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, 10);
	it_rmr_context_t foreign = 0;
	it_lmr_handle_t lmr;
	it_pz_handle_t pz;

	g_assert_cmpint(it_pz_create(b->ia, &pz), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_create21(pz, b->buffer, NULL, WINDOW, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_ALL, IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr, &foreign),
			==, IT_SUCCESS);
	for (int i = 0; i < BAD_COUNT; i++) {
		it_rmr_handle_t rmr = make(b, IT_RMR_TYPE_NARROW);
		it_rmr_context_t context;

		pair_establish(pair);
		context = link_window(b, rmr, IT_PRIV_REMOTE, IT_ADDR_MODE_ABSOLUTE);
		if (i == BAD_UNKNOWN)
			context ^= 0x80;
		if (i == BAD_SHAREABLE)
			context = b->context;
		if (i == BAD_OTHER_ZONE)
			context = foreign;
		if (i == BAD_NOT_LINKED)
			context = UINT64_MAX; /* not even a key of 32 bits */
		post_receive(b, 4);
		g_assert_cmpint(it_post_send_and_unlink(a->ep, &out, 1, 3, SIGNALED, context), ==,
				IT_SUCCESS);
		done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 4, IT_DTO_ERR_LOCAL_PROTECTION);
		end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
		end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
		end_next(a->request);
		g_assert_true(is_linked(rmr));
		g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
		reset_both(pair);
	}
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(pz), ==, IT_SUCCESS);
}

/* --- Reads into windows -------------------------------------------------------------------- */

static void
test_read_to_rmr(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_rmr_handle_t rmr = make(a, IT_RMR_TYPE_NARROW);
	it_rdma_addr_t from = it_make_rdma_addr_absolute(b->buffer);
	it_rmr_triplet_t in = {.rmr = rmr, .length = 100};
	it_event_t event;

	in.addr.abs = a->buffer + WINDOW;
	pair_establish(pair);
	if (!a->info->rdma_read_local_extensions) {
		it_lmr_triplet_t plain = end_segment(a, 0, 8);

		g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 1, 0, from, b->context), ==,
				IT_ERR_OP_NOT_SUPPORTED);
		g_assert_cmpint(it_post_rdma_read(a->ep, &plain, 1, 1, IT_UNLINK_LOCAL_SINK, from,
						  b->context),
				==, IT_ERR_INVALID_DTO_FLAGS);
		pair_disconnect(pair);
		g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
		return;
	}
	for (int unlinks = 0; unlinks < 2; unlinks++) {
		it_dto_flags_t flags = SIGNALED | (unlinks ? IT_UNLINK_LOCAL_SINK : 0);

		memset(b->buffer, 0x70 + unlinks, 100);
		if (unlinks == 0)
			link_window(a, rmr, IT_PRIV_REMOTE_WRITE, IT_ADDR_MODE_ABSOLUTE);
		g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 2, flags, from, b->context),
				==, IT_SUCCESS);
		event = done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 2, IT_DTO_SUCCESS);
		g_assert_true(event.dto_cmpl.unlinked_mr_handle ==
			      (unlinks ? (it_handle_t)rmr : NULL));
		g_assert_cmpuint(a->buffer[WINDOW + 99], ==, 0x70 + unlinks);
		g_assert_cmpint(is_linked(rmr), ==, !unlinks);
	}
	in.rmr = (it_rmr_handle_t)a->lmr;
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 1, 0, from, b->context), ==,
			IT_ERR_INVALID_RMR);
	g_assert_cmpint(it_post_rdma_read_to_rmr(NULL, &in, 1, 1, 0, from, b->context), ==,
			IT_ERR_INVALID_EP);
	in.rmr = rmr;
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 1, IT_SOLICITED_WAIT_FLAG, from,
						 b->context),
			==, IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1000, 1, 0, from, b->context), ==,
			IT_ERR_INVALID_NUM_SEGMENTS);
	in.length = (it_length_t)UINT32_MAX + 10;
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 1, 0, from, b->context), ==,
			IT_ERR_PAYLOAD_SIZE);
	/* Unlinked by now: the Read finds no sink. */
	in.length = 100;
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 2, SIGNALED, from, b->context), ==,
			IT_SUCCESS);
	done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 2, IT_DTO_ERR_LOCAL_PROTECTION);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_next(b->cm_msg);
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 2, SIGNALED, from, b->context), ==,
			IT_SUCCESS);
	done(a->request, IT_DTO_RDMA_READ_CMPL_EVENT, 2, IT_DTO_ERR_FLUSHED);
	reset_both(pair);
	g_assert_cmpint(it_post_rdma_read_to_rmr(a->ep, &in, 1, 2, 0, from, b->context), ==,
			IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

static void
add_tests(void)
{
	pair_add("rmr/create", test_create);
	pair_add("rmr/pz-busy", test_pz_busy);
	pair_add("rmr/link-checks", test_link_checks);
	pair_add("rmr/bind10-checks", test_bind10_checks);
	pair_add("rmr/too-many", test_too_many);
	pair_add("rmr/access", test_access);
	pair_add("rmr/refused", test_refused);
	pair_add("rmr/busy", test_busy);
	pair_add("rmr/r-37-reset", test_reset);
	pair_add("rmr/unlink-fence", test_unlink_fence);
	pair_add("rmr/link-twice", test_link_twice);
	pair_add("rmr/wide", test_wide);
	pair_add("rmr/r-17-send-and-unlink", test_send_and_unlink);
	pair_add("rmr/send-and-unlink-lmr", test_send_and_unlink_lmr);
	pair_add("rmr/bad-keys", test_bad_keys);
	pair_add("rmr/read-to-rmr", test_read_to_rmr);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
