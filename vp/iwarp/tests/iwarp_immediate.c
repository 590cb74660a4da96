/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * RDMA Writes with immediate data, which IT-API does not have, by vp/iwarp alone: it makes its TCP
 * connection and sends the octets of the MPA start-up itself.
 *
 *     iwarp-immediate               two ends in this process, whose frames are captured on the loopback interface
 *     iwarp-immediate HOST PORT     a peer that does not know RFC 7306, such as siw; the log must say why it refuses
 *
 * Anything unexpected ends the program with a message.
 */
#include "viw_node.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MPA_FRAME 20
#define MPA_FLAGS 16 /* offset */
#define BIG       70000

static const char request[MPA_FRAME + 1] = "MPA ID Req Frame\x40\x01\0\0";
static const char reply[MPA_FRAME + 1] = "MPA ID Rep Frame\x40\x01\0\0";

static void
octets_say(int fd, const char *frame)
{
	g_assert_cmpint(send(fd, frame, MPA_FRAME, MSG_NOSIGNAL), ==, MPA_FRAME);
}

/* The other frame comes; only its key is looked at. */
static void
octets_hear(int fd, const char *frame)
{
	char got[MPA_FRAME];

	g_assert_cmpint(recv(fd, got, MPA_FRAME, MSG_WAITALL), ==, MPA_FRAME);
	g_assert_cmpmem(got, MPA_FLAGS, frame, MPA_FLAGS);
}

static enum ri_status
write_told(struct end *end, uint64_t id, const struct ri_sge *from, const struct ri_sge *to,
	   uint32_t flags)
{
	struct ri_wr wr = {.wr_id = id,
			   .sgl = from,
			   .num_sge = from != NULL,
			   .opcode = RI_OP_RDMA_WRITE,
			   .flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE | flags};

	if (to != NULL)
		wr.u.remote = (struct ri_wr_remote){.addr = to->addr, .stag = to->stag};
	memcpy(&wr.imm, "\xca\xfe\xf0\x0d", sizeof(wr.imm));
	return end->node->p->fast->post_sq(end->uqp, &wr);
}

static void
both_ends(void)
{
	static const uint32_t sizes[] = {0, 100, BIG};
	struct node *na RI_AT_END(node_free) = node_new();
	struct node *nb RI_AT_END(node_free) = node_new();
	struct chunk ma RI_AT_END(chunk_free) = chunk_new(na, BIG, ALL_RW);
	struct chunk mb RI_AT_END(chunk_free) = chunk_new(nb, BIG, ALL_RW);
	struct end *a RI_AT_END(end_free) = end_new(na, NULL);
	struct end *b RI_AT_END(end_free) = end_new(nb, NULL);
	struct ri_stream sa = end_stream(-1, true), sb = end_stream(-1, false);
	int fd[2];

	tcp_pair(fd);
	octets_say(fd[0], request);
	octets_hear(fd[1], request);
	octets_say(fd[1], reply);
	octets_hear(fd[0], reply);
	sa.fd = fd[0];
	sb.fd = fd[1];
	g_assert_cmpint(end_attach(b, &sb), ==, RI_SUCCESS);
	g_assert_cmpint(end_attach(a, &sa), ==, RI_SUCCESS);
	end_wait_event(a, RI_EVENT_QP_STREAM_UP, b);
	end_wait_event(b, RI_EVENT_QP_STREAM_UP, a);
	for (uint32_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		struct ri_sge from = chunk_sge(&ma, 0, sizes[i]), to = chunk_sge(&mb, 0, sizes[i]);

		post_recv(b, i, NULL);
		g_assert_cmpint(write_told(a, i, &from, &to, i % 2 ? RI_WR_SOLICITED : 0), ==,
				RI_SUCCESS);
		g_assert_cmpuint(end_wait_ok(b, true, i, a).byte_len, ==, sizes[i]);
		(void)end_wait_ok(a, false, i, b);
	}
	g_assert_cmpint(end_modify(a, RI_QPS_CLOSING), ==, RI_SUCCESS);
	end_wait_event(a, RI_EVENT_QP_LLP_CLOSE_COMPLETE, b);
	end_wait_event(b, RI_EVENT_QP_LLP_CLOSE_COMPLETE, a);
}

/*
 * siw may leave octets unread that arrive right after its Reply: if a message arrives while its
 * queue pair changes state, TCP acknowledges it, and siw reads it only when another one arrives. So
 * the request is repeated each second until siw answers.
 */
static void
write_until_refused(struct end *end)
{
	gint64 again = g_get_monotonic_time();
	uint64_t id = 1;

	while (id < 10 && node_count(end, RI_EVENT_QP_TERMINATE_RECEIVED) == 0) {
		/* The Terminate may come just now, so the status of another request says nothing. */
		if (g_get_monotonic_time() >= again) {
			(void)write_told(end, id++, NULL, NULL, 0);
			again += G_USEC_PER_SEC;
		}
		ends_run(end, NULL, 1);
	}
	end_wait_event(end, RI_EVENT_QP_TERMINATE_RECEIVED, NULL);
}

static void
refused(const char *host, const char *port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
	struct ri_stream stream = end_stream(-1, true);
	struct node *node RI_AT_END(node_free) = node_new();
	struct end *end RI_AT_END(end_free) = end_new(node, NULL);

	stream.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_assert_cmpint(inet_pton(AF_INET, host, &to.sin_addr), ==, 1);
	g_assert_cmpint(connect(stream.fd, (struct sockaddr *)&to, sizeof(to)), ==, 0);
	octets_say(stream.fd, request);
	octets_hear(stream.fd, reply);
	stream.peer_local = false;
	g_assert_cmpint(end_attach(end, &stream), ==, RI_SUCCESS);
	end_wait_event(end, RI_EVENT_QP_STREAM_UP, NULL);
	/* Of no octets, so no key is needed. */
	write_until_refused(end);
	g_assert_cmpuint(end_wait_ok(end, false, 1, NULL).opcode, ==, RI_OP_RDMA_WRITE);
	g_assert_cmpuint(node_ends(end), ==, 1);
	if (!vth_logged(node->vth, "the peer does not take immediate data"))
		g_error("the log does not say why");
	printf("the request was done, and the peer has refused immediate data\n");
}

int
main(int argc, char **argv)
{
	if (argc == 1)
		both_ends();
	else if (argc == 3)
		refused(argv[1], argv[2]);
	else
		return 2;
	return 0;
}
