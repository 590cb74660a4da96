/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What a process does, in the words of this layer: the kAL's table, whose counters get the places of enum ual_counter. */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "kal_live_read.h"
#include "ri_log.h"
#include "ual.h"

/* The counter of each kind of request; posts of other kinds are not shown. */
static const struct {
	uint8_t opcode;
	uint8_t counter;
} posts[] = {
	{RI_OP_SEND, UAL_COUNT_SENDS},       {RI_OP_RDMA_WRITE, UAL_COUNT_WRITES},
	{RI_OP_RDMA_READ, UAL_COUNT_READS},  {RI_OP_FETCH_ADD, UAL_COUNT_ATOMICS},
	{RI_OP_CMP_SWAP, UAL_COUNT_ATOMICS}, {RI_OP_BIND_MW, UAL_COUNT_LINKS},
	{RI_OP_FAST_REG, UAL_COUNT_LINKS},   {RI_OP_LOCAL_INV, UAL_COUNT_UNLINKS},
	{RI_OP_INV_MR, UAL_COUNT_UNLINKS},   {RI_OP_SEND_UD, UAL_COUNT_DATAGRAMS},
	{RI_OP_RECV, UAL_COUNT_RECEIVES},    {RI_OP_RECV_UD, UAL_COUNT_RECEIVES},
};

_Static_assert(RI_WC_STATUS_COUNT == UAL_STATUSES, "each status of a completion has a counter");

struct taker {
	void (*each)(void *arg, const struct ual_live *live);
	void *arg;
};

static void
counter_add(struct ual_live *live, bool known, enum ual_counter counter, uint64_t value)
{
	if (!known)
		return;
	live->known |= UINT64_C(1) << counter;
	live->counters[counter] += value;
}

static void
count_qp(struct ual_live *live, const struct ri_qp_counters *count)
{
	bool frames = (count->known & RI_COUNTED_FRAMES) != 0;

	for (size_t i = 0; i < sizeof(posts) / sizeof(posts[0]); i++)
		counter_add(live, (count->known & RI_COUNTED_POSTS) != 0,
			    (enum ual_counter)posts[i].counter, count->posts[posts[i].opcode]);
	counter_add(live, (count->known & RI_COUNTED_OCTETS) != 0, UAL_COUNT_OCTETS_POSTED,
		    count->octets);
	counter_add(live, frames, UAL_COUNT_FRAMES_SENT, count->frames_sent);
	counter_add(live, frames, UAL_COUNT_FRAMES_RECEIVED, count->frames_received);
	counter_add(live, (count->known & RI_COUNTED_RETRIES) != 0, UAL_COUNT_RETRIES,
		    count->retries);
	counter_add(live, (count->known & RI_COUNTED_CRC) != 0, UAL_COUNT_CRC_ERRORS,
		    count->crc_errors);
}

static void
count_cq(struct ual_live *live, const struct ri_cq_counters *count, uint64_t events)
{
	for (unsigned i = 0; i < RI_WC_STATUS_COUNT; i++)
		counter_add(live, (count->known & RI_COUNTED_DONE) != 0,
			    (enum ual_counter)(UAL_COUNT_SUCCESSES + i), count->done[i]);
	counter_add(live, (count->known & RI_COUNTED_OCTETS) != 0, UAL_COUNT_OCTETS_COMPLETED,
		    count->octets);
	counter_add(live, (count->known & RI_COUNTED_ARMINGS) != 0, UAL_COUNT_ARMINGS,
		    count->armings);
	counter_add(live, true, UAL_COUNT_EVENTS, events);
}

static const char *
type_name(uint8_t type)
{
	switch (type) {
	case RI_QP_RC:
		return "RC";
	case RI_QP_UD:
		return "UD";
	case RI_QP_UC:
		return "UC";
	default:
		return "";
	}
}

static void
path_text(const struct ri_addr *addr, uint16_t port, char *text, size_t room)
{
	text[0] = '\0';
	if (addr->family != RI_ADDR_NONE)
		ri_log_addr(addr, port, text, room);
}

static void
pass_item(void *arg, const struct kal_live_item *item)
{
	const struct taker *taker = (const struct taker *)arg;
	const struct kal_live_slot *slot = &item->slot;
	const struct kal_live_path *path = &slot->is.path;
	struct ual_live live = {.kind = slot->kind,
				.serial = slot->serial,
				.adapter = item->adapter,
				.state = item->state,
				.type = ""};
	char local[UAL_LIVE_ADDRESS] = "", peer[UAL_LIVE_ADDRESS] = "";

	live.local = local;
	live.peer = peer;
	switch (slot->kind) {
	case KAL_LIVE_ADAPTER:
		counter_add(&live, true, UAL_COUNT_WAITS, slot->count.adapter.waits);
		counter_add(&live, true, UAL_COUNT_WAKE_UPS, slot->count.adapter.wake_ups);
		break;
	case KAL_LIVE_QP:
		live.number = slot->number;
		live.type = type_name(slot->type);
		path_text(&path->local, path->local_port, local, sizeof(local));
		path_text(&path->peer, path->peer_port, peer, sizeof(peer));
		count_qp(&live, &slot->count.qp);
		break;
	case KAL_LIVE_SRQ:
		counter_add(&live, (slot->count.qp.known & RI_COUNTED_POSTS) != 0,
			    UAL_COUNT_RECEIVES, slot->count.qp.posts[RI_OP_RECV]);
		break;
	case KAL_LIVE_CQ:
		count_cq(&live, &slot->count.cq.of, slot->count.cq.events);
		break;
	default:
		live.number = ntohs(path->local_port);
		live.service = path->service;
		break;
	}
	taker->each(taker->arg, &live);
}

it_status_t
ual_live_list(int pid, void (*each)(void *arg, const struct ual_live *live), void *arg)
{
	struct taker taker = {.each = each, .arg = arg};
	unsigned missed;
	int error = kal_live_read(pid, pass_item, &taker, &missed);

	switch (error) {
	case 0:
	case ENOENT: /* it has no adapter open, or does not want to be seen */
		return IT_SUCCESS;
	case ESRCH:
		return IT_ERR_INVALID_NAME;
	case EACCES:
	case EPERM:
		return IT_ERR_NO_PERMISSION;
	case EPROTO:
		return IT_ERR_OP_NOT_SUPPORTED;
	default:
		return IT_ERR_RESOURCES;
	}
}
