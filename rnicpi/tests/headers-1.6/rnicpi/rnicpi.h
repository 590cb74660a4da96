/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* RNIC-PI 1.6. Registration of a provider, its versions, the tables of control verbs. */
#ifndef RNICPI_H
#define RNICPI_H

#include "rnicpi_fast.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RI_ABI_MAJOR           1
#define RI_ABI_MINOR           6
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

struct ri_device_desc {
	char name[64];
	char description[96];
	uint32_t transport;
	uint32_t num_ports;
};

struct ri_upcalls {
	uint32_t size;
	void *self;
	void (*cq_event)(void *self, uint64_t ctx);
	void (*async_event)(void *self, const struct ri_async_event *event);
	void (*cm_event)(void *self, const struct ri_cm_event *event);
};

struct ri_open {
	char name[64];
	const struct ri_host *host;
	const struct ri_upcalls *upcalls;
};

struct ri_owner {
	uint64_t mem_owner;
	uint32_t pid;
	uint32_t uid;
	bool privileged;
	bool shared;
};

struct ri_device_ops {
	uint32_t size;
	enum ri_status (*probe)(const struct ri_host *host, struct ri_device_desc *descs,
				uint32_t *count);
	enum ri_status (*open)(const struct ri_open *open, struct ri_rnic **out);
	void (*close)(struct ri_rnic *rnic);
	enum ri_status (*query)(struct ri_rnic *rnic, struct ri_rnic_attr *attr);
	enum ri_status (*query_port)(struct ri_rnic *rnic, uint32_t port,
				     struct ri_port_attr *attr);
	enum ri_status (*context_create)(struct ri_rnic *rnic, const struct ri_owner *owner,
					 struct ri_context **out, struct ri_map *map);
	void (*context_destroy)(struct ri_context *context);
	enum ri_status (*route)(struct ri_rnic *rnic, const struct ri_addr *peer,
				struct ri_addr *local, uint32_t *port);
	size_t (*dump)(struct ri_rnic *rnic, char *text, size_t room);
};

struct ri_pd_ops {
	uint32_t size;
	enum ri_status (*create)(struct ri_context *context, struct ri_pd **out);
	enum ri_status (*destroy)(struct ri_pd *pd);
};

struct ri_cq_ops {
	uint32_t size;
	enum ri_status (*create)(struct ri_context *context, uint64_t ctx, uint32_t *entries,
				 struct ri_cq **out, struct ri_map *map);
	enum ri_status (*resize)(struct ri_cq *cq, uint32_t *entries, struct ri_map *map);
	enum ri_status (*destroy)(struct ri_cq *cq);
};

struct ri_srq_ops {
	uint32_t size;
	enum ri_status (*create)(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out,
				 struct ri_map *map);
	enum ri_status (*modify)(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize,
				 struct ri_map *map);
	enum ri_status (*query)(struct ri_srq *srq, struct ri_srq_attr *attr);
	enum ri_status (*destroy)(struct ri_srq *srq);
};

struct ri_qp_ops {
	uint32_t size;
	enum ri_status (*create)(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
				 struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
				 struct ri_map *map);
	enum ri_status (*modify)(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask);
	enum ri_status (*query)(struct ri_qp *qp, struct ri_qp_attr *attr);
	enum ri_status (*destroy)(struct ri_qp *qp);
	enum ri_status (*resize)(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map);
};

struct ri_dmabuf {
	int fd;
	uint64_t offset;
};

struct ri_mem_ops {
	uint32_t size;
	enum ri_status (*mr_reg)(struct ri_pd *pd, const struct ri_mr_init *init,
				 struct ri_mr **out, uint32_t *stag);
	enum ri_status (*mr_rereg)(struct ri_mr *mr, struct ri_pd *pd,
				   const struct ri_mr_init *init, uint32_t *stag);
	enum ri_status (*mr_query)(struct ri_mr *mr, struct ri_mr_attr *attr);
	enum ri_status (*mr_dereg)(struct ri_mr *mr);
	enum ri_status (*mw_alloc)(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out,
				   uint32_t *stag);
	enum ri_status (*mw_query)(struct ri_mw *mw, struct ri_mr_attr *attr);
	enum ri_status (*mw_free)(struct ri_mw *mw);
	enum ri_status (*mr_reg_dmabuf)(struct ri_pd *pd, const struct ri_mr_init *init,
					const struct ri_dmabuf *from, struct ri_mr **out,
					uint32_t *stag);
};

struct ri_ah_ops {
	uint32_t size;
	enum ri_status (*create)(struct ri_pd *pd, const struct ri_ah_init *init,
				 struct ri_ah **out, uint32_t *id);
	enum ri_status (*modify)(struct ri_ah *ah, const struct ri_ah_init *init);
	enum ri_status (*destroy)(struct ri_ah *ah);
};

struct ri_cm_params {
	struct ri_addr local;
	struct ri_addr peer;
	struct ri_service service;
	uint32_t port;
	uint32_t ird;
	uint32_t ord;
	bool ird_ord;
	bool three_way;
	uint16_t pdata_len;
	const void *pdata;
	uint64_t deadline;
};

struct ri_service_answer {
	uint32_t status;
	uint32_t qpn;
	uint32_t qkey;
	uint16_t pdata_len;
	const void *pdata;
};

struct ri_cm_ops {
	uint32_t size;
	enum ri_status (*listen)(struct ri_context *context, uint64_t ctx, uint32_t port,
				 struct ri_service *service, uint32_t backlog,
				 struct ri_listen **out);
	void (*listen_destroy)(struct ri_listen *listen);
	enum ri_status (*connect)(struct ri_qp *qp, const struct ri_cm_params *params);
	enum ri_status (*accept)(struct ri_request *request, struct ri_qp *qp,
				 const struct ri_cm_params *params);
	enum ri_status (*reject)(struct ri_request *request, enum ri_cm_reason reason,
				 const void *pdata, uint16_t len);
	enum ri_status (*confirm)(struct ri_qp *qp, bool accept, const void *pdata, uint16_t len);
	enum ri_status (*disconnect)(struct ri_qp *qp, const void *pdata, uint16_t len);
	enum ri_status (*resolve)(struct ri_context *context, uint64_t ctx,
				  const struct ri_cm_params *params);
	void (*resolve_cancel)(struct ri_context *context, uint64_t ctx);
	enum ri_status (*resolve_answer)(struct ri_request *request,
					 const struct ri_service_answer *answer);
};

struct ri_stream {
	int fd;
	bool initiator;
	bool crc;
	bool markers_tx;
	bool markers_rx;
	bool peer_local;
	uint8_t rtr_send;
	uint8_t rtr_expect;
	bool await_fpdu;
	uint16_t abort_code;
	uint16_t wake_ms;
	uint32_t ird;
	uint32_t ord;
	const void *early;
	uint32_t early_len;
};

struct ri_llp_ops {
	uint32_t size;
	enum ri_status (*reserve)(struct ri_qp *qp);
	enum ri_status (*attach_stream)(struct ri_qp *qp, const struct ri_stream *stream);
};

enum ri_setting_kind {
	RI_SETTING_TEXT = 0,
	RI_SETTING_NUMBER,
	RI_SETTING_WORD
};

struct ri_setting {
	const char *name;
	const char *meaning;
	const char *form;
	const char *unit;
	const char *preset;
	uint64_t min;
	uint64_t max;
	uint32_t kind;
	uint32_t set_uid;
};

struct ri_provider {
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t size;
	const char *name;
	const char *description;
	const struct ri_device_ops *device;
	const struct ri_pd_ops *pd;
	const struct ri_cq_ops *cq;
	const struct ri_qp_ops *qp;
	const struct ri_mem_ops *mem;
	const struct ri_srq_ops *srq;
	const struct ri_ah_ops *ah;
	const struct ri_cm_ops *cm;
	const struct ri_llp_ops *llp;
	const struct ri_user_ops *user;
	const struct ri_fast_ops *fast;
	const struct ri_setting *settings;
	uint32_t num_settings;
	uint32_t setting_size;
};

typedef const struct ri_provider *(*ri_provider_entry_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
