/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_net.h"

#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static bool
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool whole;

	if (fd < 0)
		return false;
	whole = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return whole;
}

/* Who has no right to a network of its own is root of a user namespace first. */
static bool
become_root(void)
{
	g_autofree char *uid = g_strdup_printf("0 %u 1", (unsigned)getuid());
	g_autofree char *gid = g_strdup_printf("0 %u 1", (unsigned)getgid());

	return unshare(CLONE_NEWUSER) == 0 && write_file("/proc/self/setgroups", "deny") &&
	       write_file("/proc/self/uid_map", uid) && write_file("/proc/self/gid_map", gid);
}

bool
net_try_ip(const char *words)
{
	g_autofree char *line = g_strconcat("ip ", words, NULL);
	g_autofree char *complaint = NULL;
	int status = -1;

	return g_spawn_command_line_sync(line, NULL, &complaint, &status, NULL) && status == 0;
}

void
net_ip(const char *words)
{
	if (!net_try_ip(words))
		g_error("ip %s: failed", words);
}

bool
net_enter(void)
{
	if (unshare(CLONE_NEWNET) != 0 && (!become_root() || unshare(CLONE_NEWNET) != 0))
		return false;
	return net_try_ip("link set lo up");
}
