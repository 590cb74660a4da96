/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Names, slots, numbers and links between processes that have got a new owner. Each test delivers
 * messages of the previous owner when the next one exists. The adapters have hosts of their own.
 */
#include "vem_two.h"

static const char *adapter = "shm:ib";

/* --- connections by address ----------------------------------------------------------------- */

/* Both sides of a connection know the same numbers, and each has the other's. */
static void
numbers_agree(const struct two *t)
{
	const struct vem_remote *a = atomic_load(&end_qp(t->a)->remote);
	const struct vem_remote *b = atomic_load(&end_qp(t->b)->remote);
	const struct ri_peer *to_b = &end_qp(t->a)->reach, *to_a = &end_qp(t->b)->reach;

	g_assert_cmpuint(a->far_slot, ==, b->slot);
	g_assert_cmpuint(a->far_life, ==, b->life);
	g_assert_cmpuint(b->far_slot, ==, a->slot);
	g_assert_cmpuint(b->far_life, ==, a->life);
	if (t->a->node->attr.transport != RI_TRANSPORT_IB)
		return;
	g_assert_cmpuint(to_b->qpn, ==, qpn_of(t->b));
	g_assert_cmpuint(to_a->qpn, ==, qpn_of(t->a));
	g_assert_cmpuint(to_b->rq_psn, ==, to_a->sq_psn);
	g_assert_cmpuint(to_b->sq_psn, ==, to_a->rq_psn);
	g_assert_cmpuint(to_b->rq_psn, !=, to_b->sq_psn);
}

/* The slots of a connection go to the next one, so that a link has no more of them than connections; what was said of the first is not about the second. */
static void
test_slots(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct end *keep[2] = {end_new(t.node[0], NULL), end_new(t.node[1], NULL)};
	struct vem_packet late = {.magic = VEM_PACKET_MAGIC};
	struct vsw_wqe *own[2] = {end_qp(t.a)->tx_wqe, end_qp(t.b)->tx_wqe};
	struct vem_remote *remote;
	struct vem_link *link;

	connect_at(t.a, t.b, PORT);
	remote = atomic_load(&end_qp(t.b)->remote);
	numbers_agree(&t);
	link = remote->link;
	late.to = remote->slot;
	late.to_life = remote->life;
	late.from = remote->far_slot;
	late.from_life = remote->far_life;
	connect_at(keep[0], keep[1], PORT); /* the link stays */
	for (unsigned life = 0; life < 3; life++) {
		back_to_idle(t.a);
		back_to_idle(t.b);
		/* Their own entries, and not memory of the connection that is over. */
		g_assert_true(end_qp(t.a)->tx_wqe == own[0]);
		g_assert_true(end_qp(t.b)->tx_wqe == own[1]);
		connect_at(t.a, t.b, PORT);
		numbers_agree(&t);
		remote = atomic_load(&end_qp(t.b)->remote);
		g_assert_true(remote->link == link);
		g_assert_cmpuint(remote->slot, ==, late.to);
		late.kind = VEM_PACKET_MESSAGE;
		late.message = VEM_MSG_LOST;
		comes(link, &late);
		late.kind = VEM_PACKET_WITHDRAW;
		comes(link, &late);
		g_usleep(2000);
		g_assert_cmpint(end_state(t.b), ==, RI_QPS_RTS);
		g_assert_cmpint(end_recv(t.b, life, &t.cb, 0, 64), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(t.a, life, &t.ca, 0, 64), ==, RI_SUCCESS);
		poll_wait(t.b->urcq, life, RI_WC_SUCCESS);
		poll_wait(t.a->uscq, life, RI_WC_SUCCESS);
	}
	node_forget(t.node[0]);
	node_forget(t.node[1]);
	end_free(&keep[0]);
	end_free(&keep[1]);
}

static bool
owes(struct vem_link *link)
{
	vem_shm_rx_take(link->shm);
	bool any = link->owing != NULL;
	vem_shm_rx_drop(link->shm);
	return any;
}

/* A connection that ends while it owes answers is not owed for any more. */
static void
test_owing(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct vem_link *link;

	connect_at(t.a, t.b, PORT);
	g_assert_null(node_path(t.node[0], "path all hold")); /* a reads no answers */
	link = atomic_load(&end_qp(t.b)->remote)->link;
	for (unsigned i = 0; i < 4; i++)
		g_assert_cmpint(end_read(t.a, i, &t.ca, &t.cb, SIZE), ==, RI_SUCCESS);
	for (gint64 deadline = node_deadline(); !owes(link); g_usleep(500))
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	end_free(&t.b);
	t.b = NULL;
	g_assert_false(owes(link));
	g_assert_null(node_path(t.node[0], "path all open"));
}

/* A process has executed a message, and dies before this one has read that: the message is sent. */
static void
test_earned(void)
{
	struct two t = two_new();
	struct vem_ring_entry entry;
	bool answered = false;

	connect_at(t.a, t.b, PORT);
	struct vem_link *link = atomic_load(&end_qp(t.a)->remote)->link;
	struct vem_link *far = atomic_load(&end_qp(t.b)->remote)->link;
	g_assert_cmpint(end_recv(t.b, 1, &t.cb, 0, 64), ==, RI_SUCCESS);
	vem_shm_rx_take(link->shm); /* nobody reads ... */
	vem_ring_awake(&link->in);  /* ... or hears of the answer: only of the end */
	g_assert_cmpint(end_send(t.a, 2, &t.ca, 0, 64), ==, RI_SUCCESS);
	for (gint64 deadline = node_deadline(); !answered; g_usleep(500)) {
		struct vem_ring_in scan = link->in;

		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		answered = vem_ring_look(&scan, &entry);
	}
	pthread_mutex_lock(&fabric_of(t.node[1])->lock);
	vem_link_break(far, "the test ends it");
	pthread_mutex_unlock(&fabric_of(t.node[1])->lock);
	/* Its end has come: somebody would read, or the link is gone. */
	for (gint64 deadline = node_deadline();
	     !vsw_role_is_wanted(&link->shm->rx) && !atomic_load(&link->broken); g_usleep(500))
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	vem_shm_rx_drop(link->shm);
	poll_wait(t.a->uscq, 2, RI_WC_SUCCESS);
	poll_wait(t.b->urcq, 1, RI_WC_SUCCESS);
	two_free(&t);
}

/* --- packets that wait ------------------------------------------------------------------------ */

static unsigned
queued(struct vem_link *link)
{
	unsigned count;

	pthread_mutex_lock(&link->queue_lock);
	count = link->queued;
	pthread_mutex_unlock(&link->queue_lock);
	return count;
}

/* A process that reads its packets late gets all of them, however often that happens. */
static void
test_late_reader(void)
{
	const struct vem_packet packet = {.magic = VEM_PACKET_MAGIC, .kind = VEM_PACKET_QUERY_END};
	struct two t RI_AT_END(two_free) = two_new();
	struct vem_fabric *reader = fabric_of(t.node[1]);
	struct vem_link *link;

	connect_at(t.a, t.b, PORT);
	link = atomic_load(&end_qp(t.a)->remote)->link;
	for (unsigned life = 0; life < 3; life++) {
		pthread_mutex_lock(&reader->lock);
		for (unsigned i = 0; i < 20000 && queued(link) < 3; i++)
			vem_link_send(link, &packet);
		g_assert_cmpuint(queued(link), ==, 3);
		pthread_mutex_unlock(&reader->lock);
		for (gint64 deadline = node_deadline(); queued(link) != 0; g_usleep(500))
			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	}
	g_assert_false(atomic_load(&link->broken));
}

/* --- connections by attributes ---------------------------------------------------------------- */

/* A JOIN that answers the knock of an earlier life is knocked at again, and joins nothing. */
static void
test_join_of_before(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct pair p = pair_of(&t, RI_QP_RC);
	struct vem_packet late = {.magic = VEM_PACKET_MAGIC,
				  .kind = VEM_PACKET_JOIN,
				  .from = 7,
				  .from_life = 1,
				  .qpn = qpn_of(p.a),
				  .code = qpn_of(p.b),
				  .type = RI_QP_RC,
				  .local.family = RI_ADDR_GID,
				  .peer.family = RI_ADDR_GID};
	struct vem_link *link;

	connect_at(t.a, t.b, PORT);
	for (unsigned life = 0; life < 3; life++) {
		g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
		while (knock_of(p.b) == 0)
			g_usleep(500);
		pthread_mutex_lock(&fabric_of(p.nb)->lock);
		link = vem_link_to_block(fabric_of(p.nb)->shm, qpn_of(p.a) >> VEM_BLOCK_BITS, NULL);
		memcpy(late.local.octets, end_qp(p.b)->far.target.grh + 24, 16);
		memcpy(late.peer.octets, end_qp(p.b)->far.target.grh + 8, 16);
		pthread_mutex_unlock(&fabric_of(p.nb)->lock);
		if (life > 0) {
			comes(link, &late);
			g_assert_null(atomic_load(&end_qp(p.b)->remote));
		}
		late.to_life = knock_of(p.b);
		back_to_idle(p.b);
	}
	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	sends_soon(&p);
	end_free(&p.a);
	end_free(&p.b);
}

/* The partner ends before it has opened: requests fail at once, and do not wait to be heard. */
static void
test_muted(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct pair p = pair_of(&t, RI_QP_RC);
	struct vem_remote *remote;

	p.to_a.timeout = 0; /* no limit */
	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	sends_soon(&p);
	g_assert_cmpint(peer_send(p.b, &p.to_a), ==, RI_SUCCESS);
	pthread_mutex_lock(&fabric_of(p.nb)->lock);
	remote = atomic_load(&end_qp(p.b)->remote);
	atomic_fetch_or(&remote->apart, VEM_REMOTE_MUTE);
	pthread_mutex_unlock(&fabric_of(p.nb)->lock);
	g_assert_cmpint(end_send(p.b, 1, p.nb == t.node[1] ? &t.cb : &t.ca, 0, 8), ==, RI_SUCCESS);
	g_usleep(2000);
	poll_none(p.b->uscq);
	pthread_mutex_lock(&fabric_of(p.nb)->lock);
	vem_remote_peer_down(end_qp(p.b), remote);
	pthread_mutex_unlock(&fabric_of(p.nb)->lock);
	poll_wait(p.b->uscq, 1, RI_WC_TRANSPORT);
	node_forget(p.nb);
	end_free(&p.a);
	end_free(&p.b);
}

/* A link of datagrams serves a connection for a while, and datagrams after that. */
static void
test_datagrams_keep(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct pair p = pair_of(&t, RI_QP_RC);
	struct end *from = ud_new(p.nb, 8), *to = ud_new(p.na, 8);
	struct chunk *c = p.nb == t.node[1] ? &t.cb : &t.ca;
	struct chunk *d = p.nb == t.node[1] ? &t.ca : &t.cb;
	struct ri_sge sge = chunk_sge(c, 0, 100);
	struct vem_link *link = NULL;
	struct ri_wr_ud ud = {.qpn = qpn_of(to), .qkey = KEY};
	uint32_t way;
	struct ri_ah *ah = ah_new(p.nb, NULL, &way);

	ud.ah = way;
	for (unsigned life = 0; life < 3; life++) {
		g_assert_cmpint(end_recv(to, life, d, 0, 4096), ==, RI_SUCCESS);
		g_assert_cmpint(send_to(from, life, &sge, &ud), ==, RI_SUCCESS);
		poll_wait(to->urcq, life, RI_WC_SUCCESS);
		poll_wait(from->uscq, life, RI_WC_SUCCESS);
		g_assert_cmpuint(links_of(p.nb, &link), ==, 1);
		g_assert_true(link->dialed &&
			      link->key != VEM_KEY_NONE); /* as the datagram has found it */
		g_assert_cmpuint(users_of(link), ==, 0);
		g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
		g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
		sends_soon(&p);
		g_assert_true(atomic_load(&end_qp(p.b)->remote)->link == link);
		back_to_idle(p.a);
		back_to_idle(p.b);
		g_assert_cmpuint(users_of(link), ==, 0);
		g_assert_false(atomic_load(&link->broken));
	}
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
	end_free(&from);
	end_free(&to);
	end_free(&p.a);
	end_free(&p.b);
}

/* --- queries for services --------------------------------------------------------------------- */

static void
ask(const struct node *node, uint64_t ctx, const struct ri_service *service)
{
	struct ri_cm_params params = node_params(service);

	g_assert_cmpint(node->p->cm->resolve(node->context, ctx, &params), ==, RI_SUCCESS);
}

static void
told(struct node *node, uint64_t ctx, enum ri_service_status status)
{
	struct ri_cm_event event = node_cm(node, RI_CM_SERVICE_REPLY, (const void *)(uintptr_t)ctx);

	g_assert_cmpuint(event.service_status, ==, status);
}

/*
 * A name passes from one process to another, while a connection keeps the link that was made to the
 * first owner. A query must first reach the former owner, then the new one, or none; and no link of
 * the query may be left.
 */
static void
test_name_passes(void)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	const struct ri_service_answer found = {.status = RI_SERVICE_FOUND, .qpn = 77};
	struct two t RI_AT_END(two_free) = two_new();
	const struct ri_cm_ops *cm = t.node[0]->p->cm;
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	struct node *third RI_AT_END(node_free) = node_new(vth, true, adapter);
	struct ri_listen *listen;
	unsigned before;

	connect_at(t.a, t.b, PORT);
	before = links_of(t.node[0], NULL);
	g_assert_cmpint(cm->listen(third->context, 42, 0, &service, 4, &listen), ==, RI_SUCCESS);
	ask(t.node[0], 101, &service);
	struct ri_cm_event request = node_cm(third, RI_CM_SERVICE_REQUEST, LISTENER);
	g_assert_cmpuint(links_of(t.node[0], NULL), ==, before + 1);
	/* The new link is known by the name, and the old one is not any more. */
	ask(t.node[0], 103, &service);
	struct ri_cm_event second = node_cm(third, RI_CM_SERVICE_REQUEST, LISTENER);
	g_assert_cmpuint(links_of(t.node[0], NULL), ==, before + 1);
	g_assert_cmpint(cm->resolve_answer(second.request, &found), ==, RI_SUCCESS);
	told(t.node[0], 103, RI_SERVICE_FOUND);
	g_assert_cmpint(cm->resolve_answer(request.request, &found), ==, RI_SUCCESS);
	told(t.node[0], 101, RI_SERVICE_FOUND);
	links_become(t.node[0], before);
	links_become(third, 0);
	cm->listen_destroy(listen);
	/* Nobody has it now: no process is asked twice. */
	ask(t.node[0], 102, &service);
	told(t.node[0], 102, RI_SERVICE_UNKNOWN);
	g_assert_cmpint(end_state(t.a), ==, RI_QPS_RTS);
	node_forget(third);
}

/* Nobody has the name, and a connection keeps the link of its former owner, which gets one query. */
static void
test_name_ends(void)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT + 1)};
	struct two t RI_AT_END(two_free) = two_new();

	connect_at(t.a, t.b, PORT + 1);
	for (uint64_t i = 0; i < 2; i++) {
		ask(t.node[0], 101 + i, &service);
		told(t.node[0], 101 + i, RI_SERVICE_UNKNOWN);
	}
	g_assert_cmpint(end_state(t.a), ==, RI_QPS_RTS);
}

int
main(int argc, char **argv)
{
	char *runtime = vem_runtime_begin();
	int failed;

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/shm-lives/slots", test_slots);
	g_test_add_func("/emul/shm-lives/owing", test_owing);
	g_test_add_func("/emul/shm-lives/earned", test_earned);
	g_test_add_func("/emul/shm-lives/late-reader", test_late_reader);
	g_test_add_func("/emul/shm-lives/join-of-before", test_join_of_before);
	g_test_add_func("/emul/shm-lives/muted", test_muted);
	g_test_add_func("/emul/shm-lives/datagrams-keep", test_datagrams_keep);
	g_test_add_func("/emul/shm-lives/name-passes", test_name_passes);
	g_test_add_func("/emul/shm-lives/name-ends", test_name_ends);
	failed = g_test_run();
	return vem_runtime_end(runtime) ? failed : 1;
}
