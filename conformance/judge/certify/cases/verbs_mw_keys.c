/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Windows: their keys, which either layer may choose, windows as the sinks of RDMA Reads, and invalidations that wait for Reads. */

#include "verbs_pair.h"

#define BINDS 5u
#define READS 24u

static struct ri_mw *
window_new(struct pair *pair, enum ri_mw_type type, uint32_t *stag)
{
	struct ri_mw *mw = NULL;

	CERT_VERB(pair->cert, RI_SUCCESS,
		  pair->near->p->mem->mw_alloc(pair->near->pd, type, &mw, stag));
	return mw;
}

/* Binds the window to the near side's 64 bytes, with the key that the access layer gives; the key that it has then. */
static uint32_t
window_bind(struct pair *pair, struct ri_mw *mw, uint32_t stag)
{
	struct ri_wr wr = {.wr_id = 50, .opcode = RI_OP_BIND_MW, .flags = RI_WR_SIGNALED};
	struct ri_mr_attr attr = {0};
	uint32_t returned = 0;

	wr.u.returning.stag = &returned; /* for wide windows of some adapters */
	wr.u.bind.mw_stag = stag;
	wr.u.bind.mr_stag = pair->from->stag;
	wr.u.bind.addr = pair->source.addr;
	wr.u.bind.length = pair->source.length;
	wr.u.bind.access = RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE;
	cert_post(pair->a, &wr);
	cert_wc_is(pair->a, false, 50, RI_WC_SUCCESS);
	CERT_VERB(pair->cert, RI_SUCCESS, pair->near->p->mem->mw_query(mw, &attr));
	CERT_TRUE(pair->cert, attr.valid);
	return attr.stag;
}

static void
window_invalidate(struct pair *pair, uint32_t stag)
{
	const struct ri_wr wr = {
		.wr_id = 51, .opcode = RI_OP_LOCAL_INV, .flags = RI_WR_SIGNALED, .inv_stag = stag};

	cert_post(pair->a, &wr);
	cert_wc_is(pair->a, false, 51, RI_WC_SUCCESS);
}

/* A provider that owns the keys does not simply take the key octet of each bind, which is always the same. */
static void
key_of_provider(struct cert *cert)
{
	struct pair pair;
	struct ri_mw *mw;
	enum ri_mw_type type = cert_attr(cert)->mw_narrow ? RI_MW_NARROW : RI_MW_WIDE;
	unsigned taken = 0;
	uint32_t first;

	pair_connected(&pair, cert);
	mw = window_new(&pair, type, &first);
	for (unsigned i = 0; i < BINDS; i++) {
		uint32_t stag = window_bind(&pair, mw, first);

		taken += stag == first;
		if (type == RI_MW_NARROW)
			window_invalidate(&pair, stag);
	}
	cert_note(cert, "%u of %u binds have the key that was offered", taken, BINDS);
	CERT_UINT(cert, taken, <, BINDS);
	CERT_VERB(cert, RI_SUCCESS, pair.near->p->mem->mw_free(mw));
}

/* A Read brings data through a window of its own side, which is invalid when the Read completes. */
static void
read_into_a_window(struct cert *cert)
{
	struct pair pair;
	struct ri_mw *mw;
	struct ri_sge sink;
	struct ri_wr wr = {.wr_id = 2,
			   .opcode = RI_OP_RDMA_READ,
			   .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE,
			   .num_sge = 1};
	struct ri_mr_attr attr = {0};

	pair_connected(&pair, cert);
	mw = window_new(&pair, RI_MW_NARROW, &sink.stag);
	sink.stag = window_bind(&pair, mw, (sink.stag & ~0xffu) | ((sink.stag + 1) & 0xff));
	sink.addr = pair.source.addr;
	sink.length = pair.source.length;
	cert_fill(pair.into->at, 64, 1);
	cert_fill(pair.from->at, 64, 2);
	wr.sgl = &sink;
	wr.inv_stag = sink.stag;
	wr.u.remote.addr = pair.sink.addr;
	wr.u.remote.stag = pair.sink.stag;
	cert_post(pair.a, &wr);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
	cert_expect_fill(cert, "what was read", pair.from->at, 64, 1);
	CERT_VERB(cert, RI_SUCCESS, pair.near->p->mem->mw_query(mw, &attr));
	CERT_TRUE(cert, !attr.valid);
	CERT_VERB(cert, RI_SUCCESS, pair.near->p->mem->mw_free(mw));
}

/* As soon as the window is invalid, each Read before the invalidation has its completion. */
static void
invalidation_waits(struct cert *cert)
{
	struct pair pair;
	struct ri_mw *mw;
	struct ri_wr wr = {.opcode = RI_OP_LOCAL_INV,
			   .flags = RI_WR_SIGNALED | RI_WR_LOCAL_FENCE,
			   .wr_id = READS};
	struct ri_mr_attr attr = {.valid = true};
	uint32_t reads, first;
	gint64 until = 0;

	pair_connected(&pair, cert);
	reads = MIN(READS, pair.a->init.max_sq_wr - 1);
	mw = window_new(&pair, RI_MW_NARROW, &first);
	for (unsigned round = 0; round < 10; round++) {
		struct ri_sge here = cert_sge(pair.from, 0, 4096);
		struct ri_sge there = cert_sge(pair.into, 0, 4096);

		first = (first & ~0xffu) | ((first + 1) & 0xff);
		wr.inv_stag = window_bind(&pair, mw, first);
		for (uint32_t i = 0; i < reads; i++)
			cert_post_rdma(pair.a, RI_OP_RDMA_READ, i, &here, &there);
		cert_post(pair.a, &wr);
		do {
			CERT_TRUE(cert, cert_patience(cert, &until));
			CERT_VERB(cert, RI_SUCCESS, pair.near->p->mem->mw_query(mw, &attr));
		} while (attr.valid);
		CERT_UINT(cert, pair.near->p->fast->cq_depth(pair.a->uscq), >=, reads);
		for (uint32_t i = 0; i < reads; i++)
			cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, READS, RI_WC_SUCCESS);
	}
	CERT_VERB(cert, RI_SUCCESS, pair.near->p->mem->mw_free(mw));
}

static const struct cert_case cases[] = {
	{.id = "verbs.mw.key.0001",
	 .title = "A provider that owns the keys of windows chooses them",
	 .rule = "[RI 10.9]",
	 .needs = "max_mw mw_key_owner:RI_KEY_PROVIDER",
	 .settles = "mw_key_owner",
	 .run = key_of_provider},
	{.id = "verbs.mw.sink.0001",
	 .title = "An RDMA Read brings data into a window and invalidates it",
	 .rule = "[RI 10.3] [RI 5.2.1]",
	 .needs = "read_local_extensions mw_narrow mw_key_owner:RI_KEY_CONSUMER max_ord max_ird",
	 .settles = "read_local_extensions",
	 .run = read_into_a_window},
	{.id = "verbs.mw.fence.0001",
	 .title = "An invalidation with a fence is done after all requests before it",
	 .rule = "[RI 10.13] [RI 3.2.1]",
	 .needs = "local_fence mw_narrow mw_narrow_unbind mw_key_owner:RI_KEY_CONSUMER max_ord "
		  "max_ird",
	 .settles = "local_fence",
	 .run = invalidation_waits},
};

CERT_SET(verbs_mw_keys, cases);
