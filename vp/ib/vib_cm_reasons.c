/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Converts the statuses of librdmacm: of attempts to connect, of ends, and of queries of a datagram service.
 * rdma_cm_event::status is a negative errno, or a value of the transport: the reason in a REJ, or the status in a
 * SIDR_REP (InfiniBand Architecture 1.2, volume 1, chapter 12).
 */
#include <errno.h>
#include <stddef.h>

#include "vib_cm.h"

#define REJ_NO_QP             1
#define REJ_NO_EEC            2
#define REJ_NO_RESOURCES      3
#define REJ_TIMEOUT           4
#define REJ_UNSUPPORTED       5
#define REJ_NO_SERVICE        8
#define REJ_BAD_TRANSPORT     9
#define REJ_STALE             10
#define REJ_BAD_GID           12
#define REJ_BAD_LID           13
#define REJ_BAD_SL            14
#define REJ_BAD_TRAFFIC_CLASS 15
#define REJ_BAD_HOP_LIMIT     16
#define REJ_BAD_RATE          17
#define REJ_BAD_MTU           26
#define REJ_NO_RESPONDERS     27
#define REJ_CONSUMER          28
#define REJ_BAD_RNR_RETRIES   29
#define REJ_BAD_CLASS_VERSION 31
#define REJ_BAD_FLOW_LABEL    32

#define SIDR_UNSUPPORTED 1
#define SIDR_REJECTED    2
#define SIDR_NO_QP       3
#define SIDR_REDIRECTED  4

struct vib_meaning {
	int status;
	uint32_t meaning;
};

/* What is not listed is RI_CM_REASON_OTHER. */
static const struct vib_meaning of_rej[] = {
	{REJ_NO_QP, RI_CM_REASON_RESOURCES},
	{REJ_NO_EEC, RI_CM_REASON_RESOURCES},
	{REJ_NO_RESOURCES, RI_CM_REASON_RESOURCES},
	{REJ_TIMEOUT, RI_CM_REASON_TIMEOUT},
	{REJ_UNSUPPORTED, RI_CM_REASON_BAD_PARAMS},
	{REJ_NO_SERVICE, RI_CM_REASON_REFUSED},
	{REJ_BAD_TRANSPORT, RI_CM_REASON_BAD_PARAMS},
	{REJ_STALE, RI_CM_REASON_STALE},
	{REJ_BAD_GID, RI_CM_REASON_BAD_PATH},
	{REJ_BAD_LID, RI_CM_REASON_BAD_PATH},
	{REJ_BAD_SL, RI_CM_REASON_BAD_PATH},
	{REJ_BAD_TRAFFIC_CLASS, RI_CM_REASON_BAD_PATH},
	{REJ_BAD_HOP_LIMIT, RI_CM_REASON_BAD_PATH},
	{REJ_BAD_RATE, RI_CM_REASON_BAD_PATH},
	{REJ_BAD_MTU, RI_CM_REASON_BAD_PATH},
	{REJ_NO_RESPONDERS, RI_CM_REASON_BAD_ORD},
	{REJ_CONSUMER, RI_CM_REASON_CONSUMER},
	{REJ_BAD_RNR_RETRIES, RI_CM_REASON_BAD_PARAMS},
	{REJ_BAD_CLASS_VERSION, RI_CM_REASON_BAD_PARAMS},
	{REJ_BAD_FLOW_LABEL, RI_CM_REASON_BAD_PATH},
};

static const struct vib_meaning of_errno[] = {
	{ETIMEDOUT, RI_CM_REASON_TIMEOUT},    {EHOSTUNREACH, RI_CM_REASON_BAD_PATH},
	{ENETUNREACH, RI_CM_REASON_BAD_PATH}, {EADDRNOTAVAIL, RI_CM_REASON_BAD_PATH},
	{ENODEV, RI_CM_REASON_BAD_PATH},      {ENOMEM, RI_CM_REASON_RESOURCES},
	{EAGAIN, RI_CM_REASON_RESOURCES},     {ENOBUFS, RI_CM_REASON_RESOURCES},
	{EMFILE, RI_CM_REASON_RESOURCES},     {EADDRINUSE, RI_CM_REASON_RESOURCES},
	{EPROTO, RI_CM_REASON_BAD_PARAMS},    {EPROTONOSUPPORT, RI_CM_REASON_BAD_PARAMS},
	{EINVAL, RI_CM_REASON_BAD_PARAMS},    {ECONNREFUSED, RI_CM_REASON_REFUSED},
};

static uint32_t
meaning_of(const struct vib_meaning *table, size_t count, int status, uint32_t other)
{
	for (size_t i = 0; i < count; i++) {
		if (table[i].status == status)
			return table[i].meaning;
	}
	return other;
}

#define MEANING_OF(table_, status_, other_) \
	meaning_of(table_, sizeof(table_) / sizeof((table_)[0]), status_, other_)

enum ri_cm_reason
vib_reason_of_errno(int error)
{
	return (enum ri_cm_reason)MEANING_OF(of_errno, error, RI_CM_REASON_OTHER);
}

enum ri_cm_reason
vib_reason_of_event(enum rdma_cm_event_type type, int status, bool iwarp)
{
	if (type == RDMA_CM_EVENT_ADDR_ERROR || type == RDMA_CM_EVENT_ROUTE_ERROR)
		return RI_CM_REASON_BAD_PATH;
	if (type == RDMA_CM_EVENT_REJECTED && !iwarp)
		return (enum ri_cm_reason)MEANING_OF(of_rej, status, RI_CM_REASON_OTHER);
	/* A Reply with R, and also a stream that the peer closes instead of a Reply: the kernel tells no difference. */
	if (type == RDMA_CM_EVENT_REJECTED && status == -ECONNRESET)
		return RI_CM_REASON_CONSUMER;
	if (type == RDMA_CM_EVENT_UNREACHABLE)
		return RI_CM_REASON_TIMEOUT;
	return vib_reason_of_errno(-status);
}

enum ri_service_status
vib_service_status_of_event(enum rdma_cm_event_type type, int status)
{
	static const struct vib_meaning of_sidr[] = {
		{SIDR_UNSUPPORTED, RI_SERVICE_UNKNOWN},
		{SIDR_REJECTED, RI_SERVICE_REJECTED},
		{SIDR_NO_QP, RI_SERVICE_NO_QP},
		{SIDR_REDIRECTED, RI_SERVICE_REDIRECTED},
	};

	if (type == RDMA_CM_EVENT_ESTABLISHED)
		return RI_SERVICE_FOUND;
	if (type != RDMA_CM_EVENT_UNREACHABLE)
		return RI_SERVICE_REJECTED;
	return (enum ri_service_status)MEANING_OF(of_sidr, status, RI_SERVICE_REJECTED);
}
