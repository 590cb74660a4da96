/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The side that listens: listeners, requests and their answers, and queries for datagram services on both sides. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "vib_fake.h"

#define SECOND UINT64_C(1000000000)

static struct ri_listen *
listen_new(struct fake *fake, uint16_t port, uint32_t backlog)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = htons(port)};
	struct ri_listen *listen = NULL;

	g_assert_cmpint(vib_cm_ops.listen(&fake->context, 55, 0, &service, backlog, &listen), ==,
			RI_SUCCESS);
	g_assert_cmpuint(service.port, !=, 0);
	return listen;
}

static const struct ri_cm_params answer_params = {.ird = 5,
						  .ord = 3,
						  .ird_ord = true,
						  .pdata = "yes",
						  .pdata_len = 3,
						  .deadline = 5 * SECOND,
						  .ack_timeout = 17};

static enum ri_status
accept_it(struct ri_request *request, struct fake_qp *qp)
{
	return vib_cm_ops.accept(request, (struct ri_qp *)&qp->qp, &answer_params);
}

/* A request to the first address of a listener. */
static struct ri_request *
ask(struct fake *fake, const struct ri_listen *listen)
{
	fake_request(fake, listen->ears[0].id, "please");
	return fake_upcall(fake, RI_CM_REQUEST)->request;
}

static void
test_listen(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct ri_listen *listen;

	/* All addresses have the port that the first one got. */
	fake->num_addrs = 2;
	g_assert_cmpint(vib_cm_ops.listen(&fake->context, 55, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	g_assert_cmpuint(listen->num_ears, ==, 2);
	g_assert_cmpuint(service.port, ==, rdma_get_src_port(listen->ears[0].id));
	g_assert_cmpuint(service.port, ==, rdma_get_src_port(listen->ears[1].id));
	vib_cm_ops.listen_destroy(listen);
	g_assert_cmpuint(fake_live_ids(), ==, 0);

	g_assert_cmpint(vib_cm_ops.listen(&fake->context, 55, 1, &service, 4, &listen), ==,
			RI_ERR_INVALID_ARG);
	service.kind = RI_SERVICE_IB;
	g_assert_cmpint(vib_cm_ops.listen(&fake->context, 55, 0, &service, 4, &listen), ==,
			RI_ERR_INVALID_ARG);
}

/* The file of the connection manager cannot be opened. */
static void
test_open_fails(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);

	g_assert_cmpint(fake_open_fails(fake, EACCES,
					"/dev/infiniband/rdma_cm cannot be opened: Permission "
					"denied"),
			==, RI_ERR_PERMISSION);
	g_assert_cmpint(fake_open_fails(fake, ENODEV,
					"/dev/infiniband/rdma_cm cannot be opened: No such device "
					"(the module rdma_ucm is not loaded)"),
			==, RI_ERR_NO_DEVICE);
	g_assert_cmpint(fake_open_fails(fake, EMFILE,
					"/dev/infiniband/rdma_cm cannot be opened: Too many open "
					"files"),
			==, RI_ERR_RESOURCES);
}

static void
test_listen_fails(void)
{
	static const struct {
		const char *call;
		int error;
		enum ri_status status;
	} rows[] = {
		{"bind_addr", EADDRINUSE, RI_ERR_IN_USE},
		{"listen", EADDRINUSE, RI_ERR_IN_USE},
		{"bind_addr", EACCES, RI_ERR_PERMISSION},
		{"create_id", ENOMEM, RI_ERR_RESOURCES},
		{"bind_addr", EADDRNOTAVAIL, RI_ERR_RESOURCES},
		/* Another program listens on the port at all addresses. */
		{"bind_port", EADDRNOTAVAIL, RI_ERR_IN_USE},
		{"bind_port", EADDRINUSE, RI_ERR_IN_USE},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct fake *fake RI_AT_END(fake_free) = fake_new(false);
		struct ri_service service = {.kind = RI_SERVICE_PORT, .port = htons(4444)};
		struct ri_listen *listen;

		fake_fail(rows[i].call, rows[i].error);
		g_assert_cmpint(vib_cm_ops.listen(&fake->context, 55, 0, &service, 4, &listen), ==,
				rows[i].status);
		g_assert_cmpuint(fake_live_ids(), ==, 0);
	}
}

/* With datagrams, each address is listened on for connections and for queries. */
static void
test_listen_both(void)
{
	struct fake *fake = fake_new(false);
	struct ri_listen *listen;

	fake->num_addrs = 2;
	listen = listen_new(fake, 4444, 1);
	g_assert_cmpuint(listen->num_ears, ==, 4);
	g_assert_cmpint(listen->ears[0].id->ps, ==, RDMA_PS_TCP);
	g_assert_cmpint(listen->ears[1].id->ps, ==, RDMA_PS_UDP);
	fake_free(&fake); /* the context takes it along */
}

static void
test_accept(bool iwarp)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(iwarp);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
	struct ri_listen *listen = listen_new(fake, 4444, 1);
	const struct ri_cm_event *asked;
	struct rdma_cm_id *id;

	id = fake_request(fake, listen->ears[0].id, "please");
	asked = fake_upcall(fake, RI_CM_REQUEST);
	g_assert_cmpuint(asked->ctx, ==, 55);
	g_assert_true(asked->ird_ord_valid);
	g_assert_cmpuint(asked->ird, ==, 5);
	g_assert_cmpuint(asked->ord, ==, 3);
	g_assert_cmpuint(asked->service.port, ==, htons(4444));
	g_assert_cmpuint(asked->service.local_port, ==, htons(5555));
	g_assert_cmpint(memcmp(&asked->local, &fake->addrs[0], sizeof(asked->local)), ==, 0);
	g_assert_cmpstr((const char *)asked->pdata, ==, "please");
	g_free(fake_calls());
	g_assert_cmpint(accept_it(asked->request, qp), ==, RI_SUCCESS);
	g_assert_cmpstr(qp->moves->str, ==, iwarp ? "INIT RTR " : "INIT RTR RTS ");
	g_assert_cmpuint(fake_last_ack_timeout(), ==, 17);
	g_assert_cmpstr(fake_last_pdata(), ==, "yes");
	g_assert_cmpuint(fake_last_param()->responder_resources, ==, 5);
	g_assert_cmpuint(fake_last_param()->initiator_depth, ==, 3);
	/* It is consumed. */
	g_assert_cmpint(accept_it(asked->request, qp), ==, RI_ERR_INVALID_HANDLE);
	fake_no_upcall(fake);
	vib_cm_comm_est(&qp->qp);
	fake_event(fake, id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	fake_upcall(fake, RI_CM_ESTABLISHED);
	fake_advance(fake, 60000);
	fake_no_upcall(fake);
	vib_cm_ops.listen_destroy(listen);
	fake_event(fake, id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	fake_upcall(fake, RI_CM_DISCONNECTED);
}

static void
test_accept_ib(void)
{
	test_accept(false);
}

static void
test_accept_iwarp(void)
{
	test_accept(true);
}

/* The first message comes while an attempt that took too long ends: its id is gone. */
static void
test_message_too_late(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp = fake_qp_new(fake);
	struct ri_listen *listen = listen_new(fake, 4444, 1);

	g_assert_cmpint(accept_it(ask(fake, listen), qp), ==, RI_SUCCESS);
	fake_advance(fake, 5001);
	fake_upcall(fake, RI_CM_FAILED);
	g_free(fake_calls());
	vib_cm_comm_est(&qp->qp);
	fake_assert_calls("");
	fake_qp_free(&qp);
	vib_cm_ops.listen_destroy(listen);
}

static void
time_passes(void *arg)
{
	fake_advance(arg, 6000);
}

/* The deadline is over while the reply is being sent: the id stays until the call is over. */
static void
test_deadline_in_accept(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp = fake_qp_new(fake);
	struct ri_listen *listen = listen_new(fake, 4444, 1);
	struct ri_request *request = ask(fake, listen);
	guint ids = fake_live_ids();

	fake->in_accept = time_passes;
	fake->in_accept_arg = fake;
	g_assert_cmpint(accept_it(request, qp), ==, RI_SUCCESS);
	g_assert_cmpuint(fake_live_ids(), ==, ids);
	fake_no_upcall(fake);
	fake_run(fake);
	g_assert_cmpuint(fake_live_ids(), ==, ids - 1);
	g_assert_cmpint(fake_upcall(fake, RI_CM_FAILED)->reason, ==, RI_CM_REASON_TIMEOUT);
	fake_qp_free(&qp);
	vib_cm_ops.listen_destroy(listen);
}

/* An event comes before the call is over: the timer of the end stays. */
static void
peer_leaves(void *arg)
{
	struct fake *fake = arg;

	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
}

static void
test_end_in_accept(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp = fake_qp_new(fake);
	struct ri_listen *listen = listen_new(fake, 4444, 1);
	struct ri_request *request = ask(fake, listen);

	fake->in_accept = peer_leaves;
	fake->in_accept_arg = fake;
	g_assert_cmpint(accept_it(request, qp), ==, RI_SUCCESS);
	fake_upcall(fake, RI_CM_ESTABLISHED);
	fake_upcall(fake, RI_CM_DISCONNECTED);
	fake_advance(fake, 5001); /* the deadline of the attempt */
	fake_no_upcall(fake);
	fake_advance(fake, 5000); /* that of the time-wait */
	fake_upcall(fake, RI_CM_TIME_WAIT_OVER);
	fake_qp_free(&qp);
	vib_cm_ops.listen_destroy(listen);
}

/* An accepted connection that stands. */
static struct rdma_cm_id *
establish(struct fake *fake, struct ri_listen *listen, struct fake_qp *qp)
{
	struct rdma_cm_id *id = fake_request(fake, listen->ears[0].id, "please");

	g_assert_cmpint(accept_it(fake_upcall(fake, RI_CM_REQUEST)->request, qp), ==, RI_SUCCESS);
	fake_event(fake, id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	fake_upcall(fake, RI_CM_ESTABLISHED);
	return id;
}

struct interruption {
	struct fake *fake;
	struct fake_qp *other;
	const void *owner; /* of the hang-up */
	bool gone;
	unsigned seen;
};

/* The device has an event of another connection, or is gone. The one of the hang-up must not be taken away meanwhile. */
static void
interrupt(void *arg)
{
	struct interruption *interruption = arg;
	const struct vib_cm *cm = interruption->fake->rnic.cm;

	g_assert_true(cm->busy == interruption->owner);
	if (interruption->gone)
		vib_cm_device_gone(&interruption->fake->rnic);
	else
		vib_cm_comm_est(&interruption->other->qp);
	g_assert_true(cm->busy == interruption->owner);
	interruption->seen++;
}

static void
test_hang_up_interrupted(gconstpointer data)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qps[] = {fake_qp_new(fake), fake_qp_new(fake), fake_qp_new(fake)};
	struct ri_listen *listen = listen_new(fake, 4444, 4);
	struct rdma_cm_id *id = establish(fake, listen, qps[0]);
	int which = GPOINTER_TO_INT(data); /* that of the event; the last one has no connection */
	struct interruption interruption = {
		.fake = fake, .owner = id->context, .gone = which == 0, .other = qps[which]};

	(void)establish(fake, listen, qps[1]);
	fake->in_catch_up = interrupt;
	fake->in_catch_up_arg = &interruption;
	fake_event(fake, id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	g_assert_cmpuint(interruption.seen, ==, 1);
	g_assert_null(fake->rnic.cm->busy);
	if (interruption.gone)
		fake_upcall(fake, RI_CM_BROKEN);
	fake_upcall(fake, RI_CM_DISCONNECTED);
	for (unsigned i = 0; i < G_N_ELEMENTS(qps); i++)
		fake_qp_free(&qps[i]);
	vib_cm_ops.listen_destroy(listen);
}

/* What can go wrong with an answer; the request stays where the call fails for another reason. */
static void
test_accept_refused(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
	struct ri_listen *listen = listen_new(fake, 4444, 4);
	struct ri_request *request = ask(fake, listen);
	struct ri_cm_params params = answer_params;

	params.ord = 17;
	g_assert_cmpint(vib_cm_ops.accept(request, (struct ri_qp *)&qp->qp, &params), ==,
			RI_ERR_LIMIT);
	params = answer_params;
	params.pdata_len = 197;
	g_assert_cmpint(vib_cm_ops.accept(request, (struct ri_qp *)&qp->qp, &params), ==,
			RI_ERR_INVALID_ARG);
	qp->qp.state = RI_QPS_ERROR;
	g_assert_cmpint(accept_it(request, qp), ==, RI_ERR_INVALID_STATE);
	qp->qp.state = RI_QPS_IDLE;
	g_assert_cmpint(vib_cm_ops.resolve_answer(request, &(struct ri_service_answer){0}), ==,
			RI_ERR_INVALID_HANDLE);
	/* The peer has given up: this call of the kernel reports it. */
	fake_fail("init_qp_attr", EINVAL);
	g_assert_cmpint(accept_it(request, qp), ==, RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(qp->qp.state, ==, RI_QPS_IDLE);
	g_assert_null(qp->qp.conn);
	fake_fail("init_qp_attr", 0);
	g_assert_cmpint(accept_it(request, qp), ==, RI_ERR_INVALID_HANDLE);
	/* It gives up a moment later. */
	request = ask(fake, listen);
	fake_fail("accept", EINVAL);
	g_assert_cmpint(accept_it(request, qp), ==, RI_SUCCESS);
	fake_no_upcall(fake);
	fake_run(fake);
	fake_upcall(fake, RI_CM_FAILED);
}

/* The peer does not confirm in time, or refuses. */
static void
test_accept_fails(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *a = fake_qp_new(fake), *b = fake_qp_new(fake);
	struct ri_listen *listen = listen_new(fake, 4444, 4);
	guint live;

	g_assert_cmpint(accept_it(ask(fake, listen), a), ==, RI_SUCCESS);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_REJECTED, 28, "no");
	g_assert_cmpstr((const char *)fake_upcall(fake, RI_CM_REJECTED)->pdata, ==, "no");
	g_assert_cmpint(accept_it(ask(fake, listen), b), ==, RI_SUCCESS);
	live = fake_live_ids();
	fake_advance(fake, 6000);
	g_assert_cmpint(fake_upcall(fake, RI_CM_FAILED)->reason, ==, RI_CM_REASON_TIMEOUT);
	g_assert_cmpuint(fake_live_ids(), ==, live - 1); /* which tells the peer */
	fake_qp_free(&a);
	fake_qp_free(&b);
}

static void
test_reject(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct ri_listen *listen = listen_new(fake, 4444, 4);
	struct ri_request *request = ask(fake, listen);
	static const char big[300];

	g_free(fake_calls());
	g_assert_cmpint(vib_cm_ops.reject(request, RI_CM_REASON_CONSUMER, big, 149), ==,
			RI_ERR_INVALID_ARG);
	g_assert_cmpint(vib_cm_ops.reject(request, RI_CM_REASON_CONSUMER, "no", 2), ==, RI_SUCCESS);
	fake_assert_calls("reject ");
	g_assert_cmpstr(fake_last_pdata(), ==, "no");
	g_assert_cmpint(vib_cm_ops.reject(request, RI_CM_REASON_CONSUMER, NULL, 0), ==,
			RI_ERR_INVALID_HANDLE);
	/* For another reason the peer gets RI_CM_FAILED. */
	request = ask(fake, listen);
	g_free(fake_calls());
	g_assert_cmpint(vib_cm_ops.reject(request, RI_CM_REASON_RESOURCES, NULL, 0), ==,
			RI_SUCCESS);
	fake_assert_calls("reject_ece ");
}

static void
test_backlog(void)
{
	struct fake *fake = fake_new(false);
	struct ri_listen *listen = listen_new(fake, 4444, 2);
	struct ri_request *first = ask(fake, listen);
	guint live;

	ask(fake, listen);
	live = fake_live_ids();
	g_free(fake_calls());
	fake_request(fake, listen->ears[0].id, NULL);
	fake_no_upcall(fake);
	fake_assert_calls("reject_ece ");
	g_assert_cmpuint(fake_live_ids(), ==, live);
	/* An answer makes room. */
	g_assert_cmpint(vib_cm_ops.reject(first, RI_CM_REASON_CONSUMER, NULL, 0), ==, RI_SUCCESS);
	ask(fake, listen);
	fake_free(&fake); /* with two requests */
}

/* Requests that were raised outlive their listener. */
static void
test_orphan(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
	struct ri_listen *listen = listen_new(fake, 4444, 2);
	struct ri_request *a = ask(fake, listen), *b = ask(fake, listen);

	vib_cm_ops.listen_destroy(listen);
	g_assert_cmpuint(fake_live_ids(), ==, 2);
	g_assert_cmpint(vib_cm_ops.reject(a, RI_CM_REASON_CONSUMER, NULL, 0), ==, RI_SUCCESS);
	g_assert_cmpint(accept_it(b, qp), ==, RI_SUCCESS);
}

/* --- datagram services ---------------------------------------------------------------------------------- */

static struct ri_cm_params
query_params(struct fake *fake)
{
	return (struct ri_cm_params){.peer = fake->addrs[1],
				     .service = {.kind = RI_SERVICE_PORT, .port = htons(4444)},
				     .pdata = "who",
				     .pdata_len = 3,
				     .deadline = 20 * SECOND};
}

static void
test_resolve(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct ri_cm_params params = query_params(fake);
	const struct ri_cm_event *answer;

	g_assert_cmpint(vib_cm_ops.resolve(&fake->context, 9, &params), ==, RI_SUCCESS);
	g_assert_cmpint(vib_cm_ops.resolve(&fake->context, 9, &params), ==, RI_ERR_BUSY);
	fake_run(fake);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
	g_assert_cmpstr(fake_last_pdata(), ==, "who");
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ESTABLISHED, 0, "me");
	answer = fake_upcall(fake, RI_CM_SERVICE_REPLY);
	g_assert_cmpuint(answer->ctx, ==, 9);
	g_assert_cmpint(answer->service_status, ==, RI_SERVICE_FOUND);
	g_assert_cmpuint(answer->qpn, ==, 99);
	g_assert_cmpuint(answer->qkey, ==, RDMA_UDP_QKEY);
	g_assert_cmpstr((const char *)answer->pdata, ==, "me");
	g_assert_cmpuint(fake_live_ids(), ==, 0);
	/* No answer at all; and one that is withdrawn. */
	g_assert_cmpint(vib_cm_ops.resolve(&fake->context, 9, &params), ==, RI_SUCCESS);
	g_assert_cmpint(vib_cm_ops.resolve(&fake->context, 10, &params), ==, RI_SUCCESS);
	fake_run(fake);
	vib_cm_ops.resolve_cancel(&fake->context, 10);
	vib_cm_ops.resolve_cancel(&fake->context, 11);
	fake_advance(fake, 60000);
	answer = fake_upcall(fake, RI_CM_SERVICE_REPLY);
	g_assert_cmpuint(answer->ctx, ==, 9);
	g_assert_cmpint(answer->service_status, ==, RI_SERVICE_REJECTED);
	fake_no_upcall(fake);
	/* One that cannot be asked is answered at once. */
	fake_fail("resolve_addr", EHOSTUNREACH);
	params.deadline = RI_NEVER;
	g_assert_cmpint(vib_cm_ops.resolve(&fake->context, 9, &params), ==, RI_SUCCESS);
	fake_run(fake);
	fake_upcall(fake, RI_CM_SERVICE_REPLY);
	fake_fail("resolve_addr", 0);
	/* One that is under way when the context ends. */
	g_assert_cmpint(vib_cm_ops.resolve(&fake->context, 9, &params), ==, RI_SUCCESS);
}

static void
test_resolve_answer(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct ri_listen *listen = listen_new(fake, 4444, 4);
	struct ri_service_answer answer = {
		.status = RI_SERVICE_FOUND, .qpn = 42, .qkey = 1, .pdata = "me", .pdata_len = 2};
	struct ri_request *request;

	fake_request(fake, listen->ears[1].id, "who");
	request = fake_upcall(fake, RI_CM_SERVICE_REQUEST)->request;
	g_assert_cmpint(vib_cm_ops.reject(request, RI_CM_REASON_CONSUMER, NULL, 0), ==,
			RI_ERR_INVALID_HANDLE);
	g_assert_cmpint(vib_cm_ops.resolve_answer(request, &answer), ==, RI_ERR_INVALID_ARG);
	answer.qkey = RDMA_UDP_QKEY;
	g_assert_cmpint(vib_cm_ops.resolve_answer(request, &answer), ==, RI_SUCCESS);
	g_assert_cmpuint(fake_last_param()->qp_num, ==, 42);
	g_assert_cmpstr(fake_last_pdata(), ==, "me");
	g_assert_cmpint(vib_cm_ops.resolve_answer(request, &answer), ==, RI_ERR_INVALID_HANDLE);
	fake_request(fake, listen->ears[1].id, NULL);
	request = fake_upcall(fake, RI_CM_SERVICE_REQUEST)->request;
	answer.status = RI_SERVICE_NO_QP;
	g_free(fake_calls());
	g_assert_cmpint(vib_cm_ops.resolve_answer(request, &answer), ==, RI_SUCCESS);
	fake_assert_calls("reject ");
}

int
main(int argc, char **argv)
{
	g_setenv("LC_ALL", "C", TRUE);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/cm/accept/open-fails", test_open_fails);
	g_test_add_func("/ib/cm/accept/listen", test_listen);
	g_test_add_func("/ib/cm/accept/listen-fails", test_listen_fails);
	g_test_add_func("/ib/cm/accept/listen-both", test_listen_both);
	g_test_add_func("/ib/cm/accept/ib", test_accept_ib);
	g_test_add_func("/ib/cm/accept/iwarp", test_accept_iwarp);
	g_test_add_func("/ib/cm/accept/deadline-in-accept", test_deadline_in_accept);
	g_test_add_func("/ib/cm/accept/end-in-accept", test_end_in_accept);
	g_test_add_func("/ib/cm/accept/message-too-late", test_message_too_late);
	g_test_add_data_func("/ib/cm/accept/hang-up-gone", GINT_TO_POINTER(0),
			     test_hang_up_interrupted);
	g_test_add_data_func("/ib/cm/accept/hang-up-message", GINT_TO_POINTER(1),
			     test_hang_up_interrupted);
	g_test_add_data_func("/ib/cm/accept/hang-up-other", GINT_TO_POINTER(2),
			     test_hang_up_interrupted);
	g_test_add_func("/ib/cm/accept/refused", test_accept_refused);
	g_test_add_func("/ib/cm/accept/fails", test_accept_fails);
	g_test_add_func("/ib/cm/accept/reject", test_reject);
	g_test_add_func("/ib/cm/accept/backlog", test_backlog);
	g_test_add_func("/ib/cm/accept/orphan", test_orphan);
	g_test_add_func("/ib/cm/accept/resolve", test_resolve);
	g_test_add_func("/ib/cm/accept/resolve-answer", test_resolve_answer);
	return g_test_run();
}
