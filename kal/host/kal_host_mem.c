/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Memory of this process, for engines in this process: an engine uses the addresses of the application, and nothing is
 * pinned. What remains is to check what pinning would check: each page of the range exists, or can be made, and may be
 * used with the requested rights.
 *
 * MADV_POPULATE_READ and MADV_POPULATE_WRITE (Linux 5.14) do that: they make every page present, as a read or a write of
 * the process would, and report an error where that would raise a signal. Population for writing gives private
 * mappings their own copies of pages, as pinning for writing does. Nothing is read from /proc.
 *
 * Older kernels answer EINVAL, and a filter of system calls may refuse the advice. Then each page is touched by a futex
 * operation: the kernel reads a word of the page, or ors 0 into it in one atomic step, and returns EFAULT where the
 * process would get a signal. The process never changes a value, so it may use the memory meanwhile.
 */

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kal_host.h"

/* Of linux/mman.h; the C library of Debian 12 has them, older ones have not. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

#define AGAIN_MAX 100 /* attempts while the kernel answers EAGAIN */

/* What the kernel has answered so far to MADV_POPULATE_*. */
enum populates {
	POPULATES_UNKNOWN = 0,
	POPULATES, /* at least once it did */
	POPULATES_NOT
};
static atomic_int populates;

/* Is every page of the range mapped? Touches none. */
static bool
is_mapped(void *first, size_t len)
{
	return msync(first, len, MS_ASYNC) == 0;
}

/* Touch one page, whose first word is `word`. False: errno says why not. */
static bool
page_touch(uint32_t *word, bool write)
{
	uint32_t own = 0;

	if (write)
		return syscall(SYS_futex, &own, FUTEX_WAKE_OP_PRIVATE, 0, 0UL, word,
			       FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) >= 0;
	/* Compares the word with 0 and wakes no thread. EAGAIN: it is another value. */
	return syscall(SYS_futex, word, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0UL, &own, 0) >= 0 ||
	       errno == EAGAIN;
}

/* Without MADV_POPULATE_*: touch each page. */
static enum ri_status
pages_touch(uint8_t *first, size_t len, size_t page, bool write)
{
	if (!is_mapped(first, len))
		return RI_ERR_ADDRESS;
	for (size_t at = 0; at < len; at += page) {
		uint32_t *word = (uint32_t *)(void *)(first + at);

		if (page_touch(word, write))
			continue;
		if (errno != EFAULT)
			return RI_ERR_RESOURCES;
		return write && page_touch(word, false) ? RI_ERR_ACCESS : RI_ERR_ADDRESS;
	}
	return RI_SUCCESS;
}

/* Does this kernel know the advice? Asks it about a page that can be read: one of the stack. */
static bool
populate_is_known(size_t page)
{
	uint8_t here = 0;
	void *stack = (void *)((uintptr_t)&here & ~(page - 1));

	if (atomic_load(&populates) == POPULATES_UNKNOWN)
		atomic_store(&populates, madvise(stack, page, MADV_POPULATE_READ) == 0
						 ? POPULATES
						 : POPULATES_NOT);
	return atomic_load(&populates) == POPULATES;
}

static enum ri_status
pages_populate(uint8_t *first, size_t len, bool write)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int error = ENOSYS;

	for (unsigned again = 0; atomic_load(&populates) != POPULATES_NOT; again++) {
		if (madvise(first, len, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
			return RI_SUCCESS;
		error = errno;
		if (error != EINTR && (error != EAGAIN || again >= AGAIN_MAX))
			break;
	}
	switch (error) {
	case EFAULT:    /* a read or a write would raise SIGBUS or SIGSEGV */
	case EHWPOISON: /* the memory chip has failed there */
		return RI_ERR_ADDRESS;
	case ENOMEM:
		return is_mapped(first, len) ? RI_ERR_RESOURCES : RI_ERR_ADDRESS;
	case EAGAIN:
		return RI_ERR_RESOURCES;
	case EINVAL: /* a right is missing, or it is memory of a device, or the kernel is old */
		if (!populate_is_known(page))
			return pages_touch(first, len, page, write);
		return is_mapped(first, len) ? RI_ERR_ACCESS : RI_ERR_ADDRESS;
	default: /* a filter refuses it, whatever number it chose */
		return pages_touch(first, len, page, write);
	}
}

enum ri_status
kal_host_mem_attach(void *self, uint64_t owner, struct ri_mem *mem, uint32_t access)
{
	struct kal_host *host = self;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = mem->addr & ~(page - 1);
	uint64_t end = mem->addr + mem->length;
	bool write = (access & (RI_ACCESS_LOCAL_WRITE | RI_ACCESS_REMOTE_WRITE |
				RI_ACCESS_REMOTE_ATOMIC)) != 0;
	enum ri_status status = RI_SUCCESS;

	if (atomic_load(&host->dead))
		return RI_ERR_FATAL;
	if (owner != KAL_MEM_OWNER_SELF || end < mem->addr)
		return RI_ERR_ADDRESS;
	/* No processor of Linux has pages that can be written but not read. */
	if (mem->length > 0)
		status = pages_populate((uint8_t *)(uintptr_t)first, (size_t)(end - first), write);
	if (status == RI_SUCCESS)
		mem->base = (uint8_t *)(uintptr_t)mem->addr;
	return status;
}

void
kal_host_mem_detach(void *self, struct ri_mem *mem)
{
	(void)self;
	mem->base = NULL;
}

enum ri_status
kal_host_mem_copy(void *self, struct ri_mem *mem, uint64_t offset, void *buf, size_t len,
		  bool write)
{
	(void)self;
	if (mem->base == NULL || offset > mem->length || len > mem->length - offset)
		return RI_ERR_ADDRESS;
	if (write)
		memcpy(mem->base + offset, buf, len);
	else
		memcpy(buf, mem->base + offset, len);
	return RI_SUCCESS;
}
