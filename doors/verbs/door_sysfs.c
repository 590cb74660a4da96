/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Makes a folder with files like those of sysfs. The tree is made once, when a program first opens
 * one of its files. The values come from the functions by which a program queries a device.
 *
 * A process keeps a lock on the folder of its tree. If it is killed, or ends by _exit(), the folder
 * stays but the lock is released. The next process that makes a tree removes such folders.
 */
#include "door_sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <net/if.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib.h>

#include "door_context.h"
#include "door_export.h"
#include "ri_fd.h"
#include "session_cancel.h"

#define FOLDER_NAME "itapi-sysfs-"
#define TRIES       4 /* at a folder that another process takes for an old one */

/* What programs ask for, and the folder of the tree that has it. */
#define CLASS_DEVICES "infiniband"
#define CLASS_VERBS   "infiniband_verbs"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char tree[DOOR_SYSFS_ROOM / 2]; /* the folder; "": not made yet */
static pid_t maker;                    /* whose it is */
static int tree_fd = -1;               /* with the lock of the folder */
static __thread bool making;           /* by this thread: what it opens is the kernel's */

/* --- files ------------------------------------------------------------------------------------------- */

/* Make the folders that lead to a file of the tree. */
static void
make_folders(const char *name)
{
	char part[DOOR_SYSFS_ROOM];

	for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - name), name);
		(void)mkdirat(tree_fd, part, 0700);
	}
}

/* A new file of the tree. */
static int
make_file(const char *name)
{
	return ri_fd_lift(openat(tree_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
}

/* A file of the tree with one line, which a program may read as it reads a file of the kernel. */
__attribute__((format(printf, 2, 3))) static void
put(const char *name, const char *format, ...)
{
	char text[256];
	va_list args;
	int fd, length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fd = make_file(name);
	if (fd < 0 && errno == ENOENT) {
		make_folders(name);
		fd = make_file(name);
	}
	if (fd < 0)
		return;
	(void)!write(fd, text, (size_t)length);
	close(fd);
}

/* The path of a file of a device, or of its first port. */
static const char *
name_of(char name[DOOR_SYSFS_ROOM], const struct ibv_device *device, const char *rest)
{
	(void)snprintf(name, DOOR_SYSFS_ROOM, CLASS_DEVICES "/%s/%s", device->name, rest);
	return name;
}

static void
put_link(const char *target, const char *name)
{
	make_folders(name);
	(void)symlinkat(target, tree_fd, name);
}

/* --- a device ------------------------------------------------------------------------------------------- */

/* As the kernel prints a GUID: four groups of four digits. */
static void
put_guid(const struct ibv_device *device, const char *file, __be64 guid)
{
	char name[DOOR_SYSFS_ROOM];
	uint64_t value = be64toh(guid);

	put(name_of(name, device, file), "%04x:%04x:%04x:%04x\n", (unsigned)(value >> 48),
	    (unsigned)(value >> 32) & 0xffff, (unsigned)(value >> 16) & 0xffff,
	    (unsigned)value & 0xffff);
}

static void
put_gid(const struct ibv_device *device, const struct ibv_gid_entry *entry)
{
	char rest[64], name[DOOR_SYSFS_ROOM], interface[IF_NAMESIZE];
	const uint8_t *raw = entry->gid.raw;

	(void)snprintf(rest, sizeof(rest), "ports/%u/gids/%u", entry->port_num, entry->gid_index);
	put(name_of(name, device, rest),
	    "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", raw[0],
	    raw[1], raw[2], raw[3], raw[4], raw[5], raw[6], raw[7], raw[8], raw[9], raw[10],
	    raw[11], raw[12], raw[13], raw[14], raw[15]);
	(void)snprintf(rest, sizeof(rest), "ports/%u/gid_attrs/types/%u", entry->port_num,
		       entry->gid_index);
	put(name_of(name, device, rest), "%s\n",
	    entry->gid_type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2" : "IB/RoCE v1");
	if (entry->ndev_ifindex == 0 || if_indextoname(entry->ndev_ifindex, interface) == NULL)
		return;
	(void)snprintf(rest, sizeof(rest), "ports/%u/gid_attrs/ndevs/%u", entry->port_num,
		       entry->gid_index);
	put(name_of(name, device, rest), "%s\n", interface);
}

static const char *
state_text(enum ibv_port_state state)
{
	return state == IBV_PORT_ACTIVE ? "4: ACTIVE" : "1: DOWN";
}

static void
put_port(struct ibv_context *context, uint8_t port)
{
	const struct ibv_device *device = context->device;
	struct ibv_port_attr attr;
	char rest[64], name[DOOR_SYSFS_ROOM];

	if (door_query_port(context, port, &attr, sizeof(attr)) != 0)
		return;
#define FILE_OF_PORT(file) \
	(snprintf(rest, sizeof(rest), "ports/%u/" file, port), name_of(name, device, rest))
	put(FILE_OF_PORT("state"), "%s\n", state_text(attr.state));
	put(FILE_OF_PORT("phys_state"), "%s\n",
	    attr.state == IBV_PORT_ACTIVE ? "5: LinkUp" : "3: Disabled");
	put(FILE_OF_PORT("link_layer"), "%s\n",
	    attr.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
	put(FILE_OF_PORT("lid"), "0x%x\n", attr.lid);
	put(FILE_OF_PORT("sm_lid"), "0x%x\n", attr.sm_lid);
	put(FILE_OF_PORT("cap_mask"), "0x%08x\n", attr.port_cap_flags);
	put(FILE_OF_PORT("pkeys/0"), "0xffff\n");
#undef FILE_OF_PORT
}

/* The interface of a device, where the kernel has those of the card: a link to what the kernel says of it. */
static void
put_interface(struct ibv_context *context, uint8_t port)
{
	char rest[64], name[DOOR_SYSFS_ROOM], target[64];
	struct ri_port_attr attr;

	door_adapter_port(door_adapter_of(context), port - 1u, &attr);
	if (attr.if_name[0] == '\0')
		return;
	(void)snprintf(rest, sizeof(rest), "device/net/%s", attr.if_name);
	(void)snprintf(target, sizeof(target), "/sys/class/net/%s", attr.if_name);
	put_link(target, name_of(name, context->device, rest));
}

static void
put_device(struct ibv_device *device)
{
	struct ibv_context *context = ibv_open_device(device);
	struct ibv_device_attr attr;
	struct ibv_gid_entry entry;
	char name[DOOR_SYSFS_ROOM];

	if (context == NULL)
		return;
	(void)ibv_query_device(context, &attr);
	put(name_of(name, device, "node_type"), "%d: %s\n", device->node_type,
	    device->node_type == IBV_NODE_RNIC ? "RNIC" : "CA");
	put_guid(device, "node_guid", attr.node_guid);
	put_guid(device, "sys_image_guid", attr.sys_image_guid);
	put(name_of(name, device, "node_desc"), "%s\n", door_device_of(device)->adapter);
	put(name_of(name, device, "fw_ver"), "%s\n", attr.fw_ver);
	put(name_of(name, device, "board_id"), "itapi\n");
	put(name_of(name, device, "device/numa_node"), "-1\n");
	for (uint8_t port = 1; port <= attr.phys_port_cnt; port++) {
		put_port(context, port);
		put_interface(context, port);
		for (uint32_t i = 0;
		     _ibv_query_gid_ex(context, port, i, &entry, 0, sizeof(entry)) != EINVAL; i++)
			if (entry.port_num == port)
				put_gid(device, &entry);
	}
	(void)ibv_close_device(context);
}

static void
put_verbs(const struct ibv_device *device)
{
	char name[DOOR_SYSFS_ROOM], target[DOOR_SYSFS_ROOM];

	(void)snprintf(name, sizeof(name), CLASS_VERBS "/%s/ibdev", device->dev_name);
	put(name, "%s\n", device->name);
	(void)snprintf(name, sizeof(name), CLASS_VERBS "/%s/device", device->dev_name);
	(void)snprintf(target, sizeof(target), "../../" CLASS_DEVICES "/%s/device", device->name);
	put_link(target, name);
}

/* --- the tree ------------------------------------------------------------------------------------------- */

/* The kernel's own devices, which stay where they are. */
static void
link_those_of_the_kernel(const char *class)
{
	char folder[64], name[DOOR_SYSFS_ROOM], target[DOOR_SYSFS_ROOM];
	const struct dirent *entry;
	DIR *list;

	(void)mkdirat(tree_fd, class, 0700);
	(void)snprintf(folder, sizeof(folder), "/sys/class/%s", class);
	list = ri_fd_open_folder(folder);
	while (list != NULL && (entry = readdir(list)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", class, entry->d_name);
		(void)snprintf(target, sizeof(target), "%s/%s", folder, entry->d_name);
		(void)symlinkat(target, tree_fd, name);
	}
	if (list != NULL)
		closedir(list);
}

/* Remove a folder and what is in it. `name` is a folder of `parent`. */
static void
remove_folder(int parent, const char *name)
{
	int fd = ri_fd_lift(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	while (list != NULL && (entry = readdir(list)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, entry->d_name, 0) != 0)
			remove_folder(fd, entry->d_name);
	}
	if (list != NULL)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* Take the folder's lock; -1: the folder belongs to another user, or a process has the lock. */
static int
lock_folder(int parent, const char *name)
{
	int fd = ri_fd_lift(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	struct stat status, again;

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
	    (status.st_mode & 0777) == 0700 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    fstatat(parent, name, &again, AT_SYMLINK_NOFOLLOW) == 0 &&
	    again.st_ino == status.st_ino && again.st_dev == status.st_dev)
		return fd;
	close(fd);
	return -1;
}

/* Folders of processes that were killed. */
static void
remove_old(const char *base)
{
	DIR *list = ri_fd_open_folder(base);
	const struct dirent *entry;

	while (list != NULL && (entry = readdir(list)) != NULL) {
		int fd = -1;

		if (strncmp(entry->d_name, FOLDER_NAME, strlen(FOLDER_NAME)) == 0)
			fd = lock_folder(dirfd(list), entry->d_name);
		if (fd < 0)
			continue;
		remove_folder(dirfd(list), entry->d_name);
		close(fd);
	}
	if (list != NULL)
		closedir(list);
}

/* A new folder, whose lock is ours; false: there is no place for it. */
static bool
make_tree_folder(const char *base)
{
	for (int i = 0; i < TRIES; i++) {
		if (snprintf(tree, sizeof(tree), "%s/" FOLDER_NAME "XXXXXX", base) >=
			    (int)sizeof(tree) ||
		    mkdtemp(tree) == NULL)
			break;
		/* Another process may take a folder without a lock for an old one, and remove it. */
		tree_fd = lock_folder(AT_FDCWD, tree);
		if (tree_fd >= 0)
			return true;
	}
	tree[0] = '\0';
	return false;
}

/* Under `lock`. */
static void
make_tree(void)
{
	struct ibv_device **devices;
	const char *base = g_get_tmp_dir();
	int num = 0;

	remove_old(base);
	if (!make_tree_folder(base))
		return;
	maker = getpid();
	link_those_of_the_kernel(CLASS_DEVICES);
	link_those_of_the_kernel(CLASS_VERBS);
	put(CLASS_VERBS "/abi_version", "6\n");
	devices = ibv_get_device_list(&num);
	for (int i = 0; i < num; i++) {
		put_device(devices[i]);
		put_verbs(devices[i]);
	}
	ibv_free_device_list(devices);
}

/* A forked child makes a tree of its own: that of the parent goes with the parent. */
static void
forget_tree(void)
{
	pthread_mutex_init(&lock, NULL);
	tree[0] = '\0';
	making = false;
	if (tree_fd >= 0)
		close(tree_fd); /* a copy; the parent has the lock */
	tree_fd = -1;
}

__attribute__((constructor)) static void
watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, forget_tree);
}

__attribute__((destructor)) static void
remove_tree(void)
{
	/* A child of vfork() that ends by exit() has the memory of its parent. */
	if (tree[0] == '\0' || maker != getpid())
		return;
	making = true;
	remove_folder(AT_FDCWD, tree);
	tree[0] = '\0';
}

/* --- paths ---------------------------------------------------------------------------------------------- */

/* Where the object is that has the door; the linker says so. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));

/* Is it code of the door, with all that is linked into it? */
static bool
is_own(const void *caller)
{
	return (const char *)caller >= (const char *)&__ehdr_start && (const char *)caller < &_end;
}

/* Does a path begin with the name of a device file of ours? */
static bool
is_verbs_name(const char *rest)
{
	return strncmp(rest, DOOR_VERBS_NAME, strlen(DOOR_VERBS_NAME)) == 0 &&
	       strtoul(rest + strlen(DOOR_VERBS_NAME), NULL, 10) >= DOOR_VERBS_NUMBER;
}

/*
 * The part after "/sys/class/" of a path that belongs to the tree: a device of ours, or one of the
 * two folders, which the kernel may have, too. NULL: the path is not in the tree. Names of the
 * kernel's devices still lead to the kernel's files.
 */
static const char *
own_part(const char *path)
{
	const char *part = path + strlen("/sys/class/");
	const char *rest = path + strlen(DOOR_SYSFS_PREFIX);

	if (strncmp(rest, "_verbs", strlen("_verbs")) == 0)
		rest += strlen("_verbs");
	if (*rest == '\0' || (*rest == '/' && rest[1 + strspn(rest + 1, "/")] == '\0'))
		return part;
	if (*rest != '/')
		return NULL;
	rest += strspn(rest, "/");
	if (strncmp(part, CLASS_VERBS, strlen(CLASS_VERBS)) == 0)
		return is_verbs_name(rest) || strcmp(rest, "abi_version") == 0 ? part : NULL;
	return strncmp(rest, DOOR_DEVICE_NAME, strlen(DOOR_DEVICE_NAME)) == 0 ? part : NULL;
}

const char *
door_sysfs_find(const char *path, char room[DOOR_SYSFS_ROOM], const void *caller)
{
	const char *part;
	int error = errno;
	struct stat status;
	bool there;

	if (strncmp(path, DOOR_DEVICE_FILES, strlen(DOOR_DEVICE_FILES)) == 0)
		return is_verbs_name(path + strlen("/dev/infiniband/")) && !is_own(caller)
			       ? DOOR_NO_DEVICE
			       : path;
	part = own_part(path);

	if (part == NULL || making || is_own(caller))
		return path;
	SESSION_DEFER;
	pthread_mutex_lock(&lock);
	making = true;
	/* A process that has closed all its descriptors has given up the lock. */
	if (tree[0] != '\0' && lstat(tree, &status) != 0)
		tree[0] = '\0';
	if (tree[0] == '\0')
		make_tree();
	there = tree[0] != '\0' &&
		snprintf(room, DOOR_SYSFS_ROOM, "%s/%s", tree, part) < DOOR_SYSFS_ROOM;
	making = false;
	pthread_mutex_unlock(&lock);
	errno = error;
	return there ? room : path;
}
