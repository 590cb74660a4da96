/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * See ri_outlet.h. The order of texts is kept: a caller writes by itself only while the ring is empty. A text stays in the
 * ring until the thread has written it, so the ring is empty only if nothing is under way.
 *
 * The number of the descriptor is the application's, which may close it at any time. So a write goes to a duplicate or
 * a description of its own, which is compared with the file that was given, and then closed. To keep one would keep
 * a pipe open whose reader waits for its end. A regular file is compared and written without a duplicate, because
 * to close a duplicate would release the locks that the process has on the file by fcntl().
 */

#include "ri_outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "ri_fd.h"
#include "ri_owned.h"

/* How a caller can write without blocking. */
enum way {
	WAY_NONE = 0, /* no caller can: by the thread */
	WAY_REOPEN,   /* a pipe or terminal: a description of its own that is non-blocking */
	WAY_SEND,     /* a local socket */
	WAY_AT_ONCE   /* a local file or a memory device */
};

#define STACK  131072
#define MEMORY 1 /* major number of /dev/null, /dev/full and the like */

/* File systems whose files wait for a server. */
static bool
is_remote(int fd)
{
	static const unsigned long remote[] = {
		NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,   0xfe534d42 /* SMB2 */, 0xff534d42 /* CIFS */,
		FUSE_SUPER_MAGIC, V9FS_MAGIC,        AFS_SUPER_MAGIC,       CEPH_SUPER_MAGIC,
		CODA_SUPER_MAGIC, OCFS2_SUPER_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return true;
	for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++) {
		if ((unsigned long)fs.f_type == remote[i])
			return true;
	}
	return false;
}

/* Is it a local socket? Others could be a connection of the application. */
static bool
is_local_socket(int fd)
{
	int family = AF_UNSPEC;
	socklen_t len = sizeof(family);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) == 0 && family == AF_UNIX;
}

/* False: text for people does not belong there. */
static bool
way_to(int fd, const struct stat *is, int *way)
{
	int flags = fcntl(fd, F_GETFL);

	/* Opened anew, it would be writable although this process may not write to it. */
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) != 0)
		return false;
	*way = WAY_NONE;
	switch (is->st_mode & S_IFMT) {
	case S_IFREG:
		*way = is_remote(fd) ? WAY_NONE : WAY_AT_ONCE;
		return true;
	case S_IFSOCK:
		*way = WAY_SEND;
		return is_local_socket(fd);
	case S_IFCHR:
		if (major(is->st_rdev) == MEMORY)
			*way = WAY_AT_ONCE;
		else if (isatty(fd))
			*way = WAY_REOPEN;
		return true;
	case S_IFIFO:
		*way = WAY_REOPEN;
		return true;
	default:
		return false;
	}
}

static _Atomic(struct ri_outlet *) outlets;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A child has neither the threads nor, as its own, the texts that wait. A lost thread may have owned a lock. */
static void
outlets_after_fork(void)
{
	const pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

	for (struct ri_outlet *o = atomic_load(&outlets); o != NULL; o = atomic_load(&o->next)) {
		o->lock = lock;
		o->more = cond;
		o->done = cond;
		o->thread = false;
		o->telling = false;
		o->lost = 0;
		o->used = 0;
		for (int i = 0; i < 2; i++) {
			int own = atomic_exchange(&o->own[i], 0);

			/* It would keep the pipe open for as long as the child lives. */
			if (own > 0)
				close(own - 1);
		}
	}
}

static void
register_fork(void)
{
	(void)pthread_atfork(NULL, NULL, outlets_after_fork);
}

bool
ri_outlet_direct(struct ri_outlet *outlet, int fd)
{
	struct stat is;
	int way = WAY_NONE;
	bool good = fd >= 0 && fstat(fd, &is) == 0 && way_to(fd, &is, &way);

	(void)pthread_once(&once, register_fork);
	if (!atomic_exchange(&outlet->listed, true)) {
		struct ri_outlet *first = atomic_load(&outlets);

		do
			atomic_store(&outlet->next, first);
		while (!atomic_compare_exchange_weak(&outlets, &first, outlet));
	}
	pthread_mutex_lock(&outlet->lock);
	outlet->target.fd = good ? fd : -1;
	outlet->target.way = way;
	outlet->target.device = good ? is.st_dev : 0;
	outlet->target.inode = good ? is.st_ino : 0;
	pthread_mutex_unlock(&outlet->lock);
	return good;
}

/* --- writing ------------------------------------------------------------------------------- */

/* Is this descriptor the file that was given? */
static bool
is_given(const struct ri_outlet_target *target, int fd)
{
	struct stat is;

	return fstat(fd, &is) == 0 && is.st_dev == target->device && is.st_ino == target->inode;
}

/* What a write has come to: octets that were taken; 0: it would block; -1: nobody takes it any more. */
static ssize_t
outcome(ssize_t written)
{
	if (written >= 0)
		return written;
	return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

static void
own_close(atomic_int *own)
{
	int fd = atomic_exchange(own, 0) - 1;

	if (fd >= 0)
		close(fd);
}

static ssize_t
write_reopened(struct ri_outlet *outlet, const char *text, size_t len)
{
	const struct ri_outlet_target *target = &outlet->target;
	char path[32];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", target->fd);
	if (!is_given(target, target->fd))
		return -1;
	fd = ri_fd_open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return errno == ENXIO ? -1 : 0; /* a pipe without a reader; or the thread can */
	atomic_store(&outlet->own[0], fd + 1);
	n = is_given(target, fd) ? outcome(write(fd, text, len)) : -1;
	own_close(&outlet->own[0]);
	return n;
}

static ssize_t
write_sent(struct ri_outlet *outlet, const char *text, size_t len)
{
	const struct ri_outlet_target *target = &outlet->target;
	int fd = ri_fd_duplicate(target->fd);
	ssize_t n;

	if (fd < 0)
		return errno == EBADF ? -1 : 0;
	atomic_store(&outlet->own[0], fd + 1);
	n = is_given(target, fd) ? outcome(send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL)) : -1;
	own_close(&outlet->own[0]);
	return n;
}

/* Write without blocking; as outcome(). */
static ssize_t
write_now(struct ri_outlet *outlet, const char *text, size_t len)
{
	const struct ri_outlet_target *target = &outlet->target;

	switch ((enum way)target->way) {
	case WAY_REOPEN:
		return write_reopened(outlet, text, len);
	case WAY_SEND:
		return write_sent(outlet, text, len);
	case WAY_AT_ONCE:
		if (!is_given(target, target->fd))
			return -1;
		return outcome(write(target->fd, text, len));
	case WAY_NONE:
	default:
		return 0;
	}
}

/* Write all of it, on the outlet's thread, whose signals are blocked; own: a duplicate, or -1. */
static void
write_waiting(const struct ri_outlet_target *target, int own, const char *text, size_t len)
{
	int fd = own >= 0 ? own : target->fd; /* a regular file, or out of descriptors */
	ssize_t n;

	while (len > 0 && is_given(target, fd)) {
		n = outcome(write(fd, text, len));
		if (n < 0)
			break;
		if (n == 0) {
			struct pollfd writable = {.fd = fd, .events = POLLOUT};

			/* Another process has made the shared description non-blocking. */
			(void)poll(&writable, 1, -1);
		}
		text += n;
		len -= (size_t)n;
	}
}

/* --- the ring ------------------------------------------------------------------------------ */

static void
ring_put(struct ri_outlet *outlet, const void *from, size_t len)
{
	uint32_t at = (outlet->head + outlet->used) % RI_OUTLET_ROOM;
	size_t first = len < RI_OUTLET_ROOM - at ? len : RI_OUTLET_ROOM - at;

	memcpy(outlet->ring + at, from, first);
	memcpy(outlet->ring, (const uint8_t *)from + first, len - first);
	outlet->used += (uint32_t)len;
}

static void
ring_put_text(struct ri_outlet *outlet, const char *text, size_t len)
{
	const uint16_t size = (uint16_t)len;

	ring_put(outlet, &size, sizeof(size));
	ring_put(outlet, text, len);
}

static void
ring_look(const struct ri_outlet *outlet, uint32_t skip, void *to, size_t len)
{
	uint32_t at = (outlet->head + skip) % RI_OUTLET_ROOM;
	size_t first = len < RI_OUTLET_ROOM - at ? len : RI_OUTLET_ROOM - at;

	memcpy(to, outlet->ring + at, first);
	memcpy((uint8_t *)to + first, outlet->ring, len - first);
}

static void *
outlet_serve(void *arg)
{
	struct ri_outlet *outlet = arg;
	char text[RI_OUTLET_TEXT];
	struct ri_outlet_target target;
	uint16_t len;

	pthread_mutex_lock(&outlet->lock);
	for (;;) {
		while (outlet->used == 0 && outlet->lost == 0)
			pthread_cond_wait(&outlet->more, &outlet->lock);
		target = outlet->target;
		outlet->telling = outlet->used == 0;
		if (outlet->telling) {
			len = (uint16_t)outlet->tell(outlet->lost, text, sizeof(text));
			outlet->lost = 0;
		} else {
			ring_look(outlet, 0, &len, sizeof(len));
			ring_look(outlet, sizeof(len), text, len);
		}
		if (target.way != WAY_AT_ONCE)
			atomic_store(&outlet->own[1], ri_fd_duplicate(target.fd) + 1);
		pthread_mutex_unlock(&outlet->lock);
		write_waiting(&target, atomic_load(&outlet->own[1]) - 1, text, len);
		own_close(&outlet->own[1]);
		pthread_mutex_lock(&outlet->lock);
		if (!outlet->telling) {
			outlet->head = (outlet->head + sizeof(len) + len) % RI_OUTLET_ROOM;
			outlet->used -= (uint32_t)sizeof(len) + len;
		}
		outlet->telling = false;
		pthread_cond_broadcast(&outlet->done);
	}
	return NULL;
}

/* The thread, with all signals blocked. Called with the lock. */
static void
thread_begin(struct ri_outlet *outlet)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;

	RI_ASSERT_OWNED(&outlet->lock);
	if (outlet->thread || pthread_attr_init(&attr) != 0)
		return;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	outlet->thread = pthread_create(&thread, &attr, outlet_serve, outlet) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (outlet->thread)
		(void)pthread_setname_np(thread, "itapi-output");
	(void)pthread_attr_destroy(&attr);
}

/* For the thread; without it and without room the text is lost. Called with the lock. */
static void
leave_to_thread(struct ri_outlet *outlet, const char *text, size_t len, bool spare)
{
	const uint32_t room = spare ? RI_OUTLET_ROOM / 4 * 3 : RI_OUTLET_ROOM;
	char told[RI_OUTLET_TOLD];
	size_t told_len = 0;

	RI_ASSERT_OWNED(&outlet->lock);
	thread_begin(outlet);
	if (outlet->lost > 0)
		told_len = outlet->tell(outlet->lost, told, sizeof(told));
	if (!outlet->thread || outlet->used + told_len + len + 2 * sizeof(uint16_t) > room) {
		outlet->lost++;
	} else {
		if (told_len > 0)
			ring_put_text(outlet, told, told_len);
		ring_put_text(outlet, text, len);
		outlet->lost = 0;
	}
	pthread_cond_signal(&outlet->more);
}

/* Nothing waits before the text: write what can be written at once. As outcome(). Called with the lock. */
static ssize_t
write_here(struct ri_outlet *outlet, const char *text, size_t len)
{
	sigset_t before, pending;
	char told[RI_OUTLET_TOLD];
	size_t told_len = 0;
	ssize_t n = 0;

	RI_ASSERT_OWNED(&outlet->lock);
	if (outlet->lost > 0)
		told_len = outlet->tell(outlet->lost, told, sizeof(told));
	/* A write may raise these signals for its thread, and unblocked they would end or stop the process. */
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGTTOU);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	(void)sigpending(&pending);
	if (told_len > 0 && write_now(outlet, told, told_len) == (ssize_t)told_len)
		outlet->lost = 0;
	if (outlet->lost == 0)
		n = write_now(outlet, text, len);
	/* Consume what the write has raised, but nothing that was pending before. */
	static const int raised[] = {SIGPIPE, SIGXFSZ};
	const struct timespec none = {0};
	sigset_t now, one;

	(void)sigpending(&now);
	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++) {
		sigemptyset(&one);
		sigaddset(&one, raised[i]);
		if (sigismember(&now, raised[i]) == 1 && sigismember(&pending, raised[i]) == 0)
			(void)sigtimedwait(&one, NULL, &none);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}

void
ri_outlet_write(struct ri_outlet *outlet, const char *text, size_t len, bool spare)
{
	int error = errno;
	int cancel = 0;
	ssize_t n = 0;

	if (len > RI_OUTLET_TEXT)
		len = RI_OUTLET_TEXT;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&outlet->lock);
	if (outlet->target.fd >= 0) {
		if (outlet->used == 0 && !outlet->telling)
			n = write_here(outlet, text, len);
		if (n >= 0 && (size_t)n < len)
			leave_to_thread(outlet, text + n, len - (size_t)n, spare);
	}
	pthread_mutex_unlock(&outlet->lock);
	pthread_setcancelstate(cancel, NULL);
	errno = error;
}

bool
ri_outlet_flush(struct ri_outlet *outlet, unsigned ms)
{
	struct timespec until;
	bool empty;
	int late = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&outlet->lock);
	while (outlet->thread && (outlet->used > 0 || outlet->telling || outlet->lost > 0) &&
	       late == 0)
		late = pthread_cond_clockwait(&outlet->done, &outlet->lock, CLOCK_MONOTONIC,
					      &until);
	empty = outlet->used == 0 && !outlet->telling && outlet->lost == 0;
	pthread_mutex_unlock(&outlet->lock);
	return empty;
}
