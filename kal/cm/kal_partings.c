/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Sockets that wait until the peer has closed its end.
 *
 * A FIN right behind a Reply that refuses makes Linux siw lose the private data of the Reply [WIRE 14.4], and a reset
 * loses it for every peer. So the socket of a refused peer stays open until the peer's FIN. The wait is bounded: by
 * KAL_PARTING_MAX, by PARTINGS sockets of an adapter, of which the oldest is closed when one more comes, and by the
 * octets that are read and dropped meanwhile.
 *
 * The list is guarded by the table lock. The thread that removes a parting from it ends and frees the parting; the
 * functions on the service thread find out under the lock whether another thread has done so.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "kal_cm_internal.h"
#include "kal_partings.h"
#include "ri_owned.h"

#define PARTINGS    64
#define OCTETS_MAX  65536
#define OCTETS_ONCE 4096

struct kal_parting {
	struct kal_parting *next, *prev; /* cm->lock */
	struct kal_cm *cm;
	bool listed; /* cm->lock */
	struct kal_fd fd;
	struct ri_watch watch;
	struct ri_timer timer;
	size_t dropped; /* octets; service thread */
};

/* The caller owns cm->lock. False: another thread ends it. */
static bool
parting_remove(struct kal_parting *parting)
{
	struct kal_partings *list = &parting->cm->partings;

	RI_ASSERT_OWNED(&parting->cm->lock);
	if (!parting->listed)
		return false;
	parting->listed = false;
	list->count--;
	*(parting->prev != NULL ? &parting->prev->next : &list->oldest) = parting->next;
	*(parting->next != NULL ? &parting->next->prev : &list->newest) = parting->prev;
	return true;
}

/* Not under cm->lock: this waits for the functions below. */
static void
parting_free(struct kal_parting *parting)
{
	const struct ri_host *host = parting->cm->host;

	host->watch_stop(host->self, &parting->watch);
	host->timer_stop(host->self, &parting->timer);
	kal_fd_close(&parting->fd);
	free(parting);
}

static void
parting_end(struct kal_parting *parting)
{
	struct kal_cm *cm = parting->cm;
	bool ours;

	kal_cm_lock(cm);
	ours = parting_remove(parting);
	cm->partings.ending += ours ? 1 : 0;
	kal_cm_unlock(cm);
	if (!ours)
		return;
	parting_free(parting);
	kal_cm_lock(cm);
	cm->partings.ending--;
	kal_cm_unlock(cm);
}

static void
parting_ready(void *arg, uint32_t events)
{
	struct kal_parting *parting = arg;
	char octets[OCTETS_ONCE];
	ssize_t n;

	(void)events;
	n = recv(kal_fd_get(&parting->fd), octets, sizeof(octets), 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	parting->dropped += n > 0 ? (size_t)n : 0;
	if (n <= 0 || parting->dropped > OCTETS_MAX)
		parting_end(parting);
}

static void
parting_late(void *arg)
{
	parting_end(arg);
}

/* Take the oldest out of the list if there are more than `most`. */
static struct kal_parting *
take_oldest(struct kal_cm *cm, unsigned most)
{
	struct kal_parting *oldest = NULL;

	kal_cm_lock(cm);
	if (cm->partings.count > most) {
		oldest = cm->partings.oldest;
		(void)parting_remove(oldest);
	}
	kal_cm_unlock(cm);
	return oldest;
}

static void
end_all_but(struct kal_cm *cm, unsigned most)
{
	struct kal_parting *oldest;

	while ((oldest = take_oldest(cm, most)) != NULL)
		parting_free(oldest);
}

void
kal_parting_begin(struct kal_cm *cm, struct kal_fd *fd)
{
	const struct ri_host *host = cm->host;
	struct kal_parting *parting = calloc(1, sizeof(*parting));
	struct kal_partings *list = &cm->partings;

	if (parting == NULL) {
		kal_fd_close(fd);
		return;
	}
	parting->cm = cm;
	kal_fd_move(&parting->fd, fd);
	parting->watch.fire = parting_ready;
	parting->watch.arg = parting;
	parting->watch.fd = kal_fd_get(&parting->fd);
	parting->watch.events = RI_WATCH_IN;
	parting->timer.fire = parting_late;
	parting->timer.arg = parting;
	/* Before it is in the list its functions do not end it; the watch is level-triggered and fires again. */
	if (host->watch_start(host->self, &parting->watch) != RI_SUCCESS) {
		parting_free(parting);
		return;
	}
	kal_cm_lock(cm);
	host->timer_start(host->self, &parting->timer, host->now(host->self) + KAL_PARTING_MAX);
	parting->listed = true;
	list->count++;
	parting->prev = list->newest;
	*(list->newest != NULL ? &list->newest->next : &list->oldest) = parting;
	list->newest = parting;
	kal_cm_unlock(cm);
	end_all_but(cm, PARTINGS);
}

bool
kal_partings_end_oldest(struct kal_cm *cm)
{
	struct kal_parting *oldest = take_oldest(cm, 0);

	if (oldest == NULL)
		return false;
	parting_free(oldest);
	return true;
}

void
kal_partings_end_all(struct kal_cm *cm)
{
	bool ending = true;

	end_all_but(cm, 0);
	/* The service thread may still be ending one that it has taken out of the list. */
	for (unsigned round = 0; ending; round++) {
		kal_cm_lock(cm);
		ending = cm->partings.ending > 0;
		kal_cm_unlock(cm);
		if (ending)
			cm->host->relax(cm->host->self, round);
	}
}
