/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Descriptors that a forked child must not keep. A child that inherits a connection holds it open
 * after its parent died, and the peer never learns of the death. So every descriptor of the access
 * layer is listed from birth, and pthread_atfork closes the listed ones in the child.
 */
#ifndef KAL_FDS_H
#define KAL_FDS_H

#include <stdbool.h>
#include <sys/socket.h>

/* A listed descriptor; lives inside its owner. Zero before first use: none. */
struct kal_fd {
	int value; /* descriptor + 1, or 0 */
	struct kal_fd *next, *prev;
};

/* Register the fork handlers. Who has one of its own that is held while descriptors are made, calls this
 * before it registers: then its lock is taken first at a fork, too. */
void kal_fds_watch_forks(void);

static inline int
kal_fd_get(const struct kal_fd *fd)
{
	return fd->value - 1;
}

/* Each makes a close-on-exec descriptor in `fd`, and returns false with errno set if it cannot. */
bool kal_fd_eventfd(struct kal_fd *fd);
bool kal_fd_timerfd(struct kal_fd *fd);
bool kal_fd_epoll(struct kal_fd *fd);
bool kal_fd_socket(struct kal_fd *fd, int family, int type);
bool kal_fd_accept(struct kal_fd *fd, int listener, struct sockaddr *peer, socklen_t *len);
bool kal_fd_duplicate(struct kal_fd *fd, int original);

/* Give it to another owner, who has none. */
void kal_fd_move(struct kal_fd *to, struct kal_fd *from);

/* Close it, if there is one. */
void kal_fd_close(struct kal_fd *fd);
/* Take it off the list without closing it; somebody else answers for it from now on. */
int kal_fd_release(struct kal_fd *fd);

#endif /* KAL_FDS_H */
