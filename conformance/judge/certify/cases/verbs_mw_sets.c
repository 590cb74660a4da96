/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Windows in each combination: of the rights of a window and its region; of the protection domains of
 * window, region and queue pair; of the queue pair that has bound a window and the one that invalidates it.
 */

#include "verbs_window.h"

#define REMOTE (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)

/* The bind fails, and both sides end. */
static void
refused(struct mw_scene *scene, const struct ri_wr *wr)
{
	mw_post(scene, wr);
	cert_wc_is(scene->pair.b, false, wr->wr_id, RI_WC_MW_BIND);
	cert_wait_end(scene->pair.b);
}

static void
closed(const struct mw_scene *scene)
{
	mw_scene_end(scene);
	cert_node_close(scene->pair.near);
	cert_node_close(scene->pair.far);
}

/* --- rights ------------------------------------------------------------------------------------ */

/* May such a region have such a window? [RI 5.6.2] */
static bool
builds_on(const struct cert *cert, uint32_t window, uint32_t region)
{
	const uint32_t writes = RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC;
	bool reads = (region & RI_ACCESS_LOCAL_READ) != 0 || !cert_attr(cert)->local_read_revocable;

	return ((window & RI_ACCESS_REMOTE_READ) == 0 || reads) &&
	       ((window & writes) == 0 || (region & RI_ACCESS_LOCAL_WRITE) != 0);
}

static void
rights(struct cert *cert, enum ri_mw_type type)
{
	static const uint32_t regions[] = {RI_ACCESS_LOCAL_READ, RI_ACCESS_LOCAL_WRITE, CERT_LOCAL};

	for (size_t i = 0; i < G_N_ELEMENTS(regions); i++) {
		for (uint32_t set = 0; set < 8; set++) {
			uint32_t access = (set & 1 ? RI_ACCESS_REMOTE_READ : 0u) |
					  (set & 2 ? RI_ACCESS_REMOTE_WRITE : 0u) |
					  (set & 4 ? RI_ACCESS_REMOTE_ATOMIC : 0u);
			struct cert_region *region;
			struct mw_scene scene;
			struct ri_wr wr;

			if ((set & 4) != 0 && !cert_attr(cert)->atomics)
				continue;
			cert_note(cert, "a window with the rights %#x of a region with %#x", access,
				  regions[i]);
			mw_scene_open(&scene, cert, type);
			region = cert_region_new(scene.pair.far, 64, regions[i] | RI_ACCESS_BIND);
			wr = mw_bind_of(&scene, 0, 64, access);
			wr.u.bind.mr_stag = region->stag;
			wr.u.bind.addr = (uintptr_t)region->at;
			if (builds_on(cert, access, regions[i])) {
				mw_post(&scene, &wr);
				cert_wc_is(scene.pair.b, false, 50, RI_WC_SUCCESS);
				CERT_TRUE(cert, mw_attr(&scene).valid);
				CERT_UINT(cert, mw_attr(&scene).access & REMOTE, ==, access);
			} else {
				refused(&scene, &wr);
				CERT_TRUE(cert, !mw_attr(&scene).valid);
			}
			closed(&scene);
		}
	}
}

static void
rights_narrow(struct cert *cert)
{
	rights(cert, RI_MW_NARROW);
}

static void
rights_wide(struct cert *cert)
{
	rights(cert, RI_MW_WIDE);
}

/* --- protection domains ---------------------------------------------------------------------------- */

/* Another pair of ends in the place of the scene's, the far one of this domain. */
static void
pair_again(struct mw_scene *scene, struct ri_pd *pd)
{
	struct ri_pd *own = scene->pair.far->pd;

	scene->pair.a = cert_end_new(scene->pair.near, NULL);
	scene->pair.far->pd = pd;
	scene->pair.b = cert_end_new(scene->pair.far, NULL);
	scene->pair.far->pd = own;
	cert_connect(scene->pair.a, scene->pair.b);
}

static void
domains(struct cert *cert, enum ri_mw_type type)
{
	for (unsigned set = 0; set < 4; set++) { /* the window is of the first domain */
		struct cert_region *region;
		struct ri_pd *pds[2];
		struct mw_scene scene;
		struct ri_wr wr;

		cert_note(cert, "%s queue pair and %s region",
			  (set & 1) == 0 ? "its own domain's" : "another domain's",
			  (set & 2) == 0 ? "its own domain's" : "another domain's");
		mw_scene_open(&scene, cert, type);
		pds[0] = scene.pair.far->pd;
		CERT_VERB(cert, RI_SUCCESS,
			  scene.pair.far->p->pd->create(scene.pair.far->context, &pds[1]));
		pair_again(&scene, pds[set & 1]);
		region = cert_region_new_in(scene.pair.far, pds[set >> 1], 64, CERT_ALL);
		wr = mw_bind_of(&scene, 0, 64, MW_RIGHTS);
		wr.u.bind.mr_stag = region->stag;
		wr.u.bind.addr = (uintptr_t)region->at;
		if (set != 0) {
			refused(&scene, &wr);
			CERT_TRUE(cert, !mw_attr(&scene).valid);
		} else {
			mw_post(&scene, &wr);
			cert_wc_is(scene.pair.b, false, 50, RI_WC_SUCCESS);
		}
		closed(&scene);
	}
}

static void
domains_narrow(struct cert *cert)
{
	domains(cert, RI_MW_NARROW);
}

static void
domains_wide(struct cert *cert)
{
	domains(cert, RI_MW_WIDE);
}

/* A bind of no octets needs the domain, too. */
static void
unbound_across(struct cert *cert)
{
	struct mw_scene scene;
	struct ri_pd *other = NULL;
	uint32_t stag;
	struct ri_wr wr;

	mw_scene_open(&scene, cert, RI_MW_WIDE);
	CERT_VERB(cert, RI_SUCCESS, scene.pair.far->p->pd->create(scene.pair.far->context, &other));
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	stag = scene.stag;
	pair_again(&scene, other);
	wr = mw_bind_of(&scene, 0, 0, 0);
	refused(&scene, &wr);
	CERT_TRUE(cert, mw_attr(&scene).valid);
	cert_note(cert, "the window opens its range still");
	pair_again(&scene, scene.pair.far->pd);
	scene.stag = stag;
	mw_write(&scene, 0, true);
	closed(&scene);
}

/* --- queue pairs ------------------------------------------------------------------------------------ */

/* Only the queue pair that has bound a narrow window can take it away, and only its peer. */
static void
taken_by_another(struct cert *cert)
{
	for (unsigned way = 0; way < (cert_attr(cert)->send_invalidate ? 2u : 1u); way++) {
		struct mw_scene scene;
		struct cert_end *a, *b;
		struct ri_wr wr = {.wr_id = 1, .flags = RI_WR_SIGNALED};

		mw_scene_open(&scene, cert, RI_MW_NARROW);
		mw_bind(&scene, 0, 64, MW_RIGHTS);
		wr.inv_stag = scene.stag = mw_attr(&scene).stag;
		a = scene.pair.a;
		b = scene.pair.b;
		pair_again(&scene, scene.pair.far->pd);
		if (way == 0) {
			cert_note(cert, "by another queue pair");
			wr.opcode = RI_OP_LOCAL_INV;
			cert_post(scene.pair.b, &wr);
			cert_wc_is(scene.pair.b, false, 1, RI_WC_MW_BIND);
		} else {
			cert_note(cert, "by a Send of another queue pair's peer");
			wr.opcode = RI_OP_SEND;
			wr.flags |= RI_WR_INVALIDATE;
			cert_post_recv(scene.pair.b, 2, NULL, 0);
			cert_post(scene.pair.a, &wr);
			CERT_UINT(cert, cert_wc(scene.pair.b, true).status, !=, RI_WC_SUCCESS);
		}
		cert_wait_end(scene.pair.b);
		CERT_TRUE(cert, mw_attr(&scene).valid);
		scene.pair.a = a;
		scene.pair.b = b;
		mw_write(&scene, 0, true);
		closed(&scene);
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.mw.rights.0001",
	 .title = "A narrow window has the rights that its region can grant, and no others",
	 .rule = "[RI 5.6.2] [RI 5.3.1]",
	 .needs = "mw_narrow",
	 .run = rights_narrow},
	{.id = "verbs.mw.rights.0002",
	 .title = "A wide window has the rights that its region can grant, and no others",
	 .rule = "[RI 5.6.2] [RI 5.3.1]",
	 .needs = "mw_wide",
	 .run = rights_wide},
	{.id = "verbs.mw.domain.0001",
	 .title = "A narrow window, its region and its queue pair are of one protection domain",
	 .rule = "[RI 5.6.2]",
	 .needs = "mw_narrow",
	 .run = domains_narrow},
	{.id = "verbs.mw.domain.0002",
	 .title =
		 "A wide window, its region and the queue pair that binds it are of one protection "
		 "domain",
	 .rule = "[RI 5.6.2]",
	 .needs = "mw_wide",
	 .run = domains_wide},
	{.id = "verbs.mw.domain.0003",
	 .title = "A wide window is not unbound from another protection domain",
	 .rule = "[RI 5.6.2] [RI 10.7]",
	 .needs = "mw_wide mw_wide_unbind",
	 .run = unbound_across},
	{.id = "verbs.mw.taken.0001",
	 .title = "A narrow window is taken away by its own queue pair or that one's peer alone",
	 .rule = "[RI 5.4.1]",
	 .needs = "mw_narrow mw_narrow_unbind",
	 .run = taken_by_another},
};

CERT_SET(verbs_mw_sets, cases);
