/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * kalctl: shows what the processes of a host have of itapi's adapters, and stops them, through kald. A user sees and stops its own
 * processes, root all.
 */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctl_link.h"
#include "ctl_show.h"
#include "kald_policy.h"
#include "tool_error.h"
#include "tool_json.h"
#include "tool_options.h"
#include "tool_signal.h"

#define PROGRAM "kalctl"

struct ctl {
	char *socket;    /* --socket */
	gboolean json;   /* --json */
	gboolean freeze; /* --freeze */
	int fd;
};

/* One word of the command line and what it does with those behind it. */
struct command {
	const char *name;
	int arguments_min, arguments_max;
	bool offline; /* needs no kald */
	bool (*run)(struct ctl *ctl, char **arguments, GError **error);
};

/* All entries that are shown to this user. NULL: the error is set. */
static GArray *
entries_get(const struct ctl *ctl, GError **error)
{
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(struct kald_entry));
	struct kald_message request, reply;

	kald_message_begin(&request, KALD_LIST, 0, KALD_OK);
	do {
		if (!ctl_ask(ctl->fd, &request, &reply, error)) {
			g_array_free(entries, TRUE);
			return NULL;
		}
		g_array_append_vals(entries, reply.body.listed.entries, reply.body.listed.count);
		request.body.list.after = reply.body.listed.next;
	} while (reply.body.listed.next != 0);
	return entries;
}

static bool
run_list(struct ctl *ctl, char **arguments, GError **error)
{
	GArray *entries = entries_get(ctl, error);

	(void)arguments;
	if (entries == NULL)
		return false;
	ctl_show_list(entries, ctl->json);
	g_array_free(entries, TRUE);
	return true;
}

static bool
run_shares(struct ctl *ctl, char **arguments, GError **error)
{
	g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(struct kald_sharing));
	struct kald_message request, reply;

	(void)arguments;
	kald_message_begin(&request, KALD_SHARES, 0, KALD_OK);
	do {
		if (!ctl_ask(ctl->fd, &request, &reply, error))
			return false;
		g_array_append_vals(entries, reply.body.sharings.entries,
				    reply.body.sharings.count);
		request.body.list.after = reply.body.sharings.next;
	} while (reply.body.sharings.next != 0);
	ctl_show_shares(entries, ctl->json);
	return true;
}

static bool
pid_read(const char *text, uint64_t *pid, GError **error)
{
	g_autoptr(GError) trouble = NULL;

	if (tool_number(text, 1, INT32_MAX, pid, &trouble))
		return true;
	return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is no process number", text);
}

static bool
run_show(struct ctl *ctl, char **arguments, GError **error)
{
	GArray *entries, *found;
	uint64_t pid;
	bool good;

	if (!pid_read(arguments[0], &pid, error))
		return false;
	entries = entries_get(ctl, error);
	if (entries == NULL)
		return false;
	found = g_array_new(FALSE, FALSE, sizeof(struct kald_entry));
	for (unsigned i = 0; i < entries->len; i++)
		if (g_array_index(entries, struct kald_entry, i).pid == pid)
			g_array_append_val(found, g_array_index(entries, struct kald_entry, i));
	good = found->len > 0 ||
	       tool_fail(error, TOOL_ERROR_FAILED,
			 "process %s has no connection to kald, or is another user's",
			 arguments[0]);
	if (good)
		ctl_show_processes(found, ctl->json);
	g_array_free(found, TRUE);
	g_array_free(entries, TRUE);
	return good;
}

static bool
run_limits(struct ctl *ctl, char **arguments, GError **error)
{
	struct kald_message request, reply;
	const struct passwd *user;
	uint64_t uid = getuid();

	if (arguments[0] != NULL && !tool_number(arguments[0], 0, UINT32_MAX - 1, &uid, NULL)) {
		user = getpwnam(arguments[0]);
		if (user == NULL)
			return tool_fail(error, TOOL_ERROR_USAGE, "there is no user '%s'",
					 arguments[0]);
		uid = user->pw_uid;
	}
	kald_message_begin(&request, KALD_LIMITS, 0, KALD_OK);
	request.body.limits.level = KALD_LEVEL_USER;
	request.body.limits.id = (uint32_t)uid;
	if (!ctl_ask(ctl->fd, &request, &reply, error))
		return false;
	ctl_show_limits(&request.body.limits, &reply.body.limited, ctl->json);
	return true;
}

static bool
run_watch(struct ctl *ctl, char **arguments, GError **error)
{
	struct kald_message request, message;

	(void)arguments;
	kald_message_begin(&request, KALD_WATCH, 0, KALD_OK);
	if (!ctl_ask(ctl->fd, &request, &message, error))
		return false;
	while (ctl_next(ctl->fd, &message, error) && tool_output_good(error))
		ctl_show_change(&message.body.change, ctl->json);
	return *error == NULL;
}

/* Ask kald to stop it; *pid: the process, or one of those with the port. */
static bool
freeze(const struct ctl *ctl, uint32_t *pid, uint32_t port, GError **error)
{
	struct kald_message request, reply;

	kald_message_begin(&request, KALD_STOP, 0, KALD_OK);
	request.body.stop.pid = *pid;
	request.body.stop.port = port;
	if (!ctl_ask(ctl->fd, &request, &reply, error))
		return false;
	*pid = reply.body.stop_reply.pid;
	return true;
}

/*
 * End it. Its number may have become another process's meanwhile: after the descriptor was made, kald is asked once more whether it
 * still is that of a client.
 */
static bool
terminate(const struct ctl *ctl, uint32_t pid, GError **error)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool good = pidfd >= 0 ||
		    tool_fail(error, TOOL_ERROR_FAILED, "process %u: %s", pid, g_strerror(errno));

	if (good && freeze(ctl, &pid, 0, error) &&
	    syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) != 0)
		good = tool_fail(error, TOOL_ERROR_FAILED, "process %u: %s", pid,
				 g_strerror(errno));
	if (pidfd >= 0)
		close(pidfd);
	return good && *error == NULL;
}

/* A process, or ":PORT", what listens there. */
static bool
run_stop(struct ctl *ctl, char **arguments, GError **error)
{
	uint64_t number = 0;
	bool by_port = arguments[0][0] == ':';
	uint32_t pid = 0, port = 0;

	if (by_port && !tool_number(arguments[0] + 1, 1, UINT16_MAX, &number, NULL))
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is no port", arguments[0]);
	if (!by_port && !pid_read(arguments[0], &number, error))
		return false;
	if (by_port)
		port = (uint32_t)number;
	else
		pid = (uint32_t)number;
	if (!freeze(ctl, &pid, port, error))
		return false;
	if (!ctl->freeze && !terminate(ctl, pid, error))
		return false;
	if (ctl->json) {
		JsonBuilder *json = tool_json_begin(PROGRAM);

		tool_json_count(json, "pid", pid);
		tool_json_boolean(json, "signalled", !ctl->freeze);
		tool_json_boolean(json, "ok", true);
		tool_json_print(json);
	} else {
		printf("process %u gets nothing more%s\n", pid,
		       ctl->freeze ? "" : ", and was told to end (SIGTERM)");
	}
	return true;
}

static bool
run_policy(struct ctl *ctl, char **arguments, GError **error)
{
	const char *path = arguments[1] != NULL ? arguments[1] : KALD_POLICY_FILE;
	struct kald_policy *policy;
	struct kal_why why = {""};

	if (strcmp(arguments[0], "check") != 0)
		return tool_fail(error, TOOL_ERROR_USAGE, "it is: policy check [FILE]");
	policy = kald_policy_load(path, &why);
	if (policy == NULL)
		return tool_fail(error, TOOL_ERROR_FAILED, "%s", why.text);
	kald_policy_free(policy);
	if (ctl->json) {
		JsonBuilder *json = tool_json_begin(PROGRAM);

		tool_json_text(json, "policy", path);
		tool_json_boolean(json, "ok", true);
		tool_json_print(json);
	} else {
		printf("%s can be used\n", path);
	}
	return true;
}

static const struct command commands[] = {
	{"list", 0, 0, false, run_list},     {"show", 1, 1, false, run_show},
	{"limits", 0, 1, false, run_limits}, {"watch", 0, 0, false, run_watch},
	{"stop", 1, 1, false, run_stop},     {"policy", 1, 2, true, run_policy},
	{"shares", 0, 0, false, run_shares},
};

static const struct command *
command_find(int argc, char **argv, GError **error)
{
	if (argc < 2) {
		tool_fail(error, TOOL_ERROR_USAGE,
			  "a command is missing: list, show, shares, limits, watch, stop or policy "
			  "check");
		return NULL;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
		const struct command *one = &commands[i];

		if (strcmp(one->name, argv[1]) != 0)
			continue;
		if (argc - 2 >= one->arguments_min && argc - 2 <= one->arguments_max)
			return one;
		tool_fail(error, TOOL_ERROR_USAGE, "%s: %s", argv[1],
			  argc - 2 < one->arguments_min ? "an argument is missing"
							: "an argument is too much");
		return NULL;
	}
	tool_fail(error, TOOL_ERROR_USAGE, "there is no command '%s'", argv[1]);
	return NULL;
}

int
main(int argc, char **argv)
{
	struct ctl ctl = {.fd = -1};
	GOptionEntry entries[] = {
		{"socket", 's', 0, G_OPTION_ARG_FILENAME, &ctl.socket, "Where kald listens",
		 "PATH"},
		{"freeze", 0, 0, G_OPTION_ARG_NONE, &ctl.freeze,
		 "stop: the process gets nothing more, and is not told to end", NULL},
		{"json", 0, 0, G_OPTION_ARG_NONE, &ctl.json, "Print everything for programs", NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new("list | show PID | shares | limits [USER] | watch | stop "
				     "PID|:PORT | policy check [FILE]");
	const struct command *command = NULL;
	GError *error = NULL;
	bool good = false;
	int status;

	tool_begin();
	g_option_context_add_main_entries(context, entries, NULL);
	if (tool_parse(context, &argc, &argv, &error))
		command = command_find(argc, argv, &error);
	if (command != NULL && !command->offline)
		ctl.fd = ctl_connect(ctl.socket, &error);
	if (command != NULL && error == NULL)
		good = command->run(&ctl, argv + 2, &error);
	if (ctl.fd >= 0)
		close(ctl.fd);
	g_free(ctl.socket);
	if (tool_stopped()) {
		g_clear_error(&error);
		return 128 + tool_stop_signal();
	}
	if (good && error == NULL)
		return 0;
	if (ctl.json && error != NULL)
		tool_json_failure(PROGRAM, error);
	status = error != NULL ? tool_die(PROGRAM, error) : 1;
	return status;
}
