/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The list of kal_fds.h. No other lock is taken under its lock. The lock is held while a descriptor is created, so
 * that no fork happens between the creation and the entry in the list; none of these system calls blocks.
 */

#include "kal_fds.h"
#include "ri_calls.h"
#include "ri_fd.h"
#include "ri_owned.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kal_fd *list;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
fds_before_fork(void)
{
	pthread_mutex_lock(&list_lock);
}

static void
fds_after_fork_parent(void)
{
	pthread_mutex_unlock(&list_lock);
}

/* The child never uses its copies of the owners' structs; only the descriptors are closed. */
static void
fds_after_fork_child(void)
{
	for (struct kal_fd *fd = list; fd != NULL; fd = fd->next) {
		ri_close(fd->value - 1);
		fd->value = 0;
	}
	list = NULL;
	pthread_mutex_unlock(&list_lock);
}

static void
fds_register_fork(void)
{
	(void)pthread_atfork(fds_before_fork, fds_after_fork_parent, fds_after_fork_child);
}

void
kal_fds_watch_forks(void)
{
	pthread_once(&once, fds_register_fork);
}

static void
fd_list_lock(void)
{
	kal_fds_watch_forks();
	pthread_mutex_lock(&list_lock);
}

/* The caller owns list_lock. */
static void
fd_list_link(struct kal_fd *fd, int made)
{
	RI_ASSERT_OWNED(&list_lock);
	fd->value = made + 1;
	fd->prev = NULL;
	fd->next = list;
	if (list != NULL)
		list->prev = fd;
	list = fd;
}

/* The caller owns list_lock, which this releases: enter the new descriptor, if there is one. */
static bool
fd_list_add(struct kal_fd *fd, int made)
{
	int error = errno;

	if (made >= 0)
		fd_list_link(fd, made);
	pthread_mutex_unlock(&list_lock);
	errno = error;
	return made >= 0;
}

bool
kal_fd_eventfd(struct kal_fd *fd)
{
	fd_list_lock();
	return fd_list_add(fd, ri_fd_eventfd());
}

bool
kal_fd_timerfd(struct kal_fd *fd)
{
	fd_list_lock();
	return fd_list_add(fd, ri_fd_timer());
}

bool
kal_fd_epoll(struct kal_fd *fd)
{
	fd_list_lock();
	return fd_list_add(fd, ri_fd_epoll());
}

bool
kal_fd_memory(struct kal_fd *fd, const char *name, unsigned flags)
{
	fd_list_lock();
	return fd_list_add(fd, ri_fd_memory(name, flags));
}

bool
kal_fd_socket(struct kal_fd *fd, int family, int type)
{
	fd_list_lock();
	return fd_list_add(fd, ri_fd_socket(family, type | SOCK_NONBLOCK, 0));
}

bool
kal_fd_pair(struct kal_fd *one, struct kal_fd *other)
{
	int pair[2];

	fd_list_lock();
	bool made = ri_fd_pair(SOCK_STREAM, pair) == 0;
	if (made)
		fd_list_link(other, pair[1]);
	return fd_list_add(one, made ? pair[0] : -1);
}

bool
kal_fd_accept(struct kal_fd *fd, int listener)
{
	fd_list_lock();
	return fd_list_add(fd, ri_fd_accept(listener, NULL, NULL, SOCK_NONBLOCK));
}

bool
kal_fd_duplicate(struct kal_fd *fd, int original)
{
	fd_list_lock();
	return fd_list_add(fd, ri_fd_duplicate(original));
}

/* The descriptors of a packet, as far as there is room for them; the others are closed. With the lock of the list. */
static void
take_all(struct msghdr *message, struct kal_fd *fds, size_t room)
{
	size_t taken = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int one;

			memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (taken == room)
				ri_close(one);
			else if ((one = ri_fd_lift(one)) >= 0)
				fd_list_link(&fds[taken++], one);
		}
	}
}

ssize_t
kal_fd_receive(struct kal_fd *fds, size_t room, int sock, struct msghdr *message)
{
	union {
		struct cmsghdr head;
		unsigned char room[CMSG_SPACE(KAL_FDS_MAX * sizeof(int))];
	} control;
	ssize_t n;
	int error;

	message->msg_control = &control;
	message->msg_controllen = sizeof(control);
	fd_list_lock();
	n = ri_recvmsg(sock, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	error = errno;
	if (n >= 0)
		take_all(message, fds, room);
	pthread_mutex_unlock(&list_lock);
	message->msg_control = NULL;
	message->msg_controllen = 0;
	errno = error;
	return n;
}

/* The caller owns list_lock. */
static int
fd_list_remove(struct kal_fd *fd)
{
	int value = fd->value;

	RI_ASSERT_OWNED(&list_lock);
	if (fd->prev != NULL)
		fd->prev->next = fd->next;
	else
		list = fd->next;
	if (fd->next != NULL)
		fd->next->prev = fd->prev;
	memset(fd, 0, sizeof(*fd));
	return value - 1;
}

int
kal_fd_release(struct kal_fd *fd)
{
	int value;

	if (fd->value == 0)
		return -1;
	fd_list_lock();
	value = fd_list_remove(fd);
	pthread_mutex_unlock(&list_lock);
	return value;
}

void
kal_fd_move(struct kal_fd *to, struct kal_fd *from)
{
	if (from->value == 0)
		return;
	fd_list_lock();
	(void)fd_list_add(to, fd_list_remove(from));
}

void
kal_fd_close(struct kal_fd *fd)
{
	int value = kal_fd_release(fd);

	if (value >= 0)
		ri_close(value);
}
