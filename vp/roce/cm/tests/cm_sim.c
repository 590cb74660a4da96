/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "cm_sim.h"

#include <string.h>

struct flight {
	uint64_t at;
	guint number;
	struct sim_node *to;
	uint8_t octets[VRC_MAD_SIZE];
};

static uint64_t
sim_now(void *self)
{
	return ((struct sim *)self)->now;
}

static void
sim_random(void *self, void *buf, size_t len)
{
	struct sim *sim = self;
	uint8_t *to = buf;

	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)g_rand_int_range(sim->rand, 0, 256);
}

static bool
is_dropped(struct sim *sim, const struct sim_node *from, const uint8_t *octets)
{
	for (gsize i = 0; i < G_N_ELEMENTS(sim->drops); i++) {
		if (sim->drops[i] == sim->sent)
			return true;
	}
	if (sim->mute == from || (sim->drop_kind != 0 && octets[17] == sim->drop_kind))
		return true;
	return g_rand_double(sim->rand) < sim->loss;
}

static void
fly(struct sim *sim, struct sim_node *to, const uint8_t *octets)
{
	struct flight *flight = g_new(struct flight, 1);

	flight->at = sim->now + sim->delay_min;
	if (sim->delay_max > sim->delay_min)
		flight->at += (uint64_t)(g_rand_double(sim->rand) *
					 (double)(sim->delay_max - sim->delay_min));
	flight->number = sim->sent;
	flight->to = to;
	memcpy(flight->octets, octets, VRC_MAD_SIZE);
	g_ptr_array_add(sim->flying, flight);
}

static void
sim_send(void *self, const struct vrc_path *path, const uint8_t *octets)
{
	struct sim_node *from = self;
	struct sim *sim = from->sim;

	g_ptr_array_add(sim->log, g_bytes_new(octets, VRC_MAD_SIZE));
	bool ours = memcmp(&path->local, &from->addr, sizeof(path->local)) == 0 &&
		    memcmp(&path->peer, &from->other->addr, sizeof(path->peer)) == 0;
	if (ours && !is_dropped(sim, from, octets)) {
		fly(sim, from->other, octets);
		if (g_rand_double(sim->rand) < sim->twice)
			fly(sim, from->other, octets);
	}
	sim->sent++;
}

static void
node_start(struct sim *sim, struct sim_node *node, struct sim_node *other, guint8 last)
{
	struct vrc_config config = {.host = &sim->host,
				    .send = sim_send,
				    .self = node,
				    .path_mtu = 1024,
				    .ack_delay = 15,
				    .max_requests = 64,
				    .max_conns = 128};

	node->sim = sim;
	node->other = other;
	node->addr = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {192, 0, 2, last}};
	node->events = g_array_new(FALSE, FALSE, sizeof(struct vrc_event));
	node->cm = vrc_cm_new(&config);
	g_assert_nonnull(node->cm);
}

void
sim_start(struct sim *sim, guint32 seed)
{
	memset(sim, 0, sizeof(*sim));
	sim->rand = g_rand_new_with_seed(seed);
	sim->now = 1000 * SEC;
	sim->host = (struct ri_host){
		.size = sizeof(sim->host), .self = sim, .now = sim_now, .random = sim_random};
	sim->flying = g_ptr_array_new_with_free_func(g_free);
	sim->log = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
	sim->delay_min = sim->delay_max = MS;
	memset(sim->drops, 0xff, sizeof(sim->drops));
	node_start(sim, &sim->a, &sim->b, 1);
	node_start(sim, &sim->b, &sim->a, 2);
}

void
sim_stop(struct sim *sim)
{
	vrc_cm_free(sim->a.cm);
	vrc_cm_free(sim->b.cm);
	g_array_free(sim->a.events, TRUE);
	g_array_free(sim->b.events, TRUE);
	g_ptr_array_free(sim->flying, TRUE);
	g_ptr_array_free(sim->log, TRUE);
	g_rand_free(sim->rand);
}

static bool
node_take(struct sim_node *node)
{
	struct vrc_event event;
	bool any = false;

	while (vrc_cm_next(node->cm, &event)) {
		any = true;
		g_array_append_val(node->events, event);
		if (node->on_event != NULL)
			node->on_event(node, &event);
	}
	return any;
}

static struct flight *
first_flight(struct sim *sim)
{
	struct flight *first = NULL;

	for (guint i = 0; i < sim->flying->len; i++) {
		struct flight *flight = g_ptr_array_index(sim->flying, i);
		if (first == NULL || flight->at < first->at ||
		    (flight->at == first->at && flight->number < first->number))
			first = flight;
	}
	return first;
}

static void
deliver(struct sim *sim, struct flight *flight)
{
	struct vrc_path path = {.local = flight->to->addr, .peer = flight->to->other->addr};

	flight->to->sim->received++;
	vrc_cm_receive(flight->to->cm, &path, flight->octets, VRC_MAD_SIZE);
	g_ptr_array_remove(sim->flying, flight);
}

void
sim_settle(struct sim *sim)
{
	while (node_take(&sim->a) || node_take(&sim->b))
		;
}

void
sim_run(struct sim *sim, uint64_t until)
{
	for (;;) {
		sim_settle(sim);
		struct flight *flight = first_flight(sim);
		uint64_t due = MIN(vrc_cm_due(sim->a.cm), vrc_cm_due(sim->b.cm));
		uint64_t next = flight != NULL ? MIN(due, flight->at) : due;

		if (next == RI_NEVER || next > until)
			break;
		sim->now = MAX(sim->now, next);
		if (flight != NULL && flight->at <= sim->now)
			deliver(sim, flight);
		if (vrc_cm_due(sim->a.cm) <= sim->now)
			vrc_cm_expire(sim->a.cm);
		if (vrc_cm_due(sim->b.cm) <= sim->now)
			vrc_cm_expire(sim->b.cm);
		/* A timer that fired must not become due again at the same moment without end. */
		g_assert_cmpuint(sim->sent, <, 1000000);
	}
	if (until != RI_NEVER)
		sim->now = MAX(sim->now, until);
}

void
sim_inject(struct sim_node *to, const struct ri_addr *from, const void *octets, gsize len)
{
	struct vrc_path path = {.local = to->addr, .peer = *from};

	to->sim->received++;
	vrc_cm_receive(to->cm, &path, octets, len);
	sim_settle(to->sim);
}

void
sim_inject_mad(struct sim_node *to, const struct vrc_mad *mad)
{
	uint8_t octets[VRC_MAD_SIZE];

	vrc_mad_write(mad, octets);
	sim_inject(to, &to->other->addr, octets, sizeof(octets));
}

void
sim_last_mad(struct sim *sim, guint16 attribute, struct vrc_mad *mad)
{
	memset(mad, 0, sizeof(*mad));
	for (guint i = sim->log->len; i > 0; i--) {
		gsize len;
		const void *octets = g_bytes_get_data(g_ptr_array_index(sim->log, i - 1), &len);
		if (vrc_mad_read(octets, len, mad) == VRC_FOUND_CM && mad->attribute == attribute)
			return;
	}
	g_error("no %s was sent", vrc_attribute_name(attribute));
}

guint
sim_count_mads(struct sim *sim, guint16 attribute)
{
	guint count = 0;

	for (guint i = 0; i < sim->log->len; i++) {
		const uint8_t *octets = g_bytes_get_data(g_ptr_array_index(sim->log, i), NULL);
		count += octets[17] == attribute;
	}
	return count;
}

struct vrc_params
sim_params(struct sim_node *node, guint port)
{
	return (struct vrc_params){
		.path = {.local = node->addr, .peer = node->other->addr},
		.service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE((guint16)port)},
		.ctx = 77,
		.qpn = 0x11,
		.mtu = 1024,
		.ird = 4,
		.ord = 8,
		.retry_count = 7,
		.rnr_retry = 6,
		.deadline = RI_NEVER,
	};
}

struct vrc_listen *
sim_listen(struct sim_node *node, guint port, guint backlog)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE((guint16)port)};
	struct vrc_listen *listen = NULL;

	g_assert_cmpint(vrc_listen(node->cm, 55, &service, backlog, &listen), ==, RI_SUCCESS);
	return listen;
}

guint64
sim_connect(struct sim_node *node, guint port)
{
	struct vrc_params params = sim_params(node, port);
	guint64 number = 0;

	g_assert_cmpint(vrc_connect(node->cm, &params, &number), ==, RI_SUCCESS);
	return number;
}

const struct vrc_event *
sim_event(struct sim_node *node, enum ri_cm_event_kind kind, guint n)
{
	for (guint i = 0; i < node->events->len; i++) {
		const struct vrc_event *event = &g_array_index(node->events, struct vrc_event, i);
		if (event->cm.kind == kind && n-- == 0)
			return event;
	}
	return NULL;
}

guint
sim_count_events(struct sim_node *node, enum ri_cm_event_kind kind)
{
	guint count = 0;

	for (guint i = 0; i < node->events->len; i++)
		count += g_array_index(node->events, struct vrc_event, i).cm.kind == kind;
	return count;
}

struct vrc_counts
sim_counts(struct sim_node *node)
{
	struct vrc_counts counts;

	vrc_cm_counts(node->cm, &counts);
	return counts;
}
