/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What connection management and its listeners share. Everything under the fabric's lock. */
#ifndef VEM_CM_H
#define VEM_CM_H

#include "vem.h"

struct ri_listen {
	struct vem_item in_context;
	struct vem_item item; /* in the fabric */
	struct ri_context *context;
	uint64_t ctx;
	struct ri_service service;
	uint32_t port;
	uint32_t backlog;
	uint32_t waiting; /* requests not answered */
};

/* A request that is not answered. */
struct vem_conn {
	struct vem_item item; /* in the fabric */
	struct vem_item news; /* in a list of the adapter */
	uint64_t id;
	struct ri_qp *active;     /* who asks; NULL: gave up */
	struct ri_listen *listen; /* NULL: listens no more */
	struct ri_rnic *rnic;     /* whose listener it was */
	bool told;
	struct ri_cm_event event;
};

/* vem_cm.c */
/* Who listens there, or NULL. */
struct ri_listen *vem_listen_find(struct vem_fabric *fabric, const struct ri_service *service);
/* The request is answered or ended: nobody finds it any more. */
void vem_conn_close(struct vem_conn *conn);
void vem_attempt_failed(struct ri_qp *qp, enum ri_cm_reason reason);

/* vem_listen.c: entries of ri_cm_ops, which take the lock themselves */
enum ri_status vem_listen_make(struct ri_context *context, uint64_t ctx, uint32_t port,
			       struct ri_service *service, uint32_t backlog,
			       struct ri_listen **out);
void vem_listen_destroy(struct ri_listen *listen);
bool vem_service_is_known(const struct vem_fabric *fabric, const struct ri_service *service);

#endif /* VEM_CM_H */
