/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The cases of it-certify-cases. Those of one topic share a process, until one of them ends it: by an expectation that
 * does not hold, by a crash, or by its time limit. Then the next process begins with the case behind it.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cert_case.h"
#include "../cert_record.h"
#include "certify_child.h"
#include "certify_run.h"

/* The words of a record. */
static char **
words_of(const char *line)
{
	char **words = g_strsplit(line, "\t", -1);

	for (char **word = words; *word != NULL; word++) {
		char *plain = g_strcompress(*word);

		g_free(*word);
		*word = plain;
	}
	return words;
}

/* The command: the program with what all its runs have. */
static GPtrArray *
command_of(const struct certify_run *run)
{
	GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);

	g_ptr_array_add(argv, g_strdup(run->cases));
	if (run->provider != NULL)
		g_ptr_array_add(argv, g_strdup_printf("--provider=%s", run->provider));
	else if (run->installed != NULL)
		g_ptr_array_add(argv, g_strdup_printf("--installed=%s", run->installed));
	if (run->adapter != NULL)
		g_ptr_array_add(argv, g_strdup_printf("--adapter=%s", run->adapter));
	g_ptr_array_add(argv, g_strdup_printf("--seed=%" G_GINT64_FORMAT, (gint64)run->seed));
	g_ptr_array_add(argv, g_strdup_printf("--patience=%.3f", run->patience));
	g_ptr_array_add(argv, g_strdup_printf("--duration=%.3f", run->duration));
	g_ptr_array_add(argv, g_strdup("--fd=3"));
	return argv;
}

static bool
command_run(const struct certify_run *run, GPtrArray *argv, struct certify_child *child,
	    GError **error)
{
	g_ptr_array_add(argv, NULL);
	child->argv = (char *const *)argv->pdata;
	child->environment = run->environment;
	return certify_child_run(child, error);
}

/* --- the list -------------------------------------------------------------------------------- */

static void
list_line(struct certify_child *child, const char *line)
{
	struct certify_run *run = child->self;
	g_auto(GStrv) words = words_of(line);
	g_autofree char *name = g_strndup(words[0], strcspn(words[0], "."));
	enum certify_level level = certify_level_of(name);
	struct certify_case *one;

	if (g_strv_length(words) != 7 || level == CERTIFY_LEVELS)
		return;
	if (!certify_wanted(run, words[0], level, (unsigned)atoi(words[5])))
		return;
	one = certify_case_add(run->report, words[0], level);
	one->title = g_strdup(words[1]);
	one->rule = g_strdup(words[2]);
	one->settles = g_strdup(words[4]);
	one->flags = (unsigned)atoi(words[5]);
	one->seconds = (unsigned)atoi(words[6]);
}

bool
certify_cases_list(struct certify_run *run, GError **error)
{
	g_autoptr(GPtrArray) argv = command_of(run);
	struct certify_child child = {.line = list_line, .self = run, .limit_us = CERTIFY_LIST_US};
	g_autofree char *fault = NULL;
	bool good;

	g_ptr_array_add(argv, g_strdup("--list"));
	good = command_run(run, argv, &child, error);
	fault = good ? certify_child_fault(&child) : NULL;
	if (fault != NULL)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s: %s", run->cases, fault);
	certify_child_clear(&child);
	return good && fault == NULL;
}

/* --- the profile ----------------------------------------------------------------------------- */

/* What loading the provider has told. */
struct loading {
	struct certify_run *run;
	char **failure;
};

static void
profile_line(struct certify_child *child, const char *line)
{
	struct loading *loading = child->self;
	struct certify_run *run = loading->run;
	g_auto(GStrv) words = words_of(line);
	guint count = g_strv_length(words);

	if (strcmp(words[0], CERT_RECORD_ADAPTER) == 0 && count == 3) {
		certify_fact_add(run->report, words[1], words[2]);
		if (strcmp(words[1], "adapter") == 0 && run->adapter == NULL)
			run->adapter = g_strdup(words[2]);
	} else if (strcmp(words[0], CERT_RECORD_CLAIM) == 0 && count == 4) {
		certify_claim_add(run->report, words[1], words[2], strcmp(words[3], "text") == 0);
	} else if (strcmp(words[0], CERT_RECORD_FAIL) == 0 && count == 5 &&
		   loading->failure == NULL) {
		loading->failure = g_steal_pointer(&words);
	}
}

bool
certify_cases_profile(struct certify_run *run, GError **error)
{
	g_autoptr(GPtrArray) argv = command_of(run);
	struct loading loading = {.run = run};
	struct certify_child child = {.line = profile_line,
				      .self = &loading,
				      .limit_us = (gint64)run->limit * G_USEC_PER_SEC};
	g_autofree char *fault = NULL, *output = NULL;
	bool good;

	g_ptr_array_add(argv, g_strdup("--profile"));
	good = command_run(run, argv, &child, error);
	fault = good ? certify_child_fault(&child) : NULL;
	if (fault != NULL) {
		struct certify_case *one = certify_case_find(run->report, "border.load.0001");
		const char *told[] = {"loading", "loading the provider, and opening the adapter",
				      "the provider is taken over and opens it", fault};

		output = certify_child_output(&child);
		if (one == NULL)
			one = certify_case_add(run->report, "border.load.0001", CERTIFY_BORDER);
		certify_case_end_failed(
			run, one,
			loading.failure != NULL ? (const char *const *)loading.failure + 1 : told,
			output);
	}
	g_strfreev(loading.failure);
	certify_child_clear(&child);
	return good && fault == NULL;
}

/* --- the cases ------------------------------------------------------------------------------- */

/* The cases of a topic that have not run yet, and what the process says of the first of them. */
struct topic {
	struct certify_run *run;
	GPtrArray *cases; /* struct certify_case */
	guint next;       /* begun, or to be begun */
	bool begun;
	gint64 began_us;
	char **failure;
	char **reason; /* of a skip, or that it does not apply */
};

static void
told_clear(struct topic *topic)
{
	g_clear_pointer(&topic->failure, g_strfreev);
	g_clear_pointer(&topic->reason, g_strfreev);
	topic->begun = false;
}

/* The case has ended, well or not. */
static struct certify_case *
case_over(struct topic *topic)
{
	struct certify_case *one = g_ptr_array_index(topic->cases, topic->next);

	if (topic->begun)
		one->took = (double)(g_get_monotonic_time() - topic->began_us) / G_USEC_PER_SEC;
	topic->next++;
	return one;
}

static void
case_returned(struct topic *topic)
{
	struct certify_case *one = case_over(topic);
	enum certify_outcome outcome = CERTIFY_PASSED;

	if (topic->reason != NULL)
		outcome = strcmp(topic->reason[0], CERT_RECORD_NONE) == 0 ? CERTIFY_ABSENT
									  : CERTIFY_SKIPPED;
	certify_case_end(topic->run, one, outcome, topic->reason != NULL ? topic->reason[1] : NULL);
	told_clear(topic);
}

static void
topic_line(struct certify_child *child, const char *line)
{
	struct topic *topic = child->self;
	g_auto(GStrv) words = words_of(line);
	guint count = g_strv_length(words);
	bool begun = topic->begun;

	if (topic->next >= topic->cases->len)
		return;
	if (strcmp(words[0], CERT_RECORD_BEGIN) == 0) {
		struct certify_case *one = g_ptr_array_index(topic->cases, topic->next);

		topic->begun = true;
		topic->began_us = g_get_monotonic_time();
		certify_progress(topic->run, one);
		child->progress = true;
		g_string_truncate(child->output, 0);
	} else if (strcmp(words[0], CERT_RECORD_END) == 0 && begun) {
		case_returned(topic);
		child->progress = true;
	} else if (strcmp(words[0], CERT_RECORD_FAIL) == 0 && count == 5) {
		g_strfreev(topic->failure);
		topic->failure = g_steal_pointer(&words);
	} else if ((strcmp(words[0], CERT_RECORD_SKIP) == 0 ||
		    strcmp(words[0], CERT_RECORD_NONE) == 0) &&
		   count == 2) {
		g_strfreev(topic->reason);
		topic->reason = g_steal_pointer(&words);
	} else if (strcmp(words[0], CERT_RECORD_NOTE) == 0 && count == 2) {
		g_string_append_printf(child->output, "note: %s\n", words[1]);
	} else if (strcmp(words[0], CERT_RECORD_FIGURE) == 0 && count == 5) {
		certify_point_add(topic->run->report, words[1], words[2],
				  g_ascii_strtod(words[3], NULL), g_ascii_strtod(words[4], NULL));
	}
}

/* The process ended before its cases did, or badly after the last of them. */
static void
topic_ended(struct topic *topic, const struct certify_child *child)
{
	g_autofree char *fault = certify_child_fault(child);
	g_autofree char *output = certify_child_output(child);
	bool late = topic->next >= topic->cases->len;
	const char *told[] = {"process",
			      late ? "the end of the process after its last case"
				   : "the process of the case",
			      late ? "status 0" : "it lives until the case returns",
			      fault != NULL ? fault : "it ended with status 0"};

	if (late && fault == NULL)
		return;
	if (late)
		topic->next--;
	((struct certify_case *)g_ptr_array_index(topic->cases, topic->next))->aborted =
		topic->failure == NULL;
	certify_case_end_failed(
		topic->run, case_over(topic),
		topic->failure != NULL ? (const char *const *)topic->failure + 1 : told, output);
	told_clear(topic);
}

/* The longest limit of the cases that are left; each begins anew. */
static unsigned
limit_of(const struct topic *topic)
{
	unsigned limit = 0;

	for (guint i = topic->next; i < topic->cases->len; i++) {
		const struct certify_case *one = g_ptr_array_index(topic->cases, i);

		limit = MAX(limit, one->seconds != 0 ? one->seconds : topic->run->limit);
	}
	return limit;
}

static bool
topic_run(struct topic *topic, GError **error)
{
	while (topic->next < topic->cases->len) {
		g_autoptr(GPtrArray) argv = command_of(topic->run);
		struct certify_child child = {.line = topic_line,
					      .self = topic,
					      .limit_us = (gint64)limit_of(topic) * G_USEC_PER_SEC};
		bool good;

		for (guint i = topic->next; i < topic->cases->len; i++) {
			const struct certify_case *one = g_ptr_array_index(topic->cases, i);

			g_ptr_array_add(argv, g_strdup(one->id));
		}
		good = command_run(topic->run, argv, &child, error);
		if (good)
			topic_ended(topic, &child);
		certify_child_clear(&child);
		if (!good) {
			told_clear(topic);
			return false;
		}
	}
	return true;
}

/* Everything before the last dot. */
static bool
same_topic(const struct certify_case *a, const struct certify_case *b)
{
	size_t length = (size_t)(strrchr(a->id, '.') - a->id) + 1;

	return strncmp(a->id, b->id, length) == 0 && strchr(b->id + length, '.') == NULL;
}

bool
certify_cases_run(struct certify_run *run, enum certify_level level, GError **error)
{
	const GPtrArray *all = run->report->cases;
	bool good = true;
	guint i = 0;

	while (good && i < all->len) {
		struct topic topic = {.run = run, .cases = g_ptr_array_new()};
		struct certify_case *first = g_ptr_array_index(all, i);

		for (; i < all->len; i++) {
			struct certify_case *one = g_ptr_array_index(all, i);

			if (one->level != level || !same_topic(first, one))
				break;
			g_ptr_array_add(topic.cases, one);
		}
		good = topic_run(&topic, error);
		if (topic.cases->len == 0)
			i++;
		g_ptr_array_unref(topic.cases);
	}
	return good;
}
