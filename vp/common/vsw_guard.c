/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The handler of SIGBUS and SIGSEGV behind vsw_guard.h.
 *
 * It resumes a thread whose fault lies in a guard. For a fault in a function that a guard calls (section vsw_guarded)
 * it unwinds the stack with libgcc's unwinder up to the guard, and resumes there with the registers that a function
 * keeps. An unrelated fault is never unwound; it goes to the handler that was installed before, or ends the process at
 * the instruction that caused it.
 *
 * An application that installs a handler of its own later replaces this one; its handler may call the one that it has
 * replaced. The handlers are removed with the last adapter, if they are still the process's.
 *
 * Threads: any. The handler is async-signal-safe: it calls sigaction, pthread_sigmask, tgkill and the unwinder, which takes no
 * lock with glibc 2.35 and libgcc 12, and whose first call vsw_guard_open makes.
 */
#include "vsw_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define FRAMES_MOST 16 /* from the handler to a guard: handler, trampoline, copy, what it calls */

static _Thread_local const void *volatile fault_at __attribute__((tls_model("initial-exec")));

const void *
vsw_guard_take(void)
{
	const void *at = fault_at;

	fault_at = NULL;
	return at;
}

#ifdef VSW_GUARDS

/* Distances from each member to what it names. */
struct guard {
	int32_t first, end, lost;
};

/* Set by the linker; NULL if the program has none of them. */
#define OF_LINKER __attribute__((weak, visibility("hidden")))
extern const struct guard __start_vsw_guards[] OF_LINKER, __stop_vsw_guards[] OF_LINKER;
extern const uint8_t __start_vsw_guarded[] OF_LINKER, __stop_vsw_guarded[] OF_LINKER;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned adapters; /* that are open in this process */
static const int signals[] = {SIGBUS, SIGSEGV};
static struct sigaction before[2]; /* what was there before this */
static _Thread_local volatile sig_atomic_t passing __attribute__((
	tls_model("initial-exec"))); /* inside of the handler that was there before */

#ifdef VSW_GUARD_ASAN
void __asan_handle_no_return(void);
#endif

/* Where a thread continues that faults at this instruction; 0: it is in no guard. */
static uintptr_t
lost_of(uintptr_t pc)
{
	for (const struct guard *g = __start_vsw_guards; g < __stop_vsw_guards; g++) {
		if (pc >= (uintptr_t)&g->first + (uintptr_t)(intptr_t)g->first &&
		    pc < (uintptr_t)&g->end + (uintptr_t)(intptr_t)g->end)
			return (uintptr_t)&g->lost + (uintptr_t)(intptr_t)g->lost;
	}
	return 0;
}

struct search {
	greg_t *registers; /* of the interrupted context, to be changed */
	unsigned frames;
	bool found;
};

static _Unwind_Reason_Code
look_at_frame(struct _Unwind_Context *frame, void *arg)
{
	/* Registers that a function keeps: their numbers in DWARF, and in the context. */
	static const struct {
		int dwarf, context;
	} kept[] = {{3, REG_RBX},  {6, REG_RBP},  {12, REG_R12},
		    {13, REG_R13}, {14, REG_R14}, {15, REG_R15}};
	struct search *search = arg;
	int exact = 0;
	uintptr_t pc = _Unwind_GetIPInfo(frame, &exact);
	/* A return address may already be behind the guard. */
	uintptr_t lost = exact ? 0 : lost_of(pc - 1);

	if (lost == 0)
		return ++search->frames < FRAMES_MOST ? _URC_NO_REASON : _URC_NORMAL_STOP;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		search->registers[kept[i].context] = (greg_t)_Unwind_GetGR(frame, kept[i].dwarf);
	search->registers[REG_RSP] = (greg_t)_Unwind_GetCFA(frame);
	search->registers[REG_RIP] = (greg_t)lost;
	search->found = true;
	return _URC_NORMAL_STOP;
}

/* Was the access refused by the page tables? A signal that was sent, and an address that no page can have, are others. */
static bool
is_lost_page(int sig, const siginfo_t *info)
{
	if (sig == SIGSEGV)
		return info->si_code > 0 && info->si_code != SI_KERNEL;
	return info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR ||
	       info->si_code == BUS_MCEERR_AR;
}

/* Let the thread continue behind the access. False: the fault was not in a guarded access. */
static bool
resume(ucontext_t *context)
{
	struct search search = {.registers = context->uc_mcontext.gregs};
	uintptr_t pc = (uintptr_t)search.registers[REG_RIP];
	uintptr_t lost = lost_of(pc);

	if (lost != 0) {
		search.registers[REG_RIP] = (greg_t)lost;
		return true;
	}
	if (pc < (uintptr_t)__start_vsw_guarded || pc >= (uintptr_t)__stop_vsw_guarded)
		return false;
	(void)_Unwind_Backtrace(look_at_frame, &search);
#ifdef VSW_GUARD_ASAN
	__asan_handle_no_return(); /* frames are left without their ends */
#endif
	return search.found;
}

/* The signal is not for this library: do what would have happened without it. */
static void
pass_on(int sig, siginfo_t *info, void *context)
{
	struct sigaction *old = &before[sig == SIGSEGV];
	bool sent = info->si_code <= 0;
	bool plain = (old->sa_flags & SA_SIGINFO) == 0;
	sigset_t self;

	if (plain && old->sa_handler == SIG_IGN && sent)
		return;
	if (passing || (plain && (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN))) {
		const struct sigaction end = {.sa_handler = SIG_DFL};

		/* The instruction runs again after the return, and ends the process. */
		(void)sigaction(sig, &end, NULL);
		if (sent)
			(void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), sig);
		return;
	}
	(void)pthread_sigmask(SIG_BLOCK, &old->sa_mask, NULL);
	if ((old->sa_flags & SA_NODEFER) != 0) {
		sigemptyset(&self);
		sigaddset(&self, sig);
		(void)pthread_sigmask(SIG_UNBLOCK, &self, NULL);
	}
	passing = 1; /* a handler that calls this one again would never end */
	if (plain)
		old->sa_handler(sig);
	else
		old->sa_sigaction(sig, info, context);
	passing = 0;
}

static void
on_fault(int sig, siginfo_t *info, void *context)
{
	int error = errno;

	if (is_lost_page(sig, info) && resume(context))
		fault_at = info->si_addr;
	else
		pass_on(sig, info, context);
	errno = error;
}

static _Unwind_Reason_Code
stop_at_once(struct _Unwind_Context *frame, void *arg)
{
	(void)frame;
	(void)arg;
	return _URC_NORMAL_STOP;
}

/* Put back the handlers that were there before, where nobody has installed others since. */
static void
handlers_restore(void)
{
	struct sigaction now;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (sigaction(signals[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
		    now.sa_sigaction == on_fault)
			(void)sigaction(signals[i], &before[i], NULL);
	}
}

/* The child of a fork has none of its parent's adapters open. */
static void
guards_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	if (adapters > 0)
		handlers_restore();
	adapters = 0;
}

__attribute__((constructor)) static void
guards_watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, guards_forked);
}

void
vsw_guard_open(void)
{
	/* On the alternate stack, if the thread has one: the handler that this one passes faults to may need it. */
	struct sigaction mine = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	sigemptyset(&mine.sa_mask);
	pthread_mutex_lock(&lock);
	if (adapters++ == 0) {
		(void)_Unwind_Backtrace(stop_at_once, NULL); /* what it loads is loaded here */
		for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
			(void)sigaction(signals[i], NULL, &before[i]);
			(void)sigaction(signals[i], &mine, NULL);
		}
	}
	pthread_mutex_unlock(&lock);
}

void
vsw_guard_close(void)
{
	pthread_mutex_lock(&lock);
	if (--adapters == 0)
		handlers_restore();
	pthread_mutex_unlock(&lock);
}

#else

void
vsw_guard_open(void)
{
}

void
vsw_guard_close(void)
{
}

#endif
