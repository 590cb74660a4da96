/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A wildcard listener hears devices that come later, in a network namespace of the test's own. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "cm_bench.h"

static bool
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* A namespace in which this process may make interfaces. */
static bool
own_network(void)
{
	g_autofree char *uid = g_strdup_printf("0 %u 1", geteuid());
	g_autofree char *gid = g_strdup_printf("0 %u 1", getegid());

	if (geteuid() == 0)
		return unshare(CLONE_NEWNET) == 0;
	return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", uid) && put("/proc/self/gid_map", gid);
}

static bool
run(const char *line)
{
	g_autofree char *quiet = g_strdup_printf("sh -c '%s 2>/dev/null'", line);
	int status = -1;

	return g_spawn_command_line_sync(quiet, NULL, NULL, &status, NULL) && status == 0;
}

/* Does a connect to that address reach the listener? The id that asks is destroyed. */
static bool
is_heard(struct rdma_event_channel *channel, const struct rdma_cm_id *listener, const char *text)
{
	struct sockaddr_storage dest =
		cm_addr(text, ntohs(rdma_get_src_port((struct rdma_cm_id *)listener)));
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *active RI_AT_END(cm_gone) = cm_id(channel, RDMA_PS_TCP);
	struct cm_event event;
	bool heard;

	OK(rdma_resolve_addr(active, NULL, (struct sockaddr *)&dest, 1000));
	event = cm_next(channel);
	if (event.type == RDMA_CM_EVENT_ADDR_RESOLVED) {
		OK(rdma_resolve_route(active, 1000));
		cm_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, active);
		cm_qp(active);
		OK(rdma_connect(active, &param));
		event = cm_next(channel);
	}
	heard = event.type == RDMA_CM_EVENT_CONNECT_REQUEST;
	if (heard) {
		g_assert_true(event.listen_id == listener);
		OK(rdma_destroy_id(event.id));
		cm_expect(channel, RDMA_CM_EVENT_REJECTED, active);
	}
	return heard;
}

static void
test_later(void)
{
	struct rdma_cm_id *listener, *other;

	if (!run("ip link set lo up")) {
		g_test_skip("no tool to change interfaces");
		return;
	}
	struct rdma_event_channel *channel RI_AT_END(cm_channel_end) = cm_channel();
	listener = cm_listener(channel, RDMA_PS_TCP, "::");
	other = cm_listener(channel, RDMA_PS_TCP, "127.0.0.1");
	g_assert_true(is_heard(channel, listener, "127.0.0.1"));
	if (!run("ip link add it0 type veth peer name it1 && ip link set it1 up")) {
		g_test_skip("no virtual interfaces");
	} else {
		g_assert_true(run("ip addr add 10.9.8.1/24 dev it0 && ip link set it0 up"));
		UNTIL(is_heard(channel, listener, "10.9.8.1"));
		g_assert_false(is_heard(channel, other, "10.9.8.1"));
		/* An address that comes to a device that is served. */
		g_assert_true(run("ip addr add 10.9.7.1/24 dev it0"));
		UNTIL(is_heard(channel, listener, "10.9.7.1"));
		g_assert_true(run("ip link del it0"));
		UNTIL(!is_heard(channel, listener, "10.9.7.1"));
		g_assert_true(is_heard(channel, listener, "127.0.0.1"));
	}
	OK(rdma_destroy_id(other));
	OK(rdma_destroy_id(listener));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (!own_network()) {
		printf("1..0 # SKIP no network namespace of its own\n");
		return 0;
	}
	cm_adapters("iwarp");
	g_test_add_func("/door/cm-follow/later", test_later);
	return g_test_run();
}
