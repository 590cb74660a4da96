/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two processes that use every operation that a replay can repeat:
 *
 * 	replay-app ADAPTER server COUNT          prints its port; serves one client
 * 	replay-app ADAPTER client COUNT PORT
 *
 * A last word "plain": without windows and a region that grows, which not every adapter has.
 *
 * The client sends rounds of eight operations until both sides have posted COUNT: a Write and a Read of the server's region, an atomic
 * where the adapter has them, a Send that the server answers; each eighth round the server opens a window for a Write, and the client's
 * next Send invalidates it where that is claimed. A Send of no octets ends it, and the client disconnects.
 */
#include <string.h>

#define REPLAY_APP "replay-app"
#include "replay_apps.h"
#include "tool_way.h"

#define BUFFER 65536u
#define WINDOW 4096u
#define SLOTS  16

struct side {
	struct tool_adapter adapter;
	it_evd_handle_t request, recv, conn;
	it_ep_handle_t ep;
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
	it_rmr_handle_t rmr; /* NULL: no windows */
	bool unlinks;        /* Sends can invalidate */
	uint8_t *memory;
	uint64_t posted;
	uint32_t random;
	unsigned next_recv;
};

/* What the server sends, in its private data and its answers. */
struct told {
	uint64_t addr;
	uint64_t context;
	uint64_t window; /* 0: none */
};

static uint32_t
draw(struct side *side, uint32_t below)
{
	side->random = side->random * 1664525u + 1013904223u;
	return (side->random >> 8) % below;
}

static void
side_open(struct side *side, const char *name, bool plain)
{
	it_ep_attributes_t attr = {
		.max_request_dtos = SLOTS,
		.max_recv_dtos = SLOTS,
		.max_send_segments = 2,
		.max_recv_segments = 1,
		.srv.rc.rdma_read_enable = IT_TRUE,
		.srv.rc.rdma_write_enable = IT_TRUE,
		.srv.rc.max_rdma_write_segments = 2,
		.srv.rc.max_rdma_read_segments = 1,
		.srv.rc.rdma_read_ird = 4,
		.srv.rc.rdma_read_ord = 4,
		.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE,
	};
	GError *error = NULL;
	it_ia_handle_t ia;

	must_good(tool_adapter_open(&side->adapter, name, &error), error);
	ia = side->adapter.ia;
	attr.srv.rc.atomics_enable = side->adapter.info->atomic_support;
	side->memory = g_malloc0(BUFFER);
	MUST(it_lmr_create21(side->adapter.pz, side->memory, NULL, plain ? BUFFER : 4096,
			     IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL, IT_LMR_FLAG_NONE, 0, &side->lmr,
			     &side->context));
	if (!plain) {
		it_lmr_param_t whole = {.addr = side->memory, .length = BUFFER};

		MUST(it_lmr_modify(side->lmr, IT_LMR_PARAM_ADDR | IT_LMR_PARAM_LENGTH, &whole));
		MUST(it_lmr_query(side->lmr, IT_LMR_PARAM_RMR_CONTEXT, &whole));
		side->context = whole.rmr_context;
	}
	MUST(it_evd_create(ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 64, 1, IT_NULL_HANDLE,
			   &side->request, NULL));
	MUST(it_evd_create(ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 64, 1, IT_NULL_HANDLE,
			   &side->recv, NULL));
	MUST(it_evd_create(ia, IT_CM_MSG_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 8, 1,
			   IT_NULL_HANDLE, &side->conn, NULL));
	MUST(it_ep_rc_create(side->adapter.pz, side->request, side->recv, side->conn, IT_EP_NO_FLAG,
			     &attr, &side->ep));
	if (!plain && (side->adapter.info->rmr_types_supported & IT_RMR_TYPE_NARROW) != 0)
		MUST(it_rmr_create20(side->adapter.pz, IT_RMR_TYPE_NARROW, &side->rmr));
	side->unlinks = side->adapter.info->post_send_unlink_remote_support == IT_TRUE;
	side->random = 1;
}

/* A completion, which must be a success: the octets. */
static size_t
completion(it_evd_handle_t evd)
{
	it_event_t event;

	MUST(it_evd_wait(evd, WAIT_US, &event, NULL));
	if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS) {
		(void)fprintf(stderr, "replay-app: %s\n",
			      it_dto_status_name(event.dto_cmpl.dto_status));
		exit(1);
	}
	return event.dto_cmpl.transferred_length;
}

static it_lmr_triplet_t
segment(const struct side *side, size_t offset, size_t length)
{
	it_lmr_triplet_t triplet = {.lmr = side->lmr, .length = length};

	triplet.addr.abs = side->memory + offset;
	return triplet;
}

static void
post_recv(struct side *side)
{
	it_lmr_triplet_t to = segment(side, BUFFER / 2 + 1024 * (side->next_recv++ % SLOTS), 1024);

	MUST(it_post_recv((it_handle_t)side->ep, &to, 1, 1, 0));
	side->posted++;
}

static void
send_message(struct side *side, const void *octets, size_t length, it_rmr_context_t unlinked)
{
	it_lmr_triplet_t from = segment(side, 0, length);

	if (length > 0)
		memcpy(side->memory, octets, length);
	if (unlinked != 0)
		MUST(it_post_send_and_unlink(side->ep, &from, 1, 2, IT_COMPLETION_FLAG, unlinked));
	else
		MUST(it_post_send(side->ep, &from, 1, 2,
				  IT_COMPLETION_FLAG | IT_SOLICITED_WAIT_FLAG));
	side->posted++;
	(void)completion(side->request);
}

/* --- server ------------------------------------------------------------------------------------------------ */

static void
window_open(struct side *side, struct told *told)
{
	it_rmr_context_t context;

	MUST(it_rmr_link(side->rmr, side->lmr, side->memory + WINDOW, WINDOW, IT_ADDR_MODE_ABSOLUTE,
			 IT_PRIV_REMOTE_WRITE, side->ep, 3, IT_COMPLETION_FLAG, &context));
	side->posted++;
	(void)next_event(side->request, IT_RMR_LINK_CMPL_EVENT);
	told->window = context;
}

static void
window_close(struct side *side, struct told *told)
{
	if (!side->unlinks) {
		MUST(it_rmr_unlink(side->rmr, side->ep, 4, IT_COMPLETION_FLAG));
		side->posted++;
		(void)next_event(side->request, IT_RMR_LINK_CMPL_EVENT);
	}
	told->window = 0;
}

static void
serve(struct side *side)
{
	struct told told = {.addr = it_make_rdma_addr_absolute(side->memory),
			    .context = side->context};
	struct tool_listener listener;
	it_conn_request_event_t request;
	GError *error = NULL;

	must_good(tool_listener_open(&listener, &side->adapter, 0, &error), error);
	printf("%u\n", listener.port);
	(void)fflush(stdout);
	while (!tool_listener_take(&listener, &request, &error)) {
		must_good(error == NULL, error);
		g_usleep(1000);
	}
	for (int i = 0; i < SLOTS; i++)
		post_recv(side);
	MUST(it_ep_accept(side->ep, request.cn_est_id, (const unsigned char *)&told, sizeof(told)));
	(void)next_event(side->conn, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	for (unsigned round = 0; completion(side->recv) > 0; round++) {
		post_recv(side);
		if (told.window != 0)
			window_close(side, &told);
		if (side->rmr != NULL && round % 8 == 7)
			window_open(side, &told);
		send_message(side, &told, sizeof(told), 0);
	}
	(void)next_event(side->conn, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	tool_listener_close(&listener);
}

/* --- client ------------------------------------------------------------------------------------------------ */

static void
data_round(struct side *side, const struct told *told)
{
	it_lmr_triplet_t two[2] = {segment(side, 8192, 1 + draw(side, 2000)),
				   segment(side, 12288, 1 + draw(side, 2000))};
	it_lmr_triplet_t into = segment(side, 16384, 1 + draw(side, 4000));
	it_lmr_triplet_t word = segment(side, 24576, 8);

	memset(side->memory + 8192, (int)draw(side, 256), 8192);
	MUST(it_post_rdma_write(side->ep, two, 2, 5, 0, told->addr + 16384,
				(it_rmr_context_t)told->context));
	MUST(it_post_rdma_read(side->ep, &into, 1, 6, IT_COMPLETION_FLAG, told->addr + 16384,
			       (it_rmr_context_t)told->context));
	side->posted += 2;
	(void)completion(side->request);
	if (side->adapter.info->atomic_support == IT_TRUE) {
		MUST(it_post_atomic(side->ep, IT_FETCH_AND_ADD, 1, 0, &word, 7, IT_COMPLETION_FLAG,
				    told->addr + 28672, (it_rmr_context_t)told->context));
		side->posted++;
		(void)completion(side->request);
	}
	/* Two Writes of one cookie; the first makes no completion. */
	for (int i = 0; i < 2; i++)
		MUST(it_post_rdma_write(side->ep, two, 1, 9, i == 0 ? 0 : IT_COMPLETION_FLAG,
					told->addr + 16384, (it_rmr_context_t)told->context));
	side->posted += 2;
	(void)completion(side->request);
	if (told->window == 0)
		return;
	two[0].length = 100;
	MUST(it_post_rdma_write(side->ep, two, 1, 8, IT_COMPLETION_FLAG, told->addr + WINDOW,
				(it_rmr_context_t)told->window));
	side->posted++;
	(void)completion(side->request);
}

static void
join(struct side *side, uint16_t port, uint64_t count)
{
	it_conn_qual_t service = tool_port(port);
	GError *error = NULL;
	struct tool_way way;
	struct told told;
	it_event_t event;

	for (int i = 0; i < SLOTS; i++)
		post_recv(side);
	must_good(tool_way_find(&way, &side->adapter, NULL, port, &error), error);
	MUST(it_ep_connect(side->ep, &way.path, NULL, &service, IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
	event = next_event(side->conn, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	memcpy(&told, event.conn.private_data, sizeof(told));
	/* The server posts at least two operations in each round. */
	for (uint64_t round = 0; side->posted + 2 * round < count; round++) {
		uint64_t window;

		data_round(side, &told);
		window = side->unlinks ? told.window : 0;
		send_message(side, &side->posted, sizeof(side->posted), (it_rmr_context_t)window);
		(void)completion(side->recv);
		memcpy(&told,
		       side->memory + BUFFER / 2 + 1024 * ((side->next_recv - SLOTS) % SLOTS),
		       sizeof(told));
		post_recv(side);
	}
	send_message(side, NULL, 0, 0);
	MUST(it_ep_disconnect(side->ep, NULL, 0));
	(void)next_event(side->conn, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	tool_way_clear(&way);
}

int
main(int argc, char **argv)
{
	struct side side = {0};

	if (argc < 4) {
		(void)fprintf(stderr,
			      "usage: replay-app ADAPTER server|client COUNT [PORT] [plain]\n");
		return 2;
	}
	side_open(&side, argv[1], strcmp(argv[argc - 1], "plain") == 0);
	if (strcmp(argv[2], "server") == 0)
		serve(&side);
	else
		join(&side, (uint16_t)strtoul(argc > 4 ? argv[4] : "0", NULL, 10),
		     strtoull(argv[3], NULL, 10));
	MUST(it_ep_free(side.ep));
	tool_adapter_close(&side.adapter);
	g_free(side.memory);
	return 0;
}
