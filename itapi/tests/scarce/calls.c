/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "notice.h"

/* Architectures that came later, such as arm64, have only the newer call of each pair. */
#ifdef SYS_epoll_wait
#define OLD_EPOLL_WAIT (SYS_epoll_wait + 1)
#define OLD_POLL       (SYS_poll + 1)
#define OLD_MKDIR      (SYS_mkdir + 1)
#else
#define OLD_EPOLL_WAIT 0
#define OLD_POLL       0
#define OLD_MKDIR      0
#endif

/* Only these need memory or a descriptor. */
static bool
adds(const struct seccomp_data *data)
{
	return data->args[1] == EPOLL_CTL_ADD;
}

static bool
duplicates(const struct seccomp_data *data)
{
	return data->args[1] == F_DUPFD || data->args[1] == F_DUPFD_CLOEXEC;
}

/* Another socket that receives lacks nothing. */
static bool
is_netlink(const struct seccomp_data *data)
{
	int domain = 0;
	socklen_t size = sizeof(domain);

	return getsockopt((int)data->args[0], SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
	       domain == AF_NETLINK;
}

static bool
is_no_netlink(const struct seccomp_data *data)
{
	return !is_netlink(data);
}

/* clang-format off */
const struct call calls[] = {
	{"accept4", {SYS_accept4 + 1}, {EMFILE, ECONNABORTED, ENOBUFS}, NULL},
	{"bind", {SYS_bind + 1}, {ENOMEM, EADDRINUSE}, NULL},
	{"clone", {SYS_clone3 + 1, SYS_clone + 1}, {EAGAIN}, NULL},
	{"connect", {SYS_connect + 1}, {ENOBUFS, EADDRNOTAVAIL, ENETUNREACH}, NULL},
	{"epoll_create1", {SYS_epoll_create1 + 1}, {EMFILE, ENOMEM}, NULL},
	{"epoll_ctl", {SYS_epoll_ctl + 1}, {ENOMEM, ENOSPC}, adds},
	{"epoll_wait", {SYS_epoll_pwait + 1, OLD_EPOLL_WAIT}, {EINTR}, NULL},
	{"eventfd2", {SYS_eventfd2 + 1}, {EMFILE, ENOMEM}, NULL},
	{"fcntl", {SYS_fcntl + 1}, {EMFILE}, duplicates},
	{"flock", {SYS_flock + 1}, {ENOLCK, EINTR}, NULL},
	{"fstatfs", {SYS_fstatfs + 1}, {ENOMEM, EINTR}, NULL},
	{"ftruncate", {SYS_ftruncate + 1}, {ENOMEM, EINTR}, NULL},
	{"getdents64", {SYS_getdents64 + 1}, {ENOMEM}, NULL},
	{"getpeername", {SYS_getpeername + 1}, {ENOBUFS, ENOTCONN}, NULL},
	{"getrandom", {SYS_getrandom + 1}, {EINTR}, NULL},
	{"getsockname", {SYS_getsockname + 1}, {ENOBUFS}, NULL},
	{"getsockopt", {SYS_getsockopt + 1}, {ENOMEM}, NULL},
	{"ioctl", {SYS_ioctl + 1}, {ENOMEM}, NULL},
	{"listen", {SYS_listen + 1}, {ENOBUFS, EADDRINUSE}, NULL},
	{"madvise", {SYS_madvise + 1}, {ENOMEM, EAGAIN}, NULL},
	{"membarrier", {SYS_membarrier + 1}, {ENOMEM}, NULL},
	{"memfd_create", {SYS_memfd_create + 1}, {EMFILE, ENOMEM}, NULL},
	{"mkdir", {SYS_mkdirat + 1, OLD_MKDIR}, {ENOSPC}, NULL},
	{"mmap", {SYS_mmap + 1}, {ENOMEM}, NULL},
	{"mprotect", {SYS_mprotect + 1}, {ENOMEM}, NULL},
	{"openat", {SYS_openat + 1}, {EMFILE, ENFILE, ENOMEM}, NULL},
	{"ppoll", {SYS_ppoll + 1, OLD_POLL}, {EINTR, ENOMEM}, NULL},
	{"recv", {SYS_recvfrom + 1, SYS_recvmsg + 1, SYS_recvmmsg + 1}, {EINTR}, NULL},
	{"recv of netlink", {SYS_recvfrom + 1, SYS_recvmsg + 1}, {ENOBUFS, ENOMEM}, is_netlink},
	{"send", {SYS_sendmsg + 1, SYS_sendmmsg + 1, SYS_sendto + 1}, {EAGAIN}, is_no_netlink},
	{"sendmsg", {SYS_sendmsg + 1, SYS_sendmmsg + 1}, {ENOBUFS, EINTR}, NULL},
	{"sendto", {SYS_sendto + 1}, {ENOBUFS, EINTR}, NULL},
	{"setsockopt", {SYS_setsockopt + 1}, {ENOBUFS}, NULL},
	{"shutdown", {SYS_shutdown + 1}, {ENOTCONN}, NULL},
	{"socket", {SYS_socket + 1}, {EMFILE, ENOBUFS}, NULL},
	{"socketpair", {SYS_socketpair + 1}, {EMFILE}, NULL},
	{"stat", {SYS_statx + 1, SYS_newfstatat + 1}, {ENOMEM}, NULL},
	{"timerfd_create", {SYS_timerfd_create + 1}, {EMFILE, ENOMEM}, NULL},
	{"timerfd_settime", {SYS_timerfd_settime + 1}, {ENOMEM}, NULL},
};
/* clang-format on */

const unsigned calls_number = sizeof(calls) / sizeof(calls[0]);

static int watched; /* -1: all */
static atomic_bool armed;
static atomic_int only; /* of that thread; 0: of all */
static atomic_int failure;
static atomic_ulong counted, fail_at, refused, each[sizeof(calls) / sizeof(calls[0])];

/* Is it this one of the table, is that watched, and does it count? */
static bool
matches(const struct seccomp_data *data, unsigned which)
{
	const struct call *call = &calls[which];
	bool same = false;

	if (watched >= 0 && watched != (int)which)
		return false;
	for (unsigned k = 0; k < CALL_NUMBERS; k++)
		same |= call->numbers[k] == data->nr + 1;
	return same && (call->counts == NULL || call->counts(data));
}

static int
answer(const struct seccomp_notif *notif)
{
	int thread = atomic_load(&only);
	const struct call *call = NULL;

	if (!atomic_load(&armed) || (thread != 0 && (int)notif->pid != thread))
		return 0;
	for (unsigned i = 0; i < calls_number; i++) {
		if (matches(&notif->data, i)) {
			atomic_fetch_add(&each[i], 1);
			call = &calls[i];
		}
	}
	if (call == NULL || atomic_fetch_add(&counted, 1) + 1 != atomic_load(&fail_at))
		return 0;
	atomic_fetch_add(&refused, 1);
	return thread != 0 ? call->errors[0] : atomic_load(&failure);
}

bool
calls_watch(int which)
{
	static struct sock_filter filter[sizeof(calls) / sizeof(calls[0]) * CALL_NUMBERS * 2 + 2];
	struct sock_fprog program = {0, filter};
	unsigned n = 0;

	watched = which;
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < calls_number; i++) {
		for (unsigned k = 0; k < CALL_NUMBERS && (which < 0 || (unsigned)which == i); k++) {
			if (calls[i].numbers[k] == 0)
				continue;
			filter[n++] = (struct sock_filter)BPF_JUMP(
				BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].numbers[k] - 1, 0, 1);
			filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
								   SECCOMP_RET_USER_NOTIF);
		}
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	return notice_calls(&program, answer);
}

static void
arm(unsigned long n, int error, int thread)
{
	atomic_store(&armed, false);
	atomic_store(&counted, 0);
	atomic_store(&refused, 0);
	for (unsigned i = 0; i < calls_number; i++)
		atomic_store(&each[i], 0);
	atomic_store(&fail_at, n);
	atomic_store(&failure, error);
	atomic_store(&only, thread);
	atomic_store(&armed, true);
}

void
calls_arm(unsigned long n, int error)
{
	arm(n, error, 0);
}

void
calls_arm_here(unsigned long n)
{
	arm(n, 0, gettid());
}

unsigned long
calls_disarm(void)
{
	atomic_store(&armed, false);
	return atomic_load(&refused);
}

unsigned long
calls_count(unsigned which)
{
	return atomic_load(&each[which]);
}
