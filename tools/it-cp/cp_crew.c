/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "cp_crew.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool_error.h"
#include "tool_signal.h"

#define RESERVED     16        /* chunks; a peer can make us allocate so many more than it sends */
#define LOOK_EACH_NS 100000000 /* between looks whether the user stopped us */

size_t
cp_crew_octets(const struct cp_crew *crew, uint64_t number)
{
	uint64_t before = number * crew->task.chunk;

	return (size_t)MIN(crew->task.size - before, crew->task.chunk);
}

static uint8_t *
slot_of(const struct cp_crew *crew, uint64_t number)
{
	return crew->task.ring + (size_t)(number % crew->task.slots) * crew->task.chunk;
}

/* --- on the crew's threads ---------------------------------------------------------------- */

/* One call for the rest of a chunk. Octets, or -1 with errno. */
static ssize_t
move_some(const struct cp_crew_task *task, uint8_t *octets, size_t len, uint64_t offset)
{
	ssize_t moved;

	do
		moved = task->fills_ring ? pread(task->fd, octets, len, (off_t)offset)
					 : pwrite(task->fd, octets, len, (off_t)offset);
	while (moved < 0 && errno == EINTR);
	return moved;
}

/*
 * Allocate space for the chunks from this one on. A file system that allocates it in one piece
 * saves work at the write of each block. A failure is ignored: if there is no space, the write
 * fails.
 */
static void
reserve_space(const struct cp_crew *crew, uint64_t number)
{
	const struct cp_crew_task *task = &crew->task;
	uint64_t offset = number * task->chunk;

	if (!task->fills_ring && number % RESERVED == 0)
		(void)fallocate(task->fd, 0, (off_t)offset,
				(off_t)MIN(task->size - offset, RESERVED * task->chunk));
}

static bool
move_chunk(const struct cp_crew *crew, uint64_t number, GError **error)
{
	const struct cp_crew_task *task = &crew->task;
	uint64_t offset = number * task->chunk;
	uint8_t *octets = slot_of(crew, number);
	size_t left = cp_crew_octets(crew, number);

	while (left > 0) {
		ssize_t moved = move_some(task, octets, left, offset);

		if (moved < 0)
			return tool_fail(error, TOOL_ERROR_FAILED, "cannot %s the file: %s",
					 task->fills_ring ? "read" : "write", g_strerror(errno));
		if (moved == 0 && task->fills_ring)
			return tool_fail(error, TOOL_ERROR_FAILED,
					 "the file ends after %" G_GUINT64_FORMAT
					 " of the %" G_GUINT64_FORMAT " octets of its size",
					 offset, task->size);
		if (moved == 0)
			return tool_fail(error, TOOL_ERROR_FAILED, "the file takes no more octets");
		octets += moved;
		offset += (uint64_t)moved;
		left -= (size_t)moved;
	}
	return true;
}

/* The number of a chunk to move; false if there will be none. */
static bool
next_chunk(struct cp_crew *crew, uint64_t *number)
{
	bool found;

	pthread_mutex_lock(&crew->lock);
	while (!crew->quit && crew->next >= crew->granted)
		pthread_cond_wait(&crew->changed, &crew->lock);
	found = !crew->quit;
	if (found)
		*number = crew->next++;
	pthread_mutex_unlock(&crew->lock);
	return found;
}

/* Wait until the chunks before this one are in the checksum; false if they never will be. */
static bool
take_turn(struct cp_crew *crew, uint64_t number)
{
	bool mine;

	pthread_mutex_lock(&crew->lock);
	while (!crew->quit && crew->done != number)
		pthread_cond_wait(&crew->changed, &crew->lock);
	mine = crew->done == number && crew->error == NULL;
	pthread_mutex_unlock(&crew->lock);
	return mine;
}

static void
end_turn(struct cp_crew *crew)
{
	pthread_mutex_lock(&crew->lock);
	crew->done++;
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
}

static void
give_up(struct cp_crew *crew, GError *why)
{
	pthread_mutex_lock(&crew->lock);
	if (crew->error == NULL)
		crew->error = g_steal_pointer(&why);
	crew->quit = true;
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
	g_clear_error(&why);
}

static void *
crew_thread(void *arg)
{
	struct cp_crew *crew = arg;
	GError *error = NULL;
	uint64_t number;

	while (next_chunk(crew, &number)) {
		reserve_space(crew, number);
		if (!move_chunk(crew, number, &error)) {
			give_up(crew, error);
			break;
		}
		if (!take_turn(crew, number))
			break;
		cp_sum_add(&crew->sum, slot_of(crew, number), cp_crew_octets(crew, number));
		end_turn(crew);
	}
	return NULL;
}

/* --- for the owner ------------------------------------------------------------------------ */

/*
 * With two threads, the disk works while a slow checksum is computed. A fast one takes a small part
 * of the time of the file, so a second thread would mostly wait, for its turn or for the lock that
 * the kernel keeps while it writes a file.
 */
static unsigned
threads_for(enum cp_sum_kind kind)
{
	return kind == CP_SHA256 ? CP_CREW_SIZE : 1;
}

bool
cp_crew_begin(struct cp_crew *crew, const struct cp_crew_task *task, GError **error)
{
	pthread_condattr_t attr;

	memset(crew, 0, sizeof(*crew));
	crew->task = *task;
	if (!cp_sum_begin(&crew->sum, task->kind, error))
		return false;
	pthread_mutex_init(&crew->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&crew->changed, &attr);
	pthread_condattr_destroy(&attr);
	while (crew->running < threads_for(task->kind) &&
	       pthread_create(&crew->threads[crew->running], NULL, crew_thread, crew) == 0)
		crew->running++;
	if (crew->running > 0)
		return true; /* one thread does all the work, too */
	g_free(cp_crew_end(crew));
	return tool_fail(error, TOOL_ERROR_FAILED, "cannot start a thread");
}

void
cp_crew_grant(struct cp_crew *crew, uint64_t granted)
{
	pthread_mutex_lock(&crew->lock);
	crew->granted = granted;
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
}

/* Wait for a change, or for some time. Called with the lock. */
static void
wait_a_moment(struct cp_crew *crew)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOK_EACH_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&crew->changed, &crew->lock, &until);
}

bool
cp_crew_await(struct cp_crew *crew, uint64_t count, GError **error)
{
	bool stopped = false;
	bool done;

	pthread_mutex_lock(&crew->lock);
	while (crew->done < count && crew->error == NULL && !stopped) {
		wait_a_moment(crew);
		stopped = tool_stopped();
	}
	done = crew->done >= count;
	if (!done && crew->error != NULL)
		g_propagate_error(error, g_error_copy(crew->error));
	else if (!done)
		(void)tool_fail(error, TOOL_ERROR_INTERRUPTED, "interrupted");
	pthread_mutex_unlock(&crew->lock);
	return done;
}

char *
cp_crew_end(struct cp_crew *crew)
{
	pthread_mutex_lock(&crew->lock);
	crew->quit = true;
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
	for (unsigned i = 0; i < crew->running; i++)
		pthread_join(crew->threads[i], NULL);
	pthread_cond_destroy(&crew->changed);
	pthread_mutex_destroy(&crew->lock);
	g_clear_error(&crew->error);
	return cp_sum_end(&crew->sum);
}
