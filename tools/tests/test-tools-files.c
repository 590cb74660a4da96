/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The folder that it-cp serves cannot be left, files get their names last, and checksums. */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "cp_file.h"
#include "cp_sum.h"
#include "tool_error.h"

#define MASK 027 /* one value for all tests: it-cp reads the mask once */

struct place {
	char *top;    /* outer/, with outer/secret and outer/served/ */
	char *served; /* with file, sub/file, and symbolic links that lead out of it */
	int folder;
};

static char *
path_in(const char *folder, const char *name)
{
	return g_build_filename(folder, name, NULL);
}

static void
write_file(const char *folder, const char *name, const char *text)
{
	g_autofree char *path = path_in(folder, name);

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void
make_link(const char *target, const char *folder, const char *name)
{
	g_autofree char *path = path_in(folder, name);

	g_assert_cmpint(symlink(target, path), ==, 0);
}

static void
set_up(struct place *place, gconstpointer unused)
{
	g_autofree char *sub = NULL;

	(void)unused;
	place->top = g_dir_make_tmp("test-tools-files-XXXXXX", NULL);
	place->served = path_in(place->top, "served");
	sub = path_in(place->served, "sub");
	g_assert_cmpint(g_mkdir_with_parents(sub, 0700), ==, 0);
	write_file(place->top, "secret", "secret");
	write_file(place->served, "file", "content");
	write_file(place->served, "sub/file", "inner");
	make_link("../secret", place->served, "link-to-file");
	make_link("..", place->served, "link-to-folder");
	make_link("sub", place->served, "link-inside");
	place->folder = cp_folder_open(place->served, NULL);
	g_assert_cmpint(place->folder, >=, 0);
}

static void
tear_down(struct place *place, gconstpointer unused)
{
	const char *argv[] = {"rm", "-rf", place->top, NULL};

	(void)unused;
	close(place->folder);
	g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
				   NULL, NULL, NULL));
	g_free(place->top);
	g_free(place->served);
}

/* The number of names in the served folder that begin with a dot: temporary files that were left behind. */
static unsigned
parts_left(const struct place *place)
{
	g_autoptr(GDir) dir = g_dir_open(place->served, 0, NULL);
	unsigned count = 0;
	const char *name;

	while ((name = g_dir_read_name(dir)) != NULL)
		count += name[0] == '.';
	return count;
}

static const char *const outside[] = {
	"",
	"/",
	"/etc/passwd",
	"..",
	"../secret",
	"sub/../..",
	"sub/../../secret",
	".",
	"./file",
	"sub//file",
	"file/",
	"link-to-file",
	"link-to-folder",
	"link-to-folder/secret",
	"link-inside/file",
};

static void
test_read_inside(struct place *place, gconstpointer unused)
{
	struct cp_source source;

	(void)unused;
	g_assert_true(cp_source_open(&source, place->folder, "file", NULL));
	g_assert_cmpuint(source.size, ==, strlen("content"));
	cp_source_close(&source);
	g_assert_true(cp_source_open(&source, place->folder, "sub/file", NULL));
	g_assert_cmpuint(source.size, ==, strlen("inner"));
	cp_source_close(&source);
}

static void
test_read_outside(struct place *place, gconstpointer unused)
{
	(void)unused;
	for (size_t i = 0; i < G_N_ELEMENTS(outside); i++) {
		g_autoptr(GError) error = NULL;
		struct cp_source source;

		g_assert_false(cp_source_open(&source, place->folder, outside[i], &error));
		g_assert_nonnull(error);
	}
}

static void
test_write_outside(struct place *place, gconstpointer unused)
{
	g_autofree char *secret = path_in(place->top, "secret");
	g_autofree char *content = NULL;

	(void)unused;
	for (size_t i = 0; i < G_N_ELEMENTS(outside); i++) {
		g_autoptr(GError) error = NULL;
		struct cp_target target;

		g_assert_false(cp_target_open(&target, place->folder, outside[i], 0644, &error));
		g_assert_nonnull(error);
	}
	g_assert_true(g_file_get_contents(secret, &content, NULL, NULL));
	g_assert_cmpstr(content, ==, "secret");
	g_assert_cmpuint(parts_left(place), ==, 0);
}

static void
test_special_files(struct place *place, gconstpointer unused)
{
	g_autofree char *pipe = path_in(place->served, "pipe");
	g_autoptr(GError) read_error = NULL;
	g_autoptr(GError) write_error = NULL;
	struct cp_source source;
	struct cp_target target;

	(void)unused;
	g_assert_cmpint(mkfifo(pipe, 0600), ==, 0);
	g_assert_false(cp_source_open(&source, place->folder, "pipe", &read_error));
	g_assert_false(cp_target_open(&target, place->folder, "pipe", 0644, &write_error));
	g_assert_false(cp_target_open(&target, place->folder, "sub", 0644, NULL));
	g_assert_false(cp_source_open(&source, place->folder, "sub", NULL));
}

static void
test_name_comes_last(struct place *place, gconstpointer unused)
{
	g_autofree char *path = path_in(place->served, "new");
	g_autofree char *content = NULL;
	struct cp_target target;
	struct stat info;

	(void)unused;
	g_assert_true(cp_target_open(&target, place->folder, "new", 0640, NULL));
	g_assert_true(write(target.fd, "half", 4) == 4);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	g_assert_cmpuint(parts_left(place), ==, 1);
	cp_target_close(&target); /* given up */
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	g_assert_cmpuint(parts_left(place), ==, 0);

	g_assert_true(cp_target_open(&target, place->folder, "new", 04640, NULL));
	g_assert_true(write(target.fd, "whole", 5) == 5);
	g_assert_true(cp_target_commit(&target, NULL));
	cp_target_close(&target);
	g_assert_true(g_file_get_contents(path, &content, NULL, NULL));
	g_assert_cmpstr(content, ==, "whole");
	g_assert_cmpint(stat(path, &info), ==, 0);
	g_assert_cmpint(info.st_mode & 07137, ==,
			0); /* no set-user-ID, no right that was not requested */
	g_assert_cmpuint(parts_left(place), ==, 0);
}

/* The lowest free descriptor number; an open descriptor would change it. */
static int
lowest_free(const struct place *place)
{
	int fd = dup(place->folder);

	g_assert_cmpint(fd, >=, 0);
	close(fd);
	return fd;
}

/* No descriptor stays open after a walk through folders, or after a refused source. */
static void
test_descriptors(struct place *place, gconstpointer unused)
{
	g_autofree char *deep = path_in(place->served, "sub/deep");
	int free_before = lowest_free(place);
	struct cp_source source;

	(void)unused;
	g_assert_cmpint(g_mkdir(deep, 0700), ==, 0);
	write_file(place->served, "sub/deep/file", "deepest");
	g_assert_cmpint(lowest_free(place), ==, free_before);
	g_assert_true(cp_source_open(&source, place->folder, "sub/deep/file", NULL));
	cp_source_close(&source);
	g_assert_cmpint(lowest_free(place), ==, free_before);
	g_assert_false(cp_source_open(&source, place->folder, "sub/none/file", NULL));
	g_assert_cmpint(lowest_free(place), ==, free_before);
	g_assert_false(cp_source_open(&source, place->folder, "sub", NULL)); /* no file */
	g_assert_cmpint(source.fd, ==, -1);
	g_assert_cmpint(lowest_free(place), ==, free_before);
}

/* A copy gets no right that the user's mask removes. */
static void
test_mask(struct place *place, gconstpointer unused)
{
	g_autofree char *path = path_in(place->served, "masked");
	struct cp_target target;
	struct stat info;

	(void)unused;
	g_assert_true(cp_target_open(&target, place->folder, "masked", 0666, NULL));
	g_assert_true(cp_target_commit(&target, NULL));
	cp_target_close(&target);
	g_assert_cmpint(stat(path, &info), ==, 0);
	g_assert_cmpint(info.st_mode & 07777, ==, 0666 & ~MASK);
}

static void
sum_is(enum cp_sum_kind kind, const char *octets, const char *expected)
{
	size_t half = strlen(octets) / 2;
	g_autofree char *text = NULL;
	struct cp_sum sum;

	g_assert_true(cp_sum_begin(&sum, kind, NULL));
	cp_sum_add(&sum, octets, half);
	cp_sum_add(&sum, octets + half, strlen(octets) - half);
	text = cp_sum_end(&sum);
	g_assert_cmpstr(text, ==, expected);
}

static void
test_sums(void)
{
	sum_is(CP_CRC32C, "123456789", "e3069283"); /* RFC 3720, and the usual check value */
	sum_is(CP_SHA256, "abc",
	       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"); /* FIPS 180 */
	sum_is(CP_XXH3, "", "99aa06d3014798d86001c324468d497f"); /* as xxhsum -H2 prints it */
	sum_is(CP_XXH3, "abc", "06b05ab6733a618578af5f94892f3950");
	g_assert_false(cp_sum_known(CP_SUM_BEST));
	g_assert_true(cp_sum_known(CP_XXH3));
	g_assert_false(cp_sum_known(CP_SUM_KINDS));
}

/* However long the octets are, and in which pieces they come: as the functions of the library for any processor say. */
static void
test_long_sum(void)
{
	static const size_t pieces[] = {1, 63, 256, 1023, 4096, 100000, 1 << 20};
	static uint8_t octets[(1 << 20) + 77];
	XXH128_canonical_t expected;

	for (size_t i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)(i * i / 7);
	XXH128_canonicalFromHash(&expected, XXH3_128bits(octets, sizeof(octets)));
	for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++) {
		g_autofree char *text = NULL;
		struct cp_sum sum;

		g_assert_true(cp_sum_begin(&sum, CP_XXH3, NULL));
		for (size_t at = 0; at < sizeof(octets); at += pieces[i])
			cp_sum_add(&sum, octets + at, MIN(pieces[i], sizeof(octets) - at));
		text = cp_sum_end(&sum);
		for (size_t at = 0; at < sizeof(expected.digest); at++) {
			char two[3] = {text[2 * at], text[2 * at + 1], '\0'};

			g_assert_cmphex(g_ascii_strtoull(two, NULL, 16), ==, expected.digest[at]);
		}
	}
}

/* A server of a version before XXH3 names no sums, and has the other two. */
static void
test_agreed_sum(void)
{
	static const struct {
		const char *wanted;
		bool older;
		const char *used; /* NULL: none */
	} cases[] = {
		{NULL, false, "xxh3"},       {NULL, true, "sha256"},     {"xxh3", false, "xxh3"},
		{"xxh3", true, NULL},        {"sha256", true, "sha256"}, {"crc32c", true, "crc32c"},
		{"sha256", false, "sha256"},
	};
	enum cp_sum_kind kind;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_assert_true(cp_sum_pick(&kind, cases[i].wanted));
		g_assert_cmpint(cp_sum_agree(&kind, cases[i].older ? 0 : cp_sum_all()), ==,
				cases[i].used != NULL);
		if (cases[i].used != NULL)
			g_assert_cmpstr(cp_sum_name(kind), ==, cases[i].used);
	}
	g_assert_false(cp_sum_pick(&kind, "md5"));
}

#define ADD(name, function) \
	g_test_add("/tools/files/" name, struct place, NULL, set_up, function, tear_down)

/* Files whose size is not that of their content, and what is not a regular file: each is refused with its reason. */
static void
test_no_source(void)
{
	static const struct {
		const char *path;
		const char *why;
	} bad[] = {{"/proc/cpuinfo", "more than the 0 octets of its size"},
		   {"/proc/self/status", "more than the 0 octets of its size"},
		   {"/dev/zero", "is not a regular file"},
		   {"/dev/null", "is not a regular file"},
		   {"/", "is not a regular file"},
		   {"/proc/self/mem", "/proc/self/mem: "}};
	struct cp_source source;

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(cp_source_open(&source, -1, bad[i].path, &error));
		g_assert_cmpint(source.fd, ==, -1);
		g_assert_error(error, TOOL_ERROR, TOOL_ERROR_FAILED);
		g_assert_nonnull(strstr(error->message, bad[i].why));
	}
}

/* A file that is longer, shorter or another one than when it was opened is not what was copied. */
static void
test_changing_source(struct place *place, gconstpointer unused)
{
	static const struct {
		off_t size;
		size_t written;
	} changes[] = {{8, 0}, {6, 0}, {0, 0}, {7, 3}};
	const struct timespec old[] = {{.tv_sec = 1}, {.tv_sec = 1}};
	g_autofree char *path = path_in(place->served, "file");

	(void)unused;
	for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
		g_autoptr(GError) error = NULL;
		struct cp_source source;
		int fd;

		write_file(place->served, "file", "content");
		g_assert_cmpint(utimensat(AT_FDCWD, path, old, 0), ==, 0);
		g_assert_true(cp_source_open(&source, place->folder, "file", NULL));
		g_assert_cmpuint(source.size, ==, 7);
		g_assert_true(cp_source_unchanged(&source, NULL));
		fd = open(path, O_WRONLY | O_CLOEXEC);
		g_assert_cmpint(fd, >=, 0);
		g_assert_cmpint(ftruncate(fd, changes[i].size), ==, 0);
		g_assert_cmpint(pwrite(fd, "new", changes[i].written, 0), ==,
				(ssize_t)changes[i].written);
		close(fd);
		g_assert_false(cp_source_unchanged(&source, &error));
		g_assert_nonnull(strstr(error->message, "while it was copied"));
		cp_source_close(&source);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	umask(MASK);
	ADD("read-inside", test_read_inside);
	ADD("read-outside", test_read_outside);
	ADD("write-outside", test_write_outside);
	ADD("special-files", test_special_files);
	ADD("name-comes-last", test_name_comes_last);
	ADD("descriptors", test_descriptors);
	ADD("mask", test_mask);
	g_test_add_func("/tools/files/sums", test_sums);
	g_test_add_func("/tools/files/long-sum", test_long_sum);
	g_test_add_func("/tools/files/agreed-sum", test_agreed_sum);
	ADD("changing-source", test_changing_source);
	g_test_add_func("/tools/files/no-source", test_no_source);
	return g_test_run();
}
