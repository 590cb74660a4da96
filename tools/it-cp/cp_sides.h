/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The two sides of a connection of it-cp. */
#ifndef CP_SIDES_H
#define CP_SIDES_H

#include "cp_sum.h"
#include "tool_mail.h"
#include "tool_options.h"
#include "tool_self.h"

struct cp_job {
	struct tool_options options;
	char *folder; /* served */
	char *source; /* client: as typed */
	char *target;
	enum cp_sum_kind kind;
	gboolean quiet;
	gboolean progress;
	/* Found by parsing source and target: */
	bool put;
	char *host;   /* of the server */
	char *remote; /* path at the server */
	char *local;
};

/* A link with its mailbox. */
struct cp_end {
	struct tool_link link;
	struct tool_mail mail;
};

bool cp_end_open(struct cp_end *end, struct tool_adapter *adapter, unsigned seconds,
		 struct tool_watch *watch, GError **error);
void cp_end_close(struct cp_end *end);

/* Find which of the two is remote, and its parts. */
bool cp_job_sort(struct cp_job *job, GError **error);
void cp_job_clear(struct cp_job *job);

bool cp_client(void *job, uint16_t port, GError **error);
bool cp_server(void *job, struct tool_ready *ready, GError **error);

#endif /* CP_SIDES_H */
