/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A provider of this release that can do less: the same adapters under the same names, without what
 * ITAPI_TEST_LACKS names (a list with commas between; see `lacks`). A thing that is withdrawn is neither
 * claimed nor is there an entry for it, so a layer above that calls it all the same jumps to nowhere.
 *
 * Built once for each provider, as a shared object that takes the place of the one compiled in when
 * ITAPI_PROVIDER_PATH names its folder. LACKING_OF is the provider's own entry function.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	return &tables.provider;
}
