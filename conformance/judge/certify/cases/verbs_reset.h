/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef VERBS_RESET_H
#define VERBS_RESET_H

/**
 * @file verbs_reset.h
 * @brief A queue pair goes back to IDLE, for another connection [RI 10.26].
 */

#include "verbs_pair.h"

/* Takes the event that told the end, so that the next one can be told from it. */
static inline void
reset_events(struct cert_end *end)
{
	struct cert_node *node = end->node;
	bool broken = cert_cm_count(node, RI_CM_BROKEN, end->ctx) > 0;

	if ((node->attr.cm_forms & RI_CM_ADDRESS) != 0)
		cert_cm(node, broken ? RI_CM_BROKEN : RI_CM_DISCONNECTED, end->ctx);
	while (cert_async_count(node, RI_EVENT_NONE, end->ctx) > 0)
		cert_async(node, RI_EVENT_NONE, end->ctx);
}

/* To IDLE. The upcall that told the end may still be under way, and until it returned the answer is "not yet". */
static inline void
reset_end(struct cert_end *end)
{
	struct cert *cert = end->node->cert;
	struct ri_qp_attr attr = {.state = RI_QPS_IDLE, .skip_time_wait = true};
	enum ri_status status;
	gint64 until = 0;

	do {
		cert_verb_begin(cert);
		status = end->node->p->qp->modify(end->qp, &attr, RI_QP_ATTR_STATE);
		cert_verb_end(cert, CERT_WHERE, "modify");
	} while (status == RI_ERR_STILL_FLUSHING && cert_patience(cert, &until));
	CERT_UINT(cert, status, ==, RI_SUCCESS);
}

#endif /* VERBS_RESET_H */
