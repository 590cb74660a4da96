/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vsw_why.h"

#include <inttypes.h>
#include <stdio.h>

#include "vsw_mem_table.h"

/* What the entry of a key is. */
struct key {
	bool there; /* an entry has this index */
	bool valid; /* and this key */
	enum vsw_mem_kind kind;
	uint32_t access;
	uint32_t qpn;
	uint64_t addr;
	uint64_t length;
	unsigned bound;
};

static struct key
key_of(struct vsw_mem_table *table, uint32_t stag)
{
	struct vsw_mem_entry *entry = stag != 0 ? vsw_mem_at(table, stag) : NULL;
	struct key key = {.kind = VSW_MEM_FREE};

	if (entry == NULL)
		return key;
	vsw_lock(&entry->lock);
	key.there = entry->kind != VSW_MEM_FREE && entry->stag >> 8 == stag >> 8;
	if (key.there) {
		key.valid = atomic_load(&entry->live) == stag;
		key.kind = (enum vsw_mem_kind)entry->kind;
		key.access = entry->access;
		key.qpn = entry->qpn;
		key.addr = entry->zero_based ? 0 : entry->addr;
		key.length = entry->length;
		key.bound = atomic_load(&entry->bound);
	}
	vsw_unlock(&entry->lock);
	return key;
}

static const char *
kind_text(const struct key *key)
{
	return key->kind == VSW_MEM_REGION ? "region" : "window";
}

void
vsw_why_rights(uint32_t access, char *text, size_t room)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} rights[] = {
		{RI_ACCESS_LOCAL_READ, "local read"},
		{RI_ACCESS_LOCAL_WRITE, "local write"},
		{RI_ACCESS_REMOTE_READ, "remote read"},
		{RI_ACCESS_REMOTE_WRITE, "remote write"},
		{RI_ACCESS_REMOTE_ATOMIC, "remote atomic"},
		{RI_ACCESS_BIND, "bind"},
	};
	size_t at = 0;

	(void)snprintf(text, room, "no right");
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]) && at < room; i++) {
		if ((access & rights[i].bit) != 0)
			at += (size_t)snprintf(text + at, room - at, "%s%s", at > 0 ? ", " : "",
					       rights[i].name);
	}
}

/* The cause alone; `wanted` are the rights. */
static void
cause_text(const struct key *key, enum vsw_mem_result result, uint32_t wanted, char *text,
	   size_t room)
{
	char has[96], lacks[96];

	switch (result) {
	case VSW_MEM_STAG:
		if (!key->there)
			(void)snprintf(text, room, "no region or window has this key");
		else if (key->valid)
			(void)snprintf(text, room, "the key was not valid at that moment");
		else
			(void)snprintf(
				text, room,
				"the key is not valid: the %s was %s, or has another key now",
				kind_text(key),
				key->kind == VSW_MEM_REGION ? "invalidated" : "unlinked");
		return;
	case VSW_MEM_PD:
		if (key->kind == VSW_MEM_NARROW)
			(void)snprintf(text, room,
				       "the narrow window is of another protection domain, or "
				       "linked through QP %u",
				       (unsigned)key->qpn);
		else
			(void)snprintf(text, room, "the %s is of another protection domain",
				       kind_text(key));
		return;
	case VSW_MEM_CLOSED:
	case VSW_MEM_ACCESS:
		vsw_why_rights(key->access, has, sizeof(has));
		vsw_why_rights(wanted & ~key->access, lacks, sizeof(lacks));
		(void)snprintf(text, room, "the %s has the rights \"%s\" and lacks \"%s\"",
			       kind_text(key), has, lacks);
		return;
	case VSW_MEM_WRAP:
		(void)snprintf(text, room, "the range passes the end of the address space");
		return;
	case VSW_MEM_BOUNDS:
		(void)snprintf(text, room,
			       "outside of the bounds of the %s, %" PRIu64 " octets at 0x%" PRIx64,
			       kind_text(key), key->length, key->addr);
		return;
	case VSW_MEM_BOUND:
		(void)snprintf(text, room, "%u windows are linked to the region", key->bound);
		return;
	case VSW_MEM_LOST:
		(void)snprintf(text, room,
			       "a page of the %s exists no more: its file was cut short, or the "
			       "memory was unmapped or protected",
			       kind_text(key));
		return;
	case VSW_MEM_OK:
	default:
		(void)snprintf(text, room, "it was refused at that moment");
		return;
	}
}

void
vsw_why_access(struct vsw_mem_table *table, const struct vsw_mem_access *wanted,
	       enum vsw_mem_result result, char *text, size_t room)
{
	const struct key key = key_of(table, wanted->stag);
	char cause[256];

	cause_text(&key, result, wanted->access, cause, sizeof(cause));
	(void)snprintf(text, room, "%" PRIu64 " octets at 0x%" PRIx64 ", key %08" PRIx32 ": %s",
		       wanted->length, wanted->addr, wanted->stag, cause);
}

void
vsw_why_refused(struct vsw_mem_table *table, const struct vsw_mem_who *who,
		const struct vsw_mem_access *wanted, char *text, size_t room)
{
	enum vsw_mem_result result = VSW_MEM_STAG;
	struct vsw_mem_use use;

	if (wanted->stag != 0)
		result = vsw_mem_begin(table, who, wanted, &use);
	if (result == VSW_MEM_OK)
		vsw_mem_end(&use);
	vsw_why_access(table, wanted, result, text, room);
}

void
vsw_why_bind(struct vsw_mem_table *table, const struct ri_wr_bind *bind, enum vsw_mem_result result,
	     char *text, size_t room)
{
	const struct key mw = key_of(table, bind->mw_stag);
	const struct key mr = key_of(table, bind->mr_stag);
	char cause[256], wants[96];

	vsw_why_rights(bind->access, wants, sizeof(wants));
	switch (result) {
	case VSW_MEM_STAG:
		if (!mw.there)
			(void)snprintf(cause, sizeof(cause), "the window does not exist");
		else if (!mr.valid || mr.kind != VSW_MEM_REGION)
			(void)snprintf(cause, sizeof(cause),
				       "no valid region has the key %08" PRIx32, bind->mr_stag);
		else
			(void)snprintf(cause, sizeof(cause),
				       "the queue pair through which the window was linked has "
				       "ended");
		break;
	case VSW_MEM_PD:
		(void)snprintf(cause, sizeof(cause),
			       "window, region and queue pair are not of one protection domain");
		break;
	case VSW_MEM_BOUND:
		(void)snprintf(cause, sizeof(cause),
			       "the narrow window is linked already, with the key %08" PRIx32
			       ": unlink it first",
			       bind->mw_stag);
		break;
	case VSW_MEM_ACCESS:
		if ((mr.access & RI_ACCESS_BIND) == 0)
			(void)snprintf(cause, sizeof(cause), "the region lacks the right \"bind\"");
		else
			cause_text(&mr, result, bind->access, cause, sizeof(cause));
		break;
	case VSW_MEM_OK:
	case VSW_MEM_LOST:
	case VSW_MEM_CLOSED:
	case VSW_MEM_WRAP:
	case VSW_MEM_BOUNDS:
	default:
		cause_text(&mr, result, bind->access, cause, sizeof(cause));
		break;
	}
	(void)snprintf(text, room,
		       "%" PRIu64 " octets at 0x%" PRIx64 " of the region with the key %08" PRIx32
		       ", rights \"%s\": %s",
		       bind->length, bind->addr, bind->mr_stag, wants, cause);
}

void
vsw_why_invalidate(struct vsw_mem_table *table, uint32_t stag, enum vsw_mem_result result,
		   char *text, size_t room)
{
	const struct key key = key_of(table, stag);
	char cause[256];

	if (result == VSW_MEM_ACCESS && key.kind == VSW_MEM_WIDE)
		(void)snprintf(cause, sizeof(cause),
			       "a wide window is unlinked by a link of 0 octets");
	else if (result == VSW_MEM_ACCESS && (key.access & VSW_MEM_REMOTE) == 0)
		(void)snprintf(cause, sizeof(cause), "the %s is open to no peer", kind_text(&key));
	else if (result == VSW_MEM_ACCESS)
		(void)snprintf(cause, sizeof(cause), "the region is shared");
	else
		cause_text(&key, result, 0, cause, sizeof(cause));
	(void)snprintf(text, room, "key %08" PRIx32 ": %s", stag, cause);
}

void
vsw_why_operation(const struct vsw_wqe *wqe, char *text, size_t room)
{
	static const char *const names[] = {
		[RI_OP_SEND] = "Send",
		[RI_OP_RDMA_WRITE] = "RDMA Write",
		[RI_OP_RDMA_READ] = "RDMA Read",
		[RI_OP_FETCH_ADD] = "Fetch-and-Add",
		[RI_OP_CMP_SWAP] = "Compare-and-Swap",
		[RI_OP_BIND_MW] = "link of a window",
		[RI_OP_LOCAL_INV] = "unlink of a window",
		[RI_OP_INV_MR] = "invalidation of a region",
		[RI_OP_FAST_REG] = "fast registration",
		[RI_OP_SEND_UD] = "datagram",
	};
	const size_t count = sizeof(names) / sizeof(names[0]);
	const char *name = wqe->opcode < count ? names[wqe->opcode] : NULL;

	if (name == NULL)
		(void)snprintf(text, room, "request of the unknown kind %u", (unsigned)wqe->opcode);
	else if (wqe->opcode == RI_OP_SEND)
		(void)snprintf(text, room, "%s of %" PRIu64 " octets", name, (uint64_t)wqe->length);
	else if (wqe->opcode == RI_OP_RDMA_WRITE || wqe->opcode == RI_OP_RDMA_READ)
		(void)snprintf(text, room,
			       "%s of %" PRIu64 " octets %s 0x%" PRIx64 ", key %08" PRIx32, name,
			       (uint64_t)wqe->length,
			       wqe->opcode == RI_OP_RDMA_WRITE ? "to" : "from", wqe->u.remote.addr,
			       wqe->u.remote.stag);
	else if (wqe->opcode == RI_OP_FETCH_ADD || wqe->opcode == RI_OP_CMP_SWAP)
		(void)snprintf(text, room, "%s at 0x%" PRIx64 ", key %08" PRIx32, name,
			       wqe->u.remote.addr, wqe->u.remote.stag);
	else
		(void)snprintf(text, room, "%s", name);
}

/* The segment of this end that cannot be accessed; false: all can be. */
static bool
segment_text(struct vsw_mem_table *table, const struct vsw_mem_who *who, const struct vsw_wqe *wqe,
	     uint32_t access, char *text, size_t room)
{
	char why[VSW_WHY_ROOM];

	for (uint32_t i = 0; i < wqe->num_sge; i++) {
		const struct vsw_mem_access wanted = {.addr = wqe->sge[i].addr,
						      .length = wqe->sge[i].length,
						      .stag = wqe->sge[i].stag,
						      .access = access};
		struct vsw_mem_use use;
		enum vsw_mem_result result = VSW_MEM_OK;

		if (wanted.length > 0)
			result = vsw_mem_begin(table, who, &wanted, &use);
		if (wanted.length > 0 && result == VSW_MEM_OK)
			vsw_mem_end(&use);
		if (result == VSW_MEM_OK)
			continue;
		vsw_why_access(table, &wanted, result, why, sizeof(why));
		(void)snprintf(text, room, "its segment %u: %.370s", (unsigned)i, why);
		return true;
	}
	return false;
}

void
vsw_why_request(struct vsw_mem_table *table, const struct vsw_mem_who *who,
		const struct vsw_why_request *failed, char *text, size_t room)
{
	const struct vsw_wqe *wqe = failed->wqe;
	const enum ri_wc_status status = failed->status;
	const enum vsw_mem_result result = failed->result;
	bool into = wqe->opcode == RI_OP_RDMA_READ || wqe->opcode == RI_OP_FETCH_ADD ||
		    wqe->opcode == RI_OP_CMP_SWAP;

	if (wqe->opcode == RI_OP_BIND_MW) {
		vsw_why_bind(table, &wqe->u.bind, result, text, room);
		return;
	}
	if (wqe->opcode == RI_OP_LOCAL_INV || wqe->opcode == RI_OP_INV_MR) {
		vsw_why_invalidate(table, wqe->inv_stag, result, text, room);
		return;
	}
	if (status == RI_WC_LOCAL_PROTECTION &&
	    segment_text(table, who, wqe, into ? failed->sink : RI_ACCESS_LOCAL_READ, text, room))
		return;
	if (status == RI_WC_LOCAL_PROTECTION && wqe->opcode == RI_OP_RDMA_READ)
		(void)snprintf(text, room,
			       "the sink of a Read must be open to writes of the peer, and this "
			       "endpoint allows none (rdma_write_enable)");
	else if (status == RI_WC_LOCAL_QP && into)
		(void)snprintf(text, room,
			       "this endpoint makes no Reads and atomics (rdma_read_ord is 0), or "
			       "the request has a wrong number of segments");
	else if (status == RI_WC_LOCAL_LENGTH)
		(void)snprintf(text, room, "longer than a message can be");
	else
		(void)snprintf(text, room, "the request is malformed, or not allowed here");
}

void
vsw_why_receive(struct vsw_mem_table *table, const struct vsw_mem_who *who,
		const struct vsw_wqe *wqe, char *text, size_t room)
{
	char why[VSW_WHY_ROOM] = "its memory could not be written at that moment";

	(void)segment_text(table, who, wqe, RI_ACCESS_LOCAL_WRITE, why, sizeof(why));
	(void)snprintf(text, room, "a Send of the peer cannot be written to its receive: %.340s",
		       why);
}

void
vsw_why_peer(struct vsw_mem_table *table, const struct vsw_mem_who *who,
	     const struct vsw_why_peer *peer, char *text, size_t room)
{
	const uint32_t lacks = peer->wanted.access & ~peer->granted;
	char why[VSW_WHY_ROOM];

	if ((lacks & RI_ACCESS_REMOTE_WRITE) != 0)
		(void)snprintf(why, sizeof(why),
			       "this endpoint allows its peer no RDMA Write (rdma_write_enable)");
	else if (lacks != 0)
		(void)snprintf(why, sizeof(why), "this endpoint allows its peer no %s",
			       (lacks & RI_ACCESS_REMOTE_READ) != 0 ? "RDMA Read (rdma_read_enable)"
								    : "atomic operation");
	else
		vsw_why_refused(table, who, &peer->wanted, why, sizeof(why));
	(void)snprintf(text, room, "the peer's %s is refused: %s", peer->operation, why);
}
