/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The table of allowed moves between states of verbs. Every state but RESET can move to ERR, and every state to RESET,
 * without attributes; the table lists all other moves. As in the kernel, INIT to INIT and RESET to RESET are allowed.
 */
#include "door_states.h"

#include <stddef.h>

/* Columns for a type of queue pair. */
enum {
	RC,
	UC,
	UD,
	TYPES
};

struct masks {
	int required;
	int optional;
};

struct move {
	enum ibv_qp_state from;
	enum ibv_qp_state to;
	struct masks masks[TYPES];
};

/* What goes together. */
#define PLACE    (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RIGHTS   IBV_QP_ACCESS_FLAGS
#define WAY      (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RESPONSE (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define TRIES    (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY)
#define DEPTH    IBV_QP_MAX_QP_RD_ATOMIC
#define OTHER    (IBV_QP_ALT_PATH | RIGHTS)
#define RUNNING  (IBV_QP_CUR_STATE | OTHER | IBV_QP_PATH_MIG_STATE)
#define DRAINED  (OTHER | IBV_QP_AV | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE)
#define KEY      (IBV_QP_CUR_STATE | IBV_QP_QKEY)
#define NOTICE   IBV_QP_EN_SQD_ASYNC_NOTIFY

/* clang-format off */
static const struct move moves[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, {
		[RC] = { PLACE | RIGHTS, 0 },
		[UC] = { PLACE | RIGHTS, 0 },
		[UD] = { PLACE | IBV_QP_QKEY, 0 } } },
	{ IBV_QPS_INIT, IBV_QPS_INIT, {
		[RC] = { 0, PLACE | RIGHTS },
		[UC] = { 0, PLACE | RIGHTS },
		[UD] = { 0, PLACE | IBV_QP_QKEY } } },
	{ IBV_QPS_INIT, IBV_QPS_RTR, {
		[RC] = { WAY | RESPONSE, OTHER | IBV_QP_PKEY_INDEX },
		[UC] = { WAY, OTHER | IBV_QP_PKEY_INDEX },
		[UD] = { 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY } } },
	{ IBV_QPS_RTR, IBV_QPS_RTS, {
		[RC] = { IBV_QP_SQ_PSN | TRIES | DEPTH, RUNNING | IBV_QP_MIN_RNR_TIMER },
		[UC] = { IBV_QP_SQ_PSN, RUNNING },
		[UD] = { IBV_QP_SQ_PSN, KEY } } },
	{ IBV_QPS_RTS, IBV_QPS_RTS, {
		[RC] = { 0, RUNNING | IBV_QP_MIN_RNR_TIMER },
		[UC] = { 0, RUNNING },
		[UD] = { 0, KEY } } },
	{ IBV_QPS_RTS, IBV_QPS_SQD, {
		[RC] = { 0, NOTICE },
		[UC] = { 0, NOTICE },
		[UD] = { 0, NOTICE } } },
	{ IBV_QPS_SQD, IBV_QPS_RTS, {
		[RC] = { 0, RUNNING | IBV_QP_MIN_RNR_TIMER },
		[UC] = { 0, RUNNING },
		[UD] = { 0, KEY } } },
	{ IBV_QPS_SQD, IBV_QPS_SQD, {
		[RC] = { 0, DRAINED | IBV_QP_PORT | TRIES | DEPTH | RESPONSE },
		[UC] = { 0, DRAINED },
		[UD] = { 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY } } },
	/* Only queue pairs without acknowledgements get into SQE. */
	{ IBV_QPS_SQE, IBV_QPS_RTS, {
		[RC] = { 0, 0 },
		[UC] = { 0, IBV_QP_CUR_STATE | RIGHTS },
		[UD] = { 0, KEY } } },
};
/* clang-format on */

static int
column_of(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD ? UD : type == IBV_QPT_UC ? UC : RC;
}

static bool
fits(const struct masks *masks, int mask)
{
	return (mask & masks->required) == masks->required &&
	       (mask & ~(masks->required | masks->optional | IBV_QP_STATE)) == 0;
}

bool
door_states_allow(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	static const struct masks nothing;

	if (from > IBV_QPS_ERR)
		return false;
	if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET))
		return fits(&nothing, mask);
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		if (moves[i].from == from && moves[i].to == to)
			return fits(&moves[i].masks[column_of(type)], mask);
	return false;
}
