/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Compares what queries of objects return before and after a refused call. Only calls of the thread
 * that created the first object are checked, not those of other threads and of callbacks.
 */
#include <glib.h>
#include <string.h>

#include "again.h"
#include "it_api.h"
#include "it_ext.h"

/* All attributes of an object; what may change by itself is left out. */
union told {
	it_ep_param_t ep;
	it_evd_param_t evd;
	it_listen_param_t listen;
	it_lmr_param_t lmr;
	it_rmr_param_t rmr;
	it_srq_param_t srq;
};

struct seen {
	const char *kind;
	void *handle;
	it_ia_handle_t ia;
	bool known; /* the query before the call has succeeded */
	union told before;
};

static GArray *all; /* struct seen */
static GThread *looker;
static bool resting;

/* As the linker knows it, whatever the header makes of a name. */
#define LINKED(name) TEXT(name)
#define TEXT(name)   #name

/* The library's own function: that of this program would look again. */
typedef it_status_t (*query)(void *handle, int mask, void *params);

static struct {
	const char *kind, *name;
	int mask;
	query call;
} queries[] = {
	{"ep", LINKED(it_ep_query), IT_EP_PARAM_ALL, NULL},
	{"evd", LINKED(it_evd_query), IT_EVD_PARAM_ALL, NULL},
	{"listen", LINKED(it_listen_query), IT_LISTEN_PARAM_ALL, NULL},
	{"lmr", LINKED(it_lmr_query), IT_LMR_PARAM_ALL, NULL},
	{"rmr", LINKED(it_rmr_query), IT_RMR_PARAM_ALL, NULL},
	{"srq", LINKED(it_srq_query), IT_SRQ_PARAM_ALL, NULL},
};

static it_status_t
ask(const char *kind, void *handle, union told *told)
{
	it_status_t status = IT_ERR_RESOURCES;
	size_t i = 0;

	while (strcmp(queries[i].kind, kind) != 0)
		i++;
	if (queries[i].call == NULL)
		queries[i].call = (query)again_find(queries[i].name);
	/* An adapter with faults refuses every other time. */
	for (unsigned times = 0; times < 4 && status == IT_ERR_RESOURCES; times++) {
		memset(told, 0, sizeof(*told));
		status = queries[i].call(handle, queries[i].mask, told);
	}
	return status;
}

static it_ia_handle_t
adapter_of(const char *kind, const union told *told)
{
	if (strcmp(kind, "ep") == 0)
		return told->ep.ia;
	if (strcmp(kind, "evd") == 0)
		return told->evd.ia;
	if (strcmp(kind, "listen") == 0)
		return told->listen.ia_handle;
	if (strcmp(kind, "lmr") == 0)
		return told->lmr.ia;
	return strcmp(kind, "rmr") == 0 ? told->rmr.ia : told->srq.ia;
}

void
again_made(const char *kind, void *handle)
{
	struct seen seen = {.kind = kind, .handle = handle};

	if (looker == NULL)
		looker = g_thread_self();
	if (looker != g_thread_self())
		return;
	if (all == NULL)
		all = g_array_new(FALSE, FALSE, sizeof(struct seen));
	if (ask(kind, handle, &seen.before) != IT_SUCCESS)
		return;
	seen.ia = adapter_of(kind, &seen.before);
	g_array_append_val(all, seen);
}

void
again_gone(void *handle)
{
	if (all == NULL || looker != g_thread_self())
		return;
	for (guint i = all->len; i > 0; i--) {
		const struct seen *seen = &g_array_index(all, struct seen, i - 1);

		if (seen->handle == handle || seen->ia == handle)
			g_array_remove_index_fast(all, i - 1);
	}
}

void
again_rest(bool rest)
{
	resting = rest;
}

void
again_look(const char *name)
{
	/* These change nothing, and are made all the time. */
	bool skipped = resting || strstr(name, "_query") != NULL ||
		       strstr(name, "_dequeue") != NULL || strstr(name, "_wait") != NULL;

	if (all == NULL || looker != g_thread_self())
		return;
	for (guint i = 0; i < all->len; i++) {
		struct seen *seen = &g_array_index(all, struct seen, i);

		seen->known =
			!skipped && ask(seen->kind, seen->handle, &seen->before) == IT_SUCCESS;
	}
}

/* A connection ends and a dispatcher overflows by themselves; then the object is not compared. */
static bool
same(const char *kind, const union told *before, const union told *after)
{
	if (strcmp(kind, "ep") == 0 && before->ep.service_type != IT_UD_SERVICE &&
	    before->ep.ep_state.rc != after->ep.ep_state.rc)
		return true;
	if (strcmp(kind, "evd") == 0 && before->evd.evd_overflowed != after->evd.evd_overflowed)
		return true;
	/* ask() has cleared both, so that their padding is the same, too. */
	return memcmp((const void *)before, (const void *)after, sizeof(*before)) == 0;
}

void
again_compare(const char *name, int status)
{
	if (all == NULL || looker != g_thread_self())
		return;
	for (guint i = 0; i < all->len; i++) {
		const struct seen *seen = &g_array_index(all, struct seen, i);
		union told after;

		if (!seen->known || ask(seen->kind, seen->handle, &after) != IT_SUCCESS)
			continue;
		if (same(seen->kind, &seen->before, &after))
			continue;
		g_test_message("%s gave %s, and changed what the query of an object returns", name,
			       it_status_name((it_status_t)status));
		g_assert_cmpstr(seen->kind, ==, "unchanged");
	}
}
