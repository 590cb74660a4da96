/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Watermarks, and the affiliated events of an adapter [IT 12.7] to [IT 12.9], [IT 14]. */
#include <string.h>

#include "df_run.h"

/* --- steps ----------------------------------------------------------------------------------- */

it_status_t
run_srq_limit(const struct df_run *run, const struct df_step *step)
{
	it_srq_param_t params;

	memset(&params, 0, sizeof(params));
	params.low_watermark = (size_t)step->a;
	return it_srq_modify(run->world->srq[step->obj], IT_SRQ_PARAM_LOW_WATERMARK, &params);
}

it_status_t
run_ep_limit(const struct df_run *run, const struct df_step *step)
{
	it_ep_attributes_t attr;
	unsigned mask = 0;

	memset(&attr, 0, sizeof(attr));
	attr.srv.rc.soft_hi_watermark = (size_t)step->soft;
	attr.srv.rc.hard_hi_watermark =
		step->hard != 0 ? (size_t)step->hard : IT_HARD_HI_WATERMARK_DISABLE;
	mask |= (step->how & 1) != 0 ? (unsigned)IT_EP_PARAM_SOFT_HI_WATERMARK : 0;
	mask |= (step->how & 2) != 0 ? (unsigned)IT_EP_PARAM_HARD_HI_WATERMARK : 0;
	return it_ep_modify(run->world->ep[step->ep].handle, (it_ep_param_mask_t)mask, &attr);
}

/* --- settlements ----------------------------------------------------------------------------- */

void
run_begin_limits(struct df_run *run)
{
	const struct df_settle *expect = DF_SETTLEMENT(run->expected, run->settle);

	DF_SEEN(run->record, run->settle)->async =
		g_array_new(FALSE, TRUE, sizeof(struct df_seen_async));
	memcpy(run->hold, expect->hold, sizeof(run->hold));
}

static bool
is_of_srq(it_event_type_t event)
{
	return event == IT_ASYNC_AFF_SRQ_LOW_WATERMARK || event == IT_ASYNC_AFF_SRQ_CATASTROPHIC;
}

static int
srq_of(const struct df_run *run, it_srq_handle_t handle)
{
	for (int i = 0; i < DF_SRQS; i++) {
		if (handle != NULL && run->world->srq[i] == handle)
			return i;
	}
	return -1;
}

static void
take_async(struct df_run *run, const it_affiliated_event_t *async)
{
	struct df_seen_async seen = {.event = async->event_number};

	seen.place = is_of_srq(seen.event) ? srq_of(run, async->cause.srq)
					   : run_ep_of(run, async->cause.ep);
	g_array_append_val(DF_SEEN(run->record, run->settle)->async, seen);
}

static void
empty_async(struct df_run *run, int node)
{
	it_affiliated_event_t event;

	while (df_hub_take(run->world->node[node].hub, run->world->number, 0, &event))
		take_async(run, &event);
}

/* Has it come? */
static bool
is_seen(const struct df_seen_settle *seen, const struct df_async *async)
{
	for (unsigned i = 0; i < seen->async->len; i++) {
		const struct df_seen_async *one =
			&g_array_index(seen->async, struct df_seen_async, i);

		if (one->event == async->event && one->place == async->place)
			return true;
	}
	return false;
}

bool
run_wait_async(struct df_run *run, int node, int64_t deadline)
{
	const GArray *all = DF_SETTLEMENT(run->expected, run->settle)->async;
	struct df_hub *hub = run->world->node[node].hub;
	it_affiliated_event_t event;

	for (unsigned i = 0; i < all->len; i++) {
		const struct df_async *async = &g_array_index(all, struct df_async, i);

		while (!async->may && df_node(async->place) == node &&
		       !is_seen(DF_SEEN(run->record, run->settle), async)) {
			if (!df_hub_take(hub, run->world->number, deadline, &event)) {
				run->record->stuck = true;
				return false;
			}
			take_async(run, &event);
		}
	}
	return true;
}

void
run_look_at_limits(struct df_run *run)
{
	struct df_seen_settle *seen = DF_SEEN(run->record, run->settle);

	for (int i = 0; i < DF_NODES; i++)
		empty_async(run, i);
	for (int i = 0; i < DF_SRQS; i++) {
		it_srq_param_t params;

		memset(&params, 0, sizeof(params));
		seen->low[i] = -1;
		if (run->world->srq[i] != NULL &&
		    it_srq_query(run->world->srq[i], IT_SRQ_PARAM_LOW_WATERMARK, &params) ==
			    IT_SUCCESS)
			seen->low[i] = (int)params.low_watermark;
	}
}
