/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Listeners of the fabric. A fabric has one space of ports and, with InfiniBand, one of service ids; each
 * value has at most one listener. Destroying a listener refuses its requests that were not raised yet; those
 * that were raised stay.
 */
#include "vem_cm.h"
#include "vem_link.h"

#include <stdlib.h>

#define FIRST_PORT 32768u /* of the ports that the fabric chooses; the last is UINT16_MAX */
#define CHOICES    1000   /* names of other processes that are tried */
#define PORTS      (UINT16_MAX + 1u - FIRST_PORT)

/* The next port without a listener, in network order; 0: each has one. Called with the lock. */
static uint16_t
choose_port(struct vem_fabric *fabric)
{
	uint8_t used[PORTS / 8] = {0};

	for (struct vsw_item *i = fabric->listens.next; i != &fabric->listens; i = i->next) {
		const struct ri_listen *listen = vsw_of(i, struct ri_listen, item);
		uint32_t port = __builtin_bswap16(listen->service.port);
		if (listen->service.kind == RI_SERVICE_PORT && port >= FIRST_PORT)
			used[(port - FIRST_PORT) / 8] |= (uint8_t)(1u << port % 8);
	}
	for (uint32_t tried = 0; tried < PORTS; tried++) {
		if (fabric->last_port++ == UINT16_MAX)
			fabric->last_port = FIRST_PORT;
		if ((used[(fabric->last_port - FIRST_PORT) / 8] >> fabric->last_port % 8 & 1) == 0)
			return __builtin_bswap16(fabric->last_port);
	}
	return 0;
}

/* False: there is none left. Called with the lock. */
static bool
choose_service(struct vem_fabric *fabric, struct ri_service *service)
{
	if (service->kind == RI_SERVICE_PORT) {
		service->port = choose_port(fabric);
		return service->port != 0;
	}
	do
		service->id = __builtin_bswap64(++fabric->last_service);
	while (vem_listen_find(fabric, service) != NULL);
	return true;
}

/* Between processes a service has a name; another process may have that of one which was chosen. */
static enum ri_status
name_take(struct vem_fabric *fabric, struct ri_service *service, bool any, struct vem_name **name)
{
	enum ri_status status = vem_shm_name_take(fabric->shm, service, name);

	for (unsigned tries = 0; any && status == RI_ERR_IN_USE && tries < CHOICES; tries++) {
		if (!choose_service(fabric, service))
			return RI_ERR_RESOURCES;
		status = vem_shm_name_take(fabric->shm, service, name);
	}
	return status;
}

bool
vem_service_is_known(const struct vem_fabric *fabric, const struct ri_service *service)
{
	return service->kind == RI_SERVICE_PORT ||
	       (service->kind == RI_SERVICE_IB && fabric->personality == VEM_IB);
}

enum ri_status
vem_listen_create(struct ri_context *context, uint64_t ctx, uint32_t port,
		  struct ri_service *service, uint32_t backlog, struct ri_listen **out)
{
	struct vem_fabric *fabric = context->rnic->fabric;

	if (port != 0 || !vem_service_is_known(fabric, service))
		return RI_ERR_INVALID_ARG;

	struct ri_listen *listen = calloc(1, sizeof(*listen));
	if (listen == NULL)
		return RI_ERR_RESOURCES;
	listen->context = context;
	listen->ctx = ctx;
	listen->backlog = backlog != 0 ? backlog : 1;

	pthread_mutex_lock(&fabric->lock);
	bool any = service->kind == RI_SERVICE_PORT ? service->port == 0 : service->id == 0;
	bool chosen = !any || choose_service(fabric, service);
	bool taken = chosen && vem_listen_find(fabric, service) != NULL;
	enum ri_status named = RI_SUCCESS;
	if (fabric->shm != NULL && chosen && !taken)
		named = name_take(fabric, service, any, &listen->name);
	listen->service = *service;
	if (chosen && !taken && named == RI_SUCCESS)
		vsw_list_add(&fabric->listens, &listen->item);
	pthread_mutex_unlock(&fabric->lock);
	if (taken || !chosen || named != RI_SUCCESS) {
		free(listen);
		return taken ? RI_ERR_IN_USE : chosen ? named : RI_ERR_RESOURCES;
	}
	pthread_mutex_lock(&context->base.lock);
	vsw_list_add(&context->listens, &listen->in_context);
	pthread_mutex_unlock(&context->base.lock);
	*out = listen;
	return RI_SUCCESS;
}

/*
 * Refuse the requests that were not raised yet; the others stay without a listener. No later upcall may name
 * the listener: for a request whose peer gives up, or has just given up, it names only the request. Called
 * with the lock.
 */
static void
orphan_requests(struct vem_fabric *fabric, const struct ri_listen *listen)
{
	const struct ri_rnic *rnic = listen->context->rnic;
	struct vsw_item *next = NULL;

	for (struct vsw_item *i = rnic->withdrawn.next; i != &rnic->withdrawn; i = i->next) {
		struct vem_conn *conn = vsw_of(i, struct vem_conn, event_node);
		if (conn->event.ctx == listen->ctx)
			conn->event.ctx = 0;
	}

	for (struct vsw_item *i = fabric->conns.next; i != &fabric->conns; i = next) {
		struct vem_conn *conn = vsw_of(i, struct vem_conn, item);
		next = i->next;
		if (conn->listen != listen)
			continue;
		if (conn->told) {
			conn->listen = NULL;
			conn->event.ctx = 0;
			continue;
		}
		vem_conn_fail(conn);
	}
}

void
vem_listen_destroy(struct ri_listen *listen)
{
	struct ri_rnic *rnic = listen->context->rnic;

	pthread_mutex_lock(&listen->context->base.lock);
	vsw_list_remove(&listen->in_context);
	pthread_mutex_unlock(&listen->context->base.lock);

	/* The stop of its watch waits for a connect that is being accepted, which takes the lock. */
	if (listen->name != NULL)
		vem_shm_name_give(listen->name);
	pthread_mutex_lock(&rnic->fabric->lock);
	vsw_list_remove(&listen->item);
	orphan_requests(rnic->fabric, listen);
	pthread_mutex_unlock(&rnic->fabric->lock);
	/* The stop waits for an upcall that names the listener; the new run raises other events. */
	rnic->host->task_stop(rnic->host->self, &rnic->task);
	rnic->host->task_run(rnic->host->self, &rnic->task);
	free(listen);
}

void
vem_listen_destroy_item(struct vsw_item *item)
{
	vem_listen_destroy(vsw_of(item, struct ri_listen, in_context));
}
