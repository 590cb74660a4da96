/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Runs many seeds of one scenario, each in a process of its own, and collects the results. */
#ifndef SIM_SWEEP_H
#define SIM_SWEEP_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/sim_scenario.h"

struct sim_sweep_options {
	const char *path; /* of the scenario */
	uint64_t first, last;
	unsigned jobs;
	bool twice, trace, output;
	const char *pcap;   /* folder, or NULL */
	unsigned patience;  /* s of a processor for a seed */
	uint64_t steps_max; /* of a seed */
};

/* Failures that are alike. */
struct sim_failure {
	char *kind;
	char *text;     /* of the first seed */
	uint64_t first; /* the lowest seed */
	uint64_t count;
};

struct sim_sweep {
	uint64_t seeds, good;
	uint64_t steps, time; /* sums */
	uint64_t hash;        /* of the hashes of all seeds, in their order */
	uint64_t reached;     /* sim_result::reached of all */
	GPtrArray *failures;  /* of struct sim_failure, by their first seed */
};

/* False: the error says why no process could be started. */
bool sim_sweep_run(struct sim_scenario *scenario, const struct sim_sweep_options *options,
		   struct sim_sweep *sweep, GError **error);
void sim_sweep_clear(struct sim_sweep *sweep);

/* sim_shrink.c: the scenario with fewer statements that fails for the same seed in the same way. */
struct sim_shrunk {
	char *kind;   /* of the failure; NULL: the seed is good */
	char *text;   /* the scenario that is left */
	guint before; /* statements of what happens in a run */
	guint after;
	uint64_t runs;
};

bool sim_shrink(struct sim_scenario *scenario, const struct sim_sweep_options *options,
		struct sim_shrunk *shrunk, GError **error);
void sim_shrunk_clear(struct sim_shrunk *shrunk);

/* Results: for people, as JSON, as JUnit's XML. */
void sim_report_print(const struct sim_sweep_options *options, const struct sim_sweep *sweep);
void sim_report_json(const struct sim_sweep_options *options, const struct sim_sweep *sweep);
bool sim_report_junit(const struct sim_sweep_options *options, const struct sim_sweep *sweep,
		      const char *file, GError **error);

#endif /* SIM_SWEEP_H */
