/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The memory of a dmabuf, mapped into this process [RI 5.8]; vem_dmabuf.c. */
#ifndef VEM_DMABUF_H
#define VEM_DMABUF_H

#include <stddef.h>

#include "rnicpi.h"

/* A mapping of whole pages; without bytes it is none. */
struct vem_mapping {
	void *pages;
	size_t bytes;
};

/* Map the memory of a registration; *first is where its first byte is. */
enum ri_status vem_dmabuf_map(const struct ri_mr_init *init, const struct ri_dmabuf *from,
			      struct vem_mapping *map, uint8_t **first) RI_MUST_CHECK;
void vem_dmabuf_unmap(const struct vem_mapping *map);

#endif /* VEM_DMABUF_H */
