/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-run: starts a program of libibverbs and librdmacm with the door (doors/verbs) before these
 * libraries. It becomes the program, so the exit status, signals, descriptors and the terminal are
 * the program's. Its checks before that serve only to explain in one sentence why a program would
 * find no device.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "it-run/run_door.h"
#include "it-run/run_program.h"
#include "tool_adapter.h"
#include "tool_error.h"
#include "tool_json.h"
#include "tool_log.h"
#include "tool_options.h"

#define PROGRAM   "it-run"
#define PRELOAD   "LD_PRELOAD"
#define DEVICES   "ITAPI_VERBS_DEVICES"
#define PROVIDERS "ITAPI_PROVIDER_PATH"
#define FAULTS    "ITAPI_FAULTY"

struct options {
	char **adapters;
	char *faults;
	gboolean list;
	gboolean json;
	char **words; /* the program and its arguments; in argv */
};

/* --- what the program inherits --------------------------------------------------------------------------- */

/*
 * tool_begin() has set handlers of these signals and opened the standard descriptors that the
 * caller had closed. Both are undone before the program starts, so that it finds them as the caller
 * left them.
 */
static const int watched[] = {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ};

struct inherited {
	struct sigaction actions[G_N_ELEMENTS(watched)];
	bool closed[STDERR_FILENO + 1];
};

static void
inherited_save(struct inherited *inherited)
{
	for (size_t i = 0; i < G_N_ELEMENTS(watched); i++)
		sigaction(watched[i], NULL, &inherited->actions[i]);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		inherited->closed[fd] = fcntl(fd, F_GETFD) < 0 && errno == EBADF;
}

/* Closed when the program begins, and not before: until then messages have somewhere to go. */
static void
inherited_restore(const struct inherited *inherited)
{
	for (size_t i = 0; i < G_N_ELEMENTS(watched); i++)
		sigaction(watched[i], &inherited->actions[i], NULL);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (inherited->closed[fd])
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* --- the environment -------------------------------------------------------------------------------------- */

/* A variable with a first element before what it has. An element that is first already is not repeated. */
static char **
prepend(char **environment, const char *name, const char *first)
{
	const char *old = g_environ_getenv(environment, name);
	size_t length = strlen(first);
	g_autofree char *both = NULL;

	if (old != NULL && strncmp(old, first, length) == 0 && strchr(": ", old[length]) != NULL)
		return environment; /* strchr finds the end of the text, too */
	both = old != NULL && *old != '\0' ? g_strconcat(first, ":", old, NULL) : g_strdup(first);
	return g_environ_setenv(environment, name, both, TRUE);
}

static bool
is_wrapped(const char *adapter)
{
	return g_str_has_prefix(adapter, "faulty:") || g_str_has_prefix(adapter, "defect:") ||
	       g_str_has_prefix(adapter, "record:");
}

/* Is an adapter among them that the provider for tests makes? */
static const char *
find_wrapped(char **adapters)
{
	for (char **name = adapters; name != NULL && *name != NULL; name++)
		if (is_wrapped(*name))
			return *name;
	return NULL;
}

/* For the program, and for this process, which looks at the adapters as the program will. NULL: the error is set. */
static char **
make_environment(const struct options *options, GError **error)
{
	static const char *const ours[] = {DEVICES, PROVIDERS, FAULTS};
	char **environment = g_get_environ();
	g_autofree char *wrappers = NULL;

	if (find_wrapped(options->adapters) != NULL) {
		wrappers = run_door_wrappers();
		if (wrappers == NULL) {
			tool_fail(error, TOOL_ERROR_FAILED,
				  "the provider of '%s' is not installed, in %s from it-run",
				  find_wrapped(options->adapters), RUN_WRAPPERS_FROM_BIN);
			g_strfreev(environment);
			return NULL;
		}
		environment = prepend(environment, PROVIDERS, wrappers);
	}
	if (options->adapters != NULL) {
		g_autofree char *names = g_strjoinv(",", options->adapters);

		environment = g_environ_setenv(environment, DEVICES, names, TRUE);
	}
	if (options->faults != NULL)
		environment = g_environ_setenv(environment, FAULTS, options->faults, TRUE);
	for (size_t i = 0; i < G_N_ELEMENTS(ours); i++)
		if (g_environ_getenv(environment, ours[i]) != NULL)
			(void)g_setenv(ours[i], g_environ_getenv(environment, ours[i]), TRUE);
	return environment;
}

/* --- faults ----------------------------------------------------------------------------------------------- */

/* The provider says of a command that is wrong what is wrong with it; the adapter opens all the same. */
static bool
faults_are_good(const struct options *options, GError **error)
{
	const char *name = find_wrapped(options->adapters);
	struct tool_adapter adapter;
	g_autofree char *source = NULL;
	g_auto(GStrv) said = NULL;

	if (!tool_adapter_open(&adapter, name, error))
		return false;
	source = g_strdup_printf("defects %s", adapter.name);
	tool_adapter_close(&adapter);
	said = tool_log_said_by(source);
	for (char **line = said; *line != NULL; line++)
		if (g_str_has_prefix(*line, "refused: "))
			return tool_fail(error, TOOL_ERROR_USAGE, "--fault: %s",
					 *line + strlen("refused: "));
	return true;
}

/* --- the command line --------------------------------------------------------------------------------------- */

static bool
check_options(struct options *options, GError **error)
{
	const char *adapter = find_wrapped(options->adapters);

	for (char **name = options->adapters; name != NULL && *name != NULL; name++)
		if (**name == '\0' || strpbrk(*name, ", ") != NULL)
			return tool_fail(error, TOOL_ERROR_USAGE,
					 "'%s' is not the name of an adapter; --adapter is given "
					 "once for each",
					 *name);
	if (options->faults != NULL && (adapter == NULL || !g_str_has_prefix(adapter, "faulty:")))
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "--fault is for an adapter whose name begins with 'faulty:', such "
				 "as faulty:iwarp");
	if (options->list && options->words[0] != NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is too much for --list",
				 options->words[0]);
	if (options->json && !options->list)
		return tool_fail(error, TOOL_ERROR_USAGE, "--json is for --list");
	if (!options->list && options->words[0] == NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "which program? None is given");
	return true;
}

static bool
parse_options(struct options *options, int *argc, char ***argv, GError **error)
{
	GOptionEntry entries[] = {
		{"adapter", 'a', 0, G_OPTION_ARG_STRING_ARRAY, &options->adapters,
		 "Adapter that the program sees; may be given several times (default: iwarp)",
		 "NAME"},
		{"fault", 0, 0, G_OPTION_ARG_STRING, &options->faults,
		 "Faults that an adapter faulty:NAME commits, as ITAPI_FAULTY", "COMMANDS"},
		{"list", 'l', 0, G_OPTION_ARG_NONE, &options->list,
		 "Print the devices that a program would see", NULL},
		{"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "Print that list for programs",
		 NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new("[--] PROGRAM [ARGUMENT]... - runs a program of libibverbs");

	g_option_context_set_strict_posix(context, TRUE);
	g_option_context_set_summary(
		context, "The program finds the adapters of itapi as its RDMA devices.");
	g_option_context_add_main_entries(context, entries, NULL);
	if (!tool_parse(context, argc, argv, error))
		return false;
	options->words = *argv + 1;
	if (options->words[0] != NULL && strcmp(options->words[0], "--") == 0)
		options->words++;
	return check_options(options, error);
}

/* --- the program ------------------------------------------------------------------------------------------- */

/* Does not return if the program starts. */
static void
run(const struct options *options, const char *door, char ***environment,
    const struct inherited *inherited, GError **error)
{
	g_autofree char *path = run_program_find(options->words[0], error);

	if (path == NULL || (options->faults != NULL && !faults_are_good(options, error)))
		return;
	*environment = prepend(*environment, PRELOAD, door);
	inherited_restore(inherited);
	run_program_start(path, options->words, *environment, error);
}

int
main(int argc, char **argv)
{
	struct options options = {.words = NULL};
	struct inherited inherited;
	char **environment = NULL;
	char *door = NULL;
	GError *error = NULL;
	bool good = true;

	inherited_save(&inherited);
	tool_begin();
	if (parse_options(&options, &argc, &argv, &error))
		door = run_door_find(&error);
	if (door != NULL)
		environment = make_environment(&options, &error);
	if (environment == NULL || !run_door_check(door, options.adapters, &error))
		good = false;
	else if (options.list)
		run_door_list(PROGRAM, door, options.json, &good, &error);
	else
		run(&options, door, &environment, &inherited, &error);
	g_strfreev(environment);
	g_free(door);
	g_free(options.faults);
	g_strfreev(options.adapters);
	if (error == NULL)
		return good ? 0 : 1;
	if (options.json)
		tool_json_failure(PROGRAM, error);
	return tool_die(PROGRAM, error);
}
