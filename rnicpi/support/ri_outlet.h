/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef RI_OUTLET_H
#define RI_OUTLET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * @file
 * Text for people, which never blocks the thread that writes it.
 *
 * A descriptor such as stderr is shared with other processes, so it cannot be made non-blocking. A caller writes a text
 * itself if that cannot block: through a description of its own of the pipe or terminal (/proc/self/fd), by
 * MSG_DONTWAIT to a local socket, or at once to a local file. What is not taken then goes to a ring of a fixed size, from
 * which a thread of the outlet writes; the thread is created at the first such text. What the ring has no room for is
 * counted, and the thread writes how much was lost.
 *
 * The outlet writes to the file that its descriptor was when it was given (ri_outlet_direct). If the number is closed,
 * or is another file meanwhile, nothing is written. A forked child goes on with the same descriptor and an empty ring. SIGPIPE, SIGTTOU and SIGXFSZ of a write do not reach the process.
 */

/** Octets that wait at most. */
#define RI_OUTLET_ROOM 65536
/** Octets of a text at most: PIPE_BUF, so that a pipe takes a text whole or not. */
#define RI_OUTLET_TEXT 4096

/** Octets of the text that tells how much was lost, at most. */
#define RI_OUTLET_TOLD 256

/** Where an outlet writes. */
struct ri_outlet_target {
	int fd;  /* -1: none */
	int way; /* enum way */
	dev_t device;
	ino_t inode;
};

/** An outlet; a static variable, set by RI_OUTLET(). */
struct ri_outlet {
	pthread_mutex_t lock; /* guards all below; never held across a system call that can block */
	pthread_cond_t more;  /* the ring is no longer empty, or texts were lost */
	pthread_cond_t done;  /* the thread has written a text */
	size_t (*tell)(uint64_t lost, char *text, size_t room);
	struct ri_outlet_target target;
	bool thread;         /* it exists */
	bool telling;        /* the thread writes how much was lost */
	uint64_t lost;       /* texts lost since the last line that said how many */
	uint32_t head, used; /* of the ring: where the oldest text begins, and octets */
	uint8_t ring[RI_OUTLET_ROOM];
	atomic_int own
		[2]; /* descriptor + 1 for a write that is under way: of a caller, of the thread */
	_Atomic(struct ri_outlet *) next; /* of those that a fork resets */
	atomic_bool listed;
};

/**
 * The value of an outlet that has no descriptor yet.
 * @param function writes a text that tells how many texts were lost, of at most RI_OUTLET_TOLD octets, and returns its octets
 */
#define RI_OUTLET(function)                                                           \
	{                                                                             \
		.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER,  \
		.done = PTHREAD_COND_INITIALIZER, .tell = (function), .target.fd = -1 \
	}

/**
 * From now on write to the file that this descriptor is now.
 * @param fd the caller's; -1: to nothing
 * @return false: it is not open for writing, or not a pipe, terminal, file, local socket or memory device
 */
bool ri_outlet_direct(struct ri_outlet *outlet, int fd);
/**
 * Write a text. Never blocks, allocates nothing, keeps errno, is not a cancellation point. Any thread.
 * @param spare the text may not use the last quarter of the ring, because a peer can cause many such texts
 */
void ri_outlet_write(struct ri_outlet *outlet, const char *text, size_t len, bool spare);
/** Wait until all is written, for at most @p ms milliseconds. @return true: all is written */
bool ri_outlet_flush(struct ri_outlet *outlet, unsigned ms);
#endif /* RI_OUTLET_H */
