/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vrc_reason.h"

#define REJ_COUNT 36

/* What is not listed is RI_CM_REASON_OTHER: numbers that are free, redirections, vendor options. */
static const uint8_t reason_of_rej[REJ_COUNT] = {
	[VRC_REJ_NO_QP] = RI_CM_REASON_RESOURCES,
	[2 /* no EEC */] = RI_CM_REASON_RESOURCES,
	[VRC_REJ_NO_RESOURCES] = RI_CM_REASON_RESOURCES,
	[VRC_REJ_TIMEOUT] = RI_CM_REASON_TIMEOUT,
	[VRC_REJ_UNSUPPORTED] = RI_CM_REASON_BAD_PARAMS,
	[VRC_REJ_NO_SERVICE] = RI_CM_REASON_REFUSED,
	[VRC_REJ_BAD_TRANSPORT] = RI_CM_REASON_BAD_PARAMS,
	[VRC_REJ_STALE] = RI_CM_REASON_STALE,
	[VRC_REJ_BAD_GID] = RI_CM_REASON_BAD_PATH,
	[13 /* LID */] = RI_CM_REASON_BAD_PATH,
	[14 /* service level */] = RI_CM_REASON_BAD_PATH,
	[15 /* traffic class */] = RI_CM_REASON_BAD_PATH,
	[16 /* hop limit */] = RI_CM_REASON_BAD_PATH,
	[17 /* rate */] = RI_CM_REASON_BAD_PATH,
	[VRC_REJ_BAD_MTU] = RI_CM_REASON_BAD_PATH,
	[VRC_REJ_NO_RESPONDERS] = RI_CM_REASON_BAD_ORD,
	[VRC_REJ_CONSUMER] = RI_CM_REASON_CONSUMER,
	[29 /* RNR retries */] = RI_CM_REASON_BAD_PARAMS,
	[VRC_REJ_BAD_CLASS_VERSION] = RI_CM_REASON_BAD_PARAMS,
	[32 /* flow label */] = RI_CM_REASON_BAD_PATH,
};

enum ri_cm_reason
vrc_reason_of_rej(uint16_t reason)
{
	return reason < REJ_COUNT ? (enum ri_cm_reason)reason_of_rej[reason] : RI_CM_REASON_OTHER;
}

uint16_t
vrc_rej_of_reason(enum ri_cm_reason reason)
{
	switch (reason) {
	case RI_CM_REASON_TIMEOUT:
		return VRC_REJ_TIMEOUT;
	case RI_CM_REASON_BAD_PATH:
		return VRC_REJ_BAD_GID;
	case RI_CM_REASON_STALE:
		return VRC_REJ_STALE;
	case RI_CM_REASON_BAD_ORD:
		return VRC_REJ_NO_RESPONDERS;
	case RI_CM_REASON_RESOURCES:
		return VRC_REJ_NO_RESOURCES;
	case RI_CM_REASON_CONSUMER:
		return VRC_REJ_CONSUMER;
	case RI_CM_REASON_REFUSED:
		return VRC_REJ_NO_SERVICE;
	case RI_CM_REASON_BAD_PARAMS:
	case RI_CM_REASON_OTHER:
	default:
		return VRC_REJ_UNSUPPORTED;
	}
}

enum ri_service_status
vrc_service_status_of_sidr(uint8_t status)
{
	static const uint8_t of_sidr[VRC_SIDR_COUNT] = {
		[VRC_SIDR_FOUND] = RI_SERVICE_FOUND,
		[VRC_SIDR_NO_SERVICE] = RI_SERVICE_UNKNOWN,
		[VRC_SIDR_REJECTED] = RI_SERVICE_REJECTED,
		[VRC_SIDR_NO_QP] = RI_SERVICE_NO_QP,
		[VRC_SIDR_REDIRECTED] = RI_SERVICE_REDIRECTED,
		[VRC_SIDR_BAD_VERSION] = RI_SERVICE_REJECTED,
	};

	return status < VRC_SIDR_COUNT ? (enum ri_service_status)of_sidr[status]
				       : RI_SERVICE_REJECTED;
}

uint8_t
vrc_sidr_of_service_status(uint32_t status)
{
	static const uint8_t of_service[RI_SERVICE_STATUS_COUNT] = {
		[RI_SERVICE_FOUND] = VRC_SIDR_FOUND,
		[RI_SERVICE_UNKNOWN] = VRC_SIDR_NO_SERVICE,
		[RI_SERVICE_REJECTED] = VRC_SIDR_REJECTED,
		[RI_SERVICE_NO_QP] = VRC_SIDR_NO_QP,
		[RI_SERVICE_REDIRECTED] = VRC_SIDR_REDIRECTED,
	};

	return status < RI_SERVICE_STATUS_COUNT ? of_service[status] : VRC_SIDR_REJECTED;
}
