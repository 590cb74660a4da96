/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Distributes the affiliated events of an IA to the worlds (threads with their objects) that use it. An
 * IA has one dispatcher for all of these events [IT 6.1.1]. So a thread that polls for its events takes
 * all that are queued, and leaves those of other worlds here. Events of one object keep their order.
 *
 * Any thread may call.
 */
#ifndef DF_HUB_H
#define DF_HUB_H

#include <glib.h>
#include <stdbool.h>

#include "it_api.h"

struct df_hub;

/* `several`: threads use it at the same time. Any failure ends the program. */
struct df_hub *df_hub_new(it_ia_handle_t ia, bool several);
/* How many events are there that no world has taken. */
unsigned df_hub_held(struct df_hub *hub);
/* Returns what is wrong with the events that are left, or NULL. */
char *df_hub_free(struct df_hub *hub);
/* The object belongs to the world of that number, also after it was freed. */
void df_hub_own(struct df_hub *hub, it_handle_t object, unsigned world);
/* The next event of an object of that world. False: there is none until the deadline, a monotonic time or 0. */
bool df_hub_take(struct df_hub *hub, unsigned world, gint64 deadline, it_affiliated_event_t *event);

#endif /* DF_HUB_H */
