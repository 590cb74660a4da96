/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams for tests of the provider, on top of vem_node.h. */
#ifndef VEM_DGRAM_H
#define VEM_DGRAM_H

#include "vem_node.h"
#include "vem_ud.h"

#define KEY 0x1234u

const struct ri_provider *emul(void);
/* A queue pair for datagrams, with completion queues of this many entries. */
struct end *ud_new(struct node *node, uint32_t entries);
/* An address handle; NULL: to the loopback address. */
struct ri_ah *ah_new(struct node *node, const struct ri_ah_init *init, uint32_t *id);
/* Post a datagram, signalled. */
enum ri_status send_to(struct end *end, uint64_t id, const struct ri_sge *sge,
		       const struct ri_wr_ud *ud);
uint32_t qpn_of(struct end *end);

#endif /* VEM_DGRAM_H */
