/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Changes of size: queues of endpoints that hold requests [IT 3], queues of events [IT 6.5]. */

#include <string.h>

#include "cm_scene.h"
#include "it_ext.h"

#define MANY 300

static it_status_t
queue_size(struct end *end, unsigned int bit, size_t size)
{
	it_ep_attributes_t attr = end->attr;

	attr.max_request_dtos = attr.max_recv_dtos = size;
	return it_ep_modify(end->ep, (it_ep_param_mask_t)bit, &attr);
}

static size_t
slots(struct end *end, unsigned int bit)
{
	it_ep_param_t params;

	g_assert_cmpint(it_ep_query(end->ep, (it_ep_param_mask_t)bit, &params), ==, IT_SUCCESS);
	return bit == IT_EP_PARAM_MAX_REQ_DTO ? params.attr.max_request_dtos
					      : params.attr.max_recv_dtos;
}

static bool
skip(struct pair *pair)
{
	if (pair->active.info->ep_work_queues_resizable)
		return false;
	pair_inapplicable("wq_resizable is not claimed");
	return true;
}

/* Receives numbered from `first` on, each for 4 octets of its own, until the queue is full. */
static unsigned int
fill_receives(struct end *end, unsigned int first)
{
	it_status_t status;

	for (;; first++) {
		it_lmr_triplet_t segment = end_segment(end, 8 * first, 4);

		status = it_post_recv(end->ep, &segment, 1, first, 0);
		if (status != IT_SUCCESS)
			break;
	}
	g_assert_cmpint(status, ==, IT_ERR_TOO_MANY_POSTS);
	return first;
}

/* Send that many messages, each with its own number. */
static void
send_numbers(struct pair *pair, unsigned int first, unsigned int count)
{
	for (unsigned int i = first; i < first + count; i++) {
		it_lmr_triplet_t segment = end_segment(&pair->active, 8 * i, 4);
		it_event_t event;

		memcpy(pair->active.buffer + 8 * i, &i, sizeof(i));
		g_assert_cmpint(it_post_send(pair->active.ep, &segment, 1, i, IT_COMPLETION_FLAG),
				==, IT_SUCCESS);
		event = end_expect(pair->active.request, IT_DTO_SEND_CMPL_EVENT);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
	}
}

/* They arrive in order, each in its own place. */
static void
take_numbers(struct pair *pair, unsigned int first, unsigned int count)
{
	for (unsigned int i = first; i < first + count; i++) {
		it_event_t event = end_expect(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT);

		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, i);
		g_assert_cmpmem(pair->passive.buffer + 8 * i, sizeof(i), &i, sizeof(i));
	}
}

/* Receives that were posted before the connection, and on it, are kept whenever the queue grows. */
static void
test_receives(struct pair *pair)
{
	unsigned int posted, more;

	if (skip(pair))
		return;
	posted = fill_receives(&pair->passive, 0);
	g_assert_cmpuint(posted, ==, slots(&pair->passive, IT_EP_PARAM_MAX_RECV_DTO));
	g_assert_cmpint(queue_size(&pair->passive, IT_EP_PARAM_MAX_RECV_DTO, posted * 4), ==,
			IT_SUCCESS);
	g_assert_cmpuint(slots(&pair->passive, IT_EP_PARAM_MAX_RECV_DTO), >=, posted * 4);
	more = fill_receives(&pair->passive, posted);
	g_assert_cmpuint(more, >=, posted * 4);
	pair_establish(pair);
	send_numbers(pair, 0, 5);
	take_numbers(pair, 0, 5);
	/* Again with a queue that holds requests, and both queues in one call. */
	g_assert_cmpint(queue_size(&pair->passive, IT_EP_PARAM_MAX_RECV_DTO, more * 2), ==,
			IT_SUCCESS);
	g_assert_cmpint(queue_size(&pair->passive, IT_EP_PARAM_MAX_RECV_DTO, more * 2), ==,
			IT_SUCCESS);
	send_numbers(pair, 5, 5);
	posted = fill_receives(&pair->passive, more);
	g_assert_cmpint(queue_size(&pair->passive, IT_EP_PARAM_MAX_RECV_DTO, more * 4), ==,
			IT_SUCCESS);
	send_numbers(pair, 10, posted - 10);
	take_numbers(pair, 5, posted - 5);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_CONNECTED);
}

/* Not below the number of outstanding requests; each queue has its status, and nothing changes. */
static void
test_too_small(struct pair *pair)
{
	it_lmr_triplet_t segment = end_segment(&pair->active, 0, 4);
	size_t before;

	if (skip(pair))
		return;
	g_assert_cmpuint(fill_receives(&pair->passive, 0), >, 1);
	before = slots(&pair->passive, IT_EP_PARAM_MAX_RECV_DTO);
	g_assert_cmpint(queue_size(&pair->passive, IT_EP_PARAM_MAX_RECV_DTO, 1), ==,
			IT_ERR_INVALID_RECV_DTO);
	g_assert_cmpuint(slots(&pair->passive, IT_EP_PARAM_MAX_RECV_DTO), ==, before);
	pair_establish(pair);
	/* A request holds its slot until its completion is dequeued. */
	for (int i = 0; i < 4; i++)
		g_assert_cmpint(it_post_send(pair->active.ep, &segment, 1, i, IT_COMPLETION_FLAG),
				==, IT_SUCCESS);
	g_assert_cmpint(queue_size(&pair->active, IT_EP_PARAM_MAX_REQ_DTO, 1), ==,
			IT_ERR_INVALID_EP_ATTR);
	for (int i = 0; i < 4; i++)
		end_expect(pair->active.request, IT_DTO_SEND_CMPL_EVENT);
	g_assert_cmpint(queue_size(&pair->active, IT_EP_PARAM_MAX_REQ_DTO, 2), ==, IT_SUCCESS);
	g_assert_cmpuint(slots(&pair->active, IT_EP_PARAM_MAX_REQ_DTO), ==, 2);
	for (int i = 0; i < 2; i++)
		g_assert_cmpint(it_post_send(pair->active.ep, &segment, 1, i, IT_COMPLETION_FLAG),
				==, IT_SUCCESS);
	g_assert_cmpint(it_post_send(pair->active.ep, &segment, 1, 2, IT_COMPLETION_FLAG), ==,
			IT_ERR_TOO_MANY_POSTS);
	g_assert_cmpint(
		queue_size(&pair->active, IT_EP_PARAM_MAX_REQ_DTO | IT_EP_PARAM_MAX_RECV_DTO, 64),
		==, IT_SUCCESS);
	g_assert_cmpint(it_post_send(pair->active.ep, &segment, 1, 2, IT_COMPLETION_FLAG), ==,
			IT_SUCCESS);
	for (int i = 0; i < 3; i++)
		g_assert_cmpuint(
			end_expect(pair->active.request, IT_DTO_SEND_CMPL_EVENT).dto_cmpl.cookie,
			==, (uint64_t)i);
}

/* Can an endpoint be created with these attributes? */
static bool
takes(struct end *end, const it_ep_attributes_t *attr)
{
	it_ep_handle_t ep = NULL;
	it_status_t status = it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg,
					     IT_EP_NO_FLAG, attr, &ep);

	if (status == IT_SUCCESS)
		pair_ok(it_ep_free(ep));
	return status == IT_SUCCESS;
}

/* More segments than the endpoint was created for, with receives in the queue. */
static void
test_segments(struct pair *pair)
{
	it_lmr_triplet_t out[8], in[8];
	it_ep_attributes_t attr = pair->active.attr;
	it_event_t event;

	if (skip(pair))
		return;
	for (int i = 0; i < 8; i++) {
		out[i] = end_segment(&pair->active, 64 * (size_t)i, 3);
		in[i] = end_segment(&pair->passive, 64 * (size_t)i, 3);
		memset(pair->active.buffer + 64 * i, 'a' + i, 3);
	}
	attr.max_send_segments = attr.max_recv_segments = 8;
	attr.srv.rc.max_rdma_write_segments = 8;
	if (!takes(&pair->active, &attr)) {
		pair_inapplicable("max_send_sge, max_recv_sge or max_write_sge is below 8");
		return;
	}
	g_assert_cmpint(it_post_recv(pair->passive.ep, in, 4, 1, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_post_recv(pair->passive.ep, in, 8, 2, 0), ==,
			IT_ERR_INVALID_NUM_SEGMENTS);
	g_assert_cmpint(it_ep_modify(pair->passive.ep, IT_EP_PARAM_MAX_RECV_SEG, &attr), ==,
			IT_SUCCESS);
	g_assert_cmpint(it_post_recv(pair->passive.ep, in, 8, 2, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_modify(pair->active.ep,
				     IT_EP_PARAM_MAX_SEND_SEG | IT_EP_PARAM_MAX_RDMA_WRITE_SEG,
				     &attr),
			==, IT_SUCCESS);
	pair_establish(pair);
	g_assert_cmpint(it_post_send(pair->active.ep, out, 4, 1, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_post_send(pair->active.ep, out, 8, 2, 0), ==, IT_SUCCESS);
	for (unsigned int i = 1; i <= 2; i++) {
		event = end_expect(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT);
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, i);
		g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, 12 * i);
	}
	for (int i = 0; i < 8; i++)
		g_assert_cmpmem(pair->passive.buffer + 64 * i, 3, pair->active.buffer + 64 * i, 3);
}

struct sender {
	struct pair *pair;
	gint receives; /* posted: no message is sent without a receive */
	gint done;
};

/* Posts as fast as there are receives and takes its completions itself. */
static gpointer
sender_thread(gpointer data)
{
	struct sender *sender = data;
	struct end *end = &sender->pair->active;
	unsigned int posted = 0, completed = 0;
	it_event_t event;

	while (completed < 20 * MANY) {
		it_lmr_triplet_t segment = end_segment(end, 8 * (posted % MANY), 4);

		if (posted < 20 * MANY && (gint)posted < g_atomic_int_get(&sender->receives) &&
		    it_post_send(end->ep, &segment, 1, posted, IT_COMPLETION_FLAG) == IT_SUCCESS)
			posted++;
		while (it_evd_dequeue(end->request, &event) == IT_SUCCESS) {
			g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
			g_assert_cmpuint(event.dto_cmpl.cookie, ==, completed++);
		}
	}
	g_atomic_int_set(&sender->done, 1);
	return NULL;
}

static void
repost(struct sender *sender)
{
	struct end *end = &sender->pair->passive;
	unsigned int number = (unsigned int)sender->receives;
	it_lmr_triplet_t segment = end_segment(end, 8 * (number % MANY), 4);

	g_assert_cmpint(it_post_recv(end->ep, &segment, 1, number, 0), ==, IT_SUCCESS);
	g_atomic_int_inc(&sender->receives);
}

/* Both queues change size all the time while messages run. */
static void
test_under_load(struct pair *pair)
{
	struct sender sender = {.pair = pair};
	unsigned int taken = 0, size = 8;
	it_event_t event;
	GThread *thread;

	if (skip(pair))
		return;
	while (sender.receives < RECV_SLOTS)
		repost(&sender);
	pair_establish(pair);
	thread = g_thread_new("sender", sender_thread, &sender);
	while (taken < 20 * MANY) {
		g_assert_cmpint(it_evd_wait(pair->passive.recv, WAIT_US, &event, NULL), ==,
				IT_SUCCESS);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, taken++);
		if (taken % 50 == 0) {
			size = size >= 200 ? 200 : size + 8;
			g_assert_cmpint(queue_size(&pair->passive, IT_EP_PARAM_MAX_RECV_DTO, size),
					==, IT_SUCCESS);
			(void)queue_size(&pair->active, IT_EP_PARAM_MAX_REQ_DTO, size);
			repost(&sender); /* into the room that was added */
		}
		if (sender.receives < 20 * MANY)
			repost(&sender);
	}
	g_thread_join(thread);
	g_assert_cmpint(sender.done, ==, 1);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_CONNECTED);
}

/* A queue that was created for one event is larger; a modify to a small size is exact. */
static void
test_event_queues(void)
{
	const it_event_type_t streams[] = {IT_DTO_EVENT_STREAM, IT_CM_REQ_EVENT_STREAM,
					   IT_CM_MSG_EVENT_STREAM, IT_ASYNC_AFF_EVENT_STREAM,
					   IT_ASYNC_UNAFF_EVENT_STREAM};
	it_ia_handle_t ia = pair_ia();

	for (size_t i = 0; i < G_N_ELEMENTS(streams); i++) {
		it_evd_param_t params;
		it_evd_handle_t evd;

		g_test_message("%s", it_event_name(streams[i]));
		pair_ok(it_evd_create(ia, streams[i], 0, 1, 1, NULL, &evd, NULL));
		pair_ok(it_evd_query(evd, IT_EVD_PARAM_QUEUE_SIZE, &params));
		g_assert_cmpuint(params.sevd_queue_size, >=, 64);
		if (streams[i] != IT_DTO_EVENT_STREAM) {
			pair_resize(evd, 2);
			pair_ok(it_evd_query(evd, IT_EVD_PARAM_QUEUE_SIZE, &params));
			g_assert_cmpuint(params.sevd_queue_size, ==, 2);
		}
		pair_ok(it_evd_free(evd));
	}
	pair_ok(it_ia_free(ia));
}

static void
add(void)
{
	pair_add("resize/receives", test_receives);
	pair_add("resize/too-small", test_too_small);
	pair_add("resize/segments", test_segments);
	pair_add("resize/under-load", test_under_load);
	pair_add_bare("resize/event-queues", test_event_queues);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
