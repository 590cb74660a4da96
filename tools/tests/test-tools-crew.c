/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The threads of it-cp between a file and the ring: data, checksum, space on the disk, and files that change or fail. */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cp_crew.h"
#include "ri_at_end.h"
#include "tool_error.h"

#define CHUNK ((size_t)64 << 10)
#define SLOTS ((size_t)3)
#define SIZE  (40 * CHUNK + 1234)
#define TOTAL (SIZE / CHUNK + 1)

static uint8_t content[SIZE];
static uint8_t ring[SLOTS * CHUNK];

/* A new file without a name, with the first octets of the content. */
static int
file_with(size_t octets)
{
	g_autofree char *path = NULL;
	int fd = g_file_open_tmp("test-tools-crew-XXXXXX", &path, NULL);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(g_unlink(path), ==, 0);
	g_assert_cmpint(pwrite(fd, content, octets, 0), ==, (ssize_t)octets);
	return fd;
}

static void
begin(struct cp_crew *crew, int fd, bool fills_ring, enum cp_sum_kind kind)
{
	struct cp_crew_task task = {
		.fd = fd,
		.fills_ring = fills_ring,
		.ring = ring,
		.chunk = CHUNK,
		.slots = SLOTS,
		.size = SIZE,
		.kind = kind,
	};

	g_assert_true(cp_crew_begin(crew, &task, NULL));
}

static uint64_t
size_of(int fd)
{
	struct stat info;

	g_assert_cmpint(fstat(fd, &info), ==, 0);
	return (uint64_t)info.st_size;
}

/* The content passes the ring, which has room for few chunks of it. */
static void
pass_all(struct cp_crew *crew, bool fills_ring)
{
	for (uint64_t number = 0; number < TOTAL; number++) {
		uint8_t *slot = ring + number % SLOTS * CHUNK;
		size_t len = cp_crew_octets(crew, number);

		g_assert_cmpuint(len, ==, MIN(CHUNK, SIZE - number * CHUNK));
		if (!fills_ring)
			memcpy(slot, content + number * CHUNK, len);
		cp_crew_grant(crew, number + 1);
		g_assert_true(cp_crew_await(crew, number + 1, NULL));
		if (fills_ring)
			g_assert_cmpmem(slot, len, content + number * CHUNK, len);
	}
}

static char *
sum_of_content(enum cp_sum_kind kind)
{
	struct cp_sum sum;

	g_assert_true(cp_sum_begin(&sum, kind, NULL));
	cp_sum_add(&sum, content, SIZE);
	return cp_sum_end(&sum);
}

static void
test_pass(gconstpointer way)
{
	bool fills_ring = GPOINTER_TO_INT(way) != 0;

	for (enum cp_sum_kind kind = CP_SHA256; kind < CP_SUM_KINDS; kind++) {
		g_autofree char *expected = sum_of_content(kind);
		int fd RI_AT_END(ri_at_end_close) = file_with(fills_ring ? SIZE : 0);
		g_autofree uint8_t *there = g_malloc(SIZE);
		g_autofree char *sum = NULL;
		struct cp_crew crew;

		begin(&crew, fd, fills_ring, kind);
		pass_all(&crew, fills_ring);
		sum = cp_crew_end(&crew);
		g_assert_cmpstr(sum, ==, expected);
		g_assert_cmpuint(size_of(fd), ==, SIZE);
		g_assert_cmpint(pread(fd, there, SIZE, 0), ==, (ssize_t)SIZE);
		g_assert_cmpmem(there, SIZE, content, SIZE);
	}
}

/* A file system that can gets the space of some chunks at once; of few, since the peer need not send what it promised. */
static void
test_space(void)
{
	int fd RI_AT_END(ri_at_end_close) = file_with(0);
	int other = file_with(0);
	bool can = fallocate(other, 0, 0, 1) == 0;
	struct cp_crew crew;

	close(other);
	begin(&crew, fd, false, CP_XXH3);
	g_assert_cmpuint(size_of(fd), ==, 0);
	cp_crew_grant(&crew, 1);
	g_assert_true(cp_crew_await(&crew, 1, NULL));
	if (can)
		g_assert_cmpuint(size_of(fd), >=, 2 * CHUNK);
	g_assert_cmpuint(size_of(fd), <=, 16 * CHUNK);
	g_free(cp_crew_end(&crew));
}

/* Ends the work on an unsound file, of which `good` chunks can be moved, and compares the reason. */
static void
fails_with(int fd, bool fills_ring, uint64_t good, const char *why)
{
	g_autoptr(GError) error = NULL;
	struct cp_crew crew;

	begin(&crew, fd, fills_ring, CP_XXH3);
	for (uint64_t number = 0; number < good; number++) {
		cp_crew_grant(&crew, number + 1);
		g_assert_true(cp_crew_await(&crew, number + 1, NULL));
	}
	cp_crew_grant(&crew, good + 1);
	g_assert_false(cp_crew_await(&crew, good + 1, &error));
	g_assert_error(error, TOOL_ERROR, TOOL_ERROR_FAILED);
	g_assert_cmpstr(error->message, ==, why);
	g_free(cp_crew_end(&crew));
	close(fd);
}

static void
test_shorter(void)
{
	fails_with(file_with(2 * CHUNK + 5), true, 2,
		   "the file ends after 131077 of the 2622674 octets of its size");
	fails_with(file_with(0), true, 0,
		   "the file ends after 0 of the 2622674 octets of its size");
}

/* What was added to the file after its size was read is not copied. */
static void
test_longer(void)
{
	g_autofree char *expected = sum_of_content(CP_XXH3);
	int fd RI_AT_END(ri_at_end_close) = file_with(SIZE);
	g_autofree char *sum = NULL;
	struct cp_crew crew;

	g_assert_cmpint(pwrite(fd, content, CHUNK, SIZE), ==, (ssize_t)CHUNK);
	begin(&crew, fd, true, CP_XXH3);
	pass_all(&crew, true);
	sum = cp_crew_end(&crew);
	g_assert_cmpstr(sum, ==, expected);
}

/* The reservation fails, but the chunks that fit are written, and the write of the first one that does not says why. */
static void
test_limit(void)
{
	struct rlimit before;
	struct rlimit limit;

	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
	limit = before;
	limit.rlim_cur = 2 * CHUNK;
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
	fails_with(file_with(0), false, 2, "cannot write the file: File too large");
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	(void)signal(SIGXFSZ, SIG_IGN); /* as the tools do */
	for (size_t i = 0; i < SIZE; i++)
		content[i] = (uint8_t)(i * i / 11);
	g_test_add_data_func("/tools/crew/to-ring", GINT_TO_POINTER(1), test_pass);
	g_test_add_data_func("/tools/crew/to-file", GINT_TO_POINTER(0), test_pass);
	g_test_add_func("/tools/crew/space", test_space);
	g_test_add_func("/tools/crew/shorter", test_shorter);
	g_test_add_func("/tools/crew/longer", test_longer);
	g_test_add_func("/tools/crew/limit", test_limit);
	return g_test_run();
}
