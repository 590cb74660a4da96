/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Ports, addresses and listeners of rdma_cm, over two devices: iwarp:lo, and emul:ib behind it. */
#include "cm_bench.h"

#include <sys/socket.h>
#include <unistd.h>

static struct rdma_event_channel *channel;

static int
bind_to(struct rdma_cm_id *id, const char *text, uint16_t port)
{
	struct sockaddr_storage addr = cm_addr(text, port);

	return rdma_bind_addr(id, (struct sockaddr *)&addr);
}

static struct rdma_cm_id *
bound(const char *text, uint16_t port)
{
	struct rdma_cm_id *id = cm_id(channel, RDMA_PS_TCP);

	OK(bind_to(id, text, port));
	return id;
}

static const char *
device_of(const struct rdma_cm_id *id)
{
	return id->verbs != NULL ? ibv_get_device_name(id->verbs->device) : "none";
}

/* The GID of emul:ib as an address: no other device has it. */
static void
gid_of_emul(char text[INET6_ADDRSTRLEN])
{
	int num;
	struct ibv_context **contexts = rdma_get_devices(&num);
	union ibv_gid gid;

	g_assert_cmpint(num, ==, 2);
	for (int i = 0; i < num; i++)
		if (strcmp(ibv_get_device_name(contexts[i]->device), "it_emul_ib") == 0)
			OK(ibv_query_gid(contexts[i], 1, 0, &gid));
	rdma_free_devices(contexts);
	g_assert_nonnull(inet_ntop(AF_INET6, gid.raw, text, INET6_ADDRSTRLEN));
}

static void
test_bind(void)
{
	struct sockaddr_storage link = cm_addr("fe80::1", 0), addr = {.ss_family = AF_UNIX};
	struct rdma_cm_id *id = cm_id(channel, RDMA_PS_TCP);
	char gid[INET6_ADDRSTRLEN];

	/* Of nobody, of the link without a scope, of no family of ours: the id stays as it was. */
	FAILS(bind_to(id, "192.0.2.77", 0), EADDRNOTAVAIL);
	FAILS(rdma_bind_addr(id, (struct sockaddr *)&link), EINVAL);
	FAILS(rdma_bind_addr(id, (struct sockaddr *)&addr), EINVAL);
	g_assert_null(id->verbs);
	/* The first device that has the address. */
	OK(bind_to(id, "127.0.0.1", 0));
	g_assert_cmpstr(device_of(id), ==, "it_iwarp_lo");
	g_assert_cmpuint(id->port_num, ==, 1);
	g_assert_cmpuint(rdma_get_src_port(id), !=, 0);
	FAILS(bind_to(id, "127.0.0.1", 0), EINVAL);
	OK(rdma_destroy_id(id));

	/* The loopback interface has more addresses than it lists. */
	id = bound("127.1.2.3", 0);
	g_assert_cmpstr(device_of(id), ==, "it_iwarp_lo");
	OK(rdma_destroy_id(id));
	id = bound("::1", 0);
	g_assert_cmpstr(device_of(id), ==, "it_iwarp_lo");
	OK(rdma_destroy_id(id));
	id = bound("0.0.0.0", 0);
	g_assert_cmpstr(device_of(id), ==, "none");
	g_assert_cmpuint(rdma_get_src_port(id), !=, 0);
	OK(rdma_destroy_id(id));
	gid_of_emul(gid);
	id = bound(gid, 0);
	g_assert_cmpstr(device_of(id), ==, "it_emul_ib");
	OK(rdma_destroy_id(id));
}

static void
test_port_in_use(void)
{
	uint16_t port = cm_free_port();
	struct rdma_cm_id *one = bound("127.0.0.1", port), *two = cm_id(channel, RDMA_PS_TCP);
	struct sockaddr_storage addr = cm_addr("127.0.0.1", port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char gid[INET6_ADDRSTRLEN];

	gid_of_emul(gid);
	for (int listening = 0; listening < 2; listening++) {
		FAILS(bind_to(two, "127.0.0.1", port), EADDRINUSE);
		FAILS(bind_to(two, "0.0.0.0", port), EADDRINUSE);
		FAILS(bind_to(two, "::", port), EADDRINUSE); /* which hears IPv4, too */
		/* Other programs of this host. */
		FAILS(bind(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)), EADDRINUSE);
		/* The port of datagrams is another one. */
		if (listening == 0)
			OK(rdma_listen(one, 1));
	}
	OK(bind_to(two, "127.0.0.2", port));
	OK(rdma_destroy_id(two));
	OK(rdma_destroy_id(one));
	one = bound("127.0.0.1", port);
	OK(rdma_destroy_id(one));
	close(fd);

	/* A port of the device that has none of the host's. */
	one = bound(gid, port);
	two = cm_id(channel, RDMA_PS_TCP);
	for (int listening = 0; listening < 2; listening++) {
		FAILS(bind_to(two, gid, port), EADDRINUSE);
		FAILS(bind_to(two, "::", port), EADDRINUSE);
		if (listening == 0)
			OK(rdma_listen(one, 1));
	}
	OK(rdma_destroy_id(one));
	OK(rdma_destroy_id(two));

	/* One that another program has. */
	fd = socket(AF_INET, SOCK_STREAM, 0);
	OK(bind(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)));
	OK(listen(fd, 1));
	one = cm_id(channel, RDMA_PS_TCP);
	FAILS(bind_to(one, "127.0.0.1", port), EADDRINUSE);
	FAILS(bind_to(one, "0.0.0.0", port), EADDRINUSE);
	close(fd);
	OK(bind_to(one, "127.0.0.1", port));
	OK(rdma_destroy_id(one));
}

static void
set(struct rdma_cm_id *id, int option, int value)
{
	OK(rdma_set_option(id, RDMA_OPTION_ID, option, &value, sizeof(value)));
}

static void
test_reuse(void)
{
	uint16_t port = cm_free_port();
	struct rdma_cm_id *one = cm_id(channel, RDMA_PS_TCP), *two = cm_id(channel, RDMA_PS_TCP);
	int off = 0;

	set(one, RDMA_OPTION_ID_REUSEADDR, 1);
	OK(bind_to(one, "127.0.0.1", port));
	FAILS(bind_to(two, "127.0.0.1", port), EADDRINUSE); /* both want it */
	set(two, RDMA_OPTION_ID_REUSEADDR, 1);
	OK(bind_to(two, "127.0.0.1", port));
	/* One can listen only if it is alone. */
	FAILS(rdma_listen(one, 1), EADDRINUSE);
	FAILS(rdma_set_option(one, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &off, sizeof(off)),
	      EINVAL);
	OK(rdma_destroy_id(two));
	OK(rdma_listen(one, 1));
	two = cm_id(channel, RDMA_PS_TCP);
	set(two, RDMA_OPTION_ID_REUSEADDR, 1);
	FAILS(bind_to(two, "127.0.0.1", port), EADDRINUSE);
	OK(rdma_destroy_id(one));
	OK(rdma_destroy_id(two));
}

static void
test_families(void)
{
	uint16_t port = cm_free_port();
	struct rdma_cm_id *six = cm_id(channel, RDMA_PS_TCP), *four;
	int on = 1;

	set(six, RDMA_OPTION_ID_AFONLY, 1);
	OK(bind_to(six, "::", port));
	four = bound("0.0.0.0", port);
	OK(rdma_listen(six, 1));
	FAILS(rdma_set_option(six, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)), EINVAL);
	OK(rdma_listen(four, 1));
	OK(rdma_destroy_id(six));
	OK(rdma_destroy_id(four));
}

/* Connect to that address; the request must arrive at `listener`, on `device`. Returns its id; *active: the connecting id. */
static struct rdma_cm_id *
request_at(const char *text, uint16_t port, struct rdma_cm_id **active, const char *device,
	   const struct rdma_cm_id *listener)
{
	struct sockaddr_storage dest = cm_addr(text, port);
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct cm_event event;

	*active = cm_resolved(channel, RDMA_PS_TCP, &dest);
	g_assert_cmpstr(device_of(*active), ==, device);
	cm_qp(*active);
	OK(rdma_connect(*active, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	g_assert_true(event.listen_id == listener);
	g_assert_cmpstr(device_of(event.id), ==, device);
	return event.id;
}

static void
connects(const char *text, uint16_t port, const char *device, const struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *active;
	struct rdma_cm_id *passive RI_AT_END(cm_gone) =
		request_at(text, port, &active, device, listener);

	g_assert_cmpint(rdma_get_local_addr(passive)->sa_family, ==,
			strchr(text, ':') != NULL ? AF_INET6 : AF_INET);
	cm_qp(passive);
	OK(rdma_accept(passive, &param));
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cm_talk(active, passive);
	cm_gone(&active);
	cm_expect(channel, RDMA_CM_EVENT_DISCONNECTED, passive);
}

/* Nobody hears at that address. */
static void
is_refused(const char *text, uint16_t port)
{
	struct sockaddr_storage dest = cm_addr(text, port);
	struct rdma_cm_id *active RI_AT_END(cm_gone) = cm_resolved(channel, RDMA_PS_TCP, &dest);
	struct rdma_conn_param param = cm_param(NULL, 0);

	cm_qp(active);
	OK(rdma_connect(active, &param));
	cm_expect(channel, RDMA_CM_EVENT_REJECTED, active);
}

/* A wildcard listener hears both devices, and both families. */
static void
test_wildcard(void)
{
	struct rdma_cm_id *all = bound("::", 0);
	uint16_t port = ntohs(rdma_get_src_port(all));
	char gid[INET6_ADDRSTRLEN];

	gid_of_emul(gid);
	OK(rdma_listen(all, 4));
	g_assert_null(all->verbs);
	g_assert_cmpuint(rdma_get_src_port(all), ==, htons(port));
	connects("127.0.0.1", port, "it_iwarp_lo", all);
	connects("::1", port, "it_iwarp_lo", all);
	connects(gid, port, "it_emul_ib", all);
	OK(rdma_destroy_id(all));
	is_refused("127.0.0.1", port);

	/* Without a bind it is bound to any IPv4 address and any port. */
	all = cm_id(channel, RDMA_PS_TCP);
	OK(rdma_listen(all, 0));
	port = ntohs(rdma_get_src_port(all));
	connects("127.0.0.1", port, "it_iwarp_lo", all);
	is_refused("::1", port);
	OK(rdma_destroy_id(all));
}

/* Two addresses of one device, each with its own listener at the same port. */
static void
test_two_addresses(void)
{
	uint16_t port = cm_free_port();
	struct rdma_cm_id *one = bound("127.0.0.1", port), *two;

	two = bound("127.0.0.2", port);
	OK(rdma_listen(one, 1));
	is_refused("127.0.0.2", port);
	OK(rdma_listen(two, 1));
	connects("127.0.0.1", port, "it_iwarp_lo", one);
	connects("127.0.0.2", port, "it_iwarp_lo", two);
	is_refused("127.0.0.3", port);
	OK(rdma_destroy_id(one));
	connects("127.0.0.2", port, "it_iwarp_lo", two);
	is_refused("127.0.0.1", port);
	OK(rdma_destroy_id(two));
}

/* The backlog counts requests that the program has not fetched. */
static void
test_backlog(void)
{
	struct rdma_event_channel *other RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *listener RI_AT_END(cm_id_end) = bound("127.0.0.1", 0);
	struct rdma_cm_id *active[3];
	struct sockaddr_storage dest = cm_addr("127.0.0.1", ntohs(rdma_get_src_port(listener)));
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *passive[2];

	OK(rdma_migrate_id(listener, other));
	OK(rdma_listen(listener, 2));
	for (int i = 0; i < 3; i++) {
		active[i] = cm_resolved(channel, RDMA_PS_TCP, &dest);
		cm_qp(active[i]);
		OK(rdma_connect(active[i], &param));
		if (i < 2)
			cm_expect_none(channel);
	}
	cm_expect(channel, RDMA_CM_EVENT_REJECTED, active[2]);
	for (int i = 0; i < 2; i++)
		passive[i] = cm_expect(other, RDMA_CM_EVENT_CONNECT_REQUEST, NULL).id;
	cm_expect_none(other);
	for (int i = 0; i < 2; i++) {
		OK(rdma_destroy_id(passive[i]));
		cm_expect(channel, RDMA_CM_EVENT_REJECTED, NULL);
	}
	for (int i = 0; i < 3; i++)
		cm_gone(&active[i]);
}

/* A listener that goes before the program has fetched its requests. Their peers learn it. */
static void
test_unfetched(void)
{
	struct rdma_event_channel *other RI_AT_END(cm_channel_end) = cm_channel();
	struct rdma_cm_id *listener = cm_listener(other, RDMA_PS_TCP, "127.0.0.1");
	struct rdma_cm_id *active RI_AT_END(cm_gone) = cm_active(channel, listener);
	struct rdma_conn_param param = cm_param(NULL, 0);

	OK(rdma_connect(active, &param));
	UNTIL(g_poll(&(GPollFD){.fd = other->fd, .events = G_IO_IN}, 1, 0) == 1);
	OK(rdma_destroy_id(listener));
	cm_expect_none(other);
	cm_expect(channel, RDMA_CM_EVENT_REJECTED, active);
}

static void
test_resolve(void)
{
	struct sockaddr_storage dest = cm_addr("127.0.0.1", 7), source = cm_addr("127.0.0.1", 0);
	struct sockaddr_storage six = cm_addr("::1", 7), any = cm_addr("0.0.0.0", 7);
	struct sockaddr_storage nobody = cm_addr("240.0.0.1", 7);
	struct rdma_cm_id *id = cm_id(channel, RDMA_PS_TCP);

	/* The ways fail by events, and the id can try another one. */
	OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&nobody, 1000));
	g_assert_cmpint(cm_expect(channel, RDMA_CM_EVENT_ADDR_ERROR, id).status, <, 0);
	FAILS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&six, 1000), EINVAL);
	OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&dest, 1000));
	cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, id);
	g_assert_cmpstr(device_of(id), ==, "it_iwarp_lo");
	g_assert_cmpuint(rdma_get_src_port(id), !=, 0);
	g_assert_cmpuint(((struct sockaddr_in *)(void *)rdma_get_local_addr(id))->sin_addr.s_addr,
			 ==, htonl(INADDR_LOOPBACK));
	OK(rdma_destroy_id(id));

	id = cm_id(channel, RDMA_PS_TCP);
	OK(rdma_resolve_addr(id, (struct sockaddr *)&source, (struct sockaddr *)&any, 1000));
	cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, id);
	OK(rdma_destroy_id(id));
}

static void
test_options(void)
{
	struct rdma_cm_id *id RI_AT_END(cm_id_end) = cm_id(channel, RDMA_PS_TCP);
	uint8_t octet = 1;
	int number = 1;

	OK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &octet, 1));
	FAILS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &number, 4), EINVAL);
	OK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &octet, 1));
	FAILS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &number, 4), EINVAL);
	for (uint8_t code = 0; code < 31; code++)
		OK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &code, 1));
	octet = 31; /* the greatest */
	OK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &octet, 1));
	octet = 32;
	FAILS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &octet, 1), EINVAL);
	FAILS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &octet, 1), EINVAL);
	FAILS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &octet, 1), EINVAL);
	FAILS(rdma_set_option(id, RDMA_OPTION_ID, 99, &number, 4), ENOSYS);
	FAILS(rdma_set_option(id, RDMA_OPTION_IB, 99, &number, 4), ENOSYS);
	FAILS(rdma_set_option(id, 7, RDMA_OPTION_ID_TOS, &octet, 1), ENOSYS);
	FAILS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, NULL, 1), EFAULT);
	FAILS(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &number, 4), EINVAL);
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	cm_adapters("iwarp:lo,emul:ib");
	channel = cm_channel();
	g_test_add_func("/door/cm-listen/bind", test_bind);
	g_test_add_func("/door/cm-listen/port-in-use", test_port_in_use);
	g_test_add_func("/door/cm-listen/reuse", test_reuse);
	g_test_add_func("/door/cm-listen/families", test_families);
	g_test_add_func("/door/cm-listen/wildcard", test_wildcard);
	g_test_add_func("/door/cm-listen/two-addresses", test_two_addresses);
	g_test_add_func("/door/cm-listen/backlog", test_backlog);
	g_test_add_func("/door/cm-listen/unfetched", test_unfetched);
	g_test_add_func("/door/cm-listen/resolve", test_resolve);
	g_test_add_func("/door/cm-listen/options", test_options);
	result = g_test_run();
	rdma_destroy_event_channel(channel);
	return result;
}
