/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Compares each counter of this layer with the number of objects that it counts, and the state
 * after a refused call with the state before it. Both fixtures call these, so each test of verbs
 * and of rdma_cm checks them, too. For tests in which no other thread creates or destroys objects.
 */
#ifndef DOOR_SUMS_H
#define DOOR_SUMS_H

#include <glib.h>
#include <infiniband/verbs.h>

/* Fails the test where a number or a link of the context's adapter differs from what its objects add up to. */
void door_sums_check(struct ibv_context *context);
/* The same of ids, channels and groups of rdma_cm. */
void door_sums_check_cm(void);
/* Lines that say what the program has of the adapter, and of rdma_cm: what no event of a connection changes. */
char *door_sums_account(struct ibv_context *context);
char *door_sums_account_cm(void);

#endif /* DOOR_SUMS_H */
