/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* One end of a connection over IT-API: what every case of ours needs. */
#ifndef BENCH_NODE_H
#define BENCH_NODE_H

#include "bench.h"

#define ITAPI_ENABLE_V21_BINDINGS
#include "it_api.h"

struct bench_node {
	it_ia_handle_t ia;
	it_pz_handle_t pz;
	it_evd_handle_t dto;  /* requests and receives */
	it_evd_handle_t conn; /* connection messages */
	it_evd_handle_t reqs; /* connection requests */
	it_listen_handle_t listen;
	it_ep_handle_t ep;
	it_lmr_handle_t lmr;
	size_t spigot;
	uint16_t port;            /* network order */
	char *buf;                /* first half to send from, second half to receive into */
	size_t half;              /* octets of each */
	it_rmr_context_t context; /* of our region */
	it_rmr_context_t peer_context;
	it_rdma_addr_t peer_addr; /* the peer's second half */
};

/* Open an adapter and make everything but the connection; `half` octets each way. */
void bench_node_open(struct bench_node *node, const char *adapter, size_t half);
/* Another endpoint in place of the present one, which lives on with the adapter. */
void bench_node_new_ep(struct bench_node *node, size_t dtos);
void bench_node_listen(struct bench_node *node);
void bench_node_connect(struct bench_node *node, uint16_t port);
void bench_node_accept(struct bench_node *node);
void bench_node_established(struct bench_node *node);
/* Tell the other process where this one's memory is, and hear where its own is. */
void bench_node_swap_keys(struct bench_node *node, int ctl);
/* Both processes: open, connect, swap keys. */
void bench_node_pair(struct bench_node *node, const struct bench_opts *opts, int ctl, bool active,
		     size_t half);
/* Both ends in this process: `from` connected, with the key of `to`. */
void bench_node_join(struct bench_node *from, struct bench_node *to, const struct bench_opts *opts);
void bench_node_close(struct bench_node *node);

/* A segment of our region. */
it_lmr_triplet_t bench_node_piece(const struct bench_node *node, size_t offset, size_t len);
void bench_node_recv(struct bench_node *node, size_t len);
/* The next completion: by polling, or sleeping. Dies on an error status. */
void bench_node_next(struct bench_node *node, bool sleep, it_event_t *event);
/* Polls once. */
bool bench_node_poll(struct bench_node *node, it_event_t *event);
void bench_check(it_status_t status, const char *what);

#endif /* BENCH_NODE_H */
