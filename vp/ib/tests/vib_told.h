/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Reports of a device that the test plays: libibverbs' channels of events, the kernel's messages, and the upcalls for them. */
#ifndef VIB_TOLD_H
#define VIB_TOLD_H

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vib_device.h"
#include "vib_events.h"

static GQueue events;     /* struct ibv_async_event */
static int read_error;    /* of a read when there is none */
static int channel_error; /* likewise, of the completions */
static unsigned channel_reads;
static struct ri_cq *completed; /* the next event of a queue is of this one; NULL: there is none */
static unsigned acknowledged;
static unsigned cm_told;
static struct ibv_comp_channel channel;
static const struct kernel_message {
	const char *text; /* NULL: some were lost */
	uint32_t port;    /* of the sender; the kernel's is 0 */
	bool removes;
} * message; /* the next one; NULL: there is none */

/* --- the kernel's messages ------------------------------------------------------------------------- */

ssize_t
recvfrom(int fd, void *restrict buf, size_t size, int flags, __SOCKADDR_ARG from,
	 socklen_t *restrict room)
{
	const struct kernel_message *now = message;
	struct sockaddr_nl sender = {.nl_family = AF_NETLINK};

	(void)fd;
	(void)flags;
	message = NULL;
	errno = now == NULL ? EAGAIN : ENOBUFS;
	if (now == NULL || now->text == NULL)
		return -1;
	sender.nl_pid = now->port;
	g_assert_cmpuint(*room, ==, sizeof(sender));
	memcpy(from.__sockaddr__, &sender, sizeof(sender));
	g_assert_cmpuint(strlen(now->text), <, size);
	memcpy(buf, now->text, strlen(now->text) + 1);
	return (ssize_t)strlen(now->text) + 1;
}

/* --- libibverbs, and the connection manager ------------------------------------------------------- */

struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *context)
{
	channel.context = context;
	channel.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return &channel;
}

int
ibv_destroy_comp_channel(struct ibv_comp_channel *gone)
{
	return close(gone->fd);
}

int
ibv_get_cq_event(struct ibv_comp_channel *from, struct ibv_cq **cq, void **cq_context)
{
	struct ri_cq *of = completed;

	(void)from;
	completed = NULL;
	if (of != NULL) {
		*cq = of->user.cq;
		*cq_context = of;
		return 0;
	}
	g_assert_cmpuint(++channel_reads, <, 10); /* nobody asks again and again */
	errno = channel_error;
	return -1;
}

void
ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	(void)cq;
	(void)count;
}

int
ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct ibv_async_event *next = g_queue_pop_head(&events);
	uint64_t count;

	if (next == NULL) {
		(void)!read(context->async_fd, &count, sizeof(count));
		errno = read_error;
		return -1;
	}
	*event = *next;
	g_free(next);
	return 0;
}

const char *
ibv_event_type_str(enum ibv_event_type event)
{
	return event == IBV_EVENT_QP_FATAL ? "a fatal event" : "another event";
}

void
ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
	acknowledged++;
}

void
vib_cm_device_gone(struct ri_rnic *rnic)
{
	(void)rnic;
	cm_told++;
}

static unsigned follows;

void
vib_cm_follow(struct ri_rnic *rnic)
{
	(void)rnic;
	follows++;
}

void
vib_cm_comm_est(struct vib_qp *qp)
{
	(void)qp;
	cm_told++;
}

/* --- setting ---------------------------------------------------------------------------------------- */

static struct device *
setting_new(void)
{
	struct device *d = device_new();

	g_strlcpy(d->device.dev_path, "/", sizeof(d->device.dev_path));
	g_strlcpy(d->device.dev_name, "uverbs1", sizeof(d->device.dev_name));
	d->verbs.device = &d->device;
	read_error = channel_error = EAGAIN;
	acknowledged = cm_told = channel_reads = 0;
	d->verbs.async_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	g_assert_cmpint(vib_events_start(&d->rnic), ==, RI_SUCCESS);
	return d;
}

static void
setting_free(struct device **d)
{
	vib_events_stop(&(*d)->rnic);
	close((*d)->verbs.async_fd);
	device_free(d);
}

/* The descriptor is readable, and the service thread looks. That of completions stays so: it has an error, or an event. */
static void
readable(struct device *d, int fd)
{
	uint64_t one = 1;

	g_assert_cmpint(write(fd, &one, sizeof(one)), ==, sizeof(one));
	vth_run(d->vth);
}

static void
event_send(struct device *d, const struct ibv_async_event *event)
{
	g_queue_push_tail(&events, g_memdup2(event, sizeof(*event)));
	readable(d, d->verbs.async_fd);
}

#endif /* VIB_TOLD_H */
