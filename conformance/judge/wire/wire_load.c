/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The resources of the helper's process: descriptors, memory, processor time. A stack may free those of a connection some
 * time after its end, so a step waits until a bound holds.
 */

#include <string.h>

#include "wire_run.h"

#define LOOK_US   (20 * 1000)
#define REST_US   (400 * 1000)
#define REST_PART 10 /* an idle process uses less than this part of the time */

static const char *const kinds[] = {"descriptors", "memory", "processor"};

/* Ask for all of them. */
static gboolean
load_ask(struct wire_run *run, guint64 *used, GError **error)
{
	g_auto(GStrv) answer = wire_peer_ask(run->session->peer, error, "load");

	for (guint i = 0; answer != NULL && i < G_N_ELEMENTS(kinds); i++) {
		const char *value = wire_word_value(answer, kinds[i]);

		used[i] = value != NULL ? g_ascii_strtoull(value, NULL, 10) : 0;
	}
	return answer != NULL;
}

gboolean
wire_load_step(struct wire_run *run, char *const *words, GError **error)
{
	guint64 used[G_N_ELEMENTS(kinds)];
	guint64 within;
	gint64 deadline;
	int wrong = -1;

	if (!wire_run_number(run, words, "within", (guint64)run->session->patience_us / 1000,
			     &within, error))
		return FALSE;
	deadline = g_get_monotonic_time() + (gint64)within * 1000;
	for (;;) {
		if (!load_ask(run, used, error))
			return FALSE;
		wrong = -1; /* or the first kind that is not within the bound of the step */
		for (guint i = 0; i < G_N_ELEMENTS(kinds) && wrong < 0; i++) {
			const char *wanted = wire_word_value(words, kinds[i]);
			gboolean fits = TRUE;

			if (wanted != NULL && !wire_run_fits(run, wanted, used[i], &fits, error))
				return FALSE;
			wrong = fits ? -1 : (int)i;
		}
		if (wrong < 0)
			break;
		if (g_get_monotonic_time() > deadline)
			return wire_fail(
				error, WIRE_ERROR_VERDICT,
				"the peer's process uses %" G_GUINT64_FORMAT " of %s, expected %s",
				used[wrong], kinds[wrong], wire_word_value(words, kinds[wrong]));
		g_usleep(LOOK_US);
	}
	/* Without bounds, the step stores the values for later steps. */
	for (guint i = 0; words[2] == NULL && i < G_N_ELEMENTS(kinds); i++)
		wire_run_name(run, "load", kinds[i], used[i]);
	return TRUE;
}

gboolean
wire_idle_step(struct wire_run *run, GError **error)
{
	gint64 deadline = wire_run_deadline(run);
	guint64 before[G_N_ELEMENTS(kinds)];
	guint64 after[G_N_ELEMENTS(kinds)];

	do {
		if (!load_ask(run, before, error))
			return FALSE;
		g_usleep(REST_US);
		if (!load_ask(run, after, error))
			return FALSE;
		if ((after[2] - before[2]) * 1000 < REST_US / REST_PART)
			return TRUE;
	} while (g_get_monotonic_time() < deadline);
	return wire_fail(error, WIRE_ERROR_VERDICT,
			 "the peer's process does not come to rest: %" G_GUINT64_FORMAT
			 " ms of processor time in %u ms",
			 after[2] - before[2], REST_US / 1000);
}
