/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "df_hub.h"

#include <pthread.h>

#include "it_ext.h"

#define HUB_QUEUE 16384 /* events: more than all programs make between two looks */
#define SLICE_US  1000

struct df_hub {
	it_evd_handle_t evd;
	bool several;
	pthread_mutex_t lock; /* owns what follows */
	GHashTable *owners;   /* it_handle_t -> number of a world + 1 */
	GArray *events; /* of it_affiliated_event_t: taken from the dispatcher, not from here */
};

struct df_hub *
df_hub_new(it_ia_handle_t ia, bool several)
{
	struct df_hub *hub = g_new0(struct df_hub, 1);
	it_status_t status = it_evd_create(ia, IT_ASYNC_AFF_EVENT_STREAM, 0, HUB_QUEUE, 1, NULL,
					   &hub->evd, NULL);

	if (status != IT_SUCCESS)
		g_error("it_evd_create: %s", it_status_name(status));
	hub->several = several;
	pthread_mutex_init(&hub->lock, NULL);
	hub->owners = g_hash_table_new(NULL, NULL);
	hub->events = g_array_new(FALSE, FALSE, sizeof(it_affiliated_event_t));
	return hub;
}

void
df_hub_own(struct df_hub *hub, it_handle_t object, unsigned world)
{
	pthread_mutex_lock(&hub->lock);
	g_hash_table_insert(hub->owners, (gpointer)object, GUINT_TO_POINTER(world + 1));
	pthread_mutex_unlock(&hub->lock);
}

/* The object that an event names; the members of the union are handles of the same size. */
static gpointer
cause_of(const it_affiliated_event_t *event)
{
	return (gpointer)event->cause.ep;
}

/* With the lock. */
static void
fetch_all(struct df_hub *hub)
{
	it_event_t event;

	while (it_evd_dequeue(hub->evd, &event) == IT_SUCCESS)
		g_array_append_val(hub->events, event.aff_async);
}

/* With the lock: the first event of that world leaves the hub. */
static bool
find(struct df_hub *hub, unsigned world, it_affiliated_event_t *event)
{
	for (unsigned i = 0; i < hub->events->len; i++) {
		*event = g_array_index(hub->events, it_affiliated_event_t, i);
		if (GPOINTER_TO_UINT(g_hash_table_lookup(hub->owners, cause_of(event))) !=
		    world + 1)
			continue;
		g_array_remove_index(hub->events, i);
		return true;
	}
	return false;
}

/* An event may have come, or the time is over. A thread that is alone sleeps in the dispatcher. */
static void
await(struct df_hub *hub, gint64 left)
{
	it_event_t event;

	if (hub->several) {
		g_usleep(SLICE_US);
	} else if (it_evd_wait(hub->evd, (uint64_t)left, &event, NULL) == IT_SUCCESS) {
		pthread_mutex_lock(&hub->lock);
		g_array_append_val(hub->events, event.aff_async);
		pthread_mutex_unlock(&hub->lock);
	}
}

bool
df_hub_take(struct df_hub *hub, unsigned world, gint64 deadline, it_affiliated_event_t *event)
{
	gint64 left;
	bool found;

	for (;;) {
		pthread_mutex_lock(&hub->lock);
		fetch_all(hub);
		found = find(hub, world, event);
		pthread_mutex_unlock(&hub->lock);
		left = found ? 0 : deadline - g_get_monotonic_time();
		if (left <= 0)
			return found;
		await(hub, left);
	}
}

unsigned
df_hub_held(struct df_hub *hub)
{
	unsigned held;

	pthread_mutex_lock(&hub->lock);
	fetch_all(hub);
	held = hub->events->len;
	pthread_mutex_unlock(&hub->lock);
	return held;
}

char *
df_hub_free(struct df_hub *hub)
{
	char *strange = NULL;

	fetch_all(hub);
	for (unsigned i = 0; i < hub->events->len && strange == NULL; i++) {
		const it_affiliated_event_t *event =
			&g_array_index(hub->events, it_affiliated_event_t, i);

		if (!g_hash_table_contains(hub->owners, cause_of(event)))
			strange = g_strdup_printf(
				"affiliated event %s of an object that no program has",
				it_event_name(event->event_number));
	}
	if (it_evd_free(hub->evd) != IT_SUCCESS)
		g_error("it_evd_free");
	pthread_mutex_destroy(&hub->lock);
	g_hash_table_unref(hub->owners);
	g_array_unref(hub->events);
	g_free(hub);
	return strange;
}
