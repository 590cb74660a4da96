/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The parser of both ends: sizes by number, and values that cannot be. What is allowed is decided by those that ask. */
#include "kald_wire.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_config.h"

_Static_assert(KAL_RESOURCE_COUNT <= KALD_RESOURCES, "each resource has its place");
_Static_assert(sizeof(struct kald_message) == KALD_MESSAGE_MAX, "it fills a packet");

/* Sizes of bodies in version 1, the shortest that are read. A zero is no such message. */
static const uint16_t request_sizes[KALD_REQUESTS_END] = {
	[KALD_HELLO] = sizeof(struct kald_hello),
	[KALD_BORROW] = sizeof(struct kald_amount),
	[KALD_RETURN] = sizeof(struct kald_amount),
	[KALD_OPEN] = sizeof(struct kald_name),
	[KALD_CLOSE] = sizeof(struct kald_name),
	[KALD_LISTEN] = sizeof(struct kald_listen),
	[KALD_LISTEN_OVER] = sizeof(struct kald_listen),
	[KALD_DIAL] = sizeof(struct kald_dial),
	[KALD_DESCRIPTION] = sizeof(struct kald_description),
	[KALD_LIST] = sizeof(struct kald_list),
	[KALD_LIMITS] = sizeof(struct kald_limits),
	[KALD_STOP] = sizeof(struct kald_stop),
	[KALD_WATCH] = sizeof(struct kald_nothing),
	[KALD_SHARE] = sizeof(struct kald_share),
	[KALD_SHARE_OVER] = sizeof(struct kald_share),
	[KALD_SERVICE] = sizeof(struct kald_service),
	[KALD_SERVICE_OVER] = sizeof(struct kald_service),
	[KALD_SHARES] = sizeof(struct kald_list),
};

static const uint16_t reply_sizes[KALD_REQUESTS_END] = {
	[KALD_HELLO] = sizeof(struct kald_welcome),   [KALD_BORROW] = sizeof(struct kald_amount),
	[KALD_OPEN] = sizeof(struct kald_nothing),    [KALD_LISTEN] = sizeof(struct kald_nothing),
	[KALD_DIAL] = sizeof(struct kald_nothing),    [KALD_LIST] = sizeof(struct kald_listed),
	[KALD_LIMITS] = sizeof(struct kald_limited),  [KALD_STOP] = sizeof(struct kald_stop_reply),
	[KALD_WATCH] = sizeof(struct kald_nothing),   [KALD_SHARE] = sizeof(struct kald_shared),
	[KALD_SERVICE] = sizeof(struct kald_nothing), [KALD_SHARES] = sizeof(struct kald_sharings),
};

static const uint16_t event_sizes[KALD_EVENTS_END - KALD_EVENTS] = {
	[KALD_RECALL - KALD_EVENTS] = sizeof(struct kald_amount),
	[KALD_DESCRIBE - KALD_EVENTS] = sizeof(struct kald_nothing),
	[KALD_STOPPED - KALD_EVENTS] = sizeof(struct kald_nothing),
	[KALD_CHANGED - KALD_EVENTS] = sizeof(struct kald_change),
};

size_t
kald_body_size(uint16_t number, uint32_t status)
{
	uint16_t request = number & (uint16_t)~KALD_REPLY;

	if ((number & KALD_REPLY) != 0 && status != KALD_OK)
		return sizeof(struct kald_refusal);
	if (request < KALD_REQUESTS_END)
		return (number & KALD_REPLY) != 0 ? reply_sizes[request] : request_sizes[request];
	if (number >= KALD_EVENTS && number < KALD_EVENTS_END)
		return event_sizes[number - KALD_EVENTS];
	return 0;
}

bool
kald_text_ends(const char *text, size_t room)
{
	return memchr(text, '\0', room) != NULL;
}

static bool
addr_is_valid(const struct kald_addr *addr)
{
	return addr->family == AF_INET || addr->family == AF_INET6;
}

static bool
welcome_is_valid(const struct kald_welcome *welcome)
{
	if (welcome->num_nets > KALD_NETS_MAX ||
	    !kald_text_ends(welcome->peers_rule, sizeof(welcome->peers_rule)))
		return false;
	for (uint32_t i = 0; i < welcome->num_nets; i++) {
		const struct kald_net *net = &welcome->nets[i];

		if ((net->family != AF_INET || net->prefix > 32) &&
		    (net->family != AF_INET6 || net->prefix > 128))
			return false;
	}
	return true;
}

static bool
listed_is_valid(const struct kald_listed *listed)
{
	if (listed->count > KALD_LIST_MAX)
		return false;
	for (uint32_t i = 0; i < listed->count; i++) {
		const struct kald_entry *entry = &listed->entries[i];

		if (!kald_text_ends(entry->command, sizeof(entry->command)) ||
		    !kald_text_ends(entry->adapters, sizeof(entry->adapters)))
			return false;
	}
	return true;
}

static bool
sharings_are_valid(const struct kald_sharings *sharings)
{
	if (sharings->count > KALD_SHARES_SHOWN)
		return false;
	for (uint32_t i = 0; i < sharings->count; i++)
		if (!addr_is_valid(&sharings->entries[i].at) ||
		    sharings->entries[i].slot >= KALD_SLOTS)
			return false;
	return true;
}

/* Values that no request may have, whatever the rules say. */
static bool
request_is_valid(uint16_t number, const union kald_body *body)
{
	switch (number) {
	case KALD_HELLO:
		return body->hello.version_min <= body->hello.version_max &&
		       (body->hello.kind == KALD_CLIENT || body->hello.kind == KALD_TOOL);
	case KALD_BORROW:
	case KALD_RETURN:
		return body->amount.resource < KAL_RESOURCE_COUNT && body->amount.reserved == 0;
	case KALD_OPEN:
	case KALD_CLOSE:
		return kald_text_ends(body->name.name, sizeof(body->name.name)) &&
		       body->name.name[0] != '\0';
	case KALD_LISTEN:
	case KALD_LISTEN_OVER:
		return addr_is_valid(&body->listen.at) && body->listen.have <= 1 &&
		       body->listen.at.port != 0;
	case KALD_DIAL:
		return addr_is_valid(&body->dial.peer) && body->dial.peer.port != 0 &&
		       (body->dial.local.family == 0 ||
			body->dial.local.family == body->dial.peer.family);
	case KALD_LIMITS:
		return body->limits.level < KALD_LEVEL_COUNT;
	case KALD_SHARE:
	case KALD_SHARE_OVER:
		return addr_is_valid(&body->share.at) && body->share.at.port != 0 &&
		       body->share.claim <= KALD_SLOTS && body->share.reserved == 0;
	case KALD_SERVICE:
	case KALD_SERVICE_OVER:
		return addr_is_valid(&body->service.at) && body->service.at.port != 0 &&
		       body->service.reserved == 0;
	default:
		return true;
	}
}

static bool
answer_is_valid(const struct kald_head *head, const union kald_body *body)
{
	if ((head->number & KALD_REPLY) != 0 && head->status != KALD_OK)
		return kald_text_ends(body->refusal.text, sizeof(body->refusal.text));
	switch (head->number) {
	case KALD_REPLY | KALD_HELLO:
		return welcome_is_valid(&body->welcome);
	case KALD_REPLY | KALD_BORROW:
	case KALD_RECALL:
		return body->amount.resource < KAL_RESOURCE_COUNT;
	case KALD_REPLY | KALD_LIST:
		return listed_is_valid(&body->listed);
	case KALD_REPLY | KALD_SHARE:
		return body->shared.slot < KALD_SLOTS;
	case KALD_REPLY | KALD_SHARES:
		return sharings_are_valid(&body->sharings);
	case KALD_CHANGED:
		return kald_text_ends(body->change.text, sizeof(body->change.text));
	default:
		return true;
	}
}

enum kald_reading
kald_message_read(const void *octets, size_t len, struct kald_message *out)
{
	size_t size, here;

	memset(out, 0, sizeof(*out));
	if (len < sizeof(out->head) || len > KALD_MESSAGE_MAX)
		return KALD_WRONG;
	memcpy(&out->head, octets, sizeof(out->head));
	if (out->head.length != len || out->head.number == KALD_NONE || out->head.version == 0)
		return KALD_WRONG;
	if ((out->head.number & KALD_REPLY) == 0 && out->head.status != KALD_OK)
		return KALD_WRONG;
	size = kald_body_size(out->head.number, out->head.status);
	if (size == 0)
		return KALD_UNKNOWN;
	here = len - sizeof(out->head);
	if (here < size)
		return KALD_WRONG;
	memcpy(&out->body, (const uint8_t *)octets + sizeof(out->head), size);
	out->head.length = (uint32_t)(sizeof(out->head) + size);
	if (out->head.number < KALD_REQUESTS_END)
		return request_is_valid(out->head.number, &out->body) ? KALD_READ : KALD_WRONG;
	return answer_is_valid(&out->head, &out->body) ? KALD_READ : KALD_WRONG;
}

void
kald_message_begin(struct kald_message *message, uint16_t number, uint32_t id, uint32_t status)
{
	memset(message, 0, sizeof(*message));
	message->head.number = number;
	message->head.version = KALD_VERSION;
	message->head.id = id;
	message->head.status = status;
	message->head.length = (uint32_t)(sizeof(message->head) + kald_body_size(number, status));
}

bool
kald_is_trusted(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	       (cred.uid == 0 || cred.uid == geteuid());
}
