/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <stdarg.h>

#include <stdio.h>

#include "tool_error.h"
#include "tool_output.h"
#include "tool_print.h"

/* G_DEFINE_QUARK would keep the quark in a variable that several threads write without a lock. */
GQuark
tool_error_quark(void)
{
	return g_quark_from_static_string("tool-error-quark");
}

bool
tool_fail(GError **error, enum tool_error code, const char *format, ...)
{
	va_list args;

	if (error == NULL || *error != NULL)
		return false; /* the first message is the one that explains */
	va_start(args, format);
	*error = g_error_new_valist(TOOL_ERROR, (gint)code, format, args);
	va_end(args);
	return false;
}

bool
tool_check(it_status_t status, const char *what, GError **error)
{
	if (status == IT_SUCCESS)
		return true;
	return tool_fail(error, TOOL_ERROR_FAILED, "%s: %s", what, it_status_name(status));
}

bool
tool_output_good(GError **error)
{
	int number = tool_output_flush();

	return number == 0 ||
	       tool_fail(error, TOOL_ERROR_FAILED, "stopped: the output cannot be written: %s",
			 g_strerror(number));
}

int
tool_die(const char *program, GError *error)
{
	g_autofree char *try = g_strdup_printf("Try '%s --help'.\n", program);
	bool usage;

	if (error == NULL)
		error = g_error_new_literal(TOOL_ERROR, TOOL_ERROR_FAILED, "failed");
	usage = g_error_matches(error, TOOL_ERROR, TOOL_ERROR_USAGE) ||
		error->domain == G_OPTION_ERROR;

	tool_complain(program, error->message);
	if (usage)
		tool_say(try);
	g_error_free(error);
	return usage ? 2 : 1;
}
