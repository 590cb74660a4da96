/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Threads that move the chunks of a file between the file and the ring and compute its checksum, while the thread that
 * owns the connection moves chunks between the rings. Chunks are read or written several at a time; the checksum takes
 * them one after the other, in their order. The owner grants chunks, which are those whose slots the crew may use, and
 * waits until they are done.
 *
 * Threads: all functions are the owner's. The crew's lock protects the counts and the error.
 */
#ifndef CP_CREW_H
#define CP_CREW_H

#include <pthread.h>

#include "cp_sum.h"

#define CP_CREW_SIZE 2 /* threads, at most */

struct cp_crew_task {
	int fd;          /* the file, whose offset is not used */
	bool fills_ring; /* from the file into the ring; else the other way */
	uint8_t *ring;
	size_t chunk; /* octets; the last chunk may have fewer */
	size_t slots;
	uint64_t size; /* octets of the file */
	enum cp_sum_kind kind;
};

struct cp_crew {
	struct cp_crew_task task;
	struct cp_sum sum; /* of the thread that has the turn */
	pthread_t threads[CP_CREW_SIZE];
	unsigned running;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* any of the following */
	uint64_t granted;       /* chunks below this may be moved */
	uint64_t next;          /* chunk that is moved next */
	uint64_t done; /* chunks that are moved and in the checksum; the next one has the turn */
	bool quit;
	GError *error; /* the first failure, which ends the work */
};

bool cp_crew_begin(struct cp_crew *crew, const struct cp_crew_task *task, GError **error);

/* Chunks below `granted` may be moved now. */
void cp_crew_grant(struct cp_crew *crew, uint64_t granted);

/* Wait until chunks below `count`, which must be granted, are done. False: a file failed, or the user stopped us. */
bool cp_crew_await(struct cp_crew *crew, uint64_t count, GError **error);

/* Ends the threads; what they work on is finished first. Returns the checksum of what is done; g_free() it. */
char *cp_crew_end(struct cp_crew *crew);

/* How many octets that chunk has. */
size_t cp_crew_octets(const struct cp_crew *crew, uint64_t number);

#endif /* CP_CREW_H */
