/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Atomics: one 64-bit word of the peer, read and changed in one step ([RI 3.2]; RFC 7306).
 *
 * All software adapters of a process change words with the processor's atomic instructions, so the operations
 * are atomic with respect to each other and to the application. The order of the checks is that of a Read.
 * The result goes to the first segment, in this processor's byte order.
 */
#include <string.h>

#include "vem.h"
#include "vsw_atomic.h"

static const struct vem_fault word_lost = {
	RI_EVENT_QP_CATASTROPHIC, 0x0207, RI_WC_REMOTE_OPERATION,
	"the word of an atomic operation of the peer lies in a page that is lost"};
static const struct vem_fault misaligned = {
	RI_EVENT_QP_OPCODE, 0x0207, RI_WC_REMOTE_INVALID_REQ,
	"an atomic operation of the peer names an address that is no multiple of 8"};

/* Begin the access to the word at the peer. NULL: granted. */
static const struct vem_fault *
word_begin(struct ri_qp *peer, const struct vsw_wqe *wqe, struct vsw_mem_use *use)
{
	struct vsw_mem_access wanted = {.addr = wqe->u.remote.addr,
					.length = sizeof(uint64_t),
					.stag = wqe->u.remote.stag,
					.access = RI_ACCESS_REMOTE_ATOMIC};

	if ((atomic_load_explicit(&peer->access, memory_order_relaxed) & RI_ACCESS_REMOTE_ATOMIC) ==
	    0)
		return &vem_read_disabled;
	if (wanted.stag == 0)
		return &vem_read_faults[VSW_MEM_STAG];
	if (wanted.addr % sizeof(uint64_t) != 0)
		return &misaligned;

	enum vsw_mem_result result = vsw_mem_begin(peer->rnic->mem, &peer->who, &wanted, use);

	return result == VSW_MEM_OK ? NULL : &vem_read_faults[result];
}

/* Begin the access to the segment for the old value. */
static bool
result_begin(struct ri_qp *qp, struct vsw_mem_use *use)
{
	const struct ri_sge *sge = &qp->tx_wqe->sge[0];
	struct vsw_mem_access wanted = {.addr = sge->addr,
					.length = sizeof(uint64_t),
					.stag = sge->stag,
					.access = RI_ACCESS_LOCAL_WRITE};

	return qp->tx_wqe->num_sge == 1 && sge->length == sizeof(uint64_t) &&
	       vsw_mem_begin(qp->rnic->mem, &qp->who, &wanted, use) == VSW_MEM_OK;
}

bool
vem_do_atomic(struct ri_qp *qp, struct ri_qp *peer)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	struct vsw_mem_use word;
	struct vsw_mem_use result;
	uint64_t old;

	if (atomic_load(&qp->ord) == 0)
		return vem_fail_here(qp, RI_WC_LOCAL_QP);
	if (atomic_load(&peer->ird) == 0)
		return vem_fail_there(qp, peer, &vem_too_many_reads);
	const struct vem_fault *fault = word_begin(peer, wqe, &word);
	if (fault != NULL)
		return vem_fail_there(qp, peer, fault);
	if (!result_begin(qp, &result)) {
		vsw_mem_end(&word);
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);
	}
	enum vsw_atomic_result done =
		vsw_atomic(&word, wqe->opcode == RI_OP_CMP_SWAP, &wqe->u.remote, &old);
	enum ri_status told = RI_SUCCESS;
	if (done == VSW_ATOMIC_DONE)
		told = vsw_mem_copy(&result, 0, &old, sizeof(old), true);
	vsw_mem_end(&result);
	vsw_mem_end(&word);
	if (done != VSW_ATOMIC_DONE)
		return vem_fail_there(qp, peer, done == VSW_ATOMIC_LOST ? &word_lost : &misaligned);
	if (told != RI_SUCCESS)
		return vem_fail_here(qp, told == RI_ERR_ADDRESS ? RI_WC_LOCAL_PROTECTION
								: RI_WC_LOCAL_QP);
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}
