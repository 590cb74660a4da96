/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Counts of links, slots, uses, time-outs, descriptors, mappings and names: they must be the same
 * before and after each call that is refused, each attempt that is withdrawn, each datagram that is
 * dropped, and each process that has come and ended.
 */
#include <sys/resource.h>
#include <sys/socket.h>

#include "vem_fault.h"
#include "vem_scarce.h"
#include "vem_two.h"
#include "vem_ud.h"

#define CROWD 300u

static const struct ri_addr group = {.family = RI_ADDR_GID, .octets = {0xff, 0x12, [15] = 0x42}};

/* --- the account -------------------------------------------------------------------------------- */

struct account {
	unsigned links, places, users, slots, senders;
	unsigned sleepers, dials, owing;
	unsigned open, rings;
};

static void
link_count(struct vem_link *link, struct account *a)
{
	a->links++;
	a->users += link->users;
	a->senders += atomic_load(&link->senders);
	a->owing += link->owing != NULL;
	for (unsigned i = 0; i < VEM_SLOT_PAGES; i++)
		for (unsigned k = 0; link->pages[i] != NULL && k < VEM_SLOTS; k++)
			a->slots += atomic_load(&link->pages[i][k].remote) != NULL;
}

/* Of both processes. */
static struct account
account_now(const struct two *t)
{
	struct account a = {.open = open_count(), .rings = rings_mapped()};

	for (unsigned n = 0; n < 2; n++) {
		struct vem_shm *shm = fabric_of(t->node[n])->shm;

		pthread_mutex_lock(&shm->fabric->lock);
		vem_shm_rx_take(shm);
		for (unsigned i = 0; i < VEM_LINKS_MAX; i++)
			if (atomic_load(&shm->links[i]) != NULL)
				link_count(atomic_load(&shm->links[i]), &a);
		a.places += atomic_load(&shm->linked);
		a.sleepers += shm->sleepers;
		a.dials += shm->dial_count;
		vem_shm_rx_drop(shm);
		pthread_mutex_unlock(&shm->fabric->lock);
	}
	return a;
}

/* When nothing comes or goes any more: who looks whether a name has an owner is a process that comes and goes. */
static struct account
account_settled(const struct two *t)
{
	struct account now = account_now(t), before;

	for (unsigned same = 0; same < 10;
	     same = memcmp(&now, &before, sizeof(now)) == 0 ? same + 1 : 0) {
		before = now;
		g_usleep(1000);
		now = account_now(t);
	}
	return now;
}

/* What ends, ends soon. */
static void
account_is(const struct two *t, const struct account *wanted)
{
	struct account now = account_now(t);

	for (unsigned i = 0; i < 4000 && memcmp(&now, wanted, sizeof(now)) != 0; i++) {
		g_usleep(500);
		now = account_now(t);
	}
	g_assert_cmpuint(now.links, ==, wanted->links);
	g_assert_cmpuint(now.places, ==, wanted->places);
	g_assert_cmpuint(now.users, ==, wanted->users);
	g_assert_cmpuint(now.slots, ==, wanted->slots);
	g_assert_cmpuint(now.senders, ==, wanted->senders);
	g_assert_cmpuint(now.sleepers, ==, wanted->sleepers);
	g_assert_cmpuint(now.dials, ==, wanted->dials);
	g_assert_cmpuint(now.owing, ==, wanted->owing);
	g_assert_cmpuint(now.open, ==, wanted->open);
	g_assert_cmpuint(now.rings, ==, wanted->rings);
}

/* Nothing of it is under way, and it has no patience left to lose. */
static void
rests(const struct end *end)
{
	struct vem_qp *qp = end_qp(end);

	for (unsigned i = 0;
	     i < 4000 && (atomic_load(&qp->rnr_until) != 0 || atomic_load(&qp->tries_until) != 0);
	     i++)
		g_usleep(500);
	g_assert_cmpuint(atomic_load(&qp->rnr_until), ==, 0);
	g_assert_cmpuint(atomic_load(&qp->tries_until), ==, 0);
	g_assert_false(atomic_load(&qp->ud_waits));
	g_assert_cmpuint(qp->tx_around.slot, ==, 0);
}

static void
lock(const struct node *node)
{
	pthread_mutex_lock(&fabric_of(node)->lock);
}

static void
unlock(const struct node *node)
{
	pthread_mutex_unlock(&fabric_of(node)->lock);
}

/* --- the hosts ------------------------------------------------------------------------------------ */

static _Thread_local bool unwatched; /* this thread can watch nothing */
static atomic_uint pauses;           /* of watches */

static enum ri_status
host_watch_start(void *self, struct ri_watch *watch)
{
	enum ri_status status = RI_ERR_RESOURCES;

	scarce_pause();
	if (!unwatched)
		status = host_real.watch_start(self, watch);
	scarce_resume();
	return status;
}

static void
host_watch_change(void *self, struct ri_watch *watch, uint32_t events)
{
	atomic_fetch_add(&pauses, events == 0);
	host_real.watch_change(self, watch, events);
}

static void
host_watch_stop(void *self, struct ri_watch *watch)
{
	scarce_pause();
	host_real.watch_stop(self, watch);
	scarce_resume();
}

static void
prepare(struct ri_host *host)
{
	host_spare(host);
	host->watch_start = host_watch_start;
	host->watch_change = host_watch_change;
	host->watch_stop = host_watch_stop;
}

/* --- processes that come and go ------------------------------------------------------------------- */

static void
test_comes_and_goes(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	const struct account before = account_settled(&t);

	for (unsigned life = 0; life < 3; life++) {
		connect_at(t.a, t.b, PORT);
		back_to_idle(t.a);
		back_to_idle(t.b);
		account_is(&t, &before);
		connect_at(t.b, t.a, PORT);
		back_to_idle(t.b);
		back_to_idle(t.a);
		account_is(&t, &before);
	}
}

/* A link that ends is not found any more by anybody who looks for one. */
static void
test_ending(void)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};

	for (unsigned how = 0; how < 2; how++) {
		struct two t RI_AT_END(two_free) = two_new();
		struct vem_shm *shm = fabric_of(t.node[0])->shm;
		enum ri_cm_reason reason;
		char name[VEM_PLACE_NAME];
		struct vem_link *link;

		connect_at(t.a, t.b, PORT);
		lock(t.node[0]);
		link = atomic_load(&end_qp(t.a)->remote)->link;
		memcpy(name, link->name, sizeof(name));
		g_assert_true(vem_link_to(shm, &service, false, &reason) == link);
		g_assert_true(vem_link_to_block(shm, link->block, NULL) == link);
		if (how == 0)
			vem_link_break(link, "the test ends it");
		else
			atomic_store(&link->deaf, true);
		g_assert_true(vem_link_to(shm, &service, false, &reason) != link);
		g_assert_true(vem_link_to_block(shm, link->block, NULL) != link);
		unlock(t.node[0]);
		node_forget(t.node[0]);
		node_forget(t.node[1]);
		if (how == 1) {
			lock(t.node[0]);
			vem_link_break(link, "the test ends it");
			unlock(t.node[0]);
		}
		back_to_idle(t.a);
		back_to_idle(t.b);
		connect_at(t.a, t.b, PORT);
	}
}

/* For a peer that reads no packets a limited number of them waits. */
static void
test_queue(void)
{
	const struct vem_packet packet = {.magic = VEM_PACKET_MAGIC, .kind = VEM_PACKET_QUERY_END};
	struct two t RI_AT_END(two_free) = two_new();
	struct vem_link *link;

	connect_at(t.a, t.b, PORT);
	lock(t.node[1]);
	lock(t.node[0]);
	link = atomic_load(&end_qp(t.a)->remote)->link;
	for (unsigned i = 0; i < 4 * VEM_LINK_QUEUE && !atomic_load(&link->broken); i++)
		vem_link_send(link, &packet);
	g_assert_true(atomic_load(&link->broken));
	g_assert_cmpuint(link->queued, ==, VEM_LINK_QUEUE);
	unlock(t.node[0]);
	unlock(t.node[1]);
}

/* Each of the connections that wait for room in a ring has the first turn at some time. */
static void
test_turns(void)
{
	enum {
		MORE = 3
	};
	struct two t RI_AT_END(two_free) = two_new();
	struct end *a[MORE], *b[MORE];
	bool first[VEM_SLOTS] = {false};
	unsigned count = 0;
	struct vem_link *link;

	connect_at(t.a, t.b, PORT);
	for (unsigned i = 0; i < MORE; i++) {
		a[i] = end_new(t.node[0], NULL);
		b[i] = end_new(t.node[1], NULL);
		connect_at(a[i], b[i], PORT);
	}
	link = atomic_load(&end_qp(t.a)->remote)->link;
	for (unsigned i = 0; i < MORE + 1; i++) {
		vem_shm_rx_take(link->shm);
		vem_remote_room(link);
		first[link->turn % VEM_SLOTS] = true;
		vem_shm_rx_drop(link->shm);
	}
	for (unsigned i = 0; i < VEM_SLOTS; i++)
		count += first[i];
	g_assert_cmpuint(count, ==, MORE + 1);
	node_forget(t.node[0]);
	node_forget(t.node[1]);
	for (unsigned i = 0; i < MORE; i++) {
		end_free(&a[i]);
		end_free(&b[i]);
		node_forget(t.node[0]);
		node_forget(t.node[1]);
	}
}

/* --- calls that are refused ------------------------------------------------------------------------- */

#ifdef WITH_SCARCE
/* An attempt for which one allocation after the other is refused, over a link that others use, and over a new one. */
static void
test_scarce(void)
{
	if (g_getenv("ITAPI_TEST_NO_SCARCE") != NULL) {
		g_test_skip("ITAPI_TEST_NO_SCARCE is set");
		return;
	}
	for (unsigned used = 0; used < 2; used++) {
		struct two t RI_AT_END(two_free) = two_new_with(prepare);
		struct end *end RI_AT_END(end_free) = end_new(t.node[0], NULL);
		struct vem_qp *qp = end_qp(end);
		struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
		struct ri_cm_params params = node_params(&service);
		struct ri_listen *listen;
		enum ri_cm_reason reason;
		unsigned refused = 0;

		if (used != 0)
			connect_at(t.a, t.b, PORT);
		g_assert_cmpint(emul()->cm->listen(t.node[1]->context, 42, 0, &service, 4, &listen),
				==, RI_SUCCESS);
		const struct account before = account_settled(&t);

		qp->to = params;
		for (unsigned long n = 1;; n++) {
			lock(t.node[0]);
			/* Also what needs a page of slots more. */
			if (used != 0)
				atomic_load(&end_qp(t.a)->remote)->link->hint =
					VEM_SLOTS * (uint32_t)n;
			scarce_arm_here(n, false);
			reason = vem_remote_offer(qp);
			bool over = scarce_disarm() == 0;
			g_assert_true(over == (atomic_load(&qp->remote) != NULL));
			if (over) {
				vem_remote_withdraw(atomic_load(&qp->remote));
				vem_remote_free(atomic_load(&qp->remote));
				atomic_store(&qp->remote, NULL);
			}
			unlock(t.node[0]);
			g_test_message("used %u, allocation %lu, reason %d", used, n, reason);
			account_is(&t, &before);
			g_assert_cmpint(reason, ==,
					over ? RI_CM_REASON_OTHER : RI_CM_REASON_RESOURCES);
			if (over)
				break;
			refused++;
		}
		g_assert_cmpuint(refused, >=, 4);
		if (used != 0)
			g_assert_cmpint(end_state(t.a), ==, RI_QPS_RTS);
		emul()->cm->listen_destroy(listen);
		node_forget(t.node[1]);
	}
}
#else
static void
test_scarce(void)
{
	g_test_skip("the allocator of this build cannot be made scarce");
}
#endif

/* A listener whose name cannot be watched has not got it. */
static void
test_name(void)
{
	const struct ri_service service = {.kind = RI_SERVICE_PORT,
					   .port = GUINT16_TO_BE(PORT + 7)};
	struct two t RI_AT_END(two_free) = two_new_with(prepare);
	const struct account before = account_settled(&t);
	struct vem_shm *shm = fabric_of(t.node[0])->shm;
	struct vem_name *name;

	for (unsigned life = 0; life < 3; life++) {
		lock(t.node[0]);
		unwatched = true;
		g_assert_cmpint(vem_shm_name_take(shm, &service, &name), ==, RI_ERR_RESOURCES);
		unwatched = false;
		unlock(t.node[0]);
		account_is(&t, &before);
		g_assert_cmpint(vem_shm_name_take(fabric_of(t.node[1])->shm, &service, &name), ==,
				RI_SUCCESS);
		vem_shm_name_give(name);
		account_is(&t, &before);
	}
}

/* As many processes as the kernel lets wait dial one that does not come to accept them: none of them is refused. */
static void
test_crowd(void)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	g_autofree char *limit = NULL;
	struct two t = two_new();
	const struct account before = account_settled(&t);
	struct vem_shm *shm = fabric_of(t.node[1])->shm;
	char name[VEM_PLACE_NAME];
	struct ri_listen *listen;
	int fds[CROWD];

	g_assert_true(g_file_get_contents("/proc/sys/net/core/somaxconn", &limit, NULL, NULL));
	unsigned count = MIN(CROWD, (unsigned)g_ascii_strtoull(limit, NULL, 10));
	g_assert_cmpint(emul()->cm->listen(t.node[1]->context, 42, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	vem_shm_name_of(shm, &service, name);
	lock(t.node[1]);
	for (unsigned i = 0; i < count; i++) {
		fds[i] = vem_place_connect(&shm->place, name, &(const char *){NULL});
		g_assert_cmpint(fds[i], >=, 0);
	}
	unlock(t.node[1]);
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
	emul()->cm->listen_destroy(listen);
	account_is(&t, &before);
	two_free(&t);
}

/* Of two threads that would sleep for all, one does. */
static void
test_leaders(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	const struct account before = account_settled(&t);
	void *engine = t.node[0]->rnic;
	int fd;

	for (unsigned life = 0; life < 3; life++) {
		g_assert_true(vem_shm_bell_enter(engine, &fd));
		for (unsigned i = 0; i < 3; i++)
			g_assert_false(vem_shm_bell_enter(engine, &fd));
		g_assert_cmpuint(account_now(&t).sleepers, ==, before.sleepers + 1);
		vem_shm_bell_leave(engine);
		account_is(&t, &before);
	}
}

/* An attempt that is given up before its link is there is not requested when it comes up. */
static void
test_given_up(void)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	struct two t RI_AT_END(two_free) = two_new();
	const struct ri_cm_ops *cm = emul()->cm;
	struct ri_cm_params params = node_params(&service);
	struct ri_listen *listen;

	g_assert_cmpint(cm->listen(t.node[1]->context, 42, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	for (unsigned life = 0; life < 3; life++) {
		lock(t.node[1]); /* it accepts nothing */
		g_assert_cmpint(cm->connect(t.a->qp, &params), ==, RI_SUCCESS);
		for (gint64 deadline = node_deadline(); atomic_load(&end_qp(t.a)->remote) == NULL;
		     g_usleep(500))
			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		lock(t.node[0]);
		struct vem_remote *remote = atomic_load(&end_qp(t.a)->remote);
		vem_remote_withdraw(remote);
		g_assert_false(remote->asked);
		unlock(t.node[0]);
		unlock(t.node[1]);
		for (gint64 deadline = node_deadline(); !atomic_load(&remote->link->up);
		     g_usleep(500))
			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		g_usleep(5000);
		g_assert_false(remote->asked);
		back_to_idle(t.a);
	}
	node_silent(t.node[1]);
	cm->listen_destroy(listen);
}

/* --- patience --------------------------------------------------------------------------------------- */

/* A connection by attributes: an end that has to wait for the peer's receive waits, and keeps no trace of that afterwards. */
static void
test_patience(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct pair p = pair_of(&t, RI_QP_RC);
	struct chunk *ca = p.na == t.node[0] ? &t.ca : &t.cb, *cb = ca == &t.ca ? &t.cb : &t.ca;

	p.to_b.timeout = 14; /* 67 ms, twice */
	p.to_b.retry_count = 1;
	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	sends_soon(&p);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.b, &p.to_a), ==, RI_SUCCESS);
	for (uint64_t i = 0; i < 2; i++) {
		g_assert_cmpint(end_send(p.a, i, ca, 0, 64), ==, RI_SUCCESS);
		g_usleep(200000);
		poll_none(p.a->uscq);
		g_assert_cmpint(end_recv(p.b, i, cb, 0, 64), ==, RI_SUCCESS);
		poll_wait(p.a->uscq, i, RI_WC_SUCCESS);
		poll_wait(p.b->urcq, i, RI_WC_SUCCESS);
		rests(p.a);
	}
	end_free(&p.a);
	end_free(&p.b);
}

/* An answer is there, and nobody has read it when the time is over: the request is not lost. */
static void
test_unread(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct pair p = pair_of(&t, RI_QP_RC);
	struct chunk *ca = p.na == t.node[0] ? &t.ca : &t.cb, *cb = ca == &t.ca ? &t.cb : &t.ca;
	struct vem_ring_entry entry;
	struct vem_link *link;
	struct vem_qp *qp = end_qp(p.a);

	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	sends_soon(&p);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.b, &p.to_a), ==, RI_SUCCESS);
	link = atomic_load(&qp->remote)->link;
	for (uint64_t i = 0; i < 3; i++) {
		bool answered = false;

		vem_shm_rx_take(link->shm); /* nobody reads */
		g_assert_cmpint(end_send(p.a, i, ca, 0, 64), ==, RI_SUCCESS);
		for (gint64 deadline = node_deadline(); !answered; g_usleep(500)) {
			struct vem_ring_in scan = link->in;

			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
			answered = vem_ring_look(&scan, &entry);
		}
		atomic_store(&qp->tries_until, VEM_RNR_LATE);
		vem_sq_run(qp);
		vem_shm_rx_drop(link->shm);
		g_assert_cmpint(end_recv(p.b, i, cb, 0, 64), ==, RI_SUCCESS);
		poll_wait(p.a->uscq, i, RI_WC_SUCCESS);
		poll_wait(p.b->urcq, i, RI_WC_SUCCESS);
	}
	end_free(&p.a);
	end_free(&p.b);
}

/* A thread of the peer that works on its queue pair gets no processor for longer than this end tries: the peer lives, so nothing is lost. */
static void
test_slow(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct pair p = pair_of(&t, RI_QP_RC);
	struct chunk *ca = p.na == t.node[0] ? &t.ca : &t.cb, *cb = ca == &t.ca ? &t.cb : &t.ca;
	struct vem_qp *qp = end_qp(p.b);

	p.to_b.timeout = 14; /* 67 ms, twice */
	p.to_b.retry_count = 1;
	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	sends_soon(&p);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.b, &p.to_a), ==, RI_SUCCESS);
	for (uint64_t i = 0; i < 2; i++) {
		g_assert_cmpint(end_recv(p.b, i, cb, 0, 64), ==, RI_SUCCESS);
		while (!vsw_role_take(&qp->in.role))
			g_usleep(500);
		g_assert_cmpint(end_send(p.a, i, ca, 0, 64), ==, RI_SUCCESS);
		g_usleep(400000);
		poll_none(p.a->uscq);
		vem_rx_leave(qp);
		poll_wait(p.a->uscq, i, RI_WC_SUCCESS);
		poll_wait(p.b->urcq, i, RI_WC_SUCCESS);
		rests(p.a);
	}
	end_free(&p.a);
	end_free(&p.b);
}

static void
post_to(struct end *from, uint64_t id, const struct chunk *c, uint32_t way, uint32_t qpn)
{
	const struct ri_wr_ud ud = {.ah = way, .qpn = qpn, .qkey = KEY};
	struct ri_sge sge = chunk_sge(c, 0, VEM_MAX_DATAGRAM);

	g_assert_cmpint(send_to(from, id, &sge, &ud), ==, RI_SUCCESS);
}

/* Datagrams for a process that reads nothing are dropped at some time, and the next ones begin with all their patience. */
static void
test_dropped(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct end *from RI_AT_END(end_free) = ud_new(t.node[0], 64);
	struct end *to RI_AT_END(end_free) = ud_new(t.node[1], 64);
	uint32_t way;
	struct ri_ah *ah = ah_new(t.node[0], NULL, &way);
	uint64_t id = 0;

	for (unsigned life = 0; life < 2; life++) {
		bool waited = false;

		post_to(from, id, &t.ca, way, qpn_of(to));
		poll_wait(from->uscq, id++, RI_WC_SUCCESS);
		g_assert_null(node_path(t.node[1], "path all hold"));
		while (!waited) {
			post_to(from, id, &t.ca, way, qpn_of(to));
			waited = atomic_load(&end_qp(from)->rnr_until) != 0;
			poll_wait(from->uscq, id++, RI_WC_SUCCESS);
			g_assert_cmpuint(atomic_load(&end_qp(from)->rnr_until), ==, 0);
		}
		rests(from);
		g_assert_null(node_path(t.node[1], "path all open"));
		/* Until it is read again, they are dropped at once. */
		struct vem_link *link = NULL;
		(void)links_of(t.node[0], &link);
		for (gint64 end = node_deadline(); atomic_load(&link->stuck); g_usleep(1000)) {
			g_assert_cmpint(g_get_monotonic_time(), <, end);
			post_to(from, id, &t.ca, way, qpn_of(to));
			poll_wait(from->uscq, id++, RI_WC_SUCCESS);
		}
	}
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
}

/* The test is skipped: valgrind has a limit of its own. */
static bool
no_limit(void)
{
	const char *preload = g_getenv("LD_PRELOAD");

	if (preload == NULL || strstr(preload, "vgpreload") == NULL)
		return false;
	g_test_skip("valgrind does not have the kernel's limit of descriptors");
	return true;
}

/* --- datagrams whose process cannot be reached --------------------------------------------------------- */

/* The list of dialed links is full: the socket that was connected for one more is closed. */
static void
test_dials(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct end *from RI_AT_END(end_free) = ud_new(t.node[0], 8);
	struct end *to RI_AT_END(end_free) = ud_new(t.node[1], 8);
	const struct account before = account_settled(&t);
	struct vem_shm *shm = fabric_of(t.node[0])->shm;
	uint32_t way;
	struct ri_ah *ah = ah_new(t.node[0], NULL, &way);

	for (uint64_t life = 0; life < 3; life++) {
		lock(t.node[0]); /* nothing is made of the list */
		vsw_lock(&shm->ud_lock);
		shm->dial_count = VEM_DIALS;
		vsw_unlock(&shm->ud_lock);
		post_to(from, life, &t.ca, way, qpn_of(to));
		poll_wait(from->uscq, life, RI_WC_SUCCESS);
		vsw_lock(&shm->ud_lock);
		shm->dial_count = 0;
		vsw_unlock(&shm->ud_lock);
		unlock(t.node[0]);
		account_is(&t, &before);
		rests(from);
	}
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
}

/* This process has a descriptor for a socket, and none for a link: a datagram is dropped, and its name is not dialed all the time. */
static void
test_undialed(void)
{
	if (no_limit())
		return;

	struct two t RI_AT_END(two_free) = two_new();
	struct end *from RI_AT_END(end_free) = ud_new(t.node[0], 8);
	struct end *to RI_AT_END(end_free) = ud_new(t.node[1], 8);
	struct rlimit limit, few;
	uint32_t way;
	struct ri_ah *ah = ah_new(t.node[0], NULL, &way);
	unsigned dialed = 0;
	int last = dup(0);

	close(last);
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	few = limit;
	few.rlim_cur = (rlim_t)last + 1;
	lock(t.node[1]); /* what is dialed is counted, not accepted */
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
	post_to(from, 1, &t.ca, way, qpn_of(to));
	poll_wait(from->uscq, 1, RI_WC_SUCCESS);
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	for (int fd; (fd = accept(fabric_of(t.node[1])->shm->own.fd, NULL, NULL)) >= 0; dialed++)
		close(fd);
	unlock(t.node[1]);
	g_assert_cmpuint(dialed, ==, 1);
	rests(from);
	/* And a while later it is reached. */
	g_usleep(150000);
	g_assert_cmpint(end_recv(to, 2, &t.cb, 0, 8192), ==, RI_SUCCESS);
	post_to(from, 2, &t.ca, way, qpn_of(to));
	poll_wait(from->uscq, 2, RI_WC_SUCCESS);
	poll_wait(to->urcq, 2, RI_WC_SUCCESS);
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
}

/* A process that has no descriptor for who dials it does not look all the time, and answers when it has one. */
static void
test_full(void)
{
	if (no_limit())
		return;

	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	struct two t RI_AT_END(two_free) = two_new_with(prepare);
	struct ri_cm_params params = node_params(&service);
	struct rlimit limit, few;
	struct ri_listen *listen;
	unsigned before;
	int last;

	g_assert_cmpint(emul()->cm->listen(t.node[1]->context, 42, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	for (unsigned life = 0; life < 2; life++) {
		g_usleep(100000); /* the names of what has ended are swept */
		(void)account_settled(&t);
		lock(t.node[1]); /* until the limit is there */
		g_assert_cmpint(emul()->cm->connect(t.a->qp, &params), ==, RI_SUCCESS);
		for (gint64 deadline = node_deadline(); atomic_load(&end_qp(t.a)->remote) == NULL;
		     g_usleep(500))
			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		last = dup(0);
		close(last);
		few = limit;
		few.rlim_cur = (rlim_t)last;
		g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
		before = atomic_load(&pauses);
		unlock(t.node[1]);
		for (gint64 deadline = node_deadline(); atomic_load(&pauses) == before;
		     g_usleep(500))
			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
		struct ri_cm_event request = node_cm(t.node[1], RI_CM_REQUEST, LISTENER);
		g_assert_cmpint(emul()->cm->reject(request.request, RI_CM_REASON_CONSUMER, NULL, 0),
				==, RI_SUCCESS);
		node_cm(t.node[0], RI_CM_REJECTED, t.a);
		back_to_idle(t.a);
		while (links_of(t.node[0], NULL) != 0)
			g_usleep(500);
	}
	emul()->cm->listen_destroy(listen);
}

/* --- groups ------------------------------------------------------------------------------------------- */

/* Members of one process join and leave in each order: those that are left get what is sent, and the last one ends the group. */
static void
test_members(void)
{
	enum {
		MEMBERS = 3
	};
	struct two t RI_AT_END(two_free) = two_new();
	const struct ri_ah_init init = {.dest = group};
	struct end *from RI_AT_END(end_free) = ud_new(t.node[0], 8);
	struct end *to[MEMBERS];
	uint32_t way;
	struct ri_ah *ah = ah_new(t.node[0], &init, &way);
	struct account before;
	uint64_t id = 0;

	for (unsigned i = 0; i < MEMBERS; i++)
		to[i] = ud_new(t.node[1], 16);
	before = account_settled(&t);
	for (unsigned order = 0; order < MEMBERS; order++) {
		for (unsigned i = 0; i < MEMBERS; i++)
			g_assert_cmpint(emul()->qp->mcast_attach(to[i]->qp, &group), ==,
					RI_SUCCESS);
		for (unsigned gone = 0; gone < MEMBERS; gone++) {
			for (unsigned i = gone; i < MEMBERS; i++)
				g_assert_cmpint(end_recv(to[(order + i) % MEMBERS], id, &t.cb,
							 8192 * i, 8192),
						==, RI_SUCCESS);
			post_to(from, id, &t.ca, way, VEM_QPN_GROUP);
			poll_wait(from->uscq, id, RI_WC_SUCCESS);
			for (unsigned i = gone; i < MEMBERS; i++)
				poll_wait(to[(order + i) % MEMBERS]->urcq, id, RI_WC_SUCCESS);
			id++;
			g_assert_cmpint(
				emul()->qp->mcast_detach(to[(order + gone) % MEMBERS]->qp, &group),
				==, RI_SUCCESS);
		}
		account_is(&t, &before);
		rests(from);
	}
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
	for (unsigned i = 0; i < MEMBERS; i++)
		end_free(&to[i]);
}

/* The port goes down while a datagram is on its way around a group: the next one begins with the first process again. */
static void
test_port(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	const struct ri_ah_init init = {.dest = group};
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	struct node *third RI_AT_END(node_free) = node_new(vth, true, "shm:ib");
	struct end *from = ud_new(t.node[0], 64), *to = ud_new(t.node[1], 64);
	struct end *last = ud_new(third, 64);
	uint32_t way;
	struct ri_ah *ah = ah_new(t.node[0], &init, &way);
	uint64_t id = 0;
	bool waits = false;

	g_assert_cmpint(emul()->qp->mcast_attach(to->qp, &group), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->qp->mcast_attach(last->qp, &group), ==, RI_SUCCESS);
	post_to(from, id, &t.ca, way, VEM_QPN_GROUP);
	poll_wait(from->uscq, id++, RI_WC_SUCCESS);
	g_assert_null(node_path(third, "path all hold"));
	/* Until one is on its way to the third process, however long the second one takes. */
	while (!waits) {
		gint64 until = g_get_monotonic_time() + 100000;
		struct ri_wc wc;

		post_to(from, id, &t.ca, way, VEM_QPN_GROUP);
		waits = true;
		while (waits &&
		       (g_get_monotonic_time() < until || end_qp(from)->tx_around.slot != 1))
			waits = emul()->fast->poll_cq(from->uscq, &wc, 1) == 0;
		id += !waits;
	}
	vem_fault_port(t.node[0]->rnic, false);
	poll_wait(from->uscq, id++, RI_WC_SUCCESS);
	vem_fault_port(t.node[0]->rnic, true);
	rests(from);
	g_assert_null(node_path(third, "path all open"));
	g_assert_cmpint(end_recv(to, id, &t.cb, 0, 8192), ==, RI_SUCCESS);
	post_to(from, id, &t.ca, way, VEM_QPN_GROUP);
	poll_wait(from->uscq, id, RI_WC_SUCCESS);
	poll_wait(to->urcq, id, RI_WC_SUCCESS);
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
	node_forget(t.node[0]);
	end_free(&from);
	end_free(&to);
	end_free(&last);
	node_forget(third);
}

int
main(int argc, char **argv)
{
	char *runtime = vem_runtime_begin();
	int failed;

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/shm-accounts/comes-and-goes", test_comes_and_goes);
	g_test_add_func("/emul/shm-accounts/ending", test_ending);
	g_test_add_func("/emul/shm-accounts/queue", test_queue);
	g_test_add_func("/emul/shm-accounts/turns", test_turns);
	g_test_add_func("/emul/shm-accounts/scarce", test_scarce);
	g_test_add_func("/emul/shm-accounts/name", test_name);
	g_test_add_func("/emul/shm-accounts/crowd", test_crowd);
	g_test_add_func("/emul/shm-accounts/leaders", test_leaders);
	g_test_add_func("/emul/shm-accounts/given-up", test_given_up);
	g_test_add_func("/emul/shm-accounts/patience", test_patience);
	g_test_add_func("/emul/shm-accounts/unread", test_unread);
	g_test_add_func("/emul/shm-accounts/slow", test_slow);
	g_test_add_func("/emul/shm-accounts/dropped", test_dropped);
	g_test_add_func("/emul/shm-accounts/dials", test_dials);
	g_test_add_func("/emul/shm-accounts/undialed", test_undialed);
	g_test_add_func("/emul/shm-accounts/full", test_full);
	g_test_add_func("/emul/shm-accounts/members", test_members);
	g_test_add_func("/emul/shm-accounts/port", test_port);
	failed = g_test_run();
	return failed | !vem_runtime_end(runtime);
}
