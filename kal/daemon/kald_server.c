/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Sessions. The kernel says which process and user each one belongs to. A session ends with its socket or with its process, whichever
 * ends first: a child that a client has forked may keep the socket open.
 *
 * kald looks at a packet before it receives it (MSG_PEEK). Only a client that shares an address may send descriptors, and kald_take.c
 * receives those on a thread, since dropping a descriptor means to close it, which may wait for its sender. So a packet that
 * has descriptors and must not have any is left in its socket.
 */
#include "kald_server.h"

#include <errno.h>
#include <glib-unix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kald_drop.h"
#include "kald_group.h"
#include "ri_fd.h"
#include "ri_outlet.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define ACCEPTS_AT_ONCE 32
#define ACCEPT_PAUSE_MS 100   /* when no descriptor is left */
#define GREETING_MS     10000 /* until KALD_HELLO */
#define TOOLS_MAX       32    /* sessions of one user beyond its processes */
#define PATIENCE_MS     1000  /* at exit, for a slow reader of stderr */
#define CLOSING_MAX     256   /* sessions of one user that are over and not closed yet */

/*
 * Each session has an allowance of requests, which grows with time; they are handled as they come.
 * A session without allowance has one request handled in REQUEST_US, or in SHARE times the
 * processor time that a request takes, if that is more. So processes that flood the daemon take a
 * bounded share of its time, and the requests of other processes wait for only a few of theirs.
 */
#define REQUEST_US 1000
#define SHARE      16
#define ALLOWANCE  2048 /* at most */
#define FIRST_ONES 256  /* of a new session, so that it does not pay to connect again */
#define TURN       4u   /* requests of one session before the others have their turn */

static gboolean session_readable(gint fd, GIOCondition condition, gpointer arg);
static gboolean accept_ready(gint fd, GIOCondition condition, gpointer arg);

/* --- lines for people: users cause them, and nobody has to read them, so they do not hold up the daemon ------- */

static size_t
tell_lost(uint64_t lost, char *text, size_t room)
{
	return (size_t)g_snprintf(text, (gulong)room,
				  "kald: %" G_GUINT64_FORMAT
				  " lines were lost: stderr did not take them in time\n",
				  lost);
}

static struct ri_outlet outlet = RI_OUTLET(tell_lost);
static bool directed;

static void
finish_lines(void)
{
	(void)ri_outlet_flush(&outlet, PATIENCE_MS);
}

static void
outlet_begin(void)
{
	directed = ri_outlet_direct(&outlet, STDERR_FILENO);
	(void)atexit(finish_lines);
}

/* A line of `text`. Clients choose parts of it: none of them begins a line of its own, or is a command to a terminal. */
static char *
line_of(const char *text)
{
	GString *line = g_string_new("kald: ");

	for (; *text != '\0'; text++)
		if (g_ascii_isprint(*text))
			g_string_append_c(line, *text);
		else
			g_string_append_printf(line, "\\x%02x", (guint8)*text);
	g_string_append_c(line, '\n');
	return g_string_free(line, FALSE);
}

void
kald_log(const char *format, ...)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	g_autofree char *text = NULL;
	g_autofree char *line = NULL;
	va_list args;

	(void)pthread_once(&once, outlet_begin);
	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	line = line_of(text);
	if (directed)
		ri_outlet_write(&outlet, line, strlen(line), false);
	else
		g_printerr("%s", line);
}

/* --- sessions ------------------------------------------------------------------------------------------------- */

static struct kald_counts
sessions_of(const struct kald_server *server, uint32_t uid)
{
	const struct kald_counts *found =
		g_hash_table_lookup(server->by_user, GUINT_TO_POINTER(uid));

	return found != NULL ? *found : (struct kald_counts){0};
}

static void
sessions_count(struct kald_server *server, uint32_t uid, int live, int closing)
{
	struct kald_counts now = sessions_of(server, uid);

	now.live += (unsigned)live;
	now.closing += (unsigned)closing;
	if (now.live + now.closing > 0)
		g_hash_table_insert(server->by_user, GUINT_TO_POINTER(uid),
				    g_memdup2(&now, sizeof(now)));
	else
		g_hash_table_remove(server->by_user, GUINT_TO_POINTER(uid));
}

/* --- end ------------------------------------------------------------------------------------------------ */

static void
source_clear(guint *source)
{
	if (*source != 0)
		g_source_remove(*source);
	*source = 0;
}

static void
packet_free(void *arg)
{
	struct kald_packet *packet = arg;

	if (packet->fd >= 0)
		close(packet->fd);
	if (packet->group != NULL)
		kald_group_unref(packet->group);
	g_free(packet);
}

static void
session_end(struct kald_session *session)
{
	struct kald_server *server = session->server;
	bool client = session->kind == KALD_CLIENT;

	source_clear(&session->in);
	source_clear(&session->out);
	source_clear(&session->death);
	source_clear(&session->greeting);
	source_clear(&session->pause);
	if (session->slow)
		(void)g_queue_remove(&server->slow, session);
	kald_borrow_forget(session);
	kald_list_forget(session);
	kald_share_forget(session);
	g_queue_unlink(&server->sessions, &session->link);
	if (session->describing)
		kald_described(session);
	server->watchers -= session->watches;
	if (client)
		kald_ledger_leave(server->ledger, &session->borrower);
	if (client)
		kald_tell(server, session, KALD_LEFT, "");
	sessions_count(server, session->uid, -1, 1);
	kald_take_forget(session);
	if (session->pidfd >= 0)
		close(session->pidfd);
	g_queue_clear_full(&session->out_queue, packet_free);
	g_ptr_array_free(session->adapters, TRUE);
	g_array_free(session->ports, TRUE);
	g_free(session);
	if (client)
		kald_borrow_again(server);
}

bool
kald_session_many_closing(const struct kald_server *server, uint32_t uid)
{
	return sessions_of(server, uid).closing > CLOSING_MAX;
}

void
kald_session_closed(struct kald_server *server, uint32_t uid)
{
	sessions_count(server, uid, 0, -1);
}

static gboolean
process_ended(gint fd, GIOCondition condition, gpointer arg)
{
	struct kald_session *session = arg;

	(void)fd;
	(void)condition;
	session->death = 0;
	session_end(session);
	return G_SOURCE_REMOVE;
}

static gboolean
greeting_over(gpointer arg)
{
	struct kald_session *session = arg;

	session->greeting = 0;
	if (session->kind == 0)
		session_end(session);
	return G_SOURCE_REMOVE;
}

/* --- output ---------------------------------------------------------------------------------------------- */

/* 0, EAGAIN, or another errno: it is lost. */
static int
packet_send(const struct kald_session *session, const struct kald_packet *packet)
{
	const int *fds = packet->group != NULL ? packet->group->fds : &packet->fd;
	size_t room = (packet->group != NULL ? KALD_SHARE_FDS : 1) * sizeof(int);
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(KALD_SHARE_FDS * sizeof(int))];
	} control = {{0}};
	struct iovec part = {.iov_base = (void *)(uintptr_t)&packet->message,
			     .iov_len = packet->message.head.length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (packet->fd >= 0 || packet->group != NULL) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(room);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(room);
		memcpy(CMSG_DATA(&control.head), fds, room);
	}
	if (sendmsg(session->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EWOULDBLOCK ? EAGAIN : errno;
}

/* No more descriptors may be on their way to the user, or the kernel lets none of kald's be: the client gets a sentence in their place. */
static void
packet_without_fds(struct kald_packet *packet)
{
	const struct kald_head head = packet->message.head;

	kald_message_begin(&packet->message, head.number, head.id, KALD_SYSTEM);
	packet->message.body.refusal.error = ETOOMANYREFS;
	g_strlcpy(packet->message.body.refusal.text,
		  "too many descriptors of kald are on their way to clients that do not read",
		  KALD_TEXT);
	if (packet->group != NULL)
		kald_group_unref(packet->group);
	packet->group = NULL;
	if (packet->fd >= 0)
		close(packet->fd);
	packet->fd = -1;
}

/* Send what waits; true: something still waits. */
static bool
session_flush(struct kald_session *session)
{
	struct kald_packet *packet;

	while ((packet = g_queue_peek_head(&session->out_queue)) != NULL) {
		uint32_t fds = packet->group != NULL ? KALD_SHARE_FDS : packet->fd >= 0;
		bool room = fds == 0 || kald_unread_room(session, fds);
		int error = room ? packet_send(session, packet) : ETOOMANYREFS;

		if (error == EAGAIN)
			return true;
		if (error == ETOOMANYREFS && fds > 0) {
			packet_without_fds(packet);
			continue;
		}
		if (error == 0 && fds > 0)
			kald_unread_add(session, fds);
		packet_free(g_queue_pop_head(&session->out_queue));
	}
	return false;
}

/* The rules have changed. A client that does not read gets the last ones when it reads. */
static void
rules_send(struct kald_session *session)
{
	session->rules_due = false;
	kald_welcome_send(session, 0);
}

static gboolean
session_writable(gint fd, GIOCondition condition, gpointer arg)
{
	struct kald_session *session = arg;

	(void)fd;
	if ((condition & (G_IO_HUP | G_IO_ERR)) != 0) {
		session->out = 0;
		session_end(session);
		return G_SOURCE_REMOVE;
	}
	if (session_flush(session))
		return G_SOURCE_CONTINUE;
	session->out = 0;
	if (session->rules_due)
		rules_send(session);
	kald_session_pace(session);
	return G_SOURCE_REMOVE;
}

static void
packet_queue(struct kald_session *session, const struct kald_message *message, int fd,
	     struct kald_group *group)
{
	struct kald_packet *packet = g_new(struct kald_packet, 1);

	packet->fd = fd;
	packet->group = group != NULL ? kald_group_ref(group) : NULL;
	packet->message = *message;
	g_queue_push_tail(&session->out_queue, packet);
	if (session->out == 0 && session_flush(session))
		session->out = g_unix_fd_add(session->fd, G_IO_OUT | G_IO_HUP | G_IO_ERR,
					     session_writable, session);
}

void
kald_session_send(struct kald_session *session, const struct kald_message *message, int fd)
{
	packet_queue(session, message, fd, NULL);
}

void
kald_session_send_group(struct kald_session *session, const struct kald_message *message,
			struct kald_group *group)
{
	packet_queue(session, message, -1, group);
}

void
kald_session_event(struct kald_session *session, enum kald_number number)
{
	struct kald_message event;

	kald_message_begin(&event, (uint16_t)number, 0, KALD_OK);
	kald_session_send(session, &event, -1);
}

void
kald_tell(struct kald_server *server, const struct kald_session *about, enum kald_what what,
	  const char *text)
{
	struct kald_message event;

	if (server->watchers == 0)
		return;
	kald_message_begin(&event, KALD_CHANGED, 0, KALD_OK);
	event.body.change.serial = about->serial;
	event.body.change.pid = about->pid;
	event.body.change.uid = about->uid;
	event.body.change.what = what;
	g_strlcpy(event.body.change.text, text, sizeof(event.body.change.text));
	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		struct kald_session *watcher = at->data;

		if (!watcher->watches || !kald_may_see(watcher, about))
			continue;
		if (watcher->out_queue.length >= KALD_WINDOW) {
			watcher->lost++;
			continue;
		}
		event.body.change.lost = watcher->lost;
		watcher->lost = 0;
		kald_session_send(watcher, &event, -1);
	}
}

/* --- input ----------------------------------------------------------------------------------------------- */

static bool
window_is_full(const struct kald_session *session)
{
	return session->out_queue.length + session->waiting >= KALD_WINDOW;
}

void
kald_session_pace(struct kald_session *session)
{
	if (session->in == 0 && session->pause == 0 && !session->slow && session->taking == NULL &&
	    !window_is_full(session))
		session->in = g_unix_fd_add(session->fd, G_IO_IN | G_IO_HUP | G_IO_ERR,
					    session_readable, session);
}

static void
session_wrong(const struct kald_session *session, const struct kald_message *request)
{
	kald_log("ended a connection of pid %u, user %u: wrong message %u of %u octets",
		 session->pid, session->uid, request->head.number, request->head.length);
}

/* One packet: 1: handled, 0: there is none now, or it is being taken apart, -1: the session has to end. */
static int
session_receive(struct kald_session *session)
{
	union kald_body octets[2]; /* room for what is too long, aligned */
	struct kald_message request;
	struct iovec part = {.iov_base = octets, .iov_len = sizeof(octets)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n = recvmsg(session->fd, &message, MSG_DONTWAIT | MSG_PEEK);
	enum kald_reading reading;

	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
	/* The end of the socket, or an empty packet, which is wrong as well. */
	if (n == 0 || (message.msg_flags & MSG_TRUNC) != 0)
		return -1;
	reading = kald_message_read(octets, (size_t)n, &request);
	if ((message.msg_flags & MSG_CTRUNC) != 0) {
		/* There are descriptors. */
		if (reading != KALD_READ || request.head.number != KALD_SHARE ||
		    session->kind != KALD_CLIENT)
			return -1;
		kald_take(session, &request);
		return 0;
	}
	(void)!recv(session->fd, octets, 1, MSG_DONTWAIT);
	if (reading != KALD_WRONG && kald_request(session, &request, reading))
		return 1;
	session_wrong(session, &request);
	return -1;
}

int64_t
kald_cpu_us(void)
{
	struct timespec used = {0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * G_USEC_PER_SEC + used.tv_nsec / 1000;
}

static gboolean pause_over(gpointer arg);
static gboolean slow_turn(gpointer arg);

/* Pause as long as the allowance is overdrawn. False: it is not. */
static bool
pause_begin(struct kald_session *session)
{
	gint64 debt = session->paid_till - g_get_monotonic_time() - ALLOWANCE * REQUEST_US;

	if (debt > 0 && session->pause == 0)
		session->pause = g_timeout_add((guint)((debt + REQUEST_US - 1) / REQUEST_US),
					       pause_over, session);
	return session->pause != 0;
}

/*
 * The timers of many slowed sessions can expire in the same millisecond. If all their requests were
 * handled in one go, another client would wait for all of them. So the main loop serves the other
 * sessions after each of these requests.
 */
static void
slow_begin(struct kald_session *session)
{
	struct kald_server *server = session->server;

	session->slow = true;
	g_queue_push_tail(&server->slow, session);
	if (server->slow_turns == 0)
		server->slow_turns = g_idle_add_full(G_PRIORITY_DEFAULT, slow_turn, server, NULL);
}

static gboolean
pause_over(gpointer arg)
{
	struct kald_session *session = arg;

	session->pause = 0;
	if (!pause_begin(session))
		slow_begin(session);
	return G_SOURCE_REMOVE;
}

/* Count one more request, which took that much. False: the allowance is used up, and the session pauses. */
static bool
allowance_take(struct kald_session *session, int64_t took)
{
	session->paid_till = MAX(session->paid_till, g_get_monotonic_time()) +
			     MAX(REQUEST_US, MAX(took, 0) * SHARE);
	return !pause_begin(session);
}

void
kald_session_taken(struct kald_session *session, const struct kald_message *request, bool fine,
		   int64_t took)
{
	if (fine && allowance_take(session, took))
		kald_session_pace(session);
	if (fine)
		return;
	session_wrong(session, request);
	session_end(session);
}

/* Handle at most that many of the requests that are there. False: nothing is read from it for now, or it has ended. */
static bool
session_turn(struct kald_session *session, unsigned requests)
{
	for (unsigned i = 0; i < requests; i++) {
		gint64 begin = kald_cpu_us();
		int got;

		if (window_is_full(session)) {
			session->in = 0;
			return false;
		}
		got = session_receive(session);
		if (got < 0) {
			session->in = 0;
			session_end(session);
			return false;
		}
		if (got == 0 && session->taking == NULL)
			break;
		if (!allowance_take(session, kald_cpu_us() - begin) || session->taking != NULL) {
			session->in = 0;
			return false;
		}
	}
	return true;
}

static gboolean
session_readable(gint fd, GIOCondition condition, gpointer arg)
{
	(void)fd;
	(void)condition;
	return session_turn(arg, TURN) ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean
slow_turn(gpointer arg)
{
	struct kald_server *server = arg;
	struct kald_session *session = g_queue_pop_head(&server->slow);

	if (session != NULL) {
		session->slow = false;
		/* While a packet is taken apart, nothing is read; kald_session_taken goes on. */
		if (session->taking == NULL && session_turn(session, 1))
			kald_session_pace(session);
	}
	if (server->slow.head != NULL)
		return G_SOURCE_CONTINUE;
	server->slow_turns = 0;
	return G_SOURCE_REMOVE;
}

/* --- beginning ------------------------------------------------------------------------------------------- */

/*
 * A pidfd of the process at the other end; -1 if the kernel gives none. *gone: the process has
 * ended already; then its number may belong to another process.
 */
static int
peer_pidfd(int fd, pid_t pid, bool *gone)
{
	int pidfd = -1;
	socklen_t len = sizeof(pidfd);
	uint8_t octet;
	ssize_t n;

	*gone = false;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
		return ri_fd_lift(pidfd);
	if (errno == ESRCH) {
		*gone = true;
		return -1;
	}
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		*gone = errno == ESRCH;
		return -1;
	}
	/* Still connected after the descriptor was made: then it is the process that connected. */
	n = recv(fd, &octet, sizeof(octet), MSG_PEEK | MSG_DONTWAIT);
	*gone = n == 0;
	return ri_fd_lift(pidfd);
}

/* Too many: say so in words, as the answer to the KALD_HELLO that will come. */
static void
turn_away(struct kald_server *server, int fd, struct kald_who who, struct kald_counts has)
{
	struct kald_message refusal;
	char rule[KALD_TEXT];

	kald_message_begin(&refusal, KALD_HELLO | KALD_REPLY, 0, KALD_NO_ROOM);
	if (has.closing >= CLOSING_MAX) {
		(void)snprintf(refusal.body.refusal.text, KALD_TEXT,
			       "%u ended connections of user %u hold descriptors that do not close",
			       has.closing, who.uid);
	} else {
		kald_policy_rule(server->policy, KALD_KEY_PROCESSES, who, rule, sizeof(rule));
		(void)snprintf(refusal.body.refusal.text, KALD_TEXT,
			       "%.160s; user %u has %u connections", rule, who.uid, has.live);
	}
	(void)!send(fd, &refusal, refusal.head.length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Takes over the descriptor. */
static void
session_begin(struct kald_server *server, int fd)
{
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);
	struct kald_session *session;
	bool gone = true;
	int pidfd = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0) {
		struct kald_who who = {.uid = cred.uid, .gid = cred.gid};
		struct kald_counts has = sessions_of(server, cred.uid);

		if (has.closing >= CLOSING_MAX ||
		    has.live >= kald_policy_processes(server->policy, who) + TOOLS_MAX)
			turn_away(server, fd, who, has);
		else
			pidfd = peer_pidfd(fd, cred.pid, &gone);
	}
	if (gone) {
		sessions_count(server, cred.uid, 0, 1);
		kald_session_close(server, cred.uid, fd);
		if (pidfd >= 0)
			close(pidfd);
		return;
	}
	session = g_new0(struct kald_session, 1);
	session->link.data = session;
	session->server = server;
	session->serial = ++server->next_serial;
	session->pid = (uint32_t)cred.pid;
	session->uid = cred.uid;
	session->gid = cred.gid;
	session->fd = fd;
	session->pidfd = pidfd;
	session->paid_till = g_get_monotonic_time() + (ALLOWANCE - FIRST_ONES) * REQUEST_US;
	session->adapters = g_ptr_array_new_with_free_func(g_free);
	session->ports = g_array_new(FALSE, FALSE, sizeof(uint16_t));
	g_queue_push_tail_link(&server->sessions, &session->link);
	sessions_count(server, session->uid, 1, 0);
	if (pidfd >= 0)
		session->death = g_unix_fd_add(pidfd, G_IO_IN, process_ended, session);
	session->greeting = g_timeout_add(GREETING_MS, greeting_over, session);
	kald_session_pace(session);
}

static gboolean
accept_again(gpointer arg)
{
	struct kald_server *server = arg;

	server->accepting = g_unix_fd_add(server->listener, G_IO_IN, accept_ready, server);
	return G_SOURCE_REMOVE;
}

static gboolean
accept_ready(gint listener, GIOCondition condition, gpointer arg)
{
	struct kald_server *server = arg;

	(void)condition;
	for (unsigned i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = ri_fd_accept(listener, NULL, NULL, SOCK_NONBLOCK);

		if (fd >= 0) {
			session_begin(server, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			kald_log("no descriptor is left for a client: %s", g_strerror(errno));
			server->accepting = g_timeout_add(ACCEPT_PAUSE_MS, accept_again, server);
			return G_SOURCE_REMOVE;
		}
		break;
	}
	return G_SOURCE_CONTINUE;
}

static void
limits_of(void *arg, struct kald_account *account)
{
	struct kald_server *server = arg;

	kald_policy_limits(server->policy, account);
}

struct kald_server *
kald_server_new(int listener, const char *policy_path, struct kal_why *why)
{
	struct kald_policy *policy = kald_policy_load(policy_path, why);
	struct kald_server *server;

	if (policy == NULL)
		return NULL;
	server = g_new0(struct kald_server, 1);
	server->listener = listener;
	server->policy = policy;
	server->policy_path = g_strdup(policy_path);
	server->ledger = kald_ledger_new(limits_of, server);
	server->by_user = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	server->started = g_get_monotonic_time();
	server->instance = (uint64_t)g_get_real_time();
	server->uid = geteuid();
	server->low = kald_drop_open();
	server->apart = kald_apart_new();
	g_queue_init(&server->sessions);
	g_queue_init(&server->borrows);
	g_queue_init(&server->listings);
	g_queue_init(&server->slow);
	g_queue_init(&server->groups);
	g_queue_init(&server->ended);
	server->unread = g_hash_table_new(g_direct_hash, g_direct_equal);
	server->accepting = g_unix_fd_add(listener, G_IO_IN, accept_ready, server);
	return server;
}

void
kald_server_free(struct kald_server *server)
{
	source_clear(&server->accepting);
	source_clear(&server->slow_turns);
	while (server->sessions.head != NULL)
		session_end(server->sessions.head->data);
	kald_share_free(server);
	kald_apart_free(server->apart);
	kald_unread_free(server);
	if (server->low >= 0)
		close(server->low);
	g_hash_table_destroy(server->by_user);
	kald_ledger_free(server->ledger);
	kald_policy_free(server->policy);
	g_free(server->policy_path);
	g_free(server);
}

bool
kald_server_reload(struct kald_server *server, struct kal_why *why)
{
	struct kald_policy *policy = kald_policy_load(server->policy_path, why);

	if (policy == NULL)
		return false;
	kald_policy_free(server->policy);
	server->policy = policy;
	kald_ledger_limits(server->ledger);
	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		struct kald_session *session = at->data;

		session->rules_due = session->kind == KALD_CLIENT;
		if (session->rules_due && session->out_queue.length < KALD_WINDOW)
			rules_send(session);
	}
	return true;
}
