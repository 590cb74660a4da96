/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_link.h"
#include "vem_link_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "ri_calls.h"
#include "ri_fd.h"
#include "ri_log.h"
#include "ri_set.h"
#include "vem_remote.h"

#define PACKETS 64 /* read of each link in one round */
#define SILENT \
	(VEM_LINKS_MAX / 2) /* accepted links that have not said HELLO; a crowd may be slow */

struct vem_queued {
	struct vem_queued *next;
	struct vem_packet packet;
};

/* --- packets out -------------------------------------------------------------------------- */

void
vem_link_break(struct vem_link *link, const char *why)
{
	struct vem_shm *shm = link->shm;
	const char *none = NULL;

	if (!atomic_compare_exchange_strong(&link->why, &none, why))
		return;
	atomic_store(&link->broken, true);
	shm->host->task_run(shm->host->self, &shm->reap);
}

/*
 * The other process reads no more packets. Packets that it sent before its end are still read here,
 * and then the link breaks. Called with queue_lock.
 */
static void
deafen(struct vem_link *link)
{
	const struct ri_host *host = link->shm->host;

	atomic_store(&link->deaf, true);
	host->watch_change(host->self, &link->watch, RI_WATCH_IN | RI_WATCH_OUT);
}

void
vem_link_send(struct vem_link *link, const struct vem_packet *packet)
{
	struct vem_shm *shm = link->shm;
	const char *why = NULL;

	if (atomic_load(&link->broken) || atomic_load(&link->deaf) || atomic_load(&shm->forked))
		return;
	pthread_mutex_lock(&link->queue_lock);
	int error = EAGAIN;
	if (link->sock < 0)
		error = 0; /* it has ended meanwhile */
	else if (link->queue == NULL)
		error = vem_packet_send(link->sock, packet, NULL, 0);
	if (error == EAGAIN) {
		struct vem_queued *queued =
			link->queued < VEM_LINK_QUEUE ? malloc(sizeof(*queued)) : NULL;

		if (queued == NULL)
			why = "it does not read its packets";
		else {
			*queued = (struct vem_queued){.packet = *packet};
			*link->queue_end = queued;
			link->queue_end = &queued->next;
			if (link->queued++ == 0)
				shm->host->watch_change(shm->host->self, &link->watch,
							RI_WATCH_IN | RI_WATCH_OUT);
		}
	} else if (error != 0) {
		deafen(link);
		vem_shm_refused(shm, "sendmsg", error);
	}
	pthread_mutex_unlock(&link->queue_lock);
	if (why != NULL)
		vem_link_break(link, why);
}

/* The socket takes packets again. */
static void
queue_send(struct vem_link *link)
{
	const struct ri_host *host = link->shm->host;
	int error = 0;

	pthread_mutex_lock(&link->queue_lock);
	while (link->queue != NULL && error == 0) {
		struct vem_queued *first = link->queue;

		error = vem_packet_send(link->sock, &first->packet, NULL, 0);
		if (error != 0)
			break;
		link->queue = first->next;
		link->queued--;
		free(first);
	}
	if (link->queue == NULL) {
		link->queue_end = &link->queue;
		host->watch_change(host->self, &link->watch, RI_WATCH_IN);
	}
	if (error != 0 && error != EAGAIN) {
		deafen(link);
		vem_shm_refused(link->shm, "sendmsg", error);
	}
	pthread_mutex_unlock(&link->queue_lock);
}

void
vem_link_wake(struct vem_link *link)
{
	/* If its buffer is full, wake-ups enough wait there. */
	(void)!ri_send(link->wake_out, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* --- begin -------------------------------------------------------------------------------- */

static bool
hello_send(struct vem_link *link)
{
	const struct vem_shm *shm = link->shm;
	const struct vem_packet hello = {.magic = VEM_PACKET_MAGIC,
					 .kind = VEM_PACKET_HELLO,
					 .to = shm->fabric->personality,
					 .from = shm->block};
	const int fds[VEM_PACKET_FDS] = {link->ring_fd, link->far_wake};

	int error = vem_packet_send(link->sock, &hello, fds, VEM_PACKET_FDS);

	vem_shm_refused(shm, "sendmsg", error);
	if (error != 0)
		return false;
	ri_close(link->ring_fd);
	ri_close(link->far_wake);
	link->ring_fd = link->far_wake = -1;
	return true;
}

/* Is it a socket that can be written without waiting, and that names no other host? */
static bool
wakes(const struct vem_shm *shm, int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(domain);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0)
		vem_shm_refused(shm, "getsockopt", errno);
	len = sizeof(type);
	return domain == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_SEQPACKET;
}

static struct vem_ring_page *
ring_attach(const struct vem_shm *shm, int fd, const char **why)
{
	struct vem_ring_page *page = vem_ring_attach(fd, why);

	if (page == NULL && errno != 0) {
		vem_shm_refused(shm, *why, errno);
		*why = "this process cannot look at its memory, or map it";
	}
	return page;
}

/* Was it dialed by the name of the block? */
static bool
is_named(const struct vem_link *link, uint32_t block)
{
	char name[VEM_PLACE_NAME] = {0};

	vem_shm_name_of_block(link->shm, block, name);
	return strcmp(link->name, name) == 0;
}

/* The other side's ring and wake-up socket. Returns why they are refused, or NULL. */
static const char *
hello_take(struct vem_link *link, const struct vem_packet *hello, int fds[VEM_PACKET_FDS])
{
	struct vem_shm *shm = link->shm;
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = ri_set_value(shm->mark, link)};
	const char *why = NULL;

	if (hello->to != shm->fabric->personality)
		why = "it is of the other personality";
	else if (hello->from >= VEM_BLOCKS)
		why = "its block of numbers cannot be";
	else if (!vem_remote_ud_block_is_good(link, hello->from))
		why = "it has not the block of numbers whose name it has";
	else if (!wakes(shm, fds[1]))
		why = "its second descriptor is not a socket that wakes";
	else
		link->out_page = ring_attach(shm, fds[0], &why);
	ri_close(fds[0]);
	if (why != NULL) {
		ri_close(fds[1]);
		return why;
	}
	link->wake_out = fds[1];
	link->block = hello->from;
	link->proven = is_named(link, link->block);
	vem_ring_out_init(&link->out, link->out_page);
	if (link->dialed && !hello_send(link))
		return "the process has ended";
	if (epoll_ctl(shm->epfd, EPOLL_CTL_ADD, link->wake_in, &event) != 0)
		return "this process cannot watch one socket more";
	link->greeted = true;
	atomic_store(&link->up, true);
	atomic_store(&link->reads, vem_link_path_is_plain(link));
	vem_remote_link_up(link);
	vsw_leader_request_run(&shm->leader); /* it looks at the ring, and sleeps */
	return NULL;
}

/* On the service thread, with the fabric's lock. */
static void
packet_handle(struct vem_link *link, const struct vem_packet *packet, int fds[VEM_PACKET_FDS])
{
	const char *why = NULL;

	if ((packet->kind == VEM_PACKET_HELLO) == link->greeted) {
		why = link->greeted ? "it greets twice" : "it does not greet first";
		if (link->greeted) {
			ri_close(fds[0]);
			ri_close(fds[1]);
		}
	} else if (packet->kind == VEM_PACKET_HELLO) {
		why = hello_take(link, packet, fds);
	} else {
		why = vem_remote_packet(link, packet);
	}
	if (why != NULL)
		vem_link_break(link, why);
}

void
vem_link_packets(struct vem_link *link)
{
	struct vem_packet packet;
	int fds[VEM_PACKET_FDS];
	enum vem_packet_result result = VEM_PACKET_GOT;
	const char *why = "the process has ended";
	unsigned count;

	for (unsigned i = 0; i < PACKETS && !link->shm->closing && !atomic_load(&link->broken) &&
			     result == VEM_PACKET_GOT;
	     i++) {
		result = vem_packet_receive(link->sock, &packet, fds, &count, &why);
		if (result == VEM_PACKET_GOT)
			packet_handle(link, &packet, fds);
		else if (result == VEM_PACKET_END ||
			 (result == VEM_PACKET_NONE && atomic_load(&link->deaf))) {
			if (result == VEM_PACKET_END)
				vem_shm_refused(link->shm, "recvmsg", errno);
			vem_shm_catch_up(link);
			vem_link_break(link, "the process has ended");
		} else if (result == VEM_PACKET_BAD)
			vem_link_break(link, why);
	}
}

static void
link_fire(void *arg, uint32_t events)
{
	struct vem_link *link = arg;
	struct vem_fabric *fabric = link->shm->fabric;

	if ((events & RI_WATCH_OUT) != 0 && !atomic_load(&link->deaf))
		queue_send(link);
	pthread_mutex_lock(&fabric->lock);
	vem_link_packets(link);
	vem_link_reap(link);
	pthread_mutex_unlock(&fabric->lock);
}

static bool
link_fill(struct vem_link *link)
{
	struct vem_shm *shm = link->shm;
	const char *call;
	int pair[2];

	link->ring_fd = vem_ring_create(&link->in_page, &call);
	if (link->ring_fd < 0) {
		vem_shm_refused(shm, call, errno);
		return false;
	}
	vem_ring_in_init(&link->in, link->in_page);
	(void)vem_ring_sleep(&link->in); /* until a thread polls */
	atomic_store(&shm->asleep, true);
	if (ri_fd_pair(SOCK_SEQPACKET, pair) != 0) {
		vem_shm_refused(shm, "socketpair", errno);
		return false;
	}
	link->wake_in = pair[0];
	link->far_wake = pair[1];
	return true;
}

/* A link over this socket, which is its own from here on. NULL: there are too many, or no memory. */
static struct vem_link *
link_new(struct vem_shm *shm, int sock, bool dialed)
{
	const struct ri_host *host = shm->host;
	unsigned number = 0;
	void *room = NULL;

	while (number < VEM_LINKS_MAX && atomic_load(&shm->links[number]) != NULL)
		number++;
	if (number == VEM_LINKS_MAX ||
	    posix_memalign(&room, VSW_CACHE_LINE, sizeof(struct vem_link)) != 0) {
		ri_close(sock);
		return NULL;
	}

	struct vem_link *link = memset(room, 0, sizeof(*link));

	link->shm = shm;
	link->number = number;
	link->sock = sock;
	link->wake_in = link->wake_out = link->far_wake = link->ring_fd = -1;
	link->dialed = dialed;
	link->queue_end = &link->queue;
	pthread_mutex_init(&link->queue_lock, NULL);
	link->watch = (struct ri_watch){
		.fire = link_fire, .arg = link, .fd = sock, .events = RI_WATCH_IN};
	vem_link_path_begin(link);
	if (!link_fill(link) || (vem_link_path_is_plain(link) &&
				 host->watch_start(host->self, &link->watch) != RI_SUCCESS)) {
		host->timer_stop(host->self, &link->round);
		vem_link_free(link);
		return NULL;
	}
	atomic_store(&shm->links[number], link);
	if (number >= atomic_load(&shm->linked))
		atomic_store(&shm->linked, number + 1);
	return link;
}

void
vem_link_accept(struct vem_shm *shm, int fd, uint64_t via)
{
	struct vem_link *oldest = NULL;
	unsigned silent = 0, uid;
	const char *call;

	if (!vem_place_is_ours(fd, &uid, &call)) {
		if (call != NULL)
			vem_shm_refused(shm, call, errno);
		else
			vem_shm_say(shm, RI_LOG_WARNING,
				    "a process of user %u is refused: this fabric joins the "
				    "processes of "
				    "user %u only",
				    uid, (unsigned)geteuid());
		ri_close(fd);
		return;
	}
	for (unsigned i = 0; i < VEM_LINKS_MAX; i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		if (link == NULL || link->greeted || link->dialed || atomic_load(&link->broken))
			continue;
		silent++;
		if (oldest == NULL || link->accepted < oldest->accepted)
			oldest = link;
	}
	if (silent >= SILENT)
		vem_link_break(oldest, "it says nothing, and others wait");
	struct vem_link *link = link_new(shm, fd, false);

	if (link != NULL) {
		link->via = via;
		link->accepted = ++shm->accepts;
	}
	if (link != NULL && !hello_send(link))
		vem_link_break(link, "the process has ended");
	else if (link == NULL)
		vem_shm_say(shm, RI_LOG_WARNING,
			    "a process is refused: there are %u links, or too little memory",
			    atomic_load(&shm->linked));
}

/* No packet goes through it any more. */
static bool
is_ending(const struct vem_link *link)
{
	return atomic_load(&link->broken) || atomic_load(&link->deaf);
}

/* The link that has dialed that name; one whose name has another owner by now, as `fresh` says, is not found any more. */
static struct vem_link *
link_named(struct vem_shm *shm, const char name[VEM_PLACE_NAME], bool fresh)
{
	for (unsigned i = 0; i < VEM_LINKS_MAX; i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		if (link == NULL || is_ending(link) || strcmp(link->name, name) != 0)
			continue;
		if (!fresh)
			return link;
		link->name[0] = '\0';
	}
	return NULL;
}

/* A link over a socket that is connected to the name. */
static struct vem_link *
link_over(struct vem_shm *shm, int fd, const char name[VEM_PLACE_NAME], enum ri_cm_reason *reason)
{
	struct vem_link *link;
	const char *call;
	unsigned uid;

	if (!vem_place_is_ours(fd, &uid, &call)) {
		if (call != NULL)
			vem_shm_refused(shm, call, errno);
		else
			vem_shm_say(shm, RI_LOG_WARNING,
				    "%s is a name of user %u: this fabric joins the processes of "
				    "user %u only",
				    name, uid, (unsigned)geteuid());
		ri_close(fd);
		*reason = call != NULL ? RI_CM_REASON_RESOURCES : RI_CM_REASON_REFUSED;
		return NULL;
	}
	link = link_new(shm, fd, true);
	*reason = RI_CM_REASON_RESOURCES;
	if (link != NULL)
		memcpy(link->name, name, sizeof(link->name));
	return link;
}

struct vem_link *
vem_link_over(struct vem_shm *shm, int fd, const char name[VEM_PLACE_NAME])
{
	struct vem_link *link = link_named(shm, name, false);
	enum ri_cm_reason reason;

	if (link == NULL)
		return link_over(shm, fd, name, &reason);
	ri_close(fd);
	return link;
}

/* Dial a name, or use the link that has. */
static struct vem_link *
link_to(struct vem_shm *shm, const char name[VEM_PLACE_NAME], bool fresh, enum ri_cm_reason *reason)
{
	struct vem_link *link = link_named(shm, name, fresh);
	const char *call;
	int fd;

	if (link != NULL)
		return link;
	fd = vem_place_connect(&shm->place, name, &call);
	if (fd < 0) {
		bool none = errno == ECONNREFUSED || errno == ENOENT;

		vem_shm_refused(shm, call, errno);
		*reason = none ? RI_CM_REASON_REFUSED : RI_CM_REASON_RESOURCES;
		return NULL;
	}
	return link_over(shm, fd, name, reason);
}

struct vem_link *
vem_link_to(struct vem_shm *shm, const struct ri_service *service, bool fresh,
	    enum ri_cm_reason *reason)
{
	char name[VEM_PLACE_NAME] = {0};

	vem_shm_name_of(shm, service, name);
	return link_to(shm, name, fresh, reason);
}

struct vem_link *
vem_link_to_block(struct vem_shm *shm, uint32_t block, enum ri_cm_reason *reason)
{
	char name[VEM_PLACE_NAME] = {0};
	enum ri_cm_reason ignored;

	for (unsigned i = 0; i < VEM_LINKS_MAX; i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		if (link != NULL && link->greeted && link->block == block && !is_ending(link) &&
		    vem_link_has_block(link))
			return link;
	}
	vem_shm_name_of_block(shm, block, name);
	return link_to(shm, name, false, reason != NULL ? reason : &ignored);
}

/*
 * Whether the process at the other end owns the block of numbers that it has named. A process that
 * connects could name the block of another process, and so get messages for that process. The owner
 * has bound the block's name, and the kernel reports the process behind a bound name. Two processes
 * in another process namespace, whose numbers are not visible here, count as one.
 */
bool
vem_link_has_block(struct vem_link *link)
{
	struct vem_shm *shm = link->shm;
	char name[VEM_PLACE_NAME] = {0};
	const char *call;
	int fd;

	if (link->proven || link->liar)
		return link->proven;
	vem_shm_name_of_block(shm, link->block, name);
	fd = vem_place_connect(&shm->place, name, &call);
	if (fd < 0) {
		vem_shm_refused(shm, call, errno);
		return false;
	}
	pid_t owner = vem_place_pid(fd);
	ri_close(fd);
	link->proven = owner == link->far_pid;
	link->liar = !link->proven;
	if (link->liar)
		vem_shm_say(shm, RI_LOG_WARNING,
			    "process %ld says that it has the queue pair numbers of process %ld",
			    (long)link->far_pid, (long)owner);
	return link->proven;
}

bool
vem_link_leads_to(const struct vem_link *link, uint32_t block)
{
	return link->greeted ? link->block == block : is_named(link, block);
}

/* --- end ---------------------------------------------------------------------------------- */

/* Nobody reads or writes its sockets any more. */
static void
sockets_close(struct vem_link *link)
{
	struct vem_shm *shm = link->shm;
	const struct ri_host *host = shm->host;

	host->watch_stop(host->self, &link->watch);
	host->timer_stop(host->self, &link->round);
	pthread_mutex_lock(&link->queue_lock);
	ri_close(link->sock);
	link->sock = -1;
	pthread_mutex_unlock(&link->queue_lock);
	vem_shm_rx_take(shm);
	(void)epoll_ctl(shm->epfd, EPOLL_CTL_DEL, link->wake_in, NULL);
	ri_close(link->wake_in);
	link->wake_in = -1;
	vem_shm_rx_drop(shm);
}

/* Its place, and those at the end that nobody has: all who poll look at the rest. */
static void
places_free(const struct vem_link *link)
{
	struct vem_shm *shm = link->shm;
	unsigned linked = atomic_load(&shm->linked);

	atomic_store(&shm->links[link->number], NULL);
	while (linked != 0 && atomic_load(&shm->links[linked - 1]) == NULL)
		linked--;
	atomic_store(&shm->linked, linked);
}

void
vem_link_reap(struct vem_link *link)
{
	struct vem_shm *shm = link->shm;

	if (!atomic_load(&link->broken) || shm->closing)
		return;
	if (link->sock >= 0) {
		if (link->users != 0)
			vem_shm_say(shm, RI_LOG_INFO, "a link ends with %u connections: %s",
				    link->users, atomic_load(&link->why));
		if (link->users != 0 || link->key != VEM_KEY_NONE)
			vem_shm_sweep_soon(shm);
		sockets_close(link);
		vem_remote_link_down(link);
	}
	if (link->users != 0)
		return;
	vem_shm_rx_take(shm);
	vsw_lock(&shm->sleep_lock);
	places_free(link);
	vsw_unlock(&shm->sleep_lock);
	vem_shm_rx_drop(shm);
	vem_remote_ud_unlink(link);
	vem_link_free(link);
}

void
vem_link_free(struct vem_link *link)
{
	const int fds[] = {link->sock, link->wake_in, link->wake_out, link->far_wake,
			   link->ring_fd};

	for (unsigned i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0 && !atomic_load(&link->shm->forked))
			ri_close(fds[i]);
	if (!atomic_load(&link->shm->forked)) {
		vem_ring_unmap(link->in_page);
		vem_ring_unmap(link->out_page);
	}
	for (unsigned i = 0; i < VEM_SLOT_PAGES; i++)
		free(link->pages[i]);
	while (link->queue != NULL) {
		struct vem_queued *first = link->queue;

		link->queue = first->next;
		free(first);
	}
	pthread_mutex_destroy(&link->queue_lock);
	free(link);
}
