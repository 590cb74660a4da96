/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_remote_share.h"

#include <stdlib.h>

#include "kal_remote_wire.h"
#include "ri_fd.h"

bool
kal_sharing_begin(struct kal_sharing **list, struct ri_share *share, const struct kald_addr *at,
		  uint32_t slot, struct kal_fd got[KALD_SHARE_FDS])
{
	struct kal_sharing *one = calloc(1, sizeof(*one));
	int fd = -1;

	if (one != NULL && kal_fd_get(&got[KALD_SHARE_FDS - 1]) >= 0)
		fd = ri_fd_duplicate(kal_fd_get(&got[slot]));
	if (fd < 0) {
		free(one);
		kal_remote_close_all(got);
		return false;
	}
	one->next = *list;
	one->share = share;
	one->at = *at;
	one->slot = slot;
	one->claimed = true;
	for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
		kal_fd_move(&one->fds[i], &got[i]);
	*list = one;
	share->fd = fd;
	share->slot = slot;
	return true;
}

struct kal_sharing **
kal_sharing_find(struct kal_sharing **list, const struct ri_share *share)
{
	while (*list != NULL && (*list)->share != share)
		list = &(*list)->next;
	return list;
}

void
kal_sharing_free(struct kal_sharing **link)
{
	struct kal_sharing *one = *link;

	*link = one->next;
	kal_remote_close_all(one->fds);
	free(one->over);
	free(one);
}

void
kal_sharing_again(struct kal_sharing *one)
{
	one->claimed = false;
	for (uint32_t i = 0; i < one->num_over; i++)
		one->over[i].told = false;
}

void
kal_sharing_service_over(struct kal_sharing *one, uint32_t service)
{
	if (one->num_over == one->room_over) {
		uint32_t room = one->room_over == 0 ? 8 : 2 * one->room_over;
		struct kal_service_over *over = realloc(one->over, room * sizeof(*over));

		if (over == NULL)
			return;
		one->over = over;
		one->room_over = room;
	}
	one->over[one->num_over++] = (struct kal_service_over){.service = service};
}

bool
kal_sharing_claim(struct kal_sharing *one, const struct kal_fd *fd, struct kald_message *message,
		  uint32_t *last_id)
{
	int fds[KALD_SHARE_FDS];

	if (!one->claimed) {
		for (unsigned i = 0; i < KALD_SHARE_FDS; i++)
			fds[i] = kal_fd_get(&one->fds[i]);
		kald_message_begin(message, KALD_SHARE, ++*last_id, KALD_OK);
		message->body.share.at = one->at;
		message->body.share.claim = one->slot + 1;
		/* The kernel lets few descriptors of a user be on their way at once. */
		one->claimed = kal_remote_send_with(fd, message, fds, KALD_SHARE_FDS) == 0;
		if (!one->claimed)
			return false;
	}
	for (uint32_t i = 0; i < one->num_over; i++) {
		if (one->over[i].told)
			continue;
		kald_message_begin(message, KALD_SERVICE_OVER, 0, KALD_OK);
		message->body.service.at = one->at;
		message->body.service.service = one->over[i].service;
		if (kal_remote_send(fd, message) != 0)
			return false;
		one->over[i].told = true;
		one->over[i].after = *last_id;
	}
	return true;
}

void
kal_sharing_answered(struct kal_sharing *one, uint32_t id)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < one->num_over; i++)
		if (!one->over[i].told || (int32_t)(id - one->over[i].after) <= 0)
			one->over[left++] = one->over[i];
	one->num_over = left;
}
