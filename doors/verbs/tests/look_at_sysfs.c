/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A program that looks at files of sysfs by each function of the C library that takes a path.
 *
 *     look-at-sysfs FOLDER FILE FOLDER_IN_IT     all functions; the last two are names in FOLDER
 *     look-at-sysfs threads FILE                 many threads at once
 *     look-at-sysfs fork FILE                    parent and child
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define THREADS 8

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);
char *__realpath_chk(const char *path, char *text, size_t have);
int __xstat(int version, const char *path, struct stat *status);
int __lxstat(int version, const char *path, struct stat *status);
int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags);

static int failures;

static void
check(int condition, const char *what, const char *path)
{
	if (condition)
		return;
	fprintf(stderr, "%s(%s): %s\n", what, path, strerror(errno));
	failures++;
}

/* A descriptor that reads something. */
static void
check_fd(int fd, const char *what, const char *path)
{
	char octet;

	check(fd >= 0 && read(fd, &octet, 1) == 1, what, path);
	if (fd >= 0)
		close(fd);
}

static void
check_file(const char *path)
{
	struct stat status;
	struct stat64 status64;
	struct statx statx_of;
	FILE *file;

	check_fd(open(path, O_RDONLY), "open", path);
	check_fd(open64(path, O_RDONLY), "open64", path);
	check_fd(openat(AT_FDCWD, path, O_RDONLY), "openat", path);
	check_fd(openat64(AT_FDCWD, path, O_RDONLY), "openat64", path);
	check_fd(__open_2(path, O_RDONLY), "__open_2", path);
	check_fd(__open64_2(path, O_RDONLY), "__open64_2", path);
	check_fd(__openat_2(AT_FDCWD, path, O_RDONLY), "__openat_2", path);
	check_fd(__openat64_2(AT_FDCWD, path, O_RDONLY), "__openat64_2", path);
	check(stat(path, &status) == 0 && S_ISREG(status.st_mode), "stat", path);
	check(stat64(path, &status64) == 0 && S_ISREG(status64.st_mode), "stat64", path);
	check(lstat(path, &status) == 0 && S_ISREG(status.st_mode), "lstat", path);
	check(lstat64(path, &status64) == 0, "lstat64", path);
	check(fstatat(AT_FDCWD, path, &status, 0) == 0, "fstatat", path);
	check(fstatat64(AT_FDCWD, path, &status64, 0) == 0, "fstatat64", path);
	check(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &statx_of) == 0, "statx", path);
	check(__xstat(1, path, &status) == 0 && S_ISREG(status.st_mode), "__xstat", path);
	check(__lxstat(1, path, &status) == 0, "__lxstat", path);
	check(__fxstatat(1, AT_FDCWD, path, &status, 0) == 0, "__fxstatat", path);
	check(access(path, R_OK) == 0, "access", path);
	check(faccessat(AT_FDCWD, path, R_OK, 0) == 0, "faccessat", path);
	check(getxattr(path, "user.none", NULL, 0) < 0 && errno != ENOENT, "getxattr", path);
	check(lgetxattr(path, "user.none", NULL, 0) < 0 && errno != ENOENT, "lgetxattr", path);
	check(listxattr(path, NULL, 0) >= 0, "listxattr", path);
	check(llistxattr(path, NULL, 0) >= 0, "llistxattr", path);
	file = fopen(path, "r");
	check(file != NULL && fgetc(file) != EOF, "fopen", path);
	if (file != NULL)
		fclose(file);
	file = fopen64(path, "r");
	check(file != NULL && fgetc(file) != EOF, "fopen64", path);
	if (file != NULL)
		fclose(file);
}

static void
check_folder(const char *path)
{
	char text[PATH_MAX], before[PATH_MAX];
	struct dirent **entries;
	struct dirent64 **entries64;
	char *allocated;
	DIR *folder = opendir(path);

	check(folder != NULL && readdir(folder) != NULL, "opendir", path);
	if (folder != NULL)
		closedir(folder);
	check(scandir(path, &entries, NULL, alphasort) > 2, "scandir", path);
	check(scandir64(path, &entries64, NULL, alphasort64) > 2, "scandir64", path);
	check(realpath(path, text) == text && access(text, F_OK) == 0, "realpath", path);
	check(__realpath_chk(path, text, sizeof(text)) == text, "__realpath_chk", path);
	allocated = canonicalize_file_name(path);
	check(allocated != NULL, "canonicalize_file_name", path);
	free(allocated);
	check(getcwd(before, sizeof(before)) != NULL && chdir(path) == 0 &&
		      access(".", F_OK) == 0 && chdir(before) == 0,
	      "chdir", path);
}

static void
check_absent(const char *path)
{
	struct stat status;
	char text[PATH_MAX];

	check(open(path, O_RDONLY) < 0 && errno == ENOENT, "open of nothing", path);
	check(stat(path, &status) < 0 && errno == ENOENT, "stat of nothing", path);
	check(readlink(path, text, sizeof(text)) < 0 && errno == ENOENT, "readlink of nothing",
	      path);
	check(readlinkat(AT_FDCWD, path, text, sizeof(text)) < 0 && errno == ENOENT,
	      "readlinkat of nothing", path);
	check(opendir(path) == NULL && errno == ENOENT, "opendir of nothing", path);
	check(fopen(path, "r") == NULL && errno == ENOENT, "fopen of nothing", path);
}

static void *
look(void *path)
{
	check_fd(open((const char *)path, O_RDONLY), "open by a thread", (const char *)path);
	return NULL;
}

static void
look_by_threads(char *path)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, look, path);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* A child that looks at what the parent has, and at its own when the parent's could have gone. */
static void
look_by_child(char *path)
{
	int status = 1;
	pid_t child;

	look(path);
	child = fork();
	if (child == 0) {
		look(path);
		exit(failures);
	}
	check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child", path);
	look(path);
}

int
main(int argc, char **argv)
{
	char path[PATH_MAX];

	if (argc == 3 && strcmp(argv[1], "threads") == 0) {
		look_by_threads(argv[2]);
	} else if (argc == 3) {
		look_by_child(argv[2]);
	} else if (argc == 4) {
		(void)snprintf(path, sizeof(path), "%s/%s", argv[1], argv[2]);
		check_file(path);
		check_folder(argv[1]);
		(void)snprintf(path, sizeof(path), "%s/%s", argv[1], argv[3]);
		check_folder(path);
		(void)snprintf(path, sizeof(path), "%s/nothing", argv[1]);
		check_absent(path);
	} else {
		return 2;
	}
	return failures == 0 ? 0 : 1;
}
