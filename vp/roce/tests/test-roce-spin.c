/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* vro_spin.h: what a polling thread learns of the processor of its peer. */
#include <glib.h>

#include "vro_spin.h"

#define PEER_NS  20000u
#define SLICE_NS 3000000u

/* Empty polls until one yields the processor, for `ns`. Returns the number of these polls; 0: none of `most` yielded it. */
static unsigned
wait_for_gift(struct vro_spin *spin, unsigned most, uint64_t ns)
{
	for (unsigned i = 1; i <= most; i++)
		if (vro_spin_vain(spin)) {
			vro_spin_gave(spin, ns);
			return i;
		}
	return 0;
}

static void
make_futile(struct vro_spin *spin)
{
	for (int i = 0; i < 2; i++) {
		g_assert_false(spin->futile);
		g_assert_cmpuint(wait_for_gift(spin, VRO_SPIN_POLLS, PEER_NS), ==, VRO_SPIN_POLLS);
		vro_spin_found(spin);
	}
	g_assert_true(spin->futile);
}

static void
test_elsewhere(void)
{
	struct vro_spin spin = {.polls = 0};

	for (int i = 0; i < 100; i++) {
		g_assert_cmpuint(wait_for_gift(&spin, VRO_SPIN_POLLS - 1, PEER_NS), ==, 0);
		vro_spin_found(&spin);
		g_assert_false(spin.futile);
	}
	/* Nobody ran: what came then came from elsewhere. */
	for (int i = 0; i < 3; i++) {
		g_assert_cmpuint(wait_for_gift(&spin, VRO_SPIN_POLLS, 300), ==, VRO_SPIN_POLLS);
		vro_spin_found(&spin);
		g_assert_false(spin.futile);
	}
}

static void
test_here(void)
{
	struct vro_spin spin = {.polls = 0};
	unsigned trials = 0;

	make_futile(&spin);
	for (int i = 0; i < 1000; i++) {
		unsigned polls = wait_for_gift(&spin, VRO_SPIN_TRIAL, PEER_NS);

		g_assert_true(polls == 1 || polls == VRO_SPIN_TRIAL);
		trials += polls == VRO_SPIN_TRIAL;
		vro_spin_found(&spin);
		vro_spin_found(&spin); /* a second batch tells nothing */
		g_assert_true(spin.futile);
	}
	g_assert_cmpuint(trials, >=, 1000 / VRO_SPIN_TRIAL_MAX);
	g_assert_cmpuint(trials, <, 30);
}

/* The peer goes to another processor: the next trial finds out. */
static void
test_moves(void)
{
	struct vro_spin spin = {.polls = 0};

	make_futile(&spin);
	for (int i = 0; i < 2 && spin.futile; i++) {
		if (wait_for_gift(&spin, 3, PEER_NS) != 0)
			vro_spin_found(&spin);
	}
	vro_spin_found(&spin);
	g_assert_false(spin.futile);
	g_assert_cmpuint(wait_for_gift(&spin, VRO_SPIN_POLLS - 1, PEER_NS), ==, 0);
}

/* A stranger on this processor costs fewer and fewer time slices. */
static void
test_stranger(void)
{
	struct vro_spin spin = {.polls = 0};
	unsigned before = VRO_SPIN_POLLS;

	for (unsigned i = 0; i < 4; i++) {
		unsigned polls = wait_for_gift(&spin, 100 * VRO_SPIN_POLLS, SLICE_NS);

		g_assert_cmpuint(polls, >=, before);
		before = 2 * polls;
		g_assert_cmpuint(wait_for_gift(&spin, 5, SLICE_NS), ==, 0);
		vro_spin_found(&spin);
		g_assert_false(spin.futile);
	}
	for (unsigned i = 0; i < 100; i++)
		g_assert_cmpuint(wait_for_gift(&spin, VRO_SPIN_POLLS << VRO_SPIN_LONGER, SLICE_NS),
				 !=, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/spin/elsewhere", test_elsewhere);
	g_test_add_func("/roce/spin/here", test_here);
	g_test_add_func("/roce/spin/moves", test_moves);
	g_test_add_func("/roce/spin/stranger", test_stranger);
	return g_test_run();
}
