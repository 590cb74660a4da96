/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The commands of rdma_cm, written directly, as another release of librdmacm may write them: each
 * in a valid form, too short, with too little room for the reply, and about ids that do not exist.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <glib.h>
#include <infiniband/ib.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>

#define NO_ID 12345

enum {
	ADDR_RESOLVED =
		0, /* RDMA_CM_EVENT_*: their header cannot be included beside the kernel's */
	ADDR_ERROR = 1,
	ROUTE_RESOLVED = 2
};

static int channel, other;

/* Write one command; 0 or errno. Its header states `in` octets of the struct and `out` of the answer. */
static int
command(int fd, uint32_t number, const void *body, size_t in, size_t out)
{
	struct {
		struct rdma_ucm_cmd_hdr head;
		uint8_t body[512];
	} whole = {.head = {.cmd = number, .in = (uint16_t)in, .out = (uint16_t)out}};
	ssize_t written;

	memcpy(whole.body, body, in);
	errno = 0;
	written = write(fd, &whole, sizeof(whole.head) + in);
	if (written < 0)
		return errno;
	g_assert_cmpint(written, ==, sizeof(whole.head) + in);
	return 0;
}

#define RUN(number, body, out) \
	command(channel, RDMA_USER_CM_CMD_##number, &(body), sizeof(body), out)
#define IS(number, body, out, error) g_assert_cmpint(RUN(number, body, out), ==, error)

static uint64_t
at(void *answer)
{
	return (uintptr_t)answer;
}

static uint32_t
create(int fd, uint16_t ps)
{
	struct rdma_ucm_create_id_resp resp = {.id = 0};
	struct rdma_ucm_create_id cmd = {.uid = 77, .response = at(&resp), .ps = ps};

	g_assert_cmpint(command(fd, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd), sizeof(resp)),
			==, 0);
	g_assert_cmpuint(resp.id, !=, 0);
	return resp.id;
}

static uint32_t
destroy(int fd, uint32_t id)
{
	struct rdma_ucm_destroy_id_resp resp = {.events_reported = 99};
	struct rdma_ucm_destroy_id cmd = {.response = at(&resp), .id = id};

	g_assert_cmpint(command(fd, RDMA_USER_CM_CMD_DESTROY_ID, &cmd, sizeof(cmd), sizeof(resp)),
			==, 0);
	return resp.events_reported;
}

/* The type of the next event, which must be there. */
static uint32_t
next_event(uint32_t id)
{
	struct rdma_ucm_event_resp resp = {.uid = 0};
	struct rdma_ucm_get_event cmd = {.response = at(&resp)};

	IS(GET_EVENT, cmd, sizeof(resp), 0);
	g_assert_cmpuint(resp.uid, ==, 77);
	g_assert_cmpuint(resp.id, ==, id);
	return resp.event;
}

static struct sockaddr_in
loopback(uint16_t port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return addr;
}

/* --- forms ------------------------------------------------------------------------------------------------- */

static void
test_device(void)
{
	struct stat status;
	int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(fstat(fd, &status), ==, 0);
	g_assert_true(S_ISCHR(status.st_mode));
	g_assert_cmpint(close(fd), ==, 0);
	errno = 0;
	g_assert_cmpint(write(fd, &status, 8), ==, -1);
	g_assert_cmpint(errno, ==, EBADF);
}

/* What is no command, or not all of one. */
static void
test_no_command(void)
{
	const struct rdma_ucm_cmd_hdr longer = {.cmd = RDMA_USER_CM_CMD_LISTEN, .in = 9};
	const uint8_t zeros[64] = {0};

	for (size_t length = 0; length < sizeof(struct rdma_ucm_cmd_hdr); length++) {
		errno = 0;
		g_assert_cmpint(write(channel, zeros, length), ==, -1);
		g_assert_cmpint(errno, ==, EINVAL);
	}
	errno = 0;
	g_assert_cmpint(write(channel, &longer, sizeof(longer)), ==, -1);
	g_assert_cmpint(errno, ==, EINVAL);
	g_assert_cmpint(command(channel, RDMA_USER_CM_CMD_JOIN_MCAST + 1, zeros, 64, 64), ==,
			EINVAL);
	g_assert_cmpint(command(channel, UINT32_MAX, zeros, 64, 64), ==, EINVAL);
	g_assert_cmpint(command(channel, RDMA_USER_CM_CMD_GET_OPTION, zeros, 64, 64), ==, ENOSYS);
}

/* How each command is refused before it does something. */
static const struct form {
	uint32_t number;
	uint16_t in;      /* octets of the struct */
	uint16_t least;   /* of which there must be so many */
	uint16_t out;     /* octets of the answer, of which there must be so many */
	int16_t id;       /* where the id is, or -1 */
	int16_t response; /* where the pointer to the answer is, or -1 */
} forms[] = {
#define FORM(number, name, id, out, response)                                                 \
	{                                                                                     \
		RDMA_USER_CM_CMD_##number, sizeof(struct name), sizeof(struct name), out, id, \
			response                                                              \
	}
#define ID(name)       offsetof(struct name, id)
#define RESPONSE(name) offsetof(struct name, response)
	FORM(CREATE_ID, rdma_ucm_create_id, -1, 4, RESPONSE(rdma_ucm_create_id)),
	FORM(DESTROY_ID, rdma_ucm_destroy_id, ID(rdma_ucm_destroy_id), 4,
	     RESPONSE(rdma_ucm_destroy_id)),
	FORM(BIND_IP, rdma_ucm_bind_ip, ID(rdma_ucm_bind_ip), 0, -1),
	FORM(RESOLVE_IP, rdma_ucm_resolve_ip, ID(rdma_ucm_resolve_ip), 0, -1),
	FORM(RESOLVE_ROUTE, rdma_ucm_resolve_route, ID(rdma_ucm_resolve_route), 0, -1),
	FORM(QUERY_ROUTE, rdma_ucm_query, ID(rdma_ucm_query),
	     offsetof(struct rdma_ucm_query_route_resp, ibdev_index), RESPONSE(rdma_ucm_query)),
	{RDMA_USER_CM_CMD_CONNECT, sizeof(struct rdma_ucm_connect),
	 offsetof(struct rdma_ucm_connect, ece), 0, ID(rdma_ucm_connect), -1},
	FORM(LISTEN, rdma_ucm_listen, ID(rdma_ucm_listen), 0, -1),
	{RDMA_USER_CM_CMD_ACCEPT, sizeof(struct rdma_ucm_accept),
	 offsetof(struct rdma_ucm_accept, ece), 0, ID(rdma_ucm_accept), -1},
	FORM(REJECT, rdma_ucm_reject, ID(rdma_ucm_reject), 0, -1),
	FORM(DISCONNECT, rdma_ucm_disconnect, ID(rdma_ucm_disconnect), 0, -1),
	FORM(INIT_QP_ATTR, rdma_ucm_init_qp_attr, ID(rdma_ucm_init_qp_attr),
	     sizeof(struct ib_uverbs_qp_attr), RESPONSE(rdma_ucm_init_qp_attr)),
	FORM(GET_EVENT, rdma_ucm_get_event, -1, offsetof(struct rdma_ucm_event_resp, reserved),
	     RESPONSE(rdma_ucm_get_event)),
	FORM(SET_OPTION, rdma_ucm_set_option, ID(rdma_ucm_set_option), 0, -1),
	FORM(NOTIFY, rdma_ucm_notify, ID(rdma_ucm_notify), 0, -1),
	FORM(JOIN_IP_MCAST, rdma_ucm_join_ip_mcast, ID(rdma_ucm_join_ip_mcast), 4,
	     RESPONSE(rdma_ucm_join_ip_mcast)),
	FORM(LEAVE_MCAST, rdma_ucm_destroy_id, ID(rdma_ucm_destroy_id), 4,
	     RESPONSE(rdma_ucm_destroy_id)),
	FORM(MIGRATE_ID, rdma_ucm_migrate_id, ID(rdma_ucm_migrate_id), 4,
	     RESPONSE(rdma_ucm_migrate_id)),
	FORM(QUERY, rdma_ucm_query, ID(rdma_ucm_query), 0, RESPONSE(rdma_ucm_query)),
	FORM(BIND, rdma_ucm_bind, ID(rdma_ucm_bind), 0, -1),
	FORM(RESOLVE_ADDR, rdma_ucm_resolve_addr, ID(rdma_ucm_resolve_addr), 0, -1),
	FORM(JOIN_MCAST, rdma_ucm_join_mcast, ID(rdma_ucm_join_mcast), 4,
	     RESPONSE(rdma_ucm_join_mcast)),
};

/* A struct of a command that is right but for what a test spoils. */
static void
fill(const struct form *form, void *body, uint32_t id, void *answer)
{
	const struct sockaddr_in addr = loopback(0);
	const uint64_t response = at(answer);
	const uint32_t fd = (uint32_t)channel;

	memset(body, 0, 512);
	switch (form->number) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		((struct rdma_ucm_create_id *)body)->ps = RDMA_PS_TCP;
		break;
	case RDMA_USER_CM_CMD_BIND_IP:
		memcpy(&((struct rdma_ucm_bind_ip *)body)->addr, &addr, sizeof(addr));
		break;
	case RDMA_USER_CM_CMD_RESOLVE_IP:
		memcpy(&((struct rdma_ucm_resolve_ip *)body)->dst_addr, &addr, sizeof(addr));
		break;
	case RDMA_USER_CM_CMD_CONNECT:
		((struct rdma_ucm_connect *)body)->conn_param.valid = 1;
		break;
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
		memcpy(&((struct rdma_ucm_join_ip_mcast *)body)->addr, &addr, sizeof(addr));
		break;
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		((struct rdma_ucm_migrate_id *)body)->fd = fd;
		break;
	case RDMA_USER_CM_CMD_BIND:
		memcpy(&((struct rdma_ucm_bind *)body)->addr, &addr, sizeof(addr));
		((struct rdma_ucm_bind *)body)->addr_size = sizeof(addr);
		break;
	case RDMA_USER_CM_CMD_RESOLVE_ADDR:
		memcpy(&((struct rdma_ucm_resolve_addr *)body)->dst_addr, &addr, sizeof(addr));
		((struct rdma_ucm_resolve_addr *)body)->dst_size = sizeof(addr);
		break;
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		memcpy(&((struct rdma_ucm_join_mcast *)body)->addr, &addr, sizeof(addr));
		((struct rdma_ucm_join_mcast *)body)->addr_size = sizeof(addr);
		break;
	default:
		break;
	}
	if (form->id >= 0)
		memcpy((char *)body + form->id, &id, sizeof(id));
	if (form->response >= 0)
		memcpy((char *)body + form->response, &response, sizeof(response));
}

static void
test_forms(void)
{
	uint8_t body[512], answer[1024];
	uint32_t foreign = create(other, RDMA_PS_TCP);

	for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
		const struct form *form = &forms[i];

		g_test_message("command %u", form->number);
		for (size_t in = 0; in < form->least; in++) {
			fill(form, body, NO_ID, answer);
			g_assert_cmpint(command(channel, form->number, body, in, sizeof(answer)),
					==, EINVAL);
		}
		for (size_t out = 0; out < form->out; out++)
			g_assert_cmpint(command(channel, form->number, body, form->in, out), ==,
					ENOSPC);
		if (form->response >= 0) {
			fill(form, body, NO_ID, NULL);
			g_assert_cmpint(
				command(channel, form->number, body, form->in, sizeof(answer)), ==,
				EFAULT);
		}
		if (form->id < 0)
			continue;
		for (size_t in = form->least; in <= form->in; in++) {
			fill(form, body, NO_ID, answer);
			g_assert_cmpint(command(channel, form->number, body, in, sizeof(answer)),
					==, ENOENT);
		}
		if (form->number == RDMA_USER_CM_CMD_LEAVE_MCAST)
			continue;
		fill(form, body, foreign, answer);
		g_assert_cmpint(command(channel, form->number, body, form->in, sizeof(answer)), ==,
				EINVAL);
		/* More than a command has does no harm. */
		fill(form, body, NO_ID, answer);
		g_assert_cmpint(command(channel, form->number, body, 512, sizeof(answer)), ==,
				ENOENT);
	}
	g_assert_cmpuint(destroy(other, foreign), ==, 0);
}

/* --- single commands --------------------------------------------------------------------------------------------- */

static void
test_ids(void)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_create_id cmd = {.response = at(&resp)};
	static const uint16_t not_served[] = {RDMA_PS_IB, RDMA_PS_IPOIB, 0, 0xffff};
	uint32_t ids[100];

	for (size_t i = 0; i < G_N_ELEMENTS(not_served); i++) {
		cmd.ps = not_served[i];
		IS(CREATE_ID, cmd, sizeof(resp), EINVAL);
	}
	/* Numbers are small, each id has its own, and those of ids that went come again. */
	for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
		ids[i] = create(channel, RDMA_PS_TCP);
		for (size_t k = 0; k < i; k++)
			g_assert_cmpuint(ids[k], !=, ids[i]);
		g_assert_cmpuint(ids[i], <, 1000);
	}
	g_assert_cmpuint(destroy(channel, ids[50]), ==, 0);
	g_assert_cmpuint(create(channel, RDMA_PS_UDP), ==, ids[50]);
	for (size_t i = 0; i < G_N_ELEMENTS(ids); i++)
		g_assert_cmpuint(destroy(channel, ids[i]), ==, 0);
}

static void
test_addresses(void)
{
	struct rdma_ucm_bind bind = {.id = create(channel, RDMA_PS_TCP)};
	struct rdma_ucm_resolve_addr resolve = {.id = bind.id};
	struct rdma_ucm_bind_ip bind_ip = {.id = bind.id};
	struct sockaddr_in addr = loopback(0), dest = loopback(9);
	struct sockaddr_ib ib = {.sib_family = AF_IB};

	IS(BIND, bind, 0, EINVAL);
	bind_ip.addr.sin6_family = AF_UNIX;
	IS(BIND_IP, bind_ip, 0, EINVAL);
	memcpy(&bind.addr, &ib, sizeof(ib));
	bind.addr_size = sizeof(ib);
	IS(BIND, bind, 0, EAFNOSUPPORT);
	memcpy(&bind.addr, &addr, sizeof(addr));
	IS(BIND, bind, 0, EINVAL); /* the size is of another family */
	bind.addr_size = sizeof(addr);
	bind.reserved = 1;
	IS(BIND, bind, 0, EINVAL);
	bind.reserved = 0;
	IS(BIND, bind, 0, 0);
	IS(BIND, bind, 0, EINVAL);

	IS(RESOLVE_ADDR, resolve, 0, EINVAL);
	memcpy(&resolve.dst_addr, &dest, sizeof(dest));
	resolve.dst_size = sizeof(dest) + 1;
	IS(RESOLVE_ADDR, resolve, 0, EINVAL);
	resolve.dst_size = sizeof(dest);
	resolve.src_size = 3;
	IS(RESOLVE_ADDR, resolve, 0, EINVAL);
	resolve.src_size = 0;
	IS(RESOLVE_ADDR, resolve, 0, 0);
	g_assert_cmpuint(next_event(bind.id), ==, ADDR_RESOLVED);
	g_assert_cmpuint(destroy(channel, bind.id), ==, 1);
}

/* An id that has resolved its address and route. */
static uint32_t
resolved(void)
{
	struct rdma_ucm_resolve_ip resolve = {.id = create(channel, RDMA_PS_TCP)};
	struct rdma_ucm_resolve_route route = {.id = resolve.id};
	struct sockaddr_in dest = loopback(9);

	memcpy(&resolve.dst_addr, &dest, sizeof(dest));
	IS(RESOLVE_IP, resolve, 0, 0);
	IS(RESOLVE_ROUTE, route, 0, 0);
	g_assert_cmpuint(next_event(resolve.id), ==, ADDR_RESOLVED);
	g_assert_cmpuint(next_event(resolve.id), ==, ROUTE_RESOLVED);
	return resolve.id;
}

/* An answer is no longer than the room for it. */
static void
test_room(void)
{
	uint32_t id = resolved();
	struct rdma_ucm_query_route_resp resp;
	struct rdma_ucm_query cmd = {.response = at(&resp), .id = id};
	const size_t first = offsetof(struct rdma_ucm_query_route_resp, ibdev_index);

	memset(&resp, 0xee, sizeof(resp));
	IS(QUERY_ROUTE, cmd, first, 0);
	g_assert_cmpuint(resp.node_guid, !=, 0);
	g_assert_cmphex(resp.ibdev_index, ==, 0xeeeeeeee);
	IS(QUERY_ROUTE, cmd, sizeof(resp) + 100, 0);
	g_assert_cmpuint(resp.ibdev_index, ==, 1);
	g_assert_cmpuint(resp.port_num, ==, 1);
	g_assert_cmpuint(resp.num_paths, ==, 1);
	g_assert_cmpuint(((struct sockaddr_in *)(void *)&resp.dst_addr)->sin_port, ==, htons(9));
	g_assert_cmpuint(destroy(channel, id), ==, 2);
}

static void
test_query(void)
{
	uint32_t id = resolved();
	struct rdma_ucm_query_addr_resp addr;
	const size_t first = offsetof(struct rdma_ucm_query_addr_resp, ibdev_index);
	uint8_t room[sizeof(struct rdma_ucm_query_path_resp) + 2 * sizeof(struct ib_path_rec_data)];
	struct rdma_ucm_query_path_resp *path = (struct rdma_ucm_query_path_resp *)(void *)room;
	struct rdma_ucm_query cmd = {.response = at(&addr), .id = id};
	struct sockaddr_ib *ib = (struct sockaddr_ib *)(void *)&addr.dst_addr;

	cmd.option = RDMA_USER_CM_QUERY_ADDR;
	IS(QUERY, cmd, first - 1, ENOSPC);
	memset(&addr, 0xee, sizeof(addr));
	IS(QUERY, cmd, first, 0);
	g_assert_cmphex(addr.ibdev_index, ==, 0xeeeeeeee);
	IS(QUERY, cmd, sizeof(addr), 0);
	g_assert_cmpuint(addr.src_size, ==, sizeof(struct sockaddr_in));
	g_assert_cmpuint(addr.dst_size, ==, sizeof(struct sockaddr_in));
	g_assert_cmphex(addr.pkey, ==, 0xffff);
	g_assert_cmpuint(addr.ibdev_index, ==, 1);

	cmd.option = RDMA_USER_CM_QUERY_GID;
	IS(QUERY, cmd, first - 1, ENOSPC);
	IS(QUERY, cmd, sizeof(addr), 0);
	g_assert_cmpuint(addr.dst_size, ==, sizeof(*ib));
	g_assert_cmpuint(ib->sib_family, ==, AF_IB);
	g_assert_cmphex(be64toh(ib->sib_sid), ==, (uint64_t)RDMA_PS_TCP << 16 | 9);
	g_assert_cmphex(ib->sib_addr.sib_raw[0], ==, 0xfe);

	cmd.option = RDMA_USER_CM_QUERY_PATH;
	cmd.response = at(room);
	IS(QUERY, cmd, sizeof(*path) - 1, ENOSPC);
	memset(room, 0xee, sizeof(room));
	IS(QUERY, cmd, sizeof(*path), 0);
	g_assert_cmpuint(path->num_paths, ==, 1);
	g_assert_cmphex(path->path_data[0].flags, ==, 0xeeeeeeee);
	IS(QUERY, cmd, sizeof(room), 0);
	g_assert_cmphex(path->path_data[0].flags, ==,
			IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL);
	g_assert_cmphex(path->path_data[1].flags, ==, 0xeeeeeeee);
	cmd.option = 3;
	IS(QUERY, cmd, sizeof(room), ENOSYS);
	g_assert_cmpuint(destroy(channel, id), ==, 2);

	/* Without a device. */
	id = cmd.id = create(channel, RDMA_PS_TCP);
	cmd.response = at(&addr);
	cmd.option = RDMA_USER_CM_QUERY_ADDR;
	IS(QUERY, cmd, sizeof(addr), 0);
	g_assert_cmpuint(addr.node_guid, ==, 0);
	g_assert_cmpuint(addr.src_size, ==, 0);
	cmd.option = RDMA_USER_CM_QUERY_PATH;
	cmd.response = at(room);
	IS(QUERY, cmd, sizeof(room), 0);
	g_assert_cmpuint(path->num_paths, ==, 0);
	g_assert_cmpuint(destroy(channel, id), ==, 0);
}

/* The program may bring its own path: it counts as the route. */
static void
test_path_option(void)
{
	struct rdma_ucm_resolve_ip resolve = {.id = create(channel, RDMA_PS_TCP)};
	struct ib_path_rec_data paths[2] = {{.flags = 0}};
	struct rdma_ucm_set_option cmd = {.optval = at(paths),
					  .id = resolve.id,
					  .level = RDMA_OPTION_IB,
					  .optname = RDMA_OPTION_IB_PATH,
					  .optlen = sizeof(paths)};
	struct sockaddr_in dest = loopback(9);

	IS(SET_OPTION, cmd, 0, EINVAL); /* no such path */
	paths[1].flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	IS(SET_OPTION, cmd, 0, EINVAL); /* no device */
	memcpy(&resolve.dst_addr, &dest, sizeof(dest));
	IS(RESOLVE_IP, resolve, 0, 0);
	g_assert_cmpuint(next_event(resolve.id), ==, ADDR_RESOLVED);
	cmd.optlen--;
	IS(SET_OPTION, cmd, 0, EINVAL);
	cmd.optlen++;
	IS(SET_OPTION, cmd, 0, 0);
	g_assert_cmpuint(next_event(resolve.id), ==, ROUTE_RESOLVED);
	IS(SET_OPTION, cmd, 0, EINVAL);
	g_assert_cmpuint(destroy(channel, resolve.id), ==, 2);
}

static void
test_connection_commands(void)
{
	uint32_t id = resolved();
	struct rdma_ucm_connect connect = {.id = id};
	struct rdma_ucm_accept accept = {.id = id};
	struct rdma_ucm_disconnect disconnect = {.id = id};
	struct ib_uverbs_qp_attr attr;
	struct rdma_ucm_init_qp_attr init = {.response = at(&attr), .id = id};

	IS(CONNECT, connect, 0, EINVAL); /* without parameters */
	connect.conn_param.valid = 1;
	connect.conn_param.private_data_len = 255;
	IS(CONNECT, connect, 0, EINVAL);
	IS(ACCEPT, accept, 0, EINVAL);
	accept.conn_param.valid = 1;
	IS(ACCEPT, accept, 0, EINVAL);
	IS(DISCONNECT, disconnect, 0, EINVAL);
	init.qp_state = IBV_QPS_INIT;
	IS(INIT_QP_ATTR, init, sizeof(attr), 0);
	g_assert_cmpuint(attr.qp_state, ==, IBV_QPS_INIT);
	g_assert_cmphex(attr.qp_attr_mask, ==, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);
	init.qp_state = IBV_QPS_RTS;
	IS(INIT_QP_ATTR, init, sizeof(attr), 0);
	g_assert_cmphex(attr.qp_attr_mask, ==, 0);
	init.qp_state = IBV_QPS_SQE;
	IS(INIT_QP_ATTR, init, sizeof(attr), EINVAL);
	g_assert_cmpuint(destroy(channel, id), ==, 2);
	init.id = id = create(channel, RDMA_PS_TCP);
	IS(INIT_QP_ATTR, init, sizeof(attr), EINVAL); /* no device */
	g_assert_cmpuint(destroy(channel, id), ==, 0);
}

static void
test_groups(void)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_join_mcast join = {.response = at(&resp), .uid = 5};
	struct rdma_ucm_destroy_id_resp left;
	struct rdma_ucm_destroy_id leave = {.response = at(&left)};
	struct rdma_ucm_bind bind = {.addr_size = sizeof(struct sockaddr_in)};
	struct sockaddr_in addr = loopback(0), group = {.sin_family = AF_INET};
	uint32_t id = bind.id = join.id = create(channel, RDMA_PS_UDP);

	memcpy(&bind.addr, &addr, sizeof(addr));
	IS(BIND, bind, 0, 0);
	g_assert_cmpint(inet_pton(AF_INET, "239.1.1.1", &group.sin_addr), ==, 1);
	memcpy(&join.addr, &group, sizeof(group));
	IS(JOIN_MCAST, join, sizeof(resp), EINVAL); /* no size */
	join.addr_size = sizeof(group);
	join.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	IS(JOIN_MCAST, join, sizeof(resp), EINVAL);
	join.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	IS(JOIN_MCAST, join, sizeof(resp), 0);
	leave.id = resp.id;
	g_assert_cmpint(
		command(other, RDMA_USER_CM_CMD_LEAVE_MCAST, &leave, sizeof(leave), sizeof(left)),
		==, EINVAL);
	/* The event that nobody took goes with the group. */
	IS(LEAVE_MCAST, leave, sizeof(left), 0);
	g_assert_cmpuint(left.events_reported, ==, 0);
	IS(LEAVE_MCAST, leave, sizeof(left), ENOENT);
	g_assert_cmpuint(destroy(channel, id), ==, 0);
}

static void
test_migrate(void)
{
	struct rdma_ucm_migrate_resp resp = {.events_reported = 99};
	uint32_t id = resolved();
	struct rdma_ucm_migrate_id cmd = {.response = at(&resp), .id = id};
	int pipe_fds[2];

	g_assert_cmpint(pipe(pipe_fds), ==, 0);
	cmd.fd = (uint32_t)pipe_fds[0];
	IS(MIGRATE_ID, cmd, sizeof(resp), EINVAL);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	IS(MIGRATE_ID, cmd, sizeof(resp), ENOENT);
	cmd.fd = UINT32_MAX;
	IS(MIGRATE_ID, cmd, sizeof(resp), ENOENT);
	cmd.fd = (uint32_t)channel;
	g_assert_cmpint(
		command(other, RDMA_USER_CM_CMD_MIGRATE_ID, &cmd, sizeof(cmd), sizeof(resp)), ==,
		0);
	g_assert_cmpuint(resp.events_reported, ==, 2);
	g_assert_cmpuint(destroy(other, id), ==, 2);
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	g_setenv("ITAPI_VERBS_DEVICES", "emul:ib", TRUE);
	/* Devices have their numbers from the first look at them. */
	ibv_free_device_list(ibv_get_device_list(NULL));
	channel = open("/dev/infiniband/rdma_cm", O_RDWR);
	other = open("/dev/infiniband/rdma_cm", O_RDWR);
	g_assert_cmpint(channel, >=, 0);
	g_assert_cmpint(other, >=, 0);
	g_test_add_func("/door/cm-commands/device", test_device);
	g_test_add_func("/door/cm-commands/no-command", test_no_command);
	g_test_add_func("/door/cm-commands/forms", test_forms);
	g_test_add_func("/door/cm-commands/ids", test_ids);
	g_test_add_func("/door/cm-commands/addresses", test_addresses);
	g_test_add_func("/door/cm-commands/room", test_room);
	g_test_add_func("/door/cm-commands/query", test_query);
	g_test_add_func("/door/cm-commands/path-option", test_path_option);
	g_test_add_func("/door/cm-commands/connection", test_connection_commands);
	g_test_add_func("/door/cm-commands/groups", test_groups);
	g_test_add_func("/door/cm-commands/migrate", test_migrate);
	result = g_test_run();
	close(channel);
	close(other);
	return result;
}
