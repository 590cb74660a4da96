/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Figures of many measured times, in memory that does not grow with them. Smallest, largest and mean
 * are exact; a percentile is at most 1/128 above the true one.
 */
#ifndef TOOL_FIGURES_H
#define TOOL_FIGURES_H

#include <json-glib/json-glib.h>
#include <stdint.h>

/* Times below 2^TOOL_FIGURES_TOP ns (73 minutes) have rows of their own; longer ones are counted together. */
#define TOOL_FIGURES_SHIFT   7
#define TOOL_FIGURES_TOP     42
#define TOOL_FIGURES_BUCKETS ((TOOL_FIGURES_TOP - TOOL_FIGURES_SHIFT + 1) << TOOL_FIGURES_SHIFT)

/* All zero before the first. */
struct tool_figures {
	uint64_t count;
	uint64_t min; /* ns */
	uint64_t max;
	double sum;
	uint64_t buckets[TOOL_FIGURES_BUCKETS];
};

uint64_t tool_now(void); /* ns, monotonic */

void tool_figures_add(struct tool_figures *figures, uint64_t ns);
void tool_figures_merge(struct tool_figures *into, const struct tool_figures *from);

double tool_figures_mean(const struct tool_figures *figures); /* us; 0 if there are none */

/* The time (us) that a part (0 to 1) of them does not exceed; 0 if there are none. */
double tool_figures_percentile(const struct tool_figures *figures, double part);

/* "min 85, median 92, mean 93.1, 90% 120, 99% 200, 99.9% 300, max 310" in us; g_free() it. */
char *tool_figures_text(const struct tool_figures *figures);

/* Members min_us, mean_us, p50_us (the median), p90_us, p99_us, p99_9_us and max_us. */
void tool_figures_json(const struct tool_figures *figures, JsonBuilder *json);

#endif /* TOOL_FIGURES_H */
