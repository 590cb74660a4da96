/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The list of processes. The first page waits until each of them has described itself, or for DESCRIBE_MS. */
#include <stdio.h>
#include <unistd.h>

#include "kald_server.h"
#include "ri_fd.h"

#define DESCRIBE_MS 100

struct kald_listing {
	struct kald_session *session;
	struct kald_head head;
	guint timer;
};

bool
kald_may_see(const struct kald_session *session, const struct kald_session *other)
{
	return session->uid == 0 || session->uid == session->server->uid ||
	       session->uid == other->uid;
}

/* As the kernel knows it: what a process says of itself is not asked. */
static void
command_read(uint32_t pid, char *text, size_t room)
{
	char path[64];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	fd = ri_fd_open(path, O_RDONLY, 0);
	n = fd >= 0 ? read(fd, text, room - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	g_strchomp(text);
}

/* A port has a socket for each of its addresses, and is shown once. */
static void
port_add(struct kald_entry *entry, uint16_t port)
{
	for (unsigned i = 0; i < MIN(entry->num_ports, KALD_PORTS_SHOWN); i++)
		if (entry->ports[i] == port)
			return;
	if (entry->num_ports < KALD_PORTS_SHOWN)
		entry->ports[entry->num_ports] = port;
	entry->num_ports++;
}

static void
entry_fill(const struct kald_session *session, struct kald_entry *entry)
{
	entry->serial = session->serial;
	entry->pid = session->pid;
	entry->uid = session->uid;
	entry->gid = session->gid;
	entry->stopped = session->stopped;
	entry->described = !session->describing;
	for (unsigned resource = 0; resource < KAL_RESOURCE_COUNT; resource++) {
		entry->lent[resource] = session->borrower.leases[resource].amount;
		entry->used[resource] = session->used[resource];
	}
	command_read(session->pid, entry->command, sizeof(entry->command));
	for (unsigned i = 0; i < session->adapters->len; i++) {
		if (i > 0)
			g_strlcat(entry->adapters, " ", sizeof(entry->adapters));
		g_strlcat(entry->adapters, g_ptr_array_index(session->adapters, i),
			  sizeof(entry->adapters));
	}
	for (unsigned i = 0; i < session->ports->len; i++)
		port_add(entry, g_array_index(session->ports, uint16_t, i));
}

static void
page_send(struct kald_session *session, const struct kald_head *to, uint64_t after)
{
	struct kald_message reply;
	struct kald_listed *listed = &reply.body.listed;

	kald_message_begin(&reply, KALD_LIST | KALD_REPLY, to->id, KALD_OK);
	for (GList *at = session->server->sessions.head; at != NULL; at = at->next) {
		const struct kald_session *other = at->data;

		if (other->serial <= after || other->kind != KALD_CLIENT ||
		    !kald_may_see(session, other))
			continue;
		if (listed->count == KALD_LIST_MAX) {
			listed->next = listed->entries[KALD_LIST_MAX - 1].serial;
			break;
		}
		entry_fill(other, &listed->entries[listed->count++]);
	}
	kald_session_send(session, &reply, -1);
}

static void
listing_end(struct kald_listing *listing)
{
	struct kald_session *session = listing->session;

	if (listing->timer != 0)
		g_source_remove(listing->timer);
	g_queue_remove(&session->server->listings, listing);
	session->waiting--;
	page_send(session, &listing->head, 0);
	kald_session_pace(session);
	g_free(listing);
}

static gboolean
listing_over(gpointer arg)
{
	struct kald_listing *listing = arg;

	listing->timer = 0;
	listing_end(listing);
	return G_SOURCE_REMOVE;
}

/* Ask all processes; each not more often than every DESCRIBE_MS, however often tools ask. */
static void
describe_all(struct kald_server *server)
{
	gint64 now = g_get_monotonic_time();

	for (GList *at = server->sessions.head; at != NULL; at = at->next) {
		struct kald_session *session = at->data;

		if (session->kind != KALD_CLIENT || session->describing ||
		    now < session->describe_again)
			continue;
		session->describe_again = now + DESCRIBE_MS * 1000;
		session->describing = true;
		server->describing++;
		kald_session_event(session, KALD_DESCRIBE);
	}
}

void
kald_described(struct kald_session *session)
{
	struct kald_server *server = session->server;

	if (session->describing) {
		session->describing = false;
		server->describing--;
	}
	while (server->describing == 0 && server->listings.head != NULL)
		listing_end(server->listings.head->data);
}

void
kald_list(struct kald_session *session, const struct kald_message *request)
{
	struct kald_server *server = session->server;
	struct kald_listing *listing;

	if (request->body.list.after == 0)
		describe_all(server);
	if (request->body.list.after != 0 || server->describing == 0) {
		page_send(session, &request->head, request->body.list.after);
		return;
	}
	listing = g_new0(struct kald_listing, 1);
	listing->session = session;
	listing->head = request->head;
	listing->timer = g_timeout_add(DESCRIBE_MS, listing_over, listing);
	g_queue_push_tail(&server->listings, listing);
	session->waiting++;
}

void
kald_list_forget(struct kald_session *session)
{
	GList *at = session->server->listings.head;

	while (at != NULL) {
		struct kald_listing *listing = at->data;

		at = at->next;
		if (listing->session != session)
			continue;
		g_source_remove(listing->timer);
		g_queue_remove(&session->server->listings, listing);
		g_free(listing);
	}
}
