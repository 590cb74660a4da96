/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Operations of privileged consumers [IT 8.9]: regions without memory, links and unlinks of memory, I/O addresses, the
 * direct LMR. The kAL decided when the adapter was opened whether the process is privileged.
 *
 * A link is posted, so everything that can be checked is checked now: the list is read in
 * full and copied before the post. The region's new key follows the last one (struct ual_octets); from the post on the handle
 * stands for it, on the same endpoint at once, since later requests wait for the link. So the handle is
 * changed before the post, and changed back if the post fails: a thread that takes the completion finds the change.
 */

#include "ual.h"
#include "ual_ep.h"
#include "ual_iobl.h"
#include "ual_status.h"

#define LINK_FLAGS \
	(IT_COMPLETION_FLAG | IT_NOTIFY_FLAG | IT_BARRIER_FENCE_FLAG | IT_COALESCE_WR_FLAG)

_Static_assert((int)IT_UNLINK_FENCE_FLAG == (int)RI_WR_LOCAL_FENCE, "same bit");

/* --- the direct LMR ----------------------------------------------------------------------- */

static void
direct_destroy(struct ual_object *object)
{
	struct ual_lmr *lmr = (struct ual_lmr *)object;

	object->ia->direct = NULL;
	pthread_mutex_destroy(&lmr->modify);
	pthread_mutex_destroy(&lmr->lock);
	ual_object_delete(object);
}

bool
ual_direct_make(struct ual_ia *ia)
{
	struct ual_lmr *lmr;

	if (!ia->session.attr.direct_stag || !ia->privileged)
		return true;
	lmr = (struct ual_lmr *)ual_object_new(UAL_LMR, ia, &ia->objects);
	if (lmr == NULL)
		return false;
	lmr->object.destroy = direct_destroy;
	lmr->direct = true;
	lmr->privs = IT_PRIV_LOCAL;
	lmr->flags = IT_LMR_FLAG_NONE;
	pthread_mutex_init(&lmr->modify, NULL);
	pthread_mutex_init(&lmr->lock, NULL);
	ia->direct = lmr;
	(void)ual_object_publish(&lmr->object);
	return true;
}

/* --- links -------------------------------------------------------------------------------- */

/* Can it be unlinked and linked? Only by a process that may use lists. */
static bool
lmr_linkable(const struct ual_lmr *lmr)
{
	return lmr->object.ia->session.attr.fast_register && lmr->iobl_room > 0;
}

/* The checks of both directions, after the handles. */
static it_status_t
check_post(const struct ual_lmr *lmr, const struct ual_ep *ep)
{
	if (lmr->object.ia != ep->object.ia)
		return IT_ERR_INVALID_EP;
	if (ep->ud)
		return IT_ERR_INVALID_EP_TYPE;
	return ep->privileged ? IT_SUCCESS : IT_ERR_PRIV_OPS_UNAVAILABLE;
}

static it_status_t
check_flags(const struct ual_ep *ep, it_dto_flags_t flags, unsigned int allowed)
{
	if (((unsigned int)flags & ~allowed) != 0)
		return IT_ERR_INVALID_DTO_FLAGS;
	return atomic_load(&ep->state) >= UAL_EPS_CONNECTED ? IT_SUCCESS : IT_ERR_INVALID_EP_STATE;
}

/* What a link changes of a region. */
struct identity {
	uint32_t stag;
	unsigned char *addr;
	it_length_t length;
	it_addr_mode_t addr_mode;
	it_mem_priv_t privs;
	it_iobl_type_t iobl_type;
};

/* Set the identity; returns the earlier one. */
static struct identity
identity_swap(struct ual_lmr *lmr, const struct identity *fresh)
{
	struct identity before;

	pthread_mutex_lock(&lmr->lock);
	before = (struct identity){.stag = ual_lmr_stag(lmr),
				   .addr = lmr->addr,
				   .length = lmr->length,
				   .addr_mode = (it_addr_mode_t)atomic_load(&lmr->addr_mode),
				   .privs = lmr->privs,
				   .iobl_type = lmr->iobl_type};
	ual_key_renew(&lmr->key, fresh->stag);
	atomic_store(&lmr->addr_mode, (unsigned int)fresh->addr_mode);
	lmr->addr = fresh->addr;
	lmr->length = fresh->length;
	lmr->privs = fresh->privs;
	lmr->iobl_type = fresh->iobl_type;
	pthread_mutex_unlock(&lmr->lock);
	return before;
}

static it_status_t
post_link(struct ual_lmr *lmr, struct ual_ep *ep, const struct ual_lmr_link *link,
	  const struct ual_pages *pages)
{
	bool relative = link->addr_mode == IT_ADDR_MODE_RELATIVE;
	const struct identity fresh = {.stag = ual_octets_step(&lmr->octets, ual_lmr_stag(lmr)),
				       .addr = (unsigned char *)(uintptr_t)link->addr,
				       .length = link->length,
				       .addr_mode = link->addr_mode,
				       .privs = link->privs,
				       .iobl_type = link->iobl->iobl_type};
	const struct ri_wr wr = {
		.wr_id = link->cookie,
		.opcode = RI_OP_FAST_REG,
		.flags = (uint32_t)link->flags | (relative ? (uint32_t)RI_WR_BIND_RELATIVE : 0),
		.u.fast_reg =
			{
				.stag = fresh.stag,
				.access = ual_lmr_access(ep->object.ia, link->privs),
				.addr = (uintptr_t)link->addr,
				.length = link->length,
				.pages = pages->addrs,
				.num_pages = pages->count,
				.page_size = pages->size,
				.fbo = pages->fbo,
				.lengths = pages->size == 0 ? pages->lengths : NULL,
			},
	};
	struct identity before = identity_swap(lmr, &fresh);
	enum ri_status status = ual_dto_post(ep, &wr);

	if (status == RI_SUCCESS) {
		atomic_store(&lmr->listed, true);
		return IT_SUCCESS;
	}
	(void)identity_swap(lmr, &before);
	return ual_status(UAL_CALL_POST_SEND, status);
}

it_status_t
ual_lmr_link(struct ual_lmr *lmr, struct ual_ep *ep, const struct ual_lmr_link *link,
	     it_rmr_context_t *context)
{
	const struct ual_region region = {
		.addr = link->addr, .length = link->length, .addr_mode = link->addr_mode};
	const struct ual_ia *ia = lmr->object.ia;
	it_status_t status = check_post(lmr, ep);
	struct ual_pages pages;

	if (status == IT_ERR_INVALID_EP || status == IT_ERR_INVALID_EP_TYPE)
		return status;
	if (!lmr_linkable(lmr))
		return IT_ERR_OP_NOT_SUPPORTED;
	if (status == IT_SUCCESS)
		status = ual_iobl_read(ia, link->iobl, lmr->iobl_room, &region, &pages);
	if (status != IT_SUCCESS)
		return status;
	if (!ual_lmr_mode_valid(ia, link->addr_mode))
		return IT_ERR_INVALID_ADDR_MODE;
	if (!ual_lmr_privs_valid(link->privs))
		return IT_ERR_INVALID_PRIVS;
	status = check_flags(ep, link->flags, LINK_FLAGS);
	if (status == IT_SUCCESS)
		status = post_link(lmr, ep, link, &pages);
	if (status == IT_SUCCESS)
		*context = ual_lmr_stag(lmr);
	return status;
}

/* Is an RMR linked to it? */
static bool
has_windows(struct ual_lmr *lmr)
{
	struct kal_id_req req = {.id = lmr->mr_id};
	struct ri_mr_attr attr;

	return session_call(&lmr->object.ia->session, KAL_MR_QUERY, &req, sizeof(req), &attr,
			    sizeof(attr)) == RI_SUCCESS &&
	       attr.bound > 0;
}

it_status_t
ual_lmr_unlink(struct ual_lmr *lmr, struct ual_ep *ep, it_dto_cookie_t cookie, it_dto_flags_t flags)
{
	unsigned int allowed = LINK_FLAGS;
	const struct ri_wr wr = {.wr_id = cookie,
				 .opcode = RI_OP_INV_MR,
				 .flags = (uint32_t)flags,
				 .inv_stag = ual_lmr_stag(lmr)};
	it_status_t status = check_post(lmr, ep);

	if (status == IT_ERR_INVALID_EP || status == IT_ERR_INVALID_EP_TYPE)
		return status;
	if (!lmr_linkable(lmr))
		return IT_ERR_OP_NOT_SUPPORTED;
	if (ep->object.ia->session.attr.local_fence)
		allowed |= IT_UNLINK_FENCE_FLAG;
	if (status == IT_SUCCESS)
		status = check_flags(ep, flags, allowed);
	if (status != IT_SUCCESS)
		return status;
	if (has_windows(lmr))
		return IT_ERR_LMR_BUSY;
	return ual_status(UAL_CALL_POST_SEND, ual_dto_post(ep, &wr));
}

/* --- I/O addresses ------------------------------------------------------------------------ */

it_status_t
ual_mem_map(struct ual_ia *ia, const void *addr, uint64_t aspace, size_t len, it_io_addr_t *io_addr,
	    size_t *mapped)
{
	struct kal_mem_map_req req = {
		.rnic = ia->session.rnic, .aspace = aspace, .addr = (uintptr_t)addr, .length = len};
	struct kal_mem_map_rep rep;
	enum ri_status status;

	if (ia->session.attr.privileged_ops && ia->privileged && len == 0)
		return IT_ERR_INVALID_LENGTH;
	status = session_call(&ia->session, KAL_MEM_MAP, &req, sizeof(req), &rep, sizeof(rep));
	if (status != RI_SUCCESS)
		return ual_status(UAL_CALL_MEM_MAP, status);
	*io_addr = (it_io_addr_t)(uintptr_t)rep.io_addr;
	*mapped = (size_t)rep.length;
	return IT_SUCCESS;
}

it_status_t
ual_mem_unmap(struct ual_ia *ia, it_io_addr_t io_addr, size_t len)
{
	struct kal_mem_map_req req = {
		.rnic = ia->session.rnic, .addr = (uintptr_t)io_addr, .length = len};

	return ual_status(UAL_CALL_MEM_UNMAP,
			  session_call(&ia->session, KAL_MEM_UNMAP, &req, sizeof(req), NULL, 0));
}
