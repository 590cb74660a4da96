/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The exchanges of a manager: three hash tables and a heap of timers. All memory but the exchanges is allocated with the manager. The
 * hash has a secret seed, since peers choose ids and numbers of queue pairs.
 */
#include <stdlib.h>
#include <string.h>

#include "ri_share.h"
#include "ri_wire.h"
#include "vrc_conn.h"
#include "vrc_ip.h"

#define HEAP_NONE   SIZE_MAX
#define SERIAL_MASK 0xffffffu

enum chain {
	CHAIN_ID = 0,
	CHAIN_PEER,
	CHAIN_QP,
	CHAIN_COUNT
};

uint64_t
vrc_now(const struct vrc_cm *cm)
{
	return cm->config.host->now(cm->config.host->self);
}

void
vrc_random(const struct vrc_cm *cm, void *buf, size_t len)
{
	cm->config.host->random(cm->config.host->self, buf, len);
}

/* --- hash tables --------------------------------------------------------------------------- */

bool
vrc_table_create(struct vrc_cm *cm)
{
	size_t size = 64;

	while (size < cm->config.max_conns)
		size *= 2;
	cm->chain_mask = size - 1;
	vrc_random(cm, &cm->seed, sizeof(cm->seed));
	cm->heap = calloc(cm->config.max_conns, sizeof(struct vrc_conn *));
	for (unsigned i = 0; i < CHAIN_COUNT; i++)
		cm->chains[i] = calloc(size, sizeof(struct vrc_link));
	if (cm->heap == NULL || cm->chains[0] == NULL || cm->chains[1] == NULL ||
	    cm->chains[2] == NULL)
		return false;
	for (size_t i = 0; i < size * CHAIN_COUNT; i++)
		vrc_link_init(&cm->chains[i / size][i % size]);
	return true;
}

void
vrc_table_free(struct vrc_cm *cm)
{
	for (unsigned i = 0; i < CHAIN_COUNT; i++)
		free(cm->chains[i]);
	free(cm->heap);
}

static struct vrc_link *
chain_of(const struct vrc_cm *cm, enum chain chain, uint64_t a, uint64_t b)
{
	uint64_t hash = (a ^ cm->seed) * 0x9e3779b97f4a7c15u;

	hash = (hash ^ hash >> 29 ^ b) * (cm->seed | 1);
	hash ^= hash >> 32;
	return &cm->chains[chain][hash & cm->chain_mask];
}

static bool
path_is(const struct vrc_conn *conn, const struct vrc_path *path)
{
	return vrc_addr_same(&conn->path.peer, &path->peer) &&
	       vrc_addr_same(&conn->path.local, &path->local);
}

static uint64_t
peer_key(const struct vrc_path *path)
{
	uint8_t gid[VRC_GID_SIZE];

	vrc_gid_of_addr(&path->peer, gid);
	return wire_load_be64(gid) ^ wire_load_be64(gid + 8);
}

static struct vrc_conn *
find_local(const struct vrc_cm *cm, uint32_t id)
{
	const struct vrc_link *chain = chain_of(cm, CHAIN_ID, id, 0);

	for (struct vrc_link *l = chain->next; l != chain; l = l->next) {
		struct vrc_conn *conn = VRC_OF(l, struct vrc_conn, by_id);
		if ((uint32_t)conn->number == id)
			return conn;
	}
	return NULL;
}

struct vrc_conn *
vrc_find_number(const struct vrc_cm *cm, uint64_t number)
{
	struct vrc_conn *conn = find_local(cm, (uint32_t)number);

	return conn != NULL && conn->number == number && !conn->silent ? conn : NULL;
}

struct vrc_conn *
vrc_find_id(const struct vrc_cm *cm, uint32_t id, const struct vrc_path *path)
{
	struct vrc_conn *conn = find_local(cm, id);

	return conn != NULL && path_is(conn, path) ? conn : NULL;
}

struct vrc_conn *
vrc_find_peer(const struct vrc_cm *cm, uint32_t remote_id, bool datagram,
	      const struct vrc_path *path)
{
	const struct vrc_link *chain = chain_of(cm, CHAIN_PEER, remote_id, peer_key(path));

	for (struct vrc_link *l = chain->next; l != chain; l = l->next) {
		struct vrc_conn *conn = VRC_OF(l, struct vrc_conn, by_peer);
		if (conn->remote_id == remote_id && conn->datagram == datagram &&
		    path_is(conn, path))
			return conn;
	}
	return NULL;
}

/*
 * Is the peer's queue pair of this exchange in use? Not in the time-wait: the peer has reported
 * that its connection is over, and may begin the next one, as Linux does. An exchange whose owner
 * has left does not count either.
 */
static bool
holds_qp(const struct vrc_conn *conn)
{
	return conn->state != VRC_STATE_OVER && conn->state != VRC_STATE_ANSWERED &&
	       conn->state != VRC_STATE_TIMEWAIT &&
	       (conn->state != VRC_STATE_DREQ_SENT || !conn->silent);
}

struct vrc_conn *
vrc_find_qp(const struct vrc_cm *cm, uint32_t qpn, uint64_t guid, const struct vrc_path *path)
{
	const struct vrc_link *chain = chain_of(cm, CHAIN_QP, qpn, guid);

	for (struct vrc_link *l = chain->next; l != chain; l = l->next) {
		struct vrc_conn *conn = VRC_OF(l, struct vrc_conn, by_qp);
		if (conn->reach.qpn == qpn && conn->guid == guid && holds_qp(conn) &&
		    path_is(conn, path))
			return conn;
	}
	return NULL;
}

void
vrc_conn_peer_known(struct vrc_conn *conn)
{
	vrc_link_append(chain_of(conn->cm, CHAIN_PEER, conn->remote_id, peer_key(&conn->path)),
			&conn->by_peer);
}

void
vrc_conn_qp_known(struct vrc_conn *conn)
{
	vrc_link_append(chain_of(conn->cm, CHAIN_QP, conn->reach.qpn, conn->guid), &conn->by_qp);
}

void
vrc_slot(struct vrc_cm *cm, uint32_t slot)
{
	cm->id_mask = UINT32_MAX << RI_SHARE_ID_SHIFT;
	cm->id_slot = slot << RI_SHARE_ID_SHIFT;
}

struct vrc_conn *
vrc_conn_new(struct vrc_cm *cm, const struct vrc_path *path)
{
	uint32_t id = 0;

	if (cm->counts.conns >= cm->config.max_conns)
		return NULL;
	struct vrc_conn *conn = calloc(1, sizeof(*conn));
	if (conn == NULL)
		return NULL;
	do {
		vrc_random(cm, &id, sizeof(id));
		id = (id & ~cm->id_mask) | cm->id_slot;
	} while (id == 0 || find_local(cm, id) != NULL);
	cm->serial = (cm->serial + 1) & SERIAL_MASK;
	conn->cm = cm;
	conn->state = VRC_STATE_NEW;
	conn->path = *path;
	conn->local_id = id;
	conn->number = (uint64_t)cm->config.tag << 56 | (uint64_t)cm->serial << 32 | id;
	conn->due = conn->deadline = RI_NEVER;
	conn->heap_at = HEAP_NONE;
	vrc_link_append(&cm->all, &conn->all);
	vrc_link_append(chain_of(cm, CHAIN_ID, id, 0), &conn->by_id);
	cm->counts.conns++;
	return conn;
}

void
vrc_conn_free(struct vrc_conn *conn)
{
	vrc_request_uncount(conn);
	conn->due = conn->deadline = RI_NEVER;
	vrc_timer_update(conn);
	vrc_link_remove(&conn->all);
	vrc_link_remove(&conn->by_id);
	vrc_link_remove(&conn->by_peer);
	vrc_link_remove(&conn->by_qp);
	vrc_link_remove(&conn->ready);
	conn->cm->counts.conns--;
	free(conn);
}

/* --- timers -------------------------------------------------------------------------------- */

static uint64_t
first_of(const struct vrc_conn *conn)
{
	return conn->due < conn->deadline ? conn->due : conn->deadline;
}

static void
heap_put(struct vrc_cm *cm, size_t at, struct vrc_conn *conn)
{
	cm->heap[at] = conn;
	conn->heap_at = at;
}

static void
heap_rise(struct vrc_cm *cm, struct vrc_conn *conn)
{
	size_t at = conn->heap_at;

	while (at > 0 && first_of(cm->heap[(at - 1) / 2]) > first_of(conn)) {
		heap_put(cm, at, cm->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(cm, at, conn);
}

static void
heap_sink(struct vrc_cm *cm, struct vrc_conn *conn)
{
	size_t at = conn->heap_at;

	for (;;) {
		size_t child = 2 * at + 1;
		if (child + 1 < cm->heap_count &&
		    first_of(cm->heap[child + 1]) < first_of(cm->heap[child]))
			child++;
		if (child >= cm->heap_count || first_of(cm->heap[child]) >= first_of(conn))
			break;
		heap_put(cm, at, cm->heap[child]);
		at = child;
	}
	heap_put(cm, at, conn);
}

void
vrc_timer_update(struct vrc_conn *conn)
{
	struct vrc_cm *cm = conn->cm;
	size_t at = conn->heap_at;

	if (first_of(conn) != RI_NEVER) {
		if (at == HEAP_NONE)
			heap_put(cm, cm->heap_count++, conn);
		heap_rise(cm, conn);
		heap_sink(cm, conn);
		return;
	}
	if (at == HEAP_NONE)
		return;
	conn->heap_at = HEAP_NONE;
	struct vrc_conn *last = cm->heap[--cm->heap_count];
	if (last == conn)
		return;
	heap_put(cm, at, last);
	heap_rise(cm, last);
	heap_sink(cm, last);
}

uint64_t
vrc_cm_due(const struct vrc_cm *cm)
{
	uint64_t held = vrc_held_due(cm);

	return cm->heap_count > 0 && first_of(cm->heap[0]) < held ? first_of(cm->heap[0]) : held;
}
