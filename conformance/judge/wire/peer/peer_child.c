/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Another helper beside the same stack: a process of its own, which a case may kill. */

#include "peer_child.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer_stack.h"

static struct {
	char *adapter;
	gboolean anywhere;
	GPid pid; /* 0 without a child */
	int out;  /* its standard output */
} child = {.out = -1};

void
peer_child_like(char *adapter, gboolean anywhere)
{
	child.adapter = adapter;
	child.anywhere = anywhere;
}

/* Kill the child by a signal that it cannot catch. */
void
peer_child_kill(void)
{
	if (child.pid == 0)
		return;
	(void)kill(child.pid, SIGKILL);
	(void)waitpid(child.pid, NULL, 0);
	g_spawn_close_pid(child.pid);
	close(child.out);
	child.pid = 0;
	child.out = -1;
}

gboolean
peer_ask_kill(char *const *words, GString *answer, GError **error)
{
	(void)words;
	(void)answer;
	(void)error;
	peer_child_kill();
	return TRUE;
}

/* The first line that the child prints: its control port. */
static gboolean
child_port(guint *port)
{
	char line[64];
	gsize len = 0;

	while (len < sizeof(line) - 1 && read(child.out, line + len, 1) == 1 && line[len] != '\n')
		len++;
	line[len] = '\0';
	return sscanf(line, "control %u", port) == 1;
}

/* child: another helper, a process of its own, for the same stack */
gboolean
peer_ask_child(char *const *words, GString *answer, GError **error)
{
	/* Its name, and not the link: a tool that runs this program would be what the link leads to. */
	g_autofree char *self = g_file_read_link("/proc/self/exe", error);
	char *argv[5] = {self};
	guint argc = 1;
	guint port = 0;

	(void)words;
	if (self == NULL)
		return FALSE;
	peer_child_kill();
	if (child.anywhere)
		argv[argc++] = "--anywhere";
	if (child.adapter != NULL) {
		argv[argc++] = "--adapter";
		argv[argc++] = child.adapter;
	}
	if (!g_spawn_async_with_pipes(NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
				      &child.pid, NULL, &child.out, NULL, error))
		return FALSE;
	if (!child_port(&port)) {
		peer_child_kill();
		return peer_fail(error, "the other helper does not start");
	}
	g_string_append_printf(answer, " control=%u", port);
	return TRUE;
}
