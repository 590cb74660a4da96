/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Descriptors that a forked child must not keep. A child that inherits a connection keeps it open when its parent
 * dies, and the peer never learns of the death. So every descriptor of the access layer is entered into a list when
 * it is created, and a handler of pthread_atfork closes the descriptors of the list in the child.
 */
#ifndef KAL_FDS_H
#define KAL_FDS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

/* A listed descriptor; lives inside its owner. Zero before first use: none. */
struct kal_fd {
	int value; /* descriptor + 1, or 0 */
	struct kal_fd *next, *prev;
};

/* Register the fork handlers. Code that creates descriptors under a lock, and takes that lock at a fork, calls this
 * before it registers its own handlers: then its lock is taken before the list's at a fork, too. */
void kal_fds_watch_forks(void);

static inline int
kal_fd_get(const struct kal_fd *fd)
{
	return fd->value - 1;
}

/* Each creates a close-on-exec descriptor in `fd`. False: it failed, and errno is set. */
bool kal_fd_eventfd(struct kal_fd *fd);
bool kal_fd_timerfd(struct kal_fd *fd);
bool kal_fd_epoll(struct kal_fd *fd);
bool kal_fd_memory(struct kal_fd *fd, const char *name, unsigned flags);
bool kal_fd_socket(struct kal_fd *fd, int family, int type);
bool kal_fd_accept(struct kal_fd *fd, int listener);
/* The two ends of a connection within this process: if one is closed, the other hangs up. */
bool kal_fd_pair(struct kal_fd *one, struct kal_fd *other);
bool kal_fd_duplicate(struct kal_fd *fd, int original);

#define KAL_FDS_MAX 65 /* descriptors of one packet */

/*
 * Receive a packet and the descriptors that may come with it, as recvmsg(); the control buffer of `message` is not used. The descriptors
 * go to `fds`, which must be empty; those beyond `room` are closed. -1: errno is set.
 */
ssize_t kal_fd_receive(struct kal_fd *fds, size_t room, int sock, struct msghdr *message);

/* Move it to another owner, which has none. */
void kal_fd_move(struct kal_fd *to, struct kal_fd *from);

/* Close it, if there is one. */
void kal_fd_close(struct kal_fd *fd);
/* Remove it from the list without closing it; the caller owns the descriptor that is returned. */
int kal_fd_release(struct kal_fd *fd);

#endif /* KAL_FDS_H */
