/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Entry points: event dispatchers [IT 15.3], [IT 15.10]. */

#include "it_answer.h"
#include "it_check.h"
#include "it_ext.h"
#include "ual.h"
#include "ual_dto.h"

#define QUERY_BITS 0xffeu
#define MODIFY_BITS                                                                              \
	((unsigned)IT_EVD_PARAM_QUEUE_SIZE | IT_EVD_PARAM_THRESHOLD | IT_EVD_PARAM_AEVD_HANDLE | \
	 IT_EVD_PARAM_ENABLED | IT_EVD_PARAM_OVERFLOWED | IT_EVD_PARAM_FLAG)

static bool
dead_under(const struct ual_evd *evd)
{
	return ual_dead(((const struct ual_object *)(const void *)evd)->ia);
}

it_status_t
it_evd_create(IN it_ia_handle_t ia_handle, IN it_event_type_t event_number,
	      IN it_evd_flags_t evd_flag, IN size_t sevd_queue_size, IN size_t sevd_threshold,
	      IN it_evd_handle_t aevd_handle, OUT it_evd_handle_t *evd_handle, OUT int *fd)
{
	const struct ual_evd_wanted wanted = {
		.stream = event_number,
		.flags = evd_flag,
		.queue_size = sevd_queue_size,
		.threshold = sevd_threshold,
		.aevd = aevd_handle,
		.has_fd = fd != NULL,
	};
	UAL_VISIT struct ual_ia *ia = ual_ia_of(ia_handle);
	it_evd_handle_t made = NULL;
	it_status_t status;

	if (evd_handle != NULL)
		*evd_handle = NULL;
	if (ia == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_INVALID_IA);
	if (ual_dead(ia))
		return IT_ANSWER(ia_handle, IT_ERR_IA_CATASTROPHE);
	if (evd_handle == NULL)
		return IT_ANSWER(ia_handle, IT_ERR_FAULT);
	status = ual_evd_create(ia, &wanted, &made, fd);
	*evd_handle = made;
	return IT_ANSWER(ia_handle, status);
}

it_status_t
it_evd_free(IN it_evd_handle_t evd_handle)
{
	UAL_VISIT struct ual_evd *evd = ual_evd_of(evd_handle);

	return IT_ANSWER(evd_handle, evd != NULL ? ual_evd_free(evd) : IT_ERR_INVALID_EVD);
}

it_status_t
it_evd_query(IN it_evd_handle_t evd_handle, IN it_evd_param_mask_t mask, OUT it_evd_param_t *params)
{
	UAL_VISIT struct ual_evd *evd = ual_evd_of(evd_handle);

	if (evd == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_EVD);
	if (!query_mask_valid((unsigned)mask, IT_EVD_PARAM_ALL, QUERY_BITS))
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_MASK);
	if (params == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_FAULT);
	ual_evd_query(evd, mask, params);
	return IT_ANSWER(evd_handle, IT_SUCCESS);
}

it_status_t
it_evd_modify(IN it_evd_handle_t evd_handle, IN it_evd_param_mask_t mask,
	      IN const it_evd_param_t *params)
{
	UAL_VISIT struct ual_evd *evd = ual_evd_of(evd_handle);

	if (evd == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_EVD);
	if (dead_under(evd))
		return IT_ANSWER(evd_handle, IT_ERR_IA_CATASTROPHE);
	if (mask == 0 || ((unsigned)mask & ~MODIFY_BITS) != 0)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_MASK);
	if (params == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_FAULT);
	return IT_ANSWER(evd_handle, ual_evd_modify(evd, mask, params));
}

it_status_t
it_evd_dequeue(IN it_evd_handle_t evd_handle, OUT it_event_t *event)
{
	SESSION_SECTION;
	struct ual_evd *evd = ual_evd_at(evd_handle);

	if (evd == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_EVD);
	if (event == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_FAULT);
	return IT_ANSWER(evd_handle, ual_evd_dequeue(evd, event));
}

it_status_t
it_evd_dequeue_n(IN it_evd_handle_t evd_handle, IN int deque_count, OUT it_event_t *events,
		 OUT int *dequed_count)
{
	SESSION_SECTION;
	struct ual_evd *evd = ual_evd_at(evd_handle);
	unsigned taken;

	if (evd == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_EVD);
	if (deque_count < 1)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_LENGTH);
	if (events == NULL || dequed_count == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_FAULT);
	taken = ual_evd_dequeue_n(evd, events, (unsigned)deque_count);
	*dequed_count = (int)taken;
	return IT_ANSWER(evd_handle,
			 taken == 0 && dead_under(evd) ? IT_ERR_IA_CATASTROPHE : IT_SUCCESS);
}

it_status_t
it_evd_wait(IN it_evd_handle_t evd_handle, IN uint64_t timeout, OUT it_event_t *event,
	    OUT size_t *nmore)
{
	UAL_ENTERED struct ual_evd *evd = ual_evd_of(evd_handle);

	if (evd == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_EVD);
	if (event == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_FAULT);
	return IT_ANSWER(evd_handle, ual_evd_wait(evd, timeout, event, nmore));
}

it_status_t
it_evd_post_se(IN it_evd_handle_t evd_handle, IN const void *event)
{
	UAL_VISIT struct ual_evd *evd = ual_evd_of(evd_handle);

	if (evd == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_EVD);
	if (dead_under(evd))
		return IT_ANSWER(evd_handle, IT_ERR_IA_CATASTROPHE);
	return IT_ANSWER(evd_handle, ual_evd_post_se(evd, event));
}

it_status_t
it_evd_callback_attach(IN it_evd_handle_t evd_handle, IN it_evd_callback_rtn_t callback,
		       IN void *arg)
{
	UAL_VISIT struct ual_evd *evd = ual_evd_of(evd_handle);

	if (evd == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_EVD);
	if (dead_under(evd))
		return IT_ANSWER(evd_handle, IT_ERR_IA_CATASTROPHE);
	return IT_ANSWER(evd_handle,
			 callback != NULL ? ual_callback_attach(evd, callback, arg) : IT_ERR_FAULT);
}

it_status_t
it_evd_callback_detach(IN it_evd_handle_t evd_handle)
{
	UAL_VISIT struct ual_evd *evd = ual_evd_of(evd_handle);

	if (evd == NULL)
		return IT_ANSWER(evd_handle, IT_ERR_INVALID_EVD);
	ual_callback_detach(evd); /* none attached is no error */
	return IT_ANSWER(evd_handle, IT_SUCCESS);
}
