/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "viw_why.h"

#include <stdarg.h>
#include <stdio.h>

#include "ri_log.h"

void
viw_say(const struct viw_qp *qp, const char *format, ...)
{
	char peer[RI_LOG_ADDRESS];
	const struct ri_log_about about = {
		.layer = "iwarp", .adapter = qp->rnic->name, .qpn = qp->who.qpn, .peer = peer};
	va_list args;

	if (!viw_why_wanted(qp))
		return;
	ri_log_sockaddr(&qp->stream.peer.sa, peer, sizeof(peer));
	va_start(args, format);
	ri_log_list(qp->rnic->host, RI_LOG_INFO, &about, format, args);
	va_end(args);
}

/* Is it a fault of memory that the key or a right has caused? */
static bool
is_of_memory(enum rdmap_fault fault)
{
	switch ((unsigned)fault) {
	case RDMAP_FAULT_READ_STAG:
	case RDMAP_FAULT_READ_BOUNDS:
	case RDMAP_FAULT_READ_ACCESS:
	case RDMAP_FAULT_READ_STREAM:
	case RDMAP_FAULT_READ_CLOSED:
	case RDMAP_FAULT_READ_WRAP:
	case RDMAP_FAULT_READS_DISABLED:
	case RDMAP_FAULT_TAGGED_STAG:
	case RDMAP_FAULT_TAGGED_BOUNDS:
	case RDMAP_FAULT_TAGGED_ACCESS:
	case RDMAP_FAULT_TAGGED_STREAM:
	case RDMAP_FAULT_TAGGED_CLOSED:
	case RDMAP_FAULT_TAGGED_WRAP:
		return true;
	default:
		return false;
	}
}

/* The access that the segment in `rx` asks for. */
static bool
asked_for(const struct viw_qp *qp, struct vsw_why_peer *asked)
{
	const struct ddp_segment *seg = &qp->rx.seg;
	enum rdmap_opcode opcode = rdmap_opcode_of(seg->rdmap_control);
	struct rdmap_atomic_request atomic;
	struct rdmap_read_request read;

	if (seg->tagged) {
		asked->operation = opcode == RDMAP_WRITE ? "RDMA Write" : "answer to a Read";
		asked->wanted = (struct vsw_mem_access){.stag = seg->stag,
							.addr = seg->to,
							.length = seg->payload_len,
							.access = RI_ACCESS_REMOTE_WRITE};
		return true;
	}
	if (opcode == RDMAP_READ_REQUEST &&
	    rdmap_read_request_read(seg->payload, qp->rx.control_len, &read)) {
		asked->operation = "RDMA Read";
		asked->wanted = (struct vsw_mem_access){.stag = read.source_stag,
							.addr = read.source_to,
							.length = read.size,
							.access = RI_ACCESS_REMOTE_READ};
		return true;
	}
	if (opcode == RDMAP_ATOMIC_REQUEST &&
	    rdmap_atomic_request_read(seg->payload, qp->rx.control_len, &atomic)) {
		asked->operation = "atomic operation";
		asked->wanted = (struct vsw_mem_access){.stag = atomic.stag,
							.addr = atomic.to,
							.length = sizeof(uint64_t),
							.access = RI_ACCESS_REMOTE_ATOMIC};
		return true;
	}
	return false;
}

const char *
viw_why_taker(const struct viw_qp *qp)
{
	return rdmap_is_immediate(rdmap_opcode_of(qp->rx.seg.rdmap_control))
		       ? "immediate data of the peer"
		       : "a Send of the peer";
}

void
viw_why_frame(struct viw_qp *qp, enum rdmap_fault fault)
{
	const struct viw_rx *rx = &qp->rx;
	struct vsw_why_peer asked = {.granted = qp->init.access};
	char text[VSW_WHY_ROOM + 80] = "";

	if (!viw_why_wanted(qp))
		return;
	if (is_of_memory(fault) && asked_for(qp, &asked))
		vsw_why_peer(qp->rnic->mem, &qp->who, &asked, text, sizeof(text));
	else if (fault == RDMAP_FAULT_LOCAL)
		vsw_why_receive(qp->rnic->mem, &qp->receiver, rx->wqe, text, sizeof(text));
	else if (fault == RDMAP_FAULT_TOO_LONG)
		(void)snprintf(text, sizeof(text),
			       "a Send of the peer is longer than its receive: %llu octets up to "
			       "here, the receive has %llu",
			       (unsigned long long)rx->seg.mo + rx->seg.payload_len,
			       (unsigned long long)rx->capacity);
	else if (fault == RDMAP_FAULT_NO_BUFFER)
		(void)snprintf(text, sizeof(text),
			       "%s found no receive for %llu ms: post receives before the peer "
			       "sends",
			       viw_why_taker(qp), (unsigned long long)(qp->rnic->rnr_ns / 1000000));
	if (text[0] != '\0')
		viw_say(qp, "%s", text);
}

void
viw_why_answer(struct viw_qp *qp, const struct vsw_mem_access *wanted)
{
	const struct vsw_why_peer asked = {.operation = wanted->access == RI_ACCESS_REMOTE_READ
								? "RDMA Read"
								: "atomic operation",
					   .wanted = *wanted,
					   .granted = qp->init.access};
	char text[VSW_WHY_ROOM + 80];

	if (!viw_why_wanted(qp))
		return;
	vsw_why_peer(qp->rnic->mem, &qp->who, &asked, text, sizeof(text));
	viw_say(qp, "%s", text);
}

void
viw_why_request(struct viw_qp *qp, enum ri_wc_status status, enum vsw_mem_result result)
{
	const struct vsw_wqe *wqe = qp->tx.wqe;
	char operation[128], why[VSW_WHY_ROOM];

	if (!viw_why_wanted(qp))
		return;
	vsw_why_operation(wqe, operation, sizeof(operation));
	if (wqe->opcode == RI_OP_BIND_MW && (qp->init.access & RI_ACCESS_BIND) == 0)
		(void)snprintf(why, sizeof(why), "this endpoint may link no windows");
	else
		vsw_why_request(qp->rnic->mem, &qp->who,
				&(struct vsw_why_request){.wqe = wqe,
							  .sink = wqe->opcode == RI_OP_RDMA_READ
									  ? RI_ACCESS_REMOTE_WRITE
									  : RI_ACCESS_LOCAL_WRITE,
							  .status = status,
							  .result = result},
				why, sizeof(why));
	viw_say(qp, "a request of this end fails, %s: %s", operation, why);
}
