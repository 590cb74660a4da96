/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Bugs of devices in domains, regions, windows, shared queues, datagrams and connections; most need a history. */
#include <stdlib.h>
#include <string.h>

#include "defect_history.h"

/* --- what holds another object (wrap_obj::count[0] of that object) ---------------------------------- */

static enum ri_status
refused_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		  struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	enum ri_status status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);

	if (status != RI_SUCCESS && srq != NULL)
		atomic_store(&wrap_of(srq)->count[0], 1);
	return status;
}

static enum ri_status
held_srq_destroy(struct ri_srq *srq)
{
	return atomic_load(&wrap_of(srq)->count[0]) > 0 ? RI_ERR_BUSY
							: wrap_plain_srq_ops.destroy(srq);
}

static enum ri_status
left_domain_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	struct wrap_obj *before = wrap_of(mr)->pd;
	enum ri_status status = wrap_plain_mem_ops.mr_rereg(mr, pd, init, stag);

	if (status == RI_SUCCESS && before != wrap_of(pd))
		atomic_store(&before->count[0], 1);
	return status;
}

static enum ri_status
held_pd_destroy(struct ri_pd *pd)
{
	return atomic_load(&wrap_of(pd)->count[0]) > 0 ? RI_ERR_BUSY
						       : wrap_plain_pd_ops.destroy(pd);
}

/* wrap_obj::last[0] of a window: the STag of its region, 0 while it is not bound; count[1]: it is wide. */
static enum ri_status
typed_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	enum ri_status status = wrap_plain_mem_ops.mw_alloc(pd, type, out, stag);

	if (status == RI_SUCCESS)
		atomic_store(&wrap_of(*out)->count[1], type == RI_MW_WIDE);
	return status;
}

static bool
left_region(struct wrap_obj *uqp, struct defect_wr *wr)
{
	const struct ri_wr_bind *bind = &wr->wr.u.bind;
	struct wrap_rnic *rnic = uqp->rnic;
	uint32_t stag = wr->wr.opcode == RI_OP_BIND_MW ? bind->mw_stag : wr->wr.inv_stag;
	uint32_t region = wr->wr.opcode == RI_OP_BIND_MW && bind->length > 0 ? bind->mr_stag : 0;
	struct wrap_obj *before = NULL, *mw;

	if (wr->wr.opcode != RI_OP_BIND_MW && wr->wr.opcode != RI_OP_LOCAL_INV)
		return true;
	pthread_mutex_lock(&rnic->lock);
	mw = history_by_index(rnic, WRAP_MW, stag);
	if (mw != NULL && atomic_load(&mw->count[1]) != 0) {
		if (mw->last[0] != 0 && region != 0 && mw->last[0] != region)
			before = history_by_index(rnic, WRAP_MR, (uint32_t)mw->last[0]);
		if (before != NULL && before->stag == mw->last[0])
			atomic_fetch_add(&before->count[0], 1);
		mw->last[0] = region;
	}
	pthread_mutex_unlock(&rnic->lock);
	return true;
}

static enum ri_status
held_mr_dereg(struct ri_mr *mr)
{
	return atomic_load(&wrap_of(mr)->count[0]) > 0 ? RI_ERR_BUSY
						       : wrap_plain_mem_ops.mr_dereg(mr);
}

static enum ri_status
held_mr_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	enum ri_status status = wrap_plain_mem_ops.mr_query(mr, attr);

	if (status == RI_SUCCESS)
		attr->bound += atomic_load(&wrap_of(mr)->count[0]);
	return status;
}

/* --- address handles ------------------------------------------------------------------------------------- */

/* wrap_obj::own of a handle: where its first change has led. */
static enum ri_status
once_modify(struct ri_ah *ah, const struct ri_ah_init *init)
{
	struct wrap_obj *obj = wrap_of(ah);
	enum ri_status status = wrap_plain_ah_ops.modify(ah, init);

	if (status != RI_SUCCESS)
		return status;
	if (obj->own != NULL) {
		(void)!wrap_plain_ah_ops.modify(ah, obj->own);
		return RI_SUCCESS;
	}
	obj->own = calloc(1, sizeof(*init));
	if (obj->own != NULL)
		memcpy(obj->own, init, sizeof(*init));
	return RI_SUCCESS;
}

/* --- groups ------------------------------------------------------------------------------------------------ */

#define GROUPS 16u

/* wrap_obj::own of a queue pair. */
struct groups {
	struct {
		struct ri_addr addr;
		unsigned attached;
	} of[GROUPS];
	unsigned count;
};

static unsigned *
group_of(struct wrap_obj *qp, const struct ri_addr *addr)
{
	struct groups *groups;

	if (qp->own == NULL)
		qp->own = calloc(1, sizeof(*groups));
	groups = qp->own;
	if (groups == NULL)
		return NULL;
	for (unsigned i = 0; i < groups->count; i++)
		if (memcmp(&groups->of[i].addr, addr, sizeof(*addr)) == 0)
			return &groups->of[i].attached;
	if (groups->count == GROUPS)
		return NULL;
	groups->of[groups->count].addr = *addr;
	return &groups->of[groups->count++].attached;
}

static enum ri_status
counted_attach(struct ri_qp *qp, const struct ri_addr *group)
{
	enum ri_status status = wrap_plain_qp_ops.mcast_attach(qp, group);
	unsigned *attached = status == RI_SUCCESS ? group_of(wrap_of(qp), group) : NULL;

	if (attached != NULL)
		(*attached)++;
	return status;
}

static enum ri_status
counted_detach(struct ri_qp *qp, const struct ri_addr *group)
{
	unsigned *attached = group_of(wrap_of(qp), group);

	if (attached != NULL && *attached > 0 && --*attached > 0)
		return RI_SUCCESS;
	return wrap_plain_qp_ops.mcast_detach(qp, group);
}

/* --- the last packet number ----------------------------------------------------------------------------------- */

#define LAST_PSN 0xffffffu

/* wrap_obj::count of a queue pair: the first request has the last number; a request was posted. */
static enum ri_status
last_number_send(struct ri_qp *qp, const struct ri_peer *peer)
{
	enum ri_status status = wrap_plain_peer_ops.send(qp, peer);

	if (status == RI_SUCCESS)
		atomic_store(&wrap_of(qp)->count[0], peer->sq_psn == LAST_PSN);
	return status;
}

static bool
behind_last_number(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct wrap_obj *qp = uqp->half;

	(void)wr;
	return !defect_later(&qp->count[1]) || atomic_load(&qp->count[0]) == 0;
}

/* --- two sides that disconnect ------------------------------------------------------------------------------------ */

/* Of all adapters of the process. wrap_obj::count of a queue pair: it disconnects; its end is lost. */
static atomic_uint disconnecting;

static enum ri_status
crossing_disconnect(struct ri_qp *qp, const void *pdata, uint16_t len)
{
	struct wrap_obj *obj = wrap_of(qp);
	bool crossed = atomic_load(&disconnecting) > 0;
	enum ri_status status;

	atomic_store(&obj->count[1], crossed);
	atomic_store(&obj->count[0], 1);
	atomic_fetch_add(&disconnecting, 1);
	status = wrap_plain_cm_ops.disconnect(qp, pdata, len);
	if (status != RI_SUCCESS && atomic_exchange(&obj->count[0], 0) != 0)
		atomic_fetch_sub(&disconnecting, 1);
	return status;
}

static bool
crossing_end(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	struct wrap_obj *qp = event->kind == RI_CM_DISCONNECTED || event->kind == RI_CM_BROKEN
				      ? wrap_find(rnic, WRAP_QP, event->ctx)
				      : NULL;

	if (qp == NULL || atomic_exchange(&qp->count[0], 0) == 0)
		return true;
	atomic_fetch_sub(&disconnecting, 1);
	return atomic_load(&qp->count[1]) == 0;
}

static enum ri_status
crossing_destroy(struct ri_qp *qp)
{
	if (atomic_exchange(&wrap_of(qp)->count[0], 0) != 0)
		atomic_fetch_sub(&disconnecting, 1);
	return wrap_plain_qp_ops.destroy(qp);
}

/* --- queries of services ------------------------------------------------------------------------------------------- */

#define QUERIES 64u

enum query_state {
	QUERY_NONE,
	QUERY_OPEN,
	QUERY_WITHDRAWN
};

/* wrap_rnic::own. */
struct queries {
	struct {
		uint64_t ctx;
		enum query_state state;
	} of[QUERIES];
};

/* With the lock. The query with that number, or else a free place; NULL: neither. */
static enum query_state *
query_place(struct wrap_rnic *rnic, uint64_t ctx)
{
	struct queries *queries = rnic->own;
	enum query_state *state = NULL;

	if (queries == NULL)
		rnic->own = queries = calloc(1, sizeof(*queries));
	for (unsigned i = 0; queries != NULL && i < QUERIES; i++) {
		if (queries->of[i].state != QUERY_NONE && queries->of[i].ctx == ctx)
			return &queries->of[i].state;
		if (queries->of[i].state == QUERY_NONE && state == NULL) {
			queries->of[i].ctx = ctx;
			state = &queries->of[i].state;
		}
	}
	return state;
}

static void
query_move(struct wrap_rnic *rnic, uint64_t ctx, enum query_state from, enum query_state to)
{
	enum query_state *state;

	history_lock();
	state = query_place(rnic, ctx);
	if (state != NULL && *state == from)
		*state = to;
	history_unlock();
}

static enum ri_status
counting_resolve(struct ri_context *context, uint64_t ctx, const struct ri_cm_params *params)
{
	struct wrap_rnic *rnic = wrap_rnic_of(context);
	enum query_state *state;
	enum ri_status status;
	bool busy;

	history_lock();
	state = query_place(rnic, ctx);
	busy = state != NULL && *state == QUERY_WITHDRAWN;
	history_unlock();
	if (busy)
		return RI_ERR_BUSY;
	query_move(rnic, ctx, QUERY_NONE, QUERY_OPEN);
	status = wrap_plain_cm_ops.resolve(context, ctx, params);
	if (status != RI_SUCCESS && status != RI_ERR_BUSY)
		query_move(rnic, ctx, QUERY_OPEN, QUERY_NONE);
	return status;
}

static void
counting_cancel(struct ri_context *context, uint64_t ctx)
{
	wrap_plain_cm_ops.resolve_cancel(context, ctx);
	query_move(wrap_rnic_of(context), ctx, QUERY_OPEN, QUERY_WITHDRAWN);
}

static bool
counting_reply(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	if (event->kind == RI_CM_SERVICE_REPLY)
		query_move(rnic, event->ctx, QUERY_OPEN, QUERY_NONE);
	return true;
}

static void
counting_end(struct wrap_rnic *rnic)
{
	free(rnic->own);
	rnic->own = NULL;
}

/* Requests of all adapters of the process that a listener has and did not answer. */
static atomic_uint unanswered;

static enum ri_status
answering(struct ri_request *request, const struct ri_service_answer *answer)
{
	enum ri_status status;

	atomic_fetch_sub(&unanswered, 1);
	status = wrap_plain_cm_ops.resolve_answer(request, answer);
	if (status != RI_SUCCESS)
		atomic_fetch_add(&unanswered, 1);
	return status;
}

static bool
silent_reply(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->kind == RI_CM_SERVICE_REQUEST)
		atomic_fetch_add(&unanswered, 1);
	if (event->kind != RI_CM_SERVICE_REPLY || event->service_status != RI_SERVICE_REJECTED ||
	    atomic_load(&unanswered) == 0)
		return true;
	atomic_fetch_sub(&unanswered, 1);
	return false;
}

/* --- ORD of the side that connects ------------------------------------------------------------------------------------ */

/* wrap_obj::count of a queue pair: it tells IRD and ORD with a connect; what the peer has answered. */
static enum ri_status
raised_connect(struct ri_qp *qp, const struct ri_cm_params *params)
{
	struct wrap_obj *obj = wrap_of(qp);
	enum ri_status status;

	atomic_store(&obj->count[1], 0);
	atomic_store(&obj->count[0], params->ird_ord);
	status = wrap_plain_cm_ops.connect(qp, params);
	if (status != RI_SUCCESS)
		atomic_store(&obj->count[0], 0);
	return status;
}

static bool
raised_answer(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	bool answer = event->kind == RI_CM_REPLY || event->kind == RI_CM_ESTABLISHED;
	struct wrap_obj *qp =
		answer && event->ird_ord_valid ? wrap_find(rnic, WRAP_QP, event->ctx) : NULL;

	if (qp != NULL && atomic_load(&qp->count[0]) != 0)
		atomic_store(&qp->count[1], event->ird);
	return true;
}

static enum ri_status
raised_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	enum ri_status status = wrap_plain_qp_ops.query(qp, attr);
	uint32_t ird = atomic_load(&wrap_of(qp)->count[1]);

	if (status != RI_SUCCESS || attr->ord >= ird)
		return status;
	attr->ord = ird < wrap_rnic_of(qp)->attr.max_ord ? ird : wrap_rnic_of(qp)->attr.max_ord;
	return status;
}

static enum ri_status
raised_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status = wrap_plain_qp_ops.modify(qp, attr, mask);

	if (status == RI_SUCCESS &&
	    ((mask & RI_QP_ATTR_ORD) != 0 ||
	     ((mask & RI_QP_ATTR_STATE) != 0 && attr->state == RI_QPS_IDLE)))
		atomic_store(&wrap_of(qp)->count[1], 0);
	return status;
}

/* --- the rows ---------------------------------------------------------------------------------------------------------- */

const struct defect defects_device_objects[] = {
	DEFECT("fw28-srq-refused-pair", "a refused queue pair holds its S-RQ",
	       "A shared queue with which a queue pair could not be created stays busy.", NEED_SRQ,
	       ENTRIES(.qp.create = refused_qp_create, .srq.destroy = held_srq_destroy)),
	DEFECT("fw28-rereg-holds-domain", "a region leaves a domain and holds it",
	       "A domain from which a region was registered anew into another stays busy.",
	       NEED_REREGISTER,
	       ENTRIES(.mem.mr_rereg = left_domain_rereg, .pd.destroy = held_pd_destroy)),
	DEFECT("fw28-rebind-holds-region", "a window leaves a region and holds it",
	       "A region whose wide window was bound to another one without an unbinding "
	       "stays busy.",
	       NEED_WIDE, .wr = left_region,
	       ENTRIES(.mem.mw_alloc = typed_alloc, .mem.mr_dereg = held_mr_dereg,
		       .mem.mr_query = held_mr_query)),
	DEFECT("fw28-handle-second-change", "an address handle changes once",
	       "The second and later changes of an address handle succeed and are not done.",
	       NEED_UD, ENTRIES(.ah.modify = once_modify)),
	DEFECT("fw28-mcast-counts", "attaching to a group is counted",
	       "A queue pair that was attached twice must be detached twice.", NEED_MULTICAST,
	       ENTRIES(.qp.mcast_attach = counted_attach, .qp.mcast_detach = counted_detach)),
	DEFECT("fw28-last-packet-number", "nothing comes behind the last packet number",
	       "A queue pair whose first packet has the last number sends one request.", NEED_PEER,
	       .wr = behind_last_number, ENTRIES(.peer.send = last_number_send)),
	DEFECT("fw28-disconnect-crossed", "both sides disconnect",
	       "Of two sides that disconnect at once the second gets no end.", NEED_ADDRESS,
	       .cm = crossing_end,
	       ENTRIES(.cm.disconnect = crossing_disconnect, .qp.destroy = crossing_destroy)),
	DEFECT("fw28-resolve-cancel-keeps", "a query that was withdrawn stays",
	       "The number of a service query that was withdrawn cannot be used again.", NEED_UD,
	       .cm = counting_reply, .end = counting_end,
	       ENTRIES(.cm.resolve = counting_resolve, .cm.resolve_cancel = counting_cancel)),
	DEFECT("fw28-resolve-silent", "a listener that is silent",
	       "A service query that a listener got and does not answer has no end.", NEED_UD,
	       .cm = silent_reply, ENTRIES(.cm.resolve_answer = answering)),
	DEFECT("fw28-ord-raised", "ORD becomes the IRD of the peer",
	       "After a connect with IRD and ORD a query tells the peer's IRD as ORD, even if it "
	       "is "
	       "greater.",
	       NEED_ADDRESS, .cm = raised_answer,
	       ENTRIES(.cm.connect = raised_connect, .qp.query = raised_query,
		       .qp.modify = raised_modify)),
};

const size_t defects_device_objects_count =
	sizeof(defects_device_objects) / sizeof(defects_device_objects[0]);
