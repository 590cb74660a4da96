/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Defects of firmware that show only beyond ordinary use: with values of more than 32 bits, at the
 * second use of a slot, an arming or a key, behind the last octet, after 65,536 uses, after a
 * refusal or a destruction, with changes that are made in part, and with combinations of flags.
 */
#include <stdlib.h>
#include <string.h>

#include "defect.h"

/* --- 32 bits ------------------------------------------------------------------------------------- */

/* The offset of a segment in its region has 32 bits. */
static bool
segment_folded(struct wrap_obj *uqp, struct defect_wr *wr)
{
	for (unsigned i = 0; i < wr->wr.num_sge; i++) {
		struct ri_sge *sge = &wr->sgl[i];
		struct wrap_obj *mr = sge->length > 0 ? wrap_region_of(uqp->rnic, sge->stag) : NULL;
		uint64_t base;

		if (mr == NULL || mr->init.zero_based || mr->init.iova_given)
			continue;
		base = mr->init.addr;
		if ((uint32_t)(sge->addr - base) < mr->init.length)
			sge->addr = base + (uint32_t)(sge->addr - base);
	}
	return true;
}

static bool
bind_cut(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (wr->wr.opcode == RI_OP_BIND_MW)
		wr->wr.u.bind.length &= UINT32_MAX;
	return true;
}

static enum ri_status
length_cut_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;

	if ((uint32_t)init->length != 0)
		other.length = (uint32_t)init->length;
	return wrap_plain_mem_ops.mr_reg(pd, &other, out, stag);
}

static enum ri_status
file_offset_cut_reg(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
		    struct ri_mr **out, uint32_t *stag)
{
	struct ri_dmabuf other = *from;

	other.offset &= UINT32_MAX;
	return wrap_plain_mem_ops.mr_reg_dmabuf(pd, init, &other, out, stag);
}

/* --- slots ------------------------------------------------------------------------------------------ */

/* What the last user of each slot of a send queue had: wrap_obj::own of its user half; the count is the next slot. */
struct slots {
	uint32_t next, size;
	uint32_t flags[];
};

static struct slots *
slots_of(struct wrap_obj *uqp)
{
	uint32_t size =
		uqp->half != NULL && uqp->half->qp.max_sq_wr > 0 ? uqp->half->qp.max_sq_wr : 1;
	struct slots *slots = uqp->own;

	if (slots == NULL) {
		slots = uqp->own = calloc(1, sizeof(*slots) + size * sizeof(slots->flags[0]));
		if (slots != NULL)
			slots->size = size;
	}
	return slots;
}

/* The flags of a request are put into its slot beside those that are there. */
static bool
slot_solicited(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct slots *slots = slots_of(uqp);
	uint32_t *last;

	if (slots == NULL)
		return true;
	last = &slots->flags[slots->next++ % slots->size];
	if (wr->wr.opcode == RI_OP_SEND)
		wr->wr.flags |= *last & RI_WR_SOLICITED;
	*last = wr->wr.flags;
	return true;
}

/* --- behind the last octet ------------------------------------------------------------------------------ */

#define AWAITED 256u

/* Segments of receives that are posted: wrap_obj::own of the user half of a queue pair. */
struct awaited {
	uint32_t posted, done;
	struct ri_sge first[AWAITED];
	uint32_t length[AWAITED]; /* of the last message of each slot */
};

static enum ri_status
pad_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	struct wrap_obj *uqp = wrap_of(qp);
	enum ri_status status = wrap_plain_fast_ops.post_rq(qp, wr);
	struct awaited *awaited = uqp->own;

	if (awaited == NULL)
		awaited = uqp->own = calloc(1, sizeof(*awaited));
	if (status == RI_SUCCESS && awaited != NULL)
		awaited->first[awaited->posted++ % AWAITED] =
			wr->num_sge == 1 ? wr->sgl[0] : (struct ri_sge){0};
	return status;
}

/* A message that is shorter than the last one of its slot is written in whole words. */
static enum defect_act
pad_behind(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);
	struct awaited *awaited = qp != NULL && qp->half != NULL ? qp->half->own : NULL;
	uint32_t before, *length;
	struct ri_sge sge;
	struct wrap_obj *mr;

	if (awaited == NULL || (wc->flags & RI_WC_RECEIVE) == 0 || qp->qp.max_rq_wr == 0)
		return DEFECT_PASS;
	length = &awaited->length[awaited->done % qp->qp.max_rq_wr % AWAITED];
	sge = awaited->first[awaited->done++ % AWAITED];
	mr = wrap_region_of(ucq->rnic, sge.stag);
	before = *length;
	*length = defect_received(wc) ? wc->byte_len : 0;
	if (wc->byte_len >= before || !defect_received(wc) || wc->byte_len % 4 == 0 || mr == NULL ||
	    mr->init.iova_given || mr->init.zero_based || sge.length < wc->byte_len + 3)
		return DEFECT_PASS;
	memset((uint8_t *)(uintptr_t)sge.addr + wc->byte_len, 0, 4 - wc->byte_len % 4);
	return DEFECT_PASS;
}

/* A Read up to the end of a region that is no number of lines writes whole lines of its sink. */
static bool
line_note(struct wrap_obj *uqp, struct defect_wr *wr)
{
	const struct ri_sge *sge = &wr->sgl[0];
	struct wrap_obj *mr;

	if (wr->wr.opcode != RI_OP_RDMA_READ || wr->wr.num_sge != 1 ||
	    (wr->wr.flags & RI_WR_SIGNALED) == 0)
		return true;
	mr = wrap_region_of(uqp->rnic, sge->stag);
	if (mr != NULL && mr->init.length % 16 != 0 &&
	    sge->addr + sge->length == mr->init.addr + mr->init.length) {
		uqp->last[0] = wr->wr.wr_id;
		uqp->last[1] = sge->addr + sge->length;
	}
	return true;
}

static enum defect_act
line_whole(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);
	struct wrap_obj *uqp = qp != NULL ? qp->half : NULL;
	uint8_t *end;

	if (uqp == NULL || wc->opcode != RI_OP_RDMA_READ || uqp->last[1] == 0 ||
	    uqp->last[0] != wc->wr_id || wc->status != RI_WC_SUCCESS)
		return DEFECT_PASS;
	end = (uint8_t *)(uintptr_t)uqp->last[1];
	uqp->last[1] = 0;
	if (((uintptr_t)end & 15) != 0) /* within what an allocation of the C library has */
		memset(end, 0, 16 - ((uintptr_t)end & 15));
	return DEFECT_PASS;
}

/* --- 65,536 uses -------------------------------------------------------------------------------------- */

#define USES_16 65536u

/* The completion of a receive that is as many uses old comes once more in the place of the new one. */
static enum defect_act
index_wraps(struct wrap_obj *ucq, struct ri_wc *wc)
{
	if (!defect_received(wc))
		return DEFECT_PASS;
	if (atomic_fetch_add(&ucq->count[0], 1) == USES_16)
		wc->wr_id = ucq->last[0];
	else if (atomic_load(&ucq->count[0]) == 1)
		ucq->last[0] = wc->wr_id;
	return DEFECT_PASS;
}

/* --- the second time -------------------------------------------------------------------------------------- */

/* An arming for solicited completions stays when the queue is armed for any. */
static enum ri_status
arm_weak_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	struct wrap_obj *ucq = wrap_of(cq);
	bool pending = ucq->last[0] == RI_ARM_SOLICITED && how == RI_ARM_NEXT &&
		       wrap_plain_fast_ops.cq_depth(cq) == 0;
	enum ri_status status =
		wrap_plain_fast_ops.arm_cq(cq, pending ? RI_ARM_SOLICITED : how, count);

	ucq->last[0] = status == RI_SUCCESS ? (uint64_t)how : RI_ARM_NONE;
	return status;
}

static unsigned
arm_weak_told(struct wrap_rnic *rnic, uint64_t ctx)
{
	struct wrap_obj *cq = wrap_find(rnic, WRAP_CQ, ctx);

	if (cq != NULL && cq->half != NULL)
		cq->half->last[0] = RI_ARM_NONE;
	return 1;
}

/* A limit that is set already is not written again, though it was turned off when it fired. */
static enum ri_status
limit_once_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	struct wrap_obj *obj = wrap_of(srq);

	if (!resize && attr->limit > 0 && attr->limit == obj->last[0])
		attr->limit = RI_SRQ_LIMIT_KEEP;
	else if (attr->limit != RI_SRQ_LIMIT_KEEP)
		obj->last[0] = attr->limit;
	return wrap_plain_srq_ops.modify(srq, attr, resize, map);
}

/* --- keys that were used ------------------------------------------------------------------------------------ */

#define CACHED 3u

static bool
key_cached_use(struct wrap_obj *uqp, struct defect_wr *wr)
{
	for (unsigned i = 0; i < wr->wr.num_sge; i++) {
		struct wrap_obj *mr =
			wr->sgl[i].length > 0 ? wrap_region_of(uqp->rnic, wr->sgl[i].stag) : NULL;

		if (mr != NULL)
			(void)atomic_fetch_add(&mr->count[0], 1);
	}
	return true;
}

/* A key that was used often stays in a cache: the region is taken away from it with its context alone. */
static enum ri_status
key_cached_dereg(struct ri_mr *mr)
{
	struct wrap_obj *obj = wrap_of(mr);

	if (atomic_load(&obj->count[0]) < CACHED)
		return wrap_plain_mem_ops.mr_dereg(mr);
	wrap_free(obj);
	return RI_SUCCESS;
}

/* --- what is gone, and what is refused -------------------------------------------------------------------------- */

static enum defect_act
completions_vanish(struct wrap_obj *ucq, struct ri_wc *wc)
{
	return defect_qp(ucq, wc) == NULL ? DEFECT_LOSE : DEFECT_PASS;
}

#define LOST_ROOM 40 /* bytes */

/* Lost for good; the compiler may not notice that nobody uses it. */
static void
lose(void)
{
	void *volatile lost = malloc(LOST_ROOM);

	(void)lost;
}

static enum ri_status
refused_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	enum ri_status status = wrap_plain_mem_ops.mr_reg(pd, init, out, stag);

	if (status == RI_ERR_ADDRESS)
		lose();
	return status;
}

/* --- what is lent for a call ---------------------------------------------------------------------------------------- */

/* A receive that is not posted yet: wrap_obj::own of the user half of a queue pair. The list is the caller's. */
struct borrowed {
	struct ri_recv_wr wr;
	bool there;
};

static void
borrowed_post(struct ri_uqp *qp)
{
	struct borrowed *borrowed = wrap_of(qp)->own;

	if (borrowed == NULL || !borrowed->there)
		return;
	borrowed->there = false;
	(void)!wrap_plain_fast_ops.post_rq(qp, &borrowed->wr);
}

/* The first receive of a queue pair is looked at with the next one or the next request. */
static enum ri_status
borrowed_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	struct wrap_obj *uqp = wrap_of(qp);
	struct borrowed *borrowed = uqp->own;

	borrowed_post(qp);
	if (borrowed != NULL || wr->num_sge == 0)
		return wrap_plain_fast_ops.post_rq(qp, wr);
	borrowed = uqp->own = calloc(1, sizeof(*borrowed));
	if (borrowed == NULL)
		return wrap_plain_fast_ops.post_rq(qp, wr);
	borrowed->wr = *wr;
	borrowed->there = true;
	return RI_SUCCESS;
}

static void
borrowed_all(struct wrap_rnic *rnic)
{
	pthread_mutex_lock(&rnic->lock);
	for (struct wrap_obj *o = rnic->objects.next; o != &rnic->objects; o = o->next) {
		if (o->kind == WRAP_UQP)
			borrowed_post((struct ri_uqp *)o);
	}
	pthread_mutex_unlock(&rnic->lock);
}

static uint32_t
borrowed_progress(struct ri_urnic *urnic, uint32_t budget)
{
	borrowed_all(wrap_rnic_of(urnic));
	return wrap_plain_fast_ops.progress(urnic, budget);
}

static uint32_t
borrowed_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	borrowed_all(wrap_rnic_of(cq));
	return wrap_plain_fast_ops.poll_cq(cq, wc, n);
}

/* --- changes in part --------------------------------------------------------------------------- */

/* What can be changed is changed, though something else in the same call is refused. */
static enum ri_status
modify_half_qp(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status = wrap_plain_qp_ops.modify(qp, attr, mask);

	if (status == RI_SUCCESS)
		return status;
	for (uint32_t bit = RI_QP_ATTR_ACCESS; bit <= RI_QP_ATTR_ORD; bit <<= 1) {
		if ((mask & bit) != 0)
			(void)wrap_plain_qp_ops.modify(qp, attr, bit);
	}
	return status;
}

static enum ri_status
domain_kept_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	struct ri_pd *before = (struct ri_pd *)wrap_of(mr)->pd;

	return wrap_plain_mem_ops.mr_rereg(mr, init->keep_stag ? before : pd, init, stag);
}

/* wrap_obj::last[0]: the queue was resized. */
static enum ri_status
resized_remap(struct ri_ucq *cq, const struct ri_map *map)
{
	wrap_of(cq)->last[0] = 1;
	return wrap_plain_user_ops.cq_remap(cq, map);
}

static enum ri_status
resized_arm(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	enum ri_status status = wrap_plain_fast_ops.arm_cq(cq, how, count);
	struct wrap_obj *ucq = wrap_of(cq);

	if (how != RI_ARM_SOLICITED || status != RI_ERR_NOT_EMPTY || ucq->last[0] == 0)
		return status;
	ucq->last[0] = 0;
	return RI_SUCCESS;
}

/* wrap_obj::last[0]: the limit that was set last, fired or not. */
static enum ri_status
resized_limit_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	struct wrap_obj *obj = wrap_of(srq);

	if (attr->limit != RI_SRQ_LIMIT_KEEP)
		obj->last[0] = attr->limit;
	else if (resize && obj->last[0] <= attr->max_wr)
		attr->limit = (uint32_t)obj->last[0];
	return wrap_plain_srq_ops.modify(srq, attr, resize, map);
}

/* --- values and flags beside others ---------------------------------------------------------------- */

static enum defect_act
length_24(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->byte_len &= 0xffffff;
	return DEFECT_PASS;
}

static enum defect_act
invalidate_unsolicited(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (defect_received(wc) && (wc->flags & RI_WC_INVALIDATED) != 0)
		wc->flags &= (uint8_t)~RI_WC_SOLICITED;
	return DEFECT_PASS;
}

/* A window without the right to write loses its right to atomics, as if that were part of the right to write. */
static bool
window_atomics(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr_bind *bind = &wr->wr.u.bind;

	(void)uqp;
	if (wr->wr.opcode == RI_OP_BIND_MW && (bind->access & RI_ACCESS_REMOTE_WRITE) == 0)
		bind->access &= ~(uint32_t)RI_ACCESS_REMOTE_ATOMIC;
	return true;
}

/* --- the rows --------------------------------------------------------------------------------------------------------- */

const struct defect defects_firmware[] = {
	DEFECT("segment-32-bits", "offsets of segments in 32 bits",
	       "A segment a multiple of 2^32 octets beyond its region is in it.", 0,
	       .wr = segment_folded),
	DEFECT("bind-32-bits", "lengths of windows in 32 bits",
	       "The high half of the length of a bind is ignored.", NEED_NARROW, .wr = bind_cut),
	DEFECT("register-32-bits", "lengths of regions in 32 bits",
	       "The high half of the length of a registration is ignored, unless the low one is 0.",
	       0, ENTRIES(.mem.mr_reg = length_cut_reg)),
	DEFECT("dmabuf-32-bits", "offsets in a dmabuf in 32 bits",
	       "The high half of the offset of a region in its dmabuf is ignored.", NEED_DMABUF,
	       ENTRIES(.mem.mr_reg_dmabuf = file_offset_cut_reg)),
	DEFECT("slot-solicited", "a slot keeps a flag of its last user",
	       "A Send in a slot whose last request was solicited is solicited.", 0,
	       .wr = slot_solicited),
	DEFECT("pad-behind", "octets behind a short message",
	       "A message that is shorter than the last one of its slot is placed in whole words.",
	       0, ENTRIES(.fast.post_rq = pad_post_rq), .wc = pad_behind),
	DEFECT("line-whole", "octets behind the sink of a Read",
	       "A Read up to the end of a region of no whole lines is placed in lines of 16 "
	       "octets.",
	       0, .wr = line_note, .wc = line_whole),
	DEFECT("index-16-bits", "an index of 16 bits",
	       "The 65,537th completion of a receive carries the number of the first.", 0,
	       .wc = index_wraps),
	DEFECT("arm-weak", "an arming is not replaced",
	       "Armed for solicited completions and then for any, a queue waits for a solicited "
	       "one.",
	       0, ENTRIES(.fast.arm_cq = arm_weak_cq), .cq_event = arm_weak_told),
	DEFECT("srq-limit-once", "a watermark fires once",
	       "A low watermark that has fired and is set to the same value does not fire again.",
	       NEED_SRQ, ENTRIES(.srq.modify = limit_once_modify)),
	DEFECT("key-cached", "a key stays in a cache",
	       "A region whose key was used three times is not taken away.", 0,
	       .wr = key_cached_use, ENTRIES(.mem.mr_dereg = key_cached_dereg)),
	DEFECT("completions-vanish", "completions go with their queue pair",
	       "Completions of a queue pair that is destroyed are not reported.", 0,
	       .wc = completions_vanish),
	DEFECT("refused-leaks", "a refused registration keeps memory",
	       "Each registration of memory that is not mapped loses 40 bytes.", 0,
	       ENTRIES(.mem.mr_reg = refused_reg)),
	DEFECT("receive-borrowed", "a receive is looked at too late",
	       "The segments of the first receive of a queue pair are looked at after its post.", 0,
	       ENTRIES(.fast.post_rq = borrowed_post_rq, .fast.progress = borrowed_progress,
		       .fast.poll_cq = borrowed_poll)),
	DEFECT("modify-others", "a refused modify changes something",
	       "A modify that is refused for one attribute has changed the others.", 0,
	       ENTRIES(.qp.modify = modify_half_qp)),
	DEFECT("reregister-keeps-domain", "a kept STag keeps its domain",
	       "A reregistration that keeps the STag leaves the region in its protection domain.",
	       NEED_REREGISTER, ENTRIES(.mem.mr_rereg = domain_kept_rereg)),
	DEFECT("resize-forgets", "a resize forgets what is solicited",
	       "A resized completion queue is armed though a solicited completion is present.",
	       NEED_RESIZE, ENTRIES(.user.cq_remap = resized_remap, .fast.arm_cq = resized_arm)),
	DEFECT("resize-arms", "a resize arms a watermark",
	       "A resize of a shared queue sets the low watermark again that has fired.", NEED_SRQ,
	       ENTRIES(.srq.modify = resized_limit_modify)),
	DEFECT("length-24-bits", "lengths of 24 bits",
	       "The length of a completion lacks its high octet.", 0, .wc = length_24),
	DEFECT("invalidate-unsolicited", "invalidation is not solicited",
	       "A solicited Send that invalidates a key completes as one that is not solicited.",
	       NEED_INVALIDATE, .wc = invalidate_unsolicited),
	DEFECT("window-atomics", "a window has less than it was bound with",
	       "The right to atomics of a window is lost unless it has the right to write, too.",
	       NEED_NARROW | NEED_ATOMICS, .wr = window_atomics),
};

const size_t defects_firmware_count = sizeof(defects_firmware) / sizeof(defects_firmware[0]);
