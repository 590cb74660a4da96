/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Sockets of peers whose start-up has ended. */
#ifndef KAL_PARTINGS_H
#define KAL_PARTINGS_H

#include "kal_cm_internal.h"
#include "kal_fds.h"

#define KAL_PARTING_MAX (2 * KAL_NS_PER_S) /* until a refused peer has closed */

/*
 * Take over the socket of a peer whose start-up ended; it is not watched any more. It is closed when the peer has closed
 * its end, or after KAL_PARTING_MAX, or when too many others wait. Any thread, not under cm->lock.
 */
void kal_parting_begin(struct kal_cm *cm, struct kal_fd *fd);
/* Close all. When this returns, no thread uses any of them. */
void kal_partings_end_all(struct kal_cm *cm);
/* On the service thread: descriptors are short. False: there is no parting. */
bool kal_partings_end_oldest(struct kal_cm *cm);

#endif /* KAL_PARTINGS_H */
