/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Replacements for files that the kernel has for each RDMA device, below /sys/class/infiniband and
 * /sys/class/infiniband_verbs, for programs that read them: the network interface of a device, the
 * types of its GIDs, its NUMA node. A process makes them when it first looks for one, in a folder
 * that only its user can read, and removes them at its end.
 */
#ifndef DOOR_SYSFS_H
#define DOOR_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define DOOR_SYSFS_PREFIX "/sys/class/infiniband"
#define DOOR_SYSFS_ROOM   512 /* for a path in that folder */

/* What names of ours begin with, and the numbers of their files "uverbs", which are larger than those of the kernel. */
#define DOOR_DEVICE_NAME  "it_"
#define DOOR_VERBS_NAME   "uverbs"
#define DOOR_VERBS_NUMBER 10000

/* Where programs look whether they may use a device. Those of ours have no file: it is found, and is that of DOOR_NO_DEVICE. */
#define DOOR_DEVICE_FILES "/dev/infiniband/" DOOR_VERBS_NAME
#define DOOR_NO_DEVICE    "/dev/null"

/*
 * May the path be one of the tree? Every call with a path asks this, so it is a quick check. The
 * headers of the C library declare that the path is not NULL, so a compiler would drop the test for
 * NULL; the asm statement prevents that. A program that passes NULL gets the kernel's error.
 */
static inline bool
door_sysfs_may_be(const char *path)
{
	__asm__("" : "+r"(path));
	return path != NULL &&
	       (strncmp(path, DOOR_SYSFS_PREFIX, sizeof(DOOR_SYSFS_PREFIX) - 1) == 0 ||
		strncmp(path, DOOR_DEVICE_FILES, sizeof(DOOR_DEVICE_FILES) - 1) == 0);
}

/*
 * Find the file that a path of the program names. DOOR_NO_DEVICE: it does not exist. Otherwise the
 * path to open: in `room` if the file is in our tree, or if it is one of the kernel's two folders,
 * of which the tree has copies with the entries of both; else the path itself. `caller` is a return
 * address: code of this object sees the kernel's files. Threads: any.
 */
const char *door_sysfs_find(const char *path, char room[DOOR_SYSFS_ROOM], const void *caller);

/* The path to open instead of `path`. */
#define DOOR_SYSFS_PATH(path, room)                                             \
	(__builtin_expect(door_sysfs_may_be(path), 0)                           \
		 ? door_sysfs_find((path), (room), __builtin_return_address(0)) \
		 : (path))

#endif /* DOOR_SYSFS_H */
