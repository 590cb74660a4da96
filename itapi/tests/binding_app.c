/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An application written with the names of one issue of the standard. A macro before the include selects the issue [IT
 * 15.12]; for the first issue the old spellings are used wherever they exist. The file is compiled as C and as C++ for
 * each issue, and runs on any adapter: two ends in this process connect, one writes through the other's window,
 * the window is closed, and the memory is read back.   binding_app ADAPTER NAME TAP; NAME is the name of the test
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "it_api.h"

#define ROOM     4096
#define PATTERN  1000              /* octets written and read back */
#define PATIENCE (60 * 1000000ull) /* microseconds */
#define MUST(x)  must((x) == IT_SUCCESS, #x)

/* What the side that owns the window sends to its peer; in network order. */
struct note {
	uint64_t window;
	uint64_t region;
	uint64_t addr;
};

struct side {
	it_ia_handle_t ia;
	it_pz_handle_t pz;
	it_evd_handle_t dto;
	it_evd_handle_t cm;
	it_ep_handle_t ep;
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
	unsigned char memory[ROOM];
};

static const char *test_name;

static void
must(int good, const char *what)
{
	if (good)
		return;
	printf("not ok 1 - %s\n# %s\n", test_name, what);
	exit(1);
}

static it_event_t
expect(it_evd_handle_t evd, it_event_type_t number)
{
	it_event_t event;

	MUST(it_evd_wait(evd, PATIENCE, &event, NULL));
	must(event.event_number == number, "another event than expected");
	if ((number & IT_EVENT_STREAM_MASK) == IT_DTO_EVENT_STREAM)
		must(event.dto_cmpl.dto_status == IT_DTO_SUCCESS, "a transfer failed");
	return event;
}

static it_lmr_triplet_t
piece(struct side *side, size_t offset, size_t length)
{
	it_lmr_triplet_t segment;

	memset(&segment, 0, sizeof(segment));
	segment.lmr = side->lmr;
	segment.addr.abs = side->memory + offset;
	segment.length = (it_length_t)length;
	return segment;
}

static void
register_memory(struct side *side)
{
#if defined(ITAPI_ENABLE_V20_BINDINGS)
	MUST(it_lmr_create(side->pz, side->memory, ROOM, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL,
			   IT_LMR_FLAG_NONE, 0, &side->lmr, &side->context));
#elif defined(ITAPI_ENABLE_V21_BINDINGS)
	MUST(it_lmr_create(side->pz, side->memory, NULL, ROOM, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL,
			   IT_LMR_FLAG_NONE, 0, &side->lmr, &side->context));
#else
	MUST(it_lmr_create(side->pz, side->memory, ROOM, IT_PRIV_ALL, IT_LMR_FLAG_NONE, 0,
			   &side->lmr, &side->context));
#endif
}

static void
set_depths(it_rc_only_attributes_t *rc)
{
#if defined(ITAPI_ENABLE_V10_BINDINGS)
	rc->rdma_read_inflight_incoming = 1;
	rc->rdma_read_inflight_outgoing = 1;
#else
	rc->rdma_read_ird = 1;
	rc->rdma_read_ord = 1;
#endif
}

static uint64_t
remote_address(struct side *side)
{
#if defined(ITAPI_ENABLE_V10_BINDINGS)
	return it_make_rdma_addr(side->memory);
#else
	return it_make_rdma_addr_absolute(side->memory);
#endif
}

static int
is_open(it_rmr_handle_t window)
{
	it_rmr_param_t param;

#if defined(ITAPI_ENABLE_V10_BINDINGS)
	MUST(it_rmr_query(window, IT_RMR_PARAM_BOUND, &param));
	return param.bound == IT_TRUE;
#else
	MUST(it_rmr_query(window, IT_RMR_PARAM_LINKED, &param));
	return param.linked == IT_TRUE;
#endif
}

/* A window on the first PATTERN octets that the peer may write. */
static it_rmr_handle_t
open_window(struct side *side, it_rmr_context_t *context)
{
	it_rmr_handle_t window;

#if defined(ITAPI_ENABLE_V10_BINDINGS)
	MUST(it_rmr_create(side->pz, &window));
	MUST(it_rmr_bind(window, side->lmr, side->memory, PATTERN, IT_PRIV_REMOTE_WRITE, side->ep,
			 7, IT_COMPLETION_FLAG, context));
	expect(side->dto, IT_RMR_BIND_CMPL_EVENT);
#else
	MUST(it_rmr_create(side->pz, IT_RMR_TYPE_DEFAULT, &window));
	MUST(it_rmr_bind(window, side->lmr, side->memory, PATTERN, IT_ADDR_MODE_ABSOLUTE,
			 IT_PRIV_REMOTE_WRITE, side->ep, 7, IT_COMPLETION_FLAG, context));
	expect(side->dto, IT_RMR_LINK_CMPL_EVENT);
#endif
	must(is_open(window), "the window is closed");
	return window;
}

static void
close_window(struct side *side, it_rmr_handle_t window)
{
#if defined(ITAPI_ENABLE_V10_BINDINGS)
	MUST(it_rmr_unbind(window, side->ep, 8, IT_COMPLETION_FLAG));
#else
	MUST(it_rmr_unlink(window, side->ep, 8, IT_COMPLETION_FLAG));
#endif
	expect(side->dto, IT_RMR_LINK_CMPL_EVENT);
	must(!is_open(window), "the window is open");
	MUST(it_rmr_free(window));
}

/* Make stores visible to the adapter, and its writes to us. */
static void
sync_memory(struct side *side)
{
	it_lmr_triplet_t all = piece(side, 0, ROOM);

#if defined(ITAPI_ENABLE_V10_BINDINGS)
	MUST(it_lmr_sync_rdma_read(&all, 1));
	MUST(it_lmr_sync_rdma_write(&all, 1));
#else
	MUST(it_lmr_flush_to_mem(&all, 1));
	MUST(it_lmr_refresh_from_mem(&all, 1));
#endif
}

static void
side_open(struct side *side, const char *adapter)
{
	it_ep_attributes_t attr;
	it_ia_info_t *info;

	MUST(it_ia_create(adapter, 2, 1, &side->ia));
	MUST(it_ia_query(side->ia, &info));
#if defined(ITAPI_ENABLE_V10_BINDINGS)
	must(info->ird_support != IT_TRUE || info->private_data_support == IT_TRUE,
	     "depths travel beside private data");
#endif
	it_ia_info_free(info);
	MUST(it_pz_create(side->ia, &side->pz));
	MUST(it_evd_create(side->ia, IT_DTO_EVENT_STREAM, (it_evd_flags_t)0, 32, 1, NULL,
			   &side->dto, NULL));
	MUST(it_evd_create(side->ia, IT_CM_MSG_EVENT_STREAM, (it_evd_flags_t)0, 8, 1, NULL,
			   &side->cm, NULL));
	register_memory(side);
	memset(&attr, 0, sizeof(attr));
	attr.max_request_dtos = 8;
	attr.max_recv_dtos = 8;
	attr.max_send_segments = 1;
	attr.max_recv_segments = 1;
	attr.srv.rc.max_rdma_read_segments = 1;
	attr.srv.rc.max_rdma_write_segments = 1;
	attr.srv.rc.rdma_read_enable = IT_TRUE;
	attr.srv.rc.rdma_write_enable = IT_TRUE;
	attr.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
	set_depths(&attr.srv.rc);
	MUST(it_ep_rc_create(side->pz, side->dto, side->dto, side->cm, IT_EP_NO_FLAG, &attr,
			     &side->ep));
}

static void
side_close(struct side *side)
{
	MUST(it_ep_free(side->ep));
	MUST(it_lmr_free(side->lmr));
	MUST(it_evd_free(side->cm));
	MUST(it_evd_free(side->dto));
	MUST(it_pz_free(side->pz));
	MUST(it_ia_free(side->ia));
}

/* A spigot that has an address, and a path to that address from the same adapter. */
static size_t
find_spigot(struct side *side, it_path_t *path, it_conn_qual_t *qual)
{
	size_t spigot = 0, room = 1, total = 0;
	it_ia_info_t *info;

	MUST(it_ia_query(side->ia, &info));
	while (spigot < info->num_spigots && info->spigot_info[spigot].num_net_addr == 0)
		spigot++;
	must(spigot < info->num_spigots, "no spigot has an address");
	MUST(it_get_pathinfo(side->ia, spigot, info->spigot_info[spigot].net_addr, &room, &total,
			     path));
	memset(qual, 0, sizeof(*qual));
	qual->type = IT_IANA_PORT;
	if ((info->spigot_info[spigot].passive_side_conn_qual & IT_IANA_PORT) == 0)
		qual->type = IT_IB_SERVICEID;
	it_ia_info_free(info);
	return spigot;
}

static void
connect_sides(struct side *asks, struct side *listens)
{
	it_evd_handle_t requests;
	it_listen_handle_t listener;
	it_conn_qual_t qual;
	it_event_t event;
	it_path_t path;
	size_t spigot = find_spigot(asks, &path, &qual);

	MUST(it_evd_create(listens->ia, IT_CM_REQ_EVENT_STREAM, (it_evd_flags_t)0, 8, 1, NULL,
			   &requests, NULL));
	MUST(it_listen_create(listens->ia, spigot, requests, IT_LISTEN_NO_FLAG, &qual, &listener));
	MUST(it_ep_connect(asks->ep, &path, NULL, &qual, IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
	event = expect(requests, IT_CM_REQ_CONN_REQUEST_EVENT);
	MUST(it_ep_accept(listens->ep, event.conn_req.cn_est_id, NULL, 0));
	expect(asks->cm, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	expect(listens->cm, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	MUST(it_listen_free(listener));
	MUST(it_evd_free(requests));
}

static void
send_note(struct side *from, struct side *to, const void *note, size_t length)
{
	it_lmr_triplet_t out = piece(from, ROOM / 2, length), in = piece(to, ROOM / 2, length);

	memcpy(from->memory + ROOM / 2, note, length);
	MUST(it_post_recv((it_handle_t)to->ep, &in, 1, 1, (it_dto_flags_t)0));
	MUST(it_post_send(from->ep, &out, 1, 2, IT_COMPLETION_FLAG));
	expect(from->dto, IT_DTO_SEND_CMPL_EVENT);
	must(expect(to->dto, IT_DTO_RC_RECV_CMPL_EVENT).dto_cmpl.transferred_length == length,
	     "a message of another length");
}

/* Through the window into the memory behind it. */
static void
write_pattern(struct side *from, const struct note *note)
{
	it_lmr_triplet_t out = piece(from, 0, PATTERN);

	for (size_t i = 0; i < PATTERN; i++)
		from->memory[i] = (unsigned char)(i * 31 + 7);
	MUST(it_post_rdma_write(from->ep, &out, 1, 3, IT_COMPLETION_FLAG, it_ntoh64(note->addr),
				it_ntoh64(note->window)));
	expect(from->dto, IT_DTO_RDMA_WRITE_CMPL_EVENT);
}

/* Back from the region itself, to another place. */
static void
read_pattern(struct side *to, const struct note *note)
{
	it_lmr_triplet_t in = piece(to, PATTERN, PATTERN);

	MUST(it_post_rdma_read(to->ep, &in, 1, 4, IT_COMPLETION_FLAG, it_ntoh64(note->addr),
			       it_ntoh64(note->region)));
	expect(to->dto, IT_DTO_RDMA_READ_CMPL_EVENT);
	must(memcmp(to->memory, to->memory + PATTERN, PATTERN) == 0, "other octets came back");
}

static void
run(const char *adapter)
{
	static struct side asks, listens;
	it_rmr_handle_t window;
	it_rmr_context_t context;
	struct note note;

	side_open(&asks, adapter);
	side_open(&listens, adapter);
	connect_sides(&asks, &listens);
	send_note(&asks, &listens, "hello", 5); /* the initiator sends first */
	window = open_window(&listens, &context);
	note.window = it_hton64(context);
	note.region = it_hton64(listens.context);
	note.addr = it_hton64(remote_address(&listens));
	send_note(&listens, &asks, &note, sizeof(note));
	memcpy(&note, asks.memory + ROOM / 2, sizeof(note));
	write_pattern(&asks, &note);
	send_note(&asks, &listens, "done", 4); /* so that the Write before it is in place */
	sync_memory(&listens);
	must(memcmp(asks.memory, listens.memory, PATTERN) == 0, "other octets arrived");
	close_window(&listens, window);
	read_pattern(&asks, &note);
	MUST(it_ep_disconnect(asks.ep, NULL, 0));
	expect(asks.cm, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	expect(listens.cm, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	side_close(&asks);
	side_close(&listens);
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	test_name = argv[2];
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("1..1\n");
	run(argv[1]);
	printf("ok 1 - %s\n", test_name);
	return 0;
}
