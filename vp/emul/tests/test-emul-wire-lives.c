/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Second lives over paths that take time (vem_wire.h, vem_path.h). A queue pair is reset while a message of its
 * first life is under way. Its second life must go on as a first one does: the same events and completions, each
 * at the same time. The test is the service thread, and time is virtual.
 */
#include <string.h>

#include "vem.h"
#include "vem_node.h"
#include "vem_path.h"

#define DELAY "delay 5000 5000" /* us */
#define MS    UINT64_C(1000000)
#define LONG  40 /* ms: more than a life takes to begin */
#define LEN   64

enum {
	A,
	B
};

/* Each side listens, too. */
struct world {
	struct ends ends;
	struct ri_listen *listens[2];
	struct ri_service services[2];
	GString *story; /* of the second life */
	unsigned ms;
};

static struct node *
node_of(struct world *w, int side)
{
	return side == A ? w->ends.na : w->ends.nb;
}

static struct end *
end_of(struct world *w, int side)
{
	return side == A ? w->ends.a : w->ends.b;
}

static void
world_open(struct world *w, const char *adapter)
{
	memset(w, 0, sizeof(*w));
	w->story = g_string_new(NULL);
	g_setenv("ITAPI_EMUL_WIRE_US", "1", TRUE);
	ends_open(&w->ends, adapter);
	ends_fill(&w->ends, NULL, NULL, 4096, ALL_RW);
	g_unsetenv("ITAPI_EMUL_WIRE_US");
	g_assert_null(node_path(w->ends.na, "name a"));
	g_assert_null(node_path(w->ends.nb, "name b"));
	/* The two ways may take different times: only what comes to a takes long. */
	g_assert_null(node_path(w->ends.na, "path b " DELAY));
	for (int side = A; side <= B; side++) {
		w->services[side] = (struct ri_service){.kind = RI_SERVICE_PORT};
		g_assert_cmpint(vem_provider_entry()->cm->listen(
					node_of(w, side)->context, (uint64_t)side, 0,
					&w->services[side], 4, &w->listens[side]),
				==, RI_SUCCESS);
	}
}

static void
world_close(struct world *w)
{
	for (int side = A; side <= B; side++)
		vem_provider_entry()->cm->listen_destroy(w->listens[side]);
	ends_drop(&w->ends);
	g_string_free(w->story, TRUE);
}

static void
connect_from(struct world *w, int side)
{
	const struct ri_cm_params params = node_params(&w->services[!side]);

	g_assert_cmpint(vem_provider_entry()->cm->connect(end_of(w, side)->qp, &params), ==,
			RI_SUCCESS);
}

/* The state of the path of one side to the other. */
static void
path_becomes(struct world *w, int side, const char *state)
{
	g_autofree char *order = g_strdup_printf("path %c %s", side == A ? 'b' : 'a', state);

	g_assert_null(node_path(node_of(w, side), order));
}

/* The events of one side. It accepts what comes to its listener. */
static void
look_at(struct world *w, int side)
{
	const struct ri_cm_params params = node_params(NULL);
	struct node *node = node_of(w, side);

	while (node->cm->len > 0) {
		const struct ri_cm_event event = g_array_index(node->cm, struct ri_cm_event, 0);

		g_array_remove_index(node->cm, 0);
		g_string_append_printf(w->story, "%u ms: event %u of %c; ", w->ms, event.kind,
				       'a' + side);
		if (event.kind == RI_CM_REQUEST)
			g_string_append_printf(
				w->story, "accepted with %d; ",
				(int)vem_provider_entry()->cm->accept(
					event.request, end_of(w, side)->qp, &params));
	}
	for (; node->async->len > 0; g_array_remove_index(node->async, 0))
		g_string_append_printf(w->story, "%u ms: event %u of %c's queue pair; ", w->ms,
				       g_array_index(node->async, struct ri_async_event, 0).event,
				       'a' + side);
}

static void
look_for_completions(struct world *w, int side)
{
	struct ri_ucq *cqs[] = {end_of(w, side)->uscq, end_of(w, side)->urcq};
	struct ri_wc wc;

	for (size_t i = 0; i < G_N_ELEMENTS(cqs); i++)
		while (vem_provider_entry()->fast->poll_cq(cqs[i], &wc, 1) != 0)
			g_string_append_printf(
				w->story, "%u ms: %c completes %" G_GUINT64_FORMAT " with %u; ",
				w->ms, 'a' + side, wc.wr_id, wc.status);
}

/* Some milliseconds pass. */
static void
pass(struct world *w, unsigned ms)
{
	for (unsigned end = w->ms + ms; w->ms <= end; w->ms++) {
		vth_run(w->ends.vth);
		for (int side = A; side <= B; side++) {
			look_at(w, side);
			look_for_completions(w, side);
		}
		vth_run(w->ends.vth);
		vth_advance(w->ends.vth, MS);
	}
}

/* --- first lives, which end while something is under way ------------------------------------------- */

static void
nothing(struct world *w)
{
	(void)w;
}

/* A request for a connection. */
static void
offers(struct world *w)
{
	connect_from(w, A);
	vth_run(w->ends.vth);
}

/* The answer to it. */
static void
replies(struct world *w)
{
	connect_from(w, A);
	pass(w, 6);
}

static void
connected(struct world *w)
{
	connect_from(w, A);
	pass(w, LONG);
	g_assert_cmpint(end_state(w->ends.a), ==, RI_QPS_RTS);
}

/* The word that the connection ends. */
static void
closes(struct world *w)
{
	connected(w);
	g_assert_cmpint(vem_provider_entry()->cm->disconnect(w->ends.b->qp, NULL, 0), ==,
			RI_SUCCESS);
	vth_run(w->ends.vth);
}

/* An attempt at a path that is cut for too long. */
static void
cut_off(struct world *w)
{
	const uint64_t patience = vem_path_patience(w->ends.na->rnic->fabric);

	path_becomes(w, A, "cut");
	connect_from(w, A);
	for (int i = 0; i < 3; i++) {
		vth_run(w->ends.vth);
		vth_advance(w->ends.vth, patience);
	}
	look_at(w, A);
	g_assert_cmpint(end_state(w->ends.a), ==, RI_QPS_ERROR);
	path_becomes(w, A, "open");
}

/* A Write of each side. */
static void
writes(struct world *w)
{
	connected(w);
	g_assert_cmpint(end_write(w->ends.a, 1, &w->ends.ma, &w->ends.mb, LEN), ==, RI_SUCCESS);
	g_assert_cmpint(end_write(w->ends.b, 2, &w->ends.mb, &w->ends.ma, LEN), ==, RI_SUCCESS);
	vth_run(w->ends.vth);
}

static const struct first {
	const char *name;
	void (*begin)(struct world *w);
} firsts[] = {{"nothing", nothing},        {"a request", offers}, {"a disconnect", closes},
	      {"a connection", connected}, {"Writes", writes},    {"a reply", replies},
	      {"an attempt", cut_off}};

/* No time passes from the end of the first life to the second one. */
static void
reset(struct world *w)
{
	const struct ri_qp_attr idle = {.state = RI_QPS_IDLE, .skip_time_wait = true};
	enum ri_status status;

	for (int side = A; side <= B; side++)
		(void)!end_modify(end_of(w, side), RI_QPS_ERROR);
	for (int side = A; side <= B; side++)
		do {
			vth_run(w->ends.vth);
			look_for_completions(w, side);
			status = vem_provider_entry()->qp->modify(end_of(w, side)->qp, &idle,
								  RI_QP_ATTR_STATE);
		} while (status == RI_ERR_STILL_FLUSHING);
	node_forget(w->ends.na);
	node_forget(w->ends.nb);
	for (int side = A; side <= B; side++)
		g_assert_cmpint(end_state(end_of(w, side)), ==, RI_QPS_IDLE);
	g_string_truncate(w->story, 0);
	w->ms = 0;
}

/* The story of a life that `side` begins, after that first one. */
static char *
story(const char *adapter, const struct first *first, int side)
{
	struct world w;
	char *text;

	world_open(&w, adapter);
	first->begin(&w);
	reset(&w);
	/* The path is cut when the life begins, but not for long. */
	path_becomes(&w, side, "cut");
	connect_from(&w, side);
	pass(&w, LONG);
	path_becomes(&w, side, "open");
	pass(&w, LONG);
	g_assert_cmpint(end_state(w.ends.a), ==, RI_QPS_RTS);
	g_assert_cmpint(end_state(w.ends.b), ==, RI_QPS_RTS);
	g_assert_cmpint(end_write(w.ends.a, 3, &w.ends.ma, &w.ends.mb, LEN), ==, RI_SUCCESS);
	g_assert_cmpint(end_write(w.ends.b, 4, &w.ends.mb, &w.ends.ma, LEN), ==, RI_SUCCESS);
	pass(&w, LONG);
	text = g_strdup(w.story->str);
	world_close(&w);
	return text;
}

static void
test_lives(gconstpointer arg)
{
	for (int side = A; side <= B; side++) {
		g_autofree char *once = story(arg, &firsts[0], side);

		for (size_t i = 1; i < G_N_ELEMENTS(firsts); i++) {
			g_autofree char *again = story(arg, &firsts[i], side);

			g_test_message("after %s, %c connects: %s", firsts[i].name, 'a' + side,
				       again);
			g_assert_cmpstr(again, ==, once);
		}
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/emul/ib/wire/lives", "emul:ib", test_lives);
	g_test_add_data_func("/emul/iwarp/wire/lives", "emul:iwarp", test_lives);
	return g_test_run();
}
