/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Numbers of queue pairs: 24 bits, beginning with a random one, never the same twice at a time.
 * Also: a thread that waits until another thread has left a queue pair calls the host meanwhile [RI
 * 11.3.6].
 */
#include "viw_node.h"
#include "viw_qp.h"

#include <unistd.h>

static uint32_t
qpn_of(struct end *end)
{
	return end_attr(end).qpn;
}

static struct viw_rnic *
rnic_of(struct node *node)
{
	return (struct viw_rnic *)(void *)node->rnic;
}

/* An adapter that is opened again, perhaps by the next program, does not begin where this one has. */
static void
test_random_start(void)
{
	uint32_t first[4];
	unsigned equal = 0, wide = 0;

	for (unsigned i = 0; i < G_N_ELEMENTS(first); i++) {
		struct node *n RI_AT_END(node_free) = node_new();
		struct end *a RI_AT_END(end_free) = end_new(n, NULL);
		struct end *b RI_AT_END(end_free) = end_new(n, NULL);

		first[i] = qpn_of(a);
		g_assert_cmpuint(first[i], >=, 2);
		g_assert_cmpuint(first[i], <, VIW_QPN_LAST);
		g_assert_cmpuint(qpn_of(b), !=, first[i]);
		wide += first[i] > 0xffff;
		for (unsigned k = 0; k < i; k++)
			equal += first[k] == first[i];
	}
	g_assert_cmpuint(equal, <, 2);
	g_assert_cmpuint(wide, >, 0);
}

/* Behind the last number come the first ones that no queue pair has. */
static void
test_wrap(void)
{
	struct node *n RI_AT_END(node_free) = node_new();
	struct end *a, *b, *c, *same_row;

	rnic_of(n)->last_qpn = 0xfffffd;
	a = end_new(n, NULL);
	g_assert_cmpuint(qpn_of(a), ==, 0xfffffe);
	b = end_new(n, NULL);
	g_assert_cmpuint(qpn_of(b), ==, 2);
	rnic_of(n)->last_qpn = 1 + VIW_QPN_ROWS;
	same_row = end_new(n, NULL);
	g_assert_cmpuint(qpn_of(same_row), ==, 2 + VIW_QPN_ROWS);
	rnic_of(n)->last_qpn = 0xfffffffd; /* only 24 of the bits count */
	c = end_new(n, NULL);
	g_assert_cmpuint(qpn_of(c), ==, 3);
	end_free(&a);
	end_free(&b); /* not the first of its row */
	rnic_of(n)->last_qpn = 0xfffffd;
	a = end_new(n, NULL);
	g_assert_cmpuint(qpn_of(a), ==, 0xfffffe);
	b = end_new(n, NULL);
	g_assert_cmpuint(qpn_of(b), ==, 2);
	end_free(&a);
	end_free(&b);
	end_free(&c);
	end_free(&same_row);
}

/* --- waiting ------------------------------------------------------------------------------- */

enum wait {
	DESTROY_RX,
	DESTROY_TX,
	MODIFY,
	ATTACH,
	WAITS
};

struct scene {
	struct node *node;
	struct end *end;
	enum wait what;
	int fd;
	atomic_bool done;
};

static void *
waiter(void *arg)
{
	struct scene *s = arg;
	struct ri_qp_attr attr = {.access = RI_ACCESS_REMOTE_READ};
	struct ri_stream stream = end_stream(s->fd, true);

	if (s->what == MODIFY)
		g_assert_cmpint(s->node->p->qp->modify(s->end->qp, &attr, RI_QP_ATTR_ACCESS), ==,
				RI_SUCCESS);
	else if (s->what == ATTACH)
		g_assert_cmpint(s->node->p->llp->attach_stream(s->end->qp, &stream), ==,
				RI_SUCCESS);
	else
		end_free(&s->end);
	atomic_store(&s->done, true);
	return NULL;
}

static void
test_relax(gconstpointer old)
{
	for (enum wait what = 0; what < WAITS; what++) {
		struct scene s = {.what = what, .node = node_new()};
		struct vth *vth = s.node->vth;
		int fd[2];

		if (old != NULL)
			vth_make_old(vth);
		tcp_pair(fd);
		s.fd = fd[0];
		s.end = end_new(s.node, NULL);
		if (what == ATTACH)
			g_assert_cmpint(s.node->p->llp->reserve(s.end->qp), ==, RI_SUCCESS);
		struct viw_qp *qp = (struct viw_qp *)(void *)s.end->qp;
		struct vsw_role *role = what == DESTROY_TX ? &qp->tx.role : &qp->rx.role;
		guint before = vth_relaxed(vth);
		while (!vsw_role_take(role))
			g_usleep(10);
		GThread *thread = g_thread_new("waiter", waiter, &s);
		if (old != NULL)
			g_usleep(20000);
		else
			for (gint64 end = node_deadline();
			     vth_relaxed(vth) == before && g_get_monotonic_time() < end;)
				g_usleep(100);
		g_assert_false(atomic_load(&s.done));
		g_assert_true(old != NULL ? vth_relaxed(vth) == 0 : vth_relaxed(vth) > before);
		while (vsw_role_drop(role))
			vsw_role_begin(role);
		g_thread_join(thread);
		if (what == ATTACH || what == MODIFY)
			end_free(&s.end);
		if (what != ATTACH)
			close(fd[0]);
		close(fd[1]);
		node_free(&s.node);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/numbers/random-start", test_random_start);
	g_test_add_func("/iwarp/numbers/wrap", test_wrap);
	g_test_add_data_func("/iwarp/numbers/relax/host-is-told", NULL, test_relax);
	g_test_add_data_func("/iwarp/numbers/relax/old-host", "old", test_relax);
	return g_test_run();
}
