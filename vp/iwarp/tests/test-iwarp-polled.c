/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An application that polls memory: as soon as it sees the last octet of a message it stores into the message, and no frame may
 * look damaged for that [WIRE 3.2.4]. So that this happens each time, and at the worst moment, the test is that
 * application inside of the system call that receives large payload in place.
 */

#include "viw_node.h"

#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define OCTETS 120001u /* the last frame of two is received in place */
#define ROUNDS 100

static struct {
	uint8_t *message; /* NULL: nobody polls */
	uint8_t mark;     /* its last octet, once it is there */
	unsigned receives;
	unsigned stores;
} polled;

static void
look_and_store(void)
{
	if (polled.message == NULL)
		return;
	polled.receives++;
	if (polled.message[OCTETS - 1] != polled.mark)
		return;
	memset(polled.message, 0, OCTETS);
	polled.stores++;
}

/* The linker has the library call these instead of the C library's; the first, unless it is built for ThreadSanitizer. */
long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);

long
__wrap_syscall(long number, ...)
{
	long a[6];
	long result;
	va_list list;

	va_start(list, number);
	for (unsigned i = 0; i < G_N_ELEMENTS(a); i++)
		a[i] = va_arg(list, long);
	va_end(list);
	result = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_recvmsg)
		look_and_store();
	return result;
}

ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t result = __real_recvmsg(fd, msg, flags);

	look_and_store();
	return result;
}

static void
write_round(struct end *a, struct end *b, struct chunk *from, struct chunk *to, unsigned round)
{
	struct ri_wc wc;

	from->at[OCTETS - 1] = polled.mark = (uint8_t)(round + 1);
	g_assert_cmpint(end_recv(b, round, to, 0, 0), ==, RI_SUCCESS);
	g_assert_cmpint(end_write(a, round, from, to, OCTETS), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(a, 1000 + round, from, 0, 0), ==, RI_SUCCESS);
	wc = end_wait_ok(b, true, round, a);
	g_assert_cmpuint(wc.byte_len, ==, 0);
	(void)end_wait_ok(a, false, round, b);
	(void)end_wait_ok(a, false, 1000 + round, b);
	look_and_store();
}

static void
test_store_behind(void)
{
	struct node *na = node_new(), *nb = node_new();
	struct end *a = end_new(na, NULL), *b = end_new(nb, NULL);
	struct chunk from = chunk_new(na, OCTETS, ALL_RW), to = chunk_new(nb, OCTETS, ALL_RW);

	ends_connect(a, b, true);
	chunk_fill(&from, 1);
	memset(to.at, 0, OCTETS);
	polled.message = to.at;
	for (unsigned i = 0; i < ROUNDS; i++)
		write_round(a, b, &from, &to, i);
	polled.message = NULL;
	g_assert_cmpuint(polled.stores, ==, ROUNDS);
	g_assert_cmpuint(polled.receives, >, ROUNDS);
	end_free(a);
	end_free(b);
	chunk_free(&from);
	chunk_free(&to);
	node_free(na);
	node_free(nb);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/polled/store-behind", test_store_behind);
	return g_test_run();
}
