/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Many peers that misbehave: they request Reads and do not receive, take no Sends, or send without receives being
 * posted. There are more of them than the adapter has staging buffers. The other streams must make progress, memory
 * stays bounded, and a peer that receives again gets every octet right.
 */

#include "viw_node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rdmap_check.h"
#include "viw_qp.h"

#define PEERS  270u         /* more than VIW_BUF_COUNT */
#define PIECE  (64u * 1024) /* octets of a Read or a Send */
#define PIECES 4u           /* for each peer */
#define HONEST (1u << 18)
/* The memory that a queue pair may keep: VIW_TX_LEAN and a frame, or one receive of the socket. */
#define ASIDE (16u * 1024 + 65536)

struct peer {
	struct end *end;
	int fd; /* the plain socket */
};

struct fixture {
	struct node *node, *far;
	struct end *a, *b; /* on `node` and `far` */
	struct chunk ma, mb;
	struct chunk mem; /* of `node`; the source of what the peers get */
	struct peer peers[PEERS];
};

static void
drive(struct fixture *f)
{
	(void)f->node->p->fast->progress(f->node->urnic, 64);
}

static void
set_room(int from, int to, int octets)
{
	g_assert_cmpint(setsockopt(from, SOL_SOCKET, SO_SNDBUF, &octets, sizeof(octets)), ==, 0);
	g_assert_cmpint(setsockopt(to, SOL_SOCKET, SO_RCVBUF, &octets, sizeof(octets)), ==, 0);
}

/* Small buffers in the kernel, so that a peer that does not receive is noticed at once. */
static void
peer_open(struct fixture *f, struct peer *peer)
{
	int fd[2];

	peer->end = end_new(f->node, NULL);
	tcp_pair(fd);
	set_room(fd[0], fd[1], 16384);
	struct ri_stream s = end_stream(fd[0], false);
	g_assert_cmpint(end_attach(peer->end, &s), ==, RI_SUCCESS);
	peer->fd = fd[1];
}

static void
set_up(struct fixture *f, gconstpointer unused)
{
	struct rlimit limit;

	(void)unused;
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	limit.rlim_cur = limit.rlim_max;
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	g_setenv("ITAPI_IWARP_RNR_MS", "3000000", TRUE);
	f->node = node_new();
	f->far = node_new();
	f->node->entries = 16;
	f->node->requests = 8;
	f->mem = chunk_new(f->node, (size_t)PIECE * PIECES, ALL_RW);
	chunk_fill(&f->mem, 7);
	f->ma = chunk_new(f->node, HONEST, ALL_RW);
	f->mb = chunk_new(f->far, HONEST, ALL_RW);
	for (unsigned i = 0; i < PEERS; i++)
		peer_open(f, &f->peers[i]);
	f->a = end_new(f->node, NULL);
	f->b = end_new(f->far, NULL);
	ends_connect(f->a, f->b, true);
}

static void
tear_down(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	for (unsigned i = 0; i < PEERS; i++) {
		end_free(&f->peers[i].end);
		close(f->peers[i].fd);
	}
	end_free(&f->a);
	end_free(&f->b);
	chunk_free(&f->ma);
	chunk_free(&f->mb);
	chunk_free(&f->mem);
	node_free(&f->node);
	node_free(&f->far);
}

/* Wait until the condition is true for the queue pair of each peer. */
static void
wait_for_all(struct fixture *f, bool (*is)(struct viw_qp *qp))
{
	gint64 until = node_deadline();

	for (unsigned i = 0; i < PEERS; i++) {
		while (!is((struct viw_qp *)f->peers[i].end->qp)) {
			drive(f);
			g_assert_cmpint(g_get_monotonic_time(), <, until);
		}
	}
}

/* The socket is full, or the queue pair found no buffer. */
static bool
is_stuck(struct viw_qp *qp)
{
	return atomic_load(&qp->tx.blocked) || atomic_load(&qp->tx.starved);
}

static bool
is_waiting(struct viw_qp *qp)
{
	return atomic_load(&qp->rx.waiting);
}

/* Sends in both directions, a Write and a Read, on the connection that behaves. */
static void
honest_traffic(struct fixture *f)
{
	for (unsigned round = 0; round < 2; round++) {
		chunk_fill(&f->ma, 10 + round);
		memset(f->mb.at, 0, HONEST);
		g_assert_cmpint(end_recv(f->b, 1, &f->mb, 0, HONEST), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(f->a, 2, &f->ma, 0, HONEST), ==, RI_SUCCESS);
		(void)end_wait_ok(f->b, true, 1, f->a);
		(void)end_wait_ok(f->a, false, 2, f->b);
		g_assert_cmpmem(f->ma.at, HONEST, f->mb.at, HONEST);
		memset(f->mb.at, 0, HONEST);
		g_assert_cmpint(end_read(f->b, 3, &f->mb, &f->ma, HONEST), ==, RI_SUCCESS);
		(void)end_wait_ok(f->b, false, 3, f->a);
		g_assert_cmpmem(f->ma.at, HONEST, f->mb.at, HONEST);
		chunk_fill(&f->mb, 20 + round);
		g_assert_cmpint(end_recv(f->a, 4, &f->ma, 0, HONEST), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(f->b, 5, &f->mb, 0, HONEST), ==, RI_SUCCESS);
		(void)end_wait_ok(f->a, true, 4, f->b);
		(void)end_wait_ok(f->b, false, 5, f->a);
		g_assert_cmpmem(f->ma.at, HONEST, f->mb.at, HONEST);
	}
}

/* The adapter's own counters. */
static void
check_bounds(struct fixture *f)
{
	char text[512];
	unsigned used = 0;
	uint64_t aside = 0;

	g_assert_cmpuint(f->node->p->device->dump(f->node->rnic, text, sizeof(text)), <,
			 sizeof(text));
	const char *at = strstr(text, "staging buffers in use");
	g_assert_nonnull(at);
	g_assert_cmpint(sscanf(at, "staging buffers in use %u octets set aside %" G_GUINT64_FORMAT,
			       &used, &aside),
			==, 2);
	/* A round that is running holds one or two, and so does each of the few queue pairs that came first. */
	g_assert_cmpuint(used, <=, VIW_BUF_COUNT - VIW_BUF_LOW + 16);
	g_assert_cmpuint(aside, >, 0);
	g_assert_cmpuint(aside, <=, (uint64_t)PEERS * ASIDE);
}

/* --- peers that read nothing --------------------------------------------------------------- */

/* The octets received from a stream, and how many of them were parsed. */
struct intake {
	uint8_t octets[66000]; /* more than the longest frame */
	size_t have;
	uint32_t done; /* octets of payload */
};

/* Parse the frames received so far; their payload must be that of `mem`, in order. */
static void
understand(struct intake *in, const struct chunk *mem)
{
	struct mpa_rules rules = {.crc = true};
	struct mpa_fpdu fpdu;
	struct ddp_segment seg;
	size_t at = 0;

	while (mpa_fpdu_read(&rules, in->octets + at, in->have - at, &fpdu) == MPA_OK) {
		g_assert_cmpint(ddp_segment_read(fpdu.ulpdu, fpdu.ulpdu_len, fpdu.ulpdu_len, &seg),
				==, DDP_OK);
		g_assert_cmpuint(in->done + seg.payload_len, <=, mem->len);
		g_assert_cmpmem(seg.payload, seg.payload_len, mem->at + in->done, seg.payload_len);
		in->done += seg.payload_len;
		at += fpdu.size;
	}
	in->have -= at;
	memmove(in->octets, in->octets + at, in->have);
}

/* Receive what is available. True: the peer has everything. */
static bool
read_some(struct peer *peer, struct intake *in, const struct chunk *mem, bool *moved)
{
	while (in->done < mem->len) {
		ssize_t n = recv(peer->fd, in->octets + in->have, sizeof(in->octets) - in->have,
				 MSG_DONTWAIT);

		g_assert_true(n > 0 || (n < 0 && errno == EAGAIN));
		if (n < 0)
			return false;
		in->have += (size_t)n;
		understand(in, mem);
		*moved = true;
	}
	g_assert_cmpuint(in->have, ==, 0);
	return true;
}

/* The peers receive again: everything arrives, and all of it is right. */
static void
read_all(struct fixture *f)
{
	gint64 until = node_deadline();
	g_autofree struct intake *all = g_new0(struct intake, PEERS);
	unsigned done = 0;

	for (unsigned i = 0; i < PEERS; i++)
		set_room(((struct viw_qp *)f->peers[i].end->qp)->stream.fd, f->peers[i].fd,
			 1 << 20);
	while (done < PEERS) {
		bool moved = false;

		g_assert_cmpint(g_get_monotonic_time(), <, until);
		done = 0;
		for (unsigned i = 0; i < PEERS; i++)
			done += read_some(&f->peers[i], &all[i], &f->mem, &moved);
		drive(f);
		if (!moved)
			g_usleep(500);
	}
}

static void
check_peers(struct fixture *f)
{
	wait_for_all(f, is_stuck);
	honest_traffic(f);
	check_bounds(f);
	read_all(f);
	honest_traffic(f);
}

/* Each peer requests Reads. */
static void
test_reads(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	for (unsigned i = 0; i < PEERS; i++) {
		uint8_t frames[PIECES * 64];
		uint32_t len = 0;

		for (uint32_t n = 0; n < PIECES; n++) {
			struct rdmap_read_request m = {.size = PIECE,
						       .source_stag = f->mem.stag,
						       .source_to = (uintptr_t)f->mem.at +
								    (size_t)n * PIECE};

			len += rdmap_read_request_fpdu(frames + len, n + 1, &m, true);
		}
		g_assert_cmpint(send(f->peers[i].fd, frames, len, MSG_NOSIGNAL), ==, (ssize_t)len);
	}
	check_peers(f);
}

/* Each peer is sent Sends. */
static void
test_sends(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	for (unsigned i = 0; i < PEERS; i++)
		end_wait_event(f->peers[i].end, RI_EVENT_QP_STREAM_UP, NULL);
	for (uint32_t n = 0; n < PIECES; n++)
		for (unsigned i = 0; i < PEERS; i++)
			g_assert_cmpint(
				end_send(f->peers[i].end, n, &f->mem, (size_t)n * PIECE, PIECE), ==,
				RI_SUCCESS);
	check_peers(f);
	for (unsigned i = 0; i < PEERS; i++)
		for (uint32_t n = 0; n < PIECES; n++)
			(void)end_wait_ok(f->peers[i].end, false, n, NULL);
}

/* --- peers that send without receives -------------------------------------------------------- */

#define SENT 24000u /* octets of each of two Sends: both fit into the socket at once */

static void
test_waiting(struct fixture *f, gconstpointer unused)
{
	g_autofree uint8_t *frames = g_malloc(2 * SENT + 256);
	uint32_t len = 0;

	(void)unused;
	for (uint32_t n = 0; n < 2; n++) {
		struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, n + 1, 0, true);

		seg.payload = f->mem.at + n;
		seg.payload_len = SENT;
		len += rdmap_fpdu_put(frames + len, &seg, true);
	}
	for (unsigned i = 0; i < PEERS; i++) {
		g_assert_cmpint(send(f->peers[i].fd, frames, len, MSG_NOSIGNAL), ==, (ssize_t)len);
	}
	wait_for_all(f, is_waiting);
	honest_traffic(f);
	check_bounds(f);
	for (unsigned i = 0; i < PEERS; i++) {
		struct end *end = f->peers[i].end;

		for (uint32_t n = 0; n < 2; n++)
			g_assert_cmpint(end_recv(end, n, &f->ma, (size_t)n * SENT, SENT), ==,
					RI_SUCCESS);
		for (uint32_t n = 0; n < 2; n++) {
			(void)end_wait_ok(end, true, n, NULL);
			g_assert_cmpmem(f->ma.at + (size_t)n * SENT, SENT, f->mem.at + n, SENT);
		}
	}
}

/* --- a peer that never stops --------------------------------------------------------------- */

struct flood {
	int fd[8];
	atomic_bool over;
};

/* Frames of length 0, as many as the sockets take. */
static void *
flood(void *arg)
{
	struct flood *flood = arg;
	uint8_t frames[20 * 200];
	uint32_t len = 0;

	while (len < sizeof(frames)) {
		struct ddp_segment seg = rdmap_tagged(RDMAP_WRITE, 1, 0, true);

		len += rdmap_fpdu_put(frames + len, &seg, true);
	}
	while (!atomic_load(&flood->over)) {
		for (gsize i = 0; i < G_N_ELEMENTS(flood->fd); i++) {
			size_t at = 0;

			while (at < len && !atomic_load(&flood->over)) {
				ssize_t n = send(flood->fd[i], frames + at, len - at,
						 MSG_NOSIGNAL | MSG_DONTWAIT);

				if (n < 0 && at == 0)
					break; /* full: try the next socket */
				at += n > 0 ? (size_t)n : 0;
			}
		}
	}
	return NULL;
}

static void
test_flood(struct fixture *f, gconstpointer unused)
{
	struct flood arg = {.over = false};

	(void)unused;
	for (gsize i = 0; i < G_N_ELEMENTS(arg.fd); i++)
		arg.fd[i] = f->peers[i].fd;
	GThread *thread = g_thread_new("flood", flood, &arg);
	honest_traffic(f);
	atomic_store(&arg.over, true);
	g_thread_join(thread);
	for (gsize i = 0; i < G_N_ELEMENTS(arg.fd); i++)
		g_assert_cmpint(end_state(f->peers[i].end), ==, RI_QPS_RTS);
}

/* --- fairness ----------------------------------------------------------------------------- */

#define FAIR_TURNS 20u /* Sends of a peer, on average */

/* The peer sends its next message, of no octets, and the receive for it is posted before. */
static void
send_next(struct fixture *f, unsigned i, uint32_t msn)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, msn, 0, true);
	uint8_t frame[64];
	uint32_t len = rdmap_fpdu_put(frame, &seg, true);

	g_assert_cmpint(end_recv(f->peers[i].end, msn, &f->ma, 0, 0), ==, RI_SUCCESS);
	g_assert_cmpint(send(f->peers[i].fd, frame, len, MSG_NOSIGNAL), ==, (ssize_t)len);
}

/* Each peer sends its next message when the one before has come: polls serve none of them more often than others. */
static void
test_fair(struct fixture *f, gconstpointer unused)
{
	const struct ri_fast_ops *fast = f->node->p->fast;
	gint64 until = node_deadline();
	uint32_t come[PEERS] = {0};
	uint32_t least = UINT32_MAX, most = 0;
	struct ri_wc wc;

	(void)unused;
	for (unsigned i = 0; i < PEERS; i++)
		send_next(f, i, 1);
	for (unsigned sum = 0; sum < PEERS * FAIR_TURNS;) {
		g_assert_false(end_poll(f->a, true, &wc)); /* this lets the adapter make progress */
		for (unsigned i = 0; i < PEERS; i++) {
			if (fast->cq_depth(f->peers[i].end->urcq) == 0)
				continue;
			g_assert_true(end_poll(f->peers[i].end, true, &wc));
			come[i]++;
			sum++;
			send_next(f, i, come[i] + 1);
		}
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
	for (unsigned i = 0; i < PEERS; i++) {
		least = MIN(least, come[i]);
		most = MAX(most, come[i]);
	}
	g_assert_cmpuint(2 * least, >=, most);
}

/* --- the pool by itself, at its borders ------------------------------------------------------ */

static void
test_pool(void)
{
	struct viw_pool pool;
	uint8_t *taken[VIW_BUF_COUNT];
	uint8_t octets[100];

	g_assert_true(viw_pool_init(&pool));
	for (unsigned i = 0; i < VIW_BUF_COUNT; i++) {
		g_assert_cmpint(viw_pool_is_low(&pool), ==, i > VIW_BUF_COUNT - VIW_BUF_LOW);
		taken[i] = viw_pool_get(&pool);
		g_assert_true(viw_pool_owns(&pool, taken[i]));
	}
	g_assert_null(viw_pool_get(&pool));
	g_assert_true(viw_pool_owns(&pool, pool.arena));
	g_assert_true(viw_pool_owns(&pool, pool.arena + (size_t)VIW_BUF_SIZE * VIW_BUF_COUNT - 1));
	g_assert_false(viw_pool_owns(&pool, pool.arena + (size_t)VIW_BUF_SIZE * VIW_BUF_COUNT));
	g_assert_false(viw_pool_owns(&pool, pool.arena - 1));
	memset(octets, 'o', sizeof(octets));
	uint8_t *copy = viw_pool_copy(&pool, octets, sizeof(octets));
	g_assert_nonnull(copy);
	g_assert_false(viw_pool_owns(&pool, copy));
	g_assert_cmpmem(copy, sizeof(octets), octets, sizeof(octets));
	g_assert_cmpuint(atomic_load(&pool.aside), ==, sizeof(octets));
	g_assert_false(viw_pool_put(&pool, copy)); /* this has returned no buffer */
	g_assert_cmpuint(atomic_load(&pool.aside), ==, 0);
	g_assert_false(viw_pool_put(&pool, NULL));
	g_assert_true(viw_pool_put(&pool, taken[0])); /* the pool had been found empty */
	for (unsigned i = 1; i < VIW_BUF_COUNT; i++)
		g_assert_false(viw_pool_put(&pool, taken[i]));
	for (unsigned i = 0; i < VIW_BUF_COUNT; i++)
		taken[i] = viw_pool_get(&pool);
	for (unsigned i = 0; i < VIW_BUF_COUNT; i++)
		for (unsigned k = 0; k < i; k++)
			g_assert_true(taken[i] != taken[k]);
	viw_pool_exit(&pool);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*run)(struct fixture *f, gconstpointer unused);
	} tests[] = {
		{"/iwarp/crowd/reads", test_reads},     {"/iwarp/crowd/sends", test_sends},
		{"/iwarp/crowd/waiting", test_waiting}, {"/iwarp/crowd/flood", test_flood},
		{"/iwarp/crowd/fair", test_fair},
	};

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/crowd/pool", test_pool);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	return g_test_run();
}
