/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A network of the test's own, whose interfaces it may switch off without harm to anybody. */
#ifndef IT_NET_H
#define IT_NET_H

#include <stdbool.h>

/*
 * Move this process, which has one thread so far, into a network namespace of its own: as root, or else
 * in a user namespace. False: this machine does not allow that, or has no iproute2, or no veth.
 */
bool net_enter(void);
/* Run ip(8) with these words; the test fails if that does. */
void net_ip(const char *words);
/* The interface is up and has a carrier, which comes a while after it is switched on; waits for that. */
void net_await(const char *interface);
/* As net_ip; false if it fails. */
bool net_try_ip(const char *words);

#endif /* IT_NET_H */
