/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef KAL_SUMS_H
#define KAL_SUMS_H

struct kal_client;

/*
 * Fails the test unless each count of a client agrees with what it counts: children of objects, the
 * account, queued events, backlogs, start-ups and references of listeners. Takes the locks of the
 * client, one at a time; while a call is running, nothing is checked.
 */
void kal_sums_check(struct kal_client *client);

#endif /* KAL_SUMS_H */
