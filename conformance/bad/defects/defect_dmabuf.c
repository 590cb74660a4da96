/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Regions of a dmabuf [RI 5.8]. The wrong claim of them is in defect_claims.c. */
#include <unistd.h>

#include "defect.h"

#define PAGE 4096u

static enum ri_status
start_reg(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	  struct ri_mr **out, uint32_t *stag)
{
	struct ri_dmabuf other = *from;

	other.offset %= PAGE;
	return wrap_plain_mem_ops.mr_reg_dmabuf(pd, init, &other, out, stag);
}

static enum ri_status
taking_reg(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	   struct ri_mr **out, uint32_t *stag)
{
	enum ri_status status = wrap_plain_mem_ops.mr_reg_dmabuf(pd, init, from, out, stag);

	if (status == RI_SUCCESS)
		(void)close(from->fd);
	return status;
}

static enum ri_status
generous_reg(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	     struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;

	other.access |= RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE;
	return wrap_plain_mem_ops.mr_reg_dmabuf(pd, &other, from, out, stag);
}

/* The region has the page that its last byte is in as a whole. */
static enum ri_status
whole_reg(struct ri_pd *pd, const struct ri_mr_init *init, const struct ri_dmabuf *from,
	  struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;
	uint64_t end = from->offset + init->length;

	other.length += (PAGE - end % PAGE) % PAGE;
	if (init->length == 0 ||
	    wrap_plain_mem_ops.mr_reg_dmabuf(pd, &other, from, out, stag) != RI_SUCCESS)
		return wrap_plain_mem_ops.mr_reg_dmabuf(pd, init, from, out, stag);
	return RI_SUCCESS;
}

const struct defect defects_dmabuf[] = {
	DEFECT("dmabuf-start", "a region of a dmabuf begins in its first page",
	       "The offset in the dmabuf counts modulo the size of a page.", NEED_DMABUF,
	       ENTRIES(.mem.mr_reg_dmabuf = start_reg)),
	DEFECT("dmabuf-taken", "the descriptor of a dmabuf is taken",
	       "A registration closes the descriptor, which stays the caller's.", NEED_DMABUF,
	       ENTRIES(.mem.mr_reg_dmabuf = taking_reg)),
	DEFECT("dmabuf-rights", "a region of a dmabuf has more rights",
	       "Local rights are granted whatever was asked for.", NEED_DMABUF,
	       ENTRIES(.mem.mr_reg_dmabuf = generous_reg)),
	DEFECT("dmabuf-whole", "a region of a dmabuf reaches to the end of its page",
	       "The length is rounded up to the end of the last page.", NEED_DMABUF,
	       ENTRIES(.mem.mr_reg_dmabuf = whole_reg)),
};

const size_t defects_dmabuf_count = sizeof(defects_dmabuf) / sizeof(defects_dmabuf[0]);
