/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The list of devices [RI 12.4]. Control path.
 *
 * Two modules of the kernel matter: ib_core owns the devices (VIB_FOLDER), and ib_uverbs offers
 * them to programs. libibverbs checks the version of the interface of ib_uverbs. When it cannot use
 * the devices it returns ENOSYS, whatever the reason is; so this file finds the reason.
 */
#include "vib_list.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ri_errno.h"
#include "ri_fd.h"
#include "vib_version.h"

#define DESCRIPTORS 8 /* that libibverbs uses at a time to find devices, or less */
#ifndef VIB_FOLDER    /* a test has one that is always there */
#define VIB_FOLDER "/sys/class/infiniband"
#endif
#ifndef VIB_VERBS /* a test has its own */
#define VIB_VERBS "/sys/class/infiniband_verbs"
#endif
#ifndef VIB_FILES
#define VIB_FILES "/dev/infiniband/"
#endif
#define VERSION "abi_version"

/* --- what the kernel says ------------------------------------------------------------------------ */

/* Can the folder of devices be opened so often at the same time? If not, errno. */
static int
descriptors_check(void)
{
	int fds[DESCRIPTORS], count = 0, error = 0;

	while (count < DESCRIPTORS && error == 0) {
		fds[count] = ri_fd_open(VIB_FOLDER, O_RDONLY | O_DIRECTORY, 0);
		if (fds[count] >= 0)
			count++;
		else
			error = errno;
	}
	while (count > 0)
		close(fds[--count]);
	return error;
}

/* The next entry of a folder that is no hidden one; NULL: there is no more, or no folder. */
static const char *
entry_next(DIR *folder)
{
	const struct dirent *entry;

	if (folder == NULL)
		return NULL;
	do
		/* cppcheck-suppress readdirCalled; no other thread reads this stream */
		entry = readdir(folder);
	while (entry != NULL && entry->d_name[0] == '.');
	return entry != NULL ? entry->d_name : NULL;
}

/* --- reasons -------------------------------------------------------------------------------------- */

/* The kernel gives no devices to programs, or they cannot be looked at. */
static void
say_no_verbs(const struct ri_host *host, int error)
{
	DIR *folder = error == ENOENT ? ri_fd_open_folder(VIB_FOLDER) : NULL;

	if (error != ENOENT)
		vib_log_host(host, RI_LOG_WARNING,
			     VIB_VERBS "/" VERSION
				       " cannot be read: %s: without it libibverbs uses no "
				       "RDMA device of the kernel",
			     ri_errno_text(error));
	else if (entry_next(folder) != NULL)
		vib_log_host(host, RI_LOG_WARNING,
			     "the kernel has RDMA devices (" VIB_FOLDER
			     ") but none for programs: the "
			     "module ib_uverbs is not loaded (there is no " VIB_VERBS ")");
	else
		vib_log_host(host, RI_LOG_INFO, "the kernel has no RDMA device (" VIB_FOLDER ")");
	if (folder != NULL)
		closedir(folder);
}

/* libibverbs has refused the kernel's interface; log its version. */
static void
say_refused(const struct ri_host *host, const char *line)
{
	long version = vib_version_of(line);

	if (version < 0)
		vib_log_host(host, RI_LOG_WARNING,
			     "libibverbs cannot use the RDMA devices of the kernel: " VIB_VERBS
			     "/" VERSION " has no number: \"%s\"",
			     line);
	else if (version > IB_USER_VERBS_ABI_VERSION)
		vib_log_host(
			host, RI_LOG_WARNING,
			"libibverbs cannot use the RDMA devices of the kernel: the library is too "
			"old "
			"for version %ld of the kernel's interface (" VIB_VERBS "/" VERSION ")",
			version);
	else
		vib_log_host(
			host, RI_LOG_WARNING,
			"libibverbs cannot use the RDMA devices of the kernel: it does not know "
			"version %ld of the kernel's interface (" VIB_VERBS "/" VERSION
			"): the kernel is too old for the library, or the library for the kernel",
			version);
}

static bool
is_listed(struct ibv_device *const *list, const char *file)
{
	for (; list != NULL && *list != NULL; list++) {
		if (strcmp((*list)->dev_name, file) == 0)
			return true;
	}
	return false;
}

/* A device that the kernel gives to programs, and libibverbs does not list. */
static void
say_unlisted(const struct ri_host *host, enum ri_log_level level, const char *file)
{
	char path[sizeof(VIB_VERBS) + NAME_MAX + sizeof("/" VERSION)];
	char name[VIB_LINE_ROOM], version[VIB_LINE_ROOM];

	(void)snprintf(path, sizeof(path), VIB_VERBS "/%s/ibdev", file);
	(void)vib_line_read(path, name);
	(void)snprintf(path, sizeof(path), VIB_VERBS "/%s/" VERSION, file);
	(void)vib_line_read(path, version);
	(void)snprintf(path, sizeof(path), VIB_FILES "%s", file);
	if (access(path, F_OK) != 0)
		vib_log_host(host, level,
			     "libibverbs does not list the device %s of the kernel: %s: %s: this "
			     "container or udev lacks its file",
			     name, path, ri_errno_text(errno));
	else
		vib_log_host(
			host, level,
			"libibverbs does not list the device %s of the kernel: no library for its "
			"driver is installed (ibverbs-providers), or none that knows version %s "
			"of the "
			"driver's interface (" VIB_VERBS "/%s/" VERSION ")",
			name, version, file);
}

/* The library has listed what it can use. If it lists nothing at all somebody misses it. */
static void
say_listed(const struct ri_host *host, struct ibv_device *const *list, int count)
{
	enum ri_log_level level = count == 0 ? RI_LOG_WARNING : RI_LOG_INFO;
	DIR *folder = ri_fd_open_folder(VIB_VERBS);
	bool none = count == 0;

	for (const char *file = entry_next(folder); file != NULL; file = entry_next(folder)) {
		if (strncmp(file, "uverbs", strlen("uverbs")) != 0 || is_listed(list, file))
			continue;
		say_unlisted(host, level, file);
		none = false;
	}
	if (folder != NULL)
		closedir(folder);
	if (none)
		vib_log_host(host, RI_LOG_INFO, "the kernel has no RDMA device (" VIB_FOLDER ")");
}

/* --- the list --------------------------------------------------------------------------------------- */

/*
 * Does the program run behind the door (doors/verbs)? Then the functions of libibverbs are the
 * door's and would list our own adapters as devices, from which this provider must not make
 * adapters again.
 */
static bool
is_behind_door(void)
{
	return dlsym(RTLD_DEFAULT, "itapi_verbs_list") != NULL;
}

/*
 * List devices only when libibverbs can answer. It looks for its drivers only once, so a process
 * that has no free descriptors at that time would never see a device. And some versions do not look
 * again after the kernel had no interface for programs.
 */
enum ri_status
vib_devices_list(const struct ri_host *host, struct ibv_device ***list, int *count)
{
	int error = descriptors_check();
	struct ri_fd_filler filler;
	char line[VIB_LINE_ROOM];

	*list = NULL;
	*count = 0;
	if (is_behind_door())
		return RI_SUCCESS;
	if (ri_errno_is_short(error))
		return RI_ERR_RESOURCES;
	error = vib_line_read(VIB_VERBS "/" VERSION, line);
	if (ri_errno_is_short(error))
		return RI_ERR_RESOURCES;
	if (error != 0) {
		say_no_verbs(host, error);
		return RI_SUCCESS;
	}
	ri_fd_fill(&filler);
	errno = 0;
	*list = ibv_get_device_list(count);
	ri_fd_free(&filler);
	if (*list != NULL) {
		say_listed(host, *list, *count);
		return RI_SUCCESS;
	}
	*count = 0;
	if (errno != ENOSYS && errno != ENODEV && errno != ENOENT)
		return RI_ERR_RESOURCES;
	if (errno == ENOSYS)
		say_refused(host, line);
	else
		say_listed(host, NULL, 0);
	return RI_SUCCESS;
}
