/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A settlement: wait until every event has come that must come, take all others, then read the
 * endpoints and the memory. Nothing is judged here. First the dispatchers are emptied once, which
 * also sends requests that IT_COALESCE_WR_FLAG holds back. Then the events of connections are
 * awaited: when the event of an end is there, all completions of that endpoint must be in their
 * dispatchers, so these are emptied at once and later completions are marked. Completions of
 * requests and of receives have dispatchers of their own, so their relative order is not compared
 * (Freedoms: answer). Then the completions that must come are awaited. Last, Writes and requests
 * without completions are followed by a Read of the runner, whose completion says that they are
 * done [IT 7.5]. It has length 0, if the device supports that.
 *
 * A dispatcher with threshold 0 is examined before all that, if the model knows its completions: a
 * wait returns an event as soon as a notification event is queued; without one it returns none, and
 * reports when all completions are queued.
 */
#include <string.h>

#include "df_list.h"
#include "df_run.h"

#define SLICE_US 1000

bool
run_wait(struct df_run *run, it_evd_handle_t evd, int64_t deadline, it_event_t *event)
{
	int64_t left = deadline - g_get_monotonic_time();
	it_status_t status;

	do {
		status = it_evd_wait(evd, left > 0 ? (uint64_t)left : 0, event, NULL);
	} while (status == IT_ERR_INTERRUPT);
	if (status != IT_SUCCESS)
		run->record->stuck = true;
	return status == IT_SUCCESS;
}

bool
run_wait_for(struct df_run *run, struct world_node *node, enum world_evd kind, int64_t deadline,
	     it_event_t *event)
{
	int64_t left = deadline - g_get_monotonic_time();
	it_status_t status;

	do {
		status = ways_wait(&node->ways, kind, left > 0 ? (uint64_t)left : 0, event);
	} while (status == IT_ERR_INTERRUPT);
	if (status != IT_SUCCESS)
		run->record->stuck = true;
	return status == IT_SUCCESS;
}

/* The object that an event names as unlinked. */
static int
place_of(const struct df_run *run, it_handle_t handle)
{
	const struct world *world = run->world;

	if (handle == IT_NULL_HANDLE)
		return 0;
	for (int i = 0; i < DF_LMRS; i++) {
		if (world->lmr[i].handle == handle)
			return i + 1;
	}
	for (int i = 0; i < DF_RMRS; i++) {
		if (world->rmr[i].handle == handle)
			return -(i + 1);
	}
	return G_MAXINT;
}

int
run_ep_of(const struct df_run *run, it_ep_handle_t handle)
{
	for (int i = 0; i < DF_EPS; i++) {
		if (handle != NULL && run->world->ep[i].last == handle)
			return i;
	}
	for (int i = 0; i < DF_UDS; i++) {
		if (handle != NULL && run->world->ud[i].last == handle)
			return DF_EPS + i;
	}
	return -1;
}

static int
life_of(const struct df_run *run, int ep)
{
	if (ep < 0)
		return 0;
	return ep < DF_EPS ? run->world->ep[ep].life : run->world->ud[ep - DF_EPS].life;
}

static void
take_wr(struct df_run *run, const it_event_t *event, bool request)
{
	const it_dto_cmpl_event_t *cmpl = &event->dto_cmpl;
	int ep = run_ep_of(run, cmpl->ep);
	struct df_seen_wr seen = {
		.cookie = cmpl->cookie,
		.ep = ep,
		.life = life_of(run, ep),
		.event = cmpl->event_number,
		.status = cmpl->dto_status,
		.length = cmpl->transferred_length,
		.unlinked = place_of(run, cmpl->unlinked_mr_handle),
		.settle = run->settle,
		.request = request,
		.late = ep >= 0 && ep < DF_EPS && run->world->ep[ep].ended,
	};

	g_array_append_val(run->record->wrs, seen);
}

/* `told`: only what the way of the dispatcher has told of. */
static void
empty_one(struct df_run *run, int node, bool request, bool told)
{
	struct ways *ways = &run->world->node[node].ways;
	unsigned kind = request ? WORLD_REQUEST : WORLD_RECV;
	it_event_t event;

	while (told ? ways_take(ways, kind, &event) : ways_dequeue(ways, kind, &event))
		take_wr(run, &event, request);
}

/* Receives stay where they are as long as their number counts. */
static void
empty_dto(struct df_run *run, int node, bool told)
{
	empty_one(run, node, true, told);
	if (!run->hold[node])
		empty_one(run, node, false, told);
}

static void
take_cm(struct df_run *run, int node, const it_event_t *event)
{
	struct df_seen_cm seen = {.ep = run_ep_of(run, event->conn.ep),
				  .event = event->event_number};

	g_array_append_val(DF_SEEN(run->record, run->settle)->cm, seen);
	if (event->event_number != IT_CM_MSG_CONN_BROKEN_EVENT &&
	    event->event_number != IT_CM_MSG_CONN_DISCONNECT_EVENT)
		return;
	run->hold[node] = false;
	empty_dto(run, node, false);
	if (seen.ep >= 0)
		run->world->ep[seen.ep].ended = true;
}

static void
empty_cm(struct df_run *run, int node, bool told)
{
	struct ways *ways = &run->world->node[node].ways;
	it_event_t event;

	while (told ? ways_take(ways, WORLD_CM, &event) : ways_dequeue(ways, WORLD_CM, &event))
		take_cm(run, node, &event);
}

static bool
wait_cm(struct df_run *run, int node, int64_t deadline)
{
	const struct df_settle *expect = DF_SETTLEMENT(run->expected, run->settle);
	const GArray *seen = DF_SEEN(run->record, run->settle)->cm;
	it_event_t event;
	int missing = 0;

	for (unsigned i = 0; i < expect->cm->len; i++)
		missing += df_node(g_array_index(expect->cm, struct df_cm, i).ep) == node;
	for (unsigned i = 0; i < seen->len; i++) {
		int ep = g_array_index(seen, struct df_seen_cm, i).ep;

		missing -= ep >= 0 && df_node(ep) == node;
	}
	for (; missing > 0; missing--) {
		if (!run_wait_for(run, &run->world->node[node], WORLD_CM, deadline, &event))
			return false;
		take_cm(run, node, &event);
	}
	return true;
}

/* The number of completions that must still come to a dispatcher of a node. */
static int
missing_wrs(const struct df_run *run, int node, bool request, bool probes)
{
	int missing = 0;

	for (unsigned i = 0; i < run->expected->wrs->len; i++) {
		const struct df_wr *wr = DF_WR(run->expected, i);

		missing += wr->settle == run->settle && !wr->silent && wr->request == request &&
			   df_node(wr->ep) == node && (probes || wr->cookie < DF_PROBE);
	}
	for (unsigned i = 0; i < run->expected->takes->len && !request; i++) {
		const struct df_wr *wr = &DF_TAKE(run->expected, i)->wr;

		missing += wr->settle == run->settle && df_node(wr->ep) == node;
	}
	for (unsigned i = run->record->wrs->len; i > 0; i--) {
		const struct df_seen_wr *seen = DF_SEEN_WR(run->record, i - 1);
		const struct df_wr *wr = NULL;

		if (seen->settle != run->settle)
			break;
		for (unsigned k = 0; k < run->expected->wrs->len && wr == NULL; k++) {
			if (DF_WR(run->expected, k)->cookie == seen->cookie)
				wr = DF_WR(run->expected, k);
		}
		if (wr != NULL && wr->srq > 0)
			missing -= !request && seen->ep >= 0 && df_node(seen->ep) == node;
		else
			missing -= wr != NULL && wr->settle == run->settle && !wr->silent &&
				   wr->request == request && df_node(wr->ep) == node;
	}
	return missing;
}

/* The next completion. With threshold 0 a wait may sleep though one is queued. */
static bool
wait_dto(struct df_run *run, int node, int kind, int64_t deadline, it_event_t *event)
{
	struct world_node *from = &run->world->node[node];

	if (from->threshold[kind == WORLD_REQUEST ? 0 : 1] > 0)
		return run_wait_for(run, from, (enum world_evd)kind, deadline, event);
	while (!ways_dequeue(&from->ways, (unsigned)kind, event)) {
		if (g_get_monotonic_time() > deadline) {
			run->record->stuck = true;
			return false;
		}
		if (ways_wait(&from->ways, (unsigned)kind, SLICE_US, event) == IT_SUCCESS)
			return true;
	}
	return true;
}

/* Look once; true: it is decided whether the dispatcher is notified. */
static bool
watch_once(struct df_run *run, int node, int kind)
{
	it_evd_handle_t evd = run->world->node[node].evd[kind];
	bool request = kind == WORLD_REQUEST;
	int *notified = &DF_SEEN(run->record, run->settle)->notified[node][request ? 0 : 1];
	size_t missing = (size_t)missing_wrs(run, node, request, false), more = 0;
	it_event_t event;
	it_status_t status = it_evd_wait(evd, missing > 0 ? SLICE_US : 0, &event, &more);

	if (status == IT_ERR_TIMEOUT_EXPIRED && more >= missing) {
		/* All are queued now, so this decides. */
		status = it_evd_wait(evd, 0, &event, &more);
		*notified = 0;
	}
	if (status == IT_SUCCESS) {
		take_wr(run, &event, request);
		*notified = 1;
	}
	return *notified >= 0;
}

static bool
watch_all(struct df_run *run, int64_t deadline)
{
	const struct df_settle *expect = DF_SETTLEMENT(run->expected, run->settle);
	bool watch[DF_NODES][2], decided = false;

	for (int i = 0; i < 2 * DF_NODES; i++) {
		int node = i / 2, kind = i % 2 == 0 ? WORLD_REQUEST : WORLD_RECV;

		/* A callback may have taken the completion that would notify. */
		watch[node][i % 2] = expect->watch[node][i % 2] &&
				     !ways_keeps(&run->world->node[node].ways, (unsigned)kind);
		if (!watch[node][i % 2] && (i % 2 == 0 || !run->hold[node]))
			empty_one(run, node, i % 2 == 0, true);
	}
	while (!decided && g_get_monotonic_time() < deadline) {
		decided = true;
		for (int i = 0; i < 2 * DF_NODES; i++) {
			if (watch[i / 2][i % 2] &&
			    DF_SEEN(run->record, run->settle)->notified[i / 2][i % 2] < 0)
				decided &= watch_once(run, i / 2,
						      i % 2 == 0 ? WORLD_REQUEST : WORLD_RECV);
		}
	}
	run->record->stuck |= !decided;
	return decided;
}

static bool
wait_wrs(struct df_run *run, int64_t deadline, bool probes)
{
	it_event_t event;

	for (int i = 0; i < 2 * DF_NODES; i++) {
		int node = i / 2, kind = i % 2 == 0 ? WORLD_REQUEST : WORLD_RECV;

		while (missing_wrs(run, node, kind == WORLD_REQUEST, probes) > 0) {
			if (!wait_dto(run, node, kind, deadline, &event))
				return false;
			take_wr(run, &event, kind == WORLD_REQUEST);
		}
	}
	return true;
}

/* A Read of one octet. */
static void
post_octet_probe(struct df_run *run, int ep, uint64_t cookie)
{
	int peer = DF_SETTLEMENT(run->expected, run->settle)->source[ep];
	const struct world_probe *sink = world_probe_of(run->world, ep);
	const struct world_probe *source = world_probe_of(run->world, peer);
	it_lmr_triplet_t into = {.lmr = sink->lmr, .addr.abs = sink->octets, .length = 1};

	(void)!it_post_rdma_read(run->world->ep[ep].handle, &into, 1, cookie, IT_COMPLETION_FLAG,
				 (it_rdma_addr_t)(uintptr_t)(source->octets + 1), source->context);
}

static void
post_probes(struct df_run *run)
{
	const GArray *probes = DF_SETTLEMENT(run->expected, run->settle)->probes;

	for (unsigned i = 0; i < probes->len; i++) {
		int ep = g_array_index(probes, int, i);
		uint64_t cookie = DF_PROBE + (uint64_t)run->settle * DF_EPS + (uint64_t)ep;

		/* If the post is refused, its completion will be missing. */
		if (run->expected->probe == 0)
			(void)!it_post_rdma_read(run->world->ep[ep].handle, NULL, 0, cookie,
						 IT_COMPLETION_FLAG, 0, 0);
		else
			post_octet_probe(run, ep, cookie);
	}
}

static void
empty_all(struct df_run *run, bool told)
{
	for (int i = 0; i < DF_NODES; i++) {
		empty_cm(run, i, told);
		empty_dto(run, i, told);
	}
}

static bool
wait_all(struct df_run *run)
{
	int64_t deadline = g_get_monotonic_time() + run->patience;

	if (!watch_all(run, deadline))
		return false;
	empty_all(run, true);
	for (int i = 0; i < DF_NODES; i++) {
		if (!wait_cm(run, i, deadline) || !run_wait_async(run, i, deadline) ||
		    !run_wait_unaff(run, i, deadline))
			return false;
		run->hold[i] = false;
		empty_dto(run, i, true);
	}
	if (!wait_wrs(run, deadline, false))
		return false;
	post_probes(run);
	return wait_wrs(run, deadline, true);
}

/* The state of a datagram endpoint. When it fails, its completions come first [IT 5.2]. */
static int
look_at_datagrams(const struct df_run *run, int place)
{
	int64_t deadline = g_get_monotonic_time() + run->patience;
	int expected = DF_SETTLEMENT(run->expected, run->settle)->ud[place];
	it_ep_param_t params;

	memset(&params, 0, sizeof(params));
	while (it_ep_query(run->world->ud[place].handle, IT_EP_PARAM_STATE, &params) ==
	       IT_SUCCESS) {
		if ((int)params.ep_state.ud == expected || g_get_monotonic_time() > deadline)
			return (int)params.ep_state.ud;
		g_usleep(SLICE_US);
	}
	return -1;
}

static void
look_around(struct df_run *run)
{
	struct df_seen_settle *seen = DF_SEEN(run->record, run->settle);

	for (int i = 0; i < DF_EPS; i++) {
		it_ep_param_t params;

		run->world->ep[i].ended = false;
		seen->ep[i].state = -1;
		if (run->world->ep[i].handle == NULL)
			continue;
		memset(&params, 0, sizeof(params));
		if (it_ep_query(run->world->ep[i].handle, IT_EP_PARAM_STATE | IT_EP_PARAM_MAX_ORD,
				&params) != IT_SUCCESS)
			continue;
		seen->ep[i].state = (int)params.ep_state.rc;
		seen->ep[i].ord = (int)params.attr.srv.rc.rdma_read_ord;
	}
	for (int i = 0; i < DF_UDS; i++)
		seen->ud[i] = look_at_datagrams(run, i);
	run_look_at_limits(run);
	run_look_at_faults(run);
	for (int i = 0; i < DF_NODES; i++) {
		seen->memory[i] = g_malloc(DF_MEMORY);
		for (int k = 0; k < DF_MEMORY; k += DF_UNIT)
			memcpy(seen->memory[i] + k, run->world->node[i].arena + df_place(k),
			       DF_UNIT);
	}
}

bool
run_settle(struct df_run *run)
{
	bool good;

	g_array_set_size(run->record->settles, (unsigned)run->settle + 1);
	DF_SEEN(run->record, run->settle)->cm = g_array_new(FALSE, TRUE, sizeof(struct df_seen_cm));
	for (int i = 0; i < 2 * DF_NODES; i++)
		DF_SEEN(run->record, run->settle)->notified[i / 2][i % 2] = DF_NEVER;
	run_begin_limits(run);
	run_begin_faults(run);
	good = wait_all(run);
	empty_all(run, false);
	look_around(run);
	run->settle++;
	return good;
}
