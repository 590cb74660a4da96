/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections between two managers on a link without faults: the events of each side, and its answers. */
#include <string.h>

#include "cm_sim.h"
#include "ri_wire.h"
#include "vrc_ip.h"

#define PORT 7174

enum answer {
	ANSWER_ACCEPT = 0,
	ANSWER_REJECT,
	ANSWER_NEVER
};

struct app {
	enum answer answer;
	enum ri_cm_reason reason;
	guint len; /* of the private data of the answer */
	uint8_t data[VRC_PRIVATE_MAX];
	guint64 number; /* of the last request */
	bool confirm;   /* answer RI_CM_REPLY so */
	bool leave;     /* disconnect when established */
};

static void
app_run(struct sim_node *node, const struct vrc_event *event)
{
	struct app *app = node->app;
	struct vrc_params params = sim_params(node, 0);

	params.qpn = 0x22;
	params.ird = 2;
	params.ord = 3;
	params.rnr_retry = 5;
	params.ctx = 99;
	params.pdata = app->data;
	params.pdata_len = (uint16_t)app->len;
	if (event->cm.kind == RI_CM_REPLY && app->confirm)
		g_assert_cmpint(
			vrc_confirm(node->cm, event->number, true, app->data, (uint16_t)app->len),
			==, RI_SUCCESS);
	if (event->cm.kind == RI_CM_ESTABLISHED && app->leave)
		g_assert_cmpint(
			vrc_disconnect(node->cm, event->number, app->data, (uint16_t)app->len), ==,
			RI_SUCCESS);
	if (event->cm.kind != RI_CM_REQUEST)
		return;
	app->number = event->number;
	if (app->answer == ANSWER_ACCEPT)
		g_assert_cmpint(vrc_accept(node->cm, event->number, &params), ==, RI_SUCCESS);
	else if (app->answer == ANSWER_REJECT)
		g_assert_cmpint(vrc_reject(node->cm, event->number, app->reason, app->data,
					   (uint16_t)app->len),
				==, RI_SUCCESS);
}

static void
start(struct sim *sim, struct app *app)
{
	sim_start(sim, 1);
	sim->b.on_event = app_run;
	sim->b.app = app;
	for (guint i = 0; i < sizeof(app->data); i++)
		app->data[i] = (uint8_t)(i + 1);
	sim_listen(&sim->b, PORT, 8);
}

static void
nothing_is_left(struct sim *sim)
{
	g_assert_cmpuint(sim_counts(&sim->a).conns, ==, 0);
	g_assert_cmpuint(sim_counts(&sim->b).conns, ==, 0);
	g_assert_cmpuint(sim_counts(&sim->b).requests, ==, 0);
}

/* --- set-up --------------------------------------------------------------------------------- */

static void
reach_check(const struct sim *sim, const struct vrc_event *active, const struct vrc_event *passive)
{
	const struct ri_peer *a = &active->cm.reach;
	const struct ri_peer *b = &passive->cm.reach;

	g_assert_cmpuint(a->qpn, ==, 0x22);
	g_assert_cmpuint(b->qpn, ==, 0x11);
	g_assert_cmpuint(a->sq_psn, ==, b->rq_psn);
	g_assert_cmpuint(a->rq_psn, ==, b->sq_psn);
	g_assert_cmpuint(a->rq_psn, !=, a->sq_psn);
	g_assert_cmpuint(a->rq_psn, <=, 0xffffff);
	g_assert_cmpuint(a->path_mtu, ==, 1024);
	g_assert_cmpuint(b->path_mtu, ==, 1024);
	/* The active side announced 4 to serve and 8 to send, the passive one 2 and 3. */
	g_assert_cmpuint(b->ird, ==, 8);
	g_assert_cmpuint(b->ord, ==, 4);
	g_assert_cmpuint(a->ird, ==, 3);
	g_assert_cmpuint(a->ord, ==, 2);
	g_assert_cmpuint(a->retry_count, ==, 7);
	g_assert_cmpuint(b->retry_count, ==, 7);
	g_assert_cmpuint(a->rnr_retry, ==, 5); /* told by the peer */
	g_assert_cmpuint(b->rnr_retry, ==, 6);
	g_assert_cmpuint(b->timeout, ==, 19);
	g_assert_cmpuint(a->timeout, ==, 19); /* 18 of the path, and 15 of the peer */
	g_assert_true(vrc_addr_same(&a->path.dest, &sim->b.addr));
	g_assert_true(vrc_addr_same(&b->path.dest, &sim->a.addr));
	g_assert_true(vrc_addr_same(&b->path.source, &sim->b.addr));
	g_assert_cmpuint(a->path.flow_label, ==, b->path.flow_label);
	g_assert_cmpuint(a->path.flow_label, !=, 0);
}

static void
test_two_way(void)
{
	struct app app = {0};
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, &app);
	guint64 number = sim_connect(&sim.a, PORT);
	sim_run(&sim, sim.now + SEC);
	const struct vrc_event *request = sim_event(&sim.b, RI_CM_REQUEST, 0);
	const struct vrc_event *up_a = sim_event(&sim.a, RI_CM_ESTABLISHED, 0);
	const struct vrc_event *up_b = sim_event(&sim.b, RI_CM_ESTABLISHED, 0);
	g_assert_cmpuint(request->cm.ctx, ==, 55);
	g_assert_true(request->cm.request == (void *)(uintptr_t)request->number);
	g_assert_true(vrc_addr_same(&request->cm.peer, &sim.a.addr));
	g_assert_cmpuint(request->cm.service.port, ==, GUINT16_TO_BE(PORT));
	g_assert_cmpuint(GUINT16_FROM_BE(request->cm.service.local_port), >=, 49152);
	g_assert_cmpuint(request->cm.ird, ==, 4);
	g_assert_cmpuint(request->cm.ord, ==, 8);
	g_assert_cmpuint(up_a->number, ==, number);
	g_assert_cmpuint(up_a->cm.ctx, ==, 77);
	g_assert_cmpuint(up_b->cm.ctx, ==, 99);
	reach_check(&sim, up_a, up_b);
	g_assert_cmpmem(&request->cm.reach, sizeof(struct ri_peer), &up_b->cm.reach,
			sizeof(struct ri_peer));
	g_assert_cmpuint(sim.a.events->len, ==, 1);
	g_assert_cmpuint(sim.b.events->len, ==, 2);
	g_assert_cmpuint(sim.sent, ==, 3);
	g_assert_cmpuint(vrc_cm_due(sim.a.cm), ==, RI_NEVER);
	g_assert_cmpuint(vrc_cm_due(sim.b.cm), ==, RI_NEVER);
}

static void
test_three_way(void)
{
	struct app app = {0};
	struct app confirm = {.confirm = true};
	struct vrc_params params;
	struct sim sim RI_AT_END(sim_stop);
	guint64 number;

	start(&sim, &app);
	params = sim_params(&sim.a, PORT);
	params.three_way = true;
	g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 20 * MS);
	g_assert_nonnull(sim_event(&sim.a, RI_CM_REPLY, 0));
	g_assert_null(sim_event(&sim.b, RI_CM_ESTABLISHED, 0));
	/* The REP comes again and again, and each is answered with an MRA. */
	sim_run(&sim, sim.now + SEC);
	g_assert_cmpuint(sim_count_mads(&sim, VRC_MRA), ==, 1);
	g_assert_cmpint(vrc_confirm(sim.a.cm, number, true, NULL, 0), ==, RI_SUCCESS);
	g_assert_cmpint(vrc_confirm(sim.a.cm, number, true, NULL, 0), ==, RI_ERR_INVALID_STATE);
	sim_run(&sim, sim.now + SEC);
	reach_check(&sim, sim_event(&sim.a, RI_CM_ESTABLISHED, 0),
		    sim_event(&sim.b, RI_CM_ESTABLISHED, 0));
	g_assert_false(sim_event(&sim.a, RI_CM_ESTABLISHED, 0)->cm.pdata_present);

	/* And refused. */
	sim.a.on_event = app_run;
	sim.a.app = &confirm;
	confirm.confirm = false;
	params.qpn = 0x12;
	g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 20 * MS);
	g_assert_cmpint(vrc_confirm(sim.a.cm, number, false, "no", 2), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + SEC);
	const struct vrc_event *no = sim_event(&sim.b, RI_CM_REJECTED, 0);
	g_assert_nonnull(no);
	g_assert_cmpuint(no->status, ==, 28);
	g_assert_cmpuint(no->cm.pdata_len, ==, VRC_PDATA_REJECT);
	g_assert_cmpmem(no->cm.pdata, 2, "no", 2);
	g_assert_cmpuint(sim_count_events(&sim.a, RI_CM_ESTABLISHED), ==, 1);
	sim_run(&sim, sim.now + 5 * SEC);
	g_assert_cmpuint(sim_counts(&sim.a).conns, ==, 1);
	g_assert_cmpuint(sim_counts(&sim.b).conns, ==, 1);
}

/* The RTU and the DREQ may have private data, too. */
static void
test_private_data(void)
{
	struct app app = {.len = VRC_PDATA_ACCEPT};
	struct app confirm = {.len = VRC_PDATA_CONFIRM, .confirm = true};
	struct vrc_params params;
	struct sim sim RI_AT_END(sim_stop);
	guint64 number;

	start(&sim, &app);
	sim.a.on_event = app_run;
	sim.a.app = &confirm;
	memset(confirm.data, 0xcc, sizeof(confirm.data));
	params = sim_params(&sim.a, PORT);
	params.three_way = true;
	params.pdata = app.data;
	params.pdata_len = VRC_PDATA_CONNECT + 1;
	g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_ERR_INVALID_ARG);
	params.pdata_len = VRC_PDATA_CONNECT;
	g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 100 * MS);
	const struct vrc_event *event = sim_event(&sim.b, RI_CM_REQUEST, 0);
	g_assert_cmpmem(event->cm.pdata, event->cm.pdata_len, app.data, VRC_PDATA_CONNECT);
	event = sim_event(&sim.a, RI_CM_REPLY, 0);
	g_assert_cmpmem(event->cm.pdata, event->cm.pdata_len, app.data, VRC_PDATA_ACCEPT);
	event = sim_event(&sim.b, RI_CM_ESTABLISHED, 0);
	g_assert_cmpmem(event->cm.pdata, event->cm.pdata_len, confirm.data, VRC_PDATA_CONFIRM);
	g_assert_cmpint(vrc_disconnect(sim.a.cm, number, app.data, VRC_PDATA_DISCONNECT + 1), ==,
			RI_ERR_INVALID_ARG);
	g_assert_cmpint(vrc_disconnect(sim.a.cm, number, app.data, VRC_PDATA_DISCONNECT), ==,
			RI_SUCCESS);
	sim_run(&sim, sim.now + 100 * MS);
	event = sim_event(&sim.b, RI_CM_DISCONNECTED, 0);
	g_assert_cmpmem(event->cm.pdata, event->cm.pdata_len, app.data, VRC_PDATA_DISCONNECT);
}

/* A service id of InfiniBand has no header, and 92 octets; IPv6 has its own header. */
static void
test_service_ids(void)
{
	struct app app = {0};
	struct vrc_params params;
	struct vrc_listen *listen;
	struct sim sim RI_AT_END(sim_stop);
	guint64 number;

	start(&sim, &app);
	struct ri_service service = {.kind = RI_SERVICE_IB, .id = 0x1234};
	g_assert_cmpint(vrc_listen(sim.b.cm, 56, &service, 1, &listen), ==, RI_SUCCESS);
	params = sim_params(&sim.a, 0);
	params.service = service;
	params.pdata = app.data;
	params.pdata_len = 93;
	g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_ERR_INVALID_ARG);
	params.pdata_len = 92;
	g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 100 * MS);
	const struct vrc_event *event = sim_event(&sim.b, RI_CM_REQUEST, 0);
	g_assert_cmpuint(event->cm.ctx, ==, 56);
	g_assert_cmpmem(event->cm.pdata, event->cm.pdata_len, app.data, 92);

	sim.a.addr = (struct ri_addr){.family = RI_ADDR_IPV6, .octets = {0xfe, 0x80, [15] = 1}};
	sim.b.addr = (struct ri_addr){.family = RI_ADDR_IPV6, .octets = {0xfe, 0x80, [15] = 2}};
	params = sim_params(&sim.a, PORT);
	params.qpn = 0x12;
	g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 100 * MS);
	g_assert_cmpuint(sim_count_events(&sim.a, RI_CM_ESTABLISHED), ==, 2);
	g_assert_true(vrc_addr_same(&sim_event(&sim.b, RI_CM_REQUEST, 1)->cm.peer, &sim.a.addr));
}

/* --- refusals ------------------------------------------------------------------------------- */

static void
test_rejections(void)
{
	static const struct {
		enum ri_cm_reason reason;
		guint status;
	} reasons[] = {
		{RI_CM_REASON_CONSUMER, 28}, {RI_CM_REASON_RESOURCES, 3},
		{RI_CM_REASON_BAD_ORD, 27},  {RI_CM_REASON_BAD_PATH, 12},
		{RI_CM_REASON_STALE, 10},    {RI_CM_REASON_TIMEOUT, 4},
		{RI_CM_REASON_REFUSED, 8},   {RI_CM_REASON_BAD_PARAMS, 5},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(reasons); i++) {
		struct app app = {.answer = ANSWER_REJECT,
				  .reason = reasons[i].reason,
				  .len = VRC_PDATA_REJECT};
		struct sim sim RI_AT_END(sim_stop);
		bool said = reasons[i].reason == RI_CM_REASON_CONSUMER;

		start(&sim, &app);
		guint64 number = sim_connect(&sim.a, PORT);
		sim_run(&sim, sim.now + 100 * MS);
		g_assert_cmpuint(sim.a.events->len, ==, 1);
		const struct vrc_event *event =
			sim_event(&sim.a, said ? RI_CM_REJECTED : RI_CM_FAILED, 0);
		g_assert_nonnull(event);
		g_assert_cmpuint(event->number, ==, number);
		g_assert_cmpuint(event->status, ==, reasons[i].status);
		g_assert_cmpuint(event->cm.reason, ==, reasons[i].reason);
		g_assert_cmpmem(event->cm.pdata, event->cm.pdata_len, app.data, VRC_PDATA_REJECT);
		g_assert_false(event->time_wait);
		g_assert_cmpuint(sim_counts(&sim.a).conns, ==, 0);
		g_assert_cmpuint(sim_counts(&sim.b).requests, ==, 0);
		sim_run(&sim, sim.now + 20 * SEC);
		nothing_is_left(&sim);
	}
}

static void
test_nobody_listens(void)
{
	struct app app = {0};
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, &app);
	(void)sim_connect(&sim.a, PORT + 1);
	sim_run(&sim, sim.now + 100 * MS);
	const struct vrc_event *event = sim_event(&sim.a, RI_CM_FAILED, 0);
	g_assert_cmpuint(event->cm.reason, ==, RI_CM_REASON_REFUSED);
	g_assert_cmpuint(event->status, ==, 8);
	struct vrc_mad rej;
	sim_last_mad(&sim, VRC_REJ, &rej);
	g_assert_cmpuint(rej.local_id, ==, 0);
	nothing_is_left(&sim);
}

/* What a REQ says that is not possible here: one field at a time, and the reason that is answered. */
static void
test_lying_requests(void)
{
	struct vrc_mad good;
	struct vrc_mad rej;
	struct app app = {.answer = ANSWER_NEVER};
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, &app);
	sim.mute = &sim.a;
	(void)sim_connect(&sim.a, PORT);
	sim_last_mad(&sim, VRC_REQ, &good);
	for (guint i = 0; i < 10; i++) {
		static const guint16 reasons[] = {9, 9, 26, 26, 12, 12, 5, 5, 5, 5};
		struct vrc_mad bad = good;

		bad.req.transport = i == 0 ? 1 : i == 1 ? 3 : 0;
		bad.req.mtu = i == 2 ? 0 : i == 3 ? 4 : 3;
		bad.req.primary.local_gid[15] ^= i == 4;
		bad.req.primary.remote_gid[15] ^= i == 5;
		bad.req.pkey = i == 6 ? 0x8001 : 0xffff;
		bad.private_data[0] = i == 7;            /* version of the header */
		bad.private_data[4 + 15] ^= i == 8;      /* source */
		bad.private_data[4 + 16 + 15] ^= i == 9; /* destination */
		sim_inject_mad(&sim.b, &bad);
		sim_last_mad(&sim, VRC_REJ, &rej);
		g_assert_cmpuint(rej.rej.reason, ==, reasons[i]);
		g_assert_cmpuint(rej.rej.about, ==, VRC_ABOUT_REQ);
		g_assert_cmpuint(rej.remote_id, ==, good.local_id);
		g_assert_cmpuint(rej.tid, ==, good.tid);
		if (reasons[i] == 26)
			g_assert_cmpuint(rej.rej.info[0], ==, 3);
		if (reasons[i] == 12)
			g_assert_cmpmem(rej.rej.info, rej.rej.info_len, good.req.primary.remote_gid,
					VRC_GID_SIZE);
		g_assert_cmpuint(sim_counts(&sim.b).conns, ==, 0);
	}
	good.req.pkey = 0x7fff; /* a limited member may */
	sim_inject_mad(&sim.b, &good);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST), ==, 1);
	g_assert_cmpuint(sim_counts(&sim.b).rejected, ==, 10);
}

/* Times of a peer are believed within limits. */
static void
test_lying_times(void)
{
	static const guint8 told[] = {0, 1, 8, 14, 22, 31};
	static const guint8 used[] = {22, 8, 8, 14, 22, 22};

	for (gsize i = 0; i < G_N_ELEMENTS(told); i++) {
		struct app app = {0};
		struct vrc_mad req;
		struct sim sim RI_AT_END(sim_stop);

		start(&sim, &app);
		sim.mute = &sim.a;
		(void)sim_connect(&sim.a, PORT);
		sim_last_mad(&sim, VRC_REQ, &req);
		req.req.primary.ack_timeout = told[i];
		req.req.remote_timeout = req.req.local_timeout = told[i];
		sim_inject_mad(&sim.b, &req);
		const struct vrc_event *request = sim_event(&sim.b, RI_CM_REQUEST, 0);
		g_assert_cmpuint(request->cm.reach.timeout, ==, used[i]);
		/* The REP is repeated at our own times, the request is kept for a bounded one. */
		g_assert_cmpuint(vrc_cm_due(sim.b.cm) - sim.now, ==, UINT64_C(4096) << 16);
	}
}

/* --- the end -------------------------------------------------------------------------------- */

static void
test_disconnect(void)
{
	for (guint who = 0; who < 3; who++) {
		struct app app = {0};
		struct sim sim RI_AT_END(sim_stop);

		start(&sim, &app);
		guint64 number = sim_connect(&sim.a, PORT);
		sim_run(&sim, sim.now + 100 * MS);
		if (who != 1)
			g_assert_cmpint(vrc_disconnect(sim.a.cm, number, NULL, 0), ==, RI_SUCCESS);
		if (who != 0)
			g_assert_cmpint(vrc_disconnect(sim.b.cm, app.number, NULL, 0), ==,
					RI_SUCCESS);
		g_assert_cmpint(vrc_disconnect(who == 1 ? sim.b.cm : sim.a.cm,
					       who == 1 ? app.number : number, NULL, 0),
				==, RI_ERR_INVALID_STATE);
		sim_run(&sim, sim.now + 100 * MS);
		g_assert_true(sim_event(&sim.a, RI_CM_DISCONNECTED, 0)->time_wait);
		g_assert_true(sim_event(&sim.b, RI_CM_DISCONNECTED, 0)->time_wait);
		g_assert_null(sim_event(&sim.a, RI_CM_TIME_WAIT_OVER, 0));
		sim_run(&sim, sim.now + 5 * SEC);
		g_assert_cmpuint(sim_count_events(&sim.a, RI_CM_DISCONNECTED), ==, 1);
		g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_DISCONNECTED), ==, 1);
		g_assert_cmpuint(sim_count_events(&sim.a, RI_CM_TIME_WAIT_OVER), ==, 1);
		g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_TIME_WAIT_OVER), ==, 1);
		g_assert_cmpint(vrc_disconnect(sim.a.cm, number, NULL, 0), ==,
				RI_ERR_INVALID_HANDLE);
		g_assert_cmpuint(sim_count_mads(&sim, VRC_DREQ), ==, who == 2 ? 2 : 1);
		nothing_is_left(&sim);
	}
}

/* The owner gives up a connection, an attempt, a request: the peer learns it, and the owner hears nothing more. */
static void
test_abandon(void)
{
	struct app app = {0};
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, &app);
	guint64 number = sim_connect(&sim.a, PORT);
	sim_run(&sim, sim.now + 100 * MS);
	vrc_abandon(sim.a.cm, number);
	vrc_abandon(sim.a.cm, number);
	sim_run(&sim, sim.now + 10 * SEC);
	g_assert_cmpuint(sim.a.events->len, ==, 1);
	g_assert_nonnull(sim_event(&sim.b, RI_CM_DISCONNECTED, 0));
	nothing_is_left(&sim);

	app.answer = ANSWER_NEVER;
	number = sim_connect(&sim.a, PORT);
	sim_run(&sim, sim.now + 100 * MS);
	vrc_abandon(sim.a.cm, number);
	sim_run(&sim, sim.now + 10 * SEC);
	g_assert_cmpuint(sim.a.events->len, ==, 1);
	const struct vrc_event *gone = sim_event(&sim.b, RI_CM_REQUEST_GONE, 0);
	g_assert_nonnull(gone);
	g_assert_true(gone->cm.request == (void *)(uintptr_t)app.number);
	struct vrc_params params = sim_params(&sim.b, 0);
	g_assert_cmpint(vrc_accept(sim.b.cm, app.number, &params), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(vrc_reject(sim.b.cm, app.number, RI_CM_REASON_CONSUMER, NULL, 0), ==,
			RI_ERR_INVALID_HANDLE);
	nothing_is_left(&sim);

	(void)sim_connect(&sim.a, PORT);
	sim_run(&sim, sim.now + 100 * MS);
	vrc_abandon(sim.b.cm, app.number);
	sim_run(&sim, sim.now + 20 * SEC);
	g_assert_nonnull(sim_event(&sim.a, RI_CM_REJECTED, 0));
	nothing_is_left(&sim);
}

/* An attempt that is given up before the answer: RI_CM_DISCONNECTED, and the request is gone at the peer. */
static void
test_disconnect_early(void)
{
	struct app app = {.answer = ANSWER_NEVER};
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, &app);
	guint64 number = sim_connect(&sim.a, PORT);
	sim_run(&sim, sim.now + 100 * MS);
	g_assert_cmpint(vrc_disconnect(sim.a.cm, number, "x", 1), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(vrc_disconnect(sim.a.cm, number, NULL, 0), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 10 * SEC);
	g_assert_nonnull(sim_event(&sim.a, RI_CM_DISCONNECTED, 0));
	g_assert_nonnull(sim_event(&sim.b, RI_CM_REQUEST_GONE, 0));
	struct vrc_mad rej, req;
	sim_last_mad(&sim, VRC_REJ, &rej);
	g_assert_cmpuint(rej.rej.reason, ==, 4);
	g_assert_cmpuint(rej.rej.info_len, ==, 8);
	/* By which the kernel finds the listener's process. */
	sim_last_mad(&sim, VRC_REQ, &req);
	g_assert_cmpuint(rej.remote_id, ==, 0);
	g_assert_cmphex(wire_load_be64(rej.rej.info + 8), ==, req.req.service_id);
	nothing_is_left(&sim);
}

/* A REJ ends even a connection. */
static void
test_rejected_later(void)
{
	struct vrc_mad rej = {.attribute = VRC_REJ};
	struct vrc_mad req;
	struct vrc_mad rep;
	struct app app = {0};
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, &app);
	(void)sim_connect(&sim.a, PORT);
	sim_run(&sim, sim.now + 100 * MS);
	sim_last_mad(&sim, VRC_REQ, &req);
	sim_last_mad(&sim, VRC_REP, &rep);
	rej.tid = req.tid;
	rej.local_id = rep.local_id;
	rej.remote_id = req.local_id;
	rej.rej.about = VRC_ABOUT_OTHER;
	rej.rej.reason = 4;
	sim_inject_mad(&sim.a, &rej);
	const struct vrc_event *event = sim_event(&sim.a, RI_CM_BROKEN, 0);
	g_assert_nonnull(event);
	g_assert_cmpuint(event->status, ==, 4);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/cm/connect/two-way", test_two_way);
	g_test_add_func("/roce/cm/connect/three-way", test_three_way);
	g_test_add_func("/roce/cm/connect/private-data", test_private_data);
	g_test_add_func("/roce/cm/connect/service-ids", test_service_ids);
	g_test_add_func("/roce/cm/connect/rejections", test_rejections);
	g_test_add_func("/roce/cm/connect/nobody-listens", test_nobody_listens);
	g_test_add_func("/roce/cm/connect/lying-requests", test_lying_requests);
	g_test_add_func("/roce/cm/connect/lying-times", test_lying_times);
	g_test_add_func("/roce/cm/connect/disconnect", test_disconnect);
	g_test_add_func("/roce/cm/connect/abandon", test_abandon);
	g_test_add_func("/roce/cm/connect/disconnect-early", test_disconnect_early);
	g_test_add_func("/roce/cm/connect/rejected-later", test_rejected_later);
	return g_test_run();
}
