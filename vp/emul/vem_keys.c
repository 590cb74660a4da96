/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Requests that change keys and move no data: bind, invalidate, fast registration. */
#include "vem.h"

void
vem_bell_bind(void *engine_qp, struct ri_wr_bind *bind, uint32_t *stag)
{
	const struct vem_qp *qp = engine_qp;

	vsw_mw_key(qp->rnic->mem, bind, stag);
}

bool
vem_do_bind(struct vem_qp *qp)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	bool relative = (wqe->flags & RI_WR_BIND_RELATIVE) != 0;
	enum vsw_mem_result result = VSW_MEM_ACCESS;

	if ((atomic_load(&qp->in.access) & RI_ACCESS_BIND) != 0)
		result = vsw_mw_bind(qp->rnic->mem, &qp->in.who, &wqe->u.bind, relative);
	if (result != VSW_MEM_OK)
		return vem_fail_key(qp, RI_WC_MW_BIND, result);
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}

bool
vem_do_fast_register(struct vem_qp *qp)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	const struct vsw_wqe_reg *reg = &wqe->u.reg;
	const struct vsw_mem_fast fast = {
		.stag = reg->stag,
		.access = reg->access | qp->rnic->objects.rules->access,
		.addr = reg->addr,
		.length = reg->length,
		.relative = (wqe->flags & RI_WR_BIND_RELATIVE) != 0,
		.fbo = reg->fbo,
		.count = wqe->num_sge,
		.list = wqe->sge,
	};

	if (!qp->in.who.privileged)
		return vem_fail_here(qp, RI_WC_LOCAL_QP);
	if (vsw_mr_fast(qp->rnic->mem, &qp->in.who, &fast) != VSW_MEM_OK)
		return vem_fail_here(qp, RI_WC_LOCAL_MM);
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}

bool
vem_do_invalidate(struct vem_qp *qp)
{
	enum vsw_mem_result result =
		vsw_mem_invalidate(qp->rnic->mem, &qp->in.who, qp->tx_wqe->inv_stag, false);

	if (result != VSW_MEM_OK)
		return vem_fail_key(
			qp, qp->tx_wqe->opcode == RI_OP_LOCAL_INV ? RI_WC_MW_BIND : RI_WC_LOCAL_MM,
			result);
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}
