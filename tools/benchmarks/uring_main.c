/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An experiment: does one entry into the kernel for "send this and take what came" (io_uring) cost less than send()
 * and recv()? The library does not use io_uring; doc/performance.md has the figures that this program prints.
 *
 * Two threads exchange messages over TCP on the loopback, in turn, and poll:
 *
 * calls  send(); then recv() with MSG_DONTWAIT until there are octets
 * ring   one io_uring_enter() submits the send and a receive; then the thread looks at the completion queue, which is
 *        in its memory, and enters the kernel only when the ring says that it must, to have the receive completed
 *
 * It prints how long a message takes in ns, with what its receiver does, and the entries into the kernel per message:
 * those of senders, those of receivers that brought octets, and those that found nothing. Instructions in user space are counted by callgrind, which must begin at these functions:
 * valgrind --tool=callgrind --toggle-collect='way_*' it-bench-uring calls|ring [ROUNDS]
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OCTETS  84u  /* a frame with 64 octets of payload */
#define ROUNDS  500u /* by default */
#define ENTRIES 8u
#define SENT    1u /* user_data */
#define TAKEN   2u

struct ring {
	int fd;
	char *map; /* both rings, as the kernel lays them out */
	_Atomic(unsigned) *sq_tail, *sq_flags;
	_Atomic(unsigned) *cq_head, *cq_tail;
	unsigned sq_mask, cq_mask;
	unsigned *sq_array;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

struct end {
	int fd;
	bool first; /* sends the first message */
	bool by_ring;
	unsigned rounds;
	struct ring ring;
	char out[OCTETS], in[OCTETS];
	unsigned got;     /* octets of this message */
	bool receiving;   /* a receive is under way in the ring */
	unsigned sends;   /* entries that sent; in a ring, they began a receive, too */
	unsigned takes;   /* entries for octets that were there */
	unsigned nothing; /* entries that found nothing */
};

static void
exit_with_error(const char *what)
{
	perror(what);
	exit(1);
}

/* --- calls -------------------------------------------------------------------------------- */

static __attribute__((noinline)) void
way_calls_send(struct end *end)
{
	end->sends++;
	if (syscall(SYS_sendto, end->fd, end->out, OCTETS, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) !=
	    (long)OCTETS)
		exit_with_error("send");
}

/* True: the message is complete. */
static __attribute__((noinline)) bool
way_calls_take(struct end *end)
{
	long n = syscall(SYS_recvfrom, end->fd, end->in + end->got, OCTETS - end->got, MSG_DONTWAIT,
			 NULL, NULL);

	if (n > 0) {
		end->takes++;
		end->got += (unsigned)n;
	} else {
		end->nothing++;
	}
	return end->got == OCTETS;
}

/* --- ring --------------------------------------------------------------------------------- */

static void
ring_open(struct ring *ring)
{
	struct io_uring_params p = {.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
					     IORING_SETUP_SINGLE_ISSUER};

	ring->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (ring->fd < 0)
		exit_with_error("io_uring_setup");
	ring->map = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*ring->cqes),
			 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd,
			 IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, p.sq_entries * sizeof(*ring->sqes), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQES);
	if (ring->map == MAP_FAILED || ring->sqes == MAP_FAILED ||
	    !(p.features & IORING_FEAT_SINGLE_MMAP))
		exit_with_error("mmap");
	ring->sq_tail = (void *)(ring->map + p.sq_off.tail);
	ring->sq_flags = (void *)(ring->map + p.sq_off.flags);
	ring->sq_mask = *(unsigned *)(void *)(ring->map + p.sq_off.ring_mask);
	ring->sq_array = (void *)(ring->map + p.sq_off.array);
	ring->cq_head = (void *)(ring->map + p.cq_off.head);
	ring->cq_tail = (void *)(ring->map + p.cq_off.tail);
	ring->cq_mask = *(unsigned *)(void *)(ring->map + p.cq_off.ring_mask);
	ring->cqes = (void *)(ring->map + p.cq_off.cqes);
}

static void
entry_put(struct ring *ring, unsigned tail, uint8_t opcode, int fd, void *at, unsigned len)
{
	unsigned slot = tail & ring->sq_mask;
	struct io_uring_sqe *sqe = &ring->sqes[slot];

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = opcode;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)at;
	sqe->len = len;
	sqe->msg_flags = MSG_NOSIGNAL;
	sqe->user_data = opcode == IORING_OP_SEND ? SENT : TAKEN;
	ring->sq_array[slot] = slot;
}

static void
completions_take(struct end *end)
{
	struct ring *ring = &end->ring;
	unsigned head = atomic_load_explicit(ring->cq_head, memory_order_relaxed);
	unsigned tail = atomic_load_explicit(ring->cq_tail, memory_order_acquire);

	for (; head != tail; head++) {
		const struct io_uring_cqe *cqe = &ring->cqes[head & ring->cq_mask];

		if (cqe->res <= 0 || (cqe->user_data == SENT && cqe->res != (int)OCTETS))
			exit_with_error("a request of the ring");
		if (cqe->user_data == TAKEN) {
			end->got += (unsigned)cqe->res;
			end->receiving = false;
		}
	}
	atomic_store_explicit(ring->cq_head, head, memory_order_release);
}

static __attribute__((noinline)) void
way_ring_send(struct end *end)
{
	struct ring *ring = &end->ring;
	unsigned tail = atomic_load_explicit(ring->sq_tail, memory_order_relaxed);
	unsigned count = 1;

	entry_put(ring, tail, IORING_OP_SEND, end->fd, end->out, OCTETS);
	if (!end->receiving) {
		entry_put(ring, tail + 1, IORING_OP_RECV, end->fd, end->in, OCTETS);
		end->receiving = true;
		count = 2;
	}
	atomic_store_explicit(ring->sq_tail, tail + count, memory_order_release);
	end->sends++;
	if (syscall(SYS_io_uring_enter, ring->fd, count, 0, 0, NULL, 0) != (long)count)
		exit_with_error("io_uring_enter");
}

/* True: the message is complete. A rest of it needs another receive. */
static __attribute__((noinline)) bool
way_ring_take(struct end *end)
{
	struct ring *ring = &end->ring;
	unsigned flags = atomic_load_explicit(ring->sq_flags, memory_order_relaxed);

	if (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) {
		end->takes++;
		(void)syscall(SYS_io_uring_enter, ring->fd, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
	}
	completions_take(end);
	if (end->receiving || end->got == OCTETS)
		return end->got == OCTETS;
	unsigned tail = atomic_load_explicit(ring->sq_tail, memory_order_relaxed);
	entry_put(ring, tail, IORING_OP_RECV, end->fd, end->in + end->got, OCTETS - end->got);
	atomic_store_explicit(ring->sq_tail, tail + 1, memory_order_release);
	end->receiving = true;
	end->nothing++;
	(void)syscall(SYS_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0);
	return false;
}

/* --- ping-pong ---------------------------------------------------------------------------- */

static void
message_await(struct end *end)
{
	end->got = 0;
	while (!(end->by_ring ? way_ring_take(end) : way_calls_take(end)))
		; /* no sched_yield(): it is an entry into the kernel, where a receive of the ring completes, too */
}

static void *
end_run(void *arg)
{
	struct end *end = arg;

	if (end->by_ring)
		ring_open(&end->ring);
	for (unsigned i = 0; i < end->rounds; i++) {
		if (i > 0 || !end->first)
			message_await(end);
		if (end->by_ring)
			way_ring_send(end);
		else
			way_calls_send(end);
	}
	if (end->first)
		message_await(end);
	return NULL;
}

static void
sockets_join(struct end *a, struct end *b)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	a->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || a->fd < 0 || bind(listener, (struct sockaddr *)&at, len) != 0 ||
	    listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&at, &len) != 0 ||
	    connect(a->fd, (struct sockaddr *)&at, len) != 0)
		exit_with_error("a socket");
	b->fd = accept(listener, NULL, NULL);
	if (b->fd < 0 || setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
	    setsockopt(b->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
		exit_with_error("a socket");
	close(listener);
}

static double
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int
main(int argc, char **argv)
{
	bool by_ring = argc > 1 && strcmp(argv[1], "ring") == 0;
	unsigned long rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : ROUNDS;

	if (argc < 2 || argc > 3 || (!by_ring && strcmp(argv[1], "calls") != 0) || rounds == 0 ||
	    rounds > 100000000) {
		fprintf(stderr,
			"usage: it-bench-uring calls|ring [ROUNDS]    ROUNDS: 1 to 100000000\n");
		return 2;
	}
	struct end a = {.first = true, .by_ring = by_ring, .rounds = (unsigned)rounds};
	struct end b = {.by_ring = by_ring, .rounds = (unsigned)rounds};
	double messages = 2 * (double)rounds;
	pthread_t thread;
	double start;

	sockets_join(&a, &b);
	start = clock_ns();
	if (pthread_create(&thread, NULL, end_run, &b) != 0)
		exit_with_error("a thread");
	end_run(&a);
	pthread_join(thread, NULL);
	printf("{\"way\": \"%s\", \"messages\": %.0f, \"ns\": %.0f, \"sending\": %.3f, \"taking\": "
	       "%.3f, "
	       "\"other\": %.3f}\n",
	       argv[1], messages, (clock_ns() - start) / messages, (a.sends + b.sends) / messages,
	       (a.takes + b.takes) / messages, (a.nothing + b.nothing) / messages);
	return 0;
}
