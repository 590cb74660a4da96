/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Fast registration, I/O addresses, and the watermarks of shared receive queues and their members. */
#include "defect.h"

/* --- fast registration ------------------------------------------------------------------------- */

static struct ri_wr_fast_reg *
registration_of(struct defect_wr *wr)
{
	return wr->wr.opcode == RI_OP_FAST_REG ? &wr->wr.u.fast_reg : NULL;
}

/* The request is read before the call returns. */
static bool
register_order(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr_fast_reg *reg = registration_of(wr);

	(void)uqp;
	if (reg == NULL || reg->num_pages > DEFECT_PAGES || reg->lengths != NULL)
		return true;
	for (uint32_t i = 0; i < reg->num_pages; i++)
		wr->pages[i] = reg->pages[reg->num_pages - 1 - i];
	reg->pages = wr->pages;
	return true;
}

static bool
register_first(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr_fast_reg *reg = registration_of(wr);

	(void)uqp;
	if (reg != NULL)
		reg->fbo = 0;
	return true;
}

/* The addresses of an absolute region do not count any more. */
static bool
register_relative(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (registration_of(wr) != NULL)
		wr->wr.flags |= RI_WR_BIND_RELATIVE;
	return true;
}

static bool
register_rights(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr_fast_reg *reg = registration_of(wr);

	(void)uqp;
	if (reg != NULL)
		reg->access |=
			RI_ACCESS_LOCAL_WRITE | RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE;
	return true;
}

static bool
register_ignored(struct wrap_obj *uqp, struct defect_wr *wr)
{
	if (registration_of(wr) != NULL)
		(void)defect_defer(uqp, wr, DEFECT_NEVER);
	return true;
}

static bool
region_stays(struct wrap_obj *uqp, struct defect_wr *wr)
{
	if (wr->wr.opcode == RI_OP_INV_MR)
		(void)defect_defer(uqp, wr, DEFECT_NEVER);
	return true;
}

/* STag 0 names all memory; the segment becomes shorter, so that no other memory is written. */
static bool
direct_shifted(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	for (unsigned i = 0; i < wr->wr.num_sge && i < DEFECT_SGE; i++) {
		if (wr->sgl[i].stag == 0 && wr->sgl[i].length > 0) {
			wr->sgl[i].addr++;
			wr->sgl[i].length--;
		}
	}
	return true;
}

/* --- watermarks -------------------------------------------------------------------------------- */

static enum ri_status
early_srq(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	struct ri_srq_attr other = *attr;
	struct ri_srq_attr now;

	if (attr->limit == RI_SRQ_LIMIT_KEEP || attr->limit == 0 ||
	    wrap_plain_srq_ops.query(srq, &now) != RI_SUCCESS || attr->limit >= now.max_wr)
		return wrap_plain_srq_ops.modify(srq, attr, resize, map);
	other.limit++;
	return wrap_plain_srq_ops.modify(srq, &other, resize, map);
}

static enum ri_status
late_srq(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	struct ri_srq_attr other = *attr;

	if (attr->limit != RI_SRQ_LIMIT_KEEP && attr->limit > 1)
		other.limit--;
	return wrap_plain_srq_ops.modify(srq, &other, resize, map);
}

/* The limits of a queue pair, as they are set, and as they are given at creation. */
static void
limits_change(struct wrap_rnic *rnic,
	      enum ri_status (*modify)(struct ri_qp *, const struct ri_qp_attr *, uint32_t),
	      enum ri_status (*create)(struct ri_pd *, struct ri_qp_init *, struct ri_cq *,
				       struct ri_cq *, struct ri_srq *, struct ri_qp **,
				       struct ri_map *))
{
	rnic->ops.qp.modify = modify;
	rnic->ops.qp.create = create;
}

static enum ri_status
soft_more_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct ri_qp_attr other = *attr;

	other.soft_limit += other.soft_limit != 0;
	return wrap_plain_qp_ops.modify(qp, &other, mask);
}

static enum ri_status
soft_more_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		    struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
		    struct ri_map *map)
{
	uint32_t asked = init->soft_limit;
	enum ri_status status;

	init->soft_limit += init->soft_limit != 0;
	status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	init->soft_limit = asked;
	return status;
}

static void
soft_limit_late(struct wrap_rnic *rnic)
{
	limits_change(rnic, soft_more_modify, soft_more_qp_create);
}

static enum ri_status
hard_off_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct ri_qp_attr other = *attr;

	other.hard_limit = UINT32_MAX;
	return wrap_plain_qp_ops.modify(qp, &other, mask);
}

static enum ri_status
hard_off_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		   struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
		   struct ri_map *map)
{
	uint32_t asked = init->hard_limit;
	enum ri_status status;

	init->hard_limit = UINT32_MAX;
	status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	init->hard_limit = asked;
	return status;
}

static void
hard_limit_ignored(struct wrap_rnic *rnic)
{
	limits_change(rnic, hard_off_modify, hard_off_qp_create);
}

static uint32_t
one_less(uint32_t limit)
{
	return limit != UINT32_MAX && limit > 1 ? limit - 1 : limit;
}

static enum ri_status
hard_less_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct ri_qp_attr other = *attr;

	other.hard_limit = one_less(other.hard_limit);
	return wrap_plain_qp_ops.modify(qp, &other, mask);
}

static enum ri_status
hard_less_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		    struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
		    struct ri_map *map)
{
	uint32_t asked = init->hard_limit;
	enum ri_status status;

	init->hard_limit = one_less(init->hard_limit);
	status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	init->hard_limit = asked;
	return status;
}

static void
hard_limit_early(struct wrap_rnic *rnic)
{
	limits_change(rnic, hard_less_modify, hard_less_qp_create);
}

const struct defect defects_privileged[] = {
	DEFECT("register-order", "a fast registration takes the pages from behind",
	       "The pages of a list are in reverse order.", NEED_PRIVILEGED, .wr = register_order),
	DEFECT("register-first", "a fast registration begins with the first page",
	       "The offset of the region in its first page is taken as 0.", NEED_PRIVILEGED,
	       .wr = register_first),
	DEFECT("register-relative", "a fast registration forgets the address",
	       "The region is addressed from 0 on in every case.", NEED_PRIVILEGED | NEED_RELATIVE,
	       .wr = register_relative),
	DEFECT("register-rights", "a fast registration gives more rights",
	       "Local and remote access is granted whatever was asked for.", NEED_PRIVILEGED,
	       .wr = register_rights),
	DEFECT("register-ignored", "a fast registration is not done",
	       "RI_OP_FAST_REG completes without an effect.", NEED_PRIVILEGED,
	       .wr = register_ignored, .wc = defect_deferred),
	DEFECT("region-stays", "a region keeps its memory",
	       "RI_OP_INV_MR completes without an effect.", NEED_PRIVILEGED, .wr = region_stays,
	       .wc = defect_deferred),
	DEFECT("direct-shifted", "I/O addresses are one too high",
	       "The first octet of a segment with STag 0 is left out.", NEED_PRIVILEGED,
	       .wr = direct_shifted),
	DEFECT("srq-limit-early", "the low watermark is reported too early",
	       "The limit of a shared receive queue is one more than was set.", NEED_SRQ,
	       ENTRIES(.srq.modify = early_srq)),
	DEFECT("srq-limit-late", "the low watermark is reported too late",
	       "The limit of a shared receive queue is one less than was set.", NEED_SRQ,
	       ENTRIES(.srq.modify = late_srq)),
	DEFECT("soft-limit-late", "the soft high watermark is reported too late",
	       "The soft limit of a queue pair is one more than was set.", NEED_SOFT_LIMIT,
	       .apply = soft_limit_late),
	DEFECT("hard-limit-ignored", "the hard high watermark is ignored",
	       "A queue pair takes as many receives as it likes.", NEED_SRQ,
	       .apply = hard_limit_ignored),
	DEFECT("hard-limit-early", "the hard high watermark is too low",
	       "The hard limit of a queue pair is one less than was set.", NEED_SRQ,
	       .apply = hard_limit_early),
};

const size_t defects_privileged_count = sizeof(defects_privileged) / sizeof(defects_privileged[0]);
