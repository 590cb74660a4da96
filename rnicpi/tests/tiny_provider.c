/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The smallest provider that the registry accepts, written as a vendor writes it: against the
 * installed headers alone. It finds one adapter, "tiny", which cannot be opened; so no other entry
 * is ever called.
 */
#include <rnicpi/rnicpi.h>
#include <string.h>

static void
never(void)
{
}

#define ENTRY(type, member) .member = (__typeof__(((struct type *)0)->member))(void (*)(void))never

static enum ri_status
probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count)
{
	uint32_t room = *count;

	(void)host;
	*count = 1;
	if (room == 0)
		return RI_SUCCESS;
	memset(descs, 0, sizeof(*descs));
	strcpy(descs->name, "tiny");
	descs->transport = RI_TRANSPORT_IWARP;
	descs->num_ports = 1;
	return RI_SUCCESS;
}

static enum ri_status
refuse(const struct ri_open *params, struct ri_rnic **rnic)
{
	(void)params;
	(void)rnic;
	return RI_ERR_NO_DEVICE;
}

static const struct ri_device_ops device_ops = {
	.size = sizeof(device_ops),
	.probe = probe,
	.open = refuse,
	ENTRY(ri_device_ops, close),
	ENTRY(ri_device_ops, query),
	ENTRY(ri_device_ops, query_port),
	ENTRY(ri_device_ops, context_create),
	ENTRY(ri_device_ops, context_destroy),
};
static const struct ri_pd_ops pd_ops = {
	.size = sizeof(pd_ops), ENTRY(ri_pd_ops, create), ENTRY(ri_pd_ops, destroy)};
static const struct ri_cq_ops cq_ops = {
	.size = sizeof(cq_ops), ENTRY(ri_cq_ops, create), ENTRY(ri_cq_ops, destroy)};
static const struct ri_qp_ops qp_ops = {
	.size = sizeof(qp_ops),
	ENTRY(ri_qp_ops, create),
	ENTRY(ri_qp_ops, modify),
	ENTRY(ri_qp_ops, query),
	ENTRY(ri_qp_ops, destroy),
};
static const struct ri_mem_ops mem_ops = {
	.size = sizeof(mem_ops),
	ENTRY(ri_mem_ops, mr_reg),
	ENTRY(ri_mem_ops, mr_query),
	ENTRY(ri_mem_ops, mr_dereg),
};
static const struct ri_user_ops user_ops = {
	.size = sizeof(user_ops),
	ENTRY(ri_user_ops, rnic_open),
	ENTRY(ri_user_ops, rnic_close),
	ENTRY(ri_user_ops, cq_open),
	ENTRY(ri_user_ops, cq_close),
	ENTRY(ri_user_ops, qp_open),
	ENTRY(ri_user_ops, qp_close),
};
static const struct ri_fast_ops fast_ops = {
	.size = sizeof(fast_ops),
	ENTRY(ri_fast_ops, post_sq),
	ENTRY(ri_fast_ops, post_rq),
	ENTRY(ri_fast_ops, flush_sq),
	ENTRY(ri_fast_ops, poll_cq),
	ENTRY(ri_fast_ops, cq_depth),
	ENTRY(ri_fast_ops, arm_cq),
};

static const struct ri_provider provider = {
	.abi_major = RI_ABI_MAJOR,
	.abi_minor = RI_ABI_MINOR,
	.size = sizeof(provider),
	.name = "tiny",
	.description = "one adapter that cannot be opened",
	.device = &device_ops,
	.pd = &pd_ops,
	.cq = &cq_ops,
	.qp = &qp_ops,
	.mem = &mem_ops,
	.user = &user_ops,
	.fast = &fast_ops,
};

__attribute__((visibility("default"))) const struct ri_provider *ri_provider_entry(void);

const struct ri_provider *
ri_provider_entry(void)
{
	return &provider;
}
