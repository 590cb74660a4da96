/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Commands of rdma_cm that a program writes to the door for verbs, on the adapter emul:ib. A
 * command begins as a valid one; the input picks the channel, the id and the queue pair that it
 * names, and changes any of its octets, its length and the room for its reply. Pointers to replies
 * and options are not changed: they point to the program's own memory, and the kernel's interface
 * trusts them as well.
 *
 * The harness demands that no reply is longer than its room, that a command fails only with an
 * errno, and that at the end no id keeps the adapter open.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <unistd.h>

#include "door_adapter.h"
#include "door_cm.h"

#define COMMANDS_MAX 64
#define COMMANDS     (RDMA_USER_CM_CMD_JOIN_MCAST + 2) /* and one that does not exist */
#define CHANNELS     2
#define IDS          8
#define PAIRS        3
#define ROOM         1024 /* of an answer; nobody writes behind it */
#define GUARD        0xa5

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *pairs[PAIRS];
	int channels[CHANNELS];
	uint32_t ids[IDS];
	unsigned num_ids;
	uint8_t answer[ROOM];
	uint8_t option[64];
} s;

/* --- right commands ---------------------------------------------------------------------------------------- */

union body {
	struct rdma_ucm_create_id create;
	struct rdma_ucm_bind_ip bind_ip;
	struct rdma_ucm_bind bind;
	struct rdma_ucm_resolve_ip resolve_ip;
	struct rdma_ucm_resolve_addr resolve;
	struct rdma_ucm_resolve_route route;
	struct rdma_ucm_query query;
	struct rdma_ucm_connect connect;
	struct rdma_ucm_listen listen;
	struct rdma_ucm_accept accept;
	struct rdma_ucm_reject reject;
	struct rdma_ucm_disconnect disconnect;
	struct rdma_ucm_destroy_id destroy;
	struct rdma_ucm_init_qp_attr init;
	struct rdma_ucm_notify notify;
	struct rdma_ucm_join_ip_mcast join_ip;
	struct rdma_ucm_join_mcast join;
	struct rdma_ucm_get_event event;
	struct rdma_ucm_set_option option;
	struct rdma_ucm_migrate_id migrate;
	uint8_t octets[512];
};

static const struct sockaddr_in local = {
	.sin_family = AF_INET, .sin_addr.s_addr = 0x0100007f /* 127.0.0.1 */, .sin_port = 0x5c11};

static struct rdma_ucm_conn_param
param_of(struct fuzz_input *in)
{
	return (struct rdma_ucm_conn_param){.qp_num = s.pairs[fuzz_u8(in) % PAIRS]->qp_num,
					    .responder_resources = 1,
					    .initiator_depth = 1,
					    .valid = 1,
					    .private_data_len = fuzz_u8(in)};
}

/* Make a command with an address. */
static size_t
address_make(union body *body, unsigned cmd, uint32_t id, int *pointer)
{
	const uint64_t answer = (uintptr_t)s.answer;

	switch (cmd) {
	case RDMA_USER_CM_CMD_BIND_IP:
		body->bind_ip = (struct rdma_ucm_bind_ip){.response = answer, .id = id};
		memcpy(&body->bind_ip.addr, &local, sizeof(local));
		return sizeof(body->bind_ip);
	case RDMA_USER_CM_CMD_BIND:
		body->bind = (struct rdma_ucm_bind){.id = id, .addr_size = sizeof(local)};
		memcpy(&body->bind.addr, &local, sizeof(local));
		return sizeof(body->bind);
	case RDMA_USER_CM_CMD_RESOLVE_IP:
		body->resolve_ip = (struct rdma_ucm_resolve_ip){.id = id, .timeout_ms = 10};
		memcpy(&body->resolve_ip.dst_addr, &local, sizeof(local));
		return sizeof(body->resolve_ip);
	case RDMA_USER_CM_CMD_RESOLVE_ADDR:
		body->resolve = (struct rdma_ucm_resolve_addr){
			.id = id, .timeout_ms = 10, .dst_size = sizeof(local)};
		memcpy(&body->resolve.dst_addr, &local, sizeof(local));
		return sizeof(body->resolve);
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
		body->join_ip =
			(struct rdma_ucm_join_ip_mcast){.response = answer, .uid = 8, .id = id};
		memcpy(&body->join_ip.addr, &local, sizeof(local));
		*pointer = offsetof(struct rdma_ucm_join_ip_mcast, response);
		return sizeof(body->join_ip);
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		body->join = (struct rdma_ucm_join_mcast){
			.response = answer, .uid = 8, .id = id, .addr_size = sizeof(local)};
		memcpy(&body->join.addr, &local, sizeof(local));
		*pointer = offsetof(struct rdma_ucm_join_mcast, response);
		return sizeof(body->join);
	default: /* one that does not exist */
		return sizeof(body->notify);
	}
}

/* Fills in a command; the result is the size of its struct, and where it has a pointer, or -1. */
static size_t
body_make(union body *body, unsigned cmd, uint32_t id, struct fuzz_input *in, int *pointer)
{
	const uint64_t answer = (uintptr_t)s.answer;

	*pointer = -1;
	switch (cmd) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		body->create = (struct rdma_ucm_create_id){
			.uid = 7,
			.response = answer,
			.ps = (fuzz_u8(in) & 1) != 0 ? RDMA_PS_UDP : RDMA_PS_TCP};
		*pointer = offsetof(struct rdma_ucm_create_id, response);
		return sizeof(body->create);
	case RDMA_USER_CM_CMD_DESTROY_ID:
	case RDMA_USER_CM_CMD_LEAVE_MCAST:
		body->destroy = (struct rdma_ucm_destroy_id){.response = answer, .id = id};
		*pointer = offsetof(struct rdma_ucm_destroy_id, response);
		return sizeof(body->destroy);
	case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
		body->route = (struct rdma_ucm_resolve_route){.id = id, .timeout_ms = 10};
		return sizeof(body->route);
	case RDMA_USER_CM_CMD_QUERY_ROUTE:
	case RDMA_USER_CM_CMD_QUERY:
		body->query = (struct rdma_ucm_query){
			.response = answer, .id = id, .option = fuzz_u8(in) % 4};
		*pointer = offsetof(struct rdma_ucm_query, response);
		return sizeof(body->query);
	case RDMA_USER_CM_CMD_CONNECT:
		body->connect = (struct rdma_ucm_connect){.conn_param = param_of(in), .id = id};
		return sizeof(body->connect);
	case RDMA_USER_CM_CMD_LISTEN:
		body->listen = (struct rdma_ucm_listen){.id = id, .backlog = fuzz_u8(in)};
		return sizeof(body->listen);
	case RDMA_USER_CM_CMD_ACCEPT:
		body->accept =
			(struct rdma_ucm_accept){.uid = 9, .conn_param = param_of(in), .id = id};
		return sizeof(body->accept);
	case RDMA_USER_CM_CMD_REJECT:
		body->reject = (struct rdma_ucm_reject){.id = id, .private_data_len = fuzz_u8(in)};
		return sizeof(body->reject);
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
		body->init = (struct rdma_ucm_init_qp_attr){
			.response = answer, .id = id, .qp_state = 1 + fuzz_u8(in) % 3};
		*pointer = offsetof(struct rdma_ucm_init_qp_attr, response);
		return sizeof(body->init);
	case RDMA_USER_CM_CMD_GET_EVENT:
		body->event = (struct rdma_ucm_get_event){.response = answer};
		*pointer = offsetof(struct rdma_ucm_get_event, response);
		return sizeof(body->event);
	case RDMA_USER_CM_CMD_SET_OPTION:
		body->option = (struct rdma_ucm_set_option){.optval = (uintptr_t)s.option,
							    .id = id,
							    .optname = fuzz_u8(in) % 5,
							    .optlen = 1};
		return sizeof(body->option);
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		body->migrate = (struct rdma_ucm_migrate_id){
			.response = answer,
			.id = id,
			.fd = (uint32_t)s.channels[fuzz_u8(in) % CHANNELS]};
		*pointer = offsetof(struct rdma_ucm_migrate_id, response);
		return sizeof(body->migrate);
	case RDMA_USER_CM_CMD_DISCONNECT:
	case RDMA_USER_CM_CMD_NOTIFY:
		body->notify = (struct rdma_ucm_notify){.id = id};
		return sizeof(body->notify);
	default:
		return address_make(body, cmd, id, pointer);
	}
}

/* --- one command ------------------------------------------------------------------------------------------- */

static void
command_run(struct fuzz_input *in)
{
	struct {
		struct rdma_ucm_cmd_hdr head;
		union body body;
	} written;
	unsigned cmd = fuzz_u8(in) % COMMANDS, picks = fuzz_u8(in);
	uint32_t id = s.num_ids > 0 ? s.ids[(picks >> 1) % s.num_ids] : picks;
	int channel = s.channels[picks & 1], pointer;
	size_t size, length, room = sizeof(s.answer);
	uint8_t *copy;
	ssize_t result;

	memset(&written, 0, sizeof(written));
	size = body_make(&written.body, cmd, id, in, &pointer);
	for (unsigned changes = fuzz_u8(in) % 4; changes > 0; changes--) {
		size_t at = fuzz_u8(in) * 2u % size;

		/* A pointer stays. */
		if (pointer < 0 || at < (size_t)pointer || at >= (size_t)pointer + 8)
			if (cmd != RDMA_USER_CM_CMD_SET_OPTION || at >= 8)
				written.body.octets[at] = fuzz_u8(in);
	}
	/* The option's memory is as long as it is; a longer one would be the program's fault. */
	if (cmd == RDMA_USER_CM_CMD_SET_OPTION)
		written.body.option.optlen %= sizeof(s.option) + 1;
	if ((picks & 0x40) != 0)
		size = fuzz_u8(in) % (size + 1);
	if ((picks & 0x80) != 0)
		room = fuzz_u8(in);
	written.head =
		(struct rdma_ucm_cmd_hdr){.cmd = cmd, .in = (uint16_t)size, .out = (uint16_t)room};
	length = sizeof(written.head) + size;
	memset(s.answer, GUARD, sizeof(s.answer));
	copy = fuzz_copy((const uint8_t *)&written, length);
	errno = 0;
	result = door_cm_write(channel, copy, length);
	free(copy);
	fuzz_messages(1);
	FUZZ_REQUIRE(result == (ssize_t)length || (result == -1 && errno != 0));
	for (size_t i = room; i < sizeof(s.answer); i++)
		FUZZ_REQUIRE(s.answer[i] == GUARD);
	if (result > 0 && cmd == RDMA_USER_CM_CMD_CREATE_ID && s.num_ids < IDS)
		memcpy(&s.ids[s.num_ids++], s.answer, sizeof(s.ids[0]));
	/* The id of a request comes with its event. */
	if (result > 0 && cmd == RDMA_USER_CM_CMD_GET_EVENT && s.num_ids < IDS &&
	    room >= sizeof(struct rdma_ucm_event_resp))
		memcpy(&s.ids[s.num_ids++], s.answer + offsetof(struct rdma_ucm_event_resp, id),
		       sizeof(s.ids[0]));
}

/* --- begin and end ------------------------------------------------------------------------------------------- */

static void
begin(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_device **list = ibv_get_device_list(NULL);

	FUZZ_REQUIRE(list != NULL && list[0] != NULL);
	s.context = ibv_open_device(list[0]);
	FUZZ_REQUIRE(s.context != NULL);
	ibv_free_device_list(list);
	s.pd = ibv_alloc_pd(s.context);
	s.cq = ibv_create_cq(s.context, 64, NULL, NULL, 0);
	init.send_cq = init.recv_cq = s.cq;
	for (unsigned i = 0; i < PAIRS; i++) {
		init.qp_type = i == 0 ? IBV_QPT_UD : IBV_QPT_RC;
		s.pairs[i] = ibv_create_qp(s.pd, &init);
		FUZZ_REQUIRE(s.pairs[i] != NULL);
	}
	for (unsigned i = 0; i < CHANNELS; i++) {
		s.channels[i] = door_cm_open();
		FUZZ_REQUIRE(s.channels[i] >= 0);
		(void)fcntl(s.channels[i], F_SETFL, O_NONBLOCK);
	}
	s.num_ids = 0;
}

static void
end(void)
{
	struct door_device *device = door_device_of(s.context->device);

	for (unsigned i = 0; i < CHANNELS; i++) {
		door_cm_closed(s.channels[i]);
		close(s.channels[i]);
	}
	for (unsigned i = 0; i < PAIRS; i++)
		FUZZ_REQUIRE(ibv_destroy_qp(s.pairs[i]) == 0);
	FUZZ_REQUIRE(ibv_destroy_cq(s.cq) == 0);
	FUZZ_REQUIRE(ibv_dealloc_pd(s.pd) == 0);
	FUZZ_REQUIRE(ibv_close_device(s.context) == 0);
	FUZZ_REQUIRE(device->open == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	struct fuzz_input in = {octets, len};

	(void)setenv("ITAPI_VERBS_DEVICES", "emul:ib", 1);
	begin();
	for (unsigned i = 0; i < COMMANDS_MAX && in.left > 0; i++)
		command_run(&in);
	end();
	return 0;
}
