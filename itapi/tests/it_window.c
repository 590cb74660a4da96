/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_window.h"

bool
window_has(const struct pair *pair, it_rmr_type_t type)
{
	return ((unsigned int)pair->active.info->rmr_types_supported & (unsigned int)type) != 0;
}

it_rmr_handle_t
window_make(const struct end *end, it_rmr_type_t type)
{
	it_rmr_handle_t rmr = NULL;

	g_assert_cmpint(it_rmr_create20(end->pz, type, &rmr), ==, IT_SUCCESS);
	g_assert_nonnull(rmr);
	return rmr;
}

it_rmr_context_t
window_link(const struct end *end, it_rmr_handle_t rmr, it_mem_priv_t privs, it_addr_mode_t mode)
{
	it_rmr_context_t context = 0;

	g_assert_cmpint(it_rmr_link(rmr, end->lmr, end->buffer + WINDOW, WINDOW, mode, privs,
				    end->ep, 77, SIGNALED, &context),
			==, IT_SUCCESS);
	g_assert_cmpuint(context, !=, 0);
	end_done(end->request, IT_RMR_LINK_CMPL_EVENT, 77, IT_DTO_SUCCESS);
	return context;
}

void
window_unlink(const struct end *end, it_rmr_handle_t rmr, it_dto_flags_t flags)
{
	g_assert_cmpint(it_rmr_unlink(rmr, end->ep, 78, SIGNALED | flags), ==, IT_SUCCESS);
	end_done(end->request, IT_RMR_LINK_CMPL_EVENT, 78, IT_DTO_SUCCESS);
}

bool
window_is_linked(it_rmr_handle_t rmr)
{
	it_rmr_param_t params = {0};

	g_assert_cmpint(it_rmr_query(rmr, IT_RMR_PARAM_LINKED, &params), ==, IT_SUCCESS);
	return params.bound == IT_TRUE;
}
