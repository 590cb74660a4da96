/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The memory of a dmabuf for an engine in this process, which copies: a shared mapping that lives as long as the region.
 * Not every driver allows to map what it exports; such a dmabuf is refused. There is no ioctl around accesses
 * (DMA_BUF_IOCTL_SYNC), so the memory has to be coherent with the processor, as that of /dev/udmabuf is on x86.
 *
 * A memfd is accepted, too, so that programs can be tested without a driver that exports memory. It must be sealed
 * against shrinking: an access to pages that a file has lost ends the connection. A dmabuf cannot shrink.
 */
#include "vem_dmabuf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define WRITES (RI_ACCESS_LOCAL_WRITE | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)

/* Is it a dmabuf, or a memfd that keeps its size? */
static bool
keeps_its_size(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;

	if (seals >= 0)
		return (seals & F_SEAL_SHRINK) != 0;
	return fstatfs(fd, &fs) == 0 && fs.f_type == DMA_BUF_MAGIC;
}

static enum ri_status
failure(int error)
{
	switch (error) {
	case EACCES:
	case EPERM: /* a seal against writing */
		return RI_ERR_ACCESS;
	case ENOMEM:
	case EAGAIN:
		return RI_ERR_RESOURCES;
	default:
		return RI_ERR_UNSUPPORTED;
	}
}

/* Map the memory of a registration; *first is where its first byte is. */
static enum ri_status
dmabuf_map(const struct ri_mr_init *init, const struct ri_dmabuf *from, struct vsw_mapping *map,
	   uint8_t **first)
{
	uint64_t within = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	uint64_t skip = from->offset & within;
	int rights = PROT_READ | ((init->access & WRITES) != 0 ? PROT_WRITE : 0);
	struct stat st;

	if (init->length == 0 || ((init->addr ^ from->offset) & within) != 0 ||
	    !keeps_its_size(from->fd) || fstat(from->fd, &st) != 0)
		return RI_ERR_INVALID_ARG;
	if (init->addr + init->length - 1 < init->addr || from->offset > (uint64_t)st.st_size ||
	    init->length > (uint64_t)st.st_size - from->offset)
		return RI_ERR_ADDRESS;
	map->bytes = (size_t)(init->length + skip);
	map->pages =
		mmap(NULL, map->bytes, rights, MAP_SHARED, from->fd, (off_t)(from->offset - skip));
	if (map->pages == MAP_FAILED)
		return failure(errno);
	*first = (uint8_t *)map->pages + skip;
	return RI_SUCCESS;
}

enum ri_status
vem_dmabuf_reg(struct ri_pd *ri, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	       struct ri_mr **out, uint32_t *stag)
{
	const struct ri_mr_init range = {.addr = init->addr,
					 .length = init->length,
					 .access = init->access,
					 .key = init->key,
					 .shareable = init->shareable};
	struct vsw_mapping map;
	enum ri_status status;
	uint8_t *first;

	if (init->length > VEM_MAX_REGION)
		return RI_ERR_LIMIT;
	status = dmabuf_map(&range, from, &map, &first);
	if (status != RI_SUCCESS)
		return status;
	status = vsw_region_mapped((struct vsw_pd *)ri, &range, &map, first, out, stag);
	if (status != RI_SUCCESS)
		(void)munmap(map.pages, map.bytes);
	return status;
}
