/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A memory window of one side of a connected pair, for cases about windows. */
#ifndef VERBS_WINDOW_H
#define VERBS_WINDOW_H

#include "verbs_pair.h"

#define MW_RIGHTS (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE)

/* A connected pair with a window of the far side, and the key that it was bound with last. */
struct mw_scene {
	struct pair pair;
	struct cert *cert;
	struct ri_mw *mw;
	uint32_t index; /* the STag of the allocation */
	uint32_t stag;
	bool returned;          /* a post returns the key */
	uint32_t returned_stag; /* of the last post, or 0 */
};

static inline void
mw_scene_open(struct mw_scene *scene, struct cert *cert, enum ri_mw_type type)
{
	pair_connected(&scene->pair, cert);
	scene->cert = cert;
	scene->returned = type == RI_MW_WIDE && scene->pair.far->attr.mw_wide_stag_returned;
	scene->returned_stag = 0;
	CERT_VERB(cert, RI_SUCCESS,
		  scene->pair.far->p->mem->mw_alloc(scene->pair.far->pd, type, &scene->mw,
						    &scene->index));
	CERT_UINT(cert, scene->index, !=, 0);
	scene->stag = scene->index;
}

/* A bind of `length` bytes from byte `at` of the far side's memory, with another key each time. */
static inline struct ri_wr
mw_bind_of(struct mw_scene *scene, size_t at, uint64_t length, uint32_t access)
{
	const struct cert_region *into = scene->pair.into;

	/* The poster need not know the last key that was returned. */
	scene->stag = scene->returned ? scene->index
				      : (scene->stag & ~0xffu) | ((scene->stag + 1) & 0xff);
	scene->returned_stag = 0;
	return (struct ri_wr){
		.wr_id = 50,
		.opcode = RI_OP_BIND_MW,
		.flags = RI_WR_SIGNALED,
		.u.returning = {.bind = {.mw_stag = scene->stag,
					 .mr_stag = into->stag,
					 .addr = (uintptr_t)into->at + at,
					 .length = length,
					 .access = access},
				.stag = scene->returned ? &scene->returned_stag : NULL}};
}

/* Post a bind, and note its key. */
static inline void
mw_post(struct mw_scene *scene, const struct ri_wr *wr)
{
	cert_post(scene->pair.b, wr);
	if (!scene->returned)
		return;
	CERT_UINT(scene->cert, scene->returned_stag >> 8, ==, scene->index >> 8);
	scene->stag = scene->returned_stag;
}

static inline void
mw_bind(struct mw_scene *scene, size_t at, uint64_t length, uint32_t access)
{
	struct ri_wr wr = mw_bind_of(scene, at, length, access);
	struct ri_wc wc;

	mw_post(scene, &wr);
	wc = cert_wc_is(scene->pair.b, false, 50, RI_WC_SUCCESS);
	CERT_UINT(scene->cert, wc.opcode, ==, RI_OP_BIND_MW);
}

/* Writes 16 bytes from the near side through the window; `at` is a byte of the far side's memory. */
static inline void
mw_write(struct mw_scene *scene, size_t at, bool granted)
{
	struct pair *pair = &scene->pair;
	struct ri_sge source = cert_sge(pair->from, 0, 16);
	struct ri_sge target = {
		.addr = (uintptr_t)pair->into->at + at, .length = 16, .stag = scene->stag};
	struct ri_sge back = cert_sge(pair->from, 64, 0);

	cert_fill(pair->from->at, 16, 1);
	cert_fill(pair->into->at, VERBS_MEMORY, 2);
	cert_post_rdma(pair->a, RI_OP_RDMA_WRITE, 1, &source, &target);
	if (granted) {
		cert_post_rdma(pair->a, RI_OP_RDMA_READ, 2, &back, &target);
		cert_wc_is(pair->a, false, 1, RI_WC_SUCCESS);
		cert_wc_is(pair->a, false, 2, RI_WC_SUCCESS);
		cert_expect_fill(scene->cert, "what was written through the window",
				 pair->into->at + at, 16, 1);
		return;
	}
	cert_wait_end(pair->a);
	cert_wait_end(pair->b);
	cert_expect_fill(scene->cert, "memory that is not written", pair->into->at, VERBS_MEMORY,
			 2);
}

static inline struct ri_mr_attr
mw_attr(const struct mw_scene *scene)
{
	struct ri_mr_attr attr = {0};

	CERT_VERB(scene->cert, RI_SUCCESS, scene->pair.far->p->mem->mw_query(scene->mw, &attr));
	return attr;
}

static inline void
mw_scene_end(const struct mw_scene *scene)
{
	CERT_VERB(scene->cert, RI_SUCCESS, scene->pair.far->p->mem->mw_free(scene->mw));
}

#endif /* VERBS_WINDOW_H */
