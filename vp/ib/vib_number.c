/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection management for a number [RI 10.54]: a vib_qp without a queue pair of the device, without queues, and without a
 * user half. vib_cm*.c treats it as any other; the moves of the device's queue pair are left out (vib_qp_end.c), since the
 * application brings its own one up from ri_cm_event::reach (vib_cm_reach.c). With nothing to drain its end is raised at once.
 */
#include "vib_number.h"

#include <stdlib.h>
#include <string.h>

#include "vib_objects.h"
#include "vib_qp_end.h"

enum ri_status
vib_number_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_qp **out, struct ri_map *map)
{
	struct ri_rnic *rnic = pd->context->rnic;
	enum ri_status status = vib_alive(rnic);
	struct vib_qp *qp;

	if (!rnic->attr.cm_number || init->privileged)
		return RI_ERR_UNSUPPORTED;
	if (init->qkey > VIB_NUMBER_MAX)
		return RI_ERR_INVALID_ARG;
	if (status != RI_SUCCESS)
		return status;
	qp = (struct vib_qp *)calloc(1, sizeof(*qp));
	if (qp == NULL)
		return RI_ERR_RESOURCES;
	pthread_mutex_init(&qp->lock, NULL);
	vib_list_init(&qp->groups);
	qp->number = true;
	qp->pd = pd;
	qp->ctx = init->ctx;
	qp->init = (struct ri_qp_init){.ctx = init->ctx,
				       .type = RI_QP_NUMBER,
				       .port = init->port,
				       .qkey = init->qkey,
				       .ird = init->ird,
				       .ord = init->ord,
				       .hard_limit = UINT32_MAX};
	qp->user.ctx = init->ctx;
	qp->user.qpn = init->qkey;
	qp->user.pd = pd;
	qp->user.host = rnic->host;
	vib_qp_end_init(qp);
	vib_qp_renew_init(qp);
	atomic_fetch_add(&pd->users, 1);
	vib_enlist(pd->context, &pd->context->qps, &qp->item);
	vib_map(map, NULL);
	*init = qp->init;
	*out = (struct ri_qp *)qp;
	return RI_SUCCESS;
}

void
vib_number_destroy(struct vib_qp *qp)
{
	vib_qp_end_stop(qp);
	vib_qp_renew_stop(qp);
	vib_cm_forget(qp);
	vib_delist(qp->pd->context, &qp->item);
	atomic_fetch_sub(&qp->pd->users, 1);
	pthread_mutex_destroy(&qp->lock);
	free(qp);
}
