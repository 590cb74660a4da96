/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The end of a node's process, and calls that concern whole processes, which are not simulated. */
#undef NDEBUG /* else this header does not declare __assert_fail() */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_real.h"

void
exit(int status)
{
	if (sim_me == NULL)
		SIM_REAL(exit)(status);
	if (sim_me->node == NULL)
		sim_refuse("exit");
	sim_node_exit(status);
}

void
_exit(int status)
{
	if (sim_me == NULL)
		SIM_REAL(_exit)(status);
	if (sim_me->node == NULL)
		sim_refuse("_exit");
	sim_node_exit(status);
}

void
_Exit(int status)
{
	_exit(status);
}

void
quick_exit(int status)
{
	_exit(status);
}

void
abort(void)
{
	const char *node, *said;
	char *kind;

	if (sim_me == NULL)
		SIM_REAL(abort)();
	node = sim_me->node != NULL ? sim_me->node->plan->name : "the library";
	said = sim_me->node != NULL ? sim_me->node->complaint : NULL;
	kind = g_strdup_printf("%s aborts", node);
	sim_fail(kind, "%s aborts%s%s", node, said != NULL ? ": " : "", said != NULL ? said : "");
}

/* assert(): the C library would end the process. */
void
__assert_fail(const char *assertion, const char *file, unsigned line, const char *function)
{
	const char *node =
		sim_me != NULL && sim_me->node != NULL ? sim_me->node->plan->name : "the library";
	g_autofree char *kind = NULL;

	if (sim_me == NULL)
		SIM_REAL(__assert_fail)(assertion, file, line, function);
	kind = g_strdup_printf("%s: assertion '%.100s' failed", node, assertion);
	sim_fail(kind, "%s: assertion '%s' failed, at %s:%u in %s", node, assertion, file, line,
		 function);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): a type, a name and lists in parentheses */
#define REFUSED(result, name, parameters, arguments)        \
	result name parameters                              \
	{                                                   \
		if (sim_me != NULL && sim_me->node != NULL) \
			sim_refuse(#name);                  \
		return SIM_REAL(name) arguments;            \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

REFUSED(pid_t, fork, (void), ())
REFUSED(int, system, (const char *command), (command))
REFUSED(FILE *, popen, (const char *command, const char *mode), (command, mode))
REFUSED(int, execv, (const char *path, char *const arguments[]), (path, arguments))
REFUSED(int, execvp, (const char *file, char *const arguments[]), (file, arguments))
REFUSED(int, execve, (const char *path, char *const arguments[], char *const environment[]),
	(path, arguments, environment))
REFUSED(pid_t, wait, (int *status), (status))
REFUSED(pid_t, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
REFUSED(int, pause, (void), ())
REFUSED(int, sigsuspend, (const sigset_t *mask), (mask))
REFUSED(int, sigwait, (const sigset_t *restrict set, int *restrict number), (set, number))
REFUSED(int, sigwaitinfo, (const sigset_t *restrict set, siginfo_t *restrict info), (set, info))
REFUSED(int, sigtimedwait,
	(const sigset_t *restrict set, siginfo_t *restrict info,
	 const struct timespec *restrict span),
	(set, info, span))
REFUSED(unsigned, alarm, (unsigned seconds), (seconds))
REFUSED(int, timer_create,
	(clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer),
	(clock, event, timer))
REFUSED(int, pthread_cancel, (pthread_t thread), (thread))
REFUSED(int, pthread_kill, (pthread_t thread, int number), (thread, number))
REFUSED(int, kill, (pid_t pid, int number), (pid, number))
