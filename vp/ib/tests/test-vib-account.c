/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Refuses each call of libibverbs that a verb makes, in turn: all objects must be unchanged, octet by octet, and so
 * must the resources that the device, the kernel and the caller have for them. Then the verb must succeed, and at the
 * end nothing may be left. CQs are also armed in any order and compared with a model: each arming is answered or has
 * one event, but not both.
 */
#include <string.h>

#include "vib_cq.h"
#include "vib_data.h"
#include "vib_peer.h"
#include "vib_post.h"
#include "vib_profile.h"

#define COUNTED  12
#define OBJECTS  9
#define STEPS    20000
#define ENTRIES  16
#define SMALL_CQ 4

static const struct ri_addr group = {.family = RI_ADDR_IPV4, .octets = {224, 0, 0, 77}};

struct world {
	struct device *d;
	struct ri_cq *cq; /* small; nobody uses it */
	struct ri_srq *srq, *idle_srq;
	struct vib_qp *rc, *shared, *ud, *spare;
	struct data_region region;
	union {
		struct ri_pd *pd;
		struct ri_cq *cq;
		struct ri_srq *srq;
		struct ri_qp *qp;
		struct ri_mr *mr;
		struct ri_mw *mw;
		struct ri_ah *ah;
	} made;
};

static enum ri_status
srq_make(struct world *w, struct ri_srq **srq, uint32_t limit)
{
	struct ri_srq_attr attr = {.ctx = 5, .max_wr = 8, .max_sge = 1, .limit = limit};

	return vib_srq_ops.create(w->d->pd, &attr, srq, &w->d->map);
}

static enum ri_status
cq_make(struct world *w, struct ri_cq **cq)
{
	uint32_t entries = SMALL_CQ;

	return vib_cq_ops.create(w->d->context, 9, &entries, cq, &w->d->map);
}

static enum ri_status
qp_make(struct world *w, bool ud, struct ri_srq *srq, struct ri_qp **qp)
{
	struct ri_qp_init init = device_qp_init(ud, 8);

	if (srq != NULL)
		init.max_rq_wr = init.max_recv_sge = 0;
	return vib_qp_ops.create(w->d->pd, &init, w->d->cq, w->d->cq, srq, qp, &w->d->map);
}

static enum ri_status
srq_post(struct world *w)
{
	const struct ri_recv_wr wr = {.wr_id = 77};

	return vib_post_srq(&w->srq->user, &wr);
}

static enum ri_status
rq_post(struct world *w)
{
	const struct ri_recv_wr wr = {.wr_id = 77};

	return vib_post_rq(&w->rc->user, &wr);
}

static enum ri_status
sq_post(struct world *w)
{
	return data_post(w->rc, &w->region, 78, RI_WR_SIGNALED);
}

static void
world_new(struct world *w)
{
	struct device *d = device_new();

	memset(w, 0, sizeof(*w));
	w->d = d;
	d->verbs.ops.post_srq_recv = device_post_srq_recv;
	d->rnic.attr.srq = d->rnic.attr.srq_resizable = d->rnic.attr.cq_resizable = true;
	d->rnic.attr.enables_modifiable = true;
	d->rnic.attr.max_srq_wr = 64;
	g_assert_cmpint(srq_make(w, &w->srq, 0), ==, RI_SUCCESS);
	g_assert_cmpint(srq_make(w, &w->idle_srq, 0), ==, RI_SUCCESS);
	g_assert_cmpint(cq_make(w, &w->cq), ==, RI_SUCCESS);
	w->rc = device_qp(d, false);
	w->ud = device_qp(d, true);
	g_assert_cmpint(qp_make(w, false, w->srq, (struct ri_qp **)&w->shared), ==, RI_SUCCESS);
	g_assert_cmpint(qp_make(w, false, NULL, (struct ri_qp **)&w->spare), ==, RI_SUCCESS);
	data_region_new(d, &w->region, sizeof(data_memory));
	/* Slots that are free are of one list from here on. */
	for (unsigned i = 0; i < 4; i++)
		g_assert_cmpint(srq_post(w), ==, RI_SUCCESS);
	g_assert_cmpint(rq_post(w), ==, RI_SUCCESS);
	g_assert_cmpint(sq_post(w), ==, RI_SUCCESS);
}

static void
world_free(struct world *w)
{
	data_region_free(&w->region);
	data_qp_end(&w->spare);
	data_qp_end(&w->shared);
	data_qp_end(&w->ud);
	data_qp_end(&w->rc);
	if (w->cq != NULL)
		g_assert_cmpint(vib_cq_ops.destroy(w->cq), ==, RI_SUCCESS);
	if (w->idle_srq != NULL)
		g_assert_cmpint(vib_srq_ops.destroy(w->idle_srq), ==, RI_SUCCESS);
	g_assert_cmpint(vib_srq_ops.destroy(w->srq), ==, RI_SUCCESS);
	device_free(&w->d);
}

/* --- the account ---------------------------------------------------------------------------------- */

struct account {
	int64_t counts[COUNTED];
	GBytes *octets[OBJECTS];
};

static unsigned
entries_of(const char *folder)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	unsigned count = 0;

	while (g_dir_read_name(dir) != NULL)
		count++;
	return count;
}

/* Without what it has prepared of a request before it was refused, and without the last peer's name, which is for the log. */
static GBytes *
octets_of_qp(const struct vib_qp *qp)
{
	struct vib_qp copy = *qp;

	memset(&copy.user.quick, 0, sizeof(copy.user.quick));
	memset(copy.peer, 0, sizeof(copy.peer));
	return g_bytes_new(&copy, sizeof(copy));
}

static struct account
account_of(const struct world *w)
{
	const struct device *d = w->d;
	struct ri_srq_attr attr = {0}, idle = {0};
	struct account account;

	g_assert_cmpint(vib_srq_ops.query(w->srq, &attr), ==, RI_SUCCESS);
	g_assert_cmpint(vib_srq_ops.query(w->idle_srq, &idle), ==, RI_SUCCESS);
	account = (struct account){
		.counts = {d->pds, d->cqs, d->srqs, d->qps, d->regions, d->windows, d->ahs,
			   d->groups, entries_of("/proc/self/fd"),
			   d->async_events->len + d->cm_events->len,
			   (int64_t)attr.limit << 32 | attr.max_wr,
			   (int64_t)idle.limit << 32 | idle.max_wr},
		.octets = {g_bytes_new(d->context, sizeof(*d->context)),
			   g_bytes_new(d->pd, sizeof(*d->pd)), g_bytes_new(w->cq, sizeof(*w->cq)),
			   g_bytes_new(d->cq, sizeof(*d->cq)),
			   g_bytes_new(w->idle_srq, sizeof(*w->idle_srq)),
			   g_bytes_new(w->srq, sizeof(*w->srq)), octets_of_qp(w->rc),
			   octets_of_qp(w->ud), octets_of_qp(w->spare)},
	};
	return account;
}

static void
account_free(struct account *account)
{
	for (unsigned i = 0; i < OBJECTS; i++)
		g_bytes_unref(account->octets[i]);
}

static void
expect_same(const struct account *before, const struct account *after)
{
	for (unsigned i = 0; i < COUNTED; i++) {
		g_test_message("count %u", i);
		g_assert_cmpint(before->counts[i], ==, after->counts[i]);
	}
	for (unsigned i = 0; i < OBJECTS; i++) {
		gsize size, same;
		const uint8_t *a = g_bytes_get_data(before->octets[i], &size);
		const uint8_t *b = g_bytes_get_data(after->octets[i], &same);

		g_test_message("object %u", i);
		for (gsize at = 0; at < size; at++)
			if (a[at] != b[at])
				g_test_message("octet %zu is %02x and not %02x", at, b[at], a[at]);
		g_assert_cmpmem(a, size, b, same);
	}
}

/* --- verbs ---------------------------------------------------------------------------------------- */

static enum ri_status
pd_create(struct world *w)
{
	return vib_pd_ops.create(w->d->context, &w->made.pd);
}

static void
pd_destroy(struct world *w)
{
	g_assert_cmpint(vib_pd_ops.destroy(w->made.pd), ==, RI_SUCCESS);
}

static enum ri_status
cq_create(struct world *w)
{
	return cq_make(w, &w->made.cq);
}

static void
cq_undo(struct world *w)
{
	g_assert_cmpint(vib_cq_ops.destroy(w->made.cq), ==, RI_SUCCESS);
}

static enum ri_status
cq_resize(struct world *w)
{
	uint32_t entries = 2 * SMALL_CQ;

	return vib_cq_ops.resize(w->cq, &entries, &w->d->map);
}

static enum ri_status
cq_destroy(struct world *w)
{
	enum ri_status status = vib_cq_ops.destroy(w->cq);

	if (status == RI_SUCCESS)
		w->cq = NULL;
	return status;
}

static enum ri_status
srq_create(struct world *w)
{
	return srq_make(w, &w->made.srq, 3);
}

static void
srq_undo(struct world *w)
{
	g_assert_cmpint(vib_srq_ops.destroy(w->made.srq), ==, RI_SUCCESS);
}

static enum ri_status
srq_arm(struct world *w)
{
	struct ri_srq_attr attr = {.limit = 2};

	return vib_srq_ops.modify(w->srq, &attr, false, &w->d->map);
}

static enum ri_status
srq_resize(struct world *w)
{
	struct ri_srq_attr attr = {.limit = RI_SRQ_LIMIT_KEEP, .max_wr = 32};

	return vib_srq_ops.modify(w->srq, &attr, true, &w->d->map);
}

static enum ri_status
srq_destroy(struct world *w)
{
	enum ri_status status = vib_srq_ops.destroy(w->idle_srq);

	if (status == RI_SUCCESS)
		w->idle_srq = NULL;
	return status;
}

static enum ri_status
rc_create(struct world *w)
{
	return qp_make(w, false, NULL, &w->made.qp);
}

static enum ri_status
ud_create(struct world *w)
{
	return qp_make(w, true, NULL, &w->made.qp);
}

static enum ri_status
shared_create(struct world *w)
{
	return qp_make(w, false, w->srq, &w->made.qp);
}

static void
qp_undo(struct world *w)
{
	g_assert_cmpint(vib_qp_ops.destroy(w->made.qp), ==, RI_SUCCESS);
}

static enum ri_status
rights(struct world *w)
{
	const struct ri_qp_attr attr = {.access = w->rc->init.access ^ RI_ACCESS_REMOTE_WRITE};

	return vib_qp_ops.modify((struct ri_qp *)w->rc, &attr, RI_QP_ATTR_ACCESS);
}

static enum ri_status
qkey(struct world *w)
{
	const struct ri_qp_attr attr = {.qkey = 0x4321};

	return vib_qp_ops.modify((struct ri_qp *)w->ud, &attr, RI_QP_ATTR_QKEY);
}

static const struct ri_peer peer = {
	.path = {.dest = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 9}}},
	.qpn = 0xabcdef,
	.path_mtu = 1024,
	.ird = 3,
	.ord = 5,
};

static enum ri_status
peer_receive(struct world *w)
{
	return vib_peer_ops.receive((struct ri_qp *)w->spare, &peer);
}

static void
receives(struct world *w)
{
	g_assert_cmpint(peer_receive(w), ==, RI_SUCCESS);
}

static enum ri_status
peer_send(struct world *w)
{
	return vib_peer_ops.send((struct ri_qp *)w->spare, &peer);
}

static enum ri_status
spare_move(struct world *w, enum ri_qp_state state)
{
	const struct ri_qp_attr attr = {.state = state};

	return vib_qp_ops.modify((struct ri_qp *)w->spare, &attr, RI_QP_ATTR_STATE);
}

static void
has_lived(struct world *w)
{
	g_assert_cmpint(peer_receive(w), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(w), ==, RI_SUCCESS);
	g_assert_cmpint(spare_move(w, RI_QPS_ERROR), ==, RI_SUCCESS);
	vth_run(w->d->vth);
}

static enum ri_status
qp_reset(struct world *w)
{
	return spare_move(w, RI_QPS_IDLE);
}

static enum ri_status
attach(struct world *w)
{
	return vib_qp_ops.mcast_attach((struct ri_qp *)w->ud, &group);
}

static void
detach(struct world *w)
{
	g_assert_cmpint(vib_qp_ops.mcast_detach((struct ri_qp *)w->ud, &group), ==, RI_SUCCESS);
}

static enum ri_status
mr_reg(struct world *w)
{
	const struct ri_mr_init init = {.addr = (uintptr_t)data_memory,
					.length = 100,
					.access = RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE};
	uint32_t stag;

	return vib_mem_ops.mr_reg(w->d->pd, &init, &w->made.mr, &stag);
}

static void
mr_undo(struct world *w)
{
	g_assert_cmpint(vib_mem_ops.mr_dereg(w->made.mr), ==, RI_SUCCESS);
}

static enum ri_status
mw_alloc(struct world *w)
{
	uint32_t stag;

	return vib_mem_ops.mw_alloc(w->d->pd, RI_MW_NARROW, &w->made.mw, &stag);
}

static void
mw_undo(struct world *w)
{
	g_assert_cmpint(vib_mem_ops.mw_free(w->made.mw), ==, RI_SUCCESS);
}

static enum ri_status
ah_create(struct world *w)
{
	const struct ri_ah_init init = {.dest = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 1}}};
	uint32_t id;

	return vib_ah_ops.create(w->d->pd, &init, &w->made.ah, &id);
}

static void
ah_undo(struct world *w)
{
	g_assert_cmpint(vib_ah_ops.destroy(w->made.ah), ==, RI_SUCCESS);
}

static const struct verb {
	const char *name;
	enum ri_status (*call)(struct world *w);
	void (*undo)(struct world *w); /* NULL: the end of the world does that */
	void (*prepare)(struct world *w);
	bool retries; /* a refused call is made in another way, and may succeed */
} verbs[] = {{.name = "pd-create", .call = pd_create, .undo = pd_destroy},
	     {.name = "cq-create", .call = cq_create, .undo = cq_undo},
	     {.name = "cq-resize", .call = cq_resize},
	     {.name = "cq-destroy", .call = cq_destroy},
	     {.name = "srq-create", .call = srq_create, .undo = srq_undo},
	     {.name = "srq-arm", .call = srq_arm},
	     {.name = "srq-resize", .call = srq_resize},
	     {.name = "srq-destroy", .call = srq_destroy},
	     {.name = "srq-post", .call = srq_post},
	     {.name = "rq-post", .call = rq_post},
	     {.name = "sq-post", .call = sq_post},
	     {.name = "rc-create", .call = rc_create, .undo = qp_undo, .retries = true},
	     {.name = "ud-create", .call = ud_create, .undo = qp_undo, .retries = true},
	     {.name = "shared-create", .call = shared_create, .undo = qp_undo, .retries = true},
	     {.name = "qp-rights", .call = rights},
	     {.name = "qp-qkey", .call = qkey},
	     {.name = "peer-receive", .call = peer_receive},
	     {.name = "peer-send", .call = peer_send, .prepare = receives},
	     {.name = "qp-reset", .call = qp_reset, .prepare = has_lived},
	     {.name = "mcast-attach", .call = attach, .undo = detach},
	     {.name = "mr-reg", .call = mr_reg, .undo = mr_undo},
	     {.name = "mw-alloc", .call = mw_alloc, .undo = mw_undo},
	     {.name = "ah-create", .call = ah_create, .undo = ah_undo}};

/* False: the verb makes fewer calls. */
static bool
refuse(const struct verb *verb, unsigned number)
{
	struct account before, after;
	enum ri_status status;
	struct world w;
	bool refused;

	world_new(&w);
	if (verb->prepare != NULL)
		verb->prepare(&w);
	before = account_of(&w);
	w.d->verb_refused = w.d->verbs_made + number;
	status = verb->call(&w);
	refused = w.d->verbs_made >= w.d->verb_refused;
	w.d->verb_refused = 0;
	g_test_message("call %u", number);
	if (refused && !(verb->retries && status == RI_SUCCESS)) {
		g_assert_cmpint(status, !=, RI_SUCCESS);
		after = account_of(&w);
		expect_same(&before, &after);
		account_free(&after);
		status = verb->call(&w);
	}
	g_assert_cmpint(status, ==, RI_SUCCESS);
	if (verb->undo != NULL)
		verb->undo(&w);
	account_free(&before);
	world_free(&w);
	return refused;
}

static void
test_verb(gconstpointer arg)
{
	unsigned number = 1;

	while (refuse(arg, number))
		number++;
	g_assert_cmpuint(number, >, 1); /* it has a call that can be refused */
}

/* --- armings -------------------------------------------------------------------------------------- */

struct arms {
	struct world w;
	GRand *chance;
	unsigned queued; /* completions that were not polled */
	enum ri_arm armed;
	uint32_t count;
};

/* A request is posted and completed. */
static void
completes(struct device *d)
{
	(void)d->in_notify;
	device_complete(d, IBV_WC_SUCCESS);
}

static bool
holds(const struct arms *a)
{
	/* Nothing is solicited: what is received says so, and these are Writes. */
	return (a->armed == RI_ARM_NEXT && a->queued > 0) ||
	       (a->armed == RI_ARM_COUNT && a->queued >= a->count);
}

static void
arm(struct arms *a)
{
	bool late = g_rand_boolean(a->chance) && a->queued < ENTRIES;
	enum ri_status status;

	a->armed = g_rand_boolean(a->chance) ? RI_ARM_NEXT : RI_ARM_COUNT;
	a->count = (uint32_t)g_rand_int_range(a->chance, 1, ENTRIES);
	if (late) {
		g_assert_cmpint(sq_post(&a->w), ==, RI_SUCCESS);
		a->w.d->in_notify = completes;
	}
	status = vib_arm_cq(&a->w.d->cq->user, a->armed, a->armed == RI_ARM_COUNT ? a->count : 0);
	if (late && a->w.d->in_notify != NULL) { /* the device was not asked */
		a->w.d->in_notify = NULL;
		g_assert_cmpint(status, ==, holds(a) ? RI_ERR_NOT_EMPTY : RI_SUCCESS);
		completes(a->w.d);
		a->queued++;
		if (status == RI_ERR_NOT_EMPTY)
			a->armed = RI_ARM_NONE;
		return;
	}
	a->queued += late;
	g_assert_cmpint(status, ==, holds(a) ? RI_ERR_NOT_EMPTY : RI_SUCCESS);
	if (status == RI_ERR_NOT_EMPTY)
		a->armed = RI_ARM_NONE;
}

/* The device reports a completion, as vib_events.c handles it. */
static void
device_event(struct arms *a)
{
	a->w.d->cq->user.listening = false;
	vib_cq_tell(a->w.d->cq);
}

static void
arms_step(struct arms *a)
{
	unsigned before = a->w.d->cq_events;
	struct ri_wc wc;
	bool due = false;

	switch (g_rand_int_range(a->chance, 0, 4)) {
	case 0:
		arm(a);
		break;
	case 1:
		if (a->queued < ENTRIES) {
			g_assert_cmpint(sq_post(&a->w), ==, RI_SUCCESS);
			completes(a->w.d);
			a->queued++;
		}
		break;
	case 2:
		if (vib_fast_ops.poll_cq(&a->w.d->cq->user, &wc, 1) == 1)
			a->queued--;
		break;
	default:
		due = holds(a);
		device_event(a);
		if (due)
			a->armed = RI_ARM_NONE;
		break;
	}
	g_assert_cmpuint(a->w.d->cq_events, ==, before + due);
}

static void
test_arms(void)
{
	struct arms a = {.armed = RI_ARM_NONE};
	struct ri_wc wc;

	world_new(&a.w);
	a.chance = g_rand_new_with_seed(4711);
	completes(a.w.d);
	a.queued = 1;
	for (unsigned i = 0; i < STEPS; i++)
		arms_step(&a);
	while (vib_fast_ops.poll_cq(&a.w.d->cq->user, &wc, 1) == 1)
		a.queued--;
	g_assert_cmpuint(a.queued, ==, 0);
	g_rand_free(a.chance);
	world_free(&a.w);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
		g_autofree char *path = g_strdup_printf("/ib/account/%s", verbs[i].name);

		g_test_add_data_func(path, &verbs[i], test_verb);
	}
	g_test_add_func("/ib/account/arms", test_arms);
	return g_test_run();
}
