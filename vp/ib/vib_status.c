/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Every conversion between the values of libibverbs and those of RNIC-PI that is a table ([RI 3.3.1], [RI 8.1]). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ri_log.h"
#include "vib.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum ri_status
vib_status_of_errno(int error)
{
	static const struct {
		int error;
		enum ri_status status;
	} rows[] = {
		{EINVAL, RI_ERR_INVALID_ARG},
		{EFAULT, RI_ERR_ADDRESS},
		{EPERM, RI_ERR_PERMISSION},
		{EACCES, RI_ERR_PERMISSION},
		{EBUSY, RI_ERR_BUSY},
		{EOPNOTSUPP, RI_ERR_UNSUPPORTED},
		{ENOSYS, RI_ERR_UNSUPPORTED},
		{EPROTONOSUPPORT, RI_ERR_UNSUPPORTED},
		{EADDRINUSE, RI_ERR_IN_USE},
		{EADDRNOTAVAIL, RI_ERR_NO_ROUTE},
		{EHOSTUNREACH, RI_ERR_NO_ROUTE},
		{ENETUNREACH, RI_ERR_NO_ROUTE},
		{ENODEV, RI_ERR_FATAL}, /* the device was removed */
		{ENXIO, RI_ERR_FATAL},  /* likewise: its file is still there */
		{EIO, RI_ERR_FATAL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (rows[i].error == error)
			return rows[i].status;
	}
	return RI_ERR_RESOURCES; /* ENOMEM, EAGAIN, EMFILE, ENFILE, and what a driver invents */
}

enum ri_status
vib_status_of_open(int error)
{
	enum ri_status status = vib_status_of_errno(error);

	return status == RI_ERR_FATAL || error == ENOENT ? RI_ERR_NO_DEVICE : status;
}

enum ri_wc_status
vib_status_of_wc(enum ibv_wc_status status)
{
	static const uint8_t rows[] = {
		[IBV_WC_SUCCESS] = RI_WC_SUCCESS,
		[IBV_WC_LOC_LEN_ERR] = RI_WC_LOCAL_LENGTH,
		[IBV_WC_LOC_QP_OP_ERR] = RI_WC_LOCAL_QP,
		[IBV_WC_LOC_EEC_OP_ERR] = RI_WC_LOCAL_QP,
		[IBV_WC_LOC_PROT_ERR] = RI_WC_LOCAL_PROTECTION,
		[IBV_WC_WR_FLUSH_ERR] = RI_WC_FLUSHED,
		[IBV_WC_MW_BIND_ERR] = RI_WC_MW_BIND,
		[IBV_WC_BAD_RESP_ERR] = RI_WC_BAD_RESPONSE,
		[IBV_WC_LOC_ACCESS_ERR] = RI_WC_LOCAL_PROTECTION,
		[IBV_WC_REM_INV_REQ_ERR] = RI_WC_REMOTE_INVALID_REQ,
		[IBV_WC_REM_ACCESS_ERR] = RI_WC_REMOTE_ACCESS,
		[IBV_WC_REM_OP_ERR] = RI_WC_REMOTE_OPERATION,
		[IBV_WC_RETRY_EXC_ERR] = RI_WC_TRANSPORT,
		[IBV_WC_RNR_RETRY_EXC_ERR] = RI_WC_RNR,
		[IBV_WC_LOC_RDD_VIOL_ERR] = RI_WC_LOCAL_QP,
		[IBV_WC_REM_INV_RD_REQ_ERR] = RI_WC_REMOTE_INVALID_REQ,
		[IBV_WC_REM_ABORT_ERR] = RI_WC_REMOTE_OPERATION,
		[IBV_WC_INV_EECN_ERR] = RI_WC_LOCAL_QP,
		[IBV_WC_INV_EEC_STATE_ERR] = RI_WC_LOCAL_QP,
		[IBV_WC_FATAL_ERR] = RI_WC_TRANSPORT,
		[IBV_WC_RESP_TIMEOUT_ERR] = RI_WC_TRANSPORT,
		[IBV_WC_GENERAL_ERR] = RI_WC_LOCAL_QP,
	};

	return (size_t)status < COUNT(rows) ? (enum ri_wc_status)rows[status] : RI_WC_LOCAL_QP;
}

/*
 * The status of a failure on Linux's rxe, which reports several failures as "operation error": at a
 * requester a key that names no region of the domain; at a receive any fault of its segments, even
 * if they are too short. An STag that the peer cannot invalidate is reported as the peer's invalid
 * request.
 */
enum ri_wc_status
vib_status_of_vague_wc(enum ibv_wc_status status, uint8_t opcode)
{
	bool receive = opcode == RI_OP_RECV || opcode == RI_OP_RECV_UD;

	if (receive && status == IBV_WC_REM_INV_REQ_ERR)
		return RI_WC_LOCAL_PROTECTION;
	if (status == IBV_WC_LOC_QP_OP_ERR)
		return opcode == RI_OP_LOCAL_INV ? RI_WC_MW_BIND : RI_WC_LOCAL_PROTECTION;
	return vib_status_of_wc(status);
}

unsigned int
vib_access(uint32_t access)
{
	static const struct {
		uint32_t ours;
		unsigned int theirs;
	} rows[] = {
		{RI_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE},
		{RI_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ},
		{RI_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE},
		{RI_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC},
		{RI_ACCESS_BIND, IBV_ACCESS_MW_BIND},
	};
	unsigned int out = 0;

	for (size_t i = 0; i < COUNT(rows); i++) {
		if ((access & rows[i].ours) != 0)
			out |= rows[i].theirs;
	}
	return out;
}

void
vib_log(const struct ri_rnic *rnic, enum ri_log_level level, const char *format, ...)
{
	const struct ri_log_about about = {.layer = "ib", .adapter = rnic->name};
	va_list args;

	va_start(args, format);
	ri_log_list(rnic->host, level, &about, format, args);
	va_end(args);
}

void
vib_log_qp(const struct vib_qp *qp, enum ri_log_level level, const char *format, ...)
{
	const struct ri_rnic *rnic = qp->pd->context->rnic;
	const struct ri_log_about about = {.layer = "ib",
					   .adapter = rnic->name,
					   .qpn = qp->user.qpn,
					   .peer = qp->peer[0] != '\0' ? qp->peer : NULL};
	va_list args;

	va_start(args, format);
	ri_log_list(rnic->host, level, &about, format, args);
	va_end(args);
}

void
vib_peer_name(struct vib_qp *qp, const struct ri_addr *addr, uint16_t port)
{
	ri_log_addr(addr, port, qp->peer, sizeof(qp->peer));
}

void
vib_log_host(const struct ri_host *host, enum ri_log_level level, const char *format, ...)
{
	const struct ri_log_about about = {.layer = "ib"};
	va_list args;

	va_start(args, format);
	ri_log_list(host, level, &about, format, args);
	va_end(args);
}
