/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The two halves of a copy, whichever side of the connection they are on. */
#ifndef CP_COPY_H
#define CP_COPY_H

#include "cp_file.h"
#include "cp_letter.h"

struct cp_copy {
	struct tool_mail *mail;
	enum cp_sum_kind kind;
	struct tool_memory ring; /* sender: source of its Writes; receiver: their target */
	size_t slots;            /* of that ring */
	uint64_t peer_context;   /* sender: of the receiver's ring */
	uint64_t peer_address;
	uint64_t done;   /* octets */
	uint64_t chunks; /* sent, or announced by the sender */
	uint64_t freed;  /* of them, those whose slots the receiver has freed */
	uint64_t size;
	char *checksum;                                          /* once it is verified */
	void (*progress)(const struct cp_copy *copy, void *arg); /* may be NULL */
	void *progress_arg;
};

bool cp_copy_open(struct cp_copy *copy, struct tool_mail *mail, enum cp_sum_kind kind,
		  bool receiver, GError **error);
void cp_copy_close(struct cp_copy *copy); /* after the link was closed */

/* Both return true when the receiver has verified the file and given it its name. */
bool cp_send(struct cp_copy *copy, struct cp_source *source, GError **error);
bool cp_receive(struct cp_copy *copy, struct cp_target *target, GError **error);

#endif /* CP_COPY_H */
