/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The provider that is registered: which adapters there are, and how one is opened. It can wrap the providers of this
 * release, which are linked in, and any other one: ITAPI_WRAPPED names their shared objects, with colons between.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "defect.h"
#include "faulty.h"
#include "record.h"
#include "ri_registry.h"

#define DEFECT_PREFIX "defect:"
#define FAULTY_PREFIX "faulty:"
#define RECORD_PREFIX "record:"
#define WRAPPED_MAX   9  /* the last one is this provider */
#define ROOM          64 /* adapters of one wrapped provider */

const struct ri_provider *vem_provider_entry(void);
const struct ri_provider *viw_provider_entry(void);
__attribute__((visibility("default"))) const struct ri_provider *ri_provider_entry(void);

static struct wrap_tables wrapped[WRAPPED_MAX];
static unsigned num_wrapped;
static struct wrap_tables tables; /* what is registered */

/* --- what can be wrapped ---------------------------------------------------------------------- */

/* Copy it as the registry copies a provider, so each entry can be called. The copy stays until the process ends. */
static void
wrapped_add(const struct ri_provider *provider, const char *name)
{
	struct ri_error error = {.text = "it is no provider, or one too many"};
	const struct ri_loaded *loaded = provider != NULL && num_wrapped < WRAPPED_MAX - 1
						 ? ri_loaded_new(provider, name, &error)
						 : NULL;

	if (loaded != NULL && wrap_tables_copy(&wrapped[num_wrapped], &loaded->provider))
		num_wrapped++;
	else
		fprintf(stderr, "defects: %s cannot be wrapped: %s\n", name, error.text);
}

/* A shared object stays open until the process ends. */
static void
wrapped_load(const char *path, size_t length)
{
	char *name = strndup(path, length);
	void *object = name != NULL ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
	void *symbol = object != NULL ? dlsym(object, RI_PROVIDER_ENTRY_NAME) : NULL;
	ri_provider_entry_fn entry = NULL;

	if (symbol != NULL)
		memcpy(&entry, &symbol, sizeof(entry));
	wrapped_add(entry != NULL ? entry() : NULL, name != NULL ? name : "it");
	free(name);
}

static void
wrapped_find(void)
{
	const char *paths = secure_getenv("ITAPI_WRAPPED");

	while (paths != NULL && *paths != '\0') {
		size_t length = strcspn(paths, ":");

		if (length > 0)
			wrapped_load(paths, length);
		paths += length + (paths[length] == ':');
	}
	wrapped_add(vem_provider_entry(), "emul");
	wrapped_add(viw_provider_entry(), "iwarp");
}

/* --- which adapters there are ------------------------------------------------------------------ */

/* A list that is being written. */
struct listing {
	struct ri_device_desc *descs;
	uint32_t room;
	uint32_t count;
};

static void
list_one(struct listing *listing, const struct ri_device_desc *of, const char *prefix,
	 const struct defect *defect, const char *what)
{
	struct ri_device_desc *out = &listing->descs[listing->count];

	/* A name that does not fit is no name. */
	if (strlen(prefix) + (defect != NULL ? strlen(defect->id) + 1 : 0) + strlen(of->name) >=
	    sizeof(out->name))
		return;
	if (listing->count++ >= listing->room)
		return;
	*out = *of;
	(void)snprintf(out->name, sizeof(out->name), "%s%s%s%.40s", prefix,
		       defect != NULL ? defect->id : "", defect != NULL ? ":" : "", of->name);
	(void)snprintf(out->description, sizeof(out->description), "%.40s: %s", of->name, what);
}

static void
list_all(struct listing *listing, const struct ri_device_desc *of)
{
	const struct defect *defect;

	list_one(listing, of, FAULTY_PREFIX, NULL, "faults on demand");
	list_one(listing, of, RECORD_PREFIX, NULL, "recorded");
	list_one(listing, of, RECORD_PREFIX FAULTY_PREFIX, NULL, "faults on demand, recorded");
	for (size_t i = 0; (defect = defect_get(i)) != NULL; i++)
		list_one(listing, of, DEFECT_PREFIX, defect, defect->title);
}

static enum ri_status
probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count)
{
	struct listing listing = {.descs = descs, .room = *count};
	struct ri_device_desc *found = calloc(ROOM, sizeof(*found));

	if (found == NULL)
		return RI_ERR_RESOURCES;
	for (unsigned i = 0; i < num_wrapped; i++) {
		uint32_t there = ROOM;

		if (wrapped[i].device.probe(host, found, &there) != RI_SUCCESS)
			continue;
		for (uint32_t j = 0; j < there && j < ROOM; j++)
			list_all(&listing, &found[j]);
	}
	free(found);
	*count = listing.count;
	return RI_SUCCESS;
}

/* --- open and close ----------------------------------------------------------------------------- */

/* Read a name: which defect, if any, and the name of the wrapped adapter; NULL: the name has another form. */
static const char *
name_read(const char *name, const struct defect **defect, bool *recorded)
{
	size_t length;

	*defect = NULL;
	*recorded = strncmp(name, RECORD_PREFIX, strlen(RECORD_PREFIX)) == 0;
	if (*recorded)
		return name + strlen(RECORD_PREFIX);
	if (strncmp(name, FAULTY_PREFIX, strlen(FAULTY_PREFIX)) == 0)
		return name + strlen(FAULTY_PREFIX);
	if (strncmp(name, DEFECT_PREFIX, strlen(DEFECT_PREFIX)) != 0)
		return NULL;
	name += strlen(DEFECT_PREFIX);
	length = strcspn(name, ":");
	*defect = defect_find(name, length);
	return *defect != NULL && name[length] == ':' ? name + length + 1 : NULL;
}

static void
rnic_free(struct wrap_rnic *rnic)
{
	while (rnic->objects.next != &rnic->objects)
		wrap_free(rnic->objects.next);
	for (unsigned i = 0; i < WRAP_CONSUMED; i++)
		wrap_free(rnic->consumed[i]);
	pthread_mutex_destroy(&rnic->lock);
	free(rnic->own);
	free(rnic);
}

static struct wrap_rnic *
rnic_new(const struct ri_open *open)
{
	struct wrap_rnic *rnic = calloc(1, sizeof(*rnic));

	if (rnic == NULL)
		return NULL;
	rnic->obj.rnic = rnic;
	rnic->objects.next = rnic->objects.prev = &rnic->objects;
	pthread_mutex_init(&rnic->lock, NULL);
	memcpy(rnic->name, open->name, sizeof(rnic->name) - 1);
	rnic->upcalls = open->upcalls;
	rnic->host = open->host;
	rnic->inner_host = open->host;
	wrap_plain(&rnic->ops);
	rnic->ops.up.self = rnic;
	return rnic;
}

/* Open it with the provider that has it, and read its profile. */
static enum ri_status
inner_open(struct wrap_rnic *rnic, const char *name)
{
	struct ri_open open = {.host = rnic->inner_host, .upcalls = &rnic->ops.up};
	enum ri_status status = RI_ERR_NO_DEVICE;
	struct ri_rnic *inner = NULL;

	(void)snprintf(open.name, sizeof(open.name), "%s", name);
	/* A recording may be of an adapter with faults, which this provider has itself. */
	for (unsigned i = 0; i < num_wrapped + rnic->recorded && status == RI_ERR_NO_DEVICE; i++) {
		rnic->in = &wrapped[i];
		status = rnic->in->device.open(&open, &inner);
	}
	if (status != RI_SUCCESS)
		return status;
	rnic->obj.inner = inner;
	rnic->attr.size = sizeof(rnic->attr);
	status = wrap_plain_device_ops.query((struct ri_rnic *)rnic, &rnic->attr);
	if (status == RI_SUCCESS && rnic->defect != NULL && !defect_fits(rnic->defect, &rnic->attr))
		status = RI_ERR_NO_DEVICE;
	if (status != RI_SUCCESS)
		rnic->in->device.close(inner);
	return status;
}

/* Prepare what stands in front of it. */
static enum ri_status
front_start(struct wrap_rnic *rnic)
{
	if (rnic->defect != NULL)
		defect_start(rnic);
	else if (rnic->recorded)
		record_gates(&rnic->ops);
	else
		return faulty_start(rnic);
	return RI_SUCCESS;
}

static enum ri_status
open_wrapped(const struct ri_open *open, struct ri_rnic **out)
{
	const struct defect *defect;
	bool recorded;
	const char *name = name_read(open->name, &defect, &recorded);
	struct wrap_rnic *rnic;
	enum ri_status status;

	if (name == NULL)
		return RI_ERR_NO_DEVICE;
	rnic = rnic_new(open);
	if (rnic == NULL)
		return RI_ERR_RESOURCES;
	rnic->defect = defect;
	rnic->recorded = recorded;
	status = front_start(rnic);
	if (status == RI_SUCCESS)
		status = inner_open(rnic, name);
	if (status != RI_SUCCESS) {
		if (defect != NULL && defect->end != NULL)
			defect->end(rnic);
		faulty_stop(rnic);
		rnic_free(rnic);
		return status;
	}
	if (recorded)
		record_opened(rnic);
	*out = (struct ri_rnic *)rnic;
	return RI_SUCCESS;
}

/* Upcalls of the wrapped adapter after the access layer has closed it are dropped. */
static void
nobody_cq(void *self, uint64_t ctx)
{
	(void)self;
	(void)ctx;
}

static void
nobody_async(void *self, const struct ri_async_event *event)
{
	(void)self;
	(void)event;
}

static void
nobody_cm(void *self, const struct ri_cm_event *event)
{
	(void)self;
	(void)event;
}

static const struct ri_upcalls nobody = {.size = sizeof(nobody),
					 .cq_event = nobody_cq,
					 .async_event = nobody_async,
					 .cm_event = nobody_cm};

/* It stays in a list, since the wrapped adapter uses it until the process ends. */
static void
rnic_forget(struct wrap_rnic *rnic)
{
	static _Atomic(struct wrap_rnic *) forgotten;

	rnic->upcalls = &nobody;
	rnic->next = atomic_load(&forgotten);
	while (!atomic_compare_exchange_weak(&forgotten, &rnic->next, rnic))
		;
}

static void
close_wrapped(struct ri_rnic *handle)
{
	struct wrap_rnic *rnic = wrap_rnic_of(handle);

	if (rnic->forgotten) {
		rnic_forget(rnic);
		return;
	}

	if (rnic->defect != NULL && rnic->defect->end != NULL)
		rnic->defect->end(rnic);
	rnic->ops.device.close(handle);
	faulty_stop(rnic);
	rnic_free(rnic);
}

/* --- the provider ------------------------------------------------------------------------------ */

void
wrap_plain(struct wrap_ops *ops)
{
	ops->device = wrap_plain_device_ops;
	ops->pd = wrap_plain_pd_ops;
	ops->cq = wrap_plain_cq_ops;
	ops->srq = wrap_plain_srq_ops;
	ops->qp = wrap_plain_qp_ops;
	ops->mem = wrap_plain_mem_ops;
	ops->ah = wrap_plain_ah_ops;
	ops->cm = wrap_plain_cm_ops;
	ops->llp = wrap_plain_llp_ops;
	ops->peer = wrap_plain_peer_ops;
	ops->user = wrap_plain_user_ops;
	ops->fast = wrap_plain_fast_ops;
	ops->up = wrap_plain_upcalls;
}

static const struct ri_setting settings[] = {
	{.name = "ITAPI_WRAPPED",
	 .meaning = "Shared objects of providers that the adapters defect:, faulty: and record: "
		    "can wrap",
	 .form = "paths, separated by colons"},
	{.name = "ITAPI_FAULTY",
	 .meaning = "Faults that each adapter faulty: commits",
	 .form = "call VERB N STATUS [KIND K]; complete N STATUS [qp K]; help lists the words in "
		 "the log"},
	{.name = "ITAPI_RECORD",
	 .meaning = "File for the recording of each adapter record:, one for each process",
	 .form = "path, %p is the number of the process"},
};

const struct ri_provider *
ri_provider_entry(void)
{
	if (tables.provider.size != 0)
		return &tables.provider;
	wrapped_find();
	wrap_entries(&tables);
	tables.device.probe = probe;
	tables.device.open = open_wrapped;
	tables.device.close = close_wrapped;
	wrap_tables_join(&tables);
	tables.provider.abi_major = RI_ABI_MAJOR;
	tables.provider.abi_minor = RI_ABI_MINOR;
	tables.provider.size = sizeof(tables.provider);
	tables.provider.name = "defects";
	tables.provider.description = "other adapters with defects and faults, for tests";
	tables.provider.settings = settings;
	tables.provider.num_settings = sizeof(settings) / sizeof(settings[0]);
	tables.provider.setting_size = sizeof(settings[0]);
	wrapped[num_wrapped] = tables;
	wrap_tables_join(&wrapped[num_wrapped]);
	return &tables.provider;
}
