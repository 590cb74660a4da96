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
#include <unistd.h>

#include "sim/sim_real.h"

#define ANSWER 8192

static int listener = -1;
static char *path;

static bool
has_faults(void)
{
	const GPtrArray *steps = sim_scenario()->steps;

	if (sim_scenario()->paths || sim_scenario()->triggers)
		return true;
	for (guint i = 0; i < steps->len; i++)
		if (((const struct sim_step_plan *)g_ptr_array_index(steps, i))->deed == SIM_FAULT)
			return true;
	return false;
}

void
sim_doors_begin(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	g_autoptr(GError) error = NULL;
	g_autofree char *folder = NULL;

	if (!has_faults())
		return;
	folder = g_dir_make_tmp("it-sim-XXXXXX", &error);
	if (folder == NULL)
		sim_fail("no socket", "%s", error->message);
	path = g_build_filename(folder, "faults", NULL);
	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener < 0 ||
	    bind(listener, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listener, SIM_NODES_MAX) != 0)
		sim_fail("no socket", "a socket for faults cannot be made: %s", g_strerror(errno));
	g_setenv("ITAPI_EMUL_CONTROL", path, TRUE);
}

void
sim_doors_end(void)
{
	g_autofree char *folder = NULL;

	if (path == NULL)
		return;
	folder = g_path_get_dirname(path);
	(void)unlink(path);
	(void)rmdir(folder);
}

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
