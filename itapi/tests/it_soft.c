/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_soft.h"

it_evd_handle_t
soft_aggregate(const struct end *end, it_evd_flags_t flags)
{
	it_evd_handle_t aevd = NULL;

	g_assert_cmpint(it_evd_create(end->ia, IT_AEVD_NOTIFICATION_EVENT_STREAM, flags, 0, 0, NULL,
				      &aevd, NULL),
			==, IT_SUCCESS);
	return aevd;
}

it_evd_handle_t
soft_member(const struct end *end, it_evd_handle_t aevd, size_t threshold)
{
	it_evd_handle_t evd = NULL;

	g_assert_cmpint(it_evd_create(end->ia, IT_SOFTWARE_EVENT_STREAM, 0, 16, threshold, aevd,
				      &evd, NULL),
			==, IT_SUCCESS);
	return evd;
}

void
soft_post(it_evd_handle_t evd, uintptr_t value)
{
	g_assert_cmpint(it_evd_post_se(evd, (void *)value), ==, IT_SUCCESS);
}

void
soft_expect(it_evd_handle_t from, it_evd_handle_t evd, uintptr_t value)
{
	it_event_t event;

	g_assert_cmpint(it_evd_wait(from, WAIT_US, &event, NULL), ==, IT_SUCCESS);
	g_assert_cmpint(event.event_number, ==, IT_SOFTWARE_EVENT);
	g_assert_true(event.sw.evd == evd);
	g_assert_cmpuint((uintptr_t)event.sw.data, ==, value);
}

void
soft_free(it_evd_handle_t evd)
{
	g_assert_cmpint(it_evd_free(evd), ==, IT_SUCCESS);
}

it_status_t
soft_modify(it_evd_handle_t evd, it_evd_param_mask_t mask, it_evd_param_t params)
{
	return it_evd_modify(evd, mask, &params);
}
