/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections by attributes, InfiniBand personality [RI 11.6.4]: two queue pairs of the fabric that name each other.
 *
 * Each end comes up by itself. The one that begins to receive second finds the first by its number and makes them a
 * pair, if each names the number of the other and their addresses lead to each other; that is the meaning of `open`
 * here. From one reset to the next a queue pair has only one partner: a queue pair that gets the number of an ended
 * one has other packet numbers. `ready` says, under the fabric's lock, that a partner may still be found. It is
 * cleared before the queue pair leaves its pair, so no thread connects a queue pair that is being destroyed.
 *
 * For each message peer_hears decides whether it arrives. On a reliable connection the first request that does not
 * arrive waits as long as its sender would retry, and then fails. On an unreliable connection it is dropped, and so
 * is every message that the peer does not accept: vem_fail_there and vsw_respond_parts do that.
 */
#include "vem_peer.h"

#include <string.h>

#include "vem_fault.h"
#include "vem_remote.h"
#include "vem_ud.h"
#include "vsw_spans.h"

/* ns for which an unreliable message waits until its partner is found; on a busy host that takes longer than 100 ms */
#define LOOKING    UINT64_C(1000000000)
#define NUMBER_MAX 0xffffffu /* queue pair numbers and packet numbers have 24 bits */

/* --- waiting ------------------------------------------------------------------------------ */

/* 4.096 us times 2 to that power, for each try (IBTA volume 1, 9.9.2.1.1). 0: without end. */
static uint64_t
patience_of(const struct vem_by_peer *far)
{
	return far->timeout == 0
		       ? 0
		       : (UINT64_C(4096) << far->timeout) * (far->retry_count + UINT64_C(1));
}

/* Wait of a peer that finds no receive, by its code (IBTA volume 1, table 46), in ns. */
static uint64_t
rnr_time_of(uint8_t code)
{
	/* in 10 us */
	static const uint16_t times[] = {65535, 1,    2,    3,     4,     6,     8,     12,
					 16,    24,   32,   48,    64,    96,    128,   192,
					 256,   384,  512,  768,   1024,  1536,  2048,  3072,
					 4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

	return code == 0 ? UINT64_C(655360000) : times[code % 32] * UINT64_C(10000);
}

uint8_t
vem_peer_rnr_code(uint64_t wait)
{
	uint8_t code = 31;

	while (code > 1 && rnr_time_of(code) > wait)
		code--;
	return wait >= rnr_time_of(0) ? 0 : code;
}

uint64_t
vem_peer_rnr_wait(uint8_t retries, uint8_t code)
{
	return retries == VEM_RETRIES_MAX ? RI_NEVER : retries * rnr_time_of(code);
}

/* May the sender read what it sends? It does so whether or not somebody is there. */
static bool
own_memory_is_good(struct vem_qp *qp)
{
	struct vsw_spans message;

	if (qp->tx_wqe->opcode != RI_OP_SEND && qp->tx_wqe->opcode != RI_OP_RDMA_WRITE)
		return true;
	if (vsw_spans_gather(qp->rnic->mem, &qp->in.who, qp->tx_wqe, &message) != VSW_MEM_OK)
		return false;
	vsw_spans_end(&message);
	return true;
}

/*
 * The request cannot arrive now. Returns whether it is done. The caller owns the role `tx`. `open`
 * is the value that the caller has read, since the two queue pairs may find each other at this
 * moment. Between processes that takes a moment, during which nothing counts as lost.
 */
static bool
request_lost(struct vem_qp *qp, bool open)
{
	bool looking = qp->rnic->fabric->between && !open;
	const struct ri_host *host = qp->rnic->host;
	uint64_t until = atomic_load(&qp->lost_until);
	uint64_t patience = qp->init.type == RI_QP_UC ? LOOKING : patience_of(&qp->far);

	if (until == 0 && !own_memory_is_good(qp))
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);
	if (qp->init.type == RI_QP_UC && (!looking || until == VEM_RNR_LATE)) {
		vem_sq_complete(qp, RI_WC_SUCCESS); /* it has left */
		return true;
	}
	if (until == VEM_RNR_LATE)
		return vem_fail_here(qp, RI_WC_TRANSPORT);
	if (until != 0)
		return false;
	if (patience == 0) {
		atomic_store(&qp->lost_until, RI_NEVER);
		return false;
	}
	until = host->now(host->self) + patience;
	atomic_store(&qp->lost_until, until);
	host->timer_start(host->self, &qp->lost_timer, until);
	return false;
}

/* Another request may be waiting by now. */
static bool
is_over(struct vem_qp *qp, _Atomic uint64_t *time)
{
	const struct ri_host *host = qp->rnic->host;
	uint64_t until = atomic_load(time);

	return until > VEM_RNR_LATE && host->now(host->self) >= until &&
	       atomic_compare_exchange_strong(time, &until, VEM_RNR_LATE);
}

/* Between processes: the partner was not found in time. True: its process is asked, and the request waits on. */
static bool
partner_asked(struct vem_qp *qp, uint64_t until)
{
	const struct ri_host *host = qp->rnic->host;
	struct vem_fabric *fabric = qp->rnic->fabric;
	uint64_t again;
	bool asked;

	if (!fabric->between || qp->init.type == RI_QP_UC || atomic_load(&qp->open))
		return false;
	pthread_mutex_lock(&fabric->lock);
	asked = vem_remote_ask(qp);
	pthread_mutex_unlock(&fabric->lock);
	again = host->now(host->self) + patience_of(&qp->far);
	if (asked && atomic_compare_exchange_strong(&qp->lost_until, &until, again))
		host->timer_start(host->self, &qp->lost_timer, again);
	return asked;
}

/* On the service thread: the sender has tried often enough. */
void
vem_peer_lost_fire(void *arg)
{
	struct vem_qp *qp = arg;
	const struct ri_host *host = qp->rnic->host;
	uint64_t until = atomic_load(&qp->lost_until);
	bool late = until > VEM_RNR_LATE && host->now(host->self) >= until;
	bool lost = late && !partner_asked(qp, until) && is_over(qp, &qp->lost_until);

	if (is_over(qp, &qp->tries_until) || lost)
		vem_sq_run(qp);
}

void
vem_peer_not_found(struct vem_qp *qp)
{
	uint64_t until = atomic_load(&qp->lost_until);

	if (until > VEM_RNR_LATE && until != RI_NEVER &&
	    atomic_compare_exchange_strong(&qp->lost_until, &until, VEM_RNR_LATE))
		vem_run_soon(qp);
}

void
vem_peer_watch(struct vem_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;
	uint64_t patience = patience_of(&qp->far);
	uint64_t until = patience == 0 ? RI_NEVER : host->now(host->self) + patience;

	atomic_store(&qp->tries_until, until);
	if (until != RI_NEVER)
		host->timer_start(host->self, &qp->lost_timer, until);
}

/* --- running ------------------------------------------------------------------------------ */

/* Does a message of `qp` arrive at its partner? The caller has a use of it. */
static bool
peer_hears(const struct vem_qp *qp, const struct vem_qp *peer)
{
	return vem_qp_takes(peer) && qp->far.sq_psn == peer->far.rq_psn &&
	       !vem_fault_offline(qp->rnic) && !vem_fault_offline(peer->rnic);
}

/* The first message came before the application made the partner send. */
void
vem_peer_heard(struct vem_qp *peer)
{
	const struct ri_upcalls *up = peer->rnic->upcalls;
	const struct ri_async_event event = {
		.event = RI_EVENT_QP_COMM_EST, .object = RI_OBJECT_QP, .ctx = peer->in.ctx};

	if (atomic_load(&peer->state) == RI_QPS_CONNECTING &&
	    !atomic_exchange(&peer->comm_est, true))
		up->async_event(up->self, &event);
}

bool
vem_peer_execute(struct vem_qp *qp)
{
	/* Before it is open the pair may be written by another thread. */
	bool open = atomic_load(&qp->open);
	bool done = false;

	if (open && atomic_load(&qp->remote) != NULL)
		return false; /* found just now, in another process: whoever found it runs the queue again */

	struct vem_qp *peer = open ? vem_peer_enter(qp) : NULL;

	if (peer == NULL)
		return request_lost(qp, open);
	if (peer_hears(qp, peer)) {
		atomic_store(&qp->lost_until, 0);
		vem_peer_heard(peer);
		done = vem_execute_with(qp, peer);
	} else {
		done = request_lost(qp, open);
	}
	vem_peer_exit(qp);
	return done;
}

/* --- pairs -------------------------------------------------------------------------------- */

struct vem_qp *
vem_peer_numbered(struct vem_fabric *fabric, uint32_t qpn)
{
	struct vsw_item *row = &fabric->numbered[qpn % VEM_UD_ROWS];

	for (struct vsw_item *i = row->next; i != row; i = i->next)
		if (vsw_of(i, struct vem_qp, number_item)->in.who.qpn == qpn)
			return vsw_of(i, struct vem_qp, number_item);
	return NULL;
}

/* Source and destination of a route header. */
static bool
ways_meet(const struct vem_target *a, const struct vem_target *b)
{
	return memcmp(a->grh + 8, b->grh + 24, 16) == 0 && memcmp(a->grh + 24, b->grh + 8, 16) == 0;
}

/* Find the partner, if it is there already. With the fabric's lock, under which it stays. */
static enum ri_status
partner_join(struct vem_qp *qp, struct vem_qp **partner)
{
	struct vem_qp *other = vem_peer_numbered(qp->rnic->fabric, qp->far.qpn);

	if (other == NULL || !other->ready || other->pair != NULL ||
	    other->init.type != qp->init.type || other->far.qpn != qp->in.who.qpn ||
	    !ways_meet(&qp->far.target, &other->far.target))
		return RI_SUCCESS;

	enum ri_status status = vem_pair_create(other, qp);

	if (status != RI_SUCCESS)
		return status;
	atomic_store(&qp->open, true);
	atomic_store(&other->open, true);
	*partner = other;
	return RI_SUCCESS;
}

void
vem_peer_part(struct vem_qp *qp)
{
	pthread_mutex_lock(&qp->rnic->fabric->lock);
	qp->ready = false;
	pthread_mutex_unlock(&qp->rnic->fabric->lock);
}

/* --- verbs -------------------------------------------------------------------------------- */

static bool
is_for_peers(const struct vem_qp *qp)
{
	return qp->rnic->fabric->personality == VEM_IB &&
	       (qp->init.type == RI_QP_RC || qp->init.type == RI_QP_UC);
}

static bool
mtu_is_known(uint32_t mtu)
{
	return mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0;
}

static enum ri_status
peer_receive(struct ri_qp *ri, const struct ri_peer *peer)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	struct vem_fabric *fabric = qp->rnic->fabric;
	struct ri_rnic_attr attr = {.size = sizeof(attr)};
	struct vem_by_peer far = {
		.qpn = peer->qpn, .rq_psn = peer->rq_psn, .min_rnr_timer = peer->min_rnr_timer};
	struct vem_qp *partner = NULL;
	struct vem_remote *join = NULL;
	enum ri_status status;

	if (!is_for_peers(qp))
		return RI_ERR_UNSUPPORTED;
	if (atomic_load(&qp->state) != RI_QPS_IDLE)
		return RI_ERR_INVALID_STATE;
	if (peer->qpn > NUMBER_MAX || peer->rq_psn > NUMBER_MAX || !mtu_is_known(peer->path_mtu) ||
	    peer->min_rnr_timer > 31)
		return RI_ERR_INVALID_ARG;
	vem_profile(fabric, &attr);
	if (qp->init.type == RI_QP_RC && peer->ird > attr.max_ird)
		return RI_ERR_LIMIT;
	status = vem_target_make(qp->rnic, &peer->path, &far.target);
	if (status == RI_SUCCESS && vem_gid_is_group(far.target.grh + 24))
		status = RI_ERR_NO_ROUTE; /* a group is no peer */
	if (status != RI_SUCCESS)
		return status;

	/* Between processes all go through links, but one that is connected with itself. */
	bool between = fabric->between && far.qpn != qp->in.who.qpn;
	if (between && (join = vem_remote_prepare(qp)) == NULL)
		return RI_ERR_RESOURCES;

	pthread_mutex_lock(&fabric->lock);
	qp->far = far;
	atomic_store(&qp->by_peer, true);
	atomic_store(&qp->comm_est, false);
	qp->ready = true;
	qp->join = join;
	if (!between)
		status = partner_join(qp, &partner);
	if (status == RI_SUCCESS) {
		if (qp->init.type == RI_QP_RC)
			atomic_store(&qp->in.ird, peer->ird);
		(void)vem_qp_move(qp, VEM_MOVE_CONNECT, NULL); /* from IDLE, as was checked */
		if (partner != NULL)
			vem_run_soon(partner); /* it may have something to send */
	} else {
		qp->ready = false;
		atomic_store(&qp->by_peer, false);
	}
	pthread_mutex_unlock(&fabric->lock);
	if (between)
		vem_qp_message(qp, VEM_MSG_CONNECT, 0, NULL); /* its task looks for the partner */
	return status;
}

static enum ri_status
peer_send(struct ri_qp *ri, const struct ri_peer *peer)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	if (!is_for_peers(qp))
		return RI_ERR_UNSUPPORTED;
	if (!atomic_load(&qp->by_peer) || atomic_load(&qp->state) != RI_QPS_CONNECTING)
		return RI_ERR_INVALID_STATE;
	if (peer->sq_psn > NUMBER_MAX || peer->timeout > 31 || peer->retry_count > 7 ||
	    peer->rnr_retry > 7)
		return RI_ERR_INVALID_ARG;
	vem_profile(qp->rnic->fabric, &attr);
	if (qp->init.type == RI_QP_RC && peer->ord > attr.max_ord)
		return RI_ERR_LIMIT;

	/* Only its own sender reads these, and not before the move. */
	qp->far.sq_psn = peer->sq_psn;
	qp->far.timeout = peer->timeout;
	qp->far.retry_count = peer->retry_count;
	qp->far.rnr_retry = peer->rnr_retry;
	if (qp->init.type == RI_QP_RC)
		atomic_store(&qp->ord, peer->ord);
	if (!vem_qp_move(qp, VEM_MOVE_UP, NULL))
		return RI_ERR_INVALID_STATE;
	vem_run_soon(qp);
	return RI_SUCCESS;
}

const struct ri_peer_ops vem_peer_ops = {
	.size = sizeof(struct ri_peer_ops),
	.receive = peer_receive,
	.send = peer_send,
};
