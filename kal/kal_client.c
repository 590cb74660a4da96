/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Clients. The kAL runs in the process of the application, and a call is a function call; the dispatcher checks it all the same.
 * What a daemon counts and allows for all processes of the host is asked through kal_remote.h.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kal_objects.h"
#include "kal_remote.h"
#include "kal_settings.h"
#include "kal_settings_list.h"
#include "ri_errno.h"
#include "ri_fd.h"
#include "ri_log.h"

/* privileged operations need CAP_NET_ADMIN, or an entry in the configuration. A simulated host has no capabilities. */
static bool
machine_allows(const struct ri_host *host)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}, {0}};

	return !kal_host_is_own(host) && syscall(SYS_capget, &head, data) == 0 &&
	       (data[0].effective & (1u << CAP_NET_ADMIN)) != 0;
}

enum ri_status
kal_client_open(const struct kal_client_params *params, struct kal_client **out)
{
	const struct ri_host *host = params->host != NULL ? params->host : kal_host_here();
	struct kal_client *client = calloc(1, sizeof(*client));
	enum ri_status status = RI_ERR_RESOURCES;
	struct kal_why why = {""};

	if (host == NULL || client == NULL) {
		free(client);
		return status;
	}
	client->host = host;
	client->fd = -1;
	kal_settings_check(host);
	status = kal_config_load(kal_config_system_path(), kal_setting_text(KAL_SETTING_CONFIG),
				 &client->config, &why);
	if (status != RI_SUCCESS) {
		ri_log(host, RI_LOG_ERROR, &(struct ri_log_about){.layer = "kal"}, "%s", why.text);
		free(client);
		return status;
	}
	status = kal_remote_join(client->config);
	if (status != RI_SUCCESS) {
		kal_config_free(client->config);
		free(client);
		return status;
	}
	if (params->kick == NULL) {
		client->fd = ri_fd_eventfd();
		if (client->fd < 0) {
			ri_log(host, RI_LOG_ERROR, &(struct ri_log_about){.layer = "kal"},
			       "no adapter can be opened: eventfd2: %s", ri_errno_text(errno));
			kal_remote_leave();
			kal_config_free(client->config);
			free(client);
			return RI_ERR_RESOURCES;
		}
	}
	client->kick = params->kick;
	client->arg = params->arg;
	kal_account_open(&client->account, client->config);
	client->privileged = client->config->privileged || machine_allows(host);
	pthread_mutex_init(&client->calls, NULL);
	pthread_cond_init(&client->apart_over, NULL);
	pthread_mutex_init(&client->event_lock, NULL);
	kal_events_init(client);
	*out = client;
	return RI_SUCCESS;
}

void
kal_client_close(struct kal_client *client)
{
	struct kal_rnic *rnic;

	pthread_mutex_lock(&client->calls);
	while (client->apart > 0)
		kal_apart_wait(client);
	while ((rnic = kal_object_any(client, RI_OBJECT_RNIC, NULL)) != NULL)
		kal_rnic_close(rnic);
	pthread_mutex_unlock(&client->calls);
	kal_events_drop_all(client);
	if (client->fd >= 0)
		close(client->fd);
	kal_account_close(&client->account);
	kal_remote_leave();
	kal_config_free(client->config);
	free(client->slots);
	pthread_cond_destroy(&client->apart_over);
	pthread_mutex_destroy(&client->calls);
	pthread_mutex_destroy(&client->event_lock);
	free(client);
}

const struct ri_host *
kal_client_host(struct kal_client *client)
{
	return client != NULL ? client->host : kal_host_here();
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

/* The slot of an object in the table of the process. */
static struct kal_live_slot *
live_of(struct kal_client *client, uint32_t id, enum ri_object type)
{
	struct kal_live_slot *slot = NULL;
	void *object;

	pthread_mutex_lock(&client->calls);
	object = kal_object_get(client, id, type);
	if (object != NULL && type == RI_OBJECT_QP)
		slot = ((struct kal_qp *)object)->live;
	else if (object != NULL && type == RI_OBJECT_CQ)
		slot = ((struct kal_cq *)object)->live;
	else if (object != NULL && type == RI_OBJECT_SRQ)
		slot = ((struct kal_srq *)object)->live;
	else if (object != NULL)
		slot = ((struct kal_rnic *)object)->live;
	pthread_mutex_unlock(&client->calls);
	return slot;
}

struct ri_qp_counters *
kal_count_qp(struct kal_client *client, uint32_t qp)
{
	struct kal_live_slot *slot = live_of(client, qp, RI_OBJECT_QP);

	return slot != NULL ? &slot->count.qp : NULL;
}

struct ri_cq_counters *
kal_count_cq(struct kal_client *client, uint32_t cq)
{
	struct kal_live_slot *slot = live_of(client, cq, RI_OBJECT_CQ);

	return slot != NULL ? &slot->count.cq.of : NULL;
}

struct ri_qp_counters *
kal_count_srq(struct kal_client *client, uint32_t srq)
{
	struct kal_live_slot *slot = live_of(client, srq, RI_OBJECT_SRQ);

	return slot != NULL ? &slot->count.qp : NULL;
}

struct kal_waits *
kal_count_waits(struct kal_client *client, uint32_t rnic)
{
	struct kal_live_slot *slot = live_of(client, rnic, RI_OBJECT_RNIC);

	return slot != NULL ? &slot->count.adapter : NULL;
}
