/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "kal_live_read.h"
#include "kal_sums.h"
#include "ri_load.h"

/* No providers are compiled into this program. */
const ri_provider_entry_fn ri_builtin_entries[] = {NULL};

enum ri_status
fixture_call(struct fixture *f, enum kal_call_number call, const void *req, size_t req_len,
	     void *rep, size_t rep_len)
{
	struct kal_msg msg = {.call = call,
			      .fd = -1,
			      .req = req,
			      .req_len = req_len,
			      .rep = rep,
			      .rep_len = rep_len};
	enum ri_status status = kal_call(f->client, &msg);

	if (status == RI_SUCCESS)
		g_assert_cmpuint(msg.rep_len, ==, rep_len);
	kal_sums_check(f->client);
	return status;
}

enum ri_status
fixture_id(struct fixture *f, enum kal_call_number call, uint32_t id)
{
	struct kal_id_req req = {id};

	return fixture_call(f, call, &req, sizeof(req), NULL, 0);
}

void
fixture_config(const char *text)
{
	static char *path;

	if (path != NULL)
		g_assert_cmpint(unlink(path), ==, 0);
	g_clear_pointer(&path, g_free);
	g_unsetenv("ITAPI_CONFIG");
	if (text == NULL)
		return;
	int fd = g_file_open_tmp("kal-fixture-XXXXXX", &path, NULL);
	g_assert_cmpint(fd, >=, 0);
	close(fd);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
}

struct fixture
fixture_open(void)
{
	return fixture_open_on(kal_host_default());
}

struct fixture
fixture_open_on(const struct ri_host *host)
{
	struct kal_client_params params = {.host = host};
	struct kal_rnic_open_req open = {.name = "fake"};
	struct kal_rnic_open_rep opened;
	struct kal_id_rep id;
	struct kal_cq_create_req cq = {.entries = 10, .ctx = 0xc0};
	struct kal_cq_rep cq_rep;
	struct fixture f;

	g_assert_cmpint(kal_client_open(&params, &f.client), ==, RI_SUCCESS);
	g_assert_cmpint(
		fixture_call(&f, KAL_RNIC_OPEN, &open, sizeof(open), &opened, sizeof(opened)), ==,
		RI_SUCCESS);
	f.rnic = opened.id;
	g_assert_cmpint(fixture_call(&f, KAL_PD_CREATE, &(struct kal_id_req){f.rnic},
				     sizeof(struct kal_id_req), &id, sizeof(id)),
			==, RI_SUCCESS);
	f.pd = id.id;
	cq.rnic = f.rnic;
	g_assert_cmpint(fixture_call(&f, KAL_CQ_CREATE, &cq, sizeof(cq), &cq_rep, sizeof(cq_rep)),
			==, RI_SUCCESS);
	f.cq = cq_rep.id;
	return f;
}

/* --- a host on which time stands still --------------------------------------------------------- */

#define NS_PER_S 1000000000u

static struct {
	pthread_mutex_t lock;
	GPtrArray *timers; /* that wait for fixture_time_passes() */
	unsigned count;
	uint64_t deadline;
} frozen = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The timer is not frozen any more. The host is called under the lock: a timer that is stopped does not fire later. */
static void
timer_start_frozen(void *self, struct ri_timer *timer, uint64_t deadline)
{
	const struct ri_host *host = kal_host_default();
	bool far = deadline != RI_NEVER && deadline > host->now(self) + NS_PER_S;

	pthread_mutex_lock(&frozen.lock);
	g_ptr_array_remove_fast(frozen.timers, timer);
	if (far) {
		g_ptr_array_add(frozen.timers, timer);
		frozen.count++;
		frozen.deadline = deadline;
	}
	host->timer_start(self, timer, far ? RI_NEVER : deadline);
	pthread_mutex_unlock(&frozen.lock);
}

static void
timer_stop_frozen(void *self, struct ri_timer *timer)
{
	pthread_mutex_lock(&frozen.lock);
	g_ptr_array_remove_fast(frozen.timers, timer);
	pthread_mutex_unlock(&frozen.lock);
	/* This may wait for the timer's function, which may call timer_start. */
	kal_host_default()->timer_stop(self, timer);
}

const struct ri_host *
fixture_frozen_host(void)
{
	static struct ri_host host;

	host = *kal_host_default();
	host.timer_start = timer_start_frozen;
	host.timer_stop = timer_stop_frozen;
	if (frozen.timers == NULL)
		frozen.timers = g_ptr_array_new();
	g_assert_cmpuint(frozen.timers->len, ==, 0);
	frozen.count = 0;
	return &host;
}

void
fixture_time_passes(void)
{
	const struct ri_host *host = kal_host_default();

	pthread_mutex_lock(&frozen.lock);
	for (guint i = 0; i < frozen.timers->len; i++)
		host->timer_start(host->self, g_ptr_array_index(frozen.timers, i), 0);
	g_ptr_array_set_size(frozen.timers, 0);
	pthread_mutex_unlock(&frozen.lock);
}

unsigned
fixture_frozen_count(void)
{
	unsigned count;

	pthread_mutex_lock(&frozen.lock);
	count = frozen.count;
	pthread_mutex_unlock(&frozen.lock);
	return count;
}

uint64_t
fixture_frozen_deadline(void)
{
	uint64_t deadline;

	pthread_mutex_lock(&frozen.lock);
	g_assert_cmpuint(frozen.count, >, 0);
	deadline = frozen.deadline;
	pthread_mutex_unlock(&frozen.lock);
	return deadline;
}

void
fixture_close(struct fixture *f)
{
	kal_sums_check(f->client);
	kal_client_close(f->client);
	g_assert_cmpint(fake_objects(), ==, 0);
	fake_reset();
}

uint32_t
fixture_qp(struct fixture *f, uint64_t ctx, uint32_t ird, uint32_t ord)
{
	struct kal_qp_create_req req = {.pd = f->pd, .send_cq = f->cq, .recv_cq = f->cq};
	struct kal_qp_create_rep rep;

	req.init.ctx = ctx;
	req.init.ird = ird;
	req.init.ord = ord;
	g_assert_cmpint(fixture_call(f, KAL_QP_CREATE, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	return rep.id;
}

enum ri_status
fixture_register(struct fixture *f, uint64_t length, uint32_t *id)
{
	struct kal_mr_req req = {.id = f->pd, .addr = 4096, .length = length, .access = 3};
	struct kal_mr_rep rep;
	enum ri_status status = fixture_call(f, KAL_MR_REG, &req, sizeof(req), &rep, sizeof(rep));

	if (id != NULL)
		*id = rep.id;
	return status;
}

uint32_t
fixture_listen(struct fixture *f, uint64_t ctx, uint16_t *port, uint32_t backlog)
{
	struct kal_listen_req req = {.rnic = f->rnic, .backlog = backlog, .ctx = ctx};
	struct kal_listen_rep rep;

	req.service.kind = RI_SERVICE_PORT;
	req.service.port = *port;
	g_assert_cmpint(fixture_call(f, KAL_LISTEN, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	*port = rep.service.port;
	g_assert_cmpuint(*port, !=, 0);
	return rep.id;
}

void
fixture_connect_req(struct kal_cm_req *req, uint32_t qp, bool ipv6, uint16_t port)
{
	memset(req, 0, sizeof(*req));
	req->qp = qp;
	req->ird = 4;
	req->ord = 3;
	req->service.kind = RI_SERVICE_PORT;
	req->service.port = port;
	if (ipv6)
		req->peer = (struct ri_addr){.family = RI_ADDR_IPV6, .octets = {[15] = 1}};
	else
		req->peer = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}};
}

bool
fixture_no_descriptor_limit(void)
{
	const char *preload = g_getenv("LD_PRELOAD");

	if (preload == NULL || strstr(preload, "vgpreload") == NULL)
		return false;
	g_test_skip("valgrind accepts and closes where the kernel lets connections wait");
	return true;
}

struct kal_event
fixture_event(struct fixture *f)
{
	struct kal_event event;

	/* What a thread of the kAL does meanwhile is counted again, too. */
	for (gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
	     !kal_next_event(f->client, &event);) {
		struct pollfd polled = {.fd = kal_client_fd(f->client), .events = POLLIN};

		kal_sums_check(f->client);
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		g_assert_cmpint(poll(&polled, 1, 100), >=, 0);
	}
	kal_sums_check(f->client);
	return event;
}

struct kal_cm_event
fixture_cm(struct fixture *f, enum kal_cm_kind kind, uint64_t ctx)
{
	struct kal_event event = fixture_event(f);

	g_assert_cmpuint(event.kind, ==, KAL_EVENT_CM);
	g_assert_cmpuint(event.u.cm.kind, ==, kind);
	g_assert_cmpuint(event.ctx, ==, ctx);
	return event.u.cm;
}

bool
fixture_silent(struct fixture *f)
{
	struct pollfd polled = {.fd = kal_client_fd(f->client), .events = POLLIN};
	struct kal_event event;

	if (kal_next_event(f->client, &event))
		return false;
	(void)poll(&polled, 1, 20);
	return !kal_next_event(f->client, &event);
}

enum ri_qp_state
fixture_state(struct fixture *f, uint32_t qp)
{
	struct ri_qp_attr attr;

	g_assert_cmpint(fixture_call(f, KAL_QP_QUERY, &(struct kal_id_req){qp},
				     sizeof(struct kal_id_req), &attr, sizeof(attr)),
			==, RI_SUCCESS);
	return (enum ri_qp_state)attr.state;
}

/* --- raw peers ------------------------------------------------------------------------------ */

static void
limit(int fd)
{
	struct timeval minute = {.tv_sec = 60};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
}

int
raw_listen(uint16_t *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_assert_cmpint(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
	g_assert_cmpint(listen(fd, 100), ==, 0);
	g_assert_cmpint(getsockname(fd, (struct sockaddr *)&sa, &len), ==, 0);
	limit(fd);
	*port = sa.sin_port;
	return fd;
}

int
raw_keep(uint16_t *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sa);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_assert_cmpint(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
	/* Only now: before it, the kernel might choose the port of another socket that has this option. */
	g_assert_cmpint(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), ==, 0);
	g_assert_cmpint(getsockname(fd, (struct sockaddr *)&sa, &len), ==, 0);
	*port = sa.sin_port;
	return fd;
}

static void
note_path(void *arg, const struct kal_live_item *item)
{
	struct kal_live_path *path = arg;

	if (item->slot.kind == KAL_LIVE_QP)
		*path = item->slot.is.path;
}

void
fixture_shown(uint16_t local, uint16_t peer)
{
	struct kal_live_path path = {.local_port = 0};
	unsigned missed;

	g_assert_cmpint(kal_live_read(0, note_path, &path, &missed), ==, 0);
	g_assert_cmpuint(ntohs(path.local_port), ==, ntohs(local));
	g_assert_cmpuint(ntohs(path.peer_port), ==, ntohs(peer));
}

uint16_t
raw_free_port(void)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	bool is_free = false;

	while (!is_free) {
		int fd RI_AT_END(ri_at_end_close) = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		sa.sin_port = htons((uint16_t)g_random_int_range(2048, 32768));
		is_free = bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
	}
	return sa.sin_port;
}

int
raw_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	limit(fd);
	return fd;
}

int
raw_connect(bool ipv6, uint16_t port)
{
	struct sockaddr_in in4 = {
		.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int result = ipv6 ? connect(fd, (struct sockaddr *)&in6, sizeof(in6))
			  : connect(fd, (struct sockaddr *)&in4, sizeof(in4));

	g_assert_cmpint(result, ==, 0);
	limit(fd);
	return fd;
}

void
raw_send(int fd, const void *data, size_t len)
{
	g_assert_cmpint(send(fd, data, len, MSG_NOSIGNAL), ==, (ssize_t)len);
}

int
raw_recv(int fd, void *data, size_t len)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = recv(fd, (uint8_t *)data + have, len - have, 0);

		if (n < 0 && errno == ECONNRESET)
			return -1;
		g_assert_cmpint(n, >=, 0); /* the limit has passed */
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (int)have;
}

struct kal_mpa_frame
raw_frame(int fd, enum kal_mpa_kind kind, uint8_t *buf)
{
	struct kal_mpa_frame frame;
	enum kal_mpa_found found = KAL_MPA_MORE;
	size_t len = 0, size;

	while (found == KAL_MPA_MORE) {
		g_assert_cmpint(raw_recv(fd, buf + len, 1), ==, 1);
		found = kal_mpa_read(kind, buf, ++len, &frame, &size);
	}
	g_assert_cmpint(found, ==, KAL_MPA_WHOLE);
	return frame;
}

void
raw_send_frame(int fd, const struct kal_mpa_frame *frame)
{
	uint8_t buf[KAL_MPA_FRAME_MAX];
	size_t len = kal_mpa_write(frame, buf, sizeof(buf));

	g_assert_cmpuint(len, >, 0);
	raw_send(fd, buf, len);
}

void
raw_abort(int fd)
{
	struct linger at_once = {.l_onoff = 1};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
}

unsigned
raw_count_fds(void)
{
	g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
	unsigned count = 0;

	while (g_dir_read_name(dir) != NULL)
		count++;
	return count;
}

void
raw_wait_fds(unsigned most)
{
	gint64 until = g_get_monotonic_time() + G_TIME_SPAN_MINUTE;

	while (raw_count_fds() > most) {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_usleep(10000);
	}
}

static uint64_t
processor_ns(void)
{
	struct timespec used;

	g_assert_cmpint(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), ==, 0);
	return (uint64_t)used.tv_sec * G_GUINT64_CONSTANT(1000000000) + (uint64_t)used.tv_nsec;
}

void
raw_wait_rest(void)
{
	const uint64_t look_ms = 200;
	gint64 until = g_get_monotonic_time() + G_TIME_SPAN_MINUTE;
	uint64_t before;

	do {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		before = processor_ns();
		g_usleep(look_ms * 1000);
	} while (processor_ns() - before > look_ms * 1000 * 1000 / 10);
}
