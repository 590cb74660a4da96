/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "cm_hostile.h"

#include <string.h>

#include "cm_sim.h"

#define PORT      7174
#define OPS_MAX   200
#define RECENT    32
#define CONNS_MAX 128 /* as cm_sim.c configures */

/* What the owner of a node knows. */
struct owner {
	GArray *numbers;   /* guint64: all that it has ever had */
	GHashTable *ended; /* number -> kind of its end */
	struct vrc_listen *listen;
};

struct input {
	const uint8_t *at;
	size_t left;
};

static uint8_t
take(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static void
owner_add(struct owner *owner, guint64 number)
{
	g_array_append_val(owner->numbers, number);
}

static guint64
owner_pick(struct owner *owner, struct input *in)
{
	uint8_t which = take(in);

	if (owner->numbers->len == 0 || which == 255)
		return which * G_GUINT64_CONSTANT(0x100000001);
	/* The newest ones are the likeliest to be alive. */
	guint back = which % MIN(owner->numbers->len, 16);
	return g_array_index(owner->numbers, guint64, owner->numbers->len - 1 - back);
}

/* Each end once, and nothing behind it but the end of the time-wait. */
static void
event_check(struct owner *owner, const struct vrc_event *event)
{
	guint kind = event->cm.kind;
	gpointer key = GSIZE_TO_POINTER(event->number);
	guint end = GPOINTER_TO_UINT(g_hash_table_lookup(owner->ended, key));

	g_assert_cmpuint(event->cm.pdata_len, <=, VRC_PRIVATE_MAX);
	g_assert_cmpuint(kind, >, RI_CM_NONE);
	g_assert_cmpuint(kind, <, RI_CM_KIND_COUNT);
	if (kind == RI_CM_TIME_WAIT_OVER) {
		g_assert_cmpuint(end, !=, RI_CM_TIME_WAIT_OVER);
	} else if (kind == RI_CM_ESTABLISHED || kind == RI_CM_REPLY) {
		g_assert_cmpuint(end, ==, 0);
		g_assert_cmpuint(event->cm.reach.qpn, >=, VRC_QPN_MIN);
		g_assert_cmpuint(event->cm.reach.path_mtu, >=, 256);
		g_assert_cmpuint(event->cm.reach.path_mtu, <=, 1024);
		g_assert_cmpuint(event->cm.reach.timeout, >=, 8);
		g_assert_cmpuint(event->cm.reach.timeout, <=, 22);
		g_assert_cmpuint(event->cm.reach.sq_psn, <=, 0xffffff);
		return;
	} else if (kind == RI_CM_REQUEST || kind == RI_CM_SERVICE_REQUEST) {
		g_assert_cmpuint(end, ==, 0);
		owner_add(owner, event->number);
		return;
	} else {
		g_assert_cmpuint(end, ==, 0);
	}
	g_hash_table_insert(owner->ended, key, GUINT_TO_POINTER(kind));
}

static void
on_event(struct sim_node *node, const struct vrc_event *event)
{
	event_check(node->app, event);
}

/* --- the network ---------------------------------------------------------------------------- */

/* A well-formed header, and the body that the input says. */
static void
net_compose(struct sim_node *to, struct input *in)
{
	uint8_t octets[VRC_MAD_SIZE] = {1, 7, 2, 3};
	size_t len = take(in);

	octets[17] = (uint8_t)(VRC_REQ + take(in) % 12);
	octets[15] = take(in);
	for (size_t i = 0; i < len && i < VRC_MAD_SIZE - 24; i++)
		octets[24 + i] = take(in);
	sim_inject(to, &to->other->addr, octets, sizeof(octets));
}

/* One of the newest datagrams, from either side to either side, with a few octets changed. */
static void
net_replay(struct sim_node *to, struct input *in)
{
	struct sim *sim = to->sim;
	uint8_t octets[VRC_MAD_SIZE];
	uint8_t choice = take(in);

	if (sim->log->len == 0)
		return;
	guint back = choice % MIN(sim->log->len, RECENT);
	memcpy(octets,
	       g_bytes_get_data(g_ptr_array_index(sim->log, sim->log->len - 1 - back), NULL),
	       sizeof(octets));
	for (uint8_t changes = take(in) % 5; changes > 0; changes--) {
		uint8_t at = take(in);
		octets[at] = take(in);
	}
	sim_inject(to, choice > 250 ? &to->addr : &to->other->addr, octets, sizeof(octets));
}

static void
net_garbage(struct sim_node *to, struct input *in)
{
	uint8_t octets[VRC_MAD_SIZE + 8] = {0};
	size_t len = take(in);
	size_t total = len > 200 ? len + 64 : len; /* to 319, of which not all is sent */

	for (size_t i = 0; i < len; i++)
		octets[i] = take(in);
	sim_inject(to, &to->other->addr, octets, MIN(total, sizeof(octets)));
}

/* --- the owners ----------------------------------------------------------------------------- */

static void
call_connect(struct sim_node *node, struct input *in, bool datagram)
{
	uint8_t choice = take(in);
	struct vrc_params params = sim_params(node, PORT + choice % 2);
	guint64 number = 0;

	params.three_way = (choice & 2) != 0;
	params.qpn = choice >> 4; /* 0 and 1 are refused */
	params.pdata = "private";
	params.pdata_len = take(in) % 64;
	if (params.pdata_len > 8)
		params.pdata_len = 0;
	if ((choice & 4) != 0)
		params.deadline = node->sim->now + take(in) * 100 * MS;
	if ((datagram ? vrc_resolve(node->cm, &params, &number)
		      : vrc_connect(node->cm, &params, &number)) == RI_SUCCESS)
		owner_add(node->app, number);
}

static void
call_listen(struct sim_node *node, struct input *in)
{
	struct owner *owner = node->app;
	uint8_t choice = take(in);
	struct ri_service service = {.kind = RI_SERVICE_PORT,
				     .port = GUINT16_TO_BE((guint16)(PORT + choice % 2))};

	if (owner->listen != NULL)
		vrc_listen_free(node->cm, owner->listen);
	owner->listen = NULL;
	if ((choice & 2) == 0)
		g_assert_cmpint(vrc_listen(node->cm, choice, &service, choice >> 4, &owner->listen),
				==, RI_SUCCESS);
}

static void
call_one(struct sim_node *node, struct input *in, unsigned which)
{
	guint64 number = owner_pick(node->app, in);
	uint8_t choice = take(in);
	struct vrc_params params = sim_params(node, 0);
	struct ri_service_answer answer = {.status = choice % 7u, .qpn = choice, .qkey = 1};

	params.qpn = 2u + choice;
	switch (which) {
	case 6:
		(void)vrc_accept(node->cm, number, &params);
		break;
	case 7:
		(void)vrc_reject(node->cm, number, (enum ri_cm_reason)(choice % 9), NULL, 0);
		break;
	case 8:
		(void)vrc_confirm(node->cm, number, choice % 2, NULL, 0);
		break;
	case 9:
		(void)vrc_disconnect(node->cm, number, NULL, 0);
		break;
	case 10:
		vrc_abandon(node->cm, number);
		break;
	case 11:
		vrc_data_arrived(node->cm, number);
		break;
	default:
		(void)vrc_answer(node->cm, number, &answer);
		break;
	}
}

/* --- a run ---------------------------------------------------------------------------------- */

static void
step(struct sim *sim, struct input *in)
{
	uint8_t op = take(in);
	struct sim_node *node = op & 0x80 ? &sim->b : &sim->a;

	switch (op & 15) {
	case 0:
		net_compose(node, in);
		break;
	case 1:
	case 2:
		net_replay(node, in);
		break;
	case 3:
		net_garbage(node, in);
		break;
	case 4: {
		guint64 time = take(in);
		sim_run(sim, sim->now + time * time * MS);
		break;
	}
	case 5:
		call_connect(node, in, false);
		break;
	case 12:
		call_connect(node, in, true);
		break;
	case 14:
		call_listen(node, in);
		break;
	case 15:
		sim->loss = take(in) / 400.0;
		sim->twice = take(in) / 400.0;
		break;
	default:
		call_one(node, in, op & 15);
		break;
	}
	sim_settle(sim);
	g_assert_cmpuint(sim_counts(node).conns, <=, CONNS_MAX);
	g_assert_cmpuint(sim_counts(node).requests, <=, 64);
}

/* Whatever has happened: when the owners want nothing any more, nothing is left after a bounded time. */
static void
end(struct sim *sim)
{
	struct sim_node *nodes[2] = {&sim->a, &sim->b};

	for (guint i = 0; i < 2; i++) {
		struct owner *owner = nodes[i]->app;
		for (guint n = 0; n < owner->numbers->len; n++)
			vrc_abandon(nodes[i]->cm, g_array_index(owner->numbers, guint64, n));
	}
	guint64 begun = sim->now;
	sim_run(sim, RI_NEVER);
	g_assert_cmpuint(sim->now - begun, <, 4000 * SEC);
	g_assert_cmpuint(sim_counts(&sim->a).conns, ==, 0);
	g_assert_cmpuint(sim_counts(&sim->b).conns, ==, 0);
	g_assert_cmpuint(sim_counts(&sim->a).requests + sim_counts(&sim->b).requests, ==, 0);
}

struct cm_hostile_sums
cm_hostile_run(const uint8_t *octets, size_t len)
{
	struct input in = {.at = octets, .left = len};
	struct owner owners[2] = {0};
	struct sim sim;

	sim_start(&sim, 11);
	for (guint i = 0; i < 2; i++) {
		struct sim_node *node = i == 0 ? &sim.a : &sim.b;
		owners[i].numbers = g_array_new(FALSE, FALSE, sizeof(guint64));
		owners[i].ended = g_hash_table_new(NULL, NULL);
		node->app = &owners[i];
		node->on_event = on_event;
	}
	owners[1].listen = sim_listen(&sim.b, PORT, 8);
	for (guint ops = 0; ops < OPS_MAX && in.left > 0; ops++)
		step(&sim, &in);
	end(&sim);
	struct cm_hostile_sums sums = {
		.established = sim_count_events(&sim.a, RI_CM_ESTABLISHED) +
			       sim_count_events(&sim.b, RI_CM_ESTABLISHED),
		.datagrams = sim.received,
	};
	sim_stop(&sim);
	for (guint i = 0; i < 2; i++) {
		g_array_free(owners[i].numbers, TRUE);
		g_hash_table_destroy(owners[i].ended);
	}
	return sums;
}
