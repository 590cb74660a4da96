/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "wire_peer.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire_script.h"

#define ANSWER_MS  120000
#define ANSWER_MAX (1u << 20)
#define START_LINE "control "

struct wire_peer {
	int fd;
	GString *in; /* received, behind the last answer */
	struct sockaddr_storage data;
	struct sockaddr_storage local;
	char **hello;
	GPid child; /* 0: it was not started here */
	int out;    /* standard output of the child; -1 without one */
	int answer_ms;
	char *pending; /* the question whose answer was not read yet, or NULL */
	gboolean lost; /* it did not answer once: what came later would be of another question */
};

/* Read from `fd` until there is a line; it is taken out of `in`. */
static char *
line_read(int fd, GString *in, int within_ms, GError **error)
{
	for (;;) {
		char *end = memchr(in->str, '\n', in->len);
		struct pollfd set = {.fd = fd, .events = POLLIN};
		char octets[4096];
		ssize_t n;

		if (end != NULL) {
			char *line = g_strndup(in->str, (gsize)(end - in->str));

			g_string_erase(in, 0, end - in->str + 1);
			return line;
		}
		if (in->len > ANSWER_MAX || poll(&set, 1, within_ms) <= 0)
			break;
		n = read(fd, octets, sizeof(octets));
		if (n <= 0)
			break;
		g_string_append_len(in, octets, n);
	}
	wire_fail(error, WIRE_ERROR_PEER, "the helper is gone or does not answer");
	return NULL;
}

static void
port_set(struct sockaddr_storage *address, guint16 port)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)address)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
}

/* A TCP connection to host and port. */
static int
connect_to(const char *host, const char *port, GError **error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int rc = getaddrinfo(host, port, &hints, &found);
	int fd = -1;

	if (rc != 0) {
		wire_fail(error, WIRE_ERROR_PEER, "cannot find '%s': %s", host, gai_strerror(rc));
		return -1;
	}
	for (const struct addrinfo *one = found; one != NULL && fd < 0; one = one->ai_next) {
		fd = socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, one->ai_addr, one->ai_addrlen) != 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	if (fd < 0)
		wire_fail(error, WIRE_ERROR_PEER, "cannot connect to the helper at %s:%s", host,
			  port);
	return fd;
}

/* Start a helper; gives the port of its control connection. */
static char *
child_start(struct wire_peer *peer, const char *command, GError **error)
{
	g_auto(GStrv) argv = NULL;
	g_autofree char *line = NULL;

	if (!g_shell_parse_argv(command, NULL, &argv, error) ||
	    !g_spawn_async_with_pipes(NULL, argv, NULL,
				      G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
				      &peer->child, NULL, &peer->out, NULL, error))
		return NULL;
	line = line_read(peer->out, peer->in, ANSWER_MS, error);
	if (line == NULL)
		return NULL;
	if (g_str_has_prefix(line, START_LINE))
		return g_strdup(line + strlen(START_LINE));
	wire_fail(error, WIRE_ERROR_PEER, "the helper said '%s', not its control port", line);
	return NULL;
}

/* Split HOST:PORT or [HOST]:PORT. */
static gboolean
where_split(const char *where, char **host, char **port, GError **error)
{
	const char *colon = strrchr(where, ':');

	if (colon == NULL || colon == where || colon[1] == '\0')
		return wire_fail(error, WIRE_ERROR_PEER, "'%s' is not HOST:PORT", where);
	*port = g_strdup(colon + 1);
	*host = *where == '[' && colon[-1] == ']' ? g_strndup(where + 1, (gsize)(colon - where) - 2)
						  : g_strndup(where, (gsize)(colon - where));
	return TRUE;
}

static gboolean
hello_ask(struct wire_peer *peer, GError **error)
{
	socklen_t len = sizeof(peer->data);
	const char *port;

	peer->hello = wire_peer_ask(peer, error, "hello");
	if (peer->hello == NULL)
		return FALSE;
	port = wire_word_value(peer->hello, "port");
	if (port == NULL)
		return wire_fail(error, WIRE_ERROR_PEER, "the helper names no port");
	(void)getpeername(peer->fd, (struct sockaddr *)&peer->data, &len);
	len = sizeof(peer->local);
	(void)getsockname(peer->fd, (struct sockaddr *)&peer->local, &len);
	port_set(&peer->data, (guint16)g_ascii_strtoull(port, NULL, 10));
	port_set(&peer->local, 0);
	return TRUE;
}

struct wire_peer *
wire_peer_open(const char *where, const char *command, GError **error)
{
	struct wire_peer *peer = g_new0(struct wire_peer, 1);
	g_autofree char *host = NULL;
	g_autofree char *port = NULL;

	peer->fd = -1;
	peer->out = -1;
	peer->answer_ms = ANSWER_MS;
	peer->in = g_string_new(NULL);
	if (command != NULL) {
		host = g_strdup("127.0.0.1");
		port = child_start(peer, command, error);
	} else {
		(void)where_split(where, &host, &port, error);
	}
	if (port != NULL) {
		peer->fd = connect_to(host, port, error);
		if (peer->fd >= 0 && hello_ask(peer, error))
			return peer;
	}
	wire_peer_close(peer);
	return NULL;
}

void
wire_peer_patience(struct wire_peer *peer, int answer_ms)
{
	peer->answer_ms = answer_ms;
}

void
wire_peer_close(struct wire_peer *peer)
{
	if (peer == NULL)
		return;
	if (peer->fd >= 0)
		close(peer->fd);
	if (peer->child != 0) {
		(void)waitpid(peer->child, NULL, 0);
		g_spawn_close_pid(peer->child);
	}
	if (peer->out >= 0)
		close(peer->out);
	g_string_free(peer->in, TRUE);
	g_strfreev(peer->hello);
	g_free(peer->pending);
	g_free(peer);
}

static gboolean
line_send(const struct wire_peer *peer, const char *text)
{
	g_autofree char *line = g_strconcat(text, "\n", NULL);
	gsize left = strlen(line);
	const char *at = line;

	while (left > 0) {
		ssize_t n = send(peer->fd, at, left, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return FALSE;
		at += n;
		left -= (gsize)n;
	}
	return TRUE;
}

/* Send a question; its answer must be read before the next one is sent. */
static void
question_send(struct wire_peer *peer, char *question)
{
	if (peer->pending != NULL)
		g_strfreev(wire_peer_answer(peer, NULL));
	peer->pending = question;
	peer->lost = peer->lost || !line_send(peer, question);
}

void
wire_peer_tell(struct wire_peer *peer, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	question_send(peer, g_strdup_vprintf(format, args));
	va_end(args);
}

char **
wire_peer_answer(struct wire_peer *peer, GError **error)
{
	g_autofree char *question = g_steal_pointer(&peer->pending);
	g_autofree char *answer = NULL;

	if (question == NULL) {
		wire_fail(error, WIRE_ERROR_SCRIPT, "the peer was asked nothing");
		return NULL;
	}
	if (!peer->lost)
		answer = line_read(peer->fd, peer->in, peer->answer_ms, error);
	else
		wire_fail(error, WIRE_ERROR_PEER, "the helper is gone");
	peer->lost = answer == NULL;
	if (answer == NULL)
		return NULL;
	if (strcmp(answer, "ok") == 0)
		return g_strsplit("", " ", -1);
	if (g_str_has_prefix(answer, "ok "))
		return g_strsplit(answer + 3, " ", -1);
	wire_fail(error, WIRE_ERROR_VERDICT, "the peer, asked for '%s': %s", question, answer);
	return NULL;
}

char **
wire_peer_ask(struct wire_peer *peer, GError **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	question_send(peer, g_strdup_vprintf(format, args));
	va_end(args);
	return wire_peer_answer(peer, error);
}

gboolean
wire_peer_is_lost(const struct wire_peer *peer)
{
	return peer->lost;
}

gboolean
wire_peer_listen(struct wire_peer *peer, GError **error)
{
	g_auto(GStrv) answer = wire_peer_ask(peer, error, "listen");
	const char *port = answer != NULL ? wire_word_value(answer, "port") : NULL;

	if (port != NULL)
		port_set(&peer->data, (guint16)g_ascii_strtoull(port, NULL, 10));
	return port != NULL;
}

const struct sockaddr_storage *
wire_peer_address(const struct wire_peer *peer)
{
	return &peer->data;
}

const struct sockaddr_storage *
wire_peer_local(const struct wire_peer *peer)
{
	return &peer->local;
}

char *const *
wire_peer_hello(const struct wire_peer *peer)
{
	return peer->hello;
}
