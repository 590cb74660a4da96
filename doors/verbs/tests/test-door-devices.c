/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Several devices at once: the list, and the attributes of a device, its port and its addresses. */
#include <arpa/inet.h>
#include <pthread.h>

#include "door_context.h"
#include "verbs_bench.h"

/* "emul" is another name of emul:ib, nothing is called "emu", and the last one cannot be opened. */
#define ADAPTERS "emu,emul:iwarp, emul,emul:ib,defect:profile-nameless:emul:ib"

enum {
	IWARP,
	IB,
	BROKEN,
	DEVICES
};

static struct ibv_device *
device_at(int which)
{
	struct ibv_device **list, *device;
	int num = -1;

	list = ibv_get_device_list(&num);
	g_assert_nonnull(list);
	g_assert_cmpint(num, ==, DEVICES);
	g_assert_null(list[DEVICES]);
	device = list[which];
	ibv_free_device_list(list);
	return device;
}

static struct ibv_context *
opened(int which)
{
	struct ibv_context *context = ibv_open_device(device_at(which));

	g_assert_nonnull(context);
	return context;
}

static void
test_list(void)
{
	static const char *const names[DEVICES] = {"it_emul_iwarp", "it_emul_ib",
						   "it_defect_profile-nameless_emul_ib"};

	for (int i = 0; i < DEVICES; i++) {
		struct ibv_device *device = device_at(i);

		g_assert_cmpstr(ibv_get_device_name(device), ==, names[i]);
		g_assert_cmpint(ibv_get_device_index(device), ==, i + 1);
		g_assert_cmpint(device->transport_type, ==,
				i == IWARP ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB);
		g_assert_cmpint(device->node_type, ==, i == IWARP ? IBV_NODE_RNIC : IBV_NODE_CA);
		/* Administered locally, and of one machine. */
		g_assert_cmpuint(be64toh(ibv_get_device_guid(device)) >> 56 & 3, ==, 2);
		for (int k = 0; k < i; k++)
			g_assert_cmpuint(ibv_get_device_guid(device), !=,
					 ibv_get_device_guid(device_at(k)));
	}
	g_assert_true(device_at(IB) == device_at(IB));
}

/* Contexts of a device share its adapter, which is closed with the last of them. */
static void
test_adapters(void)
{
	struct ibv_context *one = opened(IB), *two = opened(IB), *other = opened(IWARP);
	struct ibv_pd *pd;

	g_assert_true(door_adapter_of(one) == door_adapter_of(two));
	g_assert_true(door_adapter_of(one) != door_adapter_of(other));
	OK(ibv_close_device(one));
	pd = ibv_alloc_pd(two);
	g_assert_nonnull(pd);
	OK(ibv_dealloc_pd(pd));
	g_assert_nonnull(door_device_of(device_at(IB))->open);
	OK(ibv_close_device(two));
	g_assert_null(door_device_of(device_at(IB))->open);
	OK(ibv_close_device(other));
	NO_OBJECT(ibv_open_device(device_at(BROKEN)), EIO);
	g_assert_null(door_device_of(device_at(BROKEN))->open);
}

#define OPENERS 4
#define ROUNDS  30

static pthread_barrier_t barrier;
static struct ibv_context *contexts[OPENERS];

static void *
open_one(void *arg)
{
	struct ibv_device *device = device_at(IB);

	for (unsigned round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		*(struct ibv_context **)arg = ibv_open_device(device);
		pthread_barrier_wait(&barrier);
		/* The thread that has the first context compares them meanwhile. */
		pthread_barrier_wait(&barrier);
		OK(ibv_close_device(*(struct ibv_context **)arg));
	}
	return NULL;
}

/* Threads that open a device at once get one adapter. */
static void
test_openers(void)
{
	pthread_t threads[OPENERS];

	OK(pthread_barrier_init(&barrier, NULL, OPENERS + 1));
	for (unsigned i = 0; i < OPENERS; i++)
		OK(pthread_create(&threads[i], NULL, open_one, &contexts[i]));
	for (unsigned round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		for (unsigned i = 0; i < OPENERS; i++) {
			g_assert_nonnull(contexts[i]);
			g_assert_true(door_adapter_of(contexts[i]) == door_adapter_of(contexts[0]));
		}
		pthread_barrier_wait(&barrier);
	}
	for (unsigned i = 0; i < OPENERS; i++)
		OK(pthread_join(threads[i], NULL));
	g_assert_null(door_device_of(device_at(IB))->open);
	pthread_barrier_destroy(&barrier);
}

static void
test_attributes(void)
{
	const struct ibv_query_device_ex_input input = {.comp_mask = 1};
	struct ibv_context *context = opened(IB);
	struct ibv_device_attr attr;
	uint32_t most;
	struct {
		struct ibv_device_attr_ex ex;
		uint8_t behind[64];
	} room;

	OK(ibv_query_device(context, &attr));
	g_assert_cmpuint(attr.node_guid, ==, ibv_get_device_guid(context->device));
	g_assert_cmpuint(attr.sys_image_guid, ==, attr.node_guid);
	g_assert_cmpuint(attr.phys_port_cnt, ==, 1);
	g_assert_cmphex(attr.device_cap_flags, ==,
			IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_CURR_QP_STATE_MOD |
				IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW |
				IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_SRQ_RESIZE |
				IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_PORT_ACTIVE_EVENT);
	const int limits[] = {attr.max_qp,
			      attr.max_qp_wr,
			      attr.max_sge,
			      attr.max_sge_rd,
			      attr.max_cq,
			      attr.max_cqe,
			      attr.max_mr,
			      attr.max_pd,
			      attr.max_mw,
			      attr.max_ah,
			      attr.max_qp_rd_atom,
			      attr.max_qp_init_rd_atom,
			      attr.max_res_rd_atom,
			      attr.max_mcast_grp,
			      attr.max_mcast_qp_attach,
			      attr.max_total_mcast_qp_attach,
			      attr.max_srq,
			      attr.max_srq_wr,
			      attr.max_srq_sge};
	for (size_t i = 0; i < G_N_ELEMENTS(limits); i++)
		g_assert_cmpint(limits[i], >, 0);
	g_assert_cmpuint(attr.max_pkeys, ==, 1);
	g_assert_cmpuint(attr.max_mr_size, >, UINT32_MAX);
	g_assert_cmpint(attr.atomic_cap, ==, IBV_ATOMIC_HCA);
	/* Limits that an int does not hold. */
	most = door_session_of(context)->attr.max_mr;
	door_session_of(context)->attr.max_mr = UINT32_MAX;
	OK(ibv_query_device(context, &attr));
	door_session_of(context)->attr.max_mr = most;
	g_assert_cmpint(attr.max_mr, ==, INT32_MAX);
	OK(ibv_query_device(context, &attr));
	g_assert_cmpint(attr.max_srq_sge, !=, 0);
	g_assert_cmpint(door_query_device_ex(context, &input, &room.ex, sizeof(room.ex)), ==,
			EINVAL);
	g_assert_cmpint(door_query_device_ex(context, NULL, &room.ex, sizeof(attr) - 1), ==,
			EINVAL);
	/* A program of an earlier release has less room, one of a later release more. */
	memset(&room, 0x5a, sizeof(room));
	OK(door_query_device_ex(context, NULL, &room.ex, sizeof(attr)));
	g_assert_cmpmem(&room.ex.orig_attr, sizeof(attr), &attr, sizeof(attr));
	g_assert_cmphex(room.ex.comp_mask, ==, 0x5a5a5a5a);
	OK(door_query_device_ex(context, NULL, &room.ex, sizeof(room)));
	g_assert_cmpuint(room.ex.phys_port_cnt_ex, ==, 1);
	g_assert_cmpuint(room.ex.hca_core_clock, ==, 1000000);
	for (size_t i = 0; i < sizeof(room.behind); i++)
		g_assert_cmpuint(room.behind[i], ==, 0);
	OK(ibv_close_device(context));
}

static void
test_port(void)
{
	struct ibv_context *ib = opened(IB), *iwarp = opened(IWARP);
	struct {
		struct ibv_port_attr port;
		uint8_t behind[64];
	} room;
	struct ibv_port_attr port;

	OK(ibv_query_port(ib, 1, &port));
	g_assert_cmpint(port.state, ==, IBV_PORT_ACTIVE);
	g_assert_cmpint(port.phys_state, ==, 5);
	g_assert_cmpint(port.link_layer, ==, IBV_LINK_LAYER_INFINIBAND);
	g_assert_cmpint(port.active_mtu, ==, IBV_MTU_4096);
	g_assert_cmpuint(port.lid, ==, 1);
	g_assert_cmpuint(port.max_msg_sz, >=, 1u << 30);
	g_assert_cmpuint(port.pkey_tbl_len, ==, 1);
	OK(ibv_query_port(iwarp, 1, &port));
	g_assert_cmpint(port.link_layer, ==, IBV_LINK_LAYER_ETHERNET);
	g_assert_cmpuint(port.lid, ==, 0);
	/* Only what the program has room for is written. */
	memset(&room, 0x5a, sizeof(room));
	OK(door_query_port(ib, 1, &room.port, offsetof(struct ibv_port_attr, lid)));
	g_assert_cmpint(room.port.state, ==, IBV_PORT_ACTIVE);
	g_assert_cmphex(room.port.lid, ==, 0x5a5a);
	OK(door_query_port(ib, 1, &room.port, sizeof(room)));
	g_assert_cmpuint(room.port.lid, ==, 1);
	for (size_t i = 0; i < sizeof(room.behind); i++)
		g_assert_cmpuint(room.behind[i], ==, 0);
	g_assert_cmpint(door_query_port(ib, 2, &room.port, sizeof(room.port)), ==, EINVAL);
	OK(ibv_close_device(ib));
	OK(ibv_close_device(iwarp));
}

static const union ibv_gid empty;

static void
test_gids(void)
{
	struct ibv_context *context = opened(IB);
	struct ibv_gid_entry entry, table[4];
	union ibv_gid gid;

	OK(ibv_query_gid(context, 1, 0, &gid));
	g_assert_cmpint(memcmp(&gid, &empty, sizeof(gid)), !=, 0);
	/* A port that has GIDs does not show its IP addresses. */
	OK(ibv_query_gid(context, 1, 1, &gid));
	g_assert_cmpmem(&gid, sizeof(gid), &empty, sizeof(gid));
	errno = 0;
	g_assert_cmpint(ibv_query_gid(context, 1, -1, &gid), ==, -1);
	g_assert_cmpint(errno, ==, EINVAL);
	g_assert_cmpint(ibv_query_gid(context, 2, 0, &gid), ==, -1);
	OK(ibv_query_gid_ex(context, 1, 0, &entry, 0));
	g_assert_cmpuint(entry.port_num, ==, 1);
	g_assert_cmpuint(entry.gid_index, ==, 0);
	g_assert_cmpint(ibv_query_gid_ex(context, 1, 0, &entry, 1), ==, EOPNOTSUPP);
	g_assert_cmpint(ibv_query_gid_ex(context, 1, 1, &entry, 0), ==, ENODATA);
	g_assert_cmpint(ibv_query_gid_table(context, table, 4, 1), ==, -EOPNOTSUPP);
	g_assert_cmpint(ibv_query_gid_table(context, table, 0, 0), ==, -EINVAL);
	g_assert_cmpint(ibv_query_gid_table(context, table, 1, 0), ==, 1);
	g_assert_cmpmem(&table[0], sizeof(entry), &entry, sizeof(entry));
	OK(ibv_close_device(context));
}

extern int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index,
			      unsigned *type);

static void
test_gid_type(void)
{
	struct ibv_context *context = opened(IB);
	unsigned type = 9;

	OK(ibv_query_gid_type(context, 1, 0, &type));
	g_assert_cmpuint(type, ==, 0);
	errno = 0;
	g_assert_cmpint(ibv_query_gid_type(context, 1, 1, &type), ==, -1);
	g_assert_cmpint(errno, ==, ENODATA);
	OK(ibv_close_device(context));
}

/* IPv4 addresses are mapped into GIDs and back. */
static void
test_mapped(void)
{
	struct ibv_context *context = opened(IWARP);
	struct ri_addr addr;
	union ibv_gid gid;

	OK(ibv_query_gid(context, 1, 0, &gid));
	g_assert_cmphex(gid.raw[10], ==, 0xff);
	g_assert_cmphex(gid.raw[11], ==, 0xff);
	g_assert_cmpuint(gid.raw[12], ==, 127);
	addr = door_addr(door_adapter_of(context), &gid);
	g_assert_cmpint(addr.family, ==, RI_ADDR_IPV4);
	g_assert_cmpuint(addr.octets[0], ==, 127);
	OK(ibv_query_gid(context, 1, 1, &gid));
	addr = door_addr(door_adapter_of(context), &gid);
	g_assert_cmpint(addr.family, ==, RI_ADDR_IPV6);
	g_assert_cmpuint(addr.octets[15], ==, 1);
	OK(ibv_close_device(context));
}

static void
test_pkeys(void)
{
	struct ibv_context *context = opened(IB);
	__be16 pkey = 0;

	OK(ibv_query_pkey(context, 1, 0, &pkey));
	g_assert_cmphex(pkey, ==, 0xffff);
	errno = 0;
	g_assert_cmpint(ibv_query_pkey(context, 1, 1, &pkey), ==, -1);
	g_assert_cmpint(errno, ==, EINVAL);
	g_assert_cmpint(ibv_query_pkey(context, 2, 0, &pkey), ==, -1);
	/* Full and limited members have one partition. */
	g_assert_cmpint(ibv_get_pkey_index(context, 1, htons(0x7fff)), ==, 0);
	g_assert_cmpint(ibv_get_pkey_index(context, 1, htons(0x8001)), ==, -1);
	OK(ibv_close_device(context));
}

int
main(int argc, char **argv)
{
	bench_adapter(ADAPTERS);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/devices/list", test_list);
	g_test_add_func("/door/devices/adapters", test_adapters);
	g_test_add_func("/door/devices/openers", test_openers);
	g_test_add_func("/door/devices/attributes", test_attributes);
	g_test_add_func("/door/devices/port", test_port);
	g_test_add_func("/door/devices/gids", test_gids);
	g_test_add_func("/door/devices/gid-type", test_gid_type);
	g_test_add_func("/door/devices/mapped", test_mapped);
	g_test_add_func("/door/devices/pkeys", test_pkeys);
	return g_test_run();
}
