/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>

#include "defect.h"

static const struct defect none = {
	.id = "none",
	.title = "no defect",
	.does = "Passes every call on, so that the wrapper itself can be judged.",
};

static const struct table {
	const struct defect *rows;
	const size_t *count;
} tables[] = {
	{defects_completions, &defects_completions_count},
	{defects_queues, &defects_queues_count},
	{defects_memory, &defects_memory_count},
	{defects_keys, &defects_keys_count},
	{defects_connections, &defects_connections_count},
	{defects_lives, &defects_lives_count},
	{defects_upcalls, &defects_upcalls_count},
	{defects_claims, &defects_claims_count},
	{defects_rules, &defects_rules_count},
	{defects_promises, &defects_promises_count},
	{defects_privileged, &defects_privileged_count},
	{defects_events, &defects_events_count},
	{defects_dmabuf, &defects_dmabuf_count},
	{defects_verbs, &defects_verbs_count},
	{defects_firmware, &defects_firmware_count},
	{defects_history_queues, &defects_history_queues_count},
	{defects_history_objects, &defects_history_objects_count},
	{defects_errata, &defects_errata_count},
	{defects_errata_queues, &defects_errata_queues_count},
	{defects_driver, &defects_driver_count},
	{defects_driver_objects, &defects_driver_objects_count},
	{defects_device, &defects_device_count},
	{defects_device_objects, &defects_device_objects_count},
};

const struct defect *
defect_get(size_t n)
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

const struct defect *
defect_find(const char *id, size_t length)
{
	const struct defect *defect;

	for (size_t i = 0; (defect = defect_get(i)) != NULL; i++)
		if (strlen(defect->id) == length && memcmp(defect->id, id, length) == 0)
			return defect;
	return NULL;
}

bool
defect_fits(const struct defect *defect, const struct ri_rnic_attr *attr)
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
	has |= attr->enables_modifiable ? NEED_ENABLES : 0;
	return (defect->needs & ~has) == 0;
}
