/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * vp/iwarp: RDMAP over DDP over MPA over TCP of this machine, in user space (RFC 5040, 5041, 5044,
 * 6581). This file has the tables for the registry; each entry is in the file that its name suggests.
 */
#include "viw_provider.h"

#include "viw_rnic.h"
#include "viw_setting.h"

static const struct ri_device_ops device_ops = {
	.size = sizeof(struct ri_device_ops),
	.probe = viw_probe,
	.open = viw_open,
	.close = viw_close,
	.query = viw_query,
	.query_port = viw_query_port,
	.context_create = viw_context_create,
	.context_destroy = viw_context_destroy,
	.dump = viw_dump,
};

static const struct ri_provider provider = {
	.abi_major = RI_ABI_MAJOR,
	.abi_minor = RI_ABI_MINOR,
	.size = sizeof(struct ri_provider),
	.name = "iwarp",
	.description = "iWARP over TCP, in software",
	.device = &device_ops,
	.pd = &vsw_pd_ops,
	.cq = &vsw_cq_ops,
	.qp = &viw_qp_ops,
	.srq = &vsw_srq_ops,
	.mem = &vsw_mem_ops,
	.llp = &viw_llp_ops,
	.user = &vsw_user_ops,
	.fast = &vsw_fast_ops,
	.settings = viw_settings,
	.num_settings = VIW_SETTING_COUNT,
	.setting_size = sizeof(struct ri_setting),
};

const struct ri_provider *
viw_provider_entry(void)
{
	return &provider;
}
