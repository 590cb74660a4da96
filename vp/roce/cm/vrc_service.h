/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A manager (vrc_cm.h) with what it needs of the host: a lock, a timer, and a task that raises events on the service thread without
 * the lock. The entries of ri_cm_ops become short with it:
 *
 *     listen, listen_destroy     vrc_listen, vrc_listen_free, then vrc_service_settle
 *     connect                    vrc_params_of, path and queue pair, vrc_connect; the number goes into the queue pair
 *     accept, reject             vrc_accept, vrc_reject; the number of a request is its ri_request
 *     confirm                    vrc_confirm
 *     disconnect                 vrc_disconnect, after the posted work has drained
 *     modify to ERROR, destroy   vrc_abandon, then vrc_service_settle
 *     resolve, resolve_cancel    vrc_resolve; vrc_abandon, then vrc_service_settle
 *     resolve_answer             vrc_answer
 *
 *     struct vrc_cm *cm = vrc_service_enter(service);
 *     status = vrc_connect(cm, &params, &qp->number);
 *     vrc_service_leave(service);
 *
 * vrc_event::cm is the ri_cm_event of the upcall. Before it is passed on, the owner moves the queue pair: to RTS with `reach` at
 * RI_CM_ESTABLISHED (the active side in fact before the RTU leaves, so with vrc_params::three_way and vrc_confirm), to ERROR at an end.
 */
#ifndef VRC_SERVICE_H
#define VRC_SERVICE_H

#include "vrc_cm.h"

struct vrc_service;

/* On the service thread, without a lock; it may call everything here but vrc_service_free. */
typedef void vrc_raise(void *self, const struct vrc_event *event);

/* NULL: no memory. vrc_config::send is called with the lock of the service: it takes no lock that is held around a call here. */
struct vrc_service *vrc_service_new(const struct vrc_config *config, vrc_raise *raise, void *self);
/* Not from an upcall. After it no function of the configuration is called. */
void vrc_service_free(struct vrc_service *service);

/* Between the two, and not for long, the caller alone has the manager. Any thread. */
struct vrc_cm *vrc_service_enter(struct vrc_service *service);
void vrc_service_leave(struct vrc_service *service);

/* A datagram from QP1 of a peer. Any thread. */
void vrc_service_receive(struct vrc_service *service, const struct vrc_path *path,
			 const void *octets, size_t len);

/*
 * Wait until an upcall that is running has returned. After vrc_abandon and this call, no upcall
 * names the number any more. If it is called in an upcall, it does not wait.
 */
void vrc_service_settle(struct vrc_service *service);

/* What of a connect or an accept is for the manager; without queue pair, MTU and the codes of retries. */
struct vrc_params vrc_params_of(const struct ri_cm_params *params);

#endif /* VRC_SERVICE_H */
