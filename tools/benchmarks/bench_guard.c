/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What it costs to guard memory with windows, over IT-API alone: a ping-pong of Sends in which
 *
 * --op send   nothing else happens, as the measure of the others
 * --op guard  each Send is preceded by the link of a window on the sender's memory, whose context it
 *             carries, and takes back the window of the Send before it (send and unlink)
 * --op fence  each Send is preceded by the link of a window and by its unlinking, fenced
 *
 * it-guard       half a round trip between two processes, polling
 * it-guard-near  the same with both ends in this process: what it costs without a wire
 */
#include <string.h>

#include "bench_node.h"

#define SIGNAL_EVERY 16

enum kind {
	KIND_SEND,
	KIND_GUARD,
	KIND_FENCE
};

static enum kind
kind_of(const struct bench_opts *opts)
{
	if (strcmp(opts->op, "guard") == 0)
		return KIND_GUARD;
	return strcmp(opts->op, "fence") == 0 ? KIND_FENCE : KIND_SEND;
}

static it_rmr_handle_t
window_new(struct bench_node *node)
{
	it_rmr_handle_t rmr;

	bench_check(it_rmr_create(node->pz, IT_RMR_TYPE_NARROW, &rmr), "it_rmr_create");
	return rmr;
}

static it_rmr_context_t
window_open(struct bench_node *node, it_rmr_handle_t rmr)
{
	it_rmr_context_t context;

	bench_check(it_rmr_link(rmr, node->lmr, node->buf + node->half, node->half,
				IT_ADDR_MODE_ABSOLUTE, IT_PRIV_REMOTE_WRITE, node->ep, 0, 0,
				&context),
		    "it_rmr_link");
	return context;
}

/* The next message; `taken`: the context that came last, 0 at first. */
static void
send_context(struct bench_node *node, it_rmr_handle_t rmr, const struct bench_opts *opts,
	     it_rmr_context_t taken, uint64_t i)
{
	it_lmr_triplet_t piece = bench_node_piece(node, 0, opts->size);
	it_dto_flags_t flags = i % SIGNAL_EVERY == SIGNAL_EVERY - 1 ? IT_COMPLETION_FLAG : 0;
	enum kind kind = kind_of(opts);
	it_rmr_context_t context = 0;

	if (kind != KIND_SEND)
		context = window_open(node, rmr);
	if (kind == KIND_FENCE)
		bench_check(it_rmr_unlink(rmr, node->ep, 0, IT_UNLINK_FENCE_FLAG), "it_rmr_unlink");
	memcpy(node->buf, &context, sizeof(context));
	if (kind == KIND_GUARD && taken != 0)
		bench_check(it_post_send_and_unlink(node->ep, &piece, 1, 2, flags, taken),
			    "it_post_send_and_unlink");
	else
		bench_check(it_post_send(node->ep, &piece, 1, 2, flags), "it_post_send");
}

/* The context in the next message. */
static it_rmr_context_t
receive_context(struct bench_node *node, const struct bench_opts *opts)
{
	it_rmr_context_t context;
	it_event_t event;

	do
		bench_node_next(node, false, &event);
	while (event.event_number != IT_DTO_RC_RECV_CMPL_EVENT);
	memcpy(&context, node->buf + node->half, sizeof(context));
	bench_node_recv(node, opts->size);
	return context;
}

static void
check_size(const struct bench_opts *opts)
{
	if (opts->size < sizeof(it_rmr_context_t))
		bench_die("a message carries a context of %zu octets", sizeof(it_rmr_context_t));
}

static double
far_side(const struct bench_opts *opts, int ctl, bool active)
{
	uint64_t warm = opts->iters / 10 + 1;
	it_rmr_context_t taken = 0;
	struct bench_node node;
	it_rmr_handle_t rmr;
	uint64_t start = 0;

	check_size(opts);
	bench_node_pair(&node, opts, ctl, active, opts->size);
	rmr = window_new(&node);
	for (unsigned i = 0; i < 4; i++)
		bench_node_recv(&node, opts->size);
	bench_sync(ctl);
	for (uint64_t i = 0; i < warm + opts->iters; i++) {
		if (i == warm)
			start = bench_now();
		if (active)
			send_context(&node, rmr, opts, taken, i);
		taken = receive_context(&node, opts);
		if (!active)
			send_context(&node, rmr, opts, taken, i);
	}
	start = bench_now() - start;
	bench_sync(ctl);
	bench_node_close(&node);
	return (double)start / (double)opts->iters / 2;
}

static double
near_side(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_node node[2];
	it_rmr_handle_t rmr[2];
	it_rmr_context_t taken = 0;
	uint64_t start;

	(void)ctl;
	(void)active;
	check_size(opts);
	bench_node_join(&node[0], &node[1], opts);
	for (unsigned k = 0; k < 2; k++) {
		rmr[k] = window_new(&node[k]);
		for (unsigned i = 0; i < 4; i++)
			bench_node_recv(&node[k], opts->size);
	}
	start = bench_now();
	for (uint64_t i = 0; i < opts->iters; i++) {
		for (unsigned k = 0; k < 2; k++) {
			send_context(&node[k], rmr[k], opts, taken, i);
			taken = receive_context(&node[!k], opts);
		}
	}
	start = bench_now() - start;
	bench_node_close(&node[0]);
	bench_node_close(&node[1]);
	return (double)start / (double)opts->iters / 2;
}

const struct bench_case bench_guard_cases[] = {
	{"it-guard", "ns", true, far_side},
	{"it-guard-near", "ns", false, near_side},
	{NULL, NULL, false, NULL},
};
