/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "ctl_link.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ri_fd.h"
#include "ri_setting.h"
#include "tool_error.h"
#include "tool_signal.h"

#define PATIENCE_MS 5000 /* for a connection, and for each answer, whatever comes before it */
#define NAP_MS      20   /* between attempts to connect to one that accepts none */

static const struct ri_setting kald_place = {.name = "ITAPI_KALD"};
static const struct ri_setting runtime_dir = {.name = "XDG_RUNTIME_DIR"};

static gint64
deadline_from_now(void)
{
	return g_get_monotonic_time() + PATIENCE_MS * 1000;
}

/* A daemon that hangs or was stopped has a full queue of clients. kalctl waits for it in naps, since connect() would never return. */
static int
connect_patiently(int fd, const struct sockaddr_un *addr, socklen_t length)
{
	const gint64 deadline = deadline_from_now();

	while (connect(fd, (const struct sockaddr *)addr, length) != 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -1;
		if (g_get_monotonic_time() >= deadline || tool_stopped()) {
			errno = ETIMEDOUT;
			return -1;
		}
		g_usleep(NAP_MS * 1000);
	}
	return 0;
}

/* -1: errno is set. `believed`: the path says who serves it. */
static int
connect_to(const char *path, bool believed)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t length = strlen(path);
	bool abstract = path[0] == '@';
	int fd, error;

	if (length >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(addr.sun_path, path, length);
	if (abstract)
		addr.sun_path[0] = '\0';
	fd = ri_fd_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	length += offsetof(struct sockaddr_un, sun_path) + !abstract;
	error = fd >= 0 && connect_patiently(fd, &addr, (socklen_t)length) == 0 ? 0 : errno;
	if (error == 0 && (abstract || !believed) && !kald_is_trusted(fd))
		error = EPERM;
	if (error == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

/* The first place where one listens. */
static int
connect_anywhere(const char *path, GError **error)
{
	const char *said = ri_setting_text(&kald_place);
	const char *folder = ri_setting_text(&runtime_dir);
	g_autofree char *user =
		g_build_filename(folder != NULL ? folder : "/nonexistent", KALD_USER_SOCKET, NULL);
	g_autofree char *abstract = g_strdup_printf("@itapi/kald/%u", geteuid());
	const char *places[] = {KALD_SYSTEM_SOCKET, user, abstract};
	int fd = -1;

	if (path == NULL && said != NULL && (said[0] == '/' || said[0] == '@'))
		path = said;
	if (path != NULL) {
		fd = connect_to(path, true);
		if (fd < 0)
			tool_fail(error, TOOL_ERROR_FAILED, "no kald answers at %s: %s", path,
				  g_strerror(errno));
		return fd;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(places) && fd < 0; i++)
		fd = connect_to(places[i], i == 0);
	if (fd < 0)
		tool_fail(error, TOOL_ERROR_FAILED, "no kald answers at %s, %s or %s", places[0],
			  places[1], places[2]);
	return fd;
}

/* Wait for a packet. False: none comes in time (deadline < 0: no limit), or the user stops. */
static bool
await(int fd, gint64 deadline, GError **error)
{
	struct pollfd wait[2] = {{.fd = fd, .events = POLLIN},
				 {.fd = tool_stop_fd(), .events = POLLIN}};
	int count;

	do {
		gint64 left = deadline - g_get_monotonic_time();

		/* Past the deadline a packet that is there does not count: it may be an event, with another event behind it. */
		count = deadline >= 0 && left <= 0
				? 0
				: poll(wait, 2, deadline < 0 ? -1 : (int)(left / 1000) + 1);
	} while (count < 0 && errno == EINTR && !tool_stopped());
	if (count > 0 && !tool_stopped())
		return true;
	if (tool_stopped())
		return tool_fail(error, TOOL_ERROR_INTERRUPTED, "stopped");
	return tool_fail(error, TOOL_ERROR_TIMEOUT, "kald does not answer");
}

static bool
receive(int fd, struct kald_message *message, GError **error)
{
	_Alignas(8) uint8_t octets[KALD_MESSAGE_MAX];
	ssize_t n = recv(fd, octets, sizeof(octets), MSG_DONTWAIT);

	if (n <= 0)
		return tool_fail(error, TOOL_ERROR_PEER, "kald has ended the connection");
	if (kald_message_read(octets, (size_t)n, message) == KALD_WRONG)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "kald sent something that is not a message");
	return true;
}

bool
ctl_ask(int fd, struct kald_message *request, struct kald_message *reply, GError **error)
{
	static uint32_t last;
	const gint64 deadline = deadline_from_now();

	memset(reply, 0, sizeof(*reply));
	request->head.id = ++last;
	if (send(fd, request, request->head.length, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return tool_fail(error, TOOL_ERROR_PEER, "kald takes no request: %s",
				 g_strerror(errno));
	do {
		if (!await(fd, deadline, error) || !receive(fd, reply, error))
			return false;
		/* An id of 0 answers the connection itself: it is one too many. */
	} while (reply->head.number != (request->head.number | KALD_REPLY) ||
		 (reply->head.id != request->head.id && reply->head.id != 0));
	if (reply->head.status != KALD_OK)
		return tool_fail(error, TOOL_ERROR_PEER, "kald refuses: %s",
				 reply->head.number != KALD_REPLY ? reply->body.refusal.text : "");
	return true;
}

int
ctl_connect(const char *path, GError **error)
{
	struct kald_message hello, reply;
	int fd = connect_anywhere(path, error);

	if (fd < 0)
		return -1;
	kald_message_begin(&hello, KALD_HELLO, 0, KALD_OK);
	hello.body.hello.version_min = 1;
	hello.body.hello.version_max = KALD_VERSION;
	hello.body.hello.kind = KALD_TOOL;
	if (ctl_ask(fd, &hello, &reply, error))
		return fd;
	close(fd);
	return -1;
}

bool
ctl_next(int fd, struct kald_message *event, GError **error)
{
	do {
		if (!await(fd, -1, NULL))
			return false;
		if (!receive(fd, event, error))
			return false;
	} while (event->head.number != KALD_CHANGED);
	return true;
}
