/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>

#include "tool_error.h"
#include "tool_mail.h"

#define OUTGOING ((size_t)TOOL_MAIL_SLOTS * TOOL_MAIL_SIZE)

struct tool_link_spec
tool_mail_spec(unsigned seconds)
{
	struct tool_link_spec spec = {
		.requests = 64,
		.receives = TOOL_MAIL_SLOTS,
		.segments = 1,
		.seconds = seconds,
	};

	return spec;
}

static bool
post_receive(struct tool_mail *mail, size_t slot, GError **error)
{
	it_lmr_triplet_t part =
		tool_memory_part(&mail->memory, slot * TOOL_MAIL_SIZE, TOOL_MAIL_SIZE);

	return tool_check(it_post_recv(mail->link->ep, &part, 1, slot, IT_COMPLETION_FLAG),
			  "it_post_recv", error);
}

bool
tool_mail_open(struct tool_mail *mail, struct tool_link *link, GError **error)
{
	mail->link = link;
	if (!tool_memory_make(&mail->memory, link->adapter, OUTGOING + TOOL_MAIL_SIZE, IT_PRIV_NONE,
			      false, error))
		return false;
	for (size_t slot = 0; slot < TOOL_MAIL_SLOTS; slot++) {
		if (!post_receive(mail, slot, error))
			return false;
	}
	return true;
}

void
tool_mail_close(struct tool_mail *mail)
{
	tool_memory_free(&mail->memory);
}

bool
tool_mail_send(struct tool_mail *mail, const void *letter, size_t len, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&mail->memory, OUTGOING, len);
	it_dto_cmpl_event_t event;

	if (len > TOOL_MAIL_SIZE)
		return tool_fail(error, TOOL_ERROR_FAILED, "a message of %zu octets is too long",
				 len);
	memcpy(mail->memory.octets + OUTGOING, letter, len);
	return tool_check(it_post_send(mail->link->ep, &part, 1, 0, IT_COMPLETION_FLAG),
			  "it_post_send", error) &&
	       tool_link_done(mail->link, &event, error);
}

bool
tool_mail_receive(struct tool_mail *mail, void *letter, size_t *len, GError **error)
{
	it_dto_cmpl_event_t event;

	if (!tool_link_received(mail->link, &event, error))
		return false;
	if (event.transferred_length > *len || event.cookie >= TOOL_MAIL_SLOTS)
		return tool_fail(error, TOOL_ERROR_PEER,
				 "a message of %u octets came, of a length that no message has",
				 event.transferred_length);
	*len = event.transferred_length;
	memcpy(letter, mail->memory.octets + event.cookie * TOOL_MAIL_SIZE, *len);
	return post_receive(mail, (size_t)event.cookie, error);
}
