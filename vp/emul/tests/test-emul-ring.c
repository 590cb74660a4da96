/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The ring between two processes, tested alone: entries of all lengths over many laps, with both
 * sides in threads and in processes; a writer and a reader that store invalid values; descriptors
 * that are not rings.
 */
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ri_at_end.h"
#include "shm/vem_ring.h"
#include "vsw_guard.h"

#define ENTRIES 30000u

struct pipe_ends {
	int fd;
	struct vem_ring_page *mine; /* the reader's mapping */
	struct vem_ring_page *far;  /* the writer's */
	struct vem_ring_in in;
	struct vem_ring_out out;
};

static struct pipe_ends
ends_new(void)
{
	struct pipe_ends e = {0};
	const char *why = NULL;

	e.fd = vem_ring_create(&e.mine, &(const char *){NULL});
	g_assert_cmpint(e.fd, >=, 0);
	e.far = vem_ring_attach(e.fd, &why);
	g_assert_nonnull(e.far);
	g_assert_null(why);
	vem_ring_in_init(&e.in, e.mine);
	vem_ring_out_init(&e.out, e.far);
	return e;
}

static void
ends_free(struct pipe_ends *e)
{
	vem_ring_unmap(e->mine);
	vem_ring_unmap(e->far);
	close(e->fd);
}

/* Lengths that vary from nothing to the longest; most are short. */
static uint32_t
length_of(uint32_t number)
{
	uint32_t mixed = number * 2654435761u >> 7;

	return number % 16 == 0 ? mixed % (VEM_RING_MAX + 1) : mixed % 200;
}

/* Write entry `number`; its octets look like words of entries, so that the next lap finds them. */
static bool
entry_write(struct vem_ring_out *out, uint32_t number)
{
	static _Thread_local uint64_t from[VEM_RING_MAX / 8 + 1];
	uint32_t length = length_of(number);
	uint8_t head[VEM_RING_HEAD] = {0};
	uint8_t *to = vem_ring_begin(out, length);
	bool streamed = false;

	if (to == NULL)
		return false;
	for (uint32_t i = 0; i <= length / 8; i++)
		from[i] = ((out->written / VEM_RING_LINES + 2) << 32) + number % 64;
	g_assert_true(vem_ring_copy(out, to, (const uint8_t *)from, length, &streamed));
	memcpy(head, &number, sizeof(number));
	(void)vem_ring_end(out, head, length, streamed);
	return true;
}

static void
entry_check(const struct vem_ring_entry *entry, uint32_t number)
{
	uint32_t said;

	memcpy(&said, entry->head, sizeof(said));
	g_assert_cmpuint(said, ==, number);
	g_assert_cmpuint(entry->length, ==, length_of(number));
	for (uint32_t i = 0; i + 8 <= entry->length; i += 8)
		g_assert_cmpuint(entry->octets[i], ==, number % 64);
}

/* An entry that was begun and given up, since a page of it was lost, is never read, even if it begins with a pad. */
static void
begun_is_unseen(struct pipe_ends *e, uint32_t number)
{
	uint64_t before = e->out.written;
	struct vem_ring_in scan = e->in;
	struct vem_ring_entry entry;

	if (vem_ring_begin(&e->out, length_of(number)) == NULL || e->out.written == before)
		return;
	while (vem_ring_look(&scan, &entry))
		vem_ring_take(&scan, &entry);
	g_assert_false(scan.broken);
	g_assert_cmpuint(scan.read, ==, e->out.written);
}

static void
test_laps(void)
{
	struct pipe_ends e RI_AT_END(ends_free) = ends_new();
	struct vem_ring_entry entry;
	uint32_t written = 0, seen = 0;

	g_assert_false(vem_ring_look(&e.in, &entry));
	while (seen < ENTRIES / 4) {
		for (unsigned burst = written * 7 % 23; burst > 0 && entry_write(&e.out, written);
		     burst--)
			written++;
		begun_is_unseen(&e, written);
		if (!entry_write(&e.out, written))
			g_assert_cmpuint(written, >, seen);
		else
			written++;
		for (unsigned burst = seen * 5 % 29 + 1; burst > 0 && vem_ring_look(&e.in, &entry);
		     burst--) {
			entry_check(&entry, seen++);
			vem_ring_take(&e.in, &entry);
		}
		(void)vem_ring_release(&e.in);
	}
	g_assert_false(e.in.broken);
	g_assert_false(e.out.broken);
}

/* A full ring refuses, asks for a wake-up, and has room when the reader has released. */
static void
test_full(void)
{
	struct pipe_ends e RI_AT_END(ends_free) = ends_new();
	struct vem_ring_entry entry;
	uint32_t written = 0;

	while (entry_write(&e.out, written))
		written++;
	g_assert_cmpuint(written, >, 100);
	g_assert_false(vem_ring_want_room(&e.out, length_of(written)));
	g_assert_true(vem_ring_look(&e.in, &entry));
	g_assert_false(vem_ring_release_due(&e.in, true));
	g_assert_false(vem_ring_release(&e.in)); /* nothing was taken */
	for (uint32_t i = 0; i < written; i++) {
		g_assert_true(vem_ring_look(&e.in, &entry));
		entry_check(&entry, i);
		vem_ring_take(&e.in, &entry);
	}
	g_assert_false(vem_ring_look(&e.in, &entry));
	g_assert_null(vem_ring_begin(&e.out, VEM_RING_MAX)); /* nothing is released */
	g_assert_true(vem_ring_release_due(&e.in, false));
	g_assert_true(vem_ring_release(&e.in));
	g_assert_true(entry_write(&e.out, written));
	g_assert_true(vem_ring_look(&e.in, &entry));
	vem_ring_take(&e.in, &entry);
	g_assert_false(vem_ring_release(&e.in)); /* it waits no more */
	g_assert_true(vem_ring_look(&e.in, &entry) == false && !e.in.broken);
}

static void
test_sleep(void)
{
	struct pipe_ends e RI_AT_END(ends_free) = ends_new();
	struct vem_ring_entry entry;
	uint8_t head[VEM_RING_HEAD] = {0};

	g_assert_nonnull(vem_ring_begin(&e.out, 0));
	g_assert_false(vem_ring_end(&e.out, head, 0, false));
	g_assert_false(vem_ring_sleep(&e.in)); /* there is an entry */
	vem_ring_awake(&e.in);
	g_assert_true(vem_ring_look(&e.in, &entry));
	vem_ring_take(&e.in, &entry);
	g_assert_true(vem_ring_sleep(&e.in));
	g_assert_nonnull(vem_ring_begin(&e.out, 0));
	g_assert_true(vem_ring_end(&e.out, head, 0, false)); /* it must be woken */
	g_assert_nonnull(vem_ring_begin(&e.out, 0));
	g_assert_false(vem_ring_end(&e.out, head, 0, false)); /* once */
	g_assert_false(vem_ring_must_wake(&e.out));
	for (unsigned i = 0; i < 2; i++) {
		g_assert_true(vem_ring_look(&e.in, &entry));
		vem_ring_take(&e.in, &entry);
	}
	g_assert_true(vem_ring_sleep(&e.in)); /* that is another sleep */
	g_assert_true(vem_ring_must_wake(&e.out));
	vem_ring_awake(&e.in);
	g_assert_nonnull(vem_ring_begin(&e.out, 0));
	g_assert_false(vem_ring_end(&e.out, head, 0, false));
}

/* Of the longest entries, each of which crosses the level from which on copies go around the caches. */
static void
test_copy(void)
{
	static uint8_t from[VEM_RING_MAX + 64];
	struct pipe_ends e RI_AT_END(ends_free) = ends_new();
	struct vem_ring_entry entry;
	uint8_t head[VEM_RING_HEAD] = {0};

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 31 ^ i >> 8);
	for (uint32_t length = 0; length <= VEM_RING_MAX; length += length < 200 ? 1 : 509) {
		bool streamed = false;
		uint8_t *to = vem_ring_begin(&e.out, length);

		g_assert_nonnull(to);
		g_assert_true(vem_ring_copy(&e.out, to, from + length % 64, length, &streamed));
		(void)vem_ring_end(&e.out, head, length, streamed);
		g_assert_true(vem_ring_look(&e.in, &entry));
		g_assert_cmpmem(entry.octets, entry.length, from + length % 64, length);
		vem_ring_take(&e.in, &entry);
		(void)vem_ring_release(&e.in);
	}
}

/* A lap whose copies take these numbers of ticks for 256 lines, one for each way; returns the way it goes. */
static bool
ways_go(struct vem_ring_ways *ways, uint64_t lap, uint64_t cached, uint64_t streamed)
{
	bool streams = vem_ring_ways_lap(ways, lap);

	for (unsigned i = 0; i < VEM_RING_LINES / 256; i++)
		vem_ring_ways_took(ways, streams ? streamed : cached, 256 * VEM_RING_LINE);
	g_assert_cmpint(vem_ring_ways_lap(ways, lap), ==, streams);
	return streams;
}

/* Laps of [from, to) that go around the caches. */
static unsigned
ways_count(struct vem_ring_ways *ways, unsigned from, unsigned to, uint64_t cached,
	   uint64_t streamed)
{
	unsigned count = 0;

	for (unsigned lap = from; lap < to; lap++)
		count += ways_go(ways, lap, cached, streamed);
	return count;
}

/* Long copies go the way that costs less, whichever it is, from the first probe on; a lap that was interrupted changes nothing. */
static void
test_ways(void)
{
	struct vem_ring_ways ways = {0};

	g_assert_cmpuint(ways_count(&ways, 1, 1001, 2000, 3600), ==, 2 * 8);
	g_assert_cmpuint(ways_count(&ways, 1001, 1002, 100000, 3600), ==, 0); /* stopped, once */
	g_assert_cmpuint(ways_count(&ways, 1002, 1020, 2000, 3600), ==, 0);
	ways = (struct vem_ring_ways){0};
	g_assert_cmpuint(ways_count(&ways, 1, 2, 100000, 2000), ==, 0);
	g_assert_cmpuint(ways_count(&ways, 2, 130, 18000, 2000), ==, 128);
	g_assert_cmpuint(ways_count(&ways, 130, 132, 18000, 2000), ==, 0);
	/* The processors come nearer to each other: the next probe finds it. */
	g_assert_cmpuint(ways_count(&ways, 132, 258, 2000, 3600), ==, 126);
	g_assert_cmpuint(ways_count(&ways, 258, 260, 2000, 3600), ==, 0);
	g_assert_cmpuint(ways_count(&ways, 260, 386, 2000, 3600), ==, 0);
	/* And go apart again. */
	(void)ways_count(&ways, 388, 420, 18000, 2000);
	g_assert_cmpuint(ways_count(&ways, 420, 500, 18000, 2000), ==, 80);
	/* Around the caches is taken only if it costs less than half: it costs the reader more. */
	ways = (struct vem_ring_ways){0};
	g_assert_cmpuint(ways_count(&ways, 4, 130, 3900, 2000), ==, 0);
	g_assert_cmpuint(ways_count(&ways, 130, 258, 3900, 2000), ==, 2);
	g_assert_cmpuint(ways_count(&ways, 258, 1000, 4100, 2000), >=, 600);
	/* One interruption of each way. */
	ways = (struct vem_ring_ways){0};
	(void)ways_count(&ways, 1, 10, 2000, 3600);
	g_assert_false(ways_go(&ways, 10, 9000, 3600));
	g_assert_cmpuint(ways_count(&ways, 11, 100, 2000, 3600), ==, 0);
	/* A lap with few copies says nothing. */
	(void)vem_ring_ways_lap(&ways, 100);
	vem_ring_ways_took(&ways, 1, VEM_RING_LINE);
	g_assert_false(vem_ring_ways_lap(&ways, 101));
	g_assert_cmpuint(ways.cost[0], ==, 2000);
}

/* A page of the source is lost: nothing is published, and the ring goes on. */
static void
test_lost(void)
{
#if defined(__x86_64__)
	struct pipe_ends e = ends_new();
	struct vem_ring_entry entry;
	uint8_t *from =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool streamed = false;

	g_assert_true(from != MAP_FAILED);
	vsw_guard_open();
	g_assert_cmpint(mprotect(from + 4096, 4096, PROT_NONE), ==, 0);
	uint8_t *to = vem_ring_begin(&e.out, 8192);
	g_assert_nonnull(to);
	g_assert_false(vem_ring_copy(&e.out, to, from, 8192, &streamed));
	g_assert_true(vsw_guard_take() == from + 4096);
	g_assert_false(vem_ring_look(&e.in, &entry));
	g_assert_true(entry_write(&e.out, 1));
	g_assert_true(vem_ring_look(&e.in, &entry));
	entry_check(&entry, 1);
	vsw_guard_close();
	munmap(from, 8192);
	ends_free(&e);
#endif
}

/* --- two threads, two processes ----------------------------------------------------------- */

static void *
writer_run(void *arg)
{
	struct vem_ring_out *out = arg;

	for (uint32_t i = 0; i < ENTRIES; i++)
		while (!entry_write(out, i))
			g_usleep(10);
	return NULL;
}

static void
read_all(struct vem_ring_in *in)
{
	struct vem_ring_entry entry;

	for (uint32_t seen = 0; seen < ENTRIES; seen++) {
		while (!vem_ring_look(in, &entry)) {
			g_assert_false(in->broken);
			(void)vem_ring_release(in);
			g_usleep(1);
		}
		entry_check(&entry, seen);
		vem_ring_take(in, &entry);
		if (vem_ring_release_due(in, true))
			(void)vem_ring_release(in);
	}
}

static void
test_threads(void)
{
	struct pipe_ends e RI_AT_END(ends_free) = ends_new();
	pthread_t thread;

	g_assert_cmpint(pthread_create(&thread, NULL, writer_run, &e.out), ==, 0);
	read_all(&e.in);
	pthread_join(thread, NULL);
}

/* A child has no mapping of its parent's; it attaches by the descriptor. */
static void
test_processes(void)
{
	struct pipe_ends e RI_AT_END(ends_free) = ends_new();
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		const char *why = NULL;
		struct vem_ring_page *page = vem_ring_attach(e.fd, &why);
		struct vem_ring_out out;

		if (page == NULL)
			_exit(1);
		vem_ring_out_init(&out, page);
		writer_run(&out);
		_exit(0);
	}
	g_assert_cmpint(child, >, 0);
	read_all(&e.in);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
}

static void
test_fork(void)
{
	struct pipe_ends e RI_AT_END(ends_free) = ends_new();
	unsigned char in_core;
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(mincore(e.mine, VEM_RING_PAGE, &in_core) != 0 &&
				      mincore(e.far, VEM_RING_PAGE, &in_core) != 0
			      ? EXIT_SUCCESS
			      : EXIT_FAILURE);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
}

/* --- sides that lie ----------------------------------------------------------------------- */

/* The word of the line that is read next, as a writer would store it. */
static void
word_set(struct pipe_ends *e, uint64_t word)
{
	struct vem_ring_line *line = &e->out.lines[e->in.read % VEM_RING_LINES];

	atomic_store(&line->word, word);
}

static void
expect_broken(uint64_t first, uint64_t word)
{
	struct pipe_ends e RI_AT_END(ends_free) = ends_new();
	struct vem_ring_entry entry;

	e.in.read = e.in.released = first;
	word_set(&e, word);
	g_assert_false(vem_ring_look(&e.in, &entry));
	g_assert_true(e.in.broken);
	g_assert_false(vem_ring_sleep(&e.in)); /* whoever reads it ends the link first */
	word_set(&e, UINT64_C(1) << 32);
	g_assert_false(vem_ring_look(&e.in, &entry)); /* for good */
}

static void
test_writer_lies(void)
{
	const uint64_t lap1 = UINT64_C(1) << 32, lap2 = UINT64_C(2) << 32;

	expect_broken(0, lap2);                                     /* a lap that has not begun */
	expect_broken(VEM_RING_LINES, lap1);                        /* one that is over */
	expect_broken(0, 5);                                        /* none */
	expect_broken(0, lap1 | (VEM_RING_MAX + 1));                /* too long */
	expect_broken(0, lap1 | UINT32_MAX);                        /* longer than all memory */
	expect_broken(VEM_RING_LINES - 2, lap1 | 129);              /* beyond the end */
	expect_broken(0, lap1 | VEM_RING_PAD);                      /* a lap of nothing */
	expect_broken(VEM_RING_LINES - 2, lap1 | VEM_RING_PAD | 1); /* a pad with octets */
}

static void
test_reader_lies(void)
{
	static const uint64_t lies[] = {1, VEM_RING_LINES, UINT64_MAX / 2, 5000, UINT64_C(1) << 63};

	for (unsigned i = 0; i < G_N_ELEMENTS(lies); i++) {
		struct pipe_ends e RI_AT_END(ends_free) = ends_new();
		uint32_t written = 0;

		/* The longest entry does not fit any more, so the writer looks at the index. */
		while (e.out.written + VEM_RING_MAX / VEM_RING_LINE + 2 <= VEM_RING_LINES &&
		       entry_write(&e.out, written))
			written++;
		uint64_t far = e.out.written;
		atomic_store(&e.mine->read, far + lies[i]);
		g_assert_null(vem_ring_begin(&e.out, VEM_RING_MAX));
		g_assert_true(e.out.broken);
		g_assert_null(vem_ring_begin(&e.out, 0));
	}
}

/* Random words all over the ring, while it is read: it breaks, or gives entries inside of the ring. */
static void
test_random(void)
{
	for (unsigned round = 0; round < 300; round++) {
		struct pipe_ends e RI_AT_END(ends_free) = ends_new();
		struct vem_ring_entry entry;
		unsigned looked = 0;

		for (unsigned i = 0; i < VEM_RING_LINES; i++) {
			uint32_t low = (uint32_t)g_random_int();

			if (g_random_int() % 8 != 0)
				low %= 300;
			else if (g_random_int() % 4 == 0)
				low = VEM_RING_PAD;
			atomic_store(&e.out.lines[i].word,
				     (uint64_t)(g_random_int() % 64 == 0 ? g_random_int() : 1)
						     << 32 |
					     low);
		}
		while (vem_ring_look(&e.in, &entry) && looked++ < 2 * VEM_RING_LINES) {
			const uint8_t *end = (const uint8_t *)e.mine + VEM_RING_SIZE;

			g_assert_cmpuint(entry.length, <=, VEM_RING_MAX);
			g_assert_true(entry.octets + entry.length <= end);
			vem_ring_take(&e.in, &entry);
			(void)vem_ring_release(&e.in);
		}
		g_assert_cmpuint(looked, <=, VEM_RING_LINES);
	}
}

static atomic_bool over;

static void *
scribble(void *arg)
{
	struct vem_ring_page *page = arg;
	_Atomic uint64_t *words = (_Atomic uint64_t *)(void *)page;

	for (unsigned seed = 1; !atomic_load(&over); seed = seed * 1103515245 + 12345) {
		uint64_t word = (uint64_t)(seed >> 8) % 3 << 32 | seed % 700;

		atomic_store_explicit(&words[seed % (VEM_RING_SIZE / 8)], word,
				      memory_order_relaxed);
		atomic_store_explicit(
			&words[(VEM_RING_PAGE + (seed >> 4) % 64 * VEM_RING_LINE) / 8], word,
			memory_order_relaxed);
	}
	return NULL;
}

/* A writer that never stops changing everything: each ring ends, and this process lives. */
static void
test_scribbler(void)
{
	struct pipe_ends e RI_AT_END(ends_free) = ends_new();
	struct vem_ring_entry entry;
	pthread_t thread;
	unsigned read = 0, broken = 0;

	atomic_store(&over, false);
	g_assert_cmpint(pthread_create(&thread, NULL, scribble, e.far), ==, 0);
	for (gint64 end = g_get_monotonic_time() + 200000;
	     g_get_monotonic_time() < end || broken == 0;) {
		vem_ring_in_init(&e.in, e.mine);
		for (unsigned i = 0; i < 100 && vem_ring_look(&e.in, &entry); i++) {
			g_assert_cmpuint(entry.length, <=, VEM_RING_MAX);
			g_assert_true(entry.octets + entry.length <=
				      (const uint8_t *)e.mine + VEM_RING_SIZE);
			vem_ring_take(&e.in, &entry);
			read++;
		}
		broken += e.in.broken;
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	g_test_message("%u entries, %u ends", read, broken);
	g_assert_cmpuint(broken, >, 0);
}

/* --- descriptors that are no rings -------------------------------------------------------- */

static void
expect_refused(int fd, const char *text)
{
	const char *why = NULL;

	g_assert_null(vem_ring_attach(fd, &why));
	g_assert_cmpstr(why, ==, text);
	if (fd >= 0)
		close(fd);
}

static int
memory(size_t size, int seals, unsigned flags)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(ftruncate(fd, (off_t)size), ==, 0);
	if (seals != 0)
		g_assert_cmpint(fcntl(fd, F_ADD_SEALS, seals), ==, 0);
	return fd;
}

static void
test_descriptors(void)
{
	const int size_sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int pipes[2];

	g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
	expect_refused(pipes[0], "it is not a memfd");
	expect_refused(pipes[1], "it is not a memfd");
	expect_refused(-1, "it is not a memfd");
	expect_refused(open("/dev/zero", O_RDWR | O_CLOEXEC), "it is not a memfd");
	expect_refused(memory(VEM_RING_SIZE, 0, 0), "its size is not sealed");
	expect_refused(memory(VEM_RING_SIZE, F_SEAL_SHRINK, 0), "its size is not sealed");
	expect_refused(memory(VEM_RING_SIZE, F_SEAL_SHRINK | F_SEAL_GROW, 0),
		       "its size is not sealed");
	expect_refused(memory(VEM_RING_SIZE - 4096, size_sealed, 0), "it has another size");
	expect_refused(memory(VEM_RING_SIZE + 1, size_sealed, 0), "it has another size");
	expect_refused(memory(0, size_sealed, 0), "it has another size");
	expect_refused(memory(VEM_RING_SIZE, F_SEAL_WRITE | size_sealed, 0), "it cannot be mapped");
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/ring/laps", test_laps);
	g_test_add_func("/emul/ring/full", test_full);
	g_test_add_func("/emul/ring/sleep", test_sleep);
	g_test_add_func("/emul/ring/copy", test_copy);
	g_test_add_func("/emul/ring/ways", test_ways);
	g_test_add_func("/emul/ring/lost", test_lost);
	g_test_add_func("/emul/ring/threads", test_threads);
	g_test_add_func("/emul/ring/processes", test_processes);
	g_test_add_func("/emul/ring/fork", test_fork);
	g_test_add_func("/emul/ring/writer-lies", test_writer_lies);
	g_test_add_func("/emul/ring/reader-lies", test_reader_lies);
	g_test_add_func("/emul/ring/random", test_random);
	g_test_add_func("/emul/ring/scribbler", test_scribbler);
	g_test_add_func("/emul/ring/descriptors", test_descriptors);
	return g_test_run();
}
