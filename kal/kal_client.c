/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The embedded kAL: a client in the process of its application. A call is a function call, and the
 * checks are those of the dispatcher.
 */
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kal_objects.h"

/* privileged operations want CAP_NET_ADMIN, or an entry in the policy. */
static bool
is_privileged(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}, {0}};

	if (syscall(SYS_capget, &head, data) != 0)
		return false;
	return (data[0].effective & (1u << CAP_NET_ADMIN)) != 0;
}

/* What the administrator decided. NULL: it cannot be read, and the log says why. */
static struct kal_config *
load_config(const struct ri_host *host)
{
	g_autoptr(GError) error = NULL;
	struct kal_config *config = kal_config_load(secure_getenv(KAL_CONFIG_VARIABLE), &error);

	if (config == NULL)
		host->log(host->self, RI_LOG_ERROR, "kal", error->message);
	return config;
}

enum ri_status
kal_client_open(const struct kal_client_params *params, struct kal_client **out)
{
	const struct ri_host *host = params->host != NULL ? params->host : kal_host_default();
	struct kal_client *client;
	struct kal_config *config;
	int fd = -1;

	if (host == NULL)
		return RI_ERR_RESOURCES;
	config = load_config(host);
	if (config == NULL)
		return RI_ERR_INVALID_ARG;
	if (params->kick == NULL) {
		fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (fd < 0) {
			kal_config_free(config);
			return RI_ERR_RESOURCES;
		}
	}
	client = g_new0(struct kal_client, 1);
	client->host = host;
	client->kick = params->kick;
	client->arg = params->arg;
	client->fd = fd;
	client->config = config;
	kal_account_open(&client->account, config);
	client->privileged = config->privileged || is_privileged();
	pthread_mutex_init(&client->calls, NULL);
	pthread_mutex_init(&client->news_lock, NULL);
	client->slots = g_ptr_array_new();
	client->generations = g_array_new(FALSE, TRUE, sizeof(uint16_t));
	g_queue_init(&client->free_slots);
	/* Slot 0 is never used: id 0 is no object. */
	g_ptr_array_add(client->slots, NULL);
	g_array_set_size(client->generations, 1);
	*out = client;
	return RI_SUCCESS;
}

void
kal_client_close(struct kal_client *client)
{
	struct kal_rnic *rnic;

	pthread_mutex_lock(&client->calls);
	while ((rnic = kal_object_any(client, RI_OBJECT_RNIC, NULL)) != NULL)
		kal_rnic_close(rnic);
	pthread_mutex_unlock(&client->calls);
	kal_news_drop_all(client);
	if (client->fd >= 0)
		close(client->fd);
	kal_account_close(&client->account);
	kal_config_free(client->config);
	g_ptr_array_free(client->slots, TRUE);
	g_array_free(client->generations, TRUE);
	g_queue_clear(&client->free_slots);
	pthread_mutex_destroy(&client->calls);
	pthread_mutex_destroy(&client->news_lock);
	g_free(client);
}

const struct ri_host *
kal_client_host(struct kal_client *client)
{
	return client->host;
}

enum ri_status
kal_user_half(struct kal_client *client, uint32_t id, const struct ri_user_ops **user,
	      const struct ri_fast_ops **fast)
{
	struct kal_rnic *rnic;

	pthread_mutex_lock(&client->calls);
	rnic = kal_object_get(client, id, RI_OBJECT_RNIC);
	if (rnic != NULL) {
		*user = rnic->provider->user;
		*fast = rnic->provider->fast;
	}
	pthread_mutex_unlock(&client->calls);
	return rnic != NULL ? RI_SUCCESS : RI_ERR_INVALID_HANDLE;
}
