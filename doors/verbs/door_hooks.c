/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Functions of the C library that come before it in a program with the door: those by which
 * librdmacm uses the device file of rdma_cm, those that close a descriptor, and those that open files
 * of door_sysfs.h. For everything else each of them only calls the real one.
 *
 * A child of vfork() runs in the memory of its parent and closes descriptors of its own, often all
 * of them. Its descriptors are copies, so the parent's channels must not end with them. So a
 * function that closes a channel first checks whether it runs in the channel's own process.
 */

/* Programs call either form of open() and fstat(), so this file has both: it is compiled as one without large files. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "door_cm.h"
#include "door_export.h"
#include "door_sysfs.h"
#include "session_cancel.h"

#define CM_DEVICE "/dev/infiniband/rdma_cm"
#define CM_NUMBER "/sys/class/misc/rdma_cm/dev"

/* The real functions. */
static struct {
	int (*open)(const char *path, int flags, ...);
	int (*open64)(const char *path, int flags, ...);
	int (*openat)(int folder, const char *path, int flags, ...);
	int (*openat64)(int folder, const char *path, int flags, ...);
	int (*open_2)(const char *path, int flags);
	int (*open64_2)(const char *path, int flags);
	int (*openat_2)(int folder, const char *path, int flags);
	int (*openat64_2)(int folder, const char *path, int flags);
	int (*fstat)(int fd, struct stat *status);
	int (*fstat64)(int fd, struct stat64 *status);
	ssize_t (*write)(int fd, const void *buffer, size_t length);
	int (*close)(int fd);
	int (*dup2)(int fd, int number);
	int (*dup3)(int fd, int number, int flags);
	int (*close_range)(unsigned first, unsigned last, int flags);
	void (*closefrom)(int first);
} real;

static pid_t own_process;       /* of the memory that this is */
static atomic_int highest = -1; /* number of a channel so far */

static void
note_process(void)
{
	own_process = getpid();
}

/*
 * The real functions are looked up before the program's constructors run, and at their first use if
 * that comes earlier: constructors of a library may run before ours. Threads that look them up at
 * the same time find the same addresses.
 */
static atomic_bool looked_up;

__attribute__((constructor(101))) static void
look_up(void)
{
	*(void **)&real.open = dlsym(RTLD_NEXT, "open");
	*(void **)&real.open64 = dlsym(RTLD_NEXT, "open64");
	*(void **)&real.openat = dlsym(RTLD_NEXT, "openat");
	*(void **)&real.openat64 = dlsym(RTLD_NEXT, "openat64");
	*(void **)&real.open_2 = dlsym(RTLD_NEXT, "__open_2");
	*(void **)&real.open64_2 = dlsym(RTLD_NEXT, "__open64_2");
	*(void **)&real.openat_2 = dlsym(RTLD_NEXT, "__openat_2");
	*(void **)&real.openat64_2 = dlsym(RTLD_NEXT, "__openat64_2");
	*(void **)&real.fstat = dlsym(RTLD_NEXT, "fstat");
	*(void **)&real.fstat64 = dlsym(RTLD_NEXT, "fstat64");
	*(void **)&real.write = dlsym(RTLD_NEXT, "write");
	*(void **)&real.close = dlsym(RTLD_NEXT, "close");
	*(void **)&real.dup2 = dlsym(RTLD_NEXT, "dup2");
	*(void **)&real.dup3 = dlsym(RTLD_NEXT, "dup3");
	*(void **)&real.close_range = dlsym(RTLD_NEXT, "close_range");
	*(void **)&real.closefrom = dlsym(RTLD_NEXT, "closefrom");
	if (!atomic_exchange(&looked_up, true)) {
		note_process();
		(void)pthread_atfork(NULL, NULL, note_process);
	}
}

static inline void
need_real(void)
{
	if (__builtin_expect(!atomic_load_explicit(&looked_up, memory_order_acquire), 0))
		look_up();
}

/* Is the descriptor a channel? For every number of a program, and before there is a channel. */
static inline bool
is_channel(int fd)
{
	return __builtin_expect(fd <= atomic_load_explicit(&highest, memory_order_acquire), 0) &&
	       door_cm_is(fd);
}

/* --- open ---------------------------------------------------------------------------------------------- */

/* The headers promise that a path is not NULL, so that compilers drop the question. A program that breaks that gets EFAULT. */
static inline bool
is_cm_device(const char *path)
{
	__asm__("" : "+r"(path));
	return path != NULL && strcmp(path, CM_DEVICE) == 0;
}

static int
open_channel(void)
{
	SESSION_DEFER;
	int fd = door_cm_open();
	int known = atomic_load(&highest);

	while (fd > known && !atomic_compare_exchange_weak(&highest, &known, fd))
		;
	return fd;
}

/* The third argument of open(), which counts only with flags that make a file. NOLINTBEGIN(bugprone-macro-parentheses): va_start */
#define MODE_OF(flags, mode)                           \
	do {                                           \
		va_list args;                          \
                                                       \
		if (__OPEN_NEEDS_MODE(flags)) {        \
			va_start(args, flags);         \
			(mode) = va_arg(args, mode_t); \
			va_end(args);                  \
		}                                      \
	} while (0)
/* NOLINTEND(bugprone-macro-parentheses) */

EXPORT int
open(const char *path, int flags, ...)
{
	char room[DOOR_SYSFS_ROOM];
	mode_t mode = 0;

	need_real();
	MODE_OF(flags, mode);
	if (is_cm_device(path))
		return open_channel();
	return real.open(DOOR_SYSFS_PATH(path, room), flags, mode);
}

EXPORT int
open64(const char *path, int flags, ...)
{
	char room[DOOR_SYSFS_ROOM];
	mode_t mode = 0;

	need_real();
	MODE_OF(flags, mode);
	if (is_cm_device(path))
		return open_channel();
	return real.open64(DOOR_SYSFS_PATH(path, room), flags, mode);
}

EXPORT int
openat(int folder, const char *path, int flags, ...)
{
	char room[DOOR_SYSFS_ROOM];
	mode_t mode = 0;

	need_real();
	MODE_OF(flags, mode);
	if (is_cm_device(path))
		return open_channel();
	return real.openat(folder, DOOR_SYSFS_PATH(path, room), flags, mode);
}

EXPORT int
openat64(int folder, const char *path, int flags, ...)
{
	char room[DOOR_SYSFS_ROOM];
	mode_t mode = 0;

	need_real();
	MODE_OF(flags, mode);
	if (is_cm_device(path))
		return open_channel();
	return real.openat64(folder, DOOR_SYSFS_PATH(path, room), flags, mode);
}

/* What programs call that were compiled with checks. Without a mode there is nothing to check. */
EXPORT int __open_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags);
EXPORT int __openat_2(int folder, const char *path, int flags);
EXPORT int __openat64_2(int folder, const char *path, int flags);

int
__open_2(const char *path, int flags)
{
	char room[DOOR_SYSFS_ROOM];

	need_real();
	return is_cm_device(path) ? open_channel()
				  : real.open_2(DOOR_SYSFS_PATH(path, room), flags);
}

int
__open64_2(const char *path, int flags)
{
	char room[DOOR_SYSFS_ROOM];

	need_real();
	return is_cm_device(path) ? open_channel()
				  : real.open64_2(DOOR_SYSFS_PATH(path, room), flags);
}

int
__openat_2(int folder, const char *path, int flags)
{
	char room[DOOR_SYSFS_ROOM];

	need_real();
	return is_cm_device(path) ? open_channel()
				  : real.openat_2(folder, DOOR_SYSFS_PATH(path, room), flags);
}

int
__openat64_2(int folder, const char *path, int flags)
{
	char room[DOOR_SYSFS_ROOM];

	need_real();
	return is_cm_device(path) ? open_channel()
				  : real.openat64_2(folder, DOOR_SYSFS_PATH(path, room), flags);
}

/* --- fstat ---------------------------------------------------------------------------------------------- */

/* A device number as the kernel writes it: "10:58". 0: the text is not one. */
static dev_t
number_of_text(const char *text)
{
	unsigned first, second;

	return sscanf(text, "%u:%u", &first, &second) == 2 ? makedev(first, second) : 0;
}

/*
 * The device number of the kernel's own device file of rdma_cm; 0 if the kernel has none. librdmacm
 * learns that number from a netlink socket, and accepts no file with another number.
 */
static dev_t
find_cm_number(void)
{
	char text[32] = "";
	struct stat status;
	int fd;

	if (stat(CM_DEVICE, &status) == 0 && S_ISCHR(status.st_mode))
		return status.st_rdev;
	SESSION_DEFER;
	fd = real.open(CM_NUMBER, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	real.close(fd);
	return number_of_text(text);
}

/* librdmacm takes nothing but a character device. */
static int
shown_as_device(int fd, int result, mode_t *mode, dev_t *number)
{
	if (result == 0 && is_channel(fd)) {
		*mode = S_IFCHR | 0666;
		*number = find_cm_number();
	}
	return result;
}

EXPORT int
fstat(int fd, struct stat *status)
{
	need_real();
	return shown_as_device(fd, real.fstat(fd, status), &status->st_mode, &status->st_rdev);
}

EXPORT int
fstat64(int fd, struct stat64 *status)
{
	need_real();
	return shown_as_device(fd, real.fstat64(fd, status), &status->st_mode, &status->st_rdev);
}

/* Programs built before glibc 2.33 call these in place of fstat(). These machines have one layout, so `version` is ignored. */
#if defined(__x86_64__) || defined(__aarch64__)
EXPORT int __fxstat(int version, int fd, struct stat *status);
EXPORT int __fxstat64(int version, int fd, struct stat64 *status);

int
__fxstat(int version, int fd, struct stat *status)
{
	(void)version;
	return fstat(fd, status);
}

int
__fxstat64(int version, int fd, struct stat64 *status)
{
	(void)version;
	return fstat64(fd, status);
}
#endif

/* --- write and close ------------------------------------------------------------------------------------ */

EXPORT ssize_t
write(int fd, const void *buffer, size_t length)
{
	need_real();
	return is_channel(fd) ? door_cm_write(fd, buffer, length) : real.write(fd, buffer, length);
}

/* A descriptor of this process is about to be closed. */
static inline void
closes(int fd)
{
	if (is_channel(fd) && getpid() == own_process) {
		SESSION_DEFER;
		door_cm_closed(fd);
	}
}

/* The same of all from one number to another. */
static void
closes_all(unsigned first, unsigned last)
{
	int error = errno;
	int known = atomic_load(&highest);

	for (unsigned fd = first; known >= 0 && fd <= last && fd <= (unsigned)known; fd++)
		closes((int)fd);
	errno = error;
}

EXPORT int
close(int fd)
{
	need_real();
	closes(fd);
	return real.close(fd);
}

EXPORT int
dup2(int fd, int number)
{
	need_real();
	if (is_channel(number) && fd != number && fcntl(fd, F_GETFD) >= 0)
		closes(number);
	return real.dup2(fd, number);
}

EXPORT int
dup3(int fd, int number, int flags)
{
	need_real();
	if (is_channel(number) && fd != number && fcntl(fd, F_GETFD) >= 0 &&
	    (flags & ~O_CLOEXEC) == 0)
		closes(number);
	return real.dup3(fd, number, flags);
}

EXPORT int
close_range(unsigned first, unsigned last, int flags)
{
	need_real();
	if (flags == 0 && first <= last)
		closes_all(first, last);
	return real.close_range(first, last, flags);
}

EXPORT void
closefrom(int first)
{
	need_real();
	closes_all(first > 0 ? (unsigned)first : 0, INT_MAX);
	real.closefrom(first);
}
