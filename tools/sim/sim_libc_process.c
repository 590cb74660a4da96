/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The end of a node's process, and calls that are not simulated: those on whole processes, and waits for things that a run lacks. */
#undef NDEBUG /* else this header does not declare __assert_fail() */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_real.h"

/* --- ends ------------------------------------------------------------------------------------------ */

void
exit(int status)
{
	if (sim_me == NULL)
		SIM_REAL(exit)(status);
	if (sim_me->node == NULL)
		sim_refuse("exit");
	sim_process_over();
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
REFUSED(pid_t, vfork, (void), ())
REFUSED(int, daemon, (int folder, int streams), (folder, streams))
REFUSED(int, execvpe, (const char *file, char *const arguments[], char *const environment[]),
	(file, arguments, environment))
REFUSED(int, fexecve, (int fd, char *const arguments[], char *const environment[]),
	(fd, arguments, environment))
REFUSED(int, posix_spawn,
	(pid_t *restrict pid, const char *restrict path,
	 const posix_spawn_file_actions_t *restrict actions, const posix_spawnattr_t *restrict attr,
	 char *const arguments[], char *const environment[]),
	(pid, path, actions, attr, arguments, environment))
REFUSED(int, posix_spawnp,
	(pid_t *restrict pid, const char *restrict file,
	 const posix_spawn_file_actions_t *restrict actions, const posix_spawnattr_t *restrict attr,
	 char *const arguments[], char *const environment[]),
	(pid, file, actions, attr, arguments, environment))
REFUSED(pid_t, wait3, (int *status, int flags, struct rusage *used), (status, flags, used))
REFUSED(pid_t, wait4, (pid_t pid, int *status, int flags, struct rusage *used),
	(pid, status, flags, used))
REFUSED(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int flags), (type, id, info, flags))
REFUSED(int, setitimer,
	(__itimer_which_t which, const struct itimerval *restrict value,
	 struct itimerval *restrict before),
	(which, value, before))
REFUSED(useconds_t, ualarm, (useconds_t us, useconds_t period), (us, period))
REFUSED(int, sigqueue, (pid_t pid, int number, const union sigval value), (pid, number, value))
/* --- what waits for something that a run does not have ----------------------------------------------- */

REFUSED(ssize_t, msgrcv, (int id, void *message, size_t len, long type, int flags),
	(id, message, len, type, flags))
REFUSED(int, msgsnd, (int id, const void *message, size_t len, int flags),
	(id, message, len, flags))
REFUSED(int, semop, (int id, struct sembuf *operations, size_t count), (id, operations, count))
REFUSED(int, semtimedop,
	(int id, struct sembuf *operations, size_t count, const struct timespec *span),
	(id, operations, count, span))
REFUSED(ssize_t, splice,
	(int from, off_t *from_at, int to, off_t *to_at, size_t len, unsigned flags),
	(from, from_at, to, to_at, len, flags))
REFUSED(ssize_t, tee, (int from, int to, size_t len, unsigned flags), (from, to, len, flags))
REFUSED(ssize_t, vmsplice, (int fd, const struct iovec *pieces, size_t count, unsigned flags),
	(fd, pieces, count, flags))
REFUSED(ssize_t, sendfile, (int to, int from, off_t *at, size_t count), (to, from, at, count))
REFUSED(int, recvmmsg,
	(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *span),
	(fd, messages, count, flags, span))
REFUSED(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags),
	(fd, messages, count, flags))
REFUSED(int, thrd_create, (thrd_t * id, thrd_start_t body, void *arg), (id, body, arg))
REFUSED(int, thrd_sleep, (const struct timespec *span, struct timespec *left), (span, left))
REFUSED(int, mtx_lock, (mtx_t * lock), (lock))
REFUSED(int, mtx_timedlock, (mtx_t *restrict lock, const struct timespec *restrict when),
	(lock, when))
REFUSED(int, cnd_wait, (cnd_t * condition, mtx_t *lock), (condition, lock))
REFUSED(int, cnd_timedwait,
	(cnd_t *restrict condition, mtx_t *restrict lock, const struct timespec *restrict when),
	(condition, lock, when))

/* A list of arguments cannot be passed on, and nothing here calls these. */
#define REFUSED_LIST(name)                               \
	int name(const char *path, const char *arg, ...) \
	{                                                \
		(void)path;                              \
		(void)arg;                               \
		sim_refuse(#name);                       \
	}
REFUSED_LIST(execl)
REFUSED_LIST(execlp)
REFUSED_LIST(execle)

/* A lock of a file, if another one is in the way. */
int
flock(int fd, int operation)
{
	int done;

	if (!sim_applies())
		return SIM_REAL(flock)(fd, operation);
	done = SIM_REAL(flock)(fd, operation | LOCK_NB);
	if (done != 0 && errno == EWOULDBLOCK && (operation & LOCK_NB) == 0)
		sim_refuse("flock");
	return done;
}

int
lockf(int fd, int command, off_t len)
{
	int done;

	if (!sim_applies() || command != F_LOCK)
		return SIM_REAL(lockf)(fd, command, len);
	done = SIM_REAL(lockf)(fd, F_TLOCK, len);
	if (done != 0 && (errno == EAGAIN || errno == EACCES))
		sim_refuse("lockf");
	return done;
}

SIM_ALSO_SHORT(lockf);
SIM_ALSO_SHORT(sendfile);
