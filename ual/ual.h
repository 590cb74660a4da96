/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What the entry points in itapi/ call, control path. The fast path is ual_dto.h.
 *
 * An entry point converts handles to objects with the functions of the first section, checks its pointers and flags,
 * and calls one function of this header, which returns the status of IT-API. It checks handles first, then whether the
 * adapter has failed (ual_dead), then all other arguments from left to right [IT 1.2], [IT 1.6]. It writes OUT handles.
 */
#ifndef UAL_H
#define UAL_H

#include "ual_object.h"

struct ual_pz;
struct ual_evd;
struct ual_ep;
struct ual_listen;
struct ual_lmr;
struct ual_rmr;
struct ual_srq;
struct ual_ah;
struct ual_ud_svc;

/*
 * Enter the object of a handle; NULL if it is no handle of that type. Declare the variable with UAL_VISIT, which leaves
 * the object at the end of the block.
 */

static inline struct ual_ia *
ual_ia_of(it_ia_handle_t handle)
{
	return (struct ual_ia *)ual_object_enter(handle, UAL_IA);
}

static inline struct ual_pz *
ual_pz_of(it_pz_handle_t handle)
{
	return (struct ual_pz *)ual_object_enter(handle, UAL_PZ);
}

static inline struct ual_evd *
ual_evd_of(it_evd_handle_t handle)
{
	return (struct ual_evd *)ual_object_enter(handle, UAL_EVD);
}

static inline struct ual_ep *
ual_ep_of(it_ep_handle_t handle)
{
	return (struct ual_ep *)ual_object_enter(handle, UAL_EP);
}

static inline struct ual_listen *
ual_listen_of(it_listen_handle_t handle)
{
	return (struct ual_listen *)ual_object_enter(handle, UAL_LISTEN);
}

static inline struct ual_lmr *
ual_lmr_of(it_lmr_handle_t handle)
{
	return (struct ual_lmr *)ual_object_enter(handle, UAL_LMR);
}

static inline struct ual_rmr *
ual_rmr_of(it_rmr_handle_t handle)
{
	return (struct ual_rmr *)ual_object_enter(handle, UAL_RMR);
}

static inline struct ual_srq *
ual_srq_of(it_srq_handle_t handle)
{
	return (struct ual_srq *)ual_object_enter(handle, UAL_SRQ);
}

static inline struct ual_ah *
ual_ah_of(it_addr_handle_t handle)
{
	return (struct ual_ah *)ual_object_enter(handle, UAL_AH);
}

static inline struct ual_ud_svc *
ual_ud_svc_of(it_ud_svc_req_handle_t handle)
{
	return (struct ual_ud_svc *)ual_object_enter(handle, UAL_UD_SVC);
}

/* The adapter of an object; every object begins with its struct ual_object. */
static inline struct ual_ia *
ual_ia_under(const void *object)
{
	return ((const struct ual_object *)object)->ia;
}

/* Has the adapter failed beyond repair? Then calls return IT_ERR_IA_CATASTROPHE. */
bool ual_dead(const struct ual_ia *ia);

/* itx_init_tracing; name is not NULL. */
it_status_t ual_trace_begin(const char *name, int rank);

/* A setting as it is now; no text is NULL, and all are valid for the call. */
struct ual_setting {
	const char *name, *owner, *meaning, *range, *preset, *value, *origin, *trouble;
	bool set_uid;
};

/* itx_settings_list: one call of `each` for every setting. */
it_status_t ual_settings_list(void (*each)(void *arg, const struct ual_setting *setting),
			      void *arg);

#define UAL_STATUSES 14 /* of completions */

/* Counters of struct ual_live; those of it_ext.h have the same order. */
enum ual_counter {
	UAL_COUNT_SENDS = 0,
	UAL_COUNT_WRITES,
	UAL_COUNT_READS,
	UAL_COUNT_RECEIVES,
	UAL_COUNT_DATAGRAMS,
	UAL_COUNT_ATOMICS,
	UAL_COUNT_LINKS,
	UAL_COUNT_UNLINKS,
	UAL_COUNT_OCTETS_POSTED,
	UAL_COUNT_FRAMES_SENT,
	UAL_COUNT_FRAMES_RECEIVED,
	UAL_COUNT_RETRIES,
	UAL_COUNT_CRC_ERRORS,
	UAL_COUNT_SUCCESSES, /* then the other statuses of completions, as the provider interface has them */
	UAL_COUNT_OCTETS_COMPLETED = UAL_COUNT_SUCCESSES + UAL_STATUSES,
	UAL_COUNT_ARMINGS,
	UAL_COUNT_EVENTS,
	UAL_COUNT_WAITS,
	UAL_COUNT_WAKE_UPS,
	UAL_COUNT_COUNT
};

#define UAL_LIVE_ADDRESS 64

/* An object of a process; texts are valid for the call, and none is NULL. */
struct ual_live {
	unsigned kind; /* as itx_live_kind_t */
	uint32_t serial, number;
	uint64_t service;
	const char *adapter, *type, *state, *local, *peer;
	uint64_t known; /* bits by counter */
	uint64_t counters[UAL_COUNT_COUNT];
};

/* itx_live_list: one call of `each` for every object of the process, 0: this one. */
it_status_t ual_live_list(int pid, void (*each)(void *arg, const struct ual_live *live), void *arg);

/*
 * Adapters.
 */

/* it_interface_list. */
void ual_ia_list(it_interface_t *list, size_t room, size_t *filled, size_t *total);
/* it_ia_create: name and version are checked here. */
it_status_t ual_ia_create(const char *name, uint32_t major, uint32_t minor, it_ia_handle_t *out);
/* it_ia_free, with everything under it [IT 2.4]. IT_ERR_INVALID_IA if another thread frees it. */
it_status_t ual_ia_free(struct ual_ia *ia);
/* it_ia_query and it_ia_info_free. */
it_status_t ual_ia_query(struct ual_ia *ia, it_ia_info_t **out);
void ual_ia_info_free(it_ia_info_t *info);
/* itx_ia_query_support: abilities for which it_ia_info_t has no member. */
struct ual_support {
	bool lmr_modify;
	bool dto_evd_resize;
	bool srq_low_watermark;
	bool local_read_check;
	bool remote_status;
	bool dmabuf;
	bool ep_reuse;
};
struct ual_support ual_ia_support(const struct ual_ia *ia);
/* it_get_pathinfo; peer is not NULL. */
it_status_t ual_ia_paths(struct ual_ia *ia, size_t spigot, const it_net_addr_t *peer, size_t room,
			 size_t *total, it_path_t *paths);

/*
 * Protection zones.
 */

it_status_t ual_pz_create(struct ual_ia *ia, it_pz_handle_t *out);
it_status_t ual_pz_free(struct ual_pz *pz);

/*
 * Event dispatchers.
 */

/* Arguments of it_evd_create. */
struct ual_evd_wanted {
	it_event_type_t stream;
	it_evd_flags_t flags;
	size_t queue_size;
	size_t threshold;
	it_evd_handle_t aevd;
	bool has_fd; /* the caller gave a place for the descriptor */
};

it_status_t ual_evd_create(struct ual_ia *ia, const struct ual_evd_wanted *wanted,
			   it_evd_handle_t *out, int *fd);
it_status_t ual_evd_free(struct ual_evd *evd);
/* mask is checked; only what it names is written. */
void ual_evd_query(struct ual_evd *evd, it_evd_param_mask_t mask, it_evd_param_t *params);
it_status_t ual_evd_modify(struct ual_evd *evd, it_evd_param_mask_t mask,
			   const it_evd_param_t *params);
/* Fast path. IT_ERR_IA_CATASTROPHE, once it is empty, if the adapter failed. */
it_status_t ual_evd_dequeue(struct ual_evd *evd, it_event_t *event);
/* Fast path: take up to count events; returns how many. */
unsigned ual_evd_dequeue_n(struct ual_evd *evd, it_event_t *events, unsigned count);
/* timeout in microseconds; nmore may be NULL. */
it_status_t ual_evd_wait(struct ual_evd *evd, uint64_t timeout, it_event_t *event, size_t *nmore);
it_status_t ual_evd_post_se(struct ual_evd *evd, const void *data);
/* it_evd_callback_attach; the function is not NULL. */
it_status_t ual_callback_attach(struct ual_evd *evd, it_evd_callback_rtn_t function, void *arg);
/* Waits for a call under way, except from inside it. */
void ual_callback_detach(struct ual_evd *evd);
/* itx_aevd_wait: up to room events, room at least 1; timeout in microseconds. */
it_status_t ual_evd_wait_n(struct ual_evd *evd, uint64_t timeout, size_t room, it_event_t *events,
			   size_t *count);

/*
 * Memory.
 */

/* The memory of itx_lmr_create_dmabuf. */
struct ual_dmabuf {
	int fd;
	uint64_t offset;
};

/* Arguments of itx_lmr_create_dmabuf and of the three forms of it_lmr_create. */
struct ual_lmr_wanted {
	void *addr;                      /* of a dmabuf: what names its first byte */
	const it_iobl_t *iobl;           /* or NULL */
	const struct ual_dmabuf *dmabuf; /* or NULL */
	it_length_t length;
	it_addr_mode_t addr_mode;
	it_mem_priv_t privs;
	it_lmr_flag_t flags;
	uint32_t shared_id;
};

/* Arguments of it_lmr_link besides the handles. */
struct ual_lmr_link {
	const void *addr;
	const it_iobl_t *iobl; /* not NULL */
	it_length_t length;
	it_addr_mode_t addr_mode;
	it_mem_priv_t privs;
	it_dto_cookie_t cookie;
	it_dto_flags_t flags;
};

/* context may be NULL. */
it_status_t ual_lmr_create(struct ual_pz *pz, const struct ual_lmr_wanted *wanted,
			   it_lmr_handle_t *out, it_rmr_context_t *context);
it_status_t ual_lmr_create_unlinked(struct ual_pz *pz, size_t pieces, it_lmr_flag_t flags,
				    uint32_t shared_id, it_lmr_handle_t *out);
it_status_t ual_lmr_free(struct ual_lmr *lmr);
/* mask is checked. */
it_status_t ual_lmr_modify(struct ual_lmr *lmr, it_lmr_param_mask_t mask,
			   const it_lmr_param_t *params);
/* wanted is checked; only what it names is written. */
void ual_lmr_query(struct ual_lmr *lmr, it_lmr_param_mask_t wanted, it_lmr_param_t *params);
/* The context for peers. */
it_rmr_context_t ual_lmr_context(const struct ual_lmr *lmr);
bool ual_lmr_is_relative(const struct ual_lmr *lmr);
bool ual_lmr_is_direct(const struct ual_lmr *lmr);
/* it_lmr_flush_to_mem and it_lmr_refresh_from_mem. */
it_status_t ual_lmr_sync(const it_lmr_triplet_t *segments, size_t count);

/*
 * Privileged operations.
 */

/* Fast path, as the next. *context is not NULL. */
it_status_t ual_lmr_link(struct ual_lmr *lmr, struct ual_ep *ep, const struct ual_lmr_link *link,
			 it_rmr_context_t *context);
it_status_t ual_lmr_unlink(struct ual_lmr *lmr, struct ual_ep *ep, it_dto_cookie_t cookie,
			   it_dto_flags_t flags);
it_status_t ual_mem_map(struct ual_ia *ia, const void *addr, uint64_t aspace, size_t len,
			it_io_addr_t *io_addr, size_t *mapped);
it_status_t ual_mem_unmap(struct ual_ia *ia, it_io_addr_t io_addr, size_t len);

/*
 * Windows.
 */

it_status_t ual_rmr_create(struct ual_pz *pz, it_rmr_type_t type, it_rmr_handle_t *out);
it_status_t ual_rmr_free(struct ual_rmr *rmr);
/* wanted is checked; only what it names is written. */
void ual_rmr_query(struct ual_rmr *rmr, it_rmr_param_mask_t wanted, it_rmr_param_t *params);

/* Arguments of it_rmr_link besides the objects. */
struct ual_rmr_wanted {
	void *addr;
	it_length_t length;
	it_addr_mode_t addr_mode;
	it_mem_priv_t privs;
	it_dto_cookie_t cookie;
	it_dto_flags_t flags;
};

/* Fast path, as the next: no kAL call, no wait. */
it_status_t ual_rmr_link(struct ual_rmr *rmr, struct ual_lmr *lmr, struct ual_ep *ep,
			 const struct ual_rmr_wanted *wanted, it_rmr_context_t *context);
it_status_t ual_rmr_unlink(struct ual_rmr *rmr, struct ual_ep *ep, it_dto_cookie_t cookie,
			   it_dto_flags_t flags);

/*
 * Shared receive queues.
 */

it_status_t ual_srq_create(struct ual_pz *pz, size_t segments, size_t receives,
			   it_srq_handle_t *out);
it_status_t ual_srq_free(struct ual_srq *srq);
/* mask is checked. */
it_status_t ual_srq_modify(struct ual_srq *srq, it_srq_param_mask_t mask,
			   const it_srq_param_t *params);
/* wanted is checked; only what it names is written. */
it_status_t ual_srq_query(struct ual_srq *srq, it_srq_param_mask_t wanted, it_srq_param_t *params);

/*
 * Endpoints.
 */

/* Arguments of it_ep_rc_create besides the zone. */
struct ual_ep_wanted {
	it_evd_handle_t request;
	it_evd_handle_t recv;
	it_evd_handle_t connect;
	it_ep_rc_creation_flags_t flags;
	const it_ep_attributes_t *attr;
};

it_status_t ual_ep_create(struct ual_pz *pz, const struct ual_ep_wanted *wanted,
			  it_ep_handle_t *out);
it_status_t ual_ep_free(struct ual_ep *ep);
/* wanted is checked; only what it names is written. */
void ual_ep_query(struct ual_ep *ep, it_ep_param_mask_t wanted, it_ep_param_t *params);
/* attr NULL: IT_ERR_FAULT, after the check of the mask. */
it_status_t ual_ep_modify(struct ual_ep *ep, it_ep_param_mask_t mask,
			  const it_ep_attributes_t *attr);
it_status_t ual_ep_reset(struct ual_ep *ep);

/*
 * Datagrams.
 */

/* it_ep_ud_create; wanted->connect and ->flags are not used. */
it_status_t ual_ud_create(struct ual_pz *pz, const struct ual_ep_wanted *wanted, size_t spigot,
			  it_ep_handle_t *out);
it_status_t ual_ah_create(struct ual_pz *pz, const it_path_t *path, it_ah_flags_t flags,
			  it_addr_handle_t *out);
it_status_t ual_ah_free(struct ual_ah *ah);
it_status_t ual_ah_modify(struct ual_ah *ah, const it_path_t *path);
/* wanted is checked; only what it names is written. */
void ual_ah_query(struct ual_ah *ah, it_addr_param_mask_t wanted, it_addr_param_t *params);

/* Private data of a call. */
struct ual_pdata {
	const unsigned char *data; /* not NULL if length is not 0 */
	size_t length;
};

/* Arguments of it_ud_service_request_handle_create. */
struct ual_ud_svc_wanted {
	const it_conn_qual_t *qual;
	it_evd_handle_t reply;
	const it_path_t *path;
};

/* Arguments of it_ud_service_reply. */
struct ual_ud_answer {
	it_ud_svc_req_status_t status;
	it_remote_ep_info_t info;
};

it_status_t ual_ud_svc_create(const struct ual_ud_svc_wanted *wanted, const struct ual_pdata *pdata,
			      it_ud_svc_req_handle_t *out);
it_status_t ual_ud_svc_free(struct ual_ud_svc *svc);
it_status_t ual_ud_svc_request(struct ual_ud_svc *svc);
/* wanted is checked; only what it names is written. */
void ual_ud_svc_query(struct ual_ud_svc *svc, it_ud_svc_req_param_mask_t wanted,
		      it_ud_svc_req_param_t *params);
it_status_t ual_ud_reply(it_ud_svc_req_identifier_t id, const struct ual_ud_answer *answer,
			 const struct ual_pdata *pdata);

/*
 * Connections.
 */

/* itx_bind_ep_to_device: did the request arrive on the endpoint's adapter? The request stays valid. */
it_status_t ual_cm_same_adapter(const struct ual_ep *ep, it_cn_est_identifier_t id);
/* it_socket_convert; msg NULL: this end sends the MPA Request. */
it_status_t ual_cm_convert(struct ual_ep *ep, int sd, it_sc_flags_t flags, const void *msg,
			   size_t len);

/* qual in: as given; out: completed. */
it_status_t ual_listen_create(struct ual_ia *ia, size_t spigot, it_evd_handle_t connect,
			      it_listen_flags_t flags, it_conn_qual_t *qual,
			      it_listen_handle_t *out);
it_status_t ual_listen_free(struct ual_listen *listen);
/* wanted is checked; only what it names is written. */
void ual_listen_query(struct ual_listen *listen, it_listen_param_mask_t wanted,
		      it_listen_param_t *params);
it_status_t ual_cm_connect(struct ual_ep *ep, const it_path_t *path,
			   const it_conn_attributes_t *attr, const it_conn_qual_t *qual,
			   it_cn_est_flags_t flags, const struct ual_pdata *pdata);
it_status_t ual_cm_accept(struct ual_ep *ep, it_cn_est_identifier_t id,
			  const struct ual_pdata *pdata);
it_status_t ual_cm_reject(it_cn_est_identifier_t id, const struct ual_pdata *pdata);
it_status_t ual_cm_handoff(it_cn_est_identifier_t id, size_t spigot, const it_conn_qual_t *qual);
it_status_t ual_cm_disconnect(struct ual_ep *ep, const struct ual_pdata *pdata);

#endif /* UAL_H */
