/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Stand-ins: one request at a time of each queue pair is done later than its completion says, or never. */
#include <stdlib.h>
#include <string.h>

#include "defect.h"

/* wrap_obj::own of a user half of a queue pair. */
struct standin {
	struct defect_wr wr; /* the request itself */
	uint32_t bytes;
	enum defect_begin begin;
	atomic_bool open; /* its completion has not been polled */
	atomic_bool due;  /* it has, and the request is posted before the next one */
};

static void
post_itself(struct wrap_obj *uqp, struct standin *in)
{
	(void)!wrap_plain_fast_ops.post_sq((struct ri_uqp *)uqp, &in->wr.wr);
}

void
defect_defer_due(struct wrap_obj *uqp)
{
	struct standin *in = uqp->own;

	if (in != NULL && atomic_exchange(&in->due, false))
		post_itself(uqp, in);
}

bool
defect_defer(struct wrap_obj *uqp, struct defect_wr *wr, enum defect_begin begin)
{
	struct standin *in = uqp->own;

	if (in == NULL)
		in = uqp->own = calloc(1, sizeof(*in));
	if (in == NULL || in->open || in->due || (wr->wr.flags & RI_WR_SIGNALED) == 0)
		return false;
	in->wr = *wr;
	in->wr.wr.flags &= ~(uint32_t)(RI_WR_SIGNALED | RI_WR_NOTIFY);
	in->begin = begin;
	in->open = true;
	in->bytes = 0;
	for (unsigned i = 0; i < wr->wr.num_sge; i++)
		in->bytes += wr->sgl[i].length;
	wr->wr.opcode = RI_OP_RDMA_WRITE;
	wr->wr.sgl = NULL;
	wr->wr.num_sge = 0;
	wr->wr.inv_stag = 0;
	wr->wr.flags &= RI_WR_SIGNALED | RI_WR_NOTIFY | RI_WR_READ_FENCE;
	memset(&wr->wr.u, 0, sizeof(wr->wr.u));
	return true;
}

enum defect_act
defect_deferred(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);
	struct standin *in = qp != NULL && qp->half != NULL ? qp->half->own : NULL;

	if (in == NULL || !in->open || in->wr.wr.wr_id != wc->wr_id ||
	    wc->opcode != RI_OP_RDMA_WRITE)
		return DEFECT_PASS;
	wc->opcode = in->wr.wr.opcode;
	wc->byte_len = in->bytes;
	in->wr.wr.sgl = in->wr.wr.num_sge > 0 ? in->wr.sgl : NULL;
	if (in->begin == DEFECT_WHEN_POLLED && wc->status == RI_WC_SUCCESS)
		post_itself(qp->half, in);
	in->due = in->begin == DEFECT_BEFORE_THE_NEXT && wc->status == RI_WC_SUCCESS;
	in->open = false;
	return DEFECT_PASS;
}
