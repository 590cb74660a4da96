/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "bench_node.h"

#define QUEUE_DTOS 1024
#define WAIT_US    (10u * 1000 * 1000)

void
bench_check(it_status_t status, const char *what)
{
	if (status != IT_SUCCESS)
		bench_die("%s: status %d", what, (int)status);
}

/* The spigot that carries the address of this side. */
static size_t
own_spigot(it_ia_handle_t ia)
{
	it_ia_info_t *info;
	size_t spigot = 0;

	bench_check(it_ia_query(ia, &info), "it_ia_query");
	for (size_t i = 0; i < info->num_spigots; i++) {
		const it_spigot_info_t *s = &info->spigot_info[i];

		for (size_t j = 0; j < s->num_net_addr; j++) {
			if (s->net_addr[j].addr_type == IT_IPV4 &&
			    s->net_addr[j].addr.ipv4.s_addr == bench_place.own.s_addr)
				spigot = s->spigot_id;
		}
	}
	it_ia_info_free(info);
	return spigot;
}

void
bench_node_new_ep(struct bench_node *node, size_t dtos)
{
	it_ep_attributes_t attr = {
		.max_dto_payload_size = 0,
		.max_request_dtos = dtos,
		.max_recv_dtos = dtos,
		.max_send_segments = 1,
		.max_recv_segments = 1,
		.srv.rc = {.rdma_read_enable = IT_TRUE,
			   .rdma_write_enable = IT_TRUE,
			   .max_rdma_read_segments = 1,
			   .max_rdma_write_segments = 1,
			   .rdma_read_ird = 16,
			   .rdma_read_ord = 16,
			   .hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE},
	};

	bench_check(it_ep_rc_create(node->pz, node->dto, node->dto, node->conn, IT_EP_NO_FLAG,
				    &attr, &node->ep),
		    "it_ep_rc_create");
}

void
bench_node_open(struct bench_node *node, const char *adapter, size_t half)
{
	memset(node, 0, sizeof(*node));
	node->half = (half + 4095) & ~(size_t)4095;
	node->buf = bench_buffer(2 * node->half);
	memset(node->buf, 0, 2 * node->half);
	bench_check(it_ia_create(adapter, 2, 1, &node->ia), "it_ia_create");
	node->spigot = own_spigot(node->ia);
	bench_check(it_pz_create(node->ia, &node->pz), "it_pz_create");
	bench_check(it_evd_create(node->ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT,
				  3 * QUEUE_DTOS, 1, NULL, &node->dto, NULL),
		    "it_evd_create of the DTO stream");
	bench_check(it_evd_create(node->ia, IT_CM_MSG_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 8, 0,
				  NULL, &node->conn, NULL),
		    "it_evd_create of the connection stream");
	bench_check(it_evd_create(node->ia, IT_CM_REQ_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 8, 0,
				  NULL, &node->reqs, NULL),
		    "it_evd_create of the request stream");
	bench_check(it_lmr_create(node->pz, node->buf, NULL, 2 * node->half, IT_ADDR_MODE_ABSOLUTE,
				  IT_PRIV_LOCAL | IT_PRIV_REMOTE, IT_LMR_FLAG_NONE, 0, &node->lmr,
				  &node->context),
		    "it_lmr_create");
	bench_node_new_ep(node, QUEUE_DTOS);
}

void
bench_node_listen(struct bench_node *node)
{
	it_conn_qual_t qual = {.type = IT_IANA_PORT};

	bench_check(it_listen_create(node->ia, node->spigot, node->reqs, IT_LISTEN_NO_FLAG, &qual,
				     &node->listen),
		    "it_listen_create");
	node->port = qual.conn_qual.port;
}

void
bench_node_connect(struct bench_node *node, uint16_t port)
{
	it_conn_qual_t qual = {.type = IT_IANA_PORT, .conn_qual.port = port};
	it_net_addr_t addr = {.addr_type = IT_IPV4, .addr.ipv4 = bench_place.peer};
	size_t count = 1;
	size_t total;
	it_path_t path;

	bench_check(it_get_pathinfo(node->ia, node->spigot, &addr, &count, &total, &path),
		    "it_get_pathinfo");
	if (count != 1)
		bench_die("no path to the address of the other side");
	bench_check(it_ep_connect(node->ep, &path, NULL, &qual, IT_CONNECT_FLAG_TWO_WAY, NULL, 0),
		    "it_ep_connect");
}

void
bench_node_accept(struct bench_node *node)
{
	it_event_t event;

	bench_check(it_evd_wait(node->reqs, WAIT_US, &event, NULL), "waiting for a request");
	bench_check(it_ep_accept(node->ep, event.conn_req.cn_est_id, NULL, 0), "it_ep_accept");
}

void
bench_node_established(struct bench_node *node)
{
	it_event_t event;

	bench_check(it_evd_wait(node->conn, WAIT_US, &event, NULL), "waiting for the connection");
	if (event.event_number != IT_CM_MSG_CONN_ESTABLISHED_EVENT)
		bench_die("the connection failed: event %#x", (unsigned)event.event_number);
}

void
bench_node_swap_keys(struct bench_node *node, int ctl)
{
	struct {
		it_rmr_context_t context;
		it_rdma_addr_t addr;
	} mine, theirs;

	mine.context = node->context;
	mine.addr = it_make_rdma_addr_absolute(node->buf + node->half);
	bench_tell(ctl, &mine, sizeof(mine));
	bench_hear(ctl, &theirs, sizeof(theirs));
	node->peer_context = theirs.context;
	node->peer_addr = theirs.addr;
}

void
bench_node_pair(struct bench_node *node, const struct bench_opts *opts, int ctl, bool active,
		size_t half)
{
	uint16_t port;

	bench_node_open(node, opts->adapter, half);
	if (active) {
		bench_hear(ctl, &port, sizeof(port));
		bench_node_connect(node, port);
	} else {
		bench_node_listen(node);
		bench_tell(ctl, &node->port, sizeof(node->port));
		bench_node_accept(node);
	}
	bench_node_established(node);
	bench_node_swap_keys(node, ctl);
}

void
bench_node_join(struct bench_node *from, struct bench_node *to, const struct bench_opts *opts)
{
	bench_node_open(to, opts->adapter, opts->size);
	bench_node_open(from, opts->adapter, opts->size);
	bench_node_listen(to);
	bench_node_connect(from, to->port);
	bench_node_accept(to);
	bench_node_established(to);
	bench_node_established(from);
	from->peer_context = to->context;
	from->peer_addr = it_make_rdma_addr_absolute(to->buf + to->half);
}

void
bench_node_close(struct bench_node *node)
{
	bench_check(it_ia_free(node->ia), "it_ia_free");
	free(node->buf);
}

it_lmr_triplet_t
bench_node_piece(const struct bench_node *node, size_t offset, size_t len)
{
	it_lmr_triplet_t piece = {.lmr = node->lmr, .addr.abs = node->buf + offset, .length = len};

	return piece;
}

void
bench_node_recv(struct bench_node *node, size_t len)
{
	it_lmr_triplet_t piece = bench_node_piece(node, node->half, len);

	bench_check(it_post_recv((it_handle_t)node->ep, &piece, 1, 0, IT_NOTIFY_FLAG),
		    "it_post_recv");
}

static void
check_event(const it_event_t *event)
{
	if (event->dto_cmpl.dto_status != IT_DTO_SUCCESS)
		bench_die("event %#x ended with DTO status %d", (unsigned)event->event_number,
			  (int)event->dto_cmpl.dto_status);
}

bool
bench_node_poll(struct bench_node *node, it_event_t *event)
{
	it_status_t status = it_evd_dequeue(node->dto, event);

	if (status == IT_ERR_QUEUE_EMPTY)
		return false;
	bench_check(status, "it_evd_dequeue");
	check_event(event);
	return true;
}

void
bench_node_next(struct bench_node *node, bool sleep, it_event_t *event)
{
	if (sleep) {
		bench_check(it_evd_wait(node->dto, WAIT_US, event, NULL), "it_evd_wait");
		check_event(event);
		return;
	}
	while (!bench_node_poll(node, event))
		;
}
