/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Listeners follow the addresses of their spigots [IT 9.4.8].
 *
 * A routing socket, which needs no privilege, reports changes of addresses. A message is only a hint: the addresses are
 * queried then, for each listener, and ears are opened and closed (vib_listen_follow). So messages that are lost do no harm,
 * and several changes are handled at once. A RoCE device learns an address later than its interface; an event of the device
 * reports that and is another hint (vib_events.c).
 *
 * One task changes the listeners, on the service thread while no event is handled. vib_cm::lock guards the list. The listener
 * that is being changed is marked, and a thread that destroys it waits for the end of the change. No code here waits for a peer.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ri_fd.h"
#include "vib_cm.h"

#define AT_ONCE 64 /* messages; then the service thread serves others */

/* --- the listeners ----------------------------------------------------------------------------- */

static void
all_due(struct vib_cm *cm)
{
	pthread_mutex_lock(&cm->lock);
	for (struct vib_item *i = cm->listens.next; i != &cm->listens; i = i->next)
		vib_of(i, struct ri_listen, follows)->due = true;
	pthread_mutex_unlock(&cm->lock);
}

/* The next listener that is due, marked; NULL: no listener is due. */
static struct ri_listen *
next_due(struct vib_cm *cm)
{
	struct ri_listen *found = NULL;

	pthread_mutex_lock(&cm->lock);
	for (struct vib_item *i = cm->listens.next; i != &cm->listens && found == NULL;
	     i = i->next) {
		struct ri_listen *listen = vib_of(i, struct ri_listen, follows);

		if (listen->due)
			found = listen;
	}
	if (found != NULL) {
		found->due = false;
		found->following = true;
	}
	pthread_mutex_unlock(&cm->lock);
	return found;
}

static void
listen_done(struct ri_listen *listen, struct vib_cm *cm)
{
	pthread_mutex_lock(&cm->lock);
	listen->following = false;
	pthread_cond_broadcast(&cm->idle);
	pthread_mutex_unlock(&cm->lock);
}

static void
on_follow(void *arg)
{
	struct vib_cm *cm = arg;
	struct ri_listen *listen;

	all_due(cm);
	while (!atomic_load(&cm->rnic->failed) && (listen = next_due(cm)) != NULL) {
		vib_listen_follow(listen, cm);
		listen_done(listen, cm);
	}
}

void
vib_cm_follow(struct ri_rnic *rnic)
{
	if (rnic->cm != NULL)
		rnic->host->task_run(rnic->host->self, &rnic->cm->follow);
}

void
vib_follow_join(struct ri_listen *listen, struct vib_cm *cm)
{
	const struct ri_host *host = cm->rnic->host;

	pthread_mutex_lock(&cm->lock);
	vib_list_add(&cm->listens, &listen->follows);
	pthread_mutex_unlock(&cm->lock);
	/* An address may have come or gone while the ears were opened. */
	host->task_run(host->self, &cm->follow);
}

void
vib_follow_leave(struct ri_listen *listen, struct vib_cm *cm)
{
	vib_list_remove(&listen->follows);
	while (listen->following)
		pthread_cond_wait(&cm->idle, &cm->lock);
}

/* --- reports of the kernel ------------------------------------------------------------------------ */

static void
on_message(void *arg, uint32_t events)
{
	struct vib_cm *cm = arg;
	const struct ri_host *host = cm->rnic->host;
	char ignored[4096];

	(void)events;
	for (int i = 0; i < AT_ONCE; i++) {
		if (recv(cm->routes.fd, ignored, sizeof(ignored), MSG_DONTWAIT) < 0 &&
		    errno != EINTR && errno != ENOBUFS)
			break;
	}
	host->task_run(host->self, &cm->follow);
}

/* The routing socket, or -1. */
static int
socket_open(void)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK,
				   .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
	int fd = ri_fd_socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (struct sockaddr *)(void *)&addr, sizeof(addr)) == 0)
		return fd;
	close(fd);
	return -1;
}

static void
socket_close(struct vib_cm *cm)
{
	if (cm->routes.fd >= 0)
		close(cm->routes.fd);
	cm->routes.fd = -1;
}

void
vib_follow_start(struct vib_cm *cm)
{
	const struct ri_host *host = cm->rnic->host;

	cm->follow = (struct ri_task){.fire = on_follow, .arg = cm};
	cm->routes = (struct ri_watch){
		.fd = socket_open(), .fire = on_message, .arg = cm, .events = RI_WATCH_IN};
	if (cm->routes.fd >= 0 && host->watch_start(host->self, &cm->routes) == RI_SUCCESS)
		return;
	vib_log(cm->rnic, RI_LOG_WARNING,
		"cannot watch the addresses of this machine: each listener keeps the addresses "
		"that it has");
	socket_close(cm);
}

void
vib_follow_stop(struct vib_cm *cm)
{
	const struct ri_host *host = cm->rnic->host;

	if (cm->routes.fd >= 0)
		host->watch_stop(host->self, &cm->routes);
	socket_close(cm);
	host->task_stop(host->self, &cm->follow);
}
