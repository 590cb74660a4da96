/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Rights as a matrix: every set of rights of a region or window, with every set of enables of the endpoint, against
 * every operation. The expected results are computed here, only from [IT 8.2] to [IT 8.6].
 */
#include "lives_access.h"

#define OFFSET 4096 /* of the region in the buffer */
#define LENGTH 256
#define SETS   32 /* of rights */

/* What the rules depend on. */
struct setting {
	bool local_read_checked; /* [IT 8.2.3] */
	bool sink_is_target;     /* [IT 8.3.1] */
	bool atomics;
	bool read, write, atomic; /* enables of the near endpoint */
};

static struct setting
setting_of(const struct end *end, unsigned enables)
{
	return (struct setting){
		.local_read_checked = false,
		.sink_is_target = end->info->rdma_read_requires_remote_write,
		.atomics = end->info->atomic_support,
		.read = (enables & 1) != 0,
		.write = (enables & 2) != 0,
		.atomic = (enables & 4) != 0 && end->info->atomic_support,
	};
}

/* May an LMR have these rights? [IT 8.2.1] */
static bool
region_possible(unsigned rights)
{
	if ((rights & IT_PRIV_LOCAL) == 0)
		return false;
	if ((rights & IT_PRIV_REMOTE_READ) != 0 && (rights & IT_PRIV_LOCAL_READ) == 0)
		return false;
	return (rights & (IT_PRIV_REMOTE_WRITE | IT_PRIV_ATOMIC)) == 0 ||
	       (rights & IT_PRIV_LOCAL_WRITE) != 0;
}

/* May a window have these, over a region with those? [IT 8.2.4] */
static bool
window_possible(unsigned rights, unsigned region)
{
	bool reads = (rights & (IT_PRIV_REMOTE_READ | IT_PRIV_ATOMIC)) != 0;
	bool writes = (rights & (IT_PRIV_REMOTE_WRITE | IT_PRIV_ATOMIC)) != 0;

	if (rights == 0 || (rights & IT_PRIV_LOCAL) != 0)
		return false;
	return (!reads || (region & IT_PRIV_LOCAL_READ) != 0) &&
	       (!writes || (region & IT_PRIV_LOCAL_WRITE) != 0);
}

/* Is the operation allowed on memory with these rights? [IT 8.2.5], [IT 8.3.1] */
static bool
allowed(enum access_op op, unsigned rights, const struct setting *setting)
{
	switch (op) {
	case ACCESS_SEND:
	case ACCESS_WRITE:
		return (rights & IT_PRIV_LOCAL_READ) != 0 || !setting->local_read_checked;
	case ACCESS_RECEIVE:
	case ACCESS_ATOMIC:
		return (rights & IT_PRIV_LOCAL_WRITE) != 0;
	case ACCESS_READ:
		return (rights & IT_PRIV_LOCAL_WRITE) != 0 &&
		       (!setting->sink_is_target ||
			((rights & IT_PRIV_REMOTE_WRITE) != 0 && setting->write));
	case ACCESS_PEER_WRITE:
		return (rights & IT_PRIV_REMOTE_WRITE) != 0 && setting->write;
	case ACCESS_PEER_READ:
		return (rights & IT_PRIV_REMOTE_READ) != 0 && setting->read;
	case ACCESS_PEER_ATOMIC:
		return (rights & IT_PRIV_ATOMIC) != 0 && setting->atomic;
	case ACCESS_OPS:
	default:
		g_assert_not_reached();
	}
}

static it_ep_attributes_t
attributes(const struct world *world, const struct setting *setting)
{
	it_ep_attributes_t attr = world_helper(&world->near);

	attr.srv.rc.rdma_read_enable = setting->read;
	attr.srv.rc.rdma_write_enable = setting->write;
	attr.srv.rc.atomics_enable = setting->atomic;
	return attr;
}

static void
judge(const char *what, enum access_op op, const char *detail, bool expected, it_dto_status_t given)
{
	if (expected == (given == IT_DTO_SUCCESS))
		return;
	g_test_message("%s, %s, %s: %s", what, access_names[op], detail, it_dto_status_name(given));
	g_assert_cmpstr(expected ? "allowed" : "refused", ==, expected ? "refused" : "allowed");
}

static char *
words(unsigned rights, const struct setting *setting)
{
	return g_strdup_printf("rights %#x, enables %d %d %d", rights, (int)setting->read,
			       (int)setting->write, (int)setting->atomic);
}

static bool
possible(const struct setting *setting, enum access_op op)
{
	return setting->atomics || (op != ACCESS_ATOMIC && op != ACCESS_PEER_ATOMIC);
}

/* A new connection where the last one is over. */
static void
renew(struct bond *bond, struct world *world, const it_ep_attributes_t *attr)
{
	if (bond->near != NULL && !bond->over)
		return;
	if (bond->near != NULL)
		bond_close(bond);
	bond_open(bond, world, world->near.end.pz, attr);
}

static void
region_with(struct world *world, unsigned rights, const struct setting *setting)
{
	unsigned char *start = world->near.end.buffer + OFFSET;
	struct place place = {.addr = (uintptr_t)start, .length = 8};
	it_ep_attributes_t attr = attributes(world, setting);
	it_status_t status = it_lmr_create21(world->near.end.pz, start, NULL, LENGTH,
					     IT_ADDR_MODE_ABSOLUTE, (it_mem_priv_t)rights,
					     IT_LMR_FLAG_NONE, 0, &place.lmr, &place.context);
	g_autofree char *detail = words(rights, setting);
	struct bond bond = {.near = NULL};

	g_assert_cmpint(status, ==, region_possible(rights) ? IT_SUCCESS : IT_ERR_INVALID_PRIVS);
	for (unsigned op = 0; status == IT_SUCCESS && op < ACCESS_OPS; op++) {
		if (!possible(setting, (enum access_op)op))
			continue;
		renew(&bond, world, &attr);
		judge("region", (enum access_op)op, detail,
		      allowed((enum access_op)op, rights, setting),
		      access_try(&bond, (enum access_op)op, &place));
	}
	if (bond.near != NULL)
		bond_close(&bond);
	if (status == IT_SUCCESS)
		world_ok(world, it_lmr_free(place.lmr));
}

static struct world *
world_for(const char *what)
{
	struct world *world = g_new0(struct world, 1);

	g_assert_true(world_open(world, 1, what));
	return world;
}

static void
world_done(struct world *world)
{
	world_close(world);
	g_free(world);
}

static bool
local_reads_checked(const struct world *world)
{
	uint64_t support = 0;

	pair_ok(itx_ia_query_support(world->near.end.ia, &support));
	return (support & ITX_SUPPORT_LOCAL_READ_CHECK) != 0;
}

static void
test_regions(void)
{
	struct world *world = world_for("regions");

	for (unsigned enables = 0; enables < 8; enables++) {
		struct setting setting = setting_of(&world->near.end, enables);

		setting.local_read_checked = local_reads_checked(world);
		for (unsigned rights = 0; rights < SETS; rights++)
			region_with(world, rights, &setting);
	}
	world_done(world);
}

/* Link a window with these rights through the connection. */
static it_status_t
window_link(struct bond *bond, it_rmr_handle_t rmr, const struct place *place, unsigned rights,
	    it_rmr_context_t *context)
{
	struct world *world = bond->world;
	it_event_t event;
	it_status_t status = it_rmr_link(rmr, place->lmr, (void *)(uintptr_t)place->addr, LENGTH,
					 IT_ADDR_MODE_ABSOLUTE, (it_mem_priv_t)rights, bond->near,
					 7, SIGNALED, context);

	if (status != IT_SUCCESS)
		return status;
	world_ok(world, it_evd_wait(world->near.end.request, patience(), &event, NULL));
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
	return IT_SUCCESS;
}

/* A window of these rights over the region, tried with each operation of the peer. */
static void
window_with(struct world *world, it_rmr_type_t type, unsigned region, unsigned rights,
	    const struct setting *setting, struct place place)
{
	it_ep_attributes_t attr = attributes(world, setting);
	g_autofree char *detail = words(rights, setting);

	for (unsigned op = ACCESS_LOCAL_OPS; op < ACCESS_OPS; op++) {
		struct bond bond;
		it_rmr_handle_t rmr = NULL;
		it_status_t status;

		if (!possible(setting, (enum access_op)op))
			continue;
		bond_open(&bond, world, world->near.end.pz, &attr);
		world_ok(world, it_rmr_create20(world->near.end.pz, type, &rmr));
		status = window_link(&bond, rmr, &place, rights, &place.context);
		g_assert_cmpint(status, ==,
				window_possible(rights, region) ? IT_SUCCESS
								: IT_ERR_INVALID_PRIVS);
		if (status == IT_SUCCESS)
			judge("window", (enum access_op)op, detail,
			      allowed((enum access_op)op, rights, setting),
			      access_try(&bond, (enum access_op)op, &place));
		world_ok(world, it_rmr_free(rmr));
		bond_close(&bond);
		if (status != IT_SUCCESS)
			break;
	}
}

static void
windows_of(struct world *world, it_rmr_type_t type)
{
	static const unsigned regions[] = {IT_PRIV_LOCAL_READ, IT_PRIV_LOCAL_WRITE, IT_PRIV_LOCAL,
					   IT_PRIV_LOCAL | IT_PRIV_REMOTE};
	unsigned char *start = world->near.end.buffer + OFFSET;

	for (unsigned i = 0; i < G_N_ELEMENTS(regions); i++) {
		struct place place = {.addr = (uintptr_t)start, .length = 8};

		world_ok(world, it_lmr_create21(world->near.end.pz, start, NULL, LENGTH,
						IT_ADDR_MODE_ABSOLUTE, (it_mem_priv_t)regions[i],
						IT_LMR_FLAG_NONE, 0, &place.lmr, NULL));
		for (unsigned enables = 0; enables < 8; enables++) {
			struct setting setting = setting_of(&world->near.end, enables);

			if (enables != 7 && i + 2 < G_N_ELEMENTS(regions))
				continue; /* the enables count for what the window grants */
			for (unsigned rights = 4; rights < SETS; rights += 4)
				window_with(world, type, regions[i], rights, &setting, place);
		}
		world_ok(world, it_lmr_free(place.lmr));
	}
}

static void
test_windows(void)
{
	struct world *world = world_for("windows");

	if (end_has(&world->near.end, NEEDS_NARROW))
		windows_of(world, IT_RMR_TYPE_NARROW);
	if (end_has(&world->near.end, NEEDS_WIDE))
		windows_of(world, IT_RMR_TYPE_WIDE);
	world_done(world);
}

/* --- zones: whose memory an endpoint may use [IT 2.1], [IT 12.3] --- */

static it_dto_status_t
try_new(struct world *world, it_pz_handle_t pz, it_srq_handle_t srq, enum access_op op,
	const struct place *place)
{
	it_ep_attributes_t attr = world_helper(&world->near);
	it_dto_status_t status;
	struct bond bond;

	attr.srv.rc.srq = srq;
	bond_open(&bond, world, pz, &attr);
	status = access_try(&bond, op, place);
	bond_close(&bond);
	return status;
}

/* Each operation on a region of zone `memory` by an endpoint of zone `endpoint`. */
static void
test_zones(void)
{
	struct world *world = world_for("zones");
	const it_pz_handle_t zones[] = {world->near.end.pz, world->near.zone};
	const struct setting all = {.atomics = world->near.end.info->atomic_support};
	unsigned char *start = world->near.end.buffer + OFFSET;

	for (unsigned i = 0; i < 4; i++) {
		struct place place = {.addr = (uintptr_t)start, .length = 8};
		const char *detail = i % 2 == i / 2 ? "own zone" : "another zone";

		world_ok(world, it_lmr_create21(zones[i / 2], start, NULL, LENGTH,
						IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL,
						IT_LMR_FLAG_NONE, 0, &place.lmr, &place.context));
		for (unsigned op = 0; op < ACCESS_OPS; op++) {
			if (possible(&all, (enum access_op)op))
				judge("zone", (enum access_op)op, detail, i % 2 == i / 2,
				      try_new(world, zones[i % 2], NULL, (enum access_op)op,
					      &place));
		}
		world_ok(world, it_lmr_free(place.lmr));
	}
	world_done(world);
}

/* One receive of a shared queue of the zone, into the region, for an endpoint of the other zone. */
static it_dto_status_t
receive_shared(struct world *world, it_pz_handle_t zone, it_pz_handle_t endpoint,
	       const struct place *place)
{
	it_lmr_triplet_t to = {.lmr = place->lmr, .length = 8}, from = segment(&world->far, 0, 8);
	it_ep_attributes_t attr = world_helper(&world->near);
	it_srq_handle_t srq = NULL;
	struct bond bond;
	it_event_t event;

	to.addr.rel = place->addr;
	world_ok(world, it_srq_create(zone, 1, 4, &srq));
	attr.srv.rc.srq = srq;
	bond_open(&bond, world, endpoint, &attr);
	world_ok(world, it_post_recv((it_handle_t)srq, &to, 1, 1, 0));
	world_ok(world, it_post_send(bond.far, &from, 1, 2, SIGNALED));
	world_ok(world, it_evd_wait(world->near.end.recv, patience(), &event, NULL));
	if (event.dto_cmpl.dto_status == IT_DTO_SUCCESS) {
		it_event_t sent;

		world_ok(world, it_evd_wait(world->far.end.request, patience(), &sent, NULL));
	} else {
		bond.over = true;
		world_ok(world,
			 it_evd_wait(world->near.end.cm_msg, patience(), &(it_event_t){0}, NULL));
		world_ok(world,
			 it_evd_wait(world->far.end.cm_msg, patience(), &(it_event_t){0}, NULL));
		world_forget(world);
	}
	bond_close(&bond);
	world_ok(world, it_srq_free(srq));
	return event.dto_cmpl.dto_status;
}

/* The zone of the queue counts, not that of the endpoint. */
static void
test_shared_zones(void)
{
	struct world *world = world_for("shared zones");
	const it_pz_handle_t zones[] = {world->near.end.pz, world->near.zone};
	unsigned char *start = world->near.end.buffer + OFFSET;

	for (unsigned i = 0; world->near.end.info->srq_support && i < 8; i++) {
		unsigned memory = i & 1, queue = i >> 1 & 1, endpoint = i >> 2;
		struct place place = {.addr = (uintptr_t)start, .length = 8};

		world_ok(world, it_lmr_create21(zones[memory], start, NULL, LENGTH,
						IT_ADDR_MODE_ABSOLUTE, IT_PRIV_ALL,
						IT_LMR_FLAG_NONE, 0, &place.lmr, &place.context));
		judge("shared queue", ACCESS_RECEIVE, queue == endpoint ? "one zone" : "two zones",
		      memory == queue,
		      receive_shared(world, zones[queue], zones[endpoint], &place));
		world_ok(world, it_lmr_free(place.lmr));
	}
	world_done(world);
}

/* --- what a peer may unlink [IT 8.6.4] --- */

enum target {
	NARROW_HERE,      /* a window through the very endpoint */
	NARROW_ELSEWHERE, /* through another one of the zone */
	WIDE,
	LMR_FITS,  /* non-shareable, with a remote right */
	LMR_LOCAL, /* without */
	LMR_SHAREABLE,
	LMR_BUSY,      /* a window is linked to it */
	LMR_ELSEWHERE, /* of another zone */
	TARGETS
};

static const char *const target_names[TARGETS] = {
	"narrow window",
	"narrow window of another endpoint",
	"wide window",
	"region",
	"region without remote rights",
	"shareable region",
	"region with window",
	"region of another zone",
};

/* What is unlinked, and what it needs. */
struct victim {
	it_lmr_handle_t lmr;
	it_rmr_handle_t rmr;
	struct bond other; /* through which a window was linked */
	it_rmr_context_t context;
};

static void
victim_make(struct victim *victim, struct bond *bond, enum target target)
{
	struct world *world = bond->world;
	bool window = target <= WIDE || target == LMR_BUSY;
	unsigned char *start = world->near.end.buffer + OFFSET;
	unsigned privs = target == LMR_LOCAL ? IT_PRIV_LOCAL : IT_PRIV_LOCAL | IT_PRIV_REMOTE_READ;
	struct place place = {.addr = (uintptr_t)start, .length = 8};
	struct bond *through = target == NARROW_ELSEWHERE ? &victim->other : bond;
	it_ep_attributes_t attr = world_helper(&world->near);
	it_rmr_context_t unused = 0, *context;

	world_ok(world,
		 it_lmr_create21(target == LMR_ELSEWHERE ? world->near.zone : world->near.end.pz,
				 start, NULL, LENGTH, IT_ADDR_MODE_ABSOLUTE, (it_mem_priv_t)privs,
				 target == LMR_SHAREABLE ? IT_LMR_FLAG_NONE
							 : IT_LMR_FLAG_NON_SHAREABLE,
				 0, &victim->lmr, &victim->context));
	if (!window)
		return;
	if (target == NARROW_ELSEWHERE)
		bond_open(&victim->other, world, world->near.end.pz, &attr);
	place.lmr = victim->lmr;
	world_ok(world, it_rmr_create20(world->near.end.pz,
					target == WIDE ? IT_RMR_TYPE_WIDE : IT_RMR_TYPE_NARROW,
					&victim->rmr));
	context = target == LMR_BUSY ? &unused : &victim->context;
	world_ok(world, window_link(through, victim->rmr, &place, IT_PRIV_REMOTE_READ, context));
}

static void
victim_free(struct victim *victim, struct world *world)
{
	if (victim->rmr != NULL)
		world_ok(world, it_rmr_free(victim->rmr));
	world_ok(world, it_lmr_free(victim->lmr));
	if (victim->other.near != NULL)
		bond_close(&victim->other);
}

static void
unlink_with(struct world *world, enum target target, const struct setting *setting)
{
	bool fits = target == NARROW_HERE || target == LMR_FITS;
	it_ep_attributes_t attr = attributes(world, setting);
	g_autofree char *detail = words(0, setting);
	struct victim victim = {.lmr = NULL};
	it_dto_status_t status;
	struct bond bond;

	bond_open(&bond, world, world->near.end.pz, &attr);
	victim_make(&victim, &bond, target);
	status = access_unlink(&bond, victim.context);
	judge(target_names[target], ACCESS_RECEIVE, detail,
	      fits && (setting->read || setting->write), status);
	victim_free(&victim, world);
	bond_close(&bond);
}

static void
test_unlinks(void)
{
	struct world *world = world_for("unlinks");

	for (unsigned target = 0; target < TARGETS; target++) {
		if (!end_has(&world->near.end, NEEDS_REMOTE_UNLINK | NEEDS_NARROW) ||
		    (target == WIDE && !end_has(&world->near.end, NEEDS_WIDE)))
			continue;
		for (unsigned enables = 0; enables < 8; enables++) {
			struct setting setting = setting_of(&world->near.end, enables);

			unlink_with(world, (enum target)target, &setting);
		}
	}
	world_done(world);
}

static void
add(void)
{
	pair_add_bare("rights/zones", test_zones);
	pair_add_bare("rights/shared-zones", test_shared_zones);
	pair_add_bare("rights/unlinks", test_unlinks);
	pair_add_bare("rights/regions", test_regions);
	pair_add_bare("rights/windows", test_windows);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
