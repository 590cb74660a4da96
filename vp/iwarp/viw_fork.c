/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Open adapters and fork().
 *
 * The child inherits a duplicate of every descriptor. While it has them, peers would not see the death of its
 * parent, since the kernel resets a connection only with the last duplicate. So the child closes them at once,
 * in a pthread_atfork handler, and sets a flag in each engine that its parent has open; the entries of such an engine do
 * nothing in the child. That close sends nothing: the parent still has the connection. An adapter that the child opens itself
 * has an engine of its own, without the flag.
 *
 * The handlers own `fork_lock` across the fork, so the list is consistent in the child. There they call only
 * close(), which is async-signal-safe. Control path; any thread.
 */
#include "viw_fork.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* A descriptor and the flag of its engine. */
struct owned_fd {
	int fd;
	atomic_bool *forked;
};

static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static struct owned_fd *fork_fds;
static unsigned fork_count;
static unsigned fork_room;

static void
before_fork(void)
{
	pthread_mutex_lock(&fork_lock);
}

static void
after_fork_parent(void)
{
	pthread_mutex_unlock(&fork_lock);
}

static void
after_fork_child(void)
{
	for (unsigned i = 0; i < fork_count; i++) {
		atomic_store(fork_fds[i].forked, true);
		close(fork_fds[i].fd);
	}
	fork_count = 0;
	pthread_mutex_unlock(&fork_lock);
}

static void
fork_handlers_install(void)
{
	(void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

bool
viw_fork_add(int fd, atomic_bool *forked)
{
	bool ok = true;

	pthread_once(&fork_once, fork_handlers_install);
	pthread_mutex_lock(&fork_lock);
	if (fork_count == fork_room) {
		unsigned room = fork_room == 0 ? 64 : fork_room * 2;
		struct owned_fd *fds = realloc(fork_fds, room * sizeof(*fds));

		ok = fds != NULL;
		if (ok) {
			fork_fds = fds;
			fork_room = room;
		}
		/* cppcheck-suppress memleak; fork_fds has it */
	}
	if (ok)
		fork_fds[fork_count++] = (struct owned_fd){.fd = fd, .forked = forked};
	pthread_mutex_unlock(&fork_lock);
	return ok;
}

void
viw_fork_remove(int fd)
{
	pthread_mutex_lock(&fork_lock);
	for (unsigned i = 0; i < fork_count; i++) {
		if (fork_fds[i].fd == fd) {
			fork_fds[i] = fork_fds[--fork_count];
			break;
		}
	}
	pthread_mutex_unlock(&fork_lock);
}
