/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Runs lives. For each seed: an object with parameters A has its first life and then, with parameters B, its second; in
 * another world a new object with parameters B has the same life. Their lines must be equal. ITAPI_TEST_SEED is the
 * first seed, ITAPI_TEST_RUNS the number of seeds.
 */
#include <stdlib.h>

#include "again.h"
#include "lives.h"

#define RUNS 2

struct job {
	const struct kind *kind;
	const struct again *way;
};

static guint32
number_of(const char *variable, guint32 otherwise)
{
	const char *text = g_getenv(variable);

	return text != NULL ? (guint32)strtoul(text, NULL, 10) : otherwise;
}

/* Blocks that the test itself keeps of a life, such as its lines; a life whose calls are refused a hundred times keeps no more. */
#define BLOCKS 16
/* The adapters faulty:NAME of the two ends each keep their last 64 requests (conformance/bad/wrap). */
#define FAULTY_BLOCKS (2 * 64)

static long
live_blocks(void)
{
	return again_live != NULL ? again_live() : 0;
}

/* One world: a life with A before, or none; then the life with B and the seed, and the end of the object. Returns its lines. */
static char *
told(const struct job *job, guint32 seed, bool used)
{
	const struct kind *kind = job->kind;
	void *first = g_malloc0(kind->param_size), *second = g_malloc0(kind->param_size), *object;
	char *before, *after, *text;
	struct world world;
	long blocks, most = BLOCKS;

	if (g_str_has_prefix(pair_adapter(), "faulty:"))
		most += FAULTY_BLOCKS;
	g_assert_true(world_open(&world, seed, job->way->name));
	before = accounts(&world);
	blocks = live_blocks();
	kind->draw(&world, first);
	kind->draw(&world, second);
	object = kind->make(&world, used && job->way->to != NULL ? first : second);
	world.disturbed = used && job->way->to == NULL;
	if (used && job->way->to != NULL) {
		if (job->way->first != NULL)
			job->way->first(&world, object, first);
		else
			kind->live(&world, object, first);
		job->way->to(&world, object, second);
		world_forget(&world);
	}
	trace_clear(world.trace);
	world_seed(&world, seed ^ 0x5a5a5a5au);
	world.last = true;
	kind->live(&world, object, second);
	kind->end(&world, object);
	world_drain(&world);
	text = g_strdup(trace_text(world.trace));
	after = accounts(&world);
	g_assert_cmpint(live_blocks() - blocks, <=, most);
	if (g_getenv("ITAPI_TEST_SAY") != NULL)
		g_print("%s%s\n", text, after);
	trace_compare("accounts", seed, after, before);
	world_close(&world);
	g_free(before);
	g_free(after);
	g_free(first);
	g_free(second);
	return text;
}

static void
compare(const struct job *job, guint32 seed)
{
	char *used, *new;

	/* In a program whose calls are refused, only the life of the new object is undisturbed. */
	if (again_switch != NULL)
		again_switch(true);
	used = told(job, seed, true);
	if (again_switch != NULL)
		again_switch(false);
	new = told(job, seed, false);

	trace_compare(job->way->name, seed, used, new);
	g_free(used);
	g_free(new);
}

static void
run(gconstpointer data)
{
	const struct job *job = data;
	guint32 seed = number_of("ITAPI_TEST_SEED", 1), runs = number_of("ITAPI_TEST_RUNS", RUNS);
	struct world world;
	unsigned descriptors;
	bool can;

	if (!world_open(&world, seed, job->way->name)) {
		g_test_skip("no such adapter");
		return;
	}
	can = end_has(&world.near.end, job->kind->needs | job->way->needs);
	world_close(&world);
	if (!can) {
		g_test_skip("the adapter cannot do it");
		return;
	}
	descriptors = pair_descriptors();
	for (guint32 i = 0; i < runs; i++)
		compare(job, seed + i);
	if (again_refused != NULL)
		g_assert_cmpuint(again_refused(), >, 0);
	PAIR_UNTIL(pair_descriptors() <= descriptors);
}

static void
add(const struct kind *kind, const struct again *way)
{
	g_autofree char *path =
		g_strdup_printf("/itapi/%s/lives/%s/%s", pair_adapter(), kind->name, way->name);
	struct job *job = g_new(struct job, 1);

	*job = (struct job){kind, way};
	g_test_add_data_func_full(path, job, run, g_free);
}

void
lives_add(const struct kind *kind)
{
	/* No other life before, but calls that are refused all the time. */
	static const struct again disturbed = {"disturbed", 0, NULL, NULL};

	for (const struct again *way = kind->ways; way->name != NULL; way++)
		add(kind, way);
	add(kind, &disturbed);
}
