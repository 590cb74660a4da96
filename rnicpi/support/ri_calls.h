/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RI_CALLS_H
#define RI_CALLS_H

/**
 * @file ri_calls.h
 * @brief System calls that are no cancellation points.
 *
 * A thread that is cancelled inside of a post, a poll or an upcall would leave locks and roles that nobody gives back [IT 1.19]. The C
 * library's read(), write(), close() and others are cancellation points. So code that may run in those calls makes the
 * system call itself, which costs less, too: in a process of several threads the C library's functions switch cancellation on
 * and off, two atomic operations per call. Each function here returns what the C library's function of that name returns, and
 * sets errno.
 *
 * ThreadSanitizer intercepts the C library's functions and learns from them that a write happens before the read of the same
 * descriptor. Under ThreadSanitizer the functions are therefore called, while the thread cannot be cancelled.
 */

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || !defined(__LP64__)
#define RI_CALLS_PLAIN /* without LP64 the kernel's struct timespec may be another one */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RI_CALLS_PLAIN
#endif
#endif

#ifdef RI_CALLS_PLAIN
/** @brief The value of @p call, during which this thread cannot be cancelled. */
#define RI_CALL(call, raw)                                                  \
	__extension__({                                                     \
		int ri_state_;                                              \
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ri_state_); \
		__typeof__(call) ri_result_ = (call);                       \
		pthread_setcancelstate(ri_state_, NULL);                    \
		ri_result_;                                                 \
	})
#else
#define RI_CALL(call, raw) ((__typeof__(call))(raw))
#endif

static inline ssize_t
ri_read(int fd, void *to, size_t room)
{
	return RI_CALL(read(fd, to, room), syscall(SYS_read, fd, to, room));
}

static inline ssize_t
ri_write(int fd, const void *from, size_t len)
{
	return RI_CALL(write(fd, from, len), syscall(SYS_write, fd, from, len));
}

static inline int
ri_close(int fd)
{
	return RI_CALL(close(fd), syscall(SYS_close, fd));
}

static inline int
ri_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	return RI_CALL(connect(fd, to, len), syscall(SYS_connect, fd, to, len));
}

static inline ssize_t
ri_send(int fd, const void *from, size_t len, int flags)
{
	return RI_CALL(send(fd, from, len, flags),
		       syscall(SYS_sendto, fd, from, len, flags, NULL, 0));
}

static inline ssize_t
ri_recv(int fd, void *to, size_t room, int flags)
{
	return RI_CALL(recv(fd, to, room, flags),
		       syscall(SYS_recvfrom, fd, to, room, flags, NULL, NULL));
}

static inline ssize_t
ri_sendmsg(int fd, const struct msghdr *message, int flags)
{
	return RI_CALL(sendmsg(fd, message, flags), syscall(SYS_sendmsg, fd, message, flags));
}

static inline ssize_t
ri_recvmsg(int fd, struct msghdr *message, int flags)
{
	return RI_CALL(recvmsg(fd, message, flags), syscall(SYS_recvmsg, fd, message, flags));
}

/** @brief poll() with a time-out in ms; it returns early after a signal. */
static inline int
ri_poll(struct pollfd *fds, nfds_t count, int ms)
{
	struct timespec span = {ms / 1000, ms % 1000 * 1000000L};

	return RI_CALL(ppoll(fds, count, &span, NULL),
		       syscall(SYS_ppoll, fds, count, &span, NULL, 0));
}

/** @brief recvmmsg() without a time. */
static inline int
ri_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	return RI_CALL(recvmmsg(fd, messages, count, flags, NULL),
		       syscall(SYS_recvmmsg, fd, messages, count, flags, NULL));
}

/** @brief poll() that does not sleep. */
static inline int
ri_poll_now(struct pollfd *fds, nfds_t count)
{
	static const struct timespec none = {0, 0};

	return RI_CALL(ppoll(fds, count, &none, NULL),
		       syscall(SYS_ppoll, fds, count, &(struct timespec){0, 0}, NULL, 0));
}

/** @brief epoll_wait() that does not sleep. */
static inline int
ri_epoll_now(int fd, struct epoll_event *events, int room)
{
	return RI_CALL(epoll_wait(fd, events, room, 0),
		       syscall(SYS_epoll_pwait, fd, events, room, 0, NULL, 0));
}

/** @brief nanosleep(); returns early after a signal. */
static inline void
ri_nap(const struct timespec *span)
{
	(void)RI_CALL(nanosleep(span, NULL),
		      syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, span, NULL));
}

#endif
