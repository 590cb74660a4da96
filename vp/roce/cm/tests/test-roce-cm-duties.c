/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What a manager owes its peers and is protected from: copies in each state, silence, MRAs, floods, stale connections, strays. */
#include <string.h>

#include "cm_sim.h"

#define PORT 7174

/* The node whose application accepts each request at once; the number of the newest request is kept. */
static guint64 newest;

static void
accept_all(struct sim_node *node, const struct vrc_event *event)
{
	struct vrc_params params = sim_params(node, 0);

	params.qpn = 0x22;
	if (event->cm.kind != RI_CM_REQUEST)
		return;
	newest = event->number;
	g_assert_cmpint(vrc_accept(node->cm, event->number, &params), ==, RI_SUCCESS);
}

static void
keep_newest(struct sim_node *node, const struct vrc_event *event)
{
	(void)node;
	if (event->cm.kind == RI_CM_REQUEST || event->cm.kind == RI_CM_SERVICE_REQUEST)
		newest = event->number;
}

static void
start(struct sim *sim, void (*app)(struct sim_node *node, const struct vrc_event *event))
{
	sim_start(sim, 3);
	sim->b.on_event = app;
	sim_listen(&sim->b, PORT, 4);
}

/* A connection that both sides have. */
static guint64
connect_up(struct sim *sim)
{
	guint64 number = sim_connect(&sim->a, PORT);

	sim_run(sim, sim->now + 100 * MS);
	g_assert_nonnull(sim_event(&sim->a, RI_CM_ESTABLISHED, 0));
	g_assert_nonnull(sim_event(&sim->b, RI_CM_ESTABLISHED, 0));
	return number;
}

/* How many datagrams does an injected one cause? */
static guint
answers(struct sim_node *to, const struct vrc_mad *mad)
{
	guint before = to->sim->log->len;

	sim_inject_mad(to, mad);
	return to->sim->log->len - before;
}

/* --- copies --------------------------------------------------------------------------------- */

static void
test_copies_of_req(void)
{
	struct vrc_mad req;
	struct vrc_mad answer;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, keep_newest);
	(void)sim_connect(&sim.a, PORT);
	sim_run(&sim, sim.now + 10 * MS);
	sim_last_mad(&sim, VRC_REQ, &req);
	/* While the application decides: MRA, and no second request. */
	g_assert_cmpuint(answers(&sim.b, &req), ==, 1);
	sim_last_mad(&sim, VRC_MRA, &answer);
	g_assert_cmpuint(answer.mra.about, ==, VRC_ABOUT_REQ);
	g_assert_cmpuint(answer.mra.timeout, ==, 24);
	g_assert_cmpuint(answer.remote_id, ==, req.local_id);
	g_assert_cmpuint(answer.tid, ==, req.tid);
	/* When the REP was sent: the REP again. */
	struct vrc_params params = sim_params(&sim.b, 0);
	sim.mute = &sim.b;
	g_assert_cmpint(vrc_accept(sim.b.cm, newest, &params), ==, RI_SUCCESS);
	g_assert_cmpint(vrc_accept(sim.b.cm, newest, &params), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(vrc_reject(sim.b.cm, newest, RI_CM_REASON_CONSUMER, NULL, 0), ==,
			RI_ERR_INVALID_HANDLE);
	g_assert_cmpuint(answers(&sim.b, &req), ==, 1);
	g_assert_cmpuint(sim_count_mads(&sim, VRC_REP), ==, 2);
	/* When it is established: nothing. */
	vrc_data_arrived(sim.b.cm, newest);
	g_assert_cmpuint(answers(&sim.b, &req), ==, 0);
	g_assert_nonnull(sim_event(&sim.b, RI_CM_ESTABLISHED, 0));
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST), ==, 1);
}

static void
test_copies_after_the_end(void)
{
	struct vrc_mad req;
	struct vrc_mad rep;
	struct vrc_mad rtu;
	struct vrc_mad dreq;
	struct vrc_mad answer;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, accept_all);
	guint64 number = connect_up(&sim);
	sim_last_mad(&sim, VRC_REQ, &req);
	sim_last_mad(&sim, VRC_REP, &rep);
	sim_last_mad(&sim, VRC_RTU, &rtu);
	g_assert_cmpuint(answers(&sim.a, &rep), ==, 1); /* the RTU again */
	sim_last_mad(&sim, VRC_RTU, &answer);
	g_assert_cmpmem(&answer, sizeof(answer), &rtu, sizeof(rtu));
	g_assert_cmpuint(answers(&sim.b, &rtu), ==, 0);
	sim_run(&sim, sim.now + 10 * MS);
	g_assert_cmpint(vrc_disconnect(sim.a.cm, number, NULL, 0), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 10 * MS);
	sim_last_mad(&sim, VRC_DREQ, &dreq);
	/* TIMEWAIT: DREP again; a REQ is stale; others mean nothing. */
	g_assert_cmpuint(answers(&sim.b, &dreq), ==, 1);
	sim_last_mad(&sim, VRC_DREP, &answer);
	g_assert_cmpuint(answer.tid, ==, dreq.tid);
	g_assert_cmpuint(answer.local_id, ==, dreq.remote_id);
	g_assert_cmpuint(answers(&sim.b, &req), ==, 1);
	sim_last_mad(&sim, VRC_REJ, &answer);
	g_assert_cmpuint(answer.rej.reason, ==, 10);
	g_assert_cmpuint(answers(&sim.b, &rtu), ==, 0);
	g_assert_cmpuint(answers(&sim.a, &rep), ==, 0);
	sim_run(&sim, sim.now + 5 * SEC);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_DISCONNECTED), ==, 1);
}

/* --- messages that are not quite those of the peer ------------------------------------------- */

/* The id, the transaction or the address of a message is wrong: nothing happens. */
static void
test_impostors(void)
{
	static const guint16 kinds[] = {VRC_REP, VRC_REJ, VRC_MRA, VRC_RTU, VRC_DREQ, VRC_DREP};
	const struct ri_addr stranger = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 9}};
	struct vrc_mad req;
	struct vrc_mad rep;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, accept_all);
	(void)connect_up(&sim);
	sim_last_mad(&sim, VRC_REQ, &req);
	sim_last_mad(&sim, VRC_REP, &rep);
	guint events = sim.a.events->len + sim.b.events->len;
	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
		for (guint lie = 0; lie < 5; lie++) {
			struct vrc_mad mad = {.attribute = kinds[i], .tid = req.tid};
			uint8_t octets[VRC_MAD_SIZE];

			mad.local_id = rep.local_id + (lie == 0);
			mad.remote_id = req.local_id + (lie == 1);
			mad.tid += lie == 2;
			if (kinds[i] == VRC_REP)
				mad.rep = rep.rep;
			else if (kinds[i] == VRC_REJ)
				mad.rej.reason = 4;
			else if (kinds[i] == VRC_DREQ)
				mad.dreq_qpn = lie == 3 ? 0x12 : 0x11;
			if (kinds[i] == VRC_DREQ && lie == 2)
				continue; /* a transaction of its own */
			vrc_mad_write(&mad, octets);
			if (lie < 4 && !(kinds[i] != VRC_DREQ && lie == 3))
				sim_inject(&sim.a, &sim.b.addr, octets, sizeof(octets));
			else if (lie == 4)
				sim_inject(&sim.a, &stranger, octets, sizeof(octets));
		}
	}
	g_assert_cmpuint(sim.a.events->len + sim.b.events->len, ==, events);
	/* And in the state in which each of them matters. */
	struct vrc_mad rej = {.attribute = VRC_REJ, .tid = 1, .rej = {.reason = 28}};
	(void)sim_connect(&sim.a, PORT);
	sim_last_mad(&sim, VRC_REQ, &req);
	rej.remote_id = req.local_id;
	rej.tid = req.tid + 1;
	sim_inject_mad(&sim.a, &rej);
	g_assert_cmpuint(sim_count_events(&sim.a, RI_CM_REJECTED), ==, 0);
	struct vrc_mad early = rep;
	early.remote_id = req.local_id;
	early.tid = req.tid + 1;
	sim_inject_mad(&sim.a, &early);
	g_assert_cmpuint(sim_count_events(&sim.a, RI_CM_ESTABLISHED), ==, 1);
	rej.tid = req.tid;
	sim_inject_mad(&sim.a, &rej);
	g_assert_cmpuint(sim_count_events(&sim.a, RI_CM_REJECTED), ==, 1);
}

static void
test_strays(void)
{
	struct vrc_mad mad = {
		.attribute = VRC_DREQ, .tid = 5, .local_id = 6, .remote_id = 7, .dreq_qpn = 8};
	struct vrc_mad answer;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, accept_all);
	g_assert_cmpuint(answers(&sim.b, &mad), ==, 1);
	sim_last_mad(&sim, VRC_DREP, &answer);
	g_assert_cmpuint(answer.local_id, ==, 7);
	g_assert_cmpuint(answer.remote_id, ==, 6);
	g_assert_cmpuint(answer.tid, ==, 5);
	mad.attribute = VRC_REP;
	mad.rep = (struct vrc_mad_rep){.qpn = 9};
	g_assert_cmpuint(answers(&sim.b, &mad), ==, 1);
	sim_last_mad(&sim, VRC_REJ, &answer);
	g_assert_cmpuint(answer.rej.reason, ==, 6);
	g_assert_cmpuint(answer.remote_id, ==, 6);
	mad.attribute = VRC_LAP;
	g_assert_cmpuint(answers(&sim.b, &mad), ==, 1);
	sim_last_mad(&sim, VRC_APR, &answer);
	g_assert_cmpuint(answer.apr.status, ==, 1);
	for (guint attribute = VRC_MRA; attribute <= VRC_APR; attribute++) {
		if (attribute == VRC_REP || attribute == VRC_DREQ || attribute == VRC_LAP ||
		    attribute == VRC_SIDR_REQ)
			continue;
		memset(&mad, 0, sizeof(mad));
		mad.attribute = (guint16)attribute;
		mad.remote_id = 7;
		g_assert_cmpuint(answers(&sim.b, &mad), ==, 0);
	}
	/* At most 1000 answers a second, however many come. */
	memset(&mad, 0, sizeof(mad));
	mad.attribute = VRC_DREQ;
	mad.remote_id = 7;
	guint answered = 0;
	for (guint i = 0; i < 5000; i++)
		answered += answers(&sim.b, &mad);
	g_assert_cmpuint(answered, <=, 1000);
	g_assert_cmpuint(sim_counts(&sim.b).unanswered, >=, 4000);
	sim_run(&sim, sim.now + SEC);
	g_assert_cmpuint(answers(&sim.b, &mad), ==, 1);
	g_assert_cmpuint(sim_counts(&sim.b).conns, ==, 0);
}

/* An alternate path is refused, and the connection stays. */
static void
test_alternate_path(void)
{
	struct vrc_mad mad = {.attribute = VRC_LAP};
	struct vrc_mad answer;
	struct vrc_mad req;
	struct vrc_mad rep;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, accept_all);
	(void)connect_up(&sim);
	sim_last_mad(&sim, VRC_REQ, &req);
	sim_last_mad(&sim, VRC_REP, &rep);
	mad.local_id = req.local_id;
	mad.remote_id = rep.local_id;
	g_assert_cmpuint(answers(&sim.b, &mad), ==, 1);
	sim_last_mad(&sim, VRC_APR, &answer);
	g_assert_cmpuint(answer.apr.status, ==, 2);
	g_assert_cmpuint(answer.local_id, ==, rep.local_id);
	g_assert_cmpuint(sim.b.events->len, ==, 2);
}

/* --- time ----------------------------------------------------------------------------------- */

/* A peer that is silent: 16 copies at growing distances, then the end at both sides, in a bounded time. */
static void
test_silence(void)
{
	struct sim sim;

	start(&sim, accept_all);
	sim.mute = &sim.b;
	guint64 begun = sim.now;
	(void)sim_connect(&sim.a, PORT);
	sim_run(&sim, RI_NEVER);
	const struct vrc_event *failed = sim_event(&sim.a, RI_CM_FAILED, 0);
	g_assert_cmpuint(failed->cm.reason, ==, RI_CM_REASON_TIMEOUT);
	g_assert_true(failed->time_wait);
	g_assert_cmpuint(sim_count_mads(&sim, VRC_REQ), ==, 16);
	g_assert_cmpuint(sim.now - begun, >, 50 * SEC);
	g_assert_cmpuint(sim.now - begun, <, 150 * SEC);
	g_assert_nonnull(sim_event(&sim.b, RI_CM_FAILED, 0));
	g_assert_cmpuint(sim_counts(&sim.a).conns + sim_counts(&sim.b).conns, ==, 0);
	sim_stop(&sim);

	/* A connection whose peer says nothing to the DREQ. */
	start(&sim, accept_all);
	guint64 number = connect_up(&sim);
	sim.mute = &sim.b;
	g_assert_cmpint(vrc_disconnect(sim.a.cm, number, NULL, 0), ==, RI_SUCCESS);
	sim_run(&sim, RI_NEVER);
	g_assert_cmpuint(sim_count_events(&sim.a, RI_CM_DISCONNECTED), ==, 1);
	g_assert_cmpuint(sim_count_mads(&sim, VRC_DREQ), ==, 16);
	g_assert_cmpuint(sim_counts(&sim.a).conns, ==, 0);
	sim_stop(&sim);
}

static void
test_deadlines(void)
{
	struct vrc_params params;
	struct sim sim RI_AT_END(sim_stop);
	guint64 number;

	start(&sim, keep_newest);
	params = sim_params(&sim.a, PORT);
	params.deadline = sim.now + 3 * SEC;
	g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 2900 * MS);
	g_assert_cmpuint(sim.a.events->len, ==, 0);
	sim_run(&sim, sim.now + 150 * MS);
	g_assert_nonnull(sim_event(&sim.a, RI_CM_FAILED, 0));
	g_assert_cmpuint(sim_event(&sim.a, RI_CM_FAILED, 0)->cm.reason, ==, RI_CM_REASON_TIMEOUT);
	g_assert_nonnull(sim_event(&sim.b, RI_CM_REQUEST_GONE, 0)); /* the REJ told it */
	/* The passive side's, too. */
	params.qpn = 0x12;
	params.deadline = RI_NEVER;
	g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 100 * MS);
	struct vrc_params accepted = sim_params(&sim.b, 0);
	accepted.deadline = sim.now + SEC;
	sim.mute = &sim.b;
	g_assert_cmpint(vrc_accept(sim.b.cm, newest, &accepted), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 1100 * MS);
	g_assert_cmpuint(sim_event(&sim.b, RI_CM_FAILED, 0)->cm.reason, ==, RI_CM_REASON_TIMEOUT);
}

/* An established connection has no deadline any more. */
static void
test_no_deadline_later(void)
{
	struct vrc_params params;
	struct sim sim RI_AT_END(sim_stop);
	guint64 number;

	start(&sim, accept_all);
	params = sim_params(&sim.a, PORT);
	params.deadline = sim.now + 3 * SEC;
	g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 1000 * SEC);
	g_assert_cmpuint(sim.a.events->len, ==, 1);
	g_assert_cmpuint(sim.b.events->len, ==, 2);
}

/* An MRA makes us wait as long as it says; each uses up one copy, so that the wait has an end. */
static void
test_mra(void)
{
	struct vrc_mad req;
	struct vrc_mad mra = {.attribute = VRC_MRA, .local_id = 1};
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, keep_newest);
	sim.mute = &sim.b;
	(void)sim_connect(&sim.a, PORT);
	sim_run(&sim, sim.now + 10 * MS);
	sim_last_mad(&sim, VRC_REQ, &req);
	mra.remote_id = req.local_id;
	mra.tid = req.tid;
	mra.mra = (struct vrc_mad_mra){.about = VRC_ABOUT_REQ, .timeout = 24};
	g_assert_cmpuint(answers(&sim.a, &mra), ==, 0);
	g_assert_cmpuint(vrc_cm_due(sim.a.cm) - sim.now, ==, UINT64_C(4096) << 24);
	mra.mra.timeout = 31; /* 2.4 hours are not believed */
	g_assert_cmpuint(answers(&sim.a, &mra), ==, 0);
	g_assert_cmpuint(vrc_cm_due(sim.a.cm) - sim.now, ==, UINT64_C(4096) << 25);
	guint64 begun = sim.now;
	while (sim_event(&sim.a, RI_CM_FAILED, 0) == NULL && sim.now < begun + 3000 * SEC) {
		(void)answers(&sim.a, &mra);
		sim_run(&sim, sim.now + 10 * SEC);
	}
	g_assert_nonnull(sim_event(&sim.a, RI_CM_FAILED, 0));
	g_assert_cmpuint(sim.now - begun, <, 16 * 10 * SEC + 140 * SEC);
}

/* A request whose peer has died is withdrawn, taken or not. */
static void
test_dead_requester(void)
{
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, keep_newest);
	(void)sim_connect(&sim.a, PORT);
	sim_run(&sim, sim.now + 10 * MS);
	sim.mute = &sim.a;
	sim_run(&sim, sim.now + 60 * SEC);
	g_assert_nonnull(sim_event(&sim.b, RI_CM_REQUEST_GONE, 0));
	g_assert_cmpuint(sim_counts(&sim.b).requests, ==, 0);
	g_assert_cmpuint(sim_counts(&sim.b).conns, ==, 0);
}

/* The peer says that it waits for no answer: its request is kept for a time in which one can be given. */
static void
test_hasty_requester(void)
{
	struct vrc_mad req;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, keep_newest);
	sim.mute = &sim.a;
	(void)sim_connect(&sim.a, PORT);
	sim_last_mad(&sim, VRC_REQ, &req);
	req.req.remote_timeout = 0;
	sim_inject_mad(&sim.b, &req);
	sim_run(&sim, sim.now + 200 * MS);
	g_assert_nonnull(sim_event(&sim.b, RI_CM_REQUEST, 0));
	g_assert_null(sim_event(&sim.b, RI_CM_REQUEST_GONE, 0));
	sim_run(&sim, sim.now + 200 * MS);
	g_assert_nonnull(sim_event(&sim.b, RI_CM_REQUEST_GONE, 0));
}

/* The REJ of a peer finds a request that was not raised to the application yet: no event comes. */
static void
test_untold_request(void)
{
	struct vrc_path path;
	struct vrc_event event;
	struct vrc_mad req;
	struct sim sim RI_AT_END(sim_stop);
	uint8_t octets[VRC_MAD_SIZE];

	start(&sim, keep_newest);
	sim.mute = &sim.a;
	(void)sim_connect(&sim.a, PORT);
	sim_last_mad(&sim, VRC_REQ, &req);
	path = (struct vrc_path){.local = sim.b.addr, .peer = sim.a.addr};
	vrc_mad_write(&req, octets);
	vrc_cm_receive(sim.b.cm, &path, octets, sizeof(octets));
	g_assert_cmpuint(sim_counts(&sim.b).requests, ==, 1);
	struct vrc_mad rej = {.attribute = VRC_REJ,
			      .tid = req.tid,
			      .local_id = req.local_id,
			      .rej = {.reason = 4}};
	vrc_mad_write(&rej, octets);
	vrc_cm_receive(sim.b.cm, &path, octets, sizeof(octets));
	g_assert_false(vrc_cm_next(sim.b.cm, &event));
	g_assert_cmpuint(sim_counts(&sim.b).conns, ==, 0);
}

/* --- many ----------------------------------------------------------------------------------- */

static guint
flood(struct sim *sim, guint count, guint first)
{
	struct vrc_mad req;
	guint sent;

	sim_last_mad(sim, VRC_REQ, &req);
	for (guint i = 0; i < count; i++) {
		req.local_id = first + i;
		req.tid = first + i;
		req.req.qpn = 0x100 + first + i;
		sent = answers(&sim->b, &req);
		g_assert_cmpuint(sent, <=, 1);
	}
	return sim_counts(&sim->b).requests;
}

/* The backlog of a listener, and of all together; what is above gets a REJ and no memory. */
static void
test_flood(void)
{
	struct vrc_mad rej;
	struct vrc_listen *more = NULL;
	struct ri_service other = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT + 1)};
	struct vrc_mad req;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, keep_newest);
	sim.mute = &sim.a;
	(void)sim_connect(&sim.a, PORT);
	g_assert_cmpuint(flood(&sim, 10000, 1), ==, 4);
	sim_last_mad(&sim, VRC_REJ, &rej);
	g_assert_cmpuint(rej.rej.reason, ==, 3);
	g_assert_cmpuint(sim_counts(&sim.b).conns, ==, 4);
	/* Answered ones make room. */
	g_assert_cmpint(vrc_reject(sim.b.cm, newest, RI_CM_REASON_CONSUMER, NULL, 0), ==,
			RI_SUCCESS);
	g_assert_cmpuint(flood(&sim, 10, 20000), ==, 4);
	g_assert_cmpint(vrc_listen(sim.b.cm, 1, &other, 1000, &more), ==, RI_SUCCESS);
	sim_last_mad(&sim, VRC_REQ, &req);
	req.req.service_id += 1;
	for (guint i = 0; i < 1000; i++) {
		req.local_id = req.tid = 30000 + i;
		req.req.qpn = 40000 + i;
		(void)answers(&sim.b, &req);
	}
	g_assert_cmpuint(sim_counts(&sim.b).requests, ==, 64);
	/* All of them end by themselves. */
	sim_run(&sim, sim.now + 100 * SEC);
	g_assert_cmpuint(sim_counts(&sim.b).requests, ==, 0);
}

/* Rejected requests are remembered for those that ask again, but no more than as many as may be open. */
static void
test_remembered(void)
{
	struct vrc_mad req;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, keep_newest);
	sim.mute = &sim.a;
	(void)sim_connect(&sim.a, PORT);
	sim_last_mad(&sim, VRC_REQ, &req);
	for (guint i = 0; i < 500; i++) {
		req.local_id = req.tid = 1 + i;
		req.req.qpn = 0x100 + i;
		(void)answers(&sim.b, &req);
		g_assert_cmpint(vrc_reject(sim.b.cm, newest, RI_CM_REASON_CONSUMER, NULL, 0), ==,
				RI_SUCCESS);
		vrc_cm_expire(sim.b.cm);
		g_assert_cmpuint(sim_counts(&sim.b).conns, <=, 64);
	}
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST), ==, 500);
}

static void
test_too_many(void)
{
	struct vrc_params params;
	struct sim sim RI_AT_END(sim_stop);
	guint64 number;

	start(&sim, keep_newest);
	params = sim_params(&sim.a, PORT);
	for (guint i = 0; i < 128; i++)
		g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	g_assert_cmpint(vrc_connect(sim.a.cm, &params, &number), ==, RI_ERR_RESOURCES);
	g_assert_cmpint(vrc_resolve(sim.a.cm, &params, &number), ==, RI_ERR_RESOURCES);
	sim_run(&sim, sim.now + SEC);
	g_assert_cmpuint(sim_count_events(&sim.a, RI_CM_FAILED), >,
			 100); /* backlog, one queue pair */
}

/* The peer's queue pair asks again with another id: it has forgotten this connection, and both end. */
static void
test_stale(void)
{
	struct vrc_mad req;
	struct vrc_mad answer;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, accept_all);
	(void)connect_up(&sim);
	sim_last_mad(&sim, VRC_REQ, &req);
	req.local_id++;
	req.tid++;
	g_assert_cmpuint(answers(&sim.b, &req), ==, 2);
	sim_last_mad(&sim, VRC_REJ, &answer);
	g_assert_cmpuint(answer.rej.reason, ==, 10);
	g_assert_cmpuint(answer.remote_id, ==, req.local_id);
	sim_last_mad(&sim, VRC_DREQ, &answer);
	const struct vrc_event *broken = sim_event(&sim.b, RI_CM_BROKEN, 0);
	g_assert_nonnull(broken);
	/* Until the peer has answered the DREQ its queue pair is not free; in the time-wait it is. */
	g_assert_cmpuint(answers(&sim.b, &req), ==, 1);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST), ==, 1);
	sim_run(&sim, sim.now + 100 * MS);
	(void)answers(&sim.b, &req);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST), ==, 2);
	/* The same id for something else is no copy. */
	req.tid++;
	req.req.qpn++;
	(void)answers(&sim.b, &req);
	sim_last_mad(&sim, VRC_REJ, &answer);
	g_assert_cmpuint(answer.tid, ==, req.tid);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST), ==, 2);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_TIME_WAIT_OVER), ==, 0);
	sim_run(&sim, sim.now + 5 * SEC);
	/* The peer refuses the answer to a request that it has not sent, so there are two. */
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_TIME_WAIT_OVER), ==, 2);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_DISCONNECTED), ==, 0);
}

/* --- listeners ------------------------------------------------------------------------------ */

static void
test_listeners(void)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	struct vrc_listen *listen;
	struct sim sim RI_AT_END(sim_stop);

	start(&sim, keep_newest);
	g_assert_cmpint(vrc_listen(sim.b.cm, 1, &service, 1, &listen), ==, RI_ERR_IN_USE);
	service.kind = RI_SERVICE_NONE;
	g_assert_cmpint(vrc_listen(sim.b.cm, 1, &service, 1, &listen), ==, RI_ERR_INVALID_ARG);
	service = (struct ri_service){.kind = RI_SERVICE_IB, .id = GUINT64_TO_BE(0x1061c06)};
	g_assert_cmpint(vrc_listen(sim.b.cm, 1, &service, 1, &listen), ==, RI_ERR_IN_USE);
	service = (struct ri_service){.kind = RI_SERVICE_IB};
	g_assert_cmpint(vrc_listen(sim.b.cm, 1, &service, 1, &listen), ==, RI_SUCCESS);
	g_assert_cmpuint(service.id, !=, 0);
	for (guint i = 0; i < 100; i++) {
		service = (struct ri_service){.kind = RI_SERVICE_PORT};
		g_assert_cmpint(vrc_listen(sim.b.cm, 1, &service, 1, &listen), ==, RI_SUCCESS);
		g_assert_cmpuint(GUINT16_FROM_BE(service.port), >=, 32768);
	}
	vrc_listen_free(sim.b.cm, listen);
	g_assert_cmpint(vrc_listen(sim.b.cm, 1, &service, 1, &listen), ==, RI_SUCCESS);
}

/* A listener goes: a request that the application has stays, one that waits is refused. */
static void
test_listener_goes(void)
{
	struct vrc_listen *listen = NULL;
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT + 1)};
	struct vrc_params params;
	struct vrc_path path;
	struct vrc_mad req;
	uint8_t octets[VRC_MAD_SIZE];
	struct sim sim RI_AT_END(sim_stop);
	guint64 number;

	start(&sim, keep_newest);
	g_assert_cmpint(vrc_listen(sim.b.cm, 9, &service, 4, &listen), ==, RI_SUCCESS);
	number = sim_connect(&sim.a, PORT + 1);
	sim_run(&sim, sim.now + 10 * MS);
	sim_last_mad(&sim, VRC_REQ, &req);
	req.local_id++;
	req.tid++;
	req.req.qpn++;
	path = (struct vrc_path){.local = sim.b.addr, .peer = sim.a.addr};
	vrc_mad_write(&req, octets);
	vrc_cm_receive(sim.b.cm, &path, octets, sizeof(octets)); /* not taken */
	vrc_listen_free(sim.b.cm, listen);
	sim_settle(&sim);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST), ==, 1);
	struct vrc_mad rej;
	sim_last_mad(&sim, VRC_REJ, &rej);
	g_assert_cmpuint(rej.rej.reason, ==, 8);
	g_assert_cmpuint(rej.remote_id, ==, req.local_id);
	params = sim_params(&sim.b, 0);
	g_assert_cmpint(vrc_accept(sim.b.cm, newest, &params), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 100 * MS);
	g_assert_cmpuint(sim_event(&sim.a, RI_CM_ESTABLISHED, 0)->number, ==, number);
	/* Nobody listens there now; and a request that is given up later has no context. */
	number = sim_connect(&sim.a, PORT + 1);
	sim_run(&sim, sim.now + 2 * SEC);
	g_assert_cmpuint(sim_event(&sim.a, RI_CM_FAILED, 0)->number, ==, number);
	g_assert_cmpuint(sim_event(&sim.a, RI_CM_FAILED, 0)->cm.reason, ==, RI_CM_REASON_REFUSED);
}

/* --- datagram services ---------------------------------------------------------------------- */

static void
test_query(void)
{
	struct ri_service_answer answer = {.status = RI_SERVICE_FOUND,
					   .qpn = 0x55,
					   .qkey = 0x66,
					   .pdata = "yes",
					   .pdata_len = 3};
	struct vrc_params params;
	uint8_t data[VRC_PDATA_QUERY + 1] = {7};
	struct vrc_mad req;
	struct sim sim RI_AT_END(sim_stop);
	guint64 number;

	start(&sim, keep_newest);
	params = sim_params(&sim.a, PORT);
	params.pdata = data;
	params.pdata_len = VRC_PDATA_QUERY + 1;
	g_assert_cmpint(vrc_resolve(sim.a.cm, &params, &number), ==, RI_ERR_INVALID_ARG);
	params.pdata_len = VRC_PDATA_QUERY;
	g_assert_cmpint(vrc_resolve(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 10 * MS);
	const struct vrc_event *asked = sim_event(&sim.b, RI_CM_SERVICE_REQUEST, 0);
	g_assert_cmpmem(asked->cm.pdata, asked->cm.pdata_len, data, VRC_PDATA_QUERY);
	sim_last_mad(&sim, VRC_SIDR_REQ, &req);
	g_assert_cmphex(req.sidr_req.service_id, ==, 0x1110000 | PORT);
	g_assert_cmpuint(answers(&sim.b, &req), ==, 0); /* a copy */
	answer.qpn = 1;
	g_assert_cmpint(vrc_answer(sim.b.cm, newest, &answer), ==, RI_ERR_INVALID_ARG);
	answer.qpn = 0x55;
	g_assert_cmpint(vrc_reject(sim.b.cm, newest, RI_CM_REASON_CONSUMER, NULL, 0), ==,
			RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(vrc_answer(sim.b.cm, newest, &answer), ==, RI_SUCCESS);
	g_assert_cmpint(vrc_answer(sim.b.cm, newest, &answer), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpuint(answers(&sim.b, &req), ==, 1); /* the answer again */
	sim_run(&sim, sim.now + 10 * MS);
	const struct vrc_event *reply = sim_event(&sim.a, RI_CM_SERVICE_REPLY, 0);
	g_assert_cmpuint(reply->number, ==, number);
	g_assert_cmpuint(reply->cm.service_status, ==, RI_SERVICE_FOUND);
	g_assert_cmpuint(reply->cm.qpn, ==, 0x55);
	g_assert_cmpuint(reply->cm.qkey, ==, 0x66);
	g_assert_cmpuint(reply->cm.pdata_len, ==, VRC_PDATA_ANSWER);
	g_assert_cmpmem(reply->cm.pdata, 3, "yes", 3);
	sim_run(&sim, sim.now + 60 * SEC);
	g_assert_cmpuint(sim_counts(&sim.a).conns + sim_counts(&sim.b).conns, ==, 0);
}

/* A port that is named by its service id is the same port: its request has the header with addresses, and as much room beside it. */
static void
test_query_by_id(void)
{
	const struct ri_service by_id = {.kind = RI_SERVICE_IB,
					 .id = GUINT64_TO_BE(0x1110000 | PORT)};
	uint8_t data[VRC_PDATA_QUERY + 1] = {7};
	struct vrc_params params;
	struct vrc_mad req;
	struct sim sim RI_AT_END(sim_stop);
	guint64 number;

	start(&sim, keep_newest);
	params = sim_params(&sim.a, PORT);
	params.service = by_id;
	params.pdata = data;
	params.pdata_len = VRC_PDATA_QUERY + 1;
	g_assert_cmpint(vrc_resolve(sim.a.cm, &params, &number), ==, RI_ERR_INVALID_ARG);
	params.pdata_len = VRC_PDATA_QUERY;
	g_assert_cmpint(vrc_resolve(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 10 * MS);
	sim_last_mad(&sim, VRC_SIDR_REQ, &req);
	g_assert_cmphex(req.sidr_req.service_id, ==, 0x1110000 | PORT);
	const struct vrc_event *asked = sim_event(&sim.b, RI_CM_SERVICE_REQUEST, 0);
	g_assert_cmpmem(asked->cm.pdata, asked->cm.pdata_len, data, VRC_PDATA_QUERY);
	/* An id that is no port's has the room of the header, too. */
	params.service.id = GUINT64_TO_BE(0x77000000 | PORT);
	params.pdata_len = VRC_PDATA_QUERY + 1;
	g_assert_cmpint(vrc_resolve(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 10 * MS);
	sim_last_mad(&sim, VRC_SIDR_REQ, &req);
	g_assert_cmpuint(req.private_data[0], ==, 7);
}

static void
test_query_ends(void)
{
	static const enum ri_service_status want[] = {RI_SERVICE_UNKNOWN, RI_SERVICE_REJECTED};
	struct vrc_params params;
	struct sim sim;
	guint64 number;

	/* While copies come, the service may take its time; then silence ends it. */
	start(&sim, keep_newest);
	params = sim_params(&sim.a, PORT);
	params.deadline = RI_NEVER;
	g_assert_cmpint(vrc_resolve(sim.a.cm, &params, &number), ==, RI_SUCCESS);
	sim_run(&sim, sim.now + 30 * SEC);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST_GONE), ==, 0);
	vrc_abandon(sim.a.cm, number);
	sim_run(&sim, sim.now + 7 * SEC);
	g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST_GONE), ==, 1);
	sim_stop(&sim);
	for (guint i = 0; i < 2; i++) {
		start(&sim, keep_newest);
		params = sim_params(&sim.a, i == 0 ? PORT + 1 : PORT);
		params.deadline = sim.now + SEC;
		g_assert_cmpint(vrc_resolve(sim.a.cm, &params, &number), ==, RI_SUCCESS);
		sim_run(&sim, sim.now + 2 * SEC);
		const struct vrc_event *reply = sim_event(&sim.a, RI_CM_SERVICE_REPLY, 0);
		g_assert_cmpuint(reply->cm.service_status, ==, want[i]);
		g_assert_cmpuint(reply->cm.qpn, ==, 0);
		sim_run(&sim, sim.now + 60 * SEC);
		g_assert_cmpuint(sim_count_events(&sim.b, RI_CM_REQUEST_GONE), ==, i);
		g_assert_cmpuint(sim_counts(&sim.b).conns, ==, 0);
		/* Withdrawn: no reply, whatever comes. */
		g_assert_cmpint(vrc_resolve(sim.a.cm, &params, &number), ==, RI_SUCCESS);
		vrc_abandon(sim.a.cm, number);
		sim_run(&sim, sim.now + 60 * SEC);
		g_assert_cmpuint(sim_count_events(&sim.a, RI_CM_SERVICE_REPLY), ==, 1);
		sim_stop(&sim);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/cm/duties/copies-of-req", test_copies_of_req);
	g_test_add_func("/roce/cm/duties/copies-after-the-end", test_copies_after_the_end);
	g_test_add_func("/roce/cm/duties/impostors", test_impostors);
	g_test_add_func("/roce/cm/duties/strays", test_strays);
	g_test_add_func("/roce/cm/duties/alternate-path", test_alternate_path);
	g_test_add_func("/roce/cm/duties/silence", test_silence);
	g_test_add_func("/roce/cm/duties/deadlines", test_deadlines);
	g_test_add_func("/roce/cm/duties/no-deadline-later", test_no_deadline_later);
	g_test_add_func("/roce/cm/duties/mra", test_mra);
	g_test_add_func("/roce/cm/duties/dead-requester", test_dead_requester);
	g_test_add_func("/roce/cm/duties/hasty-requester", test_hasty_requester);
	g_test_add_func("/roce/cm/duties/untold-request", test_untold_request);
	g_test_add_func("/roce/cm/duties/flood", test_flood);
	g_test_add_func("/roce/cm/duties/remembered", test_remembered);
	g_test_add_func("/roce/cm/duties/too-many", test_too_many);
	g_test_add_func("/roce/cm/duties/stale", test_stale);
	g_test_add_func("/roce/cm/duties/listeners", test_listeners);
	g_test_add_func("/roce/cm/duties/listener-goes", test_listener_goes);
	g_test_add_func("/roce/cm/duties/query", test_query);
	g_test_add_func("/roce/cm/duties/query-by-id", test_query_by_id);
	g_test_add_func("/roce/cm/duties/query-ends", test_query_ends);
	return g_test_run();
}
