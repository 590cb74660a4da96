/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef RI_SHARE_H
#define RI_SHARE_H

#include <stddef.h>

#include "rnicpi_host.h"

/**
 * @file
 * Sharing a UDP port with other processes of the user [RI 11.3.8]. May wait for a daemon; any thread.
 */

/** Bits of a queue pair number, and of a communication id, below the slot. */
#define RI_SHARE_QPN_SHIFT 18
#define RI_SHARE_ID_SHIFT  26
/** Slots: processes of one user. */
#define RI_SHARE_SLOTS 64u

/** @brief As ri_host::share; RI_ERR_UNSUPPORTED where the host is older, or has no such entry. */
static inline enum ri_status
ri_share(const struct ri_host *host, struct ri_share *share)
{
	if (host->size < offsetof(struct ri_host, share_service) + sizeof(host->share_service) ||
	    host->share == NULL)
		return RI_ERR_UNSUPPORTED;
	return host->share(host->self, share);
}

#endif
