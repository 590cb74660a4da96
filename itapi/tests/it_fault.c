/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_fault.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int door = -1;
static char *folder;
static char *path;

static void
clear_away(void)
{
	(void)g_unlink(path);
	(void)g_rmdir(folder);
	g_free(path);
	g_free(folder);
	close(door);
}

void
fault_begin(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	folder = g_dir_make_tmp("itapi-door-XXXXXX", NULL);
	g_assert_nonnull(folder);
	path = g_build_filename(folder, "door", NULL);
	g_assert_cmpuint(strlen(path), <, sizeof(at.sun_path));
	memcpy(at.sun_path, path, strlen(path));
	door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	g_assert_cmpint(door, >=, 0);
	g_assert_cmpint(bind(door, (const struct sockaddr *)&at, sizeof(at)), ==, 0);
	g_assert_cmpint(listen(door, 64), ==, 0);
	g_assert_true(g_setenv("ITAPI_EMUL_CONTROL", path, TRUE));
	g_assert_cmpint(atexit(clear_away), ==, 0);
}

/* Was the adapter closed since it connected to the fault door? */
static bool
has_gone(int adapter)
{
	char octet;

	return recv(adapter, &octet, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

int
fault_meet(void)
{
	char name[64] = "";
	int adapter;

	for (;;) {
		adapter = accept4(door, NULL, NULL, SOCK_CLOEXEC);
		if (adapter < 0) {
			g_assert_true(errno == EAGAIN || errno == EWOULDBLOCK);
			return -1;
		}
		g_assert_cmpint(recv(adapter, name, sizeof(name) - 1, 0), >, 0);
		g_assert_cmpstr(name, ==, pair_adapter());
		if (!has_gone(adapter))
			return adapter;
		close(adapter);
	}
}

char *
fault_query(int adapter, const char *command)
{
	char answer[256] = "";
	size_t len = strlen(command);

	g_assert_cmpint(send(adapter, command, len, MSG_NOSIGNAL), ==, (gssize)len);
	g_assert_cmpint(recv(adapter, answer, sizeof(answer) - 1, 0), >, 0);
	return g_strdup(answer);
}

void
fault_say(int adapter, const char *command)
{
	char *answer = fault_query(adapter, command);

	g_assert_cmpstr(answer, ==, "ok");
	g_free(answer);
}

void
fault_part(int adapter)
{
	if (adapter >= 0)
		close(adapter);
}

bool
faults_meet(struct faults *faults)
{
	faults->active = fault_meet();
	faults->passive = fault_meet();
	if (faults->passive >= 0)
		return true;
	g_assert_cmpint(faults->active, <, 0);
	g_test_skip("this adapter has no fault door");
	return false;
}

void
faults_part(const struct faults *faults)
{
	fault_part(faults->active);
	fault_part(faults->passive);
}
