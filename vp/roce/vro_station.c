/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vro_station.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "ri_calls.h"
#include "ri_errno.h"
#include "ri_fd.h"
#include "ri_log.h"
#include "ri_refused.h"
#include "ri_wire.h"
#include "vro_address.h"
#include "vro_setting.h"
#include "vro_verbs.h"
#include "vsw_relax.h"
#include "vsw_setting.h"

#define PREFIX        "roce:"
#define ACK_DELAY     15u     /* code: 134 ms, what queue pairs take at most to acknowledge */
#define MAX_REQUESTS  1024u   /* of connections, unanswered, of all listeners */
#define MAX_EXCHANGES 131072u /* of connection management, those included that end */
#define TAGS          255u
#define FEW_PACKETS   4u
#define POSTS_HELD    32u
#define POSTS_BATCH   4u
#define FULL_WAIT     100000u /* ns until a socket that was full is tried again */
#define LINK_SPARE    96u     /* octets of headers that an interface's MTU must have besides */

static pthread_mutex_t stations_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t opening_lock =
	PTHREAD_MUTEX_INITIALIZER; /* before the other one; owned while kald is asked */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static struct vro_station *stations;
static struct vro_station *opening; /* one that is not in the list yet */

/* --- fork --------------------------------------------------------------------------------- */

static void
before_fork(void)
{
	pthread_mutex_lock(&stations_lock);
}

static void
after_fork_parent(void)
{
	pthread_mutex_unlock(&stations_lock);
}

static void
station_forget(struct vro_station *station)
{
	atomic_store(&station->forked, true);
	for (uint32_t i = 0; i < station->opened; i++)
		ri_close(station->udps[i].fd);
	/* Of an address that a thread of the parent was about to open. */
	if (station->opened < VRO_ADDRS_MAX && station->shares[station->opened].fd >= 0)
		ri_close(station->shares[station->opened].fd);
	vro_groups_forget(station);
	ri_close(station->epfd);
}

/* The stations are the parent's. The child closes its duplicates of their sockets, which would get packets after its death. */
static void
after_fork_child(void)
{
	for (struct vro_station *station = stations; station != NULL; station = station->next)
		station_forget(station);
	if (opening != NULL)
		station_forget(opening);
	stations = NULL;
	opening = NULL;
	pthread_mutex_init(&opening_lock, NULL);
	pthread_mutex_unlock(&stations_lock);
}

/* A process that ends orderly does not keep what it owes to its peers. */
static __attribute__((destructor)) void
acks_at_exit(void)
{
	if (pthread_mutex_trylock(&stations_lock) != 0)
		return;
	for (struct vro_station *station = stations; station != NULL; station = station->next)
		if (vsw_role_take(&station->role)) {
			vro_engine_acks(&station->engine);
			while (vsw_role_drop(&station->role))
				vsw_role_begin(&station->role);
		}
	pthread_mutex_unlock(&stations_lock);
}

static void
fork_handlers_install(void)
{
	(void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* --- the link ----------------------------------------------------------------------------- */

static struct vro_station *
station_of_mux(struct vro_link *link)
{
	return (struct vro_station *)(void *)((char *)link - offsetof(struct vro_station, mux));
}

/* A socket took no more: try again later. */
static void
full_wait(struct vro_station *station)
{
	const struct ri_host *host = station->engine.host;

	host->timer_start(host->self, &station->full, host->now(host->self) + FULL_WAIT);
}

/* All sockets build their packets in one room; while the kernel does not take a run, the room is not free. */
static uint8_t *
mux_room(struct vro_link *link)
{
	struct vro_station *station = station_of_mux(link);
	uint8_t *room = station->udps[0].link.room(&station->udps[0].link);

	if (room == NULL)
		full_wait(station);
	return room;
}

static void
mux_send(struct vro_link *link, const struct roce_flow *flow, size_t len)
{
	struct vro_station *station = station_of_mux(link);

	for (uint32_t i = 0; i < station->num_udps; i++) {
		struct vro_udp *udp = &station->udps[i];

		if (memcmp(udp->gid, flow->source, sizeof(udp->gid)) != 0)
			continue;
		udp->link.send(&udp->link, flow, len);
		return;
	}
}

static void
mux_flush(struct vro_link *link)
{
	struct vro_station *station = station_of_mux(link);

	if (station->num_udps != 0 && !vro_udp_flush(&station->udps[0].own))
		full_wait(station);
}

void
vro_peer_leave(struct vro_verbs_qp *qp)
{
	struct vro_verbs_qp **at = qp->peers;

	if (at == NULL)
		return;
	while (*at != qp)
		at = &(*at)->next_peer;
	*at = qp->next_peer;
	qp->peers = NULL;
}

void
vro_peer_enter(struct vro_verbs_qp *qp)
{
	vro_peer_leave(qp);
	qp->peers = &qp->rnic->station->peers[qp->qp.path.qpn % VRO_ROWS];
	qp->next_peer = *qp->peers;
	*qp->peers = qp;
}

/* Does a queue pair have that packet on its way to that address? Anybody may ask, as often as a network delivers. */
static bool
is_quoted(const struct vro_station *station, const uint8_t gid[16], const uint8_t *head, size_t len)
{
	const struct vro_verbs_qp *qp = NULL;

	if (len >= ROCE_BTH)
		qp = station->peers[(wire_load_be32(head + 4) & ROCE_24) % VRO_ROWS];
	for (; qp != NULL; qp = qp->next_peer)
		if (memcmp(qp->qp.path.flow.destination, gid, 16) == 0 &&
		    vro_requester_quoted(&qp->qp, head, len))
			return true;
	return false;
}

/* Nobody listens at that address any more, for all queue pairs, if it is a packet of one of them that was refused. */
void
vro_station_absent(struct vro_udp *udp, const uint8_t gid[16], const uint8_t *head, size_t len)
{
	struct vro_station *station = udp->owner;

	if (!is_quoted(station, gid, head, len))
		return;
	for (uint32_t row = 0; row < VRO_ROWS; row++)
		for (struct vro_verbs_qp *qp = station->rows[row]; qp != NULL; qp = qp->next_row)
			if (memcmp(qp->qp.path.flow.destination, gid, 16) == 0)
				vro_requester_absent(&qp->qp);
}

/* A socket that may not receive is watched no more: it would be found ready all the time. */
void
vro_station_denied(struct vro_udp *udp, bool receiving, int error)
{
	struct vro_station *station = udp->owner;
	const struct ri_log_about about = {.layer = "roce", .adapter = station->name};

	if (receiving)
		(void)epoll_ctl(station->epfd, EPOLL_CTL_DEL, udp->fd, NULL);
	else if (atomic_exchange(&station->denied, error) == error)
		return;
	if (error == EPERM || error == ENOSYS)
		ri_log_refused(station->engine.host, &about, receiving ? "recvmsg" : "sendmsg",
			       error);
	else
		ri_log(station->engine.host, RI_LOG_WARNING, &about,
		       "packets are lost here, since the system does not send them: %s",
		       ri_errno_text(error));
}

/* --- connection management ---------------------------------------------------------------- */

static void
gsi_receive(struct vro_engine *engine, const struct roce_flow *flow, const struct roce_packet *p)
{
	const struct vro_station *station = (struct vro_station *)(void *)engine;
	const struct vrc_path path = {.local = vro_addr_of_gid(flow->destination),
				      .peer = vro_addr_of_gid(flow->source)};

	vrc_service_receive(station->service, &path, p->payload, p->payload_length);
}

/* With the lock of the manager, on any thread. */
static void
gsi_send(void *self, const struct vrc_path *path, const uint8_t *octets)
{
	struct vro_station *station = self;
	struct roce_packet p = {.opcode = ROCE_UD | ROCE_SEND_ONLY,
				.pkey = ROCE_PKEY,
				.qpn = ROCE_QPN_GSI,
				.psn = atomic_fetch_add(&station->gsi_psn, 1) & ROCE_24,
				.qkey = ROCE_QKEY_GSI,
				.source_qpn = ROCE_QPN_GSI,
				.payload_length = VRC_MAD_SIZE};
	struct roce_flow flow = {.destination_port = ROCE_UDP_PORT, .hop_limit = 64};
	uint8_t packet[VRO_DATAGRAM];
	uint32_t head = roce_packet_write(packet, &p);

	memcpy(packet + head, octets, VRC_MAD_SIZE);
	vro_gid_of_addr(flow.source, &path->local);
	vro_gid_of_addr(flow.destination, &path->peer);
	for (uint32_t i = 0; i < station->num_udps; i++)
		if (memcmp(station->udps[i].gid, flow.source, sizeof(flow.source)) == 0)
			vro_udp_datagram(&station->udps[i], &flow, packet, head + VRC_MAD_SIZE);
}

static enum ri_status
gsi_open(struct vro_station *station)
{
	const struct ri_host *host = station->engine.host;
	const struct vrc_config config = {.host = host,
					  .send = gsi_send,
					  .self = station,
					  .path_mtu = vro_station_mtu(station),
					  .ack_delay = ACK_DELAY,
					  .max_requests = MAX_REQUESTS,
					  .max_conns = MAX_EXCHANGES,
					  .tag = station->tag};

	host->random(host->self, &station->gsi_psn, sizeof(station->gsi_psn));
	station->service = vrc_service_new(&config, vro_cm_raise, station);
	station->engine.managed = gsi_receive;
	if (station->service != NULL && station->shared) {
		vrc_slot(vrc_service_enter(station->service), station->slot);
		vrc_service_leave(station->service);
	}
	return station->service != NULL ? RI_SUCCESS : RI_ERR_RESOURCES;
}

struct vrc_service *
vro_station_of_number(uint64_t number)
{
	pthread_mutex_lock(&stations_lock);
	for (struct vro_station *station = stations; station != NULL; station = station->next)
		if (station->tag == number >> 56)
			return station->service;
	pthread_mutex_unlock(&stations_lock);
	return NULL;
}

void
vro_station_let_go(void)
{
	pthread_mutex_unlock(&stations_lock);
}

void
vro_station_hold(void)
{
	pthread_mutex_lock(&stations_lock);
}

static struct vro_qp *
station_find(struct vro_engine *engine, uint32_t qpn)
{
	struct vro_station *station = (struct vro_station *)(void *)engine;
	struct vro_verbs_qp *qp = station->rows[qpn % VRO_ROWS];

	while (qp != NULL && qp->qp.qpn != qpn)
		qp = qp->next_row;
	return qp != NULL ? &qp->qp : NULL;
}

/* --- running ------------------------------------------------------------------------------ */

void
vro_kick(struct vro_verbs_qp *qp)
{
	struct vro_station *station = qp->rnic->station;
	struct vro_verbs_qp *first;

	if (atomic_exchange(&qp->kicked, true))
		return;
	first = atomic_load(&station->kicks);
	do
		qp->next_kick = first;
	while (!atomic_compare_exchange_weak(&station->kicks, &first, qp));
}

void
vro_unkick(struct vro_verbs_qp *qp)
{
	struct vro_verbs_qp *at = atomic_exchange(&qp->rnic->station->kicks, NULL);

	while (at != NULL) {
		struct vro_verbs_qp *next = at->next_kick;

		atomic_store(&at->kicked, false);
		if (at != qp)
			vro_kick(at);
		at = next;
	}
}

/* In the role. */
static void
kicks_run(struct vro_station *station)
{
	struct vro_verbs_qp *qp = NULL;

	/* Most polls find none, and an exchange costs as much as a tenth of a system call. */
	if (atomic_load(&station->kicks) != NULL)
		qp = atomic_exchange(&station->kicks, NULL);
	while (qp != NULL) {
		struct vro_verbs_qp *next = qp->next_kick;

		atomic_store(&qp->kicked, false);
		vro_qp_mark(&qp->qp);
		if (atomic_exchange(&qp->expired, false))
			vro_qp_expired(&qp->qp);
		if (atomic_exchange(&qp->limited, false))
			qp->qp.ops->limits(&qp->qp);
		qp = next;
	}
	vro_engine_flush(&station->engine);
	if (station->engine.blocked != NULL && station->udps[0].own.full.udp == NULL)
		vro_engine_ready(&station->engine);
	if (station->engine.later != NULL)
		station->engine.host->task_run(station->engine.host->self, &station->more);
}

void
vro_station_run(struct vro_station *station)
{
	if (atomic_load_explicit(&station->forked, memory_order_relaxed) ||
	    !vsw_role_take(&station->role))
		return;
	do {
		vsw_role_begin(&station->role);
		kicks_run(station);
	} while (vsw_role_drop(&station->role));
}

/*
 * The first request after a poll is sent at once, unless a batch was posted between the last two
 * polls. Requests that follow without a poll are probably a batch: they wait for the next poll, or
 * until there are POSTS_HELD of them; without a poll, for the leader's tick.
 */
void
vro_station_posted(struct vro_station *station)
{
	unsigned posts = atomic_load_explicit(&station->posts, memory_order_relaxed) + 1;
	bool first = posts == 1 &&
		     atomic_load_explicit(&station->batch, memory_order_relaxed) < POSTS_BATCH;

	atomic_store_explicit(&station->posts, posts, memory_order_relaxed);
	if (first || posts % POSTS_HELD == 0 || !vsw_leader_hold(&station->leader))
		vro_station_run(station);
}

/*
 * May acknowledgements wait until the polling thread has posted an answer, or polls again? Not if
 * there were many packets, because their sender waits for room in its window.
 */
static bool
acks_may_wait(struct vro_station *station, uint32_t count)
{
	return count != 0 && count <= FEW_PACKETS && vsw_leader_attended(&station->leader);
}

/* Receive what is there. `polled`: by a thread that polls. Returns the packets. */
static uint32_t
receive(struct vro_station *station, bool polled)
{
	struct vro_engine *engine = &station->engine;
	uint32_t count = 0;

	if (atomic_load_explicit(&station->forked, memory_order_relaxed) ||
	    !(polled ? vsw_role_take(&station->role)
		     : vsw_leader_take(&station->leader, &station->role)))
		return 0;
	do {
		vsw_role_begin(&station->role);
		if (engine->held != NULL)
			vro_engine_flush(engine);
		for (uint32_t i = 0; i < station->num_udps; i++)
			count += station->udps[i].receive(&station->udps[i], engine);
		count += vro_groups_receive(station);
		engine->round += polled;
		engine->hold = polled && acks_may_wait(station, count);
		kicks_run(station);
		engine->hold = false;
	} while (vsw_role_drop(&station->role));
	return count;
}

void
vro_station_enter(struct vro_station *station)
{
	vsw_role_enter(&station->role, station->engine.host);
	/* The verb may end the queue pair whose peer waits for it. */
	if (station->engine.held != NULL)
		vro_engine_acks(&station->engine);
}

void
vro_station_leave(struct vro_station *station)
{
	const struct ri_host *host = station->engine.host;

	while (vsw_role_drop(&station->role))
		vsw_role_begin(&station->role);
	host->task_run(host->self, &station->task);
}

static void
run_fire(void *arg)
{
	vro_station_run(arg);
}

/* What has come is looked at between two turns. */
static void
more_fire(void *arg)
{
	(void)receive(arg, false);
}

/* Let others run, the peer perhaps. */
static __attribute__((noinline)) void
give_away(struct vro_station *station)
{
	const struct ri_host *host = station->engine.host;
	uint64_t begin = host->now(host->self);

	vsw_relax(host, RI_RELAX_SPINS);
	vro_spin_gave(&station->spin, host->now(host->self) - begin);
}

/* A thread polls. */
static void
posts_end(struct vro_station *station)
{
	unsigned posts = atomic_load_explicit(&station->posts, memory_order_relaxed);

	if (posts == 0)
		return;
	atomic_store_explicit(&station->batch, posts, memory_order_relaxed);
	atomic_store_explicit(&station->posts, 0, memory_order_relaxed);
}

uint32_t
vro_station_poll(void *engine)
{
	struct vro_station *station = engine;
	uint32_t count;

	if (atomic_load_explicit(&station->forked, memory_order_relaxed))
		return 0;
	vsw_leader_polled(&station->leader);
	posts_end(station);
	/* The owner of the role does not do one more round for a thread that will poll again: they would hold each other up. */
	if (vsw_role_is_taken(&station->role) || vsw_role_is_wanted(&station->role)) {
		vsw_relax(station->engine.host, RI_RELAX_SPINS);
		return 0;
	}
	count = receive(station, true);
	if (count != 0)
		vro_spin_found(&station->spin);
	else if (vro_spin_vain(&station->spin))
		give_away(station);
	return count;
}

bool
vro_station_spin_futile(void *engine)
{
	const struct vro_station *station = engine;

	return atomic_load_explicit(&station->spin.futile, memory_order_relaxed);
}

uint32_t
vro_station_progress(void *engine, uint32_t budget)
{
	(void)budget; /* a batch of each socket is a bound */
	return receive(engine, false);
}

bool
vro_station_leader_enter(void *engine, int *fd)
{
	struct vro_station *station = engine;

	return !atomic_load(&station->forked) && vsw_leader_enter(&station->leader, fd);
}

void
vro_station_leader_leave(void *engine)
{
	struct vro_station *station = engine;

	if (!atomic_load(&station->forked))
		vsw_leader_leave(&station->leader);
}

/* --- life --------------------------------------------------------------------------------- */

uint32_t
vro_station_mtu(const struct vro_station *station)
{
	uint32_t mtu = 256;

	while (mtu < ROCE_MTU_MAX && 2 * mtu + LINK_SPARE <= station->port.mtu)
		mtu *= 2;
	return mtu;
}

static void
station_free(struct vro_station *station)
{
	if (station->service != NULL)
		vrc_service_free(station->service);
	vro_claim_drop(station);
	if (station->epfd >= 0)
		ri_close(station->epfd);
	pthread_mutex_destroy(&station->claiming);
	free(station);
}

static enum ri_status
port_find(const char *name, struct vro_port *port)
{
	struct vro_ports all;
	enum ri_status status = vro_ports_read(&all);

	if (status != RI_SUCCESS)
		return status;
	status = RI_ERR_NO_DEVICE;
	for (uint32_t i = 0; i < all.count; i++)
		if (strcmp(all.list[i].name, name) == 0) {
			*port = all.list[i];
			status = RI_SUCCESS;
		}
	vro_ports_free(&all);
	return status;
}

static enum ri_status
station_new(const struct ri_host *host, const char *name, uint8_t tag, struct vro_station **out)
{
	struct vro_station *station = NULL;
	struct vro_port port;
	enum ri_status status = RI_ERR_NO_DEVICE;

	if (strncmp(name, PREFIX, strlen(PREFIX)) == 0)
		status = port_find(name + strlen(PREFIX), &port);
	if (status != RI_SUCCESS)
		return status;
	if (posix_memalign((void **)&station, VSW_CACHE_LINE, sizeof(*station)) != 0)
		return RI_ERR_RESOURCES;
	memset(station, 0, sizeof(*station));
	station->port = port;
	station->tag = tag;
	for (uint32_t i = 0; i < VRO_ADDRS_MAX; i++)
		station->shares[i].fd = -1;
	pthread_mutex_init(&station->claiming, NULL);
	snprintf(station->name, sizeof(station->name), "%s", name);
	station->mux = (struct vro_link){.room = mux_room, .send = mux_send, .flush = mux_flush};
	station->engine.host = host;
	station->engine.name = station->name;
	station->engine.link = &station->mux;
	station->engine.find = station_find;
	station->engine.member = vro_group_member;
	station->engine.probe = vsw_setting_time(&vro_settings[VRO_SETTING_PROBE], 1000000);
	station->engine.keep_alive =
		vsw_setting_time(&vro_settings[VRO_SETTING_KEEP_ALIVE], 1000000000);
	station->task = (struct ri_task){.fire = run_fire, .arg = station};
	station->more = (struct ri_task){.fire = more_fire, .arg = station};
	station->full = (struct ri_timer){.fire = run_fire, .arg = station};
	station->epfd = ri_fd_epoll();
	host->random(host->self, &station->slot, sizeof(station->slot));
	station->slot %= RI_SHARE_SLOTS;
	opening = station;
	status = station->epfd >= 0 ? vro_claim_begin(station) : RI_ERR_RESOURCES;
	opening = NULL;
	if (status == RI_SUCCESS)
		status = gsi_open(station);
	if (status == RI_SUCCESS)
		status = vsw_leader_start(&station->leader, host, station->epfd,
					  vro_station_progress, station);
	if (status != RI_SUCCESS) {
		station_free(station);
		return status;
	}
	*out = station;
	return RI_SUCCESS;
}

/* A tag that no station has; false: all are taken. With the lock of the list. */
static bool
tag_find(uint8_t *tag)
{
	for (unsigned free = 1; free <= TAGS; free++) {
		struct vro_station *station = stations;

		while (station != NULL && station->tag != free)
			station = station->next;
		*tag = (uint8_t)free;
		if (station == NULL)
			return true;
	}
	return false;
}

/* One that is there already gets a user more; NULL: there is none. With the lock of the list. */
static struct vro_station *
station_use(const struct ri_host *host, const char *name)
{
	struct vro_station *station = stations;

	while (station != NULL &&
	       (station->engine.host != host || strcmp(station->name, name) != 0))
		station = station->next;
	if (station != NULL)
		station->users++;
	return station;
}

enum ri_status
vro_station_get(const struct ri_host *host, const char *name, struct vro_station **out)
{
	enum ri_status status = RI_SUCCESS;
	uint8_t tag;

	pthread_once(&fork_once, fork_handlers_install);
	pthread_mutex_lock(&stations_lock);
	*out = station_use(host, name);
	pthread_mutex_unlock(&stations_lock);
	if (*out != NULL)
		return RI_SUCCESS;
	pthread_mutex_lock(&opening_lock);
	pthread_mutex_lock(&stations_lock);
	*out = station_use(host, name);
	if (*out == NULL) {
		struct vro_station *station;

		status = tag_find(&tag) ? station_new(host, name, tag, &station) : RI_ERR_RESOURCES;
		if (status == RI_SUCCESS) {
			station->next = stations;
			stations = station;
			station->users = 1;
			*out = station;
		}
	}
	pthread_mutex_unlock(&stations_lock);
	pthread_mutex_unlock(&opening_lock);
	return status;
}

enum ri_status
vro_station_claim(struct vro_station *station)
{
	enum ri_status status = RI_SUCCESS;

	if (atomic_load(&station->forked))
		return RI_ERR_FATAL; /* a thread of the parent may own the locks */
	if (atomic_load_explicit(&station->num_udps, memory_order_acquire) != 0)
		return RI_SUCCESS;
	pthread_mutex_lock(&station->claiming);
	pthread_mutex_lock(&stations_lock);
	if (atomic_load(&station->num_udps) == 0)
		status = vro_claim(station);
	pthread_mutex_unlock(&stations_lock);
	pthread_mutex_unlock(&station->claiming);
	return status;
}

void
vro_station_put(struct vro_station *station)
{
	const struct ri_host *host = station->engine.host;
	struct vro_station **at = &stations;

	if (atomic_load(&station->forked))
		return; /* it is the parent's, and so is its memory */
	pthread_mutex_lock(&stations_lock);
	if (--station->users > 0) {
		pthread_mutex_unlock(&stations_lock);
		return;
	}
	while (*at != station)
		at = &(*at)->next;
	*at = station->next;
	vsw_leader_stop(&station->leader);
	host->task_stop(host->self, &station->task);
	host->task_stop(host->self, &station->more);
	host->timer_stop(host->self, &station->full);
	station_free(station);
	pthread_mutex_unlock(&stations_lock);
}
