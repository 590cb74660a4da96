/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <stdlib.h>

#include "ri_wire.h"
#include "vrc_conn.h"
#include "vrc_ip.h"

#define PORT_FIRST 32768u /* of those that are drawn */
#define PORT_COUNT 16384u
#define DRAWS      64

/*
 * Find the listener of a service id. A listener has the ids of its port in both port spaces. But if
 * there is a listener of exactly the id of a query, queries go to it: so a program may listen for
 * datagrams at a port where another listens for connections.
 */
struct vrc_listen *
vrc_listen_find(const struct vrc_cm *cm, uint64_t service_id, bool datagram)
{
	struct vrc_listen *found = NULL;

	for (struct vrc_link *l = cm->listens.next; l != &cm->listens; l = l->next) {
		struct vrc_listen *listen = VRC_OF(l, struct vrc_listen, link);
		if (vrc_service_id(&listen->service, datagram) == service_id &&
		    (found == NULL || listen->service.kind == RI_SERVICE_IB))
			found = listen;
	}
	return found;
}

bool
vrc_listen_serves(const struct vrc_cm *cm, uint64_t service_id, const struct vrc_listen *but)
{
	for (struct vrc_link *l = cm->listens.next; l != &cm->listens; l = l->next) {
		const struct vrc_listen *listen = VRC_OF(l, struct vrc_listen, link);
		if (listen != but && (vrc_service_id(&listen->service, false) == service_id ||
				      vrc_service_id(&listen->service, true) == service_id))
			return true;
	}
	return false;
}

/* Nobody takes the connections of another. */
static bool
is_taken(const struct vrc_cm *cm, const struct ri_service *service)
{
	return vrc_listen_find(cm, vrc_service_id(service, false), false) != NULL;
}

/* Draw a port or an id that is free; false: none was found. */
static bool
service_choose(const struct vrc_cm *cm, struct ri_service *service)
{
	for (unsigned i = 0; i < DRAWS; i++) {
		uint64_t drawn;
		vrc_random(cm, &drawn, sizeof(drawn));
		if (service->kind == RI_SERVICE_PORT)
			service->port = wire_swap16((uint16_t)(PORT_FIRST + drawn % PORT_COUNT));
		else
			service->id = drawn;
		if (!is_taken(cm, service))
			return true;
	}
	return false;
}

enum ri_status
vrc_listen(struct vrc_cm *cm, uint64_t ctx, struct ri_service *service, uint32_t backlog,
	   struct vrc_listen **out)
{
	if (service->kind != RI_SERVICE_PORT && service->kind != RI_SERVICE_IB)
		return RI_ERR_INVALID_ARG;
	bool any = service->kind == RI_SERVICE_PORT ? service->port == 0 : service->id == 0;
	if (!any && is_taken(cm, service))
		return RI_ERR_IN_USE;
	struct vrc_listen *listen = calloc(1, sizeof(*listen));
	if (listen == NULL || (any && !service_choose(cm, service))) {
		free(listen);
		return RI_ERR_RESOURCES;
	}
	listen->ctx = ctx;
	listen->service = *service;
	listen->backlog = backlog > 0 ? backlog : 1;
	vrc_link_append(&cm->listens, &listen->link);
	vrc_held_opened(cm, vrc_service_id(service, false));
	*out = listen;
	return RI_SUCCESS;
}

/* Requests that nobody has taken get the answer of a service that nobody listens to. */
static void
request_end(struct vrc_cm *cm, uint64_t number, bool datagram)
{
	const struct ri_service_answer unknown = {.status = RI_SERVICE_UNKNOWN};

	if (datagram)
		(void)vrc_answer(cm, number, &unknown);
	else
		(void)vrc_reject(cm, number, RI_CM_REASON_REFUSED, NULL, 0);
}

void
vrc_listen_free(struct vrc_cm *cm, struct vrc_listen *listen)
{
	struct vrc_link *next;

	for (struct vrc_link *l = cm->all.next; l != &cm->all; l = next) {
		struct vrc_conn *conn = VRC_OF(l, struct vrc_conn, all);
		next = l->next;
		if (conn->listen != listen)
			continue;
		if (!conn->told) {
			request_end(cm, conn->number, conn->datagram);
			continue;
		}
		conn->listen = NULL;
		conn->ctx = 0;
	}
	vrc_link_remove(&listen->link);
	vrc_held_closed(cm, vrc_service_id(&listen->service, false));
	free(listen);
}

void
vrc_listen_own(struct vrc_listen *listen, void *owner)
{
	listen->owner = owner;
}

void
vrc_disown(struct vrc_cm *cm, const void *owner)
{
	struct vrc_link *next;

	for (struct vrc_link *l = cm->all.next; l != &cm->all; l = next) {
		struct vrc_conn *conn = VRC_OF(l, struct vrc_conn, all);
		next = l->next;
		if (conn->owner == owner)
			vrc_abandon(cm, conn->number);
	}
}

void
vrc_request_uncount(struct vrc_conn *conn)
{
	if (!conn->counted)
		return;
	conn->counted = false;
	conn->cm->counts.requests--;
	if (conn->listen != NULL)
		conn->listen->waiting--;
}
