/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The steps of datagram endpoints and address handles as calls. */
#include <string.h>

#include "df_run.h"

#define KEYS   0x1000 /* keys of a place; each endpoint gets its own one */
#define WORLDS 0x8000 /* so many worlds are not mixed up */

static it_status_t
ah_create(struct df_run *run, const struct df_step *step)
{
	return it_address_handle_create(run->world->pz[step->pz],
					&run->world->node[df_node(step->peer)].path, 0,
					&run->world->ah[step->obj]);
}

static it_status_t
ah_free(struct df_run *run, const struct df_step *step)
{
	it_status_t status = it_address_handle_free(run->world->ah[step->obj]);

	if (status == IT_SUCCESS)
		run->world->ah[step->obj] = NULL;
	return status;
}

/* No other endpoint has it, of this world or of another one, so a late datagram is dropped. */
static it_ud_ep_key_t
key_of(const struct df_run *run, int place)
{
	unsigned key = run->world->number % WORLDS;

	key = key * 2 * DF_UDS + (unsigned)place;
	return key * KEYS + (unsigned)run->world->ud[place].life;
}

static it_status_t
ud_create(struct df_run *run, const struct df_step *step)
{
	struct world_ud *ud = &run->world->ud[step->obj];
	const struct world_node *node = &run->world->node[df_node(step->obj)];
	it_status_t status;

	status = world_datagram(node, run->world->pz[step->pz], step, key_of(run, step->obj),
				&ud->handle, &ud->info);
	if (status != IT_SUCCESS)
		return status;
	ud->life++;
	ud->last = ud->handle;
	df_hub_own(node->hub, (it_handle_t)ud->handle, run->world->number);
	return status;
}

static it_status_t
ud_free(struct df_run *run, const struct df_step *step)
{
	struct world_ud *ud = &run->world->ud[step->obj];
	it_status_t status = it_ep_free(ud->handle);

	if (status == IT_SUCCESS)
		ud->handle = NULL;
	return status;
}

static it_status_t
ud_send(struct df_run *run, const struct df_step *step, const it_lmr_triplet_t *segs,
	it_dto_cookie_t cookie)
{
	const struct world_ud *ud = &run->world->ud[step->obj];
	it_dg_remote_ep_addr_t to;

	memset(&to, 0, sizeof(to));
	to.type = IT_DG_TYPE_IB_UD;
	to.addr.ud.addr = run->world->ah[step->lmr];
	to.addr.ud.ep_info = run->world->ud[step->peer].info;
	if (step->how != 0)
		to.addr.ud.ep_info.ud_ep_key += KEYS * DF_UDS; /* no endpoint has it */
	return it_post_sendto(ud->handle, segs, (size_t)step->segs, cookie,
			      (it_dto_flags_t)step->flags, &to);
}

it_status_t
run_datagram(struct df_run *run, const struct df_step *step, const it_lmr_triplet_t *segs,
	     it_dto_cookie_t cookie)
{
	it_ep_handle_t ep = run->world->ud[step->obj].handle;

	switch ((int)step->kind) {
	case DF_AH_CREATE:
		return ah_create(run, step);
	case DF_AH_FREE:
		return ah_free(run, step);
	case DF_UD_CREATE:
		return ud_create(run, step);
	case DF_UD_FREE:
		return ud_free(run, step);
	case DF_UD_RESET:
		return run_reset(run, ep);
	case DF_UD_RECV:
		return it_post_recvfrom(ep, segs, (size_t)step->segs, cookie,
					(it_dto_flags_t)step->flags);
	case DF_UD_SEND:
	default:
		return ud_send(run, step, segs, cookie);
	}
}
