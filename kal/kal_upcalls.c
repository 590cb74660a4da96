/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Upcalls of a provider become events of the client.
 *
 * They may come on any thread, from the beginning of the provider's open until its close has returned. Events of completion
 * queues, of shared receive queues, of the adapter and of its spigots go to the client's queue; connection management
 * decides what events of queue pairs, and its own, mean.
 */
#include <string.h>

#include "kal_objects.h"

static void
on_cq(void *self, uint64_t ctx)
{
	struct kal_rnic *rnic = self;

	kal_live_event(((struct kal_cq *)(uintptr_t)ctx)->live);
	kal_events_cq(rnic->client, (struct kal_cq *)(uintptr_t)ctx);
}

static void
on_async(void *self, const struct ri_async_event *event)
{
	struct kal_rnic *rnic = self;
	struct ri_async_event out = *event;

	if (event->object == RI_OBJECT_QP) {
		kal_cm_async(rnic->cm, event);
		return;
	}
	if (event->object != RI_OBJECT_CQ && event->object != RI_OBJECT_SRQ) {
		/* Of the adapter itself or of a spigot. It may come at any time, even in open and close. */
		pthread_mutex_lock(&rnic->own_lock);
		if (rnic->open) {
			if (event->object == RI_OBJECT_PORT)
				kal_listeners_follow(rnic->cm, (uint32_t)event->ctx);
			kal_events_async(rnic->client, rnic->object.id, event);
			kal_events_kick(rnic->client);
		}
		pthread_mutex_unlock(&rnic->own_lock);
		return;
	}
	/* The contexts of these objects are the kAL's; the client gets its own context. */
	out.ctx = event->object == RI_OBJECT_CQ ? ((struct kal_cq *)(uintptr_t)event->ctx)->ctx
						: ((struct kal_srq *)(uintptr_t)event->ctx)->ctx;
	kal_events_async(rnic->client, out.ctx, &out);
	kal_events_kick(rnic->client);
}

static void
on_cm(void *self, const struct ri_cm_event *event)
{
	struct kal_rnic *rnic = self;
	struct ri_cm_event whole;

	if (rnic->provider->abi_minor < 7) {
		/* The provider's struct ends here. */
		memset(&whole, 0, sizeof(whole));
		memcpy(&whole, event, offsetof(struct ri_cm_event, reach));
		event = &whole;
	}
	kal_cm_provider_event(rnic->cm, event);
}

void
kal_upcalls_init(struct kal_rnic *rnic)
{
	rnic->upcalls = (struct ri_upcalls){.size = sizeof(rnic->upcalls),
					    .self = rnic,
					    .cq_event = on_cq,
					    .async_event = on_async,
					    .cm_event = on_cm};
}

/* Without its descriptors the adapter is of no use, whatever its provider notices. */
static void
on_loss(void *arg)
{
	const struct ri_async_event event = {.event = RI_EVENT_DEVICE_CATASTROPHIC,
					     .object = RI_OBJECT_RNIC};

	on_async(arg, &event);
}

void
kal_upcalls_pass_own(struct kal_rnic *rnic, bool open)
{
	pthread_mutex_lock(&rnic->own_lock);
	rnic->open = open;
	pthread_mutex_unlock(&rnic->own_lock);
	if (open)
		kal_loss_begin(&rnic->loss, on_loss, rnic);
	else
		kal_loss_end(&rnic->loss);
}
