/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Calls on memory: regions, windows, address handles, and what is mapped for privileged clients.
 *
 * A registration makes all pages of its range present, which may take seconds for many GiB. So the verb runs apart, without
 * the client's lock, after the limits were checked: the account has the bytes, and the zone one more child.
 */
#include <stdlib.h>
#include <string.h>

#include "kal_check.h"
#include "kal_objects.h"

/* An I/O address is at the same place of a page of this size as the memory, since devices map pages. */
#define KAL_PAGE UINT64_C(4096)

static bool
is_invalid(const struct kal_mr_req *in)
{
	return kal_flag_is_invalid(in->zero_based) || kal_flag_is_invalid(in->shareable) ||
	       kal_flag_is_invalid(in->unlinked) || kal_flag_is_invalid(in->has_lengths) ||
	       kal_access_is_invalid(in->access) || kal_flag_is_invalid(in->iova_given) ||
	       kal_flag_is_invalid(in->keep_stag) || in->reserved != 0 ||
	       (in->iova_given ? in->zero_based != 0 || in->iova + in->length < in->iova ||
					 ((in->iova ^ in->addr) & (KAL_PAGE - 1)) != 0
			       : in->iova != 0);
}

/* Convert the flat request to the struct of the verb. False: a value is invalid, or the sizes of its lists are wrong. */
static bool
mr_init_of(const struct kal_mr_req *in, const struct kal_msg *msg, struct ri_mr_init *init)
{
	const uint8_t *more = (const uint8_t *)(in + 1);
	size_t room = msg->req_len - sizeof(*in);
	size_t pages = (size_t)in->num_pages * sizeof(uint64_t);
	size_t lengths = in->has_lengths ? (size_t)in->num_pages * sizeof(uint32_t) : 0;

	if (is_invalid(in) || in->num_pages > KAL_MESSAGE_MAX / sizeof(uint64_t) ||
	    room != pages + lengths)
		return false;
	memset(init, 0, sizeof(*init));
	init->addr = in->addr;
	init->length = in->length;
	init->access = in->access;
	init->zero_based = in->zero_based != 0;
	init->key = in->key;
	init->shareable = in->shareable != 0;
	init->unlinked = in->unlinked != 0;
	init->max_pages = in->max_pages;
	init->page_size = in->page_size;
	init->fbo = in->fbo;
	init->iova_given = in->iova_given != 0;
	init->iova = in->iova;
	init->keep_stag = in->keep_stag != 0;
	if (in->num_pages > 0) {
		init->max_pages = in->num_pages;
		init->pages = (const uint64_t *)(const void *)more;
	}
	if (lengths > 0)
		init->lengths = (const uint32_t *)(const void *)(more + pages);
	return true;
}

/* Lists and reserved keys are privileged [IT 8.9]. */
static enum ri_status
may_register(struct kal_client *client, const struct kal_rnic *rnic, const struct ri_mr_init *init)
{
	const struct ri_rnic_attr *attr = &rnic->attr;

	if (init->length > attr->max_mr_length)
		return RI_ERR_LIMIT;
	if (init->iova_given && (!attr->iova || init->pages != NULL || init->unlinked))
		return RI_ERR_UNSUPPORTED;
	/* An ordinary region may request room for a list, too, which the provider allocates. */
	if (init->pages == NULL && !init->unlinked)
		return init->max_pages > attr->max_pbl ? RI_ERR_LIMIT : RI_SUCCESS;
	if (init->unlinked ? !attr->fast_register
			   : !(init->lengths != NULL ? attr->reg_ve_list
						     : attr->reg_page_list || attr->reg_block_list))
		return RI_ERR_UNSUPPORTED;
	if (init->max_pages > attr->max_pbl)
		return RI_ERR_LIMIT;
	return client->privileged ? RI_SUCCESS : RI_ERR_PERMISSION;
}

/* from: the dmabuf, or NULL. The zone counts the region as a child already. */
static enum ri_status
make_mr(struct kal_client *client, struct kal_mr *mr, const struct ri_mr_init *init,
	const struct ri_dmabuf *from, uint32_t *stag)
{
	const struct ri_caller *caller = &mr->pd->rnic->caller;
	enum ri_status status;

	kal_apart_begin(client);
	status = from == NULL
			 ? ri_call_mr_reg(caller, mr->pd->pd, init, &mr->mr, stag)
			 : ri_call_mr_reg_dmabuf(caller, mr->pd->pd, init, from, &mr->mr, stag);
	kal_apart_end(client);
	/* Its place was counted until here; kal_object_add counts it again. */
	kal_account_give(&client->account, kal_resource_of(RI_OBJECT_MR), 1);
	if (status != RI_SUCCESS)
		return status;
	if (kal_object_add(client, RI_OBJECT_MR, &mr->object) != 0)
		return RI_SUCCESS;
	(void)!ri_call_mr_dereg(caller, mr->mr);
	return RI_ERR_RESOURCES;
}

/* Register what was checked, and count its bytes. */
static enum ri_status
mr_add(struct kal_client *client, struct kal_pd *pd, const struct ri_mr_init *init,
       const struct ri_dmabuf *from, struct kal_mr_rep *out)
{
	g_autofree struct kal_mr *mr = calloc(1, sizeof(*mr));
	enum ri_status status = RI_ERR_RESOURCES;

	if (mr != NULL)
		status = kal_account_take(&client->account, KAL_RESOURCE_MEMORY, init->length);
	if (status != RI_SUCCESS)
		return status;
	status = kal_account_take(&client->account, kal_resource_of(RI_OBJECT_MR), 1);
	if (status == RI_SUCCESS) {
		mr->pd = pd;
		mr->length = init->length;
		pd->object.children++;
		status = make_mr(client, mr, init, from, &out->stag);
		if (status != RI_SUCCESS)
			pd->object.children--;
	}
	if (status != RI_SUCCESS) {
		kal_account_give(&client->account, KAL_RESOURCE_MEMORY, init->length);
		return status;
	}
	out->id = g_steal_pointer(&mr)->object.id;
	return RI_SUCCESS;
}

static enum ri_status
mr_reg(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_mr_req *in = req;
	struct kal_pd *pd = kal_object_get(client, in->id, RI_OBJECT_PD);
	struct ri_mr_init init;
	enum ri_status status;

	if (pd == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (!mr_init_of(in, msg, &init) || init.keep_stag)
		return RI_ERR_INVALID_ARG;
	status = may_register(client, pd->rnic, &init);
	return status == RI_SUCCESS ? mr_add(client, pd, &init, NULL, rep) : status;
}

static enum ri_status
mr_reg_dmabuf(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_dmabuf_req *in = req;
	struct kal_pd *pd = kal_object_get(client, in->pd, RI_OBJECT_PD);
	const struct ri_dmabuf from = {.fd = msg->fd, .offset = in->offset};
	const struct ri_mr_init init = {.addr = in->addr,
					.length = in->length,
					.access = in->access,
					.key = in->key,
					.shareable = in->shareable == 1};

	if (pd == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (kal_flag_is_invalid(in->shareable) || kal_access_is_invalid(in->access) ||
	    in->reserved != 0 || in->reserved2 != 0)
		return RI_ERR_INVALID_ARG;
	if (!pd->rnic->attr.dmabuf)
		return RI_ERR_UNSUPPORTED;
	if (msg->fd < 0)
		return RI_ERR_INVALID_ARG;
	if (init.length > pd->rnic->attr.max_mr_length)
		return RI_ERR_LIMIT;
	return mr_add(client, pd, &init, &from, rep);
}

static enum ri_status
mr_rereg(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_mr_req *in = req;
	struct kal_mr_rep *out = rep;
	struct kal_mr *mr;
	struct kal_pd *pd;
	struct ri_mr_init init;
	enum ri_status status;

	while ((mr = kal_object_get(client, in->id, RI_OBJECT_MR)) != NULL && mr->changing)
		kal_apart_wait(client);
	if (mr == NULL)
		return RI_ERR_INVALID_HANDLE;
	pd = in->pd != 0 ? kal_object_get(client, in->pd, RI_OBJECT_PD) : mr->pd;
	if (pd == NULL || pd->rnic != mr->pd->rnic)
		return RI_ERR_INVALID_HANDLE;
	if (!pd->rnic->attr.reregister)
		return RI_ERR_UNSUPPORTED;
	if (!mr_init_of(in, msg, &init))
		return RI_ERR_INVALID_ARG;
	status = may_register(client, pd->rnic, &init);
	if (status == RI_SUCCESS)
		status = kal_account_take(&client->account, KAL_RESOURCE_MEMORY, init.length);
	if (status != RI_SUCCESS)
		return status;
	mr->changing = true;
	mr->object.children++; /* so no call destroys it; its own zone has it as a child */
	pd->object.children++;
	kal_apart_begin(client);
	status = ri_call_mr_rereg(&pd->rnic->caller, mr->mr, pd->pd, &init, &out->stag);
	kal_apart_end(client);
	mr->changing = false;
	mr->object.children--;
	/* Old and new range were counted together; give back the one that is not registered. */
	kal_account_give(&client->account, KAL_RESOURCE_MEMORY,
			 status == RI_SUCCESS ? mr->length : init.length);
	if (status != RI_SUCCESS) {
		pd->object.children--;
		return status;
	}
	mr->length = init.length;
	mr->pd->object.children--;
	mr->pd = pd;
	out->id = in->id;
	return RI_SUCCESS;
}

static enum ri_status
mr_query(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	struct kal_mr *mr =
		kal_object_get(client, ((const struct kal_id_req *)req)->id, RI_OBJECT_MR);

	(void)msg;
	if (mr == NULL)
		return RI_ERR_INVALID_HANDLE;
	return ri_call_mr_query(&mr->pd->rnic->caller, mr->mr, rep);
}

static enum ri_status
mw_alloc(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_mw_req *in = req;
	struct kal_mr_rep *out = rep;
	struct kal_pd *pd = kal_object_get(client, in->pd, RI_OBJECT_PD);
	g_autofree struct kal_mw *mw = calloc(1, sizeof(*mw));
	enum ri_status status;
	bool wide = in->type == RI_MW_WIDE;

	(void)msg;
	if (pd == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (in->type > RI_MW_WIDE)
		return RI_ERR_INVALID_ARG;
	if (wide ? !pd->rnic->attr.mw_wide : !pd->rnic->attr.mw_narrow)
		return RI_ERR_UNSUPPORTED;
	if (mw == NULL)
		return RI_ERR_RESOURCES;
	status = ri_call_mw_alloc(&pd->rnic->caller, pd->pd, (enum ri_mw_type)in->type, &mw->mw,
				  &out->stag);
	if (status != RI_SUCCESS)
		return status;
	mw->pd = pd;
	if (kal_object_add(client, RI_OBJECT_MW, &mw->object) == 0) {
		(void)!ri_call_mw_free(&pd->rnic->caller, mw->mw);
		return RI_ERR_RESOURCES;
	}
	pd->object.children++;
	out->id = g_steal_pointer(&mw)->object.id;
	return RI_SUCCESS;
}

static enum ri_status
mw_query(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	struct kal_mw *mw =
		kal_object_get(client, ((const struct kal_id_req *)req)->id, RI_OBJECT_MW);

	(void)msg;
	if (mw == NULL)
		return RI_ERR_INVALID_HANDLE;
	return ri_call_mw_query(&mw->pd->rnic->caller, mw->mw, rep);
}

static bool
ah_is_invalid(const struct kal_ah_req *in)
{
	return in->reserved != 0 || kal_addr_is_invalid(&in->init.dest) ||
	       kal_addr_is_invalid(&in->init.source);
}

static enum ri_status
ah_create(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_ah_req *in = req;
	struct kal_ah_rep *out = rep;
	struct kal_pd *pd = kal_object_get(client, in->id, RI_OBJECT_PD);
	g_autofree struct kal_ah *ah = calloc(1, sizeof(*ah));
	enum ri_status status;

	(void)msg;
	if (pd == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (!pd->rnic->attr.ud)
		return RI_ERR_UNSUPPORTED;
	if (ah_is_invalid(in))
		return RI_ERR_INVALID_ARG;
	if (ah == NULL)
		return RI_ERR_RESOURCES;
	status = ri_call_ah_create(&pd->rnic->caller, pd->pd, &in->init, &ah->ah, &out->ah);
	if (status != RI_SUCCESS)
		return status;
	ah->pd = pd;
	if (kal_object_add(client, RI_OBJECT_AH, &ah->object) == 0) {
		(void)!ri_call_ah_destroy(&pd->rnic->caller, ah->ah);
		return RI_ERR_RESOURCES;
	}
	pd->object.children++;
	out->id = g_steal_pointer(&ah)->object.id;
	return RI_SUCCESS;
}

static enum ri_status
ah_modify(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_ah_req *in = req;
	struct kal_ah *ah = kal_object_get(client, in->id, RI_OBJECT_AH);

	(void)rep;
	(void)msg;
	if (ah == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (ah_is_invalid(in))
		return RI_ERR_INVALID_ARG;
	return ri_call_ah_modify(&ah->pd->rnic->caller, ah->ah, &in->init);
}

static enum ri_status
mem_map(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_mem_map_req *in = req;
	struct kal_rnic *rnic = kal_object_get(client, in->rnic, RI_OBJECT_RNIC);

	(void)msg;
	if (in->reserved != 0)
		return RI_ERR_INVALID_ARG;
	return rnic != NULL ? kal_mem_map(rnic, in, rep) : RI_ERR_INVALID_HANDLE;
}

static enum ri_status
mem_unmap(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_mem_map_req *in = req;
	struct kal_rnic *rnic = kal_object_get(client, in->rnic, RI_OBJECT_RNIC);

	(void)rep;
	(void)msg;
	if (in->reserved != 0)
		return RI_ERR_INVALID_ARG;
	return rnic != NULL ? kal_mem_unmap(rnic, in) : RI_ERR_INVALID_HANDLE;
}

const struct kal_handler kal_mem_handlers[KAL_CALL_COUNT] = {
	[KAL_MR_REG] = {mr_reg, sizeof(struct kal_mr_req), sizeof(struct kal_mr_rep), true},
	[KAL_MR_REG_DMABUF] = {mr_reg_dmabuf, sizeof(struct kal_dmabuf_req),
			       sizeof(struct kal_mr_rep), false},
	[KAL_MR_REREG] = {mr_rereg, sizeof(struct kal_mr_req), sizeof(struct kal_mr_rep), true},
	[KAL_MR_QUERY] = {mr_query, sizeof(struct kal_id_req), sizeof(struct ri_mr_attr), false},
	[KAL_MW_ALLOC] = {mw_alloc, sizeof(struct kal_mw_req), sizeof(struct kal_mr_rep), false},
	[KAL_MW_QUERY] = {mw_query, sizeof(struct kal_id_req), sizeof(struct ri_mr_attr), false},
	[KAL_AH_CREATE] = {ah_create, sizeof(struct kal_ah_req), sizeof(struct kal_ah_rep), false},
	[KAL_AH_MODIFY] = {ah_modify, sizeof(struct kal_ah_req), 0, false},
	[KAL_MEM_MAP] = {mem_map, sizeof(struct kal_mem_map_req), sizeof(struct kal_mem_map_rep),
			 false},
	[KAL_MEM_UNMAP] = {mem_unmap, sizeof(struct kal_mem_map_req), 0, false},
};
