/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * I/O buffer lists, seen from inside ual/ [IT 8.9].
 */
#ifndef UAL_IOBL_H
#define UAL_IOBL_H

#include "ual_mem.h"

/* Most pieces of a list, whatever the adapter allows: a link copies it to the stack. */
#define UAL_IOBL_MAX 256

/* A list in the form of the kAL. */
struct ual_pages {
	uint32_t count;
	uint32_t size; /* of each piece; 0: see lengths */
	uint32_t fbo;
	uint64_t addrs[UAL_IOBL_MAX];
	uint32_t lengths[UAL_IOBL_MAX]; /* only if `size` is 0 */
};

/* The region for which a list is read. */
struct ual_region {
	const void *addr;
	it_length_t length;
	it_addr_mode_t addr_mode;
};

/* Shapes of lists that an adapter takes. */
it_iobl_type_t ual_iobl_types(const struct ri_rnic_attr *attr);
/* Most pieces of a list that it takes. */
size_t ual_iobl_most(const struct ri_rnic_attr *attr);
/*
 * Read a list of at most `room` pieces. IT_ERR_INVALID_IOBL, or IT_ERR_INVALID_LENGTH if the region is
 * empty or longer than the list.
 */
it_status_t ual_iobl_read(const struct ual_ia *ia, const it_iobl_t *iobl, size_t room,
			  const struct ual_region *region, struct ual_pages *pages);
/* KAL_MR_REG with a list. */
enum ri_status ual_iobl_register(struct ual_ia *ia, const struct kal_mr_req *req,
				 const struct ual_pages *pages,
				 struct kal_mr_rep *rep) RI_MUST_CHECK;

#endif /* UAL_IOBL_H */
