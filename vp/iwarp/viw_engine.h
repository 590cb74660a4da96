/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The engine of one adapter: its sockets, and which thread runs them; viw_engine.c. */
#ifndef VIW_ENGINE_H
#define VIW_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "viw_pool.h"
#include "vsw_leader.h"

struct viw_qp;

#define VIW_HOT 4 /* with at most this many streams, a poll reads the sockets without epoll */

/* The part of a queue pair that belongs to the engine. */
struct viw_engine_member {
	struct viw_qp *next; /* in viw_engine::list; its lock */
	struct viw_qp **at;  /* what points to it there; NULL: it is not in the list */
	_Atomic(struct viw_qp *) next_held_back; /* in viw_engine::held_back */
	atomic_uint watch;                       /* EPOLLIN and EPOLLOUT, as wanted */
	atomic_uint polled;                      /* messages found by polls, in a row */
	bool unwatched; /* its socket is out of the epoll set; engine's lock */
};

struct viw_engine {
	const struct ri_host *host;
	struct vsw_leader leader;
	uint64_t mark; /* of what `epfd` returns; ri_set.h */
	int epfd;
	atomic_bool
		forked; /* this is a child of the process that started the engine: it does nothing here */
	/*
	 * The last data was sent by a thread on this processor, so the peer runs on the same processor. A
	 * poll that spins would keep the peer from running for the rest of its time slice; so a poll that
	 * finds nothing yields at once.
	 */
	atomic_bool spin_futile;
	atomic_uint streams; /* sockets in the set */
	_Atomic(struct viw_qp *) hot[VIW_HOT];
	/*
	 * Work that is put off while threads poll; viw_engine_progress, which runs when the polling ends, does it.
	 *
	 * epollout_deferred: a socket is blocked and its EPOLLOUT is not requested, since polls retry the socket.
	 * Saves two epoll_ctl for each stop and restart of a sender.
	 *
	 * some_unwatched: a socket is out of the epoll set, since polls read it. Saves its peer the wake-up of the
	 * set, more than 0.1 us for each segment.
	 *
	 * buffer_returned: the pool was found empty and has a buffer again. Progress looks for queue pairs that
	 * need one only then, and so does not walk over all of them, with the lock, in each round.
	 */
	atomic_bool epollout_deferred;
	atomic_bool some_unwatched;
	atomic_bool buffer_returned;
	_Atomic(struct viw_qp *) held_back; /* queue pairs with requests held back; a stack */
	pthread_mutex_t lock;               /* the list below, and which sockets are in the set */
	struct viw_qp *list;                /* queue pairs with a stream */
	struct viw_pool pool;
};

enum ri_status viw_engine_start(struct viw_engine *engine,
				const struct ri_host *host) RI_MUST_CHECK;
void viw_engine_stop(struct viw_engine *engine);

/* A queue pair got its socket, or is about to lose it. The caller owns both of its roles. */
enum ri_status viw_engine_add(struct viw_engine *engine, struct viw_qp *qp) RI_MUST_CHECK;
void viw_engine_remove(struct viw_engine *engine, struct viw_qp *qp);
/* Request EPOLLIN or EPOLLOUT for a queue pair, or stop. The caller owns one of its roles. */
void viw_engine_want(struct viw_qp *qp, uint32_t set, uint32_t clear);
/* Its socket takes no more octets. The caller owns tx.role. */
void viw_engine_blocked(struct viw_qp *qp);
/* Give back a buffer, or what was set aside; NULL is allowed. */
void viw_engine_give(struct viw_engine *engine, uint8_t *buf);
/*
 * A queue pair keeps octets [*at, *at + len) of a buffer after this round. If the pool is low, they
 * are copied to memory of their own, the buffer is returned to the pool, and *at becomes 0. Returns
 * the memory that now has them.
 */
uint8_t *viw_engine_set_aside(struct viw_engine *engine, uint8_t *buf, uint32_t *at, uint32_t len);
/* Are streams so few that their queue pairs keep their buffers? */
static inline bool
viw_engine_is_small(struct viw_engine *engine)
{
	return atomic_load_explicit(&engine->streams, memory_order_relaxed) <= VIW_HOT;
}
/* Requests of this queue pair are held back, to leave with later ones. */
void viw_engine_hold_back(struct viw_engine *engine, struct viw_qp *qp);
/* Data has arrived: at every 32nd time, look which processor it came from. The caller owns rx.role. */
void viw_engine_sample(struct viw_engine *engine, struct viw_qp *qp);

/* Make progress for all queue pairs, from a thread that posts much and does not poll. */
void viw_engine_drive(struct viw_engine *engine);

/* Entries of vsw_doorbell. */
uint32_t viw_engine_poll(void *engine);
uint32_t viw_engine_progress(void *engine, uint32_t budget);
bool viw_engine_leader_enter(void *engine, int *fd);
void viw_engine_leader_leave(void *engine);
bool viw_engine_spin_futile(void *engine);

#endif /* VIW_ENGINE_H */
