/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Converts codes of CM messages to reasons and statuses of RNIC-PI, and back. InfiniBand
 * Architecture 1.2, volume 1, chapters 12.6 (reasons of a REJ) and 12.11 (statuses of a SIDR_REP).
 * Pure functions, any thread.
 */
#ifndef VRC_REASON_H
#define VRC_REASON_H

#include <stdint.h>

#include "rnicpi_event.h"
#include "vrc_mad.h"

/* The reason of a REJ as that of RI_CM_FAILED; RI_CM_REASON_CONSUMER means RI_CM_REJECTED. */
enum ri_cm_reason vrc_reason_of_rej(uint16_t reason);
/* The reason of a REJ, by which a peer learns why it is refused; those of RNIC-PI that have none are VRC_REJ_UNSUPPORTED. */
uint16_t vrc_rej_of_reason(enum ri_cm_reason reason);

/* The status of a SIDR_REP. */
enum ri_service_status vrc_service_status_of_sidr(uint8_t status);
/* The status of an answer, below RI_SERVICE_STATUS_COUNT. */
uint8_t vrc_sidr_of_service_status(uint32_t status);

#endif /* VRC_REASON_H */
