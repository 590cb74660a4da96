/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * RDMA devices of the kernel that are removed while they are used; it_plug.h says which.
 *
 * When a device is removed, its connections break, requests and receives are flushed, and then [IT
 * 1.6] applies. The kernel may wait for the programs that have the device open, so no test waits
 * for the end of the removal before its program has closed the device.
 */
#include "it_dgram.h"
#include "it_plug.h"

/* --- what a program sees ------------------------------------------------------------------------- */

/* The connection of an end has ended, before the catastrophe. */
static void
expect_lost(const struct end *end)
{
	plug_expect_ended(end);
	g_assert_cmpuint(plug_await_catastrophe(end->cm_msg), ==, 0);
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

/* --- a device that goes ------------------------------------------------------------------------- */

/* Nothing but an open adapter, and a listener. */
static void
test_idle(struct pair *pair)
{
	GPid removal = plug_device_remove();

	g_assert_cmpuint(plug_await_catastrophe(pair->passive.cm_req), ==, 0);
	g_assert_cmpuint(plug_await_catastrophe(pair->active.cm_msg), ==, 0);
	expect_gone(&pair->active);
	expect_gone(&pair->passive);
	pair_close(pair);
	plug_device_again(removal);
	plug_expect_works();
}

/* A connection with receives. */
static void
test_connected(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	GPid removal;

	pair_establish(pair);
	plug_exchange(pair, 1);
	for (uint64_t i = 0; i < 3; i++)
		pair_ok(end_recv(b, 64, i));
	removal = plug_device_remove();
	for (uint64_t i = 0; i < 3; i++)
		end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, i, IT_DTO_ERR_FLUSHED);
	g_assert_cmpuint(plug_await_catastrophe(b->recv), ==, 0);
	expect_lost(a);
	expect_lost(b);
	expect_gone(a);
	expect_gone(b);
	pair_close(pair);
	plug_device_again(removal);
	plug_expect_works();
}

/* Posts a request with this cookie. */
typedef it_status_t post_function(void *arg, uint64_t cookie);

/* Post all the time while the device is removed: each request is completed once, in order. Returns the removal. */
static GPid
post_until_removed(it_evd_handle_t evd, post_function *post, void *arg)
{
	uint64_t posted = 0, done = 0;
	it_event_t event;
	it_status_t status;
	GPid removal = 0;

	while ((status = post(arg, posted)) == IT_SUCCESS || status == IT_ERR_TOO_MANY_POSTS) {
		posted += status == IT_SUCCESS;
		if (status == IT_SUCCESS && posted < REQUEST_SLOTS / 2)
			continue;
		if (it_evd_wait(evd, WAIT_US, &event, NULL) != IT_SUCCESS)
			break;
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, done++);
		if (done == 20)
			removal = plug_device_remove();
		if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS)
			break;
	}
	while ((status = it_evd_wait(evd, WAIT_US, &event, NULL)) == IT_SUCCESS)
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, done++);
	g_assert_cmpint(status, ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpuint(done, ==, posted);
	g_assert_cmpint(removal, !=, 0);
	return removal;
}

static it_status_t
write_post(void *arg, uint64_t cookie)
{
	return pair_write(arg, END_BUFFER / 4, cookie, IT_COMPLETION_FLAG);
}

static void
test_busy(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	GPid removal;

	pair_establish(pair);
	removal = post_until_removed(a->request, write_post, pair);
	expect_lost(a);
	expect_lost(b);
	pair_close(pair);
	plug_device_again(removal);
	plug_expect_works();
}

/* A request that waits for its answer: the attempt fails, and the request cannot be accepted. */
static void
test_attempt(struct pair *pair)
{
	it_event_t event, request;
	GPid removal;

	pair_connect(pair);
	request = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	removal = plug_device_remove();
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	g_assert_true(event.conn.ep == pair->active.ep);
	g_assert_cmpuint(plug_await_catastrophe(pair->active.cm_msg), ==, 0);
	(void)plug_await_catastrophe(pair->passive.cm_req);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, request.conn_req.cn_est_id, NULL, 0), !=,
			IT_SUCCESS);
	pair_close(pair);
	plug_device_again(removal);
	plug_expect_works();
}

/* One adapter is still open when the device is there again: a new one works beside it. */
static void
test_beside(struct pair *pair)
{
	GPid removal = plug_device_remove();

	(void)plug_await_catastrophe(pair->active.cm_msg);
	for (int i = 0; i < 20 && !plug_is_over(&removal); i++)
		g_usleep(100 * 1000);
	if (removal == 0) {
		g_assert_cmpint(it_ia_create(pair_adapter(), 2, 1, &(it_ia_handle_t){NULL}), ==,
				IT_ERR_INVALID_NAME);
		plug_device_make();
		plug_expect_works();
		expect_gone(&pair->active);
		pair_close(pair);
		return;
	}
	pair_close(pair);
	plug_device_again(removal);
	plug_expect_works();
}

/* The interface below is deleted, and the device with it. */
static void
test_interface(struct pair *pair)
{
	GPid removal;

	pair_establish(pair);
	removal = plug_begin("ip", "link", "del", plug_link.interface);
	plug_expect_ended(&pair->active);
	plug_expect_ended(&pair->passive);
	g_assert_cmpuint(plug_await_catastrophe(pair->active.cm_msg), ==, 0);
	expect_gone(&pair->active);
	pair_close(pair);
	PAIR_UNTIL(plug_is_over(&removal));
	plug_interface_make();
	plug_device_make();
	plug_expect_works();
}

/* --- datagrams ---------------------------------------------------------------------------------- */

/* All that a program may still ask of an endpoint for datagrams. */
static void
expect_dgram_gone(const struct dgram *dgram)
{
	it_dg_remote_ep_addr_t target = dgram_target(dgram->way, &dgram->info);
	it_lmr_triplet_t part = end_segment(dgram->end, 0, 64);
	it_addr_handle_t way = NULL;

	g_assert_cmpint(dgram_state(dgram->ep), ==, IT_EP_STATE_UD_NONOPERATIONAL);
	g_assert_cmpint(it_post_sendto(dgram->ep, &part, 1, 9, 0, &target), ==,
			IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(it_post_recvfrom(dgram->ep, &part, 1, 9, 0), ==, IT_ERR_IA_CATASTROPHE);
	g_assert_cmpint(
		it_address_handle_create(dgram->end->pz, &(it_path_t){.spigot_id = 0}, 0, &way), ==,
		IT_ERR_IA_CATASTROPHE);
}

static void
expect_datagrams(struct pair *pair, struct dgram *a, struct dgram *b)
{
	*a = dgram_open(pair, &pair->active);
	*b = dgram_open(pair, &pair->passive);
	dgram_offer(b, 4096, HEADER + 64, 1);
	dgram_send(a, &b->info, 64, 2);
	end_done(b->end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	end_done(a->end->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
}

static void
dgrams_end(struct pair *pair, struct dgram *a, struct dgram *b, GPid removal)
{
	struct pair again;

	expect_dgram_gone(a);
	expect_dgram_gone(b);
	dgram_close(a);
	dgram_close(b);
	pair_close(pair);
	plug_device_again(removal);
	g_assert_true(pair_open(&again));
	expect_datagrams(&again, a, b);
	dgram_close(a);
	dgram_close(b);
	pair_close(&again);
}

/* Endpoints with receives and nothing under way. */
static void
test_dgram_idle(struct pair *pair)
{
	struct dgram a, b;
	GPid removal;

	expect_datagrams(pair, &a, &b);
	for (uint64_t i = 0; i < 3; i++)
		dgram_offer(&b, 4096 * i, HEADER + 64, i);
	removal = plug_device_remove();
	for (uint64_t i = 0; i < 3; i++)
		end_done(b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, i, IT_DTO_ERR_FLUSHED);
	g_assert_cmpuint(plug_await_catastrophe(b.end->recv), ==, 0);
	g_assert_cmpuint(plug_await_catastrophe(a.end->request), ==, 0);
	dgrams_end(pair, &a, &b, removal);
}

struct sender {
	it_ep_handle_t ep;
	it_lmr_triplet_t part;
	it_dg_remote_ep_addr_t target;
};

static it_status_t
datagram_post(void *arg, uint64_t cookie)
{
	struct sender *s = arg;

	return it_post_sendto(s->ep, &s->part, 1, cookie, SIGNALED, &s->target);
}

/* Datagrams that find no receive are lost. */
static void
test_dgram_busy(struct pair *pair)
{
	struct sender sender = {.part = end_segment(&pair->active, 0, 512)};
	struct dgram a, b;
	GPid removal;

	expect_datagrams(pair, &a, &b);
	sender.ep = a.ep;
	sender.target = dgram_target(a.way, &b.info);
	removal = post_until_removed(a.end->request, datagram_post, &sender);
	(void)plug_await_catastrophe(b.end->recv);
	dgrams_end(pair, &a, &b, removal);
}

static void
add(void)
{
	plug_add("idle", test_idle);
	plug_add("connected", test_connected);
	plug_add("busy", test_busy);
	plug_add("attempt", test_attempt);
	plug_add("beside", test_beside);
	plug_add("interface", test_interface);
	plug_add("datagrams-idle", test_dgram_idle);
	plug_add("datagrams-busy", test_dgram_busy);
}

int
main(int argc, char **argv)
{
	return plug_main(argc, argv, add);
}
