/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef RI_FD_H
#define RI_FD_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/**
 * @file
 * Descriptors of the library have numbers from 3. A process that has closed descriptor 2 still has code that writes to
 * it, as perror() and assert() do. If a connection had that number, such text would become part of its stream. So each
 * descriptor of the library and its providers is created by one of these functions; tools/dev/check-source.py refuses
 * other calls. All descriptors are closed by exec.
 */

/** The first number that a descriptor of the library may have. */
#define RI_FD_FIRST 3

/** MFD_CLOEXEC, which some C libraries show to programs with _GNU_SOURCE only. */
#define RI_FD_MEMORY_CLOEXEC 1u

/**
 * Give a descriptor a number from RI_FD_FIRST, before anything refers to the old one.
 * @param fd a new descriptor, or -1 with errno set
 * @return the descriptor, which may be another one; -1, with errno set: none, and fd is closed
 */
static inline int
ri_fd_lift(int fd)
{
	int lifted, error;

	if (fd < 0 || fd >= RI_FD_FIRST)
		return fd;
	lifted = fcntl(fd, F_DUPFD_CLOEXEC, RI_FD_FIRST);
	error = errno;
	close(fd);
	errno = error;
	return lifted;
}

/** As fcntl(fd, F_DUPFD_CLOEXEC). */
static inline int
ri_fd_duplicate(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, RI_FD_FIRST);
}

/** As dup3(), close-on-exec, to a number that the library has already. */
static inline int
ri_fd_replace(int fd, int number)
{
	return dup3(fd, number, O_CLOEXEC);
}

/** As socket(). */
static inline int
ri_fd_socket(int family, int type, int protocol)
{
	return ri_fd_lift(socket(family, type | SOCK_CLOEXEC, protocol));
}

/** As socketpair() of local sockets. */
static inline int
ri_fd_pair(int type, int pair[2])
{
	int error;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) != 0)
		return -1;
	pair[0] = ri_fd_lift(pair[0]);
	pair[1] = ri_fd_lift(pair[1]);
	if (pair[0] >= 0 && pair[1] >= 0)
		return 0;
	error = errno;
	for (int i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
	errno = error;
	return -1;
}

/** As accept4(). */
static inline int
ri_fd_accept(int listener, struct sockaddr *peer, socklen_t *len, int flags)
{
	return ri_fd_lift(accept4(listener, peer, len, flags | SOCK_CLOEXEC));
}

/** A non-blocking eventfd of value 0. */
static inline int
ri_fd_eventfd(void)
{
	return ri_fd_lift(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

/** A non-blocking timer of the monotonic clock. */
static inline int
ri_fd_timer(void)
{
	return ri_fd_lift(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
}

/** As epoll_create1(). */
static inline int
ri_fd_epoll(void)
{
	return ri_fd_lift(epoll_create1(EPOLL_CLOEXEC));
}

/** As memfd_create(). */
static inline int
ri_fd_memory(const char *name, unsigned flags)
{
	return ri_fd_lift((int)syscall(SYS_memfd_create, name, flags | RI_FD_MEMORY_CLOEXEC));
}

/** As open(); mode is used if flags have O_CREAT. */
static inline int
ri_fd_open(const char *path, int flags, mode_t mode)
{
	return ri_fd_lift(open(path, flags | O_CLOEXEC, mode));
}

/** As fopen(path, "r"). */
static inline FILE *
ri_fd_open_file(const char *path)
{
	int fd = ri_fd_open(path, O_RDONLY, 0);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (file == NULL && fd >= 0)
		close(fd);
	return file;
}

/** As opendir(). */
static inline DIR *
ri_fd_open_folder(const char *path)
{
	int fd = ri_fd_open(path, O_RDONLY | O_DIRECTORY, 0);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;

	if (folder == NULL && fd >= 0)
		close(fd);
	return folder;
}

/**
 * For a program at its start: if stdin, stdout or stderr is closed, open something in its place, in
 * the direction in which it is not used. So a file that the program opens never becomes its stderr,
 * and a write to the closed one still fails.
 */
static inline void
ri_fd_standard_open(void)
{
	for (int fd = 0; fd < RI_FD_FIRST; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

/** Descriptors that occupy the numbers below RI_FD_FIRST. */
struct ri_fd_filler {
	int count;
	int fds[RI_FD_FIRST];
};

/** Occupy the free numbers, during a call of another library that creates descriptors itself. */
static inline void
ri_fd_fill(struct ri_fd_filler *filler)
{
	int fd;

	filler->count = 0;
	while (filler->count < RI_FD_FIRST) {
		fd = open("/dev/null", O_PATH | O_CLOEXEC);
		if (fd >= RI_FD_FIRST)
			close(fd);
		if (fd < 0 || fd >= RI_FD_FIRST)
			return;
		filler->fds[filler->count++] = fd;
	}
}

/** After the call: free the numbers again. */
static inline void
ri_fd_free(const struct ri_fd_filler *filler)
{
	int error = errno;

	for (int i = 0; i < filler->count; i++)
		close(filler->fds[i]);
	errno = error;
}

#endif /* RI_FD_H */
