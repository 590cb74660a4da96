/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Calls that read and write descriptors. A call that would block waits in the scheduler; the kernel is asked only in ways that do
 * not block. What a node writes to its stdout and stderr is kept with its other output.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/sim_libc.h"
#include "sim/sim_real.h"

static bool
is_ready(void *arg)
{
	return SIM_REAL(poll)((struct pollfd *)arg, 1, 0) != 0;
}

static bool
does_not_wait(int fd)
{
	int status = SIM_REAL(fcntl)(fd, F_GETFL);

	return status < 0 || (status & O_NONBLOCK) != 0;
}

/* Wait in the scheduler until it is ready, if the call would wait. False: it is not, after `patience` ns; 0: without a limit. */
static bool
fd_wait(const char *call, int fd, short events, uint64_t patience)
{
	struct pollfd one = {.fd = fd, .events = events};
	bool ready;

	if (is_ready(&one) || does_not_wait(fd))
		return true;
	g_snprintf(sim_me->detail, sizeof(sim_me->detail), "descriptor %d", fd);
	ready = sim_block(call, is_ready, &one, patience > 0 ? sim_now() + patience : RI_NEVER);
	sim_me->call = NULL;
	return ready;
}

bool
sim_fd_wait(const char *call, int fd, uint64_t patience)
{
	return fd_wait(call, fd, POLLIN, patience);
}

static ssize_t
failed(int error)
{
	errno = error;
	return -1;
}

/* --- a message of pieces ------------------------------------------------------------------------- */

/* What is left of the pieces behind `done` octets; *pieces are changed, and the first *count are wanted. */
static struct iovec *
pieces_behind(struct iovec *pieces, size_t *count, size_t done)
{
	while (*count > 0 && done >= pieces->iov_len) {
		done -= pieces->iov_len;
		pieces++;
		--*count;
	}
	if (*count > 0) {
		pieces->iov_base = (char *)pieces->iov_base + done;
		pieces->iov_len -= done;
	}
	return pieces;
}

static size_t
pieces_length(const struct iovec *pieces, size_t count)
{
	size_t length = 0;

	for (size_t i = 0; i < count; i++)
		length += pieces[i].iov_len;
	return length;
}

/* One call of the kernel that does not wait. */
typedef ssize_t move_fn(int fd, struct msghdr *message, int flags);

static ssize_t
move_out(int fd, struct msghdr *message, int flags)
{
	return SIM_REAL(sendmsg)(fd, message, flags | MSG_DONTWAIT);
}

static ssize_t
move_in(int fd, struct msghdr *message, int flags)
{
	return SIM_REAL(recvmsg)(fd, message, (flags & ~MSG_WAITALL) | MSG_DONTWAIT);
}

/* Pipes and files know no messages: the descriptor itself must not wait meanwhile. */
static ssize_t
move_through(int fd, struct msghdr *message, int flags)
{
	int status = SIM_REAL(fcntl)(fd, F_GETFL);
	bool waits = status >= 0 && (status & O_NONBLOCK) == 0;
	ssize_t moved;
	int error;

	(void)flags;
	if (waits)
		(void)SIM_REAL(fcntl)(fd, F_SETFL, status | O_NONBLOCK);
	moved = SIM_REAL(writev)(fd, message->msg_iov, (int)message->msg_iovlen);
	error = errno;
	if (waits)
		(void)SIM_REAL(fcntl)(fd, F_SETFL, status);
	errno = error;
	return moved;
}

/* A call of the application: all of the octets if it is one that waits for all, else what there is. */
static ssize_t
move(const char *call, move_fn *once, int fd, const struct msghdr *message, int flags, bool all)
{
	const bool out = once != move_in;
	const bool stays = (flags & MSG_DONTWAIT) != 0 || does_not_wait(fd);
	const uint64_t patience = sim_socket_patience(fd, out);
	const size_t wanted = pieces_length(message->msg_iov, message->msg_iovlen);
	g_autofree struct iovec *pieces =
		g_memdup2(message->msg_iov, message->msg_iovlen * sizeof(*pieces));
	struct msghdr part = *message;
	size_t done = 0;
	ssize_t moved;

	part.msg_iov = pieces;
	for (;;) {
		if (!stays && !fd_wait(call, fd, out ? POLLOUT : POLLIN, patience))
			return done > 0 ? (ssize_t)done : failed(EAGAIN);
		moved = once(fd, &part, flags);
		if (moved < 0 && errno == EAGAIN && !stays) {
			/* There is room, but not enough: an eventfd takes a value whole. */
			sim_me->call = call;
			sim_idle(call);
			sim_me->call = NULL;
			continue;
		}
		if (moved <= 0)
			return done > 0 ? (ssize_t)done : moved;
		done += (size_t)moved;
		if (done >= wanted || stays || !all)
			return (ssize_t)done;
		part.msg_iov = pieces_behind(part.msg_iov, &part.msg_iovlen, (size_t)moved);
		part.msg_control = NULL;
		part.msg_controllen = 0;
	}
}

/* --- what comes in ---------------------------------------------------------------------------------- */

ssize_t
read(int fd, void *buf, size_t len)
{
	if (!sim_applies())
		return SIM_REAL(read)(fd, buf, len);
	sim_chance("read");
	if (!sim_socket_is_open(fd))
		return failed(ENOTCONN);
	if (!fd_wait("read", fd, POLLIN, sim_socket_patience(fd, false)))
		return failed(EAGAIN);
	return SIM_REAL(read)(fd, buf, len);
}

ssize_t
readv(int fd, const struct iovec *vector, int count)
{
	if (!sim_applies())
		return SIM_REAL(readv)(fd, vector, count);
	sim_chance("readv");
	if (!sim_socket_is_open(fd))
		return failed(ENOTCONN);
	if (!fd_wait("readv", fd, POLLIN, sim_socket_patience(fd, false)))
		return failed(EAGAIN);
	return SIM_REAL(readv)(fd, vector, count);
}

int
eventfd_read(int fd, eventfd_t *value)
{
	return read(fd, value, sizeof(*value)) == (ssize_t)sizeof(*value) ? 0 : -1;
}

ssize_t
recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t got;

	if (!sim_applies())
		return SIM_REAL(recvmsg)(fd, message, flags);
	sim_chance("recvmsg");
	if (!sim_socket_is_open(fd))
		return failed(ENOTCONN);
	if ((flags & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL)
		return move("recvmsg", move_in, fd, message, flags, true);
	if ((flags & MSG_DONTWAIT) == 0 &&
	    !fd_wait("recvmsg", fd, POLLIN, sim_socket_patience(fd, false)))
		return failed(EAGAIN);
	got = SIM_REAL(recvmsg)(fd, message, (flags & ~MSG_WAITALL) | MSG_DONTWAIT);
	return got;
}

static ssize_t
receive(const char *call, int fd, void *buf, size_t len, int flags)
{
	struct iovec piece = {buf, len};
	const struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
	const bool all = (flags & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL;

	sim_chance(call);
	if (!sim_socket_is_open(fd))
		return failed(ENOTCONN);
	return move(call, move_in, fd, &message, flags, all);
}

ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
	return sim_applies() ? receive("recv", fd, buf, len, flags)
			     : SIM_REAL(recv)(fd, buf, len, flags);
}

/* This call does not return the address of a stream's peer. */
ssize_t
recvfrom(int fd, void *restrict buf, size_t len, int flags, __SOCKADDR_ARG address,
	 socklen_t *restrict room)
{
	if (!sim_applies())
		return SIM_REAL(recvfrom)(fd, buf, len, flags, address, room);
	if (address.__sockaddr__ != NULL && room != NULL)
		*room = 0;
	return receive("recvfrom", fd, buf, len, flags);
}

/* --- what goes out ----------------------------------------------------------------------------------- */

static bool
is_output(int fd)
{
	return fd == STDOUT_FILENO || fd == STDERR_FILENO;
}

/* What stdio has of it comes before. */
static void
output(int fd, const void *buf, size_t len)
{
	(void)fflush(stdout);
	sim_node_write(sim_me->node, fd, buf, len);
}

static ssize_t
write_pieces(const char *call, int fd, const struct iovec *vector, int count)
{
	const struct msghdr message = {.msg_iov = (struct iovec *)vector,
				       .msg_iovlen = (size_t)count};

	sim_chance(call);
	if (!sim_socket_is_open(fd))
		return failed(ENOTCONN);
	/* An eventfd takes a value whole. */
	return move(call, move_through, fd, &message, 0, true);
}

ssize_t
write(int fd, const void *buf, size_t len)
{
	const struct iovec piece = {(void *)buf, len};

	if (!sim_applies())
		return SIM_REAL(write)(fd, buf, len);
	if (!is_output(fd))
		return write_pieces("write", fd, &piece, 1);
	output(fd, buf, len);
	return (ssize_t)len;
}

ssize_t
writev(int fd, const struct iovec *vector, int count)
{
	if (!sim_applies())
		return SIM_REAL(writev)(fd, vector, count);
	if (!is_output(fd))
		return write_pieces("writev", fd, vector, count);
	for (int i = 0; i < count; i++)
		output(fd, vector[i].iov_base, vector[i].iov_len);
	return (ssize_t)pieces_length(vector, (size_t)MAX(count, 0));
}

static ssize_t
transmit(const char *call, int fd, const struct msghdr *message, int flags)
{
	sim_chance(call);
	if (!sim_socket_is_open(fd))
		return failed(ENOTCONN);
	return move(call, move_out, fd, message, flags, true);
}

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
	return sim_applies() ? transmit("sendmsg", fd, message, flags)
			     : SIM_REAL(sendmsg)(fd, message, flags);
}

ssize_t
send(int fd, const void *buf, size_t len, int flags)
{
	struct iovec piece = {(void *)buf, len};
	const struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};

	return sim_applies() ? transmit("send", fd, &message, flags)
			     : SIM_REAL(send)(fd, buf, len, flags);
}

/* A stream has its peer, so the address is left out. */
ssize_t
sendto(int fd, const void *buf, size_t len, int flags, __CONST_SOCKADDR_ARG address, socklen_t room)
{
	struct iovec piece = {(void *)buf, len};
	const struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};

	return sim_applies() ? transmit("sendto", fd, &message, flags)
			     : SIM_REAL(sendto)(fd, buf, len, flags, address, room);
}

/* --- printing past the streams ------------------------------------------------------------------------- */

int
vdprintf(int fd, const char *restrict format, va_list list)
{
	g_autofree char *text = NULL;

	if (!sim_applies())
		return SIM_REAL(vdprintf)(fd, format, list);
	text = g_strdup_vprintf(format, list);
	return (int)write(fd, text, strlen(text));
}

int
dprintf(int fd, const char *restrict format, ...)
{
	va_list list;
	int done;

	va_start(list, format);
	done = vdprintf(fd, format, list);
	va_end(list);
	return done;
}

/* As programs call them that were compiled with _FORTIFY_SOURCE. */
int __vdprintf_chk(int fd, int flag, const char *restrict format, va_list list) G_GNUC_PRINTF(3, 0);
int __dprintf_chk(int fd, int flag, const char *restrict format, ...) G_GNUC_PRINTF(3, 4);

int
__vdprintf_chk(int fd, int flag, const char *restrict format, va_list list)
{
	(void)flag;
	return vdprintf(fd, format, list);
}

int
__dprintf_chk(int fd, int flag, const char *restrict format, ...)
{
	va_list list;
	int done;

	(void)flag;
	va_start(list, format);
	done = vdprintf(fd, format, list);
	va_end(list);
	return done;
}
