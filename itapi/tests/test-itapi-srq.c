/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Shared receive queues: creation, query, modification, posts, and which endpoint gets which receive [IT 12]. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "it_ext.h"
#include "it_shared.h"

/* --- the calls --------------------------------------------------------------------------- */

/* S-RQs are created up to the limits of the adapter. */
static void
test_create(struct pair *pair)
{
	struct end *end = &pair->passive;
	it_srq_handle_t srq = (it_srq_handle_t)end;
	it_handle_type_enum_t type;
	it_pz_handle_t pz;

	g_assert_cmpint(it_srq_create(NULL, 1, 1, &srq), ==, IT_ERR_INVALID_PZ);
	g_assert_null(srq);
	g_assert_cmpint(it_srq_create((it_pz_handle_t)end->ep, 1, 1, &srq), ==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_srq_create(end->pz, 1, 1, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_srq_create(end->pz, 100000, 1, &srq), ==, IT_ERR_RESOURCE_RSEG);
	g_assert_cmpint(it_srq_create(end->pz, 1, 0, &srq), ==, IT_ERR_INVALID_SRQ_SIZE);
	g_assert_cmpint(it_srq_create(end->pz, 1, (size_t)1 << 40, &srq), ==,
			IT_ERR_RESOURCE_RECV_DTO);
	g_assert_null(srq);
	/* A receive without segments takes a message of length 0. */
	g_assert_cmpint(it_srq_create(end->pz, 0, 3, &srq), ==, IT_SUCCESS);
	g_assert_cmpint(it_get_handle_type((it_handle_t)srq, &type), ==, IT_SUCCESS);
	g_assert_cmpint(type, ==, IT_HANDLE_TYPE_SRQ);
	g_assert_cmpint(it_srq_free(srq), ==, IT_SUCCESS);
	g_assert_cmpint(it_srq_free(srq), ==, IT_ERR_INVALID_SRQ);
	g_assert_cmpint(it_srq_free((it_srq_handle_t)end->pz), ==, IT_ERR_INVALID_SRQ);
	/* The zone cannot be freed before its S-RQ. */
	g_assert_cmpint(it_pz_create(end->ia, &pz), ==, IT_SUCCESS);
	g_assert_cmpint(it_srq_create(pz, 1, 1, &srq), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(pz), ==, IT_ERR_PZ_BUSY);
	g_assert_cmpint(it_srq_free(srq), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(pz), ==, IT_SUCCESS);
}

/* S-RQs that this process shows, and the receives that they have counted, if they count. */
static size_t
live_queues(uint64_t *receives, bool *counted)
{
	size_t count = 0, total = 0, queues = 0;
	g_autofree itx_live_t *list = NULL;

	g_assert_cmpint(itx_live_list(0, NULL, &count, &total), ==, IT_SUCCESS);
	list = g_new0(itx_live_t, total + 1);
	count = total;
	g_assert_cmpint(itx_live_list(0, list, &count, &total), ==, IT_SUCCESS);
	*receives = 0;
	*counted = true;
	for (size_t i = 0; i < count; i++) {
		if (list[i].kind != ITX_LIVE_SRQ)
			continue;
		queues++;
		if (!pair_certified() || list[i].known != 0)
			g_assert_cmphex(list[i].known, ==, UINT64_C(1) << ITX_COUNTER_RECEIVES);
		*counted = *counted && list[i].known != 0;
		g_assert_cmpstr(list[i].adapter, !=, "");
		*receives += list[i].counters[ITX_COUNTER_RECEIVES];
	}
	return queues;
}

/* Who looks at the process sees an S-RQ and what was posted to it; a post that is refused does not count. */
static void
test_live(struct pair *pair)
{
	struct end *end = &pair->passive;
	it_lmr_triplet_t into = end_segment(end, 0, 8);
	uint64_t before, receives;
	bool counted;
	size_t queues = live_queues(&before, &counted), posted = 0;
	it_srq_handle_t srq;

	g_assert_cmpint(it_srq_create(end->pz, 1, 3, &srq), ==, IT_SUCCESS);
	g_assert_cmpuint(live_queues(&receives, &counted), ==, queues + 1);
	g_assert_cmpuint(receives, ==, before);
	while (it_post_recv((it_handle_t)srq, &into, 1, posted, 0) == IT_SUCCESS)
		posted++;
	g_assert_cmpuint(posted, >=, 3);
	g_assert_cmpuint(live_queues(&receives, &counted), ==, queues + 1);
	g_assert_cmpuint(receives, ==, counted ? before + posted : 0);
	g_assert_cmpint(it_srq_free(srq), ==, IT_SUCCESS);
	g_assert_cmpuint(live_queues(&receives, &counted), ==, queues);
}

/* S-RQs are created up to a limit of the administrator. */
static void
test_create_resources(struct pair *pair)
{
	char *path = NULL;
	int fd = g_file_open_tmp("itapi-XXXXXX", &path, NULL);
	struct end end RI_AT_END(end_close);
	it_srq_handle_t srq[2];

	(void)pair;
	g_assert_cmpint(fd, >=, 0);
	close(fd);
	g_assert_true(g_file_set_contents(path, "[limits.client]\nsrq = 1\n", -1, NULL));
	g_setenv("ITAPI_CONFIG", path, TRUE);
	g_assert_true(end_open(&end));
	g_unsetenv("ITAPI_CONFIG");
	g_assert_cmpint(unlink(path), ==, 0);
	g_free(path);
	g_assert_cmpint(it_srq_create(end.pz, 1, 1, &srq[0]), ==, IT_SUCCESS);
	g_assert_cmpint(it_srq_create(end.pz, 1, 1, &srq[1]), ==, IT_ERR_RESOURCES);
	g_assert_null(srq[1]);
	g_assert_cmpint(it_srq_free(srq[0]), ==, IT_SUCCESS);
}

/* An S-RQ is queried by a mask. */
static void
test_query(struct pair *pair)
{
	struct end *end = &pair->passive;
	struct shared s RI_AT_END(shared_close);
	it_srq_param_t params;
	it_srq_param_t all;

	shared_open(&s, pair);
	all = shared_query(&s);
	g_assert_true(all.ia == end->ia);
	g_assert_true(all.pz == end->pz);
	g_assert_cmpuint(all.max_recv_dtos, >=, SHARED_SIZE);
	g_assert_cmpuint(all.max_recv_segs, >=, pair_at_most("max_recv_sge", 2));
	g_assert_cmpuint(all.low_watermark, ==, 0);
	memset(&params, 0xaa, sizeof(params));
	g_assert_cmpint(it_srq_query(s.srq, IT_SRQ_PARAM_MAX_RECV_SEG, &params), ==, IT_SUCCESS);
	g_assert_cmpuint(params.max_recv_segs, ==, all.max_recv_segs);
	g_assert_cmphex(params.low_watermark, ==, (size_t)0xaaaaaaaaaaaaaaaa);
	g_assert_cmpint(it_srq_query(NULL, IT_SRQ_PARAM_ALL, &params), ==, IT_ERR_INVALID_SRQ);
	g_assert_cmpint(it_srq_query(s.srq, IT_SRQ_PARAM_ALL, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_srq_query(s.srq, (it_srq_param_mask_t)0x40, &params), ==,
			IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_srq_query(s.srq, (it_srq_param_mask_t)0x03, &params), ==,
			IT_ERR_INVALID_MASK);
}

/* A size for which there is no memory. */
static void
resize_without_memory(struct shared *s)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	static void *plugs[16384]; /* 1 GiB: more than the arenas of all threads hold free */
	struct rlimit before, none;
	size_t plugged = 0;

	if (g_getenv("ITAPI_TEST_NO_RSS") != NULL)
		return;
	g_assert_cmpint(getrlimit(RLIMIT_AS, &before), ==, 0);
	none = before;
	none.rlim_cur = 4096;
	g_assert_cmpint(setrlimit(RLIMIT_AS, &none), ==, 0);
	/* Free memory of the heap is not enough either. */
	while (plugged < G_N_ELEMENTS(plugs) && (plugs[plugged] = malloc(64 * 1024)) != NULL)
		plugged++;
	it_status_t status = shared_modify(s, IT_SRQ_PARAM_MAX_RECV_DTO, 16384, 0);
	while (plugged > 0)
		free(plugs[--plugged]);
	g_assert_cmpint(setrlimit(RLIMIT_AS, &before), ==, 0);
	g_assert_cmpint(status, ==, IT_ERR_RESOURCES);
#else
	(void)s;
#endif
}

/* An S-RQ is modified by a mask. */
static void
test_modify(struct pair *pair)
{
	const unsigned int size = IT_SRQ_PARAM_MAX_RECV_DTO;
	const unsigned int low = IT_SRQ_PARAM_LOW_WATERMARK;
	struct shared s RI_AT_END(shared_close);
	it_srq_param_t params = {0};

	shared_open(&s, pair);
	g_assert_cmpint(it_srq_modify(NULL, IT_SRQ_PARAM_ALL, &params), ==, IT_ERR_INVALID_SRQ);
	g_assert_cmpint(it_srq_modify(s.srq, IT_SRQ_PARAM_LOW_WATERMARK, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(shared_modify(&s, 0, 1, 1), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(shared_modify(&s, IT_SRQ_PARAM_ALL, 1, 1), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(shared_modify(&s, size | IT_SRQ_PARAM_MAX_RECV_SEG, 1, 1), ==,
			IT_ERR_INVALID_MASK);
	g_assert_cmpint(shared_modify(&s, low, 0, SHARED_SIZE + 1), ==, IT_ERR_SRQ_LOW_WATERMARK);
	if (end_has(&pair->passive, NEEDS_LOW_WATERMARK)) {
		g_assert_cmpint(shared_modify(&s, low, 0, SHARED_SIZE), ==, IT_SUCCESS);
		g_assert_cmpint(shared_modify(&s, low, 0, 0), ==, IT_SUCCESS);
	}
	if (!pair->passive.info->srq_resizable) {
		g_assert_cmpint(shared_modify(&s, size, 32, 0), ==, IT_ERR_OP_NOT_SUPPORTED);
		return;
	}
	g_assert_cmpint(shared_modify(&s, size, 0, 0), ==, IT_ERR_INVALID_SRQ_SIZE);
	g_assert_cmpint(shared_modify(&s, size, (size_t)1 << 40, 0), ==, IT_ERR_RESOURCE_RECV_DTO);
	g_assert_cmpint(shared_modify(&s, size | low, 8, 9), ==, IT_ERR_SRQ_LOW_WATERMARK);
	resize_without_memory(&s);
	g_assert_cmpuint(shared_query(&s).max_recv_dtos, ==, SHARED_SIZE);
	/* Not below the outstanding receives; none is lost. */
	for (unsigned i = 0; i < 10; i++)
		shared_post(&s, i);
	g_assert_cmpint(shared_modify(&s, size, 8, 0), ==, IT_ERR_INVALID_SRQ_SIZE);
	g_assert_cmpint(shared_modify(&s, size, 40, 0), ==, IT_SUCCESS);
	g_assert_cmpuint(shared_query(&s).max_recv_dtos, >=, 40);
	struct shared_link link = shared_connect(&s, 0, IT_HARD_HI_WATERMARK_DISABLE);
	for (unsigned i = 10; i < 40; i++)
		shared_post(&s, i);
	for (unsigned i = 0; i < 40; i++) {
		shared_send(&s, &link, i);
		g_assert_cmpuint(shared_receive(&s, link.passive), ==, i);
	}
	if (end_has(&pair->passive, NEEDS_LOW_WATERMARK)) {
		g_assert_cmpint(shared_modify(&s, size | low, 4, 2), ==, IT_SUCCESS);
		shared_expect(&s, IT_ASYNC_AFF_SRQ_LOW_WATERMARK, s.srq);
	} else {
		g_assert_cmpint(shared_modify(&s, size | low, 4, 2), ==, IT_ERR_SRQ_LOW_WATERMARK);
		g_assert_cmpint(shared_modify(&s, size, 4, 0), ==, IT_SUCCESS);
	}
	/* A device's queue may not get smaller; a queue may always be larger than what was asked for. */
	if (pair_is_device())
		g_assert_cmpuint(shared_query(&s).max_recv_dtos, >=, 4);
	else
		g_assert_cmpuint(shared_query(&s).max_recv_dtos, ==, 4);
	shared_disconnect(&s, &link);
}

static it_status_t
post(struct shared *s, it_lmr_triplet_t *segments, size_t count, unsigned int flags)
{
	return it_post_recv((it_handle_t)s->srq, segments, count, 7, (it_dto_flags_t)flags);
}

/* Receives of an S-RQ are checked and queued. */
static void
test_post(struct pair *pair)
{
	struct end *end = &pair->passive;
	struct shared s;
	it_lmr_triplet_t segment[20];
	size_t most;

	shared_open(&s, pair);
	for (unsigned i = 0; i < 20; i++)
		segment[i] = end_segment(end, i * 8, 8);
	most = shared_query(&s).max_recv_segs;
	g_assert_cmpint(it_post_recv((it_handle_t)end->pz, segment, 1, 0, 0), ==,
			IT_ERR_INVALID_HANDLE);
	g_assert_cmpint(post(&s, NULL, 1, 0), ==, IT_ERR_FAULT);
	g_assert_cmpint(post(&s, segment, most + 1, 0), ==, IT_ERR_INVALID_NUM_SEGMENTS);
	g_assert_cmpint(post(&s, segment, 1, IT_SOLICITED_WAIT_FLAG), ==, IT_ERR_INVALID_DTO_FLAGS);
	segment[1].lmr = pair->active.lmr; /* of another adapter */
	g_assert_cmpint(post(&s, segment, 2, 0), ==, IT_ERR_INVALID_LMR);
	segment[1].length = 0; /* is not looked at */
	g_assert_cmpint(post(&s, segment, 2, IT_NOTIFY_FLAG), ==, IT_SUCCESS);
	segment[1].lmr = NULL;
	segment[1].length = 1;
	g_assert_cmpint(post(&s, segment, 2, 0), ==, IT_ERR_INVALID_LMR);
	for (unsigned i = 1; i < SHARED_SIZE; i++)
		g_assert_cmpint(post(&s, segment, 1, IT_COMPLETION_FLAG), ==, IT_SUCCESS);
	g_assert_cmpint(post(&s, NULL, 0, 0), ==, IT_ERR_TOO_MANY_POSTS);
	/* Unused receives are freed with the queue, without completions. */
	shared_close(&s);
	end_expect_none(end->recv);
	g_assert_cmpint(post(&s, segment, 1, 0), ==, IT_ERR_INVALID_HANDLE);
}

/* an endpoint with an S-RQ has no receive queue of its own. */
static void
test_ruling_33(struct pair *pair)
{
	it_lmr_triplet_t segment = end_segment(&pair->passive, 0, 8);
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, pair);
	struct shared_link link = shared_connect(&s, 0, IT_HARD_HI_WATERMARK_DISABLE);
	g_assert_cmpint(it_post_recv((it_handle_t)link.passive, &segment, 1, 0, 0), ==,
			IT_ERR_INVALID_EP);
	shared_disconnect(&s, &link);
}

/* --- endpoints --------------------------------------------------------------------------- */

static it_status_t
ep_create(struct end *end, unsigned int flags, const it_ep_attributes_t *attr, it_ep_handle_t *ep)
{
	return it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg,
			       (it_ep_rc_creation_flags_t)flags, attr, ep);
}

/* An S-RQ cannot be freed while an endpoint uses it. */
static void
test_ties(struct pair *pair)
{
	struct end *end = &pair->passive;
	it_ep_attributes_t attr = end->attr;
	struct shared s, foreign;
	it_ep_handle_t ep, second;
	it_ep_param_t params;

	shared_open(&s, pair);
	memset(&foreign, 0, sizeof(foreign));
	g_assert_cmpint(it_srq_create(pair->active.pz, 1, 1, &foreign.srq), ==, IT_SUCCESS);
	g_assert_cmpint(ep_create(end, IT_EP_SRQ, &attr, &ep), ==, IT_ERR_INVALID_SRQ);
	attr.srv.rc.srq = foreign.srq;
	g_assert_cmpint(ep_create(end, IT_EP_SRQ, &attr, &ep), ==, IT_ERR_INVALID_SRQ);
	g_assert_null(ep);
	/* Without the flag the attribute is ignored, and the watermarks, too. */
	attr.srv.rc.hard_hi_watermark = 0;
	g_assert_cmpint(ep_create(end, 0, &attr, &ep), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_query(ep, IT_EP_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_null(params.attr.srv.rc.srq);
	g_assert_cmpint(it_ep_free(ep), ==, IT_SUCCESS);
	attr.srv.rc.srq = s.srq;
	attr.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
	attr.max_recv_dtos = (size_t)1 << 40; /* ignored, too */
	g_assert_cmpint(ep_create(end, IT_EP_SRQ, &attr, &ep), ==, IT_SUCCESS);
	g_assert_cmpint(ep_create(end, IT_EP_SRQ | IT_EP_REUSEADDR, &attr, &second), ==,
			IT_SUCCESS);
	g_assert_cmpint(it_ep_query(ep, IT_EP_PARAM_SRQ, &params), ==, IT_SUCCESS);
	g_assert_true(params.attr.srv.rc.srq == s.srq);
	g_assert_cmpint(it_srq_free(s.srq), ==, IT_ERR_SRQ_BUSY);
	g_assert_cmpint(it_ep_modify(ep, IT_EP_PARAM_SRQ, &attr), ==, IT_ERR_INVALID_MASK);
	if (end->info->ep_work_queues_resizable) {
		g_assert_cmpint(it_ep_query(ep, IT_EP_PARAM_ALL, &params), ==, IT_SUCCESS);
		attr.max_request_dtos = 2 * params.attr.max_request_dtos;
		g_assert_cmpint(it_ep_modify(ep, IT_EP_PARAM_MAX_REQ_DTO, &attr), ==, IT_SUCCESS);
		g_assert_cmpuint(params.attr.max_recv_dtos, ==, (size_t)1 << 40);
		g_assert_cmpint(it_ep_query(ep, IT_EP_PARAM_MAX_RECV_DTO, &params), ==, IT_SUCCESS);
		g_assert_cmpuint(params.attr.max_recv_dtos, ==, (size_t)1 << 40);
	}
	g_assert_cmpint(it_ep_free(ep), ==, IT_SUCCESS);
	g_assert_cmpint(it_srq_free(s.srq), ==, IT_ERR_SRQ_BUSY);
	g_assert_cmpint(it_ep_free(second), ==, IT_SUCCESS);
	shared_close(&s);
	g_assert_cmpint(it_srq_free(foreign.srq), ==, IT_SUCCESS);
	attr.srv.rc.srq = s.srq; /* freed */
	g_assert_cmpint(ep_create(end, IT_EP_SRQ, &attr, &ep), ==, IT_ERR_INVALID_SRQ);
}

/* Messages of several connections arrive in one queue; each event names its endpoint and the receive. */
static void
test_receive(struct pair *pair)
{
	struct shared_link link[3];
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, pair);
	for (unsigned i = 0; i < 3; i++)
		link[i] = shared_connect(&s, 0, IT_HARD_HI_WATERMARK_DISABLE);
	for (unsigned i = 0; i < SHARED_SIZE; i++)
		shared_post(&s, i);
	for (unsigned round = 0; round < 40; round++) {
		unsigned i = round * 7 % 3;

		shared_send(&s, &link[i], round);
		g_assert_cmpuint(shared_receive(&s, link[i].passive), ==, round);
		shared_post(&s, round % SHARED_SIZE); /* the slot is free again */
	}
	/* In the order of sending for each endpoint. */
	for (unsigned i = 0; i < 5; i++)
		shared_send(&s, &link[2], 100 + i);
	for (unsigned i = 0; i < 5; i++)
		g_assert_cmpuint(shared_receive(&s, link[2].passive), ==, 100 + i);
	for (unsigned i = 0; i < 3; i++)
		shared_disconnect(&s, &link[i]);
	end_expect_none(pair->passive.recv);
}

/* Some devices check the buffers against the endpoint's zone; then such an endpoint is refused. */
static bool
zone_refused(const struct shared *s, it_pz_handle_t zone)
{
	const struct end *end = &s->pair->passive;
	it_ep_attributes_t attr = end->attr;
	it_ep_handle_t ep = NULL;
	it_status_t status;

	attr.srv.rc.srq = s->srq;
	status = it_ep_rc_create(zone, end->request, end->recv, end->cm_msg, IT_EP_SRQ, &attr, &ep);
	if (pair_is_device() && status == IT_ERR_OP_NOT_SUPPORTED)
		return true;
	g_assert_cmpint(status, ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_free(ep), ==, IT_SUCCESS);
	return false;
}

/* Buffers belong to the queue's zone; the endpoint may be of another. */
static void
test_zones(struct pair *pair)
{
	struct end *end = &pair->passive;
	it_lmr_triplet_t segment = end_segment(end, 0, 64);
	it_pz_handle_t own = end->pz, other;
	struct shared_link link;
	struct shared s;
	it_event_t event;

	shared_open(&s, pair);
	g_assert_cmpint(it_pz_create(end->ia, &other), ==, IT_SUCCESS);
	if (zone_refused(&s, other)) {
		g_assert_cmpint(it_pz_free(other), ==, IT_SUCCESS);
		shared_close(&s);
		g_test_skip("the device's S-RQ is for endpoints of its own zone");
		return;
	}
	end->pz = other; /* for the endpoint */
	link = shared_connect(&s, 0, IT_HARD_HI_WATERMARK_DISABLE);
	end->pz = own;
	shared_post(&s, 3);
	shared_send(&s, &link, 5);
	g_assert_cmpuint(shared_receive(&s, link.passive), ==, 5);
	/* A buffer of the endpoint's zone is in the wrong zone. */
	g_assert_cmpint(it_lmr_create21(other, end->buffer, NULL, 64, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &segment.lmr, NULL),
			==, IT_SUCCESS);
	g_assert_cmpint(it_post_recv((it_handle_t)s.srq, &segment, 1, 9, 0), ==, IT_SUCCESS);
	shared_send(&s, &link, 6);
	event = end_expect(end->recv, IT_DTO_RC_RECV_CMPL_EVENT);
	g_assert_cmpuint(event.dto_cmpl.cookie, ==, 9);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_LOCAL_PROTECTION);
	end_expect(end->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	shared_disconnect(&s, &link);
	g_assert_cmpint(it_lmr_free(segment.lmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_pz_free(other), ==, IT_SUCCESS);
	shared_close(&s);
}

/* After the end of a connection its unused receives stay in the queue; a reset endpoint still uses the queue. */
static void
test_flush(struct pair *pair)
{
	struct end *passive = &pair->passive;
	struct shared_link link[2];
	struct shared s RI_AT_END(shared_close);
	it_event_t event;

	shared_open(&s, pair);
	link[0] = shared_connect(&s, 0, IT_HARD_HI_WATERMARK_DISABLE);
	link[1] = shared_connect(&s, 0, IT_HARD_HI_WATERMARK_DISABLE);
	for (unsigned i = 0; i < 4; i++)
		shared_post(&s, i);
	g_assert_cmpint(it_ep_disconnect(link[0].passive, NULL, 0), ==, IT_SUCCESS);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_expect(passive->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_expect_none(passive->recv);
	for (unsigned i = 0; i < 3; i++) {
		shared_send(&s, &link[1], i);
		g_assert_cmpuint(shared_receive(&s, link[1].passive), ==, i);
	}
	/* The next connection takes receives from the same queue. */
	it_ep_handle_t fresh = passive->ep;
	passive->ep = link[0].passive;
	end_reset(passive);
	passive->ep = pair->active.ep;
	pair->active.ep = link[0].active;
	end_reset(&pair->active);
	pair->active.ep = passive->ep;
	passive->ep = fresh;
	g_assert_cmpint(it_ep_connect(link[0].active, &pair->path, NULL, &pair->qual,
				      IT_CONNECT_FLAG_TWO_WAY, NULL, 0),
			==, IT_SUCCESS);
	event = end_expect(passive->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpint(it_ep_accept(link[0].passive, event.conn_req.cn_est_id, NULL, 0), ==,
			IT_SUCCESS);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(passive->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	shared_send(&s, &link[0], 77);
	g_assert_cmpuint(shared_receive(&s, link[0].passive), ==, 77);
	shared_disconnect(&s, &link[0]);
	shared_disconnect(&s, &link[1]);
}

/* The adapter is freed with everything under it. */
static void
test_cascade(struct pair *pair)
{
	struct shared_link link;
	struct shared s;
	struct end end;

	(void)pair;
	g_assert_true(end_open(&end));
	g_assert_cmpint(it_srq_create(end.pz, 1, 4, &s.srq), ==, IT_SUCCESS);
	end.attr.srv.rc.srq = s.srq;
	g_assert_cmpint(ep_create(&end, IT_EP_SRQ, &end.attr, &link.active), ==, IT_SUCCESS);
	it_lmr_triplet_t segment = end_segment(&end, 0, 8);
	g_assert_cmpint(it_post_recv((it_handle_t)s.srq, &segment, 1, 0, 0), ==, IT_SUCCESS);
	it_ia_info_free(end.info);
	g_assert_cmpint(it_ia_free(end.ia), ==, IT_SUCCESS);
	g_assert_cmpint(it_srq_free(s.srq), ==, IT_ERR_INVALID_SRQ);
	g_free(end.buffer);
}

static void
add(void)
{
	pair_add_for(NEEDS_SRQ, "srq/create", test_create);
	pair_add_for(NEEDS_SRQ, "srq/create-resources", test_create_resources);
	pair_add_for(NEEDS_SRQ, "srq/live", test_live);
	pair_add_for(NEEDS_SRQ, "srq/query", test_query);
	pair_add_for(NEEDS_SRQ, "srq/modify", test_modify);
	pair_add_for(NEEDS_SRQ | NEEDS_SEGMENTS, "srq/post", test_post);
	pair_add_for(NEEDS_SRQ, "rulings/r-33-no-receives-of-its-own", test_ruling_33);
	pair_add_for(NEEDS_SRQ, "srq/ties", test_ties);
	pair_add_for(NEEDS_SRQ, "srq/receive", test_receive);
	pair_add_for(NEEDS_SRQ, "srq/zones", test_zones);
	pair_add_for(NEEDS_SRQ | NEEDS_REUSE, "srq/flush", test_flush);
	pair_add_for(NEEDS_SRQ, "srq/cascade", test_cascade);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
