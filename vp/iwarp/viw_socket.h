/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The two system calls of the fast path [fast].
 *
 * The C library's send() and recv() are cancellation points: in a process with more than one thread,
 * and the service thread is always a second one, they mark the thread cancellable before and after, which costs
 * two atomic operations a call. A post or a poll is not a place where a thread may be cancelled anyway
 * (roles and locks of the engine would stay taken), so the kernel is asked directly.
 *
 * ThreadSanitizer learns from the C library's functions that what was sent came before what is received,
 * so under it those are called.
 */
#ifndef VIW_SOCKET_H
#define VIW_SOCKET_H

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

#define viw_send    send
#define viw_recv    recv
#define viw_sendmsg sendmsg
#define viw_recvmsg recvmsg

#else

/* As send(): octets, or -1 and errno. */
static inline ssize_t
viw_send(int fd, const void *from, size_t len, int flags)
{
	return syscall(SYS_sendto, fd, from, len, flags, NULL, 0);
}

/* As recv(). */
static inline ssize_t
viw_recv(int fd, void *to, size_t room, int flags)
{
	return syscall(SYS_recvfrom, fd, to, room, flags, NULL, NULL);
}

/* As sendmsg(). */
static inline ssize_t
viw_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return syscall(SYS_sendmsg, fd, msg, flags);
}

/* As recvmsg(). */
static inline ssize_t
viw_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return syscall(SYS_recvmsg, fd, msg, flags);
}

#endif

#endif /* VIW_SOCKET_H */
