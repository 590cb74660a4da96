/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Faults on demand for any adapter: faulty_script.c reads the commands, faulty_gates.c has the calls that fail, and
 * faulty.c decides which one does.
 */
#ifndef FAULTY_H
#define FAULTY_H

#include "ri_command.h"
#include "wrap.h"

/* Calls that a fault can end; the names are in faulty_script.c. */
enum faulty_verb {
	FAULTY_QUERY_PORT = 0,
	FAULTY_ROUTE,
	FAULTY_PD_CREATE,
	FAULTY_CQ_CREATE,
	FAULTY_CQ_RESIZE,
	FAULTY_SRQ_CREATE,
	FAULTY_SRQ_MODIFY,
	FAULTY_SRQ_QUERY,
	FAULTY_QP_CREATE,
	FAULTY_QP_MODIFY,
	FAULTY_QP_QUERY,
	FAULTY_QP_RESIZE,
	FAULTY_MR_REG,
	FAULTY_MR_REREG,
	FAULTY_MR_QUERY,
	FAULTY_MW_ALLOC,
	FAULTY_MW_QUERY,
	FAULTY_AH_CREATE,
	FAULTY_AH_MODIFY,
	FAULTY_LISTEN,
	FAULTY_CONNECT,
	FAULTY_ACCEPT,
	FAULTY_CONFIRM,
	FAULTY_DISCONNECT,
	FAULTY_RESOLVE,
	FAULTY_RESERVE,
	FAULTY_ATTACH_STREAM,
	FAULTY_PEER_RECEIVE,
	FAULTY_PEER_SEND,
	FAULTY_MCAST_ATTACH,
	FAULTY_CQ_OPEN,
	FAULTY_QP_OPEN,
	FAULTY_SRQ_OPEN,
	FAULTY_POST_SQ,
	FAULTY_POST_RQ,
	FAULTY_POST_SRQ,
	FAULTY_VERBS
};

/* A command that was read. */
struct faulty_order {
	bool help;       /* the log is to list the commands: no order that is kept */
	bool completion; /* else a call */
	struct ri_command_call
		call;   /* its verb is an enum faulty_verb; of a completion the number only */
	uint32_t every; /* of a call: each such number of calls it fails again; 0: once */
	enum ri_wc_status status; /* of the completion */
	bool one;                 /* only calls and completions of one object count: */
	enum wrap_kind kind;
	uint32_t object; /* its number, from 1, the oldest that exists */
};

/* Read one command. NULL: `out` is it; else what is wrong, which may be a text in `command`. */
const char *faulty_read(const char *text, size_t len, struct ri_command *command,
			struct faulty_order *out);
/* A line of the list of commands, from 0 on; false: there are no more. */
bool faulty_help(char *line, size_t room, unsigned at);

/* Read the commands of the environment, and put the gates before the adapter's entries. */
enum ri_status faulty_start(struct wrap_rnic *rnic) RI_MUST_CHECK;
/* Before the wrapped adapter is closed; for an adapter of any kind. */
void faulty_stop(struct wrap_rnic *rnic);
/* faulty_gates.c */
void faulty_gates(struct wrap_ops *ops);

/* The error that this call must return instead of doing its work; RI_SUCCESS: none. Any thread. */
enum ri_status faulty_due(const struct wrap_obj *obj, enum faulty_verb verb) RI_MUST_CHECK;
/* A completion on its way to the caller fails, if that is due, and its queue pair goes to ERROR soon. */
void faulty_complete(struct wrap_rnic *rnic, struct ri_wc *wc);
/* Around a verb of a queue pair. */
void faulty_begin(const struct wrap_rnic *rnic);
void faulty_end(const struct wrap_rnic *rnic);

#endif /* FAULTY_H */
