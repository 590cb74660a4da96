/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Shrinking by delta debugging: leave out sequences of steps, long ones first, as long as the rest still fails; then
 * simplify the remaining steps. Any sequence of steps is a valid program, for which the model predicts the results,
 * so the rest needs no repair.
 */
#include "df_shrink.h"

struct shrink {
	struct df_program *best;
	df_shrink_test test;
	void *arg;
	bool better; /* a step was left out in this round */
};

/* Use the candidate if it still fails. */
static bool
offer(struct shrink *shrink, struct df_program *candidate)
{
	if (!shrink->test(candidate, shrink->arg)) {
		df_program_free(candidate);
		return false;
	}
	df_program_free(shrink->best);
	shrink->best = candidate;
	shrink->better = true;
	return true;
}

static void
shorten(struct shrink *shrink)
{
	for (unsigned run = shrink->best->steps->len / 2; run > 0; run /= 2) {
		/* From the end: later steps depend on earlier ones. */
		for (unsigned end = shrink->best->steps->len; end > 0;) {
			unsigned from = end > run ? end - run : 0;
			struct df_program *candidate = df_program_copy(shrink->best);

			g_array_remove_range(candidate->steps, from, end - from);
			(void)offer(shrink, candidate);
			end = from;
		}
	}
}

/* The step with its n-th simplification; false: there are no more. */
static bool
simpler(struct df_step *step, int n)
{
	if (n < DF_SEGS) {
		for (int i = n; i + 1 < step->segs; i++)
			step->seg[i] = step->seg[i + 1];
		if (n < step->segs)
			step->segs--;
		return true;
	}
	n -= DF_SEGS;
	if (n < 8) {
		step->flags &= ~(1 << n);
		return true;
	}
	n -= 8;
	if (n > DF_SEGS)
		return false;
	if (n == DF_SEGS) {
		step->srq = 0;
	} else if (n < step->segs) {
		step->seg[n].off = 0;
		step->seg[n].len = MIN(step->seg[n].len, 8);
	}
	return true;
}

static bool
same(const struct df_step *a, const struct df_step *b)
{
	char *first = df_step_text(a), *second = df_step_text(b);
	bool equal = g_str_equal(first, second);

	g_free(first);
	g_free(second);
	return equal;
}

static void
simplify(struct shrink *shrink, unsigned i)
{
	for (int n = 0;; n++) {
		struct df_step step = *df_program_step(shrink->best, i);
		struct df_program *candidate;

		if (!simpler(&step, n))
			return;
		if (same(&step, df_program_step(shrink->best, i)))
			continue;
		candidate = df_program_copy(shrink->best);
		*df_program_step(candidate, i) = step;
		(void)offer(shrink, candidate);
	}
}

struct df_program *
df_shrink(const struct df_program *program, df_shrink_test test, void *arg)
{
	struct shrink shrink = {.best = df_program_copy(program), .test = test, .arg = arg};

	do {
		shrink.better = false;
		shorten(&shrink);
		for (unsigned i = 0; i < shrink.best->steps->len; i++)
			simplify(&shrink, i);
	} while (shrink.better);
	return shrink.best;
}
