/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The daemon's client (kal/remote) against a daemon that a thread of the test plays. That daemon
 * may send a wrong value in each field, send unrequested messages, stop reading for a while, and
 * answer too late. Whatever it does, the process must have as many descriptors as before, must have
 * returned what it does not use any more, and must not take more than was lent. With `-m slow`:
 * answers that come after the caller has stopped waiting.
 */
#include <errno.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "kal_fixture.h"
#include "kal_host.h"
#include "kal_remote.h"
#include "kal_remote_share.h"
#include "kal_resources.h"
#include "kal_sock_source.h"
#include "kald_play.h"
#include "ri_calls.h"

#define LENDS     1000u /* more than it is asked for */
#define PROCESSED 60000 /* us: more than the client's pause between two tries */

/* The daemon. What its thread and the test both use is under the lock. */
static struct {
	pthread_mutex_t lock;
	char *folder, *socket;
	int listener, fd; /* fd -1: no client is there */
	GThread *thread;
	bool over, deaf, mute; /* reads nothing; answers nothing */
	unsigned joined;       /* how often a client has */
	unsigned came[KALD_REQUESTS_END];
	uint64_t returned[KAL_RESOURCE_COUNT], lent[KAL_RESOURCE_COUNT];
	int sockets[KALD_SHARE_FDS];
} d;

static void
answer(const struct kald_message *request)
{
	struct kald_message reply;
	size_t count = request->head.number == KALD_SHARE ? KALD_SHARE_FDS : 0;

	if (d.mute || kald_body_size(request->head.number | KALD_REPLY, KALD_OK) == 0)
		return;
	kald_message_begin(&reply, request->head.number | KALD_REPLY, request->head.id, KALD_OK);
	if (request->head.number == KALD_HELLO) {
		reply.body.welcome.version = KALD_VERSION;
		reply.body.welcome.any_peer = 1;
		memcpy(reply.body.welcome.lent, request->body.hello.lent,
		       sizeof(reply.body.welcome.lent));
		memcpy(d.lent, request->body.hello.lent, sizeof(d.lent));
		memset(d.returned, 0, sizeof(d.returned));
	} else if (request->head.number == KALD_BORROW) {
		reply.body.amount = request->body.amount;
		reply.body.amount.amount += LENDS;
		d.lent[reply.body.amount.resource] += reply.body.amount.amount;
	}
	play_send_with(d.fd, &reply, d.sockets, count);
	d.joined += request->head.number == KALD_HELLO;
}

/* One packet; false: the connection is over. */
static bool
request_take(void)
{
	struct kald_message request;
	int fds[KALD_SHARE_FDS];
	uint8_t control[CMSG_SPACE(sizeof(fds))];
	uint8_t octets[KALD_MESSAGE_MAX];
	struct iovec part = {.iov_base = octets, .iov_len = sizeof(octets)};
	struct msghdr packet = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = control,
				.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(d.fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&packet) : NULL;
	size_t count = c != NULL ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

	if (n < 0 && errno == EAGAIN)
		return true;
	if (n <= 0)
		return false;
	if (c != NULL)
		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	g_assert_cmpint(kald_message_read(octets, (size_t)n, &request), ==, KALD_READ);
	/* Only a process that shares an address proves where it is, or what it had. */
	g_assert_true(count == 0 || request.head.number == KALD_SHARE);
	g_assert_cmpuint(request.head.number, <, KALD_REQUESTS_END);
	d.came[request.head.number]++;
	if (request.head.number == KALD_RETURN)
		d.returned[request.body.amount.resource] += request.body.amount.amount;
	answer(&request);
	return true;
}

static gpointer
serve(gpointer arg)
{
	for (bool over = false; !over;) {
		pthread_mutex_lock(&d.lock);
		struct pollfd ready = {.fd = d.fd >= 0 ? d.fd : d.listener, .events = POLLIN};
		bool deaf = d.deaf && d.fd >= 0;
		pthread_mutex_unlock(&d.lock);
		if (deaf || ready.fd < 0)
			g_usleep(1000);
		else
			(void)poll(&ready, 1, 5);
		pthread_mutex_lock(&d.lock);
		if (d.fd < 0 && d.listener >= 0) {
			d.fd = accept4(d.listener, NULL, NULL, SOCK_CLOEXEC);
		} else if (d.fd >= 0 && !d.deaf && !request_take()) {
			close(d.fd);
			d.fd = -1;
		}
		over = d.over;
		pthread_mutex_unlock(&d.lock);
	}
	return arg;
}

/* A counter of the daemon, as it is now. */
static uint64_t
now_of(const void *counter, bool is_long)
{
	uint64_t now;

	pthread_mutex_lock(&d.lock);
	now = is_long ? *(const uint64_t *)counter : *(const unsigned *)counter;
	pthread_mutex_unlock(&d.lock);
	return now;
}

/* Its socket, which a client finds from now on. */
static void
come(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	g_strlcpy(addr.sun_path, d.socket, sizeof(addr.sun_path));
	(void)g_unlink(d.socket);
	g_assert_cmpint(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), ==, 0);
	g_assert_cmpint(listen(fd, 8), ==, 0);
	pthread_mutex_lock(&d.lock);
	d.listener = fd;
	pthread_mutex_unlock(&d.lock);
}

static void
go(void)
{
	pthread_mutex_lock(&d.lock);
	close(d.listener);
	if (d.fd >= 0)
		close(d.fd);
	d.listener = d.fd = -1;
	pthread_mutex_unlock(&d.lock);
}

static void
begin(struct fixture *f)
{
	memset(&d, 0, sizeof(d));
	d.folder = g_dir_make_tmp("kald-XXXXXX", NULL);
	d.socket = g_build_filename(d.folder, "socket", NULL);
	d.listener = d.fd = -1;
	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		d.sockets[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	come();
	d.thread = g_thread_new("daemon", serve, NULL);
	g_setenv("ITAPI_KALD", d.socket, TRUE);
	*f = fixture_open();
	g_assert_cmpuint(now_of(&d.joined, false), ==, 1);
}

static void
end(struct fixture *f)
{
	if (f != NULL)
		fixture_close(f);
	pthread_mutex_lock(&d.lock);
	d.over = true;
	pthread_mutex_unlock(&d.lock);
	g_thread_join(d.thread);
	close(d.listener);
	if (d.fd >= 0)
		close(d.fd);
	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		close(d.sockets[i]);
	(void)g_unlink(d.socket);
	g_assert_cmpint(g_rmdir(d.folder), ==, 0);
	g_free(d.socket);
	g_free(d.folder);
	g_unsetenv("ITAPI_KALD");
}

static void
becomes(const unsigned *counter, unsigned least)
{
	for (unsigned i = 0; i < 10000 && now_of(counter, false) < least; i++)
		g_usleep(1000);
	g_assert_cmpuint(now_of(counter, false), >=, least);
}

/* With the lock, so that the thread does not close it meanwhile. */
static void
say_with(const struct kald_message *message, const int *fds, size_t count)
{
	pthread_mutex_lock(&d.lock);
	g_assert_cmpint(d.fd, >=, 0);
	play_send_with(d.fd, message, fds, count);
	pthread_mutex_unlock(&d.lock);
}

/* The client has read all that was sent before: it answers what it is asked last. */
static void
has_read(void)
{
	unsigned before = (unsigned)now_of(&d.came[KALD_DESCRIPTION], false);
	struct kald_message describe;

	kald_message_begin(&describe, KALD_DESCRIBE, 0, KALD_OK);
	say_with(&describe, NULL, 0);
	becomes(&d.came[KALD_DESCRIPTION], before + 1);
}

/* What is closed may be closed just now. */
static void
fds_become(unsigned count)
{
	for (unsigned i = 0; i < 5000 && raw_count_fds() != count; i++)
		g_usleep(1000);
	g_assert_cmpuint(raw_count_fds(), ==, count);
}

/* --- what nobody has asked for ------------------------------------------------------------------ */

/* Descriptors that come with a message of any kind are not kept, if it is not the answer that has them. */
static void
test_uninvited(void)
{
	static const uint16_t numbers[] = {
		KALD_RECALL,
		KALD_DESCRIBE,
		KALD_CHANGED,
		KALD_HELLO | KALD_REPLY,
		KALD_BORROW | KALD_REPLY,
		KALD_OPEN | KALD_REPLY,
		KALD_LISTEN | KALD_REPLY,
		KALD_DIAL | KALD_REPLY,
		KALD_SHARE | KALD_REPLY,
		KALD_SERVICE | KALD_REPLY,
		777, /* of a later version */
	};
	struct kald_message message;
	struct fixture f RI_AT_END(end);
	unsigned before;

	begin(&f);
	before = raw_count_fds();
	for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++)
		for (size_t count = 1; count <= KALD_SHARE_FDS; count += KALD_SHARE_FDS - 1) {
			kald_message_begin(&message, numbers[i], 12345, KALD_OK);
			message.body.welcome.any_peer = 1;
			if (message.head.length == sizeof(message.head))
				message.head.length += 8;
			if (numbers[i] == (KALD_HELLO | KALD_REPLY))
				kal_lease_amounts(message.body.welcome.lent, NULL);
			say_with(&message, d.sockets, count);
			has_read();
			g_test_message("number %u with %zu descriptors", numbers[i], count);
			fds_become(before);
		}
	g_assert_cmpuint(now_of(&d.joined, false), ==, 1);
}

/* --- lies --------------------------------------------------------------------------------------- */

/* A field of a message, and what it cannot be. */
struct lie {
	uint16_t number;
	size_t at, size;
	uint64_t value;
	uint32_t status;
};

#define FIELD(name) \
	offsetof(struct kald_message, name), sizeof(((const struct kald_message *)0)->name)

static const struct lie lies[] = {
	{KALD_DESCRIBE, FIELD(head.length), 8, 0},
	{KALD_DESCRIBE, FIELD(head.length), KALD_MESSAGE_MAX, 0},
	{KALD_DESCRIBE, FIELD(head.number), 0, 0},
	{KALD_DESCRIBE, FIELD(head.version), 0, 0},
	{KALD_DESCRIBE, FIELD(head.status), KALD_SYSTEM, 0},
	{KALD_RECALL, FIELD(body.amount.resource), KAL_RESOURCE_COUNT, 0},
	{KALD_BORROW | KALD_REPLY, FIELD(body.amount.resource), KAL_RESOURCE_COUNT, 0},
	{KALD_SHARE | KALD_REPLY, FIELD(body.shared.slot), KALD_SLOTS, 0},
	{KALD_HELLO | KALD_REPLY, FIELD(body.welcome.num_nets), KALD_NETS_MAX + 1, 0},
	{KALD_HELLO | KALD_REPLY, FIELD(body.welcome.nets[0].family), 77, 0},
	{KALD_HELLO | KALD_REPLY, FIELD(body.welcome.nets[0].prefix), 33, 0},
	{KALD_HELLO | KALD_REPLY, FIELD(body.welcome.nets[1].prefix), 129, 0},
	{KALD_HELLO | KALD_REPLY, FIELD(body.welcome.nets[1].family), 0, 0},
};

/* All rules are right, and 2 networks are allowed. */
static void
honest(struct kald_message *message, const struct lie *lie)
{
	kald_message_begin(message, lie->number, 12345, lie->status);
	if (lie->number != (KALD_HELLO | KALD_REPLY))
		return;
	message->body.welcome.version = KALD_VERSION;
	message->body.welcome.num_nets = 2;
	message->body.welcome.nets[0] =
		(struct kald_net){.family = AF_INET, .prefix = 8, .octets = {127}};
	message->body.welcome.nets[1] =
		(struct kald_net){.family = AF_INET6, .prefix = 128, .octets = {[15] = 1}};
}

/* The daemon lies and is gone: nothing is left of the connection. Then it is there again. */
static void
lies_and_goes(const struct kald_message *message)
{
	const unsigned before = raw_count_fds();
	bool gone = false;

	pthread_mutex_lock(&d.lock);
	close(d.listener);
	d.listener = -1;
	(void)g_unlink(d.socket);
	play_send_with(d.fd, message, d.sockets, KALD_SHARE_FDS);
	pthread_mutex_unlock(&d.lock);
	for (unsigned i = 0; i < 10000 && !gone; i++) {
		pthread_mutex_lock(&d.lock);
		gone = d.fd < 0;
		pthread_mutex_unlock(&d.lock);
		g_usleep(1000);
	}
	g_assert_true(gone);
	/* Without both ends, and where it listened. */
	fds_become(before - 3);
	come();
}

/* A daemon that lies in one field is not believed: the client comes back, and has lost and got nothing. */
static void
test_lies(void)
{
	uint64_t lent[2][KALD_RESOURCES] = {{0}};
	struct kald_message message;
	struct fixture f RI_AT_END(end);
	unsigned before, borrowed;

	begin(&f);
	g_assert_cmpint(fixture_register(&f, 1, NULL), ==, RI_SUCCESS);
	before = raw_count_fds();
	borrowed = (unsigned)now_of(&d.came[KALD_BORROW], false);
	kal_lease_amounts(lent[0], NULL);
	for (unsigned i = 0; i < G_N_ELEMENTS(lies); i++) {
		const struct lie *lie = &lies[i];
		unsigned joined = (unsigned)now_of(&d.joined, false);

		honest(&message, lie);
		memcpy((uint8_t *)&message + lie->at, &lie->value, lie->size);
		if (i == G_N_ELEMENTS(lies) - 1) {
			lies_and_goes(&message);
			becomes(&d.joined, joined + 1);
			break;
		}
		pthread_mutex_lock(&d.lock);
		g_assert_cmpint(d.fd, >=, 0);
		const uint32_t length = message.head.length;
		const int sent[] = {d.sockets[0], d.sockets[1]};
		if (lie->at == offsetof(struct kald_message, head.length)) {
			struct iovec part = {.iov_base = &message,
					     .iov_len = sizeof(message.head) + 8};
			const struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};

			g_assert_cmpint(sendmsg(d.fd, &packet, MSG_NOSIGNAL), >, 0);
		} else {
			play_send_with(d.fd, &message, sent, i % 3);
		}
		pthread_mutex_unlock(&d.lock);
		g_test_message("lie %u, number %u, %u octets", i, lie->number, length);
		becomes(&d.joined, joined + 1);
		has_read();
		fds_become(before);
		kal_lease_amounts(lent[1], NULL);
		g_assert_cmpmem(lent[0], sizeof(lent[0]), lent[1], sizeof(lent[1]));
		g_assert_cmpint(fixture_register(&f, 1, NULL), ==, RI_SUCCESS);
	}
	g_assert_cmpuint(now_of(&d.came[KALD_BORROW], false), ==, borrowed);
}

/* --- what is returned --------------------------------------------------------------------------- */

static void
recall(enum kal_resource resource)
{
	struct kald_message message;

	kald_message_begin(&message, KALD_RECALL, 0, KALD_OK);
	message.body.amount.resource = resource;
	say_with(&message, NULL, 0);
}

static uint64_t
here(enum kal_resource resource)
{
	uint64_t lent[KALD_RESOURCES] = {0};

	kal_lease_amounts(lent, NULL);
	return lent[resource];
}

/* What was lent is here, or was returned, also if the daemon did not read when it called back. */
static void
test_returns(void)
{
	struct kald_message describe;
	struct fixture f RI_AT_END(end);
	uint64_t before;

	begin(&f);
	kald_message_begin(&describe, KALD_DESCRIBE, 0, KALD_OK);
	for (unsigned round = 0; round < 3; round++) {
		g_assert_cmpint(fixture_register(&f, 1, NULL), ==, RI_SUCCESS);
		before = now_of(&d.returned[KAL_RESOURCE_MR], true);
		pthread_mutex_lock(&d.lock);
		d.deaf = true;
		pthread_mutex_unlock(&d.lock);
		/* Its answers fill the socket; messages to it are read all the same. */
		for (unsigned i = 0; i < 4000; i++)
			say_with(&describe, NULL, 0);
		recall(KAL_RESOURCE_MR);
		g_usleep(PROCESSED);
		pthread_mutex_lock(&d.lock);
		d.deaf = false;
		pthread_mutex_unlock(&d.lock);
		for (unsigned i = 0;
		     i < 5000 && now_of(&d.returned[KAL_RESOURCE_MR], true) == before; i++)
			g_usleep(1000);
		has_read();
		g_assert_cmpuint(now_of(&d.returned[KAL_RESOURCE_MR], true), >, before);
		g_assert_cmpuint(here(KAL_RESOURCE_MR) + now_of(&d.returned[KAL_RESOURCE_MR], true),
				 ==, now_of(&d.lent[KAL_RESOURCE_MR], true));
	}
	g_assert_cmpuint(now_of(&d.joined, false), ==, 1);
}

/* What a daemon has called back, and could not get any more, is not returned to the next one, which has not asked for it. */
static void
test_called_back_before(void)
{
	struct kald_message describe;
	struct fixture f RI_AT_END(end);
	unsigned open, returns;

	begin(&f);
	g_assert_cmpint(fixture_register(&f, 1, NULL), ==, RI_SUCCESS);
	open = raw_count_fds();
	returns = (unsigned)now_of(&d.came[KALD_RETURN], false);
	kald_message_begin(&describe, KALD_DESCRIBE, 0, KALD_OK);
	pthread_mutex_lock(&d.lock);
	d.deaf = true;
	pthread_mutex_unlock(&d.lock);
	for (unsigned i = 0; i < 4000; i++)
		say_with(&describe, NULL, 0);
	recall(KAL_RESOURCE_MR);
	g_usleep(PROCESSED);
	go();
	fds_become(open - 3); /* both ends, and where it listened */
	pthread_mutex_lock(&d.lock);
	d.deaf = false;
	pthread_mutex_unlock(&d.lock);
	come();
	becomes(&d.joined, 2);
	has_read();
	g_assert_cmpuint(now_of(&d.came[KALD_RETURN], false), ==, returns);
}

/* --- lives -------------------------------------------------------------------------------------- */

/* After each outage the process connects as soon as after the first one, and claims what it has once. */
static void
test_outages(void)
{
	struct fixture f RI_AT_END(end);
	unsigned open, told;

	begin(&f);
	g_assert_cmpint(fixture_register(&f, 1, NULL), ==, RI_SUCCESS);
	open = raw_count_fds();
	for (unsigned life = 1; life <= 2; life++) {
		gint64 since;

		told = (unsigned)now_of(&d.came[KALD_OPEN], false);
		go();
		g_usleep(200000); /* it has tried once in vain */
		come();
		since = g_get_monotonic_time();
		becomes(&d.joined, life + 1);
		g_assert_cmpint(g_get_monotonic_time() - since, <, 4 * G_USEC_PER_SEC);
		has_read();
		for (unsigned i = 0; i < 3; i++) {
			recall(KAL_RESOURCE_MR);
			g_assert_cmpint(fixture_register(&f, 1, NULL), ==, RI_SUCCESS); /* asks */
		}
		g_assert_cmpuint(now_of(&d.came[KALD_OPEN], false), ==, told + 1);
		fds_become(open);
	}
}

static struct ri_share
address(void)
{
	return (struct ri_share){.port = 4791,
				 .addr = {.family = RI_ADDR_IPV4, .octets = {127, 99, 3, 4}},
				 .fd = -1};
}

/* An address is shared and given up, time after time: no socket is left of it, and the next request goes without a descriptor. */
static void
test_shares(void)
{
	struct fixture f RI_AT_END(end);
	unsigned open;

	begin(&f);
	const struct ri_host *host = kal_host_here();

	open = raw_count_fds();
	for (unsigned life = 0; life < 3; life++) {
		struct ri_share share = address();

		g_assert_cmpint(host->share(host->self, &share), ==, RI_SUCCESS);
		g_assert_cmpuint(raw_count_fds(), ==, open + KALD_SHARE_FDS + 1);
		g_assert_cmpint(host->share_service(host->self, &share, 5, false), ==, RI_SUCCESS);
		host->share_over(host->self, &share);
		ri_close(share.fd);
		fds_become(open);
		g_assert_cmpint(fixture_register(&f, 1, NULL), ==, RI_SUCCESS);
	}
}

static void
services_end(struct ri_share *share, uint32_t count)
{
	const struct ri_host *host = kal_host_here();

	for (uint32_t number = 0; number < count; number++)
		g_assert_cmpint(host->share_service(host->self, share, number, true), ==,
				RI_SUCCESS);
}

/* The daemon is killed, and a new one hears of `over` services that ended. */
static void
killed_then_told(unsigned over, bool ends_meanwhile, struct ri_share *share)
{
	unsigned before, joined = (unsigned)now_of(&d.joined, false);
	unsigned open = raw_count_fds();

	go();
	fds_become(open - 3); /* both ends, and where it listened */
	before = (unsigned)now_of(&d.came[KALD_SERVICE_OVER], false);
	if (ends_meanwhile)
		services_end(share, over);
	pthread_mutex_lock(&d.lock);
	d.deaf = false;
	pthread_mutex_unlock(&d.lock);
	come();
	becomes(&d.joined, joined + 1);
	becomes(&d.came[KALD_SERVICE_OVER], before + over);
	has_read();
	g_assert_cmpuint(now_of(&d.came[KALD_SERVICE_OVER], false), ==, before + over);
}

/*
 * A new daemon gets the messages about services that ended while no daemon was there, and those that a killed daemon may not have read. An
 * answer to a later request shows that a daemon has read them.
 */
static void
test_services_over(void)
{
	struct ri_share share = address();
	struct fixture f RI_AT_END(end);

	begin(&f);
	const struct ri_host *host = kal_host_here();

	g_assert_cmpint(host->share(host->self, &share), ==, RI_SUCCESS);
	killed_then_told(67, true, &share);
	killed_then_told(67, false, &share);
	g_assert_cmpint(host->share_service(host->self, &share, 5, false), ==, RI_SUCCESS);
	killed_then_told(0, false, &share);
	pthread_mutex_lock(&d.lock);
	d.deaf = true;
	pthread_mutex_unlock(&d.lock);
	services_end(&share, 3);
	killed_then_told(3, false, &share);
	host->share_over(host->self, &share);
	ri_close(share.fd);
}

static void
hears(bool hears_again)
{
	pthread_mutex_lock(&d.lock);
	d.deaf = !hears_again;
	pthread_mutex_unlock(&d.lock);
}

/* What has ended while the daemon reads nothing, and the socket is full, is said when it reads again. */
static void
test_ends_later(void)
{
	struct sockaddr_storage sa = {.ss_family = AF_INET};
	struct ri_share share = address();
	struct kal_fd fd = {0};
	struct fixture f RI_AT_END(end);
	unsigned closes;

	begin(&f);
	const struct ri_host *host = kal_host_here();

	((struct sockaddr_in *)&sa)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (unsigned life = 0; life < 3; life++) {
		g_assert_cmpint(host->share(host->self, &share), ==, RI_SUCCESS);
		g_assert_cmpint(kal_sock_source()->listen(&fd, &sa, sizeof(struct sockaddr_in)), ==,
				0);
		g_assert_cmpint(kal_remote_open("other"), ==, RI_SUCCESS);
		closes = (unsigned)now_of(&d.came[KALD_CLOSE], false);
		hears(false);
		/* More than a socket takes. */
		for (unsigned i = 0; i < 3000; i++)
			kal_remote_close("more");
		kal_sock_source()->listen_over(&fd);
		host->share_over(host->self, &share);
		kal_remote_close("other");
		hears(true);
		becomes(&d.came[KALD_LISTEN_OVER], life + 1);
		becomes(&d.came[KALD_SHARE_OVER], life + 1);
		becomes(&d.came[KALD_CLOSE], closes + 3001);
		ri_close(share.fd);
		kal_fd_close(&fd);
	}
	has_read();
	g_assert_cmpuint(now_of(&d.came[KALD_CLOSE], false), ==, closes + 3001);
	g_assert_cmpuint(now_of(&d.joined, false), ==, 1);
}

/* --- too late ----------------------------------------------------------------------------------- */

/* A call that got no answer in time has failed, so what the daemon may grant yet is given back. */
static void
test_late(void)
{
	struct sockaddr_storage sa = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&sa;
	struct ri_share kept = address(), share = address();
	struct kal_fd fd = {0};
	struct fixture f RI_AT_END(end);

	begin(&f);
	const struct ri_host *host = kal_host_here();

	in->sin_family = AF_INET;
	in->sin_port = htons(4711);
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	g_assert_cmpint(host->share(host->self, &kept), ==, RI_SUCCESS);
	pthread_mutex_lock(&d.lock);
	d.mute = true;
	pthread_mutex_unlock(&d.lock);
	share.addr.octets[3]++;
	g_assert_cmpint(host->share(host->self, &share), !=, RI_SUCCESS);
	becomes(&d.came[KALD_SHARE_OVER], 1);
	g_assert_cmpint(host->share_service(host->self, &kept, 5, false), !=, RI_SUCCESS);
	becomes(&d.came[KALD_SERVICE_OVER], 1);
	g_assert_cmpint(kal_sock_source()->listen(&fd, &sa, sizeof(*in)), ==, EACCES);
	becomes(&d.came[KALD_LISTEN_OVER], 1);
	g_assert_cmpint(kal_remote_open("other"), ==, RI_ERR_PERMISSION);
	becomes(&d.came[KALD_CLOSE], 1);
	pthread_mutex_lock(&d.lock);
	d.mute = false;
	pthread_mutex_unlock(&d.lock);
	killed_then_told(1, false,
			 &kept); /* it may have granted the service before it was killed */
	host->share_over(host->self, &kept);
	ri_close(kept.fd);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	if (g_test_slow()) {
		g_test_add_func("/kal/remote/played/late", test_late);
		return g_test_run();
	}
	g_test_add_func("/kal/remote/played/uninvited", test_uninvited);
	g_test_add_func("/kal/remote/played/lies", test_lies);
	g_test_add_func("/kal/remote/played/returns", test_returns);
	g_test_add_func("/kal/remote/played/called-back-before", test_called_back_before);
	g_test_add_func("/kal/remote/played/outages", test_outages);
	g_test_add_func("/kal/remote/played/shares", test_shares);
	g_test_add_func("/kal/remote/played/services-over", test_services_over);
	g_test_add_func("/kal/remote/played/ends-later", test_ends_later);
	return g_test_run();
}
