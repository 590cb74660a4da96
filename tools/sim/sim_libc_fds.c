/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Waiting for descriptors. The descriptors are real, but within a run only threads of the run make one ready. So a thread that
 * waits for one asks the kernel without blocking, and if none is ready it waits in the scheduler. A timerfd is an eventfd that a
 * timer of the run increments.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_libc.h"
#include "sim/sim_real.h"

#define MS UINT64_C(1000000)

static uint64_t
deadline_of_ms(int timeout)
{
	return timeout < 0 ? RI_NEVER : sim_now() + (uint64_t)timeout * MS;
}

/* --- poll and select ------------------------------------------------------------------------------ */

struct polled {
	struct pollfd *fds;
	nfds_t count;
	int ready;
};

static bool
is_ready(void *arg)
{
	struct polled *polled = (struct polled *)arg;

	polled->ready = SIM_REAL(poll)(polled->fds, polled->count, 0);
	return polled->ready != 0;
}

static int
poll_until(const char *call, struct pollfd *fds, nfds_t count, uint64_t deadline)
{
	struct polled polled = {.fds = fds, .count = count};

	sim_chance(call);
	if (!is_ready(&polled)) {
		if (deadline <= sim_now())
			sim_idle(call); /* it does not wait, so it will come back */
		else
			(void)sim_block(call, is_ready, &polled, deadline);
		(void)is_ready(&polled);
	}
	return polled.ready;
}

int
poll(struct pollfd *fds, nfds_t count, int timeout)
{
	if (!sim_applies())
		return SIM_REAL(poll)(fds, count, timeout);
	return poll_until("poll", fds, count, deadline_of_ms(timeout));
}

int
ppoll(struct pollfd *fds, nfds_t count, const struct timespec *span, const sigset_t *mask)
{
	if (!sim_applies())
		return SIM_REAL(ppoll)(fds, count, span, mask);
	if (span != NULL && !sim_span_is_good(span)) {
		errno = EINVAL;
		return -1;
	}
	return poll_until("ppoll", fds, count, sim_deadline_after(span));
}

/* The sets as poll() has them. */
static nfds_t
sets_read(int count, fd_set *const sets[3], struct pollfd *fds)
{
	static const short events[3] = {POLLIN, POLLOUT, POLLPRI};
	nfds_t used = 0;

	for (int fd = 0; fd < count; fd++) {
		fds[used] = (struct pollfd){.fd = fd};
		for (int i = 0; i < 3; i++)
			if (sets[i] != NULL && FD_ISSET(fd, sets[i]))
				fds[used].events = (short)(fds[used].events | events[i]);
		used += fds[used].events != 0;
	}
	return used;
}

static int
sets_write(fd_set *const sets[3], const struct pollfd *fds, nfds_t used)
{
	static const short events[3] = {POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI};
	int ready = 0;

	for (nfds_t at = 0; at < used; at++) {
		for (int i = 0; i < 3; i++) {
			if (sets[i] == NULL || !FD_ISSET(fds[at].fd, sets[i]))
				continue;
			if ((fds[at].revents & events[i]) != 0)
				ready++;
			else
				FD_CLR(fds[at].fd, sets[i]);
		}
	}
	return ready;
}

static int
select_until(int count, fd_set *const sets[3], uint64_t deadline)
{
	struct pollfd fds[FD_SETSIZE];
	nfds_t used;

	if (count < 0 || count > FD_SETSIZE) {
		errno = EINVAL;
		return -1;
	}
	used = sets_read(count, sets, fds);
	(void)poll_until("select", fds, used, deadline);
	for (nfds_t i = 0; i < used; i++) {
		if ((fds[i].revents & POLLNVAL) != 0) {
			errno = EBADF;
			return -1;
		}
	}
	return sets_write(sets, fds, used);
}

int
select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
       struct timeval *restrict span)
{
	fd_set *const sets[3] = {in, out, other};

	if (!sim_applies())
		return SIM_REAL(select)(count, in, out, other, span);
	if (span != NULL && (span->tv_sec < 0 || span->tv_usec < 0)) {
		errno = EINVAL;
		return -1;
	}
	return select_until(count, sets,
			    span == NULL ? RI_NEVER
					 : sim_now() + (uint64_t)span->tv_sec * 1000 * MS +
						   (uint64_t)span->tv_usec * 1000);
}

int
pselect(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
	const struct timespec *restrict span, const sigset_t *restrict mask)
{
	fd_set *const sets[3] = {in, out, other};

	if (!sim_applies())
		return SIM_REAL(pselect)(count, in, out, other, span, mask);
	if (span != NULL && !sim_span_is_good(span)) {
		errno = EINVAL;
		return -1;
	}
	return select_until(count, sets, sim_deadline_after(span));
}

/* --- epoll ------------------------------------------------------------------------------------------ */

struct looked {
	int fd;
};

static bool
set_is_ready(void *arg)
{
	struct pollfd fd = {.fd = ((struct looked *)arg)->fd, .events = POLLIN};

	return SIM_REAL(poll)(&fd, 1, 0) != 0;
}

static int
epoll_until(const char *call, int fd, struct epoll_event *events, int room, uint64_t deadline)
{
	struct looked looked = {fd};

	sim_chance(call);
	if (!set_is_ready(&looked)) {
		if (deadline <= sim_now())
			sim_idle(call);
		else
			(void)sim_block(call, set_is_ready, &looked, deadline);
	}
	return SIM_REAL(epoll_wait)(fd, events, room, 0);
}

int
epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
	if (!sim_applies())
		return SIM_REAL(epoll_wait)(fd, events, room, timeout);
	return epoll_until("epoll_wait", fd, events, room, deadline_of_ms(timeout));
}

int
epoll_pwait(int fd, struct epoll_event *events, int room, int timeout, const sigset_t *mask)
{
	if (!sim_applies())
		return SIM_REAL(epoll_pwait)(fd, events, room, timeout, mask);
	return epoll_until("epoll_pwait", fd, events, room, deadline_of_ms(timeout));
}

int
epoll_pwait2(int fd, struct epoll_event *events, int room, const struct timespec *span,
	     const sigset_t *mask)
{
	if (!sim_applies())
		return SIM_REAL(epoll_pwait2)(fd, events, room, span, mask);
	if (span != NULL && !sim_span_is_good(span)) {
		errno = EINVAL;
		return -1;
	}
	return epoll_until("epoll_pwait2", fd, events, room, sim_deadline_after(span));
}

/* --- timerfd ------------------------------------------------------------------------------------------ */

struct clock_fd {
	struct ri_timer timer;
	const struct sim_node *node;
	int fd;
	clockid_t clock;
	uint64_t next, period; /* next 0: not set */
};

static GPtrArray *clock_fds;

static struct clock_fd *
clock_fd_of(int fd)
{
	for (guint i = 0; clock_fds != NULL && i < clock_fds->len; i++)
		if (((struct clock_fd *)clock_fds->pdata[i])->fd == fd)
			return clock_fds->pdata[i];
	return NULL;
}

static void
clock_fd_end(guint at)
{
	struct clock_fd *own = clock_fds->pdata[at];

	g_ptr_array_remove_index(clock_fds, at);
	sim_host.timer_stop(sim_host.self, &own->timer);
	g_free(own);
}

void
sim_clock_closed(int fd)
{
	for (guint i = clock_fds != NULL ? clock_fds->len : 0; i > 0; i--)
		if (((struct clock_fd *)clock_fds->pdata[i - 1])->fd == fd)
			clock_fd_end(i - 1);
}

void
sim_clocks_end(const struct sim_node *node)
{
	for (guint i = clock_fds != NULL ? clock_fds->len : 0; i > 0; i--)
		if (((struct clock_fd *)clock_fds->pdata[i - 1])->node == node)
			clock_fd_end(i - 1);
}

static void
clock_fd_fire(void *arg)
{
	struct clock_fd *own = (struct clock_fd *)arg;
	uint64_t one = 1;

	(void)!SIM_REAL(write)(own->fd, &one, sizeof(one));
	own->next = own->period > 0 ? own->next + own->period : 0;
	if (own->next > 0)
		sim_host.timer_start(sim_host.self, &own->timer, own->next);
}

int
timerfd_create(int clock, int flags)
{
	struct clock_fd *own;
	int fd;

	if (!sim_applies())
		return SIM_REAL(timerfd_create)(clock, flags);
	fd = eventfd(0, ((flags & TFD_NONBLOCK) != 0 ? EFD_NONBLOCK : 0) |
				((flags & TFD_CLOEXEC) != 0 ? EFD_CLOEXEC : 0));
	if (fd < 0)
		return -1;
	if (clock_fds == NULL)
		clock_fds = g_ptr_array_new();
	sim_clock_closed(
		fd); /* an earlier one of that number, which the C library has closed without a word */
	own = g_new0(struct clock_fd, 1);
	*own = (struct clock_fd){.timer = {.fire = clock_fd_fire, .arg = own},
				 .node = sim_me->node,
				 .fd = fd,
				 .clock = clock};
	g_ptr_array_add(clock_fds, own);
	return fd;
}

static void
clock_fd_read(const struct clock_fd *own, struct itimerspec *out)
{
	uint64_t left = own->next > sim_now() ? own->next - sim_now() : 0;

	out->it_value = (struct timespec){.tv_sec = (time_t)(left / (1000 * MS)),
					  .tv_nsec = (long)(left % (1000 * MS))};
	out->it_interval = (struct timespec){.tv_sec = (time_t)(own->period / (1000 * MS)),
					     .tv_nsec = (long)(own->period % (1000 * MS))};
}

int
timerfd_gettime(int fd, struct itimerspec *out)
{
	struct clock_fd *own = sim_applies() ? clock_fd_of(fd) : NULL;

	if (own == NULL)
		return SIM_REAL(timerfd_gettime)(fd, out);
	clock_fd_read(own, out);
	return 0;
}

int
timerfd_settime(int fd, int flags, const struct itimerspec *wanted, struct itimerspec *before)
{
	struct clock_fd *own = sim_applies() ? clock_fd_of(fd) : NULL;
	struct pollfd full = {.fd = fd, .events = POLLIN};
	uint64_t ignored;

	if (own == NULL)
		return SIM_REAL(timerfd_settime)(fd, flags, wanted, before);
	if (!sim_span_is_good(&wanted->it_value) || !sim_span_is_good(&wanted->it_interval)) {
		errno = EINVAL;
		return -1;
	}
	if (before != NULL)
		clock_fd_read(own, before);
	if (SIM_REAL(poll)(&full, 1, 0) > 0)
		(void)!SIM_REAL(read)(fd, &ignored,
				      sizeof(ignored)); /* what the old setting has counted */
	own->period = (uint64_t)wanted->it_interval.tv_sec * 1000 * MS +
		      (uint64_t)wanted->it_interval.tv_nsec;
	own->next = 0;
	if (wanted->it_value.tv_sec != 0 || wanted->it_value.tv_nsec != 0)
		own->next = (flags & TFD_TIMER_ABSTIME) != 0
				    ? sim_deadline_of(own->clock, &wanted->it_value)
				    : sim_deadline_after(&wanted->it_value);
	sim_host.timer_start(sim_host.self, &own->timer, own->next > 0 ? own->next : RI_NEVER);
	return 0;
}
