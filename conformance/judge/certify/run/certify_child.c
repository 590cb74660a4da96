/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A process that leads a process group, which is killed when the process ends: a test program may
 * have started others. The end of the process counts, not that of its pipes, since such other
 * processes may have inherited them.
 */
#include "certify_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool_signal.h"

#define RECORDS_FD 3
#define LOOK_MS    50 /* whether the process has ended */

/* The two pipes: lines, and the output that is kept. */
struct pipes {
	int lines[2];
	int output[2];
	GString *line; /* not complete yet */
};

static bool
pipes_open(struct pipes *pipes, GError **error)
{
	*pipes = (struct pipes){.lines = {-1, -1}, .output = {-1, -1}};
	if (pipe2(pipes->lines, O_CLOEXEC) == 0 && pipe2(pipes->output, O_CLOEXEC) == 0 &&
	    fcntl(pipes->lines[0], F_SETFL, O_NONBLOCK) == 0 &&
	    fcntl(pipes->output[0], F_SETFL, O_NONBLOCK) == 0) {
		pipes->line = g_string_new(NULL);
		return true;
	}
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno), "pipe: %s",
		    g_strerror(errno));
	return false;
}

static void
fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void
pipes_close(struct pipes *pipes)
{
	for (unsigned i = 0; i < 2; i++) {
		fd_close(&pipes->lines[i]);
		fd_close(&pipes->output[i]);
	}
	if (pipes->line != NULL)
		g_string_free(pipes->line, TRUE);
}

/* Between fork and exec. */
static void
child_setup(gpointer data)
{
	(void)data;
	(void)setpgid(0, 0);
}

static bool
child_spawn(const struct certify_child *child, struct pipes *pipes, GPid *pid, GError **error)
{
	const int target = RECORDS_FD;
	bool good = g_spawn_async_with_pipes_and_fds(
		NULL, (const char *const *)child->argv, (const char *const *)child->environment,
		G_SPAWN_DO_NOT_REAP_CHILD, child_setup, NULL, -1,
		child->on_stdout ? pipes->lines[1] : pipes->output[1], pipes->output[1],
		&pipes->lines[1], &target, child->on_stdout ? 0 : 1, pid, NULL, NULL, NULL, error);

	if (good)
		(void)setpgid(*pid, *pid); /* whoever comes first */
	fd_close(&pipes->lines[1]);
	fd_close(&pipes->output[1]);
	return good;
}

/* Keeps the last octets. */
static void
output_add(struct certify_child *child, const char *text, gsize length)
{
	g_string_append_len(child->output, text, (gssize)length);
	if (child->output->len > CERTIFY_OUTPUT)
		g_string_erase(child->output, 0, (gssize)(child->output->len - CERTIFY_OUTPUT));
}

static void
lines_add(struct certify_child *child, GString *line, const char *text, gsize length)
{
	for (gsize i = 0; i < length; i++) {
		if (text[i] != '\n') {
			g_string_append_c(line, text[i]);
			continue;
		}
		child->line(child, line->str);
		if (child->on_stdout) {
			g_string_append_c(line, '\n');
			output_add(child, line->str, line->len);
		}
		g_string_truncate(line, 0);
	}
}

/* Reads what there is; at its end the descriptor is closed. */
static void
child_drain(struct certify_child *child, struct pipes *pipes, bool lines)
{
	int *fd = lines ? &pipes->lines[0] : &pipes->output[0];
	char text[4096];

	while (*fd >= 0) {
		ssize_t got = read(*fd, text, sizeof(text));

		if (got > 0 && lines)
			lines_add(child, pipes->line, text, (gsize)got);
		else if (got > 0)
			output_add(child, text, (gsize)got);
		else if (got == 0 || (errno != EAGAIN && errno != EINTR))
			fd_close(fd);
		else
			break;
	}
}

static void
child_follow(struct certify_child *child, struct pipes *pipes, GPid pid)
{
	gint64 until = g_get_monotonic_time() + child->limit_us;
	bool running = true;

	while (running) {
		struct pollfd set[2] = {{.fd = pipes->lines[0], .events = POLLIN},
					{.fd = pipes->output[0], .events = POLLIN}};

		(void)poll(set, 2, LOOK_MS);
		running = waitpid(pid, &child->status, WNOHANG) == 0;
		child->progress = false;
		child_drain(child, pipes, true);
		child_drain(child, pipes, false);
		if (child->progress)
			until = g_get_monotonic_time() + child->limit_us;
		if (!running || (!tool_stopped() && g_get_monotonic_time() < until))
			continue;
		child->hung = !tool_stopped();
		(void)kill(-pid, SIGKILL);
		while (waitpid(pid, &child->status, 0) < 0 && errno == EINTR)
			continue;
		child_drain(child, pipes, true);
		child_drain(child, pipes, false);
		return;
	}
	(void)kill(-pid, SIGKILL); /* what it has left behind */
}

bool
certify_child_run(struct certify_child *child, GError **error)
{
	struct pipes pipes;
	GPid pid = 0;
	bool good = pipes_open(&pipes, error) && child_spawn(child, &pipes, &pid, error);

	child->output = g_string_new(NULL);
	if (good)
		child_follow(child, &pipes, pid);
	pipes_close(&pipes);
	if (good && tool_stopped()) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INTR, "stopped by signal %d",
			    tool_stop_signal());
		return false;
	}
	return good;
}

char *
certify_child_output(const struct certify_child *child)
{
	return g_utf8_make_valid(child->output->str, (gssize)child->output->len);
}

char *
certify_child_fault(const struct certify_child *child)
{
	if (child->hung)
		return g_strdup_printf("it ran for %.0f seconds and was ended",
				       (double)child->limit_us / G_USEC_PER_SEC);
	if (WIFSIGNALED(child->status))
		return g_strdup_printf("it was ended by signal %d (%s)", WTERMSIG(child->status),
				       strsignal(WTERMSIG(child->status)));
	if (WIFEXITED(child->status) && WEXITSTATUS(child->status) != 0)
		return g_strdup_printf("it ended with status %d", WEXITSTATUS(child->status));
	return NULL;
}

void
certify_child_clear(struct certify_child *child)
{
	if (child->output != NULL)
		g_string_free(child->output, TRUE);
	child->output = NULL;
}
