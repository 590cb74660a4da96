/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* As verbs_far.c: addresses and lengths of 64 bits of windows, of regions that count from 0, and of dmabufs. */

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs_reach.h"
#include "verbs_window.h"

#define GIB4   (UINT64_C(1) << 32)
#define ROOM   768u
#define START  256u
#define LENGTH 256u
#define PIECE  64u

/* --- windows --------------------------------------------------------------------------------- */

/* Ranges that are in the region by their lower halves alone: `at` is from its first octet. */
static const struct {
	uint64_t at, length;
} ranges[] = {
	{0, GIB4},      {0, GIB4 + 16}, {16, GIB4 << 8},         {16, (GIB4 << 8) + 16},
	{GIB4, 16},     {0 - GIB4, 16}, {GIB4 << 16, 16},        {16, UINT64_C(1) << 63},
	{GIB4 / 2, 16}, {16, GIB4 / 2}, {UINT64_C(1) << 63, 16}, {16, UINT64_MAX - 7},
};

static void
binds(struct cert *cert, enum ri_mw_type type)
{
	for (size_t i = 0; i < G_N_ELEMENTS(ranges); i++) {
		struct mw_scene scene;
		struct ri_wr wr;

		cert_note(cert,
			  "%#" G_GINT64_MODIFIER "x octets from the octet %#" G_GINT64_MODIFIER
			  "x of %u",
			  (guint64)ranges[i].length, (guint64)ranges[i].at, VERBS_MEMORY);
		mw_scene_open(&scene, cert, type);
		mw_bind(&scene, 64, 128, MW_RIGHTS);
		mw_write(&scene, 64 + 16, true);
		if (type == RI_MW_NARROW) {
			mw_scene_end(&scene); /* a bound one is not bound again */
			CERT_VERB(cert, RI_SUCCESS,
				  scene.pair.far->p->mem->mw_alloc(scene.pair.far->pd, type,
								   &scene.mw, &scene.index));
			scene.stag = scene.index;
		}
		wr = mw_bind_of(&scene, 0, ranges[i].length, MW_RIGHTS);
		wr.u.returning.bind.addr += ranges[i].at;
		mw_post(&scene, &wr);
		cert_wc_is(scene.pair.b, false, 50, RI_WC_MW_BIND);
		cert_wait_end(scene.pair.b);
		mw_scene_end(&scene);
		cert_node_close(scene.pair.near);
		cert_node_close(scene.pair.far);
	}
}

static void
binds_narrow(struct cert *cert)
{
	binds(cert, RI_MW_NARROW);
}

static void
binds_wide(struct cert *cert)
{
	binds(cert, RI_MW_WIDE);
}

/* --- regions that count from 0 ------------------------------------------------------------------ */

static void
from_zero(struct cert *cert)
{
	static uint8_t memory[ROOM] __attribute__((aligned(16)));
	const uint64_t outside[] = {LENGTH,
				    GIB4,
				    GIB4 + 16,
				    GIB4 << 8,
				    GIB4 / 2,
				    0 - GIB4,
				    UINT64_MAX - 7,
				    LENGTH - PIECE + 8,
				    (uintptr_t)memory + START};
	uint8_t expected[ROOM];

	for (int subject = 0; subject <= REACH_LAST; subject++) {
		uint32_t piece = subject == REACH_ADD ? 8 : PIECE;
		struct ri_mr_init init = {.addr = (uintptr_t)memory + START,
					  .length = LENGTH,
					  .access = reach_rights(cert) & ~(uint32_t)RI_ACCESS_BIND,
					  .zero_based = true};
		struct ri_sge range = {.length = piece};
		struct ri_mr *mr = NULL;
		struct reach reach;

		if (!reach_can(cert, (enum reach_subject)subject))
			continue;
		reach_open(&reach, cert, (enum reach_subject)subject);
		CERT_VERB(cert, RI_SUCCESS,
			  reach.owner->p->mem->mr_reg(reach.owner->pd, &init, &mr, &range.stag));
		reach_over(&reach, memory, expected, ROOM);
		for (size_t i = 0; i < G_N_ELEMENTS(outside); i++) {
			reach_connect(&reach);
			range.addr = 0;
			reach_granted(&reach, &range, START);
			range.addr = LENGTH - piece;
			reach_granted(&reach, &range, START + LENGTH - piece);
			range.addr = outside[i];
			if (subject == REACH_ADD && outside[i] == LENGTH - PIECE + 8)
				range.addr = LENGTH - 8 + 8;
			cert_note(cert, "%s: the octet %#" G_GINT64_MODIFIER "x of %u",
				  reach_name(reach.subject), (guint64)range.addr, LENGTH);
			reach_refused(&reach, &range);
			reach_disconnected(&reach);
		}
		CERT_VERB(cert, RI_SUCCESS, reach.owner->p->mem->mr_dereg(mr));
		reach_close(&reach);
	}
}

/* A bind of `length` octets from `at` of a new region of the far side that counts from 0. */
static struct ri_wr
bind_from_zero(struct mw_scene *scene, uint64_t at, uint64_t length, struct ri_mr **mr)
{
	struct cert_node *far = scene->pair.far;
	struct ri_mr_init init = {.addr = (uintptr_t)scene->pair.into->at,
				  .length = VERBS_MEMORY,
				  .access = CERT_LOCAL | MW_RIGHTS | RI_ACCESS_BIND,
				  .zero_based = true};
	struct ri_wr wr = mw_bind_of(scene, 0, length, MW_RIGHTS);

	CERT_VERB(scene->cert, RI_SUCCESS,
		  far->p->mem->mr_reg(far->pd, &init, mr, &wr.u.returning.bind.mr_stag));
	wr.u.returning.bind.addr = at;
	return wr;
}

static bool
has_windows(const struct cert *cert, enum ri_mw_type type)
{
	return type == RI_MW_NARROW ? cert_attr(cert)->mw_narrow : cert_attr(cert)->mw_wide;
}

static void
window_refused_from_zero(struct cert *cert)
{
	static const enum ri_mw_type types[] = {RI_MW_NARROW, RI_MW_WIDE};

	for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
		struct ri_mr *mr = NULL;
		struct mw_scene scene;
		struct ri_wr wr;

		if (!has_windows(cert, types[i]))
			continue;
		mw_scene_open(&scene, cert, types[i]);
		wr = bind_from_zero(&scene, 0, 64, &mr);
		mw_post(&scene, &wr);
		cert_wc_is(scene.pair.b, false, 50, RI_WC_MW_BIND);
		cert_wait_end(scene.pair.b);
		mw_scene_end(&scene);
		CERT_VERB(cert, RI_SUCCESS, scene.pair.far->p->mem->mr_dereg(mr));
		cert_node_close(scene.pair.near);
		cert_node_close(scene.pair.far);
	}
}

/* A peer addresses such a window as it would the region, from 0: it reaches the octets that are bound, and no others. */
static void
window_from_zero(struct cert *cert)
{
	static const enum ri_mw_type types[] = {RI_MW_NARROW, RI_MW_WIDE};
	static const uint64_t outside[] = {0, 64 - 16, 64 - 8, 64 + 128 - 8, 64 + 128, GIB4 + 64};

	for (size_t i = 0; i < G_N_ELEMENTS(types) * G_N_ELEMENTS(outside); i++) {
		enum ri_mw_type type = types[i / G_N_ELEMENTS(outside)];
		struct ri_sge target = {.length = 16};
		struct ri_mr *mr = NULL;
		struct mw_scene scene;
		struct ri_sge source, back;
		struct ri_wr wr;

		if (!has_windows(cert, type))
			continue;
		mw_scene_open(&scene, cert, type);
		wr = bind_from_zero(&scene, 64, 128, &mr);
		mw_post(&scene, &wr);
		cert_wc_is(scene.pair.b, false, 50, RI_WC_SUCCESS);
		source = cert_sge(scene.pair.from, 0, 16);
		back = cert_sge(scene.pair.from, 64, 0);
		cert_fill(scene.pair.from->at, 16, 1);
		target.stag = scene.stag;
		for (target.addr = 64; target.addr < 64 + 128; target.addr += 128 - 16) {
			cert_fill(scene.pair.into->at, VERBS_MEMORY, 2);
			cert_post_rdma(scene.pair.a, RI_OP_RDMA_WRITE, 1, &source, &target);
			cert_post_rdma(scene.pair.a, RI_OP_RDMA_READ, 2, &back, &target);
			cert_wc_is(scene.pair.a, false, 1, RI_WC_SUCCESS);
			cert_wc_is(scene.pair.a, false, 2, RI_WC_SUCCESS);
			cert_expect_fill(cert, "what was written through the window",
					 scene.pair.into->at + target.addr, 16, 1);
		}
		cert_fill(scene.pair.into->at, VERBS_MEMORY, 2);
		target.addr = outside[i % G_N_ELEMENTS(outside)];
		cert_note(cert, "the octet %#" G_GINT64_MODIFIER "x", (guint64)target.addr);
		cert_post_rdma(scene.pair.a, RI_OP_RDMA_WRITE, 2, &source, &target);
		cert_wait_end(scene.pair.a);
		cert_wait_end(scene.pair.b);
		cert_expect_fill(cert, "memory that is not written", scene.pair.into->at,
				 VERBS_MEMORY, 2);
		mw_scene_end(&scene);
		CERT_VERB(cert, RI_SUCCESS, scene.pair.far->p->mem->mr_dereg(mr));
		cert_node_close(scene.pair.near);
		cert_node_close(scene.pair.far);
	}
}

/* --- far into a dmabuf ------------------------------------------------------------------------- */

#define FILE_ROOM (GIB4 + 4 * 4096)

/*
 * A region that begins 2^32 octets after the beginning of its dmabuf. Only software adapters are
 * judged: they accept the memfd itself, which has memory only for the pages that are used.
 */
static void
far_into_file(struct cert *cert)
{
	const uint64_t name = UINT64_C(0x7000000000);
	struct ri_mr_init init = {.addr = name, .length = 2 * 4096, .access = CERT_ALL};
	struct ri_dmabuf from = {.offset = GIB4 + 4096};
	uint8_t low[3 * 4096], high[3 * 4096], seen[3 * 4096];
	struct ri_sge local, remote;
	struct ri_mr *mr = NULL;
	struct pair pair;
	uint32_t stag;

	if (!cert_attr(cert)->software) {
		cert_skip(cert, "so large a dmabuf needs so much memory");
		return;
	}
	from.fd = memfd_create("it-certify", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CERT_TRUE(cert, from.fd >= 0);
	if (ftruncate(from.fd, (off_t)FILE_ROOM) != 0 ||
	    fcntl(from.fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
		close(from.fd);
		cert_skip(cert, "no file can be that large");
		return;
	}
	cert_fill(low, sizeof(low), 11);
	cert_fill(high, sizeof(high), 12);
	CERT_TRUE(cert, pwrite(from.fd, low, sizeof(low), 0) == (ssize_t)sizeof(low));
	CERT_TRUE(cert, pwrite(from.fd, high, sizeof(high), (off_t)GIB4) == (ssize_t)sizeof(high));
	pair_connected(&pair, cert);
	CERT_VERB(cert, RI_SUCCESS,
		  pair.far->p->mem->mr_reg_dmabuf(pair.far->pd, &init, &from, &mr, &stag));
	local = cert_sge(pair.from, 3, 300);
	remote = (struct ri_sge){.addr = name + 4000, .length = 300, .stag = stag};
	if (pair.a->init.ord > 0) {
		cert_post_rdma(pair.a, RI_OP_RDMA_READ, 1, &local, &remote);
		cert_wc_is(pair.a, false, 1, RI_WC_SUCCESS);
		CERT_BYTES(cert, pair.from->at + 3, high + 4096 + 4000, 300);
	}
	cert_fill(pair.from->at + 3, 300, 13);
	cert_post_recv(pair.b, 2, &remote, 1);
	cert_post_send(pair.a, 3, &local, 1, 0);
	cert_wc_is(pair.b, true, 2, RI_WC_SUCCESS);
	memcpy(high + 4096 + 4000, pair.from->at + 3, 300);
	CERT_TRUE(cert, pread(from.fd, seen, sizeof(seen), (off_t)GIB4) == (ssize_t)sizeof(seen));
	CERT_BYTES(cert, seen, high, sizeof(seen));
	CERT_TRUE(cert, pread(from.fd, seen, sizeof(seen), 0) == (ssize_t)sizeof(seen));
	CERT_BYTES(cert, seen, low, sizeof(seen));
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mr_dereg(mr));
	close(from.fd);
}

static const struct cert_case cases[] = {
	{.id = "verbs.far.bind.0001",
	 .title = "A narrow window is not bound to a range that is in the region by its lower bits "
		  "alone",
	 .rule = "[RI 5.6.2] [RI 3.3.1]",
	 .needs = "mw_narrow",
	 .run = binds_narrow},
	{.id = "verbs.far.bind.0002",
	 .title = "A wide window is not bound to a range that is in the region by its lower bits "
		  "alone",
	 .rule = "[RI 5.6.2] [RI 3.3.1]",
	 .needs = "mw_wide",
	 .run = binds_wide},
	{.id = "verbs.far.zero.0001",
	 .title = "A region that counts from 0 has no octets but its own",
	 .rule = "[RI 10.10] [RI 3.3.1]",
	 .needs = "zero_based",
	 .settles = "zero_based",
	 .run = from_zero},
	{.id = "verbs.far.zero.0002",
	 .title = "A window is not bound to a region that counts from 0 where that is not claimed",
	 .rule = "[RI 10.8] [RI 5.6.2]",
	 .needs = "zero_based !mw_on_zero_based max_mw",
	 .settles = "mw_on_zero_based",
	 .run = window_refused_from_zero},
	{.id = "verbs.far.zero.0003",
	 .title = "A window on a region that counts from 0 has the octets that are bound and no "
		  "others",
	 .rule = "[RI 10.8] [RI 10.10]",
	 .needs = "zero_based mw_on_zero_based max_mw",
	 .settles = "mw_on_zero_based",
	 .run = window_from_zero},
	{.id = "verbs.far.dmabuf.0001",
	 .title = "A region that begins 2^32 octets into its dmabuf has the octets from there",
	 .rule = "[RI 5.8.1] [RI 5.8.2]",
	 .needs = "dmabuf",
	 .settles = "dmabuf",
	 .run = far_into_file},
};

CERT_SET(verbs_far_kinds, cases);
