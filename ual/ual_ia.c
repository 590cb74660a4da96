/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Adapters: open and close.
 *
 * Each IA has its own client of the kAL, with one open RNIC and the user half of its provider. So two IAs on one adapter
 * share nothing here, and closing the client destroys what is left in the kAL.
 *
 * Freeing an IA destroys everything under it [IT 2.4]: first all handles become invalid, then waiters return, then
 * objects are destroyed by type, children before parents (ual_object::destroy). It also works after the adapter
 * failed.
 *
 * Threads: any. Freeing waits for calls on the IA or its objects that are under way; waits return IT_ERR_ABORT, and
 * later calls find an invalid handle. Exception: a callback of the application
 * must not free the IA while another thread waits for the end of that callback.
 */
#include "ual_ia.h"

#include <stdlib.h>
#include <string.h>

#include "kal_settings.h"
#include "ri_relax.h"
#include "ual.h"
#include "ual_evd.h"
#include "ual_key.h"
#include "ual_log.h"
#include "ual_request.h"
#include "ual_section.h"
#include "ual_sleep.h"
#include "ual_status.h"
#include "ual_trace.h"

/* Children before parents; requests that a listener has not handed out end with it. */
static const enum ual_type end_order[] = {
	UAL_UD_SVC, UAL_LISTEN, UAL_RMR, UAL_EP, UAL_SRQ, UAL_LMR, UAL_AH, UAL_EVD, UAL_PZ,
};

enum ri_status
ual_ia_call(struct ual_ia *ia, uint32_t call, const void *req, size_t req_len, void *rep,
	    size_t rep_len)
{
	struct kal_msg msg = {
		.call = call,
		.fd = -1,
		.req = req,
		.req_len = req_len,
		.rep = rep,
		.rep_len = rep_len,
	};
	enum ri_status status = kal_call(ia->client, &msg);

	if (status == RI_SUCCESS && msg.rep_len != rep_len)
		return RI_ERR_FATAL;
	return status;
}

enum ri_status
ual_ia_call_id(struct ual_ia *ia, uint32_t call, uint32_t id)
{
	struct kal_id_req req = {.id = id};

	return ual_ia_call(ia, call, &req, sizeof(req), NULL, 0);
}

bool
ual_dead(const struct ual_ia *ia)
{
	return atomic_load(&ia->dead);
}

static it_status_t
version_check(uint32_t major, uint32_t minor)
{
	if (major != 1 && major != 2)
		return IT_ERR_INVALID_MAJOR_VERSION;
	if (minor > (major == 1 ? 0 : 1))
		return IT_ERR_INVALID_MINOR_VERSION;
	return IT_SUCCESS;
}

/* Open the RNIC and the user half of its provider. */
static enum ri_status
rnic_open(struct ual_ia *ia, const char *name)
{
	struct kal_rnic_open_req req = {.name = ""};
	struct kal_rnic_open_rep rep;
	enum ri_status status;

	memcpy(req.name, name, strlen(name));
	status = ual_ia_call(ia, KAL_RNIC_OPEN, &req, sizeof(req), &rep, sizeof(rep));
	if (status != RI_SUCCESS)
		return status;
	ia->rnic = rep.id;
	ia->privileged = rep.privileged != 0;
	ia->drop_disconnect_data = rep.drop_disconnect_data != 0;
	ia->drop_broken_events = rep.drop_broken_events != 0;
	ia->attr = rep.attr;
	status = kal_user_half(ia->client, ia->rnic, &ia->user, &ia->fast);
	if (status == RI_SUCCESS)
		status = ia->user->rnic_open(ia->host, &rep.map, &ia->urnic);
	return status;
}

static enum ri_status
client_open(struct ual_ia *ia, const char *name)
{
	struct kal_client_params params = {.kick = ual_async_kick, .arg = ia};
	enum ri_status status = kal_client_open(&params, &ia->client);

	if (status != RI_SUCCESS)
		return status;
	ia->host = kal_client_host(ia->client);
	ia->spin_ns = kal_setting_number(KAL_SETTING_SPIN) * 1000;
	status = rnic_open(ia, name);
	if (status != RI_SUCCESS)
		kal_client_close(ia->client);
	return status;
}

static void
ia_release(struct ual_ia *ia)
{
	ual_keys_free(ia->keys);
	pthread_mutex_destroy(&ia->drain);
	pthread_mutex_destroy(&ia->lock);
	pthread_mutex_destroy(&ia->objects.lock);
	ual_object_delete(&ia->object);
}

it_status_t
ual_ia_create(const char *name, uint32_t major, uint32_t minor, it_ia_handle_t *out)
{
	it_status_t status = version_check(major, minor);
	struct kal_rnic_open_req req;
	enum ri_status opened;
	struct ual_ia *ia;

	if (name[0] == '\0' || strnlen(name, sizeof(req.name)) == sizeof(req.name))
		return IT_ERR_INVALID_NAME;
	if (status != IT_SUCCESS)
		return status;
	ia = (struct ual_ia *)ual_object_new(UAL_IA, NULL, NULL);
	if (ia == NULL)
		return IT_ERR_RESOURCES;
	pthread_mutex_init(&ia->lock, NULL);
	pthread_mutex_init(&ia->objects.lock, NULL);
	pthread_mutex_init(&ia->drain, NULL);
	ia->keys = ual_keys_new();
	if (ia->keys == NULL) {
		ia_release(ia);
		return IT_ERR_RESOURCES;
	}
	ual_waiters_init(&ia->waiters);
	ual_log_untraced(ual_trace_from_environment());
	ia->major_version = major;
	ia->minor_version = minor;
	opened = client_open(ia, name);
	if (opened != RI_SUCCESS) {
		ual_waiters_fini(ia);
		ia_release(ia);
		return ual_status(UAL_CALL_IA_CREATE, opened);
	}
	*out = (it_ia_handle_t)ual_object_publish(&ia->object);
	if (ual_direct_make(ia))
		return IT_SUCCESS;
	ual_object_visit(&ia->object);
	(void)!ual_ia_free(ia);
	ual_object_leave(&ia->object);
	*out = NULL;
	return IT_ERR_RESOURCES;
}

static struct ual_object *
first_of(struct ual_ia *ia, enum ual_type type)
{
	struct ual_object *object;

	pthread_mutex_lock(&ia->objects.lock);
	for (object = ia->objects.first; object != NULL; object = object->next)
		if (ual_object_type(object) == type)
			break;
	pthread_mutex_unlock(&ia->objects.lock);
	return object;
}

/* Hide every object. Returns how many calls are inside them and the IA, without this one. */
static unsigned
hide_all(struct ual_ia *ia)
{
	unsigned inside = ual_object_visitors(&ia->object) - 1;

	pthread_mutex_lock(&ia->objects.lock);
	for (struct ual_object *object = ia->objects.first; object != NULL; object = object->next) {
		(void)ual_object_hide(object);
		inside += ual_object_visitors(object);
	}
	pthread_mutex_unlock(&ia->objects.lock);
	return inside;
}

/*
 * Hide the IA's objects and wait until all calls have left. A call that was inside may have created another object
 * meanwhile, so only a round that found no call inside has hidden everything.
 */
static void
ia_empty(struct ual_ia *ia)
{
	while (hide_all(ia) > 0) {
		ual_sleep_wake_all(ia);
		ri_relax_nap();
	}
	ual_section_wait();
}

/* The caller has entered it. */
it_status_t
ual_ia_free(struct ual_ia *ia)
{
	struct ual_object *object;

	if (!ual_object_hide(&ia->object))
		return IT_ERR_INVALID_IA;
	atomic_store(&ia->closing, true);
	ual_sleep_wake_all(ia);
	ia_empty(ia);
	for (size_t i = 0; i < sizeof(end_order) / sizeof(end_order[0]); i++)
		while ((object = first_of(ia, end_order[i])) != NULL)
			object->destroy(object);
	ual_request_forget_all(ia);
	/* Wait for calls that answer a connection request. */
	ia_empty(ia);
	ia->user->rnic_close(ia->urnic);
	(void)!ual_ia_call_id(ia, KAL_RNIC_CLOSE, ia->rnic);
	kal_client_close(ia->client);
	ual_waiters_fini(ia);
	ia_release(ia);
	return IT_SUCCESS;
}
