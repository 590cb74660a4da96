/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Work queues are filled many times, so that each slot is used again: first by requests with all possible members, then
 * by requests with fewer segments, a shorter length, no flags, or another operation. A request must not be affected by
 * what an earlier one left in its slot.
 *
 * A batch of random requests is posted, each with memory of its own in both regions, so that their order does not count. When
 * all are completed, all octets of both regions and all members of the completions are compared with what they must be: also
 * the octets behind a message that is shorter than its receive, and between segments. No size and no offset is round.
 *
 * The region of the far side ends with the last word that an atomic changes. Long laps have messages of several packets, whose segments
 * end at, before and behind multiples of the sizes that packets have.
 */

#include <string.h>

#include "verbs_shared.h"

#define SEGMENTS 5u    /* of a request, at most */
#define BATCH    15u   /* requests of a batch, at most; each has a piece of both regions */
#define HALF     113u  /* octets of the source or the target of a piece */
#define LONG     9001u /* the same of long laps */
#define WORD     25u   /* octets of a piece that have the word of an atomic */
#define REQUESTS 1500u /* of a case */
#define LENGTHY  300u  /* the same of long laps */

/* One request of a batch. */
struct job {
	struct ri_wr wr;
	struct ri_sge sgl[SEGMENTS];
	struct ri_recv_wr recv;
	struct ri_sge into[SEGMENTS];
	uint32_t length;
	bool receives; /* it takes a receive */
};

struct laps {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_end *a, *b;
	struct shared *shared; /* of b; NULL: b has a receive queue of its own */
	struct cert_region *from, *into;
	uint32_t half, most;       /* octets of a source or a target; requests of a batch */
	size_t region;             /* octets of either region */
	uint8_t *near_is, *far_is; /* what the regions must hold */
	uint8_t *octets;           /* of one message */
	struct job jobs[BATCH];
	unsigned count; /* jobs of this batch */
	unsigned shift; /* which piece the first one has */
	bool rich,
		plain; /* this batch has all that a request can have; nothing that it can do without */
};

/* --- random requests ----------------------------------------------------------------------- */

static bool
chance(struct laps *laps)
{
	if (laps->rich || laps->plain)
		return laps->rich;
	return cert_random_below(laps->cert, 2) == 0;
}

/* Any number, and often one that a device might keep for itself. */
static uint64_t
any_value(struct laps *laps)
{
	static const uint64_t edges[] = {0,
					 1,
					 UINT8_MAX,
					 UINT16_MAX,
					 INT32_MAX,
					 UINT32_MAX,
					 UINT64_C(1) << 32,
					 INT64_MAX,
					 UINT64_C(1) << 63,
					 UINT64_MAX - 1,
					 UINT64_MAX};

	if (cert_random_below(laps->cert, 2) == 0)
		return cert_random(laps->cert);
	return edges[cert_random_below(laps->cert, G_N_ELEMENTS(edges))];
}

static int
compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* A length at the edge of a packet, or a short one, or none. */
static size_t
edge_length(struct laps *laps)
{
	uint32_t packet = 256u << cert_random_below(laps->cert, 5);

	switch (cert_random_below(laps->cert, 8)) {
	case 0:
		return 0;
	case 1:
		return cert_random_below(laps->cert, 70);
	case 2:
		return packet - 1;
	case 3:
		return packet + 1;
	default:
		return packet;
	}
}

/* Where segments begin and end in the octets of a half, in ascending order. */
static void
cuts_make(struct laps *laps, uint32_t count, int *cuts)
{
	size_t at = 0;

	for (uint32_t i = 0; i < 2 * count && laps->half == HALF; i++)
		cuts[i] = (int)cert_random_below(laps->cert, laps->half + 1);
	if (laps->half == HALF)
		qsort(cuts, 2 * count, sizeof(cuts[0]), compare);
	for (uint32_t i = 0; i < 2 * count && laps->half != HALF; i++) {
		at += i % 2 == 0 ? cert_random_below(laps->cert, 3) : edge_length(laps);
		at = MIN(at, laps->half);
		cuts[i] = (int)at;
	}
}

/*
 * Fills in up to `most` segments, in ascending order and with gaps, in one half of a piece at `at`.
 * Some have length 0, and then an invalid address and key. Returns the number of segments.
 */
static uint16_t
scatter(struct laps *laps, const struct cert_region *region, size_t at, uint32_t most,
	struct ri_sge *sgl)
{
	uint32_t count = laps->rich    ? MIN(most, SEGMENTS)
			 : laps->plain ? cert_random_below(laps->cert, 2)
				       : cert_random_below(laps->cert, MIN(most, SEGMENTS) + 1);
	int cuts[2 * SEGMENTS] = {0};

	cuts_make(laps, count, cuts);
	for (uint32_t i = 0; i < count; i++) {
		size_t length = (size_t)(cuts[2 * i + 1] - cuts[2 * i]);

		sgl[i] = cert_sge(region, at + (size_t)cuts[2 * i], length);
		if (length == 0)
			sgl[i] = (struct ri_sge){.addr = cert_random(laps->cert),
						 .stag = (uint32_t)cert_random(laps->cert)};
	}
	return (uint16_t)count;
}

static uint32_t
sum_of(const struct ri_sge *sgl, unsigned count)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += sgl[i].length;
	return sum;
}

/* Where the parts of the piece of a job are in its region. */
static size_t
source_of(const struct laps *laps, unsigned job)
{
	return (size_t)((job + laps->shift) % laps->most) * (2 * laps->half + WORD);
}

static size_t
target_of(const struct laps *laps, unsigned job)
{
	return source_of(laps, job) + laps->half;
}

/* The aligned word in the last octets of a piece of the far side; regions begin at a multiple of 8. */
static size_t
word_of(const struct laps *laps, unsigned job)
{
	return (target_of(laps, job) + laps->half + 7) & ~(size_t)7;
}

static enum ri_opcode
some_opcode(struct laps *laps)
{
	const struct ri_rnic_attr *attr = &laps->near->attr;
	bool reads = laps->a->init.ord > 0 && laps->b->init.ird > 0;

	switch (cert_random_below(laps->cert, 6)) {
	case 0:
	case 1:
		return RI_OP_RDMA_WRITE;
	case 2:
		return reads ? RI_OP_RDMA_READ : RI_OP_SEND;
	case 3:
		if (!reads || !attr->atomics)
			return RI_OP_SEND;
		return cert_random_below(laps->cert, 2) == 0 ? RI_OP_FETCH_ADD : RI_OP_CMP_SWAP;
	default:
		return RI_OP_SEND;
	}
}

/* Flags and immediate data that go with a Send or a Write, and whether it takes a receive. */
static void
dress(struct laps *laps, struct job *job)
{
	const struct ri_rnic_attr *attr = &laps->near->attr;
	bool send = job->wr.opcode == RI_OP_SEND;
	uint8_t with = send ? RI_IMMEDIATE_SEND : RI_IMMEDIATE_WRITE;

	if (attr->inline_data && job->length <= laps->a->init.max_inline && chance(laps))
		job->wr.flags |= RI_WR_INLINE;
	if ((attr->immediate_with & with) != 0 && chance(laps)) {
		job->wr.flags |= RI_WR_IMMEDIATE;
		job->wr.imm = (uint32_t)any_value(laps);
	}
	if (send && chance(laps))
		job->wr.flags |= RI_WR_SOLICITED;
	job->receives = send || (job->wr.flags & RI_WR_IMMEDIATE) != 0;
}

/* Make the last segment of a receive longer; false: there is no room, or it has none. */
static bool
widen(struct laps *laps, unsigned at, uint32_t octets)
{
	struct job *job = &laps->jobs[at];
	struct ri_sge *last = &job->into[job->recv.num_sge - 1];
	uint64_t end = (uintptr_t)laps->into->at + target_of(laps, at) + laps->half;

	if (last->length == 0 || last->addr + last->length + octets > end)
		return false;
	last->length += octets;
	return true;
}

/* A receive with room for the message, and often for more. That of a Write's immediate data may have any segments. */
static void
make_receive(struct laps *laps, unsigned at)
{
	struct job *job = &laps->jobs[at];
	struct ri_recv_wr *recv = &job->recv;

	recv->wr_id = any_value(laps);
	recv->sgl = job->into;
	recv->num_sge = scatter(laps, laps->into, target_of(laps, at), laps->b->init.max_recv_sge,
				job->into);
	if (laps->far->attr.cq_notify_flag && chance(laps))
		recv->flags = RI_WR_NOTIFY;
	if (job->wr.opcode == RI_OP_RDMA_WRITE || sum_of(job->into, recv->num_sge) >= job->length)
		return;
	if (recv->num_sge > 0 && widen(laps, at, job->length - sum_of(job->into, recv->num_sge)))
		return;
	job->into[0] = cert_sge(laps->into, target_of(laps, at), laps->half);
	recv->num_sge = 1;
}

static void
make_remote(struct laps *laps, unsigned at, size_t start)
{
	struct job *job = &laps->jobs[at];
	uint32_t slack = laps->half - job->length;
	size_t shift = slack > 0 ? cert_random_below(laps->cert, slack + 1) : 0;

	job->wr.u.remote.addr = (uintptr_t)laps->into->at + start + shift;
	job->wr.u.remote.stag = laps->into->stag;
}

static void
make_atomic(struct laps *laps, unsigned at)
{
	struct job *job = &laps->jobs[at];
	size_t word = word_of(laps, at);

	job->length = 8;
	job->sgl[0] = cert_sge(
		laps->from, target_of(laps, at) + cert_random_below(laps->cert, laps->half - 8), 8);
	job->wr.num_sge = 1;
	job->wr.u.remote.addr = (uintptr_t)laps->into->at + word;
	job->wr.u.remote.stag = laps->into->stag;
	memcpy(&job->wr.u.remote.operand, laps->far_is + word, 8);
	if (job->wr.opcode == RI_OP_FETCH_ADD || chance(laps))
		job->wr.u.remote.operand = any_value(laps);
	job->wr.u.remote.swap = any_value(laps);
}

static void
make_job(struct laps *laps, unsigned at)
{
	const struct ri_qp_init *init = &laps->a->init;
	struct job *job = &laps->jobs[at];

	memset(job, 0, sizeof(*job));
	job->wr = (struct ri_wr){
		.wr_id = any_value(laps), .opcode = (uint8_t)some_opcode(laps), .sgl = job->sgl};
	if (chance(laps))
		job->wr.flags |= RI_WR_SIGNALED;
	if (laps->near->attr.cq_notify_flag && chance(laps))
		job->wr.flags |= RI_WR_NOTIFY;
	if (cert_random_below(laps->cert, 4) == 0)
		job->wr.flags |= RI_WR_READ_FENCE;
	switch (job->wr.opcode) {
	case RI_OP_RDMA_READ:
		job->wr.num_sge = scatter(laps, laps->from, target_of(laps, at), init->max_read_sge,
					  job->sgl);
		job->length = sum_of(job->sgl, job->wr.num_sge);
		make_remote(laps, at, source_of(laps, at));
		return;
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		make_atomic(laps, at);
		return;
	default:
		break;
	}
	job->wr.num_sge = scatter(
		laps, laps->from, source_of(laps, at),
		job->wr.opcode == RI_OP_SEND ? init->max_send_sge : init->max_write_sge, job->sgl);
	job->length = sum_of(job->sgl, job->wr.num_sge);
	dress(laps, job);
	if (job->wr.opcode == RI_OP_RDMA_WRITE)
		make_remote(laps, at, target_of(laps, at));
	if (job->receives)
		make_receive(laps, at);
}

/* The last one of a batch: its completion frees all slots, and its receive is behind all Writes. */
static void
make_last(struct laps *laps)
{
	struct job *job = &laps->jobs[laps->count++];

	memset(job, 0, sizeof(*job));
	job->wr = (struct ri_wr){.wr_id = any_value(laps),
				 .opcode = RI_OP_SEND,
				 .flags = RI_WR_SIGNALED | RI_WR_READ_FENCE};
	job->receives = true;
	job->recv.wr_id = any_value(laps);
}

/* --- what they must do ------------------------------------------------------------------------- */

/* Segments of a region, and its memory as it must be. */
struct list {
	const struct cert_region *region;
	uint8_t *memory;
	const struct ri_sge *sgl;
	unsigned count;
};

/* The octets of the segments, one after another, are copied from memory as it must be, or into it. */
static void
gather(const struct list *list, uint8_t *octets, uint32_t length, bool into)
{
	for (unsigned i = 0; i < list->count && length > 0; i++) {
		uint32_t piece = MIN(list->sgl[i].length, length);
		uint8_t *at = list->memory;

		if (piece > 0)
			at += list->sgl[i].addr - (uintptr_t)list->region->at;
		memcpy(into ? at : octets, into ? octets : at, piece);
		octets += piece;
		length -= piece;
	}
}

static void
expect_job(struct laps *laps, struct job *job)
{
	const struct ri_wr *wr = &job->wr;
	struct list near = {laps->from, laps->near_is, job->sgl, wr->num_sge};
	struct list far = {laps->into, laps->far_is, job->into, job->recv.num_sge};
	size_t there = job->length > 0 ? wr->u.remote.addr - (uintptr_t)laps->into->at : 0;
	uint8_t *octets = laps->octets;
	uint64_t word;

	switch (wr->opcode) {
	case RI_OP_SEND:
		gather(&near, octets, job->length, false);
		gather(&far, octets, job->length, true);
		break;
	case RI_OP_RDMA_WRITE:
		gather(&near, octets, job->length, false);
		memcpy(laps->far_is + there, octets, job->length);
		break;
	case RI_OP_RDMA_READ:
		memcpy(octets, laps->far_is + there, job->length);
		gather(&near, octets, job->length, true);
		break;
	default:
		memcpy(&word, laps->far_is + there, 8);
		memcpy(octets, &word, 8);
		gather(&near, octets, 8, true);
		if (wr->opcode == RI_OP_FETCH_ADD)
			word += wr->u.remote.operand;
		else if (word == wr->u.remote.operand)
			word = wr->u.remote.swap;
		memcpy(laps->far_is + there, &word, 8);
		break;
	}
}

static void
expect_request(struct laps *laps, const struct job *job)
{
	bool asked = (job->wr.flags & RI_WR_NOTIFY) != 0;
	struct ri_wc wc = cert_wc_is(laps->a, false, job->wr.wr_id, RI_WC_SUCCESS);

	CERT_UINT(laps->cert, wc.opcode, ==, job->wr.opcode);
	CERT_UINT(laps->cert, wc.byte_len, ==, job->length);
	CERT_UINT(laps->cert, wc.flags & ~(uint32_t)RI_WC_SOLICITED, ==, 0);
	if (laps->near->attr.solicited_works)
		CERT_UINT(laps->cert, (wc.flags & RI_WC_SOLICITED) != 0, ==, asked);
}

static void
expect_receive(struct laps *laps, const struct job *job)
{
	const uint32_t flags = job->wr.flags;
	bool immediate = (flags & RI_WR_IMMEDIATE) != 0;
	bool asked = (job->recv.flags & RI_WR_NOTIFY) != 0 || (flags & RI_WR_SOLICITED) != 0;
	struct ri_wc wc = cert_wc_is(laps->b, true, job->recv.wr_id, RI_WC_SUCCESS);

	CERT_UINT(laps->cert, wc.opcode, ==,
		  job->wr.opcode == RI_OP_SEND ? RI_OP_RECV : RI_OP_RECV_WRITE);
	CERT_UINT(laps->cert, wc.byte_len, ==, job->length);
	CERT_UINT(laps->cert, wc.flags & ~(uint32_t)RI_WC_SOLICITED, ==,
		  RI_WC_RECEIVE | (immediate ? (uint32_t)RI_WC_IMMEDIATE : 0u));
	if (immediate)
		CERT_UINT(laps->cert, wc.imm, ==, job->wr.imm);
	if (laps->far->attr.solicited_works)
		CERT_UINT(laps->cert, (wc.flags & RI_WC_SOLICITED) != 0, ==, asked);
}

/* --- laps ---------------------------------------------------------------------------------- */

static void
renew(struct laps *laps)
{
	for (size_t i = 0; i < laps->region; i++) {
		laps->near_is[i] = (uint8_t)cert_random(laps->cert);
		laps->far_is[i] = (uint8_t)cert_random(laps->cert);
	}
	memcpy(laps->from->at, laps->near_is, laps->region);
	memcpy(laps->into->at, laps->far_is, laps->region);
}

/* One line a batch: of a failure the last lines are kept. */
static void
note_batch(struct laps *laps)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (unsigned i = 0; i < laps->count; i++) {
		const struct job *job = &laps->jobs[i];

		g_string_append_printf(text, "%s%s: %u octets of %u segments, flags 0x%x",
				       i > 0 ? "; " : "",
				       ri_opcode_name((enum ri_opcode)job->wr.opcode), job->length,
				       job->wr.num_sge, job->wr.flags);
		if (job->receives)
			g_string_append_printf(text, ", into %u of %u segments",
					       sum_of(job->into, job->recv.num_sge),
					       job->recv.num_sge);
	}
	cert_note(laps->cert, "%s", text->str);
}

static void
run_batch(struct laps *laps, unsigned count)
{
	uint32_t kind = cert_random_below(laps->cert, 4);

	laps->rich = kind == 0;
	laps->plain = kind == 1;
	laps->count = count;
	laps->shift = cert_random_below(laps->cert, laps->most);
	for (unsigned i = 0; i < count; i++)
		make_job(laps, i);
	make_last(laps);
	note_batch(laps);
	for (unsigned i = 0; i < laps->count; i++) {
		if (laps->jobs[i].receives)
			shared_post(laps->shared, laps->b, &laps->jobs[i].recv);
	}
	for (unsigned i = 0; i < laps->count; i++) {
		cert_post(laps->a, &laps->jobs[i].wr);
		expect_job(laps, &laps->jobs[i]);
	}
	for (unsigned i = 0; i < laps->count; i++) {
		if (laps->jobs[i].receives)
			expect_receive(laps, &laps->jobs[i]);
	}
	for (unsigned i = 0; i < laps->count; i++) {
		if ((laps->jobs[i].wr.flags & RI_WR_SIGNALED) != 0)
			expect_request(laps, &laps->jobs[i]);
	}
	CERT_UINT(laps->cert, laps->near->p->fast->cq_depth(laps->a->uscq), ==, 0);
	CERT_UINT(laps->cert, laps->far->p->fast->cq_depth(laps->b->urcq), ==, 0);
	CERT_BYTES(laps->cert, laps->from->at, laps->near_is, laps->region);
	CERT_BYTES(laps->cert, laps->into->at, laps->far_is, laps->region);
	cert_region_guards(laps->from);
	cert_region_guards(laps->into);
}

static struct ri_qp_init
sizes_of(const struct ri_rnic_attr *attr, const struct cert_node *node, uint32_t slots,
	 uint32_t half)
{
	struct ri_qp_init init = cert_end_defaults(node);

	init.max_sq_wr = MIN(slots, attr->max_sq_wr);
	init.max_rq_wr = MIN(slots, attr->max_rq_wr);
	init.max_send_sge = MIN(SEGMENTS, attr->max_send_sge);
	init.max_recv_sge = MIN(SEGMENTS, attr->max_recv_sge);
	init.max_write_sge = MIN(SEGMENTS, attr->max_write_sge);
	init.max_read_sge = MIN(SEGMENTS, attr->max_read_sge);
	init.max_inline = attr->inline_data ? MIN(half, attr->max_inline) : 0;
	return init;
}

static void
regions_open(struct laps *laps, uint32_t half)
{
	uint32_t rights = CERT_ALL |
			  (cert_attr(laps->cert)->atomics ? (uint32_t)RI_ACCESS_REMOTE_ATOMIC : 0u);

	laps->half = half;
	laps->most = half == HALF ? BATCH : 4;
	laps->region = word_of(laps, laps->most - 1) + 8;
	laps->from = cert_region_new(laps->near, laps->region, rights);
	laps->into = cert_region_new(laps->far, laps->region, rights);
	laps->near_is = g_malloc(laps->region);
	laps->far_is = g_malloc(laps->region);
	laps->octets = g_malloc(half);
	renew(laps);
}

static void
laps_end(struct laps *laps)
{
	g_free(laps->near_is);
	g_free(laps->far_is);
	g_free(laps->octets);
}

/* Several laps over queues of `slots` slots; with `shared` receives are those of a shared queue. */
static void
run_laps(struct cert *cert, uint32_t slots, uint32_t half, bool share)
{
	g_autofree struct laps *laps = g_new0(struct laps, 1);
	struct ri_qp_init init;
	struct shared shared;
	uint32_t room;

	laps->cert = cert;
	laps->near = cert_node_open(cert);
	laps->far = cert_node_open(cert);
	regions_open(laps, half);
	init = sizes_of(&laps->near->attr, laps->near, slots, half);
	laps->a = cert_end_new(laps->near, &init);
	init = sizes_of(&laps->far->attr, laps->far, slots, half);
	if (share) {
		shared_new(&shared, laps->far, &init, MIN(slots, laps->far->attr.max_srq_wr));
		laps->shared = &shared;
		laps->b = &shared.end;
	} else {
		laps->b = cert_end_new(laps->far, &init);
	}
	cert_connect(laps->a, laps->b);
	room = MIN(slots, MIN(laps->near->attr.max_sq_wr, init.max_rq_wr));
	for (unsigned done = 0, batch = 0; done < (half == HALF ? REQUESTS : LENGTHY); batch++) {
		unsigned count = cert_random_below(cert, MIN(room, laps->most));

		if (batch % 64 == 0)
			renew(laps);
		run_batch(laps, count);
		done += laps->count;
	}
	if (share)
		shared_free(&shared);
	laps_end(laps);
}

static void
small_queues(struct cert *cert)
{
	run_laps(cert, 3, HALF, false);
	run_laps(cert, 5, HALF, false);
}

static void
large_queues(struct cert *cert)
{
	run_laps(cert, 16, HALF, false);
}

static void
shared_queues(struct cert *cert)
{
	run_laps(cert, 5, HALF, true);
	run_laps(cert, 16, HALF, true);
}

static void
long_messages(struct cert *cert)
{
	run_laps(cert, 5, LONG, false);
}

static void
long_shared(struct cert *cert)
{
	run_laps(cert, 5, LONG, true);
}

static const struct cert_case cases[] = {
	{.id = "verbs.laps.own.0001",
	 .title = "Requests in slots of a small queue do what they say, whatever used the slots "
		  "before",
	 .rule = "[RI 3.1] [RI 3.2.1] [RI 3.2.7] [RI 3.3]",
	 .run = small_queues},
	{.id = "verbs.laps.own.0002",
	 .title = "Requests in slots of a larger queue do what they say, whatever used the slots "
		  "before",
	 .rule = "[RI 3.1] [RI 3.2.1] [RI 3.2.7] [RI 3.3]",
	 .run = large_queues},
	{.id = "verbs.laps.long.0001",
	 .title = "Segments that end at, before and behind the edges of packets have their own "
		  "octets",
	 .rule = "[RI 3.1] [RI 3.2.1] [RI 3.3]",
	 .run = long_messages},
	{.id = "verbs.laps.long.0002",
	 .title = "Messages of several packets are placed in the segments of a shared receive",
	 .rule = "[RI 3.1] [RI 6.1] [RI 6.2]",
	 .needs = "srq",
	 .run = long_shared},
	{.id = "verbs.laps.shared.0001",
	 .title = "Receives of a shared queue take what comes, whatever used their slots before",
	 .rule = "[RI 6.1] [RI 6.2] [RI 6.3]",
	 .needs = "srq",
	 .settles = "srq",
	 .run = shared_queues},
};

CERT_SET(verbs_laps, cases);
