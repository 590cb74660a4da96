/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections by attributes [RI 11.6.4] between processes: two queue pairs that name each other by number.
 *
 * The number of a queue pair belongs to a block of numbers, and the name of the block, which can be dialed, leads to its process.
 * The queue pair with the lower number *joins*: it takes a place at the link and sends a JOIN. The other one answers when its
 * application has named the first one; until then it does not answer. The queue pair with the higher number *knocks* when it
 * begins to receive; the lower one answers by a JOIN. When a link comes up, both are repeated for all queue pairs that wait for
 * its process.
 *
 * A queue pair can be reset and used again. Each use that knocks has a number, which a JOIN repeats. A JOIN without that number, or
 * with the number of an earlier use, may come from a use of the other side that has ended, too. Then the queue pair knocks once
 * more, and only a queue pair that still waits answers that.
 *
 *     lower                          higher
 *                               <-    KNOCK
 *     JOIN                      ->    its place is known there
 *                               <-    JOINED, which hears from here on
 *     OPEN                      ->    and sends
 *
 * Until both ends have found each other, requests wait as long as their sender tries. Then the sender
 * sends an ASK. Its answer follows everything that the other process has sent before. So a partner
 * whose process got no processor meanwhile is not found yet, but it is not lost.
 *
 * If a process has ended, requests to its queue pairs fail when their tries are over, and at once if they would be
 * retried without limit. All code here runs on the service thread, with the fabric's lock.
 */
#include <string.h>

#include "vem_peer.h"
#include "vem_remote.h"
#include "vem_tap.h"

#define TRIES 16 /* to reach the process of a partner whose links end */

/* Does it join, or is it joined? */
static bool
joins(const struct vem_qp *qp)
{
	return qp->in.who.qpn < qp->far.qpn;
}

static uint32_t
far_block(const struct vem_qp *qp)
{
	return qp->far.qpn >> VEM_BLOCK_BITS;
}

/* The number of a life that knocks. */
static uint32_t
knock_next(struct vem_shm *shm)
{
	shm->knocks += shm->knocks == UINT32_MAX ? 2 : 1;
	return shm->knocks;
}

static void
say(struct vem_link *link, enum vem_packet_kind kind, const struct vem_qp *qp,
    struct vem_remote *remote)
{
	if (kind == VEM_PACKET_KNOCK && remote->knock == 0)
		remote->knock = knock_next(link->shm);
	struct vem_packet packet = {
		.magic = VEM_PACKET_MAGIC,
		.kind = kind,
		.to = remote->far_slot,
		.to_life = kind == VEM_PACKET_JOIN ? remote->knock : remote->far_life,
		.from = remote->slot,
		.from_life = kind == VEM_PACKET_KNOCK ? remote->knock : remote->life,
		.qpn = qp->in.who.qpn,
		.code = qp->far.qpn,
		.type = qp->init.type,
		.message = kind == VEM_PACKET_ASK ? remote->ask : qp->far.min_rnr_timer};

	packet.local.family = packet.peer.family = RI_ADDR_GID;
	memcpy(packet.local.octets, qp->far.target.grh + 8, 16);
	memcpy(packet.peer.octets, qp->far.target.grh + 24, 16);
	vem_link_send(link, &packet);
}

void
vem_remote_join(struct vem_qp *qp)
{
	struct vem_remote *remote = qp->join;
	struct vem_shm *shm = qp->rnic->fabric->shm;

	if (!qp->ready || remote == NULL)
		return;

	struct vem_link *link =
		remote->link != NULL ? remote->link : vem_link_to_block(shm, far_block(qp), NULL);

	if (link == NULL)
		return; /* the other one speaks when it is there */
	if (joins(qp) && remote->link == NULL && !vem_remote_attach(remote, link))
		return;
	atomic_store(&remote->qp, qp);
	if (atomic_load(&link->up))
		say(link, joins(qp) ? VEM_PACKET_JOIN : VEM_PACKET_KNOCK, qp, remote);
}

/* All that wait for a partner in the process at the other side. */
static void
waiting_each(struct vem_link *link, void (*each)(struct vem_qp *qp, struct vem_link *link))
{
	struct vem_fabric *fabric = link->shm->fabric;

	for (uint32_t row = 0; row < VEM_UD_ROWS; row++) {
		struct vsw_item *head = &fabric->numbered[row];

		for (struct vsw_item *i = head->next; i != head; i = i->next) {
			struct vem_qp *qp = vsw_of(i, struct vem_qp, number_item);

			if (qp->join != NULL && vem_link_leads_to(link, far_block(qp)))
				each(qp, link);
		}
	}
}

static void
join_one(struct vem_qp *qp, struct vem_link *link)
{
	(void)link;
	vem_remote_join(qp);
}

void
vem_remote_join_all(struct vem_link *link)
{
	waiting_each(link, join_one);
}

/* The queue pair that the packet names, if it is for the one that the packet comes from. */
static struct vem_qp *
partner_named(struct vem_link *link, const struct vem_packet *packet)
{
	struct vem_qp *qp = vem_peer_numbered(link->shm->fabric, packet->code);

	if (qp == NULL || !qp->ready || qp->far.qpn != packet->qpn ||
	    packet->qpn >> VEM_BLOCK_BITS != link->block || packet->type != qp->init.type)
		return NULL;
	/* The way back is the way there. */
	if (memcmp(packet->local.octets, qp->far.target.grh + 24, 16) != 0 ||
	    memcmp(packet->peer.octets, qp->far.target.grh + 8, 16) != 0)
		return NULL;
	return vem_link_has_block(link) ? qp : NULL;
}

/* Likewise, if it waits for that one. */
static struct vem_qp *
partner_of(struct vem_link *link, const struct vem_packet *packet)
{
	struct vem_qp *qp = partner_named(link, packet);

	return qp != NULL && qp->join != NULL ? qp : NULL;
}

static void
far_is(struct vem_remote *remote, const struct vem_packet *packet)
{
	remote->far_slot = packet->from;
	remote->far_life = packet->from_life;
	remote->far_rnr = packet->message % 32;
	atomic_store(&remote->far_known, true);
}

/* This end knows the other one, and hears it. */
static void
ends_bind(struct vem_qp *qp, struct vem_remote *remote)
{
	qp->join = NULL;
	vem_tap_join(qp, remote);
	if (qp->tap != NULL)
		atomic_fetch_or(&remote->apart, VEM_REMOTE_TAPPED);
	atomic_store(&qp->remote, remote); /* before `open`, see vem_peer_execute */
	atomic_store(&qp->open, true);
	vem_run_soon(qp);
}

static void
joined_by(struct vem_link *link, const struct vem_packet *packet)
{
	struct vem_qp *qp = partner_of(link, packet);

	if (qp == NULL || joins(qp))
		return;

	struct vem_remote *remote = qp->join;
	if (packet->to_life != remote->knock || remote->knock == 0) {
		say(link, VEM_PACKET_KNOCK, qp, remote);
		return;
	}
	if (!vem_remote_attach(remote, link))
		return;
	far_is(remote, packet);
	atomic_fetch_or(&remote->apart, VEM_REMOTE_MUTE);
	atomic_store(&remote->qp, qp);
	ends_bind(qp, remote);
	say(link, VEM_PACKET_JOINED, qp, remote);
}

/* It is not muted any more, even if the other end is gone again: then its requests are lost, as any that come too late. */
static void
answer_nobody(struct vem_link *link, const struct vem_packet *packet)
{
	const struct vem_packet answer = {.magic = VEM_PACKET_MAGIC,
					  .kind = VEM_PACKET_OPEN,
					  .to = packet->from,
					  .to_life = packet->from_life};

	vem_link_send(link, &answer);
}

bool
vem_remote_ask(struct vem_qp *qp)
{
	struct vem_remote *remote = qp->join;
	struct vem_shm *shm = qp->rnic->fabric->shm;
	struct vem_link *link = NULL;

	if (qp->ready && remote != NULL && remote->tries < TRIES)
		link = remote->link != NULL ? remote->link
					    : vem_link_to_block(shm, far_block(qp), NULL);
	if (link == NULL)
		return false;
	remote->ask = knock_next(shm);
	if (atomic_load(&link->up))
		say(link, VEM_PACKET_ASK, qp, remote);
	return true;
}

/* A queue pair that is for the one that asks says so itself, perhaps over another link of the two processes. */
static void
ask_answer(struct vem_link *link, const struct vem_packet *ask)
{
	const struct vem_packet packet = {.magic = VEM_PACKET_MAGIC,
					  .kind = VEM_PACKET_ASKED,
					  .message = ask->message,
					  .qpn = ask->code,
					  .code = ask->qpn};

	if (partner_named(link, ask) == NULL)
		vem_link_send(link, &packet);
}

/* The process of the partner has no queue pair that waits for this one. */
static void
ask_answered(struct vem_link *link, const struct vem_packet *packet)
{
	struct vem_qp *qp = vem_peer_numbered(link->shm->fabric, packet->code);

	if (qp == NULL || !qp->ready || qp->join == NULL || qp->far.qpn != packet->qpn ||
	    packet->qpn >> VEM_BLOCK_BITS != link->block || qp->join->ask == 0 ||
	    qp->join->ask != packet->message || !vem_link_has_block(link))
		return;
	vem_peer_not_found(qp);
}

void
vem_remote_peer_packet(struct vem_link *link, const struct vem_packet *packet,
		       struct vem_remote *remote)
{
	struct vem_qp *qp = remote != NULL ? atomic_load(&remote->qp) : NULL;

	if (packet->kind == VEM_PACKET_JOIN) {
		joined_by(link, packet);
	} else if (packet->kind == VEM_PACKET_KNOCK) {
		qp = partner_of(link, packet);
		if (qp != NULL && joins(qp)) {
			qp->join->knock = packet->from_life;
			vem_remote_join(qp);
		}
	} else if (packet->kind == VEM_PACKET_ASK) {
		ask_answer(link, packet);
	} else if (packet->kind == VEM_PACKET_ASKED) {
		ask_answered(link, packet);
	} else if (packet->kind == VEM_PACKET_JOINED && qp == NULL) {
		answer_nobody(link, packet);
	} else if (packet->kind == VEM_PACKET_JOINED && qp->join == remote && joins(qp)) {
		far_is(remote, packet);
		ends_bind(qp, remote);
		say(link, VEM_PACKET_OPEN, qp, remote);
	} else if (packet->kind == VEM_PACKET_OPEN && qp != NULL &&
		   atomic_load(&qp->remote) == remote && !joins(qp)) {
		atomic_fetch_and(&remote->apart, ~VEM_REMOTE_MUTE);
		vem_run_soon(qp);
	}
}

/* Nothing comes from the other end any more, and nothing arrives there. */
static void
partner_gone(struct vem_qp *qp, struct vem_remote *remote)
{
	atomic_fetch_and(&remote->apart, ~VEM_REMOTE_MUTE);
	atomic_store(&remote->gone, true);
	vem_run_soon(qp);
}

/*
 * The link to the process of a partner that was not joined yet has ended. Perhaps only an earlier
 * use of the partner's number has ended, and the process is still running: then its name can be
 * dialed again. A process that is about to end can also be dialed for a moment; then the new link
 * ends, too.
 */
static void
partner_lost(struct vem_qp *qp, struct vem_link *old)
{
	struct vem_remote *remote = qp->join;
	enum ri_cm_reason reason = RI_CM_REASON_OTHER;
	struct vem_link *link;

	if (!qp->ready || remote->link != NULL || remote->tries == TRIES)
		return;
	link = vem_link_to_block(old->shm, far_block(qp), &reason);
	if (link != NULL) {
		remote->tries++;
		vem_remote_join(qp);
	}
	if (link != NULL || reason != RI_CM_REASON_REFUSED)
		return;
	vem_shm_sweep_soon(old->shm); /* its name may be left */
	if (!vem_remote_attach(remote, old))
		return;
	atomic_store(&remote->qp, qp);
	ends_bind(qp, remote);
	partner_gone(qp, remote);
}

void
vem_remote_peer_down(struct vem_qp *qp, struct vem_remote *remote)
{
	if (qp->join == remote)
		vem_remote_detach(remote); /* and vem_remote_wait_down looks at it */
	else
		partner_gone(qp, remote);
}

void
vem_remote_wait_down(struct vem_link *link)
{
	if (!link->greeted || link->proven) /* else no partner was looked for there */
		waiting_each(link, partner_lost);
}
