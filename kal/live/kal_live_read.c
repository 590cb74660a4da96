/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What another process publishes may be anything: it may have false contents, change, be truncated, or be no memory file at all. So
 * the reader never maps it. It copies by pread() into memory whose size does not depend on the contents, and checks the copy.
 *
 * A table is recognised by the name of its memory file. A name can be faked, and opening or reading a file of an unknown file system
 * may block or have effects. So the reader opens the descriptor with O_PATH, which calls no file system, and asks the kernel on
 * which mount it is. All memory files are on one internal mount of the kernel, where nothing else can have that name; the reader
 * learns the number of that mount from a memory file of its own.
 */
#include "kal_live_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kal_cm_states.h"
#include "kal_live.h"
#include "ri_calls.h"
#include "ri_count.h"
#include "ri_fd.h"

#define TRIES     100   /* of a slot that is being written */
#define TRIES_ALL 10000 /* of all slots: a process may say of each that it is being written */

/* A copy of a table. */
struct copy {
	struct kal_live_head head;
	struct kal_live_slot *slots; /* head.high of them; the first one is not used */
	bool *whole;                 /* by slot: it was not being written */
};

/* --- another process ------------------------------------------------------------------------------------------ */

/* The mount that a descriptor is on, -1: not known. */
static int
mount_of(int fd)
{
	char path[48], text[512];
	const char *at;
	ssize_t n;
	int info;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = ri_fd_open(path, O_RDONLY, 0);
	if (info < 0)
		return -1;
	n = ri_read(info, text, sizeof(text) - 1);
	ri_close(info);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "mnt_id:");
	return at != NULL ? atoi(at + strlen("mnt_id:")) : -1;
}

/* Open descriptor `name` of the process if it is on the mount; -1: it is not a page of itapi. */
static int
candidate_open(pid_t pid, const char *name, int mount)
{
	char path[64], link[64];
	ssize_t n;
	int place, fd = -1;

	if ((size_t)snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, name) >= sizeof(path))
		return -1;
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return -1;
	link[n] = '\0';
	if (strcmp(link, "/memfd:" KAL_LIVE_NAME " (deleted)") != 0)
		return -1;
	place = ri_fd_open(path, O_PATH, 0);
	if (place < 0)
		return -1;
	if (mount_of(place) == mount) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
		fd = ri_fd_open(path, O_RDONLY | O_NONBLOCK, 0);
	}
	ri_close(place);
	return fd;
}

/* The table of a process as a descriptor; -errno. */
static int
process_open(pid_t pid)
{
	char path[32];
	int own, mount, fd = -ENOENT;
	struct dirent *entry;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	folder = ri_fd_open_folder(path);
	if (folder == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	own = ri_fd_memory(KAL_LIVE_NAME, 0);
	mount = own >= 0 ? mount_of(own) : -1;
	if (own >= 0)
		ri_close(own);
	while (mount >= 0 && fd < 0 && (entry = readdir(folder)) != NULL) {
		int found = candidate_open(pid, entry->d_name, mount);

		fd = found >= 0 ? found : -ENOENT;
	}
	(void)closedir(folder);
	return fd;
}

static bool
read_at(int fd, void *to, size_t bytes, uint32_t slot)
{
	off_t at = (off_t)slot * (off_t)sizeof(struct kal_live_slot);

	return pread(fd, to, bytes, at) == (ssize_t)bytes;
}

static bool
slot_again(int fd, struct kal_live_slot *slot, uint32_t index, unsigned *left)
{
	uint32_t before, after;

	for (unsigned i = 0; *left != 0 && i < TRIES; i++) {
		--*left;
		if (!read_at(fd, &before, sizeof(before), index) ||
		    !read_at(fd, slot, sizeof(*slot), index) ||
		    !read_at(fd, &after, sizeof(after), index))
			return false;
		if (before % 2 == 0 && before == after)
			return true;
	}
	return false;
}

static int
copy_room(struct copy *copy)
{
	copy->slots = calloc(copy->head.high, sizeof(*copy->slots));
	copy->whole = calloc(copy->head.high, sizeof(*copy->whole));
	return copy->slots != NULL && copy->whole != NULL ? 0 : ENOMEM;
}

static void
copy_free(struct copy *copy)
{
	free(copy->slots);
	free(copy->whole);
}

/* Before and after each copy the numbers are read. Those that were being written are read again one by one. */
static int
copy_file(struct copy *copy, int fd)
{
	const struct kal_live_head *head = &copy->head;
	unsigned left = TRIES_ALL;
	uint32_t *before;

	if (!read_at(fd, &copy->head, sizeof(copy->head), 0) ||
	    memcmp(head->magic, KAL_LIVE_MAGIC, sizeof(head->magic)) != 0 ||
	    head->version != KAL_LIVE_VERSION || head->slot_size != sizeof(struct kal_live_slot) ||
	    head->slots > KAL_LIVE_SLOTS || head->high == 0 || head->high > head->slots)
		return EPROTO;
	before = calloc(head->high, sizeof(*before));
	if (copy_room(copy) != 0 || before == NULL) {
		free(before);
		return ENOMEM;
	}
	for (uint32_t i = 1; i < head->high; i++)
		if (!read_at(fd, &before[i], sizeof(*before), i))
			before[i] = 1;
	if (!read_at(fd, copy->slots, head->high * sizeof(*copy->slots), 0)) {
		free(before);
		return EPROTO;
	}
	for (uint32_t i = 1; i < head->high; i++) {
		uint32_t after;

		copy->whole[i] = before[i] % 2 == 0 && read_at(fd, &after, sizeof(after), i) &&
				 before[i] == after;
		if (!copy->whole[i])
			copy->whole[i] = slot_again(fd, &copy->slots[i], i, &left);
	}
	free(before);
	return 0;
}

/* --- this process --------------------------------------------------------------------------------------------- */

static int
copy_own(struct copy *copy)
{
	const struct kal_live_slot *slots =
		(const struct kal_live_slot *)(const void *)kal_live_lock();
	int error = slots != NULL ? 0 : ENOENT;

	if (error == 0) {
		copy->head = *(const struct kal_live_head *)slots;
		error = copy_room(copy);
	}
	for (uint32_t i = 1; error == 0 && i < copy->head.high; i++) {
		struct kal_live_slot *to = &copy->slots[i];

		memcpy(to, &slots[i], offsetof(struct kal_live_slot, count));
		for (size_t j = 0; j < sizeof(to->count.words) / sizeof(to->count.words[0]); j++)
			to->count.words[j] = ri_count_read(&slots[i].count.words[j]);
		copy->whole[i] = true;
	}
	kal_live_unlock();
	return error;
}

/* --- what was copied ------------------------------------------------------------------------------------------ */

/* Check a slot, and pass it on. */
static void
slot_pass(const struct copy *copy, uint32_t index, enum kal_live_kind kind,
	  void (*each)(void *arg, const struct kal_live_item *item), void *arg)
{
	const struct kal_live_slot *slot = &copy->slots[index];
	struct kal_live_item item = {.state = "", .slot = *slot};
	const struct kal_live_slot *adapter;

	if (slot->kind != kind || !copy->whole[index] || slot->adapter == 0 ||
	    slot->adapter >= copy->head.high)
		return;
	adapter = &copy->slots[slot->adapter];
	if (adapter->kind != KAL_LIVE_ADAPTER || !copy->whole[slot->adapter])
		return;
	memcpy(item.adapter, adapter->is.name, sizeof(item.adapter));
	item.adapter[sizeof(item.adapter) - 1] = '\0';
	if (kind == KAL_LIVE_ADAPTER)
		memcpy(item.slot.is.name, item.adapter, sizeof(item.adapter));
	if (kind == KAL_LIVE_QP)
		item.state = slot->state < KAL_CONN_STATE_COUNT
				     ? kal_conn_state_name((enum kal_conn_state)slot->state)
				     : "unknown";
	for (unsigned i = 0; i < 2; i++)
		if (item.slot.cqs[i] >= KAL_LIVE_SLOTS)
			item.slot.cqs[i] = 0;
	each(arg, &item);
}

static void
copy_pass(const struct copy *copy, void (*each)(void *arg, const struct kal_live_item *item),
	  void *arg, unsigned *missed)
{
	*missed = copy->head.missed;
	for (unsigned kind = KAL_LIVE_ADAPTER; kind < KAL_LIVE_KINDS; kind++)
		for (uint32_t i = 1; i < copy->head.high; i++)
			slot_pass(copy, i, (enum kal_live_kind)kind, each, arg);
}

int
kal_live_read_file(int fd, void (*each)(void *arg, const struct kal_live_item *item), void *arg,
		   unsigned *missed)
{
	struct copy copy = {.slots = NULL};
	int error = copy_file(&copy, fd);

	if (error == 0)
		copy_pass(&copy, each, arg, missed);
	copy_free(&copy);
	return error;
}

int
kal_live_read(pid_t pid, void (*each)(void *arg, const struct kal_live_item *item), void *arg,
	      unsigned *missed)
{
	struct copy copy = {.slots = NULL};
	int fd, error;

	*missed = 0;
	if (pid != 0 && pid != getpid()) {
		fd = process_open(pid);
		if (fd < 0)
			return -fd;
		error = kal_live_read_file(fd, each, arg, missed);
		ri_close(fd);
		return error;
	}
	error = copy_own(&copy);
	if (error == 0)
		copy_pass(&copy, each, arg, missed);
	copy_free(&copy);
	return error;
}
