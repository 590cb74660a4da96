/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Lets each system call in turn fail once, with each of its errors (calls.h), in a whole application life (want.h). A
 * first run counts how often each call is made.
 * test-itapi-scarce-calls ADAPTER STRIDE [CALL...]: runs one of every STRIDE cases, and all cases of the named calls.
 * STRIDE 0: only the latter.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "it_ext.h"
#include "life.h"
#include "want.h"

#define ROCE_PORT 4791
#define MORE      3 /* one life makes some calls more than another one */

struct plan {
	const char *adapter;
	char **whole; /* names of calls; NULL ends them */
	unsigned long stride;
	unsigned long skipped; /* cases since one was run */
	unsigned refused;      /* cases in which a call failed */
};

/* How often each call is made, by a first life and by a second one, which is warm. */
struct counts {
	bool known;
	unsigned long of[2][64];
};

/* The library's own writer begins a thread when it cannot write at once, and that thread stays for a while. */
static void
write_line(void *context, int level, const char *where, const char *text)
{
	(void)context;
	dprintf(STDERR_FILENO, "%d %s: %s\n", level, where, text);
}

static bool
prepare(const struct want *want)
{
	itx_log_set_writer(write_line, NULL);
	return calls_watch((int)want->call);
}

static void
arm(const struct want *want)
{
	calls_arm(want->n, want->error);
}

/* What an application can expect of such an error, if it is not a shortage. */
static bool
accepts(const struct want *want, it_status_t status)
{
	return want->error == EADDRINUSE && status == IT_ERR_CONN_QUAL_BUSY;
}

static void
print(const struct want *want)
{
	printf("%s %lu (%s)", calls[want->call].name, want->n, strerror(want->error));
}

static void
count_child(const char *adapter, struct counts *counts)
{
	struct life_report report;

	itx_log_set_writer(write_line, NULL);
	if (!calls_watch(-1))
		return;
	for (unsigned warm = 0; warm < 2; warm++) {
		calls_arm(0, 0);
		life_run(adapter, &report);
		for (unsigned i = 0; i < calls_number; i++)
			counts->of[warm][i] = calls_count(i);
	}
	counts->known = true;
}

/* Another process has one of the addresses of roce:lo, as it may be anywhere; as long as this one exists. */
static void
occupy(void)
{
	static int fd;
	const struct sockaddr_in6 at = {.sin6_family = AF_INET6,
					.sin6_port = htons(ROCE_PORT),
					.sin6_addr = IN6ADDR_LOOPBACK_INIT};

	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* If another process has it really, that is the same. */
	if (fd >= 0)
		(void)bind(fd, (const struct sockaddr *)&at, sizeof(at));
}

/* NULL: this kernel does not report it. */
static const struct counts *
count(const char *adapter)
{
	struct counts *counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = counts != MAP_FAILED ? fork() : -1;
	int status;

	if (child == 0) {
		count_child(adapter, counts);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return NULL;
	return counts->known ? counts : NULL;
}

static bool
is_named(const struct plan *plan, const char *name)
{
	bool found = false;

	for (char **one = plan->whole; *one != NULL; one++)
		found |= strcmp(*one, name) == 0;
	return found;
}

/* Is this case of the sample? */
static bool
is_next(struct plan *plan)
{
	if (plan->stride == 0 || ++plan->skipped < plan->stride)
		return false;
	plan->skipped = 0;
	return true;
}

/* The n-th of that call, with each of its errors in turn. */
static void
sweep(unsigned number, struct plan *plan, unsigned call, bool warm, unsigned long made)
{
	struct want want = {.adapter = plan->adapter,
			    .warm = warm,
			    .call = call,
			    .prepare = prepare,
			    .arm = arm,
			    .disarm = calls_disarm,
			    .accepts = accepts,
			    .print = print};
	bool whole = is_named(plan, calls[call].name);
	unsigned cases = 0, bad = 0;

	for (unsigned i = 0; i < CALL_ERRORS && calls[call].errors[i] != 0 && made > 0; i++) {
		enum outcome outcome = WANT_FINE;

		want.error = calls[call].errors[i];
		for (want.n = 1; want.n <= made + MORE && outcome != WANT_NEVER; want.n++) {
			if (!whole && !is_next(plan))
				continue;
			outcome = want_run(&want);
			bad += outcome != WANT_FINE && outcome != WANT_NEVER;
			plan->refused += outcome == WANT_FINE;
			cases++;
		}
	}
	printf("%s %u /itapi/%s/scarce/%s-%s # %lu in a life, %u cases, %u bad\n",
	       bad == 0 ? "ok" : "not ok", number, plan->adapter, calls[call].name,
	       warm ? "warm" : "cold", made, cases, bad);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	struct plan plan = {.whole = argv + 3};
	const char *daemon = getenv("ITAPI_KALD");
	const struct counts *counts = NULL;

	if (argc < 3)
		return 2;
	plan.adapter = argv[1];
	plan.stride = strtoul(argv[2], NULL, 10);
	if (daemon != NULL && strcmp(daemon, "off") != 0) {
		printf("1..0 # SKIP a daemon that is required may not be reached without a system "
		       "call\n");
		return 0;
	}
	if (strncmp(plan.adapter, "roce", 4) == 0)
		occupy();
	if (getenv("ITAPI_TEST_NO_SCARCE") == NULL)
		counts = count(plan.adapter);
	if (counts == NULL) {
		printf("1..0 # SKIP this kernel tells no process its calls, or valgrind runs it\n");
		return 0;
	}
	printf("1..%u\n", 2 * calls_number);
	for (unsigned i = 0; i < calls_number; i++) {
		sweep(2 * i + 1, &plan, i, true, counts->of[1][i]);
		sweep(2 * i + 2, &plan, i, false, counts->of[0][i]);
	}
	if (plan.refused == 0)
		printf("Bail out! no call was refused\n");
	return plan.refused == 0;
}
