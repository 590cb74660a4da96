/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_remote_claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kal_remote_wire.h"

static void
ending_free(struct kal_claims *claims)
{
	struct kal_ending *one = claims->endings;

	claims->endings = one->next;
	free(one);
}

void
kal_claims_again(struct kal_claims *claims)
{
	while (claims->endings != NULL)
		ending_free(claims);
	memset(claims->claimed, 0, sizeof(claims->claimed));
	for (struct kal_listening *one = claims->listening; one != NULL; one = one->next)
		one->claimed = false;
	for (struct kal_sharing *one = claims->sharings; one != NULL; one = one->next)
		kal_sharing_again(one);
}

void
kal_claims_answered(struct kal_claims *claims, uint32_t id)
{
	for (struct kal_sharing *one = claims->sharings; one != NULL; one = one->next)
		kal_sharing_answered(one, id);
}

bool
kal_claims_end(struct kal_claims *claims, const struct kald_message *message)
{
	size_t length = sizeof(message->head) + kald_body_size(message->head.number, KALD_OK);
	struct kal_ending *one = malloc(sizeof(*one) + length), **last = &claims->endings;

	if (one == NULL)
		return false;
	*one = (struct kal_ending){.length = length};
	memcpy(one->octets, message, length);
	while (*last != NULL)
		last = &(*last)->next;
	*last = one;
	return true;
}

static bool
endings_post(struct kal_claims *claims, const struct kal_fd *fd, struct kald_message *message)
{
	while (claims->endings != NULL) {
		memcpy(message, claims->endings->octets, claims->endings->length);
		if (kal_remote_send(fd, message) != 0)
			return false;
		ending_free(claims);
	}
	return true;
}

static bool
names_post(struct kal_claims *claims, const struct kal_fd *fd, struct kald_message *message,
	   uint32_t *last_id)
{
	for (unsigned i = 0; i < KAL_NAMES_MAX; i++) {
		if (claims->claimed[i] || claims->names[i][0] == '\0')
			continue;
		kald_message_begin(message, KALD_OPEN, ++*last_id, KALD_OK);
		memcpy(message->body.name.name, claims->names[i], KALD_NAME);
		if (kal_remote_send(fd, message) != 0)
			return false;
		claims->claimed[i] = true;
	}
	return true;
}

static bool
listening_post(struct kal_claims *claims, const struct kal_fd *fd, struct kald_message *message,
	       uint32_t *last_id)
{
	for (struct kal_listening *one = claims->listening; one != NULL; one = one->next) {
		if (one->claimed)
			continue;
		kald_message_begin(message, KALD_LISTEN, ++*last_id, KALD_OK);
		message->body.listen.at = one->at;
		message->body.listen.have = 1;
		if (kal_remote_send(fd, message) != 0)
			return false;
		one->claimed = true;
	}
	return true;
}

bool
kal_claims_post(struct kal_claims *claims, const struct kal_fd *fd, struct kald_message *message,
		uint32_t *last_id)
{
	if (!endings_post(claims, fd, message) || !names_post(claims, fd, message, last_id))
		return false;
	/* Before the many listeners: a slot is kept for a while only. */
	for (struct kal_sharing *one = claims->sharings; one != NULL; one = one->next)
		if (!kal_sharing_claim(one, fd, message, last_id))
			return false;
	return listening_post(claims, fd, message, last_id);
}

void
kal_claims_name(struct kal_claims *claims, const char *adapter, bool open)
{
	const char *seek = open ? "" : adapter;

	for (unsigned i = 0; i < KAL_NAMES_MAX; i++) {
		if (strcmp(claims->names[i], seek) != 0)
			continue;
		(void)snprintf(claims->names[i], KALD_NAME, "%s", open ? adapter : "");
		claims->claimed[i] = true;
		return;
	}
}

void
kal_claims_listen(struct kal_claims *claims, const struct kald_addr *at)
{
	struct kal_listening *one = malloc(sizeof(*one));

	if (one == NULL)
		return;
	*one = (struct kal_listening){.next = claims->listening, .at = *at, .claimed = true};
	claims->listening = one;
}

void
kal_claims_listen_over(struct kal_claims *claims, const struct kald_addr *at)
{
	struct kal_listening **link = &claims->listening;

	while (*link != NULL && memcmp(&(*link)->at, at, sizeof(*at)) != 0)
		link = &(*link)->next;
	if (*link != NULL) {
		struct kal_listening *one = *link;

		*link = one->next;
		free(one);
	}
}

void
kal_claims_free(struct kal_claims *claims)
{
	while (claims->endings != NULL)
		ending_free(claims);
	memset(claims->names, 0, sizeof(claims->names));
	while (claims->listening != NULL) {
		struct kal_listening *one = claims->listening;

		claims->listening = one->next;
		free(one);
	}
	while (claims->sharings != NULL)
		kal_sharing_free(&claims->sharings);
}
