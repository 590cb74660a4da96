/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vro_why.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "ri_log.h"

static bool
wanted(const struct vro_qp *qp)
{
	return qp->engine->host->log_level >= RI_LOG_INFO;
}

void
vro_say(const struct vro_qp *qp, const char *format, ...)
{
	const struct ri_log_about about = {
		.layer = "roce", .adapter = qp->engine->name, .qpn = qp->qpn};
	va_list args;

	va_start(args, format);
	ri_log_list(qp->engine->host, RI_LOG_INFO, &about, format, args);
	va_end(args);
}

/* --- requests of this end ------------------------------------------------------------------- */

/* The connection has failed below the request. */
static void
transport_text(const struct vro_qp *qp, char *text, size_t room)
{
	const struct vro_requester *tx = &qp->tx;

	if (tx->absent >= VRO_ABSENCES)
		(void)snprintf(text, room,
			       "no process receives at the peer's address, says its host");
	else if (tx->retries == 0)
		(void)snprintf(
			text, room,
			"the peer has acknowledged nothing since it was sent %u times, %" PRIu64
			" us apart",
			qp->path.retries + 1u, (UINT64_C(4096) << (qp->path.timeout & 31)) / 1000);
	else
		(void)snprintf(
			text, room,
			"its answer was lost, and the peer, which has failed, does not repeat it");
}

static void
request_text(const struct vro_qp *qp, const struct vsw_why_request *failed, char *text, size_t room)
{
	const struct vsw_wqe *wqe = failed->wqe;

	if (failed->status == RI_WC_TRANSPORT)
		transport_text(qp, text, room);
	else if (failed->status == RI_WC_RNR)
		(void)snprintf(text, room,
			       "the peer had no receive for it at %u tries (rnr_retry %u)",
			       qp->path.rnr_retries + 1u, (unsigned)qp->path.rnr_retries);
	else if (failed->status == RI_WC_BAD_RESPONSE)
		(void)snprintf(text, room, "the peer's answer is of another kind or length");
	else if (wqe->opcode == RI_OP_BIND_MW &&
		 (atomic_load(&qp->in.access) & RI_ACCESS_BIND) == 0)
		(void)snprintf(text, room, "this endpoint may link no windows");
	else if (wqe->opcode == RI_OP_RDMA_READ && failed->status == RI_WC_LOCAL_MM)
		(void)snprintf(text, room,
			       "the key %08x of its sink cannot be invalidated: it is not valid, "
			       "or windows are linked to its region",
			       (unsigned)wqe->sge[0].stag);
	else if (wqe->opcode == RI_OP_SEND_UD && failed->status == RI_WC_LOCAL_QP)
		(void)snprintf(text, room, "its address handle is none of this protection domain");
	else
		vsw_why_request(qp->in.mem, &qp->in.who, failed, text, room);
}

void
vro_why_request(const struct vro_qp *qp, const struct vsw_wqe *wqe, enum ri_wc_status status,
		enum vsw_mem_result result)
{
	bool refused = status == RI_WC_REMOTE_ACCESS || status == RI_WC_REMOTE_INVALID_REQ ||
		       status == RI_WC_REMOTE_OPERATION;
	const struct vsw_why_request failed = {
		.wqe = wqe, .sink = RI_ACCESS_LOCAL_WRITE, .status = status, .result = result};
	char operation[128], why[VSW_WHY_ROOM];

	if (!wanted(qp))
		return;
	vsw_why_operation(wqe, operation, sizeof(operation));
	if (refused) {
		vro_say(qp,
			"QP %u, the peer, refuses a request of this end, %s, as %s; its own log "
			"says why",
			(unsigned)qp->path.qpn, operation,
			status == RI_WC_REMOTE_ACCESS        ? "a wrong access"
			: status == RI_WC_REMOTE_INVALID_REQ ? "an invalid request"
							     : "one that it cannot execute");
		return;
	}
	request_text(qp, &failed, why, sizeof(why));
	vro_say(qp, "a request of this end fails, %s: %s", operation, why);
}

/* --- requests of the peer ------------------------------------------------------------------- */

void
vro_why_access(const struct vro_qp *qp, const struct ri_wr_remote *remote, uint32_t length,
	       uint32_t access)
{
	const struct vsw_why_peer asked = {
		.operation = access == RI_ACCESS_REMOTE_WRITE  ? "RDMA Write"
			     : access == RI_ACCESS_REMOTE_READ ? "RDMA Read"
							       : "atomic operation",
		.wanted = {.addr = remote->addr,
			   .length = length,
			   .stag = remote->stag,
			   .access = access},
		.granted = atomic_load(&qp->in.access)};
	char text[VSW_WHY_ROOM + 80];

	if (!wanted(qp))
		return;
	vsw_why_peer(qp->in.mem, &qp->in.who, &asked, text, sizeof(text));
	vro_say(qp, "%s", text);
}

void
vro_why_receive(const struct vro_qp *qp)
{
	char text[VSW_WHY_ROOM];

	if (!wanted(qp))
		return;
	vsw_why_receive(qp->in.mem, &qp->in.receiver, qp->in.wqe, text, sizeof(text));
	vro_say(qp, "%s", text);
}
