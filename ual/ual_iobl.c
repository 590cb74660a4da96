/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * I/O buffer lists: memory as a list of pieces, with the addresses that the adapter uses [IT 8.9].
 *
 * There are three kinds. Pages have one size, a power of two, and are aligned to it; blocks have one size and any
 * alignment; the pieces of the third kind have different sizes. The region begins `fbo` bytes into the first piece.
 * In absolute mode with pieces of one size, the offset of its address in a piece must be that of its first byte,
 * since hardware translates that way (RDMAC verbs 7.3). This file does not dereference addresses of the list; only
 * privileged processes may pass one.
 */

#include "ual_iobl.h"

#include <string.h>

it_iobl_type_t
ual_iobl_types(const struct ri_rnic_attr *attr)
{
	unsigned int types = 0;

	types |= attr->reg_page_list ? IT_IOBL_PAGE_LIST : 0;
	types |= attr->reg_block_list ? IT_IOBL_BLOCK_LIST : 0;
	types |= attr->reg_ve_list ? IT_IOBL_VE_PAGE_LIST : 0;
	return (it_iobl_type_t)types;
}

size_t
ual_iobl_most(const struct ri_rnic_attr *attr)
{
	return attr->max_pbl < UAL_IOBL_MAX ? attr->max_pbl : UAL_IOBL_MAX;
}

it_status_t
ual_iobl_read(const struct ual_ia *ia, const it_iobl_t *iobl, size_t room,
	      const struct ual_region *region, struct ual_pages *pages)
{
	unsigned int type = (unsigned int)iobl->iobl_type;
	unsigned int types = (unsigned int)ual_iobl_types(&ia->session.attr);
	bool one_size = iobl->iobl_type != IT_IOBL_VE_PAGE_LIST;
	it_length_t size = one_size ? iobl->list.ce_list.elt_len : 0;
	bool aligned = one_size && iobl->iobl_type != IT_IOBL_BLOCK_LIST;
	uint64_t octets = 0;

	if ((type & types) == 0 || (type & (type - 1)) != 0 || iobl->num_elts == 0 ||
	    iobl->num_elts > room || iobl->num_elts > UAL_IOBL_MAX)
		return IT_ERR_INVALID_IOBL;
	if (one_size ? iobl->list.ce_list.list_elt == NULL || size == 0 || size > UINT32_MAX ||
			       (aligned && (size & (size - 1)) != 0)
		     : iobl->list.ve_list.list_elt == NULL)
		return IT_ERR_INVALID_IOBL;
	pages->count = (uint32_t)iobl->num_elts;
	pages->size = (uint32_t)size;
	for (uint32_t i = 0; i < pages->count; i++) {
		uintptr_t addr = one_size ? (uintptr_t)iobl->list.ce_list.list_elt[i]
					  : (uintptr_t)iobl->list.ve_list.list_elt[i].io_addr;
		it_length_t length = one_size ? size : iobl->list.ve_list.list_elt[i].elt_len;

		if ((aligned && (addr & (size - 1)) != 0) || length == 0 || length > UINT32_MAX)
			return IT_ERR_INVALID_IOBL;
		pages->addrs[i] = addr;
		pages->lengths[i] = (uint32_t)length;
		octets += length;
	}
	if (iobl->fbo >= pages->lengths[0])
		return IT_ERR_INVALID_IOBL;
	pages->fbo = (uint32_t)iobl->fbo;
	if (region->addr_mode == IT_ADDR_MODE_ABSOLUTE && one_size &&
	    (uintptr_t)region->addr % pages->size != iobl->fbo)
		return IT_ERR_INVALID_IOBL;
	if (region->length == 0 || region->length > octets - iobl->fbo)
		return IT_ERR_INVALID_LENGTH;
	return IT_SUCCESS;
}

enum ri_status
ual_iobl_register(struct ual_ia *ia, const struct kal_mr_req *req, const struct ual_pages *pages,
		  struct kal_mr_rep *rep)
{
	struct {
		struct kal_mr_req req;
		uint8_t lists[UAL_IOBL_MAX * (sizeof(uint64_t) + sizeof(uint32_t))];
	} flat = {.req = *req};
	size_t addrs = pages->count * sizeof(pages->addrs[0]);
	size_t lengths = pages->size == 0 ? pages->count * sizeof(pages->lengths[0]) : 0;

	flat.req.page_size = pages->size;
	flat.req.fbo = pages->fbo;
	flat.req.num_pages = pages->count;
	flat.req.has_lengths = pages->size == 0;
	memcpy(flat.lists, pages->addrs, addrs);
	memcpy(flat.lists + addrs, pages->lengths, lengths);
	return session_call(&ia->session, KAL_MR_REG, &flat, sizeof(flat.req) + addrs + lengths,
			    rep, sizeof(*rep));
}
