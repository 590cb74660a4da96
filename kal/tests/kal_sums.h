/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef KAL_SUMS_H
#define KAL_SUMS_H

struct kal_client;

/*
 * What a client counts is what it has: children of objects, its account, queued events; the backlog, the start-ups and the references
 * of listeners. Fails the test otherwise. Takes the locks of the client, each alone; if a call is inside, nothing is looked at.
 */
void kal_sums_check(struct kal_client *client);

#endif /* KAL_SUMS_H */
