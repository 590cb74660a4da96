/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Programs at the same time on the same IAs: each shows what it shows alone, and a wrong record is that of one alone. */
#include <string.h>

#include "df_compare.h"
#include "df_generate.h"
#include "df_model.h"
#include "df_threads.h"

#define THREADS  4
#define ROUNDS   3
#define PATIENCE 60 /* s */

#define EVENTS_SEED 1 /* its programs raise an event of a low watermark */

static const char *const adapters[] = {"emul:ib", "emul:iwarp", "iwarp"};

/* Run programs of seeds from `first` on; the caller frees the threads' members. False: no such adapter. */
static bool
run(const char *adapter, uint32_t first, bool same, struct df_thread *threads)
{
	struct df_profile profile;

	if (!df_profile_ask(adapter, &profile))
		return false;
	for (unsigned i = 0; i < THREADS; i++) {
		threads[i].program =
			df_generate(first + (same ? 0 : i), DF_DRAW_WIDE | DF_DRAW_WATERMARKS);
		threads[i].expected = df_model_run(threads[i].program, &profile);
	}
	g_assert_true(df_threads_run(adapter, threads, THREADS, PATIENCE));
	return true;
}

static void
done(struct df_thread *threads)
{
	for (unsigned i = 0; i < THREADS; i++) {
		df_record_free(threads[i].record);
		df_expected_free((struct df_expected *)threads[i].expected);
		df_program_free((struct df_program *)threads[i].program);
	}
}

static void
all_agree(const struct df_thread *threads)
{
	for (unsigned i = 0; i < THREADS; i++) {
		char *why = df_compare(threads[i].expected, threads[i].record);

		g_assert_cmpstr(why, ==, NULL);
	}
}

/* Different programs, and the same one several times: the same sizes, keys' places and cookies. */
static void
test_agree(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(adapters); i++) {
		for (uint32_t round = 0; round < 2 * ROUNDS; round++) {
			struct df_thread threads[THREADS] = {{.expected = NULL}};

			if (!run(adapters[i], 1 + round * THREADS, round % 2 == 0, threads))
				break;
			all_agree(threads);
			done(threads);
		}
	}
}

/* The records of two different programs, exchanged, satisfy neither. */
static void
test_objects(void)
{
	struct df_thread threads[THREADS] = {{.expected = NULL}};
	struct df_record *record;

	if (!run(adapters[0], 1, false, threads)) {
		g_test_skip("the adapter is not built");
		return;
	}
	record = threads[1].record;
	threads[1].record = threads[2].record;
	threads[2].record = record;
	for (unsigned i = 0; i < THREADS; i++) {
		bool wrong = i == 1 || i == 2;
		g_autofree char *why =
			threads[i].record->steps->len == threads[i].expected->steps->len
				? df_compare(threads[i].expected, threads[i].record)
				: g_strdup("of another program");

		g_assert_true((why != NULL) == wrong);
	}
	done(threads);
}

/* The thread and the settlement of the first event of a low watermark; NULL: there is none. */
static struct df_seen_settle *
first_event(const struct df_thread *threads, unsigned *thread)
{
	for (*thread = 0; *thread < THREADS; ++*thread) {
		const struct df_record *record = threads[*thread].record;

		for (unsigned i = 0; i < record->settles->len; i++) {
			struct df_seen_settle *seen = DF_SEEN(record, i);

			if (seen->async->len > 0 &&
			    g_array_index(seen->async, struct df_seen_async, 0).event ==
				    IT_ASYNC_AFF_SRQ_LOW_WATERMARK)
				return seen;
		}
	}
	return NULL;
}

static void
object(const struct df_thread *thread, const char *complaint)
{
	g_autofree char *text = df_compare(thread->expected, thread->record);

	g_assert_nonnull(text);
	g_assert_nonnull(strstr(text, complaint));
}

/* An affiliated event that one thread gets is not due at another one, and is missing at its own. */
static void
test_events(void)
{
	struct df_thread threads[THREADS] = {{.expected = NULL}};
	struct df_seen_settle *seen;
	struct df_seen_async event;
	struct df_record *other;
	unsigned at;

	if (!run(adapters[0], EVENTS_SEED, false, threads)) {
		g_test_skip("the adapter is not built");
		return;
	}
	all_agree(threads);
	seen = first_event(threads, &at);
	g_assert_nonnull(seen);
	event = g_array_index(seen->async, struct df_seen_async, 0);
	g_array_remove_index(seen->async, 0);
	object(&threads[at], "is missing");
	other = threads[(at + 1) % THREADS].record;
	g_array_append_val(DF_SEEN(other, other->settles->len - 1)->async, event);
	object(&threads[(at + 1) % THREADS], "which is not due");
	other = threads[(at + 2) % THREADS].record;
	other->strange = g_strdup("an event of no program");
	object(&threads[(at + 2) % THREADS], "of no program");
	done(threads);
}

static void
ok(it_status_t status)
{
	g_assert_cmpint(status, ==, IT_SUCCESS);
}

/* An S-RQ, whose event comes when its watermark is set, since it has no receives. */
static it_srq_handle_t
passed(it_pz_handle_t pz)
{
	it_srq_param_t params;
	it_srq_handle_t srq;

	memset(&params, 0, sizeof(params));
	params.low_watermark = 1;
	ok(it_srq_create(pz, 1, 4, &srq));
	ok(it_srq_modify(srq, IT_SRQ_PARAM_LOW_WATERMARK, &params));
	return srq;
}

static void
expect_event(struct df_hub *hub, unsigned world, it_srq_handle_t srq)
{
	gint64 deadline = g_get_monotonic_time() + PATIENCE * G_USEC_PER_SEC;
	it_affiliated_event_t event;

	g_assert_true(df_hub_take(hub, world, deadline, &event));
	g_assert_true(event.cause.srq == srq);
	g_assert_false(df_hub_take(hub, world, 0, &event));
}

static void
hub_of(it_ia_handle_t ia, bool several)
{
	gint64 deadline = g_get_monotonic_time() + PATIENCE * G_USEC_PER_SEC;
	struct df_hub *hub = df_hub_new(ia, several);
	it_srq_handle_t srq[3];
	it_pz_handle_t pz;
	char *strange;

	ok(it_pz_create(ia, &pz));
	for (unsigned i = 0; i < G_N_ELEMENTS(srq); i++) {
		srq[i] = passed(pz);
		if (i < 2)
			df_hub_own(hub, (it_handle_t)srq[i], 7 + i);
	}
	/* A world leaves the events of others in the hub. */
	expect_event(hub, 8, srq[1]);
	expect_event(hub, 7, srq[0]);
	while (df_hub_held(hub) == 0 && g_get_monotonic_time() < deadline)
		g_usleep(1000);
	strange = df_hub_free(hub);
	g_assert_nonnull(strange);
	g_assert_nonnull(strstr(strange, "IT_ASYNC_AFF_SRQ_LOW_WATERMARK"));
	g_free(strange);
	for (unsigned i = 0; i < G_N_ELEMENTS(srq); i++)
		ok(it_srq_free(srq[i]));
	ok(it_pz_free(pz));
}

/* Each world gets the events of its own objects, and what belongs to none is told. */
static void
test_hub(void)
{
	unsigned tried = 0;

	for (size_t i = 0; i < 2 * G_N_ELEMENTS(adapters); i++) {
		struct df_profile profile;
		it_ia_handle_t ia;

		if (!df_profile_ask(adapters[i / 2], &profile) || !profile.low_watermark)
			continue;
		ok(it_ia_create(adapters[i / 2], 2, 0, &ia));
		hub_of(ia, i % 2 != 0);
		ok(it_ia_free(ia));
		tried++;
	}
	if (tried == 0)
		g_test_skip("no adapter that is built has low watermarks");
}

static void
test_no_adapter(void)
{
	struct df_thread threads[THREADS] = {{.expected = NULL}};

	g_assert_false(df_threads_run("no such adapter", threads, THREADS, PATIENCE));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/threads/agree", test_agree);
	g_test_add_func("/differential/threads/objects", test_objects);
	g_test_add_func("/differential/threads/events", test_events);
	g_test_add_func("/differential/threads/hub", test_hub);
	g_test_add_func("/differential/threads/no-adapter", test_no_adapter);
	return g_test_run();
}
