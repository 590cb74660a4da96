/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Listeners, seen from inside ual/. */
#ifndef UAL_LISTEN_H
#define UAL_LISTEN_H

#include "ual_request.h"

struct ual_evd;

/* A request for which there was no memory; it is still to be refused. */
struct ual_unkept {
	uint32_t kal_id;
	bool service;
};

#define UAL_UNKEPT_MAX 16u /* more than these are not refused, and end by a timeout of the kAL */

struct ual_listen {
	struct ual_object object;
	uint32_t kal_id;
	uint32_t spigot;
	struct ual_evd *evd;
	it_conn_qual_t qual;

	/* Requests that the task refuses, since the EVD was full or there was no memory. */
	struct ri_task refuse;
	pthread_mutex_t lock; /* event lock of what follows */
	struct ual_request *refused;
	unsigned unkept_count;
	struct ual_unkept unkept[UAL_UNKEPT_MAX];
};

_Static_assert(sizeof(struct ual_listen) <= UAL_SLOT_SIZE, "a listener fits its slot");

/* KAL_CM_REQUEST, KAL_CM_SERVICE_REQUEST: post the event, or have the request refused. Called by dispatch. */
void ual_listen_request(struct ual_ia *ia, const struct kal_event *ev);

#endif /* UAL_LISTEN_H */
