/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Functions of the C library that open and close event channels of rdma_cm, and that do what they did for everything else. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib.h>

#include "door_cm.h"

#define OK(call) g_assert_cmpint((call), ==, 0)
#define FAILS(call, error)                           \
	do {                                         \
		errno = 0;                           \
		g_assert_cmpint((call), ==, -1);     \
		g_assert_cmpint(errno, ==, (error)); \
	} while (0)
#define DEVICE "/dev/infiniband/rdma_cm"

static int
channel(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	g_assert_true(door_cm_is(fd));
	return fd;
}

/* No command reaches a channel there any more. */
static void
is_gone(int fd)
{
	g_assert_false(door_cm_is(fd));
}

static int (*const volatile open_of[])(const char *path, int flags, ...) = {open, open64};
static int (*const volatile openat_of[])(int folder, const char *path, int flags, ...) = {openat,
											  openat64};

static void
test_open(void)
{
	int fd;

	for (size_t i = 0; i < G_N_ELEMENTS(open_of); i++) {
		fd = open_of[i](DEVICE, O_RDWR);
		g_assert_true(door_cm_is(fd));
		OK(close(fd));
		is_gone(fd);
		fd = openat_of[i](AT_FDCWD, DEVICE, O_RDWR);
		g_assert_true(door_cm_is(fd));
		OK(close(fd));
		fd = open_of[i]("/dev/null", O_RDWR);
		g_assert_cmpint(fd, >=, 0);
		is_gone(fd);
		OK(close(fd));
		FAILS(open_of[i](NULL, O_RDWR), EFAULT);
		FAILS(openat_of[i](AT_FDCWD, NULL, O_RDWR), EFAULT);
		FAILS(open_of[i]("/dev/infiniband/rdma_cm/", O_RDWR), errno);
	}
}

/* A program that passes no path gets the kernel's answer. */
static void
test_no_path(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	g_test_skip("the functions of a sanitizer read the path first");
#else
	static const char *volatile nowhere;
	struct stat status;
	char text[8];

	/* NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker): that is the test */
	FAILS(stat(nowhere, &status), EFAULT);
	FAILS(lstat(nowhere, &status), EFAULT);
	FAILS(access(nowhere, R_OK), EFAULT);
	FAILS(chdir(nowhere), EFAULT);
	FAILS(readlink(nowhere, text, sizeof(text)), EFAULT);
	errno = 0;
	g_assert_null(realpath(nowhere, NULL));
	g_assert_cmpint(errno, ==, EINVAL);
	/* NOLINTEND(clang-analyzer-core.NonNullParamChecker) */
#endif
}

/* The third argument arrives, also for files without a name. */
static void
test_mode(void)
{
	g_autofree char *folder = g_dir_make_tmp("test-door-XXXXXX", NULL);
	g_autofree char *name = g_build_filename(folder, "file", NULL);
	struct stat status;
	mode_t before = umask(0);
	int fd;

	for (unsigned i = 0; i < 4; i++) {
		fd = i < 2 ? open_of[i](name, O_CREAT | O_EXCL | O_RDWR, 0640)
			   : openat_of[i - 2](AT_FDCWD, name, O_CREAT | O_EXCL | O_RDWR, 0640);
		g_assert_cmpint(fd, >=, 0);
		OK(fstat(fd, &status));
		g_assert_cmpint(status.st_mode & 07777, ==, 0640);
		g_assert_true(S_ISREG(status.st_mode));
		g_assert_cmpint(write(fd, "abc", 3), ==, 3);
		OK(close(fd));
		OK(unlink(name));
	}
	umask(before);
	OK(rmdir(folder));
}

static void
test_fstat(void)
{
	struct stat64 status64;
	struct stat status;
	int fd = channel(), pipe_fds[2];

	OK(fstat(fd, &status));
	g_assert_true(S_ISCHR(status.st_mode));
	OK(fstat64(fd, &status64));
	g_assert_true(S_ISCHR(status64.st_mode));
	g_assert_cmpuint(status64.st_rdev, ==, status.st_rdev);
	OK(pipe(pipe_fds));
	OK(fstat(pipe_fds[0], &status));
	g_assert_true(S_ISFIFO(status.st_mode));
	OK(close(pipe_fds[0]));
	OK(close(pipe_fds[1]));
	FAILS(fstat(pipe_fds[0], &status), EBADF);
	OK(close(fd));
}

static void
test_close(void)
{
	int fd = channel(), again;

	OK(close(fd));
	is_gone(fd);
	FAILS(write(fd, "x", 1), EBADF);
	FAILS(close(fd), EBADF);
	again = channel();
	g_assert_cmpint(again, ==, fd);
	OK(close(again));
}

/* Descriptor numbers that belong to no channel. */
static void
test_numbers(void)
{
	FAILS(write(-1, "x", 1), EBADF);
	FAILS(close(-1), EBADF);
	is_gone(-1);
	is_gone(INT32_MIN);
	is_gone(INT32_MAX);
	is_gone(1 << 20);
}

/* Another descriptor takes the number of a channel, or tries to. */
static void
test_dup(void)
{
	int fd = channel(), null = open("/dev/null", O_RDWR), copy;

	g_assert_cmpint(dup2(fd, fd), ==, fd);
	FAILS(dup3(fd, fd, 0), EINVAL);
	FAILS(dup2(-1, fd), EBADF);
	FAILS(dup3(-1, fd, 0), EBADF);
	FAILS(dup3(null, fd, O_APPEND), EINVAL);
	g_assert_true(door_cm_is(fd));
	/* A copy is no channel, and the channel does not depend on it. */
	copy = dup(fd);
	g_assert_false(door_cm_is(copy));
	OK(close(copy));
	g_assert_true(door_cm_is(fd));
	g_assert_cmpint(dup2(null, fd), ==, fd);
	is_gone(fd);
	g_assert_cmpint(write(fd, "x", 1), ==, 1);
	OK(close(fd));
	fd = channel();
	g_assert_cmpint(dup3(null, fd, O_CLOEXEC), ==, fd);
	is_gone(fd);
	OK(close(fd));
	OK(close(null));
}

/* A call that the door does not see puts another file in the place of a channel. Writes go there. */
static void
test_stale(void)
{
	int fd = channel(), pipe_fds[2];
	char octet = 0;

	OK(pipe(pipe_fds));
	g_assert_cmpint(syscall(SYS_dup3, pipe_fds[1], fd, 0), ==, fd);
	g_assert_cmpint(write(fd, "x", 1), ==, 1);
	g_assert_cmpint(read(pipe_fds[0], &octet, 1), ==, 1);
	g_assert_cmpint(octet, ==, 'x');
	is_gone(fd);
	OK(close(fd));
	OK(close(pipe_fds[0]));
	OK(close(pipe_fds[1]));
}

static void
test_close_range(void)
{
	int one, two, three;

	one = channel();
	two = channel();
	three = channel();
	g_assert_true(one < two && two < three);
	errno = 77;
	OK(close_range((unsigned)one, (unsigned)two, 0));
	g_assert_cmpint(errno, ==, 77);
	is_gone(one);
	is_gone(two);
	g_assert_true(door_cm_is(three));
	/* What only marks descriptors closes none, and what is no range does nothing. */
	OK(close_range((unsigned)three, UINT32_MAX, CLOSE_RANGE_CLOEXEC));
	FAILS(close_range((unsigned)three + 1, (unsigned)three, 0), EINVAL);
	g_assert_true(door_cm_is(three));
	OK(close_range((unsigned)three, UINT32_MAX, 0));
	is_gone(three);
}

static void
test_closefrom(void)
{
	int fd = open("/dev/null", O_RDONLY), one, two;

	one = channel();
	two = channel();
	closefrom(two);
	is_gone(two);
	g_assert_true(door_cm_is(one));
	closefrom(one);
	is_gone(one);
	g_assert_cmpint(fcntl(fd, F_GETFD), >=, 0);
	OK(close(fd));
}

/* A child that runs in the memory of its parent closes copies. */
static int
close_all(void *arg)
{
	int fd = *(int *)arg;

	close(fd);
	dup2(2, fd);
	dup3(2, fd, 0);
	close_range(3, UINT32_MAX, 0);
	closefrom(3);
	return 0;
}

static void
test_vfork(void)
{
	static char stack[65536];
	int fd = channel(), status = 1;
	pid_t child =
		clone(close_all, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &fd);

	g_assert_cmpint(child, >, 0);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	OK(status);
	g_assert_true(door_cm_is(fd));
	OK(close(fd));
	is_gone(fd);
}

/* A forked child has its own memory: it can open and close channels, and closes those of its parent for itself. */
static void
test_fork(void)
{
	int fd = channel(), status = 1, own;
	pid_t child = fork();

	if (child == 0) {
		close(fd);
		own = open(DEVICE, O_RDWR);
		if (!door_cm_is(own) || door_cm_is(own + 1))
			_exit(1);
		close(own);
		_exit(door_cm_is(own) ? 2 : 0);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	OK(status);
	g_assert_true(door_cm_is(fd));
	OK(close(fd));
}

/* Names of libibverbs lead to the door's replacement of it, and no others do. */
static void
test_dlopen(void)
{
	void *first = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL), *own;

	own = dlopen(NULL, RTLD_NOW);
	g_assert_nonnull(own);
	g_assert_nonnull(dlsym(own, "g_free"));
	if (first != NULL)
		dlclose(first);
	g_assert_null(dlopen("libibverbs.so.none", RTLD_NOW));
	dlclose(own);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_setenv("ITAPI_VERBS_DEVICES", "emul:ib", TRUE);
	g_test_add_func("/door/hooks/open", test_open);
	g_test_add_func("/door/hooks/no-path", test_no_path);
	g_test_add_func("/door/hooks/mode", test_mode);
	g_test_add_func("/door/hooks/fstat", test_fstat);
	g_test_add_func("/door/hooks/close", test_close);
	g_test_add_func("/door/hooks/numbers", test_numbers);
	g_test_add_func("/door/hooks/dup", test_dup);
	g_test_add_func("/door/hooks/stale", test_stale);
	g_test_add_func("/door/hooks/close-range", test_close_range);
	g_test_add_func("/door/hooks/closefrom", test_closefrom);
	g_test_add_func("/door/hooks/vfork", test_vfork);
	g_test_add_func("/door/hooks/fork", test_fork);
	g_test_add_func("/door/hooks/dlopen", test_dlopen);
	return g_test_run();
}
