/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Scenarios: a text that says which programs run as nodes, what happens to them and when, and how they are to end. One
 * statement a line, words as of a shell, comments from # on:
 *
 *     node NAME PROGRAM ARGUMENT... [at TIME | after NODE] [daemon]
 *     kill NODE | restart NODE | pause NODE TIME | slow NODE FACTOR   [WHEN]
 *     cut A B [for TIME] | hold A B [for TIME]     messages between two nodes are lost, or wait
 *     delay A B MIN..MAX | drop A B PERCENT        they take longer; datagrams are lost
 *     heal [A B]                                   what the two lines above do is over
 *     NODE: COMMAND [WHEN]                         a fault, in the language of ITAPI_EMUL_FAULTS
 *     expect exit NODE STATUS | expect output NODE TEXT | expect reached NAME | expect progress TIME
 *     until TIME
 *     wire TIME                                    messages take up to that long
 *     chaos legal                                  they do what the specification lets them; without "wire" in up to 100us
 *
 * WHEN is one of: at TIME; after NODE; at message N [of NODE], when the Nth message of the node is placed; inside message N [of
 * NODE], when a part of it is. TIME is a number with ns, us, ms, s or m behind it, or A..B, from which the seed draws. In arguments @NODE is the address of a
 * node.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define SIM_NODES_MAX   64
#define SIM_REACHED_MAX 64                          /* expectations, if one is about a place */
#define SIM_WIRE        UINT64_C(100000)            /* ns, of "chaos legal" without "wire" */
#define SIM_UNTIL       (UINT64_C(60) * 1000000000) /* ns of virtual time, without "until" */

/* When: at a time that is drawn between two, or when a node has ended, or has sent a message. */
struct sim_when {
	uint64_t first, last; /* ns, or numbers of messages */
	int after;            /* index of a node; -1: after the begin */
	int sender;           /* index of the node whose message it is; -1: it is a time */
	bool inside;          /* when a part of the message is placed; else all of it */
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
	SIM_CUT,
	SIM_HOLD,
	SIM_DELAY,
	SIM_DROP,
	SIM_HEAL,
	SIM_FAULT
};

struct sim_step_plan {
	enum sim_deed deed;
	unsigned node;
	int other; /* of a path: the other end; -1: all paths, or it is about none */
	struct sim_when when;
	bool timed; /* "at" or "after" is written: else a fault holds from the opening of each adapter */
	uint64_t
		value; /* pause, cut, hold: ns; slow: the factor; delay: the least, in ns; drop: percent */
	uint64_t most; /* delay: ns */
	char *command; /* of a fault */
	int line;
};

struct sim_expect {
	unsigned node;
	bool any;      /* any exit status will do */
	int status;    /* if text is NULL */
	char *text;    /* a line of output */
	char *reached; /* a place that some seed has to come to */
};

struct sim_scenario {
	GPtrArray *nodes;   /* of struct sim_node_plan */
	GPtrArray *steps;   /* of struct sim_step_plan */
	GPtrArray *expects; /* of struct sim_expect */
	uint64_t until;     /* ns */
	uint64_t wire;      /* ns that a message takes at most; 0: none */
	bool legal;         /* adapters take their freedoms */
	bool triggers;      /* a step waits for a message */
	bool paths;         /* there are statements about paths */
	uint64_t
		progress; /* ns; when all is healed, something has to happen in each; 0: it need not */
	char *folder;     /* from which programs are found */
};

/* NULL: the error names the line. Programs are found from the folder of the scenario. */
struct sim_scenario *sim_scenario_read(const char *path, GError **error);
struct sim_scenario *sim_scenario_parse(const char *path, const char *text, GError **error);
void sim_scenario_free(struct sim_scenario *scenario);
/* One more step; NULL: the error says why not. It belongs to the scenario. */
const struct sim_step_plan *sim_scenario_add(struct sim_scenario *scenario, const char *line,
					     GError **error);
/* What the seed draws for a time of the statement in that line. */
uint64_t sim_scenario_draw(const struct sim_when *when, int line, uint64_t seed);
/* sim_text.c: as statements, a line each, in which the seed has nothing left to draw. */
GPtrArray *sim_scenario_lines(const struct sim_scenario *scenario, uint64_t seed);

#endif /* SIM_SCENARIO_H */
