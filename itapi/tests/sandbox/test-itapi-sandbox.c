/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The behaviour of an application in a sandbox that refuses a system call, either from the start or as soon as
 * both adapters are open. Each case is a process with a seccomp filter, which runs a whole application life
 * (scarce/life.c). The life must succeed, or a call of the library must fail and the log must name what was
 * refused. No case may hang or crash.
 *
 * test-itapi-sandbox ADAPTER PAGE [ENOSYS]: judge each case, and compare the results with the table of the page.
 * test-itapi-sandbox --table: print the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../scarce/life.h"
#include "../scarce/notice.h"
#include "it_ext.h"

#define PATIENCE 240 /* seconds of a case; a life waits a minute for an event */
#define NUMBERS  4
#define CALLS    1024 /* more than there are numbers */
#define CPU_SECONDS \
	3 /* a life needs some milliseconds, and waits up to 20 seconds for what cannot come */
#define AT_ONCE 32 /* cases; some of them wait for long */

/* What a sandbox may refuse. */
struct refusal {
	const char *name;
	const char *use; /* for what the library needs it */
	int numbers[NUMBERS];
	int domain; /* of socket(2); 0: any */
};

/* Architectures that came later, such as arm64, have only the newer call of each pair. */
#ifdef SYS_epoll_wait
#define OLD_EPOLL_WAIT (SYS_epoll_wait + 1)
#define OLD_ACCESS     (SYS_access + 1)
#define OLD_POLL       (SYS_poll + 1)
#else
#define OLD_EPOLL_WAIT 0
#define OLD_ACCESS     0
#define OLD_POLL       0
#endif

/* In the order of the table; each number and 1. What the C library itself cannot do without is in the page's text. */
/* clang-format off */
static const struct refusal refusals[] = {
	{"accept4", "connections that come in, over `iwarp` and `shm`", {SYS_accept4 + 1}, 0},
	{"access, faccessat2", "whether the devices of a provider exist", {SYS_faccessat + 1, SYS_faccessat2 + 1, OLD_ACCESS}, 0},
	{"bind", "listeners; the source of a connection", {SYS_bind + 1}, 0},
	{"capget", "whether the process has CAP_NET_ADMIN", {SYS_capget + 1}, 0},
	{"clone3", "threads; the C library then uses clone", {SYS_clone3 + 1}, 0},
	{"clone3, clone", "the service thread", {SYS_clone3 + 1, SYS_clone + 1}, 0},
	{"connect", "connections over `iwarp` and `shm`; paths to a peer", {SYS_connect + 1}, 0},
	{"dup3", "a trace file that replaces another one", {SYS_dup3 + 1}, 0},
	{"epoll_create1", "the service thread and the engine of `iwarp`", {SYS_epoll_create1 + 1}, 0},
	{"epoll_ctl", "descriptors that the service thread and `iwarp` watch", {SYS_epoll_ctl + 1}, 0},
	{"epoll_wait, epoll_pwait", "the service thread and the engine of `iwarp`", {SYS_epoll_pwait + 1, OLD_EPOLL_WAIT}, 0},
	{"eventfd2", "waking threads; descriptors of event dispatchers", {SYS_eventfd2 + 1}, 0},
	{"fcntl", "descriptors that do not block, and copies of them", {SYS_fcntl + 1}, 0},
	{"fstatfs", "whether the folder of `shm` is one of this machine", {SYS_fstatfs + 1}, 0},
	{"flock", "which process of `shm` owns a name", {SYS_flock + 1}, 0},
	{"ftruncate", "memory that other processes see", {SYS_ftruncate + 1}, 0},
	{"getdents64", "the folder of providers", {SYS_getdents64 + 1}, 0},
	{"getpeername", "the address of a peer", {SYS_getpeername + 1}, 0},
	{"getpid", "names, locks and lines of the process", {SYS_getpid + 1}, 0},
	{"getrandom", "keys; otherwise /dev/urandom is read", {SYS_getrandom + 1}, 0},
	{"getrandom, openat", "keys, and files besides", {SYS_getrandom + 1, SYS_openat + 1}, 0},
	{"getsockname", "the own address of a socket", {SYS_getsockname + 1}, 0},
	{"getsockopt", "state and segment size of a connection", {SYS_getsockopt + 1}, 0},
	{"getuid, geteuid", "whether the policy names the user; whose the folders of `shm` are", {SYS_getuid + 1, SYS_geteuid + 1}, 0},
	{"ioctl", "indices of interfaces; what a socket has still to send", {SYS_ioctl + 1}, 0},
	{"listen", "listeners over `iwarp` and `shm`", {SYS_listen + 1}, 0},
	{"madvise", "hints about memory", {SYS_madvise + 1}, 0},
	{"memfd_create", "memory that other processes see", {SYS_memfd_create + 1}, 0},
	{"membarrier", "cheaper posts; without it they cost a locked instruction", {SYS_membarrier + 1}, 0},
	{"msync", "whether memory is mapped", {SYS_msync + 1}, 0},
	{"nanosleep, clock_nanosleep", "a free call that waits for other calls", {SYS_clock_nanosleep + 1, SYS_nanosleep + 1}, 0},
	{"openat", "configuration, providers, /proc", {SYS_openat + 1}, 0},
	{"ppoll, poll", "the sleep of a wait over `iwarp`", {SYS_ppoll + 1, OLD_POLL}, 0},
	{"prctl", "names of threads", {SYS_prctl + 1}, 0},
	{"recvmmsg", "several datagrams by one call, over `roce`", {SYS_recvmmsg + 1}, 0},
	{"recvmsg, recvfrom", "data that comes in; interfaces", {SYS_recvmsg + 1, SYS_recvfrom + 1}, 0},
	{"recvmsg, recvfrom, recvmmsg", "the same, over `roce`", {SYS_recvmsg + 1, SYS_recvfrom + 1, SYS_recvmmsg + 1}, 0},
	{"sched_getaffinity", "whether the service thread may look for the next message instead of sleeping", {SYS_sched_getaffinity + 1}, 0},
	{"sched_yield", "waits of some instructions", {SYS_sched_yield + 1}, 0},
	{"sendto, sendmsg, sendmmsg", "data that goes out; questions about interfaces", {SYS_sendto + 1, SYS_sendmsg + 1, SYS_sendmmsg + 1}, 0},
	{"set_robust_list", "the C library; not needed", {SYS_set_robust_list + 1}, 0},
	{"setsockopt", "how a connection is sent, kept alive and reset", {SYS_setsockopt + 1}, 0},
	{"shutdown", "the orderly end of a connection", {SYS_shutdown + 1}, 0},
	{"socket", "everything over `iwarp`", {SYS_socket + 1}, 0},
	{"socket (AF_NETLINK)", "the list of interfaces, and news of them", {SYS_socket + 1}, AF_NETLINK},
	{"socketpair", "the link of two adapters of `shm`", {SYS_socketpair + 1}, 0},
	{"statx, newfstatat", "files", {SYS_statx + 1, SYS_newfstatat + 1}, 0},
	{"timerfd_create", "timers", {SYS_timerfd_create + 1}, 0},
	{"timerfd_settime", "timers", {SYS_timerfd_settime + 1}, 0},
};

/* Those that the page names in its text. */
static const int of_the_c_library[] = {
	SYS_brk, SYS_exit_group, SYS_exit, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_read, SYS_write, SYS_close, SYS_rt_sigaction,
	SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_futex, SYS_execve, SYS_set_tid_address, SYS_prlimit64, SYS_rseq,
#ifdef SYS_arch_prctl
	SYS_arch_prctl,
#endif
};
/* clang-format on */

#define REFUSALS (sizeof(refusals) / sizeof(refusals[0]))

/* The columns of the table, two each. */
static const char *const adapters[] = {"iwarp:lo", "emul:ib", "shm:ib", "roce:lo"};

#define ADAPTERS (sizeof(adapters) / sizeof(adapters[0]))
#define CELLS    (2 * ADAPTERS)

enum outcome {
	WORKS,
	REFUSED,
	UNNAMED,
	CRASHED,
	HUNG,
	SPUN,
	NO_FILTER
};

static const char *const outcomes[] = {
	[WORKS] = "works",
	[REFUSED] = "error",
	[UNNAMED] = "an error without a name",
	[SPUN] = "it used a processor all the time",
	[CRASHED] = "a crash",
	[HUNG] = "it never ended",
	[NO_FILTER] = "no filter",
};

struct plan {
	const struct refusal *refusal; /* NULL: see which calls are made */
	const char *adapter;
	int error;
	bool later;
};

/* What a child reports, in memory that it shares with its parent. */
struct told {
	struct life_report report;
	bool unfiltered;
	char call[64];
	atomic_uint length;
	char lines[16384];
	atomic_bool called[CALLS];
};

/* A case, while its process runs. */
struct running {
	struct plan plan;
	struct told *told;
	pid_t child;
	time_t begin;
};

/* Of this child. */
static struct told *told;
static const struct plan *plan;

static void
take_line(void *context, int level, const char *where, const char *text)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "%d %s: %s\n", level, where, text);
	unsigned at;

	(void)context;
	if (n < 0 || level > ITX_LOG_INFO)
		return;
	n = n < (int)sizeof(line) ? n : (int)sizeof(line) - 1;
	at = atomic_fetch_add(&told->length, (unsigned)n);
	if (at + (unsigned)n < sizeof(told->lines))
		memcpy(told->lines + at, line, (size_t)n);
}

/* --- which calls a life makes: those that neither list has ----------------------------------------------------- */

/* The call goes on after it was noted. */
static int
note_call(const struct seccomp_notif *call)
{
	if ((unsigned)call->data.nr < CALLS)
		atomic_store(&told->called[call->data.nr], true);
	return 0;
}

static bool
is_listed(int number)
{
	for (unsigned i = 0; i < sizeof(of_the_c_library) / sizeof(of_the_c_library[0]); i++) {
		if (of_the_c_library[i] == number)
			return true;
	}
	for (unsigned i = 0; i < REFUSALS; i++) {
		for (unsigned k = 0; k < NUMBERS; k++) {
			if (refusals[i].numbers[k] == number + 1)
				return true;
		}
	}
	return false;
}

/* From now on this thread, and those that it makes, have the calls noted that are in no list. */
static bool
note_others(void)
{
	static struct sock_filter filter[CALLS + 4];
	struct sock_fprog program = {0, filter};
	unsigned n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	for (int i = 0; i < CALLS; i++) {
		if (is_listed(i)) {
			filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								   (unsigned)i, 0, 1);
			filter[n++] =
				(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		}
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	program.len = (unsigned short)n;
	return notice_calls(&program, note_call);
}

/* --- what is refused ---------------------------------------------------------------------------------------- */

/* From now on, in each thread of this process. */
static void
refuse(void)
{
	const struct refusal *refusal = plan->refusal;
	struct sock_filter filter[8 + 2 * NUMBERS];
	struct sock_fprog program = {0, filter};
	unsigned n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < NUMBERS && refusal->numbers[i] != 0; i++) {
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   (unsigned)refusal->numbers[i] - 1, 0,
							   refusal->domain != 0 ? 3 : 1);
		if (refusal->domain != 0) {
			filter[n++] = (struct sock_filter)BPF_STMT(
				BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
			filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								   (unsigned)refusal->domain, 0, 1);
		}
		filter[n++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)plan->error);
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) !=
		    0) {
		told->unfiltered = true;
		_exit(0);
	}
}

static void *
end_at_once(void *arg)
{
	return arg;
}

/* Whether the C library makes a thread when clone3 is refused with EPERM: then it makes all threads by clone, as on arm64. */
static bool
threads_without_clone3(const struct plan *of)
{
	pthread_t thread;
	int status = -1;
	pid_t child;

	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		plan = of;
		refuse();
		_exit(pthread_create(&thread, NULL, end_at_once, NULL) != 0);
	}
	(void)waitpid(child, &status, 0);
	return status == 0;
}

static void
run_child(void)
{
	const struct rlimit none = {0, 0};
	struct life_report report;

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)setenv("ITAPI_LOG", "info", 1);
	itx_log_set_writer(take_line, NULL);
	if (plan->refusal == NULL && !note_others()) {
		told->unfiltered = true;
		_exit(0);
	}
	if (plan->refusal != NULL && !plan->later)
		refuse();
	life_run_then(plan->adapter, &report, plan->later ? refuse : NULL);
	told->report = report;
	if (report.wrong != NULL)
		(void)snprintf(told->call, sizeof(told->call), "%s", report.wrong);
	else if (report.shortage != NULL)
		(void)snprintf(told->call, sizeof(told->call), "%s", report.shortage);
	_exit(0);
}

static void
start(struct running *running)
{
	running->begin = time(NULL);
	running->told = mmap(NULL, sizeof(*running->told), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fflush(stdout);
	running->child = running->told != MAP_FAILED ? fork() : -1;
	if (running->child < 0) {
		perror("a case");
		exit(1);
	}
	if (running->child == 0) {
		told = running->told;
		plan = &running->plan;
		run_child();
	}
}

/* Does a line of the log say what was refused? */
static bool
is_named(const struct running *running)
{
	const char *name = running->plan.refusal->name;
	char first[64];

	(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(name, " ,"), name);
	return strstr(running->told->lines, strerror(running->plan.error)) != NULL ||
	       strstr(running->told->lines, first) != NULL;
}

/* Wait until its process has ended. */
static enum outcome
judge(const struct running *running)
{
	const struct timespec nap = {.tv_nsec = 2 * 1000 * 1000};
	struct rusage used = {0};
	int status = 0;

	while (wait4(running->child, &status, WNOHANG, &used) == 0) {
		if (time(NULL) - running->begin >= PATIENCE) {
			(void)kill(running->child, SIGKILL);
			(void)waitpid(running->child, &status, 0);
			return HUNG;
		}
		(void)nanosleep(&nap, NULL);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return CRASHED;
	if (running->told->unfiltered)
		return NO_FILTER;
	if (used.ru_utime.tv_sec + used.ru_stime.tv_sec >= CPU_SECONDS)
		return SPUN;
	if (running->told->report.whole)
		return WORKS;
	return running->plan.refusal != NULL && is_named(running) ? REFUSED : UNNAMED;
}

/* The cases of all cells of a row, and of both errors: the outcome of both, or each. */
static void
print_row(const struct refusal *refusal)
{
	struct running cases[CELLS][2];

	printf("| `%s` | %s |", refusal->name, refusal->use);
	for (unsigned i = 0; i < 2 * CELLS; i++) {
		cases[i / 2][i % 2].plan = (struct plan){
			refusal, adapters[i / 4], i % 2 == 0 ? EPERM : ENOSYS, i / 2 % 2 == 1};
		start(&cases[i / 2][i % 2]);
	}
	for (unsigned i = 0; i < CELLS; i++) {
		enum outcome first = judge(&cases[i][0]), second = judge(&cases[i][1]);

		if (first == second)
			printf(" %s |", outcomes[first]);
		else
			printf(" EPERM: %s; ENOSYS: %s |", outcomes[first], outcomes[second]);
	}
	printf("\n");
	fflush(stdout);
}

static int
print_table(void)
{
	printf("| refused | what for |");
	for (unsigned i = 0; i < ADAPTERS; i++) {
		int family = (int)strcspn(adapters[i], ":");

		printf(" `%.*s`, at the start | `%.*s`, later |", family, adapters[i], family,
		       adapters[i]);
	}
	printf("\n|---|---|");
	for (unsigned i = 0; i < CELLS; i++)
		printf("---|");
	printf("\n");
	for (unsigned i = 0; i < REFUSALS; i++)
		print_row(&refusals[i]);
	return 0;
}

/* The cell of the page; "" if the page has no such cell. */
static void
expected(const char *page, const struct plan *of, char *text, size_t room)
{
	const struct refusal *refusal = of->refusal;
	unsigned column = of->later ? 1 : 0;
	char begin[512], cell[128];
	const char *at;

	for (unsigned i = 0; i < ADAPTERS && strcmp(adapters[i], of->adapter) != 0; i++)
		column += 2;

	(void)snprintf(begin, sizeof(begin), "| `%s` | %s | ", refusal->name, refusal->use);
	text[0] = '\0';
	at = strstr(page, begin);
	if (at == NULL)
		return;
	at += strlen(begin);
	while (column-- > 0) {
		at = strstr(at, " | ");
		if (at == NULL)
			return;
		at += 3;
	}
	(void)snprintf(cell, sizeof(cell), "%.*s", (int)strcspn(at, "|") - 1, at);
	at = strstr(cell, of->error == EPERM ? "EPERM: " : "ENOSYS: ");
	at = at != NULL ? strchr(at, ' ') + 1 : cell;
	(void)snprintf(text, room, "%.*s", (int)strcspn(at, ";"), at);
}

static char *
read_page(const char *path)
{
	static char text[65536];
	FILE *file = fopen(path, "r");
	size_t n = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file != NULL)
		(void)fclose(file);
	text[n] = '\0';
	return text;
}

static bool
report(unsigned number, const struct running *running, const char *page)
{
	const struct plan *of = &running->plan;
	enum outcome outcome = judge(running);
	const char *when = of->later ? "later" : "start";
	char said[128];
	bool good;

	if (outcome == NO_FILTER) {
		printf("ok %u /itapi/%s/sandbox/%s/%s # SKIP this kernel lets no process filter "
		       "its "
		       "system calls\n",
		       number, of->adapter, of->refusal->name, when);
		return true;
	}
	expected(page, of, said, sizeof(said));
	if (strcmp(of->refusal->name, "clone3") == 0 && threads_without_clone3(of))
		(void)snprintf(said, sizeof(said), "%s", outcomes[WORKS]);
	good = (outcome == WORKS || outcome == REFUSED) && strcmp(said, outcomes[outcome]) == 0;
	printf("%s %u /itapi/%s/sandbox/%s/%s\n", good ? "ok" : "not ok", number, of->adapter,
	       of->refusal->name, when);
	if (!good)
		printf("# %s: %s; the page says '%s'; %s: %d\n%s", strerror(of->error),
		       outcomes[outcome], said, running->told->call,
		       (int)running->told->report.status, running->told->lines);
	(void)munmap(running->told, sizeof(*running->told));
	return good;
}

/* One life whose calls are noted: the page has them all. */
static bool
report_calls(unsigned number, const char *adapter)
{
	struct running running = {.plan = {.adapter = adapter}};
	bool good;

	start(&running);
	good = judge(&running) == WORKS || running.told->unfiltered;
	for (int i = 0; i < CALLS; i++) {
		if (atomic_load(&running.told->called[i])) {
			printf("# the system call %d is in no list\n", i);
			good = false;
		}
	}
	printf("%s %u /itapi/%s/sandbox/complete%s\n", good ? "ok" : "not ok", number, adapter,
	       running.told->unfiltered ? " # SKIP this kernel tells no process its calls" : "");
	return good;
}

int
main(int argc, char **argv)
{
	static struct running cases[2 * REFUSALS];
	unsigned started = 0;
	bool good = true;
	const char *daemon = getenv("ITAPI_KALD"), *page;

	if (argc == 2 && strcmp(argv[1], "--table") == 0)
		return print_table();
	if (argc < 3)
		return 2;
	/* meson test --setup kald */
	if (daemon != NULL && strcmp(daemon, "off") != 0) {
		printf("1..0 # SKIP a sandbox that refuses a system call may not reach a daemon "
		       "that is "
		       "required\n");
		return 0;
	}
	page = read_page(argv[2]);
	printf("1..%u\n", (unsigned)(2 * REFUSALS + 1));
	for (unsigned i = 0; i < 2 * REFUSALS; i++) {
		for (; started < 2 * REFUSALS && started < i + AT_ONCE; started++) {
			cases[started].plan =
				(struct plan){&refusals[started / 2], argv[1],
					      argc > 3 ? ENOSYS : EPERM, started % 2 == 1};
			start(&cases[started]);
		}
		good &= report(i + 1, &cases[i], page);
	}
	good &= report_calls(2 * REFUSALS + 1, argv[1]);
	return good ? 0 : 1;
}
