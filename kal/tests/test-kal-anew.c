/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A queue pair that is connected for the second time: the kAL's record of the connection must be
 * the same as at the first time. Any value of any member may be left of the first connection. So
 * after its end the test overwrites all octets of the record, except members in a table that gives
 * the reason for each; and it runs once without overwriting. A member that is added to the record
 * later is overwritten and compared, too.
 */
#include <string.h>
#include <unistd.h>

#include "kal_attempt.h"
#include "kal_cm_internal.h"
#include "kal_objects.h"
#include "vsw_octets.h"

#define STAYS 1u /* the next connection needs it, or does not change it */
#define OWN \
	2u /* is another one in each queue pair, or means nothing before it is set: not compared */

#define MEMBER(name, how) VSW_MEMBER(kal_conn, name, how)

static const struct vsw_member members[] = {
	MEMBER(link, STAYS | OWN),
	MEMBER(cm, STAYS | OWN),
	MEMBER(qp, STAYS | OWN),
	MEMBER(qpn, STAYS | OWN),
	MEMBER(verbs, STAYS | OWN),
	MEMBER(setup, STAYS | OWN),
	MEMBER(tidy, STAYS | OWN),
	MEMBER(last_word, STAYS | OWN),
	MEMBER(reserved, STAYS | OWN),
	MEMBER(live, STAYS | OWN),
	MEMBER(ird, STAYS), /* as the next: as configured */
	MEMBER(ord, STAYS),
	/* It is over, and each of its events was raised. */
	MEMBER(state, STAYS),
	MEMBER(retired, STAYS),
	MEMBER(owed, STAYS),
	MEMBER(why, OWN),            /* of what is owed */
	MEMBER(pending.reason, OWN), /* as the next: of the next event */
	MEMBER(pending.service.local_port, OWN),
};

static const struct vsw_members table = {"kal_conn", sizeof(struct kal_conn), members,
					 G_N_ELEMENTS(members)};

static struct kal_conn *
conn_of(struct fixture *f)
{
	struct kal_link *link;
	struct kal_cm *cm;

	pthread_mutex_lock(&f->client->calls);
	cm = kal_rnic_next(f->client, NULL)->cm;
	pthread_mutex_unlock(&f->client->calls);
	kal_cm_lock(cm);
	link = kal_table_find(&cm->conns, CTX);
	kal_cm_unlock(cm);
	g_assert_nonnull(link);
	return kal_entry(link, struct kal_conn, link);
}

static void
overwrite(struct kal_conn *conn, uint8_t with)
{
	kal_conn_lock(conn);
	kal_cm_lock(conn->cm);
	vsw_octets_fill(&table, conn, STAYS, with);
	kal_cm_unlock(conn->cm);
	kal_conn_unlock(conn);
}

static struct kal_conn
copy_of(struct kal_conn *conn)
{
	struct kal_conn copy;

	kal_conn_lock(conn);
	kal_cm_lock(conn->cm);
	copy = *conn;
	kal_cm_unlock(conn->cm);
	kal_conn_unlock(conn);
	VSW_CLEAR_PADDING(&copy);
	return copy;
}

/* --- the kAL sets the connection up --------------------------------------------------------------------- */

/* The queue pair is as a new one again. */
static void
reset(struct attempt *a)
{
	struct kal_qp_modify_req idle = {.id = a->qp, .mask = RI_QP_ATTR_STATE};
	enum ri_status status;

	idle.attr.state = RI_QPS_IDLE;
	do
		status = fixture_call(&a->f, KAL_QP_MODIFY, &idle, sizeof(idle), NULL, 0);
	while (status == RI_ERR_STILL_FLUSHING);
	g_assert_cmpint(status, ==, RI_SUCCESS);
	if (a->peer >= 0)
		close(a->peer);
	a->peer = -1;
}

/* The peer answers, and goes. */
static void
ends_after_a_life(struct attempt *a)
{
	struct kal_mpa_frame reply = attempt_good_reply(a);

	raw_send_frame(a->peer, &reply);
	fixture_cm(&a->f, KAL_CM_ESTABLISHED, CTX);
	close(a->peer);
	a->peer = -1;
	fixture_cm(&a->f, KAL_CM_DISCONNECTED, CTX);
}

/* The peer answers what nobody understands. */
static void
ends_as_attempt(struct attempt *a)
{
	raw_send(a->peer, "this is no reply of anybody", 27);
	attempt_expect_failed(a, KAL_REASON_BAD_PARAMS);
}

/* The peer refuses. */
static void
ends_refused(struct attempt *a)
{
	struct kal_mpa_frame reply = attempt_good_reply(a);

	reply.reject = true;
	raw_send_frame(a->peer, &reply);
	fixture_cm(&a->f, KAL_CM_REJECTED, CTX);
}

static void (*const endings[])(struct attempt *a) = {ends_after_a_life, ends_as_attempt,
						     ends_refused};

static void
test_stream(void)
{
	struct kal_conn fresh, used;

	for (unsigned how = 0; how < G_N_ELEMENTS(endings); how++)
		for (int with = -1; with <= 1; with++) {
			struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();
			struct kal_conn *conn = conn_of(&a.f);

			attempt_meet(&a);
			fresh = copy_of(conn);
			endings[how](&a);
			reset(&a);
			if (with >= 0)
				overwrite(conn, (uint8_t)with);
			g_test_message("end %u, overwritten with %d", how, with);
			attempt_meet(&a);
			used = copy_of(conn);
			vsw_octets_same(&table, &fresh, &used, OWN);
			/* Its events are those of the first connection. */
			endings[how](&a);
		}
}

/* --- the provider sets it up ---------------------------------------------------------------------------- */

#define LISTEN_CTX 0x21

enum way {
	DIALS,
	DIALS_AND_ANSWERS, /* a reply */
	ACCEPTS,
	WAYS
};

static void
say(enum ri_cm_event_kind kind, uint64_t ctx)
{
	struct ri_cm_event event = {.kind = kind,
				    .reason = RI_CM_REASON_STALE,
				    .ctx = ctx,
				    .request = (struct ri_request *)(void *)&fake_attr,
				    .peer = {.family = RI_ADDR_GID, .octets = {1, 2, 3}},
				    .ird = 2,
				    .ord = 7,
				    .ird_ord_valid = true};

	fake_raise_cm(&event);
}

/* The call that begins a connection in this way; the provider takes it, or does not. */
static void
begin(struct fixture *f, uint32_t qp, enum way way, bool taken)
{
	struct kal_accept_rep rep;
	struct kal_cm_req req;
	bool passive = way == ACCEPTS;
	enum ri_status status;

	fixture_connect_req(&req, qp, false, 99);
	req.three_way = way == DIALS_AND_ANSWERS;
	req.suppress_ird_ord = passive && taken;
	if (passive) {
		say(RI_CM_REQUEST, fake_cm_listen_ctx);
		req.request = fixture_cm(f, KAL_CM_REQUEST, LISTEN_CTX).request;
	}
	fake_cm_status = taken ? RI_SUCCESS : RI_ERR_NO_ROUTE;
	status = fixture_call(f, passive ? KAL_ACCEPT : KAL_CONNECT, &req, sizeof(req), &rep,
			      passive ? sizeof(rep) : 0);
	g_assert_cmpint(status, ==, fake_cm_status);
	fake_cm_status = RI_SUCCESS;
	if (passive && !taken)
		g_assert_cmpint(fixture_call(f, KAL_REJECT, &req, sizeof(req), NULL, 0), ==,
				RI_SUCCESS);
}

/* A connection that began in this way comes up and ends, and the queue pair is as a new one again. */
static void
end(struct fixture *f, uint32_t qp, enum way way)
{
	struct kal_qp_modify_req idle = {.id = qp, .mask = RI_QP_ATTR_STATE};
	struct kal_cm_req confirm = {.qp = qp};

	idle.attr.state = RI_QPS_IDLE;
	if (way == DIALS_AND_ANSWERS) {
		say(RI_CM_REPLY, CTX);
		g_assert_true(fixture_cm(f, KAL_CM_REPLY, CTX).ird_ord_valid);
		g_assert_cmpint(fixture_call(f, KAL_CONFIRM, &confirm, sizeof(confirm), NULL, 0),
				==, RI_SUCCESS);
	}
	say(RI_CM_ESTABLISHED, CTX);
	fixture_cm(f, KAL_CM_ESTABLISHED, CTX);
	say(RI_CM_DISCONNECTED, CTX);
	fixture_cm(f, KAL_CM_DISCONNECTED, CTX);
	g_assert_cmpint(fixture_call(f, KAL_QP_MODIFY, &idle, sizeof(idle), NULL, 0), ==,
			RI_SUCCESS);
	g_assert_true(fixture_silent(f));
}

static struct fixture
open_with_cm(void)
{
	fake_reset();
	fake_attr.cm_forms = RI_CM_ADDRESS;
	fake_attr.transport = RI_TRANSPORT_IB;
	fake_attr.three_way_handshake = true;
	return fixture_open();
}

static void
live_after(enum way first, bool taken, enum way second)
{
	struct fixture f RI_AT_END(fixture_close) = open_with_cm();
	struct kal_conn fresh, used;
	uint16_t port = 0;
	uint32_t qp;

	fixture_listen(&f, LISTEN_CTX, &port, 3);
	qp = fixture_qp(&f, CTX, 4, 3);
	begin(&f, qp, second, true);
	fresh = copy_of(conn_of(&f));
	g_assert_cmpint(fixture_id(&f, KAL_QP_DESTROY, qp), ==, RI_SUCCESS);
	qp = fixture_qp(&f, CTX, 4, 3);
	begin(&f, qp, first, taken);
	if (taken)
		end(&f, qp, first);
	g_test_message("first %d, taken %d, then %d", first, taken, second);
	begin(&f, qp, second, true);
	used = copy_of(conn_of(&f));
	vsw_octets_same(&table, &fresh, &used, OWN);
	end(&f, qp, second);
}

/* A life or a refused call in each way, and one in each way after it. */
static void
test_address(void)
{
	for (int first = 0; first < WAYS; first++)
		for (int second = 0; second < WAYS; second++) {
			live_after((enum way)first, false, (enum way)second);
			live_after((enum way)first, true, (enum way)second);
		}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	if (VSW_KNOWS_PADDING) {
		g_test_add_func("/kal/anew/stream", test_stream);
		g_test_add_func("/kal/anew/address", test_address);
	}
	return g_test_run();
}
