/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Listeners. librdmacm listens on an address, or on every address of every device. A listener is for one spigot, and
 * others may listen on the same port at another one, so it listens on each address that the spigot has, all with one port.
 * With datagrams it does so in both port spaces, since a query for a datagram service comes to the same listener.
 *
 * Each address and port space has an rdma_cm_id, an ear. It follows the spigot [IT 9.4.8]: when an
 * address comes or goes, the service thread opens or closes ears (vib_cm_follow.c). Before that,
 * and when the listener is destroyed, they belong to the verb. A request that has arrived has an id
 * of its own, and counts in the backlog of the listener, so it does not end with its ear.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "vib_cm.h"

#define PORT_TRIES 16 /* a port that the first address got may be taken at another one */

/* No event of it is being handled. */
static void
ear_close(struct vib_ear *ear)
{
	(void)rdma_destroy_id(ear->id);
	ear->id = NULL;
	ear->listen->num_ears--;
}

static void
ears_close(struct ri_listen *listen)
{
	for (uint32_t i = 0; i < VIB_EARS; i++) {
		if (listen->ears[i].id != NULL)
			ear_close(&listen->ears[i]);
	}
}

/* Can the address be used, with another port? */
static bool
address_is_usable(struct vib_cm *cm, const struct ri_addr *addr, enum rdma_port_space space)
{
	struct sockaddr_storage sa;
	struct rdma_cm_id *id;
	bool usable;

	if (rdma_create_id(cm->channel, &id, NULL, space) != 0)
		return false;
	usable = vib_sockaddr(&sa, addr, 0) && vib_rdma_bind(id, (struct sockaddr *)&sa) == 0;
	(void)rdma_destroy_id(id);
	return usable;
}

/* Returns 0 or an errno. The first one that is opened chooses the port, if the caller has not. */
static int
ear_open(struct ri_listen *listen, struct vib_cm *cm, const struct ri_addr *addr,
	 enum rdma_port_space space)
{
	struct vib_ear *ear = NULL;
	struct sockaddr_storage sa;
	int error = 0;

	for (uint32_t i = 0; i < VIB_EARS && ear == NULL; i++)
		ear = listen->ears[i].id == NULL ? &listen->ears[i] : NULL;
	if (ear == NULL)
		return ENOSPC;
	if (!vib_sockaddr(&sa, addr, listen->service.port))
		return EAFNOSUPPORT;
	*ear = (struct vib_ear){.owner = VIB_OWNER_EAR, .listen = listen, .addr = *addr};
	if (rdma_create_id(cm->channel, &ear->id, ear, space) != 0) {
		ear->id = NULL;
		return errno;
	}
	if (vib_rdma_bind(ear->id, (struct sockaddr *)&sa) != 0 ||
	    rdma_listen(ear->id, (int)listen->backlog) != 0)
		error = errno;
	/* Linux gives EADDRNOTAVAIL for an absent address, and also for a port on which a program listens at all addresses. */
	if (error == EADDRNOTAVAIL && listen->service.port != 0 &&
	    address_is_usable(cm, &ear->addr, ear->id->ps))
		error = EADDRINUSE;
	if (error == 0 && !vib_id_is_of(ear->id, cm->rnic))
		error = EADDRNOTAVAIL;
	if (error != 0) {
		(void)rdma_destroy_id(ear->id);
		ear->id = NULL;
		return error;
	}
	if (listen->service.port == 0)
		listen->service.port = rdma_get_src_port(ear->id);
	listen->num_ears++;
	return 0;
}

/* An address may vanish at any time, or not be usable yet: it is left out. */
static bool
is_of_address(int error)
{
	return error == EADDRNOTAVAIL || error == ENODEV || error == EAFNOSUPPORT;
}

/* Listen on all addresses. Returns 0 or an errno, and then on none. */
static int
ears_open(struct ri_listen *listen, struct vib_cm *cm)
{
	struct ri_addr addrs[RI_PORT_ADDR_MAX];
	uint32_t count;
	int error;

	(void)vib_port_addrs(cm->rnic, listen->port, addrs, &count);
	error = count == 0 ? EADDRNOTAVAIL : 0;
	for (uint32_t i = 0; i < count && (error == 0 || is_of_address(error)); i++) {
		error = ear_open(listen, cm, &addrs[i], RDMA_PS_TCP);
		if (error == 0 && cm->rnic->attr.ud)
			error = ear_open(listen, cm, &addrs[i], RDMA_PS_UDP);
	}
	if (error == 0 || (is_of_address(error) && listen->num_ears > 0))
		return 0;
	ears_close(listen);
	return error;
}

/* Listen on an address that has come. What fails does not fail the listener, and is tried again at the next change. */
static void
ear_follow(struct ri_listen *listen, struct vib_cm *cm, const struct ri_addr *addr,
	   enum rdma_port_space space)
{
	int error;

	for (uint32_t i = 0; i < VIB_EARS; i++) {
		const struct vib_ear *ear = &listen->ears[i];

		if (ear->id != NULL && ear->id->ps == space && vib_addr_listed(&ear->addr, 1, addr))
			return;
	}
	error = ear_open(listen, cm, addr, space);
	if (error != 0 && !is_of_address(error)) {
		struct sockaddr_storage sa;
		char text[RI_LOG_ADDRESS] = "";

		if (vib_sockaddr(&sa, addr, listen->service.port))
			ri_log_sockaddr((const struct sockaddr *)&sa, text, sizeof(text));
		vib_log(cm->rnic, RI_LOG_WARNING,
			"cannot listen at %s, a new address of spigot %u: %s", text, listen->port,
			ri_errno_text(error));
	}
}

void
vib_listen_follow(struct ri_listen *listen, struct vib_cm *cm)
{
	struct ri_addr addrs[RI_PORT_ADDR_MAX];
	uint32_t count;

	/* A query that fails, for lack of descriptors for example, says nothing of addresses. */
	if (!vib_port_addrs(cm->rnic, listen->port, addrs, &count))
		return;
	for (uint32_t i = 0; i < VIB_EARS; i++) {
		struct vib_ear *ear = &listen->ears[i];

		if (ear->id != NULL && !vib_addr_listed(addrs, count, &ear->addr))
			ear_close(ear);
	}
	for (uint32_t i = 0; i < count; i++) {
		ear_follow(listen, cm, &addrs[i], RDMA_PS_TCP);
		if (cm->rnic->attr.ud)
			ear_follow(listen, cm, &addrs[i], RDMA_PS_UDP);
	}
}

enum ri_status
vib_listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	   uint32_t backlog, struct ri_listen **out)
{
	struct ri_rnic *rnic = context->rnic;
	struct ri_listen *listen;
	int error;

	if (atomic_load(&rnic->failed))
		return RI_ERR_FATAL;
	if (port >= rnic->attr.num_ports || service->kind != RI_SERVICE_PORT)
		return RI_ERR_INVALID_ARG;
	listen = calloc(1, sizeof(*listen));
	if (listen == NULL)
		return RI_ERR_RESOURCES;
	listen->context = context;
	listen->ctx = ctx;
	listen->port = port;
	listen->service = *service;
	listen->backlog = backlog != 0 ? backlog : 1;
	if (listen->backlog > INT32_MAX)
		listen->backlog = INT32_MAX;
	error = ears_open(listen, rnic->cm);
	for (unsigned i = 1; i < PORT_TRIES && error == EADDRINUSE && service->port == 0; i++) {
		listen->service.port = 0;
		error = ears_open(listen, rnic->cm);
	}
	if (error != 0) {
		vib_log(rnic, RI_LOG_INFO, "cannot listen on port %u: %s", ntohs(service->port),
			ri_errno_text(error));
		free(listen);
		if (error == EADDRINUSE)
			return RI_ERR_IN_USE;
		if (error == EACCES || error == EPERM)
			return RI_ERR_PERMISSION;
		return RI_ERR_RESOURCES;
	}
	pthread_mutex_lock(&context->lock);
	vib_list_add(&context->listens, &listen->item);
	pthread_mutex_unlock(&context->lock);
	service->port = listen->service.port;
	vib_follow_join(listen, rnic->cm);
	*out = listen;
	return RI_SUCCESS;
}

void
vib_listen_destroy(struct ri_listen *listen)
{
	struct ri_context *context = listen->context;
	struct vib_cm *cm = context->rnic->cm;

	pthread_mutex_lock(&context->lock);
	vib_list_remove(&listen->item);
	pthread_mutex_unlock(&context->lock);
	pthread_mutex_lock(&cm->lock);
	/* Requests that were raised stay, without a listener. */
	listen->dying = true;
	vib_follow_leave(listen, cm);
	for (struct vib_item *i = cm->conns.next; i != &cm->conns; i = i->next) {
		struct vib_conn *conn = vib_of(i, struct vib_conn, item);

		if (conn->listen == listen)
			conn->listen = NULL;
	}
	for (uint32_t i = 0; i < VIB_EARS; i++)
		vib_cm_wait(cm, &listen->ears[i]);
	pthread_mutex_unlock(&cm->lock);
	ears_close(listen);
	free(listen);
}
