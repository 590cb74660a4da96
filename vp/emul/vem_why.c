/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_why.h"

#include <stdarg.h>
#include <stdio.h>

#include "ri_log.h"

static bool
wanted(const struct vem_qp *qp)
{
	return qp->rnic->host->log_level >= RI_LOG_INFO;
}

void
vem_say(const struct vem_qp *qp, const char *format, ...)
{
	const struct ri_log_about about = {.layer = "emul",
					   .adapter = vem_adapter_name(qp->rnic->fabric),
					   .qpn = qp->in.who.qpn};
	va_list args;

	va_start(args, format);
	ri_log_list(qp->rnic->host, RI_LOG_INFO, &about, format, args);
	va_end(args);
}

void
vem_say_waits(const struct vem_qp *qp, bool *told, uint64_t wait)
{
	if (!*told && wait == RI_NEVER)
		vem_say(qp, "a Send of the peer waits, since no receive is posted; the peer tries "
			    "it without end");
	else if (!*told)
		vem_say(qp,
			"a Send of the peer waits, since no receive is posted; without one the "
			"connection ends in %llu ms",
			(unsigned long long)(wait / 1000000));
	*told = true;
}

void
vem_why_here(const struct vem_qp *qp, enum ri_wc_status status, enum vsw_mem_result result)
{
	bool iwarp = qp->rnic->fabric->personality == VEM_IWARP;
	bool read = qp->tx_wqe->opcode == RI_OP_RDMA_READ;
	char operation[128], why[VSW_WHY_ROOM];

	if (!wanted(qp))
		return;
	vsw_why_operation(qp->tx_wqe, operation, sizeof(operation));
	if (qp->tx_wqe->opcode == RI_OP_BIND_MW &&
	    (atomic_load(&qp->in.access) & RI_ACCESS_BIND) == 0)
		(void)snprintf(why, sizeof(why), "this endpoint may link no windows");
	else if (status == RI_WC_TRANSPORT)
		(void)snprintf(why, sizeof(why),
			       "the peer has not answered for as long as it is tried");
	else if (read && status == RI_WC_LOCAL_MM)
		(void)snprintf(why, sizeof(why),
			       "the key %08x of its sink cannot be invalidated: it is not valid, "
			       "or windows are linked to its region",
			       (unsigned)qp->tx_wqe->sge[0].stag);
	else
		vsw_why_request(qp->rnic->mem, &qp->in.who,
				&(struct vsw_why_request){.wqe = qp->tx_wqe,
							  .sink = iwarp && read
									  ? RI_ACCESS_REMOTE_WRITE
									  : RI_ACCESS_LOCAL_WRITE,
							  .status = status,
							  .result = result},
				why, sizeof(why));
	vem_say(qp, "a request of this end fails, %s: %s", operation, why);
}

/* An access to the peer's memory: its rights, its key. */
static void
access_text(const struct vem_qp *qp, const struct vem_qp *peer, char *text, size_t room)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	bool write = wqe->opcode == RI_OP_RDMA_WRITE;
	bool read = wqe->opcode == RI_OP_RDMA_READ;
	const struct vsw_why_peer asked = {
		.operation = write  ? "RDMA Write"
			     : read ? "RDMA Read"
				    : "atomic operation",
		.wanted = {.addr = wqe->u.remote.addr,
			   .length = write || read ? wqe->length : sizeof(uint64_t),
			   .stag = wqe->u.remote.stag,
			   .access = write  ? RI_ACCESS_REMOTE_WRITE
				     : read ? RI_ACCESS_REMOTE_READ
					    : RI_ACCESS_REMOTE_ATOMIC},
		.granted = atomic_load(&peer->in.access)};

	vsw_why_peer(peer->rnic->mem, &peer->in.who, &asked, text, room);
}

void
vem_why_there(const struct vem_qp *qp, const struct vem_qp *peer, const struct vsw_refusal *refusal)
{
	char operation[128], text[VSW_WHY_ROOM + 80];

	if (!wanted(qp))
		return;
	if (refusal->why == NULL)
		access_text(qp, peer, text, sizeof(text));
	else if (refusal->why == vsw_why_sink)
		vsw_why_receive(peer->rnic->mem, &peer->in.receiver, peer->in.wqe, text,
				sizeof(text));
	else
		(void)snprintf(text, sizeof(text), "%s", refusal->why);
	vem_say(peer, "%s", text);
	vsw_why_operation(qp->tx_wqe, operation, sizeof(operation));
	vem_say(qp, "QP %u, the peer, refuses a request of this end, %s; its own line says why",
		(unsigned)peer->in.who.qpn, operation);
}
