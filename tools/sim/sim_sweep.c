/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "sim/sim_sweep.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_real.h"
#include "tool_error.h"

/* A process under way. */
struct slot {
	pid_t pid; /* 0: none */
	uint64_t seed;
	bool again;                /* the second run of --twice */
	struct sim_result *result; /* shared with it */
	struct sim_result before;  /* of the first run */
};

/* What is known of one seed, to add up in the order of seeds. */
struct outcome {
	bool good;
	uint64_t hash;
};

struct run {
	struct sim_scenario *scenario;
	const struct sim_sweep_options *options;
	struct sim_sweep *sweep;
	struct slot *slots;
	struct outcome *outcomes;
	uint64_t next;
};

static gint
by_first(gconstpointer a, gconstpointer b)
{
	const struct sim_failure *one = *(const struct sim_failure *const *)a,
				 *other = *(const struct sim_failure *const *)b;

	return one->first < other->first ? -1 : one->first > other->first;
}

static void
add_failure(struct sim_sweep *sweep, uint64_t seed, const struct sim_result *result)
{
	struct sim_failure *failure = NULL;

	for (guint i = 0; i < sweep->failures->len && failure == NULL; i++) {
		struct sim_failure *one = g_ptr_array_index(sweep->failures, i);

		if (strcmp(one->kind, result->kind) == 0)
			failure = one;
	}
	if (failure == NULL) {
		failure = g_new0(struct sim_failure, 1);
		failure->kind = g_strdup(result->kind);
		failure->first = UINT64_MAX;
		g_ptr_array_add(sweep->failures, failure);
	}
	failure->count++;
	if (seed < failure->first) {
		failure->first = seed;
		g_free(failure->text);
		failure->text = g_strdup(result->text);
	}
}

/* A process that did not come to an end of its own. */
static void
tell_death(struct sim_result *result, int status)
{
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (result->ended)
		return;
	if (number == SIGALRM) {
		g_snprintf(result->kind, sizeof(result->kind), "hang in %s", result->running);
		g_snprintf(result->text, sizeof(result->text),
			   "%s computes, or spins, without a call that it-sim knows, at "
			   "%" G_GUINT64_FORMAT ".%06u ms",
			   result->running, result->time / 1000000,
			   (unsigned)(result->time % 1000000));
		return;
	}
	g_snprintf(result->kind, sizeof(result->kind), "crash in %s: %s", result->running,
		   number > 0 ? strsignal(number) : "it ended the process");
	g_snprintf(result->text, sizeof(result->text),
		   "crash in %s: %s, at %" G_GUINT64_FORMAT ".%06u ms", result->running,
		   number > 0 ? strsignal(number) : "it ended the process", result->time / 1000000,
		   (unsigned)(result->time % 1000000));
}

/* The scenario's own settings of the adapters. */
static void
set_wire(const struct sim_scenario *scenario)
{
	g_autofree char *us = g_strdup_printf("%" G_GUINT64_FORMAT, scenario->wire / 1000);

	g_setenv("ITAPI_EMUL_WIRE_US", us, TRUE);
	/* What is under way when a node is killed inside a message is not placed any more. */
	if (scenario->legal || scenario->triggers)
		g_setenv("ITAPI_EMUL_FREEDOMS", scenario->legal ? "all" : "lost", TRUE);
}

static bool
start(struct run *run, struct slot *slot, GError **error)
{
	struct sim_options options = {
		.seed = slot->seed,
		.trace = run->options->trace && !slot->again,
		.pcap = slot->again ? NULL : run->options->pcap,
		.output = run->options->output && !slot->again,
		.steps_max = run->options->steps_max,
		.result = slot->result,
	};

	memset(slot->result, 0, sizeof(*slot->result));
	(void)fflush(NULL);
	slot->pid = SIM_REAL(fork)();
	if (slot->pid < 0) {
		slot->pid = 0;
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "no process for seed %" G_GUINT64_FORMAT ": %s", slot->seed,
				 g_strerror(errno));
	}
	if (slot->pid == 0) {
		(void)SIM_REAL(alarm)(run->options->patience);
		set_wire(run->scenario);
		sim_run(run->scenario, &options);
	}
	return true;
}

static void
settle(struct run *run, struct slot *slot)
{
	struct sim_result *result = slot->result;
	struct sim_sweep *sweep = run->sweep;

	if (slot->again &&
	    (result->hash != slot->before.hash || strcmp(result->kind, slot->before.kind) != 0)) {
		result->good = false;
		g_strlcpy(result->kind, "two runs of one seed differ", sizeof(result->kind));
		g_snprintf(result->text, sizeof(result->text),
			   "two runs of one seed differ: %" G_GUINT64_FORMAT
			   " steps and %" G_GUINT64_FORMAT "; compare what --trace prints",
			   slot->before.steps, result->steps);
	}
	sweep->seeds++;
	sweep->good += result->good;
	sweep->steps += result->steps;
	sweep->time += result->time;
	sweep->reached |= result->reached;
	run->outcomes[slot->seed - run->options->first] =
		(struct outcome){result->good, result->hash};
	if (!result->good)
		add_failure(sweep, slot->seed, result);
}

/* A process has ended. */
static bool
reap(struct run *run, pid_t pid, int status, GError **error)
{
	for (unsigned i = 0; i < run->options->jobs; i++) {
		struct slot *slot = &run->slots[i];

		if (slot->pid != pid)
			continue;
		slot->pid = 0;
		tell_death(slot->result, status);
		if (run->options->twice && !slot->again) {
			slot->before = *slot->result;
			slot->again = true;
			return start(run, slot, error);
		}
		settle(run, slot);
	}
	return true;
}

static bool
fill(struct run *run, GError **error)
{
	for (unsigned i = 0; i < run->options->jobs && run->next <= run->options->last; i++) {
		struct slot *slot = &run->slots[i];

		if (slot->pid != 0)
			continue;
		slot->seed = run->next++;
		slot->again = false;
		if (!start(run, slot, error))
			return false;
	}
	return true;
}

static bool
sweep_all(struct run *run, GError **error)
{
	bool good = fill(run, error);

	for (;;) {
		int status = 0;
		pid_t pid = SIM_REAL(wait)(&status);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return good; /* none is left */
		good = reap(run, pid, status, good ? error : NULL) && good;
		if (good)
			good = fill(run, error);
	}
}

/* Each place that is expected has to be reached by some seed. */
static void
judge_places(struct run *run)
{
	for (guint i = 0; i < run->scenario->expects->len; i++) {
		const struct sim_expect *expect = g_ptr_array_index(run->scenario->expects, i);
		struct sim_result result = {0};

		if (expect->reached == NULL || (run->sweep->reached >> i & 1) != 0)
			continue;
		g_snprintf(result.kind, sizeof(result.kind), "no seed reached '%.80s'",
			   expect->reached);
		g_strlcpy(result.text, result.kind, sizeof(result.text));
		add_failure(run->sweep, run->options->first, &result);
	}
}

static void
failure_free(gpointer failure)
{
	struct sim_failure *own = failure;

	g_free(own->kind);
	g_free(own->text);
	g_free(own);
}

bool
sim_sweep_run(struct sim_scenario *scenario, const struct sim_sweep_options *options,
	      struct sim_sweep *sweep, GError **error)
{
	struct run run = {
		.scenario = scenario, .options = options, .sweep = sweep, .next = options->first};
	const size_t room = sizeof(struct sim_result) * options->jobs;
	struct sim_result *shared =
		mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool good;

	*sweep = (struct sim_sweep){.failures = g_ptr_array_new_with_free_func(failure_free),
				    .hash = UINT64_C(14695981039346656037)};
	if (shared == MAP_FAILED)
		return tool_fail(error, TOOL_ERROR_FAILED, "no memory for results: %s",
				 g_strerror(errno));
	run.slots = g_new0(struct slot, options->jobs);
	run.outcomes = g_new0(struct outcome, options->last - options->first + 1);
	for (unsigned i = 0; i < options->jobs; i++)
		run.slots[i].result = &shared[i];
	good = sweep_all(&run, error);
	if (good && options->first != options->last)
		judge_places(&run);
	for (uint64_t i = 0; i <= options->last - options->first; i++)
		sweep->hash = (sweep->hash ^ run.outcomes[i].hash) * UINT64_C(1099511628211);
	g_ptr_array_sort(sweep->failures, by_first);
	g_free(run.outcomes);
	g_free(run.slots);
	(void)munmap(shared, room);
	return good;
}

void
sim_sweep_clear(struct sim_sweep *sweep)
{
	g_ptr_array_unref(sweep->failures);
}
