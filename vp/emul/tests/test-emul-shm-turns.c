/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Long messages to a peer that reads as fast as they are written. The thread that reads the rings
 * of all peers writes such a message in turns, and the message must go on even if no thread polls.
 */
#include "vem_two.h"

#define LONG   (2u << 20)
#define BEHIND 3u /* messages behind the first one */

/* In a turn, and one piece more, with its header and what is left at the end of a lap. */
#define TURN_LINES ((VEM_LINK_TURN + 3 * VEM_RING_MAX) / VEM_RING_LINE)

_Static_assert(TURN_LINES < VEM_RING_LINES, "a turn is less than what a ring has room for");

static void
long_new(struct two *t)
{
	*t = two_new();
	for (unsigned i = 0; i < 2; i++) {
		struct chunk *c = i == 0 ? &t->ca : &t->cb;

		chunk_free(c);
		*c = chunk_new(t->node[i], LONG, ALL_RW);
		chunk_fill(c, i);
	}
	connect_at(t->a, t->b, PORT);
}

static struct vem_link *
link_of(const struct end *end)
{
	return atomic_load(&end_qp(end)->remote)->link;
}

/* This thread has the rings of both sides. The reader takes whatever has come, and looks at none of it. */
static void
all_taken(struct vem_link *link)
{
	struct vem_ring_entry entry;

	while (vem_ring_look(&link->in, &entry))
		vem_ring_take(&link->in, &entry);
	(void)vem_ring_release(&link->in);
}

/* The reader has read all: each time the writer writes for one turn, until all of that length is written. */
static void
turns(struct vem_link *writer, struct vem_link *reader, uint64_t octets)
{
	uint64_t begin = writer->out.written;

	while ((writer->out.written - begin) * VEM_RING_LINE < octets) {
		uint64_t before = writer->out.written;

		all_taken(reader);
		vem_remote_room(writer);
		g_assert_cmpuint(writer->out.written, >, before);
		g_assert_cmpuint(writer->out.written - before, <=, TURN_LINES);
	}
	/* Nothing is left of the last one. */
	all_taken(reader);
	vem_remote_room(writer);
	vem_remote_room(writer);
	g_assert_cmpuint(writer->turned, <, VEM_LINK_TURN);
}

/* The peer reads the memory of this process. */
static void
test_reads(void)
{
	struct two t;

	long_new(&t);
	struct vem_link *reader = link_of(t.a), *writer = link_of(t.b);
	vem_shm_rx_take(reader->shm);
	vem_shm_rx_take(writer->shm);
	for (unsigned i = 0; i < 1 + BEHIND; i++)
		g_assert_cmpint(end_read(t.a, i, &t.ca, &t.cb, LONG), ==, RI_SUCCESS);
	uint64_t before = writer->out.written;
	vem_shm_read_to(
		writer,
		UINT64_MAX); /* what came, and what waits: two turns, and a piece of each message */
	g_assert_cmpuint(writer->out.written, >, before);
	g_assert_true(atomic_load(&writer->starved));
	turns(writer, reader, UINT64_C(1) * BEHIND * LONG);
	vem_shm_rx_drop(writer->shm);
	vem_shm_rx_drop(reader->shm);
	two_free(&t);
}

/* This process writes to the memory of its peer, which has let it wait for room. */
static void
test_writes(void)
{
	struct two t;

	long_new(&t);
	struct vem_link *reader = link_of(t.a), *writer = link_of(t.b);
	vem_shm_rx_take(reader->shm);
	vem_shm_rx_take(writer->shm);
	for (unsigned i = 0; i < 1 + BEHIND; i++)
		g_assert_cmpint(end_write(t.b, i, &t.cb, &t.ca, LONG), ==, RI_SUCCESS);
	g_assert_true(atomic_load(&writer->starved));
	turns(writer, reader, UINT64_C(1) * BEHIND * LONG);
	vem_shm_rx_drop(writer->shm);
	vem_shm_rx_drop(reader->shm);
	two_free(&t);
}

/* Nobody polls: the service threads do all. */
static void
test_asleep(void)
{
	struct two t;

	long_new(&t);
	g_assert_cmpint(end_read(t.a, 1, &t.ca, &t.cb, LONG), ==, RI_SUCCESS);
	g_assert_cmpint(end_write(t.b, 2, &t.cb, &t.ca, LONG), ==, RI_SUCCESS);
	for (gint64 deadline = node_deadline();
	     atomic_load(&atomic_load(&end_qp(t.a)->remote)->done) == 0 ||
	     atomic_load(&atomic_load(&end_qp(t.b)->remote)->done) == 0;
	     g_usleep(1000))
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
	poll_wait(t.a->uscq, 1, RI_WC_SUCCESS);
	poll_wait(t.b->uscq, 2, RI_WC_SUCCESS);
	g_assert_cmpmem(t.ca.at, LONG, t.cb.at, LONG);
	two_free(&t);
}

int
main(int argc, char **argv)
{
	char *runtime = vem_runtime_begin();
	int failed;

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/shm/turns/reads", test_reads);
	g_test_add_func("/emul/shm/turns/writes", test_writes);
	g_test_add_func("/emul/shm/turns/asleep", test_asleep);
	failed = g_test_run();
	return failed | !vem_runtime_end(runtime);
}
