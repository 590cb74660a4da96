/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Short messages over a link, one Send each. The mailbox keeps receives posted, so a peer may send
 * TOOL_MAIL_SLOTS of them before it must wait for an answer. All requests and receives of the link
 * that make completions belong to the mailbox; requests without completions may be posted beside
 * it, and the completion of a message that was sent after them proves that their buffers may be
 * used again.
 */
#ifndef TOOL_MAIL_H
#define TOOL_MAIL_H

#include "tool_link.h"
#include "tool_memory.h"

#define TOOL_MAIL_SIZE  8192 /* octets of a letter, at most */
#define TOOL_MAIL_SLOTS 16

struct tool_mail {
	struct tool_link *link;
	struct tool_memory
		memory; /* slots for letters that arrive, then the one for the letter that is sent */
};

/* The least that a link for a mailbox needs; the caller may raise it. */
struct tool_link_spec tool_mail_spec(unsigned seconds);

/* Before the link connects. */
bool tool_mail_open(struct tool_mail *mail, struct tool_link *link, GError **error);
void tool_mail_close(struct tool_mail *mail); /* after the link was closed */

bool tool_mail_send(struct tool_mail *mail, const void *letter, size_t len, GError **error);

/* len: on input the room, on output the octets of the letter. A longer letter is an error. */
bool tool_mail_receive(struct tool_mail *mail, void *letter, size_t *len, GError **error);

#endif /* TOOL_MAIL_H */
