/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Faults of the path between two processes, by the commands `path PID HOW` and `path all HOW` of an adapter (vem_script.c).
 *
 * A rule belongs to the process that got the command, and acts on everything that this process
 * receives from the other one: requests, and responses to its own requests, in the ring and in
 * packets. The readers of rings do not check rules: a link with a rule is not among the rings that
 * they read (vem_link::reads). The service thread reads it here, when a timer is due:
 *
 * - hold: nothing is read until the path is open. Eventually the writer finds the ring full, and
 *   waits.
 * - cut: as hold; and when something has waited for as long as the protocol of the adapter retries, the link breaks.
 * - delay: each round reads what the round before it has found, so an entry is late by one to two periods. A packet waits for the
 *   end of a round; the entries that were written before it are read first, so their order stays that of the sender.
 *
 * Datagrams are not held: those that arrive while a path is held or cut are lost, and the given share of all others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ri_calls.h"
#include "vem_link.h"
#include "vem_link_path.h"

#define LOOKS 8 /* at a path that is cut, in the time after which its link breaks */

/* --- rules ---------------------------------------------------------------------------------------- */

/* The rule for a link: that of its process, or that of all. */
static struct vem_path
path_of(const struct vem_link *link)
{
	struct vem_paths *paths = link->shm->paths;
	struct vem_path path = {.state = VEM_PATH_OPEN};
	char name[VEM_NAME];

	if (paths == NULL)
		return path;
	vem_path_find(paths, "all", &path);
	snprintf(name, sizeof(name), "%ld", (long)link->far_pid);
	vem_path_find(paths, name, &path);
	return path;
}

static bool
is_plain(const struct vem_path *path)
{
	return path->state == VEM_PATH_OPEN && path->delay_max == 0;
}

/* --- reading ---------------------------------------------------------------------------------------- */

/* Behind the last entry that is there now. Owner of rx. */
static uint64_t
ring_end(const struct vem_link *link)
{
	struct vem_ring_in scan = link->in;
	struct vem_ring_entry entry;

	while (vem_ring_look(&scan, &entry))
		vem_ring_take(&scan, &entry);
	return scan.read;
}

static bool
packet_waits(const struct vem_link *link)
{
	char octet;

	/* Its end is one, too. */
	return ri_recv(link->sock, &octet, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/* A round of a path that is longer than others. */
static void
read_late(struct vem_link *link)
{
	if (atomic_load(&link->up)) {
		vem_shm_rx_take(link->shm);
		vem_shm_read_to(link, link->seen);
		link->seen = ring_end(link);
		vem_shm_rx_drop(link->shm);
	}
	if (packet_waits(link))
		vem_link_packets(link);
}

/* Does something wait on a path that is cut, and for how long? */
static bool
is_lost(struct vem_link *link, uint64_t now)
{
	bool waits = packet_waits(link);

	if (atomic_load(&link->up)) {
		vem_shm_rx_take(link->shm);
		waits = waits || ring_end(link) != link->in.read;
		vem_shm_rx_drop(link->shm);
	}
	if (!waits)
		link->waits_since = 0;
	else if (link->waits_since == 0)
		link->waits_since = now;
	return waits && now - link->waits_since >= vem_path_patience(link->shm->fabric);
}

static void
timer_set(struct vem_link *link)
{
	const struct ri_host *host = link->shm->host;
	const struct vem_path *path = &link->path;
	uint64_t now = host->now(host->self), wait = path->delay_min, chance = 0;

	if (path->state == VEM_PATH_HELD || is_plain(path))
		return;
	if (path->state == VEM_PATH_CUT)
		wait = vem_path_patience(link->shm->fabric) / LOOKS;
	else
		host->random(host->self, &chance, sizeof(chance));
	if (path->state == VEM_PATH_OPEN)
		wait += chance % (path->delay_max - path->delay_min + 1);
	host->timer_start(host->self, &link->round, now + wait);
}

static void
round_fire(void *arg)
{
	struct vem_link *link = arg;
	struct vem_shm *shm = link->shm;
	struct vem_fabric *fabric = shm->fabric;

	pthread_mutex_lock(&fabric->lock);
	if (!shm->closing && !atomic_load(&link->broken)) {
		if (link->path.state == VEM_PATH_OPEN)
			read_late(link);
		else if (is_lost(link, shm->host->now(shm->host->self)))
			vem_link_break(link, "its path is cut");
		timer_set(link);
	}
	vem_link_reap(link);
	pthread_mutex_unlock(&fabric->lock);
}

/* --- changes ---------------------------------------------------------------------------------------- */

void
vem_link_path_begin(struct vem_link *link)
{
	link->far_pid = vem_place_pid(link->sock);
	link->path = path_of(link);
	link->round = (struct ri_timer){.fire = round_fire, .arg = link};
	timer_set(link);
}

bool
vem_link_path_is_plain(const struct vem_link *link)
{
	return is_plain(&link->path);
}

/* The rule for a link may be another one. With the fabric's lock. */
static void
link_change(struct vem_link *link)
{
	const struct vem_path path = path_of(link);

	vem_shm_rx_take(link->shm);
	if (link->path.state != VEM_PATH_OPEN && path.state == VEM_PATH_OPEN)
		link->lost_to = ring_end(link);
	link->seen = link->in.read;
	link->waits_since = 0;
	link->path = path;
	atomic_store(&link->reads, is_plain(&path) && atomic_load(&link->up));
	vem_shm_rx_drop(link->shm);
}

/* Watch the link's socket if the path is plain, else start a timer. Under the fabric's lock, on the service thread. */
static void
link_watch(struct vem_link *link)
{
	const struct ri_host *host = link->shm->host;
	bool plain = is_plain(&link->path);

	if (atomic_load(&link->broken) || link->sock < 0)
		return;
	host->timer_stop(host->self, &link->round);
	host->watch_stop(host->self, &link->watch);
	if (plain && host->watch_start(host->self, &link->watch) != RI_SUCCESS)
		vem_link_break(link, "this process cannot watch one socket more");
	timer_set(link);
	if (plain)
		vsw_leader_request_run(&link->shm->leader); /* it looks at the ring, and sleeps */
}

void
vem_link_paths_watch(void *arg)
{
	struct vem_shm *shm = arg;

	pthread_mutex_lock(&shm->fabric->lock);
	for (unsigned i = 0; i < VEM_LINKS_MAX && !shm->closing; i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		if (link != NULL)
			link_watch(link);
	}
	pthread_mutex_unlock(&shm->fabric->lock);
}

const char *
vem_link_path_do(struct vem_shm *shm, const struct vem_path_order *order)
{
	const char *name = order->path.name;
	const char *why = NULL;

	if (order->what == VEM_PATH_NAME || order->what == VEM_PATH_TELL)
		return "processes have numbers; wanted: path PID HOW, or path all HOW";
	if (strcmp(name, "all") != 0 && strspn(name, "0123456789") != strlen(name))
		return "wanted: path PID HOW, or path all HOW";
	pthread_mutex_lock(&shm->fabric->lock);
	if (shm->paths == NULL)
		shm->paths = calloc(1, sizeof(*shm->paths));
	why = shm->paths != NULL ? vem_path_change(shm->paths, order) : "no memory";
	for (unsigned i = 0; i < VEM_LINKS_MAX && why == NULL; i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		if (link != NULL)
			link_change(link);
	}
	pthread_mutex_unlock(&shm->fabric->lock);
	if (why == NULL)
		shm->host->task_run(shm->host->self, &shm->repath);
	return why;
}

/* --- datagrams ---------------------------------------------------------------------------------------- */

bool
vem_link_path_loses(struct vem_link *link)
{
	const struct ri_host *host = link->shm->host;
	uint64_t number = 0;

	if (link->in.read < link->lost_to)
		return true;
	if (link->path.drop == 0)
		return false;
	host->random(host->self, &number, sizeof(number));
	return number % 100 < link->path.drop;
}
