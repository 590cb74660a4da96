/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Commands: what a program writes to a channel, checked and passed on. Errors are those of the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <glib.h>

#include "door_cm_internal.h"
#include "session_cancel.h"

/* A command on its way. */
struct call {
	struct door_cm_channel *channel;
	const void *in; /* the command's struct; what the program did not write is 0 */
	size_t room;    /* rdma_ucm_cmd_hdr::out: for the answer */
	int cancel_state;
};

static void
store(uint64_t response, const void *answer, size_t size)
{
	memcpy((void *)(uintptr_t)response, answer, size);
}

/* --- ids ------------------------------------------------------------------------------------------------- */

static int
create_id(const struct call *call)
{
	const struct rdma_ucm_create_id *in = (const struct rdma_ucm_create_id *)call->in;
	struct rdma_ucm_create_id_resp out;
	struct door_cm_id *id;
	bool entered;

	/*
	 * The port spaces IB and IPOIB are refused. When librdmacm gets this error for IB, it uses the
	 * commands for IP addresses.
	 */
	if (in->ps != RDMA_PS_TCP && in->ps != RDMA_PS_UDP)
		return EINVAL;
	id = door_cm_id_new(in->ps);
	if (id == NULL)
		return ENOMEM;
	door_cm_lock();
	id->uid = in->uid;
	entered = !call->channel->closed && door_cm_id_enter(id, call->channel);
	out.id = id->number;
	door_cm_unlock();
	if (!entered) {
		door_cm_id_put(id);
		return ENOMEM;
	}
	store(in->response, &out, sizeof(out));
	return 0;
}

static int
destroy_id(const struct call *call)
{
	const struct rdma_ucm_destroy_id *in = (const struct rdma_ucm_destroy_id *)call->in;
	struct rdma_ucm_destroy_id_resp out;
	struct door_cm_id *id;
	int error = door_cm_id_take(call->channel, in->id, &id);

	if (error != 0)
		return error;
	out.events_reported = door_cm_id_end(id);
	store(in->response, &out, sizeof(out));
	return 0;
}

static int
migrate_id(const struct call *call)
{
	const struct rdma_ucm_migrate_id *in = (const struct rdma_ucm_migrate_id *)call->in;
	struct door_cm_channel *from;
	struct rdma_ucm_migrate_resp out;
	int error;

	if (in->fd > INT32_MAX || fcntl((int)in->fd, F_GETFD) < 0)
		return ENOENT;
	from = door_cm_channel_get((int)in->fd);
	if (from == NULL)
		return errno == EBADF ? EINVAL : errno;
	error = door_cm_id_migrate(from, call->channel, in->id, &out.events_reported);
	door_cm_channel_put(from);
	if (error == 0)
		store(in->response, &out, sizeof(out));
	return error;
}

static int
get_event(const struct call *call)
{
	const struct rdma_ucm_get_event *in = (const struct rdma_ucm_get_event *)call->in;

	return door_cm_get_event(call->channel, in->response, call->room, call->cancel_state);
}

/* --- addresses ------------------------------------------------------------------------------------------- */

/* An address of the older commands, which have room for IP addresses only. false: it has another family. */
static bool
address_of_ip(const struct sockaddr_in6 *from, struct sockaddr_storage *to)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, from, sizeof(*from));
	return door_cm_size(to->ss_family) != 0;
}

/* An address of the newer commands, with its size; 0 or an errno. */
static int
address_of(const struct __kernel_sockaddr_storage *from, uint16_t size, struct sockaddr_storage *to)
{
	_Static_assert(sizeof(*from) == sizeof(*to), "the kernel's form of the same struct");
	memcpy(to, from, sizeof(*to));
	if (door_cm_size(to->ss_family) == 0)
		return to->ss_family == AF_IB && size != 0 ? EAFNOSUPPORT : EINVAL;
	return size == door_cm_size(to->ss_family) ? 0 : EINVAL;
}

static int
bind_at(const struct call *call, uint32_t number, const struct sockaddr_storage *addr)
{
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, number, &id);

	if (error != 0)
		return error;
	error = door_cm_bind(id, addr);
	door_cm_id_leave(id);
	return error;
}

static int
bind_ip(const struct call *call)
{
	const struct rdma_ucm_bind_ip *in = (const struct rdma_ucm_bind_ip *)call->in;
	struct sockaddr_storage addr;

	return address_of_ip(&in->addr, &addr) ? bind_at(call, in->id, &addr) : EINVAL;
}

static int
bind_any(const struct call *call)
{
	const struct rdma_ucm_bind *in = (const struct rdma_ucm_bind *)call->in;
	struct sockaddr_storage addr;
	int error = in->reserved == 0 ? address_of(&in->addr, in->addr_size, &addr) : EINVAL;

	return error == 0 ? bind_at(call, in->id, &addr) : error;
}

static int
resolve_at(const struct call *call, uint32_t number, const struct sockaddr_storage *source,
	   const struct sockaddr_storage *dest)
{
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, number, &id);

	if (error != 0)
		return error;
	error = door_cm_resolve(id, source, dest);
	door_cm_id_leave(id);
	return error;
}

static int
resolve_ip(const struct call *call)
{
	const struct rdma_ucm_resolve_ip *in = (const struct rdma_ucm_resolve_ip *)call->in;
	struct sockaddr_storage source, dest;

	if ((!address_of_ip(&in->src_addr, &source) && source.ss_family != 0) ||
	    !address_of_ip(&in->dst_addr, &dest))
		return EINVAL;
	return resolve_at(call, in->id, &source, &dest);
}

static int
resolve_addr(const struct call *call)
{
	const struct rdma_ucm_resolve_addr *in = (const struct rdma_ucm_resolve_addr *)call->in;
	struct sockaddr_storage source = {.ss_family = 0}, dest;
	int error = in->reserved == 0 ? address_of(&in->dst_addr, in->dst_size, &dest) : EINVAL;

	if (error == 0 && in->src_size != 0)
		error = address_of(&in->src_addr, in->src_size, &source);
	return error == 0 ? resolve_at(call, in->id, &source, &dest) : error;
}

static int
resolve_route(const struct call *call)
{
	const struct rdma_ucm_resolve_route *in = (const struct rdma_ucm_resolve_route *)call->in;
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, in->id, &id);

	if (error != 0)
		return error;
	error = door_cm_resolve_route(id);
	door_cm_id_leave(id);
	return error;
}

/* --- questions -------------------------------------------------------------------------------------------- */

static int
query_route(const struct call *call)
{
	const struct rdma_ucm_query *in = (const struct rdma_ucm_query *)call->in;
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, in->id, &id);

	if (error != 0)
		return error;
	error = door_cm_query_route(id, in->response, call->room);
	door_cm_id_leave(id);
	return error;
}

static int
query(const struct call *call)
{
	const struct rdma_ucm_query *in = (const struct rdma_ucm_query *)call->in;
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, in->id, &id);

	if (error != 0)
		return error;
	error = door_cm_query(id, in->option, in->response, call->room);
	door_cm_id_leave(id);
	return error;
}

static int
init_qp_attr(const struct call *call)
{
	const struct rdma_ucm_init_qp_attr *in = (const struct rdma_ucm_init_qp_attr *)call->in;
	struct ib_uverbs_qp_attr out = {.qp_state = in->qp_state};
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, in->id, &id);

	if (error != 0)
		return error;
	error = door_cm_init_qp_attr(id, &out);
	door_cm_id_leave(id);
	if (error == 0)
		store(in->response, &out, sizeof(out));
	return error;
}

/* --- options ------------------------------------------------------------------------------------------------ */

/* Under door_cm_id::control. A number of the program's; EINVAL: it has another size. */
static int
option_number(const struct rdma_ucm_set_option *in, int *value)
{
	if (in->optlen != sizeof(*value))
		return EINVAL;
	memcpy(value, (const void *)(uintptr_t)in->optval, sizeof(*value));
	return 0;
}

static int
option_of_id(struct door_cm_id *id, const struct rdma_ucm_set_option *in)
{
	enum door_cm_state state = door_cm_id_state(id);
	int value = 0, error;

	switch (in->optname) {
	case RDMA_OPTION_ID_TOS: /* no adapter has it */
		return in->optlen == sizeof(uint8_t) ? 0 : EINVAL;
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		return in->optlen == sizeof(uint8_t) && !door_cm_is_ud(id)
			       ? door_cm_ack_timeout(id, *(const uint8_t *)(uintptr_t)in->optval)
			       : EINVAL;
	case RDMA_OPTION_ID_REUSEADDR:
		error = option_number(in, &value);
		if (error == 0 && value == 0 && state != DOOR_CM_IDLE)
			error = EINVAL;
		if (error == 0)
			door_cm_port_reuse(id, value != 0);
		return error;
	case RDMA_OPTION_ID_AFONLY:
		error = option_number(in, &value);
		if (error == 0 && state != DOOR_CM_IDLE && state != DOOR_CM_BOUND)
			error = EINVAL;
		if (error == 0) {
			door_cm_family_only(id, value != 0);
			id->family_only_given = true;
		}
		return error;
	default:
		return ENOSYS;
	}
}

/* The program brings a path record. The adapter knows the way by itself, so the record is only checked. */
static int
option_of_path(struct door_cm_id *id, const struct rdma_ucm_set_option *in)
{
	const struct ib_path_rec_data *path =
		(const struct ib_path_rec_data *)(uintptr_t)in->optval;
	const uint32_t usual = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	uint32_t num = in->optlen / sizeof(*path);
	bool found = false;

	if (in->optlen % sizeof(*path) != 0)
		return EINVAL;
	for (uint32_t i = 0; i < num && !found; i++)
		found = path[i].flags == usual;
	return found && id->adapter != NULL ? door_cm_resolve_route(id) : EINVAL;
}

static int
set_option(const struct call *call)
{
	const struct rdma_ucm_set_option *in = (const struct rdma_ucm_set_option *)call->in;
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, in->id, &id);

	if (error != 0)
		return error;
	if (in->optval == 0)
		error = in->optlen != 0 ? EFAULT : EINVAL;
	else if (in->level == RDMA_OPTION_ID)
		error = option_of_id(id, in);
	else if (in->level == RDMA_OPTION_IB && in->optname == RDMA_OPTION_IB_PATH)
		error = option_of_path(id, in);
	else
		error = ENOSYS;
	door_cm_id_leave(id);
	return error;
}

/*
 * The program reports an asynchronous event. The kernel's rdma_cm of InfiniBand takes COMM_EST as
 * the end of the connection's set-up. Here an adapter finds that out itself, so nothing is done.
 * Other events do not concern rdma_cm, and iWARP ignores all of them.
 */
static int
notified(const struct door_cm_id *id, enum door_cm_state state, uint32_t event)
{
	if (id->adapter == NULL || state < DOOR_CM_LISTENING)
		return EINVAL;
	if (door_cm_is_iwarp(id->adapter))
		return 0;
	if (event != IBV_EVENT_COMM_EST)
		return EINVAL;
	return state == DOOR_CM_UP ? EISCONN : state == DOOR_CM_CONNECTING ? 0 : EINVAL;
}

static int
notify(const struct call *call)
{
	const struct rdma_ucm_notify *in = (const struct rdma_ucm_notify *)call->in;
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, in->id, &id);

	if (error != 0)
		return error;
	error = notified(id, door_cm_id_state(id), in->event);
	door_cm_id_leave(id);
	return error;
}

/* --- connections --------------------------------------------------------------------------------------------- */

static int
listen_at(const struct call *call)
{
	const struct rdma_ucm_listen *in = (const struct rdma_ucm_listen *)call->in;
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, in->id, &id);

	if (error != 0)
		return error;
	error = door_cm_listen(id, in->backlog);
	door_cm_id_leave(id);
	return error;
}

static int
connect_to(const struct call *call)
{
	const struct rdma_ucm_connect *in = (const struct rdma_ucm_connect *)call->in;
	struct door_cm_id *id;
	int error;

	if (!in->conn_param.valid)
		return EINVAL;
	error = door_cm_id_begin(call->channel, in->id, &id);
	if (error != 0)
		return error;
	error = door_cm_connect(id, &in->conn_param);
	door_cm_id_leave(id);
	return error;
}

static int
accept_it(const struct call *call)
{
	const struct rdma_ucm_accept *in = (const struct rdma_ucm_accept *)call->in;
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, in->id, &id);

	if (error != 0)
		return error;
	error = in->conn_param.valid ? door_cm_accept(id, in->uid, &in->conn_param)
				     : door_cm_confirm(id);
	door_cm_id_leave(id);
	return error;
}

static int
reject(const struct call *call)
{
	const struct rdma_ucm_reject *in = (const struct rdma_ucm_reject *)call->in;
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, in->id, &id);

	if (error != 0)
		return error;
	error = door_cm_reject(id, in->private_data, in->private_data_len);
	door_cm_id_leave(id);
	return error;
}

static int
disconnect(const struct call *call)
{
	const struct rdma_ucm_disconnect *in = (const struct rdma_ucm_disconnect *)call->in;
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, in->id, &id);

	if (error != 0)
		return error;
	error = door_cm_disconnect(id);
	door_cm_id_leave(id);
	return error;
}

/* --- multicast ------------------------------------------------------------------------------------------------ */

/* A group that an id joins. */
struct join {
	uint64_t response, uid;
	uint32_t id;
	struct sockaddr_storage addr;
};

static int
join(const struct call *call, const struct join *what)
{
	struct rdma_ucm_create_id_resp out;
	struct door_cm_id *id;
	int error = door_cm_id_begin(call->channel, what->id, &id);

	if (error != 0)
		return error;
	error = door_cm_join(id, &what->addr, what->uid, &out.id);
	door_cm_id_leave(id);
	if (error == 0)
		store(what->response, &out, sizeof(out));
	return error;
}

static int
join_ip(const struct call *call)
{
	const struct rdma_ucm_join_ip_mcast *in = (const struct rdma_ucm_join_ip_mcast *)call->in;
	struct join what = {.response = in->response, .uid = in->uid, .id = in->id};

	return address_of_ip(&in->addr, &what.addr) ? join(call, &what) : EINVAL;
}

static int
join_any(const struct call *call)
{
	const struct rdma_ucm_join_mcast *in = (const struct rdma_ucm_join_mcast *)call->in;
	struct join what = {.response = in->response, .uid = in->uid, .id = in->id};
	int error = address_of(&in->addr, in->addr_size, &what.addr);

	if (error != 0 || in->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return EINVAL;
	return join(call, &what);
}

static int
leave(const struct call *call)
{
	const struct rdma_ucm_destroy_id *in = (const struct rdma_ucm_destroy_id *)call->in;
	struct rdma_ucm_destroy_id_resp out;
	int error = door_cm_group_leave(call->channel, in->id, &out.events_reported);

	if (error == 0)
		store(in->response, &out, sizeof(out));
	return error;
}

/* --- write() --------------------------------------------------------------------------------------------------- */

/* A command: its struct, and how much of it must be there. */
struct command {
	int (*run)(const struct call *call); /* NULL: the kernel has none either */
	uint16_t least;                      /* octets of the struct that each release has */
	uint16_t whole;
	uint16_t room;    /* least octets for the answer */
	int16_t response; /* where the struct has the pointer to the answer; -1: nowhere */
};

#define COMMAND(function, name)                                           \
	{                                                                 \
		function, sizeof(struct name), sizeof(struct name), 0, -1 \
	}
#define ANSWERED(function, name, octets)                                    \
	{                                                                   \
		function, sizeof(struct name), sizeof(struct name), octets, \
			offsetof(struct name, response)                     \
	}

/* clang-format off */
static const struct command commands[] = {
	[RDMA_USER_CM_CMD_CREATE_ID]     = ANSWERED(create_id, rdma_ucm_create_id, sizeof(struct rdma_ucm_create_id_resp)),
	[RDMA_USER_CM_CMD_DESTROY_ID]    = ANSWERED(destroy_id, rdma_ucm_destroy_id, sizeof(struct rdma_ucm_destroy_id_resp)),
	[RDMA_USER_CM_CMD_BIND_IP]       = COMMAND(bind_ip, rdma_ucm_bind_ip),
	[RDMA_USER_CM_CMD_RESOLVE_IP]    = COMMAND(resolve_ip, rdma_ucm_resolve_ip),
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = COMMAND(resolve_route, rdma_ucm_resolve_route),
	[RDMA_USER_CM_CMD_QUERY_ROUTE]   = ANSWERED(query_route, rdma_ucm_query,
	                                            offsetof(struct rdma_ucm_query_route_resp, ibdev_index)),
	[RDMA_USER_CM_CMD_CONNECT]       = {connect_to, offsetof(struct rdma_ucm_connect, ece), sizeof(struct rdma_ucm_connect), 0, -1},
	[RDMA_USER_CM_CMD_LISTEN]        = COMMAND(listen_at, rdma_ucm_listen),
	[RDMA_USER_CM_CMD_ACCEPT]        = {accept_it, offsetof(struct rdma_ucm_accept, ece), sizeof(struct rdma_ucm_accept), 0, -1},
	[RDMA_USER_CM_CMD_REJECT]        = COMMAND(reject, rdma_ucm_reject),
	[RDMA_USER_CM_CMD_DISCONNECT]    = COMMAND(disconnect, rdma_ucm_disconnect),
	[RDMA_USER_CM_CMD_INIT_QP_ATTR]  = ANSWERED(init_qp_attr, rdma_ucm_init_qp_attr, sizeof(struct ib_uverbs_qp_attr)),
	[RDMA_USER_CM_CMD_GET_EVENT]     = ANSWERED(get_event, rdma_ucm_get_event,
	                                            offsetof(struct rdma_ucm_event_resp, reserved)),
	[RDMA_USER_CM_CMD_GET_OPTION]    = {NULL, 0, 0, 0, -1},
	[RDMA_USER_CM_CMD_SET_OPTION]    = COMMAND(set_option, rdma_ucm_set_option),
	[RDMA_USER_CM_CMD_NOTIFY]        = COMMAND(notify, rdma_ucm_notify),
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = ANSWERED(join_ip, rdma_ucm_join_ip_mcast, sizeof(struct rdma_ucm_create_id_resp)),
	[RDMA_USER_CM_CMD_LEAVE_MCAST]   = ANSWERED(leave, rdma_ucm_destroy_id, sizeof(struct rdma_ucm_destroy_id_resp)),
	[RDMA_USER_CM_CMD_MIGRATE_ID]    = ANSWERED(migrate_id, rdma_ucm_migrate_id, sizeof(struct rdma_ucm_migrate_resp)),
	[RDMA_USER_CM_CMD_QUERY]         = ANSWERED(query, rdma_ucm_query, 0),
	[RDMA_USER_CM_CMD_BIND]          = COMMAND(bind_any, rdma_ucm_bind),
	[RDMA_USER_CM_CMD_RESOLVE_ADDR]  = COMMAND(resolve_addr, rdma_ucm_resolve_addr),
	[RDMA_USER_CM_CMD_JOIN_MCAST]    = ANSWERED(join_any, rdma_ucm_join_mcast, sizeof(struct rdma_ucm_create_id_resp)),
};
/* clang-format on */

/* Check a command and execute it: 0 or an errno. */
static int
execute(struct door_cm_channel *channel, const void *buffer, size_t length, int cancel_state)
{
	/* The largest command, in memory that is aligned as its struct is. */
	union {
		struct rdma_ucm_accept accept;
		struct rdma_ucm_resolve_addr resolve;
		uint64_t align;
	} in;
	struct rdma_ucm_cmd_hdr head;
	const struct command *command;
	uint64_t response = 1;

	if (length < sizeof(head))
		return EINVAL;
	memcpy(&head, buffer, sizeof(head));
	if (head.cmd >= G_N_ELEMENTS(commands) || head.in > length - sizeof(head))
		return EINVAL;
	command = &commands[head.cmd];
	if (command->run == NULL)
		return ENOSYS;
	if (head.in < command->least)
		return EINVAL;
	if (head.out < command->room)
		return ENOSPC;
	memset(&in, 0, sizeof(in));
	memcpy(&in, (const char *)buffer + sizeof(head), MIN(head.in, command->whole));
	if (command->response >= 0)
		memcpy(&response, (const char *)&in + command->response, sizeof(response));
	if (response == 0)
		return EFAULT;
	return command->run(&(struct call){channel, &in, head.out, cancel_state});
}

/*
 * Whether the program closed the channel's descriptor by a call that this layer does not see, and
 * the number now belongs to another file. An eventfd has no file type, unlike sockets, pipes and
 * files.
 */
static bool
is_stale(int fd)
{
	struct statx status;

	return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &status) != 0 ||
	       (status.stx_mode & S_IFMT) != 0;
}

ssize_t
door_cm_write(int fd, const void *buffer, size_t length)
{
	SESSION_DEFER;
	struct door_cm_channel *channel;
	int error;

	if (is_stale(fd)) {
		door_cm_closed(fd);
		return syscall(SYS_write, fd, buffer, length);
	}
	channel = door_cm_channel_get(fd);
	if (channel == NULL)
		return -1;
	error = execute(channel, buffer, length, session_deferred);
	door_cm_channel_put(channel);
	if (error == 0)
		return (ssize_t)length;
	errno = error;
	return -1;
}
