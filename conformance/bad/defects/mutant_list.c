/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>

#include "mutant.h"

static const struct mutant none = {
	.id = "none",
	.title = "no defect",
	.does = "Passes every call on, so that the wrapper itself can be judged.",
};

static const struct table {
	const struct mutant *rows;
	const size_t *count;
} tables[] = {
	{mutants_completions, &mutants_completions_count},
	{mutants_queues, &mutants_queues_count},
	{mutants_memory, &mutants_memory_count},
	{mutants_keys, &mutants_keys_count},
	{mutants_connections, &mutants_connections_count},
	{mutants_lives, &mutants_lives_count},
	{mutants_upcalls, &mutants_upcalls_count},
	{mutants_claims, &mutants_claims_count},
	{mutants_rules, &mutants_rules_count},
	{mutants_promises, &mutants_promises_count},
	{mutants_privileged, &mutants_privileged_count},
	{mutants_events, &mutants_events_count},
	{mutants_dmabuf, &mutants_dmabuf_count},
	{mutants_verbs, &mutants_verbs_count},
	{mutants_firmware, &mutants_firmware_count},
};

const struct mutant *
mutant_get(size_t n)
{
	if (n-- == 0)
		return &none;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (n < *tables[i].count)
			return &tables[i].rows[n];
		n -= *tables[i].count;
	}
	return NULL;
}

const struct mutant *
mutant_find(const char *id, size_t length)
{
	const struct mutant *mutant;

	for (size_t i = 0; (mutant = mutant_get(i)) != NULL; i++)
		if (strlen(mutant->id) == length && memcmp(mutant->id, id, length) == 0)
			return mutant;
	return NULL;
}

bool
mutant_fits(const struct mutant *mutant, const struct ri_rnic_attr *attr)
{
	unsigned has = 0;

	has |= (attr->cm_forms & RI_CM_ADDRESS) != 0 ? NEED_ADDRESS : 0;
	has |= (attr->cm_forms & RI_CM_STREAM) != 0 ? NEED_STREAM : 0;
	has |= attr->srq ? NEED_SRQ : 0;
	has |= attr->ud ? NEED_UD : 0;
	has |= attr->atomics ? NEED_ATOMICS : 0;
	has |= attr->mw_narrow ? NEED_NARROW : 0;
	has |= attr->mw_wide ? NEED_WIDE : 0;
	has |= attr->send_invalidate ? NEED_INVALIDATE : 0;
	has |= attr->reregister ? NEED_REREGISTER : 0;
	has |= attr->cq_resizable && attr->wq_resizable ? NEED_RESIZE : 0;
	has |= attr->in_order_completion ? NEED_ORDER : 0;
	has |= attr->three_way_handshake ? NEED_THREE_WAY : 0;
	has |= attr->zero_based ? NEED_RELATIVE : 0;
	has |= attr->privileged_ops ? NEED_PRIVILEGED : 0;
	has |= attr->qp_reusable ? NEED_REUSE : 0;
	has |= attr->terminate_info ? NEED_TERMINATE : 0;
	has |= attr->has_time_wait && attr->qp_reusable ? NEED_TIME_WAIT : 0;
	has |= attr->srq && attr->rq_soft_limit ? NEED_SOFT_LIMIT : 0;
	has |= attr->dmabuf ? NEED_DMABUF : 0;
	has |= attr->mw_wide_stag_returned ? NEED_RETURNED : 0;
	has |= attr->inline_data ? NEED_INLINE : 0;
	has |= (attr->immediate_with & RI_IMMEDIATE_SEND) != 0 ? NEED_IMMEDIATE : 0;
	has |= (attr->immediate_with & RI_IMMEDIATE_WRITE) != 0 ? NEED_IMMEDIATE_WRITE : 0;
	has |= (attr->cm_forms & RI_CM_PEER) != 0 ? NEED_PEER : 0;
	has |= attr->uc ? NEED_UC : 0;
	has |= attr->multicast ? NEED_MULTICAST : 0;
	has |= attr->iova ? NEED_IOVA : 0;
	has |= attr->cm_number ? NEED_NUMBER : 0;
	return (mutant->needs & ~has) == 0;
}
