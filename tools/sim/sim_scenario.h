/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Scenarios: a text that says which programs run as nodes, what happens to them and when, and how they are to end. One
 * statement a line, words as of a shell, comments from # on:
 *
 *     node NAME PROGRAM ARGUMENT... [at TIME | after NODE] [daemon]
 *     kill NODE | restart NODE | pause NODE TIME | slow NODE FACTOR [at TIME | after NODE]
 *     NODE: COMMAND [at TIME | after NODE]         a fault, in the language of ITAPI_EMUL_FAULTS
 *     expect exit NODE STATUS | expect output NODE TEXT
 *     until TIME
 *     wire TIME                                    messages take up to that long
 *     chaos legal                                  they do what the specification lets them; without "wire" in up to 100us
 *
 * TIME is a number with ns, us, ms, s or m behind it, or A..B, from which the seed draws. In arguments @NODE is the address of a
 * node.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define SIM_NODES_MAX 64
#define SIM_WIRE      UINT64_C(100000)            /* ns, of "chaos legal" without "wire" */
#define SIM_UNTIL     (UINT64_C(60) * 1000000000) /* ns of virtual time, without "until" */

/* When: at a time that is drawn between two, or that long after a node has ended. */
struct sim_when {
	uint64_t first, last; /* ns */
	int after;            /* index of a node; -1: after the begin */
};

struct sim_node_plan {
	char *name;
	char *program;
	GPtrArray *arguments; /* of char *; the first is the name */
	struct sim_when when;
	bool daemon; /* the run does not wait for its end */
	int line;
};

enum sim_deed {
	SIM_KILL,
	SIM_RESTART,
	SIM_PAUSE,
	SIM_SLOW,
	SIM_FAULT
};

struct sim_step_plan {
	enum sim_deed deed;
	unsigned node;
	struct sim_when when;
	bool timed; /* "at" or "after" is written: else a fault holds from the opening of each adapter */
	uint64_t value; /* of a pause: ns; of slow: the factor */
	char *command;  /* of a fault */
};

struct sim_expect {
	unsigned node;
	bool any;   /* any exit status will do */
	int status; /* if text is NULL */
	char *text; /* a line of output */
};

struct sim_scenario {
	GPtrArray *nodes;   /* of struct sim_node_plan */
	GPtrArray *steps;   /* of struct sim_step_plan */
	GPtrArray *expects; /* of struct sim_expect */
	uint64_t until;     /* ns */
	uint64_t wire;      /* ns that a message takes at most; 0: none */
	bool legal;         /* adapters take their freedoms */
};

/* NULL: the error names the line. Programs are found from the folder of the scenario. */
struct sim_scenario *sim_scenario_read(const char *path, GError **error);
struct sim_scenario *sim_scenario_parse(const char *path, const char *text, GError **error);
void sim_scenario_free(struct sim_scenario *scenario);

#endif /* SIM_SCENARIO_H */
