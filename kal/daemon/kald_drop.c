/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Close a socket that contains descriptors of its client, at once. To close the last copy of a TCP socket that
 * lingers waits for its peer, but not in a thread that exits: the kernel lets nothing linger then. So a thread takes a
 * table of descriptors of its own, with a copy of the socket. When kald has closed its own copy, the thread exits,
 * and the kernel closes its table.
 *
 * The table has the numbers up to `low` only, which kald has from its start on: so it has no copy of a descriptor
 * that belongs to another client.
 */
#include "kald_drop.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "kald_apart.h"
#include "ri_fd.h"

struct drop {
	sem_t copied, go;
	int low;
	bool own; /* the thread has a table of its own */
};

static void
wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0 && errno == EINTR)
		;
}

static void *
drop_run(void *arg)
{
	struct drop *drop = arg;

	drop->own = close_range((unsigned)drop->low + 1, ~0u, CLOSE_RANGE_UNSHARE) == 0;
	(void)sem_post(&drop->copied);
	wait_for(&drop->go);
	(void)sem_destroy(&drop->copied);
	(void)sem_destroy(&drop->go);
	free(drop);
	return NULL;
}

int
kald_drop_open(void)
{
	return ri_fd_open("/dev/null", O_RDWR, 0);
}

bool
kald_drop(int low, int fd)
{
	int nothing = kald_drop_open();
	struct drop *drop = calloc(1, sizeof(*drop));
	bool own = false;

	if (nothing >= 0 && low >= 0 && drop != NULL && ri_fd_replace(fd, low) >= 0) {
		drop->low = low;
		(void)sem_init(&drop->copied, 0, 0);
		(void)sem_init(&drop->go, 0, 0);
		if (kald_thread_begin(drop_run, drop)) {
			wait_for(&drop->copied);
			own = drop->own;
			if (own)
				close(fd);
			(void)ri_fd_replace(nothing, low);
			(void)sem_post(&drop->go);
			drop = NULL;
		} else {
			(void)ri_fd_replace(nothing, low);
		}
	}
	if (nothing >= 0)
		close(nothing);
	free(drop);
	return own;
}
