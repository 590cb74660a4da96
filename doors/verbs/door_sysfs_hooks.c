/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Replacements of the C library's functions that take the path of a file, for door_sysfs.h. Those
 * that open a file and return a descriptor are in door_hooks.c. Each of them checks the beginning
 * of the path, and then calls the real function.
 */

/* Programs call the forms with and without large files: so this file is compiled as one without. */
#undef _FILE_OFFSET_BITS
/* Programs that were compiled with checks call other functions; here the plain ones are defined. */
#undef _FORTIFY_SOURCE

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "door_export.h"
#include "door_sysfs.h"

/*
 * Finds a function of the C library at its first use. Threads that do so at the same time find the
 * same address, so the pointer only has to be loaded and stored atomically.
 */
static void *
find_real(void **known, const char *name)
{
	void *real = __atomic_load_n(known, __ATOMIC_RELAXED);

	if (__builtin_expect(real == NULL, 0)) {
		real = dlsym(RTLD_NEXT, name);
		__atomic_store_n(known, real, __ATOMIC_RELAXED);
	}
	return real;
}

/* A function whose parameter `path` is replaced. NOLINTBEGIN(bugprone-macro-parentheses): a name and lists in parentheses */
#define HOOK(type, name, parameters, arguments)             \
	EXPORT type name parameters                         \
	{                                                   \
		static void *known;                         \
		char room[DOOR_SYSFS_ROOM];                 \
		__typeof__(&name) real;                     \
                                                            \
		*(void **)&real = find_real(&known, #name); \
		path = DOOR_SYSFS_PATH(path, room);         \
		return real arguments;                      \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

/* Functions without a declaration in the headers: of programs that were compiled with checks, or before glibc 2.33. */
#define HOOK_OF_OLD(type, name, parameters, arguments) \
	EXPORT type name parameters;                   \
	HOOK(type, name, parameters, arguments)

/* --- what kind of file ----------------------------------------------------------------------------------- */

HOOK(int, stat, (const char *path, struct stat *status), (path, status))
HOOK(int, stat64, (const char *path, struct stat64 *status), (path, status))
HOOK(int, lstat, (const char *path, struct stat *status), (path, status))
HOOK(int, lstat64, (const char *path, struct stat64 *status), (path, status))
HOOK(int, fstatat, (int folder, const char *path, struct stat *status, int flags),
     (folder, path, status, flags))
HOOK(int, fstatat64, (int folder, const char *path, struct stat64 *status, int flags),
     (folder, path, status, flags))
HOOK(int, statx, (int folder, const char *path, int flags, unsigned mask, struct statx *status),
     (folder, path, flags, mask, status))
HOOK(int, access, (const char *path, int mode), (path, mode))
HOOK(int, faccessat, (int folder, const char *path, int mode, int flags),
     (folder, path, mode, flags))

/* ls asks for these of each file that it describes. */
HOOK(ssize_t, getxattr, (const char *path, const char *name, void *value, size_t size),
     (path, name, value, size))
HOOK(ssize_t, lgetxattr, (const char *path, const char *name, void *value, size_t size),
     (path, name, value, size))
HOOK(ssize_t, listxattr, (const char *path, char *list, size_t size), (path, list, size))
HOOK(ssize_t, llistxattr, (const char *path, char *list, size_t size), (path, list, size))

HOOK_OF_OLD(int, __xstat, (int version, const char *path, struct stat *status),
	    (version, path, status))
HOOK_OF_OLD(int, __xstat64, (int version, const char *path, struct stat64 *status),
	    (version, path, status))
HOOK_OF_OLD(int, __lxstat, (int version, const char *path, struct stat *status),
	    (version, path, status))
HOOK_OF_OLD(int, __lxstat64, (int version, const char *path, struct stat64 *status),
	    (version, path, status))
HOOK_OF_OLD(int, __fxstatat,
	    (int version, int folder, const char *path, struct stat *status, int flags),
	    (version, folder, path, status, flags))
HOOK_OF_OLD(int, __fxstatat64,
	    (int version, int folder, const char *path, struct stat64 *status, int flags),
	    (version, folder, path, status, flags))

/* --- folders and links -------------------------------------------------------------------------------------- */

HOOK(DIR *, opendir, (const char *path), (path))
HOOK(int, scandir,
     (const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
      int (*compare)(const struct dirent **, const struct dirent **)),
     (path, list, filter, compare))
HOOK(int, scandir64,
     (const char *path, struct dirent64 ***list, int (*filter)(const struct dirent64 *),
      int (*compare)(const struct dirent64 **, const struct dirent64 **)),
     (path, list, filter, compare))
HOOK(int, chdir, (const char *path), (path))
HOOK(ssize_t, readlink, (const char *path, char *text, size_t size), (path, text, size))
HOOK(ssize_t, readlinkat, (int folder, const char *path, char *text, size_t size),
     (folder, path, text, size))
HOOK(char *, realpath, (const char *path, char *text), (path, text))
HOOK(char *, canonicalize_file_name, (const char *path), (path))

HOOK_OF_OLD(ssize_t, __readlink_chk, (const char *path, char *text, size_t size, size_t have),
	    (path, text, size, have))
HOOK_OF_OLD(ssize_t, __readlinkat_chk,
	    (int folder, const char *path, char *text, size_t size, size_t have),
	    (folder, path, text, size, have))
HOOK_OF_OLD(char *, __realpath_chk, (const char *path, char *text, size_t have), (path, text, have))

/* --- streams ------------------------------------------------------------------------------------------------ */

HOOK(FILE *, fopen, (const char *path, const char *mode), (path, mode))
HOOK(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
