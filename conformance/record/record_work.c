/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Lines of requests, receives and completions. Payload is its length and its CRC32C. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpa_crc.h"
#include "record.h"

#define TEXT     2048
#define KEY_BITS 8u
#define GRH      40u /* octets in front of a datagram */

/* --- queues ------------------------------------------------------------------------------------------ */

struct record_qp *
record_qp_new(const struct ri_qp_init *init)
{
	/* A queue may be made larger later: then what was posted first is forgotten, and its completion has no number. */
	const uint32_t room[2] = {init->max_sq_wr * 2 + 16, init->max_rq_wr * 2 + 16};
	struct record_qp *qp =
		calloc(1, sizeof(*qp) + ((size_t)room[0] + room[1]) * sizeof(qp->ops[0]));

	if (qp == NULL)
		return NULL;
	for (int i = 0; i < 2; i++) {
		pthread_mutex_init(&qp->queues[i].post, NULL);
		qp->queues[i].room = room[i];
		qp->queues[i].ops = qp->ops + (i > 0 ? room[0] : 0);
	}
	return qp;
}

/* With the lock of the list. What is posted to a queue without room is refused. */
static void
queue_push(struct record_queue *queue, const struct record_op *op)
{
	if (queue->room == 0)
		return;
	if (queue->count == queue->room) {
		queue->first = (queue->first + 1) % queue->room;
		queue->count--;
	}
	queue->ops[(queue->first + queue->count++) % queue->room] = *op;
}

/* With the lock: the post has failed. */
static void
queue_pop(struct record_queue *queue, uint64_t number)
{
	if (queue->count > 0 &&
	    queue->ops[(queue->first + queue->count - 1) % queue->room].number == number)
		queue->count--;
}

/*
 * Finds the oldest request or receive to which this completion can belong; all before it are done.
 * The access layer gives requests that make no completion the ids of other requests. False: none
 * matches. The caller owns the lock.
 */
static bool
queue_take(struct record_queue *queue, const struct ri_wc *wc, bool receive, struct record_op *op)
{
	for (uint32_t i = 0; i < queue->count; i++) {
		*op = queue->ops[(queue->first + i) % queue->room];
		if (op->wr_id != wc->wr_id || (!receive && op->opcode != wc->opcode) ||
		    (op->silent && wc->status == RI_WC_SUCCESS))
			continue;
		queue->first = (queue->first + i + 1) % queue->room;
		queue->count -= i + 1;
		return true;
	}
	return false;
}

/* One post at a time to any shared receive queue, and none while one is resized; taken before the lock of the list. */
static pthread_mutex_t shared_post = PTHREAD_MUTEX_INITIALIZER;

bool
record_srq_room(struct wrap_obj *srq, uint32_t max_wr)
{
	uint32_t room = max_wr * 2 + 16;
	struct record_srq *fresh = calloc(1, sizeof(*fresh) + (size_t)room * sizeof(fresh->ops[0]));
	struct record_srq *old;

	if (fresh == NULL)
		return false;
	fresh->queue.room = room;
	fresh->queue.ops = fresh->ops;
	pthread_mutex_lock(&shared_post);
	pthread_mutex_lock(&srq->rnic->lock);
	old = srq->own;
	if (old != NULL) {
		for (uint32_t i = 0; i < old->queue.count; i++)
			queue_push(&fresh->queue,
				   &old->ops[(old->queue.first + i) % old->queue.room]);
		fresh->queue.posted = old->queue.posted;
	}
	srq->own = fresh;
	pthread_mutex_unlock(&srq->rnic->lock);
	pthread_mutex_unlock(&shared_post);
	free(old);
	return true;
}

/*
 * Finds the receive of a shared queue to which this completion belongs; such receives complete in
 * any order. If several have that id, the oldest is removed, but the result is unknown. False: no
 * receive has that id, or it is not known which one it is. The caller owns the lock.
 */
static bool
shared_take(struct record_queue *queue, uint64_t wr_id, struct record_op *op)
{
	uint32_t found = 0, alike = 0;

	for (uint32_t i = queue->count; i-- > 0;) {
		const struct record_op *o = &queue->ops[(queue->first + i) % queue->room];

		if (o->wr_id != wr_id)
			continue;
		*op = *o;
		found = i;
		alike++;
	}
	if (alike == 0)
		return false;
	for (uint32_t i = found; i > 0; i--)
		queue->ops[(queue->first + i) % queue->room] =
			queue->ops[(queue->first + i - 1) % queue->room];
	queue->first = (queue->first + 1) % queue->room;
	queue->count--;
	op->sums = op->sums && alike == 1;
	return alike == 1;
}

/* --- memory ----------------------------------------------------------------------------------------- */

/* What a segment or a key names. */
struct place {
	char letter; /* 'm', 'w', or 0: nothing that is known */
	bool wide;   /* a window of that type */
	uint32_t number;
	uint64_t offset;    /* of a segment, in its region */
	const void *octets; /* NULL: not mapped here */
};

static struct place
place_of(struct wrap_rnic *rnic, uint32_t stag, uint64_t addr)
{
	struct place place = {0};

	pthread_mutex_lock(&rnic->lock);
	for (const struct wrap_obj *o = rnic->objects.prev; o != &rnic->objects; o = o->prev) {
		const struct ri_mr_init *init = &o->init;
		uint64_t first = init->iova_given ? init->iova : init->zero_based ? 0 : init->addr;

		if (o->kind == WRAP_MW && o->stag >> KEY_BITS == stag >> KEY_BITS) {
			place = (struct place){.letter = 'w', .wide = o->wide, .number = o->number};
			break;
		}
		if (o->kind != WRAP_MR || o->stag != stag)
			continue;
		place = (struct place){.letter = 'm', .number = o->number, .offset = addr - first};
		if (!init->unlinked && init->pages == NULL)
			place.octets = (const void *)(uintptr_t)(init->addr + place.offset);
		break;
	}
	pthread_mutex_unlock(&rnic->lock);
	return place;
}

/* "m1+64:512,m2+0:8"; "-": no segment. `direct`: segments are read by address, whatever their keys. */
static uint32_t
segments_text(struct wrap_rnic *rnic, const struct ri_sge *sgl, uint32_t count, char *text,
	      size_t room)
{
	uint32_t sum = 0;
	size_t at = 0;

	(void)snprintf(text, room, "-");
	for (uint32_t i = 0; i < count && at + 64 < room; i++) {
		struct place place = place_of(rnic, sgl[i].stag, sgl[i].addr);

		sum += sgl[i].length;
		at += (size_t)snprintf(text + at, room - at, "%s%c%u+%llu:%u", i > 0 ? "," : "",
				       place.letter != 0 ? place.letter : 'x', place.number,
				       (unsigned long long)place.offset, sgl[i].length);
	}
	return sum;
}

/* The CRC of the first `length` octets of segments, without the first `skip`. Without an adapter,
 * the segments' addresses are read whatever their keys are. False: some of the memory cannot be
 * read here. */
static bool
segments_sum(struct wrap_rnic *rnic, const struct ri_sge *sgl, uint32_t count, uint64_t length,
	     uint64_t skip, uint32_t *crc)
{
	*crc = 0;
	for (uint32_t i = 0; i < count && length > 0; i++) {
		uint64_t part = sgl[i].length < length ? sgl[i].length : length;
		uint64_t skipped = skip < part ? skip : part;
		const uint8_t *octets = rnic == NULL
						? (const uint8_t *)(uintptr_t)sgl[i].addr
						: place_of(rnic, sgl[i].stag, sgl[i].addr).octets;

		if (octets == NULL && part > 0)
			return false;
		if (part > skipped)
			*crc = mpa_crc(octets + skipped, part - skipped, *crc);
		length -= part;
		skip -= skipped;
	}
	return length == 0;
}

/* --- posts ------------------------------------------------------------------------------------------- */

/* "RI_OP_RDMA_WRITE": "rdma_write". */
static const char *
lower(const char *name, size_t skip, char *text, size_t room)
{
	size_t at = 0;

	for (name += skip; *name != '\0' && at + 1 < room; name++)
		text[at++] = (char)tolower((unsigned char)*name);
	text[at] = '\0';
	return text;
}

/* The address handle of that id, newest first; NULL: no handle has it. */
static const struct wrap_obj *
handle_find(struct wrap_rnic *rnic, uint32_t id)
{
	const struct wrap_obj *o;

	pthread_mutex_lock(&rnic->lock);
	o = rnic->objects.prev;
	while (o != &rnic->objects && (o->kind != WRAP_AH || o->stag != id))
		o = o->prev;
	pthread_mutex_unlock(&rnic->lock);
	return o != &rnic->objects ? o : NULL;
}

/* What only some requests have. */
static void
extra_text(struct wrap_rnic *rnic, const struct ri_wr *wr, char *text, size_t room)
{
	const struct ri_wr_remote *remote = &wr->u.remote;
	const struct ri_wr_bind *bind = &wr->u.bind;
	const struct wrap_obj *ah;
	struct place window, region;

	text[0] = '\0';
	switch (wr->opcode) {
	case RI_OP_RDMA_WRITE:
	case RI_OP_RDMA_READ:
		(void)snprintf(text, room, " remote=%#x+%#llx", remote->stag,
			       (unsigned long long)remote->addr);
		break;
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		(void)snprintf(text, room, " remote=%#x+%#llx operand=%#llx swap=%#llx",
			       remote->stag, (unsigned long long)remote->addr,
			       (unsigned long long)remote->operand,
			       (unsigned long long)remote->swap);
		break;
	case RI_OP_BIND_MW:
		window = place_of(rnic, bind->mw_stag, 0);
		region = place_of(rnic, bind->mr_stag, bind->addr);
		(void)snprintf(text, room, " window=w%u region=m%u+%llu:%llu access=%#x",
			       window.number, region.number, (unsigned long long)region.offset,
			       (unsigned long long)bind->length, bind->access);
		break;
	case RI_OP_LOCAL_INV:
	case RI_OP_INV_MR:
		window = place_of(rnic, wr->inv_stag, 0);
		(void)snprintf(text, room, " object=%c%u", window.letter != 0 ? window.letter : 'x',
			       window.number);
		break;
	case RI_OP_SEND_UD:
		ah = handle_find(rnic, wr->u.ud.ah);
		(void)snprintf(text, room, " ah=h%u qpn=%u qkey=%#x", ah != NULL ? ah->number : 0,
			       wr->u.ud.qpn, wr->u.ud.qkey);
		break;
	default:
		break;
	}
	if ((wr->flags & RI_WR_INVALIDATE) != 0)
		(void)snprintf(text + strlen(text), room - strlen(text), " invalidate=%#x",
			       wr->inv_stag);
}

/* Requests whose payload leaves this side. */
static bool
sends_payload(unsigned opcode)
{
	return opcode == RI_OP_SEND || opcode == RI_OP_RDMA_WRITE || opcode == RI_OP_SEND_UD;
}

static void
op_begin(struct wrap_rnic *rnic, struct record_queue *queue, struct record_op *op, uint64_t wr_id,
	 const struct ri_sge *sgl, uint16_t num_sge)
{
	op->wr_id = wr_id;
	op->num_sge = num_sge;
	if (num_sge <= RECORD_SEGMENTS && num_sge > 0)
		memcpy(op->sgl, sgl, num_sge * sizeof(sgl[0]));
	op->sums = op->sums && num_sge <= RECORD_SEGMENTS;
	pthread_mutex_lock(&rnic->lock);
	op->number = ++queue->posted;
	queue_push(queue, op);
	pthread_mutex_unlock(&rnic->lock);
}

static void
op_end(struct wrap_rnic *rnic, struct record_queue *queue, const struct record_op *op,
       const struct wrap_obj *of, char letter, enum ri_status status)
{
	if (status == RI_SUCCESS)
		return;
	pthread_mutex_lock(&rnic->lock);
	queue_pop(queue, op->number);
	pthread_mutex_unlock(&rnic->lock);
	record_line("failed %c%u.%c%llu = %s", of->kind == WRAP_QP ? 'q' : 's', of->number, letter,
		    (unsigned long long)op->number, record_status(status));
}

/* The window has this STag from now on. */
static void
bound_note(struct wrap_rnic *rnic, const struct ri_wr *wr, const struct wrap_obj *qp,
	   uint64_t number)
{
	uint32_t stag = wr->u.bind.mw_stag;
	struct place window = place_of(rnic, stag, 0);

	if (window.wide && rnic->attr.mw_wide_stag_returned)
		stag = *wr->u.returning.stag;
	record_line("bound q%u.s%llu w%u key=%#x", qp->number, (unsigned long long)number,
		    window.number, stag);
}

enum ri_status
record_post_sq(struct ri_uqp *handle, const struct ri_wr *wr)
{
	struct wrap_obj *qp = wrap_of(handle)->half;
	struct wrap_rnic *rnic = qp->rnic;
	struct record_queue *queue = &record_qp_of(qp)->queues[0];
	struct record_op op = {.sums = wr->opcode == RI_OP_RDMA_READ,
			       .silent = (wr->flags & RI_WR_SIGNALED) == 0,
			       .opcode = wr->opcode};
	char segments[TEXT], extra[256], name[32], sum[24] = "";
	enum ri_status status;
	uint32_t length, crc;

	pthread_mutex_lock(&queue->post);
	op_begin(rnic, queue, &op, wr->wr_id, wr->sgl, wr->num_sge);
	length = segments_text(rnic, wr->sgl, wr->num_sge, segments, sizeof(segments));
	if (sends_payload(wr->opcode) && segments_sum((wr->flags & RI_WR_INLINE) == 0 ? rnic : NULL,
						      wr->sgl, wr->num_sge, length, 0, &crc))
		(void)snprintf(sum, sizeof(sum), " crc=%08x", crc);
	extra_text(rnic, wr, extra, sizeof(extra));
	record_line("post q%u.s%llu %s len=%u%s flags=%#x local=%s%s", qp->number,
		    (unsigned long long)op.number,
		    lower(ri_opcode_name(wr->opcode), strlen("RI_OP_"), name, sizeof(name)), length,
		    sum, wr->flags, segments, extra);
	status = wrap_plain_fast_ops.post_sq(handle, wr);
	op_end(rnic, queue, &op, qp, 's', status);
	if (status == RI_SUCCESS && wr->opcode == RI_OP_BIND_MW)
		bound_note(rnic, wr, qp, op.number);
	pthread_mutex_unlock(&queue->post);
	return status;
}

/* The receive of a queue pair (q) or of a shared queue (s), before it is posted. */
static void
receive_begin(struct wrap_rnic *rnic, struct record_queue *queue, struct record_op *op, char letter,
	      uint32_t number, const struct ri_recv_wr *wr)
{
	char segments[TEXT];
	uint32_t length;

	op_begin(rnic, queue, op, wr->wr_id, wr->sgl, wr->num_sge);
	length = segments_text(rnic, wr->sgl, wr->num_sge, segments, sizeof(segments));
	record_line("post %c%u.r%llu recv len=%u flags=%#x local=%s", letter, number,
		    (unsigned long long)op->number, length, wr->flags, segments);
}

enum ri_status
record_post_rq(struct ri_uqp *handle, const struct ri_recv_wr *wr)
{
	struct wrap_obj *qp = wrap_of(handle)->half;
	struct record_queue *queue = &record_qp_of(qp)->queues[1];
	struct record_op op = {.sums = true};
	enum ri_status status;

	pthread_mutex_lock(&queue->post);
	receive_begin(qp->rnic, queue, &op, 'q', qp->number, wr);
	status = wrap_plain_fast_ops.post_rq(handle, wr);
	op_end(qp->rnic, queue, &op, qp, 'r', status);
	pthread_mutex_unlock(&queue->post);
	return status;
}

enum ri_status
record_post_srq(struct ri_usrq *handle, const struct ri_recv_wr *wr)
{
	struct wrap_obj *srq = wrap_of(handle)->half;
	struct record_op op = {.sums = true};
	struct record_queue *queue;
	enum ri_status status;

	pthread_mutex_lock(&shared_post);
	queue = &((struct record_srq *)srq->own)->queue;
	receive_begin(srq->rnic, queue, &op, 's', srq->number, wr);
	status = wrap_plain_fast_ops.post_srq(handle, wr);
	op_end(srq->rnic, queue, &op, srq, 'r', status);
	pthread_mutex_unlock(&shared_post);
	return status;
}

/* --- completions ------------------------------------------------------------------------------------- */

/* Find what a completion is of, with the lock; and where a receive of a shared queue came from, as text. */
static void
op_find(struct wrap_obj *qp, const struct ri_wc *wc, bool receive, struct record_op *op, char *from,
	size_t room)
{
	struct record_queue *queue = &record_qp_of(qp)->queues[receive];
	struct record_srq *shared = receive && qp->srq != NULL ? qp->srq->own : NULL;

	if (shared == NULL) {
		if (!queue_take(queue, wc, receive, op))
			op->number = 0;
		return;
	}
	if (shared_take(&shared->queue, wc->wr_id, op))
		(void)snprintf(from, room, " from=s%u.r%llu", qp->srq->number,
			       (unsigned long long)op->number);
	op->number =
		++queue->posted; /* the receives of a queue pair are numbered as it completes them */
}

static void
done_line(struct wrap_rnic *rnic, const struct ri_wc *wc)
{
	bool receive = (wc->flags & RI_WC_RECEIVE) != 0 || wc->opcode == RI_OP_RECV ||
		       wc->opcode == RI_OP_RECV_UD || wc->opcode == RI_OP_RECV_WRITE;
	struct record_op op = {.sums = false};
	char name[32], status[32], sum[24] = "", invalidated[24] = "", from[40] = "";
	uint32_t number = 0, crc;
	struct wrap_obj *o;

	pthread_mutex_lock(&rnic->lock);
	for (o = rnic->objects.prev; o != &rnic->objects; o = o->prev)
		if (o->kind == WRAP_QP && o->ctx == wc->qp_ctx)
			break;
	if (o != &rnic->objects) {
		number = o->number;
		op_find(o, wc, receive, &op, from, sizeof(from));
	}
	pthread_mutex_unlock(&rnic->lock);
	if (wc->status == RI_WC_SUCCESS && op.sums && op.number > 0 &&
	    segments_sum(rnic, op.sgl, op.num_sge, wc->byte_len,
			 wc->opcode == RI_OP_RECV_UD ? GRH : 0, &crc))
		(void)snprintf(sum, sizeof(sum), " crc=%08x", crc);
	if (wc->status == RI_WC_SUCCESS && (wc->flags & RI_WC_INVALIDATED) != 0)
		(void)snprintf(invalidated, sizeof(invalidated), " invalidated=%#x", wc->inv_stag);
	record_line("done q%u.%c%llu %s %s len=%u%s%s%s", number, receive ? 'r' : 's',
		    (unsigned long long)op.number,
		    lower(ri_opcode_name(wc->opcode), strlen("RI_OP_"), name, sizeof(name)),
		    lower(ri_wc_status_name(wc->status), strlen("RI_WC_"), status, sizeof(status)),
		    wc->status == RI_WC_SUCCESS ? wc->byte_len : 0, sum, invalidated, from);
}

uint32_t
record_poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	struct wrap_rnic *rnic = wrap_rnic_of(cq);
	uint32_t taken = wrap_plain_fast_ops.poll_cq(cq, wc, n);

	for (uint32_t i = 0; i < taken; i++)
		done_line(rnic, &wc[i]);
	return taken;
}
