/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The libibverbs of vib_device.h: regions, of memory of this process and of a dmabuf. */
#include <errno.h>

#include "vib_device.h"

#undef ibv_reg_mr
struct ibv_mr *
ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr;

	int turn = device_verb();

	errno = device_of_process->reg_error != 0 ? device_of_process->reg_error : turn;
	/* As the kernel has it, a window is reason enough to pin for writing. */
	if (device_of_process->read_only &&
	    (access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)) != 0)
		errno = EFAULT;
	if (errno != 0)
		return NULL;
	mr = g_new0(struct ibv_mr, 1);
	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->lkey = ++device_of_process->last_key << 8;
	mr->rkey = mr->lkey;
	device_of_process->regions++;
	return mr;
}

#undef ibv_reg_mr_iova2
struct ibv_mr *
ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	device_of_process->reg_iova = iova;
	return (ibv_reg_mr)(pd, addr, length, (int)access);
}

/* Behind a condition that the inline function of verbs.h knows to be false, if it is optimized. */
#undef ibv_reg_mr_iova
struct ibv_mr *
ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

#ifdef VIB_HAVE_DMABUF
struct ibv_mr *
ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
		  int access)
{
	struct device *d = device_of_process;
	struct ibv_mr *mr;

	errno = fd < 0 ? d->dmabuf_probe : d->dmabuf_error;
	if (errno != 0)
		return NULL;
	d->dmabuf = (struct ri_dmabuf){.fd = fd, .offset = offset};
	d->dmabuf_addr = iova;
	d->dmabuf_access = (unsigned int)access;
	/* As libibverbs has it: the address is the offset. */
	mr = (ibv_reg_mr)(pd, (void *)(uintptr_t)offset, length, access);
	if (mr != NULL)
		mr->rkey += d->two_keys;
	return mr;
}
#endif

int
ibv_dereg_mr(struct ibv_mr *mr)
{
	device_of_process->regions--;
	g_free(mr);
	return 0;
}
