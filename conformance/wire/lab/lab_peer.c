/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * lab-peer: tests the parts of RNIC-PI 1.7 that IT-API does not offer, on a device of the guest,
 * between two processes. They exchange queue pair numbers, packet numbers and addresses over a
 * socket pair, bring their queue pairs up with them, and check each octet.
 *
 *     lab-peer PROVIDER ADAPTER TOPIC
 *
 * Each process opens the adapter for itself. The first expectation that does not hold ends both.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kal_call.h"
#include "ri_load.h"
#include "ri_registry.h"

#define MEMORY \
	8192 /* octets of the region of each side; the first half is sent, the second received */
#define HALF        (MEMORY / 2)
#define PATIENCE_US (10 * G_USEC_PER_SEC)
#define QUIET_US    (300 * 1000) /* in which nothing comes that does not come at all */
#define LIST        16
#define GRH         40
#define QKEY        0x11111

/* What a side must know of the other. */
struct card {
	struct ri_addr addr;
	uint32_t qpn;
	uint32_t psn; /* of the first packet that its owner sends */
	uint32_t stag;
	uint64_t memory;
};

struct side {
	bool first;
	int sock; /* to the other process */
	const struct ri_provider *p;
	struct ri_rnic_attr attr;
	struct ri_rnic *rnic;
	struct ri_context *context;
	struct ri_urnic *urnic;
	struct ri_pd *pd;
	struct ri_cq *cq;
	struct ri_ucq *ucq;
	struct ri_mr *mr;
	uint32_t stag;
	uint8_t *memory;
	struct ri_qp *qp;
	struct ri_uqp *uqp;
	struct ri_qp_init init;
	struct card own, peer;
	gint ends;                  /* of queue pairs, as events */
	struct ri_cm_event told[8]; /* of connections, as many as the next says */
	gint cms;
};

#define EXPECT(condition)                                 \
	do {                                              \
		if (!(condition))                         \
			fail(side, G_STRLOC, #condition); \
	} while (0)
#define EXPECT_UINT(seen, wanted)                                                              \
	do {                                                                                   \
		uint64_t seen_ = (uint64_t)(seen), wanted_ = (uint64_t)(wanted);               \
		g_autofree char *text_ =                                                       \
			g_strdup_printf("%s is %" G_GUINT64_FORMAT ", not %" G_GUINT64_FORMAT, \
					#seen, seen_, wanted_);                                \
		if (seen_ != wanted_)                                                          \
			fail(side, G_STRLOC, text_);                                           \
	} while (0)
#define VERB(wanted, call)                                                                        \
	do {                                                                                      \
		enum ri_status status_ = (call);                                                  \
		if (status_ != (wanted)) {                                                        \
			g_autofree char *text_ =                                                  \
				g_strdup_printf("%s: %s, not %s", #call, ri_status_name(status_), \
						ri_status_name(wanted));                          \
			fail(side, G_STRLOC, text_);                                              \
		}                                                                                 \
	} while (0)

static G_NORETURN void
fail(const struct side *side, const char *where, const char *what)
{
	fprintf(stderr, "lab-peer %s: %s: %s\n", side->first ? "first" : "second", where, what);
	_exit(1); /* the other side reads the end of the file */
}

/* --- the two processes --------------------------------------------------------------------------- */

static void
swap(struct side *side, const void *mine, void *theirs, size_t size)
{
	EXPECT(write(side->sock, mine, size) == (ssize_t)size);
	EXPECT(recv(side->sock, theirs, size, MSG_WAITALL) == (ssize_t)size);
}

/* Both have come so far. */
static void
meet(struct side *side)
{
	char mine = 'm', theirs = 0;

	swap(side, &mine, &theirs, 1);
	EXPECT(theirs == mine);
}

/* --- the adapter ------------------------------------------------------------------------------------ */

static void
on_cq(void *self, uint64_t ctx)
{
	(void)self;
	(void)ctx;
}

static void
on_async(void *self, const struct ri_async_event *event)
{
	struct side *side = self;

	if (event->object == RI_OBJECT_QP && ri_event_is_end((enum ri_event)event->event))
		g_atomic_int_inc(&side->ends);
}

static void
on_cm(void *self, const struct ri_cm_event *event)
{
	struct side *side = self;

	if (g_atomic_int_get(&side->cms) == (gint)G_N_ELEMENTS(side->told))
		return;
	side->told[side->cms] = *event;
	g_atomic_int_inc(&side->cms);
}

static void
side_open(struct side *side, const char *file, const char *adapter)
{
	static struct ri_upcalls upcalls = {.size = sizeof(upcalls),
					    .cq_event = on_cq,
					    .async_event = on_async,
					    .cm_event = on_cm};
	const struct ri_host *host = kal_host_default();
	const struct ri_owner owner = {.pid = (uint32_t)getpid(), .privileged = true};
	struct ri_open open = {.host = host, .upcalls = &upcalls};
	struct ri_mr_init memory = {.length = MEMORY,
				    .access = RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE |
					      RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE};
	struct ri_port_attr port = {.size = sizeof(port)};
	struct ri_error why = {0};
	uint32_t entries = 128;
	struct ri_map map;

	upcalls.self = side;
	EXPECT(host != NULL);
	if (!ri_load_file(file, &why))
		fail(side, G_STRLOC, why.text);
	side->p = &ri_registry_get(0)->provider;
	g_strlcpy(open.name, adapter, sizeof(open.name));
	VERB(RI_SUCCESS, side->p->device->open(&open, &side->rnic));
	side->attr.size = sizeof(side->attr);
	VERB(RI_SUCCESS, side->p->device->query(side->rnic, &side->attr));
	EXPECT(ri_claims_check(ri_registry_get(0), &side->attr, &why));
	VERB(RI_SUCCESS, side->p->device->query_port(side->rnic, 0, &port));
	for (uint32_t i = port.num_addrs; i > 0; i--) {
		if (port.addrs[i - 1].family == RI_ADDR_IPV4)
			side->own.addr = port.addrs[i - 1];
	}
	EXPECT_UINT(side->own.addr.family, RI_ADDR_IPV4);
	VERB(RI_SUCCESS, side->p->device->context_create(side->rnic, &owner, &side->context, &map));
	VERB(RI_SUCCESS, side->p->user->rnic_open(host, &map, &side->urnic));
	VERB(RI_SUCCESS, side->p->pd->create(side->context, &side->pd));
	VERB(RI_SUCCESS, side->p->cq->create(side->context, 2, &entries, &side->cq, &map));
	VERB(RI_SUCCESS, side->p->user->cq_open(side->urnic, &map, &side->ucq));
	side->memory = aligned_alloc(4096, MEMORY);
	memset(side->memory, 0, MEMORY);
	memory.addr = (uintptr_t)side->memory;
	VERB(RI_SUCCESS, side->p->mem->mr_reg(side->pd, &memory, &side->mr, &side->stag));
	side->own.memory = memory.addr;
	side->own.stag = side->stag;
}

static void
side_close(struct side *side)
{
	side->p->user->cq_close(side->ucq);
	side->p->user->rnic_close(side->urnic);
	side->p->device->context_destroy(side->context);
	side->p->device->close(side->rnic);
	free(side->memory);
}

/* --- queue pairs --------------------------------------------------------------------------------------- */

static void
qp_new(struct side *side, enum ri_qp_type type)
{
	struct ri_map map;

	side->init = (struct ri_qp_init){.ctx = 1,
					 .type = type,
					 .max_sq_wr = 32,
					 .max_rq_wr = 32,
					 .max_send_sge = 2,
					 .max_recv_sge = 2,
					 .max_write_sge = 2,
					 .max_read_sge = type == RI_QP_UC ? 0 : 1,
					 .ird = type == RI_QP_RC ? 4 : 0,
					 .ord = type == RI_QP_RC ? 4 : 0,
					 .access = RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE,
					 .qkey = type == RI_QP_UD ? QKEY : 0,
					 .hard_limit = UINT32_MAX,
					 .max_inline = side->attr.max_inline};
	VERB(RI_SUCCESS,
	     side->p->qp->create(side->pd, &side->init, side->cq, side->cq, NULL, &side->qp, &map));
	EXPECT_UINT(side->init.max_inline, side->attr.max_inline);
	VERB(RI_SUCCESS,
	     side->p->user->qp_open(side->urnic, &map, side->ucq, side->ucq, NULL, &side->uqp));
}

static void
qp_free(struct side *side)
{
	side->p->user->qp_close(side->uqp);
	VERB(RI_SUCCESS, side->p->qp->destroy(side->qp));
}

static struct ri_qp_attr
qp_query(struct side *side)
{
	struct ri_qp_attr attr;

	VERB(RI_SUCCESS, side->p->qp->query(side->qp, &attr));
	return attr;
}

/* Tell the other side, and hear of it. */
static void
cards_swap(struct side *side)
{
	side->own.qpn = qp_query(side).qpn;
	side->own.psn = g_random_int() & 0xffffff;
	swap(side, &side->own, &side->peer, sizeof(side->own));
}

static struct ri_peer
peer_of(const struct side *side)
{
	return (struct ri_peer){.path = {.dest = side->peer.addr},
				.qpn = side->peer.qpn,
				.rq_psn = side->peer.psn,
				.path_mtu = 1024,
				.ird = 4,
				.min_rnr_timer = 12,
				.sq_psn = side->own.psn,
				.ord = 4,
				.timeout = 14,
				.retry_count = 7,
				.rnr_retry = 7};
}

/* Each side brings its queue pair up. */
static void
qp_up(struct side *side)
{
	struct ri_peer peer;

	cards_swap(side);
	peer = peer_of(side);
	VERB(RI_SUCCESS, side->p->peer->receive(side->qp, &peer));
	meet(side);
	VERB(RI_SUCCESS, side->p->peer->send(side->qp, &peer));
	EXPECT_UINT(qp_query(side).state, RI_QPS_RTS);
}

/* --- work ------------------------------------------------------------------------------------------------ */

static void
fill(uint8_t *at, size_t length, unsigned seed)
{
	for (size_t i = 0; i < length; i++)
		at[i] = (uint8_t)(seed * 7 + i);
}

static bool
is_filled(const uint8_t *at, size_t length, unsigned seed)
{
	for (size_t i = 0; i < length; i++) {
		if (at[i] != (uint8_t)(seed * 7 + i))
			return false;
	}
	return true;
}

static enum ri_status
post(struct side *side, uint8_t opcode, uint32_t length, uint32_t flags, uint32_t imm)
{
	const struct ri_sge sge = {
		.addr = (uintptr_t)side->memory, .length = length, .stag = side->stag};
	const struct ri_wr wr = {
		.wr_id = 100,
		.sgl = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.flags = flags | RI_WR_SIGNALED,
		.imm = imm,
		.u.remote = {.addr = side->peer.memory + HALF, .stag = side->peer.stag}};

	return side->p->fast->post_sq(side->uqp, &wr);
}

static void
recv_post(struct side *side, uint64_t id, uint32_t length)
{
	const struct ri_sge sge = {
		.addr = (uintptr_t)side->memory + HALF, .length = length, .stag = side->stag};
	const struct ri_recv_wr wr = {.wr_id = id, .sgl = &sge, .num_sge = 1};

	VERB(RI_SUCCESS, side->p->fast->post_rq(side->uqp, &wr));
}

/* The next completion; false: none came for so long. */
static bool
completion(struct side *side, struct ri_wc *wc, gint64 microseconds)
{
	gint64 until = g_get_monotonic_time() + microseconds;

	while (side->p->fast->poll_cq(side->ucq, wc, 1) == 0) {
		if (g_get_monotonic_time() > until)
			return false;
		g_usleep(200);
	}
	return true;
}

#define next(side_, id_, status_) next_at(side_, G_STRLOC, id_, status_)
#define none(side_)               none_at(side_, G_STRLOC)

static struct ri_wc
next_at(struct side *side, const char *where, uint64_t id, enum ri_wc_status status)
{
	struct ri_wc wc;

	if (!completion(side, &wc, PATIENCE_US))
		fail(side, where, "no completion");
	if (wc.wr_id != id || wc.status != status) {
		g_autofree char *text = g_strdup_printf(
			"completion of %u with %s, not of %u with %s", (unsigned)wc.wr_id,
			ri_wc_status_name(wc.status), (unsigned)id, ri_wc_status_name(status));
		fail(side, where, text);
	}
	return wc;
}

static void
none_at(struct side *side, const char *where)
{
	struct ri_wc wc;

	if (completion(side, &wc, QUIET_US))
		fail(side, where, "a completion");
}

/* --- topics ---------------------------------------------------------------------------------------------- */

/* Immediate data of Sends and Writes over this type: received as it is in memory, in order, behind what was written. */
static void
immediate_over(struct side *side, enum ri_qp_type type)
{
	static const uint8_t octets[4] = {0x12, 0x34, 0x56, 0x78};
	struct ri_wc wc;
	uint32_t imm;

	memcpy(&imm, octets, sizeof(imm));
	qp_new(side, type);
	for (uint64_t i = 0; i < 4; i++)
		recv_post(side, i, HALF);
	qp_up(side);
	meet(side);
	if (side->first) {
		fill(side->memory, 3000, 1);
		VERB(RI_SUCCESS, post(side, RI_OP_SEND, 3000, RI_WR_IMMEDIATE, imm));
		(void)next(side, 100, RI_WC_SUCCESS);
		meet(side);
		fill(side->memory, 2500, 2);
		VERB(RI_SUCCESS, post(side, RI_OP_RDMA_WRITE, 2500, RI_WR_IMMEDIATE, imm));
		(void)next(side, 100, RI_WC_SUCCESS);
		VERB(RI_SUCCESS, post(side, RI_OP_RDMA_WRITE, 0, RI_WR_IMMEDIATE, ~imm));
		(void)next(side, 100, RI_WC_SUCCESS);
		VERB(RI_SUCCESS, post(side, RI_OP_SEND, 10, 0, 0));
		(void)next(side, 100, RI_WC_SUCCESS);
		meet(side);
		qp_free(side);
		return;
	}
	wc = next(side, 0, RI_WC_SUCCESS);
	EXPECT_UINT(wc.opcode, RI_OP_RECV);
	EXPECT_UINT(wc.flags & RI_WC_IMMEDIATE, RI_WC_IMMEDIATE);
	EXPECT(memcmp(&wc.imm, octets, sizeof(octets)) == 0);
	EXPECT_UINT(wc.byte_len, 3000);
	EXPECT(is_filled(side->memory + HALF, 3000, 1));
	meet(side);
	wc = next(side, 1, RI_WC_SUCCESS);
	EXPECT_UINT(wc.opcode, RI_OP_RECV_WRITE);
	EXPECT_UINT(wc.byte_len, 2500);
	EXPECT_UINT(wc.imm, imm);
	EXPECT(is_filled(side->memory + HALF, 2500, 2));
	wc = next(side, 2, RI_WC_SUCCESS);
	EXPECT_UINT(wc.opcode, RI_OP_RECV_WRITE);
	EXPECT_UINT(wc.byte_len, 0);
	EXPECT_UINT(wc.imm, ~imm);
	wc = next(side, 3, RI_WC_SUCCESS);
	EXPECT_UINT(wc.opcode, RI_OP_RECV);
	EXPECT_UINT(wc.flags & RI_WC_IMMEDIATE, 0);
	meet(side);
	qp_free(side);
}

static void
topic_immediate(struct side *side)
{
	EXPECT_UINT(side->attr.immediate_with,
		    RI_IMMEDIATE_SEND | RI_IMMEDIATE_WRITE | RI_IMMEDIATE_UD);
	immediate_over(side, RI_QP_RC);
}

/* One message, one that is too long, and a list of requests whose memory changes at once. */
static void
inline_send(struct side *side, uint32_t most)
{
	g_autofree uint8_t *text = g_malloc(most + 1);
	struct ri_sge sge = {.addr = (uintptr_t)text, .length = most, .stag = 0xdeadbeef};
	struct ri_wr wr = {.wr_id = 100,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_SEND,
			   .flags = RI_WR_SIGNALED | RI_WR_INLINE};

	fill(text, most, 3);
	VERB(RI_SUCCESS, side->p->fast->post_sq(side->uqp, &wr));
	memset(text, 0xee, most);
	(void)next(side, 100, RI_WC_SUCCESS);
	sge.length = most + 1;
	VERB(RI_ERR_LIMIT, side->p->fast->post_sq(side->uqp, &wr));
	meet(side);
	for (unsigned i = 0; i < LIST; i++) {
		fill(text, most, 10 + i);
		sge.length = most - i;
		wr.flags = RI_WR_INLINE | (i < LIST - 1 ? RI_WR_COALESCE : RI_WR_SIGNALED);
		VERB(RI_SUCCESS, side->p->fast->post_sq(side->uqp, &wr));
		memset(text, 0xee, most);
	}
	(void)next(side, 100, RI_WC_SUCCESS);
	printf("inline data: %u octets\n", most);
}

/* As much as the profile says, from memory that is in no region. */
static void
topic_inline(struct side *side)
{
	uint32_t most = side->attr.max_inline;

	EXPECT(side->attr.inline_data);
	qp_new(side, RI_QP_RC);
	for (uint64_t i = 0; i <= LIST; i++)
		recv_post(side, i, HALF);
	qp_up(side);
	meet(side);
	if (side->first) {
		inline_send(side, most);
	} else {
		EXPECT_UINT(next(side, 0, RI_WC_SUCCESS).byte_len, most);
		EXPECT(is_filled(side->memory + HALF, most, 3));
		meet(side);
		for (unsigned i = 0; i < LIST; i++)
			EXPECT_UINT(next(side, i + 1, RI_WC_SUCCESS).byte_len, most - i);
		EXPECT(is_filled(side->memory + HALF, most - LIST + 1, 10 + LIST - 1));
	}
	meet(side);
	qp_free(side);
}

/* Nothing of a message with a wrong packet number has arrived: the sender is in the error state, and this side is put there. */
static void
peer_nothing_came(struct side *side)
{
	const struct ri_qp_attr error = {.state = RI_QPS_ERROR};

	if (!side->first) {
		none(side);
		VERB(RI_SUCCESS, side->p->qp->modify(side->qp, &error, RI_QP_ATTR_STATE));
	}
	(void)next(side, 2, RI_WC_FLUSHED);
}

/* Another use of both queue pairs: first with a packet number that the peer does not expect. */
static void
peer_again(struct side *side)
{
	struct ri_peer peer;

	for (unsigned wrong = 2; wrong-- > 0;) {
		const struct ri_qp_attr idle = {.state = RI_QPS_IDLE};

		VERB(RI_SUCCESS, side->p->qp->modify(side->qp, &idle, RI_QP_ATTR_STATE));
		recv_post(side, 2, HALF);
		cards_swap(side);
		peer = peer_of(side);
		peer.timeout = 10; /* 4 ms */
		peer.retry_count = 2;
		VERB(RI_SUCCESS, side->p->peer->receive(side->qp, &peer));
		meet(side);
		if (wrong != 0)
			peer.sq_psn = (peer.sq_psn + 1000) & 0xffffff;
		VERB(RI_SUCCESS, side->p->peer->send(side->qp, &peer));
		meet(side);
		if (side->first)
			VERB(RI_SUCCESS, post(side, RI_OP_SEND, 10, 0, 0));
		if (side->first && wrong != 0)
			(void)next(side, 100, RI_WC_TRANSPORT);
		else if (side->first)
			(void)next(side, 100, RI_WC_SUCCESS);
		meet(side);
		if (wrong != 0)
			peer_nothing_came(side);
		else if (!side->first)
			EXPECT_UINT(next(side, 2, RI_WC_SUCCESS).byte_len, 10);
		g_usleep(QUIET_US);
	}
}

/* Brought up by attributes: a peer that is there before this side sends, ends, other numbers, and another use. */
static void
topic_peer(struct side *side)
{
	struct ri_peer peer;

	EXPECT_UINT(side->attr.cm_forms & RI_CM_PEER, RI_CM_PEER);
	qp_new(side, RI_QP_RC);
	recv_post(side, 1, HALF);
	cards_swap(side);
	peer = peer_of(side);
	/* The first side sends before the second does more than receive. */
	VERB(RI_SUCCESS, side->p->peer->receive(side->qp, &peer));
	EXPECT_UINT(qp_query(side).state, RI_QPS_CONNECTING);
	meet(side);
	if (side->first) {
		VERB(RI_SUCCESS, side->p->peer->send(side->qp, &peer));
		fill(side->memory, 100, 5);
		VERB(RI_SUCCESS, post(side, RI_OP_SEND, 100, 0, 0));
		(void)next(side, 100, RI_WC_SUCCESS);
		meet(side);
	} else {
		EXPECT_UINT(next(side, 1, RI_WC_SUCCESS).byte_len, 100);
		EXPECT(is_filled(side->memory + HALF, 100, 5));
		VERB(RI_ERR_INVALID_STATE, post(side, RI_OP_SEND, 100, 0, 0));
		VERB(RI_SUCCESS, side->p->peer->send(side->qp, &peer));
		meet(side);
		/* Both can read now. */
		VERB(RI_SUCCESS, post(side, RI_OP_RDMA_READ, 100, 0, 0));
		EXPECT_UINT(next(side, 100, RI_WC_SUCCESS).opcode, RI_OP_RDMA_READ);
	}
	meet(side);
	/* The end of one side: the other one notices when it sends. */
	if (side->first) {
		const struct ri_qp_attr error = {.state = RI_QPS_ERROR};

		VERB(RI_SUCCESS, side->p->qp->modify(side->qp, &error, RI_QP_ATTR_STATE));
		(void)next(side, 1, RI_WC_FLUSHED);
		meet(side);
	} else {
		meet(side);
		VERB(RI_SUCCESS, post(side, RI_OP_SEND, 10, 0, 0));
		(void)next(side, 100, RI_WC_TRANSPORT);
	}
	for (gint64 until = g_get_monotonic_time() + PATIENCE_US;
	     g_atomic_int_get(&side->ends) == 0 && g_get_monotonic_time() < until;)
		g_usleep(1000);
	EXPECT_UINT(g_atomic_int_get(&side->ends), 1);
	EXPECT_UINT(g_atomic_int_get(&side->cms), 0);
	meet(side);
	peer_again(side);
	qp_free(side);
}

/* A neighbour that does not exist, and a packet that is too large for the port. */
static void
topic_way(struct side *side)
{
	struct ri_peer peer;
	gint64 began;
	enum ri_status status;

	qp_new(side, RI_QP_RC);
	cards_swap(side);
	peer = peer_of(side);
	peer.path.dest.octets[3] = 250;
	began = g_get_monotonic_time();
	status = side->p->peer->receive(side->qp, &peer);
	printf("no neighbour: %s after %" G_GINT64_FORMAT " ms\n", ri_status_name(status),
	       (g_get_monotonic_time() - began) / 1000);
	EXPECT_UINT(qp_query(side).state, status == RI_SUCCESS ? RI_QPS_CONNECTING : RI_QPS_IDLE);
	qp_free(side);
	qp_new(side, RI_QP_RC);
	peer = peer_of(side);
	peer.path_mtu = 4096;
	status = side->p->peer->receive(side->qp, &peer);
	printf("packets of 4096 octets: %s\n", ri_status_name(status));
	qp_free(side);
	qp_new(side, RI_QP_RC);
	peer = peer_of(side);
	peer.path.dest.octets[0] = 192;
	status = side->p->peer->receive(side->qp, &peer);
	printf("no route: %s\n", ri_status_name(status));
	qp_free(side);
}

/* What cannot be placed is dropped, and neither side fails [RI 10.51]. */
static void
topic_uc(struct side *side)
{
	struct ri_wc wc;

	EXPECT(side->attr.uc);
	immediate_over(side, RI_QP_UC);
	memset(side->memory, 0, MEMORY);
	qp_new(side, RI_QP_UC);
	qp_up(side);
	meet(side);
	VERB(RI_ERR_UNSUPPORTED, post(side, RI_OP_RDMA_READ, 10, 0, 0));
	if (side->first) {
		fill(side->memory, 3000, 6);
		/* No receive is there. */
		VERB(RI_SUCCESS, post(side, RI_OP_SEND, 3000, 0, 0));
		(void)next(side, 100, RI_WC_SUCCESS);
		/* A key that names nothing. */
		side->peer.stag ^= 0x5500;
		VERB(RI_SUCCESS, post(side, RI_OP_RDMA_WRITE, 3000, 0, 0));
		(void)next(side, 100, RI_WC_SUCCESS);
		side->peer.stag ^= 0x5500;
		meet(side);
		meet(side);
		fill(side->memory, 3000, 7);
		VERB(RI_SUCCESS, post(side, RI_OP_SEND, 3000, 0, 0));
		(void)next(side, 100, RI_WC_SUCCESS);
	} else {
		meet(side);
		none(side);
		EXPECT(side->memory[HALF] == 0 && side->memory[HALF + 2999] == 0);
		EXPECT_UINT(qp_query(side).state, RI_QPS_RTS);
		recv_post(side, 7, HALF);
		meet(side);
		EXPECT_UINT(next(side, 7, RI_WC_SUCCESS).byte_len, 3000);
		EXPECT(is_filled(side->memory + HALF, 3000, 7));
	}
	EXPECT_UINT(qp_query(side).state, RI_QPS_RTS);
	EXPECT_UINT(g_atomic_int_get(&side->ends), 0);
	meet(side);
	/* A receive that is too short. */
	if (!side->first)
		recv_post(side, 8, 100);
	meet(side);
	if (side->first) {
		VERB(RI_SUCCESS, post(side, RI_OP_SEND, 3000, 0, 0));
		(void)next(side, 100, RI_WC_SUCCESS);
	} else if (completion(side, &wc, QUIET_US)) {
		printf("a receive that is too short: %s, the queue pair is in %s\n",
		       ri_wc_status_name(wc.status), ri_qp_state_name(qp_query(side).state));
	} else {
		printf("a receive that is too short: no completion\n");
	}
	meet(side);
	qp_free(side);
}

/* Each attached queue pair gets a copy, also that of the sender. */
static void
groups_of(struct side *side, const struct ri_addr *group)
{
	const struct ri_ah_init way = {.dest = *group};
	const struct ri_sge sge = {
		.addr = (uintptr_t)side->memory, .length = 64, .stag = side->stag};
	struct ri_wr wr = {.wr_id = 100,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_SEND_UD,
			   .flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE,
			   .imm = 0x99};
	struct ri_wc wc;
	struct ri_ah *ah;

	qp_new(side, RI_QP_UD);
	VERB(RI_ERR_INVALID_ARG, side->p->qp->mcast_detach(side->qp, group));
	VERB(RI_SUCCESS, side->p->qp->mcast_attach(side->qp, group));
	VERB(RI_SUCCESS, side->p->qp->mcast_attach(side->qp, group));
	VERB(RI_ERR_INVALID_ARG, side->p->qp->mcast_attach(side->qp, &side->own.addr));
	VERB(RI_SUCCESS, side->p->ah->create(side->pd, &way, &ah, &wr.u.ud.ah));
	wr.u.ud.qpn = 0xffffff;
	wr.u.ud.qkey = QKEY;
	memset(side->memory + HALF, 0, HALF);
	recv_post(side, 1, HALF);
	recv_post(side, 2, HALF);
	meet(side);
	if (side->first) {
		fill(side->memory, 64, 9);
		VERB(RI_SUCCESS, side->p->fast->post_sq(side->uqp, &wr));
	}
	for (unsigned left = side->first ? 2 : 1; left > 0; left--) {
		EXPECT(completion(side, &wc, PATIENCE_US));
		EXPECT_UINT(wc.status, RI_WC_SUCCESS);
		if (wc.wr_id == 100)
			continue;
		EXPECT_UINT(wc.byte_len, 64 + GRH);
		EXPECT_UINT(wc.imm, 0x99);
		EXPECT(is_filled(side->memory + HALF + GRH, 64, 9));
	}
	none(side);
	meet(side);
	/* The second side leaves; the first one still gets its copy. */
	if (!side->first)
		VERB(RI_SUCCESS, side->p->qp->mcast_detach(side->qp, group));
	meet(side);
	if (side->first) {
		VERB(RI_SUCCESS, side->p->fast->post_sq(side->uqp, &wr));
		for (unsigned left = 2; left > 0; left--) {
			EXPECT(completion(side, &wc, PATIENCE_US));
			EXPECT_UINT(wc.status, RI_WC_SUCCESS);
		}
	} else {
		none(side);
	}
	meet(side);
	VERB(RI_SUCCESS, side->p->ah->destroy(ah));
	qp_free(side); /* the first one is still attached */
}

static void
topic_multicast(struct side *side)
{
	struct ri_addr four = {.family = RI_ADDR_IPV4, .octets = {239, 1, 2, 3}};
	struct ri_addr six = {.family = RI_ADDR_IPV6};

	EXPECT(side->attr.multicast);
	groups_of(side, &four);
	EXPECT(inet_pton(AF_INET6, "ff0e::4321", six.octets) == 1);
	six.family = RI_ADDR_GID;
	groups_of(side, &six);
}

/* A region that is named by other addresses: segments and peers use them. */
static void
topic_iova(struct side *side)
{
	const uint64_t named = UINT64_C(0x7000) << 32;
	const struct ri_mr_init init = {.addr = (uintptr_t)side->memory,
					.length = MEMORY,
					.access = RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE |
						  RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE,
					.iova_given = true,
					.iova = named};
	struct ri_mr_attr attr;
	struct ri_sge sge = {.addr = named + 8, .length = 50};
	struct ri_wr wr = {.wr_id = 100,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_RDMA_WRITE,
			   .flags = RI_WR_SIGNALED};
	struct ri_mr *mr;

	EXPECT(side->attr.iova);
	VERB(RI_SUCCESS, side->p->mem->mr_reg(side->pd, &init, &mr, &sge.stag));
	VERB(RI_SUCCESS, side->p->mem->mr_query(mr, &attr));
	EXPECT_UINT(attr.addr, named);
	side->own.stag = sge.stag;
	qp_new(side, RI_QP_RC);
	qp_up(side);
	meet(side);
	if (side->first) {
		fill(side->memory, 200, 11);
		wr.u.remote =
			(struct ri_wr_remote){.addr = named + HALF + 5, .stag = side->peer.stag};
		VERB(RI_SUCCESS, side->p->fast->post_sq(side->uqp, &wr));
		(void)next(side, 100, RI_WC_SUCCESS);
		meet(side);
		/* Its virtual address names nothing. */
		wr.u.remote.addr = side->peer.memory + HALF;
		VERB(RI_SUCCESS, side->p->fast->post_sq(side->uqp, &wr));
		(void)next(side, 100, RI_WC_REMOTE_ACCESS);
	} else {
		meet(side);
		for (unsigned i = 0; i < 50; i++)
			EXPECT_UINT(side->memory[HALF + 5 + i], (uint8_t)(11 * 7 + 8 + i));
		EXPECT_UINT(side->memory[HALF + 4], 0);
	}
	meet(side);
	qp_free(side);
	VERB(RI_SUCCESS, side->p->mem->mr_dereg(mr));
}

/* The event of a connection with this index, which must be of this kind. */
static const struct ri_cm_event *
told(struct side *side, gint index, enum ri_cm_event_kind kind)
{
	gint64 until = g_get_monotonic_time() + PATIENCE_US;

	while (g_atomic_int_get(&side->cms) <= index) {
		if (g_get_monotonic_time() > until)
			fail(side, G_STRLOC, "no event");
		g_usleep(1000);
	}
	EXPECT_UINT(side->told[index].kind, kind);
	return &side->told[index];
}

/* Nobody listens there any more. */
static void
number_refused(struct side *side, struct ri_qp_init *init, const struct ri_cm_params *params)
{
	struct ri_qp *number;
	struct ri_map map;

	VERB(RI_SUCCESS, side->p->qp->create(side->pd, init, NULL, NULL, NULL, &number, &map));
	VERB(RI_SUCCESS, side->p->cm->connect(number, params));
	EXPECT_UINT(told(side, 4, RI_CM_FAILED)->reason, RI_CM_REASON_REFUSED);
	VERB(RI_SUCCESS, side->p->qp->destroy(number));
}

/* Connection management for a number: what an event says of the peer is enough to bring a queue pair up. */
static void
topic_number(struct side *side)
{
	struct ri_qp_init init = {.ctx = 5, .type = RI_QP_NUMBER};
	struct ri_service service = {.kind = RI_SERVICE_PORT}, other;
	struct ri_cm_params params = {.ird = 4, .ord = 4, .ird_ord = true, .deadline = RI_NEVER};
	const struct ri_cm_event *event;
	struct ri_listen *listen = NULL;
	struct ri_qp *number;
	struct ri_peer peer;
	struct ri_map map;
	gint64 began;

	EXPECT(side->attr.cm_number);
	qp_new(side, RI_QP_RC);
	recv_post(side, 1, HALF);
	init.qkey = qp_query(side).qpn;
	VERB(RI_SUCCESS, side->p->qp->create(side->pd, &init, NULL, NULL, NULL, &number, &map));
	if (side->first)
		VERB(RI_SUCCESS, side->p->cm->listen(side->context, 6, 0, &service, 4, &listen));
	swap(side, &service, &other, sizeof(service));
	cards_swap(side);
	if (side->first) {
		event = told(side, 0, RI_CM_REQUEST);
	} else {
		params.peer = side->peer.addr;
		params.service = other;
		params.three_way = true;
		VERB(RI_SUCCESS, side->p->cm->connect(number, &params));
		event = told(side, 0, RI_CM_REPLY);
	}
	peer = event->reach;
	EXPECT_UINT(peer.qpn, side->peer.qpn);
	EXPECT(memcmp(&peer.path.dest, &side->peer.addr, sizeof(peer.path.dest)) == 0);
	EXPECT_UINT(peer.ird, 4);
	EXPECT_UINT(peer.ord, 4);
	VERB(RI_SUCCESS, side->p->peer->receive(side->qp, &peer));
	VERB(RI_SUCCESS, side->p->peer->send(side->qp, &peer));
	if (side->first) {
		printf("MTU %u, timeout %u, retries %u and %u, RNR timer %u\n", peer.path_mtu,
		       peer.timeout, peer.retry_count, peer.rnr_retry, peer.min_rnr_timer);
		params.three_way = false;
		VERB(RI_SUCCESS, side->p->cm->accept(event->request, number, &params));
	} else {
		VERB(RI_SUCCESS, side->p->cm->confirm(number, true, NULL, 0));
	}
	event = told(side, 1, RI_CM_ESTABLISHED);
	EXPECT_UINT(event->reach.qpn, side->peer.qpn);
	fill(side->memory, 3000, 21 + side->first);
	meet(side);
	VERB(RI_SUCCESS, post(side, RI_OP_SEND, 3000, 0, 0));
	for (unsigned i = 0; i < 2; i++) {
		struct ri_wc wc;

		EXPECT(completion(side, &wc, PATIENCE_US));
		EXPECT_UINT(wc.status, RI_WC_SUCCESS);
	}
	EXPECT(is_filled(side->memory + HALF, 3000, 21 + !side->first));
	meet(side);
	/* The end is the connection's; the queue pair stays what it is until its owner ends it. */
	began = g_get_monotonic_time();
	if (side->first)
		VERB(RI_SUCCESS, side->p->cm->disconnect(number, NULL, 0));
	(void)told(side, 2, RI_CM_DISCONNECTED);
	EXPECT_UINT(qp_query(side).state, RI_QPS_RTS);
	(void)told(side, 3, RI_CM_TIME_WAIT_OVER);
	printf("the time-wait took %u ms\n", (unsigned)((g_get_monotonic_time() - began) / 1000));
	meet(side);
	if (listen != NULL)
		side->p->cm->listen_destroy(listen);
	VERB(RI_SUCCESS, side->p->qp->destroy(number));
	qp_free(side);
	if (!side->first)
		number_refused(side, &init, &params);
	meet(side);
}

/* --- the program ---------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(struct side *side);
} topics[] = {
	{"immediate", topic_immediate},
	{"inline", topic_inline},
	{"peer", topic_peer},
	{"way", topic_way},
	{"uc", topic_uc},
	{"multicast", topic_multicast},
	{"iova", topic_iova},
	{"number", topic_number},
};

int
main(int argc, char **argv)
{
	struct side side = {.first = true};
	int pair[2], status = 0;
	pid_t child;

	signal(SIGPIPE, SIG_IGN);
	if (argc != 4 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return 2;
	child = fork(); /* before anything is opened */
	side.first = child != 0;
	side.sock = pair[side.first ? 0 : 1];
	close(pair[side.first ? 1 : 0]);
	for (size_t i = 0; i < G_N_ELEMENTS(topics); i++) {
		if (strcmp(topics[i].name, argv[3]) != 0)
			continue;
		side_open(&side, argv[1], argv[2]);
		topics[i].run(&side);
		side_close(&side);
		printf("%s: %s is right\n", side.first ? "first" : "second", argv[3]);
		fflush(stdout);
		if (!side.first)
			_exit(0);
		return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
	}
	fprintf(stderr, "lab-peer: there is no topic %s\n", argv[3]);
	return 2;
}
