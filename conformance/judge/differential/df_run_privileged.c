/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Regions: ranges, buffer lists, and links of reserved ones [IT 8.9]. */
#include <string.h>

#include "df_list.h"
#include "df_run.h"

/* A list as a call takes it. */
struct list {
	it_iobl_t iobl;
	it_io_addr_t start[DF_PIECES];
	it_iobl_ve_elt_t each[DF_PIECES];
};

/* Without the privilege there are no I/O addresses, and the call is refused. */
static void
list_make(const struct world_node *node, const struct df_step *step, struct list *list)
{
	struct df_pieces pieces = df_pieces_of((enum df_list)step->list, step->off, step->len);
	uintptr_t base = node->io != NULL ? (uintptr_t)node->io : (uintptr_t)node->arena;

	memset(list, 0, sizeof(*list));
	for (int i = 0; i < pieces.count; i++) {
		void *at = (void *)(base + (uintptr_t)pieces.at[i]);

		list->start[i] = (it_io_addr_t)at;
		list->each[i].io_addr = (it_io_addr_t)at;
		list->each[i].elt_len = (it_length_t)pieces.len[i];
	}
	list->iobl.num_elts = (size_t)pieces.count;
	list->iobl.fbo = (it_length_t)pieces.first;
	list->iobl.iobl_type = step->list == DF_BLOCKS ? IT_IOBL_BLOCK_LIST : IT_IOBL_PAGE_LIST;
	if (pieces.size == 0) {
		list->iobl.iobl_type = IT_IOBL_VE_PAGE_LIST;
		list->iobl.list.ve_list.list_elt = list->each;
	} else {
		list->iobl.list.ce_list.list_elt = list->start;
		list->iobl.list.ce_list.elt_len = (it_length_t)pieces.size;
	}
}

static int
place_of(const struct df_step *step)
{
	return step->list != DF_RANGE ? DF_ARENA + step->off : step->off;
}

it_status_t
run_lmr_create(struct df_run *run, const struct df_step *step)
{
	const struct world_node *node = &run->world->node[df_node(step->obj)];
	struct world_key *key = &run->world->lmr[step->obj];
	it_rmr_context_t context = 0;
	it_lmr_handle_t lmr = NULL;
	struct list list;
	it_status_t status;

	list_make(node, step, &list);
	status = it_lmr_create21(run->world->pz[step->pz], node->arena + place_of(step),
				 step->list != DF_RANGE ? &list.iobl : NULL, (it_length_t)step->len,
				 (it_addr_mode_t)step->mode, (it_mem_priv_t)step->privs,
				 step->how == 0 ? IT_LMR_FLAG_NONE : IT_LMR_FLAG_NON_SHAREABLE, 0,
				 &lmr, &context);
	if (status != IT_SUCCESS)
		return status;
	key->handle = (it_handle_t)lmr;
	run_key_takes(key, context, run_base_of(run, step, place_of(step)));
	run->lmr_off[step->obj] = place_of(step);
	return status;
}

it_status_t
run_lmr_reserve(struct df_run *run, const struct df_step *step)
{
	struct world_key *key = &run->world->lmr[step->obj];
	it_lmr_handle_t lmr = NULL;
	it_status_t status = it_lmr_create_unlinked(run->world->pz[step->pz], (size_t)step->a,
						    IT_LMR_FLAG_NON_SHAREABLE, 0, &lmr);

	if (status != IT_SUCCESS)
		return status;
	key->handle = (it_handle_t)lmr;
	run_key_takes(key, 0, 0);
	return status;
}

it_status_t
run_lmr_link(struct df_run *run, const struct df_step *step, it_dto_cookie_t cookie)
{
	const struct world_node *node = &run->world->node[df_node(step->obj)];
	struct world_key *key = &run->world->lmr[step->obj];
	it_rmr_context_t context = 0;
	struct list list;
	it_status_t status;

	list_make(node, step, &list);
	status = it_lmr_link((it_lmr_handle_t)key->handle, node->arena + place_of(step), &list.iobl,
			     (it_length_t)step->len, (it_addr_mode_t)step->mode,
			     (it_mem_priv_t)step->privs, run->world->ep[step->ep].handle, cookie,
			     (it_dto_flags_t)step->flags, &context);
	if (status == IT_SUCCESS) {
		run_key_takes(key, context, run_base_of(run, step, place_of(step)));
		run->lmr_off[step->obj] = place_of(step);
	}
	return status;
}
