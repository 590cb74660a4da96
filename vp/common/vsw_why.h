/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Why an access to memory, a link or an invalidation was refused, as a text with values for the log
 * of this side. A peer never gets the text: all keys that it may not use look alike to it
 * (vsw_mem.h).
 *
 * The text is made after the refusal, and only if the log will write it. It describes the key as it
 * is then; another thread may have changed the key since the refusal.
 */
#ifndef VSW_WHY_H
#define VSW_WHY_H

#include "vsw_mem.h"
#include "vsw_queue.h"

#define VSW_WHY_ROOM 400 /* octets that every text fits in */

/* "remote write", "local read, remote read": the rights in RI_ACCESS_* bits; "no right". */
void vsw_why_rights(uint32_t access, char *text, size_t room);
/* "8 octets at 0x1000, key 2084c919: no region or window has this key". */
void vsw_why_access(struct vsw_mem_table *table, const struct vsw_mem_access *wanted,
		    enum vsw_mem_result result, char *text, size_t room);
/* The same of an access that is checked again, since its result is not known any more. */
void vsw_why_refused(struct vsw_mem_table *table, const struct vsw_mem_who *who,
		     const struct vsw_mem_access *wanted, char *text, size_t room);
/* A bind. */
void vsw_why_bind(struct vsw_mem_table *table, const struct ri_wr_bind *bind,
		  enum vsw_mem_result result, char *text, size_t room);
/* An invalidation. */
void vsw_why_invalidate(struct vsw_mem_table *table, uint32_t stag, enum vsw_mem_result result,
			char *text, size_t room);

/* What a request of this end does, such as "RDMA Write of 8 octets to 0x1000, key 2084c919". */
void vsw_why_operation(const struct vsw_wqe *wqe, char *text, size_t room);
/*
 * A request that failed at this end. Its segments are checked again to find the reason; `sink` is
 * the right that the sink of a Read needs. `result` is the result of a bind or an invalidation.
 */
struct vsw_why_request {
	const struct vsw_wqe *wqe;
	uint32_t sink;
	enum ri_wc_status status;
	enum vsw_mem_result result;
};
void vsw_why_request(struct vsw_mem_table *table, const struct vsw_mem_who *who,
		     const struct vsw_why_request *failed, char *text, size_t room);
/* The memory of a receive, which a Send cannot be written to. */
void vsw_why_receive(struct vsw_mem_table *table, const struct vsw_mem_who *who,
		     const struct vsw_wqe *wqe, char *text, size_t room);

/* A request of the peer, as this end sees it. */
struct vsw_why_peer {
	const char *operation; /* "RDMA Write" */
	struct vsw_mem_access wanted;
	uint32_t granted; /* rights that the queue pair gives to its peer */
};
/* Why a request of the peer is refused: the queue pair's rights first, then the key. */
void vsw_why_peer(struct vsw_mem_table *table, const struct vsw_mem_who *who,
		  const struct vsw_why_peer *peer, char *text, size_t room);

#endif /* VSW_WHY_H */
