/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Numbers that the fabric gives away, when they have been through their range: ports, queue pairs, fabrics. */
#include "vem_cm.h"
#include "vem_node.h"

#define FIRST_PORT 32768u

static uint32_t
qpn_of(const struct end *end)
{
	return end_qp(end)->in.who.qpn;
}

/* All ports that the fabric chooses have a listener but one, then all. */
static void
test_ports(void)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *n RI_AT_END(node_free) = node_new(vth, false, "emul:iwarp");
	struct vem_fabric *fabric = n->context->rnic->fabric;
	const uint32_t count = UINT16_MAX + 1u - FIRST_PORT, spare = 12345;
	struct ri_listen *taken = g_new0(struct ri_listen, count);
	struct ri_service any = {.kind = RI_SERVICE_PORT};
	struct ri_listen *listen = NULL, *none = NULL;

	pthread_mutex_lock(&fabric->lock);
	for (uint32_t i = 0; i < count; i++) {
		taken[i].service.kind = RI_SERVICE_PORT;
		taken[i].service.port = GUINT16_TO_BE((uint16_t)(FIRST_PORT + i));
		if (i != spare)
			vsw_list_add(&fabric->listens, &taken[i].item);
	}
	pthread_mutex_unlock(&fabric->lock);
	g_assert_cmpint(n->p->cm->listen(n->context, 1, 0, &any, 1, &listen), ==, RI_SUCCESS);
	g_assert_cmpuint(GUINT16_FROM_BE(any.port), ==, FIRST_PORT + spare);
	any.port = 0;
	g_assert_cmpint(n->p->cm->listen(n->context, 2, 0, &any, 1, &none), ==, RI_ERR_RESOURCES);
	g_assert_null(none);
	any.port = GUINT16_TO_BE(7);
	g_assert_cmpint(n->p->cm->listen(n->context, 3, 0, &any, 1, &none), ==, RI_SUCCESS);
	n->p->cm->listen_destroy(none);
	n->p->cm->listen_destroy(listen);
	pthread_mutex_lock(&fabric->lock);
	for (uint32_t i = 0; i < count; i++)
		vsw_list_remove(&taken[i].item);
	pthread_mutex_unlock(&fabric->lock);
	g_free(taken);
	node_run(n);
}

/* The number of a queue pair is not given to another one while it exists: windows and datagrams go by it. */
static void
test_queue_pairs(void)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *n RI_AT_END(node_free) = node_new(vth, false, "emul:iwarp");
	struct vem_fabric *fabric = n->context->rnic->fabric;
	struct ri_qp_init init = end_defaults(n);
	struct end *a, *b, *c;

	fabric->last_qpn = 0xfffffd;
	a = end_new(n, &init);
	g_assert_cmpuint(qpn_of(a), ==, 0xfffffe);
	b = end_new(n, &init);
	g_assert_cmpuint(qpn_of(b), ==, 2);
	fabric->last_qpn = 0xfffffd;
	c = end_new(n, &init);
	g_assert_cmpuint(qpn_of(c), ==, 3);
	end_free(&a);
	fabric->last_qpn = 0xfffffd;
	a = end_new(n, &init);
	g_assert_cmpuint(qpn_of(a), ==, 0xfffffe);
	end_free(&a);
	end_free(&b);
	end_free(&c);
	node_run(n);
}

/* Each fabric begins elsewhere: a program that runs again does not take the numbers of the one before. */
static void
test_random_start(void)
{
	uint32_t first[4];
	unsigned equal = 0, wide = 0;

	for (guint i = 0; i < G_N_ELEMENTS(first); i++) {
		struct vth *vth RI_AT_END(vth_free) = vth_new(false);
		struct node *n RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
		struct end *a RI_AT_END(end_free) = end_new(n, NULL);
		struct end *b RI_AT_END(end_free) = end_new(n, NULL);

		first[i] = qpn_of(a);
		g_assert_cmpuint(first[i], >=, 2);
		g_assert_cmpuint(first[i], <, VEM_QPN_GROUP);
		g_assert_cmpuint(qpn_of(b), !=, first[i]);
		wide += first[i] > 0xffff;
		for (guint k = 0; k < i; k++)
			equal += first[k] == first[i];
	}
	g_assert_cmpuint(equal, <, 2);
	g_assert_cmpuint(wide, >, 0);
}

/* A request is found by the number of its fabric: no other fabric has it, however many came and went. */
static void
test_fabrics(void)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *n RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
	const struct vem_fabric *lasting = n->context->rnic->fabric;

	for (uint32_t i = 0; i < 1u << VEM_FABRIC_BITS; i++) {
		struct vem_fabric *other = vem_fabric_get(lasting->host, VEM_IWARP, false);

		g_assert_nonnull(other);
		g_assert_cmpuint(other->number, !=, lasting->number);
		vem_fabric_put(other);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/numbers/ports", test_ports);
	g_test_add_func("/emul/numbers/queue-pairs", test_queue_pairs);
	g_test_add_func("/emul/numbers/random-start", test_random_start);
	g_test_add_func("/emul/numbers/fabrics", test_fabrics);
	return g_test_run();
}
