/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Errors of the tools: a GError with a message for people. Its code decides the exit status:
 * usage 2, everything else 1.
 */
#ifndef TOOL_ERROR_H
#define TOOL_ERROR_H

#include <glib.h>
#include <stdbool.h>

#include "it_api.h"
#include "it_ext.h"

#define TOOL_ERROR (tool_error_quark())

enum tool_error {
	TOOL_ERROR_USAGE,       /* the command line makes no sense */
	TOOL_ERROR_FAILED,      /* a call, a file or the peer failed */
	TOOL_ERROR_VERIFY,      /* data arrived that was not sent */
	TOOL_ERROR_PEER,        /* the peer refused, broke off or speaks another language */
	TOOL_ERROR_TIMEOUT,     /* the peer said nothing for too long */
	TOOL_ERROR_INTERRUPTED, /* the user wants to stop */
};

GQuark tool_error_quark(void);

/* False, with the message in *error. */
bool tool_fail(GError **error, enum tool_error code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* True for IT_SUCCESS; else false and a message that says what failed and with which status. */
bool tool_check(it_status_t status, const char *what, GError **error);

/* Has stdout taken everything so far? If not, the error says why; the message of tool_output_watch() follows. */
bool tool_output_good(GError **error);

/* Writes "program: message" to stderr, frees the error, returns the exit status it means. */
int tool_die(const char *program, GError *error);

#endif /* TOOL_ERROR_H */
