/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Example of a reference page: memory of another device; see calls.c. A memfd stands for what an accelerator exports, which
 * the emulated adapters take.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"

#define LENGTH 65536 /* bytes; whole pages everywhere */

/* [itx_lmr_create_dmabuf] */
static it_lmr_handle_t
exported_register(const struct side *side, int dmabuf, size_t length, it_rmr_context_t *context)
{
	it_lmr_handle_t lmr;
	uint64_t support;

	MUST(itx_ia_query_support(side->ia, &support));
	if ((support & ITX_SUPPORT_DMABUF) == 0)
		return IT_NULL_HANDLE; /* then data go through memory of the process */
	/* All of it; peers name its bytes by addresses from 0 on. */
	MUST(itx_lmr_create_dmabuf(side->pz, dmabuf, 0, length, NULL,
				   IT_PRIV_LOCAL | IT_PRIV_REMOTE, IT_LMR_FLAG_NONE, &lmr,
				   context));
	return lmr;
}
/* [itx_lmr_create_dmabuf] */

void
exported_show(const struct side *side)
{
	int fd = memfd_create("exported", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	it_rmr_context_t context;
	it_lmr_handle_t lmr;

	HOLDS(fd >= 0 && ftruncate(fd, LENGTH) == 0);
	HOLDS(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	lmr = exported_register(side, fd, LENGTH, &context);
	close(fd); /* the region keeps the memory */
	if (lmr != IT_NULL_HANDLE)
		MUST(it_lmr_free(lmr));
}
