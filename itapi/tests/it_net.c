/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_net.h"

#include <fcntl.h>
#include <glib.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE (60 * G_USEC_PER_SEC)

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

/* A process that may not make a network namespace becomes root of a user namespace first. */
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

static bool
is_running(const char *interface)
{
	struct ifreq ifr = {.ifr_flags = 0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool asked;

	g_assert_cmpint(fd, >=, 0);
	g_strlcpy(ifr.ifr_name, interface, sizeof(ifr.ifr_name));
	asked = ioctl(fd, SIOCGIFFLAGS, &ifr) == 0;
	close(fd);
	return asked && (ifr.ifr_flags & IFF_UP) != 0 && (ifr.ifr_flags & IFF_RUNNING) != 0;
}

void
net_await(const char *interface)
{
	const gint64 end = g_get_monotonic_time() + PATIENCE;

	while (!is_running(interface)) {
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		g_usleep(1000);
	}
}

bool
net_enter(void)
{
	if (unshare(CLONE_NEWNET) != 0 && (!become_root() || unshare(CLONE_NEWNET) != 0))
		return false;
	/* Some kernels have no veth. */
	return net_try_ip("link set lo up") && net_try_ip("link add it0 type veth peer name it1") &&
	       net_try_ip("link del it0");
}
