/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections, for other files of ual/. ual.h has what itapi/ calls; ual_ia.h has ual_ep_cm(), which the dispatcher of
 * events calls.
 */
#ifndef UAL_CM_H
#define UAL_CM_H

#include "ual_ep.h"
#include "ual_ia.h"

struct ual_pdata;

/* Some message of connections carries private data [IT 9.3.1]. */
bool ual_cm_has_pdata(const struct ri_rnic_attr *attr);
/* Check private data; `limit`: the most that the message can have [IT 9.3]. */
it_status_t ual_cm_check_pdata(const struct ual_ia *ia, const struct ual_pdata *pdata,
			       size_t limit);

/* Move the endpoint and post the event that the move owes. cm NULL: a call moves it, without an event of the kAL. */
void ual_ep_deliver(struct ual_ep *ep, enum ual_ep_event what, const struct kal_cm_event *cm);

/* A call that was to begin a connection failed: restore the state of the endpoint. */
void ual_cm_undo(struct ual_ep *ep);
/* A socket is about to be converted; if that fails, call ual_cm_undo. */
void ual_cm_converting(struct ual_ep *ep);
/* It was converted. If the endpoint is connected already, the kAL's event may come before or after this call. */
void ual_cm_converted(struct ual_ep *ep, const struct kal_convert_rep *rep);

#endif /* UAL_CM_H */
