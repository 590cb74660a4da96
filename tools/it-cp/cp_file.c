/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cp_file.h"
#include "tool_error.h"

#define NAME_TRIES  16
#define PERMISSIONS 0777

static bool
fail_errno(GError **error, const char *path, int number)
{
	return tool_fail(error, TOOL_ERROR_FAILED, "%s: %s", path, g_strerror(number));
}

int
cp_folder_open(const char *path, GError **error)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		fail_errno(error, path, errno);
	return fd;
}

static bool
fail_outside(const char *path, GError **error)
{
	return tool_fail(error, TOOL_ERROR_FAILED, "%s: leads outside of the served folder", path);
}

/* Opens the folder that one component names; closes the one before. -1 on failure. */
static int
step_into(int folder, const char *component, const char *path, GError **error)
{
	int next = openat(folder, component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int number = errno;

	close(folder);
	if (next >= 0)
		return next;
	/* ENOTDIR can mean a symbolic link, since O_DIRECTORY is checked first. */
	if (number == ELOOP || number == ENOTDIR)
		tool_fail(error, TOOL_ERROR_FAILED, "%s: '%s' is a link or no folder", path,
			  component);
	else
		fail_errno(error, path, number);
	return -1;
}

/* The folder that holds the last component of a path in a served folder. -1 on failure. */
static int
folder_of(int root, const char *path, char **name, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);
	guint count = g_strv_length(parts);
	int folder;

	if (*path == '\0' || *path == '/') {
		fail_outside(*path == '\0' ? "an empty path" : path, error);
		return -1;
	}
	for (guint i = 0; i < count; i++) {
		if (g_str_equal(parts[i], "..") || g_str_equal(parts[i], ".") ||
		    *parts[i] == '\0') {
			fail_outside(path, error);
			return -1;
		}
	}
	folder = fcntl(root, F_DUPFD_CLOEXEC, 0);
	if (folder < 0)
		fail_errno(error, path, errno);
	for (guint i = 0; i + 1 < count && folder >= 0; i++)
		folder = step_into(folder, parts[i], path, error);
	if (folder >= 0)
		*name = g_strdup(parts[count - 1]);
	return folder;
}

/* As folder_of, for a path of the user, who may go wherever the system permits. */
static int
user_folder_of(const char *path, char **name, GError **error)
{
	g_autofree char *folder = g_path_get_dirname(path);

	*name = g_path_get_basename(path);
	if (g_str_has_suffix(path, "/") || g_str_equal(*name, "..") || g_str_equal(*name, ".")) {
		tool_fail(error, TOOL_ERROR_FAILED, "%s: names a folder, not a file", path);
		return -1;
	}
	return cp_folder_open(folder, error);
}

static int
parent_of(int root, const char *path, char **name, GError **error)
{
	return root >= 0 ? folder_of(root, path, name, error) : user_folder_of(path, name, error);
}

/* Octets that can be read behind the size: 0, 1, or -1 with errno. */
static ssize_t
read_behind(int fd, uint64_t size)
{
	ssize_t more;
	char octet;

	do
		more = pread(fd, &octet, 1, (off_t)size);
	while (more < 0 && errno == EINTR);
	return more;
}

static bool
fail_irregular(const char *path, GError **error)
{
	return tool_fail(error, TOOL_ERROR_FAILED, "%s: is not a regular file", path);
}

/* Size and time of the file are those of the beginning. */
static bool
says_the_same(const struct cp_source *source, GError **error)
{
	struct stat info;

	if (fstat(source->fd, &info) != 0)
		return tool_fail(error, TOOL_ERROR_FAILED, "cannot look at the file: %s",
				 g_strerror(errno));
	if ((uint64_t)info.st_size != source->size)
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "the file changed from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
				 " octets while it was copied",
				 source->size, (uint64_t)info.st_size);
	return (info.st_mtim.tv_sec == source->changed.tv_sec &&
		info.st_mtim.tv_nsec == source->changed.tv_nsec) ||
	       tool_fail(error, TOOL_ERROR_FAILED, "the file was written to while it was copied");
}

static bool
look_at(struct cp_source *source, const char *path, GError **error)
{
	struct stat info;
	ssize_t more;

	if (fstat(source->fd, &info) != 0)
		return fail_errno(error, path, errno);
	if (!S_ISREG(info.st_mode))
		return fail_irregular(path, error);
	source->size = (uint64_t)info.st_size;
	source->mode = info.st_mode & PERMISSIONS;
	source->changed = info.st_mtim;
	more = read_behind(source->fd, source->size);
	if (more < 0)
		return fail_errno(error, path, errno);
	if (more > 0 && !says_the_same(source, error))
		return FALSE;
	return more == 0 ||
	       tool_fail(error, TOOL_ERROR_FAILED,
			 "%s: has more than the %" G_GUINT64_FORMAT
			 " octets of its size; such files, which the kernel makes while "
			 "they are read, must be copied to another file first",
			 path, source->size);
}

bool
cp_source_unchanged(const struct cp_source *source, GError **error)
{
	return says_the_same(source, error) &&
	       (read_behind(source->fd, source->size) == 0 ||
		tool_fail(error, TOOL_ERROR_FAILED, "the file has more octets than its size says"));
}

/* False with an errno of 0: there is a file, but not a regular one. */
static bool
is_regular(int folder, const char *name, int flags)
{
	struct stat info;

	if (fstatat(folder, name, &info, flags) != 0)
		return false;
	errno = 0;
	return S_ISREG(info.st_mode) ||
	       S_ISLNK(info.st_mode); /* a link is refused when it is opened */
}

bool
cp_source_open(struct cp_source *source, int folder, const char *path, GError **error)
{
	/* If a pipe or terminal comes into the place of the file meanwhile, opening it must not block or take it. */
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	g_autofree char *name = NULL;
	int number;
	int parent;

	source->fd = -1;
	if (folder < 0) {
		if (is_regular(AT_FDCWD, path, 0))
			source->fd = open(path, flags);
	} else {
		parent = folder_of(folder, path, &name, error);
		if (parent < 0)
			return false;
		if (is_regular(parent, name, AT_SYMLINK_NOFOLLOW))
			source->fd = openat(parent, name, flags | O_NOFOLLOW);
		number = errno;
		close(parent);
		errno = number;
	}
	if (source->fd < 0 && errno == 0)
		return fail_irregular(path, error);
	if (source->fd < 0 && errno == ELOOP)
		return tool_fail(error, TOOL_ERROR_FAILED, "%s: is a link", path);
	if (source->fd < 0)
		return fail_errno(error, path, errno);
	if (look_at(source, path, error))
		return true;
	cp_source_close(source);
	return false;
}

void
cp_source_close(struct cp_source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

/* An existing name must be that of a regular file, since it will be replaced. */
static bool
may_replace(struct cp_target *target, const char *path, GError **error)
{
	struct stat info;

	if (fstatat(target->folder, target->name, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT || fail_errno(error, path, errno);
	if (S_ISREG(info.st_mode))
		return true;
	return tool_fail(error, TOOL_ERROR_FAILED, "%s: exists and is not a regular file", path);
}

static bool
make_part(struct cp_target *target, const char *path, GError **error)
{
	for (int i = 0; i < NAME_TRIES && target->fd < 0; i++) {
		g_free(target->part);
		target->part = g_strdup_printf(".it-cp-%08x.part", g_random_int());
		target->fd = openat(target->folder, target->part,
				    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (target->fd < 0 && errno != EEXIST)
			break;
	}
	if (target->fd >= 0)
		return true;
	g_clear_pointer(&target->part, g_free); /* not made by this process */
	return fail_errno(error, path, errno);
}

void
cp_target_set_mode(struct cp_target *target, mode_t mode)
{
	target->mode = mode & PERMISSIONS;
}

bool
cp_target_open(struct cp_target *target, int folder, const char *path, mode_t mode, GError **error)
{
	memset(target, 0, sizeof(*target));
	target->fd = -1;
	cp_target_set_mode(target, mode);
	target->folder = parent_of(folder, path, &target->name, error);
	if (target->folder >= 0 && may_replace(target, path, error) &&
	    make_part(target, path, error))
		return true;
	cp_target_close(target);
	return false;
}

static mode_t mask;

/*
 * umask(2) can read the mask only by changing it, so it is read once, at the first commit; files that
 * other threads create during the change get fewer rights.
 */
static void
read_mask(void)
{
	mask = umask(077);
	umask(mask);
}

bool
cp_target_commit(struct cp_target *target, GError **error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int fd = target->fd;

	pthread_once(&once, read_mask);
	if (fchmod(fd, target->mode & ~mask) != 0)
		return fail_errno(error, target->name, errno);
	target->fd = -1;
	if (close(fd) != 0)
		return fail_errno(error, target->name, errno);
	if (renameat(target->folder, target->part, target->folder, target->name) != 0)
		return fail_errno(error, target->name, errno);
	g_clear_pointer(&target->part, g_free);
	return true;
}

void
cp_target_close(struct cp_target *target)
{
	if (target->fd >= 0)
		close(target->fd);
	if (target->part != NULL)
		unlinkat(target->folder, target->part, 0);
	if (target->folder >= 0)
		close(target->folder);
	g_free(target->part);
	g_free(target->name);
	memset(target, 0, sizeof(*target));
	target->fd = -1;
	target->folder = -1;
}
