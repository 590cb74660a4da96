/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The user's wish to stop (SIGINT, SIGTERM): waits end, and the tool cleans up on the way out. */
#ifndef TOOL_SIGNAL_H
#define TOOL_SIGNAL_H

#include <stdbool.h>

void tool_signal_watch(void); /* once, before any thread; also keeps SIGPIPE and SIGXFSZ away */
bool tool_stopped(void);

#endif /* TOOL_SIGNAL_H */
