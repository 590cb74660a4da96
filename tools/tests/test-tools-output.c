/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Results that cannot be written: streams that fail at each step, and files that appear whole or not at all. */

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool_output.h"

/* A stream that fails as a file on a network does: at a write, or not before it is closed. */
struct failing {
	int write; /* errno, or 0 */
	int close;
};

static ssize_t
failing_write(void *cookie, const char *octets, size_t len)
{
	const struct failing *how = cookie;

	(void)octets;
	errno = how->write;
	return how->write != 0 ? 0 : (ssize_t)len;
}

static int
failing_close(void *cookie)
{
	const struct failing *how = cookie;

	errno = how->close;
	return how->close != 0 ? -1 : 0;
}

static int
end_of(struct failing how, size_t octets, int buffering)
{
	const cookie_io_functions_t functions = {.write = failing_write, .close = failing_close};
	FILE *stream = fopencookie(&how, "w", functions);

	g_assert_nonnull(stream);
	setvbuf(stream, NULL, buffering, 64);
	for (size_t i = 0; i < octets; i++)
		fputc('x', stream);
	return tool_output_end(stream);
}

static void
test_streams(void)
{
	g_assert_cmpint(end_of((struct failing){0}, 1000, _IOFBF), ==, 0);
	g_assert_cmpint(end_of((struct failing){.write = ENOSPC}, 1, _IOFBF), ==, ENOSPC);
	g_assert_cmpint(end_of((struct failing){.write = EDQUOT}, 1000, _IOFBF), !=, 0);
	g_assert_cmpint(end_of((struct failing){.write = EDQUOT}, 1000, _IONBF), !=, 0);
	g_assert_cmpint(end_of((struct failing){.close = ENOSPC}, 1, _IOFBF), ==, ENOSPC);
	g_assert_cmpint(end_of((struct failing){.close = EDQUOT}, 0, _IOFBF), ==, EDQUOT);
	g_assert_cmpint(end_of((struct failing){.write = EPIPE, .close = EIO}, 1, _IOFBF), ==,
			EPIPE);
}

static void
holds(const char *path, const char *wanted)
{
	g_autofree char *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, wanted);
}

/* The names in a folder. */
static guint
names_in(const char *folder)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	guint count = 0;

	g_assert_nonnull(dir);
	while (g_dir_read_name(dir) != NULL)
		count++;
	return count;
}

static void
test_files(void)
{
	g_autofree char *folder = g_dir_make_tmp("test-tools-output-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "report", NULL);
	g_autofree char *nowhere = g_build_filename(folder, "no", "report", NULL);
	const struct rlimit small = {.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
	g_autofree char *large = g_strnfill(1000, 'x');
	struct rlimit before;
	struct stat info;

	g_assert_cmpint(tool_output_file(path, "one", 3), ==, 0);
	holds(path, "one");
	g_assert_cmpint(g_chmod(path, 0640), ==, 0);
	g_assert_cmpint(tool_output_file(path, "another", 7), ==, 0);
	holds(path, "another");
	g_assert_cmpint(stat(path, &info), ==, 0);
	g_assert_cmpint(info.st_mode & 07777, ==, 0640);
	/* No room: the report of before is still there, and no part of the new one. */
	signal(SIGXFSZ, SIG_IGN);
	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
	g_assert_cmpint(tool_output_file(path, large, strlen(large)), ==, EFBIG);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
	holds(path, "another");
	g_assert_cmpuint(names_in(folder), ==, 1);
	g_assert_cmpint(tool_output_file(nowhere, "one", 3), ==, ENOENT);
	g_assert_cmpint(tool_output_file(folder, "one", 3), ==, EISDIR);
	g_assert_cmpint(g_unlink(path), ==, 0);
	g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* What is not a regular file is not replaced by one: /dev/full, /dev/null, a pipe. */
static void
test_devices(void)
{
	g_autofree char *folder = g_dir_make_tmp("test-tools-output-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "pipe", NULL);
	char text[8] = "";
	struct stat info;
	int fd;

	g_assert_cmpint(mkfifo(path, 0600), ==, 0);
	fd = g_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(tool_output_file(path, "report", 6), ==, 0);
	g_assert_cmpint(read(fd, text, sizeof(text)), ==, 6);
	g_assert_cmpstr(text, ==, "report");
	g_assert_cmpint(stat(path, &info), ==, 0);
	g_assert_true(S_ISFIFO(info.st_mode));
	close(fd);
	g_assert_cmpint(g_unlink(path), ==, 0);
	/* By a link, so that a replacement could do no harm to the system's device. */
	g_assert_cmpint(symlink("/dev/full", path), ==, 0);
	g_assert_cmpint(tool_output_file(path, "report", 6), ==, ENOSPC);
	g_assert_cmpint(lstat(path, &info), ==, 0);
	g_assert_true(S_ISLNK(info.st_mode));
	g_assert_cmpint(g_unlink(path), ==, 0);
	g_assert_cmpint(g_rmdir(folder), ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tools/output/streams", test_streams);
	g_test_add_func("/tools/output/files", test_files);
	g_test_add_func("/tools/output/devices", test_devices);
	return g_test_run();
}
