/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "life.h"

#include <string.h>
#include <time.h>

#define BUFFER   8192
#define PART     1024
#define PATIENCE 60   /* seconds for an event */
#define A_MOMENT 2000 /* microseconds in one wait */

enum evd {
	EVD_REQUEST,
	EVD_RECV,
	EVD_MSG,
	EVD_REQ,
	EVD_ASYNC,
	EVD_COUNT
};

struct side {
	it_ia_handle_t ia;
	it_ia_info_t *info;
	it_pz_handle_t pz;
	it_evd_handle_t evds[EVD_COUNT];
	it_lmr_handle_t lmr;
	it_rmr_context_t context;
	it_rmr_handle_t rmr;
	it_srq_handle_t srq;
	it_ep_handle_t ep;
};

struct life {
	struct life_report *report;
	const char *adapter;
	struct side a, b; /* b listens */
	it_listen_handle_t listen;
	it_conn_qual_t qual;
	size_t spigot;
	it_path_t path;
};

static unsigned char buffers[2][BUFFER];

/* True: go on. */
static bool
judge(struct life *life, const char *call, it_status_t status)
{
	struct life_report *report = life->report;

	if (status == IT_SUCCESS)
		return true;
	if (status == IT_ERR_RESOURCES) {
		if (report->shortage == NULL)
			report->shortage = call;
	} else if (report->wrong == NULL) {
		report->wrong = call;
		report->status = status;
	}
	return false;
}

#define TRY(life, name, ...) judge(life, #name, name(__VA_ARGS__))

/* The next event of either dispatcher (the second may be NULL). False: none came, or the wait failed. */
static bool
next(struct life *life, it_evd_handle_t first, it_evd_handle_t second, it_event_t *event)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += PATIENCE;
	do {
		it_status_t status = it_evd_wait(first, A_MOMENT, event, NULL);

		if (status == IT_SUCCESS)
			return true;
		if (status != IT_ERR_TIMEOUT_EXPIRED)
			return judge(life, "it_evd_wait", status);
		if (second != NULL && it_evd_dequeue(second, event) == IT_SUCCESS)
			return true;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	return judge(life, "an event", IT_ERR_TIMEOUT_EXPIRED);
}

/* As next_event; it must be that event. Another event says that an operation failed. */
static bool
expect(struct life *life, it_evd_handle_t first, it_evd_handle_t second, it_event_type_t number,
       it_event_t *event)
{
	if (!next(life, first, second, event))
		return false;
	return event->event_number == number;
}

static bool
open_evds(struct life *life, struct side *side)
{
	static const it_event_type_t streams[EVD_COUNT] = {
		IT_DTO_EVENT_STREAM, IT_DTO_EVENT_STREAM, IT_CM_MSG_EVENT_STREAM,
		IT_CM_REQ_EVENT_STREAM, IT_ASYNC_AFF_EVENT_STREAM};

	for (int i = 0; i < EVD_COUNT; i++) {
		if (!TRY(life, it_evd_create, side->ia, streams[i], 0, 32, 1, NULL, &side->evds[i],
			 NULL))
			return false;
	}
	return true;
}

static bool
open_ep(struct life *life, struct side *side)
{
	it_ep_attributes_t attr = {.max_request_dtos = 8,
				   .max_recv_dtos = 8,
				   .max_send_segments = 2,
				   .max_recv_segments = 2};

	attr.srv.rc.max_rdma_read_segments = 1;
	attr.srv.rc.max_rdma_write_segments = 2;
	attr.srv.rc.rdma_read_enable = IT_TRUE;
	attr.srv.rc.rdma_write_enable = IT_TRUE;
	attr.srv.rc.rdma_read_ird = 2;
	attr.srv.rc.rdma_read_ord = 2;
	attr.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
	attr.srv.rc.srq = side->srq;
	return TRY(life, it_ep_rc_create, side->pz, side->evds[EVD_REQUEST], side->evds[EVD_RECV],
		   side->evds[EVD_MSG], side->srq != NULL ? IT_EP_SRQ : IT_EP_NO_FLAG, &attr,
		   &side->ep);
}

static bool
open_side(struct life *life, struct side *side, unsigned char *buffer, bool srq)
{
	return TRY(life, it_ia_create, life->adapter, 2, 0, &side->ia) &&
	       TRY(life, it_ia_query, side->ia, &side->info) &&
	       TRY(life, it_pz_create, side->ia, &side->pz) && open_evds(life, side) &&
	       TRY(life, it_lmr_create21, side->pz, buffer, NULL, BUFFER, IT_ADDR_MODE_ABSOLUTE,
		   IT_PRIV_ALL, IT_LMR_FLAG_NONE, 0, &side->lmr, &side->context) &&
	       TRY(life, it_rmr_create20, side->pz, IT_RMR_TYPE_DEFAULT, &side->rmr) &&
	       (!srq || TRY(life, it_srq_create, side->pz, 2, 8, &side->srq)) &&
	       open_ep(life, side);
}

static bool
open_listen(struct life *life)
{
	const it_ia_info_t *info = life->b.info;
	it_net_addr_t *addr = NULL;
	size_t paths = 1, total = 0;

	for (size_t i = 0; i < info->num_spigots && addr == NULL; i++) {
		life->spigot = i;
		if (info->spigot_info[i].num_net_addr > 0)
			addr = info->spigot_info[i].net_addr;
	}
	life->qual.type = IT_IANA_PORT;
	if ((info->spigot_info[life->spigot].passive_side_conn_qual & IT_IANA_PORT) == 0)
		life->qual.type = IT_IB_SERVICEID;
	return TRY(life, it_listen_create, life->b.ia, life->spigot, life->b.evds[EVD_REQ],
		   IT_LISTEN_NO_FLAG, &life->qual, &life->listen) &&
	       TRY(life, it_get_pathinfo, life->a.ia, life->spigot, addr, &paths, &total,
		   &life->path) &&
	       (paths > 0 || judge(life, "a path", IT_ERR_INVALID_SOURCE_PATH));
}

/* Three-way: the connecting side answers the accept. */
static bool
confirm(struct life *life)
{
	it_event_t event;

	if (!expect(life, life->a.evds[EVD_MSG], NULL, IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT, &event))
		return false;
	if (TRY(life, it_ep_accept, life->a.ep, event.conn.cn_est_id, NULL, 0))
		return true;
	(void)TRY(life, it_reject, event.conn.cn_est_id, NULL, 0);
	return false;
}

static bool
connect_them(struct life *life)
{
	static const unsigned char word[] = "please";
	bool three_ways = life->a.info->three_way_handshake_support == IT_TRUE;
	it_event_t event;

	if (!TRY(life, it_ep_connect, life->a.ep, &life->path, NULL, &life->qual,
		 three_ways ? IT_CONNECT_FLAG_THREE_WAY : IT_CONNECT_FLAG_TWO_WAY, word,
		 sizeof(word)))
		return false;
	if (!expect(life, life->b.evds[EVD_REQ], life->a.evds[EVD_MSG],
		    IT_CM_REQ_CONN_REQUEST_EVENT, &event))
		return false;
	if (!TRY(life, it_ep_accept, life->b.ep, event.conn_req.cn_est_id, word, sizeof(word))) {
		(void)TRY(life, it_reject, event.conn_req.cn_est_id, word, sizeof(word));
		return false;
	}
	if (three_ways && !confirm(life))
		return false;
	return expect(life, life->a.evds[EVD_MSG], NULL, IT_CM_MSG_CONN_ESTABLISHED_EVENT,
		      &event) &&
	       expect(life, life->b.evds[EVD_MSG], NULL, IT_CM_MSG_CONN_ESTABLISHED_EVENT, &event);
}

/* Take a completion, which must be successful. */
static bool
done(struct life *life, struct side *side, enum evd evd, it_event_type_t number)
{
	it_event_t event;

	if (!expect(life, side->evds[evd], NULL, number, &event))
		return false;
	return event.dto_cmpl.dto_status == IT_DTO_SUCCESS;
}

static it_lmr_triplet_t
segment(const struct side *side, unsigned char *at)
{
	it_lmr_triplet_t triplet = {.lmr = side->lmr, .length = PART};

	triplet.addr.abs = at;
	return triplet;
}

static bool
transfer(struct life *life)
{
	it_lmr_triplet_t from = segment(&life->a, buffers[0]);
	it_lmr_triplet_t to = segment(&life->b, buffers[1]);
	it_handle_t queue =
		life->b.srq != NULL ? (it_handle_t)life->b.srq : (it_handle_t)life->b.ep;

	return TRY(life, it_post_recv, queue, &to, 1, 1, 0) &&
	       TRY(life, it_post_send, life->a.ep, &from, 1, 2, IT_COMPLETION_FLAG) &&
	       done(life, &life->a, EVD_REQUEST, IT_DTO_SEND_CMPL_EVENT) &&
	       done(life, &life->b, EVD_RECV, IT_DTO_RC_RECV_CMPL_EVENT) &&
	       TRY(life, it_post_rdma_write, life->a.ep, &from, 1, 3, IT_COMPLETION_FLAG,
		   it_make_rdma_addr_absolute(buffers[1] + PART), life->b.context) &&
	       done(life, &life->a, EVD_REQUEST, IT_DTO_RDMA_WRITE_CMPL_EVENT) &&
	       TRY(life, it_post_rdma_read, life->a.ep, &from, 1, 4, IT_COMPLETION_FLAG,
		   it_make_rdma_addr_absolute(buffers[1] + PART), life->b.context) &&
	       done(life, &life->a, EVD_REQUEST, IT_DTO_RDMA_READ_CMPL_EVENT);
}

static bool
bind_window(struct life *life)
{
	struct side *side = &life->a;
	it_rmr_context_t context;

	return TRY(life, it_rmr_link, side->rmr, side->lmr, buffers[0], PART, IT_ADDR_MODE_ABSOLUTE,
		   IT_PRIV_REMOTE_READ, side->ep, 5, IT_COMPLETION_FLAG, &context) &&
	       done(life, side, EVD_REQUEST, IT_RMR_LINK_CMPL_EVENT);
}

static bool
disconnect_them(struct life *life)
{
	it_event_t event;

	return TRY(life, it_ep_disconnect, life->a.ep, NULL, 0) &&
	       expect(life, life->a.evds[EVD_MSG], NULL, IT_CM_MSG_CONN_DISCONNECT_EVENT, &event) &&
	       expect(life, life->b.evds[EVD_MSG], NULL, IT_CM_MSG_CONN_DISCONNECT_EVENT, &event);
}

/* A free must succeed even when there is no memory. */
static void
must(struct life *life, const char *call, it_status_t status)
{
	if (status == IT_SUCCESS || life->report->wrong != NULL)
		return;
	life->report->wrong = call;
	life->report->status = status;
}

#define FREE(life, name, handle)                         \
	do {                                             \
		if ((handle) != NULL)                    \
			must(life, #name, name(handle)); \
	} while (0)

static void
free_side(struct life *life, struct side *side)
{
	FREE(life, it_rmr_free, side->rmr); /* it is linked at the endpoint */
	FREE(life, it_ep_free, side->ep);
	FREE(life, it_srq_free, side->srq);
	FREE(life, it_lmr_free, side->lmr);
	for (int i = 0; i < EVD_COUNT; i++)
		FREE(life, it_evd_free, side->evds[i]);
	FREE(life, it_pz_free, side->pz);
	if (side->info != NULL)
		it_ia_info_free(side->info);
	FREE(life, it_ia_free, side->ia);
}

static bool
open_both(struct life *life, void (*opened)(void))
{
	if (!open_side(life, &life->a, buffers[0], false) ||
	    !open_side(life, &life->b, buffers[1], true))
		return false;
	if (opened != NULL)
		opened();
	return true;
}

void
life_run(const char *adapter, struct life_report *report)
{
	life_run_then(adapter, report, NULL);
}

void
life_run_then(const char *adapter, struct life_report *report, void (*opened)(void))
{
	struct life life;

	memset(&life, 0, sizeof(life));
	memset(report, 0, sizeof(*report));
	life.report = report;
	life.adapter = adapter;
	report->whole = open_both(&life, opened) && open_listen(&life) && connect_them(&life) &&
			transfer(&life) && bind_window(&life) && disconnect_them(&life);
	FREE(&life, it_listen_free, life.listen);
	free_side(&life, &life.a);
	free_side(&life, &life.b);
	report->whole &= report->wrong == NULL;
}
