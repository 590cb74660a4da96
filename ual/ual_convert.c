/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Conversion of a socket into a connection of an endpoint [IT 11]: the call. The kAL does the work, and reports the
 * outcome by an event of the endpoint, as for any attempt. Without MPA frames the endpoint may be connected when the
 * call returns.
 */

#include <stdlib.h>
#include <string.h>

#include "ual.h"
#include "ual_cm.h"
#include "ual_ep.h"
#include "ual_status.h"

#define MESSAGE_MAX ((size_t)64 * 1024)

static it_status_t
convert_controlled(struct ual_ep *ep, int sd, const struct kal_convert_req *head, size_t len,
		   const void *message)
{
	enum ual_ep_event event = head->initiator ? UAL_EPE_CONVERT_ASK : UAL_EPE_CONVERT_WAIT;
	it_status_t status = ual_ep_may(&ep->state, event);
	struct kal_convert_rep rep;
	struct kal_msg msg = {.call = KAL_CONVERT,
			      .fd = sd,
			      .req_len = sizeof(*head) + head->msg_len,
			      .rep = &rep,
			      .rep_len = sizeof(rep)};
	struct kal_convert_req *req;

	if (status == IT_SUCCESS && len > MESSAGE_MAX)
		status = IT_ERR_INVALID_LENGTH;
	if (status == IT_SUCCESS)
		status = ual_ep_step(&ep->state, event, NULL);
	if (status != IT_SUCCESS)
		return status;
	ual_cm_converting(ep);
	req = (struct kal_convert_req *)malloc(msg.req_len);
	if (req != NULL) {
		*req = *head;
		if (message != NULL)
			memcpy(req + 1, message, head->msg_len);
		msg.req = req;
		status =
			ual_status(UAL_CALL_CONVERT, kal_call(ep->object.ia->session.client, &msg));
		free(req);
	} else {
		status = IT_ERR_RESOURCES;
	}
	if (status == IT_SUCCESS)
		ual_cm_converted(ep, &rep);
	else
		ual_cm_undo(ep);
	return status;
}

it_status_t
ual_cm_convert(struct ual_ep *ep, int sd, it_sc_flags_t flags, const void *msg, size_t len)
{
	const struct kal_convert_req head = {
		.qp = ep->qp_id,
		.initiator = msg == NULL,
		.no_startup = ((unsigned int)flags & IT_SC_NO_REQ_REP) != 0,
		.msg_len = (uint32_t)len,
	};
	struct ual_ia *ia = ep->object.ia;
	it_status_t status;

	if (ep->ud)
		return IT_ERR_INVALID_EP_TYPE;
	if (ual_dead(ia))
		return IT_ERR_IA_CATASTROPHE;
	if (!ia->session.attr.socket_conversion)
		return IT_ERR_OP_NOT_SUPPORTED;
	if (((unsigned int)flags & ~(unsigned int)IT_SC_NO_REQ_REP) != 0)
		return IT_ERR_INVALID_FLAGS;
	pthread_mutex_lock(&ep->control);
	status = convert_controlled(ep, sd, &head, len, msg);
	pthread_mutex_unlock(&ep->control);
	return status;
}
