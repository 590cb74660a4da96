/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Completion queues: create, resize, destroy, poll and request notification. Channels and their events are in
 * door_channel.c.
 */
#include "door_cq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "door_channel.h"
#include "door_export.h"
#include "door_memory.h"
#include "door_qp.h"
#include "door_status.h"
#include "session_cancel.h"

/* --- create and destroy ------------------------------------------------------------------------------ */

/* The kAL's queue and its user half; 0 or an errno, and nothing is left. */
static int
queue_open(struct door_cq *cq, uint32_t entries)
{
	struct door_adapter *adapter = cq->context->adapter;
	struct session *session = &adapter->session;
	const struct kal_cq_create_req req = {
		.rnic = session->rnic, .entries = entries, .ctx = cq->ctx};
	struct kal_cq_rep rep;
	int error = door_call(adapter, KAL_CQ_CREATE, &req, sizeof(req), &rep, sizeof(rep));

	if (error != 0)
		return error;
	error = door_errno(session->user->cq_open(session->urnic, &rep.map, &cq->queue));
	if (error != 0) {
		(void)door_call_id(adapter, KAL_CQ_DESTROY, rep.id);
		return error;
	}
	cq->id = rep.id;
	session_count_cq(session, rep.id, cq->queue);
	cq->cq.handle = rep.id;
	cq->cq.cqe = (int)rep.entries;
	return 0;
}

static void
cq_free(struct door_cq *cq)
{
	pthread_mutex_destroy(&cq->keep_lock);
	pthread_mutex_destroy(&cq->cq.mutex);
	pthread_cond_destroy(&cq->cq.cond);
	free(cq->kept);
	free(cq);
}

static struct door_cq *
cq_new(struct ibv_context *context, void *cq_context, struct ibv_comp_channel *channel)
{
	struct door_cq *cq = (struct door_cq *)calloc(1, sizeof(*cq));

	if (cq == NULL)
		return NULL;
	cq->context = door_context_of(context);
	cq->poll = cq->context->adapter->session.fast->poll_cq;
	cq->slots = cq->context->adapter->slots.first;
	cq->channel = channel != NULL ? door_channel_of(channel) : NULL;
	cq->cq.context = context;
	cq->cq.channel = channel;
	cq->cq.cq_context = cq_context;
	pthread_mutex_init(&cq->cq.mutex, NULL);
	pthread_cond_init(&cq->cq.cond, NULL);
	pthread_mutex_init(&cq->keep_lock, NULL);
	cq->failed.type = IBV_EVENT_CQ_ERR;
	cq->failed.element = &cq->cq;
	cq->failed.taken = &cq->async_taken;
	return cq;
}

struct door_cq *
door_cq_create(struct ibv_context *context, uint32_t entries, void *cq_context,
	       struct ibv_comp_channel *channel, uint32_t vector)
{
	struct door_adapter *adapter = door_adapter_of(context);
	struct door_cq *cq;
	int error;

	if (entries == 0 || vector >= (uint32_t)context->num_comp_vectors ||
	    (channel != NULL && channel->context != context)) {
		errno = EINVAL;
		return NULL;
	}
	cq = cq_new(context, cq_context, channel);
	if (cq == NULL)
		return NULL;
	cq->ctx = door_slot_enter(&adapter->slots, DOOR_CQ, cq);
	error = cq->ctx != 0 ? queue_open(cq, entries) : ENOMEM;
	if (error != 0) {
		if (cq->ctx != 0)
			door_slot_leave(&adapter->slots, cq->ctx);
		cq_free(cq);
		errno = error;
		return NULL;
	}
	if (cq->channel != NULL)
		door_channel_join(cq->channel);
	door_context_hold(cq->context);
	return cq;
}

EXPORT struct ibv_cq *
ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
	      struct ibv_comp_channel *channel, int comp_vector)
{
	struct door_cq *cq;
	SESSION_DEFER;

	cq = door_cq_create(context, cqe > 0 ? (uint32_t)cqe : 0, cq_context, channel,
			    (uint32_t)comp_vector);
	return cq != NULL ? &cq->cq : NULL;
}

EXPORT int
ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct door_cq *cq = door_cq_of(ibv);
	struct door_adapter *adapter = cq->context->adapter;
	const struct kal_cq_resize_req req = {.id = cq->id, .entries = (uint32_t)cqe};
	struct kal_cq_rep rep;
	int error;
	SESSION_DEFER;

	if (cqe <= 0)
		return EINVAL;
	error = door_call(adapter, KAL_CQ_RESIZE, &req, sizeof(req), &rep, sizeof(rep));
	if (error == EBUSY) /* more completions are there */
		error = EINVAL;
	if (error == 0)
		error = door_errno(adapter->session.user->cq_remap(cq->queue, &rep.map));
	if (error == 0)
		ibv->cqe = (int)rep.entries;
	return error;
}

EXPORT int
ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct door_cq *cq = door_cq_of(ibv);
	struct door_context *context = cq->context;
	struct door_adapter *adapter = context->adapter;
	const struct door_acks acks = {&cq->async_taken, &ibv->mutex, &ibv->cond,
				       &ibv->async_events_completed};
	SESSION_DEFER;

	if (adapter->inherited)
		return 0;
	if (atomic_load(&cq->users) != 0)
		return EBUSY;
	door_slot_leave(&adapter->slots, cq->ctx);
	adapter->session.user->cq_close(cq->queue);
	(void)door_call_id(adapter, KAL_CQ_DESTROY, cq->id);
	session_settle(&adapter->session);
	if (cq->channel != NULL)
		door_channel_leave(cq->channel, cq);
	door_async_end(context, &cq->failed, 1, &acks);
	if (cq->domain != NULL)
		door_pd_drop(cq->domain);
	cq_free(cq);
	door_context_put(context);
	return 0;
}

/* --- completions ------------------------------------------------------------------------------------- */

#define FLAGS 32 /* values of ri_wc::flags that are known */

/* A Read that invalidates its own sink is no concern of verbs, so only receives report an invalidation. */
#define FLAGS_OF(flags)                                                                          \
	(((flags)&RI_WC_GRH ? IBV_WC_GRH : 0u) |                                                 \
	 ((flags)&RI_WC_IMMEDIATE ? IBV_WC_WITH_IMM : 0u) |                                      \
	 (((flags) & (RI_WC_INVALIDATED | RI_WC_RECEIVE)) == (RI_WC_INVALIDATED | RI_WC_RECEIVE) \
		  ? IBV_WC_WITH_INV                                                              \
		  : 0u))
#define FLAGS_4(n)  FLAGS_OF(n), FLAGS_OF((n) + 1), FLAGS_OF((n) + 2), FLAGS_OF((n) + 3)
#define FLAGS_16(n) FLAGS_4(n), FLAGS_4((n) + 4), FLAGS_4((n) + 8), FLAGS_4((n) + 12)

/* The words of verbs. In one struct, so a conversion needs one address. */
static const struct {
	uint8_t opcodes[RI_OP_COUNT];
	uint8_t statuses[RI_WC_STATUS_COUNT];
	uint8_t flags[FLAGS];
} words = {
	.opcodes =
		{
			[RI_OP_SEND] = IBV_WC_SEND,
			[RI_OP_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
			[RI_OP_RDMA_READ] = IBV_WC_RDMA_READ,
			[RI_OP_FETCH_ADD] = IBV_WC_FETCH_ADD,
			[RI_OP_CMP_SWAP] = IBV_WC_COMP_SWAP,
			[RI_OP_BIND_MW] = IBV_WC_BIND_MW,
			[RI_OP_LOCAL_INV] = IBV_WC_LOCAL_INV,
			[RI_OP_INV_MR] = IBV_WC_LOCAL_INV,
			[RI_OP_SEND_UD] = IBV_WC_SEND,
			[RI_OP_RECV] = IBV_WC_RECV,
			[RI_OP_RECV_UD] = IBV_WC_RECV,
			[RI_OP_RECV_WRITE] = IBV_WC_RECV_RDMA_WITH_IMM,
		},
	.statuses =
		{
			[RI_WC_SUCCESS] = IBV_WC_SUCCESS,
			[RI_WC_FLUSHED] = IBV_WC_WR_FLUSH_ERR,
			[RI_WC_LOCAL_LENGTH] = IBV_WC_LOC_LEN_ERR,
			[RI_WC_LOCAL_QP] = IBV_WC_LOC_QP_OP_ERR,
			[RI_WC_LOCAL_PROTECTION] = IBV_WC_LOC_PROT_ERR,
			[RI_WC_LOCAL_INVALIDATE] = IBV_WC_LOC_ACCESS_ERR,
			[RI_WC_MW_BIND] = IBV_WC_MW_BIND_ERR,
			[RI_WC_LOCAL_MM] = IBV_WC_LOC_PROT_ERR,
			[RI_WC_BAD_RESPONSE] = IBV_WC_BAD_RESP_ERR,
			[RI_WC_REMOTE_ACCESS] = IBV_WC_REM_ACCESS_ERR,
			[RI_WC_REMOTE_INVALID_REQ] = IBV_WC_REM_INV_REQ_ERR,
			[RI_WC_REMOTE_OPERATION] = IBV_WC_REM_OP_ERR,
			[RI_WC_TRANSPORT] = IBV_WC_RETRY_EXC_ERR,
			[RI_WC_RNR] = IBV_WC_RNR_RETRY_EXC_ERR,
		},
	.flags = {FLAGS_16(0), FLAGS_16(16)},
};

enum ibv_wc_opcode
door_wc_opcode(const struct ri_wc *wc)
{
	return (enum ibv_wc_opcode)words.opcodes[wc->opcode % RI_OP_COUNT];
}

enum ibv_wc_status
door_wc_status(const struct ri_wc *wc)
{
	return (enum ibv_wc_status)words.statuses[wc->status % RI_WC_STATUS_COUNT];
}

unsigned
door_wc_flags(const struct ri_wc *wc)
{
	return words.flags[wc->flags % FLAGS];
}

/*
 * The service level of a datagram's completion. Ethernet has none; there devices report in this
 * field which header precedes the datagram: bit 3 for RoCE v2, with 1 for IPv6 or 2 for IPv4 below
 * (IB annex A17, A17.4.5.1, demands such a flag). UCX reads the sender's address from the place of
 * that header.
 */
uint8_t
door_wc_sl(const struct door_cq *cq, const struct ri_wc *wc)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if ((wc->flags & RI_WC_GRH) == 0 || cq->context->adapter->lids)
		return 0;
	return memcmp(wc->src_addr, mapped, sizeof(mapped)) == 0 ? 10 : 9;
}

/* What a provider leaves in the members that a completion has not, a program does not read. */
static inline __attribute__((always_inline)) void
wc_convert(const struct door_cq *cq, struct ibv_wc *to, const struct ri_wc *from, uint32_t qpn)
{
	to->wr_id = from->wr_id;
	to->status = (enum ibv_wc_status)words.statuses[from->status];
	to->opcode = (enum ibv_wc_opcode)words.opcodes[from->opcode];
	to->vendor_err = from->detail;
	to->byte_len = from->byte_len;
	to->imm_data = from->imm;
	to->qp_num = qpn;
	to->src_qp = from->src_qpn;
	to->wc_flags = words.flags[from->flags];
	/* P_Key index, LIDs and service level, to the end: one store. */
	memset(&to->pkey_index, 0, sizeof(*to) - offsetof(struct ibv_wc, pkey_index));
	if (__builtin_expect((from->flags & (RI_WC_INVALIDATED | RI_WC_GRH)) == 0, 1))
		return;
	if ((from->flags & RI_WC_INVALIDATED) != 0)
		to->invalidated_rkey = from->inv_stag;
	to->sl = door_wc_sl(cq, from);
}

const struct ri_wc *
door_cq_next(struct door_cq *cq, uint32_t *qpn)
{
	struct door_adapter *adapter = cq->context->adapter;
	const struct door_slot *slot;

	for (;;) {
		if (cq->kept_at == cq->kept_num) {
			if (cq->kept == NULL)
				return NULL;
			cq->kept_at = 0;
			cq->kept_num = cq->poll(cq->queue, cq->kept, DOOR_WINDOW);
			if (cq->kept_num == 0)
				return NULL;
			cq->taken_at = session_now(&adapter->session);
		}
		slot = door_slot_of(&adapter->slots, cq->kept[cq->kept_at++].qp_ctx);
		if (slot == NULL)
			continue;
		*qpn = atomic_load_explicit(&slot->number, memory_order_relaxed);
		return &cq->kept[cq->kept_at - 1];
	}
}

/* A poll while completions may be kept back. */
static __attribute__((noinline)) int
poll_kept(struct door_cq *cq, int num_entries, struct ibv_wc *wc)
{
	const struct ri_wc *next;
	uint32_t qpn;
	int done = 0;

	pthread_mutex_lock(&cq->keep_lock);
	while (done < num_entries && (next = door_cq_next(cq, &qpn)) != NULL)
		wc_convert(cq, &wc[done++], next, qpn);
	if (cq->kept_at == cq->kept_num && cq->ex.start_poll == NULL)
		atomic_store(&cq->keeps, false);
	pthread_mutex_unlock(&cq->keep_lock);
	return done;
}

/* Convert one completion; false: its queue pair has given its slot back, so it is dropped. */
static inline __attribute__((always_inline)) bool
one_convert(const struct door_cq *cq, const struct ri_wc *from, struct ibv_wc *to)
{
	const uint64_t ctx = from->qp_ctx;
	const struct door_slot *slot = door_slot_at(cq->slots, ctx);

	if (__builtin_expect(!door_slot_is(slot, ctx), 0))
		return false;
	wc_convert(cq, to, from, atomic_load_explicit(&slot->number, memory_order_relaxed));
	return true;
}

/* A poll for several, or for one after another one was dropped. */
static __attribute__((noinline)) int
poll_some(struct door_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct ri_wc window[DOOR_WINDOW];
	uint32_t got, want;
	int done = 0;

	while (done < num_entries) {
		want = MIN((uint32_t)(num_entries - done), DOOR_WINDOW);
		got = cq->poll(cq->queue, window, want);
		for (uint32_t i = 0; i < got; i++)
			done += one_convert(cq, &window[i], &wc[done]);
		if (got < want)
			break;
	}
	return done;
}

/* Most polls find nothing, so as little as possible is done before that is known. */
int
door_cq_poll(struct ibv_cq *ibv, int num_entries, struct ibv_wc *wc)
{
	struct door_cq *cq = door_cq_of(ibv);
	struct ri_wc first;

	if (__builtin_expect(atomic_load_explicit(&cq->keeps, memory_order_acquire), 0))
		return poll_kept(cq, num_entries, wc);
	if (num_entries != 1)
		return poll_some(cq, num_entries, wc);
	if (cq->poll(cq->queue, &first, 1) == 0)
		return 0;
	return __builtin_expect(one_convert(cq, &first, wc), 1) ? 1 : poll_some(cq, 1, wc);
}

int
door_cq_notify(struct ibv_cq *ibv, int solicited_only)
{
	struct door_cq *cq = door_cq_of(ibv);
	struct door_adapter *adapter = cq->context->adapter;
	enum ri_arm how = solicited_only ? RI_ARM_SOLICITED : RI_ARM_UNREPORTED;
	enum ri_status status;
	bool kept = false;

	/* Of RNIC-PI a later call replaces an earlier one; a program that asked for any completion still gets its event. */
	if (solicited_only && atomic_load(&cq->any_due))
		return 0;
	if (!solicited_only)
		atomic_store(&cq->any_due, true);
	status = adapter->session.fast->arm_cq(cq->queue, how, 0);
	if (status == RI_ERR_INVALID_ARG)
		status = adapter->session.fast->arm_cq(cq->queue, RI_ARM_NEXT, 0);
	/* In a simulation programs meet a device that raises none for what is there already. */
	while (status == RI_ERR_NOT_EMPTY && how == RI_ARM_UNREPORTED && door_is_simulated())
		status = adapter->session.fast->arm_cq(cq->queue, how, 0);
	if (__builtin_expect(atomic_load(&cq->keeps), 0) && cq->ex.start_poll == NULL &&
	    !door_is_simulated()) {
		pthread_mutex_lock(&cq->keep_lock);
		kept = cq->kept_at < cq->kept_num;
		pthread_mutex_unlock(&cq->keep_lock);
	}
	/*
	 * The queue has a completion that no event has reported, so the event is raised now. The standard
	 * does not demand that, but some devices do it, and some programs rely on it. No second event may
	 * report the same completion.
	 */
	if (status == RI_ERR_NOT_EMPTY || (status == RI_SUCCESS && kept)) {
		pthread_mutex_lock(&adapter->slots.lock);
		door_cq_fired(adapter, cq->ctx);
		pthread_mutex_unlock(&adapter->slots.lock);
		return 0;
	}
	if (status != RI_SUCCESS)
		atomic_store(&cq->any_due, false);
	return door_errno(status);
}

/* --- a queue pair is reset ----------------------------------------------------------------------------- */

/* Room for `more` completions behind those that are kept. */
static bool
kept_reserve(struct door_cq *cq, uint32_t more)
{
	uint32_t room = cq->kept_num + more;
	struct ri_wc *fresh;

	if (room <= cq->kept_room)
		return true;
	fresh = (struct ri_wc *)realloc(cq->kept, (size_t)room * sizeof(*fresh));
	if (fresh == NULL)
		return false;
	cq->kept = fresh;
	cq->kept_room = room;
	return true;
}

/* Take all from the provider; false: no memory, and some are left there. */
static bool
kept_fill(struct door_cq *cq)
{
	uint32_t got;

	do {
		if (!kept_reserve(cq, DOOR_WINDOW))
			return false;
		got = cq->poll(cq->queue, cq->kept + cq->kept_num, DOOR_WINDOW);
		cq->kept_num += got;
	} while (got != 0);
	return true;
}

int
door_cq_drop(struct door_cq *cq, uint64_t qp_ctx)
{
	uint32_t to = 0;
	bool filled;

	pthread_mutex_lock(&cq->keep_lock);
	filled = kept_reserve(cq, DOOR_WINDOW);
	if (filled) {
		atomic_store(&cq->keeps, true);
		filled = kept_fill(cq);
	}
	for (uint32_t from = cq->kept_at; from < cq->kept_num; from++)
		if (cq->kept[from].qp_ctx != qp_ctx)
			cq->kept[to++] = cq->kept[from];
	cq->kept_at = 0;
	cq->kept_num = to;
	pthread_mutex_unlock(&cq->keep_lock);
	return filled ? 0 : ENOMEM;
}

/* --- events ------------------------------------------------------------------------------------------- */

void
door_cq_fired(struct door_adapter *adapter, uint64_t ctx)
{
	struct door_cq *cq = (struct door_cq *)door_slot_find(&adapter->slots, DOOR_CQ, ctx);

	if (cq == NULL)
		return;
	atomic_store(&cq->any_due, false);
	if (cq->channel != NULL)
		door_channel_fire(cq->channel, cq);
}

void
door_cq_failed(struct door_cq *cq)
{
	door_async_raise(cq->context, &cq->failed);
}
