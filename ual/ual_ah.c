/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Address handles: destinations of datagrams [IT 10], [IT 15.9]. A handle is a checked path; the provider gives it a
 * number, which posts use. If a path has no local end, a query of the kAL completes it, unless the application declares
 * the path complete: then the provider chooses the local end for each datagram.
 */

#include "ual_ah.h"

#include "ual.h"
#include "ual_addr.h"
#include "ual_status.h"

static void
ah_destroy(struct ual_object *object)
{
	struct ual_ah *ah = (struct ual_ah *)object;

	/* If this fails, closing the client destroys it. */
	(void)!session_call_id(&object->ia->session, KAL_AH_DESTROY, ah->kal_id);
	ual_object_unref(&ah->pz->object);
	pthread_mutex_destroy(&ah->control);
	pthread_mutex_destroy(&ah->lock);
	ual_object_delete(object);
}

/* Convert a path for the kAL. A path without a local end is completed by the best source towards the peer. */
static it_status_t
init_of(struct ual_ia *ia, it_ah_flags_t flags, it_path_t *path, struct ri_ah_init *init)
{
	const it_ib_net_endpoint_t *ib = &path->u.ib;
	struct kal_path_query_req req = {.rnic = ia->session.rnic,
					 .port = (uint32_t)path->spigot_id};
	struct kal_path_query_rep rep;
	it_path_t found;

	*init = (struct ri_ah_init){.port = (uint32_t)path->spigot_id};
	if (path->spigot_id >= ia->session.attr.num_ports)
		return IT_ERR_INVALID_SPIGOT;
	if (!ual_addr_of_path(&ia->session.attr, path, &init->source, &init->dest))
		return IT_ERR_INVALID_SOURCE_PATH;
	if (init->source.family == RI_ADDR_NONE && (flags & IT_AH_PATH_COMPLETE) == 0) {
		req.peer = init->dest;
		if (session_call(&ia->session, KAL_PATH_QUERY, &req, sizeof(req), &rep,
				 sizeof(rep)) == RI_SUCCESS &&
		    rep.count > 0) {
			ual_addr_to_path(&ia->session.attr, path->spigot_id, &rep.local[0],
					 &init->dest, &found);
			path->u.ib.local_port_gid = found.u.ib.local_port_gid;
		}
		(void)ual_addr_of_path(&ia->session.attr, path, &init->source, &init->dest);
	}
	ual_ia_scope(ia, init->port, &init->source);
	ual_ia_scope(ia, init->port, &init->dest);
	if (ia->session.attr.transport != RI_TRANSPORT_IB)
		return IT_SUCCESS;
	init->dlid = ib->remote_port_lid;
	init->sl = ib->sl;
	init->hop_limit = ib->hop_limit;
	init->traffic_class = ib->traffic_class;
	init->flow_label = ib->flow_label;
	return IT_SUCCESS;
}

it_status_t
ual_ah_create(struct ual_pz *pz, const it_path_t *path, it_ah_flags_t flags, it_addr_handle_t *out)
{
	struct ual_ia *ia = pz->object.ia;
	struct kal_ah_req req = {.id = pz->pd};
	struct kal_ah_rep rep;
	it_path_t own = *path;
	enum ri_status below;
	it_status_t status;
	struct ual_ah *ah;

	if (!ia->session.attr.ud)
		return IT_ERR_OP_NOT_SUPPORTED;
	if (((unsigned int)flags & ~(unsigned int)IT_AH_PATH_COMPLETE) != 0)
		return IT_ERR_INVALID_FLAGS;
	status = init_of(ia, flags, &own, &req.init);
	if (status != IT_SUCCESS)
		return status;
	if (!ual_object_ref(&pz->object))
		return IT_ERR_RESOURCES;
	ah = (struct ual_ah *)ual_object_new(UAL_AH, ia, &ia->objects);
	if (ah == NULL) {
		ual_object_unref(&pz->object);
		return IT_ERR_RESOURCES;
	}
	ah->object.destroy = ah_destroy;
	ah->pz = pz;
	ah->flags = flags;
	pthread_mutex_init(&ah->control, NULL);
	pthread_mutex_init(&ah->lock, NULL);
	below = session_call(&ia->session, KAL_AH_CREATE, &req, sizeof(req), &rep, sizeof(rep));
	if (below != RI_SUCCESS) {
		ah_destroy(&ah->object); /* id 0 is none */
		return ual_status(UAL_CALL_AH, below);
	}
	ah->kal_id = rep.id;
	ah->wire = rep.ah;
	ah->path = own;
	*out = (it_addr_handle_t)ual_object_publish(&ah->object);
	return IT_SUCCESS;
}

it_status_t
ual_ah_free(struct ual_ah *ah)
{
	if (!ual_object_retract(&ah->object))
		return IT_ERR_INVALID_AH;
	/* Wait for a modify that is under way. */
	pthread_mutex_lock(&ah->control);
	pthread_mutex_unlock(&ah->control);
	ah_destroy(&ah->object);
	return IT_SUCCESS;
}

it_status_t
ual_ah_modify(struct ual_ah *ah, const it_path_t *path)
{
	struct ual_ia *ia = ah->object.ia;
	struct kal_ah_req req = {.id = ah->kal_id};
	it_path_t own = *path;
	it_status_t status = init_of(ia, ah->flags, &own, &req.init);

	if (status != IT_SUCCESS)
		return status;
	pthread_mutex_lock(&ah->control);
	req.id = ah->kal_id;
	status = ual_status(UAL_CALL_AH,
			    session_call(&ia->session, KAL_AH_MODIFY, &req, sizeof(req), NULL, 0));
	if (status == IT_SUCCESS) {
		pthread_mutex_lock(&ah->lock);
		ah->path = own;
		pthread_mutex_unlock(&ah->lock);
	}
	pthread_mutex_unlock(&ah->control);
	return status;
}

void
ual_ah_query(struct ual_ah *ah, it_addr_param_mask_t wanted, it_addr_param_t *params)
{
	unsigned int mask = (wanted & IT_ADDR_PARAM_ALL) != 0 ? ~0u : (unsigned int)wanted;

	if ((mask & IT_ADDR_PARAM_IA) != 0)
		params->ia = (it_ia_handle_t)ual_object_handle(&ah->object.ia->object);
	if ((mask & IT_ADDR_PARAM_PZ) != 0)
		params->pz = (it_pz_handle_t)ual_object_handle(&ah->pz->object);
	if ((mask & IT_ADDR_PARAM_PATH) == 0)
		return;
	pthread_mutex_lock(&ah->lock);
	params->path = ah->path;
	pthread_mutex_unlock(&ah->lock);
}
