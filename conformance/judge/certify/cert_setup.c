/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Finds the provider and the adapter that are certified, in the way and with the checks of the library. */

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "cert_frame.h"
#include "cert_profile.h"
#include "kal_absent.h"
#include "kal_call.h"
#include "ri_load.h"

#define ADAPTERS_MAX 64

static GQuark
setup_quark(void)
{
	return g_quark_from_static_string("cert-setup");
}

/* Loads one file, or everything that the library would load. */
static bool
setup_load(const char *path, const char *installed, const struct ri_host *host, GError **error)
{
	struct ri_error why = {0};
	char folder[PATH_MAX];

	if (path == NULL) {
		if (ri_load_all(host, ri_builtin_entries, g_getenv("ITAPI_PROVIDER_PATH"),
				installed != NULL ? installed
						  : ri_load_folder(folder, sizeof(folder))))
			return true;
		g_set_error(error, setup_quark(), 0, "memory ran out while providers were loaded");
		return false;
	}
	if (ri_load_file(path, &why))
		return true;
	g_set_error(error, setup_quark(), 0, "%s", why.text);
	return false;
}

/* The first adapter with that name, or the first one at all; NULL: the provider has none. */
static char *
find_adapter(const struct ri_provider *provider, const struct ri_host *host, const char *name)
{
	g_autofree struct ri_device_desc *descs = g_new0(struct ri_device_desc, ADAPTERS_MAX);
	uint32_t count = ADAPTERS_MAX;
	char *found = NULL;

	if (provider->device->probe(host, descs, &count) != RI_SUCCESS)
		count = 0;
	for (uint32_t i = 0; i < MIN(count, ADAPTERS_MAX) && found == NULL; i++) {
		descs[i].name[sizeof(descs[i].name) - 1] = '\0';
		if (name == NULL || strcmp(descs[i].name, name) == 0)
			found = g_strdup(descs[i].name);
	}
	return found;
}

/* Open an adapter by name, as the library does: the provider need not list the name. */
static bool
adapter_opens(const struct ri_provider *provider, struct ri_open *open, struct ri_rnic **rnic)
{
	return provider->device->open(open, rnic) == RI_SUCCESS;
}

static void
ignore_cq(void *self, uint64_t ctx)
{
	(void)self;
	(void)ctx;
}

static void
ignore_async(void *self, const struct ri_async_event *event)
{
	(void)self;
	(void)event;
}

static void
ignore_cm(void *self, const struct ri_cm_event *event)
{
	(void)self;
	(void)event;
}

static const struct ri_upcalls deaf = {
	.size = sizeof(struct ri_upcalls),
	.cq_event = ignore_cq,
	.async_event = ignore_async,
	.cm_event = ignore_cm,
};

/* Reads the profile of an adapter, if the provider has it. */
static bool
read_profile(struct cert_setup *setup, const struct ri_loaded *loaded, const struct ri_host *host,
	     const char *name)
{
	struct ri_open open = {.host = host, .upcalls = &deaf};
	struct ri_rnic *rnic = NULL;
	enum ri_status status;

	g_strlcpy(open.name, name, sizeof(open.name));
	if (!adapter_opens(&loaded->provider, &open, &rnic))
		return false;
	setup->attr.size = sizeof(setup->attr);
	status = loaded->provider.device->query(rnic, &setup->attr);
	cert_profile_cut(&setup->attr, loaded->provider.abi_minor);
	loaded->provider.device->close(rnic);
	if (status != RI_SUCCESS)
		return false;
	setup->taken = &loaded->provider;
	setup->provider = cert_fast_watch(setup->taken);
	setup->raw = loaded->source;
	setup->adapter = g_strdup(name);
	setup->origin = loaded->origin;
	return true;
}

char *
cert_claims_fault(const struct cert_setup *setup)
{
	struct ri_error why = {0};

	for (unsigned i = 0; i < ri_registry_count(); i++) {
		const struct ri_loaded *loaded = ri_registry_get(i);

		if (&loaded->provider == setup->taken &&
		    !ri_claims_check(loaded, &setup->attr, &why))
			return g_strdup(why.text);
	}
	return NULL;
}

bool
cert_setup_open(struct cert_setup *setup, const char *path, const char *adapter, GError **error)
{
	const struct ri_host *host = kal_host_default();
	struct kal_near near = {.word = adapter};
	char absent[KAL_ABSENT_ROOM];

	if (host == NULL) {
		g_set_error(error, setup_quark(), 0, "there are no resources for a host");
		return false;
	}
	if (!setup_load(path, setup->installed, host, error))
		return false;
	for (unsigned i = 0; i < ri_registry_count(); i++) {
		const struct ri_loaded *loaded = ri_registry_get(i);
		g_autofree char *listed = find_adapter(&loaded->provider, host, adapter);
		const char *name = listed != NULL ? listed : adapter;

		if (name != NULL && read_profile(setup, loaded, host, name))
			return true;
	}
	if (adapter == NULL) {
		g_set_error(error, setup_quark(), 0, "the provider opens no adapter");
	} else {
		kal_absent_explain(host, &near, absent, sizeof(absent));
		g_set_error(error, setup_quark(), 0, "no provider opens the adapter %s: %s",
			    adapter, absent);
	}
	return false;
}

/* What an object, which is loaded and stays, says of its version, in the symbol ri_provider_version. */
static const char *
version_of(const char *object)
{
	void *loaded = dlopen(object, RTLD_NOW | RTLD_NOLOAD);
	const char *version = loaded != NULL ? dlsym(loaded, "ri_provider_version") : NULL;

	if (loaded != NULL)
		dlclose(loaded);
	return version != NULL ? version : "not stated";
}

void
cert_setup_tell(const struct cert_setup *setup)
{
	const struct ri_provider *raw = setup->raw;
	const bool file = setup->origin[0] == '/' || strchr(setup->origin, '/') != NULL;
	g_autofree char *version = g_strdup_printf("%u.%u", raw->abi_major, raw->abi_minor);
	const struct {
		const char *key, *value;
	} told[] = {
		{"provider", raw->name},
		{"description", raw->description != NULL ? raw->description : ""},
		{"version", file ? version_of(setup->origin) : CERT_VERSION},
		{"interface", version},
		{"object", file ? setup->origin : ""},
		{"adapter", setup->adapter},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(told); i++)
		cert_record(setup, CERT_RECORD_ADAPTER,
			    (const char *[]){told[i].key, told[i].value, NULL});
	for (const struct cert_attribute *at = cert_attributes; at->name != NULL; at++) {
		g_autofree char *value = cert_attribute_text(at, &setup->attr);

		cert_record(
			setup, CERT_RECORD_CLAIM,
			(const char *[]){at->name, value, at->informs ? "text" : "claim", NULL});
	}
}
