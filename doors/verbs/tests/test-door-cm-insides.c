/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Parts of rdma_cm by themselves: commands as bytes, and events of the kAL that the test makes. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <glib.h>

#include "door_cm_internal.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

static int channel;

/* --- commands -------------------------------------------------------------------------------------------------- */

static int
command(uint32_t number, const void *body, size_t in, size_t out)
{
	struct {
		struct rdma_ucm_cmd_hdr head;
		uint8_t body[512];
	} whole = {.head = {.cmd = number, .in = (uint16_t)in, .out = (uint16_t)out}};

	memcpy(whole.body, body, in);
	errno = 0;
	return write(channel, &whole, sizeof(whole.head) + in) < 0 ? errno : 0;
}

#define RUN(number, body, out) command(RDMA_USER_CM_CMD_##number, &(body), sizeof(body), out)

static void
open_channel(void)
{
	channel = open("/dev/infiniband/rdma_cm", O_RDWR);
	g_assert_cmpint(channel, >=, 0);
	OK(fcntl(channel, F_SETFL, O_NONBLOCK));
}

static uint32_t
create(uint16_t ps, uint64_t uid)
{
	struct rdma_ucm_create_id_resp resp = {.id = 0};
	struct rdma_ucm_create_id cmd = {.uid = uid, .response = (uintptr_t)&resp, .ps = ps};

	OK(RUN(CREATE_ID, cmd, sizeof(resp)));
	return resp.id;
}

static uint32_t
destroy(uint32_t id)
{
	struct rdma_ucm_destroy_id_resp resp = {.events_reported = 99};
	struct rdma_ucm_destroy_id cmd = {.response = (uintptr_t)&resp, .id = id};

	OK(RUN(DESTROY_ID, cmd, sizeof(resp)));
	return resp.events_reported;
}

static int
bind_to(uint32_t id, const char *text, uint16_t port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct rdma_ucm_bind_ip cmd = {.id = id};

	g_assert_cmpint(inet_pton(AF_INET, text, &addr.sin_addr), ==, 1);
	memcpy(&cmd.addr, &addr, sizeof(addr));
	return RUN(BIND_IP, cmd, 0);
}

static int
resolve(uint32_t id)
{
	struct sockaddr_in dest = {.sin_family = AF_INET, .sin_port = htons(9)};
	struct rdma_ucm_resolve_ip cmd = {.id = id};

	dest.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	memcpy(&cmd.dst_addr, &dest, sizeof(dest));
	return RUN(RESOLVE_IP, cmd, 0);
}

/* The type of the next event, or -1 if no event is queued. */
static int
next_event(struct rdma_ucm_event_resp *resp)
{
	struct rdma_ucm_get_event cmd = {.response = (uintptr_t)resp};
	int error = RUN(GET_EVENT, cmd, sizeof(*resp));

	if (error == EAGAIN)
		return -1;
	OK(error);
	return (int)resp->event;
}

static struct door_cm_id *
id_of(uint32_t number)
{
	struct door_cm_id *id;

	door_cm_lock();
	id = door_cm_id_after(number - 1);
	door_cm_unlock();
	g_assert_cmpuint(id->number, ==, number);
	return id;
}

static void
test_room(void)
{
	struct rdma_ucm_event_resp resp;
	struct rdma_ucm_get_event cmd = {.response = (uintptr_t)&resp};
	const size_t first = offsetof(struct rdma_ucm_event_resp, reserved);
	struct rdma_ucm_query query = {.option = RDMA_USER_CM_QUERY_PATH};
	struct rdma_ucm_resolve_route route = {.id = 0};
	uint8_t path[256] __attribute__((aligned(8))) = {0};
	uint32_t id;

	open_channel();
	route.id = query.id = id = create(RDMA_PS_TCP, 7);
	OK(resolve(id));
	memset(&resp, 0xee, sizeof(resp));
	g_assert_cmpint(RUN(GET_EVENT, cmd, first - 1), ==, ENOSPC);
	OK(RUN(GET_EVENT, cmd, first));
	g_assert_cmpuint(resp.event, ==, RDMA_CM_EVENT_ADDR_RESOLVED);
	g_assert_cmphex(resp.reserved, ==, 0xeeeeeeee);
	/* A path record that does not fit is left out. */
	OK(RUN(RESOLVE_ROUTE, route, 0));
	g_assert_cmpint(next_event(&resp), ==, RDMA_CM_EVENT_ROUTE_RESOLVED);
	query.response = (uintptr_t)path;
	OK(RUN(QUERY, query, sizeof(path)));
	g_assert_cmpuint(*(uint32_t *)(void *)path, ==, 1);
	id_of(id)->adapter->session.attr.transport = RI_TRANSPORT_IWARP; /* which has no paths */
	OK(RUN(QUERY, query, sizeof(path)));
	g_assert_cmpuint(*(uint32_t *)(void *)path, ==, 0);
	id_of(id)->adapter->session.attr.transport = RI_TRANSPORT_IB;
	memset(path, 0xee, sizeof(path));
	OK(RUN(QUERY, query, sizeof(struct rdma_ucm_query_path_resp) + 4));
	g_assert_cmphex(path[sizeof(struct rdma_ucm_query_path_resp)], ==, 0xee);
	g_assert_cmpuint(destroy(id), ==, 2);
	OK(close(channel));
}

/* The number 0 is no id's, and an id that the program cannot match has no events. */
static void
test_numbers(void)
{
	struct ib_uverbs_qp_attr attr;
	struct rdma_ucm_init_qp_attr init = {.response = (uintptr_t)&attr,
					     .qp_state = IBV_QPS_INIT};
	struct rdma_ucm_resolve_route route = {.id = 0};
	struct rdma_ucm_event_resp resp;
	uint32_t id;

	open_channel();
	g_assert_cmpint(RUN(RESOLVE_ROUTE, route, 0), ==, ENOENT);
	id = create(RDMA_PS_TCP, 0);
	init.id = id;
	g_assert_cmpint(RUN(INIT_QP_ATTR, init, sizeof(attr)), ==, EINVAL); /* no device */
	OK(resolve(id));
	OK(RUN(INIT_QP_ATTR, init, sizeof(attr)));
	g_assert_cmpint(next_event(&resp), ==, -1);
	g_assert_cmpuint(destroy(id), ==, 0);
	g_assert_cmpint(RUN(RESOLVE_ROUTE, route, 0), ==, ENOENT);
	OK(close(channel));
}

/* Leaving a group returns how many of its events were fetched. The next group gets the number again. */
static void
test_groups(void)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_join_ip_mcast join = {.response = (uintptr_t)&resp, .uid = 5};
	struct rdma_ucm_destroy_id_resp left = {.events_reported = 99};
	struct rdma_ucm_destroy_id leave = {.response = (uintptr_t)&left};
	struct sockaddr_in group = {.sin_family = AF_INET};
	struct rdma_ucm_event_resp event;
	uint32_t first;

	open_channel();
	g_assert_cmpint(inet_pton(AF_INET, "239.1.1.1", &group.sin_addr), ==, 1);
	memcpy(&join.addr, &group, sizeof(group));
	join.id = create(RDMA_PS_UDP, 7);
	OK(bind_to(join.id, "127.0.0.1", 0));
	OK(RUN(JOIN_IP_MCAST, join, sizeof(resp)));
	first = leave.id = resp.id;
	g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_MULTICAST_JOIN);
	g_assert_cmpuint(event.uid, ==, 5);
	g_assert_cmpuint(event.id, ==, first);
	OK(RUN(LEAVE_MCAST, leave, sizeof(left)));
	g_assert_cmpuint(left.events_reported, ==, 1);
	OK(RUN(JOIN_IP_MCAST, join, sizeof(resp)));
	g_assert_cmpuint(resp.id, ==, first);
	g_assert_cmpuint(destroy(join.id), ==, 1);
	g_assert_cmpint(next_event(&event), ==, -1);
	/* It went with its id. */
	g_assert_cmpint(RUN(LEAVE_MCAST, leave, sizeof(left)), ==, ENOENT);
	OK(close(channel));
}

/* --- adapters -------------------------------------------------------------------------------------------------- */

static struct door_adapter *
opened(void)
{
	return door_devices_at(0)->open;
}

/* An adapter is open as long as an id has it, or as long as a channel may look for one. */
static void
test_adapter(void)
{
	struct rdma_ucm_event_resp event;
	uint32_t one, two;
	uint16_t port;

	g_assert_null(opened());
	open_channel();
	one = create(RDMA_PS_TCP, 7);
	g_assert_cmpint(bind_to(one, "192.0.2.77", 0), ==, EADDRNOTAVAIL);
	g_assert_nonnull(opened());
	g_assert_cmpuint(destroy(one), ==, 0);
	g_assert_nonnull(opened());
	OK(close(channel));
	g_assert_null(opened());

	open_channel();
	one = create(RDMA_PS_TCP, 7);
	two = create(RDMA_PS_TCP, 8);
	OK(bind_to(one, "127.0.0.1", 0));
	port = ntohs(*door_cm_port(&id_of(one)->source));
	g_assert_cmpint(bind_to(two, "127.0.0.1", port), ==, EADDRINUSE);
	g_assert_cmpuint(destroy(one), ==, 0);
	g_assert_null(opened());
	OK(resolve(two));
	g_assert_nonnull(opened());
	g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_ADDR_RESOLVED);
	OK(close(channel));
	g_assert_null(opened());
}

/* An adapter fails: each of its ids gets an event, connections are over, and commands fail. */
/* A query that the kAL refuses leaves no trace: the id is in its old state, and may query again. */
static void
test_ask_fails(void)
{
	const struct rdma_ucm_conn_param param = {.valid = 1};
	uint32_t id;

	open_channel();
	id = create(RDMA_PS_UDP, 5);
	OK(bind_to(id, "127.0.0.1", 0));
	door_cm_id_set(id_of(id), DOOR_CM_ROUTE_RESOLVED);
	id_of(id)->spigot = 99; /* no spigot has this number */
	for (unsigned i = 0; i < 2; i++) {
		g_assert_cmpint(door_cm_ud_connect(id_of(id), &param), !=, 0);
		g_assert_cmpint(door_cm_id_state(id_of(id)), ==, DOOR_CM_ROUTE_RESOLVED);
		g_assert_false(id_of(id)->query_open);
	}
	g_assert_cmpuint(destroy(id), ==, 0);
	OK(close(channel));
}

/* A channel that another thread has closed meanwhile gets no id any more, and the id stays where it was. */
static void
test_migrate_closed(void)
{
	struct door_cm_channel *from, *to;
	uint32_t id, reported = 77;
	int other;

	open_channel();
	other = open("/dev/infiniband/rdma_cm", O_RDWR);
	id = create(RDMA_PS_TCP, 5);
	from = door_cm_channel_get(channel);
	to = door_cm_channel_get(other);
	OK(close(other));
	g_assert_cmpint(door_cm_id_migrate(from, to, id, &reported), ==, EBADF);
	g_assert_cmpuint(reported, ==, 77);
	g_assert_true(id_of(id)->channel == from);
	g_assert_null(to->ids);
	door_cm_channel_put(to);
	door_cm_channel_put(from);
	g_assert_cmpuint(destroy(id), ==, 0);
	OK(close(channel));
}

/* A program closes a channel's descriptor by a call that the door does not see: when the number comes again, its ids have ended. */
static void
test_closed_unseen(void)
{
	uint32_t id, idle;
	int closed;

	open_channel();
	closed = channel;
	id = create(RDMA_PS_TCP, 5);
	OK(bind_to(id, "127.0.0.1", 0));
	idle = create(RDMA_PS_TCP, 6);
	OK((int)syscall(SYS_close, channel));
	open_channel();
	g_assert_cmpint(channel, ==, closed);
	door_cm_lock();
	g_assert_null(door_cm_id_after(0));
	door_cm_unlock();
	/* Their numbers are free. */
	g_assert_cmpuint(create(RDMA_PS_TCP, 7), ==, id);
	g_assert_cmpuint(create(RDMA_PS_TCP, 8), ==, idle);
	OK(close(channel));
	door_cm_lock();
	g_assert_null(door_cm_id_after(0));
	door_cm_unlock();
}

static void
test_device_lost(void)
{
	struct rdma_ucm_resolve_route route;
	struct rdma_ucm_event_resp event;
	struct door_adapter *adapter;
	uint32_t bound, up, idle;

	open_channel();
	idle = create(RDMA_PS_TCP, 5);
	bound = create(RDMA_PS_TCP, 6);
	up = create(RDMA_PS_TCP, 7);
	OK(bind_to(bound, "127.0.0.1", 0));
	OK(bind_to(up, "127.0.0.1", 0));
	door_cm_id_set(id_of(up), DOOR_CM_UP);
	adapter = id_of(up)->adapter;
	pthread_mutex_lock(&adapter->slots.lock);
	door_cm_device_lost(adapter);
	pthread_mutex_unlock(&adapter->slots.lock);
	for (unsigned i = 0; i < 2; i++) {
		g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_DEVICE_REMOVAL);
		g_assert_cmpuint(event.id, ==, i == 0 ? bound : up);
	}
	g_assert_cmpint(next_event(&event), ==, -1);
	g_assert_cmpint(door_cm_id_state(id_of(bound)), ==, DOOR_CM_BOUND);
	g_assert_cmpint(door_cm_id_state(id_of(up)), ==, DOOR_CM_ENDED);
	/* What has begun is over, and nothing else. */
	for (int state = DOOR_CM_IDLE; state <= DOOR_CM_ENDED; state++) {
		door_cm_id_set(id_of(up), (enum door_cm_state)state);
		pthread_mutex_lock(&adapter->slots.lock);
		door_cm_device_lost(adapter);
		pthread_mutex_unlock(&adapter->slots.lock);
		for (unsigned i = 0; i < 2; i++)
			g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_DEVICE_REMOVAL);
		g_assert_cmpint(door_cm_id_state(id_of(up)), ==,
				state > DOOR_CM_LISTENING ? DOOR_CM_ENDED : state);
	}
	atomic_store(&adapter->session.dead, true);
	route = (struct rdma_ucm_resolve_route){.id = bound};
	g_assert_cmpint(RUN(RESOLVE_ROUTE, route, 0), ==, EIO);
	route.id = idle;
	g_assert_cmpint(RUN(RESOLVE_ROUTE, route, 0), ==, EINVAL);
	atomic_store(&adapter->session.dead, false);
	g_assert_cmpuint(destroy(up), ==, 2 + DOOR_CM_ENDED);
	OK(close(channel));
}

/* --- events of the kAL ------------------------------------------------------------------------------------------ */

static void
raise_of(struct door_cm_id *id, enum kal_cm_kind kind, uint32_t reason)
{
	const struct kal_cm_event event = {.kind = kind, .reason = reason};

	pthread_mutex_lock(&id->adapter->slots.lock);
	door_cm_raised(id->adapter, id->query, &event);
	pthread_mutex_unlock(&id->adapter->slots.lock);
}

/* Events that come late, twice, or with a reason that nobody knows. */
static void
test_raised(void)
{
	static const struct {
		enum door_cm_state state;
		enum kal_cm_kind kind;
		uint32_t reason;
		int event; /* -1: none */
		int status;
		enum door_cm_state next;
	} rows[] = {
		{DOOR_CM_ENDED, KAL_CM_ESTABLISHED, 0, -1, 0, DOOR_CM_ENDED},
		{DOOR_CM_ENDED, KAL_CM_REJECTED, 0, -1, 0, DOOR_CM_ENDED},
		{DOOR_CM_ENDED, KAL_CM_DISCONNECTED, 0, -1, 0, DOOR_CM_ENDED},
		{DOOR_CM_ENDED, KAL_CM_FAILED, KAL_REASON_TIMEOUT, -1, 0, DOOR_CM_ENDED},
		{DOOR_CM_ENDED, KAL_CM_REPLY, 0, -1, 0, DOOR_CM_ENDED},
		{DOOR_CM_REPLIED, KAL_CM_ESTABLISHED, 0, -1, 0, DOOR_CM_UP},
		{DOOR_CM_CONNECTING, KAL_CM_ESTABLISHED, 0, RDMA_CM_EVENT_ESTABLISHED, 0,
		 DOOR_CM_UP},
		{DOOR_CM_CONNECTING, KAL_CM_REPLY, 0, RDMA_CM_EVENT_CONNECT_RESPONSE, 0,
		 DOOR_CM_REPLIED},
		{DOOR_CM_CONNECTING, KAL_CM_REJECTED, 0, RDMA_CM_EVENT_REJECTED, 28, DOOR_CM_ENDED},
		{DOOR_CM_REPLIED, KAL_CM_FAILED, KAL_REASON_REFUSED, RDMA_CM_EVENT_REJECTED, 8,
		 DOOR_CM_ENDED},
		{DOOR_CM_CONNECTING, KAL_CM_FAILED, KAL_REASON_STALE, RDMA_CM_EVENT_REJECTED, 10,
		 DOOR_CM_ENDED},
		{DOOR_CM_CONNECTING, KAL_CM_FAILED, 1000, RDMA_CM_EVENT_REJECTED, 8, DOOR_CM_ENDED},
		{DOOR_CM_UP, KAL_CM_BROKEN, 0, RDMA_CM_EVENT_DISCONNECTED, 0, DOOR_CM_ENDED},
		{DOOR_CM_ENDED, KAL_CM_TIME_WAIT_OVER, 0, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0,
		 DOOR_CM_ENDED},
	};
	struct rdma_ucm_event_resp event;
	struct door_cm_id *id;
	uint64_t query;
	uint32_t number;

	open_channel();
	number = create(RDMA_PS_TCP, 7);
	OK(bind_to(number, "127.0.0.1", 0));
	id = id_of(number);
	query = id->query = door_slot_enter(&id->adapter->slots, DOOR_QUERY, id);
	id->give_up = UINT64_MAX;
	id->may_retry = true;
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		door_cm_id_set(id, rows[i].state);
		raise_of(id, rows[i].kind, rows[i].reason);
		memset(&event, 0, sizeof(event));
		g_assert_cmpint(next_event(&event), ==, rows[i].event);
		g_assert_cmpint((int)event.status, ==, rows[i].status);
		g_assert_cmpint(door_cm_id_state(id), ==, rows[i].next);
	}
	/* iWARP has no such event, and other words for failures. */
	id->adapter->session.attr.transport = RI_TRANSPORT_IWARP;
	raise_of(id, KAL_CM_TIME_WAIT_OVER, 0);
	g_assert_cmpint(next_event(&event), ==, -1);
	door_cm_id_set(id, DOOR_CM_CONNECTING);
	raise_of(id, KAL_CM_FAILED, KAL_REASON_BAD_PATH);
	g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_CONNECT_ERROR);
	g_assert_cmpint((int)event.status, ==, -EHOSTUNREACH);
	id->adapter->session.attr.transport = RI_TRANSPORT_IB;
	/* The slot goes with the id. */
	number = create(RDMA_PS_TCP, 8);
	OK(bind_to(number, "127.0.0.1", 0));
	destroy(id->number);
	id = id_of(number);
	pthread_mutex_lock(&id->adapter->slots.lock);
	g_assert_null(door_slot_find(&id->adapter->slots, DOOR_QUERY, query));
	pthread_mutex_unlock(&id->adapter->slots.lock);
	OK(close(channel));
}

/* A queue pair of the program that the id has connected. */
static struct ibv_qp *
qp_of(struct ibv_context *context, struct door_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC};
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	struct ibv_qp *qp;

	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	g_assert_nonnull(qp);
	door_qp_of(qp)->cm = id;
	id->qp = door_qp_of(qp);
	return qp;
}

static void
qp_gone(struct ibv_qp *qp)
{
	struct ibv_pd *pd = qp->pd;
	struct ibv_cq *cq = qp->send_cq;

	OK(ibv_destroy_qp(qp));
	OK(ibv_destroy_cq(cq));
	OK(ibv_dealloc_pd(pd));
}

static void *
end_soon(void *arg)
{
	struct door_cm_id *id = (struct door_cm_id *)arg;

	g_usleep(50 * 1000);
	door_cm_lock();
	id->state = DOOR_CM_ENDED;
	door_cm_ended();
	door_cm_unlock();
	return NULL;
}

/* The state of a queue pair follows its connection; a queue pair that is destroyed waits for the end that is under way. */
static void
test_queue_pairs(void)
{
	const struct kal_cm_event up = {.kind = KAL_CM_ESTABLISHED}, no = {.kind = KAL_CM_REJECTED};
	struct rdma_ucm_event_resp event;
	struct ibv_context *context;
	struct ibv_device **list;
	struct door_cm_id *id;
	struct ibv_qp *qp;
	pthread_t thread;

	list = ibv_get_device_list(NULL);
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	open_channel();
	id = id_of(create(RDMA_PS_TCP, 7));
	OK(bind_to(id->number, "127.0.0.1", 0));
	qp = qp_of(context, id);
	door_cm_id_set(id, DOOR_CM_CONNECTING);
	pthread_mutex_lock(&id->adapter->slots.lock);
	door_cm_raised(id->adapter, door_qp_of(qp)->ctx, &up);
	g_assert_cmpint(atomic_load(&door_qp_of(qp)->state), ==, IBV_QPS_RTS);
	door_cm_id_set(id, DOOR_CM_CONNECTING);
	door_cm_raised(id->adapter, door_qp_of(qp)->ctx, &no);
	g_assert_cmpint(atomic_load(&door_qp_of(qp)->state), ==, IBV_QPS_ERR);
	pthread_mutex_unlock(&id->adapter->slots.lock);
	g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_ESTABLISHED);
	g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_REJECTED);
	door_cm_id_set(id, DOOR_CM_UP);
	qp_gone(qp);
	g_assert_null(id->qp);
	g_assert_cmpint(door_cm_id_state(id), ==, DOOR_CM_ENDED);
	g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_DISCONNECTED);
	/* No event would report the end of the time-wait any more. */
	g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	qp = qp_of(context, id);
	door_cm_id_set(id, DOOR_CM_CLOSING);
	OK(pthread_create(&thread, NULL, end_soon, id));
	qp_gone(qp);
	OK(pthread_join(thread, NULL));
	g_assert_cmpint(next_event(&event), ==, -1);
	OK(close(channel));
	OK(ibv_close_device(context));
}

/* An attempt that begins after another one has its own time in which a refusal is repeated. */
static void
test_begins_again(void)
{
	struct door_cm_id *id;
	uint64_t first;

	open_channel();
	id = id_of(create(RDMA_PS_TCP, 7));
	OK(bind_to(id->number, "127.0.0.1", 0));
	door_cm_connect_begin(id);
	first = id->give_up;
	door_cm_id_set(id, DOOR_CM_ROUTE_RESOLVED);
	door_cm_connect_begin(id);
	g_assert_cmpuint(id->give_up, >, first);
	door_cm_id_set(id, DOOR_CM_ENDED);
	OK(close(channel));
}

/* A try that finds a command at work comes again; it does not fail. */
static void
test_retry(void)
{
	struct rdma_ucm_event_resp event;
	const struct ri_host *host;
	struct door_cm_id *id;

	open_channel();
	id = id_of(create(RDMA_PS_TCP, 7));
	OK(bind_to(id->number, "127.0.0.1", 0));
	host = door_cm_host(id);
	pthread_mutex_lock(&id->control);
	door_cm_id_set(id, DOOR_CM_CONNECTING);
	id->retry.fire(id);
	g_assert_cmpint(door_cm_id_state(id), ==, DOOR_CM_CONNECTING);
	g_assert_cmpint(next_event(&event), ==, -1);
	door_cm_id_set(id, DOOR_CM_ENDED);
	host->timer_stop(host->self, &id->retry);
	pthread_mutex_unlock(&id->control);
	OK(close(channel));
}

/* --- single commands ------------------------------------------------------------------------------------------------ */

/* A command that is too short is not read behind its end. */
static void
test_short(void)
{
	char *pages = (char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

	OK(mprotect(pages + 4096, 4096, PROT_NONE));
	open_channel();
	for (size_t length = 0; length < sizeof(struct rdma_ucm_cmd_hdr); length++) {
		errno = 0;
		g_assert_cmpint(write(channel, pages + 4096 - length, length), ==, -1);
		g_assert_cmpint(errno, ==, EINVAL);
	}
	OK(close(channel));
	munmap(pages, 8192);
}

static void
test_path_option(void)
{
	struct ib_path_rec_data paths[2] = {{.flags = 0}};
	struct rdma_ucm_set_option cmd = {.optval = (uintptr_t)paths,
					  .level = RDMA_OPTION_IB,
					  .optname = RDMA_OPTION_IB_PATH,
					  .optlen = sizeof(paths[0])};
	struct rdma_ucm_event_resp event;

	open_channel();
	cmd.id = create(RDMA_PS_TCP, 7);
	OK(resolve(cmd.id));
	g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_ADDR_RESOLVED);
	g_assert_cmpint(RUN(SET_OPTION, cmd, 0), ==, EINVAL);
	paths[0].flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	cmd.optlen++;
	g_assert_cmpint(RUN(SET_OPTION, cmd, 0), ==, EINVAL);
	g_assert_cmpint(next_event(&event), ==, -1);
	cmd.optlen--;
	OK(RUN(SET_OPTION, cmd, 0));
	g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_ROUTE_RESOLVED);
	OK(close(channel));
}

/* A device without groups is not found for one, and a question without a peer any more is rejected. */
static void
test_datagrams(void)
{
	struct sockaddr_in group = {.sin_family = AF_INET};
	struct door_adapter *adapter = door_adapter_get(door_devices_at(0));
	struct rdma_ucm_resolve_ip resolve_ip = {.id = 0};
	struct rdma_ucm_reject reject = {.id = 0};
	struct rdma_ucm_event_resp event;

	open_channel();
	resolve_ip.id = create(RDMA_PS_UDP, 7);
	g_assert_cmpint(inet_pton(AF_INET, "239.1.1.1", &group.sin_addr), ==, 1);
	memcpy(&resolve_ip.dst_addr, &group, sizeof(group));
	adapter->session.attr.multicast = false;
	OK(RUN(RESOLVE_IP, resolve_ip, 0));
	g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_ADDR_ERROR);
	adapter->session.attr.multicast = true;
	OK(RUN(RESOLVE_IP, resolve_ip, 0));
	g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_ADDR_RESOLVED);
	reject.id = resolve_ip.id;
	door_cm_id_set(id_of(reject.id), DOOR_CM_REQUESTED);
	OK(RUN(REJECT, reject, 0));
	g_assert_cmpint(door_cm_id_state(id_of(reject.id)), ==, DOOR_CM_ENDED);
	OK(close(channel));
	door_adapter_put(adapter);
}

/* --- listeners --------------------------------------------------------------------------------------------------- */

static int
listen_at(uint32_t id)
{
	const struct rdma_ucm_listen cmd = {.id = id, .backlog = 1};

	return RUN(LISTEN, cmd, 0);
}

/* May other sockets bind to the port that the id has reserved? */
static bool
is_shared(const struct door_cm_id *id)
{
	socklen_t len = sizeof(int);
	int on = -1;

	OK(getsockopt(id->reservation, SOL_SOCKET, SO_REUSEADDR, &on, &len));
	return on != 0;
}

/* Another user of the adapter has the port: the id can listen when that is gone. */
static void
test_listen_fails(void)
{
	static const char *const addrs[] = {"127.0.0.1", "0.0.0.0"};

	for (size_t i = 0; i < G_N_ELEMENTS(addrs); i++) {
		struct kal_listen_req req = {.backlog = 1};
		struct kal_listen_rep rep;
		struct door_adapter *adapter;
		uint32_t id;

		open_channel();
		id = create(RDMA_PS_TCP, 7);
		OK(bind_to(id, addrs[i], 0));
		adapter = door_adapter_get(door_devices_at(0));
		req.rnic = adapter->session.rnic;
		req.service = door_cm_service(id_of(id), *door_cm_port(&id_of(id)->source));
		OK(door_call(adapter, KAL_LISTEN, &req, sizeof(req), &rep, sizeof(rep)));
		g_assert_cmpint(listen_at(id), ==, EADDRINUSE);
		g_assert_cmpint(door_cm_id_state(id_of(id)), ==, DOOR_CM_BOUND);
		g_assert_null(id_of(id)->hearings);
		g_assert_false(is_shared(id_of(id)));
		OK(door_call_id(adapter, KAL_LISTEN_DESTROY, rep.id));
		OK(listen_at(id));
		g_assert_cmpint(door_cm_id_state(id_of(id)), ==, DOOR_CM_LISTENING);
		door_adapter_put(adapter);
		OK(close(channel));
		g_assert_null(opened());
	}
}

/* The context of the only listener of the adapter. */
static uint64_t
listener_ctx(struct door_adapter *adapter)
{
	uint64_t ctx = 0;

	pthread_mutex_lock(&adapter->slots.lock);
	for (uint32_t i = 0; i < adapter->slots.used && ctx == 0; i++) {
		const struct door_slot *slot = &adapter->slots.first[i];

		if (slot->kind == DOOR_LISTENER)
			ctx = (uint64_t)atomic_load(&slot->generation) << 32 | i;
	}
	g_assert_nonnull(door_slot_find(&adapter->slots, DOOR_LISTENER, ctx));
	pthread_mutex_unlock(&adapter->slots.lock);
	return ctx;
}

/* The kAL reports a request, or its end. */
static void
request_raised(struct door_adapter *adapter, enum kal_cm_kind kind, uint32_t request)
{
	const uint64_t ctx = kind == KAL_CM_REQUEST ? listener_ctx(adapter) : 0;
	const struct kal_cm_event event = {
		.kind = kind,
		.request = request,
		.local = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}},
		.peer = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}}};

	pthread_mutex_lock(&adapter->slots.lock);
	door_cm_raised(adapter, ctx, &event);
	pthread_mutex_unlock(&adapter->slots.lock);
}

static unsigned
users_of(struct door_adapter *adapter)
{
	(void)door_adapter_get(adapter->device);
	door_adapter_put(adapter);
	return adapter->users;
}

static int
accept_it(uint32_t id, uint64_t uid, uint32_t qp_num)
{
	struct rdma_ucm_accept cmd = {
		.uid = uid, .id = id, .conn_param = {.qp_num = qp_num, .valid = 1}};

	return RUN(ACCEPT, cmd, 0);
}

/*
 * Requests that are withdrawn before they are answered, refused because the backlog is full, or
 * accepted without success. Afterwards their numbers are not used any more, since the next request
 * may get them; they keep no reference to the adapter; and the listener can receive as many
 * requests as before.
 */
static void
test_requests(void)
{
	enum {
		BACKLOG = 2,
		ROUNDS = 3
	};
	struct rdma_ucm_listen cmd = {.backlog = BACKLOG};
	struct rdma_ucm_event_resp event = {0};
	struct door_adapter *adapter;
	uint32_t number = 0x700000, ids[BACKLOG];
	unsigned before;

	open_channel();
	cmd.id = create(RDMA_PS_TCP, 7);
	OK(bind_to(cmd.id, "127.0.0.1", 0));
	OK(RUN(LISTEN, cmd, 0));
	adapter = id_of(cmd.id)->adapter;
	before = users_of(adapter);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < BACKLOG + 3; i++)
			request_raised(adapter, KAL_CM_REQUEST, number + i);
		for (unsigned i = 0; i < BACKLOG; i++) {
			g_assert_cmpint(next_event(&event), ==, RDMA_CM_EVENT_CONNECT_REQUEST);
			ids[i] = event.id;
			g_assert_cmpuint(id_of(ids[i])->request, ==, number + i);
		}
		g_assert_cmpint(next_event(&event), ==, -1);
		/* Each request that the program has is a user, and none of the others. */
		g_assert_cmpuint(users_of(adapter), ==, before + BACKLOG);
		request_raised(adapter, KAL_CM_REQUEST_GONE, number);
		g_assert_cmpuint(id_of(ids[0])->request, ==, 0);
		g_assert_cmpuint(id_of(ids[1])->request, ==, number + 1);
		g_assert_cmpint(accept_it(ids[0], 77, 5), ==, ENOTCONN);
		g_assert_cmpint(accept_it(ids[1], 78, 0xfffffe), !=, 0);
		for (unsigned i = 0; i < BACKLOG; i++) {
			const struct door_cm_id *id = id_of(ids[i]);

			g_assert_cmpuint(id->request, ==, 0);
			g_assert_cmpuint(id->uid, ==, 0);
			g_assert_cmpint(id->state, ==, DOOR_CM_ENDED);
			g_assert_cmpint(accept_it(ids[i], 79, 5), ==, EINVAL);
			g_assert_cmpuint(destroy(ids[i]), ==, 0);
		}
		g_assert_cmpuint(users_of(adapter), ==, before);
	}
	g_assert_cmpuint(destroy(cmd.id), ==, BACKLOG * ROUNDS);
	OK(close(channel));
	g_assert_null(opened());
}

static unsigned
threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	unsigned num = 0;

	while (readdir(folder) != NULL)
		num++;
	closedir(folder);
	return num;
}

#define UNTIL(condition)                                             \
	do {                                                         \
		for (unsigned ms_ = 0; !(condition); g_usleep(1000)) \
			g_assert_cmpuint(ms_++, <, 20000);           \
	} while (0)

/* One thread follows the host's interfaces, as long as an id listens everywhere. */
static void
test_follows(void)
{
	struct door_adapter *adapter = door_adapter_get(door_devices_at(0));
	uint32_t one, two;
	void *hearings;
	unsigned before;

	open_channel();
	one = create(RDMA_PS_TCP, 7);
	two = create(RDMA_PS_TCP, 8);
	OK(bind_to(one, "127.0.0.1", 0));
	OK(listen_at(one));
	destroy(one);
	before = threads();
	one = create(RDMA_PS_TCP, 7);
	OK(listen_at(one));
	OK(listen_at(two));
	g_assert_cmpuint(threads(), ==, before + 1);
	/* What it hears already it does not hear again. */
	hearings = id_of(one)->hearings;
	g_assert_nonnull(hearings);
	door_cm_listen_more(id_of(one));
	g_assert_true(id_of(one)->hearings == hearings);
	destroy(one);
	g_usleep(20 * 1000);
	g_assert_cmpuint(threads(), ==, before + 1);
	destroy(two);
	UNTIL(threads() == before);
	OK(close(channel));
	door_adapter_put(adapter);
}

/* --- words ----------------------------------------------------------------------------------------------------------- */

static void
test_same_addr(void)
{
	const struct ri_addr four = {.family = RI_ADDR_IPV4, .octets = {1, 2, 3, 4}};
	const struct ri_addr six = {.family = RI_ADDR_IPV6, .octets = {1, 2, 3, 4}};
	const struct ri_addr gid = {.family = RI_ADDR_GID, .octets = {1, 2, 3, 4}};
	const struct ri_addr scoped = {
		.family = RI_ADDR_IPV6, .octets = {1, 2, 3, 4}, .scope_id = 3};
	const struct ri_addr other = {.family = RI_ADDR_IPV4, .octets = {1, 2, 3, 5}};

	g_assert_true(door_cm_same_addr(&four, &four));
	g_assert_true(door_cm_same_addr(&six, &gid));
	g_assert_false(door_cm_same_addr(&four, &six));
	g_assert_false(door_cm_same_addr(&six, &scoped));
	g_assert_false(door_cm_same_addr(&four, &other));
}

static void
test_service_status(void)
{
	g_assert_cmpint(door_cm_service_status(RI_SERVICE_FOUND), ==, 0);
	g_assert_cmpint(door_cm_service_status(RI_SERVICE_REJECTED), ==, 2);
	g_assert_cmpint(door_cm_service_status(RI_SERVICE_REDIRECTED), ==, 4);
	g_assert_cmpint(door_cm_service_status(99), ==, -EPROTO);
}

int
main(int argc, char **argv)
{
	struct ibv_device **list;

	g_test_init(&argc, &argv, NULL);
	g_setenv("ITAPI_VERBS_DEVICES", "emul:ib", TRUE);
	list = ibv_get_device_list(NULL);
	g_assert_nonnull(list);
	ibv_free_device_list(list);
	/* First, since threads of other tests may end late. */
	g_test_add_func("/door/cm-insides/follows", test_follows);
	g_test_add_func("/door/cm-insides/adapter", test_adapter);
	g_test_add_func("/door/cm-insides/room", test_room);
	g_test_add_func("/door/cm-insides/numbers", test_numbers);
	g_test_add_func("/door/cm-insides/groups", test_groups);
	g_test_add_func("/door/cm-insides/ask-fails", test_ask_fails);
	g_test_add_func("/door/cm-insides/migrate-closed", test_migrate_closed);
	g_test_add_func("/door/cm-insides/closed-unseen", test_closed_unseen);
	g_test_add_func("/door/cm-insides/device-lost", test_device_lost);
	g_test_add_func("/door/cm-insides/raised", test_raised);
	g_test_add_func("/door/cm-insides/queue-pairs", test_queue_pairs);
	g_test_add_func("/door/cm-insides/begins-again", test_begins_again);
	g_test_add_func("/door/cm-insides/retry", test_retry);
	g_test_add_func("/door/cm-insides/short", test_short);
	g_test_add_func("/door/cm-insides/path-option", test_path_option);
	g_test_add_func("/door/cm-insides/datagrams", test_datagrams);
	g_test_add_func("/door/cm-insides/listen-fails", test_listen_fails);
	g_test_add_func("/door/cm-insides/requests", test_requests);
	g_test_add_func("/door/cm-insides/same-addr", test_same_addr);
	g_test_add_func("/door/cm-insides/service-status", test_service_status);
	return g_test_run();
}
