/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "ri_calls.h"
#include "ri_errno.h"
#include "ri_fd.h"
#include "ri_log.h"
#include "ri_refused.h"
#include "ri_set.h"
#include "vem_link_path.h"
#include "vem_remote.h"
#include "vem_setting.h"
#include "vsw_relax.h"
#include "vsw_setting.h"

#define ENTRIES     256 /* read of each link in one round */
#define OCTETS      (1u << 20)
#define ROUNDS      4       /* of a thread that will sleep, before another task has its turn */
#define BUSY        1000000 /* ns after which it has, however much there is to read */
#define WAKES       32      /* links of one look at the set */
#define ACCEPTS     16
#define SWEEP       50000000 /* ns after the end of a link */
#define SWEEPS      3        /* each later by the factor ... */
#define SWEEP_LATER 10       /* ... than the one before */
#define LINGER      30000 /* ns that a thread looks for more before it sleeps: a wake-up costs as much */
#define IDLE_LOOKS  1024 /* at all links that found nothing, after which another thread may run */
#define FEW         16   /* links that each poll reads ... */
#define PARTS       8    /* ... or a part of them */

void
vem_shm_say(const struct vem_shm *shm, unsigned level, const char *format, ...)
{
	const struct ri_log_about about = {.layer = "emul",
					   .adapter = vem_adapter_name(shm->fabric)};
	va_list args;

	if (shm->host->log_level < level)
		return;
	va_start(args, format);
	ri_log_list(shm->host, level, &about, format, args);
	va_end(args);
}

void
vem_shm_refused(const struct vem_shm *shm, const char *call, int error)
{
	const struct ri_log_about about = {.layer = "emul",
					   .adapter = vem_adapter_name(shm->fabric)};

	ri_log_refused(shm->host, &about, call, error);
}

/* --- reading ------------------------------------------------------------------------------ */

void
vem_shm_rx_take(struct vem_shm *shm)
{
	vsw_role_enter(&shm->rx, shm->host);
}

void
vem_shm_rx_drop(struct vem_shm *shm)
{
	bool again = false;

	while (vsw_role_drop(&shm->rx)) {
		vsw_role_begin(&shm->rx);
		again = true;
	}
	if (again)
		vsw_leader_request_run(&shm->leader);
}

/*
 * Publish what was read, so that the writer may go on. A writer that waits for room checks its ring
 * itself while it is awake. If it sleeps it is woken when half of the ring is free, or everything
 * was read (`all`).
 */
static void
link_release(struct vem_link *link, bool all)
{
	if (vem_ring_release(&link->in))
		link->wanted = true;
	if (!link->wanted)
		link->woken_at = link->in.read;
	if (!link->wanted || (!all && link->in.read - link->woken_at < VEM_RING_LINES / 2))
		return;
	link->wanted = false;
	link->woken_at = link->in.read;
	if (vem_ring_must_wake(&link->out))
		vem_link_wake(link);
}

/* Does a thread wait for room, and is there some? */
static bool
link_has_room(struct vem_link *link)
{
	if (__builtin_expect(!atomic_load_explicit(&link->starved, memory_order_relaxed), 1))
		return false;
	vsw_lock(&link->out_lock);
	bool room = vem_ring_want_room(&link->out, VEM_RING_MAX);
	vsw_unlock(&link->out_lock);
	return room;
}

bool
vem_link_turn_is_over(struct vem_link *link, uint32_t octets)
{
	link->turned += octets;
	if (link->turned < VEM_LINK_TURN)
		return false;
	atomic_store(&link->starved, true); /* the next turn begins in vem_remote_room */
	return true;
}

void
vem_link_turn_pass(struct vem_link *link)
{
	if (link->turned >= VEM_LINK_TURN)
		vsw_leader_request_run(&link->shm->leader);
}

static inline void
entry_read(struct vem_link *link, const struct vem_ring_entry *entry)
{
	vem_remote_entry(link, entry);
	vem_ring_take(&link->in, entry);
	if (vem_ring_release_due(&link->in, false))
		link_release(link, false);
}

/*
 * May the ACKs wait? A program often answers a message, and its answer carries the ACK. A separate
 * ACK costs more than the message, because its line is transferred between the processors twice. So
 * the ACK of a single message that has taken a receive waits for a few polls, if the program
 * usually answers. If a program calls _exit() after its last message, that Send must not fail. If
 * the polls do not come, the service thread takes over within 5.5 ms; acks_at_exit and
 * vem_remote_message write pending ACKs at an end.
 */
static inline bool
answers_wait(struct vem_link *link, bool polls)
{
	if (link->received != 0)
		link->waits = VEM_ACK_POLLS;
	else if (link->waits != 0)
		link->waits--;
	return polls && link->waits != 0 && vem_remote_owes_one_ack(link) &&
	       vsw_leader_attended(&link->shm->leader);
}

/*
 * Entries were read: wake writers that wait for room, and write the answers that are due. True: something was done.
 * `polls`: the calling thread polls, so it will read again.
 */
static inline bool
link_go_on(struct vem_link *link, bool polls)
{
	if (link->wanted || vem_ring_release_due(&link->in, true))
		link_release(link, true);
	if (__builtin_expect(link->in.broken, 0))
		vem_link_break(link, "an entry of its ring cannot be");
	if (__builtin_expect(atomic_load_explicit(&link->readies, memory_order_relaxed), 0))
		vem_remote_readies(link);
	if (link->owing != NULL && !answers_wait(link, polls))
		vem_remote_answers(link);
	if (!link_has_room(link))
		return false;
	vem_remote_room(link);
	return true;
}

/* Read what a link has, up to the budget of a round. Returns how much there was to do. */
static uint32_t
link_read(struct vem_link *link, bool polls)
{
	struct vem_ring_entry entry;
	uint32_t done = 0, octets = 0;

	link->received = 0;
	while (done < ENTRIES && octets < OCTETS && vem_ring_look(&link->in, &entry)) {
		octets += entry.length;
		entry_read(link, &entry);
		done++;
	}
	return link_go_on(link, polls) ? done + 1 : done;
}

void
vem_shm_read_to(struct vem_link *link, uint64_t end)
{
	struct vem_ring_entry entry;

	while (link->in.read < end && vem_ring_look(&link->in, &entry))
		entry_read(link, &entry);
	(void)link_go_on(link, false);
	vem_link_turn_pass(link);
}

void
vem_shm_catch_up(struct vem_link *link)
{
	vem_shm_rx_take(link->shm);
	for (unsigned i = 0; i < VEM_RING_LINES / ENTRIES && atomic_load(&link->up) &&
			     !atomic_load(&link->broken) && link_read(link, false) != 0;)
		i++;
	vem_link_turn_pass(link);
	vem_shm_rx_drop(link->shm);
}

/* Owner of rx: read the link of a place, if there is one. `polls`: its thread will do so again. */
static uint32_t
place_read(struct vem_shm *shm, unsigned place, bool polls)
{
	struct vem_link *link = atomic_load_explicit(&shm->links[place], memory_order_acquire);

	if (link == NULL || !atomic_load_explicit(&link->reads, memory_order_acquire) ||
	    atomic_load_explicit(&link->broken, memory_order_relaxed))
		return 0;
	return link_read(link, polls);
}

/* Owner of rx. *more: a link may have more than this round has read. */
static uint32_t
round_read(struct vem_shm *shm, bool *more)
{
	unsigned linked = atomic_load_explicit(&shm->linked, memory_order_acquire);
	uint32_t done = 0;

	for (unsigned i = 0; i < linked; i++)
		done += place_read(shm, i, false);
	*more = *more || done != 0;
	return done;
}

/* The link of that place had entries: each poll reads it. */
static void
lately_add(struct vem_shm *shm, unsigned place)
{
	for (unsigned i = 0; i < VEM_LATELY; i++)
		if (shm->lately[i] == place)
			return;
	shm->latest = (shm->latest + 1) % VEM_LATELY;
	shm->lately[shm->latest] = place;
}

/*
 * Owner of rx: a poll. If there are many links it reads those that had entries lately, and a part
 * of the rest. Where processes are more than processors few of them run at a time, and these
 * answer in less time than it takes to look at a hundred rings.
 */
static uint32_t
poll_read(struct vem_shm *shm)
{
	unsigned linked = atomic_load_explicit(&shm->linked, memory_order_acquire);
	unsigned part = linked <= FEW ? linked : linked / PARTS;
	uint32_t done = 0;

	if (linked > FEW)
		for (unsigned i = 0; i < VEM_LATELY; i++)
			if (shm->lately[i] < linked)
				done += place_read(shm, shm->lately[i], true);
	if (shm->look >= linked) {
		shm->look = 0;
		shm->idle++;
	}
	for (unsigned i = 0; i < part && shm->look < linked; i++) {
		uint32_t n = place_read(shm, shm->look, true);

		if (n != 0 && linked > FEW)
			lately_add(shm, shm->look);
		done += n;
		shm->look++;
	}
	if (done != 0)
		shm->idle = 0;
	return done;
}

/* Owner of rx: empty the sockets that have woken this side. */
static void
wakes_read(struct vem_shm *shm)
{
	struct epoll_event events[WAKES];
	int n = ri_epoll_now(shm->epfd, events, WAKES);
	char octets[16];

	for (int i = 0; i < n; i++) {
		struct vem_link *link = ri_set_item(shm->mark, events[i].data.u64);

		if (link == NULL)
			continue; /* of another set: the program has closed this one */
		if ((events[i].events & (EPOLLHUP | EPOLLERR)) != 0)
			/* It will not wake this side any more; the end of the link is another socket's. */
			(void)epoll_ctl(shm->epfd, EPOLL_CTL_DEL, link->wake_in, NULL);
		for (unsigned k = 0;
		     k < WAKES && ri_recv(link->wake_in, octets, sizeof(octets), MSG_DONTWAIT) > 0;)
			k++;
	}
}

/* With sleep_lock. */
static void
asleep_set(struct vem_shm *shm, bool asleep, bool *more)
{
	atomic_store(&shm->asleep, asleep);
	for (unsigned i = 0; i < atomic_load(&shm->linked); i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		if (link == NULL || atomic_load(&link->broken))
			continue;
		if (!asleep) {
			vem_ring_awake(&link->in);
			continue;
		}
		/* What a peer writes before it has greeted is not read, so it keeps nobody awake. */
		if (!vem_ring_sleep(&link->in))
			*more = *more || atomic_load(&link->reads);
		if (!atomic_load(&link->up))
			continue;
		link_release(link, true);
	}
}

/* Is there room for a thread that waits for it? The other side wakes this one for it only after it has read that this one sleeps. */
static bool
any_has_room(struct vem_shm *shm)
{
	for (unsigned i = 0; i < atomic_load(&shm->linked); i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		if (link != NULL && atomic_load(&link->reads) && !atomic_load(&link->broken) &&
		    link_has_room(link))
			return true;
	}
	return false;
}

/* The thread will sleep: read all, have the other sides wake it, and look again. Owner of rx. */
static uint32_t
read_and_sleep(struct vem_shm *shm)
{
	const struct ri_host *host = shm->host;
	uint64_t until = host->now(host->self);
	uint64_t end = until + BUSY;
	unsigned fired = atomic_load(&shm->fired);
	/* A program that looks at its memory would keep the processor that this thread yields. */
	uint64_t linger = vsw_leader_beside(&shm->leader) ? 0 : LINGER;
	uint32_t done = 0;
	bool more = true;

	wakes_read(shm);
	for (unsigned i = 0; i < ROUNDS && more; i++) {
		unsigned idle = 0;
		uint64_t now;

		/* While this thread reads, nobody needs to wake it. */
		vsw_lock(&shm->sleep_lock);
		asleep_set(shm, false, &more);
		vsw_unlock(&shm->sleep_lock);
		do {
			uint32_t n = round_read(shm, &more);

			done += n;
			now = host->now(host->self);
			if (n != 0) {
				until = now + linger;
				idle = 0;
			} else {
				/* The other side may wait for this processor. No nap: what it writes would wait for its end. */
				vsw_relax(host, idle < RI_RELAX_SPINS ? idle++ : RI_RELAX_SPINS);
			}
			/* Somebody waits for what has come, perhaps the caller: that does not wait for more. */
		} while (now < until && now < end && atomic_load(&shm->fired) == fired);
		more = false;
		vsw_lock(&shm->sleep_lock);
		asleep_set(shm, true, &more);
		vsw_unlock(&shm->sleep_lock);
		more = more || any_has_room(shm);
	}
	if (more)
		vsw_leader_request_run(&shm->leader);
	return done;
}

/* vsw_leader::progress, and a leader that was woken. */
static uint32_t
shm_run(void *arg, uint32_t budget)
{
	struct vem_shm *shm = arg;
	uint32_t done = 0;

	(void)budget; /* that of each link */
	if (atomic_load(&shm->forked))
		return 0;
	if (!vsw_leader_take(&shm->leader, &shm->rx))
		return 0;
	do {
		vsw_role_begin(&shm->rx);
		done += read_and_sleep(shm);
	} while (vsw_role_drop(&shm->rx));
	return done;
}

/* A thread polls. It takes the role only if it is free: its owner reads for all. */
static uint32_t
shm_poll(struct vem_shm *shm)
{
	uint32_t done = 0;
	bool more = false;

	vsw_leader_polled(&shm->leader);
	if (atomic_load_explicit(&shm->asleep, memory_order_relaxed) &&
	    !vsw_leader_beside(&shm->leader)) {
		vsw_lock(&shm->sleep_lock);
		if (shm->sleepers == 0)
			asleep_set(shm, false, &more);
		vsw_unlock(&shm->sleep_lock);
		/* If this thread was stopped since it said so, the service thread has taken over, and would not hear of a peer. */
		vsw_leader_polled(&shm->leader);
		if (vsw_leader_beside(&shm->leader))
			vsw_leader_request_run(&shm->leader);
	}
	if (vsw_role_is_taken(&shm->rx) || vsw_role_is_wanted(&shm->rx) ||
	    !vsw_role_take(&shm->rx)) {
		vsw_relax(shm->host, RI_RELAX_SPINS); /* its owner may wait for this processor */
		return 0;
	}
	done = poll_read(shm);
	bool yields = shm->idle >= IDLE_LOOKS;
	if (yields)
		shm->idle = 0;
	vem_shm_rx_drop(shm);
	if (yields)
		vsw_relax(shm->host, RI_RELAX_SPINS);
	return done;
}

uint32_t
vem_shm_bell_poll(void *engine)
{
	struct vem_shm *shm = ((struct ri_rnic *)engine)->fabric->shm;

	return atomic_load_explicit(&shm->forked, memory_order_relaxed) ? 0 : shm_poll(shm);
}

uint32_t
vem_shm_bell_progress(void *engine, uint32_t budget)
{
	struct vem_shm *shm = ((struct ri_rnic *)engine)->fabric->shm;

	if (atomic_load_explicit(&shm->forked, memory_order_relaxed))
		return 0;
	/*
	 * If a leader sleeps, peers must be able to wake it again, so shm_run() records that it sleeps.
	 * Otherwise this thread will read the rings again, or become the leader.
	 */
	return atomic_load(&shm->sleepers) != 0 ? shm_run(shm, budget) : shm_poll(shm);
}

bool
vem_shm_bell_enter(void *engine, int *fd)
{
	struct vem_shm *shm = ((struct ri_rnic *)engine)->fabric->shm;

	if (atomic_load(&shm->forked))
		return false;
	vsw_lock(&shm->sleep_lock);
	shm->sleepers++;
	vsw_unlock(&shm->sleep_lock);
	if (vsw_leader_enter(&shm->leader, fd))
		return true;
	vsw_lock(&shm->sleep_lock);
	shm->sleepers--;
	vsw_unlock(&shm->sleep_lock);
	return false;
}

void
vem_shm_bell_leave(void *engine)
{
	struct vem_shm *shm = ((struct ri_rnic *)engine)->fabric->shm;

	if (atomic_load(&shm->forked))
		return;
	vsw_lock(&shm->sleep_lock);
	shm->sleepers--;
	vsw_unlock(&shm->sleep_lock);
	vsw_leader_leave(&shm->leader);
}

/* On the service thread: links that have broken. */
static void
reap_all(void *arg)
{
	struct vem_shm *shm = arg;

	pthread_mutex_lock(&shm->fabric->lock);
	for (unsigned i = 0; i < VEM_LINKS_MAX; i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		if (link != NULL)
			vem_link_reap(link);
	}
	pthread_mutex_unlock(&shm->fabric->lock);
}

/* --- what a forked child closes ----------------------------------------------------------- */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t all_once = PTHREAD_ONCE_INIT;
static struct vem_shm *all;

static void
before_fork(void)
{
	pthread_mutex_lock(&all_lock);
}

static void
after_fork_parent(void)
{
	pthread_mutex_unlock(&all_lock);
}

/*
 * In the child of a fork: close the descriptors of the parent's links, since a duplicate would make
 * a dead parent look alive to its peers. The rings are not mapped in the child. Only close() is
 * called, which is allowed here. A link that was being made at the fork stays open.
 */
static void
after_fork_child(void)
{
	for (struct vem_shm *shm = all; shm != NULL; shm = shm->next) {
		atomic_store(&shm->forked, true);
		ri_close(shm->epfd);
		for (unsigned i = 0; i < shm->dial_count && i < VEM_DIALS; i++)
			ri_close(shm->dials[i].fd);
		for (struct vem_name *name = shm->names; name != NULL; name = name->next)
			ri_close(name->fd);
		for (unsigned i = 0; i < VEM_LINKS_MAX; i++) {
			struct vem_link *link = atomic_load(&shm->links[i]);
			const int fds[] = {link != NULL ? link->sock : -1,
					   link != NULL ? link->wake_in : -1,
					   link != NULL ? link->wake_out : -1,
					   link != NULL ? link->far_wake : -1,
					   link != NULL ? link->ring_fd : -1};

			for (unsigned k = 0; k < sizeof(fds) / sizeof(*fds); k++)
				if (fds[k] >= 0)
					ri_close(fds[k]);
		}
	}
	all = NULL;
	pthread_mutex_unlock(&all_lock);
}

/*
 * Runs on the service thread, a while after another process has died. Its sockets are closed one
 * after another, and on a busy machine that of its name may be closed late. So a name that still
 * has a socket is checked again later.
 */
static void
names_sweep(void *arg)
{
	struct vem_shm *shm = arg;
	uint64_t wait = SWEEP;
	unsigned done = atomic_fetch_add(&shm->sweeps, 1) + 1;

	vem_place_sweep(&shm->place);
	for (unsigned i = 0; i < done; i++)
		wait *= SWEEP_LATER;
	if (done < SWEEPS)
		shm->host->timer_start(shm->host->self, &shm->sweep,
				       shm->host->now(shm->host->self) + wait);
}

void
vem_shm_sweep_soon(struct vem_shm *shm)
{
	atomic_store(&shm->sweeps, 0);
	shm->host->timer_start(shm->host->self, &shm->sweep,
			       shm->host->now(shm->host->self) + SWEEP);
}

/* --- names -------------------------------------------------------------------------------- */

static const char *
kind_name(const struct vem_shm *shm)
{
	return shm->fabric->personality == VEM_IB ? "ib" : "iwarp";
}

void
vem_shm_name_of(const struct vem_shm *shm, const struct ri_service *service,
		char name[VEM_PLACE_NAME])
{
	if (service->kind == RI_SERVICE_PORT)
		(void)snprintf(name, VEM_PLACE_NAME, "%s.port-%u", kind_name(shm),
			       (unsigned)__builtin_bswap16(service->port));
	else
		(void)snprintf(name, VEM_PLACE_NAME, "%s.id-%016llx", kind_name(shm),
			       (unsigned long long)__builtin_bswap64(service->id));
}

void
vem_shm_name_of_block(const struct vem_shm *shm, uint32_t block, char name[VEM_PLACE_NAME])
{
	(void)snprintf(name, VEM_PLACE_NAME, "%s.block-%03x", kind_name(shm),
		       (unsigned)(block % VEM_BLOCKS));
}

static void
name_again(void *arg)
{
	struct vem_name *name = arg;
	const struct ri_host *host = name->shm->host;

	host->watch_change(host->self, &name->watch, RI_WATCH_IN);
}

/* A connection waits, and this process has no descriptor for it: look again in a while, and not all the time. */
static void
name_pause(struct vem_name *name)
{
	const struct ri_host *host = name->shm->host;

	host->watch_change(host->self, &name->watch, 0);
	host->timer_start(host->self, &name->again, host->now(host->self) + SWEEP);
}

static void
name_fire(void *arg, uint32_t events)
{
	struct vem_name *name = arg;
	struct vem_shm *shm = name->shm;

	(void)events;
	pthread_mutex_lock(&shm->fabric->lock);
	for (unsigned i = 0; i < ACCEPTS && !shm->closing; i++) {
		int fd = ri_fd_accept(name->fd, NULL, NULL, SOCK_NONBLOCK);

		if (fd < 0) {
			int error = errno;

			/* One that has gone was taken from the queue; with another error it stays there. */
			if (error != EAGAIN && error != EWOULDBLOCK && error != EINTR &&
			    error != ECONNABORTED) {
				name_pause(name);
				vem_shm_refused(shm, "accept4", error);
			}
			break;
		}
		vem_link_accept(shm, fd, name->key);
	}
	pthread_mutex_unlock(&shm->fabric->lock);
}

static enum ri_status
name_take(struct vem_shm *shm, struct vem_name *name)
{
	const char *call;

	name->shm = shm;
	name->fd = vem_place_listen(&shm->place, name->name, &call);
	if (name->fd < 0) {
		int error = errno;

		vem_shm_refused(shm, call, error);
		errno = error;
		return error == EADDRINUSE ? RI_ERR_IN_USE : RI_ERR_RESOURCES;
	}
	name->watch = (struct ri_watch){
		.fire = name_fire, .arg = name, .fd = name->fd, .events = RI_WATCH_IN};
	name->again = (struct ri_timer){.fire = name_again, .arg = name};

	enum ri_status status = shm->host->watch_start(shm->host->self, &name->watch);

	if (status != RI_SUCCESS) {
		vem_place_leave(&shm->place, name->name, name->fd);
		return status;
	}
	pthread_mutex_lock(&all_lock);
	name->next = shm->names;
	shm->names = name;
	pthread_mutex_unlock(&all_lock);
	return status;
}

static void
name_give(struct vem_name *name)
{
	struct vem_shm *shm = name->shm;

	pthread_mutex_lock(&all_lock);
	for (struct vem_name **at = &shm->names; *at != NULL; at = &(*at)->next) {
		if (*at == name) {
			*at = name->next;
			break;
		}
	}
	pthread_mutex_unlock(&all_lock);
	if (atomic_load(&shm->forked))
		return;
	shm->host->watch_stop(shm->host->self, &name->watch);
	shm->host->timer_stop(shm->host->self, &name->again);
	vem_place_leave(&shm->place, name->name, name->fd);
}

enum ri_status
vem_shm_name_new(struct vem_shm *shm, const char text[VEM_PLACE_NAME], uint64_t key,
		 struct vem_name **out)
{
	struct vem_name *name = calloc(1, sizeof(*name));
	enum ri_status status = RI_ERR_RESOURCES;

	if (name == NULL)
		return status;
	(void)snprintf(name->name, sizeof(name->name), "%s", text);
	name->key = key;
	status = name_take(shm, name);
	if (status == RI_SUCCESS)
		*out = name;
	else
		free(name);
	return status;
}

enum ri_status
vem_shm_name_take(struct vem_shm *shm, const struct ri_service *service, struct vem_name **out)
{
	char text[VEM_PLACE_NAME];

	vem_shm_name_of(shm, service, text);
	return vem_shm_name_new(shm, text, VEM_KEY_NONE, out);
}

void
vem_shm_name_give(struct vem_name *name)
{
	name_give(name);
	free(name);
}

/* A block of queue pair numbers that no other process has. */
static enum ri_status
block_take(struct vem_shm *shm)
{
	enum ri_status status = RI_ERR_IN_USE;
	uint32_t first = 0;

	shm->host->random(shm->host->self, &first, sizeof(first));
	for (uint32_t i = 0; i < VEM_BLOCKS && status == RI_ERR_IN_USE; i++) {
		shm->block = (first + i) % VEM_BLOCKS;
		if (shm->block == 0 || shm->block == VEM_BLOCKS - 1)
			continue; /* numbers that are special */
		vem_shm_name_of_block(shm, shm->block, shm->own.name);
		status = name_take(shm, &shm->own);
	}
	return status;
}

/* --- forks -------------------------------------------------------------------------------- */

/* A process that ends orderly does not keep what it owes to its peers. */
static __attribute__((destructor)) void
acks_at_exit(void)
{
	if (pthread_mutex_trylock(&all_lock) != 0)
		return;
	for (struct vem_shm *shm = all; shm != NULL; shm = shm->next) {
		if (!vsw_role_take(&shm->rx))
			continue;
		for (unsigned i = 0; i < VEM_LINKS_MAX; i++) {
			struct vem_link *link = atomic_load(&shm->links[i]);

			if (link != NULL && link->owing != NULL)
				vem_remote_answers(link);
		}
		vem_shm_rx_drop(shm);
	}
	pthread_mutex_unlock(&all_lock);
}

static void
forks_watch(void)
{
	(void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static void
forks_add(struct vem_shm *shm)
{
	pthread_once(&all_once, forks_watch);
	pthread_mutex_lock(&all_lock);
	shm->next = all;
	all = shm;
	pthread_mutex_unlock(&all_lock);
}

static void
forks_remove(const struct vem_shm *shm)
{
	pthread_mutex_lock(&all_lock);
	for (struct vem_shm **at = &all; *at != NULL; at = &(*at)->next) {
		if (*at == shm) {
			*at = shm->next;
			break;
		}
	}
	pthread_mutex_unlock(&all_lock);
}

/* --- open and close ----------------------------------------------------------------------- */

static bool
place_find(struct vem_shm *shm)
{
	/* Another project's variable: the user's folder for what lives as long as a session. */
	static const struct ri_setting runtime = {.name = "XDG_RUNTIME_DIR"};
	const char *fabric = vsw_setting_text(&vem_settings[VEM_SETTING_FABRIC]);
	char why[VEM_PLACE_WHY];

	if (vem_place_open(&shm->place, fabric, vsw_setting_text(&runtime), why)) {
		vem_place_sweep(&shm->place);
		return true;
	}
	vem_shm_say(shm, RI_LOG_ERROR, "the fabric \"%s\" cannot be joined: %s", fabric, why);
	return false;
}

struct vem_shm *
vem_shm_open(struct vem_fabric *fabric)
{
	void *room = NULL;

	if (posix_memalign(&room, VSW_CACHE_LINE, sizeof(struct vem_shm)) != 0)
		return NULL;

	struct vem_shm *shm = memset(room, 0, sizeof(*shm));

	shm->fabric = fabric;
	shm->host = fabric->host;
	shm->reap = (struct ri_task){.fire = reap_all, .arg = shm};
	shm->repath = (struct ri_task){.fire = vem_link_paths_watch, .arg = shm};
	shm->dial = (struct ri_task){.fire = vem_remote_ud_dial_all, .arg = shm};
	shm->sweep = (struct ri_timer){.fire = names_sweep, .arg = shm};
	atomic_store(&shm->asleep, true);
	if (!place_find(shm)) {
		free(shm);
		return NULL;
	}
	for (unsigned i = 0; i < VEM_LATELY; i++)
		shm->lately[i] = VEM_LINKS_MAX; /* none */
	shm->host->random(shm->host->self, &shm->mark, sizeof(shm->mark));
	shm->epfd = ri_fd_epoll();
	if (shm->epfd >= 0 &&
	    vsw_leader_start(&shm->leader, shm->host, shm->epfd, shm_run, shm) == RI_SUCCESS) {
		fabric->shm = shm; /* a process may dial the name at once */
		if (block_take(shm) == RI_SUCCESS) {
			forks_add(shm);
			return shm;
		}
		fabric->shm = NULL;
		vsw_leader_stop(&shm->leader);
	}
	vem_shm_say(shm, RI_LOG_ERROR, "the fabric \"%s\" has no number or no descriptor left: %s",
		    shm->place.fabric, ri_errno_text(errno));
	if (shm->epfd >= 0)
		ri_close(shm->epfd);
	free(shm);
	return NULL;
}

/* No adapter is open on it any more, so there are no connections. */
void
vem_shm_close(struct vem_shm *shm)
{
	const struct ri_host *host = shm->host;
	bool forked = atomic_load(&shm->forked);

	/* From here on nothing on the service thread makes or frees a link. */
	pthread_mutex_lock(&shm->fabric->lock);
	shm->closing = true;
	pthread_mutex_unlock(&shm->fabric->lock);
	name_give(&shm->own);
	for (unsigned i = 0; i < VEM_LINKS_MAX && !forked; i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		if (link != NULL)
			host->watch_stop(host->self, &link->watch);
		if (link != NULL)
			host->timer_stop(host->self, &link->round);
	}
	if (!forked) {
		vsw_leader_stop(&shm->leader);
		host->task_stop(host->self, &shm->reap);
		host->task_stop(host->self, &shm->repath);
		host->task_stop(host->self, &shm->dial);
		host->timer_stop(host->self, &shm->sweep);
	}
	forks_remove(shm);
	for (unsigned i = 0; i < shm->dial_count && !forked; i++)
		ri_close(shm->dials[i].fd);
	for (unsigned i = 0; i < VEM_LINKS_MAX; i++)
		if (atomic_load(&shm->links[i]) != NULL)
			vem_link_free(atomic_load(&shm->links[i]));
	if (!forked)
		ri_close(shm->epfd);
	free(shm->paths);
	free(shm);
}
