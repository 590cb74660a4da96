/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the library logs: printed like a line of the tool, and kept as the reason of a failure. */
#ifndef TOOL_LOG_H
#define TOOL_LOG_H

/* The source of lines about providers that were refused when they were loaded. */
#define TOOL_LOG_REGISTRY "registry"
/* The source of lines about names that no adapter has. They are kept and not printed: tool_adapter_open() fails with them. */
#define TOOL_LOG_ADAPTERS "adapters"
/* The source of lines about invalid values in the environment. */
#define TOOL_LOG_SETTINGS "settings"

/* From now on the library's lines come here. Any thread may log. */
void tool_log_begin(void);
/* The number of lines so far. */
unsigned tool_log_count(void);
/*
 * The errors and warnings from line `first` on, separated by "; ", without those of the three sources above; to be freed with g_free(). NULL: no such line was logged.
 */
char *tool_log_reasons(unsigned first);
/* All lines of that source, one text each, then NULL; free with g_strfreev(). */
char **tool_log_said_by(const char *who);

#endif /* TOOL_LOG_H */
