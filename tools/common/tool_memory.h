/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Registered memory. */
#ifndef TOOL_MEMORY_H
#define TOOL_MEMORY_H

#include "tool_adapter.h"

struct tool_memory {
	uint8_t *octets; /* aligned to a page, zeroed */
	size_t size;
	it_lmr_handle_t lmr;
	it_rmr_context_t context; /* for the peer */
};

/*
 * Registers memory with local rights and the given remote ones. With `sink`, for the sink of an RDMA Read, it also
 * gets remote write if the adapter requires that.
 */
bool tool_memory_make(struct tool_memory *memory, const struct tool_adapter *adapter, size_t size,
		      it_mem_priv_t remote, bool sink, GError **error);
void tool_memory_free(struct tool_memory *memory);

/* A part of it as a segment. */
it_lmr_triplet_t tool_memory_part(const struct tool_memory *memory, size_t offset, size_t len);

/* The address of its first octet, for a peer. */
it_rdma_addr_t tool_memory_address(const struct tool_memory *memory);

#endif /* TOOL_MEMORY_H */
