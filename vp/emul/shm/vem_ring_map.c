/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The memory of a ring: a memfd whose size is sealed. If the other process could truncate it, this
 * one would fault at its next access. So the kind, the size and the seals of a memfd are checked
 * when it is received, before it is mapped.
 */
#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ri_calls.h"
#include "ri_fd.h"
#include "vem_ring.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static struct vem_ring_page *
map(int fd, const char **call)
{
	void *at = mmap(NULL, VEM_RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int error;

	*call = at == MAP_FAILED ? "mmap" : "madvise";
	if (at == MAP_FAILED)
		return NULL;
	/* A forked child has no part in the connections of its parent. */
	if (madvise(at, VEM_RING_SIZE, MADV_DONTFORK) != 0) {
		error = errno;
		(void)munmap(at, VEM_RING_SIZE);
		errno = error;
		return NULL;
	}
	return at;
}

int
vem_ring_create(struct vem_ring_page **page, const char **call)
{
	int fd = ri_fd_memory("itapi-ring", MFD_ALLOW_SEALING);
	int error;

	*call = "memfd_create";
	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)VEM_RING_SIZE) != 0)
		*call = "ftruncate";
	else if (fcntl(fd, F_ADD_SEALS, SEALS) != 0)
		*call = "fcntl";
	else if ((*page = map(fd, call)) != NULL)
		return fd;
	error = errno;
	ri_close(fd);
	errno = error;
	return -1;
}

/* Why it is no ring; NULL: it is one. Without seals it is not a memfd, and the rest is not known. */
static const char *
fault(int seals, const struct stat *st, const struct statfs *fs)
{
	if (seals < 0)
		return "it is not a memfd";
	if ((seals & SEALS) != SEALS)
		return "its size is not sealed";
	if (!S_ISREG(st->st_mode) || st->st_size != (off_t)VEM_RING_SIZE)
		return "it has another size";
	/* Huge pages may be missing when they are touched. */
	return fs->f_type != TMPFS_MAGIC ? "its pages are not ordinary ones" : NULL;
}

struct vem_ring_page *
vem_ring_attach(int fd, const char **why)
{
	struct statfs fs;
	struct stat st;
	struct vem_ring_page *page = NULL;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 && errno != EINVAL && errno != EBADF)
		*why = "fcntl";
	else if (seals >= 0 && fstat(fd, &st) != 0)
		*why = "fstat";
	else if (seals >= 0 && fstatfs(fd, &fs) != 0)
		*why = "fstatfs";
	else if ((*why = fault(seals, &st, &fs)) != NULL)
		errno = 0;
	else
		page = map(fd, why);
	if (page != NULL) {
		*why = NULL;
	} else if (strcmp(*why, "mmap") == 0) {
		*why = "it cannot be mapped"; /* perhaps because of one seal more */
		errno = 0;
	}
	return page;
}

void
vem_ring_unmap(struct vem_ring_page *page)
{
	if (page != NULL)
		(void)munmap(page, VEM_RING_SIZE);
}
