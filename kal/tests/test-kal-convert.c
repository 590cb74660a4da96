/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Conversion of sockets at the border of the kAL: which sockets it takes over, what a refused call
 * leaves unchanged, and how long it waits for the peer [IT 11.1], [IT 11.3].
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_config.h"
#include "kal_fixture.h"

#define CTX 0x2222

/* Two ends of a TCP connection, the first of which has that address, given as text. */
static void
sockets(int ends[2], const char *text)
{
	bool v6 = strchr(text, ':') != NULL;
	struct sockaddr_in sin = {.sin_family = AF_INET};
	struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6};
	struct sockaddr *sa = v6 ? (struct sockaddr *)&sin6 : (struct sockaddr *)&sin;
	socklen_t len = v6 ? sizeof(sin6) : sizeof(sin);
	int family = v6 ? AF_INET6 : AF_INET;
	int listener RI_AT_END(ri_at_end_close) = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_assert_cmpint(inet_pton(family, text, v6 ? (void *)&sin6.sin6_addr : &sin.sin_addr), ==,
			1);
	g_assert_cmpint(bind(listener, sa, len), ==, 0);
	g_assert_cmpint(listen(listener, 1), ==, 0);
	g_assert_cmpint(getsockname(listener, sa, &len), ==, 0);
	ends[1] = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_assert_cmpint(connect(ends[1], sa, len), ==, 0);
	ends[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	g_assert_cmpint(ends[0], >=, 0);
}

static void
prepare(struct fixture *f)
{
	fake_attr.socket_conversion = true;
	fake_attr.num_ports = 1;
	*f = fixture_open();
}

static enum ri_status
convert(struct fixture *f, uint32_t qp, int fd, bool initiator)
{
	struct {
		struct kal_convert_req head;
		char message[4];
	} req = {.head = {.qp = qp, .initiator = initiator, .msg_len = initiator ? 0 : 4},
		 .message = "word"};
	struct kal_convert_rep rep;
	struct kal_msg msg = {.call = KAL_CONVERT,
			      .fd = fd,
			      .req = &req,
			      .req_len = sizeof(req.head) + req.head.msg_len,
			      .rep = &rep,
			      .rep_len = sizeof(rep)};

	return kal_call(f->client, &msg);
}

/* A socket of that address is taken, or refused and left alone. */
static void
expect_taken(struct fixture *f, const char *address, bool taken)
{
	uint32_t qp = fixture_qp(f, CTX, 4, 3);
	int sd[2];

	sockets(sd, address);
	g_assert_cmpint(convert(f, qp, sd[0], true), ==, taken ? RI_SUCCESS : RI_ERR_INVALID_ARG);
	g_assert_cmpint(fixture_id(f, KAL_QP_DESTROY, qp), ==, RI_SUCCESS);
	if (!taken)
		raw_send(sd[0], "free", 4);
	close(sd[0]);
	close(sd[1]);
}

/* The adapter is tied to the addresses of its spigots, in whatever clothes they come. */
static void
test_spigot(void)
{
	struct fixture f;

	prepare(&f);
	expect_taken(&f, "127.0.0.1", true);
	expect_taken(&f, "127.1.2.3", true);
	expect_taken(&f, "::ffff:127.0.0.1", true);
	expect_taken(&f, "::1", true);
	fake_addrs[0] = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 77}};
	expect_taken(&f, "127.0.0.1", false);
	expect_taken(&f, "::ffff:127.0.0.1", false);
	expect_taken(&f, "::1", true);
	fake_addrs[1].octets[0] = 0x20;
	expect_taken(&f, "::1", false);
	fixture_close(&f);
	/* One of two spigots is tied to no address. */
	fake_attr.socket_conversion = true;
	fake_attr.num_ports = 2;
	f = fixture_open();
	fake_addrs[0] = fake_addrs[1] = (struct ri_addr){.family = RI_ADDR_IPV4};
	expect_taken(&f, "127.0.0.1", true);
	fixture_close(&f);
}

static int
no_delay(int fd)
{
	int value = -1;
	socklen_t len = sizeof(value);

	g_assert_cmpint(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &len), ==, 0);
	return value;
}

/* A call that fails late, since the queue pair is not idle, leaves the socket as it was, in both roles. */
static void
test_untouched(void)
{
	struct kal_qp_modify_req req = {.mask = RI_QP_ATTR_STATE, .attr.state = RI_QPS_ERROR};
	struct fixture f RI_AT_END(fixture_close);
	char word[4];
	int sd[2];

	prepare(&f);
	req.id = fixture_qp(&f, CTX, 4, 3);
	g_assert_cmpint(fixture_call(&f, KAL_QP_MODIFY, &req, sizeof(req), NULL, 0), ==,
			RI_SUCCESS);
	for (int initiator = 0; initiator < 2; initiator++) {
		unsigned descriptors;
		int flags;

		sockets(sd, "127.0.0.1");
		descriptors = raw_count_fds();
		flags = fcntl(sd[0], F_GETFL);
		g_assert_cmpint(convert(&f, req.id, sd[0], initiator), ==, RI_ERR_INVALID_STATE);
		g_assert_cmpint(fcntl(sd[0], F_GETFL), ==, flags);
		g_assert_cmpint(no_delay(sd[0]), ==, 0);
		g_assert_cmpuint(raw_count_fds(), ==, descriptors);
		raw_send(sd[0], "mine", 4);
		g_assert_cmpint(raw_recv(sd[1], word, 4), ==, 4);
		g_assert_cmpint(memcmp(word, "mine", 4), ==, 0);
		raw_send(sd[1], "ours", 4);
		g_assert_cmpint(raw_recv(sd[0], word, 4), ==, 4);
		close(sd[0]);
		close(sd[1]);
	}
	g_assert_true(fixture_silent(&f));
}

/* The administrator's limit; the peer that says nothing sees a reset, the consumer TIMEOUT. */
static void
test_patience(void)
{
	g_autofree char *path = g_strdup("/tmp/itapi-convert-XXXXXX");
	struct fixture f;
	struct kal_cm_event event;
	char octet;
	int sd[2];

	close(g_mkstemp(path));
	g_assert_true(g_file_set_contents(path, "[mpa]\nconvert-timeout = 1\n", -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
	for (int initiator = 0; initiator < 2; initiator++) {
		prepare(&f);
		sockets(sd, "127.0.0.1");
		g_assert_cmpint(convert(&f, fixture_qp(&f, CTX, 4, 3), sd[0], initiator), ==,
				RI_SUCCESS);
		event = fixture_cm(&f, KAL_CM_FAILED, CTX);
		g_assert_cmpuint(event.reason, ==, KAL_REASON_TIMEOUT);
		while (raw_recv(sd[1], &octet, 1) > 0)
			continue;
		close(sd[0]);
		close(sd[1]);
		fixture_close(&f);
	}
	g_unsetenv("ITAPI_CONFIG");
	g_unlink(path);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/convert/spigot", test_spigot);
	g_test_add_func("/kal/convert/untouched", test_untouched);
	g_test_add_func("/kal/convert/patience", test_patience);
	return g_test_run();
}
