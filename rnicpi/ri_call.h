/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Checked calls of the control verbs. The kAL calls control verbs only through this file; check-layers.py enforces
 * that.
 *
 * An entry that the provider does not have is a stub of the registry, which returns RI_ERR_UNSUPPORTED. Before the call:
 * no required argument is NULL (else RI_ERR_INVALID_ARG). After the call: the status exists, a success has returned what it promises (an object, at
 * least the sizes that were requested), a failure has returned nothing. If a provider breaks this, the call returns
 * RI_ERR_PROVIDER, the log names the verb, and an object that the provider created is destroyed.
 *
 * The arguments are those of the verb in rnicpi.h, which describes its meaning and results.
 */
#ifndef RI_CALL_H
#define RI_CALL_H

#include "rnicpi.h"

/* The provider that is called, and the host whose log gets its faults. */
struct ri_caller {
	const struct ri_provider *provider; /* taken over by the registry */
	const struct ri_host *host;
	const char *name; /* of the adapter, for the log */
};

/* What a queue pair is made of. */
struct ri_qp_parents {
	struct ri_pd *pd;
	struct ri_cq *send_cq;
	struct ri_cq *recv_cq;
	struct ri_srq *srq; /* or NULL */
};

/* What a provider is to listen on. */
struct ri_listen_params {
	uint64_t ctx;
	uint32_t port;
	uint32_t backlog;
};

/* *count: entries of descs; afterwards the number of adapters, which may be larger. Names are terminated. */
enum ri_status ri_call_probe(const struct ri_caller *c, struct ri_device_desc *descs,
			     uint32_t *count) RI_MUST_CHECK;
enum ri_status ri_call_open(const struct ri_caller *c, const struct ri_open *open,
			    struct ri_rnic **out) RI_MUST_CHECK;
void ri_call_close(const struct ri_caller *c, struct ri_rnic *rnic);
enum ri_status ri_call_query(const struct ri_caller *c, struct ri_rnic *rnic,
			     struct ri_rnic_attr *attr) RI_MUST_CHECK;
enum ri_status ri_call_query_port(const struct ri_caller *c, struct ri_rnic *rnic, uint32_t port,
				  struct ri_port_attr *attr) RI_MUST_CHECK;
enum ri_status ri_call_context_create(const struct ri_caller *c, struct ri_rnic *rnic,
				      const struct ri_owner *owner, struct ri_context **out,
				      struct ri_map *map) RI_MUST_CHECK;
void ri_call_context_destroy(const struct ri_caller *c, struct ri_context *context);
enum ri_status ri_call_route(const struct ri_caller *c, struct ri_rnic *rnic,
			     const struct ri_addr *peer, struct ri_addr *local,
			     uint32_t *port) RI_MUST_CHECK;

enum ri_status ri_call_pd_create(const struct ri_caller *c, struct ri_context *context,
				 struct ri_pd **out) RI_MUST_CHECK;
enum ri_status ri_call_pd_destroy(const struct ri_caller *c, struct ri_pd *pd) RI_MUST_CHECK;

enum ri_status ri_call_cq_create(const struct ri_caller *c, struct ri_context *context,
				 uint64_t ctx, uint32_t *entries, struct ri_cq **out,
				 struct ri_map *map) RI_MUST_CHECK;
enum ri_status ri_call_cq_resize(const struct ri_caller *c, struct ri_cq *cq, uint32_t *entries,
				 struct ri_map *map) RI_MUST_CHECK;
enum ri_status ri_call_cq_destroy(const struct ri_caller *c, struct ri_cq *cq) RI_MUST_CHECK;

enum ri_status ri_call_srq_create(const struct ri_caller *c, struct ri_pd *pd,
				  struct ri_srq_attr *attr, struct ri_srq **out,
				  struct ri_map *map) RI_MUST_CHECK;
enum ri_status ri_call_srq_modify(const struct ri_caller *c, struct ri_srq *srq,
				  struct ri_srq_attr *attr, bool resize,
				  struct ri_map *map) RI_MUST_CHECK;
enum ri_status ri_call_srq_query(const struct ri_caller *c, struct ri_srq *srq,
				 struct ri_srq_attr *attr) RI_MUST_CHECK;
enum ri_status ri_call_srq_destroy(const struct ri_caller *c, struct ri_srq *srq) RI_MUST_CHECK;

enum ri_status ri_call_qp_make(const struct ri_caller *c, const struct ri_qp_parents *parents,
			       struct ri_qp_init *init, struct ri_qp **out,
			       struct ri_map *map) RI_MUST_CHECK;
enum ri_status ri_call_qp_modify(const struct ri_caller *c, struct ri_qp *qp,
				 const struct ri_qp_attr *attr, uint32_t mask) RI_MUST_CHECK;
enum ri_status ri_call_qp_resize(const struct ri_caller *c, struct ri_qp *qp,
				 struct ri_qp_attr *attr, struct ri_map *map) RI_MUST_CHECK;
enum ri_status ri_call_qp_query(const struct ri_caller *c, struct ri_qp *qp,
				struct ri_qp_attr *attr) RI_MUST_CHECK;
enum ri_status ri_call_qp_destroy(const struct ri_caller *c, struct ri_qp *qp) RI_MUST_CHECK;
enum ri_status ri_call_mcast_attach(const struct ri_caller *c, struct ri_qp *qp,
				    const struct ri_addr *group) RI_MUST_CHECK;
enum ri_status ri_call_mcast_detach(const struct ri_caller *c, struct ri_qp *qp,
				    const struct ri_addr *group) RI_MUST_CHECK;
enum ri_status ri_call_peer_receive(const struct ri_caller *c, struct ri_qp *qp,
				    const struct ri_peer *peer) RI_MUST_CHECK;
enum ri_status ri_call_peer_send(const struct ri_caller *c, struct ri_qp *qp,
				 const struct ri_peer *peer) RI_MUST_CHECK;

enum ri_status ri_call_mr_reg(const struct ri_caller *c, struct ri_pd *pd,
			      const struct ri_mr_init *init, struct ri_mr **out,
			      uint32_t *stag) RI_MUST_CHECK;
enum ri_status ri_call_mr_reg_dmabuf(const struct ri_caller *c, struct ri_pd *pd,
				     const struct ri_mr_init *init, const struct ri_dmabuf *from,
				     struct ri_mr **out, uint32_t *stag) RI_MUST_CHECK;
enum ri_status ri_call_mr_rereg(const struct ri_caller *c, struct ri_mr *mr, struct ri_pd *pd,
				const struct ri_mr_init *init, uint32_t *stag) RI_MUST_CHECK;
enum ri_status ri_call_mr_query(const struct ri_caller *c, struct ri_mr *mr,
				struct ri_mr_attr *attr) RI_MUST_CHECK;
enum ri_status ri_call_mr_dereg(const struct ri_caller *c, struct ri_mr *mr) RI_MUST_CHECK;
enum ri_status ri_call_mw_alloc(const struct ri_caller *c, struct ri_pd *pd, enum ri_mw_type type,
				struct ri_mw **out, uint32_t *stag) RI_MUST_CHECK;
enum ri_status ri_call_mw_query(const struct ri_caller *c, struct ri_mw *mw,
				struct ri_mr_attr *attr) RI_MUST_CHECK;
enum ri_status ri_call_mw_free(const struct ri_caller *c, struct ri_mw *mw) RI_MUST_CHECK;

enum ri_status ri_call_ah_create(const struct ri_caller *c, struct ri_pd *pd,
				 const struct ri_ah_init *init, struct ri_ah **out,
				 uint32_t *id) RI_MUST_CHECK;
enum ri_status ri_call_ah_modify(const struct ri_caller *c, struct ri_ah *ah,
				 const struct ri_ah_init *init) RI_MUST_CHECK;
enum ri_status ri_call_ah_destroy(const struct ri_caller *c, struct ri_ah *ah) RI_MUST_CHECK;

/* ri_call_cm.c */
enum ri_status ri_call_listen(const struct ri_caller *c, struct ri_context *context,
			      const struct ri_listen_params *params, struct ri_service *service,
			      struct ri_listen **out) RI_MUST_CHECK;
void ri_call_listen_destroy(const struct ri_caller *c, struct ri_listen *listen);
enum ri_status ri_call_connect(const struct ri_caller *c, struct ri_qp *qp,
			       const struct ri_cm_params *params) RI_MUST_CHECK;
enum ri_status ri_call_accept(const struct ri_caller *c, struct ri_request *request,
			      struct ri_qp *qp, const struct ri_cm_params *params) RI_MUST_CHECK;
enum ri_status ri_call_reject(const struct ri_caller *c, struct ri_request *request,
			      enum ri_cm_reason reason, const void *pdata,
			      uint16_t len) RI_MUST_CHECK;
enum ri_status ri_call_confirm(const struct ri_caller *c, struct ri_qp *qp, bool accept,
			       const void *pdata, uint16_t len) RI_MUST_CHECK;
enum ri_status ri_call_disconnect(const struct ri_caller *c, struct ri_qp *qp, const void *pdata,
				  uint16_t len) RI_MUST_CHECK;
enum ri_status ri_call_resolve(const struct ri_caller *c, struct ri_context *context, uint64_t ctx,
			       const struct ri_cm_params *params) RI_MUST_CHECK;
void ri_call_resolve_cancel(const struct ri_caller *c, struct ri_context *context, uint64_t ctx);
enum ri_status ri_call_resolve_answer(const struct ri_caller *c, struct ri_request *request,
				      const struct ri_service_answer *answer) RI_MUST_CHECK;
enum ri_status ri_call_reserve(const struct ri_caller *c, struct ri_qp *qp) RI_MUST_CHECK;
enum ri_status ri_call_attach_stream(const struct ri_caller *c, struct ri_qp *qp,
				     const struct ri_stream *stream) RI_MUST_CHECK;

/*
 * Check the result of a verb; for the files of ri_call only. `sane` matters only for a success: if
 * it is false, `what` names what is wrong.
 */
enum ri_status ri_call_judge(const struct ri_caller *c, const char *verb, enum ri_status status,
			     bool sane, const char *what) RI_MUST_CHECK;

#endif /* RI_CALL_H */
