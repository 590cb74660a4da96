/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Bugs of firmware that need a certain history: memory, windows, fences, datagrams, connections. */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "defect_history.h"

/* --- the rights of a region that is registered anew ------------------------------------------------ */

/* wrap_obj::last of a region. */
enum rights_word {
	RIGHTS_ASKED, /* what the caller wants since it was registered anew */
	RIGHTS_KEPT   /* 1: it has others besides */
};

static bool
same_range(const struct ri_mr_init *a, const struct ri_mr_init *b)
{
	return a->addr == b->addr && a->length == b->length && a->zero_based == b->zero_based &&
	       !a->unlinked && !b->unlinked && a->iova_given == b->iova_given &&
	       (!a->iova_given || a->iova == b->iova);
}

/* Only the range makes the device read the entry again. */
static enum ri_status
rights_kept_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	struct wrap_obj *obj = wrap_of(mr);
	struct ri_mr_init wide = *init;
	bool kept = obj->pd == wrap_of(pd) && same_range(&obj->init, init);
	enum ri_status status;

	if (kept)
		wide.access |= obj->init.access;
	status = wrap_plain_mem_ops.mr_rereg(mr, pd, &wide, stag);
	if (status == RI_SUCCESS) {
		obj->last[RIGHTS_ASKED] = init->access;
		obj->last[RIGHTS_KEPT] = kept;
	}
	return status;
}

static enum ri_status
rights_kept_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	const struct wrap_obj *obj = wrap_of(mr);
	enum ri_status status = wrap_plain_mem_ops.mr_query(mr, attr);
	uint32_t implied = obj->rnic->attr.local_read_revocable ? 0 : RI_ACCESS_LOCAL_READ;

	if (status == RI_SUCCESS && obj->last[RIGHTS_KEPT] != 0)
		attr->access = (uint32_t)obj->last[RIGHTS_ASKED] | (attr->access & implied);
	return status;
}

/* --- the range of a window that is bound again ------------------------------------------------------- */

/* wrap_obj::own of a window. */
struct range {
	uint32_t mr_stag;
	uint64_t addr, length;             /* what the device has */
	uint64_t asked_addr, asked_length; /* what the caller has asked for */
};

/* Does the region still contain what the device has? With the lock. */
static bool
region_contains(struct wrap_rnic *rnic, const struct range *range)
{
	const struct wrap_obj *mr = history_by_index(rnic, WRAP_MR, range->mr_stag);
	uint64_t base;

	if (mr == NULL || mr->stag != range->mr_stag || mr->init.unlinked || mr->init.zero_based)
		return false;
	base = mr->init.iova_given ? mr->init.iova : mr->init.addr;
	return range->addr >= base && range->length <= mr->init.length &&
	       range->addr - base <= mr->init.length - range->length;
}

static void
range_bind(struct wrap_rnic *rnic, struct range *range, struct ri_wr_bind *bind)
{
	range->asked_addr = bind->addr;
	range->asked_length = bind->length;
	if (range->mr_stag == bind->mr_stag && bind->addr >= range->addr &&
	    bind->length <= range->length &&
	    bind->addr - range->addr <= range->length - bind->length &&
	    region_contains(rnic, range)) {
		bind->addr = range->addr;
		bind->length = range->length;
		return;
	}
	range->mr_stag = bind->mr_stag;
	range->addr = bind->addr;
	range->length = bind->length;
}

/* A smaller range does not replace the larger one. */
static bool
range_kept(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr_bind *bind = &wr->wr.u.bind;
	struct wrap_rnic *rnic = uqp->rnic;
	struct wrap_obj *mw;

	if (wr->wr.opcode != RI_OP_BIND_MW || bind->length == 0 ||
	    (wr->wr.flags & RI_WR_BIND_RELATIVE) != 0)
		return true;
	pthread_mutex_lock(&rnic->lock);
	mw = history_by_index(rnic, WRAP_MW, bind->mw_stag);
	if (mw != NULL && mw->own == NULL)
		mw->own = calloc(1, sizeof(struct range));
	if (mw != NULL && mw->own != NULL)
		range_bind(rnic, mw->own, bind);
	pthread_mutex_unlock(&rnic->lock);
	return true;
}

static enum ri_status
range_kept_query(struct ri_mw *mw, struct ri_mr_attr *attr)
{
	struct wrap_obj *obj = wrap_of(mw);
	enum ri_status status = wrap_plain_mem_ops.mw_query(mw, attr);
	const struct range *range;

	if (status != RI_SUCCESS)
		return status;
	pthread_mutex_lock(&obj->rnic->lock);
	range = obj->own;
	if (range != NULL && attr->addr == range->addr && attr->length == range->length) {
		attr->addr = range->asked_addr;
		attr->length = range->asked_length;
	}
	pthread_mutex_unlock(&obj->rnic->lock);
	return status;
}

/* --- a window that the peer has invalidated ------------------------------------------------------------- */

/* wrap_obj::last of a window: the STag of its region, and 1 if the region still counts it. */
enum held_word {
	HELD_STAG,
	HELD
};

/* With the lock. wrap_obj::count[0] of a region: windows that it counts although they are not bound. */
static void
held_set(struct wrap_obj *mw, bool held)
{
	struct wrap_obj *mr = history_by_index(mw->rnic, WRAP_MR, (uint32_t)mw->last[HELD_STAG]);

	if (mr == NULL || mr->stag != mw->last[HELD_STAG] || held == (mw->last[HELD] != 0))
		return;
	mw->last[HELD] = held;
	if (held)
		mr->count[0]++;
	else
		mr->count[0]--;
}

static bool
held_bind(struct wrap_obj *uqp, struct defect_wr *wr)
{
	const struct ri_wr_bind *bind = &wr->wr.u.bind;
	struct wrap_rnic *rnic = uqp->rnic;
	struct wrap_obj *mw;

	if (wr->wr.opcode != RI_OP_BIND_MW || bind->length == 0)
		return true;
	pthread_mutex_lock(&rnic->lock);
	mw = history_by_index(rnic, WRAP_MW, bind->mw_stag);
	if (mw != NULL) {
		held_set(mw, false);
		mw->last[HELD_STAG] = bind->mr_stag;
	}
	pthread_mutex_unlock(&rnic->lock);
	return true;
}

static enum defect_act
held_invalidated(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_rnic *rnic = ucq->rnic;
	struct wrap_obj *mw;

	if (!defect_received(wc) || (wc->flags & RI_WC_INVALIDATED) == 0)
		return DEFECT_PASS;
	pthread_mutex_lock(&rnic->lock);
	mw = history_by_index(rnic, WRAP_MW, wc->inv_stag);
	if (mw != NULL && mw->last[HELD_STAG] != 0)
		held_set(mw, true);
	pthread_mutex_unlock(&rnic->lock);
	return DEFECT_PASS;
}

static enum ri_status
held_free(struct ri_mw *mw)
{
	struct wrap_obj *obj = wrap_of(mw);

	pthread_mutex_lock(&obj->rnic->lock);
	held_set(obj, false);
	pthread_mutex_unlock(&obj->rnic->lock);
	return wrap_plain_mem_ops.mw_free(mw);
}

static enum ri_status
held_dereg(struct ri_mr *mr)
{
	return wrap_of(mr)->count[0] > 0 ? RI_ERR_BUSY : wrap_plain_mem_ops.mr_dereg(mr);
}

static enum ri_status
held_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	return wrap_of(mr)->count[0] > 0 ? RI_ERR_BUSY
					 : wrap_plain_mem_ops.mr_rereg(mr, pd, init, stag);
}

static enum ri_status
held_query(struct ri_mr *mr, struct ri_mr_attr *attr)
{
	enum ri_status status = wrap_plain_mem_ops.mr_query(mr, attr);

	if (status == RI_SUCCESS)
		attr->bound += wrap_of(mr)->count[0];
	return status;
}

/* --- invalidation and the solicited bit -------------------------------------------------------------------- */

static bool
invalidate_unsolicited(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (wr->wr.opcode == RI_OP_SEND && (wr->wr.flags & RI_WR_INVALIDATE) != 0)
		wr->wr.flags &= ~(uint32_t)RI_WR_SOLICITED;
	return true;
}

/* --- a fence behind an atomic ---------------------------------------------------------------------------------- */

#define SCRATCH_ROOM  1024u /* octets of a request that is sent as it was when it was posted */
#define SCRATCH_COUNT 8u
#define SCRATCH_ALIGN 4096u

/* The memory of a segment in this process, or NULL. */
static const uint8_t *
memory_of(struct wrap_rnic *rnic, const struct wrap_obj *pd, const struct ri_sge *sge)
{
	const uint8_t *at = NULL;
	const struct wrap_obj *mr;
	uint64_t offset;

	pthread_mutex_lock(&rnic->lock);
	mr = history_by_index(rnic, WRAP_MR, sge->stag);
	if (mr != NULL && mr->stag == sge->stag && mr->pd == pd && !mr->init.unlinked &&
	    mr->init.pages == NULL) {
		offset = sge->addr - (mr->init.zero_based   ? 0
				      : mr->init.iova_given ? mr->init.iova
							    : mr->init.addr);
		if (offset <= mr->init.length && sge->length <= mr->init.length - offset)
			at = (const uint8_t *)(uintptr_t)(mr->init.addr + offset);
	}
	pthread_mutex_unlock(&rnic->lock);
	return at;
}

/* Memory of this process that need not be mapped. */
static bool
copy_from(void *to, const void *from, size_t length)
{
	struct iovec local = {.iov_base = to, .iov_len = length};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = length};

	return length == 0 ||
	       process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)length;
}

/* Results of atomics that have not come, as far as the segment at `from` shows them: what was there before. */
static bool
results_undo(const struct history_qp *record, uint8_t *to, const uint8_t *from, uint32_t length)
{
	bool any = false;

	for (uint32_t i = record->count; i-- > 0;) {
		const struct history_wr *atomic = history_at(record, i);
		const uint8_t *sink = atomic->sink;

		for (uint32_t k = 0; sink != NULL && k < sizeof(atomic->before); k++) {
			if (sink + k < from || sink + k >= from + length)
				continue;
			to[sink + k - from] = atomic->before[k];
			any = true;
		}
	}
	return any;
}

/* Build the request as it would be sent at once. False: the fence makes no difference, or it is too long. */
static bool
sent_early(struct history_qp *record, const struct wrap_obj *pd, const struct ri_wr *wr,
	   struct ri_sge *sge)
{
	uint8_t *room = record->scratch + SCRATCH_ROOM * (record->scratch_next % SCRATCH_COUNT);
	uint32_t length = 0;
	bool any = false;

	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct ri_sge *from = &wr->sgl[i];
		const uint8_t *at = memory_of(record->rnic, pd, from);

		if (at == NULL || from->length > SCRATCH_ROOM - length ||
		    !copy_from(room + length, at, from->length))
			return false;
		any |= results_undo(record, room + length, at, from->length);
		length += from->length;
	}
	record->scratch_next += any;
	*sge = (struct ri_sge){
		.addr = (uint64_t)(uintptr_t)room, .length = length, .stag = record->scratch_stag};
	return any;
}

static void
atomic_note(struct history_wr *note, struct wrap_obj *uqp, const struct ri_wr *wr)
{
	bool atomic = wr->opcode == RI_OP_FETCH_ADD || wr->opcode == RI_OP_CMP_SWAP;

	*note = (struct history_wr){.wr_id = wr->wr_id, .flags = wr->flags, .opcode = wr->opcode};
	if (!atomic || wr->num_sge == 0 || wr->sgl[0].length != sizeof(note->before))
		return;
	note->sink = memory_of(uqp->rnic, uqp->half->pd, &wr->sgl[0]);
	if (note->sink != NULL && !copy_from(note->before, note->sink, sizeof(note->before)))
		note->sink = NULL;
}

static enum ri_status
unfenced_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct wrap_obj *uqp = wrap_of(qp);
	struct ri_wr copy = *wr;
	struct history_wr note;
	struct history_qp *record;
	enum ri_status status;
	struct ri_sge sge;

	history_lock();
	record = history_find(uqp->rnic, uqp->half->ctx);
	atomic_note(&note, uqp, wr);
	if (record != NULL && record->scratch_mr != NULL &&
	    (wr->opcode == RI_OP_SEND || wr->opcode == RI_OP_RDMA_WRITE) &&
	    (wr->flags & RI_WR_READ_FENCE) != 0 && (wr->flags & RI_WR_INLINE) == 0 &&
	    sent_early(record, uqp->half->pd, wr, &sge)) {
		copy.sgl = &sge;
		copy.num_sge = 1;
	}
	status = wrap_plain_fast_ops.post_sq(qp, &copy);
	if (status == RI_SUCCESS && record != NULL)
		history_push(record, &note);
	history_unlock();
	return status;
}

/* Without memory the fence works. */
static void
scratch_make(struct history_qp *record, const struct wrap_obj *pd)
{
	struct ri_mr_init init = {.length = SCRATCH_ROOM * SCRATCH_COUNT,
				  .access = RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE,
				  .key = 0x5c};
	struct ri_mr *mr = NULL;

	record->scratch = aligned_alloc(SCRATCH_ALIGN, init.length);
	if (record->scratch == NULL)
		return;
	memset(record->scratch, 0, init.length);
	init.addr = (uint64_t)(uintptr_t)record->scratch;
	if (wrap_in(pd)->mem.mr_reg(wrap_inner(pd), &init, &mr, &record->scratch_stag) ==
	    RI_SUCCESS)
		record->scratch_mr = mr;
}

static enum ri_status
unfenced_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		   struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
		   struct ri_map *map)
{
	enum ri_status status = history_qp_create(pd, init, send_cq, recv_cq, srq, out, map);
	struct history_qp *record;

	if (status != RI_SUCCESS || init->type != RI_QP_RC)
		return status;
	/* Nobody else knows the queue pair yet. */
	history_lock();
	record = history_find(wrap_rnic_of(pd), init->ctx);
	history_unlock();
	if (record != NULL)
		scratch_make(record, wrap_of(pd));
	return status;
}

static enum ri_status
unfenced_destroy(struct ri_qp *qp)
{
	const struct wrap_tables *in = wrap_in(qp);
	struct history_qp *record;
	void *mr = NULL;
	enum ri_status status = wrap_in(qp)->qp.destroy(wrap_inner(qp));

	if (status != RI_SUCCESS)
		return status;
	history_lock();
	record = history_find(wrap_rnic_of(qp), wrap_of(qp)->ctx);
	if (record != NULL) {
		mr = record->scratch_mr;
		record->scratch_mr = NULL;
	}
	history_unlock();
	if (mr != NULL)
		(void)!in->mem.mr_dereg(mr);
	history_qp_forget(wrap_of(qp));
	wrap_free(wrap_of(qp));
	return status;
}

/* --- the length of an empty Write with immediate data ----------------------------------------------------------- */

static enum defect_act
length_stale(struct wrap_obj *ucq, struct ri_wc *wc)
{
	if (wc->status != RI_WC_SUCCESS || (wc->flags & RI_WC_RECEIVE) == 0)
		return DEFECT_PASS;
	if (wc->opcode == RI_OP_RECV_WRITE && wc->byte_len == 0)
		wc->byte_len = (uint32_t)ucq->last[0];
	else
		ucq->last[0] = wc->byte_len;
	return DEFECT_PASS;
}

/* --- an address handle in the place of another ---------------------------------------------------------------------- */

/* wrap_obj::own of a protection domain: the handle that was destroyed last, which the wrapped adapter still has. */
struct kept {
	void *inner; /* NULL: none */
	uint32_t id;
	bool used; /* a handle has taken its place */
};

/* wrap_obj::last of a handle. */
enum path_word {
	PATH_ID,
	PATH_OLD /* the id whose path the first datagram takes, and 1; 0: its own */
};

/* Give the handle back that a domain keeps. */
static void
kept_drop(struct wrap_obj *pd)
{
	struct wrap_rnic *rnic = pd->rnic;
	struct kept *kept = pd->own;

	if (kept == NULL || kept->inner == NULL)
		return;
	pthread_mutex_lock(&rnic->lock);
	for (struct wrap_obj *o = rnic->objects.next; o != &rnic->objects; o = o->next)
		if (o->kind == WRAP_AH && o->pd == pd)
			o->last[PATH_OLD] = 0;
	pthread_mutex_unlock(&rnic->lock);
	(void)!wrap_in(pd)->ah.destroy(kept->inner);
	kept->inner = NULL;
}

static enum ri_status
path_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	struct kept *kept = wrap_of(pd)->own;
	enum ri_status status = wrap_plain_ah_ops.create(pd, init, out, id);

	if (status == RI_ERR_RESOURCES && kept != NULL && kept->inner != NULL) {
		kept_drop(wrap_of(pd));
		status = wrap_plain_ah_ops.create(pd, init, out, id);
	}
	if (status != RI_SUCCESS)
		return status;
	wrap_of(*out)->last[PATH_ID] = *id;
	if (kept != NULL && kept->inner != NULL && !kept->used) {
		kept->used = true;
		wrap_of(*out)->last[PATH_OLD] = (uint64_t)kept->id + 1;
	}
	return status;
}

static enum ri_status
path_destroy(struct ri_ah *ah)
{
	struct wrap_obj *obj = wrap_of(ah);
	struct wrap_obj *pd = obj->pd;
	struct kept *kept;

	if (pd->own == NULL)
		pd->own = calloc(1, sizeof(*kept));
	kept = pd->own;
	if (kept == NULL)
		return wrap_plain_ah_ops.destroy(ah);
	kept_drop(pd);
	*kept = (struct kept){.inner = obj->inner, .id = (uint32_t)obj->last[PATH_ID]};
	wrap_free(obj);
	return RI_SUCCESS;
}

static enum ri_status
path_pd_destroy(struct ri_pd *pd)
{
	kept_drop(wrap_of(pd));
	return wrap_plain_pd_ops.destroy(pd);
}

static bool
path_old(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct wrap_rnic *rnic = uqp->rnic;

	if (wr->wr.opcode != RI_OP_SEND_UD)
		return true;
	pthread_mutex_lock(&rnic->lock);
	for (struct wrap_obj *o = rnic->objects.next; o != &rnic->objects; o = o->next) {
		if (o->kind != WRAP_AH || o->pd != uqp->half->pd || o->last[PATH_OLD] == 0 ||
		    o->last[PATH_ID] != wr->wr.u.ud.ah)
			continue;
		wr->wr.u.ud.ah = (uint32_t)(o->last[PATH_OLD] - 1);
		o->last[PATH_OLD] = 0;
		break;
	}
	pthread_mutex_unlock(&rnic->lock);
	return true;
}

/* --- the Q_Key of before ------------------------------------------------------------------------------------------------ */

/* wrap_obj::last of a queue pair for datagrams; wrap_obj::count[0] is its number. */
enum qkey_word {
	QKEY_NOW,
	QKEY_BEFORE /* and bit 32; 0: there was none */
};

static enum ri_status
qkey_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
	       struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	enum ri_status status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	struct ri_qp_attr attr = {0};

	if (status != RI_SUCCESS || init->type != RI_QP_UD)
		return status;
	wrap_of(*out)->last[QKEY_NOW] = init->qkey;
	if (wrap_plain_qp_ops.query(*out, &attr) == RI_SUCCESS)
		atomic_store(&wrap_of(*out)->count[0], attr.qpn);
	return status;
}

static enum ri_status
qkey_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct wrap_obj *obj = wrap_of(qp);
	enum ri_status status = wrap_plain_qp_ops.modify(qp, attr, mask);

	if (status != RI_SUCCESS || (mask & RI_QP_ATTR_QKEY) == 0)
		return status;
	pthread_mutex_lock(&obj->rnic->lock);
	if (obj->last[QKEY_NOW] != attr->qkey)
		obj->last[QKEY_BEFORE] = obj->last[QKEY_NOW] | 1ull << 32;
	obj->last[QKEY_NOW] = attr->qkey;
	pthread_mutex_unlock(&obj->rnic->lock);
	return status;
}

/* The receiver still takes the Q_Key of before: its sender names the new one. */
static bool
qkey_before(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct wrap_rnic *rnic = uqp->rnic;
	struct ri_wr_ud *ud = &wr->wr.u.ud;

	if (wr->wr.opcode != RI_OP_SEND_UD)
		return true;
	pthread_mutex_lock(&rnic->lock);
	for (struct wrap_obj *o = rnic->objects.next; o != &rnic->objects; o = o->next) {
		if (o->kind != WRAP_QP || o->qp.type != RI_QP_UD || o->count[0] != ud->qpn ||
		    o->last[QKEY_BEFORE] != ((uint64_t)ud->qkey | 1ull << 32))
			continue;
		ud->qkey = (uint32_t)o->last[QKEY_NOW];
		break;
	}
	pthread_mutex_unlock(&rnic->lock);
	return true;
}

/* --- connections ------------------------------------------------------------------------------------------------------------ */

/* wrap_obj::own of a queue pair. */
struct said {
	uint16_t length;
	uint8_t octets[RI_PDATA_MAX];
};

/* The second attempt of a queue pair sends the private data of the first. */
static enum ri_status
said_again_connect(struct ri_qp *qp, const struct ri_cm_params *params)
{
	struct wrap_obj *obj = wrap_of(qp);
	uint16_t limit = obj->rnic->attr.connect_pdata;
	struct ri_cm_params copy = *params;
	struct said *said = obj->own;

	if (params->pdata_len > limit || limit > sizeof(said->octets))
		return wrap_plain_cm_ops.connect(qp, params);
	if (said != NULL) {
		copy.pdata = said->octets;
		copy.pdata_len = said->length;
	} else if (params->pdata_len > 0 && (said = calloc(1, sizeof(*said))) != NULL) {
		said->length = params->pdata_len;
		memcpy(said->octets, params->pdata, params->pdata_len);
		obj->own = said;
	}
	return wrap_plain_cm_ops.connect(qp, &copy);
}

/* wrap_obj::count[0] of a listener: requests that were given up. */
static enum ri_status
backlog_listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	       uint32_t backlog, struct ri_listen **out)
{
	enum ri_status status = wrap_plain_cm_ops.listen(context, ctx, port, service, backlog, out);

	if (status == RI_SUCCESS)
		wrap_of(*out)->entries = backlog;
	return status;
}

/* A request that the peer gave up keeps its place; without one left a request is dropped. */
static bool
backlog_leaks(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	struct wrap_obj *listener;

	if (event->kind != RI_CM_REQUEST && event->kind != RI_CM_REQUEST_GONE)
		return true;
	listener = wrap_find(rnic, WRAP_LISTEN, event->ctx);
	if (listener == NULL || listener->entries == 0)
		return true;
	if (event->kind == RI_CM_REQUEST)
		return listener->count[0] < listener->entries;
	if (wrap_find_inner(rnic, WRAP_REQUEST, event->request) != NULL)
		listener->count[0]++;
	return true;
}

/* --- the rows ----------------------------------------------------------------------------------- */

const struct defect defects_history_objects[] = {
	DEFECT("fw26b-rereg-rights-stay", "a registration anew takes no right away",
	       "A region that is registered anew with the same range keeps the rights that it had "
	       "before.",
	       NEED_REREGISTER,
	       ENTRIES(.mem.mr_rereg = rights_kept_rereg, .mem.mr_query = rights_kept_query)),
	DEFECT("fw26b-rebind-range-stays", "a window does not shrink",
	       "A window that is bound again to a part of its last range opens the whole of that "
	       "range.",
	       NEED_NARROW, .wr = range_kept, ENTRIES(.mem.mw_query = range_kept_query)),
	DEFECT("fw26b-remote-inv-holds-region", "a region counts an invalidated window",
	       "A window that the peer has invalidated counts as bound at its region until it is "
	       "freed or bound again.",
	       NEED_INVALIDATE | NEED_NARROW, .wr = held_bind, .wc = held_invalidated,
	       ENTRIES(.mem.mw_free = held_free, .mem.mr_dereg = held_dereg,
		       .mem.mr_rereg = held_rereg, .mem.mr_query = held_query)),
	DEFECT("fw26b-inv-unsolicited", "a Send that invalidates is not solicited",
	       "RI_WR_SOLICITED of a Send with RI_WR_INVALIDATE is lost.", NEED_INVALIDATE,
	       .wr = invalidate_unsolicited),
	DEFECT("fw26b-fence-passes-atomic", "a fence does not wait for atomics",
	       "A Send or Write with RI_WR_READ_FENCE behind an atomic sends what the result's "
	       "place had before.",
	       NEED_ATOMICS, .wc = history_follow, .end = history_end,
	       ENTRIES(.qp.create = unfenced_qp_create, .qp.modify = history_qp_modify,
		       .qp.destroy = unfenced_destroy, .fast.post_sq = unfenced_post)),
	DEFECT("fw26b-imm-empty-write-length", "the length of an empty Write",
	       "The immediate data of a Write of no octets completes with the length of the "
	       "message before it.",
	       NEED_IMMEDIATE_WRITE, .wc = length_stale),
	DEFECT("fw26b-ah-slot-old-path", "a new address handle has an old path",
	       "The first datagram of an address handle that takes the place of a destroyed one "
	       "goes the way of that one.",
	       NEED_UD, .wr = path_old,
	       ENTRIES(.ah.create = path_create, .ah.destroy = path_destroy,
		       .pd.destroy = path_pd_destroy)),
	DEFECT("fw26b-qkey-before-accepted", "an old Q_Key is accepted",
	       "After a Q_Key was modified, datagrams with the one before it still arrive.",
	       NEED_UD, .wr = qkey_before,
	       ENTRIES(.qp.create = qkey_qp_create, .qp.modify = qkey_modify)),
	DEFECT("fw26b-connect-again-old-pdata", "a second attempt says the same",
	       "A queue pair that connects again sends the private data of its first attempt.",
	       NEED_ADDRESS | NEED_REUSE, ENTRIES(.cm.connect = said_again_connect)),
	DEFECT("fw26b-backlog-leaks-gone", "a listener grows deaf",
	       "Requests that were given up keep their place in the backlog; when it is full, "
	       "requests are dropped.",
	       NEED_ADDRESS, .cm = backlog_leaks, ENTRIES(.cm.listen = backlog_listen)),
};

const size_t defects_history_objects_count =
	sizeof(defects_history_objects) / sizeof(defects_history_objects[0]);
