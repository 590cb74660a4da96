/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A wake-up that finds another thread reading the rings: what it costs, and that nothing is lost by it. */
#include "ri_relax.h"
#include "vem_two.h"

#define OWNED 200000 /* us for which this thread has the rings */

/* What has woken a thread is there until the rings' owner is done: the thread must not look at it all the time. */
static void
test_owned(void)
{
	struct two t = two_new();

	ends_connect(t.a, t.b);
	struct vem_shm *shm = t.node[1]->rnic->fabric->shm;
	while (!atomic_load(&shm->asleep))
		g_usleep(1000);
	g_assert_cmpint(end_recv(t.b, 1, &t.cb, 0, 64), ==, RI_SUCCESS);
	vem_shm_rx_take(shm);
	g_assert_cmpint(end_send(t.a, 2, &t.ca, 0, 64), ==, RI_SUCCESS);
	g_usleep(OWNED);
	unsigned runs = atomic_load(&shm->futile);
	vem_shm_rx_drop(shm);
	poll_wait(t.b->urcq, 1, RI_WC_SUCCESS);
	poll_wait(t.a->uscq, 2, RI_WC_SUCCESS);
	g_test_message("%u runs in %u us", runs, OWNED);
	g_assert_cmpuint(runs, >, 0);
	g_assert_cmpuint(runs, <, 100 + OWNED / (RI_RELAX_NAP_NS / 1000));
	two_free(&t);
}

int
main(int argc, char **argv)
{
	char *runtime = vem_runtime_begin();

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/shm/wakes/owned", test_owned);
	int failed = g_test_run();

	return vem_runtime_end(runtime) ? failed : 1;
}
