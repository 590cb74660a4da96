/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Which thread runs which socket [fast].
 *
 * All sockets of an adapter are in one epoll set, level-triggered. A thread that waits sleeps on that set
 * (vsw_leader); a thread that polls makes progress itself. With few streams a poll reads each socket without
 * asking the set, which saves a system call per message; with many it asks the set which ones are ready.
 *
 * No thread waits for another. A role that is taken is skipped: its owner is working on that socket, and the
 * set reports the rest again. Queue pairs are found by addresses that stay valid while the adapter is open
 * (viw_qp.h), so this path needs neither a list lock nor a reference count.
 *
 * Queue pairs with requests held back are on the stack `held_back`; polls, threads that go to sleep and the
 * service thread's tick release them.
 */
#include "viw_engine.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ri_calls.h"
#include "ri_fd.h"
#include "ri_set.h"
#include "viw_fork.h"
#include "viw_qp.h"
#include "vsw_order.h"
#include "vsw_relax.h"

#define EVENTS        32 /* of one epoll_wait */
#define UNWATCH_AFTER 64 /* messages found by polls in a row */

enum ri_status
viw_engine_start(struct viw_engine *engine, const struct ri_host *host)
{
	memset(engine, 0, sizeof(*engine));
	engine->host = host;
	vsw_order_setup();
	pthread_mutex_init(&engine->lock, NULL);
	host->random(host->self, &engine->mark, sizeof(engine->mark));
	engine->epfd = ri_fd_epoll();
	if (engine->epfd < 0)
		return RI_ERR_RESOURCES;
	enum ri_status status = RI_ERR_RESOURCES;
	if (viw_fork_add(engine->epfd, &engine->forked) && viw_pool_init(&engine->pool))
		status = vsw_leader_start(&engine->leader, host, engine->epfd, viw_engine_progress,
					  engine);
	if (status == RI_SUCCESS)
		return status;
	viw_pool_exit(&engine->pool);
	viw_fork_remove(engine->epfd);
	ri_close(engine->epfd);
	return status;
}

void
viw_engine_stop(struct viw_engine *engine)
{
	vsw_leader_stop(&engine->leader);
	viw_pool_exit(&engine->pool);
	viw_fork_remove(engine->epfd);
	if (!atomic_load(&engine->forked))
		ri_close(engine->epfd);
	pthread_mutex_destroy(&engine->lock);
}

/* --- the epoll set ------------------------------------------------------------------------- */

/* Choose the queue pairs whose sockets a poll reads; called with the lock. */
static void
choose_hot(struct viw_engine *engine)
{
	struct viw_qp *qp = engine->list;

	for (unsigned i = 0; i < VIW_HOT; i++) {
		atomic_store(&engine->hot[i], qp);
		qp = qp != NULL ? qp->engine.next : NULL;
	}
}

/*
 * While a socket is in the epoll set, the kernel notifies the set of every segment that arrives, which takes more than 0.1 us
 * of the sender's time. A socket that is polled all the time needs no notification: it is removed from the set after polls
 * have found UNWATCH_AFTER messages. viw_engine_progress, which runs when the polling ends, adds it again.
 */
static void
socket_unwatch(struct viw_engine *engine, struct viw_qp *qp)
{
	if (pthread_mutex_trylock(&engine->lock) != 0)
		return;
	if (qp->engine.at != NULL && viw_engine_is_small(engine)) {
		atomic_store(&engine->some_unwatched, true);
		if (vsw_leader_attended(&engine->leader) &&
		    epoll_ctl(engine->epfd, EPOLL_CTL_DEL, qp->stream.fd, NULL) == 0)
			qp->engine.unwatched = true;
	}
	pthread_mutex_unlock(&engine->lock);
}

/*
 * A poll has found a message: count it. This is a load and a store, not an atomic addition. If a
 * count is lost between two threads, the socket only leaves the set one message later.
 */
static void
message_polled(struct viw_engine *engine, struct viw_qp *qp)
{
	unsigned polled = atomic_load_explicit(&qp->engine.polled, memory_order_relaxed);

	if (polled > UNWATCH_AFTER)
		return;
	atomic_store_explicit(&qp->engine.polled, polled + 1, memory_order_relaxed);
	if (polled == UNWATCH_AFTER)
		socket_unwatch(engine, qp);
}

/*
 * Add the sockets that were removed from the set to it again. Called with the lock. The stream of a
 * socket that cannot be added is ended, because no thread would read what its peer sends.
 */
static void
sockets_rewatch(struct viw_engine *engine)
{
	for (struct viw_qp *qp = engine->list; qp != NULL; qp = qp->engine.next) {
		struct epoll_event event = {.events = atomic_load(&qp->engine.watch),
					    .data = {.u64 = ri_set_value(engine->mark, qp)}};

		atomic_store_explicit(&qp->engine.polled, 0, memory_order_relaxed);
		if (!qp->engine.unwatched)
			continue;
		qp->engine.unwatched = false;
		if (epoll_ctl(engine->epfd, EPOLL_CTL_ADD, qp->stream.fd, &event) != 0)
			viw_stream_lost(qp, ENOMEM);
		viw_engine_want(qp, 0, 0); /* another thread may have changed `watch` meanwhile */
	}
}

enum ri_status
viw_engine_add(struct viw_engine *engine, struct viw_qp *qp)
{
	struct epoll_event event = {.events = EPOLLIN,
				    .data = {.u64 = ri_set_value(engine->mark, qp)}};

	atomic_store(&qp->engine.watch, EPOLLIN);
	if (epoll_ctl(engine->epfd, EPOLL_CTL_ADD, qp->stream.fd, &event) != 0)
		return RI_ERR_RESOURCES;
	pthread_mutex_lock(&engine->lock);
	qp->engine.next = engine->list;
	qp->engine.at = &engine->list;
	if (engine->list != NULL)
		engine->list->engine.at = &qp->engine.next;
	engine->list = qp;
	choose_hot(engine);
	if (atomic_fetch_add(&engine->streams, 1) == VIW_HOT) {
		sockets_rewatch(engine);
		/*
		 * Polls no longer try all sockets: request EPOLLOUT for those that are blocked. A sender that is blocked from
		 * here on sees the new number, and requests it (viw_engine_blocked).
		 */
		for (struct viw_qp *at = engine->list; at != NULL; at = at->engine.next)
			if (atomic_load(&at->tx.blocked))
				viw_engine_want(at, EPOLLOUT, 0);
	}
	pthread_mutex_unlock(&engine->lock);
	return RI_SUCCESS;
}

void
viw_engine_remove(struct viw_engine *engine, struct viw_qp *qp)
{
	pthread_mutex_lock(&engine->lock);
	if (qp->engine.at != NULL) {
		*qp->engine.at = qp->engine.next;
		if (qp->engine.next != NULL)
			qp->engine.next->engine.at = qp->engine.at;
		qp->engine.at = NULL;
		atomic_fetch_sub(&engine->streams, 1);
	}
	/* After it has left the list, so that sockets_rewatch does not add it again. */
	(void)epoll_ctl(engine->epfd, EPOLL_CTL_DEL, qp->stream.fd, NULL);
	qp->engine.unwatched = false;
	choose_hot(engine);
	pthread_mutex_unlock(&engine->lock);
}

void
viw_engine_want(struct viw_qp *qp, uint32_t set, uint32_t clear)
{
	struct viw_engine *engine = &qp->rnic->engine;

	atomic_fetch_or(&qp->engine.watch, set);
	atomic_fetch_and(&qp->engine.watch, ~clear);
	/* The other role may do the same just now; the last call must tell the kernel the last value. */
	uint32_t told;
	do {
		told = atomic_load(&qp->engine.watch);
		struct epoll_event event = {.events = told,
					    .data = {.u64 = ri_set_value(engine->mark, qp)}};

		(void)epoll_ctl(engine->epfd, EPOLL_CTL_MOD, qp->stream.fd, &event);
	} while (atomic_load(&qp->engine.watch) != told);
}

/*
 * A thread that polls tries the few sockets itself. To tell the kernel of each stop and restart of a sender
 * would cost more than the sending. When the polling ends, viw_engine_progress requests EPOLLOUT; when the streams
 * become too many, viw_engine_add does. It counts the stream and then looks at viw_tx::blocked, which is set here
 * before the count is read (not relaxed): one of the two sees the other.
 */
void
viw_engine_blocked(struct viw_qp *qp)
{
	struct viw_engine *engine = &qp->rnic->engine;

	if (atomic_load(&engine->streams) <= VIW_HOT) {
		atomic_store(&engine->epollout_deferred, true);
		if (vsw_leader_attended(&engine->leader))
			return;
	}
	viw_engine_want(qp, EPOLLOUT, 0);
}

void
viw_engine_give(struct viw_engine *engine, uint8_t *buf)
{
	if (!viw_pool_put(&engine->pool, buf))
		return;
	atomic_store(&engine->buffer_returned, true);
	vsw_leader_request_run(&engine->leader);
}

uint8_t *
viw_engine_set_aside(struct viw_engine *engine, uint8_t *buf, uint32_t *at, uint32_t len)
{
	if (!viw_pool_is_low(&engine->pool) || !viw_pool_owns(&engine->pool, buf))
		return buf;
	uint8_t *copy = viw_pool_copy(&engine->pool, buf + *at, len);
	if (copy == NULL)
		return buf;
	*at = 0;
	viw_engine_give(engine, buf);
	return copy;
}

/* --- requests held back -------------------------------------------------------------------- */

/*
 * Releasing requests that are held back. A thread that posts a batch and releases it itself needs
 * no locked instruction for each request: as long as it alone does so, its requests precede its own
 * release. If another thread releases them, that thread orders the two by membarrier(2), and from
 * then on each request of this queue pair is held back with an atomic instruction that orders it.
 */

/* A value that no other living thread has. */
static void *
this_thread(void)
{
	return (void *)pthread_self();
}

void
viw_engine_hold_back(struct viw_engine *engine, struct viw_qp *qp)
{
	struct viw_qp *top;

	atomic_signal_fence(memory_order_seq_cst); /* what was posted is stored before this load */
	if (atomic_load_explicit(&qp->tx.holder, memory_order_relaxed) == this_thread())
		return;
	if (atomic_exchange(&qp->tx.held_back, true))
		return;
	if (ri_order_is_light(&vsw_order_light) &&
	    !atomic_load_explicit(&qp->tx.posts_apart, memory_order_relaxed))
		atomic_store_explicit(&qp->tx.holder, this_thread(), memory_order_relaxed);
	top = atomic_load(&engine->held_back);
	do
		atomic_store(&qp->engine.next_held_back, top);
	while (!atomic_compare_exchange_weak(&engine->held_back, &top, qp));
}

/* Run the sending role of all of them. True: there were some. */
static bool
release_held_back(struct viw_engine *engine)
{
	struct viw_qp *qp;

	if (atomic_load(&engine->held_back) == NULL)
		return false;
	qp = atomic_exchange(&engine->held_back, NULL);
	while (qp != NULL) {
		struct viw_qp *next = atomic_load(&qp->engine.next_held_back);

		/* From here on a request is held back anew. Those that were, are seen by the run that follows. */
		void *holder = atomic_load(&qp->tx.holder);

		if (holder != NULL) {
			atomic_store(&qp->tx.holder, NULL);
			if (holder != this_thread()) {
				atomic_store(&qp->tx.posts_apart, true);
				ri_order_others(&vsw_order_light);
			}
		}
		/* An exchange reads what viw_engine_hold_back wrote, so the run sees what was posted before. */
		atomic_exchange(&qp->tx.held_back, false);
		viw_tx_run(qp);
		qp = next;
	}
	return true;
}

/* --- progress ------------------------------------------------------------------------------ */

void
viw_engine_sample(struct viw_engine *engine, struct viw_qp *qp)
{
	int cpu = -1;
	socklen_t len = sizeof(cpu);

	/* Only the owner of the role writes it. */
	unsigned samples = atomic_load_explicit(&qp->rx.samples, memory_order_relaxed);

	atomic_store_explicit(&qp->rx.samples, samples + 1, memory_order_relaxed);
	if ((samples & 31) != 0 || !qp->stream.peer_local)
		return;
	if (getsockopt(qp->stream.fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &len) != 0)
		return;
	atomic_store_explicit(&engine->spin_futile, cpu == sched_getcpu(), memory_order_relaxed);
}

/* Run the queue pairs that the set reports. `served`: on the service thread. */
static uint32_t
serve_set(struct viw_engine *engine, bool served)
{
	struct epoll_event events[EVENTS];
	uint32_t done = 0;
	int n = ri_epoll_now(engine->epfd, events, EVENTS);

	for (int i = 0; i < n; i++) {
		struct viw_qp *qp = ri_set_item(engine->mark, events[i].data.u64);
		uint32_t of_qp = events[i].events;

		if (qp == NULL)
			continue; /* of another set: the program has closed this one */
		if (of_qp & (EPOLLERR | EPOLLHUP))
			atomic_store(&qp->rx.hung_up, true);
		if (of_qp & (EPOLLIN | EPOLLERR | EPOLLHUP))
			done += served ? viw_rx_serve(qp) : viw_rx_try(qp);
		if (of_qp & (EPOLLOUT | EPOLLERR | EPOLLHUP))
			viw_tx_try(qp);
		done += (of_qp & EPOLLOUT) != 0;
	}
	return done;
}

/* Do what polling has put off: register sockets and EPOLLOUT again; run senders that the pool had no buffer for. */
static void
serve_deferred(struct viw_engine *engine)
{
	bool deferred = atomic_exchange(&engine->epollout_deferred, false);
	bool returned = atomic_exchange(&engine->buffer_returned, false);
	bool unwatched = atomic_exchange(&engine->some_unwatched, false);

	if (!deferred && !returned && !unwatched)
		return;
	pthread_mutex_lock(&engine->lock);
	if (unwatched)
		sockets_rewatch(engine);
	for (struct viw_qp *qp = engine->list; qp != NULL; qp = qp->engine.next) {
		if (returned && atomic_load(&qp->tx.starved))
			viw_engine_hold_back(engine, qp);
		if (deferred && atomic_load(&qp->tx.blocked))
			viw_engine_want(qp, EPOLLOUT, 0);
	}
	pthread_mutex_unlock(&engine->lock);
}

/* Make progress for all queue pairs. `idle`: the application waits and is not about to post a batch. */
static uint32_t
engine_drive(struct viw_engine *engine, bool idle)
{
	uint32_t done = 0;

	vsw_leader_polled(&engine->leader);
	/* Nothing is tried without the set then: what is tried each time would get more than its share. */
	if (!viw_engine_is_small(engine))
		return serve_set(engine, false);
	for (unsigned i = 0; i < VIW_HOT; i++) {
		struct viw_qp *qp = atomic_load_explicit(&engine->hot[i], memory_order_acquire);

		if (qp == NULL)
			break;
		if (idle)
			atomic_store_explicit(&qp->tx.send_at_once, true, memory_order_relaxed);
		if (atomic_load_explicit(&qp->tx.blocked, memory_order_relaxed))
			viw_tx_try(qp);
		uint32_t n = viw_rx_try(qp);
		if (n > 0)
			message_polled(engine, qp);
		done += n;
	}
	return done;
}

void
viw_engine_drive(struct viw_engine *engine)
{
	(void)engine_drive(engine, false);
}

uint32_t
viw_engine_poll(void *arg)
{
	struct viw_engine *engine = arg;

	if (atomic_load_explicit(&engine->forked, memory_order_relaxed))
		return 0;
	bool idle = !release_held_back(engine); /* after one batch another is likely */
	uint32_t done = engine_drive(engine, idle);
	if (done == 0 && atomic_load_explicit(&engine->spin_futile, memory_order_relaxed))
		vsw_relax(engine->host, RI_RELAX_SPINS); /* the peer shares the processor */
	return done;
}

uint32_t
viw_engine_progress(void *arg, uint32_t budget)
{
	struct viw_engine *engine = arg;

	(void)budget; /* one epoll_wait is a bound: EVENTS rounds of VIW_RX_ROUND octets */
	if (atomic_load(&engine->forked))
		return 0;
	serve_deferred(engine);
	(void)release_held_back(engine);
	return serve_set(engine, true);
}

bool
viw_engine_leader_enter(void *arg, int *fd)
{
	struct viw_engine *engine = arg;

	if (atomic_load(&engine->forked))
		return false;
	(void)release_held_back(engine);
	return vsw_leader_enter(&engine->leader, fd);
}

void
viw_engine_leader_leave(void *arg)
{
	struct viw_engine *engine = arg;

	if (!atomic_load(&engine->forked))
		vsw_leader_leave(&engine->leader);
}

bool
viw_engine_spin_futile(void *arg)
{
	struct viw_engine *engine = arg;

	return atomic_load_explicit(&engine->spin_futile, memory_order_relaxed);
}
