/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Adapters: open and close. Each IA has a session of its own, so two IAs on one adapter share
 * nothing.
 *
 * Freeing an IA destroys everything under it [IT 2.4]: first all handles become invalid, then
 * waiters return, then objects are destroyed by type, children before parents
 * (ual_object::destroy). It also works after the adapter failed.
 *
 * Threads: any. Freeing waits for calls on the IA or its objects that are under way; waits return
 * IT_ERR_ABORT, and later calls find an invalid handle. Exception: a callback of the application
 * must not free the IA while another thread waits for the end of that callback.
 */
#include "ual_ia.h"

#include <stdlib.h>
#include <string.h>

#include "session_section.h"
#include "ual.h"
#include "ual_evd.h"
#include "ual_key.h"
#include "ual_log.h"
#include "ual_request.h"
#include "ual_status.h"
#include "ual_trace.h"

/* Children before parents; requests that a listener has not handed out end with it. */
static const enum ual_type end_order[] = {
	UAL_UD_SVC, UAL_LISTEN, UAL_RMR, UAL_EP, UAL_SRQ, UAL_LMR, UAL_AH, UAL_EVD, UAL_PZ,
};

static void
ia_release(struct ual_ia *ia)
{
	ual_keys_free(ia->keys);
	pthread_mutex_destroy(&ia->lock);
	pthread_mutex_destroy(&ia->objects.lock);
	ual_object_delete(&ia->object);
}

it_status_t
ual_ia_create(const char *name, uint32_t major, uint32_t minor, it_ia_handle_t *out)
{
	struct session_params params = {.dispatch = ual_dispatch};
	struct kal_rnic_open_req req;
	struct kal_rnic_open_rep rep;
	enum ri_status opened;
	struct ual_ia *ia;

	if (name[0] == '\0' || strnlen(name, sizeof(req.name)) == sizeof(req.name))
		return IT_ERR_INVALID_NAME;
	if (major != 1 && major != 2)
		return IT_ERR_INVALID_MAJOR_VERSION;
	if (minor > (major == 1 ? 0 : 1))
		return IT_ERR_INVALID_MINOR_VERSION;
	ia = (struct ual_ia *)ual_object_new(UAL_IA, NULL, NULL);
	if (ia == NULL)
		return IT_ERR_RESOURCES;
	pthread_mutex_init(&ia->lock, NULL);
	pthread_mutex_init(&ia->objects.lock, NULL);
	ia->keys = ual_keys_new();
	if (ia->keys == NULL) {
		ia_release(ia);
		return IT_ERR_RESOURCES;
	}
	ual_log_untraced(ual_trace_from_environment());
	ia->major_version = major;
	ia->minor_version = minor;
	params.above = ia;
	opened = session_open(&ia->session, name, &params, &rep);
	if (opened != RI_SUCCESS) {
		ia_release(ia);
		return ual_status(UAL_CALL_IA_CREATE, opened);
	}
	ia->privileged = rep.privileged != 0;
	ia->drop_disconnect_data = rep.drop_disconnect_data != 0;
	ia->drop_broken_events = rep.drop_broken_events != 0;
	*out = (it_ia_handle_t)ual_object_publish(&ia->object);
	if (ual_direct_make(ia))
		return IT_SUCCESS;
	ual_object_visit(&ia->object);
	(void)!ual_ia_free(ia);
	ual_object_leave(&ia->object);
	*out = NULL;
	return IT_ERR_RESOURCES;
}

/*
 * Hide the IA's objects and wait until all calls have left. A call that was inside may have created
 * another object meanwhile, so only a round that found no call inside has hidden everything.
 */
static void
ia_empty(struct ual_ia *ia)
{
	unsigned inside = 1;

	for (uint32_t round = 0; inside > 0; round++) {
		inside = ual_object_visitors(&ia->object) - 1; /* without this call */
		pthread_mutex_lock(&ia->objects.lock);
		for (struct ual_object *object = ia->objects.first; object != NULL;
		     object = object->next) {
			(void)ual_object_hide(object);
			inside += ual_object_visitors(object);
		}
		pthread_mutex_unlock(&ia->objects.lock);
		if (inside > 0)
			session_relax(&ia->session, round);
	}
	session_section_wait(&ia->session);
}

/* The caller has entered it. */
it_status_t
ual_ia_free(struct ual_ia *ia)
{
	struct ual_object *object;

	if (!ual_object_hide(&ia->object))
		return IT_ERR_INVALID_IA;
	session_end_waits(&ia->session);
	ia_empty(ia);
	for (size_t i = 0; i < sizeof(end_order) / sizeof(end_order[0]); i++) {
		do {
			pthread_mutex_lock(&ia->objects.lock);
			for (object = ia->objects.first; object != NULL; object = object->next)
				if (ual_object_type(object) == end_order[i])
					break;
			pthread_mutex_unlock(&ia->objects.lock);
			if (object != NULL)
				object->destroy(object);
		} while (object != NULL);
	}
	ual_request_forget_all(ia);
	/* Wait for calls that answer a connection request. */
	ia_empty(ia);
	session_close(&ia->session);
	ia_release(ia);
	return IT_SUCCESS;
}
