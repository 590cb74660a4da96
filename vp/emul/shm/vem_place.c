/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_place.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ri_calls.h"
#include "ri_errno.h"
#include "ri_fd.h"

#define BACKLOG \
	4096 /* or what the kernel allows: many processes of a job may dial one of them at once */
#define LOCK_TRIES 200 /* of 5 ms */
#define LOCK_NAME  ".lock"

/* --- the folder --------------------------------------------------------------------------- */

/* A name is a part of a path, and nothing else. */
static bool
name_is_good(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len >= VEM_PLACE_NAME || name[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';

		if (!plain)
			return false;
	}
	return true;
}

/* Is it a folder that this user alone may enter? Not a link to one. */
static bool
folder_is_private(const char *path, char why[VEM_PLACE_WHY])
{
	struct stat st;

	if (lstat(path, &st) != 0)
		(void)snprintf(why, VEM_PLACE_WHY, "%s: %s", path, ri_errno_text(errno));
	else if (!S_ISDIR(st.st_mode))
		(void)snprintf(why, VEM_PLACE_WHY, "%s is not a folder", path);
	else if (st.st_uid != geteuid())
		(void)snprintf(why, VEM_PLACE_WHY,
			       "%s belongs to user %u, this process is of user %u", path,
			       (unsigned)st.st_uid, (unsigned)geteuid());
	else if ((st.st_mode & 077) != 0)
		(void)snprintf(why, VEM_PLACE_WHY,
			       "%s has mode %04o: others than its owner may enter it", path,
			       (unsigned)(st.st_mode & 07777));
	else
		return true;
	return false;
}

bool
vem_place_open(struct vem_place *place, const char *fabric, const char *runtime,
	       char why[VEM_PLACE_WHY])
{
	const char *parts[] = {"itapi", "fabric", fabric};
	size_t len;

	memset(place, 0, sizeof(*place));
	if (!name_is_good(fabric)) {
		(void)snprintf(why, VEM_PLACE_WHY,
			       "the name of a fabric has 1 to %d letters, digits, '-', '_' and '.'",
			       VEM_PLACE_NAME - 1);
		return false;
	}
	(void)snprintf(place->fabric, sizeof(place->fabric), "%s", fabric);
	place->abstract = runtime == NULL || runtime[0] == '\0' || access(runtime, F_OK) != 0;
	if (place->abstract)
		return true;
	len = strlen(runtime);
	if (len + strlen("/itapi/fabric/") + strlen(fabric) + 1 + VEM_PLACE_NAME >
	    sizeof(place->folder)) {
		(void)snprintf(why, VEM_PLACE_WHY, "the path of the runtime folder is too long");
		return false;
	}
	memcpy(place->folder, runtime, len + 1);
	if (!folder_is_private(place->folder, why))
		return false;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		len += (size_t)snprintf(place->folder + len, sizeof(place->folder) - len, "/%s",
					parts[i]);
		if (mkdir(place->folder, 0700) != 0 && errno != EEXIST) {
			(void)snprintf(why, VEM_PLACE_WHY, "%s: %s", place->folder,
				       ri_errno_text(errno));
			return false;
		}
		if (!folder_is_private(place->folder, why))
			return false;
	}
	return true;
}

/* The lock of the folder, as a descriptor; -1: another process kept it during LOCK_TRIES tries. */
static int
folder_lock(const struct vem_place *place)
{
	char path[sizeof(place->folder) + sizeof(LOCK_NAME) + 1];
	unsigned tries = LOCK_TRIES;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", place->folder, LOCK_NAME);
	fd = ri_fd_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK || tries-- == 0) {
			ri_close(fd);
			errno = EBUSY;
			return -1;
		}
		ri_nap(&(struct timespec){.tv_nsec = 5000000});
	}
	return fd;
}

/* --- names -------------------------------------------------------------------------------- */

static socklen_t
address_of(const struct vem_place *place, const char *name, struct sockaddr_un *addr)
{
	int len;

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	if (!place->abstract) {
		(void)snprintf(addr->sun_path, sizeof(addr->sun_path), "%.*s/%.*s",
			       (int)(sizeof(addr->sun_path) - VEM_PLACE_NAME - 2), place->folder,
			       VEM_PLACE_NAME, name);
		return sizeof(*addr);
	}
	len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "itapi/fabric/%u/%s/%.*s",
		       (unsigned)geteuid(), place->fabric, VEM_PLACE_NAME, name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

int
vem_place_connect(const struct vem_place *place, const char *name, const char **call)
{
	struct sockaddr_un addr;
	socklen_t len = address_of(place, name, &addr);
	int fd = ri_fd_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	int error;

	*call = fd < 0 ? "socket" : "connect";
	if (fd < 0 || ri_connect(fd, (const struct sockaddr *)&addr, len) == 0)
		return fd;
	error = errno;
	ri_close(fd);
	errno = error;
	return -1;
}

/* Has a process this name? One whose queue of connections is full has it. */
static bool
name_is_alive(const struct vem_place *place, const char *name)
{
	const char *call;
	int fd = vem_place_connect(place, name, &call);

	if (fd >= 0)
		ri_close(fd);
	return fd >= 0 || (errno != ECONNREFUSED && errno != ENOENT);
}

/* With the lock of the folder, so that a name is never seen between bind and listen. */
static int
bind_and_listen(const struct vem_place *place, const char *name, const char **call)
{
	struct sockaddr_un addr;
	socklen_t len = address_of(place, name, &addr);
	int fd = ri_fd_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	int bound, error;

	*call = fd < 0 ? "socket" : "bind";
	if (fd < 0)
		return -1;
	bound = bind(fd, (const struct sockaddr *)&addr, len);
	if (bound != 0 && errno == EADDRINUSE && !place->abstract && !name_is_alive(place, name)) {
		(void)unlink(addr.sun_path);
		bound = bind(fd, (const struct sockaddr *)&addr, len);
	} else if (bound != 0 && errno != EADDRINUSE) {
		error = errno;
		ri_close(fd);
		errno = error;
		return -1;
	} else if (bound != 0) {
		errno = EADDRINUSE;
	}
	if (bound == 0)
		*call = "listen";
	if (bound == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	error = errno;
	ri_close(fd);
	errno = error;
	return -1;
}

int
vem_place_listen(const struct vem_place *place, const char *name, const char **call)
{
	int lock = -1, fd, error;

	*call = "flock";
	if (!place->abstract && (lock = folder_lock(place)) < 0)
		return -1;
	fd = bind_and_listen(place, name, call);
	error = errno;
	if (lock >= 0)
		ri_close(lock);
	errno = error;
	return fd;
}

/* No other process replaces the name while its socket listens. */
void
vem_place_leave(const struct vem_place *place, const char *name, int fd)
{
	struct sockaddr_un addr;

	if (!place->abstract) {
		(void)address_of(place, name, &addr);
		(void)unlink(addr.sun_path);
	}
	ri_close(fd);
}

void
vem_place_sweep(const struct vem_place *place)
{
	struct sockaddr_un addr;
	struct dirent *entry;
	DIR *folder;
	int lock;

	if (place->abstract || (lock = folder_lock(place)) < 0)
		return;
	folder = ri_fd_open_folder(place->folder);
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		if (!name_is_good(entry->d_name) || name_is_alive(place, entry->d_name))
			continue;
		(void)address_of(place, entry->d_name, &addr);
		(void)unlink(addr.sun_path);
	}
	if (folder != NULL)
		(void)closedir(folder);
	ri_close(lock);
}

pid_t
vem_place_pid(int fd)
{
	struct ucred peer = {.pid = 0};
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.pid : 0;
}

bool
vem_place_is_ours(int fd, unsigned *uid, const char **call)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t len = sizeof(peer);
	uid_t own;

	*call = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 ? "getsockopt" : NULL;
	if (*call != NULL)
		peer.uid = (uid_t)-1;
	*uid = (unsigned)peer.uid;
	own = geteuid();
	/* It cannot fail, so that the C library returns the error of one that a sandbox refused. */
	if (own > (uid_t)-4096 && own != peer.uid && *call == NULL) {
		*call = "geteuid";
		errno = -(int)own;
	}
	return *call == NULL && peer.uid == own;
}
