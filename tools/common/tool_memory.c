/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#define ITAPI_ENABLE_V21_BINDINGS

#include <string.h>
#include <sys/mman.h>

#include "tool_error.h"
#include "tool_memory.h"

bool
tool_memory_make(struct tool_memory *memory, const struct tool_adapter *adapter, size_t size,
		 it_mem_priv_t remote, bool sink, GError **error)
{
	it_mem_priv_t privs = IT_PRIV_LOCAL | remote;
	it_status_t status;
	void *mapped;

	memset(memory, 0, sizeof(*memory));
	if (sink && adapter->info->rdma_read_requires_remote_write)
		privs |= IT_PRIV_REMOTE_WRITE;
	mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED)
		return tool_fail(error, TOOL_ERROR_FAILED, "no memory for a buffer of %zu bytes",
				 size);
	/* Large pages, if the kernel has them: fewer faults at the first use, fewer entries of the TLB. */
	(void)madvise(mapped, size, MADV_HUGEPAGE);
	memory->octets = mapped;
	memory->size = size;
	status = it_lmr_create(adapter->pz, mapped, NULL, size, IT_ADDR_MODE_ABSOLUTE, privs,
			       IT_LMR_FLAG_NONE, 0, &memory->lmr, &memory->context);
	if (status == IT_SUCCESS)
		return true;
	tool_memory_free(memory);
	return tool_fail(error, TOOL_ERROR_FAILED, "cannot register %zu bytes: %s", size,
			 it_status_name(status));
}

void
tool_memory_free(struct tool_memory *memory)
{
	if (memory->lmr != NULL)
		it_lmr_free(memory->lmr);
	if (memory->octets != NULL)
		munmap(memory->octets, memory->size);
	memset(memory, 0, sizeof(*memory));
}

it_lmr_triplet_t
tool_memory_part(const struct tool_memory *memory, size_t offset, size_t len)
{
	it_lmr_triplet_t part = {.lmr = memory->lmr, .length = len};

	part.addr.abs = memory->octets + offset;
	return part;
}

it_rdma_addr_t
tool_memory_address(const struct tool_memory *memory)
{
	return it_make_rdma_addr_absolute(memory->octets);
}
