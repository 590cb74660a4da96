/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The process that has the UDP port of RoCE at an address: the kernel's list of sockets, and the descriptors of processes that this user may see. */
#include "vro_owner.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ri_fd.h"
#include "roce_icrc.h"

#define LINE 256u

struct holder {
	bool found;
	unsigned uid;
	unsigned long inode; /* 0: of the kernel */
};

/* How the kernel's list writes an address with the port: words of 32 bits as they are in memory. */
static void
key_write(const struct ri_addr *addr, char *key, size_t room)
{
	unsigned words = addr->family == RI_ADDR_IPV4 ? 1 : 4;
	size_t at = 0;

	for (unsigned i = 0; i < words; i++) {
		uint32_t word;

		memcpy(&word, addr->octets + (size_t)4 * i, sizeof(word));
		at += (size_t)snprintf(key + at, room - at, "%08" PRIX32, word);
	}
	snprintf(key + at, room - at, ":%04X", ROCE_UDP_PORT);
}

static struct holder
holder_find(const struct ri_addr *addr)
{
	bool v4 = addr->family == RI_ADDR_IPV4;
	FILE *list = ri_fd_open_file(v4 ? "/proc/net/udp" : "/proc/net/udp6");
	struct holder holder = {0};
	char line[LINE], own[48], any[48];

	if (list == NULL)
		return holder;
	key_write(addr, own, sizeof(own));
	key_write(&(struct ri_addr){.family = addr->family}, any, sizeof(any));
	while (!holder.found && fgets(line, sizeof(line), list) != NULL) {
		char local[48];

		/* Place, local and remote address, state, queues, timer, repetitions, user, timeout, inode. */
		holder.found = sscanf(line, " %*[^:]: %47s %*s %*s %*s %*s %*s %u %*s %lu", local,
				      &holder.uid, &holder.inode) == 3 &&
			       (strcmp(local, own) == 0 || strcmp(local, any) == 0);
	}
	fclose(list);
	return holder;
}

/* Has the process this socket? */
static bool
process_has(const char *pid, unsigned long inode)
{
	char path[64], wanted[48], entry[48];
	bool has = false;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	folder = ri_fd_open_folder(path);
	if (folder == NULL)
		return false;
	for (struct dirent *one = readdir(folder); one != NULL && !has; one = readdir(folder)) {
		ssize_t n = readlinkat(dirfd(folder), one->d_name, entry, sizeof(entry) - 1);

		entry[n > 0 ? n : 0] = '\0';
		has = strcmp(entry, wanted) == 0;
	}
	closedir(folder);
	return has;
}

static bool
process_name(const struct holder *holder, char *text, size_t room)
{
	DIR *folder = ri_fd_open_folder("/proc");
	char path[64], name[32] = "";
	bool found = false;

	if (folder == NULL)
		return false;
	for (struct dirent *one = readdir(folder); one != NULL && !found; one = readdir(folder)) {
		FILE *comm;

		if (one->d_name[0] < '0' || one->d_name[0] > '9' ||
		    !process_has(one->d_name, holder->inode))
			continue;
		found = true;
		snprintf(path, sizeof(path), "/proc/%.20s/comm", one->d_name);
		comm = ri_fd_open_file(path);
		if (comm != NULL && fgets(name, sizeof(name), comm) != NULL)
			name[strcspn(name, "\n")] = '\0';
		if (comm != NULL)
			fclose(comm);
		snprintf(text, room, "process %.20s (%s)", one->d_name, name);
	}
	closedir(folder);
	return found;
}

void
vro_owner_name(const struct ri_addr *addr, char *text, size_t room)
{
	struct holder holder = holder_find(addr);

	if (!holder.found)
		snprintf(text, room, "somebody in another network namespace, or just gone");
	else if (holder.inode == 0)
		snprintf(text, room, "the kernel, for rxe");
	else if (!process_name(&holder, text, room))
		snprintf(text, room, "a process of user %u", holder.uid);
}
