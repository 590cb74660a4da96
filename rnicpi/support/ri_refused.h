/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RI_REFUSED_H
#define RI_REFUSED_H

/**
 * @file ri_refused.h
 * @brief System calls that a sandbox refuses: they are named in the log, since no status or event can name them.
 */

#include <errno.h>
#include <stdio.h>

#include "ri_errno.h"
#include "rnicpi_host.h"

/** @brief Log that the system refused @p call, if @p error is one of the errors by which a sandbox does so. */
static inline void
ri_log_refused(const struct ri_host *host, const char *where, const char *call, int error)
{
	char text[128];

	if ((error != EPERM && error != ENOSYS) || host->log_level < RI_LOG_WARNING)
		return;
	(void)snprintf(text, sizeof(text), "the system refused %s: %s", call, ri_errno_text(error));
	host->log(host->self, RI_LOG_WARNING, where, text);
}

#endif
