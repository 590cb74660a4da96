/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A thread that destroys an object waits until another thread has left it, and calls the host
 * meanwhile [RI 11.3.6]: a simulated host may have to run that other thread first. With an older
 * host, which has no such entry, it waits by itself.
 */
#include <string.h>

#include "vem.h"
#include "vem_node.h"
#include "vsw_mem_table.h"

enum inside {
	ROLE_TX,
	ROLE_RX,
	PEER,
	DRIVEN,
	WITHOUT_ROLE,
	SRQ,
	REGION,
};

struct scene {
	struct vth *vth;
	struct node *na, *nb;
	struct end *a, *b;
	struct chunk m;
	struct vsw_mem_use use;
	enum inside where;
	atomic_bool done;
};

static void
enter(struct scene *s)
{
	const struct vsw_mem_access all = {.addr = chunk_sge(&s->m, 0, 1).addr,
					   .length = 1,
					   .stag = s->m.stag,
					   .access = RI_ACCESS_LOCAL_READ};
	struct vem_qp *qp = end_qp(s->b);

	switch (s->where) {
	case ROLE_TX:
		atomic_fetch_add(&qp->inside, 1); /* who owns a role has a use besides */
		g_assert_true(vsw_role_take(&qp->tx));
		break;
	case ROLE_RX:
		atomic_fetch_add(&qp->inside, 1);
		g_assert_true(vsw_role_take(&qp->in.role));
		break;
	case PEER:
		g_assert_true(vem_peer_get(end_qp(s->a)) == qp);
		break;
	case DRIVEN:
		g_assert_true(vem_peer_enter(end_qp(s->a)) == qp);
		break;
	case WITHOUT_ROLE:
		atomic_fetch_add(&qp->inside, 1);
		break;
	case SRQ:
		atomic_fetch_add(&qp->in.member.woken, 1);
		break;
	case REGION:
	default:
		atomic_store(&((struct vsw_key *)s->m.mr)->entry->counted, true);
		g_assert_cmpint(vsw_mem_begin(s->nb->rnic->mem,
					      &(struct vsw_mem_who){.pd = s->nb->pd}, &all,
					      &s->use),
				==, VSW_MEM_OK);
		break;
	}
}

static void
leave(struct scene *s)
{
	struct vem_qp *qp = end_qp(s->b);

	switch (s->where) {
	case ROLE_TX:
		while (vsw_role_drop(&qp->tx))
			vsw_role_begin(&qp->tx);
		atomic_fetch_sub(&qp->inside, 1);
		break;
	case ROLE_RX:
		while (vsw_role_drop(&qp->in.role))
			vsw_role_begin(&qp->in.role);
		atomic_fetch_sub(&qp->inside, 1);
		break;
	case PEER:
		vem_peer_put(end_qp(s->a));
		break;
	case DRIVEN:
		vem_peer_exit(end_qp(s->a));
		break;
	case WITHOUT_ROLE:
		atomic_fetch_sub(&qp->inside, 1);
		break;
	case SRQ:
		atomic_fetch_sub(&qp->in.member.woken, 1);
		break;
	case REGION:
	default:
		vsw_mem_end(&s->use);
		break;
	}
}

static void *
destroy(void *arg)
{
	struct scene *s = arg;

	if (s->where == REGION)
		chunk_free(&s->m);
	else
		end_free(&s->b);
	atomic_store(&s->done, true);
	return NULL;
}

static void
run(enum inside where, bool old)
{
	struct scene s = {.where = where};
	GThread *thread;
	guint before;

	s.vth = vth_new(true);
	if (old)
		vth_make_old(s.vth);
	s.na = node_new(s.vth, true, "emul:ib");
	s.nb = node_new(s.vth, true, "emul:ib");
	if (where == SRQ)
		node_share(s.nb, 4);
	s.a = end_new(s.na, NULL);
	s.b = end_new(s.nb, NULL);
	s.m = chunk_new(s.nb, 64, ALL_RW);
	ends_connect(s.a, s.b);
	before = vth_relaxed(s.vth);
	enter(&s);
	thread = g_thread_new("destroy", destroy, &s);
	if (old)
		g_usleep(20000);
	else
		for (gint64 end = node_deadline();
		     vth_relaxed(s.vth) == before && g_get_monotonic_time() < end;)
			g_usleep(100);
	g_assert_false(atomic_load(&s.done));
	g_assert_true(old ? vth_relaxed(s.vth) == 0 : vth_relaxed(s.vth) > before);
	leave(&s);
	g_thread_join(thread);
	node_run(s.na);
	node_forget(s.na);
	node_forget(s.nb);
	end_free(&s.a);
	if (where == REGION) {
		node_forget(s.nb);
		end_free(&s.b);
	} else {
		chunk_free(&s.m);
	}
	if (s.nb->srq != NULL)
		node_unshare(s.nb);
	node_forget(s.na);
	node_forget(s.nb);
	node_close(&s.na);
	node_close(&s.nb);
	vth_free(&s.vth);
}

static void
test_host_is_told(void)
{
	for (enum inside where = 0; where <= REGION; where++)
		run(where, false);
}

static void
test_old_host(void)
{
	for (enum inside where = 0; where <= REGION; where++)
		run(where, true);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/relax/host-is-told", test_host_is_told);
	g_test_add_func("/emul/relax/old-host", test_old_host);
	return g_test_run();
}
