/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Files that the kernel has of each RDMA device, below /sys/class/infiniband and
 * /sys/class/infiniband_verbs, for programs that look there: the network interface of a device, the
 * types of its GIDs, its NUMA node. The process that first looks makes them, in a folder of its own
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
 * May the path be one of ours? For every path of a program: so it is short. The headers of the C library promise that a path is not
 * NULL, so that compilers drop the question; but a program may pass NULL, and gets the kernel's answer.
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
 * Where a file is that a program names: DOOR_NO_DEVICE, or in `room` if it is a file of ours or one of the kernel's two folders (the door
 * has copies of these, with the kernel's entries and its own); else the path itself. `caller` is a return address: code of the door itself sees the
 * kernel's files. Threads: any.
 */
const char *door_sysfs_find(const char *path, char room[DOOR_SYSFS_ROOM], const void *caller);

/* The path to open instead of `path`. */
#define DOOR_SYSFS_PATH(path, room)                                             \
	(__builtin_expect(door_sysfs_may_be(path), 0)                           \
		 ? door_sysfs_find((path), (room), __builtin_return_address(0)) \
		 : (path))

#endif /* DOOR_SYSFS_H */
