/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queries for datagram services, seen from inside ual/. What itapi/ calls is in ual.h. */
#ifndef UAL_UD_SVC_H
#define UAL_UD_SVC_H

#include <pthread.h>

#include "ual_evd.h"
#include "ual_ia.h"

struct ual_ud_svc {
	struct ual_object object;

	/* Fixed at creation. */
	struct ual_evd *evd;
	uint32_t number; /* of the request; unique in the process */
	it_conn_qual_t qual;
	it_path_t path;
	struct ri_service service;
	struct ri_addr local;
	struct ri_addr peer;
	size_t pdata_len;
	uint8_t pdata[RI_PDATA_MAX];

	pthread_mutex_t control; /* control lock: request, free */

	pthread_mutex_t lock; /* event lock of what follows */
	bool outstanding;     /* sent, and not answered */
};

_Static_assert(sizeof(struct ual_ud_svc) <= UAL_SLOT_SIZE, "a service request fits its slot");

/* KAL_CM_SERVICE_REPLY; called by dispatch. */
void ual_ud_svc_reply(struct ual_ia *ia, const struct kal_event *ev);

#endif /* UAL_UD_SVC_H */
