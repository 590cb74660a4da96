/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Copies and atomics that meet a lost page, and the copy itself at every length and alignment. */
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vsw_copy.h"
#include "vsw_test_host.h"

#define LONGEST 300u

static size_t page;

/* Two pages. The second is lost. */
static uint8_t *
pages(int prot)
{
	uint8_t *at =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	g_assert_true(at != MAP_FAILED);
	g_assert_cmpint(mprotect(at + page, page, prot), ==, 0);
	return at;
}

static void
test_copy(void)
{
	uint8_t from[LONGEST + 32], to[LONGEST + 32];

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 37 + 11);
	for (size_t len = 0; len <= LONGEST; len++) {
		for (size_t skip = 0; skip < 16; skip += 3) {
			memset(to, 0xee, sizeof(to));
			g_assert_true(vsw_copy(to + skip, from + 16 - skip, len));
			g_assert_cmpmem(to + skip, len, from + 16 - skip, len);
			g_assert_cmpuint(to[skip + len], ==, 0xee);
			g_assert_true(skip == 0 || to[skip - 1] == 0xee);
		}
	}
}

/* A copy that begins 0 to 299 bytes before the lost page fails there. */
static void
test_lost(void)
{
	uint8_t own[LONGEST] = {0};

	if (vth_no_guards())
		return;
	uint8_t *none = pages(PROT_NONE), *read_only = pages(PROT_READ);
	vsw_guard_open();
	for (size_t there = 0; there < LONGEST; there++) {
		uint8_t *at = none + page - there;
		const void *lost;

		g_assert_true(vsw_copy(at, own, there));
		g_assert_null(vsw_guard_take());
		g_assert_false(vsw_copy(at, own, LONGEST));
		lost = vsw_guard_take();
		g_assert_true(vsw_guard_is_in(lost, at, LONGEST));
		g_assert_false(vsw_guard_is_in(lost, own, LONGEST));
		g_assert_true((const uint8_t *)lost >= none + page);
		g_assert_null(vsw_guard_take());
		g_assert_false(vsw_copy(own, at, LONGEST));
		g_assert_true(vsw_guard_is_in(vsw_guard_take(), at, LONGEST));
		g_assert_false(vsw_copy(read_only + page - there, own, LONGEST));
		g_assert_nonnull(vsw_guard_take());
		g_assert_true(vsw_copy(own, read_only + page - there, LONGEST));
	}
	vsw_guard_close();
	munmap(none, 2 * page);
	munmap(read_only, 2 * page);
}

static void
test_words(void)
{
	uint64_t value = 40, old = 0, wrong = 7;
	bool swapped = false;

	g_assert_true(vsw_guarded_load(&value, &old));
	g_assert_cmpuint(old, ==, 40);
	g_assert_true(vsw_guarded_add(&value, 2, &old));
	g_assert_cmpuint(old, ==, 40);
	g_assert_cmpuint(value, ==, 42);
	g_assert_true(vsw_guarded_swap(&value, &wrong, 1, &swapped));
	g_assert_false(swapped);
	g_assert_cmpuint(wrong, ==, 42);
	g_assert_true(vsw_guarded_swap(&value, &wrong, 1, &swapped));
	g_assert_true(swapped);
	g_assert_cmpuint(value, ==, 1);
	if (vth_no_guards())
		return;
	uint8_t *at = pages(PROT_NONE);
	uint64_t *lost = (uint64_t *)(void *)(at + page);
	vsw_guard_open();
	g_assert_false(vsw_guarded_load(lost, &old));
	g_assert_false(vsw_guarded_add(lost, 1, &old));
	g_assert_false(vsw_guarded_swap(lost, &wrong, 1, &swapped));
	g_assert_true(vsw_guard_take() == lost);
	vsw_guard_close();
	munmap(at, 2 * page);
}

/* --- handlers of the application -------------------------------------------------------------------------- */

static struct sigaction replaced;
static volatile sig_atomic_t foreign;

static void
leave(int sig, siginfo_t *info, void *context)
{
	(void)context;
	_exit(sig == SIGSEGV && info->si_code > 0 ? 42 : 43);
}

/* The application's handler passes every fault to the one that it has replaced. */
static void
pass_back(int sig, siginfo_t *info, void *context)
{
	foreign++;
	if (foreign > 100)
		_exit(44);
	replaced.sa_sigaction(sig, info, context);
}

static void
use_handler(void (*handler)(int, siginfo_t *, void *))
{
	const struct sigaction own = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	sigaction(SIGSEGV, &own, &replaced);
}

/* In a child, what became of it: its exit status, or 128 and its signal. */
static int
in_child(void (*run)(uint8_t *lost))
{
	int status = 0;
	pid_t child = fork();

	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		uint8_t *at = pages(PROT_NONE);

		signal(SIGSEGV, SIG_DFL);
		run(at + page);
		_exit(0);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void
own_fault(uint8_t *lost)
{
	vsw_guard_open();
	*(volatile uint8_t *)lost = 1;
}

static void
own_fault_handled(uint8_t *lost)
{
	use_handler(leave);
	own_fault(lost);
}

static void
sent_signal(uint8_t *lost)
{
	(void)lost;
	vsw_guard_open();
	raise(SIGSEGV);
}

/* A handler that was installed later, and passes what is not its own. */
static void
passed_back(uint8_t *lost)
{
	uint8_t own[64] = {0};

	vsw_guard_open();
	use_handler(pass_back);
	_exit(!vsw_copy(lost, own, sizeof(own)) && foreign == 1 ? 0 : 45);
}

/* Both pass to each other: the fault of the application still ends the process. */
static void
passed_in_a_ring(uint8_t *lost)
{
	vsw_guard_open();
	use_handler(pass_back);
	vsw_guard_close(); /* not the process's any more, so it stays */
	vsw_guard_open();
	*(volatile uint8_t *)lost = 1;
}

/* The handler runs on the alternate stack, which is small. */
static void
on_small_stack(uint8_t *lost)
{
	uint8_t own[64] = {0};
	static uint8_t stack[16384];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};

	sigaltstack(&alternate, NULL);
	vsw_guard_open();
	_exit(vsw_copy(lost, own, sizeof(own)) ? 45 : 0);
}

static void
test_handlers(void)
{
	if (vth_no_guards())
		return;
	g_assert_cmpint(in_child(own_fault_handled), ==, 42);
	g_assert_cmpint(in_child(passed_back), ==, 0);
	g_assert_cmpint(in_child(on_small_stack), ==, 0);
	g_assert_cmpint(in_child(own_fault), ==, 128 + SIGSEGV);
	g_assert_cmpint(in_child(sent_signal), ==, 128 + SIGSEGV);
	g_assert_cmpint(in_child(passed_in_a_ring), ==, 128 + SIGSEGV);
}

/* The handlers are there while an adapter is open. */
static void
test_open(void)
{
	struct sigaction before, now;

	sigaction(SIGBUS, NULL, &before);
	vsw_guard_open();
	vsw_guard_open();
	vsw_guard_close();
	sigaction(SIGBUS, NULL, &now);
#ifdef VSW_GUARDS
	g_assert_true(now.sa_handler != before.sa_handler);
	g_assert_cmpint(now.sa_flags & (SA_SIGINFO | SA_ONSTACK), ==, SA_SIGINFO | SA_ONSTACK);
#endif
	vsw_guard_close();
	sigaction(SIGBUS, NULL, &now);
	g_assert_true(now.sa_handler == before.sa_handler);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	page = (size_t)sysconf(_SC_PAGESIZE);
	g_test_add_func("/vsw/guard/copy", test_copy);
	g_test_add_func("/vsw/guard/lost", test_lost);
	g_test_add_func("/vsw/guard/words", test_words);
	g_test_add_func("/vsw/guard/handlers", test_handlers);
	g_test_add_func("/vsw/guard/open", test_open);
	return g_test_run();
}
