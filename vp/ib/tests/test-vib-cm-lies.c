/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Events of librdmacm that cannot be: they do no harm to those that can, and what is no request is not raised as one. */
#include <arpa/inet.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#include "vib_fake.h"

static struct ri_listen *
listen_new(struct fake *fake)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = htons(7000)};
	struct ri_listen *listen = NULL;

	g_assert_cmpint(vib_cm_ops.listen(&fake->context, 55, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	return listen;
}

/* The listener still works: a request is raised, and refused. */
static void
check_alive(struct fake *fake, struct ri_listen *listen)
{
	struct ri_request *request;

	fake_request(fake, listen->ears[0].id, "please");
	request = fake_upcall(fake, RI_CM_REQUEST)->request;
	g_assert_cmpint(vib_cm_ops.reject(request, RI_CM_REASON_CONSUMER, NULL, 0), ==, RI_SUCCESS);
	g_assert_cmpuint(listen->waiting, ==, 0);
}

/* --- events of nothing -------------------------------------------------------------------------------- */

static void
no_id(struct rdma_cm_event *event)
{
	event->id = NULL;
}

static void
no_listener(struct rdma_cm_event *event)
{
	event->listen_id = NULL;
}

static void
unknown_type(struct rdma_cm_event *event)
{
	event->event = (enum rdma_cm_event_type)99;
}

static void
test_nothing(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct ri_listen *listen = listen_new(fake);
	struct rdma_cm_id *id = listen->ears[0].id, *asker;
	void *context = id->context;

	fake->lie = no_id;
	fake_event(fake, id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	g_assert_nonnull(strstr(fake_last_log(), "an event that belongs to no connection"));
	fake->lie = unknown_type;
	fake_event(fake, id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	id->context = NULL;
	fake_event(fake, id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	id->context = context;
	fake->lie = no_listener;
	asker = fake_request(fake, id, NULL);
	fake_no_upcall(fake);
	g_assert_cmpint(rdma_destroy_id(asker), ==, 0); /* nobody has it */
	fake->lie = no_id;
	asker = fake_request(fake, id, NULL);
	fake_no_upcall(fake);
	g_assert_cmpint(rdma_destroy_id(asker), ==, 0);
	check_alive(fake, listen);
	vib_cm_ops.listen_destroy(listen);
}

/* --- requests ------------------------------------------------------------------------------------------ */

static void
odd_peer(struct rdma_cm_event *event)
{
	rdma_get_peer_addr(event->id)->sa_family = AF_UNIX;
}

static void
odd_local(struct rdma_cm_event *event)
{
	rdma_get_local_addr(event->id)->sa_family = AF_UNSPEC;
}

static void
no_device(struct rdma_cm_event *event)
{
	event->id->verbs = NULL;
}

static void
length_alone(struct rdma_cm_event *event)
{
	event->param.conn.private_data = NULL;
	event->param.conn.private_data_len = UINT8_MAX;
}

/* A peer without an address that there is in this interface, or of no device: refused, and the backlog has its room again. */
static void
test_refused(bool iwarp)
{
	static void (*const lies[])(struct rdma_cm_event * event) = {odd_peer, odd_local,
								     no_device};
	struct fake *fake RI_AT_END(fake_free) = fake_new(iwarp);
	struct ri_listen *listen = listen_new(fake);
	guint before = fake_live_ids();

	for (size_t i = 0; i < G_N_ELEMENTS(lies); i++) {
		g_free(fake_calls());
		fake->lie = lies[i];
		fake_request(fake, listen->ears[0].id, "please");
		fake_no_upcall(fake);
		g_assert_cmpuint(listen->waiting, ==, 0);
		g_assert_cmpuint(fake_live_ids(), ==, before);
		fake_assert_calls(iwarp ? "reject " : "reject_ece ");
	}
	fake->lie = length_alone;
	fake_request(fake, listen->ears[0].id, "please");
	g_assert_false(fake_upcall(fake, RI_CM_REQUEST)->pdata_present);
	vib_cm_context_end(&fake->context);
}

static void
test_refused_ib(void)
{
	test_refused(false);
}

static void
test_refused_iwarp(void)
{
	test_refused(true);
}

/* A request that names a connection as its listener. */
static void
test_no_listener(void)
{
	const struct ri_cm_params params = {
		.service = {.kind = RI_SERVICE_PORT, .port = htons(7001)},
		.peer = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 9}},
		.deadline = RI_NEVER};
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);
	guint before;

	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==, RI_SUCCESS);
	before = fake_live_ids();
	fake_request(fake, fake_last_id(), "please");
	fake_no_upcall(fake);
	g_assert_cmpuint(fake_live_ids(), ==, before);
	g_assert_nonnull(strstr(fake_last_log(), "a request that belongs to no listener"));
}

/* --- a channel that cannot be read ------------------------------------------------------------------------ */

/* The service thread does not read it again and again, and an attempt ends by its deadline. */
static void
test_channel(void)
{
	const struct ri_cm_params params = {
		.service = {.kind = RI_SERVICE_PORT, .port = htons(7001)},
		.peer = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 9}},
		.deadline = UINT64_C(5000000000)};
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);

	g_assert_cmpint(vib_cm_ops.connect((struct ri_qp *)&qp->qp, &params), ==, RI_SUCCESS);
	fake_fail("get_cm_event", EACCES);
	fake_event(fake, fake_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	fake_run(fake);
	g_assert_cmpuint(fake->reads, <=, 2);
	g_assert_nonnull(strstr(fake_last_log(), "cannot be read any more"));
	fake_advance(fake, 10000);
	g_assert_cmpint(fake_upcall(fake, RI_CM_FAILED)->reason, ==, RI_CM_REASON_TIMEOUT);
}

/* --- the version of the interface ----------------------------------------------------------------------------- */

/* librdmacm has one errno for a user who may not and for an interface that it does not know; the kernel shows the version. */
static void
test_version(void)
{
	static const struct {
		const char *version; /* NULL: none is shown */
		enum ri_status status;
		const char *text;
	} rows[] = {
		{NULL, RI_ERR_PERMISSION,
		 "/dev/infiniband/rdma_cm cannot be opened: Operation not permitted"},
		{"4\n", RI_ERR_PERMISSION,
		 "/dev/infiniband/rdma_cm cannot be opened: Operation not permitted"},
		{"5\n", RI_ERR_NO_DEVICE,
		 "librdmacm cannot use the connection manager of the kernel: the library is too "
		 "old for "
		 "version \"5\" of its interface (cm_version)"},
		{"2\n", RI_ERR_NO_DEVICE,
		 "librdmacm cannot use the connection manager of the kernel: it does not know "
		 "version "
		 "\"2\" of its interface (cm_version)"},
		{"four\n", RI_ERR_NO_DEVICE,
		 "librdmacm cannot use the connection manager of the kernel: it does not know "
		 "version "
		 "\"four\" of its interface (cm_version)"},
	};
	g_autofree char *place = g_dir_make_tmp("lies-XXXXXX", NULL);
	g_autofree char *before = g_get_current_dir();
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);

	g_assert_cmpint(g_chdir(place), ==, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		if (rows[i].version != NULL)
			g_assert_true(g_file_set_contents("cm_version", rows[i].version, -1, NULL));
		g_assert_cmpint(fake_open_fails(fake, EPERM, rows[i].text), ==, rows[i].status);
	}
	/* Another errno is no matter of the version. */
	g_assert_cmpint(fake_open_fails(fake, EACCES,
					"/dev/infiniband/rdma_cm cannot be opened: Permission "
					"denied"),
			==, RI_ERR_PERMISSION);
	g_assert_cmpint(g_remove("cm_version"), ==, 0);
	g_assert_cmpint(g_chdir(before), ==, 0);
	g_assert_cmpint(g_rmdir(place), ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/cm-lies/nothing", test_nothing);
	g_test_add_func("/ib/cm-lies/refused-ib", test_refused_ib);
	g_test_add_func("/ib/cm-lies/refused-iwarp", test_refused_iwarp);
	g_test_add_func("/ib/cm-lies/no-listener", test_no_listener);
	g_test_add_func("/ib/cm-lies/channel", test_channel);
	g_test_add_func("/ib/cm-lies/version", test_version);
	return g_test_run();
}
