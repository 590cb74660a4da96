/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Lines for the log, in the form of ri_log.h: of an endpoint its handle, the number of its queue pair and its peer, of
 * another object its kind and handle; then the call, and the name of the status or event with its meaning. The log of
 * the host (ri_host::log) decides whether a line is written. Any thread. These functions are
 * called only if the level wants the line, or if events are lost.
 */
#include "ual_log.h"

#include <stdio.h>

#include "kal_call.h"
#include "ri_log.h"
#include "ual.h"
#include "ual_addr.h"
#include "ual_ep.h"
#include "ual_names.h"
#include "ual_object.h"

#define LINE 320 /* octets of a sentence */

atomic_bool ual_log_refusals;
static _Atomic(const struct ri_host *) log_host;

void
ual_log_setup(void)
{
	const struct ri_host *host = kal_client_host(NULL);

	if (host == NULL)
		return;
	atomic_store(&log_host, host);
	atomic_store(&ual_log_refusals, host->log_level >= RI_LOG_DEBUG);
}

_Static_assert(RI_LOG_ERROR == 0 && RI_LOG_DEBUG == 3, "the levels of ual_log_set_writer");

void
ual_log_set_writer(void (*writer)(void *, int, const char *, const char *), void *context)
{
	kal_log_set_writer(writer, context);
}

/* The host, if it wants lines of this level. */
static const struct ri_host *
listener_log(enum ri_log_level level)
{
	const struct ri_host *host = atomic_load(&log_host);

	return host != NULL && host->log_level >= (uint32_t)level ? host : NULL;
}

static const char *const kinds[UAL_TYPE_COUNT] = {
	[UAL_IA] = "IA",   [UAL_PZ] = "PZ",
	[UAL_EVD] = "EVD", [UAL_EP] = "EP",
	[UAL_LMR] = "LMR", [UAL_RMR] = "RMR",
	[UAL_SRQ] = "SRQ", [UAL_LISTEN] = "listen",
	[UAL_AH] = "AH",   [UAL_UD_SVC] = "service request",
};

/* What is known of an endpoint; the peer is written to a text of RI_LOG_ADDRESS octets. */
static struct ri_log_about
about_ep(struct ual_ep *ep, char *peer)
{
	const struct ri_rnic_attr *attr = &ep->object.ia->session.attr;
	struct ri_log_about about = {.layer = "ual",
				     .adapter = attr->name,
				     .ep = ual_object_handle(&ep->object),
				     .qpn = ep->qpn,
				     .peer = peer};
	struct ri_addr local, remote;

	peer[0] = '\0';
	if (ep->ud)
		return about;
	pthread_mutex_lock(&ep->lock);
	if (ual_addr_of_path(attr, &ep->path, &local, &remote))
		ri_log_addr(&remote, ep->peer_port, peer, RI_LOG_ADDRESS);
	pthread_mutex_unlock(&ep->lock);
	return about;
}

/* A line about an object that may be freed meanwhile, or be no object at all. */
static void
log_of_object(const struct ri_host *host, enum ri_log_level level, const struct ual_ia *ia,
	      const void *handle, const char *sentence)
{
	struct ri_log_about about = {.layer = "ual",
				     .adapter = ia != NULL ? ia->session.attr.name : NULL};
	enum ual_type type = UAL_FREE;
	char peer[RI_LOG_ADDRESS];

	if (handle == NULL) {
		ri_log(host, level, &about, "%s", sentence);
		return;
	}
	if (ual_object_any(handle, &type) == NULL) {
		ri_log(host, level, &about, "no object %p: %s", handle, sentence);
		return;
	}
	if (type == UAL_EP) {
		UAL_VISIT struct ual_ep *ep = ual_ep_of((it_ep_handle_t)(uintptr_t)handle);

		if (ep != NULL) {
			about = about_ep(ep, peer);
			ri_log(host, level, &about, "%s", sentence);
			return;
		}
	}
	ri_log(host, level, &about, "%s %p: %s", kinds[type], handle, sentence);
}

void
ual_log_refused(const char *call, const void *handle, it_status_t status)
{
	const struct ri_host *host = listener_log(RI_LOG_DEBUG);
	char line[LINE];

	/* An empty queue or the end of a timeout is no refusal. */
	if (host == NULL || status == IT_SUCCESS || status == IT_ERR_QUEUE_EMPTY ||
	    status == IT_ERR_TIMEOUT_EXPIRED || status == IT_ERR_NO_CONTEXT)
		return;
	(void)snprintf(line, sizeof(line), "%s: %s: %s", call, ual_name_status(status),
		       ual_reason(status));
	log_of_object(host, RI_LOG_DEBUG, NULL, handle, line);
}

void
ual_log_no_reset(struct ual_ep *ep)
{
	const struct ri_host *host = listener_log(RI_LOG_INFO);
	struct ri_log_about about;
	char peer[RI_LOG_ADDRESS];

	if (host == NULL)
		return;
	about = about_ep(ep, peer);
	ri_log(host, RI_LOG_INFO, &about,
	       "the endpoint cannot be reset: those of this adapter serve one connection "
	       "(itx_ia_query_support: no ITX_SUPPORT_EP_REUSE); create another endpoint");
}

void
ual_log_connection(struct ual_ep *ep, const it_connection_event_t *event)
{
	const struct ri_host *host = listener_log(RI_LOG_INFO);
	bool failed = event->event_number == IT_CM_MSG_CONN_NONPEER_REJECT_EVENT;
	struct ri_log_about about;
	char peer[RI_LOG_ADDRESS];

	if (host == NULL)
		return;
	about = about_ep(ep, peer);
	ri_log(host, RI_LOG_INFO, &about, "%s%s%s", ual_name_event(event->event_number),
	       failed ? ": " : "", failed ? ual_name_reject(event->reject_reason_code) : "");
}

void
ual_log_async(const struct ual_ia *ia, it_event_type_t number, const void *cause)
{
	const struct ri_host *host = listener_log(RI_LOG_INFO);

	if (host != NULL)
		log_of_object(host, RI_LOG_INFO, ia, cause, ual_name_event(number));
}

void
ual_log_lost(const struct ual_ia *ia, const void *evd, it_event_type_t stream, size_t size)
{
	const struct ri_host *host = listener_log(RI_LOG_WARNING);
	const struct ri_log_about about = {.layer = "ual", .adapter = ia->session.attr.name};

	ri_log(host, RI_LOG_WARNING, &about,
	       "EVD %p of the stream %s is full (%zu events): events are lost; make it larger", evd,
	       ual_name_event(stream), size);
}

void
ual_log_untraced(int error)
{
	static atomic_int last;
	const struct ri_host *host = listener_log(RI_LOG_WARNING);
	const char *reason = strerrordesc_np(error);

	if (atomic_exchange(&last, error) == error || error == 0)
		return;
	ri_log(host, RI_LOG_WARNING, &(struct ri_log_about){.layer = "ual"},
	       "no trace: ITAPI_TRACE must be a folder for new files: %s",
	       reason != NULL ? reason : "an error without a name");
}
