/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Faults of the path between two processes, on demand; vem_link_path.c. */
#ifndef VEM_LINK_PATH_H
#define VEM_LINK_PATH_H

#include "vem_link.h"

/* A link begins: it obeys the rule for its process. With the fabric's lock, on the service thread. */
void vem_link_path_begin(struct vem_link *link);
/* Is it read by those who read rings? With the fabric's lock. */
bool vem_link_path_is_plain(const struct vem_link *link);
/* Do what a command says; NULL, or why not. From the return on, nothing comes against the rule but packets that come at this moment. */
const char *vem_link_path_do(struct vem_shm *shm, const struct vem_path_order *order);
/* vem_shm::repath: on the service thread, what each link watches. */
void vem_link_paths_watch(void *shm);
/* Is the datagram that is read now lost? Owner of rx. */
bool vem_link_path_loses(struct vem_link *link);

#endif /* VEM_LINK_PATH_H */
