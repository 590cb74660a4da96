/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An adapter with the least that RNIC-PI allows: the emulated InfiniBand adapter without its optional claims, as a
 * provider of its own in a shared object. It shows how the layers above refuse calls that an adapter does not
 * support. "bare" claims nothing optional; "bare:srq" has shared receive queues of fixed size without watermarks;
 * "bare:ud" has datagrams, whose services carry no private data.
 */
#include <stdio.h>
#include <string.h>

#include "vem_provider.h"

enum kind {
	BARE = 0,
	WITH_SRQ,
	WITH_UD,
	KINDS
};

static const char *const names[KINDS] = {"bare", "bare:srq", "bare:ud"};

__attribute__((visibility("default"))) const struct ri_provider *ri_provider_entry(void);

static const struct ri_device_ops *device; /* of vp/emul */

/* The adapters that were opened under another name than the first. */
static struct {
	struct ri_rnic *rnic;
	enum kind kind;
} others[64];

static enum ri_status
bare_probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count)
{
	(void)host;
	for (uint32_t i = 0; i < KINDS && i < *count; i++) {
		memset(&descs[i], 0, sizeof(descs[i]));
		snprintf(descs[i].name, sizeof(descs[i].name), "%s", names[i]);
		snprintf(descs[i].description, sizeof(descs[i].description), "can do little");
		descs[i].transport = RI_TRANSPORT_IB;
		descs[i].num_ports = 1;
	}
	*count = KINDS;
	return RI_SUCCESS;
}

/* Adapters are opened and closed one at a time: the kAL holds its lock. */
static void
remember(struct ri_rnic *before, struct ri_rnic *after, enum kind kind)
{
	for (uint32_t i = 0; i < 64; i++) {
		if (others[i].rnic == before) {
			others[i].rnic = after;
			others[i].kind = kind;
			return;
		}
	}
}

static enum kind
kind_of(const struct ri_rnic *rnic)
{
	for (uint32_t i = 0; i < 64; i++) {
		if (others[i].rnic == rnic)
			return others[i].kind;
	}
	return BARE;
}

static enum ri_status
bare_open(const struct ri_open *open, struct ri_rnic **out)
{
	struct ri_open real = *open;
	enum ri_status status;

	snprintf(real.name, sizeof(real.name), "emul:ib");
	status = device->open(&real, out);
	for (uint32_t i = WITH_SRQ; i < KINDS && status == RI_SUCCESS; i++) {
		if (strcmp(open->name, names[i]) == 0)
			remember(NULL, *out, (enum kind)i);
	}
	return status;
}

static void
bare_close(struct ri_rnic *rnic)
{
	remember(rnic, NULL, BARE);
	device->close(rnic);
}

static void
claims_drop(struct ri_rnic_attr *attr)
{
	attr->privileged_ops = attr->fast_register = attr->direct_stag = false;
	attr->reg_page_list = attr->reg_block_list = attr->reg_ve_list = false;
	attr->max_pbl = 0;
	attr->mw_narrow = attr->mw_wide = false;
	attr->mw_narrow_unbind = attr->mw_wide_unbind = attr->mw_wide_stag_returned = false;
	attr->max_mw = 0;
	attr->send_invalidate = attr->local_fence = attr->read_local_extensions = false;
	attr->atomics = attr->masked_atomics = false;
	attr->zero_based = attr->reregister = attr->dmabuf = false;
	attr->enables_modifiable = attr->ord_increasable = attr->ird_modifiable = false;
	attr->wq_resizable = attr->cq_resizable = false;
	attr->srq_resizable = attr->srq_limit = false;
	attr->rq_soft_limit = attr->rq_hard_limit = false;
	attr->three_way_handshake = attr->ird_ord_suppressible = false;
	attr->connect_pdata = attr->accept_pdata = attr->reject_pdata = 0;
	attr->confirm_pdata = attr->disconnect_pdata = 0;
	attr->ud_request_pdata = attr->ud_reply_pdata = 0;
	attr->port_events = false;
	attr->inline_data = attr->immediate_separate = false;
	attr->max_inline = attr->immediate_size = attr->immediate_with = 0;
	attr->uc = attr->multicast = attr->iova = attr->cm_number = false;
	attr->cm_forms = RI_CM_ADDRESS;
}

static enum ri_status
bare_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	enum ri_status status = device->query(rnic, attr);
	enum kind kind = kind_of(rnic);

	claims_drop(attr);
	attr->srq = kind == WITH_SRQ;
	attr->ud = kind == WITH_UD;
	if (kind != WITH_UD)
		attr->max_ah = attr->max_ud_message = 0;
	snprintf(attr->name, sizeof(attr->name), "%s", names[kind]);
	return status;
}

const struct ri_provider *
ri_provider_entry(void)
{
	static struct ri_provider provider;
	static struct ri_device_ops ops;

	provider = *vem_provider_entry();
	device = provider.device;
	ops = *device;
	ops.probe = bare_probe;
	ops.open = bare_open;
	ops.close = bare_close;
	ops.query = bare_query;
	provider.name = "bare";
	provider.description = "an adapter that can do little, for tests";
	provider.device = &ops;
	return &provider;
}
