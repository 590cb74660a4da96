/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_door.h"

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
door_begin(void)
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

int
door_accept(char name[DOOR_NAME])
{
	int adapter = accept4(door, NULL, NULL, SOCK_CLOEXEC);

	if (adapter < 0) {
		g_assert_true(errno == EAGAIN || errno == EWOULDBLOCK);
		return -1;
	}
	memset(name, 0, DOOR_NAME);
	g_assert_cmpint(recv(adapter, name, DOOR_NAME - 1, 0), >, 0);
	return adapter;
}

void
door_command(int adapter, const char *command, char answer[DOOR_ANSWER])
{
	size_t len = strlen(command);

	memset(answer, 0, DOOR_ANSWER);
	g_assert_cmpint(send(adapter, command, len, MSG_NOSIGNAL), ==, (gssize)len);
	g_assert_cmpint(recv(adapter, answer, DOOR_ANSWER - 1, 0), >, 0);
}
