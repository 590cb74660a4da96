/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The system calls of the fast path [fast].
 *
 * The system calls are made directly, because the C library's functions are cancellation points (ri_calls.h says more). Unlike
 * ri_send() and ri_recv() these functions need no call into the C library where the processor's convention is known.
 */
#ifndef VIW_SOCKET_H
#define VIW_SOCKET_H

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ri_calls.h"

#ifdef RI_CALLS_PLAIN

#define viw_send ri_send
#define viw_recv ri_recv

static inline ssize_t
viw_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return RI_CALL(sendmsg(fd, msg, flags), 0);
}

static inline int
viw_sendmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags)
{
	return RI_CALL(sendmmsg(fd, msgs, count, flags), 0);
}

static inline ssize_t
viw_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return RI_CALL(recvmsg(fd, msg, flags), 0);
}

#else

#if defined(__x86_64__) && !defined(__ILP32__)

/*
 * A system call with four arguments, the other two being zero. syscall() itself would move each of
 * its seven arguments to the next register, two of them through the stack, which is 13 instructions
 * in a post and in a poll.
 */
static inline long
viw_syscall(long number, int fd, const void *at, size_t len, int flags)
{
	register long arg4 __asm__("r10") = flags;
	register long arg5 __asm__("r8") = 0;
	register long arg6 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"((long)fd), "S"(at), "d"(len), "r"(arg4), "r"(arg5),
			   "r"(arg6)
			 : "rcx", "r11", "memory");
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

#else

static inline long
viw_syscall(long number, int fd, const void *at, size_t len, int flags)
{
	return syscall(number, fd, at, len, flags, NULL, 0);
}

#endif

/* As send(): octets, or -1 and errno. */
static inline ssize_t
viw_send(int fd, const void *from, size_t len, int flags)
{
	return viw_syscall(SYS_sendto, fd, from, len, flags);
}

/* As recv(). */
static inline ssize_t
viw_recv(int fd, void *to, size_t room, int flags)
{
	return viw_syscall(SYS_recvfrom, fd, to, room, flags);
}

/* As sendmsg(). */
static inline ssize_t
viw_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return syscall(SYS_sendmsg, fd, msg, flags);
}

/* As sendmmsg(). */
static inline int
viw_sendmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags)
{
	return (int)syscall(SYS_sendmmsg, fd, msgs, count, flags);
}

/* As recvmsg(). */
static inline ssize_t
viw_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return syscall(SYS_recvmsg, fd, msg, flags);
}

#endif

#endif /* VIW_SOCKET_H */
