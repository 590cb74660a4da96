/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef RI_ERRNO_H
#define RI_ERRNO_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/**
 * @file
 * An errno in words for the log. strerror() may allocate memory and g_strerror() ends the process without it, so
 * neither may be called on behalf of a request.
 */

/** What an errno says, in English; a constant of the C library, for any thread. */
static inline const char *
ri_errno_text(int error)
{
	const char *text = strerrordesc_np(error);

	return text != NULL ? text : "an error without a name";
}

/** Does an errno say that memory or descriptors ran out, and nothing of what was asked? A later attempt may succeed. */
static inline bool
ri_errno_is_short(int error)
{
	return error == ENOMEM || error == ENOBUFS || error == EMFILE || error == ENFILE;
}

#endif /* RI_ERRNO_H */
