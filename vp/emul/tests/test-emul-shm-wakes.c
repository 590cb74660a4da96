/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A wake-up that finds another thread reading the rings: what it costs, and that nothing is lost by it. */
#include "ri_relax.h"
#include "vem.h"
#include "vem_link.h"
#include "vem_node.h"
#include "vem_runtime.h"

#define OWNED 200000 /* us for which this thread has the rings */

/* What has woken a thread is there until the rings' owner is done: the thread must not look at it all the time. */
static void
test_owned(void)
{
	struct vth *vth[2] = {vth_new(true), vth_new(true)};
	struct node *node[2];
	struct end *end[2];
	struct chunk chunk[2];

	for (unsigned i = 0; i < 2; i++) {
		node[i] = node_new_patient(vth[i], "shm:ib", "60000");
		end[i] = end_new(node[i], NULL);
		chunk[i] = chunk_new(node[i], 4096, ALL_RW);
	}
	ends_connect(end[0], end[1]);
	struct vem_shm *shm = node[1]->rnic->fabric->shm;
	while (!atomic_load(&shm->asleep))
		g_usleep(1000);
	g_assert_cmpint(end_recv(end[1], 1, &chunk[1], 0, 64), ==, RI_SUCCESS);
	vem_shm_rx_take(shm);
	g_assert_cmpint(end_send(end[0], 2, &chunk[0], 0, 64), ==, RI_SUCCESS);
	g_usleep(OWNED);
	unsigned runs = atomic_load(&shm->futile);
	vem_shm_rx_drop(shm);
	poll_wait(end[1]->urcq, 1, RI_WC_SUCCESS);
	poll_wait(end[0]->uscq, 2, RI_WC_SUCCESS);
	g_test_message("%u runs in %u us", runs, OWNED);
	g_assert_cmpuint(runs, >, 0);
	g_assert_cmpuint(runs, <, 100 + OWNED / (RI_RELAX_NAP_NS / 1000));
	for (unsigned i = 0; i < 2; i++) {
		end_free(end[i]);
		chunk_free(&chunk[i]);
		node_forget(node[i]);
		node_free(node[i]);
		vth_free(vth[i]);
	}
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
