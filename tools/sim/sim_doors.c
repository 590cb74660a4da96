/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Faults. An emulated adapter connects to a local socket when it is opened, and runs the commands that it receives there
 * (ITAPI_EMUL_CONTROL). Here both ends are in one process; the adapter's end is watched by the service thread.
 */
#include "sim/sim.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ri_fd.h"
#include "sim/sim_real.h"
#include "tool_error.h"

#define ANSWER 8192

static int listener = -1;

static bool
has_faults(const struct sim_scenario *scenario)
{
	for (guint i = 0; i < scenario->steps->len; i++) {
		const struct sim_step_plan *step = g_ptr_array_index(scenario->steps, i);

		if (step->deed == SIM_FAULT)
			return true;
	}
	return false;
}

/*
 * Adapters that are opened from now on connect to this socket. When this returns, the socket has no
 * name in a folder any more. So a run that crashes leaves no file, and the length of TMPDIR does
 * not matter.
 */
static bool
listener_open(int flags, GError **error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	g_autofree char *folder = g_dir_make_tmp("it-sim-XXXXXX", error);
	g_autofree char *path = folder != NULL ? g_build_filename(folder, "faults", NULL) : NULL;
	g_autofree char *link = NULL;
	int in = -1, socket_file = -1, number;

	if (folder == NULL)
		return false;
	in = ri_fd_open(folder, O_PATH | O_DIRECTORY, 0);
	g_snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/faults", in);
	listener = SIM_REAL(socket)(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
	if (in >= 0 && listener >= 0 &&
	    bind(listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
	    listen(listener, SIM_NODES_MAX) == 0)
		socket_file = ri_fd_open(path, O_PATH, 0);
	number = errno;
	(void)unlink(path);
	(void)rmdir(folder);
	if (in >= 0)
		(void)SIM_REAL(close)(in);
	if (socket_file < 0)
		return tool_fail(error, TOOL_ERROR_FAILED, "a socket for faults cannot be made: %s",
				 g_strerror(number));
	link = g_strdup_printf("/proc/self/fd/%d", socket_file);
	g_setenv("ITAPI_EMUL_CONTROL", link, TRUE);
	return true;
}

void
sim_doors_begin(void)
{
	const struct sim_scenario *scenario = sim_scenario();
	g_autoptr(GError) error = NULL;

	if (!scenario->paths && !scenario->triggers && !has_faults(scenario))
		return;
	if (!listener_open(SOCK_NONBLOCK, &error))
		sim_fail("no socket", "%s", error->message);
}

/* --- before the first seed ------------------------------------------------------------------ */

#define CHECK_PATIENCE 20 /* s */

/* What is wrong with a command, as an adapter says; NULL: nothing. The adapter does not run it. */
static char *
command_judge(int door, const char *command)
{
	g_autofree char *question = g_strdup_printf("check %s", command);
	char answer[ANSWER];
	ssize_t len;

	if (SIM_REAL(send)(door, question, strlen(question), MSG_NOSIGNAL) < 0 ||
	    (len = SIM_REAL(recv)(door, answer, sizeof(answer) - 1, 0)) <= 0)
		return g_strdup("the adapter does not answer");
	answer[len] = '\0';
	return strcmp(answer, "ok") == 0 ? NULL : g_strdup(answer);
}

/* In a process of its own, with the clock and the threads of the machine. Returns what is wrong; NULL: nothing. */
static char *
faults_judge(const struct sim_scenario *scenario)
{
	g_autoptr(GError) error = NULL;
	char name[64], *why = NULL;
	it_ia_handle_t ia;
	int door;

	if (!listener_open(0, &error))
		return g_strdup(error->message);
	if (it_ia_create("emul:ib", 2, 1, &ia) != IT_SUCCESS)
		return g_strdup("no adapter that could read the faults can be opened");
	door = SIM_REAL(accept4)(listener, NULL, NULL, SOCK_CLOEXEC);
	(void)SIM_REAL(recv)(door, name, sizeof(name), 0);
	for (guint i = 0; i < scenario->steps->len && why == NULL; i++) {
		const struct sim_step_plan *step = g_ptr_array_index(scenario->steps, i);
		g_autofree char *wrong =
			step->deed == SIM_FAULT ? command_judge(door, step->command) : NULL;

		if (wrong != NULL)
			why = g_strdup_printf("%d: '%s': %s", step->line, step->command, wrong);
	}
	return why;
}

bool
sim_doors_check(const struct sim_scenario *scenario, const char *file, GError **error)
{
	char why[ANSWER] = "";
	ssize_t len;
	int ends[2], status = 0;
	pid_t judge;

	if (!has_faults(scenario))
		return true;
	if (pipe(ends) != 0 || (judge = SIM_REAL(fork)()) < 0)
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "cannot start the process that checks the faults of %s: %s", file,
				 g_strerror(errno));
	if (judge == 0) {
		char *wrong;

		(void)SIM_REAL(alarm)(CHECK_PATIENCE);
		wrong = faults_judge(scenario);
		if (wrong != NULL)
			(void)!SIM_REAL(write)(ends[1], wrong, strlen(wrong));
		SIM_REAL(_exit)(0);
	}
	(void)SIM_REAL(close)(ends[1]);
	len = SIM_REAL(read)(ends[0], why, sizeof(why) - 1);
	(void)SIM_REAL(close)(ends[0]);
	(void)SIM_REAL(waitpid)(judge, &status, 0);
	if (len > 0)
		return tool_fail(error, TOOL_ERROR_USAGE, "%s:%s", file, why);
	if (status != 0)
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "the faults of %s could not be read in time", file);
	return true;
}

/* --- in a run -------------------------------------------------------------------------------- */

static bool
is_answered(void *arg)
{
	char octet;

	return SIM_REAL(recv)(*(int *)arg, &octet, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
	       errno != EAGAIN;
}

/* On the script's thread the answer is not waited for. */
static void
command_give(struct sim_node *node, int fd, const char *command, bool wait)
{
	char answer[ANSWER];
	ssize_t len;

	if (SIM_REAL(send)(fd, command, strlen(command), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return; /* the adapter is closed */
	if (!wait)
		return;
	(void)sim_block("a fault", is_answered, &fd, RI_NEVER);
	len = SIM_REAL(recv)(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);
	if (len <= 0)
		return;
	answer[len] = '\0';
	if (strcmp(answer, "ok") != 0)
		sim_fail("a fault is refused", "%s: '%s': %s", node->plan->name, command, answer);
}

void
sim_doors_command(struct sim_node *node, const char *command)
{
	for (guint i = 0; i < node->doors->len; i++)
		command_give(node, g_array_index(node->doors, int, i), command, false);
}

/* A packet of an adapter: news of a message, or an answer, which nobody waits for. */
static void
packet_take(const struct sim_node *node, const char *text)
{
	struct sim_message message;
	char kind[8];

	if (sscanf(text, "message %" G_GUINT64_FORMAT " %7s %u of %u", &message.number, kind,
		   &message.placed, &message.length) != 4)
		return;
	message.write = strcmp(kind, "write") == 0;
	sim_script_message(node, &message);
}

void
sim_doors_look(void)
{
	for (unsigned i = 0; sim_scenario()->triggers && i < sim_node_count(); i++) {
		const struct sim_node *node = sim_node_of(i);

		for (guint j = 0; j < node->doors->len; j++) {
			char text[ANSWER];
			ssize_t len;

			while ((len = SIM_REAL(recv)(g_array_index(node->doors, int, j), text,
						     sizeof(text) - 1, MSG_DONTWAIT)) > 0) {
				text[len] = '\0';
				packet_take(node, text);
			}
		}
	}
}

void
sim_doors_ask(struct sim_node *node, int door, const char *command)
{
	command_give(node, door, command, true);
}

static void
paths_give(struct sim_node *node, int door)
{
	g_autofree char *name = g_strdup_printf("name %s", node->plan->name);

	if (!sim_scenario()->paths && !sim_scenario()->triggers)
		return;
	sim_doors_ask(node, door, name);
	while (sim_script_paths(node, door) != 0)
		continue;
	if (sim_scenario()->triggers)
		sim_doors_ask(node, door, "tell messages");
}

void
sim_doors_opened(struct sim_node *node)
{
	const GPtrArray *steps = sim_scenario()->steps;
	int fd = listener >= 0 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
	char name[64];

	if (fd < 0)
		return;
	(void)SIM_REAL(recv)(fd, name, sizeof(name), MSG_DONTWAIT);
	paths_give(node, fd);
	for (guint i = 0; i < steps->len; i++) {
		const struct sim_step_plan *step = g_ptr_array_index(steps, i);

		if (step->deed == SIM_FAULT && !step->timed && step->node == node->index)
			command_give(node, fd, step->command, true);
	}
	g_array_append_val(node->doors, fd); /* from here on its news are looked at */
}
