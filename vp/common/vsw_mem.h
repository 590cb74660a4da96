/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Keys and memory of a software RNIC: regions and windows by STag, and the check of every access.
 *
 * An STag is a 24-bit index and an 8-bit key. Each registration draws a new index, so indices are sparse,
 * cannot be guessed (RFC 5042) and are not repeated within the next 2^23 draws (vsw_draw.h). If the provider
 * owns the key octet, it is random, too.
 *
 * A thread that accesses memory has a *use* of the region as long as it does so. A thread that revokes a key
 * makes the entry invalid and waits until its uses have ended. So nothing is read or written through a key
 * after the call that revoked it has returned. A use lasts for one copy or one non-blocking system call.
 */
#ifndef VSW_MEM_H
#define VSW_MEM_H

#include "rnicpi.h"
#include "vsw_lock.h"
#include "vsw_mark.h"

/* The rights that a peer can be given. */
#define VSW_MEM_REMOTE (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)
/* A peer may invalidate keys (RI_OP_SEND) if the queue pair grants it one of these rights; that of atomics does not suffice. */
#define VSW_MEM_INVALIDATES (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE)

struct vsw_mem_table;
struct vsw_mem_entry;

/* The queue pair on whose behalf memory is accessed. */
struct vsw_mem_who {
	const void *pd;  /* protection domain of the QP, or of the SRQ for its receives */
	uint32_t qpn;    /* for narrow windows */
	bool privileged; /* may use STag 0 */
};

/*
 * Why an access is refused; the order of the checks is [WIRE 5.8]. Only the local side can distinguish the first
 * three: a peer gets the same answer to each of them, so a guessed key tells it nothing about the keys that exist.
 */
enum vsw_mem_result {
	VSW_MEM_OK = 0,
	VSW_MEM_STAG,   /* no such key, or not valid */
	VSW_MEM_PD,     /* of another PD, or a window of another QP */
	VSW_MEM_CLOSED, /* a remote access to a region without any remote right */
	VSW_MEM_ACCESS, /* a right is missing */
	VSW_MEM_WRAP,   /* address + length wraps */
	VSW_MEM_BOUNDS, /* outside of the region */
	VSW_MEM_BOUND,  /* invalidate: windows are bound to the region */
	VSW_MEM_LOST    /* permitted, but a page of the memory exists no more [RI 5.9] */
};

/* An access: bytes [addr, addr + length) of an STag, with all of the rights `access`. */
struct vsw_mem_access {
	uint64_t addr;
	uint64_t length;
	uint32_t stag;
	uint32_t access; /* RI_ACCESS_* */
};

/* A permitted access; vsw_mem_end ends it, on the same thread. */
struct vsw_mem_use {
	uint8_t *ptr;   /* first byte, or NULL: in pieces, or to be copied through the host */
	vsw_mark *mark; /* of this thread, names the entry; or NULL */
	struct vsw_mem_entry *entry; /* counts the use; or NULL */
	struct vsw_mem_entry
		*region; /* whose memory it is: the entry, or the region under a window */
	uint64_t offset; /* within the region's ri_mem */
};

/* `keys`: who chooses the key octets of regions; RI_KEY_CONSUMER takes ri_mr_init::key. */
enum ri_status vsw_mem_table_create(const struct ri_host *host, uint32_t max_entries,
				    enum ri_key_owner keys,
				    struct vsw_mem_table **out) RI_MUST_CHECK;
void vsw_mem_table_destroy(struct vsw_mem_table *table);

/* Registration. `pd` is compared, never dereferenced. */
enum ri_status vsw_mr_reg(struct vsw_mem_table *table, const void *pd, uint64_t owner,
			  const struct ri_mr_init *init, struct vsw_mem_entry **out,
			  uint32_t *stag) RI_MUST_CHECK;
/*
 * Register a range, as vsw_mr_reg does, over memory that the provider has mapped and keeps mapped
 * until the region is destroyed. ri_mr_init::addr is only the name of its first byte. Such a region
 * cannot be re-registered.
 */
enum ri_status vsw_mr_reg_mapped(struct vsw_mem_table *table, const void *pd,
				 const struct ri_mr_init *init, uint8_t *memory,
				 struct vsw_mem_entry **out, uint32_t *stag) RI_MUST_CHECK;
enum ri_status vsw_mr_rereg(struct vsw_mem_entry *mr, const void *pd, const struct ri_mr_init *init,
			    uint32_t *stag) RI_MUST_CHECK;
enum ri_status vsw_mr_dereg(struct vsw_mem_entry *mr) RI_MUST_CHECK; /* RI_ERR_BUSY: bound */
void vsw_mr_query(struct vsw_mem_entry *mr, struct ri_mr_attr *attr);

/* A fast registration: the memory, in pieces, of a region that is invalid; vsw_list.c. */
struct vsw_mem_fast {
	uint32_t stag;   /* index and new key */
	uint32_t access; /* RI_ACCESS_* */
	uint64_t addr;   /* of the first byte */
	uint64_t length;
	bool relative;             /* addresses count from 0 */
	uint32_t fbo;              /* of the first byte in the first piece */
	uint32_t count;            /* pieces */
	const struct ri_sge *list; /* their addresses and lengths */
};
/* VSW_MEM_BOUND: the region is valid, or of a kind that cannot be made invalid. */
enum vsw_mem_result vsw_mr_fast(struct vsw_mem_table *table, const struct vsw_mem_who *who,
				const struct vsw_mem_fast *fast);

/* Windows. */
enum ri_status vsw_mw_alloc(struct vsw_mem_table *table, const void *pd, enum ri_mw_type type,
			    struct vsw_mem_entry **out, uint32_t *stag) RI_MUST_CHECK;
void vsw_mw_free(struct vsw_mem_entry *mw);
void vsw_mw_query(struct vsw_mem_entry *mw, struct ri_mr_attr *attr);
/*
 * Called when a bind is posted: if it is for a wide window and the caller wants its STag, choose
 * the next key of the window. The request then contains that key, too.
 */
void vsw_mw_key(struct vsw_mem_table *table, struct ri_wr_bind *bind, uint32_t *stag);
/* Run a bind request. */
enum vsw_mem_result vsw_mw_bind(struct vsw_mem_table *table, const struct vsw_mem_who *who,
				const struct ri_wr_bind *bind, bool relative);
/* Run an invalidation. `remote`: the peer requested it, and region and queue pair need a remote right. */
enum vsw_mem_result vsw_mem_invalidate(struct vsw_mem_table *table, const struct vsw_mem_who *who,
				       uint32_t stag, bool remote);
/* The windows of a queue pair that ends: with `revoke` none can be bound again. Returns how many are bound. */
uint32_t vsw_mem_qp_windows(struct vsw_mem_table *table, uint32_t qpn, bool revoke);

/* Begin an access; vsw_mem_end ends it. Length 0 is always permitted. Fast path. */
enum vsw_mem_result vsw_mem_begin(struct vsw_mem_table *table, const struct vsw_mem_who *who,
				  const struct vsw_mem_access *wanted, struct vsw_mem_use *use);
/* End an access that has no mark. */
void vsw_mem_end_counted(struct vsw_mem_use *use);
static inline void
vsw_mem_end(struct vsw_mem_use *use)
{
	if (__builtin_expect(use->mark == NULL, 0)) {
		vsw_mem_end_counted(use);
		return;
	}
	vsw_mark_clear(use->mark);
	use->mark = NULL;
}
/*
 * The address of byte `at` of a use; *left: how many bytes follow it contiguously (the caller must
 * not go beyond the use). NULL: the memory must be copied through the host.
 */
uint8_t *vsw_mem_piece(const struct vsw_mem_use *use, uint64_t at, uint64_t *left);
/*
 * Copy bytes from offset `at` of a use: out of the memory, or into it (`write`). RI_ERR_FATAL: the process
 * that owns the memory has ended; RI_ERR_ADDRESS: a page is lost.
 */
enum ri_status vsw_mem_copy(const struct vsw_mem_use *use, uint64_t at, void *buf, size_t len,
			    bool write) RI_MUST_CHECK;

#endif /* VSW_MEM_H */
