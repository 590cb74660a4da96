/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The commands of ITAPI_FAULTY, separated by semicolons; each adapter faulty:NAME runs them when it
 * is opened. They include those commands of vp/emul that a wrapper can execute, and further ones
 * for posts, completions, and calls of one object.
 *
 *     call VERB N STATUS [KIND K]    the Nth call of that entry from now on returns STATUS, once
 *     repeat VERB N STATUS [KIND K]  the next call of that entry, and from then on each Nth, returns STATUS
 *     complete N STATUS [qp K]       the Nth completion that is polled from now on has that status; its queue pair
 *                                    then goes to ERROR
 *     help                           the log lists the commands and their words
 *
 * KIND is pd, cq, srq, qp, mr or mw: only calls of that object count. K counts the adapter's objects of the kind from
 * 1, the oldest that exists when the call is made.
 */
#include "faulty.h"

static const char *const verbs[FAULTY_VERBS] = {
	[FAULTY_QUERY_PORT] = "query_port",
	[FAULTY_ROUTE] = "route",
	[FAULTY_PD_CREATE] = "pd_create",
	[FAULTY_CQ_CREATE] = "cq_create",
	[FAULTY_CQ_RESIZE] = "cq_resize",
	[FAULTY_SRQ_CREATE] = "srq_create",
	[FAULTY_SRQ_MODIFY] = "srq_modify",
	[FAULTY_SRQ_QUERY] = "srq_query",
	[FAULTY_QP_CREATE] = "qp_create",
	[FAULTY_QP_MODIFY] = "qp_modify",
	[FAULTY_QP_QUERY] = "qp_query",
	[FAULTY_QP_RESIZE] = "qp_resize",
	[FAULTY_MR_REG] = "mr_reg",
	[FAULTY_MR_REREG] = "mr_rereg",
	[FAULTY_MR_QUERY] = "mr_query",
	[FAULTY_MW_ALLOC] = "mw_alloc",
	[FAULTY_MW_QUERY] = "mw_query",
	[FAULTY_AH_CREATE] = "ah_create",
	[FAULTY_AH_MODIFY] = "ah_modify",
	[FAULTY_LISTEN] = "listen",
	[FAULTY_CONNECT] = "connect",
	[FAULTY_ACCEPT] = "accept",
	[FAULTY_CONFIRM] = "confirm",
	[FAULTY_DISCONNECT] = "disconnect",
	[FAULTY_RESOLVE] = "resolve",
	[FAULTY_RESERVE] = "reserve",
	[FAULTY_ATTACH_STREAM] = "attach_stream",
	[FAULTY_PEER_RECEIVE] = "peer_receive",
	[FAULTY_PEER_SEND] = "peer_send",
	[FAULTY_MCAST_ATTACH] = "mcast_attach",
	[FAULTY_CQ_OPEN] = "cq_open",
	[FAULTY_QP_OPEN] = "qp_open",
	[FAULTY_SRQ_OPEN] = "srq_open",
	[FAULTY_POST_SQ] = "post_sq",
	[FAULTY_POST_RQ] = "post_rq",
	[FAULTY_POST_SRQ] = "post_srq",
};

static const char *const kinds[] = {"pd", "cq", "srq", "qp", "mr", "mw"};
static const enum wrap_kind kind_of[] = {WRAP_PD, WRAP_CQ, WRAP_SRQ, WRAP_QP, WRAP_MR, WRAP_MW};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const char *const endings[] = {"flushed", "length",  "qp",        "protection",
				      "access",  "invalid", "operation", "transport"};
static const enum ri_wc_status status_of[] = {RI_WC_FLUSHED,          RI_WC_LOCAL_LENGTH,
					      RI_WC_LOCAL_QP,         RI_WC_LOCAL_PROTECTION,
					      RI_WC_REMOTE_ACCESS,    RI_WC_REMOTE_INVALID_REQ,
					      RI_WC_REMOTE_OPERATION, RI_WC_TRANSPORT};

#define ENDINGS (sizeof(endings) / sizeof(endings[0]))

static const char *const commands[] = {"call", "repeat", "complete", "help"};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* The words from `at` on name an object, or there are none. */
static const char *
read_object(struct ri_command *command, unsigned at, struct faulty_order *out)
{
	uint32_t kind;

	if (command->count == at)
		return NULL;
	kind = ri_command_find(kinds, KINDS, command->word[at]);
	if (kind == KINDS)
		return ri_command_unknown(command, at, "kind of object", kinds, KINDS);
	if (out->completion && kind_of[kind] != WRAP_QP)
		return "only a queue pair (qp K) has completions that can be told to fail";
	if (command->count > at + 2)
		return "too many words";
	if (!ri_command_number(command->word[at + 1], &out->object) || out->object == 0)
		return "which one? K is a number from 1 on";
	out->one = true;
	out->kind = kind_of[kind];
	return NULL;
}

static const char *
read_completion(struct ri_command *command, struct faulty_order *out)
{
	uint32_t s;

	if (command->count < 3)
		return "wanted: complete N STATUS";
	if (!ri_command_number(command->word[1], &out->call.number) || out->call.number == 0)
		return "which completion? N is a number from 1 on";
	s = ri_command_find(endings, ENDINGS, command->word[2]);
	if (s == ENDINGS)
		return ri_command_unknown(command, 2, "status", endings, ENDINGS);
	out->completion = true;
	out->status = status_of[s];
	return read_object(command, 3, out);
}

const char *
faulty_read(const char *text, size_t len, struct ri_command *command, struct faulty_order *out)
{
	const char *wrong;

	memset(out, 0, sizeof(*out));
	if (!ri_command_split(command, text, len))
		return "too long";
	if (ri_command_is(command, 0, "complete"))
		return read_completion(command, out);
	if (ri_command_is(command, 0, "help")) {
		out->help = true;
		return command->count == 1 ? NULL : "too many words";
	}
	if (!ri_command_is(command, 0, "call") && !ri_command_is(command, 0, "repeat"))
		return ri_command_unknown(command, 0, "command", commands, COMMANDS);
	wrong = ri_command_read_call(command, verbs, FAULTY_VERBS, &out->call);
	if (wrong == NULL && ri_command_is(command, 0, "repeat")) {
		out->every = out->call.number;
		out->call.number = 1;
	}
	return wrong != NULL ? wrong : read_object(command, 4, out);
}

bool
faulty_help(char *line, size_t room, unsigned at)
{
	switch (at) {
	case 0:
		(void)snprintf(line, room,
			       "call VERB N STATUS [KIND K]: the Nth call of VERB from now on "
			       "returns STATUS, once");
		return true;
	case 1:
		(void)snprintf(line, room,
			       "repeat VERB N STATUS [KIND K]: the next call of VERB, and each Nth "
			       "after it, returns STATUS");
		return true;
	case 2:
		ri_command_list(line, room, "VERB", verbs, FAULTY_VERBS);
		return true;
	case 3:
		ri_command_list(line, room, "STATUS of a call", ri_command_statuses,
				RI_COMMAND_STATUSES);
		return true;
	case 4:
		(void)snprintf(line, room,
			       "complete N STATUS [qp K]: the Nth completion that is polled "
			       "from now on has STATUS");
		return true;
	case 5:
		ri_command_list(line, room, "STATUS of a completion", endings, ENDINGS);
		return true;
	case 6:
		ri_command_list(line, room, "KIND", kinds, KINDS);
		return true;
	case 7:
		(void)snprintf(line, room, "K counts the objects of the kind from 1, the oldest");
		return true;
	default:
		return false;
	}
}
