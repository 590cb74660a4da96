/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The ACK of a message between processes may wait for the program's answer, which carries it.
 * Whatever the program does instead of answering, the ACK must arrive, and it must arrive before
 * the answer.
 */
#include <sys/wait.h>

#include "vem_two.h"

#define OCTETS     64u
#define TALK       8u
#define LONG_TICKS 500 /* times that one is seen */

static const char *adapter, *self;

/* A connection, and which side of it. */
static struct two
connected(void)
{
	struct two t = two_new();

	ends_connect(t.a, t.b);
	return t;
}

static struct end *
end_at(const struct two *t, unsigned side)
{
	return side == 0 ? t->a : t->b;
}

static const struct chunk *
chunk_at(const struct two *t, unsigned side)
{
	return side == 0 ? &t->ca : &t->cb;
}

static void
post(struct two *t, unsigned side, uint64_t id)
{
	g_assert_cmpint(end_send(end_at(t, side), id, chunk_at(t, side), 0, OCTETS), ==,
			RI_SUCCESS);
}

static void
receive(struct two *t, unsigned side, uint64_t id)
{
	g_assert_cmpint(end_recv(end_at(t, side), id, chunk_at(t, side), OCTETS, OCTETS), ==,
			RI_SUCCESS);
}

static unsigned
poll_now(struct two *t, unsigned side, struct ri_ucq *cq, struct ri_wc *wc)
{
	return t->node[side]->p->fast->poll_cq(cq, wc, 1);
}

/* Lines that a side has written to its ring. */
static uint64_t
written(struct two *t, unsigned side)
{
	struct vem_shm *shm = t->node[side]->rnic->fabric->shm;
	struct vem_link *link = NULL;

	/* If both sides dial at once, one link goes, and it may be the first. */
	for (unsigned i = 0; i < VEM_LINKS_MAX && link == NULL; i++)
		link = atomic_load(&shm->links[i]);
	g_assert_nonnull(link);
	vsw_lock(&link->out_lock);
	uint64_t lines = link->out.written;
	vsw_unlock(&link->out_lock);
	return lines;
}

/* Both sides poll, and answer each message: an answer finds the completion of what it answers in front of it. */
static void
test_answered(void)
{
	struct two t RI_AT_END(two_free) = connected();
	struct ri_wc wc;
	unsigned carried = 0;
	uint64_t before = 0;

	for (uint64_t turn = 0; turn < 1000; turn++) {
		unsigned from = turn % 2, to = 1 - from;
		uint64_t both = written(&t, 0) + written(&t, 1);

		/* One message of one line of octets, and no ACK, unless a service thread has run meanwhile. */
		carried += both - before == 2;
		before = both;
		receive(&t, to, turn);
		post(&t, from, turn);
		for (gint64 deadline = node_deadline();
		     poll_now(&t, to, end_at(&t, to)->urcq, &wc) == 0;)
			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		g_assert_cmpuint(wc.wr_id, ==, turn);
		g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
		if (turn != 0) {
			g_assert_cmpuint(poll_now(&t, to, end_at(&t, to)->uscq, &wc), ==, 1);
			g_assert_cmpuint(wc.wr_id, ==, turn - 1);
			g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
		}
	}
	g_assert_cmpuint(carried, >, 100);
}

/*
 * An ACK that waits for the next poll must not shorten the tick after which the service thread
 * checks for pending ACKs, because setting a timer costs more than the message.
 */
static void
test_long_ticks(void)
{
	struct two t = connected();
	gint64 deadline = node_deadline();
	struct ri_wc wc;
	unsigned seen = 0;

	for (uint64_t turn = 0; seen < LONG_TICKS; turn++) {
		unsigned from = turn % 2, to = 1 - from;
		const struct vsw_leader *leader = &t.node[to]->rnic->fabric->shm->leader;

		receive(&t, to, turn);
		post(&t, from, turn);
		while (poll_now(&t, to, end_at(&t, to)->urcq, &wc) == 0)
			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		seen += atomic_load(&leader->tick) > VSW_LEADER_TICK;
		if (turn != 0)
			poll_wait(end_at(&t, to)->uscq, turn - 1, RI_WC_SUCCESS);
	}
	two_free(&t);
}

/* Side 1 answers some messages of side 0, so it is expected to answer the next one. */
static void
talk(struct two *t)
{
	struct ri_wc wc;

	for (uint64_t turn = 0; turn < TALK; turn++) {
		receive(t, 0, turn);
		receive(t, 1, turn);
		post(t, 0, turn);
		while (poll_now(t, 1, t->b->urcq, &wc) == 0)
			continue;
		post(t, 1, turn);
		poll_wait(t->a->urcq, turn, RI_WC_SUCCESS);
		poll_wait(t->a->uscq, turn, RI_WC_SUCCESS);
		poll_wait(t->b->uscq, turn, RI_WC_SUCCESS);
	}
}

/* A program that has never answered acknowledges at once: it may end without a word. */
static void
test_first(void)
{
	for (unsigned round = 0; round < 20; round++) {
		struct two t RI_AT_END(two_free) = connected();
		uint64_t before = written(&t, 1);
		struct ri_wc wc;

		receive(&t, 1, 1);
		post(&t, 0, 2);
		while (poll_now(&t, 1, t.b->urcq, &wc) == 0)
			continue;
		/* A service thread may have had something to write, too. */
		g_assert_cmpuint(written(&t, 1) - before, >=, 1);
		poll_wait(t.a->uscq, 2, RI_WC_SUCCESS);
	}
}

/* Nor is it expected of one that answers no more. */
static void
test_no_more(void)
{
	struct two t RI_AT_END(two_free) = connected();
	uint64_t before = 0;
	struct ri_wc wc;

	talk(&t);
	for (uint64_t i = 0; i < 3 * TALK; i++) {
		receive(&t, 1, i);
		before = written(&t, 1);
		post(&t, 0, i);
		while (poll_now(&t, 1, t.b->urcq, &wc) == 0)
			continue;
		if (i < 2 * TALK)
			for (unsigned k = 0; k < 10; k++)
				(void)poll_now(&t, 1, t.b->urcq, &wc);
		g_assert_true(i < 2 * TALK || written(&t, 1) - before >= 1);
		poll_wait(t.a->uscq, i, RI_WC_SUCCESS);
	}
}

/* What an answer has acknowledged is not acknowledged again by the polls behind it. */
static void
test_once(void)
{
	struct two t RI_AT_END(two_free) = connected();
	struct ri_wc wc;
	unsigned once = 0;

	for (uint64_t turn = 0; turn < 200; turn++) {
		uint64_t before = written(&t, 1);

		receive(&t, 0, turn);
		receive(&t, 1, turn);
		post(&t, 0, turn);
		while (poll_now(&t, 1, t.b->urcq, &wc) == 0)
			continue;
		post(&t, 1, turn);
		for (unsigned i = 0; i < 20; i++)
			(void)poll_now(&t, 1, t.b->urcq, &wc);
		once += written(&t, 1) - before ==
			2; /* the answer, unless a service thread has run */
		poll_wait(t.a->urcq, turn, RI_WC_SUCCESS);
		poll_wait(t.a->uscq, turn, RI_WC_SUCCESS);
		poll_wait(t.b->uscq, turn, RI_WC_SUCCESS);
	}
	g_assert_cmpuint(once, >, 20);
}

/* The program that has received does nothing more. */
static void
test_silent(void)
{
	struct two t RI_AT_END(two_free) = connected();
	struct ri_wc wc;

	for (uint64_t i = 0; i < 50; i++) {
		talk(&t);
		receive(&t, 1, i);
		post(&t, 0, i);
		while (poll_now(&t, 1, t.b->urcq, &wc) == 0)
			continue;
		poll_wait(t.a->uscq, i, RI_WC_SUCCESS);
	}
}

/* It polls on, and does not answer: the ACK leaves soon. If there are two of them, it leaves at once. */
static void
test_polled(void)
{
	struct two t RI_AT_END(two_free) = connected();
	unsigned soon = 0, both = 0;
	struct ri_wc wc;

	for (uint64_t i = 0; i < 200; i++) {
		talk(&t);
		receive(&t, 1, i);
		post(&t, 0, i);
		while (poll_now(&t, 1, t.b->urcq, &wc) == 0)
			continue;
		for (unsigned k = 0; k < 10; k++)
			(void)poll_now(&t, 1, t.b->urcq, &wc);
		unsigned before = soon;
		soon += poll_now(&t, 0, t.a->uscq, &wc);
		while (soon == before && poll_now(&t, 0, t.a->uscq, &wc) == 0)
			continue;
	}
	for (uint64_t i = 0; i < 200; i++) {
		talk(&t);
		receive(&t, 1, i);
		receive(&t, 1, i);
		post(&t, 0, i);
		post(&t, 0, i);
		while (poll_now(&t, 1, t.b->urcq, &wc) == 0)
			continue;
		unsigned before = both;
		both += poll_now(&t, 0, t.a->uscq, &wc);
		poll_wait(t.b->urcq, i, RI_WC_SUCCESS);
		for (unsigned got = both - before; got < 2;)
			got += poll_now(&t, 0, t.a->uscq, &wc);
	}
	/* The service thread may be in the way of some. */
	g_assert_cmpuint(soon, >, 20);
	g_assert_cmpuint(both, >, 20);
}

/* It disconnects, or destroys its queue pair, before it polls again. */
static void
test_left(void)
{
	for (unsigned round = 0; round < 20; round++) {
		struct two t RI_AT_END(two_free) = connected();
		struct ri_wc wc;

		talk(&t);
		receive(&t, 1, 1);
		post(&t, 0, 2);
		while (poll_now(&t, 1, t.b->urcq, &wc) == 0)
			continue;
		if (round % 2 == 0) {
			g_assert_cmpint(t.node[1]->p->cm->disconnect(t.b->qp, NULL, 0), ==,
					RI_SUCCESS);
		} else {
			end_free(&t.b);
			t.b = NULL;
		}
		poll_wait(t.a->uscq, 2, RI_WC_SUCCESS);
	}
}

/* The child: connects, answers, receives, and ends as its argument says; without a word it has not answered before. */
static int
child_main(const char *how)
{
	struct vth *vth = vth_new(true);
	struct node *node = node_new_patient(vth, adapter, "60000");
	struct end *end = end_new(node, NULL);
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	struct ri_cm_params params = node_params(&service);
	struct chunk c = chunk_new(node, 4096, ALL_RW);
	struct ri_wc wc;

	unsigned answers = strcmp(how, "_exit") == 0 ? 0 : TALK;

	for (unsigned i = 0; i <= answers; i++)
		g_assert_cmpint(end_recv(end, i, &c, 0, OCTETS), ==, RI_SUCCESS);
	g_assert_cmpint(node->p->cm->connect(end->qp, &params), ==, RI_SUCCESS);
	for (unsigned i = 0; i <= answers; i++) {
		while (node->p->fast->poll_cq(end->urcq, &wc, 1) == 0)
			continue;
		if (i < answers)
			g_assert_cmpint(end_send(end, i, &c, 0, OCTETS), ==, RI_SUCCESS);
	}
	if (answers == 0)
		_exit(wc.status == RI_WC_SUCCESS ? 0 : 1);
	if (strcmp(how, "return") != 0)
		exit(wc.status == RI_WC_SUCCESS ? 0 : 1);
	return wc.status == RI_WC_SUCCESS ? 0 : 1;
}

/* Its process ends, with all open. */
static void
test_exit(void)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	struct vth *vth = vth_new(true);
	struct node *node = node_new_patient(vth, adapter, "60000");
	const struct ri_cm_ops *cm = node->p->cm;
	struct ri_cm_params params = node_params(&service);
	struct chunk c = chunk_new(node, 4096, ALL_RW);
	struct ri_listen *listen = NULL;

	g_assert_cmpint(cm->listen(node->context, 42, 0, &service, 8, &listen), ==, RI_SUCCESS);
	for (unsigned round = 0; round < 21; round++) {
		static const char *const ways[] = {"exit", "return", "_exit"};
		unsigned answers = round % 3 == 2 ? 0 : TALK;
		struct end *end RI_AT_END(end_free) = end_new(node, NULL);
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			execl(self, self, adapter, ways[round % 3], (char *)NULL);
			_exit(127);
		}
		struct ri_cm_event request =
			node_cm(node, RI_CM_REQUEST, (const void *)(uintptr_t)42);
		g_assert_cmpint(cm->accept(request.request, end->qp, &params), ==, RI_SUCCESS);
		node_cm(node, RI_CM_ESTABLISHED, end);
		for (unsigned i = 0; i < answers; i++) {
			g_assert_cmpint(end_recv(end, i, &c, OCTETS, OCTETS), ==, RI_SUCCESS);
			g_assert_cmpint(end_send(end, i, &c, 0, OCTETS), ==, RI_SUCCESS);
			poll_wait(end->urcq, i, RI_WC_SUCCESS);
			poll_wait(end->uscq, i, RI_WC_SUCCESS);
		}
		g_assert_cmpint(end_send(end, 70, &c, 0, OCTETS), ==, RI_SUCCESS);
		poll_wait(end->uscq, 70, RI_WC_SUCCESS);
		g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
		g_assert_cmpint(status, ==, 0);
		node_cm(node, RI_CM_BROKEN, end);
	}
	cm->listen_destroy(listen);
	chunk_free(&c);
	node_forget(node);
	node_free(&node);
	vth_free(&vth);

	/* Whoever opens an adapter removes the names that the processes have left. */
	struct two t = two_new();

	two_free(&t);
}

int
main(int argc, char **argv)
{
	self = argv[0];
	g_test_init(&argc, &argv, NULL);
	adapter = "shm:ib";
	if (argc > 2)
		return child_main(argv[2]);
	char *runtime = vem_runtime_begin();

	g_test_add_func("/emul/shm/acks/answered", test_answered);
	g_test_add_func("/emul/shm/acks/long-ticks", test_long_ticks);
	g_test_add_func("/emul/shm/acks/first", test_first);
	g_test_add_func("/emul/shm/acks/no-more", test_no_more);
	g_test_add_func("/emul/shm/acks/once", test_once);
	g_test_add_func("/emul/shm/acks/silent", test_silent);
	g_test_add_func("/emul/shm/acks/polled", test_polled);
	g_test_add_func("/emul/shm/acks/left", test_left);
	g_test_add_func("/emul/shm/acks/exit", test_exit);
	int failed = g_test_run();

	return vem_runtime_end(runtime) ? failed : 1;
}
