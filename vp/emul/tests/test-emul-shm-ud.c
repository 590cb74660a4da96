/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams, groups and queries for services between processes; adapters with hosts of their own, or a child. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vem_dgram.h"
#include "vem_link.h"
#include "vem_runtime.h"

#define PORT 4723

static const struct ri_addr group = {.family = RI_ADDR_GID, .octets = {0xff, 0x12, [15] = 0x42}};
static const struct ri_addr alike = {.family = RI_ADDR_GID, .octets = {0xff, 0x12, [14] = 0x42}};
static const char *self;

/* What is a process here: a host of its own, an end, memory, and the way to an address. */
struct place {
	struct vth *vth;
	struct node *node;
	struct end *end;
	struct chunk c;
	struct ri_ah *ah;
	uint32_t way, qpn;
};

static struct place
place_new(const struct ri_addr *dest)
{
	const struct ri_ah_init init = {.dest = *dest};
	struct place p = {.vth = vth_new(true)};

	p.node = node_new(p.vth, true, "shm:ib");
	p.end = ud_new(p.node, 64);
	p.c = chunk_new(p.node, 65536, ALL_RW);
	chunk_fill(&p.c, 7);
	p.ah = ah_new(p.node, dest->family != 0 ? &init : NULL, &p.way);
	p.qpn = qpn_of(p.end);
	return p;
}

static void
place_free(struct place *p)
{
	g_assert_cmpint(emul()->ah->destroy(p->ah), ==, RI_SUCCESS);
	end_free(&p->end);
	chunk_free(&p->c);
	node_free(&p->node);
	vth_free(&p->vth);
}

/* Send octets of the front of the memory, and see that they have left. */
static void
sends(struct place *from, uint64_t id, uint32_t qpn, uint32_t key, uint32_t length)
{
	const struct ri_wr_ud ud = {.ah = from->way, .qpn = qpn, .qkey = key};
	struct ri_sge sge = chunk_sge(&from->c, 0, length);

	g_assert_cmpint(send_to(from->end, id, &sge, &ud), ==, RI_SUCCESS);
	poll_wait(from->end->uscq, id, RI_WC_SUCCESS);
}

static void
offers(struct place *to, uint64_t id)
{
	g_assert_cmpint(end_recv(to->end, id, &to->c, 8192 * (uint32_t)(id % 7 + 1), 8192), ==,
			RI_SUCCESS);
}

/* The receive has the datagram of `from`. */
static struct ri_wc
arrives(struct place *to, uint64_t id, const struct place *from, uint32_t length)
{
	const uint8_t *at = to->c.at + 8192 * (id % 7 + 1);
	struct ri_wc wc = poll_wait(to->end->urcq, id, RI_WC_SUCCESS);

	g_assert_cmpuint(wc.byte_len, ==, VEM_GRH + length);
	g_assert_cmpuint(wc.src_qpn, ==, from->qpn);
	g_assert_cmpint(at[0] >> 4, ==, 6);
	g_assert_cmpmem(at + VEM_GRH, length, from->c.at, length);
	return wc;
}

/* All that has been sent is read, and there was nothing for this end. */
static void
is_left_out(struct place *p)
{
	struct ri_wc wc;

	for (gint64 until = g_get_monotonic_time() + 20000; g_get_monotonic_time() < until;)
		g_assert_cmpint(emul()->fast->poll_cq(p->end->urcq, &wc, 1), ==, 0);
}

static void
test_data(void)
{
	static const uint32_t lengths[] = {100, 0, 1, 64, 2048, VEM_MAX_DATAGRAM};
	struct place a RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	struct place b RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	struct ri_sge sge = chunk_sge(&a.c, 0, 8);
	struct ri_wr wr = {.wr_id = 20,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_SEND_UD,
			   .flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE,
			   .imm = 0x01020304,
			   .u.ud = {.ah = a.way, .qpn = b.qpn, .qkey = KEY}};

	g_assert_true(a.node->attr.ud && a.node->attr.multicast);
	g_assert_cmpuint(a.qpn >> VEM_BLOCK_BITS, !=, b.qpn >> VEM_BLOCK_BITS);
	for (unsigned i = 0; i < G_N_ELEMENTS(lengths); i++) {
		offers(&b, i);
		offers(&a, i);
		sends(&a, i, b.qpn, KEY, lengths[i]); /* the first one waits for the link */
		arrives(&b, i, &a, lengths[i]);
		sends(&b, i, a.qpn, KEY, lengths[i]);
		arrives(&a, i, &b, lengths[i]);
	}
	offers(&b, 20);
	g_assert_cmpint(emul()->fast->post_sq(a.end->uqp, &wr), ==, RI_SUCCESS);
	poll_wait(a.end->uscq, 20, RI_WC_SUCCESS);
	struct ri_wc wc = arrives(&b, 20, &a, 8);
	g_assert_cmpuint(wc.flags & RI_WC_IMMEDIATE, ==, RI_WC_IMMEDIATE);
	g_assert_cmpuint(wc.imm, ==, 0x01020304);
}

/* What was posted leaves, although the link is not there yet when the queue pair is destroyed. */
static void
test_destroyed(void)
{
	struct place a RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	struct place b RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	const struct ri_wr_ud ud = {.ah = a.way, .qpn = b.qpn, .qkey = KEY};
	struct ri_sge sge = chunk_sge(&a.c, 0, 100);

	for (unsigned i = 0; i < 5; i++) {
		offers(&b, i);
		g_assert_cmpint(send_to(a.end, i, &sge, &ud), ==, RI_SUCCESS);
	}
	end_free(&a.end);
	for (unsigned i = 0; i < 5; i++)
		arrives(&b, i, &a, 100);
	a.end = ud_new(a.node, 16);
}

/* To itself, without a link. */
static void
test_itself(void)
{
	struct place a RI_AT_END(place_free) = place_new(&(struct ri_addr){0});

	offers(&a, 1);
	sends(&a, 1, a.qpn, KEY, 500);
	arrives(&a, 1, &a, 500);
	g_assert_cmpuint(atomic_load(&end_qp(a.end)->rnic->fabric->shm->linked), ==, 0);
}

/* Another key, a number that nobody has, a process that is not there, no receive: it has left, and is lost. */
static void
test_lost(void)
{
	struct place a = place_new(&(struct ri_addr){0}), b = place_new(&(struct ri_addr){0});
	uint32_t block = b.qpn >> VEM_BLOCK_BITS;

	sends(&a, 1, b.qpn, KEY, 100); /* no receive */
	is_left_out(&b);
	offers(&b, 1);
	sends(&a, 2, b.qpn, KEY + 1, 100);
	sends(&a, 3, b.qpn ^ 1, KEY, 100);
	for (uint32_t i = 1; i < 20; i++)
		if ((block ^ i) != a.qpn >> VEM_BLOCK_BITS)
			sends(&a, 4, (block ^ i) << VEM_BLOCK_BITS | 77, KEY, 100);
	is_left_out(&b);
	sends(&a, 5, b.qpn, KEY, 200);
	arrives(&b, 1, &a, 200);
	/* The process ends, and comes again as another one. */
	uint32_t old = b.qpn;
	place_free(&b);
	for (unsigned i = 0; i < 50; i++)
		sends(&a, 6, old, KEY, 100);
	b = place_new(&(struct ri_addr){0});
	offers(&b, 2);
	sends(&a, 7, b.qpn, KEY, 300);
	arrives(&b, 2, &a, 300);
	place_free(&a);
	place_free(&b);
}

/* Each member gets one copy, in whichever process it is; a queue pair that has left gets none, and one that has joined gets one. */
static void
test_group(void)
{
	struct place p[4];

	for (unsigned i = 0; i < 4; i++) {
		p[i] = place_new(&group);
		if (i < 3)
			g_assert_cmpint(emul()->qp->mcast_attach(p[i].end->qp, &group), ==,
					RI_SUCCESS);
		for (uint64_t id = 1; id <= 4; id++)
			offers(&p[i], id);
	}
	g_assert_cmpint(emul()->qp->mcast_attach(p[3].end->qp, &alike), ==, RI_SUCCESS);
	sends(&p[0], 1, VEM_QPN_GROUP, KEY, 100);
	for (unsigned i = 0; i < 3; i++)
		arrives(&p[i], 1, &p[0], 100);
	/* One that is no member sends. */
	sends(&p[3], 2, VEM_QPN_GROUP, KEY, 200);
	for (unsigned i = 0; i < 3; i++)
		arrives(&p[i], 2, &p[3], 200);
	sends(&p[1], 3, VEM_QPN_GROUP, KEY, 250);
	for (unsigned i = 0; i < 3; i++)
		arrives(&p[i], 3, &p[1], 250);
	/* The first name is free, and the next process takes it: senders that have dialed it look for its owner again. */
	g_assert_cmpint(emul()->qp->mcast_detach(p[0].end->qp, &group), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->qp->mcast_attach(p[3].end->qp, &group), ==, RI_SUCCESS);
	bool came = false;
	for (gint64 deadline = node_deadline(); !came;) {
		struct ri_wc wc;

		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		sends(&p[1], 4, VEM_QPN_GROUP, KEY,
		      300); /* lost there as long as the old link ends */
		for (unsigned i = 1; i < 3; i++) {
			arrives(&p[i], 4, &p[1], 300);
			offers(&p[i], 4);
		}
		for (gint64 until = g_get_monotonic_time() + 5000;
		     !came && g_get_monotonic_time() < until;)
			came = emul()->fast->poll_cq(p[3].end->urcq, &wc, 1) == 1;
	}
	/* To one member by its number, or with another key. */
	sends(&p[1], 5, p[2].qpn, KEY, 100);
	sends(&p[1], 6, VEM_QPN_GROUP, KEY + 1, 100);
	for (unsigned i = 0; i < 4; i++)
		is_left_out(&p[i]);
	for (unsigned i = 0; i < 4; i++)
		place_free(&p[i]);
}

/* --- a process that stands still, or is killed --------------------------------------------- */

static void
ask(struct place *p, uint64_t n, const struct ri_service *service, uint64_t patience)
{
	const struct ri_host *host = vth_host(p->vth);
	struct ri_cm_params params = node_params(service);

	params.deadline = patience != RI_NEVER ? host->now(host->self) + patience : RI_NEVER;
	params.pdata = "who is there?";
	params.pdata_len = 13;
	g_assert_cmpint(p->node->p->cm->resolve(p->node->context, 100 + n, &params), ==,
			RI_SUCCESS);
}

/* A process with a service at PORT that answers nothing, or one that asks its parent's for something. */
static int
child_main(bool asks)
{
	struct place p = place_new(&(struct ri_addr){0});
	const struct ri_cm_ops *cm = p.node->p->cm;
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	struct ri_listen *listen;

	if (asks)
		ask(&p, 1, &service, RI_NEVER);
	else
		g_assert_cmpint(cm->listen(p.node->context, 42, 0, &service, 8, &listen), ==,
				RI_SUCCESS);
	if (write(1, &p.qpn, sizeof(p.qpn)) != sizeof(p.qpn))
		return 1;
	for (;;)
		pause();
}

static pid_t
child_start(const char *what, uint32_t *qpn)
{
	int fds[2];

	g_assert_cmpint(pipe(fds), ==, 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(fds[1], 1);
		execl(self, self, what, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	g_assert_cmpint(read(fds[0], qpn, sizeof(*qpn)), ==, sizeof(*qpn));
	close(fds[0]);
	return pid;
}

static void
child_kill(pid_t pid)
{
	int status;

	g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
}

/* Does the fabric list this process as a member of a group? */
static bool
is_known(const struct place *p)
{
	struct vem_fabric *fabric = p->node->rnic->fabric;

	pthread_mutex_lock(&fabric->lock);
	bool known = fabric->shm->groups != NULL;
	pthread_mutex_unlock(&fabric->lock);
	return known;
}

/* However often a queue pair attaches to a group, one detach ends it, and the process is known in the group no more. */
static void
test_group_twice(void)
{
	struct place p RI_AT_END(place_free) = place_new(&(struct ri_addr){0});

	for (unsigned life = 0; life < 3; life++) {
		for (unsigned i = 0; i <= life; i++)
			g_assert_cmpint(emul()->qp->mcast_attach(p.end->qp, &group), ==,
					RI_SUCCESS);
		g_assert_true(is_known(&p));
		g_assert_cmpint(emul()->qp->mcast_detach(p.end->qp, &group), ==, RI_SUCCESS);
		g_assert_false(is_known(&p));
		g_assert_cmpint(emul()->qp->mcast_detach(p.end->qp, &group), ==,
				RI_ERR_INVALID_ARG);
	}
}

/* Of datagrams on a path that drops a share, that share is lost; on a path that is closed, all. */
static void
test_paths(void)
{
	struct place a RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	struct place b RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	unsigned came = 0;
	struct ri_wc wc;

	offers(&b, 0);
	sends(&a, 0, b.qpn, KEY, 100);
	arrives(&b, 0, &a, 100);
	g_assert_null(node_path(b.node, "path all drop 50"));
	offers(&b, 1);
	for (unsigned i = 0; i < 200; i++) {
		sends(&a, 1, b.qpn, KEY, 100);
		for (gint64 until = g_get_monotonic_time() + 500; g_get_monotonic_time() < until;) {
			if (emul()->fast->poll_cq(b.end->urcq, &wc, 1) == 0)
				continue;
			came++;
			offers(&b, 1);
		}
	}
	g_assert_cmpuint(came, >, 50);
	g_assert_cmpuint(came, <, 150);
	g_assert_null(node_path(b.node, "path all drop 0"));
	g_assert_null(node_path(b.node, "path all hold"));
	sends(&a, 2, b.qpn, KEY, 100);
	is_left_out(&b);
	g_assert_null(node_path(b.node, "path all open"));
	is_left_out(&b);
	sends(&a, 3, b.qpn, KEY, 200);
	arrives(&b, 1, &a, 200);
}

/* Does a link wait for a process that stands still? Links are freed under the lock of the fabric. */
static bool
link_is_stuck(struct vem_shm *shm)
{
	bool stuck = false;

	pthread_mutex_lock(&shm->fabric->lock);
	for (unsigned i = 0; i < atomic_load(&shm->linked); i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		stuck = stuck || (link != NULL && atomic_load(&link->stuck));
	}
	pthread_mutex_unlock(&shm->fabric->lock);
	return stuck;
}

/* It holds a sender once, not with each datagram; others go on at full speed, and it is served again when it goes on. */
static void
test_standstill(void)
{
	struct place a RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	struct place b RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	uint32_t qpn = 0;
	pid_t pid = child_start("serves", &qpn);
	struct vem_shm *shm = end_qp(a.end)->rnic->fabric->shm;
	int status;

	sends(&a, 1, qpn, KEY, 100);
	offers(&b, 1);
	sends(&a, 1, b.qpn, KEY, 100);
	arrives(&b, 1, &a, 100);
	g_assert_cmpint(kill(pid, SIGSTOP), ==, 0);
	g_assert_cmpint(waitpid(pid, &status, WUNTRACED), ==, pid);
	gint64 start = g_get_monotonic_time();
	for (unsigned i = 0; i < 1000; i++)
		sends(&a, 2, qpn, KEY, VEM_MAX_DATAGRAM);
	gint64 took = g_get_monotonic_time() - start;
	g_test_message("1,000 datagrams to a process that stands still: %.1f ms", took / 1000.0);
	g_assert_cmpint(took, >=, 490000);  /* once 500 ms */
	g_assert_cmpint(took, <, 10000000); /* not each time */
	g_assert_true(link_is_stuck(shm));
	offers(&b, 2);
	sends(&a, 3, b.qpn, KEY, 100);
	arrives(&b, 2, &a, 100);
	g_assert_cmpint(kill(pid, SIGCONT), ==, 0);
	for (gint64 deadline = node_deadline(); link_is_stuck(shm);) {
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		sends(&a, 4, qpn, KEY, 100);
	}
	child_kill(pid);
	for (unsigned i = 0; i < 100; i++)
		sends(&a, 5, qpn, KEY, 100);
}

/* --- services ----------------------------------------------------------------------------- */

static struct ri_cm_event
told(struct place *p, uint64_t n, enum ri_service_status status)
{
	struct ri_cm_event event =
		node_cm(p->node, RI_CM_SERVICE_REPLY, (const void *)(uintptr_t)(100 + n));

	g_assert_cmpuint(event.service_status, ==, status);
	return event;
}

static void
test_service(void)
{
	const void *listener = (const void *)(uintptr_t)42;
	struct place a RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	struct place b RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	struct ri_service service = {.kind = RI_SERVICE_IB},
			  none = {.kind = RI_SERVICE_IB, .id = 9};
	const struct ri_service_answer found = {
		.status = RI_SERVICE_FOUND, .qpn = b.qpn, .qkey = 8, .pdata = "me", .pdata_len = 2};
	const struct ri_cm_ops *cm = b.node->p->cm;
	struct ri_listen *listen;
	struct ri_cm_event event;

	g_assert_cmpint(cm->listen(b.node->context, 42, 0, &service, 2, &listen), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 3; i++) {
		ask(&a, i, &service, RI_NEVER);
		event = node_cm(b.node, RI_CM_SERVICE_REQUEST, listener);
		g_assert_cmpmem(event.pdata, event.pdata_len, "who is there?", 13);
		g_assert_cmpuint(event.peer.octets[0], ==, 127);
		g_assert_cmpmem(&event.service, sizeof(service), &service, sizeof(service));
		g_assert_cmpint(cm->resolve_answer(event.request, &found), ==, RI_SUCCESS);
		g_assert_cmpint(cm->resolve_answer(event.request, &found), ==,
				RI_ERR_INVALID_HANDLE);
		event = told(&a, i, RI_SERVICE_FOUND);
		g_assert_cmpuint(event.qpn, ==, b.qpn);
		g_assert_cmpuint(event.qkey, ==, 8);
		g_assert_cmpmem(event.pdata, event.pdata_len, "me", 2);
	}
	ask(&a, 4, &none, RI_NEVER);
	told(&a, 4, RI_SERVICE_UNKNOWN);
	/* The backlog is 2. A request that does not wait any more has left it. */
	ask(&a, 5, &service, RI_NEVER);
	event = node_cm(b.node, RI_CM_SERVICE_REQUEST, listener);
	ask(&a, 6, &service, 30000000);
	struct ri_request *second = node_cm(b.node, RI_CM_SERVICE_REQUEST, listener).request;
	ask(&a, 7, &service, RI_NEVER);
	told(&a, 7, RI_SERVICE_REJECTED);
	told(&a, 6, RI_SERVICE_REJECTED);
	g_assert_true(node_cm(b.node, RI_CM_REQUEST_GONE, listener).request == second);
	cm->resolve_cancel(a.node->context, 105);
	g_assert_true(node_cm(b.node, RI_CM_REQUEST_GONE, listener).request == event.request);
	/* The process that has asked ends. */
	struct place d = place_new(&(struct ri_addr){0});
	ask(&d, 1, &service, RI_NEVER);
	event = node_cm(b.node, RI_CM_SERVICE_REQUEST, listener);
	place_free(&d);
	g_assert_true(node_cm(b.node, RI_CM_REQUEST_GONE, listener).request == event.request);
	cm->listen_destroy(listen);
	ask(&a, 8, &service, RI_NEVER);
	told(&a, 8, RI_SERVICE_UNKNOWN);
}

/* A service whose process has been killed is unknown, at once. */
static void
test_service_killed(void)
{
	const struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	struct place a RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	uint32_t qpn = 0;
	pid_t pid = child_start("serves", &qpn);

	ask(&a, 1, &service, RI_NEVER);
	g_usleep(20000);
	node_silent(a.node);
	child_kill(pid);
	told(&a, 1, RI_SERVICE_UNKNOWN);
}

/* A question of a process that has been killed is gone, at once. */
static void
test_asker_killed(void)
{
	const void *listener = (const void *)(uintptr_t)42;
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT)};
	struct place b RI_AT_END(place_free) = place_new(&(struct ri_addr){0});
	const struct ri_cm_ops *cm = b.node->p->cm;
	struct ri_listen *listen;
	uint32_t qpn;

	g_assert_cmpint(cm->listen(b.node->context, 42, 0, &service, 8, &listen), ==, RI_SUCCESS);
	pid_t pid = child_start("asks", &qpn);
	struct ri_request *request = node_cm(b.node, RI_CM_SERVICE_REQUEST, listener).request;
	child_kill(pid);
	g_assert_true(node_cm(b.node, RI_CM_REQUEST_GONE, listener).request == request);
	cm->listen_destroy(listen);
}

int
main(int argc, char **argv)
{
	self = argv[0];

	bool asks = argc > 1 && strcmp(argv[1], "asks") == 0;
	bool child = asks || (argc > 1 && strcmp(argv[1], "serves") == 0);

	if (child)
		return child_main(asks);
	char *runtime = vem_runtime_begin();
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/shm-ud/data", test_data);
	g_test_add_func("/emul/shm-ud/destroyed", test_destroyed);
	g_test_add_func("/emul/shm-ud/itself", test_itself);
	g_test_add_func("/emul/shm-ud/lost", test_lost);
	g_test_add_func("/emul/shm-ud/group", test_group);
	g_test_add_func("/emul/shm-ud/group-twice", test_group_twice);
	g_test_add_func("/emul/shm-ud/paths", test_paths);
	g_test_add_func("/emul/shm-ud/standstill", test_standstill);
	g_test_add_func("/emul/shm-ud/service", test_service);
	g_test_add_func("/emul/shm-ud/service-killed", test_service_killed);
	g_test_add_func("/emul/shm-ud/asker-killed", test_asker_killed);
	int failed = g_test_run();
	struct place last = place_new(&(struct ri_addr){0}); /* removes the names of the killed */
	place_free(&last);
	return vem_runtime_end(runtime) ? failed : 1;
}
