/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The system calls of the fast path [fast].
 *
 * The C library's send() and recv() are cancellation points. In a process with more than one thread, which
 * the service thread always makes it, they switch cancellation on and off again, two atomic operations per
 * call. A thread must not be cancelled in a post or a poll anyway (roles and locks of the engine would stay
 * taken), so these functions make the system call directly.
 *
 * ThreadSanitizer intercepts the C library's functions and learns from them that a send happens before the
 * receive of the same data. So they are used under ThreadSanitizer.
 */
#ifndef VIW_SOCKET_H
#define VIW_SOCKET_H

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VIW_SOCKET_PLAIN
#endif
#elif defined(__SANITIZE_THREAD__)
#define VIW_SOCKET_PLAIN
#endif

#ifdef VIW_SOCKET_PLAIN

#define viw_send     send
#define viw_recv     recv
#define viw_sendmsg  sendmsg
#define viw_sendmmsg sendmmsg
#define viw_recvmsg  recvmsg

#else

#if defined(__x86_64__) && !defined(__ILP32__)

/*
 * As syscall(), with four arguments and two zeros. syscall() itself would move each of its seven arguments to the next
 * register, two of them through the stack: 13 instructions in a post and in a poll.
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
