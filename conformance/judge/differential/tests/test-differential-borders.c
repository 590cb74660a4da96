/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Cases that random programs seldom reach, or only together with other errors: records and expectations made by hand,
 * programs of a few lines, and what the model says of them before an adapter runs.
 */
#include <string.h>

#include "df_compare.h"
#include "df_model.h"
#include "df_run.h"

#define ADAPTER "emul:ib"
#define EPS                                                    \
	"ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n" \
	"ep-create ep=1 pz=1 sq=4 rq=4 ird=4 ord=4 enable=8\n"

/* A step with its expected status, and settlements without any observation. */
struct pair {
	struct df_expected *expected;
	struct df_record *record;
};

static struct pair
pair_new(unsigned settles)
{
	struct pair pair = {.expected = df_expected_new(), .record = df_record_new()};
	struct df_step_expect expect = {.answer = {.count = 1, .any = {IT_SUCCESS}}};
	struct df_seen_step step = {.made = true, .answer = IT_SUCCESS};

	g_array_append_val(pair.expected->steps, expect);
	g_array_append_val(pair.record->steps, step);
	for (unsigned i = 0; i < settles; i++) {
		struct df_settle settle = {
			.cm = g_array_new(FALSE, TRUE, sizeof(struct df_cm)),
			.probes = g_array_new(FALSE, TRUE, sizeof(int)),
			.async = g_array_new(FALSE, TRUE, sizeof(struct df_async)),
			.unaff = g_array_new(FALSE, TRUE, sizeof(struct df_unaff)),
		};
		struct df_seen_settle seen = {
			.cm = g_array_new(FALSE, TRUE, sizeof(struct df_seen_cm)),
			.async = g_array_new(FALSE, TRUE, sizeof(struct df_seen_async)),
			.unaff = g_array_new(FALSE, TRUE, sizeof(struct df_seen_unaff)),
		};

		for (int node = 0; node < DF_NODES; node++) {
			settle.memory[node] = g_malloc0(DF_MEMORY);
			settle.vague[node] = g_malloc0(DF_MEMORY);
			seen.memory[node] = g_malloc0(DF_MEMORY);
		}
		g_array_append_val(pair.expected->settles, settle);
		g_array_append_val(pair.record->settles, seen);
	}
	return pair;
}

/* A request, and the completion that it must have; the caller may change either. */
static void
pair_add(struct pair *pair, it_dto_status_t status)
{
	struct df_wr wr = {.cookie = pair->expected->wrs->len + 1,
			   .request = true,
			   .event = IT_DTO_SEND_CMPL_EVENT,
			   .statuses = MODEL_BIT(status)};
	struct df_seen_wr seen = {.cookie = wr.cookie,
				  .event = IT_DTO_SEND_CMPL_EVENT,
				  .status = status,
				  .request = true};

	g_array_append_val(pair->expected->wrs, wr);
	g_array_append_val(pair->record->wrs, seen);
}

/* Compare and free. The complaint must contain this; NULL: there must be none. */
static void
pair_judge(struct pair *pair, const char *complaint)
{
	char *text = df_compare(pair->expected, pair->record);

	if (complaint == NULL)
		g_assert_cmpstr(text, ==, NULL);
	else
		g_assert_true(text != NULL && strstr(text, complaint) != NULL);
	g_free(text);
	df_record_free(pair->record);
	df_expected_free(pair->expected);
}

/* An accept that must be made, and one that must not. */
static void
test_made(void)
{
	struct pair pair = pair_new(1);

	pair_judge(&pair, NULL);
	pair = pair_new(1);
	DF_STEP(pair.expected, 0)->second = (struct df_answer){.count = 1, .any = {IT_SUCCESS}};
	pair_judge(&pair, "the accept was not made");
	pair = pair_new(1);
	DF_SEEN_STEP(pair.record, 0)->second_made = true;
	pair_judge(&pair, "the accept was made");
}

/* Only the time is wrong; a success without an event is not missed at the right time. */
static void
test_settlement(void)
{
	for (int early = 0; early < 2; early++) {
		struct pair pair = pair_new(2);

		pair_add(&pair, IT_DTO_ERR_FLUSHED);
		DF_WR(pair.expected, 0)->silent = true;
		DF_WR(pair.expected, 0)->settle = early;
		DF_SEEN_WR(pair.record, 0)->settle = 1 - early;
		pair_judge(&pair, early ? "it should not be done yet" : "it came too late");
	}
}

static void
test_silent(void)
{
	struct pair pair = pair_new(1);

	pair_add(&pair, IT_DTO_SUCCESS);
	pair_judge(&pair, NULL);
	pair = pair_new(1);
	pair_add(&pair, IT_DTO_SUCCESS);
	DF_WR(pair.expected, 0)->silent = true;
	pair_judge(&pair, "success was to be silent");
}

/* Each completion alone is right. */
static void
test_after_failure(void)
{
	static const struct {
		it_dto_status_t first;
		it_dto_status_t second;
		const char *complaint;
	} cases[] = {
		{IT_DTO_SUCCESS, IT_DTO_ERR_BAD_RESPONSE, NULL},
		{IT_DTO_ERR_BAD_RESPONSE, IT_DTO_ERR_FLUSHED, NULL},
		{IT_DTO_ERR_FLUSHED, IT_DTO_SUCCESS, "success, though one before it failed"},
		{IT_DTO_ERR_BAD_RESPONSE, IT_DTO_SUCCESS, "success, though one before it failed"},
		{IT_DTO_ERR_BAD_RESPONSE, IT_DTO_ERR_BAD_RESPONSE, "the second real error"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct pair pair = pair_new(1);

		pair_add(&pair, cases[i].first);
		pair_add(&pair, cases[i].second);
		pair_judge(&pair, cases[i].complaint);
	}
}

static void
test_unknown(void)
{
	struct pair pair = pair_new(1);

	pair_add(&pair, IT_DTO_SUCCESS);
	g_array_set_size(pair.expected->wrs, 0);
	pair_judge(&pair, "nothing like it was posted");
}

static void
test_depths(void)
{
	static const char *const lines[] = {"ep-create ep=0 sq=1 rq=0", "ep-create ep=0 sq=0 rq=1"};
	char *why = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		g_assert_null(df_program_read(lines[i], &why));
		g_assert_nonnull(why);
		g_free(why);
	}
	df_program_free(df_program_read("ep-create ep=0 sq=1 rq=1", &why));
	g_assert_cmpstr(why, ==, NULL);
}

static void
test_comments(void)
{
	char *why = NULL;
	struct df_program *program = df_program_read("# a comment\n\nsettle\n#settle\n", &why);

	g_assert_cmpstr(why, ==, NULL);
	g_assert_cmpuint(program->steps->len, ==, 1);
	df_program_free(program);
}

static struct df_expected *
expected_of(const char *text)
{
	struct df_profile profile;
	char *why = NULL;
	struct df_program *program = df_program_read(text, &why);
	struct df_expected *expected;

	g_assert_cmpstr(why, ==, NULL);
	g_assert_true(df_profile_ask(ADAPTER, &profile));
	expected = df_model_run(program, &profile);
	df_program_free(program);
	return expected;
}

/* The peer of an endpoint that is freed loses its connection. */
static void
test_free_connected(void)
{
	struct df_expected *expected = expected_of(EPS "connect ep=0 peer=1\n"
						       "ep-free ep=0\n");
	const struct df_settle *last = DF_SETTLEMENT(expected, expected->settles->len - 1);

	g_assert_cmpint(last->ep[0].state, ==, -1);
	g_assert_cmpint(last->ep[1].state, ==, IT_EP_STATE_NONOPERATIONAL);
	df_expected_free(expected);
}

/* An endpoint that connects cannot accept its own request. */
static void
test_connect_to_itself(void)
{
	struct df_expected *expected = expected_of(EPS "connect ep=0 peer=0\n"
						       "connect ep=0 peer=1\n");

	g_assert_cmpint(DF_STEP(expected, 2)->second.count, ==, 1);
	g_assert_cmpint(DF_STEP(expected, 2)->second.any[0], ==, IT_ERR_INVALID_EP_STATE);
	df_expected_free(expected);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/borders/made", test_made);
	g_test_add_func("/differential/borders/settlement", test_settlement);
	g_test_add_func("/differential/borders/silent", test_silent);
	g_test_add_func("/differential/borders/after-failure", test_after_failure);
	g_test_add_func("/differential/borders/unknown", test_unknown);
	g_test_add_func("/differential/borders/depths", test_depths);
	g_test_add_func("/differential/borders/comments", test_comments);
	g_test_add_func("/differential/borders/free-connected", test_free_connected);
	g_test_add_func("/differential/borders/connect-to-itself", test_connect_to_itself);
	return g_test_run();
}
