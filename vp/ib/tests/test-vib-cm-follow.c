/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Listeners follow the addresses of their spigot [IT 9.4.8]. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "vib_fake.h"

#define PORT 4444

static struct ri_listen *
listen_new(struct fake *fake, uint32_t backlog)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = htons(PORT)};
	struct ri_listen *listen = NULL;

	g_assert_cmpint(vib_cm_ops.listen(&fake->context, 55, 0, &service, backlog, &listen), ==,
			RI_SUCCESS);
	fake_run(fake);
	return listen;
}

/* The kernel reports that the addresses have changed, as a message of the routing socket does. */
static void
change(struct fake *fake, uint32_t num_addrs)
{
	struct ri_watch *routes = &fake->rnic.cm->routes;

	g_assert_cmpint(routes->fd, >=, 0);
	fake->num_addrs = num_addrs;
	routes->fire(routes->arg, RI_WATCH_IN);
	fake_run(fake);
}

/* The id that listens at that address for connections; NULL: none does. */
static const struct vib_ear *
ear_at(const struct fake *fake, const struct ri_listen *listen, unsigned addr)
{
	for (unsigned i = 0; i < VIB_EARS; i++) {
		const struct vib_ear *ear = &listen->ears[i];

		if (ear->id != NULL && ear->id->ps == RDMA_PS_TCP &&
		    memcmp(&ear->addr, &fake->addrs[addr], sizeof(ear->addr)) == 0)
			return ear;
	}
	return NULL;
}

static struct ri_request *
ask(struct fake *fake, const struct ri_listen *listen, unsigned addr)
{
	const struct vib_ear *ear = ear_at(fake, listen, addr);

	g_assert_nonnull(ear);
	g_assert_cmpuint(rdma_get_src_port(ear->id), ==, htons(PORT));
	fake_request(fake, ear->id, "please");
	return fake_upcall(fake, RI_CM_REQUEST)->request;
}

static void
reject(struct ri_request *request)
{
	g_assert_cmpint(vib_cm_ops.reject(request, RI_CM_REASON_CONSUMER, NULL, 0), ==, RI_SUCCESS);
}

/* A new address is listened on at the same port, and its requests count in the same backlog. */
static void
test_comes(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct ri_listen *listen = listen_new(fake, 1);
	struct ri_request *request;

	change(fake, 2);
	g_assert_cmpuint(listen->num_ears, ==, 2);
	request = ask(fake, listen, 1);
	fake_request(fake, ear_at(fake, listen, 0)->id, "please");
	fake_no_upcall(fake);
	reject(request);
	reject(ask(fake, listen, 0));
	/* A report of a change that changes nothing. */
	change(fake, 2);
	g_assert_cmpuint(listen->num_ears, ==, 2);
	g_assert_cmpuint(fake_live_ids(), ==, 2);
}

/* An address that goes takes its ear along, but no request that has come to it. */
static void
test_goes(void)
{
	static const struct ri_cm_params answer = {.ird = 5, .ord = 3, .deadline = RI_NEVER};
	struct fake *fake RI_AT_END(fake_free) = fake_new(false);
	struct ri_listen *listen;
	struct ri_request *request;
	struct fake_qp *qp RI_AT_END(fake_qp_free) = fake_qp_new(fake);

	fake->num_addrs = 2;
	listen = listen_new(fake, 1);
	request = ask(fake, listen, 1);
	change(fake, 1);
	g_assert_null(ear_at(fake, listen, 1));
	g_assert_cmpuint(listen->num_ears, ==, 2); /* for connections and queries */
	g_assert_cmpuint(fake_live_ids(), ==, 3);
	/* It still counts, and is accepted. */
	fake_request(fake, ear_at(fake, listen, 0)->id, "please");
	fake_no_upcall(fake);
	g_assert_cmpint(vib_cm_ops.accept(request, (struct ri_qp *)&qp->qp, &answer), ==,
			RI_SUCCESS);
	reject(ask(fake, listen, 0));
	/* The address comes again. */
	change(fake, 2);
	reject(ask(fake, listen, 1));
	g_assert_cmpuint(listen->num_ears, ==, 4);
}

/* The first address is replaced, and the one behind it stays. */
static void
test_first(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	const struct rdma_cm_id *kept;
	struct ri_listen *listen;

	fake->num_addrs = 2;
	listen = listen_new(fake, 4);
	kept = ear_at(fake, listen, 1)->id;
	fake->addrs[0] = fake->addrs[2];
	change(fake, 2);
	g_assert_cmpuint(listen->num_ears, ==, 2);
	g_assert_true(ear_at(fake, listen, 1)->id == kept);
	reject(ask(fake, listen, 0));
}

/* A spigot may lose all its addresses; a query that fails changes nothing. */
static void
test_all(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct ri_listen *listen = listen_new(fake, 4);

	fake->addrs_unknown = true;
	change(fake, 1);
	g_assert_cmpuint(listen->num_ears, ==, 1);
	fake->addrs_unknown = false;
	change(fake, 0);
	g_assert_cmpuint(listen->num_ears, ==, 0);
	g_assert_cmpuint(fake_live_ids(), ==, 0);
	change(fake, 1);
	reject(ask(fake, listen, 0));
}

/* Another program has the port at the new address: the log says so, and the next change tries again. */
static void
test_fails(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct ri_listen *listen = listen_new(fake, 4);

	fake_fail("bind_addr", EADDRINUSE);
	change(fake, 2);
	g_assert_cmpstr(fake_last_log(), ==,
			"cannot listen at 192.0.2.2:4444, a new address of spigot 0: Address "
			"already in use");
	g_assert_cmpuint(fake_live_ids(), ==, 1);
	reject(ask(fake, listen, 0));
	fake_fail("bind_addr", 0);
	change(fake, 3);
	g_assert_cmpuint(listen->num_ears, ==, 3);
	reject(ask(fake, listen, 1));
	reject(ask(fake, listen, 2));
}

/* A device that does not know the address yet is no failure; an event of its own tells when it does. */
static void
test_later(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct ri_listen *listen = listen_new(fake, 4);
	g_autofree char *before = g_strdup(fake_last_log());

	fake_fail("bind_addr", ENODEV);
	change(fake, 2);
	g_assert_cmpstr(fake_last_log(), ==, before);
	g_assert_cmpuint(listen->num_ears, ==, 1);
	fake_fail("bind_addr", 0);
	vib_cm_follow(&fake->rnic);
	fake_run(fake);
	g_assert_cmpuint(listen->num_ears, ==, 2);
	reject(ask(fake, listen, 1));
}

/* A change while the listener is made is not missed, though the kernel has reported it before. */
static void
test_meanwhile(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = htons(PORT)};
	struct ri_listen *listen = NULL;

	g_assert_cmpint(vib_cm_ops.listen(&fake->context, 55, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	fake->num_addrs = 2;
	fake_run(fake);
	g_assert_cmpuint(listen->num_ears, ==, 2);
	/* One that is destroyed before its turn. */
	fake->num_addrs = 1;
	vib_cm_follow(&fake->rnic);
	vib_cm_ops.listen_destroy(listen);
	fake_run(fake);
	g_assert_cmpuint(fake_live_ids(), ==, 0);
}

/* A device that is gone has no addresses to listen on. */
static void
test_gone(void)
{
	struct fake *fake RI_AT_END(fake_free) = fake_new(true);
	struct ri_listen *listen = listen_new(fake, 4);

	atomic_store(&fake->rnic.failed, true);
	change(fake, 2);
	g_assert_cmpuint(listen->num_ears, ==, 1);
}

int
main(int argc, char **argv)
{
	g_setenv("LC_ALL", "C", TRUE);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/cm/follow/comes", test_comes);
	g_test_add_func("/ib/cm/follow/goes", test_goes);
	g_test_add_func("/ib/cm/follow/first", test_first);
	g_test_add_func("/ib/cm/follow/all", test_all);
	g_test_add_func("/ib/cm/follow/fails", test_fails);
	g_test_add_func("/ib/cm/follow/later", test_later);
	g_test_add_func("/ib/cm/follow/meanwhile", test_meanwhile);
	g_test_add_func("/ib/cm/follow/gone", test_gone);
	return g_test_run();
}
