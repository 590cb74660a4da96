/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The memory of a ring: a memfd whose size nobody can change any more. A reader that truncated it after the other side has
 * mapped it would let that one fault, so the seals, the size and the kind are looked at before it is mapped.
 */
#include <errno.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ri_calls.h"
#include "ri_fd.h"
#include "vem_ring.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static struct vem_ring_page *
map(int fd)
{
	void *at = mmap(NULL, VEM_RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return NULL;
	/* A forked child has no part in the connections of its parent. */
	if (madvise(at, VEM_RING_SIZE, MADV_DONTFORK) != 0) {
		(void)munmap(at, VEM_RING_SIZE);
		return NULL;
	}
	return at;
}

int
vem_ring_create(struct vem_ring_page **page)
{
	int fd = ri_fd_memory("itapi-ring", MFD_ALLOW_SEALING);
	int error;

	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)VEM_RING_SIZE) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0 &&
	    (*page = map(fd)) != NULL)
		return fd;
	error = errno;
	ri_close(fd);
	errno = error;
	return -1;
}

struct vem_ring_page *
vem_ring_attach(int fd, const char **why)
{
	struct statfs fs;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	*why = NULL;
	if (seals < 0)
		*why = "it is no memfd";
	else if ((seals & SEALS) != SEALS)
		*why = "its size is not sealed";
	else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != (off_t)VEM_RING_SIZE)
		*why = "it has another size";
	else if (fstatfs(fd, &fs) != 0 || fs.f_type != TMPFS_MAGIC)
		*why = "its pages are not ordinary ones"; /* huge ones may be missing when they are touched */
	if (*why != NULL)
		return NULL;

	struct vem_ring_page *page = map(fd);

	if (page == NULL)
		*why = "it cannot be mapped";
	return page;
}

void
vem_ring_unmap(struct vem_ring_page *page)
{
	if (page != NULL)
		(void)munmap(page, VEM_RING_SIZE);
}
