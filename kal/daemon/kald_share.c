/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Addresses that several processes of one user share. A process has the same slot at all addresses that it shares. A process that has a
 * descriptor of a group can harm all members of the group. So all members belong to one user, and kald examines each socket that a client
 * offers as a member's.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "kald_group.h"
#include "kald_server.h"

#define PORT          4791 /* of RoCE, UDP */
#define ADAPTER       "roce:"
#define GROUPS_MAX    128
#define GROUPS_OF_ONE 16 /* user */
#define RETURN_MS \
	15000 /* members that have not come back after a restart: longer than a client waits between attempts */

static struct kald_addr
address_of(const struct kald_addr *said)
{
	struct kald_addr at = {.family = said->family, .port = said->port};

	memcpy(at.octets, said->octets, at.family == AF_INET ? 4 : 16);
	if (IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)(const void *)at.octets) &&
	    at.family == AF_INET6)
		at.scope = said->scope;
	return at;
}

struct kald_addr
kald_share_address(const struct kald_share *said)
{
	return address_of(&said->at);
}

static struct kald_group *
group_find(const struct kald_server *server, const struct kald_addr *at)
{
	for (GList *link = server->groups.head; link != NULL; link = link->next) {
		struct kald_group *group = link->data;

		if (memcmp(&group->at, at, sizeof(*at)) == 0)
			return group;
	}
	return NULL;
}

static unsigned
groups_of(const struct kald_server *server, uint32_t uid)
{
	unsigned count = 0;

	for (GList *link = server->groups.head; link != NULL; link = link->next)
		count += ((const struct kald_group *)link->data)->uid == uid;
	return count;
}

/* Slots that processes of the user have, but this session; `kept`: and those that are kept for some. */
static uint64_t
slots_of_others(const struct kald_session *session, bool kept)
{
	uint64_t slots = 0;

	for (GList *link = session->server->groups.head; link != NULL; link = link->next) {
		const struct kald_group *group = link->data;

		if (group->uid != session->uid)
			continue;
		slots |= kept ? group->kept : 0;
		for (unsigned i = 0; i < KALD_SLOTS; i++)
			if (group->members[i] != NULL && group->members[i] != session)
				slots |= UINT64_C(1) << i;
	}
	return slots;
}

static G_GNUC_PRINTF(4, 5) void refuse(struct kald_session *session,
				       const struct kald_message *request, int error,
				       const char *format, ...)
{
	struct kald_refusal why = {.error = (uint32_t)error};
	enum kald_status status = error == 0        ? KALD_FORBIDDEN
				  : error == ENOSPC ? KALD_NO_ROOM
						    : KALD_SYSTEM;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why.text, sizeof(why.text), format, args);
	va_end(args);
	kald_refuse(session, &request->head, status, &why);
}

/* --- groups that end ------------------------------------------------------------------------------------ */

static void
group_drop(struct kald_server *server, struct kald_group *group)
{
	if (group->timer != 0)
		g_source_remove(group->timer);
	g_queue_remove(&server->groups, group);
	kald_group_unref(group);
}

/* These slots are free. What is left of a group without members is closed. */
static void
slots_free(struct kald_server *server, struct kald_group *group, uint64_t slots)
{
	struct kald_steer steer = group->steer;

	for (uint32_t slot = 0; slot < KALD_SLOTS; slot++) {
		if ((slots >> slot & 1) == 0)
			continue;
		kald_steer_free(&steer, slot);
		group->members[slot] = NULL;
	}
	group->kept &= ~slots;
	if (steer.used == 0) {
		group_drop(server, group);
		return;
	}
	kald_group_unsteer(group, &steer);
	for (uint32_t slot = 0; slot < KALD_SLOTS; slot++)
		if ((slots >> slot & 1) != 0)
			kald_group_drain(group, slot);
}

struct returning {
	struct kald_server *server;
	struct kald_group *group;
};

static gboolean
return_over(gpointer arg)
{
	struct returning *returning = arg;

	returning->group->timer = 0;
	if (returning->group->kept != 0)
		slots_free(returning->server, returning->group, returning->group->kept);
	return G_SOURCE_REMOVE;
}

/* --- taking and claiming -------------------------------------------------------------------------------- */

/* May a process share this address at all? If not, it is refused. */
static bool
may_share(struct kald_session *session, const struct kald_message *request,
	  const struct kald_addr *at)
{
	const struct in6_addr *v6 = (const void *)at->octets;
	bool one = at->family == AF_INET
			   ? at->octets[0] != 0 && at->octets[0] < 224
			   : !IN6_IS_ADDR_UNSPECIFIED(v6) && !IN6_IS_ADDR_MULTICAST(v6);
	bool open = false;

	for (guint i = 0; i < session->adapters->len; i++)
		open = open || g_str_has_prefix(g_ptr_array_index(session->adapters, i), ADAPTER);
	if (open && one && at->port == PORT)
		return true;
	refuse(session, request, 0, "%s",
	       !open ? "only a process that has opened an adapter of roce can share an address"
	       : one ? "only UDP port 4791 can be shared"
		     : "only an address of a single host can be shared");
	return false;
}

static struct kald_group *
group_of_claim(struct kald_session *session, const struct kald_message *request,
	       struct kald_group *group)
{
	uint64_t own = UINT64_C(1) << (request->body.share.claim - 1);
	bool mine = session->slot == 0 || session->slot == request->body.share.claim;
	struct kald_server *server = session->server;
	const char *why = NULL;

	if (group != NULL) {
		if (!kald_group_is(group, session->got, &why)) {
			refuse(session, request, EINVAL, "a claim is wrong: %s", why);
			return NULL;
		}
		own &= group->kept;
	} else if (server->groups.length >= GROUPS_MAX ||
		   groups_of(server, session->uid) >= GROUPS_OF_ONE) {
		refuse(session, request, ENOSPC, "too many addresses are shared");
		return NULL;
	}
	if (!mine || own == 0 || (slots_of_others(session, false) & own) != 0) {
		refuse(session, request, EADDRINUSE, "a claim is wrong: slot %u is another's",
		       request->body.share.claim - 1);
		return NULL;
	}
	if (group != NULL)
		return group;
	group = kald_group_claim(session->got, session->uid, &why);
	if (group == NULL) {
		refuse(session, request, EINVAL, "a claim is wrong: %s", why);
		return NULL;
	}
	group->kept = group->steer.used;
	group->timer = g_timeout_add_full(
		G_PRIORITY_DEFAULT, RETURN_MS, return_over,
		g_memdup2(&(struct returning){server, group}, sizeof(struct returning)), g_free);
	g_queue_push_tail(&server->groups, group);
	return group;
}

static struct kald_group *
group_to_take(struct kald_session *session, const struct kald_message *request,
	      const struct kald_addr *at, struct kald_group *group)
{
	struct kald_server *server = session->server;
	int error = 0;

	if (session->got == NULL || !session->got->here) {
		refuse(session, request, 0,
		       "a process of another network namespace cannot share an address");
		return NULL;
	}
	if (group != NULL)
		return group;
	if (server->groups.length >= GROUPS_MAX ||
	    groups_of(server, session->uid) >= GROUPS_OF_ONE) {
		refuse(session, request, ENOSPC, "user %u shares %u addresses, and kald has %u",
		       session->uid, groups_of(server, session->uid), server->groups.length);
		return NULL;
	}
	group = kald_group_new(at, session->uid, &error);
	if (group == NULL)
		refuse(session, request, error, "kald cannot open UDP port %u: %s", PORT,
		       g_strerror(error));
	else
		g_queue_push_tail(&server->groups, group);
	return group;
}

/* A slot that no process of the user has; after the one that was given last, so that packets for its last owner find no queue pair. */
static bool
slot_find(struct kald_session *session, uint32_t *slot)
{
	uint64_t taken = slots_of_others(session, true);

	for (uint32_t i = 0; i < KALD_SLOTS; i++) {
		*slot = (session->server->next_slot + i) % KALD_SLOTS;
		if ((taken >> *slot & 1) == 0)
			return true;
	}
	return false;
}

static void
join(struct kald_session *session, const struct kald_message *request, struct kald_group *group,
     uint32_t slot)
{
	bool claim = request->body.share.claim != 0;
	struct kald_steer steer = group->steer;
	struct kald_message reply;
	int error;

	steer.used |= UINT64_C(1) << slot;
	error = kald_group_steer(group, &steer);
	if (error != 0) {
		refuse(session, request, error, "the kernel does not steer packets: %s",
		       g_strerror(error));
		if (group->steer.used == 0)
			group_drop(session->server, group);
		return;
	}
	group->kept &= ~(UINT64_C(1) << slot);
	group->members[slot] = session;
	if (session->slot == 0 && !claim)
		session->server->next_slot = (slot + 1) % KALD_SLOTS;
	session->slot = slot + 1;
	kald_message_begin(&reply, KALD_SHARE | KALD_REPLY, request->head.id, KALD_OK);
	reply.body.shared.slot = slot;
	kald_session_send_group(session, &reply, claim ? NULL : group);
}

void
kald_share(struct kald_session *session, const struct kald_message *request)
{
	const struct kald_share *said = &request->body.share;
	struct kald_addr at = address_of(&said->at);
	struct kald_group *group = group_find(session->server, &at);
	uint32_t slot = said->claim - 1;

	if (!may_share(session, request, &at))
		return;
	if (group != NULL && group->uid != session->uid) {
		refuse(session, request, EADDRINUSE,
		       "processes of user %u share that address; another user needs another one",
		       group->uid);
		return;
	}
	if (group != NULL && session->slot != 0 && group->members[session->slot - 1] == session) {
		refuse(session, request, EALREADY, "the process shares that address already");
		return;
	}
	if (said->claim == 0 && session->slot != 0) {
		slot = session->slot - 1;
	} else if (said->claim == 0 && !slot_find(session, &slot)) {
		refuse(session, request, ENOSPC,
		       "%u processes of user %u share addresses, and there is no more room",
		       KALD_SLOTS, session->uid);
		return;
	}
	group = said->claim != 0 ? group_of_claim(session, request, group)
				 : group_to_take(session, request, &at, group);
	if (group != NULL)
		join(session, request, group, slot);
}

/* The session as a member of the group at that address; NULL: it is not a member. */
static struct kald_group *
group_of_member(const struct kald_session *session, const struct kald_addr *said)
{
	struct kald_addr at = address_of(said);
	struct kald_group *group = group_find(session->server, &at);

	return group != NULL && session->slot != 0 && group->members[session->slot - 1] == session
		       ? group
		       : NULL;
}

/* A process that shares nothing any more has no slot. */
static void
slot_forget(struct kald_session *session)
{
	for (GList *link = session->server->groups.head; link != NULL; link = link->next)
		if (((const struct kald_group *)link->data)->members[session->slot - 1] == session)
			return;
	session->slot = 0;
}

void
kald_share_over(struct kald_session *session, const struct kald_share *said)
{
	struct kald_group *group = group_of_member(session, &said->at);

	if (group == NULL)
		return;
	slots_free(session->server, group, UINT64_C(1) << (session->slot - 1));
	slot_forget(session);
}

void
kald_share_forget(struct kald_session *session)
{
	GList *next;

	if (session->slot == 0)
		return;
	for (GList *link = session->server->groups.head; link != NULL; link = next) {
		struct kald_group *group = link->data;

		next = link->next;
		if (group->members[session->slot - 1] == session)
			slots_free(session->server, group, UINT64_C(1) << (session->slot - 1));
	}
	session->slot = 0;
}

void
kald_share_free(struct kald_server *server)
{
	while (server->groups.head != NULL)
		group_drop(server, server->groups.head->data);
}

/* --- services ------------------------------------------------------------------------------------------- */

void
kald_service(struct kald_session *session, const struct kald_message *request)
{
	const struct kald_service *said = &request->body.service;
	struct kald_group *group = group_of_member(session, &said->at);
	struct kald_steer steer;
	struct kald_message reply;
	int error, at;

	if (group == NULL) {
		refuse(session, request, 0, "the process does not share that address");
		return;
	}
	steer = group->steer;
	at = kald_steer_find(&steer, said->service);
	if (at >= 0 && steer.services[at].slot != session->slot - 1) {
		refuse(session, request, EADDRINUSE, "the process with slot %u listens there",
		       steer.services[at].slot);
		return;
	}
	if (at < 0) {
		if (steer.count == KALD_SERVICES_MAX) {
			refuse(session, request, ENOSPC, "the address has %u listeners",
			       KALD_SERVICES_MAX);
			return;
		}
		steer.services[steer.count++] =
			(struct kald_steered){.service = said->service, .slot = session->slot - 1};
		error = kald_group_steer(group, &steer);
		if (error != 0) {
			refuse(session, request, error,
			       "the kernel does not steer packets of %u listeners: %s", steer.count,
			       g_strerror(error));
			return;
		}
	}
	kald_message_begin(&reply, KALD_SERVICE | KALD_REPLY, request->head.id, KALD_OK);
	kald_session_send(session, &reply, -1);
}

void
kald_service_over(struct kald_session *session, const struct kald_service *said)
{
	struct kald_group *group = group_of_member(session, &said->at);
	struct kald_steer steer;
	int at;

	if (group == NULL)
		return;
	steer = group->steer;
	at = kald_steer_find(&steer, said->service);
	if (at < 0 || steer.services[at].slot != session->slot - 1)
		return;
	steer.services[at] = steer.services[--steer.count];
	kald_group_unsteer(group, &steer);
}

/* --- the list ------------------------------------------------------------------------------------------- */

static void
sharing_fill(const struct kald_group *group, uint32_t slot, struct kald_sharing *sharing)
{
	sharing->at = group->at;
	sharing->pid = group->members[slot]->pid;
	sharing->uid = group->uid;
	sharing->slot = slot;
	for (uint32_t i = 0; i < group->steer.count; i++)
		sharing->services += group->steer.services[i].slot == slot;
}

void
kald_shares(struct kald_session *session, const struct kald_message *request)
{
	struct kald_message reply;
	struct kald_sharings *sharings = &reply.body.sharings;
	uint64_t number = 0;

	kald_message_begin(&reply, KALD_SHARES | KALD_REPLY, request->head.id, KALD_OK);
	for (GList *link = session->server->groups.head; link != NULL; link = link->next) {
		const struct kald_group *group = link->data;

		if (session->uid != 0 && session->uid != session->server->uid &&
		    session->uid != group->uid)
			continue;
		for (uint32_t slot = 0; slot < KALD_SLOTS; slot++) {
			if (group->members[slot] == NULL || number++ < request->body.list.after)
				continue;
			if (sharings->count == KALD_SHARES_SHOWN) {
				sharings->next = number - 1;
				kald_session_send(session, &reply, -1);
				return;
			}
			sharing_fill(group, slot, &sharings->entries[sharings->count++]);
		}
	}
	kald_session_send(session, &reply, -1);
}
