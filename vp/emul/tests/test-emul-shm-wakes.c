/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Threads that are woken, or look, for what a peer writes: what it costs them, and that nothing is lost by it. */
#include <poll.h>

#include "ri_relax.h"
#include "vem_two.h"

#define OWNED 200000 /* us for which this thread has the rings */
#define LOOKS 100
#define ASKED 8 /* times that a thread which was woken asks for the time, at most */

static struct ri_host real;
static _Thread_local unsigned asked;
static struct vem_link *_Atomic fills; /* its reader reads all when its writer is awake, once */

/* Of the reader: all is read, and the writer is woken if it asks for that. */
static void
all_read(struct vem_link *link)
{
	struct vem_ring_entry entry;

	while (vem_ring_look(&link->in, &entry))
		vem_ring_take(&link->in, &entry);
	if (vem_ring_release(&link->in) && vem_ring_must_wake(&link->out))
		vem_link_wake(link);
}

static uint64_t
host_now(void *self)
{
	struct vem_link *link = atomic_load(&fills);

	asked++;
	if (link != NULL && atomic_load(&link->out_page->asleep) == 0 &&
	    atomic_compare_exchange_strong(&fills, &link, NULL))
		all_read(link);
	return real.now(self);
}

static void
prepare(struct ri_host *host)
{
	if (real.now == NULL)
		real = *host;
	host->now = host_now;
}

/* The adapter whose peers wake its service thread. */
static struct vem_shm *
sleeper_of(const struct two *t)
{
	struct vem_shm *shm = t->node[1]->rnic->fabric->shm;

	while (!atomic_load(&shm->asleep))
		g_usleep(1000);
	return shm;
}

/* What has woken a thread is there until the rings' owner is done: the thread must not look at it all the time. */
static void
test_owned(void)
{
	struct two t RI_AT_END(two_free) = two_new();

	ends_connect(t.a, t.b);
	struct vem_shm *shm = sleeper_of(&t);
	g_assert_cmpint(end_recv(t.b, 1, &t.cb, 0, 64), ==, RI_SUCCESS);
	vem_shm_rx_take(shm);
	g_assert_cmpint(end_send(t.a, 2, &t.ca, 0, 64), ==, RI_SUCCESS);
	g_usleep(OWNED);
	unsigned runs = atomic_load(&shm->leader.futile);
	vem_shm_rx_drop(shm);
	poll_wait(t.b->urcq, 1, RI_WC_SUCCESS);
	poll_wait(t.a->uscq, 2, RI_WC_SUCCESS);
	g_test_message("%u runs in %u us", runs, OWNED);
	g_assert_cmpuint(runs, >, 0);
	g_assert_cmpuint(runs, <, 100 + OWNED / (RI_RELAX_NAP_NS / 1000));
}

/* A thread that looks again and again before it sleeps needs no wake-ups: the peers do not make them. */
static void
test_looks(void)
{
	struct two t RI_AT_END(two_free) = two_new();

	ends_connect(t.a, t.b);
	struct vem_shm *shm = sleeper_of(&t);
	unsigned awake = 0;
	/* The service thread sleeps again if this one was stopped for long. */
	for (unsigned i = 0; i < LOOKS; i++) {
		(void)vem_shm_bell_progress(t.node[1]->rnic, 16);
		awake += !atomic_load(&shm->asleep);
	}
	g_assert_cmpuint(awake, >, LOOKS / 2);
}

/* A leader that was woken for a completion goes back to its program. It does not look for more first. */
static void
test_fired(void)
{
	struct two t RI_AT_END(two_free) = two_new_with(prepare);
	struct ri_rnic *rnic = t.node[1]->rnic;
	int fd = -1;

	ends_connect(t.a, t.b);
	(void)sleeper_of(&t);
	g_assert_cmpint(end_recv(t.b, 1, &t.cb, 0, 64), ==, RI_SUCCESS);
	g_assert_true(vem_shm_bell_enter(rnic, &fd));
	(void)vem_shm_bell_progress(rnic, 16);
	g_assert_cmpint(emul()->fast->arm_cq(t.b->urcq, RI_ARM_NEXT, 0), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(t.a, 2, &t.ca, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1), ==, 1);
	asked = 0;
	(void)vem_shm_bell_progress(rnic, 16);
	g_test_message("%u times", asked);
	g_assert_cmpuint(asked, <=, ASKED);
	vem_shm_bell_leave(rnic);
	poll_wait(t.b->urcq, 1, RI_WC_SUCCESS);
	poll_wait(t.a->uscq, 2, RI_WC_SUCCESS);
}

/* Room for a writer comes while it is about to sleep, so that nobody wakes it: it looks before it does. */
static void
test_room(void)
{
	struct two t = two_new_with(prepare);

	connect_at(t.a, t.b, PORT);
	struct vem_link *link = atomic_load(&end_qp(t.a)->remote)->link;
	struct vem_link *writer = atomic_load(&end_qp(t.b)->remote)->link;
	for (unsigned round = 0; round < LOOKS / 10; round++) {
		vem_shm_rx_take(
			link->shm); /* this thread reads for the one side, nobody for the other */
		g_assert_cmpint(end_write(t.b, round, &t.cb, &t.ca, SIZE), ==, RI_SUCCESS);
		g_assert_true(atomic_load(&writer->starved));
		(void)sleeper_of(&t);
		atomic_store(&fills, link);
		vsw_leader_request_run(&writer->shm->leader);
		for (gint64 deadline = node_deadline(); atomic_load(&writer->starved);
		     g_usleep(500))
			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		g_assert_null(atomic_load(&fills));
		/* The rest is there; nobody acknowledges the whole. */
		back_to_idle(t.b);
		vem_shm_rx_drop(link->shm);
		back_to_idle(t.a);
		connect_at(t.a, t.b, PORT);
		link = atomic_load(&end_qp(t.a)->remote)->link;
		writer = atomic_load(&end_qp(t.b)->remote)->link;
	}
	two_free(&t);
}

int
main(int argc, char **argv)
{
	char *runtime = vem_runtime_begin();

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/shm/wakes/owned", test_owned);
	g_test_add_func("/emul/shm/wakes/looks", test_looks);
	g_test_add_func("/emul/shm/wakes/fired", test_fired);
	g_test_add_func("/emul/shm/wakes/room", test_room);
	int failed = g_test_run();

	return vem_runtime_end(runtime) ? failed : 1;
}
