/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The list of kal_fds.h. Its lock is the last one anybody takes. It is held while a descriptor is
 * made, so that no fork falls between the making and the listing; all these calls are immediate.
 */

#include "kal_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kal_fd *list;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
before_fork(void)
{
	pthread_mutex_lock(&list_lock);
}

static void
after_fork_parent(void)
{
	pthread_mutex_unlock(&list_lock);
}

/* The owners' structs are copies that nobody will use again; only the descriptors matter. */
static void
after_fork_child(void)
{
	for (struct kal_fd *fd = list; fd != NULL; fd = fd->next) {
		close(fd->value - 1);
		fd->value = 0;
	}
	list = NULL;
	pthread_mutex_unlock(&list_lock);
}

static void
watch_forks(void)
{
	(void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void
kal_fds_watch_forks(void)
{
	pthread_once(&once, watch_forks);
}

static void
lock_list(void)
{
	kal_fds_watch_forks();
	pthread_mutex_lock(&list_lock);
}

/* With the lock held: list what was made, let go of the lock. */
static bool
enlist(struct kal_fd *fd, int made)
{
	int error = errno;

	if (made >= 0) {
		fd->value = made + 1;
		fd->prev = NULL;
		fd->next = list;
		if (list != NULL)
			list->prev = fd;
		list = fd;
	}
	pthread_mutex_unlock(&list_lock);
	errno = error;
	return made >= 0;
}

bool
kal_fd_eventfd(struct kal_fd *fd)
{
	lock_list();
	return enlist(fd, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

bool
kal_fd_timerfd(struct kal_fd *fd)
{
	lock_list();
	return enlist(fd, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
}

bool
kal_fd_epoll(struct kal_fd *fd)
{
	lock_list();
	return enlist(fd, epoll_create1(EPOLL_CLOEXEC));
}

bool
kal_fd_socket(struct kal_fd *fd, int family, int type)
{
	lock_list();
	return enlist(fd, socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool
kal_fd_accept(struct kal_fd *fd, int listener, struct sockaddr *peer, socklen_t *len)
{
	lock_list();
	return enlist(fd, accept4(listener, peer, len, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool
kal_fd_duplicate(struct kal_fd *fd, int original)
{
	lock_list();
	return enlist(fd, fcntl(original, F_DUPFD_CLOEXEC, 0));
}

/* With the lock held. */
static int
delist(struct kal_fd *fd)
{
	int value = fd->value;

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
	lock_list();
	value = delist(fd);
	pthread_mutex_unlock(&list_lock);
	return value;
}

void
kal_fd_move(struct kal_fd *to, struct kal_fd *from)
{
	if (from->value == 0)
		return;
	lock_list();
	(void)enlist(to, delist(from));
}

void
kal_fd_close(struct kal_fd *fd)
{
	int value = kal_fd_release(fd);

	if (value >= 0)
		close(value);
}
