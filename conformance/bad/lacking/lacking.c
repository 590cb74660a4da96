/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A provider of this release with fewer abilities: the same adapters under the same names, without
 * the abilities that ITAPI_TEST_LACKS names (a list with commas between; see `lacks` and `claims`).
 * An ability that is removed is not claimed, and its entry is NULL, so a layer above that calls it
 * nevertheless crashes. only:CLAIM removes all claims of version 1.7 except that one.
 *
 * Built once for each provider, as a shared object that replaces the built-in one when
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

/* --- things, with all their claims and entries ------------------------------------------------ */

static void
strip_windows(void)
{
	tables.mem.mw_alloc = NULL;
	tables.mem.mw_query = NULL;
	tables.mem.mw_free = NULL;
}

static void
strip_reregister(void)
{
	tables.mem.mr_rereg = NULL;
}

static void
strip_dmabuf(void)
{
	tables.mem.mr_reg_dmabuf = NULL;
}

static void
strip_srq(void)
{
	tables.provider.srq = NULL;
	tables.user.srq_open = NULL;
	tables.user.srq_close = NULL;
	tables.user.srq_remap = NULL;
	tables.user.srq_count = NULL;
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

static bool no_ipv6;

static void
strip_ipv6(void)
{
	no_ipv6 = true;
}

static bool no_peer;

static void
strip_peer(void)
{
	no_peer = true;
	tables.provider.peer = NULL;
}

static const struct lack {
	const char *name;
	const char *
		claims; /* those that claims_settle() does not clear with them, with commas between */
	void (*strip)(void); /* NULL: no entry belongs to it alone */
} lacks[] = {
	{"atomics", "atomics", NULL},
	{"windows", "mw_narrow,mw_wide", strip_windows},
	{"narrow", "mw_narrow", NULL},
	{"wide", "mw_wide", NULL},
	/* emul then uses the key that the poster chooses, since the poster cannot receive another one. */
	{"returned", "mw_wide_stag_returned", NULL},
	{"unbind", "mw_narrow_unbind,mw_wide_unbind", NULL},
	{"reregister", "reregister", strip_reregister},
	{"dmabuf", "dmabuf", strip_dmabuf},
	{"reuse", "qp_reusable", NULL},
	{"srq", "srq", strip_srq},
	{"watermarks", "srq_limit,rq_soft_limit,rq_hard_limit", NULL},
	{"relative", "zero_based", NULL},
	{"resizing", "wq_resizable,cq_resizable,srq_resizable", strip_resizing},
	{"overflow", "cq_overflow_detect", NULL},
	{"invalidate", "send_invalidate", NULL},
	{"extensions", "read_local_extensions", NULL},
	{"fence", "local_fence", NULL},
	{"changes", "enables_modifiable,ord_increasable,ird_modifiable", NULL},
	{"privileged", "privileged_ops,reg_page_list,reg_block_list,reg_ve_list", NULL},
	{"events", "port_events", NULL},
	/* As few segments as an iWARP adapter must have (RDMAC Verbs: at least 4). */
	{"segments", "max_send_sge=4,max_recv_sge=4,max_write_sge=4,max_read_sge=1", NULL},
	{"ipv6", "", strip_ipv6},
	/* Connections by attributes, with what needs them. */
	{"peer", "uc,cm_number", strip_peer},
};

#define LACKS (sizeof(lacks) / sizeof(lacks[0]))

/* --- single claims --------------------------------------------------------------------------- */

#define CLAIM(member)                                              \
	{                                                          \
#member, offsetof(struct ri_rnic_attr, member),    \
			sizeof(((struct ri_rnic_attr *)0)->member) \
	}

/*
 * Claims that an adapter can do without, by their names: "atomics" withdraws one, "max_send_sge=1"
 * lowers one. Attributes that describe how the adapter behaves, and not what it can do, are not in
 * the table: a wrapper cannot change behaviour.
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
	CLAIM(max_read_sge),
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
	if (claims[i].offset == offsetof(struct ri_rnic_attr, immediate_with))
		attr->immediate_with &= (uint8_t)lowered[i].value; /* kinds, and no number */
	else if (lowered[i].value < value)
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
	attr->mw_on_zero_based = attr->mw_on_zero_based && attr->zero_based;
	if (!attr->srq) {
		attr->srq_limit = attr->srq_resizable = false;
		attr->rq_soft_limit = attr->rq_hard_limit = false;
		attr->max_srq = attr->max_srq_wr = 0;
	}
	if (no_peer)
		attr->cm_forms &= (uint8_t)~RI_CM_PEER;
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

/* Withdraw or lower the claim of a name. False: the name is unknown, which a test must not pass over. */
static bool
claim_withdraw(const char *name, size_t length)
{
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

/* Withdraw the thing of a name, with all its claims; what is no thing is a claim. */
static bool
thing_withdraw(const char *name, size_t length)
{
	const char *claim;

	for (size_t i = 0; i < LACKS; i++) {
		if (strlen(lacks[i].name) != length || memcmp(lacks[i].name, name, length) != 0)
			continue;
		if (lacks[i].strip != NULL)
			lacks[i].strip();
		for (claim = lacks[i].claims; *claim != '\0'; claim += strspn(claim, ",")) {
			if (!claim_withdraw(claim, strcspn(claim, ",")))
				return false;
			claim += strcspn(claim, ",");
		}
		return true;
	}
	return claim_withdraw(name, length);
}

/* The claims of version 1.7, each with those that it needs. */
static const struct newer {
	const char *name, *needs;
} newest[] = {
	{"inline_data", ""}, {"immediate_with", ""}, {"multicast", ""},     {"iova", ""},
	{"uc", "peer"},      {"peer", ""},           {"cm_number", "peer"},
};

#define NEWEST (sizeof(newest) / sizeof(newest[0]))

/* Withdraw all of version 1.7 but that claim, which may be lowered: "immediate_with=2". */
static bool
others_withdraw(const char *name, size_t length)
{
	const size_t known = strcspn(name, "=,");
	const struct newer *kept = NULL;

	for (size_t i = 0; i < NEWEST; i++) {
		if (strlen(newest[i].name) == known && memcmp(newest[i].name, name, known) == 0)
			kept = &newest[i];
	}
	if (kept == NULL) {
		fprintf(stderr, "lacking: \"%.*s\" is not a claim of version 1.7\n", (int)length,
			name);
		return false;
	}
	for (size_t i = 0; i < NEWEST; i++) {
		const char *other = newest[i].name;

		if (kept != &newest[i] && strcmp(kept->needs, other) != 0 &&
		    !thing_withdraw(other, strlen(other)))
			return false;
	}
	return known == length || claim_withdraw(name, length);
}

const struct ri_provider *
ri_provider_entry(void)
{
	static const char only[] = "only:";
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

		if (strncmp(wanted, only, sizeof(only) - 1) == 0
			    ? !others_withdraw(wanted + sizeof(only) - 1,
					       length - (sizeof(only) - 1))
			    : !thing_withdraw(wanted, length))
			return NULL;
		wanted += length;
		wanted += *wanted == ',';
	}
	lacking_refuse_install(&tables);
	return &tables.provider;
}
