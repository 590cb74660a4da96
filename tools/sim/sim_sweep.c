/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "sim/sim_sweep.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_real.h"
#include "tool_error.h"

/* Why a process was ended. */
enum verdict {
	GOES_ON,
	BLOCKED, /* its thread slept in one call of the kernel all the time */
	HANGS,   /* it used too much of a processor */
	DOZES,   /* it slept in the kernel again and again */
};

/* A process under way. */
struct slot {
	pid_t pid; /* 0: none */
	uint64_t seed;
	bool again;                /* the second run of --twice */
	struct sim_result *result; /* shared with it */
	struct sim_result before;  /* of the first run */
	enum verdict verdict;
	char *blocked;   /* how its thread was at the last look */
	unsigned still;  /* looks at which that was the same */
	unsigned asleep; /* looks at which each of its threads slept */
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

/* Nodes may have written anything; in reports stands text that XML and terminals take. */
static void
make_text(char *text, size_t room)
{
	g_autofree char *good = g_utf8_make_valid(text, -1);

	for (char *c = good; *c != '\0'; c++)
		if (g_ascii_iscntrl(*c) && *c != '\n' && *c != '\t')
			*c = '?';
	if (strlen(good) >= room) /* the sign for what is no text is longer */
		*g_utf8_find_prev_char(good, good + room) = '\0';
	g_strlcpy(text, good, room);
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
tell_death(struct slot *slot, int status)
{
	struct sim_result *result = slot->result;
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	g_autofree char *when =
		g_strdup_printf("at %" G_GUINT64_FORMAT ".%06u ms", result->time / 1000000,
				(unsigned)(result->time % 1000000));

	if (result->ended)
		return;
	switch (slot->verdict) {
	case BLOCKED:
		g_snprintf(result->kind, sizeof(result->kind), "%s blocks in %s", result->running,
			   slot->blocked);
		g_snprintf(result->text, sizeof(result->text),
			   "%s blocks in %s, which it-sim does not simulate, %s", result->running,
			   slot->blocked, when);
		return;
	case HANGS:
		g_snprintf(result->kind, sizeof(result->kind), "hang in %s", result->running);
		g_snprintf(result->text, sizeof(result->text),
			   "%s computes, or spins, without a call that it-sim knows, %s",
			   result->running, when);
		return;
	case DOZES:
		g_snprintf(result->kind, sizeof(result->kind), "%s waits past it-sim",
			   result->running);
		g_snprintf(result->text, sizeof(result->text),
			   "%s waits again and again in calls that it-sim does not simulate, %s",
			   result->running, when);
		return;
	case GOES_ON:
		break;
	}
	g_snprintf(result->kind, sizeof(result->kind), "crash in %s: %s", result->running,
		   number > 0 ? strsignal(number) : "it ended the process");
	g_snprintf(result->text, sizeof(result->text), "crash in %s: %s, %s", result->running,
		   number > 0 ? strsignal(number) : "it ended the process", when);
}

/*
 * --- processes that do not end
 * --------------------------------------------------------------------
 *
 * No verdict depends on how long something took while others had the processors. A thread counts as
 * blocked if it has slept in the same call at LOOKS_STILL successive looks; the kernel's count of
 * its switches shows that it did not wake in between. A process counts as spinning if it has used
 * its limit of processor time. A process that waits for a processor is not judged.
 */

#define LOOK_MS     100 /* between two looks at the processes */
#define LOOKS_STILL 10  /* at a thread that sleeps all the time, until it counts as blocked */
#define DOZE        3   /* times the patience may a process sleep in all */

/* The line of a file in /proc of a thread that begins with a word; NULL: none. */
static char *
thread_line(const struct slot *slot, pid_t tid, const char *file, const char *word)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/%s", slot->pid, tid, file);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return NULL;
	lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line != NULL; line++)
		if (g_str_has_prefix(*line, word))
			return g_strdup(*line);
	return NULL;
}

/* The name of the system call in which the thread sleeps; NULL: it runs, or (*tells) waits for the reader of what it writes. */
static char *
sleeping_call(const struct slot *slot, pid_t tid, bool *tells)
{
	static const struct {
		long number;
		const char *name;
	} known[] = {{SYS_read, "read"},
		     {SYS_write, "write"},
		     {SYS_futex, "a lock (futex)"},
		     {SYS_openat, "open"},
		     {SYS_recvfrom, "recvfrom"},
		     {SYS_recvmsg, "recvmsg"},
		     {SYS_sendto, "sendto"},
		     {SYS_sendmsg, "sendmsg"},
		     {SYS_ppoll, "ppoll"},
		     {SYS_clock_nanosleep, "clock_nanosleep"},
		     {SYS_wait4, "wait4"},
		     {SYS_connect, "connect"},
		     {SYS_accept4, "accept4"},
		     {SYS_ioctl, "ioctl"},
		     {SYS_mq_timedreceive, "mq_receive"},
		     {SYS_mq_timedsend, "mq_send"},
		     {SYS_preadv2, "preadv2"},
		     {SYS_pwritev2, "pwritev2"},
		     {SYS_rt_sigtimedwait, "sigtimedwait"}};
	g_autofree char *state = thread_line(slot, tid, "status", "State:");
	g_autofree char *call = thread_line(slot, tid, "syscall", "");
	char *end = NULL;
	long number, fd;

	if (state == NULL || strstr(state, "S (") == NULL)
		return NULL;
	if (call == NULL || !g_ascii_isdigit(*call))
		return g_strdup("a system call");
	number = strtol(call, &end, 10);
	fd = strtol(end, NULL, 0);
	*tells = (number == SYS_write || number == SYS_writev) && (fd == 1 || fd == 2);
	if (*tells)
		return NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (known[i].number == number)
			return g_strdup(known[i].name);
	return g_strdup_printf("system call %ld", number);
}

/* Does each thread of the process sleep? Not: wait for a processor, the disk or a debugger. */
static bool
sleeps(const struct slot *slot)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task", slot->pid);
	g_autoptr(GDir) tasks = g_dir_open(path, 0, NULL);
	const char *name;
	bool all = tasks != NULL;

	while (all && (name = g_dir_read_name(tasks)) != NULL) {
		g_autofree char *state =
			thread_line(slot, (pid_t)strtol(name, NULL, 10), "status", "State:");

		all = state != NULL && strstr(state, "S (") != NULL;
	}
	return all;
}

/* Seconds that the process had a processor. */
static double
processor_time(const struct slot *slot)
{
	struct timespec used = {0};
	clockid_t id;

	if (clock_getcpuclockid(slot->pid, &id) != 0 || SIM_REAL(clock_gettime)(id, &used) != 0)
		return 0;
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* Does the thread sleep in the same system call as at the last look, with no moment outside of it? */
static void
look_at(struct slot *slot)
{
	const pid_t tid = slot->result->tid;
	g_autofree char *slept =
		tid != 0 ? thread_line(slot, tid, "status", "voluntary_ctxt_switches:") : NULL;
	bool told = false;
	g_autofree char *call = slept != NULL ? sleeping_call(slot, tid, &told) : NULL;
	static const char separator[] = " after ";
	g_autofree char *seen = call != NULL ? g_strconcat(call, separator, slept, NULL) : NULL;

	slot->still = seen != NULL && g_strcmp0(seen, slot->blocked) == 0 ? slot->still + 1 : 0;
	slot->asleep += !told && sleeps(slot);
	g_free(slot->blocked);
	slot->blocked = g_steal_pointer(&seen);
}

/* End the processes that are blocked, or have taken too long. */
static void
look_at_all(const struct run *run)
{
	const unsigned patience = run->options->patience;

	for (unsigned i = 0; i < run->options->jobs; i++) {
		struct slot *slot = &run->slots[i];

		if (slot->pid == 0 || slot->verdict != GOES_ON)
			continue;
		look_at(slot);
		if (slot->still >= LOOKS_STILL)
			slot->verdict = BLOCKED;
		else if (processor_time(slot) >= patience)
			slot->verdict = HANGS;
		else if (slot->asleep / (1000 / LOOK_MS) >= DOZE * patience)
			slot->verdict = DOZES;
		else
			continue;
		if (slot->blocked != NULL)
			*strstr(slot->blocked, " after ") = '\0';
		(void)SIM_REAL(kill)(slot->pid, SIGKILL);
	}
}

static void
look_now(int number)
{
	(void)number; /* wait() is interrupted */
}

/* Interrupt wait() for looks, or do so no longer. While the timer runs there is a handler: without one its signal ends the process. */
static void
looks(bool begin)
{
	const struct sigaction action = {.sa_handler = begin ? look_now : SIG_DFL};
	const struct itimerval often = {.it_interval.tv_usec = begin ? LOOK_MS * 1000 : 0,
					.it_value.tv_usec = begin ? LOOK_MS * 1000 : 0};

	if (!begin)
		(void)SIM_REAL(setitimer)(ITIMER_REAL, &often, NULL);
	(void)sigaction(SIGALRM, &action, NULL);
	if (begin)
		(void)SIM_REAL(setitimer)(ITIMER_REAL, &often, NULL);
}

/* --- one process for each seed ---------------------------------------------------------------------- */

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
	g_clear_pointer(&slot->blocked, g_free);
	slot->still = slot->asleep = 0;
	slot->verdict = GOES_ON;
	(void)fflush(NULL);
	slot->pid = SIM_REAL(fork)();
	if (slot->pid < 0) {
		slot->pid = 0;
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "cannot start a process for seed %" G_GUINT64_FORMAT ": %s",
				 slot->seed, g_strerror(errno));
	}
	if (slot->pid == 0) {
		looks(false);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would look at it any more */
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

	/* How far a run came that was ended is chance. */
	if (slot->again && slot->verdict == GOES_ON && slot->before.ended && result->ended &&
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
	if (result->good)
		return;
	make_text(result->kind, sizeof(result->kind));
	make_text(result->text, sizeof(result->text));
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
		tell_death(slot, status);
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

		if (pid < 0 && errno == EINTR) {
			look_at_all(run);
			continue;
		}
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
	looks(true);
	good = sweep_all(&run, error);
	looks(false);
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
