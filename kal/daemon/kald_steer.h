/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * How the kernel chooses the socket of a packet that comes to a shared address of RoCE: a classic
 * BPF program of the group of sockets. Bits 23 to 18 of a queue pair number are a slot; packets for
 * queue pair 1 are MADs, and go by the service that a request names, or by the upper 6 bits of the
 * id that the receiver has chosen. The sender of a request that was not answered knows no such id;
 * its REJ also names the service, if the sender is one of this project. A packet that names no
 * listener goes to any slot that is in use, whose connection manager rejects it.
 */
#ifndef KALD_STEER_H
#define KALD_STEER_H

#include <stdbool.h>
#include <stdint.h>

#include "kald_wire.h"

#define KALD_SERVICES_MAX 1024

/* The table. */
struct kald_steer {
	uint64_t used; /* slots, by bit */
	uint32_t count;
	uint32_t reserved;
	struct kald_steered {
		uint32_t service; /* the lower half of its id */
		uint32_t slot;
	} services[KALD_SERVICES_MAX];
};

void kald_steer_begin(struct kald_steer *steer);
/* Have the kernel steer by that table. Returns 0 or an errno: it steers as before. */
int kald_steer_attach(const struct kald_steer *steer, int fd);
/* The place of a service in the table, or -1. */
int kald_steer_find(const struct kald_steer *steer, uint32_t service);
/* A slot is not in use any more, nor are its services. */
void kald_steer_free(struct kald_steer *steer, uint32_t slot);
/*
 * The table that members keep in memory for the next kald. kald reads and writes it through a
 * mapping, because a call on its descriptor waits for the lock of the file, which a member may own.
 * If kald is killed while it writes, the previous table remains.
 */
struct kald_memory;
/* A new one, which nobody can make shorter; -1: errno is set. */
int kald_steer_memory(void);
/* NULL: it is no such memory. The descriptor may be anything; it stays the caller's. */
struct kald_memory *kald_steer_map(int memory);
void kald_steer_unmap(struct kald_memory *map);
void kald_steer_write(const struct kald_steer *steer, struct kald_memory *map);
/* False: there is no table. Services of slots that are not in use, or that are there twice, are left out. */
bool kald_steer_read(struct kald_steer *steer, struct kald_memory *map);

#endif /* KALD_STEER_H */
