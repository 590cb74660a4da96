/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection management for a number, over a librdmacm that the test plays: the peer gets the number, and each event of a
 * set-up says how the peer is reached.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "vib_fake.h"

static const union ibv_gid four = {.raw = {[10] = 0xff, 0xff, 192, 0, 2, 1}};
static const union ibv_gid four_peer = {.raw = {[10] = 0xff, 0xff, 192, 0, 2, 9}};
static const union ibv_gid six = {.raw = {0xfe, 0x80, [15] = 1}};
static const union ibv_gid six_peer = {.raw = {0x20, 0x01, [15] = 2}};

static struct ibv_gid_entry gids[2];

static struct fake *
setting_new(const union ibv_gid *own, const union ibv_gid *peer, enum ibv_gid_type type)
{
	struct fake *fake = fake_new(false);

	fake->rnic.attr.cm_number = true;
	gids[1] = (struct ibv_gid_entry){.gid = *own, .gid_type = type};
	fake->gids = gids;
	fake->num_gids = 2;
	fake->way = (struct ibv_ah_attr){.grh = {.dgid = *peer,
						 .sgid_index = 1,
						 .hop_limit = 60,
						 .traffic_class = 5,
						 .flow_label = 0x12345},
					 .dlid = 4,
					 .sl = 6,
					 .src_path_bits = 3,
					 .port_num = 1};
	g_free(fake_calls());
	return fake;
}

static struct fake_qp *
number_new(struct fake *fake)
{
	struct fake_qp *qp = fake_qp_new(fake);

	qp->qp.number = true;
	qp->qp.user.qp = NULL;
	qp->qp.user.qpn = 0x99;
	return qp;
}

static void
reach_is(const struct ri_peer *reach)
{
	g_assert_cmpuint(reach->qpn, ==, 0x7654);
	g_assert_cmpuint(reach->rq_psn, ==, 0x111111);
	g_assert_cmpuint(reach->path_mtu, ==, 2048);
	g_assert_cmpuint(reach->ird, ==, 100);
	g_assert_cmpuint(reach->min_rnr_timer, ==, 3);
	g_assert_cmpuint(reach->sq_psn, ==, 0x222222);
	g_assert_cmpuint(reach->ord, ==, 100);
	g_assert_cmpuint(reach->timeout, ==, 18);
	g_assert_cmpuint(reach->retry_count, ==, 5);
	g_assert_cmpuint(reach->rnr_retry, ==, 4);
	g_assert_cmpuint(reach->path.port, ==, 0);
	g_assert_cmpuint(reach->path.dlid, ==, 4);
	g_assert_cmpuint(reach->path.sl, ==, 6);
	g_assert_cmpuint(reach->path.path_bits, ==, 3);
	g_assert_cmpuint(reach->path.hop_limit, ==, 60);
	g_assert_cmpuint(reach->path.traffic_class, ==, 5);
	g_assert_cmpuint(reach->path.flow_label, ==, 0x12345);
}

static void
connect_it(struct fake *fake, struct fake_qp *qp, bool three_way)
{
	const struct ri_cm_params params = {
		.peer = fake->addrs[1],
		.service = {.kind = RI_SERVICE_PORT, .port = htons(4444)},
		.ird = 7,
		.ord = 4,
		.ird_ord = true,
		.three_way = three_way,
		.deadline = RI_NEVER,
	};

	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==, RI_SUCCESS);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
	g_assert_cmpuint(fake_last_param()->qp_num, ==, 0x99);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL);
}

/* The side that connects, in both kinds of set-up. */
static void
test_connect(void)
{
	for (int three_way = 0; three_way < 2; three_way++) {
		struct fake *fake RI_AT_END(fake_free) =
			setting_new(&four, &four_peer, IBV_GID_TYPE_ROCE_V2);
		struct fake_qp *qp RI_AT_END(fake_qp_free) = number_new(fake);
		const struct ri_cm_event *event;

		connect_it(fake, qp, three_way != 0);
		if (three_way != 0) {
			event = fake_upcall(fake, RI_CM_REPLY);
			reach_is(&event->reach);
			g_assert_cmpint(vib_cm_ops.confirm((struct ri_qp *)&qp->qp, true, NULL, 0),
					==, RI_SUCCESS);
			fake_run(fake);
		}
		event = fake_upcall(fake, RI_CM_ESTABLISHED);
		reach_is(&event->reach);
		g_assert_cmpint(event->reach.path.dest.family, ==, RI_ADDR_IPV4);
		g_assert_cmpuint(event->reach.path.dest.octets[3], ==, 9);
		g_assert_cmpint(event->reach.path.source.family, ==, RI_ADDR_IPV4);
		g_assert_cmpuint(event->reach.path.source.octets[3], ==, 1);
		fake_event(fake, fake_last_id(), RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
		fake_upcall(fake, RI_CM_DISCONNECTED);
		fake_event(fake, fake_last_id(), RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL);
		fake_upcall(fake, RI_CM_TIME_WAIT_OVER);
	}
}

/* The side that listens: the request says it, before anybody has answered, and so does the event behind the answer. */
static void
test_accept(void)
{
	struct fake *fake RI_AT_END(fake_free) = setting_new(&six, &six_peer, IBV_GID_TYPE_ROCE_V2);
	const struct ri_cm_params params = {
		.ird = 5, .ord = 3, .ird_ord = true, .deadline = RI_NEVER};
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct fake_qp *qp = number_new(fake);
	const struct ri_cm_event *event;
	struct ri_listen *listen;
	struct rdma_cm_id *id;

	g_assert_cmpint(vib_cm_ops.listen(&fake->context, 55, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	id = fake_request(fake, listen->ears[0].id, "please");
	event = fake_upcall(fake, RI_CM_REQUEST);
	reach_is(&event->reach);
	g_assert_cmpint(event->reach.path.dest.family, ==, RI_ADDR_IPV6);
	g_assert_cmpuint(event->reach.path.dest.scope_id, ==, 0);
	g_assert_cmpuint(event->reach.path.source.scope_id, ==, 77); /* it is link-local */
	g_assert_cmpint(vib_cm_ops.accept(event->request, (struct ri_qp *)&qp->qp, &params), ==,
			RI_SUCCESS);
	g_assert_cmpuint(fake_last_param()->qp_num, ==, 0x99);
	fake_event(fake, id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	event = fake_upcall(fake, RI_CM_ESTABLISHED);
	reach_is(&event->reach);
	fake_qp_free(&qp);
	vib_cm_ops.listen_destroy(listen);
}

/* A GID of a fabric is not an IP address. What the kernel does not report is 0, and the connection is established all the same. */
static void
test_unknown(void)
{
	struct fake *fake RI_AT_END(fake_free) = setting_new(&four, &four_peer, IBV_GID_TYPE_IB);
	struct fake_qp *qp = number_new(fake);
	const struct ri_peer nothing = {0};
	const struct ri_cm_event *event;

	connect_it(fake, qp, false);
	event = fake_upcall(fake, RI_CM_ESTABLISHED);
	g_assert_cmpint(event->reach.path.dest.family, ==, RI_ADDR_GID);
	g_assert_cmpmem(event->reach.path.dest.octets, 16, four_peer.raw, 16);
	fake_qp_free(&qp);

	fake->num_gids = 1; /* the entry is gone */
	qp = number_new(fake);
	connect_it(fake, qp, false);
	event = fake_upcall(fake, RI_CM_ESTABLISHED);
	g_assert_cmpmem(&event->reach, sizeof(nothing), &nothing, sizeof(nothing));
	fake_qp_free(&qp);

	fake->rnic.attr.cm_number = false;
	fake->num_gids = 2;
	qp = fake_qp_new(fake);
	qp->device.qp_num = 0x99;
	connect_it(fake, qp, false);
	event = fake_upcall(fake, RI_CM_ESTABLISHED);
	g_assert_cmpmem(&event->reach, sizeof(nothing), &nothing, sizeof(nothing));
	fake_qp_free(&qp);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/cm-reach/connect", test_connect);
	g_test_add_func("/ib/cm-reach/accept", test_accept);
	g_test_add_func("/ib/cm-reach/unknown", test_unknown);
	return g_test_run();
}
