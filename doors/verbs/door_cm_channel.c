/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Event channels and their descriptors. A channel is found by the number of its descriptor, in a table of two levels that is
 * read without a lock, since each write() of the program asks whether it is one to a channel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "door_cm_internal.h"

#define CHUNK    1024 /* descriptors of a part of the table */
#define CHUNKS   1024
#define NS_PER_S 1000000000

struct chunk {
	_Atomic(struct door_cm_channel *) channels[CHUNK];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* door_cm_lock() */
static _Atomic(struct chunk *) chunks[CHUNKS];
static unsigned num_channels; /* under the lock */
/* In the child of a fork: what stands for each channel of its parent. */
static struct door_cm_channel inherited;

void
door_cm_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
door_cm_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* A connection has ended. */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

void
door_cm_ended(void)
{
	pthread_cond_broadcast(&ended);
}

void
door_cm_wait_ended(uint64_t ns)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)ns;
	if (until.tv_nsec >= NS_PER_S) {
		until.tv_nsec -= NS_PER_S;
		until.tv_sec++;
	}
	(void)pthread_cond_clockwait(&ended, &lock, CLOCK_MONOTONIC, &until);
}

/* --- descriptors ------------------------------------------------------------------------------------ */

static struct door_cm_channel *
channel_at(int fd)
{
	struct chunk *chunk;

	if (fd < 0 || fd >= CHUNK * CHUNKS)
		return NULL;
	chunk = atomic_load_explicit(&chunks[fd / CHUNK], memory_order_acquire);
	return chunk != NULL
		       ? atomic_load_explicit(&chunk->channels[fd % CHUNK], memory_order_acquire)
		       : NULL;
}

bool
door_cm_is(int fd)
{
	return channel_at(fd) != NULL;
}

/* Enter a channel under its descriptor. False: no memory, or the number is too large. Called under the lock. */
static bool
fd_enter(int fd, struct door_cm_channel *channel)
{
	struct chunk *chunk;

	if (fd >= CHUNK * CHUNKS)
		return false;
	chunk = atomic_load(&chunks[fd / CHUNK]);
	if (chunk == NULL) {
		chunk = (struct chunk *)calloc(1, sizeof(*chunk));
		if (chunk == NULL)
			return false;
		atomic_store(&chunks[fd / CHUNK], chunk);
	}
	atomic_store(&chunk->channels[fd % CHUNK], channel);
	return true;
}

/* --- forks ------------------------------------------------------------------------------------------- */

/*
 * In the child of a fork: the descriptors of channels are shared with the parent, so the child must
 * send no command through them. The sockets that reserve ports are closed, because otherwise the
 * child would keep the parent's ports occupied.
 */
static void
forget_all(void)
{
	for (int i = 0; i < CHUNKS; i++) {
		struct chunk *chunk = atomic_load(&chunks[i]);

		for (int k = 0; chunk != NULL && k < CHUNK; k++)
			if (atomic_load(&chunk->channels[k]) != NULL)
				atomic_store(&chunk->channels[k], &inherited);
	}
	pthread_cond_init(&ended, NULL);
	num_channels = 0;
	door_cm_address_forked();
	door_cm_id_forked();
	door_cm_listen_forked();
	door_cm_follow_forked();
	door_cm_unlock();
}

/*
 * Constructors run before the kAL registers its functions for a fork, so a fork takes this lock last: a thread that
 * waits for it may own any lock of the kAL that a fork takes.
 */
__attribute__((constructor)) static void
watch_forks(void)
{
	(void)pthread_atfork(door_cm_lock, door_cm_unlock, forget_all);
}

/* --- channels ------------------------------------------------------------------------------------------ */

int
door_cm_open(void)
{
	struct door_cm_channel *channel = (struct door_cm_channel *)calloc(1, sizeof(*channel));
	bool entered;
	int fd;

	if (channel == NULL || !door_events_init(&channel->events)) {
		free(channel);
		return -1;
	}
	fd = channel->events.fd;
	channel->refs = 1;
	/* A channel whose descriptor the program has closed by a call that the door does not see. */
	if (door_cm_is(fd))
		door_cm_closed(fd);
	door_cm_lock();
	entered = fd_enter(fd, channel);
	num_channels += entered;
	door_cm_unlock();
	if (entered)
		return fd;
	door_events_fini(&channel->events);
	free(channel);
	errno = EMFILE;
	return -1;
}

struct door_cm_channel *
door_cm_channel_get(int fd)
{
	struct door_cm_channel *channel;

	door_cm_lock();
	channel = channel_at(fd);
	if (channel != NULL && channel != &inherited)
		channel->refs++;
	door_cm_unlock();
	if (channel != NULL && channel != &inherited)
		return channel;
	errno = channel == NULL ? EBADF : EIO;
	return NULL;
}

void
door_cm_channel_put(struct door_cm_channel *channel)
{
	bool last, none = false;

	door_cm_lock();
	last = --channel->refs == 0;
	if (last)
		none = --num_channels == 0;
	door_cm_unlock();
	if (!last)
		return;
	door_events_fini(&channel->events);
	free(channel);
	if (none)
		door_cm_keep_none();
}

void
door_cm_closed(int fd)
{
	struct door_cm_channel *channel;
	struct door_cm_id *id;

	door_cm_lock();
	channel = channel_at(fd);
	if (channel != NULL)
		(void)fd_enter(fd, NULL);
	if (channel == NULL || channel == &inherited) {
		door_cm_unlock();
		return;
	}
	channel->closed = true;
	/* The number may be another descriptor's at once. */
	channel->events.fd = -1;
	door_cm_unlock();
	do {
		door_cm_lock();
		id = door_cm_id_take_any(channel);
		door_cm_unlock();
		if (id != NULL)
			door_cm_id_end(id);
	} while (id != NULL);
	door_cm_channel_put(channel);
}
