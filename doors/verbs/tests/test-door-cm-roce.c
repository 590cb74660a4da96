/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A port with IPv4 and IPv6 addresses: a datagram to a peer or a group has the address of its id as
 * its source; a reply has an address of the family of the original sender. It is never simply the
 * port's first address.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cm_bench.h"

#define PORT  1
#define GROUP "ff15::1a7a"

static struct rdma_event_channel *channel;

/* Not before the cases of other processes have run. */
static void
begin(void)
{
	if (channel == NULL)
		channel = cm_channel();
}

/* An id for datagrams at ::1. */
static struct rdma_cm_id *
id_of_v6(void)
{
	struct sockaddr_storage own = cm_addr("::1", 0);
	struct rdma_cm_id *id;

	begin();
	id = cm_id(channel, RDMA_PS_UDP);
	OK(rdma_bind_addr(id, (struct sockaddr *)&own));
	return id;
}

static void
gid_is(struct ibv_context *verbs, int index, const char *text)
{
	uint8_t want[16] = {[10] = 0xff, [11] = 0xff};
	union ibv_gid gid;

	if (inet_pton(AF_INET6, text, want) != 1)
		g_assert_cmpint(inet_pton(AF_INET, text, want + 12), ==, 1);
	OK(ibv_query_gid(verbs, PORT, index, &gid));
	g_assert_cmpmem(gid.raw, sizeof(gid.raw), want, sizeof(want));
}

/* The way to a group begins at the address of the id that has joined it; a handle can be made of it. */
static void
test_group(void)
{
	struct sockaddr_storage group = cm_addr(GROUP, 0);
	struct rdma_cm_id *id RI_AT_END(cm_gone) = id_of_v6();
	struct cm_event joined;
	struct ibv_ah *ah;

	cm_qp(id);
	OK(rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	joined = cm_expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN, id);
	gid_is(id->verbs, joined.param.ud.ah_attr.grh.sgid_index, "::1");
	ah = ibv_create_ah(id->pd, &joined.param.ud.ah_attr);
	g_assert_nonnull(ah);
	OK(ibv_destroy_ah(ah));
	OK(rdma_leave_multicast(id, (struct sockaddr *)&group));
}

/* What came to a group is answered from an address of its sender's family, and what came to an address from there. */
static void
test_answer(void)
{
	static const struct {
		const char *from, *to, *own;
	} ways[] = {{"fd00::9", GROUP, "::1"}, {"fd00::9", "::1", "::1"}};
	struct rdma_cm_id *id RI_AT_END(cm_id_end) = id_of_v6();
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH};
	struct ibv_ah_attr attr;

	for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
		struct ibv_grh grh = {.version_tclass_flow = htonl(6u << 28), .hop_limit = 64};

		g_assert_cmpint(inet_pton(AF_INET6, ways[i].from, grh.sgid.raw), ==, 1);
		g_assert_cmpint(inet_pton(AF_INET6, ways[i].to, grh.dgid.raw), ==, 1);
		OK(ibv_init_ah_from_wc(id->verbs, PORT, &wc, &grh, &attr));
		gid_is(id->verbs, attr.grh.sgid_index, ways[i].own);
	}
}

/* Another loopback address than that of the process may be bound to, as with the kernel, but nothing can be heard there. */
static void
listens_at_own_only(const char *own, const char *other)
{
	struct sockaddr_storage here = cm_addr(own, 0), there = cm_addr(other, 0);
	struct rdma_event_channel *fresh;
	struct rdma_cm_id *id;

	g_assert_true(g_setenv("ITAPI_ROCE_ADDRESS", own, TRUE));
	fresh = cm_channel();
	id = cm_id(fresh, RDMA_PS_TCP);
	OK(rdma_bind_addr(id, (struct sockaddr *)&there));
	FAILS(rdma_listen(id, 1), EADDRNOTAVAIL);
	OK(rdma_destroy_id(id));
	id = cm_id(fresh, RDMA_PS_TCP);
	OK(rdma_bind_addr(id, (struct sockaddr *)&here));
	OK(rdma_listen(id, 1));
	OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(fresh);
}

/* Each in a process of its own, since librdmacm keeps a device open. */
static void
test_other_loopback(void)
{
	static const char *const cases[][2] = {
		{"127.0.0.2", "127.0.0.1"}, {"::1", "127.0.0.1"}, {"127.0.0.2", "::1"}};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			listens_at_own_only(cases[i][0], cases[i][1]);
			_exit(0);
		}
		g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
		g_assert_cmpint(status, ==, 0);
	}
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	cm_adapters("roce:lo");
	g_test_add_func("/door/cm-roce/other-loopback", test_other_loopback);
	g_test_add_func("/door/cm-roce/group", test_group);
	g_test_add_func("/door/cm-roce/answer", test_answer);
	result = g_test_run();
	if (channel != NULL)
		rdma_destroy_event_channel(channel);
	return result;
}
