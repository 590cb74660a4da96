/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The emulated fabric at its limits: sizes, rights that only one kind of access needs, and lists of
 * segments that are divided at unusual places.
 */
#include <string.h>

#include "vem.h"
#include "vem_dgram.h"
#include "vem_fault.h"
#include "vsw_mem_table.h"
#include "vsw_user_objects.h"

#define RA       RI_ACCESS_REMOTE_ATOMIC
#define LISTENER ((const void *)(uintptr_t)42)

/* Two connected ends in virtual time. */
static void
set_up(struct ends *p, const char *adapter, bool copy_only)
{
	struct ri_qp_init init;

	ends_open(p, adapter);
	vth_copy_only(p->vth, copy_only);
	init = end_defaults(p->na);
	init.access |= RA;
	ends_fill(p, &init, &init, 16384, ALL_RW | RA);
	ends_connect(p->a, p->b);
}

/* No access is under way: the memory can be deregistered. */
static void
unused(const struct chunk *c)
{
	const struct vsw_mem_entry *entry = vsw_mem_at(c->node->rnic->mem, c->stag);

	g_assert_nonnull(entry);
	g_assert_cmpuint(atomic_load(&entry->uses), ==, 0);
	for (guint i = 0; i < VSW_MARKS_EACH && vsw_marks_mine != NULL; i++)
		g_assert_true(atomic_load(&vsw_marks_mine->entry[i]) != entry);
}

static void
allow(struct end *end, uint32_t access)
{
	const struct ri_qp_attr attr = {.access = access};

	g_assert_cmpint(emul()->qp->modify(end->qp, &attr, RI_QP_ATTR_ACCESS), ==, RI_SUCCESS);
}

/* --- atomics -------------------------------------------------------------------------------- */

static void
add(struct ends *p, uint64_t id, uint64_t offset, uint32_t stag, uint32_t result)
{
	struct ri_sge local = chunk_sge(&p->ma, 0, result);
	struct ri_wr wr = {
		.wr_id = id,
		.sgl = &local,
		.num_sge = result > 0,
		.opcode = RI_OP_FETCH_ADD,
		.flags = RI_WR_SIGNALED,
		.u.remote = {.addr = (uintptr_t)p->mb.at + offset, .stag = stag, .operand = 1}};

	g_assert_cmpint(emul()->fast->post_sq(p->a->uqp, &wr), ==, RI_SUCCESS);
}

/* A valid atomic, then one that is refused with this status. */
static void
refused_add(uint64_t offset, uint32_t flaw, uint32_t result, enum ri_wc_status status)
{
	struct ends p RI_AT_END(ends_drop);

	set_up(&p, "emul:ib", false);
	memset(p.mb.at, 0, 64);
	add(&p, 1, 0, p.mb.stag, 8);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	add(&p, 2, offset, p.mb.stag ^ flaw, result);
	poll_one(p.a->uscq, 2, status);
	unused(&p.mb);
	g_assert_cmpuint(p.mb.at[0], ==, 1);
	g_assert_cmpuint(p.mb.at[8], ==, 0);
}

static void
test_atomics(void)
{
	struct ends p;
	const struct ri_qp_attr none = {.ird = 0};

	refused_add(4, 0, 8, RI_WC_REMOTE_INVALID_REQ);
	refused_add(4, 1, 8, RI_WC_REMOTE_INVALID_REQ); /* checked before the key */
	refused_add(8, 1, 8, RI_WC_REMOTE_ACCESS);
	refused_add(8, 0, 4, RI_WC_LOCAL_PROTECTION);
	refused_add(8, 0, 0, RI_WC_LOCAL_PROTECTION);
	/* The right of the peer's queue pair is needed beside that of the memory. */
	set_up(&p, "emul:ib", false);
	allow(p.b, RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE);
	add(&p, 1, 0, p.mb.stag, 8);
	poll_one(p.a->uscq, 1, RI_WC_REMOTE_ACCESS);
	ends_drop(&p);
	set_up(&p, "emul:ib", false);
	/* An undefined bit changes nothing. */
	g_assert_cmpint(emul()->qp->modify(p.b->qp, &none, RI_QP_ATTR_IRD | 1u << 31), ==,
			RI_ERR_INVALID_ARG);
	add(&p, 1, 0, p.mb.stag, 8);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	g_assert_cmpint(emul()->qp->modify(p.b->qp, &none, RI_QP_ATTR_IRD), ==, RI_SUCCESS);
	add(&p, 1, 0, p.mb.stag, 8);
	poll_one(p.a->uscq, 1, RI_WC_REMOTE_INVALID_REQ);
	ends_drop(&p);
	/* A queue pair that may have no Read outstanding may have no atomic outstanding. */
	set_up(&p, "emul:ib", false);
	g_assert_cmpint(emul()->qp->modify(p.a->qp, &none, RI_QP_ATTR_ORD), ==, RI_SUCCESS);
	add(&p, 1, 0, p.mb.stag, 8);
	poll_one(p.a->uscq, 1, RI_WC_LOCAL_QP);
	ends_drop(&p);
}

/* --- one-sided and Send --------------------------------------------------------------------- */

static void
test_local_rights(void)
{
	struct ends p RI_AT_END(ends_drop);
	struct chunk sink;
	struct ri_sge local, remote;

	set_up(&p, "emul:iwarp", false);
	sink = chunk_new(p.na, 64, RI_ACCESS_LOCAL_WRITE);
	local = chunk_sge(&sink, 0, 8);
	remote = chunk_sge(&p.mb, 0, 8);
	post_rdma(p.a, RI_OP_RDMA_WRITE, 1, &local, &remote);
	poll_one(p.a->uscq, 1, RI_WC_LOCAL_PROTECTION); /* sending needs no remote right */
	chunk_free(&sink);
}

/* Of a Write of length 0 nothing is checked; of a Read of length 0 the right of the queue pair, but no key. */
static void
test_no_octets(void)
{
	struct ends p RI_AT_END(ends_drop);
	struct ri_sge local, remote;

	set_up(&p, "emul:ib", false);
	local = chunk_sge(&p.ma, 0, 0);
	remote = chunk_sge(&p.mb, 0, 0);
	remote.stag ^= 1;
	post_rdma(p.a, RI_OP_RDMA_READ, 1, &local, &remote);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	allow(p.b, 0);
	post_rdma(p.a, RI_OP_RDMA_WRITE, 2, &local, &remote);
	poll_one(p.a->uscq, 2, RI_WC_SUCCESS);
	post_rdma(p.a, RI_OP_RDMA_READ, 3, &local, &remote);
	poll_one(p.a->uscq, 3, RI_WC_REMOTE_ACCESS);
}

/* On iWARP the sink of a Read needs the right to write remotely, except for length 0. */
static void
test_sink_enabled(void)
{
	struct ends p RI_AT_END(ends_drop);
	struct ri_sge local, remote;

	ends_open(&p, "emul:iwarp");
	struct ri_qp_init init = end_defaults(p.na);
	init.access = RI_ACCESS_REMOTE_READ;
	ends_fill(&p, &init, NULL, 64, ALL_RW);
	ends_connect(p.a, p.b);
	local = chunk_sge(&p.ma, 0, 0);
	remote = chunk_sge(&p.mb, 0, 0);
	post_rdma(p.a, RI_OP_RDMA_READ, 1, &local, &remote);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	local = chunk_sge(&p.ma, 0, 8);
	post_rdma(p.a, RI_OP_RDMA_READ, 2, &local, &remote);
	poll_one(p.a->uscq, 2, RI_WC_LOCAL_PROTECTION);
	unused(&p.mb);
}

/* A message one byte longer than the maximum is too long, whatever else is wrong with it. */
static void
test_longest_message(void)
{
	struct ends p RI_AT_END(ends_drop);
	struct ri_sge sge;

	set_up(&p, "emul:ib", false);
	sge = chunk_sge(&p.ma, 0, 8);
	sge.length = p.na->attr.max_message_size + 1;
	post_send(p.a, 1, &sge, 0);
	poll_one(p.a->uscq, 1, RI_WC_LOCAL_LENGTH);
}

/* A receive that fails wakes a thread that waits for solicited completions. */
static void
test_failure_solicits(void)
{
	struct ends p RI_AT_END(ends_drop);
	struct ri_sge small, large;

	set_up(&p, "emul:ib", false);
	small = chunk_sge(&p.mb, 0, 16);
	large = chunk_sge(&p.ma, 0, 32);
	post_recv(p.b, 1, &small);
	g_assert_cmpint(emul()->fast->arm_cq(p.b->urcq, RI_ARM_SOLICITED, 0), ==, RI_SUCCESS);
	g_assert_cmpuint(p.nb->cq_events, ==, 0);
	post_send(p.a, 1, &large, 0);
	g_assert_cmpuint(p.nb->cq_events, ==, 1);
	poll_one(p.b->urcq, 1, RI_WC_LOCAL_LENGTH);
}

/* Memory that only the host can copy: not one byte beyond the request is copied. */
static void
test_through_host(void)
{
	struct ends p RI_AT_END(ends_drop);
	struct ri_sge local, remote;

	set_up(&p, "emul:ib", true);
	chunk_fill(&p.ma, 7);
	memset(p.mb.at, 0xee, p.mb.len);
	local = chunk_sge(&p.ma, 0, 5000);
	remote = chunk_sge(&p.mb, 0, 5000);
	post_rdma(p.a, RI_OP_RDMA_WRITE, 1, &local, &remote);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	g_assert_cmpmem(p.mb.at, 5000, p.ma.at, 5000);
	for (size_t i = 5000; i < p.mb.len; i++)
		g_assert_cmpuint(p.mb.at[i], ==, 0xee);
}

/* --- limits of verbs ------------------------------------------------------------------------ */

static void
test_shared_queue_limits(void)
{
	struct ends p RI_AT_END(ends_drop);
	struct ri_srq_attr attr = {.max_wr = 65537, .max_sge = 1};
	struct ri_srq *srq = NULL;
	struct ri_map map;

	set_up(&p, "emul:ib", false);
	g_assert_cmpint(emul()->srq->create(p.na->pd, &attr, &srq, &map), ==, RI_ERR_LIMIT);
	attr = (struct ri_srq_attr){.max_wr = 4, .max_sge = p.na->attr.max_recv_sge + 1};
	g_assert_cmpint(emul()->srq->create(p.na->pd, &attr, &srq, &map), ==, RI_ERR_LIMIT);
	attr = (struct ri_srq_attr){.max_wr = 4, .max_sge = 1};
	g_assert_cmpint(emul()->srq->create(p.na->pd, &attr, &srq, &map), ==, RI_SUCCESS);
	attr = (struct ri_srq_attr){.max_wr = 65537, .limit = RI_SRQ_LIMIT_KEEP};
	g_assert_cmpint(emul()->srq->modify(srq, &attr, true, &map), ==, RI_ERR_LIMIT);
	g_assert_cmpint(emul()->srq->destroy(srq), ==, RI_SUCCESS);
}

static void
test_connection_limits(void)
{
	struct ends p RI_AT_END(ends_drop);
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct ri_service other = {.kind = RI_SERVICE_PORT};
	struct ri_listen *listen, *second;
	struct end *late;

	set_up(&p, "emul:iwarp", false);
	late = end_new(p.na, NULL);
	g_assert_cmpint(emul()->cm->listen(p.nb->context, 41, 0, &other, 1, &second), ==,
			RI_SUCCESS);
	/* A backlog of 0 holds one request. */
	g_assert_cmpint(emul()->cm->listen(p.nb->context, 42, 0, &service, 0, &listen), ==,
			RI_SUCCESS);
	struct ri_cm_params params = node_params(&service);
	params.ird = p.na->attr.max_ird + 1;
	g_assert_cmpint(emul()->cm->connect(late->qp, &params), ==, RI_ERR_LIMIT);
	params.ird = 7;
	params.ord = 7;
	params.ird_ord = false;
	g_assert_cmpint(emul()->cm->connect(late->qp, &params), ==, RI_SUCCESS);
	/* The end of one listener does not drop the events of the other. */
	emul()->cm->listen_destroy(second);
	struct ri_cm_event event = node_cm(p.nb, RI_CM_REQUEST, LISTENER);
	g_assert_false(event.ird_ord_valid);
	g_assert_cmpuint(event.ird, ==, 0);
	g_assert_cmpuint(event.ord, ==, 0);
	/* Only an idle queue pair can accept. */
	params.ird = params.ord = 1;
	g_assert_cmpint(emul()->cm->accept(event.request, p.b->qp, &params), ==,
			RI_ERR_INVALID_STATE);
	g_assert_cmpint(end_modify(p.b, RI_QPS_ERROR), ==, RI_SUCCESS);
	node_run(p.nb);
	g_assert_cmpint(emul()->cm->accept(event.request, p.b->qp, &params), ==,
			RI_ERR_INVALID_STATE);
	/* The end of a request is not lost either. */
	node_forget(p.nb); /* the end of the connection */
	end_free(&late);
	emul()->cm->listen_destroy(listen);
	node_cm(p.nb, RI_CM_REQUEST_GONE, NULL);
}

/* --- datagrams ------------------------------------------------------------------------------ */

struct post {
	struct vth *vth;
	struct node *n;
	struct end *a, *b;
	struct chunk m;
	struct ri_ah *ah;
	uint32_t way;
};

static void
post_open(struct post *s)
{
	s->vth = vth_new(false);
	s->n = node_new(s->vth, false, "emul:ib");
	s->a = ud_new(s->n, 64);
	s->b = ud_new(s->n, 64);
	s->m = chunk_new(s->n, 8192, ALL_RW);
	chunk_fill(&s->m, 5);
	s->ah = ah_new(s->n, NULL, &s->way);
}

static void
post_close(struct post *s)
{
	g_assert_cmpint(emul()->ah->destroy(s->ah), ==, RI_SUCCESS);
	chunk_free(&s->m);
	end_free(&s->a);
	end_free(&s->b);
	node_free(&s->n);
	vth_free(&s->vth);
}

static void
mail(struct post *s, uint64_t id, uint32_t way, uint32_t qpn, uint32_t key,
     enum ri_wc_status status)
{
	const struct ri_wr_ud ud = {.ah = way, .qpn = qpn, .qkey = key};
	struct ri_sge sge = chunk_sge(&s->m, 0, 5);

	g_assert_cmpint(send_to(s->a, id, &sge, &ud), ==, RI_SUCCESS);
	poll_one(s->a->uscq, id, status);
	g_assert_cmpuint(atomic_load(&end_qp(s->b)->inside), ==, 0);
}

/* An adapter whose port is down accepts no connection and keeps no request. */
static void
test_offline(void)
{
	struct post s RI_AT_END(post_close);
	struct ri_sge room;

	post_open(&s);
	room = chunk_sge(&s.m, 1024, 100);
	post_recv(s.b, 1, &room);
	vem_fault_port(s.n->rnic, false);
	mail(&s, 1, s.way, qpn_of(s.b), KEY, RI_WC_SUCCESS);
	poll_none(s.b->urcq);
	vem_fault_port(s.n->rnic, true);
	mail(&s, 2, s.way, qpn_of(s.b), KEY, RI_WC_SUCCESS);
	poll_one(s.b->urcq, 1, RI_WC_SUCCESS);
	node_run(s.n);
	node_forget(s.n);
}

/* Header and data arrive where the segments say, also if a segment ends inside either of them. */
static void
test_cut_receives(void)
{
	static const uint32_t cuts[] = {VEM_GRH, VEM_GRH - 20, VEM_GRH + 2};
	struct post s RI_AT_END(post_close);

	post_open(&s);
	for (guint i = 0; i < G_N_ELEMENTS(cuts); i++) {
		uint8_t seen[VEM_GRH + 5];
		struct ri_sge parts[2] = {chunk_sge(&s.m, 1024, cuts[i]),
					  chunk_sge(&s.m, 2048, 100)};
		struct ri_recv_wr wr = {.wr_id = i, .sgl = parts, .num_sge = 2};
		uint32_t first = MIN(cuts[i], (uint32_t)sizeof(seen));
		memset(s.m.at + 1024, 0, 2048);
		g_assert_cmpint(emul()->fast->post_rq(s.b->uqp, &wr), ==, RI_SUCCESS);
		mail(&s, i, s.way, qpn_of(s.b), KEY, RI_WC_SUCCESS);
		poll_one(s.b->urcq, i, RI_WC_SUCCESS);
		memcpy(seen, s.m.at + 1024, first);
		memcpy(seen + first, s.m.at + 2048, sizeof(seen) - first);
		g_assert_cmphex(seen[0], ==, 0x60);
		g_assert_cmpuint((unsigned)seen[4] << 8 | seen[5], ==,
				 8 + 24);                   /* whole words count */
		g_assert_cmpuint(seen[VEM_GRH - 1], ==, 1); /* of 127.0.0.1 */
		g_assert_cmpmem(seen + VEM_GRH, 5, s.m.at, 5);
	}
}

/* Another number in the same slot finds no receiver; the controlled key of an unprivileged sender is its own key. */
static void
test_who_gets_it(void)
{
	struct post s RI_AT_END(post_close);
	struct ri_sge room;

	post_open(&s);
	room = chunk_sge(&s.m, 1024, 100);
	post_recv(s.b, 1, &room);
	mail(&s, 1, s.way, qpn_of(s.b) + VEM_UD_ROWS, KEY, RI_WC_SUCCESS);
	poll_none(s.b->urcq);
	mail(&s, 2, s.way, qpn_of(s.b), KEY + 1, RI_WC_SUCCESS);
	poll_none(s.b->urcq);
	mail(&s, 3, s.way, qpn_of(s.b), VEM_KEY_CONTROLLED | (KEY + 1), RI_WC_SUCCESS);
	poll_one(s.b->urcq, 1, RI_WC_SUCCESS);
}

/* A request of another kind is refused on a datagram queue pair, even if it holds all that a datagram needs. */
static void
test_not_a_datagram(void)
{
	struct post s RI_AT_END(post_close);
	struct ri_sge sge, room;

	post_open(&s);
	sge = chunk_sge(&s.m, 0, 5);
	room = chunk_sge(&s.m, 1024, 100);
	struct ri_wr wr = {.wr_id = 1,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_RDMA_WRITE,
			   .flags = RI_WR_SIGNALED,
			   .u.ud = {.ah = s.way, .qpn = qpn_of(s.b), .qkey = KEY}};
	post_recv(s.b, 1, &room);
	g_assert_cmpint(emul()->fast->post_sq(s.a->uqp, &wr), ==, RI_ERR_UNSUPPORTED);
	s.a->uqp->known_op[RI_OP_RDMA_WRITE] = true; /* past the check */
	g_assert_cmpint(emul()->fast->post_sq(s.a->uqp, &wr), ==, RI_SUCCESS);
	poll_one(s.a->uscq, 1, RI_WC_LOCAL_QP);
	poll_none(s.b->urcq);
}

/* A protection domain cannot be freed before its address handle. */
static void
test_handle_domain(void)
{
	const struct ri_ah_init local = {
		.dest = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}}};
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *node RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
	struct ri_pd *pd = NULL;
	struct ri_ah *ah = NULL;
	uint32_t id;

	g_assert_cmpint(emul()->pd->create(node->context, &pd), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->ah->create(pd, &local, &ah, &id), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->pd->destroy(pd), ==, RI_ERR_BUSY);
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->pd->destroy(pd), ==, RI_SUCCESS);
}

/* As many address handles as the adapter's limit, and no more. */
static void
test_most_handles(void)
{
	const struct ri_ah_init local = {
		.dest = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}}};
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *node RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
	uint32_t most = node->attr.max_ah;
	struct ri_ah **all = g_new(struct ri_ah *, most);
	struct ri_ah *more = NULL;
	uint32_t id;

	for (uint32_t i = 0; i < most; i++)
		all[i] = ah_new(node, NULL, &id);
	g_assert_cmpint(emul()->ah->create(node->pd, &local, &more, &id), ==, RI_ERR_RESOURCES);
	g_assert_cmpint(emul()->ah->destroy(all[most / 2]), ==, RI_SUCCESS);
	all[most / 2] = ah_new(node, NULL, &id);
	for (uint32_t i = 0; i < most; i++)
		g_assert_cmpint(emul()->ah->destroy(all[i]), ==, RI_SUCCESS);
	g_free(all);
}

/* More handles than the first allocation holds: all keep their content, and a number is not used again at once. */
static void
test_address_handles(void)
{
	struct post s RI_AT_END(post_close);
	struct ri_ah *more[200];
	uint32_t ids[200];
	struct ri_sge room;

	post_open(&s);
	for (guint i = 0; i < G_N_ELEMENTS(more); i++)
		more[i] = ah_new(s.n, NULL, &ids[i]);
	room = chunk_sge(&s.m, 1024, 100);
	for (guint i = 0; i < G_N_ELEMENTS(more); i += 13) {
		post_recv(s.b, i, &room);
		mail(&s, i, ids[i], qpn_of(s.b), KEY, RI_WC_SUCCESS);
		poll_one(s.b->urcq, i, RI_WC_SUCCESS);
	}
	for (guint i = 0; i < G_N_ELEMENTS(more); i++)
		g_assert_cmpint(emul()->ah->destroy(more[i]), ==, RI_SUCCESS);
	/* All slots are used again under other numbers: an old number is invalid. */
	for (guint i = 0; i < G_N_ELEMENTS(more); i++) {
		uint32_t id;
		more[i] = ah_new(s.n, NULL, &id);
		g_assert_cmpuint(id, !=, ids[0]);
	}
	mail(&s, 500, ids[0], qpn_of(s.b), KEY, RI_WC_LOCAL_QP);
	for (guint i = 0; i < G_N_ELEMENTS(more); i++)
		g_assert_cmpint(emul()->ah->destroy(more[i]), ==, RI_SUCCESS);
	node_run(s.n);
	node_forget(s.n);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/borders/atomics", test_atomics);
	g_test_add_func("/emul/borders/local-rights", test_local_rights);
	g_test_add_func("/emul/borders/no-octets", test_no_octets);
	g_test_add_func("/emul/borders/sink-enabled", test_sink_enabled);
	g_test_add_func("/emul/borders/longest-message", test_longest_message);
	g_test_add_func("/emul/borders/failure-solicits", test_failure_solicits);
	g_test_add_func("/emul/borders/through-host", test_through_host);
	g_test_add_func("/emul/borders/shared-queue-limits", test_shared_queue_limits);
	g_test_add_func("/emul/borders/connection-limits", test_connection_limits);
	g_test_add_func("/emul/borders/handle-domain", test_handle_domain);
	g_test_add_func("/emul/borders/not-a-datagram", test_not_a_datagram);
	g_test_add_func("/emul/borders/offline", test_offline);
	g_test_add_func("/emul/borders/most-handles", test_most_handles);
	g_test_add_func("/emul/borders/cut-receives", test_cut_receives);
	g_test_add_func("/emul/borders/who-gets-it", test_who_gets_it);
	g_test_add_func("/emul/borders/address-handles", test_address_handles);
	return g_test_run();
}
