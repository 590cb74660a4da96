/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Protection zones: a protection domain of the kAL, and a count of references. */

#include "ual.h"
#include "ual_ia.h"
#include "ual_status.h"

static void
pz_destroy(struct ual_object *object)
{
	struct ual_pz *pz = (struct ual_pz *)object;

	(void)!session_call_id(&object->ia->session, KAL_PD_DESTROY, pz->pd);
	ual_object_delete(object);
}

it_status_t
ual_pz_create(struct ual_ia *ia, it_pz_handle_t *out)
{
	struct kal_id_req req = {.id = ia->session.rnic};
	struct kal_id_rep rep;
	struct ual_pz *pz = (struct ual_pz *)ual_object_new(UAL_PZ, ia, &ia->objects);
	enum ri_status status;

	if (pz == NULL)
		return IT_ERR_RESOURCES;
	pz->object.destroy = pz_destroy;
	status = session_call(&ia->session, KAL_PD_CREATE, &req, sizeof(req), &rep, sizeof(rep));
	if (status != RI_SUCCESS) {
		ual_object_delete(&pz->object);
		return ual_status(UAL_CALL_OTHER, status);
	}
	pz->pd = rep.id;
	*out = (it_pz_handle_t)ual_object_publish(&pz->object);
	return IT_SUCCESS;
}

it_status_t
ual_pz_free(struct ual_pz *pz)
{
	if (!ual_object_freeze(&pz->object))
		return IT_ERR_PZ_BUSY;
	if (!ual_object_retract(&pz->object))
		return IT_ERR_INVALID_PZ;
	pz_destroy(&pz->object);
	return IT_SUCCESS;
}
