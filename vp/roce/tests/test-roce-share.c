/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An address that several processes share; the test's host replaces the daemon. Ports that belong
 * to another process, wholly or in part, addresses that do, and a daemon that does not answer while
 * other threads open an adapter and fork.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "roce_address.h"
#include "vrc_ip.h"
#include "vro_verbs.h"
#include "vsw_node.h"

#define SLOT       5u
#define TAKEN      20u /* ports that another process has */
#define PATIENCE_S 20
#define SOON_US    5000000

static struct {
	unsigned refusals; /* of services, to come */
	unsigned serves;   /* services that are granted before the refusals; UINT32_MAX: all */
	GHashTable *taken; /* what was refused stays refused; NULL: it does not */
	bool silent;       /* shares wait for `answer` */
	bool away;
	unsigned full;       /* addresses that have a process, of those that are asked for next */
	enum ri_status then; /* what an address that follows them has */
	bool wrong;          /* gives what is no socket of UDP */
	unsigned questions, shares, services; /* asked for; given and not given back */
	sem_t asked, answer;
} daemon_;

static enum ri_status
share(void *self, struct ri_share *share)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(share->port)};
	int one = 1;

	(void)self;
	daemon_.questions++;
	if (daemon_.away)
		return RI_ERR_UNSUPPORTED;
	if (daemon_.full != 0) {
		daemon_.full--;
		return RI_ERR_IN_USE;
	}
	if (daemon_.then != RI_SUCCESS)
		return daemon_.then;
	if (daemon_.silent) {
		struct timespec until;

		sem_post(&daemon_.asked);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += PATIENCE_S;
		g_assert_cmpint(sem_timedwait(&daemon_.answer, &until), ==, 0);
	}
	memcpy(&sa.sin_addr, share->addr.octets, 4);
	share->slot = SLOT;
	daemon_.shares++;
	if (daemon_.wrong) {
		share->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		return RI_SUCCESS;
	}
	share->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	g_assert_cmpint(setsockopt(share->fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)), ==, 0);
	g_assert_cmpint(bind(share->fd, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
	return RI_SUCCESS;
}

static void
share_over(void *self, struct ri_share *share)
{
	(void)self;
	(void)share;
	daemon_.shares--;
}

static enum ri_status
share_service(void *self, struct ri_share *share, uint32_t service, bool over)
{
	(void)self;
	(void)share;
	if (!over && daemon_.taken != NULL &&
	    g_hash_table_contains(daemon_.taken, GUINT_TO_POINTER(service)))
		return RI_ERR_IN_USE;
	if (!over && daemon_.serves == 0 && daemon_.refusals != 0) {
		daemon_.refusals--;
		if (daemon_.taken != NULL)
			g_hash_table_add(daemon_.taken, GUINT_TO_POINTER(service));
		return RI_ERR_IN_USE;
	}
	daemon_.serves -= !over && daemon_.serves != 0;
	daemon_.services += over ? -1U : 1;
	return RI_SUCCESS;
}

static struct node *
node_of(struct vth *vth)
{
	/* The table is the test's own, but handed out to be read. */
	struct ri_host *host = (struct ri_host *)(uintptr_t)vth_host(vth);

	host->share = share;
	host->share_over = share_over;
	host->share_service = share_service;
	return node_open(vro_provider_entry(), vth, false, "roce:lo");
}

/* Where the process leaves the port or the id open, it gets one that no other process has. One that it names is refused. */
static void
any_port(void)
{
	const struct ri_cm_ops *cm = vro_provider_entry()->cm;
	struct ri_service any[] = {{.kind = RI_SERVICE_PORT}, {.kind = RI_SERVICE_IB}};
	struct ri_service named = {.kind = RI_SERVICE_PORT, .port = 7174};
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *node RI_AT_END(node_close) = node_of(vth);
	struct ri_listen *listen = NULL;

	daemon_.taken = g_hash_table_new(NULL, NULL);
	for (unsigned i = 0; i < G_N_ELEMENTS(any); i++) {
		daemon_.refusals = TAKEN;
		g_assert_cmpint(cm->listen(node->context, 1, 0, &any[i], 8, &listen), ==,
				RI_SUCCESS);
		g_assert_cmpuint(daemon_.refusals, ==, 0);
		g_assert_true(i == 0 ? any[i].port != 0 : any[i].id != 0);
		cm->listen_destroy(listen);
	}
	g_clear_pointer(&daemon_.taken, g_hash_table_destroy);
	daemon_.refusals = 1;
	g_assert_cmpint(cm->listen(node->context, 1, 0, &named, 8, &listen), ==, RI_ERR_IN_USE);
	g_assert_cmpuint(daemon_.refusals, ==, 0);
	/* There is an end, if all are another's. */
	daemon_.refusals = UINT32_MAX;
	any[0].port = 0;
	g_assert_cmpint(cm->listen(node->context, 1, 0, &any[0], 8, &listen), ==, RI_ERR_IN_USE);
	daemon_.refusals = 0;
}

/* The adapter has two addresses. */
static struct vro_station *
two_addresses(const struct node *node)
{
	struct vro_station *station = node->rnic->station;

	station->port.num_addrs = 2;
	station->port.addrs[1] = roce_address(1);
	return station;
}

/* If another process has a part of a service, nothing of it is taken: its number at each address, for connections and for datagrams. */
static void
whole_services(void)
{
	const struct ri_cm_ops *cm = vro_provider_entry()->cm;
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *node = node_of(vth);
	struct ri_listen *listen = NULL;

	(void)two_addresses(node);
	for (unsigned parts = 0; parts <= 4; parts++) {
		struct ri_service service = {.kind = RI_SERVICE_PORT, .port = 7175};

		daemon_.serves = parts;
		daemon_.refusals = parts < 4;
		g_assert_cmpint(cm->listen(node->context, 1, 0, &service, 8, &listen), ==,
				parts < 4 ? RI_ERR_IN_USE : RI_SUCCESS);
		g_assert_cmpuint(daemon_.services, ==, parts < 4 ? 0 : 4);
	}
	cm->listen_destroy(listen);
	g_assert_cmpuint(daemon_.services, ==, 0);
	g_assert_cmpuint(daemon_.shares, ==, 2);
	node_close(&node);
	g_assert_cmpuint(daemon_.shares, ==, 0);
}

/*
 * A listener for datagrams at a port where another listener accepts connections: queries go only to
 * the listener of that id, and the daemon's registration of both stays until the last of them is
 * destroyed.
 */
static void
port_of_two(void)
{
	const struct ri_cm_ops *cm = vro_provider_entry()->cm;
	struct ri_service port = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(7174)};
	struct ri_service id = {.kind = RI_SERVICE_IB,
				.id = GUINT64_TO_BE(vrc_service_id(&port, true))};
	struct ri_service same = {.kind = RI_SERVICE_IB,
				  .id = GUINT64_TO_BE(vrc_service_id(&port, false))};
	struct ri_listen *listens[2], *other = NULL;
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *node RI_AT_END(node_close) = node_of(vth);

	for (unsigned first = 0; first < 2; first++) {
		for (unsigned i = 0; i < 2; i++)
			g_assert_cmpint(cm->listen(node->context, 1, 0, i == first ? &port : &id, 8,
						   &listens[i]),
					==, RI_SUCCESS);
		g_assert_cmpint(cm->listen(node->context, 1, 0, &same, 8, &other), ==,
				RI_ERR_IN_USE);
		g_assert_cmpint(cm->listen(node->context, 1, 0, &id, 8, &other), ==, RI_ERR_IN_USE);
		daemon_.services = 0;
		cm->listen_destroy(listens[first]);
		g_assert_cmpint((int)daemon_.services, ==, -1); /* the id of connections */
		cm->listen_destroy(listens[!first]);
		g_assert_cmpint((int)daemon_.services, ==, -2);
		daemon_.services = 0;
	}
}

static unsigned sockets(void);

/* Of all kinds. */
static unsigned
descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* A claim that fails at the second address leaves nothing of the first, and the next one asks the daemon that is back. */
static void
half_claims(void)
{
	const struct ri_cm_ops *cm = vro_provider_entry()->cm;
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = 7176};
	struct ri_addr second = roce_address(1);
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *node = node_of(vth);
	struct vro_station *station = two_addresses(node);
	struct ri_addr addrs[VRO_ADDRS_MAX];
	struct ri_listen *listen = NULL;
	unsigned before = sockets();
	int holder = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&sa.sin_addr, second.octets, 4);
	g_assert_cmpint(bind(holder, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
	daemon_.away = true;
	daemon_.questions = 0;
	for (unsigned i = 1; i <= 3; i++) {
		g_assert_cmpint(cm->listen(node->context, 1, 0, &service, 8, &listen), ==,
				RI_ERR_IN_USE);
		g_assert_cmpuint(sockets(), ==, before + 1);
		g_assert_cmpuint(daemon_.questions, ==, i); /* once each time */
		g_assert_cmpuint(vro_station_addrs(station, addrs), ==, 2);
	}
	close(holder);
	daemon_.away = false;
	g_assert_cmpint(cm->listen(node->context, 1, 0, &service, 8, &listen), ==, RI_SUCCESS);
	g_assert_cmpuint(daemon_.questions, ==, 3 + 2);
	g_assert_cmpuint(daemon_.shares, ==, 2);
	cm->listen_destroy(listen);
	node_close(&node);
	g_assert_cmpuint(daemon_.shares, ==, 0);
	g_assert_cmpuint(sockets(), ==, before);
}

/* What the daemon gives cannot be used: the address is given back, time after time, and can be had later. */
static void
useless(void)
{
	const struct ri_cm_ops *cm = vro_provider_entry()->cm;
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = 7175};
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *node = node_of(vth);
	struct ri_listen *listen = NULL;
	unsigned before = descriptors();

	for (unsigned life = 0; life < 3; life++) {
		daemon_.wrong = true;
		g_assert_cmpint(cm->listen(node->context, 1, 0, &service, 8, &listen), !=,
				RI_SUCCESS);
		g_assert_cmpuint(daemon_.shares, ==, 0);
		g_assert_cmpuint(descriptors(), ==, before);
	}
	daemon_.wrong = false;
	g_assert_cmpint(cm->listen(node->context, 1, 0, &service, 8, &listen), ==, RI_SUCCESS);
	g_assert_cmpuint(daemon_.shares, ==, 1);
	cm->listen_destroy(listen);
	node_close(&node);
	g_assert_cmpuint(daemon_.shares, ==, 0);
}

/* Whatever the attempts at other addresses of the loopback end with, the log names the address that was wanted. */
static void
no_loopback(void)
{
	static const struct {
		unsigned full;
		enum ri_status then;
	} rows[] = {{UINT32_MAX, RI_SUCCESS}, {1, RI_ERR_RESOURCES}, {100, RI_ERR_RESOURCES}};
	const struct ri_addr own = roce_address(0);

	g_unsetenv("ITAPI_ROCE_ADDRESS");
	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct vth *vth RI_AT_END(vth_free) = vth_new(false);
		struct ri_host *host = (struct ri_host *)(uintptr_t)vth_host(vth);
		struct ri_upcalls upcalls = {.size = sizeof(upcalls)};
		struct ri_open open = {.host = host, .upcalls = &upcalls, .name = "roce:lo"};
		struct ri_rnic *rnic = NULL;

		host->share = share;
		host->share_over = share_over;
		host->share_service = share_service;
		daemon_.full = rows[i].full;
		daemon_.then = rows[i].then;
		g_assert_cmpint(vro_provider_entry()->device->open(&open, &rnic), !=, RI_SUCCESS);
		g_assert_cmpuint(vth_logged(vth, "UDP port 4791 of 127.0.0.1 "), >, 0);
	}
	daemon_.full = 0;
	daemon_.then = RI_SUCCESS;
	roce_address_use(&own);
}

static void *
claim(void *arg)
{
	struct node *node = arg;
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct ri_listen *listen = NULL;

	g_assert_cmpint(vro_provider_entry()->cm->listen(node->context, 1, 0, &service, 8, &listen),
			==, RI_SUCCESS);
	return listen;
}

static unsigned
sockets(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++) {
		int type = 0;
		socklen_t len = sizeof(type);

		count +=
			getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_DGRAM;
	}
	return count;
}

/* The daemon does not answer: other adapters are opened and closed, and a child is forked, which keeps no socket of the address. */
static void
silent_daemon(void)
{
	struct vth *vths[2] = {vth_new(false), vth_new(false)};
	struct node *asking = node_of(vths[0]), *other;
	unsigned before = sockets();
	gint64 begin;
	pthread_t thread;
	void *listen;
	int status;
	pid_t pid;

	daemon_.silent = true;
	g_assert_cmpint(pthread_create(&thread, NULL, claim, asking), ==, 0);
	g_assert_cmpint(sem_wait(&daemon_.asked), ==, 0);
	begin = g_get_monotonic_time();
	other = node_of(vths[1]);
	node_close(&other);
	pid = fork();
	if (pid == 0)
		_exit(sockets() == before ? 0 : 1);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	g_assert_cmpint(g_get_monotonic_time() - begin, <, SOON_US);
	sem_post(&daemon_.answer);
	g_assert_cmpint(pthread_join(thread, &listen), ==, 0);
	g_assert_cmpuint(sockets(), >, before);
	pid = fork();
	if (pid == 0)
		_exit(sockets() == before ? 0 : 1);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	daemon_.silent = false;
	vro_provider_entry()->cm->listen_destroy(listen);
	node_close(&asking);
	vth_free(&vths[0]);
	vth_free(&vths[1]);
}

int
main(int argc, char **argv)
{
	const struct ri_addr own = roce_address(0);

	roce_address_use(&own);
	g_setenv("ITAPI_ROCE_SHARE", "on", TRUE);
	sem_init(&daemon_.asked, 0, 0);
	sem_init(&daemon_.answer, 0, 0);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/share/any-port", any_port);
	g_test_add_func("/roce/share/whole-services", whole_services);
	g_test_add_func("/roce/share/port-of-two", port_of_two);
	g_test_add_func("/roce/share/half-claims", half_claims);
	g_test_add_func("/roce/share/useless", useless);
	g_test_add_func("/roce/share/no-loopback", no_loopback);
	g_test_add_func("/roce/share/silent-daemon", silent_daemon);
	return g_test_run();
}
