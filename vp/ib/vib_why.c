/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Why a connection has ended, as one line of the log with queue pair and peer, in the form of the
 * other providers. A device reports less than software providers know: the status of a completion
 * with a vendor's number, an event, or a status of the connection manager. The level is info,
 * because an end is not a lasting problem.
 */
#include "vib_why.h"

#include <stdarg.h>
#include <stdio.h>

#define CAUSE_ROOM 200 /* octets */

void
vib_why_ended(const struct vib_qp *qp, const char *format, ...)
{
	char cause[CAUSE_ROOM];
	va_list args;

	if (!ri_log_wanted(qp->pd->context->rnic->host, RI_LOG_INFO))
		return;
	va_start(args, format);
	(void)vsnprintf(cause, sizeof(cause), format, args);
	va_end(args);
	vib_log_qp(qp, RI_LOG_INFO, "%s: %s",
		   qp->user.ud ? "the queue pair has failed" : "the connection has ended", cause);
}

static const char *
operation_of(uint8_t opcode)
{
	static const char *const names[] = {
		[RI_OP_SEND] = "a Send",
		[RI_OP_RDMA_WRITE] = "an RDMA Write",
		[RI_OP_RDMA_READ] = "an RDMA Read",
		[RI_OP_FETCH_ADD] = "a Fetch-and-Add",
		[RI_OP_CMP_SWAP] = "a Compare-and-Swap",
		[RI_OP_BIND_MW] = "a link of a window",
		[RI_OP_LOCAL_INV] = "an unlink of a window",
		[RI_OP_SEND_UD] = "a datagram",
		[RI_OP_RECV] = "a receive",
		[RI_OP_RECV_UD] = "a receive of datagrams",
	};

	return opcode < sizeof(names) / sizeof(names[0]) && names[opcode] != NULL ? names[opcode]
										  : "a request";
}

void
vib_why_fault(const struct vib_qp *qp)
{
	const struct vib_fault *fault = &qp->user.fault;

	if (fault->lost)
		vib_why_ended(qp, "the completion of %s found no room",
			      operation_of(fault->opcode));
	else if (fault->device == IBV_WC_WR_FLUSH_ERR)
		vib_why_ended(qp, "the device flushes what is posted, and does not say why");
	else if (fault->device != IBV_WC_SUCCESS)
		vib_why_ended(qp, "%s of this end failed: %s (status %u, vendor error %#x)",
			      operation_of(fault->opcode),
			      ibv_wc_status_str((enum ibv_wc_status)fault->device), fault->device,
			      fault->vendor);
	else
		vib_why_ended(qp, "the device has not taken a request, or it names no object");
}
