/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the daemon counts, counted again from what it has, by a test that has the daemon in its own process. */
#ifndef KALD_SUMS_H
#define KALD_SUMS_H

#include "kald_server.h"

/* Fails the test where a number or a link of the server differs from what its sessions and groups add up to. After each event. */
void kald_sums_check(const struct kald_server *server);
/* The descriptors of the server, without its listener and those that a thread closes just now. */
unsigned kald_sums_fds(const struct kald_server *server);

#endif /* KALD_SUMS_H */
