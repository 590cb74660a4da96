/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Functions of the C library that come before it in a program with the door: those by which
 * librdmacm uses the device file of rdma_cm, and dlopen(), by which some programs look for
 * libibverbs. For everything else each of them only calls the real one.
 */
/* Programs call either form of open() and fstat(), so this file has both: it is compiled as one without large files. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "door_cm.h"
#include "door_export.h"

#define CM_DEVICE "/dev/infiniband/rdma_cm"

/* The real functions. */
static struct {
	int (*open)(const char *path, int flags, ...);
	int (*open64)(const char *path, int flags, ...);
	int (*fstat)(int fd, struct stat *status);
	int (*fstat64)(int fd, struct stat64 *status);
	ssize_t (*write)(int fd, const void *buffer, size_t length);
	int (*close)(int fd);
	void *(*dlopen)(const char *file, int mode);
} real;

/*
 * They are looked up before constructors of the program, and again at a use before that: the constructors of a library may run
 * before ours. Threads that look them up at once find the same.
 */
static atomic_bool looked_up;

__attribute__((constructor(101))) static void
look_up(void)
{
	*(void **)&real.open = dlsym(RTLD_NEXT, "open");
	*(void **)&real.open64 = dlsym(RTLD_NEXT, "open64");
	*(void **)&real.fstat = dlsym(RTLD_NEXT, "fstat");
	*(void **)&real.fstat64 = dlsym(RTLD_NEXT, "fstat64");
	*(void **)&real.write = dlsym(RTLD_NEXT, "write");
	*(void **)&real.close = dlsym(RTLD_NEXT, "close");
	*(void **)&real.dlopen = dlsym(RTLD_NEXT, "dlopen");
	atomic_store(&looked_up, true);
}

static inline void
need_real(void)
{
	if (__builtin_expect(!atomic_load_explicit(&looked_up, memory_order_acquire), 0))
		look_up();
}

/* --- the device file of rdma_cm ------------------------------------------------------------------------- */

static bool
is_cm_device(const char *path)
{
	return path != NULL && strcmp(path, CM_DEVICE) == 0;
}

EXPORT int
open(const char *path, int flags, ...)
{
	mode_t mode = 0; /* counts only with flags that make a file */
	va_list args;

	need_real();
	if (__OPEN_NEEDS_MODE(flags)) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return is_cm_device(path) ? door_cm_open() : real.open(path, flags, mode);
}

EXPORT int
open64(const char *path, int flags, ...)
{
	mode_t mode = 0; /* counts only with flags that make a file */
	va_list args;

	need_real();
	if (__OPEN_NEEDS_MODE(flags)) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return is_cm_device(path) ? door_cm_open() : real.open64(path, flags, mode);
}

/* librdmacm takes nothing but a character device. */
static int
shown_as_device(int fd, int result, mode_t *mode)
{
	if (result == 0 && door_cm_is(fd))
		*mode = S_IFCHR | 0666;
	return result;
}

EXPORT int
fstat(int fd, struct stat *status)
{
	need_real();
	return shown_as_device(fd, real.fstat(fd, status), &status->st_mode);
}

EXPORT int
fstat64(int fd, struct stat64 *status)
{
	need_real();
	return shown_as_device(fd, real.fstat64(fd, status), &status->st_mode);
}

EXPORT ssize_t
write(int fd, const void *buffer, size_t length)
{
	need_real();
	return __builtin_expect(door_cm_is(fd), 0) ? door_cm_write(fd, buffer, length)
						   : real.write(fd, buffer, length);
}

EXPORT int
close(int fd)
{
	need_real();
	if (__builtin_expect(door_cm_is(fd), 0))
		door_cm_closed(fd);
	return real.close(fd);
}

/* --- programs that look for libibverbs by themselves ---------------------------------------------------------- */

static bool
is_libibverbs(const char *file)
{
	return file != NULL &&
	       (strcmp(file, "libibverbs.so.1") == 0 || strcmp(file, "libibverbs.so") == 0);
}

/*
 * Whoever asks for libibverbs gets this object, whose functions have the same versions. For every other name this ends in a jump:
 * in a call, the dynamic linker would look the file up for this object instead of for the caller.
 */
__attribute__((optimize("optimize-sibling-calls"))) EXPORT void *
dlopen(const char *file, int mode)
{
	Dl_info own;

	need_real();
	if (__builtin_expect(is_libibverbs(file), 0) && dladdr(&looked_up, &own) != 0)
		file = own.dli_fname;
	return real.dlopen(file, mode);
}
