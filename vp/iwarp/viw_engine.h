/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The engine of one adapter: which sockets there are, and who runs them. viw_engine.c
 */
#ifndef VIW_ENGINE_H
#define VIW_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "viw_pool.h"
#include "vsw_leader.h"

struct viw_qp;

#define VIW_HOT 4 /* with no more streams than this a poll asks each socket itself */

struct viw_engine {
	const struct ri_host *host;
	struct vsw_leader leader;
	int epfd;
	atomic_bool spin_futile; /* the last data came from this very processor */
	atomic_uint streams;     /* sockets in the set */
	_Atomic(struct viw_qp *) hot[VIW_HOT];
	atomic_bool epollout_deferred;      /* somebody is blocked and does not wait for EPOLLOUT */
	atomic_bool some_unwatched;         /* some socket is out of the set while it is polled */
	atomic_bool buffer_returned;        /* a buffer came back that somebody may want */
	_Atomic(struct viw_qp *) held_back; /* queue pairs with requests held back; a stack */
	pthread_mutex_t lock;               /* the list below; control path */
	struct viw_qp *list;                /* queue pairs with a stream */
	struct viw_pool pool;
};

enum ri_status viw_engine_start(struct viw_engine *engine,
				const struct ri_host *host) RI_MUST_CHECK;
void viw_engine_stop(struct viw_engine *engine);

/* A queue pair got its socket, or is about to lose it. Both roles of it are held by the caller. */
enum ri_status viw_engine_add(struct viw_engine *engine, struct viw_qp *qp) RI_MUST_CHECK;
void viw_engine_remove(struct viw_engine *engine, struct viw_qp *qp);
/* Wait for EPOLLIN or EPOLLOUT of a queue pair, or stop. One of its roles is held by the caller. */
void viw_engine_want(struct viw_qp *qp, uint32_t set, uint32_t clear);
/* Its socket takes no more, or takes again. The holder of tx.role. */
void viw_engine_blocked(struct viw_qp *qp);
void viw_engine_unblocked(struct viw_qp *qp);
/* Give back a buffer, or what was set aside; NULL is allowed. */
void viw_engine_give(struct viw_engine *engine, uint8_t *buf);
/*
 * A queue pair keeps octets [*at, *at + len) of a buffer beyond this round. If the pool is low, they are
 * set aside, the buffer goes back and *at is 0. Returns where they are now.
 */
uint8_t *viw_engine_set_aside(struct viw_engine *engine, uint8_t *buf, uint32_t *at, uint32_t len);
/* So few streams that their queue pairs keep their buffers. */
static inline bool
viw_engine_is_small(struct viw_engine *engine)
{
	return atomic_load_explicit(&engine->streams, memory_order_relaxed) <= VIW_HOT;
}
/* Requests of this queue pair wait for company. */
void viw_engine_hold_back(struct viw_engine *engine, struct viw_qp *qp);
/* Data has come: now and then look from which processor. Holder of rx.role. */
void viw_engine_sample(struct viw_engine *engine, struct viw_qp *qp);

/* A poster that finds its completions without polling in vain drives too, now and then. */
void viw_engine_drive(struct viw_engine *engine);

/* Entries of vsw_doorbell. */
uint32_t viw_engine_poll(void *engine);
uint32_t viw_engine_progress(void *engine, uint32_t budget);
bool viw_engine_leader_enter(void *engine, int *fd);
void viw_engine_leader_leave(void *engine);
bool viw_engine_spin_futile(void *engine);

#endif /* VIW_ENGINE_H */
