/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Asynchronous events of ports, of the adapter itself, and of the limits of several S-RQs. */
#include "defect.h"

static bool
is_port(const struct ri_async_event *event)
{
	return event->event == RI_EVENT_PORT_ACTIVE || event->event == RI_EVENT_PORT_ERROR;
}

/* --- ports -------------------------------------------------------------------------------------- */

static bool
spigot_lost(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	return !is_port(event);
}

static bool
spigot_twice(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	if (is_port(event))
		wrap_plain_upcalls.async_event(rnic, event);
	return true;
}

static bool
spigot_swapped(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	if (is_port(event))
		event->event = event->event == RI_EVENT_PORT_ACTIVE ? RI_EVENT_PORT_ERROR
								    : RI_EVENT_PORT_ACTIVE;
	return true;
}

static bool
spigot_other(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	if (is_port(event))
		event->ctx++;
	return true;
}

/* The first counter has the event that is kept back. */
static bool
spigot_late(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	uint32_t before;

	if (!is_port(event))
		return true;
	before = atomic_exchange(&rnic->count[0], event->event);
	event->event = before;
	return before != RI_EVENT_NONE;
}

static bool
spigot_as_failure(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	if (event->event == RI_EVENT_PORT_ERROR) {
		event->event = RI_EVENT_DEVICE_CATASTROPHIC;
		event->object = RI_OBJECT_RNIC;
	}
	return true;
}

/* --- the adapter -------------------------------------------------------------------------------- */

static bool
failure_lost(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	return event->event != RI_EVENT_DEVICE_CATASTROPHIC;
}

static bool
failure_as_spigot(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	if (event->event == RI_EVENT_DEVICE_CATASTROPHIC) {
		event->event = RI_EVENT_PORT_ERROR;
		event->object = RI_OBJECT_PORT;
	}
	return true;
}

/* --- limits of several S-RQs -------------------------------------------------------------------- */

static bool
event_crossed(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	const struct wrap_obj *srq, *other;

	if (event->event != RI_EVENT_SRQ_LIMIT)
		return true;
	srq = wrap_find(rnic, WRAP_SRQ, event->ctx);
	other = srq != NULL ? wrap_find_other(srq) : NULL;
	if (other != NULL)
		event->ctx = other->ctx;
	return true;
}

/* The first counter tells that S-RQ, by half of its context. */
static bool
event_first(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	unsigned none = 0, half = (unsigned)event->ctx;

	if (event->event != RI_EVENT_SRQ_LIMIT)
		return true;
	return atomic_compare_exchange_strong(&rnic->count[0], &none, half) || none == half;
}

const struct defect defects_events[] = {
	DEFECT("spigot-lost", "a port's change is not reported",
	       "RI_EVENT_PORT_ACTIVE and RI_EVENT_PORT_ERROR are not raised.", 0,
	       .async = spigot_lost),
	DEFECT("spigot-twice", "a port's change is reported twice",
	       "RI_EVENT_PORT_ACTIVE and RI_EVENT_PORT_ERROR are raised twice.", 0,
	       .async = spigot_twice),
	DEFECT("spigot-swapped", "a port that goes down is said to go up",
	       "RI_EVENT_PORT_ACTIVE and RI_EVENT_PORT_ERROR are exchanged.", 0,
	       .async = spigot_swapped),
	DEFECT("spigot-other", "a port's change names another port",
	       "Events of a port name the port behind it.", 0, .async = spigot_other),
	DEFECT("spigot-late", "a port's change is reported with the next one",
	       "Each event of a port is raised when the next one is due.", 0, .async = spigot_late),
	DEFECT("spigot-as-failure", "a pulled cable is reported as a broken card",
	       "RI_EVENT_PORT_ERROR is reported as RI_EVENT_DEVICE_CATASTROPHIC.", 0,
	       .async = spigot_as_failure),
	DEFECT("failure-lost", "the failure of an adapter is not reported",
	       "RI_EVENT_DEVICE_CATASTROPHIC is not raised.", 0, .async = failure_lost),
	DEFECT("failure-as-spigot", "a broken card is reported as a pulled cable",
	       "RI_EVENT_DEVICE_CATASTROPHIC is reported as RI_EVENT_PORT_ERROR.", 0,
	       .async = failure_as_spigot),
	DEFECT("event-crossed", "a limit is reported for another S-RQ",
	       "RI_EVENT_SRQ_LIMIT names another S-RQ of the adapter, if there is one.", NEED_SRQ,
	       .async = event_crossed),
	DEFECT("event-first", "one S-RQ only has events",
	       "RI_EVENT_SRQ_LIMIT is raised for the S-RQ that had it first, and for no other.",
	       NEED_SRQ, .async = event_first),
};

const size_t defects_events_count = sizeof(defects_events) / sizeof(defects_events[0]);
