/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A network namespace of the test's own, whose interfaces the test may switch off. */
#ifndef IT_NET_H
#define IT_NET_H

#include <stdbool.h>

/*
 * Move this process, which has one thread so far, into a network namespace of its own; without root, into a user
 * namespace too. False: this machine does not allow it, or lacks iproute2 or veth.
 */
bool net_enter(void);
/* Run ip(8) with these arguments; the test fails if ip fails. */
void net_ip(const char *words);
/* Wait until the interface is up and has a carrier. */
void net_await(const char *interface);
/* As net_ip, but returns false if ip fails. */
bool net_try_ip(const char *words);

#endif /* IT_NET_H */
