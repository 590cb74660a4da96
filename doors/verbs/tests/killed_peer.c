/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A server whose client is killed: the server must get DISCONNECTED, its receives must be flushed, and the next
 * client must be served.
 *
 *   killed-peer server ADDRESS PORT
 *   killed-peer stay ADDRESS PORT      connects and waits to be killed
 *   killed-peer talk ADDRESS PORT      connects, sends, disconnects
 */
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECEIVES 3
#define LENGTH   64

static char memory[RECEIVES * LENGTH];

static void
need(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static struct rdma_cm_id *
end_new(const char *address, const char *port, int passive)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *info;
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1};
	struct rdma_cm_id *id;

	if (passive)
		hints.ai_flags = RAI_PASSIVE;
	need(rdma_getaddrinfo((char *)address, (char *)port, &hints, &info) == 0,
	     "rdma_getaddrinfo");
	need(rdma_create_ep(&id, info, NULL, &init) == 0, "rdma_create_ep");
	rdma_freeaddrinfo(info);
	return id;
}

/* A client, and what it leaves: the completion of each receive. */
static void
serve(struct rdma_cm_id *listener, int killed)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	need(rdma_get_request(listener, &id) == 0, "rdma_get_request");
	mr = rdma_reg_msgs(id, memory, sizeof(memory));
	need(mr != NULL, "rdma_reg_msgs");
	for (int i = 0; i < RECEIVES; i++)
		need(rdma_post_recv(id, NULL, memory + i * LENGTH, LENGTH, mr) == 0,
		     "rdma_post_recv");
	need(rdma_accept(id, NULL) == 0, "rdma_accept");
	printf("up\n");
	for (int i = 0; i < RECEIVES; i++) {
		need(rdma_get_recv_comp(id, &wc) == 1, "rdma_get_recv_comp");
		if (wc.status != (i > 0 || killed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS)) {
			printf("receive %d: %s\n", i, ibv_wc_status_str(wc.status));
			exit(1);
		}
	}
	need(rdma_get_cm_event(id->channel, &event) == 0, "rdma_get_cm_event");
	printf("%s\n", rdma_event_str(event->event));
	need(rdma_ack_cm_event(event) == 0, "rdma_ack_cm_event");
	need(rdma_dereg_mr(mr) == 0, "rdma_dereg_mr");
	rdma_destroy_ep(id);
}

static void
talk(struct rdma_cm_id *id)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, memory, LENGTH);
	struct ibv_wc wc;

	need(mr != NULL, "rdma_reg_msgs");
	need(rdma_post_send(id, NULL, memory, LENGTH, mr, 0) == 0, "rdma_post_send");
	need(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "rdma_get_send_comp");
	need(rdma_disconnect(id) == 0, "rdma_disconnect");
	need(rdma_dereg_mr(mr) == 0, "rdma_dereg_mr");
}

int
main(int argc, char **argv)
{
	struct rdma_cm_id *id;
	int server;

	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	server = strcmp(argv[1], "server") == 0;
	id = end_new(argv[2], argv[3], server);
	if (server) {
		need(rdma_listen(id, 4) == 0, "rdma_listen");
		printf("listens\n");
		for (int i = 0; i < 3; i++)
			serve(id, i < 2);
	} else {
		need(rdma_connect(id, NULL) == 0, "rdma_connect");
		printf("connected\n");
		while (strcmp(argv[1], "stay") == 0)
			pause();
		talk(id);
	}
	rdma_destroy_ep(id);
	return 0;
}
