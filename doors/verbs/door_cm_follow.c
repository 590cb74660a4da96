/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Ids that listen at the wildcard address also listen on devices that appear later. While there are
 * such ids, a thread waits for changes of the host's interfaces and addresses, and lets the ids
 * listen again. It is a separate thread because listening opens adapters, which may need the host's
 * service thread.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "door_cm_internal.h"
#include "ri_calls.h"
#include "ri_fd.h"

#define SETTLE_MS 100 /* an interface that comes makes several news */

/* Guards all that follows; a control lock of its own, after door_cm_id::control. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;
static int quit_fd = -1; /* the thread's, which closes it */

/* Let each id that listens everywhere listen to what is new. */
static void
listen_again(void)
{
	uint32_t number = 0;
	struct door_cm_id *id;

	do {
		door_cm_lock();
		id = door_cm_id_after(number);
		if (id != NULL) {
			id->refs++;
			number = id->number;
		}
		door_cm_unlock();
		if (id == NULL)
			return;
		pthread_mutex_lock(&id->control);
		door_cm_listen_more(id);
		pthread_mutex_unlock(&id->control);
		door_cm_id_put(id);
	} while (true);
}

/* What the thread has; it frees that at its end. */
struct follower {
	int news; /* -1: none, and it only waits for its end */
	int quit; /* readable: it shall end */
};

/* Wait until there are news (true), until the thread shall end, or until the time is over. */
static bool
wait_for(const struct follower *own, int timeout_ms, bool *ends)
{
	struct pollfd fds[] = {{.fd = own->news, .events = POLLIN},
			       {.fd = own->quit, .events = POLLIN}};
	int num = poll(fds, 2, timeout_ms);

	*ends = num > 0 && fds[1].revents != 0;
	return num > 0 && fds[0].revents != 0;
}

static void
drain(int fd)
{
	char news[4096]; /* what does not fit is lost, and not missed */

	while (recv(fd, news, sizeof(news), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		errno = 0;
}

/* A socket on which the kernel reports changes of interfaces and addresses; -1: none. */
static int
news_open(void)
{
	const struct sockaddr_nl groups = {.nl_family = AF_NETLINK,
					   .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
							RTMGRP_IPV6_IFADDR};
	int fd = ri_fd_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&groups, sizeof(groups)) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void *
follow_main(void *arg)
{
	struct follower *own = (struct follower *)arg;
	bool ends = false;
	uint64_t count;

	while (!ends) {
		if (!wait_for(own, -1, &ends))
			continue;
		while (!ends && wait_for(own, SETTLE_MS, &ends))
			drain(own->news);
		if (!ends)
			listen_again();
	}
	if (own->news >= 0)
		close(own->news);
	/* Read: so that ThreadSanitizer sees that the write comes before the close. */
	(void)!ri_read(own->quit, &count, sizeof(count));
	close(own->quit);
	free(own);
	return NULL;
}

/* Start the thread; -1: there are no resources for it. Otherwise the descriptor by which it ends. */
static int
follower_start(void)
{
	struct follower *own = (struct follower *)calloc(1, sizeof(*own));
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int quit = -1;

	if (own == NULL)
		return -1;
	own->news = news_open();
	own->quit = quit = ri_fd_eventfd();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (quit >= 0 && pthread_create(&thread, &attr, follow_main, own) == 0) {
		own = NULL;
	}
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (own == NULL)
		return quit;
	if (own->news >= 0)
		close(own->news);
	if (quit >= 0)
		close(quit);
	free(own);
	door_warn(NULL, "no resources for a thread: listeners do not hear devices that come later");
	return -1;
}

void
door_cm_follow(void)
{
	pthread_mutex_lock(&lock);
	if (users++ == 0)
		quit_fd = follower_start();
	pthread_mutex_unlock(&lock);
}

void
door_cm_follow_end(void)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&lock);
	/* Nobody waits for the thread: it may wait for the id whose control lock the caller owns. */
	if (--users == 0 && quit_fd >= 0)
		(void)!ri_write(quit_fd, &one, sizeof(one));
	pthread_mutex_unlock(&lock);
}

/* In the child of a fork: the thread is the parent's. */
void
door_cm_follow_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	users = 0;
	quit_fd = -1;
}
