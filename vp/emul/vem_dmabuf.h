/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The memory of a dmabuf, mapped into this process [RI 5.8]; vem_dmabuf.c. */
#ifndef VEM_DMABUF_H
#define VEM_DMABUF_H

#include "vem.h"

/* As ri_mem_ops::mr_reg_dmabuf. */
enum ri_status vem_dmabuf_reg(struct ri_pd *ri, const struct ri_mr_init *init,
			      const struct ri_dmabuf *from, struct ri_mr **out,
			      uint32_t *stag) RI_MUST_CHECK;

#endif /* VEM_DMABUF_H */
