/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The request to stop, of the user (SIGINT, SIGTERM) or of the tool: waits end, and the tool cleans up on the way out. */
#ifndef TOOL_SIGNAL_H
#define TOOL_SIGNAL_H

#include <stdbool.h>

void tool_signal_watch(void); /* once, before any thread; also keeps SIGPIPE and SIGXFSZ away */
void tool_stop(void);         /* the tool itself requests it */
bool tool_stopped(void);
int tool_stop_signal(void); /* which one it was; 0 if none */

/* A descriptor that is readable from then on; -1 before tool_signal_watch(). Never read it. */
int tool_stop_fd(void);

#endif /* TOOL_SIGNAL_H */
