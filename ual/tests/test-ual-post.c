/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What the library itself checks before it calls the layers below: attributes of endpoints, rights and lengths of
 * regions, flags and segments of posts. The queues belong to the test, so it sees each request.
 */
#include <glib.h>
#include <string.h>

#include "kal_call.h"
#include "kal_script.h"
#include "ri_at_end.h"
#include "ual.h"
#include "ual_dto.h"
#include "ual_ep.h"
#include "ual_ep_states.h"
#include "ual_evd.h"
#include "ual_mem.h"
#include "ual_rmr.h"
#include "ual_srq.h"

#define STAG 0x1200u

/* What was posted last to the queues of the test. */
static struct {
	struct ual_ep *ep;
	unsigned int requests;
	unsigned int receives;
	enum ri_status answer; /* of the send queue */
	bool locked;           /* the caller held the endpoint's post_lock */
	struct ri_wr wr;
	struct ri_recv_wr recv;
	struct ri_sge sge;
} seen;

/* One endpoint of one adapter, with a region and two windows, one of which belongs to another adapter. */
struct scene {
	struct ual_ia *ia;
	struct ual_ia *other;
	struct ual_pz *pz;
	struct ual_lmr *lmr;
	struct ual_rmr *rmr;
	struct ual_rmr *foreign;
	struct ual_ep *ep;
	it_lmr_triplet_t segments[3];
};

static void
look_at_lock(void)
{
	seen.locked = pthread_mutex_trylock(&seen.ep->post_lock) != 0;
	if (!seen.locked)
		pthread_mutex_unlock(&seen.ep->post_lock);
}

static enum ri_status
post_sq(struct ri_uqp *qp, const struct ri_wr *wr)
{
	(void)qp;
	seen.requests++;
	seen.wr = *wr;
	look_at_lock();
	return seen.answer;
}

static enum ri_status
post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	(void)qp;
	seen.receives++;
	seen.recv = *wr;
	seen.sge = wr->num_sge > 0 ? wr->sgl[0] : (struct ri_sge){0};
	look_at_lock();
	return RI_SUCCESS;
}

static struct ual_object *
object_new(enum ual_type type, struct ual_ia *ia)
{
	struct ual_object *object =
		(struct ual_object *)ual_object_new(type, ia, ia != NULL ? &ia->objects : NULL);

	g_assert_nonnull(object);
	ual_object_publish(object);
	return object;
}

static struct ual_ia *
ia_new(void)
{
	struct ual_ia *ia = (struct ual_ia *)object_new(UAL_IA, NULL);

	pthread_mutex_init(&ia->objects.lock, NULL);
	ia->session.host = kal_host_default();
	return ia;
}

static struct ual_rmr *
rmr_new(struct ual_ia *ia)
{
	struct ual_rmr *rmr = (struct ual_rmr *)object_new(UAL_RMR, ia);

	pthread_mutex_init(&rmr->lock, NULL);
	return rmr;
}

static void
scene_open(struct scene *s)
{
	script_reset();
	memset(&seen, 0, sizeof(seen));
	memset(s, 0, sizeof(*s));
	s->ia = ia_new();
	s->other = ia_new();
	s->ia->keys = ual_keys_new();
	g_assert_nonnull(s->ia->keys);
	s->pz = (struct ual_pz *)object_new(UAL_PZ, s->ia);
	s->lmr = (struct ual_lmr *)object_new(UAL_LMR, s->ia);
	s->lmr->pz = s->pz;
	pthread_mutex_init(&s->lmr->lock, NULL);
	atomic_store(&s->lmr->addr_mode, IT_ADDR_MODE_ABSOLUTE);
	atomic_store(&s->lmr->key.stag, STAG);
	s->rmr = rmr_new(s->ia);
	s->rmr->pz = s->pz;
	s->foreign = rmr_new(s->other);
	s->ep = (struct ual_ep *)object_new(UAL_EP, s->ia);
	s->ep->pz = s->pz;
	seen.ep = s->ep;
	pthread_mutex_init(&s->ep->post_lock, NULL);
	pthread_mutex_init(&s->ep->control, NULL);
	pthread_mutex_init(&s->ep->lock, NULL);
	atomic_store(&s->ep->state, UAL_EPS_CONNECTED);
	atomic_store(&s->ep->max_payload, 1u << 20);
	for (unsigned int i = 0; i < UAL_DTO_COUNT; i++)
		atomic_store(&s->ep->max_sge[i], 2);
	s->ep->post_sq = post_sq;
	s->ep->post_rq = post_rq;
	for (unsigned int i = 0; i < G_N_ELEMENTS(s->segments); i++)
		s->segments[i] = (it_lmr_triplet_t){
			.lmr = (it_lmr_handle_t)ual_object_handle(&s->lmr->object), .length = 8};
}

static void
scene_close(struct scene *s)
{
	pthread_mutex_destroy(&s->ep->post_lock);
	pthread_mutex_destroy(&s->ep->control);
	pthread_mutex_destroy(&s->ep->lock);
	pthread_mutex_destroy(&s->rmr->lock);
	pthread_mutex_destroy(&s->foreign->lock);
	ual_object_delete(&s->ep->object);
	ual_object_delete(&s->foreign->object);
	ual_object_delete(&s->rmr->object);
	pthread_mutex_destroy(&s->lmr->lock);
	ual_object_delete(&s->lmr->object);
	ual_object_delete(&s->pz->object);
	ual_keys_free(s->ia->keys);
	pthread_mutex_destroy(&s->other->lock);
	pthread_mutex_destroy(&s->ia->objects.lock);
	ual_object_delete(&s->other->object);
	ual_object_delete(&s->ia->object);
}

/* --- attributes ---------------------------------------------------------------------------- */

/* The greatest value is accepted, the next is refused. */
static void
test_attr_limits(void)
{
	it_ep_attributes_t attr;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	memset(&attr, 0, sizeof(attr));
	s.ia->session.attr.max_ord = attr.srv.rc.rdma_read_ord = 16;
	s.ia->session.attr.max_sq_wr = 64;
	attr.max_request_dtos = 64;
	g_assert_cmpint(ual_ep_attr_check(s.ia, IT_EP_NO_FLAG, &attr), ==, IT_SUCCESS);
	attr.srv.rc.rdma_read_ord++;
	g_assert_cmpint(ual_ep_attr_check(s.ia, IT_EP_NO_FLAG, &attr), ==, IT_ERR_RESOURCE_ORD);
	attr.max_request_dtos++;
	g_assert_cmpint(ual_ep_attr_check(s.ia, IT_EP_NO_FLAG, &attr), ==, IT_ERR_RESOURCE_REQ_DTO);
}

/* Privileged operations need an adapter that has them and a privileged process. */
static void
test_attr_privileged(void)
{
	it_ep_attributes_t attr;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	memset(&attr, 0, sizeof(attr));
	attr.priv_ops_enable = IT_TRUE;
	for (unsigned int i = 0; i < 4; i++) {
		s.ia->privileged = (i & 1) != 0;
		s.ia->session.attr.privileged_ops = (i & 2) != 0;
		g_assert_cmpint(ual_ep_attr_check(s.ia, IT_EP_NO_FLAG, &attr), ==,
				i == 3 ? IT_SUCCESS : IT_ERR_PRIV_OPS_UNAVAILABLE);
	}
}

/* The soft watermark may not be above the hard one. */
static void
test_attr_watermarks(void)
{
	it_rc_only_attributes_t rc = {.soft_hi_watermark = 3, .hard_hi_watermark = 3};
	struct ual_srq srq;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	memset(&srq, 0, sizeof(srq));
	atomic_store(&srq.max_recv_dtos, 8);
	s.ep->srq = &srq;
	s.ia->session.attr.rq_soft_limit = s.ia->session.attr.rq_hard_limit = 1;
	g_assert_cmpint(ual_ep_watermarks_check(s.ep, &rc), ==, IT_SUCCESS);
	rc.hard_hi_watermark = 2;
	g_assert_cmpint(ual_ep_watermarks_check(s.ep, &rc), ==, IT_ERR_INVALID_WATERMARK);
	s.ep->srq = NULL;
}

/* Each operation gets the limit that the application gave for it, each queue at least one slot. */
static void
test_attr_segments(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	s.ep->attr.max_send_segments = 3;
	s.ep->attr.max_recv_segments = 4;
	s.ep->attr.srv.rc.max_rdma_read_segments = 5;
	s.ep->attr.srv.rc.max_rdma_write_segments = 6;
	ual_ep_limits(s.ep);
	g_assert_cmpuint(s.ep->max_sge[UAL_DTO_SEND], ==, 3);
	g_assert_cmpuint(s.ep->max_sge[UAL_DTO_RECV], ==, 4);
	g_assert_cmpuint(s.ep->max_sge[UAL_DTO_READ], ==, 5);
	g_assert_cmpuint(s.ep->max_sge[UAL_DTO_WRITE], ==, 6);
	g_assert_cmpuint(s.ep->max_sge[UAL_DTO_FETCH_ADD], ==, 1);
	g_assert_cmpuint(ual_ep_slots(0), ==, 1);
	g_assert_cmpuint(ual_ep_slots(7), ==, 7);
}

/* An adapter whose endpoints can change rights, and that has no atomics. */
static void
test_attr_atomics(void)
{
	it_ep_attributes_t attr;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	memset(&attr, 0, sizeof(attr));
	s.ia->session.attr.enables_modifiable = 1;
	attr.srv.rc.atomics_enable = IT_TRUE;
	g_assert_cmpint(ual_ep_modify(s.ep, IT_EP_PARAM_ATOMICS_ENABLE, &attr), ==,
			IT_ERR_INVALID_EP_ATTR);
	g_assert_false(s.ep->attr.srv.rc.atomics_enable);
}

/* --- regions ------------------------------------------------------------------------------- */

static void
test_lmr(void)
{
	static unsigned char octets[64];
	struct ual_lmr_wanted wanted = {.addr = octets,
					.length = 32,
					.addr_mode = IT_ADDR_MODE_ABSOLUTE,
					.privs = IT_PRIV_LOCAL};
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	s.ia->session.attr.max_mr_length = 32;
	g_assert_cmpint(ual_lmr_check(s.ia, &wanted), ==, IT_SUCCESS);
	wanted.length++;
	g_assert_cmpint(ual_lmr_check(s.ia, &wanted), ==, IT_ERR_RESOURCE_LMR_LENGTH);
	g_assert_true(ual_lmr_privs_valid((it_mem_priv_t)(IT_PRIV_LOCAL | IT_PRIV_ATOMIC)));
	g_assert_false(ual_lmr_privs_valid((it_mem_priv_t)(IT_PRIV_LOCAL_READ | IT_PRIV_ATOMIC)));
	/* The direct region belongs to the adapter, and cannot be freed. */
	g_assert_true(ual_object_ref(&s.pz->object));
	s.lmr->direct = true;
	g_assert_cmpint(ual_lmr_free(s.lmr), ==, IT_ERR_INVALID_LMR);
}

/* --- windows ------------------------------------------------------------------------------- */

/* The scripted kAL refuses the window: everything allocated for it is freed. */
static void
test_rmr_half(void)
{
	it_rmr_handle_t rmr = NULL;
	struct ual_object *newest;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	newest = s.ia->objects.first;
	s.ia->session.attr.mw_narrow = 1;
	g_assert_cmpint(ual_rmr_create(s.pz, IT_RMR_TYPE_NARROW, &rmr), !=, IT_SUCCESS);
	g_assert_null(rmr);
	g_assert_true(s.ia->objects.first == newest);
	g_assert_cmpuint(atomic_load(&s.pz->object.refs), ==, 0);
}

/* Each type of window is unlinked by a request where the adapter does so for that type. */
static void
test_rmr_unlink_type(void)
{
	const it_rmr_type_t types[] = {IT_RMR_TYPE_NARROW, IT_RMR_TYPE_WIDE};
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	for (unsigned int i = 0; i < 2; i++) {
		s.rmr->type = types[i];
		s.ia->session.attr.mw_narrow_unbind = i != 0;
		s.ia->session.attr.mw_wide_unbind = i == 0;
		g_assert_cmpint(ual_rmr_unlink(s.rmr, s.ep, 0, 0), ==, IT_ERR_OP_NOT_SUPPORTED);
		g_assert_cmpuint(seen.requests, ==, i);
		s.ia->session.attr.mw_narrow_unbind = s.ia->session.attr.mw_wide_unbind = 1;
		g_assert_cmpint(ual_rmr_unlink(s.rmr, s.ep, 0, 0), ==, IT_SUCCESS);
		g_assert_cmpuint(seen.requests, ==, i + 1);
	}
}

/* An unlink that the queue refuses leaves the window linked. */
static void
test_rmr_unlink_undo(void)
{
	struct ual_rmr_renewal *renewal;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	s.ia->session.attr.mw_wide_unbind = 1;
	s.rmr->type = IT_RMR_TYPE_WIDE;
	s.rmr->link.linked = true;
	seen.answer = RI_ERR_QUEUE_FULL;
	g_assert_cmpint(ual_rmr_unlink(s.rmr, s.ep, 0, 0), !=, IT_SUCCESS);
	g_assert_true(s.rmr->link.linked);
	seen.answer = RI_SUCCESS;
	g_assert_cmpint(ual_rmr_unlink(s.rmr, s.ep, 0, 0), ==, IT_SUCCESS);
	g_assert_false(s.rmr->link.linked);
	/* A reset looks at each window and unlinks it. */
	g_assert_cmpint(ual_rmr_renewal_make(s.ep, &renewal), ==, IT_SUCCESS);
	ual_rmr_renewal_end(renewal, true);
	g_assert_cmpuint(atomic_load(&s.rmr->object.refs), ==, 0);
}

struct freeing {
	struct ual_rmr *rmr;
	atomic_bool done;
};

static void *
free_run(void *arg)
{
	struct freeing *freeing = (struct freeing *)arg;

	(void)ual_rmr_free(freeing->rmr);
	atomic_store(&freeing->done, true);
	return NULL;
}

/* A free of a window waits for a reset that uses it. */
static void
test_rmr_free_used(void)
{
	struct freeing freeing = {0};
	pthread_t thread;
	struct scene s RI_AT_END(scene_close);
	void *handle;

	scene_open(&s);
	freeing.rmr = rmr_new(s.ia);
	freeing.rmr->pz = s.pz;
	handle = ual_object_handle(&freeing.rmr->object);
	g_assert_true(ual_object_ref(&s.pz->object));
	g_assert_true(ual_object_ref(&freeing.rmr->object));
	g_assert_cmpint(pthread_create(&thread, NULL, free_run, &freeing), ==, 0);
	while (ual_object_get(handle, UAL_RMR) != NULL)
		g_usleep(100);
	g_usleep(50000); /* long enough for a thread that does not wait */
	g_assert_false(atomic_load(&freeing.done));
	ual_object_unref(&freeing.rmr->object);
	pthread_join(thread, NULL);
	g_assert_true(atomic_load(&freeing.done));
	g_assert_cmpuint(atomic_load(&s.pz->object.refs), ==, 0);
}

/* --- posts --------------------------------------------------------------------------------- */

/* A sink is unlinked where the adapter can do that, and only if it is the only one. */
static void
test_unlink_sink(void)
{
	struct scene s;
	struct ual_dto dto = {
		.op = UAL_DTO_READ, .flags = IT_UNLINK_LOCAL_SINK, .segments = s.segments};

	scene_open(&s);
	dto.num_segments = 1;
	g_assert_cmpint(ual_dto_request(s.ep, &dto), ==, IT_ERR_INVALID_DTO_FLAGS);
	s.ia->session.attr.read_local_extensions = 1;
	g_assert_cmpint(ual_dto_request(s.ep, &dto), ==, IT_SUCCESS);
	dto.num_segments = 2;
	g_assert_cmpint(ual_dto_request(s.ep, &dto), ==, IT_ERR_INVALID_DTO_FLAGS);
	g_assert_cmpuint(seen.requests, ==, 1);
	scene_close(&s);
}

/* As many segments as the endpoint has, and one more. */
static void
test_segments(void)
{
	struct scene s;
	struct ual_dto dto = {.op = UAL_DTO_SEND, .segments = s.segments, .num_segments = 2};

	scene_open(&s);
	g_assert_cmpint(ual_dto_request(s.ep, &dto), ==, IT_SUCCESS);
	dto.num_segments = 3;
	g_assert_cmpint(ual_dto_request(s.ep, &dto), ==, IT_ERR_INVALID_NUM_SEGMENTS);
	g_assert_cmpuint(seen.requests, ==, 1);
	scene_close(&s);
}

/* A window of another adapter cannot be a sink. */
static void
test_foreign_sink(void)
{
	it_rmr_triplet_t sink = {.length = 8};
	struct ual_dto dto = {.op = UAL_DTO_READ, .sinks = &sink, .num_segments = 1};
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	sink.rmr = (it_rmr_handle_t)ual_object_handle(&s.rmr->object);
	g_assert_cmpint(ual_dto_request(s.ep, &dto), ==, IT_SUCCESS);
	sink.rmr = (it_rmr_handle_t)ual_object_handle(&s.foreign->object);
	g_assert_cmpint(ual_dto_request(s.ep, &dto), !=, IT_SUCCESS);
	g_assert_cmpuint(seen.requests, ==, 1);
}

/* The upper half of a peer's context must not be cut off. */
static void
test_context(void)
{
	struct scene s;
	struct ual_dto dto = {.op = UAL_DTO_WRITE, .segments = s.segments, .num_segments = 1};

	scene_open(&s);
	dto.rmr_context = UINT32_MAX;
	g_assert_cmpint(ual_dto_request(s.ep, &dto), ==, IT_SUCCESS);
	g_assert_cmphex(seen.wr.u.remote.stag, ==, UINT32_MAX);
	dto.rmr_context = (it_rmr_context_t)UINT32_MAX + 8;
	g_assert_cmpint(ual_dto_request(s.ep, &dto), ==, IT_SUCCESS);
	g_assert_cmphex(seen.wr.u.remote.stag, ==, 0);
	scene_close(&s);
}

/* Queues that need one thread at a time are posted to with the lock held, others without. */
static void
test_serialise(void)
{
	struct scene s;
	struct ual_dto dto = {.op = UAL_DTO_SEND, .segments = s.segments, .num_segments = 1};

	scene_open(&s);
	for (unsigned int i = 0; i < 2; i++) {
		s.ep->serialise = i != 0;
		dto.op = UAL_DTO_SEND;
		g_assert_cmpint(ual_dto_request(s.ep, &dto), ==, IT_SUCCESS);
		g_assert_true(seen.locked == s.ep->serialise);
		dto.op = UAL_DTO_RECV;
		g_assert_cmpint(ual_dto_recv(s.ep, &dto), ==, IT_SUCCESS);
		g_assert_true(seen.locked == s.ep->serialise);
	}
	scene_close(&s);
}

/* An unlink with a fence needs an adapter that has it. */
static void
test_fence(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	for (unsigned int i = 0; i < 2; i++) {
		s.ia->session.attr.local_fence = i != 0;
		g_assert_cmpint(
			ual_dto_control_check(s.ep, IT_UNLINK_FENCE_FLAG, UAL_DTO_UNLINK_FLAGS), ==,
			i != 0 ? IT_SUCCESS : IT_ERR_INVALID_DTO_FLAGS);
	}
}

static void
test_recv(void)
{
	struct scene s;
	struct ual_dto dto = {.op = UAL_DTO_RECV, .segments = s.segments, .num_segments = 1};

	scene_open(&s);
	g_assert_cmpint(ual_dto_recv(s.ep, &dto), ==, IT_SUCCESS);
	g_assert_cmphex(seen.recv.flags, ==, 0);
	g_assert_cmpuint(seen.sge.length, ==, 8);
	g_assert_cmphex(seen.sge.stag, ==, STAG);
	/* A time longer than the provider can express becomes its longest. */
	s.segments[0].length = (it_length_t)UINT32_MAX + 5;
	dto.flags = (it_dto_flags_t)(IT_COMPLETION_FLAG | IT_NOTIFY_FLAG);
	g_assert_cmpint(ual_dto_recv(s.ep, &dto), ==, IT_SUCCESS);
	g_assert_cmpuint(seen.sge.length, ==, UINT32_MAX);
	g_assert_cmphex(seen.recv.flags, ==, RI_WR_NOTIFY);
	g_assert_cmpuint(seen.receives, ==, 2);
	/* receives of an endpoint with an S-RQ are posted to the S-RQ. */
	s.ep->flags = IT_EP_SRQ;
	g_assert_cmpint(ual_dto_recv(s.ep, &dto), ==, IT_ERR_INVALID_EP);
	g_assert_cmpuint(seen.receives, ==, 2);
	scene_close(&s);
}

static enum ri_status
post_shared(struct ri_usrq *queue, const struct ri_recv_wr *wr)
{
	(void)queue;
	(void)wr;
	seen.receives++;
	return RI_SUCCESS;
}

static void
test_recv_shared(void)
{
	struct ual_srq srq = {.max_sge = 2, .post = post_shared};
	struct scene s;
	struct ual_dto dto = {.op = UAL_DTO_RECV, .segments = s.segments, .num_segments = 2};

	scene_open(&s);
	srq.object.ia = s.ia;
	g_assert_cmpint(ual_dto_recv_shared(&srq, &dto), ==, IT_SUCCESS);
	dto.num_segments = 3;
	g_assert_cmpint(ual_dto_recv_shared(&srq, &dto), ==, IT_ERR_INVALID_NUM_SEGMENTS);
	g_assert_cmpuint(seen.receives, ==, 1);
	scene_close(&s);
}

/* Only calls that succeeded changed anything. */
static void
test_event(void)
{
	struct ri_wc wc = {.opcode = RI_OP_RDMA_WRITE, .byte_len = 64, .status = RI_WC_SUCCESS};
	struct ual_evd *evd;
	it_event_t event;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	evd = (struct ual_evd *)object_new(UAL_EVD, s.ia);
	g_assert_true(ual_dto_event(&wc, evd, &event));
	g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, 64);
	wc.status = RI_WC_FLUSHED;
	g_assert_true(ual_dto_event(&wc, evd, &event));
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
	g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, 0);
	ual_object_delete(&evd->object);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/post/attr-limits", test_attr_limits);
	g_test_add_func("/ual/post/attr-privileged", test_attr_privileged);
	g_test_add_func("/ual/post/attr-watermarks", test_attr_watermarks);
	g_test_add_func("/ual/post/attr-segments", test_attr_segments);
	g_test_add_func("/ual/post/attr-atomics", test_attr_atomics);
	g_test_add_func("/ual/post/lmr", test_lmr);
	g_test_add_func("/ual/post/rmr-half", test_rmr_half);
	g_test_add_func("/ual/post/rmr-unlink-type", test_rmr_unlink_type);
	g_test_add_func("/ual/post/rmr-unlink-undo", test_rmr_unlink_undo);
	g_test_add_func("/ual/post/rmr-free-used", test_rmr_free_used);
	g_test_add_func("/ual/post/segments", test_segments);
	g_test_add_func("/ual/post/unlink-sink", test_unlink_sink);
	g_test_add_func("/ual/post/foreign-sink", test_foreign_sink);
	g_test_add_func("/ual/post/context", test_context);
	g_test_add_func("/ual/post/serialise", test_serialise);
	g_test_add_func("/ual/post/fence", test_fence);
	g_test_add_func("/ual/post/r-33-recv", test_recv);
	g_test_add_func("/ual/post/recv-shared", test_recv_shared);
	g_test_add_func("/ual/post/event", test_event);
	return g_test_run();
}
