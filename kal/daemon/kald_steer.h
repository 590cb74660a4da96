/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * How the kernel chooses the socket of a packet that comes to a shared address of RoCE: a classic BPF program of the group of sockets.
 * Bits 23 to 18 of a queue pair number are a slot; packets for queue pair 1 are MADs, and go by the service that a request names, or
 * by the upper 6 bits of the id that the receiver has chosen. What names no listener goes to a slot in use, whose manager rejects it.
 */
#ifndef KALD_STEER_H
#define KALD_STEER_H

#include <stdbool.h>
#include <stdint.h>

#include "kald_wire.h"

#define KALD_SERVICES_MAX 1024

/* The table, as it is in the memory that members keep for the next kald. */
struct kald_steer {
	uint32_t magic;
	uint32_t version;
	uint64_t used; /* slots, by bit */
	uint32_t count;
	uint32_t reserved;
	struct kald_steered {
		uint32_t service; /* the lower half of its id */
		uint32_t slot;
	} services[KALD_SERVICES_MAX];
};

void kald_steer_begin(struct kald_steer *steer);
/* Have the kernel steer by that table. 0, or an errno: it steers as before. */
int kald_steer_attach(const struct kald_steer *steer, int fd);
/* The place of a service in the table, or -1. */
int kald_steer_find(const struct kald_steer *steer, uint32_t service);
/* A slot is not in use any more, nor are its services. */
void kald_steer_free(struct kald_steer *steer, uint32_t slot);
/* Memory for the table, which nobody can make shorter; -1: errno is set. */
int kald_steer_memory(void);
bool kald_steer_write(const struct kald_steer *steer, int memory);
/* False: it is no such memory, or holds no such table. Never waits, whatever the descriptor is. */
bool kald_steer_read(struct kald_steer *steer, int memory);

#endif /* KALD_STEER_H */
