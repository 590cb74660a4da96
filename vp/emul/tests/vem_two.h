/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Two adapters with hosts of their own, as two processes have them, whose fabrics a test looks into. */
#ifndef VEM_TWO_H
#define VEM_TWO_H

#include <string.h>
#include <unistd.h>

#include "vem_pairs.h"
#include "vem_remote.h"
#include "vem_runtime.h"

#define PORT     4733
#define SIZE     (300u * 1024)
#define LISTENER ((const void *)(uintptr_t)42)

struct two {
	struct vth *vth[2];
	struct node *node[2];
	struct end *a, *b;
	struct chunk ca, cb;
};

/* `prepare`, if it is not NULL, may change the hosts. */
static inline struct two
two_new_with(void (*prepare)(struct ri_host *host))
{
	struct two t = {0};

	for (unsigned i = 0; i < 2; i++) {
		t.vth[i] = vth_new(true);
		/* The table is the test's own, but handed out to be read. */
		if (prepare != NULL)
			prepare((struct ri_host *)(uintptr_t)vth_host(t.vth[i]));
		t.node[i] = node_new(t.vth[i], true, "shm:ib");
	}
	t.a = end_new(t.node[0], NULL);
	t.b = end_new(t.node[1], NULL);
	t.ca = chunk_new(t.node[0], SIZE, ALL_RW);
	t.cb = chunk_new(t.node[1], SIZE, ALL_RW);
	return t;
}

static inline struct two
two_new(void)
{
	return two_new_with(NULL);
}

static inline void
two_free(struct two *t)
{
	node_forget(t->node[0]);
	node_forget(t->node[1]);
	if (t->a != NULL)
		end_free(&t->a);
	if (t->b != NULL)
		end_free(&t->b);
	chunk_free(&t->ca);
	chunk_free(&t->cb);
	for (unsigned i = 0; i < 2; i++) {
		node_forget(t->node[i]);
		node_free(&t->node[i]);
		vth_free(&t->vth[i]);
	}
}

static inline struct vem_fabric *
fabric_of(const struct node *node)
{
	return node->rnic->fabric;
}

/* The links that have not broken; *one: one of them. */
static inline unsigned
links_of(const struct node *node, struct vem_link **one)
{
	struct vem_fabric *fabric = fabric_of(node);
	unsigned count = 0;

	pthread_mutex_lock(&fabric->lock);
	for (unsigned i = 0; i < VEM_LINKS_MAX; i++) {
		struct vem_link *link = atomic_load(&fabric->shm->links[i]);

		if (link == NULL || atomic_load(&link->broken))
			continue;
		count++;
		if (one != NULL)
			*one = link;
	}
	pthread_mutex_unlock(&fabric->lock);
	return count;
}

static inline void
links_become(const struct node *node, unsigned wanted)
{
	for (gint64 deadline = node_deadline(); links_of(node, NULL) != wanted; g_usleep(500))
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
}

/* A packet comes over the link; it is what may come late, so it harms nothing. */
static inline void
comes(struct vem_link *link, const struct vem_packet *packet)
{
	struct vem_fabric *fabric = link->shm->fabric;

	pthread_mutex_lock(&fabric->lock);
	const char *why = vem_remote_packet(link, packet);
	pthread_mutex_unlock(&fabric->lock);
	g_assert_cmpstr(why, ==, NULL);
}

/* To the state of a new queue pair. */
static inline void
back_to_idle(struct end *end)
{
	gint64 deadline = node_deadline();

	g_assert_cmpint(end_modify(end, RI_QPS_ERROR), ==, RI_SUCCESS);
	while (end_modify(end, RI_QPS_IDLE) != RI_SUCCESS) {
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		node_run(end->node);
	}
	node_forget(end->node);
}

/* From a to b, at that port: its name is dialed. */
static inline void
connect_at(struct end *a, struct end *b, uint16_t port)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(port)};
	const struct ri_cm_ops *cm = a->node->p->cm;
	struct ri_cm_params params = node_params(&service);
	struct ri_listen *listen;

	g_assert_cmpint(cm->listen(b->node->context, 42, 0, &service, 4, &listen), ==, RI_SUCCESS);
	g_assert_cmpint(cm->connect(a->qp, &params), ==, RI_SUCCESS);
	struct ri_cm_event request = node_cm(b->node, RI_CM_REQUEST, LISTENER);
	g_assert_cmpint(cm->accept(request.request, b->qp, &params), ==, RI_SUCCESS);
	node_cm(a->node, RI_CM_ESTABLISHED, a);
	node_cm(b->node, RI_CM_ESTABLISHED, b);
	cm->listen_destroy(listen);
}

/* Queue pairs for a connection by attributes; a has the lower number. */
static inline struct pair
pair_of(struct two *t, enum ri_qp_type type)
{
	struct pair p = {.na = t->node[0], .nb = t->node[1]};

	p.a = end_of_type(p.na, type);
	p.b = end_of_type(p.nb, type);
	if (qpn_of(p.a) > qpn_of(p.b)) {
		struct end *end = p.a;

		p.a = p.b;
		p.b = end;
		p.na = t->node[1];
		p.nb = t->node[0];
	}
	p.to_b = peer_params(p.b, PSN_B, PSN_A);
	p.to_a = peer_params(p.a, PSN_A, PSN_B);
	p.to_a.timeout = p.to_b.timeout = 18;
	return p;
}

static inline void
sends_soon(const struct pair *p)
{
	for (gint64 deadline = node_deadline(); atomic_load(&end_qp(p->a)->remote) == NULL ||
						atomic_load(&end_qp(p->b)->remote) == NULL;
	     g_usleep(500))
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
}

/* The number with which it has knocked, or 0. */
static inline uint32_t
knock_of(const struct end *end)
{
	struct vem_fabric *fabric = fabric_of(end->node);
	uint32_t knock;

	pthread_mutex_lock(&fabric->lock);
	knock = end_qp(end)->join != NULL ? end_qp(end)->join->knock : 0;
	pthread_mutex_unlock(&fabric->lock);
	return knock;
}

static inline uint32_t
users_of(const struct vem_link *link)
{
	struct vem_fabric *fabric = link->shm->fabric;
	uint32_t users;

	pthread_mutex_lock(&fabric->lock);
	users = link->users;
	pthread_mutex_unlock(&fabric->lock);
	return users;
}

/* Descriptors that are open, and rings that are mapped. */
static inline unsigned
open_count(void)
{
	g_autoptr(GDir) folder = g_dir_open("/proc/self/fd", 0, NULL);
	unsigned count = 0;

	while (g_dir_read_name(folder) != NULL)
		count++;
	return count;
}

static inline unsigned
rings_mapped(void)
{
	g_autofree char *maps = NULL;
	unsigned count = 0;

	g_assert_true(g_file_get_contents("/proc/self/maps", &maps, NULL, NULL));
	for (const char *at = maps; (at = strstr(at, "itapi-ring")) != NULL; at++)
		count++;
	return count;
}

#endif /* VEM_TWO_H */
