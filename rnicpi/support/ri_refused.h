/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RI_REFUSED_H
#define RI_REFUSED_H

/**
 * @file ri_refused.h
 * @brief System calls that a sandbox refuses: they are named in the log, since no status or event can name them.
 */

#include <errno.h>

#include "ri_errno.h"
#include "ri_log.h"

/** @brief Log that the system refused @p call, if @p error is EPERM or ENOSYS, as sandboxes answer. */
static inline void
ri_log_refused(const struct ri_host *host, const struct ri_log_about *about, const char *call,
	       int error)
{
	if (error == EPERM || error == ENOSYS)
		ri_log(host, RI_LOG_WARNING, about, "the system refused %s: %s", call,
		       ri_errno_text(error));
}

#endif
