/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <pthread.h>
#include <stdlib.h>

#include "vrc_service.h"

struct vrc_service {
	pthread_mutex_t lock; /* of the manager and of `armed` */
	struct vrc_cm *cm;
	const struct ri_host *host;
	vrc_raise *raise;
	void *self;
	struct ri_timer timer;
	struct ri_task task;
	uint64_t armed; /* what the timer is set to */
	bool closing;   /* neither timer nor task is started any more */
};

struct vrc_cm *
vrc_service_enter(struct vrc_service *service)
{
	pthread_mutex_lock(&service->lock);
	return service->cm;
}

/* With the lock, so that the timer has the newest moment, whichever thread comes last. */
void
vrc_service_leave(struct vrc_service *service)
{
	uint64_t due = vrc_cm_due(service->cm);

	if (due != service->armed && !service->closing) {
		service->armed = due;
		service->host->timer_start(service->host->self, &service->timer, due);
	}
	if (vrc_cm_has_next(service->cm) && !service->closing)
		service->host->task_run(service->host->self, &service->task);
	pthread_mutex_unlock(&service->lock);
}

static void
timer_fired(void *arg)
{
	struct vrc_service *service = arg;
	struct vrc_cm *cm = vrc_service_enter(service);

	service->armed = RI_NEVER;
	vrc_cm_expire(cm);
	vrc_service_leave(service);
}

static void
events_raise(void *arg)
{
	struct vrc_service *service = arg;
	struct vrc_event event;

	for (;;) {
		bool any = vrc_cm_next(vrc_service_enter(service), &event);
		vrc_service_leave(service);
		if (!any)
			return;
		service->raise(service->self, &event);
	}
}

struct vrc_service *
vrc_service_new(const struct vrc_config *config, vrc_raise *raise, void *self)
{
	struct vrc_service *service = calloc(1, sizeof(*service));

	if (service == NULL)
		return NULL;
	service->cm = vrc_cm_new(config);
	if (service->cm == NULL) {
		free(service);
		return NULL;
	}
	pthread_mutex_init(&service->lock, NULL);
	service->host = config->host;
	service->raise = raise;
	service->self = self;
	service->armed = RI_NEVER;
	service->timer = (struct ri_timer){.fire = timer_fired, .arg = service};
	service->task = (struct ri_task){.fire = events_raise, .arg = service};
	return service;
}

void
vrc_service_free(struct vrc_service *service)
{
	const struct ri_host *host = service->host;

	(void)vrc_service_enter(service);
	service->closing = true;
	pthread_mutex_unlock(&service->lock);
	host->timer_stop(host->self, &service->timer);
	host->task_stop(host->self, &service->task);
	vrc_cm_free(service->cm);
	pthread_mutex_destroy(&service->lock);
	free(service);
}

void
vrc_service_receive(struct vrc_service *service, const struct vrc_path *path, const void *octets,
		    size_t len)
{
	vrc_cm_receive(vrc_service_enter(service), path, octets, len);
	vrc_service_leave(service);
}

/* The stop waits for an upcall; the new run raises what is left. */
void
vrc_service_settle(struct vrc_service *service)
{
	const struct ri_host *host = service->host;

	host->task_stop(host->self, &service->task);
	host->task_run(host->self, &service->task);
}

struct vrc_params
vrc_params_of(const struct ri_cm_params *params)
{
	return (struct vrc_params){
		.path = {.local = params->local, .peer = params->peer, .port = params->port},
		.service = params->service,
		.ird = params->ird,
		.ord = params->ord,
		.three_way = params->three_way,
		.deadline = params->deadline,
		.pdata = params->pdata,
		.pdata_len = params->pdata_len,
	};
}
