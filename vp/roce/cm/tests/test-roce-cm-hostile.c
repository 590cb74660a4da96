/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Hostile peers: whole exchanges in which each octet of each datagram is changed, one at a time;
 * and random inputs from a seed, which control two managers, their users and the network
 * (cm_hostile.h).
 */
#include <string.h>

#include "cm_hostile.h"
#include "cm_sim.h"

#define PORT 7174

static void
accept_all(struct sim_node *node, const struct vrc_event *event)
{
	struct vrc_params params = sim_params(node, 0);
	struct ri_service_answer found = {.status = RI_SERVICE_FOUND, .qpn = 0x33, .qkey = 0x44};

	params.qpn = 0x22;
	if (event->cm.kind == RI_CM_REQUEST)
		g_assert_cmpint(vrc_accept(node->cm, event->number, &params), ==, RI_SUCCESS);
	else if (event->cm.kind == RI_CM_SERVICE_REQUEST)
		g_assert_cmpint(vrc_answer(node->cm, event->number, &found), ==, RI_SUCCESS);
}

/* The n-th datagram arrives with one octet changed, and then as it was sent. */
struct lie {
	guint nth;
	guint at;
	uint8_t value;
};

static void
exchange(const struct lie *lie, bool datagram)
{
	struct sim sim RI_AT_END(sim_stop);
	struct vrc_params params;
	guint64 number;
	uint8_t octets[VRC_MAD_SIZE];

	sim_start(&sim, 5);
	sim.b.on_event = accept_all;
	sim_listen(&sim.b, PORT, 4);
	params = sim_params(&sim.a, PORT);
	sim.drops[0] = lie->nth;
	if (datagram)
		g_assert_cmpint(vrc_resolve(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	else
		number = sim_connect(&sim.a, PORT);
	sim_run(&sim, sim.now + 100 * MS);
	if (lie->nth < sim.log->len) {
		memcpy(octets, g_bytes_get_data(g_ptr_array_index(sim.log, lie->nth), NULL),
		       sizeof(octets));
		octets[lie->at] ^= lie->value;
		/* REQ, RTU, SIDR_REQ and the DREQ go to b, the others to a. */
		bool to_b = octets[17] == VRC_REQ || octets[17] == VRC_RTU ||
			    octets[17] == VRC_DREQ || octets[17] == VRC_SIDR_REQ;
		sim_inject(to_b ? &sim.b : &sim.a, to_b ? &sim.a.addr : &sim.b.addr, octets,
			   sizeof(octets));
	}
	sim_run(&sim, sim.now + 5 * SEC);
	if (!datagram)
		(void)vrc_disconnect(sim.a.cm, number, NULL, 0);
	sim_run(&sim, sim.now + 1000 * SEC);
	/* The liar may leave a connection of its own at b, which the owner of b has; nothing else. */
	g_assert_cmpuint(sim_counts(&sim.a).conns, ==, 0);
	g_assert_cmpuint(sim_counts(&sim.b).conns, <=, 1);
	g_assert_cmpuint(sim_counts(&sim.b).requests, ==, 0);
	g_assert_cmpuint(
		sim_count_events(&sim.a, datagram ? RI_CM_SERVICE_REPLY : RI_CM_DISCONNECTED) +
			sim_count_events(&sim.a, RI_CM_REJECTED) +
			sim_count_events(&sim.a, RI_CM_FAILED) +
			sim_count_events(&sim.a, RI_CM_BROKEN),
		==, 1);
}

static void
test_every_octet(void)
{
	static const uint8_t values[] = {0x01, 0x80, 0xff};
	guint runs = 0;

	for (guint kind = 0; kind < 2; kind++) {
		for (guint nth = 0; nth < (kind == 0 ? 4 : 2); nth++) {
			for (guint at = 0; at < VRC_MAD_SIZE; at++, runs++) {
				struct lie lie = {nth, at, values[at % G_N_ELEMENTS(values)]};
				exchange(&lie, kind == 1);
			}
		}
	}
	g_test_message("%u runs", runs);
}

static void
test_truncated(void)
{
	struct vrc_mad req;
	struct sim sim RI_AT_END(sim_stop);
	uint8_t octets[VRC_MAD_SIZE];

	sim_start(&sim, 6);
	sim_listen(&sim.b, PORT, 4);
	sim.mute = &sim.a;
	(void)sim_connect(&sim.a, PORT);
	sim_last_mad(&sim, VRC_REQ, &req);
	vrc_mad_write(&req, octets);
	for (gsize len = 0; len < VRC_MAD_SIZE; len++) {
		g_autofree guint8 *copy =
			g_memdup2(octets, len); /* so that a read behind it is found */
		sim_inject(&sim.b, &sim.a.addr, copy, len);
	}
	g_assert_cmpuint(sim_counts(&sim.b).refused[VRC_FOUND_LENGTH], ==, VRC_MAD_SIZE);
	g_assert_cmpuint(sim_counts(&sim.b).conns, ==, 0);
	g_assert_cmpuint(sim.log->len, ==, 1);
}

/*
 * Sequences of actions of the users and the network, in the form that cm_hostile.c reads. 0x100 is
 * replaced by a random octet, 0x101 and 0x102 by random queue pairs with a two-way and a three-way
 * set-up.
 */
static const guint16 phrases[][6] = {
	{0x05, 0x101, 0, 0x04, 1}, /* a connects, two-way; time passes */
	{0x05, 0x102, 0, 0x04, 1}, /* three-way */
	{0x05, 0x100, 0, 0x04, 1},
	{0x86, 0, 0x100, 0x04, 1}, /* b accepts the newest request */
	{0x86, 0, 0x100, 0x04, 1},
	{0x87, 0x100, 0x100, 0x04, 1}, /* b rejects one */
	{0x08, 0, 0x100, 0x04, 1},     /* a confirms the newest, or refuses */
	{0x08, 0, 1, 0x04, 1},
	{0x09, 0x100, 0, 0x04, 1},            /* a leaves one */
	{0x89, 0x100, 0, 0x04, 0x100},        /* b leaves one */
	{0x0a, 0x100, 0, 0x04, 1},            /* a abandons one */
	{0x8b, 0, 0, 0x04, 0},                /* b got data of the newest */
	{0x0c, 0x20, 0, 0x04, 1, 0},          /* a asks for a service */
	{0x8d, 0, 0x100, 0x04, 1},            /* b answers the newest */
	{0x01, 0x100, 1, 0x100, 0x100, 0x04}, /* a changed copy arrives at a, */
	{0x81, 0x100, 1, 0x100, 0x100, 0x04}, /* at b */
	{0x81, 0x100, 0, 0x01, 0x100, 0},     /* copies arrive at both */
	{0x04, 0x100, 0x8f, 0x100, 0x100, 0}, /* the network changes */
	{0x100, 0x100, 0x100, 0x100, 0x100, 0x100},
};

static void
test_drawn(void)
{
	guint inputs = g_test_slow() ? 200000 : 4000;
	g_autoptr(GRand) rand = g_rand_new_with_seed(12);
	guint up = 0;

	for (guint i = 0; i < inputs; i++) {
		guint8 octets[240];
		gsize len = 0;

		while (len + G_N_ELEMENTS(phrases[0]) <= sizeof(octets)) {
			const guint16 *phrase =
				phrases[g_rand_int_range(rand, 0, G_N_ELEMENTS(phrases))];
			gsize count = phrase[5] != 0 ? 6 : 5;
			for (gsize at = 0; at < count; at++) {
				guint drawn = (guint)g_rand_int_range(rand, 0, 256);
				guint8 fixed = phrase[at] == 0x101   ? (drawn & 0xf0) | 0x20
					       : phrase[at] == 0x102 ? (drawn & 0xf0) | 0x22
								     : (guint8)phrase[at];
				octets[len++] = phrase[at] == 0x100 ? (guint8)drawn : fixed;
			}
		}
		up += cm_hostile_run(octets, len).established;
	}
	g_test_message("%u inputs, %u connections established", inputs, up);
	g_assert_cmpuint(up, >, inputs / 3); /* the inputs come that far */
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/cm/hostile/every-octet", test_every_octet);
	g_test_add_func("/roce/cm/hostile/truncated", test_truncated);
	g_test_add_func("/roce/cm/hostile/drawn", test_drawn);
	return g_test_run();
}
