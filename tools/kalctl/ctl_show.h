/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What kalctl prints, as text and as JSON. */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include <glib.h>
#include <stdbool.h>

#include "kald_wire.h"

/* A table of processes. */
void ctl_show_list(const GArray *entries, bool json);
/* Processes that share addresses; the elements are struct kald_sharing. */
void ctl_show_shares(const GArray *entries, bool json);
/* All that is known of one, or of each of its connections. */
void ctl_show_processes(const GArray *entries, bool json);
/* An account and its limits; name: of the user or group, or NULL. */
void ctl_show_limits(const struct kald_limits *asked, const struct kald_limited *limited,
		     bool json);
/* A line for a change. */
void ctl_show_change(const struct kald_change *change, bool json);

#endif /* CTL_SHOW_H */
