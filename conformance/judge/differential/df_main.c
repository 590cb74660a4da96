/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * differential: random programs on several adapters against the model.
 *
 *     differential --adapter emul:ib,iwarp --seed 1 --count 300
 *     differential --adapter iwarp --wide --seed 1 --count 300
 *     differential --adapter emul:ib --privileged --seed 1 --count 300
 *     differential --adapter iwarp --watermarks --seed 1 --count 300
 *     differential --adapter emul:ib --faults --seed 1 --count 300
 *     differential --adapter iwarp --changes --seed 1 --count 300
 *     differential --adapter iwarp --program FILE
 *     differential --adapter iwarp --threads 4 --seed 1 --count 300
 *     differential --print --seed 7
 *
 * With --threads programs of consecutive seeds run at the same time on the same IAs. A disagreement
 * that appears only then is printed without shrinking.
 *
 * A disagreement is shrunk, unless --no-shrink is given, and printed with its seed and the program as text,
 * which --program performs again. ITAPI_TEST_PROGRAMS in the environment limits --count, for checks that are
 * slow. The output is TAP, one test per adapter; exit status 1 means a disagreement, 2 invalid arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "df_compare.h"
#include "df_fit.h"
#include "df_generate.h"
#include "df_model.h"
#include "df_quirks.h"
#include "df_run.h"
#include "df_shrink.h"
#include "df_threads.h"
#include "it_ext.h"
#include "it_fabric.h"
#include "tool_output.h"

#define MOST_FAILURES 3
#define MOST_THREADS  64

static char *adapters = (char *)"emul:ib,emul:iwarp,iwarp";
static char *program_file;
static int first_seed = 1;
static int programs = 300;
static int patience = 60;
static int shrink_patience = 5;
static int repeat = 1;
static int threads = 1;
static gboolean wide;
static gboolean privileged;
static gboolean watermarks;
static gboolean faults;
static gboolean changes;
static gboolean ways;
static char *quirks;
static int attempts = 1;
static gboolean tally;
static gboolean no_shrink;
static gboolean print_only;

static const GOptionEntry options[] = {
	{"adapter", 'a', 0, G_OPTION_ARG_STRING, &adapters, "Adapters, with commas between", "A,B"},
	{"seed", 's', 0, G_OPTION_ARG_INT, &first_seed, "Seed of the first program", "N"},
	{"count", 'n', 0, G_OPTION_ARG_INT, &programs, "How many programs", "N"},
	{"wide", 'w', 0, G_OPTION_ARG_NONE, &wide, "More kinds of steps", NULL},
	{"privileged", 0, 0, G_OPTION_ARG_NONE, &privileged, "Privileged ones, too", NULL},
	{"watermarks", 0, 0, G_OPTION_ARG_NONE, &watermarks, "Watermarks of S-RQs, too", NULL},
	{"faults", 0, 0, G_OPTION_ARG_NONE, &faults,
	 "Spigots that go down and adapters that fail, too", NULL},
	{"changes", 0, 0, G_OPTION_ARG_NONE, &changes,
	 "Changed attributes and sizes, listeners that go, too", NULL},
	{"ways", 0, 0, G_OPTION_ARG_NONE, &ways, "Aggregates and callbacks, too", NULL},
	{"quirks", 'q', 0, G_OPTION_ARG_STRING, &quirks,
	 "What the device does otherwise; a wrong word lists all", "LIST"},
	{"attempts", 0, 0, G_OPTION_ARG_INT, &attempts,
	 "A disagreement counts if it shows N times in a row", "N"},
	{"program", 'p', 0, G_OPTION_ARG_FILENAME, &program_file, "Perform the program in FILE",
	 "FILE"},
	{"patience", 0, 0, G_OPTION_ARG_INT, &patience, "Seconds to wait for what never comes",
	 "S"},
	{"shrink-patience", 0, 0, G_OPTION_ARG_INT, &shrink_patience, "The same while shrinking",
	 "S"},
	{"repeat", 'r', 0, G_OPTION_ARG_INT, &repeat, "Perform each program so many times", "N"},
	{"threads", 0, 0, G_OPTION_ARG_INT, &threads, "So many programs at the same time", "N"},
	{"tally", 't', 0, G_OPTION_ARG_NONE, &tally, "Count what the programs do", NULL},
	{"no-shrink", 0, 0, G_OPTION_ARG_NONE, &no_shrink, "Show what disagrees as it is", NULL},
	{"print", 0, 0, G_OPTION_ARG_NONE, &print_only, "Print the programs, perform nothing",
	 NULL},
	{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
};

struct subject {
	const char *adapter;
	struct df_profile profile;
};

/* --- what programs do ------------------------------------------------------------------------ */

/* Counts of steps by kind: all, left out, refused as expected. Counts of calls and completions by status, and of events. */
static unsigned long steps_of[DF_KIND_COUNT][3];
static unsigned long answers_of[IT_ERR_WAITER_LIMIT + 1];
static unsigned long completions_of[IT_DTO_ERR_LOCAL_MM_OPERATION + 1];

static unsigned long low_events, soft_events, other_events;

static void
count_events(const struct df_record *record)
{
	for (unsigned i = 0; i < record->settles->len; i++) {
		const GArray *all = DF_SEEN(record, i)->async;

		for (unsigned k = 0; k < all->len; k++) {
			it_event_type_t event = g_array_index(all, struct df_seen_async, k).event;

			low_events += event == IT_ASYNC_AFF_SRQ_LOW_WATERMARK;
			soft_events += event == IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK;
			other_events += event != IT_ASYNC_AFF_SRQ_LOW_WATERMARK &&
					event != IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK;
		}
	}
}

static void
count(const struct df_program *program, const struct df_expected *expected,
      const struct df_record *record)
{
	for (unsigned i = 0; i < record->steps->len; i++) {
		const struct df_step_expect *expect = DF_STEP(expected, i);
		const struct df_seen_step *seen = DF_SEEN_STEP(record, i);
		unsigned long *of = steps_of[df_program_step(program, i)->kind];

		of[0]++;
		of[1] += expect->skip;
		of[2] += seen->made && seen->answer != IT_SUCCESS;
		if (seen->made && (size_t)seen->answer < G_N_ELEMENTS(answers_of))
			answers_of[seen->answer]++;
	}
	for (unsigned i = 0; i < record->wrs->len; i++) {
		if ((size_t)DF_SEEN_WR(record, i)->status < G_N_ELEMENTS(completions_of))
			completions_of[DF_SEEN_WR(record, i)->status]++;
	}
	count_events(record);
}

static void
say_count(void)
{
	for (int i = 0; i < DF_KIND_COUNT; i++)
		printf("# %-12s %8lu, left out %7lu, refused %7lu\n", df_kind_name((enum df_kind)i),
		       steps_of[i][0], steps_of[i][1], steps_of[i][2]);
	for (size_t i = 0; i < G_N_ELEMENTS(answers_of); i++) {
		if (answers_of[i] > 0)
			printf("# answers %-28s %8lu\n", it_status_name((it_status_t)i),
			       answers_of[i]);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(completions_of); i++) {
		if (completions_of[i] > 0)
			printf("# completions %-28s %8lu\n", it_dto_status_name((it_dto_status_t)i),
			       completions_of[i]);
	}
	printf("# affiliated events: %lu of a low watermark, %lu of a soft one, %lu others\n",
	       low_events, soft_events, other_events);
	low_events = soft_events = other_events = 0;
	memset(steps_of, 0, sizeof(steps_of));
	memset(answers_of, 0, sizeof(answers_of));
	memset(completions_of, 0, sizeof(completions_of));
}

/* What the programs have, and its name. */
static unsigned
draw(void)
{
	return (wide || privileged || watermarks || faults || changes || ways ? DF_DRAW_WIDE : 0) |
	       (privileged ? DF_DRAW_PRIVILEGED : 0) | (watermarks ? DF_DRAW_WATERMARKS : 0) |
	       (faults ? DF_DRAW_FAULTS : 0) | (changes ? DF_DRAW_CHANGES : 0) |
	       (ways ? DF_DRAW_WAYS : 0);
}

static char *
name_of(int seed)
{
	return g_strdup_printf("%s%s%s%s%s%sseed %d", privileged ? "privileged " : "",
			       watermarks ? "watermarks " : "", faults ? "faults " : "",
			       changes ? "changes " : "", ways ? "ways " : "",
			       draw() == DF_DRAW_WIDE ? "wide " : "", seed);
}

/* The program of a seed, fit for the adapter. */
static struct df_program *
program_for(const struct subject *subject, int seed)
{
	struct df_program *all = df_generate((uint32_t)seed, draw());
	struct df_program *fit = df_fit(all, &subject->profile);

	df_program_free(all);
	return fit;
}

/* --- one program ----------------------------------------------------------------------------- */

/* The disagreement, or NULL. One that shows only sometimes is found by repetition. */
static char *
judge(const struct subject *subject, const struct df_program *program, int seconds, char **shown)
{
	struct df_expected *expected = df_model_run(program, &subject->profile);
	char *text = NULL;

	for (int i = 0; i < repeat && text == NULL; i++) {
		struct df_record *record =
			df_run_program(subject->adapter, program, expected, (unsigned)seconds);

		count(program, expected, record);
		text = df_compare(expected, record);
		if (text != NULL && shown != NULL)
			*shown = df_record_text(record);
		df_record_free(record);
	}
	df_expected_free(expected);
	return text;
}

/* What is being shrunk, and the disagreement that it must still show. */
struct hunt {
	const struct subject *subject;
	const char *text;
};

/* The same complaint, apart from numbers: otherwise a program would shrink to another disagreement. */
static bool
alike(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "-0123456789abcdefx");
		b += strspn(b, "-0123456789abcdefx");
		if (*a != *b)
			return false;
		if (*a == '\0')
			return true;
	}
}

static bool
still_fails(const struct df_program *program, void *arg)
{
	const struct hunt *hunt = arg;
	g_autofree char *text = judge(hunt->subject, program, shrink_patience, NULL);
	bool fails = text != NULL && alike(text, hunt->text);

	return fails;
}

/* As comment lines of TAP. */
static void
say(const char *text)
{
	char **lines = g_strsplit(text, "\n", 0);

	for (char **line = lines; *line != NULL; line++) {
		if (**line != '\0')
			printf("# %s\n", *line);
	}
	g_strfreev(lines);
}

static void
report(const struct subject *subject, const struct df_program *program, const char *name,
       const char *text)
{
	struct hunt hunt = {.subject = subject, .text = text};
	struct df_program *small =
		no_shrink ? df_program_copy(program) : df_shrink(program, still_fails, &hunt);
	char *shown = NULL;
	char *why = judge(subject, small, shrink_patience, &shown);
	char *steps = df_program_text(small);

	printf("# %s on %s: %s\n", name, subject->adapter, text);
	printf("# %u steps%s:\n", small->steps->len, no_shrink ? "" : ", shrunk");
	say(steps);
	if (why != NULL)
		printf("# which shows: %s\n# in this record:\n", why);
	if (shown != NULL)
		say(shown);
	fflush(stdout);
	g_free(steps);
	g_free(why);
	g_free(shown);
	df_program_free(small);
}

static bool
try_one(const struct subject *subject, const struct df_program *program, const char *name)
{
	char *shown = NULL;
	char *text = judge(subject, program, patience, &shown);
	bool good;

	for (int i = 1; i < attempts && text != NULL; i++) {
		printf("# %s on %s, attempt %d: %s\n", name, subject->adapter, i, text);
		g_free(shown);
		g_free(text);
		shown = NULL;
		text = judge(subject, program, patience, &shown);
	}
	good = text == NULL;
	if (!good)
		report(subject, program, name, text);
	if (!good && no_shrink)
		say(shown);
	g_free(shown);
	g_free(text);
	return good;
}

/* Programs of threads are named by the first seed of all. */
static bool
judge_thread(const struct subject *subject, const struct df_thread *thread, int seed, int first)
{
	char *text = df_compare(thread->expected, thread->record), *shown, *name;

	if (text == NULL)
		return true;
	name = name_of(seed);
	printf("# threads seed %d on %s: %s: %s\n", first, subject->adapter, name, text);
	fflush(stdout);
	if (try_one(subject, thread->program, name)) {
		printf("# beside others only, in this record:\n");
		shown = df_record_text(thread->record);
		say(shown);
		g_free(shown);
	}
	g_free(name);
	g_free(text);
	return false;
}

/* Programs of consecutive seeds at the same time; the number of those that disagree. */
static int
try_threads(const struct subject *subject, int first, int count_of_programs)
{
	struct df_thread each[MOST_THREADS];
	struct df_program *made[MOST_THREADS];
	struct df_expected *expected[MOST_THREADS];
	int failures = 0;

	for (int i = 0; i < count_of_programs; i++) {
		made[i] = program_for(subject, first + i);
		expected[i] = df_model_run(made[i], &subject->profile);
		each[i] = (struct df_thread){.program = made[i], .expected = expected[i]};
	}
	if (!df_threads_run(subject->adapter, each, (unsigned)count_of_programs,
			    (unsigned)patience))
		g_error("the adapter is gone");
	for (int i = 0; i < count_of_programs; i++) {
		count(made[i], expected[i], each[i].record);
		failures += !judge_thread(subject, &each[i], first + i, first);
		df_record_free(each[i].record);
		df_expected_free(expected[i]);
		df_program_free(made[i]);
	}
	return failures;
}

static bool
try_seeds(const struct subject *subject)
{
	int failures = 0;

	for (int i = 0; threads > 1 && i < programs && failures < MOST_FAILURES; i += threads)
		failures += try_threads(subject, first_seed + i, MIN(threads, programs - i));
	if (threads > 1)
		return failures == 0;

	for (int i = 0; i < programs && failures < MOST_FAILURES; i++) {
		struct df_program *program = program_for(subject, first_seed + i);
		char *name = name_of(first_seed + i);

		failures += !try_one(subject, program, name);
		g_free(name);
		df_program_free(program);
	}
	return failures == 0;
}

static struct df_program *
read_program(const char *file)
{
	struct df_program *program;
	GError *error = NULL;
	char *text, *why;

	if (!g_file_get_contents(file, &text, NULL, &error)) {
		fprintf(stderr, "differential: %s\n", error->message);
		exit(2);
	}
	program = df_program_read(text, &why);
	g_free(text);
	if (program == NULL) {
		fprintf(stderr, "differential: %s: %s\n", file, why);
		exit(2);
	}
	return program;
}

static int
print_programs(void)
{
	for (int i = 0; i < programs; i++) {
		struct df_program *program = df_generate((uint32_t)(first_seed + i), draw());
		char *text = df_program_text(program);

		printf("# seed %d\n%s", first_seed + i, text);
		g_free(text);
		df_program_free(program);
	}
	return 0;
}

static int
try_adapters(const struct df_program *program)
{
	char **names = g_strsplit(adapters, ",", 0);
	int failed = 0;

	printf("1..%u\n", g_strv_length(names));
	for (unsigned i = 0; names[i] != NULL; i++) {
		struct subject subject = {.adapter = names[i]};
		bool good;

		if (!df_profile_ask(names[i], &subject.profile)) {
			printf("ok %u %s # SKIP no such adapter\n", i + 1, names[i]);
			continue;
		}
		df_quirks_add(&subject.profile, quirks);
		/* RoCE has no message for a connection that failed, and ends one without waiting for acknowledgements. */
		if (g_str_has_prefix(names[i], "roce:"))
			df_quirks_add(&subject.profile, "orderly-end,late-flush");
		if (faults && !subject.profile.faults) {
			printf("ok %u %s # SKIP not applicable: the fault door is of the emulated "
			       "adapters\n",
			       i + 1, names[i]);
			continue;
		}
		good = program != NULL ? try_one(&subject, program, program_file)
				       : try_seeds(&subject);
		failed += !good;
		if (tally)
			say_count();
		if (program != NULL)
			printf("%sok %u %s: %s\n", good ? "" : "not ", i + 1, names[i],
			       program_file);
		else
			printf("%sok %u %s: %d programs from seed %d on\n", good ? "" : "not ",
			       i + 1, names[i], programs, first_seed);
		fflush(stdout);
	}
	g_strfreev(names);
	return failed > 0 ? 1 : 0;
}

int
main(int argc, char **argv)
{
	GOptionContext *context = g_option_context_new("- random programs against the model");
	struct df_program *program = NULL;
	GError *error = NULL;
	bool good;
	int status;

	tool_output_watch();
	fabric_of_its_own();
	g_option_context_add_main_entries(context, options, NULL);
	good = g_option_context_parse(context, &argc, &argv, &error) && argc == 1;
	g_option_context_free(context);
	if (!good) {
		fprintf(stderr, "differential: %s\n",
			error != NULL ? error->message : "too many arguments");
		return 2;
	}
	if (!df_quirks_known(quirks)) {
		fprintf(stderr,
			"differential: --quirks: a word of \"%s\" is not known; there are "
			"no-errors, no-region-unlink, raises-ird, all-solicited, srq-of-zone, "
			"late-flush, no-empty-read, early-slots, orderly-end\n",
			quirks);
		return 2;
	}
	threads = CLAMP(threads, 1, MOST_THREADS);
	if (faults && threads > 1) {
		fprintf(stderr, "differential: an adapter that fails does so for all threads\n");
		return 2;
	}
	if (faults && !print_only)
		world_faults();
	if (g_getenv("ITAPI_TEST_PROGRAMS") != NULL)
		programs = MIN(programs, atoi(g_getenv("ITAPI_TEST_PROGRAMS")));
	if (print_only)
		return print_programs();
	if (program_file != NULL)
		program = read_program(program_file);
	status = try_adapters(program);
	df_program_free(program);
	return status;
}
