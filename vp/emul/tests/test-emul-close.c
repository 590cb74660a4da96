/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An adapter is closed while peers connect to it, disconnect, query its services, send it datagrams and messages,
 * and while its own queues are armed. No upcall names an object after its destroy has returned, and none comes after
 * close has returned. The peers are threads that never stop. A further test checks the time-wait after a connection.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "vem_dgram.h"

#define ROUNDS 150
#define PEERS  2
#define PORT   4711

/* An object that upcalls name by its address; it is marked when it is destroyed. */
struct guard {
	atomic_bool gone;
};

/*
 * The adapter that is opened and closed. The records of its objects are never freed, so that a late upcall is
 * detected and does no harm.
 */
struct victim {
	struct ri_upcalls upcalls;
	struct guard adapter;
	struct guard listener;
	struct guard qp;
	struct guard cq;
	_Atomic(struct ri_request *) request; /* the newest request that waits for an answer */
	atomic_uint heard;
	struct ri_rnic *rnic;
	struct ri_context *context;
	struct ri_urnic *urnic;
	struct ri_pd *pd;
	struct ri_cq *own_cq;
	struct ri_ucq *ucq;
	struct ri_qp *own_qp;
	struct ri_uqp *uqp;
	struct ri_listen *listen;
};

static atomic_bool stop;

static void
expect_alive(struct victim *v, uint64_t ctx)
{
	const struct guard *guard = (const struct guard *)(uintptr_t)ctx;

	g_assert_false(atomic_load(&v->adapter.gone));
	if (guard != NULL)
		g_assert_false(atomic_load(&guard->gone));
	atomic_fetch_add(&v->heard, 1);
}

static void
on_cq(void *self, uint64_t ctx)
{
	expect_alive(self, ctx);
}

static void
on_async(void *self, const struct ri_async_event *event)
{
	expect_alive(self, event->ctx);
}

static void
on_cm(void *self, const struct ri_cm_event *event)
{
	struct victim *v = self;

	expect_alive(v, event->ctx);
	if (event->kind == RI_CM_REQUEST)
		atomic_store(&v->request, event->request);
}

/* --- peers -------------------------------------------------------------------------------- */

struct peer {
	pthread_t thread;
	struct node *node;
	unsigned number;
};

static void
peer_rc(struct peer *peer, struct ri_cm_params *params, unsigned turn)
{
	const struct ri_provider *p = peer->node->p;
	struct end *end RI_AT_END(end_free) = end_new(peer->node, NULL);

	(void)!p->cm->connect(end->qp, params);
	for (unsigned i = 0; i < turn % 7; i++) {
		(void)!end_send(end, i, &(struct chunk){.node = peer->node}, 0, 0);
		g_usleep(turn % 11 * 10);
	}
	if (turn % 3 == 0)
		(void)!p->cm->disconnect(end->qp, NULL, 0);
}

static void
peer_query(struct peer *peer, struct ri_cm_params *params, unsigned turn)
{
	const struct ri_provider *p = peer->node->p;

	if (p->cm->resolve(peer->node->context, turn, params) != RI_SUCCESS)
		return;
	g_usleep(turn % 13 * 10);
	p->cm->resolve_cancel(peer->node->context, turn);
}

static void *
peer_run(void *arg)
{
	struct peer *peer = arg;
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};

	for (unsigned turn = peer->number; !atomic_load(&stop); turn++) {
		struct ri_cm_params params = node_params(&service);

		peer_rc(peer, &params, turn);
		params.ird = params.ord = 0;
		params.ird_ord = false;
		if (peer->node->attr.ud)
			peer_query(peer, &params, turn);
		node_forget(peer->node);
	}
	return NULL;
}

/* --- the adapter -------------------------------------------------------------------------- */

static void
victim_open(struct victim *v, struct vth *vth, const char *adapter)
{
	const struct ri_provider *p = emul();
	struct ri_open open = {.host = vth_host(vth), .upcalls = &v->upcalls};
	struct ri_owner owner = {.pid = 1, .mem_owner = 1};
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	struct ri_qp_init init = {.max_sq_wr = 4,
				  .max_rq_wr = 4,
				  .max_send_sge = 1,
				  .max_recv_sge = 1,
				  .ird = 1,
				  .ord = 1,
				  .hard_limit = UINT32_MAX,
				  .ctx = (uintptr_t)&v->qp};
	struct ri_map map;
	uint32_t entries = 16;

	*v = (struct victim){.upcalls = {.size = sizeof(v->upcalls),
					 .self = v,
					 .cq_event = on_cq,
					 .async_event = on_async,
					 .cm_event = on_cm}};
	g_strlcpy(open.name, adapter, sizeof(open.name));
	g_assert_cmpint(p->device->open(&open, &v->rnic), ==, RI_SUCCESS);
	g_assert_cmpint(p->device->context_create(v->rnic, &owner, &v->context, &map), ==,
			RI_SUCCESS);
	g_assert_cmpint(p->user->rnic_open(open.host, &map, &v->urnic), ==, RI_SUCCESS);
	g_assert_cmpint(p->pd->create(v->context, &v->pd), ==, RI_SUCCESS);
	g_assert_cmpint(p->cq->create(v->context, (uintptr_t)&v->cq, &entries, &v->own_cq, &map),
			==, RI_SUCCESS);
	g_assert_cmpint(p->user->cq_open(v->urnic, &map, &v->ucq), ==, RI_SUCCESS);
	g_assert_cmpint(p->qp->create(v->pd, &init, v->own_cq, v->own_cq, NULL, &v->own_qp, &map),
			==, RI_SUCCESS);
	g_assert_cmpint(p->user->qp_open(v->urnic, &map, v->ucq, v->ucq, NULL, &v->uqp), ==,
			RI_SUCCESS);
	g_assert_cmpint(
		p->cm->listen(v->context, (uintptr_t)&v->listener, 0, &service, 4, &v->listen), ==,
		RI_SUCCESS);
}

/* Arm, post receives and accept connections for a short time. */
static void
victim_serve(struct victim *v, unsigned turns)
{
	const struct ri_provider *p = emul();
	const struct ri_recv_wr wr = {.wr_id = 1};
	struct ri_cm_params params = node_params(NULL);
	struct ri_wc wc;

	for (unsigned i = 0; i < turns; i++) {
		struct ri_request *request = atomic_exchange(&v->request, NULL);

		if (request != NULL && i % 4 == 3)
			(void)!p->cm->reject(request, RI_CM_REASON_CONSUMER, NULL, 0);
		else if (request != NULL)
			(void)!p->cm->accept(request, v->own_qp, &params);
		(void)!p->fast->post_rq(v->uqp, &wr);
		(void)!p->fast->arm_cq(v->ucq, RI_ARM_NEXT, 0);
		(void)p->fast->poll_cq(v->ucq, &wc, 1);
		g_usleep(20);
	}
}

/* Until the peers have begun: their threads may start late. */
static void
victim_serve_first(struct victim *v)
{
	gint64 until = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

	while (atomic_load(&v->heard) == 0) {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		victim_serve(v, 1);
	}
}

/*
 * Destroy the objects one by one as an orderly process does (`orderly`), or close the context with
 * all of them, as the kAL does after a process has died.
 */
static void
victim_close(struct victim *v, bool orderly)
{
	const struct ri_provider *p = emul();

	if (orderly) {
		p->cm->listen_destroy(v->listen);
		atomic_store(&v->listener.gone, true);
		p->user->qp_close(v->uqp);
		g_assert_cmpint(p->qp->destroy(v->own_qp), ==, RI_SUCCESS);
		atomic_store(&v->qp.gone, true);
		p->user->cq_close(v->ucq);
		g_assert_cmpint(p->cq->destroy(v->own_cq), ==, RI_SUCCESS);
		atomic_store(&v->cq.gone, true);
	} else {
		p->user->qp_close(v->uqp);
		p->user->cq_close(v->ucq);
	}
	p->user->rnic_close(v->urnic);
	p->device->context_destroy(v->context);
	atomic_store(&v->listener.gone, true);
	atomic_store(&v->qp.gone, true);
	atomic_store(&v->cq.gone, true);
	p->device->close(v->rnic);
	atomic_store(&v->adapter.gone, true);
}

static void
test_close(gconstpointer adapter)
{
	struct vth *vth = vth_new(true);
	g_autofree struct victim *victims = g_new0(struct victim, ROUNDS);
	struct peer peers[PEERS];
	guint heard = 0;

	atomic_store(&stop, false);
	for (guint i = 0; i < PEERS; i++) {
		peers[i] = (struct peer){.node = node_new(vth, true, adapter), .number = i * 5};
		g_assert_cmpint(pthread_create(&peers[i].thread, NULL, peer_run, &peers[i]), ==, 0);
	}
	for (guint round = 0; round < ROUNDS; round++) {
		victim_open(&victims[round], vth, adapter);
		if (round == 0)
			victim_serve_first(&victims[round]);
		victim_serve(&victims[round], round % 24);
		victim_close(&victims[round], round % 2 != 0);
	}
	atomic_store(&stop, true);
	for (guint i = 0; i < PEERS; i++) {
		pthread_join(peers[i].thread, NULL);
		node_run(peers[i].node);
		node_forget(peers[i].node);
		node_free(&peers[i].node);
	}
	vth_free(&vth); /* the service thread has ended: late upcalls would have come */
	for (guint round = 0; round < ROUNDS; round++)
		heard += atomic_load(&victims[round].heard);
	g_test_message("%u upcalls", heard);
	g_assert_cmpuint(heard, >, 0);
}

/* A queue pair whose attempt found nobody was not connected: it needs no time-wait. */
static void
refused_needs_none(struct node *node, struct end *end)
{
	const struct ri_service nobody = {.kind = RI_SERVICE_PORT, .port = 4};
	const struct ri_cm_params params = node_params(&nobody);

	g_assert_cmpint(node->p->cm->connect(end->qp, &params), ==, RI_SUCCESS);
	node_cm(node, RI_CM_FAILED, end);
	g_assert_cmpint(end_modify(end, RI_QPS_IDLE), ==, RI_SUCCESS);
}

/* The end of a time-wait has an event, but not for a queue pair that skipped it or is destroyed. */
static void
test_time_wait(void)
{
	const struct ri_qp_attr skip = {.state = RI_QPS_IDLE, .skip_time_wait = true};
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);

	g_setenv("ITAPI_EMUL_TIME_WAIT_US", "1000", TRUE);
	struct node *na RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
	struct node *nb RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
	g_unsetenv("ITAPI_EMUL_TIME_WAIT_US");
	struct end *a RI_AT_END(end_free) = end_new(na, NULL);
	struct end *b = end_new(nb, NULL);

	refused_needs_none(na, a);
	for (guint round = 0; round < 2; round++) {
		ends_connect(a, b);
		g_assert_cmpint(na->p->cm->disconnect(a->qp, NULL, 0), ==, RI_SUCCESS);
		node_cm(na, RI_CM_DISCONNECTED, a);
		node_cm(nb, RI_CM_DISCONNECTED, b);
		g_assert_cmpint(end_modify(a, RI_QPS_IDLE), ==, RI_ERR_TIME_WAIT);
		vth_advance(vth, 999999); /* ns */
		node_silent(na);
		if (round == 1)
			break;
		g_assert_cmpint(end_modify(a, RI_QPS_IDLE), ==, RI_ERR_TIME_WAIT);
		vth_advance(vth, 1);
		node_cm(na, RI_CM_TIME_WAIT_OVER, a);
		node_cm(nb, RI_CM_TIME_WAIT_OVER, b);
		g_assert_cmpint(end_modify(a, RI_QPS_IDLE), ==, RI_SUCCESS);
		g_assert_cmpint(end_modify(b, RI_QPS_IDLE), ==, RI_SUCCESS);
	}
	g_assert_cmpint(na->p->qp->modify(a->qp, &skip, RI_QP_ATTR_STATE), ==, RI_SUCCESS);
	end_free(&b);
	vth_advance(vth, 1000000);
	node_silent(na);
	node_silent(nb);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/emul/ib/close/under-peers", "emul:ib", test_close);
	g_test_add_data_func("/emul/iwarp/close/under-peers", "emul:iwarp", test_close);
	g_test_add_func("/emul/ib/close/time-wait", test_time_wait);
	return g_test_run();
}
