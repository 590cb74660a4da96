/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The states of a lease against a table of the test, and the sums of the ledger against a model that counts each amount. */
#include <glib.h>

#include "kald_ledger.h"

/* State after state and event; -1: it cannot be. Written from the text of kald_lease.h. */
static int
expected(enum kald_lease_state state, enum kald_lease_event event)
{
	switch (event) {
	case KALD_LEASE_END:
	case KALD_LEASE_EMPTY:
		return KALD_LEASE_NONE;
	case KALD_LEASE_LEND: /* does not answer a recall */
		return state == KALD_LEASE_NONE ? KALD_LEASE_HELD : (int)state;
	case KALD_LEASE_RETURN: /* answers it, even late */
		return state == KALD_LEASE_NONE ? KALD_LEASE_NONE : KALD_LEASE_HELD;
	case KALD_LEASE_RECALL: /* once, and of something */
		return state == KALD_LEASE_HELD ? KALD_LEASE_RECALLED : -1;
	case KALD_LEASE_EXPIRE:
		return state == KALD_LEASE_RECALLED ? KALD_LEASE_LATE : -1;
	case KALD_LEASE_EVENTS:
	default:
		g_assert_not_reached();
	}
}

static void
test_states(void)
{
	for (int state = 0; state < KALD_LEASE_STATES; state++)
		for (int event = 0; event < KALD_LEASE_EVENTS; event++)
			g_assert_cmpint(kald_lease_next(state, event), ==, expected(state, event));
}

#define PROCESSES 6
#define LIMIT     500u /* of objects of a user */

static void
limits(void *arg, struct kald_account *account)
{
	(void)arg;
	for (unsigned r = 0; r < KAL_RESOURCE_COUNT; r++)
		account->limits[r] = KAL_UNLIMITED;
	if (account->level == KALD_LEVEL_USER)
		account->limits[KAL_RESOURCE_QP] = LIMIT;
	if (account->level == KALD_LEVEL_PROCESS)
		account->limits[KAL_RESOURCE_QP] = LIMIT / 2;
	if (account->level == KALD_LEVEL_GROUP)
		account->limits[KAL_RESOURCE_MEMORY] = UINT64_C(1) << 30;
}

static struct {
	struct kald_ledger *ledger;
	struct kald_borrower borrowers[PROCESSES];
	bool joined[PROCESSES];
	uint64_t has[PROCESSES][KAL_RESOURCE_COUNT];
	enum kald_lease_state state[PROCESSES][KAL_RESOURCE_COUNT];
} w;

/* Processes 0 to 2 are of user 100, the others of 101; all are of group 7. */
static void
check_sums(void)
{
	for (unsigned r = 0; r < KAL_RESOURCE_COUNT; r++) {
		uint64_t user[2] = {0, 0};

		for (unsigned i = 0; i < PROCESSES; i++) {
			const struct kald_account *one =
				kald_ledger_find(w.ledger, KALD_LEVEL_PROCESS, 1000 + i);

			g_assert_true((one != NULL) == w.joined[i]);
			user[i / 3] += w.has[i][r];
			if (one != NULL)
				g_assert_cmpuint(one->lent[r], ==, w.has[i][r]);
			if (one != NULL)
				g_assert_cmpint(w.borrowers[i].leases[r].state, ==, w.state[i][r]);
		}
		for (unsigned u = 0; u < 2; u++) {
			const struct kald_account *one =
				kald_ledger_find(w.ledger, KALD_LEVEL_USER, 100 + u);

			g_assert_cmpuint(one != NULL ? one->lent[r] : 0, ==, user[u]);
		}
		const struct kald_account *group = kald_ledger_find(w.ledger, KALD_LEVEL_GROUP, 7);

		g_assert_cmpuint(group != NULL ? group->lent[r] : 0, ==, user[0] + user[1]);
		if (r == KAL_RESOURCE_QP) {
			g_assert_cmpuint(user[0], <=, LIMIT);
			g_assert_cmpuint(user[1], <=, LIMIT);
		}
	}
}

static void
step_lend(unsigned i, unsigned r, GRand *rand)
{
	uint64_t need = (uint64_t)g_rand_int_range(rand, 1, 200);
	const struct kald_account *full = NULL;
	uint64_t user = 0, room = UINT64_MAX, lent;

	if (r == KAL_RESOURCE_MEMORY)
		need <<= 20;
	for (unsigned j = i / 3 * 3; j < i / 3 * 3 + 3; j++)
		user += w.has[j][r];
	if (r == KAL_RESOURCE_QP)
		room = MIN(LIMIT - user, LIMIT / 2 - w.has[i][r]);
	if (r == KAL_RESOURCE_MEMORY) {
		room = UINT64_C(1) << 30;
		for (unsigned j = 0; j < PROCESSES; j++)
			room -= w.has[j][r];
	}
	lent = kald_ledger_lend(&w.borrowers[i], r, need, g_rand_boolean(rand), &full);
	if (need > room) {
		g_assert_cmpuint(lent, ==, 0);
		g_assert_nonnull(full);
		g_assert_cmpuint(full->limits[r] - full->lent[r], ==, room);
		return;
	}
	g_assert_cmpuint(lent, >=, need);
	g_assert_cmpuint(lent, <=, room);
	w.has[i][r] += lent;
	w.state[i][r] = (enum kald_lease_state)expected(w.state[i][r], KALD_LEASE_LEND);
}

static void
step_return(unsigned i, unsigned r, GRand *rand)
{
	uint64_t amount = (uint64_t)(g_rand_double(rand) * 1.3 * (double)(w.has[i][r] + 1));
	bool can = amount <= w.has[i][r];

	g_assert_true(kald_ledger_return(&w.borrowers[i], r, amount) == can);
	if (!can)
		return;
	w.has[i][r] -= amount;
	w.state[i][r] = (enum kald_lease_state)expected(
		w.state[i][r], w.has[i][r] == 0 ? KALD_LEASE_EMPTY : KALD_LEASE_RETURN);
}

static void
step_end(unsigned i)
{
	kald_ledger_leave(w.ledger, &w.borrowers[i]);
	w.joined[i] = false;
	memset(w.has[i], 0, sizeof(w.has[i]));
	memset(w.state[i], 0, sizeof(w.state[i]));
}

static void
step(GRand *rand)
{
	static const enum kal_resource kinds[] = {KAL_RESOURCE_QP, KAL_RESOURCE_MR,
						  KAL_RESOURCE_MEMORY};
	unsigned i = (unsigned)g_rand_int_range(rand, 0, PROCESSES);
	unsigned r = kinds[g_rand_int_range(rand, 0, G_N_ELEMENTS(kinds))];
	const uint32_t ids[KALD_LEVEL_COUNT] = {1000 + i, 100 + i / 3, 7};
	enum kald_lease_event event = g_rand_boolean(rand) ? KALD_LEASE_RECALL : KALD_LEASE_EXPIRE;
	int next;

	if (!w.joined[i]) {
		kald_ledger_join(w.ledger, &w.borrowers[i], ids);
		w.joined[i] = true;
		return;
	}
	switch (g_rand_int_range(rand, 0, 9)) {
	case 0:
		if (g_rand_int_range(rand, 0, 5) == 0)
			step_end(i);
		return;
	case 1:
	case 2:
		next = expected(w.state[i][r], event);
		g_assert_true(kald_ledger_step(&w.borrowers[i], r, event) == (next >= 0));
		if (next >= 0)
			w.state[i][r] = (enum kald_lease_state)next;
		return;
	case 3:
	case 4:
	case 5:
		step_return(i, r, rand);
		return;
	default:
		step_lend(i, r, rand);
		return;
	}
}

static void
test_sums(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(20261128);

	w.ledger = kald_ledger_new(limits, NULL);
	for (unsigned i = 0; i < 40000; i++) {
		step(rand);
		check_sums();
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		if (w.joined[i])
			step_end(i);
	check_sums();
	kald_ledger_free(w.ledger);
}

/* What is lent beyond the need: nothing that is not there, and as much again where there is plenty. */
static void
test_surplus(void)
{
	static const uint32_t ids[] = {1, 2, 3};
	struct kald_ledger *ledger = kald_ledger_new(limits, NULL);
	const struct kald_account *full;
	struct kald_borrower b;

	kald_ledger_join(ledger, &b, ids);
	g_assert_cmpuint(kald_ledger_lend(&b, KAL_RESOURCE_MR, 1, false, &full), ==, 65);
	g_assert_cmpuint(kald_ledger_lend(&b, KAL_RESOURCE_MR, 1000, false, &full), ==, 1065);
	g_assert_cmpuint(kald_ledger_lend(&b, KAL_RESOURCE_MR, 1, false, &full), ==, 1131);
	g_assert_cmpuint(kald_ledger_lend(&b, KAL_RESOURCE_MR, 1, true, &full), ==, 2262);
	g_assert_cmpuint(kald_ledger_lend(&b, KAL_RESOURCE_QP, 1, true, &full), ==, 65);
	g_assert_cmpuint(kald_ledger_lend(&b, KAL_RESOURCE_QP, 1, true, &full), ==, 65);
	g_assert_true(kald_ledger_return(&b, KAL_RESOURCE_QP, 130));
	g_assert_cmpuint(kald_ledger_lend(&b, KAL_RESOURCE_QP, LIMIT / 2 - 3, false, &full), ==,
			 LIMIT / 2);
	g_assert_cmpuint(kald_ledger_lend(&b, KAL_RESOURCE_QP, 1, false, &full), ==, 0);
	g_assert_cmpint(full->level, ==, KALD_LEVEL_PROCESS);
	g_assert_cmpuint(kald_ledger_claim(&b, KAL_RESOURCE_QP, 1), ==, 0);
	g_assert_true(kald_ledger_return(&b, KAL_RESOURCE_QP, 10));
	g_assert_cmpuint(kald_ledger_claim(&b, KAL_RESOURCE_QP, 100), ==, 10);
	/* Amounts that would overflow a sum. */
	g_assert_cmpuint(kald_ledger_lend(&b, KAL_RESOURCE_MR, UINT64_MAX, false, &full), ==, 0);
	g_assert_cmpuint(kald_ledger_claim(&b, KAL_RESOURCE_MR, UINT64_MAX), ==,
			 UINT64_MAX - 65 - 1065 - 1131 - 2262);
	g_assert_cmpuint(kald_ledger_lend(&b, KAL_RESOURCE_MR, 1, false, &full), ==, 0);
	kald_ledger_leave(ledger, &b);
	kald_ledger_free(ledger);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kald/ledger/states", test_states);
	g_test_add_func("/kald/ledger/sums", test_sums);
	g_test_add_func("/kald/ledger/surplus", test_surplus);
	return g_test_run();
}
