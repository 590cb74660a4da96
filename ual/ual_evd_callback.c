/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Callbacks: a function of the application that is called once for each notification [IT 6.6].
 *
 * It runs as a task on the host's service thread, which owns no lock then. Tasks run one at a time, so the calls of one
 * dispatcher never overlap. A notification while it runs queues the task again. Detaching stops the task, which waits
 * for a call under way, except from inside that call.
 */
#include "ual.h"
#include "ual_evd.h"

static void
callback_run(void *arg)
{
	struct ual_evd *evd = (struct ual_evd *)arg;
	it_evd_callback_rtn_t function;
	void *argument;

	pthread_mutex_lock(&evd->lock);
	function = evd->callback;
	argument = evd->callback_arg;
	pthread_mutex_unlock(&evd->lock);
	if (function != NULL)
		function((it_evd_handle_t)ual_object_handle(&evd->object), argument);
}

void
ual_callback_init(struct ual_evd *evd)
{
	evd->task = (struct ri_task){.fire = callback_run, .arg = evd};
}

it_status_t
ual_callback_attach(struct ual_evd *evd, it_evd_callback_rtn_t function, void *arg)
{
	it_status_t status = IT_SUCCESS;

	pthread_mutex_lock(&evd->control);
	pthread_mutex_lock(&evd->lock);
	if (evd->callback != NULL)
		status = IT_ERR_CALLBACK_EXISTS;
	else if (atomic_load(&evd->waiters) > 0)
		status = IT_ERR_EVD_WAIT;
	else if (evd->aevd != NULL || evd->fd >= 0)
		status = IT_ERR_INVALID_EVD_STATE;
	if (status == IT_SUCCESS) {
		evd->callback = function;
		evd->callback_arg = arg;
		ual_evd_watch(evd);
	}
	pthread_mutex_unlock(&evd->lock);
	pthread_mutex_unlock(&evd->control);
	if (status == IT_SUCCESS) {
		/* Events that are there already notify. */
		atomic_store(&evd->rearmed, true);
		ual_evd_evaluate(evd);
	}
	return status;
}

void
ual_callback_detach(struct ual_evd *evd)
{
	const struct ri_host *host = evd->object.ia->session.host;

	pthread_mutex_lock(&evd->lock);
	evd->callback = NULL;
	evd->detachers++;
	ual_evd_watch(evd);
	pthread_mutex_unlock(&evd->lock);
	host->task_stop(host->self, &evd->task);
	pthread_mutex_lock(&evd->lock);
	evd->detachers--;
	pthread_mutex_unlock(&evd->lock);
}
