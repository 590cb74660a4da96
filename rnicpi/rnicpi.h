/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/**
 * @file rnicpi.h
 * @brief What a provider registers, and the control verbs of its privileged half (kVP).
 *
 * A provider is code built into libitapi, a shared object that exports `ri_provider_entry`, or a struct that a
 * program registers. It is described by a ri_provider: version and size first, then a table for each kind of
 * object. An entry that is NULL is absent. Attributes of the profile (ri_rnic_attr) say which entries an adapter
 * needs; the registry refuses a provider whose claims and entries disagree [RI 11.1.3].
 *
 * This is a whole provider. It loads, and `it-info -l` lists its adapter, which cannot be opened yet; no entry written
 * with LATER is called before one can. A test compiles and loads it.
 *
 * @code{.c}
 * #include <rnicpi/rnicpi.h>
 * #include <stdlib.h>
 *
 * #define LATER(table, entry) .entry = (__typeof__(((struct table *)0)->entry))(void (*)(void))abort
 *
 * static enum ri_status
 * mine_probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count)
 * {
 *         descs[0] = (struct ri_device_desc){"mine0", "a device of mine", RI_TRANSPORT_IWARP, 1};
 *         *count = 1;
 *         return RI_SUCCESS;
 * }
 *
 * static enum ri_status
 * mine_open(const struct ri_open *open, struct ri_rnic **out)
 * {
 *         return RI_ERR_NO_DEVICE;
 * }
 *
 * #define D(entry) LATER(ri_device_ops, entry)
 * static const struct ri_device_ops device = {sizeof(device), mine_probe, mine_open, D(close), D(query),
 *         D(query_port), D(context_create), D(context_destroy)};
 * static const struct ri_pd_ops pd = {sizeof(pd), LATER(ri_pd_ops, create), LATER(ri_pd_ops, destroy)};
 * static const struct ri_cq_ops cq = {sizeof(cq), LATER(ri_cq_ops, create), LATER(ri_cq_ops, destroy)};
 * #define Q(entry) LATER(ri_qp_ops, entry)
 * static const struct ri_qp_ops qp = {sizeof(qp), Q(create), Q(modify), Q(query), Q(destroy)};
 * #define M(entry) LATER(ri_mem_ops, entry)
 * static const struct ri_mem_ops mem = {sizeof(mem), M(mr_reg), M(mr_query), M(mr_dereg)};
 * #define U(entry) LATER(ri_user_ops, entry)
 * static const struct ri_user_ops user = {sizeof(user), U(rnic_open), U(rnic_close), U(cq_open),
 *         U(cq_close), U(qp_open), U(qp_close)};
 * #define F(entry) LATER(ri_fast_ops, entry)
 * static const struct ri_fast_ops fast = {sizeof(fast), F(post_sq), F(post_rq), F(flush_sq), F(poll_cq),
 *         F(cq_depth), F(arm_cq)};
 * static const struct ri_provider mine = {RI_ABI_MAJOR, RI_ABI_MINOR, sizeof(mine), "mine", "a provider",
 *         .device = &device, .pd = &pd, .cq = &cq, .qp = &qp, .mem = &mem, .user = &user, .fast = &fast};
 *
 * __attribute__((visibility("default"))) const struct ri_provider *
 * ri_provider_entry(void)
 * {
 *         return &mine;
 * }
 * @endcode
 *
 * @ref rnicpi_calling has the rules for all control verbs, @ref rnicpi_results the results that all may give.
 *
 * This design is our own. It follows what is known of the interface of that name of 2005, and claims no binary
 * or source compatibility with it [RI 1.2].
 */
#ifndef RNICPI_H
#define RNICPI_H

#include "rnicpi_fast.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @addtogroup rnicpi
 * @{
 * @defgroup rnicpi_provider Provider and control verbs (kVP)
 * @{
 */

/** Major version: must be equal on both sides. */
#define RI_ABI_MAJOR 1
/** Minor version: grows when members are added, at the ends of structs, to unions with room, or in octets that were 0. */
#define RI_ABI_MINOR 7
/** Name of the function that a provider's shared object exports. */
#define RI_PROVIDER_ENTRY_NAME "ri_provider_entry"

struct ri_rnic;
struct ri_context;
struct ri_pd;
struct ri_cq;
struct ri_srq;
struct ri_qp;
struct ri_mr;
struct ri_mw;
struct ri_ah;
struct ri_listen;
struct ri_request;

/** An adapter that a provider found. Texts are zero-terminated. */
struct ri_device_desc {
	char name[64];        /**< Adapter name; unique among all providers. */
	char description[96]; /**< Text for people. */
	uint32_t transport;   /**< enum ri_transport. */
	uint32_t num_ports;   /**< Spigots, at least 1 if it can be opened. */
};

/**
 * Upcalls of the access layer [RI 2.1.3], [RI 8]. A provider makes them on any thread, several at once, but
 * never inside a control verb. They never block and do not fail. They may call ri_fast_ops::cq_depth and
 * ri_fast_ops::arm_cq, so the provider owns no lock of these. An upcall for an object comes only until the verb
 * that destroys it returns; one for the adapter or a spigot may come from the beginning of ri_device_ops::open
 * until its close returned. Arguments are borrowed. The access layer ignores one for a request that is gone.
 */
struct ri_upcalls {
	uint32_t size; /**< sizeof this struct as the access layer knows it. */
	void *self;    /**< First argument of every upcall. */
	/**
	 * Says that the condition of an armed CQ holds; @p ctx is that of its creation. May come inside fast entries.
	 * - Results: none. Clause: [RI 7.1].
	 */
	void (*cq_event)(void *self, uint64_t ctx);
	/**
	 * Says that an event has happened. May come inside fast entries.
	 * - Results: none. Clause: [RI 8.1] to [RI 8.6].
	 */
	void (*async_event)(void *self, const struct ri_async_event *event);
	/**
	 * Says that a connection, an attempt or a request has moved on, for ri_cm_ops only. An attempt that fails ends
	 * with RI_CM_REJECTED or RI_CM_FAILED; after ri_cm_ops::disconnect, any end may come. The end of an
	 * established connection depends on the form:
	 * - by address (ri_cm_ops): exactly one RI_CM_DISCONNECTED or RI_CM_BROKEN here, after all completions of the
	 *   QP. An asynchronous event may come before and say what went wrong; it ends nothing, even if
	 *   ri_event_is_end() knows it.
	 * - over a stream (ri_llp_ops): exactly one @ref async_event that ri_event_is_end() knows, after all
	 *   completions; nothing comes here.
	 * - Results: none. Clause: [RI 11.6.2], [RI 8.2].
	 */
	void (*cm_event)(void *self, const struct ri_cm_event *event);
};

/** Input of ri_device_ops::open. */
struct ri_open {
	char name[64];                    /**< Name of the adapter, zero-terminated. */
	const struct ri_host *host;       /**< Services; valid until close has returned. */
	const struct ri_upcalls *upcalls; /**< Upcalls; valid until close has returned. */
};

/** The process that owns a context. */
struct ri_owner {
	uint64_t mem_owner; /**< For ri_host::mem_attach. */
	uint32_t pid;       /**< Process id. */
	uint32_t uid;       /**< User id. */
	bool privileged;    /**< It may use privileged operations [RI 10.12]. */
	bool shared;        /**< Another process: queue pages must have descriptors [RI 11.2.2]. */
};

/** Adapters and processes [RI 2.2.1]. See @ref rnicpi_calling, @ref rnicpi_results. */
struct ri_device_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Lists adapters. *@p count in: room in @p descs (at least 1), out: adapters that there are, which may exceed the
	 * room; then as many as fit are listed.
	 * - Results: RI_ERR_RESOURCES. Clause: [RI 2.2.1].
	 */
	enum ri_status (*probe)(const struct ri_host *host, struct ri_device_desc *descs,
				uint32_t *count);
	/**
	 * Opens an adapter; *@p out is closed by ri_device_ops::close. One may be opened several times at once.
	 * - Results: RI_ERR_NO_DEVICE: no adapter has the name; RI_ERR_PERMISSION: this user may not open the device;
	 *   RI_ERR_RESOURCES. Clause: [RI 2.2.1].
	 */
	enum ri_status (*open)(const struct ri_open *open, struct ri_rnic **out);
	/**
	 * Closes it, when no context is left. After it returned no upcall is under way on any thread, and none comes: the
	 * access layer frees what its upcalls use.
	 * - Results: none. Clause: [RI 2.2.1], [RI 8.6].
	 */
	void (*close)(struct ri_rnic *rnic);
	/**
	 * Fills in the semantic profile. The caller sets attr->size; only that many bytes are written.
	 * - Results: none of its own. Clause: [RI 10], [RI 2.2.1].
	 */
	enum ri_status (*query)(struct ri_rnic *rnic, struct ri_rnic_attr *attr);
	/**
	 * Describes a spigot as it is now. The caller sets attr->size; only that many bytes are written.
	 * - Results: RI_ERR_INVALID_ARG: no such spigot; RI_ERR_RESOURCES. Clause: [RI 2.2.1].
	 */
	enum ri_status (*query_port)(struct ri_rnic *rnic, uint32_t port,
				     struct ri_port_attr *attr);
	/**
	 * Begins to serve a process. @p owner is copied; @p map is for ri_user_ops::rnic_open.
	 * - Results: RI_ERR_UNSUPPORTED: @p owner is another process; RI_ERR_RESOURCES. Clause: [RI 2.2.1], [RI 11.2.1].
	 */
	enum ri_status (*context_create)(struct ri_rnic *rnic, const struct ri_owner *owner,
					 struct ri_context **out, struct ri_map *map);
	/**
	 * Ends it and takes back all objects that it still has, in whatever state, without events for them.
	 * - Results: none. Clause: [RI 2.2.4].
	 */
	void (*context_destroy)(struct ri_context *context);
	/**
	 * Finds the source address and the spigot for a peer. *@p local in: the wanted source or RI_ADDR_NONE, out: the
	 * source. Optional: without it the kAL asks the routing of the host.
	 * - Results: RI_ERR_NO_ROUTE: the peer cannot be reached, or not from *@p local. Clause: [RI 2.2.1].
	 */
	enum ri_status (*route)(struct ri_rnic *rnic, const struct ri_addr *peer,
				struct ri_addr *local, uint32_t *port);
	/**
	 * Writes text about its inner state, one fact a line, zero-terminated, at most @p room bytes. Optional.
	 * - Results: bytes of the whole text without the zero; not less than @p room: it was cut. Clause: [RI 2.2.1].
	 */
	size_t (*dump)(struct ri_rnic *rnic, char *text, size_t room);
};

/** Protection domains [RI 2.2]. See @ref rnicpi_calling, @ref rnicpi_results. */
struct ri_pd_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Creates one.
	 * - Results: RI_ERR_RESOURCES: memory ran out, or ri_rnic_attr::max_pd exist. Clause: [RI 2.2.1].
	 */
	enum ri_status (*create)(struct ri_context *context, struct ri_pd **out);
	/**
	 * Destroys it.
	 * - Results: RI_ERR_BUSY: a QP, region, window, SRQ or address handle uses it. Clause: [RI 2.2.3].
	 */
	enum ri_status (*destroy)(struct ri_pd *pd);
};

/** Completion queues [RI 2.2], [RI 7]. See @ref rnicpi_calling, @ref rnicpi_results. */
struct ri_cq_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Creates one. *@p entries in: minimum, 1 to ri_rnic_attr::max_cqe, out: the real size. @p ctx comes back in events.
	 * - Results: RI_ERR_LIMIT: above max_cqe; RI_ERR_RESOURCES: memory ran out, or max_cq exist. Clause: [RI 2.2.2].
	 */
	enum ri_status (*create)(struct ri_context *context, uint64_t ctx, uint32_t *entries,
				 struct ri_cq **out, struct ri_map *map);
	/**
	 * Changes its size; no completion is lost. *@p entries as of create; @p map is for ri_user_ops::cq_remap, which
	 * follows at once. Required with ri_rnic_attr::cq_resizable.
	 * - Results: RI_ERR_LIMIT: above max_cqe; RI_ERR_BUSY: more completions are present; RI_ERR_RESOURCES.
	 * - Clause: [RI 10.16], [RI 2.2.2].
	 */
	enum ri_status (*resize)(struct ri_cq *cq, uint32_t *entries, struct ri_map *map);
	/**
	 * Destroys it; completions that were not polled are dropped.
	 * - Results: RI_ERR_BUSY: a QP uses it. Clause: [RI 2.2.3].
	 */
	enum ri_status (*destroy)(struct ri_cq *cq);
};

/** Shared receive queues [RI 6]; required with ri_rnic_attr::srq. See @ref rnicpi_calling, @ref rnicpi_results. */
struct ri_srq_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Creates one; @p attr out: the real sizes, at least those asked for.
	 * - Results: RI_ERR_INVALID_ARG: max_wr is 0, or the limit is above it; RI_ERR_LIMIT: above ri_rnic_attr::max_srq_wr
	 *   or max_recv_sge; RI_ERR_RESOURCES: memory ran out, or max_srq exist. Clause: [RI 6.1], [RI 2.2.2].
	 */
	enum ri_status (*create)(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out,
				 struct ri_map *map);
	/**
	 * Sets the limit, which arms it (0 = off, RI_SRQ_LIMIT_KEEP = as it is), and with @p resize max_wr too; @p attr out:
	 * the real max_wr. With @p resize, @p map is for ri_user_ops::srq_remap, which follows at once; needs srq_resizable.
	 * - Results: RI_ERR_INVALID_ARG: the limit is above max_wr, or max_wr is 0; RI_ERR_LIMIT: above
	 *   ri_rnic_attr::max_srq_wr; RI_ERR_BUSY: more receives are outstanding; RI_ERR_RESOURCES.
	 * - Clause: [RI 6.4], [RI 10.16].
	 */
	enum ri_status (*modify)(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize,
				 struct ri_map *map);
	/**
	 * Reads all attributes.
	 * - Results: none of its own. Clause: [RI 2.2.1].
	 */
	enum ri_status (*query)(struct ri_srq *srq, struct ri_srq_attr *attr);
	/**
	 * Destroys it; receives that no QP took are dropped, without completions.
	 * - Results: RI_ERR_BUSY: a QP uses it. Clause: [RI 2.2.3], [RI 6.6].
	 */
	enum ri_status (*destroy)(struct ri_srq *srq);
};

/** Queue pairs [RI 4]. See @ref rnicpi_calling, @ref rnicpi_results. */
struct ri_qp_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Creates one, in IDLE; one for datagrams is in RTS and ends with an event that ri_event_is_end() knows, after all
	 * completions. @p init out: real sizes, at least those asked for; IRD and ORD exactly. @p srq NULL: none.
	 * - Results: RI_ERR_UNSUPPORTED: the type, an SRQ with it, a soft limit, or privileged is not claimed;
	 *   RI_ERR_INVALID_ARG: no such spigot; RI_ERR_PERMISSION: privileged, or a Q_Key with bit 31, without the
	 *   privilege; RI_ERR_LIMIT: a size above ri_rnic_attr; RI_ERR_RESOURCES: memory ran out, or max_qp exist.
	 *   Clause: [RI 2.2.2], [RI 4.3.3], [RI 10.18].
	 */
	enum ri_status (*create)(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
				 struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
				 struct ri_map *map);
	/**
	 * Changes state and attributes, all or nothing. Moves: IDLE to IDLE, IDLE to ERROR, RTS to CLOSING, RTS to
	 * TERMINATE, any but IDLE to ERROR, ERROR to IDLE. ri_cm_ops and ri_llp_ops enter CONNECTING and RTS. @p mask:
	 * RI_QP_ATTR_* bits.
	 * - Results: RI_ERR_INVALID_STATE: no such move; RI_ERR_STILL_FLUSHING: to IDLE before everything is completed and
	 *   the end is raised; RI_ERR_TIME_WAIT: to IDLE too early; RI_ERR_INVALID_ARG: an unknown bit, or limits without an
	 *   SRQ; RI_ERR_UNSUPPORTED: the attribute cannot change here; RI_ERR_PERMISSION: a Q_Key with bit 31 without the
	 *   privilege; RI_ERR_LIMIT: IRD or ORD above ri_rnic_attr; RI_ERR_RESOURCES: memory for more IRD or ORD.
	 * - Clause: [RI 4.3.2], [RI 10.14], [RI 10.15], [RI 10.45].
	 */
	enum ri_status (*modify)(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask);
	/**
	 * Reads all attributes.
	 * - Results: none of its own. Clause: [RI 2.2.1], [RI 8.7].
	 */
	enum ri_status (*query)(struct ri_qp *qp, struct ri_qp_attr *attr);
	/**
	 * Destroys it in any state; a live connection is reset. What was posted gets no completion, and after the return its
	 * buffers are not touched.
	 * - Results: RI_ERR_BUSY: narrow windows are bound through it. Clause: [RI 2.2.3], [RI 2.1.4].
	 */
	enum ri_status (*destroy)(struct ri_qp *qp);
	/**
	 * Changes slots and segments; requests and receives stay posted. @p attr in: minima, out: real values (max_*_wr,
	 * max_*_sge). With an SRQ the receive queue stays as it is. @p map is for ri_user_ops::qp_remap, which follows at
	 * once. Required with ri_rnic_attr::wq_resizable.
	 * - Results: RI_ERR_LIMIT: above ri_rnic_attr; RI_ERR_BUSY: more is outstanding; RI_ERR_RESOURCES.
	 * - Clause: [RI 10.16], [RI 2.2.2].
	 */
	enum ri_status (*resize)(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map);
	/**
	 * Lets a queue pair for datagrams receive those that are sent to @p group, a multicast GID or address. Datagrams to the
	 * group name queue pair number 0xffffff, and the Q_Key of those who may receive them. Twice is once. Required with
	 * ri_rnic_attr::multicast.
	 * - Results: RI_ERR_INVALID_ARG: @p group is no multicast address; RI_ERR_UNSUPPORTED: not for datagrams;
	 *   RI_ERR_RESOURCES: memory ran out, or the device has no more groups. Clause: [RI 10.52].
	 */
	enum ri_status (*mcast_attach)(struct ri_qp *qp, const struct ri_addr *group);
	/**
	 * Ends that. Datagrams that have arrived stay. Destroying the queue pair does it, too. Required with multicast.
	 * - Results: RI_ERR_INVALID_ARG: it is not attached to @p group. Clause: [RI 10.52].
	 */
	enum ri_status (*mcast_detach)(struct ri_qp *qp, const struct ri_addr *group);
};

/** The memory of ri_mem_ops::mr_reg_dmabuf; borrowed for the call. */
struct ri_dmabuf {
	int fd; /**< Descriptor of the dmabuf; the caller keeps it and may close it after the call. */
	uint64_t offset; /**< Of the first byte of the region in the dmabuf (bytes). */
};

/** Memory [RI 5]. See @ref rnicpi_calling, @ref rnicpi_results. */
struct ri_mem_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Registers memory, or reserves an STag (ri_mr_init::unlinked). *@p stag is not 0.
	 * - Results: RI_ERR_INVALID_ARG: length 0, contradicting rights or a malformed list; RI_ERR_ADDRESS: the range
	 *   wraps, is not mapped or has a page without memory; RI_ERR_ACCESS: the process itself has not those rights; RI_ERR_UNSUPPORTED: lists or reserved
	 *   STags are not claimed; RI_ERR_PERMISSION: these without the privilege; RI_ERR_LIMIT: above max_mr_length or
	 *   max_pbl; RI_ERR_RESOURCES: memory ran out, or max_mr exist. Clause: [RI 5.1], [RI 5.3.1], [RI 10.40].
	 */
	enum ri_status (*mr_reg)(struct ri_pd *pd, const struct ri_mr_init *init,
				 struct ri_mr **out, uint32_t *stag);
	/**
	 * Registers other memory under the same object; @p pd may be another one. The old STag is revoked as by mr_dereg,
	 * and *@p stag is the new one, or the old one again with ri_mr_init::keep_stag. Required with ri_rnic_attr::reregister.
	 * - Results: RI_ERR_BUSY: windows are bound to it; RI_ERR_UNSUPPORTED: a list, or the region is of a dmabuf;
	 *   RI_ERR_INVALID_ARG, RI_ERR_ADDRESS, RI_ERR_ACCESS, RI_ERR_LIMIT and RI_ERR_RESOURCES: as of mr_reg.
	 * - Clause: [RI 5.2.1], [RI 5.7.1], [RI 5.8.3].
	 */
	enum ri_status (*mr_rereg)(struct ri_mr *mr, struct ri_pd *pd,
				   const struct ri_mr_init *init, uint32_t *stag);
	/**
	 * Describes a region.
	 * - Results: none of its own. Clause: [RI 2.2.1].
	 */
	enum ri_status (*mr_query)(struct ri_mr *mr, struct ri_mr_attr *attr);
	/**
	 * Destroys a region, valid or not. After the return no byte of it is read or written through the STag (RFC 5042). It
	 * waits for accesses that are under way, which are bounded.
	 * - Results: RI_ERR_BUSY: windows are bound to it. Clause: [RI 5.7.1], [RI 2.2.3].
	 */
	enum ri_status (*mr_dereg)(struct ri_mr *mr);
	/**
	 * Creates a window that is not bound. Required with ri_rnic_attr::mw_narrow or mw_wide.
	 * - Results: RI_ERR_UNSUPPORTED: this type; RI_ERR_RESOURCES: memory ran out, or max_mw exist. Clause: [RI 5.6.1].
	 */
	enum ri_status (*mw_alloc)(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out,
				   uint32_t *stag);
	/**
	 * Describes a window; address, length and rights only while it is bound.
	 * - Results: none of its own. Clause: [RI 2.2.1].
	 */
	enum ri_status (*mw_query)(struct ri_mw *mw, struct ri_mr_attr *attr);
	/**
	 * Destroys a window, bound or not, and revokes its STag as mr_dereg does.
	 * - Results: none of its own. Clause: [RI 5.7.1].
	 */
	enum ri_status (*mw_free)(struct ri_mw *mw);
	/**
	 * Registers a range of a dmabuf: memory that another driver exports. Requests name its first byte by ri_mr_init::addr,
	 * at which nothing need be mapped. Of @p init, length, access, key and shareable count besides. *@p stag is not 0.
	 * Required with ri_rnic_attr::dmabuf.
	 * - Results: RI_ERR_INVALID_ARG: the descriptor is of no dmabuf, length 0, contradicting rights, or the offset and
	 *   ri_mr_init::addr are not at the same place of a page; RI_ERR_ADDRESS: the address wraps, or the range is not in the
	 *   dmabuf; RI_ERR_ACCESS: the dmabuf does not allow these rights; RI_ERR_UNSUPPORTED: the adapter cannot reach this
	 *   dmabuf; RI_ERR_LIMIT: above max_mr_length; RI_ERR_RESOURCES: memory ran out, or max_mr exist.
	 * - Clause: [RI 5.8.1], [RI 5.8.2].
	 */
	enum ri_status (*mr_reg_dmabuf)(struct ri_pd *pd, const struct ri_mr_init *init,
					const struct ri_dmabuf *from, struct ri_mr **out,
					uint32_t *stag);
};

/** Address handles [RI 10.34]; required with ri_rnic_attr::ud. See @ref rnicpi_calling, @ref rnicpi_results. */
struct ri_ah_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Creates one; *@p id goes into ri_wr_ud::ah of requests of the same protection domain. If a neighbour must be found
	 * first, it does not wait for that, and datagrams are lost until then [RI 2.1.2].
	 * - Results: RI_ERR_INVALID_ARG: no such spigot; RI_ERR_NO_ROUTE: not reachable, or not from that source;
	 *   RI_ERR_RESOURCES: memory ran out, or max_ah exist. Clause: [RI 2.2.1].
	 */
	enum ri_status (*create)(struct ri_pd *pd, const struct ri_ah_init *init,
				 struct ri_ah **out, uint32_t *id);
	/**
	 * Changes its destination; datagrams that are already posted go to either.
	 * - Results: RI_ERR_INVALID_ARG, RI_ERR_NO_ROUTE: as of create. Clause: [RI 2.2.1].
	 */
	enum ri_status (*modify)(struct ri_ah *ah, const struct ri_ah_init *init);
	/**
	 * Destroys it; datagrams that are already posted with it are still sent.
	 * - Results: none of its own. Clause: [RI 2.2.1].
	 */
	enum ri_status (*destroy)(struct ri_ah *ah);
};

/** Parameters of a connect or an accept; borrowed for the call. */
struct ri_cm_params {
	struct ri_addr local;      /**< Connect: source address, or RI_ADDR_NONE. */
	struct ri_addr peer;       /**< Connect: destination address. */
	struct ri_service service; /**< Connect: service at the destination. */
	uint32_t port;             /**< Connect: spigot, from 0. */
	uint32_t ird;              /**< IRD to tell, 0 to ri_rnic_attr::max_ird. */
	uint32_t ord; /**< ORD to tell, 0 to max_ord; accept: at most the IRD of the peer. */
	/** Tell the two: from then on they are those of the queue pair. Before the side that connects hears of the answer,
	 *  its ORD becomes the IRD of the peer if that is less [RI 10.32]. */
	bool ird_ord;
	bool three_way;     /**< Connect: ri_cm_ops::confirm ends the set-up. */
	uint16_t pdata_len; /**< Octets of @ref pdata. */
	const void *pdata;  /**< Private data, borrowed; NULL without any. */
	uint64_t deadline;  /**< When the attempt fails: ns of ri_host::now, or RI_NEVER. */
	/** Connect, accept: after 4.096 us * 2^this without an acknowledgement a packet is sent again, 1 to 31; 0: the provider
	 *  chooses. A transport without this time ignores it. Since version 1.7; ri_host::size shows whether it is there [RI 10.55]. */
	uint32_t ack_timeout;
	/** Connect, accept: send @ref retry_count and @ref rnr_retry to the peer; else the provider chooses. A transport
	 *  without such counts ignores them. Of version 1.7 [RI 10.56]. */
	bool retries;
	uint8_t retry_count; /**< Connect: how often either side sends an unacknowledged packet again, 0 to 7. */
	uint8_t rnr_retry; /**< How often the peer tries again while no receive is there, 0 to 6; 7: without end. */
};

/** Answer to RI_CM_SERVICE_REQUEST; borrowed for the call. */
struct ri_service_answer {
	uint32_t status;    /**< enum ri_service_status. */
	uint32_t qpn;       /**< With RI_SERVICE_FOUND. */
	uint32_t qkey;      /**< With RI_SERVICE_FOUND. */
	uint16_t pdata_len; /**< Octets of @ref pdata. */
	const void *pdata;  /**< Private data, borrowed; NULL without any. */
};

/**
 * First optional form of connection management, by address [RI 11.6.1]. The table is required with RI_CM_ADDRESS.
 * Private data is limited by ri_rnic_attr: connect_pdata and the like. See @ref rnicpi_calling, @ref rnicpi_results.
 */
struct ri_cm_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Listens on a spigot. A port or id of 0 in @p service means any; the chosen one is written back. At most @p backlog
	 * requests wait for an answer; the next ones are refused. @p ctx comes back in RI_CM_REQUEST.
	 * - Results: RI_ERR_INVALID_ARG: no such spigot, or the kind of service is unknown here; RI_ERR_IN_USE: the service
	 *   has a listener; RI_ERR_PERMISSION: the service is reserved; RI_ERR_RESOURCES. Clause: [RI 11.6.1].
	 */
	enum ri_status (*listen)(struct ri_context *context, uint64_t ctx, uint32_t port,
				 struct ri_service *service, uint32_t backlog,
				 struct ri_listen **out);
	/**
	 * Stops listening. Requests that were raised stay and can be answered; others are refused.
	 * - Results: none. Clause: [RI 11.6.1], [RI 2.1.4].
	 */
	void (*listen_destroy)(struct ri_listen *listen);
	/**
	 * Begins to connect; IDLE to CONNECTING. RI_CM_REPLY (three-way), RI_CM_ESTABLISHED, RI_CM_REJECTED or RI_CM_FAILED
	 * follows.
	 * - Results: RI_ERR_INVALID_STATE: not in IDLE; RI_ERR_INVALID_ARG: too much private data, or the kind of service is
	 *   unknown here; RI_ERR_LIMIT: IRD or ORD; RI_ERR_UNSUPPORTED: three_way is not claimed, or it is of type RI_QP_UC; RI_ERR_NO_ROUTE: the
	 *   source address is not of this adapter; RI_ERR_RESOURCES. Clause: [RI 11.6.1], [RI 10.30], [RI 10.32].
	 */
	enum ri_status (*connect)(struct ri_qp *qp, const struct ri_cm_params *params);
	/**
	 * Accepts a request with a QP in IDLE; a success consumes the request. RI_CM_ESTABLISHED or RI_CM_FAILED follows.
	 * - Results: RI_ERR_INVALID_HANDLE: the request is gone; RI_ERR_INVALID_STATE: the QP is not in IDLE;
	 *   RI_ERR_INVALID_ARG: too much private data; RI_ERR_LIMIT: IRD or ORD; RI_ERR_UNSUPPORTED: of the two sides one is
	 *   an RI_QP_NUMBER and the other is not; RI_ERR_RESOURCES.
	 * - Clause: [RI 11.6.1], [RI 10.30], [RI 10.54].
	 */
	enum ri_status (*accept)(struct ri_request *request, struct ri_qp *qp,
				 const struct ri_cm_params *params);
	/**
	 * Refuses a request; a success consumes it. With RI_CM_REASON_CONSUMER the peer gets RI_CM_REJECTED with the private
	 * data, otherwise RI_CM_FAILED with the reason.
	 * - Results: RI_ERR_INVALID_HANDLE: the request is gone; RI_ERR_INVALID_ARG: too much private data.
	 * - Clause: [RI 11.6.1], [RI 10.30].
	 */
	enum ri_status (*reject)(struct ri_request *request, enum ri_cm_reason reason,
				 const void *pdata, uint16_t len);
	/**
	 * Completes a three-way set-up after RI_CM_REPLY. If @p accept is false it refuses instead, with private data
	 * as in reject, and no event follows here. Required with ri_rnic_attr::three_way_handshake.
	 * - Results: RI_ERR_INVALID_STATE: no RI_CM_REPLY is open; RI_ERR_INVALID_ARG: too much private data.
	 * - Clause: [RI 10.28].
	 */
	enum ri_status (*confirm)(struct ri_qp *qp, bool accept, const void *pdata, uint16_t len);
	/**
	 * Ends an attempt or a connection in an orderly way. Exactly one end follows, see ri_upcalls::cm_event.
	 * - Results: RI_ERR_INVALID_STATE: no connection, or one that ends; RI_ERR_INVALID_ARG: too much private data.
	 * - Clause: [RI 11.6.1], [RI 10.30].
	 */
	enum ri_status (*disconnect)(struct ri_qp *qp, const void *pdata, uint16_t len);
	/**
	 * Finds the queue pair that serves the datagrams of a service; ird, ord and three_way are not used. One RI_CM_SERVICE_REPLY names @p
	 * ctx, at the deadline with RI_SERVICE_REJECTED. Required with ri_rnic_attr::ud.
	 * - Results: RI_ERR_BUSY: a query with @p ctx is outstanding; RI_ERR_INVALID_ARG: no such spigot, too much
	 *   private data, or the kind of service is unknown here; RI_ERR_UNSUPPORTED: ud is not claimed; RI_ERR_RESOURCES.
	 * - Clause: [RI 11.6.1], [RI 10.34].
	 */
	enum ri_status (*resolve)(struct ri_context *context, uint64_t ctx,
				  const struct ri_cm_params *params);
	/**
	 * Withdraws that query, if it is outstanding: after the return no RI_CM_SERVICE_REPLY names @p ctx. Required with
	 * ud.
	 * - Results: none. Clause: [RI 11.6.1], [RI 2.1.4].
	 */
	void (*resolve_cancel)(struct ri_context *context, uint64_t ctx);
	/**
	 * Answers RI_CM_SERVICE_REQUEST; a success consumes the request. Required with ri_rnic_attr::ud.
	 * - Results: RI_ERR_INVALID_HANDLE: the request is gone; RI_ERR_INVALID_ARG: too much private data, or no such
	 *   status. Clause: [RI 11.6.1], [RI 10.34].
	 */
	enum ri_status (*resolve_answer)(struct ri_request *request,
					 const struct ri_service_answer *answer);
};

/** How ri_llp_ops::attach_stream starts RDMA mode; borrowed for the call. */
struct ri_stream {
	int fd; /**< Connected TCP socket, non-blocking; the provider's own from success on. */
	bool initiator;     /**< This side sent the MPA Request, so it may send first. */
	bool crc;           /**< CRC32C is sent and checked, in both directions. */
	bool markers_tx;    /**< The peer wants markers. */
	bool markers_rx;    /**< This side asked for markers. */
	bool peer_local;    /**< Both addresses are of this machine: large FPDUs are good. */
	uint8_t rtr_send;   /**< One RI_RTR_* to send first, or 0; not with @ref rtr_expect. */
	uint8_t rtr_expect; /**< One RI_RTR_* that must come first, or 0. */
	bool await_fpdu;    /**< Send nothing until the first FPDU has come. */
	uint16_t
		abort_code; /**< Not 0: send a Terminate with this layer, type and code, and close. */
	/**
	 * Initiator: milliseconds until an RDMA Write of no octets wakes a peer that may have missed what came right behind
	 * its Reply; 0: never. One goes out at the start, too, if nothing else does; later ones follow at growing
	 * intervals, a few times, until something has come. None of them makes a completion. [WIRE 7.7]
	 */
	uint16_t wake_ms;
	uint32_t ird;       /**< Negotiated IRD. */
	uint32_t ord;       /**< Negotiated ORD. */
	const void *early;  /**< Octets that came behind the start-up frame, borrowed; or NULL. */
	uint32_t early_len; /**< Octets in @ref early. */
};

/**
 * Second optional form: take over a connected stream [RI 11.6.3]. The table is required with RI_CM_STREAM.
 * See @ref rnicpi_calling, @ref rnicpi_results.
 */
struct ri_llp_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Enters CONNECTING, when the kAL begins to make the stream, so that posts and queries see it; ri_qp_ops::modify to
	 * ERROR leaves it.
	 * - Results: RI_ERR_INVALID_STATE: not in IDLE. Clause: [RI 4.1.3].
	 */
	enum ri_status (*reserve)(struct ri_qp *qp);
	/**
	 * Takes the stream; CONNECTING to RTS. RI_EVENT_QP_STREAM_UP is raised when the RTR was sent or has come, at once if
	 * there is none, and nothing is delivered before that upcall returned. With another result the descriptor stays the
	 * caller's.
	 * - Results: RI_ERR_INVALID_STATE: not in CONNECTING; RI_ERR_UNSUPPORTED: markers; RI_ERR_INVALID_ARG: not a
	 *   connected TCP socket; RI_ERR_RESOURCES: memory ran out, or more octets came early than can be kept.
	 * - Clause: [RI 11.6.3], [RI 8.3].
	 */
	enum ri_status (*attach_stream)(struct ri_qp *qp, const struct ri_stream *stream);
};

/**
 * Third optional form: the application has exchanged numbers and addresses by means of its own, and brings each queue pair, RC or
 * UC, up by itself [RI 11.6.4]. The table is required with RI_CM_PEER. Nothing is agreed with the peer, and no event of a
 * connection comes: the first request fails if the peer is missing or has other numbers. RI_EVENT_QP_COMM_EST may
 * come when the first message arrives. The end is ri_qp_ops::modify to ERROR, without a message to the peer; an RC queue
 * pair that fails raises one event that ri_event_is_end() knows, after all completions. See @ref rnicpi_calling, @ref rnicpi_results.
 */
struct ri_peer_ops {
	uint32_t size; /**< sizeof this struct as the provider knows it. */
	/**
	 * Makes a queue pair receive from a peer: IDLE to CONNECTING. Requests are kept, as in every CONNECTING.
	 * - Results: RI_ERR_INVALID_STATE: not in IDLE; RI_ERR_INVALID_ARG: a number, code or MTU outside of its range, or no such
	 *   spigot; RI_ERR_NO_ROUTE: the address is not reachable, or not from that source; RI_ERR_LIMIT: IRD;
	 *   RI_ERR_UNSUPPORTED: the queue pair is neither RC nor UC; RI_ERR_RESOURCES. Clause: [RI 11.6.6].
	 */
	enum ri_status (*receive)(struct ri_qp *qp, const struct ri_peer *peer);
	/**
	 * Makes it send, too: CONNECTING to RTS. Of @p peer only the second part counts.
	 * - Results: RI_ERR_INVALID_STATE: ri_peer_ops::receive has not been called; RI_ERR_INVALID_ARG: a number or code outside
	 *   of its range; RI_ERR_LIMIT: ORD; RI_ERR_RESOURCES. Clause: [RI 11.6.7].
	 */
	enum ri_status (*send)(struct ri_qp *qp, const struct ri_peer *peer);
};

/** What the text of a setting may be. */
enum ri_setting_kind {
	RI_SETTING_TEXT = 0, /**< Any text. */
	RI_SETTING_NUMBER, /**< Decimal digits: a number from ri_setting::min to ri_setting::max. */
	RI_SETTING_WORD    /**< One of the words of ri_setting::form. */
};

/**
 * A variable of the environment that a provider reads [RI 11.1.5].
 *
 * The layers above show it to the administrator with its present value, and warn of a value that cannot be.
 * The provider reads it: with secure_getenv() unless ri_setting::set_uid is set, so that a program with more
 * rights than its caller does not believe the caller.
 */
struct ri_setting {
	const char *name;    /**< The variable: capitals, digits and '_', at most 63. */
	const char *meaning; /**< One sentence for people, without a full stop. */
	const char *
		form; /**< RI_SETTING_WORD: the words, separated by '|'; else what stands there, or NULL. */
	const char *unit;   /**< What a number counts, such as "ms"; NULL: nothing. */
	const char *preset; /**< The value without the variable; NULL: none. */
	uint64_t min;       /**< Least number. */
	uint64_t max;       /**< Greatest number. */
	uint32_t kind;      /**< enum ri_setting_kind. */
	uint32_t set_uid;   /**< 1: also programs with more rights than their caller read it. */
};

/** A provider [RI 11.1]. It and its tables are constant and valid until the process ends. */
struct ri_provider {
	uint16_t abi_major;                 /**< RI_ABI_MAJOR at compile time. */
	uint16_t abi_minor;                 /**< RI_ABI_MINOR at compile time. */
	uint32_t size;                      /**< sizeof this struct at compile time. */
	const char *name;                   /**< Short and unique, such as "iwarp". */
	const char *description;            /**< Text for people. */
	const struct ri_device_ops *device; /**< Required. */
	const struct ri_pd_ops *pd;         /**< Required. */
	const struct ri_cq_ops *cq;         /**< Required. */
	const struct ri_qp_ops *qp;         /**< Required. */
	const struct ri_mem_ops *mem;       /**< Required; windows with mw_narrow or mw_wide. */
	const struct ri_srq_ops *srq;       /**< With srq. */
	const struct ri_ah_ops *ah;         /**< With ud. */
	const struct ri_cm_ops *cm;         /**< With RI_CM_ADDRESS. */
	const struct ri_llp_ops *llp;       /**< With RI_CM_STREAM. */
	const struct ri_user_ops *user;     /**< Required. */
	const struct ri_fast_ops *fast;     /**< Required. */
	const struct ri_setting *settings;  /**< Variables that it reads [RI 11.1.5]; NULL: none. */
	uint32_t num_settings;              /**< How many. */
	uint32_t setting_size;              /**< sizeof(struct ri_setting) at compile time. */
	const struct ri_peer_ops *peer;     /**< With RI_CM_PEER. */
};

/** Type of the exported function: returns the provider, or NULL if it cannot run here [RI 11.1.1]. */
typedef const struct ri_provider *(*ri_provider_entry_fn)(void);

/** @} */
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RNICPI_H */
