/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A provider of this release that can do less: the same adapters under the same names, without what
 * ITAPI_TEST_LACKS names (a list with commas between; see `lacks` and `claims`). A thing that is withdrawn is neither
 * claimed nor is there an entry for it, so a layer above that calls it all the same jumps to nowhere.
 *
 * Built once for each provider, as a shared object that takes the place of the one compiled in when
 * ITAPI_PROVIDER_PATH names its folder. LACKING_OF is the provider's own entry function.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lacking_refuse.h"
#include "wrap_tables.h"

const struct ri_provider *LACKING_OF(void);
__attribute__((visibility("default"))) const struct ri_provider *ri_provider_entry(void);

static struct wrap_tables tables; /* as they are handed over */
static struct ri_device_ops whole;

/* --- what can be withdrawn ------------------------------------------------------------------- */

static void
drop_atomics(struct ri_rnic_attr *attr)
{
	attr->atomics = attr->masked_atomics = false;
}

static void
drop_narrow(struct ri_rnic_attr *attr)
{
	attr->mw_narrow = attr->mw_narrow_unbind = false;
}

static void
drop_wide(struct ri_rnic_attr *attr)
{
	attr->mw_wide = attr->mw_wide_unbind = attr->mw_wide_stag_returned = false;
}

/* emul takes the key of the poster then, who gives it no place for another one. */
static void
drop_returned(struct ri_rnic_attr *attr)
{
	attr->mw_wide_stag_returned = false;
}

static void
drop_windows(struct ri_rnic_attr *attr)
{
	drop_narrow(attr);
	drop_wide(attr);
	attr->max_mw = 0;
}

static void
strip_windows(void)
{
	tables.mem.mw_alloc = NULL;
	tables.mem.mw_query = NULL;
	tables.mem.mw_free = NULL;
}

static void
drop_unbind(struct ri_rnic_attr *attr)
{
	attr->mw_narrow_unbind = attr->mw_wide_unbind = false;
}

static void
drop_reregister(struct ri_rnic_attr *attr)
{
	attr->reregister = false;
}

static void
strip_reregister(void)
{
	tables.mem.mr_rereg = NULL;
}

static void
drop_reuse(struct ri_rnic_attr *attr)
{
	attr->qp_reusable = false;
}

static void
drop_dmabuf(struct ri_rnic_attr *attr)
{
	attr->dmabuf = false;
}

static void
strip_dmabuf(void)
{
	tables.mem.mr_reg_dmabuf = NULL;
}

static void
drop_srq(struct ri_rnic_attr *attr)
{
	attr->srq = attr->srq_limit = attr->srq_resizable = false;
	attr->rq_soft_limit = attr->rq_hard_limit = false;
	attr->max_srq = attr->max_srq_wr = 0;
}

static void
strip_srq(void)
{
	tables.provider.srq = NULL;
	tables.user.srq_open = NULL;
	tables.user.srq_close = NULL;
	tables.user.srq_remap = NULL;
}

static void
drop_watermarks(struct ri_rnic_attr *attr)
{
	attr->srq_limit = attr->rq_soft_limit = attr->rq_hard_limit = false;
}

static void
drop_relative(struct ri_rnic_attr *attr)
{
	attr->zero_based = attr->mw_on_zero_based = false;
}

static void
drop_resizing(struct ri_rnic_attr *attr)
{
	attr->wq_resizable = attr->cq_resizable = attr->srq_resizable = false;
}

static void
strip_resizing(void)
{
	tables.cq.resize = NULL;
	tables.qp.resize = NULL;
	tables.user.cq_remap = NULL;
	tables.user.qp_remap = NULL;
	tables.user.srq_remap = NULL;
}

static void
drop_overflow(struct ri_rnic_attr *attr)
{
	attr->cq_overflow_detect = false;
}

static void
drop_invalidate(struct ri_rnic_attr *attr)
{
	attr->send_invalidate = false;
}

static void
drop_extensions(struct ri_rnic_attr *attr)
{
	attr->read_local_extensions = false;
}

static void
drop_fence(struct ri_rnic_attr *attr)
{
	attr->local_fence = false;
}

static void
drop_changes(struct ri_rnic_attr *attr)
{
	attr->enables_modifiable = attr->ord_increasable = attr->ird_modifiable = false;
}

static void
drop_privileged(struct ri_rnic_attr *attr)
{
	attr->privileged_ops = attr->fast_register = attr->direct_stag = false;
	attr->reg_page_list = attr->reg_block_list = attr->reg_ve_list = false;
	attr->max_pbl = 0;
}

static void
drop_events(struct ri_rnic_attr *attr)
{
	attr->port_events = false;
}

/* As few segments as an iWARP adapter must have (RDMAC Verbs: at least 4). */
static void
drop_segments(struct ri_rnic_attr *attr)
{
	attr->max_send_sge = attr->max_recv_sge = attr->max_write_sge = 4;
	attr->max_read_sge = 1;
}

static bool no_ipv6;

static void
strip_ipv6(void)
{
	no_ipv6 = true;
}

static const struct lack {
	const char *name;
	void (*drop)(struct ri_rnic_attr *attr);
	void (*strip)(void); /* NULL: no entry stands for it alone */
} lacks[] = {
	{"atomics", drop_atomics, NULL},
	{"windows", drop_windows, strip_windows},
	{"narrow", drop_narrow, NULL},
	{"wide", drop_wide, NULL},
	{"returned", drop_returned, NULL},
	{"unbind", drop_unbind, NULL},
	{"reregister", drop_reregister, strip_reregister},
	{"dmabuf", drop_dmabuf, strip_dmabuf},
	{"reuse", drop_reuse, NULL},
	{"srq", drop_srq, strip_srq},
	{"watermarks", drop_watermarks, NULL},
	{"relative", drop_relative, NULL},
	{"resizing", drop_resizing, strip_resizing},
	{"overflow", drop_overflow, NULL},
	{"invalidate", drop_invalidate, NULL},
	{"extensions", drop_extensions, NULL},
	{"fence", drop_fence, NULL},
	{"changes", drop_changes, NULL},
	{"privileged", drop_privileged, NULL},
	{"events", drop_events, NULL},
	{"segments", drop_segments, NULL},
	{"ipv6", NULL, strip_ipv6},
};

#define LACKS (sizeof(lacks) / sizeof(lacks[0]))

static bool withdrawn[LACKS];

/* --- single claims --------------------------------------------------------------------------- */

#define CLAIM(member)                                              \
	{                                                          \
#member, offsetof(struct ri_rnic_attr, member),    \
			sizeof(((struct ri_rnic_attr *)0)->member) \
	}

/*
 * Claims that an adapter can do without, by their names: "atomics" withdraws one, "max_send_sge=1" lowers one. What describes
 * how the adapter behaves, and not what it can do, is not among them: a wrapper cannot change that.
 */
static const struct claim {
	const char *name;
	size_t offset, size;
} claims[] = {
	CLAIM(read_local_extensions),
	CLAIM(immediate_with),
	CLAIM(atomics),
	CLAIM(send_invalidate),
	CLAIM(mw_narrow),
	CLAIM(mw_wide),
	CLAIM(mw_narrow_unbind),
	CLAIM(mw_wide_unbind),
	CLAIM(mw_wide_stag_returned),
	CLAIM(zero_based),
	CLAIM(local_read_revocable),
	CLAIM(privileged_ops),
	CLAIM(fast_register),
	CLAIM(direct_stag),
	CLAIM(local_fence),
	CLAIM(reregister),
	CLAIM(reg_page_list),
	CLAIM(reg_block_list),
	CLAIM(reg_ve_list),
	CLAIM(enables_modifiable),
	CLAIM(ord_increasable),
	CLAIM(ird_modifiable),
	CLAIM(wq_resizable),
	CLAIM(srq_resizable),
	CLAIM(cq_resizable),
	CLAIM(srq),
	CLAIM(srq_limit),
	CLAIM(rq_soft_limit),
	CLAIM(rq_hard_limit),
	CLAIM(completion_acked),
	CLAIM(in_order_completion),
	CLAIM(in_order_placement),
	CLAIM(remote_status),
	CLAIM(terminate_info),
	CLAIM(cq_overflow_detect),
	CLAIM(cq_notify_flag),
	CLAIM(cq_arm_count),
	CLAIM(thread_safe_queues),
	CLAIM(solicited_works),
	CLAIM(qp_reusable),
	CLAIM(has_time_wait),
	CLAIM(three_way_handshake),
	CLAIM(ird_ord_exchange),
	CLAIM(ird_ord_suppressible),
	CLAIM(socket_conversion),
	CLAIM(ud),
	CLAIM(port_events),
	CLAIM(dmabuf),
	CLAIM(inline_data),
	CLAIM(uc),
	CLAIM(multicast),
	CLAIM(iova),
	CLAIM(cm_number),
	CLAIM(max_send_sge),
	CLAIM(max_recv_sge),
	CLAIM(max_write_sge),
	CLAIM(max_ird),
	CLAIM(max_ord),
	CLAIM(connect_pdata),
	CLAIM(accept_pdata),
	CLAIM(reject_pdata),
	CLAIM(confirm_pdata),
	CLAIM(disconnect_pdata),
};

#define CLAIMS (sizeof(claims) / sizeof(claims[0]))

static struct {
	bool given;
	uint64_t value;
} lowered[CLAIMS];

/* No claim is raised. */
static void
claim_lower(struct ri_rnic_attr *attr, size_t i)
{
	void *at = (char *)attr + claims[i].offset;
	uint64_t value = 0;

	memcpy(&value, at,
	       claims[i].size); /* the least octets first, as everywhere in this release */
	if (lowered[i].value < value)
		memcpy(at, &lowered[i].value, claims[i].size);
}

/* What cannot be claimed without what is missing now. */
static void
claims_settle(struct ri_rnic_attr *attr)
{
	attr->masked_atomics = attr->masked_atomics && attr->atomics;
	attr->mw_narrow_unbind = attr->mw_narrow_unbind && attr->mw_narrow;
	attr->mw_wide_unbind = attr->mw_wide_unbind && attr->mw_wide;
	attr->mw_wide_stag_returned = attr->mw_wide_stag_returned && attr->mw_wide;
	if (!attr->mw_narrow && !attr->mw_wide) {
		attr->max_mw = 0;
		attr->mw_on_zero_based = false;
	}
	attr->fast_register = attr->fast_register && attr->privileged_ops;
	attr->direct_stag = attr->direct_stag && attr->privileged_ops;
	if (!attr->reg_page_list && !attr->reg_block_list && !attr->reg_ve_list &&
	    !attr->fast_register)
		attr->max_pbl = 0;
	if (!attr->srq)
		drop_srq(attr);
	attr->multicast = attr->multicast && attr->ud;
	if (!attr->ud) {
		attr->max_ah = attr->max_ud_message = 0;
		attr->ud_request_pdata = attr->ud_reply_pdata = 0;
		attr->immediate_with &= (uint8_t)~RI_IMMEDIATE_UD;
	}
	if (!attr->inline_data)
		attr->max_inline = 0;
	if (attr->immediate_with == 0)
		attr->immediate_size = 0;
	if (!attr->three_way_handshake)
		attr->confirm_pdata = 0;
	attr->ird_ord_suppressible = attr->ird_ord_suppressible && attr->ird_ord_exchange;
}

/* --- the adapters ---------------------------------------------------------------------------- */

static enum ri_status
lacking_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	struct ri_rnic_attr left = {.size = sizeof(left)};
	enum ri_status status = whole.query(rnic, &left);

	if (status != RI_SUCCESS)
		return status;
	for (size_t i = 0; i < LACKS; i++) {
		if (withdrawn[i] && lacks[i].drop != NULL)
			lacks[i].drop(&left);
	}
	for (size_t i = 0; i < CLAIMS; i++) {
		if (lowered[i].given)
			claim_lower(&left, i);
	}
	claims_settle(&left);
	lacking_refuse_profile(&left);
	/* A caller of another version has less room, or more. */
	memcpy(attr, &left, attr->size < sizeof(left) ? attr->size : sizeof(left));
	return RI_SUCCESS;
}

static enum ri_status
lacking_query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	enum ri_status status = whole.query_port(rnic, port, attr);
	uint32_t left = 0;

	for (uint32_t i = 0; status == RI_SUCCESS && no_ipv6 && i < attr->num_addrs; i++) {
		if (attr->addrs[i].family != RI_ADDR_IPV6)
			attr->addrs[left++] = attr->addrs[i];
	}
	if (status == RI_SUCCESS && no_ipv6)
		attr->num_addrs = left;
	return status;
}

static enum ri_status
lacking_route(struct ri_rnic *rnic, const struct ri_addr *peer, struct ri_addr *local,
	      uint32_t *port)
{
	if (no_ipv6 && peer->family == RI_ADDR_IPV6)
		return RI_ERR_NO_ROUTE;
	return whole.route(rnic, peer, local, port);
}

/* False: a name that means nothing, which a test must not pass over. */
static bool
withdraw_claims(const char *name, size_t length)
{
	for (size_t i = 0; i < LACKS; i++) {
		if (strlen(lacks[i].name) != length || memcmp(lacks[i].name, name, length) != 0)
			continue;
		withdrawn[i] = true;
		if (lacks[i].strip != NULL)
			lacks[i].strip();
		return true;
	}
	for (size_t i = 0; i < CLAIMS; i++) {
		size_t known = strlen(claims[i].name);

		if (known > length || memcmp(claims[i].name, name, known) != 0 ||
		    (length > known && name[known] != '='))
			continue;
		lowered[i].given = true;
		lowered[i].value = length > known ? strtoull(name + known + 1, NULL, 10) : 0;
		return true;
	}
	fprintf(stderr, "lacking: nothing is called \"%.*s\"\n", (int)length, name);
	return false;
}

const struct ri_provider *
ri_provider_entry(void)
{
	const char *wanted = getenv("ITAPI_TEST_LACKS");

	if (wanted == NULL)
		return NULL;
	if (!wrap_tables_copy(&tables, LACKING_OF()))
		return NULL;
	whole = tables.device;
	tables.device.query = lacking_query;
	tables.device.query_port = lacking_query_port;
	if (tables.device.route != NULL)
		tables.device.route = lacking_route;
	while (*wanted != '\0') {
		size_t length = strcspn(wanted, ",");

		if (!withdraw_claims(wanted, length))
			return NULL;
		wanted += length;
		wanted += *wanted == ',';
	}
	lacking_refuse_install(&tables);
	return &tables.provider;
}
