/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A manager whose exchanges end in each way, over and over, is as a new one: what it counts, remembers and names. */
#include "cm_sim.h"
#include "vrc_conn.h"
#include "vrc_mad.h"

#define PORT 7000

static guint64 newest;

static void
keep_newest(struct sim_node *node, const struct vrc_event *event)
{
	(void)node;
	if (event->cm.kind == RI_CM_REQUEST)
		newest = event->number;
}

/* Inject a message; how many datagrams does it cause? */
static guint
answers(struct sim_node *to, const struct vrc_mad *mad)
{
	guint before = to->sim->log->len;

	sim_inject_mad(to, mad);
	return to->sim->log->len - before;
}

static void
start(struct sim *sim, struct vrc_mad *req)
{
	sim_start(sim, 3);
	sim->b.on_event = keep_newest;
	sim_listen(&sim->b, PORT, 4);
	sim->mute = &sim->a;
	(void)sim_connect(&sim->a, PORT);
	sim_last_mad(sim, VRC_REQ, req);
}

static void
reject_newest(struct sim *sim)
{
	g_assert_cmpint(vrc_reject(sim->b.cm, newest, RI_CM_REASON_CONSUMER, NULL, 0), ==,
			RI_SUCCESS);
}

/* Far more rejections than are remembered at once, one after the other: a copy of each request is answered, and is no new request. */
static void
test_rejections(void)
{
	struct vrc_mad req, rej;
	struct vrc_counts before;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, &req);
	sim_run(&sim, sim.now + 1000 * SEC);
	before = sim_counts(&sim.b);
	for (guint i = 0; i < 300; i++) {
		req.local_id = req.tid = 1000 + i;
		req.req.qpn = 0x100 + i;
		(void)answers(&sim.b, &req);
		reject_newest(&sim);
		sim_run(&sim, sim.now + MS);
		g_assert_cmpuint(answers(&sim.b, &req), ==, 1);
		sim_last_mad(&sim, VRC_REJ, &rej);
		g_assert_cmpuint(rej.remote_id, ==, req.local_id);
		g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST), ==, i + 1);
		/* Until it is forgotten. */
		sim_run(&sim, sim.now + 100 * SEC);
		g_assert_cmpuint(sim_counts(&sim.b).conns, ==, before.conns);
		g_assert_cmpuint(sim_counts(&sim.b).requests, ==, before.requests);
	}
}

/* What happens to a request after its listener has gone names the request, and never the listener. */
static void
test_orphans(void)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT + 1)};
	struct vrc_listen *listen = NULL;
	struct vrc_mad req;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, &req);
	sim_run(&sim, sim.now + 1000 * SEC);
	req.req.service_id += 1;
	for (guint i = 0; i < 10; i++) {
		const struct vrc_event *gone;

		g_assert_cmpint(vrc_listen(sim.b.cm, 9, &service, 4, &listen), ==, RI_SUCCESS);
		req.local_id = req.tid = 1000 + i;
		req.req.qpn = 0x100 + i;
		(void)answers(&sim.b, &req);
		sim_settle(&sim);
		g_assert_cmpuint(sim_event(&sim.b, RI_CM_REQUEST, i)->cm.ctx, ==, 9);
		vrc_listen_free(sim.b.cm, listen);
		sim_run(&sim, sim.now + 1000 * SEC);
		gone = sim_event(&sim.b, RI_CM_REQUEST_GONE, i);
		g_assert_nonnull(gone);
		g_assert_cmpuint(gone->number, ==, newest);
		g_assert_cmpuint(gone->cm.ctx, ==, 0);
	}
}

/* The earlier one is never behind the later one, wherever exchanges leave the heap of timers. */
static void
heap_check(const struct vrc_cm *cm)
{
	for (size_t i = 0; i < cm->heap_count; i++) {
		const struct vrc_conn *conn = cm->heap[i],
				      *above = cm->heap[i > 0 ? (i - 1) / 2 : 0];

		g_assert_cmpuint(conn->heap_at, ==, i);
		g_assert_cmpuint(MIN(above->due, above->deadline), <=,
				 MIN(conn->due, conn->deadline));
	}
}

/* Exchanges whose times lie anywhere end in any order: of those that are left, each has its time. */
static void
test_timers(void)
{
	struct vrc_mad req;
	struct sim sim RI_AT_END(sim_stop);
	struct vrc_cm *cm;

	start(&sim, &req);
	cm = sim.a.cm;
	for (guint round = 0; round < 20; round++) {
		for (guint i = 0; i < 60; i++) {
			struct vrc_params params = sim_params(&sim.a, PORT);
			guint64 number;

			params.deadline =
				sim.now + MS + (uint64_t)g_rand_int_range(sim.rand, 0, 200) * MS;
			g_assert_cmpint(vrc_connect(cm, &params, &number), ==, RI_SUCCESS);
			heap_check(cm);
		}
		while (cm->heap_count > 5) {
			gint at = g_rand_int_range(sim.rand, 0, (gint)cm->heap_count);

			vrc_conn_free(cm->heap[at]);
			heap_check(cm);
		}
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/cm/lives/rejections", test_rejections);
	g_test_add_func("/roce/cm/lives/orphans", test_orphans);
	g_test_add_func("/roce/cm/lives/timers", test_timers);
	return g_test_run();
}
