/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Networks of peers, for the daemon that has the rules and the client that asks them before it connects. */
#ifndef KALD_NET_H
#define KALD_NET_H

#include <stdbool.h>

#include "kald_wire.h"

/* "10.0.0.0/8", "::1/128", or an address. Bits beyond the prefix have to be 0. */
bool kald_net_read(const char *text, struct kald_net *net);
/* Is the address in one of them? An IPv4 address that is written as one of IPv6 counts as IPv4. family: AF_INET or AF_INET6. */
bool kald_nets_have(const struct kald_net *nets, uint32_t count, uint8_t family,
		    const uint8_t *octets);

#endif /* KALD_NET_H */
