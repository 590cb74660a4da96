/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * kalctl: asks the daemon kald which adapters of itapi, and which objects on them, the processes of
 * a host use, and stops processes. Users see and stop their own processes, root all.
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

#define PROGRAM     "kalctl"
#define ENTRIES_MAX 524288u /* processes: kald has two of its 1,048,576 descriptors for each */

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

/* A list of kald goes on: each page is full, and begins behind the last one. So no daemon makes kalctl read, and keep, without end. */
static bool
goes_on(uint64_t after, uint64_t next, bool full, unsigned entries, GError **error)
{
	return (next > after && full && entries < ENTRIES_MAX) ||
	       tool_fail(error, TOOL_ERROR_PEER, "the list of kald has no end");
}

/* All entries that are shown to this user. NULL: the error is set. */
static GArray *
entries_get(const struct ctl *ctl, GError **error)
{
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(struct kald_entry));
	struct kald_message request, reply;

	kald_message_begin(&request, KALD_LIST, 0, KALD_OK);
	do {
		const struct kald_listed *listed = &reply.body.listed;

		if (!ctl_ask(ctl->fd, &request, &reply, error))
			break;
		g_array_append_vals(entries, listed->entries, listed->count);
		if (listed->next == 0)
			return entries;
		if (!goes_on(request.body.list.after, listed->next, listed->count == KALD_LIST_MAX,
			     entries->len, error))
			break;
		request.body.list.after = listed->next;
	} while (true);
	g_array_free(entries, TRUE);
	return NULL;
}

static bool
run_list(struct ctl *ctl, char **arguments, GError **error)
{
	g_autoptr(GArray) entries = entries_get(ctl, error);

	(void)arguments;
	if (entries == NULL)
		return false;
	ctl_show_list(entries, ctl->json);
	return true;
}

static bool
run_shares(struct ctl *ctl, char **arguments, GError **error)
{
	g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(struct kald_sharing));
	struct kald_message request, reply;
	const struct kald_sharings *sharings = &reply.body.sharings;

	(void)arguments;
	kald_message_begin(&request, KALD_SHARES, 0, KALD_OK);
	do {
		if (!ctl_ask(ctl->fd, &request, &reply, error))
			return false;
		g_array_append_vals(entries, sharings->entries, sharings->count);
		if (sharings->next != 0 &&
		    !goes_on(request.body.list.after, sharings->next,
			     sharings->count == KALD_SHARES_SHOWN, entries->len, error))
			return false;
		request.body.list.after = sharings->next;
	} while (sharings->next != 0);
	ctl_show_shares(entries, ctl->json);
	return true;
}

static bool
pid_read(const char *text, uint64_t *pid, GError **error)
{
	g_autoptr(GError) trouble = NULL;

	if (tool_number(text, 1, INT32_MAX, pid, &trouble))
		return true;
	return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is not a process number", text);
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

/* Ask kald to stop what `stop` says; *reply is its answer. */
static bool
freeze(const struct ctl *ctl, const struct kald_stop *stop, struct kald_message *reply,
       GError **error)
{
	struct kald_message request;

	kald_message_begin(&request, KALD_STOP, 0, KALD_OK);
	request.body.stop = *stop;
	return ctl_ask(ctl->fd, &request, reply, error);
}

/*
 * End the process with this number. The number may have been reused for another process meanwhile:
 * so once the descriptor (a pidfd) is open, kald is asked again whether the number is a client's.
 */
static bool
terminate(const struct ctl *ctl, uint32_t pid, GError **error)
{
	const struct kald_stop stop = {.pid = pid};
	struct kald_message reply;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool good = pidfd >= 0 ||
		    tool_fail(error, TOOL_ERROR_FAILED, "process %u: %s", pid, g_strerror(errno));

	if (good && freeze(ctl, &stop, &reply, error) &&
	    syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) != 0)
		good = tool_fail(error, TOOL_ERROR_FAILED, "process %u: %s", pid,
				 g_strerror(errno));
	if (pidfd >= 0)
		close(pidfd);
	return good && *error == NULL;
}

/* Each of them, also if another one cannot be ended; *error: the first trouble. */
static bool
terminate_all(const struct ctl *ctl, const GArray *pids, GError **error)
{
	for (unsigned i = 0; i < pids->len; i++) {
		GError *trouble = NULL;

		if (terminate(ctl, g_array_index(pids, uint32_t, i), &trouble))
			continue;
		if (*error == NULL)
			g_propagate_error(error, trouble);
		else
			g_error_free(trouble);
	}
	return *error == NULL;
}

static void
pid_add(GArray *pids, uint32_t pid)
{
	for (unsigned i = 0; i < pids->len; i++)
		if (g_array_index(pids, uint32_t, i) == pid)
			return;
	g_array_append_val(pids, pid);
}

/* Does an entry show the port? One that has more than are shown may have it, too. */
static bool
may_have(const struct kald_entry *entry, uint32_t port)
{
	for (unsigned i = 0; i < MIN(entry->num_ports, KALD_PORTS_SHOWN); i++)
		if (entry->ports[i] == port)
			return true;
	return entry->num_ports > KALD_PORTS_SHOWN;
}

/* Stop the listener with that serial number if it has the port; false: there is an error. */
static bool
stop_listener(const struct ctl *ctl, const struct kald_stop *stop, GArray *pids, GError **error)
{
	g_autoptr(GError) trouble = NULL;
	struct kald_message reply;

	if (freeze(ctl, stop, &reply, &trouble)) {
		pid_add(pids, reply.body.stop_reply.pid);
		return true;
	}
	if (reply.head.status == KALD_ABSENT)
		return true;
	g_propagate_error(error, g_steal_pointer(&trouble));
	return false;
}

/* The processes that listen at a port. kald is asked about each one by itself. */
static bool
stop_listeners(const struct ctl *ctl, uint32_t port, GArray *pids, GError **error)
{
	g_autoptr(GArray) entries = entries_get(ctl, error);

	for (unsigned i = 0; entries != NULL && i < entries->len; i++) {
		const struct kald_entry *entry = &g_array_index(entries, struct kald_entry, i);
		const struct kald_stop stop = {.serial = entry->serial, .port = port};

		if (may_have(entry, port) && !stop_listener(ctl, &stop, pids, error))
			return false;
	}
	return entries != NULL;
}

/* Stop a process, or at a port all that listen there; *pids: those that were stopped. */
static bool
stop_all(const struct ctl *ctl, uint32_t pid, uint32_t port, GArray *pids, GError **error)
{
	const struct kald_stop stop = {.pid = pid, .port = port};
	struct kald_message reply;
	const struct kald_stop_reply *said = &reply.body.stop_reply;

	if (!freeze(ctl, &stop, &reply, error))
		return false;
	/* It gets a signal. */
	if (pid != 0 && said->pid != pid)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "kald was asked about process %u, and answered about %u", pid,
				 said->pid);
	g_array_append_val(pids, said->pid);
	return pid != 0 || said->count <= 1 || stop_listeners(ctl, port, pids, error);
}

static void
stopped_show(const struct ctl *ctl, const GArray *pids)
{
	JsonBuilder *json;

	for (unsigned i = 0; i < pids->len && !ctl->json; i++)
		printf("process %u gets nothing more%s\n", g_array_index(pids, uint32_t, i),
		       ctl->freeze ? "" : ", and was told to end (SIGTERM)");
	if (!ctl->json)
		return;
	json = tool_json_begin(PROGRAM);
	tool_json_count(json, "pid", g_array_index(pids, uint32_t, 0));
	json_builder_set_member_name(json, "pids");
	json_builder_begin_array(json);
	for (unsigned i = 0; i < pids->len; i++)
		json_builder_add_int_value(json, g_array_index(pids, uint32_t, i));
	json_builder_end_array(json);
	tool_json_boolean(json, "signalled", !ctl->freeze);
	tool_json_boolean(json, "ok", true);
	tool_json_print(json);
}

/* A process, or ":PORT", what listens there. */
static bool
run_stop(struct ctl *ctl, char **arguments, GError **error)
{
	g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	bool by_port = arguments[0][0] == ':';
	uint64_t number = 0;

	if (by_port && !tool_number(arguments[0] + 1, 1, UINT16_MAX, &number, NULL))
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is not a port", arguments[0]);
	if (!by_port && !pid_read(arguments[0], &number, error))
		return false;
	if (!stop_all(ctl, by_port ? 0 : (uint32_t)number, by_port ? (uint32_t)number : 0, pids,
		      error))
		return false;
	if (!ctl->freeze && !terminate_all(ctl, pids, error))
		return false;
	stopped_show(ctl, pids);
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
		 "stop: the process gets nothing more; it gets no signal to end", NULL},
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
