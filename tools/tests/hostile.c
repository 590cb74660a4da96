/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "tool_error.h"

#define LOOK_US (10 * 1000)

static char *
program_of(const char *tool)
{
	const char *tools = g_getenv("ITAPI_TOOLS");

	g_assert_nonnull(tools);
	return g_build_filename(tools, tool, NULL);
}

/* Runs a program to its end; its exit status, and what it wrote. */
static int
run(char **argv, char **output)
{
	g_autofree char *out = NULL;
	g_autofree char *err = NULL;
	g_autoptr(GError) error = NULL;
	int status;

	g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, &err, &status, &error);
	g_assert_no_error(error);
	*output = g_strconcat(out, err, NULL);
	g_test_message("%s", *output);
	g_assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Program and arguments as a vector; g_strfreev() it. */
static char **
vector_of(const char *tool, const char *stands_for, va_list words)
{
	GPtrArray *argv = g_ptr_array_new();
	const char *word;

	g_ptr_array_add(argv, program_of(tool));
	g_ptr_array_add(argv, g_strdup_printf("--timeout=%d", HOSTILE_PATIENCE));
	while ((word = va_arg(words, const char *)) != NULL)
		g_ptr_array_add(argv, g_strdup(g_str_equal(word, "@") ? stands_for : word));
	g_ptr_array_add(argv, NULL);
	return (char **)g_ptr_array_free(argv, FALSE);
}

static char *
log_of(const struct hostile_server *server)
{
	char *text = NULL;

	g_assert_true(g_file_get_contents(server->log, &text, NULL, NULL));
	return text;
}

/* Waits until the log holds the text, and returns the log; g_free() it. */
static char *
log_with(const struct hostile_server *server, const char *wanted)
{
	gint64 until = g_get_monotonic_time() + HOSTILE_PATIENCE * (gint64)G_USEC_PER_SEC;

	for (;;) {
		char *text = log_of(server);

		if (strstr(text, wanted) != NULL)
			return text;
		if (g_get_monotonic_time() > until)
			g_error("\"%s\" is not in: %s", wanted, text);
		g_free(text);
		g_usleep(LOOK_US);
	}
}

void
hostile_server_said(const struct hostile_server *server, const char *text)
{
	g_free(log_with(server, text));
}

static uint16_t
port_of(const struct hostile_server *server)
{
	static const char before[] = "listening on port ";
	g_autofree char *text = log_with(server, " of iwarp\n");
	const char *at = strstr(text, before);

	g_assert_nonnull(at);
	return (uint16_t)strtoul(at + strlen(before), NULL, 10);
}

/* In the child: the server is killed when the test process ends, so that it does not hold the test's output open. */
static void
end_with_us(gpointer unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void
hostile_server_start(struct hostile_server *server, const char *tool, ...)
{
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) argv = NULL;
	va_list words;
	int log;

	server->folder = g_dir_make_tmp("test-tools-hostile-XXXXXX", &error);
	g_assert_no_error(error);
	server->log = g_strconcat(server->folder, ".log", NULL);
	va_start(words, tool);
	argv = vector_of(tool, server->folder, words);
	va_end(words);
	log = open(server->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	g_assert_cmpint(log, >=, 0);
	g_spawn_async_with_fds(NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, end_with_us, NULL,
			       &server->pid, -1, log, log, &error);
	g_assert_no_error(error);
	close(log);
	server->port = port_of(server);
}

void
hostile_server_end(struct hostile_server *server)
{
	g_autofree char *text = NULL;
	int status;

	g_assert_cmpint(kill(server->pid, SIGTERM), ==, 0);
	while (waitpid(server->pid, &status, 0) < 0)
		g_assert_cmpint(errno, ==, EINTR);
	text = log_of(server);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		g_error("the server ended with status %#x: %s", (unsigned)status, text);
	g_spawn_close_pid(server->pid);
	g_assert_cmpint(g_unlink(server->log), ==, 0);
	g_assert_cmpint(g_rmdir(server->folder), ==, 0); /* nothing was left in it */
	g_free(server->folder);
	g_free(server->log);
}

size_t
hostile_server_memory(const struct hostile_server *server)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)server->pid);
	g_autofree char *text = NULL;
	const char *at;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	at = strstr(text, "VmHWM:");
	g_assert_nonnull(at);
	return (size_t)strtoull(at + strlen("VmHWM:"), NULL, 10) * 1024;
}

int
hostile_run(char **output, const struct hostile_server *server, const char *tool, ...)
{
	g_autofree char *port = g_strdup_printf("%u", server->port);
	g_auto(GStrv) argv = NULL;
	va_list words;

	va_start(words, tool);
	argv = vector_of(tool, port, words);
	va_end(words);
	return run(argv, output);
}

void
hostile_honest(const struct hostile_server *server, const char *tool, ...)
{
	gint64 until = g_get_monotonic_time() + HOSTILE_PATIENCE * (gint64)G_USEC_PER_SEC;
	g_autofree char *port = g_strdup_printf("%u", server->port);
	g_auto(GStrv) argv = NULL;
	va_list words;
	bool busy;

	va_start(words, tool);
	argv = vector_of(tool, port, words);
	va_end(words);
	do {
		g_autofree char *output = NULL;
		int status = run(argv, &output);

		busy = status == 1 && strstr(output, "busy") != NULL;
		if (!busy && status != 0)
			g_error("an honest client failed: %s", output);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	} while (busy);
}

bool
hostile_connect(struct hostile_end *end, const struct hostile_server *server,
		const struct tool_hello *hello)
{
	struct tool_link_spec spec = tool_mail_spec(HOSTILE_PATIENCE);
	g_autoptr(GError) error = NULL;
	struct tool_way way;
	bool met;

	memset(end, 0, sizeof(*end));
	tool_adapter_open(&end->adapter, "iwarp", &error);
	g_assert_no_error(error);
	g_assert_true(tool_link_make(&end->link, &end->adapter, &spec, &error));
	g_assert_true(tool_mail_open(&end->mail, &end->link, &error));
	g_assert_true(tool_way_find(&way, &end->adapter, "127.0.0.1", server->port, &error));
	met = tool_link_connect(&end->link, &way, hello, &error);
	tool_way_clear(&way);
	if (met)
		return true;
	g_assert_error(error, TOOL_ERROR, TOOL_ERROR_PEER);
	g_strlcpy(end->refusal, error->message, sizeof(end->refusal));
	hostile_close(end);
	return false;
}

void
hostile_close(struct hostile_end *end)
{
	tool_link_close(&end->link);
	tool_mail_close(&end->mail);
	tool_adapter_close(&end->adapter);
}

void
hostile_enter(struct hostile_end *end, const struct hostile_server *server, enum tool_id tool)
{
	struct tool_hello hello = {.version = TOOL_VERSION, .tool = (uint8_t)tool};

	hello.session = (uint64_t)g_random_int() << 32 | g_random_int();
	hostile_connect_soon(end, server, &hello);
}

void
hostile_connect_soon(struct hostile_end *end, const struct hostile_server *server,
		     const struct tool_hello *hello)
{
	gint64 until = g_get_monotonic_time() + HOSTILE_PATIENCE * (gint64)G_USEC_PER_SEC;

	while (!hostile_connect(end, server, hello)) {
		if (g_get_monotonic_time() > until)
			g_error("no connection within %d s: %s", HOSTILE_PATIENCE, end->refusal);
		g_usleep(LOOK_US);
	}
}

void
hostile_send(struct hostile_end *end, const void *octets, size_t len)
{
	g_autoptr(GError) error = NULL;

	tool_mail_send(&end->mail, octets, len, &error);
	g_assert_no_error(error);
}

void
hostile_is_left(struct hostile_end *end)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = sizeof(octets);
	g_autoptr(GError) error = NULL;

	g_assert_false(tool_mail_receive(&end->mail, octets, &len, &error));
	g_assert_error(error, TOOL_ERROR, TOOL_ERROR_PEER);
}
