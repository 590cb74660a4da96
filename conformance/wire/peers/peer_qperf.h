/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The messages of qperf 0.4 over TCP, as the source of qperf 0.4.11 has it. Numbers are in
 * little-endian order, and a message has as many octets as the structure in C has on a machine of 64 bits, so some
 * end with octets of no meaning. The client makes one TCP connection for each test:
 *
 *   client   200  request: the version, the number of the test, its parameters
 *   server     4  the port on which it listens for RDMA; here the client connects
 *   both      40  node: address and key of a buffer
 *   both      27  "synchronization before test"; here both clocks start, and the test runs
 *   server   256  results, when the time of the test is over on its clock
 *   client    26  "synchronization after test"; then it ends both connections
 */
#ifndef PEER_QPERF_H
#define PEER_QPERF_H

#include "peer.h"

struct qperf_request {
	unsigned test;
	uint32_t size; /* octets of a message */
	uint32_t time; /* s, that the test runs */
};

/* The buffer of one side for the RDMA operations of the other. */
struct qperf_node {
	uint64_t address;
	uint32_t key;
};

/* What one side counted. */
struct qperf_traffic {
	uint64_t messages;
	uint64_t octets;
	uint64_t errors;
};

struct qperf_results {
	gint64 begin; /* us */
	gint64 end;
	struct qperf_traffic sent;
	struct qperf_traffic received;
};

/* A message of the peer is checked as far as that needs no other message: version, ranges, the text of a synchronization. */
bool qperf_send_request(const struct peer_tcp *tcp, const struct qperf_request *request,
			unsigned patience, GError **error);
bool qperf_receive_request(const struct peer_tcp *tcp, struct qperf_request *request,
			   GError **error);

bool qperf_send_port(const struct peer_tcp *tcp, uint16_t port, GError **error);
bool qperf_receive_port(const struct peer_tcp *tcp, uint16_t *port, GError **error);

bool qperf_exchange_nodes(const struct peer_tcp *tcp, const struct qperf_node *ours,
			  struct qperf_node *theirs, uint32_t size, GError **error);

bool qperf_synchronize(const struct peer_tcp *tcp, GError **error);

bool qperf_send_results(const struct peer_tcp *tcp, const struct qperf_results *results,
			GError **error);
bool qperf_receive_results(const struct peer_tcp *tcp, struct qperf_results *results,
			   GError **error);
bool qperf_send_end(const struct peer_tcp *tcp, GError **error);
bool qperf_receive_end(const struct peer_tcp *tcp, GError **error);

#endif /* PEER_QPERF_H */
