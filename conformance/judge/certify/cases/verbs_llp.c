/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Streams that a provider takes over: the states around that, and what it refuses to take. */

#include <unistd.h>

#include "verbs_pair.h"

static struct ri_stream
stream_of(const struct cert_end *end, int fd, bool initiator)
{
	return (struct ri_stream){.fd = fd,
				  .initiator = initiator,
				  .crc = true,
				  .peer_local = true,
				  .ird = end->init.ird,
				  .ord = end->init.ord};
}

static enum ri_status
attach(struct cert_end *end, const struct ri_stream *stream)
{
	enum ri_status status;

	cert_verb_begin(end->node->cert);
	status = end->node->p->llp->attach_stream(end->qp, stream);
	cert_verb_end(end->node->cert, CERT_WHERE, "attach_stream");
	return status;
}

/* Both sockets are the case's own, and still connected. */
static void
expect_untouched(struct cert *cert, const int fds[2])
{
	char octet = 'x';
	gint64 until = 0;

	CERT_TRUE(cert, write(fds[1], &octet, 1) == 1);
	octet = 0;
	while (read(fds[0], &octet, 1) != 1)
		CERT_TRUE(cert, cert_patience(cert, &until));
	CERT_UINT(cert, octet, ==, 'x');
}

/* One message each way. */
static void
talk(struct pair *pair)
{
	cert_fill(pair->from->at, 64, 1);
	cert_post_recv(pair->b, 1, &pair->sink, 1);
	cert_post_send(pair->a, 2, &pair->source, 1, 0);
	cert_wc_is(pair->b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair->a, false, 2, RI_WC_SUCCESS);
	cert_expect_fill(pair->cert, "what arrived", pair->into->at, 64, 1);
	cert_post_recv(pair->a, 3, &pair->source, 1);
	cert_post_send(pair->b, 4, &pair->sink, 1, 0);
	cert_wc_is(pair->a, true, 3, RI_WC_SUCCESS);
	cert_wc_is(pair->b, false, 4, RI_WC_SUCCESS);
}

/* --- states -------------------------------------------------------------------------------- */

/* From IDLE to CONNECTING by a reservation, from there to RTS by a stream; each in no other state. */
static void
states(struct cert *cert)
{
	const struct ri_llp_ops *llp = cert_provider(cert)->llp;
	struct pair pair;
	struct ri_stream stream;
	int fds[2];

	pair_open(&pair, cert, NULL);
	cert_tcp_pair(cert, fds);
	stream = stream_of(pair.a, fds[0], true);
	cert_note(cert, "a stream for a queue pair in IDLE");
	CERT_VERB(cert, RI_ERR_INVALID_STATE, llp->attach_stream(pair.a->qp, &stream));
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_IDLE);
	expect_untouched(cert, fds);
	CERT_VERB(cert, RI_SUCCESS, llp->reserve(pair.a->qp));
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_CONNECTING);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, llp->reserve(pair.a->qp));
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_CONNECTING);
	CERT_VERB(cert, RI_SUCCESS, llp->reserve(pair.b->qp));
	CERT_VERB(cert, RI_SUCCESS, llp->attach_stream(pair.a->qp, &stream));
	stream = stream_of(pair.b, fds[1], false);
	CERT_VERB(cert, RI_SUCCESS, llp->attach_stream(pair.b->qp, &stream));
	cert_async(pair.near, RI_EVENT_QP_STREAM_UP, pair.a->ctx);
	cert_async(pair.far, RI_EVENT_QP_STREAM_UP, pair.b->ctx);
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_RTS);
	cert_note(cert, "both verbs in RTS");
	cert_tcp_pair(cert, fds);
	stream = stream_of(pair.a, fds[0], true);
	CERT_VERB(cert, RI_ERR_INVALID_STATE, llp->reserve(pair.a->qp));
	CERT_VERB(cert, RI_ERR_INVALID_STATE, llp->attach_stream(pair.a->qp, &stream));
	expect_untouched(cert, fds);
	talk(&pair);
	cert_note(cert, "each side is told once that the connection stands");
	CERT_UINT(cert, cert_async_count(pair.near, RI_EVENT_QP_STREAM_UP, pair.a->ctx), ==, 0);
	CERT_UINT(cert, cert_async_count(pair.far, RI_EVENT_QP_STREAM_UP, pair.b->ctx), ==, 0);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wait_end(pair.a);
	cert_wait_end(pair.b);
	cert_note(cert, "both verbs in ERROR");
	CERT_VERB(cert, RI_ERR_INVALID_STATE, llp->reserve(pair.a->qp));
	CERT_VERB(cert, RI_ERR_INVALID_STATE, llp->attach_stream(pair.a->qp, &stream));
	expect_untouched(cert, fds);
	close(fds[0]);
	close(fds[1]);
}

/* CONNECTING keeps what is posted, and is left by a move to ERROR, which flushes it; there was no connection to end. */
static void
reserved_in_vain(struct cert *cert)
{
	struct pair pair;

	pair_open(&pair, cert, NULL);
	CERT_VERB(cert, RI_SUCCESS, pair.near->p->llp->reserve(pair.a->qp));
	for (uint64_t id = 0; id < 4; id++)
		cert_post_recv(pair.a, id, &pair.source, 1);
	cert_wc_none(pair.a, true);
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_CONNECTING);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_IDLE), ==, RI_ERR_INVALID_STATE);
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_CONNECTING);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	for (uint64_t id = 0; id < 4; id++)
		cert_wc_is(pair.a, true, id, RI_WC_FLUSHED);
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_ERROR);
	CERT_UINT(cert, cert_async_count(pair.near, RI_EVENT_QP_STREAM_UP, pair.a->ctx), ==, 0);
}

/* --- descriptors that are not streams, and markers -------------------------------------------------------- */

static void
no_stream(struct cert *cert)
{
	struct pair pair;
	struct ri_stream stream;
	int fds[2], pipes[2];

	pair_open(&pair, cert, NULL);
	CERT_TRUE(cert, pipe(pipes) == 0);
	CERT_VERB(cert, RI_SUCCESS, pair.near->p->llp->reserve(pair.a->qp));
	stream = stream_of(pair.a, pipes[0], true);
	CERT_VERB(cert, RI_ERR_INVALID_ARG, pair.near->p->llp->attach_stream(pair.a->qp, &stream));
	CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_CONNECTING);
	CERT_TRUE(cert, close(pipes[0]) == 0 && close(pipes[1]) == 0);
	cert_note(cert, "the reservation stands");
	cert_tcp_pair(cert, fds);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->llp->reserve(pair.b->qp));
	stream = stream_of(pair.a, fds[0], true);
	CERT_UINT(cert, attach(pair.a, &stream), ==, RI_SUCCESS);
	stream = stream_of(pair.b, fds[1], false);
	CERT_UINT(cert, attach(pair.b, &stream), ==, RI_SUCCESS);
	cert_async(pair.near, RI_EVENT_QP_STREAM_UP, pair.a->ctx);
	talk(&pair);
}

/* What the case has read of the stream is its beginning, and what is still in the socket comes behind. */
static void
early_octets(struct cert *cert)
{
	struct pair pair;
	struct ri_stream stream;
	uint8_t early[64];
	size_t length = 0;
	gint64 until = 0;
	int fds[2];

	pair_open(&pair, cert, NULL);
	cert_tcp_pair(cert, fds);
	CERT_VERB(cert, RI_SUCCESS, pair.near->p->llp->reserve(pair.a->qp));
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->llp->reserve(pair.b->qp));
	cert_post_recv(pair.b, 1, &pair.sink, 1);
	stream = stream_of(pair.a, fds[0], true);
	CERT_UINT(cert, attach(pair.a, &stream), ==, RI_SUCCESS);
	cert_async(pair.near, RI_EVENT_QP_STREAM_UP, pair.a->ctx);
	cert_fill(pair.from->at, 64, 3);
	cert_post_send(pair.a, 2, &pair.source, 1, 0);
	while (length < sizeof(early)) { /* the message with its headers is longer */
		ssize_t more = read(fds[1], early + length, sizeof(early) - length);

		length += more > 0 ? (size_t)more : 0;
		CERT_TRUE(cert, more != 0 && cert_patience(cert, &until));
	}
	stream = stream_of(pair.b, fds[1], false);
	stream.early = early;
	stream.early_len = (uint32_t)length;
	CERT_UINT(cert, attach(pair.b, &stream), ==, RI_SUCCESS);
	cert_fill(early, sizeof(early), 4); /* they were borrowed for the call only */
	cert_async(pair.far, RI_EVENT_QP_STREAM_UP, pair.b->ctx);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	cert_expect_fill(cert, "what came early", pair.into->at, 64, 3);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
	talk(&pair);
}

/* Markers one way: they are sent and taken out, or the stream is refused and stays the case's. */
static void
markers(struct cert *cert)
{
	for (unsigned way = 0; way < 3; way++) {
		struct pair pair;
		struct ri_stream here, there;
		enum ri_status status;
		int fds[2];

		pair_open(&pair, cert, NULL);
		cert_tcp_pair(cert, fds);
		CERT_VERB(cert, RI_SUCCESS, pair.near->p->llp->reserve(pair.a->qp));
		CERT_VERB(cert, RI_SUCCESS, pair.far->p->llp->reserve(pair.b->qp));
		here = stream_of(pair.a, fds[0], true);
		there = stream_of(pair.b, fds[1], false);
		here.markers_tx = there.markers_rx = way != 1;
		here.markers_rx = there.markers_tx = way != 0;
		cert_note(cert, "%s",
			  way == 0   ? "from the initiator"
			  : way == 1 ? "from the responder"
				     : "both ways");
		status = attach(pair.a, &here);
		if (status == RI_ERR_UNSUPPORTED) {
			CERT_UINT(cert, cert_end_attr(pair.a).state, ==, RI_QPS_CONNECTING);
			expect_untouched(cert, fds);
			close(fds[0]);
			close(fds[1]);
			continue;
		}
		CERT_UINT(cert, status, ==, RI_SUCCESS);
		CERT_UINT(cert, attach(pair.b, &there), ==, RI_SUCCESS);
		cert_async(pair.near, RI_EVENT_QP_STREAM_UP, pair.a->ctx);
		cert_async(pair.far, RI_EVENT_QP_STREAM_UP, pair.b->ctx);
		for (unsigned i = 0; i < 20; i++)
			talk(&pair);
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.llp.state.0001",
	 .title = "A reservation is made in IDLE, and a stream is taken in CONNECTING, in no other "
		  "state",
	 .rule = "[RI 4.1.3] [RI 8.3] [RI 11.6.3] [RI 2.1.1] [RI 10.25]",
	 .needs = "cm_forms:RI_CM_STREAM",
	 .settles = "cm_forms",
	 .run = states},
	{.id = "verbs.llp.state.0002",
	 .title = "A queue pair in CONNECTING keeps its receives, and a move to ERROR flushes them",
	 .rule = "[RI 4.1.3] [RI 4.1.1]",
	 .needs = "cm_forms:RI_CM_STREAM",
	 .run = reserved_in_vain},
	{.id = "verbs.llp.stream.0001",
	 .title = "What is no TCP connection is not taken, and the reservation stands",
	 .rule = "[RI 11.6.3] [RI 2.1.1]",
	 .needs = "cm_forms:RI_CM_STREAM",
	 .run = no_stream},
	{.id = "verbs.llp.stream.0002",
	 .title = "Markers work, or a stream with them is refused and stays with the caller",
	 .rule = "[RI 11.6.3] [RI 2.1.1]",
	 .needs = "cm_forms:RI_CM_STREAM",
	 .run = markers},
	{.id = "verbs.llp.stream.0003",
	 .title = "Octets that came before the stream was taken over are its beginning",
	 .rule = "[RI 11.6.3] [RI 4.1.1]",
	 .needs = "cm_forms:RI_CM_STREAM",
	 .run = early_octets},
};

CERT_SET(verbs_llp, cases);
