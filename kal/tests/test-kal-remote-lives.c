/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The account of a process at the daemon: what the daemon lists for the process is the same after
 * each refused call, after a restart of the daemon, perhaps with other rules, and when the process
 * joins the daemon a second time.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "kal_fixture.h"
#include "kal_host.h"
#include "kal_remote.h"
#include "kal_sock_source.h"
#include "kald_play.h"
#include "ri_calls.h"

#define ROUNDS   2000   /* of a millisecond */
#define AGAIN_US 110000 /* from then on the daemon asks a process anew */

static struct play play;

static int
begin(const char *policy)
{
	play = play_begin(policy);
	g_setenv("ITAPI_KALD", play.socket, TRUE);
	return play_join(&play, KALD_TOOL, NULL);
}

static void
end(const int *tool)
{
	close(*tool);
	play_free(&play);
	g_unsetenv("ITAPI_KALD");
}

/* The daemon is killed and comes back, with these rules if they are not NULL. */
static int
restart(int tool, const char *policy)
{
	close(tool);
	play_end(&play, true);
	if (policy != NULL)
		g_assert_true(g_file_set_contents(play.policy, policy, -1, NULL));
	play_again(&play);
	return play_join(&play, KALD_TOOL, NULL);
}

static int
compare_ports(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* What the daemon lists of this process; false: not one entry, or it has not described itself. */
static bool
entry_read(int tool, struct kald_entry *entry)
{
	GArray *entries = play_list(tool);
	bool one = entries->len == 1;

	if (one)
		*entry = g_array_index(entries, struct kald_entry, 0);
	g_array_free(entries, TRUE);
	if (one)
		qsort(entry->ports, KALD_PORTS_SHOWN, sizeof(entry->ports[0]), compare_ports);
	return one && entry->described == 1;
}

/* Once it has described itself anew: that follows on all it had to say before. */
static struct kald_entry
account(int tool)
{
	struct kald_entry entry = {0};

	g_usleep(AGAIN_US);
	for (unsigned i = 0; i < ROUNDS && !entry_read(tool, &entry); i++)
		g_usleep(1000);
	g_assert_cmpuint(entry.described, ==, 1);
	return entry;
}

/* All but the number of the connection. */
static void
same(const struct kald_entry *a, const struct kald_entry *b)
{
	g_assert_cmpstr(a->adapters, ==, b->adapters);
	g_assert_cmpuint(a->num_ports, ==, b->num_ports);
	g_assert_cmpmem(a->ports, sizeof(a->ports), b->ports, sizeof(b->ports));
	g_assert_cmpmem(a->used, sizeof(a->used), b->used, sizeof(b->used));
	g_assert_cmpmem(a->lent, sizeof(a->lent), b->lent, sizeof(b->lent));
	g_assert_cmpuint(a->stopped, ==, b->stopped);
}

/* What needs no answer may still be under way. */
static void
stays(int tool, const struct kald_entry *before)
{
	struct kald_entry now = {0};

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (entry_read(tool, &now) && now.num_ports == before->num_ports &&
		    memcmp(now.lent, before->lent, sizeof(now.lent)) == 0 &&
		    memcmp(now.used, before->used, sizeof(now.used)) == 0 &&
		    strcmp(now.adapters, before->adapters) == 0)
			break;
		g_usleep(1000);
	}
	same(&now, before);
}

static enum ri_status
dial(struct fixture *f, uint32_t qp, uint16_t port)
{
	struct kal_cm_req connect;

	fixture_connect_req(&connect, qp, false, port);
	return fixture_call(f, KAL_CONNECT, &connect, sizeof(connect), NULL, 0);
}

static int
listen_at(struct kal_fd *fd, uint16_t port)
{
	struct sockaddr_storage sa = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&sa;

	in->sin_family = AF_INET;
	in->sin_port = port;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return kal_sock_source()->listen(fd, &sa, sizeof(*in));
}

static void
listen_over(struct kal_fd *fd)
{
	kal_sock_source()->listen_over(fd);
	kal_fd_close(fd);
}

/* A second listener at the address of the first one is refused, by the daemon or by the kernel, and the first one stays known. */
static void
second_listener(bool granted)
{
	int tool RI_AT_END(end) = begin(granted ? "[policy]\ngrant-ports = 1-65535\n" : NULL);
	struct kal_fd first = {0}, second = {0};
	uint16_t port;
	int kept RI_AT_END(ri_at_end_close) = raw_keep(&port);
	struct kald_entry before, with;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	before = account(tool);
	g_assert_cmpint(listen_at(&first, port), ==, 0);
	with = account(tool);
	g_assert_cmpuint(with.num_ports, ==, before.num_ports + 1);
	for (unsigned i = 0; i < 3; i++) {
		g_assert_cmpint(listen_at(&second, port), ==, EADDRINUSE);
		stays(tool, &with);
	}
	tool = restart(tool, NULL);
	stays(tool, &with);
	/* After it is over it can be had again. */
	listen_over(&first);
	stays(tool, &before);
	g_assert_cmpint(listen_at(&first, port), ==, 0);
	stays(tool, &with);
	listen_over(&first);
}

static void
test_second_listener(void)
{
	second_listener(true);
	second_listener(false);
}

/* Calls that rules refuse cost nothing, time after time; then the ordinary call does what it did. */
static void
test_refused(void)
{
	int tool RI_AT_END(end) =
		begin("[policy]\nadapters = fake\nports = 1-2\npeers = 10.0.0.0/8\n"
		      "[limits.user]\nmr = 5\n");
	struct kal_rnic_open_req other = {.name = "other"};
	struct kal_rnic_open_rep opened;
	struct kal_fd fd = {0};
	struct kald_entry before;
	uint16_t port;
	int kept RI_AT_END(ri_at_end_close) = raw_keep(&port);
	uint32_t qp;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	qp = fixture_qp(&f, 5, 1, 1);
	while (fixture_register(&f, 1, NULL) == RI_SUCCESS)
		;
	before = account(tool);
	g_assert_cmpuint(before.used[KAL_RESOURCE_MR], ==, 5);
	for (unsigned i = 0; i < 3; i++) {
		g_assert_cmpint(fixture_register(&f, 1, NULL), ==, RI_ERR_RESOURCES);
		stays(tool, &before);
		g_assert_cmpint(fixture_call(&f, KAL_RNIC_OPEN, &other, sizeof(other), &opened,
					     sizeof(opened)),
				!=, RI_SUCCESS);
		stays(tool, &before);
		g_assert_cmpint(listen_at(&fd, port), ==, EACCES);
		stays(tool, &before);
		g_assert_cmpint(dial(&f, qp, port), ==, RI_ERR_PERMISSION);
		stays(tool, &before);
	}
	tool = restart(tool, NULL);
	stays(tool, &before);
}

/* A daemon that comes back knows what is open, and not what was closed; its rules are those of the leases from then on. */
static void
test_other_rules(void)
{
	int tool RI_AT_END(end) = begin("[policy]\ngrant-ports = 1-65535\n");
	struct kal_client_params params = {0};
	struct kal_rnic_open_req open = {.name = "fake"};
	struct kal_rnic_open_rep opened;
	struct fixture closed = {0};
	struct kal_fd first = {0}, over = {0};
	struct kald_entry before;
	unsigned used = 20;
	uint16_t ports[2];
	int first_kept RI_AT_END(ri_at_end_close) = raw_keep(&ports[0]);
	int over_kept RI_AT_END(ri_at_end_close) = raw_keep(&ports[1]);
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	g_assert_cmpint(kal_client_open(&params, &closed.client), ==, RI_SUCCESS);
	g_assert_cmpint(
		fixture_call(&closed, KAL_RNIC_OPEN, &open, sizeof(open), &opened, sizeof(opened)),
		==, RI_SUCCESS);
	g_assert_cmpint(listen_at(&first, ports[0]), ==, 0);
	g_assert_cmpint(listen_at(&over, ports[1]), ==, 0);
	for (unsigned i = 0; i < used; i++)
		g_assert_cmpint(fixture_register(&f, 1, NULL), ==, RI_SUCCESS);
	listen_over(&over);
	kal_client_close(closed.client);
	before = account(tool);
	g_assert_cmpstr(before.adapters, ==, "fake");
	g_assert_cmpuint(before.lent[KAL_RESOURCE_MR], >, 40);
	tool = restart(tool, NULL);
	stays(tool, &before);
	tool = restart(tool, "[policy]\ngrant-ports = 1-65535\n[limits.user]\nmr = 40\n");
	before.lent[KAL_RESOURCE_MR] = 40;
	stays(tool, &before);
	while (fixture_register(&f, 1, NULL) == RI_SUCCESS)
		used++;
	g_assert_cmpuint(used, ==, 40);
	listen_over(&first);
}

/* A process that was stopped, and has closed all, may do all in its second life. */
static void
test_stopped(void)
{
	int tool RI_AT_END(end) = begin(NULL);
	struct kald_message request, reply;
	struct kald_entry before;
	uint16_t port;
	int kept RI_AT_END(ri_at_end_close) = raw_keep(&port);
	uint32_t qp;
	struct fixture f = fixture_open();

	before = account(tool);
	qp = fixture_qp(&f, 5, 1, 1);
	kald_message_begin(&request, KALD_STOP, 4, KALD_OK);
	request.body.stop.pid = (uint32_t)getpid();
	play_ask(tool, &request, &reply);
	g_assert_cmpint(reply.head.status, ==, KALD_OK);
	g_assert_cmpint(account(tool).stopped, ==, 1);
	g_assert_cmpint(dial(&f, qp, port), ==, RI_ERR_PERMISSION);
	fixture_close(&f);
	for (unsigned i = 0; i < 3; i++) {
		f = fixture_open();
		stays(tool, &before);
		g_assert_cmpint(dial(&f, fixture_qp(&f, 6, 1, 1), port), ==, RI_SUCCESS);
		g_assert_cmpint(fixture_cm(&f, KAL_CM_FAILED, 6).reason, ==, KAL_REASON_REFUSED);
		fixture_close(&f);
	}
}

/* --- addresses that are shared ----------------------------------------------------------------- */

/* The services of this process at its only address; -1: the daemon does not know that it shares one. */
static int
services_of(void)
{
	int tool = play_join(&play, KALD_TOOL, NULL);
	struct kald_message m, reply;

	kald_message_begin(&m, KALD_SHARES, 8, KALD_OK);
	play_ask(tool, &m, &reply);
	close(tool);
	g_assert_cmpint(reply.head.status, ==, KALD_OK);
	return reply.body.sharings.count == 1 ? (int)reply.body.sharings.entries[0].services : -1;
}

static void
services_become(int count)
{
	for (unsigned i = 0; i < ROUNDS && services_of() != count; i++)
		g_usleep(1000);
	g_assert_cmpint(services_of(), ==, count);
}

/* An address that is shared, and the services that begin and end there, also while the daemon is away. */
static void
test_shares(void)
{
	const uint32_t pid = (uint32_t)getpid();
	struct ri_share share = {.port = 4791,
				 .addr = {.family = RI_ADDR_IPV4,
					  .octets = {127, 100 + pid % 100, pid / 100 % 250, 9}},
				 .fd = -1};
	int tool RI_AT_END(end) = begin(NULL);
	const struct ri_host *host;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	host = kal_host_here();
	g_assert_cmpint(kal_remote_open("roce:lo"), ==, RI_SUCCESS);
	g_assert_cmpint(host->share(host->self, &share), ==, RI_SUCCESS);
	services_become(0);
	for (uint32_t number = 7; number < 10; number++)
		g_assert_cmpint(host->share_service(host->self, &share, number, false), ==,
				RI_SUCCESS);
	services_become(3);
	(void)host->share_service(host->self, &share, 9, true);
	services_become(2);
	tool = restart(tool, NULL);
	services_become(2);
	close(tool);
	play_end(&play, true);
	(void)host->share_service(host->self, &share, 8, true);
	play_again(&play);
	tool = play_join(&play, KALD_TOOL, NULL);
	services_become(1);
	host->share_over(host->self, &share);
	ri_close(share.fd);
	services_become(-1);
	kal_remote_close("roce:lo");
}

static unsigned
descriptors(void)
{
	g_autoptr(GDir) folder = g_dir_open("/proc/self/fd", 0, NULL);
	unsigned count = 0;

	while (g_dir_read_name(folder) != NULL)
		count++;
	return count;
}

/* A port that the kernel has chosen, and the daemon refuses, is not kept. */
static void
test_any_port_refused(void)
{
	int tool RI_AT_END(end) = begin("[policy]\nports = 1-2\n");
	struct kal_fd fd = {0};
	struct kald_entry before;
	unsigned open;
	struct fixture f RI_AT_END(fixture_close) = fixture_open();

	before = account(tool);
	open = descriptors();
	for (unsigned i = 0; i < 3; i++) {
		g_assert_cmpint(listen_at(&fd, 0), ==, EACCES);
		g_assert_cmpint(kal_fd_get(&fd), <, 0);
		g_assert_cmpuint(descriptors(), ==, open);
		stays(tool, &before);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/remote/lives/second-listener", test_second_listener);
	g_test_add_func("/kal/remote/lives/refused", test_refused);
	g_test_add_func("/kal/remote/lives/other-rules", test_other_rules);
	g_test_add_func("/kal/remote/lives/stopped", test_stopped);
	g_test_add_func("/kal/remote/lives/shares", test_shares);
	g_test_add_func("/kal/remote/lives/any-port-refused", test_any_port_refused);
	return g_test_run();
}
