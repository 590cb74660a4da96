/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A program of libibverbs with one thread, as a node of it-sim. Two of them exchange what a queue pair needs over TCP, and then
 * messages:
 *
 *	sim-verbs WHAT PORT [ADDRESS]      with an address: the client
 *
 * WHAT: "poll" or "event": messages to and fro, by polling the queue or by its channel; "last": the client writes, and the server
 * looks at the last octet, which nobody promises; "told": the server waits for the message behind the Write;
 * "uc", "ud", "srq": to and fro by queue pairs of that type, or with a shared receive queue, waiting by the channel;
 * "leave": the client ends without a word, and the server meets a broken connection; others: one call that a simulation does not have.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LENGTH 64
#define ROUNDS 8
#define GRH    40 /* octets before what a UD queue pair receives */
#define QKEY   0x1234

/* What the other end has to know. */
struct place {
	uint32_t qpn, key;
	uint64_t address;
	uint16_t lid;
	union ibv_gid gid;
};

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	enum ibv_qp_type type;
	struct ibv_srq *srq; /* NULL: the queue pair has receives of its own */
	struct ibv_ah *ah;   /* of the other end, for UD */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct place far;
	int tcp;
	bool hasty;                             /* waits without one more look after it has armed */
	volatile char memory[GRH + 2 * LENGTH]; /* what comes in, and what goes out */
} own;

static volatile char *const incoming = own.memory + GRH, *const outgoing =
								 own.memory + GRH + LENGTH;

static void
device_open(enum ibv_qp_type type, bool events, bool shared)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr attr = {.qp_type = type, .sq_sig_all = 1};
	struct ibv_srq_init_attr receives = {.attr = {.max_wr = 16, .max_sge = 1}};

	assert(devices != NULL && devices[0] != NULL);
	own.context = ibv_open_device(devices[0]);
	assert(own.context != NULL);
	ibv_free_device_list(devices);
	own.pd = ibv_alloc_pd(own.context);
	own.channel = events ? ibv_create_comp_channel(own.context) : NULL;
	own.cq = ibv_create_cq(own.context, 64, NULL, own.channel, 0);
	own.mr = ibv_reg_mr(own.pd, (void *)own.memory, sizeof(own.memory),
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert(own.pd != NULL && own.cq != NULL && own.mr != NULL);
	attr.send_cq = attr.recv_cq = own.cq;
	own.type = type;
	own.srq = attr.srq = shared ? ibv_create_srq(own.pd, &receives) : NULL;
	assert((own.srq != NULL) == shared);
	attr.cap = (struct ibv_qp_cap){
		.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1};
	own.qp = ibv_create_qp(own.pd, &attr);
	assert(own.qp != NULL);
}

static void
tcp_open(uint16_t port, const char *server)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	assert(fd >= 0);
	if (server != NULL) {
		assert(inet_pton(AF_INET, server, &address.sin_addr) == 1);
		while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
			usleep(1000);
		own.tcp = fd;
		return;
	}
	assert(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
	assert(bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
	assert(listen(fd, 1) == 0);
	own.tcp = accept(fd, NULL, NULL);
	assert(own.tcp >= 0);
	close(fd);
}

static void
exchange(void)
{
	struct ibv_port_attr port;
	struct place mine = {
		.qpn = own.qp->qp_num, .key = own.mr->rkey, .address = (uintptr_t)incoming};

	assert(ibv_query_port(own.context, 1, &port) == 0);
	assert(ibv_query_gid(own.context, 1, 0, &mine.gid) == 0);
	mine.lid = port.lid;
	assert(send(own.tcp, &mine, sizeof(mine), 0) == (ssize_t)sizeof(mine));
	assert(recv(own.tcp, &own.far, sizeof(own.far), MSG_WAITALL) == (ssize_t)sizeof(own.far));
}

static void
connect_queue_pair(void)
{
	const bool rc = own.type == IBV_QPT_RC, ud = own.type == IBV_QPT_UD;
	struct ibv_ah_attr path = {.dlid = own.far.lid,
				   .port_num = 1,
				   .is_global = 1,
				   .grh = {.dgid = own.far.gid, .hop_limit = 1}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qkey = QKEY,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	assert(ibv_modify_qp(own.qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)) == 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = own.far.qpn,
				    .min_rnr_timer = 12,
				    .ah_attr = path};
	assert(ibv_modify_qp(own.qp, &attr,
			     IBV_QP_STATE |
				     (ud ? 0
					 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
						      IBV_QP_RQ_PSN) |
				     (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)) ==
	       0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
	assert(ibv_modify_qp(own.qp, &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN |
				     (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						      IBV_QP_MAX_QP_RD_ATOMIC
					 : 0)) == 0);
	own.ah = ud ? ibv_create_ah(own.pd, &path) : NULL;
	assert((own.ah != NULL) == ud);
}

/* Both ends are ready when each has said an octet. */
static void
meet(void)
{
	char octet = 1;

	assert(write(own.tcp, &octet, 1) == 1);
	assert(read(own.tcp, &octet, 1) == 1);
}

/* --- messages ----------------------------------------------------------------------------------- */

static void
post_receive(void)
{
	struct ibv_sge part = {(uintptr_t)incoming, LENGTH, own.mr->lkey};
	struct ibv_recv_wr request = {.wr_id = 1, .sg_list = &part, .num_sge = 1}, *bad;

	if (own.type == IBV_QPT_UD)
		part = (struct ibv_sge){(uintptr_t)own.memory, GRH + LENGTH, own.mr->lkey};
	assert((own.srq != NULL ? ibv_post_srq_recv(own.srq, &request, &bad)
				: ibv_post_recv(own.qp, &request, &bad)) == 0);
}

static void
post(enum ibv_wr_opcode opcode, uint32_t length)
{
	struct ibv_sge part = {(uintptr_t)outgoing, length, own.mr->lkey};
	struct ibv_send_wr request = {.wr_id = 2,
				      .sg_list = &part,
				      .num_sge = length > 0 ? 1 : 0,
				      .opcode = opcode,
				      .wr.rdma = {own.far.address, own.far.key}},
			   *bad;

	if (own.type == IBV_QPT_UD) {
		request.wr.ud.ah = own.ah;
		request.wr.ud.remote_qpn = own.far.qpn;
		request.wr.ud.remote_qkey = QKEY;
	}
	assert(ibv_post_send(own.qp, &request, &bad) == 0);
}

static struct ibv_wc
completion(void)
{
	struct ibv_wc wc;
	int found;

	while ((found = ibv_poll_cq(own.cq, 1, &wc)) == 0) {
		struct ibv_cq *cq;
		void *unused;

		if (own.channel == NULL)
			continue;
		assert(ibv_req_notify_cq(own.cq, 0) == 0);
		found = own.hasty ? 0 : ibv_poll_cq(own.cq, 1, &wc); /* what came before it */
		if (found != 0)
			break;
		assert(ibv_get_cq_event(own.channel, &cq, &unused) == 0 && cq == own.cq);
		ibv_ack_cq_events(cq, 1);
	}
	assert(found == 1);
	return wc;
}

static void
completed(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert(completion().status == IBV_WC_SUCCESS);
}

static void
to_and_fro(bool client)
{
	for (int round = 0; round < ROUNDS; round++) {
		if (client)
			post(IBV_WR_SEND, LENGTH);
		completed(1 + (client ? 1 : 0)); /* what was sent and, or, received */
		assert(incoming[0] == (client ? 'a' : 'b'));
		post_receive();
		if (!client) {
			post(IBV_WR_SEND, LENGTH);
			completed(1);
		}
	}
	puts("done");
}

static void
write_and_look(bool client, bool told)
{
	if (client) {
		post(IBV_WR_RDMA_WRITE, LENGTH);
		post(IBV_WR_SEND, 0);
		completed(2);
		return;
	}
	if (told)
		completed(1);
	while (incoming[LENGTH - 1] == 0)
		usleep(100);
	printf("read %.*s\n", LENGTH, (const char *)incoming);
}

/* The server waits for a message of a client that has left. */
static void
left(bool client)
{
	struct ibv_wc wc;

	if (client)
		exit(0);
	assert(read(own.tcp, &wc, 1) == 0); /* closed, too */
	post(IBV_WR_SEND, LENGTH);
	do
		wc = completion();
	while (wc.wr_id != 2);
	printf("%s\n", ibv_wc_status_str(wc.status));
}

static void
clean_up(void)
{
	close(own.tcp);
	if (own.ah != NULL)
		assert(ibv_destroy_ah(own.ah) == 0);
	assert(ibv_destroy_qp(own.qp) == 0);
	if (own.srq != NULL)
		assert(ibv_destroy_srq(own.srq) == 0);
	assert(ibv_destroy_cq(own.cq) == 0);
	if (own.channel != NULL)
		assert(ibv_destroy_comp_channel(own.channel) == 0);
	assert(ibv_dereg_mr(own.mr) == 0);
	assert(ibv_dealloc_pd(own.pd) == 0);
	assert(ibv_close_device(own.context) == 0);
}

static int
absent(const char *what)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 8};
	struct ibv_qp_init_attr_ex qp = {.qp_type = IBV_QPT_RC, .pd = own.pd};
	struct ibv_srq_init_attr_ex srq = {.attr = {.max_wr = 8}};

	/* A queue of completions or receives, or a pair, whose calls are pointers in itself. */
	if (strcmp(what, "cq-ex") == 0)
		return ibv_create_cq_ex(own.context, &attr) == NULL;
	if (strcmp(what, "qp-ex") == 0) {
		qp.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		qp.send_cq = qp.recv_cq = own.cq;
		return ibv_create_qp_ex(own.context, &qp) == NULL;
	}
	srq.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD;
	srq.srq_type = IBV_SRQT_XRC;
	return ibv_create_srq_ex(own.context, &srq) == NULL;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	const bool client = argc > 3;

	assert(argc > 2);
	own.hasty = strcmp(what, "hasty") == 0;
	device_open(strcmp(what, "uc") == 0   ? IBV_QPT_UC
		    : strcmp(what, "ud") == 0 ? IBV_QPT_UD
					      : IBV_QPT_RC,
		    own.hasty || strcmp(what, "event") == 0 || strlen(what) <= 3,
		    strcmp(what, "srq") == 0);
	if (strchr(what, '-') != NULL)
		return absent(what);
	memset((void *)outgoing, client ? 'b' : 'a', LENGTH);
	tcp_open((uint16_t)atoi(argv[2]), client ? argv[3] : NULL);
	exchange();
	connect_queue_pair();
	post_receive();
	meet();
	if (strcmp(what, "last") == 0 || strcmp(what, "told") == 0)
		write_and_look(client, strcmp(what, "told") == 0);
	else if (strcmp(what, "leave") == 0)
		left(client);
	else
		to_and_fro(client);
	if (strcmp(what, "leave") != 0)
		meet();
	clean_up();
	return 0;
}
