/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Buckets as wide as the time is long: each power of two has 2^SHIFT of them. The first 2^SHIFT hold
 * one value each.
 */

#include <time.h>

#include "tool_figures.h"
#include "tool_json.h"

#define PER_OCTAVE (UINT64_C(1) << TOOL_FIGURES_SHIFT)

static const struct {
	const char *name;
	const char *member;
	double part;
} percentiles[] = {
	{"90%", "p90_us", 0.9},
	{"99%", "p99_us", 0.99},
	{"99.9%", "p99_9_us", 0.999},
};

uint64_t
tool_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* By how much a value is shifted so that it falls into the upper half of one octave's numbers. */
static unsigned
shift_of(uint64_t ns)
{
	return ns < PER_OCTAVE ? 0 : 63 - (unsigned)__builtin_clzll(ns) - TOOL_FIGURES_SHIFT;
}

static size_t
bucket_of(uint64_t ns)
{
	uint64_t value = MIN(ns, (UINT64_C(1) << TOOL_FIGURES_TOP) - 1);
	unsigned shift = shift_of(value);

	return (size_t)(((uint64_t)shift << TOOL_FIGURES_SHIFT) + (value >> shift));
}

/* The largest value of a bucket. */
static uint64_t
top_of(size_t bucket)
{
	unsigned shift;

	if (bucket < 2 * PER_OCTAVE)
		return bucket;
	shift = (unsigned)(bucket >> TOOL_FIGURES_SHIFT) - 1;
	return ((bucket - ((uint64_t)shift << TOOL_FIGURES_SHIFT) + 1) << shift) - 1;
}

void
tool_figures_add(struct tool_figures *figures, uint64_t ns)
{
	figures->min = figures->count == 0 ? ns : MIN(figures->min, ns);
	figures->max = MAX(figures->max, ns);
	figures->sum += (double)ns;
	figures->count++;
	figures->buckets[bucket_of(ns)]++;
}

void
tool_figures_merge(struct tool_figures *into, const struct tool_figures *from)
{
	if (from->count == 0)
		return;
	into->min = into->count == 0 ? from->min : MIN(into->min, from->min);
	into->max = MAX(into->max, from->max);
	into->sum += from->sum;
	into->count += from->count;
	for (size_t i = 0; i < TOOL_FIGURES_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
}

double
tool_figures_mean(const struct tool_figures *figures)
{
	return figures->count == 0 ? 0 : figures->sum / (double)figures->count / 1e3;
}

double
tool_figures_percentile(const struct tool_figures *figures, double part)
{
	double rank = part * (double)figures->count;
	uint64_t seen = 0;

	for (size_t i = 0; i < TOOL_FIGURES_BUCKETS && figures->count > 0; i++) {
		seen += figures->buckets[i];
		if (seen > 0 && (double)seen >= rank)
			return (double)CLAMP(top_of(i), figures->min, figures->max) / 1e3;
	}
	return (double)figures->max / 1e3;
}

char *
tool_figures_text(const struct tool_figures *figures)
{
	GString *text = g_string_new(NULL);

	g_string_append_printf(text, "min %.0f, median %.0f, mean %.1f", (double)figures->min / 1e3,
			       tool_figures_percentile(figures, 0.5), tool_figures_mean(figures));
	for (size_t i = 0; i < G_N_ELEMENTS(percentiles); i++)
		g_string_append_printf(text, ", %s %.0f", percentiles[i].name,
				       tool_figures_percentile(figures, percentiles[i].part));
	g_string_append_printf(text, ", max %.0f", (double)figures->max / 1e3);
	return g_string_free(text, FALSE);
}

void
tool_figures_json(const struct tool_figures *figures, JsonBuilder *json)
{
	tool_json_number(json, "min_us", (double)figures->min / 1e3);
	tool_json_number(json, "mean_us", tool_figures_mean(figures));
	tool_json_number(json, "p50_us", tool_figures_percentile(figures, 0.5));
	for (size_t i = 0; i < G_N_ELEMENTS(percentiles); i++)
		tool_json_number(json, percentiles[i].member,
				 tool_figures_percentile(figures, percentiles[i].part));
	tool_json_number(json, "max_us", (double)figures->max / 1e3);
}
