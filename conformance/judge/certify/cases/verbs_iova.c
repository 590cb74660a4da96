/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Regions that have other addresses than their memory: segments, peers, bounds and windows use them, and nothing else. */

#include <string.h>

#include "verbs_pair.h"

#define IO_BASE UINT64_C(0x0000123456789000)
#define LENGTH  1024u

/* A region of @p node with an I/O address; its memory is not its address. */
struct mapped {
	uint8_t *at;
	uint64_t iova;
	struct ri_mr *mr;
	uint32_t stag;
};

/* Page-aligned memory. The region begins at @p offset of its first page. */
static void
mapped_new(struct mapped *mapped, struct cert_node *node, uint64_t base, uint32_t offset)
{
	struct cert_region *whole = cert_region_new(node, 3 * 4096 + LENGTH, CERT_LOCAL);
	struct ri_mr_init init = {.length = LENGTH, .access = CERT_ALL, .iova_given = true};

	mapped->at = (uint8_t *)(((uintptr_t)whole->at + 4095) & ~(uintptr_t)4095) + offset;
	mapped->iova = base + offset;
	init.addr = (uintptr_t)mapped->at;
	init.iova = mapped->iova;
	CERT_VERB(node->cert, RI_SUCCESS,
		  node->p->mem->mr_reg(node->pd, &init, &mapped->mr, &mapped->stag));
}

static struct ri_sge
mapped_sge(const struct mapped *mapped, uint64_t at, uint32_t length)
{
	return (struct ri_sge){.addr = mapped->iova + at, .length = length, .stag = mapped->stag};
}

/* Addresses that are high, low and odd within the page. */
static const struct {
	uint64_t base;
	uint32_t offset;
} places[] = {{IO_BASE, 0}, {IO_BASE, 1}, {IO_BASE, 3333},
	      {0, 0},       {0, 77},      {UINT64_C(0xffffffffffff0000), 16}};

static void
segments_and_peers(struct cert *cert)
{
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		struct mapped near, far;
		struct ri_sge local, remote, sink;
		struct ri_mr_attr attr = {0};
		struct pair pair;

		cert_note(cert, "base 0x%llx, offset %u", (unsigned long long)places[i].base,
			  places[i].offset);
		pair_connected(&pair, cert);
		mapped_new(&near, pair.near, places[i].base, places[i].offset);
		mapped_new(&far, pair.far, places[i].base, places[i].offset);
		CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mr_query(far.mr, &attr));
		CERT_UINT(cert, attr.addr, ==, far.iova);
		CERT_UINT(cert, attr.length, ==, LENGTH);
		cert_note(cert, "Send from it, receive into it");
		local = mapped_sge(&near, 5, 200);
		sink = mapped_sge(&far, 100, 300);
		cert_fill(near.at + 5, 200, 1);
		cert_post_recv(pair.b, 1, &sink, 1);
		cert_post_send(pair.a, 2, &local, 1, 0);
		cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
		cert_expect_fill(cert, "what arrived", far.at + 100, 200, 1);
		cert_note(cert, "a Write to it, up to its last octet");
		local = mapped_sge(&near, 0, LENGTH);
		remote = mapped_sge(&far, 0, LENGTH);
		cert_fill(near.at, LENGTH, 3);
		cert_post_rdma(pair.a, RI_OP_RDMA_WRITE, 3, &local, &remote);
		cert_wc_is(pair.a, false, 3, RI_WC_SUCCESS);
		if (pair.a->init.ord > 0) {
			cert_note(cert, "a Read from it");
			memset(near.at, 0, LENGTH);
			cert_post_rdma(pair.a, RI_OP_RDMA_READ, 4, &local, &remote);
			cert_wc_is(pair.a, false, 4, RI_WC_SUCCESS);
			cert_expect_fill(cert, "what was read", near.at, LENGTH, 3);
			cert_expect_fill(cert, "what was written", far.at, LENGTH, 3);
		}
		CERT_VERB(cert, RI_SUCCESS, pair.near->p->mem->mr_dereg(near.mr));
		CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mr_dereg(far.mr));
		cert_node_close(pair.near);
		cert_node_close(pair.far);
	}
}

/* The virtual address, the octet in front of the region and the one behind it: the peer is refused. */
static void
bounds(struct cert *cert)
{
	for (unsigned i = 0; i < 3; i++) {
		struct mapped far;
		struct ri_sge remote;
		struct pair pair;

		pair_connected(&pair, cert);
		mapped_new(&far, pair.far, IO_BASE, 512);
		memset(far.at - 64, 0x5a, LENGTH + 128);
		remote = mapped_sge(&far, 0, 64);
		if (i == 0)
			remote.addr = (uintptr_t)far.at;
		else if (i == 1)
			remote.addr = far.iova - 1;
		else
			remote.addr = far.iova + LENGTH - 63;
		cert_note(cert, "%s",
			  i == 0   ? "by the virtual address"
			  : i == 1 ? "from the octet in front"
				   : "to the octet behind");
		cert_post_rdma(pair.a, RI_OP_RDMA_WRITE, 1, &pair.source, &remote);
		cert_wait_end(pair.a);
		cert_wait_end(pair.b);
		for (unsigned at = 0; at < LENGTH + 128; at++)
			CERT_UINT(cert, far.at[(int)at - 64], ==, 0x5a);
		CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mr_dereg(far.mr));
		cert_node_close(pair.near);
		cert_node_close(pair.far);
	}
}

/* A window is bound to I/O addresses, and its own bounds are such. */
static void
windows(struct cert *cert)
{
	struct mapped far;
	struct ri_mw *mw = NULL;
	struct ri_sge remote;
	struct pair pair;
	uint32_t stag;

	pair_connected(&pair, cert);
	mapped_new(&far, pair.far, IO_BASE, 256);
	CERT_VERB(cert, RI_SUCCESS,
		  pair.far->p->mem->mw_alloc(pair.far->pd, RI_MW_NARROW, &mw, &stag));
	stag = (stag & ~0xffu) | ((stag + 1) & 0xff);
	cert_post(pair.b, &(struct ri_wr){.wr_id = 1,
					  .opcode = RI_OP_BIND_MW,
					  .flags = RI_WR_SIGNALED,
					  .u.bind = {.mw_stag = stag,
						     .mr_stag = far.stag,
						     .addr = far.iova + 100,
						     .length = 64,
						     .access = RI_ACCESS_REMOTE_WRITE}});
	cert_wc_is(pair.b, false, 1, RI_WC_SUCCESS);
	memset(far.at, 0x5a, LENGTH);
	cert_fill(pair.from->at, 64, 8);
	remote = (struct ri_sge){.addr = far.iova + 100, .length = 64, .stag = stag};
	cert_post_rdma(pair.a, RI_OP_RDMA_WRITE, 2, &pair.source, &remote);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
	cert_post_recv(pair.b, 3, NULL, 0);
	cert_post_send(pair.a, 3, NULL, 0, 0);
	cert_wc_is(pair.a, false, 3, RI_WC_SUCCESS);
	cert_wc_is(pair.b, true, 3, RI_WC_SUCCESS);
	cert_expect_fill(cert, "what was written", far.at + 100, 64, 8);
	remote.addr = far.iova + 101;
	cert_post_rdma(pair.a, RI_OP_RDMA_WRITE, 4, &pair.source, &remote);
	cert_wait_end(pair.a);
	cert_wait_end(pair.b);
	CERT_UINT(cert, far.at[164], ==, 0x5a);
}

/* Nobody passes one to an adapter without the claim, so it may know nothing of it, or know it all; never a part. */
static void
not_claimed(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_region *region = cert_region_new(node, 64, CERT_ALL);
	struct ri_mr_init init = {.addr = (uintptr_t)region->at,
				  .length = 64,
				  .access = CERT_ALL,
				  .iova_given = true};
	struct ri_mr_attr attr = {0};
	struct ri_mr *mr = NULL;
	enum ri_status status;
	uint32_t stag;

	init.iova = IO_BASE + (init.addr & 4095);
	cert_verb_begin(cert);
	status = node->p->mem->mr_reg(node->pd, &init, &mr, &stag);
	cert_verb_end(cert, CERT_WHERE, "mr_reg");
	if (status != RI_SUCCESS) {
		cert_expect_status(cert, CERT_WHERE, "a region with an I/O address", status,
				   RI_ERR_UNSUPPORTED);
		return;
	}
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_query(mr, &attr));
	CERT_TRUE(cert, attr.addr == init.addr || attr.addr == init.iova);
	CERT_VERB(cert, RI_SUCCESS, node->p->mem->mr_dereg(mr));
}

static const struct cert_case cases[] = {
	{.id = "verbs.iova.data.0001",
	 .title = "Segments and peers name a region by its I/O address",
	 .rule = "[RI 10.53]",
	 .needs = "iova",
	 .settles = "iova",
	 .run = segments_and_peers},
	{.id = "verbs.iova.data.0002",
	 .title =
		 "Its bounds are those of its I/O addresses, and its virtual address names nothing",
	 .rule = "[RI 10.53]",
	 .needs = "iova",
	 .settles = "iova",
	 .run = bounds},
	{.id = "verbs.iova.data.0003",
	 .title = "A window is bound to I/O addresses",
	 .rule = "[RI 10.53]",
	 .needs = "iova mw_narrow",
	 .run = windows},
	{.id = "verbs.iova.absent.0001",
	 .title = "Without the claim an I/O address is refused, ignored or taken whole",
	 .rule = "[RI 10.53]",
	 .needs = "!iova",
	 .settles = "iova",
	 .run = not_claimed},
};

CERT_SET(verbs_iova, cases);
