/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Which call or completion fails. An order that is not repeated is forgotten when it was carried out. */
#include "faulty.h"
#include "ri_log.h"

#include <stdio.h>
#include <stdlib.h>

#define ORDERS_MAX 32
#define BROKEN_MAX 32

struct faulty {
	struct wrap_rnic *rnic;
	pthread_mutex_t
		lock; /* owns what follows up to `verbs`; taken before the lock of the list */
	struct faulty_order orders[ORDERS_MAX];
	unsigned count;
	uint64_t broken[BROKEN_MAX]; /* contexts of queue pairs that go to ERROR */
	unsigned num_broken;
	struct ri_task task;   /* lets them go */
	pthread_mutex_t verbs; /* one verb of a queue pair at a time */
};

/* --- orders ----------------------------------------------------------------------------------- */

/* The object of that kind that an object is, is of, or (a user half) belongs to; NULL: none. */
static const struct wrap_obj *
related(const struct wrap_obj *obj, enum wrap_kind kind)
{
	if (obj->kind >= WRAP_URNIC && obj->half != NULL)
		obj = obj->half;
	if (obj->kind == kind)
		return obj;
	if (kind == WRAP_PD)
		return obj->pd;
	if (kind == WRAP_SRQ)
		return obj->srq;
	return NULL;
}

/* Count this call for an order that it fits. True: it is the call that the order names; the caller then removes it. Under the lock. */
static bool
order_is_due(struct faulty *faulty, unsigned at, const struct wrap_obj *obj)
{
	struct faulty_order *order = &faulty->orders[at];

	if (order->one) {
		const struct wrap_obj *of = obj != NULL ? related(obj, order->kind) : NULL;

		if (of == NULL || wrap_number(of) != order->object)
			return false;
	}
	if (--order->call.number > 0)
		return false;
	return true;
}

static void
order_forget(struct faulty *faulty, unsigned at)
{
	faulty->count--;
	memmove(&faulty->orders[at], &faulty->orders[at + 1],
		(faulty->count - at) * sizeof(faulty->orders[0]));
}

enum ri_status
faulty_due(const struct wrap_obj *obj, enum faulty_verb verb)
{
	struct faulty *faulty = obj->rnic->faulty;
	enum ri_status status = RI_SUCCESS;

	pthread_mutex_lock(&faulty->lock);
	for (unsigned i = 0; status == RI_SUCCESS && i < faulty->count;) {
		struct faulty_order *order = &faulty->orders[i];

		if (order->completion || order->call.verb != (uint32_t)verb ||
		    !order_is_due(faulty, i, obj)) {
			i++;
			continue;
		}
		status = order->call.status;
		if (order->every == 0)
			order_forget(faulty, i);
		else
			order->call.number = order->every;
	}
	pthread_mutex_unlock(&faulty->lock);
	return status;
}

/* --- completions ------------------------------------------------------------------------------ */

/* With the lock. */
static void
qp_break(struct faulty *faulty, uint64_t ctx)
{
	const struct ri_host *host = faulty->rnic->host;

	if (faulty->num_broken == BROKEN_MAX)
		return;
	faulty->broken[faulty->num_broken++] = ctx;
	host->task_run(host->self, &faulty->task);
}

void
faulty_complete(struct wrap_rnic *rnic, struct ri_wc *wc)
{
	struct faulty *faulty = rnic->faulty;
	const struct wrap_obj *qp = wrap_find(rnic, WRAP_QP, wc->qp_ctx);

	pthread_mutex_lock(&faulty->lock);
	for (unsigned i = 0; i < faulty->count; i++) {
		if (!faulty->orders[i].completion || !order_is_due(faulty, i, qp))
			continue;
		wc->status = (uint8_t)faulty->orders[i].status;
		order_forget(faulty, i);
		qp_break(faulty, wc->qp_ctx);
		break;
	}
	pthread_mutex_unlock(&faulty->lock);
}

static bool
broken_take(struct faulty *faulty, uint64_t *ctx)
{
	bool taken;

	pthread_mutex_lock(&faulty->lock);
	taken = faulty->num_broken > 0;
	if (taken)
		*ctx = faulty->broken[--faulty->num_broken];
	pthread_mutex_unlock(&faulty->lock);
	return taken;
}

/* Move the queue pairs whose completion failed to ERROR, if they still exist. Runs on the service thread. */
static void
break_all(void *arg)
{
	const struct ri_qp_attr attr = {.state = RI_QPS_ERROR};
	struct faulty *faulty = arg;
	uint64_t ctx;

	while (broken_take(faulty, &ctx)) {
		struct wrap_obj *qp;

		pthread_mutex_lock(&faulty->verbs);
		qp = wrap_find(faulty->rnic, WRAP_QP, ctx);
		if (qp != NULL)
			(void)!wrap_plain_qp_ops.modify((struct ri_qp *)qp, &attr,
							RI_QP_ATTR_STATE);
		pthread_mutex_unlock(&faulty->verbs);
	}
}

void
faulty_begin(const struct wrap_rnic *rnic)
{
	pthread_mutex_lock(&rnic->faulty->verbs);
}

void
faulty_end(const struct wrap_rnic *rnic)
{
	pthread_mutex_unlock(&rnic->faulty->verbs);
}

/* --- start and stop ---------------------------------------------------------------------------- */

static void
say(const struct wrap_rnic *rnic, const char *line)
{
	const struct ri_log_about about = {.layer = "defects", .adapter = rnic->name};

	ri_log(rnic->host, RI_LOG_WARNING, &about, "%s", line);
}

static void
refusal_log(const struct wrap_rnic *rnic, const char *text, size_t len, const char *wrong)
{
	char line[RI_COMMAND_LINE + RI_COMMAND_WHY];

	(void)snprintf(line, sizeof(line), "refused: '%.*s': %s", len < 80 ? (int)len : 80, text,
		       wrong);
	for (char *c = line; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	say(rnic, line);
}

static void
help_log(const struct wrap_rnic *rnic)
{
	char line[RI_COMMAND_WHY];

	for (unsigned i = 0; faulty_help(line, sizeof(line), i); i++)
		say(rnic, line);
}

/* A command that is wrong is refused; the others count. */
static void
orders_read(struct faulty *faulty, const char *rest)
{
	const char *text;
	size_t len = 0;

	while (rest != NULL && (text = ri_command_next(&rest, &len)) != NULL) {
		struct faulty_order order;
		struct ri_command command;
		const char *wrong = faulty_read(text, len, &command, &order);

		if (wrong == NULL && !order.help && faulty->count == ORDERS_MAX)
			wrong = "too many commands";
		if (wrong != NULL)
			refusal_log(faulty->rnic, text, len, wrong);
		else if (order.help)
			help_log(faulty->rnic);
		else
			faulty->orders[faulty->count++] = order;
	}
}

enum ri_status
faulty_start(struct wrap_rnic *rnic)
{
	struct faulty *faulty = calloc(1, sizeof(*faulty));

	if (faulty == NULL)
		return RI_ERR_RESOURCES;
	faulty->rnic = rnic;
	pthread_mutex_init(&faulty->lock, NULL);
	pthread_mutex_init(&faulty->verbs, NULL);
	faulty->task = (struct ri_task){.fire = break_all, .arg = faulty};
	orders_read(faulty, secure_getenv("ITAPI_FAULTY"));
	rnic->faulty = faulty;
	faulty_gates(&rnic->ops);
	return RI_SUCCESS;
}

void
faulty_stop(struct wrap_rnic *rnic)
{
	struct faulty *faulty = rnic->faulty;

	if (faulty == NULL)
		return;
	rnic->host->task_stop(rnic->host->self, &faulty->task);
	pthread_mutex_destroy(&faulty->lock);
	pthread_mutex_destroy(&faulty->verbs);
	free(faulty);
	rnic->faulty = NULL;
}
