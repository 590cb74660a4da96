/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Windows: their creation, and every mistake in a link [IT 8.5], [IT 15.6]. */

#include <string.h>

#include "it_window.h"

/* --- making -------------------------------------------------------------------------------- */

/* Windows are created with the types that the adapter has. */
static void
test_create(struct pair *pair)
{
	struct end *a = &pair->active;
	it_rmr_handle_t rmr = NULL;
	it_rmr_param_t params;

	g_assert_cmpint(it_rmr_create10(NULL, &rmr), ==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_rmr_create20(NULL, IT_RMR_TYPE_NARROW, &rmr), ==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_rmr_create20(a->pz, IT_RMR_TYPE_NARROW, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_rmr_create20(a->pz, (it_rmr_type_t)9, &rmr), ==,
			IT_ERR_INVALID_RMR_TYPE);
	g_assert_null(rmr);
	g_assert_cmpint(it_rmr_create20(a->pz, IT_RMR_TYPE_WIDE, &rmr), ==,
			window_has(pair, IT_RMR_TYPE_WIDE) ? IT_SUCCESS : IT_ERR_INVALID_RMR_TYPE);
	if (rmr != NULL)
		g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);

	g_assert_cmpint(it_rmr_create10(a->pz, &rmr), ==, IT_SUCCESS);
	memset(&params, 0xff, sizeof(params));
	g_assert_cmpint(it_rmr_query(rmr, IT_RMR_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_true(params.ia == a->ia && params.pz == a->pz);
	g_assert_cmpint(params.bound, ==, IT_FALSE);
	g_assert_cmpint(params.type, ==,
			window_has(pair, IT_RMR_TYPE_NARROW) ? IT_RMR_TYPE_NARROW
							     : IT_RMR_TYPE_WIDE);
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

/* A link of a window checks its arguments. */
static void
test_link_checks(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_DEFAULT);
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

	/* A region with addresses from 0, one without the right to write, one of another zone. */
	g_assert_cmpint(it_lmr_create21(b->pz, b->buffer, NULL, 4096, IT_ADDR_MODE_RELATIVE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &relative, NULL),
			==, IT_SUCCESS);
	args = good;
	args.lmr = relative;
	if (pair_claim("mw_on_zero_based") == 0)
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
	window_unlink(b, rmr, 0); /* an unlinked window: allowed */
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
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_DEFAULT);
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
	if (pair_claim("mw_on_zero_based") == 0)
		g_assert_cmpint(BIND(rmr, relative, 0, 64, IT_PRIV_REMOTE, b->ep, 0), ==,
				IT_ERR_INVALID_ADDR_MODE);
	g_assert_cmpint(it_pz_create(b->ia, &pz), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_create21(pz, b->buffer, NULL, 4096, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &other, NULL),
			==, IT_SUCCESS);
	g_assert_cmpint(BIND(rmr, other, 0, 64, IT_PRIV_REMOTE, b->ep, 0), ==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(BIND(rmr, b->lmr, 0, 64, IT_PRIV_REMOTE, b->ep, SIGNALED), ==, IT_SUCCESS);
	end_done(b->request, IT_RMR_LINK_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_true(window_is_linked(rmr));
#undef BIND
	pair_disconnect(pair);
	g_assert_cmpint(it_lmr_free(relative), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(other), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(pz), ==, IT_SUCCESS);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* More requests than the queue holds. */
static void
test_too_many(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_DEFAULT);
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
	g_assert_false(window_is_linked(rmr));
	for (unsigned i = 0; i + 1 < posted; i++)
		end_done(b->request, IT_RMR_LINK_CMPL_EVENT, i, IT_DTO_SUCCESS);
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
}

/* A link that cannot be posted changes nothing: the window keeps its context, and can be unlinked. */
static void
test_failed_link(struct pair *pair)
{
	struct end *b = &pair->passive;
	it_rmr_handle_t rmr = window_make(b, IT_RMR_TYPE_DEFAULT);
	it_rmr_handle_t filler = window_make(b, IT_RMR_TYPE_DEFAULT);
	it_status_t status = IT_SUCCESS;
	it_rmr_context_t context, refused;
	it_rmr_param_t params;
	unsigned posted = 0;

	pair_establish(pair);
	context = window_link(b, rmr, IT_PRIV_REMOTE_WRITE, IT_ADDR_MODE_ABSOLUTE);
	for (; posted < 100000 && status == IT_SUCCESS; posted++)
		status = it_rmr_unlink(filler, b->ep, posted, SIGNALED);
	g_assert_cmpint(status, ==, IT_ERR_TOO_MANY_POSTS);
	g_assert_cmpint(it_rmr_link(rmr, b->lmr, b->buffer, 64, IT_ADDR_MODE_ABSOLUTE,
				    IT_PRIV_REMOTE, b->ep, 1, SIGNALED, &refused),
			==, IT_ERR_TOO_MANY_POSTS);
	pair_ok(it_rmr_query(rmr, IT_RMR_PARAM_ALL, &params));
	g_assert_cmphex(params.rmr_context, ==, context);
	g_assert_cmpint(params.privs, ==, IT_PRIV_REMOTE_WRITE);
	g_assert_true(window_is_linked(rmr));
	for (unsigned i = 0; i + 1 < posted; i++)
		end_done(b->request, IT_RMR_LINK_CMPL_EVENT, i, IT_DTO_SUCCESS);
	window_unlink(b, rmr, 0);
	pair_disconnect(pair);
	g_assert_cmpint(it_rmr_free(rmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_rmr_free(filler), ==, IT_SUCCESS);
}

static void
add_tests(void)
{
	pair_add_for(NEEDS_WINDOWS, "rmr/create", test_create);
	pair_add_for(NEEDS_WINDOWS, "rmr/pz-busy", test_pz_busy);
	pair_add_for(NEEDS_WINDOWS | NEEDS_UNLINK | NEEDS_RELATIVE, "rmr/link-checks",
		     test_link_checks);
	pair_add_for(NEEDS_WINDOWS | NEEDS_RELATIVE, "rmr/bind10-checks", test_bind10_checks);
	pair_add_for(NEEDS_WINDOWS | NEEDS_UNLINK, "rmr/too-many", test_too_many);
	pair_add_for(NEEDS_WINDOWS | NEEDS_UNLINK, "rmr/failed-link", test_failed_link);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
