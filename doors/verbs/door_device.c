/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Which devices a program sees: one for each interface of each adapter that is asked for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "door_adapter.h"
#include "door_status.h"
#include "kal_settings.h"
#include "ri_setting.h"

#define DEVICES_MAX  256 /* that a process ever sees */
#define ADAPTERS_MAX 512 /* that the kAL lists */

static const struct ri_setting devices_setting = {
	.name = "ITAPI_VERBS_DEVICES",
	.meaning = "adapters that verbs programs see as devices, in this order",
	.form = "NAME[,NAME]...",
	.kind = RI_SETTING_TEXT,
	.preset = "iwarp",
};

/* The devices seen so far. Entries are constant once the count includes them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct door_device *devices[DEVICES_MAX];
static _Atomic unsigned count;

unsigned
door_devices_count(void)
{
	return atomic_load(&count);
}

struct door_device *
door_devices_at(unsigned i)
{
	return devices[i];
}

/* --- one device --------------------------------------------------------------------------------------- */

/*
 * A GUID that is the same in each run: of the machine and the name. Bit 1 of the first octet says that it is administered locally,
 * bit 0 that it is of one machine.
 */
static __be64
guid_of(const char *adapter)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autofree char *machine = NULL;
	uint8_t digest[32];
	gsize room = sizeof(digest);
	__be64 guid;

	/* Without it the GUID still depends on the name alone, and stays the same. */
	if (g_file_get_contents("/etc/machine-id", &machine, NULL, NULL))
		g_checksum_update(sum, (const guchar *)machine, -1);
	g_checksum_update(sum, (const guchar *)adapter, (gssize)strlen(adapter) + 1);
	g_checksum_get_digest(sum, digest, &room);
	digest[0] = (digest[0] & 0xfc) | 2;
	memcpy(&guid, digest, sizeof(guid));
	return guid;
}

static struct door_device *
device_new(const char *adapter, bool iwarp, unsigned number)
{
	struct door_device *device = (struct door_device *)calloc(1, sizeof(*device));
	struct ibv_device *seen;

	if (device == NULL)
		return NULL;
	seen = &device->device;
	g_strlcpy(device->adapter, adapter, sizeof(device->adapter));
	device->guid = guid_of(adapter);
	device->index = (int)number + 1;
	seen->node_type = iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
	seen->transport_type = iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
	/* Programs write DEVICE:PORT: so the name has no colon. */
	(void)g_snprintf(seen->name, sizeof(seen->name), "it_%s", adapter);
	g_strdelimit(seen->name, ":/", '_');
	(void)g_snprintf(seen->dev_name, sizeof(seen->dev_name), "uverbs%u", number);
	(void)g_snprintf(seen->dev_path, sizeof(seen->dev_path),
			 "/sys/class/infiniband_verbs/uverbs%u", number);
	(void)g_snprintf(seen->ibdev_path, sizeof(seen->ibdev_path), "/sys/class/infiniband/%.60s",
			 seen->name);
	return device;
}

/* The device of that adapter, entered if it is new; NULL: no memory. */
static struct door_device *
device_enter(const char *adapter, bool iwarp)
{
	struct door_device *device = NULL;
	unsigned known;

	pthread_mutex_lock(&lock);
	known = atomic_load(&count);
	for (unsigned i = 0; i < known && device == NULL; i++)
		if (strcmp(devices[i]->adapter, adapter) == 0)
			device = devices[i];
	if (device == NULL && known < DEVICES_MAX) {
		device = devices[known] = device_new(adapter, iwarp, known);
		if (device != NULL)
			atomic_store(&count, known + 1);
	}
	pthread_mutex_unlock(&lock);
	return device;
}

/* --- which ones ------------------------------------------------------------------------------------------ */

struct list {
	const struct kal_adapter *adapters;
	uint32_t num_adapters;
	GPtrArray *offered;
};

static enum ri_status
list_adapters(struct kal_adapter **adapters, uint32_t *num)
{
	const struct kal_client_params params = {0};
	const struct kal_adapter_list_req req = {.max = ADAPTERS_MAX};
	const size_t room = sizeof(struct kal_adapter_list_rep) + ADAPTERS_MAX * sizeof(**adapters);
	g_autofree struct kal_adapter_list_rep *rep =
		(struct kal_adapter_list_rep *)g_malloc0(room);
	struct kal_msg msg = {.call = KAL_ADAPTER_LIST,
			      .fd = -1,
			      .req = &req,
			      .req_len = sizeof(req),
			      .rep = rep,
			      .rep_len = room};
	struct kal_client *client;
	enum ri_status status = kal_client_open(&params, &client);

	if (status != RI_SUCCESS)
		return status;
	status = kal_call(client, &msg);
	if (status == RI_SUCCESS) {
		*num = rep->filled;
		*adapters = g_memdup2(rep + 1, rep->filled * sizeof(**adapters));
	}
	kal_client_close(client);
	return status;
}

static void
offer(struct list *list, const char *adapter, uint32_t transport)
{
	struct door_device *device = device_enter(adapter, transport == RI_TRANSPORT_IWARP);

	if (device != NULL && !g_ptr_array_find(list->offered, device, NULL))
		g_ptr_array_add(list->offered, device);
}

/*
 * Offer what a listed name stands for, behind the prefixes of wrappers: the adapters of its interfaces, or itself. false: nobody
 * lists it.
 */
static bool
offer_listed(struct list *list, const char *prefixes, const char *name)
{
	size_t length = strlen(name);
	bool found = false;

	for (int whole = 0; whole < 2 && !found; whole++)
		for (uint32_t i = 0; i < list->num_adapters; i++) {
			const struct kal_adapter *adapter = &list->adapters[i];
			g_autofree char *full = g_strconcat(prefixes, adapter->name, NULL);

			if (strncmp(adapter->name, name, length) != 0 ||
			    adapter->name[length] != (whole ? '\0' : ':'))
				continue;
			offer(list, full, adapter->transport);
			found = true;
		}
	return found;
}

/* "faulty:iwarp" has the prefix of a wrapper before a listed name. */
static void
offer_named(struct list *list, const char *name)
{
	for (const char *base = name; base != NULL; base = strchr(base, ':')) {
		base += *base == ':';
		g_autofree char *prefixes = g_strndup(name, (gsize)(base - name));

		if (offer_listed(list, prefixes, base))
			return;
	}
	door_warn(NULL, "no adapter has the name '%s', which %s asks for", name,
		  devices_setting.name);
}

int
door_devices_refresh(struct door_device ***offered)
{
	g_autofree struct kal_adapter *adapters = NULL;
	g_auto(GStrv) names = g_strsplit_set(ri_setting_value(&devices_setting), ", ", -1);
	struct list list = {.offered = g_ptr_array_new()};
	enum ri_status status = list_adapters(&adapters, &list.num_adapters);
	int num;

	list.adapters = adapters;
	for (char **name = names; status == RI_SUCCESS && *name != NULL; name++)
		if (**name != '\0')
			offer_named(&list, *name);
	num = (int)list.offered->len;
	*offered = (struct door_device **)(void *)g_ptr_array_free(list.offered, FALSE);
	if (status == RI_SUCCESS)
		return num;
	g_free(*offered);
	*offered = NULL;
	errno = door_errno(status);
	return -1;
}
