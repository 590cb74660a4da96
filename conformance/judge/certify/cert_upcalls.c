/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Records the upcalls of one adapter, and judges each: it must come on the service thread or in an entry of
 * the fast path that may make upcalls, never in a control verb; the object must exist; the values must be
 * defined by the interface. A recorder is never freed, so that a late upcall cannot access freed memory.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "cert_frame.h"

struct cert_upcalls {
	struct ri_upcalls table;
	struct cert *cert;
	atomic_uint under_way; /* upcalls that have not returned */
	pthread_mutex_t lock;  /* guards what follows */
	bool closed;
	cert_upcall_hook hook; /* called without the lock */
	void *hook_arg;
	GHashTable *kinds; /* uint64_t context -> enum ri_object, of objects that exist */
	GHashTable *cq;    /* uint64_t context -> number of notifications */
	GArray *async;     /* struct ri_async_event, not taken */
	GArray *cm;        /* struct ri_cm_event, not taken */
};

static GPtrArray *recorders;
/* Contexts are counted up, so one that no object has any more is known by its value. */
#define CTX_FIRST UINT64_C(0x7e57000000000000)
static _Atomic uint64_t ctx_last = CTX_FIRST;

uint64_t
cert_ctx_next(void)
{
	return atomic_fetch_add(&ctx_last, 1) + 1;
}

/* --- judgement; the lock is held ------------------------------------------------------------- */

static void
judge_thread(struct cert_upcalls *up, const char *what)
{
	if (cert_in_verb())
		cert_violation(up->cert, what, "no upcall inside a control verb [RI 2.1.3]",
			       "an upcall on the thread of the verb");
	else if (cert_fast_inside() == CERT_FAST_QUIET)
		cert_violation(up->cert, what, "no upcall inside cq_depth or arm_cq [RI 2.3.4]",
			       "an upcall on the thread of such a call");
	else if (cert_fast_inside() == CERT_FAST_NONE &&
		 !cert_host_on_service_thread(up->cert->host))
		cert_violation(up->cert, what,
			       "an upcall on the service thread or inside a fast entry [RI 2.1.3]",
			       "an upcall on another thread");
}

static void
upcall_judge(struct cert_upcalls *up, const char *what, uint64_t ctx, enum ri_object kind)
{
	gpointer found = NULL;
	bool known;

	if (up->closed) {
		cert_violation(up->cert, what, "no upcall after the adapter is closed [RI 8.6]",
			       "an upcall");
		return;
	}
	judge_thread(up, what);
	if (kind == RI_OBJECT_NONE)
		return;
	known = g_hash_table_lookup_extended(up->kinds, &ctx, NULL, &found);
	if (!known && ctx > CTX_FIRST && ctx <= atomic_load(&ctx_last))
		cert_violation(up->cert, what,
			       "no upcall for an object that is destroyed [RI 2.1.4]",
			       "an upcall for one");
	else if (!known)
		cert_violation(up->cert, what, "the context of an object", "a context of none");
	else if (GPOINTER_TO_UINT(found) != kind)
		cert_violation(up->cert, what, "the context of an object of the right kind",
			       "the context of another kind of object");
}

/* The upcall begins and is recorded; the lock is held until enough is recorded. */
static void
upcall_begin(struct cert_upcalls *up)
{
	atomic_fetch_add(&up->under_way, 1);
	pthread_mutex_lock(&up->lock);
}

static void
upcall_end(struct cert_upcalls *up, uint64_t ctx)
{
	cert_upcall_hook hook = up->closed ? NULL : up->hook;
	void *arg = up->hook_arg;

	pthread_mutex_unlock(&up->lock);
	if (hook != NULL)
		hook(arg, ctx);
	atomic_fetch_sub(&up->under_way, 1);
}

static void
cq_event(void *self, uint64_t ctx)
{
	struct cert_upcalls *up = self;
	guint count;

	upcall_begin(up);
	upcall_judge(up, "cq_event", ctx, RI_OBJECT_CQ);
	count = GPOINTER_TO_UINT(g_hash_table_lookup(up->cq, &ctx));
	g_hash_table_replace(up->cq, g_memdup2(&ctx, sizeof(ctx)), GUINT_TO_POINTER(count + 1));
	upcall_end(up, ctx);
}

/* What an asynchronous event is about. */
static enum ri_object
async_object(uint32_t event)
{
	switch (event) {
	case RI_EVENT_CQ_OVERFLOW:
	case RI_EVENT_CQ_OP_ERROR:
		return RI_OBJECT_CQ;
	case RI_EVENT_SRQ_LIMIT:
	case RI_EVENT_SRQ_CATASTROPHIC:
		return RI_OBJECT_SRQ;
	case RI_EVENT_DEVICE_CATASTROPHIC:
		return RI_OBJECT_RNIC;
	case RI_EVENT_PORT_ACTIVE:
	case RI_EVENT_PORT_ERROR:
	case RI_EVENT_PORT_CHANGE:
		return RI_OBJECT_PORT;
	default:
		return RI_OBJECT_QP;
	}
}

static void
async_event(void *self, const struct ri_async_event *event)
{
	struct cert_upcalls *up = self;
	bool has_ctx = event->object != RI_OBJECT_RNIC && event->object != RI_OBJECT_PORT;
	const char *name = ri_event_name((enum ri_event)event->event);

	upcall_begin(up);
	upcall_judge(up, name, event->ctx,
		     has_ctx ? (enum ri_object)event->object : RI_OBJECT_NONE);
	if (event->event == RI_EVENT_NONE || event->event >= RI_EVENT_COUNT)
		cert_violation(up->cert, "async_event", "an event of the interface",
			       "another number");
	else if (event->object != async_object(event->event))
		cert_violation(up->cert, name,
			       "the kind of object that the event is about [RI 8.4]",
			       "another kind");
	g_array_append_vals(up->async, event, 1);
	upcall_end(up, event->ctx);
}

/* What an event of a connection is about. */
static enum ri_object
cm_object(const struct ri_cm_event *event)
{
	switch ((enum ri_cm_event_kind)event->kind) {
	case RI_CM_REQUEST:
	case RI_CM_SERVICE_REQUEST:
		return RI_OBJECT_LISTEN;
	case RI_CM_SERVICE_REPLY:
	case RI_CM_REQUEST_GONE: /* of a listener, or 0 */
		return RI_OBJECT_NONE;
	case RI_CM_NONE:
	case RI_CM_REPLY:
	case RI_CM_ESTABLISHED:
	case RI_CM_REJECTED:
	case RI_CM_FAILED:
	case RI_CM_DISCONNECTED:
	case RI_CM_BROKEN:
	case RI_CM_TIME_WAIT_OVER:
	case RI_CM_KIND_COUNT:
	default:
		return RI_OBJECT_QP;
	}
}

static void
cm_event(void *self, const struct ri_cm_event *event)
{
	struct cert_upcalls *up = self;
	struct ri_cm_event whole;

	if (cert_provider(up->cert)->abi_minor < 7) {
		/* The provider's struct ends here [RI 11.1.2]. */
		memset(&whole, 0, sizeof(whole));
		memcpy(&whole, event, offsetof(struct ri_cm_event, reach));
		event = &whole;
	}
	upcall_begin(up);
	upcall_judge(up, "cm_event", event->ctx, cm_object(event));
	if (event->kind == RI_CM_NONE || event->kind >= RI_CM_KIND_COUNT)
		cert_violation(up->cert, "cm_event", "a kind of event", "another number");
	if (event->pdata_len > RI_PDATA_MAX)
		cert_violation(up->cert, "cm_event", "at most RI_PDATA_MAX octets of private data",
			       "more");
	g_array_append_vals(up->cm, event, 1);
	upcall_end(up, event->ctx);
}

/* --- recorders ------------------------------------------------------------------------------- */

struct cert_upcalls *
cert_upcalls_new(struct cert *cert)
{
	struct cert_upcalls *up = g_new0(struct cert_upcalls, 1);

	up->table = (struct ri_upcalls){.size = sizeof(up->table),
					.self = up,
					.cq_event = cq_event,
					.async_event = async_event,
					.cm_event = cm_event};
	up->cert = cert;
	pthread_mutex_init(&up->lock, NULL);
	up->kinds = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	up->cq = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	up->async = g_array_new(FALSE, FALSE, sizeof(struct ri_async_event));
	up->cm = g_array_new(FALSE, FALSE, sizeof(struct ri_cm_event));
	if (recorders == NULL)
		recorders = g_ptr_array_new();
	g_ptr_array_add(recorders, up);
	return up;
}

const struct ri_upcalls *
cert_upcalls_table(struct cert_upcalls *upcalls)
{
	return &upcalls->table;
}

void
cert_upcalls_close(struct cert_upcalls *upcalls)
{
	pthread_mutex_lock(&upcalls->lock);
	upcalls->closed = true;
	if (atomic_load(&upcalls->under_way) > 0)
		cert_violation(upcalls->cert, "the close of an adapter",
			       "no upcall is under way when it has returned [RI 8.6]",
			       "an upcall that has not returned");
	pthread_mutex_unlock(&upcalls->lock);
}

void
cert_upcalls_hook(struct cert_node *node, cert_upcall_hook hook, void *arg)
{
	struct cert_upcalls *up = node->upcalls;

	pthread_mutex_lock(&up->lock);
	up->hook = hook;
	up->hook_arg = arg;
	pthread_mutex_unlock(&up->lock);
}

uint64_t
cert_ctx_new(struct cert_node *node, enum ri_object kind)
{
	struct cert_upcalls *up = node->upcalls;
	uint64_t ctx = cert_ctx_next();

	pthread_mutex_lock(&up->lock);
	g_hash_table_replace(up->kinds, g_memdup2(&ctx, sizeof(ctx)), GUINT_TO_POINTER(kind));
	pthread_mutex_unlock(&up->lock);
	return ctx;
}

void
cert_ctx_gone(struct cert_node *node, uint64_t ctx)
{
	struct cert_upcalls *up = node->upcalls;

	pthread_mutex_lock(&up->lock);
	g_hash_table_remove(up->kinds, &ctx);
	g_hash_table_remove(up->cq, &ctx);
	pthread_mutex_unlock(&up->lock);
}

void
cert_events_forget(struct cert_node *node)
{
	struct cert_upcalls *up = node->upcalls;

	pthread_mutex_lock(&up->lock);
	g_array_set_size(up->async, 0);
	g_array_set_size(up->cm, 0);
	pthread_mutex_unlock(&up->lock);
}

/* --- what was raised ------------------------------------------------------------------------- */

/* The first connection event for a context; false: none is recorded. */
static bool
cm_take(struct cert_upcalls *up, uint64_t ctx, struct ri_cm_event *event)
{
	bool found = false;

	pthread_mutex_lock(&up->lock);
	for (guint i = 0; i < up->cm->len && !found; i++) {
		*event = g_array_index(up->cm, struct ri_cm_event, i);
		found = ctx == 0 || event->ctx == ctx;
		if (found)
			g_array_remove_index(up->cm, i);
	}
	pthread_mutex_unlock(&up->lock);
	return found;
}

/* The next event of the context that is not of the kind `passed`. */
static struct ri_cm_event
cm_next(struct cert_node *node, enum ri_cm_event_kind kind, uint64_t ctx,
	enum ri_cm_event_kind passed)
{
	struct ri_cm_event event;
	gint64 until = 0;

	do {
		while (!cm_take(node->upcalls, ctx, &event)) {
			if (!cert_patience(node->cert, &until))
				cert_failed(node->cert, CERT_WHERE,
					    "the next event of a connection", cert_cm_name(kind),
					    "none came");
		}
	} while (event.kind == passed && kind != passed);
	if (event.kind != kind)
		cert_failed(node->cert, CERT_WHERE, "the next event of a connection",
			    cert_cm_name(kind), cert_cm_name((enum ri_cm_event_kind)event.kind));
	return event;
}

struct ri_cm_event
cert_cm(struct cert_node *node, enum ri_cm_event_kind kind, uint64_t ctx)
{
	/* The adapter reports the end of a time-wait also when the queue pair is connected again. */
	return cm_next(node, kind, ctx, RI_CM_TIME_WAIT_OVER);
}

struct ri_cm_event
cert_cm_request(struct cert_node *node, enum ri_cm_event_kind kind, uint64_t ctx)
{
	return cm_next(node, kind, ctx, RI_CM_REQUEST_GONE);
}

/*
 * A case that counts events expects that one has not come, or has come only once. An upcall may
 * still be in progress on the service thread, so the four functions that count wait for that
 * thread. Otherwise the result would depend on how soon it gets a processor.
 */

/* RI_EVENT_NONE: any. */
static bool
async_fits(const struct ri_async_event *event, enum ri_event wanted, uint64_t ctx)
{
	return event->ctx == ctx && (wanted == RI_EVENT_NONE || event->event == wanted);
}

static bool
async_take(struct cert_upcalls *up, enum ri_event wanted, uint64_t ctx,
	   struct ri_async_event *event)
{
	bool found = false;

	pthread_mutex_lock(&up->lock);
	for (guint i = 0; i < up->async->len && !found; i++) {
		*event = g_array_index(up->async, struct ri_async_event, i);
		found = async_fits(event, wanted, ctx);
		if (found)
			g_array_remove_index(up->async, i);
	}
	pthread_mutex_unlock(&up->lock);
	return found;
}

struct ri_async_event
cert_async(struct cert_node *node, enum ri_event event, uint64_t ctx)
{
	struct ri_async_event raised;
	gint64 until = 0;

	while (!async_take(node->upcalls, event, ctx, &raised)) {
		if (!cert_patience(node->cert, &until))
			cert_failed(node->cert, CERT_WHERE, "an asynchronous event",
				    ri_event_name(event), "it did not come");
	}
	return raised;
}

unsigned
cert_async_count(struct cert_node *node, enum ri_event event, uint64_t ctx)
{
	struct cert_upcalls *up = node->upcalls;
	unsigned count = 0;

	cert_host_settle(node->cert->host);
	pthread_mutex_lock(&up->lock);
	for (guint i = 0; i < up->async->len; i++)
		count +=
			async_fits(&g_array_index(up->async, struct ri_async_event, i), event, ctx);
	pthread_mutex_unlock(&up->lock);
	return count;
}

unsigned
cert_async_ends(struct cert_node *node, uint64_t ctx)
{
	struct cert_upcalls *up = node->upcalls;
	unsigned count = 0;

	cert_host_settle(node->cert->host);
	pthread_mutex_lock(&up->lock);
	for (guint i = 0; i < up->async->len; i++) {
		const struct ri_async_event *event =
			&g_array_index(up->async, struct ri_async_event, i);

		count += event->ctx == ctx && ri_event_is_end((enum ri_event)event->event);
	}
	pthread_mutex_unlock(&up->lock);
	return count;
}

unsigned
cert_cm_count(struct cert_node *node, enum ri_cm_event_kind kind, uint64_t ctx)
{
	struct cert_upcalls *up = node->upcalls;
	unsigned count = 0;

	cert_host_settle(node->cert->host);
	pthread_mutex_lock(&up->lock);
	for (guint i = 0; i < up->cm->len; i++) {
		const struct ri_cm_event *event = &g_array_index(up->cm, struct ri_cm_event, i);

		count += event->kind == kind && event->ctx == ctx;
	}
	pthread_mutex_unlock(&up->lock);
	return count;
}

unsigned
cert_cq_events(struct cert_node *node, uint64_t ctx)
{
	struct cert_upcalls *up = node->upcalls;
	unsigned count;

	cert_host_settle(node->cert->host);
	pthread_mutex_lock(&up->lock);
	count = GPOINTER_TO_UINT(g_hash_table_lookup(up->cq, &ctx));
	pthread_mutex_unlock(&up->lock);
	return count;
}

const char *
cert_cm_name(enum ri_cm_event_kind kind)
{
	static const char *const names[RI_CM_KIND_COUNT] = {
		[RI_CM_NONE] = "none",
		[RI_CM_REQUEST] = "RI_CM_REQUEST",
		[RI_CM_REPLY] = "RI_CM_REPLY",
		[RI_CM_ESTABLISHED] = "RI_CM_ESTABLISHED",
		[RI_CM_REJECTED] = "RI_CM_REJECTED",
		[RI_CM_FAILED] = "RI_CM_FAILED",
		[RI_CM_REQUEST_GONE] = "RI_CM_REQUEST_GONE",
		[RI_CM_DISCONNECTED] = "RI_CM_DISCONNECTED",
		[RI_CM_BROKEN] = "RI_CM_BROKEN",
		[RI_CM_TIME_WAIT_OVER] = "RI_CM_TIME_WAIT_OVER",
		[RI_CM_SERVICE_REQUEST] = "RI_CM_SERVICE_REQUEST",
		[RI_CM_SERVICE_REPLY] = "RI_CM_SERVICE_REPLY",
	};

	return (unsigned)kind < RI_CM_KIND_COUNT ? names[kind] : "another number";
}
