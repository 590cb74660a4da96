/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs of the fake provider that the application brings up itself, and multicast groups: calls are recorded. */

#include "fake_internal.h"

unsigned fake_peer_calls;
enum fake_peer_call fake_peer_last;
struct ri_peer fake_peer;
struct ri_addr fake_group;
enum ri_status fake_peer_status;

static enum ri_status
peer_note(enum fake_peer_call call)
{
	fake_peer_calls++;
	fake_peer_last = call;
	return fake_peer_status;
}

static enum ri_status
peer_receive(struct ri_qp *qp, const struct ri_peer *peer)
{
	(void)qp;
	fake_peer = *peer;
	return peer_note(FAKE_PEER_RECEIVE);
}

static enum ri_status
peer_send(struct ri_qp *qp, const struct ri_peer *peer)
{
	(void)qp;
	fake_peer = *peer;
	return peer_note(FAKE_PEER_SEND);
}

const struct ri_peer_ops fake_peer_ops = {
	.size = sizeof(fake_peer_ops), .receive = peer_receive, .send = peer_send};

enum ri_status
fake_mcast_attach(struct ri_qp *qp, const struct ri_addr *group)
{
	(void)qp;
	fake_group = *group;
	return peer_note(FAKE_MCAST_ATTACH);
}

enum ri_status
fake_mcast_detach(struct ri_qp *qp, const struct ri_addr *group)
{
	(void)qp;
	fake_group = *group;
	return peer_note(FAKE_MCAST_DETACH);
}
