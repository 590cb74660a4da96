/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions of a dmabuf: memory that another driver exports, such as that of an accelerator. Control path.
 *
 * No attribute of a device shows whether the kernel, libibverbs and the driver support that. So the call is tried once, with
 * an invalid descriptor: without support it fails with EOPNOTSUPP or EPROTONOSUPPORT before it looks at the descriptor, with
 * support it fails with EBADF.
 *
 * The kernel takes the buffer by its descriptor and keeps it until the region is destroyed. Nothing is mapped into the
 * process, and no page counts against the limit of locked memory.
 */
#include "vib_dmabuf.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vib_objects.h"

/* NULL and errno: it cannot be registered. */
static struct ibv_mr *
device_reg(struct ibv_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from)
{
	errno = 0;
#ifdef VIB_HAVE_DMABUF
	return ibv_reg_dmabuf_mr(pd, from->offset, init->length, init->addr, from->fd,
				 (int)vib_access(init->access));
#else
	(void)pd;
	(void)init;
	(void)from;
	errno = EOPNOTSUPP; /* libibverbs is older than that */
	return NULL;
#endif
}

bool
vib_dmabuf_works(struct ibv_context *verbs)
{
	const struct ri_mr_init init = {.length = (uint64_t)sysconf(_SC_PAGESIZE)};
	const struct ri_dmabuf from = {.fd = -1};
	struct ibv_pd *pd = ibv_alloc_pd(verbs);
	struct ibv_mr *mr;
	int error;

	if (pd == NULL)
		return false;
	mr = device_reg(pd, &init, &from);
	error = errno;
	if (mr != NULL)
		(void)ibv_dereg_mr(mr);
	(void)ibv_dealloc_pd(pd);
	return mr == NULL && error == EBADF;
}

static enum ri_status
failure(const struct ri_rnic *rnic, int error)
{
	if (error == EACCES || error == EPERM)
		return RI_ERR_ACCESS;
	if (error == EBADF || error == EINVAL)
		return RI_ERR_INVALID_ARG;
	return vib_failure(rnic, error);
}

enum ri_status
vib_dmabuf_reg(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	       struct ibv_mr **out)
{
	/* The range is in the buffer, and address and offset are at the same place of a page, as the device's pages are. */
	uint64_t within = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	struct stat st;

	if (((init->addr ^ from->offset) & within) != 0 || fstat(from->fd, &st) != 0)
		return RI_ERR_INVALID_ARG;
	/* What has no size is no dmabuf, as the kernel will say. */
	if (st.st_size > 0 && (from->offset > (uint64_t)st.st_size ||
			       init->length > (uint64_t)st.st_size - from->offset))
		return RI_ERR_ADDRESS;
	*out = device_reg(pd->pd, init, from);
	return *out != NULL ? RI_SUCCESS : failure(pd->context->rnic, errno);
}
