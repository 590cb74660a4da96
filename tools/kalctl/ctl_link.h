/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The connection of kalctl to kald: one request and its answer after the other. */
#ifndef CTL_LINK_H
#define CTL_LINK_H

#include <glib.h>
#include <stdbool.h>

#include "kald_wire.h"

/* Connect and say hello. path NULL: what ITAPI_KALD names, else the known places. -1: the error is set. */
int ctl_connect(const char *path, GError **error);
/* Ask. False: the error is set, with the rule if kald refuses. */
bool ctl_ask(int fd, struct kald_message *request, struct kald_message *reply, GError **error);
/* The next event. False: the connection is over, or the user stops; then no error is set. */
bool ctl_next(int fd, struct kald_message *event, GError **error);

#endif /* CTL_LINK_H */
