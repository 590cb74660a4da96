/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Nodes: programs. A program is loaded from a private copy of its file each time that a node starts, so each node has its own static
 * variables, and a restart begins with initial ones. All nodes share itapi and the C library; each has its own stdout and stderr.
 */
#include "ri_fd.h"
#include "sim/sim.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/sim_real.h"
#include "tool_error.h"

static struct sim_node *nodes;
static unsigned count;
static FILE *real_output, *real_errors, *adapters_output, *shared_output, *shared_errors;

struct sim_node *
sim_node_of(unsigned index)
{
	return &nodes[index];
}

unsigned
sim_node_count(void)
{
	return count;
}

/* --- output ----------------------------------------------------------------------------------- */

static void
line_end(struct sim_node *node, int fd)
{
	GString *line = node->line[fd - 1];
	FILE *stream = fd == STDOUT_FILENO || sim_options()->trace ? real_output : real_errors;

	sim_progress();
	if (sim_options()->output) {
		(void)fprintf(stream, "%s: %s\n", node->plan->name, line->str);
		(void)fflush(stream); /* steps of a trace are not buffered */
	}
	if (fd == STDOUT_FILENO) {
		g_ptr_array_add(node->lines, g_strdup(line->str));
	} else {
		g_free(node->complaint);
		node->complaint = g_strdup(line->str);
	}
	g_string_truncate(line, 0);
}

void
sim_node_write(struct sim_node *node, int fd, const char *octets, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (octets[i] == '\n')
			line_end(node, fd);
		else
			g_string_append_c(node->line[fd - 1], octets[i]);
	}
}

/* What libraries in C++ print for all nodes, through one stream without a buffer. */
static ssize_t
shared_write(void *cookie, const char *octets, size_t len)
{
	const int fd = *(const int *)cookie;
	struct sim_node *node = sim_me != NULL ? sim_me->node : NULL;

	if (node == NULL)
		return (ssize_t)fwrite(octets, 1, len,
				       fd == STDOUT_FILENO ? adapters_output : real_errors);
	(void)fflush(fd == STDOUT_FILENO ? node->output
					 : node->errors); /* what the program has printed before */
	sim_node_write(node, fd, octets, len);
	return (ssize_t)len;
}

static ssize_t
output_write(void *cookie, const char *octets, size_t len)
{
	sim_node_write((struct sim_node *)cookie, STDOUT_FILENO, octets, len);
	return (ssize_t)len;
}

static ssize_t
errors_write(void *cookie, const char *octets, size_t len)
{
	sim_node_write((struct sim_node *)cookie, STDERR_FILENO, octets, len);
	return (ssize_t)len;
}

/* What a callback of a program prints on the thread of the adapters, which is of no node. */
static ssize_t
adapters_write(void *cookie, const char *octets, size_t len)
{
	GString *line = cookie;

	for (size_t i = 0; i < len; i++) {
		if (octets[i] != '\n') {
			g_string_append_c(line, octets[i]);
			continue;
		}
		if (sim_options()->output) {
			(void)fprintf(real_output, "adapters: %s\n", line->str);
			(void)fflush(real_output);
		}
		g_string_truncate(line, 0);
	}
	return (ssize_t)len;
}

static struct sim_node *words_owner; /* whose are in the C library; NULL: nobody's */

/* The C library has one set of these; the first call with an index of 0 begins anew. */
static void
words_switch(struct sim_node *node)
{
	if (node == NULL || node == words_owner)
		return;
	if (words_owner != NULL)
		words_owner->words = (struct sim_words){optind, opterr, optopt, optarg};
	words_owner = node;
	optind = node->words.index;
	opterr = node->words.errors;
	optopt = node->words.option;
	optarg = node->words.argument;
}

void
sim_node_streams(struct sim_node *node)
{
	words_switch(node);
	stdout = node != NULL && node->output != NULL ? node->output : adapters_output;
	stderr = node != NULL && node->errors != NULL ? node->errors : real_errors;
}

void
sim_node_streams_shared(void)
{
	stdout = shared_output;
	stderr = shared_errors;
}

void
sim_node_streams_end(void)
{
	for (unsigned i = 0; i < count; i++) {
		if (nodes[i].output != NULL)
			(void)fflush(nodes[i].output);
		if (nodes[i].errors != NULL)
			(void)fflush(nodes[i].errors);
	}
	(void)fflush(adapters_output);
	(void)fflush(real_output);
	(void)fflush(real_errors);
}

/* --- the folder of a node ------------------------------------------------------------------------ */

static struct {
	int fd;
	mode_t mask;
} home;

void
sim_node_enter(void)
{
	/* Threads that this one makes share it. Where the system forbids it, all nodes are in one folder. */
	if (unshare(CLONE_FS) != 0)
		return;
	(void)!fchdir(home.fd);
	(void)umask(home.mask);
}

/* --- begin -------------------------------------------------------------------------------------- */

char *
sim_node_address(unsigned index)
{
	return g_strdup_printf("127.77.0.%u", index + 1);
}

void
sim_nodes_make(const struct sim_scenario *scenario, uint64_t seed)
{
	const cookie_io_functions_t output = {.write = output_write},
				    errors = {.write = errors_write},
				    adapters = {.write = adapters_write},
				    shared = {.write = shared_write};
	static const int descriptors[] = {STDOUT_FILENO, STDERR_FILENO};

	home.fd = ri_fd_open(".", O_PATH | O_DIRECTORY, 0);
	home.mask = umask(0);
	(void)umask(home.mask);
	real_output = stdout;
	real_errors = stderr;
	adapters_output = fopencookie(g_string_new(NULL), "w", adapters);
	if (adapters_output == NULL)
		sim_fail("no memory", "no memory for a stream");
	setvbuf(adapters_output, NULL, _IOLBF, BUFSIZ);
	shared_output = fopencookie((void *)&descriptors[0], "w", shared);
	shared_errors = fopencookie((void *)&descriptors[1], "w", shared);
	if (shared_output == NULL || shared_errors == NULL)
		sim_fail("no memory", "no memory for a stream");
	setvbuf(shared_output, NULL, _IONBF, 0);
	setvbuf(shared_errors, NULL, _IONBF, 0);
	count = scenario->nodes->len;
	nodes = g_new0(struct sim_node, count);
	for (unsigned i = 0; i < count; i++) {
		struct sim_node *node = &nodes[i];

		node->plan = g_ptr_array_index(scenario->nodes, i);
		node->index = i;
		node->slow = 1;
		node->adapters = g_ptr_array_new();
		node->queue_pairs = g_ptr_array_new();
		node->doors = g_array_new(FALSE, FALSE, sizeof(int));
		node->lines = g_ptr_array_new_with_free_func(g_free);
		node->line[0] = g_string_new(NULL);
		node->line[1] = g_string_new(NULL);
		node->output = fopencookie(node, "w", output);
		node->errors = fopencookie(node, "w", errors);
		if (node->output == NULL || node->errors == NULL)
			sim_fail("no memory", "no memory for the streams of a node");
		setvbuf(node->output, NULL, _IOLBF, BUFSIZ);
		setvbuf(node->errors, NULL, _IONBF, 0);
		sim_random_seed(&node->random, seed, node->plan->name);
	}
}

bool
sim_nodes_check(const struct sim_scenario *scenario, GError **error)
{
	for (guint i = 0; i < scenario->nodes->len; i++) {
		struct sim_node_plan *plan = g_ptr_array_index(scenario->nodes, i);
		char *program;

		if (access(plan->program, R_OK) != 0)
			return tool_fail(error, TOOL_ERROR_USAGE, "node %s: its program %.200s: %s",
					 plan->name, plan->program, g_strerror(errno));
		if (!g_file_test(plan->program, G_FILE_TEST_IS_REGULAR))
			return tool_fail(error, TOOL_ERROR_USAGE,
					 "node %s: its program %.200s is not a regular file",
					 plan->name, plan->program);
		/* Each life of a node reads it again, from wherever the calling thread is. */
		program = g_canonicalize_filename(plan->program, NULL);
		g_free(plan->program);
		plan->program = program;
	}
	return true;
}

static int
index_of(const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(nodes[i].plan->name, name) == 0)
			return (int)i;
	return -1;
}

/* The arguments of a node, each a copy that the program may change; they are the node's for good. */
static char **
arguments_of(const struct sim_node *node)
{
	const GPtrArray *words = node->plan->arguments;
	char **arguments = g_new0(char *, words->len + 1);

	for (guint i = 0; i < words->len; i++) {
		const char *word = g_ptr_array_index(words, i);

		arguments[i] = i > 0 && *word == '@'
				       ? sim_node_address((unsigned)index_of(word + 1))
				       : g_strdup(word);
	}
	return arguments;
}

struct entry {
	const struct sim_program *program;
	char **arguments;
	int count;
};

static void *
node_main(void *arg)
{
	struct entry entry = *(struct entry *)arg;

	g_free(arg);
	exit(sim_program_run(entry.program, entry.count, entry.arguments, g_get_environ()));
}

void
sim_node_start(struct sim_node *node)
{
	struct entry *entry = g_new0(struct entry, 1);

	/* What an earlier life has printed and not ended is lost with it. */
	__fpurge(node->output);
	__fpurge(node->errors);
	g_string_truncate(node->line[0], 0);
	g_string_truncate(node->line[1], 0);
	node->words = (struct sim_words){.errors = 1};
	if (words_owner == node)
		words_owner = NULL;
	sim_program_load(node);
	entry->program = &node->program;
	entry->arguments = arguments_of(node);
	entry->count = (int)node->plan->arguments->len;
	sim_progress();
	node->state = SIM_NODE_RUNS;
	node->killed = false;
	node->threads = 0;
	node->lives++;
	if (sim_thread_new(node, node_main, entry, 0) == NULL)
		sim_fail("no thread", "the system refuses another thread");
}

/* --- end ------------------------------------------------------------------------------------------ */

void
sim_node_adapter_opened(struct sim_node *node, it_ia_handle_t ia)
{
	g_ptr_array_add(node->adapters, ia);
}

void
sim_node_adapter_closed(struct sim_node *node, it_ia_handle_t ia)
{
	g_ptr_array_remove(node->adapters, ia);
}

/* What the kernel does for a process that has died. */
static void *
reaper_main(void *arg)
{
	struct sim_node *node = (struct sim_node *)arg;

	sim_me->depth = 1;
	sim_me->call = "the end of its process";
	while (node->adapters->len > 0) {
		it_ia_handle_t ia = g_ptr_array_index(node->adapters, node->adapters->len - 1);

		g_ptr_array_remove_index(node->adapters, node->adapters->len - 1);
		(void)it_ia_free(ia);
	}
	sim_verbs_end(node);
	sim_sockets_end(node);
	sim_clocks_end(node);
	for (guint i = 0; i < node->doors->len; i++)
		(void)SIM_REAL(close)(g_array_index(node->doors, int, i));
	g_array_set_size(node->doors, 0);
	node->state = SIM_NODE_ENDED;
	sim_script_node_ended(node);
	return NULL;
}

void
sim_node_end(struct sim_node *node, int status, bool killed)
{
	g_autofree char *text = g_strdup_printf("%d", status);
	struct sim_thread *reaper;

	node->state = SIM_NODE_DIES;
	node->status = status;
	node->killed = killed;
	sim_progress();
	node->ended = sim_now();
	if (!killed) {
		(void)fflush(node->output);
		if (node->line[0]->len > 0)
			line_end(node, STDOUT_FILENO);
	}
	reaper = sim_thread_new(node, reaper_main, node, 0);
	if (reaper != NULL)
		reaper->reaper = true;
	else
		sim_fail("no thread", "the system refuses another thread");
	sim_note(sim_me != NULL && sim_me->node == node ? sim_me : NULL,
		 killed ? "is killed" : "exits with", killed ? node->plan->name : text);
}

void
sim_node_exit(int status)
{
	if (sim_me->node->state == SIM_NODE_RUNS)
		sim_node_end(sim_me->node, status & 0xff, false);
	sim_thread_over();
}
