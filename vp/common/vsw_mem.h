/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Keys and memory of a software RNIC: regions and windows by STag, every access checked.
 *
 * An STag is a 24-bit index and an 8-bit key. The index is drawn anew for each registration, so that
 * values are sparse, cannot be guessed (RFC 5042) and do not come again soon: not within the next 2^23
 * draws (vsw_draw.h). Where the provider owns the key octet it is drawn too. Who touches memory holds a *use* of the region for as long as it does; who
 * revokes marks the entry invalid and waits until the uses are gone. So nothing is read or written
 * through a key after the call that revoked it has returned. A use lasts for one copy or one
 * non-blocking system call, never longer.
 */
#ifndef VSW_MEM_H
#define VSW_MEM_H

#include "rnicpi.h"
#include "vsw_lock.h"

/* What a peer may be allowed to do. */
#define VSW_MEM_REMOTE (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)
/* One of these a queue pair needs for the peer to invalidate (RI_OP_SEND); atomics alone do not do. */
#define VSW_MEM_INVALIDATES (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE)

struct vsw_mem_table;
struct vsw_mem_entry;

/* Who asks: the queue pair on whose behalf memory is touched. */
struct vsw_mem_who {
	const void *pd;  /* protection domain of the QP, or of the SRQ for its receives */
	uint32_t qpn;    /* for narrow windows */
	bool privileged; /* STag 0 is allowed */
};

/*
 * Why an access is refused; the order of the checks is [WIRE 5.8]. The first three are for the local
 * side to tell apart: a peer that does not hold a key gets the same answer to each of them, so that a
 * guess tells nothing about the keys that exist.
 */
enum vsw_mem_result {
	VSW_MEM_OK = 0,
	VSW_MEM_STAG,   /* no such key, or not valid */
	VSW_MEM_PD,     /* of another PD, or a window of another QP */
	VSW_MEM_CLOSED, /* a remote access to memory that is open to no peer */
	VSW_MEM_ACCESS, /* right missing */
	VSW_MEM_WRAP,   /* address + length wraps */
	VSW_MEM_BOUNDS, /* outside */
	VSW_MEM_BOUND   /* invalidate: windows are bound to it */
};

/* What is asked for: [addr, addr + length) of an STag with all of the rights `access`. */
struct vsw_mem_access {
	uint64_t addr;
	uint64_t length;
	uint32_t stag;
	uint32_t access; /* RI_ACCESS_* */
};

/* A permitted access, to be ended. */
struct vsw_mem_use {
	uint8_t *ptr; /* first byte, or NULL: in pieces, or to be copied through the host */
	struct vsw_mem_entry *entry; /* holds the use; NULL for empty accesses */
	struct vsw_mem_entry
		*region; /* whose memory it is: the entry, or the region under a window */
	uint64_t offset; /* within the region's ri_mem */
};

/* keys: who chooses the key octets of regions; RI_KEY_CONSUMER takes ri_mr_init::key. */
enum ri_status vsw_mem_table_create(const struct ri_host *host, uint32_t max_entries,
				    enum ri_key_owner keys,
				    struct vsw_mem_table **out) RI_MUST_CHECK;
void vsw_mem_table_destroy(struct vsw_mem_table *table);

/* Registration. `pd` is compared, never followed. */
enum ri_status vsw_mr_reg(struct vsw_mem_table *table, const void *pd, uint64_t owner,
			  const struct ri_mr_init *init, struct vsw_mem_entry **out,
			  uint32_t *stag) RI_MUST_CHECK;
enum ri_status vsw_mr_rereg(struct vsw_mem_entry *mr, const void *pd, const struct ri_mr_init *init,
			    uint32_t *stag) RI_MUST_CHECK;
enum ri_status vsw_mr_dereg(struct vsw_mem_entry *mr) RI_MUST_CHECK; /* RI_ERR_BUSY: bound */
void vsw_mr_query(struct vsw_mem_entry *mr, struct ri_mr_attr *attr);

/* A fast registration: pieces for an invalid region of the queue pair's domain; vsw_list.c. */
struct vsw_mem_fast {
	uint32_t stag;   /* index and new key */
	uint32_t access; /* RI_ACCESS_* */
	uint64_t addr;   /* of the first byte */
	uint64_t length;
	bool relative;             /* counts from 0 */
	uint32_t fbo;              /* of the first byte in the first piece */
	uint32_t count;            /* pieces */
	const struct ri_sge *list; /* their addresses and lengths */
};
/* VSW_MEM_BOUND: the region is valid, or can never be invalid. */
enum vsw_mem_result vsw_mr_fast(struct vsw_mem_table *table, const struct vsw_mem_who *who,
				const struct vsw_mem_fast *fast);

/* Windows. */
enum ri_status vsw_mw_alloc(struct vsw_mem_table *table, const void *pd, enum ri_mw_type type,
			    struct vsw_mem_entry **out, uint32_t *stag) RI_MUST_CHECK;
void vsw_mw_free(struct vsw_mem_entry *mw);
void vsw_mw_query(struct vsw_mem_entry *mw, struct ri_mr_attr *attr);
/* Run a bind request. */
enum vsw_mem_result vsw_mw_bind(struct vsw_mem_table *table, const struct vsw_mem_who *who,
				const struct ri_wr_bind *bind, bool relative);
/* Run an invalidation; `remote`: asked for by the peer, needs a remote right too; so does the queue pair. */
enum vsw_mem_result vsw_mem_invalidate(struct vsw_mem_table *table, const struct vsw_mem_who *who,
				       uint32_t stag, bool remote);
/* Windows that a QP leaves behind: revoked for good until freed. Returns how many are still bound. */
uint32_t vsw_mem_qp_windows(struct vsw_mem_table *table, uint32_t qpn, bool revoke);

/*
 * Begin an access. Length 0 is always permitted and holds nothing. Ends with vsw_mem_end. Fast path.
 */
enum vsw_mem_result vsw_mem_begin(struct vsw_mem_table *table, const struct vsw_mem_who *who,
				  const struct vsw_mem_access *wanted, struct vsw_mem_use *use);
void vsw_mem_end(struct vsw_mem_use *use);
/*
 * Where byte `at` of a use is, and how many follow in one piece, at least (those beyond the use are
 * not to be touched). NULL: through the host.
 */
uint8_t *vsw_mem_piece(const struct vsw_mem_use *use, uint64_t at, uint64_t *left);
/*
 * Copy bytes of a use that begin `at` bytes into it: out of the memory, or into it (`write`).
 * RI_ERR_FATAL: the owner of the memory has gone.
 */
enum ri_status vsw_mem_copy(const struct vsw_mem_use *use, uint64_t at, void *buf, size_t len,
			    bool write) RI_MUST_CHECK;

#endif /* VSW_MEM_H */
