/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * One run of a scenario with one seed, in one process. Each thread of a node is a real thread, and exactly one of them runs: it owns
 * the baton. It passes the baton on only in sim_switch(), which draws the next thread from the seed. So no two threads ever run at
 * once, and nothing here needs a lock. Virtual time advances only when no thread can run.
 *
 * The owner of the baton may call every function. A thread outside of the simulation (sim_me is NULL) calls only sim_run(), and its
 * calls of the C library are passed through.
 */
#ifndef SIM_H
#define SIM_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "it_api.h"
#include "rnicpi_host.h"
#include "sim/sim_scenario.h"

/* --- random numbers: each purpose has a stream, so that the draws of one do not shift another's ---------------- */

struct sim_random {
	uint64_t state;
};

void sim_random_seed(struct sim_random *random, uint64_t seed, const char *purpose);
uint64_t sim_random_draw(struct sim_random *random);
/* Below a bound that is not 0. */
uint64_t sim_random_below(struct sim_random *random, uint64_t bound);

/* --- what a run leaves: in memory that the process which started it shares -------------------------------------- */

#define SIM_TEXT 16384

struct sim_result {
	bool ended; /* else the process died, or it was ended */
	bool good;
	char kind[160];      /* of the failure: equal ones are one */
	char text[SIM_TEXT]; /* the failure in full */
	char running[64];    /* the node and the call whose thread runs, for a process that dies */
	pid_t tid;           /* of the thread that has the baton; 0: it passes to another */
	uint64_t hash;       /* of all steps */
	uint64_t steps;
	uint64_t time;    /* virtual, ns */
	uint64_t reached; /* expectations about places that it came to, a bit each */
};

struct sim_options {
	uint64_t seed;
	bool trace;       /* each step, to stdout */
	const char *pcap; /* folder for captures, or NULL */
	bool output;      /* what the nodes write, to stdout */
	uint64_t steps_max;
	struct sim_result *result;
};

/* Run it; does not return. The process has one thread. */
_Noreturn void sim_run(struct sim_scenario *scenario, const struct sim_options *options);

/* --- nodes -------------------------------------------------------------------------------------------------------- */

enum sim_node_state {
	SIM_NODE_WAITS = 0, /* for its time, or another node */
	SIM_NODE_RUNS,
	SIM_NODE_DIES, /* its adapters are closed */
	SIM_NODE_ENDED
};

/* Where getopt() is in the arguments of a node. */
struct sim_words {
	int index, errors, option;
	char *argument;
};

/* sim_program.c: what is loaded for a life of a node. */
struct sim_program {
	int (*main)(int, char **, char **);
	struct link_map *map;
	bool ended; /* its destructors have run */
};

struct sim_node {
	const struct sim_node_plan *plan;
	unsigned index;
	enum sim_node_state state;
	bool killed; /* by the script: it has no exit status */
	int status;
	uint64_t ended; /* when it ended, by itself or not */
	unsigned lives;
	unsigned threads;       /* ever made in this life */
	GPtrArray *adapters;    /* it_ia_handle_t that are open */
	GPtrArray *queue_pairs; /* struct ibv_qp that a program of verbs has */
	GArray *doors;          /* int: the sockets of its adapters that take faults */
	struct sim_program program;
	struct sim_words words;
	FILE *output, *errors;
	GString *line[2]; /* begun lines of both */
	GPtrArray *lines; /* all complete ones of stdout */
	char *complaint;  /* the last line of stderr */
	uint64_t paused;  /* until then */
	uint64_t slow;    /* factor */
	struct sim_random random;
	struct kal_capture *capture; /* begun with its first frame */
};

struct sim_node *sim_node_of(unsigned index);
/* Each node; in order. */
unsigned sim_node_count(void);
/* Can the program of each node be read? Before the first process of a seed. */
bool sim_nodes_check(const struct sim_scenario *scenario, GError **error);
void sim_nodes_make(const struct sim_scenario *scenario, uint64_t seed);
/* Load a fresh copy of its program and start its main(). */
void sim_node_start(struct sim_node *node);
/* The program ends, by itself or not: its threads never run application code again, and its adapters are closed. */
void sim_node_end(struct sim_node *node, int status, bool killed);
/* sim_node_end() for the node of the calling thread; does not return. */
_Noreturn void sim_node_exit(int status);
/* What a process does at its end, on the thread that ends it: handlers of atexit(), destructors, and what files have buffered. */
void sim_process_over(void);
/* What a thread does at its end: destructors of what is its own. */
void sim_locals_over(void);
/* A fresh copy of its program. */
void sim_program_load(struct sim_node *node);
/* Constructors and main(), by the first thread of the node. */
int sim_program_run(const struct sim_program *program, int count, char **arguments,
		    char **environment);
/* Its destructors. */
void sim_program_end(struct sim_program *program);
/* Fill in @NODE. */
char *sim_node_address(unsigned index);
/* A thread of the node gets the baton: stdout, stderr and the variables of getopt() are the node's from here on. */
void sim_node_streams(struct sim_node *node);
/* stdout and stderr lead to the node that writes, whichever that is; for libraries that keep them. */
void sim_node_streams_shared(void);
/* What nodes have printed leaves this process, which ends. */
void sim_node_streams_end(void);
/* The first thread of a life begins: its folder and mask are those in which it-sim was started, and its own from here on. */
void sim_node_enter(void);
/* Octets that the node writes past stdio. */
void sim_node_write(struct sim_node *node, int fd, const char *octets, size_t len);
void sim_node_adapter_opened(struct sim_node *node, it_ia_handle_t ia);
void sim_node_adapter_closed(struct sim_node *node, it_ia_handle_t ia);

/* --- threads and the baton ---------------------------------------------------------------------------------------- */

enum sim_thread_state {
	SIM_READY = 0,
	SIM_BLOCKED,
	SIM_FROZEN, /* of a node that has ended */
	SIM_OVER
};

struct sim_thread {
	struct sim_thread *next;
	struct sim_node *node; /* NULL: the adapters' own */
	unsigned number;       /* in its node, from 1 */
	unsigned life;         /* of its node */
	bool reaper;           /* closes the adapters of a node that has ended */
	pthread_t real;
	pid_t tid;
	uint32_t turn; /* 1: it owns the baton; a futex */
	enum sim_thread_state state;
	unsigned depth;   /* in calls of the library */
	const char *call; /* of the library, or of the C library */
	/* While it is blocked: */
	const char *wait;
	uint64_t since, deadline;
	bool (*ready)(void *arg);
	void *arg;
	char detail[64]; /* what it waits for, in words; may be empty */
	/* It polls and finds nothing; it does not run again before something has happened. */
	bool idle;
	uint64_t idle_seen;
	unsigned looks;      /* at a clock since another call */
	uint64_t not_before; /* a slow node, or no processor */
	uint64_t on_time;    /* until then it gets one */
	void *(*body)(void *);
	void *body_arg;
	void *value;              /* of its end */
	bool returned;            /* body has returned or the thread has called pthread_exit */
	bool alone;               /* it was detached, or joined: nobody may join it */
	struct sim_local *locals; /* the last first */
};

extern _Thread_local struct sim_thread *sim_me;

/* A thread that waits for its first turn; a stack of so many octets, 0: as usual. NULL: no resources. */
struct sim_thread *sim_thread_new(struct sim_node *node, void *(*body)(void *), void *arg,
				  size_t stack);
/* All, newest first. */
struct sim_thread *sim_threads(void);
/* Block until ready(arg) or the deadline (RI_NEVER: none). False: the deadline came first. */
bool sim_block(const char *wait, bool (*ready)(void *arg), void *arg, uint64_t deadline);
/* Another thread may run now; this one can go on, too. */
void sim_yield(const char *why);
/* This thread has looked and found nothing: others first, and then time. */
void sim_idle(const char *why);
/* A call of the application begins: sometimes another thread runs first. Ends it if its node has ended. */
void sim_chance(const char *call);
/* Before a call that often follows an empty poll, such as arming or locking: with "chaos legal" other threads sometimes run in between. */
void sim_hesitate(const char *call);
/* A call of the library begins and ends. */
void sim_enter(const char *call);
void sim_leave(void);
/* Is the calling thread one of a node, in code of the application? */
bool sim_applies(void);
/* The thread never runs again. */
_Noreturn void sim_thread_over(void);

uint64_t sim_now(void);
/* sim_now() for a program that reads a clock; the read takes virtual time. */
uint64_t sim_now_read(void);
/* A program has looked at a clock; a program that does nothing else polls, perhaps for what another thread or a peer writes. */
void sim_looked(const char *call);
/* Something has happened that a program waits for. */
void sim_progress(void);
/* For draws that are no schedule, such as whom a signal wakes. */
struct sim_random *sim_faults(void);

/* One line to stdout that is no node's. */
void sim_trace_line(const char *text);
/* One line of the trace, and of the hash. */
void sim_note(const struct sim_thread *thread, const char *what, const char *detail);

/* Before all else. */
void sim_end_begin(struct sim_scenario *scenario, const struct sim_options *options);

/* --- how a run ends ---------------------------------------------------------------------------------------------------- */

_Noreturn void sim_fail(const char *kind, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* No thread will do any more: the same, and another kind if all is healed and progress is expected. */
_Noreturn void sim_stuck(const char *kind, const char *text);
/* A call that is not simulated. */
_Noreturn void sim_refuse(const char *call);
/* All that has to end has ended: look at what is expected. */
_Noreturn void sim_finish(void);
/* Lines that say what each thread waits for. */
char *sim_who_waits(void);
const struct sim_options *sim_options(void);
struct sim_scenario *sim_scenario(void);

/* --- the script --------------------------------------------------------------------------------------------------------- */

void sim_script_begin(void);
/* A step that the run itself has added. */
void sim_script_add(const struct sim_step_plan *step);
/* Do what is due; true: something was. */
bool sim_script_do(void);
/* When the next step is due; RI_NEVER. */
uint64_t sim_script_next(void);
void sim_script_node_ended(const struct sim_node *node);
/* News of a message of a node. */
struct sim_message {
	uint64_t number;
	bool write; /* it is placed in parts; others are when they arrive */
	uint32_t placed, length;
};
void sim_script_message(const struct sim_node *sender, const struct sim_message *message);
/* Have all steps been done, and are all paths open? *since: when that began. */
bool sim_script_settled(uint64_t *since);
/* Give an adapter that was opened what holds of its paths. Returns how often that has changed meanwhile. */
uint64_t sim_script_paths(struct sim_node *node, int door);
/* Does a node wait to be started, or restarted? */
bool sim_script_will_start(void);

/* --- calls of test programs ------------------------------------------------------------------------------------------------ */

/* Do the properties hold that programs have stated? Else the run ends. */
void sim_test_check(void);

/* --- programs of verbs and sockets ------------------------------------------------------------------------------------------ */

/* Before the first process of a seed: what programs of libibverbs need. False: the error says which program cannot run. */
bool sim_verbs_prepare(const struct sim_scenario *scenario, GError **error);
/* The calling thread, of a node or (NULL) of the adapters, begins or ends. */
void sim_verbs_thread(const struct sim_node *node, bool begins);
/* What the kernel does at the end of a process: its queue pairs are destroyed, its sockets closed. */
void sim_verbs_end(struct sim_node *node);
void sim_sockets_end(const struct sim_node *node);
/* Its timers fire no more. */
void sim_clocks_end(const struct sim_node *node);

/* --- the host of the library ---------------------------------------------------------------------------------------------- */

extern struct ri_host sim_host; /* fixed once threads run */
/* sim_pcap.c: ri_host::capture. */
void sim_pcap_put(void *unused, const struct ri_captured *what);
/* Before its first use. */
void sim_host_prepare(void);
/* Make its service thread. */
void sim_host_begin(void);
uint64_t sim_host_next_timer(void);

/* --- faults -------------------------------------------------------------------------------------------------------------------- */

/* Before the first seed: are the commands of faults ones that adapters know? False: the error names the line. */
bool sim_doors_check(const struct sim_scenario *scenario, const char *file, GError **error);
/* Before any thread: adapters will ask for a tester. */
void sim_doors_begin(void);
/* An adapter was opened by the node: take its call, give it the faults that hold from the begin. */
void sim_doors_opened(struct sim_node *node);
/* Handle the reports of the adapters. */
void sim_doors_look(void);
/* Give a command to one adapter, and wait until it is done. */
void sim_doors_ask(struct sim_node *node, int door, const char *command);
/* Give a command to all adapters of the node. */
void sim_doors_command(struct sim_node *node, const char *command);

#endif /* SIM_H */
