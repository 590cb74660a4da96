/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The devices that a program sees: one for each interface of each adapter that ITAPI_VERBS_DEVICES names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "door_adapter.h"
#include "door_export.h"
#include "door_list.h"
#include "door_status.h"
#include "door_sysfs.h"
#include "kal_host_use.h"
#include "kal_settings.h"
#include "session_cancel.h"

#define DEVICES_MAX    256        /* that a process ever sees */
#define ADAPTERS_FIRST 64         /* room for a list of adapters; more if there are more */
#define ADAPTERS_MAX   (1u << 20) /* a list that is longer is not believed */

/* The devices seen so far. Entries are constant once the count includes them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct door_device *devices[DEVICES_MAX];
static _Atomic unsigned count;

static _Thread_local unsigned node_mine; /* of a simulation; 0: none */

EXPORT void
itapi_verbs_simulate(const struct ri_host *host, unsigned node)
{
	itapi_host_use(host);
	node_mine = node;
}

bool
door_is_simulated(void)
{
	return node_mine != 0;
}

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

/* In the child of a fork: a thread that the child does not have may own the lock, and what it was entering is not counted yet. */
static void
devices_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

__attribute__((constructor)) static void
watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, devices_forked);
}

/* --- one device --------------------------------------------------------------------------------------- */

/*
 * A GUID that is the same in each run. It is a hash of the machine's id (or the number of a
 * simulated node) and the name. In its first octet, bit 1 says that it is locally administered, and
 * bit 0 is clear, so that it is not a multicast address.
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
	if (node_mine == 0 && g_file_get_contents("/etc/machine-id", &machine, NULL, NULL))
		g_checksum_update(sum, (const guchar *)machine, -1);
	if (node_mine != 0)
		g_checksum_update(sum, (const guchar *)&node_mine, sizeof(node_mine));
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
	device->node = node_mine;
	device->guid = guid_of(adapter);
	device->index = (int)number + 1;
	seen->node_type = iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
	seen->transport_type = iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
	/* Programs write DEVICE:PORT: so the name has no colon. */
	(void)g_snprintf(seen->name, sizeof(seen->name), DOOR_DEVICE_NAME "%s", adapter);
	g_strdelimit(seen->name, ":/", '_');
	(void)g_snprintf(seen->dev_name, sizeof(seen->dev_name), DOOR_VERBS_NAME "%u",
			 DOOR_VERBS_NUMBER + number);
	(void)g_snprintf(seen->dev_path, sizeof(seen->dev_path), DOOR_SYSFS_PREFIX "_verbs/%.40s",
			 seen->dev_name);
	(void)g_snprintf(seen->ibdev_path, sizeof(seen->ibdev_path), DOOR_SYSFS_PREFIX "/%.60s",
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
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): those below `count` are entered */
		if (devices[i]->node == node_mine && strcmp(devices[i]->adapter, adapter) == 0)
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

/* What is offered, in the order in which programs see it. */
struct list {
	const struct kal_adapter *adapters;
	uint32_t num_adapters;
	GPtrArray *offered;
};

static enum ri_status
list_of(struct kal_client *client, uint32_t max, struct kal_adapter_list_rep **rep)
{
	const struct kal_adapter_list_req req = {.max = max};
	const size_t room = sizeof(**rep) + max * sizeof(struct kal_adapter);
	struct kal_msg msg = {
		.call = KAL_ADAPTER_LIST, .fd = -1, .req = &req, .req_len = sizeof(req)};

	*rep = (struct kal_adapter_list_rep *)g_try_malloc0(room);
	if (*rep == NULL)
		return RI_ERR_RESOURCES;
	msg.rep = *rep;
	msg.rep_len = room;
	return kal_call(client, &msg);
}

/* All adapters. Some may come while they are listed; then they are listed again, with more room. */
static enum ri_status
list_adapters(struct kal_adapter_list_rep **rep)
{
	const struct kal_client_params params = {0};
	struct kal_client *client;
	enum ri_status status = kal_client_open(&params, &client);

	if (status != RI_SUCCESS)
		return status;
	status = list_of(client, ADAPTERS_FIRST, rep);
	while (status == RI_SUCCESS && (*rep)->filled < (*rep)->total &&
	       (*rep)->total <= ADAPTERS_MAX) {
		uint32_t total = (*rep)->total;

		g_free(*rep);
		status = list_of(client, total, rep);
	}
	kal_client_close(client);
	return status;
}

static void
offer(struct list *list, const struct kal_adapter *adapter)
{
	struct door_device *device =
		device_enter(adapter->name, adapter->transport == RI_TRANSPORT_IWARP);

	if (device != NULL && !g_ptr_array_find(list->offered, device, NULL))
		g_ptr_array_add(list->offered, device);
}

/* Offer what a name stands for: the adapters of its interfaces, or itself. false: no adapter has the name. */
static bool
offer_named(struct list *list, const char *name)
{
	size_t length = strlen(name);
	bool found = false;

	for (int whole = 0; whole < 2 && !found; whole++)
		for (uint32_t i = 0; i < list->num_adapters; i++) {
			const struct kal_adapter *adapter = &list->adapters[i];

			if (strncmp(adapter->name, name, length) != 0 ||
			    adapter->name[length] != (whole ? '\0' : ':'))
				continue;
			offer(list, adapter);
			found = true;
		}
	return found;
}

/* What the names of the setting stand for. `absent` is called for a name that no adapter has. */
static enum ri_status
list_devices(struct list *list, char **names, void (*absent)(const char *name))
{
	g_autofree struct kal_adapter_list_rep *rep = NULL;
	enum ri_status status = list_adapters(&rep);

	if (status != RI_SUCCESS)
		return status;
	list->adapters = (const struct kal_adapter *)(rep + 1);
	list->num_adapters = rep->filled;
	for (char **name = names; *name != NULL; name++)
		if (**name != '\0' && !offer_named(list, *name) && absent != NULL)
			absent(*name);
	list->adapters = NULL;
	return RI_SUCCESS;
}

static char **
names_asked_for(void)
{
	return g_strsplit_set(kal_setting_text(KAL_SETTING_VERBS_DEVICES), ", ", -1);
}

static void
say_absent(const char *name)
{
	door_warn(NULL, "no adapter has the name '%s', which ITAPI_VERBS_DEVICES asks for", name);
}

int
door_devices_refresh(struct door_device ***offered)
{
	SESSION_DEFER;
	g_auto(GStrv) names = names_asked_for();
	struct list list = {.offered = g_ptr_array_new()};
	enum ri_status status = list_devices(&list, names, say_absent);
	int num = (int)list.offered->len;

	*offered =
		(struct door_device **)(void *)g_ptr_array_free(list.offered, status != RI_SUCCESS);
	if (status == RI_SUCCESS)
		return num;
	errno = door_errno(status);
	return -1;
}

EXPORT int
itapi_verbs_list(void (*each)(void *arg, const struct itapi_verbs_device *device), void *arg)
{
	SESSION_DEFER;
	g_auto(GStrv) names = names_asked_for();
	g_autoptr(GPtrArray) offered = g_ptr_array_new();
	struct list list = {.offered = offered};
	enum ri_status status = list_devices(&list, names, NULL);

	for (guint i = 0; status == RI_SUCCESS && i < offered->len; i++) {
		const struct door_device *own =
			(const struct door_device *)g_ptr_array_index(offered, i);
		const struct itapi_verbs_device device = {.name = own->device.name,
							  .adapter = own->adapter,
							  .guid = be64toh(own->guid)};

		each(arg, &device);
	}
	return status == RI_SUCCESS ? 0 : door_errno(status);
}
