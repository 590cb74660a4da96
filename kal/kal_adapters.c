/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Adapters: the list of them, opening and closing one. Closing an adapter destroys everything under it, children before
 * parents, without events.
 *
 * A provider may make upcalls (kal_upcalls.c) from the beginning of its open until its close has returned. So everything
 * that an upcall reads (struct kal_rnic, its kal_cm, objects that the provider refused to destroy) is allocated before the
 * device is opened and freed after the device was closed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kal_absent.h"
#include "kal_host.h"
#include "kal_objects.h"
#include "kal_remote.h"
#include "ri_load.h"
#include "ri_log.h"
#include "ri_registry.h"

#define ADAPTERS_FIRST 16
#define ADAPTERS_MAX   (1u << 20) /* of one provider; more is a fault */

/* A failure of a provider, in words that say what to do. */
static const char *
failure_advice(enum ri_status status)
{
	switch ((int)status) {
	case RI_ERR_ACCESS:
	case RI_ERR_PERMISSION:
		return "this user may not use the device; try as a user who may, or change the "
		       "permissions of the device";
	case RI_ERR_RESOURCES:
		return "memory, descriptors or the device's own resources ran out";
	case RI_ERR_NO_DEVICE:
		return "the device is not there, or not any more";
	case RI_ERR_PROVIDER:
		return "the provider breaks the rules of its interface; the lines before say which";
	default:
		return "the provider does not say more";
	}
}

static void
say_failed(const struct ri_host *host, const struct ri_loaded *loaded, const char *adapter,
	   enum ri_status status)
{
	const struct ri_log_about about = {.layer = "kal", .adapter = adapter};

	ri_log(host, RI_LOG_WARNING, &about, "the provider %s cannot %s: %s: %s", loaded->name,
	       adapter != NULL ? "open it" : "list its adapters", ri_status_name(status),
	       failure_advice(status));
}

/* The adapters that a provider has found. */
struct found {
	struct ri_device_desc *descs; /* to be freed */
	uint32_t count;
};

/* Find the adapters of one provider. On failure `found` is empty, and the log says why. */
static enum ri_status
adapters_probe(const struct ri_host *host, const struct ri_loaded *loaded, struct found *found)
{
	const struct ri_caller caller = {
		.provider = &loaded->provider, .host = host, .name = loaded->name};
	uint32_t room = ADAPTERS_FIRST;
	enum ri_status status;

	for (;;) {
		found->count = room;
		found->descs = calloc(room, sizeof(*found->descs));
		status = found->descs == NULL ? RI_ERR_RESOURCES
					      : ri_call_probe(&caller, found->descs, &found->count);
		if (status == RI_SUCCESS && found->count <= room)
			break;
		free(found->descs);
		found->descs = NULL;
		room = found->count;
		if (status == RI_SUCCESS && room > ADAPTERS_MAX)
			status = RI_ERR_PROVIDER;
		if (status != RI_SUCCESS) {
			found->count = 0;
			say_failed(host, loaded, NULL, status);
			return status;
		}
	}
	return RI_SUCCESS;
}

/* The reply to which a list of adapters is written. */
struct listing {
	struct kal_adapter_list_rep *rep;
	struct kal_adapter *list;
	size_t room;
};

static void
list_one(struct listing *listing, const struct ri_device_desc *desc, const char *name)
{
	if (listing->rep->filled < listing->room) {
		struct kal_adapter *out = &listing->list[listing->rep->filled++];

		memset(out, 0, sizeof(*out));
		memcpy(out->description, desc->description, sizeof(out->description));
		out->transport = desc->transport;
		out->num_ports = desc->num_ports;
		g_strlcpy(out->name, name, sizeof(out->name));
	}
	listing->rep->total++;
}

enum ri_status
kal_adapters_list(struct kal_client *client, struct kal_msg *msg)
{
	const struct kal_adapter_list_req *req = msg->req;
	struct kal_adapter_list_rep *rep = msg->rep;
	struct listing listing = {.rep = rep, .list = (struct kal_adapter *)(rep + 1)};
	enum ri_status status = kal_providers_load(client->host);

	listing.room = MIN((msg->rep_len - sizeof(*rep)) / sizeof(*listing.list), req->max);
	for (unsigned i = 0; status == RI_SUCCESS && i < ri_registry_count(); i++) {
		struct found found;

		/* Failures of a provider other than this one do not hide the adapters of other providers. */
		if (adapters_probe(client->host, ri_registry_get(i), &found) == RI_ERR_RESOURCES)
			status = RI_ERR_RESOURCES;
		for (uint32_t j = 0; j < found.count; j++) {
			const struct ri_device_desc *desc = &found.descs[j];

			/* The adapter, then its aliases. */
			list_one(&listing, desc, desc->name);
			for (const struct kal_alias *a = client->config->aliases; a != NULL;
			     a = a->next)
				if (strcmp(a->adapter, desc->name) == 0)
					list_one(&listing, desc, a->alias);
		}
		free(found.descs);
	}
	if (status != RI_SUCCESS)
		return status;
	msg->rep_len = sizeof(*rep) + rep->filled * sizeof(*listing.list);
	return RI_SUCCESS;
}

/* The provider that has an adapter of that name. RI_ERR_RESOURCES: a provider that may have it had no memory to probe. */
static enum ri_status
provider_of(const struct ri_host *host, const char *name, const struct ri_loaded **out)
{
	enum ri_status status = kal_providers_load(host);

	*out = NULL;
	for (unsigned i = 0; *out == NULL && i < ri_registry_count(); i++) {
		const struct ri_loaded *loaded = ri_registry_get(i);
		struct found found;

		if (adapters_probe(host, loaded, &found) == RI_ERR_RESOURCES)
			status = RI_ERR_RESOURCES;
		for (uint32_t j = 0; j < found.count; j++)
			if (strcmp(found.descs[j].name, name) == 0)
				*out = loaded;
		free(found.descs);
	}
	if (*out != NULL)
		return RI_SUCCESS;
	return status == RI_SUCCESS ? RI_ERR_NO_DEVICE : status;
}

/* Nobody has an adapter of that name; `name` is what the application wrote, perhaps an alias. */
static void
say_absent(const struct kal_client *client, const char *name)
{
	const struct ri_host *host = client->host;
	struct kal_near near = {.word = kal_config_adapter(client->config, name)};
	char text[KAL_ABSENT_ROOM];

	if (!ri_log_wanted(host, RI_LOG_WARNING))
		return;
	for (const struct kal_alias *a = client->config->aliases; a != NULL; a = a->next)
		kal_near_try(&near, a->alias);
	kal_absent_explain(host, &near, text, sizeof(text));
	ri_log(host, RI_LOG_WARNING, &(struct ri_log_about){.layer = "adapters"}, "%s", text);
}

/* --- open and close ----------------------------------------------------------------------- */

/* The provider's side of an open: device, profile, context. */
static enum ri_status
open_device(struct kal_rnic *rnic, const struct ri_loaded *loaded, const char *name)
{
	struct kal_client *client = rnic->client;
	const struct ri_log_about about = {.layer = "kal", .adapter = rnic->attr.name};
	struct ri_open open = {.host = client->host, .upcalls = &rnic->upcalls};
	struct ri_owner owner = {.mem_owner = KAL_MEM_OWNER_SELF,
				 .pid = (uint32_t)getpid(),
				 .uid = (uint32_t)getuid(),
				 .privileged = client->privileged};
	struct ri_error error;
	enum ri_status status;

	g_strlcpy(open.name, name, sizeof(open.name));
	status = ri_call_open(&rnic->caller, &open, &rnic->rnic);
	if (status != RI_SUCCESS)
		return status;
	rnic->attr.size = sizeof(rnic->attr);
	status = ri_call_query(&rnic->caller, rnic->rnic, &rnic->attr);
	if (status == RI_SUCCESS && !ri_claims_check(loaded, &rnic->attr, &error)) {
		ri_log(client->host, RI_LOG_ERROR, &about, "%s", error.text);
		status = RI_ERR_PROVIDER;
	}
	if (status == RI_SUCCESS)
		status = ri_call_context_create(&rnic->caller, rnic->rnic, &owner, &rnic->context,
						&rnic->map);
	if (status != RI_SUCCESS)
		ri_call_close(&rnic->caller, rnic->rnic);
	return status;
}

static void
close_device(struct kal_rnic *rnic)
{
	ri_call_context_destroy(&rnic->caller, rnic->context);
	ri_call_close(&rnic->caller, rnic->rnic);
}

/* Allocate all that upcalls read, before the device is opened. NULL: no memory. */
static struct kal_rnic *
rnic_new(struct kal_client *client, const struct ri_loaded *loaded)
{
	struct kal_rnic *rnic = calloc(1, sizeof(*rnic));

	if (rnic == NULL)
		return NULL;
	rnic->client = client;
	rnic->provider = &loaded->provider;
	rnic->caller = (struct ri_caller){
		.provider = rnic->provider, .host = client->host, .name = loaded->name};
	if (kal_cm_open(client, client->config, &rnic->caller, &rnic->attr, &rnic->cm) !=
	    RI_SUCCESS) {
		free(rnic);
		return NULL;
	}
	g_queue_init(&rnic->maps);
	pthread_mutex_init(&rnic->own_lock, NULL);
	kal_upcalls_init(rnic);
	return rnic;
}

/* Free it. No upcall can come any more: the device is closed, or was never opened. */
static void
rnic_free(struct kal_rnic *rnic)
{
	kal_cm_free(rnic->cm);
	pthread_mutex_destroy(&rnic->own_lock);
	free(rnic);
}

enum ri_status
kal_rnic_open(struct kal_client *client, const char *name, struct kal_rnic **out)
{
	const char *adapter = kal_config_adapter(client->config, name);
	const struct ri_loaded *loaded;
	struct kal_rnic *rnic;
	enum ri_status status = provider_of(client->host, adapter, &loaded);

	if (status == RI_ERR_NO_DEVICE)
		say_absent(client, name);
	if (status != RI_SUCCESS)
		return status;
	rnic = rnic_new(client, loaded);
	if (rnic == NULL)
		return RI_ERR_RESOURCES;
	g_strlcpy(rnic->asked, adapter, sizeof(rnic->asked));
	status = kal_remote_open(rnic->asked);
	if (status != RI_SUCCESS) {
		rnic_free(rnic);
		return status;
	}
	status = open_device(rnic, loaded, adapter);
	if (status != RI_SUCCESS) {
		say_failed(client->host, loaded, name, status);
		kal_remote_close(rnic->asked);
		rnic_free(rnic);
		return status;
	}
	kal_cm_begin(rnic->cm, rnic->rnic, rnic->context);
	if (kal_object_add(client, RI_OBJECT_RNIC, &rnic->object) == 0) {
		close_device(rnic);
		kal_remote_close(rnic->asked);
		rnic_free(rnic);
		return RI_ERR_RESOURCES;
	}
	rnic->live = kal_live_take(KAL_LIVE_ADAPTER, NULL);
	kal_live_name(rnic->live, rnic->attr.name);
	kal_upcalls_pass_own(rnic, true);
	*out = rnic;
	return RI_SUCCESS;
}

/* Destroy all objects under it. Returns those that the provider refuses to destroy: upcalls may name them. */
static struct kal_object *
destroy_all(struct kal_rnic *rnic)
{
	/* Children before parents. */
	static const enum ri_object order[] = {RI_OBJECT_LISTEN, RI_OBJECT_MW, RI_OBJECT_QP,
					       RI_OBJECT_AH,     RI_OBJECT_MR, RI_OBJECT_SRQ,
					       RI_OBJECT_CQ,     RI_OBJECT_PD};
	static const char *const names[] = {
		"listener",      "memory window",        "queue pair",       "address handle",
		"memory region", "shared receive queue", "completion queue", "protection domain"};
	struct kal_client *client = rnic->client;
	struct kal_object *object, *kept = NULL;
	const struct ri_log_about about = {.layer = "kal", .adapter = rnic->attr.name};

	for (size_t i = 0; i < G_N_ELEMENTS(order); i++) {
		while ((object = kal_object_any(client, order[i], rnic)) != NULL) {
			if (kal_object_destroy(client, object) == RI_SUCCESS)
				continue;
			/* A fault of the provider; it must free the object when the context is destroyed. */
			ri_log(client->host, RI_LOG_ERROR, &about,
			       "the provider could not destroy a %s when the adapter was closed",
			       names[i]);
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
	kal_upcalls_pass_own(rnic, false);
	kal_cm_end(rnic->cm);
	close_device(rnic);
	while (kept != NULL) {
		struct kal_object *next = kept->next;

		kal_object_free(client, kept);
		kept = next;
	}
	kal_live_give(rnic->live);
	kal_object_remove(client, &rnic->object);
	kal_remote_close(rnic->asked);
	rnic_free(rnic);
}
