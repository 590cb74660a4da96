/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Many processes, each of which is connected with all others. Each process has a Write outstanding to each other
 * process, and sleeps until one of them completes; later all of them sleep. The test prints the rate of all beside
 * that of two processes, the slowest process, the processor time without any work, and the memory of a connection.
 *
 * ITAPI_TEST_MEMBERS: the number of processes.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "it_pair.h"

#define MEMBERS     8
#define MEMBERS_MAX 120
#define RUN_US      50000 /* for each process */
#define IDLE_US     1000000
#define SETTLE_US   300000
#define OCTETS      64

struct member {
	uint16_t port;
	uint64_t writes, slowest; /* of all its links; of the slowest of them */
	uint64_t idle_us;         /* of processor time */
	uint64_t shmem_kib;       /* that its connections have taken */
	unsigned again;           /* dialed again */
};

/* What all processes share. */
struct mesh {
	unsigned count;
	atomic_uint here; /* processes that have come to a barrier, all barriers together */
	struct member members[MEMBERS_MAX];
};

/* Private data of both directions. Network order. */
struct place {
	uint64_t context, addr;
	uint64_t index;
};

struct node {
	struct mesh *mesh;
	unsigned index;
	struct end end;
	struct pair pair;
	it_ep_handle_t eps[MEMBERS_MAX];
	struct place far[MEMBERS_MAX];
	uint64_t writes[MEMBERS_MAX];
	bool is_up[MEMBERS_MAX];
	unsigned up;
	unsigned dialing; /* the number of members: none */
	unsigned barriers;
	unsigned again; /* how often a listener had no room for it */
};

static void
barrier(struct node *node)
{
	atomic_fetch_add(&node->mesh->here, 1);
	node->barriers++;
	/* Many that look often would leave the processors to nobody else. */
	gint64 deadline = g_get_monotonic_time() + WAIT_US;
	while (atomic_load(&node->mesh->here) < node->mesh->count * node->barriers) {
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		g_usleep(node->mesh->count * 100);
	}
}

static uint64_t
shmem_kib(void)
{
	g_autofree char *text = NULL;
	uint64_t kib = 0;

	g_assert_true(g_file_get_contents("/proc/self/status", &text, NULL, NULL));
	const char *at = strstr(text, "RssShmem:");
	if (at != NULL)
		kib = g_ascii_strtoull(at + strlen("RssShmem:"), NULL, 10);
	return kib;
}

/* --- the connections ------------------------------------------------------------------------ */

static struct place
place_of(const struct node *node)
{
	return (struct place){it_hton64(node->end.context),
			      it_hton64(it_make_rdma_addr_absolute(node->end.buffer)),
			      it_hton64(node->index)};
}

static void
ep_new(struct node *node, unsigned peer)
{
	pair_ok(it_ep_rc_create(node->end.pz, node->end.request, node->end.recv, node->end.cm_msg,
				IT_EP_NO_FLAG, &node->end.attr, &node->eps[peer]));
}

static void
accept_one(struct node *node)
{
	struct place near = place_of(node), far;
	it_event_t event;

	if (it_evd_dequeue(node->end.cm_req, &event) != IT_SUCCESS)
		return;
	memcpy(&far, event.conn_req.private_data, sizeof(far));
	unsigned peer = (unsigned)it_ntoh64(far.index);
	g_assert_cmpuint(peer, <, node->mesh->count);
	node->far[peer] = far;
	if (node->eps[peer] != NULL)
		pair_ok(it_ep_free(node->eps[peer])); /* its end has not come yet */
	node->up -= node->is_up[peer];
	node->is_up[peer] = false;
	ep_new(node, peer);
	it_status_t status = it_ep_accept(node->eps[peer], event.conn_req.cn_est_id, (void *)&near,
					  sizeof(near));
	g_assert_true(status == IT_SUCCESS || status == IT_ERR_INVALID_CN_EST_ID);
}

/* The peer of an endpoint; the number of members: none, it was freed meanwhile. */
static unsigned
peer_of(const struct node *node, it_ep_handle_t ep)
{
	unsigned i = 0;

	while (i < node->mesh->count && node->eps[i] != ep)
		i++;
	return i;
}

/*
 * Takes the next event of a connection. A listener to which a hundred processes connect at once refuses some, or closes
 * connections that have not sent their Request yet: these connect again.
 */
static void
event_take(struct node *node)
{
	it_event_t event;

	if (it_evd_dequeue(node->end.cm_msg, &event) != IT_SUCCESS)
		return;
	unsigned peer = peer_of(node, event.conn.ep);
	if (peer == node->mesh->count)
		return;
	if (node->dialing == peer)
		node->dialing = node->mesh->count;
	if (event.event_number == IT_CM_MSG_CONN_ESTABLISHED_EVENT) {
		node->is_up[peer] = true;
		node->up++;
		if (peer < node->index)
			memcpy(&node->far[peer], event.conn.private_data, sizeof(node->far[peer]));
		return;
	}
	node->up -= node->is_up[peer];
	node->is_up[peer] = false;
	node->again++;
	pair_ok(it_ep_free(node->eps[peer]));
	node->eps[peer] = NULL;
	g_usleep(1000 + node->index * 100);
}

/* Dial one of those before this one that it is not connected with. */
static void
dial_one(struct node *node)
{
	struct place near = place_of(node);
	it_conn_qual_t qual = node->pair.qual;
	unsigned peer = 0;

	while (peer < node->index && node->eps[peer] != NULL)
		peer++;
	if (node->dialing != node->mesh->count || peer == node->index)
		return;
	qual.conn_qual.port = node->mesh->members[peer].port;
	ep_new(node, peer);
	pair_ok(it_ep_connect(node->eps[peer], &node->pair.path, NULL, &qual,
			      IT_CONNECT_FLAG_TWO_WAY, (void *)&near, sizeof(near)));
	node->dialing = peer;
}

/* One after the other; those behind this one dial it. */
static void
mesh_connect(struct node *node)
{
	gint64 deadline = g_get_monotonic_time() + WAIT_US;

	node->dialing = node->mesh->count;
	while (node->up < node->mesh->count - 1) {
		dial_one(node);
		accept_one(node);
		event_take(node);
		g_usleep(node->mesh->count * 10);
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	}
}

/* --- the work ------------------------------------------------------------------------------- */

static void
write_next(struct node *node, unsigned peer)
{
	it_lmr_triplet_t part = end_segment(&node->end, 0, OCTETS);

	pair_ok(it_post_rdma_write(node->eps[peer], &part, 1, peer, IT_COMPLETION_FLAG,
				   it_ntoh64(node->far[peer].addr),
				   it_ntoh64(node->far[peer].context)));
}

static void
mesh_write(struct node *node)
{
	struct member *me = &node->mesh->members[node->index];
	gint64 until = g_get_monotonic_time() + (gint64)node->mesh->count * RUN_US;
	unsigned under_way = node->mesh->count - 1;

	for (unsigned i = 0; i < node->mesh->count; i++)
		if (i != node->index)
			write_next(node, i);
	while (under_way != 0) {
		it_event_t event = end_expect(node->end.request, IT_DTO_RDMA_WRITE_CMPL_EVENT);
		unsigned peer = (unsigned)event.dto_cmpl.cookie;

		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
		if (g_get_monotonic_time() < until) {
			node->writes[peer]++;
			write_next(node, peer);
		} else {
			under_way--;
		}
	}
	me->slowest = UINT64_MAX;
	for (unsigned i = 0; i < node->mesh->count; i++) {
		me->writes += node->writes[i];
		if (i != node->index)
			me->slowest = MIN(me->slowest, node->writes[i]);
	}
}

static uint64_t
processor_us(void)
{
	struct rusage usage;

	g_assert_cmpint(getrusage(RUSAGE_SELF, &usage), ==, 0);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void
member_run(struct mesh *mesh, unsigned index)
{
	struct node *node = g_new0(struct node, 1);
	struct member *me = &mesh->members[index];
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	node->mesh = mesh;
	node->index = index;
	g_assert_true(end_open(&node->end));
	node->pair.active = node->pair.passive = node->end;
	pair_listen(&node->pair);
	me->port = node->pair.qual.conn_qual.port;
	me->shmem_kib = shmem_kib();
	barrier(node);
	mesh_connect(node);
	barrier(node);
	me->shmem_kib = shmem_kib() - me->shmem_kib;
	me->again = node->again;
	mesh_write(node);
	barrier(node);
	g_usleep(SETTLE_US);
	uint64_t before = processor_us();
	g_usleep(IDLE_US);
	me->idle_us = processor_us() - before;
	barrier(node);
	for (unsigned i = 0; i < mesh->count; i++)
		if (i != index)
			pair_ok(it_ep_free(node->eps[i]));
	pair_ok(it_listen_free(node->pair.listen));
	end_close(&node->end);
	g_free(node);
}

/* --- all ------------------------------------------------------------------------------------ */

struct figures {
	double rate;    /* Writes a second, of all */
	double slowest; /* process, of the mean */
	double link;    /* the slowest link, of the mean */
	uint64_t idle_us, kib;
	unsigned again;
};

static struct figures
mesh_run(unsigned count)
{
	struct mesh *mesh = mmap(NULL, sizeof(*mesh), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct figures figures = {0};
	uint64_t all = 0, least = UINT64_MAX, link = UINT64_MAX;
	bool good = true;

	g_assert_true(mesh != MAP_FAILED);
	mesh->count = count;
	for (unsigned i = 0; i < count; i++) {
		pid_t pid = fork();

		g_assert_cmpint(pid, >=, 0);
		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			member_run(mesh, i);
			_exit(0);
		}
	}
	for (unsigned i = 0; i < count; i++) {
		int status;

		g_assert_cmpint(wait(&status), >, 0);
		good = good && status == 0;
	}
	g_assert_true(good);
	for (unsigned i = 0; i < count; i++) {
		const struct member *m = &mesh->members[i];

		all += m->writes;
		least = MIN(least, m->writes);
		link = MIN(link, m->slowest);
		figures.idle_us += m->idle_us;
		figures.kib += m->shmem_kib;
		figures.again += m->again;
	}
	figures.rate = (double)all * 1e6 / ((double)count * RUN_US);
	figures.slowest = (double)least * count / (double)all;
	figures.link = (double)link * count * (count - 1) / (double)all;
	g_assert_cmpint(munmap(mesh, sizeof(*mesh)), ==, 0);
	return figures;
}

static void
test_mesh(void)
{
	const char *text = g_getenv("ITAPI_TEST_MEMBERS");
	unsigned count = text != NULL ? (unsigned)g_ascii_strtoull(text, NULL, 10) : MEMBERS;
	struct figures two, all;

	g_assert_cmpuint(count, >=, 2);
	g_assert_cmpuint(count, <=, MEMBERS_MAX);
	two = mesh_run(2);
	all = mesh_run(count);
	g_test_message("%u processes: %.0f Writes a second, %.2f of what two do; slowest process "
		       "%.2f of the mean, "
		       "slowest link %.2f",
		       count, all.rate, all.rate / two.rate, all.slowest, all.link);
	g_test_message("idle: %.1f ms of processors in %.1f s, of all processes; %.1f KiB of "
		       "shared memory a link and side; %u dialed again",
		       (double)all.idle_us / 1000, IDLE_US / 1e6,
		       (double)all.kib / count / (count - 1), all.again);
	g_test_message("figure mesh-rate %.4f", all.rate / two.rate);
	g_test_message("figure mesh-slowest %.4f", all.slowest);
	/* Aims are the bench's; what is asserted holds on each machine: each process is served, and none works without progress. */
	g_assert_cmpfloat(all.slowest, >, 0);
	if (count <=
	    MEMBERS) /* a hundred processes have ten thousand links, and few Writes for each */
		g_assert_cmpfloat(all.link, >, 0);
	g_assert_cmpuint(all.idle_us, <, 1000u * count);
}

static void
add(void)
{
	/* Nothing is opened here: the processes are forked by one that has no adapter. */
	g_autofree char *path = g_strdup_printf("/itapi/%s/mesh/all", pair_adapter());

	g_test_add_func(path, test_mesh);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
