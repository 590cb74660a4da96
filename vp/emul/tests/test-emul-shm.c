/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The carrier between processes. Two adapters with hosts of their own share only the sockets and rings, so most of it
 * is tested in one process; test-emul-shm-hostile.c has the tests in which a process dies.
 */
#include <glib/gstdio.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "vem.h"
#include "vem_node.h"
#include "vem_path.h"
#include "vem_runtime.h"

static const char *adapter; /* of this round */

struct two {
	struct vth *vth[2];
	struct node *node[2];
	struct end *a, *b;
	struct chunk ca, cb;
};

#define SIZE (300u * 1024)

static struct two
two_new(const char *patience)
{
	struct two t = {0};

	for (unsigned i = 0; i < 2; i++) {
		t.vth[i] = vth_new(true);
		t.node[i] = node_new_patient(t.vth[i], adapter, patience);
	}
	struct ri_qp_init init = end_defaults(t.node[0]);
	init.access |= RI_ACCESS_REMOTE_ATOMIC;
	t.a = end_new(t.node[0], &init);
	t.b = end_new(t.node[1], &init);
	t.ca = chunk_new(t.node[0], SIZE, ALL_RW | RI_ACCESS_REMOTE_ATOMIC);
	t.cb = chunk_new(t.node[1], SIZE, ALL_RW | RI_ACCESS_REMOTE_ATOMIC);
	chunk_fill(&t.ca, 1);
	chunk_fill(&t.cb, 2);
	return t;
}

static struct two
two_connected(void)
{
	struct two t = two_new("60000");

	ends_connect(t.a, t.b);
	return t;
}

static void
two_free(struct two *t)
{
	end_free(&t->a);
	end_free(&t->b);
	chunk_free(&t->ca);
	chunk_free(&t->cb);
	for (unsigned i = 0; i < 2; i++) {
		node_forget(t->node[i]);
		node_free(&t->node[i]);
		vth_free(&t->vth[i]);
	}
}

static bool
is_ib(void)
{
	return g_str_has_suffix(adapter, "ib");
}

/* The next completion, waited for by polling. */
static struct ri_wc
completion(struct end *end, struct ri_ucq *cq)
{
	gint64 deadline = node_deadline();
	struct ri_wc wc = {0};

	while (end->node->p->fast->poll_cq(cq, &wc, 1) == 0)
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	return wc;
}

static void
expect(struct end *end, struct ri_ucq *cq, uint64_t id, enum ri_wc_status status)
{
	struct ri_wc wc = completion(end, cq);

	g_assert_cmpuint(wc.wr_id, ==, id);
	g_assert_cmpuint(wc.status, ==, status);
}

/* Requests that find the backlog full are refused, take no memory, and leave the one that waits alone. */
static void
test_crowded(void)
{
	struct two t RI_AT_END(two_free) = two_new("1000");
	const struct ri_cm_ops *cm = t.a->node->p->cm;
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct end *late RI_AT_END(end_free) = end_new(t.node[0], NULL);
	struct ri_listen *listen = NULL;
	size_t before = 0;

	g_assert_cmpint(cm->listen(t.node[1]->context, 42, 0, &service, 1, &listen), ==,
			RI_SUCCESS);
	struct ri_cm_params params = node_params(&service);
	g_assert_cmpint(cm->connect(t.a->qp, &params), ==, RI_SUCCESS);
	struct ri_cm_event request = node_cm(t.node[1], RI_CM_REQUEST, (const void *)(uintptr_t)42);

	for (unsigned i = 0; i < 600; i++) {
		if (i == 100)
			before = mallinfo2().uordblks;
		g_assert_cmpint(cm->connect(late->qp, &params), ==, RI_SUCCESS);
		struct ri_cm_event no = node_cm(t.node[0], RI_CM_FAILED, late);
		g_assert_cmpuint(no.reason, ==, RI_CM_REASON_RESOURCES);
		g_assert_cmpint(end_modify(late, RI_QPS_IDLE), ==, RI_SUCCESS);
	}
	g_assert_cmpuint(mallinfo2().uordblks, <, before + 500 * 64);
	g_assert_cmpint(cm->accept(request.request, t.b->qp, &params), ==, RI_SUCCESS);
	node_cm(t.node[0], RI_CM_ESTABLISHED, t.a);
	node_cm(t.node[1], RI_CM_ESTABLISHED, t.b);
	cm->listen_destroy(listen);
}

/* A listener, at the port in *service; 0: one is chosen, and stored there. */
static struct ri_listen *
listen_at(struct node *node, struct ri_service *service)
{
	struct ri_listen *listen = NULL;

	g_assert_cmpint(node->p->cm->listen(node->context, 42, 0, service, 4, &listen), ==,
			RI_SUCCESS);
	return listen;
}

static void
connect_at(struct end *a, struct end *b, const struct ri_service *service)
{
	const struct ri_cm_ops *cm = a->node->p->cm;
	struct ri_cm_params params = node_params(service);

	g_assert_cmpint(cm->connect(a->qp, &params), ==, RI_SUCCESS);
	struct ri_cm_event request = node_cm(b->node, RI_CM_REQUEST, (const void *)(uintptr_t)42);
	g_assert_cmpint(cm->accept(request.request, b->qp, &params), ==, RI_SUCCESS);
	node_cm(a->node, RI_CM_ESTABLISHED, a);
	node_cm(b->node, RI_CM_ESTABLISHED, b);
}

/* A port passes from one process to another one and back, while connections to both stay: each attempt reaches the owner of then. */
static void
test_port_moves(void)
{
	struct two t RI_AT_END(two_free) = two_new("60000");
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	struct node *third RI_AT_END(node_free) = node_new_patient(vth, adapter, "60000");
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct end *a[4], *b[4];

	for (unsigned i = 0; i < G_N_ELEMENTS(a); i++) {
		struct node *owner = i % 2 == 0 ? t.node[1] : third;
		struct ri_listen *listen = listen_at(owner, &service);

		a[i] = end_new(t.node[0], NULL);
		b[i] = end_new(owner, NULL);
		connect_at(a[i], b[i], &service);
		owner->p->cm->listen_destroy(listen);
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(a); i++) {
		end_free(&a[i]);
		end_free(&b[i]);
	}
	node_forget(third);
}

/* The target neither polls nor waits: its service thread executes. */
static void
test_asleep(void)
{
	struct two t RI_AT_END(two_free) = two_connected();
	gint64 start = g_get_monotonic_time();

	for (unsigned i = 0; i < 50; i++) {
		g_usleep(i % 10 == 0 ? 20000 : 100);
		g_assert_cmpint(end_write(t.a, i, &t.ca, &t.cb, 64), ==, RI_SUCCESS);
		expect(t.a, t.a->uscq, i, RI_WC_SUCCESS);
	}
	g_test_message("%.1f ms", (double)(g_get_monotonic_time() - start) / 1000);
}

/* Pages of rings that this process has touched, in KiB; of one that is mapped twice, once. */
static unsigned
ring_pages(void)
{
	char *text = NULL, **lines;
	bool ring = false;
	unsigned sum = 0;

	g_assert_true(g_file_get_contents("/proc/self/smaps", &text, NULL, NULL));
	lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line != NULL; line++) {
		if (g_ascii_isxdigit((*line)[0]) && strchr(*line, '-') != NULL &&
		    strchr(*line, '-') < strchr(*line, ' '))
			ring = strstr(*line, "itapi-ring") != NULL;
		else if (ring && g_str_has_prefix(*line, "Pss:"))
			sum += (unsigned)g_ascii_strtoull(*line + 4, NULL, 10);
	}
	g_strfreev(lines);
	g_free(text);
	return sum;
}

/* A link that carries little costs little: both of its rings, with their indices. */
static void
test_idle(void)
{
	struct two t RI_AT_END(two_free) = two_new("1000");

	/* The second adapter has dialed the names that it found, to see who lives: such a link ends at once. */
	for (gint64 deadline = node_deadline(); ring_pages() != 0; g_usleep(1000))
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	ends_connect(t.a, t.b);
	g_assert_cmpint(end_write(t.a, 1, &t.ca, &t.cb, 64), ==, RI_SUCCESS);
	expect(t.a, t.a->uscq, 1, RI_WC_SUCCESS);
	g_test_message("%u KiB", ring_pages());
	g_assert_cmpuint(ring_pages(), >, 0);
	g_assert_cmpuint(ring_pages(), <=, 16);
}

/* Messages do not take time on demand here, and none is lost in a carrier that does not exist. */
static void
test_no_wire(void)
{
	g_setenv("ITAPI_EMUL_WIRE_US", "10000000", TRUE);
	struct two t RI_AT_END(two_free) = two_connected();
	g_unsetenv("ITAPI_EMUL_WIRE_US");

	g_assert_cmpuint(t.node[0]->rnic->wire_delay, ==, 0);
	g_assert_true(vth_logged(t.vth[0], "ITAPI_EMUL_WIRE_US is not for"));
	g_assert_cmpint(end_write(t.a, 1, &t.ca, &t.cb, 64), ==, RI_SUCCESS);
	expect(t.a, t.a->uscq, 1, RI_WC_SUCCESS);
}

/*
 * Memory is deregistered while a long message into it, or out of it, is in progress: from then on
 * no octet may be written to it or read from it.
 */
static void
test_revoked(void)
{
	enum {
		WRITTEN,
		READ,
		RECEIVED,
		SINK,
		SOURCE,
		HOWS
	};

	for (unsigned round = 0; round < 4 * HOWS; round++) {
		struct two t = two_connected();
		unsigned how = round % HOWS;
		struct chunk *gone = how >= SINK ? &t.ca : &t.cb;
		const struct chunk *kept = how >= SINK ? &t.cb : &t.ca;
		bool placed = how == WRITTEN || how == RECEIVED || how == SINK;

		memset(t.ca.at, 0x55, SIZE);
		memset(t.cb.at, 0x55, SIZE);
		for (unsigned i = 0; i < 8; i++) {
			enum ri_status status = RI_SUCCESS;

			if (how == RECEIVED)
				status = end_recv(t.b, i, &t.cb, 0, SIZE);
			g_assert_cmpint(status, ==, RI_SUCCESS);
			if (how == RECEIVED)
				status = end_send(t.a, i, &t.ca, 0, SIZE);
			else if (how == READ || how == SINK)
				status = end_read(t.a, i, &t.ca, &t.cb, SIZE);
			else
				status = end_write(t.a, i, &t.ca, &t.cb, SIZE);
			g_assert_cmpint(status, ==, RI_SUCCESS);
		}
		g_usleep(round * 37 % 400);
		g_assert_cmpint(gone->node->p->mem->mr_dereg(gone->mr), ==, RI_SUCCESS);
		gone->mr = NULL;
		memset(gone->at, 0xaa, SIZE);
		g_usleep(5000);
		for (unsigned i = 0; i < SIZE; i++)
			if (placed)
				g_assert_cmpuint(gone->at[i], ==, 0xaa);
			else
				g_assert_cmpuint(kept->at[i], !=, 0xaa);
		two_free(&t);
	}
}

/* --- rules for what comes through links ------------------------------------------------------ */

static void
path_set(struct two *t, unsigned i, const char *how)
{
	g_autofree char *text = g_strdup_printf("path all %s", how);

	g_assert_null(node_path(t->node[i], text));
}

/* For that long there is no completion, and the target's memory stays as it is. */
static void
nothing_comes(struct two *t, gint64 us)
{
	const uint8_t first = t->cb.at[0];
	struct ri_wc wc;

	for (gint64 until = g_get_monotonic_time() + us; g_get_monotonic_time() < until;) {
		g_assert_cmpint(t->b->node->p->fast->poll_cq(t->b->urcq, &wc, 1), ==, 0);
		g_assert_cmpint(t->a->node->p->fast->poll_cq(t->a->uscq, &wc, 1), ==, 0);
		g_assert_cmpint(t->cb.at[0], ==, first);
	}
}

/* A path that holds, at the target or at the poster: a Write, and its answer. More than a ring takes waits, too. */
static void
test_path_hold(void)
{
	struct two t RI_AT_END(two_free) = two_connected();

	for (unsigned side = 0; side < 2; side++) {
		path_set(&t, side, "hold");
		chunk_fill(&t.ca, 20 + side);
		for (unsigned i = 0; i < 4; i++)
			g_assert_cmpint(end_read(t.a, i, &t.ca, &t.cb, 100), ==, RI_SUCCESS);
		if (side == 1) {
			for (unsigned i = 4; i < 8; i++)
				g_assert_cmpint(end_write(t.a, i, &t.ca, &t.cb, SIZE), ==,
						RI_SUCCESS);
			nothing_comes(&t, 50000);
		}
		struct ri_wc wc;

		g_usleep(20000);
		g_assert_cmpint(t.a->node->p->fast->poll_cq(t.a->uscq, &wc, 1), ==, 0);
		path_set(&t, side, "open");
		for (unsigned i = 0; i < (side == 1 ? 8 : 4); i++)
			expect(t.a, t.a->uscq, i, RI_WC_SUCCESS);
		g_assert_cmpmem(t.ca.at, side == 1 ? SIZE : 100, t.cb.at, side == 1 ? SIZE : 100);
	}
}

/* An entry takes at least as long as the rule says, which may be older than the link; order and content stay. */
static void
path_delay(bool before)
{
	struct two t RI_AT_END(two_free) = two_new("60000");
	gint64 begun;

	if (before)
		path_set(&t, 1, "delay 20000 30000");
	ends_connect(t.a, t.b);
	if (!before)
		path_set(&t, 1, "delay 20000 30000");
	for (unsigned i = 0; i < 5; i++)
		g_assert_cmpint(end_recv(t.b, i, &t.cb, 1000 * i, 1000), ==, RI_SUCCESS);
	g_usleep(10000);
	begun = g_get_monotonic_time();
	for (unsigned i = 0; i < 5; i++)
		g_assert_cmpint(end_send(t.a, i, &t.ca, 1000 * i, 1000), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 5; i++)
		expect(t.b, t.b->urcq, i, RI_WC_SUCCESS);
	g_assert_cmpint(g_get_monotonic_time() - begun, >=, 20000);
	g_assert_cmpmem(t.cb.at, 5000, t.ca.at, 5000);
	for (unsigned i = 0; i < 5; i++)
		expect(t.a, t.a->uscq, i, RI_WC_SUCCESS);
	/* The end of a connection does not overtake what was sent before it. */
	g_assert_cmpint(end_recv(t.b, 9, &t.cb, 0, 1000), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(t.a, 9, &t.ca, 3000, 1000), ==, RI_SUCCESS);
	g_assert_cmpint(t.a->node->p->cm->disconnect(t.a->qp, NULL, 0), ==, RI_SUCCESS);
	expect(t.b, t.b->urcq, 9, RI_WC_SUCCESS);
	node_cm(t.node[1], RI_CM_DISCONNECTED, t.b);
	node_cm(t.node[0], RI_CM_DISCONNECTED, t.a);
}

static void
test_path_delay(void)
{
	path_delay(false);
	path_delay(true);
}

/* A path that is cut harms nobody who is silent; what waits there for long breaks the link. */
static void
test_path_cut(void)
{
	struct two t RI_AT_END(two_free) = two_connected();
	struct vem_fabric *fabric = t.node[1]->rnic->fabric;
	const guint64 patience = vem_path_patience(fabric) / 1000;

	if (!is_ib()) {
		g_test_skip("TCP tries for 100 s");
		return;
	}
	path_set(&t, 1, "cut");
	nothing_comes(&t, (gint64)patience * 3 / 2);
	g_assert_cmpint(end_state(t.a), ==, RI_QPS_RTS);
	path_set(&t, 1, "open");
	g_assert_cmpint(end_write(t.a, 1, &t.ca, &t.cb, 100), ==, RI_SUCCESS);
	expect(t.a, t.a->uscq, 1, RI_WC_SUCCESS);
	path_set(&t, 1, "cut");
	gint64 begun = g_get_monotonic_time();
	g_assert_cmpint(end_write(t.a, 2, &t.ca, &t.cb, 100), ==, RI_SUCCESS);
	node_cm(t.node[1], RI_CM_BROKEN, t.b);
	node_cm(t.node[0], RI_CM_BROKEN, t.a);
	g_assert_cmpint(g_get_monotonic_time() - begun, >=, (gint64)patience);
	g_assert_true(vth_logged(t.vth[1], "its path is cut"));
}

/* A rule is there before the link: its connection waits. One for another process is none for this one. */
static void
test_path_begins(void)
{
	struct two t RI_AT_END(two_free) = two_new("60000");
	const struct ri_cm_ops *cm = t.a->node->p->cm;
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct ri_listen *listen = NULL;
	g_autofree char *mine = g_strdup_printf("path %d hold", (int)getpid());

	g_assert_null(node_path(t.node[1], "path 1 cut"));
	g_assert_null(node_path(t.node[1], mine));
	g_assert_cmpint(cm->listen(t.node[1]->context, 42, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	struct ri_cm_params params = node_params(&service);
	g_assert_cmpint(cm->connect(t.a->qp, &params), ==, RI_SUCCESS);
	g_usleep(50000);
	node_silent(t.node[1]);
	mine[strlen(mine) - 4] = '\0';
	g_autofree char *open = g_strconcat(mine, "open", NULL);
	g_assert_null(node_path(t.node[1], open));
	struct ri_cm_event request = node_cm(t.node[1], RI_CM_REQUEST, (const void *)(uintptr_t)42);
	g_assert_cmpint(cm->accept(request.request, t.b->qp, &params), ==, RI_SUCCESS);
	node_cm(t.node[0], RI_CM_ESTABLISHED, t.a);
	node_cm(t.node[1], RI_CM_ESTABLISHED, t.b);
	cm->listen_destroy(listen);
}

/* The other process ends behind a path that holds: this one learns of it when the path is open. */
static void
test_path_end(void)
{
	struct two t RI_AT_END(two_free) = two_connected();

	path_set(&t, 1, "hold");
	g_assert_cmpint(end_write(t.a, 1, &t.ca, &t.cb, 100), ==, RI_SUCCESS);
	end_free(&t.a);
	g_usleep(20000);
	g_assert_cmpint(end_state(t.b), ==, RI_QPS_RTS);
	path_set(&t, 1, "open");
	node_cm(t.node[1], RI_CM_BROKEN, t.b);
	t.a = end_new(t.node[0], NULL);
}

/* What the side that accepts sends at once may come before its acceptance, whose packet takes another way. */
/* As often as the other side has said is it tried to find a receive, and not as long as the adapter is set to wait. */
static void
test_tries(void)
{
	for (unsigned k = 0; k < 2; k++) {
		struct two t RI_AT_END(two_free) = two_new("60000");
		struct end *impatient = k == 0 ? t.a : t.b, *other = k == 0 ? t.b : t.a;
		const struct chunk *chunk = k == 0 ? &t.ca : &t.cb;

		if (!is_ib()) {
			g_test_skip("iWARP tells no tries");
			return;
		}
		/* The one that connects says for how long the other one tries. */
		ends_connect_tries(t.a, t.b, k == 0 ? 7 : 2, k == 0 ? 0 : 7);
		g_assert_cmpint(end_send(impatient, 1, chunk, 0, 8), ==, RI_SUCCESS);
		expect(impatient, impatient->uscq, 1, RI_WC_RNR);
		node_cm(impatient->node, RI_CM_BROKEN, impatient);
		node_cm(other->node, RI_CM_BROKEN, other);
	}
}

/* 7 is without end. */
static void
test_tries_without_end(void)
{
	struct two t RI_AT_END(two_free) = two_new("1");

	if (!is_ib()) {
		g_test_skip("iWARP tells no tries");
		return;
	}
	ends_connect_tries(t.a, t.b, 0, 7);
	g_assert_cmpint(end_send(t.a, 1, &t.ca, 0, 8), ==, RI_SUCCESS);
	g_usleep(30000);
	g_assert_cmpint(end_recv(t.b, 2, &t.cb, 0, 8), ==, RI_SUCCESS);
	expect(t.b, t.b->urcq, 2, RI_WC_SUCCESS);
	expect(t.a, t.a->uscq, 1, RI_WC_SUCCESS);
}

static void
test_early(void)
{
	struct two t RI_AT_END(two_free) = two_new("60000");
	const struct ri_cm_ops *cm = t.a->node->p->cm;
	struct vem_fabric *fabric = t.node[0]->rnic->fabric;
	struct ri_service service = {.kind = RI_SERVICE_PORT};
	struct ri_listen *listen = NULL;
	struct ri_wc wc;

	if (is_ib()) {
		g_test_skip("this side waits for the third message");
		return;
	}
	g_assert_cmpint(cm->listen(t.node[1]->context, 42, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	struct ri_cm_params params = node_params(&service);
	g_assert_cmpint(end_recv(t.a, 5, &t.ca, 0, 100), ==, RI_SUCCESS);
	g_assert_cmpint(cm->connect(t.a->qp, &params), ==, RI_SUCCESS);
	struct ri_cm_event request = node_cm(t.node[1], RI_CM_REQUEST, (const void *)(uintptr_t)42);
	pthread_mutex_lock(
		&fabric->lock); /* the service thread of the other side handles no packet */
	g_assert_cmpint(cm->accept(request.request, t.b->qp, &params), ==, RI_SUCCESS);
	node_cm(t.node[1], RI_CM_ESTABLISHED, t.b);
	g_assert_cmpint(end_send(t.b, 6, &t.cb, 0, 100), ==, RI_SUCCESS);
	for (gint64 until = g_get_monotonic_time() + 50000; g_get_monotonic_time() < until;)
		g_assert_cmpint(t.a->node->p->fast->poll_cq(t.a->urcq, &wc, 1), ==, 0);
	pthread_mutex_unlock(&fabric->lock);
	expect(t.a, t.a->urcq, 5, RI_WC_SUCCESS);
	expect(t.b, t.b->uscq, 6, RI_WC_SUCCESS);
	node_cm(t.node[0], RI_CM_ESTABLISHED, t.a);
	g_assert_cmpmem(t.ca.at, 100, t.cb.at, 100);
	cm->listen_destroy(listen);
}

static void
test_path_wrong(void)
{
	static const char *const wrong[] = {
		"name a",           "tell messages",     "path b hold",
		"path 1a hold",     "path all sideways", "path all delay 5 4",
		"path all drop 101"};
	struct two t RI_AT_END(two_free) = two_connected();

	for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++)
		g_assert_nonnull(node_path(t.node[0], wrong[i]));
	for (unsigned i = 0; i < VEM_PATHS; i++) {
		g_autofree char *text = g_strdup_printf("path %u drop 3", i + 1);
		g_assert_null(node_path(t.node[0], text));
	}
	g_assert_cmpstr(node_path(t.node[0], "path 1000 hold"), ==, "too many paths");
}

static void
add(const char *name, GTestFunc run)
{
	g_autofree char *path = g_strdup_printf("/emul/shm/%s/%s", strchr(adapter, ':') + 1, name);

	g_test_add_func(path, run);
}

/* --- order ---------------------------------------------------------------------------------- */

struct holder {
	pthread_mutex_t *lock;
	atomic_bool held, go;
};

/*
 * Holds the lock that upcalls of an adapter take, until 3 ms after it is told to release it. If the
 * test's own thread reads and makes the upcall, it holds the lock for a fixed while.
 */
static void *
lock_hold(void *arg)
{
	struct holder *h = arg;

	pthread_mutex_lock(h->lock);
	atomic_store(&h->held, true);
	for (unsigned i = 0; i < 2000 && !atomic_load(&h->go); i++)
		g_usleep(50);
	g_usleep(3000);
	pthread_mutex_unlock(h->lock);
	return NULL;
}

/*
 * The service thread of `b` has completed a receive and is held in the upcall for it, while this
 * thread sends the answer. False: this thread got no processor for so long that it may have stopped
 * waiting for the acknowledgement.
 */
static bool
is_acknowledged_first(struct two *t)
{
	struct holder h = {.lock = &t->node[1]->lock};
	const struct ri_fast_ops *fast = t->a->node->p->fast;
	struct ri_wc wc;
	bool sent;

	g_assert_cmpint(end_recv(t->a, 1, &t->ca, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_recv(t->b, 2, &t->cb, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(fast->arm_cq(t->b->urcq, RI_ARM_NEXT, 0), ==, RI_SUCCESS);
	GThread *thread = g_thread_new("holder", lock_hold, &h);
	while (!atomic_load(&h.held))
		g_usleep(50);
	g_assert_cmpint(end_send(t->a, 3, &t->ca, 64, 64), ==, RI_SUCCESS);
	g_usleep(2000); /* it is the service thread that reads */
	completion(t->b, t->b->urcq);
	gint64 begin = g_get_monotonic_time();
	atomic_store(&h.go, true);
	g_assert_cmpint(end_send(t->b, 4, &t->cb, 64, 64), ==, RI_SUCCESS);
	bool soon = g_get_monotonic_time() - begin < 15000;
	completion(t->a, t->a->urcq);
	sent = fast->poll_cq(t->a->uscq, &wc, 1) == 1;
	g_thread_join(thread);
	g_assert_true(sent || !soon);
	if (!sent)
		completion(t->a, t->a->uscq);
	completion(t->b, t->b->uscq);
	return soon;
}

/* A Send is complete before the answer to it. */
static void
test_order(void)
{
	struct two t RI_AT_END(two_free) = two_connected();
	bool seen = false;

	for (unsigned round = 0; !seen && round < 100; round++)
		seen = is_acknowledged_first(&t);
	if (!seen)
		g_test_skip("this thread never has a processor for long enough");
}

int
main(int argc, char **argv)
{
	char *runtime = vem_runtime_begin();

	g_test_init(&argc, &argv, NULL);
	adapter = argc > 1 ? argv[1] : "shm:ib";
	add("crowded", test_crowded);
	add("port-moves", test_port_moves);
	add("asleep", test_asleep);
	add("revoked", test_revoked);
	add("idle", test_idle);
	add("no-wire", test_no_wire);
	add("path-hold", test_path_hold);
	add("path-delay", test_path_delay);
	add("path-cut", test_path_cut);
	add("path-begins", test_path_begins);
	add("path-end", test_path_end);
	add("path-wrong", test_path_wrong);
	add("tries", test_tries);
	add("tries-without-end", test_tries_without_end);
	add("early", test_early);
	add("order", test_order);
	int failed = g_test_run();

	/* Only the folder and its lock are left. */
	return vem_runtime_end(runtime) ? failed : 1;
}
