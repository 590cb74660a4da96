/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Devices of the kernel that go while they are used, and interfaces below them that go down, up and lose addresses. The
 * device is one of the kernel's software devices over an interface of its own, which this program may delete and make
 * again: ITAPI_TEST_LINK=NAME:TYPE:INTERFACE:ADDRESS in the environment says which, as the lab makes it. Without that the tests are
 * skipped.
 *
 * When a device is removed its connections break, requests and receives are flushed, and then [IT 1.6] holds. The kernel
 * may wait for the programs that have the device open, so nothing here waits for the removal before the program has
 * closed the device.
 */

#include <arpa/inet.h>
#include <string.h>
#include <sys/wait.h>

#include "it_net.h"
#include "it_pair.h"

#define OTHER_ADDRESS "10.79.0.77"
#define LONG_ADDRESS  "fd79::77"

static struct {
	const char *name, *type, *interface, *address;
} link_;

/* --- the device and its interface ------------------------------------------------------------- */

static void
interface_make(void)
{
	g_autofree char *make = g_strdup_printf("link add %s type dummy", link_.interface);
	g_autofree char *up = g_strdup_printf("link set %s up", link_.interface);
	g_autofree char *give =
		g_strdup_printf("addr add %s/24 dev %s", link_.address, link_.interface);

	net_ip(make);
	net_ip(up);
	net_ip(give);
}

static void
interface_do(const char *format)
{
	g_autofree char *words = g_strdup_printf("%s dev %s", format, link_.interface);

	net_ip(words);
}

static void
device_make(void)
{
	g_autofree char *line = g_strdup_printf("rdma link add %s type %s netdev %s", link_.name,
						link_.type, link_.interface);
	int status = -1;

	g_assert_true(g_spawn_command_line_sync(line, NULL, NULL, &status, NULL));
	g_assert_cmpint(status, ==, 0);
}

/* Begin to take the device away: the kernel may need this program for that. */
static GPid
begin(const char *first, const char *second, const char *third, const char *fourth)
{
	char *argv[] = {(char *)first, (char *)second, (char *)third, (char *)fourth, NULL};
	GPid pid = 0;

	g_assert_true(g_spawn_async(NULL, argv, NULL,
				    G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
				    &pid, NULL));
	return pid;
}

static GPid
device_remove(void)
{
	return begin("rdma", "link", "delete", link_.name);
}

/* Has it gone before the program has closed it? */
static bool
is_over(GPid *pid)
{
	int status = 0;

	if (*pid != 0 && waitpid(*pid, &status, WNOHANG) == *pid) {
		g_assert_cmpint(status, ==, 0);
		*pid = 0;
	}
	return *pid == 0;
}

/* The removal ends, and the same device is made anew. */
static void
device_again(GPid pid)
{
	g_test_message("the kernel has %s",
		       is_over(&pid) ? "removed the device already" : "waited for this program");
	PAIR_UNTIL(is_over(&pid));
	device_make();
}

/* --- what a program is told ---------------------------------------------------------------------- */

/* What is queued is told first, then that the adapter has failed; returns how many events came. */
static unsigned
await_catastrophe(it_evd_handle_t evd)
{
	it_status_t status;
	it_event_t event;
	unsigned count = 0;

	while ((status = it_evd_wait(evd, WAIT_US, &event, NULL)) == IT_SUCCESS)
		count++;
	g_assert_cmpint(status, ==, IT_ERR_IA_CATASTROPHE);
	return count;
}

/*
 * The connection of an end has ended. It may look orderly: one end hears of the other's first, or siw's interface went down
 * [RI 12.1.5], [RI 12.3.11].
 */
static void
expect_ended(const struct end *end)
{
	it_event_t event = end_next(end->cm_msg);

	if (event.event_number != IT_CM_MSG_CONN_DISCONNECT_EVENT)
		g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_BROKEN_EVENT);
}

/* The connection of an end has ended, before the catastrophe. */
static void
expect_lost(const struct end *end)
{
	expect_ended(end);
	g_assert_cmpuint(await_catastrophe(end->cm_msg), ==, 0);
	g_assert_cmpint(end_state(end), ==, IT_EP_STATE_NONOPERATIONAL);
}

/* All that a program may still ask of a device that is gone. */
static void
expect_gone(struct end *end)
{
	it_lmr_triplet_t part = end_segment(end, 0, 64);
	it_pz_handle_t pz = NULL;
	it_ia_info_t *info = NULL;
	it_lmr_handle_t lmr = NULL;
	it_rmr_context_t context;

	g_assert_cmpint(it_ia_query(end->ia, &info), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(it_pz_create(end->ia, &pz), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(it_lmr_create21(end->pz, end->buffer, NULL, 64, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &lmr, &context),
			==, IT_ERR_IA_CATASTROPHE);
	if (end->ep == NULL)
		return;
	g_assert_cmpint(it_post_send(end->ep, &part, 1, 9, 0), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(it_post_recv((it_handle_t)end->ep, &part, 1, 9, 0), ==,
			IT_ERR_IA_CATASTROPHE);
}

static void
exchange(struct pair *pair, uint64_t value)
{
	memcpy(pair->active.buffer, &value, sizeof(value));
	pair_ok(end_recv(&pair->passive, sizeof(value), value));
	pair_ok(end_send(&pair->active, sizeof(value), value, IT_COMPLETION_FLAG));
	end_done(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT, value, IT_DTO_SUCCESS);
	end_done(pair->active.request, IT_DTO_SEND_CMPL_EVENT, value, IT_DTO_SUCCESS);
	g_assert_cmpmem(pair->passive.buffer + END_BUFFER / 2, sizeof(value), &value,
			sizeof(value));
}

/* A device that was made anew works, in this process. */
static void
expect_works(void)
{
	struct pair pair;

	g_assert_true(pair_open(&pair));
	pair_establish(&pair);
	exchange(&pair, 77);
	pair_disconnect(&pair);
	pair_close(&pair);
}

/* --- a device that goes ------------------------------------------------------------------------- */

/* Nothing but an open adapter, and a listener. */
static void
test_idle(struct pair *pair)
{
	GPid removal = device_remove();

	g_assert_cmpuint(await_catastrophe(pair->passive.cm_req), ==, 0);
	g_assert_cmpuint(await_catastrophe(pair->active.cm_msg), ==, 0);
	expect_gone(&pair->active);
	expect_gone(&pair->passive);
	pair_close(pair);
	device_again(removal);
	expect_works();
}

/* A connection with receives. */
static void
test_connected(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	GPid removal;

	pair_establish(pair);
	exchange(pair, 1);
	for (uint64_t i = 0; i < 3; i++)
		pair_ok(end_recv(b, 64, i));
	removal = device_remove();
	for (uint64_t i = 0; i < 3; i++)
		end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, i, IT_DTO_ERR_FLUSHED);
	g_assert_cmpuint(await_catastrophe(b->recv), ==, 0);
	expect_lost(a);
	expect_lost(b);
	expect_gone(a);
	expect_gone(b);
	pair_close(pair);
	device_again(removal);
	expect_works();
}

/* Each request and receive of a connection that is busy is completed once. */
static void
test_busy(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	uint64_t posted = 0, done = 0;
	it_event_t event;
	it_status_t status;
	GPid removal = 0;

	pair_establish(pair);
	while ((status = pair_write(pair, END_BUFFER / 4, posted, IT_COMPLETION_FLAG)) ==
		       IT_SUCCESS ||
	       status == IT_ERR_TOO_MANY_POSTS) {
		posted += status == IT_SUCCESS;
		if (status == IT_SUCCESS && posted < REQUEST_SLOTS / 2)
			continue;
		if (it_evd_wait(a->request, WAIT_US, &event, NULL) != IT_SUCCESS)
			break;
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, done++);
		if (done == 20)
			removal = device_remove();
		if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS)
			break;
	}
	while ((status = it_evd_wait(a->request, WAIT_US, &event, NULL)) == IT_SUCCESS)
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, done++);
	g_assert_cmpint(status, ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpuint(done, ==, posted);
	g_assert_cmpint(removal, !=, 0);
	expect_lost(a);
	expect_lost(b);
	pair_close(pair);
	device_again(removal);
	expect_works();
}

/* A request that waits for its answer: the attempt fails, and the request cannot be accepted. */
static void
test_attempt(struct pair *pair)
{
	it_event_t event, request;
	GPid removal;

	pair_connect(pair);
	request = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	removal = device_remove();
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	g_assert_true(event.conn.ep == pair->active.ep);
	g_assert_cmpuint(await_catastrophe(pair->active.cm_msg), ==, 0);
	(void)await_catastrophe(pair->passive.cm_req);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, request.conn_req.cn_est_id, NULL, 0), !=,
			IT_SUCCESS);
	pair_close(pair);
	device_again(removal);
	expect_works();
}

/* One adapter is still open when the device is there again: a new one works beside it. */
static void
test_beside(struct pair *pair)
{
	GPid removal = device_remove();

	(void)await_catastrophe(pair->active.cm_msg);
	for (int i = 0; i < 20 && !is_over(&removal); i++)
		g_usleep(100 * 1000);
	if (removal == 0) {
		g_assert_cmpint(it_ia_create(pair_adapter(), 2, 1, &(it_ia_handle_t){NULL}), ==,
				IT_ERR_INVALID_NAME);
		device_make();
		expect_works();
		expect_gone(&pair->active);
		pair_close(pair);
		return;
	}
	pair_close(pair);
	device_again(removal);
	expect_works();
}

/* The interface below is deleted, and the device with it. */
static void
test_interface(struct pair *pair)
{
	GPid removal;

	pair_establish(pair);
	removal = begin("ip", "link", "del", link_.interface);
	expect_ended(&pair->active);
	expect_ended(&pair->passive);
	g_assert_cmpuint(await_catastrophe(pair->active.cm_msg), ==, 0);
	expect_gone(&pair->active);
	pair_close(pair);
	PAIR_UNTIL(is_over(&removal));
	interface_make();
	device_make();
	expect_works();
}

/* --- an interface that changes ------------------------------------------------------------------- */

static bool
is_online(const struct end *end)
{
	it_ia_info_t *info = NULL;
	bool online;

	pair_ok(it_ia_query(end->ia, &info));
	online = info->spigot_info[0].spigot_online == IT_TRUE;
	it_ia_info_free(info);
	return online;
}

static void
expect_spigot(const struct end *end, it_evd_handle_t evd, it_event_type_t number)
{
	it_event_t event = end_expect(evd, number);

	g_assert_true(event.unaff_async.ia == end->ia);
	g_assert_cmpuint(event.unaff_async.spigot_id, ==, 0);
}

static void
test_switch(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_evd_handle_t here = pair_sevd(a->ia, IT_ASYNC_UNAFF_EVENT_STREAM, 1);
	it_evd_handle_t there = pair_sevd(b->ia, IT_ASYNC_UNAFF_EVENT_STREAM, 1);

	g_assert_true(is_online(a));
	for (int i = 0; i < 2; i++) {
		interface_do("link set down");
		expect_spigot(a, here, IT_ASYNC_UNAFF_SPIGOT_OFFLINE);
		expect_spigot(b, there, IT_ASYNC_UNAFF_SPIGOT_OFFLINE);
		g_assert_false(is_online(b));
		interface_do("link set up");
		expect_spigot(a, here, IT_ASYNC_UNAFF_SPIGOT_ONLINE);
		expect_spigot(b, there, IT_ASYNC_UNAFF_SPIGOT_ONLINE);
		g_assert_true(is_online(b));
	}
	/* siw breaks each queue pair with the interface, also one that is not connected [RI 12.3.16]. */
	end_new_ep(a);
	end_new_ep(b);
	pair_establish(pair);
	exchange(pair, 2);
	pair_disconnect(pair);
	pair_ok(it_evd_free(here));
	pair_ok(it_evd_free(there));
	pair_close(pair);
}

/* What is sent while the interface is down fails, and the connection with it; a new one works afterwards. */
static void
test_traffic(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_status_t status;
	it_event_t event;
	GPid removal;

	pair_establish(pair);
	exchange(pair, 1);
	interface_do("link set down");
	status = end_send(a, 64, 2, IT_COMPLETION_FLAG);
	if (status == IT_SUCCESS) {
		event = end_expect(a->request, IT_DTO_SEND_CMPL_EVENT);
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, 2);
		g_test_message("dto status %d", event.dto_cmpl.dto_status);
		g_assert_cmpint(event.dto_cmpl.dto_status, !=, IT_DTO_SUCCESS);
	} else {
		g_assert_cmpint(status, ==, IT_ERR_INVALID_EP_STATE);
	}
	expect_ended(a);
	interface_do("link set up");
	if (strcmp(link_.type, "rxe") == 0) { /* its connection manager is lost [RI 12.2.18] */
		removal = device_remove();
		(void)await_catastrophe(a->cm_msg);
		pair_close(pair);
		device_again(removal);
		expect_works();
		return;
	}
	end_new_ep(a);
	end_new_ep(b);
	while (it_evd_dequeue(b->cm_msg, &event) == IT_SUCCESS)
		;
	pair_establish(pair);
	exchange(pair, 3);
	pair_disconnect(pair);
	pair_close(pair);
}

static bool
has_address(const struct end *end, const char *text)
{
	it_ia_info_t *info = NULL;
	struct in_addr addr;
	bool found = false;

	g_assert_cmpint(inet_pton(AF_INET, text, &addr), ==, 1);
	pair_ok(it_ia_query(end->ia, &info));
	for (size_t i = 0; i < info->spigot_info[0].num_net_addr; i++) {
		const it_net_addr_t *at = &info->spigot_info[0].net_addr[i];

		found |= at->addr_type == IT_IPV4 && at->addr.ipv4.s_addr == addr.s_addr;
	}
	it_ia_info_free(info);
	return found;
}

/* A path to that address of the spigot. */
static it_path_t
path_to(const struct pair *pair, const char *text)
{
	bool is_long = strchr(text, ':') != NULL;
	it_net_addr_t addr = {.addr_type = is_long ? IT_IPV6 : IT_IPV4};
	size_t paths = 1, total = 0;
	it_path_t path;

	if (is_long)
		g_assert_cmpint(inet_pton(AF_INET6, text, &addr.addr.ipv6), ==, 1);
	else
		g_assert_cmpint(inet_pton(AF_INET, text, &addr.addr.ipv4), ==, 1);
	pair_ok(it_get_pathinfo(pair->active.ia, pair->spigot, &addr, &paths, &total, &path));
	g_assert_cmpuint(paths, ==, 1);
	return path;
}

/* A query tells the addresses that the interface has now, and a listener that is made then has them. */
static void
test_addresses(struct pair *pair)
{
	g_assert_true(has_address(&pair->active, link_.address));
	g_assert_false(has_address(&pair->active, OTHER_ADDRESS));
	interface_do("addr add " OTHER_ADDRESS "/24");
	g_assert_true(has_address(&pair->active, OTHER_ADDRESS));
	pair_ok(it_listen_free(pair->listen));
	pair_listen(pair);
	pair->path = path_to(pair, OTHER_ADDRESS);
	pair_establish(pair);
	exchange(pair, 4);
	pair_disconnect(pair);
	interface_do("addr del " OTHER_ADDRESS "/24");
	g_assert_false(has_address(&pair->active, OTHER_ADDRESS));
	pair_close(pair);
	expect_works();
}

/*
 * Connect and accept, when the listener has the address: it follows a moment later than the kernel tells, and then has
 * the device know it, too.
 */
static void
establish_soon(struct pair *pair)
{
	const gint64 end = g_get_monotonic_time() + WAIT_US;
	it_event_t event;

	end_new_ep(&pair->active);
	pair_connect(pair);
	while (it_evd_dequeue(pair->passive.cm_req, &event) != IT_SUCCESS) {
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		g_usleep(1000);
		if (it_evd_dequeue(pair->active.cm_msg, &event) != IT_SUCCESS)
			continue;
		g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
		g_usleep(20 * 1000);
		end_new_ep(&pair->active);
		pair_connect(pair);
	}
	g_assert_cmphex(event.event_number, ==, IT_CM_REQ_CONN_REQUEST_EVENT);
	end_new_ep(&pair->passive);
	pair_ok(it_ep_accept(pair->passive.ep, event.conn_req.cn_est_id, NULL, 0));
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}

static void
use(struct pair *pair, uint64_t value)
{
	establish_soon(pair);
	exchange(pair, value);
	pair_disconnect(pair);
}

/* A listener gets the addresses that come, loses those that go, and goes on with the others [IT 9.4.8]. */
static void
test_follow(struct pair *pair)
{
	const it_path_t first = pair->path;

	for (uint64_t i = 0; i < 2; i++) {
		interface_do("addr add " OTHER_ADDRESS "/24");
		interface_do("addr add " LONG_ADDRESS "/64 nodad");
		pair->path = path_to(pair, OTHER_ADDRESS);
		use(pair, 10 * i + 1);
		pair->path = path_to(pair, LONG_ADDRESS);
		use(pair, 10 * i + 2);
		interface_do("addr del " OTHER_ADDRESS "/24");
		interface_do("addr del " LONG_ADDRESS "/64");
		pair->path = first;
		use(pair, 10 * i + 3);
	}
	pair_close(pair);
}

/* --- each with an open pair, which it closes ----------------------------------------------------- */

struct job {
	void (*test)(struct pair *pair);
};

static void
run(const void *data)
{
	const struct job *job = data;
	struct pair pair;

	if (link_.name == NULL) {
		g_test_skip("there is no device that may be removed (ITAPI_TEST_LINK)");
		return;
	}
	if (!pair_open(&pair)) {
		g_test_skip("no such adapter");
		return;
	}
	job->test(&pair);
}

static void
add_removable(const char *path, void (*test)(struct pair *pair))
{
	g_autofree char *name = g_strdup_printf("/itapi/%s/unplug/%s", pair_adapter(), path);
	struct job *job = g_new(struct job, 1);

	job->test = test;
	g_test_add_data_func_full(name, job, (GTestDataFunc)(void (*)(void))run, g_free);
}

static void
add(void)
{
	add_removable("switch", test_switch);
	add_removable("traffic", test_traffic);
	add_removable("addresses", test_addresses);
	add_removable("follow", test_follow);
	add_removable("idle", test_idle);
	add_removable("connected", test_connected);
	add_removable("busy", test_busy);
	add_removable("attempt", test_attempt);
	add_removable("beside", test_beside);
	add_removable("interface", test_interface);
}

int
main(int argc, char **argv)
{
	const char *text = g_getenv("ITAPI_TEST_LINK");
	g_auto(GStrv) words = g_strsplit(text != NULL ? text : "", ":", 4);

	if (g_strv_length(words) == 4) {
		link_.name = words[0];
		link_.type = words[1];
		link_.interface = words[2];
		link_.address = words[3];
	}
	return pair_main(argc, argv, add);
}
