/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two processes with a shared receive queue, datagrams and a window that is addressed from 0:
 *
 *	replay-queues ADAPTER server ROUNDS          prints its port, and later a line when it has receives for datagrams
 *	replay-queues ADAPTER client ROUNDS PORT     waits for a line before it sends datagrams
 *
 * A last word "alike": all receives have one cookie, so that their completions do not say which one it was.
 *
 * The server has two endpoints on one shared receive queue, which becomes larger where the adapter can do that, and it posts receives
 * when the event of the queue's limit says that few are left. The first message of each connection is taken in reverse order. In each round the client sends a message on one of the connections, by
 * turns, and the server answers; then a datagram goes there and back. Some datagrams have the wrong key, and are lost. Where the adapter
 * has such windows, the client writes through one in each round.
 */
#include <string.h>

#define REPLAY_APP "replay-queues"
#include "replay_apps.h"
#include "tool_way.h"

#define BUFFER   65536u
#define SLOT     1024u
#define HEADER   40u
#define WINDOW   4096u
#define FEW      4
#define RECEIVES 8
#define KEY      0x1234u

struct side {
	struct tool_adapter adapter;
	it_evd_handle_t request, recv[2], datagrams, conn, affiliated;
	it_ep_handle_t eps[2], ud;
	it_ud_ep_id_t id;
	it_addr_handle_t handle;
	it_srq_handle_t srq; /* the server's; NULL: none */
	bool limits;
	bool alike;    /* all receives have one cookie */
	unsigned left; /* receives of the shared queue that no message has taken */
	it_lmr_handle_t lmr;
	it_rmr_handle_t rmr;
	uint8_t *memory;
	unsigned slot, far_slot;
};

/* The messages of both sides. */
struct told {
	uint32_t id;     /* of the datagram endpoint */
	uint32_t window; /* 0: none */
};

static it_lmr_triplet_t
segment(const struct side *side, size_t offset, size_t length)
{
	it_lmr_triplet_t triplet = {.lmr = side->lmr, .length = length};

	triplet.addr.abs = side->memory + offset;
	return triplet;
}

static void
request_done(struct side *side)
{
	it_event_t event;

	MUST(it_evd_wait(side->request, WAIT_US, &event, NULL));
	MUST(event.event_number == IT_RMR_LINK_CMPL_EVENT ||
			     event.dto_cmpl.dto_status == IT_DTO_SUCCESS
		     ? IT_SUCCESS
		     : IT_ERR_ABORT);
}

/* A receive of an endpoint, or of the shared queue. */
static void
post_recv(struct side *side, int ep)
{
	it_lmr_triplet_t to =
		segment(side, BUFFER / 2 + SLOT * (size_t)(side->slot++ % RECEIVES), SLOT);

	MUST(it_post_recv(side->srq != NULL ? (it_handle_t)side->srq : (it_handle_t)side->eps[ep],
			  &to, 1, side->alike ? 1 : side->slot, 0));
	side->left++;
}

static void
endpoints_open(struct side *side, it_ep_attributes_t *attr)
{
	it_ep_attributes_t ud = {.max_request_dtos = RECEIVES,
				 .max_recv_dtos = RECEIVES,
				 .max_send_segments = 1,
				 .max_recv_segments = 1,
				 .srv.ud.ep_info.ud_ep_key = KEY + 1};
	it_ep_param_t param;
	GError *error = NULL;
	struct tool_way way;

	for (int i = 0; i < 2; i++)
		MUST(it_ep_rc_create(side->adapter.pz, side->request, side->recv[i], side->conn,
				     side->srq != NULL ? IT_EP_SRQ : IT_EP_NO_FLAG, attr,
				     &side->eps[i]));
	if ((side->adapter.info->supported_service_types & IT_UD_SERVICE) == 0)
		return;
	MUST(it_ep_ud_create(side->adapter.pz, side->request, side->datagrams, &ud, 0, &side->ud));
	ud.srv.ud.ep_info.ud_ep_key = KEY;
	MUST(it_ep_modify(side->ud, IT_EP_PARAM_EP_KEY, &ud));
	MUST(it_ep_query(side->ud, IT_EP_PARAM_EP_ID, &param));
	side->id = param.attr.srv.ud.ep_info.ud_ep_id;
	must_good(tool_way_find(&way, &side->adapter, NULL, 0, &error), error);
	MUST(it_address_handle_create(side->adapter.pz, &way.path, 0, &side->handle));
	tool_way_clear(&way);
}

static void
side_open(struct side *side, const char *name, bool server)
{
	it_ep_attributes_t attr = {
		.max_request_dtos = RECEIVES,
		.max_recv_dtos = RECEIVES,
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.rc.rdma_write_enable = IT_TRUE,
		.srv.rc.max_rdma_write_segments = 1,
		.srv.rc.max_rdma_read_segments = 1,
		.srv.rc.rdma_read_ird = 1,
		.srv.rc.rdma_read_ord = 1,
		.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE,
	};
	it_evd_handle_t *queues[] = {&side->request, &side->recv[0], &side->recv[1],
				     &side->datagrams};
	GError *error = NULL;
	it_ia_handle_t ia;

	must_good(tool_adapter_open(&side->adapter, name, &error), error);
	ia = side->adapter.ia;
	side->memory = g_malloc0(BUFFER);
	MUST(it_lmr_create21(side->adapter.pz, side->memory, NULL, BUFFER, IT_ADDR_MODE_ABSOLUTE,
			     IT_PRIV_ALL, IT_LMR_FLAG_NONE, 0, &side->lmr, NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(queues); i++)
		MUST(it_evd_create(ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 64, 1,
				   IT_NULL_HANDLE, queues[i], NULL));
	MUST(it_evd_create(ia, IT_CM_MSG_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 8, 1,
			   IT_NULL_HANDLE, &side->conn, NULL));
	MUST(it_evd_create(ia, IT_ASYNC_AFF_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 8, 1,
			   IT_NULL_HANDLE, &side->affiliated, NULL));
	if (server && side->adapter.info->srq_support == IT_TRUE) {
		it_srq_param_t wider = {.max_recv_dtos = RECEIVES};

		MUST(it_srq_create(side->adapter.pz, 1, RECEIVES / 2, &side->srq));
		post_recv(side, 0);
		if (side->adapter.info->srq_resizable == IT_TRUE)
			MUST(it_srq_modify(side->srq, IT_SRQ_PARAM_MAX_RECV_DTO, &wider));
		attr.srv.rc.srq = side->srq;
	}
	if (server && side->adapter.info->addr_mode_relative_support == IT_TRUE &&
	    (side->adapter.info->rmr_types_supported & IT_RMR_TYPE_NARROW) != 0)
		MUST(it_rmr_create20(side->adapter.pz, IT_RMR_TYPE_NARROW, &side->rmr));
	endpoints_open(side, &attr);
}

/* --- posts ----------------------------------------------------------------------------------------------- */

static void
post_datagram_recv(struct side *side)
{
	it_lmr_triplet_t to =
		segment(side, BUFFER * 3 / 4 + SLOT * (size_t)(side->far_slot++ % RECEIVES), SLOT);

	MUST(it_post_recvfrom(side->ud, &to, 1, 1, 0));
}

/* Few are left: the event says so, where the adapter has it. Without a shared queue each endpoint gets its own at once. */
static void
refill(struct side *side, int ep)
{
	it_srq_param_t few = {.low_watermark = FEW};

	if (side->srq == NULL) {
		post_recv(side, ep);
		return;
	}
	if (side->left >= FEW)
		return;
	if (side->limits)
		(void)next_event(side->affiliated, IT_ASYNC_AFF_SRQ_LOW_WATERMARK);
	while (side->left < RECEIVES / 2 + 1)
		post_recv(side, ep);
	if (side->limits)
		MUST(it_srq_modify(side->srq, IT_SRQ_PARAM_LOW_WATERMARK, &few));
}

static void
send_told(struct side *side, int ep, const struct told *told, size_t length)
{
	it_lmr_triplet_t from = segment(side, 0, length);

	memcpy(side->memory, told, sizeof(*told));
	MUST(it_post_send(side->eps[ep], &from, 1, 2, IT_COMPLETION_FLAG));
	request_done(side);
}

static void
message_take(struct side *side, int ep)
{
	it_event_t event = next_event(side->recv[ep], IT_DTO_RC_RECV_CMPL_EVENT);

	MUST(event.dto_cmpl.dto_status == IT_DTO_SUCCESS ? IT_SUCCESS : IT_ERR_ABORT);
	side->left--;
}

static void
datagram_send(struct side *side, uint32_t id, size_t length, uint32_t key)
{
	it_lmr_triplet_t from = segment(side, 2 * SLOT, length);
	it_dg_remote_ep_addr_t to = {.type = IT_DG_TYPE_IB_UD};

	to.addr.ud.addr = side->handle;
	to.addr.ud.ep_info.ud_ep_id = id;
	to.addr.ud.ep_info.ud_ep_key = key;
	memset(side->memory + 2 * SLOT, (int)length, length);
	MUST(it_post_sendto(side->ud, &from, 1, 3, IT_COMPLETION_FLAG, &to));
	request_done(side);
}

static size_t
datagram_take(struct side *side)
{
	it_event_t event = next_event(side->datagrams, IT_DTO_UD_RECV_CMPL_EVENT);

	MUST(event.all_dto_cmpl.dto_status == IT_DTO_SUCCESS ? IT_SUCCESS : IT_ERR_ABORT);
	post_datagram_recv(side);
	return event.all_dto_cmpl.transferred_length - HEADER;
}

/* --- both sides ------------------------------------------------------------------------------------------- */

static void
window_open(struct side *side, struct told *told)
{
	it_rmr_context_t context;

	MUST(it_rmr_link(side->rmr, side->lmr, side->memory + WINDOW, WINDOW, IT_ADDR_MODE_RELATIVE,
			 IT_PRIV_REMOTE_WRITE, side->eps[0], 4, IT_COMPLETION_FLAG, &context));
	request_done(side);
	told->window = context;
}

static void
serve(struct side *side, unsigned rounds)
{
	it_srq_param_t few = {.low_watermark = FEW};
	struct tool_listener listener;
	it_conn_request_event_t request;
	struct told told = {.id = side->id};
	GError *error = NULL;
	uint32_t client = 0;

	for (int i = 0; i < FEW; i++)
		post_recv(side, i % 2);
	if (side->srq != NULL) {
		side->limits =
			it_srq_modify(side->srq, IT_SRQ_PARAM_LOW_WATERMARK, &few) == IT_SUCCESS;
	}
	must_good(tool_listener_open(&listener, &side->adapter, 0, &error), error);
	printf("%u\n", listener.port);
	(void)fflush(stdout);
	for (int i = 0; i < 2; i++) {
		while (!tool_listener_take(&listener, &request, &error)) {
			must_good(error == NULL, error);
			g_usleep(1000);
		}
		memcpy(&client, request.private_data, sizeof(client));
		MUST(it_ep_accept(side->eps[i], request.cn_est_id, (const unsigned char *)&told,
				  sizeof(told)));
		(void)next_event(side->conn, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	}
	/* Two messages; the second one is taken first. */
	for (int i = 2; i-- > 0;) {
		message_take(side, i);
		refill(side, i);
	}
	/* Of this the client learns by other means, which no recording has. */
	for (int i = 0; side->ud != NULL && i < RECEIVES; i++)
		post_datagram_recv(side);
	printf("ready\n");
	(void)fflush(stdout);
	if (side->ud != NULL)
		(void)datagram_take(side);
	for (unsigned round = 0; round < rounds; round++) {
		int ep = (int)(round % 2);

		message_take(side, ep);
		refill(side, ep);
		if (round == 0 && side->rmr != NULL)
			window_open(side, &told);
		send_told(side, ep, &told, sizeof(told) + round % 100);
		if (side->ud != NULL)
			datagram_send(side, client, datagram_take(side) + 1, KEY);
	}
	for (int i = 0; i < 2; i++)
		(void)next_event(side->conn, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	tool_listener_close(&listener);
}

static void
join(struct side *side, unsigned rounds, uint16_t port)
{
	it_conn_qual_t service = tool_port(port);
	struct told told = {0};
	GError *error = NULL;
	struct tool_way way;

	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 2; j++)
			post_recv(side, i);
	for (int i = 0; side->ud != NULL && i < RECEIVES; i++)
		post_datagram_recv(side);
	must_good(tool_way_find(&way, &side->adapter, NULL, port, &error), error);
	for (int i = 0; i < 2; i++) {
		it_event_t event;

		MUST(it_ep_connect(side->eps[i], &way.path, NULL, &service, IT_CONNECT_FLAG_TWO_WAY,
				   (const unsigned char *)&side->id, sizeof(side->id)));
		event = next_event(side->conn, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
		memcpy(&told, event.conn.private_data, sizeof(told));
	}
	for (int i = 0; i < 2; i++)
		send_told(side, i, &told, 9 + (size_t)i);
	(void)getchar();
	if (side->ud != NULL)
		datagram_send(side, told.id, 5, KEY);
	for (int i = 0; side->ud != NULL && i < RECEIVES + 2; i++)
		datagram_send(side, told.id, 7, KEY + 2);
	for (unsigned round = 0; round < rounds; round++) {
		it_lmr_triplet_t from = segment(side, 3 * SLOT, 1 + round % 500);

		send_told(side, (int)(round % 2), &told, sizeof(told) + round % 200);
		message_take(side, (int)(round % 2));
		if (round == 0) /* the first receive of the first endpoint */
			memcpy(&told, side->memory + BUFFER / 2, sizeof(told));
		post_recv(side, (int)(round % 2));
		if (side->ud != NULL) {
			datagram_send(side, told.id, 1 + round % 300, KEY);
			(void)datagram_take(side);
		}
		if (told.window == 0)
			continue;
		MUST(it_post_rdma_write(side->eps[0], &from, 1, 5, IT_COMPLETION_FLAG,
					it_make_rdma_addr_relative(round % 1000), told.window));
		request_done(side);
	}
	for (int i = 0; i < 2; i++) {
		MUST(it_ep_disconnect(side->eps[i], NULL, 0));
		(void)next_event(side->conn, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	}
	tool_way_clear(&way);
}

int
main(int argc, char **argv)
{
	struct side side = {0};
	unsigned rounds;
	bool server;

	if (argc < 4) {
		(void)fprintf(stderr, "usage: replay-queues ADAPTER server|client ROUNDS [PORT]\n");
		return 2;
	}
	server = strcmp(argv[2], "server") == 0;
	rounds = (unsigned)strtoul(argv[3], NULL, 10);
	side.alike = strcmp(argv[argc - 1], "alike") == 0;
	side_open(&side, argv[1], server);
	if (server)
		serve(&side, rounds);
	else
		join(&side, rounds, (uint16_t)strtoul(argc > 4 ? argv[4] : "0", NULL, 10));
	if (side.ud != NULL) {
		MUST(it_address_handle_free(side.handle));
		MUST(it_ep_free(side.ud));
	}
	if (side.rmr != NULL)
		MUST(it_rmr_free(side.rmr));
	for (int i = 0; i < 2; i++)
		MUST(it_ep_free(side.eps[i]));
	if (side.srq != NULL)
		MUST(it_srq_free(side.srq));
	tool_adapter_close(&side.adapter);
	g_free(side.memory);
	return 0;
}
