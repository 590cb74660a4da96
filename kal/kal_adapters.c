/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Adapters: which there are, opening one, and what a provider's upcalls become. Closing one takes
 * back everything under it, children before parents, as after the death of its owner.
 *
 * A provider may make upcalls from the beginning of its open until its close has returned. So everything
 * that an upcall reads (struct kal_rnic, its kal_cm, objects that the provider would not give back) is
 * made before the device is opened and freed after the device was closed.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_cm_internal.h"
#include "kal_host.h"
#include "kal_objects.h"
#include "ri_load.h"
#include "ri_registry.h"

#ifndef KAL_PROVIDER_FOLDER
#define KAL_PROVIDER_FOLDER NULL
#endif

static void
load_providers(void)
{
	static gsize once;

	if (!g_once_init_enter(&once))
		return;
	ri_load_all(kal_host_default(), ri_builtin_entries,
		    secure_getenv(RI_PROVIDER_PATH_VARIABLE), KAL_PROVIDER_FOLDER);
	g_once_init_leave(&once, 1);
}

/* All adapters of one provider; NULL if it has none. *count: how many. */
static struct ri_device_desc *
probe(const struct ri_host *host, const struct ri_provider *provider, uint32_t *count)
{
	struct ri_device_desc *descs = NULL;
	uint32_t room = 16;

	for (;;) {
		*count = room;
		descs = g_renew(struct ri_device_desc, descs, room);
		memset(descs, 0, room * sizeof(*descs));
		if (provider->device->probe(host, descs, count) != RI_SUCCESS)
			*count = 0;
		if (*count <= room)
			break;
		room = *count;
	}
	for (uint32_t i = 0; i < *count; i++) {
		descs[i].name[sizeof(descs[i].name) - 1] = '\0';
		descs[i].description[sizeof(descs[i].description) - 1] = '\0';
	}
	return descs;
}

/* What an adapter list is being written to. */
struct listing {
	struct kal_adapter_list_rep *rep;
	struct kal_adapter *list;
	size_t room;
};

static void
describe(struct kal_adapter *out, const struct ri_device_desc *desc)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->name, desc->name, sizeof(out->name));
	memcpy(out->description, desc->description, sizeof(out->description));
	out->transport = desc->transport;
	out->num_ports = desc->num_ports;
}

static void
list_one(struct listing *listing, const struct ri_device_desc *desc, const char *name)
{
	if (listing->rep->filled < listing->room) {
		struct kal_adapter *out = &listing->list[listing->rep->filled++];

		describe(out, desc);
		g_strlcpy(out->name, name, sizeof(out->name));
	}
	listing->rep->total++;
}

/* An adapter, then the other names that it has here. */
static void
list_names(struct listing *listing, const struct kal_config *config,
	   const struct ri_device_desc *desc)
{
	GHashTableIter iter;
	gpointer alias, adapter;

	list_one(listing, desc, desc->name);
	g_hash_table_iter_init(&iter, config->aliases);
	while (g_hash_table_iter_next(&iter, &alias, &adapter)) {
		if (strcmp(adapter, desc->name) == 0)
			list_one(listing, desc, alias);
	}
}

enum ri_status
kal_adapters_list(struct kal_client *client, struct kal_msg *msg)
{
	const struct kal_adapter_list_req *req = msg->req;
	struct kal_adapter_list_rep *rep = msg->rep;
	struct listing listing = {.rep = rep, .list = (struct kal_adapter *)(rep + 1)};

	listing.room = MIN((msg->rep_len - sizeof(*rep)) / sizeof(*listing.list), req->max);
	load_providers();
	for (unsigned i = 0; i < ri_registry_count(); i++) {
		g_autofree struct ri_device_desc *descs = NULL;
		uint32_t count;

		descs = probe(client->host, &ri_registry_get(i)->provider, &count);
		for (uint32_t j = 0; j < count; j++)
			list_names(&listing, client->config, &descs[j]);
	}
	msg->rep_len = sizeof(*rep) + rep->filled * sizeof(*listing.list);
	return RI_SUCCESS;
}

/* The provider that has an adapter of that name. */
static const struct ri_loaded *
provider_of(const struct ri_host *host, const char *name)
{
	load_providers();
	for (unsigned i = 0; i < ri_registry_count(); i++) {
		const struct ri_loaded *loaded = ri_registry_get(i);
		g_autofree struct ri_device_desc *descs = NULL;
		uint32_t count;

		descs = probe(host, &loaded->provider, &count);
		for (uint32_t j = 0; j < count; j++) {
			if (strcmp(descs[j].name, name) == 0)
				return loaded;
		}
	}
	return NULL;
}

/* --- upcalls ------------------------------------------------------------------------------ */

static void
on_cq(void *self, uint64_t ctx)
{
	struct kal_rnic *rnic = self;

	kal_news_cq(rnic->client, (struct kal_cq *)(uintptr_t)ctx);
}

/* News of the adapter itself or of a spigot: that may come at any time, even in open and close. */
static void
own_news(struct kal_rnic *rnic, const struct ri_async_event *event)
{
	pthread_mutex_lock(&rnic->own);
	if (rnic->open) {
		if (event->object == RI_OBJECT_PORT)
			kal_listeners_follow(rnic->cm, (uint32_t)event->ctx);
		kal_news_async(rnic->client, rnic->object.id, event);
		kal_news_kick(rnic->client);
	}
	pthread_mutex_unlock(&rnic->own);
}

static void
own_news_flow(struct kal_rnic *rnic, bool open)
{
	pthread_mutex_lock(&rnic->own);
	rnic->open = open;
	pthread_mutex_unlock(&rnic->own);
}

static void
on_async(void *self, const struct ri_async_event *event)
{
	struct kal_rnic *rnic = self;
	struct ri_async_event out = *event;

	if (event->object == RI_OBJECT_QP) {
		kal_cm_async(rnic->cm, event);
		return;
	}
	/* Contexts of these are ours; the client gets its own back. */
	if (event->object == RI_OBJECT_CQ) {
		out.ctx = ((struct kal_cq *)(uintptr_t)event->ctx)->ctx;
	} else if (event->object == RI_OBJECT_SRQ) {
		out.ctx = ((struct kal_srq *)(uintptr_t)event->ctx)->ctx;
	} else {
		own_news(rnic, event);
		return;
	}
	kal_news_async(rnic->client, out.ctx, &out);
	kal_news_kick(rnic->client);
}

static void
on_cm(void *self, const struct ri_cm_event *event)
{
	struct kal_rnic *rnic = self;

	kal_cm_provider_event(rnic->cm, event);
}

static void
cm_news(void *arg, uint64_t ctx, const struct kal_cm_event *event)
{
	kal_news_cm(((struct kal_rnic *)arg)->client, ctx, event);
}

static void
cm_async(void *arg, const struct ri_async_event *event)
{
	kal_news_async(((struct kal_rnic *)arg)->client, event->ctx, event);
}

static void
cm_kick(void *arg)
{
	kal_news_kick(((struct kal_rnic *)arg)->client);
}

/* --- open and close ----------------------------------------------------------------------- */

static bool
claims_hold(const struct ri_host *host, const struct ri_loaded *loaded,
	    const struct ri_rnic_attr *attr)
{
	g_autoptr(GError) error = NULL;

	if (ri_claims_check(loaded, attr, &error))
		return true;
	host->log(host->self, RI_LOG_ERROR, attr->name, error->message);
	return false;
}

/* The provider's side of an open: device, profile, context. */
static enum ri_status
open_device(struct kal_rnic *rnic, const struct ri_loaded *loaded, const char *name)
{
	struct kal_client *client = rnic->client;
	struct ri_open open = {.host = client->host, .upcalls = &rnic->upcalls};
	struct ri_owner owner = {.mem_owner = KAL_MEM_OWNER_SELF,
				 .pid = (uint32_t)getpid(),
				 .uid = (uint32_t)getuid(),
				 .privileged = client->privileged};
	enum ri_status status;

	g_strlcpy(open.name, name, sizeof(open.name));
	status = ri_call_open(&rnic->caller, &open, &rnic->rnic);
	if (status != RI_SUCCESS)
		return status;
	rnic->attr.size = sizeof(rnic->attr);
	status = ri_call_query(&rnic->caller, rnic->rnic, &rnic->attr);
	if (status == RI_SUCCESS && !claims_hold(client->host, loaded, &rnic->attr))
		status = RI_ERR_PROVIDER;
	if (status == RI_SUCCESS)
		status = ri_call_context_create(&rnic->caller, rnic->rnic, &owner, &rnic->context,
						&rnic->map);
	if (status != RI_SUCCESS)
		rnic->provider->device->close(rnic->rnic);
	return status;
}

static void
close_device(struct kal_rnic *rnic)
{
	rnic->provider->device->context_destroy(rnic->context);
	rnic->provider->device->close(rnic->rnic);
}

/* All that upcalls read, before there is a device. NULL: no memory. */
static struct kal_rnic *
rnic_new(struct kal_client *client, const struct ri_loaded *loaded)
{
	struct kal_rnic *rnic = calloc(1, sizeof(*rnic));
	struct kal_cm_params params = {.host = client->host,
				       .caller = rnic != NULL ? &rnic->caller : NULL,
				       .attr = rnic != NULL ? &rnic->attr : NULL,
				       .crc = client->config->crc,
				       .fall_back = client->config->fall_back,
				       .convert_ns = client->config->convert_s * 1000000000ull,
				       .event = cm_news,
				       .async = cm_async,
				       .kick = cm_kick,
				       .arg = rnic};

	if (rnic == NULL || kal_cm_open(&params, &rnic->cm) != RI_SUCCESS) {
		free(rnic);
		return NULL;
	}
	g_queue_init(&rnic->maps);
	pthread_mutex_init(&rnic->own, NULL);
	rnic->client = client;
	rnic->provider = &loaded->provider;
	rnic->caller = (struct ri_caller){
		.provider = rnic->provider, .host = client->host, .name = loaded->name};
	rnic->upcalls = (struct ri_upcalls){.size = sizeof(rnic->upcalls),
					    .self = rnic,
					    .cq_event = on_cq,
					    .async_event = on_async,
					    .cm_event = on_cm};
	return rnic;
}

/* No upcall can come any more: the device is closed, or was never opened. */
static void
rnic_free(struct kal_rnic *rnic)
{
	kal_cm_free(rnic->cm);
	pthread_mutex_destroy(&rnic->own);
	free(rnic);
}

enum ri_status
kal_rnic_open(struct kal_client *client, const char *name, struct kal_rnic **out)
{
	const char *adapter = kal_config_adapter(client->config, name);
	const struct ri_loaded *loaded = provider_of(client->host, adapter);
	struct kal_rnic *rnic;
	enum ri_status status;

	if (loaded == NULL)
		return RI_ERR_NO_DEVICE;
	rnic = rnic_new(client, loaded);
	if (rnic == NULL)
		return RI_ERR_RESOURCES;
	status = open_device(rnic, loaded, adapter);
	if (status != RI_SUCCESS) {
		rnic_free(rnic);
		return status;
	}
	kal_cm_begin(rnic->cm, rnic->rnic, rnic->context);
	if (kal_object_add(client, RI_OBJECT_RNIC, &rnic->object) == 0) {
		close_device(rnic);
		rnic_free(rnic);
		return RI_ERR_RESOURCES;
	}
	own_news_flow(rnic, true);
	*out = rnic;
	return RI_SUCCESS;
}

/* Destroy all objects under it. What the provider refuses to give up is returned: its upcalls may name it. */
static struct kal_object *
destroy_all(struct kal_rnic *rnic)
{
	/* Who depends on others goes first. */
	static const enum ri_object order[] = {RI_OBJECT_LISTEN, RI_OBJECT_MW, RI_OBJECT_QP,
					       RI_OBJECT_AH,     RI_OBJECT_MR, RI_OBJECT_SRQ,
					       RI_OBJECT_CQ,     RI_OBJECT_PD};
	struct kal_client *client = rnic->client;
	struct kal_object *object, *kept = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(order); i++) {
		while ((object = kal_object_any(client, order[i], rnic)) != NULL) {
			if (kal_object_destroy(client, object) == RI_SUCCESS)
				continue;
			/* A provider's bug; the context's end takes it back. */
			client->host->log(client->host->self, RI_LOG_ERROR, rnic->attr.name,
					  "an object could not be destroyed");
			kal_object_abandon(client, object);
			object->next = kept;
			kept = object;
		}
	}
	return kept;
}

void
kal_rnic_close(struct kal_rnic *rnic)
{
	struct kal_client *client = rnic->client;
	struct kal_object *kept = destroy_all(rnic);

	kal_mem_unmap_all(rnic);
	own_news_flow(rnic, false);
	kal_cm_end(rnic->cm);
	close_device(rnic);
	while (kept != NULL) {
		struct kal_object *next = kept->next;

		kal_object_bury(client, kept);
		kept = next;
	}
	kal_object_remove(client, &rnic->object);
	rnic_free(rnic);
}

/* --- paths -------------------------------------------------------------------------------- */

/* IPv6's loopback address talks to this machine only, although the kernel would route from it. */
static bool
stays_here(const struct ri_addr *addr)
{
	static const uint8_t loopback[16] = {[15] = 1};

	return addr->family == RI_ADDR_IPV6 && memcmp(addr->octets, loopback, 16) == 0;
}

/* Can a packet go from `local` to `peer`? Asks the routing table, sends nothing. */
static bool
reaches(const struct ri_addr *local, const struct ri_addr *peer)
{
	struct sockaddr_storage from;
	struct sockaddr_storage to;
	socklen_t from_len = kal_sock_addr(&from, local, 0);
	socklen_t to_len = kal_sock_addr(&to, peer, GUINT16_TO_BE(9));
	bool can;
	int fd;

	if (from_len == 0 || to_len == 0 || from.ss_family != to.ss_family)
		return false;
	if (stays_here(local) && !kal_sock_is_local(peer))
		return false;
	fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	can = bind(fd, (struct sockaddr *)&from, from_len) == 0 &&
	      connect(fd, (struct sockaddr *)&to, to_len) == 0;
	close(fd);
	return can;
}

enum ri_status
kal_path_query(struct kal_rnic *rnic, const struct kal_path_query_req *req,
	       struct kal_path_query_rep *rep)
{
	struct ri_port_attr attr = {.size = sizeof(attr)};
	enum ri_status status = ri_call_query_port(&rnic->caller, rnic->rnic, req->port, &attr);
	struct ri_addr local = req->local;
	uint32_t port = req->port;

	if (status != RI_SUCCESS)
		return status;
	if (rnic->provider->device->route != NULL) {
		status = ri_call_route(&rnic->caller, rnic->rnic, &req->peer, &local, &port);
		if (status == RI_SUCCESS && port == req->port)
			rep->local[rep->count++] = local;
		return status == RI_ERR_NO_ROUTE ? RI_SUCCESS : status;
	}
	for (uint32_t i = 0; i < attr.num_addrs && i < RI_PORT_ADDR_MAX; i++) {
		if (!reaches(&attr.addrs[i], &req->peer) ||
		    (local.family != RI_ADDR_NONE &&
		     memcmp(&attr.addrs[i], &local, sizeof(local)) != 0))
			continue;
		/* To itself an address is the best source. */
		rep->local[rep->count] = attr.addrs[i];
		if (memcmp(attr.addrs[i].octets, req->peer.octets, sizeof(req->peer.octets)) == 0) {
			rep->local[rep->count] = rep->local[0];
			rep->local[0] = attr.addrs[i];
		}
		rep->count++;
	}
	return RI_SUCCESS;
}
