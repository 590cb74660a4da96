/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Conversion of TCP sockets ([IT 11], R-31, R-32): a real TCP connection over the loopback interface, with a socket
 * for each end of the pair, or one for an end and one for the test.
 */

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "it_stream.h"
#include "it_window.h"

static void
say(int sd, const char *text)
{
	stream_say(sd, text, strlen(text));
}

static void
hear(int sd, const char *text)
{
	stream_hear(sd, text, strlen(text));
}

/* Data in both directions, first from the side that may send first; then an orderly end. */
static void
use(struct pair *pair, struct end *first, struct end *second)
{
	struct end *ends[] = {first, second};

	for (int i = 0; i < 4; i++) {
		struct end *from = ends[i % 2], *to = ends[(i + 1) % 2];
		it_lmr_triplet_t out = end_segment(from, 0, 100), in = end_segment(to, 4096, 200);

		memset(from->buffer, 0x30 + i, 100);
		g_assert_cmpint(it_post_recv((it_handle_t)to->ep, &in, 1, 1, 0), ==, IT_SUCCESS);
		g_assert_cmpint(it_post_send(from->ep, &out, 1, 2, SIGNALED), ==, IT_SUCCESS);
		end_done(to->recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
		end_done(from->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
		g_assert_cmpint(to->buffer[4096 + 99], ==, 0x30 + i);
	}
	pair_disconnect(pair);
}

/* The endpoint's path is that of the socket; the event and the query agree. */
static void
check_path(struct end *end, int family, const it_path_t *path)
{
	const it_iwarp_net_endpoint_t *ip = &path->u.iwarp;
	it_ep_param_t params;

	if (family == AF_INET) {
		g_assert_cmpint(ip->ip_vers, ==, IT_IP_VERS_IPV4);
		g_assert_cmphex(ip->laddr.ipv4.s_addr, ==, htonl(INADDR_LOOPBACK));
		g_assert_cmphex(ip->raddr.ipv4.s_addr, ==, htonl(INADDR_LOOPBACK));
	} else {
		g_assert_cmpint(ip->ip_vers, ==, IT_IP_VERS_IPV6);
		g_assert_cmpmem(&ip->laddr, 16, &in6addr_loopback, 16);
		g_assert_cmpmem(&ip->raddr, 16, &in6addr_loopback, 16);
	}
	g_assert_cmpint(it_ep_query(end->ep, IT_EP_PARAM_PATH, &params), ==, IT_SUCCESS);
	g_assert_cmpmem(&params.dst_path, sizeof(*path), path, sizeof(*path));
}

static void
established(struct pair *pair, int family)
{
	struct end *ends[] = {&pair->active, &pair->passive};

	for (int i = 0; i < 2; i++) {
		it_event_t event = end_expect(ends[i]->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);

		check_path(ends[i], family, &event.conn.dst_path);
		g_assert_cmpint(end_state(ends[i]), ==, IT_EP_STATE_CONNECTED);
	}
}

static void
roles(struct pair *pair, int family)
{
	struct end *a = &pair->active, *b = &pair->passive;
	static const char *const messages[] = {"", "go ahead\n"};

	for (int i = 0; i < 4; i++) {
		it_sc_flags_t flags = i & 1 ? IT_SC_NO_REQ_REP : IT_SC_DEFAULT;
		const char *message = messages[i >> 1];
		int sd[2];

		stream_open(sd, family);
		say(sd[0], "shall we?\n");
		hear(sd[1], "shall we?\n");
		g_assert_cmpint(stream_convert(b, sd[1], flags, message), ==, IT_SUCCESS);
		hear(sd[0], message);
		g_assert_cmpint(stream_convert(a, sd[0], flags, NULL), ==, IT_SUCCESS);
		close(sd[0]); /* the number may be closed at any time */
		established(pair, family);
		close(sd[1]);
		use(pair, a, b);
		end_reset(a);
		end_reset(b);
	}
}

/* the side that passes a message is the responder; with and without MPA frames. */
static void
test_roles(struct pair *pair)
{
	roles(pair, AF_INET);
}

/* the same over IPv6. */
static void
test_roles_ipv6(struct pair *pair)
{
	roles(pair, AF_INET6);
}

/* Octets that came before the conversion are the beginning of RDMA mode. */
static void
test_unread(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, 100), in = end_segment(b, 4096, 200);
	int sd[2];

	for (int i = 0; i < 2; i++) {
		it_sc_flags_t flags = i ? IT_SC_NO_REQ_REP : IT_SC_DEFAULT;

		stream_open(sd, AF_INET);
		g_assert_cmpint(it_post_recv((it_handle_t)b->ep, &in, 1, 1, 0), ==, IT_SUCCESS);
		memset(a->buffer, 0x66, 100);
		g_assert_cmpint(stream_convert(a, sd[0], flags, NULL), ==, IT_SUCCESS);
		if (i == 1) { /* it may send at once */
			end_expect(a->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
			g_assert_cmpint(it_post_send(a->ep, &out, 1, 2, SIGNALED), ==, IT_SUCCESS);
			end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
		}
		usleep(20000); /* so that the octets wait in the other socket */
		g_assert_cmpint(stream_convert(b, sd[1], flags, ""), ==, IT_SUCCESS);
		end_expect(b->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
		if (i == 0) {
			end_expect(a->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
			g_assert_cmpint(it_post_send(a->ep, &out, 1, 2, SIGNALED), ==, IT_SUCCESS);
			end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
		}
		end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
		g_assert_cmpint(b->buffer[4096], ==, 0x66);
		close(sd[0]);
		close(sd[1]);
		pair_disconnect(pair);
		end_reset(a);
		end_reset(b);
	}
}

/* A refused conversion leaves the socket and the endpoint as they were. */
static void
test_wrong(struct pair *pair)
{
	struct end *a = &pair->active;
	int udp, local[2], sd[2], lonely, listener;
	g_autofree unsigned char *large = g_malloc0(65537);

	g_assert_cmpint(it_socket_convert(0, NULL, IT_SC_DEFAULT, NULL, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_socket_convert(0, a->ep, IT_SC_DEFAULT, NULL, 5), ==, IT_ERR_FAULT);
	if (!a->info->socket_conversion_support) {
		g_assert_cmpint(stream_convert(a, 0, IT_SC_DEFAULT, NULL), ==,
				IT_ERR_OP_NOT_SUPPORTED);
		return;
	}
	stream_open(sd, AF_INET);
	g_assert_cmpint(stream_convert(a, sd[0], (it_sc_flags_t)2, NULL), ==, IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(it_socket_convert(sd[0], a->ep, IT_SC_DEFAULT, large, 65537), ==,
			IT_ERR_INVALID_LENGTH);
	udp = socket(AF_INET, SOCK_DGRAM, 0);
	lonely = socket(AF_INET, SOCK_STREAM, 0);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	g_assert_cmpint(listen(listener, 1), ==, 0);
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, local), ==, 0);
	const struct {
		const char *name;
		int fd;
	} bad[] = {{"-1", -1},
		   {"no descriptor", 100000},
		   {"UDP", udp},
		   {"local socket", local[0]},
		   {"not connected", lonely},
		   {"listener", listener}};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_test_message("%s", bad[i].name);
		g_assert_cmpint(stream_convert(a, bad[i].fd, IT_SC_DEFAULT, NULL), ==,
				IT_ERR_INVALID_CONVERSION);
	}
	g_assert_cmpint(end_state(a), ==, IT_EP_STATE_UNCONNECTED);
	say(sd[0], "still mine");
	hear(sd[1], "still mine");
	/* Already in use. */
	g_assert_cmpint(stream_convert(a, sd[0], IT_SC_DEFAULT, NULL), ==, IT_SUCCESS);
	g_assert_cmpint(stream_convert(a, sd[0], IT_SC_DEFAULT, NULL), ==, IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_socket_convert(sd[0], a->ep, IT_SC_DEFAULT, large, 65537), ==,
			IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_ep_disconnect(a->ep, NULL, 0), ==, IT_SUCCESS);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_reset(a);
	const int all[] = {udp, local[0], local[1], lonely, listener, sd[0], sd[1]};
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
		close(all[i]);
}

static void
expect_failure(struct pair *pair, struct end *end)
{
	(void)pair;
	end_expect(end->cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	g_assert_cmpint(end_state(end), ==, IT_EP_STATE_NONOPERATIONAL);
	end_reset(end);
}

/* The peer closes, or sends an invalid frame, at each step; the connection is reset, for both descriptors. */
static void
test_peer_dies(struct pair *pair)
{
	struct end *a = &pair->active;
	unsigned descriptors;
	char octet;
	int sd[2];

	descriptors = pair_descriptors();
	for (int i = 0; i < 6; i++) {
		bool asks = i % 2 == 0;

		stream_open(sd, AF_INET);
		if (i / 2 == 0)
			close(sd[1]); /* closed before */
		g_assert_cmpint(stream_convert(a, sd[0], IT_SC_DEFAULT, asks ? NULL : "your turn"),
				==, IT_SUCCESS);
		if (i / 2 == 1) {
			if (!asks)
				hear(sd[1], "your turn");
			close(sd[1]); /* closed in the middle */
		}
		if (i / 2 == 2)
			say(sd[1], "this is certainly no frame of MPA");
		expect_failure(pair, a);
		if (i / 2 == 2) {
			while (read(sd[1], &octet, 1) > 0)
				continue;
			close(sd[1]);
		}
		g_assert_cmpint(read(sd[0], &octet, 1), <=, 0);
		close(sd[0]);
	}
	PAIR_UNTIL(pair_descriptors() <= descriptors);
}

static void
add_tests(void)
{
	pair_add_for(NEEDS_CONVERSION, "convert/r-31-roles", test_roles);
	pair_add_for(NEEDS_CONVERSION | NEEDS_IPV6, "convert/r-31-roles-ipv6", test_roles_ipv6);
	pair_add_for(NEEDS_CONVERSION, "convert/unread", test_unread);
	pair_add("convert/r-32-wrong", test_wrong);
	pair_add_for(NEEDS_CONVERSION, "convert/peer-dies", test_peer_dies);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
