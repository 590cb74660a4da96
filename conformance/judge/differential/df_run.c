/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Turns steps into calls. An object that does not exist becomes a NULL handle; a context that must be invalid is
 * made different from every valid one.
 */
#include "df_run.h"

#include <string.h>

#include "df_list.h"
#include "df_model.h"

#define RESET_PAUSE_US 200
#define NO_CONTEXT     0x7fff5a00u

static struct world_node *
node_of(const struct df_run *run, int place)
{
	return &run->world->node[df_node(place)];
}

static size_t
segments(const struct df_run *run, const struct df_step *step, it_lmr_triplet_t *out)
{
	for (int i = 0; i < step->segs; i++) {
		const struct df_seg *seg = &step->seg[i];
		const struct world_key *lmr = &run->world->lmr[seg->lmr];

		memset(&out[i], 0, sizeof(out[i]));
		out[i].lmr = (it_lmr_handle_t)lmr->handle;
		out[i].length = (it_length_t)seg->len;
		/* A base of 0 means a region with addresses from 0. */
		if (lmr->base[0] == 0)
			out[i].addr.rel = (it_length_t)(int64_t)seg->off;
		else
			out[i].addr.abs =
				(void *)(uintptr_t)(lmr->base[0] + (uint64_t)(int64_t)seg->off);
	}
	return (size_t)step->segs;
}

static bool
means_something(const struct df_run *run, it_rmr_context_t context)
{
	for (int i = 0; i < DF_LMRS; i++) {
		if (run->world->lmr[i].handle != NULL && run->world->lmr[i].context[0] == context)
			return true;
	}
	for (int i = 0; i < DF_RMRS; i++) {
		if (run->world->rmr[i].handle != NULL && run->world->rmr[i].context[0] == context)
			return true;
	}
	return false;
}

/* The context that a step names, and the address that belongs to it. */
static it_rmr_context_t
context_of(const struct df_run *run, const struct df_step *step, it_rdma_addr_t *addr)
{
	bool window = step->key.kind == 'r' || step->key.kind == 'R';
	const struct world_key *key =
		window ? &run->world->rmr[step->key.slot] : &run->world->lmr[step->key.slot];
	bool present = step->key.kind == 'l' || step->key.kind == 'r';
	it_rmr_context_t context = key->context[present ? 0 : 1];
	int peer = run->world->ep[step->ep].handle != NULL ? run->peer[step->ep] : -1;

	*addr = key->base[present ? 0 : 1] + (uint64_t)(int64_t)step->off;
	/* Each node numbers its contexts by itself, so a foreign or old one may be valid by chance. */
	if (present && peer >= 0 && df_node(peer) == df_node(step->key.slot) && key->handle != NULL)
		return context;
	if (step->key.kind == 'x' || context == 0)
		context = NO_CONTEXT;
	while (means_something(run, context))
		context = (context + 0x10100) & UINT32_MAX;
	return context;
}

/* --- endpoints and connections --------------------------------------------------------------- */

static it_status_t
ep_create(struct df_run *run, const struct df_step *step)
{
	const struct world_node *node = node_of(run, step->ep);
	struct world_ep *ep = &run->world->ep[step->ep];
	it_ep_attributes_t attr = world_attributes(node, step);
	it_ep_rc_creation_flags_t flags = IT_EP_REUSEADDR;
	it_status_t status;

	if (step->srq > 0) {
		flags = (it_ep_rc_creation_flags_t)(IT_EP_REUSEADDR | IT_EP_SRQ);
		attr.srv.rc.srq = run->world->srq[step->srq - 1];
		attr.srv.rc.soft_hi_watermark = (size_t)step->soft;
		if (step->hard != 0)
			attr.srv.rc.hard_hi_watermark = (size_t)step->hard;
	}
	status = it_ep_rc_create(run->world->pz[step->pz], node->evd[WORLD_REQUEST],
				 node->evd[WORLD_RECV], node->evd[WORLD_CM], flags, &attr,
				 &ep->handle);
	if (status != IT_SUCCESS)
		return status;
	ep->life++;
	ep->last = ep->handle;
	df_hub_own(node->hub, (it_handle_t)ep->handle, run->world->number);
	return status;
}

static it_status_t
ep_free(struct df_run *run, const struct df_step *step)
{
	struct world_ep *ep = &run->world->ep[step->ep];
	it_status_t status = it_ep_free(ep->handle);

	if (status == IT_SUCCESS)
		ep->handle = NULL;
	return status;
}

it_status_t
run_reset(const struct df_run *run, it_ep_handle_t ep)
{
	int64_t deadline = g_get_monotonic_time() + run->patience;
	bool never = run->now->answer.count == 1 && run->now->answer.any[0] == IT_ERR_CANNOT_RESET;
	it_status_t status = it_ep_reset(ep);

	while (status == IT_ERR_CANNOT_RESET && !never && g_get_monotonic_time() < deadline) {
		g_usleep(RESET_PAUSE_US);
		status = it_ep_reset(ep);
	}
	return status;
}

/* The active side of three ways answers the accept, or does not. */
static void
answer_accept(struct df_run *run, const struct df_step *step, int64_t deadline,
	      struct df_seen_step *seen)
{
	it_ep_handle_t ep = run->world->ep[step->ep].handle;
	it_event_t event;

	if (!run_wait_for(run, node_of(run, step->ep), WORLD_CM, deadline, &event))
		return;
	seen->third_made =
		event.event_number == IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT && event.conn.ep == ep;
	if (!seen->third_made)
		return;
	if (step->how == DF_THREE_WAY)
		seen->third = it_ep_accept(ep, event.conn.cn_est_id, NULL, 0);
	else if (step->how == DF_THREE_REFUSE)
		seen->third = it_reject(event.conn.cn_est_id, NULL, 0);
	else
		seen->third = it_ep_disconnect(ep, NULL, 0);
}

static it_status_t
connect_step(struct df_run *run, const struct df_step *step, struct df_seen_step *seen)
{
	int64_t deadline = g_get_monotonic_time() + run->patience;
	struct world_node *far = node_of(run, step->peer);
	it_ep_handle_t near_ep = run->world->ep[step->ep].handle;
	it_ep_handle_t far_ep = run->world->ep[step->peer].handle;
	it_status_t status;
	it_event_t event;

	status = it_ep_connect(near_ep, &far->path, NULL, &far->qual,
			       step->how < DF_THREE_WAY ? IT_CONNECT_FLAG_TWO_WAY
							: IT_CONNECT_FLAG_THREE_WAY,
			       NULL, 0);
	if (status != IT_SUCCESS)
		return status;
	if (run->now->unreached || !run_wait_for(run, far, WORLD_CM_REQUEST, deadline, &event))
		return status;
	if (step->how != DF_REJECT && far_ep != NULL) {
		seen->second_made = true;
		seen->second = it_ep_accept(far_ep, event.conn_req.cn_est_id, NULL, 0);
		if (seen->second == IT_SUCCESS) {
			run->peer[step->ep] = step->peer;
			run->peer[step->peer] = step->ep;
			if (step->how >= DF_THREE_WAY)
				answer_accept(run, step, deadline, seen);
			return status;
		}
	}
	(void)!it_reject(event.conn_req.cn_est_id, NULL, 0);
	return status;
}

/* --- dispatchers ----------------------------------------------------------------------------- */

static it_status_t
threshold(struct df_run *run, const struct df_step *step)
{
	const enum world_evd evd = step->how == 0 ? WORLD_REQUEST : WORLD_RECV;
	struct world_node *node = &run->world->node[step->obj];
	it_evd_param_t params;
	it_status_t status;

	memset(&params, 0, sizeof(params));
	params.sevd_threshold = (size_t)step->a;
	status = it_evd_modify(node->evd[evd], IT_EVD_PARAM_THRESHOLD, &params);
	if (status == IT_SUCCESS)
		node->threshold[step->how] = step->a;
	return status;
}

/* --- shared receive queues ------------------------------------------------------------------- */

static it_status_t
srq_create(struct df_run *run, const struct df_step *step)
{
	it_srq_handle_t *srq = &run->world->srq[step->obj];
	it_status_t status = it_srq_create(run->world->pz[step->pz], world_segs("max_recv_sge"),
					   (size_t)step->rq, srq);

	if (status == IT_SUCCESS)
		df_hub_own(node_of(run, step->obj)->hub, (it_handle_t)*srq, run->world->number);
	return status;
}

static it_status_t
srq_free(struct df_run *run, const struct df_step *step)
{
	it_status_t status = it_srq_free(run->world->srq[step->obj]);

	if (status == IT_SUCCESS)
		run->world->srq[step->obj] = NULL;
	return status;
}

/* --- regions and windows --------------------------------------------------------------------- */

void
run_key_takes(struct world_key *key, it_rmr_context_t context, uint64_t base)
{
	key->context[1] = key->context[0];
	key->base[1] = key->base[0];
	key->context[0] = context;
	key->base[0] = base;
}

uint64_t
run_base_of(const struct df_run *run, const struct df_step *step, int off)
{
	if (step->mode == IT_ADDR_MODE_RELATIVE)
		return 0;
	return (uint64_t)(uintptr_t)(node_of(run, step->obj)->arena + off);
}

static it_status_t
lmr_free(struct df_run *run, const struct df_step *step)
{
	struct world_key *key = &run->world->lmr[step->obj];
	it_status_t status = it_lmr_free((it_lmr_handle_t)key->handle);

	if (status == IT_SUCCESS)
		key->handle = NULL;
	return status;
}

static it_status_t
lmr_modify(struct df_run *run, const struct df_step *step)
{
	struct world_key *key = &run->world->lmr[step->obj];
	it_lmr_handle_t lmr = (it_lmr_handle_t)key->handle;
	it_lmr_param_t params;
	it_status_t status;

	memset(&params, 0, sizeof(params));
	params.privs = (it_mem_priv_t)step->privs;
	status = it_lmr_modify(lmr, IT_LMR_PARAM_MEM_PRIV, &params);
	if (status != IT_SUCCESS)
		return status;
	if (it_lmr_query(lmr, IT_LMR_PARAM_RMR_CONTEXT, &params) == IT_SUCCESS)
		run_key_takes(key, params.rmr_context, key->base[0]);
	return status;
}

static it_status_t
rmr_create(struct df_run *run, const struct df_step *step)
{
	it_rmr_handle_t rmr = NULL;
	it_status_t status =
		it_rmr_create20(run->world->pz[step->pz], (it_rmr_type_t)step->how, &rmr);

	if (status == IT_SUCCESS)
		run->world->rmr[step->obj].handle = (it_handle_t)rmr;
	return status;
}

static it_status_t
rmr_free(struct df_run *run, const struct df_step *step)
{
	struct world_key *key = &run->world->rmr[step->obj];
	it_status_t status = it_rmr_free((it_rmr_handle_t)key->handle);

	if (status == IT_SUCCESS)
		key->handle = NULL;
	return status;
}

static it_status_t
rmr_link(struct df_run *run, const struct df_step *step, it_dto_cookie_t cookie)
{
	struct world_key *key = &run->world->rmr[step->obj];
	int off = run->lmr_off[step->lmr] + step->off;
	it_rmr_context_t context = 0;
	it_status_t status;

	status = it_rmr_link(
		(it_rmr_handle_t)key->handle, (it_lmr_handle_t)run->world->lmr[step->lmr].handle,
		node_of(run, step->lmr)->arena + off, (it_length_t)step->len,
		(it_addr_mode_t)step->mode, (it_mem_priv_t)step->privs,
		run->world->ep[step->ep].handle, cookie, (it_dto_flags_t)step->flags, &context);
	if (status == IT_SUCCESS)
		run_key_takes(key, context, run_base_of(run, step, off));
	return status;
}

/* --- all of them ----------------------------------------------------------------------------- */

static it_status_t
read_to_rmr(struct df_run *run, const struct df_step *step, it_dto_cookie_t cookie,
	    it_rdma_addr_t addr, it_rmr_context_t context)
{
	const struct world_key *rmr = &run->world->rmr[step->obj];
	it_rmr_triplet_t sink = {.rmr = (it_rmr_handle_t)rmr->handle,
				 .length = (it_length_t)step->len};

	if (rmr->base[0] == 0)
		sink.addr.rel = (it_length_t)(int64_t)step->a;
	else
		sink.addr.abs = (void *)(uintptr_t)(rmr->base[0] + (uint64_t)(int64_t)step->a);
	return it_post_rdma_read_to_rmr(run->world->ep[step->ep].handle, &sink, 1, cookie,
					(it_dto_flags_t)step->flags, addr, context);
}

static it_status_t
work(struct df_run *run, const struct df_step *step, it_dto_cookie_t cookie)
{
	it_ep_handle_t ep = run->world->ep[step->ep].handle;
	it_dto_flags_t flags = (it_dto_flags_t)step->flags;
	it_lmr_triplet_t segs[DF_SEGS];
	size_t count = segments(run, step, segs);
	it_rdma_addr_t addr = 0;
	it_rmr_context_t context = 0;

	if (step->key.kind != '\0')
		context = context_of(run, step, &addr);
	switch ((int)step->kind) {
	case DF_RECV:
		return it_post_recv((it_handle_t)ep, segs, count, cookie, flags);
	case DF_SRQ_RECV:
		return it_post_recv((it_handle_t)run->world->srq[step->obj], segs, count, cookie,
				    flags);
	case DF_SEND:
		return it_post_send(ep, segs, count, cookie, flags);
	case DF_WRITE:
		return it_post_rdma_write(ep, segs, count, cookie, flags, addr, context);
	case DF_READ:
		return it_post_rdma_read(ep, segs, count, cookie, flags, addr, context);
	case DF_READ_RMR:
		return read_to_rmr(run, step, cookie, addr, context);
	case DF_ATOMIC:
		if (count == 0)
			memset(segs, 0, sizeof(segs[0]));
		return it_post_atomic(ep, (it_atomic_op_t)step->how, (uint64_t)(int64_t)step->a,
				      (uint64_t)(int64_t)step->b, segs, cookie, flags, addr,
				      context);
	case DF_SEND_UNLINK:
		return it_post_send_and_unlink(ep, segs, count, cookie, flags, context);
	default:
		return run_datagram(run, step, segs, cookie);
	}
}

static it_status_t
perform(struct df_run *run, const struct df_step *step, it_dto_cookie_t cookie,
	struct df_seen_step *seen)
{
	const struct world *world = run->world;

	switch ((int)step->kind) {
	case DF_EP_MODIFY:
	case DF_LISTEN:
	case DF_EVD_SIZE:
	case DF_EVD_WAY:
	case DF_SRQ_SIZE:
		return run_change(run, step);
	case DF_THRESHOLD:
		return threshold(run, step);
	case DF_SPIGOT:
	case DF_FAIL:
	case DF_UNAFF_CREATE:
	case DF_UNAFF_FREE:
		return run_fault(run, step);
	case DF_EP_CREATE:
		return ep_create(run, step);
	case DF_EP_FREE:
		return ep_free(run, step);
	case DF_CONNECT:
		return connect_step(run, step, seen);
	case DF_DISCONNECT:
		return it_ep_disconnect(world->ep[step->ep].handle, NULL, 0);
	case DF_RESET:
		return run_reset(run, world->ep[step->ep].handle);
	case DF_LMR_CREATE:
		return run_lmr_create(run, step);
	case DF_LMR_FREE:
		return lmr_free(run, step);
	case DF_LMR_MODIFY:
		return lmr_modify(run, step);
	case DF_SRQ_CREATE:
		return srq_create(run, step);
	case DF_SRQ_FREE:
		return srq_free(run, step);
	case DF_SRQ_LIMIT:
		return run_srq_limit(run, step);
	case DF_EP_LIMIT:
		return run_ep_limit(run, step);
	case DF_LMR_RESERVE:
		return run_lmr_reserve(run, step);
	case DF_LMR_LINK:
		return run_lmr_link(run, step, cookie);
	case DF_LMR_UNLINK:
		return it_lmr_unlink((it_lmr_handle_t)world->lmr[step->obj].handle,
				     world->ep[step->ep].handle, cookie,
				     (it_dto_flags_t)step->flags);
	case DF_RMR_CREATE:
		return rmr_create(run, step);
	case DF_RMR_FREE:
		return rmr_free(run, step);
	case DF_RMR_LINK:
		return rmr_link(run, step, cookie);
	case DF_RMR_UNLINK:
		return it_rmr_unlink((it_rmr_handle_t)world->rmr[step->obj].handle,
				     world->ep[step->ep].handle, cookie,
				     (it_dto_flags_t)step->flags);
	default:
		return work(run, step, cookie);
	}
}

static void
fill(const struct df_run *run, int node, int off, int len, int seed)
{
	for (int i = 0; i < len; i++)
		run->world->node[node].arena[df_place(off + i)] = df_pattern(seed, i);
}

/* False: an expected event did not come; to go on would show nothing. */
static bool
step_run(struct df_run *run, unsigned i)
{
	const struct df_step_expect *expect = DF_STEP(run->expected, i);
	const struct df_step *step = df_program_step(run->program, i);
	struct df_seen_step seen = {0};

	run->now = expect;
	if (expect->settle_before && !run_settle(run))
		return false;
	if (!expect->skip && step->kind == DF_FILL) {
		fill(run, step->obj, step->off, step->len, step->a);
	} else if (!expect->skip && step->kind != DF_SETTLE) {
		seen.made = true;
		seen.answer = perform(run, step, (it_dto_cookie_t)i + 1, &seen);
	}
	g_array_append_val(run->record->steps, seen);
	if (run->record->stuck)
		return false;
	return !expect->settle_after || run_settle(run);
}

struct df_record *
df_run_program(const char *adapter, const struct df_program *program,
	       const struct df_expected *expected, unsigned patience_s)
{
	struct world_ias *ias = world_ias_open(adapter, false);
	struct df_record *record;

	if (ias == NULL)
		return NULL;
	record = df_run_program_on(ias, program, expected, patience_s);
	record->strange = world_ias_close(ias);
	return record;
}

struct df_record *
df_run_program_on(const struct world_ias *ias, const struct df_program *program,
		  const struct df_expected *expected, unsigned patience_s)
{
	struct df_run run = {
		.program = program,
		.expected = expected,
		.patience = (int64_t)patience_s * G_USEC_PER_SEC,
	};
	bool going = true;

	run.world = world_open(ias);
	run.record = df_record_new();
	for (int i = 0; i < DF_NODES; i++)
		fill(&run, i, 0, DF_MEMORY, i + 1);
	for (unsigned i = 0; i < program->steps->len && going; i++)
		going = step_run(&run, i);
	if (going)
		going = run_settle(&run);
	run.record->teardown = world_close(run.world, !going);
	return run.record;
}
