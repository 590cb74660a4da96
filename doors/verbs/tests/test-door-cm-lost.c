/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The adapter fails: each id of it gets DEVICE_REMOVAL, and only goes away. */
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "cm_bench.h"

static int control; /* where the adapter takes commands from */

/* emul:ib connects to a socket of ours when it is opened. */
static int
control_listen(char *directory)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	g_assert_nonnull(g_mkdtemp(directory));
	(void)g_snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/control", directory);
	OK(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	OK(listen(fd, 4));
	g_setenv("ITAPI_EMUL_CONTROL", addr.sun_path, TRUE);
	return fd;
}

static void
tell(const char *text)
{
	char answer[64] = "";

	g_assert_cmpint(send(control, text, strlen(text), 0), ==, (ssize_t)strlen(text));
	g_assert_cmpint(recv(control, answer, sizeof(answer) - 1, 0), >, 0);
	g_assert_cmpstr(answer, ==, "ok");
}

static void
test_lost(void)
{
	char directory[] = "/tmp/itapi-test-XXXXXX", name[64] = "";
	int listener = control_listen(directory), removals = 0, ends = 0;
	struct sockaddr_storage any = cm_addr("0.0.0.0", 0), dest = cm_addr("127.0.0.1", 9);
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *resolved, *everywhere, *late;
	struct cm_pair pair;

	cm_adapters("emul:ib");
	cm_ask(&pair, NULL, 0);
	control = accept(listener, NULL, NULL);
	g_assert_cmpint(recv(control, name, sizeof(name) - 1, 0), >, 0);
	g_assert_cmpstr(name, ==, "emul:ib");
	cm_accept(&pair, NULL, 0);
	resolved = cm_resolved(pair.channel, RDMA_PS_TCP, &dest);
	everywhere = cm_id(pair.channel, RDMA_PS_TCP);
	OK(rdma_bind_addr(everywhere, (struct sockaddr *)&any));
	OK(rdma_listen(everywhere, 1));

	tell("fail adapter");
	/* Both ends, the listener, the id with a route; not the one that has no device. */
	while (removals < 4) {
		struct cm_event event = cm_next(pair.channel);

		g_assert_true(event.id != everywhere);
		if (event.type == RDMA_CM_EVENT_DISCONNECTED)
			ends++;
		else if (event.type != RDMA_CM_EVENT_TIMEWAIT_EXIT)
			g_assert_cmpint(event.type, ==, RDMA_CM_EVENT_DEVICE_REMOVAL);
		removals += event.type == RDMA_CM_EVENT_DEVICE_REMOVAL;
	}
	g_assert_cmpint(ends, ==, 2);
	cm_expect_none(pair.channel);
	FAILS(rdma_connect(resolved, &param), EIO);
	FAILS(rdma_listen(pair.listener, 1), EIO);
	/* As long as the program has ids of it, the device cannot be opened anew. */
	late = cm_id(pair.channel, RDMA_PS_TCP);
	OK(rdma_resolve_addr(late, NULL, (struct sockaddr *)&dest, 1000));
	cm_expect(pair.channel, RDMA_CM_EVENT_ADDR_ERROR, late);
	OK(rdma_destroy_id(late));
	OK(rdma_destroy_id(everywhere));
	OK(rdma_destroy_id(resolved));
	cm_finish(&pair);
	close(control);
	close(listener);
	(void)g_unlink(g_getenv("ITAPI_EMUL_CONTROL"));
	(void)g_rmdir(directory);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/cm-lost/lost", test_lost);
	return g_test_run();
}
