/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Stand-ins: one request at a time of each queue pair is done later than its completion says, or never. */
#include <stdlib.h>
#include <string.h>

#include "mutant.h"

/* wrap_obj::own of a user half of a queue pair. */
struct standin {
	struct mutant_wr wr; /* the request itself */
	uint64_t qp_ctx;
	uint32_t bytes;
	bool open; /* its completion has not been polled */
	bool later;
};

bool
mutant_defer(struct wrap_obj *uqp, struct mutant_wr *wr, bool later)
{
	struct standin *in = uqp->own;

	if (in == NULL)
		in = uqp->own = calloc(1, sizeof(*in));
	if (in == NULL || in->open || (wr->wr.flags & RI_WR_SIGNALED) == 0)
		return false;
	in->wr = *wr;
	in->wr.wr.flags &= ~(uint32_t)(RI_WR_SIGNALED | RI_WR_NOTIFY);
	in->qp_ctx = uqp->ctx;
	in->later = later;
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

void
mutant_deferred(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = mutant_qp(ucq, wc);
	struct standin *in = qp != NULL && qp->half != NULL ? qp->half->own : NULL;

	if (in == NULL || !in->open || in->wr.wr.wr_id != wc->wr_id ||
	    wc->opcode != RI_OP_RDMA_WRITE)
		return;
	in->open = false;
	wc->opcode = in->wr.wr.opcode;
	wc->byte_len = in->bytes;
	in->wr.wr.sgl = in->wr.wr.num_sge > 0 ? in->wr.sgl : NULL;
	if (in->later && wc->status == RI_WC_SUCCESS)
		(void)!wrap_plain_fast_ops.post_sq((struct ri_uqp *)qp->half, &in->wr.wr);
}
