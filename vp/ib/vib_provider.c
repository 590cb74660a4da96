/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The table of the provider, and its entry: the only symbol that the shared object exports. */
#include "vib_ah.h"
#include "vib_objects.h"
#include "vib_peer.h"

static const struct ri_provider provider = {
	.abi_major = RI_ABI_MAJOR,
	.abi_minor = RI_ABI_MINOR,
	.size = sizeof(struct ri_provider),
	.name = "ib",
	.description =
		"devices of the kernel: InfiniBand, RoCE and iWARP, by libibverbs and librdmacm",
	.device = &vib_device_ops,
	.pd = &vib_pd_ops,
	.cq = &vib_cq_ops,
	.qp = &vib_qp_ops,
	.srq = &vib_srq_ops,
	.mem = &vib_mem_ops,
	.ah = &vib_ah_ops,
	.cm = &vib_cm_ops,
	.user = &vib_user_ops,
	.fast = &vib_fast_ops,
	.peer = &vib_peer_ops,
};

__attribute__((visibility("default"))) const struct ri_provider *ri_provider_entry(void);

const struct ri_provider *
ri_provider_entry(void)
{
	return &provider;
}
